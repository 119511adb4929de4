/* SPDX-License-Identifier: MIT */
#include "reader_traces.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analysis/model/attribution.h"
#include "folder.h"
#include "reader/core/open.h"
#include "unit.h"

/* clang-format off */
#define BEFORE_CLOCK \
	"/* CTF 1.8 */\n" \
	"typealias integer { size = 8; } := u8;\n" \
	"typealias integer { size = 16; } := u16;\n" \
	"typealias integer { size = 32; } := u32;\n" \
	"typealias integer { size = 64; } := u64;\n" \
	"typealias integer { size = 32; signed = true; } := i32;\n" \
	"trace {\n" \
	"	major = 1; minor = 8; byte_order = le;\n" \
	"	uuid = \"00010203-0405-0607-0809-0a0b0c0d0e0f\";\n" \
	"	packet.header := struct {\n" \
	"		u32 magic; u8 uuid[16]; u32 stream_id;\n" \
	"		u64 stream_instance_id;\n" \
	"	};\n" \
	"};\n"
#define AFTER_CLOCK \
	MADE_STREAM_CLASS("") \
	MADE_EVENT("number", 0, "i32 n;") \
	MADE_EVENT("text", 1, "string s;")
/* clang-format on */

const char made_metadata_before_clock[] = BEFORE_CLOCK;
const char made_metadata_after_clock[] = AFTER_CLOCK;
const char made_metadata[] = BEFORE_CLOCK MADE_CLOCK AFTER_CLOCK;

/* ---- bytes ---- */

void made_bytes(struct made *made, const void *bytes, size_t size)
{
	if (made->used + size > made->room) {
		made->room = (made->used + size) * 2;
		made->bytes = realloc(made->bytes, made->room);
		assert_non_null(made->bytes);
	}
	memcpy(made->bytes + made->used, bytes, size);
	made->used += size;
}

static void put(uint8_t *to, uint64_t value, size_t size)
{
	for (size_t i = 0; i < size; i++)
		to[i] = (uint8_t)(value >> (8 * i));
}

static void append(struct made *made, uint64_t value, size_t size)
{
	uint8_t bytes[8];

	put(bytes, value, size);
	made_bytes(made, bytes, size);
}

void made_u8(struct made *made, uint8_t value)
{
	append(made, value, 1);
}

void made_u16(struct made *made, uint16_t value)
{
	append(made, value, 2);
}

void made_u32(struct made *made, uint32_t value)
{
	append(made, value, 4);
}

void made_u64(struct made *made, uint64_t value)
{
	append(made, value, 8);
}

void made_free(struct made *made)
{
	free(made->bytes);
	*made = (struct made){ 0 };
}

/* ---- packets ---- */

void made_packet(struct made *made, const struct made_head *head)
{
	made->packet = made->used;
	made->has_sizes = head->packet_bits != 0 || head->content_bits != 0;
	made_u32(made, head->magic ? head->magic : 0xc1fc1fc1);
	for (uint8_t i = 0; i < 16; i++)
		made_u8(made, i);
	made_u32(made, head->stream);
	made_u64(made, head->instance);
	made_u64(made, head->begin);
	made_u64(made, head->end);
	made_u64(made, head->content_bits);
	made_u64(made, head->packet_bits);
	made_u64(made, head->sequence);
	made_u64(made, head->discarded);
	made_u32(made, head->cpu);
}

void made_packet_end(struct made *made, size_t padding_bytes)
{
	uint64_t content = made->used - made->packet;

	for (size_t i = 0; i < padding_bytes; i++)
		made_u8(made, 0xaa);
	if (made->has_sizes)
		return;
	made_spoil_u64(made, MADE_CONTENT, content * 8);
	made_spoil_u64(made, MADE_SIZE, (made->used - made->packet) * 8);
}

void made_number(struct made *made, uint64_t time, int32_t n)
{
	made_u16(made, 0);
	made_u64(made, time);
	made_u32(made, (uint32_t)n);
}

void made_text(struct made *made, uint64_t time, const char *s)
{
	made_u16(made, 1);
	made_u64(made, time);
	made_bytes(made, s, strlen(s) + 1);
}

void made_spoil_u32(struct made *made, size_t at, uint32_t value)
{
	put(made->bytes + made->packet + at, value, 4);
}

void made_spoil_u64(struct made *made, size_t at, uint64_t value)
{
	put(made->bytes + made->packet + at, value, 8);
}

/* ---- traces ---- */

/* ---- machines ---- */

void made_cpus_begin(struct made_cpu *cpus, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		cpus[i] = (struct made_cpu){ .index = (uint32_t)i };
}

void made_cpu_end_packet(struct made_cpu *cpu, uint64_t now)
{
	if (!cpu->in_packet)
		return;
	made_spoil_u64(&cpu->file, MADE_END, now);
	made_packet_end(&cpu->file, 0);
	cpu->in_packet = 0;
}

struct made *made_cpu_event(struct made_cpu *cpu, uint64_t now, uint16_t id)
{
	static struct made lost;

	if (cpu->losing) {
		cpu->losing--;
		cpu->discarded++;
		lost.used = 0;
		return &lost;
	}
	if (cpu->in_packet == MADE_CPU_EVENTS)
		made_cpu_end_packet(cpu, now);
	if (!cpu->in_packet++)
		made_packet(&cpu->file, &(struct made_head){
						.begin = now,
						.discarded = cpu->discarded,
						.sequence = cpu->sequence++,
						.cpu = cpu->index,
						.instance = cpu->index,
					});
	made_u16(&cpu->file, id);
	made_u64(&cpu->file, now);
	return &cpu->file;
}

void made_name(struct made *made, const char *word, uint64_t number)
{
	char text[32];
	int length = snprintf(text, sizeof(text), "%s%u", word,
			      (unsigned int)number);

	made_bytes(made, text, (size_t)length + 1);
}

struct sonde_trace *made_cpus_open(struct made_cpu *cpus, size_t nr,
				   uint64_t now, const char *metadata_end)
{
	struct made files[8] = { 0 };
	char metadata[8192];
	struct sonde_trace *trace;

	assert_true(nr <= sizeof(files) / sizeof(files[0]));
	for (size_t i = 0; i < nr; i++) {
		made_cpu_end_packet(&cpus[i], now);
		files[i] = cpus[i].file;
	}
	(void)snprintf(metadata, sizeof(metadata), "%s%s",
		       made_metadata_before_clock, metadata_end);
	trace = made_open(metadata, files, nr);
	for (size_t i = 0; i < nr; i++)
		made_free(&files[i]);
	return trace;
}

struct sonde_trace *made_open(const char *metadata, const struct made *files,
			      size_t nr_files)
{
	struct sonde_trace *trace = sonde_trace_new();
	struct sonde_trace_error error = { 0 };
	struct sonde_source *source;
	struct sonde_bytes bytes;
	char name[32];

	assert_non_null(trace);
	trace->attributor = &sonde_attributor;
	if (sonde_trace_add_source(trace, "made", metadata, strlen(metadata),
				   &error, &source))
		fail_msg("%s", error.text);
	for (size_t i = 0; i < nr_files; i++) {
		assert_int_equal(sonde_bytes_copy(files[i].bytes, files[i].used,
						  &bytes),
				 0);
		(void)snprintf(name, sizeof(name), "made/%zu", i);
		assert_int_equal(sonde_trace_add_stream(source, name, &bytes,
							NULL, 0),
				 0);
	}
	assert_int_equal(sonde_trace_finish(trace), 0);
	return trace;
}

void made_directory(struct made_directory *directory)
{
	(void)strcpy(directory->path, "/tmp/sonde-reader-XXXXXX");
	assert_non_null(mkdtemp(directory->path));
}

void made_directory_remove(struct made_directory *directory)
{
	assert_int_equal(folder_remove(directory->path), 0);
}

void made_write(const struct made_directory *directory, const char *name,
		const void *bytes, size_t size)
{
	char path[256];
	FILE *file;

	(void)snprintf(path, sizeof(path), "%s/%s", directory->path, name);
	for (char *at = path + strlen(directory->path) + 1;
	     (at = strchr(at, '/')); *at++ = '/') {
		*at = 0;
		assert_true(mkdir(path, 0777) == 0 || errno == EEXIST);
	}
	file = fopen(path, "we");
	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, size, file), size);
	assert_int_equal(fclose(file), 0);
}

struct sonde_trace *made_open_directory(const char *path)
{
	struct sonde_trace *trace = NULL;
	struct sonde_trace_error error;

	if (sonde_trace_open(&path, 1, &error, &trace))
		fail_msg("%s", error.text);
	return trace;
}

struct sonde_problem made_problem(const struct sonde_trace *trace,
				  enum sonde_problem_kind kind, size_t i)
{
	struct sonde_problem problem = { 0 };

	for (size_t k = 0; !sonde_trace_problem(trace, k, &problem); k++)
		if (problem.kind == kind && !i--)
			return problem;
	fail_msg("there is no such problem");
	return problem;
}

size_t made_nr_problems(const struct sonde_trace *trace)
{
	struct sonde_problem problem;
	size_t nr = 0;

	while (!sonde_trace_problem(trace, nr, &problem))
		nr++;
	return nr;
}
