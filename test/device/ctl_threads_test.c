/* SPDX-License-Identifier: BSD-3-Clause */

/* The device thread of a process, and several threads of the host at its door at once. */
#include <pthread.h>
#include <stdatomic.h>

#include "harness.h"

#define COMMANDERS 3
#define ROUNDS	   300

struct commander {
	pthread_t thread;
	struct hn hn; /* a copy with slots, memory and tokens of its own */
	unsigned int slot;
	unsigned int failed;
};

/* One command by this thread's slots alone: no lock of the device is taken on the way. */
static int
command(struct commander *c, uint16_t opcode, uint32_t number, uint32_t *result)
{
	uint8_t in[600] = { 0 }, out[600];
	int status;

	hn_head(in, opcode, 0);
	rnic_object_in_set((void *)in, RNIC_OBJECT_IN_NUMBER, number);
	hn_cmd_post(&c->hn, c->slot, in, sizeof(in), sizeof(out));
	hn_ring(&c->hn, 1u << c->slot);
	while ((status = hn_cmd_result(&c->hn, c->slot, out, sizeof(out))) == HN_PENDING)
		sched_yield();
	*result = rnic_object_out_get((void *)out, RNIC_OBJECT_OUT_NUMBER);
	return status;
}

static void *
commander_main(void *arg)
{
	struct commander *c = arg;
	uint32_t number;

	for (unsigned int i = 0; i < ROUNDS; i++) {
		c->slot = (c->slot + COMMANDERS) % 30;
		c->failed += command(c, RNIC_CMD_ALLOC_PD, 0, &number) != RNIC_STATUS_OK;
		c->failed += command(c, RNIC_CMD_DEALLOC_PD, number, &number) != RNIC_STATUS_OK;
		c->failed += command(c, RNIC_CMD_DEALLOC_PD, 1, &number) != RNIC_STATUS_BAD_RES;
	}
	return NULL;
}

struct mapper {
	pthread_t thread;
	struct softrnic *dev;
	atomic_bool stop;
	unsigned int failed, rounds;
};

/* Maps that come and go beside the commands. */
static void *
mapper_main(void *arg)
{
	static uint8_t memory[8192];
	struct mapper *m = arg;
	struct softrnic_stats stats;

	do {
		m->failed += softrnic_dma_map(m->dev, 0x10000, sizeof(memory), memory,
					      SOFTRNIC_DMA_READ) != 0;
		softrnic_stats_get(m->dev, &stats);
		m->failed += softrnic_dma_unmap(m->dev, 0x10000, sizeof(memory)) != 0;
		m->rounds++;
	} while (!atomic_load(&m->stop));
	return NULL;
}

static void
raised(void *arg, unsigned int vector)
{
	(void)vector;
	atomic_fetch_add((atomic_uint *)arg, 1);
}

static void
commands_maps_and_events_at_once(void **state)
{
	static struct commander commanders[COMMANDERS];
	struct mapper mapper = { 0 };
	struct softrnic_poller *poller;
	atomic_uint interrupts = 0;
	struct softrnic_stats stats;
	uint32_t bits = 0;
	struct rnic_eqe eqe;
	struct hn_eq eq;
	struct hn hn;

	(void)state;
	assert_int_equal(softrnic_host_get(-1, &poller), 0);
	hn_start(&hn, poller, NULL);
	hn_bring_up(&hn);
	assert_int_equal(softrnic_set_interrupt(hn.dev, 3, raised, &interrupts), 0);
	hn_create_eq(&hn, &eq, hn_alloc_object(&hn, RNIC_CMD_ALLOC_UAR), 12,
		     UINT64_C(1) << RNIC_EVENT_COMMAND, 3);
	hn_eq_arm(&hn, &eq);
	mapper.dev = hn.dev;
	for (unsigned int i = 0; i < COMMANDERS; i++) {
		struct commander *c = &commanders[i];

		memset(c, 0, sizeof(*c));
		c->hn = hn;
		memset(c->hn.slots, 0, sizeof(c->hn.slots));
		c->hn.used += (i + 1) * (8u << 20);
		c->slot = i;
		assert_int_equal(pthread_create(&c->thread, NULL, commander_main, c), 0);
	}
	assert_int_equal(pthread_create(&mapper.thread, NULL, mapper_main, &mapper), 0);
	for (unsigned int i = 0; i < COMMANDERS; i++) {
		pthread_join(commanders[i].thread, NULL);
		assert_int_equal(commanders[i].failed, 0);
	}
	atomic_store(&mapper.stop, true);
	pthread_join(mapper.thread, NULL);
	assert_int_equal(mapper.failed, 0);
	assert_true(mapper.rounds > 0);
	/* A command is done before its event is out: behind the poll that it ran in both are. */
	softrnic_stats_get(hn.dev, &stats);
	while (hn_eq_next(&hn, &eq, &eqe))
		bits += __builtin_popcount(rnic_be32_to_cpu(eqe.data[0]));
	assert_int_equal(bits, COMMANDERS * ROUNDS * 3);
	assert_int_equal(atomic_load(&interrupts), 1);
	softrnic_stats_get(hn.dev, &stats);
	assert_int_equal(stats.objects, 2);
	hn_stop(&hn);
	softrnic_host_put();
}

int
main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(commands_maps_and_events_at_once) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
