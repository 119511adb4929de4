/* SPDX-License-Identifier: MIT */
/*
 * event.c - see event.h. Fields are looked up each time: such events are some
 * thousands at most.
 */
#include "reader/names/event.h"

#include "reader/reader.h"

static bool event_field(const struct sonde_event *event, const char *name,
			struct sonde_value *ret_value)
{
	struct sonde_field field;

	return !sonde_event_class_field(event->cls, SONDE_SCOPE_PAYLOAD, name,
					&field) &&
	       !sonde_event_value(event, &field, ret_value);
}

uint64_t sonde_names_event_number(const struct sonde_event *event,
				  const char *field)
{
	struct sonde_value value;

	if (!event_field(event, field, &value) || value.kind > SONDE_KIND_INT)
		return 0;
	return value.u;
}

const char *sonde_names_event_text(const struct sonde_event *event,
				   const char *field, struct sonde_pool *pool)
{
	struct sonde_value value;

	if (!event_field(event, field, &value) ||
	    value.kind != SONDE_KIND_STRING || !value.length)
		return NULL;
	return sonde_pool_text(pool, value.text, value.length);
}
