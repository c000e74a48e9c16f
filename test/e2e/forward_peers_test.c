/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Peers of examples/forward_and_serve, more than it has room for: its serve.c in this process, at port 0, and all of them at
 * port 2, at the other end of the wire.
 */

#include <string.h>

#include <rte_malloc.h>

#include "port.h"
#include "rdma.h"
#include "serve.h"

#define ROOM	16 /* as serve.c has */
#define GUESTS	(ROOM + 2)
#define INDEX	7 /* of the counter that is read */
#define PACKETS 77

struct guest {
	struct rdmapmd_cq *cq;
	struct rdmapmd_qp *qp;
	struct request request;
	struct answer answer;
};

struct memory {
	uint8_t datagram[DATAGRAM];
	struct counter counter;
};

static struct shared *shared;
static struct rdmapmd_context *context;
static struct rdmapmd_pd *pd;
static struct rdmapmd_mr *mr;
static struct memory *memory;
static struct rdmapmd_cq *cq1;
static struct rdmapmd_qp *qp1;
static struct rdmapmd_ah *door;
static union rdmapmd_gid door_gid;

/* ---- What a guest does ---- */

static void
ask(struct guest *guest)
{
	const struct rdmapmd_sge room = { (uintptr_t)memory->datagram, DATAGRAM, mr->lkey };
	const struct rdmapmd_sge sge = { (uintptr_t)&guest->request, sizeof(guest->request), 0 };
	const struct rdmapmd_send_wr wr = {
		.opcode = RDMAPMD_WR_SEND,
		.send_flags = RDMAPMD_SEND_INLINE,
		.sg_list = &sge,
		.num_sge = 1,
		.wr.ud = { .ah = door, .remote_qpn = 1, .remote_qkey = RDMAPMD_QP1_QKEY },
	};

	rdma_post_recv(qp1, 1, &room, 1);
	rdma_post(qp1, &wr);
	assert_int_equal(rdma_expect(cq1, 1, RDMAPMD_WC_RECV).byte_len, DATAGRAM);
	memcpy(&guest->answer, memory->datagram + RDMAPMD_GRH_BYTES, sizeof(guest->answer));
	assert_int_equal(guest->answer.asked, guest->qp->qp_num);
}

static void
come(struct guest *guest)
{
	const struct rdmapmd_cq_init_attr cq = { .cqe = 4 };
	struct rdmapmd_qp_init_attr init = { .qp_type = RDMAPMD_QPT_RC, .cap.max_send_wr = 1 };
	const struct rdmapmd_qp_connect_opts opts = { .psn = 5, .timeout = rdma_timeout() };
	struct rdmapmd_qp_peer peer = { .gid = door_gid };
	struct rdmapmd_gid_entry own;

	assert_int_equal(rdmapmd_cq_create(context, &cq, &guest->cq), 0);
	init.send_cq = init.recv_cq = guest->cq;
	assert_int_equal(rdmapmd_qp_create(pd, &init, &guest->qp), 0);
	assert_int_equal(rdmapmd_gid_query(context, 1, 0, &own), 0);
	guest->request = (struct request){
		.magic = MAGIC, .qp_num = guest->qp->qp_num, .psn = opts.psn, .gid = own.gid
	};
	ask(guest);
	peer.qp_num = guest->answer.qp_num;
	peer.psn = guest->answer.psn;
	assert_int_equal(rdmapmd_qp_connect(guest->qp, &peer, &opts), 0);
}

static void
go(const struct guest *guest)
{
	assert_int_equal(rdmapmd_qp_destroy(guest->qp), 0);
	assert_int_equal(rdmapmd_cq_destroy(guest->cq), 0);
}

static enum rdmapmd_wc_status
read_counter(const struct guest *guest)
{
	const struct rdmapmd_sge sge = { (uintptr_t)&memory->counter, sizeof(memory->counter),
					 mr->lkey };
	const struct rdmapmd_send_wr wr = {
		.opcode = RDMAPMD_WR_RDMA_READ,
		.send_flags = RDMAPMD_SEND_SIGNALED,
		.sg_list = &sge,
		.num_sge = 1,
		.wr.rdma = { .remote_addr = guest->answer.counters + INDEX * sizeof(struct counter),
			     .rkey = guest->answer.counters_rkey },
	};

	rdma_post(guest->qp, &wr);
	return rdma_wait(guest->cq).status;
}

static void
assert_in(const struct guest *guest)
{
	memory->counter.packets = 0;
	assert_int_equal(read_counter(guest), RDMAPMD_WC_SUCCESS);
	assert_int_equal(memory->counter.packets, PACKETS);
}

/* ---- Tests ---- */

static void
test_a_request_that_comes_again_has_the_same_answer(void **unused)
{
	struct guest guest;
	struct answer first;

	(void)unused;
	come(&guest);
	first = guest.answer;
	ask(&guest);
	assert_memory_equal(&guest.answer, &first, sizeof(first));
	assert_in(&guest);
	go(&guest);
}

/* Nobody is told: its requests are not answered any more. All that came later stay. */
static void
test_one_more_takes_the_place_of_the_oldest(void **unused)
{
	struct guest guests[GUESTS];
	unsigned int n, i;

	(void)unused;
	for (n = 0; n < ROOM; n++)
		come(&guests[n]);
	for (i = 0; i < ROOM; i++)
		assert_in(&guests[i]);
	for (; n < GUESTS; n++) {
		come(&guests[n]);
		for (i = n - ROOM + 1; i <= n; i++)
			assert_in(&guests[i]);
		assert_int_equal(read_counter(&guests[n - ROOM]), RDMAPMD_WC_RETRY_EXC_ERR);
		/* Its retries do not disturb the newest one. */
		assert_in(&guests[n]);
	}
	for (i = 0; i < GUESTS; i++)
		go(&guests[i]);
}

/* ---- Where it runs ---- */

static void
make_queue_pair_1(void)
{
	const struct rdmapmd_cq_init_attr cq = { .cqe = 16 };
	struct rdmapmd_qp_init_attr init = {
		.qp_type = RDMAPMD_QPT_GSI,
		.port_num = 1,
		.cap = { .max_send_wr = 4,
			 .max_recv_wr = 1,
			 .max_inline_data = sizeof(struct request) },
	};

	assert_int_equal(rdmapmd_cq_create(context, &cq, &cq1), 0);
	init.send_cq = init.recv_cq = cq1;
	assert_int_equal(rdmapmd_qp_create(pd, &init, &qp1), 0);
	rdma_connect_to(qp1, 1, &door_gid, &(struct rdma_conf){ .type = RDMAPMD_QPT_GSI });
}

static int
open_door(void **unused)
{
	struct rdmapmd_context *of_door;
	struct rdmapmd_gid_entry address;
	struct rdmapmd_ah_attr path = { .hop_limit = 1, .port_num = 1 };
	cpu_set_t cpus;

	(void)unused;
	memory = rte_zmalloc("guests", sizeof(*memory), 4096);
	shared = rte_zmalloc("shared", sizeof(*shared), 4096);
	if (memory == NULL || shared == NULL)
		return -1;
	shared->counters[INDEX].packets = PACKETS;
	TRY(sched_getaffinity(0, sizeof(cpus), &cpus));
	serve_start(shared, &cpus);

	assert_int_equal(rdmapmd_device_open_by_port(0, &of_door), 0);
	assert_int_equal(rdmapmd_gid_query(of_door, 1, 0, &address), 0);
	assert_int_equal(rdmapmd_context_close(of_door), 0);
	path.dgid = door_gid = address.gid;
	assert_int_equal(rdmapmd_device_open_by_port(2, &context), 0);
	assert_int_equal(rdmapmd_pd_alloc(context, &pd), 0);
	assert_int_equal(
		rdmapmd_mr_reg(pd, memory, sizeof(*memory), RDMAPMD_ACCESS_LOCAL_WRITE, &mr), 0);
	make_queue_pair_1();
	assert_int_equal(rdmapmd_ah_create(pd, &path, &door), 0);
	return 0;
}

static int
close_door(void **unused)
{
	(void)unused;
	assert_int_equal(rdmapmd_ah_destroy(door), 0);
	assert_int_equal(rdmapmd_qp_destroy(qp1), 0);
	assert_int_equal(rdmapmd_cq_destroy(cq1), 0);
	assert_int_equal(rdmapmd_mr_dereg(mr), 0);
	assert_int_equal(rdmapmd_pd_dealloc(pd), 0);
	assert_int_equal(rdmapmd_context_close(context), 0);
	serve_stop();
	rte_free(shared);
	rte_free(memory);
	return 0;
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_request_that_comes_again_has_the_same_answer),
		cmocka_unit_test(test_one_more_takes_the_place_of_the_oldest),
	};
	/* It serves at two ports; the second one's wire leads nowhere. */
	static const char *const vdevs[] = { "net_rnic0,wire=pair:guests", "net_rnic1,wire=loop",
					     "net_rnic2,wire=pair:guests", NULL };
	int failed;

	if (e2e_init("forward-peers", vdevs) != 0)
		return 1;
	failed = cmocka_run_group_tests_name("forward_peers", tests, open_door, close_door);
	e2e_fini();
	return failed;
}
