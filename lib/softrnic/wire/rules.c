/* SPDX-License-Identifier: BSD-3-Clause */

/* Rules: RULE[+RULE]..., each of them ACTION[/FIELD:NUMBER]... */
#include <errno.h>
#include <stdlib.h>

#include "softrnic/softrnic.h"
#include "softrnic/wire/rules.h"

#define NUMBER_MAX_CHARS 20 /* of 64 bits */

enum rule_field {
	FIELD_OPCODE,
	FIELD_QPN,
	FIELD_PSN,
	FIELD_NTH,
	FIELD_BIT,
	FIELDS,
};

static const struct {
	const char *name;
	uint64_t min, max;
} fields[FIELDS] = {
	[FIELD_OPCODE] = { "opcode", 0, 0xff },
	[FIELD_QPN] = { "qpn", 0, 0xffffff },
	[FIELD_PSN] = { "psn", 0, ROCE_PSN_MASK },
	[FIELD_NTH] = { "nth", 1, UINT64_MAX },
	[FIELD_BIT] = { "bit", 0, ROCEV2_FRAME_MAX * 8 - 1 },
};

const char *
softrnic_rules_wanted(void)
{
	return "up to 16 rules with + between them: drop or corrupt, followed by any of /opcode:N, /qpn:N, "
	       "/psn:N, /nth:N and, of corrupt, /bit:N, once each";
}

static bool
rule_has(const struct softrnic_rule *rule, enum rule_field field)
{
	return (rule->given >> field & 1) != 0;
}

/* The text up to one of `ends`, or its own end; *text is behind that, or NULL. */
static size_t
rules_word(const char **text, const char *ends, const char **word)
{
	size_t length = strcspn(*text, ends);

	*word = *text;
	*text = (*text)[length] != '\0' ? *text + length + 1 : NULL;
	return length;
}

static bool
word_is(const char *word, size_t length, const char *name)
{
	return strlen(name) == length && memcmp(word, name, length) == 0;
}

/* All of it is a number, decimal or with 0x. */
static int
rules_number(const char *word, size_t length, uint64_t *number)
{
	char digits[NUMBER_MAX_CHARS + 1];
	bool hex = length > 2 && word[0] == '0' && word[1] == 'x';
	char *end;

	if (length == 0 || length > NUMBER_MAX_CHARS)
		return -EINVAL;
	memcpy(digits, word, length);
	digits[length] = '\0';
	if (strspn(digits + (hex ? 2 : 0), hex ? "0123456789abcdefABCDEF" : "0123456789") !=
	    length - (hex ? 2 : 0))
		return -EINVAL;
	errno = 0;
	*number = strtoull(digits, &end, hex ? 16 : 10);
	return errno != 0 ? -EINVAL : 0;
}

static void
rule_set(struct softrnic_rule *rule, enum rule_field field, uint64_t number)
{
	rule->given |= UINT32_C(1) << field;
	switch (field) {
	case FIELD_OPCODE: rule->opcode = (uint32_t)number; break;
	case FIELD_QPN: rule->qpn = (uint32_t)number; break;
	case FIELD_PSN: rule->psn = (uint32_t)number; break;
	case FIELD_NTH: rule->nth = number; break;
	case FIELD_BIT: rule->bit = (uint32_t)number; break;
	case FIELDS: break;
	}
}

/* NAME:NUMBER */
static int
rule_parse_field(struct softrnic_rule *rule, const char *word, size_t length)
{
	const char *colon = memchr(word, ':', length);
	size_t name = colon != NULL ? (size_t)(colon - word) : length;
	unsigned int field = 0;
	uint64_t number;

	while (field < FIELDS && !word_is(word, name, fields[field].name))
		field++;
	if (colon == NULL || field == FIELDS || rule_has(rule, field) ||
	    (field == FIELD_BIT && !rule->corrupt) ||
	    rules_number(colon + 1, length - name - 1, &number) != 0 ||
	    number < fields[field].min || number > fields[field].max)
		return -EINVAL;
	rule_set(rule, field, number);
	return 0;
}

static int
rule_parse(struct softrnic_rule *rule, const char *text, size_t length)
{
	const char *slash = memchr(text, '/', length), *next;
	size_t word = slash != NULL ? (size_t)(slash - text) : length;

	*rule = (struct softrnic_rule){ .corrupt = word_is(text, word, "corrupt") };
	if (!rule->corrupt && !word_is(text, word, "drop"))
		return -EINVAL;
	while (slash != NULL) {
		text = slash + 1;
		length -= word + 1;
		next = memchr(text, '/', length);
		word = next != NULL ? (size_t)(next - text) : length;
		if (rule_parse_field(rule, text, word) != 0)
			return -EINVAL;
		slash = next;
	}
	return 0;
}

int
softrnic_rules_parse(const char *text, struct softrnic_rule *rules)
{
	const char *word;
	size_t length;
	int count = 0;

	while (text != NULL) {
		length = rules_word(&text, "+", &word);
		if (count == SOFTRNIC_RULES_MAX || rule_parse(&rules[count], word, length) != 0)
			return -EINVAL;
		count++;
	}
	return count;
}

bool
softrnic_rules_valid(const char *text)
{
	struct softrnic_rule rules[SOFTRNIC_RULES_MAX];

	return softrnic_rules_parse(text, rules) >= 0;
}

bool
softrnic_rule_has_bit(const struct softrnic_rule *rule)
{
	return rule_has(rule, FIELD_BIT);
}

static bool
rule_fits(const struct softrnic_rule *rule, const struct softrnic_roce_frame *frame)
{
	const struct roce_pkt *pkt = frame->pkt;

	return (!rule_has(rule, FIELD_OPCODE) || rule->opcode == pkt->opcode) &&
	       (!rule_has(rule, FIELD_QPN) || rule->qpn == pkt->dest_qpn) &&
	       (!rule_has(rule, FIELD_PSN) || rule->psn == pkt->psn) &&
	       (!rule_has(rule, FIELD_BIT) || rule->bit / 8 < frame->bytes);
}

const struct softrnic_rule *
softrnic_rules_meet(struct softrnic_faults *faults, const struct softrnic_roce_frame *frame)
{
	const struct softrnic_rule *met = NULL;
	struct softrnic_rule *rule = faults->rules;

	for (; rule < faults->rules + faults->rule_count; rule++) {
		if (!rule_fits(rule, frame))
			continue;
		rule->seen++;
		if (met == NULL && (!rule_has(rule, FIELD_NTH) || rule->nth == rule->seen))
			met = rule;
	}
	return met;
}
