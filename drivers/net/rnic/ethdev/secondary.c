/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The port in secondary processes (dpdk-proc-info, dpdk-dumpcap): they look at it, and may reset its statistics; ethdev answers
 * -ENOTSUP for all else. What they see is what the primary process answers when it is asked, by EAL's messages: it alone has
 * the device, and its queues may go while others look. An answer comes in a memory file, as a message has room for 256 bytes.
 *
 * Nothing here follows a pointer into the primary's memory, nor does the primary into that of those who ask: a process that
 * is killed at any time leaves the others whole.
 */

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <rte_errno.h>
#include <rte_version.h>

#include "base/log.h"
#include "ethdev/info.h"
#include "ethdev/port.h"
#include "ethdev/regs.h"
#include "ethdev/rss.h"
#include "ethdev/rx_offload.h"
#include "ethdev/rxq.h"
#include "ethdev/secondary.h"
#include "ethdev/stats.h"
#include "ethdev/txq.h"
#include "ethdev/xstats.h"

#define ACTION		 "net_rnic"
#define XSTATS_MAX	 256
#define FW_VERSION_BYTES 64
/* A device that does not answer makes the primary wait, too; its commands have a time-out of their own. */
#define ANSWER_SECONDS 10

/* Indexes of `questions`. */
enum question {
	ASK_INFO,
	ASK_FW_VERSION,
	ASK_RXQ_INFO,
	ASK_TXQ_INFO,
	ASK_STATS,
	ASK_XSTATS_NAMES,
	ASK_XSTATS,
	ASK_RSS,
	ASK_REGS,
	DO_STATS_RESET,
	DO_XSTATS_RESET,
};

/* Both in a message's 256 bytes. */
struct request {
	uint32_t question;
	uint32_t queue;
	char name[RTE_ETH_NAME_MAX_LEN]; /* numbers of ports are given anew */
};

struct reply {
	int32_t rc;	/* 0 or the number of entries, or -errno */
	uint32_t bytes; /* of the file that comes with it; 0: none */
};

/* ---- The primary process ---- */

/* The ports that can be asked about, and the lock against their end. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
	struct rte_eth_dev *eth_dev; /* NULL: there is none */
	bool hidden;
} ports[RTE_MAX_ETHPORTS];
static unsigned int port_count;
static bool listening;

static struct rte_eth_dev *
find_port(const char *name)
{
	unsigned int i;

	for (i = 0; i < RTE_MAX_ETHPORTS; i++)
		if (ports[i].eth_dev != NULL && !ports[i].hidden &&
		    strcmp(ports[i].eth_dev->data->name, name) == 0)
			return ports[i].eth_dev;
	return NULL;
}

struct asked {
	struct rte_eth_dev *eth_dev;
	uint32_t question, queue;
	void *answer; /* zeroed, with room for what the question's row has */
};

static int
answer_info(const struct asked *asked)
{
	return rnic_info_get(asked->eth_dev, asked->answer);
}

static int
answer_fw_version(const struct asked *asked)
{
	return rnic_info_fw_version(asked->eth_dev, asked->answer, FW_VERSION_BYTES);
}

/* Queues come and go under the lock of the statistics. */
static int
answer_queue_info(const struct asked *asked)
{
	const struct rte_eth_dev_data *data = asked->eth_dev->data;
	const bool rx = asked->question == ASK_RXQ_INFO;
	const uint32_t count = rx ? data->nb_rx_queues : data->nb_tx_queues;
	struct rnic_ethdev *port = rnic_ethdev_get(asked->eth_dev);
	int rc = 0;

	rnic_stats_lock(port);
	if (asked->queue >= count || (rx ? data->rx_queues : data->tx_queues)[asked->queue] == NULL)
		rc = -EINVAL;
	else if (rx)
		rnic_rxq_info(asked->eth_dev, (uint16_t)asked->queue, asked->answer);
	else
		rnic_txq_info(asked->eth_dev, (uint16_t)asked->queue, asked->answer);
	rnic_stats_unlock(port);
	return rc;
}

static int
answer_stats(const struct asked *asked)
{
	rnic_stats_read(asked->eth_dev, asked->answer);
	return 0;
}

static int
answer_xstats(const struct asked *asked)
{
	int rc = asked->question == ASK_XSTATS
			 ? rnic_xstats_get(asked->eth_dev, asked->answer, XSTATS_MAX)
			 : rnic_xstats_names(asked->eth_dev, asked->answer, XSTATS_MAX);

	return rc > XSTATS_MAX ? -EMSGSIZE : rc;
}

static int
answer_rss(const struct asked *asked)
{
	return rnic_rss_copy(asked->eth_dev, asked->answer);
}

/* All of them: who asks takes what he wants. */
static int
answer_regs(const struct asked *asked)
{
	return rnic_regs_get(asked->eth_dev, &(struct rte_dev_reg_info){ .data = asked->answer });
}

static int
answer_reset(const struct asked *asked)
{
	return asked->question == DO_STATS_RESET ? rnic_stats_reset(asked->eth_dev)
						 : rnic_xstats_reset(asked->eth_dev);
}

static const struct {
	uint32_t bytes;	  /* of the answer, or of one of its entries; 0: there is none */
	uint32_t entries; /* at most, and it has as many as fn() returns; 0: it is no list */
	int (*fn)(const struct asked *asked);
} questions[] = {
	[ASK_INFO] = { sizeof(struct rte_eth_dev_info), 0, answer_info },
	[ASK_FW_VERSION] = { FW_VERSION_BYTES, 0, answer_fw_version },
	[ASK_RXQ_INFO] = { sizeof(struct rte_eth_rxq_info), 0, answer_queue_info },
	[ASK_TXQ_INFO] = { sizeof(struct rte_eth_txq_info), 0, answer_queue_info },
	[ASK_STATS] = { sizeof(struct rnic_port_stats), 0, answer_stats },
	[ASK_XSTATS_NAMES] = { sizeof(struct rte_eth_xstat_name), XSTATS_MAX, answer_xstats },
	[ASK_XSTATS] = { sizeof(struct rte_eth_xstat), XSTATS_MAX, answer_xstats },
	[ASK_RSS] = { sizeof(struct rnic_rss_copy), 0, answer_rss },
	[ASK_REGS] = { RNIC_REGS * RNIC_REGS_WIDTH, 0, answer_regs },
	[DO_STATS_RESET] = { 0, 0, answer_reset },
	[DO_XSTATS_RESET] = { 0, 0, answer_reset },
};

/* Each answer has a file of its own, which no later answer overwrites. */
static int
answer_file(const void *answer, uint32_t bytes)
{
	int fd = memfd_create("net_rnic answer", MFD_CLOEXEC), rc;

	if (fd < 0)
		return -errno;
	if (pwrite(fd, answer, bytes, 0) == (ssize_t)bytes)
		return fd;
	rc = errno != 0 ? -errno : -EIO;
	close(fd);
	return rc;
}

/* Of a port that is there. */
static struct reply
answer_to(struct rte_eth_dev *eth_dev, const struct request *request, int *fd)
{
	const uint32_t bytes = questions[request->question].bytes;
	const uint32_t entries = questions[request->question].entries;
	/* Some of ethdev's structs have lines of their own. */
	const size_t room =
		RTE_ALIGN((size_t)RTE_MAX(entries, 1u) * RTE_MAX(bytes, 1u), RTE_CACHE_LINE_SIZE);
	struct asked asked = { eth_dev, request->question, request->queue,
			       aligned_alloc(RTE_CACHE_LINE_SIZE, room) };
	struct reply reply = { .rc = -ENOMEM };

	if (asked.answer == NULL)
		return reply;
	memset(asked.answer, 0, room);
	reply.rc = questions[request->question].fn(&asked);
	if (reply.rc >= 0)
		reply.bytes = entries == 0 ? bytes : bytes * (uint32_t)reply.rc;
	if (reply.bytes > 0) {
		*fd = answer_file(asked.answer, reply.bytes);
		if (*fd < 0)
			reply = (struct reply){ .rc = *fd };
	}
	free(asked.answer);
	return reply;
}

static struct reply
reply_to(const struct rte_mp_msg *msg, int *fd)
{
	struct reply reply = { .rc = -EINVAL };
	struct rte_eth_dev *eth_dev;
	struct request request;

	if (msg->len_param != sizeof(request))
		return reply;
	memcpy(&request, msg->param, sizeof(request));
	request.name[sizeof(request.name) - 1] = '\0';
	pthread_mutex_lock(&lock);
	eth_dev = find_port(request.name);
	if (eth_dev == NULL)
		reply.rc = -ENODEV;
	else if (request.question >= RTE_DIM(questions))
		reply.rc = -ENOTSUP;
	else
		reply = answer_to(eth_dev, &request, fd);
	pthread_mutex_unlock(&lock);
	return reply;
}

/* In EAL's thread of messages. */
static int
on_request(const struct rte_mp_msg *msg, const void *peer)
{
	struct rte_mp_msg out = { .len_param = sizeof(struct reply) };
	int fd = -1, rc, i;
	struct reply reply = reply_to(msg, &fd);

	/* No question has files; those that came with one are this process's now. */
	for (i = 0; i < msg->num_fds && i < RTE_MP_MAX_FD_NUM; i++)
		close(msg->fds[i]);
	memcpy(out.name, msg->name, sizeof(out.name));
	memcpy(out.param, &reply, sizeof(reply));
	if (fd >= 0) {
		out.fds[0] = fd;
		out.num_fds = 1;
	}
	rc = rte_mp_reply(&out, peer);
	if (fd >= 0)
		close(fd);
	return rc;
}

/* With the first port; where it failed, with the next. */
static void
listen_to_secondaries(const struct rte_eth_dev *eth_dev)
{
	if (listening)
		return;
	listening = rte_mp_action_register(ACTION, on_request) == 0;
	/* Where EAL has no messages, as with --in-memory, there are no secondary processes. */
	if (!listening && rte_errno != ENOTSUP)
		RNIC_LOG_NAMED(
			WARNING, eth_dev->data->name,
			"secondary processes will not see its statistics: no messages from them: %s",
			rte_strerror(rte_errno));
}

void
rnic_secondary_offer(struct rte_eth_dev *eth_dev)
{
	pthread_mutex_lock(&lock);
	ports[eth_dev->data->port_id].eth_dev = eth_dev;
	ports[eth_dev->data->port_id].hidden = false;
	port_count++;
	listen_to_secondaries(eth_dev);
	pthread_mutex_unlock(&lock);
}

void
rnic_secondary_hide(const struct rte_eth_dev *eth_dev, bool hidden)
{
	pthread_mutex_lock(&lock);
	ports[eth_dev->data->port_id].hidden = hidden;
	pthread_mutex_unlock(&lock);
}

void
rnic_secondary_withdraw(struct rte_eth_dev *eth_dev)
{
	pthread_mutex_lock(&lock);
	if (ports[eth_dev->data->port_id].eth_dev == eth_dev) {
		ports[eth_dev->data->port_id].eth_dev = NULL;
		if (--port_count == 0 && listening) {
			rte_mp_action_unregister(ACTION);
			listening = false;
		}
	}
	pthread_mutex_unlock(&lock);
}

/* ---- A secondary process ---- */

/* EAL has one request of a name at a time. */
static pthread_mutex_t asking = PTHREAD_MUTEX_INITIALIZER;

/* What was said, and its bytes if they are as many as there is room for. */
static int
take_answer(const struct rte_mp_msg *msg, void *answer, size_t room)
{
	struct reply reply;

	if (msg->len_param != sizeof(reply))
		return -EPROTO;
	memcpy(&reply, msg->param, sizeof(reply));
	if (reply.rc < 0 || reply.bytes == 0)
		return reply.rc;
	/* Of entries the caller may have asked how many there are. */
	if (reply.rc > 0 && reply.bytes > room)
		return reply.rc;
	if (msg->num_fds != 1 || (reply.rc == 0 && reply.bytes != room))
		return -EPROTO;
	if (pread(msg->fds[0], answer, reply.bytes, 0) != (ssize_t)reply.bytes)
		return -EIO;
	return reply.rc;
}

/* The port of the primary process that this one is of: it may be closed, or another one have its place. */
static bool
is_there(const struct rte_eth_dev *eth_dev)
{
	return eth_dev->device != NULL && strncmp(eth_dev->data->name, eth_dev->device->name,
						  sizeof(eth_dev->data->name)) == 0;
}

/* Blocks: for the answer. `entries`: of a list, for how many there is room. -ENODEV: the port is closed. */
static int
primary_ask(const struct rte_eth_dev *eth_dev, enum question question, uint16_t queue, void *answer,
	    unsigned int entries)
{
	const size_t room = (size_t)questions[question].bytes * entries;
	const struct timespec patience = { .tv_sec = ANSWER_SECONDS };
	struct rte_mp_msg msg = { .name = ACTION, .len_param = sizeof(struct request) };
	struct request request = { .question = question, .queue = queue };
	struct rte_mp_reply replies;
	int i, rc;

	if (!is_there(eth_dev))
		return -ENODEV;
	strncpy(request.name, eth_dev->device->name, sizeof(request.name) - 1);
	memcpy(msg.param, &request, sizeof(request));
	pthread_mutex_lock(&asking);
	rc = rte_mp_request_sync(&msg, &replies, &patience) < 0 ? -rte_errno : 0;
	pthread_mutex_unlock(&asking);
	if (rc == 0)
		rc = replies.nb_received == 1 ? take_answer(&replies.msgs[0], answer, room) : -EIO;
	else
		RNIC_LOG_NAMED(ERR, eth_dev->device->name,
			       "the primary process does not answer: %s", strerror(-rc));
	if (replies.nb_received > 0)
		for (i = 0; i < replies.msgs[0].num_fds; i++)
			close(replies.msgs[0].fds[i]);
	free(replies.msgs);
	return rc;
}

static int
secondary_info_get(struct rte_eth_dev *eth_dev, struct rte_eth_dev_info *info)
{
	struct rte_eth_dev_info answer;
	int rc = primary_ask(eth_dev, ASK_INFO, 0, &answer, 1);

	if (rc < 0)
		return rc;
	/* What points into the primary's memory is not ours; the rest of the pointers are ethdev's. */
	answer.device = info->device;
	answer.driver_name = info->driver_name;
	answer.dev_flags = info->dev_flags;
	/* What the driver does not say, ethdev has set here; there nobody did before the driver was asked. */
	answer.switch_info = info->switch_info;
#if RTE_VERSION >= RTE_VERSION_NUM(23, 11, 0, 0)
	answer.max_rx_bufsize = info->max_rx_bufsize;
#endif
	*info = answer;
	return 0;
}

static int
secondary_fw_version(struct rte_eth_dev *eth_dev, char *text, size_t size)
{
	char version[FW_VERSION_BYTES];
	int rc = primary_ask(eth_dev, ASK_FW_VERSION, 0, version, 1);

	if (rc != 0)
		return rc < 0 ? rc : -EPROTO;
	version[sizeof(version) - 1] = '\0';
	rc = snprintf(text, size, "%s", version);
	return rc + 1 <= (int)size ? 0 : rc + 1;
}

static void
secondary_rxq_info(struct rte_eth_dev *eth_dev, uint16_t queue, struct rte_eth_rxq_info *info)
{
	primary_ask(eth_dev, ASK_RXQ_INFO, queue, info, 1);
}

static void
secondary_txq_info(struct rte_eth_dev *eth_dev, uint16_t queue, struct rte_eth_txq_info *info)
{
	primary_ask(eth_dev, ASK_TXQ_INFO, queue, info, 1);
}

#ifdef RNIC_QUEUE_STATS_APART
static int
secondary_stats_get(struct rte_eth_dev *eth_dev, struct rte_eth_stats *stats,
		    struct eth_queue_stats *queues)
#else
static int
secondary_stats_get(struct rte_eth_dev *eth_dev, struct rte_eth_stats *stats)
#endif
{
#ifndef RNIC_QUEUE_STATS_APART
	struct rte_eth_stats *queues = stats;
#endif
	struct rnic_port_stats all;
	int rc = primary_ask(eth_dev, ASK_STATS, 0, &all, 1);

	return rc != 0 ? rc : rnic_stats_report(&all, stats, queues);
}

static int
secondary_xstats_names(struct rte_eth_dev *eth_dev, struct rte_eth_xstat_name *names,
		       unsigned int size)
{
	return primary_ask(eth_dev, ASK_XSTATS_NAMES, 0, names, size);
}

static int
secondary_xstats_get(struct rte_eth_dev *eth_dev, struct rte_eth_xstat *xstats, unsigned int size)
{
	return primary_ask(eth_dev, ASK_XSTATS, 0, xstats, size);
}

static int
secondary_rss_hash_conf_get(struct rte_eth_dev *eth_dev, struct rte_eth_rss_conf *conf)
{
	struct rnic_rss_copy copy;
	int rc = primary_ask(eth_dev, ASK_RSS, 0, &copy, 1);

	if (rc == 0)
		rnic_rss_report_hash(&copy, conf);
	return rc;
}

static int
secondary_reta_query(struct rte_eth_dev *eth_dev, struct rte_eth_rss_reta_entry64 *reta,
		     uint16_t size)
{
	struct rnic_rss_copy copy;
	int rc = primary_ask(eth_dev, ASK_RSS, 0, &copy, 1);

	return rc != 0 ? rc : rnic_rss_report_reta(&copy, reta, size);
}

static int
secondary_regs_get(struct rte_eth_dev *eth_dev, struct rte_dev_reg_info *info)
{
	uint32_t values[RNIC_REGS];
	int rc = primary_ask(eth_dev, ASK_REGS, 0, values, 1);

	if (rc == 0)
		rc = rnic_regs_select(info);
	if (rc > 0)
		memcpy(info->data, values + info->offset, (uint32_t)rc * sizeof(values[0]));
	return rc > 0 ? 0 : rc;
}

static int
secondary_stats_reset(struct rte_eth_dev *eth_dev)
{
	return primary_ask(eth_dev, DO_STATS_RESET, 0, NULL, 0);
}

static int
secondary_xstats_reset(struct rte_eth_dev *eth_dev)
{
	return primary_ask(eth_dev, DO_XSTATS_RESET, 0, NULL, 0);
}

/* What the primary process last wrote stays. */
static int
secondary_link_update(struct rte_eth_dev *eth_dev, int wait_to_complete)
{
	RTE_SET_USED(eth_dev);
	RTE_SET_USED(wait_to_complete);
	return -1;
}

/* Of this process's port alone. */
static int
secondary_close(struct rte_eth_dev *eth_dev)
{
	RTE_SET_USED(eth_dev);
	return 0;
}

static int
secondary_is_removed(struct rte_eth_dev *eth_dev)
{
	return !is_there(eth_dev);
}

const struct eth_dev_ops rnic_secondary_ops = {
	.dev_close = secondary_close,
	.is_removed = secondary_is_removed,
	.dev_infos_get = secondary_info_get,
	.fw_version_get = secondary_fw_version,
	.rxq_info_get = secondary_rxq_info,
	.txq_info_get = secondary_txq_info,
	.dev_supported_ptypes_get = rnic_rx_ptypes_get,
	.rss_hash_conf_get = secondary_rss_hash_conf_get,
	.reta_query = secondary_reta_query,
	.get_reg = secondary_regs_get,
	.link_update = secondary_link_update,
	.stats_get = secondary_stats_get,
	.stats_reset = secondary_stats_reset,
	.xstats_get = secondary_xstats_get,
	.xstats_get_names = secondary_xstats_names,
	.xstats_reset = secondary_xstats_reset,
};
