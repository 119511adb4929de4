/* SPDX-License-Identifier: MIT */
/*
 * notes.c - what of a trace has been collected (notes.h).
 *
 * Pieces come in order but for what was sent again, so a file has one range,
 * or a few. A range that is added grows its neighbours; where it fills the gap
 * between two, they become one.
 */
#include "fleet/notes.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/grow.h"
#include "base/hex.h"
#include "base/number.h"
#include "base/search.h"
#include "ctf/directory.h"
#include "sys/write.h"

#define HEADLINE "sonde-collect1"

void sonde_notes_init(struct sonde_notes *notes)
{
	*notes = (struct sonde_notes){ .position = 0 };
	sonde_hash_init(&notes->files, sizeof(struct sonde_notes_file),
			SIZE_MAX);
}

void sonde_notes_fini(struct sonde_notes *notes)
{
	struct sonde_notes_file *file = NULL;

	while ((file = sonde_hash_next(&notes->files, file)))
		free(file->ranges);
	sonde_hash_fini(&notes->files);
}

struct sonde_notes_file *sonde_notes_file(struct sonde_notes *notes,
					  const char *name)
{
	struct sonde_key key = sonde_key_of_text(name, strlen(name));
	struct sonde_notes_file *file = sonde_hash_put(&notes->files, &key);

	if (file)
		(void)snprintf(file->name, sizeof(file->name), "%s", name);
	return file;
}

/* ---- ranges ---- */

/* Makes room for a range in front of the i-th. */
static int notes_insert(struct sonde_notes_file *file, size_t i,
			struct sonde_notes_range range)
{
	if (SONDE_GROW(file->ranges, file->nr_ranges, file->ranges_room))
		return -ENOMEM;
	memmove(&file->ranges[i + 1], &file->ranges[i],
		(file->nr_ranges++ - i) * sizeof(range));
	file->ranges[i] = range;
	return 0;
}

int sonde_notes_add(struct sonde_notes_file *file, uint64_t number)
{
	struct sonde_notes_range *at;
	size_t i;

	/* the first range that ends at it or behind */
	SONDE_SEARCH(i, file->nr_ranges, file->ranges[i].to < number);
	at = i < file->nr_ranges ? &file->ranges[i] : NULL;
	if (!at || number + 1 < at->from)
		return notes_insert(file, i,
				    (struct sonde_notes_range){
					    .from = number, .to = number + 1 });
	if (number + 1 == at->from)
		at->from = number;
	else if (number == at->to)
		at->to++;
	if (i + 1 < file->nr_ranges && at->to == at[1].from) {
		at->to = at[1].to;
		memmove(at + 1, at + 2,
			(--file->nr_ranges - i - 1) * sizeof(*at));
	}
	return 0;
}

uint64_t sonde_notes_count(const struct sonde_notes_file *file, uint64_t end)
{
	uint64_t nr = 0;

	for (size_t i = 0; i < file->nr_ranges; i++) {
		const struct sonde_notes_range *range = &file->ranges[i];

		if (range->from < end)
			nr += (range->to < end ? range->to : end) - range->from;
	}
	return nr;
}

/* ---- lines ---- */

/* The next line of text, without its newline; NULL at the end. */
static char *notes_next_line(char **text)
{
	char *line = *text;
	char *end = line ? strchr(line, '\n') : NULL;

	if (!end)
		return NULL;
	*end = 0;
	*text = end + 1;
	return line;
}

static bool notes_take_number(const char **at, uint64_t *ret_number)
{
	return sonde_number_take(at, 10, SONDE_NET_FILE_BYTES_MAX, ret_number);
}

/* "PIECES BYTES NAME". */
static int take_end_line(struct sonde_notes *notes, const char *line)
{
	struct sonde_notes_file *file;
	uint64_t wanted;
	uint64_t bytes;

	if (!notes_take_number(&line, &wanted) || !sonde_hex_take(&line, ' ') ||
	    !notes_take_number(&line, &bytes) || !sonde_hex_take(&line, ' ') ||
	    !sonde_net_is_file(SONDE_NET_PACKET, line))
		return -EINVAL;
	file = sonde_notes_file(notes, line);
	if (!file)
		return -ENOMEM;
	file->wanted = wanted;
	file->bytes = bytes;
	return 0;
}

int sonde_notes_take_end(struct sonde_notes *notes, const char *body,
			 size_t size)
{
	char *text = strndup(body, size);
	char *rest = text;
	char *line;
	int err = text ? 0 : -ENOMEM;

	while (!err && (line = notes_next_line(&rest)))
		err = take_end_line(notes, line);
	free(text);
	return err;
}

static bool take_ranges(const char **at, struct sonde_notes_file *file)
{
	struct sonde_notes_range range;

	while (**at != ' ') {
		if (!notes_take_number(at, &range.from) ||
		    !sonde_hex_take(at, '-') ||
		    !notes_take_number(at, &range.to) ||
		    range.to <= range.from ||
		    (file->nr_ranges &&
		     file->ranges[file->nr_ranges - 1].to >= range.from) ||
		    notes_insert(file, file->nr_ranges, range))
			return false;
		(void)sonde_hex_take(at, ',');
	}
	return sonde_hex_take(at, ' ');
}

/* Behind "file ". */
static int take_file(struct sonde_notes *notes, const char *at)
{
	struct sonde_notes_file said = { .version = 0 };
	struct sonde_notes_file *file;

	if (!notes_take_number(&at, &said.wanted) ||
	    !sonde_hex_take(&at, ' ') || !notes_take_number(&at, &said.bytes) ||
	    !sonde_hex_take(&at, ' ') || !take_ranges(&at, &said) ||
	    !sonde_net_is_file(SONDE_NET_PACKET, at)) {
		free(said.ranges);
		return -EINVAL;
	}
	file = sonde_notes_file(notes, at);
	if (!file) {
		free(said.ranges);
		return -ENOMEM;
	}
	free(file->ranges);
	file->ranges = said.ranges;
	file->nr_ranges = said.nr_ranges;
	file->ranges_room = said.ranges_room;
	file->wanted = said.wanted;
	file->bytes = said.bytes;
	return 0;
}

/* Behind "document ". */
static int take_document(struct sonde_notes *notes, const char *at)
{
	struct sonde_notes_file *file;
	uint64_t version;

	if (!notes_take_number(&at, &version) || !sonde_hex_take(&at, ' ') ||
	    !sonde_net_is_file(SONDE_NET_DOCUMENT, at))
		return -EINVAL;
	file = sonde_notes_file(notes, at);
	if (!file)
		return -ENOMEM;
	file->version = version;
	return 0;
}

static int notes_take_line(struct sonde_notes *notes, const char *at)
{
	if (sonde_hex_take_word(&at, "position "))
		return sonde_number_parse(at, UINT64_MAX, &notes->position) ?
			       0 :
			       -EINVAL;
	if (sonde_hex_take_word(&at, "ended "))
		return sonde_number_parse(at, UINT64_MAX, &notes->ended) ?
			       0 :
			       -EINVAL;
	if (sonde_hex_take_word(&at, "damaged "))
		return sonde_number_parse(at, UINT64_MAX, &notes->damaged) ?
			       0 :
			       -EINVAL;
	if (sonde_hex_take_word(&at, "document "))
		return take_document(notes, at);
	if (sonde_hex_take_word(&at, "file "))
		return take_file(notes, at);
	if (!sonde_hex_take_word(&at, "place ") || !sonde_net_is_path(at) ||
	    strlen(at) >= sizeof(notes->place))
		return -EINVAL;
	memcpy(notes->place, at, strlen(at) + 1);
	return 0;
}

/* ---- files ---- */

/* All of it, for free(); NULL and *ret_err. */
static char *notes_read_text(int dir, const char *name, int *ret_err)
{
	int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	FILE *from = fd < 0 ? NULL : fdopen(fd, "r");
	char *text = NULL;
	size_t room = 0;
	ssize_t n;

	if (!from) {
		*ret_err = -errno;
		if (fd >= 0)
			(void)close(fd);
		return NULL;
	}
	n = getdelim(&text, &room, 0, from);
	(void)fclose(from); /* only read */
	if (n >= 0)
		return text;
	free(text);
	*ret_err = -EINVAL;
	return NULL;
}

int sonde_notes_read(struct sonde_notes *notes, int dir, const char *name)
{
	int err = 0;
	char *text = notes_read_text(dir, name, &err);
	char *rest = text;
	char *line = notes_next_line(&rest);

	if (text && (!line || strcmp(line, HEADLINE) != 0))
		err = -EINVAL;
	while (!err && (line = notes_next_line(&rest)))
		err = notes_take_line(notes, line);
	free(text);
	return err;
}

static void notes_put_file(FILE *to, const struct sonde_notes_file *file)
{
	if (file->version) {
		(void)fprintf(to, "document %" PRIu64 " %s\n", file->version,
			      file->name);
		return;
	}
	(void)fprintf(to, "file %" PRIu64 " %" PRIu64 " ", file->wanted,
		      file->bytes);
	for (size_t i = 0; i < file->nr_ranges; i++)
		(void)fprintf(to, "%s%" PRIu64 "-%" PRIu64, i ? "," : "",
			      file->ranges[i].from, file->ranges[i].to);
	(void)fprintf(to, " %s\n", file->name);
}

static int notes_put_text(const struct sonde_notes *notes, char **ret_text,
			  size_t *ret_size)
{
	const struct sonde_notes_file *file = NULL;
	FILE *to = open_memstream(ret_text, ret_size);

	if (!to)
		return -ENOMEM;
	(void)fprintf(to,
		      "%s\nposition %" PRIu64 "\nended %" PRIu64
		      "\ndamaged %" PRIu64 "\nplace %s\n",
		      HEADLINE, notes->position, notes->ended, notes->damaged,
		      notes->place);
	while ((file = sonde_hash_next(&notes->files, file)))
		notes_put_file(to, file);
	return fclose(to) ? -ENOMEM : 0;
}

int sonde_notes_write(const struct sonde_notes *notes, int dir,
		      const char *name)
{
	char *text = NULL;
	char hidden[NAME_MAX + 1];
	size_t size;
	int err = notes_put_text(notes, &text, &size);
	int fd;

	(void)snprintf(hidden, sizeof(hidden), ".%.249s.new", name);
	fd = err ? err : sonde_directory_file_below(dir, hidden, O_WRONLY);
	if (fd < 0) {
		free(text);
		return fd;
	}
	err = sonde_write_all(fd, text, size);
	if (!err && (fsync(fd) || renameat(dir, hidden, dir, name)))
		err = -errno;
	(void)close(fd); /* synchronised, or given up */
	free(text);
	return err;
}
