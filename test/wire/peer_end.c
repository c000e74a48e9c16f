/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Queue pairs whose peer is somebody else: wire_peer_end EAL-OPTION... Orders are lines on stdin, each answered by a line:
 *
 *   who                          mac MAC address ADDRESS bytes BYTES rkey RKEY
 *   address GID VLAN             one more of the port's; VLAN 0: none
 *   create rc|uc|ud              a queue pair in place of that before (datagrams have one of their own), in INIT: qpn QPN
 *   connect QPN PSN GID MAC MTU TIMEOUT   the queue pair of connections, both ends from that PSN on; TIMEOUT 0: what is not
 *                                answered is not said again
 *   listen GID                   that of datagrams: it may receive; of the group too, if GID is one
 *   window OFFSET LENGTH         a window of type 2, which that of connections may write: rkey RKEY
 *   receive [ud] LENGTH          a receive is posted, into the second half of the memory
 *   post OPCODE OFFSET LENGTH ADDRESS RKEY    a request (enum rdmapmd_wr_opcode) of connections
 *   put OFFSET HEX / get OFFSET LENGTH
 *   poll                         the next completion, which must come: STATUS OPCODE LENGTH WORD, an immediate or the key that
 *                                was invalidated (0: neither)
 *   quiet                        whether there is none
 *   state                        the queue pair's
 *   quit
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_malloc.h>

#include <rdmapmd.h>

#define DEVICE "net_rnic0"
#define PORT   1
#define BYTES  (64u << 10)
#define DEPTH  16
#define WAIT_S 60
#define QKEY   0x11223344u /* that datagrams must have */
#define ACCESS \
	(RDMAPMD_ACCESS_REMOTE_WRITE | RDMAPMD_ACCESS_REMOTE_READ | RDMAPMD_ACCESS_REMOTE_ATOMIC)

static struct rdmapmd_context *context;
static struct rdmapmd_pd *pd;
static struct rdmapmd_mr *mr;
static struct rdmapmd_cq *cq;
static struct rdmapmd_qp *qp, *ud;
static struct rdmapmd_mw *mw;
static uint8_t *memory;

/* What fails here is the end. */
static void
must(int rc, const char *what)
{
	if (rc == 0)
		return;
	printf("failed: %s: %s\n", what, strerror(-rc));
	exit(1);
}

static void
open_all(void)
{
	const struct rdmapmd_cq_init_attr attr = { .cqe = 4 * DEPTH };

	must(rdmapmd_device_open_by_name(DEVICE, &context), "open");
	must(rdmapmd_pd_alloc(context, &pd), "PD");
	memory = rte_zmalloc(NULL, BYTES, 4096);
	must(memory == NULL ? -1 : 0, "memory");
	must(rdmapmd_mr_reg(pd, memory, BYTES,
			    ACCESS | RDMAPMD_ACCESS_LOCAL_WRITE | RDMAPMD_ACCESS_MW_BIND, &mr),
	     "MR");
	must(rdmapmd_cq_create(context, &attr, &cq), "CQ");
}

static void
close_all(void)
{
	if (mw != NULL)
		must(rdmapmd_mw_free(mw), "window");
	if (qp != NULL)
		must(rdmapmd_qp_destroy(qp), "destroy");
	if (ud != NULL)
		must(rdmapmd_qp_destroy(ud), "destroy");
	must(rdmapmd_cq_destroy(cq), "CQ");
	must(rdmapmd_mr_dereg(mr), "MR");
	must(rdmapmd_pd_dealloc(pd), "PD");
	must(rdmapmd_context_close(context), "close");
	rte_free(memory);
}

static void
say_who(const char *unused)
{
	struct rdmapmd_gid_entry own;
	unsigned int i;

	(void)unused;
	must(rdmapmd_gid_query(context, PORT, 0, &own), "GID");
	printf("mac ");
	for (i = 0; i < sizeof(own.mac); i++)
		printf("%02x", own.mac[i]);
	printf(" address %llu bytes %u rkey %u\n", (unsigned long long)(uintptr_t)memory, BYTES,
	       mr->rkey);
}

static uint8_t
from_hex(const char *text)
{
	const char digits[] = { text[0], text[1], '\0' };

	return (uint8_t)strtoul(digits, NULL, 16);
}

static void
bytes_of(const char *text, uint8_t *bytes, size_t most)
{
	size_t i;

	for (i = 0; i < most && text[2 * i] != '\0' && text[2 * i] != '\n'; i++)
		bytes[i] = from_hex(&text[2 * i]);
}

static void
address(const char *order)
{
	union rdmapmd_gid gid = { 0 };
	char text[64];
	unsigned int vlan;
	uint32_t index;

	must(sscanf(order, "address %63s %u", text, &vlan) == 2 ? 0 : -1, order);
	bytes_of(text, gid.raw, sizeof(gid.raw));
	must(vlan == 0 ? rdmapmd_gid_add(context, PORT, &gid, &index)
		       : rdmapmd_gid_add_vlan(context, PORT, &gid, (uint16_t)vlan, &index),
	     order);
	printf("ok\n");
}

static void
to_init(struct rdmapmd_qp *which)
{
	const struct rdmapmd_qp_attr attr = { .qp_state = RDMAPMD_QPS_INIT,
					      .port_num = PORT,
					      .qp_access_flags = ACCESS,
					      .qkey = QKEY };
	const unsigned int mask = RDMAPMD_QP_STATE | RDMAPMD_QP_PKEY_INDEX | RDMAPMD_QP_PORT;

	must(rdmapmd_qp_modify(which, &attr,
			       mask | (which == ud ? RDMAPMD_QP_QKEY : RDMAPMD_QP_ACCESS_FLAGS)),
	     "INIT");
}

static void
create(const char *order)
{
	struct rdmapmd_qp_init_attr attr = {
		.send_cq = cq,
		.recv_cq = cq,
		.qp_type = strstr(order, "ud") != NULL	 ? RDMAPMD_QPT_UD
			   : strstr(order, "uc") != NULL ? RDMAPMD_QPT_UC
							 : RDMAPMD_QPT_RC,
		.cap = { .max_send_wr = DEPTH,
			 .max_recv_wr = DEPTH,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};
	struct rdmapmd_qp **which = attr.qp_type == RDMAPMD_QPT_UD ? &ud : &qp;

	if (*which != NULL)
		must(rdmapmd_qp_destroy(*which), "destroy");
	must(rdmapmd_qp_create(pd, &attr, which), "QP");
	to_init(*which);
	printf("qpn %u\n", (*which)->qp_num);
}

static void
connect_to(const char *order)
{
	struct rdmapmd_qp_peer peer = { .mtu = RDMAPMD_MTU_256 };
	struct rdmapmd_qp_connect_opts opts = {
		.qp_access_flags = ACCESS,
		.max_dest_rd_atomic = 4,
		.max_rd_atomic = 4,
		.min_rnr_timer = 1,
		.timeout = RDMAPMD_CONNECT_NONE,
		.retry_cnt = RDMAPMD_CONNECT_NONE,
		.rnr_retry = RDMAPMD_CONNECT_NONE,
	};
	char gid[64], mac[32];
	unsigned int mtu, timeout;

	must(sscanf(order, "connect %u %u %63s %31s %u %u", &peer.qp_num, &peer.psn, gid, mac, &mtu,
		    &timeout) == 6
		     ? 0
		     : -1,
	     order);
	opts.psn = peer.psn;
	for (; mtu > 256; mtu /= 2)
		peer.mtu++;
	if (timeout != 0) {
		opts.timeout = (uint8_t)timeout;
		opts.retry_cnt = opts.rnr_retry = 7;
	}
	bytes_of(gid, peer.gid.raw, sizeof(peer.gid.raw));
	bytes_of(mac, opts.path.dmac, sizeof(opts.path.dmac));
	must(rdmapmd_qp_connect(qp, &peer, &opts), "connect");
	printf("ok\n");
}

static void
listen_to(const char *order)
{
	const struct rdmapmd_qp_attr attr = { .qp_state = RDMAPMD_QPS_RTR };
	union rdmapmd_gid gid = { 0 };

	bytes_of(order + strlen("listen "), gid.raw, sizeof(gid.raw));
	if (rdmapmd_gid_is_multicast(&gid))
		must(rdmapmd_mcast_attach(ud, &gid), order);
	must(rdmapmd_qp_modify(ud, &attr, RDMAPMD_QP_STATE), "RTR");
	printf("ok\n");
}

static void
receive(const char *order)
{
	const bool datagram = strncmp(order, "receive ud ", strlen("receive ud ")) == 0;
	const struct rdmapmd_sge sge = {
		(uintptr_t)memory + BYTES / 2,
		(uint32_t)strtoul(order + strlen(datagram ? "receive ud " : "receive "), NULL, 0),
		mr->lkey
	};
	const struct rdmapmd_recv_wr wr = { .sg_list = &sge, .num_sge = 1 };

	must(rdmapmd_post_recv(datagram ? ud : qp, &wr, 1) == 1 ? 0 : -1, order);
	printf("ok\n");
}

static void
post(const char *order)
{
	struct rdmapmd_sge sge = { .lkey = mr->lkey };
	struct rdmapmd_send_wr wr = { .sg_list = &sge,
				      .num_sge = 1,
				      .send_flags = RDMAPMD_SEND_SIGNALED };
	unsigned int opcode, at, rkey;
	unsigned long long remote;

	must(sscanf(order, "post %u %u %u %llu %u", &opcode, &at, &sge.length, &remote, &rkey) == 5
		     ? 0
		     : -1,
	     order);
	sge.addr = (uintptr_t)memory + at;
	wr.opcode = (uint8_t)opcode;
	wr.wr.rdma.remote_addr = remote;
	wr.wr.rdma.rkey = rkey;
	must(rdmapmd_post_send(qp, &wr, 1) == 1 ? 0 : -1, order);
	printf("ok\n");
}

/*
 * The device and this thread are ordered by the peer alone where it reads and writes memory, and ThreadSanitizer does not see
 * that; a command and its answer it does see.
 */
static void
order_with_device(void)
{
	struct rdmapmd_qp_attr attr;

	if (qp != NULL)
		must(rdmapmd_qp_query(qp, &attr, NULL), "query");
}

static void
put(const char *order)
{
	unsigned int at;
	int behind;

	order_with_device();
	must(sscanf(order, "put %u %n", &at, &behind) == 1 && at < BYTES ? 0 : -1, order);
	bytes_of(order + behind, memory + at, BYTES - at);
	order_with_device();
	printf("ok\n");
}

static void
get(const char *order)
{
	unsigned int at, length, i;

	must(sscanf(order, "get %u %u", &at, &length) == 2 && at + length <= BYTES ? 0 : -1, order);
	order_with_device();
	for (i = 0; i < length; i++)
		printf("%02x", memory[at + i]);
	order_with_device();
	printf("\n");
}

/* The next completion, which must come. */
static struct rdmapmd_wc
next_completion(void)
{
	const uint64_t end = rte_get_timer_cycles() + WAIT_S * rte_get_timer_hz();
	struct rdmapmd_wc wc = { 0 };

	while (rdmapmd_poll_cq(cq, &wc, 1) == 0) {
		must(rte_get_timer_cycles() > end ? -1 : 0, "no completion");
		rte_delay_us_sleep(50);
	}
	return wc;
}

static void
poll_one(const char *unused)
{
	const struct rdmapmd_wc wc = next_completion();

	(void)unused;
	printf("%s %u %u %u\n", rdmapmd_wc_status_str(wc.status), (unsigned int)wc.opcode,
	       wc.byte_len,
	       (wc.wc_flags & RDMAPMD_WC_WITH_IMM) != 0	  ? rte_be_to_cpu_32(wc.imm_data)
	       : (wc.wc_flags & RDMAPMD_WC_WITH_INV) != 0 ? wc.invalidated_rkey
							  : 0);
}

static void
window(const char *order)
{
	struct rdmapmd_send_wr wr = { .opcode = RDMAPMD_WR_BIND_MW,
				      .send_flags = RDMAPMD_SEND_SIGNALED,
				      .wr.bind_mw = { .mr = mr,
						      .access = RDMAPMD_ACCESS_REMOTE_WRITE } };
	unsigned int at, length;

	must(sscanf(order, "window %u %u", &at, &length) == 2 ? 0 : -1, order);
	if (mw != NULL)
		must(rdmapmd_mw_free(mw), "window");
	must(rdmapmd_mw_alloc(pd, RDMAPMD_MW_TYPE_2, &mw), "window");
	wr.wr.bind_mw.mw = mw;
	wr.wr.bind_mw.addr = (uintptr_t)memory + at;
	wr.wr.bind_mw.length = length;
	wr.wr.bind_mw.rkey = rdmapmd_mw_next_rkey(mw);
	must(rdmapmd_post_send(qp, &wr, 1) == 1 ? 0 : -1, order);
	must(next_completion().status, order);
	printf("rkey %u\n", mw->rkey);
}

static void
quiet(const char *unused)
{
	struct rdmapmd_wc wc;

	(void)unused;
	printf("%s\n", rdmapmd_poll_cq(cq, &wc, 1) == 0 ? "yes" : "no");
}

static void
say_state(const char *unused)
{
	struct rdmapmd_qp_attr attr;
	struct rdmapmd_qp_init_attr init;

	(void)unused;
	must(rdmapmd_qp_query(qp, &attr, &init), "query");
	printf("%s\n", rdmapmd_qp_state_str(attr.qp_state));
}

static bool
is(const char *order, const char *word)
{
	return strncmp(order, word, strlen(word)) == 0;
}

static void
obey(const char *order)
{
	static const struct {
		const char *word;
		void (*obey)(const char *order);
	} orders[] = {
		{ "who", say_who },	  { "address ", address },
		{ "create ", create },	  { "connect ", connect_to },
		{ "listen ", listen_to }, { "window ", window },
		{ "receive ", receive },  { "post ", post },
		{ "put ", put },	  { "get ", get },
		{ "poll", poll_one },	  { "quiet", quiet },
		{ "state", say_state },
	};
	size_t i;

	for (i = 0; i < RTE_DIM(orders); i++) {
		if (is(order, orders[i].word)) {
			orders[i].obey(order);
			return;
		}
	}
	must(-1, order);
}

int
main(int argc, char **argv)
{
	static char order[4 * BYTES];

	if (rte_eal_init(argc, argv) < 0)
		return 1;
	setvbuf(stdout, NULL, _IOLBF, 0);
	open_all();
	while (fgets(order, sizeof(order), stdin) != NULL && !is(order, "quit"))
		obey(order);
	close_all();
	rte_eal_cleanup();
	return 0;
}
