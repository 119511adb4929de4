/* SPDX-License-Identifier: MIT */
/*
 * hint.c - what may have been meant by a name that nothing in a trace has.
 *
 * All names of fields or events are tried; this costs their number times the
 * names' lengths, once, when an error is told.
 */
#include "reader/core/hint.h"

#include <stdio.h>
#include <string.h>

#include "base/nearest.h"
#include "reader/reader.h"
#include "types/select.h"

/* Among internal ones, or among all others. */
static bool is_called(const struct sonde_trace *trace, const char *glob,
		      size_t length, bool is_internal)
{
	char text[SONDE_GLOB_MAX];

	if (length >= sizeof(text))
		return false;
	memcpy(text, glob, length);
	text[length] = '\0';
	for (size_t i = 0; i < trace->nr_classes; i++)
		if (trace->classes[i]->info.internal == is_internal &&
		    sonde_glob_match(text, trace->classes[i]->info.name))
			return true;
	return false;
}

static void try_members(struct sonde_nearest *nearest,
			const struct sonde_event_class *event)
{
	for (int i = 0; i < SONDE_NR_SCOPES; i++) {
		const struct sonde_class *cls = event->scopes[i];

		for (size_t k = 0; cls && k < cls->nr_members; k++)
			sonde_nearest_try(nearest, cls->members[k].name);
	}
}

void sonde_hint_field(const struct sonde_trace *trace, const char *name,
		      char *to, size_t size)
{
	struct sonde_nearest nearest;

	sonde_nearest_begin(&nearest, name);
	for (size_t i = 0; sonde_filter_own(i); i++)
		sonde_nearest_try(&nearest, sonde_filter_own(i));
	for (size_t i = 0; i < trace->nr_classes; i++)
		if (!trace->classes[i]->info.internal)
			try_members(&nearest, trace->classes[i]);
	for (size_t i = 0; i < trace->nr_classes; i++)
		if (!trace->classes[i]->info.internal)
			sonde_nearest_try_quoted(&nearest,
						 trace->classes[i]->info.name);
	(void)snprintf(to, size, "%s", sonde_nearest_hint(&nearest));
}

bool sonde_hint_event(const struct sonde_trace *trace, const char *glob,
		      size_t length, char *to, size_t size)
{
	struct sonde_nearest nearest;
	char name[SONDE_NEAREST_MAX] = "";

	if (is_called(trace, glob, length, false))
		return true;
	if (is_called(trace, glob, length, true)) {
		(void)snprintf(to, size, "%s", SONDE_HINT_INTERNAL);
		return false;
	}
	if (length < sizeof(name))
		memcpy(name, glob, length);
	sonde_nearest_begin(&nearest, name);
	for (size_t i = 0; i < trace->nr_classes; i++)
		if (!trace->classes[i]->info.internal)
			sonde_nearest_try_event(&nearest,
						trace->classes[i]->info.name);
	(void)snprintf(to, size, "%s", sonde_nearest_hint(&nearest));
	return false;
}
