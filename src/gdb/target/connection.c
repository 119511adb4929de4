/* SPDX-License-Identifier: MIT */
/*
 * connection.c - a stock gdbserver: its start, its connection, its end
 * (connection.h).
 *
 * One question is on its way at a time. A notification that comes before its
 * answer is kept, and handed out when the caller next listens; what is read is
 * taken apart by packet.c. Asking waits for gdbserver, nothing else does.
 */
#include "gdb/target/connection.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "base/port.h"
#include "gdb/packet.h"
#include "sys/write.h"

#define GDBSERVER "gdbserver"
/* Words before the program's: our own, the device, and an end. */
#define WORDS_MAX 8

static const char hello[] =
	"qSupported:multiprocess+;swbreak+;hwbreak+;fork-events+;"
	"vfork-events+;exec-events+;vContSupported+;QThreadEvents+;"
	"no-resumed+";

/* A notification that came while an answer was waited for. */
struct kept {
	struct kept *next;
	size_t length;
	char text[];
};

struct sonde_gdb_connection {
	int fd;
	pid_t child;
	char *features;
	struct kept *first, **last;
	struct sonde_gdb_packets packets;
	size_t at, have;
	uint8_t bytes[4096];
	char frame[SONDE_GDB_FRAME_MAX];
};

static int connection_complain(char *error, size_t error_size, const char *what,
			       int rc)
{
	char text[128];

	snprintf(error, error_size, "%s: %s", what,
		 strerror_r(-rc, text, sizeof(text)));
	return rc;
}

/* ---- the connection ---- */

static int write_all(struct sonde_gdb_connection *connection, const char *bytes,
		     size_t nr)
{
	return sonde_write_all(connection->fd, bytes, nr) ? -EPIPE : 0;
}

int sonde_gdb_connection_send(struct sonde_gdb_connection *connection,
			      const char *body, size_t length)
{
	size_t nr = sonde_gdb_packet_frame(body, length, connection->frame);

	return write_all(connection, connection->frame, nr);
}

int sonde_gdb_connection_interrupt(struct sonde_gdb_connection *connection)
{
	return write_all(connection, "\003", 1);
}

/* 1: there are bytes; 0: not now; -EPIPE. */
static int fill(struct sonde_gdb_connection *connection, bool wait)
{
	struct pollfd poll_fd = { .fd = connection->fd, .events = POLLIN };
	int ready;
	ssize_t n;

	if (connection->at < connection->have)
		return 1;
	do
		ready = poll(&poll_fd, 1, wait ? -1 : 0);
	while (ready < 0 && errno == EINTR);
	if (ready <= 0)
		return ready < 0 ? -EPIPE : 0;
	n = read(connection->fd, connection->bytes, sizeof(connection->bytes));
	if (n <= 0) /* EIO: the other side has closed its terminal */
		return n < 0 && errno == EINTR ? 0 : -EPIPE;
	connection->at = 0;
	connection->have = (size_t)n;
	return 1;
}

/* 1: a whole message is in packets.body; of one that is too long, an error. */
static int connection_hear(struct sonde_gdb_connection *connection, bool wait)
{
	for (;;) {
		int rc = fill(connection, wait);

		if (rc < 0 || (rc == 0 && !wait))
			return rc;
		while (connection->at < connection->have) {
			enum sonde_gdb_heard heard = sonde_gdb_packets_hear(
				&connection->packets,
				connection->bytes[connection->at++]);

			if (heard == SONDE_GDB_HEARD_TOO_LONG)
				connection->packets.length = (size_t)snprintf(
					connection->packets.body,
					sizeof(connection->packets.body),
					"E01");
			if (heard == SONDE_GDB_HEARD_PACKET ||
			    heard == SONDE_GDB_HEARD_TOO_LONG)
				return 1;
		}
	}
}

static void put(struct sonde_gdb_reply *reply, const char *text, size_t length)
{
	sonde_gdb_reply_clear(reply);
	sonde_gdb_reply_bytes(reply, text, length);
}

static int keep(struct sonde_gdb_connection *connection)
{
	struct kept *kept = malloc(sizeof(*kept) + connection->packets.length);

	if (!kept)
		return -ENOMEM;
	kept->next = NULL;
	kept->length = connection->packets.length;
	memcpy(kept->text, connection->packets.body, kept->length);
	*connection->last = kept;
	connection->last = &kept->next;
	return 0;
}

int sonde_gdb_connection_ask(struct sonde_gdb_connection *connection,
			     const char *body, size_t length,
			     struct sonde_gdb_reply *reply)
{
	int rc = sonde_gdb_connection_send(connection, body, length);

	while (rc == 0) {
		rc = connection_hear(connection, true);
		if (rc < 0)
			return rc;
		if (!connection->packets.is_notification) {
			put(reply, connection->packets.body,
			    connection->packets.length);
			return 0;
		}
		rc = keep(connection);
	}
	return rc;
}

int sonde_gdb_connection_hear(struct sonde_gdb_connection *connection,
			      bool wait, struct sonde_gdb_reply *reply,
			      bool *ret_notification)
{
	struct kept *kept = connection->first;
	int rc;

	if (kept) {
		put(reply, kept->text, kept->length);
		*ret_notification = true;
		connection->first = kept->next;
		if (!connection->first)
			connection->last = &connection->first;
		free(kept);
		return 1;
	}
	rc = connection_hear(connection, wait);
	if (rc == 1) {
		put(reply, connection->packets.body,
		    connection->packets.length);
		*ret_notification = connection->packets.is_notification;
	}
	return rc;
}

/* ---- its life ---- */

static void run_gdbserver(const struct sonde_gdb_connection_config *config,
			  char *device, pid_t parent)
{
	static char name[] = GDBSERVER;
	static char multi[] = "--multi";
	static char attach[] = "--attach";
	size_t nr_program = 0;
	size_t nr = 0;
	char pid[16];
	char **words;

	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (config->is_quiet &&
	    (dup2(open("/dev/null", O_RDWR | O_CLOEXEC), STDIN_FILENO) < 0 ||
	     dup2(STDERR_FILENO, STDOUT_FILENO) < 0))
		_exit(127);
	if (getppid() != parent)
		_exit(127);
	while (config->program && config->program[nr_program])
		nr_program++;
	words = calloc(nr_program + WORDS_MAX, sizeof(*words));
	if (!words)
		_exit(127);
	words[nr++] = name;
	if (config->multi)
		words[nr++] = multi;
	if (config->attach)
		words[nr++] = attach;
	words[nr++] = device;
	snprintf(pid, sizeof(pid), "%d", (int)config->attach);
	if (config->attach)
		words[nr++] = pid;
	for (size_t i = 0; i < nr_program; i++)
		words[nr++] = config->program[i];
	execvp(GDBSERVER, words);
	dprintf(STDERR_FILENO,
		"sonde: %s can't be run; it is in Debian's package gdbserver\n",
		GDBSERVER);
	_exit(127);
}

/* Both ends of a terminal that changes no byte. The other end stays open here
 * until gdbserver has answered: without it, reading would be at an end. */
static int open_terminal(int *ret_fd, int *ret_other, char *device,
			 size_t device_size)
{
	struct termios settings;
	int other;
	int fd = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	if (grantpt(fd) != 0 || unlockpt(fd) != 0 ||
	    ptsname_r(fd, device, device_size) != 0) {
		close(fd);
		return -EIO;
	}
	other = open(device, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (other < 0 || tcgetattr(other, &settings) != 0) {
		close(fd);
		return -EIO;
	}
	cfmakeraw(&settings);
	(void)tcsetattr(other, TCSANOW, &settings); /* gdbserver does it, too */
	*ret_fd = fd;
	*ret_other = other;
	return 0;
}

/* The first packets. If gdbserver ends instead, its terminal stays open in our
 * hands: hence the look at the child. */
static int connection_greet(struct sonde_gdb_connection *connection)
{
	static const char no_acks[] = "QStartNoAckMode";
	struct pollfd poll_fd = { .fd = connection->fd, .events = POLLIN };
	struct sonde_gdb_reply reply;
	int rc = sonde_gdb_connection_send(connection, hello, strlen(hello));
	enum {
		LOOK_MS = 50
	};

	while (rc == 0 && poll(&poll_fd, 1, LOOK_MS) == 0)
		if (waitpid(connection->child, NULL, WNOHANG) != 0) {
			connection->child = -1;
			rc = -ECHILD;
		}
	if (rc == 0)
		rc = connection_hear(connection, true) < 0 ? -EPIPE : 0;
	if (rc == 0) {
		connection->features = strndup(connection->packets.body,
					       connection->packets.length);
		rc = connection->features ? 0 : -ENOMEM;
	}
	if (rc == 0)
		rc = write_all(connection, "+", 1);
	if (rc == 0)
		rc = sonde_gdb_connection_ask(connection, no_acks,
					      strlen(no_acks), &reply);
	return rc == 0 ? write_all(connection, "+", 1) : rc;
}

int sonde_gdb_connection_start(const struct sonde_gdb_connection_config *config,
			       char *error, size_t error_size,
			       struct sonde_gdb_connection **ret_connection)
{
	struct sonde_gdb_connection *connection =
		calloc(1, sizeof(*connection));
	pid_t parent = getpid();
	char device[64];
	int other = -1;
	int rc;

	if (!connection)
		return connection_complain(error, error_size, "memory",
					   -ENOMEM);
	connection->last = &connection->first;
	sonde_gdb_packets_init(&connection->packets);
	connection->packets.expands = true;
	connection->packets.ignores_sums = true;
	connection->packets.notifications = true;
	rc = open_terminal(&connection->fd, &other, device, sizeof(device));
	if (rc != 0) {
		free(connection);
		return connection_complain(error, error_size, "pseudo-terminal",
					   rc);
	}
	connection->child = fork();
	if (connection->child == 0)
		run_gdbserver(config, device, parent);
	rc = connection->child < 0 ? -errno : connection_greet(connection);
	close(other);
	if (rc != 0) {
		sonde_gdb_connection_free(connection);
		return connection_complain(error, error_size,
					   "gdbserver did not start", rc);
	}
	*ret_connection = connection;
	return 0;
}

void sonde_gdb_connection_free(struct sonde_gdb_connection *connection)
{
	if (!connection)
		return;
	close(connection->fd);
	if (connection->child > 0) {
		kill(connection->child, SIGKILL);
		waitpid(connection->child, NULL, 0);
	}
	while (connection->first) {
		struct kept *next = connection->first->next;

		free(connection->first);
		connection->first = next;
	}
	free(connection->features);
	free(connection);
}

const char *
sonde_gdb_connection_features(const struct sonde_gdb_connection *connection)
{
	return connection->features;
}

int sonde_gdb_connection_fd(const struct sonde_gdb_connection *connection)
{
	return connection->fd;
}
