/* SPDX-License-Identifier: MIT */
/*
 * packet.h - the head of a packet, and the index of a file's packets.
 *
 * The structure is the packet header and packet context of our metadata
 * (tsdl.c), in the machine's byte order, without padding. It never crosses a
 * page, so that one write changes all of it or, if the writer is killed,
 * nothing.
 */
#ifndef CTF_PACKET_H
#define CTF_PACKET_H

#include <stdint.h>

#define SONDE_CTF_MAGIC 0xc1fc1fc1u
#define SONDE_CTF_PAGE  4096u

struct sonde_ctf_packet_head {
	uint32_t magic;
	uint8_t uuid[16];
	uint32_t stream_id;
	uint64_t stream_instance_id;
	uint64_t timestamp_begin;
	uint64_t timestamp_end;
	uint64_t content_size; /* bits, this head included */
	uint64_t packet_size;  /* bits */
	uint64_t packet_seq_num;
	uint64_t events_discarded;
	uint32_t cpu_id;
	uint32_t vpid;
};

#define SONDE_CTF_HEAD_SIZE 88u
_Static_assert(sizeof(struct sonde_ctf_packet_head) == SONDE_CTF_HEAD_SIZE,
	       "file format");

/* A packet: its head, and where it is. */
struct sonde_ctf_packet {
	struct sonde_ctf_packet_head head;
	uint64_t offset; /* bytes from the start of the file */
};

/* The offset just behind a packet's content. */
static inline uint64_t
sonde_ctf_packet_content_end(const struct sonde_ctf_packet *packet)
{
	return packet->offset + packet->head.content_size / 8;
}

/* Make the packet end at `end`, an offset in the file; in memory only. */
static inline void sonde_ctf_packet_set_end(struct sonde_ctf_packet *packet,
					    uint64_t end)
{
	packet->head.packet_size = (end - packet->offset) * 8;
}

/* Write the head where it belongs. */
int sonde_ctf_packet_write(int fd, const struct sonde_ctf_packet *packet);

/* Where a file may end whose last packet is this one: an empty packet, were
 * it there, would not cross a page. */
uint64_t sonde_ctf_packet_tail(const struct sonde_ctf_packet *packet);

/* The empty packet that is behind `packet` for a moment: see below. */
struct sonde_ctf_packet
sonde_ctf_packet_rest(const struct sonde_ctf_packet *packet);

/*
 * Cut a file of `file_size` bytes behind the content of its last packet, which
 * ends with the file; sets the packet's end. The file is valid in between:
 * first an empty packet takes the space to go, then it goes as a whole. The
 * packet's head is written in any case. On error the file is as long as before
 * and valid.
 */
int sonde_ctf_packet_trim(int fd, uint64_t file_size,
			  struct sonde_ctf_packet *packet);

/* The packets of one file, as LTTng's index files say it: big endian. */
struct sonde_ctf_index {
	uint64_t (*entries)[9];
	uint32_t nr;
	uint32_t room;
	int error; /* sticks; there is no index file then */
};

void sonde_ctf_index_fini(struct sonde_ctf_index *index);
void sonde_ctf_index_add(struct sonde_ctf_index *index,
			 const struct sonde_ctf_packet *packet);

/* Write <name>.idx in `dir`, the one for indexes, at once, and forget the
 * entries. */
int sonde_ctf_index_write(struct sonde_ctf_index *index, int dir,
			  const char *name);

#endif /* CTF_PACKET_H */
