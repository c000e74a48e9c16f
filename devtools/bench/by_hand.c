/* SPDX-License-Identifier: BSD-3-Clause */

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <unistd.h>

#include "by_hand.h"
#include "softrnic/softrnic.h"

int __wrap_softrnic_host_get(int core, struct softrnic_poller **poller);
void __wrap_softrnic_host_put(void);

static struct {
	struct softrnic_poller *poller;
	unsigned int users;
	pthread_t thread;
	atomic_bool run;
} host;

static void *
host_loop(void *unused)
{
	(void)unused;
	while (atomic_load_explicit(&host.run, memory_order_acquire))
		if (softrnic_poll(host.poller) == 0)
			usleep(10);
	return NULL;
}

int
by_hand_end(void)
{
	if (host.poller == NULL || atomic_load(&host.run))
		return 0;
	atomic_store(&host.run, true);
	return -pthread_create(&host.thread, NULL, host_loop, NULL);
}

void
by_hand_begin(void)
{
	if (atomic_exchange(&host.run, false))
		pthread_join(host.thread, NULL);
}

int
__wrap_softrnic_host_get(int core, struct softrnic_poller **poller)
{
	int ret = 0;

	(void)core;
	if (host.users == 0) {
		ret = softrnic_poller_create(&host.poller);
		if (ret == 0)
			ret = by_hand_end();
	}
	if (ret == 0)
		host.users++;
	*poller = host.poller;
	return ret;
}

void
__wrap_softrnic_host_put(void)
{
	if (--host.users > 0)
		return;
	by_hand_begin();
	softrnic_poller_destroy(host.poller);
	host.poller = NULL;
}

void
by_hand_poll(void)
{
	if (host.poller != NULL)
		softrnic_poll(host.poller);
}

void
by_hand_settle(void)
{
	if (host.poller == NULL)
		return;
	for (int i = 0; i < 10000 && softrnic_poll(host.poller) > 0; i++)
		;
}
