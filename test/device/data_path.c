/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <stddef.h>
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
#define DP_MAILBOXES   0x3000
#define DP_GAP	       64u /* between islands, at least */

/* There is the room of whole mailboxes at `out`, which handlers may count on. */
static int
run(struct dp *dp, struct softrnic_cmd *cmd)
{
	int status;

	softrnic_lock(dp->poller);
	status = softrnic_cmd_execute(dp->dev, cmd);
	softrnic_unlock(dp->poller);
	dp->syndrome = cmd->syndrome;
	return status;
}

int
dp_command(struct dp *dp, uint16_t opcode, uint16_t op_mod, void *in, size_t in_bytes, void *out,
	   size_t out_bytes)
{
	static uint8_t nothing[DP_MAILBOXES];
	struct softrnic_cmd cmd = {
		.opcode = opcode,
		.op_mod = op_mod,
		.in = in,
		.in_bytes = (uint32_t)in_bytes,
		.out = out != NULL ? out : nothing,
		.out_bytes = out != NULL ? (uint32_t)out_bytes : 16,
	};

	memset(cmd.out, 0, out != NULL ? out_bytes : sizeof(nothing));
	return run(dp, &cmd);
}

/* The door of test/driver. */
static int
execute(struct drv *drv, void *in, uint32_t in_bytes, void *out, uint32_t out_bytes)
{
	struct rnic_object_out room[DP_MAILBOXES / sizeof(struct rnic_object_out)] = { 0 };
	struct softrnic_cmd cmd = {
		.opcode = (uint16_t)rnic_cmd_in_get(in, RNIC_CMD_IN_OPCODE),
		.op_mod = (uint16_t)rnic_cmd_in_get(in, RNIC_CMD_IN_OP_MOD),
		.in = in,
		.in_bytes = in_bytes,
		.out = room,
		.out_bytes = out_bytes,
	};
	int status = run((struct dp *)(void *)((uint8_t *)drv - offsetof(struct dp, drv)), &cmd);

	memcpy(out, room, out_bytes);
	return status;
}

int
dp_destroy(struct dp *dp, uint16_t opcode, uint32_t number)
{
	return drv_destroy(&dp->drv, opcode, number);
}

uint32_t
dp_create_simple(struct dp *dp, uint16_t opcode)
{
	uint32_t number;

	return drv_simple(&dp->drv, opcode, 0, &number) == 0 ? number : UINT32_MAX;
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

static struct drv_pages
ring_pages(const struct dp *dp, const void *ring, size_t bytes)
{
	return drv_pages_of(dp_iova(dp, ring), bytes);
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
	return drv_mkey_create(&dp->drv,
			       &(struct drv_mkey){ .mode = RNIC_MKEY_MTT,
						   .access = DRV_LR | DRV_LW,
						   .log_page_size = DP_LOG_BYTES,
						   .pd = dp->pd,
						   .start = (uintptr_t)dp->memory,
						   .length = DP_BYTES,
						   .pages = { .iova = DP_IOVA, .count = 1 },
						   .variant = 0x5d },
			       &dp->lkey);
}

static int
create_eq(struct dp *dp)
{
	size_t bytes = sizeof(struct rnic_eqe) << DP_EQ_LOG_SIZE, i;
	struct drv_eq eq = { .log_size = DP_EQ_LOG_SIZE,
			     .uar = dp->uars[0],
			     .events = UINT64_C(1) << RNIC_EVENT_CQ_ERROR |
				       UINT64_C(1) << RNIC_EVENT_PORT_CHANGE |
				       UINT64_C(1) << RNIC_EVENT_COMM_ESTABLISHED |
				       UINT64_C(1) << RNIC_EVENT_SQ_DRAINED |
				       UINT64_C(1) << RNIC_EVENT_WQ_INVALID_REQUEST |
				       UINT64_C(1) << RNIC_EVENT_SRQ_CATASTROPHIC |
				       UINT64_C(1) << RNIC_EVENT_SRQ_LAST_WQE |
				       UINT64_C(1) << RNIC_EVENT_SRQ_LIMIT |
				       UINT64_C(1) << RNIC_EVENT_WQ_CATASTROPHIC |
				       UINT64_C(1) << RNIC_EVENT_WQ_ACCESS_ERROR };

	dp->eq_entries = 1u << DP_EQ_LOG_SIZE;
	dp->eqes = dp_alloc(dp, bytes, DP_PAGE);
	for (i = 0; i < dp->eq_entries; i++)
		dp->eqes[i].owner = 1;
	eq.ring = ring_pages(dp, dp->eqes, bytes);
	return drv_eq_create(&dp->drv, &eq, &dp->eqn);
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
		status = drv_tis_create(&dp->drv, dp->td, &dp->tis);
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
	dp->drv.execute = execute;
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
	dp->drv.execute = execute;
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
	size_t bytes = (size_t)(conf->big ? 128 : 64) << conf->log_size;

	memset(cq, 0, sizeof(*cq));
	cq->dp = dp;
	cq->log_size = conf->log_size;
	cq->uar = dp->uars[conf->uar];
	cq->bytes = conf->big ? 128 : 64;
	cq->ring = dp_alloc(dp, bytes, DP_PAGE);
	memset(cq->ring, 0xff, bytes);
	cq->dbrec = dp_alloc(dp, sizeof(*cq->dbrec), 64);
	return drv_cq_create(&dp->drv,
			     &(struct drv_cq){ .log_size = conf->log_size,
					       .uar = cq->uar,
					       .eqn = dp->eqn,
					       .big = conf->big,
					       .collapsed = conf->collapsed,
					       .ignore_overrun = conf->ignore_overrun,
					       .max_count = conf->max_count,
					       .period_us = conf->period_us,
					       .dbrec = dp_iova(dp, cq->dbrec),
					       .ring = ring_pages(dp, cq->ring, bytes) },
			     &cq->cqn);
}

int
dp_sq_modify(struct dp_sq *sq, uint32_t from, uint32_t to)
{
	return drv_sq_modify(&sq->dp->drv, sq->sqn, from, to);
}

int
dp_rq_modify(struct dp_rq *rq, uint32_t from, uint32_t to)
{
	return drv_rq_modify(&rq->dp->drv, rq->rqn, from, to);
}

uint32_t
dp_sq_state(struct dp_sq *sq)
{
	struct rnic_sqc sqc;

	if (drv_sq_query(&sq->dp->drv, sq->sqn, &sqc) != 0)
		return UINT32_MAX;
	return (uint32_t)rnic_sqc_get(&sqc, RNIC_SQC_STATE);
}

uint32_t
dp_rq_state(struct dp_rq *rq)
{
	struct rnic_rqc rqc;

	if (drv_rq_query(&rq->dp->drv, rq->rqn, &rqc) != 0)
		return UINT32_MAX;
	return (uint32_t)rnic_rqc_get(&rqc, RNIC_RQC_STATE);
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
	size_t bytes = (size_t)RNIC_WQEBB_BYTES << log_size;
	struct drv_sq conf = { .log_size = log_size,
			       .pd = dp->pd,
			       .uar = dp->uars[uar],
			       .cqn = cq->cqn,
			       .tisn = dp->tis,
			       .user_index = DP_SQ_USER_INDEX,
			       .ts_format = dp->ts_format,
			       .multi_packet = (flags & DP_SQ_MULTI_PACKET) != 0,
			       .flush = (flags & DP_SQ_FLUSH) != 0,
			       .rlky = (flags & DP_SQ_RLKY) != 0 };
	int status;

	memset(sq, 0, sizeof(*sq));
	sq->dp = dp;
	sq->cq = cq;
	sq->log_size = log_size;
	sq->uar = conf.uar;
	sq->ring = dp_alloc(dp, bytes, DP_PAGE);
	sq->dbrec = dp_alloc(dp, sizeof(*sq->dbrec), 64);
	conf.ring = ring_pages(dp, sq->ring, bytes);
	conf.dbrec = dp_iova(dp, sq->dbrec);
	status = drv_sq_create(&dp->drv, &conf, &sq->sqn);
	return status != 0 ? status : dp_sq_modify(sq, RNIC_WQ_STATE_RST, RNIC_WQ_STATE_RDY);
}

int
dp_rq_create(struct dp *dp, struct dp_rq *rq, struct dp_cq *cq, uint32_t log_size,
	     uint32_t log_stride)
{
	size_t bytes = (size_t)1 << (log_size + log_stride);
	struct drv_rq conf = { .log_size = log_size,
			       .log_stride = log_stride,
			       .pd = dp->pd,
			       .cqn = cq->cqn,
			       .counter = dp->q_counter,
			       .ts_format = dp->ts_format,
			       .vsd = true,
			       .flush = true };
	int status;

	memset(rq, 0, sizeof(*rq));
	rq->dp = dp;
	rq->cq = cq;
	rq->log_size = log_size;
	rq->log_stride = log_stride;
	rq->ring = dp_alloc(dp, bytes, DP_PAGE);
	rq->dbrec = dp_alloc(dp, sizeof(*rq->dbrec), 64);
	conf.ring = ring_pages(dp, rq->ring, bytes);
	conf.dbrec = dp_iova(dp, rq->dbrec);
	status = drv_rq_create(&dp->drv, &conf, &rq->rqn);
	return status != 0 ? status : dp_rq_modify(rq, RNIC_WQ_STATE_RST, RNIC_WQ_STATE_RDY);
}

int
dp_key_create(struct dp *dp, uint32_t pages, uint32_t log_page, uint64_t iova, uint64_t step,
	      uint32_t *number)
{
	uint32_t key;
	int status = drv_mkey_create(&dp->drv,
				     &(struct drv_mkey){ .mode = RNIC_MKEY_MTT,
							 .access = DRV_LR,
							 .log_page_size = log_page,
							 .pd = dp->pd,
							 .length = (uint64_t)pages << log_page,
							 .pages = { iova, step, pages } },
				     &key);

	if (status == 0)
		*number = key >> 8;
	return status;
}

int
dp_tir_create(struct dp_rq *rq)
{
	return drv_tir_create(&rq->dp->drv, &(struct drv_tir){ .td = rq->dp->td, .rqn = rq->rqn },
			      &rq->tirn);
}
