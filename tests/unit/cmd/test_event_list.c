/* SPDX-License-Identifier: MIT */
/*
 * test_event_list.c - cmd/list.h: the same event told from this program's own
 * file and from the metadata of a trace; and both parsers with damaged input.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <sonde/tracepoint.h>

#include "cmd/list.h"
#include "ctf/schema/schema.h"
#include "ctf/tsdl.h"
#include "no_libsonde.h"
#include "types/desc.h"

static const struct sonde_desc *the_event;

/* ---- a libsonde that only remembers where the description is ---- */

void sonde_register(struct sonde_site *sites, size_t nr)
{
	if (nr > 0)
		the_event = sites[0].desc;
}

static int a = 1;
static unsigned short b[3];
static const char *text = "";
static double d;
static char name[8];

/* NOLINTNEXTLINE(readability-function-size): branches of the macro's */
static void site(void)
{
	sonde_event_level(
		prov, event, SONDE_WARNING, a, b, text, d, name,
		sonde_enum(e, a, sonde_label("the one", 1),
			   sonde_range("more", -5, 0)),
		sonde_sequence(seq, b, a), sonde_blob(bl, b, a),
		sonde_struct(s, a, sonde_struct(t, sonde_hex(h, a), text), d),
		sonde_variant(v, a, sonde_field(i, a), sonde_struct(p, a, d)),
		sonde_bits(bits, a, 5), sonde_network(net, b[0]), a);
}

static const char expected[] = "prov:event 4\n"
			       "a i32\n"
			       "b u16[3]\n"
			       "text string\n"
			       "d f64\n"
			       "name text[8]\n"
			       "e enum i32 {the one=1, more=-5..0}\n"
			       "seq u16[]\n"
			       "bl blob\n"
			       "s {a i32, t {h i32 hex, text string}, d f64}\n"
			       "v_tag enum u8 {i=0, p=1, none=2}\n"
			       "v <i i32 | p {a i32, d f64} | none {}>\n"
			       "bits u5\n"
			       "net u16 be\n"
			       "a_2 i32\n";

/* What was found, a line each. */
static char found[1 << 16];

static void say_found(const char *gap, const char *first, const char *second)
{
	size_t used = strlen(found);

	(void)snprintf(found + used, sizeof(found) - used, "%s", first);
	used = strlen(found);
	(void)snprintf(found + used, sizeof(found) - used, "%s%s\n", gap,
		       second);
}

static int find_event(void *user, const char *event, uint32_t loglevel)
{
	char level[16];

	(void)user;
	(void)snprintf(level, sizeof(level), "%u", loglevel);
	say_found(" ", event, level);
	return 0;
}

static int find_field(void *user, const char *field, const char *type)
{
	(void)user;
	say_found(" ", field, type);
	return 0;
}

static const struct sonde_list_sink sink = { .event = find_event,
					     .field = find_field };

static uint8_t *read_self(size_t *ret_size)
{
	FILE *file = fopen("/proc/self/exe", "rbe");
	uint8_t *bytes;
	long size;

	assert_non_null(file);
	assert_int_equal(fseek(file, 0, SEEK_END), 0);
	size = ftell(file);
	assert_true(size > 0);
	rewind(file);
	bytes = malloc((size_t)size);
	assert_non_null(bytes);
	assert_int_equal(fread(bytes, 1, (size_t)size, file), size);
	assert_int_equal(fclose(file), 0);
	*ret_size = (size_t)size;
	return bytes;
}

static void make_metadata(struct sonde_ctf_text *metadata)
{
	const struct sonde_ctf_config config = {
		.hostname = "host",
		.clock = { .name = "tsc",
			   .description = "a {brace",
			   .freq = 1000000000 },
	};
	const struct sonde_ctf_contexts contexts = { .stacks = false };

	sonde_tsdl_preamble(metadata, &config);
	sonde_tsdl_class(metadata, &config, 0, SONDE_COMPACT, "a program");
	assert_int_equal(sonde_tsdl_event(metadata, SONDE_CTF_PROGRAMS, 0, 1,
					  the_event, &contexts),
			 0);
	assert_int_equal(metadata->error, 0);
	assert_true(metadata->size > 100);
}

static int list_trace(const char *bytes, size_t size,
		      const struct sonde_list_sink *to)
{
	static struct sonde_list_text room;
	struct sonde_schema_error error = { .text = "" };
	struct sonde_schema *schema;
	int err = sonde_schema_parse(bytes, size, &error, &schema);

	assert_true(err != -EINVAL || error.text[0]);
	if (err)
		return err;
	for (size_t i = 0; i < schema->nr_streams && !err; i++)
		for (size_t k = 0; k < schema->streams[i]->nr_events && !err;
		     k++)
			err = sonde_list_class(schema->streams[i]->events[k],
					       schema->big_endian, to, &room);
	sonde_schema_free(schema);
	return err;
}

static void programs_tell_their_events(void **state)
{
	uint64_t malformed = 1;
	size_t size;
	uint8_t *bytes = read_self(&size);

	(void)state;
	found[0] = 0;
	assert_int_equal(sonde_list_elf(bytes, size, &sink, &malformed), 0);
	assert_string_equal(found, expected);
	assert_int_equal(malformed, 0);
	free(bytes);
}

static void metadata_tells_the_same(void **state)
{
	struct sonde_ctf_text metadata = { 0 };
	char *at;

	(void)state;
	make_metadata(&metadata);
	found[0] = 0;
	assert_int_equal(list_trace(metadata.bytes, metadata.size, &sink), 0);
	at = strstr(found, "prov:event");
	assert_non_null(at);
	assert_string_equal(at, expected);
	sonde_ctf_text_fini(&metadata);
}

static void what_is_no_elf_file_is_told_apart(void **state)
{
	uint64_t malformed;
	size_t size;
	uint8_t *bytes = read_self(&size);

	(void)state;
	assert_int_equal(sonde_list_elf("#!/bin/sh\n", 10, &sink, &malformed),
			 -ENOEXEC);
	assert_int_equal(sonde_list_elf(bytes, 3, &sink, &malformed), -ENOEXEC);
	assert_int_equal(sonde_list_elf(bytes, 10, &sink, &malformed), -EINVAL);
	bytes[4] = 3; /* neither of 32 bits nor of 64 */
	assert_int_equal(sonde_list_elf(bytes, size, &sink, &malformed),
			 -ENOTSUP);
	free(bytes);
}

static uint32_t next_random(uint32_t *seed)
{
	*seed = *seed * 1664525u + 1013904223u;
	return *seed >> 8;
}

static void damaged_elf_files_do_no_harm(void **state)
{
	uint64_t malformed;
	uint32_t seed = 7;
	size_t size;
	uint8_t *bytes = read_self(&size);
	uint8_t *copy = malloc(size);
	uint64_t sections;

	(void)state;
	assert_non_null(copy);
	print_message("seed %u\n", seed);
	memcpy(&sections, bytes + 40, sizeof(sections));
	for (int i = 0; i < 300; i++) {
		size_t cut = i % 3 ? size : next_random(&seed) % size;

		memcpy(copy, bytes, size);
		for (int k = 0; k < 8; k++) {
			size_t from = i % 2 ? sections : 0;
			size_t span = i % 2 ? size - sections : 64;

			copy[from + next_random(&seed) % span] =
				(uint8_t)next_random(&seed);
		}
		found[0] = 0;
		(void)sonde_list_elf(copy, cut, &sink, &malformed);
	}
	free(copy);
	free(bytes);
}

static void damaged_metadata_does_no_harm(void **state)
{
	static const char marks[] = "{}[]<>;:=,\"\\_ 0a\n";
	struct sonde_ctf_text metadata = { 0 };
	uint32_t seed = 8;

	(void)state;
	print_message("seed %u\n", seed);
	make_metadata(&metadata);
	for (size_t i = 0; i <= metadata.size; i++) {
		char *copy = malloc(i + 1);

		assert_non_null(copy);
		memcpy(copy, metadata.bytes, i);
		found[0] = 0;
		(void)list_trace(copy, i, &sink);
		free(copy);
	}
	for (int i = 0; i < 5000; i++) {
		char *copy = malloc(metadata.size + 1);

		assert_non_null(copy);
		memcpy(copy, metadata.bytes, metadata.size);
		for (int k = 0; k < 4; k++)
			copy[10 + next_random(&seed) % (metadata.size - 10)] =
				marks[next_random(&seed) % sizeof(marks)];
		found[0] = 0;
		(void)list_trace(copy, metadata.size, &sink);
		free(copy);
	}
	sonde_ctf_text_fini(&metadata);
}

static int refuse(void *user, const char *event, uint32_t loglevel)
{
	(void)user;
	(void)event;
	(void)loglevel;
	return -E2BIG;
}

static void what_the_sink_returns_comes_back(void **state)
{
	const struct sonde_list_sink refusing = { .event = refuse,
						  .field = find_field };
	struct sonde_ctf_text metadata = { 0 };
	uint64_t malformed;
	size_t size;
	uint8_t *bytes = read_self(&size);

	(void)state;
	make_metadata(&metadata);
	assert_int_equal(sonde_list_elf(bytes, size, &refusing, &malformed),
			 -E2BIG);
	assert_int_equal(list_trace(metadata.bytes, metadata.size, &refusing),
			 -E2BIG);
	sonde_ctf_text_fini(&metadata);
	free(bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(programs_tell_their_events),
		cmocka_unit_test(metadata_tells_the_same),
		cmocka_unit_test(what_is_no_elf_file_is_told_apart),
		cmocka_unit_test(damaged_elf_files_do_no_harm),
		cmocka_unit_test(damaged_metadata_does_no_harm),
		cmocka_unit_test(what_the_sink_returns_comes_back),
	};

	site();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
