/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "client_private.h"
#include "listen.h"

#define VFU_DEFAULT_TIMEOUT_MS 5000
#define VFU_CONNECT_RETRY_MS   10
#define VFU_MAX_ANSWERS	       256 /* that the server does not fetch */
#define VFU_NO_ID	       (-1)
#define VFU_OVERFLOW_UID       65534 /* fs.overflowuid, unless somebody has changed that */
#define VFU_MESSAGES_AT_ONCE   64    /* that nobody awaits */
#define VFU_TURN_NAP_MS	       10    /* how often who waits for a turn asks whether it may */
#define VFU_LOOK_MS	       100   /* how often who waits for an answer looks for the end */

/* ---- Turns ---- */

/* For how long may this thread wait? -1: as long as it takes, or until *fd is readable. */
static int
vfu_client_patience_ms(const struct vfu_client *client, int *fd)
{
	*fd = -1;
	return client->conf.patience_ms != NULL ? client->conf.patience_ms(client->conf.arg, fd)
						: -1;
}

/* Called with the lock held: until something has changed, or may have. False: this thread is not to wait. */
static bool
vfu_client_await_turn(struct vfu_client *client)
{
	struct timespec at;
	uint64_t ms;
	int fd, left = vfu_client_patience_ms(client, &fd);

	if (left == 0)
		return false;
	if (left < 0 && fd < 0) {
		pthread_cond_wait(&client->freed, &client->lock);
		return true;
	}
	ms = vfu_now_ms() + VFU_TURN_NAP_MS;
	at = (struct timespec){ .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };
	pthread_cond_timedwait(&client->freed, &client->lock, &at);
	return true;
}

int
vfu_client_enter(struct vfu_client *client)
{
	bool mine = true;

	pthread_mutex_lock(&client->lock);
	while (client->busy && mine)
		mine = vfu_client_await_turn(client);
	if (mine)
		client->busy = true;
	pthread_mutex_unlock(&client->lock);
	if (!mine)
		return -ECANCELED;
	client->deadline_ms = vfu_now_ms() + client->conf.timeout_ms;
	return 0;
}

void
vfu_client_leave(struct vfu_client *client)
{
	pthread_mutex_lock(&client->lock);
	client->busy = false;
	pthread_cond_signal(&client->freed);
	pthread_mutex_unlock(&client->lock);
}

void
vfu_client_end_by(struct vfu_client *client, unsigned int ms)
{
	atomic_store(&client->end_ms, vfu_now_ms() + ms);
}

/* Of the call under way: its own deadline, or that of all. */
static uint64_t
vfu_client_deadline(const struct vfu_client *client)
{
	const uint64_t end = atomic_load(&client->end_ms);

	return client->deadline_ms < end ? client->deadline_ms : end;
}

int
vfu_client_give_up(struct vfu_client *client, int reason)
{
	if (client->dead)
		return reason;
	client->dead = true;
	pthread_mutex_lock(&client->lock);
	client->reason = reason;
	pthread_mutex_unlock(&client->lock);
	vfu_log(&client->log, VFU_LOG_ERROR, "the server, process %d (%s), %s: the device is lost",
		(int)client->server.pid, client->server.name,
		reason == -ENOTCONN    ? "is gone"
		: reason == -ETIMEDOUT ? "does not answer"
		: reason == -EPROTO    ? "breaks the protocol"
				       : strerror(-reason));
	/* The descriptor stays, and readable: others may poll it. */
	shutdown(client->channel.fd, SHUT_RDWR);
	return reason;
}

/* ---- Requests of the server ---- */

/* Memory that the server could ask for comes with descriptors. @return 0 or why the connection ends. */
static int
vfu_client_refuse(struct vfu_client *client)
{
	const struct vfu_header request = client->channel.message.header;
	const struct vfu_header header = {
		.id = request.id,
		.command = request.command,
		.flags = VFU_TYPE_REPLY | VFU_FLAG_ERROR,
		.error = ENOTSUP,
	};

	if (request.flags & VFU_FLAG_NO_REPLY)
		return 0;
	if (client->channel.outgoing_count >= VFU_MAX_ANSWERS)
		return -EPROTO;
	return vfu_channel_send(&client->channel, header, NULL, 0, NULL, 0);
}

/* ---- Requests to the server ---- */

/* The answer to a request whose caller waited no longer: they come before those that are awaited, in order. */
static bool
vfu_client_passes_over(struct vfu_client *client, const struct vfu_header *header)
{
	if (client->left_count == 0 || client->left[0].id != header->id ||
	    client->left[0].command != header->command)
		return false;
	client->left_count--;
	memmove(&client->left[0], &client->left[1], client->left_count * sizeof(client->left[0]));
	return true;
}

/* A message came. @return 1 the awaited answer, 0 go on, or why the connection ends. */
static int
vfu_client_received(struct vfu_client *client, int id, uint16_t command)
{
	const struct vfu_header *header = &client->channel.message.header;

	switch (header->flags & VFU_TYPE_MASK) {
	case VFU_TYPE_COMMAND: return vfu_client_refuse(client);
	case VFU_TYPE_REPLY:
		if (vfu_client_passes_over(client, header))
			return 0;
		return id == header->id && header->command == command ? 1 : -EPROTO;
	default: return -EPROTO;
	}
}

/* Sleep until the socket is ready. @return 0, -ECANCELED, or -ETIMEDOUT. */
static int
vfu_client_poll(struct vfu_client *client)
{
	struct pollfd ready[2] = { { .fd = client->channel.fd, .events = POLLIN },
				   { .events = POLLIN } };
	const uint64_t now = vfu_now_ms(), deadline = vfu_client_deadline(client);
	uint64_t ms;
	int left = vfu_client_patience_ms(client, &ready[1].fd);

	if (left == 0)
		return -ECANCELED;
	if (now >= deadline)
		return -ETIMEDOUT;
	if (!STAILQ_EMPTY(&client->channel.outgoing))
		ready[0].events |= POLLOUT;
	ms = deadline - now < VFU_LOOK_MS ? deadline - now : VFU_LOOK_MS;
	if (left > 0) {
		ready[1].fd = -1; /* that is known */
		ms = (uint64_t)left < ms ? (uint64_t)left : ms;
	}
	/* Interrupted or not: the caller looks again, and the deadline stands. */
	poll(ready, 2, ms);
	return 0;
}

/* Until the answer with that id is there, or for VFU_NO_ID until all is sent. */
static int
vfu_client_wait(struct vfu_client *client, int id, uint16_t command)
{
	int rc;

	for (;;) {
		rc = vfu_channel_flush(&client->channel);
		if (rc < 0)
			return rc;
		if (rc == 1 && id == VFU_NO_ID)
			return 0;
		rc = vfu_channel_receive(&client->channel);
		if (rc == 1) {
			rc = vfu_client_received(client, id, command);
			if (rc != 0)
				return rc < 0 ? rc : 0;
			/* Who always has one more to say does not answer. */
			if (vfu_now_ms() >= vfu_client_deadline(client))
				return -ETIMEDOUT;
			continue;
		}
		if (rc == 0)
			rc = vfu_client_poll(client);
		if (rc < 0)
			return rc;
	}
}

/* Nobody waits for that answer. A write that is posted waits in the channel: who comes next sends it. */
static int
vfu_client_leave_answer(struct vfu_client *client, uint16_t id, const struct vfu_call *call)
{
	if (call->posted)
		return 0;
	if (client->left_count == VFU_LEFT_MAX)
		return vfu_client_give_up(client, -ETIMEDOUT);
	client->left[client->left_count++] =
		(struct vfu_left){ .id = id, .command = call->command };
	return -ECANCELED;
}

int
vfu_client_call(struct vfu_client *client, const struct vfu_call *call)
{
	const struct vfu_message *message = &client->channel.message;
	struct vfu_header header = {
		.id = client->next_id++,
		.command = call->command,
		.flags = VFU_TYPE_COMMAND | (call->posted ? VFU_FLAG_NO_REPLY : 0),
	};
	int rc, fd;

	if (client->dead)
		return -ENOTCONN;
	if (!call->posted && vfu_client_patience_ms(client, &fd) == 0)
		return -ECANCELED;
	rc = vfu_channel_send(&client->channel, header, call->payload, call->npayload, call->fds,
			      call->nfds);
	if (rc != 0)
		return rc == -ENOTCONN ? vfu_client_give_up(client, rc) : rc;
	rc = vfu_client_wait(client, call->posted ? VFU_NO_ID : header.id, call->command);
	if (rc == -ECANCELED)
		return vfu_client_leave_answer(client, header.id, call);
	if (rc != 0)
		return vfu_client_give_up(client, rc);
	if (call->posted)
		return 0;
	if (message->header.flags & VFU_FLAG_ERROR)
		return message->header.error > 0 && message->header.error < 4096
			       ? -(int)message->header.error
			       : -EIO;
	if (message->length < call->min_reply)
		return vfu_client_give_up(client, -EPROTO);
	return 0;
}

int
vfu_client_lost(struct vfu_client *client)
{
	int reason;

	pthread_mutex_lock(&client->lock);
	reason = client->reason;
	pthread_mutex_unlock(&client->lock);
	return reason;
}

int
vfu_client_process(struct vfu_client *client)
{
	unsigned int count;
	int rc = vfu_client_enter(client);

	if (rc != 0)
		return rc;
	/* What is left keeps the descriptor readable. */
	for (count = 0; count < VFU_MESSAGES_AT_ONCE && !client->dead && rc == 0; count++) {
		rc = vfu_channel_flush(&client->channel);
		if (rc >= 0)
			rc = vfu_channel_receive(&client->channel);
		if (rc == 0)
			break;
		if (rc == 1)
			rc = vfu_client_received(client, VFU_NO_ID, 0);
		if (rc < 0)
			vfu_client_give_up(client, rc);
	}
	rc = client->dead ? -ENOTCONN : 0;
	vfu_client_leave(client);
	return rc;
}

/* ---- Coming and going ---- */

static int
vfu_client_connect(struct vfu_client *client, const char *path)
{
	uint64_t deadline_ms = vfu_now_ms() + client->conf.timeout_ms;
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd, rc;

	if (path[0] == '\0' || strlen(path) >= sizeof(address.sun_path)) {
		vfu_log(&client->log, VFU_LOG_ERROR, "the path of a socket has 1 to %zu bytes: %s",
			sizeof(address.sun_path) - 1, path);
		return -ENAMETOOLONG;
	}
	memcpy(address.sun_path, path, strlen(path));
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	/* EAGAIN: the server has not yet accepted those who came before. */
	while (connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0) {
		rc = -errno;
		if ((rc == -EAGAIN || rc == -EINTR) && vfu_now_ms() < deadline_ms) {
			poll(NULL, 0, VFU_CONNECT_RETRY_MS);
			continue;
		}
		close(fd);
		if (rc == -EAGAIN)
			rc = -ETIMEDOUT;
		vfu_log(&client->log, VFU_LOG_ERROR, "%s: %s; start the server of the device first",
			path,
			rc == -ENOENT || rc == -ECONNREFUSED ? "nobody listens there"
							     : strerror(-rc));
		return rc;
	}
	return fd;
}

/*
 * A path says where, not who: in a folder such as /tmp the first comer has the name. The kernel says whose server
 * called listen(). Users outside of our user namespace have no number here:
 * they share one, which identifies none of them.
 */
static int
vfu_client_judge(struct vfu_client *client, const char *path)
{
	const uid_t uid = client->server.uid;

	if (client->conf.any_peer || uid == 0 || (uid == geteuid() && uid != VFU_OVERFLOW_UID))
		return 0;
	vfu_log(&client->log, VFU_LOG_ERROR,
		"%s is served by process %d (%s) of user %d, who is %s (we are %d). A server gets all "
		"memory that the device may reach: check that process, or accept any user's server "
		"with peer=any",
		path, (int)client->server.pid, client->server.name, (int)uid,
		uid == VFU_OVERFLOW_UID ? "anyone that our user namespace has no number for"
					: "neither root nor our user",
		(int)geteuid());
	return -EPERM;
}

static void
vfu_client_log_refusal(struct vfu_client *client, const char *path, int error)
{
	struct vfu_peer holder;

	if (error != -EBUSY)
		vfu_log(&client->log, VFU_LOG_ERROR,
			"the server, process %d (%s), refuses the connection: %s",
			(int)client->server.pid, client->server.name, strerror(-error));
	else if (path != NULL && vfu_listener_look_up(path, "client", &holder) == 0)
		vfu_log(&client->log, VFU_LOG_ERROR,
			"%s is in use by process %d (%s): one client at a time", path,
			(int)holder.pid, holder.name);
	else
		vfu_log(&client->log, VFU_LOG_ERROR,
			"the server has another client: one client at a time");
}

static int
vfu_client_negotiate(struct vfu_client *client, const char *path)
{
	const struct vfu_message *message = &client->channel.message;
	struct vfu_version version = { VFU_VERSION_MAJOR, VFU_VERSION_MINOR };
	struct vfu_capabilities theirs;
	char text[VFU_VERSION_MAX_BYTES];
	int n = vfu_capabilities_format(&client->conf.caps, text, sizeof(text));
	struct vfu_call call = {
		.command = VFU_VERSION,
		.npayload = 2,
		.payload = { { &version, sizeof(version) }, { text, n > 0 ? n : 0 } },
		.min_reply = sizeof(version),
	};
	int rc;

	if (n < 0)
		return n;
	rc = vfu_client_call(client, &call);
	if (rc != 0) {
		if (!client->dead)
			vfu_client_log_refusal(client, path, rc);
		return rc;
	}
	memcpy(&version, message->payload, sizeof(version));
	if (version.major != VFU_VERSION_MAJOR || version.minor > VFU_VERSION_MINOR)
		return vfu_client_give_up(client, -EPROTO);
	if (vfu_capabilities_parse((const char *)message->payload + sizeof(version),
				   message->length - sizeof(version), &theirs) != 0 ||
	    vfu_capabilities_agree(&client->conf.caps, &theirs, &client->agreed) != 0)
		return vfu_client_give_up(client, -EPROTO);
	client->server_max_fds =
		theirs.max_msg_fds < VFU_MAX_FDS ? theirs.max_msg_fds : VFU_MAX_FDS;
	vfu_channel_limits(&client->channel, client->agreed.max_data_xfer_bytes,
			   client->conf.caps.max_msg_fds);
	return 0;
}

static void
vfu_client_init_turns(struct vfu_client *client)
{
	pthread_condattr_t attr;

	pthread_mutex_init(&client->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&client->freed, &attr);
	pthread_condattr_destroy(&attr);
}

int
vfu_client_open(const struct vfu_client_conf *conf, struct vfu_client **out)
{
	struct vfu_client *client = calloc(1, sizeof(*client));
	int fd = conf->path == NULL ? conf->fd : -1;
	int rc;

	if (client == NULL) {
		if (fd >= 0)
			close(fd);
		return -ENOMEM;
	}
	client->conf = *conf;
	client->conf.path = NULL; /* the caller's */
	client->next_id = conf->first_id;
	atomic_store(&client->end_ms, UINT64_MAX);
	snprintf(client->name, sizeof(client->name), "%s", conf->name);
	client->log = (struct vfu_log){ conf->log, conf->log_arg, client->name };
	vfu_client_init_turns(client);
	client->channel.fd = -1;
	STAILQ_INIT(&client->channel.outgoing);
	if (client->conf.timeout_ms == 0)
		client->conf.timeout_ms = VFU_DEFAULT_TIMEOUT_MS;
	if (client->conf.caps.max_data_xfer_bytes == 0)
		vfu_capabilities_ours(&client->conf.caps);
	if (client->conf.caps.max_msg_fds > VFU_MAX_FDS)
		client->conf.caps.max_msg_fds = VFU_MAX_FDS;
	rc = fd;
	if (conf->path != NULL)
		rc = fd = vfu_client_connect(client, conf->path);
	if (rc >= 0) {
		vfu_peer_of(fd, &client->server);
		rc = vfu_channel_init(&client->channel, fd, NULL);
	}
	if (rc == 0 && conf->path != NULL)
		rc = vfu_client_judge(client, conf->path);
	if (rc == 0) {
		rc = vfu_client_enter(client);
		if (rc == 0) {
			rc = vfu_client_negotiate(client, conf->path);
			vfu_client_leave(client);
		}
	}
	if (rc != 0) {
		vfu_client_close(client);
		return rc;
	}
	*out = client;
	return 0;
}

void
vfu_client_close(struct vfu_client *client)
{
	if (client == NULL)
		return;
	vfu_channel_close(&client->channel);
	pthread_cond_destroy(&client->freed);
	pthread_mutex_destroy(&client->lock);
	free(client);
}

void
vfu_client_capabilities(const struct vfu_client *client, struct vfu_capabilities *caps)
{
	*caps = client->agreed;
}

const struct vfu_peer *
vfu_client_server(const struct vfu_client *client)
{
	return &client->server;
}

int
vfu_client_fd(const struct vfu_client *client)
{
	return client->channel.fd;
}
