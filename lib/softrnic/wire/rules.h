/* SPDX-License-Identifier: BSD-3-Clause */

/* Faults of packets that are named: by opcode, queue pair, PSN, and how often such a one has come. */
#ifndef SOFTRNIC_RULES_H
#define SOFTRNIC_RULES_H

#include "softrnic/wire/held.h"

/* As conf's rules; NULL: none. Out: up to SOFTRNIC_RULES_MAX of them. How many; -EINVAL: the text is no list of rules. */
int softrnic_rules_parse(const char *text, struct softrnic_rule *rules);
/* The rule that a packet meets, if any; all of them count it. */
const struct softrnic_rule *softrnic_rules_meet(struct softrnic_faults *faults,
						const struct softrnic_roce_frame *frame);
/* Whether a rule names the bit that flips; else it is one that the ICRC covers. */
bool softrnic_rule_has_bit(const struct softrnic_rule *rule);

#endif
