/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Frames of one length, as many as there are buffers for, so that none is lost; what is sent has arrived, as on a null wire. To
 * measure receivers alone. Each is a datagram of IPv4 from and to the addresses that RFC 2544 keeps for that, from port 9 to port 9,
 * as testpmd's txonly sends them.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_branch_prediction.h>
#include <rte_byteorder.h>
#include <rte_common.h>

#include "softrnic/base/clock.h"
#include "softrnic/base/log.h"
#include "softrnic/base/work.h"
#include "softrnic/port/port.h"
#include "softrnic/receive/burst.h"
#include "softrnic/receive/receive.h"
#include "softrnic/wire/source.h"

#define SOURCE_BYTES_MIN 60u /* the shortest that Ethernet has, without FCS */
#define SOURCE_BURSTS	 4   /* in a poll */
#define SOURCE_IP	 14
#define SOURCE_UDP	 34
#define SOURCE_PORT	 9

struct source {
	struct softrnic_burst_frame frames[SOFTRNIC_BURST]; /* the same one */
	uint32_t length;
	uint8_t bytes[];
};

static void
source_put(uint8_t *at, uint32_t value)
{
	at[0] = (uint8_t)(value >> 8);
	at[1] = (uint8_t)value;
}

/* Of the header of IP, whose own is 0 still. */
static uint16_t
source_checksum(const uint8_t *header)
{
	uint32_t sum = 0;

	for (unsigned int i = 0; i < SOURCE_UDP - SOURCE_IP; i += 2)
		sum += (uint32_t)header[i] << 8 | header[i + 1];
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t) ~((sum & 0xffff) + (sum >> 16));
}

static void
source_write(struct source *source, const uint8_t *mac)
{
	static const uint8_t from[6] = { 0x02, 0, 0, 0, 0, 0x01 };
	static const uint8_t addresses[8] = { 198, 18, 0, 1, 198, 18, 0, 2 };
	uint8_t *bytes = source->bytes, *ip = bytes + SOURCE_IP, *udp = bytes + SOURCE_UDP;

	memcpy(bytes, mac, 6);
	memcpy(bytes + 6, from, 6);
	source_put(bytes + 12, 0x0800);
	ip[0] = 0x45;
	source_put(ip + 2, source->length - SOURCE_IP);
	ip[8] = 64;
	ip[9] = 17;
	memcpy(ip + 12, addresses, sizeof(addresses));
	source_put(ip + 10, source_checksum(ip));
	source_put(udp, SOURCE_PORT);
	source_put(udp + 2, SOURCE_PORT);
	source_put(udp + 4, source->length - SOURCE_UDP);
}

static int
source_open(struct softrnic *dev, const char *arg)
{
	char *end = NULL;
	unsigned long length =
		arg != NULL && arg[0] >= '0' && arg[0] <= '9' ? strtoul(arg, &end, 10) : 0;
	struct source *source;

	if (end == NULL || *end != '\0' || length < SOURCE_BYTES_MIN ||
	    length > softrnic_eth_frame_limit(dev)) {
		SOFTRNIC_LOG(ERR, dev,
			     "wire \"source\" needs the length of its frames without FCS, %u to %u "
			     "bytes: source:BYTES",
			     SOURCE_BYTES_MIN, softrnic_eth_frame_limit(dev));
		return -EINVAL;
	}
	source = calloc(1, sizeof(*source) + length);
	if (source == NULL)
		return -ENOMEM;
	source->length = (uint32_t)length;
	source_write(source, dev->conf.mac);
	for (unsigned int i = 0; i < SOFTRNIC_BURST; i++)
		source->frames[i] = (struct softrnic_burst_frame){
			.bytes = source->bytes,
			.length = source->length,
			.class = SOFTRNIC_ETH_UNICAST,
		};
	dev->wire_data = source;
	return 0;
}

static void
source_close(struct softrnic *dev)
{
	free(dev->wire_data);
	dev->wire_data = NULL;
}

/* One that does not go with others, if there is room for it. */
static bool
source_offer(struct softrnic *dev, const struct source *source)
{
	struct softrnic_frame frame;

	softrnic_burst_alone(source->frames, &frame);
	if (softrnic_eth_room(dev, &frame) != SOFTRNIC_ETH_ROOM)
		return false;
	softrnic_eth_receive(dev, &frame);
	return true;
}

static unsigned int
source_poll(struct softrnic *dev)
{
	const struct source *source = dev->wire_data;
	unsigned int done = 0, together;
	uint64_t now;

	if (!dev->port.link_up || dev->ready_rqs == 0 ||
	    source->length > softrnic_eth_frame_max(dev))
		return 0;
	now = softrnic_now_ns();
	dev->now = now - dev->power_on_ns;
	softrnic_share_set_end(dev, now + SOFTRNIC_SHARE_NS);
	for (unsigned int i = 0; i < SOURCE_BURSTS && !softrnic_share_is_over(dev); i++) {
		together = softrnic_eth_receive_burst(dev, source->frames, SOFTRNIC_BURST);
		if (together == 0 && !source_offer(dev, source))
			break;
		together += together == 0;
		softrnic_spend(dev, together);
		done += together;
	}
	return done;
}

static bool
source_is_up(const struct softrnic *dev)
{
	(void)dev;
	return true;
}

const struct softrnic_wire_ops softrnic_wire_source = {
	.name = "source",
	.sink = true,
	.open = source_open,
	.close = source_close,
	.poll = source_poll,
	.is_up = source_is_up,
};
