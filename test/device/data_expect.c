/* SPDX-License-Identifier: BSD-3-Clause */

#include "data_expect.h"

const struct rnic_cqe *
dp_expect(struct dp_cq *cq, enum rnic_cqe_opcode opcode, uint16_t counter, uint32_t number)
{
	const struct rnic_cqe *cqe = dp_cq_next(cq);

	assert_non_null(cqe);
	assert_int_equal(RNIC_CQE_OPCODE(cqe->op_own), opcode);
	assert_int_equal(rnic_be16_to_cpu(cqe->wqe_counter), counter);
	assert_int_equal(rnic_be32_to_cpu(cqe->sop_drop_qpn) & 0xffffff, number);
	return cqe;
}

const struct rnic_error_cqe *
dp_expect_error(struct dp_cq *cq, enum rnic_cqe_opcode opcode, uint16_t counter, uint8_t syndrome,
		uint32_t number)
{
	const struct rnic_error_cqe *cqe = (const struct rnic_error_cqe *)dp_cq_next(cq);

	assert_non_null(cqe);
	assert_int_equal(RNIC_CQE_OPCODE(cqe->op_own), opcode);
	assert_int_equal(cqe->syndrome, syndrome);
	assert_int_equal(rnic_be16_to_cpu(cqe->wqe_counter), counter);
	assert_int_equal(rnic_be32_to_cpu(cqe->sop_qpn) & 0xffffff, number);
	return cqe;
}

const struct rnic_eqe *
dp_expect_event(struct dp *dp, enum rnic_event type)
{
	const struct rnic_eqe *eqe = dp_eq_next(dp);

	assert_non_null(eqe);
	assert_int_equal(eqe->type, type);
	return eqe;
}
