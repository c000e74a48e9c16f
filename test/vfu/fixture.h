/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What the tests of lib/vfio_user share: a device that is just memory and remembers what was asked of it, a server
 * for it, and a peer that speaks raw bytes. A server never blocks, so most tests run both sides in one thread; a client
 * does, so its tests run the server in a thread.
 */
#ifndef VFU_TEST_FIXTURE_H
#define VFU_TEST_FIXTURE_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "vfio_user/client.h"
#include "vfio_user/server.h"
#include "../counts.h"

#define BAR0_BYTES	  0x10000
#define BAR0_AREA	  0x4000
#define BAR0_ACCESS_BYTES 8
#define BAR0_AREA_SIZE	  0x8000
#define BAR2_BYTES	  0x1000 /* read-only */
#define BAR4_BYTES	  0x2000 /* can be mapped whole */
#define CONFIG_BYTES	  0x1000
#define MSIX_VECTORS	  64
#define REGIONS		  VFU_PCI_REGIONS

struct fixture {
	struct vfu_server *server;
	struct vfu_server_conf conf;
	int memory_fd; /* BAR0, then BAR4 */
	uint8_t *bar0;
	uint8_t *bar4;
	uint8_t bar2[BAR2_BYTES];
	uint8_t config[CONFIG_BYTES];

	/* What the callbacks saw; atomic, as tests look while a server thread runs */
	atomic_uint maps, unmaps, resets, connected, disconnected, irqs;
	atomic_uint violations; /* calls that the server had to prevent */
	atomic_int reason;
	enum vfu_irq_event irq_event;
	unsigned int irq_vector;
	struct vfu_dma_region last_map;
	int refuse;		    /* what callbacks return */
	unsigned int reads, writes; /* callbacks for registers */
	uint32_t charge;	    /* by each of them */

	char log[2048]; /* the last lines */
	pthread_mutex_t log_lock;

	int peer; /* the other end of a socket pair */
	uint16_t next_id;

	pthread_t thread;
	int stop_fd;
	bool running;
};

/* A server of the device; path may be NULL. */
int fixture_setup_at(struct fixture *f, const char *path);
void fixture_teardown(struct fixture *f);

/* For cmocka: a fresh fixture per test, with a raw peer that has negotiated. */
int fixture_setup(void **state);
int fixture_setup_unversioned(void **state);
int fixture_end(void **state);

/* Run the server in a thread. Callers look only at atomics until it is stopped. */
void fixture_start(struct fixture *f);
void fixture_stop(struct fixture *f);

/* Was that said? From any thread. */
bool fixture_logged(struct fixture *f, const char *text);
void fixture_forget_log(struct fixture *f);

/* Connect a new raw peer. */
void fixture_connect(struct fixture *f);

/* Process until there is nothing to do. */
void fixture_process(struct fixture *f);

/* Is the server's descriptor readable, at once or within that time? */
bool fixture_is_ready(struct fixture *f, int patience_ms);
/* Who has been hung up on leaves: with much mapped in several looks, and between two of them the server may want a rest. */
void fixture_leave(struct fixture *f);

/* Send raw bytes with descriptors. */
void raw_send(int fd, const void *bytes, size_t length, const int *fds, unsigned int nfds);
/* Receive what is there, at most room bytes. @return bytes, 0 at the end, -EAGAIN. */
long raw_receive(int fd, void *bytes, size_t room, int *fds, unsigned int *nfds);

struct answer {
	struct vfu_header header;
	uint8_t payload[1 << 16];
	size_t length;
	int fds[VFU_CLIENT_AREAS];
	unsigned int nfds;
};

/* A command from the raw peer and its answer. @return 0 or the errno of the answer, negative; -ENOTCONN hung up on. */
int ask(struct fixture *f, uint16_t command, const void *payload, size_t length, const int *fds,
	unsigned int nfds, struct answer *answer);
/* The same without descriptors, for its errno alone. */
int ask_plain(struct fixture *f, uint16_t command, const void *payload, size_t length);
int ask_version(struct fixture *f);

/* A client of the server in its thread, over a socket pair. */
int client_open(struct fixture *f, const struct vfu_client_conf *conf, struct vfu_client **client);

unsigned int count_fds(void);
/* There are no more of them than that, once the thread that closes what clients have sent is done. */
void assert_fds_gone(unsigned int most);
unsigned int count_maps(void);
/* As a client's memory; and as a server's region, which cannot be shortened. */
int memory_file(size_t bytes);
int region_file(size_t bytes);
void wait_for(atomic_uint *what, unsigned int value);

#endif
