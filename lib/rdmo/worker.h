/* SPDX-License-Identifier: BSD-3-Clause */

/* A worker: its lanes, and the server of its bootstrap. */
#ifndef RDMO_WORKER_H
#define RDMO_WORKER_H

#include "crew.h"
#include "serve.h"

struct rdmo_worker {
	struct rdmo_crew crew;
	struct rdmo_server server;
};

#endif
