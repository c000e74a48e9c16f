/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Personalities: what the device is like, when it is like a card (`like=NAME`). All of it is data, in like.c: what a card
 * can, what it refuses, what it does otherwise. A personality is a few parts, as a card and its virtual function share much;
 * each row of a part says where it is known from.
 */
#ifndef SOFTRNIC_LIKE_H
#define SOFTRNIC_LIKE_H

#include <stdbool.h>
#include <stdint.h>

struct softrnic;
struct softrnic_cmd;

enum softrnic_known_from {
	SOFTRNIC_KNOWN_TRACE,  /* the recorded commands of a card, with its answers */
	SOFTRNIC_KNOWN_DRIVER, /* what drivers that work on cards do, or leave */
	SOFTRNIC_KNOWN_REPORT, /* what people report of cards */
	SOFTRNIC_KNOWN_GUESS,
};

struct softrnic_known {
	enum softrnic_known_from from;
	const char *where;
};

/* What is shown of a capability that a card has. */
enum softrnic_like_shown {
	SOFTRNIC_LIKE_AS_CARD,
	SOFTRNIC_LIKE_OWN, /* our own value: a limit of ours, where the card's is another one */
	SOFTRNIC_LIKE_NOT_BUILT, /* 0: a promise that we would not keep */
};

struct softrnic_like_cap {
	const char *name;      /* the PRM's, of one field or of neighbours */
	uint8_t type;	       /* enum rnic_cap_type */
	uint8_t shown;	       /* enum softrnic_like_shown */
	uint32_t field;	       /* RNIC_FIELD() */
	uint64_t max, current; /* the card's */
	const char *why;       /* not as the card */
	struct softrnic_known known;
};

/* When a command is refused: a field of its input is ... */
enum softrnic_like_how {
	SOFTRNIC_LIKE_ALWAYS, /* no condition */
	SOFTRNIC_LIKE_IS,
	SOFTRNIC_LIKE_ABOVE,
	SOFTRNIC_LIKE_SET,  /* not 0 */
	SOFTRNIC_LIKE_ZERO, /* 0, and there */
};

struct softrnic_like_when {
	enum softrnic_like_how how;
	uint32_t field;
	uint64_t value;
};

#define SOFTRNIC_LIKE_WHENS 4

struct softrnic_like_refusal {
	const char *name;
	uint16_t opcode;
	uint8_t status;
	struct softrnic_like_when when[SOFTRNIC_LIKE_WHENS]; /* all of them */
	uint32_t lifted_by; /* not while this general capability is current; 0: always */
	struct softrnic_known known;
};

enum softrnic_like_does {
	SOFTRNIC_LIKE_INLINE_L2,  /* see softrnic_conf's inline_l2 */
	SOFTRNIC_LIKE_NO_MAC,	  /* no address of its own, unless it is given one */
	SOFTRNIC_LIKE_UNTRUSTED,  /* promiscuous modes are taken, and nothing more arrives */
	SOFTRNIC_LIKE_COMMAND_US, /* value: microseconds that each command takes */
};

struct softrnic_like_behaviour {
	const char *name;
	enum softrnic_like_does does;
	uint32_t value;
	struct softrnic_known known;
};

struct softrnic_like_part {
	const char *name;
	const struct softrnic_like_cap *caps;
	const struct softrnic_like_refusal *refusals;
	const struct softrnic_like_behaviour *behaviours;
	uint16_t cap_count, refusal_count, behaviour_count;
};

#define SOFTRNIC_LIKE_PARTS 7

struct softrnic_like {
	const char *name;
	uint16_t pci_device;
	/* Later ones win; up to NULL. */
	const struct softrnic_like_part *parts[SOFTRNIC_LIKE_PARTS];
};
extern const struct softrnic_like softrnic_likes[];
extern const unsigned int softrnic_like_count;

/* By its name, which is default if NULL; NULL: there is none of that name. */
const struct softrnic_like *softrnic_like_find(const char *name);
/* The device becomes what dev->like says; when it is made. */
void softrnic_like_apply(struct softrnic *dev);
/* What the card shows instead of `cap`, of this type, maximum or current. */
void softrnic_like_caps(const struct softrnic *dev, unsigned int type, bool current, void *cap);
/* Of the part's refusal of that index. */
#define SOFTRNIC_LIKE_SYNDROME(opcode, index) (0x1000000u | (uint32_t)(opcode) << 8 | (index))
/* Status of a command that is refused, or RNIC_STATUS_OK. */
int softrnic_like_refuses(const struct softrnic *dev, struct softrnic_cmd *cmd);

#endif
