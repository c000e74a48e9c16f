/* SPDX-License-Identifier: BSD-3-Clause */

/* Event queues. */
#ifndef RNIC_CORE_EQ_H
#define RNIC_CORE_EQ_H

#include <stdbool.h>
#include <stdint.h>

struct rnic_dev;
struct rnic_eq;
struct rnic_eqe;

/* What its entries mean: called in the walk. NULL: nobody walks it. */
typedef void rnic_eq_handler(struct rnic_dev *dev, const struct rnic_eqe *eqe);
int rnic_eq_create(struct rnic_dev *dev, unsigned int log_size, uint64_t events,
		   unsigned int vector, rnic_eq_handler *handler, struct rnic_eq **eq);
/* As rnic_eq_create(); that the device has refused it is said to the caller alone. */
int rnic_eq_try(struct rnic_dev *dev, unsigned int log_size, uint64_t events, unsigned int vector,
		rnic_eq_handler *handler, bool *refused, struct rnic_eq **eq);
void rnic_eq_destroy(struct rnic_dev *dev, struct rnic_eq *eq);
uint32_t rnic_eq_number(const struct rnic_eq *eq);
/* Handle what is there, at most a ring of it, and arm. One caller at a time. Returns the number of events. */
unsigned int rnic_eq_poll(struct rnic_dev *dev, struct rnic_eq *eq);
/*
 * The requests for pages among what waits there, ahead of all else: noted, for rnic_pages_answer(). The events stay, and are
 * handled by the walk, these requests but once. By the thread that walks it.
 */
void rnic_eq_foresee(struct rnic_dev *dev, struct rnic_eq *eq);
/*
 * Of an EQ that CQs alone have, from a data path: how many completion events there are, at most a ring of them whatever the
 * device writes meanwhile; the rest, and all others, are passed over. Armed afterwards.
 */
unsigned int rnic_eq_take_completions(struct rnic_dev *dev, struct rnic_eq *eq);
void rnic_eq_arm(struct rnic_dev *dev, struct rnic_eq *eq);
/*
 * Each queue is under suspicion for itself, since something said that it has an event to tell and it told of none: others may
 * be as lively as they like. Any thread; one that was suspected before stays so since then.
 */
void rnic_eq_suspect(struct rnic_eq *eq);
void rnic_eq_trust(struct rnic_eq *eq);
/* From the control thread, now and then, of one that CQs alone have: does one of them wait for its event? */
void rnic_eq_owes(struct rnic_eq *eq, bool owes);
/* Has it been under suspicion for silence_ms (base/tunables.h)? Then the device is asked. */
bool rnic_eq_silent(const struct rnic_dev *dev, const struct rnic_eq *eq);
/* It takes no more events, as the device says: it ran over, or could not be written to. */
#define RNIC_DEAF_LOOK_MS 10 /* between two looks at queues whose events no longer come */
bool rnic_eq_failed(struct rnic_dev *dev, uint32_t eqn);
/*
 * In the place of one that failed another one, armed. By the thread that walks it. CQs that name the old one raise no event any
 * more. -ENOSPC: too often.
 */
int rnic_eq_remake(struct rnic_dev *dev, struct rnic_eq *eq);

#endif
