/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <rte_common.h>
#include <rte_cycles.h>

#include <rdmapmd.h>

#include "log.h"
#include "mail.h"
#include "peer.h"
#include "rdmo.h"

/* Bytes of the longest answer to one operation. */
#define ANSWER_BYTES ((uint32_t)(sizeof(struct rdmo_rsp_hdr) + sizeof(struct rdmo_flush_rsp)))

/* Connections that are taken from the mail at once. */
#define BURST 32

/* ---- Messages that wait ---- */

static void
chain_add(const struct rdmo_peer *peer, struct rdmo_chain *chain, uint32_t receive)
{
	struct rdmo_inbox *inbox = peer->home->inbox;

	inbox[receive].next = RDMO_LANE_NONE;
	if (chain->first == RDMO_LANE_NONE)
		chain->first = receive;
	else
		inbox[chain->last].next = receive;
	chain->last = receive;
}

static uint32_t
chain_take(const struct rdmo_peer *peer, struct rdmo_chain *chain)
{
	const uint32_t receive = chain->first;

	chain->first = peer->home->inbox[receive].next;
	return receive;
}

/* At home alone. Returns how many. */
static uint32_t
chain_give_back(struct rdmo_lane *lane, struct rdmo_peer *peer, struct rdmo_chain *chain)
{
	uint32_t count = 0;

	for (; chain->first != RDMO_LANE_NONE; count++)
		rdmo_lane_give_back(lane, chain_take(peer, chain));
	return count;
}

/* All that has come while the connection was away waits as well. */
static void
chain_append_late(struct rdmo_peer *peer)
{
	if (peer->late.first == RDMO_LANE_NONE)
		return;
	if (peer->waiting.first == RDMO_LANE_NONE)
		peer->waiting.first = peer->late.first;
	else
		peer->home->inbox[peer->waiting.last].next = peer->late.first;
	peer->waiting.last = peer->late.last;
	peer->late.first = RDMO_LANE_NONE;
}

void
rdmo_peer_begin(struct rdmo_peer *peer)
{
	peer->waiting.first = peer->executed.first = peer->late.first = RDMO_LANE_NONE;
	peer->elsewhere = RDMO_HERE;
	peer->free_answers = (1 << RDMO_ANSWERS) - 1;
	peer->untold = 0;
	peer->next_seq = 1;
}

static void
peer_activate(struct rdmo_peer *peer)
{
	if (peer->is_away || peer->is_active || peer->state != RDMO_PEER_OPEN)
		return;
	peer->is_active = true;
	TAILQ_INSERT_TAIL(peer->turn, peer, next);
}

/* Has it credits that it should know of: half of them, so that two ends which tell each other come to an end. */
static bool
peer_owes_credits(const struct rdmo_lane *lane, const struct rdmo_peer *peer)
{
	return peer->granted - peer->told >= lane->attr.credits / 2;
}

/* ---- Answers ---- */

static uint8_t *
answer_at(const struct rdmo_lane *lane, const struct rdmo_peer *peer, uint32_t answer)
{
	const size_t index = lane->receives + (size_t)peer->slot * RDMO_ANSWERS + answer;

	return lane->memory + index * lane->attr.receive_bytes;
}

/* Has it a buffer, and a receive, for one more message? */
static bool
answer_is_possible(const struct rdmo_peer *peer)
{
	return peer->free_answers != 0 && peer->sent != peer->may_send;
}

static void
answer_begin(struct rdmo_lane *lane, struct rdmo_peer *peer)
{
	peer->answer = (uint32_t)__builtin_ctz(peer->free_answers);
	rdmo_writer_begin(&peer->writer, answer_at(lane, peer, peer->answer), peer->answer_bytes,
			  RDMO_MSG_ANSWERS, peer->session, 0);
}

/*
 * The buffer that was written to. False: the queue pair takes no more. Of those under way each second one has a completion, which is the
 * one's before it as well: there is always one to come when no buffer is free.
 */
static bool
answer_post(struct rdmo_lane *lane, struct rdmo_peer *peer, uint32_t bytes)
{
	const uint32_t buffer = UINT32_C(1) << peer->answer;
	const bool is_told = peer->untold != 0 || peer->state != RDMO_PEER_OPEN;
	const struct rdmapmd_sge sge = {
		.addr = (uintptr_t)answer_at(lane, peer, peer->answer),
		.length = bytes,
		.lkey = lane->mr->lkey,
	};
	const struct rdmapmd_send_wr wr = {
		.wr_id = rdmo_send_number(peer->slot, peer->untold | buffer),
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = RDMAPMD_WR_SEND,
		.send_flags = is_told ? RDMAPMD_SEND_SIGNALED : 0,
	};

	if (rdmapmd_post_send(peer->qp, &wr, 1) != 1)
		return false;
	peer->untold = is_told ? 0 : buffer;
	peer->free_answers &= ~buffer;
	__atomic_store_n(&peer->sent, peer->sent + 1, __ATOMIC_RELAXED);
	rdmo_count(&lane->stats.answers, 1);
	return true;
}

/* ---- Ends ---- */

void
rdmo_peer_drop(struct rdmo_lane *lane, struct rdmo_peer *peer)
{
	chain_give_back(lane, peer, &peer->late);
	if (peer->is_away)
		return; /* the rest when it comes back */
	if (peer->is_active)
		TAILQ_REMOVE(peer->turn, peer, next);
	peer->is_active = peer->is_read = false;
	chain_give_back(lane, peer, &peer->executed);
	chain_give_back(lane, peer, &peer->waiting);
}

static void
bootstrap_wake(const struct rdmo_lane *lane, const char *why)
{
	const uint64_t one = 1;

	if (write(lane->ended_fd, &one, sizeof(one)) != sizeof(one))
		RDMO_LOG(ERR, "the bootstrap is not told that %s", why);
}

void
rdmo_lane_tell_ended(const struct rdmo_lane *lane)
{
	bootstrap_wake(lane, "a connection or target has ended");
}

void
rdmo_lane_tell_notified(const struct rdmo_lane *lane, const struct rdmo_round *round)
{
	/* Partner: the thread that takes counts, behind the same exchange. */
	if (round->has_notified &&
	    !atomic_exchange_explicit(lane->is_told, true, memory_order_acq_rel))
		bootstrap_wake(lane, "a target is to be notified");
}

void
rdmo_peer_lost(struct rdmo_lane *lane, struct rdmo_peer *peer)
{
	if (peer->state == RDMO_PEER_ENDED)
		return;
	rdmo_peer_drop(lane, peer);
	peer->state = RDMO_PEER_ENDED;
	atomic_store_explicit(&peer->has_ended, true, memory_order_release);
	rdmo_lane_tell_ended(lane);
}

/* Say why, if the other end has a receive for it, and end. */
static void
close_post(struct rdmo_lane *lane, struct rdmo_peer *peer)
{
	rdmo_peer_drop(lane, peer);
	if (!answer_is_possible(peer)) {
		rdmo_peer_lost(lane, peer);
		return;
	}
	answer_begin(lane, peer);
	rdmo_close_write(peer->writer.msg, peer->session, peer->reason);
	if (!answer_post(lane, peer, RDMO_CLOSE_BYTES))
		rdmo_peer_lost(lane, peer);
}

/* Of one that is away the answers go first, when it comes back. */
static void
peer_close(struct rdmo_lane *lane, struct rdmo_peer *peer, enum rdmo_reason reason)
{
	RDMO_LOG(NOTICE, "connection %#lx is closed: %s", (unsigned long)peer->session,
		 rdmo_reason_str(reason));
	rdmo_count(&lane->stats.closed, 1);
	peer->state = RDMO_PEER_CLOSING;
	peer->reason = reason;
	if (!peer->is_away)
		close_post(lane, peer);
}

/* ---- What comes ---- */

/* All that a header tells. Returns why the connection is to be closed, if it is. */
static enum rdmo_reason
message_open(struct rdmo_lane *lane, struct rdmo_peer *peer, uint32_t receive, uint32_t bytes)
{
	struct rdmo_reader *reader = &lane->inbox[receive].reader;
	const uint8_t *message = lane->memory + (size_t)receive * lane->attr.receive_bytes;
	enum rdmo_reason reason;

	__atomic_store_n(&peer->received, peer->received + 1, __ATOMIC_RELAXED);
	if ((int32_t)(peer->received - peer->granted) > 0)
		return RDMO_REASON_CREDITS;
	reason = rdmo_requests_open(reader, message, bytes, peer->session);
	if (reason != RDMO_REASON_NONE || reader->closed_by != RDMO_REASON_NONE)
		return reason;
	if ((int32_t)(reader->credits - peer->may_send) > 0)
		peer->may_send = reader->credits;
	if (reader->left > 0 && reader->seq != peer->next_seq)
		return RDMO_REASON_SEQ;
	peer->next_seq += reader->left;
	return RDMO_REASON_NONE;
}

void
rdmo_peer_received(struct rdmo_lane *lane, struct rdmo_peer *peer, uint32_t receive, uint32_t bytes)
{
	struct rdmo_inbox *inbox = &lane->inbox[receive];
	const enum rdmo_reason reason = message_open(lane, peer, receive, bytes);

	if (reason == RDMO_REASON_NONE && inbox->reader.closed_by == RDMO_REASON_NONE) {
		peer_activate(peer);
		if (inbox->reader.left > 0) {
			rdmo_count(&lane->stats.messages, 1);
			chain_add(peer, peer->is_away ? &peer->late : &peer->waiting, receive);
			return;
		}
		peer->granted++;
	} else if (reason != RDMO_REASON_NONE) {
		peer_close(lane, peer, reason);
	} else {
		rdmo_peer_lost(lane, peer);
	}
	rdmo_lane_give_back(lane, receive);
}

void
rdmo_peer_sent(struct rdmo_lane *lane, struct rdmo_peer *peer, uint32_t answers)
{
	peer->free_answers |= answers;
	if (peer->is_away)
		return;
	if (peer->state == RDMO_PEER_CLOSING && (answers >> peer->answer & 1) != 0)
		rdmo_peer_lost(lane, peer);
	else if (peer->waiting.first != RDMO_LANE_NONE || peer_owes_credits(lane, peer))
		peer_activate(peer);
}

/* ---- What is executed ---- */

/* The next operation, which may have been read where it could not be executed. */
static bool
peer_next(struct rdmo_peer *peer)
{
	if (!peer->is_read && peer->waiting.first != RDMO_LANE_NONE)
		peer->is_read = rdmo_requests_next(&peer->home->inbox[peer->waiting.first].reader,
						   &peer->request);
	return peer->is_read;
}

static void
peer_executed(struct rdmo_peer *peer)
{
	peer->is_read = false;
	if (peer->home->inbox[peer->waiting.first].reader.left == 0)
		chain_add(peer, &peer->executed, chain_take(peer, &peer->waiting));
}

/* Its next operation finds no room: for how long it waits is said when it has begun to. */
static void
peer_waits(struct rdmo_peer *peer)
{
	if (peer->waits_until == 0)
		peer->waits_until = rte_get_timer_cycles() + peer->home->attr.wait_cycles;
}

/* Executed, with room or without: the next one has its own time. */
static void
peer_waits_no_more(struct rdmo_peer *peer)
{
	peer->waits_until = 0;
	peer->flow.may_wait = true;
}

/* What a GATHER reads has an answer's message for itself; so it is the last that it is in. `first`: of the round's that is its own. */
static bool
peer_has_room(const struct rdmo_peer *peer, const struct rdmo_round *round, uint32_t first)
{
	const struct rdmo_result *gather = round->gather.result;

	if (gather != NULL && gather->flow == &peer->flow)
		return false;
	return peer->request.op_id != RDMO_OP_GATHER ||
	       (round->count == first && peer->writer.count == 0);
}

/* What an operation takes of a turn beside itself, however many bytes they have. */
static uint32_t
request_pieces(const struct rdmo_request *request)
{
	const bool has_pieces =
		request->op_id == RDMO_OP_SCATTER || request->op_id == RDMO_OP_GATHER;

	/* What is refused may have claimed any number. */
	return has_pieces && request->status == RDMO_STATUS_OK ? (uint32_t)request->count : 0;
}

void
rdmo_peer_execute(struct rdmo_peer *peer, struct rdmo_round *round, const struct rdmo_map *regions)
{
	const uint32_t room =
		(peer->answer_bytes - (uint32_t)sizeof(struct rdmo_msg)) / ANSWER_BYTES;
	const uint32_t first = round->count;
	const uint32_t end = RTE_MIN(first + room, (uint32_t)RDMO_ROUND);
	uint32_t pieces = 0;

	peer->elsewhere = RDMO_HERE;
	peer->is_next = false;
	if (peer->waits_until != 0)
		peer->flow.may_wait = rte_get_timer_cycles() < peer->waits_until;
	while (round->count + pieces < end && peer->flow.wrong_keys < RDMO_WRONG_KEYS &&
	       peer_next(peer) && rdmo_round_takes(round, &peer->request) &&
	       peer_has_room(peer, round, first)) {
		if (!rdmo_round_execute(round, regions, &peer->flow, &peer->request)) {
			peer->elsewhere = round->elsewhere;
			peer->is_next = peer->elsewhere == RDMO_LATER && round->count == first;
			if (peer->elsewhere == RDMO_WAITS)
				peer_waits(peer);
			return;
		}
		if (peer->waits_until != 0)
			peer_waits_no_more(peer);
		rdmo_round_go_on(round, &peer->request,
				 &peer->home->inbox[peer->waiting.first].reader,
				 end - round->count - pieces);
		pieces += request_pieces(&peer->request);
		peer_executed(peer);
	}
	/* It has something that does not go together with what is in the round. */
	peer->is_next = round->count == first && peer->is_read;
}

static void
result_answer(const struct rdmo_round *round, const struct rdmo_result *result)
{
	struct rdmo_writer *writer = &container_of(result->flow, struct rdmo_peer, flow)->writer;

	if (result == round->gather.result && result->status == RDMO_STATUS_OK) {
		rdmo_round_gathered(round,
				    rdmo_writer_gathered(writer, result->seq, round->gather.bytes));
		return;
	}

	if (result->is_flushed)
		rdmo_writer_flushed(writer, result->status, result->seq, result->value,
				    result->flush_id);
	if (result->is_flushed || result->is_silent)
		return;
	rdmo_writer_answer(writer, result->op_id, result->status, result->seq, result->value);
	if (result->count > 1 && result->status == RDMO_STATUS_OK)
		rdmo_writer_appended(writer, result->seq + 1, result->second, result->step,
				     result->count - 1);
	else
		for (uint32_t i = 1; i < result->count; i++)
			rdmo_writer_answer(writer, result->op_id, result->status, result->seq + i,
					   0);
}

void
rdmo_results_answer(struct rdmo_lane *lane, const struct rdmo_round *round)
{
	uint32_t refused = 0;

	for (uint32_t i = 0; i < round->result_count; i++) {
		const struct rdmo_result *result = &round->results[i];

		result_answer(round, result);
		if (result->status != RDMO_STATUS_OK && !result->is_flushed)
			refused += result->count;
	}
	rdmo_count(&lane->stats.operations, round->count);
	rdmo_count(&lane->stats.refused, refused);
}

/* To the lane of the next operation's queue, if that can be answered; else it is woken, as others are. */
static void
peer_leave(struct rdmo_lane *lane, struct rdmo_peer *peer)
{
	if (!answer_is_possible(peer))
		return;
	answer_begin(lane, peer);
	peer->is_away = true;
	rdmo_count(&lane->stats.handed_over, 1);
	rdmo_mail_put(lane->lanes[peer->elsewhere].mail, peer);
}

/* Its next operation's payload is to be fetched: by a round of its own, if that can be answered. */
static void
peer_pull(struct rdmo_lane *lane, struct rdmo_peer *peer)
{
	if (!answer_is_possible(peer))
		return;
	answer_begin(lane, peer);
	peer->is_away = true;
	TAILQ_INSERT_TAIL(&lane->pulling, peer, next);
}

void
rdmo_peer_ran(struct rdmo_lane *lane, struct rdmo_peer *peer)
{
	peer->granted += chain_give_back(lane, peer, &peer->executed);
	TAILQ_INSERT_TAIL(&lane->ran, peer, next);
}

/* At home, with answers that are written: they go. */
static void
peer_answer(struct rdmo_lane *lane, struct rdmo_peer *peer)
{
	if (peer->writer.count > 0 || peer_owes_credits(lane, peer)) {
		if (!answer_post(lane, peer, rdmo_writer_end(&peer->writer, peer->granted))) {
			rdmo_peer_lost(lane, peer);
			return;
		}
		peer->told = peer->granted;
	}
	if (peer->state == RDMO_PEER_CLOSING)
		close_post(lane, peer);
	else if (peer->flow.wrong_keys >= RDMO_WRONG_KEYS)
		peer_close(lane, peer, RDMO_REASON_KEYS);
	else if (peer->elsewhere == RDMO_WAITS || peer->elsewhere == RDMO_BUSY)
		peer_activate(peer);
	else if (peer->elsewhere == RDMO_PULLED)
		peer_pull(lane, peer);
	else if (peer->elsewhere != RDMO_HERE)
		peer_leave(lane, peer);
	else if (peer->waiting.first != RDMO_LANE_NONE)
		peer_activate(peer);
}

/* It goes on here, or ends if it has been ended meanwhile. */
static void
peer_back(struct rdmo_lane *lane, struct rdmo_peer *peer)
{
	peer->is_away = false;
	/* A lane it was, which its round at home has named. */
	if (peer->elsewhere >= RDMO_PULLED)
		peer->elsewhere = RDMO_HERE;
	chain_append_late(peer);
	if (peer->state == RDMO_PEER_ENDED)
		rdmo_peer_drop(lane, peer);
	else
		peer_answer(lane, peer);
}

/*
 * Who has had a tail read has the next turn, before another one has another tail read for the same queue; and who found a round that did
 * not take its operation. Who has had a turn has not the next one as well.
 */
static void
peer_precede(struct rdmo_peer *peer)
{
	/* In this order: one that has left is another lane's. */
	if (!peer->is_active || !peer->is_next)
		return;
	TAILQ_REMOVE(peer->turn, peer, next);
	TAILQ_INSERT_HEAD(peer->turn, peer, next);
}

void
rdmo_peers_answer(struct rdmo_lane *lane)
{
	struct rdmo_peer *peer;

	while ((peer = TAILQ_FIRST(&lane->ran)) != NULL) {
		TAILQ_REMOVE(&lane->ran, peer, next);
		if (peer->is_away)
			peer_back(lane, peer);
		else
			peer_answer(lane, peer);
		peer_precede(peer);
	}
}

void
rdmo_peers_arrive(struct rdmo_lane *lane)
{
	void *arrived[BURST];
	const uint32_t count = rdmo_mail_take(lane->mail, arrived, RTE_DIM(arrived));

	for (uint32_t i = 0; i < count; i++) {
		struct rdmo_peer *peer = arrived[i];

		if (peer->puller != NULL) {
			TAILQ_INSERT_TAIL(&lane->travelling, peer, next);
		} else if (peer->home == lane) {
			/* What is next is looked at anew. */
			peer->elsewhere = RDMO_HERE;
			rdmo_peer_ran(lane, peer);
		} else {
			TAILQ_INSERT_TAIL(&lane->active, peer, next);
		}
	}
}

void
rdmo_peers_dismiss(struct rdmo_lane *lane)
{
	struct rdmo_peer *peer, *after;

	rdmo_peers_arrive(lane);
	for (peer = TAILQ_FIRST(&lane->active); peer != NULL; peer = after) {
		after = TAILQ_NEXT(peer, next);
		if (peer->home == lane)
			continue;
		TAILQ_REMOVE(&lane->active, peer, next);
		rdmo_mail_put(peer->home->mail, peer);
	}
}

struct rdmo_peer *
rdmo_peer_pick(struct rdmo_lane *lane, struct rdmo_peers *turn)
{
	struct rdmo_peer *peer;

	while ((peer = TAILQ_FIRST(turn)) != NULL) {
		TAILQ_REMOVE(turn, peer, next);
		if (peer->home != lane)
			return peer; /* it has brought that */
		peer->is_active = false;
		/* Else it is woken when an answer has gone, or credits have come. */
		if (!answer_is_possible(peer))
			continue;
		answer_begin(lane, peer);
		return peer;
	}
	return NULL;
}

/* Readers that sleep. A system call for each, once for each time that it has gone to sleep. */
static void
readers_wake(const struct rdmo_round *round)
{
	const uint64_t one = 1;

	for (uint32_t i = 0; i < round->bell_count; i++)
		if (write(round->bells[i], &one, sizeof(one)) != sizeof(one))
			RDMO_LOG(ERR, "a log's reader is not woken: %s", strerror(errno));
}

void
rdmo_lane_round_end(struct rdmo_lane *lane, struct rdmo_round *round)
{
	rdmo_round_settle(round);
	readers_wake(round);
	rdmo_lane_tell_notified(lane, round);
	rdmo_results_answer(lane, round);
}

/* Executed as far as it could be: home, or to have a payload fetched for a queue of this lane, if nothing is to be answered first. */
static void
peer_ran(struct rdmo_lane *lane, struct rdmo_peer *peer)
{
	if (peer->home == lane)
		rdmo_peer_ran(lane, peer);
	else if (peer->elsewhere == RDMO_PULLED && peer->writer.count == 0)
		TAILQ_INSERT_TAIL(&lane->pulling, peer, next);
	else
		rdmo_mail_put(peer->home->mail, peer);
}

uint32_t
rdmo_peers_run(struct rdmo_lane *lane)
{
	struct rdmo_peer *ran[RDMO_ROUND], *peer;
	uint32_t count = 0;

	rdmo_round_begin(&lane->round);
	while (count < RTE_DIM(ran) && lane->round.count < RDMO_ROUND &&
	       (peer = rdmo_peer_pick(lane, &lane->active)) != NULL) {
		rdmo_peer_execute(peer, &lane->round, &lane->regions);
		ran[count++] = peer;
		if (peer->is_next)
			break;
	}
	rdmo_lane_round_end(lane, &lane->round);
	for (uint32_t i = 0; i < count; i++)
		peer_ran(lane, ran[i]);
	return lane->round.count;
}
