/* SPDX-License-Identifier: MIT */
/*
 * reader_traces.h - small traces for tests of the reader, byte by byte.
 *
 *	struct made file = { 0 };
 *
 *	made_packet(&file, &(struct made_head){ .begin = 10, .end = 20 });
 *	made_number(&file, 11, 42);
 *	made_text(&file, 12, "hello");
 *	made_packet_end(&file, 0);
 *	trace = made_open(made_metadata, &file, 1);	in memory, or
 *	made_write(&directory, "cpu0", file.bytes, file.used);	in a directory
 *	...
 *	made_free(&file);
 *
 * With made_metadata all is little endian, without alignment, and time counts
 * nanoseconds since 1970. Other metadata go with the same functions as long as
 * heads and event headers look the same; all else is made of made_u8() and
 * the like. Each failure fails the test.
 */
#ifndef UNIT_READER_TRACES_H
#define UNIT_READER_TRACES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sonde/trace.h>

/*
 * One stream class, 0; heads as struct made_head; event headers of
 * {u16 id; u64 timestamp}. Two event classes: 0 is "number" {i32 n}, 1 is
 * "text" {string s}. The UUID is the bytes 0 to 15.
 */
extern const char made_metadata[];
/* What is before and behind its clock block: for other clocks. */
extern const char made_metadata_before_clock[];
extern const char made_metadata_after_clock[];

/* clang-format off */
/* For other event classes: behind what is before the clock. */
#define MADE_CLOCK "clock { name = c; freq = 1000000000; };\n"
#define MADE_STREAM_CLASS(more) \
	"typealias integer { size = 64; map = clock.c.value; } := time;\n" \
	"stream {\n" \
	"	id = 0;\n" \
	"	packet.context := struct {\n" \
	"		time timestamp_begin; time timestamp_end;\n" \
	"		u64 content_size; u64 packet_size;\n" \
	"		u64 packet_seq_num; u64 events_discarded;\n" \
	"		u32 cpu_id;\n" \
	"	};\n" \
	"	event.header := struct { u16 id; time timestamp; };\n" \
	more \
	"};\n"
#define MADE_EVENT(name, id, fields) \
	"event { name = \"" name "\"; id = " #id "; stream_id = 0;\n" \
	"	fields := struct { " fields " };\n" \
	"};\n"
/* clang-format on */

/* A growing file. */
struct made {
	uint8_t *bytes; /* malloc */
	size_t used, room;
	size_t packet; /* where the last packet began */
	int has_sizes; /* they were given, and stay */
};

void made_bytes(struct made *made, const void *bytes, size_t size);
void made_u8(struct made *made, uint8_t value);
void made_u16(struct made *made, uint16_t value);
void made_u32(struct made *made, uint32_t value);
void made_u64(struct made *made, uint64_t value);
void made_free(struct made *made);

/* Offsets of a head's fields, for those who spoil them. */
enum {
	MADE_MAGIC = 0,
	MADE_UUID = 4,
	MADE_STREAM = 20,
	MADE_INSTANCE = 24,
	MADE_BEGIN = 32,
	MADE_END = 40,
	MADE_CONTENT = 48,
	MADE_SIZE = 56,
	MADE_SEQUENCE = 64,
	MADE_DISCARDED = 72,
	MADE_CPU = 80,
	MADE_HEAD_BYTES = 84,
};

struct made_head {
	uint64_t begin, end;
	uint64_t sequence, discarded;
	uint32_t cpu, stream, instance;
	/* 0: what they have to be */
	uint32_t magic;
	uint64_t content_bits, packet_bits;
};

/* Begins a packet; its sizes are right after made_packet_end(), which appends
 * so much padding. */
void made_packet(struct made *made, const struct made_head *head);
void made_packet_end(struct made *made, size_t padding_bytes);
void made_number(struct made *made, uint64_t time, int32_t n);
void made_text(struct made *made, uint64_t time, const char *s);

/* Writes a number over what is in the packet that was begun last. */
void made_spoil_u32(struct made *made, size_t at, uint32_t value);
void made_spoil_u64(struct made *made, size_t at, uint64_t value);

/* A CPU of a machine whose trace is made event by event: a stream of its own, in
 * packets of MADE_CPU_EVENTS at most. */
#define MADE_CPU_EVENTS 9
struct made_cpu {
	struct made file;
	size_t in_packet;
	uint64_t discarded, sequence;
	uint32_t index;
	uint32_t losing; /* how many more events */
	/* the machine's */
	uint32_t task; /* 0: idle */
	bool in_irq, in_softirq;
};
void made_cpus_begin(struct made_cpu *cpus, size_t nr);
/* Begins an event; its fields are for the caller. */
struct made *made_cpu_event(struct made_cpu *cpu, uint64_t now, uint16_t id);
void made_cpu_end_packet(struct made_cpu *cpu, uint64_t now);
/* The word with the number behind it. */
void made_name(struct made *made, const char *word, uint64_t number);
/* Of all of them; frees what they hold. `metadata_end`: from the clock on. */
struct sonde_trace *made_cpus_open(struct made_cpu *cpus, size_t nr,
				   uint64_t now, const char *metadata_end);

/* A trace in memory whose streams are the files; they are copied. */
struct sonde_trace *made_open(const char *metadata, const struct made *files,
			      size_t nr_files);

/* A new directory, and all in it. */
struct made_directory {
	char path[64];
};
void made_directory(struct made_directory *directory);
void made_directory_remove(struct made_directory *directory);
/* `name` may have slashes: the directories are made. */
void made_write(const struct made_directory *directory, const char *name,
		const void *bytes, size_t size);
struct sonde_trace *made_open_directory(const char *path);

/* The i-th problem of a kind, or fails. */
struct sonde_problem made_problem(const struct sonde_trace *trace,
				  enum sonde_problem_kind kind, size_t i);
size_t made_nr_problems(const struct sonde_trace *trace);

#endif /* UNIT_READER_TRACES_H */
