/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A kernel with vfio: two functions of one IOMMU group, each a software RNIC of this process, and what can be wrong with
 * them. As the real one, it looks at each request, keeps the functions off all memory but what is mapped, and forgets what
 * belonged to a descriptor when that is closed.
 */
#ifndef TEST_ACCESS_FAKE_VFIO_H
#define TEST_ACCESS_FAKE_VFIO_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <linux/vfio.h>

#define FAKE_FUNCTIONS	 2
#define FAKE_GROUP	 12
#define FAKE_IOVA_RANGES 8

/* What is wrong; all zero: nothing. */
struct fake_vfio_faults {
	int container_errno, node_errno, iommu_errno, device_errno, reset_errno, map_errno;
	bool not_viable, no_type1, no_msix, no_reset, no_notices, removed;
	unsigned int removed_for; /* reads, and then it is back */
	bool big_pages;		  /* the IOMMU has none of 4 KiB */
	bool writes_lost;	  /* of the command register */
	unsigned int vectors_left;
	uint64_t bar_bytes;
	bool maps_all; /* of BAR0: its first pages are memory of nobody then, and no registers */
	uint32_t map_limit;
	/* What the IOMMU takes; 0 of them: all of 48 bits but the interrupts' addresses */
	uint32_t iova_range_count;
	struct vfio_iova_range iova_ranges[FAKE_IOVA_RANGES];
	bool no_iova_ranges; /* an old kernel: it does not say */
	/* How many times more what it says of the IOMMU, of BAR0, does not fit in the room that it wanted for it */
	unsigned int iommu_growths, bar_growths;
};

struct fake_vfio {
	struct fake_vfio_faults faults;
	/* What is there now, and what was asked for so far. */
	unsigned int containers, groups, devices;
	uint32_t maps;
	uint64_t mapped_bytes;
	unsigned int maps_left; /* when a container was closed */
	uint32_t last_rights;	/* of a map, as VFIO_DMA_MAP_FLAG_* */
	atomic_uint resets;
	/* Maps for reading alone of pages that the process leaves when it writes. */
	unsigned int strayed;
};
extern struct fake_vfio fake_vfio;
extern const char *const fake_vfio_bdfs[FAKE_FUNCTIONS];

/* The functions and their sysfs; the driver's calls come here from now on. */
void fake_vfio_start(void);
void fake_vfio_stop(void);
/* What the function is bound to, NULL: nothing. */
void fake_vfio_bind(unsigned int function, const char *driver);
void fake_vfio_leave_group(unsigned int function);
void fake_vfio_set_id(unsigned int function, uint16_t vendor, uint16_t device);
void fake_vfio_set_revision(unsigned int function, uint8_t revision);
/* Its PCI command register. */
uint16_t fake_vfio_command(unsigned int function);
/* As when somebody unbinds the function, or the bus has an error (VFIO_PCI_REQ_IRQ_INDEX, VFIO_PCI_ERR_IRQ_INDEX). */
void fake_vfio_notice(unsigned int function, unsigned int index);

#endif
