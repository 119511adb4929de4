/* SPDX-License-Identifier: MIT */
/* expect: sonde_bits */
#include <sonde/tracepoint.h>

struct bits {
	unsigned x : 3;
};

void wrong(struct bits *bits);

void wrong(struct bits *bits)
{
#if defined(__cplusplus)
	(void)bits;
	sonde_event(p, n, *bits);
#else
	sonde_event(p, n, bits->x);
#endif
}
