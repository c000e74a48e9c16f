/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A device that lies: an access of the driver, with the software RNIC behind it. It changes what registers and commands
 * answer, as it is told. It is linked in the place of the driver's own accesses; one device at a time.
 *
 * Everything happens in the thread that calls: the device is polled when a command is rung. A thread that polls it beside
 * that is the target's own.
 */
#ifndef TEST_FUZZ_LIAR_H
#define TEST_FUZZ_LIAR_H

#include "fuzz.h"

#include "core/dev.h"
#include "prm/cqe.h"
#include "softrnic/softrnic.h"

#define CHANGES_MAX 12
#define MAPS_MAX    1024

enum lie {
	LIE_OUTPUT,   /* bytes of the output are others */
	LIE_STATUS,   /* the status is offset's low byte, the device has executed */
	LIE_REFUSED,  /* the same, and it has not */
	LIE_DELIVERY, /* not delivered, it says */
	LIE_NEVER,    /* no answer */
	LIE_DONE, /* it says done and has not done a thing: an output of zeros, and of the bytes */
	LIE_LAST,
};

struct change {
	uint8_t command, lie, bytes;
	uint16_t offset;
	uint8_t data[16];
};

struct map {
	uint64_t iova;
	size_t length;
};

struct fake {
	struct rnic_access base;
	struct softrnic *device;
	struct map maps[MAPS_MAX];
	uint32_t map_count;
	uint8_t *uar_pages;
	uint64_t uar_offset;
	size_t uar_length;
	uint64_t cmdq;
	struct rnic_eqe *eq;
	int irq;

	struct change changes[CHANGES_MAX];
	unsigned int change_count;
	struct {
		uint8_t which;
		uint32_t value;
	} reads[8];
	unsigned int read_count;
	uint8_t commands, read;
	uint32_t all_registers;
	unsigned int unanswered;
};
extern struct fake fake;
extern struct softrnic_poller *fake_poller;
/* Its interrupts wake the control thread, which does its own work then. Before it is opened. */
extern bool fake_interrupts;
/* What it refuses to destroy is gone all the same, so that the device can be used on. */
extern bool fake_lets_go;
/* Closed, it is there still, and reset for who opens it next. */
extern bool fake_stays;
/* Called when all is unmapped. */
extern void (*fake_before_close)(void);
/* Of threads beside the target's own: called before a register is read, whose value is all ones if it says false; */
extern bool (*fake_read_hook)(uint64_t offset);
/* and of a command that such a thread has just rung for. */
extern void (*fake_rung_hook)(uint16_t opcode);
/* Vectors that the next device has. */
extern unsigned int fake_irqs;
/* So often a second time's counter ticks, as the driver is told; it really ticks a thousand times as fast. */
extern uint64_t fake_hz;
/* A device that is up: a thread that waits for its events walks its queue. NULL: events are waited for. */
extern struct rnic_dev *fake_driver;

/* Once per process; takes the calling thread for the one that lies are told to. */
void fake_init(void);
/* An honest device, for the next rnic_dev_open(). */
void fake_reset_lies(void);
/* The one that is open tells no lies any more, and its commands and reads are counted anew. */
void fake_be_honest(void);
/* Run the alarms that the driver has set. */
void fake_alarms_run(void);

#endif
