/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The embedded device as the driver would find a card: commands that are refused, answers, registers and capabilities that are others. Calls of
 * the command engine between the driver's files come by here (the linker's --wrap: card_wraps in meson.build), and those of
 * the access.
 */
#ifndef CARD_H
#define CARD_H

#include "unit.h"

#include "core/dev.h"

#define CARD_SENDS 0 /* nothing is known of it: the device is asked */
#define CARD_DONE  1 /* the device is not */

struct card_command {
	uint16_t opcode, op_mod;
	void *in, *out;
};

struct card {
	/* Before a command: what becomes of it, or a refusal's errno. `in` may be changed, and `out`, if it is done. */
	int (*_Atomic before)(const struct card_command *c);
	/* After one that the device has done; `out` may be changed. */
	void (*_Atomic after)(const struct card_command *c);
	/* What a register reads instead. */
	uint32_t (*read)(uint64_t offset, uint32_t value);
	/* False: the write does not reach the device. */
	bool (*write)(struct rnic_access *access, uint64_t offset, uint32_t value);
	/* Memory is mapped, is about to be unmapped; the device has been reset. */
	void (*mapped)(const void *address, uint64_t iova, size_t length);
	void (*unmaps)(uint64_t iova, size_t length);
	void (*was_reset)(void);
	/* As soon as the driver has read what the device can do. */
	void (*caps)(struct rnic_caps *caps);
	/* As rnic_bringup_hook. */
	void (*stage)(struct rnic_dev *dev, const char *stage, bool up);
	struct softrnic *device; /* from its first register on */
};
/* Of this test: set before the device is opened; what stands before and after commands whenever it likes. */
extern struct card card;

/*
 * For a test's setup, and its teardown: what the driver says in between is heard (unit_said()), debug messages left out. Both:
 * within a test, for a card that is as any other.
 */
void card_begin(void);
void card_end(void);
void card_reset(void);
#define CARD_TEST(name) cmocka_unit_test_setup_teardown(name, card_setup, card_teardown)
int card_setup(void **state);
int card_teardown(void **state);

/* One at a time. That of a test that failed is closed at its end: the next one wants it. */
int card_open(const char *devargs, struct rnic_dev **dev);
void card_close(struct rnic_dev *dev);
/* The same without devargs: it opens; it does not, for this reason, and says why. */
struct rnic_dev *card_opened(void);
void card_open_in_vain(int rc, const char *says);

/* The register that an ACCESS_REG is about; 0 of other commands. */
uint16_t card_register(const struct card_command *c);
/* field_select of a MODIFY_NIC_VPORT_CONTEXT; 0 of other commands. */
uint32_t card_vport_select(const struct card_command *c);

#endif
