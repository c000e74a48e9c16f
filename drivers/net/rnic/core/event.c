/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What events mean (PRM: "Asynchronous Events"), by the thread that walks their queue. What takes commands to handle is only
 * noted, and left for after the walk.
 */

#include "core/event.h"

#include "base/log.h"
#include "base/thread.h"
#include "core/cmd.h"
#include "core/dev.h"
#include "core/pages.h"
#include "prm/caps.h"
#include "prm/cmd_table.h"
#include "prm/cqe.h"

/* ---- What the card says of itself ---- */

uint64_t
rnic_event_of_card(const struct rnic_dev *dev)
{
	return rnic_general_cap(dev, RNIC_GENERAL_CAP_PORT_MODULE_EVENT) << RNIC_EVENT_PORT_MODULE |
	       rnic_general_cap(dev, RNIC_GENERAL_CAP_TEMP_WARN_EVENT) << RNIC_EVENT_TEMP_WARN;
}

/* In the words of mlx5_core, which people look for. */
static const char *
module_error(uint32_t error)
{
	switch (error) {
	case RNIC_MODULE_POWER_BUDGET_EXCEEDED: return "power budget exceeded";
	case RNIC_MODULE_LONG_RANGE: return "long range for a cable that is not the vendor's";
	case RNIC_MODULE_BUS_STUCK: return "bus stuck (I2C or data shorted)";
	case RNIC_MODULE_NO_EEPROM: return "no EEPROM, or retries timed out";
	case RNIC_MODULE_NOT_PERMITTED: return "enforce part number list";
	case RNIC_MODULE_UNKNOWN_IDENTIFIER: return "unknown identifier";
	case RNIC_MODULE_HIGH_TEMPERATURE: return "high temperature";
	case RNIC_MODULE_BAD_CABLE: return "bad or shorted cable";
	case 0xc: return "insufficient power of the PCIe slot";
	default: return "unknown error";
	}
}

static void
report_module(struct rnic_dev *dev, const struct rnic_eqe *eqe)
{
	const uint32_t data = rnic_be32_to_cpu(eqe->data[0]), module = data >> 16 & 0xff;

	switch (data & 0xf) {
	case RNIC_MODULE_PLUGGED: RNIC_LOG_REPEATED(INFO, dev, "module %u: plugged", module); break;
	case RNIC_MODULE_UNPLUGGED:
		RNIC_LOG_REPEATED(WARNING, dev, "module %u: unplugged", module);
		break;
	case RNIC_MODULE_ERROR:
		RNIC_LOG_REPEATED(ERR, dev, "module %u: %s: look at the cable", module,
				  module_error(rnic_be32_to_cpu(eqe->data[1]) >> 8 & 0xf));
		break;
	default: RNIC_LOG_REPEATED(WARNING, dev, "module %u: status 0x%x", module, data & 0xf);
	}
}

static void
report_temperature(struct rnic_dev *dev, const struct rnic_eqe *eqe)
{
	RNIC_LOG_REPEATED(ERR, dev,
			  "the card is too warm (sensors 0x%08x%08x%08x%08x): look at its cooling",
			  rnic_be32_to_cpu(eqe->data[0]), rnic_be32_to_cpu(eqe->data[1]),
			  rnic_be32_to_cpu(eqe->data[2]), rnic_be32_to_cpu(eqe->data[3]));
}

/* ---- Who listens ---- */

void
rnic_on_event(struct rnic_dev *dev, bool (*fn)(void *arg, const struct rnic_eqe *eqe), void *arg)
{
	if (fn != NULL)
		dev->events.event_arg = arg;
	atomic_store(&dev->events.on_event, fn);
}

void
rnic_on_port_change(struct rnic_dev *dev, void (*fn)(void *arg), void *arg)
{
	/* Its argument first: the function publishes it. Who takes it back leaves it to a call that has begun. */
	if (fn != NULL)
		dev->events.port_arg = arg;
	atomic_store(&dev->events.on_port_change, fn);
}

void
rnic_event_note_port(struct rnic_dev *dev)
{
	atomic_store(&dev->events.port_changed, true);
}

void
rnic_event_tell_port(struct rnic_dev *dev)
{
	void (*fn)(void *arg);

	if (!atomic_exchange(&dev->events.port_changed, false))
		return;
	fn = atomic_load(&dev->events.on_port_change);
	if (fn != NULL)
		fn(dev->events.port_arg);
}

/* Is the queue that it is about the listener's? */
static bool
event_deliver(struct rnic_dev *dev, const struct rnic_eqe *eqe)
{
	bool (*fn)(void *arg, const struct rnic_eqe *eqe) = atomic_load(&dev->events.on_event);

	return fn != NULL && fn(dev->events.event_arg, eqe);
}

/* ---- What they mean ---- */

/*
 * Queues that broke without an error completion. The bursts of the queue know nothing of it, and it is theirs: this thread
 * must not touch it. An application's restart makes all of it new.
 */
static void
report_broken_cq(struct rnic_dev *dev, const struct rnic_eqe *eqe)
{
	RNIC_LOG_REPEATED(
		ERR, dev,
		"CQ 0x%x is in error: %s; its queue stands still: restart the port, or make the "
		"CQ and its queue pairs anew",
		rnic_be32_to_cpu(eqe->data[0]) & 0xffffff,
		(rnic_be32_to_cpu(eqe->data[2]) & 0xff) == RNIC_CQ_ERROR_OVERRUN
			? "overrun"
			: "no access to its ring");
}

static void
report_broken_queue(struct rnic_dev *dev, const struct rnic_eqe *eqe)
{
	RNIC_LOG_REPEATED(ERR, dev, "queue 0x%x: %s; it stands still: restart the port",
			  rnic_be32_to_cpu(eqe->data[6]) & 0xffffff, rnic_event_name(eqe->type));
}

void
rnic_event_handle(struct rnic_dev *dev, const struct rnic_eqe *eqe)
{
	bool broken = false;

	switch (eqe->type) {
	case RNIC_EVENT_COMMAND: rnic_cmdq_completed(dev, rnic_be32_to_cpu(eqe->data[0])); break;
	case RNIC_EVENT_PAGE_REQUEST:
		rnic_pages_request(dev, (uint16_t)rnic_be32_to_cpu(eqe->data[0]),
				   (int32_t)rnic_be32_to_cpu(eqe->data[1]));
		/* Nobody else's; and it may come ahead of its turn, in the middle of a command. */
		return;
	case RNIC_EVENT_PORT_CHANGE: rnic_event_note_port(dev); break;
	case RNIC_EVENT_CQ_ERROR: report_broken_cq(dev, eqe); break;
	case RNIC_EVENT_WQ_CATASTROPHIC:
	case RNIC_EVENT_WQ_INVALID_REQUEST:
	case RNIC_EVENT_WQ_ACCESS_ERROR: broken = true; break;
	case RNIC_EVENT_PORT_MODULE: report_module(dev, eqe); break;
	case RNIC_EVENT_TEMP_WARN: report_temperature(dev, eqe); break;
	case RNIC_EVENT_COMPLETION: break;
	default:
		RNIC_LOG(DEBUG, dev, "event 0x%x (%s), sub-type 0x%x", eqe->type,
			 rnic_event_name(eqe->type), eqe->sub_type);
	}
	/* Of queue pairs the application is told, by an event of its own. */
	if (!event_deliver(dev, eqe) && broken)
		report_broken_queue(dev, eqe);
}
