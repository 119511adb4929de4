/* SPDX-License-Identifier: MIT */
/*
 * fuzz.h - what the fuzz targets share.
 *
 * A target is one file with one LLVMFuzzerTestOneInput(). It is built in two
 * ways: with libFuzzer, which invents inputs, and with replay.c, which takes
 * them from files. So a finding of any fuzzer is replayed by any compiler.
 *
 * Most targets don't take the input as the bytes to be parsed, but as a list
 * of decisions: struct fuzz_input hands them out one by one, and zeros once
 * they are used up. What is built so is mostly well-formed, and gets deep into
 * the code under test, where random bytes would be refused at the door. Two
 * decisions are never taken in one expression: their order would be the
 * compiler's choice, and an input would mean something else to the next one.
 */
#ifndef FUZZ_FUZZ_H
#define FUZZ_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static inline _Noreturn void fuzz_fail(const char *file, int line,
				       const char *claim)
{
	(void)fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, claim);
	abort();
}

/* What must hold whatever the input is. */
#define FUZZ_CHECK(claim) \
	((claim) ? (void)0 : fuzz_fail(__FILE__, __LINE__, #claim))

struct fuzz_input {
	const uint8_t *at;
	size_t left;
};

static inline uint8_t fuzz_u8(struct fuzz_input *in)
{
	if (in->left == 0)
		return 0;
	in->left--;
	return *in->at++;
}

static inline uint16_t fuzz_u16(struct fuzz_input *in)
{
	uint16_t low = fuzz_u8(in);

	return (uint16_t)(low | fuzz_u8(in) << 8);
}

static inline uint32_t fuzz_u32(struct fuzz_input *in)
{
	uint32_t low = fuzz_u16(in);

	return low | (uint32_t)fuzz_u16(in) << 16;
}

static inline uint64_t fuzz_u64(struct fuzz_input *in)
{
	uint64_t low = fuzz_u32(in);

	return low | (uint64_t)fuzz_u32(in) << 32;
}

/* 0 .. limit - 1 */
static inline uint32_t fuzz_below(struct fuzz_input *in, uint32_t limit)
{
	return (limit > 256 ? fuzz_u32(in) : fuzz_u8(in)) % limit;
}

/* Up to `size` bytes, borrowed; *ret_size says how many there were. */
static inline const uint8_t *fuzz_bytes(struct fuzz_input *in, size_t size,
					size_t *ret_size)
{
	const uint8_t *bytes = in->at;

	*ret_size = size < in->left ? size : in->left;
	in->at += *ret_size;
	in->left -= *ret_size;
	return bytes;
}

/*
 * A number as programs get them wrong: small, or one of the bounds that
 * arithmetic breaks at, or any.
 */
static inline uint64_t fuzz_number(struct fuzz_input *in)
{
	uint8_t kind = fuzz_u8(in);

	if (kind < 128)
		return kind;
	if (kind < 192)
		return (1ull << (kind & 63)) - 1 + fuzz_below(in, 3);
	if (kind < 224)
		return fuzz_u16(in);
	return kind < 240 ? fuzz_u32(in) : fuzz_u64(in);
}

/* For models that write what is tested: small numbers take one byte. */
static inline uint64_t fuzz_decision(void *input)
{
	struct fuzz_input *in = input;
	uint8_t small = fuzz_u8(in);

	return small < 240 ? small : fuzz_u64(in);
}

/* What is there up to a NUL, which goes with it, or to the end: of it, what
 * fits. */
static inline void fuzz_text(struct fuzz_input *in, char *to, size_t size)
{
	const uint8_t *nul = in->left ? memchr(in->at, 0, in->left) : NULL;
	size_t length = nul ? (size_t)(nul - in->at) : in->left;
	size_t taken;
	const uint8_t *bytes;

	if (length > size - 1)
		length = size - 1;
	bytes = fuzz_bytes(in, length, &taken);
	if (length)
		memcpy(to, bytes, length);
	to[length] = 0;
	(void)fuzz_bytes(in, 1, &taken);
}

/* A copy that ends where its memory ends, so that the address sanitizer sees
 * the first byte read beyond it. To be freed. */
static inline void *fuzz_copy(const void *bytes, size_t size)
{
	void *copy = malloc(size ? size : 1);

	FUZZ_CHECK(copy);
	if (size > 0)
		memcpy(copy, bytes, size);
	return copy;
}

#endif /* FUZZ_FUZZ_H */
