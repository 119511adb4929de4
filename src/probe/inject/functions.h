/* SPDX-License-Identifier: MIT */
/*
 * functions.h - where the functions of an ELF image in memory begin and end.
 *
 * By the table of the unwinder (.eh_frame_hdr, and the FDEs it leads to): it is
 * loaded, also where symbols are stripped, and exact. A function's cold part
 * is a function of its own here.
 *
 * Nothing that is read is believed: what makes no sense is no function.
 */
#ifndef PROBE_INJECT_FUNCTIONS_H
#define PROBE_INJECT_FUNCTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sonde_function {
	uint64_t start, end;
	bool has_handlers; /* the unwinder may enter it */
};

/* The image's memory: all of it or -errno. */
struct sonde_functions_memory {
	int (*read)(void *ctx, uint64_t address, void *to, size_t size);
	void *ctx;
};

struct sonde_functions;

/* `image` is the address of its ELF header. 0; -ENOEXEC (not ELF for this
 * CPU), -ENOENT (no such table), -ENOMEM, or what read() says. */
int sonde_functions_new(const struct sonde_functions_memory *memory,
			uint64_t image, struct sonde_functions **ret);
void sonde_functions_free(struct sonde_functions *functions);

/* The one that the address is in. */
bool sonde_functions_find(const struct sonde_functions *functions,
			  const struct sonde_functions_memory *memory,
			  uint64_t address, struct sonde_function *ret);

/* All, by number. */
size_t sonde_functions_nr(const struct sonde_functions *functions);
bool sonde_functions_get(const struct sonde_functions *functions,
			 const struct sonde_functions_memory *memory, size_t i,
			 struct sonde_function *ret);

#endif /* PROBE_INJECT_FUNCTIONS_H */
