/* SPDX-License-Identifier: BSD-3-Clause */

/* What the process around two queue pairs does meanwhile: it sleeps on a channel, and it forks. */

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rte_cycles.h>

#include "rdma.h"

/* ---- Sleep ---- */

struct rdmapmd_cq *
rdma_wait_channel(const struct rdma_pair *pair, int ms)
{
	struct pollfd wait = { .fd = pair->channel->fd, .events = POLLIN };
	struct rdmapmd_cq *cq;

	if (poll(&wait, 1, ms) != 1)
		return NULL;
	assert_int_equal(rdmapmd_cq_event_get(pair->channel, &cq), 0);
	assert_int_equal(rdmapmd_cq_events_ack(cq, 1), 0);
	return cq;
}

struct sender {
	const struct rdma_pair *pair;
	uint32_t count;
};

/* One after the other, each at a time of its own. */
static void *
send_now_and_then(void *arg)
{
	const struct sender *sender = arg;
	const struct rdma_pair *pair = sender->pair;
	const struct rdmapmd_send_wr wr = rdma_request(pair, RDMAPMD_WR_SEND, 1, NULL);
	uint64_t random = 1;
	uint32_t i;

	for (i = 0; i < sender->count; i++) {
		rdma_post(pair->qp[0], &wr);
		rdma_expect(pair->cq[0], 1, RDMAPMD_WC_SEND);
		random = random * 6364136223846793005u + 1442695040888963407u;
		rte_delay_us_block((unsigned int)(random >> 33) % 30);
	}
	return NULL;
}

/* Poll until nothing is left, arm, poll once more, sleep: whatever comes meanwhile wakes. */
void
rdma_sleep_for_each(struct rdma_pair *pair, uint32_t count)
{
	struct sender sender = { pair, count };
	uint32_t got = 0, slept = 0, i;
	struct rdmapmd_wc wc;
	pthread_t thread;
	bool armed = false;

	for (i = 0; i < 32; i++)
		rdma_post_recv(pair->qp[1], 2, NULL, 0);
	assert_int_equal(pthread_create(&thread, NULL, send_now_and_then, &sender), 0);
	while (got < count) {
		if (rdmapmd_poll_cq(pair->cq[1], &wc, 1) == 1) {
			assert_int_equal(wc.status, RDMAPMD_WC_SUCCESS);
			rdma_post_recv(pair->qp[1], 2, NULL, 0);
			got++;
		} else if (!armed) {
			assert_int_equal(rdmapmd_req_notify_cq(pair->cq[1], false), 0);
			armed = true;
		} else {
			if (rdma_wait_channel(pair, 60000) == NULL)
				fail_msg("asleep behind message %u of %u", got, count);
			armed = false;
			slept++;
		}
	}
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_true(slept > 0);
}

/* An event of `count` completions, or it is late. */
static void
moderated_event(struct rdma_pair *pair, uint32_t count, bool late, uint16_t period_us)
{
	const struct rdmapmd_send_wr wr = rdma_request(pair, RDMAPMD_WR_NOP, 1, NULL);
	uint64_t start;
	uint32_t i;

	assert_int_equal(rdmapmd_req_notify_cq(pair->cq[0], false), 0);
	start = rte_get_timer_cycles();
	for (i = 0; i < count; i++)
		rdma_post(pair->qp[0], &wr);
	assert_ptr_equal(rdma_wait_channel(pair, 60000), pair->cq[0]);
	if (late)
		assert_true((rte_get_timer_cycles() - start) * 1000000 / rte_get_timer_hz() >=
			    period_us);
	for (i = 0; i < count; i++)
		rdma_expect(pair->cq[0], 1, RDMAPMD_WC_NOP);
}

void
rdma_moderate(struct rdma_pair *pair)
{
	const uint16_t period_us = 4000;
	unsigned int i;

	assert_int_equal(rdmapmd_cq_moderate(pair->cq[0], 8, period_us), 0);
	for (i = 0; i < 5; i++) {
		moderated_event(pair, 1, true, period_us);
		moderated_event(pair, 7, true, period_us);
		moderated_event(pair, 8, false, 0);
	}
	assert_int_equal(rdmapmd_cq_moderate(pair->cq[0], 0, 0), 0);
	moderated_event(pair, 1, false, 0);
}

/* ---- Forked children ---- */

/* A child that lives until the pipe is closed; its exit code says whether it has the page. */
static pid_t
fork_child(void *page, int pipe_fds[2])
{
	unsigned char residency;
	char byte;
	pid_t child;

	assert_int_equal(pipe(pipe_fds), 0);
	child = fork();
	if (child == 0) {
		int has = mincore(page, 4096, &residency) == 0;

		close(pipe_fds[1]);
		while (read(pipe_fds[0], &byte, 1) < 0 && errno == EINTR)
			;
		_exit(has);
	}
	assert_true(child > 0);
	return child;
}

static bool
child_has_page(pid_t child, const int pipe_fds[2])
{
	int status;

	close(pipe_fds[0]);
	close(pipe_fds[1]);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status) != 0;
}

/* Memory that is not EAL's: what the device writes after a fork is what this process, and nobody else, has. */
void
rdma_fork_between(struct rdma_pair *pair, bool in_another_process)
{
	uint8_t *page =
		mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const struct rdmapmd_sge from = rdma_sge(pair, 0, 6000);
	const struct rdmapmd_send_wr wr = rdma_request(pair, RDMAPMD_WR_SEND, 1, &from);
	struct rdmapmd_sge to = { (uintptr_t)page, 8192, 0 };
	struct rdmapmd_mr *mr;
	int fds[2], rc;
	pid_t child;

	assert_ptr_not_equal(page, MAP_FAILED);
	memset(page, RDMA_UNTOUCHED, 8192);
	rc = rdmapmd_mr_reg(pair->pd, page, 8192, RDMAPMD_ACCESS_LOCAL_WRITE, &mr);
	/* A device in another process cannot be given it. */
	assert_int_equal(rc == 0, !in_another_process);
	if (rc == 0) {
		rdma_fill(pair, 6000);
		to.lkey = mr->lkey;
		rdma_post_recv(pair->qp[1], 2, &to, 1);
		child = fork_child(page, fds);
		/* This would be where the two part. */
		page[7000] = 1;
		rdma_post(pair->qp[0], &wr);
		rdma_expect(pair->cq[0], 1, RDMAPMD_WC_SEND);
		assert_int_equal(rdma_expect(pair->cq[1], 2, RDMAPMD_WC_RECV).byte_len, 6000);
		assert_memory_equal(page, pair->memory, 6000);
		assert_int_equal(page[6000], RDMA_UNTOUCHED);
		assert_int_equal(page[7000], 1);
		assert_false(child_has_page(child, fds));
		assert_int_equal(rdmapmd_mr_dereg(mr), 0);
	}
	child = fork_child(page, fds);
	assert_true(child_has_page(child, fds));
	munmap(page, 8192);
}
