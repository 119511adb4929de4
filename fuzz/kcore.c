/* SPDX-License-Identifier: MIT */
/*
 * kcore.c - the head of a core file (sys/kcore.h), and tables of the kernel's in
 * its memory (sys/tracepoints.h). What is read is no more than was asked for, and
 * each site is of a tracepoint that there is.
 *
 * Six numbers of 8 bytes come first: an address, and where tables and the
 * tracepoints are; the rest is the file.
 */
#include "fuzz.h"

#include <sys/mman.h>
#include <unistd.h>

#include "sys/kcore.h"
#include "sys/tracepoints.h"

#define NUMBERS 6u
#define ROOM    128u
#define MARK    0xa5

static void check_read(int fd, uint64_t address, size_t size)
{
	uint8_t bytes[ROOM];
	size_t nr;

	memset(bytes, MARK, sizeof(bytes));
	nr = sonde_kcore_read(fd, address, bytes, size);
	FUZZ_CHECK(nr <= size);
	for (size_t i = nr; i < sizeof(bytes); i++)
		FUZZ_CHECK(bytes[i] == MARK);
}

static void check_sites(int fd, const uint64_t *numbers)
{
	const struct sonde_tracepoint_tables tables = {
		numbers[0], numbers[0] + (numbers[1] & 0xffff), numbers[2],
		numbers[2] + (numbers[3] & 0xffff)
	};
	const struct sonde_tracepoint tracepoints[] = {
		{ numbers[4], numbers[5] },
		{ numbers[4] + 64, numbers[5] + 64 },
	};
	struct sonde_tracepoint_site *sites;
	size_t nr;

	if (sonde_tracepoint_sites(fd, &tables, tracepoints, 2, &sites, &nr))
		return;
	for (size_t i = 0; i < nr; i++) {
		FUZZ_CHECK(sites[i].tracepoint < 2);
		FUZZ_CHECK(i == 0 ||
			   sites[i].tracepoint >= sites[i - 1].tracepoint);
	}
	free(sites);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	uint64_t numbers[NUMBERS];
	static int file = -1;
	char path[32];
	int fd;

	if (size < sizeof(numbers))
		return 0;
	memcpy(numbers, bytes, sizeof(numbers));
	bytes += sizeof(numbers);
	size -= sizeof(numbers);
	if (file < 0)
		file = memfd_create("kcore", MFD_CLOEXEC);
	if (file < 0 || ftruncate(file, 0) ||
	    pwrite(file, bytes, size, 0) != (ssize_t)size)
		abort();
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	fd = sonde_kcore_open(path);
	if (fd < 0)
		return 0;
	check_read(fd, numbers[0], numbers[1] % ROOM);
	check_sites(fd, numbers);
	(void)close(fd);
	return 0;
}
