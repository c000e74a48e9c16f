/* SPDX-License-Identifier: BSD-3-Clause */

/* What quirks do with time, for the command queue. */
#ifndef SOFTRNIC_QUIRKS_POLL_H
#define SOFTRNIC_QUIRKS_POLL_H

#include "softrnic/base/device.h"

/* A command of that opcode was rung: has it to wait until the driver has given pages? Asks for them, at the first one. */
bool softrnic_quirks_command_waits(struct softrnic *dev, uint16_t opcode);
/* How long the next answer to a command is kept, in ns. */
uint64_t softrnic_quirks_answer_delay(struct softrnic *dev);

/*
 * What comes with time, in a round. True: there is more to come, and a turn is wanted in each round until then. Each command
 * has one as well.
 */
bool softrnic_quirks_poll(struct softrnic *dev);

#endif
