/* SPDX-License-Identifier: BSD-3-Clause */

/**
 * @file
 * Remote direct memory operations as bytes: messages between an initiator and a worker, commands between a target and a worker,
 * and a log in the target's memory. Layouts only.
 *
 * All numbers are little-endian. Every structure is a multiple of 8 bytes long and its members lie at multiples of their size, so
 * that a message which begins at a multiple of 8 can be read in place. Members called `reserved`, and padding, are 0. "~0" is a
 * number whose bits are all 1.
 *
 * Source: NVIDIA, "DOCA UROM RDMO Application Guide", called "the document" here. It names the operations and most of the members
 * (doc/guides/rdmo.md has both side by side); sizes, framing, status and the log are ours.
 */
#ifndef RDMO_WIRE_H
#define RDMO_WIRE_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include <rte_byteorder.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Of messages and of commands: the only one so far. */
#define RDMO_VERSION 1

/** A sequence number, a position in a log, an address: none. */
#define RDMO_NONE UINT64_MAX

/** Sizes and offsets that both ends rely on. */
#define RDMO_SIZE(type, bytes) static_assert(sizeof(struct type) == (bytes), #type)
/** Likewise, of a member. */
#define RDMO_OFFSET(type, member, bytes) \
	static_assert(offsetof(struct type, member) == (bytes), #type "." #member)

/** How an operation or a command ended. */
enum rdmo_status {
	RDMO_STATUS_OK,	     /**< done, and visible to who reads the target's memory */
	RDMO_STATUS_OP,	     /**< an operation or command that is unknown */
	RDMO_STATUS_VERSION, /**< another version than RDMO_VERSION */
	RDMO_STATUS_CLIENT,  /**< no such target, or not this connection's */
	RDMO_STATUS_KEY,     /**< the key or secret is unknown, or not for this receive queue */
	RDMO_STATUS_RIGHTS,  /**< the key does not allow this */
	RDMO_STATUS_BOUNDS, /**< outside of the key's region; an end that wraps; a member out of its range */
	RDMO_STATUS_LENGTH, /**< lengths or counts inside the operation do not fit together */
	RDMO_STATUS_FULL,   /**< no room behind the tail */
	RDMO_STATUS_TAIL, /**< somebody else moved the tail, and the target has to set it; or it is none of this queue */
	RDMO_STATUS_TARGET_LOST, /**< the target's process or connection has ended */
	RDMO_STATUS_UNKNOWN,	 /**< the connection ended before the answer: done or not */
	RDMO_STATUS_NOTSUP, /**< a flag, a mode or a reserved member that version 1 does not define */
	RDMO_STATUSES	    /**< how many there are */
};

/** Why a connection is closed: what came leaves no next message or command to be read, or is not to be trusted. */
enum rdmo_reason {
	RDMO_REASON_NONE,     /**< none: all is well */
	RDMO_REASON_SHORT,    /**< fewer bytes than a header has */
	RDMO_REASON_MAGIC,    /**< does not begin with its four letters */
	RDMO_REASON_VERSION,  /**< another version than RDMO_VERSION */
	RDMO_REASON_KIND,     /**< a kind that this end does not take */
	RDMO_REASON_SESSION,  /**< another connection's */
	RDMO_REASON_LENGTH,   /**< the length is not that of what came, or more than may come */
	RDMO_REASON_COUNT,    /**< the frames or answers are not as many as the header counts */
	RDMO_REASON_FRAME,    /**< a frame or an answer goes beyond the message */
	RDMO_REASON_RESERVED, /**< a reserved member or padding of the framing is not 0 */
	RDMO_REASON_SEQ,      /**< sequence numbers wrap, or are not what they must be */
	RDMO_REASON_ANSWER,   /**< an answer contradicts itself */
	RDMO_REASON_CREDITS,  /**< more messages than there were credits */
	RDMO_REASON_KEYS,     /**< too many wrong keys */
	RDMO_REASONS	      /**< how many there are */
};

/* ---- Messages: one SEND of a reliable connection each ---- */

/** The first member of a message, as a number: "RDMO". */
#define RDMO_MSG_MAGIC 0x4f4d4452

/** Kinds of messages. */
enum rdmo_msg_kind {
	RDMO_MSG_REQUESTS, /**< to a worker: frames */
	RDMO_MSG_ANSWERS,  /**< to an initiator: answers */
	RDMO_MSG_CLOSE,	   /**< either way, the last message: struct rdmo_close, count 0 */
};

/** What every message begins with. No member is the document's: its messages are UCX's. */
struct rdmo_msg {
	rte_le32_t magic; /**< RDMO_MSG_MAGIC */
	uint8_t version;  /**< RDMO_VERSION */
	uint8_t kind;	  /**< enum rdmo_msg_kind */
	rte_le16_t
		count; /**< frames or answers behind it, 0 .. 65535; with 0 it brings credits alone */
	rte_le32_t
		length; /**< bytes behind it, padding included: a multiple of 8, all that was sent */
	/**
	 * How many messages its sender has had receives for since the connection began, counted modulo 2^32: that many may
	 * be sent to it altogether. What the connection begins with is struct rdmo_addr's.
	 */
	rte_le32_t credits;
	rte_le64_t session; /**< the connection's number, drawn by the worker when it is made */
	/**
	 * Requests: the sequence number of the first operation; the next ones count on from it. Answers: that of the first
	 * answer. Without any: 0.
	 */
	rte_le64_t seq;
};
RDMO_SIZE(rdmo_msg, 32);
RDMO_OFFSET(rdmo_msg, version, 4);
RDMO_OFFSET(rdmo_msg, kind, 5);
RDMO_OFFSET(rdmo_msg, count, 6);
RDMO_OFFSET(rdmo_msg, length, 8);
RDMO_OFFSET(rdmo_msg, credits, 12);
RDMO_OFFSET(rdmo_msg, session, 16);
RDMO_OFFSET(rdmo_msg, seq, 24);

/** The body of RDMO_MSG_CLOSE. */
struct rdmo_close {
	rte_le32_t reason;   /**< enum rdmo_reason, not RDMO_REASON_NONE */
	rte_le32_t reserved; /**< 0 */
};
RDMO_SIZE(rdmo_close, 8);

/**
 * Before each operation of RDMO_MSG_REQUESTS. Then follow struct rdmo_hdr, `length` bytes, and padding; the next frame lies at
 * the next multiple of 8.
 */
struct rdmo_frame {
	rte_le32_t
		length; /**< bytes behind struct rdmo_hdr: the operation's own header and payload */
	rte_le32_t reserved; /**< 0 */
};
RDMO_SIZE(rdmo_frame, 8);

/** Operations. */
enum rdmo_op_id {
	RDMO_OP_FLUSH, /**< answer, and with RDMO_FLAG_FENCE not before all earlier ones are visible */
	RDMO_OP_APPEND,	 /**< put the payload at a queue's tail, and move the tail */
	RDMO_OP_SCATTER, /**< put pieces of the payload to several addresses */
	RDMO_OP_GATHER, /**< answer with bytes from several addresses; beyond the document, as the next ones */
	RDMO_OP_PUT_SIGNAL, /**< put the payload somewhere, then change a number */
	RDMO_OP_FETCH_ADD,  /**< add to a number in place */
	RDMO_OP_CMP_SWAP,   /**< store a number in place, if it was what is compared */
	RDMO_OPS	    /**< how many there are */
};

/** How an operation is executed. */
enum rdmo_flag {
	/** Begin when all earlier operations of the connection are visible. The document's. */
	RDMO_FLAG_FENCE = 1 << 0,
	/** No answer; a failure is told by the next FLUSH. Not of FLUSH itself. */
	RDMO_FLAG_SILENT = 1 << 1,
	/** The payload is in the initiator's memory: struct rdmo_pull stands in its place. Not of FLUSH. */
	RDMO_FLAG_PULL = 1 << 2,
	/** Raise an event at the target when it is visible. */
	RDMO_FLAG_NOTIFY = 1 << 3,
	RDMO_FLAGS = (1 << 4) - 1 /**< all of them */
};

/** What every operation begins with: the document's urom_rdmo_hdr. */
struct rdmo_hdr {
	rte_le64_t
		id; /**< the target, as it named itself in CLIENT_INIT. The document: id, 32 bits */
	rte_le32_t op_id; /**< enum rdmo_op_id. The document: op_id */
	rte_le32_t flags; /**< of enum rdmo_flag. The document: flags */
};
RDMO_SIZE(rdmo_hdr, 16);
RDMO_OFFSET(rdmo_hdr, op_id, 8);
RDMO_OFFSET(rdmo_hdr, flags, 12);

/** RDMO_OP_APPEND: the document's urom_rdmo_append_hdr. The payload follows, 0 bytes and more. */
struct rdmo_append_hdr {
	/** Of the queue's tail pointer in the target's memory, a multiple of 8; of a log: of its header. The document: ptr_addr */
	rte_le64_t ptr_addr;
	rte_le64_t ptr_rkey; /**< the key for ptr_addr. The document: ptr_rkey, 16 bits */
	rte_le64_t
		data_rkey; /**< the key for the queue's bytes. The document: data_rkey, 16 bits */
};
RDMO_SIZE(rdmo_append_hdr, 24);
RDMO_OFFSET(rdmo_append_hdr, ptr_rkey, 8);
RDMO_OFFSET(rdmo_append_hdr, data_rkey, 16);

/** RDMO_OP_FLUSH: the document's urom_rdmo_flush_hdr. No payload. */
struct rdmo_flush_hdr {
	rte_le64_t
		flush_id; /**< any number; comes back in struct rdmo_flush_rsp. The document: flush_id */
	rte_le64_t
		key; /**< of the region whose operations it is about; 0: all. The document: all */
};
RDMO_SIZE(rdmo_flush_hdr, 16);
RDMO_OFFSET(rdmo_flush_hdr, key, 8);

/** RDMO_OP_SCATTER: the document's urom_rdmo_scatter_hdr. Then `count` times struct rdmo_scatter_iov with its data. */
struct rdmo_scatter_hdr {
	rte_le64_t
		count; /**< pieces, 0 and more; with RDMO_FLAG_PULL RDMO_PULLS at most. The document: count */
};
RDMO_SIZE(rdmo_scatter_hdr, 8);

/**
 * A piece of a SCATTER: the document's urom_rdmo_scatter_iov. `len` bytes follow, then padding to a multiple of 8; with
 * RDMO_FLAG_PULL struct rdmo_pull in their place, with the same len.
 */
struct rdmo_scatter_iov {
	rte_le64_t addr; /**< of the first byte in the target's memory. The document: addr */
	rte_le64_t rkey; /**< the key for it. The document: rkey */
	rte_le32_t
		len; /**< bytes, 0 and more, with RDMO_FLAG_PULL 1 and more. The document: len, 16 bits */
	rte_le32_t reserved; /**< 0 */
};
RDMO_SIZE(rdmo_scatter_iov, 24);
RDMO_OFFSET(rdmo_scatter_iov, rkey, 8);
RDMO_OFFSET(rdmo_scatter_iov, len, 16);
RDMO_OFFSET(rdmo_scatter_iov, reserved, 20);

/** RDMO_OP_GATHER. Then `count` times struct rdmo_gather_iov. No payload. */
struct rdmo_gather_hdr {
	rte_le64_t count; /**< pieces, 0 and more */
};
RDMO_SIZE(rdmo_gather_hdr, 8);

/** A piece of a GATHER. */
struct rdmo_gather_iov {
	rte_le64_t addr; /**< of the first byte in the target's memory */
	rte_le64_t rkey; /**< the key for it, with RDMO_RIGHT_READ */
	rte_le32_t len;	 /**< bytes, 0 and more; all together no more than an answer has room for */
	rte_le32_t reserved; /**< 0 */
};
RDMO_SIZE(rdmo_gather_iov, 24);
RDMO_OFFSET(rdmo_gather_iov, rkey, 8);
RDMO_OFFSET(rdmo_gather_iov, len, 16);
RDMO_OFFSET(rdmo_gather_iov, reserved, 20);

/** What a signal does with its number. */
enum rdmo_signal_kind {
	RDMO_SIGNAL_STORE, /**< it becomes the value; the key is one with RDMO_RIGHT_WRITE */
	RDMO_SIGNAL_ADD, /**< the value is added, modulo 2^64; the key is one with RDMO_RIGHT_ATOMIC */
	RDMO_SIGNALS	 /**< how many there are */
};

/** RDMO_OP_PUT_SIGNAL. The payload follows, 0 bytes and more. */
struct rdmo_put_hdr {
	rte_le64_t addr;	/**< of the payload's first byte in the target's memory */
	rte_le64_t rkey;	/**< the key for it, with RDMO_RIGHT_WRITE */
	rte_le64_t signal_addr; /**< of the number, 8 bytes in little-endian: a multiple of 8 */
	rte_le64_t signal_rkey; /**< the key for it */
	rte_le64_t value;	/**< what is stored or added, when the payload is visible */
	rte_le32_t kind;	/**< enum rdmo_signal_kind */
	rte_le32_t reserved;	/**< 0 */
};
RDMO_SIZE(rdmo_put_hdr, 48);
RDMO_OFFSET(rdmo_put_hdr, rkey, 8);
RDMO_OFFSET(rdmo_put_hdr, signal_addr, 16);
RDMO_OFFSET(rdmo_put_hdr, signal_rkey, 24);
RDMO_OFFSET(rdmo_put_hdr, value, 32);
RDMO_OFFSET(rdmo_put_hdr, kind, 40);
RDMO_OFFSET(rdmo_put_hdr, reserved, 44);

/** RDMO_OP_FETCH_ADD, RDMO_OP_CMP_SWAP: of 8 bytes, little-endian. No payload. */
struct rdmo_atomic_hdr {
	rte_le64_t addr; /**< of the number in the target's memory, a multiple of 8 */
	rte_le64_t rkey; /**< the key for it, with RDMO_RIGHT_ATOMIC */
	rte_le64_t
		operand; /**< FETCH_ADD: what is added, modulo 2^64; CMP_SWAP: what it is compared with */
	rte_le64_t swap; /**< CMP_SWAP: what is stored if both are equal; FETCH_ADD: 0 */
};
RDMO_SIZE(rdmo_atomic_hdr, 32);
RDMO_OFFSET(rdmo_atomic_hdr, rkey, 8);
RDMO_OFFSET(rdmo_atomic_hdr, operand, 16);
RDMO_OFFSET(rdmo_atomic_hdr, swap, 24);

/** Pieces of the initiator's memory that an operation names at most. */
#define RDMO_PULLS 16

/**
 * RDMO_FLAG_PULL: a piece of the initiator's memory that the worker READs. An APPEND has 1 .. RDMO_PULLS of them in the place of its
 * payload, which is their bytes in this order.
 */
struct rdmo_pull {
	rte_le64_t addr; /**< of the first byte, as the initiator's region counts */
	rte_le32_t rkey; /**< the initiator's RDMA key, for remote reads */
	rte_le32_t len;	 /**< bytes, 1 and more */
};
RDMO_SIZE(rdmo_pull, 16);
RDMO_OFFSET(rdmo_pull, rkey, 8);
RDMO_OFFSET(rdmo_pull, len, 12);

/**
 * An answer, in RDMO_MSG_ANSWERS: the document's urom_rdmo_rsp_hdr. `length` bytes follow, then padding; the next answer lies at
 * the next multiple of 8. What follows:
 *
 * - an answer to several APPENDs, FETCH_ADDs or CMP_SWAPs: the values of the second one and on, 8 bytes each (rte_le64_t);
 * - a FLUSH that was executed: struct rdmo_flush_rsp;
 * - a GATHER that was executed: its pieces' bytes, one behind the other;
 * - else nothing, of a refused FLUSH neither.
 */
struct rdmo_rsp_hdr {
	rte_le16_t
		op_id; /**< what is answered: enum rdmo_op_id, 65535 for more. The document: op_id, of FLUSH alone */
	rte_le16_t status; /**< enum rdmo_status */
	/** How many operations in a row have this answer, 1 and more; several with RDMO_STATUS_OK alone, and not of FLUSH or GATHER. */
	rte_le32_t count;
	rte_le32_t length;   /**< bytes behind it, unpadded */
	rte_le32_t reserved; /**< 0 */
	rte_le64_t seq;	     /**< of the operation, or of the first one */
	/**
	 * APPEND: the address of the payload, or the position of the record in a log. FETCH_ADD, CMP_SWAP: what the number was before. FLUSH that was executed: the sequence
	 * number of the first failure since the last one, whose status is `status`; RDMO_NONE: there was none, and `status` is
	 * RDMO_STATUS_OK. Else 0.
	 */
	rte_le64_t value;
};
RDMO_SIZE(rdmo_rsp_hdr, 32);
RDMO_OFFSET(rdmo_rsp_hdr, status, 2);
RDMO_OFFSET(rdmo_rsp_hdr, count, 4);
RDMO_OFFSET(rdmo_rsp_hdr, length, 8);
RDMO_OFFSET(rdmo_rsp_hdr, reserved, 12);
RDMO_OFFSET(rdmo_rsp_hdr, seq, 16);
RDMO_OFFSET(rdmo_rsp_hdr, value, 24);

/** Behind the answer to a FLUSH: the document's urom_rdmo_flush_rsp_hdr. */
struct rdmo_flush_rsp {
	rte_le64_t flush_id; /**< the FLUSH's. The document: flush_id */
};
RDMO_SIZE(rdmo_flush_rsp, 8);

/* ---- Commands and notifications: a stream of bytes between a target and a worker ---- */

/** The first member of a command and of a notification, as a number: "RDMC". */
#define RDMO_CMD_MAGIC 0x434d4452

/** The longest command or notification, struct rdmo_cmd included; one that claims more ends the connection. */
#define RDMO_CMD_MAX_BYTES 1024

/** Commands: the document's urom_worker_rdmo_cmd_type. */
enum rdmo_cmd_kind {
	RDMO_CMD_CLIENT_INIT, /**< who the target is, and how its memory is reached */
	RDMO_CMD_RQ_CREATE,   /**< let an initiator in */
	RDMO_CMD_RQ_DESTROY,  /**< disconnect what came in by it */
	RDMO_CMD_MR_REG,      /**< offer memory to initiators */
	RDMO_CMD_MR_DEREG,    /**< take it back */
	RDMO_CMD_HELLO, /**< an initiator's, its only one: let me in. The document has none: targets tell of initiators */
	RDMO_CMD_TAIL, /**< stop and go on with the tail of a queue, so that the target can set it. The document has none */
	/** no command: a notification by itself, tag 0, of operations with RDMO_FLAG_NOTIFY. The document has none */
	RDMO_CMD_EVENT,
	RDMO_CMDS, /**< how many there are */
	/** Set in the kind of a notification, the answer to a command of that kind. The document: a type of its own */
	RDMO_CMD_NOTIFY = 0x80
};

/** What every command and every notification begins with. The document's are UROM's messages. */
struct rdmo_cmd {
	rte_le32_t magic;  /**< RDMO_CMD_MAGIC */
	uint8_t version;   /**< RDMO_VERSION */
	uint8_t kind;	   /**< enum rdmo_cmd_kind; with RDMO_CMD_NOTIFY in a notification */
	rte_le16_t status; /**< of a notification: enum rdmo_status; of a command: 0 */
	/** Bytes behind it, unpadded; the next one follows at once. Of a notification with another status than OK: 0. */
	rte_le32_t length;
	rte_le32_t reserved; /**< 0 */
	rte_le64_t tag;	     /**< the target's choice; comes back in the notification */
};
RDMO_SIZE(rdmo_cmd, 24);
RDMO_OFFSET(rdmo_cmd, version, 4);
RDMO_OFFSET(rdmo_cmd, kind, 5);
RDMO_OFFSET(rdmo_cmd, status, 6);
RDMO_OFFSET(rdmo_cmd, length, 8);
RDMO_OFFSET(rdmo_cmd, reserved, 12);
RDMO_OFFSET(rdmo_cmd, tag, 16);

/** Every end receives messages of this length at least, bytes: whatever is pulled fits into one. */
#define RDMO_RECEIVE_MIN_BYTES 1024

/** How a queue pair is reached, where the document has a UCP worker address. */
struct rdmo_addr {
	uint8_t gid[16];    /**< of its port, in the order of the wire */
	uint8_t mac[6];	    /**< of its port, in the order of the wire */
	rte_le16_t mtu;	    /**< of its path, bytes: 256, 512, 1024, 2048 or 4096 */
	rte_le32_t qpn;	    /**< its number, 24 bits */
	rte_le32_t psn;	    /**< of its first packet, 24 bits */
	rte_le32_t credits; /**< messages that it has receives for, 0 and more */
	rte_le32_t
		receive_bytes; /**< the longest message that it receives: RDMO_RECEIVE_MIN_BYTES and more, if it has credits */
	uint8_t reserved[24]; /**< 0 */
};
RDMO_SIZE(rdmo_addr, 64);
RDMO_OFFSET(rdmo_addr, mac, 16);
RDMO_OFFSET(rdmo_addr, mtu, 22);
RDMO_OFFSET(rdmo_addr, qpn, 24);
RDMO_OFFSET(rdmo_addr, psn, 28);
RDMO_OFFSET(rdmo_addr, credits, 32);
RDMO_OFFSET(rdmo_addr, receive_bytes, 36);
RDMO_OFFSET(rdmo_addr, reserved, 40);

/** RDMO_CMD_CLIENT_INIT: the document's urom_worker_rdmo_cmd_client_init. struct rdmo_addr follows, the target's. */
struct rdmo_client_init {
	rte_le64_t id;	     /**< what operations name the target by. The document: id */
	rte_le64_t addr_len; /**< 64. The document: addr_len */
};
RDMO_SIZE(rdmo_client_init, 16);
RDMO_OFFSET(rdmo_client_init, addr_len, 8);

/** Its notification: the document's urom_worker_rdmo_notify_client_init. struct rdmo_addr follows, the worker's. */
struct rdmo_client_init_done {
	rte_le64_t addr_len; /**< 64. The document: addr_len */
};
RDMO_SIZE(rdmo_client_init_done, 8);

/** Bytes of a receive queue's secret. */
#define RDMO_SECRET_BYTES 16

/** RDMO_CMD_RQ_CREATE: the document's urom_worker_rdmo_cmd_rq_create. struct rdmo_addr follows, or nothing. */
struct rdmo_rq_create {
	/** 64: the initiator that has this address is let in. 0: each one is that brings the secret. The document: addr_len */
	rte_le64_t addr_len;
	rte_le32_t flags;    /**< 0: none are defined */
	rte_le32_t reserved; /**< 0 */
	/** addr_len 0: what initiators bring, drawn at random, not all zeros. Else all zeros. The document has none */
	uint8_t secret[RDMO_SECRET_BYTES];
};
RDMO_SIZE(rdmo_rq_create, 32);
RDMO_OFFSET(rdmo_rq_create, flags, 8);
RDMO_OFFSET(rdmo_rq_create, reserved, 12);
RDMO_OFFSET(rdmo_rq_create, secret, 16);

/** Its notification, RDMO_CMD_RQ_DESTROY and that one's notification. The document: urom_worker_rdmo_notify_rq_create and others. */
struct rdmo_rq {
	rte_le64_t rq_id; /**< the receive queue, not 0. The document: rq_id */
};
RDMO_SIZE(rdmo_rq, 8);

/**
 * RDMO_CMD_HELLO: an initiator's, on a stream of its own, whose end is the connection's end. struct rdmo_addr follows, the
 * initiator's. The document has none.
 */
struct rdmo_hello {
	uint8_t secret
		[RDMO_SECRET_BYTES]; /**< of the receive queue; all zeros: that for this very address */
	rte_le64_t addr_len;	     /**< 64 */
	/** Which producer of logs it is, below RDMO_LOG_PRODUCERS_MAX; RDMO_NO_PRODUCER: none. An older connection of it ends. */
	rte_le32_t producer;
	rte_le32_t reserved; /**< 0 */
	rte_le64_t
		first_seq; /**< sequence number of the first operation that it will send; 0: as the worker answers */
	/**
	 * Operations before this one were posted to an earlier connection: RDMO_LOG_WINDOW at most, none unless it is a producer.
	 * Those that append to logs are done if they were not yet; the others end with RDMO_STATUS_UNKNOWN.
	 */
	rte_le64_t next_seq;
};
RDMO_SIZE(rdmo_hello, 48);
RDMO_OFFSET(rdmo_hello, addr_len, 16);
RDMO_OFFSET(rdmo_hello, producer, 24);
RDMO_OFFSET(rdmo_hello, reserved, 28);
RDMO_OFFSET(rdmo_hello, first_seq, 32);
RDMO_OFFSET(rdmo_hello, next_seq, 40);

/** Its notification: the worker has connected its end. struct rdmo_addr follows, the worker's. */
struct rdmo_hello_done {
	rte_le64_t session; /**< of the connection's messages: random, not 0 */
	/**
	 * Sequence number of the first operation that it is to send: not 0. For who did not name one: 1, or what is behind the
	 * last record that the producer has in any log which the secret opens
	 */
	rte_le64_t first_seq;
	rte_le64_t addr_len; /**< 64 */
};
RDMO_SIZE(rdmo_hello_done, 24);
RDMO_OFFSET(rdmo_hello_done, first_seq, 8);
RDMO_OFFSET(rdmo_hello_done, addr_len, 16);

/** What a key allows. The document: everything. */
enum rdmo_right {
	RDMO_RIGHT_APPEND = 1 << 0,    /**< APPEND: as a queue's tail pointer, bytes, or a log */
	RDMO_RIGHT_READ = 1 << 1,      /**< operations that read */
	RDMO_RIGHT_WRITE = 1 << 2,     /**< SCATTER */
	RDMO_RIGHT_ATOMIC = 1 << 3,    /**< operations that change a number in place */
	RDMO_RIGHTS_ALL = (1 << 4) - 1 /**< all of them */
};

/** Who moves the tail of a queue that lies in a region. */
enum rdmo_tail_mode {
	RDMO_TAIL_EXCLUSIVE, /**< this worker alone, which keeps it in its cache */
	RDMO_TAIL_SHARED,    /**< others too: each move is an atomic in the target's memory */
	RDMO_TAIL_LOG,	/**< the region is a log (struct rdmo_log_header), with an exclusive tail */
	RDMO_TAIL_MODES /**< how many there are */
};

/** RDMO_CMD_MR_REG: the document's urom_worker_rdmo_cmd_mr_reg. struct rdmo_packed_rkey follows. */
struct rdmo_mr_reg {
	rte_le64_t va;	/**< of the region's first byte. The document: va */
	rte_le64_t len; /**< bytes, 1 and more; va + len does not wrap. The document: len */
	rte_le64_t packed_rkey_len; /**< 8. The document: packed_rkey_len */
	/** 0; more is refused with RDMO_STATUS_NOTSUP. The document: packed_memh_len */
	rte_le64_t packed_memh_len;
	rte_le64_t rq_id;     /**< whose initiators may use the key; 0: all. The document: all */
	rte_le32_t rights;    /**< of enum rdmo_right, one at least */
	rte_le32_t tail_mode; /**< enum rdmo_tail_mode */
};
RDMO_SIZE(rdmo_mr_reg, 48);
RDMO_OFFSET(rdmo_mr_reg, len, 8);
RDMO_OFFSET(rdmo_mr_reg, packed_rkey_len, 16);
RDMO_OFFSET(rdmo_mr_reg, packed_memh_len, 24);
RDMO_OFFSET(rdmo_mr_reg, rq_id, 32);
RDMO_OFFSET(rdmo_mr_reg, rights, 40);
RDMO_OFFSET(rdmo_mr_reg, tail_mode, 44);

/** An RDMA key, where the document has a packed UCP key. */
struct rdmo_packed_rkey {
	rte_le32_t rkey;     /**< of the target's memory region, for the worker's queue pair */
	rte_le32_t reserved; /**< 0 */
};
RDMO_SIZE(rdmo_packed_rkey, 8);

/** Its notification, RDMO_CMD_MR_DEREG and that one's notification. The document: urom_worker_rdmo_notify_mr_reg and others. */
struct rdmo_mr {
	rte_le64_t
		rkey; /**< what operations name the region by: random, not 0. The document: rkey */
};
RDMO_SIZE(rdmo_mr, 8);

/** A notification of RDMO_CMD_EVENT: what operations with RDMO_FLAG_NOTIFY have done is visible. The document has none. */
struct rdmo_notify {
	rte_le64_t rkey;  /**< of the region: APPEND's data_rkey; of SCATTER the last piece's */
	rte_le64_t count; /**< such operations since the last one, 1 and more */
};
RDMO_SIZE(rdmo_notify, 16);
RDMO_OFFSET(rdmo_notify, count, 8);

/** RDMO_CMD_TAIL: of a queue with an exclusive tail. Its notification is struct rdmo_mr. The document has none. */
struct rdmo_tail_hold {
	rte_le64_t rkey; /**< of the queue's bytes */
	/** 1: nothing is appended, the worker leaves the tail alone from now on; 0: go on, from what the tail holds now */
	rte_le32_t is_held;
	rte_le32_t reserved; /**< 0 */
};
RDMO_SIZE(rdmo_tail_hold, 16);
RDMO_OFFSET(rdmo_tail_hold, is_held, 8);
RDMO_OFFSET(rdmo_tail_hold, reserved, 12);

/* ---- A log, in the target's memory: header, a slot for each producer, ring ---- */

/** The first member of a log, as a number: "RDML". */
#define RDMO_LOG_MAGIC 0x4c4d4452

/** Producers of a log at most. */
#define RDMO_LOG_PRODUCERS_MAX (1 << 16)

/** Who is no producer. */
#define RDMO_NO_PRODUCER UINT32_MAX

/** Unanswered operations that a producer may have, and positions that its slot has. */
#define RDMO_LOG_WINDOW 256

/** Records lie at multiples of this many bytes. */
#define RDMO_RECORD_ALIGN 32

/** Ends of a log. Positions count bytes since the log began, wherever in the ring they are. */
struct rdmo_log_header {
	rte_le32_t magic;	 /**< RDMO_LOG_MAGIC */
	uint8_t version;	 /**< RDMO_VERSION */
	uint8_t reserved[3];	 /**< 0 */
	rte_le32_t producers;	 /**< slots, 1 and more: producers are 0 .. producers - 1 */
	rte_le32_t reserved_too; /**< 0 */
	rte_le64_t capacity;	 /**< of the ring, bytes: a power of two from 4096 to 2^48 */
	rte_le64_t epoch;	 /**< how often a worker has begun to serve it */
	rte_le64_t
		key; /**< what operations name it by, whichever worker serves it; 0: none has yet */
	uint8_t pad[24]; /**< 0, to the next cache line */
	rte_le64_t tail; /**< position behind the last record; moved by the worker */
	/** 1: the reader sleeps, and who moves the tail next stores 0 and wakes it; else 0. For a worker in the reader's process. */
	rte_le32_t is_asleep;
	uint8_t pad_tail[52]; /**< 0, to the next cache line */
	rte_le64_t
		head; /**< position of the first record that is not released; moved by the reader */
	uint8_t pad_head[3960]; /**< 0, to the slots */
};
RDMO_SIZE(rdmo_log_header, 4096);
RDMO_OFFSET(rdmo_log_header, producers, 8);
RDMO_OFFSET(rdmo_log_header, capacity, 16);
RDMO_OFFSET(rdmo_log_header, epoch, 24);
RDMO_OFFSET(rdmo_log_header, key, 32);
RDMO_OFFSET(rdmo_log_header, tail, 64);
RDMO_OFFSET(rdmo_log_header, is_asleep, 72);
RDMO_OFFSET(rdmo_log_header, head, 128);

/** What a producer has appended last, so that it is told after a reconnect, and not done again. */
struct rdmo_log_slot {
	/** Of operation `seq`, at seq % RDMO_LOG_WINDOW: its record's position. Void if that is not before the tail. */
	rte_le64_t position[RDMO_LOG_WINDOW];
	rte_le64_t
		next_seq; /**< no record of this producer has this sequence number or a higher one; 0: it has none */
	rte_le64_t reserved[7]; /**< 0 */
};
RDMO_SIZE(rdmo_log_slot, 2112);
RDMO_OFFSET(rdmo_log_slot, next_seq, 2048);

/** Kinds of records. */
enum rdmo_record_kind {
	RDMO_RECORD_DATA = 1, /**< a producer's payload */
	RDMO_RECORD_PAD,      /**< nothing: skip `length` bytes, whose contents mean nothing */
};

/** Before the payload of each record. The next one lies behind it, at a multiple of RDMO_RECORD_ALIGN. */
struct rdmo_record {
	rte_le32_t length; /**< bytes of the payload, unpadded; all of it lies in one piece */
	/** CRC-32C (RFC 3720) of this header with 0 in this place, then, of DATA, of the payload. */
	rte_le32_t crc32c;
	rte_le64_t position; /**< its own */
	rte_le64_t seq;	     /**< of the operation that appended it; of PAD 0 */
	rte_le32_t producer; /**< who appended it; of PAD 0 */
	rte_le16_t kind;     /**< enum rdmo_record_kind */
	rte_le16_t reserved; /**< 0 */
};
RDMO_SIZE(rdmo_record, 32);
RDMO_OFFSET(rdmo_record, crc32c, 4);
RDMO_OFFSET(rdmo_record, position, 8);
RDMO_OFFSET(rdmo_record, seq, 16);
RDMO_OFFSET(rdmo_record, producer, 24);
RDMO_OFFSET(rdmo_record, kind, 28);
RDMO_OFFSET(rdmo_record, reserved, 30);

#ifdef __cplusplus
}
#endif

#endif
