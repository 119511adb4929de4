/* SPDX-License-Identifier: MIT */
/*
 * program.c - fuzz the look at a program's file (sys/program.h).
 *
 * Input: the file. It may say what it likes; the answer is one of the kinds,
 * and the same the next time.
 */
#include <sys/mman.h>
#include <unistd.h>

#include "sys/program.h"

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	int fd = memfd_create("fuzz-program", MFD_CLOEXEC);
	enum sonde_program_kind kind;
	char path[32];

	FUZZ_CHECK(fd >= 0);
	FUZZ_CHECK(write(fd, bytes, size) == (ssize_t)size);
	kind = sonde_program_look_fd(fd);
	FUZZ_CHECK(kind <= SONDE_PROGRAM_STATIC);
	FUZZ_CHECK(sonde_program_look_fd(fd) == kind);
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	/* A script leads to any file; one that is none leads nowhere else. */
	if (size < 2 || bytes[0] != '#' || bytes[1] != '!')
		FUZZ_CHECK(sonde_program_look(-1, path) == kind);
	(void)close(fd); /* it was only read */
	return 0;
}
