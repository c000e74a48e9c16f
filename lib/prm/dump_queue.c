/* SPDX-License-Identifier: BSD-3-Clause */

#include <inttypes.h>

#include "cmd_table.h"
#include "cqe.h"
#include "dump_private.h"
#include "wqe.h"

/* Rows of 16 bytes as rdma-core prints them, without offsets. */
static void
dump_rows(const uint8_t *bytes, size_t length, rnic_dump_line *line, void *arg)
{
	for (size_t i = 0; i < length; i += 16)
		rnic_dump_printf(line, arg, "%08x %08x %08x %08x",
				 rnic_dump_dword(bytes, length, i),
				 rnic_dump_dword(bytes, length, i + 4),
				 rnic_dump_dword(bytes, length, i + 8),
				 rnic_dump_dword(bytes, length, i + 12));
}

/* Bytes of a send WQE by its own word; 0 where it has no control segment. */
static size_t
wqe_bytes(const uint8_t *wqe, size_t length)
{
	if (length < sizeof(struct rnic_wqe_ctrl))
		return 0;
	return (rnic_dump_dword(wqe, length, 4) & RNIC_WQE_DS_MAX) * RNIC_WQE_DS_BYTES;
}

void
rnic_dump_wqe(uint64_t at, const void *wqe, size_t length, rnic_dump_line *line, void *arg)
{
	size_t bytes = wqe_bytes(wqe, length);

	rnic_dump_printf(line, arg, "dump wqe at 0x%" PRIx64, at);
	dump_rows(wqe, bytes < length ? bytes : length, line, arg);
}

static void
decode_ctrl(const uint8_t *wqe, rnic_dump_line *line, void *arg)
{
	struct rnic_wqe_ctrl ctrl;
	uint32_t dw0, dw1;

	memcpy(&ctrl, wqe, sizeof(ctrl));
	dw0 = rnic_be32_to_cpu(ctrl.opmod_idx_opcode);
	dw1 = rnic_be32_to_cpu(ctrl.qpn_ds);
	rnic_dump_printf(line, arg,
			 "  ctrl: %s(0x%02x) opmod 0x%x index 0x%x qpn 0x%x ds %u fm_ce_se 0x%02x "
			 "signature 0x%02x immediate 0x%x",
			 rnic_wqe_opcode_name(dw0 & 0xff), dw0 & 0xff, dw0 >> 24, dw0 >> 8 & 0xffff,
			 dw1 >> 8, dw1 & RNIC_WQE_DS_MAX, ctrl.fm_ce_se, ctrl.signature,
			 rnic_be32_to_cpu(ctrl.immediate));
}

/* The Ethernet segment with its inline header; returns the bytes both take. */
static size_t
decode_eth(const uint8_t *bytes, size_t length, rnic_dump_line *line, void *arg)
{
	struct rnic_wqe_eth eth;
	size_t start = sizeof(eth.inline_header_start), header;
	uint16_t size;

	if (length < sizeof(eth)) {
		rnic_dump_printf(line, arg, "  eth: cut short, %zu bytes", length);
		return length;
	}
	memcpy(&eth, bytes, sizeof(eth));
	size = rnic_be16_to_cpu(eth.inline_header_size);
	header = size & RNIC_WQE_ETH_INSERT_VLAN ? 0 : size & RNIC_WQE_ETH_INLINE_SIZE_MASK;
	rnic_dump_printf(
		line, arg,
		"  eth: cs_flags 0x%02x mss %u flow_table_metadata 0x%x %s %u start %02x%02x",
		eth.cs_flags, rnic_be16_to_cpu(eth.mss), rnic_be32_to_cpu(eth.flow_table_metadata),
		size & RNIC_WQE_ETH_INSERT_VLAN ? "insert_vlan" : "inline_header_size",
		size & RNIC_WQE_ETH_INLINE_SIZE_MASK, eth.inline_header_start[0],
		eth.inline_header_start[1]);
	if (header <= start)
		return sizeof(eth);
	header = sizeof(eth) +
		 (header - start + RNIC_WQE_DS_BYTES - 1) / RNIC_WQE_DS_BYTES * RNIC_WQE_DS_BYTES;
	return header < length ? header : length;
}

static size_t
decode_av(const uint8_t *bytes, size_t length, rnic_dump_line *line, void *arg)
{
	struct rnic_wqe_av av;
	uint32_t dqp, grh;

	if (length < sizeof(av)) {
		rnic_dump_printf(line, arg, "  av: cut short, %zu bytes", length);
		return length;
	}
	memcpy(&av, bytes, sizeof(av));
	dqp = rnic_be32_to_cpu(av.dqp);
	grh = rnic_be32_to_cpu(av.grh_gid_fl);
	rnic_dump_printf(
		line, arg,
		"  av: dqp 0x%x%s qkey 0x%x%s stat_rate %u sl %u udp_sport 0x%x tclass 0x%02x "
		"hop_limit %u",
		dqp & 0xffffff, dqp & RNIC_WQE_AV_EXTENDED ? "" : " not extended",
		rnic_be32_to_cpu(av.qkey),
		rnic_be32_to_cpu(av.qkey) & RNIC_WQE_AV_OWN_QKEY ? " (the queue pair's)" : "",
		av.stat_rate_sl >> 4, av.stat_rate_sl & 0xf, rnic_be16_to_cpu(av.udp_sport),
		av.tclass, av.hop_limit);
	rnic_dump_printf(line, arg,
			 "  av: rmac %02x:%02x:%02x:%02x:%02x:%02x grh %u sgid_index %u "
			 "flow_label 0x%x rgid %08x %08x %08x %08x",
			 av.rmac[0], av.rmac[1], av.rmac[2], av.rmac[3], av.rmac[4], av.rmac[5],
			 !!(grh & RNIC_WQE_AV_GRH), grh >> RNIC_WQE_AV_GID_SHIFT & 0xff,
			 grh & RNIC_WQE_AV_FLOW_LABEL, rnic_dump_dword(av.rgid, 16, 0),
			 rnic_dump_dword(av.rgid, 16, 4), rnic_dump_dword(av.rgid, 16, 8),
			 rnic_dump_dword(av.rgid, 16, 12));
	return sizeof(av);
}

/* A data or inline segment; returns the bytes it takes. */
static size_t
decode_data(const uint8_t *bytes, size_t length, rnic_dump_line *line, void *arg)
{
	struct rnic_wqe_data data;
	uint32_t count = rnic_dump_dword(bytes, length, 0);
	size_t size;

	if (count & RNIC_WQE_INLINE) {
		count &= ~RNIC_WQE_INLINE;
		rnic_dump_printf(line, arg, "  inline: byte_count 0x%x%s", count,
				 count + sizeof(count) > length ? ", cut short" : "");
		size = ((size_t)count + sizeof(count) + RNIC_WQE_DS_BYTES - 1) / RNIC_WQE_DS_BYTES *
		       RNIC_WQE_DS_BYTES;
		return size < length ? size : length;
	}
	if (length < sizeof(data)) {
		rnic_dump_printf(line, arg, "  data: cut short, %zu bytes", length);
		return length;
	}
	memcpy(&data, bytes, sizeof(data));
	rnic_dump_printf(line, arg, "  data: byte_count 0x%x lkey 0x%x address 0x%" PRIx64, count,
			 rnic_be32_to_cpu(data.lkey), rnic_be64_to_cpu(data.address));
	return sizeof(data);
}

/* The remote address segment, and what an atomic has behind it; returns the bytes both take. */
static size_t
decode_remote(const uint8_t *bytes, size_t length, bool atomic, rnic_dump_line *line, void *arg)
{
	const size_t whole =
		sizeof(struct rnic_wqe_raddr) + (atomic ? sizeof(struct rnic_wqe_atomic) : 0);
	struct rnic_wqe_atomic operands;
	struct rnic_wqe_raddr remote;

	if (length < whole) {
		rnic_dump_printf(line, arg, "  raddr: cut short, %zu bytes", length);
		return length;
	}
	memcpy(&remote, bytes, sizeof(remote));
	rnic_dump_printf(line, arg, "  raddr: address 0x%" PRIx64 " rkey 0x%x",
			 rnic_be64_to_cpu(remote.address), rnic_be32_to_cpu(remote.rkey));
	if (atomic) {
		memcpy(&operands, bytes + sizeof(remote), sizeof(operands));
		rnic_dump_printf(line, arg, "  atomic: swap_add 0x%" PRIx64 " compare 0x%" PRIx64,
				 rnic_be64_to_cpu(operands.swap_add),
				 rnic_be64_to_cpu(operands.compare));
	}
	return whole;
}

/* Whether a remote address stands in front of the data. */
static bool
is_remote(uint32_t opcode)
{
	return opcode == RNIC_WQE_RDMA_WRITE || opcode == RNIC_WQE_RDMA_WRITE_IMM ||
	       opcode == RNIC_WQE_RDMA_READ || opcode == RNIC_WQE_ATOMIC_CS ||
	       opcode == RNIC_WQE_ATOMIC_FA;
}

/* Whether what follows is data, but for the segments that are known. Others bring segments of their own. */
static bool
has_data(uint32_t opcode)
{
	return opcode == RNIC_WQE_SEND || opcode == RNIC_WQE_SEND_IMM ||
	       opcode == RNIC_WQE_SEND_INVAL || opcode == RNIC_WQE_LSO ||
	       opcode == RNIC_WQE_ENHANCED_MPSW || is_remote(opcode);
}

void
rnic_decode_wqe(const void *wqe, size_t length, enum rnic_wqe_kind kind, rnic_dump_line *line,
		void *arg)
{
	const uint8_t *bytes = wqe;
	size_t at = sizeof(struct rnic_wqe_ctrl), end = wqe_bytes(wqe, length);
	uint32_t opcode = rnic_dump_dword(bytes, length, 0) & 0xff;

	if (length < at) {
		rnic_dump_printf(line, arg, "  ctrl: cut short, %zu bytes", length);
		return;
	}
	decode_ctrl(bytes, line, arg);
	if (end > length) {
		rnic_dump_printf(line, arg, "  %zu of its %zu bytes follow", length, end);
		end = length;
	}
	if (is_remote(opcode) && at < end)
		at += decode_remote(bytes + at, end - at,
				    opcode == RNIC_WQE_ATOMIC_CS || opcode == RNIC_WQE_ATOMIC_FA,
				    line, arg);
	else if (kind == RNIC_WQE_OF_FRAMES && has_data(opcode) && at < end)
		at += decode_eth(bytes + at, end - at, line, arg);
	else if (kind == RNIC_WQE_OF_DATAGRAMS && has_data(opcode) && at < end)
		at += decode_av(bytes + at, end - at, line, arg);
	while (at < end && has_data(opcode))
		at += decode_data(bytes + at, end - at, line, arg);
	for (; at < end; at += RNIC_WQE_DS_BYTES)
		rnic_dump_printf(
			line, arg, "  segment: %08x %08x %08x %08x",
			rnic_dump_dword(bytes, end, at), rnic_dump_dword(bytes, end, at + 4),
			rnic_dump_dword(bytes, end, at + 8), rnic_dump_dword(bytes, end, at + 12));
}

void
rnic_dump_cqe(uint32_t cqn, const void *cqe, size_t length, rnic_dump_line *line, void *arg)
{
	rnic_dump_printf(line, arg, "dump cqe for cqn 0x%x:", cqn);
	dump_rows(cqe, length < sizeof(struct rnic_cqe) ? length : sizeof(struct rnic_cqe), line,
		  arg);
}

static void
decode_error_cqe(const void *bytes, rnic_dump_line *line, void *arg)
{
	struct rnic_error_cqe cqe;
	uint32_t sop_qpn;

	memcpy(&cqe, bytes, sizeof(cqe));
	sop_qpn = rnic_be32_to_cpu(cqe.sop_qpn);
	rnic_dump_printf(line, arg,
			 "  %s(0x%x) owner %u: %s(0x%02x) vendor_error_syndrome 0x%02x qpn 0x%x "
			 "send opcode 0x%02x wqe_counter 0x%x srqn 0x%x",
			 rnic_cqe_opcode_name(RNIC_CQE_OPCODE(cqe.op_own)),
			 RNIC_CQE_OPCODE(cqe.op_own), cqe.op_own & RNIC_CQE_OWNER,
			 rnic_cqe_syndrome_name(cqe.syndrome), cqe.syndrome,
			 cqe.vendor_error_syndrome, sop_qpn & 0xffffff, sop_qpn >> 24,
			 rnic_be16_to_cpu(cqe.wqe_counter), rnic_be32_to_cpu(cqe.srqn));
}

void
rnic_decode_cqe(const void *bytes, size_t length, rnic_dump_line *line, void *arg)
{
	struct rnic_cqe cqe;
	uint32_t sop_qpn, opcode;

	if (length < sizeof(cqe)) {
		rnic_dump_printf(line, arg, "  cqe: cut short, %zu bytes", length);
		return;
	}
	memcpy(&cqe, bytes, sizeof(cqe));
	opcode = RNIC_CQE_OPCODE(cqe.op_own);
	if (opcode == RNIC_CQE_REQUESTER_ERROR || opcode == RNIC_CQE_RESPONDER_ERROR) {
		decode_error_cqe(bytes, line, arg);
		return;
	}
	sop_qpn = rnic_be32_to_cpu(cqe.sop_drop_qpn);
	rnic_dump_printf(line, arg,
			 "  %s(0x%x) owner %u: qpn 0x%x send opcode 0x%02x wqe_counter 0x%x "
			 "byte_count 0x%x timestamp 0x%" PRIx64,
			 rnic_cqe_opcode_name(opcode), opcode, cqe.op_own & RNIC_CQE_OWNER,
			 sop_qpn & 0xffffff, sop_qpn >> 24, rnic_be16_to_cpu(cqe.wqe_counter),
			 rnic_be32_to_cpu(cqe.byte_count), rnic_be64_to_cpu(cqe.timestamp));
	if (opcode == RNIC_CQE_REQUESTER)
		return;
	rnic_dump_printf(line, arg,
			 "  rx: hds_ip_ext 0x%02x l4_l3_hdr_type 0x%02x vlan_info 0x%x "
			 "rx_hash 0x%x type 0x%02x checksum 0x%x flags_rqpn 0x%x "
			 "srqn_user_index 0x%x immediate 0x%x",
			 cqe.hds_ip_ext, cqe.l4_l3_hdr_type, rnic_be16_to_cpu(cqe.vlan_info),
			 rnic_be32_to_cpu(cqe.rx_hash_result), cqe.rx_hash_type,
			 rnic_be16_to_cpu(cqe.checksum), rnic_be32_to_cpu(cqe.flags_rqpn),
			 rnic_be32_to_cpu(cqe.srqn_user_index), rnic_be32_to_cpu(cqe.immediate));
}

void
rnic_dump_eqe(uint32_t eqn, const void *eqe, size_t length, rnic_dump_line *line, void *arg)
{
	rnic_dump_printf(line, arg, "dump eqe for eqn 0x%x:", eqn);
	dump_rows(eqe, length < sizeof(struct rnic_eqe) ? length : sizeof(struct rnic_eqe), line,
		  arg);
}

void
rnic_decode_eqe(const void *bytes, size_t length, rnic_dump_line *line, void *arg)
{
	struct rnic_eqe eqe;
	uint32_t data[7];

	if (length < sizeof(eqe)) {
		rnic_dump_printf(line, arg, "  eqe: cut short, %zu bytes", length);
		return;
	}
	memcpy(&eqe, bytes, sizeof(eqe));
	for (int i = 0; i < 7; i++)
		data[i] = rnic_be32_to_cpu(eqe.data[i]);
	rnic_dump_printf(line, arg, "  %s(0x%02x) sub_type 0x%02x owner %u",
			 rnic_event_name(eqe.type), eqe.type, eqe.sub_type, eqe.owner & 1);
	switch (eqe.type) {
	case RNIC_EVENT_COMPLETION:
		rnic_dump_printf(line, arg, "  cqn 0x%x", data[6] & 0xffffff);
		break;
	case RNIC_EVENT_CQ_ERROR:
		rnic_dump_printf(line, arg, "  cqn 0x%x syndrome 0x%02x", data[0] & 0xffffff,
				 data[2] & 0xff);
		break;
	case RNIC_EVENT_PORT_CHANGE: rnic_dump_printf(line, arg, "  port %u", data[2] >> 28); break;
	case RNIC_EVENT_COMMAND: rnic_dump_printf(line, arg, "  slots 0x%08x", data[0]); break;
	case RNIC_EVENT_PAGE_REQUEST:
		rnic_dump_printf(line, arg, "  function 0x%x pages %" PRId32, data[0] & 0xffff,
				 (int32_t)data[1]);
		break;
	default:
		rnic_dump_printf(line, arg, "  data %08x %08x %08x %08x %08x %08x %08x", data[0],
				 data[1], data[2], data[3], data[4], data[5], data[6]);
		break;
	}
}
