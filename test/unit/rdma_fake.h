/* SPDX-License-Identifier: BSD-3-Clause */

/* A driver for the tests of lib/rdmapmd: it records what it is asked, counts what is alive, and fails when told to. */
#ifndef RDMA_FAKE_H
#define RDMA_FAKE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <pthread.h>

#include "rdmapmd_driver.h"

#define FAKE_CALLS 4096

struct fake_qp {
	struct rdmapmd_qp qp;
	enum rdmapmd_qp_state state; /* of the device */
	uint32_t outstanding;
	uint32_t poison; /* the driver's part is really there */
};

struct fake {
	pthread_mutex_t lock;
	struct rdmapmd_device *device;
	struct rdmapmd_driver_ops ops;
	struct rdmapmd_device_attr attr;
	struct rdmapmd_port_attr port;
	struct rdmapmd_gid_entry gids[4];
	uint32_t next_number;

	/* What it was asked. */
	const char *calls[FAKE_CALLS];
	unsigned int call_count;
	int alive;	     /* contexts and objects */
	uint32_t timeout_ms; /* of the last resolve */

	/* What it is to do. */
	const char *fail;  /* this operation ... */
	int error;	   /* ... fails so ... */
	unsigned int skip; /* ... after so many times */
	bool once;	   /* ... and no second time */
	bool same_numbers;
	void (*during)(void *arg); /* called inside the operation `at` */
	void *arg;
	const char *at;

	/* What it got. */
	struct rdmapmd_mr_attr mr;
	struct rdmapmd_cq_layout cq;
	struct rdmapmd_qp_init_attr qp_init;
	struct rdmapmd_qp_sizing qp_sizing;
	struct rdmapmd_srq_sizing srq_sizing;
	struct rdmapmd_qp_attr qp_attr;
	unsigned int qp_mask;
	enum rdmapmd_qp_state qp_from, qp_to;
	uint8_t mac[6];
	uint16_t vlan_id;
	uint32_t limit;
	uint16_t count, period_us;
	struct rdmapmd_ah_attr ah;
	union rdmapmd_gid group;
};

/* Register a device of this name that offers RDMA. */
struct fake *fake_register(const char *name);
/* Its device goes; what was alive goes with it. */
void fake_remove(struct fake *fake);
/* Unregister (if that was not done) and check that nothing is alive. */
void fake_unregister(struct fake *fake);
/* Whether the calls so far, from `first`, are these, in order; separated by blanks. */
void fake_assert_calls(struct fake *fake, unsigned int first, const char *expected);
/* How often an operation was called. */
unsigned int fake_count(struct fake *fake, const char *call);

/* An open context with one of each object; destroyed with the context. */
struct fake_set {
	struct fake *fake;
	struct rdmapmd_context *context;
	struct rdmapmd_pd *pd;
	struct rdmapmd_comp_channel *channel;
	struct rdmapmd_cq *cq;
	struct rdmapmd_srq *srq;
	struct rdmapmd_td *td;
	struct rdmapmd_qp *qp; /* with the SRQ, the thread domain, and the CQ twice */
	struct rdmapmd_mr *mr;
	struct rdmapmd_qp *own; /* the test's own */
};
void fake_open(struct fake *fake, struct fake_set *set);
void fake_open_all(struct fake *fake, struct fake_set *set);
struct rdmapmd_qp_init_attr fake_qp_attr(const struct fake_set *set);
extern char fake_memory[3 * 4096];

/*
 * Setups and teardown of a test: in *state a set on "fake0", with all objects or a context alone. Whoever closes the context
 * itself says NULL in its place.
 */
#define FAKE_TEST(name) cmocka_unit_test_setup_teardown(name, fake_setup, fake_teardown)
#define FAKE_CONTEXT_TEST(name) \
	cmocka_unit_test_setup_teardown(name, fake_setup_context, fake_teardown)
int fake_setup(void **state);
int fake_setup_context(void **state);
int fake_teardown(void **state);

/* The library's messages only with RDMAPMD_TEST_LOG=1. */
void fake_quiet(void);
/* The main() of a program whose tests are one group. */
#define FAKE_MAIN(name, tests)                                               \
	int main(void)                                                       \
	{                                                                    \
		fake_quiet();                                                \
		return cmocka_run_group_tests_name(name, tests, NULL, NULL); \
	}
/* EAL without hugepages. 0, or what main() returns. */
int fake_eal(char *program);

#endif
