/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * kill -9 of an RDMA peer, or of softrnicd, at any moment: what was posted comes back with errors in time, everything can be
 * closed, and made again with who comes in the place of the dead. rdma_survivor SOCKET SOCKET_OF_PEER [cable|dies]; instead of a
 * socket it may be a port's devargs.
 *
 * Whoever runs it starts softrnicd: it answers each line "softrnicd?" with the number of its process, a new one if the old
 * one is dead. With `cable` there are two of them, with a cable between them: "far?" is the same of the peer's one, and the answer
 * to "cut?" comes when the cable has gone; behind that "softrnicd?" is answered when both are new, and the cable, too; and to
 * "round?", behind each round, when what is left of it has been looked at. With `dies` it is the one to be killed, as soon as it has
 * said "kill!" and the number of its peer's process.
 */

#include <dirent.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_bus.h>
#include <rte_cycles.h>
#include <rte_dev.h>
#include <rte_malloc.h>

#include "port.h"
#include "rdma_end.h"

#define DEVICE	   "net_rnic0"
#define TIMEOUT	   14 /* 4.096 us << 14: 67 ms */
#define RETRIES	   7
#define GIVE_UP_S  1.0	/* a machine with other things to do */
#define STALL_S	   10.0 /* and for how long that may keep from running whoever is waited for */
#define PATIENCE_S 60
#define MOMENTS	   20000 /* us in which it dies */

static const char *sockets[2];
static bool over_cable, asked; /* asked: of somebody who answers */
static struct rdma_end own;
static struct rdma_peer peer;
static uint64_t random_state = 7;
static double took[200]; /* from its end to that of all that was under way, of each round */
static unsigned int times;

static unsigned int
rounds(void)
{
	if (over_cable)
		return default_run() ? 1 : sanitized_run() && !full_run() ? 3 : 20;
	return full_run() ? 200 : 5;
}

static double
seconds_since(uint64_t start)
{
	return (double)(rte_get_timer_cycles() - start) / (double)rte_get_timer_hz();
}

static int
compare(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/*
 * How long each may take from such an event to the last completion: the timeouts of the one that is repeated, if any, and what a
 * machine needs that has other things to do. Half of the rounds have no more than that; in any of them, so in the only one, the
 * machine may have stood still.
 */
static void
check_in_time(const char *what, double timeouts)
{
	const double factor = e2e_sanitized() ? 5 : 1;

	qsort(took, times, sizeof(took[0]), compare);
	printf("# %u %s: errors and flush within %.0f ms, at most %.0f ms (timeouts: %.0f ms)\n",
	       times, what, took[times / 2] * 1000, took[times - 1] * 1000, timeouts * 1000);
	if (times > 1)
		assert_true(took[times / 2] < (timeouts + GIVE_UP_S) * factor);
	assert_true(took[times - 1] < (timeouts + STALL_S) * factor);
}

static unsigned int
descriptors(void)
{
	DIR *folder = opendir("/proc/self/fd");
	unsigned int count = 0;

	assert_non_null(folder);
	while (readdir(folder) != NULL)
		count++;
	closedir(folder);
	return count;
}

/* ---- Both ends ---- */

static void
devargs_of(unsigned int end, char *devargs, size_t room)
{
	snprintf(devargs, room, "%s%s", strchr(sockets[end], '=') == NULL ? "socket=" : "",
		 sockets[end]);
}

static void
begin(void)
{
	static const struct rdma_conf impatient = { .timeout = TIMEOUT, .retry_cnt = RETRIES };
	char devargs[256];

	devargs_of(1, devargs, sizeof(devargs));
	rdma_peer_start(&peer, devargs);
	rdma_end_open(&own, DEVICE, &impatient);
	rdma_meet(&own, &peer, &impatient, &impatient);
}

/* One message each way: it works. */
static void
check_works(uint64_t seed)
{
	const uint32_t length = 10000;
	const struct rdma_answer there =
		rdma_peer_do(&peer, &(struct rdma_order){ .kind = RDMA_ORDER_HELLO });
	struct rdma_order order = {
		.kind = RDMA_ORDER_PREPARE, .seed = seed + 1, .length = length, .pieces = 1
	};
	struct rdmapmd_sge sge;
	struct rdmapmd_send_wr wr = { .wr_id = 1,
				      .opcode = RDMAPMD_WR_RDMA_WRITE,
				      .send_flags = RDMAPMD_SEND_SIGNALED,
				      .sg_list = &sge,
				      .num_sge = 1 };

	rdma_peer_do(&peer, &order);
	rdma_end_put(&own, RDMA_FROM, length, 1, seed);
	rdma_end_pieces(&own, RDMA_FROM, length, 1, &sge);
	wr.wr.rdma.remote_addr = there.address + RDMA_TO;
	wr.wr.rdma.rkey = there.keys[RDMA_REGION_ALL];
	rdma_post(own.qp, &wr);
	rdma_expect(own.cq, 1, RDMAPMD_WC_RDMA_WRITE);
	order.kind = RDMA_ORDER_HAS;
	order.seed = seed;
	assert_true(rdma_peer_do(&peer, &order).yes);
	rdma_end_blank(&own, RDMA_TO, length, 1);
	rdma_end_pieces(&own, RDMA_TO, length, 1, &sge);
	wr.opcode = RDMAPMD_WR_RDMA_READ;
	wr.wr.rdma.remote_addr = there.address + RDMA_FROM;
	rdma_post(own.qp, &wr);
	rdma_expect(own.cq, 1, RDMAPMD_WC_RDMA_READ);
	assert_true(rdma_end_has(&own, RDMA_TO, length, 1, seed + 1));
}

/* ---- Under way ---- */

struct traffic {
	struct rdmapmd_send_wr wr;
	struct rdmapmd_sge sge;
	uint64_t posted, done; /* wr_ids count from 0 */
};

/* What is under way when it happens: data there, data from there, atomics, sends that nobody receives. */
static void
traffic_begin(struct traffic *traffic, unsigned int round)
{
	static const enum rdmapmd_wr_opcode opcodes[] = {
		RDMAPMD_WR_RDMA_WRITE,
		RDMAPMD_WR_RDMA_READ,
		RDMAPMD_WR_ATOMIC_FETCH_AND_ADD,
		RDMAPMD_WR_SEND,
	};
	const struct rdma_answer there =
		rdma_peer_do(&peer, &(struct rdma_order){ .kind = RDMA_ORDER_HELLO });
	const enum rdmapmd_wr_opcode opcode = opcodes[round % RTE_DIM(opcodes)];
	const bool atomic = opcode == RDMAPMD_WR_ATOMIC_FETCH_AND_ADD;

	*traffic = (struct traffic){
		.wr = { .opcode = opcode, .send_flags = RDMAPMD_SEND_SIGNALED, .num_sge = 1 }
	};
	traffic->wr.sg_list = &traffic->sge;
	rdma_end_pieces(&own, RDMA_FROM, atomic ? 8 : 65536, 1, &traffic->sge);
	if (atomic) {
		traffic->wr.wr.atomic.remote_addr = there.address;
		traffic->wr.wr.atomic.rkey = there.keys[RDMA_REGION_ALL];
	} else {
		traffic->wr.wr.rdma.remote_addr = there.address + RDMA_TO;
		traffic->wr.wr.rdma.rkey = there.keys[RDMA_REGION_ALL];
	}
}

static void
traffic_post(struct traffic *traffic)
{
	for (traffic->wr.wr_id = traffic->posted; rdmapmd_post_send(own.qp, &traffic->wr, 1) == 1;
	     traffic->wr.wr_id = traffic->posted)
		traffic->posted++;
}

/* Keep the queue full for a while. */
static void
traffic_run(struct traffic *traffic, uint64_t us)
{
	const uint64_t end = rte_get_timer_cycles() + us * rte_get_timer_hz() / 1000000;
	struct rdmapmd_wc wc;

	do {
		traffic_post(traffic);
		while (rdmapmd_poll_cq(own.cq, &wc, 1) == 1) {
			assert_int_equal(wc.status, RDMAPMD_WC_SUCCESS);
			assert_int_equal(wc.wr_id, traffic->done++);
		}
	} while (rte_get_timer_cycles() < end);
}

/*
 * Go on until it fails. All of it comes back, in order: what had been answered, one request that fails with `status`, the
 * others flushed.
 */
static void
expect_end(struct traffic *traffic, enum rdmapmd_wc_status status, uint64_t start)
{
	enum rdmapmd_wc_status expected = status;
	bool failed = false;
	struct rdmapmd_wc wc;

	while (!failed || traffic->done < traffic->posted) {
		if (!failed)
			traffic_post(traffic);
		if (rdmapmd_poll_cq(own.cq, &wc, 1) == 0) {
			assert_true(seconds_since(start) < PATIENCE_S);
			rte_delay_us_sleep(100);
			continue;
		}
		assert_int_equal(wc.wr_id, traffic->done++);
		if (wc.status == RDMAPMD_WC_SUCCESS && !failed)
			continue;
		assert_string_equal(rdmapmd_wc_status_str(wc.status),
				    rdmapmd_wc_status_str(expected));
		failed = true;
		expected = RDMAPMD_WC_WR_FLUSH_ERR;
	}
	took[times++] = seconds_since(start);
	assert_int_equal(rdmapmd_qp_state(own.qp), RDMAPMD_QPS_ERR);
	/* What is posted now comes back, too. */
	rdma_post(own.qp, &traffic->wr);
	rdma_expect_status(own.cq, traffic->wr.wr_id, RDMAPMD_WC_WR_FLUSH_ERR);
}

/* A round, to the moment at which something is killed, which is returned. */
static uint64_t
work(struct traffic *traffic, unsigned int round)
{
	begin();
	check_works(round);
	traffic_begin(traffic, round);
	traffic_run(traffic, e2e_random(&random_state) % MOMENTS);
	return rte_get_timer_cycles();
}

/* ---- Who has started it ---- */

static pid_t
question(const char *what)
{
	char line[32];

	printf("%s\n", what);
	fflush(stdout);
	assert_non_null(fgets(line, sizeof(line), stdin));
	return (pid_t)atoi(line);
}

static void
round_over(void)
{
	if (asked)
		question("round?");
}

/* ---- The peer ---- */

/* The first packet, and each time that it is repeated. */
static void
check_given_up_in_time(const char *what)
{
	check_in_time(what, (1 + RETRIES) * 4.096e-6 * (1 << TIMEOUT));
}

static void
test_the_peer_is_killed(void **unused)
{
	struct traffic traffic;
	unsigned int i, open = 0;
	uint64_t start;

	(void)unused;
	times = 0;
	for (i = 0; i < rounds(); i++) {
		start = work(&traffic, i);
		rdma_peer_kill(&peer);
		expect_end(&traffic, RDMAPMD_WC_RETRY_EXC_ERR, start);
		rdma_end_close(&own);
		if (i == 0)
			open = descriptors();
		assert_int_equal(descriptors(), open);
		round_over();
	}
	check_given_up_in_time("peers killed");
	begin();
	check_works(i);
	rdma_end_close(&own);
	rdma_peer_stop(&peer);
}

/* ---- softrnicd ---- */

static pid_t
softrnicd(void)
{
	return question("softrnicd?");
}

static void
expect_fatal(void)
{
	struct pollfd wait = { .fd = rdmapmd_async_event_fd(own.context), .events = POLLIN };
	struct rdmapmd_async_event event;

	do {
		assert_int_equal(poll(&wait, 1, 60000), 1);
		assert_int_equal(rdmapmd_async_event_get(own.context, &event), 0);
		assert_int_equal(rdmapmd_async_event_ack(own.context, &event), 0);
	} while (event.event_type != RDMAPMD_EVENT_DEVICE_FATAL);
}

static void
attach(void)
{
	char devargs[256];

	devargs_of(0, devargs, sizeof(devargs));
	assert_int_equal(rte_eal_hotplug_add("vdev", DEVICE, devargs), 0);
}

/* The process goes on: it closes its context, detaches the port, and attaches it again. */
static void
test_softrnicd_is_killed(void **unused)
{
	pid_t daemon = softrnicd();
	struct traffic traffic;
	unsigned int i, open = 0;
	uint64_t start;

	(void)unused;
	times = 0;
	for (i = 0; i < rounds(); i++) {
		start = work(&traffic, i);
		assert_int_equal(kill(daemon, SIGKILL), 0);
		expect_end(&traffic, RDMAPMD_WC_WR_FLUSH_ERR, start);
		expect_fatal();
		rdma_peer_kill(&peer);
		/* Whatever it says of a device that is not there, all is closed. */
		rdmapmd_context_close(own.context);
		rte_free(own.memory);
		assert_int_equal(rte_eal_hotplug_remove("vdev", DEVICE), 0);
		if (i == 0)
			open = descriptors();
		assert_int_equal(descriptors(), open);
		daemon = softrnicd();
		attach();
		round_over();
	}
	check_in_time("softrnicds killed", 0);
	begin();
	check_works(i);
	rdma_end_close(&own);
	rdma_peer_stop(&peer);
}

/* ---- What is between them ---- */

/* The peer's device dies, and the peer with it. */
static void
test_the_far_softrnicd_is_killed(void **unused)
{
	pid_t daemon = question("far?");
	struct traffic traffic;
	unsigned int i, open = 0;
	uint64_t start;

	(void)unused;
	times = 0;
	for (i = 0; i < rounds(); i++) {
		start = work(&traffic, i);
		assert_int_equal(kill(daemon, SIGKILL), 0);
		expect_end(&traffic, RDMAPMD_WC_RETRY_EXC_ERR, start);
		rdma_peer_kill(&peer);
		rdma_end_close(&own);
		if (i == 0)
			open = descriptors();
		assert_int_equal(descriptors(), open);
		daemon = question("far?");
		round_over();
	}
	check_given_up_in_time("far softrnicds killed");
	begin();
	check_works(i);
	rdma_end_close(&own);
	rdma_peer_stop(&peer);
}

/* Both devices go on without it; both ends can be closed. */
static void
test_the_cable_is_removed(void **unused)
{
	struct traffic traffic;
	unsigned int i, open = 0;
	uint64_t start;

	(void)unused;
	times = 0;
	for (i = 0; i < rounds(); i++) {
		work(&traffic, i);
		question("cut?");
		start = rte_get_timer_cycles();
		expect_end(&traffic, RDMAPMD_WC_RETRY_EXC_ERR, start);
		rdma_end_close(&own);
		rdma_peer_stop(&peer);
		assert_int_equal(rte_eal_hotplug_remove("vdev", DEVICE), 0);
		if (i == 0)
			open = descriptors();
		assert_int_equal(descriptors(), open);
		softrnicd();
		attach();
	}
	check_given_up_in_time("cables removed");
	begin();
	check_works(i);
	rdma_end_close(&own);
	rdma_peer_stop(&peer);
}

/* Until somebody kills it. */
static void
test_this_one_is_killed(void **unused)
{
	struct traffic traffic;

	(void)unused;
	work(&traffic, 0);
	printf("kill! %d\n", (int)peer.pid);
	fflush(stdout);
	traffic_run(&traffic, PATIENCE_S * UINT64_C(1000000));
	fail_msg("nobody has killed it");
}

int
main(int argc, char **argv)
{
	char vdev[300];
	const char *const vdevs[] = { vdev, NULL };
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_peer_is_killed),
		cmocka_unit_test(test_softrnicd_is_killed),
		cmocka_unit_test(test_the_far_softrnicd_is_killed),
		cmocka_unit_test(test_the_cable_is_removed),
	};
	const struct CMUnitTest pair[] = { tests[0], tests[1] }, embedded[] = { tests[0] };
	const struct CMUnitTest dies[] = { cmocka_unit_test(test_this_one_is_killed) };
	char devargs[256];
	int rc;

	if (argc == 4 && strcmp(argv[1], RDMA_PEER_ARGUMENT) == 0)
		return rdma_peer_main(argv);
	if (argc != 3 && argc != 4) {
		fprintf(stderr, "rdma_survivor SOCKET SOCKET_OF_PEER [cable|dies]\n");
		return 2;
	}
	sockets[0] = argv[1];
	sockets[1] = argv[2];
	over_cable = argc == 4;
	asked = over_cable && strchr(sockets[0], '=') == NULL;
	devargs_of(0, devargs, sizeof(devargs));
	snprintf(vdev, sizeof(vdev), DEVICE ",%s", devargs);
	if (e2e_init("rdma-survivor", vdevs) != 0)
		return 1;
	if (!over_cable)
		rc = cmocka_run_group_tests_name("rdma_survivor", pair, NULL, NULL);
	else if (strcmp(argv[3], "dies") == 0)
		rc = cmocka_run_group_tests_name("rdma_survivor", dies, NULL, NULL);
	else if (!asked)
		rc = cmocka_run_group_tests_name("rdma_survivor", embedded, NULL, NULL);
	else
		rc = cmocka_run_group_tests_name("rdma_survivor", tests, NULL, NULL);
	e2e_fini();
	return rc;
}
