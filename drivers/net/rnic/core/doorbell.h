/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Hand-over between the driver and the device: every place where one side's stores become the other side's, each as one
 * named function. A hand-over is a release or acquire access to one word (so that the compiler, the CPU and
 * ThreadSanitizer agree on it for a device in this process) plus the I/O barrier that a device behind a bus needs.
 *
 * The order of a post:   WQEs -> rnic_dbrec_publish() -> rnic_doorbell_ring() or rnic_blueflame_ring()
 * The order of a poll:   rnic_cqe_ready() -> read the CQE and the data -> rnic_cq_dbrec_publish()
 */
#ifndef RNIC_DOORBELL_H
#define RNIC_DOORBELL_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_atomic.h>
#include <rte_branch_prediction.h>
#include <rte_spinlock.h>

#include "core/bfreg.h"
#include "prm/cqe.h"
#include "prm/wqe.h"

/*
 * Hand WQEs over: everything stored before (WQEs, and payload that they name) is seen by a reader of this counter.
 * Partner: the device's load-acquire of the record, before it reads the WQEs.
 */
static inline void
rnic_dbrec_publish(struct rnic_be32 *record, uint32_t counter)
{
	rte_io_wmb();
	__atomic_store_n(&record->raw, RNIC_SWAP32(counter), __ATOMIC_RELEASE);
}

/* New WQEs of a send queue, counted in WQEBBs. */
static inline void
rnic_sq_dbrec_publish(struct rnic_wq_dbrec *record, uint16_t producer)
{
	rnic_dbrec_publish(&record->send_counter, producer);
}

/* New WQEs of a receive queue: there is no doorbell, the device looks at the record. */
static inline void
rnic_rq_dbrec_publish(struct rnic_wq_dbrec *record, uint16_t producer)
{
	rnic_dbrec_publish(&record->receive_counter, producer);
}

/*
 * Give CQEs back: all reads of them are done. The release orders loads before this store, no I/O barrier is needed.
 * Partner: the device's load-acquire of the consumer index, before it overwrites an entry.
 */
static inline void
rnic_cq_dbrec_publish(struct rnic_cq_dbrec *record, uint32_t consumer)
{
	__atomic_store_n(&record->consumer_index.raw, RNIC_SWAP32(consumer & RNIC_CQ_INDEX_MASK),
			 __ATOMIC_RELEASE);
}

/*
 * Arm a CQ: an event when there is an entry behind the index in `arm`. The record, then the register, which all CQs of
 * the device share; a write that another one's overtakes is found in the record.
 * Partner: the device's load of the register, after which it loads the record with acquire.
 */
static inline void
rnic_cq_arm(struct rnic_cq_dbrec *record, volatile void *reg, uint32_t arm, uint32_t cqn)
{
	rnic_dbrec_publish(&record->arm, arm);
	rte_io_wmb();
	__atomic_store_n((volatile uint64_t *)reg, RNIC_SWAP64((uint64_t)arm << 32 | cqn),
			 __ATOMIC_RELEASE);
}

/*
 * Ring: an 8-byte write of the first two dwords of the last posted WQE's control segment. It must reach the device after
 * the doorbell record, and the two halves of a register are used in turn.
 * Partner: the device's load of the register, after which it loads the doorbell record with acquire.
 */
static inline void
rnic_doorbell_ring(struct rnic_bfreg *reg, const struct rnic_wqe_ctrl *ctrl)
{
	volatile void *address;
	uint64_t value;

	__builtin_memcpy(&value, ctrl, sizeof(value));
	rte_io_wmb();
	if (likely(reg->plain)) {
		__atomic_store_n((volatile uint64_t *)reg->address, value, __ATOMIC_RELEASE);
		reg->address = (volatile void *)((uintptr_t)reg->address ^ reg->half);
	} else if (reg->blueflame) {
		__atomic_store_n((volatile uint64_t *)reg->address, value, __ATOMIC_RELEASE);
		/* Mapped write-combining, the store would wait in a buffer until something else needs that. */
		rte_wmb();
		reg->address = (volatile void *)((uintptr_t)reg->address ^ reg->half);
	} else {
		/* Two queues' writes to one register must not overtake each other on the bus. */
		rte_spinlock_lock(&reg->lock);
		/* Atomic, since ThreadSanitizer does not see this lock. */
		address = __atomic_load_n(&reg->address, __ATOMIC_RELAXED);
		__atomic_store_n((volatile uint64_t *)address, value, __ATOMIC_RELEASE);
		rte_io_wmb();
		__atomic_store_n(&reg->address, (volatile void *)((uintptr_t)address ^ reg->half),
				 __ATOMIC_RELAXED);
		rte_spinlock_unlock(&reg->lock);
	}
}

/*
 * BlueFlame: the whole WQE, `bytes` a multiple of 64 and at most reg->half, goes with the ring. Only for a register that
 * allows it (reg->blueflame) and for a WQE that does not wrap around the end of its ring.
 * Partner: as rnic_doorbell_ring().
 */
static inline void
rnic_blueflame_ring(struct rnic_bfreg *reg, const struct rnic_wqe_ctrl *ctrl, uint32_t bytes)
{
	volatile uint64_t *to = (volatile uint64_t *)reg->address;
	const uint8_t *from = (const uint8_t *)ctrl;
	uint64_t value;
	uint32_t i;

	/*
	 * The register may be mapped write-combining, where stores wait in a buffer and keep no order with others: on x86
	 * rte_io_wmb() is for the compiler alone. Here the record and the WQE leave before the copy does ...
	 */
	rte_wmb();
	for (i = 0; i < bytes / sizeof(value); i++) {
		__builtin_memcpy(&value, from + i * sizeof(value), sizeof(value));
		__atomic_store_n(&to[i], value, __ATOMIC_RELEASE);
	}
	/* ... and the copy leaves now, as one, before the other half is written. */
	rte_wmb();
	reg->address = (volatile void *)((uintptr_t)reg->address ^ reg->half);
}

/*
 * Is the entry at `consumer` the driver's? If so, all of it, and the data that it speaks of, may be read.
 * Partner: the device's store-release of op_own, after the entry and the data.
 */
static inline bool
rnic_cqe_ready(const struct rnic_cqe *cqe, uint32_t consumer, uint8_t log_size)
{
	uint8_t op_own = __atomic_load_n(&cqe->op_own, __ATOMIC_ACQUIRE);

	/* The owner's bit, 0 as it should be, above the opcode: one comparison for both. */
	op_own ^= consumer >> log_size & RNIC_CQE_OWNER;
	op_own = (uint8_t)(op_own >> 1 | op_own << 7);
	if (op_own >= RNIC_CQE_INVALID << 3)
		return false;
	rte_io_rmb();
	return true;
}

/* The same of an entry whose last byte has these bits (of 0xf0 and RNIC_CQE_FORMAT, as `mask`), in one comparison. */
static inline bool
rnic_cqe_ready_bits(const struct rnic_cqe *cqe, uint8_t bits, uint8_t mask, uint32_t consumer,
		    uint8_t log_size)
{
	uint8_t op_own = __atomic_load_n(&cqe->op_own, __ATOMIC_ACQUIRE);

	op_own ^= consumer >> log_size & RNIC_CQE_OWNER;
	if ((op_own & (mask | RNIC_CQE_OWNER)) != bits)
		return false;
	rte_io_rmb();
	return true;
}

/* The same of an entry that is of this opcode; false: it is not the driver's, or of another one. */
static inline bool
rnic_cqe_ready_as(const struct rnic_cqe *cqe, enum rnic_cqe_opcode opcode, uint32_t consumer,
		  uint8_t log_size)
{
	return rnic_cqe_ready_bits(cqe, (uint8_t)(opcode << 4), 0xf0, consumer, log_size);
}

/* The same for event queue entries. Partner: the device's store-release of the owner byte. */
static inline bool
rnic_eqe_ready(const struct rnic_eqe *eqe, uint32_t consumer, uint8_t log_size)
{
	uint8_t owner = __atomic_load_n(&eqe->owner, __ATOMIC_ACQUIRE);

	if ((owner & 1) != (consumer >> log_size & 1))
		return false;
	rte_io_rmb();
	return true;
}

/*
 * A command slot's ownership goes to the device with all that the entry names (input, mailboxes).
 * Partner: the device's load-acquire of status_own when the command doorbell tells it of the slot.
 */
static inline void
rnic_cmd_entry_publish(uint8_t *status_own, uint8_t value)
{
	rte_io_wmb();
	__atomic_store_n(status_own, value, __ATOMIC_RELEASE);
	rte_io_wmb();
}

/* Partner: the device's store-release of status_own after it has written the output. */
static inline uint8_t
rnic_cmd_entry_status(const uint8_t *status_own)
{
	uint8_t value = __atomic_load_n(status_own, __ATOMIC_ACQUIRE);

	rte_io_rmb();
	return value;
}

#endif
