/* SPDX-License-Identifier: BSD-3-Clause */

#include "access/class.h"

#include <stddef.h>

bool
rnic_class_has(uint16_t vendor, uint16_t device)
{
	static const uint16_t devices[] = {
#define DEVICE(id, name) id,
		RNIC_PCI_DEVICES(DEVICE)
#undef DEVICE
	};
	size_t i;

	for (i = 0; i < sizeof(devices) / sizeof(devices[0]); i++)
		if (vendor == RNIC_PCI_VENDOR && device == devices[i])
			return true;
	return false;
}
