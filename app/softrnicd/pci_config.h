/* SPDX-License-Identifier: BSD-3-Clause */

/**
 * @file
 * The configuration space of the PCI function: a type 0 header, power management, MSI-X, PCI Express with function level
 * reset, a vendor's capability. It is bytes with masks of what a driver may change; what a change means is the caller's.
 */
#ifndef SOFTRNICD_PCI_CONFIG_H
#define SOFTRNICD_PCI_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "options.h"

#define PCI_CONFIG_BYTES 4096

/* BAR2 holds the MSI-X table and, behind it, the pending bits. */
#define MSIX_BAR	 2
#define MSIX_BAR_BYTES	 4096
#define MSIX_TABLE	 0
#define MSIX_PBA	 0x800
#define MSIX_ENTRY_BYTES 16

struct pci_config {
	uint8_t bytes[PCI_CONFIG_BYTES];
	uint8_t writable[PCI_CONFIG_BYTES];  /* bits that take what is written */
	uint8_t clearable[PCI_CONFIG_BYTES]; /* bits that a written 1 clears */
	uint8_t power_on[PCI_CONFIG_BYTES];
};

/** bar0_bytes is a power of two. */
void pci_config_init(struct pci_config *config, const struct pci_identity *id, uint64_t bar0_bytes,
		     unsigned int vectors);

/** As after power-on: no addresses, no bus master, no MSI-X. */
void pci_config_reset(struct pci_config *config);

/** offset and length lie within the space. */
void pci_config_read(const struct pci_config *config, uint64_t offset, void *data, size_t length);

/** @return true: it asks for a function level reset, which the caller does. */
bool pci_config_write(struct pci_config *config, uint64_t offset, const void *data, size_t length);

/** May the function reach memory? */
bool pci_config_bus_master(const struct pci_config *config);

#endif
