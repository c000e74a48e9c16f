/* SPDX-License-Identifier: BSD-3-Clause */

/**
 * @file
 * The command line.
 */
#ifndef SOFTRNICD_OPTIONS_H
#define SOFTRNICD_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/un.h>

#include "log.h"
#include "softrnic/softrnic.h"

#define DEVICES_MAX	  64
#define THREADS_MAX	  SOFTRNIC_POLLERS
#define SOCKET_PATH_BYTES sizeof(((struct sockaddr_un *)NULL)->sun_path)

/* Who the PCI function says it is. */
struct pci_identity {
	uint16_t vendor;
	uint16_t device;
};

struct device_options {
	char name[SOFTRNIC_NAME_BYTES];
	bool named; /* by name= */
	unsigned int
		count; /* devices that are made of it, one after the other; 0: one, which has the name as it is */
	char socket[SOCKET_PATH_BYTES];	   /* empty: the folder's NAME.sock */
	char bind_path[SOCKET_PATH_BYTES]; /* the same by folder_fd, which nobody can turn */
	int folder_fd;
	bool placed;	     /* by thread= */
	unsigned int thread; /* that serves it */
	char wire[80];
	char rx_pcap[256], tx_pcap[256]; /* of wire=pcap */
	struct pci_identity id;		 /* all zero: by what the device is like */
	char like[32], quirks[256], rules[256];
	uint64_t holes_max;	   /* bytes of a client's files that need not be there yet */
	struct softrnic_conf conf; /* its strings are this struct's */
};

struct options {
	char dir[SOCKET_PATH_BYTES]; /* empty: the default */
	int dir_fd;		     /* -1: no socket lies there */
	const char *user;	     /* to become; NULL: the default */
	bool changes_user;
	uid_t uid; /* of that user */
	gid_t gid;
	enum vfu_log_level log_level;
	unsigned int threads;	/* at least 1 */
	uint64_t client_memory; /* bytes; 0: not given */
	const char *probe_jail; /* file to try it on; NULL: serve */
	int eal_argc;		/* what stands behind "--" */
	char **eal_argv;
	unsigned int ndevices;
	struct device_options devices[DEVICES_MAX];
};

/**
 * Read the command line; says on stderr what is wrong with it, and does --help and --version itself.
 *
 * @return 0 go on, 1 done (exit code 0), -EINVAL wrong (exit code 2).
 */
int options_parse(struct options *options, int argc, char **argv);

#endif
