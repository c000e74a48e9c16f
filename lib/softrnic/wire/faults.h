/* SPDX-License-Identifier: BSD-3-Clause */

/* A bad cable. */
#ifndef SOFTRNIC_FAULTS_H
#define SOFTRNIC_FAULTS_H

#include "softrnic/receive/roce.h"

/* Of sent frames: dev->faults is NULL when none is configured. */
int softrnic_faults_init(struct softrnic *dev);
void softrnic_faults_fini(struct softrnic *dev);
void softrnic_faults_send(struct softrnic *dev, const struct softrnic_frame *frame);
void softrnic_faults_send_roce(struct softrnic *dev, const struct softrnic_roce_frame *frame);
unsigned int softrnic_faults_poll(struct softrnic *dev);

#endif
