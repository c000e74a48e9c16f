/* SPDX-License-Identifier: BSD-3-Clause */

#include <string.h>

#include "session.h"

static struct rnic_cqe *
slot_at(void *ring, uint32_t log_size, uint32_t entry_bytes, uint32_t index)
{
	const uint32_t slot = index & ((1u << log_size) - 1);

	return (void *)((uint8_t *)ring + (slot + 1ul) * entry_bytes - sizeof(struct rnic_cqe));
}

bool
drv_is_title(const struct rnic_cqe *cqe)
{
	return (cqe->op_own & RNIC_CQE_FORMAT) == RNIC_CQE_COMPRESSED;
}

void
drv_session_open(struct drv_session *session, const struct rnic_cqe *title, uint32_t index)
{
	session->first = index;
	session->left = rnic_be32_to_cpu(title->byte_count);
	session->title = *title;
}

const struct rnic_cqe *
drv_session_next(struct drv_session *session, void *ring, uint32_t log_size, uint32_t entry_bytes,
		 uint32_t index)
{
	const uint32_t at = index - session->first;
	struct rnic_cqe *entry = &session->entry;
	struct rnic_mini_cqe mini;

	if (at % RNIC_MINI_CQES == 0)
		memcpy(session->list,
		       slot_at(ring, log_size, entry_bytes, index + (at == 0 ? 1 : 0)),
		       sizeof(session->list));
	slot_at(ring, log_size, entry_bytes, index)->op_own = RNIC_CQE_OP_OWN(RNIC_CQE_INVALID, 1);
	session->left--;
	memcpy(&mini, &session->list[at % RNIC_MINI_CQES], sizeof(mini));
	*entry = session->title;
	entry->byte_count = mini.byte_count;
	entry->wqe_counter =
		rnic_cpu_to_be16((uint16_t)(rnic_be16_to_cpu(entry->wqe_counter) + at));
	entry->op_own = RNIC_CQE_OP_OWN(RNIC_CQE_OPCODE(entry->op_own), index >> log_size & 1);
	if (session->format == RNIC_MINI_CQE_CHECKSUM)
		entry->checksum = mini.checksum;
	else
		entry->rx_hash_result = mini.rx_hash_result;
	return entry;
}
