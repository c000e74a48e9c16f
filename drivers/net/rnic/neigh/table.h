/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Who has which MAC, and when to ask: no device, no clock, no lock. Time comes in; what is to be sent goes out.
 *
 *	state     on the way there                         a look-up has   and then
 *	FREE      nobody has looked for it, or it went     asks            ASKED
 *	ASKED     asked, 3 times, a second apart           -EINPROGRESS    KNOWN by an answer, or FAILED
 *	KNOWN     somebody has told its MAC                the MAC         CHECKED by a look-up a minute after the last answer
 *	CHECKED   KNOWN, and asked once more, it alone     the MAC         KNOWN by an answer, or FREE
 *	FAILED    no answer came                           -EHOSTUNREACH   ASKED by a look-up a second later
 *
 * An address in one VLAN is another neighbour than the same one in another. Only look-ups make entries. What others say changes one that is there, or nothing.
 */
#ifndef RNIC_NEIGH_TABLE_H
#define RNIC_NEIGH_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#define RNIC_NEIGH_ENTRIES   1024u
#define RNIC_NEIGH_TRIES     3
#define RNIC_NEIGH_TRY_US    UINT64_C(1000000)
#define RNIC_NEIGH_FAILED_US UINT64_C(1000000)
#define RNIC_NEIGH_KNOWN_US  UINT64_C(60000000)

struct rnic_neigh_message;
struct rnic_neigh_table;

/* A request that is to be sent now. */
struct rnic_neigh_ask {
	uint8_t target[16];
	uint8_t own[16]; /* who asks */
	uint8_t mac[6];
	uint16_t vlan; /* that it is sent into; 0: none */
	bool alone;    /* only that MAC is asked */
};

/* Who must learn of a change. */
enum rnic_neigh_news {
	RNIC_NEIGH_WAITERS = 1, /* an entry is no longer ASKED */
	RNIC_NEIGH_EVENT = 2,	/* ... of which an event is to tell */
};

/* NULL: no memory. */
struct rnic_neigh_table *rnic_neigh_table_new(void);
void rnic_neigh_table_free(struct rnic_neigh_table *table);
/*
 * The MAC of an address in a VLAN, 0: in none. -EINPROGRESS: asked; -EHOSTUNREACH: nobody answered; -ENOSPC: all entries are ASKED. *asks: the request
 * in `ask`, which `own` sends, is to be sent. tell: an event tells when it is no longer ASKED.
 */
int rnic_neigh_table_find(struct rnic_neigh_table *table, const uint8_t gid[16], uint16_t vlan,
			  const uint8_t own[16], uint64_t now_us, bool tell, uint8_t mac[6],
			  struct rnic_neigh_ask *ask, bool *asks);
/* Somebody has said something. enum rnic_neigh_news. */
unsigned int rnic_neigh_table_hear(struct rnic_neigh_table *table,
				   const struct rnic_neigh_message *message, uint64_t now_us);
/* The next request that is due, if any; entries that have waited for too long are done with. Call it until it is false. */
bool rnic_neigh_table_due(struct rnic_neigh_table *table, uint64_t now_us,
			  struct rnic_neigh_ask *ask, unsigned int *news);
/* No neighbour can be reached: what is asked for fails. */
unsigned int rnic_neigh_table_fail(struct rnic_neigh_table *table, uint64_t now_us);
/* Is anybody asked? */
bool rnic_neigh_table_busy(const struct rnic_neigh_table *table);
/* Entries that are not FREE. */
uint32_t rnic_neigh_table_count(const struct rnic_neigh_table *table);

#endif
