/* SPDX-License-Identifier: MIT */
/*
 * parse.c - a metadata file becomes a schema: unpacked, parsed by the language
 * that it is in, checked as a whole (schema.h).
 *
 * Metadata may define a type by two copies of another one, that one by two of
 * a third, and so on: a page of text unfolds to more than any memory. The
 * pool's limit ends that, as a complaint and not as a lack of memory.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ctf/schema/schema.h"

/* What a text may unfold to: real ones take four to six times their size. */
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
#define POOL_LIMIT_MIB 1
#else
#define POOL_LIMIT_MIB 64
#endif
#define POOL_LIMIT_TIMES 16
#define PACKET_MAGIC     0x75d11d57u

/* A fragment begins with a record separator. */
static bool is_json(const char *text, size_t size)
{
	return size > 0 && (text[0] == 0x1e || text[0] == '{');
}

/* By its first line a text, unlike packets, says what it is. */
static void check_first_line(struct sonde_schema *schema, const char *text,
			     size_t size)
{
	static const char begin[] = "/* CTF";
	size_t at = sizeof(begin) - 1;

	if (is_json(text, size))
		return;
	if (size > at && memcmp(text, begin, at) == 0) {
		while (at < size && text[at] == ' ')
			at++;
		if (size - at > 3 && memcmp(text + at, "1.8", 3) == 0 &&
		    (text[at + 3] < '0' || text[at + 3] > '9'))
			return;
	}
	sonde_schema_warn(schema, "line 1, column 1: the first line is not "
				  "'/* CTF 1.8 */'");
}

static int parse_text(struct sonde_schema *schema, const char *text,
		      size_t size, struct sonde_schema_error *error)
{
	int status;

	if (is_json(text, size))
		status = sonde_schema_parse_json(schema, text, size, error);
	else
		status = sonde_schema_parse_tsdl(schema, text, size, error);
	if (status == 0)
		status = sonde_schema_finish(schema, error);
	if (status == -ENOMEM && schema->pool.full)
		status = sonde_schema_complain(
			error, "the types unfold to more than %zu MiB",
			schema->pool.limit >> 20);
	return status;
}

static int parse_packets(struct sonde_schema *schema, const void *bytes,
			 size_t size, struct sonde_schema_error *error)
{
	char *text;
	size_t text_size;
	int status = sonde_schema_unpack(bytes, size, error, &text, &text_size);

	if (status)
		return status;
	status = parse_text(schema, text, text_size, error);
	free(text);
	return status;
}

/* The byte order of metadata in packets, 'l' or 'b'; 0 if it isn't. */
static char packet_order(const void *bytes, size_t size)
{
	const unsigned char *at = bytes;
	uint32_t word = 0;

	for (size_t i = 0; i < 4 && size >= 4; i++)
		word |= (uint32_t)at[i] << (8 * i);
	if (word == PACKET_MAGIC)
		return 'l';
	return word == __builtin_bswap32(PACKET_MAGIC) ? 'b' : 0;
}

int sonde_schema_parse(const void *bytes, size_t size,
		       struct sonde_schema_error *error,
		       struct sonde_schema **ret_schema)
{
	struct sonde_schema *schema = calloc(1, sizeof(*schema));
	char order = packet_order(bytes, size);
	int status;

	if (!schema)
		return -ENOMEM;
	error->text[0] = 0;
	sonde_pool_init(&schema->pool, ((size_t)POOL_LIMIT_MIB << 20) +
					       size * POOL_LIMIT_TIMES);
	schema->big_endian = order == 'b';
	if (order)
		status = parse_packets(schema, bytes, size, error);
	else
		status = parse_text(schema, bytes, size, error);
	if (!order)
		check_first_line(schema, bytes, size);
	if (status) {
		sonde_schema_free(schema);
		return status;
	}
	*ret_schema = schema;
	return 0;
}
