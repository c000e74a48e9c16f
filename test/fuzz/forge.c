/* SPDX-License-Identifier: BSD-3-Clause */

#include "forge.h"

#include "softrnic/base/command.h"
#include "softrnic/event/cq.h"
#include "softrnic/base/device.h"
#include "softrnic/hca/iseg.h"
#include "softrnic/base/poller.h"
#include "softrnic/event/eq.h"
#include "softrnic/base/object.h"

bool
forge_completion(struct softrnic *dev, uint32_t cqn, const struct rnic_cqe *cqe)
{
	struct softrnic_cq *cq;
	struct rnic_cqe *entry = NULL;

	softrnic_lock(dev->poller);
	cq = softrnic_object_get(dev, SOFTRNIC_CQ, cqn);
	if (cq != NULL)
		entry = softrnic_cq_claim(dev, cq);
	if (entry != NULL) {
		memcpy(entry, cqe, offsetof(struct rnic_cqe, op_own));
		softrnic_cq_publish(dev, cq, entry, RNIC_CQE_OPCODE(cqe->op_own),
				    (cqe->op_own & 2) != 0);
		softrnic_cq_flush(dev);
	}
	softrnic_unlock(dev->poller);
	return entry != NULL;
}

void
forge_event(struct softrnic *dev, uint32_t eqn, uint8_t type, uint8_t sub_type,
	    const uint32_t data[7])
{
	softrnic_lock(dev->poller);
	softrnic_eq_post(dev, eqn, type, sub_type, data);
	softrnic_unlock(dev->poller);
}

void
forge_events(struct softrnic *dev, uint32_t eqn, uint8_t type, unsigned int count)
{
	const uint32_t data[7] = { 0 };

	softrnic_lock(dev->poller);
	for (; count > 0; count--)
		softrnic_eq_post(dev, eqn, type, 0, data);
	softrnic_unlock(dev->poller);
}

void
forge_complaint(struct softrnic *dev, uint8_t syndrome)
{
	softrnic_lock(dev->poller);
	softrnic_iseg_complain(dev, syndrome);
	softrnic_unlock(dev->poller);
}

bool
forge_cq_works(struct softrnic *dev, uint32_t cqn)
{
	const struct softrnic_cq *cq;
	bool works;

	softrnic_lock(dev->poller);
	cq = softrnic_object_get(dev, SOFTRNIC_CQ, cqn);
	works = cq != NULL && !cq->error;
	softrnic_unlock(dev->poller);
	return works;
}

bool
forge_cq_is_at(struct softrnic *dev, uint32_t cqn, uint32_t index)
{
	const struct softrnic_cq *cq;
	bool is_at;

	softrnic_lock(dev->poller);
	cq = softrnic_object_get(dev, SOFTRNIC_CQ, cqn);
	is_at = cq != NULL && !cq->error && ((cq->producer - index) & RNIC_CQ_INDEX_MASK) == 0;
	softrnic_unlock(dev->poller);
	return is_at;
}

void
forge_cq_never_full(struct softrnic *dev, uint32_t cqn)
{
	struct rnic_modify_cq_in in = { 0 };
	struct softrnic_cmd cmd = { .opcode = RNIC_CMD_MODIFY_CQ,
				    .in = &in,
				    .in_bytes = sizeof(in) };

	rnic_modify_cq_in_set(&in, RNIC_MODIFY_CQ_IN_CQN, cqn);
	rnic_modify_cq_in_set(&in, RNIC_MODIFY_CQ_IN_FIELD_SELECT, RNIC_MODIFY_CQ_OVERRUN);
	rnic_cqc_set(rnic_modify_cq_in_cqc(&in), RNIC_CQC_OI, 1);
	softrnic_lock(dev->poller);
	softrnic_cmd_modify_cq(dev, &cmd);
	softrnic_unlock(dev->poller);
}

bool
forge_eq_has_room(struct softrnic *dev, uint32_t eqn, uint32_t entries)
{
	static uint8_t out[0x2000];
	struct rnic_object_in in = { 0 };
	struct softrnic_cmd cmd = {
		.opcode = RNIC_CMD_QUERY_EQ, .in = &in, .in_bytes = sizeof(in), .out = out
	};
	const struct rnic_eqc *eqc = rnic_query_eq_out_eqc((struct rnic_query_eq_out *)out);
	bool room;

	rnic_object_in_set(&in, RNIC_OBJECT_IN_NUMBER, eqn);
	softrnic_lock(dev->poller);
	room = softrnic_cmd_query_eq(dev, &cmd) == RNIC_STATUS_OK &&
	       ((rnic_eqc_get(eqc, RNIC_EQC_PRODUCER_COUNTER) -
		 rnic_eqc_get(eqc, RNIC_EQC_CONSUMER_COUNTER)) &
		0xffffff) < entries;
	softrnic_unlock(dev->poller);
	return room;
}

bool
forge_cq_has_room(struct softrnic *dev, uint32_t cqn)
{
	struct softrnic_cq *cq;
	uint32_t index;
	bool room;

	softrnic_lock(dev->poller);
	cq = softrnic_object_get(dev, SOFTRNIC_CQ, cqn);
	room = cq != NULL && !cq->error && softrnic_dbrec_read(dev, &cq->dbrec, 0, &index) &&
	       (cq->ignore_overrun ||
		((cq->producer - index) & RNIC_CQ_INDEX_MASK) < 1u << cq->log_size);
	softrnic_unlock(dev->poller);
	return room;
}
