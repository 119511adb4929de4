/* SPDX-License-Identifier: MIT */
/* start.c - a program that does nothing: what does linking libsonde cost? */
#ifdef WITH_SONDE
#include <sonde/tracepoint.h>
#endif

int main(void)
{
#ifdef WITH_SONDE
	sonde_event(bench, start);
#endif
	return 0;
}
