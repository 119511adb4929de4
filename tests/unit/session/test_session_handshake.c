/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "session/handshake.h"
#include "sys/foreign.h"

static int listen_fd;
static char path[SONDE_SESSION_NAME_MAX];
static int memory_fd;
static int nr_fds_before;

static int nr_open_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int nr = 0;

	/* NOLINTNEXTLINE(concurrency-mt-unsafe): there is one thread */
	while (readdir(dir))
		nr++;
	closedir(dir);
	return nr;
}

static int start(void **state)
{
	(void)state;
	nr_fds_before = nr_open_fds();
	memory_fd = memfd_create("test", MFD_CLOEXEC);
	return memory_fd < 0 ? -1 : sonde_handshake_listen(path, &listen_fd);
}

/* Children close what might make us wait. */
static void settle(void)
{
	const struct timespec pause = { .tv_nsec = 1000000 };

	for (int i = 0; nr_open_fds() != nr_fds_before && i < 30000; i++) {
		sonde_foreign_tend();
		(void)nanosleep(&pause, NULL);
	}
}

/* Whatever came over the socket, no descriptor may be left. */
static int end(void **state)
{
	(void)state;
	close(listen_fd);
	close(memory_fd);
	assert_int_equal(unlink(path), 0);
	settle();
	assert_int_equal(nr_open_fds(), nr_fds_before);
	return 0;
}

static int connect_peer(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);

	memcpy(address.sun_path, path, sizeof(path));
	assert_int_equal(connect(fd, (void *)&address, sizeof(address)), 0);
	return fd;
}

static int accept_peer(void)
{
	struct sonde_peer who;
	int fd;

	assert_int_equal(sonde_handshake_accept(listen_fd, &fd, &who), 0);
	assert_int_equal(who.pid, getpid());
	assert_int_equal(who.uid, getuid());
	sonde_peer_release(&who);
	return fd;
}

static void send_message_of(int fd, const void *bytes, size_t size, int nr_fds,
			    int sent_fd)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(16 * sizeof(int))];
	} control = { 0 };
	char copy[4096];
	struct iovec io = { copy, size };
	struct msghdr message = { .msg_iov = &io, .msg_iovlen = 1 };

	assert_true(size <= sizeof(copy));
	memcpy(copy, bytes, size);
	if (nr_fds) {
		struct cmsghdr *c = &control.align;
		int fds[16];

		for (int i = 0; i < 16; i++)
			fds[i] = sent_fd;
		message.msg_control = &control;
		message.msg_controllen =
			CMSG_SPACE((size_t)nr_fds * sizeof(int));
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN((size_t)nr_fds * sizeof(int));
		memcpy(CMSG_DATA(c), fds, (size_t)nr_fds * sizeof(int));
	}
	assert_int_equal(sendmsg(fd, &message, 0), size);
}

static void send_message(int fd, const void *bytes, size_t size, int nr_fds)
{
	send_message_of(fd, bytes, size, nr_fds, memory_fd);
}

static const struct sonde_hello good = {
	.magic = SONDE_HELLO_MAGIC,
	.version = SONDE_HELLO_VERSION,
	.pid = 1,
};

/* What the recorder makes of one message. */
static int receive(const void *bytes, size_t size, int nr_fds)
{
	int peer = connect_peer();
	int fd = accept_peer();
	int arena_fd = -1;
	pid_t pid;
	int rc;

	send_message(peer, bytes, size, nr_fds);
	rc = sonde_handshake_receive(fd, &arena_fd, &pid);
	if (!rc) {
		assert_int_equal(pid, good.pid);
		assert_true(arena_fd >= 0);
		close(arena_fd);
	} else {
		assert_int_equal(arena_fd, -1);
	}
	sonde_foreign_drop(fd);
	close(peer);
	return rc;
}

static void a_hello_with_one_descriptor_is_taken(void **state)
{
	(void)state;
	assert_int_equal(receive(&good, sizeof(good), 1), 0);
}

static void any_other_number_of_descriptors_is_refused(void **state)
{
	(void)state;
	assert_int_equal(receive(&good, sizeof(good), 0), -EPROTO);
	assert_int_equal(receive(&good, sizeof(good), 2), -EPROTO);
	assert_int_equal(receive(&good, sizeof(good), 16), -EPROTO);
}

static void any_other_size_is_refused(void **state)
{
	static const char bytes[4096] = { 0 };
	struct {
		struct sonde_hello hello;
		char more;
	} longer = { .hello = good };

	(void)state;
	assert_int_equal(receive(&good, sizeof(good) - 1, 1), -EPROTO);
	assert_int_equal(receive(&longer, sizeof(longer), 1), -EPROTO);
	assert_int_equal(receive(bytes, sizeof(bytes), 1), -EPROTO);
	assert_int_equal(receive(bytes, 1, 1), -EPROTO);
}

static void another_version_or_magic_is_refused(void **state)
{
	struct sonde_hello hello = good;

	(void)state;
	hello.version++;
	assert_int_equal(receive(&hello, sizeof(hello), 1), -EPROTONOSUPPORT);
	hello.magic++;
	assert_int_equal(receive(&hello, sizeof(hello), 1), -EPROTO);
}

static void nobody_waits_for_a_peer_that_says_nothing(void **state)
{
	int peer = connect_peer();
	int fd = accept_peer();
	struct sonde_peer who;
	int arena_fd;
	pid_t pid;
	int nobody;

	(void)state;
	assert_int_equal(sonde_handshake_receive(fd, &arena_fd, &pid), -EAGAIN);
	assert_int_equal(sonde_handshake_accept(listen_fd, &nobody, &who),
			 -EAGAIN);
	close(peer);
	assert_int_equal(sonde_handshake_receive(fd, &arena_fd, &pid),
			 -ECONNRESET);
	assert_int_equal(sonde_handshake_answer(fd, 0), -EPIPE);
	close(fd);
}

static void the_answer_carries_the_error(void **state)
{
	int peer = connect_peer();
	int fd = accept_peer();
	struct sonde_welcome welcome;

	(void)state;
	assert_int_equal(sonde_handshake_answer(fd, -EBUSY), 0);
	assert_int_equal(recv(peer, &welcome, sizeof(welcome), 0),
			 sizeof(welcome));
	assert_int_equal(welcome.magic, SONDE_HELLO_MAGIC);
	assert_int_equal(welcome.error, -EBUSY);
	close(peer);
	close(fd);
}

static void each_session_has_a_path_of_its_own(void **state)
{
	char other[SONDE_SESSION_NAME_MAX];
	int fd;

	(void)state;
	assert_int_equal(sonde_handshake_listen(other, &fd), 0);
	assert_string_not_equal(other, path);
	assert_int_equal(unlink(other), 0);
	close(fd);
}

/* A TCP connection whose end takes as long as its other end likes. */
static int lingering(int *ret_other)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr =
					       htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(address);
	struct linger linger = { 1, 1000 };
	static const char bytes[65536];
	int server = socket(AF_INET, SOCK_STREAM, 0);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	assert_int_equal(bind(server, (void *)&address, size), 0);
	assert_int_equal(getsockname(server, (void *)&address, &size), 0);
	assert_int_equal(listen(server, 1), 0);
	assert_int_equal(connect(fd, (void *)&address, size), 0);
	*ret_other = accept(server, NULL, NULL);
	close(server);
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger,
				    sizeof(linger)),
			 0);
	while (send(fd, bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
		;
	return fd;
}

/* The harness's limit on time is the check: the socket lingers for 1000 s. */
static void a_descriptor_that_lingers_makes_nobody_wait(void **state)
{
	struct sonde_filters_ask ask = { .magic = SONDE_FILTERS_MAGIC,
					 .version = SONDE_HELLO_VERSION };
	const size_t ask_size = offsetof(struct sonde_filters_ask, index);

	(void)state;
	for (int i = 0; i < 5; i++) {
		int peer = connect_peer();
		int fd = accept_peer();
		struct sonde_filters_ask got;
		int arena_fd;
		int other;
		int bad = lingering(&other);
		pid_t pid;

		/* as a hello, before one, behind one, and with a question */
		if (i == 2)
			send_message(peer, &good, sizeof(good), 1);
		if (i == 3)
			send_message_of(peer, &ask, ask_size, 1, bad);
		else if (i == 4)
			send_message_of(peer, "", 0, 2, bad);
		else
			send_message_of(peer, &good, sizeof(good), 1 + i % 2,
					bad);
		close(bad);
		if (i == 2) {
			assert_int_equal(sonde_handshake_receive(fd, &arena_fd,
								 &pid),
					 0);
			close(arena_fd);
		} else if (i == 3) {
			assert_int_equal(sonde_handshake_receive_ask(fd, &got),
					 -EPROTO);
		} else {
			assert_int_equal(sonde_handshake_receive(fd, &arena_fd,
								 &pid),
					 -EPROTO);
		}
		sonde_foreign_drop(fd);
		close(peer);
		close(other);
	}
}

/* Connections with such things in their queues, never looked at. */
static void a_crowd_of_them_makes_nobody_wait(void **state)
{
	int others[100];

	(void)state;
	for (int i = 0; i < 100; i++) {
		int peer = connect_peer();
		int fd = accept_peer();
		int bad = lingering(&others[i]);

		send_message_of(peer, &good, sizeof(good), 1, bad);
		close(bad);
		sonde_foreign_drop(fd);
		close(peer);
	}
	for (int i = 0; i < 100; i++)
		close(others[i]);
}

/* As a process that gave up waiting: that is no reason for a child. */
static void who_left_without_reading_is_dropped_at_once(void **state)
{
	int peer = connect_peer();
	int fd = accept_peer();

	(void)state;
	while (waitpid(-1, NULL, __WALL) > 0)
		; /* of earlier tests */
	assert_int_equal(sonde_handshake_answer(fd, 0), 0);
	close(peer);
	sonde_foreign_drop(fd);
	assert_int_equal(waitpid(-1, NULL, __WALL | WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
	assert_int_equal(fcntl(fd, F_GETFD), -1);
}

static void questions_are_told_from_hellos(void **state)
{
	struct sonde_filters_ask ask = { .magic = SONDE_FILTERS_MAGIC,
					 .version = SONDE_HELLO_VERSION,
					 .nr = 2,
					 .filters = 7,
					 .index = { 5, 6 } };
	const size_t size = offsetof(struct sonde_filters_ask, index) + 8;
	struct sonde_filters_ask got;
	int peer = connect_peer();
	int fd = accept_peer();
	pid_t pid;
	int arena;

	(void)state;
	assert_int_equal(sonde_handshake_receive_ask(fd, &got), -EAGAIN);
	send_message(peer, &ask, size, 0);
	assert_int_equal(sonde_handshake_receive_ask(fd, &got), 0);
	assert_memory_equal(&got, &ask, size);
	/* of another length than it says, too many, and of another kind */
	send_message(peer, &ask, size - 4, 0);
	assert_int_equal(sonde_handshake_receive_ask(fd, &got), -EPROTO);
	ask.nr = SONDE_FILTERS_ASK + 1;
	send_message(peer, &ask, sizeof(ask), 0);
	assert_int_equal(sonde_handshake_receive_ask(fd, &got), -EPROTO);
	ask.magic++;
	send_message(peer, &ask, size, 0);
	assert_int_equal(sonde_handshake_receive_ask(fd, &got), -ENOMSG);
	assert_int_equal(sonde_handshake_receive(fd, &arena, &pid), -EPROTO);
	close(peer);
	sonde_foreign_drop(fd);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, start, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_hello_with_one_descriptor_is_taken),
		TEST(any_other_number_of_descriptors_is_refused),
		TEST(any_other_size_is_refused),
		TEST(another_version_or_magic_is_refused),
		TEST(nobody_waits_for_a_peer_that_says_nothing),
		TEST(the_answer_carries_the_error),
		TEST(each_session_has_a_path_of_its_own),
		TEST(a_descriptor_that_lingers_makes_nobody_wait),
		TEST(a_crowd_of_them_makes_nobody_wait),
		TEST(who_left_without_reading_is_dropped_at_once),
		TEST(questions_are_told_from_hellos),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
