/* SPDX-License-Identifier: MIT */
/*
 * stage.c - a string into a tracepoint's staging buffer.
 *
 * Another thread may change the string while we copy it, and the copy must
 * have one NUL, at its end, or the reader would misread all that follows. So
 * each byte is read once: what was tested for NUL is what is stored.
 *
 * On x86-64, 16 bytes at a time. A load may reach beyond the string but never
 * into another page, so it can't fault. (Not instrumented: the bytes beyond
 * are loaded, and stored below what is returned as the length or overwritten,
 * but mean nothing.)
 */
#include <sonde/abi.h>

#include "base/port.h"

/* From byte `i` on, one by one. */
static size_t stage_copy_bytes(char *dst, const char *s, size_t room, size_t i)
{
	for (; i < room; i++) {
		dst[i] = sonde_load_relaxed(&s[i]);
		if (!dst[i])
			return i + 1;
	}
	return 0;
}

#ifdef __SSE2__
#include <emmintrin.h>

#define BLOCK 16u
#define PAGE  4096u

struct block {
	char bytes[BLOCK];
};

__attribute__((no_sanitize_address)) size_t
sonde_stage_string(char *dst, const char *s, size_t room)
{
	size_t i = 0;

	if (!s)
		s = "(null)";
	while (i + BLOCK <= room &&
	       ((uintptr_t)(s + i) & (PAGE - 1)) <= PAGE - BLOCK) {
		unsigned mask;
		__m128i block;

		/* not a load the compiler may do twice */
		__asm__ volatile(
			"movdqu %1, %0"
			: "=x"(block)
			: "m"(*(const struct block *)(const void *)(s + i)));
		mask = (unsigned)_mm_movemask_epi8(
			_mm_cmpeq_epi8(block, _mm_setzero_si128()));

		_mm_storeu_si128((void *)(dst + i), block);
		if (mask)
			return i + (size_t)__builtin_ctz(mask) + 1;
		i += BLOCK;
	}
	return stage_copy_bytes(dst, s, room, i);
}

#else

size_t sonde_stage_string(char *dst, const char *s, size_t room)
{
	return stage_copy_bytes(dst, s ? s : "(null)", room, 0);
}

#endif
