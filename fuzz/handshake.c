/* SPDX-License-Identifier: MIT */
/*
 * handshake.c - fuzz session/handshake.h: any messages with any number of
 * descriptors. None of them may stay open but the one that is handed over, and
 * only a memory file is.
 *
 * Input: per message, a byte (bits 0..2 number of descriptors, bit 3 a sound
 * hello first, bit 4 hang up after it, bit 5 answer it, bit 6 descriptors that
 * aren't memory files) and another for the size of what follows.
 */
#include "session/handshake.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"
#include "sys/foreign.h"

#define FDS_MAX 7

/* The number the next descriptor gets: the same as before if none leaked. */
static int next_number(void)
{
	int fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);

	FUZZ_CHECK(fd >= 0);
	(void)close(fd);
	return fd;
}

static void send_message(int fd, uint8_t *bytes, size_t size, int nr_fds,
			 int sent_fd)
{
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(FDS_MAX * sizeof(int))];
	} control = { 0 };
	struct iovec io = { bytes, size };
	struct msghdr message = { .msg_iov = &io, .msg_iovlen = 1 };

	if (nr_fds > 0) {
		message.msg_control = &control;
		message.msg_controllen =
			CMSG_SPACE((size_t)nr_fds * sizeof(int));
		control.head.cmsg_level = SOL_SOCKET;
		control.head.cmsg_type = SCM_RIGHTS;
		control.head.cmsg_len = CMSG_LEN((size_t)nr_fds * sizeof(int));
		for (int i = 0; i < nr_fds; i++)
			memcpy(CMSG_DATA(&control.head) + i * sizeof(int),
			       &sent_fd, sizeof(int));
	}
	(void)sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* Whether it was a question about conditions; *ret_rc: what became of it. */
static bool receive_ask(int fd, int *ret_rc)
{
	struct sonde_filters_ask ask;
	int rc = sonde_handshake_receive_ask(fd, &ask);

	FUZZ_CHECK(rc == 0 || rc == -EAGAIN || rc == -EPROTO ||
		   rc == -EPROTONOSUPPORT || rc == -ECONNRESET ||
		   rc == -ENOMSG);
	if (!rc)
		FUZZ_CHECK(ask.nr <= SONDE_FILTERS_ASK);
	*ret_rc = rc;
	return rc == 0 || rc == -EPROTO || rc == -EPROTONOSUPPORT;
}

/* False: what is wrong stays in the queue, for who drops the connection. */
static bool receive(int fd, bool sound)
{
	int arena_fd = -1;
	pid_t pid;
	int rc;

	if (!sound && receive_ask(fd, &rc))
		return rc != -EPROTO;
	rc = sonde_handshake_receive(fd, &arena_fd, &pid);
	FUZZ_CHECK(rc == 0 || rc == -EAGAIN || rc == -EPROTO ||
		   rc == -EPROTONOSUPPORT || rc == -ECONNRESET);
	if (sound)
		FUZZ_CHECK(rc == 0);
	if (rc) {
		FUZZ_CHECK(arena_fd == -1);
		return rc != -EPROTO;
	}
	FUZZ_CHECK(fcntl(arena_fd, F_GETFD) & FD_CLOEXEC);
	(void)close(arena_fd);
	return true;
}

/* One message; false if it was the last. */
static bool play(struct fuzz_input *in, const int ends[2], int memory_fd)
{
	uint8_t bytes[256 + sizeof(struct sonde_hello)];
	struct sonde_hello hello = { SONDE_HELLO_MAGIC, SONDE_HELLO_VERSION,
				     1 };
	uint8_t what = fuzz_u8(in);
	size_t used = 0;
	size_t more;
	const uint8_t *rest = fuzz_bytes(in, fuzz_u8(in), &more);

	if (what & 8) {
		memcpy(bytes, &hello, sizeof(hello));
		used = sizeof(hello);
	}
	if (more > 0)
		memcpy(bytes + used, rest, more);
	used += more;
	send_message(ends[0], bytes, used, what & 7,
		     what & 64 ? STDIN_FILENO : memory_fd);
	if (what & 16)
		(void)shutdown(ends[0], SHUT_RDWR);
	if (what & 32)
		sonde_handshake_answer(ends[1], -(int)what);
	if (!receive(ends[1], used == sizeof(hello) && (what & 8) &&
				      !(what & 64) && (what & 7) == 1))
		return false;
	return !(what & 16);
}

/* Children close what might make us wait. */
static void settle(int before)
{
	for (int i = 0; next_number() != before && i < 1000000; i++)
		sonde_foreign_tend();
	FUZZ_CHECK(next_number() == before);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct fuzz_input in = { bytes, size };
	int before = next_number();
	int memory_fd = memfd_create("fuzz", MFD_CLOEXEC);
	int ends[2];

	FUZZ_CHECK(memory_fd >= 0);
	FUZZ_CHECK(!socketpair(AF_UNIX,
			       SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0,
			       ends));
	for (int i = 0; i < 8 && in.left > 0; i++) {
		if (!play(&in, ends, memory_fd))
			break;
	}
	(void)close(ends[0]);
	(void)close(memory_fd);
	(void)receive(ends[1], false);
	sonde_handshake_answer(ends[1], 0);
	sonde_foreign_drop(ends[1]);
	settle(before);
	return 0;
}
