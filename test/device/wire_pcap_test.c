/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The wire of captures. The files are written and read here byte by byte, as the format says, without libpcap.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <rte_log.h>

#include "test_clock.h"
#include "softrnic/wire/ops.h"
#include "wire_world.h"
#include "driver/counter.h"
#include "driver/vport.h"
#include "softrnic/base/object.h"

#define MAGIC_NS  0xa1b23c4du
#define MAGIC_US  0xa1b2c3d4u
#define ETHERNET  1
#define LINUX_SLL 113

struct file_header {
	uint32_t magic;
	uint16_t major, minor;
	uint32_t zone, accuracy, snaplen, kind;
};

struct record_header {
	uint32_t seconds, fraction, captured, length;
};

static char folder[] = "/tmp/rnic-wire-XXXXXX";
static char in_path[64], out_path[64];

static FILE *
capture_begin(uint32_t magic, uint32_t kind)
{
	struct file_header header = {
		.magic = magic, .major = 2, .minor = 4, .snaplen = 65535, .kind = kind
	};
	FILE *file = fopen(in_path, "w");

	assert_non_null(file);
	assert_int_equal(fwrite(&header, sizeof(header), 1, file), 1);
	return file;
}

static void
capture_add(FILE *file, uint32_t seconds, uint32_t fraction, uint32_t captured, uint32_t length,
	    uint32_t number)
{
	struct record_header record = { seconds, fraction, captured, length };
	static uint8_t frame[65536];

	ww_frame(frame, captured, number);
	assert_int_equal(fwrite(&record, sizeof(record), 1, file), 1);
	assert_true(captured == 0 || fwrite(frame, captured, 1, file) == 1);
}

static uint32_t
length_of(uint32_t number)
{
	return 60 + number * 37 % 1400;
}

/* Frames 0..count-1, a millisecond apart. */
static void
capture_of(uint32_t count)
{
	FILE *file = capture_begin(MAGIC_NS, ETHERNET);

	for (uint32_t i = 0; i < count; i++)
		capture_add(file, 1700000000, i * 1000000, length_of(i), length_of(i), i);
	assert_int_equal(fclose(file), 0);
}

static int
setup(void **state)
{
	(void)state;
	if (mkdtemp(folder) == NULL)
		return -1;
	snprintf(in_path, sizeof(in_path), "%s/in.pcap", folder);
	snprintf(out_path, sizeof(out_path), "%s/out.pcap", folder);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	unlink(in_path);
	unlink(out_path);
	return rmdir(folder);
}

static int
world_teardown(void **state)
{
	ww_close(*state);
	free(*state);
	return 0;
}

static void
open_rx(struct dp_side *ww)
{
	struct softrnic_conf conf = { .name = "cap", .wire = "pcap", .rx_pcap = in_path };

	ww_open(ww, &conf);
}

/* Frames 0..count-1. */
static void
open_rx_of(struct dp_side *ww, uint32_t count)
{
	capture_of(count);
	open_rx(ww);
}

static bool
is_up(struct dp_side *ww)
{
	return drv_link_is_up(&ww->dp.drv);
}

/* Polls, a millisecond apart, until the condition holds, for a while. */
#define poll_until(ww, condition)                                            \
	do {                                                                 \
		for (uint32_t ms_ = 0; !(condition); ms_++) {                \
			if (ms_ > 10000)                                     \
				fail_msg("not within 10 s: %s", #condition); \
			test_clock_advance_us(1000);                         \
			softrnic_poll((ww)->poller);                         \
		}                                                            \
	} while (0)

static void
test_frames_of_a_file_arrive_whole_and_in_order(void **state)
{
	struct dp_side *ww = *state;

	open_rx_of(ww, 500);
	ww_post(ww, 600);
	dp_run(&ww->dp);
	for (uint32_t i = 0; i < 500; i++)
		ww_expect(ww, length_of(i), i);
	ww_expect_none(ww);
	assert_int_equal(dp_stats(&ww->dp).rx_packets, 500);
}

/* However long it is, a round takes so many of its frames. */
static void
test_a_file_that_goes_on_and_on_has_its_share(void **state)
{
	uint64_t before = 0, now = 0;
	struct dp_side *ww = *state;

	open_rx_of(ww, 500);
	ww_post(ww, 600);
	for (uint32_t i = 0; now < 500; i++, before = now) {
		assert_in_range(i, 0, 1000);
		softrnic_poll(ww->poller);
		now = dp_stats(&ww->dp).rx_packets;
		assert_in_range(now - before, 0, 64);
	}
}

static void
test_a_file_waits_for_receive_buffers(void **state)
{
	struct dp_side *ww = *state;

	open_rx_of(ww, 300);
	dp_run(&ww->dp);
	ww_expect_none(ww);
	for (uint32_t i = 0; i < 300; i += 50) {
		ww_post(ww, 50);
		dp_run(&ww->dp);
		for (uint32_t k = i; k < i + 50; k++)
			ww_expect(ww, length_of(k), k);
		ww_expect_none(ww);
	}
	assert_int_equal(dp_stats(&ww->dp).rx_no_buffer, 0);
	assert_int_equal(dp_stats(&ww->dp).rx_unmatched, 0);
}

static void
test_the_link_goes_down_at_the_end_and_not_before(void **state)
{
	struct dp_side *ww = *state;

	open_rx_of(ww, 3);
	assert_int_equal(ww_link_events(ww, RNIC_PORT_CHANGE_DOWN), 0);
	ww_post(ww, 2);
	test_clock_advance_us(1500000);
	assert_int_equal(ww_link_events(ww, RNIC_PORT_CHANGE_DOWN), 0);
	assert_true(is_up(ww));
	ww_post(ww, 1);
	poll_until(ww, !is_up(ww));
	assert_int_equal(ww_link_events(ww, RNIC_PORT_CHANGE_DOWN), 1);
	for (uint32_t i = 0; i < 3; i++)
		ww_expect(ww, length_of(i), i);
}

/* What a port forwards of the last frames still gets out. */
static void
test_the_link_stays_while_frames_are_sent(void **state)
{
	struct softrnic_conf conf = {
		.name = "cap", .wire = "pcap", .rx_pcap = in_path, .tx_pcap = out_path
	};
	struct dp_side *ww = *state;

	capture_of(1);
	ww_open(ww, &conf);
	ww_post(ww, 1);
	dp_run(&ww->dp);
	ww_expect(ww, length_of(0), 0);
	for (uint32_t i = 0; i < 20; i++) {
		test_clock_advance_us(200000);
		ww_send(ww, 100, i);
	}
	assert_int_equal(dp_stats(&ww->dp).tx_errors, 0);
	assert_int_equal(dp_stats(&ww->dp).tx_packets, 20);
	poll_until(ww, !is_up(ww));
}

/* Who has something to say of its own all the time, and no file for it, learns of the end as well. */
static void
test_a_port_that_sends_on_and_on_has_its_link_end(void **state)
{
	struct dp_side *ww = *state;
	uint32_t i;

	open_rx_of(ww, 1);
	ww_post(ww, 1);
	dp_run(&ww->dp);
	ww_expect(ww, length_of(0), 0);
	for (i = 0; is_up(ww); i++) {
		if (i == 100)
			fail_msg("the link is up 20 s behind the last frame");
		test_clock_advance_us(200000);
		ww_send(ww, 100, i);
	}
	/* Not at once, either. */
	assert_true(i > 10);
	assert_int_equal(ww_link_events(ww, RNIC_PORT_CHANGE_DOWN), 1);
}

static void
test_times_are_as_far_apart_as_in_the_capture(void **state)
{
	static const uint32_t ns[] = { 5, 6, 999999999, 1000 };
	static const uint32_t seconds[] = { 1700000000, 1700000000, 1700000000, 1700000007 };
	const uint32_t magics[] = { MAGIC_NS, MAGIC_US };
	uint64_t time, first = 0;
	uint32_t bytes, unit;
	struct dp_side *ww = *state;
	FILE *file;

	for (uint32_t m = 0; m < 2; m++) {
		unit = m == 0 ? 1 : 1000;
		file = capture_begin(magics[m], ETHERNET);
		for (uint32_t i = 0; i < 4; i++)
			capture_add(file, seconds[i], ns[i] / unit, 60, 60, i);
		fclose(file);
		open_rx(ww);
		ww_post(ww, 4);
		dp_run(&ww->dp);
		for (uint32_t i = 0; i < 4; i++) {
			assert_non_null(ww_next(ww, &bytes, &time));
			if (i == 0)
				first = time;
			assert_int_equal(time - first,
					 (seconds[i] - seconds[0]) * UINT64_C(1000000000) +
						 ns[i] / unit * unit - ns[0] / unit * unit);
		}
		/* The device's own clock went on as ever. */
		assert_true(ww->dp.dev->now < UINT64_C(7000000000));
		ww_close(ww);
	}
}

/* Damage is counted, as what fails its FCS is on a cable, and the next frame comes. */
static void
test_frames_that_are_cut_short_or_too_long_are_errors(void **state)
{
	struct dp_side *ww = *state;
	FILE *file;

	file = capture_begin(MAGIC_NS, ETHERNET);
	capture_add(file, 1, 0, 60, 61, 0);
	capture_add(file, 1, 0, 0, 0, 1);
	capture_add(file, 1, 0, 13, 13, 2);
	capture_add(file, 1, 0, 1519, 1519, 3);
	capture_add(file, 1, 0, 65535, 65535, 4);
	capture_add(file, 1, 0, 1518, 1518, 5);
	capture_add(file, 1, 0, 14, 14, 6);
	fclose(file);
	open_rx(ww);
	ww_post(ww, 10);
	dp_run(&ww->dp);
	ww_expect(ww, 1518, 5);
	ww_expect(ww, 14, 6);
	ww_expect_none(ww);
	assert_int_equal(dp_stats(&ww->dp).rx_errors, 5);
	assert_int_equal(
		drv_vport_counter(&ww->dp.drv, RNIC_VPORT_COUNTERS_RECEIVED_ERRORS_PACKETS), 5);
	assert_int_equal(dp_stats(&ww->dp).rx_packets, 2);
}

/* A file that breaks off: what is whole arrives, and the link goes down as at its end. */
static void
test_a_file_that_breaks_off_ends_there(void **state)
{
	struct dp_side *ww = *state;

	capture_of(3);
	assert_int_equal(truncate(in_path, sizeof(struct file_header) +
						   3 * sizeof(struct record_header) + length_of(0) +
						   length_of(1) + 10),
			 0);
	open_rx(ww);
	ww_post(ww, 10);
	poll_until(ww, !is_up(ww));
	ww_expect(ww, length_of(0), 0);
	ww_expect(ww, length_of(1), 1);
	ww_expect_none(ww);
}

/* Applications set promiscuous mode behind the start of their queues: no frame is lost to that. */
static void
test_a_frame_that_nobody_wants_waits_for_a_change_of_mind(void **state)
{
	struct dp_side *ww = *state;

	open_rx_of(ww, 5);
	assert_int_equal(drv_vport_promisc_set(&ww->dp.drv, false), 0);
	ww_post(ww, 10);
	dp_run(&ww->dp);
	ww_expect_none(ww);
	assert_int_equal(dp_stats(&ww->dp).rx_unmatched, 0);
	assert_int_equal(drv_vport_promisc_set(&ww->dp.drv, true), 0);
	dp_run(&ww->dp);
	for (uint32_t i = 0; i < 5; i++)
		ww_expect(ww, length_of(i), i);
}

static void
test_frames_that_nobody_wants_hold_a_file_up_only_once(void **state)
{
	struct dp_side *ww = *state;

	open_rx_of(ww, 5);
	assert_int_equal(drv_vport_promisc_set(&ww->dp.drv, false), 0);
	ww_post(ww, 10);
	poll_until(ww, !is_up(ww));
	assert_int_equal(dp_stats(&ww->dp).rx_unmatched, 5);
	ww_expect_none(ww);
}

/* A queue that is stopped or in ERR drops what comes to it, and does not stop what comes to others. */
static void
test_a_queue_that_does_not_receive_holds_a_file_up_only_once(void **state)
{
	struct dp_rq other;
	struct dp_side *ww = *state;

	open_rx_of(ww, 5);
	assert_int_equal(dp_rq_create(&ww->dp, &other, &ww->rx_cq, 4, 4), 0);
	assert_int_equal(dp_rq_modify(&ww->rq, RNIC_WQ_STATE_RDY, RNIC_WQ_STATE_ERR), 0);
	poll_until(ww, !is_up(ww));
	assert_int_equal(dp_stats(&ww->dp).rx_no_buffer, 5);
	ww_expect_none(ww);
}

/* How many queues are ready is counted as they change state: by whatever way the last one goes, the frame waits. */
static void
test_a_frame_waits_while_none_of_many_queues_receives(void **state)
{
	const uint32_t others = softrnic_object_limit(SOFTRNIC_RQ) - 1;
	struct dp_rq other;
	struct dp_side *ww = *state;
	size_t used;

	open_rx_of(ww, 1);
	/* Commands do not poll: some 30,000 of them come. */
	hn_quick(&ww->dp.hn);
	assert_int_equal(drv_vport_promisc_set(&ww->dp.drv, false), 0);
	assert_int_equal(dp_rq_modify(&ww->rq, RNIC_WQ_STATE_RDY, RNIC_WQ_STATE_RST), 0);
	/* One ring does for all. */
	used = ww->dp.hn.used;
	for (uint32_t i = 0; i < others; i++) {
		ww->dp.hn.used = used;
		assert_int_equal(dp_rq_create(&ww->dp, &other, &ww->rx_cq, 0, 4), 0);
		assert_int_equal(dp_rq_modify(&other, RNIC_WQ_STATE_RDY,
					      i % 2 == 0 ? RNIC_WQ_STATE_RST : RNIC_WQ_STATE_ERR),
				 0);
	}
	/* The last one that was ready is gone, as it was: the frame has all the time there is. */
	assert_int_equal(dp_destroy(&ww->dp, RNIC_CMD_DESTROY_RQ, other.rqn), 0);
	assert_int_equal(dp_rq_create(&ww->dp, &other, &ww->rx_cq, 0, 4), 0);
	assert_int_equal(dp_destroy(&ww->dp, RNIC_CMD_DESTROY_RQ, other.rqn), 0);
	for (uint32_t ms = 0; ms < 5000; ms++) {
		test_clock_advance_us(1000);
		softrnic_poll(ww->poller);
	}
	assert_int_equal(dp_stats(&ww->dp).rx_unmatched, 0);
	/* And no more than it takes anybody to make up his mind, once there is one. */
	assert_int_equal(dp_rq_create(&ww->dp, &other, &ww->rx_cq, 0, 4), 0);
	poll_until(ww, dp_stats(&ww->dp).rx_unmatched == 1);
}

static void
end_and_reset(struct dp_side *ww, uint32_t frames)
{
	open_rx_of(ww, frames);
	ww_post(ww, 10);
	poll_until(ww, !is_up(ww));
	assert_int_equal(drv_simple(&ww->dp.drv, RNIC_CMD_TEARDOWN_HCA, 0, NULL), 0);
	assert_false(ww->dp.dev->wire->is_up(ww->dp.dev));
	assert_int_equal(softrnic_reset(ww->dp.dev), 0);
	assert_true(ww->dp.dev->wire->is_up(ww->dp.dev));
}

static void
test_a_reset_takes_the_file_back_to_its_start(void **state)
{
	end_and_reset(*state, 4);
}

/* The next one has its link until the end as well, which comes soon. */
static void
test_a_reset_takes_an_empty_file_back_to_its_start(void **state)
{
	end_and_reset(*state, 0);
}

/* ---- What is sent ---- */

static void
open_tx(struct dp_side *ww, const char *path)
{
	struct softrnic_conf conf = { .name = "cap", .wire = "pcap", .tx_pcap = path };

	ww_open(ww, &conf);
}

static void
check_file_header(FILE *file)
{
	struct file_header header;

	assert_int_equal(fread(&header, sizeof(header), 1, file), 1);
	assert_int_equal(header.magic, MAGIC_NS);
	assert_int_equal(header.major, 2);
	assert_int_equal(header.minor, 4);
	assert_int_equal(header.kind, ETHERNET);
	assert_true(header.snaplen >= 65535);
}

static void
check_record(FILE *file, uint32_t bytes, uint32_t number, uint64_t since_ns)
{
	uint8_t wanted[WW_FRAME_BYTES], got[WW_FRAME_BYTES];
	struct record_header record;
	struct timespec now;
	uint64_t time;

	assert_int_equal(fread(&record, sizeof(record), 1, file), 1);
	assert_int_equal(record.captured, bytes);
	assert_int_equal(record.length, bytes);
	assert_int_equal(fread(got, bytes, 1, file), 1);
	ww_frame(wanted, bytes, number);
	assert_memory_equal(got, wanted, bytes);
	clock_gettime(CLOCK_REALTIME, &now);
	time = record.seconds * UINT64_C(1000000000) + record.fraction;
	assert_true(record.fraction < 1000000000);
	assert_true(time >= since_ns);
	assert_true(time <= (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec);
}

static uint64_t
wall_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void
test_what_is_sent_is_in_the_file_with_its_time(void **state)
{
	uint64_t start = wall_ns();
	struct dp_side *ww = *state;
	FILE *file;

	open_tx(ww, out_path);
	for (uint32_t i = 0; i < 200; i++)
		ww_send(ww, length_of(i), i);
	/* Errors are not in the file. */
	ww_send(ww, 13, 1000);
	ww_send(ww, 1519, 1001);
	assert_int_equal(dp_stats(&ww->dp).tx_errors, 2);
	assert_int_equal(dp_stats(&ww->dp).tx_packets, 200);
	ww_close(ww);
	file = fopen(out_path, "r");
	assert_non_null(file);
	check_file_header(file);
	for (uint32_t i = 0; i < 200; i++)
		check_record(file, length_of(i), i, start);
	assert_int_equal(fgetc(file), EOF);
	fclose(file);
}

static void
test_a_frame_of_many_pieces_is_one_record(void **state)
{
	struct dp_side *ww = *state;
	FILE *file;

	open_tx(ww, out_path);
	ww_frame(ww->out, 300, 9);
	dp_wqe(&ww->sq, RNIC_WQE_SEND, 5, RNIC_WQE_CE_ALWAYS);
	dp_wqe_data(&ww->sq, 2, ww->out, 1);
	dp_wqe_data(&ww->sq, 3, ww->out + 1, 99);
	dp_wqe_data(&ww->sq, 4, ww->out + 100, 200);
	dp_sq_record(&ww->sq);
	dp_sq_ring(&ww->sq);
	dp_run(&ww->dp);
	ww_close(ww);
	file = fopen(out_path, "r");
	assert_non_null(file);
	check_file_header(file);
	check_record(file, 300, 9, 0);
	fclose(file);
}

/* Who looks need not wait for the end. */
static void
test_a_quiet_wire_brings_its_file_up_to_date(void **state)
{
	struct stat st;
	struct dp_side *ww = *state;

	open_tx(ww, out_path);
	ww_send(ww, 100, 0);
	dp_run(&ww->dp);
	assert_int_equal(stat(out_path, &st), 0);
	assert_int_equal(st.st_size,
			 sizeof(struct file_header) + sizeof(struct record_header) + 100);
}

static void
test_a_file_that_cannot_be_written_counts_transmit_errors(void **state)
{
	struct dp_side *ww = *state;

	open_tx(ww, "/dev/full");
	ww_send(ww, 100, 0);
	dp_run(&ww->dp);
	ww_send(ww, 100, 1);
	ww_send(ww, 100, 2);
	assert_int_equal(dp_stats(&ww->dp).tx_packets, 1);
	assert_int_equal(dp_stats(&ww->dp).tx_errors, 2);
	assert_int_equal(
		drv_vport_counter(&ww->dp.drv, RNIC_VPORT_COUNTERS_TRANSMIT_ERRORS_PACKETS), 2);
}

/* ---- Refused ---- */

static void
refuse(struct softrnic_conf conf, int expected, const char *said)
{
	struct softrnic_poller *poller;
	struct softrnic *dev;
	FILE *stream = tmpfile();
	char text[1024];
	size_t n;

	assert_non_null(stream);
	conf.name = "cap";
	assert_int_equal(softrnic_poller_create(&poller), 0);
	rte_openlog_stream(stream);
	assert_int_equal(softrnic_create(poller, &conf, &dev), expected);
	rte_openlog_stream(NULL);
	rewind(stream);
	n = fread(text, 1, sizeof(text) - 1, stream);
	text[n] = '\0';
	fclose(stream);
	if (strstr(text, said) == NULL)
		fail_msg("\"%s\" is not in what was said: %s", said, text);
	assert_int_equal(softrnic_poller_destroy(poller), 0);
}

#define REFUSE(expected, said, ...) refuse((struct softrnic_conf){ __VA_ARGS__ }, expected, said)

/* Who is root may lack the capability, and who is not may have it. */
static bool
may_capture(void)
{
	int fd = socket(AF_PACKET, SOCK_RAW, 0);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static void
test_what_cannot_be_is_refused_with_the_reason(void **state)
{
	char fifo[64];
	FILE *file;

	(void)state;
	REFUSE(-EINVAL, "set rx_pcap, tx_pcap", .wire = "pcap");
	REFUSE(-EINVAL, "set rx_pcap, tx_pcap", .wire = "pcap", .iface = "lo", .rx_pcap = in_path);
	REFUSE(-EINVAL, "takes no \":\"", .wire = "pcap:file", .rx_pcap = in_path);
	REFUSE(-EINVAL, "need the wire \"pcap\"", .wire = "loop", .tx_pcap = out_path);
	REFUSE(-ENOENT, "No such file", .wire = "pcap", .rx_pcap = "/nonexistent/in.pcap");
	REFUSE(-ENOENT, "cannot write", .wire = "pcap", .tx_pcap = "/nonexistent/out.pcap");
	REFUSE(-EINVAL, "not a regular file", .wire = "pcap", .rx_pcap = folder);
	REFUSE(may_capture() ? -ENODEV : -EPERM, "no-such-iface", .wire = "pcap",
	       .iface = "no-such-iface");
	/* Without EAL there are no ethdevs. */
	REFUSE(-ENOTSUP, "no EAL", .wire = "port:net_tap0");
	REFUSE(-EINVAL, "needs the name of an ethdev", .wire = "port:");
	REFUSE(-EINVAL, "\"null\" and \"source:BYTES\"", .wire = "cable");

	file = fopen(in_path, "w");
	fputs("this is no capture at all, nothing like it", file);
	fclose(file);
	REFUSE(-EINVAL, "libpcap cannot read", .wire = "pcap", .rx_pcap = in_path);
	fclose(capture_begin(MAGIC_NS, LINUX_SLL));
	REFUSE(-EINVAL, "LINUX_SLL", .wire = "pcap", .rx_pcap = in_path);
	capture_of(1);
	REFUSE(-EINVAL, "read and written at once", .wire = "pcap", .rx_pcap = in_path,
	       .tx_pcap = in_path);

	snprintf(fifo, sizeof(fifo), "%s/fifo", folder);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	REFUSE(-EINVAL, "not a regular file", .wire = "pcap", .rx_pcap = fifo);
	REFUSE(-EINVAL, "not a regular file", .wire = "pcap", .tx_pcap = fifo);
	unlink(fifo);
}

/* Refused for another reason, the file keeps what it has. */
static void
test_a_file_that_is_read_is_not_overwritten(void **state)
{
	struct stat before, after;

	(void)state;
	capture_of(10);
	assert_int_equal(stat(in_path, &before), 0);
	REFUSE(-EINVAL, "read and written at once", .wire = "pcap", .rx_pcap = in_path,
	       .tx_pcap = in_path);
	assert_int_equal(stat(in_path, &after), 0);
	assert_int_equal(before.st_size, after.st_size);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, ww_setup, world_teardown)
		T(test_frames_of_a_file_arrive_whole_and_in_order),
		T(test_a_file_that_goes_on_and_on_has_its_share),
		T(test_a_file_waits_for_receive_buffers),
		T(test_the_link_goes_down_at_the_end_and_not_before),
		T(test_the_link_stays_while_frames_are_sent),
		T(test_a_port_that_sends_on_and_on_has_its_link_end),
		T(test_times_are_as_far_apart_as_in_the_capture),
		T(test_frames_that_are_cut_short_or_too_long_are_errors),
		T(test_a_file_that_breaks_off_ends_there),
		T(test_a_frame_that_nobody_wants_waits_for_a_change_of_mind),
		T(test_frames_that_nobody_wants_hold_a_file_up_only_once),
		T(test_a_queue_that_does_not_receive_holds_a_file_up_only_once),
		T(test_a_frame_waits_while_none_of_many_queues_receives),
		T(test_a_reset_takes_the_file_back_to_its_start),
		T(test_a_reset_takes_an_empty_file_back_to_its_start),
		T(test_what_is_sent_is_in_the_file_with_its_time),
		T(test_a_frame_of_many_pieces_is_one_record),
		T(test_a_quiet_wire_brings_its_file_up_to_date),
		T(test_a_file_that_cannot_be_written_counts_transmit_errors),
		T(test_what_cannot_be_is_refused_with_the_reason),
		T(test_a_file_that_is_read_is_not_overwritten),
	};

	return cmocka_run_group_tests_name("wire_pcap", tests, setup, teardown);
}
