/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The command interface (PRM: "Command Interface"): slots in a page, inputs and outputs beyond 16 bytes in chains of
 * mailbox blocks. Any thread may execute a command; it takes a slot, fills it, rings, and waits for it. The last slot is
 * for page commands alone, so that a device that needs pages to go on can always be served.
 *
 * Waiting: the slot's owner bit says when a command is done, always. Events only spare the waiting: once they are on, a
 * thread sleeps until the event queue tells of its slot, and still looks by itself now and then. The control thread,
 * which walks the event queue, polls; the device may need pages before it goes on, and nobody else would hear of it, so
 * that thread looks for requests of them while it waits. Before it has started, so does the one that brings the device up.
 *
 * A command that runs out of time, or that the control thread gives up because it is to end, keeps its slot and mailboxes
 * until the device lets go of them or is reset: it may still write there.
 */

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"
#include "core/cmd.h"
#include "core/dev.h"
#include "core/doorbell.h"
#include "core/dump.h"
#include "core/health.h"
#include "core/mailbox.h"
#include "core/mem.h"
#include "prm/cmd.h"
#include "prm/cmd_table.h"
#include "prm/cmdq.h"
#include "prm/init_seg.h"

#define SLOTS_MAX	    32
#define SPIN_US		    200 /* yield for so long, then sleep */
#define SLEEP_US	    100
#define EVENT_WAIT_US	    5000 /* longest sleep without a look at the slot */
#define UNHEARD_MAX	    64	 /* a quarter of the event queue */
#define UNHEARD_PATIENCE_US 100000
#define HEALTH_CHECK_US	    100000 /* a waiting thread looks: is it alive, does it want pages? */

struct slot {
	struct rnic_mailbox *in, *out;
	uint32_t out_count;
	uint64_t since_us; /* handed over; 0: not yet */
	bool lost;	   /* timed out, the device's until it lets go */
};

struct rnic_cmdq {
	const struct rnic_cmdq_ops *ops;
	struct rnic_mem mem;
	struct rnic_cmdq_entry *entries;
	uint32_t slot_count, stride;

	pthread_mutex_t lock; /* of all below */
	pthread_cond_t changed;
	struct slot slots[SLOTS_MAX];
	uint32_t busy;
	uint32_t completed; /* slots that events have told of */
	bool events;
	uint32_t unheard; /* commands whose events the control thread has not come to yet */
	uint32_t heard;	  /* those that it has come to: free running */
	uint8_t token;
	struct rnic_mailbox_pool inputs, outputs;
};

static struct rnic_cmdq_entry *
slot_entry(struct rnic_cmdq *cmdq, uint32_t slot)
{
	return (struct rnic_cmdq_entry *)((uint8_t *)cmdq->entries + (size_t)slot * cmdq->stride);
}

static uint32_t
blocks_for(uint32_t bytes)
{
	if (bytes <= RNIC_CMDQ_INLINE_BYTES)
		return 0;
	return (bytes - RNIC_CMDQ_INLINE_BYTES + RNIC_CMDQ_BLOCK_BYTES - 1) / RNIC_CMDQ_BLOCK_BYTES;
}

/* ---- Slots ---- */

/* Lost slots whose command has come back after all. Called with the lock held. */
static void
reclaim_lost(struct rnic_cmdq *cmdq)
{
	uint32_t i;

	for (i = 0; i < cmdq->slot_count; i++) {
		struct slot *slot = &cmdq->slots[i];

		if (!slot->lost || rnic_cmd_entry_status(&slot_entry(cmdq, i)->status_own) &
					   RNIC_CMDQ_STATUS_OWN_HW)
			continue;
		rnic_mailbox_put(&cmdq->inputs, slot->in);
		rnic_mailbox_put(&cmdq->outputs, slot->out);
		*slot = (struct slot){ 0 };
		cmdq->busy &= ~(1u << i);
	}
}

static void
deadline_at(uint64_t us, struct timespec *at)
{
	at->tv_sec = (time_t)(us / 1000000);
	at->tv_nsec = (long)(us % 1000000) * 1000;
}

/*
 * Called with the lock held. A fast thread sees commands complete before their events are handled: the event queue must
 * not run over with them, however long the control thread has no CPU. A device that owes events, of which nothing more is
 * heard once it has walked the queue, is not waited for.
 */
static void
wait_for_events(struct rnic_dev *dev, struct rnic_cmdq *cmdq)
{
	struct timespec at;
	uint32_t heard;
	uint64_t end;

	if (!cmdq->events || rnic_thread_serves(dev))
		return;
	while (cmdq->unheard >= UNHEARD_MAX) {
		heard = cmdq->heard;
		end = rnic_now_us() + UNHEARD_PATIENCE_US;
		while (cmdq->unheard >= UNHEARD_MAX && rnic_now_us() < end) {
			deadline_at(rnic_now_us() + EVENT_WAIT_US, &at);
			pthread_cond_timedwait(&cmdq->changed, &cmdq->lock, &at);
		}
		if (cmdq->unheard < UNHEARD_MAX)
			break;
		pthread_mutex_unlock(&cmdq->lock);
		cmdq->ops->sync(dev);
		pthread_mutex_lock(&cmdq->lock);
		if (cmdq->heard == heard) {
			cmdq->unheard = 0;
			cmdq->ops->suspect(dev);
		}
	}
}

/* Called with the lock held. A page command waits for its one slot, others for any but that. */
static int
get_slot(struct rnic_dev *dev, struct rnic_cmdq *cmdq, bool page_command, uint64_t deadline,
	 uint32_t *slot)
{
	const uint32_t last = 1u << (cmdq->slot_count - 1);
	const uint32_t allowed = page_command ? last : last - 1;

	if (!page_command)
		wait_for_events(dev, cmdq);
	for (;;) {
		struct timespec at;

		reclaim_lost(cmdq);
		if (~cmdq->busy & allowed) {
			*slot = (uint32_t)__builtin_ctz(~cmdq->busy & allowed);
			cmdq->busy |= 1u << *slot;
			cmdq->completed &= ~(1u << *slot);
			return 0;
		}
		if (rnic_thread_stopping(dev))
			return -ECANCELED;
		if (rnic_now_us() >= deadline || atomic_load(&dev->dead))
			return -ETIMEDOUT;
		deadline_at(rnic_now_us() + EVENT_WAIT_US, &at);
		pthread_cond_timedwait(&cmdq->changed, &cmdq->lock, &at);
	}
}

static void
put_slot(struct rnic_cmdq *cmdq, uint32_t index)
{
	struct slot *slot = &cmdq->slots[index];

	rnic_mailbox_put(&cmdq->inputs, slot->in);
	rnic_mailbox_put(&cmdq->outputs, slot->out);
	*slot = (struct slot){ 0 };
	cmdq->busy &= ~(1u << index);
	pthread_cond_broadcast(&cmdq->changed);
}

static void
dump_slot(struct rnic_dev *dev, const struct rnic_cmdq_entry *entry,
	  const struct rnic_mailbox *chain, uint32_t count, bool output)
{
	const void **blocks = NULL;
	uint32_t i;

	if (count > 0) {
		blocks = calloc(count, sizeof(blocks[0]));
		if (blocks == NULL)
			return;
		for (i = 0; i < count; i++, chain = chain->next)
			blocks[i] = chain->block;
	}
	rnic_dump_command(dev, entry, blocks, count, output);
	free(blocks);
}

/* XOR over the entry, signature included, gives 0xff, as Linux computes it. */
static uint8_t
entry_signature(const struct rnic_cmdq_entry *entry)
{
	const uint8_t *byte = (const uint8_t *)entry;
	uint8_t sum = 0;
	size_t i;

	for (i = 0; i < sizeof(*entry); i++)
		sum ^= byte[i];
	return (uint8_t)~sum;
}

/* Called with the lock held: fill the slot and hand it to the device. */
static int
slot_post(struct rnic_dev *dev, struct rnic_cmdq *cmdq, uint32_t index, const void *in,
	  uint32_t in_bytes, uint32_t out_bytes)
{
	struct rnic_cmdq_entry *entry = slot_entry(cmdq, index);
	struct slot *slot = &cmdq->slots[index];
	struct rnic_cmdq_entry image = { .type = RNIC_CMDQ_ENTRY_TYPE };
	uint32_t inline_bytes =
		in_bytes < RNIC_CMDQ_INLINE_BYTES ? in_bytes : RNIC_CMDQ_INLINE_BYTES;
	int rc;

	if (++cmdq->token == 0)
		cmdq->token = 1;
	image.token = cmdq->token;
	rc = rnic_mailbox_get(dev, &cmdq->inputs, blocks_for(in_bytes), image.token, &slot->in);
	if (rc == 0)
		rc = rnic_mailbox_get(dev, &cmdq->outputs, blocks_for(out_bytes), image.token,
				      &slot->out);
	if (rc != 0)
		return rc;
	slot->out_count = blocks_for(out_bytes);
	memcpy(image.input, in, inline_bytes);
	rnic_mailbox_copy_in(slot->in, (const uint8_t *)in + inline_bytes, in_bytes - inline_bytes);
	image.input_length = rnic_cpu_to_be32(in_bytes);
	image.output_length = rnic_cpu_to_be32(out_bytes);
	if (slot->in != NULL)
		image.input_mailbox = rnic_cpu_to_be64(slot->in->iova);
	if (slot->out != NULL)
		image.output_mailbox = rnic_cpu_to_be64(slot->out->iova);
	image.status_own = RNIC_CMDQ_STATUS_OWN_HW;
	image.signature = entry_signature(&image);

	memcpy(entry, &image, offsetof(struct rnic_cmdq_entry, status_own));
	if (unlikely(rnic_dump_wanted()))
		dump_slot(dev, &image, slot->in, blocks_for(in_bytes), false);
	slot->since_us = rnic_now_us();
	rnic_cmd_entry_publish(&entry->status_own, RNIC_CMDQ_STATUS_OWN_HW);
	dev->access->ops->write32(dev->access, RNIC_FIELD_OFFSET(RNIC_ISEG_COMMAND_DOORBELL),
				  rnic_cpu_to_be32(1u << index));
	return 0;
}

/* Sleep until there is reason to look at the slot again. */
static void
wait_a_little(struct rnic_cmdq *cmdq, uint32_t index, uint64_t elapsed_us, bool may_wait)
{
	const struct timespec nap = { .tv_nsec = SLEEP_US * 1000 };
	struct timespec at;

	if (elapsed_us < SPIN_US) {
		sched_yield();
		return;
	}
	if (!may_wait) {
		nanosleep(&nap, NULL);
		return;
	}
	pthread_mutex_lock(&cmdq->lock);
	if (cmdq->events && !(cmdq->completed & 1u << index)) {
		deadline_at(rnic_now_us() + EVENT_WAIT_US, &at);
		pthread_cond_timedwait(&cmdq->changed, &cmdq->lock, &at);
		pthread_mutex_unlock(&cmdq->lock);
		return;
	}
	pthread_mutex_unlock(&cmdq->lock);
	nanosleep(&nap, NULL);
}

/* What became of a command, for the one error report. */
struct outcome {
	int rc;
	uint32_t delivery, status, syndrome;
	uint64_t elapsed_us;
	const char *dead;
	bool given_up;
};

/* Not while a page command is under way: that is the one that gives them. */
static void
serve_pages(struct rnic_dev *dev, const struct rnic_cmdq *cmdq, uint32_t index)
{
	if (index != cmdq->slot_count - 1)
		cmdq->ops->serve_pages(dev);
}

/* Until the device has given the slot back: 0, or -ETIMEDOUT. */
static int
wait_for(struct rnic_dev *dev, struct rnic_cmdq *cmdq, uint32_t index, uint64_t start,
	 uint64_t deadline, struct outcome *outcome)
{
	const struct rnic_cmdq_entry *entry = slot_entry(cmdq, index);
	const bool may_wait = !rnic_thread_serves(dev);
	uint64_t next_check = start + HEALTH_CHECK_US;
	bool last = false;

	for (;;) {
		uint64_t now;

		if (!(rnic_cmd_entry_status(&entry->status_own) & RNIC_CMDQ_STATUS_OWN_HW))
			return 0;
		/* No thread is left that could complete it. */
		if (atomic_load(&dev->access->gone)) {
			outcome->dead = rnic_device_dead(dev);
			return -ETIMEDOUT;
		}
		now = rnic_now_us();
		if (!last && rnic_thread_stopping(dev)) {
			last = true;
			deadline = RTE_MIN(deadline, rnic_thread_last_us());
		}
		if (outcome->dead == NULL && now >= next_check) {
			next_check = now + HEALTH_CHECK_US;
			outcome->dead = rnic_device_dead(dev);
			if (outcome->dead != NULL &&
			    deadline > now + (uint64_t)dev->tunables.cmd_dead_timeout_ms * 1000)
				deadline = now + (uint64_t)dev->tunables.cmd_dead_timeout_ms * 1000;
			if (outcome->dead == NULL)
				serve_pages(dev, cmdq, index);
		}
		if (now >= RTE_MIN(deadline, rnic_dev_end_us(dev))) {
			outcome->given_up = last;
			return -ETIMEDOUT;
		}
		wait_a_little(cmdq, index, now - start, may_wait);
	}
}

/* ---- Results ---- */

static int
status_to_errno(uint32_t status)
{
	switch (status) {
	case RNIC_STATUS_OK: return 0;
	case RNIC_STATUS_BAD_OP: return -EOPNOTSUPP;
	case RNIC_STATUS_BAD_SYS_STATE: return -EPERM;
	case RNIC_STATUS_RES_BUSY: return -EBUSY;
	case RNIC_STATUS_LIM:
	case RNIC_STATUS_NO_RES: return -ENOSPC;
	case RNIC_STATUS_BAD_PARAM:
	case RNIC_STATUS_BAD_RES:
	case RNIC_STATUS_BAD_RES_STATE:
	case RNIC_STATUS_BAD_INDEX:
	case RNIC_STATUS_BAD_QP_STATE:
	case RNIC_STATUS_BAD_SIZE_OUTS_CQES:
	case RNIC_STATUS_BAD_INP_LEN:
	case RNIC_STATUS_BAD_OUTP_LEN: return -EINVAL;
	default: return -EREMOTEIO; /* INTERNAL_ERR, and what we do not know */
	}
}

static void
cmd_report(struct rnic_dev *dev, uint16_t opcode, uint16_t op_mod, const struct outcome *outcome)
{
	const char *name = rnic_cmd_name(opcode);

	if (!rnic_thread_may_log(dev))
		return;
	if (outcome->given_up)
		RNIC_LOG(NOTICE, dev, "%s (0x%x, op_mod 0x%x) given up after %" PRIu64 " ms", name,
			 opcode, op_mod, outcome->elapsed_us / 1000);
	else if (outcome->rc == -ETIMEDOUT)
		RNIC_LOG(ERR, dev, "%s (0x%x, op_mod 0x%x) did not complete in %" PRIu64 " ms%s%s",
			 name, opcode, op_mod, outcome->elapsed_us / 1000,
			 outcome->dead != NULL ? ": " : "; the device is stuck",
			 outcome->dead != NULL ? outcome->dead : "");
	else if (outcome->delivery != 0)
		RNIC_LOG(ERR, dev,
			 "%s (0x%x, op_mod 0x%x) was not delivered: %s (0x%x), after %" PRIu64
			 " us",
			 name, opcode, op_mod, rnic_delivery_status_name(outcome->delivery),
			 outcome->delivery, outcome->elapsed_us);
	else if (outcome->status != 0)
		RNIC_LOG(ERR, dev,
			 "%s (0x%x, op_mod 0x%x) failed: %s (status 0x%x), syndrome 0x%x, after "
			 "%" PRIu64 " us",
			 name, opcode, op_mod, rnic_cmd_status_name(outcome->status),
			 outcome->status, outcome->syndrome, outcome->elapsed_us);
	else
		RNIC_LOG(ERR, dev, "%s (0x%x, op_mod 0x%x) was not sent: %s", name, opcode, op_mod,
			 outcome->dead != NULL ? outcome->dead : strerror(-outcome->rc));
}

/* Called with the lock held, the slot being the driver's again. */
static void
slot_collect(struct rnic_dev *dev, struct rnic_cmdq *cmdq, uint32_t index, void *out,
	     uint32_t out_bytes, struct outcome *outcome)
{
	const struct rnic_cmdq_entry *entry = slot_entry(cmdq, index);
	const struct slot *slot = &cmdq->slots[index];
	uint32_t inline_bytes =
		out_bytes < RNIC_CMDQ_INLINE_BYTES ? out_bytes : RNIC_CMDQ_INLINE_BYTES;
	struct rnic_cmd_out header;

	if (unlikely(rnic_dump_wanted()))
		dump_slot(dev, entry, slot->out, slot->out_count, true);
	outcome->delivery = entry->status_own >> 1;
	if (outcome->delivery != RNIC_DELIVERY_OK) {
		outcome->rc = -EIO;
		return;
	}
	memcpy(&header, entry->output, sizeof(header));
	outcome->status = (uint32_t)rnic_cmd_out_get(&header, RNIC_CMD_OUT_STATUS);
	outcome->syndrome = (uint32_t)rnic_cmd_out_get(&header, RNIC_CMD_OUT_SYNDROME);
	outcome->rc = status_to_errno(outcome->status);
	memcpy(out, entry->output, inline_bytes);
	rnic_mailbox_copy_out(slot->out, (uint8_t *)out + inline_bytes, out_bytes - inline_bytes);
}

static void
cmd_execute(struct rnic_dev *dev, uint16_t opcode, void *in, uint32_t in_bytes, void *out,
	    uint32_t out_bytes, struct outcome *outcome)
{
	struct rnic_cmdq *cmdq = dev->cmdq;
	const uint64_t start = rnic_now_us();
	const uint64_t deadline = RTE_MIN(start + (uint64_t)dev->tunables.cmd_timeout_ms * 1000,
					  rnic_dev_end_us(dev));
	uint32_t slot = 0;

	if (!rnic_thread_lock(&cmdq->lock)) {
		outcome->rc = -ECANCELED;
		return;
	}
	outcome->rc = get_slot(dev, cmdq, opcode == RNIC_CMD_MANAGE_PAGES, deadline, &slot);
	if (outcome->rc == 0) {
		outcome->rc = slot_post(dev, cmdq, slot, in, in_bytes, out_bytes);
		if (outcome->rc != 0)
			put_slot(cmdq, slot);
		else if (cmdq->events)
			cmdq->unheard++;
	} else if (outcome->rc != -ECANCELED) {
		outcome->rc = -EIO;
		outcome->dead = "all slots are taken by commands that do not complete";
	}
	pthread_mutex_unlock(&cmdq->lock);
	if (outcome->rc != 0)
		return;

	outcome->rc = wait_for(dev, cmdq, slot, start, deadline, outcome);
	outcome->elapsed_us = rnic_now_us() - start;

	/* Its slot stays taken. */
	if (!rnic_thread_lock(&cmdq->lock)) {
		outcome->rc = -ETIMEDOUT;
		outcome->given_up = true;
		return;
	}
	if (outcome->rc == 0) {
		slot_collect(dev, cmdq, slot, out, out_bytes, outcome);
		put_slot(cmdq, slot);
	} else {
		cmdq->slots[slot].lost = true;
	}
	pthread_mutex_unlock(&cmdq->lock);
	if (outcome->dead != NULL)
		rnic_dev_fatal(dev, outcome->dead);
}

static int
cmd_exec(struct rnic_dev *dev, uint16_t opcode, uint16_t op_mod, void *in, uint32_t in_bytes,
	 void *out, uint32_t out_bytes, bool may_be_refused)
{
	struct outcome outcome = { 0 };
	struct rnic_cmd_in *header = in;

	if (in_bytes < 8 || out_bytes < 8 || dev->cmdq == NULL)
		return -EINVAL;
	rnic_cmd_in_set(header, RNIC_CMD_IN_OPCODE, opcode);
	rnic_cmd_in_set(header, RNIC_CMD_IN_OP_MOD, op_mod);
	if (rnic_now_us() >= rnic_dev_end_us(dev))
		rnic_dev_fatal(dev, "closing it took too long");
	if (atomic_load_explicit(&dev->dead, memory_order_relaxed)) {
		/* It was said once, by rnic_dev_fatal(). */
		RNIC_LOG(DEBUG, dev, "%s not sent: the device is lost", rnic_cmd_name(opcode));
		return -EIO;
	}
	if (rnic_thread_stopping(dev))
		return -ECANCELED;
	outcome.dead = rnic_device_dead(dev);
	if (outcome.dead != NULL) {
		outcome.rc = -EIO;
		rnic_dev_fatal(dev, outcome.dead);
	} else {
		cmd_execute(dev, opcode, in, in_bytes, out, out_bytes, &outcome);
	}
	if (outcome.rc != 0 && outcome.rc != -ECANCELED && !(may_be_refused && outcome.status != 0))
		cmd_report(dev, opcode, op_mod, &outcome);
	return outcome.rc;
}

int
rnic_cmd_exec(struct rnic_dev *dev, uint16_t opcode, uint16_t op_mod, void *in, uint32_t in_bytes,
	      void *out, uint32_t out_bytes)
{
	return cmd_exec(dev, opcode, op_mod, in, in_bytes, out, out_bytes, false);
}

int
rnic_cmd_try(struct rnic_dev *dev, uint16_t opcode, uint16_t op_mod, void *in, uint32_t in_bytes,
	     void *out, uint32_t out_bytes)
{
	return cmd_exec(dev, opcode, op_mod, in, in_bytes, out, out_bytes, true);
}

int
rnic_cmd_destroy(struct rnic_dev *dev, uint16_t opcode, uint32_t number)
{
	struct rnic_object_in in = { 0 };
	struct rnic_cmd_out out;
	int rc;

	rnic_object_in_set(&in, RNIC_OBJECT_IN_NUMBER, number);
	rc = rnic_cmd_exec(dev, opcode, 0, &in, sizeof(in), &out, sizeof(out));
	/* The caller gives back what the object may still write to. */
	if (rc == -ETIMEDOUT)
		rnic_dev_fatal(dev, "a command to destroy an object was not answered");
	return rc;
}

int
rnic_cmd_alloc(struct rnic_dev *dev, uint16_t opcode, uint32_t *number)
{
	struct rnic_cmd_in in = { 0 };
	struct rnic_object_out out;
	int rc = rnic_cmd_exec(dev, opcode, 0, &in, sizeof(in), &out, sizeof(out));

	if (rc == 0)
		*number = (uint32_t)rnic_object_out_get(&out, RNIC_OBJECT_OUT_NUMBER);
	return rc;
}

/* ---- Life ---- */

void
rnic_cmdq_completed(struct rnic_dev *dev, uint32_t slots)
{
	const uint32_t count = (uint32_t)__builtin_popcount(slots);
	struct rnic_cmdq *cmdq = dev->cmdq;

	if (!rnic_thread_lock(&cmdq->lock))
		return;
	cmdq->completed |= slots;
	cmdq->unheard -= RTE_MIN(cmdq->unheard, count);
	cmdq->heard += count;
	pthread_cond_broadcast(&cmdq->changed);
	pthread_mutex_unlock(&cmdq->lock);
}

void
rnic_cmdq_use_events(struct rnic_dev *dev, bool on)
{
	struct rnic_cmdq *cmdq = dev->cmdq;

	pthread_mutex_lock(&cmdq->lock);
	cmdq->events = on;
	cmdq->unheard = 0;
	pthread_cond_broadcast(&cmdq->changed);
	pthread_mutex_unlock(&cmdq->lock);
}

bool
rnic_cmdq_owed(struct rnic_dev *dev)
{
	struct rnic_cmdq *cmdq = dev->cmdq;
	bool owed;

	if (!rnic_thread_lock(&cmdq->lock))
		return false;
	owed = cmdq->events && cmdq->unheard > 0;
	pthread_mutex_unlock(&cmdq->lock);
	return owed;
}

void
rnic_cmdq_forgive(struct rnic_dev *dev)
{
	struct rnic_cmdq *cmdq = dev->cmdq;

	if (!rnic_thread_lock(&cmdq->lock))
		return;
	cmdq->unheard = 0;
	pthread_cond_broadcast(&cmdq->changed);
	pthread_mutex_unlock(&cmdq->lock);
}

bool
rnic_cmdq_stuck(struct rnic_dev *dev, uint64_t us)
{
	struct rnic_cmdq *cmdq = dev->cmdq;
	const uint64_t now = rnic_now_us();
	bool stuck = false;
	uint32_t i;

	if (!rnic_thread_lock(&cmdq->lock))
		return false;
	reclaim_lost(cmdq);
	for (i = 0; i < cmdq->slot_count; i++) {
		const struct slot *slot = &cmdq->slots[i];

		stuck |= slot->lost || (slot->since_us != 0 && now - slot->since_us >= us);
	}
	pthread_mutex_unlock(&cmdq->lock);
	return stuck;
}

uint32_t
rnic_cmdq_busy_slots(struct rnic_dev *dev)
{
	struct rnic_cmdq *cmdq = dev->cmdq;
	uint32_t busy;

	pthread_mutex_lock(&cmdq->lock);
	reclaim_lost(cmdq);
	busy = cmdq->busy;
	pthread_mutex_unlock(&cmdq->lock);
	return busy;
}

/* The device learns where the slots are; reading tells how many it has and how far apart. */
static int
check_interface(struct rnic_dev *dev, struct rnic_cmdq *cmdq)
{
	uint32_t rev = rnic_register_read(dev, RNIC_ISEG_CMD_INTERFACE_REV);
	uint32_t log_size = rnic_register_read(dev, RNIC_ISEG_LOG_CMDQ_SIZE);
	uint32_t log_stride = rnic_register_read(dev, RNIC_ISEG_LOG_CMDQ_STRIDE);

	if (rev != RNIC_CMD_INTERFACE_REV) {
		RNIC_LOG(ERR, dev, "command interface revision %u, this driver needs %u", rev,
			 RNIC_CMD_INTERFACE_REV);
		return -ENOTSUP;
	}
	if (log_size < 1 || log_size > RNIC_CMDQ_LOG_SIZE || log_stride < RNIC_CMDQ_LOG_STRIDE ||
	    log_size + log_stride > 12) {
		RNIC_LOG(ERR, dev, "command queue of 2^%u slots, 2^%u bytes each: not usable",
			 log_size, log_stride);
		return -ENOTSUP;
	}
	cmdq->slot_count = 1u << log_size;
	cmdq->stride = 1u << log_stride;
	return 0;
}

int
rnic_cmdq_create(struct rnic_dev *dev, const struct rnic_cmdq_ops *ops)
{
	struct rnic_cmdq *cmdq = calloc(1, sizeof(*cmdq));
	pthread_condattr_t monotonic;
	int rc;

	if (cmdq == NULL)
		return -ENOMEM;
	rc = check_interface(dev, cmdq);
	if (rc == 0)
		rc = rnic_mem_alloc(dev, "the command queue", RNIC_PAGE_BYTES, RNIC_PAGE_BYTES,
				    RNIC_ACCESS_READ | RNIC_ACCESS_WRITE, &cmdq->mem);
	if (rc != 0) {
		free(cmdq);
		return rc;
	}
	cmdq->ops = ops;
	cmdq->token = dev->tunables.token;
	cmdq->heard = dev->tunables.heard;
	cmdq->entries = cmdq->mem.address;
	cmdq->inputs.what = "command inputs";
	cmdq->inputs.rights = RNIC_ACCESS_READ;
	cmdq->outputs.what = "command outputs";
	cmdq->outputs.rights = RNIC_ACCESS_READ | RNIC_ACCESS_WRITE;
	pthread_mutex_init(&cmdq->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&cmdq->changed, &monotonic);
	pthread_condattr_destroy(&monotonic);

	/* High half first; the low half's lower bits say "full driver". */
	dev->access->ops->write32(dev->access, RNIC_FIELD_OFFSET(RNIC_ISEG_CMDQ_ADDR_HIGH),
				  rnic_cpu_to_be32((uint32_t)(cmdq->mem.iova >> 32)));
	dev->access->ops->write32(dev->access, RNIC_FIELD_OFFSET(RNIC_ISEG_CMDQ_ADDR_LOW),
				  rnic_cpu_to_be32((uint32_t)cmdq->mem.iova));
	dev->cmdq = cmdq;
	return 0;
}

void
rnic_cmdq_remember(struct rnic_dev *dev)
{
	const struct rnic_cmdq *cmdq = dev->cmdq;

	/* The manual does not promise that it can be read. */
	dev->cmdq_address_low = rnic_register_read(dev, RNIC_ISEG_CMDQ_ADDR_LOW);
	if (dev->cmdq_address_low != (uint32_t)cmdq->mem.iova / RNIC_PAGE_BYTES)
		dev->cmdq_address_low = 0;
}

void
rnic_cmdq_destroy(struct rnic_dev *dev)
{
	struct rnic_cmdq *cmdq = dev->cmdq;

	if (cmdq == NULL)
		return;
	if (rnic_cmdq_busy_slots(dev) != 0)
		rnic_dev_give_up(dev, "commands did not complete");
	dev->cmdq = NULL;
	dev->cmdq_address_low = 0;
	rnic_mailbox_pool_free(dev, &cmdq->inputs);
	rnic_mailbox_pool_free(dev, &cmdq->outputs);
	rnic_mem_free(dev, &cmdq->mem);
	pthread_cond_destroy(&cmdq->changed);
	pthread_mutex_destroy(&cmdq->lock);
	free(cmdq);
}
