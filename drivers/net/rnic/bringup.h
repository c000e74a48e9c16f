/* SPDX-License-Identifier: BSD-3-Clause */

/* A device from its first register to its objects, and back: a list of stages. */
#ifndef RNIC_BRINGUP_H
#define RNIC_BRINGUP_H

#include <stdbool.h>

struct rnic_dev;

/* Open: access, then every bring-up stage in turn. On failure all is undone, one message says which stage and why. */
int rnic_dev_open(const char *name, const char *devargs, int socket_id, struct rnic_dev **dev);
/*
 * Walks the stages back; the function is left as it was found, all pages and maps given back. A device that does not answer has
 * ten seconds for all of it; then it is lost, and memory that it may still reach with it.
 */
void rnic_dev_close(struct rnic_dev *dev);

/*
 * For tests: called before each stage goes up or down, with its name. What it returns before `up` takes the place of the
 * stage if it is not 0; before `down` it does not matter.
 */
extern int (*rnic_bringup_hook)(struct rnic_dev *dev, const char *stage, bool up);
unsigned int rnic_bringup_stages(void);
const char *rnic_bringup_stage_name(unsigned int stage);

#endif
