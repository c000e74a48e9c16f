/* SPDX-License-Identifier: BSD-3-Clause */

/* The translations of a key: a list of pages (MTT) or of keys (KLM, KSM), in octwords: two pages, or one key. */
#ifndef SOFTRNIC_LIST_H
#define SOFTRNIC_LIST_H

#include "softrnic/base/command.h"
#include "softrnic/memory/tpt.h"

/*
 * The list that CREATE_MKEY brings, or the room for one that WQEs bring. @return RNIC_STATUS_OK; else why not, and the list is to be
 * freed all the same.
 */
int softrnic_list_create(struct softrnic *dev, struct softrnic_mkey *mkey,
			 struct softrnic_cmd *cmd);
void softrnic_list_free(struct softrnic *dev, struct softrnic_mkey *mkey);

/* Pages that [start, start + length) needs. */
uint64_t softrnic_list_pages_needed(const struct softrnic_mkey *mkey);
/* Where that octword lies, below mkey->list_room. */
void *softrnic_list_at(const struct softrnic_mkey *mkey, uint32_t octword);
/* How many octwords the list has. */
uint32_t softrnic_list_octwords(const struct softrnic_mkey *mkey);
/* Octwords were written: the list has so many from now on. */
void softrnic_list_written(struct softrnic *dev, struct softrnic_mkey *mkey, uint32_t octwords);

#endif
