/* SPDX-License-Identifier: MIT */
/*
 * test_ctf_version2.c - the recorder's metadata as CTF 2: it says what that of
 * CTF 1.8 says, beside the same stream files, and at every instant.
 */
#include "unit.h"

#include "ctf/os.h"
#include "ctf/schema/schema.h"
#include "ctf/text.h"
#include "test_ctf_witness.h"

#define NR_EVENTS 5

static struct sonde_ctf_config config = {
	.uuid = { 0x1a, 0xbc, 0xde, 0xf0, 5 },
	.hostname = "a \"host\"\\\n\x01\xff!",
	.trace_name = "name",
	.clock = { .name = "tsc",
		   .description = "says \"tick\", \\ and\na line",
		   .freq = 2600000000,
		   .offset_s = 1700000000 },
	.packet_max = 4000,
	.file_size = 16384,
};

/* ---- events of all kinds ---- */

static void put_numbers(struct maker *maker)
{
	maker_field(maker, "a", SONDE_TYPE_INT, 8, 1, SONDE_FIELD_SIGNED);
	maker_field(maker, "b", SONDE_TYPE_INT, 16, 1, SONDE_FIELD_NETWORK);
	maker_field(maker, "c", SONDE_TYPE_INT, 32, 1, SONDE_FIELD_HEX);
	maker_field(maker, "d", SONDE_TYPE_INT, 8, 1,
		    SONDE_FIELD_CHAR | SONDE_FIELD_SIGNED);
	maker_field(maker, "e", SONDE_TYPE_FLOAT, 64, 1, 0);
	maker_field(maker, "f", SONDE_TYPE_BITS, 5, 1, 0);
}

static void put_texts(struct maker *maker)
{
	maker_field(maker, "s", SONDE_TYPE_STRING, 0, 0, 0);
	maker_field(maker, "t", SONDE_TYPE_TEXT, 0, 6, 0);
	maker_field(maker, "b", SONDE_TYPE_BLOB, 0, 0, 0);
	maker_open(maker, "a", SONDE_TYPE_ARRAY, 0, 2, 0);
	maker_field(maker, "", SONDE_TYPE_INT, 16, 1, SONDE_FIELD_NETWORK);
	maker_close(maker);
	maker_open(maker, "q", SONDE_TYPE_SEQUENCE, 0, 0, 0);
	maker_field(maker, "", SONDE_TYPE_INT, 32, 1, SONDE_FIELD_SIGNED);
	maker_close(maker);
}

static void put_variant(struct maker *maker)
{
	maker_open(maker, "kind", SONDE_TYPE_ENUM, 8, 2, 0);
	maker_label(maker, "a number", 0, 0);
	maker_label(maker, "int", 1, 1);
	maker_close(maker);
	maker_open(maker, "u", SONDE_TYPE_VARIANT, 0, 2, 0);
	maker_field(maker, "n", SONDE_TYPE_INT, 32, 1, 0);
	maker_field(maker, "bytes", SONDE_TYPE_BLOB, 0, 0, 0);
	maker_close(maker);
	maker_open(maker, "in", SONDE_TYPE_STRUCT, 0, 1, 0);
	maker_field(maker, "_Bool", SONDE_TYPE_INT, 8, 1, 0);
	maker_close(maker);
}

/* So long that it takes more than a page. */
static void put_labels(struct maker *maker)
{
	maker_open(maker, "long", SONDE_TYPE_ENUM, 32, 120, SONDE_FIELD_SIGNED);
	for (int i = 0; i < 120; i++)
		maker_label(maker, i % 2 ? "say \"no\" \\ to a long label" : "",
			    i - 7, i);
	maker_close(maker);
}

static void put_nothing(struct maker *maker)
{
	(void)maker;
}

static void (*const events[NR_EVENTS])(struct maker *maker) = {
	put_numbers, put_texts, put_variant, put_labels, put_nothing
};

/* ---- traces ---- */

static int add_event(struct sonde_ctf_trace *trace, uint32_t class_id,
		     uint32_t i)
{
	struct maker maker;
	char name[16];

	(void)snprintf(name, sizeof(name), "event%u", i);
	maker_start(&maker, "test", name, (uint8_t)(i % (SONDE_DEBUG + 1)));
	events[i](&maker);
	return sonde_ctf_trace_add_event(trace, class_id, i + 1,
					 maker_finish(&maker));
}

static int add_packet(struct sonde_ctf_trace *trace, uint32_t class_id,
		      uint32_t i)
{
	struct sonde_ctf_stream_config stream_config = {
		.class_id = class_id, .instance = i, .name = i ? "b" : "a"
	};
	struct sonde_ctf_stream *stream = NULL;
	uint8_t record[17] = { SONDE_COMPACT_ESCAPE };
	int error = sonde_ctf_stream_open(trace, &stream_config, &stream);

	if (error)
		return error;
	error = sonde_ctf_packet_begin(stream, 1000, 0);
	if (!error)
		error = sonde_ctf_packet_append(stream, record, sizeof(record));
	if (!error)
		error = sonde_ctf_packet_publish(stream, 2000, 0);
	if (!error)
		error = sonde_ctf_stream_close(stream, 3000, 0);
	return error;
}

/* Two classes with all events, known bit by bit; each with a stream. */
static int record(const struct scratch *scratch, enum sonde_ctf_version version)
{
	struct sonde_ctf_trace *trace = NULL;
	int error;

	config.version = version;
	error = sonde_ctf_trace_create(scratch->trace, &config, &trace);
	for (uint32_t i = 0; i < 2 && !error; i++) {
		error = sonde_ctf_trace_add_class(
			trace, 3 + i, i ? SONDE_LARGE : SONDE_COMPACT, "c");
		for (uint32_t k = 0; k < NR_EVENTS && !error; k++) {
			error = add_event(trace, 3 + i, k);
			if (!error && k % 2)
				error = sonde_ctf_trace_sync(trace);
		}
		if (!error)
			error = add_packet(trace, 3 + i, i);
	}
	if (!error)
		error = sonde_ctf_trace_set_clock(trace, 999999999, 1700000001,
						  5);
	return error ? error : sonde_ctf_trace_close(trace);
}

static char *trace_file(const struct scratch *scratch, const char *name)
{
	char path[160];

	(void)snprintf(path, sizeof(path), "%s/%s", scratch->trace, name);
	return read_file(path);
}

/* The fragments that metadata of either version means; 0 if it's valid. */
static int fragments_of(char *metadata, struct sonde_ctf_text *ret_fragments)
{
	struct sonde_schema_error words;
	struct sonde_schema *schema;
	int error =
		sonde_schema_parse(metadata, strlen(metadata), &words, &schema);

	*ret_fragments = (struct sonde_ctf_text){ 0 };
	if (error)
		return error;
	error = sonde_schema_write_json(schema, &words, &ret_fragments->bytes,
					&ret_fragments->size);
	sonde_schema_free(schema);
	return error;
}

/* A file of two traces. */
static void assert_same_file(const struct scratch scratch[2], const char *name)
{
	char paths[2][160];
	char *argv[] = { (char[]){ "cmp" }, paths[0], paths[1], NULL };

	for (int i = 0; i < 2; i++)
		(void)snprintf(paths[i], sizeof(paths[i]), "%s/%s",
			       scratch[i].trace, name);
	assert_int_equal(run(argv, "/dev/null", "/dev/null"), 0);
}

static void both_versions_say_the_same(void **state)
{
	struct sonde_ctf_text fragments[2];
	struct scratch scratch[2];
	char *metadata[2];

	(void)state;
	for (int i = 0; i < 2; i++) {
		scratch_make(&scratch[i]);
		assert_int_equal(record(&scratch[i],
					i ? SONDE_CTF_2 : SONDE_CTF_1_8),
				 0);
		metadata[i] = trace_file(&scratch[i], "metadata");
		assert_int_equal(fragments_of(metadata[i], &fragments[i]), 0);
	}
	assert_int_equal(metadata[0][0], '/');
	assert_int_equal(metadata[1][0], '\x1e');
	assert_int_equal(fragments[0].size, fragments[1].size);
	assert_memory_equal(fragments[0].bytes, fragments[1].bytes,
			    fragments[0].size);
	assert_same_file(scratch, "a");
	assert_same_file(scratch, "b");
	assert_same_file(scratch, "index/b.idx");
	for (int i = 0; i < 2; i++) {
		sonde_ctf_text_fini(&fragments[i]);
		free(metadata[i]);
		scratch_remove(&scratch[i]);
	}
}

/* ---- stopped at the n-th system call ---- */

static uint32_t calls_left;

static int stop_at_call(const char *call)
{
	(void)call;
	if (calls_left-- == 0)
		_exit(42);
	return 0;
}

/* Whether the recording came to its end. */
static bool record_stopped(const struct scratch *scratch, uint32_t n)
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (pid == 0) {
		calls_left = n;
		sonde_ctf_fault = stop_at_call;
		_exit(record(scratch, SONDE_CTF_2) ? 1 : 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_not_equal(WEXITSTATUS(status), 1);
	return WEXITSTATUS(status) == 0;
}

static bool exists(const struct scratch *scratch, const char *name)
{
	char path[160];

	(void)snprintf(path, sizeof(path), "%s/%s", scratch->trace, name);
	return access(path, F_OK) == 0;
}

static void metadata_is_valid_whenever_the_writer_stops(void **state)
{
	struct sonde_ctf_repair_report report;
	struct sonde_ctf_text fragments;
	bool done = false;
	uint32_t nr_valid = 0;

	(void)state;
	for (uint32_t n = 0; !done; n++) {
		struct scratch scratch;
		char *metadata;

		scratch_make(&scratch);
		done = record_stopped(&scratch, n);
		if (exists(&scratch, "metadata")) {
			metadata = trace_file(&scratch, "metadata");
			assert_int_equal(fragments_of(metadata, &fragments), 0);
			assert_int_equal(scratch_repair(scratch.trace, &report),
					 0);
			assert_int_equal(report.nr_damaged, 0);
			sonde_ctf_text_fini(&fragments);
			free(metadata);
			nr_valid++;
		}
		scratch_remove(&scratch);
	}
	/* Classes, events and streams came one after the other. */
	assert_true(nr_valid > 10);
}

static void an_event_that_cannot_be_said_leaves_the_metadata(void **state)
{
	struct sonde_ctf_trace *trace = NULL;
	struct sonde_ctf_text fragments;
	struct scratch scratch;
	struct maker maker;
	char *metadata;

	(void)state;
	scratch_make(&scratch);
	config.version = SONDE_CTF_2;
	assert_int_equal(sonde_ctf_trace_create(scratch.trace, &config, &trace),
			 0);
	assert_int_equal(
		sonde_ctf_trace_add_class(trace, 3, SONDE_COMPACT, NULL), 0);
	maker_start(&maker, "test", "deep", SONDE_INFO);
	maker_open(&maker, "kind", SONDE_TYPE_ENUM, 8, 2, 0);
	maker_label(&maker, "a", 0, 0);
	maker_label(&maker, "b", 1, 1);
	maker_close(&maker);
	maker_open(&maker, "u", SONDE_TYPE_VARIANT, 0, 2, 0);
	maker_open(&maker, "k", SONDE_TYPE_ENUM, 8, 1, 0);
	maker_label(&maker, "x", 0, 0);
	maker_close(&maker);
	maker_open(&maker, "v", SONDE_TYPE_VARIANT, 0, 1, 0);
	maker_field(&maker, "n", SONDE_TYPE_INT, 32, 1, 0);
	maker_close(&maker);
	maker_close(&maker);
	assert_int_equal(sonde_ctf_trace_add_event(trace, 3, 1,
						   maker_finish(&maker)),
			 -EINVAL);
	assert_int_equal(add_event(trace, 3, 2), 0);
	assert_int_equal(sonde_ctf_trace_close(trace), 0);
	metadata = trace_file(&scratch, "metadata");
	assert_null(strstr(metadata, "test:deep"));
	assert_non_null(strstr(metadata, "test:event2"));
	assert_int_equal(fragments_of(metadata, &fragments), 0);
	sonde_ctf_text_fini(&fragments);
	free(metadata);
	scratch_remove(&scratch);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_versions_say_the_same),
		cmocka_unit_test(metadata_is_valid_whenever_the_writer_stops),
		cmocka_unit_test(
			an_event_that_cannot_be_said_leaves_the_metadata),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
