/* SPDX-License-Identifier: BSD-3-Clause */

/* What the targets share: an input that is read from its start, and how a broken promise is told. */
#ifndef TEST_FUZZ_H
#define TEST_FUZZ_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
/* A target's own: what is to be done before its first input, if anything; and its seeds. */
void fuzz_begin(void);
void fuzz_seeds_write(void);

/* What the code promises to prevent. A fuzzer finds by crashes. */
#define must(condition) ((condition) ? (void)0 : fuzz_broken(#condition, __FILE__, __LINE__))

_Noreturn void fuzz_broken(const char *what, const char *file, int line);

/* Behind the end of the input all bytes are zero. */
struct fuzz_input {
	const uint8_t *data;
	size_t left;
};

static inline void
fuzz_bytes(struct fuzz_input *input, void *to, size_t bytes)
{
	size_t n = bytes < input->left ? bytes : input->left;

	memset(to, 0, bytes);
	if (n > 0)
		memcpy(to, input->data, n);
	input->data += n;
	input->left -= n;
}

static inline uint8_t
fuzz_u8(struct fuzz_input *input)
{
	uint8_t value;

	fuzz_bytes(input, &value, sizeof(value));
	return value;
}

static inline uint16_t
fuzz_u16(struct fuzz_input *input)
{
	uint16_t value;

	fuzz_bytes(input, &value, sizeof(value));
	return value;
}

static inline uint32_t
fuzz_u32(struct fuzz_input *input)
{
	uint32_t value;

	fuzz_bytes(input, &value, sizeof(value));
	return value;
}

/* With FUZZ_SEEDS=FOLDER a target writes its seeds there, and ends. */
struct fuzz_seed {
	uint8_t bytes[1 << 16];
	size_t used;
};

static inline void
fuzz_put(struct fuzz_seed *seed, const void *from, size_t bytes)
{
	must(seed->used + bytes <= sizeof(seed->bytes));
	memcpy(seed->bytes + seed->used, from, bytes);
	seed->used += bytes;
}

/* Bytes as they stand. */
#define PUT(seed, ...) \
	fuzz_put(seed, (const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ }))

static inline void
fuzz_put_u8(struct fuzz_seed *seed, uint8_t value)
{
	fuzz_put(seed, &value, sizeof(value));
}

static inline void
fuzz_put_u16(struct fuzz_seed *seed, uint16_t value)
{
	fuzz_put(seed, &value, sizeof(value));
}

/* Into that folder, by this name. */
void fuzz_seed_write(const struct fuzz_seed *seed, const char *name, ...)
	__attribute__((format(printf, 2, 3)));

#endif
