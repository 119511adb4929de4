/* SPDX-License-Identifier: MIT */
/*
 * sink.h - what `sonde list`'s parsers deliver, looked at and counted.
 */
#ifndef FUZZ_SINK_H
#define FUZZ_SINK_H

#include "cmd/list.h"
#include "ctf/schema/schema.h"
#include "fuzz.h"
#include "types/sdt.h"

struct fuzz_found {
	uint32_t nr_events;
	uint32_t nr_fields;
};

/* It goes to a terminal. */
static inline void fuzz_check_printable(const char *text)
{
	for (; *text; text++)
		FUZZ_CHECK(*text >= ' ' && *text <= '~');
}

static inline int fuzz_find_event(void *user, const char *name,
				  uint32_t loglevel)
{
	struct fuzz_found *found = user;

	(void)loglevel;
	fuzz_check_printable(name);
	found->nr_events++;
	return 0;
}

static inline int fuzz_find_description(void *user, const char *by)
{
	struct fuzz_found *found = user;

	FUZZ_CHECK(found->nr_events > 0);
	fuzz_check_printable(by);
	return 0;
}

static inline int fuzz_find_field(void *user, const char *name,
				  const char *type)
{
	struct fuzz_found *found = user;

	FUZZ_CHECK(found->nr_events > 0);
	fuzz_check_printable(name);
	fuzz_check_printable(type);
	FUZZ_CHECK(strlen(type) < SONDE_LIST_TYPE_MAX);
	found->nr_fields++;
	return 0;
}

static inline int fuzz_find_site(void *user, const struct sonde_sdt_site *site)
{
	(void)user;
	fuzz_check_printable(site->provider);
	fuzz_check_printable(site->name);
	fuzz_check_printable(site->arguments);
	return 0;
}

static inline struct sonde_list_sink fuzz_sink(struct fuzz_found *found)
{
	*found = (struct fuzz_found){ 0 };
	return (struct sonde_list_sink){ .user = found,
					 .event = fuzz_find_event,
					 .field = fuzz_find_field,
					 .described = fuzz_find_description,
					 .site = fuzz_find_site };
}

/* All that metadata declare; 0, or the error of reading them, in words. */
static inline int fuzz_list_trace(const void *bytes, size_t size,
				  const struct sonde_list_sink *sink,
				  struct sonde_schema_error *words)
{
	static struct sonde_list_text room;
	struct sonde_schema *schema;
	int error = sonde_schema_parse(bytes, size, words, &schema);

	if (error)
		return error;
	for (size_t i = 0; i < schema->nr_streams; i++)
		for (size_t k = 0; k < schema->streams[i]->nr_events; k++)
			FUZZ_CHECK(!sonde_list_class(
				schema->streams[i]->events[k],
				schema->big_endian, sink, &room));
	sonde_schema_free(schema);
	return 0;
}

#endif /* FUZZ_SINK_H */
