/* SPDX-License-Identifier: BSD-3-Clause */

/* Asked before anything is allocated. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include <rte_common.h>

#include "end_private.h"
#include "say.h"

/* perftest's: what makes short messages fast on cards. */
#define INLINE_WRITE   220
#define INLINE_SEND    236
#define INLINE_SEND_UD 188
#define INLINE_UD_MAX  884

#define SPARE_CQE 2 /* of a send queue: what is signaled beside the regular ones */

uint64_t
perf_end_cqe(const struct perf_options *o)
{
	const uint64_t queues = o->qps / o->lcores;
	const uint64_t sends = o->tx_depth / o->cq_mod + SPARE_CQE;

	return queues * sends + (o->use_srq ? o->rx_depth : queues * o->rx_depth);
}

struct rdmapmd_qp_cap
perf_end_cap(const struct perf_end *end)
{
	return (struct rdmapmd_qp_cap){
		.max_send_wr = end->options->tx_depth,
		.max_recv_wr = end->receives && !end->options->use_srq ? end->options->rx_depth : 0,
		.max_send_sge = 1,
		.max_recv_sge = 1,
		.max_inline_data = end->inline_size,
	};
}

static int
check(const struct perf_end *end, const char *option, uint64_t wanted, uint64_t most,
      const char *what)
{
	if (wanted <= most)
		return 0;
	return perf_fail(-EINVAL, "%s: %s=%" PRIu64 ": the device has at most %" PRIu64 " %s",
			 end->device, option, wanted, most, what);
}

static bool
inline_fits(struct perf_end *end, uint32_t bytes)
{
	struct rdmapmd_qp_cap cap = perf_end_cap(end);
	struct rdmapmd_qp_sizing sizing;

	cap.max_inline_data = bytes;
	return rdmapmd_qp_sizing_compute(end->context, end->options->transport, &cap,
					 end->options->use_srq, &sizing) == 0;
}

/* The most that fits, below `bytes`. */
static uint32_t
largest_inline(struct perf_end *end, uint32_t bytes)
{
	uint32_t low = 0, high = bytes;

	while (high - low > 1) {
		const uint32_t middle = low + (high - low) / 2;

		if (inline_fits(end, middle))
			low = middle;
		else
			high = middle;
	}
	return low;
}

static int
check_inline(struct perf_end *end)
{
	const struct perf_options *o = end->options;
	uint32_t wanted = 0;

	if (o->inline_size >= 0)
		wanted = (uint32_t)o->inline_size;
	else if (o->mode == PERF_LAT && !perf_op_fetches(o->op))
		wanted = o->op != PERF_SEND		  ? INLINE_WRITE
			 : o->transport == RDMAPMD_QPT_UD ? INLINE_SEND_UD
							  : INLINE_SEND;
	if (o->transport == RDMAPMD_QPT_UD && wanted > INLINE_UD_MAX) {
		perf_say("%s: Setting inline size to %d (Max inline size in UD)", end->device,
			 INLINE_UD_MAX);
		wanted = INLINE_UD_MAX;
	}
	if (!inline_fits(end, 0))
		return perf_fail(-EINVAL, "%s: --tx-depth=%u: the device has no such send queue",
				 end->device, o->tx_depth);
	end->inline_size = inline_fits(end, wanted) ? wanted : largest_inline(end, wanted);
	if (o->inline_size >= 0 && end->inline_size < wanted)
		return check(end, "--inline_size", wanted, end->inline_size,
			     "bytes of inline data in such a send queue");
	return 0;
}

static void
settle_mtu(struct perf_end *end)
{
	const uint32_t active = rdmapmd_mtu_bytes(end->port.active_mtu);
	const int32_t wanted = end->options->mtu;

	end->mtu = perf_mtu_is_one(wanted) ? (uint32_t)wanted : active;
	if (wanted != 0 && !perf_mtu_is_one(wanted))
		perf_say("%s: Invalid MTU - %d; please choose mtu from {256,512,1024,2048,4096}; "
			 "will run with the port active mtu - %u",
			 end->device, wanted, active);
	if (end->mtu > active) {
		perf_say("%s: Requested mtu is higher than active mtu; changing to active mtu - %u",
			 end->device, active);
		end->mtu = active;
	}
	end->size_max = end->options->size;
	if (end->options->transport == RDMAPMD_QPT_UD && end->size_max > end->mtu) {
		perf_say("%s: Max msg size in UD is MTU %u; changing to this MTU", end->device,
			 end->mtu);
		end->size_max = end->mtu;
	}
}

static int
check_reads(struct perf_end *end)
{
	const uint32_t most = RTE_MIN(end->attr.max_qp_rd_atom, end->attr.max_qp_init_rd_atom);

	if (perf_op_atomic(end->options->op) && end->attr.atomic_cap == RDMAPMD_ATOMIC_NONE)
		return perf_fail(-EINVAL, "%s: the device has no atomics", end->device);
	end->out_reads = end->options->out_reads > 0 ? (uint32_t)end->options->out_reads : 0;
	if (end->out_reads > most)
		perf_say(
			"%s: Number of outstanding reads is above max = %u; changing to that max value",
			end->device, most);
	if (end->out_reads > most || end->out_reads == 0)
		end->out_reads = most;
	return 0;
}

/* Of a run, that are on the end's device. */
static uint64_t
ends_of(const struct perf_options *o)
{
	const bool same =
		o->device_2 == NULL || (o->device != NULL && strcmp(o->device, o->device_2) == 0);

	return o->loopback && same ? 2 : 1;
}

int
perf_end_check_limits(struct perf_end *end)
{
	const struct perf_options *o = end->options;
	int rc;

	settle_mtu(end);
	rc = check(end, "--size", end->size_max, end->port.max_msg_sz, "bytes in a message");
	if (rc == 0)
		rc = check(end, "--qp", o->qps * ends_of(o), end->attr.max_qp,
			   ends_of(o) == 1 ? "queue pairs" : "queue pairs for both ends");
	if (rc == 0)
		rc = check(end, "--tx-depth", o->tx_depth, end->attr.max_qp_wr,
			   "requests in a send queue");
	if (rc == 0)
		rc = check(end, "--rx-depth", o->rx_depth,
			   o->use_srq ? end->attr.max_srq_wr : end->attr.max_qp_wr,
			   o->use_srq ? "requests in an SRQ" : "requests in a receive queue");
	if (rc == 0)
		rc = check(end, "--qp times queue depths", perf_end_cqe(o), end->attr.max_cqe,
			   "entries in a completion queue");
	if (rc == 0)
		rc = check_reads(end);
	return rc == 0 ? check_inline(end) : rc;
}
