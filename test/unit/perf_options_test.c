/* SPDX-License-Identifier: BSD-3-Clause */

/* dpdk-test-rdma-perf's command line: what options mean, what they are when they are not given, and which are refused how. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "main.h"
#include "options.h"
#include "recording.h"

#define ARGS_MAX 48

static char said[4096]; /* on stderr, by the last parse */
static char printed[16384];

/* Streams of which this is the place while a line is parsed. */
struct capture {
	int fd, saved;
	FILE *file;
};

static struct capture
capture_begin(int fd)
{
	const struct capture capture = { fd, dup(fd), tmpfile() };

	fflush(NULL);
	assert_non_null(capture.file);
	assert_int_equal(dup2(fileno(capture.file), fd), fd);
	return capture;
}

static void
capture_end(const struct capture *capture, char *text, size_t room)
{
	size_t n;

	fflush(NULL);
	dup2(capture->saved, capture->fd);
	close(capture->saved);
	rewind(capture->file);
	n = fread(text, 1, room - 1, capture->file);
	text[n] = '\0';
	fclose(capture->file);
}

static int
captured(const char *line, struct perf_options *options)
{
	static char program[] = "dpdk-test-rdma-perf", text[512];
	char *argv[ARGS_MAX + 1] = { program }, *at, *save;
	struct capture out, err;
	int argc = 1, rc;

	snprintf(text, sizeof(text), "%s", line);
	for (at = strtok_r(text, " ", &save); at != NULL; at = strtok_r(NULL, " ", &save)) {
		assert_true(argc < ARGS_MAX);
		argv[argc++] = at;
	}
	out = capture_begin(STDOUT_FILENO);
	err = capture_begin(STDERR_FILENO);
	rc = perf_options_parse(options, argc, argv);
	capture_end(&err, said, sizeof(said));
	capture_end(&out, printed, sizeof(printed));
	return rc;
}

static struct perf_options
parsed(const char *line)
{
	static struct perf_options options;

	assert_int_equal(captured(line, &options), 0);
	assert_string_equal(said, "");
	return options;
}

static void
refused(const char *line, const char *words)
{
	struct perf_options options;

	assert_int_equal(captured(line, &options), -EINVAL);
	if (strstr(said, words) == NULL)
		fail_msg("\"%s\": \"%s\" is not in: %s", line, words, said);
	assert_non_null(strstr(said, "(see --help)"));
	/* A line, and one alone. */
	assert_ptr_equal(strchr(said, '\n'), said + strlen(said) - 1);
}

static void
defaults_of_bandwidth_are_perftests(void **state)
{
	const struct perf_options o = parsed("");

	(void)state;
	assert_int_equal(o.op, PERF_WRITE);
	assert_int_equal(o.mode, PERF_BW);
	assert_int_equal(o.transport, RDMAPMD_QPT_RC);
	assert_int_equal(o.size, 65536);
	assert_int_equal(o.iters, 5000);
	assert_int_equal(o.tx_depth, 128);
	assert_int_equal(o.rx_depth, 1);
	assert_int_equal(o.qps, 1);
	assert_int_equal(o.port, 18515);
	assert_int_equal(o.timeout, 14);
	assert_int_equal(o.post_list, 1);
	assert_int_equal(o.cq_mod, 1); /* messages of more than 8 KiB each complete */
	assert_int_equal(o.inline_size, PERF_INLINE_AUTO);
	assert_true(o.verify);
	assert_null(o.host);
	assert_null(o.json_file);
	assert_int_equal(parsed("--op send").iters, 1000);
	/* What nobody sends again finds a receive. */
	assert_int_equal(parsed("--op send -c UD --use-srq -q 3 -n 100").rx_depth, 300);
	assert_int_equal(parsed("--op send -c UC --use-srq -q 3 -n 10000").rx_depth, 16000);
	assert_int_equal(parsed("--op send").rx_depth, 512);
	assert_int_equal(parsed("--op read").iters, 1000);
	assert_int_equal(parsed("--op fetch_add").size, 8);
}

static void
defaults_of_latency_are_perftests(void **state)
{
	const struct perf_options o = parsed("--mode lat");

	(void)state;
	assert_int_equal(o.size, 2);
	assert_int_equal(o.iters, 1000);
	assert_int_equal(o.tx_depth, 1);
	assert_int_equal(parsed("--mode lat --op cmp_swap").size, 8);
}

static void
each_option_has_its_member(void **state)
{
	struct perf_options o =
		parsed("-s 4K -n 77 -q 3 -t 20 -r 11 -m 1024 -l 1 -Q 7 -p 19000 -x 2 -u 18 -b -e "
		       "-F -I 64 -d net_rnic3 -c UC --op send --report_gbits --verify off HOST");

	(void)state;
	assert_int_equal(o.size, 4096);
	assert_int_equal(o.iters, 77);
	assert_int_equal(o.qps, 3);
	assert_int_equal(o.tx_depth, 20);
	assert_int_equal(o.rx_depth, 11);
	assert_int_equal(o.mtu, 1024);
	assert_int_equal(o.cq_mod, 7);
	assert_int_equal(o.port, 19000);
	assert_int_equal(o.gid_index, 2);
	assert_int_equal(o.timeout, 18);
	assert_true(o.bidirectional && o.events && o.gbits && !o.verify);
	assert_int_equal(o.inline_size, 64);
	assert_string_equal(o.device, "net_rnic3");
	assert_int_equal(o.transport, RDMAPMD_QPT_UC);
	assert_string_equal(o.host, "HOST");
	o = parsed("-D 3 -l 4 --out_json --plot a.svg --lcores 2 -q 4 --loopback=net_rnic1");
	assert_int_equal(o.duration, 3);
	assert_int_equal(o.iters, 0);
	assert_int_equal(o.post_list, 4);
	assert_int_equal(o.cq_mod, 4);
	assert_string_equal(o.json_file, "perftest_out.json");
	assert_string_equal(o.plot_file, "a.svg");
	assert_int_equal(o.lcores, 2);
	assert_true(o.loopback);
	assert_string_equal(o.device_2, "net_rnic1");
	o = parsed("--out_json --out_json_file=x.json -a --loopback");
	assert_string_equal(o.json_file, "x.json");
	assert_true(o.all);
	assert_int_equal(o.size, 1 << 23);
	assert_null(o.device_2);
	assert_int_equal(parsed("-o 5 --op read").out_reads, 5);
	assert_int_equal(parsed("--op send --use-srq").use_srq, true);
	assert_int_equal(parsed("--damage 7").damage, 7);
	assert_int_equal(parsed("--size=2M").size, 2 << 20);
}

/* Depths are not larger than what there is to do, and a group is not larger than what may be under way. */
static void
depths_follow_from_each_other(void **state)
{
	(void)state;
	assert_int_equal(parsed("-n 9").tx_depth, 9);
	assert_int_equal(parsed("-s 2").cq_mod, 100);
	assert_int_equal(parsed("-s 2 -t 16").cq_mod, 16);
	assert_int_equal(parsed("-s 2 -n 9").cq_mod, 9);
	assert_int_equal(parsed("--op send -n 9").rx_depth, 9);
	/* What finds no receive is lost there. */
	assert_int_equal(parsed("--op send -c UD -n 2000").rx_depth, 2000);
	assert_int_equal(parsed("--op send -c UC -n 20000").rx_depth, 16000);
	assert_int_equal(parsed("--op send -c UC -D 1").rx_depth, 512);
	assert_int_equal(parsed("-s 65536 -Q 10").cq_mod, 10);
	assert_int_equal(parsed("-a").cq_mod, 100);
}

/* Of large messages each completes, unless that was asked for: perftest warns of it, however many may be under way. */
static void
groups_of_large_messages_are_noted(void **state)
{
	(void)state;
	assert_true(parsed("-Q 10").groups_large);
	assert_true(parsed("-Q 10 -t 1").groups_large);
	assert_true(parsed("-s 8193 -Q 2").groups_large);
	assert_false(parsed("").groups_large);
	assert_false(parsed("-Q 1").groups_large);
	assert_false(parsed("-s 8192 -Q 10").groups_large);
	assert_false(parsed("-a -Q 10").groups_large);
	assert_false(parsed("--op send -e -Q 10").groups_large);
	assert_false(parsed("--op send -c UD -Q 10").groups_large);
}

/* A warm-up that fills more than the receives would be lost in part wherever the receiver is slow. */
static void
the_warm_up_finds_its_receives(void **state)
{
	struct perf_options o;

	(void)state;
	o = parsed("--op send -c UC -n 20");
	assert_int_equal(perf_warm_up_iters(&o, 1000), 20);
	o = parsed("--op write_imm -c UC -r 30");
	assert_int_equal(perf_warm_up_iters(&o, 1000), 30);
	o = parsed("--op send -c UD -q 4 --use-srq -r 40");
	assert_int_equal(perf_warm_up_iters(&o, 1000), 10);
	o = parsed("--op send -c UC -n 24 -r 20 -l 8 -Q 8");
	assert_int_equal(perf_warm_up_iters(&o, 1000), 16);
	o = parsed("--op send");
	assert_int_equal(perf_warm_up_iters(&o, 1000), 128);
	assert_int_equal(perf_warm_up_iters(&o, 1 << 18), 4);
	assert_int_equal(perf_warm_up_iters(&o, 1 << 23), 1);
	o = parsed("--op write -n 20");
	assert_int_equal(perf_warm_up_iters(&o, 1000), 128);
}

static void
exchange_pingpong_is_for_one_kind_of_traffic(void **state)
{
	const struct perf_options o = parsed("--exchange pingpong");

	(void)state;
	assert_int_equal(o.op, PERF_SEND);
	assert_int_equal(o.mode, PERF_LAT);
	refused("--exchange pingpong --op write", "is for --op=send --mode=lat");
	refused("--exchange pingpong --mode bw", "is for --op=send --mode=lat");
	refused("--exchange pingpong -a", "does not go with -a");
	refused("--exchange pingpong -q 2", "several queue pairs with --use-srq");
	refused("--exchange pingpong --use-srq -q 256 -r 500", "at most 255");
	refused("--exchange pingpong --loopback", "for two processes");
	refused("--exchange pingpong -Q 2", "does not go with -a, -b, -D, -e, -l, -Q and -t");
	refused("--exchange pingpong -t 8", "does not go with -a, -b, -D, -e, -l, -Q and -t");
	refused("--exchange pingpong --damage 5", "is for the client");
	assert_int_equal(parsed("--exchange pingpong --damage 5 HOST").damage, 5);
}

static void
exchange_perftest_is_for_what_its_programs_do(void **state)
{
	(void)state;
	assert_false(parsed("--exchange perftest").verify);
	assert_false(parsed("--exchange perftest --verify off").verify);
	assert_int_equal(parsed("--exchange perftest --op read").size, 65536);
	assert_int_equal(parsed("--exchange perftest --op send --mode lat").rx_depth, 512);
	refused("--exchange perftest --verify on", "which --verify=on cannot know");
	refused("--exchange perftest --op write_imm", "no program of perftest's");
	refused("--exchange perftest --loopback", "for two processes");
	refused("--exchange perftest -a", "does not go with -a");
	refused("--exchange perftest --op send --use-srq", "--lcores and --use-srq");
	refused("--exchange perftest -m 300", "MTU should be 256, 512, 1024, 2048 or 4096");
	refused("--exchange perftest --damage 5", "--damage needs --verify=on");
	/* What it refuses itself is refused as ever. */
	refused("--exchange perftest --mode lat -q 2", "Multiple QPs only available on bw tests");
	refused("--exchange perftest --op read -c UC", "UC connection not possible");
}

/* Its own name is no value of the other one's. */
static void
the_report_has_a_name(void **state)
{
	(void)state;
	assert_null(parsed("").json_file);
	assert_string_equal(parsed("--out_json").json_file, "perftest_out.json");
	assert_string_equal(parsed("--out_json --out_json_file a").json_file, "a");
	assert_string_equal(parsed("--out_json_file a").json_file, "a");
	refused("--out_json=a", "--out_json takes no value");
}

static void
perftest_refuses_these_too(void **state)
{
	(void)state;
	refused("-c UD", "UD connection only possible in SEND verb");
	refused("-c UD --op read", "UD connection only possible in SEND verb");
	refused("-c UC --op read", "UC connection not possible in READ/ATOMIC verbs");
	refused("-c UC --op fetch_add", "UC connection not possible in READ/ATOMIC verbs");
	refused("-c XY", "Invalid Connection type. Please choose from {RC,UC,UD}");
	refused("--op fetch_add -s 16", "Message size cannot be changed for Atomic tests");
	refused("--op fetch_add -a", "Message size cannot be changed for Atomic tests");
	refused("--op read -I 8", "Inline feature not available on READ/Atomic verbs");
	refused("--op write -o 8", "Setting Outstanding reads only available on READ verb");
	refused("--op write -r 8", "On RDMA verbs rx depth can be only 1");
	refused("--op write -e", "Events feature not available on WRITE verb");
	refused("--op write --use-srq", "Using SRQ only available in SEND tests");
	refused("--op send --use-srq -q 9 -r 8",
		"Using SRQ depth should be greater than number of QPs");
	refused("--mode lat -q 2", "Multiple QPs only available on bw tests");
	refused("--mode lat -q 1", "Multiple QPs only available on bw tests");
	refused("--mode lat -b", "Bidirectional is only available in BW test");
	refused("--mode lat -l 2", "Post list is supported in BW tests only");
	refused("-n 10 -l 3", "Number of iterations must be a multiple of post list size");
	refused("-n 12 -l 4 -Q 3", "Post list size must be a multiple of CQ moderation");
	refused("-D 1 -a", "Duration mode currently doesn't support running on all sizes");
	refused("-D 1 -e --op send", "Duration mode doesn't work with events");
	refused("-n 4", "Iteration num should be between 5 and 100000000");
	refused("-n x", "Iteration num argument x should be int");
	refused("-s 0", "Message Size should be between 1 and 2147483647");
	refused("-q 0", "num of Qps should be between 1 and 16384");
	refused("-t 15001", "Tx depth should be between 1 and 15000");
	refused("-Q 1025", "CQ moderation should be between 1 and 1024");
	refused("-I 913", "Max inline should be between 0 and 912");
	refused("-m x", "MTU argument x should be int");
	refused("-o x --op read", "Outstanding Reads argument x should be int");
	refused("-u x", "QP Timeout argument x should be uint8_t");
	refused("-D 0", "Duration period must be positive");
	refused("-s x", "Message Size should be between 1 and 2147483647");
	refused("-s -4", "Message Size should be between 1 and 2147483647");
	refused("-s 2048M", "Message Size should be between 1 and 2147483647");
	refused("-x 65", "Gid index should be between 0 and 64");
}

static void
these_are_refused_besides(void **state)
{
	(void)state;
	refused("--op writes",
		"--op=writes: there are write, write_imm, send, read, fetch_add, cmp_swap");
	refused("--mode fast", "--mode=fast: there are bw, lat");
	refused("--exchange tcp", "--exchange=tcp: there are native, pingpong, perftest");
	refused("--verify maybe", "--verify=maybe: there are off, on");
	refused("--loopback HOST", "--loopback has no HOST");
	refused("-l 0", "Send Post List size must be positive");
	refused("-u 32", "QP Timeout should be between 0 and 31");
	refused("--exchange pingpong -m 300", "MTU should be 256, 512, 1024, 2048 or 4096");
	refused("-l 20000 -n 20000", "Post list size should not be above tx-depth, 128");
	refused("-l 64 -t 32 -n 64", "Post list size should not be above tx-depth, 32");
	refused("-q 3 --lcores 2", "must be a multiple of --lcores, 2");
	refused("--mode lat --lcores 2", "--lcores is for --mode=bw");
	refused("--verify off --damage 1", "--damage needs --verify=on");
	refused("--mode lat -s 64 --damage 63",
		"--damage=63: of a WRITE the last byte tells in lat");
	refused("-s 64 --damage 64", "--damage=64: messages have 64 bytes");
	refused("A B", "\"B\": there is one HOST");
	refused("--nonsense", "unknown option --nonsense");
	refused("-s", "-s wants a value");
	refused("-c DC", "--connection=DC is not supported");
}

/* By name: so that nobody looks for a misspelling. */
static void
what_perftest_has_and_we_have_not_is_named(void **state)
{
	(void)state;
	refused("--use_cuda=0", "--use_cuda is not supported");
	refused("--use_cuda 0", "--use_cuda is not supported");
	refused("-R", "--rdma_cm is not supported");
	refused("--rdma_cm", "--rdma_cm is not supported");
	refused("-N", "--noPeak is not supported");
	refused("-S 3", "--sl is not supported");
	refused("--run_infinitely", "--run_infinitely is not supported");
	refused("--rate_limit=5", "--rate_limit is not supported");
	refused("-H", "is not supported");
}

/* ---- What the helps of Debian 12's programs have, as they were recorded ---- */

/* As it says that all is right but for a device. */
#define NO_DEVICE "Did not detect devices"

/* What it says besides, of those that it refuses or not; and two lines of help. */
static const char *const beside[] = {
	"---",
	"Parser function exited",
	"If device exists",
	"Unable to find the Infiniband/RoCE device",
	"Warning",
	"Post List requested",
};

/* Where a word is misspelt, or has what is not here. */
static const struct {
	const char *theirs, *ours;
} worded[] = {
	{ "Using SRQ only avavilible in SEND tests", "Using SRQ only available in SEND tests" },
	{ "Invalid Connection type. Please choose from {RC,UC,UD,XRC,DC,SRD}",
	  "Invalid Connection type. Please choose from {RC,UC,UD}" },
};

static bool
is_beside(const char *line)
{
	unsigned int i;

	for (i = 0; i < sizeof(beside) / sizeof(beside[0]); i++)
		if (strncmp(line, beside[i], strlen(beside[i])) == 0)
			return true;
	return false;
}

/* Without spaces around it and the dot at its end. */
static const char *
trimmed(const char *line)
{
	static char words[sizeof(((struct recording *)0)->line)];
	unsigned int i;

	snprintf(words, sizeof(words), "%s", line + strspn(line, " "));
	for (i = (unsigned int)strlen(words); i > 0 && strchr(" .", words[i - 1]) != NULL; i--)
		words[i - 1] = '\0';
	for (i = 0; i < sizeof(worded) / sizeof(worded[0]); i++)
		if (strcmp(words, worded[i].theirs) == 0)
			return worded[i].ours;
	return words;
}

/* "$ ib_write_bw OPTIONS" as our command line has it. */
static const char *
translated(const char *command)
{
	static char line[sizeof(((struct recording *)0)->command) + 32];
	char op[16], mode[8];
	int used;

	assert_int_equal(sscanf(command, "$ ib_%15[a-z]_%7s%n", op, mode, &used), 2);
	snprintf(line, sizeof(line), "--op %s --mode %s%s",
		 strcmp(op, "atomic") == 0 ? "fetch_add" : op, mode, command + used);
	return line;
}

static void
refusals_are_perftests(void **state)
{
	unsigned int taken = 0, not_taken = 0;
	struct recording recording;
	struct perf_options options;
	const char *line, *ours;

	(void)state;
	recording_open(&recording, "refusals");
	while ((line = recording_line(&recording)) != NULL) {
		line += strspn(line, " ");
		if (is_beside(line))
			continue;
		ours = translated(recording.command);
		if (strncmp(line, NO_DEVICE, strlen(NO_DEVICE)) != 0) {
			refused(ours, trimmed(line));
			not_taken++;
		} else if (captured(ours, &options) == 0) {
			taken++;
		} else {
			fail_msg("perftest takes \"%s\": %s", ours, said);
		}
	}
	recording_close(&recording);
	assert_in_range(taken, 50, 200);
	assert_in_range(not_taken, 100, 300);
}

#define OPTION_LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"

static unsigned int
know_names(const char *line)
{
	struct perf_options options;
	char name[64];
	unsigned int n = 0;
	int length;

	for (line = strstr(line, "--"); line != NULL; line = strstr(line + 2, "--")) {
		length = (int)strspn(line, OPTION_LETTERS);
		snprintf(name, sizeof(name), "%.*s", length, line);
		captured(name, &options);
		if (strstr(said, "unknown option") != NULL)
			fail_msg("%s: %s", name, said);
		n++;
	}
	return n;
}

static void
every_name_that_perftest_has_is_known(void **state)
{
	struct recording recording;
	unsigned int i, n = 0;
	const char *line;

	(void)state;
	for (i = 0; recorded_programs[i] != NULL; i++) {
		recording_open(&recording, recorded_programs[i]);
		while ((line = recording_line(&recording)) != NULL)
			if (strstr(recording.command, "--help") != NULL)
				n += know_names(line);
		recording_close(&recording);
	}
	assert_in_range(n, 400, 1000);
	refused("--no-such-thing", "unknown option --no-such-thing");
}

static bool
a_help_has(const char *text)
{
	struct recording recording;
	bool found = false;
	const char *line;
	unsigned int i;

	for (i = 0; recorded_programs[i] != NULL && !found; i++) {
		recording_open(&recording, recorded_programs[i]);
		while ((line = recording_line(&recording)) != NULL && !found)
			found = strncmp(line, text, strlen(text)) == 0 &&
				strchr(" =", line[strlen(text)]) != NULL;
		recording_close(&recording);
	}
	return found;
}

/* The letter and the name, in one line of one of them. */
static void
options_are_named_as_perftests(void **state)
{
	struct perf_options options;
	unsigned int n = 0;
	char *line, *save;
	char text[64];

	(void)state;
	assert_int_equal(captured("--help", &options), 1);
	line = strtok_r(strstr(printed, "What perftest has:"), "\n", &save);
	while ((line = strtok_r(NULL, "\n", &save)) != NULL && line[0] == ' ') {
		snprintf(text, sizeof(text), "%.*s", (int)(8 + strspn(line + 8, OPTION_LETTERS)),
			 line);
		if (!a_help_has(text))
			fail_msg("perftest has no \"%s\"", text);
		n++;
	}
	assert_in_range(n, 26, 40);
}

/* "(default N)" of the line with that option. */
static unsigned long
default_of(const char *program, const char *option)
{
	struct recording recording;
	unsigned long value = 0;
	const char *line;

	recording_open(&recording, program);
	while ((line = recording_line(&recording)) != NULL)
		if (strstr(line, option) != NULL && strstr(line, "(default ") != NULL)
			value = strtoul(strstr(line, "(default ") + strlen("(default "), NULL, 10);
	recording_close(&recording);
	return value;
}

static void
defaults_are_those_of(const char *program, const char *options)
{
	const struct perf_options o = parsed(options);

	assert_int_equal(o.port, default_of(program, "--port="));
	assert_int_equal(o.size, default_of(program, "--size="));
	assert_int_equal(o.rx_depth, default_of(program, "--rx-depth="));
	assert_int_equal(o.iters, default_of(program, "--iters="));
	assert_int_equal(o.mtu, default_of(program, "--mtu="));
	assert_int_equal(o.qps, o.use_srq ? default_of(program, "--num-qp=") : 1);
}

static void
exchange_pingpong_has_the_pingpongs_defaults(void **state)
{
	(void)state;
	defaults_are_those_of("ibv_rc_pingpong", "--exchange pingpong");
	defaults_are_those_of("ibv_uc_pingpong", "--exchange pingpong -c UC");
	/* It has no --mtu: the port's. */
	defaults_are_those_of("ibv_ud_pingpong", "--exchange pingpong -c UD");
	defaults_are_those_of("ibv_srq_pingpong", "--exchange pingpong --use-srq");
}

static void
help_and_version_are_printed(void **state)
{
	struct perf_options options;

	(void)state;
	assert_int_equal(captured("--help", &options), 1);
	assert_non_null(strstr(printed, "Usage: dpdk-test-rdma-perf [EAL OPTIONS] -- [OPTIONS]"));
	assert_string_equal(said, "");
	assert_int_equal(captured("-V", &options), 1);
	assert_string_equal(printed, "dpdk-test-rdma-perf " RDMAPMD_VERSION "\n");
}

/* What it passes over is said here. */
static void
letters_behind_a_size_are_perftests(void **state)
{
	struct perf_options o;

	(void)state;
	assert_int_equal(parsed("-s 4K").size, 4096);
	assert_int_equal(parsed("-s 2M").size, 2 << 20);
	assert_int_equal(parsed("-s 0x10").size, 16);
	assert_int_equal(parsed("-s 2047M").size, 2047u << 20);
	assert_int_equal(captured("-s 4k", &o), 0);
	assert_int_equal(o.size, 4);
	assert_string_equal(said, "dpdk-test-rdma-perf: --size=4k: taken for 4 bytes, as perftest "
				  "does: K and M multiply, and nothing else\n");
	assert_int_equal(captured("-s 3mK", &o), 0);
	assert_int_equal(o.size, 3072);
	assert_non_null(strstr(said, "taken for 3072 bytes"));
}

/* Those that the device has no such of: it takes what the device has. */
static void
numbers_without_bounds_are_taken(void **state)
{
	(void)state;
	assert_int_equal(parsed("-m 300").mtu, 300);
	assert_int_equal(parsed("-m -1").mtu, -1);
	assert_int_equal(parsed("-m 0").mtu, 0);
	assert_int_equal(parsed("-o 0 --op read").out_reads, 0);
	assert_int_equal(parsed("-o -3 --op read").out_reads, -3);
	assert_int_equal(parsed("-o 100000 --op fetch_add").out_reads, 100000);
	assert_int_equal(parsed("-l 15000 -t 15000 -n 15000").post_list, 15000);
	assert_int_equal(parsed("-D 2000000").duration, 2000000);
	assert_int_equal(parsed("-u 0").timeout, 0);
	assert_int_equal(parsed("-u 31").timeout, 31);
	/* What tells that a WRITE has come is no matter elsewhere. */
	assert_int_equal(parsed("--mode lat -s 64 --damage 62").damage, 62);
	assert_int_equal(parsed("--mode lat --op send -s 64 --damage 63").damage, 63);
	assert_int_equal(parsed("-s 64 --damage 63").damage, 63);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(defaults_of_bandwidth_are_perftests),
	cmocka_unit_test(defaults_of_latency_are_perftests),
	cmocka_unit_test(each_option_has_its_member),
	cmocka_unit_test(depths_follow_from_each_other),
	cmocka_unit_test(groups_of_large_messages_are_noted),
	cmocka_unit_test(the_warm_up_finds_its_receives),
	cmocka_unit_test(exchange_pingpong_is_for_one_kind_of_traffic),
	cmocka_unit_test(exchange_perftest_is_for_what_its_programs_do),
	cmocka_unit_test(the_report_has_a_name),
	cmocka_unit_test(perftest_refuses_these_too),
	cmocka_unit_test(refusals_are_perftests),
	cmocka_unit_test(these_are_refused_besides),
	cmocka_unit_test(what_perftest_has_and_we_have_not_is_named),
	cmocka_unit_test(every_name_that_perftest_has_is_known),
	cmocka_unit_test(options_are_named_as_perftests),
	cmocka_unit_test(exchange_pingpong_has_the_pingpongs_defaults),
	cmocka_unit_test(help_and_version_are_printed),
	cmocka_unit_test(letters_behind_a_size_are_perftests),
	cmocka_unit_test(numbers_without_bounds_are_taken),
};

PLAIN_MAIN("perf-options", tests)
