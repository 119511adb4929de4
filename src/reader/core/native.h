/* SPDX-License-Identifier: MIT */
/*
 * native.h - native code of a filter's programs, in one mapping that is never
 * writable and executable at once: programs are added one by one, then the code
 * is sealed, and none is added any more.
 *
 * Where there is no generator, the program can't be had by it, memory is short
 * or the system refuses executable memory, there is no code, which is no error:
 * the evaluator runs the program.
 */
#ifndef READER_CORE_NATIVE_H
#define READER_CORE_NATIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sonde_program;

/* Whether the program is true of these bases. Any thread. */
typedef bool sonde_native_test(const uint8_t *base0, const uint8_t *base1);

/* Zeros are one without code. */
struct sonde_native {
	uint8_t *bytes; /* malloc()'s until it is sealed, then the mapping */
	size_t nr_bytes, room;
	bool is_sealed;
};

/* The place of a program's code, for sonde_native_at(); 0 if it has none. The
 * program calls nothing and reads no base but 0 and 1. */
uint32_t sonde_native_add(struct sonde_native *native,
			  const struct sonde_program *program);
void sonde_native_seal(struct sonde_native *native);

/* The code at a place, as long as `native` lives; NULL if there is none. */
sonde_native_test *sonde_native_at(const struct sonde_native *native,
				   uint32_t place);
void sonde_native_fini(struct sonde_native *native);

#endif /* READER_CORE_NATIVE_H */
