/* SPDX-License-Identifier: BSD-3-Clause */

/* Wires by name, and what all of them have in common. */
#include <errno.h>
#include <string.h>

#include "device.h"

static const struct softrnic_wire_ops *const wires[] = {
	&softrnic_wire_loop,
	&softrnic_wire_pair,
};

int
softrnic_wire_open(struct softrnic *dev, const char *spec)
{
	const char *colon = strchr(spec, ':');
	size_t length = colon != NULL ? (size_t)(colon - spec) : strlen(spec);
	size_t i;
	int ret;

	for (i = 0; i < sizeof(wires) / sizeof(wires[0]); i++) {
		if (strlen(wires[i]->name) == length && strncmp(wires[i]->name, spec, length) == 0)
			break;
	}
	if (i == sizeof(wires) / sizeof(wires[0])) {
		SOFTRNIC_LOG(ERR, dev,
			     "wire \"%s\" is unknown: there are \"loop\" and \"pair:NAME\"", spec);
		return -EINVAL;
	}
	ret = softrnic_faults_init(dev);
	if (ret != 0)
		return ret;
	ret = wires[i]->open(dev, colon != NULL ? colon + 1 : NULL);
	if (ret != 0) {
		softrnic_faults_fini(dev);
		return ret;
	}
	dev->wire = wires[i];
	return 0;
}

void
softrnic_wire_close(struct softrnic *dev)
{
	struct softrnic *peer;

	if (dev->wire == NULL)
		return;
	softrnic_faults_fini(dev);
	peer = softrnic_pair_peer(dev);
	dev->wire->close(dev);
	dev->wire = NULL;
	if (peer != NULL)
		softrnic_port_update(peer);
}

void
softrnic_wire_changed(struct softrnic *dev)
{
	struct softrnic *peer = softrnic_pair_peer(dev);

	softrnic_port_update(dev);
	if (peer != NULL)
		softrnic_port_update(peer);
}

unsigned int
softrnic_wire_poll(struct softrnic *dev)
{
	unsigned int done = 0;

	if (dev->faults != NULL)
		done += softrnic_faults_poll(dev);
	if (dev->wire->poll != NULL)
		done += dev->wire->poll(dev);
	return done;
}
