/* SPDX-License-Identifier: BSD-3-Clause */

/* A softrnicd in a folder of its own, and what can be seen of it from outside. */
#ifndef TEST_DAEMON_DAEMON_H
#define TEST_DAEMON_DAEMON_H

#include <stdbool.h>
#include <sys/types.h>

#define DAEMON_DEVICES 16

struct daemon {
	pid_t pid;
	char folder[64];
	char sockets[DAEMON_DEVICES][96]; /* in the order of the devices */
	char log[96];
	unsigned int ndevices;
};

/* The program under test. */
extern const char *daemon_program;
/* What stands behind its other arguments, NULL at the end; NULL: nothing. */
extern const char *const *daemon_more;

/* For main(), whose arguments are the program and, perhaps, how many threads it has. 0, or 2: there are others (said). */
int daemon_arguments(int argc, char **argv);

/* Start it with these values of --device, NULL at the end, and wait until it is ready. */
void daemon_start(struct daemon *d, const char *const *devices);
/* The same again in the same folder, after daemon_kill() or daemon_stop(). */
void daemon_restart(struct daemon *d, const char *const *devices);
/* SIGTERM; fails the test unless it ends well and leaves no socket. */
void daemon_stop(struct daemon *d);
void daemon_kill(struct daemon *d);
/* Remove the folder. */
void daemon_clean(struct daemon *d);

/* Does its log hold that text? The second one waits a little for it. */
bool daemon_has_logged(const struct daemon *d, const char *text);
bool daemon_logged(const struct daemon *d, const char *text);

unsigned int daemon_fds(const struct daemon *d);
unsigned int daemon_maps(const struct daemon *d);
size_t daemon_address_space(const struct daemon *d);
/* Wait until it has no more descriptors than that: what a client did is undone a moment after the client is gone. */
bool daemon_has_fds(const struct daemon *d, unsigned int fds);

#endif
