/* SPDX-License-Identifier: BSD-3-Clause */

/* The devargs, parsed and checked. Unknown or repeated keys are errors that list the valid ones. */
#ifndef RNIC_BASE_DEVARGS_H
#define RNIC_BASE_DEVARGS_H

#include <stdbool.h>
#include <stdint.h>

#define RNIC_NAME_BYTES	    64
#define RNIC_PCI_NAME_BYTES 20 /* domain:bus:device.function, a domain of up to 32 bits */
#define RNIC_IPS_MAX	    8
#define RNIC_BFREGS	    16
#define RNIC_BFREGS_MAX	    512 /* as libmlx5 and its kernel have it */
#define RNIC_LOW_LATENCY    4
#define RNIC_LOG_MAX_QP	    18 /* more cost firmware memory for nothing, as Linux finds */

/* The devargs, parsed and checked (devargs.c). Unknown or repeated keys are errors that list the valid ones. */
#define RNIC_PATH_BYTES 256
#define RNIC_LIKE_BYTES 32
struct rnic_devargs {
	char socket[108]; /* socket=: of a vfio-user server */
	bool peer_any;	  /* peer=any: the server may belong to any user */
	char pci[RNIC_PCI_NAME_BYTES]; /* pci=: of a function on vfio-pci, as sysfs names it; both empty: the embedded device */
	char wire[64]; /* "loop", "pair:NAME", "switch:NAME", "port:ETHDEV", "pcap" */
	/* of wire=pcap; empty: not given */
	char rx_pcap[RNIC_PATH_BYTES], tx_pcap[RNIC_PATH_BYTES], iface[RNIC_PATH_BYTES];
	uint32_t drop, dup, reorder, corrupt; /* parts per million */
	uint32_t delay;			      /* microseconds */
	char rule[RNIC_PATH_BYTES]; /* what the embedded device knows as rules; empty: none */
	bool bytes;		    /* bytes=: RoCE packets are frames on every wire */
	uint64_t seed;
	int poll_core; /* -1: not pinned */
	bool bf;
	/* log_max_qp=: of queue pairs, if the device has as many */
	uint8_t log_max_qp;
	/* cqe_comp=: compressed completions of received frames are asked for */
	enum rnic_cqe_comp {
		RNIC_CQE_COMP_AUTO, /* where the device has them and nothing speaks against it */
		RNIC_CQE_COMP_OFF,
		RNIC_CQE_COMP_ON, /* the same; who wants what speaks against it does not get that unsaid */
	} cqe_comp;
	/* bfregs=, low_latency=: doorbell registers that are made at bring-up, and those of them with one owner */
	uint16_t bfregs, low_latency;
	bool inline_l2;		      /* the embedded device demands L2 headers inline */
	char like[RNIC_LIKE_BYTES];   /* like=: of the embedded device; empty: not given */
	char quirks[RNIC_PATH_BYTES]; /* names, which the embedded device knows; empty: none */
	uint8_t mac[6];		      /* mac=: all zero if not given */
	unsigned int ip_count;
	uint8_t ip[RNIC_IPS_MAX][16];	 /* ip=: as GIDs */
	uint8_t ip_prefix[RNIC_IPS_MAX]; /* bits of the GID that its link shares; 128: not given */
	/* gw=: of IPv6, of IPv4 */
	bool has_gw[2];
	uint8_t gw[2][16];
};
int rnic_devargs_parse(const char *device, const char *text, struct rnic_devargs *args);

#endif
