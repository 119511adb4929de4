/* SPDX-License-Identifier: MIT */
/*
 * schema_json.c - fuzz CTF 2 metadata (ctf/schema/json.h): any bytes are read
 * or refused with words that say where; and a schema that was read can be
 * written, read, and written to the same text again.
 */
#include "ctf/schema/schema.h"

#include <errno.h>

#include "fuzz.h"

static struct sonde_schema *read_schema(const char *text, size_t size)
{
	struct sonde_schema_error error = { "" };
	struct sonde_schema *schema = calloc(1, sizeof(*schema));
	int status;

	FUZZ_CHECK(schema);
	sonde_pool_init(&schema->pool, 16 << 20);
	status = sonde_schema_parse_json(schema, text, size, &error);
	if (status == 0)
		status = sonde_schema_finish(schema, &error);
	FUZZ_CHECK(status == 0 || status == -ENOMEM || status == -EINVAL);
	FUZZ_CHECK((status == -EINVAL) == (error.text[0] != 0));
	FUZZ_CHECK(!sonde_pool_check(&schema->pool));
	if (status == 0)
		return schema;
	sonde_schema_free(schema);
	return NULL;
}

/* Writes and frees the schema. */
static char *write_schema(struct sonde_schema *schema, size_t *ret_size)
{
	struct sonde_schema_error error;
	char *text = NULL;

	FUZZ_CHECK(schema);
	FUZZ_CHECK(sonde_schema_write_json(schema, &error, &text, ret_size) ==
		   0);
	sonde_schema_free(schema);
	return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct sonde_schema *schema = read_schema((const char *)bytes, size);
	size_t sizes[3];
	char *texts[3];

	if (!schema)
		return 0;
	/* The first text may differ: a name with a NUL in an object is cut,
	 * and may be another's then. */
	texts[0] = write_schema(schema, &sizes[0]);
	for (int i = 1; i < 3; i++)
		texts[i] = write_schema(read_schema(texts[i - 1], sizes[i - 1]),
					&sizes[i]);
	FUZZ_CHECK(sizes[1] == sizes[2]);
	FUZZ_CHECK(memcmp(texts[1], texts[2], sizes[1]) == 0);
	for (int i = 0; i < 3; i++)
		free(texts[i]);
	return 0;
}
