/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What the files of the control half have of each other, and unit tests of them. The data path and the ethdev see
 * rnic.h alone.
 */
#ifndef RNIC_INTERNAL_H
#define RNIC_INTERNAL_H

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "prm/cmd.h"
#include "prm/cmdq.h"
#include "prm/init_seg.h"
#include "prm/reg.h"
#include "prm/uar.h"
#include "core/event.h"
#include "core/health.h"
#include "core/dev.h"
#include "base/thread.h"
#include "base/tunables.h"

#define RNIC_PAGE_BYTES 4096u

static inline uint64_t
rnic_now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* mem.c: the page list of a ring: 8-byte addresses of its 4 KiB pages. */
static inline uint32_t
rnic_mem_page_count(const struct rnic_mem *mem)
{
	return (uint32_t)(mem->length / RNIC_PAGE_BYTES);
}
void rnic_mem_page_list(const struct rnic_mem *mem, void *list);

/* Registers of the initialization segment. */
static inline uint32_t
rnic_register_read(struct rnic_dev *dev, enum rnic_init_seg_field field)
{
	uint32_t value =
		rnic_be32_to_cpu(dev->access->ops->read32(dev->access, RNIC_FIELD_OFFSET(field)));

	return value >> RNIC_FIELD_LOW(field) & (uint32_t)rnic_field_mask(field);
}

/* ---- eventfd.c: one signals, the other polls; neither call waits ---- */
/* Errors are logged; *fd is -1 then. */
int rnic_eventfd_open(const char *name, int *fd);
void rnic_eventfd_signal(int fd);
/* Not readable any more, until the next signal. */
void rnic_eventfd_drain(int fd);

/* ---- cmd.c ---- */
extern unsigned int rnic_cmd_timeout_ms;      /* of a command; tests shorten it */
extern unsigned int rnic_cmd_dead_timeout_ms; /* ... when the device looks dead */
/* What commands ask of the floors above, which hand it down with the queue. */
struct rnic_cmdq_ops {
	/* All events that the device has raised so far are handled when it returns. */
	void (*sync)(struct rnic_dev *dev);
	/* Events of commands did not come: can the device raise any? No waiting. */
	void (*suspect)(struct rnic_dev *dev);
	/* From who waits for a command: give the pages that the device asks for, if nobody else hears of it. */
	void (*serve_pages)(struct rnic_dev *dev);
};
int rnic_cmdq_create(struct rnic_dev *dev, const struct rnic_cmdq_ops *ops);
void rnic_cmdq_destroy(struct rnic_dev *dev);
/* Where the device says that its queue is, once it is ready: by that a reset by somebody else is noticed. */
void rnic_cmdq_remember(struct rnic_dev *dev);
/* Completions come as events; waiting threads may sleep. */
void rnic_cmdq_use_events(struct rnic_dev *dev, bool on);
/* From the event queue: these slots have completed. */
void rnic_cmdq_completed(struct rnic_dev *dev, uint32_t slots);
/* As rnic_cmd_exec(); what the device refuses is not reported, all else is. For questions that it may refuse. */
int rnic_cmd_try(struct rnic_dev *dev, uint16_t opcode, uint16_t op_mod, void *in,
		 uint32_t in_bytes, void *out, uint32_t out_bytes);
/* Either of the two. */
typedef int rnic_cmd_fn(struct rnic_dev *dev, uint16_t opcode, uint16_t op_mod, void *in,
			uint32_t in_bytes, void *out, uint32_t out_bytes);
/* What rnic_cmd_exec() and rnic_cmd_try() say when the firmware did not want to: there is a device, and it goes on. */
static inline bool
rnic_cmd_refused(int rc)
{
	switch (rc) {
	case -EINVAL:
	case -EBUSY:
	case -ENOSPC:
	case -EOPNOTSUPP:
	case -EPERM:
	case -EREMOTEIO: return true;
	default: return false;
	}
}
/* Commands have completed of which no event has told yet. */
bool rnic_cmdq_owed(struct rnic_dev *dev);
/* None will. */
void rnic_cmdq_forgive(struct rnic_dev *dev);
/* Is there a command that timed out, or has been under way for so long? */
bool rnic_cmdq_stuck(struct rnic_dev *dev, uint64_t us);
/* Commands in flight or lost, for tests. */
uint32_t rnic_cmdq_busy_slots(struct rnic_dev *dev);

/* ---- caps.c ---- */
int rnic_caps_setup(struct rnic_dev *dev);
static inline uint64_t
rnic_general_cap(const struct rnic_dev *dev, enum rnic_general_cap_field field)
{
	return rnic_general_cap_get(&dev->caps.general, field);
}

/* ---- pages.c ---- */
/* With a device that gives no page back, since the last one that it gave; tests shorten it. */
extern unsigned int rnic_pages_patience_ms;
int rnic_pages_create(struct rnic_dev *dev);
void rnic_pages_destroy(struct rnic_dev *dev);
/* Give what the device asks for at this stage (enum rnic_query_pages_op_mod). */
int rnic_pages_give(struct rnic_dev *dev, unsigned int stage);
/* Take all pages back, until the device holds none. Else it must be reset before rnic_pages_destroy() unmaps them. */
int rnic_pages_reclaim(struct rnic_dev *dev);
/* A page request event: count pages wanted, or offered back if negative. Only noted. */
void rnic_pages_request(struct rnic_dev *dev, uint16_t function, int32_t count);
/* Ask what its requests would have been, should they have got lost. Only noted. */
void rnic_pages_ask(struct rnic_dev *dev);
/* Do what was asked since. */
void rnic_pages_answer(struct rnic_dev *dev);
uint32_t rnic_pages_held(struct rnic_dev *dev);

/* ---- eq.c ---- */
extern unsigned int rnic_silence_ms; /* before a queue is asked for its state; tests shorten it */
/* What its entries mean: called in the walk. NULL: nobody walks it. */
typedef void rnic_eq_handler(struct rnic_dev *dev, const struct rnic_eqe *eqe);
int rnic_eq_create(struct rnic_dev *dev, unsigned int log_size, uint64_t events,
		   unsigned int vector, rnic_eq_handler *handler, struct rnic_eq **eq);
/* As rnic_eq_create(); that the device has refused it is said to the caller alone. */
int rnic_eq_try(struct rnic_dev *dev, unsigned int log_size, uint64_t events, unsigned int vector,
		rnic_eq_handler *handler, bool *refused, struct rnic_eq **eq);
void rnic_eq_destroy(struct rnic_dev *dev, struct rnic_eq *eq);
uint32_t rnic_eq_number(const struct rnic_eq *eq);
/* Handle what is there, at most a ring of it, and arm. One caller at a time. Returns the number of events. */
unsigned int rnic_eq_poll(struct rnic_dev *dev, struct rnic_eq *eq);
/*
 * The requests for pages among what waits there, ahead of all else: noted, for rnic_pages_answer(). The events stay, and are
 * handled by the walk, these requests but once. By the thread that walks it.
 */
void rnic_eq_foresee(struct rnic_dev *dev, struct rnic_eq *eq);
/*
 * Of an EQ that CQs alone have, from a data path: how many completion events there are, at most a ring of them whatever the
 * device writes meanwhile; the rest, and all others, are passed over. Armed afterwards.
 */
unsigned int rnic_eq_take_completions(struct rnic_dev *dev, struct rnic_eq *eq);
void rnic_eq_arm(struct rnic_dev *dev, struct rnic_eq *eq);
/*
 * Each queue is under suspicion for itself, since something said that it has an event to tell and it told of none: others may
 * be as lively as they like. Any thread; one that was suspected before stays so since then.
 */
void rnic_eq_suspect(struct rnic_eq *eq);
void rnic_eq_trust(struct rnic_eq *eq);
/* From the control thread, now and then, of one that CQs alone have: does one of them wait for its event? */
void rnic_eq_owes(struct rnic_eq *eq, bool owes);
/* Has it been under suspicion for rnic_silence_ms? Then the device is asked. */
bool rnic_eq_silent(const struct rnic_eq *eq);
/* It takes no more events, as the device says: it ran over, or could not be written to. */
#define RNIC_DEAF_LOOK_MS 10 /* between two looks at queues whose events do not come any more */
bool rnic_eq_failed(struct rnic_dev *dev, uint32_t eqn);
/*
 * In the place of one that failed another one, armed. By the thread that walks it. CQs that name the old one raise no event any
 * more. -ENOSPC: too often.
 */
int rnic_eq_remake(struct rnic_dev *dev, struct rnic_eq *eq);

/* ---- control.c ---- */
extern unsigned int rnic_sync_patience_s; /* of rnic_control_sync(); tests lengthen it */
extern unsigned int rnic_last_ms; /* what it waits for has, once it is to end; tests shorten it */
int rnic_control_start(struct rnic_dev *dev);
void rnic_control_stop(struct rnic_dev *dev);
/* What events have asked for that takes commands: pages, a look at the port. After a walk of the event queue. */
void rnic_control_answer(struct rnic_dev *dev);
/*
 * All events that the device has raised so far are handled when it returns: none of an object that was taken down or reset
 * can meet its successor. Not with a lock held that the handlers of events take.
 */
void rnic_control_sync(struct rnic_dev *dev);
/*
 * From who waits for a command, and is the one that hears of requests for pages: the control thread, and before it has
 * started, the one that brings the device up. They are given; in other threads there is nothing to do.
 */
void rnic_control_serve_pages(struct rnic_dev *dev);
/*
 * Something has happened of which an event should tell: of the device's own, or of a queue pair. If such a queue tells of nothing
 * for so long, the device is asked whether it can.
 */
void rnic_control_suspect(struct rnic_dev *dev);
/* It is asked now, for all queues. */
void rnic_control_look(struct rnic_dev *dev);
/* From the control thread: is the queue made anew, since it took no more events? The device is lost if that cannot be. */
bool rnic_control_mend_eq(struct rnic_dev *dev, struct rnic_eq *eq);
/* Watch the device's health, or no more. */
void rnic_control_watch(struct rnic_dev *dev, bool on);

/* ---- uar.c ---- */
#define RNIC_BF_REGS		 16   /* shared among queues, on as many pages as half of it */
#define RNIC_BF_LOW_LATENCY_REGS 4    /* of them: one owner each */
#define RNIC_BF_DYNAMIC_REGS	 1024 /* beside them, at most */
int rnic_uars_create(struct rnic_dev *dev);
void rnic_uars_destroy(struct rnic_dev *dev);
/* The page that CQs name for their arm doorbell, and the register in it. */
uint32_t rnic_uars_cq_page(struct rnic_dev *dev);
volatile void *rnic_uars_cq_register(struct rnic_dev *dev);
/* Registers that are in use, of each kind; shared ones by how many. */
struct rnic_uars_usage {
	uint32_t low_latency, dynamic, dynamic_pages, shared_users;
};
void rnic_uars_usage(struct rnic_dev *dev, struct rnic_uars_usage *usage);

/* ---- flow.c ---- */
/* Of a frame: its destination address, its outer VLAN tag, what is behind. As a mask: which bits matter. */
struct rnic_flow_match {
	uint8_t mac[6];
	bool by_vlan; /* there is a tag */
	uint16_t vlan_id;
	uint16_t ethertype; /* behind the tags */
	uint8_t ip_protocol;
	bool fragment;
};
struct rnic_flow_entry {
	uint32_t table, group, index;
	struct rnic_flow_match match;
	uint32_t tag; /* what completions say where they name no queue */
	bool to_tir, to_table;
	uint32_t tir, next_table; /* of a higher level */
};
/* Of one queue; or of what the context says. In the port's transport domain. */
int rnic_tir_create(struct rnic_dev *dev, uint32_t rqn, uint32_t *tir);
int rnic_tir_create_for(struct rnic_dev *dev, struct rnic_create_tir_in *in, uint32_t *tir);
int rnic_flow_table_create(struct rnic_dev *dev, uint8_t level, unsigned int log_size,
			   uint32_t *table);
int rnic_flow_table_destroy(struct rnic_dev *dev, uint32_t table);
int rnic_flow_root_set(struct rnic_dev *dev, uint32_t table);
/* A mask of nothing: its entries match everything. */
int rnic_flow_group_create(struct rnic_dev *dev, uint32_t table, uint32_t first, uint32_t last,
			   const struct rnic_flow_match *mask, uint32_t *group);
int rnic_flow_group_destroy(struct rnic_dev *dev, uint32_t table, uint32_t group);
/* A new one: none that is there is changed, since cards without flow_modify_en cannot do that. */
int rnic_flow_entry_set(struct rnic_dev *dev, const struct rnic_flow_entry *entry);
int rnic_flow_entry_delete(struct rnic_dev *dev, uint32_t table, uint32_t index);

/* ---- steer_qp.c ---- */
/*
 * The ethdev has a table, or another one, which frames of no queue pair go on to; or it has none any more. -ENOTSUP: the card
 * does not move its root, and the table is the one before.
 */
int rnic_qp_steering_port_up(struct rnic_dev *dev, uint32_t table);
int rnic_qp_steering_port_down(struct rnic_dev *dev);
/* Frames with this address, and VLAN tag unless that is RDMAPMD_VLAN_ANY, go to a TIR. -EEXIST, -ENOSPC, -ENOTSUP. */
int rnic_qp_steering_add(struct rnic_dev *dev, const uint8_t mac[6], uint16_t vlan_id, uint32_t tir,
			 uint32_t tag);
/* No longer. -ENOENT: they did not go to that TIR. */
int rnic_qp_steering_del(struct rnic_dev *dev, const uint8_t mac[6], uint16_t vlan_id,
			 uint32_t tir);
/* None goes there; what the device refuses is forgotten all the same. */
int rnic_qp_steering_drop(struct rnic_dev *dev, uint32_t tir);

/* ---- sq.c, rq.c ---- */
/*
 * ts_format for a capability of enum rnic_ts_cap: a device of real time alone refuses a queue that asks for the free running
 * clock, and one of that alone has nothing but zeros there. What the device was configured for is good everywhere else.
 */
static inline enum rnic_ts_format
rnic_ts_format(uint64_t capability)
{
	return capability == RNIC_TS_CAP_FREE_RUNNING ? RNIC_TS_FORMAT_FREE_RUNNING
						      : RNIC_TS_FORMAT_DEFAULT;
}
/* The next state of an SQ or RQ on the way. RST is one step from everywhere: in ERR all that waits would be flushed first. */
static inline enum rnic_wq_state
rnic_wq_next_state(enum rnic_wq_state state, enum rnic_wq_state to)
{
	if (to == RNIC_WQ_STATE_RST)
		return to;
	switch (state) {
	case RNIC_WQ_STATE_RST: return RNIC_WQ_STATE_RDY;
	case RNIC_WQ_STATE_RDY: return RNIC_WQ_STATE_ERR;
	default: return RNIC_WQ_STATE_RST;
	}
}

/* ---- dbrec.c ---- */
int rnic_dbrecs_create(struct rnic_dev *dev);
void rnic_dbrecs_destroy(struct rnic_dev *dev);

/* ---- mkey.c ---- */
int rnic_mkeys_create(struct rnic_dev *dev);
void rnic_mkeys_destroy(struct rnic_dev *dev);
/* Keys alive, for tests. */
uint32_t rnic_mkeys_count(struct rnic_dev *dev);

/* ---- mkey_history.c: called with the lock of the keys held ---- */
struct rnic_mkey_history;
int rnic_mkey_history_create(struct rnic_mkey_history **history);
void rnic_mkey_history_destroy(struct rnic_mkey_history *history);
/* Was this key, index << 8 | variant, handed out lately? */
bool rnic_mkey_history_has(struct rnic_mkey_history *history, uint32_t key);
/* It is now. -ENOMEM. */
int rnic_mkey_history_add(struct rnic_mkey_history *history, uint32_t key);

/* ---- port.c ---- */
int rnic_port_setup(struct rnic_dev *dev);
void rnic_port_down(struct rnic_dev *dev);
/* Addresses of queue pairs, that the vport lets in beside its own. Each is counted. -ENOSPC: no more. Threads: any. */
int rnic_port_add_mac(struct rnic_dev *dev, const uint8_t mac[6]);
int rnic_port_del_mac(struct rnic_dev *dev, const uint8_t mac[6]);
int rnic_access_reg(struct rnic_dev *dev, uint16_t reg, bool write, void *data, uint32_t bytes);
/* The same; a failure is not reported. */
int rnic_access_reg_try(struct rnic_dev *dev, uint16_t reg, bool write, void *data, uint32_t bytes);

/* ---- mpfs.c: under the port's lock, or before there is anybody else ---- */
struct rnic_mac_entry;
/* For functions that manage their eswitch; nothing for others. -ENOMEM. */
int rnic_mpfs_create(struct rnic_dev *dev);
void rnic_mpfs_destroy(struct rnic_dev *dev);
/* These unicast addresses, and no others. What is refused is a warning, once. */
void rnic_mpfs_follow(struct rnic_dev *dev, const struct rnic_mac_entry *list, uint32_t count);

/* ---- telemetry.c: handlers of /rnic/..., for tests ---- */
struct rte_tel_data;
void rnic_telemetry_register(void);
int rnic_telemetry_list(const char *cmd, const char *params, struct rte_tel_data *data);
int rnic_telemetry_info(const char *cmd, const char *params, struct rte_tel_data *data);
int rnic_telemetry_gids(const char *cmd, const char *params, struct rte_tel_data *data);
int rnic_telemetry_counters(const char *cmd, const char *params, struct rte_tel_data *data);
int rnic_telemetry_softrnic(const char *cmd, const char *params, struct rte_tel_data *data);
int rnic_telemetry_doorbells(const char *cmd, const char *params, struct rte_tel_data *data);

/* ---- bringup.c ---- */
extern unsigned int rnic_close_ms; /* for all that undoes a bring-up; tests shorten it */
/* By rnic_now_us(): no command waits longer, and none begins then. */
static inline uint64_t
rnic_dev_end_us(struct rnic_dev *dev)
{
	const uint64_t end = atomic_load(&dev->end_us);

	return end != 0 ? end : UINT64_MAX;
}
extern unsigned int rnic_initializing_timeout_ms;
/*
 * For tests: called before each stage goes up or down, with its name. What it returns before `up` takes the place of the
 * stage if it is not 0; before `down` it does not matter.
 */
extern int (*rnic_bringup_hook)(struct rnic_dev *dev, const char *stage, bool up);
unsigned int rnic_bringup_stages(void);
const char *rnic_bringup_stage_name(unsigned int stage);

/* access/vfio_user.c */
extern unsigned int rnic_vfio_user_timeout_ms; /* for an answer of the server; tests shorten it */

/* access/direct.c */
struct softrnic;
struct softrnic *rnic_access_direct_device(struct rnic_access *access); /* for tests */
/* What the embedded device counts of itself. -ENOTSUP: the device is elsewhere. */
int rnic_access_direct_stats(struct rnic_access *access,
			     void (*fn)(void *arg, const char *name, uint64_t value), void *arg);

#endif
