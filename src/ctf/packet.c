/* SPDX-License-Identifier: MIT */
/*
 * packet.c - heads of packets, the end of a file, and its index (packet.h).
 */
#include "ctf/packet.h"

#include <endian.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/grow.h"
#include "ctf/names.h"
#include "ctf/os.h"

#define INDEX_MAGIC 0xc1f1dcc1u
#define INDEX_MAJOR 1u
#define INDEX_MINOR 1u

int sonde_ctf_packet_write(int fd, const struct sonde_ctf_packet *packet)
{
	return sonde_ctf_pwrite(fd, &packet->head, sizeof(packet->head),
				packet->offset);
}

uint64_t sonde_ctf_packet_tail(const struct sonde_ctf_packet *packet)
{
	uint64_t tail = (sonde_ctf_packet_content_end(packet) + 7) & ~7ull;
	uint64_t in_page = tail % SONDE_CTF_PAGE;

	if (in_page + SONDE_CTF_HEAD_SIZE > SONDE_CTF_PAGE)
		tail += SONDE_CTF_PAGE - in_page;
	return tail;
}

struct sonde_ctf_packet
sonde_ctf_packet_rest(const struct sonde_ctf_packet *packet)
{
	struct sonde_ctf_packet rest = *packet;
	struct sonde_ctf_packet_head *head = &rest.head;

	rest.offset = sonde_ctf_packet_tail(packet);
	/* Readers sort packets by their begins. */
	if (head->timestamp_end == head->timestamp_begin)
		head->timestamp_end++;
	head->timestamp_begin = head->timestamp_end;
	head->content_size = SONDE_CTF_HEAD_SIZE * 8;
	head->packet_seq_num++;
	return rest;
}

int sonde_ctf_packet_trim(int fd, uint64_t file_size,
			  struct sonde_ctf_packet *packet)
{
	struct sonde_ctf_packet rest = sonde_ctf_packet_rest(packet);
	struct sonde_ctf_packet cut = *packet;
	int error;

	if (rest.offset + SONDE_CTF_HEAD_SIZE > file_size)
		return sonde_ctf_packet_write(fd, packet); /* short enough */
	sonde_ctf_packet_set_end(&rest, file_size);
	sonde_ctf_packet_set_end(&cut, rest.offset);

	error = sonde_ctf_packet_write(fd, &rest);
	if (!error)
		error = sonde_ctf_packet_write(fd, &cut);
	if (!error)
		error = sonde_ctf_truncate(fd, rest.offset);
	if (error)
		(void)sonde_ctf_packet_write(fd, packet);
	else
		*packet = cut;
	return error;
}

void sonde_ctf_index_fini(struct sonde_ctf_index *index)
{
	free(index->entries);
	*index = (struct sonde_ctf_index){ 0 };
}

void sonde_ctf_index_add(struct sonde_ctf_index *index,
			 const struct sonde_ctf_packet *packet)
{
	const struct sonde_ctf_packet_head *head = &packet->head;
	uint64_t *entry;

	if (!index->error)
		index->error =
			SONDE_GROW(index->entries, index->nr, index->room);
	if (index->error)
		return;
	entry = index->entries[index->nr++];
	entry[0] = htobe64(packet->offset);
	entry[1] = htobe64(head->packet_size);
	entry[2] = htobe64(head->content_size);
	entry[3] = htobe64(head->timestamp_begin);
	entry[4] = htobe64(head->timestamp_end);
	entry[5] = htobe64(head->events_discarded);
	entry[6] = htobe64(head->stream_id);
	entry[7] = htobe64(head->stream_instance_id);
	entry[8] = htobe64(head->packet_seq_num);
}

static int write_index(const struct sonde_ctf_index *index, int fd)
{
	uint32_t head[4] = { htobe32(INDEX_MAGIC), htobe32(INDEX_MAJOR),
			     htobe32(INDEX_MINOR),
			     htobe32(sizeof(*index->entries)) };
	int error = sonde_ctf_pwrite(fd, head, sizeof(head), 0);

	if (error)
		return error;
	return sonde_ctf_pwrite(fd, index->entries,
				index->nr * sizeof(*index->entries),
				sizeof(head));
}

int sonde_ctf_index_write(struct sonde_ctf_index *index, int dir,
			  const char *name)
{
	struct sonde_ctf_name hidden;
	struct sonde_ctf_name visible;
	int error = index->error;
	int fd;

	if (error)
		return error;
	sonde_ctf_name_index(&visible, &hidden, name);
	fd = sonde_ctf_create(dir, hidden.text, O_WRONLY);
	if (fd < 0)
		return fd;
	error = write_index(index, fd);
	(void)close(fd); /* what the writes said counts */
	if (!error)
		error = sonde_ctf_rename(dir, hidden.text, visible.text);
	if (error)
		(void)sonde_ctf_unlink(dir, hidden.text);
	index->nr = 0;
	return error;
}
