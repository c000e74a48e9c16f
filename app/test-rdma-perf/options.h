/* SPDX-License-Identifier: BSD-3-Clause */

/**
 * @file
 * The command line behind EAL's "--". Options mean what perftest's do; what is ours alone is marked so in --help.
 */
#ifndef PERF_OPTIONS_H
#define PERF_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include <rdmapmd.h>

#define PERF_EXIT_FAILED      1
#define PERF_EXIT_USAGE	      2
#define PERF_EXIT_INTERRUPTED 130

#define PERF_SIZE_MAX	 (UINT32_C(1) << 23) /* the last size of -a */
#define PERF_PEAK_ITERS	 20000 /* more of them: no peak is looked for, as in perftest */
#define PERF_LCORES_MAX	 64
#define PERF_INLINE_AUTO (-1)

/** What the requester asks for. */
enum perf_op {
	PERF_WRITE,
	PERF_WRITE_IMM,
	PERF_SEND,
	PERF_READ,
	PERF_FETCH_ADD,
	PERF_CMP_SWAP,
};

enum perf_mode {
	PERF_BW,
	PERF_LAT,
};

/** How two processes tell each other their queue pairs. */
enum perf_exchange {
	PERF_NATIVE,
	PERF_PINGPONG,
	PERF_PERFTEST,
};

struct perf_options {
	enum perf_op op;
	enum perf_mode mode;
	enum rdmapmd_qp_type transport; /**< RC, UC, UD */
	enum perf_exchange exchange;
	const char *host;     /**< to connect to; NULL: this is the server */
	bool loopback;	      /**< both ends in this process */
	const char *device;   /**< a device's name or a port's number; NULL: the first device */
	const char *device_2; /**< of the server's end of a loopback run; NULL: as `device` */
	uint32_t port;	      /**< TCP */
	uint32_t size;	      /**< bytes of a message; with `all` the largest */
	bool all;	      /**< 2, 4, ... up to `size` */
	uint64_t iters;	      /**< messages of a queue pair; 0: `duration` */
	uint32_t duration;    /**< seconds; 0: `iters` */
	uint32_t qps;	      /**< queue pairs */
	uint32_t tx_depth;    /**< requests of a queue pair under way */
	uint32_t rx_depth;    /**< receives of a queue pair, or of the SRQ */
	int32_t mtu;	      /**< bytes, as they were given: perf_mtu_is_one(); 0: the port's */
	uint32_t post_list;   /**< requests a burst */
	uint32_t cq_mod;      /**< a completion for so many requests */
	int32_t inline_size;  /**< bytes up to which payload is inline; PERF_INLINE_AUTO */
	int32_t out_reads;    /**< READs and atomics under way; 0 and below: what the device can */
	uint32_t timeout;     /**< of a queue pair: 4.096 us << timeout */
	uint32_t gid_index;   /**< the source address, in the port's table */
	bool bidirectional;
	bool events;	/**< sleep until completions come */
	bool gbits;	/**< Gb/s instead of MB/s */
	bool use_srq;	/**< receives of all queue pairs of an lcore in one SRQ */
	bool verify;	/**< compare what has arrived */
	int64_t damage; /**< offset of a byte of a message that is sent damaged; -1: none */
	uint32_t lcores;
	bool groups_large;     /**< --cq-mod was given for messages of which each would complete */
	bool json;	       /**< one was asked for, by whatever name */
	const char *json_file; /**< NULL: none */
	const char *plot_file; /**< NULL: none */

	/** What was given: some defaults depend on others. */
	bool has_op, has_mode, has_size, has_iters, has_tx_depth, has_rx_depth, has_cq_mod,
		has_out_reads, has_mtu, has_qps, has_verify;
};

/**
 * Read the command line behind "--"; says on stderr what is wrong with it, and does --help and --version itself.
 *
 * @param options Out: all members; its texts are argv's.
 * @param argc    How many; argv[0] counts.
 * @param argv    The program's name, and what stands behind "--".
 * @return 0 go on, 1 done (exit code 0), -EINVAL wrong (exit code 2).
 */
int perf_options_parse(struct perf_options *options, int argc, char **argv);

/** The usage, on stdout. */
void perf_options_help(void);

/** What it says is wrong, with the hint to --help. @return -EINVAL. */
int perf_usage_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

/** Whether the operation is one that a receive request completes with at the other side. */
static inline bool
perf_op_receives(enum perf_op op)
{
	return op == PERF_SEND || op == PERF_WRITE_IMM;
}

static inline bool
perf_op_atomic(enum perf_op op)
{
	return op == PERF_FETCH_ADD || op == PERF_CMP_SWAP;
}

/** Whether data flows from the responder to the requester. */
static inline bool
perf_op_fetches(enum perf_op op)
{
	return op == PERF_READ || perf_op_atomic(op);
}

/** Whether a path can have an MTU of so many bytes. */
static inline bool
perf_mtu_is_one(int32_t mtu)
{
	return mtu >= 256 && mtu <= 4096 && (mtu & (mtu - 1)) == 0;
}

/**
 * @param size Bytes of a message.
 * @return Messages of a queue pair before those that are measured: whole lists, and not more than there are receives, as UC and UD lose
 * what finds none.
 */
uint32_t perf_warm_up_iters(const struct perf_options *options, uint32_t size);

/** As --op has it. */
const char *perf_op_name(enum perf_op op);

/** As -c has it. */
const char *perf_transport_name(enum rdmapmd_qp_type transport);

#endif
