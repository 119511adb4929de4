/* SPDX-License-Identifier: MIT */
/*
 * asked.h - which events of libsonde-preload.so may happen: what SONDE_HOOKS asks
 * for, a list of words with commas.
 *
 * The library makes no others known, and the recorder counts no others when it
 * chooses the kind of headers: 30 events have short ones, and the library has
 * more than that.
 */
#ifndef RING_ASKED_H
#define RING_ASKED_H

#include <string.h>

#include "base/text.h"

#define SONDE_ASKED_LIBRARY "libsonde-preload.so"

static inline bool sonde_asked(const char *words, const char *provider)
{
	/* By their events' providers. */
	static const char *const groups[][2] = {
		{ "function", "functions" }, { "io", "io" },
		{ "lock", "locks" },         { "log", "log" },
		{ "malloc", "malloc" },
	};

	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++)
		if (!strcmp(groups[i][0], provider))
			return sonde_text_has(words, strlen(words), ",",
					      groups[i][1]);
	return true;
}

#endif /* RING_ASKED_H */
