/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A queue pair whose peer is somebody else: wire_peer_end EAL-OPTION... Orders are lines on stdin, each answered by a line:
 *
 *   who                          mac MAC address ADDRESS bytes BYTES rkey RKEY
 *   meet QPN PSN GID MAC MTU     another queue pair in place of that before, connected: qpn QPN
 *   receive LENGTH               a receive is posted, into the second half of the memory
 *   put OFFSET HEX / get OFFSET LENGTH
 *   poll                         the next completion, which must come: STATUS OPCODE LENGTH IMMEDIATE (0: none)
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
#define ACCESS \
	(RDMAPMD_ACCESS_REMOTE_WRITE | RDMAPMD_ACCESS_REMOTE_READ | RDMAPMD_ACCESS_REMOTE_ATOMIC)

static struct rdmapmd_context *context;
static struct rdmapmd_pd *pd;
static struct rdmapmd_mr *mr;
static struct rdmapmd_cq *cq;
static struct rdmapmd_qp *qp;
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
	must(rdmapmd_mr_reg(pd, memory, BYTES, ACCESS | RDMAPMD_ACCESS_LOCAL_WRITE, &mr), "MR");
	must(rdmapmd_cq_create(context, &attr, &cq), "CQ");
}

static void
close_all(void)
{
	if (qp != NULL)
		must(rdmapmd_qp_destroy(qp), "destroy");
	must(rdmapmd_cq_destroy(cq), "CQ");
	must(rdmapmd_mr_dereg(mr), "MR");
	must(rdmapmd_pd_dealloc(pd), "PD");
	must(rdmapmd_context_close(context), "close");
	rte_free(memory);
}

static void
say_who(void)
{
	struct rdmapmd_gid_entry own;
	unsigned int i;

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
connect_to(uint32_t qpn, uint32_t psn, const char *gid, const char *mac, uint32_t mtu)
{
	struct rdmapmd_qp_peer peer = { .qp_num = qpn, .psn = psn, .mtu = RDMAPMD_MTU_256 };
	struct rdmapmd_qp_connect_opts opts = {
		.qp_access_flags = ACCESS,
		.max_dest_rd_atomic = 4,
		.max_rd_atomic = 1,
		.min_rnr_timer = 1,
		/* What is not answered is not said again. */
		.timeout = RDMAPMD_CONNECT_NONE,
		.retry_cnt = RDMAPMD_CONNECT_NONE,
		.rnr_retry = RDMAPMD_CONNECT_NONE,
	};

	for (; mtu > 256; mtu /= 2)
		peer.mtu++;
	bytes_of(gid, peer.gid.raw, sizeof(peer.gid.raw));
	bytes_of(mac, opts.path.dmac, sizeof(opts.path.dmac));
	must(rdmapmd_qp_connect(qp, &peer, &opts), "connect");
}

static void
meet(const char *order)
{
	struct rdmapmd_qp_init_attr attr = {
		.send_cq = cq,
		.recv_cq = cq,
		.qp_type = RDMAPMD_QPT_RC,
		.cap = { .max_send_wr = DEPTH,
			 .max_recv_wr = DEPTH,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};
	char gid[64], mac[32];
	unsigned int qpn, psn, mtu;

	must(sscanf(order, "meet %u %u %63s %31s %u", &qpn, &psn, gid, mac, &mtu) == 5 ? 0 : -1,
	     order);
	if (qp != NULL)
		must(rdmapmd_qp_destroy(qp), "destroy");
	must(rdmapmd_qp_create(pd, &attr, &qp), "QP");
	connect_to(qpn, psn, gid, mac, mtu);
	printf("qpn %u\n", qp->qp_num);
}

static void
receive(const char *order)
{
	const struct rdmapmd_sge sge = { (uintptr_t)memory + BYTES / 2,
					 (uint32_t)strtoul(order + strlen("receive "), NULL, 0),
					 mr->lkey };
	const struct rdmapmd_recv_wr wr = { .sg_list = &sge, .num_sge = 1 };

	must(rdmapmd_post_recv(qp, &wr, 1) == 1 ? 0 : -1, "receive");
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

static void
poll_one(void)
{
	const uint64_t end = rte_get_timer_cycles() + WAIT_S * rte_get_timer_hz();
	struct rdmapmd_wc wc = { 0 };

	while (rdmapmd_poll_cq(cq, &wc, 1) == 0) {
		must(rte_get_timer_cycles() > end ? -1 : 0, "no completion");
		rte_delay_us_sleep(50);
	}
	printf("%s %u %u %u\n", rdmapmd_wc_status_str(wc.status), (unsigned int)wc.opcode,
	       wc.byte_len,
	       (wc.wc_flags & RDMAPMD_WC_WITH_IMM) != 0 ? rte_be_to_cpu_32(wc.imm_data) : 0);
}

static void
quiet(void)
{
	struct rdmapmd_wc wc;

	printf("%s\n", rdmapmd_poll_cq(cq, &wc, 1) == 0 ? "yes" : "no");
}

static void
say_state(void)
{
	struct rdmapmd_qp_attr attr;
	struct rdmapmd_qp_init_attr init;

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
	if (is(order, "who"))
		say_who();
	else if (is(order, "meet "))
		meet(order);
	else if (is(order, "receive "))
		receive(order);
	else if (is(order, "put "))
		put(order);
	else if (is(order, "get "))
		get(order);
	else if (is(order, "poll"))
		poll_one();
	else if (is(order, "quiet"))
		quiet();
	else if (is(order, "state"))
		say_state();
	else
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
