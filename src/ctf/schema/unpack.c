/* SPDX-License-Identifier: MIT */
/*
 * unpack.c - metadata in packets to its text: the contents of all packets, one
 * after the other.
 *
 * A packet's head, 37 bytes, in either byte order:
 *
 *    0  u32  magic, 0x75d11d57
 *    4  u8   uuid[16]
 *   20  u32  checksum
 *   24  u32  bits of the content, with this head
 *   28  u32  bits of the packet, with padding
 *   32  u8   compression, encryption, checksum scheme: 0, nothing else is
 *            defined anywhere
 *   35  u8   major, minor
 *
 * Those of CTF 2 go on, unless LTTng wrote them, which keeps to the 37 bytes:
 *
 *   37  u8   reserved[3]
 *   40  u32  bits of this head: 352, or more in the future
 *
 * Which it is, that last number says: text in its place is far too large.
 *
 * If the last packet is cut, its text is what there is of it.
 */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ctf/schema/schema.h"

#define MAGIC      0x75d11d57u
#define HEAD_BYTES 37
#define HEAD2_BITS 352

struct head {
	size_t bytes;
	size_t content_bytes, packet_bytes; /* both with the head */
};

static uint32_t load_u32(const uint8_t *at, bool big_endian)
{
	uint32_t word;

	memcpy(&word, at, sizeof(word));
	return big_endian ? be32toh(word) : le32toh(word);
}

static int unpack_complain(struct sonde_schema_error *error, size_t offset,
			   const char *what)
{
	return sonde_schema_complain(error, "metadata packet at byte %zu: %s",
				     offset, what);
}

/* How long a head is, of a packet that has `left` bytes from there on. */
static size_t head_bytes(const uint8_t *at, size_t left, uint32_t content_bits,
			 bool big_endian)
{
	uint32_t bits;

	if (at[35] < 2 || left < HEAD2_BITS / 8)
		return HEAD_BYTES;
	bits = load_u32(at + 40, big_endian);
	return bits % 8 || bits < HEAD2_BITS || bits > content_bits ?
		       HEAD_BYTES :
		       bits / 8;
}

/* There are HEAD_BYTES at bytes + offset, and `left` in all. */
static int unpack_read_head(const uint8_t *bytes, size_t offset, size_t left,
			    struct sonde_schema_error *error,
			    struct head *ret_head)
{
	const uint8_t *at = bytes + offset;
	bool big_endian = load_u32(bytes, true) == MAGIC;
	uint32_t content = load_u32(at + 24, big_endian);
	uint32_t packet = load_u32(at + 28, big_endian);

	if (load_u32(at, big_endian) != MAGIC)
		return unpack_complain(error, offset,
				       "it does not begin with the "
				       "magic number");
	if (at[32])
		return unpack_complain(error, offset,
				       "it is compressed, which "
				       "can't be read");
	if (at[33])
		return unpack_complain(error, offset,
				       "it is encrypted, which "
				       "can't be read");
	if (at[34])
		return unpack_complain(error, offset,
				       "it has a checksum of an "
				       "unknown kind");
	if (content % 8 || packet % 8 || content > packet ||
	    content < HEAD_BYTES * 8)
		return unpack_complain(error, offset,
				       "its sizes make no sense");
	ret_head->bytes = head_bytes(at, left, content, big_endian);
	ret_head->content_bytes = content / 8;
	ret_head->packet_bytes = packet / 8;
	return 0;
}

int sonde_schema_unpack(const void *bytes, size_t size,
			struct sonde_schema_error *error, char **ret_text,
			size_t *ret_size)
{
	size_t offset = 0;
	size_t used = 0;
	char *text = malloc(size + 1);

	if (!text)
		return -ENOMEM;
	while (size - offset >= HEAD_BYTES) {
		size_t left = size - offset;
		struct head head = { 0 };

		if (unpack_read_head(bytes, offset, left, error, &head)) {
			free(text);
			return -EINVAL;
		}
		if (head.content_bytes > left)
			head.content_bytes = left;
		if (head.bytes > head.content_bytes)
			head.bytes = head.content_bytes;
		memcpy(text + used, (const char *)bytes + offset + head.bytes,
		       head.content_bytes - head.bytes);
		used += head.content_bytes - head.bytes;
		offset += head.packet_bytes < left ? head.packet_bytes : left;
	}
	text[used] = 0;
	*ret_text = text;
	*ret_size = used;
	return 0;
}
