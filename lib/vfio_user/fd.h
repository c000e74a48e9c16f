/* SPDX-License-Identifier: BSD-3-Clause */

/**
 * @file
 * What a stranger's descriptor is, as far as that can be asked without asking the stranger. Inside of the library.
 *
 * Threads: any. Blocks: never.
 */
#ifndef VFU_FD_H
#define VFU_FD_H

#include <stdbool.h>
#include <sys/stat.h>

/** Is it a file of memory: memfd, tmpfs or hugetlbfs? Asks nobody but the kernel. */
bool vfu_is_memory_file(int fd);

/** Of these: are its pages hugepages, each of which takes long to make? st: what fstat() says of it. */
bool vfu_is_hugepages(int fd, const struct stat *st);

#endif
