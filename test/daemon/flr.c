/* SPDX-License-Identifier: BSD-3-Clause */

/* A function level reset of a device that nobody else has, by its configuration space, as a host does: flr SOCKET. */

#include <linux/pci_regs.h>
#include <stdio.h>
#include <string.h>

#include "vfio_user/client.h"

static int
read_config(struct vfu_client *client, uint64_t offset, void *value, size_t bytes)
{
	return vfu_client_region_read(client, VFU_PCI_CONFIG, offset, value, bytes);
}

/* Where the capability stands; 0: there is none. */
static uint8_t
find_express(struct vfu_client *client)
{
	uint8_t at = 0, id = 0;
	unsigned int i;

	if (read_config(client, PCI_CAPABILITY_LIST, &at, sizeof(at)) != 0)
		return 0;
	for (i = 0; i < 48 && at != 0; i++) {
		if (read_config(client, at, &id, sizeof(id)) != 0)
			return 0;
		if (id == PCI_CAP_ID_EXP)
			return at;
		if (read_config(client, at + PCI_CAP_LIST_NEXT, &at, sizeof(at)) != 0)
			return 0;
	}
	return 0;
}

int
main(int argc, char **argv)
{
	const struct vfu_client_conf conf = {
		.name = "flr", .path = argc == 2 ? argv[1] : "", .fd = -1, .timeout_ms = 60000
	};
	const uint16_t flr = PCI_EXP_DEVCTL_BCR_FLR;
	struct vfu_client *client = NULL;
	int rc = vfu_client_open(&conf, &client);
	uint8_t express = 0;

	if (rc == 0)
		express = find_express(client);
	if (express != 0)
		rc = vfu_client_region_write(client, VFU_PCI_CONFIG, express + PCI_EXP_DEVCTL, &flr,
					     sizeof(flr));
	if (rc != 0 || express == 0)
		fprintf(stderr, "no reset: %s\n", strerror(-rc));
	vfu_client_close(client);
	return rc == 0 && express != 0 ? 0 : 1;
}
