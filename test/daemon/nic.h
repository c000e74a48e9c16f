/* SPDX-License-Identifier: BSD-3-Clause */

/* A driver with one send queue, on a device of the daemon's: as much as it takes to have traffic. */
#ifndef TEST_DAEMON_NIC_H
#define TEST_DAEMON_NIC_H

#include "harness.h"

#define NIC_VECTOR	 5
#define NIC_DESTINATIONS 64 /* of one frame, at most */

struct nic {
	struct hn hn;
	struct hn_eq eq;
	struct hn_cq cq;
	struct hn_wq sq;
	uint32_t pd, td, mkey;
	uint64_t frame; /* iova; a page of its own, behind all else but what follows */
	struct hn_wq rq;
	uint64_t buffers;   /* behind the ring */
	struct hn_cq rq_cq; /* behind the buffers */
	uint8_t *uars;	    /* the pages that can be mapped */
	uint64_t uars_offset;
	size_t uars_bytes;
	uint32_t arm_sequence;
};

/* Connect and bring it all up. */
void nic_open(struct nic *nic, const char *socket);
void nic_close(struct nic *nic);

/* Make a receive queue that gets all frames; it has room for none before nic_post(). */
void nic_make_receiver(struct nic *nic);
/* Room for a ring full. */
void nic_post(struct nic *nic);

/* Its parts: all frames are taken, and all go to that TIR, so many times each. */
void nic_be_promiscuous(struct nic *nic);
void nic_steer(struct nic *nic, uint32_t tirn, uint32_t times);
/* ... to each of these, of which there are no more than NIC_DESTINATIONS. */
void nic_steer_to(struct nic *nic, const uint32_t *tirns, uint32_t count);

/* Send a frame, by a store to a mapped page. */
void nic_send(struct nic *nic);
/* Its parts: a SEND of so many blocks and data segments, of which the first is returned; the device gets it. */
void *nic_wqe(struct nic *nic, unsigned int blocks, uint32_t segments);
void nic_give(struct nic *nic, unsigned int blocks);
/* The doorbell alone, which touches no memory but the page's. */
void nic_ring(struct nic *nic);
/* Wait for its completion. @return false: none, or an error. */
bool nic_sent(struct nic *nic);
/* Ask for an event at the next completion, by the same way. */
void nic_arm(struct nic *nic);

/* A data segment; and records: what the device may send and fill, and what was taken from it. */
struct rnic_wqe_data nic_data(uint32_t bytes, uint32_t key, uint64_t address);
void nic_record_sends(const struct hn *hn, uint64_t dbrec, uint16_t blocks);
void nic_record_receives(const struct hn *hn, uint64_t dbrec, uint16_t wqes);
void nic_record_taken(const struct hn *hn, const struct hn_cq *cq);

#endif
