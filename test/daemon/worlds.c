/* SPDX-License-Identifier: BSD-3-Clause */

#include "harness.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "worlds.h"

#define TEXT_BYTES	192
#define FRAME_BYTES	1514
#define FRAMES_OF_PORT	32 /* again and again */
#define FRAMES_OF_FILE	20000
#define CAPTURE_MAGIC	0xa1b2c3d4
#define CAPTURE_SNAPLEN 65535
#define CAPTURE_KIND	1 /* Ethernet */

static char capture[64]; /* the file, or nothing */

static void
put(FILE *file, const void *bytes, size_t length)
{
	assert_int_equal(fwrite(bytes, 1, length, file), length);
}

/* A file of broadcasts, in the format of libpcap. */
static void
make_capture(unsigned int frames)
{
	const struct {
		uint32_t magic;
		uint16_t major, minor;
		uint32_t zone, accuracy, snaplen, kind;
	} head = { CAPTURE_MAGIC, 2, 4, 0, 0, CAPTURE_SNAPLEN, CAPTURE_KIND };
	const uint32_t record[4] = { 0, 0, FRAME_BYTES, FRAME_BYTES };
	uint8_t frame[FRAME_BYTES] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02,
				       0,    0,	   0,	 0,    1,    0x88, 0xb5 };
	FILE *file;
	int fd;

	snprintf(capture, sizeof(capture), "/tmp/softrnicd-flood-XXXXXX");
	fd = mkstemp(capture);
	file = fdopen(fd, "w");
	assert_non_null(file);
	put(file, &head, sizeof(head));
	for (unsigned int i = 0; i < frames; i++) {
		put(file, record, sizeof(record));
		put(file, frame, sizeof(frame));
	}
	assert_int_equal(fclose(file), 0);
}

static void
describe(enum world world, unsigned int i, char *text)
{
	const unsigned int pair = (i + 1) % DAEMON_DEVICES / 2;

	if (world == WORLD_PAIRS)
		snprintf(text, TEXT_BYTES, "name=%u,wire=pair:%u", i, pair);
	else if (world == WORLD_PORTS && i < NEIGHBOURS)
		snprintf(text, TEXT_BYTES, "name=%u,wire=port:net_pcap%u", i, i);
	else if (world == WORLD_CAPTURES && i < NEIGHBOURS)
		snprintf(text, TEXT_BYTES, "name=%u,wire=pcap,rx_pcap=%s", i, capture);
	else
		snprintf(text, TEXT_BYTES, "name=%u", i);
}

void
world_start(struct daemon *d, enum world world)
{
	static char texts[DAEMON_DEVICES][TEXT_BYTES], vdevs[NEIGHBOURS][TEXT_BYTES];
	static const char *eal[NEIGHBOURS + 6] = { "--", "--no-huge", "--no-pci", "-m", "512" };
	const char *devices[DAEMON_DEVICES + 1] = { NULL };

	if (world == WORLD_PORTS || world == WORLD_CAPTURES)
		make_capture(world == WORLD_PORTS ? FRAMES_OF_PORT : FRAMES_OF_FILE);
	for (unsigned int i = 0; i < DAEMON_DEVICES; i++) {
		describe(world, i, texts[i]);
		devices[i] = texts[i];
	}
	for (unsigned int i = 0; i < NEIGHBOURS && world == WORLD_PORTS; i++) {
		snprintf(vdevs[i], sizeof(vdevs[i]), "--vdev=net_pcap%u,rx_pcap=%s,infinite_rx=1",
			 i, capture);
		eal[5 + i] = vdevs[i];
	}
	daemon_more = world == WORLD_PORTS ? eal : NULL;
	daemon_start(d, devices);
	daemon_more = NULL;
}

void
world_stop(struct daemon *d)
{
	daemon_stop(d);
	daemon_clean(d);
	if (capture[0] != '\0')
		unlink(capture);
	capture[0] = '\0';
}
