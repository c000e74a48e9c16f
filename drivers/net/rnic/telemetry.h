/* SPDX-License-Identifier: BSD-3-Clause */

/* Handlers of /rnic/... for dpdk-telemetry, also for tests. */
#ifndef RNIC_TELEMETRY_H
#define RNIC_TELEMETRY_H

struct rte_tel_data;

void rnic_telemetry_register(void);
int rnic_telemetry_list(const char *cmd, const char *params, struct rte_tel_data *data);
int rnic_telemetry_info(const char *cmd, const char *params, struct rte_tel_data *data);
int rnic_telemetry_gids(const char *cmd, const char *params, struct rte_tel_data *data);
int rnic_telemetry_counters(const char *cmd, const char *params, struct rte_tel_data *data);
int rnic_telemetry_softrnic(const char *cmd, const char *params, struct rte_tel_data *data);
int rnic_telemetry_doorbells(const char *cmd, const char *params, struct rte_tel_data *data);

#endif
