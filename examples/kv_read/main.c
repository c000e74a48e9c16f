/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A hash table that is served by READs alone: a client computes where a key is, reads that slot out of the server's memory, and
 * no CPU of the server's has a part in it. The writer may change the slot meanwhile, so what arrives may be torn:
 * half old, half new. Versions and a checksum in the slot tell, and the client reads again.
 *
 *   kv_read -d librte_net_rnic.so --vdev net_rnic0 -- [DEVICE [LOOKUPS [unchecked] [PEER]]]
 *
 * The writer runs on a second lcore if there is one, and else does a part of its work between any two reads. "unchecked" takes
 * what arrives as it is, and shows what would come of it.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_atomic.h>
#include <rte_cycles.h>
#include <rte_debug.h>
#include <rte_eal.h>
#include <rte_launch.h>
#include <rte_lcore.h>
#include <rte_malloc.h>

#include <rdmapmd.h>

#define SLOTS 1024
#define KEYS  600 /* that are in it: 1 .. KEYS */
#define WORDS 124 /* of 8 bytes, in a value: a slot has 1 KiB */
#define TRY(call)                                                                   \
	do {                                                                        \
		int rc_ = (call);                                                   \
		if (rc_ != 0)                                                       \
			rte_exit(EXIT_FAILURE, #call ": %s\n", strerror(abs(rc_))); \
	} while (0)

/*
 * The writer sets `tail` before it changes anything, and `head` behind that: where they are equal, no change was under way when
 * the device read from one end to the other. The checksum sees to devices that read in another order.
 */
struct slot {
	uint64_t head;
	uint64_t key; /* 0: the slot is empty */
	uint64_t value[WORDS];
	uint64_t sum;
	uint64_t tail;
};

struct end {
	struct rdmapmd_context *context;
	struct rdmapmd_pd *pd;
	struct rdmapmd_cq *cq;
	struct rdmapmd_qp *qp;
};

static struct end client, server;
static struct slot *table; /* the server's */
static struct rdmapmd_mr *table_mr;
static struct slot *copy; /* the client's, of one slot */
static struct rdmapmd_mr *copy_mr;
static struct {
	uint64_t found, missing, wrong, torn, updates;
} counts;
static bool unchecked;
static _Atomic bool stopped;

/* ---- What both sides know: where a key may be, and what a whole slot is ---- */

/* Further ones are in the slots behind. No key is ever taken out, which would need a mark of its own. */
static uint32_t
first_slot(uint64_t key)
{
	return (uint32_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 32) % SLOTS;
}

static uint64_t
checksum(const struct slot *slot, uint64_t version)
{
	uint64_t sum = version * UINT64_C(0x100000001b3) ^ slot->key;
	unsigned int i;

	for (i = 0; i < WORDS; i++)
		sum = (sum << 5 | sum >> 59) * UINT64_C(0x100000001b3) ^ slot->value[i];
	return sum;
}

static bool
is_whole(const struct slot *slot)
{
	return slot->head == slot->tail && slot->sum == checksum(slot, slot->head);
}

/* ---- The writer: on the server, by stores ---- */

/* Half of all that happens is about four keys, so that reader and writer meet. */
static uint64_t
any_key(unsigned int *seed)
{
	const uint64_t number = (uint64_t)rand_r(seed);

	return 1 + number % (rand_r(seed) % 2 ? 4 : KEYS);
}

static struct slot *
find(uint64_t key)
{
	uint32_t at = first_slot(key);

	while (table[at].key != key && table[at].key != 0)
		at = (at + 1) % SLOTS;
	return &table[at];
}

/* What the word of a value is: a reader sees of each whether it belongs to the others. */
static uint64_t
word_of(uint64_t key, uint64_t version, unsigned int i)
{
	return key << 48 | version << 16 | i;
}

/*
 * An update in five steps, as a writer does it that is interrupted. The barriers keep the order for the device, which reads by DMA.
 * Returns whether it is open: a reader finds its slot torn until it is done.
 */
static bool
writer_step(void)
{
	static struct slot *slot;
	static unsigned int step, seed = 1;
	static uint64_t version;
	unsigned int i;

	switch (step) {
	case 0:
		slot = find(any_key(&seed));
		version = slot->head + 1;
		slot->tail = version;
		rte_io_wmb();
		break;
	case 1:
	case 2:
	case 3:
		for (i = (step - 1) * WORDS / 3; i < step * WORDS / 3; i++)
			slot->value[i] = word_of(slot->key, version, i);
		break;
	case 4:
		slot->sum = checksum(slot, version);
		rte_io_wmb();
		slot->head = version;
		counts.updates++;
		break;
	}
	step = (step + 1) % 5;
	return step != 0;
}

static void
fill_table(void)
{
	struct slot *slot;
	unsigned int i;
	uint64_t key;

	for (i = 0; i < SLOTS; i++)
		table[i].sum = checksum(&table[i], 0); /* an empty slot is a whole one, too */
	for (key = 1; key <= KEYS; key++) {
		slot = find(key);
		slot->key = key;
		for (i = 0; i < WORDS; i++)
			slot->value[i] = word_of(key, 0, i);
		slot->sum = checksum(slot, 0);
	}
}

static int
writer(void *unused)
{
	bool is_open = false;

	(void)unused;
	while (!stopped || is_open) {
		is_open = writer_step();
		rte_delay_us_sleep(20);
	}
	return 0;
}

/* ---- The client ---- */

/* One READ of one slot, and its completion. All that the client knows of the server is the address and the key of a region. */
static void
read_slot(uint32_t at)
{
	const struct rdmapmd_sge sge = { copy_mr->iova, sizeof(*copy), copy_mr->lkey };
	const struct rdmapmd_send_wr wr = {
		.opcode = RDMAPMD_WR_RDMA_READ,
		.send_flags = RDMAPMD_SEND_SIGNALED,
		.sg_list = &sge,
		.num_sge = 1,
		.wr.rdma = { table_mr->iova + at * sizeof(struct slot), table_mr->rkey },
	};
	const uint64_t end = rte_get_timer_cycles() + 10 * rte_get_timer_hz();
	struct rdmapmd_wc wc;

	if (rdmapmd_post_send(client.qp, &wr, 1) != 1)
		TRY(client.qp->post_send_error);
	while (rdmapmd_poll_cq(client.cq, &wc, 1) == 0)
		if (rte_get_timer_cycles() > end)
			rte_exit(EXIT_FAILURE, "no completion for 10 s\n");
	if (wc.status != RDMAPMD_WC_SUCCESS)
		rte_exit(EXIT_FAILURE, "READ: %s\n", rdmapmd_wc_status_str(wc.status));
	if (rte_lcore_count() == 1)
		writer_step();
}

/* Whether the key is in the table; its slot is in `copy` then. Nothing of a torn slot can be believed, its key neither. */
static bool
look_up(uint64_t key)
{
	uint32_t at = first_slot(key), probes;

	for (probes = 0; probes < SLOTS; probes++) {
		read_slot(at);
		while (!unchecked && !is_whole(copy)) {
			counts.torn++;
			read_slot(at);
		}
		if (copy->key == key || copy->key == 0)
			return copy->key == key;
		at = (at + 1) % SLOTS;
	}
	return false;
}

/* One lookup in sixteen is of a key that is not there. */
static void
look_up_any(void)
{
	static unsigned int seed = 2;
	const bool there = rand_r(&seed) % 16 != 0;
	const uint64_t key = any_key(&seed) + (there ? 0 : KEYS);
	unsigned int i;

	if (look_up(key) != there) {
		counts.wrong++;
	} else if (!there) {
		counts.missing++;
	} else {
		counts.found++;
		for (i = 0; i < WORDS; i++)
			if (copy->value[i] != word_of(key, copy->head, i))
				break;
		counts.wrong += i < WORDS;
	}
}

/* ---- Life cycle ---- */

static void
make_end(const char *name, struct end *end)
{
	const struct rdmapmd_cq_init_attr cq = { .cqe = 4 };
	struct rdmapmd_qp_init_attr qp = { .qp_type = RDMAPMD_QPT_RC,
					   .cap = { .max_send_wr = 1, .max_send_sge = 1 } };

	if (name != NULL)
		TRY(rdmapmd_device_open_by_name(name, &end->context));
	else
		TRY(rdmapmd_device_open_by_port(0, &end->context));
	TRY(rdmapmd_pd_alloc(end->context, &end->pd));
	TRY(rdmapmd_cq_create(end->context, &cq, &end->cq));
	qp.send_cq = qp.recv_cq = end->cq;
	TRY(rdmapmd_qp_create(end->pd, &qp, &end->qp));
}

static void
connect_to(struct rdmapmd_qp *qp, const struct end *end, unsigned int access)
{
	const struct rdmapmd_qp_connect_opts opts = { .qp_access_flags = access };
	struct rdmapmd_qp_peer peer = { .qp_num = end->qp->qp_num };
	struct rdmapmd_gid_entry address;

	TRY(rdmapmd_gid_query(end->context, 1, 0, &address));
	peer.gid = address.gid;
	TRY(rdmapmd_qp_connect(qp, &peer, &opts));
}

static struct slot *
make_slots(struct end *end, unsigned int count, unsigned int access, struct rdmapmd_mr **mr)
{
	struct slot *slots = rte_calloc("kv_read", count, sizeof(*slots), 4096);

	if (slots == NULL)
		rte_exit(EXIT_FAILURE, "no memory\n");
	TRY(rdmapmd_mr_reg(end->pd, slots, count * sizeof(*slots), access, mr));
	return slots;
}

static void
free_end(struct end *end, struct rdmapmd_mr *mr, struct slot *slots)
{
	TRY(rdmapmd_qp_destroy(end->qp));
	TRY(rdmapmd_cq_destroy(end->cq));
	TRY(rdmapmd_mr_dereg(mr));
	rte_free(slots);
	TRY(rdmapmd_pd_dealloc(end->pd));
	TRY(rdmapmd_context_close(end->context));
}

static void
stop(int number)
{
	(void)number;
	stopped = true;
}

static void
run(uint64_t lookups)
{
	uint64_t i;

	if (rte_lcore_count() > 1)
		TRY(rte_eal_remote_launch(writer, NULL, rte_get_next_lcore(-1, 1, 0)));
	for (i = 0; i < lookups && !stopped; i++)
		look_up_any();
	stopped = true;
	rte_eal_mp_wait_lcore();
	printf("%" PRIu64 " found, %" PRIu64 " not there; %" PRIu64 " updates; %" PRIu64
	       " torn reads, repeated; %" PRIu64 " wrong\n",
	       counts.found, counts.missing, counts.updates, counts.torn, counts.wrong);
}

int
main(int argc, char **argv)
{
	const char *device, *peer;
	int i, used;

	signal(SIGINT, stop);
	used = rte_eal_init(argc, argv);
	if (used < 0)
		rte_exit(EXIT_FAILURE, "EAL does not start\n");
	device = peer = argc - used > 1 ? argv[used + 1] : NULL;
	for (i = used + 3; i < argc; i++) {
		if (strcmp(argv[i], "unchecked") == 0)
			unchecked = true;
		else
			peer = argv[i];
	}

	make_end(device, &client);
	make_end(peer, &server);
	/* Clients read the table; only the server's own CPU writes to it. */
	table = make_slots(&server, SLOTS, RDMAPMD_ACCESS_REMOTE_READ, &table_mr);
	copy = make_slots(&client, 1, RDMAPMD_ACCESS_LOCAL_WRITE, &copy_mr);
	connect_to(server.qp, &client, RDMAPMD_ACCESS_REMOTE_READ);
	connect_to(client.qp, &server, 0);
	fill_table();

	run(argc - used > 2 ? strtoull(argv[used + 2], NULL, 10) : 10000);

	free_end(&client, copy_mr, copy);
	free_end(&server, table_mr, table);
	if (rte_eal_cleanup() != 0 || counts.wrong != 0)
		return EXIT_FAILURE;
	return EXIT_SUCCESS;
}
