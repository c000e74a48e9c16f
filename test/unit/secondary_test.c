/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Secondary processes that ask while the primary changes what they ask about. Both halves of secondary.c are here in one
 * process, and EAL's messages between them are calls: those who ask, and EAL's thread that answers, are a thread beside the
 * application's.
 */

#include "unit.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <rte_bus.h>
#include <rte_cycles.h>
#include <rte_dev.h>
#include <rte_errno.h>
#include <rte_mbuf.h>

#include "ethdev/port.h"
#include "ethdev/regs.h"
#include "ethdev/secondary.h"
#include "steering/tirs.h"

#define NAME   "net_rnic0"
#define QUEUES 2
#define ROUNDS 3

/* ---- EAL's messages ---- */

static _Atomic(rte_mp_t) action;
static __thread struct rte_mp_msg answer;

int
rte_mp_action_register(const char *name, rte_mp_t wanted)
{
	if (strcmp(name, "net_rnic") == 0)
		atomic_store(&action, wanted);
	return 0;
}

void
rte_mp_action_unregister(const char *name)
{
	if (strcmp(name, "net_rnic") == 0)
		atomic_store(&action, NULL);
}

int
rte_mp_reply(struct rte_mp_msg *msg, const char *peer)
{
	(void)peer;
	answer = *msg;
	if (answer.num_fds > 0)
		answer.fds[0] = dup(msg->fds[0]);
	return 0;
}

int
rte_mp_request_sync(struct rte_mp_msg *msg, struct rte_mp_reply *reply, const struct timespec *ts)
{
	rte_mp_t wanted = atomic_load(&action);

	(void)ts;
	*reply = (struct rte_mp_reply){ 0 };
	/* EAL itself asks, too, and there is nobody. */
	if (strcmp(msg->name, "net_rnic") != 0)
		return 0;
	if (wanted == NULL) {
		rte_errno = ENODEV;
		return -1;
	}
	/* The way there; nor does a lock go back at once to who has just had it. */
	rte_delay_us_sleep(100);
	wanted(msg, NAME);
	reply->nb_sent = reply->nb_received = 1;
	reply->msgs = malloc(sizeof(answer));
	assert_non_null(reply->msgs);
	*reply->msgs = answer;
	return 0;
}

/* ---- Who asks ---- */

struct asker {
	struct rte_device device;
	struct rte_eth_dev_data data;
	struct rte_eth_dev eth_dev; /* of the other process */
	atomic_bool stop;
	atomic_uint answered, absent;
	int wrong;  /* a code that is none of those */
	bool mixed; /* half a key and half of another */
};

static void
note(struct asker *asker, int rc)
{
	if (rc >= 0)
		atomic_fetch_add(&asker->answered, 1);
	else if (rc == -ENODEV)
		atomic_fetch_add(&asker->absent, 1);
	else
		asker->wrong = rc;
}

static void
ask_about_spreading(struct asker *asker)
{
	struct rte_eth_rss_reta_entry64 reta[2] = { { .mask = UINT64_MAX },
						    { .mask = UINT64_MAX } };
	uint8_t key[RNIC_RSS_KEY_BYTES];
	struct rte_eth_rss_conf conf = { .rss_key = key, .rss_key_len = sizeof(key) };
	int rc = rnic_secondary_ops.rss_hash_conf_get(&asker->eth_dev, &conf);
	unsigned int i;

	/* While the port is configured, there is none. */
	if (rc != -ENOTSUP)
		note(asker, rc);
	for (i = 1; rc == 0 && i < sizeof(key); i++)
		asker->mixed |= key[i] != key[0];
	rc = rnic_secondary_ops.reta_query(&asker->eth_dev, reta, RNIC_RETA_SIZE);
	if (rc != -ENOTSUP)
		note(asker, rc);
}

static void *
ask_everything(void *arg)
{
	struct asker *asker = arg;
	struct rte_eth_dev *eth_dev = &asker->eth_dev;
	struct rte_eth_xstat_name names[256];
	struct rte_eth_xstat xstats[256];
	struct rte_dev_reg_info regs;
	struct rte_eth_rxq_info rxq;
	struct rte_eth_txq_info txq;
	struct rte_eth_dev_info info;
	struct rte_eth_stats stats;
	uint32_t values[RNIC_REGS];
	char text[64];

	while (!atomic_load(&asker->stop)) {
		note(asker, rnic_secondary_ops.stats_get(eth_dev, &stats));
		note(asker, rnic_secondary_ops.xstats_get(eth_dev, xstats, RTE_DIM(xstats)));
		note(asker, rnic_secondary_ops.xstats_get_names(eth_dev, names, RTE_DIM(names)));
		note(asker, rnic_secondary_ops.stats_reset(eth_dev));
		note(asker, rnic_secondary_ops.xstats_reset(eth_dev));
		note(asker, rnic_secondary_ops.dev_infos_get(eth_dev, &info));
		note(asker, rnic_secondary_ops.fw_version_get(eth_dev, text, sizeof(text)));
		regs = (struct rte_dev_reg_info){ .data = values };
		note(asker, rnic_secondary_ops.get_reg(eth_dev, &regs));
		rnic_secondary_ops.rxq_info_get(eth_dev, 0, &rxq);
		rnic_secondary_ops.txq_info_get(eth_dev, 0, &txq);
		ask_about_spreading(asker);
	}
	return NULL;
}

/* ---- What they ask about ---- */

static uint16_t port;
static struct rte_mempool *pool;

static void
set_spreading(uint8_t value)
{
	struct rte_eth_rss_reta_entry64 reta[2] = { { .mask = UINT64_MAX },
						    { .mask = UINT64_MAX } };
	uint8_t key[RNIC_RSS_KEY_BYTES];
	struct rte_eth_rss_conf conf = { .rss_key = key,
					 .rss_key_len = sizeof(key),
					 .rss_hf = RTE_ETH_RSS_IPV4 };
	unsigned int i;

	memset(key, value, sizeof(key));
	for (i = 0; i < RTE_ETH_RETA_GROUP_SIZE; i++)
		reta[0].reta[i] = reta[1].reta[i] = value % QUEUES;
	assert_int_equal(rte_eth_dev_rss_hash_update(port, &conf), 0);
	assert_int_equal(rte_eth_dev_rss_reta_update(port, reta, RNIC_RETA_SIZE), 0);
}

static void
start_port(void)
{
	uint8_t key[RNIC_RSS_KEY_BYTES];
	struct rte_eth_conf conf = {
		.rxmode = { .mq_mode = RTE_ETH_MQ_RX_RSS },
		.rx_adv_conf.rss_conf = { .rss_key = key,
					  .rss_key_len = sizeof(key),
					  .rss_hf = RTE_ETH_RSS_IPV4 },
	};
	uint16_t i;

	memset(key, 7, sizeof(key));
	assert_int_equal(rte_eth_dev_configure(port, QUEUES, QUEUES, &conf), 0);
	for (i = 0; i < QUEUES; i++) {
		assert_int_equal(rte_eth_rx_queue_setup(port, i, 64, SOCKET_ID_ANY, NULL, pool), 0);
		assert_int_equal(rte_eth_tx_queue_setup(port, i, 64, SOCKET_ID_ANY, NULL), 0);
	}
	assert_int_equal(rte_eth_dev_start(port), 0);
}

static void
wait_for_more(atomic_uint *count)
{
	const unsigned int seen = atomic_load(count);

	assert_true(UNIT_COMES(atomic_load(count) != seen));
}

/* Spreading that changes, ports that stop, that get another device, that go: each answer is of one time, or that there is none. */
static void
test_secondaries_ask_while_the_port_changes(void **state)
{
	struct asker *asker = calloc(1, sizeof(*asker));
	unsigned int round, i;
	pthread_t thread;

	(void)state;
	assert_non_null(asker);
	pool = rte_pktmbuf_pool_create("secondary", 1023, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE,
				       SOCKET_ID_ANY);
	assert_non_null(pool);
	assert_int_equal(rte_eal_hotplug_add("vdev", NAME, "wire=loop"), 0);
	assert_int_equal(rte_eth_dev_get_port_by_name(NAME, &port), 0);
	start_port();
	set_spreading(0);
	asker->device.name = NAME;
	asker->eth_dev.device = &asker->device;
	asker->eth_dev.data = &asker->data;
	snprintf(asker->data.name, sizeof(asker->data.name), "%s", NAME);
	assert_int_equal(pthread_create(&thread, NULL, ask_everything, asker), 0);
	for (round = 0; round < ROUNDS; round++) {
		for (i = 0; i < 8; i++)
			set_spreading((uint8_t)i);
		wait_for_more(&asker->answered);
		assert_int_equal(rte_eth_dev_stop(port), 0);
		assert_int_equal(rte_eth_dev_reset(port), 0);
		start_port();
		wait_for_more(&asker->answered);
	}
	assert_int_equal(rte_eth_dev_stop(port), 0);
	assert_int_equal(rte_eal_hotplug_remove("vdev", NAME), 0);
	wait_for_more(&asker->absent);
	atomic_store(&asker->stop, true);
	pthread_join(thread, NULL);
	assert_int_equal(asker->wrong, 0);
	assert_false(asker->mixed);
	assert_int_equal(rte_mempool_in_use_count(pool), 0);
	rte_mempool_free(pool);
	free(asker);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_secondaries_ask_while_the_port_changes),
};

UNIT_MAIN("secondary", tests)
