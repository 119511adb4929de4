/* SPDX-License-Identifier: MIT */
/*
 * packed.c - fuzz ctf/packed.h: a stream file that is compressed, or is said to be.
 *
 * What a frame that is whole has is read as it was; what can be read is never more
 * than the frames say, and is followed by zeros. Reading the same twice says the
 * same.
 *
 * Input: a byte (bit 0: what follows is the file; else decisions of which it is
 * made), then places that are read.
 */
#include <sys/mman.h>

#include "ctf/packed.h"

#include "fuzz.h"

#define FILE_MAX   65536u
#define TAIL_BYTES 128u
#define READS      16

/* A frame of one block as it is (RFC 8878): `size` bytes of `fill`. */
static size_t put_frame(struct fuzz_input *in, uint8_t *to)
{
	uint8_t size = fuzz_u8(in);
	uint8_t fill = fuzz_u8(in);
	uint8_t spoiled = fuzz_u8(in);
	const uint8_t head[] = {
		0x28, 0xb5, 0x2f,
		0xfd, 0x20, /* one segment, its size in a byte */
		size
	};
	uint32_t block = 1u | (uint32_t)size << 3; /* the last, raw */

	memcpy(to, head, sizeof(head));
	memcpy(to + sizeof(head), &block, 3);
	memset(to + sizeof(head) + 3, fill, size);
	if (spoiled & 1)
		to[spoiled % (sizeof(head) + 3)] ^= fuzz_u8(in);
	return sizeof(head) + 3 + size;
}

static size_t make_file(struct fuzz_input *in, uint8_t *bytes)
{
	size_t size = 0;

	if (fuzz_u8(in) & 1) {
		size = in->left < FILE_MAX ? in->left : FILE_MAX;
		memcpy(bytes, in->at, size);
		return size;
	}
	for (uint8_t nr = fuzz_u8(in) % 64; nr; nr--)
		size += put_frame(in, bytes + size);
	return size - (size ? fuzz_u8(in) % size : 0);
}

/* One sum of what is there, which it is twice. */
static uint64_t sum_of(const uint8_t *data, uint64_t from, uint64_t to)
{
	uint64_t sum = 0;

	for (uint64_t i = from; i < to; i++)
		sum = sum * 31 + data[i];
	return sum;
}

static void read_some(struct sonde_ctf_packed *packed,
		      const struct sonde_ctf_unpacked *bytes, uint64_t from,
		      uint64_t size)
{
	uint64_t to = size < bytes->size - from ? from + size : bytes->size;
	const char *why = sonde_ctf_packed_need(packed, from, size);
	uint64_t sum = sum_of(bytes->data, from, to);

	FUZZ_CHECK(sonde_ctf_packed_need(packed, from, size) == why);
	FUZZ_CHECK(sum_of(bytes->data, from, to) == sum);
}

static void check_packed(struct fuzz_input *in, struct sonde_ctf_packed *packed)
{
	struct sonde_ctf_unpacked bytes = sonde_ctf_packed_bytes(packed);

	FUZZ_CHECK(bytes.size <= UINT64_C(4) << 30);
	FUZZ_CHECK(sonde_ctf_packed_need(packed, bytes.size, 1) == NULL);
	if (!bytes.data) {
		FUZZ_CHECK(!bytes.size);
		return;
	}
	FUZZ_CHECK(bytes.mapped >= bytes.size + TAIL_BYTES);
	for (int i = 0; i < READS && bytes.size; i++)
		read_some(packed, &bytes, fuzz_u32(in) % bytes.size,
			  fuzz_u8(in) + 1u);
	for (uint64_t i = 0; i < TAIL_BYTES; i++)
		FUZZ_CHECK(bytes.data[bytes.size + i] == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct fuzz_input in = { bytes, size };
	struct sonde_ctf_packed *packed = NULL;
	uint8_t *file = mmap(NULL, FILE_MAX, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	size_t used;

	FUZZ_CHECK(file != MAP_FAILED);
	used = make_file(&in, file);
	FUZZ_CHECK(!sonde_ctf_packed_new(file, used, FILE_MAX, TAIL_BYTES,
					 &packed));
	if (packed)
		check_packed(&in, packed);
	sonde_ctf_packed_free(packed);
	return 0;
}
