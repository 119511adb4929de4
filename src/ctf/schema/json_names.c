/* SPDX-License-Identifier: MIT */
/*
 * json_names.c - what reading and writing CTF 2 have in common: its words, and
 * what options may be.
 */
#include "ctf/schema/json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SCOPE(name) (1u << SONDE_SCOPE_##name)

const struct sonde_json_role sonde_json_roles[SONDE_ROLE_EVENT_ID + 1] = {
	[SONDE_ROLE_NONE] = { "", 0 },
	[SONDE_ROLE_MAGIC] = { "packet-magic-number", SCOPE(PACKET_HEADER) },
	[SONDE_ROLE_UUID] = { "metadata-stream-uuid", SCOPE(PACKET_HEADER) },
	[SONDE_ROLE_STREAM_CLASS_ID] = { "data-stream-class-id",
					 SCOPE(PACKET_HEADER) },
	[SONDE_ROLE_STREAM_ID] = { "data-stream-id", SCOPE(PACKET_HEADER) },
	[SONDE_ROLE_PACKET_BITS] = { "packet-total-length",
				     SCOPE(PACKET_CONTEXT) },
	[SONDE_ROLE_CONTENT_BITS] = { "packet-content-length",
				      SCOPE(PACKET_CONTEXT) },
	[SONDE_ROLE_TIME] = { "default-clock-timestamp",
			      SCOPE(PACKET_CONTEXT) | SCOPE(EVENT_HEADER) },
	[SONDE_ROLE_TIME_END] = { "packet-end-default-clock-timestamp",
				  SCOPE(PACKET_CONTEXT) },
	[SONDE_ROLE_DISCARDED] = { "discarded-event-record-counter-snapshot",
				   SCOPE(PACKET_CONTEXT) },
	[SONDE_ROLE_SEQUENCE] = { "packet-sequence-number",
				  SCOPE(PACKET_CONTEXT) },
	[SONDE_ROLE_EVENT_ID] = { "event-record-class-id",
				  SCOPE(EVENT_HEADER) },
};

const char *const sonde_json_origins[SONDE_NR_SCOPES + 1] = {
	[SONDE_SCOPE_PACKET_HEADER] = "packet-header",
	[SONDE_SCOPE_PACKET_CONTEXT] = "packet-context",
	[SONDE_SCOPE_EVENT_HEADER] = "event-record-header",
	[SONDE_SCOPE_COMMON_CONTEXT] = "event-record-common-context",
	[SONDE_SCOPE_EVENT_CONTEXT] = "event-record-specific-context",
	[SONDE_SCOPE_PAYLOAD] = "event-record-payload",
};

const char *const sonde_json_encodings[SONDE_ENCODING_UTF32LE + 2] = {
	[SONDE_ENCODING_UTF8] = "utf-8",
	[SONDE_ENCODING_UTF16BE] = "utf-16be",
	[SONDE_ENCODING_UTF16LE] = "utf-16le",
	[SONDE_ENCODING_UTF32BE] = "utf-32be",
	[SONDE_ENCODING_UTF32LE] = "utf-32le",
};

const char *const sonde_json_levels[SONDE_JSON_LEVELS] = {
	"emergency",      "alert",         "critical",     "error",
	"warning",        "notice",        "info",         "debug:system",
	"debug:program",  "debug:process", "debug:module", "debug:unit",
	"debug:function", "debug:line",    "debug",
};

static int compare_labels(const void *a, const void *b)
{
	const struct sonde_label *x = a;
	const struct sonde_label *y = b;

	return (x->low > y->low) - (x->low < y->low);
}

int sonde_json_options_overlap(const struct sonde_class *variant)
{
	struct sonde_label *all;
	size_t nr = 0;
	int overlap = 0;

	for (size_t i = 0; i < variant->nr_members; i++)
		nr += variant->members[i].nr_ranges;
	all = calloc(nr + 1, sizeof(*all));
	if (!all)
		return -ENOMEM;
	nr = 0;
	for (size_t i = 0; i < variant->nr_members; i++) {
		const struct sonde_member *option = &variant->members[i];

		for (size_t j = 0; j < option->nr_ranges; j++) {
			all[nr] = option->ranges[j];
			all[nr++].name = (const char *)option;
		}
	}
	qsort(all, nr, sizeof(*all), compare_labels);
	for (size_t i = 1; i < nr; i++) {
		/* One option may say the same twice. */
		if (all[i].low <= all[i - 1].high &&
		    all[i].name != all[i - 1].name)
			overlap = 1;
		else if (all[i].high < all[i - 1].high)
			all[i].high = all[i - 1].high;
	}
	free(all);
	return overlap;
}
