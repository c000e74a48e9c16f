/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * softrnic.h once more, as far as the harness of test/device uses it, but with the device behind a socket: the name of a
 * device is the path of its socket. So the harness's driver of a few lines drives the daemon as it drives the library.
 */
#ifndef TEST_DAEMON_CLIENT_H
#define TEST_DAEMON_CLIENT_H

#include "softrnic/softrnic.h"
#include "vfio_user/client.h"

#define PCI_REGION VFU_PCI_CONFIG

struct vfu_client *client_of(struct softrnic *dev);
/* The file of the memory that the harness has mapped. */
int client_memory_fd(struct softrnic *dev);

/* Connect to the socket of a device; fails the test if refused. */
struct vfu_client *client_connect(const char *socket);

/* The bit in the command register of the PCI function. */
void client_bus_master(struct vfu_client *client, bool on);
/* Whose memory has vanished is disconnected: wait for that. */
void client_wait_for_end(struct vfu_client *client);

#endif
