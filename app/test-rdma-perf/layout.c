/* SPDX-License-Identifier: BSD-3-Clause */

#include <rte_common.h>

#include "layout.h"

#define SLOTS_BYTES 65536u /* as many messages as this holds: memory that stays in the caches */
#define SLOTS_MAX   256u
#define SLOTS_LAT   2u /* one is compared while the other one is under way */
#define SLOT_ALIGN  64u
#define SIZE_FIRST  2u
#define MTU_MIN	    256u
#define MTU_MAX	    4096u

struct perf_layout
perf_layout_of(const struct perf_options *options, uint32_t size)
{
	struct perf_layout layout = { .size = size, .has_last = perf_layout_parts(options) > 2 };

	if (options->transport == RDMAPMD_QPT_UD)
		layout.head = RDMAPMD_GRH_BYTES;
	layout.stride = RTE_ALIGN_CEIL((size_t)size + layout.head, SLOT_ALIGN);
	layout.slots = SLOTS_LAT;
	if (options->mode == PERF_BW) {
		const size_t fit = RTE_MIN(SLOTS_BYTES / layout.stride, (size_t)SLOTS_MAX);

		layout.slots = (uint32_t)RTE_MAX(fit, (size_t)1);
	}
	return layout;
}

uint32_t
perf_layout_first(const struct perf_options *options)
{
	return options->all ? RTE_MIN(SIZE_FIRST, options->size) : options->size;
}

uint32_t
perf_layout_parts(const struct perf_options *options)
{
	return options->mode == PERF_BW && options->verify && !perf_op_atomic(options->op) ? 3 : 2;
}

static size_t
bytes_used(const struct perf_options *options, uint64_t size)
{
	const struct perf_layout layout = perf_layout_of(options, (uint32_t)size);

	return layout.stride * layout.slots;
}

size_t
perf_layout_part(const struct perf_options *options)
{
	const bool is_ud = options->transport == RDMAPMD_QPT_UD;
	const uint64_t first = perf_layout_first(options);
	uint64_t size;
	size_t part = 0;

	/* A datagram has an MTU at most, whatever is asked for. */
	for (size = is_ud ? RTE_MIN(first, (uint64_t)MTU_MAX) : first;
	     size <= options->size && (!is_ud || size <= MTU_MAX); size *= 2)
		part = RTE_MAX(part, bytes_used(options, size));
	/* A datagram is cut to an MTU that is not known yet, and more slots of that may take more than one of what was asked for. */
	for (size = MTU_MIN; is_ud && size <= MTU_MAX && size < options->size; size *= 2)
		part = RTE_MAX(part, bytes_used(options, size));
	return RTE_ALIGN_CEIL(part, (size_t)4096);
}
