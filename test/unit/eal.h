/* SPDX-License-Identifier: BSD-3-Clause */

/* EAL without hugepages, devices and talk, for programs that want memory and mbufs of it. */
#ifndef UNIT_EAL_H
#define UNIT_EAL_H

/* With so many MiB. 0, or what main() returns. */
int unit_eal(char *program, unsigned int megabytes, const char *log_level);
/* The log level of those that say nothing. */
#define UNIT_EAL_QUIET "*:critical"

#endif
