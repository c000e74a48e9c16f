/* SPDX-License-Identifier: BSD-3-Clause */

#include "softrnic/base/tunables.h"

/* 0 of a generation is "never resolved". */
struct softrnic_tunables softrnic_tunables = { .dma_generation = 1 };
