/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <unistd.h>

#include <rte_common.h>
#include <rte_malloc.h>

#include "crew.h"
#include "end.h"

#define ASK_US	20    /* between two looks whether it is done */
#define LOOK_US 20000 /* between two looks what else has ended meanwhile */

int
rdmo_crew_open(struct rdmo_crew *crew, struct rdmapmd_pd *pd, const struct rdmo_lane_attr *attr,
	       uint32_t count, int ended_fd)
{
	struct rdmo_lane_place place = {
		.count = count,
		.ended_fd = ended_fd,
		.is_told = &crew->is_told,
	};
	int rc = 0;

	/* Each on cache lines of its own. */
	crew->lanes = rte_calloc("rdmo", count, sizeof(*crew->lanes), RTE_CACHE_LINE_SIZE);
	if (crew->lanes == NULL)
		return -ENOMEM;
	place.lanes = crew->lanes;
	for (; place.index < count && rc == 0; place.index++)
		rc = rdmo_lane_open(&crew->lanes[place.index], pd, attr, &place);
	crew->count = count;
	pthread_mutex_init(&crew->places, NULL);
	if (rc != 0)
		rdmo_crew_close(crew);
	return rc;
}

void
rdmo_crew_close(struct rdmo_crew *crew)
{
	for (uint32_t i = 0; i < crew->count; i++)
		rdmo_lane_close(&crew->lanes[i]);
	rte_free(crew->lanes);
	pthread_mutex_destroy(&crew->places);
}

/* How many connections a lane has, and a free place. */
static uint32_t
lane_count(struct rdmo_lane *lane, struct rdmo_peer **place)
{
	uint32_t count = 0;

	*place = NULL;
	for (uint32_t i = 0; i < lane->peer_count; i++)
		if (lane->peers[i].qp != NULL)
			count++;
		else if (*place == NULL)
			*place = &lane->peers[i];
	return count;
}

struct rdmo_peer *
rdmo_crew_place(struct rdmo_crew *crew, struct rdmo_lane *lane)
{
	struct rdmo_peer *place, *best = NULL;
	uint32_t fewest = UINT32_MAX;

	if (lane != NULL) {
		lane_count(lane, &place);
		return place;
	}
	for (uint32_t i = 0; i < crew->count; i++) {
		const uint32_t count = lane_count(&crew->lanes[i], &place);

		if (place == NULL || count >= fewest)
			continue;
		fewest = count;
		best = place;
	}
	return best;
}

struct rdmo_lane *
rdmo_crew_lane(struct rdmo_crew *crew)
{
	struct rdmo_lane *best = &crew->lanes[0];

	for (uint32_t i = 1; i < crew->count; i++)
		if (crew->lanes[i].remote_count < best->remote_count)
			best = &crew->lanes[i];
	return best;
}

/* Of one that the lcore counts meanwhile. */
static uint64_t
counter_read(const uint64_t *counter)
{
	return __atomic_load_n(counter, __ATOMIC_RELAXED);
}

void
rdmo_crew_stats(const struct rdmo_crew *crew, uint32_t first, uint32_t count,
		struct rdmo_lane_stats *sum)
{
	*sum = (struct rdmo_lane_stats){ 0 };
	for (uint32_t i = first; i < first + count; i++) {
		const struct rdmo_lane_stats *lane = &crew->lanes[i].stats;

		sum->messages += counter_read(&lane->messages);
		sum->operations += counter_read(&lane->operations);
		sum->refused += counter_read(&lane->refused);
		sum->answers += counter_read(&lane->answers);
		sum->closed += counter_read(&lane->closed);
		sum->connections += counter_read(&lane->connections);
		sum->handed_over += counter_read(&lane->handed_over);
	}
}

/* A lane may wait for READs of a connection that has ended, and who would end its queue pair waits for the lane. */
static void
ended_break(struct rdmo_crew *crew)
{
	for (uint32_t i = 0; i < crew->count; i++)
		for (uint32_t k = 0; k < crew->lanes[i].peer_count; k++) {
			struct rdmo_peer *peer = &crew->lanes[i].peers[k];

			if (peer->qp == NULL || peer->is_broken || !rdmo_peer_has_ended(peer))
				continue;
			peer->is_broken = true;
			rdmo_end_break(peer->qp);
		}
}

/* Ask `count` lanes from `first` on, all at once. */
static int
lanes_ask(struct rdmo_crew *crew, struct rdmo_lane *first, uint32_t count,
	  const struct rdmo_task *what)
{
	struct rdmo_task tasks[RDMO_LCORES_MAX];
	uint32_t waited = 0;
	int rc = 0;

	for (uint32_t i = 0; i < count; i++) {
		tasks[i] = *what;
		rdmo_lane_ask(&first[i], &tasks[i]);
	}
	for (uint32_t i = 0; i < count; i++) {
		while (!rdmo_task_is_done(&tasks[i])) {
			if (!atomic_load_explicit(&crew->is_alone, memory_order_acquire)) {
				usleep(ASK_US);
				if (++waited % (LOOK_US / ASK_US) == 0)
					ended_break(crew);
				continue;
			}
			ended_break(crew);
			for (uint32_t k = 0; k < crew->count; k++)
				rdmo_lane_idle(&crew->lanes[k]);
		}
		if (tasks[i].rc != 0)
			rc = tasks[i].rc;
	}
	return rc;
}

int
rdmo_crew_ask_lane(struct rdmo_crew *crew, struct rdmo_lane *lane, enum rdmo_task_kind kind,
		   void *object)
{
	return lanes_ask(crew, lane, 1, &(struct rdmo_task){ .kind = kind, .object = object });
}

int
rdmo_crew_ask(struct rdmo_crew *crew, enum rdmo_task_kind kind, void *object, uint64_t number)
{
	const struct rdmo_task what = { .kind = kind, .object = object, .number = number };

	return lanes_ask(crew, crew->lanes, crew->count, &what);
}
