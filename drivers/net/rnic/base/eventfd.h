/* SPDX-License-Identifier: BSD-3-Clause */

/* How a thread is told: one signals, the other polls. Neither call waits. */
#ifndef RNIC_BASE_EVENTFD_H
#define RNIC_BASE_EVENTFD_H

/* Errors are logged; *fd is -1 then. */
int rnic_eventfd_open(const char *name, int *fd);
void rnic_eventfd_signal(int fd);
/* Make it unreadable until the next signal. */
void rnic_eventfd_drain(int fd);

#endif
