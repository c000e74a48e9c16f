/* SPDX-License-Identifier: BSD-3-Clause */

/* Asynchronous events, as a driver raises them. */
#ifndef RDMAPMD_EVENT_PRIVATE_H
#define RDMAPMD_EVENT_PRIVATE_H

#include "device_private.h"
#include "rdmapmd_event.h"

/* Whose event it is; RDMAPMD_OBJECT_TYPES: no such event. */
enum rdmapmd_object_type rdmapmd_event_owner(enum rdmapmd_event_type type);

#endif
