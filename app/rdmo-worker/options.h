/* SPDX-License-Identifier: BSD-3-Clause */

/**
 * @file
 * The command line, behind EAL's part of it.
 */
#ifndef RDMO_WORKER_OPTIONS_H
#define RDMO_WORKER_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#define NAME_BYTES 64 /* of a log, of a device, with the 0 behind it */
#define LOGS_MAX   64
#define LOADS_MAX  64

/** --log */
struct log_options {
	char name[NAME_BYTES];
	char device[NAME_BYTES]; /* which serves it; "": the first one that is served */
	uint64_t size;		 /* of its ring, bytes */
	uint32_t producers;
	bool keep; /* its records are not released */
};

/** --load */
struct load_options {
	char device[NAME_BYTES];
	char log[NAME_BYTES]; /* to which it appends; "": the first one */
	uint32_t size;	      /* bytes of a record's payload */
	uint32_t burst;	      /* records */
	uint32_t to;	      /* the log, among struct options' */
	uint32_t producer;
};

struct options {
	const char *listen;
	const char *tickets;  /* folder; NULL: none are written */
	const char *json;     /* file; NULL: none */
	uint32_t connections; /* of each lcore */
	uint32_t duration_s;  /* 0: until a signal comes */
	uint32_t nlogs, nloads;
	struct log_options logs[LOGS_MAX];
	struct load_options loads[LOADS_MAX];
};

/**
 * Read the command line.
 *
 * @param options Out.
 * @param argc    argv's.
 * @param argv    The program's name or "--", then the program's options, without EAL's.
 * @return 0; 1 it was asked for help or the version, which is printed; -EINVAL it is wrong, which is said.
 */
int options_parse(struct options *options, int argc, char **argv);

/** Whether an initiator inside is on that device. */
bool options_load_on(const struct options *options, const char *device);

#endif
