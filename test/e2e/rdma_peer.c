/* SPDX-License-Identifier: BSD-3-Clause */

/* The peer of a connection as a process of its own: this program again, which takes orders from a socket. */

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "port.h"
#include "rdma_end.h"

/* In a child: where its end of the cable is, if it is not here. */
static void
go_there(void)
{
	const char *path = getenv("RDMA_PEER_NETNS");
	const int fd = path != NULL ? open(path, O_RDONLY | O_CLOEXEC) : -1;

	if (path != NULL && (fd < 0 || setns(fd, CLONE_NEWNET) != 0))
		_exit(127);
}

void
rdma_peer_start(struct rdma_peer *peer, const char *devargs)
{
	char argument[] = RDMA_PEER_ARGUMENT, program[] = "rdma-peer", number[16], device[256];
	char *argv[] = { program, argument, number, device, NULL };
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds), 0);
	e2e_port_spec(device, sizeof(device), 0, devargs);
	/* Without the flag that closes it: a duplicate, made by the child. */
	peer->pid = fork();
	if (peer->pid == 0) {
		go_there();
		snprintf(number, sizeof(number), "%d", dup(fds[1]));
		execv("/proc/self/exe", argv);
		_exit(127);
	}
	close(fds[1]);
	assert_true(peer->pid > 0);
	peer->end = NULL;
	peer->fd = fds[0];
	/* It says so when it is there. */
	rdma_peer_do(peer, &(struct rdma_order){ .kind = RDMA_ORDER_HELLO });
}

static int
wait_for(struct rdma_peer *peer)
{
	int status;

	close(peer->fd);
	assert_int_equal(waitpid(peer->pid, &status, 0), peer->pid);
	return status;
}

void
rdma_peer_stop(struct rdma_peer *peer)
{
	int status;

	if (peer->end != NULL)
		return;
	status = wait_for(peer);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

void
rdma_peer_kill(struct rdma_peer *peer)
{
	assert_int_equal(kill(peer->pid, SIGKILL), 0);
	assert_true(WIFSIGNALED(wait_for(peer)));
}

int
rdma_peer_main(char **argv)
{
	const char *vdevs[] = { argv[3], NULL };
	const struct rdma_conf conf = { 0 };
	const int fd = atoi(argv[2]);
	struct rdma_order order;
	struct rdma_end end;

	if (e2e_init("rdma-peer", vdevs) != 0)
		return 1;
	rdma_end_open(&end, e2e_port_name(0), &conf);
	while (recv(fd, &order, sizeof(order), 0) == sizeof(order)) {
		struct rdma_answer answer = { 0 };

		rdma_end_obey(&end, &order, &answer);
		if (send(fd, &answer, sizeof(answer), MSG_NOSIGNAL) != sizeof(answer))
			break;
	}
	rdma_end_close(&end);
	e2e_fini();
	return 0;
}

struct rdma_answer
rdma_peer_do(struct rdma_peer *peer, const struct rdma_order *order)
{
	struct rdma_answer answer = { 0 };

	if (peer->end != NULL) {
		rdma_end_obey(peer->end, order, &answer);
		return answer;
	}
	if (send(peer->fd, order, sizeof(*order), MSG_NOSIGNAL) != sizeof(*order) ||
	    recv(peer->fd, &answer, sizeof(answer), 0) != sizeof(answer))
		fail_msg("the peer has failed");
	return answer;
}
