/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Queue pairs, connected: one device on a loop wire, or two on a pair wire, by real commands over the memory and queues of
 * data_path.h.
 */
#ifndef TEST_QP_WORLD_H
#define TEST_QP_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "data_path.h"
#include "prm/qp.h"

#define QW_USER_INDEX 0xabc123u
#define QW_QKEY	      0x11223344u
#define QW_PORT_MTU   9022 /* as registers count: with header, tag and FCS */

struct qw_conf {
	bool pair;			     /* else loop: both ends are the one device */
	const char *wires[2];		     /* of the ends, if they are other ones */
	bool through_switch;		     /* the pair's ends are two of a switch */
	bool beside;			     /* each end has a poller of its own */
	bool outside;			     /* that device's wire leaves the process, to nowhere */
	const char *rx_pcap[2], *tx_pcap[2]; /* of ends whose wire is pcap */
	uint32_t vlan;	  /* of the addresses; qw_set_vlan() changes it; 0: none */
	const char *like; /* a card */
	uint32_t ts_format;
	bool islands; /* each piece of memory is a map of its own */
	bool ipv6;
	uint64_t seed;
	uint32_t drop_ppm, dup_ppm, reorder_ppm, corrupt_ppm;
	uint32_t delay_us;
	const char *rules, *second_rules; /* of the first end; of the second */
	bool bytes;			  /* packets are frames, also between the two */
	bool foreign_memory;
};

struct qw_end {
	struct dp dp;
	uint8_t gid[16];
	uint8_t mac[6];
	uint32_t key; /* of all memory, all rights */
};

struct qw {
	struct softrnic_poller *poller, *second; /* of the second end; the same, unless `beside` */
	struct qw_end *ends[2];			 /* the same one twice on a loop */
	struct qw_end memory[2];
};

/* An SRQ: WQE n is followed by whatever next[n] says. */
struct qw_srq {
	struct qw_end *end;
	uint32_t rmpn; /* or an XRC SRQ's number */
	uint32_t log_size, log_stride;
	uint16_t producer;
	uint8_t *ring;
	struct rnic_wq_dbrec *dbrec;
};

struct qw_qp_conf {
	enum rnic_qp_st st;
	struct dp_cq *send_cq, *recv_cq;
	struct qw_srq *srq;
	uint8_t log_sq, log_rq, log_stride; /* WQEBBs, WQEs, bytes of a receive WQE */
	bool no_sq, no_rq, rlky, fre, block_lb_mc;
	uint32_t counter; /* set */
	uint32_t uar;	  /* index into dp.uars: 1 or 2 */
	uint32_t pd;	  /* 0: the end's */
	uint32_t xrcd;
	bool bare; /* it has no register and no doorbell record, as Linux makes XRC targets */
};

struct qw_qp {
	struct qw_end *end;
	uint32_t qpn;
	struct dp_sq sq; /* its number is the QP's */
	struct dp_rq rq;
};

/* What a connection is made with; qw_attr() has what suits most tests. */
struct qw_attr {
	enum rnic_qp_mtu mtu;
	uint32_t psn; /* where both ends begin */
	uint8_t log_rd_atomic;
	uint8_t timeout, retry_count, rnr_retry, min_rnr_timer;
	bool no_read, no_write, no_atomic; /* what the peer may not do */
	uint32_t qkey;
	/* of the path */
	uint8_t traffic_class, hop_limit, priority;
	uint32_t flow_label;
	uint16_t udp_sport;
};

void qw_open(struct qw *qw, const struct qw_conf *conf);
void qw_close(struct qw *qw);
/* The next session of an end of islands (dp_restart()); host: 1 for the first one, 2 for the second. */
void qw_end_restart(struct qw_end *end, bool ipv6, uint8_t host);
/* The end's address is one of that VLAN from now on; 0: of none. */
void qw_set_vlan(struct qw_end *end, uint32_t vlan);
/* Poll until nothing happens, 100 polls long, or for 20,000 polls if it does not end. */
void qw_run(struct qw *qw);
/* Poll until done() says so, which takes real time if timers are waited for; false: ten seconds were not enough. */
bool qw_run_until(struct qw *qw, bool (*done)(void *arg), void *arg);
/* Poll for so long; so often. */
void qw_run_us(struct qw *qw, uint64_t us);
void qw_poll(struct qw *qw, unsigned int polls);
/* What an end maps, and maps no more. */
void qw_map(struct qw_end *end, void *memory, size_t bytes);
void qw_unmap(struct qw_end *end, const void *memory, size_t bytes);

/* CREATE_QP: its status. */
int qw_qp_create(struct qw_end *end, struct qw_qp *qp, const struct qw_qp_conf *conf);
int qw_qp_destroy(struct qw_qp *qp);
struct qw_attr qw_attr(void);
/* One change: its status. The peer may be NULL where no path is needed. */
int qw_qp_modify(struct qw_qp *qp, uint16_t opcode, const struct qw_qp *peer,
		 const struct qw_attr *attr);
/* One that succeeds, with the usual attributes and no peer. */
void qw_qp_to(struct qw_qp *qp, uint16_t opcode);
/* Both from RST to RTS. */
void qw_connect(struct qw_qp *a, struct qw_qp *b, const struct qw_attr *attr);
enum rnic_qp_state qw_qp_state(struct qw_qp *qp);
/* The device's own, for tests that look inside (softrnic/receive/qp.h). */
struct softrnic_qp;
struct softrnic_qp *qw_qp_inside(struct qw_qp *qp);

/* What a key is made with; start NULL: all memory. */
struct qw_key_conf {
	void *start;
	uint64_t length;
	uint32_t access; /* enum drv_access; local reading it has */
	uint32_t pd;	 /* 0: the end's */
	/* pages of 4 KiB, of which page i stands at pages[i]; NULL: the memory itself, from its first byte on */
	void *const *pages;
};
/* Its key, or 0 with dp.syndrome set. */
uint32_t qw_key(struct qw_end *end, const struct qw_key_conf *conf);
/* What QUERY_MKEY says of one. */
struct rnic_mkc qw_key_query(struct qw_end *end, uint32_t key);
/* A key of these entries, which begins at 0, and an entry: so many bytes behind an address of another key. All rights. */
uint32_t qw_list_key(struct qw_end *end, const struct rnic_klm *entries, uint32_t count);
struct rnic_klm qw_entry(uint32_t key, uint64_t address, uint32_t bytes);
/* Of all that is mapped, by its address on the bus. */
uint32_t qw_physical_key(struct qw_end *end);

/* A WQE with one data segment, or none of 0 bytes, and a remote address where the opcode has one; not handed over. */
struct rnic_wqe_ctrl *qw_wqe(struct qw_qp *qp, uint8_t opcode, const void *local, uint32_t bytes,
			     const void *remote, uint32_t rkey, uint8_t fm_ce_se);
/* The same of an XRC initiator, for an SRQ of the peer's. */
struct rnic_wqe_ctrl *qw_xrc_wqe(struct qw_qp *qp, uint8_t opcode, uint32_t srqn, const void *local,
				 uint32_t bytes, const void *remote, uint32_t rkey);
/* The same with everything right: a completion, the peer's key; and handed over. */
void qw_post(struct qw_qp *qp, const struct qw_qp *peer, uint8_t opcode, const void *local,
	     uint32_t bytes, const void *remote);
/* The address vector that leads to an end, by the first address of the sender's. */
struct rnic_wqe_av qw_av(const struct qw_end *to, uint32_t qpn, uint32_t qkey);
/* A datagram with one data segment, or none of 0 bytes, and a completion; not handed over. */
struct rnic_wqe_ctrl *qw_datagram(struct qw_qp *qp, uint8_t opcode, const struct rnic_wqe_av *av,
				  const void *local, uint32_t bytes);
/* Segments behind `ds`: a key, an address, a length. */
void qw_segment(struct qw_qp *qp, uint32_t ds, uint32_t key, const void *data, uint32_t bytes);
/* One receive buffer, handed over. */
void qw_recv(struct qw_qp *qp, void *data, uint32_t bytes);

void qw_srq_create(struct qw_end *end, struct qw_srq *srq, uint32_t log_size, uint32_t log_stride,
		   uint32_t limit);
/* The same where it may be refused: its status. */
int qw_srq_try(struct qw_end *end, struct qw_srq *srq, uint32_t log_size, uint32_t log_stride,
	       uint32_t limit);
/* One of an XRC domain, of the end's domain if pd is 0: its status. */
struct qw_xrc_conf {
	uint32_t xrcd, pd, user_index, limit;
	uint32_t log_size, log_stride;
	struct dp_cq *cq;
};
int qw_xrc_srq_try(struct qw_end *end, struct qw_srq *srq, const struct qw_xrc_conf *conf);
/* WQE `index` with one buffer, and what comes after it. Not handed over. */
void qw_srq_write(struct qw_srq *srq, uint16_t index, uint16_t next, void *data, uint32_t bytes);
/* So many more are posted. */
void qw_srq_post(struct qw_srq *srq, uint16_t count);

/* The next completion is a good one of that opcode and WQE counter; it is returned. */
const struct rnic_cqe *qw_expect(struct dp_cq *cq, enum rnic_cqe_opcode opcode, uint16_t counter,
				 uint32_t qpn);
const struct rnic_error_cqe *qw_expect_error(struct dp_cq *cq, enum rnic_cqe_opcode opcode,
					     uint16_t counter, uint8_t syndrome, uint32_t qpn);
void qw_expect_nothing(struct dp_cq *cq);
/* The next event but CQs' completions; its type, 0 for none. */
uint8_t qw_event(struct qw_end *end, uint32_t *number);
/* There is one event, this one. */
void qw_expect_event(struct qw_end *end, uint8_t type, uint32_t number);

/*
 * What most tests want: two connected queue pairs, a CQ for each of their queues, and a buffer at either end.
 */
#define QW_BUFFER (2u << 20)
#define QW_LOG_SQ 6
#define QW_LOG_RQ 6

struct qw_two {
	struct qw qw;
	struct dp_cq a_send, a_recv, b_send, b_recv;
	struct qw_qp a, b;
	uint8_t *out, *in; /* of a's end, of b's; a page more than QW_BUFFER each */
};

/* The device or devices, the CQs, the buffers; no queue pairs. */
struct qw_two *qw_two_open(const struct qw_conf *conf);
/* Queue pairs of the usual size, connected. */
void qw_two_connect(struct qw_two *two, const struct qw_attr *attr);
/* The same once more, in place of those that there are. */
void qw_two_reconnect(struct qw_two *two, const struct qw_attr *attr);
/* Another a, or b, and connected to the peer that there is. */
void qw_two_replace(struct qw_two *two, bool b, const struct qw_qp_conf *conf);
/* Two more, connected. */
void qw_two_more(struct qw_two *two, struct qw_qp *a, const struct qw_qp_conf *a_conf,
		 struct qw_qp *b, const struct qw_qp_conf *b_conf, const struct qw_attr *attr);
void qw_two_close(struct qw_two *two);
struct qw_qp_conf qw_two_qp_conf(struct qw_two *two, bool b);

/* Of a: a WRITE of 64 bytes, not handed over; hand over what was written, and run; what comes of the WQE of that counter. */
void qw_write(struct qw_two *two, uint8_t ce);
/* qw_post() to b, and run. */
void qw_execute(struct qw_two *two, uint8_t opcode, const void *local, uint32_t bytes,
		const void *remote);
void qw_go(struct qw_two *two);
const struct rnic_cqe *qw_done(struct qw_two *two, uint16_t counter);
/* The first requests of a: WRITEs, a SEND and a READ, each with its data. */
void qw_requests(struct qw_two *two);
void qw_failed(struct qw_two *two, uint16_t counter, uint8_t syndrome);

/* For cmocka, whose state is the struct qw_two: connected queue pairs, a's buffer filled. attr NULL: the usual one. */
int qw_setup(void **state, const struct qw_conf *conf, const struct qw_attr *attr);
int qw_setup_pair(void **state);
/* A pair, each piece of whose memory is a map of its own, so that a test can take one away. */
int qw_setup_islands(void **state);
int qw_teardown(void **state);
/* The end of a fixture that was allocated, and begins with a pointer to its struct qw_two. */
int qw_fixture_teardown(void **state);

/* Bytes that tell their place and their seed. */
void qw_fill(void *data, size_t bytes, uint32_t seed);

#endif
