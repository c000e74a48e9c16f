/* SPDX-License-Identifier: BSD-3-Clause */

/* Objects: everything that a command creates and names by a number. */
#ifndef SOFTRNIC_OBJECT_H
#define SOFTRNIC_OBJECT_H

#include <stdint.h>

struct softrnic;

enum softrnic_object_type {
	SOFTRNIC_PD,
	SOFTRNIC_TD,
	SOFTRNIC_UAR,
	SOFTRNIC_MKEY,
	SOFTRNIC_EQ,
	SOFTRNIC_CQ,
	SOFTRNIC_TIS,
	SOFTRNIC_TIR,
	SOFTRNIC_RQT,
	SOFTRNIC_SQ,
	SOFTRNIC_RQ,
	SOFTRNIC_Q_COUNTER,
	SOFTRNIC_FLOW_TABLE,
	SOFTRNIC_QP,
	SOFTRNIC_RMP,
	SOFTRNIC_OBJECT_TYPES,
};

/* First member of every object. An object with references cannot be destroyed (RES_BUSY). */
struct softrnic_object {
	uint32_t number;
	uint32_t refs;
	enum softrnic_object_type type;
};

struct softrnic_object_table {
	struct softrnic_object **slots; /* by number - first */
	uint32_t first, size, used;
	uint32_t next; /* where the search for a free number starts */
	/*
	 * Of shuffled ones: the slot at each place, and the place of each slot, both as its distance from there (xor), so
	 * that what was never touched costs no memory.
	 */
	uint32_t *order, *place;
	uint32_t fresh; /* those at the first places */
};

/* Give the object a number; RNIC_STATUS_OK or RNIC_STATUS_LIM. */
int softrnic_object_add(struct softrnic *dev, enum softrnic_object_type type,
			struct softrnic_object *object);
/* NULL if there is no such object: the caller answers RNIC_STATUS_BAD_RES. */
void *softrnic_object_get(struct softrnic *dev, enum softrnic_object_type type, uint32_t number);
/* Take it out of its table (refs must be 0); the caller frees it. */
void softrnic_object_remove(struct softrnic *dev, struct softrnic_object *object);
/* The next object of a type at or after *number, for loops; NULL at the end. *number: where to go on. */
void *softrnic_object_next(struct softrnic *dev, enum softrnic_object_type type, uint32_t *number);
/* How many there can be: what capabilities report. */
uint32_t softrnic_object_limit(enum softrnic_object_type type);

int softrnic_objects_init(struct softrnic *dev);
void softrnic_objects_fini(struct softrnic *dev);

/*
 * Free an object, whatever leans on it: those have gone already. Of what it refers to only the count of references is
 * touched. This one is for objects that are one malloc each.
 */
void softrnic_object_drop(struct softrnic *dev, struct softrnic_object *object);

#endif
