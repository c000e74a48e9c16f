/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Commands and queue entries as text, line by line through a callback, without the newline.
 *
 * Two kinds: hexdumps, laid out exactly as Linux's mlx5_core and rdma-core print theirs, so that
 * traces can be put side by side; and decoded dumps, a line per field that is not zero. All take
 * plain bytes that a device or a driver may have made hostile: only the given lengths are trusted.
 */
#ifndef RNIC_PRM_DUMP_H
#define RNIC_PRM_DUMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef void rnic_dump_line(void *arg, const char *text);

#define RNIC_DUMP_TEXT_BYTES 4096

/*
 * Lines gathered for a log that several threads write to, so that none of them comes between: put gets them together,
 * each with its newline. A dump that is longer than the text goes out in pieces, cut between lines. Set put, used = 0.
 */
struct rnic_dump_text {
	void (*put)(const char *text);
	size_t used;
	char text[RNIC_DUMP_TEXT_BYTES];
};

/* A rnic_dump_line; text is a struct rnic_dump_text. A line that is longer than the whole text is cut. */
void rnic_dump_text_line(void *text, const char *line);
/* Put what has been gathered. */
void rnic_dump_text_end(struct rnic_dump_text *text);

/*
 * A command queue entry (64 bytes) and the mailbox blocks (0x240 bytes each) of its input or
 * output:
 *
 *	dump command CREATE_EQ(0x301) INPUT
 *	000: 07000000 00000118 00000007 ab0e8800
 *	...
 *
 *	command block:
 *	040: ...
 */
void rnic_dump_cmd(const void *entry, const void *const *blocks, size_t block_count, bool output,
		   rnic_dump_line *line, void *arg);

/* The same for an input or output that lies in one piece, offsets counting from its first byte. */
void rnic_dump_cmd_data(uint32_t opcode, const void *data, size_t length, bool output,
			rnic_dump_line *line, void *arg);

/*
 * The fields of an input, and of the output of an input. Bits that no layout names are shown as
 * such.
 */
void rnic_decode_cmd_in(const void *in, size_t in_length, rnic_dump_line *line, void *arg);
void rnic_decode_cmd_out(const void *in, size_t in_length, const void *out, size_t out_length,
			 rnic_dump_line *line, void *arg);

/*
 * A send WQE that lies in one piece; as many bytes as its ds says and length allows. at is the
 * address to show.
 */
void rnic_dump_wqe(uint64_t at, const void *wqe, size_t length, rnic_dump_line *line, void *arg);

/* What stands behind the control segment of a queue's SENDs. */
enum rnic_wqe_kind {
	RNIC_WQE_OF_MESSAGES,  /* data: the peer is known */
	RNIC_WQE_OF_FRAMES,    /* an Ethernet segment: of an SQ, or a raw packet QP */
	RNIC_WQE_OF_DATAGRAMS, /* the address vector */
};

/* Its segments. */
void rnic_decode_wqe(const void *wqe, size_t length, enum rnic_wqe_kind kind, rnic_dump_line *line,
		     void *arg);

/* A CQE, an error CQE included. */
void rnic_dump_cqe(uint32_t cqn, const void *cqe, size_t length, rnic_dump_line *line, void *arg);
void rnic_decode_cqe(const void *cqe, size_t length, rnic_dump_line *line, void *arg);

/* An EQE. */
void rnic_dump_eqe(uint32_t eqn, const void *eqe, size_t length, rnic_dump_line *line, void *arg);
void rnic_decode_eqe(const void *eqe, size_t length, rnic_dump_line *line, void *arg);

#endif
