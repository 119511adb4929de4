/* SPDX-License-Identifier: MIT */
/*
 * reader_index.c - fuzz index files: whatever one says, the packets are those
 * that the stream has.
 *
 * Input: bit 0 of the first byte: the rest is the index. Else it is a list of
 * edits of the right index: where (16 bits), how many bytes (8), and the number
 * that is written there, big endian; a zero where bytes should be cuts it off.
 *
 * The stream has so few packets that every one is among those compared with the
 * index, so an index is either right or not used.
 */
#include <string.h>

#include "fuzz.h"
#include "reader/core/open.h"

#define NR_PACKETS  12u
#define PACKET      64u
#define INDEX_BYTES (16 + NR_PACKETS * 72u)
#define INDEX_MAX   4096u

static const char metadata[] =
	"/* CTF 1.8 */\n"
	"trace { major = 1; minor = 8; byte_order = le; packet.header := struct {"
	" integer { size = 32; } magic; integer { size = 32; } stream_id;"
	" integer { size = 64; } stream_instance_id; }; };\n"
	"clock { name = c; };\n"
	"stream { id = 3; packet.context := struct {"
	" integer { size = 64; map = clock.c.value; } timestamp_begin;"
	" integer { size = 64; map = clock.c.value; } timestamp_end;"
	" integer { size = 32; } content_size;"
	" integer { size = 32; } packet_size;"
	" integer { size = 32; } packet_seq_num;"
	" integer { size = 32; } events_discarded; };"
	" event.header := struct { integer { size = 8; } id; }; };\n"
	"event { name = e; id = 0; stream_id = 3; fields := struct { }; };\n";

static void put_le(uint8_t *to, uint64_t value, size_t size)
{
	for (size_t i = 0; i < size; i++)
		to[i] = (uint8_t)(value >> (8 * i));
}

static void put_be(uint8_t *to, uint64_t value, size_t size)
{
	for (size_t i = 0; i < size; i++)
		to[size - 1 - i] = (uint8_t)(value >> (8 * i));
}

static void make_stream(uint8_t stream[NR_PACKETS * PACKET])
{
	memset(stream, 0, NR_PACKETS * PACKET);
	for (uint32_t i = 0; i < NR_PACKETS; i++) {
		uint8_t *to = stream + i * PACKET;

		put_le(to, 0xc1fc1fc1, 4);
		put_le(to + 4, 3, 4);
		put_le(to + 8, 5, 8);
		put_le(to + 16, 1000 * i, 8);
		put_le(to + 24, 1000 * i + 500, 8);
		put_le(to + 32, (48 + i) * 8, 4);
		put_le(to + 36, PACKET * 8, 4);
		put_le(to + 40, i, 4);
		put_le(to + 44, i / 3, 4);
	}
}

static void make_index(uint8_t index[INDEX_BYTES])
{
	put_be(index, 0xc1f1dcc1, 4);
	put_be(index + 4, 1, 4);
	put_be(index + 8, 1, 4);
	put_be(index + 12, 72, 4);
	for (uint32_t i = 0; i < NR_PACKETS; i++) {
		const uint64_t entry[] = {
			(uint64_t)i * PACKET,
			PACKET * 8,
			(48 + i) * 8,
			1000 * i,
			1000 * i + 500,
			i / 3,
			3,
			5,
			i,
		};

		for (size_t k = 0; k < 9; k++)
			put_be(index + 16 + i * 72 + k * 8, entry[k], 8);
	}
}

static size_t edit(struct fuzz_input *in, uint8_t index[INDEX_BYTES])
{
	while (in->left) {
		uint32_t at = fuzz_u16(in) % INDEX_BYTES;
		uint32_t size = fuzz_u8(in) % 9;

		if (!size)
			return at;
		if (at + size > INDEX_BYTES)
			at = INDEX_BYTES - size;
		put_be(index + at, fuzz_number(in), size);
	}
	return INDEX_BYTES;
}

static struct sonde_trace *open_trace(const uint8_t *index, size_t size)
{
	static uint8_t stream[NR_PACKETS * PACKET];
	struct sonde_trace *trace = sonde_trace_new();
	struct sonde_trace_error error;
	struct sonde_source *source;
	struct sonde_bytes bytes;

	make_stream(stream);
	FUZZ_CHECK(trace);
	FUZZ_CHECK(!sonde_trace_add_source(trace, "fuzz", metadata,
					   sizeof(metadata) - 1, &error,
					   &source));
	FUZZ_CHECK(!sonde_bytes_copy(stream, sizeof(stream), &bytes));
	FUZZ_CHECK(
		!sonde_trace_add_stream(source, "fuzz/s", &bytes, index, size));
	FUZZ_CHECK(!sonde_trace_finish(trace));
	return trace;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static struct sonde_trace *right;
	static uint8_t room[INDEX_BYTES];
	struct fuzz_input in = { bytes, size };
	struct sonde_trace *trace;
	uint8_t *index;
	size_t used;

	if (!right)
		right = open_trace(NULL, 0);
	if (fuzz_u8(&in) & 1) {
		used = in.left < INDEX_MAX ? in.left : INDEX_MAX;
		index = fuzz_copy(in.at, used);
	} else {
		make_index(room);
		used = edit(&in, room);
		index = fuzz_copy(room, used);
	}
	trace = open_trace(index, used);
	FUZZ_CHECK(trace->streams[0]->nr_packets == NR_PACKETS);
	FUZZ_CHECK(!memcmp(trace->streams[0]->packets,
			   right->streams[0]->packets,
			   NR_PACKETS * sizeof(struct sonde_packet)));
	sonde_trace_close(trace);
	free(index);
	return 0;
}
