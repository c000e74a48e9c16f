/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The port in secondary processes (dpdk-proc-info, dpdk-dumpcap): they look at it, and may reset its statistics; ethdev answers
 * -ENOTSUP for all else. What they see is what the primary process says when it is asked, by EAL's messages: it alone has
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
#include "steering/tirs.h"

#define ACTION		 "net_rnic"
#define XSTATS_MAX	 256
#define FW_VERSION_BYTES 64
/* A device that does not answer makes the primary wait, too; its commands have a time-out of their own. */
#define ANSWER_SECONDS 10

enum question {
	ASK_INFO,
	ASK_FW_VERSION,
	ASK_RXQ_INFO,
	ASK_TXQ_INFO,
	ASK_STATS,
	ASK_XSTATS_NAMES,
	ASK_XSTATS,
	ASK_RSS,
	ASK_RETA,
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

struct rss_answer {
	uint64_t types;
	uint8_t key[RNIC_RSS_KEY_BYTES];
};

struct regs_answer {
	uint32_t count, width, version;
	uint32_t values[RNIC_REGS];
};

#define RETA_GROUPS (RNIC_RETA_SIZE / RTE_ETH_RETA_GROUP_SIZE)

union answer {
	struct rte_eth_dev_info info;
	char fw_version[FW_VERSION_BYTES];
	struct rte_eth_rxq_info rxq;
	struct rte_eth_txq_info txq;
	struct rnic_port_stats stats;
	struct rte_eth_xstat_name names[XSTATS_MAX];
	struct rte_eth_xstat xstats[XSTATS_MAX];
	struct rss_answer rss;
	struct rte_eth_rss_reta_entry64 reta[RETA_GROUPS];
	struct regs_answer regs;
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

/* Queues come and go under the lock of the statistics. */
static int
queue_info(struct rte_eth_dev *eth_dev, const struct request *request, union answer *answer)
{
	const struct rte_eth_dev_data *data = eth_dev->data;
	const bool rx = request->question == ASK_RXQ_INFO;
	const uint32_t count = rx ? data->nb_rx_queues : data->nb_tx_queues;
	struct rnic_ethdev *port = rnic_ethdev_get(eth_dev);
	int rc = 0;

	rnic_stats_lock(port);
	if (request->queue >= count ||
	    (rx ? data->rx_queues : data->tx_queues)[request->queue] == NULL)
		rc = -EINVAL;
	else if (rx)
		rnic_rxq_info(eth_dev, (uint16_t)request->queue, &answer->rxq);
	else
		rnic_txq_info(eth_dev, (uint16_t)request->queue, &answer->txq);
	rnic_stats_unlock(port);
	return rc;
}

static int
xstats_answer(struct rte_eth_dev *eth_dev, const struct request *request, union answer *answer,
	      uint32_t *bytes)
{
	int rc = request->question == ASK_XSTATS
			 ? rnic_xstats_get(eth_dev, answer->xstats, XSTATS_MAX)
			 : rnic_xstats_names(eth_dev, answer->names, XSTATS_MAX);

	if (rc > XSTATS_MAX)
		return -EMSGSIZE;
	if (rc > 0)
		*bytes =
			(uint32_t)rc * (request->question == ASK_XSTATS ? sizeof(answer->xstats[0])
									: sizeof(answer->names[0]));
	return rc;
}

static int
rss_answer(struct rte_eth_dev *eth_dev, struct rss_answer *answer)
{
	struct rte_eth_rss_conf conf = { .rss_key = answer->key,
					 .rss_key_len = sizeof(answer->key) };
	int rc = rnic_rss_hash_conf_get(eth_dev, &conf);

	answer->types = conf.rss_hf;
	return rc;
}

/* The whole table: who asks takes what he wants. */
static int
reta_answer(struct rte_eth_dev *eth_dev, struct rte_eth_rss_reta_entry64 *reta)
{
	unsigned int i;

	for (i = 0; i < RETA_GROUPS; i++)
		reta[i].mask = UINT64_MAX;
	return rnic_rss_reta_query(eth_dev, reta, RNIC_RETA_SIZE);
}

static int
regs_answer(struct rte_eth_dev *eth_dev, struct regs_answer *answer)
{
	struct rte_dev_reg_info info = { .data = answer->values };
	int rc = rnic_regs_get(eth_dev, &info);

	answer->count = info.length;
	answer->width = info.width;
	answer->version = info.version;
	return rc;
}

/* What is to be sent is in `answer`, so many bytes of it. */
static int
answer_to(struct rte_eth_dev *eth_dev, const struct request *request, union answer *answer,
	  uint32_t *bytes)
{
	switch (request->question) {
	case ASK_INFO: *bytes = sizeof(answer->info); return rnic_info_get(eth_dev, &answer->info);
	case ASK_FW_VERSION:
		*bytes = sizeof(answer->fw_version);
		return rnic_info_fw_version(eth_dev, answer->fw_version,
					    sizeof(answer->fw_version));
	case ASK_RXQ_INFO:
		*bytes = sizeof(answer->rxq);
		return queue_info(eth_dev, request, answer);
	case ASK_TXQ_INFO:
		*bytes = sizeof(answer->txq);
		return queue_info(eth_dev, request, answer);
	case ASK_STATS:
		*bytes = sizeof(answer->stats);
		rnic_stats_read(eth_dev, &answer->stats);
		return 0;
	case ASK_XSTATS_NAMES:
	case ASK_XSTATS: return xstats_answer(eth_dev, request, answer, bytes);
	case ASK_RSS: *bytes = sizeof(answer->rss); return rss_answer(eth_dev, &answer->rss);
	case ASK_RETA: *bytes = sizeof(answer->reta); return reta_answer(eth_dev, answer->reta);
	case ASK_REGS: *bytes = sizeof(answer->regs); return regs_answer(eth_dev, &answer->regs);
	case DO_STATS_RESET: return rnic_stats_reset(eth_dev);
	case DO_XSTATS_RESET: return rnic_xstats_reset(eth_dev);
	default: return -ENOTSUP;
	}
}

/* Each answer has a file of its own, which no later answer overwrites. */
static int
answer_file(const union answer *answer, uint32_t bytes)
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

static struct reply
reply_to(const struct rte_mp_msg *msg, int *fd)
{
	struct reply reply = { .rc = -EINVAL };
	struct rte_eth_dev *eth_dev;
	struct request request;
	union answer *answer;

	if (msg->len_param != sizeof(request))
		return reply;
	memcpy(&request, msg->param, sizeof(request));
	request.name[sizeof(request.name) - 1] = '\0';
	answer = calloc(1, sizeof(*answer));
	if (answer == NULL) {
		reply.rc = -ENOMEM;
		return reply;
	}
	pthread_mutex_lock(&lock);
	eth_dev = find_port(request.name);
	reply.rc = eth_dev != NULL ? answer_to(eth_dev, &request, answer, &reply.bytes) : -ENODEV;
	pthread_mutex_unlock(&lock);
	if (reply.rc < 0)
		reply.bytes = 0;
	if (reply.bytes > 0) {
		*fd = answer_file(answer, reply.bytes);
		if (*fd < 0)
			reply = (struct reply){ .rc = *fd };
	}
	free(answer);
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

/* Blocks: for the answer. -ENODEV: the port is closed. */
static int
ask(const struct rte_eth_dev *eth_dev, enum question question, uint16_t queue, void *answer,
    size_t room)
{
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
	int rc = ask(eth_dev, ASK_INFO, 0, &answer, sizeof(answer));

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
	int rc = ask(eth_dev, ASK_FW_VERSION, 0, version, sizeof(version));

	if (rc != 0)
		return rc < 0 ? rc : -EPROTO;
	version[sizeof(version) - 1] = '\0';
	rc = snprintf(text, size, "%s", version);
	return rc + 1 <= (int)size ? 0 : rc + 1;
}

static void
secondary_rxq_info(struct rte_eth_dev *eth_dev, uint16_t queue, struct rte_eth_rxq_info *info)
{
	ask(eth_dev, ASK_RXQ_INFO, queue, info, sizeof(*info));
}

static void
secondary_txq_info(struct rte_eth_dev *eth_dev, uint16_t queue, struct rte_eth_txq_info *info)
{
	ask(eth_dev, ASK_TXQ_INFO, queue, info, sizeof(*info));
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
	int rc = ask(eth_dev, ASK_STATS, 0, &all, sizeof(all));

	return rc != 0 ? rc : rnic_stats_tell(&all, stats, queues);
}

static int
secondary_xstats_names(struct rte_eth_dev *eth_dev, struct rte_eth_xstat_name *names,
		       unsigned int size)
{
	return ask(eth_dev, ASK_XSTATS_NAMES, 0, names, size * sizeof(*names));
}

static int
secondary_xstats_get(struct rte_eth_dev *eth_dev, struct rte_eth_xstat *xstats, unsigned int size)
{
	return ask(eth_dev, ASK_XSTATS, 0, xstats, size * sizeof(*xstats));
}

static int
secondary_rss_hash_conf_get(struct rte_eth_dev *eth_dev, struct rte_eth_rss_conf *conf)
{
	struct rss_answer answer;
	int rc = ask(eth_dev, ASK_RSS, 0, &answer, sizeof(answer));

	if (rc != 0)
		return rc;
	if (conf->rss_key != NULL && conf->rss_key_len >= sizeof(answer.key))
		memcpy(conf->rss_key, answer.key, sizeof(answer.key));
	conf->rss_key_len = sizeof(answer.key);
	conf->rss_hf = answer.types;
	return 0;
}

static int
secondary_reta_query(struct rte_eth_dev *eth_dev, struct rte_eth_rss_reta_entry64 *reta,
		     uint16_t size)
{
	struct rte_eth_rss_reta_entry64 answer[RETA_GROUPS];
	unsigned int i;
	int rc;

	if (size != RNIC_RETA_SIZE)
		return -EINVAL;
	rc = ask(eth_dev, ASK_RETA, 0, answer, sizeof(answer));
	for (i = 0; rc == 0 && i < size; i++)
		if (reta[i / RTE_ETH_RETA_GROUP_SIZE].mask >> i % RTE_ETH_RETA_GROUP_SIZE & 1)
			reta[i / RTE_ETH_RETA_GROUP_SIZE].reta[i % RTE_ETH_RETA_GROUP_SIZE] =
				answer[i / RTE_ETH_RETA_GROUP_SIZE]
					.reta[i % RTE_ETH_RETA_GROUP_SIZE];
	return rc;
}

static int
secondary_regs_get(struct rte_eth_dev *eth_dev, struct rte_dev_reg_info *info)
{
	struct regs_answer answer;
	int rc = ask(eth_dev, ASK_REGS, 0, &answer, sizeof(answer));

	if (rc != 0)
		return rc;
	if (answer.count > RNIC_REGS)
		return -EPROTO;
	info->width = answer.width;
	if (info->data == NULL) {
		info->length = answer.count;
		return 0;
	}
	if (info->length == 0)
		info->length = answer.count - RTE_MIN(info->offset, answer.count);
	if (info->offset >= answer.count || info->length > answer.count - info->offset)
		return -EINVAL;
	memcpy(info->data, answer.values + info->offset, info->length * sizeof(answer.values[0]));
	info->version = answer.version;
	return 0;
}

static int
secondary_stats_reset(struct rte_eth_dev *eth_dev)
{
	return ask(eth_dev, DO_STATS_RESET, 0, NULL, 0);
}

static int
secondary_xstats_reset(struct rte_eth_dev *eth_dev)
{
	return ask(eth_dev, DO_XSTATS_RESET, 0, NULL, 0);
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
