/* SPDX-License-Identifier: MIT */
/*
 * test_sys_peer.c - a stranger who connects and ends isn't taken for the process
 * that gets his number. Numbers are made to come again in a PID namespace of
 * our own (ns_last_pid), so this needs root.
 */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sys/peer.h"
#include "sys/proc.h"

#define STRANGER 65534

/* ---- in a process of its own: exit codes instead of assertions ---- */

#define CHECK(what)                                                           \
	do {                                                                  \
		if (!(what)) {                                                \
			(void)fprintf(stderr, "line %d: %s (%d)\n", __LINE__, \
				      #what, errno);                          \
			_exit(1);                                             \
		}                                                             \
	} while (0)

static int listener(struct sockaddr_un *ret_name, socklen_t *ret_size)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	*ret_name = (struct sockaddr_un){ .sun_family = AF_UNIX };
	*ret_size = sizeof(*ret_name);
	CHECK(!bind(fd, (void *)ret_name, sizeof(sa_family_t)));
	CHECK(!getsockname(fd, (void *)ret_name, ret_size));
	CHECK(!listen(fd, 8));
	return fd;
}

static void say(int fd)
{
	CHECK(write(fd, "x", 1) == 1);
}

static void hear(int fd)
{
	char byte;

	CHECK(read(fd, &byte, 1) == 1);
}

/* The next process gets number `pid`. */
static void rewind_to(pid_t pid)
{
	int fd = open("/proc/sys/kernel/ns_last_pid", O_WRONLY | O_CLOEXEC);

	CHECK(dprintf(fd, "%d", pid - 1) > 0);
	CHECK(!close(fd));
}

/* Connects as a stranger, leaves the connection to an accomplice, and ends. */
static pid_t connect_and_end(const struct sockaddr_un *name, socklen_t size)
{
	int ready[2];
	pid_t pid;

	CHECK(!pipe2(ready, O_CLOEXEC));
	pid = fork();
	if (!pid) {
		int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);

		CHECK(!setuid(STRANGER));
		CHECK(!connect(fd, (const void *)name, size));
		if (!fork()) {
			say(ready[1]);
			(void)pause();
		}
		(void)pause();
	}
	hear(ready[0]);
	CHECK(!close(ready[0]) && !close(ready[1]));
	return pid;
}

static void end(pid_t pid)
{
	CHECK(!kill(pid, SIGKILL));
	CHECK(waitpid(pid, NULL, 0) == pid);
}

/* A number whose process has connected, ended, and been followed by a kin. */
struct recycled {
	int fd; /* the connection */
	struct ucred cred;
	struct sonde_peer us;
	pid_t kin;
};

static pid_t start_kin(void)
{
	pid_t pid = fork();

	if (!pid)
		(void)pause();
	return pid;
}

static void recycle(struct recycled *ret)
{
	struct sockaddr_un name;
	socklen_t size;
	int listen_fd = listener(&name, &size);
	socklen_t cred_size = sizeof(ret->cred);
	pid_t stranger = connect_and_end(&name, size);

	ret->fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC);
	CHECK(!getsockopt(ret->fd, SOL_SOCKET, SO_PEERCRED, &ret->cred,
			  &cred_size));
	CHECK(ret->cred.pid == stranger && ret->cred.uid == STRANGER);
	end(stranger);
	rewind_to(stranger);
	ret->kin = start_kin();
	/* The kin has the number, and by that alone it is kin. */
	CHECK(ret->kin == stranger);
	CHECK(sonde_process_parent(ret->cred.pid) == getpid());
	ret->us = (struct sonde_peer){ getpid(), geteuid(), -1 };
	ret->us.pidfd = (int)syscall(SYS_pidfd_open, ret->us.pid, 0);
	CHECK(ret->us.pidfd >= 0);
}

static void a_stranger_is_no_kin(const struct recycled *now)
{
	struct sonde_peer peer;

	CHECK(!sonde_peer_of(now->fd, &peer));
	CHECK(peer.uid == STRANGER);
	CHECK(sonde_peer_has_ended(&peer));
	CHECK(sonde_peer_descends(&peer, &now->us) == -ESRCH);
	sonde_peer_release(&peer);
}

/* Older kernels: whoever has the number runs as another user. */
static void a_number_of_another_user_is_no_kin(const struct recycled *now)
{
	struct sonde_peer peer;

	sonde_peer_of_number(&now->cred, &peer);
	CHECK(peer.pidfd == -1);
	CHECK(sonde_peer_descends(&peer, &now->us) == -ESRCH);
}

/* It is who it says it is; then it ends, and its number is given away. */
static void kin_is_kin_until_it_ends(struct recycled *now)
{
	struct sonde_peer peer;

	now->cred.uid = geteuid();
	sonde_peer_of_number(&now->cred, &peer);
	CHECK(!sonde_peer_has_ended(&peer));
	CHECK(!sonde_peer_descends(&peer, &now->us));
	end(now->kin);
	CHECK(sonde_peer_descends(&peer, &now->us) == -ESRCH);
	rewind_to(now->kin);
	CHECK(start_kin() == now->kin);
	CHECK(sonde_peer_descends(&peer, &now->us) == -ESRCH);
	sonde_peer_release(&peer);
	end(now->kin);
}

/* The first process of a PID namespace. */
static void rule(void)
{
	struct recycled now;

	CHECK(!mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL));
	CHECK(!mount("proc", "/proc", "proc", 0, NULL));
	recycle(&now);
	a_stranger_is_no_kin(&now);
	a_number_of_another_user_is_no_kin(&now);
	kin_is_kin_until_it_ends(&now);
	_exit(0);
}

static int status_of(pid_t pid)
{
	int status;

	CHECK(waitpid(pid, &status, 0) == pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

static void enter_namespace(void)
{
	pid_t pid;

	if (unshare(CLONE_NEWPID | CLONE_NEWNS))
		_exit(77);
	pid = fork();
	if (!pid)
		rule();
	_exit(status_of(pid));
}

static void a_number_that_was_given_away_identifies_nobody(void **state)
{
	int status;
	pid_t pid;

	(void)state;
	if (geteuid() != 0)
		skip();
	pid = fork();
	if (!pid)
		enter_namespace();
	status = status_of(pid);
	if (status == 77)
		skip(); /* no namespaces here */
	assert_int_equal(status, 0);
}

/* ---- */

static void a_connected_process_is_held(void **state)
{
	struct sonde_peer peer;
	int pair[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	assert_int_equal(sonde_peer_of(pair[0], &peer), 0);
	assert_int_equal(peer.pid, getpid());
	assert_int_equal(peer.uid, geteuid());
	assert_false(sonde_peer_has_ended(&peer));
	assert_int_equal(sonde_peer_check(pair[0]), 0);
	/* also descends from itself */
	assert_int_equal(sonde_peer_descends(&peer, &peer), 0);
	sonde_peer_release(&peer);
	assert_true(sonde_peer_has_ended(&peer));
	(void)close(pair[0]);
	(void)close(pair[1]);
}

static struct sonde_peer peer_by_number(pid_t pid)
{
	struct ucred cred = { pid, sonde_process_uid(pid), 0 };
	struct sonde_peer peer;

	sonde_peer_of_number(&cred, &peer);
	return peer;
}

static void a_parent_does_not_descend(void **state)
{
	struct sonde_peer self = peer_by_number(getpid());
	struct sonde_peer parent = peer_by_number(getppid());

	(void)state;
	assert_int_equal(sonde_peer_descends(&parent, &self), -EACCES);
	sonde_peer_release(&parent);
	sonde_peer_release(&self);
}

static void a_grandchild_descends(void **state)
{
	struct sonde_peer self = peer_by_number(getpid());
	pid_t pid = fork();

	(void)state;
	if (!pid) {
		struct sonde_peer peer;

		pid = fork();
		if (pid)
			_exit(status_of(pid));
		peer = peer_by_number(getpid());
		_exit(-sonde_peer_descends(&peer, &self));
	}
	assert_int_equal(status_of(pid), 0);
	sonde_peer_release(&self);
}

static void what_is_no_unix_socket_has_no_peer(void **state)
{
	struct sonde_peer peer;
	int pair[2];

	(void)state;
	assert_int_equal(pipe2(pair, O_CLOEXEC), 0);
	assert_int_equal(sonde_peer_of(pair[0], &peer), -ENOTSOCK);
	(void)close(pair[0]);
	(void)close(pair[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			a_number_that_was_given_away_identifies_nobody),
		cmocka_unit_test(a_connected_process_is_held),
		cmocka_unit_test(a_parent_does_not_descend),
		cmocka_unit_test(a_grandchild_descends),
		cmocka_unit_test(what_is_no_unix_socket_has_no_peer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
