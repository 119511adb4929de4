/* SPDX-License-Identifier: MIT */
/*
 * clock.c - a program that is about to lose the time stamp counter.
 *
 * PR_SET_TSC makes reading the counter a SIGSEGV, and so does seccomp's strict
 * mode. An event reads it. So the process leaves the recording first, and says
 * so; the call itself is made as ever. What a program does by syscall() or by
 * its own instruction isn't seen.
 */
#include "tracer/preload/hooks.h"

#include <linux/seccomp.h>
#include <stdarg.h>
#include <sys/prctl.h>

#include "tracer/leave.h"

static enum sonde_leave_why why_leave(int option, unsigned long value)
{
#if defined(__x86_64__) || defined(__i386__)
	if (option == PR_SET_TSC && value == PR_TSC_SIGSEGV)
		return SONDE_LEAVE_CLOCK;
	if (option == PR_SET_SECCOMP && value == SECCOMP_MODE_STRICT)
		return SONDE_LEAVE_STRICT;
#else
	(void)option;
	(void)value;
#endif
	return SONDE_LEAVE_NONE;
}

SONDE_EXPORT int prctl(int option, ...)
{
	enum sonde_leave_why why;
	unsigned long words[4];
	va_list list;

	/* As the C library takes them: all four, given or not. */
	va_start(list, option);
	for (int i = 0; i < 4; i++)
		words[i] = va_arg(list, unsigned long);
	va_end(list);
	why = why_leave(option, words[0]);
	if (why != SONDE_LEAVE_NONE)
		sonde_leave_recording(why);
	return SONDE_HOOK_BEHIND(prctl, NULL)(option, words[0], words[1],
					      words[2], words[3]);
}
