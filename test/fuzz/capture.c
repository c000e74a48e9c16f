/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Fuzz target: the file that wire=pcap receives, through libpcap. Whatever it is, each frame that the file has is
 * received, refused as an error or left alone, none is lost for want of a buffer, and no buffer is overrun.
 *
 *   byte 0    bits 0..4: buffers posted between polls, and one; 5: the vport takes its own address only; 6: nobody is steered to;
 *             7: a reset in the middle
 *   byte 1    bits 0..2: enum wire, what else the wire is given; 3: a frame is sent in each round; 4: which is longer than a
 *             capture's; 5: a round takes 0.7 s; 6: the file is cut short meanwhile
 *   then the file
 */
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "data_path.h"
#include "driver/vport.h"
#include "fuzz_device.h"
#include "softrnic/base/log.h"

#define ROUNDS	80 /* with SENDS of them the end of what is written is in its file */
#define SENDS	8
#define BUFFERS 64 /* receive WQEs, each of */
#define BYTES	2048

/* What is sent goes nowhere, to a file, or to one that takes nothing. The others are refused. */
enum wire {
	WIRE_RECEIVES,
	WIRE_SENDS,
	WIRE_FULL,
	WIRE_ITSELF, /* the same file */
	WIRE_NOWHERE,
	WIRE_FOLDER,
	WIRE_INTERFACE, /* that there is not */
	WIRE_NAMED,
};

struct world {
	struct dp dp;
	struct dp_cq cq, tx_cq;
	struct dp_sq sq;
	struct dp_rq rq;
	uint8_t *buffers;
};

static struct softrnic_poller *poller;
static int written; /* a file in memory */

/* ---- Time ---- */

int __real_clock_gettime(clockid_t clock, struct timespec *time);
int __wrap_clock_gettime(clockid_t clock, struct timespec *time);

#define LATER_NS UINT64_C(700000000)

static uint64_t later_ns; /* than it is */

/* A second is waited for in no time. */
int
__wrap_clock_gettime(clockid_t clock, struct timespec *time)
{
	int rc = __real_clock_gettime(clock, time);
	uint64_t ns = (uint64_t)time->tv_nsec + later_ns;

	time->tv_sec += (time_t)(ns / 1000000000);
	time->tv_nsec = (long)(ns % 1000000000);
	return rc;
}

/* ---- The world of an input ---- */

static char folder_path[] = "/tmp", written_path[32];

static void
wire_set(struct softrnic_conf *conf, enum wire wire)
{
	switch (wire) {
	case WIRE_SENDS: conf->tx_pcap = written_path; break;
	case WIRE_FULL: conf->tx_pcap = "/dev/full"; break;
	case WIRE_ITSELF: conf->tx_pcap = conf->rx_pcap; break;
	case WIRE_NOWHERE: conf->tx_pcap = "/nowhere/at/all"; break;
	case WIRE_FOLDER: conf->rx_pcap = folder_path; break;
	case WIRE_INTERFACE:
		conf->rx_pcap = NULL;
		conf->iface = "fuzz-none";
		break;
	case WIRE_NAMED: conf->wire = "pcap:name"; break;
	default: break;
	}
}

static bool
world_open(struct world *w, const char *path, bool steered, enum wire wire)
{
	struct softrnic_conf conf = { .name = "fuzz0", .seed = 1, .wire = "pcap", .rx_pcap = path };
	struct dp_cq_conf cq = { .log_size = 7, .uar = 1, .ignore_overrun = true };

	memset(w, 0, sizeof(*w));
	wire_set(&conf, wire);
	if (dp_open_quick(&w->dp, poller, &conf) != 0)
		return false;
	must(dp_cq_create(&w->dp, &w->cq, &cq) == 0);
	must(dp_cq_create(&w->dp, &w->tx_cq, &cq) == 0);
	must(dp_sq_create(&w->dp, &w->sq, &w->tx_cq, 6, 1, 0) == 0);
	must(dp_rq_create(&w->dp, &w->rq, &w->cq, 6, 4) == 0);
	must(!steered || dp_steer_all(&w->rq) == 0);
	w->buffers = dp_alloc(&w->dp, BUFFERS * BYTES, 64);
	return true;
}

/* Post so many buffers, if as many are free; look at what came. */
static void
round_of(struct world *w, uint32_t count, uint32_t *taken)
{
	const struct rnic_cqe *cqe;
	uint32_t bytes;

	for (; count > 0 && w->rq.producer - *taken < BUFFERS; count--)
		dp_post(&w->rq, w->buffers + (size_t)(w->rq.producer % BUFFERS) * BYTES, BYTES);
	dp_rq_record(&w->rq);
	softrnic_poll(poller);
	while ((cqe = dp_cq_next(&w->cq)) != NULL) {
		bytes = rnic_be32_to_cpu(cqe->byte_count);
		must(cqe->op_own >> 4 == RNIC_CQE_RESPONDER_SEND);
		must(bytes >= 14 && bytes <= BYTES);
		++*taken;
	}
}

static void
drive(struct world *w, uint8_t how, uint8_t more, int fd)
{
	struct softrnic_stats stats;
	uint32_t i, taken = 0;

	if (how & 0x20)
		must(drv_vport_promisc_set(&w->dp.drv, false) == 0);
	for (i = 0; i < ROUNDS; i++) {
		if ((more & 0x08) && (i < SENDS || i == ROUNDS - 1))
			dp_send(&w->sq, w->buffers, more & 0x10 ? 9000 : 60);
		if (more & 0x20)
			later_ns += LATER_NS;
		if ((more & 0x40) && i == 1)
			must(ftruncate(fd, 40) == 0);
		round_of(w, (how & 0x1f) + 1u, &taken);
		while (dp_cq_next(&w->tx_cq) != NULL)
			continue;
	}
	stats = dp_stats(&w->dp);
	must(stats.rx_no_buffer == 0);
	must(stats.rx_packets >= taken);
	/* From the start again, for nobody yet. */
	if (how & 0x80) {
		must(softrnic_reset(w->dp.dev) == 0);
		softrnic_poll(poller);
		must(dp_stats(&w->dp).rx_packets == 0);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct world w;
	char path[32];
	int fd;

	if (size < 2)
		return 0;
	fd = memfd_create("capture", MFD_CLOEXEC);
	must(fd >= 0);
	must(write(fd, data + 2, size - 2) == (ssize_t)size - 2);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (world_open(&w, path, !(data[0] & 0x40), data[1] & 7))
		drive(&w, data[0], data[1], fd);
	if (w.dp.memory != NULL)
		dp_close(&w.dp);
	close(fd);
	must(ftruncate(written, 0) == 0);
	return 0;
}

/* ---- Seeds ---- */

static void
put_u32(struct fuzz_seed *seed, uint32_t value)
{
	fuzz_put(seed, &value, sizeof(value));
}

static struct fuzz_seed *
seed_begin(uint8_t how, uint8_t more, uint32_t magic, uint32_t snaplen, uint32_t kind)
{
	static struct fuzz_seed seed;

	seed.used = 0;
	fuzz_put_u8(&seed, how);
	fuzz_put_u8(&seed, more);
	put_u32(&seed, magic);
	fuzz_put_u16(&seed, 2);
	fuzz_put_u16(&seed, 4);
	put_u32(&seed, 0);
	put_u32(&seed, 0);
	put_u32(&seed, snaplen);
	put_u32(&seed, kind);
	return &seed;
}

static void
put_frame(struct fuzz_seed *seed, uint32_t seconds, uint32_t fraction, uint32_t captured,
	  uint32_t length)
{
	static uint8_t frame[16384];

	memset(frame, 0x5a, sizeof(frame));
	frame[0] = (uint8_t)length & 1;
	put_u32(seed, seconds);
	put_u32(seed, fraction);
	put_u32(seed, captured);
	put_u32(seed, length);
	fuzz_put(seed, frame, captured);
}

/* A block of pcapng: its type, its length twice, and the bytes between. */
static void
put_block(struct fuzz_seed *seed, uint32_t type, const void *body, uint32_t bytes)
{
	put_u32(seed, type);
	put_u32(seed, bytes + 12);
	fuzz_put(seed, body, bytes);
	put_u32(seed, bytes + 12);
}

static void
seed_pcapng(void)
{
	static const uint32_t section[] = { 0x1a2b3c4d, 1, 0xffffffff, 0xffffffff };
	static const uint32_t ethernet[] = { 1, 65535 }, other[] = { 113, 65535 };
	/* interface, time (two words), captured, length, 60 bytes */
	const uint32_t packet[20] = { 0, 0x60000, 0x1234, 60, 60 };
	const uint32_t of_none[20] = { 7, 0x60000, 0x1234, 60, 60 };
	static struct fuzz_seed seed;

	fuzz_put_u8(&seed, 0x0f);
	fuzz_put_u8(&seed, 0);
	put_block(&seed, 0x0a0d0d0a, section, sizeof(section));
	put_block(&seed, 1, ethernet, sizeof(ethernet));
	put_block(&seed, 6, packet, sizeof(packet));
	put_block(&seed, 6, packet, sizeof(packet));
	fuzz_seed_write(&seed, "pcapng");
	/* Another interface, of another kind, and a packet of none. */
	put_block(&seed, 1, other, sizeof(other));
	put_block(&seed, 6, of_none, sizeof(of_none));
	fuzz_seed_write(&seed, "pcapng_mixed");
}

static void
seed_pcap(void)
{
	static const uint32_t magics[] = { 0xa1b23c4d, 0xa1b2c3d4, 0x4d3cb2a1, 0xa1b2cd34 };
	static const uint32_t lengths[] = { 0, 13, 14, 60, 1514, 1518, 1519, 9018, 16000 };
	struct fuzz_seed *seed;
	uint32_t i;

	for (i = 0; i < 4; i++) {
		seed = seed_begin((uint8_t)(i << 5), 0, magics[i], 65535, 1);
		put_frame(seed, 5, 999999999, 60, 60);
		put_frame(seed, 5, 1, 60, 60);
		put_frame(seed, 0, UINT32_MAX, 60, 1500);
		put_frame(seed, UINT32_MAX, 0, 100, 60);
		fuzz_seed_write(seed, "times_%u", i);
	}
	seed = seed_begin(0x83, 0, magics[0], 65535, 1);
	for (i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++)
		put_frame(seed, i, i, lengths[i], lengths[i]);
	fuzz_seed_write(seed, "lengths");
	/* Breaks off within the last one. */
	seed->used -= 100;
	fuzz_seed_write(seed, "cut");
	seed = seed_begin(0, 0, magics[0], 20, 1);
	put_frame(seed, 0, 0, 20, 60);
	put_frame(seed, 0, 0, 60, 60);
	fuzz_seed_write(seed, "beyond_snaplen");
	fuzz_seed_write(seed_begin(0, 0, magics[0], 65535, 113), "no_ethernet");
	/* A frame check sequence of 4 bytes is said to be there. */
	seed = seed_begin(0, 0, magics[0], 65535, 1u | 1u << 26 | 4u << 28);
	put_frame(seed, 0, 0, 64, 64);
	fuzz_seed_write(seed, "with_fcs");
	/* Each wire, with frames to send, and a second for each round. */
	for (i = 0; i < 8; i++) {
		for (uint32_t j = 0; j < 8; j++) {
			seed = seed_begin((uint8_t)(j & 1 ? 0xc0 : 0x03),
					  (uint8_t)(i | j << 3 | (j == 7) << 6), magics[0], 65535,
					  1);
			put_frame(seed, 1, 0, 60, 60);
			put_frame(seed, 1, 1, 60, 60);
			fuzz_seed_write(seed, "wire_%u_%u", i, j);
		}
	}
}

void
fuzz_seeds_write(void)
{
	seed_pcap();
	seed_pcapng();
}

void
fuzz_begin(void)
{
	fuzz_device_quiet();
	must(softrnic_poller_create(&poller) == 0);
	written = memfd_create("written", MFD_CLOEXEC);
	must(written >= 0);
	snprintf(written_path, sizeof(written_path), "/proc/self/fd/%d", written);
}
