/* SPDX-License-Identifier: BSD-3-Clause */

/* The PCI bus. */
#ifndef RNIC_BUS_PCI_H
#define RNIC_BUS_PCI_H

/* Into the PCI bus' list, at its head. */
void rnic_pci_register(void);

#endif
