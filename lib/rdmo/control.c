/* SPDX-License-Identifier: BSD-3-Clause */

#include <string.h>

#include "control.h"

/* ---- Write ---- */

/* Begin; returns where the body goes, of which `length` bytes are zero. */
static void *
cmd_begin(void *buffer, uint8_t kind, uint64_t tag, enum rdmo_status status, uint32_t length)
{
	struct rdmo_cmd *cmd = buffer;

	*cmd = (struct rdmo_cmd){
		.magic = rte_cpu_to_le_32(RDMO_CMD_MAGIC),
		.version = RDMO_VERSION,
		.kind = kind,
		.status = rte_cpu_to_le_16((uint16_t)status),
		.length = rte_cpu_to_le_32(length),
		.tag = rte_cpu_to_le_64(tag),
	};
	return memset(cmd + 1, 0, length);
}

static uint32_t
cmd_bytes(const void *buffer)
{
	const struct rdmo_cmd *cmd = buffer;

	return (uint32_t)sizeof(*cmd) + rte_le_to_cpu_32(cmd->length);
}

/* Whose body is one number. */
static uint32_t
number_write(void *buffer, uint8_t kind, uint64_t tag, uint64_t number)
{
	rte_le64_t *body = cmd_begin(buffer, kind, tag, RDMO_STATUS_OK, sizeof(*body));

	*body = rte_cpu_to_le_64(number);
	return cmd_bytes(buffer);
}

uint32_t
rdmo_client_init_write(void *buffer, uint64_t tag, uint64_t id, const struct rdmo_addr *addr)
{
	struct rdmo_client_init *body = cmd_begin(buffer, RDMO_CMD_CLIENT_INIT, tag, RDMO_STATUS_OK,
						  sizeof(*body) + sizeof(*addr));

	body->id = rte_cpu_to_le_64(id);
	body->addr_len = rte_cpu_to_le_64(sizeof(*addr));
	memcpy(body + 1, addr, sizeof(*addr));
	return cmd_bytes(buffer);
}

uint32_t
rdmo_rq_create_write(void *buffer, uint64_t tag, const struct rdmo_addr *addr,
		     const uint8_t *secret)
{
	const uint32_t addr_len = addr != NULL ? sizeof(*addr) : 0;
	struct rdmo_rq_create *body = cmd_begin(buffer, RDMO_CMD_RQ_CREATE, tag, RDMO_STATUS_OK,
						(uint32_t)sizeof(*body) + addr_len);

	body->addr_len = rte_cpu_to_le_64(addr_len);
	if (addr != NULL)
		memcpy(body + 1, addr, sizeof(*addr));
	else
		memcpy(body->secret, secret, sizeof(body->secret));
	return cmd_bytes(buffer);
}

uint32_t
rdmo_rq_destroy_write(void *buffer, uint64_t tag, uint64_t rq_id)
{
	return number_write(buffer, RDMO_CMD_RQ_DESTROY, tag, rq_id);
}

uint32_t
rdmo_mr_reg_write(void *buffer, uint64_t tag, const struct rdmo_mr_reg *reg, uint32_t rkey)
{
	struct rdmo_packed_rkey *packed;
	struct rdmo_mr_reg *body = cmd_begin(buffer, RDMO_CMD_MR_REG, tag, RDMO_STATUS_OK,
					     sizeof(*body) + sizeof(*packed));

	*body = *reg;
	body->packed_rkey_len = rte_cpu_to_le_64(sizeof(*packed));
	body->packed_memh_len = 0;
	packed = (struct rdmo_packed_rkey *)(body + 1);
	packed->rkey = rte_cpu_to_le_32(rkey);
	return cmd_bytes(buffer);
}

uint32_t
rdmo_mr_dereg_write(void *buffer, uint64_t tag, uint64_t rkey)
{
	return number_write(buffer, RDMO_CMD_MR_DEREG, tag, rkey);
}

uint32_t
rdmo_tail_hold_write(void *buffer, uint64_t tag, uint64_t rkey, bool is_held)
{
	struct rdmo_tail_hold *body =
		cmd_begin(buffer, RDMO_CMD_TAIL, tag, RDMO_STATUS_OK, sizeof(*body));

	body->rkey = rte_cpu_to_le_64(rkey);
	body->is_held = rte_cpu_to_le_32(is_held);
	return cmd_bytes(buffer);
}

uint32_t
rdmo_hello_write(void *buffer, uint64_t tag, const struct rdmo_hello *hello,
		 const struct rdmo_addr *addr)
{
	struct rdmo_hello *body = cmd_begin(buffer, RDMO_CMD_HELLO, tag, RDMO_STATUS_OK,
					    sizeof(*body) + sizeof(*addr));

	*body = *hello;
	body->addr_len = rte_cpu_to_le_64(sizeof(*addr));
	memcpy(body + 1, addr, sizeof(*addr));
	return cmd_bytes(buffer);
}

uint32_t
rdmo_refused_write(void *buffer, uint8_t kind, uint64_t tag, enum rdmo_status status)
{
	cmd_begin(buffer, kind | RDMO_CMD_NOTIFY, tag, status, 0);
	return cmd_bytes(buffer);
}

uint32_t
rdmo_client_init_done_write(void *buffer, uint64_t tag, const struct rdmo_addr *addr)
{
	struct rdmo_client_init_done *body =
		cmd_begin(buffer, RDMO_CMD_CLIENT_INIT | RDMO_CMD_NOTIFY, tag, RDMO_STATUS_OK,
			  sizeof(*body) + sizeof(*addr));

	body->addr_len = rte_cpu_to_le_64(sizeof(*addr));
	memcpy(body + 1, addr, sizeof(*addr));
	return cmd_bytes(buffer);
}

uint32_t
rdmo_hello_done_write(void *buffer, uint64_t tag, uint64_t session, uint64_t first_seq,
		      const struct rdmo_addr *addr)
{
	struct rdmo_hello_done *body = cmd_begin(buffer, RDMO_CMD_HELLO | RDMO_CMD_NOTIFY, tag,
						 RDMO_STATUS_OK, sizeof(*body) + sizeof(*addr));

	body->session = rte_cpu_to_le_64(session);
	body->first_seq = rte_cpu_to_le_64(first_seq);
	body->addr_len = rte_cpu_to_le_64(sizeof(*addr));
	memcpy(body + 1, addr, sizeof(*addr));
	return cmd_bytes(buffer);
}

uint32_t
rdmo_event_write(void *buffer, uint64_t rkey, uint64_t count)
{
	struct rdmo_notify *body = cmd_begin(buffer, RDMO_CMD_EVENT | RDMO_CMD_NOTIFY, 0,
					     RDMO_STATUS_OK, sizeof(*body));

	body->rkey = rte_cpu_to_le_64(rkey);
	body->count = rte_cpu_to_le_64(count);
	return cmd_bytes(buffer);
}

uint32_t
rdmo_done_write(void *buffer, enum rdmo_cmd_kind kind, uint64_t tag, uint64_t number)
{
	return number_write(buffer, (uint8_t)kind | RDMO_CMD_NOTIFY, tag, number);
}

/* ---- Read: the stream ---- */

void
rdmo_stream_begin(struct rdmo_stream *stream, bool notifications)
{
	stream->notifications = notifications;
	rdmo_stream_next(stream);
}

void
rdmo_stream_next(struct rdmo_stream *stream)
{
	stream->have = 0;
	stream->whole = sizeof(struct rdmo_cmd);
}

static enum rdmo_reason
cmd_check(const struct rdmo_stream *stream, const struct rdmo_cmd *cmd)
{
	if (cmd->magic != rte_cpu_to_le_32(RDMO_CMD_MAGIC))
		return RDMO_REASON_MAGIC;
	if (cmd->version != RDMO_VERSION)
		return RDMO_REASON_VERSION;
	if (((cmd->kind & RDMO_CMD_NOTIFY) != 0) != stream->notifications)
		return RDMO_REASON_KIND;
	if (cmd->reserved != 0 || (cmd->status != 0 && !stream->notifications))
		return RDMO_REASON_RESERVED;
	if (rte_le_to_cpu_32(cmd->length) > RDMO_CMD_MAX_BYTES - sizeof(*cmd))
		return RDMO_REASON_LENGTH;
	return RDMO_REASON_NONE;
}

enum rdmo_reason
rdmo_stream_received(struct rdmo_stream *stream, uint32_t bytes)
{
	const struct rdmo_cmd *cmd = (const void *)stream->bytes;
	enum rdmo_reason reason;

	stream->have += bytes;
	if (stream->have < sizeof(*cmd))
		return RDMO_REASON_NONE;
	reason = cmd_check(stream, cmd);
	if (reason == RDMO_REASON_NONE)
		stream->whole = cmd_bytes(cmd);
	return reason;
}

/* ---- Read: what is whole ---- */

static bool
is_zero(const uint8_t *bytes, uint32_t count)
{
	uint8_t any = 0;

	for (uint32_t i = 0; i < count; i++)
		any |= bytes[i];
	return any == 0;
}

static enum rdmo_status
addr_check(const struct rdmo_addr *addr)
{
	const uint32_t mtu = rte_le_to_cpu_16(addr->mtu);

	if (mtu < 256 || mtu > 4096 || (mtu & (mtu - 1)) != 0)
		return RDMO_STATUS_BOUNDS;
	if (rte_le_to_cpu_32(addr->qpn) >> 24 != 0 || rte_le_to_cpu_32(addr->psn) >> 24 != 0)
		return RDMO_STATUS_BOUNDS;
	if (addr->credits != 0 && rte_le_to_cpu_32(addr->receive_bytes) < RDMO_RECEIVE_MIN_BYTES)
		return RDMO_STATUS_BOUNDS;
	return is_zero(addr->reserved, sizeof(addr->reserved)) ? RDMO_STATUS_OK
							       : RDMO_STATUS_NOTSUP;
}

static enum rdmo_status
client_init_check(struct rdmo_command *command, uint32_t length)
{
	if (length != sizeof(struct rdmo_client_init) + sizeof(struct rdmo_addr) ||
	    command->client_init->addr_len != rte_cpu_to_le_64(sizeof(struct rdmo_addr)))
		return RDMO_STATUS_LENGTH;
	command->addr = (const void *)(command->client_init + 1);
	return addr_check(command->addr);
}

static enum rdmo_status
rq_create_check(struct rdmo_command *command, uint32_t length)
{
	const struct rdmo_rq_create *create = command->rq_create;
	bool secret;

	if (length != sizeof(*create) && length != sizeof(*create) + sizeof(struct rdmo_addr))
		return RDMO_STATUS_LENGTH;
	if (rte_le_to_cpu_64(create->addr_len) != length - sizeof(*create))
		return RDMO_STATUS_LENGTH;
	if (create->flags != 0 || create->reserved != 0)
		return RDMO_STATUS_NOTSUP;
	secret = !is_zero(create->secret, sizeof(create->secret));
	if (create->addr_len == 0)
		return secret ? RDMO_STATUS_OK : RDMO_STATUS_KEY;
	if (secret)
		return RDMO_STATUS_NOTSUP;
	command->addr = (const void *)(create + 1);
	return addr_check(command->addr);
}

/* Who an initiator is, and where it goes on. */
static enum rdmo_status
producer_check(const struct rdmo_hello *hello)
{
	const uint32_t producer = rte_le_to_cpu_32(hello->producer);
	const uint64_t first_seq = rte_le_to_cpu_64(hello->first_seq);
	const uint64_t next_seq = rte_le_to_cpu_64(hello->next_seq);
	const bool is_producer = producer != RDMO_NO_PRODUCER;

	if (hello->reserved != 0)
		return RDMO_STATUS_NOTSUP;
	if (is_producer && producer >= RDMO_LOG_PRODUCERS_MAX)
		return RDMO_STATUS_BOUNDS;
	if (first_seq > next_seq || (first_seq == 0 && next_seq != 0) ||
	    next_seq - first_seq > (is_producer ? RDMO_LOG_WINDOW : 0))
		return RDMO_STATUS_BOUNDS;
	return RDMO_STATUS_OK;
}

static enum rdmo_status
hello_check(struct rdmo_command *command, uint32_t length)
{
	enum rdmo_status status;

	if (length != sizeof(struct rdmo_hello) + sizeof(struct rdmo_addr) ||
	    command->hello->addr_len != rte_cpu_to_le_64(sizeof(struct rdmo_addr)))
		return RDMO_STATUS_LENGTH;
	/* Who has no receives cannot be answered. */
	command->addr = (const void *)(command->hello + 1);
	status = command->addr->credits != 0 ? addr_check(command->addr) : RDMO_STATUS_BOUNDS;
	return status == RDMO_STATUS_OK ? producer_check(command->hello) : status;
}

/* The byte strings, of which `bytes` came. */
static enum rdmo_status
packed_check(struct rdmo_command *command, uint64_t bytes)
{
	const struct rdmo_packed_rkey *packed = (const void *)(command->mr_reg + 1);
	const uint64_t rkey_len = rte_le_to_cpu_64(command->mr_reg->packed_rkey_len);

	if (rkey_len > bytes ||
	    rte_le_to_cpu_64(command->mr_reg->packed_memh_len) != bytes - rkey_len)
		return RDMO_STATUS_LENGTH;
	if (command->mr_reg->packed_memh_len != 0)
		return RDMO_STATUS_NOTSUP;
	if (rkey_len != sizeof(*packed))
		return RDMO_STATUS_LENGTH;
	command->rkey = rte_le_to_cpu_32(packed->rkey);
	return packed->reserved == 0 ? RDMO_STATUS_OK : RDMO_STATUS_NOTSUP;
}

static enum rdmo_status
mr_reg_check(struct rdmo_command *command, uint32_t length)
{
	const struct rdmo_mr_reg *reg = command->mr_reg;
	enum rdmo_status status;

	if (length < sizeof(*reg))
		return RDMO_STATUS_LENGTH;
	status = packed_check(command, length - sizeof(*reg));
	if (status != RDMO_STATUS_OK)
		return status;
	if (reg->len == 0 || rte_le_to_cpu_64(reg->va) > UINT64_MAX - rte_le_to_cpu_64(reg->len))
		return RDMO_STATUS_BOUNDS;
	if (reg->rights == 0 || (rte_le_to_cpu_32(reg->rights) & ~(uint32_t)RDMO_RIGHTS_ALL) != 0)
		return RDMO_STATUS_RIGHTS;
	return rte_le_to_cpu_32(reg->tail_mode) < RDMO_TAIL_MODES ? RDMO_STATUS_OK
								  : RDMO_STATUS_NOTSUP;
}

static enum rdmo_status
tail_hold_check(const struct rdmo_tail_hold *hold, uint32_t length)
{
	if (length != sizeof(*hold))
		return RDMO_STATUS_LENGTH;
	return rte_le_to_cpu_32(hold->is_held) <= 1 && hold->reserved == 0 ? RDMO_STATUS_OK
									   : RDMO_STATUS_NOTSUP;
}

void
rdmo_command_read(const struct rdmo_stream *stream, struct rdmo_command *command)
{
	const struct rdmo_cmd *cmd = (const void *)stream->bytes;
	const uint32_t length = rte_le_to_cpu_32(cmd->length);

	*command = (struct rdmo_command){
		.tag = rte_le_to_cpu_64(cmd->tag),
		.kind = cmd->kind,
		.client_init = (const void *)(cmd + 1),
	};
	switch (cmd->kind) {
	case RDMO_CMD_CLIENT_INIT: command->status = client_init_check(command, length); break;
	case RDMO_CMD_RQ_CREATE: command->status = rq_create_check(command, length); break;
	case RDMO_CMD_MR_REG: command->status = mr_reg_check(command, length); break;
	case RDMO_CMD_HELLO: command->status = hello_check(command, length); break;
	case RDMO_CMD_TAIL: command->status = tail_hold_check(command->tail_hold, length); break;
	case RDMO_CMD_RQ_DESTROY:
	case RDMO_CMD_MR_DEREG:
		if (length != sizeof(struct rdmo_mr))
			command->status = RDMO_STATUS_LENGTH;
		break;
	default: command->status = RDMO_STATUS_OP;
	}
}

/* The worker's address, with its length before it. */
static enum rdmo_reason
done_addr_read(struct rdmo_notification *notification, const rte_le64_t *addr_len, uint32_t length)
{
	notification->addr = (const void *)(addr_len + 1);
	if (length != sizeof(*addr_len) + sizeof(*notification->addr))
		return RDMO_REASON_LENGTH;
	if (*addr_len != rte_cpu_to_le_64(sizeof(*notification->addr)) ||
	    addr_check(notification->addr) != RDMO_STATUS_OK)
		return RDMO_REASON_ANSWER;
	return RDMO_REASON_NONE;
}

/* Of HELLO: behind the session. */
static enum rdmo_reason
hello_done_read(struct rdmo_notification *notification, const rte_le64_t *first_seq,
		uint32_t length)
{
	if (length < sizeof(*first_seq))
		return RDMO_REASON_LENGTH;
	notification->first_seq = rte_le_to_cpu_64(*first_seq);
	if (notification->first_seq == 0)
		return RDMO_REASON_ANSWER;
	return done_addr_read(notification, first_seq + 1, length - (uint32_t)sizeof(*first_seq));
}

/* Of an event: behind the key. */
static enum rdmo_reason
event_read(struct rdmo_notification *notification, const rte_le64_t *count, uint32_t length)
{
	if (length != sizeof(*count))
		return RDMO_REASON_LENGTH;
	notification->count = rte_le_to_cpu_64(*count);
	return notification->count != 0 && notification->tag == 0 ? RDMO_REASON_NONE
								  : RDMO_REASON_ANSWER;
}

/* What is behind the header of a command that is done. */
static enum rdmo_reason
done_read(const struct rdmo_cmd *cmd, struct rdmo_notification *notification)
{
	const rte_le64_t *number = (const void *)(cmd + 1);
	uint32_t length = rte_le_to_cpu_32(cmd->length);

	if (notification->kind >= RDMO_CMDS)
		return RDMO_REASON_KIND;
	if (notification->kind == RDMO_CMD_CLIENT_INIT)
		return done_addr_read(notification, number, length);
	if (length < sizeof(*number))
		return RDMO_REASON_LENGTH;
	length -= (uint32_t)sizeof(*number);
	notification->number = rte_le_to_cpu_64(*number);
	if (notification->number == 0)
		return RDMO_REASON_ANSWER;
	if (notification->kind == RDMO_CMD_HELLO)
		return hello_done_read(notification, number + 1, length);
	if (notification->kind == RDMO_CMD_EVENT)
		return event_read(notification, number + 1, length);
	return length == 0 ? RDMO_REASON_NONE : RDMO_REASON_LENGTH;
}

enum rdmo_reason
rdmo_notification_read(const struct rdmo_stream *stream, struct rdmo_notification *notification)
{
	const struct rdmo_cmd *cmd = (const void *)stream->bytes;
	const uint16_t status = rte_le_to_cpu_16(cmd->status);

	*notification = (struct rdmo_notification){
		.tag = rte_le_to_cpu_64(cmd->tag),
		.kind = cmd->kind & (uint8_t)~RDMO_CMD_NOTIFY,
		.status = (enum rdmo_status)status,
	};
	if (status == RDMO_STATUS_OK)
		return done_read(cmd, notification);
	if (status >= RDMO_STATUSES)
		return RDMO_REASON_ANSWER;
	if (notification->kind >= RDMO_CMDS && status != RDMO_STATUS_OP)
		return RDMO_REASON_KIND;
	return cmd->length == 0 ? RDMO_REASON_NONE : RDMO_REASON_LENGTH;
}
