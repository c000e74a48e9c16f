/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Two devices whose cable is written down: wire_capture [KEY=VALUE...]
 *
 *   arrived=FILE   the frames that arrived at either end
 *   sent=FILE      those that were sent, before any fault met them; together with the others ordered by time
 *   kinds=1        one message after another: every kind of packet that the device sends (capture_kinds.h); else a mix of
 *                  messages of both ends, as a seed says
 *   foreign=HEX    a frame that comes to the second end from somebody else, at the end
 *   ipv6=1 vlan=N  the addresses
 *   mtu=N timeout=N retry=N rnr=N seed=N drop=PPM dup=PPM reorder=PPM corrupt=PPM
 *   rule=RULES second_rule=RULES   of the first end, of the second: as the devarg rule=
 *   late=1         receives may come late
 *   one=1          faults meet the frames of the first end alone
 *
 * Says on stdout, as JSON, who the ends are and what they have counted.
 */

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "capture_kinds.h"
#include "qp_mix.h"
#include "softrnic/base/device.h"
#include "softrnic/base/poller.h"
#include "softrnic/receive/qp.h"
#include "softrnic/receive/receive.h"
#include "softrnic/rocev2/encode.h"
#include "softrnic/wire/faults.h"

#define SECONDS 1700000000u /* when the first frame goes */
#define ROUND_US \
	10000u /* that a poll of both devices takes, in captures, and each frame one of them */

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
		.rules = text(argc, argv, "rule"),
		.second_rules = text(argc, argv, "second_rule"),
	};
}

static struct qw_attr
attr_of(int argc, char **argv)
{
	struct qw_attr attr = qw_attr();

	attr.mtu = RNIC_QP_MTU_256;
	for (uint32_t mtu = number(argc, argv, "mtu", CAPTURE_MTU); mtu > CAPTURE_MTU; mtu /= 2)
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

/* Not of this cable's other end: the wire hands it over as any other. */
static void
foreign(struct qw_two *two, const char *hex)
{
	uint8_t bytes[256];
	struct softrnic_frame frame = { .count = 1, .pieces = { { bytes, 0 } } };
	char digits[3] = "";

	for (; hex[0] != '\0' && hex[1] != '\0' && frame.length < sizeof(bytes); hex += 2) {
		memcpy(digits, hex, 2);
		bytes[frame.length++] = (uint8_t)strtoul(digits, NULL, 16);
	}
	frame.pieces[0].iov_len = frame.length;
	softrnic_lock(two->qw.poller);
	softrnic_eth_receive(two->b.end->dp.dev, &frame);
	softrnic_unlock(two->qw.poller);
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
		capture_kinds(two, &attr, &lose);
	else
		mix(two, argc, argv);
	if (text(argc, argv, "foreign") != NULL)
		foreign(two, text(argc, argv, "foreign"));
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
