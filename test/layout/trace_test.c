/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Commands that Linux's mlx5_core and a ConnectX-4 Lx exchanged: decoded to the last field, and
 * encoded again from the decoded values alone to the same bytes.
 */
#include "layout_test.h"

#include "cmd_table.h"
#include "cqe.h"

struct message {
	size_t length; /* as the command says */
	size_t logged; /* as the log has */
	uint8_t *bytes;
};

struct command {
	uint32_t opcode;
	char name[48];
	struct message in;
	struct message out;
};

static struct command *commands;
static size_t command_count;

struct value {
	uint32_t offset;
	const struct rnic_field_desc *field;
	uint64_t value;
};

struct decoded {
	const struct message *message;
	struct value *values;
	size_t count;
	size_t room;
};

static void
decode_fields(void *arg, const struct rnic_cmd_part *part)
{
	struct decoded *d = arg;
	struct value v = { .offset = part->offset };

	for (uint32_t i = 0; i < part->layout->field_count; i++) {
		v.field = &part->layout->fields[i];
		if (!rnic_desc_get(d->message->bytes, d->message->logged, part->offset, v.field,
				   &v.value))
			continue;
		if (d->count == d->room) {
			d->room = d->room * 2 + 64;
			d->values = realloc(d->values, d->room * sizeof(v));
		}
		d->values[d->count++] = v;
	}
}

static void
encodes_to_the_same(const struct command *command, const struct message *message, int output)
{
	struct decoded d = { .message = message };
	uint8_t *bytes = calloc(1, message->logged);

	if (output)
		rnic_cmd_walk_out(command->in.bytes, command->in.logged, message->logged,
				  decode_fields, &d);
	else
		rnic_cmd_walk_in(message->bytes, message->logged, decode_fields, &d);
	for (size_t i = 0; i < d.count; i++)
		assert_true(rnic_desc_set(bytes, message->logged, d.values[i].offset,
					  d.values[i].field, d.values[i].value));
	for (size_t i = 0; i < message->logged; i++) {
		if (bytes[i] != message->bytes[i])
			fail_msg("%s %s: byte 0x%zx has 0x%02x, its fields say 0x%02x",
				 command->name, output ? "output" : "input", i, message->bytes[i],
				 bytes[i]);
	}
	free(d.values);
	free(bytes);
}

static void
command_round_trip(void **state)
{
	const struct command *command = *state;

	assert_string_equal(rnic_cmd_name(command->opcode), command->name);
	encodes_to_the_same(command, &command->in, 0);
	encodes_to_the_same(command, &command->out, 1);
}

/*
 * Fields that a reader of the log knows by other means: the values, not only the bits, are right.
 */
static void
known_values(void **state)
{
	struct rnic_general_cap *before = NULL, *general = NULL, *asked = NULL;
	struct rnic_flow_table_cap *flow = NULL;
	struct rnic_ethernet_cap *ethernet = NULL;
	struct rnic_create_eq_in *eq = NULL;

	(void)state;
	for (size_t i = 0; i < command_count; i++) {
		uint8_t *in = commands[i].in.bytes, *out = commands[i].out.bytes;

		if (commands[i].opcode == RNIC_CMD_CREATE_EQ && eq == NULL)
			eq = (struct rnic_create_eq_in *)(void *)in;
		if (commands[i].opcode == RNIC_CMD_SET_HCA_CAP)
			asked = (struct rnic_general_cap *)(void *)(in + RNIC_HCA_CAP_OFFSET);
		if (commands[i].opcode != RNIC_CMD_QUERY_HCA_CAP)
			continue;
		out += RNIC_HCA_CAP_OFFSET;
		if (in[7] == RNIC_HCA_CAP_OP_MOD(RNIC_CAP_GENERAL, 1))
			general = (struct rnic_general_cap *)(void *)out;
		if (before == NULL)
			before = general;
		if (in[7] == RNIC_HCA_CAP_OP_MOD(RNIC_CAP_ETHERNET_OFFLOADS, 1))
			ethernet = (struct rnic_ethernet_cap *)(void *)out;
		if (in[7] == RNIC_HCA_CAP_OP_MOD(RNIC_CAP_FLOW_TABLE, 1))
			flow = (struct rnic_flow_table_cap *)(void *)out;
	}
	assert_true(general != NULL && asked != NULL && ethernet != NULL && flow != NULL &&
		    eq != NULL);
	/* The driver asked for more queue pairs than the card had by itself, and got them. */
	assert_int_equal(rnic_general_cap_get(before, RNIC_GENERAL_CAP_LOG_MAX_QP), 14);
	assert_int_equal(rnic_general_cap_get(asked, RNIC_GENERAL_CAP_LOG_MAX_QP), 17);
	assert_int_equal(rnic_general_cap_get(general, RNIC_GENERAL_CAP_LOG_MAX_QP), 17);
	assert_int_equal(rnic_general_cap_get(general, RNIC_GENERAL_CAP_LOG_MAX_CQ_SZ), 22);
	assert_int_equal(rnic_general_cap_get(general, RNIC_GENERAL_CAP_LOG_MAX_CQ), 24);
	assert_int_equal(rnic_general_cap_get(general, RNIC_GENERAL_CAP_LOG_MAX_MKEY), 24);
	assert_int_equal(rnic_general_cap_get(general, RNIC_GENERAL_CAP_MAX_WQE_SZ_SQ), 0x400);
	assert_int_equal(rnic_general_cap_get(general, RNIC_GENERAL_CAP_MAX_WQE_SZ_RQ), 0x200);
	assert_int_equal(rnic_general_cap_get(general, RNIC_GENERAL_CAP_LOG_BF_REG_SIZE), 9);
	assert_int_equal(rnic_general_cap_get(general, RNIC_GENERAL_CAP_CQE_VERSION), 1);
	assert_int_equal(rnic_general_cap_get(general, RNIC_GENERAL_CAP_PORT_TYPE), 1);
	assert_int_equal(rnic_general_cap_get(general, RNIC_GENERAL_CAP_NUM_PORTS), 1);
	assert_int_equal(rnic_ethernet_cap_get(ethernet, RNIC_ETHERNET_CAP_MAX_LSO_CAP), 18);
	assert_int_equal(rnic_ethernet_cap_get(ethernet, RNIC_ETHERNET_CAP_WQE_INLINE_MODE), 1);
	assert_int_equal(rnic_flow_table_props_get(rnic_flow_table_cap_nic_receive(flow),
						   RNIC_FLOW_TABLE_PROPS_MAX_FT_LEVEL),
			 255);
	assert_int_equal(rnic_flow_table_props_get(rnic_flow_table_cap_nic_receive(flow),
						   RNIC_FLOW_TABLE_PROPS_LOG_MAX_FT_SIZE),
			 16);
	assert_int_equal(rnic_eqc_get(rnic_create_eq_in_eqc(eq), RNIC_EQC_UAR_PAGE), 0x10);
	/* The first EQ is the commands'. */
	assert_int_equal(rnic_create_eq_in_get(eq, RNIC_CREATE_EQ_IN_EVENT_BITMASK_0),
			 1u << RNIC_EVENT_COMMAND);
}

static void
put64(struct message *message, size_t at, uint64_t value)
{
	for (int i = 0; i < 8 && at + i < message->logged; i++)
		message->bytes[at + i] = (uint8_t)(value >> (56 - 8 * i));
}

/* "OFFSET DWORD DWORD", "OFFSET DWORD" at the end, or "OFFSET FIRST+STEP*COUNT". */
static int
read_row(const char *line, struct message *message)
{
	unsigned long long first, step, count, at;
	uint32_t high, low = 0;

	if (sscanf(line, "%llx %llx+%llx*%llx", &at, &first, &step, &count) == 4) {
		if (message == NULL || at + count * 8 > message->logged)
			return -1;
		for (unsigned long long i = 0; i < count; i++)
			put64(message, at + i * 8, first + i * step);
		return 0;
	}
	if (sscanf(line, "%llx %x %x", &at, &high, &low) < 2 || message == NULL ||
	    at + 4 > message->logged)
		return -1;
	put64(message, at, (uint64_t)high << 32 | low);
	return 0;
}

static int
read_line(const char *line)
{
	static struct message *message;
	struct command *command = command_count > 0 ? &commands[command_count - 1] : NULL;
	char way[8];
	size_t length, logged;

	if (line[0] == '#' || line[0] == '\n')
		return 0;
	if (strncmp(line, "command ", 8) == 0) {
		commands = realloc(commands, ++command_count * sizeof(*commands));
		command = &commands[command_count - 1];
		memset(command, 0, sizeof(*command));
		message = NULL;
		return sscanf(line, "command %x %47s", &command->opcode, command->name) == 2 ? 0
											     : -1;
	}
	if (command != NULL && sscanf(line, "%7s %zx %zx", way, &length, &logged) == 3 &&
	    (strcmp(way, "in") == 0 || strcmp(way, "out") == 0)) {
		message = strcmp(way, "in") == 0 ? &command->in : &command->out;
		message->length = length;
		message->logged = logged;
		message->bytes = calloc(1, logged);
		return logged <= length ? 0 : -1;
	}
	return read_row(line, message);
}

static int
read_commands(const char *path)
{
	char line[256];
	int number = 0, result = 0;
	FILE *file = fopen(path, "r");

	if (file == NULL) {
		fprintf(stderr, "%s: cannot be read\n", path);
		return -1;
	}
	while (result == 0 && fgets(line, sizeof(line), file) != NULL) {
		number++;
		result = read_line(line);
	}
	if (result != 0)
		fprintf(stderr, "%s:%d: not understood: %s", path, number, line);
	fclose(file);
	return result;
}

int
main(int argc, char **argv)
{
	struct test_list list = { 0 };
	char name[128];
	int failed;

	if (argc != 2 || read_commands(argv[1]) != 0)
		return 1;
	for (size_t i = 0; i < command_count; i++) {
		snprintf(name, sizeof(name), "%zu: %s, to the last field and back", i + 1,
			 commands[i].name);
		test_list_add(&list, name, command_round_trip, &commands[i]);
	}
	test_list_add(&list, "values that are known", known_values, NULL);
	failed = test_list_run("layout trace", &list);
	for (size_t i = 0; i < command_count; i++) {
		free(commands[i].in.bytes);
		free(commands[i].out.bytes);
	}
	free(commands);
	return failed;
}
