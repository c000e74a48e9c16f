/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Fuzz target: a device that refills while the driver drains. The device has a thread of its own, and the control thread of
 * the driver its interrupts; as soon as the driver has read an entry of a CQ or EQ there is another one, made up as the input
 * says, until the device is closed. Each call of the driver returns all the same, the last one too.
 *
 *   u8        which rings are refilled: bit 0 the asynchronous EQ, 1 that of completions, 2 that of other events, 3 the receive
 *             CQ of the port, 4 its transmit CQ, 5 that of the queue pair; bit 6: CQs are, read or not, bit 7: EQs, until they
 *             run over
 *   u8        entries that take turns, and each: u8 opcode or type, u8 whose, u16 WQE counter, u32 byte count
 *   then operations, each: u8 enum op, u8 how often
 *
 * A device is opened for each input: twenty a second.
 */

#include <pthread.h>
#include <sched.h>

#include <rte_common.h>
#include <rte_malloc.h>

#include "forge.h"
#include "port.h"
#include "rdma.h"

enum op {
	OP_RX,
	OP_TX,
	OP_POLL_CQ,
	OP_ARM,
	OP_HALT,  /* and resume the receive queue */
	OP_STOP,  /* and start the transmit queue */
	OP_CLEAN, /* what the transmit queue has sent */
	OP_COUNT, /* what waits in the receive queue */
	OP_RESET, /* and connect the queue pair */
	OP_RESIZE,
	OP_ALARMS,
	OP_LINK, /* a command */
	OP_TAKE, /* events of the library's */
	OP_LOOK, /* for event queues that failed */
	OP_SYNC, /* what events there are is waited for */
	OP_DIE,	 /* the device says that it is lost, or is not heard of */
	OP_LAST,
};

#define ENTRIES_MAX 8
#define PATIENCE_US 20000000 /* of a call; the longest are waits for the control thread */
#define INPUT_US    2000000  /* then no call is begun any more, but for the end */
/* Entries that are made up, at most; the rest is for true ones. */
#define ASYNC_EQ 192
#define COMP_EQ	 4032
#define EVENT_EQ 8128

struct entry {
	uint8_t what, whose;
	uint16_t counter;
	uint32_t bytes;
};

static struct rnic_dev *dev;
static struct port_queues q;
static struct rdmapmd_context *context;
static struct rdmapmd_pd *pd;
static struct rdmapmd_comp_channel *channel;
static struct rdmapmd_cq *cq;
static struct rdmapmd_qp *qp;

/* ---- The device ---- */

static pthread_t device;
static atomic_bool device_stops, refills;
static uint8_t plan;
static struct entry entries[ENTRIES_MAX];
static unsigned int entry_count, turn;
/* As they were when the input began; numbers of objects that are gone are not in use. */
static uint32_t eqs[3], cqs[3], qpn, numbers[4];

static void
refill_eq(unsigned int which, uint32_t size)
{
	const struct entry *entry = &entries[turn++ % entry_count];
	uint32_t data[7] = { 0 };

	/* For pages that it asks for it would get all memory. */
	if (entry->what == RNIC_EVENT_PAGE_REQUEST ||
	    ((plan & 0x80) == 0 && !forge_eq_has_room(fake.device, eqs[which], size)))
		return;
	data[0] = data[6] = numbers[entry->whose % RTE_DIM(numbers)];
	data[5] = entry->bytes << 24;
	forge_event(fake.device, eqs[which], entry->what, (uint8_t)entry->counter, data);
}

static void
refill_cq(unsigned int which)
{
	const struct entry *entry = &entries[turn++ % entry_count];
	struct rnic_cqe cqe = { 0 };

	if (!forge_cq_has_room(fake.device, cqs[which]))
		return;
	cqe.byte_count = rnic_cpu_to_be32(entry->bytes);
	cqe.wqe_counter = rnic_cpu_to_be16((uint16_t)(entry->counter + turn));
	cqe.sop_drop_qpn = rnic_cpu_to_be32(entry->whose & 1 ? numbers[entry->whose % 4] : qpn);
	cqe.op_own = (uint8_t)(entry->what << 4);
	forge_completion(fake.device, cqs[which], &cqe);
}

static void
refill(void)
{
	static const uint32_t sizes[] = { ASYNC_EQ, COMP_EQ, EVENT_EQ };
	unsigned int i, n;

	for (i = 0; i < RTE_DIM(sizes); i++)
		for (n = 0; (plan >> i & 1) != 0 && n < 16; n++)
			refill_eq(i, sizes[i]);
	for (i = 0; i < RTE_DIM(cqs); i++)
		for (n = 0; (plan >> (3 + i) & 1) != 0 && n < 16; n++)
			refill_cq(i);
}

static void *
device_run(void *arg)
{
	(void)arg;
	while (!atomic_load(&device_stops)) {
		softrnic_poll(fake_poller);
		if (atomic_load(&refills))
			refill();
		sched_yield();
	}
	return NULL;
}

/* All is unmapped: now it may go. */
static void
device_end(void)
{
	atomic_store(&device_stops, true);
	pthread_join(device, NULL);
}

/* ---- The driver ---- */

static int
modify(enum rdmapmd_qp_state to)
{
	struct rdmapmd_qp_attr attr = {
		.qp_state = to,
		.port_num = 1,
		.path_mtu = RDMAPMD_MTU_1024,
		.dest_qp_num = qp->qp_num,
		.max_rd_atomic = 1,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 1,
		.timeout = 1,
		.ah_attr = { .hop_limit = 64, .port_num = 1 },
	};
	static const unsigned int masks[] = {
		[RDMAPMD_QPS_RESET] = 0,
		[RDMAPMD_QPS_INIT] =
			RDMAPMD_QP_PKEY_INDEX | RDMAPMD_QP_PORT | RDMAPMD_QP_ACCESS_FLAGS,
		[RDMAPMD_QPS_RTR] = RDMAPMD_QP_AV | RDMAPMD_QP_PATH_MTU | RDMAPMD_QP_DEST_QPN |
				    RDMAPMD_QP_RQ_PSN | RDMAPMD_QP_MAX_DEST_RD_ATOMIC |
				    RDMAPMD_QP_MIN_RNR_TIMER,
		[RDMAPMD_QPS_RTS] = RDMAPMD_QP_TIMEOUT | RDMAPMD_QP_RETRY_CNT |
				    RDMAPMD_QP_RNR_RETRY | RDMAPMD_QP_SQ_PSN |
				    RDMAPMD_QP_MAX_QP_RD_ATOMIC,
	};
	struct rdmapmd_gid_entry own;
	int rc = rdmapmd_gid_query(context, 1, 0, &own);

	attr.ah_attr.dgid = own.gid;
	return rc != 0 ? rc : rdmapmd_qp_modify(qp, &attr, RDMAPMD_QP_STATE | masks[to]);
}

static void
reset_qp(void)
{
	struct rdmapmd_sge none = { 0 };
	struct rdmapmd_send_wr wr = { .opcode = RDMAPMD_WR_NOP,
				      .send_flags = RDMAPMD_SEND_SIGNALED };
	struct rdmapmd_recv_wr recv = { .sg_list = &none };
	unsigned int i;

	if (modify(RDMAPMD_QPS_RESET) != 0 || modify(RDMAPMD_QPS_INIT) != 0 ||
	    modify(RDMAPMD_QPS_RTR) != 0 || modify(RDMAPMD_QPS_RTS) != 0)
		return;
	for (i = 0; i < 8; i++) {
		rdmapmd_post_send(qp, &wr, 1);
		rdmapmd_post_recv(qp, &recv, 1);
	}
}

/* From the control thread, as the ethdev has it. */
static void
port_changed(struct rnic_dev *of)
{
	uint32_t speed;
	bool up;

	rnic_port_link(of, &up, &speed);
}

static void
lost(struct rnic_dev *of)
{
	must(atomic_load(&of->dead));
}

static void
open_all(void)
{
	struct rdmapmd_cq_init_attr cq_attr = { .cqe = 63 };
	struct rdmapmd_qp_init_attr attr = {
		.qp_type = RDMAPMD_QPT_RC,
		.cap = { .max_send_wr = 16,
			 .max_recv_wr = 16,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};

	fake_reset_lies();
	must(rnic_dev_open("net_rnic0", "", 0, &dev) == 0);
	atomic_store(&device_stops, false);
	must(pthread_create(&device, NULL, device_run, NULL) == 0);
	port_open(dev);
	atomic_store(&dev->on_port_change, port_changed);
	atomic_store(&dev->on_fatal, lost);
	must(port_setup(&q, dev, 0, 0));
	port_rx_start(&q);
	port_tx_start(&q);
	must(q.rx_up && q.tx_up);
	must(rdmapmd_device_open(dev->device, &context) == 0);
	must(rdmapmd_pd_alloc(context, &pd) == 0);
	must(rdmapmd_comp_channel_create(context, &channel) == 0);
	cq_attr.channel = channel;
	must(rdmapmd_cq_create(context, &cq_attr, &cq) == 0);
	attr.send_cq = attr.recv_cq = cq;
	must(rdmapmd_qp_create(pd, &attr, &qp) == 0);
	reset_qp();
}

static void
take_events(void)
{
	struct rdmapmd_async_event event;
	struct rdmapmd_cq *of;
	unsigned int n;

	/* The library has one of each kind and object, and forgets how often. */
	for (n = 0; n < 64 && rdmapmd_async_event_get(context, &event) == 0; n++)
		rdmapmd_async_event_ack(context, &event);
	for (n = 0; n < 64 && rdmapmd_cq_event_get(channel, &of) == 0; n++)
		rdmapmd_cq_events_ack(of, 1);
}

static void
close_all(void)
{
	take_events();
	rdmapmd_context_close(context);
	port_release(&q);
	fake_alarms_run();
	rnic_dev_close(dev);
}

/* ---- An input ---- */

static void
operation(uint8_t op)
{
	static const uint8_t frames[] = { 4, 1, 60, 0 }, packets[] = { PORT_BURST };
	struct fuzz_input tx = { frames, sizeof(frames) }, rx = { packets, sizeof(packets) };
	struct rdmapmd_wc wc[16];
	uint32_t speed;
	bool up;

	switch (op % OP_LAST) {
	case OP_RX: port_receive(&q, &rx); break;
	case OP_TX: port_transmit(&q, &tx); break;
	case OP_POLL_CQ: must(rdmapmd_poll_cq(cq, wc, RTE_DIM(wc)) <= RTE_DIM(wc)); break;
	case OP_ARM: rdmapmd_req_notify_cq(cq, false); break;
	case OP_HALT:
		rnic_rxq_halt(q.rxq);
		rnic_rxq_resume(q.rxq);
		break;
	case OP_STOP:
		port_tx_stop(&q);
		port_tx_start(&q);
		break;
	case OP_CLEAN:
		if (q.tx_up)
			rnic_txq_done_cleanup(q.txq, 0);
		break;
	case OP_COUNT: must(rnic_rxq_count(q.rxq) <= 1024); break;
	case OP_RESET: reset_qp(); break;
	case OP_RESIZE: rdmapmd_cq_resize(cq, cq->cqe > 63 ? 63 : 127); break;
	case OP_ALARMS: fake_alarms_run(); break;
	case OP_LINK: rnic_port_link(dev, &up, &speed); break;
	case OP_TAKE: take_events(); break;
	case OP_LOOK: rnic_control_look(dev); break;
	case OP_SYNC: rnic_control_sync(dev); break;
	default:
		softrnic_fault(fake.device,
			       plan & 1 ? SOFTRNIC_FAULT_FATAL : SOFTRNIC_FAULT_HEALTH_STOPPED, 1);
	}
}

static void
plan_read(struct fuzz_input *input)
{
	unsigned int i;

	plan = fuzz_u8(input);
	entry_count = fuzz_u8(input) % ENTRIES_MAX + 1u;
	for (i = 0; i < entry_count; i++) {
		entries[i].what = fuzz_u8(input);
		entries[i].whose = fuzz_u8(input);
		entries[i].counter = fuzz_u16(input);
		entries[i].bytes = fuzz_u32(input);
	}
	eqs[0] = rnic_eq_number(dev->async_eq);
	eqs[1] = rnic_eq_number(dev->rdma->comp_eq);
	eqs[2] = rnic_eq_number(dev->rdma->event_eq);
	cqs[0] = q.rxq->cq.cqn;
	cqs[1] = q.txq->cq.cqn;
	cqs[2] = cq->cqn;
	qpn = qp->qp_num;
	numbers[0] = cq->cqn;
	numbers[1] = qp->qp_num;
	numbers[2] = 0x123456;
	numbers[3] = RNIC_RDMA_NO_QPN;
	for (i = 0; i < RTE_DIM(cqs) && (plan & 0x40) != 0; i++)
		forge_cq_never_full(fake.device, cqs[i]);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input input = { data, size };
	size_t heap = port_heap_bytes();
	unsigned int budget = 64;
	uint64_t before, end;

	if (size < 3)
		return 0;
	open_all();
	plan_read(&input);
	atomic_store(&refills, true);
	end = rnic_now_us() + INPUT_US;
	while (input.left > 0 && budget-- > 0) {
		uint8_t op = fuzz_u8(&input), n = fuzz_u8(&input) % 32;

		for (; n > 0 && (before = rnic_now_us()) < end; n--) {
			operation(op);
			must(rnic_now_us() - before < PATIENCE_US);
		}
	}
	before = rnic_now_us();
	close_all();
	must(rnic_now_us() - before < PATIENCE_US);
	atomic_store(&refills, false);
	must(port_heap_bytes() == heap);
	must(port_mbufs_are_back());
	return 0;
}

/* ---- Seeds: each ring and kind of entry, and all calls ---- */

static void
seeds_write(const char *folder)
{
	static const uint8_t kinds[][2] = { { RNIC_CQE_REQUESTER, RNIC_EVENT_COMPLETION },
					    { RNIC_CQE_RESPONDER_SEND, RNIC_EVENT_COMMAND },
					    { RNIC_CQE_REQUESTER_ERROR, RNIC_EVENT_PORT_CHANGE },
					    { RNIC_CQE_RESPONDER_ERROR, RNIC_EVENT_CQ_ERROR },
					    { RNIC_CQE_INVALID, RNIC_EVENT_WQ_CATASTROPHIC } };
	static struct fuzz_seed seed;
	unsigned int ring, kind, op;
	char name[32];

	for (ring = 0; ring < 9; ring++) {
		for (kind = 0; kind < RTE_DIM(kinds); kind++) {
			seed.used = 0;
			fuzz_put_u8(&seed, ring == 6   ? 0x7f
					   : ring == 7 ? 0x38
						       : (uint8_t)(1 << ring));
			fuzz_put_u8(&seed, 1);
			for (op = 0; op < 2; op++) {
				fuzz_put_u8(&seed, kinds[kind][ring < 3]);
				fuzz_put_u8(&seed, (uint8_t)(op << 1));
				fuzz_put_u16(&seed, (uint16_t)(op ? 4 : 0));
				fuzz_put_u16(&seed, 60);
				fuzz_put_u16(&seed, 0);
			}
			/* The last one is the end of the device. */
			for (op = 0; op < 2 * OP_LAST - (kind > 1); op++) {
				if (op == OP_DIE)
					continue;
				fuzz_put_u8(&seed, (uint8_t)op);
				fuzz_put_u8(&seed, op % OP_LAST < OP_HALT ? 8 : 1);
			}
			snprintf(name, sizeof(name), "ring-%u-%u", ring, kind);
			fuzz_seed_write(folder, name, &seed);
		}
	}
}

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	port_init();
	fake_interrupts = true;
	fake_before_close = device_end;
	rnic_cmd_timeout_ms = 5000;
	rnic_cmd_dead_timeout_ms = 1000;
	rnic_pages_patience_ms = 1000;
	rnic_health_period_ms = 10;
	rnic_silence_ms = 30;
	if (getenv("FUZZ_SEEDS") != NULL) {
		seeds_write(getenv("FUZZ_SEEDS"));
		exit(0);
	}
	return 0;
}
