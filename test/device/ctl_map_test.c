/* SPDX-License-Identifier: BSD-3-Clause */

/* The table of what the host has mapped: maps that come and go in any order, and many of them. */
#include <errno.h>
#include <stdlib.h>

#include "../cpu_time.h"
#include "ctl_fixture.h"
#include "softrnic/base/device.h"
#include "softrnic/base/dma.h"
#include "softrnic/base/log.h"

#define PAGE  UINT64_C(4096)
#define RW    (SOFTRNIC_DMA_READ | SOFTRNIC_DMA_WRITE)
#define PAGES 3000u /* of the model */
#define STEPS 30000u
#define LONG  4u /* pages of a map, at most */
/* So many that to move all that follow, for each that goes, takes a hundred times as long as of few; and what it may take more. */
#define FEW  1200u
#define MANY 120000u /* a multiple */
#define MORE 20

static int
setup(void **state)
{
	/* Thousands of overlaps are not to be told. */
	rte_log_set_level((uint32_t)softrnic_logtype, RTE_LOG_CRIT);
	return ctl_setup(state);
}

/* ---- Against a model ---- */

struct page {
	uint8_t *host;	/* NULL: not mapped */
	uint32_t pages; /* of the map that begins here; 0: none does */
};

struct model {
	struct hn *hn;
	struct page pages[PAGES];
	uint32_t maps;
	uint64_t random;
};

static uint32_t
draw(struct model *model, uint32_t below)
{
	model->random =
		model->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(model->random >> 33) % below;
}

static void
model_map(struct model *model, uint32_t at, uint32_t pages)
{
	/* As often as not it goes on where the one before it ends. */
	uint8_t *host = at > 0 && model->pages[at - 1].host != NULL && draw(model, 2) == 0
				? model->pages[at - 1].host + PAGE
				: (uint8_t *)(uintptr_t)((1 + draw(model, 1u << 20)) * PAGE);
	bool overlaps = false;
	int rc;

	for (uint32_t i = 0; i < pages; i++)
		overlaps = overlaps || model->pages[at + i].host != NULL;
	rc = softrnic_dma_map(model->hn->dev, at * PAGE, pages * PAGE, host, RW);
	assert_int_equal(rc, overlaps ? -EEXIST : 0);
	if (overlaps)
		return;
	model->pages[at].pages = pages;
	for (uint32_t i = 0; i < pages; i++)
		model->pages[at + i].host = host + i * PAGE;
	model->maps++;
}

static void
model_unmap(struct model *model, uint32_t at, uint32_t pages)
{
	bool exact = pages > 0 && model->pages[at].pages == pages;

	assert_int_equal(softrnic_dma_unmap(model->hn->dev, at * PAGE, pages * PAGE),
			 exact ? 0 : -ENOENT);
	if (!exact)
		return;
	model->pages[at].pages = 0;
	for (uint32_t i = 0; i < pages; i++)
		model->pages[at + i].host = NULL;
	model->maps--;
}

static void
model_look(struct model *model, uint32_t at, uint32_t pages)
{
	const uint8_t *expected = model->pages[at].host;

	for (uint32_t i = 1; i < pages && expected != NULL; i++) {
		if (model->pages[at + i].host != expected + i * PAGE)
			expected = NULL;
	}
	assert_ptr_equal(softrnic_dma_ptr(model->hn->dev, at * PAGE + 8, pages * PAGE - 16, RW),
			 expected == NULL ? NULL : expected + 8);
}

static void
maps_that_come_and_go(void **state)
{
	struct model *model = calloc(1, sizeof(*model));

	assert_non_null(model);
	model->hn = *state;
	for (uint32_t step = 0; step < STEPS; step++) {
		/* Many come, then most of them go, and so on. */
		bool fills = step / (STEPS / 6) % 2 == 0;
		uint32_t at = draw(model, PAGES - LONG), pages = 1 + draw(model, LONG);

		if (draw(model, 8) < (fills ? 7 : 1)) {
			model_map(model, at, pages);
		} else {
			while (at < PAGES - LONG && model->pages[at].pages == 0)
				at++;
			model_unmap(model, at,
				    draw(model, 8) == 0 ? pages : model->pages[at].pages);
		}
		model_look(model, at, 1 + draw(model, LONG));
		/* And the harness's own. */
		assert_int_equal(softrnic_dma_count(model->hn->dev), model->maps + 1);
	}
	for (uint32_t at = 0; at < PAGES; at++) {
		if (model->pages[at].pages != 0)
			model_unmap(model, at, model->pages[at].pages);
	}
	assert_int_equal(softrnic_dma_count(model->hn->dev), 1);
	assert_non_null(hn_va(model->hn, model->hn->iova));
	free(model);
}

/* ---- Many ---- */

static uint32_t
rising(uint32_t i, uint32_t count)
{
	(void)count;
	return i;
}

static uint32_t
falling(uint32_t i, uint32_t count)
{
	return count - 1 - i;
}

/* Each once, as the factor has no divisor in common with FEW or MANY. */
static uint32_t
mixed(uint32_t i, uint32_t count)
{
	return (uint32_t)((uint64_t)i * 40507 % count);
}

/* What the processor takes for MANY maps that come and go, so many at a time. */
static double
seconds_of(struct hn *hn, uint32_t (*order)(uint32_t i, uint32_t count), uint32_t count)
{
	const double start = cpu_seconds();

	for (uint32_t round = 0; round < MANY / count; round++) {
		for (uint32_t i = 0; i < count; i++)
			assert_int_equal(softrnic_dma_map(hn->dev, order(i, count) * 2 * PAGE, PAGE,
							  hn->memory, RW),
					 0);
		for (uint32_t i = 0; i < count; i++)
			assert_int_equal(
				softrnic_dma_unmap(hn->dev, order(i, count) * 2 * PAGE, PAGE), 0);
	}
	return cpu_seconds() - start;
}

/* A hundred times as many at a time: a few more steps to each, and not a hundred times as many. */
static void
many_maps_cost_no_more_each_than_few(void **state)
{
	static uint32_t (*const orders[])(uint32_t, uint32_t) = { rising, falling, mixed };
	double few, many;

	for (unsigned int order = 0; order < 3; order++) {
		few = seconds_of(*state, orders[order], FEW);
		many = seconds_of(*state, orders[order], MANY);
		print_message("# %u maps: %.3f s, %u at a time: %.3f s\n", MANY, many, FEW, few);
		assert_true(many < MORE * few);
	}
}

int
main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, ctl_teardown)
	const struct CMUnitTest tests[] = {
		T(maps_that_come_and_go),
		T(many_maps_cost_no_more_each_than_few),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
