/* SPDX-License-Identifier: BSD-3-Clause */

/* Seeds of fuzz-roce-umr: what windows are for, and each thing that they may not. */
#include "fuzz.h"
#include "roce_umr.h"

#define ALL	   (DRV_LR | DRV_LW | DRV_RR | DRV_RW | DRV_A)
#define U16(value) (uint8_t)(value), (uint8_t)((value) >> 8)
#define TO_QP	   0x20
#define ZERO_BASED 0x40
#define OTHER	   0x40 /* of a key: another byte */
#define OLD	   0x60 /* the byte before */

static void
put_run(struct fuzz_seed *seed)
{
	PUT(seed, OP_RUN, 0);
}

/* The end that owns windows is the odd one. */
static void
put_bind(struct fuzz_seed *seed, enum umr_which window, enum umr_which region, uint16_t bytes,
	 uint8_t what)
{
	PUT(seed, OP_BIND, 1, (uint8_t)window, (uint8_t)region, U16(64), U16(bytes), what);
	put_run(seed);
}

static void
put_remote(struct fuzz_seed *seed, uint8_t qp, uint8_t operation, uint8_t key, uint16_t offset,
	   uint16_t bytes)
{
	PUT(seed, OP_REMOTE, qp, operation, key, U16(offset), U16(bytes));
	put_run(seed);
}

/* By each operation, all of it and beyond; then it goes, by its owner or by its peer. */
static void
seed_window(uint8_t flags, enum umr_which window, enum umr_which region, uint8_t what)
{
	static struct fuzz_seed seed;

	seed.used = 0;
	fuzz_put_u8(&seed, flags);
	put_bind(&seed, window, region, 1200, what);
	for (uint8_t i = 0; i < 4; i++)
		put_remote(&seed, 0, i, window, 0, 1200);
	put_remote(&seed, 0, 0, window, 1, 1200);
	put_remote(&seed, 0, 0, window, 0xffff, 1);
	put_remote(&seed, 2, 0, window, 0, 8);
	put_remote(&seed, 0, 0, window | OLD, 0, 8);
	PUT(&seed, OP_SEND, 1, (uint8_t)window, U16(0), U16(40), OP_RECV, 0);
	put_run(&seed);
	PUT(&seed, OP_RECV, 3, OP_SEND_INVAL, 2, (uint8_t)window);
	put_run(&seed);
	PUT(&seed, OP_RECV, 1, OP_SEND_INVAL, 0, (uint8_t)window);
	put_run(&seed);
	put_remote(&seed, 0, 1, window, 0, 8);
	put_bind(&seed, window, region, 900, what);
	PUT(&seed, OP_UNMAP, 0);
	put_remote(&seed, 0, 0, window, 0, 700);
	PUT(&seed, OP_UNMAP, 0, OP_INVALIDATE, 1, (uint8_t)window);
	put_run(&seed);
	put_remote(&seed, 0, 0, window, 0, 8);
	PUT(&seed, OP_KEY, (uint8_t)region);
	put_bind(&seed, window, region, 900, what);
	put_remote(&seed, 0, 0, window, 0, 700);
	fuzz_seed_write(&seed, "window-%02x-%u-%u-%02x", flags, window, region, what);
}

/* By each key that is no window, and by a window of it. */
static void
seed_region(enum umr_which region)
{
	static struct fuzz_seed seed;

	seed.used = 0;
	fuzz_put_u8(&seed, 0);
	for (uint8_t i = 0; i < 4; i++)
		put_remote(&seed, 0, i, region, 8 * i, 1400);
	put_remote(&seed, 2, 0, region, 5000, 700);
	PUT(&seed, OP_UMR, 1, (uint8_t)region, 0, U16(0x03e0), 0x1f, 0, U16(0), U16(0), 0);
	put_run(&seed);
	put_remote(&seed, 0, 1, region, 3900, 1400);
	PUT(&seed, OP_UMR, 1, (uint8_t)region, 0, U16(0x0404), 0x60, 0, U16(0), U16(0), 0);
	put_run(&seed);
	PUT(&seed, OP_RECV, 1, OP_SEND_INVAL, 0, (uint8_t)region);
	put_run(&seed);
	put_bind(&seed, KEY_TYPE1, region, 5000, ALL);
	put_remote(&seed, 0, 0, KEY_TYPE1, 3700, 1400);
	fuzz_seed_write(&seed, "region-%u", region);
}

/* Lists of lists, one deeper than is allowed; of many small entries, and of more than there is room for. */
static void
seed_lists(void)
{
	static const enum umr_which chain[] = { KEY_LIST, KEY_TYPE2, KEY_TYPE1, KEY_WIDE,
						KEY_TYPE2_MORE };
	static struct fuzz_seed seed;

	seed.used = 0;
	fuzz_put_u8(&seed, 0);
	for (unsigned int i = 0; i + 1 < sizeof(chain) / sizeof(chain[0]); i++) {
		put_bind(&seed, chain[i + 1], chain[i], 640, ALL | ZERO_BASED);
		put_remote(&seed, 0, 0, (uint8_t)chain[i + 1], 0, 640);
		put_remote(&seed, 0, 1, (uint8_t)chain[i + 1], 0, 640);
	}
	fuzz_seed_write(&seed, "lists");

	for (unsigned int count = 4; count <= UMR_ENTRIES; count += 51) {
		seed.used = 0;
		fuzz_put_u8(&seed, 1);
		PUT(&seed, OP_UMR, 1, KEY_WIDE, 0x80, U16(0x07ff), 0x1f, 4, U16(0), U16(20 * count),
		    (uint8_t)count);
		for (unsigned int i = 0; i < count; i++)
			PUT(&seed, i % 2 == 0 ? KEY_FLAT : KEY_CHUNKS, U16(8 * i), U16(20));
		put_run(&seed);
		put_remote(&seed, 0, 0, KEY_WIDE | 0x20, 0, 1000);
		put_remote(&seed, 0, 1, KEY_WIDE | 0x20, 3, 1000);
		put_remote(&seed, 0, 2, KEY_WIDE | 0x20, 16, 8);
		/* a small window has no room for so many */
		PUT(&seed, OP_UMR, 1, KEY_TYPE1, 0x80, U16(0x07ff), 0x1f, 4, U16(0), U16(100),
		    (uint8_t)count);
		fuzz_seed_write(&seed, "entries-%u", count);
	}
}

/* A good one, one of whose bytes is another. */
static void
seed_form(uint16_t offset, uint8_t bits)
{
	static struct fuzz_seed seed;

	seed.used = 0;
	fuzz_put_u8(&seed, 0);
	PUT(&seed, OP_BIND, 1, KEY_TYPE2, KEY_FLAT, U16(64), U16(200), TO_QP | ALL);
	PUT(&seed, OP_BYTES, 1, U16(offset), bits);
	put_run(&seed);
	put_remote(&seed, 0, 0, KEY_TYPE2 | 0x20, 0, 100);
	fuzz_seed_write(&seed, "form-%u-%02x", offset, bits);
}

/* Messages under way when the window goes, comes and goes again. */
static void
seed_race(uint8_t flags)
{
	static struct fuzz_seed seed;

	seed.used = 0;
	fuzz_put_u8(&seed, flags);
	put_bind(&seed, KEY_TYPE2, KEY_CHUNKS, 1400, TO_QP | ALL);
	for (uint8_t i = 0; i < 6; i++) {
		PUT(&seed, OP_REMOTE, 0, i % 2, KEY_TYPE2, U16(0), U16(1400), OP_RECV, 1);
		PUT(&seed, OP_RUN, 1 + i % 3, OP_INVALIDATE, 1, KEY_TYPE2, OP_RUN, 1);
		PUT(&seed, OP_BIND, 1, KEY_TYPE2, KEY_CHUNKS, U16(64), U16(1400), TO_QP | ALL);
		PUT(&seed, OP_SEND_INVAL, 0, KEY_TYPE2, OP_RUN, i % 2);
	}
	PUT(&seed, OP_CONNECT, 0);
	put_bind(&seed, KEY_TYPE2_MORE, KEY_FLAT, 1400, TO_QP | ALL);
	put_remote(&seed, 0, 0, KEY_TYPE2_MORE, 0, 1400);
	fuzz_seed_write(&seed, "race-%02x", flags);
}

/* A bad one behind a message whose answer comes later. */
static void
seed_behind(uint8_t flags)
{
	static struct fuzz_seed seed;

	seed.used = 0;
	fuzz_put_u8(&seed, flags);
	for (uint8_t i = 0; i < 4; i++) {
		PUT(&seed, OP_REMOTE, 1, i, KEY_OPEN, U16(0), U16(200));
		PUT(&seed, OP_INVALIDATE, 1, KEY_TYPE2 | OTHER);
		PUT(&seed, OP_BIND, 1, KEY_TYPE2, KEY_FLAT, U16(0), U16(100), TO_QP | ALL);
		put_run(&seed);
	}
	fuzz_seed_write(&seed, "behind-%02x", flags);
}

/* A kernel's, whose second pair it is: pages in the WQE and elsewhere, in parts, too few, too many; then users try the same. */
static void
put_pages(struct fuzz_seed *seed, uint8_t qp, uint8_t key, uint8_t wqe)
{
	PUT(seed, OP_REGISTER, qp, key, wqe, 1, U16(100), U16(9000), 0, 4, 3, 2, 1, 0);
	put_run(seed);
	for (uint8_t operation = 0; operation < 4; operation++)
		put_remote(seed, 2, operation, key, 3900, 1200);
	PUT(seed, OP_REGISTER, qp, key, wqe | 0x10, 1 | 8, U16(0), U16(0), 1, 4, 0, 1, 2, 3);
	put_run(seed);
	put_remote(seed, 2, 1, key, 3900, 1200);
	PUT(seed, OP_REGISTER, qp, key, wqe | 0x10, 1, U16(4), U16(30000), 2, 4, 1, 1, 0x80, 3);
	put_run(seed);
	put_remote(seed, 2, 0, key, 8100, 1200);
	PUT(seed, OP_REGISTER, qp, key, wqe, 1 | 4, U16(0), U16(16384), 0, 2, 0, 1);
	put_run(seed);
	put_remote(seed, 2, 1, key, 8100, 1200);
}

/* Too long for the list, for the key; free again; a list that is not there, by no key. */
static void
put_refused(struct fuzz_seed *seed, uint8_t qp, uint8_t key, uint8_t wqe)
{
	PUT(seed, OP_REGISTER, qp, key, wqe, 1, U16(0), U16(9000), 0, 2, 0, 1);
	put_run(seed);
	PUT(seed, OP_REGISTER, qp, key, wqe | 0x10, 1, U16(0), U16(100), 3, 4, 0, 1, 2, 3);
	put_run(seed);
	PUT(seed, OP_REGISTER, qp, key, wqe, 1 | 16, U16(0), U16(100), 0, 2, 0, 1);
	put_run(seed);
	put_remote(seed, 2, 0, key, 0, 100);
	PUT(seed, OP_REGISTER, qp, key, wqe, 0, U16(0), U16(100), 0, 2, 0, 1);
	put_run(seed);
	PUT(seed, OP_REGISTER, qp, key, wqe, 1 | 2, U16(0), U16(100), 0, 2, 0, 1);
	put_run(seed);
}

static void
seed_register(uint8_t flags, uint8_t qp)
{
	static const uint8_t keys[] = { KEY_FREE, KEY_CHUNKS, KEY_LIST, KEY_PAGED };
	static struct fuzz_seed seed;

	for (unsigned int i = 0; i < sizeof(keys); i++) {
		for (unsigned int wqe = 0x00; wqe <= 0x80; wqe += 0x80) {
			seed.used = 0;
			fuzz_put_u8(&seed, flags);
			put_pages(&seed, qp, keys[i], (uint8_t)wqe);
			fuzz_seed_write(&seed, "register-%02x-%u-%u-%02x", flags, qp, keys[i], wqe);
			seed.used = 0;
			fuzz_put_u8(&seed, flags);
			put_refused(&seed, qp, keys[i], (uint8_t)wqe);
			fuzz_seed_write(&seed, "refused-%02x-%u-%u-%02x", flags, qp, keys[i], wqe);
		}
	}
}

void
fuzz_seeds_write(void)
{
	for (uint8_t flags = 8; flags < 16; flags++)
		seed_register(flags, 3);
	seed_register(8, 1);
	for (uint8_t flags = 0; flags < 8; flags++) {
		seed_window(flags, KEY_TYPE1, KEY_FLAT, ALL);
		seed_window(flags, KEY_TYPE2, KEY_CHUNKS, TO_QP | ALL);
		seed_race(flags);
		seed_behind(flags);
	}
	for (enum umr_which region = KEY_FLAT; region < KEYS; region++) {
		seed_region(region);
		seed_window(0, KEY_WIDE, region, (uint8_t)(TO_QP | ZERO_BASED | ALL));
	}
	seed_window(0, KEY_OTHER_2, KEY_OTHER, ALL);
	seed_lists();
	for (uint16_t offset = 0; offset < 128; offset++)
		seed_form(offset, (uint8_t)(1 << offset % 8));
}
