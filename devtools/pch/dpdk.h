/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * DPDK's headers, read once for the many files of a library: most of the time of a build goes into them. For the builds of
 * sanitizers alone (-Db_pch=true): in all others a file that forgets its own #include fails.
 */
#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rte_io.h>
#include <rte_lcore.h>
#include <rte_malloc.h>
#include <rte_mbuf.h>
#include <rte_ring.h>
#include <rte_spinlock.h>
