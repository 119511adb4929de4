/* SPDX-License-Identifier: MIT */
/*
 * symbols.c - fuzz the names of variables and of code in files of machine code
 * (reader/symbols.h), those of code by the file's DWARF as well.
 *
 * Input: 8 bytes each of where the file is mapped, from which offset on, and
 * which address is asked for; then the file.
 *
 * libelf and libdw aren't built for the fuzzer, and may crash: sonde asks them in a
 * process that may end (names/namer.h). Here that is a finding, to be told to them.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"
#include "reader/symbols.h"

#define NUMBERS 3

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct sonde_symbols *symbols = sonde_symbols_new();
	struct sonde_symbols_place place = { 0 };
	struct sonde_symbol symbol;
	struct sonde_naming naming;
	uint64_t numbers[NUMBERS];
	char path[64];
	int error;
	int fd;

	if (size < sizeof(numbers) || !symbols) {
		sonde_symbols_free(symbols);
		return 0;
	}
	memcpy(numbers, bytes, sizeof(numbers));
	fd = memfd_create("symbols", MFD_CLOEXEC);
	FUZZ_CHECK(fd >= 0);
	FUZZ_CHECK(write(fd, bytes + sizeof(numbers), size - sizeof(numbers)) ==
		   (ssize_t)(size - sizeof(numbers)));
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	place.path = path;
	place.begin = numbers[0];
	place.offset = numbers[1];
	error = sonde_symbols_find(symbols, &place, numbers[2], &symbol);
	FUZZ_CHECK(error == 0 || error == -ENOENT);
	FUZZ_CHECK(error || strlen(symbol.name) > 0);
	sonde_symbols_code(symbols, &place, numbers[2], &naming);
	FUZZ_CHECK(sonde_naming_is_sound(&naming));
	FUZZ_CHECK(naming.lack < SONDE_LACK_NR);
	FUZZ_CHECK(!naming.lack == (naming.nr_frames > 0));
	sonde_symbols_free(symbols);
	(void)close(fd); /* in memory only */
	return 0;
}
