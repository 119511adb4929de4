/* SPDX-License-Identifier: MIT */
/*
 * fragments.c - the recorder's metadata as CTF 2 (fragments.h).
 */
#include "ctf/fragments.h"

#include <string.h>

#include "ctf/schema/json.h"
#include "ctf/schema/schema.h"

/* Where fragment `nr`, from 0, begins; the end, if there are fewer. */
static size_t find_fragment(const struct sonde_text *text, unsigned int nr)
{
	const char *end = text->bytes + text->size;
	const char *at = text->bytes;

	for (; nr > 0 && at; nr--)
		at = memchr(at + 1, SONDE_JSON_SEPARATOR,
			    (size_t)(end - at) - 1);
	return at ? (size_t)(at - text->bytes) : text->size;
}

int sonde_ctf_fragments(const struct sonde_text *tsdl, unsigned int skip,
			unsigned int nr, struct sonde_text *to)
{
	struct sonde_schema_error words;
	struct sonde_schema *schema;
	struct sonde_text all = { 0 };
	size_t start;
	int error = tsdl->error;

	if (!error)
		error = sonde_schema_parse(tsdl->bytes, tsdl->size, &words,
					   &schema);
	if (error)
		return error;
	error = sonde_schema_write_json(schema, &words, &all.bytes, &all.size);
	sonde_schema_free(schema);
	if (error)
		return error;
	start = find_fragment(&all, skip);
	sonde_text_append(to, all.bytes + start,
			  find_fragment(&all, skip + nr) - start);
	sonde_text_fini(&all);
	return to->error;
}
