/* SPDX-License-Identifier: BSD-3-Clause */

/**
 * @file
 * Remote direct memory operations. An initiator sends operations over a reliable connection; a worker, which is polled, executes
 * them in the memory of a target, whose application does nothing for it. Initiators, workers and targets meet by a *bootstrap*
 * address, a TCP or UNIX socket of the worker's.
 *
 * What there is so far: targets in the worker's process (rdmo_target_open()), and in others (rdmo_target_connect()); FLUSH, APPEND to
 * queues and logs, SCATTER, GATHER, PUT_SIGNAL, FETCH_ADD, CMP_SWAP, of payloads of any length.
 *
 * - **Errors.** Calls return 0 or -errno, and objects through the last parameter, which is not touched on error; bursts return
 *   counts. Besides what each call lists: -EINVAL a pointer is NULL, or a number out of its range; -ENOMEM.
 * - **Threads.** Each worker, target and connection is used by one thread at a time, but rdmo_worker_poll() may run, in a thread for
 *   each lcore, while another thread opens and uses targets of that worker. Bursts take no memory; and no lock, but that of a doorbell
 *   register which queue pairs share, for a moment (rdmapmd.h). They make no system call, but to wake who sleeps: rdmo_worker_poll() a
 *   log's reader (rdmo_log_arm()), and the worker's own thread when a connection ends or a target is to be told of something; and but for
 *   a look of rdmo_poll() each RDMO_IDLE_MS while nothing comes.
 * - **Blocking.** rdmo_connect() and what targets ask wait for the worker, which answers while all its lcores poll it: other threads.
 *
 * Source: NVIDIA, "DOCA UROM RDMO Application Guide"; doc/guides/rdmo.md compares.
 */
#ifndef RDMO_H
#define RDMO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rte_compat.h>

#include "rdmo_ticket.h"
#include "rdmo_wire.h"

#ifdef __cplusplus
extern "C" {
#endif

struct rdmapmd_pd;

/** A worker; opaque. */
struct rdmo_worker;
/** A target, as its application has it; opaque. */
struct rdmo_target;
/** An initiator's connection to a target, by its worker; opaque. */
struct rdmo_conn;

/** Milliseconds without anything from the worker until rdmo_poll() looks whether it is still there. */
#define RDMO_IDLE_MS 10

/** Where a worker listens unless it is told otherwise. */
#define RDMO_ADDRESS "127.0.0.1:18515"

/**
 * A status in words, for messages.
 *
 * Threads: any. Blocks: never.
 *
 * @param status Any value, also an invalid one.
 * @return E.g. "no room behind the tail"; never NULL, never freed.
 */
__rte_experimental const char *rdmo_status_str(enum rdmo_status status);

/**
 * A reason in words, for messages.
 *
 * Threads: any. Blocks: never.
 *
 * @param reason Any value, also an invalid one.
 * @return E.g. "another connection's message"; never NULL, never freed.
 */
__rte_experimental const char *rdmo_reason_str(enum rdmo_reason reason);

/* ---- Worker ---- */

/** How to create a worker. A member that is 0 or NULL has the default in brackets. */
struct rdmo_worker_attr {
	/**
	 * Bootstrap address [RDMO_ADDRESS]: "HOST:PORT", a numeric host, "[HOST]:PORT" of IPv6, port 0 for any that is free; or
	 * "unix:PATH", a socket of mode 0600, which replaces one that nobody serves
	 */
	const char *address;
	uint32_t lcores; /**< lcores that poll it, each with connections of its own [1]: 1 .. 64 */
	uint32_t
		receives; /**< messages that each lcore has room for, of all its connections [512]: credits .. 32,752 */
	uint32_t credits; /**< messages that each connection may have under way [16]: 4 .. 256 */
	uint32_t
		receive_bytes; /**< the longest message [4096]: RDMO_RECEIVE_MIN_BYTES .. 65,536, a multiple of 8 */
	uint32_t
		max_regions; /**< regions that targets may register, all together [1024]: 1 .. 65,536 */
	uint32_t gid_index; /**< its address in the GID table of port 1 [0]: 0 .. 255 */
	uint32_t
		remote_targets; /**< targets of other processes that it serves at most [16]: 1 .. 1024 */
	/**
	 * How long an append to a full log waits for its reader, microseconds [it does not: RDMO_STATUS_FULL at once]: 1 .. 10,000,000.
	 * What its connection has posted behind it waits, too; other connections go on
	 */
	uint32_t wait_us;
};

/** What a worker has done so far. */
struct rdmo_worker_stats {
	uint64_t messages;    /**< received, without those that bring credits alone */
	uint64_t operations;  /**< executed, refused ones too */
	uint64_t refused;     /**< of them: ended with another status than OK */
	uint64_t answers;     /**< messages sent */
	uint64_t closed;      /**< connections that it has closed, with a reason */
	uint64_t connections; /**< there are now */
};

/**
 * Create a worker. It begins to listen, in a thread of its own, which makes and ends connections: no socket is touched by the
 * lcores that poll.
 *
 * Threads: any. Blocks: for commands of the device.
 *
 * @param pd     A protection domain of the device that initiators connect to; it must live as long as the worker.
 * @param attr   NULL: the defaults.
 * @param worker Out: the worker.
 * @return 0; -EADDRINUSE the address is served; another error of the socket; as
 *         rdmapmd_srq_create(), rdmapmd_cq_create(), rdmapmd_mr_reg().
 */
__rte_experimental int rdmo_worker_create(struct rdmapmd_pd *pd,
					  const struct rdmo_worker_attr *attr,
					  struct rdmo_worker **worker);

/**
 * End a worker: its connections end, and it stops listening.
 *
 * Threads: no thread may poll it. Blocks: for commands of the device.
 *
 * @param worker A worker; invalid afterwards, unless -EBUSY is returned. NULL is allowed.
 * @return 0; -EBUSY targets of it are open.
 */
__rte_experimental int rdmo_worker_destroy(struct rdmo_worker *worker);

/**
 * The address where a worker listens, to be given to initiators.
 *
 * Threads: any. Blocks: never.
 *
 * @param worker A worker.
 * @return As struct rdmo_worker_attr has it, with the port that was free; lives as long as the worker.
 */
__rte_experimental const char *rdmo_worker_address(const struct rdmo_worker *worker);

/**
 * Execute what has come: at most 64 operations. To be called again and again, for each lcore: one that nobody polls stops all
 * commands, and the appends to queues that it was the first to append to.
 *
 * Threads: one for each lcore `i`. Blocks: never; one that has just been stopped by the kernel may be waited for.
 * Order:   an operation is answered with OK when its payload, and then the tail that it moved, are stored (release).
 *
 * @param worker A worker.
 * @param i      Which lcore: from 0, below struct rdmo_worker_attr's lcores; another one does nothing.
 * @return How many operations were executed.
 */
__rte_experimental uint32_t rdmo_worker_poll(struct rdmo_worker *worker, uint32_t i);

/**
 * What a worker has done.
 *
 * Threads: any; numbers that change meanwhile may be of different moments. Blocks: never.
 *
 * @param worker A worker.
 * @param stats  Out: all members.
 * @return 0; the errors of every call.
 */
__rte_experimental int rdmo_worker_stats(const struct rdmo_worker *worker,
					 struct rdmo_worker_stats *stats);

/* ---- Target ---- */

/**
 * Open a target in the worker's process: operations on its memory are copies by the lcore that polls the worker.
 *
 * Threads: any, but those that poll the worker. Blocks: for the worker's answer, 5 s at most.
 *
 * @param worker A worker that is polled by other threads, at all its lcores.
 * @param id     What operations name the target by: any number.
 * @param target Out: the target.
 * @return 0; -ETIMEDOUT the worker is not polled; -EPROTO it answered something else; -EREMOTEIO it refused: see the log.
 */
__rte_experimental int rdmo_target_open(struct rdmo_worker *worker, uint64_t id,
					struct rdmo_target **target);

/** How to connect a target to a worker in another process. A member that is 0 or NULL has the default in brackets. */
struct rdmo_target_attr {
	const char *address; /**< the worker's [RDMO_ADDRESS]: rdmo_worker_address() */
	uint64_t id;	     /**< what operations name the target by: any number */
	uint32_t gid_index;  /**< its address in the GID table of port 1 [0]: 0 .. 255 */
};

/**
 * Connect a target to a worker in another process, or on another machine: operations on its memory are WRITEs, READs and atomics of the
 * worker's device, of which the target's CPU knows nothing. What initiators see is the same. Memory may be queues with exclusive
 * tails, logs, memory to scatter to.
 *
 * Threads: any. Blocks: for the worker's answers, 5 s at most, and for commands of the device.
 *
 * @param pd     A protection domain; it must live as long as the target.
 * @param attr   The worker's address, the target's number, the address of ours to use; read during the call.
 * @param target Out: the target.
 * @return 0; -ENOSPC the worker has as many as it may; -ETIMEDOUT, -EPROTO, -EREMOTEIO as rdmo_target_open(); the socket's error; as
 *         rdmapmd_qp_create(), rdmapmd_qp_connect().
 */
__rte_experimental int rdmo_target_connect(struct rdmapmd_pd *pd,
					   const struct rdmo_target_attr *attr,
					   struct rdmo_target **target);

/**
 * Close a target. Its memory is no longer touched when the call returns; operations that come later end with
 * RDMO_STATUS_TARGET_LOST.
 *
 * Threads: as rdmo_target_open(). Blocks: until the worker has let go of the memory; in this process the worker must be polled, one
 *          elsewhere is waited for 5 s.
 *
 * @param target A target; invalid afterwards. NULL is allowed.
 */
__rte_experimental void rdmo_target_close(struct rdmo_target *target);

/**
 * Create a receive queue: initiators that bring its secret are let in.
 *
 * Threads: as rdmo_target_open(). Blocks: likewise.
 *
 * @param target A target.
 * @param secret Out: RDMO_SECRET_BYTES, drawn at random: for those who may connect.
 * @param rq_id  Out: its number, for rdmo_mr_reg() and rdmo_rq_destroy().
 * @return As rdmo_target_open().
 */
__rte_experimental int rdmo_rq_create(struct rdmo_target *target, uint8_t *secret, uint64_t *rq_id);

/**
 * Create a receive queue with a secret that initiators know already: of a former worker, so that they can connect again.
 *
 * Threads: as rdmo_target_open(). Blocks: likewise.
 *
 * @param target A target.
 * @param secret RDMO_SECRET_BYTES, as rdmo_rq_create() gave them; of no receive queue that there is.
 * @param rq_id  Out: its number.
 * @return As rdmo_target_open(); -EBUSY there is one with that secret, -ENOSPC a target has 1,024.
 */
__rte_experimental int rdmo_rq_restore(struct rdmo_target *target, const uint8_t *secret,
				       uint64_t *rq_id);

/**
 * Create a receive queue for one initiator, which needs no secret: the target knows its address, by a way of the applications' own.
 *
 * Threads: as rdmo_target_open(). Blocks: likewise.
 *
 * @param target A target.
 * @param addr   The initiator's, as rdmo_connect_begin() gave it; read during the call.
 * @param rq_id  Out: its number.
 * @return As rdmo_target_open(); -EINVAL it names no queue pair; -EBUSY there is one for it, -ENOSPC a target has 1,024.
 */
__rte_experimental int rdmo_rq_create_for(struct rdmo_target *target, const struct rdmo_addr *addr,
					  uint64_t *rq_id);

/**
 * Destroy a receive queue: its initiators are disconnected, and nobody is let in by it any longer.
 *
 * Threads: as rdmo_target_open(). Blocks: likewise.
 *
 * @param target A target.
 * @param rq_id  As rdmo_rq_create() gave it.
 * @return As rdmo_target_open(); -ENOENT it has none of that number.
 */
__rte_experimental int rdmo_rq_destroy(struct rdmo_target *target, uint64_t rq_id);

/** Memory that a target offers. */
struct rdmo_mr_attr {
	void *addr; /**< its first byte; it must stay where it is until rdmo_mr_dereg() has returned */
	uint64_t length; /**< bytes, 1 and more */
	uint64_t
		rq_id; /**< whose initiators may use the key; 0: those of all receive queues of the target */
	uint32_t rights; /**< what they may do: enum rdmo_right, one at least */
	enum rdmo_tail_mode
		tail_mode; /**< of a queue in it: RDMO_TAIL_EXCLUSIVE or RDMO_TAIL_SHARED; for a log: rdmo_log_create() */
};

/**
 * Register memory.
 *
 * A queue is two regions: its bytes, and an address in them of 8 bytes, at a multiple of 8, that is stored in another region, its tail.
 * That may have several tails, and no queue's bytes: what was appended is no tail (RDMO_STATUS_TAIL).
 * The first append binds both together. The tail is moved by the worker alone: if it finds another value than it has stored, the
 * queue stops, with RDMO_STATUS_TAIL, until rdmo_tail_set().
 *
 * What appends go to is one worker's, as far as this process can see: what two workers both moved would stop at once.
 *
 * Of a queue that is RDMO_TAIL_SHARED, its bytes and its tail, others move the tail as well, by compare-and-swap: other workers, or, of a
 * target in the worker's process, its threads. It tells what is taken, never more than there is, and may be ahead of payloads that are still
 * being written. Threads of a target in another process may do so if the device's atomics are global.
 *
 * Threads: as rdmo_target_open(). Blocks: likewise.
 *
 * @param target A target.
 * @param attr   The memory.
 * @param key    Out: what initiators name it by: random, 64 bits.
 * @return As rdmo_target_open(), and of -ETIMEDOUT the worker may have the memory all the same, until the target is closed; -ENOSPC there are
 *         as many as may be; -ENOENT it has no receive queue of that number; -ENOTSUP another
 *         worker shares it by its CPU and this one by a device, or the other way round, whose atomics are not global
 *         (rdmapmd_device_query(), atomic_cap); -EBUSY some of it was registered for appends by another worker, and not both times as RDMO_TAIL_SHARED; as rdmapmd_mr_reg().
 */
__rte_experimental int rdmo_mr_reg(struct rdmo_target *target, const struct rdmo_mr_attr *attr,
				   uint64_t *key);

/**
 * Take memory back. When it returns, no operation touches it.
 *
 * Threads: as rdmo_target_open(). Blocks: likewise.
 *
 * @param target A target.
 * @param key    As rdmo_mr_reg() gave it.
 * @return As rdmo_target_open(); -ENOENT it has none of that key.
 */
__rte_experimental int rdmo_mr_dereg(struct rdmo_target *target, uint64_t key);

/**
 * Set the tail of a queue: back to its beginning, when what it had has been taken, or when it has stopped with RDMO_STATUS_TAIL, because
 * somebody else has moved it. While that is done, appends to it end with RDMO_STATUS_TAIL.
 *
 * Threads: as rdmo_target_open(). Blocks: likewise, twice.
 *
 * @param target A target.
 * @param key    Of the queue's bytes, as rdmo_mr_reg() gave it.
 * @param tail   Where its tail is: stored here, by the caller's CPU.
 * @param value  An address in the queue's bytes, where the next payload goes; another one, but the first behind them, stops it again.
 * @return As rdmo_target_open(); -ENOENT it has none of that key; -ENOTSUP the tail is a log's, or is shared: that one the target moves itself.
 */
__rte_experimental int rdmo_tail_set(struct rdmo_target *target, uint64_t key, rte_le64_t *tail,
				     uint64_t value);

/** What has been done with RDMO_FLAG_NOTIFY. */
struct rdmo_event {
	uint64_t
		key; /**< of the region, as rdmo_mr_reg() gave it: APPEND's bytes, or SCATTER's last piece's */
	uint64_t
		count; /**< operations since the last event of that key, 1 and more; they are visible */
};

/**
 * What a target sleeps on, by epoll or poll: readable when there are events, or the worker has gone.
 *
 * Threads: any, until rdmo_target_close(). Blocks: never.
 *
 * @param target A target.
 * @return A descriptor, the target's: not to be read, written or closed; the errors of every call.
 */
__rte_experimental int rdmo_target_fd(const struct rdmo_target *target);

/**
 * Poll for events: operations that initiators have asked to tell of, by RDMO_FLAG_NOTIFY. Those of a region that were not polled are one.
 *
 * Threads: as rdmo_target_open(). Blocks: never; it makes system calls.
 *
 * @param target A target.
 * @param events Out: room for `n`.
 * @param n      How many at most; 0 is allowed. If there are more, rdmo_target_fd() may not be readable for them: poll until fewer come.
 * @return How many there were, 0..n; -ECONNRESET the worker has gone; -EPROTO it sends something else; the errors of every call.
 */
__rte_experimental int rdmo_target_poll(struct rdmo_target *target, struct rdmo_event *events,
					uint32_t n);

/* ---- Log ---- */

/** A log of a target; opaque. */
struct rdmo_log;

/**
 * How long a log is in memory.
 *
 * Threads: any. Blocks: never.
 *
 * @param capacity  Of its ring, bytes: a power of two from 4096 to 2^48.
 * @param producers How many may append: 1 .. RDMO_LOG_PRODUCERS_MAX.
 * @return Bytes; 0: a log cannot be like that.
 */
__rte_experimental uint64_t rdmo_log_bytes(uint64_t capacity, uint32_t producers);

/** How to create a log. */
struct rdmo_log_attr {
	uint64_t
		capacity; /**< of its ring, bytes: a power of two from 4096 to 2^48; a record has half of it at most */
	uint32_t
		producers; /**< how many may append, 1 .. RDMO_LOG_PRODUCERS_MAX: numbers below this */
	/**
	 * Where it lies, rdmo_log_bytes() at a multiple of 64; NULL: memory of DPDK's. If there is a log already, it is taken up with all
	 * that it has, whichever worker has served it; else all of it is written over
	 */
	void *memory;
	uint64_t
		rq_id; /**< whose initiators may append; 0: those of all receive queues of the target */
};

/**
 * Create a log: memory that a worker appends records to, each with a checksum, in the order that one reader takes them. A log that was
 * served before keeps its key, its records and what its producers have done.
 *
 * Threads: as rdmo_target_open(). Blocks: likewise.
 *
 * @param target A target.
 * @param attr   The log's memory and its sizes; read during the call.
 * @param log    Out: the log.
 * @return As rdmo_mr_reg(); -EEXIST the memory has a log of other sizes; -EBUSY the worker serves it already, or its ends cannot be.
 */
__rte_experimental int rdmo_log_create(struct rdmo_target *target, const struct rdmo_log_attr *attr,
				       struct rdmo_log **log);

/**
 * End a log: no append is executed from now on. The caller's memory keeps all that it has. If the worker has gone, or does not answer, the
 * memory is the caller's again when the target is closed.
 *
 * Threads: as rdmo_target_open(), and no reader. Blocks: likewise.
 *
 * @param log A log, whose target is open; invalid afterwards. NULL is allowed.
 */
__rte_experimental void rdmo_log_destroy(struct rdmo_log *log);

/** What a log is named by, and where its ends are. Positions count bytes since it began, wherever in the ring they are. */
struct rdmo_log_info {
	uint64_t addr;	/**< its address: struct rdmo_op's append.ptr_addr */
	uint64_t key;	/**< append.ptr_key and append.data_key */
	uint64_t epoch; /**< how often a worker has begun to serve it, 1 and more */
	uint64_t head;	/**< of the first record that is not released */
	uint64_t tail;	/**< behind the last one */
};

/**
 * What a log is named by, and where its ends are now.
 *
 * Threads: any, until rdmo_log_destroy(). Blocks: never.
 *
 * @param log  A log.
 * @param info Out: all members.
 * @return 0; the errors of every call.
 */
__rte_experimental int rdmo_log_query(const struct rdmo_log *log, struct rdmo_log_info *info);

/** A record. */
struct rdmo_log_record {
	uint64_t position; /**< its first byte's, counted from the log's beginning on for ever */
	uint64_t next;	   /**< behind it: what rdmo_log_release() is given when it has been read */
	uint64_t seq;	   /**< of the operation that has appended it */
	const void *payload; /**< in the ring, until it is released */
	uint32_t length;     /**< bytes of the payload */
	uint32_t producer;   /**< whose it is */
};

/**
 * Read the next records, in order: the first call begins with what is not released. They stay where they are until they are released,
 * which makes room for others: who never does sees RDMO_STATUS_FULL at the initiators.
 *
 * Threads: one at a time for each log, as rdmo_log_release(). Blocks: never.
 * Order:   a record's payload is seen as it was appended (acquire).
 *
 * @param log     A log.
 * @param records Out: room for `n`.
 * @param n       How many at most; 0 is allowed.
 * @return How many there were, 0..n; -EILSEQ the next record is damaged: records[0] has its position, and as `next` the tail; releasing that
 *         skips all that is there.
 */
__rte_experimental int rdmo_log_read(struct rdmo_log *log, struct rdmo_log_record *records,
				     uint32_t n);

/**
 * Release records: their memory is written over from now on.
 *
 * Threads: as rdmo_log_read(). Blocks: never.
 * Order:   what was read before is read before that (release).
 *
 * @param log  A log.
 * @param next struct rdmo_log_record's, of the last one; all before it go as well.
 * @return 0; -EINVAL not between what is released and the tail, or where no record can begin.
 */
__rte_experimental int rdmo_log_release(struct rdmo_log *log, uint64_t next);

/**
 * What a log's reader sleeps on, by epoll or poll: readable when records have come since rdmo_log_arm().
 *
 * Threads: any, until rdmo_log_destroy(). Blocks: never.
 *
 * @param log A log.
 * @return A descriptor, the log's: not to be read, written or closed; -ENOTSUP the worker is in another process: poll, or have
 *         producers ask for an event (rdmo_target_fd()); the errors of every call.
 */
__rte_experimental int rdmo_log_fd(const struct rdmo_log *log);

/**
 * Arm a log's descriptor, once: it becomes readable when a record is appended behind those that were read. Before that it is not
 * readable, but that a wake-up which was on its way may still come. Who is woken reads until there is nothing left, arms, and sleeps if
 * that returns 0. While nobody sleeps, appends make no system call for it.
 *
 * Threads: as rdmo_log_read(). Blocks: never; it makes a system call.
 *
 * @param log A log.
 * @return 0: it is armed; 1: there are records that were not read, and it is not; -ENOTSUP as rdmo_log_fd(); the errors of every call.
 */
__rte_experimental int rdmo_log_arm(struct rdmo_log *log);

/* ---- Initiator ---- */

/** How to connect. A member that is 0 or NULL has the default in brackets. */
struct rdmo_connect_attr {
	const char *address;   /**< the worker's [RDMO_ADDRESS]: rdmo_worker_address() */
	const uint8_t *secret; /**< RDMO_SECRET_BYTES, of the target's receive queue; not NULL */
	uint32_t
		depth; /**< operations that are not answered yet [256]: 2 .. 32,768, a power of two */
	uint32_t receives; /**< answers that it has room for [16]: 4 .. 256 messages */
	uint32_t
		receive_bytes; /**< the longest answer [4096]: RDMO_RECEIVE_MIN_BYTES .. 65,536, a multiple of 8 */
	uint32_t gid_index;  /**< its address in the GID table of port 1 [0]: 0 .. 255 */
	uint32_t timeout_ms; /**< how long to wait for the worker, milliseconds [5000] */
	/**
	 * Whether it appends to logs, as this producer: 0 .. RDMO_LOG_PRODUCERS_MAX - 1, and below the logs' number of producers. A
	 * producer has one connection to a target: an older one, by the same secret, ends. Its depth is RDMO_LOG_WINDOW at most
	 */
	bool is_producer;
	uint32_t producer; /**< which one, if it is one */
	bool sleeps;	   /**< whether it has a descriptor to sleep on: rdmo_conn_fd() */
};

/** What PUT_SIGNAL changes when its payload is there. */
struct rdmo_signal {
	uint64_t
		addr; /**< of 8 bytes in the target, a multiple of 8; they are a number in little-endian */
	uint64_t key;	   /**< the key for them */
	uint64_t value;	   /**< what is stored or added */
	uint32_t kind;	   /**< enum rdmo_signal_kind */
	uint32_t reserved; /**< 0 */
};

/** An operation. */
struct rdmo_op {
	uint64_t user_data; /**< comes back in struct rdmo_completion */
	uint64_t id;	    /**< the target's, as it was opened */
	uint16_t op_id;	    /**< enum rdmo_op_id */
	/**
	 * RDMO_FLAG_FENCE, and not for FLUSH: RDMO_FLAG_SILENT, RDMO_FLAG_NOTIFY (rdmo_target_poll()); of APPEND and SCATTER also
	 * RDMO_FLAG_PULL, with `rkey`; others are refused
	 */
	uint16_t flags;
	uint32_t
		length; /**< APPEND, PUT_SIGNAL: bytes of the payload. SCATTER, GATHER: pieces. Else 0 */
	union {
		/** APPEND */
		struct {
			uint64_t ptr_addr; /**< of the queue's tail in the target, or of the log */
			uint64_t ptr_key;  /**< the key for it */
			uint64_t data_key; /**< the key for the queue's bytes; of a log: the same */
			const void *payload; /**< copied by rdmo_post(), or fetched: rkey */
		} append;
		/** FLUSH */
		struct {
			uint64_t flush_id; /**< any number, for the worker's end */
			uint64_t key; /**< of the region whose operations it is about; 0: all */
		} flush;
		/** SCATTER */
		struct {
			const struct rdmo_scatter_iov
				*iovs;		 /**< the pieces, as they go over the wire */
			const void *const *data; /**< of each piece, likewise */
		} scatter;
		/** GATHER: of its flags RDMO_FLAG_FENCE alone */
		struct {
			const struct rdmo_gather_iov *
				iovs; /**< the pieces, as they go over the wire; copied by rdmo_post() */
			/** where their bytes go, one behind the other; the library's until it completes */
			void *data;
		} gather;
		/** PUT_SIGNAL */
		struct {
			uint64_t addr;			  /**< of the first byte in the target */
			uint64_t key;			  /**< the key for it */
			const void *payload;		  /**< copied by rdmo_post() */
			const struct rdmo_signal *signal; /**< read by rdmo_post(); not NULL */
		} put;
		/** FETCH_ADD, CMP_SWAP */
		struct {
			uint64_t
				addr; /**< of 8 bytes in the target, a multiple of 8; they are a number in little-endian */
			uint64_t key; /**< the key for them, with RDMO_RIGHT_ATOMIC */
			uint64_t
				operand; /**< FETCH_ADD: what is added; CMP_SWAP: what they are to be */
			uint64_t swap; /**< CMP_SWAP: what they are then; FETCH_ADD: ignored */
		} atomic;
		uint64_t room[4]; /**< fills it; ignored */
	};
	/**
	 * APPEND, SCATTER: the RDMA key of memory that all of the payload lies in, registered for remote reads in the connection's protection
	 * domain; 0: none. What no message has room for, or has RDMO_FLAG_PULL, is fetched from there by the worker: it is not to be
	 * changed before the operation completes. The connection ends if that takes more than 5 s, a second more for each 16 MiB, 60 s at most
	 */
	uint32_t rkey;
	uint32_t reserved; /**< 0 */
};

/** How an operation ended. */
struct rdmo_completion {
	uint64_t user_data; /**< the operation's */
	/**
	 * APPEND: the payload's address in the target, or the record's position in a log. FETCH_ADD, CMP_SWAP: what the number was before: of
	 * CMP_SWAP that was done whether it has swapped or not. FLUSH that was executed: the number of the first operation that failed since
	 * the last FLUSH, RDMO_NONE if there was none, and behind rdmo_reconnect() that of the first silent one that no FLUSH has told of, with
	 * RDMO_STATUS_UNKNOWN; operations count from 1, in the order of posting. Else 0
	 */
	uint64_t value;
	uint32_t status; /**< enum rdmo_status; of FLUSH that was executed, that operation's */
	uint32_t
		length; /**< the operation's, of GATHER the bytes of all pieces, if it was done; else 0 */
};

/**
 * Connect to a target.
 *
 * Threads: any, but those that poll the worker. Blocks: for the worker, and for commands of the device.
 *
 * @param pd   A protection domain; it must live as long as the connection.
 * @param attr The target, the secret, sizes of what is under way; read during the call.
 * @param conn Out: the connection.
 * @return 0; -EACCES the worker does not know the secret; -ENOSPC it has as many connections as it can; -EBUSY the producer has a
 *         connection by another secret; -EREMOTEIO it refused for
 *         another reason: see the log; -ETIMEDOUT it did not answer; -EPROTO it answered something else; the socket's error;
 *         as rdmapmd_qp_create(), rdmapmd_qp_connect().
 */
__rte_experimental int rdmo_connect(struct rdmapmd_pd *pd, const struct rdmo_connect_attr *attr,
				    struct rdmo_conn **conn);

/**
 * Begin to connect as an initiator that a target names: it has no secret, but an address, which the target is to be given by a way of the
 * applications' own, for rdmo_rq_create_for(). Operations are taken when rdmo_connect_finish() has returned 0.
 *
 * Threads: as rdmo_connect(). Blocks: for commands of the device.
 *
 * @param pd   A protection domain; it must live as long as the connection.
 * @param attr As rdmo_connect()'s; its secret is not looked at.
 * @param conn Out: the connection, for rdmo_connect_finish(), or rdmo_disconnect().
 * @param addr Out: the address of its queue pair: bytes that can be sent as they are.
 * @return 0; as rdmapmd_qp_create().
 */
__rte_experimental int rdmo_connect_begin(struct rdmapmd_pd *pd,
					  const struct rdmo_connect_attr *attr,
					  struct rdmo_conn **conn, struct rdmo_addr *addr);

/**
 * Connect, when a target has named it.
 *
 * Threads: as rdmo_connect(). Blocks: likewise.
 *
 * @param conn A connection that was begun, and is not connected.
 * @return As rdmo_connect(); -EACCES no target has named it: it may be tried again; -EINVAL it was not begun, or was connected before.
 */
__rte_experimental int rdmo_connect_finish(struct rdmo_conn *conn);

/**
 * Connect again, after a connection has ended, or end it and connect again. Operations that were not answered:
 *
 * - of a producer: those that append to logs are done once. What was done is answered with its position, the rest is done in order, also
 *   by another worker to which the target has gone with its logs. Other operations end with RDMO_STATUS_UNKNOWN, and are not repeated;
 * - of others: all end with RDMO_STATUS_UNKNOWN.
 *
 * Threads: as rdmo_post(). Blocks: as rdmo_connect().
 *
 * @param conn    A connection; it stays as it was if the call fails, and has ended.
 * @param address Where the worker is now; NULL: where it was.
 * @return As rdmo_connect(); -ENOTSUP its target has named it, which is to name a new one; -EMSGSIZE the worker receives no messages of the length of those that are to be sent again.
 */
__rte_experimental int rdmo_reconnect(struct rdmo_conn *conn, const char *address);

/**
 * The number of the next operation that is posted. They count from 1. A producer that connects anew goes on behind the last record that
 * it has in any log which its secret opens: so it learns how far it has come.
 *
 * Threads: as rdmo_post(). Blocks: never.
 *
 * @param conn A connection.
 * @return The number, not 0.
 */
__rte_experimental uint64_t rdmo_conn_seq(const struct rdmo_conn *conn);

/**
 * Disconnect. Operations that were not answered are done or not.
 *
 * Threads: no other may use it. Blocks: for commands of the device.
 *
 * @param conn A connection; invalid afterwards. NULL is allowed.
 */
__rte_experimental void rdmo_disconnect(struct rdmo_conn *conn);

/**
 * Post operations in order, in as few messages as they fit into.
 *
 * Threads: one at a time, as rdmo_poll(). Blocks: never.
 * Order:   those of a connection are executed in the order of posting.
 * Owner:   what an operation points to is the caller's again when the call returns; a payload that the worker fetches (struct rdmo_op,
 *          rkey) when the operation completes, and of one that is SILENT when a later one does.
 *
 * @param conn A connection.
 * @param ops  The operations.
 * @param n    How many; 0 is allowed.
 * @return How many were taken, 0..n. If fewer than n, rdmo_conn_error() has the reason: -EAGAIN as many are under way as may be,
 *         or there are no credits left: poll, and post the rest; of operations that are SILENT the last place is kept for
 *         one that is not. -EMSGSIZE it does not fit into a message, and has no rkey, or a GATHER's bytes
 *         do not fit into an answer; -EINVAL an operation that is none, SILENT with FLUSH, or
 *         one that cannot be fetched: nothing, an empty piece, more than RDMO_PULLS pieces;
 *         -ENOTCONN the connection has ended.
 */
__rte_experimental uint32_t rdmo_post(struct rdmo_conn *conn, const struct rdmo_op *ops,
				      uint32_t n);

/**
 * Poll for operations that were answered, in the order of posting. When the connection has ended, all that were not answered
 * complete with RDMO_STATUS_UNKNOWN; those of a producer do not, as rdmo_reconnect() may get their answers: rdmo_conn_error() is
 * -ENOTCONN then. Operations that are SILENT do not complete, but with RDMO_STATUS_UNKNOWN.
 *
 * Threads: one at a time, as rdmo_post(). Blocks: never.
 *
 * @param conn A connection.
 * @param done Out: room for `n`.
 * @param n    Completions at most; 0 is allowed.
 * @return How many entries of `done` were filled, 0..n.
 */
__rte_experimental uint32_t rdmo_poll(struct rdmo_conn *conn, struct rdmo_completion *done,
				      uint32_t n);

/**
 * What an initiator sleeps on, by epoll or poll: readable when answers have come since rdmo_conn_arm(), or the connection has ended.
 *
 * Threads: any, until rdmo_disconnect(); it stays the same when the connection is made again. Blocks: never.
 *
 * @param conn A connection that was made with `sleeps`.
 * @return A descriptor, the connection's: not to be read, written or closed; -EINVAL it has none.
 */
__rte_experimental int rdmo_conn_fd(const struct rdmo_conn *conn);

/**
 * Arm a connection's descriptor, once. Who is woken polls until there is nothing left, arms, and sleeps if that returns 0. What wakes it may
 * bring nothing to poll for, e.g. credits.
 *
 * Threads: as rdmo_post(). Blocks: never; it makes system calls.
 *
 * @param conn A connection that was made with `sleeps`.
 * @return 0: it is armed; 1: rdmo_poll() has something, or rdmo_conn_error() is -ENOTCONN, and it is not; -EINVAL it has no descriptor.
 */
__rte_experimental int rdmo_conn_arm(struct rdmo_conn *conn);

/**
 * Why the last call of rdmo_post() took fewer than it was given, or that the connection has ended.
 *
 * Threads: as rdmo_post(). Blocks: never.
 *
 * @param conn A connection.
 * @return -ENOTCONN when the connection has ended; else -errno; 0 if it took all.
 */
__rte_experimental int rdmo_conn_error(const struct rdmo_conn *conn);

/**
 * Why the worker, or this end, has closed a connection.
 *
 * Threads: as rdmo_post(). Blocks: never.
 *
 * @param conn A connection.
 * @return RDMO_REASON_NONE: it was not closed so; it may have ended all the same.
 */
__rte_experimental enum rdmo_reason rdmo_conn_reason(const struct rdmo_conn *conn);

#ifdef __cplusplus
}
#endif

#endif
