/* SPDX-License-Identifier: BSD-3-Clause */

/**
 * @file
 * One device: a software RNIC, the PCI function around it, and the server that clients reach both by.
 */
#ifndef SOFTRNICD_DEVICE_H
#define SOFTRNICD_DEVICE_H

#include "guard.h"
#include "options.h"
#include "pci_config.h"
#include "softrnic/softrnic.h"
#include "vfio_user/server.h"

struct device {
	const struct device_options *options;
	struct softrnic *rnic;
	struct vfu_server *server;
	struct pci_config config;
	uint8_t msix[MSIX_BAR_BYTES];
	struct guard guard; /* the client's memory */
	bool rom_said;	    /* of this client: memory that has no file */
	bool holes_said;    /* the same: memory that is not there yet */
	struct log_source log;
};

/** options must outlive the device. max_maps: regions that a client may map. @return 0 or -errno, logged. */
int device_create(struct device *device, const struct device_options *options,
		  struct softrnic_poller *poller, unsigned int max_maps);
/** All zero is fine. */
void device_destroy(struct device *device);

/** Is there a client? */
bool device_served(const struct device *device);

/** After anything that may have touched the client's memory: if that has vanished, so does the client. */
void device_check_memory(struct device *device);

#endif
