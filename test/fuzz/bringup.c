/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Fuzz target: the driver brings up a device that lies, uses it as an ethdev port, and gives it back, once for each input.
 * Behind the access of liar.c stands the software RNIC; what it answers to registers and commands, and what it writes to CQs
 * and EQs, is changed as the input says. driver.c is about the queues of one that is up.
 *
 *   u8 changes of command replies, each
 *     u8      which command since the start
 *     u8      enum lie
 *     u16     where in the output, u8 bytes, the bytes
 *   u8 changes of register reads, each: u8 which read, u32 the value
 *   u8        bit 0: small mbufs, so that frames take several; 1: promise of fast free; 2: the device loops with faults;
 *             3: offloads
 *   then operations, each: u8 enum op, its operands
 *
 * Everything runs in this thread: the device is polled when a command is rung and by OP_POLL, alarms run by OP_ALARMS,
 * and the control thread's work is OP_EVENTS.
 */

#include <rte_common.h>

#include "bringup.h"
#include "core/control.h"
#include "core/dev.h"
#include "core/eq.h"
#include "ethdev/txq.h"
#include "object/cq.h"
#include "object/port.h"
#include "object/q_counter.h"
#include "port.h"
#include "prm/caps.h"
#include "prm/cqe.h"
#include "rdma/vector.h"
#include "steering/steer.h"

enum op {
	OP_TX,	 /* u8 packets, u8 segments, u16 bytes of each */
	OP_RX,	 /* u8 how many at most */
	OP_POLL, /* u8 times */
	OP_CQE, /* u8 bit 0: of Rx, 7..1: how far behind the consumer; u8 offset, u8 bytes, the bytes */
	OP_GOOD_CQE, /* as OP_CQE's first; u8 opcode, u16 WQE counter, u32 byte count: all else as it should be */
	OP_EQE, /* u8 how far behind the first, u8 type, u32 data[0], u32 data[1], u8 owner */
	OP_EVENTS,
	OP_ALARMS,
	OP_RESTART,  /* u8 bit 0: Rx */
	OP_REGISTER, /* u32: what all registers read from now on; 0: themselves */
	OP_PORT,     /* u8 which control call */
	OP_REQUEST,  /* u16: the device asks for pages */
	OP_LAST,
};

struct world {
	struct rnic_dev *dev;
	struct port_queues q;
	bool steered;
};

static void
rx_start(struct world *w)
{
	const uint8_t mac[6] = { 2, 0, 0, 0, 0, 1 };

	if (w->q.rx_up)
		return;
	port_rx_start(&w->q);
	if (!w->q.rx_up)
		return;
	memset(&port.steering, 0, sizeof(port.steering));
	if (rnic_steering_create(w->dev, &w->q.rxq->rq.rqn, NULL, &port.steering) != 0)
		return;
	w->steered = true;
	rnic_steering_set(w->dev, &port.steering, mac, true, true);
}

static void
rx_stop(struct world *w)
{
	if (w->steered)
		rnic_steering_destroy(w->dev, &port.steering);
	w->steered = false;
	port_rx_stop(&w->q);
}

static bool
queues_setup(struct world *w, uint8_t flags)
{
	port_open(w->dev);
	if (!port_setup(&w->q, w->dev, 0, flags))
		return false;
	rx_start(w);
	port_tx_start(&w->q);
	return true;
}

static void
queues_release(struct world *w)
{
	rx_stop(w);
	port_release(&w->q);
}

/* ---- Operations ---- */

/* A completion queue entry; its queue in *cq. NULL: there is none. */
static struct rnic_cqe *
entry_of(struct world *w, uint8_t what, const struct rnic_cq **cq)
{
	*cq = what & 1 ? &w->q.rxq->cq : &w->q.txq->cq;
	if ((*cq)->ring == NULL)
		return NULL;
	return &(*cq)->ring[((*cq)->consumer + (what >> 1)) & (*cq)->mask];
}

static void
damage_entry(struct world *w, struct fuzz_input *input)
{
	uint8_t what = fuzz_u8(input), offset = fuzz_u8(input), bytes = fuzz_u8(input) % 64, i;
	uint8_t data[64];
	const struct rnic_cq *cq;
	struct rnic_cqe *cqe = entry_of(w, what, &cq);

	fuzz_bytes(input, data, bytes);
	for (i = 0; cqe != NULL && i < bytes; i++)
		((uint8_t *)cqe)[(offset + i) % sizeof(*cqe)] = data[i];
}

static void
forge_entry(struct world *w, struct fuzz_input *input)
{
	uint8_t what = fuzz_u8(input), opcode = fuzz_u8(input);
	uint16_t counter = fuzz_u16(input);
	uint32_t bytes = fuzz_u32(input);
	const struct rnic_cq *cq;
	struct rnic_cqe *cqe = entry_of(w, what, &cq);

	if (cqe == NULL)
		return;
	memset(cqe, 0, sizeof(*cqe));
	cqe->wqe_counter = rnic_cpu_to_be16(counter);
	cqe->byte_count = rnic_cpu_to_be32(bytes);
	cqe->op_own =
		RNIC_CQE_OP_OWN(opcode & 0xf, (cq->consumer + (what >> 1)) >> cq->log_size & 1);
}

static void
forge_event(struct fuzz_input *input)
{
	struct rnic_eqe eqe = { 0 };
	uint8_t which = fuzz_u8(input);

	eqe.type = fuzz_u8(input);
	eqe.data[0] = rnic_cpu_to_be32(fuzz_u32(input));
	eqe.data[1] = rnic_cpu_to_be32(fuzz_u32(input));
	eqe.owner = fuzz_u8(input);
	if (fake.eq != NULL)
		fake.eq[which] = eqe;
}

static void
port_call(struct world *w, uint8_t what)
{
	const uint8_t mac[6] = { 2, 0, 0, 0, 0, what };
	uint32_t value;
	bool up;

	switch (what % 8) {
	case 0: rnic_port_link(w->dev, &up, &value); break;
	case 1: rnic_q_counter_out_of_buffer(w->dev, &value); break;
	case 2: rnic_port_set_mtu(w->dev, 1000); break;
	case 3: rnic_port_set_admin(w->dev, (what & 8) != 0); break;
	case 4: rnic_port_set_mac(w->dev, mac); break;
	case 5: rnic_port_set_promiscuous(w->dev, (what & 8) != 0, (what & 16) != 0); break;
	case 6:
		if (w->steered)
			rnic_steering_set(w->dev, &port.steering, mac, (what & 8) != 0,
					  (what & 16) != 0);
		break;
	default:
		if (w->q.tx_up)
			rnic_txq_done_cleanup(w->q.txq, 0);
	}
}

static void
restart(struct world *w, bool rx)
{
	if (rx) {
		rx_stop(w);
		rx_start(w);
	} else {
		port_tx_stop(&w->q);
		port_tx_start(&w->q);
	}
}

static void
operation(struct world *w, struct fuzz_input *input)
{
	uint8_t n;

	switch (fuzz_u8(input) % OP_LAST) {
	case OP_TX: port_transmit(&w->q, input); break;
	case OP_RX: port_receive(&w->q, input); break;
	case OP_POLL:
		for (n = fuzz_u8(input) % 16; n > 0; n--)
			softrnic_poll(fake_poller);
		break;
	case OP_CQE: damage_entry(w, input); break;
	case OP_GOOD_CQE: forge_entry(w, input); break;
	case OP_EQE: forge_event(input); break;
	case OP_EVENTS:
		rnic_eq_poll(w->dev, w->dev->async_eq);
		rnic_rdma_poll(w->dev);
		rnic_control_answer(w->dev);
		break;
	case OP_ALARMS: fake_alarms_run(); break;
	case OP_RESTART: restart(w, (fuzz_u8(input) & 1) != 0); break;
	case OP_REGISTER: fake.all_registers = fuzz_u32(input); break;
	case OP_PORT: port_call(w, fuzz_u8(input)); break;
	case OP_REQUEST:
		softrnic_fault(fake.device, SOFTRNIC_FAULT_PAGE_REQUEST,
			       (uint64_t)(int16_t)fuzz_u16(input));
		break;
	default: break;
	}
}

/* ---- An input ---- */

static void
changes_read(struct fuzz_input *input)
{
	unsigned int i;

	fake_reset_lies();
	fake.change_count = fuzz_u8(input) % (CHANGES_MAX + 1);
	for (i = 0; i < fake.change_count; i++) {
		struct change *change = &fake.changes[i];

		change->command = fuzz_u8(input);
		change->lie = fuzz_u8(input) % LIE_LAST;
		change->offset = fuzz_u16(input);
		change->bytes = fuzz_u8(input) % sizeof(change->data);
		fuzz_bytes(input, change->data, change->bytes);
	}
	fake.read_count = fuzz_u8(input) % (RTE_DIM(fake.reads) + 1);
	for (i = 0; i < fake.read_count; i++) {
		fake.reads[i].which = fuzz_u8(input);
		fake.reads[i].value = fuzz_u32(input);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input input = { data, size };
	struct world w = { 0 };
	size_t heap = port_heap_bytes();
	unsigned int budget = 128;
	uint8_t flags;

	if (size < 3)
		return 0;
	changes_read(&input);
	flags = fuzz_u8(&input);
	if (rnic_dev_open("net_rnic0", flags & 4 ? "drop=100000,corrupt=300000" : "", 0, &w.dev) !=
	    0)
		goto out;
	if (queues_setup(&w, flags))
		while (input.left > 0 && budget-- > 0)
			operation(&w, &input);
	queues_release(&w);
	fake_alarms_run();
	rnic_dev_close(w.dev);
out:
	must(port_heap_bytes() == heap);
	must(port_mbufs_are_back());
	return 0;
}

/* ---- Seeds ---- */

static struct fuzz_seed seed;

static void
put_traffic(unsigned int rounds)
{
	unsigned int i;

	for (i = 0; i < rounds; i++) {
		PUT(&seed, OP_TX, PORT_BURST, (uint8_t)(i % 3));
		fuzz_put_u16(&seed, (uint16_t)(60 + i * 300));
		PUT(&seed, OP_POLL, 9, OP_RX, PORT_BURST, OP_EVENTS);
	}
}

static void
put_traffic_only(unsigned int i)
{
	PUT(&seed, 0, 0, (uint8_t)i);
	put_traffic(6);
}

/* Errors of both directions, and what follows. */
static void
put_errors(unsigned int i)
{
	PUT(&seed, 0, 0, (uint8_t)i);
	put_traffic(1);
	PUT(&seed, OP_TX, 8, 1, 60, 0, OP_GOOD_CQE, (uint8_t)(i & 1), 13, 0, 0, 0, 0, 0, 0);
	PUT(&seed, OP_TX, 1, 1, 60, 0, OP_RX, 9, OP_ALARMS, OP_RX, 9, OP_TX, 1, 1, 60, 0);
	put_traffic(2);
	PUT(&seed, OP_RESTART, (uint8_t)i, OP_RESTART, (uint8_t)(i + 1));
	put_traffic(1);
}

/* An event of each type. */
static void
put_event(unsigned int i)
{
	PUT(&seed, 0, 0, 0);
	PUT(&seed, OP_EQE, 0, (uint8_t)i, 1, 0, 0, 0, 1, 0, 0, 0, 0, OP_EVENTS, OP_PORT,
	    (uint8_t)i);
	put_traffic(1);
}

/* BlueFlame registers that would not fit their page. */
static void
put_large_registers(unsigned int i)
{
	(void)i;
	PUT(&seed, 1, 9, LIE_OUTPUT, 0x10 + RNIC_FIELD_OFFSET(RNIC_GENERAL_CAP_LOG_BF_REG_SIZE) + 1,
	    0, 1, 0x1f, 0, 0);
	put_traffic(1);
}

/* Pages given back that never were there, told by one of the last commands. */
static void
put_one_page(unsigned int i)
{
	PUT(&seed, 1, (uint8_t)(40 + i), LIE_OUTPUT, 8, 0, 4, 0, 0, 0, 1, 0, 0);
}

/* A lie about each of the first commands: two kinds of each. */
static void
put_lie(unsigned int i)
{
	unsigned int command = i / 2, lie = (3 - command % 3) % 3 + i % 2 * 3;

	PUT(&seed, 1, (uint8_t)command, (uint8_t)lie, 8, 0, 8, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
	    0xff, 0xff, 0, 0);
	put_traffic(1);
}

void
fuzz_seeds_write(void)
{
	/* Each begins with the lies, or that there are none. */
	static const struct {
		const char *name;
		unsigned int count;
		void (*put)(unsigned int i);
	} kinds[] = {
		{ "traffic", 8, put_traffic_only },
		{ "error", 4, put_errors },
		{ "event", 32, put_event },
		{ "registers-too-large", 1, put_large_registers },
		{ "one-page", 30, put_one_page },
		{ "lie", 96 * 2, put_lie },
	};
	unsigned int kind, i;

	for (kind = 0; kind < RTE_DIM(kinds); kind++) {
		for (i = 0; i < kinds[kind].count; i++) {
			seed.used = 0;
			kinds[kind].put(i);
			fuzz_seed_write(&seed, "%s-%u", kinds[kind].name, i);
		}
	}
}

_Static_assert(LIE_LAST == 6, "put_lie() tells two of them about each command");

void
fuzz_begin(void)
{
	port_init();
}
