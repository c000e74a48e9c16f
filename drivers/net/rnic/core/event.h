/* SPDX-License-Identifier: BSD-3-Clause */

/* What an asynchronous event means, and who beside the driver's own rooms is told of it. */
#ifndef RNIC_CORE_EVENT_H
#define RNIC_CORE_EVENT_H

#include <stdbool.h>
#include <stdint.h>

struct rnic_dev;
struct rnic_eqe;

/*
 * A listener to all events of a device: called by the control thread in its walk, without a lock; no command may be executed
 * there. Returns whether the queue that the event is about is the listener's own. NULL: nobody listens from now on. Filled
 * before the control thread starts and emptied after it has ended.
 */
void rnic_on_event(struct rnic_dev *dev, bool (*fn)(void *arg, const struct rnic_eqe *eqe),
		   void *arg);
/*
 * The port has changed, as an event has told: called by the control thread after its walk, without a lock; commands may be
 * executed there. NULL: nobody is told from now on; a call that has begun is waited for by rnic_dev_close() alone.
 */
void rnic_on_port_change(struct rnic_dev *dev, void (*fn)(void *arg), void *arg);

/* A bit for each event of the card's own, of modules and temperature, that it can raise: they are said in the log. */
uint64_t rnic_event_of_card(const struct rnic_dev *dev);
/* Of any event queue: by the thread that walks it. */
void rnic_event_handle(struct rnic_dev *dev, const struct rnic_eqe *eqe);
/* The port may have changed. Threads: any. */
void rnic_event_note_port(struct rnic_dev *dev);
/* Tell the listener, if it has changed. */
void rnic_event_tell_port(struct rnic_dev *dev);

#endif
