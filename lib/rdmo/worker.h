/* SPDX-License-Identifier: BSD-3-Clause */

/* A worker: its lane, and the server of its bootstrap. */
#ifndef RDMO_WORKER_H
#define RDMO_WORKER_H

#include "lane.h"
#include "serve.h"

struct rdmo_worker {
	struct rdmo_lane lane;
	struct rdmo_server server;
};

#endif
