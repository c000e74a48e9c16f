/* SPDX-License-Identifier: BSD-3-Clause */

#include "log_private.h"

RTE_LOG_REGISTER(rdmapmd_logtype, lib.rdmapmd, NOTICE);
