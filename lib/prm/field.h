/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Big-endian values and fields as the Programmer's Reference Manual (PRM) prints them.
 *
 * A layout is a list of rows, one row per field: name, dword offset, high bit, low bit. From the
 * same rows come an enum of its own per layout, typed get/set functions, and a descriptor that
 * dumps, traces and tests use:
 *
 *	#define RNIC_CQC_FIELDS(F) \
 *		F(RNIC_CQC_STATUS,   0x00, 31, 28) \
 *		F(RNIC_CQC_LOG_SIZE, 0x0c, 28, 24)
 *	RNIC_LAYOUT(cqc, CQC, 0x40)
 *
 *	rnic_cqc_set(cqc, RNIC_CQC_LOG_SIZE, 10);
 *
 * A field of another layout, the setter of another struct, or arithmetic on a big-endian value does
 * not compile. A field with a high bit above 31 covers two dwords, as the PRM's 64-bit addresses
 * do.
 */
#ifndef RNIC_PRM_FIELD_H
#define RNIC_PRM_FIELD_H

#include <stddef.h>
#include <stdint.h>

/* Wire-order values: structs, so that the compiler converts and computes nothing by itself. */
struct rnic_be16 {
	uint16_t raw;
};

struct rnic_be32 {
	uint32_t raw;
};

struct rnic_be64 {
	uint64_t raw;
};

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define RNIC_SWAP16(v) __builtin_bswap16(v)
#define RNIC_SWAP32(v) __builtin_bswap32(v)
#define RNIC_SWAP64(v) __builtin_bswap64(v)
#else
#define RNIC_SWAP16(v) (v)
#define RNIC_SWAP32(v) (v)
#define RNIC_SWAP64(v) (v)
#endif

/* Constant initialisers, e.g. for templates of queue entries. */
#define RNIC_BE16(v) ((struct rnic_be16){ RNIC_SWAP16((uint16_t)(v)) })
#define RNIC_BE32(v) ((struct rnic_be32){ RNIC_SWAP32((uint32_t)(v)) })
#define RNIC_BE64(v) ((struct rnic_be64){ RNIC_SWAP64((uint64_t)(v)) })

static inline struct rnic_be16
rnic_cpu_to_be16(uint16_t v)
{
	return (struct rnic_be16){ RNIC_SWAP16(v) };
}

static inline struct rnic_be32
rnic_cpu_to_be32(uint32_t v)
{
	return (struct rnic_be32){ RNIC_SWAP32(v) };
}

static inline struct rnic_be64
rnic_cpu_to_be64(uint64_t v)
{
	return (struct rnic_be64){ RNIC_SWAP64(v) };
}

static inline uint16_t
rnic_be16_to_cpu(struct rnic_be16 v)
{
	return RNIC_SWAP16(v.raw);
}

static inline uint32_t
rnic_be32_to_cpu(struct rnic_be32 v)
{
	return RNIC_SWAP32(v.raw);
}

static inline uint64_t
rnic_be64_to_cpu(struct rnic_be64 v)
{
	return RNIC_SWAP64(v.raw);
}

/* A field packed into an enum constant: byte offset of its first dword, high bit, low bit. */
#define RNIC_FIELD(offset, high, low) ((offset) << 16 | (high) << 8 | (low))
#define RNIC_FIELD_OFFSET(field)      ((uint32_t)(field) >> 16)
#define RNIC_FIELD_HIGH(field)	      (((uint32_t)(field) >> 8) & 0xff)
#define RNIC_FIELD_LOW(field)	      ((uint32_t)(field)&0xff)

static inline uint64_t
rnic_field_mask(uint32_t field)
{
	return ~UINT64_C(0) >> (63 - (RNIC_FIELD_HIGH(field) - RNIC_FIELD_LOW(field)));
}

static inline uint64_t
rnic_field_get(const struct rnic_be32 *dw, uint32_t field)
{
	uint64_t v;

	dw += RNIC_FIELD_OFFSET(field) / 4;
	v = rnic_be32_to_cpu(dw[0]);
	if (RNIC_FIELD_HIGH(field) > 31)
		v = v << 32 | rnic_be32_to_cpu(dw[1]);
	return v >> RNIC_FIELD_LOW(field) & rnic_field_mask(field);
}

/*
 * Bits of the value above the field's width are cut off: callers check ranges where they come from
 * outside.
 */
static inline void
rnic_field_set(struct rnic_be32 *dw, uint32_t field, uint64_t value)
{
	uint64_t mask = rnic_field_mask(field) << RNIC_FIELD_LOW(field);
	uint64_t bits = value << RNIC_FIELD_LOW(field) & mask;

	dw += RNIC_FIELD_OFFSET(field) / 4;
	if (RNIC_FIELD_HIGH(field) > 31) {
		dw[0] = rnic_cpu_to_be32((rnic_be32_to_cpu(dw[0]) & ~(uint32_t)(mask >> 32)) |
					 (uint32_t)(bits >> 32));
		dw++;
	}
	dw[0] = rnic_cpu_to_be32((rnic_be32_to_cpu(dw[0]) & ~(uint32_t)mask) | (uint32_t)bits);
}

/* What dumps, the trace and the layout tests know of a layout. */
struct rnic_field_desc {
	const char *name;
	uint16_t offset;
	uint8_t high;
	uint8_t low;
};

struct rnic_layout_desc {
	const char *name;
	uint32_t size;
	uint32_t field_count;
	const struct rnic_field_desc *fields;
};

#define RNIC_FIELD_ENUM(id, offset, high, low) id = RNIC_FIELD(offset, high, low),

/* The struct of a layout that has no fields of its own, only inner layouts or plain bytes. */
#define RNIC_FRAME(name, size)                   \
	struct rnic_##name {                     \
		struct rnic_be32 dw[(size) / 4]; \
	};                                       \
	_Static_assert(sizeof(struct rnic_##name) == (size), #name ": size");

/* The enum, the struct, and the typed accessors of one layout whose rows are RNIC_<NAME>_FIELDS. */
#define RNIC_LAYOUT(name, NAME, size)                                                        \
	enum rnic_##name##_field{ RNIC_##NAME##_FIELDS(RNIC_FIELD_ENUM) };                   \
	struct rnic_##name {                                                                 \
		struct rnic_be32 dw[(size) / 4];                                             \
	};                                                                                   \
	_Static_assert(sizeof(struct rnic_##name) == (size), #name ": size");                \
	static inline uint64_t rnic_##name##_get(const struct rnic_##name *layout,           \
						 enum rnic_##name##_field field)             \
	{                                                                                    \
		return rnic_field_get(layout->dw, (uint32_t)field);                          \
	}                                                                                    \
	static inline void rnic_##name##_set(struct rnic_##name *layout,                     \
					     enum rnic_##name##_field field, uint64_t value) \
	{                                                                                    \
		rnic_field_set(layout->dw, (uint32_t)field, value);                          \
	}

/*
 * A layout that stands inside another at a fixed byte offset: rnic_create_cq_in_cqc(in) -> struct
 * rnic_cqc *.
 */
#define RNIC_INNER(outer, inner, member, offset)                                                \
	_Static_assert((offset) % 4 == 0 && (offset) + sizeof(struct rnic_##inner) <=           \
						    sizeof(struct rnic_##outer),                \
		       #outer ": " #member " does not fit");                                    \
	static inline struct rnic_##inner *rnic_##outer##_##member(struct rnic_##outer *layout) \
	{                                                                                       \
		return (struct rnic_##inner *)&layout->dw[(offset) / 4];                        \
	}

/* The rows of a layout as data; used once per layout, in layouts.c. */
#define RNIC_FIELD_DESC(id, offset, high, low) { #id, offset, high, low },
#define RNIC_LAYOUT_DESC(NAME_LOWER, NAME)                                                        \
	static const struct rnic_field_desc NAME_LOWER##_fields[] = { RNIC_##NAME##_FIELDS(       \
		RNIC_FIELD_DESC) };                                                               \
	const struct rnic_layout_desc rnic_##NAME_LOWER##_desc = {                                \
		#NAME_LOWER, sizeof(struct rnic_##NAME_LOWER),                                    \
		sizeof(NAME_LOWER##_fields) / sizeof(NAME_LOWER##_fields[0]), NAME_LOWER##_fields \
	};

/* Every entry of the data path states where the PRM puts its members. */
#define RNIC_AT(type, member, offset) \
	_Static_assert(offsetof(struct type, member) == (offset), #type "." #member ": offset")
#define RNIC_SIZE(type, size) _Static_assert(sizeof(struct type) == (size), #type ": size")

#endif
