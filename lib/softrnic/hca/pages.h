/* SPDX-License-Identifier: BSD-3-Clause */

/* Pages that the driver gives to the firmware. */
#ifndef SOFTRNIC_PAGES_H
#define SOFTRNIC_PAGES_H

#include "softrnic/base/command.h"

int softrnic_pages_init(struct softrnic *dev);
void softrnic_pages_reset(struct softrnic *dev);
void softrnic_pages_fini(struct softrnic *dev);
/* What QUERY_PAGES(boot) asked for was given. */
bool softrnic_pages_booted(const struct softrnic *dev);
bool softrnic_pages_initialized(const struct softrnic *dev);
/* It runs, and the driver owes it some. */
bool softrnic_pages_missing(const struct softrnic *dev);
/* As a firmware does: write to some of them, the next ones each time. */
void softrnic_pages_use(struct softrnic *dev);
/* Ask for pages at run time (n > 0) or offer them back (n < 0): a PAGE_REQUEST event. */
int softrnic_pages_request(struct softrnic *dev, int32_t n);

SOFTRNIC_CMD(query_pages);
SOFTRNIC_CMD(manage_pages);

#endif
