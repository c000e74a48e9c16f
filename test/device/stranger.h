/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Somebody on the wire who sends frames of RoCEv2 that are not his to send, to queue pairs that are at work: what he knows of
 * them, and what becomes of each frame.
 */
#ifndef TEST_STRANGER_H
#define TEST_STRANGER_H

#include "softrnic/roce/pkt.h"
#include "softrnic/rocev2/frame.h"

/* The queue pair that a frame is for, all of which he knows. */
struct stranger_target {
	uint8_t mac[6], gid[16], peer_mac[6], peer_gid[16];
	uint16_t vlan;	   /* of its path; 0: none */
	uint8_t transport; /* that it has: ROCE_TRANSPORT_ */
	uint32_t qpn;
	uint32_t psn; /* that it expects of its peer */
	uint32_t una,
		high; /* its own: the oldest that was not answered, and the next one to send */
	uint32_t mtu;
	/* memory that its peer may use */
	uint32_t key;
	uint64_t va;
	uint32_t bytes;
};

/* What a device has besides the address of its path: for frames to itself by ways that no path leads. */
#define STRANGER_VLAN	    7	 /* the same GID, in that VLAN */
#define STRANGER_OTHER_GID  0x77 /* another GID: its last byte */
#define STRANGER_FRAME_ROOM (ROCEV2_FRAME_MAX + 128)

/* What is wrong with the way that a frame came. A source MAC address is no such thing: behind a router it is the router's. */
enum stranger_way {
	STRANGER_SOURCE,       /* source address */
	STRANGER_MAC,	       /* destination MAC address */
	STRANGER_NO_VLAN,      /* a VLAN that the device has no address in */
	STRANGER_ANOTHER_VLAN, /* one that it has the address in, which is not the path's */
	STRANGER_ANOTHER_GID,  /* an address of the device that is not the path's */
	STRANGER_WAYS,
	STRANGER_RIGHT = STRANGER_WAYS, /* nothing */
};

/* How it is counted. */
enum stranger_verdict {
	STRANGER_ETHERNET,
	STRANGER_MALFORMED,
	STRANGER_ICRC,
	STRANGER_UNKNOWN_QP,
	STRANGER_DROPPED,
	STRANGER_FOREIGN_SOURCE,
	STRANGER_PKEY,
	STRANGER_QKEY,
	STRANGER_CNP,
	STRANGER_VERDICTS,
	STRANGER_TAKEN = STRANGER_VERDICTS, /* by the queue pair */
};

struct stranger_frame {
	uint8_t bytes[STRANGER_FRAME_ROOM];
	uint32_t length;
	uint8_t opcode;
};

/* 0 .. below - 1; everything follows from the state. */
uint32_t stranger_below(uint64_t *random, uint32_t below);

/* A frame with that opcode, any of 256, and that PSN, which comes that way, by a source MAC that is the peer's or not; its key is right or guessed. */
void stranger_make(const struct stranger_target *target, enum stranger_way way, uint8_t opcode,
		   uint32_t psn, uint64_t *random, struct stranger_frame *frame);
/* What becomes of it. */
enum stranger_verdict stranger_verdict(const struct stranger_target *target, enum stranger_way way,
				       uint8_t opcode);

/* What it says now that it is; 0 if it cannot say so. */
uint8_t stranger_opcode(const struct stranger_frame *frame);

/* Bytes of it change, its length too; the ICRC may be mended behind that, and the PSN is that one then. */
void stranger_damage(struct stranger_frame *frame, uint32_t psn, uint64_t *random);

#endif
