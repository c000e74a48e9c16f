/* SPDX-License-Identifier: BSD-3-Clause */

#include <linux/pci_regs.h>
#include <string.h>

#include "pci_config.h"

/* Where the capabilities stand, in the order of their list. */
#define CAP_PM	 0x40
#define CAP_MSIX 0x50
#define CAP_EXP	 0x60
#define CAP_VSC	 0xa0

/* The gateway to a card's inside, registers behind the head of the vendor's capability. */
#define VSC_BYTES     0x18
#define VSC_CONTROL   0x04 /* the space asked for [15:0], status [31:29]: 0, there is no such space */
#define VSC_COUNTER   0x08 /* what is written to take the semaphore */
#define VSC_SEMAPHORE 0x0c

#define CLASS_ETHERNET 0x0200 /* base class 02, sub-class 00 */

/* The space is little-endian, whatever the host is. */
static void
put16(uint8_t *bytes, unsigned int at, uint16_t value)
{
	bytes[at] = value;
	bytes[at + 1] = value >> 8;
}

static void
put32(uint8_t *bytes, unsigned int at, uint32_t value)
{
	put16(bytes, at, value);
	put16(bytes, at + 2, value >> 16);
}

static uint16_t
get16(const uint8_t *bytes, unsigned int at)
{
	return bytes[at] | bytes[at + 1] << 8;
}

/* PCI Local Bus 3.0, section 6.1. No INTx: the interrupt pin is 0. */
static void
init_header(struct pci_config *config, const struct pci_identity *id, uint64_t bar0_bytes)
{
	uint8_t *bytes = config->bytes, *writable = config->writable;

	put16(bytes, PCI_VENDOR_ID, id->vendor);
	put16(bytes, PCI_DEVICE_ID, id->device);
	put16(bytes, PCI_SUBSYSTEM_VENDOR_ID, id->vendor);
	put16(bytes, PCI_SUBSYSTEM_ID, id->device);
	put16(bytes, PCI_CLASS_DEVICE, CLASS_ETHERNET);
	put16(bytes, PCI_STATUS, PCI_STATUS_CAP_LIST);
	bytes[PCI_CAPABILITY_LIST] = CAP_PM;
	put16(writable, PCI_COMMAND,
	      PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER | PCI_COMMAND_PARITY | PCI_COMMAND_SERR |
		      PCI_COMMAND_INTX_DISABLE);
	put16(config->clearable, PCI_STATUS,
	      PCI_STATUS_PARITY | PCI_STATUS_SIG_TARGET_ABORT | PCI_STATUS_REC_TARGET_ABORT |
		      PCI_STATUS_REC_MASTER_ABORT | PCI_STATUS_SIG_SYSTEM_ERROR |
		      PCI_STATUS_DETECTED_PARITY);
	writable[PCI_CACHE_LINE_SIZE] = 0xff;
	writable[PCI_INTERRUPT_LINE] = 0xff;

	/* A driver finds the size of a BAR by the address bits that stay zero. */
	put32(bytes, PCI_BASE_ADDRESS_0,
	      PCI_BASE_ADDRESS_MEM_TYPE_64 | PCI_BASE_ADDRESS_MEM_PREFETCH);
	put32(writable, PCI_BASE_ADDRESS_0, (uint32_t) ~(bar0_bytes - 1));
	put32(writable, PCI_BASE_ADDRESS_1, (uint32_t)(~(bar0_bytes - 1) >> 32));
	put32(writable, PCI_BASE_ADDRESS_2, (uint32_t) ~(MSIX_BAR_BYTES - 1));
}

/* PCI Power Management 1.2, section 3.2. A way through D3 changes nothing here, and No_Soft_Reset says so. */
static void
init_pm(struct pci_config *config)
{
	config->bytes[CAP_PM] = PCI_CAP_ID_PM;
	config->bytes[CAP_PM + PCI_CAP_LIST_NEXT] = CAP_MSIX;
	put16(config->bytes, CAP_PM + PCI_PM_PMC, 3);
	put16(config->bytes, CAP_PM + PCI_PM_CTRL, PCI_PM_CTRL_NO_SOFT_RESET);
	put16(config->writable, CAP_PM + PCI_PM_CTRL, PCI_PM_CTRL_STATE_MASK);
}

/* PCI Local Bus 3.0, section 6.8.2. */
static void
init_msix(struct pci_config *config, unsigned int vectors)
{
	config->bytes[CAP_MSIX] = PCI_CAP_ID_MSIX;
	config->bytes[CAP_MSIX + PCI_CAP_LIST_NEXT] = CAP_EXP;
	put16(config->bytes, CAP_MSIX + PCI_MSIX_FLAGS, vectors - 1);
	put16(config->writable, CAP_MSIX + PCI_MSIX_FLAGS,
	      PCI_MSIX_FLAGS_ENABLE | PCI_MSIX_FLAGS_MASKALL);
	put32(config->bytes, CAP_MSIX + PCI_MSIX_TABLE, MSIX_TABLE | MSIX_BAR);
	put32(config->bytes, CAP_MSIX + PCI_MSIX_PBA, MSIX_PBA | MSIX_BAR);
}

/* PCI Express 3.0, section 7.8: an endpoint on a link of 16 lanes at 8 GT/s, for those who look. */
static void
init_express(struct pci_config *config)
{
	uint8_t *bytes = config->bytes, *writable = config->writable;

	bytes[CAP_EXP] = PCI_CAP_ID_EXP;
	bytes[CAP_EXP + PCI_CAP_LIST_NEXT] = CAP_VSC;
	put16(bytes, CAP_EXP + PCI_EXP_FLAGS, 2 | PCI_EXP_TYPE_ENDPOINT << 4);
	put32(bytes, CAP_EXP + PCI_EXP_DEVCAP,
	      PCI_EXP_DEVCAP_FLR | PCI_EXP_DEVCAP_RBER | PCI_EXP_DEVCAP_EXT_TAG |
		      2 /* 512 bytes */);
	put16(bytes, CAP_EXP + PCI_EXP_DEVCTL,
	      PCI_EXP_DEVCTL_RELAX_EN | PCI_EXP_DEVCTL_NOSNOOP_EN | 2 << 12);
	put16(writable, CAP_EXP + PCI_EXP_DEVCTL, 0xffff);
	put16(config->clearable, CAP_EXP + PCI_EXP_DEVSTA,
	      PCI_EXP_DEVSTA_CED | PCI_EXP_DEVSTA_NFED | PCI_EXP_DEVSTA_FED | PCI_EXP_DEVSTA_URD);
	put32(bytes, CAP_EXP + PCI_EXP_LNKCAP, PCI_EXP_LNKCAP_SLS_8_0GB | 16 << 4);
	put16(writable, CAP_EXP + PCI_EXP_LNKCTL,
	      PCI_EXP_LNKCTL_ASPMC | PCI_EXP_LNKCTL_RCB | PCI_EXP_LNKCTL_CCC);
	put16(bytes, CAP_EXP + PCI_EXP_LNKSTA, PCI_EXP_LNKSTA_CLS_8_0GB | 16 << 4);
	put32(bytes, CAP_EXP + PCI_EXP_LNKCAP2,
	      PCI_EXP_LNKCAP2_SLS_2_5GB | PCI_EXP_LNKCAP2_SLS_5_0GB | PCI_EXP_LNKCAP2_SLS_8_0GB);
	put16(bytes, CAP_EXP + PCI_EXP_LNKCTL2, 3);
}

/*
 * Linux's mlx5_core warns of a physical function without it. No space can be chosen: there is nothing inside that could
 * be dumped. The semaphore keeps what is written; there is one client.
 */
static void
init_vendor(struct pci_config *config)
{
	config->bytes[CAP_VSC] = PCI_CAP_ID_VNDR;
	config->bytes[CAP_VSC + 2] = VSC_BYTES;
	put16(config->writable, CAP_VSC + VSC_CONTROL, 0xffff);
	put32(config->bytes, CAP_VSC + VSC_COUNTER, 1);
	put32(config->writable, CAP_VSC + VSC_SEMAPHORE, UINT32_MAX);
}

void
pci_config_init(struct pci_config *config, const struct pci_identity *id, uint64_t bar0_bytes,
		unsigned int vectors)
{
	memset(config, 0, sizeof(*config));
	init_header(config, id, bar0_bytes);
	init_pm(config);
	init_msix(config, vectors);
	init_express(config);
	init_vendor(config);
	memcpy(config->power_on, config->bytes, sizeof(config->bytes));
}

void
pci_config_reset(struct pci_config *config)
{
	memcpy(config->bytes, config->power_on, sizeof(config->bytes));
}

void
pci_config_read(const struct pci_config *config, uint64_t offset, void *data, size_t length)
{
	memcpy(data, config->bytes + offset, length);
}

bool
pci_config_write(struct pci_config *config, uint64_t offset, const void *data, size_t length)
{
	const uint8_t *from = data;
	uint16_t control;
	size_t i;

	for (i = 0; i < length; i++) {
		uint8_t writable = config->writable[offset + i];
		uint8_t *byte = &config->bytes[offset + i];

		*byte = (*byte & ~writable) | (from[i] & writable);
		*byte &= ~(from[i] & config->clearable[offset + i]);
	}
	/* The bit that starts a reset always reads as zero. */
	control = get16(config->bytes, CAP_EXP + PCI_EXP_DEVCTL);
	put16(config->bytes, CAP_EXP + PCI_EXP_DEVCTL, control & ~PCI_EXP_DEVCTL_BCR_FLR);
	return (control & PCI_EXP_DEVCTL_BCR_FLR) != 0;
}

bool
pci_config_bus_master(const struct pci_config *config)
{
	return (get16(config->bytes, PCI_COMMAND) & PCI_COMMAND_MASTER) != 0;
}
