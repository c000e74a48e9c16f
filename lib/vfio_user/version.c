/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <string.h>

#include <jansson.h>

#include "version.h"

/* jansson parses by recursion; nobody needs this much of it. */
#define VFU_JSON_DEPTH 16

void
vfu_capabilities_ours(struct vfu_capabilities *caps)
{
	*caps = (struct vfu_capabilities){
		.max_msg_fds = VFU_MAX_FDS,
		.max_data_xfer_bytes = VFU_DEFAULT_DATA_XFER_BYTES,
		.max_dma_maps = VFU_DEFAULT_DMA_MAPS,
		.pgsizes = VFU_PGSIZES,
		.write_multiple = true,
	};
}

static bool
vfu_json_too_deep(const char *text, size_t length)
{
	unsigned int depth = 0;
	bool string = false;
	size_t i;

	for (i = 0; i < length; i++) {
		if (text[i] == '"')
			string = !string;
		if (string) {
			i += text[i] == '\\'; /* and what it quotes */
			continue;
		}
		if ((text[i] == '{' || text[i] == '[') && ++depth > VFU_JSON_DEPTH)
			return true;
		if ((text[i] == '}' || text[i] == ']') && depth > 0)
			depth--;
	}
	return false;
}

/* A number of the object, within [min, max]; value keeps its default when there is none. */
static int
vfu_json_number(const json_t *object, const char *key, uint64_t min, uint64_t max, uint64_t *value)
{
	const json_t *number = json_object_get(object, key);
	json_int_t n;

	if (number == NULL)
		return 0;
	if (!json_is_integer(number))
		return -EINVAL;
	n = json_integer_value(number);
	if (n < 0 || (uint64_t)n < min)
		return -EINVAL;
	*value = (uint64_t)n > max ? max : (uint64_t)n;
	return 0;
}

static int
vfu_capabilities_read(const json_t *object, struct vfu_capabilities *caps)
{
	uint64_t fds = caps->max_msg_fds, xfer = caps->max_data_xfer_bytes;
	uint64_t maps = caps->max_dma_maps, pgsizes = caps->pgsizes;
	const json_t *multi = json_object_get(object, "write_multiple");

	if (!json_is_object(object) ||
	    vfu_json_number(object, "max_msg_fds", 0, UINT32_MAX, &fds) != 0 ||
	    vfu_json_number(object, "max_data_xfer_size", 8, UINT32_MAX, &xfer) != 0 ||
	    vfu_json_number(object, "max_dma_maps", 1, UINT32_MAX, &maps) != 0 ||
	    vfu_json_number(object, "pgsizes", 1, UINT64_MAX, &pgsizes) != 0)
		return -EINVAL;
	if (multi != NULL && !json_is_boolean(multi))
		return -EINVAL;
	caps->max_msg_fds = fds;
	caps->max_data_xfer_bytes = xfer;
	caps->max_dma_maps = maps;
	caps->pgsizes = pgsizes;
	caps->write_multiple = json_is_true(multi);
	return 0;
}

int
vfu_capabilities_parse(const char *text, size_t length, struct vfu_capabilities *caps)
{
	const json_t *object;
	json_t *root;
	int rc = 0;

	/* The specification's defaults. */
	*caps = (struct vfu_capabilities){
		.max_msg_fds = 1,
		.max_data_xfer_bytes = VFU_DEFAULT_DATA_XFER_BYTES,
		.max_dma_maps = VFU_DEFAULT_DMA_MAPS,
		.pgsizes = VFU_PAGE_BYTES,
	};
	if (length == 0)
		return 0;
	if (length > VFU_VERSION_MAX_BYTES || memchr(text, '\0', length) != text + length - 1 ||
	    vfu_json_too_deep(text, length - 1))
		return -EINVAL;
	root = json_loadb(text, length - 1, JSON_REJECT_DUPLICATES, NULL);
	if (root == NULL)
		return -EINVAL;
	object = json_object_get(root, "capabilities");
	if (!json_is_object(root))
		rc = -EINVAL;
	else if (object != NULL)
		rc = vfu_capabilities_read(object, caps);
	json_decref(root);
	return rc;
}

static uint32_t
vfu_min(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

int
vfu_capabilities_agree(const struct vfu_capabilities *ours, const struct vfu_capabilities *theirs,
		       struct vfu_capabilities *agreed)
{
	/*
	 * What each side can receive, so nothing to agree on; yet an answer may only be a subset of what was proposed,
	 * and QEMU refuses one that names more descriptors than it did.
	 */
	agreed->max_msg_fds =
		vfu_min(ours->max_msg_fds, theirs->max_msg_fds > 0 ? theirs->max_msg_fds : 1);
	agreed->max_data_xfer_bytes =
		vfu_min(ours->max_data_xfer_bytes, theirs->max_data_xfer_bytes);
	agreed->max_dma_maps = vfu_min(ours->max_dma_maps, theirs->max_dma_maps);
	agreed->pgsizes = ours->pgsizes & theirs->pgsizes;
	agreed->write_multiple = ours->write_multiple && theirs->write_multiple;
	return agreed->pgsizes == 0 ? -EINVAL : 0;
}

int
vfu_capabilities_format(const struct vfu_capabilities *caps, char *text, size_t room)
{
	json_t *root;
	size_t n;

	root = json_pack("{s:{s:I, s:I, s:I, s:I}}", "capabilities", "max_msg_fds",
			 (json_int_t)caps->max_msg_fds, "max_data_xfer_size",
			 (json_int_t)caps->max_data_xfer_bytes, "max_dma_maps",
			 (json_int_t)caps->max_dma_maps, "pgsizes", (json_int_t)caps->pgsizes);
	if (root == NULL)
		return -ENOMEM;
	if (caps->write_multiple && json_object_set_new(json_object_get(root, "capabilities"),
							"write_multiple", json_true()) != 0) {
		json_decref(root);
		return -ENOMEM;
	}
	n = json_dumpb(root, text, room, JSON_COMPACT);
	json_decref(root);
	if (n == 0 || n >= room)
		return -ENOSPC;
	text[n] = '\0';
	return n + 1;
}
