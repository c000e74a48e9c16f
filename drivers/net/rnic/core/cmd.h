/* SPDX-License-Identifier: BSD-3-Clause */

/* The command engine: one command queue, a slot for each command that is under way. */
#ifndef RNIC_CORE_CMD_H
#define RNIC_CORE_CMD_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

#include "prm/cmd.h"

struct rnic_dev;

/*
 * Write opcode and op_mod into `in`, execute, check the status. Several may be in flight. Polled before the async EQ
 * exists, by event afterwards. One error report: opcode name, op_mod, status, syndrome, time.
 * Returns 0, -ETIMEDOUT, -ECANCELED (not sent: the control thread is to end), -EIO (delivery, device gone), or the status as errno: -EINVAL BAD_PARAM/INDEX/RES/QP_STATE/LEN,
 * -EBUSY RES_BUSY, -ENOSPC LIM/NO_RES, -EOPNOTSUPP BAD_OP, -EPERM BAD_SYS_STATE, -EREMOTEIO INTERNAL_ERR.
 */
int rnic_cmd_exec(struct rnic_dev *dev, uint16_t opcode, uint16_t op_mod, void *in,
		  uint32_t in_bytes, void *out, uint32_t out_bytes);
/* DESTROY_x / DEALLOC_x of an object's number. The device is lost where that does not complete: it may go on using the object. */
int rnic_cmd_destroy(struct rnic_dev *dev, uint16_t opcode, uint32_t number);
/* ALLOC_x: no input but the header. */
int rnic_cmd_alloc(struct rnic_dev *dev, uint16_t opcode, uint32_t *number);

/* What commands ask of the floors above, which hand it down with the queue. */
struct rnic_cmdq_ops {
	/* All events that the device has raised so far are handled when it returns. */
	void (*sync)(struct rnic_dev *dev);
	/* Events of commands did not come: can the device raise any? No waiting. */
	void (*suspect)(struct rnic_dev *dev);
	/* From who waits for a command: give the pages that the device asks for, if nobody else hears of it. */
	void (*serve_pages)(struct rnic_dev *dev);
};
int rnic_cmdq_create(struct rnic_dev *dev, const struct rnic_cmdq_ops *ops);
void rnic_cmdq_destroy(struct rnic_dev *dev);
/* Where the device says that its queue is, once it is ready: by that a reset by somebody else is noticed. */
void rnic_cmdq_remember(struct rnic_dev *dev);
/* Completions come as events; waiting threads may sleep. */
void rnic_cmdq_use_events(struct rnic_dev *dev, bool on);
/* From the event queue: these slots have completed. */
void rnic_cmdq_completed(struct rnic_dev *dev, uint32_t slots);
/* As rnic_cmd_exec(); what the device refuses is not reported, all else is. For questions that it may refuse. */
int rnic_cmd_try(struct rnic_dev *dev, uint16_t opcode, uint16_t op_mod, void *in,
		 uint32_t in_bytes, void *out, uint32_t out_bytes);
/* Either of the two. */
typedef int rnic_cmd_fn(struct rnic_dev *dev, uint16_t opcode, uint16_t op_mod, void *in,
			uint32_t in_bytes, void *out, uint32_t out_bytes);
/* As rnic_cmd_exec(), of a command that answers nothing but its status. */
static inline int
rnic_cmd_exec_in(struct rnic_dev *dev, uint16_t opcode, uint16_t op_mod, void *in,
		 uint32_t in_bytes)
{
	struct rnic_cmd_out out;

	return rnic_cmd_exec(dev, opcode, op_mod, in, in_bytes, &out, sizeof(out));
}

static inline int
rnic_cmd_try_in(struct rnic_dev *dev, uint16_t opcode, uint16_t op_mod, void *in, uint32_t in_bytes)
{
	struct rnic_cmd_out out;

	return rnic_cmd_try(dev, opcode, op_mod, in, in_bytes, &out, sizeof(out));
}

/* QUERY_x of an object's number. */
static inline int
rnic_cmd_query(struct rnic_dev *dev, uint16_t opcode, uint32_t number, void *out,
	       uint32_t out_bytes)
{
	struct rnic_object_in in = { 0 };

	rnic_object_in_set(&in, RNIC_OBJECT_IN_NUMBER, number);
	return rnic_cmd_exec(dev, opcode, 0, &in, sizeof(in), out, out_bytes);
}

static inline int
rnic_cmd_try_query(struct rnic_dev *dev, uint16_t opcode, uint32_t number, void *out,
		   uint32_t out_bytes)
{
	struct rnic_object_in in = { 0 };

	rnic_object_in_set(&in, RNIC_OBJECT_IN_NUMBER, number);
	return rnic_cmd_try(dev, opcode, 0, &in, sizeof(in), out, out_bytes);
}

/* What rnic_cmd_exec() and rnic_cmd_try() say when the firmware did not want to: there is a device, and it goes on. */
static inline bool
rnic_cmd_refused(int rc)
{
	switch (rc) {
	case -EINVAL:
	case -EBUSY:
	case -ENOSPC:
	case -EOPNOTSUPP:
	case -EPERM:
	case -EREMOTEIO: return true;
	default: return false;
	}
}
/* Commands have completed of which no event has told yet. */
bool rnic_cmdq_owed(struct rnic_dev *dev);
/* None will. */
void rnic_cmdq_forgive(struct rnic_dev *dev);
/* Is there a command that timed out, or has been under way for so long? */
bool rnic_cmdq_stuck(struct rnic_dev *dev, uint64_t us);
/* Commands in flight or lost, for tests. */
uint32_t rnic_cmdq_busy_slots(struct rnic_dev *dev);

#endif
