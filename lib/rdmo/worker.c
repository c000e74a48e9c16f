/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <rte_cycles.h>

#include <rdmapmd.h>

#include "end.h"
#include "rdmo.h"
#include "worker.h"

#define OR(value, otherwise) ((value) != 0 ? (value) : (otherwise))

#define RECEIVES_MAX 32752
#define REGIONS_MAX  65536
#define REMOTES_MAX  1024
#define WAIT_MAX_US  10000000

static int
attr_check(const struct rdmo_worker_attr *attr, struct rdmo_lane_attr *lane)
{
	*lane = (struct rdmo_lane_attr){
		.receives = OR(attr->receives, 512),
		.credits = OR(attr->credits, 16),
		.receive_bytes = OR(attr->receive_bytes, 4096),
		.max_regions = OR(attr->max_regions, 1024),
		.wait_cycles = attr->wait_us * rte_get_timer_hz() / US_PER_S,
	};
	if (!rdmo_end_may_be(attr->gid_index, lane->credits, lane->receive_bytes) ||
	    lane->receives < lane->credits || lane->receives > RECEIVES_MAX ||
	    lane->max_regions > REGIONS_MAX || attr->lcores > RDMO_LCORES_MAX ||
	    attr->remote_targets > REMOTES_MAX || attr->wait_us > WAIT_MAX_US)
		return -EINVAL;
	return 0;
}

static int
worker_open(struct rdmo_worker *worker, struct rdmapmd_pd *pd, const struct rdmo_worker_attr *attr,
	    const struct rdmo_lane_attr *lane)
{
	const int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	int rc;

	if (fd < 0)
		return -errno;
	worker->server.wake_fd = fd;
	worker->server.house = (struct rdmo_house){
		.pd = pd,
		.crew = &worker->crew,
		.gid_index = attr->gid_index,
		.max_remotes = OR(attr->remote_targets, 16),
	};
	rc = rdmo_crew_open(&worker->crew, pd, lane, OR(attr->lcores, 1), fd);
	if (rc == 0) {
		rc = rdmo_server_start(&worker->server,
				       attr->address != NULL ? attr->address : RDMO_ADDRESS);
		if (rc == 0)
			return 0;
		rdmo_crew_close(&worker->crew);
	}
	close(fd);
	return rc;
}

int
rdmo_worker_create(struct rdmapmd_pd *pd, const struct rdmo_worker_attr *attr,
		   struct rdmo_worker **worker)
{
	static const struct rdmo_worker_attr defaults = { 0 };
	struct rdmo_lane_attr lane;
	struct rdmo_worker *made;
	int rc;

	if (pd == NULL || worker == NULL)
		return -EINVAL;
	if (attr == NULL)
		attr = &defaults;
	rc = attr_check(attr, &lane);
	if (rc != 0)
		return rc;
	made = calloc(1, sizeof(*made));
	if (made == NULL)
		return -ENOMEM;
	rc = worker_open(made, pd, attr, &lane);
	if (rc != 0) {
		free(made);
		return rc;
	}
	made->shown.address = made->server.address;
	made->shown.crew = &made->crew;
	rdmo_telemetry_add(&made->shown);
	*worker = made;
	return 0;
}

int
rdmo_worker_destroy(struct rdmo_worker *worker)
{
	if (worker == NULL)
		return 0;
	if (atomic_load(&worker->server.house.targets) > 0)
		return -EBUSY;
	rdmo_telemetry_remove(&worker->shown);
	atomic_store(&worker->crew.is_alone, true);
	rdmo_server_stop(&worker->server);
	rdmo_crew_close(&worker->crew);
	close(worker->server.wake_fd);
	free(worker);
	return 0;
}

const char *
rdmo_worker_address(const struct rdmo_worker *worker)
{
	return worker->server.address;
}

uint32_t
rdmo_worker_poll(struct rdmo_worker *worker, uint32_t i)
{
	return i < worker->crew.count ? rdmo_lane_poll(&worker->crew.lanes[i]) : 0;
}

int
rdmo_worker_stats(const struct rdmo_worker *worker, struct rdmo_worker_stats *stats)
{
	struct rdmo_lane_stats sum;

	if (worker == NULL || stats == NULL)
		return -EINVAL;
	rdmo_crew_stats(&worker->crew, 0, worker->crew.count, &sum);
	*stats = (struct rdmo_worker_stats){
		.messages = sum.messages,
		.operations = sum.operations,
		.refused = sum.refused,
		.answers = sum.answers,
		.closed = sum.closed,
		.connections = sum.connections,
	};
	return 0;
}
