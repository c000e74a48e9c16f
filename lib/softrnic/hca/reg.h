/* SPDX-License-Identifier: BSD-3-Clause */

/* Registers of the port and the card. */
#ifndef SOFTRNIC_REG_H
#define SOFTRNIC_REG_H

#include "softrnic/base/command.h"

SOFTRNIC_CMD(access_reg);

#endif
