/* SPDX-License-Identifier: BSD-3-Clause */

/* Events of queue pairs, SRQs and CQs, handed on to the library. From the control thread. */
#ifndef RNIC_RDMA_EVENT_H
#define RNIC_RDMA_EVENT_H

#include <stdbool.h>

#include "rdmapmd_driver.h"

struct rdmapmd_device;
struct rnic_dev;
struct rnic_eqe;
struct rnic_rdma_cq;

/* CQs with events, at most. Each may have one entry in its completion event queue, and so may the driver's own. */
#define RNIC_RDMA_EVENTS_MAX 4095
/* From now on events are for this device of the library's; NULL: for nobody. */
void rnic_rdma_events_to(struct rnic_dev *dev, struct rdmapmd_device *device);
/* An entry of any event queue: is it an error of a queue of RDMA's? `arg` is the device. */
bool rnic_rdma_on_event(void *arg, const struct rnic_eqe *eqe);
/* The port, or the whole device. */
void rnic_rdma_port_event(struct rnic_dev *dev, enum rdmapmd_event_type type);
/* Events may have got lost: the link, and the states of queue pairs and CQs, are asked for and told. */
void rnic_rdma_ask(struct rnic_dev *dev);
/*
 * A queue of completion events was replaced. CQs that name the old one raise no events, and no command moves
 * them that every device has: as long as there are such, they are looked at this often, and their events raised here.
 */
void rnic_rdma_find_deaf(struct rnic_dev *dev);
bool rnic_rdma_has_deaf(struct rnic_dev *dev);
void rnic_rdma_look(struct rnic_dev *dev);
/* Which queues of completion events owe one to a CQ that is armed, and has an entry? They are under suspicion then. */
void rnic_rdma_check_events(struct rnic_dev *dev);
/* The device is lost: every waiting thread is told, also by events of all CQs. From any thread. `arg` is the device. */
void rnic_rdma_lost(void *arg);

/* A completion event of a CQ that has some, though the device raised none. From any thread. */
void rnic_rdma_wake(const struct rnic_rdma_cq *cq);

#endif
