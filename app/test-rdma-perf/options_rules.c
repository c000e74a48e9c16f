/* SPDX-License-Identifier: BSD-3-Clause */

/* Which options go together, and what those are that were not given: perftest's rules, in its words where it has some. */
#include <errno.h>
#include <stddef.h>

#include <rte_common.h>

#include "options_private.h"

#define SIZE_BW		65536
#define SIZE_LAT	2
#define SIZE_ATOMIC	8
#define ITERS		1000
#define ITERS_WRITE	5000
#define TX_DEPTH	128
#define RX_DEPTH	512
#define CQ_MOD		100
#define CQ_MOD_SIZE_MAX 8192  /* of larger messages each one completes */
#define RX_LOSSY_MAX	16000 /* receives of UC and UD: they lose what finds none */

/* ibv_*_pingpong's. */
#define PINGPONG_SIZE	  4096
#define PINGPONG_SIZE_UD  2048
#define PINGPONG_ITERS	  1000
#define PINGPONG_RX_DEPTH 500
#define PINGPONG_MTU	  1024
#define PINGPONG_SRQ_QPS  16
#define PINGPONG_QPS_MAX  255

/* ---- Defaults ---- */

static void
default_pingpong(struct perf_options *o)
{
	if (!o->has_op)
		o->op = PERF_SEND;
	if (!o->has_mode)
		o->mode = PERF_LAT;
	if (!o->has_size)
		o->size = o->transport == RDMAPMD_QPT_UD ? PINGPONG_SIZE_UD : PINGPONG_SIZE;
	if (!o->has_iters)
		o->iters = PINGPONG_ITERS;
	if (!o->has_rx_depth)
		o->rx_depth = PINGPONG_RX_DEPTH;
	if (!o->has_mtu && o->transport != RDMAPMD_QPT_UD)
		o->mtu = PINGPONG_MTU;
	if (!o->has_qps)
		o->qps = o->use_srq ? PINGPONG_SRQ_QPS : 1;
	o->tx_depth = 1;
	o->cq_mod = 1;
}

static void
default_depths(struct perf_options *o)
{
	const bool lossy = o->transport != RDMAPMD_QPT_RC;

	if (!o->has_tx_depth)
		o->tx_depth = o->mode == PERF_BW ? TX_DEPTH : 1;
	if (!o->has_rx_depth)
		o->rx_depth = perf_op_receives(o->op) ? RX_DEPTH : 1;
	if (o->duration > 0)
		return;
	o->tx_depth = (uint32_t)RTE_MIN(o->tx_depth, o->iters);
	/* An SRQ's are for all queue pairs: there perftest has as few, and loses messages. */
	if (perf_op_receives(o->op) && lossy && !o->has_rx_depth)
		o->rx_depth = (uint32_t)RTE_MIN(o->use_srq ? o->iters * o->qps : o->iters,
						(uint64_t)RX_LOSSY_MAX);
	/* Receives of one SRQ are for all its queue pairs. */
	if (perf_op_receives(o->op) && !o->use_srq)
		o->rx_depth = (uint32_t)RTE_MIN(o->rx_depth, o->iters);
}

static void
default_cq_mod(struct perf_options *o)
{
	const bool large = o->size > CQ_MOD_SIZE_MAX && o->transport != RDMAPMD_QPT_UD && !o->all &&
			   !o->events;

	o->groups_large = large && o->has_cq_mod && o->cq_mod > 1;
	if (!o->has_cq_mod) {
		o->cq_mod = large ? 1 : CQ_MOD;
		if (o->post_list > 1)
			o->cq_mod = o->post_list;
	}
	if (o->cq_mod > o->tx_depth)
		o->cq_mod = o->tx_depth;
}

void
perf_options_default(struct perf_options *o)
{
	if (o->exchange == PERF_PINGPONG) {
		default_pingpong(o);
		return;
	}
	if (o->exchange == PERF_PERFTEST && !o->has_verify)
		o->verify = false;
	if (!o->has_size)
		o->size = perf_op_atomic(o->op) ? SIZE_ATOMIC
			  : o->mode == PERF_BW	? SIZE_BW
						: SIZE_LAT;
	if (o->all)
		o->size = PERF_SIZE_MAX;
	if (!o->has_iters)
		o->iters = o->mode == PERF_BW && (o->op == PERF_WRITE || o->op == PERF_WRITE_IMM)
				   ? ITERS_WRITE
				   : ITERS;
	if (o->duration > 0)
		o->iters = 0;
	default_depths(o);
	default_cq_mod(o);
}

/* ---- What does not go together ---- */

static int
check_transport(const struct perf_options *o)
{
	if (o->transport == RDMAPMD_QPT_UC && perf_op_fetches(o->op))
		return perf_usage_error("UC connection not possible in READ/ATOMIC verbs");
	if (o->transport == RDMAPMD_QPT_UD && o->op != PERF_SEND)
		return perf_usage_error("UD connection only possible in SEND verb");
	return 0;
}

static int
check_op(const struct perf_options *o)
{
	if (perf_op_atomic(o->op) && o->size != SIZE_ATOMIC)
		return perf_usage_error("Message size cannot be changed for Atomic tests");
	if (perf_op_fetches(o->op) && o->inline_size != PERF_INLINE_AUTO)
		return perf_usage_error("Inline feature not available on READ/Atomic verbs");
	if (!perf_op_fetches(o->op) && o->has_out_reads)
		return perf_usage_error("Setting Outstanding reads only available on READ verb");
	if (!perf_op_receives(o->op) && o->rx_depth > 1)
		return perf_usage_error("On RDMA verbs rx depth can be only 1");
	if (o->op == PERF_WRITE && o->events)
		return perf_usage_error("Events feature not available on WRITE verb");
	if (o->use_srq && o->op != PERF_SEND)
		return perf_usage_error("Using SRQ only available in SEND tests");
	if (o->use_srq && o->qps > o->rx_depth)
		return perf_usage_error("Using SRQ depth should be greater than number of QPs");
	return 0;
}

static int
check_lat(const struct perf_options *o)
{
	/* Whatever the number is. */
	if (o->has_qps && o->exchange != PERF_PINGPONG)
		return perf_usage_error("Multiple QPs only available on bw tests");
	if (o->bidirectional)
		return perf_usage_error("Bidirectional is only available in BW test");
	if (o->post_list > 1)
		return perf_usage_error("Post list is supported in BW tests only");
	return 0;
}

static int
check_bw(const struct perf_options *o)
{
	if (o->post_list > o->tx_depth)
		return perf_usage_error("Post list size should not be above tx-depth, %u",
					o->tx_depth);
	if (o->post_list > 1 && o->iters % o->post_list != 0)
		return perf_usage_error(
			"Number of iterations must be a multiple of post list size");
	if (o->post_list > 1 && o->post_list % o->cq_mod != 0)
		return perf_usage_error("Post list size must be a multiple of CQ moderation");
	if (o->qps % o->lcores != 0)
		return perf_usage_error("Number of QPs, %u, must be a multiple of --lcores, %u",
					o->qps, o->lcores);
	return 0;
}

static int
check_pingpong(const struct perf_options *o)
{
	if (o->op != PERF_SEND || o->mode != PERF_LAT)
		return perf_usage_error("--exchange=pingpong is for --op=send --mode=lat");
	if (o->loopback)
		return perf_usage_error("--exchange=pingpong is for two processes");
	if (o->all || o->duration > 0 || o->bidirectional || o->post_list > 1 || o->events ||
	    o->has_cq_mod || o->has_tx_depth)
		return perf_usage_error(
			"--exchange=pingpong does not go with -a, -b, -D, -e, -l, -Q and -t");
	if (o->damage >= 0 && o->host == NULL)
		return perf_usage_error("--damage with --exchange=pingpong is for the client: the "
					"server gives back what has come");
	if (o->mtu != 0 && !perf_mtu_is_one(o->mtu))
		return perf_usage_error("MTU should be 256, 512, 1024, 2048 or 4096");
	if (o->qps > 1 && !o->use_srq)
		return perf_usage_error(
			"--exchange=pingpong has several queue pairs with --use-srq");
	if (o->qps > PINGPONG_QPS_MAX)
		return perf_usage_error("--exchange=pingpong has at most %d queue pairs",
					PINGPONG_QPS_MAX);
	if (o->use_srq && o->transport != RDMAPMD_QPT_RC)
		return perf_usage_error("--exchange=pingpong with --use-srq is for -c RC");
	return 0;
}

static int
check_perftest(const struct perf_options *o)
{
	if (o->op == PERF_WRITE_IMM)
		return perf_usage_error("--exchange=perftest: no program of perftest's is for "
					"--op=write_imm");
	if (o->loopback)
		return perf_usage_error("--exchange=perftest is for two processes");
	if (o->all || o->bidirectional || o->duration > 0 || o->events || o->post_list > 1 ||
	    o->use_srq || o->lcores > 1)
		return perf_usage_error("--exchange=perftest does not go with -a, -b, -D, -e, -l, "
					"--lcores and --use-srq");
	if (o->verify)
		return perf_usage_error("--exchange=perftest: those programs send what is in their "
					"memory by chance, which --verify=on cannot know");
	if (o->mtu != 0 && !perf_mtu_is_one(o->mtu))
		return perf_usage_error("MTU should be 256, 512, 1024, 2048 or 4096");
	return 0;
}

static int
check_ours(const struct perf_options *o)
{
	if (o->loopback && o->host != NULL)
		return perf_usage_error("--loopback has no HOST");
	if (o->lcores > 1 && o->mode != PERF_BW)
		return perf_usage_error("--lcores is for --mode=bw");
	if (o->damage >= 0 && !o->verify)
		return perf_usage_error("--damage needs --verify=on");
	if (o->damage >= (int64_t)o->size)
		return perf_usage_error("--damage=%lld: messages have %u bytes",
					(long long)o->damage, o->size);
	if (o->op == PERF_WRITE && o->mode == PERF_LAT && !o->all &&
	    o->damage == (int64_t)o->size - 1)
		return perf_usage_error("--damage=%lld: of a WRITE the last byte tells in lat that "
					"it has come: give another one",
					(long long)o->damage);
	if (o->duration > 0 && o->all)
		return perf_usage_error(
			"Duration mode currently doesn't support running on all sizes");
	if (o->duration > 0 && o->events)
		return perf_usage_error("Duration mode doesn't work with events");
	return 0;
}

int
perf_options_check(const struct perf_options *o)
{
	int rc = check_transport(o);

	if (rc == 0 && o->exchange == PERF_PINGPONG)
		rc = check_pingpong(o);
	if (rc == 0 && o->exchange == PERF_PERFTEST)
		rc = check_perftest(o);
	if (rc == 0)
		rc = check_op(o);
	if (rc == 0 && o->exchange != PERF_PINGPONG)
		rc = o->mode == PERF_LAT ? check_lat(o) : check_bw(o);
	return rc == 0 ? check_ours(o) : rc;
}
