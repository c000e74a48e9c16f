/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <rte_common.h>
#include <rte_telemetry.h>
#include <rte_version.h>

#include "crew.h"
#include "rdmo.h"
#include "telemetry.h"

#if RTE_VERSION < RTE_VERSION_NUM(23, 3, 0, 0)
#define rte_tel_data_add_dict_uint rte_tel_data_add_dict_u64
#endif

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of what follows */
static TAILQ_HEAD(, rdmo_shown) all = TAILQ_HEAD_INITIALIZER(all);
static TAILQ_HEAD(, rdmo_shown_log) logs = TAILQ_HEAD_INITIALIZER(logs);
static bool is_registered;

/* ---- Handlers: with the lock ---- */

static int
addresses_tell(struct rte_tel_data *data)
{
	const struct rdmo_shown *shown;

	rte_tel_data_start_array(data, RTE_TEL_STRING_VAL);
	TAILQ_FOREACH(shown, &all, next)
		rte_tel_data_add_array_string(data, shown->address);
	return 0;
}

static void
stats_tell(struct rte_tel_data *data, const struct rdmo_lane_stats *stats)
{
	rte_tel_data_add_dict_uint(data, "connections", stats->connections);
	rte_tel_data_add_dict_uint(data, "messages", stats->messages);
	rte_tel_data_add_dict_uint(data, "operations", stats->operations);
	rte_tel_data_add_dict_uint(data, "refused", stats->refused);
	rte_tel_data_add_dict_uint(data, "answers", stats->answers);
	rte_tel_data_add_dict_uint(data, "closed", stats->closed);
	rte_tel_data_add_dict_uint(data, "handed_over", stats->handed_over);
}

static int
worker_tell(struct rdmo_crew *crew, struct rte_tel_data *data)
{
	struct rdmo_lane_stats stats;
	struct rte_tel_data *lane;
	char name[24];
	int rc = 0;

	rte_tel_data_start_dict(data);
	rdmo_crew_stats(crew, 0, crew->count, &stats);
	stats_tell(data, &stats);
	for (uint32_t i = 0; i < crew->count && rc == 0; i++) {
		lane = rte_tel_data_alloc();
		if (lane == NULL)
			return -ENOMEM;
		rte_tel_data_start_dict(lane);
		rdmo_crew_stats(crew, i, 1, &stats);
		stats_tell(lane, &stats);
		snprintf(name, sizeof(name), "lcore_%u", i);
		rc = rte_tel_data_add_dict_container(data, name, lane, 0);
		if (rc != 0)
			rte_tel_data_free(lane);
	}
	return rc;
}

static void
peer_tell(const struct rdmo_peer *peer, uint32_t lcore, struct rte_tel_data *data)
{
	char session[24];

	snprintf(session, sizeof(session), "%#lx", (unsigned long)peer->session);
	rte_tel_data_start_dict(data);
	rte_tel_data_add_dict_string(data, "session", session);
	rte_tel_data_add_dict_uint(data, "lcore", lcore);
	rte_tel_data_add_dict_uint(data, "receive_queue", peer->flow.rq_id);
	rte_tel_data_add_dict_uint(data, "messages",
				   __atomic_load_n(&peer->received, __ATOMIC_RELAXED));
	rte_tel_data_add_dict_uint(data, "answers", __atomic_load_n(&peer->sent, __ATOMIC_RELAXED));
	rte_tel_data_add_dict_uint(data, "has_ended", rdmo_peer_has_ended(peer));
}

/* As many as an answer has room for. */
static int
connections_tell(struct rdmo_crew *crew, struct rte_tel_data *data)
{
	struct rte_tel_data *one;
	int rc = 0;

	rte_tel_data_start_array(data, RTE_TEL_CONTAINER);
	pthread_mutex_lock(&crew->places);
	for (uint32_t i = 0; i < crew->count; i++)
		for (uint32_t k = 0; k < crew->lanes[i].peer_count && rc == 0; k++) {
			const struct rdmo_peer *peer = &crew->lanes[i].peers[k];

			if (peer->qp == NULL)
				continue;
			one = rte_tel_data_alloc();
			if (one == NULL) {
				rc = -ENOMEM;
				break;
			}
			peer_tell(peer, i, one);
			rc = rte_tel_data_add_array_container(data, one, 0);
			if (rc != 0)
				rte_tel_data_free(one);
		}
	pthread_mutex_unlock(&crew->places);
	return rc == -ENOSPC ? 0 : rc;
}

/* Without an address: those that there are. */
static int
shown_tell(const char *address, int (*of)(struct rdmo_crew *, struct rte_tel_data *),
	   struct rte_tel_data *data)
{
	struct rdmo_shown *shown;
	int rc = -ENOENT;

	pthread_mutex_lock(&lock);
	if (address == NULL || address[0] == '\0') {
		rc = addresses_tell(data);
	} else {
		TAILQ_FOREACH(shown, &all, next)
			if (strcmp(shown->address, address) == 0)
				break;
		if (shown != NULL)
			rc = of(shown->crew, data);
	}
	pthread_mutex_unlock(&lock);
	return rc;
}

int
rdmo_telemetry_worker(const char *cmd, const char *params, struct rte_tel_data *data)
{
	(void)cmd;
	return shown_tell(params, worker_tell, data);
}

int
rdmo_telemetry_connections(const char *cmd, const char *params, struct rte_tel_data *data)
{
	(void)cmd;
	return shown_tell(params, connections_tell, data);
}

/* ---- Logs ---- */

static void
log_tell(const struct rdmo_shown_log *shown, const struct rdmo_log_info *info,
	 struct rte_tel_data *data)
{
	rte_tel_data_start_dict(data);
	rte_tel_data_add_dict_uint(data, "capacity", shown->capacity);
	rte_tel_data_add_dict_uint(data, "producers", shown->producers);
	rte_tel_data_add_dict_uint(data, "epoch", info->epoch);
	rte_tel_data_add_dict_uint(data, "head", info->head);
	rte_tel_data_add_dict_uint(data, "tail", info->tail);
}

int
rdmo_telemetry_log(const char *cmd, const char *params, struct rte_tel_data *data)
{
	const bool all_of_them = params == NULL || params[0] == '\0';
	const struct rdmo_shown_log *shown;
	struct rdmo_log_info info;
	char name[24];
	int rc = all_of_them ? 0 : -ENOENT;

	(void)cmd;
	pthread_mutex_lock(&lock);
	if (all_of_them)
		rte_tel_data_start_array(data, RTE_TEL_STRING_VAL);
	TAILQ_FOREACH(shown, &logs, next) {
		if (shown->query(shown->log, &info) != 0)
			continue;
		/* Initiators name a log by its address, too. A key would open it, so none is shown. */
		snprintf(name, sizeof(name), "0x%" PRIx64, info.addr);
		if (all_of_them) {
			rte_tel_data_add_array_string(data, name);
		} else if (strcmp(name, params) == 0) {
			log_tell(shown, &info, data);
			rc = 0;
			break;
		}
	}
	pthread_mutex_unlock(&lock);
	return rc;
}

/* ---- Who is shown ---- */

/* Once, with the first worker or log. */
static void
commands_register(void)
{
	bool is_first;

	pthread_mutex_lock(&lock);
	is_first = !is_registered;
	is_registered = true;
	pthread_mutex_unlock(&lock);
	if (!is_first)
		return;
	rte_telemetry_register_cmd(
		"/rdmo/worker", rdmo_telemetry_worker,
		"What a worker has done, and each of its lcores. Parameters: its address; "
		"without one, the addresses of all");
	rte_telemetry_register_cmd(
		"/rdmo/connections", rdmo_telemetry_connections,
		"The connections of a worker. Parameters: its address; without one, the "
		"addresses of all");
	rte_telemetry_register_cmd(
		"/rdmo/log", rdmo_telemetry_log,
		"How full a log of this process is. Parameters: its address; without one, the "
		"addresses of all");
}

void
rdmo_telemetry_add(struct rdmo_shown *shown)
{
	pthread_mutex_lock(&lock);
	TAILQ_INSERT_TAIL(&all, shown, next);
	pthread_mutex_unlock(&lock);
	commands_register();
}

void
rdmo_telemetry_remove(struct rdmo_shown *shown)
{
	pthread_mutex_lock(&lock);
	TAILQ_REMOVE(&all, shown, next);
	pthread_mutex_unlock(&lock);
}

void
rdmo_telemetry_add_log(struct rdmo_shown_log *shown)
{
	pthread_mutex_lock(&lock);
	TAILQ_INSERT_TAIL(&logs, shown, next);
	pthread_mutex_unlock(&lock);
	commands_register();
}

void
rdmo_telemetry_remove_log(struct rdmo_shown_log *shown)
{
	pthread_mutex_lock(&lock);
	TAILQ_REMOVE(&logs, shown, next);
	pthread_mutex_unlock(&lock);
}
