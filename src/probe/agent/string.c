/* SPDX-License-Identifier: MIT */
/*
 * string.c - the four functions that a compiler takes for granted; the image
 * has no C library.
 */
#include <stddef.h>
#include <stdint.h>

void *memcpy(void *restrict to, const void *restrict from, size_t nr);
void *memmove(void *to, const void *from, size_t nr);
void *memset(void *to, int byte, size_t nr);
int memcmp(const void *a, const void *b, size_t nr);
void *memchr(const void *bytes, int byte, size_t nr);
size_t strnlen(const char *text, size_t nr);

void *memcpy(void *restrict to, const void *restrict from, size_t nr)
{
	void *at = to;

	__asm__ volatile("rep movsb"
			 : "+D"(at), "+S"(from), "+c"(nr)
			 :
			 : "memory");
	return to;
}

void *memmove(void *to, const void *from, size_t nr)
{
	unsigned char *end = (unsigned char *)to + nr - 1;
	const unsigned char *from_end = (const unsigned char *)from + nr - 1;

	if ((const unsigned char *)to <= (const unsigned char *)from ||
	    (const unsigned char *)to > from_end)
		return memcpy(to, from, nr);
	__asm__ volatile("std\n"
			 "rep movsb\n"
			 "cld\n"
			 : "+D"(end), "+S"(from_end), "+c"(nr)
			 :
			 : "memory");
	return to;
}

void *memset(void *to, int byte, size_t nr)
{
	void *at = to;

	__asm__ volatile("rep stosb"
			 : "+D"(at), "+c"(nr)
			 : "a"(byte)
			 : "memory");
	return to;
}

int memcmp(const void *a, const void *b, size_t nr)
{
	const unsigned char *p = a;
	const unsigned char *q = b;

	for (size_t i = 0; i < nr; i++)
		if (p[i] != q[i])
			return p[i] < q[i] ? -1 : 1;
	return 0;
}

void *memchr(const void *bytes, int byte, size_t nr)
{
	const unsigned char *at = bytes;

	while (nr && *at != (unsigned char)byte) {
		at++;
		nr--;
	}
	/* NOLINTNEXTLINE(performance-no-int-to-ptr): as C has it */
	return nr ? (void *)(uintptr_t)at : NULL;
}

size_t strnlen(const char *text, size_t nr)
{
	const char *end = memchr(text, 0, nr);

	return end ? (size_t)(end - text) : nr;
}
