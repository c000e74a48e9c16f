/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A stand-in for the kernel's uverbs, for programs linked with libibverbs.a and libmlx5.a: one mlx5 device without
 * hardware. The libraries find it in a sysfs folder made for it, and open, map and command it as they would a NIC; what
 * they ask the kernel for is answered here by the kernel's public headers (rdma/ib_user_verbs.h, rdma/mlx5-abi.h). So
 * queue pairs and completion queues are made by the libraries' own code, in memory of this process. Whoever wants
 * completions writes them (mlx5dv_init_obj() has the addresses).
 *
 * The linker gives the libraries these functions for libc's and libnl's (--wrap in meson.build).
 */
#ifndef UVERBS_H
#define UVERBS_H

#include <stdint.h>

#define UVERBS_QPN 0x100 /* of every queue pair */

struct ibv_context;

/* The device, open; NULL and a line on standard error if that fails. Call it once, before other calls of libibverbs. */
struct ibv_context *uverbs_open(void);
/* The user index that libmlx5 gave to the queue pair created last: completions bear it. */
uint32_t uverbs_last_uidx(void);

#endif
