/* SPDX-License-Identifier: BSD-3-Clause */

#include <unistd.h>

#include <rte_common.h>

#include <rdmapmd.h>

#include "log.h"
#include "peer.h"
#include "rdmo.h"

/* Bytes of the longest answer to one operation. */
#define ANSWER_BYTES ((uint32_t)(sizeof(struct rdmo_rsp_hdr) + sizeof(struct rdmo_flush_rsp)))

static void
peer_activate(struct rdmo_lane *lane, struct rdmo_peer *peer)
{
	if (peer->is_active || peer->state != RDMO_PEER_OPEN)
		return;
	peer->is_active = true;
	TAILQ_INSERT_TAIL(&lane->active, peer, next);
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
	const size_t index = lane->attr.receives + (size_t)peer->slot * RDMO_ANSWERS + answer;

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

/* The buffer that was written to. False: the queue pair takes no more. */
static bool
answer_post(struct rdmo_lane *lane, struct rdmo_peer *peer, uint32_t bytes)
{
	const struct rdmapmd_sge sge = {
		.addr = (uintptr_t)answer_at(lane, peer, peer->answer),
		.length = bytes,
		.lkey = lane->mr->lkey,
	};
	const struct rdmapmd_send_wr wr = {
		.wr_id = rdmo_send_number(peer->slot, peer->answer),
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = RDMAPMD_WR_SEND,
		.send_flags = RDMAPMD_SEND_SIGNALED,
	};

	if (rdmapmd_post_send(peer->qp, &wr, 1) != 1)
		return false;
	peer->free_answers &= ~(UINT32_C(1) << peer->answer);
	peer->sent++;
	rdmo_count(&lane->stats.answers, 1);
	return true;
}

/* ---- Ends ---- */

void
rdmo_peer_drop(struct rdmo_lane *lane, struct rdmo_peer *peer)
{
	if (peer->is_active)
		TAILQ_REMOVE(&lane->active, peer, next);
	peer->is_active = false;
	while (peer->first != RDMO_LANE_NONE) {
		rdmo_lane_give_back(lane, peer->first);
		peer->first = lane->inbox[peer->first].next;
	}
}

void
rdmo_peer_lost(struct rdmo_lane *lane, struct rdmo_peer *peer)
{
	const uint64_t one = 1;

	if (peer->state == RDMO_PEER_ENDED)
		return;
	rdmo_peer_drop(lane, peer);
	peer->state = RDMO_PEER_ENDED;
	atomic_store_explicit(&peer->has_ended, true, memory_order_release);
	/* Who sleeps is woken, which is not for each message. */
	if (write(lane->ended_fd, &one, sizeof(one)) != sizeof(one))
		RDMO_LOG(ERR, "nobody is told that connection %#lx has ended",
			 (unsigned long)peer->session);
}

/* Say why, if the other end has a receive for it, and end. */
static void
peer_close(struct rdmo_lane *lane, struct rdmo_peer *peer, enum rdmo_reason reason)
{
	RDMO_LOG(NOTICE, "connection %#lx is closed: %s", (unsigned long)peer->session,
		 rdmo_reason_str(reason));
	rdmo_count(&lane->stats.closed, 1);
	rdmo_peer_drop(lane, peer);
	peer->state = RDMO_PEER_CLOSING;
	if (!answer_is_possible(peer)) {
		rdmo_peer_lost(lane, peer);
		return;
	}
	answer_begin(lane, peer);
	rdmo_close_write(peer->writer.msg, peer->session, reason);
	if (!answer_post(lane, peer, RDMO_CLOSE_BYTES))
		rdmo_peer_lost(lane, peer);
}

/* ---- What comes ---- */

/* All that a header tells. Returns why the connection is to be closed, if it is. */
static enum rdmo_reason
message_open(struct rdmo_lane *lane, struct rdmo_peer *peer, uint32_t receive, uint32_t bytes)
{
	struct rdmo_reader *reader = &lane->inbox[receive].reader;
	const uint8_t *message = lane->memory + (size_t)receive * lane->attr.receive_bytes;
	enum rdmo_reason reason;

	peer->received++;
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
		peer_activate(lane, peer);
		if (inbox->reader.left > 0) {
			rdmo_count(&lane->stats.messages, 1);
			inbox->next = RDMO_LANE_NONE;
			if (peer->first == RDMO_LANE_NONE)
				peer->first = receive;
			else
				lane->inbox[peer->last].next = receive;
			peer->last = receive;
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
rdmo_peer_sent(struct rdmo_lane *lane, struct rdmo_peer *peer, uint32_t answer)
{
	peer->free_answers |= UINT32_C(1) << answer;
	if (peer->state == RDMO_PEER_CLOSING && answer == peer->answer)
		rdmo_peer_lost(lane, peer);
	else if (peer->first != RDMO_LANE_NONE || peer_owes_credits(lane, peer))
		peer_activate(lane, peer);
}

/* ---- What is executed ---- */

/* The next operation. What a message was received into is another's as soon as the last one of it is executed. */
static bool
peer_next(struct rdmo_lane *lane, struct rdmo_peer *peer, struct rdmo_request *request)
{
	return peer->first != RDMO_LANE_NONE &&
	       rdmo_requests_next(&lane->inbox[peer->first].reader, request);
}

static void
peer_executed(struct rdmo_lane *lane, struct rdmo_peer *peer)
{
	const uint32_t receive = peer->first;

	if (lane->inbox[receive].reader.left > 0)
		return;
	peer->first = lane->inbox[receive].next;
	peer->granted++;
	rdmo_lane_give_back(lane, receive);
}

/* As many operations as the round and an answer have room for. */
static void
peer_execute(struct rdmo_lane *lane, struct rdmo_peer *peer)
{
	struct rdmo_round *round = &lane->round;
	const uint32_t room =
		(peer->answer_bytes - (uint32_t)sizeof(struct rdmo_msg)) / ANSWER_BYTES;
	const uint32_t end = RTE_MIN(round->count + room, (uint32_t)RDMO_ROUND);
	struct rdmo_request request;

	while (round->count < end && peer->flow.wrong_keys < RDMO_WRONG_KEYS &&
	       peer_next(lane, peer, &request)) {
		rdmo_round_execute(round, &lane->regions, &peer->flow, &request);
		peer_executed(lane, peer);
	}
}

/* One after the other, as they were executed. */
static void
results_answer(struct rdmo_lane *lane)
{
	uint32_t refused = 0;

	for (uint32_t i = 0; i < lane->round.count; i++) {
		const struct rdmo_result *result = &lane->round.results[i];
		struct rdmo_peer *peer = container_of(result->flow, struct rdmo_peer, flow);

		if (result->is_flushed)
			rdmo_writer_flushed(&peer->writer, result->status, result->seq,
					    result->value, result->flush_id);
		else if (!result->is_silent)
			rdmo_writer_answer(&peer->writer, result->op_id, result->status,
					   result->seq, result->value);
		refused += result->status != RDMO_STATUS_OK && !result->is_flushed;
	}
	rdmo_count(&lane->stats.operations, lane->round.count);
	rdmo_count(&lane->stats.refused, refused);
}

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
	if (peer->flow.wrong_keys >= RDMO_WRONG_KEYS)
		peer_close(lane, peer, RDMO_REASON_KEYS);
	else if (peer->first != RDMO_LANE_NONE)
		peer_activate(lane, peer);
}

uint32_t
rdmo_peers_run(struct rdmo_lane *lane)
{
	struct rdmo_peer *ran[RDMO_ROUND], *peer;
	uint32_t count = 0;

	rdmo_round_begin(&lane->round);
	while (count < RTE_DIM(ran) && lane->round.count < RDMO_ROUND &&
	       (peer = TAILQ_FIRST(&lane->active)) != NULL) {
		TAILQ_REMOVE(&lane->active, peer, next);
		peer->is_active = false;
		/* Else it is woken when an answer has gone, or credits have come. */
		if (!answer_is_possible(peer))
			continue;
		answer_begin(lane, peer);
		peer_execute(lane, peer);
		ran[count++] = peer;
	}
	rdmo_round_settle(&lane->round);
	results_answer(lane);
	for (uint32_t i = 0; i < count; i++)
		peer_answer(lane, ran[i]);
	return lane->round.count;
}
