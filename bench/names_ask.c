/* SPDX-License-Identifier: MIT */
/*
 * names_ask.c NR FILE... - asks for the names of NR addresses, spread evenly
 * over the code of the files; twice. Writes the addresses of each file to
 * FILE.NUMBER.addresses in the working directory, for addr2line, and prints
 * seconds: the first time, the second, and how many had a line and a name.
 */
#include <fcntl.h>
#include <gelf.h>
#include <inttypes.h>
#include <libelf.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "reader/names/namer.h"

struct code {
	const char *path;
	uint64_t address, offset, bytes;
};

static double now_s(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t); /* can't fail */
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static bool find_code(const char *path, struct code *ret_code)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	Elf *elf = fd < 0 ? NULL : elf_begin(fd, ELF_C_READ, NULL);
	size_t nr = 0;

	if (!elf || elf_getphdrnum(elf, &nr))
		return false;
	for (size_t i = 0; i < nr; i++) {
		GElf_Phdr head;

		if (!gelf_getphdr(elf, (int)i, &head) ||
		    head.p_type != PT_LOAD || !(head.p_flags & PF_X))
			continue;
		*ret_code = (struct code){ path, head.p_vaddr, head.p_offset,
					   head.p_filesz };
		(void)elf_end(elf);
		(void)close(fd);
		return true;
	}
	return false;
}

static uint64_t address_of(const struct code *code, uint64_t i, uint64_t nr)
{
	return code->address + code->bytes / nr * i;
}

static void write_addresses(const struct code *code, int number, uint64_t nr)
{
	char path[64];
	FILE *file;

	(void)snprintf(path, sizeof(path), "FILE.%d.addresses", number);
	file = fopen(path, "we");
	for (uint64_t i = 0; file && i < nr; i++)
		(void)fprintf(file, "%#" PRIx64 "\n", address_of(code, i, nr));
	if (file)
		(void)fclose(file);
}

static double ask(struct sonde_namer *namer, const struct code *codes,
		  int nr_files, uint64_t nr, uint64_t ret_counts[2])
{
	double begin_s = now_s();

	ret_counts[0] = ret_counts[1] = 0;
	/* Turn by turn, as addresses come in a trace. */
	for (uint64_t i = 0; i < nr; i++)
		for (int k = 0; k < nr_files; k++) {
			const struct sonde_symbols_place place = {
				.path = codes[k].path,
				.begin = codes[k].address,
				.offset = codes[k].offset,
			};
			struct sonde_naming naming;

			sonde_namer_ask(namer, SONDE_NAMER_CODE, &place,
					address_of(&codes[k], i, nr), &naming);
			ret_counts[0] += naming.frames[0].line != 0;
			ret_counts[1] += naming.frames[0].name != 0;
		}
	return now_s() - begin_s;
}

int main(int argc, char **argv)
{
	int nr_files = argc - 2;
	struct code *codes = calloc((size_t)argc, sizeof(*codes));
	struct sonde_namer *namer = sonde_namer_new();
	uint64_t counts[2];
	uint64_t nr;
	double first_s;
	double second_s;

	if (nr_files < 1 || !codes || !namer)
		return 2;
	(void)elf_version(EV_CURRENT);
	nr = strtoull(argv[1], NULL, 10) / (uint64_t)nr_files;
	for (int i = 0; i < nr_files; i++) {
		if (!nr || !find_code(argv[i + 2], &codes[i]))
			return 2;
		write_addresses(&codes[i], i, nr);
	}
	first_s = ask(namer, codes, nr_files, nr, counts);
	second_s = ask(namer, codes, nr_files, nr, counts);
	printf("%.3f %.3f %" PRIu64 " %" PRIu64 "\n", first_s, second_s,
	       counts[0], counts[1]);
	sonde_namer_free(namer);
	free(codes);
	return 0;
}
