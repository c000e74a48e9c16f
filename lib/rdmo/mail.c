/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>

/* Loads with acquire and stores with release, instead of fences, which ThreadSanitizer does not see. */
#ifndef RTE_USE_C11_MEM_MODEL
#define RTE_USE_C11_MEM_MODEL
#endif
#include <rte_malloc.h>
#include <rte_ring.h>

#include "log.h"
#include "mail.h"

int
rdmo_mail_open(struct rte_ring **mail, uint32_t max)
{
	/* A ring has one place less than a power of two. */
	const unsigned int places = rte_align32pow2(max + 1);
	const ssize_t bytes = rte_ring_get_memsize(places);
	struct rte_ring *ring;
	int rc;

	if (bytes < 0)
		return (int)bytes;
	ring = rte_zmalloc("rdmo", (size_t)bytes, RTE_CACHE_LINE_SIZE);
	if (ring == NULL)
		return -ENOMEM;
	rc = rte_ring_init(ring, "rdmo", places, RING_F_SC_DEQ);
	if (rc != 0) {
		rte_free(ring);
		return rc;
	}
	*mail = ring;
	return 0;
}

void
rdmo_mail_close(struct rte_ring *mail)
{
	rte_free(mail);
}

void
rdmo_mail_put(struct rte_ring *mail, void *object)
{
	if (rte_ring_mp_enqueue(mail, object) != 0)
		RDMO_LOG(ERR, "a connection is lost: there is no room for it in a lane's mail");
}

uint32_t
rdmo_mail_take(struct rte_ring *mail, void **objects, uint32_t max)
{
	return rte_ring_sc_dequeue_burst(mail, objects, max, NULL);
}
