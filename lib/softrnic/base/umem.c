/* SPDX-License-Identifier: BSD-3-Clause */

/* User memory: a list of pages that others name by a number and an offset, so that a user need not know an address on the bus. */
#include "prm/caps.h"
#include "prm/mkey.h"
#include "softrnic/base/memory.h"
#include "softrnic/base/object.h"
#include "softrnic/base/umem.h"
#include "softrnic/base/work.h"

#define PAGE_SHIFT     12
#define PAGE_SHIFT_MAX 43

static void
umem_free(struct softrnic *dev, struct softrnic_umem *umem)
{
	const uint64_t bytes = umem->count * sizeof(*umem->pages);

	dev->umems_memory -= bytes;
	softrnic_spend_bytes(dev, bytes);
	softrnic_free(dev, umem->pages);
	softrnic_free(dev, umem);
}

void
softrnic_umem_drop(struct softrnic *dev, struct softrnic_object *object)
{
	softrnic_object_remove(dev, object);
	umem_free(dev, (struct softrnic_umem *)object);
}

int
softrnic_umem_find(struct softrnic *dev, const struct softrnic_address *address, uint64_t bytes,
		   struct softrnic_umem **out)
{
	struct softrnic_umem *umem = softrnic_object_find(dev, SOFTRNIC_UMEM, address->umem);

	if (umem == NULL)
		return RNIC_STATUS_BAD_RES;
	if (address->at > umem->bytes || bytes > umem->bytes - address->at) {
		SOFTRNIC_LOG(NOTICE, dev,
			     "umem %u has %" PRIu64 " bytes: %" PRIu64 " from %" PRIu64
			     " on are not in it",
			     umem->object.number, umem->bytes, bytes, address->at);
		return RNIC_STATUS_BAD_PARAM;
	}
	*out = umem;
	return RNIC_STATUS_OK;
}

/* ---- The commands ---- */

static int
umem_pages(struct softrnic *dev, struct softrnic_umem *umem, const struct rnic_be64 *list)
{
	const uint64_t page_bytes = UINT64_C(1) << umem->page_shift;

	umem->rights = RNIC_MTT_READ | RNIC_MTT_WRITE;
	for (uint32_t i = 0; i < umem->count; i++) {
		const uint64_t page = rnic_be64_to_cpu(list[i]);

		umem->rights &= (unsigned int)page;
		umem->pages[i] = page & RNIC_MTT_ADDRESS_MASK;
		if ((umem->pages[i] & (page_bytes - 1)) != 0) {
			SOFTRNIC_LOG(NOTICE, dev,
				     "umem: page 0x%" PRIx64 " is not aligned to 2^%u bytes",
				     umem->pages[i], umem->page_shift);
			return RNIC_STATUS_BAD_PARAM;
		}
	}
	return RNIC_STATUS_OK;
}

static int
umem_prepare(struct softrnic *dev, const struct softrnic_cmd *cmd, struct softrnic_umem *umem)
{
	const struct rnic_create_umem_in *in = cmd->in;
	const uint64_t count = rnic_create_umem_in_get(in, RNIC_CREATE_UMEM_IN_NUM_OF_MTT);
	const uint64_t bytes = count * sizeof(*umem->pages);

	umem->page_shift = (uint8_t)(PAGE_SHIFT + rnic_create_umem_in_get(
							  in, RNIC_CREATE_UMEM_IN_LOG_PAGE_SIZE));
	umem->offset = rnic_create_umem_in_get(in, RNIC_CREATE_UMEM_IN_PAGE_OFFSET);
	if (count == 0 || umem->offset >= UINT64_C(1) << umem->page_shift)
		return RNIC_STATUS_BAD_PARAM;
	if ((cmd->in_bytes - sizeof(*in)) / sizeof(*umem->pages) < count)
		return RNIC_STATUS_BAD_INP_LEN;
	if (bytes > SOFTRNIC_UMEM_MEMORY - dev->umems_memory) {
		SOFTRNIC_LOG(NOTICE, dev, "umems cannot have more than %" PRIu64 " pages",
			     SOFTRNIC_UMEM_MEMORY / sizeof(*umem->pages));
		return RNIC_STATUS_NO_RES;
	}
	umem->pages = softrnic_alloc(dev, count, sizeof(*umem->pages));
	if (umem->pages == NULL)
		return RNIC_STATUS_NO_RES;
	umem->count = (uint32_t)count;
	dev->umems_memory += bytes;
	umem->bytes = (count << umem->page_shift) - umem->offset;
	softrnic_spend_steps(dev, count);
	return umem_pages(dev, umem, (const struct rnic_be64 *)(in + 1));
}

SOFTRNIC_CMD(create_umem)
{
	struct softrnic_umem *umem;
	int status;

	if (rnic_general_cap_get(&dev->general_cap[1], RNIC_GENERAL_CAP_LOG_MAX_UMEM) == 0)
		return RNIC_STATUS_BAD_OP;
	umem = softrnic_alloc(dev, 1, sizeof(*umem));
	if (umem == NULL)
		return RNIC_STATUS_NO_RES;
	status = umem_prepare(dev, cmd, umem);
	if (status == RNIC_STATUS_OK)
		status = softrnic_object_add(dev, SOFTRNIC_UMEM, &umem->object);
	if (status != RNIC_STATUS_OK) {
		umem_free(dev, umem);
		return status;
	}
	rnic_object_out_set(cmd->out, RNIC_OBJECT_OUT_NUMBER, umem->object.number);
	return RNIC_STATUS_OK;
}

SOFTRNIC_CMD(destroy_umem)
{
	struct softrnic_object *umem = softrnic_object_find(
		dev, SOFTRNIC_UMEM, (uint32_t)rnic_object_in_get(cmd->in, RNIC_OBJECT_IN_NUMBER));

	if (umem == NULL)
		return RNIC_STATUS_BAD_RES;
	if (umem->refs > 0)
		return RNIC_STATUS_RES_BUSY;
	softrnic_umem_drop(dev, umem);
	return RNIC_STATUS_OK;
}
