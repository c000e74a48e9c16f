/* SPDX-License-Identifier: BSD-3-Clause */

/* Of test builds: copies of WQEs in BlueFlame registers, against what was executed. */
#include <string.h>

#include "prm/wqe.h"
#include "softrnic/base/bf_audit.h"
#include "softrnic/base/log.h"
#include "softrnic/base/uar.h"

#ifdef SOFTRNIC_BF_AUDIT

atomic_ullong softrnic_bf_compared, softrnic_bf_mismatches;

enum bf_half {
	BF_OTHER, /* of another WQE, or about to be */
	BF_SAME,
	BF_DIFFERS,
};

/*
 * Drivers store from the first word to the last: as long as the head stands, nothing behind it is of a later WQE.
 * Partner: the release of each of these stores.
 */
static enum bf_half
bf_half_is(const struct softrnic *dev, const struct softrnic_bf_audit *audit, uint32_t page,
	   uint32_t offset)
{
	const uint64_t *at = softrnic_uar_word(dev, page, offset);
	uint64_t half[RNIC_BF_HALF_BYTES / 8], behind = 0;

	for (uint32_t i = 0; i < RNIC_BF_HALF_BYTES / 8; i++) {
		half[i] = __atomic_load_n(&at[i], __ATOMIC_ACQUIRE);
		behind |= i > 0 ? half[i] : 0;
	}
	if (half[0] != audit->wqe[0] || __atomic_load_n(at, __ATOMIC_ACQUIRE) != half[0] ||
	    behind == 0)
		return BF_OTHER;
	return memcmp(half, audit->wqe, audit->bytes) == 0 ? BF_SAME : BF_DIFFERS;
}

/* A queue that was reset may have left a head like this one in a half; what is right is in another one then. */
static void
bf_compare(struct softrnic *dev, const struct softrnic_bf_audit *audit, uint32_t uar)
{
	const uint32_t page = uar - softrnic_first_uar(dev);
	enum bf_half is, found = BF_OTHER;

	for (uint32_t i = 0; page < SOFTRNIC_UAR_PAGES && i < SOFTRNIC_UAR_BELLS; i++) {
		is = bf_half_is(dev, audit, page, RNIC_UAR_BLUEFLAME + i * RNIC_BF_HALF_BYTES);
		if (is != BF_OTHER && found != BF_SAME)
			found = is;
	}
	if (found == BF_OTHER)
		return;
	atomic_fetch_add_explicit(&softrnic_bf_compared, 1, memory_order_relaxed);
	if (found == BF_DIFFERS && atomic_fetch_add(&softrnic_bf_mismatches, 1) == 0)
		SOFTRNIC_LOG(
			CRIT, dev,
			"audit: UAR page 0x%x: the BlueFlame copy of a WQE is not the %u bytes "
			"at counter 0x%x of its ring",
			uar, audit->bytes, audit->first);
}

void
softrnic_bf_audit_counted(struct softrnic *dev, struct softrnic_bf_audit *audit, uint32_t uar,
			  uint16_t from, uint16_t to)
{
	if (from == to)
		return;
	if (audit->bytes != 0)
		bf_compare(dev, audit, uar);
	audit->bytes = 0;
	audit->first = from;
	audit->blocks = (uint16_t)(to - from);
}

void
softrnic_bf_audit_executed(struct softrnic_bf_audit *audit, const void *wqe, uint32_t bytes,
			   uint16_t counter, uint8_t log_size)
{
	const uint32_t blocks = (bytes + RNIC_WQEBB_BYTES - 1) / RNIC_WQEBB_BYTES;
	const uint32_t at = counter & ((1u << log_size) - 1);
	const struct rnic_wqe_ctrl *ctrl = wqe;

	if (counter != audit->first || blocks != audit->blocks || bytes > sizeof(audit->wqe) ||
	    at + blocks > 1u << log_size ||
	    (uint8_t)rnic_be32_to_cpu(ctrl->opmod_idx_opcode) == RNIC_WQE_NOP)
		return;
	memcpy(audit->wqe, wqe, bytes);
	audit->bytes = bytes;
}

#endif
