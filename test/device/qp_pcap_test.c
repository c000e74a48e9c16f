/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Queue pairs on wires that are captures. What one sends is in a file; the file is received by the other's queue pair in a later
 * life of the devices, where numbers and addresses are the same, and what that answers, in a file of its own, ends the requests
 * in a third. Keys are drawn anew in each life, so what goes are SENDs, which name none.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "qp_world.h"
#include "test_clock.h"

#define VLAN \
	7u /* of the addresses until a file is to be received: its frames have no tag, so none is for them */
#define SLOT	   8192u
#define NOWHERE	   "/dev/null"
#define FRAME_ROOM 2048u
#define TAGGED	   0x8100
#define COUNT(a)   (sizeof(a) / sizeof((a)[0]))

static const uint32_t lengths[] = { 0, 1, 64, 1023, 1024, 1025, 5000 };

static char folder[] = "/tmp/rnic-qp-pcap-XXXXXX";
static char requests[64], answers[64];
static uint8_t sent[SLOT];

/* ---- The files ---- */

static uint32_t
get16(const uint8_t *at)
{
	return (uint32_t)at[0] << 8 | at[1];
}

static FILE *
frames_open(const char *path)
{
	FILE *file = fopen(path, "r");
	uint8_t head[24];

	assert_non_null(file);
	assert_int_equal(fread(head, sizeof(head), 1, file), 1);
	return file;
}

/* The next one; false: there is none. */
static bool
frame_read(FILE *file, uint8_t frame[FRAME_ROOM])
{
	struct {
		uint32_t seconds, ns, captured, length;
	} record;

	if (fread(&record, sizeof(record), 1, file) != 1)
		return false;
	assert_in_range(record.length, 14, FRAME_ROOM);
	assert_int_equal(record.captured, record.length);
	assert_int_equal(fread(frame, record.length, 1, file), 1);
	return true;
}

/* How many frames there are, none of which has a tag. */
static uint32_t
frames_of(const char *path)
{
	FILE *file = frames_open(path);
	uint8_t frame[FRAME_ROOM];
	uint32_t count = 0;

	for (; frame_read(file, frame); count++)
		assert_int_not_equal(get16(frame + 12), TAGGED);
	fclose(file);
	return count;
}

/* A broadcast becomes the first frame of the requests. */
static void
put_broadcast_first(void)
{
	const uint32_t record[] = { 0, 0, 60, 60 };
	uint8_t frame[60] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 0, 0, 0, 0, 9, 0x08, 0x06 };
	FILE *file = fopen(requests, "r+");
	static uint8_t all[1 << 20];
	size_t bytes;

	assert_non_null(file);
	bytes = fread(all, 1, sizeof(all), file);
	assert_in_range(bytes, 25, sizeof(all) - 1);
	rewind(file);
	assert_int_equal(fwrite(all, 24, 1, file), 1);
	assert_int_equal(fwrite(record, sizeof(record), 1, file), 1);
	assert_int_equal(fwrite(frame, sizeof(frame), 1, file), 1);
	assert_int_equal(fwrite(all + 24, bytes - 24, 1, file), 1);
	assert_int_equal(fclose(file), 0);
}

/* ---- A life of both devices ---- */

static struct qw_two *
open_by(enum rnic_qp_st st, bool ipv6, struct qw_conf conf, struct qw_attr attr)
{
	struct qw_two *two;
	struct qw_qp_conf a, b;

	conf.pair = true;
	conf.ipv6 = ipv6;
	for (unsigned int i = 0; i < 2; i++) {
		conf.wires[i] = "pcap";
		if (conf.tx_pcap[i] == NULL)
			conf.tx_pcap[i] = NOWHERE;
	}
	two = qw_two_open(&conf);
	a = qw_two_qp_conf(two, false);
	b = qw_two_qp_conf(two, true);
	a.st = b.st = st;
	attr.timeout = 0; /* for ever: what is not answered yet will be in another life */
	qw_two_more(two, &two->a, &a, &two->b, &b, &attr);
	memcpy(two->out, sent, SLOT);
	return two;
}

static struct qw_two *
open_two(enum rnic_qp_st st, bool ipv6, struct qw_conf conf)
{
	return open_by(st, ipv6, conf, qw_attr());
}

static uint32_t
packets_of_all(void)
{
	uint32_t packets = 0;

	for (unsigned int i = 0; i < COUNT(lengths); i++)
		packets += lengths[i] == 0 ? 1 : (lengths[i] + 1023) / 1024;
	return packets;
}

static void
send_all(struct qw_two *two)
{
	for (unsigned int i = 0; i < COUNT(lengths); i++)
		qw_wqe(&two->a, i % 2 != 0 ? RNIC_WQE_SEND_IMM : RNIC_WQE_SEND, two->out,
		       lengths[i], NULL, 0, RNIC_WQE_CE_ALWAYS)
			->immediate = rnic_cpu_to_be32(i);
	qw_go(two);
}

/* Into a file: nobody is there. Its numbers are those of the other lives. */
static uint32_t
record(enum rnic_qp_st st, bool ipv6)
{
	struct qw_two *two = open_two(st, ipv6, (struct qw_conf){ .tx_pcap = { requests } });
	const uint32_t packets = packets_of_all();

	send_all(two);
	assert_int_equal(dp_stats(&two->a.end->dp).tx_packets, packets);
	for (unsigned int i = 0; i < COUNT(lengths) && st == RNIC_QP_ST_UC; i++)
		qw_done(two, (uint16_t)i);
	qw_expect_nothing(&two->a_send);
	qw_two_close(two);
	assert_int_equal(frames_of(requests), packets);
	return packets;
}

static void
check_received(struct qw_two *two, unsigned int i)
{
	const bool immediate = i % 2 != 0;
	const uint8_t *in = two->in + i * SLOT;
	const struct rnic_cqe *cqe = qw_expect(
		&two->b_recv, immediate ? RNIC_CQE_RESPONDER_SEND_IMM : RNIC_CQE_RESPONDER_SEND,
		(uint16_t)i, two->b.qpn);

	assert_int_equal(rnic_be32_to_cpu(cqe->byte_count), lengths[i]);
	if (immediate)
		assert_int_equal(rnic_be32_to_cpu(cqe->immediate), i);
	assert_memory_equal(in, sent, lengths[i]);
	assert_int_equal(in[lengths[i]], 0);
}

/* Out of that file, to b; what it answers goes into the other one. It has no queue of Ethernet at all. */
static void
replay_requests(enum rnic_qp_st st, bool ipv6, uint32_t packets)
{
	struct qw_two *two = open_two(st, ipv6,
				      (struct qw_conf){ .rx_pcap = { NULL, requests },
							.tx_pcap = { NULL, answers },
							.vlan = VLAN });
	struct dp *dp = &two->b.end->dp;

	for (unsigned int i = 0; i < COUNT(lengths); i++)
		qw_recv(&two->b, two->in + i * SLOT, SLOT);
	qw_run(&two->qw);
	assert_int_equal(dp_stats(dp).rx_packets, 0);
	qw_set_vlan(two->b.end, 0);
	qw_run(&two->qw);
	assert_int_equal(dp_stats(dp).rx_packets, packets);
	for (unsigned int i = 0; i < COUNT(lengths); i++)
		check_received(two, i);
	qw_expect_nothing(&two->b_recv);
	assert_int_equal(dp_stats(dp).rx_unmatched + dp_stats(dp).roce_unknown_qp, 0);
	assert_int_equal(dp_stats(dp).tx_packets > 0, st == RNIC_QP_ST_RC);
	packets = (uint32_t)dp_stats(dp).tx_packets;
	qw_two_close(two);
	assert_int_equal(frames_of(answers), packets);
}

/* And out of that, to a, which has sent the same again. */
static void
replay_answers(bool ipv6)
{
	struct qw_two *two =
		open_two(RNIC_QP_ST_RC, ipv6,
			 (struct qw_conf){ .rx_pcap = { answers, NULL }, .vlan = VLAN });

	send_all(two);
	qw_expect_nothing(&two->a_send);
	qw_set_vlan(two->a.end, 0);
	qw_run(&two->qw);
	for (unsigned int i = 0; i < COUNT(lengths); i++)
		qw_done(two, (uint16_t)i);
	qw_expect_nothing(&two->a_send);
	assert_int_equal(qw_qp_state(&two->a), RNIC_QP_STATE_RTS);
	qw_two_close(two);
}

static void
test_a_connection_through_files(void **state)
{
	(void)state;
	for (unsigned int ipv6 = 0; ipv6 < 2; ipv6++) {
		replay_requests(RNIC_QP_ST_RC, ipv6 != 0, record(RNIC_QP_ST_RC, ipv6 != 0));
		replay_answers(ipv6 != 0);
	}
}

static void
test_an_unreliable_connection_through_files(void **state)
{
	(void)state;
	for (unsigned int ipv6 = 0; ipv6 < 2; ipv6++)
		replay_requests(RNIC_QP_ST_UC, ipv6 != 0, record(RNIC_QP_ST_UC, ipv6 != 0));
}

/* Nor for an address: who has one already gets them at once, and there is nobody yet whom they are for. */
static void
test_packets_wait_for_no_queue_pair(void **state)
{
	const uint32_t packets = record(RNIC_QP_ST_RC, false);
	struct qw_two *two =
		open_two(RNIC_QP_ST_RC, false, (struct qw_conf){ .rx_pcap = { NULL, requests } });

	(void)state;
	assert_int_equal(dp_stats(&two->b.end->dp).roce_unknown_qp, packets);
	qw_expect_nothing(&two->b_recv);
	qw_two_close(two);
}

/* For a while only: to a queue of Ethernet that may still come, where queue pairs receive already. */
static void
test_packets_wait_behind_a_frame_that_nobody_wants(void **state)
{
	const uint32_t packets = record(RNIC_QP_ST_UC, false);
	struct qw_two *two;
	struct dp *dp;

	(void)state;
	put_broadcast_first();
	two = open_two(RNIC_QP_ST_UC, false, (struct qw_conf){ .rx_pcap = { NULL, requests } });
	dp = &two->b.end->dp;
	for (unsigned int i = 0; i < COUNT(lengths); i++)
		qw_recv(&two->b, two->in + i * SLOT, SLOT);
	qw_run(&two->qw);
	test_clock_advance_us(2900000);
	qw_run(&two->qw);
	assert_int_equal(dp_stats(dp).rx_packets, 0);
	test_clock_advance_us(200000);
	qw_run(&two->qw);
	assert_int_equal(dp_stats(dp).rx_packets, packets + 1);
	assert_int_equal(dp_stats(dp).rx_unmatched, 1);
	for (unsigned int i = 0; i < COUNT(lengths); i++)
		check_received(two, i);
	qw_two_close(two);
}

/* ---- What a path says is in each frame ---- */

static const struct {
	uint8_t traffic_class, hop_limit, priority;
	uint32_t flow_label;
	uint16_t udp_sport;
} paths[] = { { 0xb9, 17, 5, 0xabcde, 0xc5e7 }, { 0x42, 254, 2, 0x12345, 0 } };

/* Its frames have a tag. A source port that is not said is one of the dynamic ones, and the same in each. */
static void
check_path(const uint8_t *frame, bool ipv6, const struct qw_attr *attr, uint32_t *port)
{
	const uint8_t *ip = frame + 18, *udp = ip + (ipv6 ? 40 : 20);

	assert_int_equal(get16(frame + 12), TAGGED);
	assert_int_equal(get16(frame + 14), attr->priority << 13 | VLAN);
	assert_int_equal(ip[0] >> 4, ipv6 ? 6 : 4);
	if (ipv6) {
		assert_int_equal((ip[0] & 0xf) << 4 | ip[1] >> 4, attr->traffic_class);
		assert_int_equal((ip[1] & 0xf) << 16 | get16(ip + 2), attr->flow_label);
	} else {
		assert_int_equal(ip[1], attr->traffic_class);
	}
	assert_int_equal(ip[ipv6 ? 7 : 8], attr->hop_limit);
	if (*port == 0)
		*port = get16(udp);
	assert_int_equal(get16(udp), *port);
	assert_true(*port >= 0xc000);
}

static void
check_frames_by(enum rnic_qp_st st, bool ipv6, const struct qw_attr *attr)
{
	struct qw_two *two =
		open_by(st, ipv6, (struct qw_conf){ .tx_pcap = { requests }, .vlan = VLAN }, *attr);
	uint32_t port = attr->udp_sport, count = 0;
	uint8_t frame[FRAME_ROOM];
	FILE *file;

	send_all(two);
	qw_two_close(two);
	file = frames_open(requests);
	for (; frame_read(file, frame); count++)
		check_path(frame, ipv6, attr, &port);
	fclose(file);
	assert_int_equal(count, packets_of_all());
}

static void
test_frames_are_as_the_path_says(void **state)
{
	static const enum rnic_qp_st types[] = { RNIC_QP_ST_RC, RNIC_QP_ST_UC };
	struct qw_attr attr = qw_attr();

	(void)state;
	for (unsigned int i = 0; i < COUNT(paths); i++) {
		attr.traffic_class = paths[i].traffic_class;
		attr.hop_limit = paths[i].hop_limit;
		attr.priority = paths[i].priority;
		attr.flow_label = paths[i].flow_label;
		attr.udp_sport = paths[i].udp_sport;
		for (unsigned int t = 0; t < COUNT(types); t++) {
			check_frames_by(types[t], false, &attr);
			check_frames_by(types[t], true, &attr);
		}
	}
}

static int
setup(void **state)
{
	(void)state;
	if (mkdtemp(folder) == NULL)
		return -1;
	snprintf(requests, sizeof(requests), "%s/requests.pcap", folder);
	snprintf(answers, sizeof(answers), "%s/answers.pcap", folder);
	qw_fill(sent, sizeof(sent), 1);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	unlink(requests);
	unlink(answers);
	return rmdir(folder);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_connection_through_files),
		cmocka_unit_test(test_an_unreliable_connection_through_files),
		cmocka_unit_test(test_packets_wait_behind_a_frame_that_nobody_wants),
		cmocka_unit_test(test_packets_wait_for_no_queue_pair),
		cmocka_unit_test(test_frames_are_as_the_path_says),
	};

	return cmocka_run_group_tests_name("qp_pcap", tests, setup, teardown);
}
