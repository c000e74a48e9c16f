/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Fuzz target: the driver and a device that lies. Behind an access of this file's stands the software RNIC; what it
 * answers to registers and commands, and what it writes to CQs and EQs, is changed as the input says.
 *
 *   u8 changes of command replies, each
 *     u8      which command since the start
 *     u8      enum lie
 *     u16     where in the output, u8 bytes, the bytes
 *   u8 changes of register reads, each: u8 which read, u32 the value
 *   u8        bit 0: small mbufs, so that frames take several; 1: promise of fast free; 2: the device loops with faults
 *   then operations, each: u8 enum op, its operands
 *
 * Everything runs in this thread: the device is polled when a command is rung and by OP_POLL, alarms run by OP_ALARMS,
 * and the control thread's work is OP_EVENTS.
 */

#include <errno.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <rte_alarm.h>
#include <rte_eal.h>
#include <rte_malloc.h>
#include <rte_mbuf.h>

#include "fuzz.h"
#include "internal.h"
#include "prm/cqe.h"
#include "rdmapmd_driver.h"
#include "rx.h"
#include "softrnic/softrnic.h"
#include "tx.h"

extern int softrnic_logtype;

#define CHANGES_MAX 12
#define MAPS_MAX    1024
#define BURST	    16
#define POOL_MBUFS  1023

enum lie {
	LIE_OUTPUT,   /* bytes of the output are others */
	LIE_STATUS,   /* the status is offset's low byte, the device has executed */
	LIE_REFUSED,  /* the same, and it has not */
	LIE_DELIVERY, /* not delivered, it says */
	LIE_NEVER,    /* no answer */
	LIE_DONE, /* it says done and has not done a thing: an output of zeros, and of the bytes */
	LIE_LAST,
};

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

struct change {
	uint8_t command, lie, bytes;
	uint16_t offset;
	uint8_t data[16];
};

struct map {
	uint64_t iova;
	size_t length;
};

/* The lying device. One at a time. */
static struct fake {
	struct rnic_access base;
	struct softrnic *device;
	struct map maps[MAPS_MAX];
	uint32_t map_count;
	uint8_t *uar_pages;
	uint64_t uar_offset;
	size_t uar_length;
	uint64_t cmdq;
	struct rnic_eqe *eq;
	int irq;

	struct change changes[CHANGES_MAX];
	unsigned int change_count;
	struct {
		uint8_t which;
		uint32_t value;
	} reads[8];
	unsigned int read_count;
	uint8_t commands, read;
	uint32_t all_registers;
	unsigned int unanswered;
} fake;

static struct softrnic_poller *poller;
static struct rte_mempool *pools[2]; /* mbufs for whole frames, small ones */
static pthread_t main_thread;

/* ---- What DPDK would do in threads of its own, or would wait for. ---- */

static struct {
	rte_eal_alarm_callback fn;
	void *arg;
} alarms[8];

int
rte_eal_alarm_set(uint64_t us, rte_eal_alarm_callback fn, void *arg)
{
	unsigned int i;

	(void)us;
	for (i = 0; i < RTE_DIM(alarms); i++) {
		if (alarms[i].fn != NULL)
			continue;
		alarms[i].fn = fn;
		alarms[i].arg = arg;
		return 0;
	}
	return -ENOMEM;
}

int
rte_eal_alarm_cancel(rte_eal_alarm_callback fn, void *arg)
{
	unsigned int i;
	int count = 0;

	for (i = 0; i < RTE_DIM(alarms); i++) {
		if (alarms[i].fn != fn || alarms[i].arg != arg)
			continue;
		alarms[i].fn = NULL;
		count++;
	}
	return count;
}

static void
alarms_run(void)
{
	unsigned int i;

	for (i = 0; i < RTE_DIM(alarms); i++) {
		rte_eal_alarm_callback fn = alarms[i].fn;

		alarms[i].fn = NULL;
		if (fn != NULL)
			fn(alarms[i].arg);
	}
}

/* Time flies: a wait of 200 ms is over in less than one. */
uint64_t
rte_get_tsc_hz(void)
{
	return 2000000;
}

/* ---- The access ---- */

static struct rnic_be32
fake_read32(struct rnic_access *access, uint64_t offset)
{
	struct rnic_be32 value;
	unsigned int i;

	(void)access;
	if (softrnic_bar_read(fake.device, offset, &value, sizeof(value)) != 0)
		return RNIC_BE32(UINT32_MAX);
	/* The control thread looks once: that must not move the count. */
	if (!pthread_equal(pthread_self(), main_thread))
		return value;
	if (fake.all_registers != 0)
		return rnic_cpu_to_be32(fake.all_registers);
	for (i = 0; i < fake.read_count; i++)
		if (fake.reads[i].which == fake.read)
			value = rnic_cpu_to_be32(fake.reads[i].value);
	fake.read++;
	return value;
}

/* Bytes of an output, which begin in the entry and go on in blocks of the driver's own memory. */
static void
change_output(struct rnic_cmdq_entry *entry, const struct change *change)
{
	uint64_t next = rnic_be64_to_cpu(entry->output_mailbox);
	uint32_t at = change->offset, i, block, length = rnic_be32_to_cpu(entry->output_length);
	uint8_t *to;

	for (i = 0; i < change->bytes; i++, at++) {
		if (at >= length)
			return;
		if (at < RNIC_CMDQ_INLINE_BYTES) {
			entry->output[at] = change->data[i];
			continue;
		}
		to = (uint8_t *)(uintptr_t)next;
		for (block = (at - RNIC_CMDQ_INLINE_BYTES) / RNIC_CMDQ_BLOCK_BYTES; block > 0;
		     block--)
			to = (uint8_t *)(uintptr_t)rnic_be64_to_cpu(
				((struct rnic_cmdq_block *)to)->next);
		to[(at - RNIC_CMDQ_INLINE_BYTES) % RNIC_CMDQ_BLOCK_BYTES] = change->data[i];
	}
}

/* Where the driver's event queue is: its command says so. */
static void
watch_command(const struct rnic_cmdq_entry *entry, uint16_t opcode)
{
	const struct rnic_cmdq_block *block =
		(const struct rnic_cmdq_block *)(uintptr_t)rnic_be64_to_cpu(entry->input_mailbox);
	struct rnic_be64 page;

	if (opcode == RNIC_CMD_CREATE_EQ) {
		memcpy(&page,
		       block->data + sizeof(struct rnic_create_eq_in) - RNIC_CMDQ_INLINE_BYTES,
		       sizeof(page));
		fake.eq = (struct rnic_eqe *)(uintptr_t)rnic_be64_to_cpu(page);
	} else if (opcode == RNIC_CMD_DESTROY_EQ) {
		fake.eq = NULL;
	}
}

static void
execute(uint32_t bits)
{
	unsigned int i;

	bits = RNIC_SWAP32(bits);
	softrnic_bar_write(fake.device, RNIC_FIELD_OFFSET(RNIC_ISEG_COMMAND_DOORBELL), &bits, 4);
	for (i = 0; i < 4; i++)
		softrnic_poll(poller);
}

static void
answer(struct rnic_cmdq_entry *entry, uint32_t bits)
{
	const struct change *change = NULL;
	struct rnic_cmd_out *out = (struct rnic_cmd_out *)entry->output;
	uint8_t number = fake.commands++;
	unsigned int i;

	for (i = 0; i < fake.change_count; i++)
		if (fake.changes[i].command == number)
			change = &fake.changes[i];
	if (change == NULL || change->lie < LIE_REFUSED)
		execute(bits);
	if (change == NULL ||
	    (entry->status_own & RNIC_CMDQ_STATUS_OWN_HW && change->lie < LIE_REFUSED))
		return;
	switch (change->lie) {
	case LIE_OUTPUT: change_output(entry, change); break;
	case LIE_REFUSED:
	case LIE_STATUS: rnic_cmd_out_set(out, RNIC_CMD_OUT_STATUS, change->offset & 0xff); break;
	case LIE_DELIVERY: entry->status_own = (uint8_t)(change->offset << 1); return;
	case LIE_NEVER:
		if (fake.unanswered++ < 3)
			return;
		break;
	case LIE_DONE: change_output(entry, change); break;
	default: break;
	}
	entry->status_own = 0;
}

static void
fake_write32(struct rnic_access *access, uint64_t offset, struct rnic_be32 value)
{
	uint32_t bits = rnic_be32_to_cpu(value);
	struct rnic_cmdq_entry *entry;

	(void)access;
	if (offset == RNIC_FIELD_OFFSET(RNIC_ISEG_COMMAND_DOORBELL) && bits != 0 &&
	    fake.cmdq != 0) {
		entry = (struct rnic_cmdq_entry *)(uintptr_t)fake.cmdq + __builtin_ctz(bits);
		/* A driver that was told of longer slots has its entries elsewhere. */
		if (entry->type != RNIC_CMDQ_ENTRY_TYPE)
			return;
		watch_command(entry, (uint16_t)rnic_cmd_in_get((struct rnic_cmd_in *)entry->input,
							       RNIC_CMD_IN_OPCODE));
		answer(entry, bits);
		return;
	}
	if (offset == RNIC_FIELD_OFFSET(RNIC_ISEG_CMDQ_ADDR_HIGH))
		fake.cmdq = (uint64_t)bits << 32;
	else if (offset == RNIC_FIELD_OFFSET(RNIC_ISEG_CMDQ_ADDR_LOW))
		fake.cmdq |= bits & 0xfffff000;
	(void)softrnic_bar_write(fake.device, offset, &value, sizeof(value));
}

static void
fake_write64(struct rnic_access *access, uint64_t offset, struct rnic_be64 value)
{
	(void)access;
	(void)softrnic_bar_write(fake.device, offset, &value, sizeof(value));
}

static volatile void *
fake_uar(struct rnic_access *access, uint32_t uar_index)
{
	uint64_t offset = (uint64_t)uar_index * RNIC_UAR_PAGE_BYTES;

	(void)access;
	if (offset < fake.uar_offset ||
	    offset + RNIC_UAR_PAGE_BYTES > fake.uar_offset + fake.uar_length)
		return NULL;
	return fake.uar_pages + (offset - fake.uar_offset);
}

/* IOVAs are addresses: lies about memory can be told without a table. */
static int
fake_map(struct rnic_access *access, void *address, size_t length, unsigned int rights,
	 uint64_t *iova)
{
	unsigned int prot = (rights & RNIC_ACCESS_READ ? SOFTRNIC_DMA_READ : 0) |
			    (rights & RNIC_ACCESS_WRITE ? SOFTRNIC_DMA_WRITE : 0);
	int rc;

	if (fake.map_count == MAPS_MAX)
		return -ENOSPC;
	*iova = (uintptr_t)address;
	rc = softrnic_dma_map(fake.device, *iova, length, address, prot);
	if (rc != 0)
		return rc;
	fake.maps[fake.map_count++] = (struct map){ *iova, length };
	access->maps++;
	access->mapped_bytes += length;
	return 0;
}

static int
fake_unmap(struct rnic_access *access, uint64_t iova, size_t length)
{
	uint32_t i;

	for (i = 0; i < fake.map_count; i++) {
		if (fake.maps[i].iova != iova)
			continue;
		must(fake.maps[i].length == length);
		must(softrnic_dma_unmap(fake.device, iova, length) == 0);
		fake.maps[i] = fake.maps[--fake.map_count];
		access->maps--;
		access->mapped_bytes -= length;
		return 0;
	}
	must(!"what is unmapped was mapped");
	return -ENOENT;
}

/* Never readable: the control thread sleeps. */
static int
fake_irq_fd(struct rnic_access *access, unsigned int vector)
{
	(void)access;
	(void)vector;
	return fake.irq;
}

static int
fake_reset(struct rnic_access *access)
{
	(void)access;
	return softrnic_reset(fake.device);
}

static int
fake_hangup_fd(struct rnic_access *access)
{
	(void)access;
	return -1;
}

static void
fake_close(struct rnic_access *access)
{
	must(access->maps == 0 && fake.map_count == 0);
	softrnic_destroy(fake.device);
}

static const struct rnic_access_ops fake_ops = {
	.name = "fake",
	.close = fake_close,
	.read32 = fake_read32,
	.write32 = fake_write32,
	.write64 = fake_write64,
	.uar = fake_uar,
	.map = fake_map,
	.unmap = fake_unmap,
	.irq_fd = fake_irq_fd,
	.reset = fake_reset,
	.hangup_fd = fake_hangup_fd,
};

/* In the place of the driver's accesses, which are not linked. */
int
rnic_access_direct_open(const char *device, const struct rnic_devargs *args,
			struct rnic_access **access)
{
	struct softrnic_conf conf = {
		.name = device,
		.seed = 1,
		.drop_ppm = args->drop,
		.corrupt_ppm = args->corrupt,
		.bf = true,
	};
	void *pages;

	must(softrnic_create(poller, &conf, &fake.device) == 0);
	softrnic_bar_mmap(fake.device, &fake.uar_offset, &fake.uar_length, &pages, NULL);
	fake.uar_pages = pages;
	fake.base.ops = &fake_ops;
	fake.base.device = device;
	fake.base.irq_count = 8;
	fake.base.bar_size = softrnic_bar_size(fake.device);
	*access = &fake.base;
	return 0;
}

int
rnic_access_vfio_user_open(const char *device, const struct rnic_devargs *args,
			   struct rnic_access **access)
{
	(void)device;
	(void)args;
	(void)access;
	return -ENOTSUP;
}

struct softrnic *
rnic_access_direct_device(struct rnic_access *access)
{
	(void)access;
	return fake.device;
}

/* The process's list of devices: nobody asks for it here. */
int
rdmapmd_device_register(const char *name, const char *driver, void *priv,
			struct rdmapmd_device **device)
{
	(void)name;
	(void)driver;
	*device = priv;
	return 0;
}

void
rdmapmd_device_unregister(struct rdmapmd_device *device)
{
	must(device != NULL);
}

/* ---- The port ---- */

static struct rnic_ethdev port;
static void *rx_queues[1], *tx_queues[1];
static struct rte_eth_dev_data port_data = {
	.name = "net_rnic0",
	.dev_private = &port,
	.rx_queues = rx_queues,
	.tx_queues = tx_queues,
	.nb_rx_queues = 1,
	.nb_tx_queues = 1,
};
static struct rte_eth_dev port_dev = { .data = &port_data };

struct world {
	struct rnic_dev *dev;
	struct rnic_rxq *rxq;
	struct rnic_txq *txq;
	struct rte_mempool *pool;
	bool rx_up, tx_up, steered, small;
};

static void
rx_start(struct world *w)
{
	const uint8_t mac[6] = { 2, 0, 0, 0, 0, 1 };

	if (w->rx_up || rnic_rxq_start(w->rxq, 1500) != 0)
		return;
	w->rx_up = true;
	memset(&port.steering, 0, sizeof(port.steering));
	if (rnic_steering_create(w->dev, &w->rxq->rq, &port.steering) != 0)
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
	if (w->rx_up)
		rnic_rxq_stop(w->rxq);
	w->rx_up = false;
}

static void
tx_start(struct world *w)
{
	if (!w->tx_up && rnic_txq_start(w->txq, 1500) == 0)
		w->tx_up = true;
}

static void
tx_stop(struct world *w)
{
	if (w->tx_up)
		rnic_txq_stop(w->txq);
	w->tx_up = false;
}

static bool
queues_setup(struct world *w, uint8_t flags)
{
	const struct rte_eth_rxconf rx = { 0 };
	const struct rte_eth_txconf tx = {
		.offloads = flags & 2 ? RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE : 0,
	};

	memset(&port, 0, sizeof(port));
	port.dev = w->dev;
	w->dev->user = &port_dev;
	w->small = (flags & 1) != 0;
	w->pool = pools[w->small];
	if (rnic_rxq_setup(&port_dev, 0, 64, SOCKET_ID_ANY, &rx, w->pool) != 0)
		return false;
	w->rxq = rx_queues[0];
	if (rnic_txq_setup(&port_dev, 0, 64, SOCKET_ID_ANY, &tx) != 0)
		return false;
	w->txq = tx_queues[0];
	rx_start(w);
	tx_start(w);
	return true;
}

static void
queues_release(struct world *w)
{
	rx_stop(w);
	tx_stop(w);
	rnic_rxq_release(&port_dev, 0);
	rnic_txq_release(&port_dev, 0);
}

/* ---- Operations ---- */

static struct rte_mbuf *
packet_make(struct world *w, unsigned int segments, uint16_t bytes)
{
	struct rte_mbuf *head = rte_pktmbuf_alloc(w->pool), *mbuf = head;
	unsigned int i;

	for (i = 0; mbuf != NULL; i++) {
		uint16_t n = RTE_MIN(bytes, rte_pktmbuf_tailroom(mbuf));

		memset(rte_pktmbuf_mtod(mbuf, void *), 0xff, n);
		mbuf->data_len = n;
		if (mbuf != head) {
			rte_pktmbuf_lastseg(head)->next = mbuf;
			head->nb_segs++;
		}
		head->pkt_len += n;
		if (i + 1 >= segments)
			break;
		mbuf = rte_pktmbuf_alloc(w->pool);
	}
	return head;
}

static void
transmit(struct world *w, struct fuzz_input *input)
{
	uint8_t count = fuzz_u8(input) % (BURST + 1), segments = fuzz_u8(input) % 8;
	uint16_t bytes = fuzz_u16(input), sent, i, made = 0;
	struct rte_mbuf *pkts[BURST];

	if (!w->tx_up)
		return;
	for (; made < count; made++) {
		pkts[made] = packet_make(w, segments, bytes);
		if (pkts[made] == NULL)
			break;
	}
	sent = rnic_tx_mode_get(w->dev)->burst(w->txq, pkts, made);
	must(sent <= made);
	for (i = sent; i < made; i++)
		rte_pktmbuf_free(pkts[i]);
}

/* What an application may count on. */
static void
check_packet(const struct world *w, const struct rte_mbuf *packet)
{
	const struct rte_mbuf *mbuf;
	uint32_t bytes = 0, segs = 0;

	for (mbuf = packet; mbuf != NULL; mbuf = mbuf->next, segs++) {
		must(mbuf->pool == w->pool);
		must(rte_mbuf_refcnt_read(mbuf) == 1);
		must(mbuf->data_off == RTE_PKTMBUF_HEADROOM);
		must(mbuf->data_len <= mbuf->buf_len - mbuf->data_off);
		bytes += mbuf->data_len;
	}
	must(packet->pkt_len == bytes && bytes > 0);
	must(packet->nb_segs == segs);
	must(packet->ol_flags == 0);
}

static void
receive(struct world *w, struct fuzz_input *input)
{
	uint16_t count = fuzz_u8(input) % (BURST + 1), i;
	struct rte_mbuf *pkts[BURST];

	if (!w->rx_up)
		return;
	count = rnic_rx_mode_get(w->dev, w->small)->burst(w->rxq, pkts, count);
	for (i = 0; i < count; i++) {
		check_packet(w, pkts[i]);
		rte_pktmbuf_free(pkts[i]);
	}
}

/* A completion queue entry; its queue in *cq. NULL: there is none. */
static struct rnic_cqe *
entry_of(struct world *w, uint8_t what, const struct rnic_cq **cq)
{
	*cq = what & 1 ? &w->rxq->cq : &w->txq->cq;
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
	case 1: rnic_port_out_of_buffer(w->dev, &value); break;
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
		if (w->tx_up)
			rnic_txq_done_cleanup(w->txq, 0);
	}
}

static void
restart(struct world *w, bool rx)
{
	if (rx) {
		rx_stop(w);
		rx_start(w);
	} else {
		tx_stop(w);
		tx_start(w);
	}
}

static void
operation(struct world *w, struct fuzz_input *input)
{
	uint8_t n;

	switch (fuzz_u8(input) % OP_LAST) {
	case OP_TX: transmit(w, input); break;
	case OP_RX: receive(w, input); break;
	case OP_POLL:
		for (n = fuzz_u8(input) % 16; n > 0; n--)
			softrnic_poll(poller);
		break;
	case OP_CQE: damage_entry(w, input); break;
	case OP_GOOD_CQE: forge_entry(w, input); break;
	case OP_EQE: forge_event(input); break;
	case OP_EVENTS:
		rnic_eq_poll(w->dev, w->dev->async_eq);
		rnic_pages_answer(w->dev);
		break;
	case OP_ALARMS: alarms_run(); break;
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
	int irq = fake.irq;
	unsigned int i;

	memset(&fake, 0, sizeof(fake));
	fake.irq = irq;
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

/* What the process has of EAL's memory. */
static size_t
heap_bytes(void)
{
	struct rte_malloc_socket_stats stats;

	must(rte_malloc_get_socket_stats(0, &stats) == 0);
	return stats.heap_allocsz_bytes;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input input = { data, size };
	struct world w = { 0 };
	size_t heap = heap_bytes();
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
	alarms_run();
	rnic_dev_close(w.dev);
out:
	must(heap_bytes() == heap);
	must(rte_mempool_avail_count(pools[0]) == POOL_MBUFS);
	must(rte_mempool_avail_count(pools[1]) == POOL_MBUFS);
	return 0;
}

/* ---- Seeds ---- */

static void
put_traffic(struct fuzz_seed *seed, unsigned int rounds)
{
	unsigned int i;

	for (i = 0; i < rounds; i++) {
		fuzz_put_u8(seed, OP_TX);
		fuzz_put_u8(seed, BURST);
		fuzz_put_u8(seed, (uint8_t)(i % 3));
		fuzz_put_u16(seed, (uint16_t)(60 + i * 300));
		fuzz_put_u8(seed, OP_POLL);
		fuzz_put_u8(seed, 9);
		fuzz_put_u8(seed, OP_RX);
		fuzz_put_u8(seed, BURST);
		fuzz_put_u8(seed, OP_EVENTS);
	}
}

static void
seed_begin(struct fuzz_seed *seed, uint8_t flags)
{
	seed->used = 0;
	fuzz_put_u16(seed, 0); /* no lies */
	fuzz_put_u8(seed, flags);
}

static void
seeds_write(const char *folder)
{
	static struct fuzz_seed seed;
	char name[64];
	unsigned int i, lie;

	for (i = 0; i < 8; i++) {
		seed_begin(&seed, (uint8_t)i);
		put_traffic(&seed, 6);
		snprintf(name, sizeof(name), "traffic-%u", i);
		fuzz_seed_write(folder, name, &seed);
	}
	/* Errors of both directions, and what follows; events of each type. */
	for (i = 0; i < 4; i++) {
		seed_begin(&seed, (uint8_t)i);
		put_traffic(&seed, 1);
		fuzz_put(&seed,
			 (uint8_t[]){ OP_TX,	 8,	1, 60,	  0, OP_GOOD_CQE, (uint8_t)(i & 1),
				      13,	 0,	0, 0,	  0, 0,		  0,
				      OP_TX,	 1,	1, 60,	  0, OP_RX,	  9,
				      OP_ALARMS, OP_RX, 9, OP_TX, 1, 1,		  60,
				      0 },
			 29);
		put_traffic(&seed, 2);
		fuzz_put(&seed, (uint8_t[]){ OP_RESTART, (uint8_t)i, OP_RESTART, (uint8_t)(i + 1) },
			 4);
		put_traffic(&seed, 1);
		snprintf(name, sizeof(name), "error-%u", i);
		fuzz_seed_write(folder, name, &seed);
	}
	for (i = 0; i < 32; i++) {
		seed_begin(&seed, 0);
		fuzz_put(&seed,
			 (uint8_t[]){ OP_EQE, 0, (uint8_t)i, 1, 0, 0, 0, 1, 0, 0, 0, 0, OP_EVENTS,
				      OP_PORT, (uint8_t)i },
			 15);
		put_traffic(&seed, 1);
		snprintf(name, sizeof(name), "event-%u", i);
		fuzz_seed_write(folder, name, &seed);
	}
	/* BlueFlame registers that would not fit their page, and pages given back that never were there. */
	seed.used = 0;
	fuzz_put_u8(&seed, 1);
	fuzz_put(&seed,
		 (uint8_t[]){ 9, LIE_OUTPUT,
			      0x10 + RNIC_FIELD_OFFSET(RNIC_GENERAL_CAP_LOG_BF_REG_SIZE) + 1, 0, 1,
			      0x1f },
		 6);
	fuzz_put_u16(&seed, 0);
	put_traffic(&seed, 1);
	fuzz_seed_write(folder, "registers-too-large", &seed);
	for (i = 40; i < 70; i++) {
		seed.used = 0;
		fuzz_put_u8(&seed, 1);
		fuzz_put(&seed, (uint8_t[]){ (uint8_t)i, LIE_OUTPUT, 8, 0, 4, 0, 0, 0, 1 }, 9);
		fuzz_put_u16(&seed, 0);
		snprintf(name, sizeof(name), "one-page-%u", i);
		fuzz_seed_write(folder, name, &seed);
	}
	/* A lie of each kind about each of the first commands. */
	for (i = 0; i < 96; i++) {
		for (lie = 0; lie < LIE_LAST; lie++) {
			if ((i + lie) % 3 != 0)
				continue;
			seed.used = 0;
			fuzz_put_u8(&seed, 1);
			fuzz_put(&seed,
				 (uint8_t[]){ (uint8_t)i, (uint8_t)lie, 8, 0, 8, 0xff, 0xff, 0xff,
					      0xff, 0xff, 0xff, 0xff, 0xff },
				 13);
			fuzz_put_u16(&seed, 0);
			put_traffic(&seed, 1);
			snprintf(name, sizeof(name), "lie-%u-%u", i, lie);
			fuzz_seed_write(folder, name, &seed);
		}
	}
}

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
	const char *args[] = { "fuzz",
			       "--no-huge",
			       "-m",
			       "64",
			       "--no-pci",
			       "--no-shconf",
			       "--no-telemetry",
			       "--lcores=0@(0-1)",
			       "--log-level=*:emergency" };

	(void)argc;
	(void)argv;
	main_thread = pthread_self();
	must(rte_eal_init(RTE_DIM(args), (char **)(uintptr_t)args) >= 0);
	rte_log_set_level((uint32_t)softrnic_logtype, RTE_LOG_EMERG);
	if (getenv("FUZZ_LOG") != NULL) {
		rte_log_set_global_level(RTE_LOG_DEBUG);
		rte_log_set_level((uint32_t)rnic_logtype, RTE_LOG_DEBUG);
		rte_log_set_level((uint32_t)softrnic_logtype, RTE_LOG_DEBUG);
	}
	must(softrnic_poller_create(&poller) == 0);
	fake.irq = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	pools[0] =
		rte_pktmbuf_pool_create("whole", POOL_MBUFS, 0, 0, 2048 + RTE_PKTMBUF_HEADROOM, 0);
	pools[1] =
		rte_pktmbuf_pool_create("small", POOL_MBUFS, 0, 0, 256 + RTE_PKTMBUF_HEADROOM, 0);
	must(pools[0] != NULL && pools[1] != NULL);
	rnic_cmd_timeout_ms = 1;
	rnic_cmd_dead_timeout_ms = 1;
	rnic_initializing_timeout_ms = 1;
	rnic_pages_patience_ms = 1;
	rnic_health_period_ms = 1000000000;
	if (getenv("FUZZ_SEEDS") != NULL) {
		seeds_write(getenv("FUZZ_SEEDS"));
		exit(0);
	}
	return 0;
}
