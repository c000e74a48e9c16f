/* SPDX-License-Identifier: BSD-3-Clause */

/* Orders, and messages whose bytes follow from a seed. */

#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "peer.h"

#define WAIT_MS	  120000 /* an emulated machine is slow */
#define QUIET_MS  500
#define UNTOUCHED 0xa5
#define DIM(a)	  (sizeof(a) / sizeof((a)[0]))

struct peer_memory peer_memory;
static enum peer_type type;

void
peer_say(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vprintf(format, args);
	va_end(args);
}

void
peer_must(bool good, const char *what)
{
	if (good)
		return;
	printf("failed: %s\n", what);
	fflush(stdout);
	_Exit(1);
}

/* ---- Words of an order ---- */

/* What is behind KEY=, or NULL. */
static const char *
text_of(const char *order, const char *key)
{
	const size_t length = strlen(key);
	const char *at = order;

	while ((at = strchr(at, ' ')) != NULL) {
		at++;
		if (strncmp(at, key, length) == 0 && at[length] == '=')
			return at + length + 1;
	}
	return NULL;
}

static uint64_t
number_of(const char *order, const char *key, uint64_t otherwise)
{
	const char *text = text_of(order, key);

	return text != NULL ? strtoull(text, NULL, 10) : otherwise;
}

static uint32_t
small_of(const char *order, const char *key, uint32_t otherwise)
{
	return (uint32_t)number_of(order, key, otherwise);
}

/* 32 digits. */
static bool
gid_of(const char *order, uint8_t gid[16])
{
	const char *text = text_of(order, "gid");
	unsigned int i, value;

	for (i = 0; text != NULL && i < 16; i++) {
		peer_must(sscanf(text + 2 * i, "%2x", &value) == 1, order);
		gid[i] = (uint8_t)value;
	}
	return text != NULL;
}

/* Which of these words is behind KEY=? */
static unsigned int
choice_of(const char *order, const char *key, const char *const *words, unsigned int count)
{
	const char *text = text_of(order, key);
	unsigned int i;

	peer_must(text != NULL, order);
	for (i = 0; i < count; i++)
		if (strncmp(text, words[i], strlen(words[i])) == 0 &&
		    !isgraph(text[strlen(words[i])]))
			return i;
	peer_must(false, order);
	return 0;
}

/* ---- Messages ---- */

static uint8_t
byte_of(uint64_t seed, uint32_t at)
{
	return (uint8_t)(seed * 31 + at * 7 + (at >> 8));
}

static void
fill(const char *order)
{
	const uint64_t seed = number_of(order, "seed", 0);
	uint32_t i;

	for (i = 0; i < PEER_MESSAGE; i++)
		peer_memory.bytes[PEER_FROM + i] = byte_of(seed, i);
	memset(peer_memory.bytes + PEER_TO - PEER_GUARD, UNTOUCHED, PEER_MESSAGE + 2 * PEER_GUARD);
	peer_say("ok");
}

static void
has(const char *order)
{
	const uint64_t seed = number_of(order, "seed", 0);
	const uint32_t length = small_of(order, "length", 0);
	const uint32_t before = type == PEER_UD ? PEER_GRH : 0;
	const uint8_t *at = peer_memory.bytes + PEER_TO;
	uint32_t i;
	bool good = true;

	for (i = 0; i < length; i++)
		good = good && at[i] == byte_of(seed, i);
	for (i = 0; i < PEER_GUARD; i++)
		good = good && at[length + i] == UNTOUCHED &&
		       (i < before || at[-1 - (int)i] == UNTOUCHED);
	peer_say(good ? "yes" : "no");
}

static void
word(const char *order)
{
	const uint64_t value = number_of(order, "value", 0);

	memcpy(peer_memory.bytes + PEER_FROM, &value, sizeof(value));
	peer_say("ok");
}

static void
say_value(const char *order)
{
	const uint32_t at = small_of(order, "at", 0);
	uint64_t value;

	peer_must(at <= PEER_BYTES - sizeof(value), order);
	memcpy(&value, peer_memory.bytes + at, sizeof(value));
	peer_say("%" PRIu64, value);
}

/* ---- Queue pairs ---- */

static void
who(const char *order)
{
	(void)order;
	peer_say("address=%" PRIu64 " bytes=%u rkey=%u read_only_rkey=%u",
		 (uint64_t)(uintptr_t)peer_memory.bytes, PEER_BYTES, peer_memory.rkey,
		 peer_memory.read_only_rkey);
}

static void
create(const char *order)
{
	static const char *const types[] = { "rc", "uc", "ud" };

	type = (enum peer_type)choice_of(order, "type", types, DIM(types));
	peer_say("qpn=%u", peer_create(type, number_of(order, "srq", 0) != 0));
}

static void
connect_to(const char *order)
{
	struct peer_path path = {
		.qpn = small_of(order, "qpn", 0),
		.psn = small_of(order, "psn", 0),
		.own_psn = small_of(order, "own_psn", 0),
		.mtu = small_of(order, "mtu", 1024),
		.qkey = small_of(order, "qkey", 0),
		.peer_qkey = small_of(order, "peer_qkey", 0),
		.timeout = (uint8_t)number_of(order, "timeout", 18),
		.retry = (uint8_t)number_of(order, "retry", 7),
		.rnr = (uint8_t)number_of(order, "rnr", 7),
	};

	peer_must(gid_of(order, path.gid), order);
	peer_connect(&path);
	peer_say("ok");
}

static void
receive(const char *order)
{
	const uint32_t length = small_of(order, "length", 0);
	const uint32_t before = type == PEER_UD ? PEER_GRH : 0;

	peer_must(length <= PEER_MESSAGE, order);
	peer_receive(PEER_TO - before, length + before);
	peer_say("ok");
}

static void
post(const char *order)
{
	static const char *const ops[] = { "WRITE", "WRITE_IMM", "SEND",     "SEND_IMM", "READ",
					   "SWAP",  "ADD",	 "SEND_INV", "LOCAL_INV" };
	struct peer_request request = {
		.op = (enum peer_op)choice_of(order, "op", ops, DIM(ops)),
		.length = small_of(order, "length", 0),
		.address = number_of(order, "address", 0),
		.rkey = small_of(order, "rkey", 0),
		.imm = small_of(order, "imm", 0),
		.key = small_of(order, "key", 0),
		.add = number_of(order, "add", 0),
		.swap = number_of(order, "swap", 0),
		.qpn = small_of(order, "qpn", 0),
		.qkey = small_of(order, "qkey", 0),
	};

	peer_must(request.length <= PEER_MESSAGE, order);
	gid_of(order, request.gid);
	peer_post(&request);
	peer_say("ok");
}

static uint64_t
now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* Within the time. */
static bool
wait_for(struct peer_completion *completion, uint64_t ms)
{
	const struct timespec pause = { .tv_nsec = 200000 };
	const uint64_t end = now_ms() + ms;

	while (!peer_poll(completion)) {
		if (now_ms() > end)
			return false;
		nanosleep(&pause, NULL);
	}
	return true;
}

static void
poll_one(const char *order)
{
	struct peer_completion got = { 0 };

	if (!wait_for(&got, number_of(order, "ms", WAIT_MS))) {
		peer_say("none");
		return;
	}
	peer_say("status=%s", peer_status(got.status));
	if (got.status != 0)
		return;
	peer_say(" opcode=%d length=%u src=%u", got.opcode, got.length, got.src);
	if (got.has_imm)
		peer_say(" imm=%u", got.imm);
	if (got.has_key)
		peer_say(" key=%u", got.key);
}

static void
quiet(const char *order)
{
	struct peer_completion got;

	peer_say(wait_for(&got, number_of(order, "ms", QUIET_MS)) ? "no" : "yes");
}

static void
bind_window(const char *order)
{
	peer_say("key=%u", peer_bind(small_of(order, "window", 1)));
}

static void
unbind(const char *order)
{
	(void)order;
	peer_unbind();
	peer_say("ok");
}

static void
rereg(const char *order)
{
	peer_rereg(small_of(order, "write", 0) != 0);
	peer_say("read_only_rkey=%u", peer_memory.read_only_rkey);
}

static void
group(const char *order)
{
	uint8_t gid[16];

	peer_must(gid_of(order, gid), order);
	peer_group(gid, strncmp(order, "join ", 5) == 0);
	peer_say("ok");
}

static void
say_state(const char *order)
{
	(void)order;
	peer_say("%s", peer_state());
}

static void
say_counters(const char *order)
{
	(void)order;
	peer_counters();
}

/* clang-format off */
static const struct {
	const char *word;
	void (*obey)(const char *order);
} orders[] = {
	{ "who", who },
	{ "create", create },
	{ "connect", connect_to },
	{ "fill", fill },
	{ "word", word },
	{ "receive", receive },
	{ "post", post },
	{ "poll", poll_one },
	{ "quiet", quiet },
	{ "has", has },
	{ "value", say_value },
	{ "bind", bind_window },
	{ "unbind", unbind },
	{ "rereg", rereg },
	{ "join", group },
	{ "leave", group },
	{ "state", say_state },
	{ "counters", say_counters },
};
/* clang-format on */

void
peer_obey(void)
{
	static char order[1024];
	unsigned int i;

	while (fgets(order, sizeof(order), stdin) != NULL) {
		order[strcspn(order, "\n")] = '\0';
		if (strcmp(order, "quit") == 0)
			break;
		printf("told answer ");
		for (i = 0; i < DIM(orders); i++)
			if (strncmp(order, orders[i].word, strlen(orders[i].word)) == 0 &&
			    !isgraph(order[strlen(orders[i].word)]))
				break;
		peer_must(i < DIM(orders), order);
		orders[i].obey(order);
		printf("\n");
		fflush(stdout);
	}
}
