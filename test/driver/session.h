/* SPDX-License-Identifier: BSD-3-Clause */

/* Compressed completions (PRM: "CQE Compression"), as entries of their own. */
#ifndef TEST_DRIVER_SESSION_H
#define TEST_DRIVER_SESSION_H

#include <stdbool.h>

#include "driver.h"
#include "prm/cqe.h"

/* A title's completions, those that were not taken yet. */
struct drv_session {
	enum rnic_mini_cqe_format format;
	uint32_t first, left; /* the title's index; completions */
	uint64_t list[RNIC_MINI_CQES];
	struct rnic_cqe title, entry;
};

bool drv_is_title(const struct rnic_cqe *cqe);
/* None is left of the one before. */
void drv_session_open(struct drv_session *session, const struct rnic_cqe *title, uint32_t index);
/* The completion of this index: session->entry. Its slot is marked, as a driver has to. */
const struct rnic_cqe *drv_session_next(struct drv_session *session, void *ring, uint32_t log_size,
					uint32_t entry_bytes, uint32_t index);

#endif
