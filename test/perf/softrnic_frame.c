/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What a frame takes of the device, in instructions, which are the same on a busy machine:
 *
 *	valgrind --tool=callgrind --toggle-collect=softrnic_poll build/test/perf/softrnic_frame [WIRE [FRAMES [POLLS]]]
 *
 * A driver made by hand sends so many frames of 64 bytes, a WQE each, has the device polled once, and takes what came back;
 * WIRE is loop, or pair. Only the polls are counted: "Collected" by POLLS is what one takes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data_path.h"

#define FRAME_BYTES 64
#define LOG_SIZE    9
#define FRAMES_MAX  64

struct side {
	struct dp dp;
	struct dp_cq tx_cq, rx_cq;
	struct dp_sq sq;
	struct dp_rq rq;
	uint8_t *frame, *buffers;
};

static void
die(const char *what, int status)
{
	fprintf(stderr, "%s: status %d\n", what, status);
	exit(1);
}

static void
side_open(struct side *side, struct softrnic_poller *poller, const char *name, const char *wire)
{
	const struct softrnic_conf conf = { .name = name, .wire = wire, .seed = 1 };
	const struct dp_cq_conf cq = { .log_size = LOG_SIZE, .uar = 1 };
	int status = dp_open_quick(&side->dp, poller, &conf);

	if (status == 0)
		status = dp_cq_create(&side->dp, &side->tx_cq, &cq);
	if (status == 0)
		status = dp_cq_create(&side->dp, &side->rx_cq, &cq);
	if (status == 0)
		status = dp_sq_create(&side->dp, &side->sq, &side->tx_cq, LOG_SIZE, 1, 0);
	if (status == 0)
		status = dp_rq_create(&side->dp, &side->rq, &side->rx_cq, LOG_SIZE, 4);
	if (status == 0)
		status = dp_steer_all(&side->rq);
	if (status != 0)
		die(name, status);
	side->frame = dp_alloc(&side->dp, 2048, 2048);
	side->buffers = dp_alloc(&side->dp, (size_t)FRAMES_MAX * 2048, 2048);
	memcpy(side->frame, "\x02\x00\x00\x00\x00\x02\x02\x00\x00\x00\x00\x01\x88\xb5", 14);
}

/* One poll with so many frames; false: they did not all arrive. */
static bool
step(struct side *from, struct side *to, struct softrnic_poller *poller, uint32_t frames)
{
	uint32_t i, sent = 0, received = 0;

	for (i = 0; i < frames; i++)
		dp_post(&to->rq, to->buffers + (size_t)i * 2048, 2048);
	dp_rq_record(&to->rq);
	for (i = 0; i < frames; i++) {
		dp_wqe(&from->sq, RNIC_WQE_SEND, 3, RNIC_WQE_CE_ALWAYS);
		dp_wqe_data(&from->sq, 2, from->frame, FRAME_BYTES);
	}
	dp_sq_ring(&from->sq);
	softrnic_poll(poller);
	while (dp_cq_next(&from->tx_cq) != NULL)
		sent++;
	while (dp_cq_next(&to->rx_cq) != NULL)
		received++;
	return sent == frames && received == frames;
}

int
main(int argc, char **argv)
{
	static struct side sides[2];
	const char *wire = argc > 1 ? argv[1] : "loop";
	const uint32_t frames = argc > 2 ? (uint32_t)atoi(argv[2]) : 1;
	const int polls = argc > 3 ? atoi(argv[3]) : 10000;
	const bool pair = strcmp(wire, "pair") == 0;
	struct softrnic_poller *poller;
	int ret, late = 0;

	if (frames == 0 || frames > FRAMES_MAX || polls <= 0) {
		fprintf(stderr, "usage: %s [loop|pair [FRAMES [POLLS]]]\n", argv[0]);
		return 2;
	}
	ret = softrnic_poller_create(&poller);
	if (ret != 0)
		die("poller", ret);
	side_open(&sides[0], poller, "one", pair ? "pair:frame" : "loop");
	if (pair)
		side_open(&sides[1], poller, "two", "pair:frame");
	for (int i = 0; i < polls; i++)
		late += !step(&sides[0], &sides[pair], poller, frames);
	printf("%s: %d polls with %u frames each, %d of them not at once\n", wire, polls, frames,
	       late);
	dp_close(&sides[0].dp);
	if (pair)
		dp_close(&sides[1].dp);
	softrnic_poller_destroy(poller);
	/* The first doorbell may be seen late. */
	return late > 1;
}
