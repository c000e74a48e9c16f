/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Two RAW_PACKET queue pairs at the ends of a wire, or both on one device whose frames come back, beside the ethdevs of the
 * same ports.
 */
#ifndef E2E_RAW_H
#define E2E_RAW_H

#include "rdma.h"

#define RAW_TX	   0u	      /* offsets in an end's memory: what is sent */
#define RAW_RX	   (1u << 16) /* what is received, a frame in each piece ... */
#define RAW_PIECE  2048u      /* ... of this size */
#define RAW_BYTES  (1u << 18)
#define RAW_DEPTH  16u
#define RAW_HEADER 14u

struct raw_end {
	uint16_t port;
	uint8_t port_mac[6];
	uint8_t mac[6]; /* the queue pair's, attached */
	struct rdmapmd_context *context;
	struct rdmapmd_pd *pd;
	struct rdmapmd_cq *send_cq, *recv_cq;
	struct rdmapmd_qp *qp;
	struct rdmapmd_mr *mr;
	uint8_t *memory;
};
extern struct raw_end raw_ends[2];
extern bool raw_loop; /* both are on the same device */

struct raw_conf {
	struct rdmapmd_qp_cap cap; /* members that are 0 have defaults */
	enum rdmapmd_qp_state up_to;
	bool no_send, no_receive, one_cq, not_attached;
};

/* The ports and their addresses, once. */
void raw_find_ports(void);
/* One end, or both in RTS with an address attached to each. */
void raw_open_end(struct raw_end *end, const struct raw_conf *conf);
void raw_close_end(struct raw_end *end);
void raw_open(const struct raw_conf *conf);
void raw_close(void);
/* The same for cmocka: both ends, with nothing said. */
int raw_setup(void **unused);
int raw_teardown(void **unused);
/* Memory of the ends, which stays from test to test. */
void raw_free(void);

/* The next step of the states, from RESET to RTS. */
void raw_to(struct raw_end *end, enum rdmapmd_qp_state state);
/* A frame at RAW_TX + at: bytes that follow from its length and `seed`. vlan: RDMAPMD_VLAN_ANY has no tag. */
void raw_frame(struct raw_end *end, uint32_t at, const uint8_t to[6], uint16_t vlan, uint32_t seed,
	       uint32_t length);
struct rdmapmd_sge raw_sge(const struct raw_end *end, uint32_t offset, uint32_t length);
/* Post a send request for what stands at RAW_TX. */
void raw_send(struct raw_end *end, uint64_t wr_id, uint32_t length, uint8_t flags);
/* Post receive requests for pieces 0 to count - 1, wr_id first, first + 1, ... */
void raw_receive(struct raw_end *end, uint64_t first, unsigned int count);
/* That frame has come into that piece, as request wr_id. */
void raw_expect(struct raw_end *end, uint64_t wr_id, unsigned int piece, const uint8_t to[6],
		uint16_t vlan, uint32_t seed, uint32_t length);

#endif
