/* SPDX-License-Identifier: MIT */
/* size.c - how much code a site is: with_event() less without_event(). */
#include <sonde/tracepoint.h>

void with_event(int x);
void without_event(int x);
void with_string(int x, const char *s);
extern void work(int x);

void with_event(int x)
{
	work(x);
	sonde_event(size, one, x);
	work(x + 1);
}

void without_event(int x)
{
	work(x);
	work(x + 1);
}
