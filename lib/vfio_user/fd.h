/* SPDX-License-Identifier: BSD-3-Clause */

/**
 * @file
 * The kind of file behind an untrusted descriptor, found without waiting for a user program. Inside of the library.
 *
 * Threads: any. Blocks: never.
 */
#ifndef VFU_FD_H
#define VFU_FD_H

#include <stdbool.h>
#include <sys/stat.h>

/** Whether it is a memory file: memfd, tmpfs or hugetlbfs. */
bool vfu_is_memory_file(int fd);

/** Whether the pages of a memory file are hugepages, which take long to create. st: as of fstat(). */
bool vfu_is_hugepages(int fd, const struct stat *st);

#endif
