/* SPDX-License-Identifier: MIT */
/*
 * notes.c - a trace's notes: read from their file for each answer, and written
 * anew for each change (notes.h).
 *
 * The file is `.sonde-notes` in the trace's directory if that is ours and can be
 * written to, else one in ~/.local/state/sonde, which begins as a copy of what is
 * beside the trace. A change is made by one request at a time; of two servers that
 * change the same file at the same instant, one's change may be lost.
 */
#include "view/http/notes.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json.h"
#include "base/number.h"
#include "sys/fd.h"
#include "sys/userdir.h"
#include "sys/write.h"
#include "view/http/parts.h"
#include "view/index/sidecar.h"

#define HEAD   "sonde notes 1"
#define BESIDE ".sonde-notes"
/* No file of notes is longer. */
#define FILE_BYTES ((size_t)SONDE_VIEW_NOTES * (2 * SONDE_VIEW_NOTE_TEXT + 80))

/* ---- the file's text ---- */

/* What is in front of the next `end`, which it becomes a text by; NULL: there is
 * none. */
static char *take_piece_until(char **at, char end)
{
	char *begin = *at;
	char *found = strchr(begin, end);

	if (!found)
		return NULL;
	*found = 0;
	*at = found + 1;
	return begin;
}

static bool take_time(char **at, int64_t *ret_ns)
{
	const char *word = take_piece_until(at, '\t');

	return word && sonde_number_take_signed(&word, ret_ns) && !*word;
}

static bool is_note_text(const char *text)
{
	for (const char *at = text; *at; at++)
		if ((unsigned char)*at < ' ' || *at == 0x7f)
			return false;
	return strlen(text) <= SONDE_VIEW_NOTE_TEXT;
}

static bool parse_note(char *line, struct sonde_view_note *note)
{
	const char *id = take_piece_until(&line, '\t');

	if (!id || !sonde_number_parse(id, UINT32_MAX, &note->id) ||
	    !take_time(&line, &note->begin_ns) ||
	    !take_time(&line, &note->end_ns) || note->end_ns < note->begin_ns)
		return false;
	note->row = take_piece_until(&line, '\t');
	note->text = line;
	return note->row && is_note_text(note->row) && is_note_text(note->text);
}

int sonde_view_notes_parse(char *text, struct sonde_view_note *ret_notes,
			   size_t *ret_line)
{
	char *line;
	size_t nr = 0;

	*ret_line = 1;
	if (!*text)
		return 0;
	line = take_piece_until(&text, '\n');
	if (!line || strcmp(line, HEAD) != 0)
		return -EINVAL;
	while (*text) {
		++*ret_line;
		line = take_piece_until(&text, '\n');
		if (!line || nr == SONDE_VIEW_NOTES ||
		    !parse_note(line, &ret_notes[nr]))
			return -EINVAL;
		nr++;
	}
	return (int)nr;
}

/* What isn't printed is a blank. */
static void put_note_text(const char *text, FILE *to)
{
	for (; *text; text++)
		(void)fputc((unsigned char)*text < ' ' || *text == 0x7f ? ' ' :
									  *text,
			    to);
}

char *sonde_view_notes_write(const struct sonde_view_note *notes, size_t nr,
			     size_t *ret_size)
{
	char *text = NULL;
	FILE *to = open_memstream(&text, ret_size);

	if (!to)
		return NULL;
	(void)fputs(HEAD "\n", to);
	for (size_t i = 0; i < nr; i++) {
		(void)fprintf(to, "%" PRIu64 "\t%" PRId64 "\t%" PRId64 "\t",
			      notes[i].id, notes[i].begin_ns, notes[i].end_ns);
		put_note_text(notes[i].row, to);
		(void)fputc('\t', to);
		put_note_text(notes[i].text, to);
		(void)fputc('\n', to);
	}
	if (!fclose(to))
		return text;
	free(text);
	return NULL;
}

/* ---- where it is ---- */

struct notes {
	int dir;       /* where they are written; -errno */
	char name[40]; /* in it */
	int beside;    /* the trace's directory; -errno: it has none */
	bool is_beside;
	char *bytes; /* the file's, for free() */
	struct sonde_view_note *list;
	size_t nr;
};

static void find_notebook(const struct sonde_view *view, struct notes *notes)
{
	struct stat st;

	notes->beside = open(view->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	notes->is_beside =
		notes->beside >= 0 && !fstat(notes->beside, &st) &&
		st.st_uid == geteuid() &&
		!faccessat(notes->beside, ".", W_OK | X_OK, AT_EACCESS);
	if (notes->is_beside) {
		notes->dir = notes->beside;
		(void)snprintf(notes->name, sizeof(notes->name), BESIDE);
		return;
	}
	notes->dir = sonde_userdir_open("XDG_STATE_HOME", "/.local/state");
	(void)snprintf(notes->name, sizeof(notes->name), "notes-%016" PRIx64,
		       sonde_view_sidecar_where(view->trace));
}

/* All of an open file, as a text; 0 or -errno. */
static int fill_notebook(int fd, char *to, size_t size)
{
	struct stat st;
	ssize_t got;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size >= (off_t)size)
		return -EINVAL;
	got = read(fd, to, size - 1);
	if (got < 0)
		return -errno;
	to[got] = 0;
	return strlen(to) == (size_t)got ? 0 : -EINVAL;
}

/* *ret_bytes is for free() in any case. 0, -ENOENT, another -errno. */
static int read_notebook(int dir, const char *name, char **ret_bytes)
{
	int fd = dir < 0 ?
			 -1 :
			 openat(dir, name,
				O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	int err;

	if (fd < 0)
		return dir < 0 ? -ENOENT : -errno;
	*ret_bytes = malloc(FILE_BYTES);
	err = *ret_bytes ? fill_notebook(fd, *ret_bytes, FILE_BYTES) : -ENOMEM;
	(void)close(fd);
	return err;
}

static int read_notes(struct notes *notes, struct sonde_view_error *error)
{
	size_t line = 1;
	int nr;
	int err = read_notebook(notes->dir, notes->name, &notes->bytes);

	if (err == -ENOENT && !notes->is_beside)
		err = read_notebook(notes->beside, BESIDE, &notes->bytes);
	if (err == -ENOENT)
		return 0;
	nr = err ? err :
		   sonde_view_notes_parse(notes->bytes, notes->list, &line);
	if (nr < 0)
		return sonde_view_fail(error, nr,
				       "notes: line %zu of %.200s is none that "
				       "this sonde knows: remove the line or "
				       "the file",
				       line, notes->name);
	notes->nr = (size_t)nr;
	return 0;
}

static int notebook_open(const struct sonde_view *view, struct notes *notes,
			 struct sonde_view_error *error)
{
	*notes = (struct notes){ .bytes = NULL };
	find_notebook(view, notes);
	/* one more than a file has: the new one */
	notes->list = calloc(SONDE_VIEW_NOTES + 1, sizeof(*notes->list));
	return notes->list ? read_notes(notes, error) : -ENOMEM;
}

static void notebook_close(struct notes *notes)
{
	free(notes->list);
	free(notes->bytes);
	if (notes->dir >= 0 && !notes->is_beside)
		(void)close(notes->dir);
	if (notes->beside >= 0)
		(void)close(notes->beside);
}

static int save_notes(const struct notes *notes, struct sonde_view_error *error)
{
	char draft[sizeof(notes->name) + 8];
	size_t size;
	char *text = sonde_view_notes_write(notes->list, notes->nr, &size);
	int err = text ? notes->dir : -ENOMEM;

	(void)snprintf(draft, sizeof(draft), "%s.new", notes->name);
	if (err >= 0)
		err = sonde_write_replace(notes->dir, draft, notes->name, text,
					  size);
	free(text);
	return err ? sonde_view_fail(error, err,
				     "the notes can't be written: %s",
				     strerrordesc_np(-err)) :
		     0;
}

/* ---- answers ---- */

static void tell_notes(const struct sonde_view *view, const struct notes *notes,
		       FILE *to)
{
	struct sonde_json json = sonde_view_json(to);
	char path[PATH_MAX];

	(void)sonde_fd_path(notes->dir, path); /* "": it isn't said */
	sonde_json_open(&json, NULL, '{');
	sonde_json_put_text(&json, "directory", *path ? path : NULL);
	sonde_json_put_text(&json, "file", notes->name);
	sonde_json_open(&json, "notes", '[');
	for (size_t i = 0; i < notes->nr; i++) {
		const struct sonde_view_note *note = &notes->list[i];

		sonde_json_open(&json, NULL, '{');
		sonde_json_put_unsigned(&json, "id", note->id);
		sonde_json_put_signed(&json, "from",
				      note->begin_ns - view->begin_ns);
		sonde_json_put_signed(&json, "to",
				      note->end_ns - view->begin_ns);
		sonde_json_put_text(&json, "row",
				    strcmp(note->row, "-") != 0 ? note->row :
								  NULL);
		sonde_json_put_text(&json, "text", note->text);
		sonde_json_close(&json, '}');
	}
	sonde_json_close(&json, ']');
	sonde_json_close(&json, '}');
}

int sonde_view_each_note(const struct sonde_view *view,
			 sonde_view_tell_note *tell, void *ctx,
			 struct sonde_view_error *error)
{
	struct notes notes;
	int err = notebook_open(view, &notes, error);

	for (size_t i = 0; !err && i < notes.nr; i++)
		tell(ctx, &notes.list[i]);
	notebook_close(&notes);
	return err;
}

int sonde_view_answer_notes(struct sonde_view *view,
			    const struct sonde_view_request *request, FILE *to,
			    struct sonde_view_error *error)
{
	struct notes notes;
	int err = notebook_open(view, &notes, error);

	(void)request;
	if (!err)
		tell_notes(view, &notes, to);
	notebook_close(&notes);
	return err;
}

/* In the order of time; what is as late comes behind. */
static void insert_note(struct notes *notes, const struct sonde_view_note *note)
{
	size_t at = notes->nr++;

	for (; at && notes->list[at - 1].begin_ns > note->begin_ns; at--)
		notes->list[at] = notes->list[at - 1];
	notes->list[at] = *note;
}

static int note_down(const struct sonde_view *view,
		     const struct sonde_view_request *request,
		     struct notes *notes, struct sonde_view_error *error)
{
	const char *row = sonde_view_request_text(request, "row");
	struct sonde_view_note note = {
		.row = row ? row : "-",
		.text = sonde_view_request_text(request, "text"),
	};
	struct sonde_view_span span = { 0, 0 };

	if (sonde_view_request_number(request, "from", 0, INT64_MAX / 4,
				      &span.from) ||
	    sonde_view_request_number(request, "to", span.from, INT64_MAX / 4,
				      &span.to) ||
	    __builtin_add_overflow(view->begin_ns, span.from, &note.begin_ns) ||
	    __builtin_add_overflow(view->begin_ns, span.to, &note.end_ns))
		return sonde_view_fail(error, -EINVAL,
				       "from, to: of what the note is");
	if (notes->nr == SONDE_VIEW_NOTES)
		return sonde_view_fail(error, -EINVAL,
				       "there are %u notes, and no room for "
				       "more: remove some",
				       SONDE_VIEW_NOTES);
	for (size_t i = 0; i < notes->nr; i++)
		if (notes->list[i].id > note.id)
			note.id = notes->list[i].id;
	if (note.id == UINT32_MAX)
		return sonde_view_fail(error, -EINVAL,
				       "notes: no numbers are left");
	note.id++;
	insert_note(notes, &note);
	return 0;
}

/* Its text becomes another; without one it goes. */
static int alter_note(const struct sonde_view_request *request, int64_t id,
		      struct notes *notes, struct sonde_view_error *error)
{
	const char *text = sonde_view_request_text(request, "text");
	size_t i = 0;

	while (i < notes->nr && notes->list[i].id != (uint64_t)id)
		i++;
	if (i == notes->nr)
		return sonde_view_fail(error, -ENOENT,
				       "that note isn't there any more");
	if (text) {
		notes->list[i].text = text;
		return 0;
	}
	notes->nr--;
	memmove(&notes->list[i], &notes->list[i + 1],
		(notes->nr - i) * sizeof(*notes->list));
	return 0;
}

static int change_notes(const struct sonde_view *view,
			const struct sonde_view_request *request,
			struct notes *notes, struct sonde_view_error *error)
{
	const char *text = sonde_view_request_text(request, "text");
	const char *row = sonde_view_request_text(request, "row");
	int64_t id = 0;
	int given =
		sonde_view_request_number(request, "id", 1, UINT32_MAX, &id);

	if (given == -EINVAL || (given == -ENOENT && !text) ||
	    (text && strlen(text) > SONDE_VIEW_NOTE_TEXT) ||
	    (row && strlen(row) > SONDE_VIEW_NOTE_TEXT))
		return sonde_view_fail(error, -EINVAL,
				       "id, text: of up to %u bytes",
				       SONDE_VIEW_NOTE_TEXT);
	return given ? note_down(view, request, notes, error) :
		       alter_note(request, id, notes, error);
}

int sonde_view_answer_note(struct sonde_view *view,
			   const struct sonde_view_request *request, FILE *to,
			   struct sonde_view_error *error)
{
	static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
	struct notes notes;
	int err;

	(void)pthread_mutex_lock(&one_at_a_time);
	err = notebook_open(view, &notes, error);
	if (!err)
		err = change_notes(view, request, &notes, error);
	if (!err)
		err = save_notes(&notes, error);
	if (!err)
		tell_notes(view, &notes, to);
	notebook_close(&notes);
	(void)pthread_mutex_unlock(&one_at_a_time);
	return err;
}
