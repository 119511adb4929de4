/* SPDX-License-Identifier: MIT */
/*
 * probe_windows FILE... - what share of a file's instructions, and of its
 * functions' entries, a jump can replace (probe/inject/window.h).
 *
 * Functions are those of the unwinder's table; instructions are what a linear
 * walk through each finds, without padding. PUNNED counts as a jump: whether
 * there is address space for its places depends on the process.
 */
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe/inject/functions.h"
#include "probe/inject/insn.h"
#include "probe/inject/window.h"

/* In a long function every n-th instruction stands for n: each takes a survey
 * of all the function. */
#define SAMPLE_BYTES 1024

enum {
	KINDS = SONDE_WINDOW_TRAP + 1
};

/* A file as it would be loaded, from address 0 on. */
struct image {
	uint8_t *bytes;
	size_t size;
};

struct counts {
	uint64_t nr, free, dead;
	uint64_t kinds[KINDS]; /* 0: refused */
};

static int read_image(void *ctx, uint64_t address, void *to, size_t size)
{
	const struct image *image = ctx;

	if (address > image->size || size > image->size - address)
		return -EIO;
	memcpy(to, image->bytes + address, size);
	return 0;
}

static uint8_t *read_file(const char *path, size_t *ret_size)
{
	FILE *f = fopen(path, "rbe");
	uint8_t *bytes = NULL;

	if (f && !fseek(f, 0, SEEK_END)) {
		long size = ftell(f);
		bytes = size > 0 ? malloc((size_t)size) : NULL;
		rewind(f);
		*ret_size = bytes ? fread(bytes, 1, (size_t)size, f) : 0;
	}
	if (f)
		fclose(f);
	return bytes;
}

static int load(const char *path, struct image *image)
{
	size_t size = 0;
	uint8_t *file = read_file(path, &size);
	const Elf64_Ehdr *elf = (const Elf64_Ehdr *)(const void *)file;
	uint64_t first = UINT64_MAX;

	if (!file || size < sizeof(*elf))
		return -ENOEXEC;
	const Elf64_Phdr *p =
		(const Elf64_Phdr *)(const void *)(file + elf->e_phoff);
	for (unsigned int i = 0; i < elf->e_phnum; i++) {
		if (p[i].p_type != PT_LOAD)
			continue;
		if (first == UINT64_MAX)
			first = p[i].p_vaddr & -4096ull;
		image->size = p[i].p_vaddr - first + p[i].p_memsz;
	}
	image->bytes = calloc(1, image->size + 64);
	for (unsigned int i = 0; image->bytes && i < elf->e_phnum; i++)
		if (p[i].p_type == PT_LOAD)
			memcpy(image->bytes + (p[i].p_vaddr - first),
			       file + p[i].p_offset, p[i].p_filesz);
	free(file);
	return image->bytes ? 0 : -ENOMEM;
}

static void count(const struct sonde_code_view *view, uint64_t address,
		  uint64_t weight, struct counts *counts)
{
	struct sonde_window window = { 0 };
	const char *reason;

	counts->nr += weight;
	if (sonde_window_choose(view, address, &window, &reason))
		window.kind = 0;
	counts->kinds[window.kind] += weight;
	counts->free += window.can_be_free ? weight : 0;
	counts->dead += window.flags_are_dead ? weight : 0;
}

static void count_function(const struct sonde_code_view *view,
			   struct counts *all, struct counts *entries)
{
	uint64_t end = view->address + view->size;
	uint64_t step = view->size / SAMPLE_BYTES + 1;
	uint64_t nr = 0;
	struct sonde_insn insn;

	count(view, view->address, 1, entries);
	for (uint64_t at = view->address; at < end; at += insn.length) {
		if (sonde_insn_decode(view->bytes + (at - view->address),
				      (size_t)(end - at), at, &insn))
			return;
		if (!insn.is_padding && nr++ % step == 0)
			count(view, at, step, all);
	}
}

static void print(const char *what, const struct counts *c)
{
	uint64_t jumps = c->kinds[SONDE_WINDOW_SINGLE] +
			 c->kinds[SONDE_WINDOW_PUNNED] +
			 c->kinds[SONDE_WINDOW_FREE];
	double all = c->nr ? (double)c->nr / 100 : 1;

	printf("  %-12s %8llu  by a jump %5.1f %%  (single %4.1f, punned %4.1f, "
	       "of which free %4.1f)  int3 %4.1f  none %4.1f  "
	       "flags dead %4.1f\n",
	       what, (unsigned long long)c->nr, (double)jumps / all,
	       (double)c->kinds[SONDE_WINDOW_SINGLE] / all,
	       (double)c->kinds[SONDE_WINDOW_PUNNED] / all,
	       (double)c->free / all, (double)c->kinds[SONDE_WINDOW_TRAP] / all,
	       (double)c->kinds[0] / all, (double)c->dead / all);
}

static int survey(const char *path)
{
	struct image image = { 0 };
	struct sonde_functions_memory memory = { read_image, &image };
	struct sonde_functions *functions = NULL;
	struct counts all = { 0 };
	struct counts entries = { 0 };
	int rc = load(path, &image);

	if (!rc)
		rc = sonde_functions_new(&memory, 0, &functions);
	for (size_t i = 0; !rc && i < sonde_functions_nr(functions); i++) {
		struct sonde_function f;
		if (!sonde_functions_get(functions, &memory, i, &f) ||
		    f.end > image.size)
			continue;
		struct sonde_code_view view = {
			.bytes = image.bytes + f.start,
			.address = f.start,
			.size = (size_t)(f.end - f.start),
			.behind = 32,
			.is_function = true,
			.has_handlers = f.has_handlers,
		};
		count_function(&view, &all, &entries);
	}
	printf("%s\n", path);
	print("instructions", &all);
	print("entries", &entries);
	sonde_functions_free(functions);
	free(image.bytes);
	return rc;
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		int rc = survey(argv[i]);
		if (rc) {
			fprintf(stderr, "probe_windows: %s: error %d\n",
				argv[i], -rc);
			return 1;
		}
	}
	return 0;
}
