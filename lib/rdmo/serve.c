/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rte_lcore.h>

#include "log.h"
#include "serve.h"
#include "socket.h"

/* Commands that one client has executed before others have their turn. */
#define TURN 16

/* Where no descriptor is left for a client: how long nobody looks for one, and how often that is said at most. */
#define DEAF_MS 100
#define TELL_MS 10000

/* ---- A session's stream ---- */

/* Send what is to be sent. False: it is not all sent, or the stream is broken, and `is_over`. */
static bool
session_send(struct rdmo_session *session, bool *is_over)
{
	while (session->out_sent < session->out_count) {
		const ssize_t n =
			send(session->fd, session->out + session->out_sent,
			     session->out_count - session->out_sent, MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n <= 0) {
			*is_over = n == 0 || (errno != EAGAIN && errno != EINTR);
			return false;
		}
		session->out_sent += (uint32_t)n;
	}
	session->out_sent = session->out_count = 0;
	*is_over = session->is_ending;
	return !session->is_ending;
}

/* Receive towards a whole command. False: there is no more now, or the stream has ended, and `is_over`. */
static bool
session_receive(struct rdmo_session *session, bool *is_over)
{
	struct rdmo_stream *in = &session->in;

	while (rdmo_stream_wanted(in) > 0) {
		const ssize_t n = recv(session->fd, rdmo_stream_room(in), rdmo_stream_wanted(in),
				       MSG_DONTWAIT);

		if (n <= 0) {
			*is_over = n == 0 || (errno != EAGAIN && errno != EINTR);
			return false;
		}
		if (rdmo_stream_received(in, (uint32_t)n) != RDMO_REASON_NONE) {
			*is_over = true;
			return false;
		}
	}
	return true;
}

/* Some events and commands of one session. False: it is over. */
static bool
session_serve(struct rdmo_server *server, struct rdmo_session *session)
{
	bool is_over = false;
	uint32_t i;

	for (i = 0; i < TURN && session_send(session, &is_over) && rdmo_session_event(session); i++)
		;
	/* There may be more: others have their turn first. */
	server->has_more |= i == TURN;
	for (i = 0;
	     i < TURN && session_send(session, &is_over) && session_receive(session, &is_over); i++)
		rdmo_session_command(&server->house, session);
	if (!is_over && session->out_count > 0)
		session_send(session, &is_over);
	return !is_over;
}

/* ---- Sessions come and go ---- */

static void
session_add(struct rdmo_server *server, struct rdmo_session *session)
{
	if (session != NULL)
		TAILQ_INSERT_TAIL(&server->house.sessions, session, next);
}

/* Those who wait stay in the kernel's queue, where they would wake the thread again and again. */
static void
server_turn_deaf(struct rdmo_server *server, int error)
{
	const uint64_t now = rdmo_now_ms();

	server->deaf_until_ms = now + DEAF_MS;
	if (now < server->told_ms + TELL_MS && server->told_ms != 0)
		return;
	server->told_ms = now;
	RDMO_LOG(ERR,
		 "%s: initiators and targets wait to be accepted: %s. Is the limit of descriptors "
		 "(ulimit -n) below the number of connections?",
		 server->address, strerror(error));
}

static bool
is_deaf(const struct rdmo_server *server)
{
	return rdmo_now_ms() < server->deaf_until_ms;
}

static void
accept_some(struct rdmo_server *server)
{
	int fd;

	while (server->half_open < RDMO_HALF_OPEN && !is_deaf(server)) {
		fd = accept4(server->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd < 0 &&
		    (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS))
			server_turn_deaf(server, errno);
		if (fd < 0)
			return;
		rdmo_socket_watch_peer(fd);
		session_add(server, rdmo_session_new(fd, false, rdmo_now_ms() + RDMO_HELLO_MS));
		server->half_open++;
	}
}

static void
arrivals_take(struct rdmo_server *server)
{
	pthread_mutex_lock(&server->lock);
	TAILQ_CONCAT(&server->house.sessions, &server->arrivals, next);
	pthread_mutex_unlock(&server->lock);
}

/* ---- The thread ---- */

/* Has what it is for ended by itself? */
static bool
session_has_ended(const struct rdmo_session *session)
{
	return (session->peer != NULL && rdmo_peer_has_ended(session->peer)) ||
	       (session->remote != NULL && rdmo_remote_has_broken(session->remote));
}

/*
 * Sessions with something to read or to write have it done. Those whose connection has ended, or whose time is over, go. Returns how
 * long to wait for the next one.
 */
static int
sessions_serve(struct rdmo_server *server)
{
	struct rdmo_session *session, *after;
	int wait_ms = -1;

	server->half_open = 0;
	server->has_more = false;
	/* Partner: the lane that asks for it. What it has counted before is found now. */
	atomic_exchange_explicit(&server->house.crew->is_told, false, memory_order_acq_rel);
	for (session = TAILQ_FIRST(&server->house.sessions); session != NULL; session = after) {
		const bool has_ended = session_has_ended(session);
		const bool is_open = !has_ended && session_serve(server, session);
		const uint64_t now = rdmo_now_ms();

		/* A command may have ended others. */
		after = TAILQ_NEXT(session, next);
		if (!is_open ||
		    (session->kind == RDMO_SESSION_NEW && now >= session->deadline_ms)) {
			rdmo_session_end(&server->house, session);
		} else if (session->kind == RDMO_SESSION_NEW && !session->is_local) {
			const int left = (int)(session->deadline_ms - now);

			wait_ms = wait_ms < 0 || left < wait_ms ? left : wait_ms;
			server->half_open++;
		}
	}
	return server->has_more ? 0 : wait_ms;
}

/* Until there is something to do. */
static void
wait_for_some(struct rdmo_server *server, int wait_ms)
{
	const struct rdmo_session *session;
	struct pollfd *fds;
	nfds_t count = 2;
	uint64_t value;

	TAILQ_FOREACH(session, &server->house.sessions, next)
		count++;
	fds = calloc(count, sizeof(*fds));
	if (fds == NULL) {
		usleep(1000);
		return;
	}
	count = 0;
	fds[count++] = (struct pollfd){ .fd = server->wake_fd, .events = POLLIN };
	if (is_deaf(server))
		wait_ms = wait_ms < 0 || wait_ms > DEAF_MS ? DEAF_MS : wait_ms;
	else if (server->half_open < RDMO_HALF_OPEN)
		fds[count++] = (struct pollfd){ .fd = server->listen_fd, .events = POLLIN };
	TAILQ_FOREACH(session, &server->house.sessions, next)
		fds[count++] = (struct pollfd){
			.fd = session->fd,
			.events = session->out_count > 0 ? POLLOUT : POLLIN,
		};
	poll(fds, count, wait_ms);
	if ((fds[0].revents & POLLIN) != 0 &&
	    read(server->wake_fd, &value, sizeof(value)) != sizeof(value))
		RDMO_LOG(DEBUG, "woken for nothing");
	free(fds);
}

static void *
server_run(void *arg)
{
	struct rdmo_server *server = arg;

	while (!atomic_load(&server->is_stopped)) {
		arrivals_take(server);
		wait_for_some(server, sessions_serve(server));
		accept_some(server);
	}
	arrivals_take(server);
	while (!TAILQ_EMPTY(&server->house.sessions))
		rdmo_session_end(&server->house, TAILQ_FIRST(&server->house.sessions));
	return NULL;
}

static void
server_wake(const struct rdmo_server *server)
{
	const uint64_t one = 1;

	if (write(server->wake_fd, &one, sizeof(one)) != sizeof(one))
		RDMO_LOG(ERR, "the bootstrap of %s cannot be woken", server->address);
}

int
rdmo_server_start(struct rdmo_server *server, const char *address)
{
	int rc;

	TAILQ_INIT(&server->house.sessions);
	TAILQ_INIT(&server->arrivals);
	server->listen_fd = rdmo_socket_listen(address, server->address, sizeof(server->address));
	if (server->listen_fd < 0) {
		RDMO_LOG(ERR, "cannot listen at %s: %s", address, strerror(-server->listen_fd));
		return server->listen_fd;
	}
	pthread_mutex_init(&server->lock, NULL);
	rc = rte_ctrl_thread_create(&server->thread, "rdmo", NULL, server_run, server);
	if (rc == 0)
		return 0;
	pthread_mutex_destroy(&server->lock);
	rdmo_socket_forget(server->address);
	close(server->listen_fd);
	return rc < 0 ? rc : -rc;
}

void
rdmo_server_stop(struct rdmo_server *server)
{
	atomic_store(&server->is_stopped, true);
	server_wake(server);
	pthread_join(server->thread, NULL);
	pthread_mutex_destroy(&server->lock);
	rdmo_socket_forget(server->address);
	close(server->listen_fd);
}

int
rdmo_server_adopt(struct rdmo_server *server, int fd)
{
	struct rdmo_session *session = rdmo_session_new(fd, true, UINT64_MAX);

	if (session == NULL)
		return -ENOMEM;
	pthread_mutex_lock(&server->lock);
	TAILQ_INSERT_TAIL(&server->arrivals, session, next);
	pthread_mutex_unlock(&server->lock);
	server_wake(server);
	return 0;
}
