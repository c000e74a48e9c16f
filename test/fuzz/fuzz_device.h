/* SPDX-License-Identifier: BSD-3-Clause */

/* What the targets share that have the device in them. */
#ifndef TEST_FUZZ_DEVICE_H
#define TEST_FUZZ_DEVICE_H

#include <rte_log.h>

#include "data_path.h"
#include "fuzz.h"

extern int softrnic_logtype;

/* What it logs is told only where FUZZ_LOG asks for it. */
static inline void
fuzz_device_quiet(void)
{
	rte_log_set_level((uint32_t)softrnic_logtype,
			  getenv("FUZZ_LOG") != NULL ? RTE_LOG_DEBUG : RTE_LOG_EMERG);
}

/* Memory that the device has lost; it gets it back when the next one goes. */
struct fuzz_gone {
	struct dp *dp;
	void *at;
	size_t bytes;
};

/* at NULL: none goes. @return false: it was refused. */
static inline bool
fuzz_unmap(struct fuzz_gone *gone, struct dp *dp, void *at, size_t bytes)
{
	if (gone->at != NULL)
		must(softrnic_dma_map(gone->dp->dev, dp_iova(gone->dp, gone->at), gone->bytes,
				      gone->at, SOFTRNIC_DMA_READ | SOFTRNIC_DMA_WRITE) == 0);
	*gone = (struct fuzz_gone){ dp, at, bytes };
	if (at != NULL && softrnic_dma_unmap(dp->dev, dp_iova(dp, at), bytes) != 0)
		gone->at = NULL;
	return gone->at == at;
}

#endif
