/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rdmapmd.h>

#include "end.h"
#include "fetch.h"
#include "log.h"
#include "session.h"

#define QUEUES_MAX 1024 /* of a target: each HELLO looks at all of them */

struct rdmo_session *
rdmo_session_new(int fd, bool is_local, uint64_t deadline_ms)
{
	struct rdmo_session *session = calloc(1, sizeof(*session));

	if (session == NULL) {
		close(fd);
		return NULL;
	}
	session->fd = fd;
	session->is_local = is_local;
	session->deadline_ms = deadline_ms;
	rdmo_stream_begin(&session->in, false);
	TAILQ_INIT(&session->queues);
	TAILQ_INIT(&session->regions);
	return session;
}

/* ---- Ends ---- */

/* It has its place by that; NULL: no more. */
static void
peer_place(struct rdmo_house *house, struct rdmo_peer *peer, struct rdmapmd_qp *qp)
{
	pthread_mutex_lock(&house->crew->places);
	peer->qp = qp;
	pthread_mutex_unlock(&house->crew->places);
}

/*
 * A message may lie in the CQ, in a receive of the SRQ that nobody else knows of, and destroying the queue pair would drop it. In
 * state ERR no further one comes, so that the lane can look at all of them first.
 */
static void
peer_end(struct rdmo_house *house, struct rdmo_peer *peer)
{
	/* A lane may wait for a READ of it. */
	rdmo_end_break(peer->qp);
	rdmo_crew_ask_lane(house->crew, peer->home, RDMO_TASK_DROP_PEER, peer);
	rdmo_crew_ask_lane(house->crew, peer->home, RDMO_TASK_SWEEP, NULL);
	rdmapmd_qp_destroy(peer->qp);
	peer_place(house, peer, NULL);
}

static void
entry_free(struct rdmo_region_entry *entry)
{
	if (entry->mr != NULL)
		rdmapmd_mr_dereg(entry->mr);
	rdmo_shadow_close(&entry->shadow);
	free(entry);
}

static void
region_end(struct rdmo_house *house, struct rdmo_session *session, struct rdmo_region_entry *entry)
{
	rdmo_crew_ask(house->crew, RDMO_TASK_TAKE_REGION, &entry->region, 0);
	TAILQ_REMOVE(&session->regions, entry, next);
	entry_free(entry);
}

/* Nothing of its memory is in use any more. */
static void
remote_end(struct rdmo_house *house, struct rdmo_remote *remote)
{
	rdmo_crew_ask_lane(house->crew, remote->lane, RDMO_TASK_DROP_REMOTE, remote);
	remote->lane->remote_count--;
	rdmo_remote_close(remote);
	house->remotes--;
}

static void
target_end(struct rdmo_house *house, struct rdmo_session *session)
{
	struct rdmo_rq_entry *queue;

	/* Its lane may wait for it: for as long as a queue pair tries. */
	if (session->remote != NULL)
		rdmo_remote_cut(session->remote);
	rdmo_crew_ask(house->crew, RDMO_TASK_LOSE_CLIENT, NULL, session->client);
	while (!TAILQ_EMPTY(&session->regions))
		region_end(house, session, TAILQ_FIRST(&session->regions));
	while ((queue = TAILQ_FIRST(&session->queues)) != NULL) {
		TAILQ_REMOVE(&session->queues, queue, next);
		free(queue);
	}
	if (session->remote != NULL)
		remote_end(house, session->remote);
	else
		atomic_fetch_sub(&house->targets, 1);
}

void
rdmo_session_end(struct rdmo_house *house, struct rdmo_session *session)
{
	if (session->peer != NULL)
		peer_end(house, session->peer);
	if (session->kind == RDMO_SESSION_TARGET)
		target_end(house, session);
	TAILQ_REMOVE(&house->sessions, session, next);
	/* Who waits for the end of its stream waits for all of this. */
	close(session->fd);
	free(session);
}

/* ---- Commands of a target ---- */

/* A target in this process is where the worker is. */
static enum rdmo_status
local_begin(struct rdmo_house *house, struct rdmo_addr *own)
{
	if (rdmo_end_tell(house->pd->context, house->gid_index, 0, 0, 0, own) != 0)
		return RDMO_STATUS_NOTSUP;
	atomic_fetch_add(&house->targets, 1);
	return RDMO_STATUS_OK;
}

/* To another one a queue pair goes. */
static enum rdmo_status
remote_begin(struct rdmo_house *house, struct rdmo_session *session, const struct rdmo_addr *theirs,
	     struct rdmo_addr *own)
{
	struct rdmo_lane *lane = rdmo_crew_lane(house->crew);
	int rc;

	if (house->remotes == house->max_remotes)
		return RDMO_STATUS_FULL;
	rc = rdmo_remote_open(lane, house->pd, house->gid_index, theirs, own, &session->remote);
	if (rc != 0) {
		RDMO_LOG(ERR, "a target in another process cannot be connected: %s", strerror(-rc));
		return rc == -ENOMEM ? RDMO_STATUS_FULL : RDMO_STATUS_BOUNDS;
	}
	house->remotes++;
	lane->remote_count++;
	rdmo_crew_ask_lane(house->crew, lane, RDMO_TASK_ADD_REMOTE, session->remote);
	return RDMO_STATUS_OK;
}

static enum rdmo_status
client_init(struct rdmo_house *house, struct rdmo_session *session,
	    const struct rdmo_command *command)
{
	struct rdmo_addr addr;
	enum rdmo_status status;

	if (session->kind != RDMO_SESSION_NEW)
		return RDMO_STATUS_CLIENT;
	status = session->is_local ? local_begin(house, &addr)
				   : remote_begin(house, session, command->addr, &addr);
	if (status != RDMO_STATUS_OK)
		return status;
	session->kind = RDMO_SESSION_TARGET;
	session->id = rte_le_to_cpu_64(command->client_init->id);
	session->client = ++house->clients;
	session->out_count = rdmo_client_init_done_write(session->out, command->tag, &addr);
	return RDMO_STATUS_OK;
}

static struct rdmo_rq_entry *
queue_find(const struct rdmo_session *session, uint64_t rq_id)
{
	struct rdmo_rq_entry *queue;

	TAILQ_FOREACH(queue, &session->queues, next)
		if (queue->rq_id == rq_id)
			return queue;
	return NULL;
}

static uint32_t
queues_count(const struct rdmo_session *session)
{
	const struct rdmo_rq_entry *queue;
	uint32_t count = 0;

	TAILQ_FOREACH(queue, &session->queues, next)
		count++;
	return count;
}

/* Takes as long for a secret that is wrong at its beginning as for another one. */
static bool
secret_is(const uint8_t *a, const uint8_t *b)
{
	uint8_t differs = 0;

	for (uint32_t i = 0; i < RDMO_SECRET_BYTES; i++)
		differs |= a[i] ^ b[i];
	return differs == 0;
}

/* Whom does it let in? Who has its secret; without any, who comes with just the address that the target has named. */
static bool
queue_admits(const struct rdmo_rq_entry *queue, const uint8_t *secret, const struct rdmo_addr *addr)
{
	static const uint8_t none[RDMO_SECRET_BYTES];

	return secret_is(queue->secret, secret) &&
	       (!secret_is(secret, none) || memcmp(&queue->addr, addr, sizeof(*addr)) == 0);
}

/* Who has a receive queue that lets this one in, and which one; NULL. */
static struct rdmo_session *
target_of(struct rdmo_house *house, const uint8_t *secret, const struct rdmo_addr *addr,
	  const struct rdmo_rq_entry **its)
{
	struct rdmo_session *session, *found = NULL;
	const struct rdmo_rq_entry *queue;

	*its = NULL;
	TAILQ_FOREACH(session, &house->sessions, next)
		TAILQ_FOREACH(queue, &session->queues, next)
			if (queue_admits(queue, secret, addr)) {
				*its = queue;
				found = session;
			}
	return found;
}

static enum rdmo_status
rq_create(struct rdmo_house *house, struct rdmo_session *session,
	  const struct rdmo_command *command)
{
	const uint8_t *secret = command->rq_create->secret;
	const struct rdmo_rq_entry *other;
	struct rdmo_rq_entry *queue;

	if (command->addr != NULL && command->addr->qpn == 0)
		return RDMO_STATUS_BOUNDS;
	if (queues_count(session) == QUEUES_MAX)
		return RDMO_STATUS_FULL;
	/* Who brings a secret is let in by one queue: initiators know it, too, and are no targets. */
	if (target_of(house, secret, command->addr, &other) != NULL)
		return RDMO_STATUS_TAIL;
	queue = calloc(1, sizeof(*queue));
	if (queue == NULL)
		return RDMO_STATUS_FULL;
	queue->rq_id = ++house->queues;
	memcpy(queue->secret, secret, sizeof(queue->secret));
	if (command->addr != NULL)
		queue->addr = *command->addr;
	TAILQ_INSERT_TAIL(&session->queues, queue, next);
	session->out_count =
		rdmo_done_write(session->out, RDMO_CMD_RQ_CREATE, command->tag, queue->rq_id);
	return RDMO_STATUS_OK;
}

static enum rdmo_status
rq_destroy(struct rdmo_house *house, struct rdmo_session *session,
	   const struct rdmo_command *command)
{
	const uint64_t rq_id = rte_le_to_cpu_64(command->rq->rq_id);
	struct rdmo_rq_entry *queue = queue_find(session, rq_id);
	struct rdmo_session *other, *after;

	if (queue == NULL)
		return RDMO_STATUS_KEY;
	TAILQ_REMOVE(&session->queues, queue, next);
	free(queue);
	for (other = TAILQ_FIRST(&house->sessions); other != NULL; other = after) {
		after = TAILQ_NEXT(other, next);
		if (other->peer != NULL && other->peer->flow.rq_id == rq_id)
			rdmo_session_end(house, other);
	}
	session->out_count =
		rdmo_done_write(session->out, RDMO_CMD_RQ_DESTROY, command->tag, rq_id);
	return RDMO_STATUS_OK;
}

/* Does somebody append to a log in these bytes, as far as can be known of other processes? */
static bool
log_is_served(const struct rdmo_house *house, const struct rdmo_region *region)
{
	const struct rdmo_session *session;
	const struct rdmo_region_entry *entry;

	TAILQ_FOREACH(session, &house->sessions, next)
		TAILQ_FOREACH(entry, &session->regions, next)
			if (entry->region.is_log && entry->region.remote == region->remote &&
			    entry->region.va < region->va + region->len &&
			    region->va < entry->region.va + entry->region.len)
				return true;
	return false;
}

/* Nobody writes to a log but by appending. */
static enum rdmo_status
log_begin(const struct rdmo_house *house, struct rdmo_region_entry *entry)
{
	struct rdmo_region *region = &entry->region;

	if ((region->rights & (RDMO_RIGHT_WRITE | RDMO_RIGHT_ATOMIC)) != 0)
		return RDMO_STATUS_RIGHTS;
	if (log_is_served(house, region))
		return RDMO_STATUS_TAIL;
	if (region->remote != NULL)
		return rdmo_shadow_open(&entry->shadow, house->crew, house->pd, region);
	return rdmo_region_begin_log(region, (void *)(uintptr_t)region->va);
}

/* A region that is in no list yet. */
static enum rdmo_status
region_put(const struct rdmo_house *house, struct rdmo_region_entry *entry, uint32_t tail_mode)
{
	struct rdmo_region *region = &entry->region;
	enum rdmo_status status = RDMO_STATUS_OK;

	if (tail_mode == RDMO_TAIL_LOG)
		status = log_begin(house, entry);
	else if (tail_mode == RDMO_TAIL_SHARED)
		rdmo_region_begin_shared(region);
	if (status == RDMO_STATUS_OK &&
	    rdmo_crew_ask(house->crew, RDMO_TASK_PUT_REGION, region, 0) != 0) {
		/* Of those that had room. */
		rdmo_crew_ask(house->crew, RDMO_TASK_TAKE_REGION, region, 0);
		status = RDMO_STATUS_FULL;
	}
	return status;
}

/* Of memory here: that payloads can be fetched into it. What the device does not take is offered all the same, without that. */
static void
entry_register(const struct rdmo_house *house, struct rdmo_region_entry *entry)
{
	struct rdmo_region *region = &entry->region;

	if (region->remote != NULL ||
	    (region->rights & (RDMO_RIGHT_APPEND | RDMO_RIGHT_WRITE)) == 0)
		return;
	if (rdmapmd_mr_reg(house->pd, (void *)(uintptr_t)region->va, region->len,
			   RDMAPMD_ACCESS_LOCAL_WRITE, &entry->mr) != 0) {
		RDMO_LOG(NOTICE,
			 "the worker's device does not register a region of %" PRIu64
			 " bytes: operations with PULL will be refused there",
			 region->len);
		return;
	}
	region->lkey = entry->mr->lkey;
	region->is_fetchable = true;
}

static enum rdmo_status
mr_reg(struct rdmo_house *house, struct rdmo_session *session, const struct rdmo_command *command)
{
	const struct rdmo_mr_reg *reg = command->mr_reg;
	struct rdmo_region_entry *entry;
	enum rdmo_status status;
	uint64_t key;

	if (reg->rq_id != 0 && queue_find(session, rte_le_to_cpu_64(reg->rq_id)) == NULL)
		return RDMO_STATUS_KEY;
	entry = calloc(1, sizeof(*entry));
	if (entry == NULL || rdmo_random_number(&key) != 0) {
		free(entry);
		return RDMO_STATUS_FULL;
	}
	entry->region = (struct rdmo_region){
		.key = key,
		.client = session->client,
		.rq_id = rte_le_to_cpu_64(reg->rq_id),
		.va = rte_le_to_cpu_64(reg->va),
		.len = rte_le_to_cpu_64(reg->len),
		.rights = rte_le_to_cpu_32(reg->rights),
		.remote = session->remote,
		.rkey = command->rkey,
		.bell = session->is_local ? command->rkey : 0,
	};
	entry_register(house, entry);
	status = region_put(house, entry, rte_le_to_cpu_32(reg->tail_mode));
	if (status != RDMO_STATUS_OK) {
		entry_free(entry);
		return status;
	}
	TAILQ_INSERT_TAIL(&session->regions, entry, next);
	session->out_count =
		rdmo_done_write(session->out, RDMO_CMD_MR_REG, command->tag, entry->region.key);
	return RDMO_STATUS_OK;
}

static struct rdmo_region_entry *
region_find(const struct rdmo_session *session, uint64_t key)
{
	struct rdmo_region_entry *entry;

	TAILQ_FOREACH(entry, &session->regions, next)
		if (entry->region.key == key)
			return entry;
	return NULL;
}

static enum rdmo_status
mr_dereg(struct rdmo_house *house, struct rdmo_session *session, const struct rdmo_command *command)
{
	const uint64_t key = rte_le_to_cpu_64(command->mr->rkey);
	struct rdmo_region_entry *entry = region_find(session, key);

	if (entry == NULL)
		return RDMO_STATUS_KEY;
	region_end(house, session, entry);
	session->out_count = rdmo_done_write(session->out, RDMO_CMD_MR_DEREG, command->tag, key);
	return RDMO_STATUS_OK;
}

/* Who has the tail of a queue. Nobody yet: then the first lane, from now on. */
static struct rdmo_lane *
tail_lane(const struct rdmo_house *house, struct rdmo_region *region)
{
	unsigned int owner = 0;

	if (region->remote != NULL)
		return region->remote->lane;
	atomic_compare_exchange_strong(&region->owner, &owner, 1);
	return &house->crew->lanes[owner == 0 ? 0 : owner - 1];
}

static enum rdmo_status
tail_hold(struct rdmo_house *house, struct rdmo_session *session,
	  const struct rdmo_command *command)
{
	const uint64_t key = rte_le_to_cpu_64(command->tail_hold->rkey);
	struct rdmo_region_entry *entry = region_find(session, key);

	if (entry == NULL)
		return RDMO_STATUS_KEY;
	if (entry->region.is_log || entry->region.is_shared)
		return RDMO_STATUS_NOTSUP;
	rdmo_crew_ask_lane(house->crew, tail_lane(house, &entry->region),
			   command->tail_hold->is_held != 0 ? RDMO_TASK_HOLD_TAIL
							    : RDMO_TASK_FREE_TAIL,
			   &entry->region);
	session->out_count = rdmo_done_write(session->out, RDMO_CMD_TAIL, command->tag, key);
	return RDMO_STATUS_OK;
}

/* ---- An initiator's command ---- */

/* A producer has one connection. An older one ends: who comes again may have lost it before this end has seen that. */
static enum rdmo_status
producer_take(struct rdmo_house *house, uint64_t client, uint64_t rq_id, uint32_t producer)
{
	struct rdmo_session *other;

	if (producer == RDMO_NO_PRODUCER)
		return RDMO_STATUS_OK;
	TAILQ_FOREACH(other, &house->sessions, next)
		if (other->peer != NULL && other->peer->flow.client == client &&
		    other->peer->flow.producer == producer)
			break;
	if (other == NULL)
		return RDMO_STATUS_OK;
	/* Another secret does not let in for it. */
	if (other->peer->flow.rq_id != rq_id)
		return RDMO_STATUS_RIGHTS;
	rdmo_session_end(house, other);
	return RDMO_STATUS_OK;
}

/* Where a producer goes on: behind what it has in all the logs that it may append to. */
static uint64_t
producer_seq(const struct rdmo_session *target, uint64_t rq_id, uint32_t producer)
{
	const struct rdmo_region_entry *entry;
	uint64_t seq = 1;

	TAILQ_FOREACH(entry, &target->regions, next)
		if (entry->region.is_log &&
		    (entry->region.rq_id == 0 || entry->region.rq_id == rq_id))
			seq = RTE_MAX(seq, rdmo_region_next_seq(&entry->region, producer));
	return seq;
}

/* Of a queue that is for one initiator: an older connection of it ends. */
static void
named_take(struct rdmo_house *house, uint64_t rq_id)
{
	struct rdmo_session *other;

	TAILQ_FOREACH(other, &house->sessions, next)
		if (other->peer != NULL && other->peer->flow.rq_id == rq_id)
			break;
	if (other != NULL)
		rdmo_session_end(house, other);
}

static int
peer_qp(struct rdmo_house *house, const struct rdmo_lane *lane, struct rdmapmd_qp **qp)
{
	struct rdmapmd_qp_init_attr attr = {
		.send_cq = lane->cq,
		.recv_cq = lane->cq,
		.srq = lane->srq,
		.td = lane->td,
		.qp_type = RDMAPMD_QPT_RC,
		.cap = { .max_send_wr = RDMO_ANSWERS + RDMO_READS, .max_send_sge = 1 },
	};

	return rdmapmd_qp_create(house->pd, &attr, qp);
}

/* Its queue pair, connected. */
static enum rdmo_status
peer_connect(struct rdmo_house *house, struct rdmo_peer *peer, const struct rdmo_addr *theirs,
	     struct rdmo_addr *own, struct rdmapmd_qp **made)
{
	const struct rdmo_lane_attr *attr = &peer->home->attr;
	struct rdmapmd_qp *qp;
	int rc;

	rc = peer_qp(house, peer->home, &qp);
	if (rc != 0) {
		RDMO_LOG(ERR, "no queue pair for an initiator: %s", strerror(-rc));
		return RDMO_STATUS_FULL;
	}
	rc = rdmo_end_tell(house->pd->context, house->gid_index, qp->qp_num, attr->credits,
			   attr->receive_bytes, own);
	if (rc == 0)
		rc = rdmo_end_connect(qp, house->gid_index, own, theirs, 0);
	if (rc == 0)
		rc = rdmo_random_number(&peer->session);
	if (rc != 0) {
		RDMO_LOG(ERR, "an initiator cannot be connected: %s", strerror(-rc));
		rdmapmd_qp_destroy(qp);
		return RDMO_STATUS_BOUNDS;
	}
	*made = qp;
	return RDMO_STATUS_OK;
}

/* All but its queue pair. */
static void
peer_begin(struct rdmo_peer *peer, const struct rdmo_session *target, uint64_t rq_id,
	   const struct rdmo_command *command)
{
	const struct rdmo_hello *hello = command->hello;
	const uint32_t theirs = rte_le_to_cpu_32(command->addr->receive_bytes);

	rdmo_flow_begin(&peer->flow, target->id, target->client, rq_id);
	peer->flow.producer = rte_le_to_cpu_32(hello->producer);
	peer->flow.replayed = rte_le_to_cpu_64(hello->next_seq);
	peer->flow.may_wait = peer->home->attr.wait_cycles > 0;
	peer->granted = peer->told = peer->home->attr.credits;
	peer->may_send = rte_le_to_cpu_32(command->addr->credits);
	peer->turn = target->remote != NULL ? &target->remote->active : &peer->home->active;
	peer->answer_bytes = RTE_MIN(theirs, peer->home->attr.receive_bytes) & ~UINT32_C(7);
	peer->flow.gather_bytes = rdmo_gathered_max(peer->answer_bytes);
	peer->next_seq = rte_le_to_cpu_64(hello->first_seq);
	if (peer->next_seq == 0)
		peer->next_seq = producer_seq(target, rq_id, peer->flow.producer);
}

static enum rdmo_status
initiator_hello(struct rdmo_house *house, struct rdmo_session *session,
		const struct rdmo_command *command)
{
	const struct rdmo_rq_entry *queue;
	const struct rdmo_session *target;
	struct rdmapmd_qp *qp;
	enum rdmo_status status;
	struct rdmo_peer *peer;
	struct rdmo_addr own;
	uint64_t rq_id;

	if (session->kind != RDMO_SESSION_NEW || session->is_local)
		return RDMO_STATUS_CLIENT;
	target = target_of(house, command->hello->secret, command->addr, &queue);
	if (target == NULL)
		return RDMO_STATUS_KEY;
	rq_id = queue->rq_id;
	if (queue->addr.qpn != 0)
		named_take(house, rq_id);
	status = producer_take(house, target->client, rq_id,
			       rte_le_to_cpu_32(command->hello->producer));
	if (status != RDMO_STATUS_OK)
		return status;
	peer = rdmo_crew_place(house->crew, target->remote != NULL ? target->remote->lane : NULL);
	if (peer == NULL)
		return RDMO_STATUS_FULL;
	/* Without a queue pair nobody looks at it; who looks at others is not in the middle of that. */
	pthread_mutex_lock(&house->crew->places);
	*peer = (struct rdmo_peer){ .home = peer->home, .slot = peer->slot };
	pthread_mutex_unlock(&house->crew->places);
	rdmo_peer_begin(peer);
	status = peer_connect(house, peer, command->addr, &own, &qp);
	if (status != RDMO_STATUS_OK)
		return status;
	peer_begin(peer, target, rq_id, command);
	peer_place(house, peer, qp);
	session->kind = RDMO_SESSION_INITIATOR;
	session->peer = peer;
	session->out_count = rdmo_hello_done_write(session->out, command->tag, peer->session,
						   peer->next_seq, &own);
	rdmo_crew_ask_lane(house->crew, peer->home, RDMO_TASK_ADD_PEER, peer);
	return RDMO_STATUS_OK;
}

/* ---- Events ---- */

bool
rdmo_session_event(struct rdmo_session *session)
{
	struct rdmo_region_entry *entry;
	uint64_t count;

	TAILQ_FOREACH(entry, &session->regions, next) {
		/* Partner: the lane that has counted it, when it was visible. */
		count = atomic_exchange_explicit(&entry->region.notified, 0, memory_order_acquire);
		if (count == 0)
			continue;
		/* The others have their turn first. */
		TAILQ_REMOVE(&session->regions, entry, next);
		TAILQ_INSERT_TAIL(&session->regions, entry, next);
		session->out_count = rdmo_event_write(session->out, entry->region.key, count);
		session->out_sent = 0;
		return true;
	}
	return false;
}

/* ---- Commands ---- */

static enum rdmo_status
command_execute(struct rdmo_house *house, struct rdmo_session *session,
		const struct rdmo_command *command)
{
	if (command->status != RDMO_STATUS_OK)
		return command->status;
	if (command->kind == RDMO_CMD_CLIENT_INIT)
		return client_init(house, session, command);
	if (command->kind == RDMO_CMD_HELLO)
		return initiator_hello(house, session, command);
	if (session->kind != RDMO_SESSION_TARGET)
		return RDMO_STATUS_CLIENT;
	switch (command->kind) {
	case RDMO_CMD_RQ_CREATE: return rq_create(house, session, command);
	case RDMO_CMD_RQ_DESTROY: return rq_destroy(house, session, command);
	case RDMO_CMD_MR_REG: return mr_reg(house, session, command);
	case RDMO_CMD_TAIL: return tail_hold(house, session, command);
	default: return mr_dereg(house, session, command);
	}
}

void
rdmo_session_command(struct rdmo_house *house, struct rdmo_session *session)
{
	struct rdmo_command command;
	enum rdmo_status status;

	rdmo_command_read(&session->in, &command);
	status = command_execute(house, session, &command);
	if (status != RDMO_STATUS_OK) {
		session->out_count =
			rdmo_refused_write(session->out, command.kind, command.tag, status);
		/* Who is not let in goes; a target may ask for something else. */
		session->is_ending = session->kind != RDMO_SESSION_TARGET;
	}
	session->out_sent = 0;
	rdmo_stream_next(&session->in);
}
