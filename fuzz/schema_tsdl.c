/* SPDX-License-Identifier: MIT */
/*
 * schema_tsdl.c - fuzz the reading of CTF 1.8 metadata, ctf/schema/: whatever
 * is accepted keeps the invariants of schema.h; metadata in packets means what
 * its text means.
 *
 * First byte: 0, the rest is a file `metadata`; 1, the rest is text that is
 * put into packets as the second byte says; else all of it is text.
 */
#include "ctf/schema/schema.h"

#include <errno.h>

#include "ctf/schema/lookup.h"
#include "fuzz.h"

#define HEAD_BYTES   37
#define PACKET_MAGIC 0x75d11d57u

struct check {
	const struct sonde_schema *schema;
	struct sonde_lookup seen;
	int nr_regs;
};

static bool needs_ref(const struct sonde_class *cls)
{
	return cls->kind == SONDE_KIND_VARIANT ||
	       cls->kind == SONDE_KIND_OPTIONAL ||
	       cls->kind == SONDE_KIND_SEQUENCE ||
	       (cls->kind == SONDE_KIND_STRING &&
		cls->length == SONDE_LENGTH_FIELD);
}

static void check_class(struct check *check, struct sonde_class *cls, int depth)
{
	uint32_t align = cls->align_bits;
	struct sonde_lookup_key key = { cls, NULL, 0 };

	FUZZ_CHECK(depth <= SONDE_SCHEMA_DEPTH);
	FUZZ_CHECK(sonde_lookup_add(&check->seen, &key, cls) == 0);
	FUZZ_CHECK(align > 0 && (align & (align - 1)) == 0 &&
		   align <= 1u << 20);
	FUZZ_CHECK(cls->reg >= -1 && cls->reg < check->nr_regs);
	FUZZ_CHECK(cls->clock < (int)check->schema->nr_clocks);
	if (cls->kind <= SONDE_KIND_FLOAT)
		FUZZ_CHECK(cls->bits >= 1 && cls->bits <= 64 && !cls->ref);
	if (cls->length == SONDE_LENGTH_FIXED)
		FUZZ_CHECK(cls->count <= 1ull << 32);
	if (needs_ref(cls)) {
		key.owner = cls->ref;
		FUZZ_CHECK(cls->ref && cls->ref->reg >= 0);
		FUZZ_CHECK(cls->ref->reg < check->nr_regs);
		/* decoded before: met before */
		FUZZ_CHECK(sonde_lookup_find(&check->seen, &key));
	}
	for (size_t i = 0; i < cls->nr_members; i++) {
		if (cls->kind == SONDE_KIND_STRUCT)
			FUZZ_CHECK(cls->members[i].cls->align_bits <= align ||
				   depth == SONDE_SCHEMA_DEPTH);
		check_class(check, cls->members[i].cls, depth + 1);
	}
}

static void check_scopes(struct check *check, struct sonde_class *const *scopes)
{
	for (int i = 0; i < SONDE_NR_SCOPES; i++) {
		if (!scopes[i])
			continue;
		FUZZ_CHECK(scopes[i]->kind == SONDE_KIND_STRUCT);
		check_class(check, scopes[i], 1);
	}
}

static void check_schema(const struct sonde_schema *schema)
{
	struct check check = { .schema = schema, .nr_regs = SONDE_SCHEMA_REGS };

	if (schema->packet_header)
		check_class(&check, schema->packet_header, 1);
	for (size_t i = 0; i < schema->nr_clocks; i++)
		FUZZ_CHECK(schema->clocks[i].info.frequency > 0);
	for (size_t i = 0; i < schema->nr_streams; i++) {
		const struct sonde_stream_class *stream = schema->streams[i];

		FUZZ_CHECK(stream->clock >= -1 &&
			   stream->clock < (int)schema->nr_clocks);
		FUZZ_CHECK(stream->nr_regs <= SONDE_SCHEMA_REGS);
		check.nr_regs = stream->nr_regs;
		check_scopes(&check, stream->scopes);
		for (size_t k = 0; k < stream->nr_events; k++) {
			check.nr_regs = stream->events[k]->nr_regs;
			FUZZ_CHECK(check.nr_regs >= stream->nr_regs &&
				   check.nr_regs <= SONDE_SCHEMA_REGS);
			check_scopes(&check, stream->events[k]->scopes);
		}
	}
	sonde_lookup_fini(&check.seen);
}

/* Parses a copy; NULL if it is refused, with an error in words. */
static struct sonde_schema *parse(const void *bytes, size_t size)
{
	struct sonde_schema *schema = NULL;
	struct sonde_schema_error error = { "" };
	void *copy = fuzz_copy(bytes, size);
	int status = sonde_schema_parse(copy, size, &error, &schema);

	free(copy);
	FUZZ_CHECK(status == 0 || status == -EINVAL);
	FUZZ_CHECK((status == 0) == (schema != NULL));
	FUZZ_CHECK(status == 0 || error.text[0]);
	FUZZ_CHECK(strlen(error.text) < sizeof(error.text));
	if (schema)
		check_schema(schema);
	return schema;
}

static void put_u32(uint8_t *at, uint32_t value, bool big_endian)
{
	for (int i = 0; i < 4; i++)
		at[i] = (uint8_t)(value >> 8 * (big_endian ? 3 - i : i));
}

/* Packets of `step` bytes of text each, and some padding. */
static uint8_t *pack(const uint8_t *text, size_t size, uint8_t how,
		     size_t *ret_size)
{
	bool big_endian = how & 1;
	size_t padding = how >> 1 & 7;
	size_t step = 1 + (how >> 4) * 40;
	size_t nr = size / step + 1;
	uint8_t *packets = calloc(nr, HEAD_BYTES + step + padding);
	uint8_t *at = packets;

	FUZZ_CHECK(packets);
	for (size_t done = 0; done < size; done += step) {
		size_t part = size - done < step ? size - done : step;
		uint32_t bits = (uint32_t)(HEAD_BYTES + part) * 8;

		put_u32(at, PACKET_MAGIC, big_endian);
		put_u32(at + 24, bits, big_endian);
		put_u32(at + 28, bits + (uint32_t)padding * 8, big_endian);
		at[35] = 1;
		at[36] = 8;
		memcpy(at + HEAD_BYTES, text + done, part);
		at += HEAD_BYTES + part + padding;
	}
	*ret_size = (size_t)(at - packets);
	return packets;
}

static bool same(const struct sonde_schema *a, const struct sonde_schema *b)
{
	if (!a || !b)
		return a == b;
	if (a->nr_streams != b->nr_streams || a->nr_clocks != b->nr_clocks ||
	    a->nr_env != b->nr_env)
		return false;
	for (size_t i = 0; i < a->nr_streams; i++) {
		if (a->streams[i]->nr_events != b->streams[i]->nr_events ||
		    a->streams[i]->nr_regs != b->streams[i]->nr_regs)
			return false;
	}
	return true;
}

static void check_packets(const uint8_t *text, size_t size, uint8_t how)
{
	struct sonde_schema *plain;
	struct sonde_schema *packed;
	size_t packets_size;
	uint8_t *packets;

	/* A text that is taken for packets or fragments is none. */
	if (size < 4 || text[0] == 0x75 || text[0] == 0x57 || text[0] == '{' ||
	    text[0] == 0x1e)
		return;
	packets = pack(text, size, how, &packets_size);
	plain = parse(text, size);
	packed = parse(packets, packets_size);
	FUZZ_CHECK(same(plain, packed));
	sonde_schema_free(plain);
	sonde_schema_free(packed);
	free(packets);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	if (size > 1 && bytes[0] == 1)
		check_packets(bytes + 2, size - 2, bytes[1]);
	else if (size > 0 && bytes[0] == 0)
		sonde_schema_free(parse(bytes + 1, size - 1));
	else
		sonde_schema_free(parse(bytes, size));
	return 0;
}
