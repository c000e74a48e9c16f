/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * An end on libibverbs, whatever its provider is: verbs_peer DEVICE INTERFACE. The interface is that of the device: groups are joined
 * there by an ordinary socket, too, as rxe does not tell Linux' IP.
 */

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <infiniband/verbs.h>

#include "peer.h"

#define PORT 1
#define ACCESS                                                                       \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | \
	 IBV_ACCESS_REMOTE_ATOMIC)
#define REMOTE (ACCESS & ~IBV_ACCESS_LOCAL_WRITE)
#define WR_ID  7

static const char *interface;
static struct ibv_context *context;
static struct ibv_pd *pd;
static struct ibv_mr *mr, *read_only_mr;
static struct ibv_cq *cq;
static struct ibv_srq *srq;
static struct ibv_qp *qp;
static struct ibv_ah *ah;
static struct ibv_mw *mw;
static uint8_t ah_gid[16];

/* Of calls that say so by errno, or by what they return. */
static void
must(bool good, const char *what)
{
	char text[512];

	snprintf(text, sizeof(text), "%s: %s", what, strerror(errno));
	peer_must(good, text);
}

const char *
peer_status(int status)
{
	return ibv_wc_status_str((enum ibv_wc_status)status);
}

/* ---- Open, close ---- */

static void
open_device(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	unsigned int i;

	must(list != NULL, "the list of devices");
	for (i = 0; list[i] != NULL && strcmp(ibv_get_device_name(list[i]), name) != 0; i++)
		;
	must(list[i] != NULL, name);
	context = ibv_open_device(list[i]);
	must(context != NULL, "open");
	ibv_free_device_list(list);
}

static void
open_all(const char *name)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = PEER_DEPTH, .max_sge = 1 } };

	open_device(name);
	pd = ibv_alloc_pd(context);
	must(pd != NULL, "PD");
	peer_memory.bytes = aligned_alloc(4096, PEER_BYTES);
	must(peer_memory.bytes != NULL, "memory");
	memset(peer_memory.bytes, 0, PEER_BYTES);
	mr = ibv_reg_mr(pd, peer_memory.bytes, PEER_BYTES, ACCESS | IBV_ACCESS_MW_BIND);
	read_only_mr = ibv_reg_mr(pd, peer_memory.bytes, PEER_BYTES, IBV_ACCESS_REMOTE_READ);
	must(mr != NULL && read_only_mr != NULL, "MR");
	peer_memory.rkey = mr->rkey;
	peer_memory.read_only_rkey = read_only_mr->rkey;
	cq = ibv_create_cq(context, 4 * PEER_DEPTH, NULL, NULL, 0);
	must(cq != NULL, "CQ");
	srq = ibv_create_srq(pd, &attr);
	must(srq != NULL, "SRQ");
}

static void
destroy_qp(void)
{
	if (ah != NULL)
		must(ibv_destroy_ah(ah) == 0, "destroy AH");
	if (qp != NULL)
		must(ibv_destroy_qp(qp) == 0, "destroy QP");
	if (mw != NULL)
		must(ibv_dealloc_mw(mw) == 0, "free window");
	ah = NULL;
	qp = NULL;
	mw = NULL;
}

static void
close_all(void)
{
	destroy_qp();
	must(ibv_destroy_srq(srq) == 0, "destroy SRQ");
	must(ibv_destroy_cq(cq) == 0, "destroy CQ");
	must(ibv_dereg_mr(mr) == 0 && ibv_dereg_mr(read_only_mr) == 0, "deregister");
	must(ibv_dealloc_pd(pd) == 0, "free PD");
	must(ibv_close_device(context) == 0, "close");
	free(peer_memory.bytes);
}

/* ---- Queue pairs ---- */

/* What the one before had not polled. */
static void
forget_completions(void)
{
	struct ibv_wc wc;

	while (ibv_poll_cq(cq, 1, &wc) > 0)
		;
}

uint32_t
peer_create(enum peer_type type, bool with_srq)
{
	static const enum ibv_qp_type types[] = { IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD };
	struct ibv_qp_init_attr attr = {
		.send_cq = cq,
		.recv_cq = cq,
		.srq = with_srq ? srq : NULL,
		.qp_type = types[type],
		.cap = { .max_send_wr = PEER_DEPTH,
			 .max_recv_wr = PEER_DEPTH,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};
	struct ibv_qp_attr init = { .qp_state = IBV_QPS_INIT,
				    .port_num = PORT,
				    .qp_access_flags =
					    type == PEER_UC ? IBV_ACCESS_REMOTE_WRITE : REMOTE };

	destroy_qp();
	forget_completions();
	qp = ibv_create_qp(pd, &attr);
	must(qp != NULL, "create QP");
	/* A datagram's Q_Key comes with the peer. */
	must(ibv_modify_qp(qp, &init,
			   IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
				   (type == PEER_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS)) == 0,
	     "INIT");
	return qp->qp_num;
}

static bool
is_ipv4(const uint8_t gid[16])
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

	return memcmp(gid, mapped, sizeof(mapped)) == 0;
}

/* Our address of the same protocol, which is not a link's own. */
static uint8_t
source_for(const uint8_t gid[16])
{
	union ibv_gid own;
	uint8_t i;

	for (i = 0; ibv_query_gid(context, PORT, i, &own) == 0; i++)
		if (is_ipv4(own.raw) == is_ipv4(gid) && own.raw[0] != 0xfe &&
		    (is_ipv4(own.raw) || own.raw[0] != 0))
			return i;
	must(false, "no address of that protocol");
	return 0;
}

static struct ibv_ah_attr
ah_attr_of(const uint8_t gid[16])
{
	struct ibv_ah_attr attr = { .is_global = 1, .port_num = PORT };

	memcpy(attr.grh.dgid.raw, gid, 16);
	attr.grh.sgid_index = source_for(gid);
	attr.grh.hop_limit = 64;
	return attr;
}

static enum ibv_mtu
mtu_of(uint32_t bytes)
{
	int mtu = IBV_MTU_256;

	for (; bytes > 256; bytes /= 2)
		mtu++;
	return (enum ibv_mtu)mtu;
}

static void
connect_ud(const struct peer_path *path)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTR, .qkey = path->qkey };

	must(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_QKEY) == 0, "RTR");
	attr = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTS, .sq_psn = path->own_psn };
	must(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN) == 0, "RTS");
}

void
peer_connect(const struct peer_path *path)
{
	const bool rc = qp->qp_type == IBV_QPT_RC;
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTR,
				    .path_mtu = mtu_of(path->mtu),
				    .dest_qp_num = path->qpn,
				    .rq_psn = path->psn,
				    .max_dest_rd_atomic = 4,
				    .min_rnr_timer = 12 };

	if (qp->qp_type == IBV_QPT_UD) {
		connect_ud(path);
		return;
	}
	attr.ah_attr = ah_attr_of(path->gid);
	must(ibv_modify_qp(
		     qp, &attr,
		     IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
			     (rc ? IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER : 0)) == 0,
	     "RTR");
	attr = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTS,
				     .sq_psn = path->own_psn,
				     .timeout = path->timeout,
				     .retry_cnt = path->retry,
				     .rnr_retry = path->rnr,
				     .max_rd_atomic = 4 };
	must(ibv_modify_qp(qp, &attr,
			   IBV_QP_STATE | IBV_QP_SQ_PSN |
				   (rc ? IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
						    IBV_QP_MAX_QP_RD_ATOMIC
				       : 0)) == 0,
	     "RTS");
}

const char *
peer_state(void)
{
	static const char *const names[] = { "RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR" };
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	must(ibv_query_qp(qp, &attr, IBV_QP_STATE, &init) == 0, "query");
	return attr.qp_state <= IBV_QPS_ERR ? names[attr.qp_state] : "?";
}

/* ---- Requests ---- */

void
peer_receive(uint32_t at, uint32_t length)
{
	struct ibv_sge sge = { (uintptr_t)peer_memory.bytes + at, length, mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = WR_ID, .sg_list = &sge, .num_sge = 1 }, *bad;

	must((qp->srq != NULL ? ibv_post_srq_recv(srq, &wr, &bad) : ibv_post_recv(qp, &wr, &bad)) ==
		     0,
	     "receive");
}

/* To that address; the one before is kept as long as it is asked for. */
static struct ibv_ah *
ah_to(const uint8_t gid[16])
{
	struct ibv_ah_attr attr = ah_attr_of(gid);

	if (ah != NULL && memcmp(ah_gid, gid, 16) == 0)
		return ah;
	if (ah != NULL)
		must(ibv_destroy_ah(ah) == 0, "destroy AH");
	ah = ibv_create_ah(pd, &attr);
	must(ah != NULL, "AH");
	memcpy(ah_gid, gid, 16);
	return ah;
}

void
peer_post(const struct peer_request *request)
{
	static const enum ibv_wr_opcode ops[] = {
		[PEER_WRITE] = IBV_WR_RDMA_WRITE,
		[PEER_WRITE_IMM] = IBV_WR_RDMA_WRITE_WITH_IMM,
		[PEER_SEND] = IBV_WR_SEND,
		[PEER_SEND_IMM] = IBV_WR_SEND_WITH_IMM,
		[PEER_READ] = IBV_WR_RDMA_READ,
		[PEER_SWAP] = IBV_WR_ATOMIC_CMP_AND_SWP,
		[PEER_ADD] = IBV_WR_ATOMIC_FETCH_AND_ADD,
		[PEER_SEND_INV] = IBV_WR_SEND_WITH_INV,
		[PEER_LOCAL_INV] = IBV_WR_LOCAL_INV,
	};
	const bool inv = request->op == PEER_SEND_INV || request->op == PEER_LOCAL_INV;
	const bool atomic = request->op == PEER_SWAP || request->op == PEER_ADD;
	struct ibv_sge sge = { (uintptr_t)peer_memory.bytes + PEER_FROM, request->length,
			       mr->lkey };
	struct ibv_send_wr wr = { .wr_id = WR_ID,
				  .sg_list = &sge,
				  .num_sge = request->op == PEER_LOCAL_INV ? 0 : 1,
				  .opcode = ops[request->op],
				  .send_flags = IBV_SEND_SIGNALED },
			   *bad;

	if (request->op == PEER_READ)
		sge.addr = (uintptr_t)peer_memory.bytes + PEER_TO;
	if (inv)
		wr.invalidate_rkey = request->key;
	else
		wr.imm_data = htonl(request->imm);
	if (qp->qp_type == IBV_QPT_UD) {
		wr.wr.ud.ah = ah_to(request->gid);
		wr.wr.ud.remote_qpn = request->qpn;
		wr.wr.ud.remote_qkey = request->qkey;
	} else if (atomic) {
		wr.wr.atomic.remote_addr = request->address;
		wr.wr.atomic.compare_add = request->add;
		wr.wr.atomic.swap = request->swap;
		wr.wr.atomic.rkey = request->rkey;
	} else {
		wr.wr.rdma.remote_addr = request->address;
		wr.wr.rdma.rkey = request->rkey;
	}
	errno = ibv_post_send(qp, &wr, &bad);
	must(errno == 0, "post");
}

bool
peer_poll(struct peer_completion *completion)
{
	struct ibv_wc wc;
	const int got = ibv_poll_cq(cq, 1, &wc);

	must(got >= 0, "poll");
	if (got == 0)
		return false;
	*completion = (struct peer_completion){
		.status = wc.status,
		.opcode = wc.opcode,
		.length = wc.byte_len,
		.has_imm = wc.status == IBV_WC_SUCCESS && (wc.wc_flags & IBV_WC_WITH_IMM) != 0,
		.has_key = wc.status == IBV_WC_SUCCESS && (wc.wc_flags & IBV_WC_WITH_INV) != 0,
		.imm = ntohl(wc.imm_data),
		.key = wc.invalidated_rkey,
		.src = qp->qp_type == IBV_QPT_UD ? wc.src_qp : 0,
	};
	return true;
}

/* ---- Windows ---- */

static void
bound(void)
{
	struct ibv_wc wc;
	int got;

	while ((got = ibv_poll_cq(cq, 1, &wc)) == 0)
		;
	must(got == 1 && wc.status == IBV_WC_SUCCESS, "bind");
}

uint32_t
peer_bind(unsigned int type)
{
	const struct ibv_mw_bind_info info = { .mr = mr,
					       .addr = (uintptr_t)peer_memory.bytes,
					       .length = PEER_BYTES,
					       .mw_access_flags = REMOTE };
	struct ibv_mw_bind bind = { .wr_id = WR_ID,
				    .send_flags = IBV_SEND_SIGNALED,
				    .bind_info = info };
	struct ibv_send_wr wr = { .wr_id = WR_ID,
				  .opcode = IBV_WR_BIND_MW,
				  .send_flags = IBV_SEND_SIGNALED },
			   *bad;

	if (mw != NULL)
		must(ibv_dealloc_mw(mw) == 0, "free window");
	mw = ibv_alloc_mw(pd, type == 1 ? IBV_MW_TYPE_1 : IBV_MW_TYPE_2);
	must(mw != NULL, "window");
	if (type == 1) {
		errno = ibv_bind_mw(qp, mw, &bind);
	} else {
		wr.bind_mw.mw = mw;
		wr.bind_mw.rkey = ibv_inc_rkey(mw->rkey);
		wr.bind_mw.bind_info = info;
		errno = ibv_post_send(qp, &wr, &bad);
		mw->rkey = wr.bind_mw.rkey;
	}
	must(errno == 0, "bind");
	bound();
	return mw->rkey;
}

void
peer_unbind(void)
{
	/* librxe wants a region in any case; rxe does not look at it. */
	struct ibv_mw_bind bind = { .wr_id = WR_ID,
				    .send_flags = IBV_SEND_SIGNALED,
				    .bind_info = { .mr = mr } };

	errno = ibv_bind_mw(qp, mw, &bind);
	must(errno == 0, "unbind");
	bound();
}

void
peer_rereg(bool may_write)
{
	const int access = IBV_ACCESS_REMOTE_READ | (may_write ? ACCESS : 0);

	must(ibv_rereg_mr(read_only_mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, access) == 0,
	     "rereg");
	peer_memory.read_only_rkey = read_only_mr->rkey;
}

/* ---- Groups ---- */

/* Linux' IP takes what the socket is a member for. */
static void
group_of_ip(const uint8_t gid[16], bool join)
{
	static int sockets[2] = { -1, -1 };
	const int ipv6 = !is_ipv4(gid);
	struct ipv6_mreq of_6 = { .ipv6mr_interface = if_nametoindex(interface) };
	struct ip_mreqn of_4 = { .imr_ifindex = (int)if_nametoindex(interface) };

	if (sockets[ipv6] < 0)
		sockets[ipv6] = socket(ipv6 ? AF_INET6 : AF_INET, SOCK_DGRAM, 0);
	memcpy(&of_6.ipv6mr_multiaddr, gid, 16);
	memcpy(&of_4.imr_multiaddr, gid + 12, 4);
	if (ipv6)
		must(setsockopt(sockets[1], IPPROTO_IPV6,
				join ? IPV6_ADD_MEMBERSHIP : IPV6_DROP_MEMBERSHIP, &of_6,
				sizeof(of_6)) == 0,
		     "group of the socket");
	else
		must(setsockopt(sockets[0], IPPROTO_IP,
				join ? IP_ADD_MEMBERSHIP : IP_DROP_MEMBERSHIP, &of_4,
				sizeof(of_4)) == 0,
		     "group of the socket");
}

void
peer_group(const uint8_t gid[16], bool join)
{
	union ibv_gid group;

	memcpy(group.raw, gid, 16);
	errno = join ? ibv_attach_mcast(qp, &group, 0) : ibv_detach_mcast(qp, &group, 0);
	must(errno == 0, "group");
	group_of_ip(gid, join);
}

/* ---- Counters ---- */

static void
say_file(const char *folder, const char *name)
{
	char path[512];
	unsigned long long value;
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "r");
	if (file == NULL)
		return;
	if (fscanf(file, "%llu", &value) == 1)
		peer_say("%s=%llu ", name, value);
	fclose(file);
}

void
peer_counters(void)
{
	char folder[256];
	struct ibv_port_attr attr;
	const struct dirent *entry;
	DIR *all;

	snprintf(folder, sizeof(folder), "/sys/class/infiniband/%s/ports/%d/hw_counters",
		 ibv_get_device_name(context->device), PORT);
	all = opendir(folder);
	must(all != NULL, folder);
	while ((entry = readdir(all)) != NULL)
		if (entry->d_name[0] != '.')
			say_file(folder, entry->d_name);
	closedir(all);
	must(ibv_query_port(context, PORT, &attr) == 0, "query port");
	peer_say("bad_pkey_cntr=%u qkey_viol_cntr=%u", attr.bad_pkey_cntr, attr.qkey_viol_cntr);
}

int
main(int argc, char **argv)
{
	peer_must(argc == 3, "verbs_peer DEVICE INTERFACE");
	interface = argv[2];
	open_all(argv[1]);
	peer_obey();
	close_all();
	return 0;
}
