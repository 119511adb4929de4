/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include "session/rendezvous.h"

static int listen_fd;
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
	char name[SONDE_SESSION_NAME_MAX];

	(void)state;
	nr_fds_before = nr_open_fds();
	(void)snprintf(name, sizeof(name), "sonde-test-%d", (int)getpid());
	return sonde_rendezvous_listen(name, &listen_fd);
}

/* Whatever came over the socket, no descriptor may be left. */
static int end(void **state)
{
	(void)state;
	close(listen_fd);
	assert_int_equal(nr_open_fds(), nr_fds_before);
	return 0;
}

static int connect_peer(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int n = snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1,
			 "sonde-test-%d", (int)getpid());
	int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);

	assert_int_equal(
		connect(fd, (void *)&address,
			(socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
				    (size_t)n)),
		0);
	return fd;
}

static int accept_peer(void)
{
	struct ucred who;
	int fd;

	assert_int_equal(sonde_rendezvous_accept(listen_fd, &fd, &who), 0);
	assert_int_equal(who.pid, getpid());
	assert_int_equal(who.uid, getuid());
	return fd;
}

static void send_message(int fd, const void *bytes, size_t size, int nr_fds)
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
		int fds[16] = { 0 };

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
	rc = sonde_rendezvous_receive(fd, &arena_fd, &pid);
	if (!rc) {
		assert_int_equal(pid, good.pid);
		assert_true(arena_fd >= 0);
		close(arena_fd);
	} else {
		assert_int_equal(arena_fd, -1);
	}
	close(fd);
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
	struct ucred who;
	int arena_fd;
	pid_t pid;
	int nobody;

	(void)state;
	assert_int_equal(sonde_rendezvous_receive(fd, &arena_fd, &pid),
			 -EAGAIN);
	assert_int_equal(sonde_rendezvous_accept(listen_fd, &nobody, &who),
			 -EAGAIN);
	close(peer);
	assert_int_equal(sonde_rendezvous_receive(fd, &arena_fd, &pid),
			 -ECONNRESET);
	assert_int_equal(sonde_rendezvous_answer(fd, 0), -EPIPE);
	close(fd);
}

static void the_answer_carries_the_error(void **state)
{
	int peer = connect_peer();
	int fd = accept_peer();
	struct sonde_welcome welcome;

	(void)state;
	assert_int_equal(sonde_rendezvous_answer(fd, -EBUSY), 0);
	assert_int_equal(recv(peer, &welcome, sizeof(welcome), 0),
			 sizeof(welcome));
	assert_int_equal(welcome.magic, SONDE_HELLO_MAGIC);
	assert_int_equal(welcome.error, -EBUSY);
	close(peer);
	close(fd);
}

static void a_name_is_taken_once(void **state)
{
	char name[SONDE_SESSION_NAME_MAX];
	int fd;

	(void)state;
	(void)snprintf(name, sizeof(name), "sonde-test-%d", (int)getpid());
	assert_int_equal(sonde_rendezvous_listen(name, &fd), -EADDRINUSE);
	assert_int_equal(sonde_rendezvous_listen("", &fd), -EINVAL);
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
	assert_int_equal(sonde_rendezvous_receive_ask(fd, &got), -EAGAIN);
	send_message(peer, &ask, size, 0);
	assert_int_equal(sonde_rendezvous_receive_ask(fd, &got), 0);
	assert_memory_equal(&got, &ask, size);
	/* of another length than it says, with a descriptor, and too many */
	send_message(peer, &ask, size - 4, 0);
	assert_int_equal(sonde_rendezvous_receive_ask(fd, &got), -EPROTO);
	send_message(peer, &ask, size, 1);
	assert_int_equal(sonde_rendezvous_receive_ask(fd, &got), 0);
	ask.nr = SONDE_FILTERS_ASK + 1;
	send_message(peer, &ask, sizeof(ask), 0);
	assert_int_equal(sonde_rendezvous_receive_ask(fd, &got), -EPROTO);
	ask.magic++;
	send_message(peer, &ask, size, 0);
	assert_int_equal(sonde_rendezvous_receive_ask(fd, &got), -ENOMSG);
	assert_int_equal(sonde_rendezvous_receive(fd, &arena, &pid), -EPROTO);
	close(peer);
	close(fd);
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
		TEST(a_name_is_taken_once),
		TEST(questions_are_told_from_hellos),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
