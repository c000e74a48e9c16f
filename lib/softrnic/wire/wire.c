/* SPDX-License-Identifier: BSD-3-Clause */

/* Wires by name, and what all of them have in common. */
#include <errno.h>
#include <string.h>

#include "softrnic/base/log.h"
#include "softrnic/base/poller.h"
#include "softrnic/base/work.h"
#include "softrnic/wire/faults.h"
#include "softrnic/wire/link.h"
#include "softrnic/wire/loop.h"
#include "softrnic/wire/null.h"
#include "softrnic/wire/pair.h"
#include "softrnic/wire/pcap.h"
#include "softrnic/wire/port.h"
#include "softrnic/wire/source.h"
#include "softrnic/wire/switch.h"
#include "softrnic/wire/wire.h"

static const struct softrnic_wire_ops *const wires[] = {
	&softrnic_wire_loop,   &softrnic_wire_pair, &softrnic_wire_port,   &softrnic_wire_pcap,
	&softrnic_wire_switch, &softrnic_wire_null, &softrnic_wire_source,
};

/* *arg: what follows the ':', or NULL */
static const struct softrnic_wire_ops *
wire_find(const char *spec, const char **arg)
{
	const char *colon = strchr(spec, ':');
	size_t length = colon != NULL ? (size_t)(colon - spec) : strlen(spec);
	size_t i;

	*arg = colon != NULL ? colon + 1 : NULL;
	for (i = 0; i < sizeof(wires) / sizeof(wires[0]); i++) {
		if (strlen(wires[i]->name) == length && strncmp(wires[i]->name, spec, length) == 0)
			return wires[i];
	}
	return NULL;
}

int
softrnic_wire_prepare(struct softrnic *dev, const char *spec)
{
	const struct softrnic_conf *conf = &dev->conf;
	const struct softrnic_wire_ops *ops;
	const char *arg;
	int rc;

	ops = wire_find(spec, &arg);
	if (ops == NULL) {
		SOFTRNIC_LOG(
			ERR, dev,
			"wire \"%s\" is unknown: expected \"loop\", \"pair:NAME\", "
			"\"switch:NAME\", \"port:ETHDEV\", \"pcap\", \"null\" and \"source:BYTES\"",
			spec);
		return -EINVAL;
	}
	if (ops != &softrnic_wire_pcap &&
	    (conf->rx_pcap != NULL || conf->tx_pcap != NULL || conf->iface != NULL)) {
		SOFTRNIC_LOG(ERR, dev,
			     "rx_pcap, tx_pcap and iface need the wire \"pcap\", not \"%s\"", spec);
		return -EINVAL;
	}
	rc = ops->prepare != NULL ? ops->prepare(dev, arg) : 0;
	if (rc == 0)
		dev->wire_prepared = ops;
	return rc;
}

int
softrnic_wire_open(struct softrnic *dev, const char *spec)
{
	const struct softrnic_wire_ops *ops = dev->wire_prepared;
	const char *arg;
	int rc;

	rc = softrnic_faults_init(dev);
	if (rc != 0)
		return rc;
	(void)wire_find(spec, &arg);
	rc = ops->open != NULL ? ops->open(dev, arg) : 0;
	if (rc != 0) {
		softrnic_faults_fini(dev);
		return rc;
	}
	dev->wire = ops;
	softrnic_roce_changed(dev);
	return 0;
}

void
softrnic_wire_close(struct softrnic *dev)
{
	struct softrnic *peer;

	if (dev->wire == NULL)
		return;
	softrnic_faults_fini(dev);
	peer = dev->peer;
	if (dev->wire->close != NULL)
		dev->wire->close(dev);
	dev->wire = NULL;
	softrnic_roce_changed(dev);
	if (peer != NULL && peer != dev)
		softrnic_link_update(peer);
}

void
softrnic_wire_release(struct softrnic *dev)
{
	if (dev->wire_prepared != NULL && dev->wire_prepared->release != NULL)
		dev->wire_prepared->release(dev);
	dev->wire_prepared = NULL;
}

unsigned int
softrnic_wire_poll(struct softrnic *dev)
{
	unsigned int done = 0;

	softrnic_share_begin(dev, 0);
	if (dev->wire->poll != NULL)
		done += dev->wire->poll(dev);
	/* Behind it: the wire knows then whether it may still send anything. */
	if (dev->faults != NULL)
		done += softrnic_faults_poll(dev);
	return done;
}
