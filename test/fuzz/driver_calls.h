/* SPDX-License-Identifier: BSD-3-Clause */

/* Calls on the device of driver_world.h that queues are made of, each as an operation of an input. */
#ifndef TEST_FUZZ_DRIVER_CALLS_H
#define TEST_FUZZ_DRIVER_CALLS_H

#include <stdbool.h>
#include <stdint.h>

/* The port: its MTU, link, addresses, counters. */
void calls_port(uint8_t what, uint8_t value);
/* Which frames reach it. */
void calls_steering(uint8_t what, uint8_t value);
/* Memory keys; what was made goes at the end of the input. */
void calls_key(uint8_t what, uint8_t value);
/* Doorbell registers; likewise. */
void calls_register(uint8_t what);
/* Queues of nobody, made, changed and destroyed. */
void calls_object(uint8_t what, uint8_t value);
/* All that they have made goes, and the port is as it was. False: it cannot be. */
bool calls_end(void);

#endif
