/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Memory regions with addresses of the caller's choice, and registered mempools, by the accesses that reach their memory: by
 * library, driver and embedded device together.
 */

#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include <rte_common.h>
#include <rte_malloc.h>
#include <rte_mbuf.h>

#include "../e2e/rdma.h"

#define PAGE	 4096u
#define BYTES	 512u
#define LOCAL	 RDMAPMD_ACCESS_LOCAL_WRITE
#define REMOTE	 (LOCAL | RDMAPMD_ACCESS_REMOTE_WRITE | RDMAPMD_ACCESS_REMOTE_READ)
#define OWN(at)	 ((uintptr_t)pair->memory + (at))
#define OWN_KEY	 pair->mr->lkey
#define THEIR_AT (RDMA_HALF + RDMA_GUARD)

struct world {
	void *dev;
	struct rdma_pair pair;
};

static int
open_world(void **state)
{
	struct world *world = calloc(1, sizeof(*world));

	assert_non_null(world);
	assert_int_equal(unit_open(&world->dev), 0);
	rdma_open(&world->pair, &(const struct rdma_conf){ 0 });
	*state = world;
	return 0;
}

static int
close_world(void **state)
{
	struct world *world = *state;

	assert_int_equal(rdmapmd_context_close(world->pair.context), 0);
	rdma_free(&world->pair);
	assert_int_equal(unit_close(&world->dev), 0);
	free(world);
	return 0;
}

/* ---- Accesses ---- */

/* An address, by the key that is to reach it. */
struct place {
	uint64_t address;
	uint32_t key;
};

/* From a local place to a remote one, or with a READ the other way. */
static void
expect_access(struct rdma_pair *pair, enum rdmapmd_wr_opcode opcode, struct place local,
	      struct place remote, uint32_t length, enum rdmapmd_wc_status status)
{
	const struct rdmapmd_sge sge = { local.address, length, local.key };
	struct rdmapmd_send_wr wr = rdma_request(pair, opcode, 1, &sge);
	unsigned int i;

	wr.wr.rdma.remote_addr = remote.address;
	wr.wr.rdma.rkey = remote.key;
	rdma_post(pair->qp[0], &wr);
	rdma_expect_status(pair->cq[0], 1, status);
	if (status == RDMAPMD_WC_SUCCESS)
		return;
	/* Ready for the next one. */
	for (i = 0; i < 2; i++)
		rdma_to(pair->qp[i], RDMAPMD_QPS_RESET);
	for (i = 0; i < 2; i++)
		rdma_connect(pair->qp[i], pair->qp[!i], &(const struct rdma_conf){ 0 });
}

static void
expect_write(struct rdma_pair *pair, struct place local, struct place remote, uint32_t length,
	     enum rdmapmd_wc_status status)
{
	expect_access(pair, RDMAPMD_WR_RDMA_WRITE, local, remote, length, status);
}

/* ---- Addresses of the caller's choice ---- */

static void
reach_by_iova(struct rdma_pair *pair, uint8_t *region, uint64_t iova)
{
	const struct place from = { OWN(0), OWN_KEY }, back = { OWN(THEIR_AT), OWN_KEY };
	uint8_t expected[BYTES];
	struct rdmapmd_mr *mr;
	uint32_t old;

	assert_int_equal(rdmapmd_mr_reg_iova(pair->pd, region, BYTES, iova, REMOTE, &mr), 0);
	assert_int_equal(mr->iova, iova);
	rdma_fill(pair, BYTES);
	memset(region - 1, RDMA_UNTOUCHED, BYTES + 2);
	memset(expected, RDMA_UNTOUCHED, BYTES);
	/* As a peer reaches it: some of the bytes, and the last ones. */
	expect_write(pair, from, (struct place){ iova + 100, mr->rkey }, 50, RDMAPMD_WC_SUCCESS);
	memcpy(expected + 100, pair->memory, 50);
	expect_write(pair, from, (struct place){ iova + BYTES - 8, mr->rkey }, 8,
		     RDMAPMD_WC_SUCCESS);
	memcpy(expected + BYTES - 8, pair->memory, 8);
	assert_memory_equal(region, expected, BYTES);
	expect_access(pair, RDMAPMD_WR_RDMA_READ, back, (struct place){ iova, mr->rkey }, BYTES,
		      RDMAPMD_WC_SUCCESS);
	assert_memory_equal(pair->memory + THEIR_AT, expected, BYTES);
	/* As its own segments name it. */
	expect_write(pair, (struct place){ iova + 100, mr->lkey }, back, 50, RDMAPMD_WC_SUCCESS);
	assert_memory_equal(pair->memory + THEIR_AT, expected + 100, 50);
	/* In front of it, across its end, and by what the process calls it. */
	expect_write(pair, from, (struct place){ iova - 8, mr->rkey }, 8,
		     RDMAPMD_WC_REM_ACCESS_ERR);
	expect_write(pair, from, (struct place){ iova + BYTES - 7, mr->rkey }, 8,
		     RDMAPMD_WC_REM_ACCESS_ERR);
	expect_write(pair, from, (struct place){ (uintptr_t)region, mr->rkey }, 8,
		     RDMAPMD_WC_REM_ACCESS_ERR);
	expect_write(pair, (struct place){ iova + BYTES - 7, mr->lkey }, back, 8,
		     RDMAPMD_WC_LOC_PROT_ERR);
	old = mr->rkey;
	assert_int_equal(rdmapmd_mr_dereg(mr), 0);
	expect_write(pair, from, (struct place){ iova, old }, 8, RDMAPMD_WC_REM_ACCESS_ERR);
	assert_memory_equal(region, expected, BYTES);
	assert_int_equal(region[-1], RDMA_UNTOUCHED);
	assert_int_equal(region[BYTES], RDMA_UNTOUCHED);
}

static void
test_a_region_is_reached_by_the_address_of_the_callers_choice(void **state)
{
	static const uint64_t pages[] = { PAGE, UINT64_C(1) << 47, UINT64_MAX - 2 * PAGE + 1 };
	struct world *world = *state;
	uint8_t *memory = rte_malloc(NULL, 3 * PAGE, PAGE);
	unsigned int i;

	assert_non_null(memory);
	for (i = 0; i < RTE_DIM(pages); i++)
		reach_by_iova(&world->pair, memory + PAGE + 24, pages[i] + 24);
	/* The last byte of all is a region's. */
	reach_by_iova(&world->pair, memory + 2 * PAGE - BYTES, UINT64_MAX - BYTES + 1);
	rte_free(memory);
}

/* ---- Mempools ---- */

static struct place
place_of(const struct rdmapmd_pd *pd, const struct rte_mbuf *mbuf)
{
	return (struct place){ rte_pktmbuf_mtod(mbuf, uintptr_t), rdmapmd_mbuf_lkey(pd, mbuf) };
}

/* The bytes of an mbuf go to the peer by the key that is found for it, and those of the peer come into it. */
static void
carry(struct rdma_pair *pair, struct rte_mbuf *mbuf, uint8_t seed)
{
	const struct place own = place_of(pair->pd, mbuf), peer = { OWN(THEIR_AT), OWN_KEY };
	uint8_t *data = rte_pktmbuf_mtod(mbuf, uint8_t *);

	assert_int_not_equal(own.key, RDMAPMD_INVALID_LKEY);
	memset(data, seed, BYTES);
	expect_write(pair, own, peer, BYTES, RDMAPMD_WC_SUCCESS);
	assert_memory_equal(pair->memory + THEIR_AT, data, BYTES);
	memset(pair->memory + THEIR_AT, ~seed, BYTES);
	expect_access(pair, RDMAPMD_WR_RDMA_READ, own, peer, BYTES, RDMAPMD_WC_SUCCESS);
	assert_memory_equal(pair->memory + THEIR_AT, data, BYTES);
}

/* The key does not reach the peer's memory with anything of that place any more. */
static void
refuse(struct rdma_pair *pair, struct place old)
{
	const struct place peer = { OWN(THEIR_AT), OWN_KEY };

	assert_int_equal(rdmapmd_lkey_lookup(pair->pd, old.address), RDMAPMD_INVALID_LKEY);
	memset(pair->memory + THEIR_AT, RDMA_UNTOUCHED, 1);
	expect_write(pair, old, peer, BYTES, RDMAPMD_WC_LOC_PROT_ERR);
	assert_int_equal(pair->memory[THEIR_AT], RDMA_UNTOUCHED);
}

static void
test_mbufs_are_sent_by_their_pools_key(void **state)
{
	struct world *world = *state;
	struct rdma_pair *pair = &world->pair;
	struct rte_mempool *pool = rte_pktmbuf_pool_create(
		"carried", 63, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
	struct rte_mbuf *mbufs[63];
	struct rdmapmd_pd *other;
	struct place old;
	unsigned int i;

	assert_non_null(pool);
	assert_int_equal(rte_pktmbuf_alloc_bulk(pool, mbufs, RTE_DIM(mbufs)), 0);
	assert_int_equal(rdmapmd_mempool_register(pair->pd, pool, LOCAL), 0);
	for (i = 0; i < RTE_DIM(mbufs); i++)
		carry(pair, mbufs[i], (uint8_t)(i + 1));
	/* Another domain's key is of no use to these queue pairs. */
	assert_int_equal(rdmapmd_pd_alloc(pair->context, &other), 0);
	assert_int_equal(rdmapmd_mempool_register(other, pool, LOCAL), 0);
	expect_write(pair, place_of(other, mbufs[0]), (struct place){ OWN(THEIR_AT), OWN_KEY },
		     BYTES, RDMAPMD_WC_LOC_PROT_ERR);
	assert_int_equal(rdmapmd_mempool_unregister(other, pool), 0);
	assert_int_equal(rdmapmd_pd_dealloc(other), 0);
	/* Twice registered: it stays the pool's until it is taken back twice. */
	assert_int_equal(rdmapmd_mempool_register(pair->pd, pool, LOCAL), 0);
	assert_int_equal(rdmapmd_mempool_unregister(pair->pd, pool), 0);
	carry(pair, mbufs[0], 0x77);
	old = place_of(pair->pd, mbufs[0]);
	assert_int_equal(rdmapmd_mempool_unregister(pair->pd, pool), 0);
	refuse(pair, old);
	rte_pktmbuf_free_bulk(mbufs, RTE_DIM(mbufs));
	rte_mempool_free(pool);
}

static void
test_a_pool_that_may_be_read_alone_is_not_written_to(void **state)
{
	struct world *world = *state;
	struct rdma_pair *pair = &world->pair;
	struct rte_mempool *pool =
		rte_pktmbuf_pool_create("read", 63, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
	const struct place peer = { OWN(THEIR_AT), OWN_KEY };
	struct rte_mbuf *mbuf = rte_pktmbuf_alloc(pool);

	assert_int_equal(rdmapmd_mempool_register(pair->pd, pool, 0), 0);
	memset(rte_pktmbuf_mtod(mbuf, void *), RDMA_UNTOUCHED, BYTES);
	memset(pair->memory + THEIR_AT, 1, BYTES);
	expect_access(pair, RDMAPMD_WR_RDMA_READ, place_of(pair->pd, mbuf), peer, BYTES,
		      RDMAPMD_WC_LOC_PROT_ERR);
	assert_int_equal(*rte_pktmbuf_mtod(mbuf, uint8_t *), RDMA_UNTOUCHED);
	expect_write(pair, place_of(pair->pd, mbuf), peer, BYTES, RDMAPMD_WC_SUCCESS);
	assert_int_equal(pair->memory[THEIR_AT], RDMA_UNTOUCHED);
	rte_pktmbuf_free(mbuf);
	rte_mempool_free(pool);
}

/* ---- Chunks of a mempool ---- */

#define CHUNK (16 * PAGE)

static void
add_chunk(struct rte_mempool *pool, uint8_t *at)
{
	assert_true(rte_mempool_populate_iova(pool, (char *)at, RTE_BAD_IOVA, CHUNK, NULL, NULL) >
		    0);
	rte_mempool_obj_iter(pool, rte_pktmbuf_init, NULL);
}

/* Takes mbufs until one is of that chunk. */
static struct rte_mbuf *
mbuf_of(struct rte_mempool *pool, const uint8_t *chunk)
{
	struct rte_mbuf *mbuf;

	do {
		mbuf = rte_pktmbuf_alloc(pool);
		assert_non_null(mbuf);
	} while ((uint8_t *)mbuf < chunk || (uint8_t *)mbuf >= chunk + CHUNK);
	return mbuf;
}

/* What a pool has when it is registered is registered: what comes later, with the next registration. */
static void
test_a_chunk_that_comes_later_is_registered_anew(void **state)
{
	struct rte_pktmbuf_pool_private conf = { .mbuf_data_room_size = 2176 };
	struct rte_mempool *pool = rte_mempool_create_empty(
		"grows", 64, sizeof(struct rte_mbuf) + 2176, 0, sizeof(conf), SOCKET_ID_ANY, 0);
	uint8_t *memory = rte_malloc(NULL, 3 * CHUNK, PAGE), *late = memory + 2 * CHUNK;
	struct world *world = *state;
	struct rdma_pair *pair = &world->pair;
	struct rte_mbuf *first, *second;
	struct place old;

	assert_true(pool != NULL && memory != NULL);
	rte_pktmbuf_pool_init(pool, &conf);
	add_chunk(pool, memory);
	assert_int_equal(rdmapmd_mempool_register(pair->pd, pool, LOCAL), 0);
	first = mbuf_of(pool, memory);
	carry(pair, first, 0x11);
	add_chunk(pool, late);
	second = mbuf_of(pool, late);
	assert_int_equal(rdmapmd_mbuf_lkey(pair->pd, second), RDMAPMD_INVALID_LKEY);
	old = place_of(pair->pd, first);
	assert_int_equal(rdmapmd_mempool_unregister(pair->pd, pool), 0);
	refuse(pair, old);
	assert_int_equal(rdmapmd_mempool_register(pair->pd, pool, LOCAL), 0);
	carry(pair, first, 0x22);
	carry(pair, second, 0x33);
	/* Two pieces, two keys, and nothing of what lies between them. */
	assert_int_not_equal(rdmapmd_mbuf_lkey(pair->pd, first),
			     rdmapmd_mbuf_lkey(pair->pd, second));
	assert_int_equal(rdmapmd_lkey_lookup(pair->pd, (uintptr_t)memory + CHUNK),
			 RDMAPMD_INVALID_LKEY);
	rte_mempool_free(pool);
	rte_free(memory);
}

static void
test_the_key_of_a_pool_that_was_freed_is_refused(void **state)
{
	struct world *world = *state;
	struct rdma_pair *pair = &world->pair;
	struct rte_mempool *pool = rte_pktmbuf_pool_create(
		"freed", 63, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
	struct rte_mbuf *mbuf = rte_pktmbuf_alloc(pool);
	struct place old;

	assert_int_equal(rdmapmd_mempool_register(pair->pd, pool, LOCAL), 0);
	carry(pair, mbuf, 0x44);
	old = place_of(pair->pd, mbuf);
	rte_pktmbuf_free(mbuf);
	rte_mempool_free(pool);
	refuse(pair, old);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_world, close_world)

static const struct CMUnitTest tests[] = {
	TEST(test_a_region_is_reached_by_the_address_of_the_callers_choice),
	TEST(test_mbufs_are_sent_by_their_pools_key),
	TEST(test_a_pool_that_may_be_read_alone_is_not_written_to),
	TEST(test_a_chunk_that_comes_later_is_registered_anew),
	TEST(test_the_key_of_a_pool_that_was_freed_is_refused),
};

UNIT_MAIN("rdma_regions", tests)
