/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Keys as the manual has them, beside those of the device: who may use which, and to which bytes they lead. The device's calls
 * that change keys, and those that reach memory by them, come by here (the linker's --wrap): each must do what is said here, and
 * no more.
 */
#ifndef TEST_FUZZ_ROCE_UMR_H
#define TEST_FUZZ_ROCE_UMR_H

#include <stdbool.h>
#include <stdint.h>

#include "driver/mkey.h"

struct softrnic;

#define UMR_PAGE     4096u
#define UMR_PAGES    8	/* of a key: a whole line of its list */
#define UMR_ENTRIES  55 /* of a list: as many as the longest WQE has */
#define UMR_KEYS     17
#define UMR_WARDS    2 /* memory that is written by keys alone */
#define UMR_WARD     (2 * UMR_PAGE)
#define UMR_MEMORIES (UMR_WARDS + 3)

struct umr_entry {
	uint32_t key;
	uint64_t va, bytes;
};

struct umr_key {
	bool exists, free, umr, rinval, page_rights;
	uint8_t variant, access; /* enum drv_access */
	enum rnic_mkey_access_mode mode;
	uint32_t index, pd, qpn;
	uint64_t start, length;
	uint8_t log_page_size;
	uint32_t room; /* octwords */
	/* Of a list of keys the first, of a list of pages the second: address and rights, as they stand in the list. */
	uint32_t count;
	struct umr_entry entries[UMR_ENTRIES];
	uint64_t pages[UMR_PAGES];
};

/* Memory that lists of pages, and what says where lists are, may lead to. */
struct umr_memory {
	uint64_t iova;
	uint8_t *at;
	uint32_t bytes;
};

struct umr_model {
	struct umr_key keys[UMR_KEYS];
	struct umr_ward {
		uint8_t *at;
		bool gone;		 /* it is not mapped */
		uint8_t bytes[UMR_WARD]; /* what must be there */
	} wards[UMR_WARDS];
	struct umr_memory memories[UMR_MEMORIES]; /* the wards first */
	/* Ever: WQEs that were executed, keys that peers invalidated. */
	uint32_t executed, invalidated;
};

extern struct umr_model umr_model;

enum umr_op {
	OP_BIND, /* u8 qp, key, key of the region, u16 offset, u16 bytes, u8 rights; 5: to this QP; 6: zero-based */
	OP_INVALIDATE, /* u8 qp, key; LOCAL_INV, of a window that is bound to no queue pair the unbinding */
	OP_UMR, /* u8 qp, key, flags, u16 mask, context, u8 entries, each: u8 key, u16 offset, u16 bytes */
	OP_SEND_INVAL, /* u8 qp, key */
	OP_REMOTE,     /* u8 qp, operation, key, u16 offset, u16 bytes */
	OP_SEND,       /* u8 qp, key, u16 offset, u16 bytes: from there */
	OP_RECV,       /* u8 qp */
	OP_BYTES,      /* u8 qp, u16 offset, u8: other bits in the last WQE */
	OP_RUN,	    /* u8 polls; 0: until nothing happens, and pairs that are broken begin anew */
	OP_KEY,	    /* u8 key: it goes, or comes back */
	OP_UNMAP,   /* u8 ward: it goes, or comes back */
	OP_CONNECT, /* u8 pair */
	/*
	 * u8 qp, key, flags, what, u16 start, length, u8 part, pages, each: u8; what: 0: the list is there, if it is elsewhere; 1:
	 * by a key, else by the reserved one; 2: pages of twice the size; 3: nothing but the list; 4: it stays free
	 */
	OP_REGISTER,
	OP_LAST,
};

/* The keys of the target's world. */
enum umr_which {
	KEY_TYPE1,
	KEY_TYPE2,
	KEY_TYPE2_MORE,
	KEY_WIDE,    /* a window of many entries */
	KEY_FLAT,    /* a region: its own side may read and write */
	KEY_OPEN,    /* peers, too */
	KEY_READ,    /* they may read */
	KEY_CHUNKS,  /* of pages here and there; WQEs may change its rights */
	KEY_PAGES,   /* of which some may not be written */
	KEY_OF_QP,   /* for the first one's peer */
	KEY_FREE,    /* made free */
	KEY_LIST,    /* made with its entries */
	KEY_PAGED,   /* the same, entries of a page */
	KEY_OTHER,   /* a region of another domain */
	KEY_OTHER_2, /* a window of it */
	KEY_SOURCE,  /* what is written and sent */
	KEY_SINK,    /* where answers and messages go */
	KEYS,
};

/* All keys of the device are those of the model. */
void umr_model_compare(struct softrnic *dev);
/* No byte was written but by who may. */
void umr_wards_compare(void);

#endif
