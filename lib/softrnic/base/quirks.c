/* SPDX-License-Identifier: BSD-3-Clause */

/* Which quirks there are, by which names, and where they are known from; what they make of the device. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <rte_common.h>

#include "prm/init_seg.h"
#include "softrnic/base/clock.h"
#include "softrnic/base/log.h"
#include "softrnic/base/quirks.h"

/* Of a kind there is one at a time; its value says which. */
enum kind {
	KIND_NONE,
	KIND_UAR,	 /* the first number */
	KIND_INIT_PAGES, /* how many */
	KIND_PTYS,	 /* Gb/s */
};

#define NS_PER_MS	UINT64_C(1000000)
#define INITIALIZING_NS (100 * NS_PER_MS)
/* Of the health counter: how long after INIT_HCA it stops, and for how long. */
#define STILL_AFTER_NS (2000 * NS_PER_MS)
#define STILL_NS       (5000 * NS_PER_MS)
#define PAGES_LATE_NS  (3000 * NS_PER_MS)
#define PAGES_LOT      7 /* a number that nothing is a multiple of */

/*
 * `from`: a trace of a card, drivers of others that reckon with it, what users have told, or a guess of ours.
 */
static const struct {
	const char *name, *what, *from;
	enum kind kind;
	uint32_t value;
} quirks[] = {
	[SOFTRNIC_QUIRK_INITIALIZING_AGAIN] = { "initializing-again",
						"the init segment reads initializing for another 100 ms "
						"when the command queue's address is written, and "
						"loses doorbells meanwhile",
						"rdma-core, OpenBSD, illumos and Snabb wait then, "
						"Linux before and then" },
	[SOFTRNIC_QUIRK_UAR_8] = { "uar-8", "ALLOC_UAR numbers from 0x8 on",
				   "a guess: other drivers know no lower bound", KIND_UAR, 0x8 },
	[SOFTRNIC_QUIRK_UAR_16] = { "uar-16", "ALLOC_UAR numbers from 0x10 on",
				    "a trace of a ConnectX-4 Lx", KIND_UAR, 0x10 },
	[SOFTRNIC_QUIRK_UAR_256] = { "uar-256", "ALLOC_UAR numbers from 0x100 on",
				     "a guess: other drivers know no upper bound but the BAR's end",
				     KIND_UAR, SOFTRNIC_FIRST_UAR_MAX },
	[SOFTRNIC_QUIRK_TEARDOWN_REFUSED] = { "teardown-refused",
					      "TEARDOWN_HCA answers INTERNAL_ERR, and the device goes "
					      "on, also in the driver's pages",
					      "Linux, which then leaves the pages alone" },
	[SOFTRNIC_QUIRK_PAGES_LATE] = { "pages-late",
					"pages come back 3 s after they are asked for, and are "
					"written to until then",
					"Linux, which waits for 5 s" },
	[SOFTRNIC_QUIRK_PAGES_SMALL] = { "pages-small", "a command returns at most 7 pages",
					 "Linux, which asks until it has all" },
	[SOFTRNIC_QUIRK_PAGES_NEVER] = { "pages-never",
					 "pages do not come back before a reset, and are written to "
					 "until then",
					 "Linux and illumos, which leave such pages alone" },
	[SOFTRNIC_QUIRK_PAGE_REQUEST_EARLY] = { "page-request-early",
						"the first command behind the CREATE_EQ that takes "
						"page requests completes when 5 pages have come, "
						"which an event asks for",
						"a guess: drivers may not read it yet" },
	[SOFTRNIC_QUIRK_INIT_PAGES_12874] = { "init-pages-12874",
					      "12874 pages are asked for before INIT_HCA",
					      "a trace of a ConnectX-4 Lx, boot pages included",
					      KIND_INIT_PAGES, 12874 },
	[SOFTRNIC_QUIRK_INIT_PAGES_60000] = { "init-pages-60000",
					      "60000 pages are asked for before INIT_HCA",
					      "a guess: newer cards want more than a ConnectX-4 Lx",
					      KIND_INIT_PAGES, 60000 },
	[SOFTRNIC_QUIRK_NO_Q_COUNTERS] = { "no-q-counters",
					   "max_qp_cnt is 0, ALLOC_Q_COUNTER answers NO_RES",
					   "drivers that go on without; the status is a guess" },
	[SOFTRNIC_QUIRK_ROCE_OFF] = { "roce-off",
				      "capability roce is 0, SET_HCA_CAP may set it "
				      "(roce_rw_supported); until then there are no addresses, no "
				      "roce_en and no queue pairs",
				      "Linux, which asks for it; what is refused is a guess" },
	[SOFTRNIC_QUIRK_HEALTH_STILL] = { "health-still",
					  "once, 2 s after INIT_HCA, the health counter stands still "
					  "for 5 s, while all else goes on",
					  "Linux only warns of it: a firmware may be busy" },
	[SOFTRNIC_QUIRK_EVENTS_UNKNOWN] = { "events-unknown",
					    "event queues that take asynchronous events get some of "
					    "types 0x3e, 0x6d, 0xd3 between the others",
					    "a guess: firmware is newer than drivers" },
	[SOFTRNIC_QUIRK_COMMANDS_LATE] = { "commands-late",
					   "commands are answered after 6, 3, 1, 6 ... ms: those that "
					   "are under way together not in their order",
					   "the manual, which promises no order" },
	[SOFTRNIC_QUIRK_PTYS_400] = { "ptys-400",
				      "the link has 400 Gb/s on two lanes: extended bit 17 of PTYS, "
				      "no legacy one, no data_rate_oper",
				      "Linux's table of speeds", KIND_PTYS, 400 },
	[SOFTRNIC_QUIRK_PTYS_800] = { "ptys-800",
				      "the link has 800 Gb/s on four lanes: extended bit 20 of PTYS, "
				      "no legacy one, no data_rate_oper",
				      "Linux's table of speeds", KIND_PTYS, 800 },
	[SOFTRNIC_QUIRK_PORT_MODULE] = { "port-module",
					 "capabilities port_module_event and temp_warn_event, and "
					 "events of the port, its module and a sensor, 100 ms apart, "
					 "once there is a queue for some",
					 "Linux, which logs them" },
};

#define QUIRKS RTE_DIM(quirks)
_Static_assert(QUIRKS == SOFTRNIC_QUIRKS && QUIRKS <= 32, "a row and a bit for each");

/* "..., one each of uar-, init-pages- and ptys-: NAME NAME ..." */
#define WANTED "names with + between them, one each of uar-, init-pages- and ptys-:"
static char wanted[640];

RTE_INIT(softrnic_quirks_list)
{
	size_t at = (size_t)snprintf(wanted, sizeof(wanted), "%s", WANTED);

	for (unsigned int i = 0; i < QUIRKS; i++)
		at += (size_t)snprintf(wanted + at, sizeof(wanted) - at, " %s", quirks[i].name);
}

const char *
softrnic_quirks_wanted(void)
{
	return wanted;
}

static bool
quirks_parse(const char *text, uint32_t *set)
{
	uint32_t kinds = 0;

	*set = 0;
	for (;; text++) {
		const size_t length = strcspn(text, "+");
		unsigned int i = 0;

		while (i < QUIRKS && (strncmp(quirks[i].name, text, length) != 0 ||
				      quirks[i].name[length] != '\0'))
			i++;
		if (i == QUIRKS || (*set >> i & 1) != 0)
			return false;
		if (quirks[i].kind != KIND_NONE && (kinds >> quirks[i].kind & 1) != 0)
			return false;
		*set |= UINT32_C(1) << i;
		kinds |= UINT32_C(1) << quirks[i].kind;
		text += length;
		if (*text == '\0')
			return true;
	}
}

bool
softrnic_quirks_valid(const char *text)
{
	uint32_t set;

	return quirks_parse(text, &set);
}

/* Of the one of that kind; `otherwise`: there is none. */
static uint32_t
quirks_value_of(const struct softrnic *dev, enum kind kind, uint32_t otherwise)
{
	for (unsigned int i = 0; i < QUIRKS; i++) {
		if (quirks[i].kind == kind && softrnic_has_quirk(dev, i))
			return quirks[i].value;
	}
	return otherwise;
}

int
softrnic_quirks_init(struct softrnic *dev)
{
	uint32_t set = 0;

	if (dev->conf.quirks != NULL && !quirks_parse(dev->conf.quirks, &set)) {
		SOFTRNIC_LOG(ERR, dev, "quirks '%s': expected %s", dev->conf.quirks, wanted);
		return -EINVAL;
	}
	dev->quirks.set |= set;
	for (unsigned int i = 0; i < QUIRKS; i++) {
		if (softrnic_has_quirk(dev, i))
			SOFTRNIC_LOG(INFO, dev, "quirk %s: %s (known from %s)", quirks[i].name,
				     quirks[i].what, quirks[i].from);
	}
	dev->conf.init_pages = quirks_value_of(dev, KIND_INIT_PAGES, dev->conf.init_pages);
	return 0;
}

/* ---- Registers ---- */

void
softrnic_quirks_reset(struct softrnic *dev)
{
	atomic_store(&dev->quirks.initializing_to, 0);
	dev->quirks.still_from = 0;
	dev->quirks.pages_asked = 0;
	dev->quirks.pages_requested = false;
	dev->quirks.pages_missing = false;
}

void
softrnic_quirks_address_written(struct softrnic *dev)
{
	if (softrnic_has_quirk(dev, SOFTRNIC_QUIRK_INITIALIZING_AGAIN))
		atomic_store(&dev->quirks.initializing_to, softrnic_now_ns() + INITIALIZING_NS);
}

bool
softrnic_quirks_initializing(struct softrnic *dev)
{
	return softrnic_has_quirk(dev, SOFTRNIC_QUIRK_INITIALIZING_AGAIN) &&
	       softrnic_now_ns() < atomic_load(&dev->quirks.initializing_to);
}

void
softrnic_quirks_init_hca(struct softrnic *dev)
{
	struct softrnic_quirks *q = &dev->quirks;

	q->pages_requested = false;
	q->port_events = 0;
	q->port_event_at = 0;
	if (!softrnic_has_quirk(dev, SOFTRNIC_QUIRK_HEALTH_STILL) || q->still_planned)
		return;
	q->still_planned = true;
	q->still_from = softrnic_now_ns() + STILL_AFTER_NS;
}

/* It goes on where it stopped. */
uint64_t
softrnic_quirks_health_time(const struct softrnic *dev, uint64_t now)
{
	const uint64_t from = dev->quirks.still_from;

	if (from == 0 || now <= from)
		return now;
	return now - from < STILL_NS ? from : now - STILL_NS;
}

/* ---- Events ---- */

uint8_t
softrnic_quirks_unknown_event(struct softrnic *dev)
{
	static const uint8_t types[] = { 0x3e, 0x6d, 0xd3 };

	return types[dev->quirks.unknown++ % sizeof(types)];
}

/* ---- What commands ask for ---- */

uint32_t
softrnic_quirks_pages_back(struct softrnic *dev, uint32_t count, uint32_t spare)
{
	struct softrnic_quirks *q = &dev->quirks;

	if (count == 0 || softrnic_has_quirk(dev, SOFTRNIC_QUIRK_PAGES_NEVER))
		return 0;
	if (softrnic_has_quirk(dev, SOFTRNIC_QUIRK_PAGES_LATE)) {
		const uint64_t now = softrnic_now_ns();

		if (q->pages_asked == 0)
			q->pages_asked = now;
		if (now - q->pages_asked < PAGES_LATE_NS)
			return 0;
	}
	if (softrnic_has_quirk(dev, SOFTRNIC_QUIRK_PAGES_SMALL) && count > PAGES_LOT)
		count = PAGES_LOT;
	if (count == spare)
		q->pages_asked = 0;
	return count;
}

uint32_t
softrnic_quirks_ptys(const struct softrnic *dev)
{
	return quirks_value_of(dev, KIND_PTYS, 0);
}

#define SET_CAP(dev, current, field, value) \
	rnic_general_cap_set(&(dev)->general_cap[current], RNIC_GENERAL_CAP_##field, value)

void
softrnic_quirks_caps(struct softrnic *dev)
{
	for (unsigned int current = 0; current < 2; current++) {
		if (softrnic_has_quirk(dev, SOFTRNIC_QUIRK_NO_Q_COUNTERS))
			SET_CAP(dev, current, MAX_QP_CNT, 0);
		if (softrnic_has_quirk(dev, SOFTRNIC_QUIRK_ROCE_OFF))
			SET_CAP(dev, current, ROCE_RW_SUPPORTED, 1);
		if (softrnic_has_quirk(dev, SOFTRNIC_QUIRK_PORT_MODULE)) {
			SET_CAP(dev, current, PORT_MODULE_EVENT, 1);
			SET_CAP(dev, current, TEMP_WARN_EVENT, 1);
		}
	}
	if (softrnic_has_quirk(dev, SOFTRNIC_QUIRK_ROCE_OFF))
		SET_CAP(dev, 1, ROCE, 0);
}

bool
softrnic_quirks_roce_off(const struct softrnic *dev)
{
	return softrnic_has_quirk(dev, SOFTRNIC_QUIRK_ROCE_OFF) &&
	       rnic_general_cap_get(&dev->general_cap[1], RNIC_GENERAL_CAP_ROCE) == 0;
}

uint32_t
softrnic_quirks_first_uar(const struct softrnic *dev)
{
	return quirks_value_of(dev, KIND_UAR, RNIC_FIRST_UAR);
}
