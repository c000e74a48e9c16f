/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Fuzz target: a stream of commands, or of notifications, in pieces. No more is wanted than the longest command has; what is taken is the
 * same when it has been written again.
 *
 *   u8   bit 0: notifications, or else commands; 1: headers are made right, but for kind, status and length
 *   u8   bytes of each piece; 0: what is wanted
 *   the stream
 */

#include <stdbool.h>

#include "fuzz.h"
#include "rdmo/control.h"

#define NOTIFICATIONS 0x1
#define HEADERS	      0x2

static _Alignas(8) uint8_t room[RDMO_CMD_MAX_BYTES];

static void
mend(uint8_t *bytes, bool notifications)
{
	struct rdmo_cmd cmd;

	memcpy(&cmd, bytes, sizeof(cmd));
	cmd.magic = rte_cpu_to_le_32(RDMO_CMD_MAGIC);
	cmd.version = RDMO_VERSION;
	cmd.kind = notifications ? cmd.kind | RDMO_CMD_NOTIFY : cmd.kind & ~RDMO_CMD_NOTIFY;
	cmd.status = notifications ? cmd.status : 0;
	cmd.length &= rte_cpu_to_le_32(0x7f);
	cmd.reserved = 0;
	memcpy(bytes, &cmd, sizeof(cmd));
}

static uint32_t
command_again(const struct rdmo_command *c)
{
	switch (c->kind) {
	case RDMO_CMD_CLIENT_INIT:
		return rdmo_client_init_write(room, c->tag, rte_le_to_cpu_64(c->client_init->id),
					      c->addr);
	case RDMO_CMD_RQ_CREATE:
		return rdmo_rq_create_write(room, c->tag, c->addr, c->rq_create->secret);
	case RDMO_CMD_RQ_DESTROY:
		return rdmo_rq_destroy_write(room, c->tag, rte_le_to_cpu_64(c->rq->rq_id));
	case RDMO_CMD_MR_REG: return rdmo_mr_reg_write(room, c->tag, c->mr_reg, c->rkey);
	case RDMO_CMD_HELLO: return rdmo_hello_write(room, c->tag, c->hello, c->addr);
	case RDMO_CMD_TAIL:
		return rdmo_tail_hold_write(room, c->tag, rte_le_to_cpu_64(c->tail_hold->rkey),
					    c->tail_hold->is_held != 0);
	default:
		must(c->kind == RDMO_CMD_MR_DEREG);
		return rdmo_mr_dereg_write(room, c->tag, rte_le_to_cpu_64(c->mr->rkey));
	}
}

static uint32_t
notification_again(const struct rdmo_notification *n)
{
	if (n->status != RDMO_STATUS_OK)
		return rdmo_refused_write(room, n->kind, n->tag, n->status);
	if (n->kind == RDMO_CMD_CLIENT_INIT)
		return rdmo_client_init_done_write(room, n->tag, n->addr);
	if (n->kind == RDMO_CMD_EVENT)
		return rdmo_event_write(room, n->number, n->count);
	if (n->kind == RDMO_CMD_HELLO)
		return rdmo_hello_done_write(room, n->tag, n->number, n->first_seq, n->addr);
	return rdmo_done_write(room, (enum rdmo_cmd_kind)n->kind, n->tag, n->number);
}

/* The one that is whole. False: the connection is closed. */
static bool
whole_read(const struct rdmo_stream *stream)
{
	struct rdmo_command command;
	struct rdmo_notification notification;
	uint32_t bytes = 0;

	if (stream->notifications) {
		if (rdmo_notification_read(stream, &notification) != RDMO_REASON_NONE)
			return false;
		bytes = notification_again(&notification);
	} else {
		rdmo_command_read(stream, &command);
		must((unsigned int)command.status < RDMO_STATUSES);
		if (command.status == RDMO_STATUS_OK)
			bytes = command_again(&command);
	}
	if (bytes > 0)
		must(bytes == stream->have && memcmp(room, stream->bytes, bytes) == 0);
	return true;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input input = { data, size };
	const uint8_t flags = fuzz_u8(&input);
	const uint32_t most = fuzz_u8(&input);
	/* Memory of its own, so that the sanitizer sees what goes beyond. */
	struct rdmo_stream *stream = malloc(sizeof(*stream));
	uint32_t n;
	bool open = true;

	must(stream != NULL);
	rdmo_stream_begin(stream, (flags & NOTIFICATIONS) != 0);
	while (open && input.left > 0) {
		n = rdmo_stream_wanted(stream);
		must(n > 0 && stream->have + n <= RDMO_CMD_MAX_BYTES);
		n = most > 0 && most < n ? most : n;
		n = n < input.left ? n : (uint32_t)input.left;
		fuzz_bytes(&input, rdmo_stream_room(stream), n);
		if ((flags & HEADERS) != 0 && stream->have < sizeof(struct rdmo_cmd) &&
		    stream->have + n >= sizeof(struct rdmo_cmd))
			mend(stream->bytes, stream->notifications);
		open = rdmo_stream_received(stream, n) == RDMO_REASON_NONE;
		if (open && rdmo_stream_wanted(stream) == 0) {
			open = whole_read(stream);
			rdmo_stream_next(stream);
		}
	}
	free(stream);
	return 0;
}

void
fuzz_begin(void)
{
}

void
fuzz_seeds_write(void)
{
	static const struct rdmo_addr addr = { .mtu = RTE_LE16(1024),
					       .credits = RTE_LE32(1),
					       .receive_bytes = RTE_LE32(4096) };
	static const struct rdmo_mr_reg reg = {
		.va = RTE_LE64(0x1000),
		.len = RTE_LE64(0x1000),
		.rights = RTE_LE32(RDMO_RIGHT_APPEND),
	};
	static const uint8_t secret[RDMO_SECRET_BYTES] = { 1 };
	static const struct rdmo_hello hello = { .secret = { 1 }, .producer = RTE_LE32(1) };
	struct fuzz_seed commands = { .used = 0 }, notifications = { .used = 0 };

	PUT(&commands, HEADERS, 0);
	fuzz_put(&commands, room, rdmo_client_init_write(room, 1, 2, &addr));
	fuzz_put(&commands, room, rdmo_rq_create_write(room, 2, &addr, NULL));
	fuzz_put(&commands, room, rdmo_rq_create_write(room, 3, NULL, secret));
	fuzz_put(&commands, room, rdmo_mr_reg_write(room, 4, &reg, 5));
	fuzz_put(&commands, room, rdmo_mr_dereg_write(room, 5, 6));
	fuzz_put(&commands, room, rdmo_rq_destroy_write(room, 6, 7));
	fuzz_put(&commands, room, rdmo_hello_write(room, 7, &hello, &addr));
	fuzz_seed_write(&commands, "commands");
	PUT(&notifications, HEADERS | NOTIFICATIONS, 9);
	fuzz_put(&notifications, room, rdmo_client_init_done_write(room, 1, &addr));
	fuzz_put(&notifications, room, rdmo_done_write(room, RDMO_CMD_RQ_CREATE, 2, 7));
	fuzz_put(&notifications, room, rdmo_hello_done_write(room, 4, 8, 9, &addr));
	fuzz_put(&notifications, room,
		 rdmo_refused_write(room, RDMO_CMD_MR_REG, 3, RDMO_STATUS_BOUNDS));
	fuzz_seed_write(&notifications, "notifications");
}
