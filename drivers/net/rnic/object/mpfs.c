/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The switch between the functions of a card (MPFS; the PRM's "L2 Table"). A frame for a unicast address that no function has
 * entered goes to the one that has it as permanent address, so that of cards in several hosts, with two sockets, or a DPU's,
 * further addresses get no frames. A function that manages its eswitch enters what its vport's list has, the own address
 * included, as Linux's does (mlx5_mpfs_add_mac()). Others have nothing to enter: their PF does.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "core/cmd.h"
#include "core/dev.h"
#include "object/mpfs.h"
#include "prm/caps.h"
#include "prm/cmd.h"
#include "prm/list.h"

#define LOG_SIZE_MAX 16 /* of a device that says more */

/* Under the port's lock. */
struct rnic_mpfs {
	bool reported;
	uint32_t size;
	struct rnic_mac_entry entries[]; /* by the table's index; zero: none */
};

static bool
entry_is_same(const struct rnic_mac_entry *a, const struct rnic_mac_entry *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

static bool
entry_is_free(const struct rnic_mac_entry *entry)
{
	static const struct rnic_mac_entry none;

	return entry_is_same(entry, &none);
}

static bool
entries_have(const struct rnic_mac_entry *entries, uint32_t count,
	     const struct rnic_mac_entry *entry)
{
	uint32_t i;

	for (i = 0; i < count; i++)
		if (entry_is_same(&entries[i], entry))
			return true;
	return false;
}

int
rnic_mpfs_create(struct rnic_dev *dev)
{
	uint64_t log = rnic_general_cap(dev, RNIC_GENERAL_CAP_LOG_MAX_L2_TABLE);

	/* A table of one is none. */
	if (!rnic_general_cap(dev, RNIC_GENERAL_CAP_ESWITCH_MANAGER) || log == 0)
		return 0;
	log = log < LOG_SIZE_MAX ? log : LOG_SIZE_MAX;
	dev->mpfs = calloc(1, sizeof(*dev->mpfs) + (sizeof(dev->mpfs->entries[0]) << log));
	if (dev->mpfs == NULL)
		return -ENOMEM;
	dev->mpfs->size = UINT32_C(1) << log;
	return 0;
}

static int
mpfs_command(struct rnic_dev *dev, uint16_t opcode, uint32_t index,
	     const struct rnic_mac_entry *entry)
{
	struct rnic_l2_table_entry_in in = { 0 };

	rnic_l2_table_entry_in_set(&in, RNIC_L2_TABLE_ENTRY_IN_TABLE_INDEX, index);
	if (entry != NULL) {
		rnic_l2_table_entry_in_set(&in, RNIC_L2_TABLE_ENTRY_IN_MAC_47_32,
					   rnic_mac_entry_get(entry, RNIC_MAC_ENTRY_ADDRESS_47_32));
		rnic_l2_table_entry_in_set(&in, RNIC_L2_TABLE_ENTRY_IN_MAC_31_0,
					   rnic_mac_entry_get(entry, RNIC_MAC_ENTRY_ADDRESS_31_0));
	}
	return rnic_cmd_try_in(dev, opcode, 0, &in, sizeof(in));
}

/* Those that are not in the list go; one that the device does not let go of is tried again. */
static int
mpfs_leave(struct rnic_dev *dev, const struct rnic_mac_entry *list, uint32_t count)
{
	struct rnic_mpfs *mpfs = dev->mpfs;
	int rc, first_rc = 0;
	uint32_t i;

	for (i = 0; i < mpfs->size; i++) {
		if (entry_is_free(&mpfs->entries[i]) ||
		    entries_have(list, count, &mpfs->entries[i]))
			continue;
		rc = mpfs_command(dev, RNIC_CMD_DELETE_L2_TABLE_ENTRY, i, NULL);
		if (rc == 0)
			mpfs->entries[i] = (struct rnic_mac_entry){ 0 };
		first_rc = first_rc != 0 ? first_rc : rc;
	}
	return first_rc;
}

static int
mpfs_enter(struct rnic_dev *dev, const struct rnic_mac_entry *entry)
{
	struct rnic_mpfs *mpfs = dev->mpfs;
	uint32_t i = 0;
	int rc;

	if (entries_have(mpfs->entries, mpfs->size, entry))
		return 0;
	while (i < mpfs->size && !entry_is_free(&mpfs->entries[i]))
		i++;
	if (i == mpfs->size)
		return -ENOSPC;
	rc = mpfs_command(dev, RNIC_CMD_SET_L2_TABLE_ENTRY, i, entry);
	if (rc == 0)
		mpfs->entries[i] = *entry;
	return rc;
}

void
rnic_mpfs_follow(struct rnic_dev *dev, const struct rnic_mac_entry *list, uint32_t count)
{
	int rc, first_rc;
	uint32_t i;

	if (dev->mpfs == NULL)
		return;
	first_rc = mpfs_leave(dev, list, count);
	for (i = 0; i < count; i++) {
		rc = mpfs_enter(dev, &list[i]);
		first_rc = first_rc != 0 ? first_rc : rc;
	}
	if (first_rc == 0 || dev->mpfs->reported)
		return;
	dev->mpfs->reported = true;
	RNIC_LOG(
		WARNING, dev,
		"the switch between the card's functions does not take all addresses (%s): frames for "
		"those that were added may not come",
		strerror(-first_rc));
}

void
rnic_mpfs_destroy(struct rnic_dev *dev)
{
	if (dev->mpfs != NULL)
		(void)mpfs_leave(dev, NULL, 0);
	free(dev->mpfs);
	dev->mpfs = NULL;
}
