/* SPDX-License-Identifier: MIT */
/*
 * log.c - what a program logs as events.
 *
 *	log:syslog	{level, facility, caller, text}
 *			syslog, vsyslog, and what _FORTIFY_SOURCE makes of them
 *
 * `level` and `facility` are those of the call: a facility of 0 means what
 * openlog() has set, which can't be asked for. What setlogmask() masks out is not
 * logged, and no event. The text is as it is logged, up to TEXT_MOST bytes.
 *
 * The text is made a second time, before the C library makes its own: a
 * printf() may take memory, which is no event of --malloc then. errno is as the
 * program left it, for %m.
 */
#include "tracer/preload/hooks.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <syslog.h>

#define TEXT_MOST 1023

__attribute__((constructor)) static void choose_log(void)
{
	if (sonde_hook_named("log"))
		sonde_hook_groups |= SONDE_HOOK_LOG;
}

static void put_logged(int priority, const char *text, const void *caller)
{
	sonde_event(log, syslog,
		    sonde_enum(level, (uint8_t)LOG_PRI(priority),
			       sonde_label("emerg", 0), sonde_label("alert", 1),
			       sonde_label("crit", 2), sonde_label("err", 3),
			       sonde_label("warning", 4),
			       sonde_label("notice", 5), sonde_label("info", 6),
			       sonde_label("debug", 7)),
		    sonde_field(facility, (uint8_t)LOG_FAC(priority)), caller,
		    sonde_string_max(text, text, TEXT_MOST));
}

/* `caller`: of the hook. */
__attribute__((format(printf, 2, 0))) static void
note_log(int priority, const char *format, va_list args, const void *caller)
{
	char text[TEXT_MOST + 1] = "";
	int kept = errno;
	va_list copy;

	if (!sonde_hook_wanted(SONDE_HOOK_LOG))
		return;
	sonde_hook_busy = true;
	/* only asked NOLINTNEXTLINE(concurrency-mt-unsafe) */
	if (setlogmask(0) & LOG_MASK(LOG_PRI(priority))) {
		va_copy(copy, args);
		errno = kept;
		(void)vsnprintf(text, sizeof(text), format, copy);
		va_end(copy);
		put_logged(priority, text, caller);
	}
	sonde_hook_busy = false;
	errno = kept;
}

/* ---- the hooks ---- */

/* clang-format off */
#define HOOK(name, ...) SONDE_HOOK_AS(void, log_##name, #name, __VA_ARGS__)
/* What looks a function up may change errno, which %m is about. */
#define GO_ON(name, ...)                                                    \
	do {                                                                \
		int kept = errno;                                           \
		__typeof__(&log_##name) behind =                            \
			SONDE_HOOK_BEHIND_AS(log_##name, #name, NULL);      \
									    \
		errno = kept;                                               \
		behind(__VA_ARGS__);                                        \
	} while (0)

__attribute__((format(printf, 2, 0)))
HOOK(vsyslog, int priority, const char *format, va_list args)
{
	note_log(priority, format, args, __builtin_return_address(0));
	GO_ON(vsyslog, priority, format, args);
}

__attribute__((format(printf, 3, 0)))
HOOK(__vsyslog_chk, int priority, int flag, const char *format, va_list args)
{
	note_log(priority, format, args, __builtin_return_address(0));
	GO_ON(__vsyslog_chk, priority, flag, format, args);
}

__attribute__((format(printf, 2, 3)))
HOOK(syslog, int priority, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	note_log(priority, format, args, __builtin_return_address(0));
	GO_ON(vsyslog, priority, format, args);
	va_end(args);
}

__attribute__((format(printf, 3, 4)))
HOOK(__syslog_chk, int priority, int flag, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	note_log(priority, format, args, __builtin_return_address(0));
	GO_ON(__vsyslog_chk, priority, flag, format, args);
	va_end(args);
}
/* clang-format on */
