/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "softrnic/base/command.h"
#include "softrnic/base/poller.h"
#include "softrnic/hca/cmd_table.h"
#include "data_path.h"
#include "prm/init_seg.h"
#include "prm/list.h"
#include "prm/vport.h"

#ifdef __has_feature
#if __has_feature(address_sanitizer)
#define DP_POISON
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(DP_POISON)
#include <sanitizer/asan_interface.h>
#else
#define __asan_poison_memory_region(at, bytes)	 ((void)0)
#define __asan_unpoison_memory_region(at, bytes) ((void)0)
#endif

#define DP_EQ_LOG_SIZE 9
#define DP_PAGE	       4096u
#define NS_PER_S       UINT64_C(1000000000)
#define DP_GAP	       64u /* between islands, at least */

int
dp_command(struct dp *dp, uint16_t opcode, uint16_t op_mod, void *in, size_t in_bytes, void *out,
	   size_t out_bytes)
{
	static uint8_t nothing[0x3000];
	struct softrnic_cmd cmd = {
		.opcode = opcode,
		.op_mod = op_mod,
		.in = in,
		.in_bytes = (uint32_t)in_bytes,
		.out = out != NULL ? out : nothing,
		.out_bytes = out != NULL ? (uint32_t)out_bytes : 16,
	};
	int status;

	memset(cmd.out, 0, out != NULL ? out_bytes : sizeof(nothing));
	softrnic_lock(dp->poller);
	status = softrnic_cmd_execute(dp->dev, &cmd);
	softrnic_unlock(dp->poller);
	dp->syndrome = cmd.syndrome;
	return status;
}

int
dp_destroy(struct dp *dp, uint16_t opcode, uint32_t number)
{
	struct rnic_object_in in = { 0 };

	rnic_object_in_set(&in, RNIC_OBJECT_IN_NUMBER, number);
	return dp_command(dp, opcode, 0, &in, sizeof(in), NULL, 0);
}

uint32_t
dp_create_simple(struct dp *dp, uint16_t opcode)
{
	struct rnic_object_in in = { 0 };
	struct rnic_object_out out[2]; /* handlers may count on more room than the header */

	if (dp_command(dp, opcode, 0, &in, sizeof(in), out, sizeof(out)) != 0)
		return UINT32_MAX;
	return (uint32_t)rnic_object_out_get(out, RNIC_OBJECT_OUT_NUMBER);
}

void *
dp_alloc(struct dp *dp, size_t bytes, size_t align)
{
	size_t at = (dp->used + align - 1) / align * align;

	if (at + bytes > DP_BYTES)
		return NULL;
	dp->used = at + bytes;
	if (dp->islands) {
		dp->used += DP_GAP;
		__asan_unpoison_memory_region(dp->memory + at, bytes);
		if (softrnic_dma_map(dp->dev, DP_IOVA + at, bytes, dp->memory + at,
				     SOFTRNIC_DMA_READ | SOFTRNIC_DMA_WRITE) != 0)
			return NULL;
	}
	return dp->memory + at;
}

uint64_t
dp_iova(const struct dp *dp, const void *memory)
{
	return DP_IOVA + (uint64_t)((const uint8_t *)memory - dp->memory);
}

/* A page list for `bytes` of memory at the end of an input. */
static size_t
pas_fill(const struct dp *dp, void *pas, const void *memory, size_t bytes)
{
	struct rnic_be64 *list = pas;
	size_t count = (bytes + DP_PAGE - 1) / DP_PAGE, i;

	for (i = 0; i < count; i++)
		list[i] = rnic_cpu_to_be64(dp_iova(dp, memory) + i * DP_PAGE);
	return count * sizeof(*list);
}

/* CREATE_x with a page list behind its fixed part. */
static int
create_with_ring(struct dp *dp, uint16_t opcode, const void *fixed, size_t fixed_bytes,
		 const void *ring, size_t ring_bytes, uint32_t *number)
{
	size_t room = fixed_bytes + (ring_bytes / DP_PAGE + 2) * 8;
	struct rnic_object_out out[0x200];
	uint8_t *in = calloc(1, room);
	int status;

	memcpy(in, fixed, fixed_bytes);
	fixed_bytes += pas_fill(dp, in + fixed_bytes, ring, ring_bytes);
	status = dp_command(dp, opcode, 0, in, fixed_bytes, out, sizeof(out));
	*number = (uint32_t)rnic_object_out_get(out, RNIC_OBJECT_OUT_NUMBER);
	free(in);
	return status;
}

static int
give_pages(struct dp *dp, uint16_t which)
{
	struct rnic_function_in query = { 0 };
	struct rnic_query_pages_out out[0x20];
	struct rnic_manage_pages_in *in;
	uint32_t count;
	uint8_t *pages;
	int status;

	status = dp_command(dp, RNIC_CMD_QUERY_PAGES, which, &query, sizeof(query), out,
			    sizeof(out));
	count = (uint32_t)rnic_query_pages_out_get(out, RNIC_QUERY_PAGES_OUT_NUM_PAGES);
	if (status != 0 || count == 0)
		return status;
	in = calloc(1, sizeof(*in) + count * 8);
	pages = dp_alloc(dp, (size_t)count * DP_PAGE, DP_PAGE);
	rnic_manage_pages_in_set(in, RNIC_MANAGE_PAGES_IN_INPUT_NUM_ENTRIES, count);
	pas_fill(dp, in + 1, pages, (size_t)count * DP_PAGE);
	status = dp_command(dp, RNIC_CMD_MANAGE_PAGES, RNIC_PAGES_GIVE, in, sizeof(*in) + count * 8,
			    NULL, 0);
	free(in);
	return status;
}

/* One key over all of the memory, by its virtual address. */
static int
create_key(struct dp *dp)
{
	struct {
		struct rnic_create_mkey_in in;
		struct rnic_be64 mtt[2];
	} in = { 0 };
	struct rnic_mkc *mkc = rnic_create_mkey_in_mkc(&in.in);
	struct rnic_object_out out[2];
	int status;

	rnic_mkc_set(mkc, RNIC_MKC_ACCESS_MODE_1_0, RNIC_MKEY_MTT);
	rnic_mkc_set(mkc, RNIC_MKC_LR, 1);
	rnic_mkc_set(mkc, RNIC_MKC_LW, 1);
	rnic_mkc_set(mkc, RNIC_MKC_QPN, RNIC_MKEY_ANY_QPN);
	rnic_mkc_set(mkc, RNIC_MKC_MKEY_7_0, 0x5d);
	rnic_mkc_set(mkc, RNIC_MKC_PD, dp->pd);
	rnic_mkc_set(mkc, RNIC_MKC_START_ADDR, (uintptr_t)dp->memory);
	rnic_mkc_set(mkc, RNIC_MKC_LEN, DP_BYTES);
	rnic_mkc_set(mkc, RNIC_MKC_LOG_PAGE_SIZE, DP_LOG_BYTES);
	rnic_mkc_set(mkc, RNIC_MKC_TRANSLATIONS_OCTWORD_SIZE, 1);
	rnic_create_mkey_in_set(&in.in, RNIC_CREATE_MKEY_IN_TRANSLATIONS_OCTWORD_ACTUAL_SIZE, 1);
	in.mtt[0] = rnic_cpu_to_be64(DP_IOVA | RNIC_MTT_READ | RNIC_MTT_WRITE);
	status = dp_command(dp, RNIC_CMD_CREATE_MKEY, 0, &in, sizeof(in), out, sizeof(out));
	dp->lkey = (uint32_t)rnic_object_out_get(out, RNIC_OBJECT_OUT_NUMBER) << 8 | 0x5d;
	return status;
}

static int
create_eq(struct dp *dp)
{
	struct rnic_create_eq_in in = { 0 };
	struct rnic_eqc *eqc = rnic_create_eq_in_eqc(&in);
	size_t bytes = sizeof(struct rnic_eqe) << DP_EQ_LOG_SIZE, i;

	dp->eq_entries = 1u << DP_EQ_LOG_SIZE;
	dp->eqes = dp_alloc(dp, bytes, DP_PAGE);
	for (i = 0; i < dp->eq_entries; i++)
		dp->eqes[i].owner = 1;
	rnic_eqc_set(eqc, RNIC_EQC_LOG_EQ_SIZE, DP_EQ_LOG_SIZE);
	rnic_eqc_set(eqc, RNIC_EQC_UAR_PAGE, dp->uars[0]);
	rnic_create_eq_in_set(&in, RNIC_CREATE_EQ_IN_EVENT_BITMASK_0,
			      UINT64_C(1) << RNIC_EVENT_CQ_ERROR |
				      UINT64_C(1) << RNIC_EVENT_PORT_CHANGE |
				      UINT64_C(1) << RNIC_EVENT_COMM_ESTABLISHED |
				      UINT64_C(1) << RNIC_EVENT_SQ_DRAINED |
				      UINT64_C(1) << RNIC_EVENT_WQ_INVALID_REQUEST |
				      UINT64_C(1) << RNIC_EVENT_SRQ_CATASTROPHIC |
				      UINT64_C(1) << RNIC_EVENT_SRQ_LAST_WQE |
				      UINT64_C(1) << RNIC_EVENT_SRQ_LIMIT |
				      UINT64_C(1) << RNIC_EVENT_WQ_CATASTROPHIC |
				      UINT64_C(1) << RNIC_EVENT_WQ_ACCESS_ERROR);
	return create_with_ring(dp, RNIC_CMD_CREATE_EQ, &in, sizeof(in), dp->eqes, bytes, &dp->eqn);
}

static int
create_tis(struct dp *dp)
{
	struct rnic_create_tis_in in = { 0 };
	struct rnic_object_out out[0x20];
	int status;

	rnic_tisc_set(rnic_create_tis_in_tisc(&in), RNIC_TISC_TRANSPORT_DOMAIN, dp->td);
	status = dp_command(dp, RNIC_CMD_CREATE_TIS, 0, &in, sizeof(in), out, sizeof(out));
	dp->tis = (uint32_t)rnic_object_out_get(out, RNIC_OBJECT_OUT_NUMBER);
	return status;
}

static int
bring_up(struct dp *dp)
{
	static const struct dp_vport all = { .promisc_all = true };
	struct rnic_function_in function = { 0 };
	struct rnic_set_issi_in issi = { 0 };
	int status, i;

	rnic_set_issi_in_set(&issi, RNIC_SET_ISSI_IN_CURRENT_ISSI, 1);
	status = dp_command(dp, RNIC_CMD_ENABLE_HCA, 0, &function, sizeof(function), NULL, 0);
	if (status == 0)
		status = dp_command(dp, RNIC_CMD_SET_ISSI, 0, &issi, sizeof(issi), NULL, 0);
	if (status == 0)
		status = give_pages(dp, RNIC_PAGES_BOOT);
	if (status == 0)
		status = give_pages(dp, RNIC_PAGES_INIT);
	if (status == 0)
		status = dp_command(dp, RNIC_CMD_INIT_HCA, 0, &function, sizeof(function), NULL, 0);
	if (status != 0)
		return status;
	for (i = 0; i < DP_UARS; i++)
		dp->uars[i] = dp_create_simple(dp, RNIC_CMD_ALLOC_UAR);
	dp->pd = dp_create_simple(dp, RNIC_CMD_ALLOC_PD);
	dp->td = dp_create_simple(dp, RNIC_CMD_ALLOC_TRANSPORT_DOMAIN);
	status = create_eq(dp);
	if (status == 0)
		status = create_tis(dp);
	if (status == 0)
		status = create_key(dp);
	if (status == 0)
		status = dp_vport_modify(dp, &all);
	return status;
}

int
dp_vport_modify(struct dp *dp, const struct dp_vport *vport)
{
	struct {
		struct rnic_modify_nic_vport_context_in in;
		struct rnic_mac_entry list[DP_VPORT_LIST];
	} in = { 0 };
	struct rnic_nic_vport_context *context =
		rnic_modify_nic_vport_context_in_nic_vport_context(&in.in);

	rnic_modify_nic_vport_context_in_set(&in.in, RNIC_MODIFY_NIC_VPORT_CONTEXT_IN_FIELD_SELECT,
					     RNIC_NIC_VPORT_PROMISC |
						     RNIC_NIC_VPORT_ADDRESSES_LIST);
	rnic_nic_vport_context_set(context, RNIC_NIC_VPORT_CONTEXT_PROMISC_UC, vport->promisc_uc);
	rnic_nic_vport_context_set(context, RNIC_NIC_VPORT_CONTEXT_PROMISC_MC, vport->promisc_mc);
	rnic_nic_vport_context_set(context, RNIC_NIC_VPORT_CONTEXT_PROMISC_ALL, vport->promisc_all);
	rnic_nic_vport_context_set(context, RNIC_NIC_VPORT_CONTEXT_ALLOWED_LIST_TYPE, vport->list);
	rnic_nic_vport_context_set(context, RNIC_NIC_VPORT_CONTEXT_ALLOWED_LIST_SIZE, vport->count);
	for (uint32_t i = 0; i < vport->count; i++) {
		rnic_mac_entry_set(&in.list[i], RNIC_MAC_ENTRY_ADDRESS_47_32, vport->macs[i] >> 32);
		rnic_mac_entry_set(&in.list[i], RNIC_MAC_ENTRY_ADDRESS_31_0,
				   (uint32_t)vport->macs[i]);
	}
	return dp_command(dp, RNIC_CMD_MODIFY_NIC_VPORT_CONTEXT, 0, &in,
			  sizeof(in.in) + vport->count * sizeof(in.list[0]), NULL, 0);
}

/* Aligned to its size, so that one translation covers it. */
static int
make_memory(struct dp *dp)
{
	size_t skip;

	dp->memory = mmap(NULL, (size_t)DP_BYTES * 2, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (dp->memory == MAP_FAILED)
		return -errno;
	skip = DP_BYTES - (uintptr_t)dp->memory % DP_BYTES;
	munmap(dp->memory, skip);
	munmap(dp->memory + skip + DP_BYTES, DP_BYTES - skip);
	dp->memory += skip;
	return 0;
}

/* Numbers of objects are the same each time: a key that is made up is nobody's, now and always. */
static int
make_device(struct dp *dp, const struct softrnic_conf *conf)
{
	struct softrnic_conf given = *conf;

	if (given.seed == 0)
		given.seed = 1;
	return softrnic_create(dp->poller, &given, &dp->dev);
}

int
dp_open(struct dp *dp, struct softrnic_poller *poller, const struct softrnic_conf *conf)
{
	int ret;

	memset(dp, 0, sizeof(*dp));
	dp->poller = poller;
	ret = make_memory(dp);
	if (ret == 0)
		ret = make_device(dp, conf);
	if (ret == 0)
		ret = softrnic_dma_map(dp->dev, DP_IOVA, DP_BYTES, dp->memory,
				       SOFTRNIC_DMA_READ | SOFTRNIC_DMA_WRITE);
	return ret == 0 ? bring_up(dp) : ret;
}

int
dp_open_islands(struct dp *dp, struct softrnic_poller *poller, const struct softrnic_conf *conf,
		bool ready)
{
	int ret;

	memset(dp, 0, sizeof(*dp));
	dp->poller = poller;
	dp->islands = true;
	ret = make_memory(dp);
	if (ret == 0)
		ret = make_device(dp, conf);
	if (ret == 0)
		__asan_poison_memory_region(dp->memory, DP_BYTES);
	return ret == 0 && ready ? bring_up(dp) : ret;
}

int
dp_restart(struct dp *dp)
{
	dp->used = 0;
	dp->eq_consumer = 0;
	dp->root = dp->next_flow = 0;
	return bring_up(dp);
}

void
dp_close(struct dp *dp)
{
	if (dp->dev != NULL)
		softrnic_destroy(dp->dev);
	/* Whoever gets these addresses next knows nothing of islands. */
	__asan_unpoison_memory_region(dp->memory, DP_BYTES);
	munmap(dp->memory, DP_BYTES);
	dp->dev = NULL;
}

int
dp_teardown(void **state)
{
	struct {
		struct softrnic_poller *poller;
		struct dp dp;
	} *fixture = *state;
	int rc;

	dp_close(&fixture->dp);
	rc = softrnic_poller_destroy(fixture->poller);
	free(fixture);
	return rc;
}

int
dp_cq_create(struct dp *dp, struct dp_cq *cq, const struct dp_cq_conf *conf)
{
	struct rnic_create_cq_in in = { 0 };
	struct rnic_cqc *cqc = rnic_create_cq_in_cqc(&in);

	memset(cq, 0, sizeof(*cq));
	cq->dp = dp;
	cq->log_size = conf->log_size;
	cq->uar = dp->uars[conf->uar];
	cq->bytes = conf->big ? 128 : 64;
	cq->ring = dp_alloc(dp, (size_t)cq->bytes << cq->log_size, DP_PAGE);
	memset(cq->ring, 0xff, (size_t)cq->bytes << cq->log_size);
	cq->dbrec = dp_alloc(dp, sizeof(*cq->dbrec), 64);
	rnic_cqc_set(cqc, RNIC_CQC_CQE_SZ, conf->big ? RNIC_CQE_SIZE_128 : RNIC_CQE_SIZE_64);
	rnic_cqc_set(cqc, RNIC_CQC_CC, conf->collapsed);
	rnic_cqc_set(cqc, RNIC_CQC_OI, conf->ignore_overrun);
	rnic_cqc_set(cqc, RNIC_CQC_CQ_MAX_COUNT, conf->max_count);
	rnic_cqc_set(cqc, RNIC_CQC_CQ_PERIOD, conf->period_us);
	rnic_cqc_set(cqc, RNIC_CQC_LOG_CQ_SIZE, cq->log_size);
	rnic_cqc_set(cqc, RNIC_CQC_UAR_PAGE, cq->uar);
	rnic_cqc_set(cqc, RNIC_CQC_C_EQN, dp->eqn);
	rnic_cqc_set(cqc, RNIC_CQC_DBR_ADDR, dp_iova(dp, cq->dbrec));
	return create_with_ring(dp, RNIC_CMD_CREATE_CQ, &in, sizeof(in), cq->ring,
				(size_t)cq->bytes << cq->log_size, &cq->cqn);
}

int
dp_sq_modify(struct dp_sq *sq, uint32_t from, uint32_t to)
{
	struct rnic_modify_sq_in in = { 0 };

	rnic_modify_sq_in_set(&in, RNIC_MODIFY_SQ_IN_SQN, sq->sqn);
	rnic_modify_sq_in_set(&in, RNIC_MODIFY_SQ_IN_SQ_STATE, from);
	rnic_sqc_set(rnic_modify_sq_in_sqc(&in), RNIC_SQC_STATE, to);
	return dp_command(sq->dp, RNIC_CMD_MODIFY_SQ, 0, &in, sizeof(in), NULL, 0);
}

int
dp_rq_modify(struct dp_rq *rq, uint32_t from, uint32_t to)
{
	struct rnic_modify_rq_in in = { 0 };

	rnic_modify_rq_in_set(&in, RNIC_MODIFY_RQ_IN_RQN, rq->rqn);
	rnic_modify_rq_in_set(&in, RNIC_MODIFY_RQ_IN_RQ_STATE, from);
	rnic_rqc_set(rnic_modify_rq_in_rqc(&in), RNIC_RQC_STATE, to);
	return dp_command(rq->dp, RNIC_CMD_MODIFY_RQ, 0, &in, sizeof(in), NULL, 0);
}

uint32_t
dp_sq_state(struct dp_sq *sq)
{
	struct rnic_object_in in = { 0 };
	struct rnic_query_sq_out out[0x20];

	rnic_object_in_set(&in, RNIC_OBJECT_IN_NUMBER, sq->sqn);
	if (dp_command(sq->dp, RNIC_CMD_QUERY_SQ, 0, &in, sizeof(in), out, sizeof(out)) != 0)
		return UINT32_MAX;
	return (uint32_t)rnic_sqc_get(rnic_query_sq_out_sqc(out), RNIC_SQC_STATE);
}

uint32_t
dp_rq_state(struct dp_rq *rq)
{
	struct rnic_object_in in = { 0 };
	struct rnic_query_rq_out out[0x20];

	rnic_object_in_set(&in, RNIC_OBJECT_IN_NUMBER, rq->rqn);
	if (dp_command(rq->dp, RNIC_CMD_QUERY_RQ, 0, &in, sizeof(in), out, sizeof(out)) != 0)
		return UINT32_MAX;
	return (uint32_t)rnic_rqc_get(rnic_query_rq_out_rqc(out), RNIC_RQC_STATE);
}

static uint32_t
iseg(const struct dp *dp, uint64_t offset)
{
	uint32_t dword = 0;

	softrnic_bar_read(dp->dev, offset, &dword, sizeof(dword));
	return RNIC_SWAP32(dword);
}

uint64_t
dp_clock(const struct dp *dp, bool utc)
{
	struct timespec now;
	uint32_t high, low;

	if (utc) {
		clock_gettime(CLOCK_REALTIME, &now);
		return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
	}
	/* The low half may wrap between the two. */
	do {
		high = iseg(dp, RNIC_FIELD_OFFSET(RNIC_ISEG_INTERNAL_TIMER_HIGH));
		low = iseg(dp, RNIC_FIELD_OFFSET(RNIC_ISEG_INTERNAL_TIMER_LOW));
	} while (high != iseg(dp, RNIC_FIELD_OFFSET(RNIC_ISEG_INTERNAL_TIMER_HIGH)));
	return (uint64_t)high << 32 | low;
}

uint64_t
dp_cqe_time(const struct rnic_cqe *cqe, bool utc)
{
	const uint64_t time = rnic_be64_to_cpu(cqe->timestamp);

	if (!utc)
		return time;
	if ((uint32_t)time >= NS_PER_S)
		return UINT64_MAX;
	return (time >> 32) * NS_PER_S + (uint32_t)time;
}

int
dp_sq_create(struct dp *dp, struct dp_sq *sq, struct dp_cq *cq, uint32_t log_size, uint32_t uar,
	     unsigned int flags)
{
	struct rnic_create_sq_in in = { 0 };
	struct rnic_sqc *sqc = rnic_create_sq_in_sqc(&in);
	struct rnic_wq *wq = rnic_sqc_wq(sqc);
	size_t bytes = (size_t)RNIC_WQEBB_BYTES << log_size;
	int status;

	memset(sq, 0, sizeof(*sq));
	sq->dp = dp;
	sq->cq = cq;
	sq->log_size = log_size;
	sq->uar = dp->uars[uar];
	sq->ring = dp_alloc(dp, bytes, DP_PAGE);
	sq->dbrec = dp_alloc(dp, sizeof(*sq->dbrec), 64);
	rnic_sqc_set(sqc, RNIC_SQC_ALLOW_MULTI_PKT_SEND_WQE, (flags & DP_SQ_MULTI_PACKET) != 0);
	rnic_sqc_set(sqc, RNIC_SQC_FLUSH_IN_ERROR_EN, (flags & DP_SQ_FLUSH) != 0);
	rnic_sqc_set(sqc, RNIC_SQC_RLKY, (flags & DP_SQ_RLKY) != 0);
	rnic_sqc_set(sqc, RNIC_SQC_TS_FORMAT, dp->ts_format);
	rnic_sqc_set(sqc, RNIC_SQC_USER_INDEX, DP_SQ_USER_INDEX);
	rnic_sqc_set(sqc, RNIC_SQC_CQN, cq->cqn);
	rnic_sqc_set(sqc, RNIC_SQC_TIS_LST_SZ, 1);
	rnic_sqc_set(sqc, RNIC_SQC_TIS_NUM_0, dp->tis);
	rnic_wq_set(wq, RNIC_WQ_WQ_TYPE, RNIC_WQ_CYCLIC);
	rnic_wq_set(wq, RNIC_WQ_PD, dp->pd);
	rnic_wq_set(wq, RNIC_WQ_UAR_PAGE, sq->uar);
	rnic_wq_set(wq, RNIC_WQ_DBR_ADDR, dp_iova(dp, sq->dbrec));
	rnic_wq_set(wq, RNIC_WQ_LOG_WQ_STRIDE, 6);
	rnic_wq_set(wq, RNIC_WQ_LOG_WQ_SZ, log_size);
	status = create_with_ring(dp, RNIC_CMD_CREATE_SQ, &in, sizeof(in), sq->ring, bytes,
				  &sq->sqn);
	return status != 0 ? status : dp_sq_modify(sq, RNIC_WQ_STATE_RST, RNIC_WQ_STATE_RDY);
}

int
dp_rq_create(struct dp *dp, struct dp_rq *rq, struct dp_cq *cq, uint32_t log_size,
	     uint32_t log_stride)
{
	struct rnic_create_rq_in in = { 0 };
	struct rnic_rqc *rqc = rnic_create_rq_in_rqc(&in);
	struct rnic_wq *wq = rnic_rqc_wq(rqc);
	size_t bytes = (size_t)1 << (log_size + log_stride);
	int status;

	memset(rq, 0, sizeof(*rq));
	rq->dp = dp;
	rq->cq = cq;
	rq->log_size = log_size;
	rq->log_stride = log_stride;
	rq->ring = dp_alloc(dp, bytes, DP_PAGE);
	rq->dbrec = dp_alloc(dp, sizeof(*rq->dbrec), 64);
	rnic_rqc_set(rqc, RNIC_RQC_VSD, 1);
	rnic_rqc_set(rqc, RNIC_RQC_FLUSH_IN_ERROR_EN, 1);
	rnic_rqc_set(rqc, RNIC_RQC_TS_FORMAT, dp->ts_format);
	rnic_rqc_set(rqc, RNIC_RQC_CQN, cq->cqn);
	rnic_rqc_set(rqc, RNIC_RQC_COUNTER_SET_ID, dp->q_counter);
	rnic_wq_set(wq, RNIC_WQ_WQ_TYPE, RNIC_WQ_CYCLIC);
	rnic_wq_set(wq, RNIC_WQ_PD, dp->pd);
	rnic_wq_set(wq, RNIC_WQ_DBR_ADDR, dp_iova(dp, rq->dbrec));
	rnic_wq_set(wq, RNIC_WQ_LOG_WQ_STRIDE, log_stride);
	rnic_wq_set(wq, RNIC_WQ_LOG_WQ_SZ, log_size);
	status = create_with_ring(dp, RNIC_CMD_CREATE_RQ, &in, sizeof(in), rq->ring, bytes,
				  &rq->rqn);
	return status != 0 ? status : dp_rq_modify(rq, RNIC_WQ_STATE_RST, RNIC_WQ_STATE_RDY);
}

int
dp_key_create(struct dp *dp, uint32_t pages, uint32_t log_page, uint64_t iova, uint64_t step,
	      uint32_t *number)
{
	const size_t bytes = sizeof(struct rnic_create_mkey_in) + pages * sizeof(uint64_t);
	struct rnic_create_mkey_in *in = calloc(1, bytes);
	struct rnic_mkc *mkc = rnic_create_mkey_in_mkc(in);
	struct rnic_be64 *list = (struct rnic_be64 *)(in + 1);
	struct rnic_object_out out[2];
	int status;

	rnic_mkc_set(mkc, RNIC_MKC_ACCESS_MODE_1_0, RNIC_MKEY_MTT);
	rnic_mkc_set(mkc, RNIC_MKC_LR, 1);
	rnic_mkc_set(mkc, RNIC_MKC_QPN, RNIC_MKEY_ANY_QPN);
	rnic_mkc_set(mkc, RNIC_MKC_PD, dp->pd);
	rnic_mkc_set(mkc, RNIC_MKC_LEN, (uint64_t)pages << log_page);
	rnic_mkc_set(mkc, RNIC_MKC_LOG_PAGE_SIZE, log_page);
	rnic_mkc_set(mkc, RNIC_MKC_TRANSLATIONS_OCTWORD_SIZE, pages / 2);
	rnic_create_mkey_in_set(in, RNIC_CREATE_MKEY_IN_TRANSLATIONS_OCTWORD_ACTUAL_SIZE,
				pages / 2);
	for (uint32_t i = 0; i < pages; i++)
		list[i] = rnic_cpu_to_be64((iova + i * step) | RNIC_MTT_READ | RNIC_MTT_WRITE);
	status = dp_command(dp, RNIC_CMD_CREATE_MKEY, 0, in, bytes, out, sizeof(out));
	if (status == 0)
		*number = (uint32_t)rnic_object_out_get(out, RNIC_OBJECT_OUT_NUMBER);
	free(in);
	return status;
}

int
dp_tir_create(struct dp_rq *rq)
{
	struct rnic_create_tir_in in = { 0 };
	struct rnic_tirc *tirc = rnic_create_tir_in_tirc(&in);
	struct rnic_object_out out[0x20];
	int status;

	rnic_tirc_set(tirc, RNIC_TIRC_INLINE_RQN, rq->rqn);
	rnic_tirc_set(tirc, RNIC_TIRC_TRANSPORT_DOMAIN, rq->dp->td);
	status = dp_command(rq->dp, RNIC_CMD_CREATE_TIR, 0, &in, sizeof(in), out, sizeof(out));
	rq->tirn = (uint32_t)rnic_object_out_get(out, RNIC_OBJECT_OUT_NUMBER);
	return status;
}
