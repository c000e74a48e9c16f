/* SPDX-License-Identifier: BSD-3-Clause */

#include "log.h"

RTE_LOG_REGISTER(rdmo_logtype, lib.rdmo, NOTICE);
