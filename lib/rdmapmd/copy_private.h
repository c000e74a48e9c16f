/* SPDX-License-Identifier: BSD-3-Clause */

/* The search for a second copy of the library. */
#ifndef RDMAPMD_COPY_PRIVATE_H
#define RDMAPMD_COPY_PRIVATE_H

/* 0, or -EEXIST (and a message) if another object of this process has a copy of this library. */
int rdmapmd_check_copies(void);

#endif
