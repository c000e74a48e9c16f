/* SPDX-License-Identifier: BSD-3-Clause */

/* Sockets with names: who may connect, who is refused, what a dead server leaves behind. */

#include "fixture.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "vfio_user/listen.h"

struct place {
	struct fixture f;
	char dir[32];
	char path[48];
	char lock[64];
	unsigned int fds;
};

static int
place_setup(void **state)
{
	struct place *p = calloc(1, sizeof(*p));

	assert_non_null(p);
	p->fds = count_fds();
	strcpy(p->dir, "/tmp/vfu-test-XXXXXX");
	assert_non_null(mkdtemp(p->dir));
	snprintf(p->path, sizeof(p->path), "%s/s.sock", p->dir);
	snprintf(p->lock, sizeof(p->lock), "%s.lock", p->path);
	*state = p;
	return 0;
}

static int
place_teardown(void **state)
{
	struct place *p = *state;

	unlink(p->path);
	unlink(p->lock);
	assert_int_equal(rmdir(p->dir), 0);
	assert_fds_gone(p->fds);
	free(p);
	return 0;
}

static int
connect_client(struct place *p, struct vfu_client **client, const char *path)
{
	struct vfu_client_conf conf = {
		.name = "client0",
		.path = path,
		.timeout_ms = 60000,
		.log = p->f.conf.log,
		.log_arg = p->f.conf.log_arg,
	};

	return vfu_client_open(&conf, client);
}

static bool
exists(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0;
}

static void
test_a_socket_is_private_and_goes_with_its_server(void **state)
{
	struct place *p = *state;
	mode_t old = umask(0);
	struct stat st;

	assert_int_equal(fixture_setup_at(&p->f, p->path), 0);
	umask(old);
	assert_int_equal(stat(p->path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_true(S_ISSOCK(st.st_mode));
	assert_int_equal(stat(p->lock, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	fixture_teardown(&p->f);
	assert_false(exists(p->path));
	assert_false(exists(p->lock));
}

static void
test_a_client_by_name(void **state)
{
	struct place *p = *state;
	struct vfu_client *client;
	struct vfu_peer peer;

	assert_int_equal(fixture_setup_at(&p->f, p->path), 0);
	fixture_start(&p->f);
	assert_int_equal(connect_client(p, &client, p->path), 0);
	assert_int_equal(vfu_client_reset(client), 0);
	wait_for(&p->f.connected, 1);
	assert_int_equal(vfu_listener_look_up(p->path, "client", &peer), 0);
	assert_int_equal(peer.pid, getpid());
	vfu_client_close(client);
	wait_for(&p->f.disconnected, 1);
	assert_int_equal(vfu_listener_look_up(p->path, "client", &peer), -ENOENT);
	assert_int_equal(vfu_listener_look_up(p->path, "server", &peer), 0);
	fixture_teardown(&p->f);
}

static void
test_a_second_client_is_told_who_is_served(void **state)
{
	struct place *p = *state;
	struct vfu_client *first, *second = NULL;
	char expected[64];
	int i;

	assert_int_equal(fixture_setup_at(&p->f, p->path), 0);
	fixture_start(&p->f);
	assert_int_equal(connect_client(p, &first, p->path), 0);
	for (i = 0; i < 20; i++) {
		fixture_forget_log(&p->f);
		assert_int_equal(connect_client(p, &second, p->path), -EBUSY);
	}
	snprintf(expected, sizeof(expected), "in use by process %d (", (int)getpid());
	assert_true(fixture_logged(&p->f, expected));
	/* The first one never notices. */
	assert_int_equal(vfu_client_reset(first), 0);
	vfu_client_close(first);
	wait_for(&p->f.disconnected, 1);
	assert_int_equal(connect_client(p, &second, p->path), 0);
	vfu_client_close(second);
	fixture_teardown(&p->f);
}

/* Those who connect and say nothing do not fill the place for ever. */
static void
test_silent_clients_do_no_harm(void **state)
{
	struct place *p = *state;
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct vfu_client *first, *second;
	int fds[6], i;

	assert_int_equal(fixture_setup_at(&p->f, p->path), 0);
	fixture_start(&p->f);
	assert_int_equal(connect_client(p, &first, p->path), 0);
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", p->path);
	for (i = 0; i < 6; i++) {
		fds[i] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
		assert_int_equal(connect(fds[i], (struct sockaddr *)&address, sizeof(address)), 0);
	}
	assert_int_equal(vfu_client_reset(first), 0);
	usleep(1200 * 1000);
	assert_int_equal(connect_client(p, &second, p->path), -EBUSY);
	assert_int_equal(vfu_client_reset(first), 0);
	vfu_client_close(first);
	for (i = 0; i < 6; i++)
		close(fds[i]);
	fixture_teardown(&p->f);
}

static int
connect_silently(struct place *p)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", p->path);
	assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

/* One who says nothing keeps the place for as long as a first message may take: also then others are told by whom. */
static void
test_a_silent_client_is_named(void **state)
{
	struct place *p = *state;
	struct vfu_client *client;
	char expected[64];
	int fd;

	assert_int_equal(fixture_setup_at(&p->f, p->path), 0);
	fd = connect_silently(p);
	fixture_start(&p->f);
	assert_int_equal(connect_client(p, &client, p->path), -EBUSY);
	snprintf(expected, sizeof(expected), "in use by process %d (", (int)getpid());
	assert_true(fixture_logged(&p->f, expected));
	close(fd);
	fixture_teardown(&p->f);
}

/* There is room for four who wait to be refused, and the fifth was closed without a word. */
static void
test_each_of_many_is_refused_with_a_reason(void **state)
{
	struct place *p = *state;
	struct vfu_client *first, *client;
	int fds[5], i;

	assert_int_equal(fixture_setup_at(&p->f, p->path), 0);
	fixture_start(&p->f);
	assert_int_equal(connect_client(p, &first, p->path), 0);
	for (i = 0; i < 5; i++)
		fds[i] = connect_silently(p);
	assert_int_equal(connect_client(p, &client, p->path), -EBUSY);
	for (i = 0; i < 5; i++)
		close(fds[i]);
	vfu_client_close(first);
	fixture_teardown(&p->f);
}

/* The server has not seen yet that the one before has left: here as he left much to read, else as it was looking elsewhere. */
static void
test_who_comes_again_at_once_is_served(void **state)
{
	const struct vfu_header reset = { .command = VFU_DEVICE_RESET,
					  .size = sizeof(reset),
					  .flags = VFU_FLAG_NO_REPLY };
	struct place *p = *state;
	int i;

	assert_int_equal(fixture_setup_at(&p->f, p->path), 0);
	p->f.peer = connect_silently(p);
	assert_int_equal(ask_version(&p->f), 0);
	for (i = 0; i < 200; i++)
		raw_send(p->f.peer, &reset, sizeof(reset), NULL, 0);
	close(p->f.peer);
	p->f.peer = connect_silently(p);
	assert_int_equal(ask_version(&p->f), 0);
	assert_int_equal(p->f.resets, 200);
	fixture_teardown(&p->f);
}

/* The name in a lock is what somebody wrote there, and goes to a terminal. */
static void
test_names_in_locks_are_not_believed(void **state)
{
	struct place *p = *state;
	FILE *lock = fopen(p->lock, "w");
	struct vfu_peer peer;

	assert_non_null(lock);
	fprintf(lock, "server 12 a\033[2Jb\nclient %d ?\n", (int)getpid());
	fclose(lock);
	assert_int_equal(vfu_listener_look_up(p->path, "server", &peer), 0);
	assert_string_equal(peer.name, "a?[2Jb");
	/* A server that could not find out: who reads can. */
	assert_int_equal(vfu_listener_look_up(p->path, "client", &peer), 0);
	assert_string_not_equal(peer.name, "?");
	if (geteuid() != 0)
		return;
	/* A stranger's, made before ours. */
	assert_int_equal(chown(p->lock, 12345, 12345), 0);
	assert_int_equal(fixture_setup_at(&p->f, p->path), -EPERM);
	assert_true(fixture_logged(&p->f, "belongs to another user"));
	fixture_teardown(&p->f);
}

/* Neither refused for ever nor a busy loop. */
static void
test_no_descriptor_left(void **state)
{
	struct place *p = *state;
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct rlimit old, none;
	struct vfu_client *client;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int second = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char byte;

	assert_int_equal(fixture_setup_at(&p->f, p->path), 0);
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", p->path);
	assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	none = old;
	none.rlim_cur = dup(0);
	close(none.rlim_cur);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	fixture_process(&p->f);
	assert_true(fixture_logged(&p->f, "no descriptors left"));
	assert_int_equal(raw_receive(fd, &byte, 1, NULL, NULL), 0);
	/* Again, and not a word more: who connects in a loop shall not fill the disk. */
	fixture_forget_log(&p->f);
	assert_int_equal(connect(second, (struct sockaddr *)&address, sizeof(address)), 0);
	fixture_process(&p->f);
	assert_false(fixture_logged(&p->f, "no descriptors left"));
	assert_int_equal(raw_receive(second, &byte, 1, NULL, NULL), 0);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	close(fd);
	close(second);
	fixture_start(&p->f);
	assert_int_equal(connect_client(p, &client, p->path), 0);
	vfu_client_close(client);
	fixture_teardown(&p->f);
}

static void
test_a_living_server_is_named(void **state)
{
	struct place *p = *state;
	struct vfu_server *second;
	char expected[64];

	assert_int_equal(fixture_setup_at(&p->f, p->path), 0);
	assert_int_equal(vfu_server_create(&p->f.conf, &second), -EADDRINUSE);
	snprintf(expected, sizeof(expected), "served by process %d (", (int)getpid());
	assert_true(fixture_logged(&p->f, expected));
	assert_true(exists(p->path));
	assert_true(exists(p->lock));
	fixture_teardown(&p->f);
}

/* One that does not know our lock. */
static void
test_a_living_server_of_other_make_is_named(void **state)
{
	struct place *p = *state;
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char expected[64];

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", p->path);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(fd, 1), 0);
	assert_int_equal(fixture_setup_at(&p->f, p->path), -EADDRINUSE);
	snprintf(expected, sizeof(expected), "served by process %d (", (int)getpid());
	assert_true(fixture_logged(&p->f, expected));
	fixture_teardown(&p->f);
	assert_true(exists(p->path));
	assert_false(exists(p->lock));
	/* Dead, it is replaced. */
	close(fd);
	assert_int_equal(fixture_setup_at(&p->f, p->path), 0);
	fixture_teardown(&p->f);
}

static void
test_a_killed_server_is_replaced(void **state)
{
	struct place *p = *state;
	struct vfu_client *client;
	int ready[2], status;
	pid_t pid;
	char byte;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		if (fixture_setup_at(&p->f, p->path) == 0)
			(void)!write(ready[1], "x", 1);
		for (;;)
			pause();
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	close(ready[0]);
	close(ready[1]);
	assert_true(exists(p->path));
	assert_int_equal(connect_client(p, &client, p->path), -ECONNREFUSED);
	assert_int_equal(fixture_setup_at(&p->f, p->path), 0);
	fixture_start(&p->f);
	assert_int_equal(connect_client(p, &client, p->path), 0);
	vfu_client_close(client);
	fixture_teardown(&p->f);
}

static void
test_what_is_no_socket_stays(void **state)
{
	struct place *p = *state;
	FILE *file = fopen(p->path, "w");

	assert_non_null(file);
	fclose(file);
	assert_int_equal(fixture_setup_at(&p->f, p->path), -EEXIST);
	fixture_teardown(&p->f);
	assert_true(exists(p->path));
}

static void
test_paths_that_cannot_be(void **state)
{
	struct place *p = *state;
	struct vfu_client *client;
	char longest[300], missing[64];

	memset(longest, 'x', sizeof(longest));
	longest[sizeof(longest) - 1] = '\0';
	snprintf(missing, sizeof(missing), "%s/none/s.sock", p->dir);
	assert_int_equal(fixture_setup_at(&p->f, longest), -ENAMETOOLONG);
	assert_int_equal(connect_client(p, &client, longest), -ENAMETOOLONG);
	fixture_teardown(&p->f);
	assert_int_equal(fixture_setup_at(&p->f, ""), -ENAMETOOLONG);
	assert_int_equal(connect_client(p, &client, ""), -ENAMETOOLONG);
	fixture_teardown(&p->f);
	assert_int_equal(fixture_setup_at(&p->f, missing), -ENOENT);
	assert_int_equal(connect_client(p, &client, missing), -ENOENT);
	assert_true(fixture_logged(&p->f, "nobody listens there"));
	fixture_teardown(&p->f);
}

#define STRANGER 12345
#define NOBODY	 65534

static void
become(uid_t uid)
{
	if (setresgid(uid, uid, uid) != 0 || setresuid(uid, uid, uid) != 0)
		_exit(99);
}

/* A server of that user's, in the folder, until it is killed. */
static pid_t
serve_as(struct place *p, uid_t uid)
{
	int ready[2];
	pid_t pid;
	char byte;

	assert_int_equal(chown(p->dir, uid, uid), 0);
	assert_int_equal(pipe(ready), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		become(uid);
		/* A test that dies takes its server along. */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (fixture_setup_at(&p->f, p->path) == 0) {
			fixture_start(&p->f);
			(void)!write(ready[1], "x", 1);
		}
		for (;;)
			pause();
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	close(ready[1]);
	return pid;
}

static void
kill_server(struct place *p, pid_t pid)
{
	int status;

	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	unlink(p->path);
	unlink(p->lock);
}

/* What a client of that user's is told; it is let in all the same if it wants anybody. */
static int
connect_as(struct place *p, uid_t uid, bool any_peer)
{
	struct vfu_client_conf conf = { .name = "client0", .path = p->path, .any_peer = any_peer };
	struct vfu_client *client;
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		become(uid);
		_exit(-vfu_client_open(&conf, &client));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return -WEXITSTATUS(status);
}

/* Whoever was first at the path had all memory of who came, root's too. */
static void
test_a_strangers_server_gets_no_client(void **state)
{
	struct place *p = *state;
	struct vfu_client *client;
	char expected[64];
	pid_t pid;

	if (geteuid() != 0)
		skip();
	/* For what is logged here. */
	assert_int_equal(fixture_setup_at(&p->f, NULL), 0);
	pid = serve_as(p, STRANGER);
	assert_int_equal(connect_client(p, &client, p->path), -EPERM);
	snprintf(expected, sizeof(expected), "served by process %d (", (int)pid);
	assert_true(fixture_logged(&p->f, expected));
	assert_true(fixture_logged(&p->f,
				   "of user 12345, who is neither root nor our user (we are 0)"));
	assert_true(fixture_logged(&p->f, "peer=any"));
	assert_int_equal(connect_as(p, STRANGER, false), 0);
	assert_int_equal(connect_as(p, 0, true), 0);
	kill_server(p, pid);
	/* This number is that of all users who have none here, so to have it oneself says nothing. */
	pid = serve_as(p, NOBODY);
	assert_int_equal(connect_client(p, &client, p->path), -EPERM);
	assert_true(
		fixture_logged(&p->f, "who is anyone that our user namespace has no number for"));
	assert_int_equal(connect_as(p, NOBODY, false), -EPERM);
	assert_int_equal(connect_as(p, NOBODY, true), 0);
	kill_server(p, pid);
	fixture_teardown(&p->f);
}

/* Who has called listen() counts, whatever he became later. */
static void
test_roots_server_is_everybodys(void **state)
{
	struct place *p = *state;
	pid_t pid;

	if (geteuid() != 0)
		skip();
	pid = serve_as(p, 0);
	/* Sockets are their owner's; whom root lets in is his choice. */
	assert_int_equal(chmod(p->dir, 0711), 0);
	assert_int_equal(chmod(p->path, 0666), 0);
	assert_int_equal(connect_as(p, STRANGER, false), 0);
	assert_int_equal(connect_as(p, NOBODY, false), 0);
	kill_server(p, pid);
}

/* A lock file that somebody else wrote nonsense into. */
static void
test_lock_files_of_nonsense(void **state)
{
	static const char *const texts[] = {
		"",
		"\n\n",
		"client",
		"client x y\n",
		"client 99999999999999999999 x\n",
		"client 5 averyveryveryveryverylongnamethatdoesnotfitintothirtyone\n",
	};
	struct place *p = *state;
	struct vfu_peer peer;
	unsigned int i;

	for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		FILE *file = fopen(p->lock, "w");

		assert_non_null(file);
		fputs(texts[i], file);
		fclose(file);
		if (vfu_listener_look_up(p->path, "client", &peer) == 0)
			assert_true(strlen(peer.name) < sizeof(peer.name));
	}
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, place_setup, place_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_a_socket_is_private_and_goes_with_its_server),
		CASE(test_a_client_by_name),
		CASE(test_a_second_client_is_told_who_is_served),
		CASE(test_silent_clients_do_no_harm),
		CASE(test_a_silent_client_is_named),
		CASE(test_each_of_many_is_refused_with_a_reason),
		CASE(test_who_comes_again_at_once_is_served),
		CASE(test_names_in_locks_are_not_believed),
		CASE(test_no_descriptor_left),
		CASE(test_a_living_server_is_named),
		CASE(test_a_living_server_of_other_make_is_named),
		CASE(test_a_killed_server_is_replaced),
		CASE(test_what_is_no_socket_stays),
		CASE(test_paths_that_cannot_be),
		CASE(test_a_strangers_server_gets_no_client),
		CASE(test_roots_server_is_everybodys),
		CASE(test_lock_files_of_nonsense),
	};

	return cmocka_run_group_tests_name("listen", tests, NULL, NULL);
}
