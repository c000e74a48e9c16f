/* SPDX-License-Identifier: BSD-3-Clause */

/* Memory regions: what is registered and what is refused, and forked children. */

#include "rdma_fake.h"
#include "../counts.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rte_common.h>
#include <rte_malloc.h>

#define PAGE  4096u
#define LOCAL RDMAPMD_ACCESS_LOCAL_WRITE

static int
setup(void **state)
{
	struct fake_set *set;

	fake_setup_context(state);
	set = *state;
	return rdmapmd_pd_alloc(set->context, &set->pd);
}

static char *
map_pages(unsigned int pages)
{
	char *at = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			0);

	assert_ptr_not_equal(at, MAP_FAILED);
	memset(at, 1, pages * PAGE);
	return at;
}

/* ---- Register ---- */

static void
test_register(void **state)
{
	struct fake_set *set = *state;
	struct rdmapmd_mr *mr;

	assert_int_equal(rdmapmd_mr_reg(set->pd, fake_memory + 5, 100,
					LOCAL | RDMAPMD_ACCESS_REMOTE_ATOMIC, &mr),
			 0);
	assert_ptr_equal(set->fake->mr.pd, set->pd);
	assert_ptr_equal(set->fake->mr.addr, fake_memory + 5);
	assert_int_equal(set->fake->mr.length, 100);
	assert_int_equal(set->fake->mr.iova, (uintptr_t)fake_memory + 5);
	assert_int_equal(set->fake->mr.access, LOCAL | RDMAPMD_ACCESS_REMOTE_ATOMIC);
	assert_ptr_equal(mr->pd, set->pd);
	assert_ptr_equal(mr->context, set->context);
	assert_ptr_equal(mr->addr, fake_memory + 5);
	assert_int_equal(mr->length, 100);
	assert_int_equal(mr->iova, (uintptr_t)fake_memory + 5);
	assert_int_not_equal(mr->lkey, 0);
	assert_int_equal(rdmapmd_mr_dereg(mr), 0);
}

static void
test_addresses_of_the_callers_choice(void **state)
{
	struct fake_set *set = *state;
	struct rdmapmd_mr *mr;

	/* From the first byte of a page on: pages are what translates. */
	assert_int_equal(
		rdmapmd_mr_reg(set->pd, fake_memory + 5, 100, RDMAPMD_ACCESS_ZERO_BASED, &mr),
		-EINVAL);
	assert_int_equal(rdmapmd_mr_reg(set->pd, fake_memory, 100, RDMAPMD_ACCESS_ZERO_BASED, &mr),
			 0);
	assert_int_equal(mr->iova, 0);
	assert_int_equal(set->fake->mr.iova, 0);
	assert_int_equal(rdmapmd_mr_dereg(mr), 0);
	assert_int_equal(rdmapmd_mr_reg_iova(set->pd, fake_memory + 5, 100, 0x7005, 0, &mr), 0);
	assert_int_equal(set->fake->mr.iova, 0x7005);
	assert_int_equal(rdmapmd_mr_dereg(mr), 0);
	/* The same place in the page. */
	assert_int_equal(rdmapmd_mr_reg_iova(set->pd, fake_memory + 5, 100, 0x7006, 0, &mr),
			 -EINVAL);
	assert_int_equal(
		rdmapmd_mr_reg_iova(set->pd, fake_memory, 100, 0, RDMAPMD_ACCESS_ZERO_BASED, &mr),
		-EINVAL);
	/* It may end at the highest address, not behind. */
	assert_int_equal(
		rdmapmd_mr_reg_iova(set->pd, fake_memory, PAGE, UINT64_MAX - PAGE + 1, 0, &mr), 0);
	assert_int_equal(rdmapmd_mr_dereg(mr), 0);
	assert_int_equal(
		rdmapmd_mr_reg_iova(set->pd, fake_memory, PAGE + 1, UINT64_MAX - PAGE + 1, 0, &mr),
		-EINVAL);
}

static void
test_every_combination_of_access_flags(void **state)
{
	struct fake_set *set = *state;
	struct rdmapmd_mr *mr;
	unsigned int access;

	for (access = 0; access < 256; access++) {
		const bool known = (access & ~0x3fu) == 0;
		const bool needs_local =
			access & (RDMAPMD_ACCESS_REMOTE_WRITE | RDMAPMD_ACCESS_REMOTE_ATOMIC);
		const int rc = known && (!needs_local || (access & LOCAL)) ? 0 : -EINVAL;

		assert_int_equal(rdmapmd_mr_reg(set->pd, fake_memory, 1, access, &mr), rc);
		if (rc == 0)
			assert_int_equal(rdmapmd_mr_dereg(mr), 0);
	}
	assert_int_equal(rdmapmd_mr_reg(set->pd, fake_memory, 1, 1u << 31, &mr), -EINVAL);
	assert_int_equal(rdmapmd_mr_reg(set->pd, fake_memory, 1, 1u << 30, &mr), -EINVAL);
	assert_int_equal(rdmapmd_mr_reg(set->pd, fake_memory, 1, 1u << 19, &mr), -EINVAL);
	/* Optional ones are for the driver to know, or not. */
	for (access = RDMAPMD_ACCESS_RELAXED_ORDERING; access <= 1u << 29; access <<= 1) {
		assert_int_equal(rdmapmd_mr_reg(set->pd, fake_memory, 1, access, &mr), 0);
		assert_int_equal(set->fake->mr.access, access);
		assert_int_equal(rdmapmd_mr_dereg(mr), 0);
	}
}

static void
test_ranges_that_are_refused(void **state)
{
	struct fake_set *set = *state;
	struct rdmapmd_mr *mr = NULL;
	unsigned int calls = set->fake->call_count;
	char *hole = map_pages(3);

	assert_int_equal(rdmapmd_mr_reg(set->pd, fake_memory, 0, LOCAL, &mr), -EINVAL);
	assert_int_equal(rdmapmd_mr_reg(set->pd, fake_memory, SIZE_MAX, LOCAL, &mr), -EINVAL);
	assert_int_equal(rdmapmd_mr_reg(set->pd, fake_memory, (UINT64_C(1) << 40) + 1, LOCAL, &mr),
			 -EINVAL);
	assert_int_equal(rdmapmd_mr_reg(set->pd, (void *)(UINTPTR_MAX - 10), 20, LOCAL, &mr),
			 -EINVAL);
	/* Nothing is mapped there. */
	assert_int_equal(munmap(hole + PAGE, PAGE), 0);
	assert_int_equal(rdmapmd_mr_reg(set->pd, hole, 3 * PAGE, LOCAL, &mr), -EFAULT);
	assert_int_equal(rdmapmd_mr_reg(set->pd, (void *)(UINTPTR_MAX - 10), 10, LOCAL, &mr),
			 -EFAULT);
	assert_int_equal(rdmapmd_mr_reg(set->pd, NULL, 10, LOCAL, &mr), -EFAULT);
	assert_null(mr);
	fake_assert_calls(set->fake, calls, "");
	munmap(hole, PAGE);
	munmap(hole + 2 * PAGE, PAGE);
}

/* ---- Change ---- */

static void
test_reregister(void **state)
{
	struct fake_set *set = *state;
	struct rdmapmd_pd *other;
	struct rdmapmd_mr *mr;
	uint32_t key;

	assert_int_equal(rdmapmd_pd_alloc(set->context, &other), 0);
	assert_int_equal(rdmapmd_mr_reg(set->pd, fake_memory, PAGE, LOCAL, &mr), 0);
	key = mr->lkey;
	assert_int_equal(rdmapmd_mr_rereg(mr, RDMAPMD_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
					  RDMAPMD_ACCESS_REMOTE_READ),
			 0);
	assert_int_not_equal(mr->lkey, key);
	assert_int_equal(mr->access, RDMAPMD_ACCESS_REMOTE_READ);
	assert_int_equal(set->fake->mr.length, PAGE);
	assert_int_equal(rdmapmd_mr_rereg(mr, RDMAPMD_REREG_MR_CHANGE_TRANSLATION, NULL,
					  fake_memory + PAGE, 2 * PAGE, 0),
			 0);
	assert_ptr_equal(mr->addr, fake_memory + PAGE);
	assert_int_equal(mr->iova, (uintptr_t)fake_memory + PAGE);
	assert_int_equal(mr->length, 2 * PAGE);
	assert_int_equal(mr->access, RDMAPMD_ACCESS_REMOTE_READ);
	/* The region moves from one domain to the other, and holds the new one. */
	assert_int_equal(rdmapmd_mr_rereg(mr, RDMAPMD_REREG_MR_CHANGE_PD, other, NULL, 0, 0), 0);
	assert_ptr_equal(mr->pd, other);
	assert_int_equal(rdmapmd_pd_dealloc(other), -EBUSY);
	assert_int_equal(rdmapmd_pd_dealloc(set->pd), 0);
	assert_int_equal(rdmapmd_mr_dereg(mr), 0);
	assert_int_equal(rdmapmd_pd_dealloc(other), 0);
}

static void
test_zero_based_and_back(void **state)
{
	struct fake_set *set = *state;
	struct rdmapmd_mr *mr;

	assert_int_equal(rdmapmd_mr_reg(set->pd, fake_memory, PAGE, LOCAL, &mr), 0);
	assert_int_equal(rdmapmd_mr_rereg(mr, RDMAPMD_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
					  RDMAPMD_ACCESS_ZERO_BASED),
			 0);
	assert_int_equal(mr->iova, 0);
	assert_int_equal(rdmapmd_mr_rereg(mr, RDMAPMD_REREG_MR_CHANGE_TRANSLATION, NULL,
					  fake_memory + 1, PAGE, 0),
			 -EINVAL);
	assert_int_equal(rdmapmd_mr_rereg(mr, RDMAPMD_REREG_MR_CHANGE_TRANSLATION, NULL,
					  fake_memory + PAGE, PAGE, 0),
			 0);
	assert_int_equal(mr->iova, 0);
	assert_int_equal(rdmapmd_mr_rereg(mr, RDMAPMD_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, LOCAL),
			 0);
	assert_int_equal(mr->iova, (uintptr_t)fake_memory + PAGE);
	assert_int_equal(rdmapmd_mr_dereg(mr), 0);
}

static void
test_a_reregistration_that_fails_changes_nothing(void **state)
{
	struct fake_set *set = *state;
	struct rdmapmd_mr *mr, before;
	struct rdmapmd_pd *other;

	assert_int_equal(rdmapmd_pd_alloc(set->context, &other), 0);
	assert_int_equal(rdmapmd_mr_reg(set->pd, fake_memory, PAGE, LOCAL, &mr), 0);
	before = *mr;
	assert_int_equal(rdmapmd_mr_rereg(mr, 0, NULL, NULL, 0, 0), -EINVAL);
	assert_int_equal(rdmapmd_mr_rereg(mr, 8, NULL, NULL, 0, 0), -EINVAL);
	assert_int_equal(rdmapmd_mr_rereg(mr, RDMAPMD_REREG_MR_CHANGE_PD, NULL, NULL, 0, 0),
			 -EINVAL);
	assert_int_equal(
		rdmapmd_mr_rereg(mr, RDMAPMD_REREG_MR_CHANGE_TRANSLATION, NULL, fake_memory, 0, 0),
		-EINVAL);
	assert_int_equal(rdmapmd_mr_rereg(mr, RDMAPMD_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
					  RDMAPMD_ACCESS_REMOTE_WRITE),
			 -EINVAL);
	assert_int_equal(fake_count(set->fake, "mr_rereg"), 0);
	set->fake->fail = "mr_rereg";
	set->fake->error = -ENOSPC;
	assert_int_equal(rdmapmd_mr_rereg(mr, 7, other, fake_memory + PAGE, PAGE, 0), -ENOSPC);
	assert_memory_equal(mr, &before, sizeof(before));
	assert_int_equal(rdmapmd_pd_dealloc(other), 0);
	assert_int_equal(rdmapmd_pd_dealloc(set->pd), -EBUSY);
	assert_int_equal(rdmapmd_mr_dereg(mr), 0);
}

/* ---- Forked children ---- */

/* Which of the pages a child has: bit n for page n. */
static unsigned int
pages_of_child(char *pages, unsigned int count)
{
	unsigned char residency;
	unsigned int i, seen = 0;
	int status;
	pid_t child = fork();

	if (child == 0) {
		for (i = 0; i < count; i++)
			seen |= (mincore(pages + i * PAGE, PAGE, &residency) == 0) << i;
		_exit((int)seen);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return (unsigned int)WEXITSTATUS(status);
}

static void
test_children_do_not_get_registered_pages(void **state)
{
	struct fake_set *set = *state;
	char *pages = map_pages(6);
	struct rdmapmd_mr *one, *two, *three;

	assert_int_equal(pages_of_child(pages, 6), 0x3f);
	/* Whole pages of whatever is touched: 1 and 2. */
	assert_int_equal(rdmapmd_mr_reg(set->pd, pages + 2 * PAGE - 1, 2, LOCAL, &one), 0);
	assert_int_equal(pages_of_child(pages, 6), 0x39);
	/* Regions that overlap: 2 to 4, and 1 to 5. */
	assert_int_equal(rdmapmd_mr_reg(set->pd, pages + 2 * PAGE, 3 * PAGE, LOCAL, &two), 0);
	assert_int_equal(rdmapmd_mr_reg(set->pd, pages + PAGE, 5 * PAGE, LOCAL, &three), 0);
	assert_int_equal(pages_of_child(pages, 6), 0x01);
	assert_int_equal(rdmapmd_mr_dereg(three), 0);
	assert_int_equal(pages_of_child(pages, 6), 0x21);
	assert_int_equal(rdmapmd_mr_dereg(one), 0);
	assert_int_equal(pages_of_child(pages, 6), 0x23);
	assert_int_equal(rdmapmd_mr_dereg(two), 0);
	assert_int_equal(pages_of_child(pages, 6), 0x3f);
	munmap(pages, 6 * PAGE);
}

static void
test_pages_move_with_a_reregistration(void **state)
{
	struct fake_set *set = *state;
	char *pages = map_pages(4);
	struct rdmapmd_mr *mr;

	assert_int_equal(rdmapmd_mr_reg(set->pd, pages, 2 * PAGE, LOCAL, &mr), 0);
	assert_int_equal(pages_of_child(pages, 4), 0x0c);
	assert_int_equal(rdmapmd_mr_rereg(mr, RDMAPMD_REREG_MR_CHANGE_TRANSLATION, NULL,
					  pages + PAGE, 2 * PAGE, 0),
			 0);
	assert_int_equal(pages_of_child(pages, 4), 0x09);
	set->fake->fail = "mr_rereg";
	set->fake->error = -EIO;
	assert_int_equal(rdmapmd_mr_rereg(mr, RDMAPMD_REREG_MR_CHANGE_TRANSLATION, NULL,
					  pages + 3 * PAGE, PAGE, 0),
			 -EIO);
	assert_int_equal(pages_of_child(pages, 4), 0x09);
	assert_int_equal(rdmapmd_mr_dereg(mr), 0);
	assert_int_equal(pages_of_child(pages, 4), 0x0f);
	munmap(pages, 4 * PAGE);
}

static void
test_a_registration_that_fails_gives_pages_back(void **state)
{
	struct fake_set *set = *state;
	char *pages = map_pages(2);
	struct rdmapmd_mr *mr;

	set->fake->fail = "mr_reg";
	set->fake->error = -ENOSPC;
	assert_int_equal(rdmapmd_mr_reg(set->pd, pages, PAGE, LOCAL, &mr), -ENOSPC);
	assert_int_equal(pages_of_child(pages, 2), 0x03);
	/* Or a hole behind the first page. */
	set->fake->fail = NULL;
	assert_int_equal(munmap(pages + PAGE, PAGE), 0);
	assert_int_equal(rdmapmd_mr_reg(set->pd, pages, 2 * PAGE, LOCAL, &mr), -EFAULT);
	assert_int_equal(pages_of_child(pages, 1), 0x01);
	munmap(pages, PAGE);
}

static void
test_closing_gives_pages_back(void **state)
{
	struct fake_set *set = *state;
	char *pages = map_pages(2);
	struct rdmapmd_context *context;
	struct rdmapmd_pd *pd;
	struct rdmapmd_mr *mr;

	assert_int_equal(rdmapmd_device_open(set->fake->device, &context), 0);
	assert_int_equal(rdmapmd_pd_alloc(context, &pd), 0);
	assert_int_equal(rdmapmd_mr_reg(pd, pages, PAGE, LOCAL, &mr), 0);
	assert_int_equal(pages_of_child(pages, 2), 0x02);
	assert_int_equal(rdmapmd_context_close(context), 0);
	assert_int_equal(pages_of_child(pages, 2), 0x03);
	munmap(pages, 2 * PAGE);
}

/* Many regions at random places against a count per page. */
static void
test_overlapping_regions_at_random(void **state)
{
	enum { PAGES = 8, REGIONS = 24 };
	const unsigned int rounds = full_run() ? 4000 : 200;
	struct rdmapmd_mr *mrs[REGIONS] = { NULL };
	unsigned int first[REGIONS], count[REGIONS], kept[PAGES] = { 0 };
	unsigned int round, i, page, expected;
	struct fake_set *set = *state;
	char *pages = map_pages(PAGES);

	srand(7);
	for (round = 0; round < rounds; round++) {
		const int step = (i = (unsigned int)rand() % REGIONS, mrs[i] == NULL ? 1 : -1);

		if (step > 0) {
			first[i] = (unsigned int)rand() % PAGES;
			count[i] = 1 + (unsigned int)rand() % (PAGES - first[i]);
			assert_int_equal(rdmapmd_mr_reg(set->pd, pages + first[i] * PAGE,
							count[i] * PAGE, LOCAL, &mrs[i]),
					 0);
		} else {
			assert_int_equal(rdmapmd_mr_dereg(mrs[i]), 0);
			mrs[i] = NULL;
		}
		for (page = first[i]; page < first[i] + count[i]; page++)
			kept[page] += (unsigned int)step;
		for (page = 0, expected = 0; page < PAGES; page++)
			expected |= (unsigned int)(kept[page] == 0) << page;
		assert_int_equal(pages_of_child(pages, PAGES), expected);
	}
	for (i = 0; i < REGIONS; i++)
		if (mrs[i] != NULL)
			assert_int_equal(rdmapmd_mr_dereg(mrs[i]), 0);
	assert_int_equal(pages_of_child(pages, PAGES), (1u << PAGES) - 1);
	munmap(pages, PAGES * PAGE);
}

/* What the process itself may not do with it, the device may not either. */
static void
test_memory_that_the_process_may_not_use(void **state)
{
	struct fake_set *set = *state;
	char *pages = map_pages(3);
	struct rdmapmd_mr *mr;

	assert_int_equal(mprotect(pages + PAGE, PAGE, PROT_READ), 0);
	assert_int_equal(rdmapmd_mr_reg(set->pd, pages, 3 * PAGE, LOCAL, &mr), -EFAULT);
	assert_int_equal(pages_of_child(pages, 3), 0x7);
	/* Reading is good enough for who only reads; that does not change later. */
	assert_int_equal(rdmapmd_mr_reg(set->pd, pages, 3 * PAGE, RDMAPMD_ACCESS_REMOTE_READ, &mr),
			 0);
	assert_int_equal(rdmapmd_mr_rereg(mr, RDMAPMD_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, LOCAL),
			 -EFAULT);
	assert_int_equal(mr->access, RDMAPMD_ACCESS_REMOTE_READ);
	assert_int_equal(pages_of_child(pages, 3), 0);
	assert_int_equal(rdmapmd_mr_dereg(mr), 0);
	assert_int_equal(mprotect(pages + PAGE, PAGE, PROT_NONE), 0);
	assert_int_equal(rdmapmd_mr_reg(set->pd, pages, 3 * PAGE, 0, &mr), -EFAULT);
	assert_int_equal(pages_of_child(pages, 3), 0x7);
	munmap(pages, 3 * PAGE);
}

static void
test_memory_of_eal_stays_with_children(void **state)
{
	struct fake_set *set = *state;
	char *memory = rte_malloc(NULL, 2 * PAGE, PAGE);
	struct rdmapmd_mr *mr;

	assert_non_null(memory);
	memset(memory, 1, 2 * PAGE);
	assert_int_equal(rdmapmd_mr_reg(set->pd, memory, 2 * PAGE, LOCAL, &mr), 0);
	assert_int_equal(pages_of_child(memory, 2), 0x03);
	assert_int_equal(rdmapmd_mr_dereg(mr), 0);
	rte_free(memory);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, fake_teardown)

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(test_register),
		TEST(test_addresses_of_the_callers_choice),
		TEST(test_every_combination_of_access_flags),
		TEST(test_ranges_that_are_refused),
		TEST(test_reregister),
		TEST(test_zero_based_and_back),
		TEST(test_a_reregistration_that_fails_changes_nothing),
		TEST(test_children_do_not_get_registered_pages),
		TEST(test_pages_move_with_a_reregistration),
		TEST(test_a_registration_that_fails_gives_pages_back),
		TEST(test_closing_gives_pages_back),
		TEST(test_overlapping_regions_at_random),
		TEST(test_memory_that_the_process_may_not_use),
		TEST(test_memory_of_eal_stays_with_children),
	};

	(void)argc;
	if (fake_eal(argv[0]) != 0)
		return 1;
	return cmocka_run_group_tests_name("rdma_mr", tests, NULL, NULL);
}
