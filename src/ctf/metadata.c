/* SPDX-License-Identifier: MIT */
/*
 * metadata.c - the file `metadata` (metadata.h).
 */
#include "ctf/metadata.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ctf/names.h"
#include "ctf/os.h"
#include "ctf/packet.h"

static int write_all(const struct sonde_ctf_metadata *metadata, int fd)
{
	int error = sonde_ctf_pwrite(fd, metadata->preamble.bytes,
				     metadata->preamble.size, 0);

	if (error || metadata->body.size == 0)
		return error;
	return sonde_ctf_pwrite(fd, metadata->body.bytes, metadata->body.size,
				metadata->preamble.size);
}

/* Whether the file that we write is still the one that readers find. */
static bool is_whole(const struct sonde_ctf_metadata *metadata)
{
	struct stat ours;
	struct stat named;

	return !fstat(metadata->fd, &ours) &&
	       !fstatat(metadata->dir, SONDE_CTF_METADATA, &named,
			AT_SYMLINK_NOFOLLOW) &&
	       ours.st_dev == named.st_dev && ours.st_ino == named.st_ino &&
	       (uint64_t)ours.st_size == metadata->file_size;
}

static int rewrite(struct sonde_ctf_metadata *metadata)
{
	struct sonde_ctf_name hidden;
	int error = metadata->preamble.error;
	int fd;

	if (!error)
		error = metadata->body.error;
	if (error)
		return error;
	if (metadata->fd >= 0 && !is_whole(metadata))
		metadata->was_harmed = true;
	sonde_ctf_name_hidden(&hidden, SONDE_CTF_METADATA);
	fd = sonde_ctf_create(metadata->dir, hidden.text, O_RDWR);
	if (fd < 0)
		return fd;
	error = write_all(metadata, fd);
	if (!error)
		error = sonde_ctf_rename(metadata->dir, hidden.text,
					 SONDE_CTF_METADATA);
	if (error) {
		(void)close(fd);
		(void)sonde_ctf_unlink(metadata->dir, hidden.text);
		return error;
	}
	if (metadata->fd >= 0)
		(void)close(metadata->fd);
	metadata->fd = fd;
	metadata->synced = metadata->body.size;
	metadata->file_size = metadata->preamble.size + metadata->body.size;
	return 0;
}

int sonde_ctf_metadata_rewrite(struct sonde_ctf_metadata *metadata)
{
	int error = rewrite(metadata);

	metadata->is_behind = error != 0;
	return error;
}

/* The size of the first block at `text`. */
static size_t block_size(const char *text, size_t size)
{
	const char *end = memmem(text, size, "\n\n", 2);

	return end ? (size_t)(end + 2 - text) : size;
}

/* How much of `text`, in whole blocks, fits into `room`. */
static size_t blocks_that_fit(const char *text, size_t size, size_t room)
{
	size_t fit = 0;

	while (fit < size) {
		size_t more = block_size(text + fit, size - fit);

		if (fit + more > room)
			break;
		fit += more;
	}
	return fit;
}

/* A write that fails half-way must not leave half a block. */
static int append(struct sonde_ctf_metadata *metadata, const char *text,
		  size_t size)
{
	int error =
		sonde_ctf_pwrite(metadata->fd, text, size, metadata->file_size);

	if (error)
		(void)sonde_ctf_truncate(metadata->fd, metadata->file_size);
	else
		metadata->file_size += size;
	return error;
}

static int append_some(struct sonde_ctf_metadata *metadata)
{
	const char *text = metadata->body.bytes + metadata->synced;
	size_t size = metadata->body.size - metadata->synced;
	size_t room = SONDE_CTF_PAGE - metadata->file_size % SONDE_CTF_PAGE;
	size_t fit = blocks_that_fit(text, size, room);
	char lines[SONDE_CTF_PAGE];
	int error;

	if (fit == 0 && block_size(text, size) > SONDE_CTF_PAGE)
		return sonde_ctf_metadata_rewrite(metadata);
	if (fit == 0) {
		memset(lines, '\n', room);
		return append(metadata, lines, room);
	}
	error = append(metadata, text, fit);
	if (!error)
		metadata->synced += fit;
	return error;
}

int sonde_ctf_metadata_sync(struct sonde_ctf_metadata *metadata)
{
	size_t pending = metadata->body.size - metadata->synced;
	int error = metadata->body.error;

	if (error)
		return error;
	if (pending > metadata->file_size)
		return sonde_ctf_metadata_rewrite(metadata);
	while (!error && metadata->synced < metadata->body.size)
		error = append_some(metadata);
	return error;
}

/* The next byte of text, empty lines passed over; NULL at its end. */
static const char *metadata_next_byte(const char *at, const char *end)
{
	while (at < end && *at == '\n')
		at++;
	return at < end ? at : NULL;
}

/* Takes `text` off the file's bytes from `at` on; NULL if they differ. */
static const char *metadata_match(const char *at, const char *end,
				  const char *text, size_t size)
{
	const char *text_end = text + size;
	const char *wanted;
	const char *found;

	if (size && (size_t)(end - at) >= size && !memcmp(at, text, size))
		return at + size; /* as it was written, all in one piece */
	for (; (wanted = metadata_next_byte(text, text_end));
	     text = wanted + 1) {
		found = metadata_next_byte(at, end);
		if (!found || *found != *wanted)
			return NULL;
		at = found + 1;
	}
	return at;
}

/* Whether the file holds what was written to it: it may have been cut, and
 * grown again since. */
static bool has_content(const struct sonde_ctf_metadata *metadata)
{
	char *bytes = malloc(metadata->file_size + 1);
	const char *end = bytes + metadata->file_size;
	const char *at = bytes;

	if (!bytes || metadata->is_behind) {
		free(bytes);
		return true; /* it can't be known */
	}
	if (sonde_ctf_pread(metadata->fd, bytes, metadata->file_size, 0) !=
	    (ssize_t)metadata->file_size)
		at = NULL;
	if (at)
		at = metadata_match(at, end, metadata->preamble.bytes,
				    metadata->preamble.size);
	if (at)
		at = metadata_match(at, end, metadata->body.bytes,
				    metadata->synced);
	free(bytes);
	return at != NULL;
}

int sonde_ctf_metadata_heal(struct sonde_ctf_metadata *metadata)
{
	if (is_whole(metadata) && has_content(metadata))
		return 0;
	metadata->was_harmed = true;
	return sonde_ctf_metadata_rewrite(metadata);
}

void sonde_ctf_metadata_fini(struct sonde_ctf_metadata *metadata)
{
	if (metadata->fd >= 0)
		(void)close(metadata->fd);
	sonde_ctf_text_fini(&metadata->preamble);
	sonde_ctf_text_fini(&metadata->body);
	metadata->fd = -1;
}
