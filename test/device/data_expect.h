/* SPDX-License-Identifier: BSD-3-Clause */

/* What queues tell of, by cmocka: the next entry is there, and is this one. */
#ifndef TEST_DATA_EXPECT_H
#define TEST_DATA_EXPECT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "data_path.h"

/* number: of the send queue; a receive queue's completions have 0, unless they are errors. */
const struct rnic_cqe *dp_expect(struct dp_cq *cq, enum rnic_cqe_opcode opcode, uint16_t counter,
				 uint32_t number);
const struct rnic_error_cqe *dp_expect_error(struct dp_cq *cq, enum rnic_cqe_opcode opcode,
					     uint16_t counter, uint8_t syndrome, uint32_t number);
const struct rnic_eqe *dp_expect_event(struct dp *dp, enum rnic_event type);

#endif
