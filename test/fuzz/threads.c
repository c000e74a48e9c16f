/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Fuzz target: a device that refills while the driver drains. The device has a thread of its own, and the control thread of
 * the driver its interrupts; as soon as the driver has read an entry of a CQ or EQ there is another one, made up as the input
 * says, until the device is closed. Each call of the driver returns all the same, the last one too.
 *
 *   u8        which rings are refilled: bit 0 the asynchronous EQ, 1 that of completions, 2 that of other events, 3 the receive
 *             CQ of the port, 4 its transmit CQ, 5 that of the queue pair; bit 6: CQs are, read or not, bit 7: EQs, until they
 *             run over
 *   u8        bits 2..0: entries that take turns; bit 3: the device has one vector for all
 *   each entry: u8 opcode or type, u8 whose, u16 WQE counter, u32 byte count
 *   then operations, each: u8 enum op, u8 how often, or its argument
 *
 * A device is opened for each input: twenty a second.
 */

#include <pthread.h>
#include <sched.h>

#include <rte_common.h>
#include <rte_malloc.h>

#include "base/clock.h"
#include "base/thread.h"
#include "base/tunables.h"
#include "bringup.h"
#include "core/cmd.h"
#include "core/control.h"
#include "core/dev.h"
#include "core/eq.h"
#include "core/event.h"
#include "core/health.h"
#include "core/pages.h"
#include "ethdev/rxq.h"
#include "ethdev/txq.h"
#include "forge.h"
#include "object/port.h"
#include "port.h"
#include "prm/cmd.h"
#include "prm/cqe.h"
#include "prm/init_seg.h"
#include "rdma/rdma.h"

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
	OP_LINK,   /* a command */
	OP_TAKE,   /* events of the library's */
	OP_LOOK,   /* for event queues that failed */
	OP_SYNC,   /* what events there are is waited for */
	OP_DIE,	   /* the device says that it is lost, or is not heard of */
	OP_ROUND,  /* the device has come round, and has refilled what it refills */
	OP_LOOKED, /* the control thread has looked at the device's health once more */
	/* What the device is like from now on. They have an argument. */
	OP_HONEST,   /* as it should be */
	OP_STILL,    /* its health counter stands still */
	OP_COMPLAIN, /* of a syndrome that is not its end; 0: of none */
	OP_OVERRUN,  /* which event queue has more events at once than it has room for */
	OP_REFUSE,   /* which command, and how */
	OP_STUCK,    /* which command is never answered */
	OP_PAGES,    /* so many of 16 it asks for, or offers */
	OP_END,	     /* enum ending */
	OP_LAST,
};

/* Where the control thread is when it is to end. */
enum ending {
	END_ANYWHERE,
	END_COUNTER,  /* it waits for the device's answer: what the health counter is */
	END_SYNDROME, /* what its syndrome is */
	END_LINK,     /* for a command: is the link up? */
	END_PAGES,    /* the same, which gives pages */
	END_LAST,
};

#define NO_REGISTER UINT64_MAX

#define ENTRIES_MAX 8
#define PATIENCE_US 20000000 /* of a call; the longest are waits for the control thread */
#define INPUT_US    2000000  /* then no call is begun any more, but for the end */
#define LOOKED_US   1000000  /* for what the control thread does once in 10 ms */
#define LOOKED_MAX  32	     /* of an input */
#define COMMAND_MS  5000
#define STUCK_MS    200 /* which of all commands are waited for, once some are not answered */
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
static atomic_uint rounds;
static uint8_t plan;
static struct entry entries[ENTRIES_MAX];
static unsigned int entry_count, turn;
/* As they were when the input began; numbers of objects that are gone are not in use. */
static uint32_t cqs[3], qpn, numbers[4];
static _Atomic uint32_t eqs[3];

static void
eqs_read(void)
{
	atomic_store(&eqs[0], rnic_eq_number(dev->async_eq));
	atomic_store(&eqs[1], rnic_eq_number(dev->rdma->vectors[0].eq));
	atomic_store(&eqs[2], rnic_eq_number(dev->rdma->event_eq));
}

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
		atomic_fetch_add(&rounds, 1);
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

/* ---- The control thread, as the device sees it ---- */

static enum ending ending;
static _Atomic uint64_t slow_register = NO_REGISTER;
static atomic_uint stuck_command, looks;
static unsigned int looks_waited;
static atomic_bool waits; /* for the register or the command */

static void
nap(void)
{
	const struct timespec millisecond = { .tv_nsec = 1000000 };

	nanosleep(&millisecond, NULL);
}

/* As an access does whose device is another process: it waits as long as the thread may, and then knows nothing. */
static bool
reads(uint64_t offset)
{
	int fd;

	if (offset == RNIC_FIELD_OFFSET(RNIC_ISEG_HEALTH_COUNTER))
		atomic_fetch_add(&looks, 1);
	if (offset != atomic_load(&slow_register))
		return true;
	atomic_store(&waits, true);
	while (rnic_thread_patience_ms(&fd) != 0)
		nap();
	return false;
}

static void
rang(uint16_t opcode)
{
	if (opcode == atomic_load(&stuck_command))
		atomic_store(&waits, true);
}

/* The one that is under way may have begun before. */
static void
round_ended(void)
{
	const unsigned int before = atomic_load(&rounds);
	const uint64_t end = rnic_now_us() + LOOKED_US;

	while (atomic_load(&rounds) - before < 2 && rnic_now_us() < end)
		sched_yield();
}

/* Not of a device that is lost: it is not looked at. */
static void
looked(void)
{
	const unsigned int before = atomic_load(&looks);
	const uint64_t end = rnic_now_us() + LOOKED_US;

	if (looks_waited++ >= LOOKED_MAX)
		return;
	while (atomic_load(&looks) == before && !atomic_load(&dev->dead) && rnic_now_us() < end)
		nap();
}

static void
stick(uint16_t opcode)
{
	atomic_store(&stuck_command, opcode);
	softrnic_fault(fake.device, SOFTRNIC_FAULT_COMMAND_STUCK, opcode);
}

/* The control thread comes to where it is to be found. */
static void
end_begin(void)
{
	const uint64_t end = rnic_now_us() + LOOKED_US;
	const uint32_t none[7] = { 0 };

	if (ending == END_ANYWHERE)
		return;
	dev->tunables.cmd_timeout_ms = COMMAND_MS;
	atomic_store(&waits, false);
	switch (ending) {
	case END_COUNTER:
		atomic_store(&slow_register, RNIC_FIELD_OFFSET(RNIC_ISEG_HEALTH_COUNTER));
		break;
	case END_SYNDROME:
		atomic_store(&slow_register, RNIC_FIELD_OFFSET(RNIC_ISEG_HEALTH_SYNDROME));
		break;
	case END_LINK:
		stick(RNIC_CMD_QUERY_VPORT_STATE);
		forge_event(fake.device, rnic_eq_number(dev->async_eq), RNIC_EVENT_PORT_CHANGE,
			    RNIC_PORT_CHANGE_ACTIVE, none);
		break;
	default:
		stick(RNIC_CMD_MANAGE_PAGES);
		softrnic_fault(fake.device, SOFTRNIC_FAULT_PAGE_REQUEST, 1);
	}
	while (!atomic_load(&waits) && !atomic_load(&dev->dead) && rnic_now_us() < end)
		nap();
}

void __real_rnic_control_stop(struct rnic_dev *of);
void __wrap_rnic_control_stop(struct rnic_dev *of);

/* Then the device answers again; the slot of the command that was given up stays taken (the linker's --wrap). */
void
__wrap_rnic_control_stop(struct rnic_dev *of)
{
	__real_rnic_control_stop(of);
	if (ending == END_ANYWHERE)
		return;
	atomic_store(&slow_register, NO_REGISTER);
	softrnic_fault(fake.device, SOFTRNIC_FAULT_NONE, 0);
	of->tunables.cmd_timeout_ms = STUCK_MS;
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
port_changed(void *arg)
{
	struct rnic_dev *of = arg;
	uint32_t speed;
	bool up;

	rnic_port_link(of, &up, &speed);
}

static void
lost(void *arg)
{
	const struct rnic_dev *of = arg;

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
	ending = END_ANYWHERE;
	looks_waited = 0;
	must(rnic_dev_open("net_rnic0", "", 0, &dev) == 0);
	atomic_store(&device_stops, false);
	must(pthread_create(&device, NULL, device_run, NULL) == 0);
	port_open(dev);
	rnic_on_port_change(dev, port_changed, dev);
	rnic_on_lost(dev, RNIC_LOST_ETHDEV, lost, dev);
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
	end_begin();
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

	switch (op) {
	case OP_RX: port_receive(&q, &rx); break;
	case OP_TX: port_transmit(&q, &tx); break;
	case OP_POLL_CQ: must(rdmapmd_poll_cq(cq, wc, RTE_DIM(wc)) <= RTE_DIM(wc)); break;
	case OP_ARM: rdmapmd_req_notify_cq(cq, false); break;
	case OP_HALT:
		port_rx_halt(&q);
		port_rx_resume(&q);
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
	case OP_ROUND: round_ended(); break;
	case OP_LOOKED: looked(); break;
	default:
		softrnic_fault(fake.device,
			       plan & 1 ? SOFTRNIC_FAULT_FATAL : SOFTRNIC_FAULT_HEALTH_STOPPED, 1);
	}
}

/* What the control thread has to do with its event queues, and when it asks the device for what they missed. */
static const uint16_t its_commands[] = { RNIC_CMD_CREATE_EQ,   RNIC_CMD_QUERY_EQ,
					 RNIC_CMD_DESTROY_EQ,  RNIC_CMD_QUERY_VPORT_STATE,
					 RNIC_CMD_QUERY_PAGES, RNIC_CMD_MANAGE_PAGES,
					 RNIC_CMD_QUERY_QP,    RNIC_CMD_DESTROY_QP };

static void
setting(uint8_t op, uint8_t argument)
{
	const uint16_t opcode = its_commands[argument % RTE_DIM(its_commands)];
	static const unsigned int sizes[] = { 256, 4096, 8192 };

	switch (op) {
	case OP_HONEST: softrnic_fault(fake.device, SOFTRNIC_FAULT_NONE, 0); break;
	case OP_STILL: softrnic_fault(fake.device, SOFTRNIC_FAULT_HEALTH_STOPPED, 1); break;
	case OP_COMPLAIN: forge_complaint(fake.device, argument); break;
	case OP_OVERRUN:
		/* It may have been made anew since the input began. */
		eqs_read();
		forge_events(fake.device, eqs[argument % RTE_DIM(sizes)],
			     argument & 0x10 ? RNIC_EVENT_PORT_MODULE : RNIC_EVENT_COMPLETION,
			     sizes[argument % RTE_DIM(sizes)] + 1);
		break;
	case OP_REFUSE:
		softrnic_fault(
			fake.device, SOFTRNIC_FAULT_COMMAND_STATUS,
			(uint64_t)opcode << 8 |
				(argument & 0x10 ? RNIC_STATUS_NO_RES : RNIC_STATUS_INTERNAL_ERR));
		break;
	case OP_STUCK:
		stick(opcode);
		dev->tunables.cmd_timeout_ms = STUCK_MS;
		break;
	case OP_PAGES:
		softrnic_fault(fake.device, SOFTRNIC_FAULT_PAGE_REQUEST,
			       (uint64_t)(argument % 32 - 16));
		break;
	default: ending = (enum ending)(argument % END_LAST);
	}
}

static void
plan_read(struct fuzz_input *input)
{
	uint8_t how;
	unsigned int i;

	plan = fuzz_u8(input);
	how = fuzz_u8(input);
	entry_count = how % ENTRIES_MAX + 1u;
	turn = 0;
	fake_irqs = how & 8 ? 1 : 3;
	for (i = 0; i < entry_count; i++) {
		entries[i].what = fuzz_u8(input);
		entries[i].whose = fuzz_u8(input);
		entries[i].counter = fuzz_u16(input);
		entries[i].bytes = fuzz_u32(input);
	}
}

static void
numbers_read(void)
{
	unsigned int i;

	eqs_read();
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
	plan_read(&input);
	open_all();
	numbers_read();
	atomic_store(&refills, true);
	end = rnic_now_us() + INPUT_US;
	while (input.left > 0 && budget-- > 0) {
		uint8_t op = fuzz_u8(&input) % OP_LAST, n = fuzz_u8(&input);

		if (op >= OP_HONEST)
			setting(op, n);
		for (n = op < OP_HONEST ? n % 32 : 0; n > 0 && (before = rnic_now_us()) < end;
		     n--) {
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

/* ---- Seeds: each ring and kind of entry, and all calls; what the control thread has to do ---- */

#define SEED(name, flags, ...)                                    \
	seed_write(name, flags, (const uint8_t[]){ __VA_ARGS__ }, \
		   sizeof((const uint8_t[]){ __VA_ARGS__ }))

/* flags: as the second byte has them. */
static void
seed_write(const char *name, uint8_t flags, const uint8_t *ops, size_t bytes)
{
	const uint8_t plan_bytes[] = { 0, flags, 0, 0, 0, 0, 0, 0, 0, 0 };
	static struct fuzz_seed seed;

	seed.used = 0;
	fuzz_put(&seed, plan_bytes, sizeof(plan_bytes));
	fuzz_put(&seed, ops, bytes);
	fuzz_seed_write(&seed, "%s", name);
}

#define REFUSE_CREATE 0x00
#define NO_ROOM	      0x10
#define STUCK_LINK    3
#define STUCK_DESTROY 7
#define ONE_VECTOR    8

/* Of a queue that fails and is repaired, over and over, in much less than what it takes for a second. */
static void
error_seed_write(const char *name, uint8_t ring, uint8_t opcode, uint8_t op)
{
	const uint8_t plan_bytes[] = { ring, 0, opcode, 0, 0, 0, 0, 0, 0, 0 };
	static struct fuzz_seed seed;
	unsigned int i;

	seed.used = 0;
	fuzz_put(&seed, plan_bytes, sizeof(plan_bytes));
	for (i = 0; i < 12; i++) {
		const uint8_t ops[] = { op, 2, OP_ROUND, 1, op, 2, OP_ALARMS, 1 };

		fuzz_put(&seed, ops, sizeof(ops));
	}
	fuzz_seed_write(&seed, "%s", name);
}

static void
control_seeds_write(void)
{
	uint8_t end, eq;
	char name[32];

	SEED("still-and-back", 0, OP_STILL, 0, OP_LOOKED, 5, OP_HONEST, 0, OP_LOOKED, 2);
	SEED("still", 0, OP_STILL, 0, OP_LOOKED, 15, OP_LINK, 1);
	SEED("still-and-stuck", 0, OP_STUCK, STUCK_LINK, OP_LINK, 1, OP_STILL, 0, OP_LOOKED, 5);
	SEED("lost-twice", 0, OP_STILL, 0, OP_STUCK, STUCK_DESTROY);
	SEED("complaint", 0, OP_COMPLAIN, 5, OP_LOOKED, 3, OP_COMPLAIN, 0, OP_LOOKED, 2);
	SEED("pages", 0, OP_PAGES, 24, OP_LOOKED, 2, OP_PAGES, 12, OP_LOOKED, 2);
	SEED("fatal", 0, OP_DIE, 1, OP_LOOKED, 12);
	SEED("one-vector", ONE_VECTOR, OP_ARM, 1, OP_TX, 8, OP_POLL_CQ, 1, OP_TAKE, 1);
	error_seed_write("rx-errors", 0x08, RNIC_CQE_RESPONDER_ERROR, OP_RX);
	error_seed_write("tx-errors", 0x10, RNIC_CQE_REQUESTER_ERROR, OP_TX);
	for (eq = 0; eq < 3; eq++) {
		snprintf(name, sizeof(name), "overrun-%u", eq);
		SEED(name, 0, OP_ARM, 1, OP_OVERRUN, eq, OP_LOOK, 1, OP_LOOKED, 3, OP_ARM, 1,
		     OP_RESET, 1, OP_LOOKED, 1, OP_TAKE, 1);
		snprintf(name, sizeof(name), "not-mended-%u", eq);
		SEED(name, 0, OP_REFUSE, REFUSE_CREATE, OP_OVERRUN, eq, OP_LOOK, 1, OP_LOOKED, 5,
		     OP_HONEST, 0, OP_LOOKED, 5);
		snprintf(name, sizeof(name), "no-room-%u", eq);
		SEED(name, 0, OP_REFUSE, REFUSE_CREATE | NO_ROOM, OP_OVERRUN, eq, OP_LOOK, 1,
		     OP_LOOKED, 3);
	}
	for (end = END_COUNTER; end < END_LAST; end++) {
		snprintf(name, sizeof(name), "end-%u", end);
		SEED(name, 0, OP_END, end);
	}
}

static void
ring_seeds_write(void)
{
	static const uint8_t kinds[][2] = { { RNIC_CQE_REQUESTER, RNIC_EVENT_COMPLETION },
					    { RNIC_CQE_RESPONDER_SEND, RNIC_EVENT_COMMAND },
					    { RNIC_CQE_REQUESTER_ERROR, RNIC_EVENT_PORT_CHANGE },
					    { RNIC_CQE_RESPONDER_ERROR, RNIC_EVENT_CQ_ERROR },
					    { RNIC_CQE_INVALID, RNIC_EVENT_WQ_CATASTROPHIC } };
	static struct fuzz_seed seed;
	unsigned int ring, kind, op;

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
			for (op = 0; op < 2 * OP_DIE + (kind <= 1); op++) {
				fuzz_put_u8(&seed,
					    (uint8_t)(op == 2 * OP_DIE ? OP_DIE : op % OP_DIE));
				fuzz_put_u8(&seed, op % OP_DIE < OP_HALT ? 8 : 1);
			}
			fuzz_seed_write(&seed, "ring-%u-%u", ring, kind);
		}
	}
}

void
fuzz_seeds_write(void)
{
	ring_seeds_write();
	control_seeds_write();
}

void
fuzz_begin(void)
{
	port_init();
	fake_interrupts = true;
	fake_before_close = device_end;
	fake_read_hook = reads;
	fake_rung_hook = rang;
	/* A tenth of a second is one: errors of a queue that follow each other have one line, and what the queue still holds
	 * is waited for that much less. */
	fake_hz = 200000000;
	port_tunables.cmd_timeout_ms = COMMAND_MS;
	port_tunables.cmd_dead_timeout_ms = 1000;
	port_tunables.pages_patience_ms = 1000;
	port_tunables.health_period_ms = 10;
	port_tunables.last_ms = 50;
	port_tunables.sync_patience_s = 1;
	port_tunables.silence_ms = 30;
}
