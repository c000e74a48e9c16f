/* SPDX-License-Identifier: BSD-3-Clause */

/* What a wire does for a device. */
#ifndef SOFTRNIC_WIRE_OPS_H
#define SOFTRNIC_WIRE_OPS_H

#include <stdbool.h>

struct softrnic;

/* Each may be NULL but name and is_up. */
struct softrnic_wire_ops {
	const char *name; /* "loop", "pair" */
	bool sink;	  /* what is sent has arrived */
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
	/* The device's port is another one now: what follows for the links of others. */
	void (*changed)(struct softrnic *dev);
	/* The device is as after power-on. */
	void (*reset)(struct softrnic *dev);
};

#endif
