/* SPDX-License-Identifier: MIT */
/* pairs_given.c - see pairs_given.h. */
#include "view/export/pairs_given.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "reader/reader.h"

/* What of a class's events is shown; the error is -ENOMEM or none. */
static int given_class(struct sonde_pair_given *given,
		       const struct sonde_event_class *cls,
		       struct sonde_pair_given_class *ret)
{
	const struct sonde_class *payload =
		sonde_event_class_scope(cls, SONDE_SCOPE_PAYLOAD);
	struct sonde_event_class_info info;
	int err = 0;

	sonde_event_class_get_info(cls, &info);
	if (!payload || payload->nr_members < 2 || info.internal)
		return 0;
	ret->is_entry = !strcmp(info.name, "function:entry");
	if (ret->is_entry)
		ret->shape = sonde_shape_from_member(&given->writer, payload, 1,
						     &given->pool, &err);
	else if (!strcmp(info.name, "function:exit"))
		ret->shape = sonde_shape_of_member(&given->writer, payload, 1,
						   &given->pool, &err);
	return err;
}

int sonde_pair_given_init(struct sonde_pair_given *given,
			  const struct sonde_trace *trace, bool json)
{
	size_t nr = sonde_trace_nr_event_classes(trace);
	int err;

	*given = (struct sonde_pair_given){ .is_json = json };
	sonde_pool_init(&given->pool, 0);
	sonde_writer_init(&given->writer,
			  json ? SONDE_STYLE_JSON : SONDE_STYLE_PLAIN, false);
	err = sonde_buffer_init(&given->text);
	given->classes =
		sonde_pool_get(&given->pool, nr + 1, sizeof(*given->classes));
	if (!given->classes)
		return -ENOMEM;
	for (size_t i = 0; i < nr && !err; i++)
		err = given_class(given, sonde_trace_event_class(trace, i),
				  &given->classes[i]);
	return err;
}

void sonde_pair_given_fini(struct sonde_pair_given *given)
{
	sonde_buffer_fini(&given->text);
	sonde_pool_fini(&given->pool);
	given->classes = NULL;
}

char *sonde_pair_given_text(struct sonde_pair_given *given,
			    const struct sonde_event *event)
{
	const struct sonde_pair_given_class *cls =
		&given->classes[sonde_event_class_index(event->cls)];
	bool is_object = cls->is_entry && given->is_json;

	if (!cls->shape)
		return NULL;
	given->text.used = 0;
	sonde_buffer_text(&given->text, "{", is_object);
	sonde_shape_put(&given->writer, cls->shape, event, SONDE_SCOPE_PAYLOAD,
			true, &given->text);
	sonde_buffer_text(&given->text, "}", is_object);
	return given->text.failed ? NULL :
				    strndup(given->text.text, given->text.used);
}
