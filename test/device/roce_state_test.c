/* SPDX-License-Identifier: BSD-3-Clause */

/* The states of a QP and its attributes: what may follow what, what waits for what, what is forgotten. */
#include <errno.h>
#include <string.h>

#include "roce_net.h"

/* Half of the PSNs at most may be under way: with more, old and new could not be told apart. */
static void
test_half_of_the_psns(void **state)
{
	struct net *net = *state;
	struct net_log *log = net->test;
	struct net_end *a = &net->ends[0];
	struct roce_attr attr = net_attr(net);

	attr.mtu = 256;
	attr.timeout = 0;
	log->lose_all = true;
	net_connect(net, &attr, 0);
	net_post(a, RNIC_WQE_RDMA_READ, 1, 0, ROCE_MESSAGE_MAX - 512, 0);
	net_post(a, RNIC_WQE_RDMA_READ, 2, 0, 256, 0);
	net_post(a, RNIC_WQE_RDMA_READ, 3, 0, 256, 0);
	net_run(net);
	assert_int_equal(log->count, 2);
	assert_int_equal(roce_qp_modify(&a->qp, ROCE_RST, NULL), 0);
	assert_int_equal(roce_qp_modify(&net->ends[1].qp, ROCE_RST, NULL), 0);
	net_connect(net, &attr, 0);
	net_post(a, RNIC_WQE_RDMA_READ, 1, 0, ROCE_MESSAGE_MAX, 0);
	net_run(net);
	assert_int_equal(log->count, 2);
	assert_int_equal(a->sends[0].syndrome, RNIC_SYND_LOCAL_LENGTH);
}

/* Nor does a responder take so much from a peer that asks for it. */
static void
test_half_of_the_psns_asked_for(void **state)
{
	struct net *net = *state;
	struct net_end *b = &net->ends[1];
	struct roce_attr attr = net_attr(net);
	struct roce_pkt pkt = { .opcode = ROCE_READ_REQUEST,
				.va = NET_VA,
				.rkey = NET_KEY,
				.dma_length = ROCE_MESSAGE_MAX };

	attr.mtu = 256;
	net_connect(net, &attr, 0);
	b->region = ROCE_MESSAGE_MAX;
	net_inject(b, &pkt);
	assert_int_equal(b->qp.state, ROCE_ERR);
	assert_int_equal(b->events[0], RNIC_EVENT_WQ_INVALID_REQUEST);
}

static void
connect_to_init(struct net_end *end, struct roce_attr *attr)
{
	assert_int_equal(roce_qp_modify(&end->qp, ROCE_INIT, attr), 0);
}

/* The PRM's table: every pair of states. */
static void
test_changes_of_state(void **state)
{
	static const uint8_t allowed[7][7] = {
		/*	   RST INIT RTR RTS SQER SQD ERR */
		[ROCE_RST] = { 1, 1, 0, 0, 0, 0, 1 },  [ROCE_INIT] = { 1, 1, 1, 0, 0, 0, 1 },
		[ROCE_RTR] = { 1, 0, 0, 1, 0, 0, 1 },  [ROCE_RTS] = { 1, 0, 0, 1, 0, 1, 1 },
		[ROCE_SQER] = { 1, 0, 0, 1, 0, 0, 1 }, [ROCE_SQD] = { 1, 0, 0, 1, 0, 1, 1 },
		[ROCE_ERR] = { 1, 0, 0, 0, 0, 0, 1 },
	};
	struct net_log log;
	struct net *net = net_create_logged(&log);
	struct roce_attr attr = net_attr(net);
	struct roce_qp *qp = &net->ends[0].qp;
	int from, to;

	(void)state;
	for (from = 0; from < 7; from++) {
		for (to = 0; to < 7; to++) {
			assert_int_equal(
				roce_state_allowed((enum roce_state)from, (enum roce_state)to),
				allowed[from][to]);
			qp->state = (enum roce_state)from;
			assert_int_equal(roce_qp_modify(qp, (enum roce_state)to, &attr),
					 allowed[from][to] != 0 ? 0 : -EINVAL);
			assert_int_equal(qp->state, allowed[from][to] != 0 ? to : from);
		}
	}
	assert_false(roce_state_allowed((enum roce_state)7, ROCE_RST));
	assert_false(roce_state_allowed(ROCE_RTS, (enum roce_state)7));
	net_destroy(net);
}

#define BAD_VALUE(member, value, state)                                     \
	do {                                                                \
		struct roce_attr bad = net_attr(net);                       \
		bad.member = value;                                         \
		assert_int_equal(roce_qp_modify(qp, state, &bad), -EINVAL); \
	} while (0)

static void
test_values_out_of_range(void **state)
{
	struct net *net = *state;
	struct roce_attr attr = net_attr(net);
	struct roce_qp *qp = &net->ends[0].qp;

	assert_int_equal(roce_qp_modify(qp, ROCE_INIT, NULL), -EINVAL);
	BAD_VALUE(access, 0x8, ROCE_INIT);
	BAD_VALUE(min_rnr_timer, 32, ROCE_INIT);
	connect_to_init(&net->ends[0], &attr);
	BAD_VALUE(mtu, 128, ROCE_RTR);
	BAD_VALUE(mtu, 8192, ROCE_RTR);
	BAD_VALUE(mtu, 1500, ROCE_RTR);
	BAD_VALUE(mtu, 0, ROCE_RTR);
	BAD_VALUE(dest_qpn, 0x1000000, ROCE_RTR);
	BAD_VALUE(rq_psn, 0x1000000, ROCE_RTR);
	BAD_VALUE(max_dest_rd_atomic, 17, ROCE_RTR);
	assert_int_equal(qp->state, ROCE_INIT);
	assert_int_equal(roce_qp_modify(qp, ROCE_RTR, &attr), 0);
	BAD_VALUE(sq_psn, 0x1000000, ROCE_RTS);
	BAD_VALUE(max_rd_atomic, 129, ROCE_RTS);
	BAD_VALUE(timeout, 32, ROCE_RTS);
	BAD_VALUE(retry_cnt, 8, ROCE_RTS);
	BAD_VALUE(rnr_retry, 8, ROCE_RTS);
	BAD_VALUE(ack_req_freq_log, 9, ROCE_RTS);
	assert_int_equal(qp->state, ROCE_RTR);
	assert_int_equal(roce_qp_modify(qp, ROCE_RTS, &attr), 0);
	assert_int_equal(roce_qp_modify(qp, ROCE_SQD, &attr), 0);
	BAD_VALUE(max_dest_rd_atomic, 17, ROCE_SQD);
	BAD_VALUE(timeout, 32, ROCE_SQD);
}

/* How much is remembered of the peer's can change in SQD, not on the way out of it. */
static void
test_depth_changes_in_sqd(void **state)
{
	struct net *net = *state;
	struct net_end *a = &net->ends[0], *b = &net->ends[1];
	struct roce_attr attr = net_attr(net);
	uint32_t i;

	net_connect(net, &attr, 0);
	assert_int_equal(roce_qp_modify(&b->qp, ROCE_SQD, &attr), 0);
	attr.max_dest_rd_atomic = 1;
	assert_int_equal(roce_qp_modify(&b->qp, ROCE_SQD, &attr), 0);
	attr.max_dest_rd_atomic = 2;
	assert_int_equal(roce_qp_modify(&b->qp, ROCE_RTS, &attr), 0);
	assert_int_equal(b->qp.attr.max_dest_rd_atomic, 1);
	/* One after the other they still go. */
	for (i = 0; i < 3; i++) {
		net_post(a, RNIC_WQE_RDMA_READ, i, 0, 100, 0);
		net_run(net);
	}
	assert_int_equal(a->send_count, 3);
	assert_int_equal(a->qp.state, ROCE_RTS);
	assert_int_equal(b->qp.responder.head - b->qp.responder.oldest, 1);
}

static void
test_counters_change_hands(void **state)
{
	struct net *net = *state;
	struct net_end *a = &net->ends[0], *b = &net->ends[1];
	struct roce_attr attr = net_attr(net);
	struct roce_counters other = { 0 };

	net_connect(net, &attr, 0);
	net_post(a, RNIC_WQE_RDMA_READ, 0, 0, 100, 0);
	net_run(net);
	roce_qp_set_counters(&b->qp, &other);
	net_post(a, RNIC_WQE_RDMA_READ, 1, 0, 100, 0);
	net_post(a, RNIC_WQE_RDMA_READ, 2, 0, 100, 0);
	net_run(net);
	assert_int_equal(b->counters.rx_read_requests, 1);
	assert_int_equal(other.rx_read_requests, 2);
}

static void
test_configurations_out_of_range(void **state)
{
	struct roce_counters counters;
	const struct roce_ops none = { 0 };
	struct roce_conf good = { .ops = &none, .transport = &roce_rc, .counters = &counters }, bad;
	struct roce_qp qp;

	(void)state;
	bad = good;
	bad.ops = NULL;
	assert_int_equal(roce_qp_init(&qp, &bad), -EINVAL);
	bad = good;
	bad.transport = NULL;
	assert_int_equal(roce_qp_init(&qp, &bad), -EINVAL);
	bad = good;
	bad.counters = NULL;
	assert_int_equal(roce_qp_init(&qp, &bad), -EINVAL);
	bad = good;
	bad.requests_log = ROCE_REQUESTS_LOG_MAX + 1;
	assert_int_equal(roce_qp_init(&qp, &bad), -EINVAL);
	bad = good;
	bad.max_dest_rd_atomic = ROCE_RD_ATOMIC_MAX + 1;
	assert_int_equal(roce_qp_init(&qp, &bad), -EINVAL);
	/* One that was refused can be given up, and does nothing. */
	assert_int_equal(roce_qp_modify(&qp, ROCE_ERR, NULL), -EINVAL);
	roce_qp_fini(&qp);
	assert_int_equal(roce_qp_init(&qp, &good), 0);
	assert_int_equal(qp.conf.window, ROCE_WINDOW);
	roce_qp_fini(&qp);
}

/* Nothing is sent before RTS, nothing is taken before RTR, and RST takes no requests. */
static void
test_states_before_rts(void **state)
{
	struct net *net = *state;
	struct net_log *log = net->test;
	struct net_end *a = &net->ends[0];
	struct roce_attr attr = net_attr(net);
	struct roce_pkt pkt = { .opcode = ROCE_SEND_ONLY, .psn = 5, .ack_request = true };

	attr.dest_qpn = NET_QPN + 1;
	attr.rq_psn = 5;
	net_recv(a, 1, 0, 100);
	net_recv(a, 2, 0, 100);
	assert_null(roce_qp_claim(&a->qp));
	net_inject(a, &pkt);
	connect_to_init(a, &attr);
	net_post(a, RNIC_WQE_RDMA_WRITE, 1, 0, 10, 0);
	net_inject(a, &pkt);
	net_poll(net);
	assert_int_equal(a->receive_count, 0);
	assert_int_equal(a->event_count, 0);
	assert_int_equal(roce_qp_modify(&a->qp, ROCE_RTR, &attr), 0);
	net_inject(a, &pkt);
	pkt.psn = 6;
	net_inject(a, &pkt);
	assert_int_equal(a->receive_count, 2);
	/* The first packet says that the other end is there, once. */
	assert_int_equal(a->event_count, 1);
	assert_int_equal(a->events[0], RNIC_EVENT_COMM_ESTABLISHED);
	net_poll(net);
	assert_int_equal(log->count, 1); /* the ACK of both */
	assert_int_equal(log->psns[0], 6);
	assert_int_equal(roce_qp_modify(&a->qp, ROCE_RTS, &attr), 0);
	net_poll(net);
	assert_int_equal(log->opcodes[1], ROCE_WRITE_ONLY);
}

/* SQD: what has begun is finished, the rest waits; then, once, the event. */
static void
test_drain(void **state)
{
	struct net *net = *state;
	struct net_log *log = net->test;
	struct net_end *a = &net->ends[0];
	struct roce_attr attr = net_attr(net);
	uint32_t i;

	net_connect(net, &attr, 0);
	net_post(a, RNIC_WQE_RDMA_WRITE, 0, 0, 10240, 0);
	for (i = 1; i < 6; i++)
		net_post(a, RNIC_WQE_RDMA_READ, i, 0, 2000, 0);
	log->lose_all = true;
	assert_int_equal(roce_qp_poll(&a->qp, net->now, 3), 3);
	log->lose_all = false;
	assert_int_equal(roce_qp_modify(&a->qp, ROCE_SQD, &attr), 0);
	net_run(net);
	/* All ten packets of the WRITE, the lost ones again; of the READs none. */
	assert_int_equal(a->send_count, 1);
	assert_int_equal(a->event_count, 1);
	assert_int_equal(a->events[0], RNIC_EVENT_SQ_DRAINED);
	assert_int_equal(a->qp.requester.next, 1);
	net_post(a, RNIC_WQE_NOP, 6, 0, 0, 0);
	net_run(net);
	assert_int_equal(a->send_count, 1);
	assert_int_equal(roce_qp_modify(&a->qp, ROCE_RTS, &attr), 0);
	net_run(net);
	assert_int_equal(a->send_count, 7);
	assert_int_equal(a->event_count, 1);
	/* With nothing under way it is drained at once. */
	assert_int_equal(roce_qp_modify(&a->qp, ROCE_SQD, &attr), 0);
	net_run(net);
	assert_int_equal(a->event_count, 2);
	assert_int_equal(roce_qp_modify(&a->qp, ROCE_SQD, &attr), 0);
	net_run(net);
	assert_int_equal(a->event_count, 2);
}

/* A fence waits for READs and atomics before it, nothing else does. */
static void
test_fence(void **state)
{
	struct net *net = *state;
	struct net_log *log = net->test;
	struct net_end *a = &net->ends[0];
	struct roce_attr attr = net_attr(net);
	struct roce_request *request;

	net_connect(net, &attr, 0);
	net_post(a, RNIC_WQE_RDMA_READ, 1, 0, 4096, 0);
	net_post(a, RNIC_WQE_RDMA_WRITE, 2, 0, 10, 8192);
	request = net_request(a, RNIC_WQE_RDMA_WRITE, 3, 0, 10, 8192);
	request->fence = true;
	roce_qp_post(&a->qp);
	net_poll(net);
	assert_int_equal(log->count, 2);
	net_run(net);
	assert_int_equal(log->count, 3);
	assert_true(log->times[2] == 1 + 2 * NET_LATENCY);
	assert_int_equal(a->send_count, 3);
}

/* AckReq: on the last packet, every 2^n, and when the window closes; one ACK for what came between two polls. */
static void
test_acks_are_asked_for_and_given_together(void **state)
{
	struct net_log log;
	struct net *net = net_create(&(struct net_conf){ .seed = 1, .window = 12 });
	struct net_end *a = &net->ends[0];
	struct roce_attr attr = net_attr(net);

	(void)state;
	net_log(net, &log);
	attr.ack_req_freq_log = 8;
	net_connect(net, &attr, 0);
	net_post(a, RNIC_WQE_RDMA_WRITE, 1, 0, 30 * 1024, 0);
	net_poll(net);
	assert_int_equal(log.count, 12);
	net_run(net);
	assert_int_equal(log.count, 30);
	assert_int_equal(net->emitted, 30 + 3);
	assert_int_equal(a->counters.local_ack_timeout_err, 0);
	/* Handed over at once, all messages are there before the peer answers. */
	net->direct = true;
	net->emitted = 0;
	for (uint32_t i = 0; i < 10; i++)
		net_post(a, RNIC_WQE_RDMA_WRITE, i, 0, 10, 0);
	net_run(net);
	assert_int_equal(net->emitted, 11);
	assert_int_equal(a->send_count, 11);
	/* The answer of a READ, or of an atomic, acknowledges what is before it. */
	for (uint32_t i = 0; i < 2; i++) {
		net->emitted = 0;
		net_post(a, RNIC_WQE_RDMA_WRITE, 1, 0, 10, 0);
		net_post(a, i == 0 ? RNIC_WQE_RDMA_READ : RNIC_WQE_ATOMIC_FA, 2, 0, 8, 0);
		net_run(net);
		assert_int_equal(net->emitted, 3);
		assert_int_equal(a->send_count, 13 + 2 * i);
	}
	net_destroy(net);
}

/* RST forgets everything; the QP then works as a new one. */
static void
test_reset_and_again(void **state)
{
	struct net *net = *state;
	struct net_end *a = &net->ends[0], *b = &net->ends[1];
	struct roce_attr attr = net_attr(net);
	uint32_t i;

	for (i = 0; i < 20; i++) {
		net_connect(net, &attr, i * 1000003 % ROCE_PSN_MASK);
		net_recv(b, i, 0, 4096);
		net_post(a, RNIC_WQE_SEND, i, 0, 4096, 0);
		net_post(a, RNIC_WQE_RDMA_READ, i, 0, 5000, 0);
		net_run(net);
		assert_int_equal(a->send_count, 2 * (i + 1));
		/* This one is under way, half received, when both go. */
		net_recv(b, i, 0, 65536);
		net_post(a, RNIC_WQE_SEND, i, 0, 65536, 0);
		net_poll(net);
		net_step(net);
		net_clear(net);
		assert_int_equal(roce_qp_modify(&a->qp, ROCE_RST, NULL), 0);
		assert_int_equal(roce_qp_modify(&b->qp, ROCE_RST, NULL), 0);
		net_run(net);
		assert_int_equal(a->send_count, 2 * (i + 1));
		assert_int_equal(b->receive_count, i + 1);
	}
}

/* As many as the table of QPs may have, with timers armed when they go. */
static void
test_a_thousand_qps(void **state)
{
	struct net_log log;
	struct net *nets[512];
	uint32_t i;

	(void)state;
	for (i = 0; i < 512; i++) {
		struct roce_attr attr;

		nets[i] = net_create_logged(&log);
		attr = net_attr(nets[i]);
		net_connect(nets[i], &attr, i * 32769);
		net_post(&nets[i]->ends[0], RNIC_WQE_RDMA_WRITE, 1, 0, 5000, 0);
		net_post(&nets[i]->ends[1], RNIC_WQE_RDMA_READ, 1, 0, 5000, 0);
		net_run(nets[i]);
		assert_int_equal(nets[i]->ends[0].send_count, 1);
		assert_int_equal(nets[i]->ends[1].send_count, 1);
		net_post(&nets[i]->ends[0], RNIC_WQE_RDMA_WRITE, 1, 0, 5000, 0);
		net_poll(nets[i]);
	}
	for (i = 0; i < 512; i++)
		net_destroy(nets[i]);
}

#define T(name) cmocka_unit_test_setup_teardown(name, net_setup, net_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_half_of_the_psns),
		T(test_half_of_the_psns_asked_for),
		cmocka_unit_test(test_changes_of_state),
		T(test_values_out_of_range),
		T(test_depth_changes_in_sqd),
		T(test_counters_change_hands),
		cmocka_unit_test(test_configurations_out_of_range),
		T(test_states_before_rts),
		T(test_drain),
		T(test_fence),
		cmocka_unit_test(test_acks_are_asked_for_and_given_together),
		T(test_reset_and_again),
		cmocka_unit_test(test_a_thousand_qps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
