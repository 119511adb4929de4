/* SPDX-License-Identifier: MIT */
/*
 * repair.c - tidy a trace whose writer died (sonde_ctf_repair_at() in trace.h).
 *
 * What a dead writer leaves: hidden files; stream files as long as they were
 * made, with or without the empty packet that was to cut them; no index. All
 * of that is valid, and each step here leaves it so.
 *
 * A file is only touched if all of it is what we write: packets with our
 * trace's uuid, one stream, sizes that fit.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/number.h"
#include "base/port.h"
#include "base/uuid.h"
#include "ctf/directory.h"
#include "ctf/names.h"
#include "ctf/os.h"
#include "ctf/packet.h"
#include "ctf/trace.h"

/* The preamble is shorter, but for an environment of exceptional size. */
#define PREAMBLE_MAX 65536

struct repair {
	int dir;
	int index_dir; /* -1: there is none yet */
	uint8_t uuid[16];
	struct sonde_ctf_repair_report report;
};

/* The last two packets of a file, and the index of all but the last. */
struct walk {
	struct sonde_ctf_packet before;
	struct sonde_ctf_packet last;
	uint64_t nr_packets;
	struct sonde_ctf_index index;
};

/* As put_uuid() in tsdl.c writes it. */
static bool parse_uuid(const char *text, uint8_t uuid[16])
{
	const char *end = sonde_uuid_parse(text, uuid);

	return end && *end == '"';
}

/* As put_preamble() in schema/write2.c writes it: "0,255,...]". */
static bool parse_uuid_numbers(const char *text, uint8_t uuid[16])
{
	for (int i = 0; i < 16; i++) {
		uint64_t value;

		if (!sonde_number_take(&text, 10, UINT8_MAX, &value) ||
		    *text++ != (i < 15 ? ',' : ']'))
			return false;
		uuid[i] = (uint8_t)value;
	}
	return true;
}

/* How the metadata of either version begins, and tells what we look for. */
static const struct {
	const char *start;
	const char *tracer;
	const char *uuid;
	bool (*parse_uuid)(const char *text, uint8_t uuid[16]);
} versions[] = {
	{ "/* CTF 1.8 */", "\ttracer2_name = \"sonde\";\n", "\tuuid = \"",
	  parse_uuid },
	{ "\x1e{\"type\":\"preamble\",", "\"tracer2_name\":\"sonde\"",
	  "\"uuid\":[", parse_uuid_numbers },
};

static bool repair_find_uuid(const char *text, uint8_t uuid[16])
{
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(versions); i++) {
		const char *at;

		if (strncmp(text, versions[i].start,
			    strlen(versions[i].start)) != 0 ||
		    !strstr(text, versions[i].tracer))
			continue;
		at = strstr(text, versions[i].uuid);
		return at && versions[i].parse_uuid(
				     at + strlen(versions[i].uuid), uuid);
	}
	return false;
}

/* Is it a trace of ours, and which? */
static int read_metadata(struct repair *repair)
{
	char *text = calloc(1, PREAMBLE_MAX + 1);
	int fd = openat(repair->dir, SONDE_CTF_METADATA,
			O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	int error = -EINVAL;

	if (text && fd >= 0 && sonde_ctf_pread(fd, text, PREAMBLE_MAX, 0) > 0 &&
	    repair_find_uuid(text, repair->uuid))
		error = 0;
	if (fd >= 0)
		(void)close(fd);
	free(text);
	return error;
}

/* Whether a packet is as we write it, in a file of this size. */
static bool packet_valid(const struct repair *repair,
			 const struct sonde_ctf_packet *packet, uint64_t size)
{
	const struct sonde_ctf_packet_head *head = &packet->head;

	return head->magic == SONDE_CTF_MAGIC &&
	       memcmp(head->uuid, repair->uuid, sizeof(head->uuid)) == 0 &&
	       head->packet_size % 8 == 0 && head->content_size % 8 == 0 &&
	       head->content_size / 8 >= SONDE_CTF_HEAD_SIZE &&
	       head->content_size <= head->packet_size &&
	       head->packet_size / 8 <= size - packet->offset;
}

/* Go through all packets of a file. */
static int walk_file(const struct repair *repair, int fd, uint64_t size,
		     struct walk *walk)
{
	uint64_t offset = 0;

	while (offset < size) {
		struct sonde_ctf_packet packet = { .offset = offset };

		if (sonde_ctf_pread(fd, &packet.head, sizeof(packet.head),
				    offset) != sizeof(packet.head) ||
		    !packet_valid(repair, &packet, size))
			return -EINVAL;
		if (walk->nr_packets > 0) {
			if (packet.head.stream_id !=
				    walk->last.head.stream_id ||
			    packet.head.stream_instance_id !=
				    walk->last.head.stream_instance_id)
				return -EINVAL;
			sonde_ctf_index_add(&walk->index, &walk->last);
		}
		walk->before = walk->last;
		walk->last = packet;
		walk->nr_packets++;
		offset += packet.head.packet_size / 8;
	}
	return walk->nr_packets > 0 ? 0 : -EINVAL;
}

/* Is the last packet the empty one that sonde_ctf_packet_trim() puts there? */
static bool ends_with_rest(const struct walk *walk)
{
	struct sonde_ctf_packet rest;

	if (walk->nr_packets < 2)
		return false;
	rest = sonde_ctf_packet_rest(&walk->before);
	rest.head.packet_size = walk->last.head.packet_size;
	return rest.offset == walk->last.offset &&
	       memcmp(&rest.head, &walk->last.head, sizeof(rest.head)) == 0;
}

/* Cut the file behind its last packet with something to say. */
static int cut_file(int fd, uint64_t size, struct walk *walk)
{
	int error;

	if (ends_with_rest(walk)) {
		error = sonde_ctf_truncate(fd, walk->last.offset);
		if (error)
			return error;
		walk->last = walk->before;
		walk->nr_packets--;
		walk->index.nr -= walk->index.nr > 0;
		return 0;
	}
	if (sonde_ctf_packet_tail(&walk->last) >= size)
		return 0;
	return sonde_ctf_packet_trim(fd, size, &walk->last);
}

static bool has_index(const struct repair *repair, const char *name)
{
	struct sonde_ctf_name visible;
	struct sonde_ctf_name hidden;

	sonde_ctf_name_index(&visible, &hidden, name);
	return repair->index_dir >= 0 &&
	       faccessat(repair->index_dir, visible.text, F_OK, 0) == 0;
}

static int repair_write_index(struct repair *repair, const char *name,
			      struct walk *walk)
{
	if (has_index(repair, name))
		return 0;
	if (repair->index_dir < 0)
		repair->index_dir = sonde_directory_make_below(
			repair->dir, SONDE_CTF_INDEX_DIR, false);
	if (repair->index_dir < 0)
		return repair->index_dir;
	sonde_ctf_index_add(&walk->index, &walk->last);
	return sonde_ctf_index_write(&walk->index, repair->index_dir, name);
}

static int repair_open_file(struct repair *repair, int fd, const char *name)
{
	struct walk walk = { .nr_packets = 0 };
	struct stat before;
	struct stat after;
	int error;

	if (fstat(fd, &before))
		return -errno;
	if (!S_ISREG(before.st_mode))
		return 0;
	repair->report.nr_files++;
	error = walk_file(repair, fd, (uint64_t)before.st_size, &walk);
	if (error) {
		repair->report.nr_damaged++;
		error = 0;
		goto out;
	}
	/* A file with an index was finished by its writer. */
	if (!has_index(repair, name))
		error = cut_file(fd, (uint64_t)before.st_size, &walk);
	if (!error)
		error = repair_write_index(repair, name, &walk);
	repair->report.nr_packets += walk.nr_packets;
	if (!fstat(fd, &after) && after.st_size < before.st_size) {
		repair->report.nr_trimmed++;
		repair->report.bytes_freed +=
			(uint64_t)(before.st_size - after.st_size);
	}
out:
	sonde_ctf_index_fini(&walk.index);
	return error;
}

static int repair_file(struct repair *repair, const char *name)
{
	int error;
	int fd;

	if (!sonde_ctf_name_valid(name))
		return 0;
	fd = openat(repair->dir, name,
		    O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return errno == EISDIR || errno == ELOOP ? 0 : -errno;
	error = repair_open_file(repair, fd, name);
	(void)close(fd);
	return error;
}

/* Call `visit` with the name of each entry of a directory; the first error is
 * returned, and does not keep it from going on. */
static int each_entry(struct repair *repair, int dir,
		      int (*visit)(struct repair *repair, const char *name))
{
	struct dirent **entries = NULL;
	int count = scandirat(dir, ".", &entries, NULL, NULL);
	int error = count < 0 ? -errno : 0;

	for (int i = 0; i < count; i++) {
		int one = visit(repair, entries[i]->d_name);

		error = error ? error : one;
		free(entries[i]);
	}
	free(entries);
	return error;
}

static int remove_hidden(struct repair *repair, const char *name)
{
	return sonde_ctf_name_is_hidden(name) ?
		       sonde_ctf_unlink(repair->dir, name) :
		       0;
}

static int remove_hidden_index(struct repair *repair, const char *name)
{
	return sonde_ctf_name_is_hidden(name) ?
		       sonde_ctf_unlink(repair->index_dir, name) :
		       0;
}

int sonde_ctf_repair_at(int dir, struct sonde_ctf_repair_report *ret_report)
{
	struct repair repair = { .dir = dir };
	int error = read_metadata(&repair);
	int one;

	if (error)
		return error;
	repair.index_dir = sonde_directory_open_below(dir, SONDE_CTF_INDEX_DIR);
	error = each_entry(&repair, dir, remove_hidden);
	if (repair.index_dir >= 0) {
		one = each_entry(&repair, repair.index_dir,
				 remove_hidden_index);
		error = error ? error : one;
	}
	one = each_entry(&repair, dir, repair_file);
	error = error ? error : one;
	if (repair.index_dir >= 0)
		(void)close(repair.index_dir);
	if (!error && ret_report)
		*ret_report = repair.report;
	return error;
}
