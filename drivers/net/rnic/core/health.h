/* SPDX-License-Identifier: BSD-3-Clause */

/* Is the device alive, and what happens once it is not: it is reset, and those who are concerned are told, once. */
#ifndef RNIC_CORE_HEALTH_H
#define RNIC_CORE_HEALTH_H

#include <stdbool.h>

#include "core/dev.h"

/* Why the device must be taken for dead, or NULL. Reads registers. */
const char *rnic_device_dead(struct rnic_dev *dev);
/* Has its firmware met its end? As it says, in parentheses; and what helps where a reset of the function does not. */
#define RNIC_SYNDROME_TEXT 48
bool rnic_dev_fatal_syndrome(struct rnic_dev *dev, char text[RNIC_SYNDROME_TEXT]);
#define RNIC_WAY_OUT                                                                          \
	"let mlx5_core have the function once (rdmapmd-setup unbind), or run mlxfwreset, or " \
	"power-cycle the host"
/* The device is lost: it is reset, and those below are told, once; commands fail from now on. Threads: any. */
void rnic_dev_fatal(struct rnic_dev *dev, const char *why);
/*
 * A lost device may still do what it was doing, and no command ends it: it has been reset, once, when this returns. Called
 * before anything is given back that it may write to. Nothing to do for others.
 */
void rnic_dev_quiesce(struct rnic_dev *dev);
/* During close, when nobody else has the device: it does not do what it should, and is reset instead. */
void rnic_dev_give_up(struct rnic_dev *dev, const char *why);
/*
 * Fill a slot that is empty, or empty it (NULL). The listener is called without a lock, from whichever thread finds the
 * device lost: the control thread, or any that executes a command. So what `arg` leads to stays until those are gone: a call
 * that has begun is not waited for here, but rnic_dev_close() ends the control thread, and has no others beside it.
 */
void rnic_on_lost(struct rnic_dev *dev, enum rnic_lost slot, void (*fn)(void *arg), void *arg);

#endif
