/* SPDX-License-Identifier: MIT */
/*
 * sandbox.c - whether our seccomp filters let libsonde's system calls pass: a
 * child tries them (sandbox.h).
 *
 * The list of calls is that of libsonde (tracer/arena.c, tracer/handshake.c,
 * tracer/counters.c);
 * the child is killed or ends with 0. Nothing is tried without filters.
 */
#include "session/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "ring/contexts.h"
#include "sys/counter.h"
#include "sys/seccomp.h"

#define SPAN (1u << 20)

/* What tracer/arena.c does. Whether a call succeeds doesn't matter: libsonde
 * copes with that. */
static void try_memory(const struct sonde_session_config *config)
{
	struct flock lock = { .l_type = F_WRLCK, .l_len = 1 };
	struct rlimit limit;
	struct stat st;
	void *bytes;
	int fd;

	(void)getrlimit(RLIMIT_FSIZE, &limit);
	fd = memfd_create("sonde-trial", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	(void)ftruncate(fd, SPAN);
	(void)fallocate(fd, 0, 0, SPAN);
	(void)unlink("/dev/null/sonde-trial");
	(void)fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK);
	(void)fcntl(fd, F_OFD_SETLK, &lock);
	bytes = mmap(NULL, SPAN, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	(void)madvise(bytes, SPAN, MADV_DONTDUMP);
	if (config->is_realtime) {
		(void)mlock(bytes, 1);
		(void)munmap(NULL, 0);
	}
	(void)fstat(fd, &st);
	(void)mremap(bytes, SPAN, (size_t)2 * SPAN, MREMAP_MAYMOVE);
	(void)mmap(NULL, SPAN, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	(void)fcntl(fd, F_DUPFD_CLOEXEC, 240);
	(void)getpid();
#ifdef SYS_rseq
	(void)syscall(SYS_rseq, NULL, 0, 0, 0);
#endif
	(void)syscall(SYS_gettid);
#ifdef PR_GET_TSC
	(void)prctl(PR_GET_TSC, &(int){ 0 });
#endif
}

/* What tracer/handshake.c does. */
static void try_socket(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX,
				       .sun_path = "/dev/null/sonde-trial" };
	struct timeval limit = { .tv_usec = 1 };
	struct ucred peer;
	socklen_t size = sizeof(peer);
	struct msghdr message = { .msg_iovlen = 0 };
	struct pollfd pollfd = { .events = POLLIN };
	struct timespec now;
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	char byte = 0;

	pollfd.fd = fd;
	(void)syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
	(void)poll(&pollfd, 1, 0);
	(void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	(void)connect(fd, (const struct sockaddr *)&address, sizeof(address));
	(void)getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size);
	(void)geteuid();
	(void)sendmsg(fd, &message, MSG_NOSIGNAL);
	(void)send(fd, &byte, 1, MSG_NOSIGNAL);
	(void)recv(fd, &byte, 1, MSG_DONTWAIT);
	(void)recvmsg(fd, &message, MSG_DONTWAIT);
	(void)close(fd); /* nothing was said */
}

/* What tracer/counters.c does. */
static void try_counters(const struct sonde_session_config *config)
{
	int fd;

	if (!(config->contexts & ~SONDE_CONTEXTS_FIRST))
		return;
	fd = sonde_counter_open(SONDE_COUNTER_CYCLES);
	(void)sonde_counter_map(fd);
	(void)close(fd); /* it was never read */
	(void)munmap(NULL, 0);
}

__attribute__((noreturn)) static void
try_all(const struct sonde_session_config *config)
{
	static const struct rlimit no_core = { 0, 0 };

	(void)setrlimit(RLIMIT_CORE, &no_core);
	try_memory(config);
	try_socket();
	try_counters(config);
	_exit(0);
}

int sonde_sandbox_try(const struct sonde_session_config *config)
{
	int nr = sonde_seccomp_filters("/proc/self/status");
	int status = -1;
	pid_t pid;

	/* Without /proc, libsonde can't know either. */
	if (nr <= 0)
		return nr < 0 ? -EPERM : 0;
	pid = fork();
	if (!pid)
		try_all(config);
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return -EPERM;
	return status ? -EPERM : nr;
}
