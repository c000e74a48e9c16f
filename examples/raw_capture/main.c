/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Ethernet frames into a capture that tcpdump and Wireshark read. A queue pair of type RAW_PACKET has no peer: it receives the
 * frames for the addresses that are attached to it, beside an ethdev that has the others. The ethdev is not even started here.
 *
 *   raw_capture -d librte_net_rnic.so --vdev net_rnic0 -- FILE [FRAMES [ADDRESS...]]
 *
 * FRAMES 0, or none: until Ctrl-C. Without an ADDRESS: the port's own and broadcast.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <pcap/pcap.h>

#include <rte_debug.h>
#include <rte_eal.h>
#include <rte_ether.h>
#include <rte_malloc.h>
#include <rte_pause.h>

#include <rdmapmd.h>

#define PORT	1
#define BUFFERS 256
#define BYTES	10240 /* of a buffer: no port has longer frames */
#define BATCH	32
#define TRY(call)                                                                   \
	do {                                                                        \
		int rc_ = (call);                                                   \
		if (rc_ != 0)                                                       \
			rte_exit(EXIT_FAILURE, #call ": %s\n", strerror(abs(rc_))); \
	} while (0)

static struct {
	struct rdmapmd_context *context;
	struct rdmapmd_pd *pd;
	struct rdmapmd_mr *mr;
	struct rdmapmd_cq *cq;
	struct rdmapmd_qp *qp;
	uint8_t *buffers;
	pcap_t *format;
	pcap_dumper_t *file;
} capture;
static volatile sig_atomic_t stopped;

/* ---- The queue pair ---- */

static void
modify(enum rdmapmd_qp_state state, unsigned int mask)
{
	const struct rdmapmd_qp_attr attr = { .qp_state = state, .port_num = PORT };

	TRY(rdmapmd_qp_modify(capture.qp, &attr, RDMAPMD_QP_STATE | mask));
}

/* It only receives: it has no send queue, and stops at RTR, "ready to receive". */
static void
make_queue_pair(void)
{
	const struct rdmapmd_cq_init_attr cq = { .cqe = BUFFERS };
	struct rdmapmd_qp_init_attr qp = {
		.qp_type = RDMAPMD_QPT_RAW_PACKET,
		.cap = { .max_recv_wr = BUFFERS, .max_recv_sge = 1 },
	};

	TRY(rdmapmd_device_open_by_port(0, &capture.context));
	TRY(rdmapmd_pd_alloc(capture.context, &capture.pd));
	capture.buffers = rte_malloc("raw_capture", (size_t)BUFFERS * BYTES, 4096);
	if (capture.buffers == NULL)
		rte_exit(EXIT_FAILURE, "no memory\n");
	TRY(rdmapmd_mr_reg(capture.pd, capture.buffers, (size_t)BUFFERS * BYTES,
			   RDMAPMD_ACCESS_LOCAL_WRITE, &capture.mr));
	TRY(rdmapmd_cq_create(capture.context, &cq, &capture.cq));
	qp.send_cq = qp.recv_cq = capture.cq;
	TRY(rdmapmd_qp_create(capture.pd, &qp, &capture.qp));
	modify(RDMAPMD_QPS_INIT, RDMAPMD_QP_PORT);
}

static void
post_buffers(const uint64_t *indexes, uint16_t n)
{
	struct rdmapmd_recv_wr wrs[BATCH];
	struct rdmapmd_sge sges[BATCH];
	uint16_t i;

	for (i = 0; i < n; i++) {
		sges[i] = (struct rdmapmd_sge){ (uintptr_t)capture.buffers + indexes[i] * BYTES,
						BYTES, capture.mr->lkey };
		wrs[i] = (struct rdmapmd_recv_wr){ .wr_id = indexes[i],
						   .sg_list = &sges[i],
						   .num_sge = 1 };
	}
	if (rdmapmd_post_recv(capture.qp, wrs, n) != n)
		TRY(capture.qp->post_recv_error);
}

static void
post_all_buffers(void)
{
	uint64_t index;

	for (index = 0; index < BUFFERS; index++)
		post_buffers(&index, 1);
}

static void
attach(const uint8_t *mac)
{
	TRY(rdmapmd_qp_attach_mac(capture.qp, mac, RDMAPMD_VLAN_ANY));
}

static void
attach_addresses(int n, char **texts)
{
	static const uint8_t broadcast[6] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };
	struct rdmapmd_port_attr port;
	struct rte_ether_addr mac;
	int i;

	if (n == 0) {
		TRY(rdmapmd_port_query(capture.context, PORT, &port));
		attach(port.mac);
		attach(broadcast);
	}
	for (i = 0; i < n; i++) {
		if (rte_ether_unformat_addr(texts[i], &mac) != 0)
			rte_exit(EXIT_FAILURE, "%s: not an Ethernet address\n", texts[i]);
		attach(mac.addr_bytes);
	}
}

/* ---- The capture ---- */

static void
open_capture(const char *path)
{
	capture.format =
		pcap_open_dead_with_tstamp_precision(DLT_EN10MB, BYTES, PCAP_TSTAMP_PRECISION_NANO);
	if (capture.format == NULL)
		rte_exit(EXIT_FAILURE, "no memory\n");
	capture.file = pcap_dump_open(capture.format, path);
	if (capture.file == NULL)
		rte_exit(EXIT_FAILURE, "%s\n", pcap_geterr(capture.format));
}

static void
close_capture(const char *path)
{
	if (pcap_dump_flush(capture.file) != 0 || ferror(pcap_dump_file(capture.file)))
		rte_exit(EXIT_FAILURE, "%s: it could not be written\n", path);
	pcap_dump_close(capture.file);
	pcap_close(capture.format);
}

/* A completion is a frame: wr_id says in which buffer it is, byte_len how long it is. */
static void
write_frame(const struct rdmapmd_wc *wc, const struct timespec *now)
{
	/* In a capture of nanoseconds tv_usec has these. */
	const struct pcap_pkthdr header = {
		.ts = { .tv_sec = now->tv_sec, .tv_usec = now->tv_nsec },
		.caplen = wc->byte_len,
		.len = wc->byte_len,
	};

	if (wc->status != RDMAPMD_WC_SUCCESS)
		rte_exit(EXIT_FAILURE, "receive: %s\n", rdmapmd_wc_status_str(wc->status));
	pcap_dump((u_char *)capture.file, &header, capture.buffers + wc->wr_id * BYTES);
}

static uint64_t
capture_frames(uint64_t wanted)
{
	struct rdmapmd_wc wcs[BATCH];
	uint64_t indexes[BATCH], frames = 0;
	struct timespec now;
	uint16_t n, i;

	while (!stopped && (wanted == 0 || frames < wanted)) {
		n = rdmapmd_poll_cq(capture.cq, wcs, BATCH);
		if (n == 0) {
			rte_pause();
			continue;
		}
		clock_gettime(CLOCK_REALTIME, &now);
		for (i = 0; i < n; i++) {
			if (wanted == 0 || frames < wanted) {
				write_frame(&wcs[i], &now);
				frames++;
			}
			indexes[i] = wcs[i].wr_id;
		}
		post_buffers(indexes, n);
	}
	return frames;
}

/* Frames for our addresses that found no buffer. */
static uint64_t
dropped(void)
{
	const char *names[64];
	uint64_t values[64];
	int n = rdmapmd_counters_names(capture.context, names, RTE_DIM(names)), i;

	if (rdmapmd_counters_read(capture.context, PORT, values, RTE_DIM(values)) != n)
		return 0;
	for (i = 0; i < n; i++)
		if (strcmp(names[i], "out_of_buffer") == 0)
			return values[i];
	return 0;
}

static void
stop(int number)
{
	(void)number;
	stopped = 1;
}

int
main(int argc, char **argv)
{
	const char *path;
	uint64_t frames;
	int used;

	signal(SIGINT, stop);
	used = rte_eal_init(argc, argv);
	if (used < 0)
		rte_exit(EXIT_FAILURE, "EAL does not start\n");
	if (argc - used < 2)
		rte_exit(EXIT_FAILURE, "usage: %s [EAL options] -- FILE [FRAMES [ADDRESS...]]\n",
			 argv[0]);
	path = argv[used + 1];
	open_capture(path);
	make_queue_pair();
	/* Buffers first: from RTR on frames come. */
	post_all_buffers();
	attach_addresses(RTE_MAX(argc - used - 3, 0), argv + used + 3);
	modify(RDMAPMD_QPS_RTR, 0);
	printf("receiving; Ctrl-C ends it\n");
	fflush(stdout);

	frames = capture_frames(argc - used > 2 ? strtoull(argv[used + 2], NULL, 10) : 0);
	printf("%" PRIu64 " frames in %s; %" PRIu64 " found no buffer\n", frames, path, dropped());
	close_capture(path);

	TRY(rdmapmd_qp_destroy(capture.qp));
	TRY(rdmapmd_cq_destroy(capture.cq));
	TRY(rdmapmd_mr_dereg(capture.mr));
	rte_free(capture.buffers);
	TRY(rdmapmd_pd_dealloc(capture.pd));
	TRY(rdmapmd_context_close(capture.context));
	return rte_eal_cleanup() == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
