/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * One side writes into the other's memory, reads it back, and counts in it with an atomic; the other side does nothing
 * but name its memory: an address and a key. Both are in this process, on one device whose wire is a loop, or on two that
 * a wire joins.
 *
 *   rdma_write -d librte_net_rnic.so --vdev net_rnic0 -- [DEVICE [BYTES [malloc] [PEER]]]
 *
 * The memory is EAL's, or with "malloc" the C library's: a device behind a socket (socket=PATH) can be given the former
 * alone, all others take any.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_debug.h>
#include <rte_eal.h>
#include <rte_malloc.h>

#include <rdmapmd.h>

#define REMOTE                                                                                   \
	(RDMAPMD_ACCESS_LOCAL_WRITE | RDMAPMD_ACCESS_REMOTE_WRITE | RDMAPMD_ACCESS_REMOTE_READ | \
	 RDMAPMD_ACCESS_REMOTE_ATOMIC)
#define TRY(call)                                                                   \
	do {                                                                        \
		int rc_ = (call);                                                   \
		if (rc_ != 0)                                                       \
			rte_exit(EXIT_FAILURE, #call ": %s\n", strerror(abs(rc_))); \
	} while (0)

struct end {
	struct rdmapmd_context *context;
	struct rdmapmd_pd *pd;
	struct rdmapmd_cq *cq;
	struct rdmapmd_qp *qp;
};

struct world {
	struct end own, peer;
	/* The peer's memory: the data, and a counter behind it. Ours: where we write from, and where we read to. */
	struct rdmapmd_mr *target, *source, *result;
	uint32_t bytes;
	bool plain; /* memory is the C library's */
};

/* Two hosts would tell each other this. The first PSNs are 0. */
static void
connect_to(struct rdmapmd_qp *qp, const struct end *end)
{
	/* What the peer may do here at all; what it may do with which memory, each key says. */
	const struct rdmapmd_qp_connect_opts opts = {
		.qp_access_flags = REMOTE & ~RDMAPMD_ACCESS_LOCAL_WRITE,
	};
	struct rdmapmd_qp_peer peer = { .qp_num = end->qp->qp_num };
	struct rdmapmd_gid_entry address;
	struct rdmapmd_port_attr port;

	TRY(rdmapmd_gid_query(end->context, 1, 0, &address));
	TRY(rdmapmd_port_query(end->context, 1, &port));
	peer.gid = address.gid;
	peer.mtu = port.active_mtu;
	TRY(rdmapmd_qp_connect(qp, &peer, &opts));
}

/* name: NULL for the first port. */
static void
make_end(const char *name, struct end *end)
{
	const struct rdmapmd_cq_init_attr cq = { .cqe = 16 };
	struct rdmapmd_qp_init_attr qp = { .qp_type = RDMAPMD_QPT_RC,
					   .cap = { .max_send_wr = 4, .max_send_sge = 1 } };

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
free_end(struct end *end)
{
	TRY(rdmapmd_qp_destroy(end->qp));
	TRY(rdmapmd_cq_destroy(end->cq));
	TRY(rdmapmd_pd_dealloc(end->pd));
	TRY(rdmapmd_context_close(end->context));
}

/* Memory for the data and the counter, and a key of that end that allows so much. */
static struct rdmapmd_mr *
make_memory(const struct world *world, const struct end *end, unsigned int access)
{
	const size_t bytes = world->bytes + sizeof(uint64_t);
	void *memory = world->plain ? calloc(1, bytes) : rte_zmalloc("rdma_write", bytes, 4096);
	struct rdmapmd_mr *mr;

	if (memory == NULL)
		rte_exit(EXIT_FAILURE, "no memory\n");
	TRY(rdmapmd_mr_reg(end->pd, memory, bytes, access, &mr));
	return mr;
}

static void
free_memory(const struct world *world, struct rdmapmd_mr *mr)
{
	void *memory = mr->addr;

	TRY(rdmapmd_mr_dereg(mr));
	if (world->plain)
		free(memory);
	else
		rte_free(memory);
}

/* Post one request, wait for its completion, say what it was. */
static void
execute(struct world *world, const char *what, const struct rdmapmd_send_wr *wr)
{
	const uint64_t start = rte_get_timer_cycles(), hz = rte_get_timer_hz();
	struct rdmapmd_wc wc;

	if (rdmapmd_post_send(world->own.qp, wr, 1) != 1)
		TRY(world->own.qp->post_send_error);
	while (rdmapmd_poll_cq(world->own.cq, &wc, 1) == 0)
		if (rte_get_timer_cycles() > start + 10 * hz)
			rte_exit(EXIT_FAILURE, "%s: no completion for 10 s\n", what);
	if (wc.status != RDMAPMD_WC_SUCCESS)
		rte_exit(EXIT_FAILURE, "%s: %s\n", what, rdmapmd_wc_status_str(wc.status));
	printf("%s of %" PRIu32 " bytes: %.1f us\n", what, wr->sg_list->length,
	       (double)(rte_get_timer_cycles() - start) * 1e6 / (double)hz);
}

static void
write_and_read_back(struct world *world)
{
	struct rdmapmd_sge sge = { world->source->iova, world->bytes, world->source->lkey };
	struct rdmapmd_send_wr wr = { .opcode = RDMAPMD_WR_RDMA_WRITE,
				      .send_flags = RDMAPMD_SEND_SIGNALED,
				      .sg_list = &sge,
				      .num_sge = 1,
				      .wr.rdma = { world->target->iova, world->target->rkey } };
	uint8_t *from = world->source->addr;
	uint32_t i;

	for (i = 0; i < world->bytes; i++)
		from[i] = (uint8_t)(i * 31 + (i >> 8));
	execute(world, "WRITE", &wr);
	wr.opcode = RDMAPMD_WR_RDMA_READ;
	sge = (struct rdmapmd_sge){ world->result->iova, world->bytes, world->result->lkey };
	execute(world, "READ", &wr);
	if (memcmp(from, world->target->addr, world->bytes) != 0 ||
	    memcmp(from, world->result->addr, world->bytes) != 0)
		rte_exit(EXIT_FAILURE, "what was read is not what was written\n");
}

/* The peer's counter grows; what it was comes back. */
static void
count(struct world *world)
{
	const uint64_t *old = world->result->addr;
	const struct rdmapmd_sge sge = { world->result->iova, sizeof(*old), world->result->lkey };
	const struct rdmapmd_send_wr wr = { .opcode = RDMAPMD_WR_ATOMIC_FETCH_AND_ADD,
					    .send_flags = RDMAPMD_SEND_SIGNALED,
					    .sg_list = &sge,
					    .num_sge = 1,
					    .wr.atomic = {
						    .remote_addr =
							    world->target->iova + world->bytes,
						    .compare_add = 42,
						    .rkey = world->target->rkey,
					    } };
	const uint64_t *counter =
		(const uint64_t *)((const uint8_t *)world->target->addr + world->bytes);
	int i;

	for (i = 0; i < 2; i++) {
		execute(world, "FETCH_AND_ADD", &wr);
		printf("the counter was %" PRIu64 " and is %" PRIu64 "\n", *old, *counter);
	}
}

int
main(int argc, char **argv)
{
	const char *device = NULL, *peer;
	struct world world = { .plain = false };
	int i, used = rte_eal_init(argc, argv);

	if (used < 0)
		rte_exit(EXIT_FAILURE, "EAL does not start\n");
	/* The counter behind the data is at a multiple of 8. */
	world.bytes = argc - used > 2 ? (uint32_t)strtoul(argv[used + 2], NULL, 10) & ~7u : 1 << 20;
	if (argc - used > 1)
		device = argv[used + 1];
	peer = device;
	for (i = used + 3; i < argc; i++) {
		if (strcmp(argv[i], "malloc") == 0)
			world.plain = true;
		else
			peer = argv[i];
	}
	make_end(device, &world.own);
	make_end(peer, &world.peer);
	connect_to(world.own.qp, &world.peer);
	connect_to(world.peer.qp, &world.own);
	world.target = make_memory(&world, &world.peer, REMOTE);
	/* Only our own queue pairs reach it, and only to read. */
	world.source = make_memory(&world, &world.own, 0);
	world.result = make_memory(&world, &world.own, RDMAPMD_ACCESS_LOCAL_WRITE);

	write_and_read_back(&world);
	count(&world);

	free_memory(&world, world.target);
	free_memory(&world, world.source);
	free_memory(&world, world.result);
	free_end(&world.peer);
	free_end(&world.own);
	return rte_eal_cleanup() == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
