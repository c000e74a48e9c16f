/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Two devices whose cable is written down: wire_capture [KEY=VALUE...]
 *
 *   arrived=FILE   the frames that arrived at either end
 *   sent=FILE      those that were sent, before any fault met them; together with the others ordered by time
 *   kinds=1        one message after another: every kind of packet that a reliable connection has; else a mix of messages of
 *                  both ends, as a seed says
 *   ipv6=1 vlan=N  the addresses
 *   mtu=N timeout=N retry=N rnr=N seed=N drop=PPM dup=PPM reorder=PPM corrupt=PPM
 *   late=1         receives may come late
 *   one=1          faults meet the frames of the first end alone
 *
 * Says on stdout, as JSON, who the ends are and what they have counted.
 */

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "qp_mix.h"
#include "softrnic/base/device.h"
#include "softrnic/receive/qp.h"
#include "softrnic/receive/receive.h"
#include "softrnic/rocev2/encode.h"
#include "softrnic/wire/faults.h"

#define SECONDS 1700000000u /* when the first frame goes */
#define ROUND_US \
	10000u /* that a poll of both devices takes, in captures, and each frame one of them */
#define MTU	 256u
#define UNMAPPED ((void *)(uintptr_t)0x1000)

/* ---- The captures ---- */

static FILE *arrived, *sent;
static uint32_t now_us;
static uint32_t
	lose; /* the frame that is lost on the cable: the first from now on, or the second, or none */

static void
put(FILE *file, const uint32_t *words, size_t count)
{
	assert_int_equal(fwrite(words, sizeof(*words), count, file), count);
}

static FILE *
capture_open(const char *path)
{
	/* Nanoseconds, version 2.4, Ethernet. */
	const uint32_t head[] = { 0xa1b23c4d, 4 << 16 | 2, 0, 0, 65535, 1 };
	FILE *file = fopen(path, "wb");

	if (file == NULL)
		fail_msg("%s cannot be written", path);
	put(file, head, 6);
	return file;
}

static void
capture_frame(FILE *file, const uint8_t *bytes, uint32_t length)
{
	const uint32_t head[] = { SECONDS + now_us / 1000000, now_us % 1000000 * 1000, length,
				  length };

	now_us++;
	if (file == NULL)
		return;
	put(file, head, 4);
	assert_int_equal(fwrite(bytes, 1, length, file), length);
}

/* The linker has the calls of the wire come here (--wrap). */
void __real_softrnic_eth_receive(struct softrnic *dev, const struct softrnic_frame *frame);
void __wrap_softrnic_eth_receive(struct softrnic *dev, const struct softrnic_frame *frame);
void __real_softrnic_faults_send_roce(struct softrnic *dev,
				      const struct softrnic_roce_frame *frame);
void __wrap_softrnic_faults_send_roce(struct softrnic *dev,
				      const struct softrnic_roce_frame *frame);

void
__wrap_softrnic_eth_receive(struct softrnic *dev, const struct softrnic_frame *frame)
{
	static uint8_t bytes[SOFTRNIC_FRAME_BYTES_MAX];

	if (lose > 0 && --lose == 0)
		return;
	softrnic_frame_gather(frame, bytes, frame->length);
	capture_frame(arrived, bytes, frame->length);
	__real_softrnic_eth_receive(dev, frame);
}

void
__wrap_softrnic_faults_send_roce(struct softrnic *dev, const struct softrnic_roce_frame *frame)
{
	static uint8_t bytes[SOFTRNIC_FRAME_BYTES_MAX];

	capture_frame(sent, bytes, rocev2_encode(frame->head, frame->pkt, bytes));
	__real_softrnic_faults_send_roce(dev, frame);
}

/* ---- Every kind ---- */

static void
drop_completions(struct qw_two *two)
{
	struct dp_cq *const queues[] = { &two->a_send, &two->a_recv, &two->b_send, &two->b_recv };

	for (unsigned int i = 0; i < 4; i++)
		while (dp_cq_next(queues[i]) != NULL)
			;
}

static bool
completed(void *arg)
{
	struct qw_two *two = arg;

	return dp_cq_peek(&two->a_send) != NULL;
}

/* The request that was posted ends so. */
static void
expect(struct qw_two *two, uint8_t syndrome)
{
	const struct rnic_cqe *cqe;

	assert_true(qw_run_until(&two->qw, completed, two));
	cqe = dp_cq_next(&two->a_send);
	assert_int_equal(RNIC_CQE_OPCODE(cqe->op_own),
			 syndrome == 0 ? RNIC_CQE_REQUESTER : RNIC_CQE_REQUESTER_ERROR);
	if (syndrome != 0)
		assert_int_equal(((const struct rnic_error_cqe *)cqe)->syndrome, syndrome);
	qw_run(&two->qw);
	drop_completions(two);
}

static void
message(struct qw_two *two, uint8_t opcode, uint32_t bytes)
{
	struct rnic_wqe_ctrl *ctrl;

	if (opcode != RNIC_WQE_RDMA_WRITE && opcode != RNIC_WQE_RDMA_READ)
		qw_recv(&two->b, two->in, QM_SLOT);
	ctrl = qw_wqe(&two->a, opcode, two->out, bytes, two->in, two->b.end->key,
		      RNIC_WQE_CE_ALWAYS | RNIC_WQE_SE);
	ctrl->immediate = rnic_cpu_to_be32(0x01020304);
	dp_sq_ring(&two->a.sq);
	expect(two, 0);
}

static void
atomic(struct qw_two *two, uint8_t opcode)
{
	struct rnic_wqe_atomic *operands;

	qw_wqe(&two->a, opcode, two->out, 8, two->in, two->b.end->key, RNIC_WQE_CE_ALWAYS);
	operands = dp_wqe_at(&two->a.sq, 2);
	operands->swap_add = rnic_cpu_to_be64(1);
	operands->compare = rnic_cpu_to_be64(2);
	dp_sq_ring(&two->a.sq);
	expect(two, 0);
}

/* NAKs: of a gap, of no receive, and the three that end a connection, which is made anew. */
static void
refusals(struct qw_two *two, const struct qw_attr *attr)
{
	lose = 1;
	message(two, RNIC_WQE_RDMA_WRITE, 3 * MTU);
	qw_post(&two->a, &two->b, RNIC_WQE_SEND, two->out, 64, NULL);
	qw_poll(&two->qw, 8);
	qw_recv(&two->b, two->in, 64);
	expect(two, 0);
	qw_post(&two->a, &two->b, RNIC_WQE_ATOMIC_FA, two->out, 8, two->in + 4);
	expect(two, RNIC_SYND_REMOTE_INVALID_REQUEST);
	qw_two_reconnect(two, attr);
	qw_wqe(&two->a, RNIC_WQE_RDMA_WRITE, two->out, 64, two->in, two->b.end->key ^ 0x5a,
	       RNIC_WQE_CE_ALWAYS);
	dp_sq_ring(&two->a.sq);
	expect(two, RNIC_SYND_REMOTE_ACCESS);
	qw_two_reconnect(two, attr);
	qw_recv(&two->b, UNMAPPED, 64);
	qw_post(&two->a, &two->b, RNIC_WQE_SEND, two->out, 64, NULL);
	expect(two, RNIC_SYND_REMOTE_OPERATION);
}

static void
every_kind(struct qw_two *two, const struct qw_attr *attr)
{
	static const uint8_t opcodes[] = { RNIC_WQE_SEND, RNIC_WQE_SEND_IMM, RNIC_WQE_RDMA_WRITE,
					   RNIC_WQE_RDMA_WRITE_IMM, RNIC_WQE_RDMA_READ };
	static const uint32_t lengths[] = { 0,	 1,	  2,	       3,	    64,
					    MTU, MTU + 1, 2 * MTU + 2, 2 * MTU + 3, 3 * MTU };

	for (unsigned int i = 0; i < sizeof(opcodes); i++)
		for (unsigned int k = 0; k < sizeof(lengths) / sizeof(lengths[0]); k++)
			message(two, opcodes[i], lengths[k]);
	atomic(two, RNIC_WQE_ATOMIC_CS);
	atomic(two, RNIC_WQE_ATOMIC_FA);
	refusals(two, attr);
}

/* ---- What is said of it ---- */

#define COUNTER(name)                                        \
	{                                                    \
#name, offsetof(struct roce_counters, name), \
	}

static void
say_counters(const struct roce_counters *counters)
{
	static const struct {
		const char *name;
		size_t at;
	} all[] = {
		COUNTER(rx_write_requests),
		COUNTER(rx_read_requests),
		COUNTER(rx_atomic_requests),
		COUNTER(out_of_buffer),
		COUNTER(out_of_sequence),
		COUNTER(duplicate_request),
		COUNTER(resp_local_length_error),
		COUNTER(resp_remote_access_errors),
		COUNTER(rnr_nak_retry_err),
		COUNTER(packet_seq_err),
		COUNTER(implied_nak_seq_err),
		COUNTER(local_ack_timeout_err),
		COUNTER(req_remote_invalid_request),
		COUNTER(req_remote_access_errors),
	};
	uint64_t value;

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		memcpy(&value, (const uint8_t *)counters + all[i].at, sizeof(value));
		printf("\"%s\": %llu, ", all[i].name, (unsigned long long)value);
	}
}

static void
say_stat(void *unused, const char *name, uint64_t value)
{
	(void)unused;
	printf("\"%s\": %llu, ", name, (unsigned long long)value);
}

static void
say_end(struct qw_qp *qp, const char *behind)
{
	const struct softrnic_qp *inside = qw_qp_inside(qp);
	const struct softrnic_stats stats = dp_stats(&qp->end->dp);

	printf("{ ");
	softrnic_stats_each(&stats, say_stat, NULL);
	say_counters(&qp->end->dp.dev->roce_counters);
	printf("\"qpn\": %u, \"state\": %d, \"gid\": \"", qp->qpn, inside->roce.state);
	for (unsigned int i = 0; i < sizeof(qp->end->gid); i++)
		printf("%02x", qp->end->gid[i]);
	printf("\" }%s\n", behind);
}

static void
say_all(struct qw_two *two, const struct qw_attr *attr)
{
	printf("{ \"psn\": %u, \"mtu\": %u, \"retry\": %u, \"ends\": [\n", attr->psn,
	       128u << attr->mtu, attr->retry_count);
	say_end(&two->a, ",");
	say_end(&two->b, "");
	printf("] }\n");
}

/* ---- The program ---- */

static const char *
text(int argc, char **argv, const char *key)
{
	const size_t length = strlen(key);

	for (int i = 1; i < argc; i++)
		if (strncmp(argv[i], key, length) == 0 && argv[i][length] == '=')
			return argv[i] + length + 1;
	return NULL;
}

static uint32_t
number(int argc, char **argv, const char *key, uint32_t otherwise)
{
	const char *value = text(argc, argv, key);

	return value != NULL ? (uint32_t)strtoul(value, NULL, 0) : otherwise;
}

static struct qw_conf
conf_of(int argc, char **argv)
{
	return (struct qw_conf){
		.pair = true,
		.bytes = true,
		.ipv6 = number(argc, argv, "ipv6", 0),
		.seed = number(argc, argv, "seed", 1),
		.drop_ppm = number(argc, argv, "drop", 0),
		.dup_ppm = number(argc, argv, "dup", 0),
		.reorder_ppm = number(argc, argv, "reorder", 0),
		.corrupt_ppm = number(argc, argv, "corrupt", 0),
	};
}

static struct qw_attr
attr_of(int argc, char **argv)
{
	struct qw_attr attr = qw_attr();

	attr.mtu = RNIC_QP_MTU_256;
	for (uint32_t mtu = number(argc, argv, "mtu", MTU); mtu > MTU; mtu /= 2)
		attr.mtu++;
	attr.timeout = (uint8_t)number(argc, argv, "timeout", 8);
	attr.retry_count = (uint8_t)number(argc, argv, "retry", 7);
	attr.rnr_retry = (uint8_t)number(argc, argv, "rnr", 7);
	attr.min_rnr_timer = 1;
	return attr;
}

static void
next_round(struct qm *unused)
{
	(void)unused;
	now_us += ROUND_US - now_us % ROUND_US;
}

static void
mix(struct qw_two *two, int argc, char **argv)
{
	struct qm qm = { .two = two,
			 .punctual = number(argc, argv, "late", 0) == 0,
			 .each_poll = next_round };
	struct softrnic_conf *second = &two->b.end->dp.dev->conf;

	qm_seed(&qm, number(argc, argv, "seed", 1));
	if (number(argc, argv, "one", 0) != 0)
		second->drop_ppm = second->dup_ppm = second->reorder_ppm = second->corrupt_ppm = 0;
	qm_run(&qm);
}

static void
run(int argc, char **argv)
{
	const struct qw_conf conf = conf_of(argc, argv);
	const struct qw_attr attr = attr_of(argc, argv);
	const uint32_t vlan = number(argc, argv, "vlan", 0);
	struct qw_two *two = qw_two_open(&conf);

	if (text(argc, argv, "arrived") != NULL)
		arrived = capture_open(text(argc, argv, "arrived"));
	if (text(argc, argv, "sent") != NULL)
		sent = capture_open(text(argc, argv, "sent"));
	if (vlan != 0) {
		qw_set_vlan(two->qw.ends[0], vlan);
		qw_set_vlan(two->qw.ends[1], vlan);
	}
	qw_two_connect(two, &attr);
	qw_fill(two->out, QM_WORD, 1);
	qw_fill(two->in, QM_WORD, 2);
	if (number(argc, argv, "kinds", 0) != 0)
		every_kind(two, &attr);
	else
		mix(two, argc, argv);
	say_all(two, &attr);
	qw_two_close(two);
	assert_int_equal(arrived != NULL ? fclose(arrived) : 0, 0);
	assert_int_equal(sent != NULL ? fclose(sent) : 0, 0);
}

int
main(int argc, char **argv)
{
	run(argc, argv);
	return 0;
}
