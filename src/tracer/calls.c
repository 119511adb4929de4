/* SPDX-License-Identifier: MIT */
/*
 * calls.c - whether libsonde may make system calls here (calls.h).
 *
 * What isn't known is forbidden. The answer may change with each filter that
 * the program takes, so nothing is remembered.
 */
#include "tracer/calls.h"

#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "base/number.h"
#include "sys/seccomp.h"

bool sonde_calls_allowed(void)
{
	const char *known = secure_getenv(SONDE_SECCOMP_ENV);
	int nr = sonde_seccomp_filters("/proc/self/status");
	uint64_t nr_known;

	if (!nr)
		return true;
	if (!known)
		return false;
	if (!strcmp(known, "allow"))
		return true;
	return nr > 0 && sonde_number_parse(known, INT32_MAX, &nr_known) &&
	       (int)nr_known == nr;
}

bool sonde_calls_clock_readable(void)
{
#if defined(__x86_64__) || defined(__i386__)
	int mode = PR_TSC_ENABLE;

	return prctl(PR_GET_TSC, &mode) || mode != PR_TSC_SIGSEGV;
#else
	return true;
#endif
}
