/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A cable between two devices of one poller: the first to name it makes it, the second one plugs in. Frames are handed
 * over as they are, so that the payload is copied once, from the sender's memory to the receiver's buffer.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "softrnic/base/log.h"
#include "softrnic/base/poller.h"
#include "softrnic/port/port.h"
#include "softrnic/wire/pair.h"

#define PAIR_NAME_BYTES 64

struct pair {
	char name[PAIR_NAME_BYTES];
	struct softrnic *ends[2]; /* NULL: free */
};

static struct pair *
pair_of(const struct softrnic *dev)
{
	return dev->wire == &softrnic_wire_pair ? dev->wire_data : NULL;
}

static struct pair *
pair_find(struct softrnic *dev, const char *name)
{
	struct softrnic *other;
	struct pair *pair;

	for (other = softrnic_poller_first(dev->poller); other != NULL;
	     other = softrnic_poller_next(other)) {
		pair = other == dev ? NULL : pair_of(other);
		if (pair != NULL && strcmp(pair->name, name) == 0)
			return pair;
	}
	return NULL;
}

static int
pair_open(struct softrnic *dev, const char *arg)
{
	struct pair *pair;

	if (arg == NULL || arg[0] == '\0' || strlen(arg) >= PAIR_NAME_BYTES) {
		SOFTRNIC_LOG(ERR, dev, "wire \"pair\" needs a name of at most %d bytes: pair:NAME",
			     PAIR_NAME_BYTES - 1);
		return -EINVAL;
	}
	pair = pair_find(dev, arg);
	if (pair != NULL && pair->ends[0] != NULL && pair->ends[1] != NULL) {
		SOFTRNIC_LOG(ERR, dev, "pair \"%s\" already joins %s and %s", arg,
			     pair->ends[0]->name, pair->ends[1]->name);
		return -EEXIST;
	}
	if (pair == NULL) {
		pair = calloc(1, sizeof(*pair));
		if (pair == NULL)
			return -ENOMEM;
		memcpy(pair->name, arg, strlen(arg) + 1);
	}
	dev->peer = pair->ends[pair->ends[0] == NULL];
	if (dev->peer != NULL)
		dev->peer->peer = dev;
	pair->ends[pair->ends[0] != NULL] = dev;
	dev->wire_data = pair;
	return 0;
}

static void
pair_close(struct softrnic *dev)
{
	struct pair *pair = dev->wire_data;

	if (dev->peer != NULL)
		dev->peer->peer = NULL;
	dev->peer = NULL;
	pair->ends[pair->ends[1] == dev] = NULL;
	if (pair->ends[0] == NULL && pair->ends[1] == NULL)
		free(pair);
	dev->wire_data = NULL;
}

static bool
pair_is_up(const struct softrnic *dev)
{
	return dev->peer != NULL && softrnic_port_enabled(dev->peer);
}

const struct softrnic_wire_ops softrnic_wire_pair = {
	.name = "pair",
	.open = pair_open,
	.close = pair_close,
	.is_up = pair_is_up,
};
