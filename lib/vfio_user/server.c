/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "server_private.h"

#define VFU_DEFAULT_TIMEOUT_MS 5000
#define VFU_WAITING_TIMEOUT_MS 1000
#define VFU_LOG_PAUSE_MS       1000
#define VFU_DEAF_MS	       100

/* ---- Time: one timer, set to the next deadline. ---- */

static void
vfu_earlier(uint64_t *next, uint64_t deadline)
{
	if (*next == 0 || deadline < *next)
		*next = deadline;
}

/* 0: there is none. */
static uint64_t
vfu_server_next_deadline(const struct vfu_server *server)
{
	uint64_t next = 0;
	unsigned int i;

	/* Its socket may be empty: the time that is over keeps our descriptor readable. */
	if ((server->unfinished && !server->waits) || server->state == VFU_CLIENT_LEAVING)
		vfu_earlier(&next, 1);
	if (server->state == VFU_CLIENT_CONNECTED)
		vfu_earlier(&next, server->deadline_ms);
	if (server->deaf_until_ms != 0)
		vfu_earlier(&next, server->deaf_until_ms);
	for (i = 0; i < VFU_WAITING; i++) {
		if (server->waiting[i].channel.fd >= 0)
			vfu_earlier(&next, server->waiting[i].deadline_ms);
	}
	return next;
}

static void
vfu_server_set_timer_to(const struct vfu_server *server, uint64_t ms)
{
	const struct itimerspec when = { .it_value = { .tv_sec = ms / 1000,
						       .tv_nsec = ms % 1000 * 1000000 } };

	timerfd_settime(server->timer_fd, TFD_TIMER_ABSTIME, &when, NULL);
}

static void
vfu_server_set_timer(struct vfu_server *server)
{
	uint64_t paused_ms, next;

	/* A thread that triggers an interrupt may begin a pause meanwhile, and then it has set the timer, too. */
	do {
		paused_ms = vfu_pace_paused_until_ms(&server->pace);
		/* What else is due waits for the end of it. */
		next = paused_ms != 0 ? paused_ms : vfu_server_next_deadline(server);
		if (next != server->timer_ms)
			vfu_server_set_timer_to(server, next);
		server->timer_ms = next;
	} while (paused_ms != vfu_pace_paused_until_ms(&server->pace));
}

/* ---- The client ---- */

static void
vfu_server_watch(struct vfu_server *server)
{
	struct epoll_event event = { .events = EPOLLIN };

	/* Who does not take our answers is not asked for more, nor is who waits for one. */
	if (!STAILQ_EMPTY(&server->channel.outgoing))
		event.events = EPOLLOUT;
	else if (server->waits)
		event.events = EPOLLRDHUP;
	if (event.events == server->events)
		return;
	server->events = event.events;
	epoll_ctl(server->epoll_fd, EPOLL_CTL_MOD, server->channel.fd, &event);
}

/* A socket that the close thread has yet to close is nothing to be woken for. */
static void
vfu_server_close_channel(struct vfu_server *server, struct vfu_channel *channel)
{
	epoll_ctl(server->epoll_fd, EPOLL_CTL_DEL, channel->fd, NULL);
	vfu_channel_close(channel);
}

static bool
vfu_server_is_connected(const struct vfu_server *server)
{
	return server->state == VFU_CLIENT_CONNECTED || server->state == VFU_CLIENT_SERVED;
}

/* The memory of who is leaving, as far as the look goes. When all of it is gone there is room for the next client. */
static void
vfu_server_let_go(struct vfu_server *server)
{
	if (!vfu_server_dma_drop(server, 0, server->dma.count))
		return;
	server->state = VFU_CLIENT_NONE;
	vfu_listener_served(&server->listener, NULL);
	if (server->was_served && server->conf.ops->disconnected != NULL)
		server->conf.ops->disconnected(server->conf.arg, server->reason);
	vfu_dma_table_fini(&server->dma);
}

void
vfu_server_disconnect(struct vfu_server *server, int reason)
{
	if (!vfu_server_is_connected(server))
		return;
	if (reason == -EPROTO)
		server->stats.broken++;
	vfu_log(&server->log, reason == 0 ? VFU_LOG_INFO : VFU_LOG_WARNING,
		"client %d (%s) disconnected: %s", (int)server->client.pid, server->client.name,
		reason == 0 ? "it closed the connection"
		: reason == -EMFILE
			? "it sent descriptors while earlier ones cannot be closed: which file "
			  "system does not answer?"
			: strerror(-reason));
	/* From here on callbacks find no client. */
	server->was_served = server->state == VFU_CLIENT_SERVED;
	server->reason = reason;
	server->state = VFU_CLIENT_LEAVING;
	server->closing = false;
	server->unfinished = false;
	server->waits = false;
	server->done = 0;
	vfu_server_close_channel(server, &server->channel);
	vfu_irq_table_clear(&server->irqs);
	if (server->was_served && server->conf.ops->leaving != NULL)
		server->conf.ops->leaving(server->conf.arg);
	vfu_server_let_go(server);
	vfu_server_set_timer(server);
}

int
vfu_server_adopt(struct vfu_server *server, int fd)
{
	struct epoll_event event = { .events = EPOLLIN };
	int rc;

	if (server->state != VFU_CLIENT_NONE) {
		vfu_close_socket(server->close_thread, fd);
		return -EBUSY;
	}
	rc = vfu_channel_init(&server->channel, fd, server->close_thread);
	if (rc == 0 && epoll_ctl(server->epoll_fd, EPOLL_CTL_ADD, fd, &event) != 0)
		rc = -errno;
	if (rc != 0) {
		vfu_server_close_channel(server, &server->channel);
		return rc;
	}
	server->events = event.events;
	server->state = VFU_CLIENT_CONNECTED;
	server->deadline_ms = vfu_now_ms() + server->conf.timeout_ms;
	server->logged = 0;
	server->client_max_fds = 0;
	vfu_peer_of(fd, &server->client);
	/* Also who says nothing keeps others out, and they want to know who it is. */
	vfu_listener_served(&server->listener, &server->client);
	vfu_server_set_timer(server);
	return 0;
}

static void
vfu_server_served(struct vfu_server *server)
{
	server->state = VFU_CLIENT_SERVED;
	server->stats.clients++;
	vfu_channel_limits(&server->channel, server->agreed.max_data_xfer_bytes,
			   server->conf.caps.max_msg_fds);
	vfu_dma_table_init(&server->dma, server->agreed.max_dma_maps,
			   server->agreed.pgsizes & -server->agreed.pgsizes, server->conf.any_file,
			   server->map_thread);
	vfu_log(&server->log, VFU_LOG_INFO, "client %d (%s) connected", (int)server->client.pid,
		server->client.name);
	if (server->conf.ops->connected != NULL)
		server->conf.ops->connected(server->conf.arg, &server->client);
}

static void
vfu_server_log_refusal(struct vfu_server *server, int error)
{
	const struct vfu_message *message = &server->channel.message;

	server->stats.errors++;
	if (server->logged > VFU_LOGGED_REFUSALS)
		return;
	if (server->logged++ == VFU_LOGGED_REFUSALS) {
		vfu_log(&server->log, VFU_LOG_INFO,
			"further refusals of client %d (%s) are not logged",
			(int)server->client.pid, server->client.name);
		return;
	}
	vfu_log(&server->log, VFU_LOG_INFO, "%s (%u, %zu bytes, %u descriptors) refused: %s",
		vfu_command_name(message->header.command), message->header.command, message->length,
		message->nfds, strerror(-error));
}

/* @return 0 go on, or the reason why the connection ends. */
static int
vfu_server_handle_command(struct vfu_server *server)
{
	const struct vfu_header request = server->channel.message.header;
	struct vfu_header header = { .id = request.id, .command = request.command };
	enum vfu_client_state before = server->state;
	struct vfu_reply reply;
	struct iovec payload = { .iov_base = server->reply };
	int rc, error;

	server->unfinished = false;
	server->waits = false;
	rc = error = vfu_server_command(server, &reply);
	if (server->unfinished)
		return 0;
	server->done = 0;
	server->stats.messages++;
	if (rc != 0)
		vfu_server_log_refusal(server, rc);
	if (before == VFU_CLIENT_CONNECTED) {
		/* Without an agreement there is nothing more to say. */
		server->closing = rc != 0;
		if (request.flags & VFU_FLAG_NO_REPLY)
			return -EPROTO;
	}
	if (request.flags & VFU_FLAG_NO_REPLY)
		return 0;
	header.flags = VFU_TYPE_REPLY | (rc != 0 ? VFU_FLAG_ERROR : 0);
	header.error = -error;
	payload.iov_len = rc == 0 ? reply.length : 0;
	rc = vfu_channel_send(&server->channel, header, &payload, 1, &reply.fd,
			      error == 0 && reply.fd >= 0 ? 1 : 0);
	if (rc != 0)
		return rc;
	if (before == VFU_CLIENT_CONNECTED && error == 0)
		vfu_server_served(server);
	return 0;
}

static int
vfu_server_handle(struct vfu_server *server)
{
	/* The server asks nothing: there is nothing to answer. */
	if ((server->channel.message.header.flags & VFU_TYPE_MASK) != VFU_TYPE_COMMAND)
		return -EPROTO;
	return vfu_server_handle_command(server);
}

/* @return messages handled. */
static unsigned int
vfu_server_process_client(struct vfu_server *server)
{
	unsigned int n = 0;
	int rc = 0;

	if (server->state == VFU_CLIENT_LEAVING) {
		vfu_server_let_go(server);
		return 1;
	}
	while (vfu_server_is_connected(server) &&
	       (server->closing || !vfu_look_is_over(&server->look))) {
		rc = vfu_channel_flush(&server->channel);
		if (rc != 1)
			break;
		if (server->closing) {
			vfu_server_disconnect(server, -EPROTO);
			return n;
		}
		if (!server->unfinished)
			rc = vfu_channel_receive(&server->channel);
		if (rc != 1)
			break;
		n++;
		rc = vfu_server_handle(server);
		/* The look may be over, and the next message may never come. */
		if (!server->unfinished)
			vfu_channel_drop_fds(&server->channel);
		vfu_look_spend(&server->look, VFU_MESSAGE_STEPS);
		if (rc < 0)
			break;
	}
	if (rc < 0)
		vfu_server_disconnect(server, rc == -ENOTCONN ? 0 : rc);
	else if (vfu_server_is_connected(server))
		vfu_server_watch(server);
	return n;
}

/* ---- Those who come while another is served ---- */

static struct vfu_waiting *
vfu_server_free_waiting(struct vfu_server *server)
{
	unsigned int i;

	for (i = 0; i < VFU_WAITING; i++) {
		if (server->waiting[i].channel.fd < 0)
			return &server->waiting[i];
	}
	return NULL;
}

static void
vfu_server_put_waiting(struct vfu_server *server, struct vfu_waiting *waiting, int fd)
{
	struct epoll_event event = { .events = EPOLLIN };
	struct vfu_peer peer;
	int rc;

	server->stats.refused++;
	vfu_peer_of(fd, &peer);
	vfu_log(&server->log, VFU_LOG_WARNING,
		"client %d (%s) refused: process %d (%s) is served, one at a time", (int)peer.pid,
		peer.name, (int)server->client.pid, server->client.name);
	waiting->deadline_ms = vfu_now_ms() + VFU_WAITING_TIMEOUT_MS;
	rc = vfu_channel_init(&waiting->channel, fd, server->close_thread);
	/* It is not asked for any. */
	waiting->channel.max_fds = 0;
	if (rc != 0 || epoll_ctl(server->epoll_fd, EPOLL_CTL_ADD, fd, &event) != 0)
		vfu_server_close_channel(server, &waiting->channel);
}

/* Its first message is answered with EBUSY; then it goes, as it does when none comes. */
static unsigned int
vfu_server_process_waiting(struct vfu_server *server, struct vfu_waiting *waiting)
{
	struct vfu_header header = { .flags = VFU_TYPE_REPLY | VFU_FLAG_ERROR, .error = EBUSY };
	int rc;

	if (waiting->channel.fd < 0)
		return 0;
	rc = vfu_channel_receive(&waiting->channel);
	if (rc == 0 && vfu_now_ms() < waiting->deadline_ms)
		return 0;
	if (rc == 1 && !(waiting->channel.message.header.flags & VFU_FLAG_NO_REPLY)) {
		header.id = waiting->channel.message.header.id;
		header.command = waiting->channel.message.header.command;
		vfu_channel_send(&waiting->channel, header, NULL, 0, NULL, 0);
	}
	vfu_server_close_channel(server, &waiting->channel);
	return 1;
}

/* Let those who connect wait in the listener's queue for a while. */
static void
vfu_server_do_not_listen(struct vfu_server *server, bool deaf)
{
	struct epoll_event event = { .events = deaf ? 0 : EPOLLIN };

	server->deaf_until_ms = deaf ? vfu_now_ms() + VFU_DEAF_MS : 0;
	epoll_ctl(server->epoll_fd, EPOLL_CTL_MOD, server->listener.fd, &event);
}

/* Who connects in a loop shall not fill the disk. */
static void
vfu_server_say_now_and_then(struct vfu_server *server, const char *what)
{
	uint64_t now = vfu_now_ms();

	if (now < server->said_ms + VFU_LOG_PAUSE_MS)
		return;
	vfu_log(&server->log, VFU_LOG_ERROR, "%s", what);
	server->said_ms = now;
}

/*
 * Without a descriptor nobody can be accepted, and who waits would keep us awake: take and close it. If even that takes a
 * descriptor that another thread was faster to get, do not look for a while.
 */
static void
vfu_server_turn_away(struct vfu_server *server)
{
	bool deaf;
	int fd;

	if (server->spare_fd >= 0)
		close(server->spare_fd);
	fd = accept4(server->listener.fd, NULL, NULL, SOCK_CLOEXEC);
	deaf = fd < 0 && errno != EAGAIN;
	if (fd >= 0)
		vfu_close_socket(server->close_thread, fd);
	/* Any sandbox allows a duplicate, but not a new file. */
	server->spare_fd = fcntl(server->epoll_fd, F_DUPFD_CLOEXEC, 0);
	if (deaf)
		vfu_server_do_not_listen(server, true);
	/* Whether somebody is there at all the kernel says only to who has one. */
	if (fd >= 0 || deaf)
		vfu_server_say_now_and_then(
			server, "no descriptors left: new clients are refused; raise the "
				"limit (ulimit -n)");
}

/*
 * Is there somebody, and is it his turn? A client that left since the last look may have come again as this one: what
 * he sent before comes first, and may take several looks. The kernel looks at the two in this order, so that nobody has
 * come who left unseen.
 */
static bool
vfu_server_has_next(struct vfu_server *server)
{
	const struct timespec at_once = { 0 };
	struct pollfd fds[2] = {
		{ .fd = server->listener.fd, .events = POLLIN },
		{ .fd = server->channel.fd, .events = POLLRDHUP },
	};

	if (ppoll(fds, 2, &at_once, NULL) <= 0 || fds[0].revents == 0)
		return false;
	if (fds[1].revents != 0)
		vfu_server_process_client(server);
	return fds[1].revents == 0 || server->state == VFU_CLIENT_NONE;
}

static void
vfu_server_accept(struct vfu_server *server)
{
	struct vfu_waiting *waiting;
	unsigned int i;
	int fd;

	/* Whose turn comes when somebody has gone waits in the listener's queue, and is not refused. */
	if (server->deaf_until_ms != 0 || server->listener.fd < 0 ||
	    server->state == VFU_CLIENT_LEAVING)
		return;
	if (vfu_close_thread_full(server->close_thread)) {
		vfu_server_say_now_and_then(
			server,
			"descriptors that earlier clients sent cannot be closed, and no client is "
			"served until they are: does a file system or a peer not answer?");
		vfu_server_do_not_listen(server, true);
		return;
	}
	for (i = 0; i < VFU_WAITING; i++) {
		waiting = vfu_server_free_waiting(server);
		if (server->state != VFU_CLIENT_NONE && waiting == NULL) {
			/* More have to wait for that. */
			vfu_server_do_not_listen(server, true);
			return;
		}
		if (!vfu_server_has_next(server))
			return;
		fd = accept4(server->listener.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd < 0 && (errno == EMFILE || errno == ENFILE))
			vfu_server_turn_away(server);
		if (fd < 0)
			return;
		if (server->state != VFU_CLIENT_NONE)
			vfu_server_put_waiting(server, waiting, fd);
		else
			vfu_server_adopt(server, fd);
	}
}

/* ---- The public door ---- */

static void
vfu_server_check_deadlines(struct vfu_server *server)
{
	uint64_t now = vfu_now_ms(), ticks;

	/* Rearmed below for the next deadline, whatever it was. */
	if (read(server->timer_fd, &ticks, sizeof(ticks)) == sizeof(ticks))
		server->timer_ms = 0;
	if (server->state == VFU_CLIENT_CONNECTED && now >= server->deadline_ms)
		vfu_server_disconnect(server, -ETIMEDOUT);
	if (server->deaf_until_ms != 0 && now >= server->deaf_until_ms) {
		vfu_server_do_not_listen(server, false);
	}
}

unsigned int
vfu_server_process(struct vfu_server *server)
{
	return vfu_server_process_share(server, 1);
}

/* What its clients made long it pays for. What is to be read meanwhile keeps our descriptor readable, and waits. */
static bool
vfu_server_is_paused(struct vfu_server *server)
{
	char text[256];

	if (vfu_pace_goes_on(&server->pace))
		vfu_irq_table_go_on(&server->irqs);
	if (!vfu_pace_is_paused(&server->pace))
		return false;
	snprintf(text, sizeof(text),
		 "system calls for client %d (%s) take long: it is not served for ten times as "
		 "long. How many epoll sets and locks does it have on sockets, eventfds and files?",
		 (int)server->client.pid, server->client.name);
	vfu_server_say_now_and_then(server, text);
	vfu_server_set_timer(server);
	return true;
}

unsigned int
vfu_server_process_share(struct vfu_server *server, unsigned int servers)
{
	struct vfu_pace_unit unit;
	unsigned int i, n = 0;

	if (vfu_server_is_paused(server))
		return 0;
	vfu_pace_begin(&server->pace, &unit);
	vfu_look_begin(&server->look, servers);
	vfu_close_thread_look(server->map_thread);
	/* The client first: when it has gone, who comes next is not refused. */
	n += vfu_server_process_client(server);
	vfu_server_check_deadlines(server);
	for (i = 0; i < VFU_WAITING; i++)
		n += vfu_server_process_waiting(server, &server->waiting[i]);
	vfu_server_accept(server);
	vfu_pace_end(&server->pace, &unit);
	vfu_server_set_timer(server);
	return n;
}

void
vfu_server_spend(struct vfu_server *server, uint32_t steps)
{
	vfu_look_spend(&server->look, steps);
}

void
vfu_server_region_file(struct vfu_server *server, unsigned int region, int fd)
{
	server->conf.regions[region].fd = fd;
	server->conf.regions[region].mappable = fd >= 0;
}

static int
vfu_server_check_region(const struct vfu_server *server, unsigned int index)
{
	const struct vfu_region *region = &server->conf.regions[index];
	uint64_t page = sysconf(_SC_PAGESIZE) - 1;
	unsigned int i;

	if (region->flags & ~(VFU_REGION_FLAG_READ | VFU_REGION_FLAG_WRITE))
		return -EINVAL;
	if ((region->access_bytes & (region->access_bytes - 1)) != 0 ||
	    (region->write_bytes & (region->write_bytes - 1)) != 0)
		return -EINVAL;
	if (region->size > 0 &&
	    (server->conf.ops->region_read == NULL || server->conf.ops->region_write == NULL))
		return -EINVAL;
	if (!region->mappable)
		return 0;
	if (region->fd < 0 || region->nareas > VFU_MAX_AREAS || (region->fd_offset & page) != 0 ||
	    region->fd_offset + region->size < region->fd_offset)
		return -EINVAL;
	for (i = 0; i < region->nareas; i++) {
		const struct vfu_area *area = &region->areas[i];

		if (area->size == 0 || ((area->offset | area->size) & page) != 0 ||
		    area->size > region->size || area->offset > region->size - area->size)
			return -EINVAL;
	}
	return 0;
}

static int
vfu_server_check(struct vfu_server *server)
{
	struct vfu_capabilities *caps = &server->conf.caps;
	struct vfu_capabilities unset = { 0 };
	unsigned int i;

	if (caps->max_data_xfer_bytes == 0 && caps->max_msg_fds == 0)
		vfu_capabilities_ours(caps);
	if (memcmp(caps, &unset, sizeof(unset)) == 0 || caps->max_msg_fds > VFU_MAX_FDS ||
	    caps->max_data_xfer_bytes < 8 || caps->max_data_xfer_bytes > 1u << 30 ||
	    !(caps->pgsizes & VFU_PAGE_BYTES)) {
		vfu_log(&server->log, VFU_LOG_ERROR, "the capabilities are invalid");
		return -EINVAL;
	}
	if (server->conf.nregions > VFU_MAX_REGIONS || server->conf.nirqs > VFU_MAX_IRQ_TYPES) {
		vfu_log(&server->log, VFU_LOG_ERROR, "too many regions or interrupt types");
		return -EINVAL;
	}
	for (i = 0; i < server->conf.nregions; i++) {
		if (vfu_server_check_region(server, i) != 0) {
			vfu_log(&server->log, VFU_LOG_ERROR,
				"the description of region %u is invalid", i);
			return -EINVAL;
		}
	}
	return 0;
}

static int
vfu_server_watch_fd(struct vfu_server *server, int fd)
{
	struct epoll_event event = { .events = EPOLLIN };

	return epoll_ctl(server->epoll_fd, EPOLL_CTL_ADD, fd, &event) != 0 ? -errno : 0;
}

static int
vfu_server_open(struct vfu_server *server)
{
	int rc;

	server->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	server->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	server->spare_fd = fcntl(server->epoll_fd, F_DUPFD_CLOEXEC, 0);
	if (server->epoll_fd < 0 || server->timer_fd < 0 || server->spare_fd < 0)
		return -errno;
	server->reply_room = server->conf.caps.max_data_xfer_bytes + VFU_VERSION_MAX_BYTES;
	server->reply = malloc(server->reply_room);
	if (server->reply == NULL)
		return -ENOMEM;
	rc = vfu_server_watch_fd(server, server->timer_fd);
	if (rc == 0 && server->conf.path != NULL) {
		rc = vfu_listener_open(&server->listener, server->conf.path, server->conf.bind_path,
				       &server->log);
		if (rc == 0)
			rc = vfu_server_watch_fd(server, server->listener.fd);
	}
	return rc;
}

int
vfu_server_create(const struct vfu_server_conf *conf, struct vfu_server **out)
{
	struct vfu_server *server = calloc(1, sizeof(*server));
	unsigned int i;
	int rc;

	if (server == NULL)
		return -ENOMEM;
	server->conf = *conf;
	snprintf(server->name, sizeof(server->name), "%s", conf->name);
	server->conf.name = server->name;
	server->log = (struct vfu_log){ conf->log, conf->log_arg, server->name };
	if (server->conf.timeout_ms == 0)
		server->conf.timeout_ms = VFU_DEFAULT_TIMEOUT_MS;
	server->epoll_fd = -1;
	server->timer_fd = -1;
	server->spare_fd = -1;
	server->listener.fd = -1;
	server->listener.lock_fd = -1;
	server->channel.fd = -1;
	STAILQ_INIT(&server->channel.outgoing);
	for (i = 0; i < VFU_WAITING; i++)
		server->waiting[i].channel.fd = -1;
	rc = vfu_server_check(server);
	if (rc == 0) {
		rc = vfu_irq_table_init(&server->irqs, conf->irqs, conf->nirqs, &server->pace);
		if (rc == -EINVAL)
			vfu_log(&server->log, VFU_LOG_ERROR, "more than %u interrupt vectors",
				VFU_MAX_VECTORS);
		if (rc == 0 && conf->nirqs > 0 && server->irqs.unsignalled != 0)
			vfu_log(&server->log, VFU_LOG_WARNING,
				"no interrupts: io_setup() failed: %s; raise fs.aio-max-nr",
				strerror(-server->irqs.unsignalled));
	}
	if (rc == 0)
		rc = vfu_server_open(server);
	if (rc != 0) {
		vfu_server_destroy(server);
		return rc;
	}
	server->conf.path = NULL; /* the caller's */
	server->conf.bind_path = NULL;
	*out = server;
	return 0;
}

int
vfu_server_start_threads(struct vfu_server *server)
{
	const unsigned int regions = server->conf.caps.max_dma_maps;
	int rc = server->close_thread != NULL
			 ? -EALREADY
			 : vfu_close_thread_create(&server->close_thread, regions);

	if (rc == 0)
		rc = vfu_close_thread_create(&server->map_thread, regions);
	if (rc == 0)
		rc = vfu_server_watch_fd(server, vfu_close_thread_fd(server->map_thread));
	if (rc == 0)
		server->channel.close_thread = server->close_thread;
	else
		vfu_log(&server->log, VFU_LOG_ERROR,
			"cannot start the threads that close clients' descriptors and map their "
			"memory: %s",
			strerror(-rc));
	return rc;
}

void
vfu_server_destroy(struct vfu_server *server)
{
	unsigned int i;

	if (server == NULL)
		return;
	vfu_server_disconnect(server, -ESHUTDOWN);
	while (server->state == VFU_CLIENT_LEAVING) {
		vfu_look_begin(&server->look, 1);
		vfu_server_let_go(server);
	}
	for (i = 0; i < VFU_WAITING; i++) {
		if (server->waiting[i].channel.fd >= 0)
			vfu_server_close_channel(server, &server->waiting[i].channel);
	}
	vfu_listener_close(&server->listener);
	vfu_close_thread_destroy(server->close_thread);
	vfu_close_thread_destroy(server->map_thread);
	if (server->irqs.vectors != NULL)
		vfu_irq_table_fini(&server->irqs);
	if (server->spare_fd >= 0)
		close(server->spare_fd);
	if (server->timer_fd >= 0)
		close(server->timer_fd);
	if (server->epoll_fd >= 0)
		close(server->epoll_fd);
	free(server->reply);
	free(server);
}

int
vfu_server_fd(const struct vfu_server *server)
{
	return server->epoll_fd;
}

const struct vfu_peer *
vfu_server_client(const struct vfu_server *server)
{
	return server->state == VFU_CLIENT_SERVED ? &server->client : NULL;
}

int
vfu_server_irq_trigger(struct vfu_server *server, unsigned int type, unsigned int vector)
{
	const bool paused = vfu_pace_is_paused(&server->pace);
	int rc = vfu_irq_trigger(&server->irqs, type, vector);

	/* Nobody else may have a reason to look when it is over. */
	if (!paused && vfu_pace_is_paused(&server->pace))
		vfu_server_set_timer_to(server, vfu_pace_paused_until_ms(&server->pace));
	return rc;
}

const struct vfu_dma_region *
vfu_server_dma_find(const struct vfu_server *server, uint64_t iova, uint64_t length)
{
	const struct vfu_dma_entry *entry = vfu_dma_table_find(&server->dma, iova, length);

	return entry == NULL ? NULL : &entry->region;
}

void
vfu_server_stats_get(const struct vfu_server *server, struct vfu_server_stats *stats)
{
	unsigned int i;

	*stats = server->stats;
	stats->dma_mappings = server->dma.nfiles;
	stats->dma_regions = server->dma.count;
	for (i = 0; i < server->dma.count; i++)
		stats->dma_bytes += server->dma.entries[i].region.size;
}
