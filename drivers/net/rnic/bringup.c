/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Bring-up, as the manual's chapter "Driver Start-up" has it: a list of named stages, walked forward to start and back
 * to stop or when one fails. What a stage does not do completely it undoes itself.
 */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>

#include "access/direct.h"
#include "access/vfio.h"
#include "access/vfio_user.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/tunables.h"
#include "bringup.h"
#include "core/caps.h"
#include "core/cmd.h"
#include "core/create.h"
#include "core/control.h"
#include "core/dbrec.h"
#include "core/dev.h"
#include "core/eq.h"
#include "core/event.h"
#include "core/health.h"
#include "core/pages.h"
#include "core/uar.h"
#include "object/mempool.h"
#include "object/mkey.h"
#include "object/port.h"
#include "object/q_counter.h"
#include "object/reg.h"
#include "prm/cmd.h"
#include "prm/cqe.h"
#include "prm/init_seg.h"
#include "prm/queue.h"
#include "prm/reg.h"
#include "rdma/context.h"
#include "rdma/event.h"
#include "rdma/gid.h"
#include "rdma/rdma.h"

int (*rnic_bringup_hook)(struct rnic_dev *dev, const char *stage, bool up);

/* ---- access ---- */

static int
access_up(struct rnic_dev *dev)
{
	if (dev->args.socket[0] != '\0')
		return rnic_access_vfio_user_open(dev->name, &dev->args, &dev->tunables,
						  &dev->access);
	if (dev->args.pci[0] != '\0')
		return rnic_access_vfio_open(dev->name, &dev->args, &dev->access);
	return rnic_access_direct_open(dev->name, &dev->args, &dev->access);
}

static void
access_down(struct rnic_dev *dev)
{
	if (dev->access->maps > 0)
		RNIC_LOG(ERR, dev, "%u maps (%" PRIu64 " bytes) were not taken back",
			 dev->access->maps, dev->access->mapped_bytes);
	dev->access->ops->close(dev->access);
	dev->access = NULL;
}

/* ---- initialization segment ---- */

#define DEAD_GRACE_MS	     5000  /* a function that was reset a moment ago may not answer yet */
#define INITIALIZED_AGAIN_MS 10000 /* with its command queue: Linux gives it 2 s */

/* A firmware that has met its end was reset when the function was opened, and that was not enough. */
static void
report_dead(struct rnic_dev *dev, const char *why)
{
	char syndrome[RNIC_SYNDROME_TEXT];

	if (rnic_dev_fatal_syndrome(dev, syndrome))
		RNIC_LOG(ERR, dev,
			 "%s %s, and a function level reset does not clear it: " RNIC_WAY_OUT, why,
			 syndrome);
	else
		RNIC_LOG(ERR, dev, "%s", why);
}

/* For good, or only so far: a register that is read tells it anew. */
static bool
is_gone(struct rnic_access *access)
{
	if (access->comes_back)
		atomic_store(&access->gone, false);
	return atomic_load(&access->gone);
}

/*
 * A function that still initializes is waited for. One that looks dead is so only if it goes on for some seconds: after a
 * reset registers may read all ones for a while.
 */
static int
wait_until_ready(struct rnic_dev *dev, unsigned int timeout_ms, const char *state)
{
	const uint64_t deadline = rnic_now_us() + (uint64_t)timeout_ms * 1000;
	const uint64_t grace = (uint64_t)RTE_MIN(timeout_ms, (unsigned int)DEAD_GRACE_MS) * 1000;
	const uint32_t bit = UINT32_C(1) << RNIC_FIELD_LOW(RNIC_ISEG_INITIALIZING);
	const struct timespec nap = { .tv_nsec = 1000000 };
	uint64_t now, dead_since = 0;

	for (;; nanosleep(&nap, NULL)) {
		const uint32_t word = rnic_be32_to_cpu(dev->access->ops->read32(
			dev->access, RNIC_FIELD_OFFSET(RNIC_ISEG_INITIALIZING)));
		/* While it initializes its health says nothing. */
		const char *dead = word & bit && word != UINT32_MAX ? NULL : rnic_device_dead(dev);

		if (dead == NULL && !(word & bit))
			return 0;
		now = rnic_now_us();
		if (dead == NULL)
			dead_since = 0;
		else if (dead_since == 0)
			dead_since = now;
		if (dead != NULL && (now - dead_since >= grace || is_gone(dev->access))) {
			report_dead(dev, dead);
			return -EIO;
		}
		if (dead == NULL && now >= deadline) {
			RNIC_LOG(ERR, dev,
				 "the device is %s after %u ms: reset it, or power-cycle the host",
				 state, timeout_ms);
			return -ETIMEDOUT;
		}
	}
}

/* Of the commands' events. */
static void
suspect_async_eq(struct rnic_dev *dev)
{
	rnic_eq_suspect(dev->async_eq);
}

static int
cmdq_up(struct rnic_dev *dev)
{
	static const struct rnic_cmdq_ops ops = {
		.sync = rnic_control_sync,
		.suspect = suspect_async_eq,
		.serve_pages = rnic_control_serve_pages,
	};

	return rnic_cmdq_create(dev, &ops);
}

static int
initializing_up(struct rnic_dev *dev)
{
	int rc = wait_until_ready(dev, dev->tunables.initializing_timeout_ms, "still initializing");

	if (rc != 0)
		return rc;
	/* Its commands name both functions, and the host's has its pages from there. */
	if (rnic_register_read(dev, RNIC_ISEG_EMBEDDED_CPU)) {
		RNIC_LOG(
			ERR, dev,
			"this is the function of an embedded CPU (the Arm side of a BlueField), which "
			"manages the host's as well: not supported. Use a function of the host, or "
			"leave this one to mlx5_core");
		return -ENOTSUP;
	}
	snprintf(dev->fw_version, sizeof(dev->fw_version), "%u.%u.%04u",
		 rnic_register_read(dev, RNIC_ISEG_FW_REV_MAJOR),
		 rnic_register_read(dev, RNIC_ISEG_FW_REV_MINOR),
		 rnic_register_read(dev, RNIC_ISEG_FW_REV_SUBMINOR));
	return 0;
}

/*
 * Firmware may initialize once more when it is told of the command queue, and hears no command meanwhile. Linux waits before
 * and after; OpenBSD, illumos, rdma-core and Snabb only after.
 */
static int
ready_up(struct rnic_dev *dev)
{
	const unsigned int timeout_ms =
		RTE_MIN(dev->tunables.initializing_timeout_ms, (unsigned int)INITIALIZED_AGAIN_MS);
	int rc = wait_until_ready(dev, timeout_ms, "initializing again, with its command queue,");

	if (rc == 0)
		rnic_cmdq_remember(dev);
	return rc;
}

/* ---- the function ---- */

static int
function_command(struct rnic_dev *dev, uint16_t opcode)
{
	struct rnic_function_in in = { 0 };

	return rnic_cmd_exec_in(dev, opcode, 0, &in, sizeof(in));
}

static int
enable_up(struct rnic_dev *dev)
{
	return function_command(dev, RNIC_CMD_ENABLE_HCA);
}

static void
enable_down(struct rnic_dev *dev)
{
	function_command(dev, RNIC_CMD_DISABLE_HCA);
}

/* Interface step sequence id 1 is what all layouts of this driver belong to. */
static int
issi_check(struct rnic_dev *dev)
{
	struct rnic_cmd_in in = { 0 };
	struct rnic_query_issi_out out;
	int rc = rnic_cmd_exec(dev, RNIC_CMD_QUERY_ISSI, 0, &in, sizeof(in), &out, sizeof(out));

	if (rc != 0 ||
	    rnic_query_issi_out_get(&out, RNIC_QUERY_ISSI_OUT_SUPPORTED_ISSI_DW0) & 1u << 1)
		return rc;
	RNIC_LOG(ERR, dev, "the firmware does not know ISSI 1: update it");
	return -ENOTSUP;
}

static int
issi_up(struct rnic_dev *dev)
{
	struct rnic_set_issi_in in = { 0 };
	int rc = issi_check(dev);

	if (rc != 0)
		return rc;
	rnic_set_issi_in_set(&in, RNIC_SET_ISSI_IN_CURRENT_ISSI, 1);
	return rnic_cmd_exec_in(dev, RNIC_CMD_SET_ISSI, 0, &in, sizeof(in));
}

/* What the firmware does not give back it may still work in. */
static void
boot_pages_down(struct rnic_dev *dev)
{
	if (rnic_pages_reclaim(dev) != 0)
		rnic_dev_give_up(dev, "the firmware keeps pages of ours");
	rnic_pages_destroy(dev);
}

static int
boot_pages_up(struct rnic_dev *dev)
{
	int rc = rnic_pages_create(dev);

	if (rc == 0) {
		rc = rnic_pages_give(dev, RNIC_PAGES_BOOT);
		if (rc != 0)
			boot_pages_down(dev);
	}
	return rc;
}

/* A function that does not take it has the byte order that all of them begin with: little-endian. Linux asks PFs alone. */
static int
endianness_up(struct rnic_dev *dev)
{
	const bool big = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
	struct rnic_host_endianness_reg endianness = { 0 };
	int rc;

	rnic_host_endianness_reg_set(&endianness, RNIC_HOST_ENDIANNESS_REG_HE, big);
	rc = rnic_access_reg(dev, rnic_cmd_try, RNIC_REG_HOST_ENDIANNESS, true, &endianness,
			     sizeof(endianness));
	if (!rnic_cmd_refused(rc) || big)
		return rc;
	RNIC_LOG(DEBUG, dev, "HOST_ENDIANNESS is not for this function: %s", strerror(-rc));
	return 0;
}

/* Taken back with the boot pages, after TEARDOWN_HCA. */
static int
init_pages_up(struct rnic_dev *dev)
{
	return rnic_pages_give(dev, RNIC_PAGES_INIT);
}

static int
init_hca_up(struct rnic_dev *dev)
{
	struct rnic_cmd_in in = { 0 };

	return rnic_cmd_exec_in(dev, RNIC_CMD_INIT_HCA, 0, &in, sizeof(in));
}

static void
init_hca_down(struct rnic_dev *dev)
{
	struct rnic_teardown_hca_in in = { 0 };
	struct rnic_teardown_hca_out out;

	/* It goes on, then, and asking for its pages would be asking for trouble: Linux leaves them to it. */
	if (rnic_cmd_exec(dev, RNIC_CMD_TEARDOWN_HCA, 0, &in, sizeof(in), &out, sizeof(out)) != 0)
		rnic_dev_give_up(dev, "the firmware does not end");
}

static int
adapter_up(struct rnic_dev *dev)
{
	struct rnic_cmd_in in = { 0 };
	struct rnic_query_adapter_out out;
	int rc = rnic_cmd_exec(dev, RNIC_CMD_QUERY_ADAPTER, 0, &in, sizeof(in), &out, sizeof(out));

	if (rc != 0)
		return rc;
	memcpy(dev->board_id, (uint8_t *)&out + RNIC_QUERY_ADAPTER_PSID,
	       RTE_MIN(sizeof(dev->board_id) - 1, (size_t)RNIC_QUERY_ADAPTER_PSID_BYTES));
	dev->vendor_id =
		(uint32_t)rnic_query_adapter_out_get(&out, RNIC_QUERY_ADAPTER_OUT_IEEE_VENDOR_ID);
	return 0;
}

/* ---- events ---- */

#define ASYNC_EQ_LOG_SIZE 8
#define ASYNC_EQ_VECTOR	  0
#define EVENT(type)	  (UINT64_C(1) << (type))

static int
async_eq_up(struct rnic_dev *dev)
{
	const uint64_t events = EVENT(RNIC_EVENT_COMMAND) | EVENT(RNIC_EVENT_PAGE_REQUEST) |
				EVENT(RNIC_EVENT_PORT_CHANGE) | EVENT(RNIC_EVENT_CQ_ERROR) |
				EVENT(RNIC_EVENT_WQ_CATASTROPHIC) |
				EVENT(RNIC_EVENT_WQ_INVALID_REQUEST) |
				EVENT(RNIC_EVENT_WQ_ACCESS_ERROR) | rnic_event_of_card(dev);

	return rnic_eq_create(dev, ASYNC_EQ_LOG_SIZE, events, ASYNC_EQ_VECTOR, rnic_event_handle,
			      &dev->async_eq);
}

static void
async_eq_down(struct rnic_dev *dev)
{
	struct rnic_eq *eq = dev->async_eq;

	/* Threads that wait for its end do not look at it. */
	dev->async_eq = NULL;
	rnic_eq_destroy(dev, eq);
}

static int
control_up(struct rnic_dev *dev)
{
	int rc = rnic_control_start(dev);

	if (rc == 0)
		rnic_cmdq_use_events(dev, true);
	return rc;
}

static void
control_down(struct rnic_dev *dev)
{
	/* First: it may have a lock, and wait. */
	rnic_control_stop(dev);
	rnic_cmdq_use_events(dev, false);
}

/* ---- objects that all queues share ---- */

static int
pd_up(struct rnic_dev *dev)
{
	return rnic_cmd_alloc(dev, RNIC_CMD_ALLOC_PD, &dev->pd);
}

static void
pd_down(struct rnic_dev *dev)
{
	rnic_cmd_destroy(dev, RNIC_CMD_DEALLOC_PD, dev->pd);
}

static int
td_up(struct rnic_dev *dev)
{
	return rnic_cmd_alloc(dev, RNIC_CMD_ALLOC_TRANSPORT_DOMAIN, &dev->td);
}

static void
td_down(struct rnic_dev *dev)
{
	rnic_cmd_destroy(dev, RNIC_CMD_DEALLOC_TRANSPORT_DOMAIN, dev->td);
}

static int
tis_up(struct rnic_dev *dev)
{
	struct rnic_create_tis_in in = { 0 };

	rnic_tisc_set(rnic_create_tis_in_tisc(&in), RNIC_TISC_TRANSPORT_DOMAIN, dev->td);
	return rnic_cmd_create(dev, RNIC_CMD_CREATE_TIS, &in, sizeof(in), NULL, &dev->tis);
}

static void
tis_down(struct rnic_dev *dev)
{
	rnic_cmd_destroy(dev, RNIC_CMD_DESTROY_TIS, dev->tis);
}

static int
q_counter_up(struct rnic_dev *dev)
{
	return rnic_q_counter_alloc(dev, "frames without a buffer", &dev->q_counter,
				    &dev->has_q_counter);
}

static void
q_counter_down(struct rnic_dev *dev)
{
	if (dev->has_q_counter)
		rnic_cmd_destroy(dev, RNIC_CMD_DEALLOC_Q_COUNTER, dev->q_counter);
}

static int
health_up(struct rnic_dev *dev)
{
	rnic_control_watch(dev, true);
	return 0;
}

static void
health_down(struct rnic_dev *dev)
{
	rnic_control_watch(dev, false);
}

/* ---- the process's list of devices ---- */

static void
register_down(struct rnic_dev *dev)
{
	rnic_rdma_events_to(dev, NULL);
	rdmapmd_device_unregister(dev->device);
	dev->device = NULL;
}

static int
register_up(struct rnic_dev *dev)
{
	int rc = rdmapmd_device_register(dev->name, "net_rnic", dev, &dev->device);

	if (rc != 0) {
		RNIC_LOG(ERR, dev, "not taken into the list of devices: %s", strerror(-rc));
		return rc;
	}
	if (dev->rdma == NULL || dev->rdma->refused)
		return 0;
	rnic_rdma_events_to(dev, dev->device);
	rc = rdmapmd_device_offer(dev->device, &rnic_rdma_ops);
	if (rc != 0)
		register_down(dev);
	return rc;
}

/* ---- the list ---- */

static const struct {
	const char *name;
	int (*up)(struct rnic_dev *dev);
	void (*down)(struct rnic_dev *dev);
} stages[] = {
	{ "access", access_up, access_down },
	{ "wait until initialized", initializing_up, NULL },
	{ "command queue", cmdq_up, rnic_cmdq_destroy },
	{ "wait until ready", ready_up, NULL },
	{ "enable", enable_up, enable_down },
	{ "ISSI", issi_up, NULL },
	{ "boot pages", boot_pages_up, boot_pages_down },
	{ "host endianness", endianness_up, NULL },
	{ "capabilities", rnic_caps_setup, NULL },
	{ "init pages", init_pages_up, NULL },
	{ "init", init_hca_up, init_hca_down },
	{ "board id", adapter_up, NULL },
	{ "UARs", rnic_uars_create, rnic_uars_destroy },
	{ "async EQ", async_eq_up, async_eq_down },
	{ "RDMA", rnic_rdma_setup, rnic_rdma_teardown },
	{ "control thread", control_up, control_down },
	{ "PD", pd_up, pd_down },
	{ "transport domain", td_up, td_down },
	{ "TIS", tis_up, tis_down },
	{ "queue counter", q_counter_up, q_counter_down },
	{ "doorbell records", rnic_dbrecs_create, rnic_dbrecs_destroy },
	{ "memory keys", rnic_mkeys_create, rnic_mkeys_destroy },
	{ "mempools", rnic_mkey_pools_create, rnic_mkey_pools_destroy },
	{ "port", rnic_port_setup, rnic_port_down },
	{ "RoCE addresses", rnic_gids_setup, rnic_gids_down },
	{ "health watch", health_up, health_down },
	{ "registration", register_up, register_down },
};

unsigned int
rnic_bringup_stages(void)
{
	return RTE_DIM(stages);
}

const char *
rnic_bringup_stage_name(unsigned int stage)
{
	return stage < RTE_DIM(stages) ? stages[stage].name : NULL;
}

/* One deadline for all: each stage waits for its commands, and those for several answers. */
static void
begin_end(struct rnic_dev *dev)
{
	atomic_store(&dev->end_us, rnic_now_us() + (uint64_t)dev->tunables.close_ms * 1000);
	/* A device that takes all of it is reset. */
	if (dev->access != NULL && dev->access->ops->end_by != NULL)
		dev->access->ops->end_by(dev->access,
					 dev->tunables.close_ms + dev->tunables.last_ms);
}

static void
walk_back(struct rnic_dev *dev)
{
	begin_end(dev);
	rnic_dev_quiesce(dev);
	while (dev->stages_up > 0) {
		unsigned int i = --dev->stages_up;

		if (rnic_bringup_hook != NULL)
			rnic_bringup_hook(dev, stages[i].name, false);
		if (stages[i].down != NULL)
			stages[i].down(dev);
	}
}

static int
stages_walk(struct rnic_dev *dev)
{
	int rc = 0;

	for (; dev->stages_up < RTE_DIM(stages); dev->stages_up++) {
		const char *name = stages[dev->stages_up].name;

		if (rnic_bringup_hook != NULL)
			rc = rnic_bringup_hook(dev, name, true);
		if (rc == 0)
			rc = stages[dev->stages_up].up(dev);
		if (rc != 0) {
			RNIC_LOG(ERR, dev, "bring-up failed at stage '%s': %s", name,
				 strerror(-rc));
			return rc;
		}
		RNIC_LOG(DEBUG, dev, "stage '%s' is up", name);
	}
	return 0;
}

static void
free_dev(struct rnic_dev *dev)
{
	pthread_mutex_destroy(&dev->rx_events.lock);
	pthread_mutex_destroy(&dev->neigh_rules.lock);
	pthread_mutex_destroy(&dev->qp_steering.lock);
	pthread_mutex_destroy(&dev->quiesce_lock);
	pthread_mutex_destroy(&dev->port_lock);
	free(dev->macs);
	free(dev);
}

int
rnic_dev_open(const char *name, const char *devargs, int socket_id, struct rnic_dev **result)
{
	struct rnic_devargs args;
	struct rnic_dev *dev;
	int rc = rnic_devargs_parse(name, devargs, &args);

	if (rc != 0)
		return rc;
	if (strlen(name) >= sizeof(dev->name)) {
		RNIC_LOG_NAMED(ERR, name, "the name is too long: at most %zu characters",
			       sizeof(dev->name) - 1);
		return -ENAMETOOLONG;
	}
	dev = calloc(1, sizeof(*dev));
	if (dev == NULL)
		return -ENOMEM;
	memcpy(dev->name, name, strlen(name) + 1);
	dev->args = args;
	dev->tunables = *rnic_tunables_in_use();
	dev->socket_id = socket_id;
	pthread_mutex_init(&dev->port_lock, NULL);
	pthread_mutex_init(&dev->quiesce_lock, NULL);
	pthread_mutex_init(&dev->qp_steering.lock, NULL);
	pthread_mutex_init(&dev->neigh_rules.lock, NULL);
	pthread_mutex_init(&dev->rx_events.lock, NULL);
	rc = stages_walk(dev);
	if (rc != 0) {
		walk_back(dev);
		free_dev(dev);
		return rc;
	}
	RNIC_LOG(INFO, dev, "firmware %s, board %s, %02x:%02x:%02x:%02x:%02x:%02x", dev->fw_version,
		 dev->board_id, dev->mac[0], dev->mac[1], dev->mac[2], dev->mac[3], dev->mac[4],
		 dev->mac[5]);
	*result = dev;
	return 0;
}

void
rnic_dev_close(struct rnic_dev *dev)
{
	if (dev == NULL)
		return;
	walk_back(dev);
	free_dev(dev);
}
