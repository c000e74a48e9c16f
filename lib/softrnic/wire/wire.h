/* SPDX-License-Identifier: BSD-3-Clause */

/* Wires: what a device sends its frames into, and the faults that frames may have on their way there. */
#ifndef SOFTRNIC_WIRE_H
#define SOFTRNIC_WIRE_H

#include "softrnic/base/device.h"

/* Each may be NULL but name and is_up. */
struct softrnic_wire_ops {
	const char *name; /* "loop", "pair" */
	/*
	 * First, and without the poller's lock: what waits, or calls into DPDK, whose locks may be held by somebody who
	 * waits for the poller's. arg: what follows the ':' or NULL
	 */
	int (*prepare)(struct softrnic *dev, const char *arg);
	/* Under the lock, as the device joins its poller, and as it leaves */
	int (*open)(struct softrnic *dev, const char *arg);
	void (*close)(struct softrnic *dev);
	/* Last, without the lock: the end of prepare() */
	void (*release)(struct softrnic *dev);
	/* Frames from outside, if the wire has an outside; returns how many. */
	unsigned int (*poll)(struct softrnic *dev);
	bool (*is_up)(const struct softrnic *dev);
	/* The device is as after power-on. */
	void (*reset)(struct softrnic *dev);
	/* The process: there are no bytes of RoCE packets that could leave with the frames. */
	bool leaves;
};
/* Find the wire by what it is called in softrnic_conf, and have it prepare itself; no lock is held. 0 or -errno, logged. */
int softrnic_wire_prepare(struct softrnic *dev, const char *spec);
/* Set dev->wire, of the same spec; 0, -EINVAL, -EEXIST (the pair has two ends), -ENOMEM. */
int softrnic_wire_open(struct softrnic *dev, const char *spec);
void softrnic_wire_close(struct softrnic *dev);
/* Whatever came of the others; no lock is held. */
void softrnic_wire_release(struct softrnic *dev);

/* Frames from outside: the work done. */
unsigned int softrnic_wire_poll(struct softrnic *dev);

#endif
