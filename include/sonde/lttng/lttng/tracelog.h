/* SPDX-License-Identifier: MIT */
/*
 * lttng/tracelog.h - tracef() with a level, and where it stands. The event is
 * called by the level, as it was written: lttng_ust_tracelog:TRACE_WARNING.
 */
#ifndef SONDE_LTTNG_TRACELOG_H
#define SONDE_LTTNG_TRACELOG_H

#pragma GCC system_header

#include <sonde/lttng/detail/print.h>

/* clang-format off */

#define SONDE_LTTNG_TRACELOG_(print, level, format, ...) \
	do { \
		if (sonde_event_enabled(lttng_ust_tracelog, level)) { \
			struct sonde_lttng_text_ text_; \
			const char *made_ = sonde_lttng_##print##_( \
				&text_, format, ##__VA_ARGS__); \
			sonde_event_level(lttng_ust_tracelog, level, level, \
					  sonde_field(line, (int)__LINE__), \
					  sonde_string(file, __FILE__), \
					  sonde_string(func, __func__), \
					  sonde_string(msg, made_)); \
			sonde_lttng_printed_(&text_); \
		} \
	} while (0)

#define lttng_ust_tracelog(...) SONDE_LTTNG_TRACELOG_(print, __VA_ARGS__)
#define lttng_ust_vtracelog(level, format, ap) \
	SONDE_LTTNG_TRACELOG_(vprint, level, format, ap)
#if SONDE_LTTNG_OLD_
#define tracelog(...) lttng_ust_tracelog(__VA_ARGS__)
#define vtracelog(level, format, ap) lttng_ust_vtracelog(level, format, ap)
#endif

/* clang-format on */

#endif /* SONDE_LTTNG_TRACELOG_H */
