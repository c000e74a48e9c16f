/* SPDX-License-Identifier: BSD-3-Clause */

/**
 * @file
 * Tickets as files, for those who may read them.
 */
#ifndef RDMO_WORKER_TICKETS_H
#define RDMO_WORKER_TICKETS_H

#include <sys/types.h>

/** The file of a ticket, to be removed. */
struct ticket_file {
	int folder; /* descriptor; -1: there is no file */
	const char *name;
	dev_t device; /* who it is: another process may have put its own there */
	ino_t inode;
};

/**
 * Open the folder for tickets; it is created if it is missing.
 *
 * @return Its descriptor; -errno, which is said.
 */
int tickets_folder(const char *path);

/**
 * Write a ticket, in the place of one that is there: who reads the file sees either all of it or nothing.
 *
 * @param file   Out.
 * @param folder As tickets_folder() gave it; it must stay open.
 * @param name   The file's; it must live as long.
 * @param text   The ticket, without an end of line.
 * @return 0; -errno, which is said.
 */
int ticket_write(struct ticket_file *file, int folder, const char *name, const char *text);

/** Remove the file, if it is still the one that was written. */
void ticket_remove(struct ticket_file *file);

#endif
