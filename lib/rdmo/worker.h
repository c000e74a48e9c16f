/* SPDX-License-Identifier: BSD-3-Clause */

/* A worker: its lanes, the server of its bootstrap, and what telemetry has of both. */
#ifndef RDMO_WORKER_H
#define RDMO_WORKER_H

#include "crew.h"
#include "serve.h"
#include "telemetry.h"

struct rdmo_worker {
	struct rdmo_crew crew;
	struct rdmo_server server;
	struct rdmo_shown shown;
};

#endif
