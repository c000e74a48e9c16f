/* SPDX-License-Identifier: BSD-3-Clause */

#include <ctype.h>
#include <string.h>

#include "layouts.h"

#define FRAME_DESC(name)                                     \
	const struct rnic_layout_desc rnic_##name##_desc = { \
		#name,                                       \
		sizeof(struct rnic_##name),                  \
		0,                                           \
		NULL,                                        \
	};
RNIC_LAYOUTS(RNIC_LAYOUT_DESC, FRAME_DESC)

#define LAYOUT_ENTRY(name, NAME) &rnic_##name##_desc,
#define FRAME_ENTRY(name)	 &rnic_##name##_desc,
const struct rnic_layout_desc *const rnic_layouts[] = { RNIC_LAYOUTS(LAYOUT_ENTRY, FRAME_ENTRY) };
const uint32_t rnic_layout_count = sizeof(rnic_layouts) / sizeof(rnic_layouts[0]);

#define INNER_ENTRY(outer, inner, member, offset) \
	{ &rnic_##outer##_desc, &rnic_##inner##_desc, #member, offset },
const struct rnic_inner_desc rnic_inners[] = { RNIC_INNERS(INNER_ENTRY) };
const uint32_t rnic_inner_count = sizeof(rnic_inners) / sizeof(rnic_inners[0]);

/* The one or two dwords that hold the field, or false where they lie outside. */
static bool
field_dwords(size_t length, size_t offset, const struct rnic_field_desc *field, size_t *at,
	     size_t *bytes)
{
	*bytes = field->high > 31 ? 8 : 4;
	if (offset > length || field->offset > length - offset)
		return false;
	*at = offset + field->offset;
	return *bytes <= length - *at;
}

bool
rnic_desc_get(const uint8_t *bytes, size_t length, size_t offset,
	      const struct rnic_field_desc *field, uint64_t *value)
{
	struct rnic_be32 dw[2];
	size_t at, n;

	if (!field_dwords(length, offset, field, &at, &n))
		return false;
	memcpy(dw, bytes + at, n);
	*value = rnic_field_get(dw, RNIC_FIELD(0u, (uint32_t)field->high, (uint32_t)field->low));
	return true;
}

bool
rnic_desc_set(uint8_t *bytes, size_t length, size_t offset, const struct rnic_field_desc *field,
	      uint64_t value)
{
	struct rnic_be32 dw[2];
	size_t at, n;

	if (!field_dwords(length, offset, field, &at, &n))
		return false;
	memcpy(dw, bytes + at, n);
	rnic_field_set(dw, RNIC_FIELD(0u, (uint32_t)field->high, (uint32_t)field->low), value);
	memcpy(bytes + at, dw, n);
	return true;
}

const char *
rnic_field_short_name(const struct rnic_layout_desc *layout, const struct rnic_field_desc *field)
{
	const char *name = field->name + strlen("RNIC_");
	size_t i;

	for (i = 0; layout->name[i] != '\0'; i++) {
		if (name[i] != toupper((unsigned char)layout->name[i]))
			return name;
	}
	return name[i] == '_' ? name + i + 1 : name;
}
