/* SPDX-License-Identifier: MIT */
/*
 * lttng/tracef.h - LTTng-UST's printf for traces: events lttng_ust_tracef:event
 * with one field, msg.
 */
#ifndef SONDE_LTTNG_TRACEF_H
#define SONDE_LTTNG_TRACEF_H

#pragma GCC system_header

#include <sonde/lttng/detail/print.h>

/* clang-format off */

#define SONDE_LTTNG_TRACEF_(print, format, ...) \
	do { \
		if (sonde_event_enabled(lttng_ust_tracef, event)) { \
			struct sonde_lttng_text_ text_; \
			const char *made_ = sonde_lttng_##print##_( \
				&text_, format, ##__VA_ARGS__); \
			sonde_event_level(lttng_ust_tracef, event, \
					  SONDE_DEBUG_LINE, \
					  sonde_string(msg, made_)); \
			sonde_lttng_printed_(&text_); \
		} \
	} while (0)

#define lttng_ust_tracef(...) SONDE_LTTNG_TRACEF_(print, __VA_ARGS__)
#define lttng_ust_vtracef(format, ap) SONDE_LTTNG_TRACEF_(vprint, format, ap)
#if SONDE_LTTNG_OLD_
#define tracef(...) lttng_ust_tracef(__VA_ARGS__)
#define vtracef(format, ap) lttng_ust_vtracef(format, ap)
#endif

/* clang-format on */

#endif /* SONDE_LTTNG_TRACEF_H */
