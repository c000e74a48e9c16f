/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Captures, by libpcap. A file is received as fast as there are receive buffers: it waits for them, so that no frame is
 * lost, and at its end the link goes down. What is sent goes to another file, with nanoseconds. Or both go by a network
 * interface of the host.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include <pcap/pcap.h>

#include "softrnic/base/clock.h"
#include "softrnic/base/log.h"
#include "softrnic/base/work.h"
#include "softrnic/receive/receive.h"
#include "softrnic/wire/link.h"
#include "softrnic/wire/pcap.h"

#define CAPTURE_BUDGET	    64 /* frames received in a poll */
#define CAPTURE_SNAPLEN	    65535
#define CAPTURE_FILE_BUFFER (1u << 18)
#define CAPTURE_QUIET_POLLS 64 /* without a frame sent: then the file is brought up to date */
#define NS_PER_SECOND	    UINT64_C(1000000000)

/*
 * A frame that no queue wants, or only one that does not receive, waits so long from the moment when a queue receives: applications set addresses and
 * promiscuous mode behind the start of their queues.
 */
#define CAPTURE_PATIENCE_NS (3 * NS_PER_SECOND)
/*
 * From the last frame of a file, received or sent, to the end of the link: who forwards it may have no CPU for a while. Who
 * has something to send of its own all the time does not hold it up beyond the other one, which is from the last received.
 */
#define CAPTURE_LINGER_NS     NS_PER_SECOND
#define CAPTURE_LINGER_MAX_NS (5 * NS_PER_SECOND)

struct capture {
	/* What is received: a file or the interface; NULL: nothing. ns_per_tick: the unit of its fractions of seconds */
	pcap_t *rx;
	bool live;
	uint32_t ns_per_tick;
	long rx_start; /* of the first frame in the file; < 0: not known */
	/* The frame that comes next, in libpcap's memory until the next one is read. */
	struct pcap_pkthdr *header;
	const u_char *data;
	bool held, at_end, ended;
	uint64_t frames, cut;
	uint64_t epoch; /* what makes times of the capture times of the device (mod 2^64) */
	bool has_epoch;
	uint64_t patience_end; /* 0: no queue receives */
	uint64_t last;	       /* when a frame went either way */
	uint64_t received;     /* when the last one was */

	/* Where sent frames go: a file, the interface, or nowhere */
	pcap_t *tx_kind;
	pcap_dumper_t *tx;
	bool unflushed;
	uint32_t quiet;

	uint8_t room[SOFTRNIC_FRAME_BYTES_MAX];
	char tx_room[CAPTURE_FILE_BUFFER]; /* of the file's stream, until that is closed */
};

/* ---- Open ---- */

/* A pipe would have the device wait for its other end. */
static int
capture_check_file(struct softrnic *dev, const char *path, struct stat *st, bool must_exist)
{
	int rc;

	if (stat(path, st) != 0) {
		rc = -errno;
		if (rc == -ENOENT && !must_exist)
			return 0;
		SOFTRNIC_LOG(ERR, dev, "%s: %s", path, strerror(-rc));
		return rc;
	}
	if (S_ISREG(st->st_mode) || (S_ISCHR(st->st_mode) && !must_exist))
		return 0;
	SOFTRNIC_LOG(ERR, dev, "%s: not a regular file", path);
	return -EINVAL;
}

static int
capture_check_kind(struct softrnic *dev, pcap_t *pcap, const char *where)
{
	int kind = pcap_datalink(pcap);
	const char *name = pcap_datalink_val_to_name(kind);

	if (kind == DLT_EN10MB)
		return 0;
	SOFTRNIC_LOG(ERR, dev, "%s has frames of type %s (%d): expected Ethernet (EN10MB)", where,
		     name != NULL ? name : "unknown", kind);
	return -EINVAL;
}

static int
capture_open_rx(struct softrnic *dev, struct capture *capture, const char *path, struct stat *st)
{
	char error[PCAP_ERRBUF_SIZE] = "";
	FILE *file;
	int rc;

	rc = capture_check_file(dev, path, st, true);
	if (rc != 0)
		return rc;
	file = fopen(path, "re");
	if (file == NULL) {
		rc = -errno;
		SOFTRNIC_LOG(ERR, dev, "cannot read %s: %s", path, strerror(-rc));
		return rc;
	}
	capture->rx =
		pcap_fopen_offline_with_tstamp_precision(file, PCAP_TSTAMP_PRECISION_NANO, error);
	if (capture->rx == NULL) {
		SOFTRNIC_LOG(ERR, dev, "libpcap cannot read %s: %s", path, error);
		fclose(file);
		return -EINVAL;
	}
	capture->ns_per_tick = 1;
	capture->rx_start = ftell(file);
	return capture_check_kind(dev, capture->rx, path);
}

static int
capture_open_tx(struct softrnic *dev, struct capture *capture, const char *path,
		const struct stat *rx)
{
	struct stat st = { 0 };
	FILE *file;
	int rc;

	rc = capture_check_file(dev, path, &st, false);
	if (rc != 0)
		return rc;
	if (capture->rx != NULL && st.st_dev == rx->st_dev && st.st_ino == rx->st_ino) {
		SOFTRNIC_LOG(ERR, dev, "%s cannot be read and written at once", path);
		return -EINVAL;
	}
	file = fopen(path, "we");
	if (file == NULL) {
		rc = -errno;
		SOFTRNIC_LOG(ERR, dev, "cannot write %s: %s", path, strerror(-rc));
		return rc;
	}
	/* glibc takes a size only together with a buffer. */
	setvbuf(file, capture->tx_room, _IOFBF, sizeof(capture->tx_room));
	capture->tx_kind = pcap_open_dead_with_tstamp_precision(DLT_EN10MB, CAPTURE_SNAPLEN,
								PCAP_TSTAMP_PRECISION_NANO);
	capture->tx = capture->tx_kind != NULL ? pcap_dump_fopen(capture->tx_kind, file) : NULL;
	if (capture->tx == NULL) {
		SOFTRNIC_LOG(ERR, dev, "cannot write %s: %s", path,
			     capture->tx_kind != NULL ? pcap_geterr(capture->tx_kind)
						      : "out of memory");
		fclose(file);
		return -EIO;
	}
	capture->unflushed = true;
	return 0;
}

/* Frames come as they arrive, and only those of others. */
static int
capture_open_live(struct softrnic *dev, struct capture *capture, const char *iface)
{
	char error[PCAP_ERRBUF_SIZE] = "";
	int rc;

	capture->rx = pcap_create(iface, error);
	if (capture->rx == NULL) {
		SOFTRNIC_LOG(ERR, dev, "interface %s: %s", iface, error);
		return -EINVAL;
	}
	capture->live = true;
	pcap_set_snaplen(capture->rx, CAPTURE_SNAPLEN);
	pcap_set_promisc(capture->rx, 1);
	pcap_set_immediate_mode(capture->rx, 1);
	/* Where the host cannot, microseconds will do. */
	(void)pcap_set_tstamp_precision(capture->rx, PCAP_TSTAMP_PRECISION_NANO);
	rc = pcap_activate(capture->rx);
	if (rc < 0) {
		SOFTRNIC_LOG(ERR, dev,
			     "interface %s: %s (%s); captures need CAP_NET_RAW and an interface "
			     "that exists and is up",
			     iface, pcap_statustostr(rc), pcap_geterr(capture->rx));
		return rc == PCAP_ERROR_PERM_DENIED ? -EPERM : -ENODEV;
	}
	capture->ns_per_tick =
		pcap_get_tstamp_precision(capture->rx) == PCAP_TSTAMP_PRECISION_NANO ? 1 : 1000;
	if (pcap_setnonblock(capture->rx, 1, error) != 0 ||
	    pcap_setdirection(capture->rx, PCAP_D_IN) != 0) {
		SOFTRNIC_LOG(ERR, dev, "interface %s: %s%s", iface, error,
			     pcap_geterr(capture->rx));
		return -ENOTSUP;
	}
	return capture_check_kind(dev, capture->rx, iface);
}

static int
capture_open(struct softrnic *dev, struct capture *capture)
{
	const struct softrnic_conf *conf = &dev->conf;
	struct stat st = { 0 };
	int rc = 0;

	if (conf->iface != NULL)
		return capture_open_live(dev, capture, conf->iface);
	if (conf->rx_pcap != NULL)
		rc = capture_open_rx(dev, capture, conf->rx_pcap, &st);
	if (rc == 0 && conf->tx_pcap != NULL)
		rc = capture_open_tx(dev, capture, conf->tx_pcap, &st);
	return rc;
}

static void
capture_release(struct softrnic *dev)
{
	struct capture *capture = dev->wire_data;

	if (capture->tx != NULL) {
		if (!dev->wire_full && pcap_dump_flush(capture->tx) != 0)
			SOFTRNIC_LOG(ERR, dev,
				     "the last frames sent are missing from the capture: %s",
				     strerror(errno));
		pcap_dump_close(capture->tx);
	}
	if (capture->tx_kind != NULL)
		pcap_close(capture->tx_kind);
	if (capture->rx != NULL)
		pcap_close(capture->rx);
	free(capture);
	dev->wire_data = NULL;
}

static int
capture_prepare(struct softrnic *dev, const char *arg)
{
	const struct softrnic_conf *conf = &dev->conf;
	bool files = conf->rx_pcap != NULL || conf->tx_pcap != NULL;
	struct capture *capture;
	int rc;

	if (arg != NULL || files == (conf->iface != NULL)) {
		SOFTRNIC_LOG(ERR, dev,
			     "wire \"pcap\" takes no \":\": set rx_pcap, tx_pcap or both, or iface "
			     "alone");
		return -EINVAL;
	}
	capture = calloc(1, sizeof(*capture));
	if (capture == NULL)
		return -ENOMEM;
	dev->wire_data = capture;
	rc = capture_open(dev, capture);
	if (rc != 0)
		capture_release(dev);
	return rc;
}

/* ---- Receive ---- */

static void
capture_end(struct softrnic *dev, struct capture *capture, const char *why)
{
	if (why != NULL)
		SOFTRNIC_LOG(ERR, dev, "the capture ends behind frame %" PRIu64 ": %s",
			     capture->frames, why);
	capture->at_end = true;
}

/* Is there a frame? Then it is held. */
static bool
capture_fetch(struct softrnic *dev, struct capture *capture)
{
	int rc;

	if (capture->held || capture->at_end)
		return capture->held;
	rc = pcap_next_ex(capture->rx, &capture->header, &capture->data);
	if (rc == 1) {
		capture->held = true;
		capture->frames++;
	} else if (rc == PCAP_ERROR_BREAK) {
		capture_end(dev, capture, NULL);
	} else if (rc < 0) {
		capture_end(dev, capture, pcap_geterr(capture->rx));
	}
	return capture->held;
}

/* A frame that is not there as a whole is damaged. */
static bool
capture_is_whole(struct softrnic *dev, struct capture *capture)
{
	if (capture->header->caplen == capture->header->len)
		return true;
	if (capture->cut++ == 0)
		SOFTRNIC_LOG(WARNING, dev,
			     "frame %" PRIu64 " was cut to %u of %u bytes when it was captured: "
			     "such frames are counted as receive errors",
			     capture->frames, capture->header->caplen, capture->header->len);
	dev->port.counters.rx_errors++;
	dev->stats.rx_errors++;
	return false;
}

/* Does a frame that no queue wants wait? Not one of an interface, where frames for others never end. */
static bool
capture_has_patience(struct softrnic *dev, struct capture *capture)
{
	if (capture->live)
		return false;
	/* Nobody receives yet. */
	if (dev->ready_rqs == 0 && dev->open_qps == 0) {
		capture->patience_end = 0;
		return true;
	}
	if (capture->patience_end == 0)
		capture->patience_end = dev->now + CAPTURE_PATIENCE_NS;
	return dev->now < capture->patience_end;
}

/* Hand over the frame that is held; false: it has to wait. */
static bool
capture_offer(struct softrnic *dev, struct capture *capture)
{
	const struct pcap_pkthdr *header = capture->header;
	struct softrnic_frame frame;
	uint64_t time;

	if (capture_is_whole(dev, capture)) {
		frame.length = header->caplen;
		frame.count = 1;
		frame.l4_summed = false;
		frame.pieces[0].iov_base = (void *)(uintptr_t)capture->data;
		frame.pieces[0].iov_len = header->caplen;
		switch (softrnic_eth_room(dev, &frame)) {
		case SOFTRNIC_ETH_FULL: return false;
		case SOFTRNIC_ETH_NOBODY:
			if (capture_has_patience(dev, capture))
				return false;
			break;
		case SOFTRNIC_ETH_ROOM: break;
		}
		time = (uint64_t)header->ts.tv_sec * NS_PER_SECOND +
		       (uint64_t)header->ts.tv_usec * capture->ns_per_tick;
		if (!capture->has_epoch)
			capture->epoch = dev->now - time;
		capture->has_epoch = true;
		/* The first one comes now, the others as far behind it as in the capture. */
		dev->rx_ahead = capture->epoch + time - dev->now;
		softrnic_eth_receive(dev, &frame);
		dev->rx_ahead = 0;
	}
	capture->held = false;
	capture->last = capture->received = dev->now;
	return true;
}

/* All of the file is received; what it led to may still be on its way out. */
static void
capture_linger(struct softrnic *dev, struct capture *capture)
{
	if (dev->now - capture->last < CAPTURE_LINGER_NS &&
	    dev->now - capture->received < CAPTURE_LINGER_MAX_NS)
		return;
	capture->ended = true;
	SOFTRNIC_LOG(INFO, dev, "end of the capture: %" PRIu64 " frames", capture->frames);
	softrnic_wire_changed(dev);
}

static unsigned int
capture_receive(struct softrnic *dev, struct capture *capture)
{
	unsigned int done = 0;
	uint64_t now;

	if (!dev->port.link_up || (!capture_fetch(dev, capture) && !capture->at_end))
		return 0;
	now = softrnic_now_ns();
	dev->now = now - dev->power_on_ns;
	softrnic_share_set_end(dev, now + SOFTRNIC_SHARE_NS);
	if (capture->received == 0)
		capture->last = capture->received = dev->now;
	while (done < CAPTURE_BUDGET && !softrnic_share_is_over(dev) &&
	       capture_fetch(dev, capture) && capture_offer(dev, capture))
		done++;
	if (capture->at_end && !capture->held)
		capture_linger(dev, capture);
	return done;
}

/* ---- Send ---- */

static void
capture_write_failed(struct softrnic *dev)
{
	SOFTRNIC_LOG(ERR, dev,
		     "cannot write sent frames to the capture: %s; from here on they count as "
		     "transmit errors",
		     strerror(errno));
	dev->wire_full = true;
}

/* The copy is ours: it stays as it is, whatever becomes of the sender's memory. */
void
softrnic_wire_pcap_send(struct softrnic *dev, const struct softrnic_frame *frame)
{
	struct capture *capture = dev->wire_data;
	struct pcap_pkthdr header = { .caplen = frame->length, .len = frame->length };
	struct timespec now;

	capture->last = dev->now;
	if (capture->tx == NULL && !capture->live) {
		dev->stats.wire_no_peer++;
		return;
	}
	if (dev->wire_full || frame->length > sizeof(capture->room)) {
		dev->stats.wire_dropped++;
		return;
	}
	softrnic_frame_gather(frame, capture->room, frame->length);
	if (capture->live) {
		if (pcap_inject(capture->rx, capture->room, frame->length) < 0)
			dev->stats.wire_dropped++;
		return;
	}
	clock_gettime(CLOCK_REALTIME, &now);
	header.ts.tv_sec = now.tv_sec;
	header.ts.tv_usec = now.tv_nsec;
	pcap_dump((u_char *)capture->tx, &header, capture->room);
	capture->unflushed = true;
	capture->quiet = 0;
	if (ferror(pcap_dump_file(capture->tx)))
		capture_write_failed(dev);
}

static void
capture_flush(struct softrnic *dev, struct capture *capture)
{
	if (dev->wire_full || !capture->unflushed || ++capture->quiet < CAPTURE_QUIET_POLLS)
		return;
	capture->unflushed = false;
	if (pcap_dump_flush(capture->tx) != 0)
		capture_write_failed(dev);
}

/* ---- The wire ---- */

static unsigned int
capture_poll(struct softrnic *dev)
{
	struct capture *capture = dev->wire_data;

	if (capture->tx != NULL)
		capture_flush(dev, capture);
	return capture->rx != NULL && !capture->ended ? capture_receive(dev, capture) : 0;
}

static bool
capture_is_up(const struct softrnic *dev)
{
	const struct capture *capture = dev->wire_data;

	return !capture->ended;
}

/* The next driver finds the file at its start. */
static void
capture_reset(struct softrnic *dev)
{
	struct capture *capture = dev->wire_data;

	if (capture->rx == NULL || capture->live || capture->rx_start < 0 ||
	    (capture->frames == 0 && !capture->at_end))
		return;
	if (fseek(pcap_file(capture->rx), capture->rx_start, SEEK_SET) != 0) {
		SOFTRNIC_LOG(ERR, dev, "cannot go back to the start of the capture: %s",
			     strerror(errno));
		return;
	}
	capture->held = capture->at_end = capture->ended = capture->has_epoch = false;
	capture->frames = capture->cut = capture->patience_end = 0;
	capture->last = capture->received = 0;
}

const struct softrnic_wire_ops softrnic_wire_pcap = {
	.name = "pcap",
	.prepare = capture_prepare,
	.release = capture_release,
	.poll = capture_poll,
	.is_up = capture_is_up,
	.reset = capture_reset,
};
