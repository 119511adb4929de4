/* SPDX-License-Identifier: MIT */
/*
 * collect.c - messages become files (collect.h).
 *
 * A trace at a time: its log is read from where its notes say, and what comes is
 * written into its directory. After some of it, what was written is synchronised
 * with the disk, and then the notes say so. Whatever happens in between is done
 * again.
 *
 * Everything in a message is a stranger's: names are checked by its parser,
 * files are made in directories that are ours alone and opened without following
 * links, and a body that isn't what its head says is left out and counted.
 */
#include "fleet/collect.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/grow.h"
#include "base/hex.h"
#include "base/text.h"
#include "ctf/directory.h"
#include "fleet/globs.h"
#include "fleet/notes.h"
#include "sys/write.h"

#define NOTES_DIR ".collect"
#define OPEN_MAX  128u
#define BATCH_MAX ((uint64_t)64 << 20) /* bytes between two notes */
#define FILE_MODE 0600

struct gathered {
	struct sonde_collect *collect;
	char host[SONDE_NET_NAME_MAX + 1];
	uint8_t trace[16];
	char id[33]; /* the same, as text */
	char notes_name[SONDE_NET_NAME_MAX + 40];
	struct sonde_notes notes;
	int dir;                     /* -1: not open */
	size_t nr_open;              /* files */
	uint64_t unsettled;          /* bytes */
	bool is_wanted, is_unwanted; /* neither: nothing was taken yet */
};

struct sonde_collect {
	struct sonde_collect_config config;
	int out, notes_dir;
	struct gathered **traces;
	size_t nr_traces, traces_room;
};

static int collect_fail(const struct sonde_collect *collect, int err,
			const char *what)
{
	return sonde_net_fail(collect->config.error, err, "%.200s/%.300s: %s",
			      collect->config.out, what, strerrordesc_np(-err));
}

static int fail_memory(const struct sonde_collect *collect)
{
	return sonde_net_fail(collect->config.error, -ENOMEM, "no memory");
}

/* ---- OUT ---- */

/* One that has our notes in it, or a new one, or an empty one. */
static int open_out(struct sonde_collect *collect)
{
	const char *path = collect->config.out;
	struct sonde_directory place = SONDE_DIRECTORY_NONE;
	struct sonde_directory_error words;
	struct stat st;
	int err;

	collect->out = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (collect->out >= 0 &&
	    !fstatat(collect->out, NOTES_DIR, &st, AT_SYMLINK_NOFOLLOW)) {
		err = sonde_directory_check(collect->out, path, &words);
		return err ? sonde_net_fail(collect->config.error, err, "%s",
					    words.text) :
			     0;
	}
	if (collect->out >= 0)
		(void)close(collect->out);
	collect->out = -1;
	err = sonde_directory_make(path, &place, &words);
	if (err)
		return sonde_net_fail(collect->config.error, err, "%s",
				      words.text);
	collect->out = fcntl(place.dir, F_DUPFD_CLOEXEC, 0);
	sonde_directory_close(&place);
	return collect->out < 0 ? collect_fail(collect, -errno, "") : 0;
}

static int open_notes(struct sonde_collect *collect)
{
	int fd = sonde_directory_make_below(collect->out, NOTES_DIR, true);

	if (fd < 0)
		return collect_fail(collect, fd, NOTES_DIR);
	collect->notes_dir = fd;
	if (flock(fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK)
		return sonde_net_fail(collect->config.error, -EBUSY,
				      "%.400s: another sonde collect is at "
				      "work here",
				      collect->config.out);
	return 0;
}

int sonde_collect_new(const struct sonde_collect_config *config,
		      struct sonde_collect **ret_collect)
{
	struct sonde_collect *collect = calloc(1, sizeof(*collect));
	int err;

	if (!collect)
		return -ENOMEM;
	collect->config = *config;
	collect->out = collect->notes_dir = -1;
	err = open_out(collect);
	if (!err)
		err = open_notes(collect);
	if (err)
		sonde_collect_free(collect);
	else
		*ret_collect = collect;
	return err;
}

void sonde_collect_free(struct sonde_collect *collect)
{
	if (!collect)
		return;
	for (size_t i = 0; i < collect->nr_traces; i++) {
		sonde_notes_fini(&collect->traces[i]->notes);
		free(collect->traces[i]);
	}
	free(collect->traces);
	if (collect->notes_dir >= 0)
		(void)close(collect->notes_dir);
	if (collect->out >= 0)
		(void)close(collect->out);
	free(collect);
}

/* ---- notes, and what they promise ---- */

/* What was written is on the disk, and the notes say so. */
static int gathered_settle(struct gathered *trace)
{
	struct sonde_notes_file *file = NULL;
	int err = 0;

	while ((file = sonde_hash_next(&trace->notes.files, file))) {
		if (!file->fd)
			continue;
		if (!err && fdatasync(file->fd))
			err = -errno;
		(void)close(file->fd); /* synchronised, or given up */
		file->fd = 0;
	}
	trace->nr_open = 0;
	trace->unsettled = 0;
	if (!err)
		err = sonde_notes_write(&trace->notes,
					trace->collect->notes_dir,
					trace->notes_name);
	return err ? collect_fail(trace->collect, err, trace->notes.place) : 0;
}

/* ---- a trace's directory ---- */

/* Whether there is something already, or what is above it is a trace. */
static bool is_occupied(const struct gathered *trace,
			const struct sonde_net_head *head)
{
	int out = trace->collect->out;
	char above[2 * SONDE_NET_NAME_MAX + 16];
	struct stat st;

	(void)snprintf(above, sizeof(above), "%s/%s/metadata", head->host,
		       head->recording);
	return !fstatat(out, trace->notes.place, &st, AT_SYMLINK_NOFOLLOW) ||
	       (*head->path && !fstatat(out, above, &st, AT_SYMLINK_NOFOLLOW));
}

/* Its place, if it has none yet; noted before there is anything in it. */
static int choose_place(struct gathered *trace,
			const struct sonde_net_head *head)
{
	char *place = trace->notes.place;
	size_t size = sizeof(trace->notes.place);
	const char *slash = *head->path ? "/" : "";

	if (*place)
		return 0;
	(void)snprintf(place, size, "%s/%s%s%s", head->host, head->recording,
		       slash, head->path);
	if (is_occupied(trace, head))
		(void)snprintf(place, size, "%s/%.190s-%.8s%s%s", head->host,
			       head->recording, trace->id, slash, head->path);
	return gathered_settle(trace);
}

/* Makes all directories of a path below OUT; the last one's descriptor. */
static int make_path(const struct sonde_collect *collect, const char *path)
{
	char name[NAME_MAX + 1];
	int dir = collect->out;

	while (dir >= 0 && *path) {
		size_t length = strcspn(path, "/");
		int above = dir;

		(void)snprintf(name, sizeof(name), "%.*s", (int)length, path);
		dir = sonde_directory_make_below(above, name, true);
		if (above != collect->out)
			(void)close(above); /* nothing was written */
		path += length + (path[length] == '/');
	}
	return dir;
}

static int open_dir(struct gathered *trace, const struct sonde_net_head *head)
{
	int err = trace->dir >= 0 ? 0 : choose_place(trace, head);

	if (err || trace->dir >= 0)
		return err;
	trace->dir = make_path(trace->collect, trace->notes.place);
	return trace->dir < 0 ? collect_fail(trace->collect, trace->dir,
					     trace->notes.place) :
				0;
}

/* ---- messages ---- */

/* The file's descriptor, to be written. */
static int open_pieces(struct gathered *trace, struct sonde_notes_file *file)
{
	int fd;

	if (file->fd)
		return file->fd;
	fd = openat(trace->dir, file->name,
		    O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
		    FILE_MODE);
	if (fd < 0)
		return collect_fail(trace->collect, -errno, file->name);
	if (fd == 0)
		return collect_fail(trace->collect, -EBADF, file->name);
	file->fd = fd;
	trace->nr_open++;
	return fd;
}

static int write_piece(struct gathered *trace,
		       const struct sonde_net_message *message)
{
	const struct sonde_net_head *head = &message->head;
	struct sonde_notes_file *file =
		sonde_notes_file(&trace->notes, head->file);
	struct stat st;
	int err;
	int fd;

	if (!file)
		return fail_memory(trace->collect);
	fd = open_pieces(trace, file);
	if (fd < 0)
		return fd;
	err = sonde_pwrite_all(fd, message->body, head->body, head->offset);
	/* the zeros at its end */
	if (!err && head->body < head->bytes) {
		off_t end = (off_t)(head->offset + head->bytes);

		if (fstat(fd, &st) || (st.st_size < end && ftruncate(fd, end)))
			err = -errno;
	}
	if (err)
		return collect_fail(trace->collect, err, file->name);
	trace->unsettled += head->body;
	return sonde_notes_add(file, head->number) ?
		       fail_memory(trace->collect) :
		       0;
}

/* "index/NAME": makes the directory. Else it is in the trace's own. */
static int open_document_dir(struct gathered *trace, const char *file,
			     const char **ret_name)
{
	const char *slash = strchr(file, '/');

	*ret_name = slash ? slash + 1 : file;
	return slash ? sonde_directory_make_below(trace->dir, "index", true) :
		       fcntl(trace->dir, F_DUPFD_CLOEXEC, 0);
}

static int replace_document(int dir, const char *name,
			    const struct sonde_net_message *message)
{
	char hidden[NAME_MAX + 1];
	int err;
	int fd;

	(void)snprintf(hidden, sizeof(hidden), ".%.240s.new", name);
	fd = sonde_directory_file_below(dir, hidden, O_WRONLY);
	if (fd < 0)
		return fd;
	err = sonde_write_all(fd, message->body, message->head.body);
	if (!err && (fdatasync(fd) || renameat(dir, hidden, dir, name)))
		err = -errno;
	(void)close(fd); /* synchronised, or given up */
	return err;
}

static int write_document(struct gathered *trace,
			  const struct sonde_net_message *message)
{
	const struct sonde_net_head *head = &message->head;
	struct sonde_notes_file *file =
		sonde_notes_file(&trace->notes, head->file);
	const char *name;
	int err;
	int dir;

	if (!file)
		return fail_memory(trace->collect);
	if (head->number < file->version)
		return 0;
	file->version = head->number;
	err = gathered_settle(trace);
	if (err)
		return err;
	dir = open_document_dir(trace, head->file, &name);
	if (dir < 0)
		return collect_fail(trace->collect, dir, head->file);
	err = replace_document(dir, name, message);
	(void)close(dir); /* nothing is written to it */
	return err ? collect_fail(trace->collect, err, head->file) : 0;
}

/* Makes the files that have no pieces. */
static int write_end(struct gathered *trace,
		     const struct sonde_net_message *message)
{
	struct sonde_notes_file *file = NULL;
	int err = sonde_notes_take_end(&trace->notes, message->body,
				       message->head.body);

	if (err == -ENOMEM)
		return fail_memory(trace->collect);
	if (err) {
		trace->notes.damaged++;
		return 0;
	}
	trace->notes.ended = message->head.number;
	while ((file = sonde_hash_next(&trace->notes.files, file))) {
		if (file->version || file->nr_ranges)
			continue;
		err = open_pieces(trace, file);
		if (err < 0)
			return err;
		if (trace->nr_open >= OPEN_MAX &&
		    (err = gathered_settle(trace)) != 0)
			return err;
	}
	return 0;
}

static int gathered_take(struct gathered *trace,
			 const struct sonde_net_message *message)
{
	const struct sonde_net_head *head = &message->head;
	int err;

	if (!sonde_net_is_body(head, message->body, head->body) ||
	    memcmp(head->trace, trace->trace, sizeof(head->trace)) != 0 ||
	    strcmp(head->host, trace->host) != 0) {
		trace->notes.damaged++;
		return 0;
	}
	trace->is_wanted = trace->is_wanted ||
			   sonde_fleet_is_any_of(trace->collect->config.traces,
						 head->recording);
	trace->is_unwanted = !trace->is_wanted;
	if (trace->is_unwanted)
		return -ECANCELED;
	err = open_dir(trace, head);
	if (err)
		return err;
	switch (head->kind) {
	case SONDE_NET_PACKET:
	case SONDE_NET_REST:
		return write_piece(trace, message);
	case SONDE_NET_DOCUMENT:
		return write_document(trace, message);
	case SONDE_NET_END:
		break;
	}
	return write_end(trace, message);
}

/* ---- logs ---- */

static void gathered_warn(const struct sonde_collect *collect)
{
	if (collect->config.warn)
		collect->config.warn(collect->config.error->text);
}

/* A message, or bytes that are none: 1; 0: there is none; or what ends all. */
static int gathered_next(struct gathered *trace, struct sonde_net_log *log)
{
	const struct sonde_collect *collect = trace->collect;
	struct sonde_net_message message = { .next = 0 };
	int n = sonde_net_fetch(log, trace->notes.position, &message);
	int err;

	if (n == -EBADMSG) {
		trace->notes.damaged++;
		gathered_warn(collect);
		if (!message.next)
			return 0;
	} else if (n == -ENODATA) {
		gathered_warn(collect);
		return 0;
	} else if (n <= 0) {
		return n;
	}
	err = n > 0 ? gathered_take(trace, &message) : 0;
	if (err)
		return err;
	trace->notes.position = message.next;
	if (trace->nr_open >= OPEN_MAX || trace->unsettled >= BATCH_MAX)
		err = gathered_settle(trace);
	if (!err && collect->config.ask)
		err = collect->config.ask();
	return err ? err : 1;
}

static int collect_log(struct gathered *trace)
{
	const struct sonde_collect *collect = trace->collect;
	struct sonde_net_log *log;
	bool has_news = false;
	int err = sonde_net_log_open(collect->config.net, trace->host,
				     trace->trace, false, &log);
	int settled;

	if (err)
		return err;
	while ((err = gathered_next(trace, log)) > 0)
		has_news = true;
	sonde_net_log_close(log);
	if (trace->is_unwanted)
		return 0;
	settled = has_news || err ? gathered_settle(trace) : 0;
	if (trace->dir >= 0)
		(void)close(trace->dir); /* nothing is written to it */
	trace->dir = -1;
	if (err || settled)
		return err ? err : settled;
	return has_news;
}

static bool is_host_wanted(const struct sonde_collect_config *config,
			   const char *host)
{
	return sonde_fleet_is_any_of(config->hosts, host) &&
	       (!config->only ||
		sonde_text_has(config->only, strlen(config->only), "/", host));
}

/* A log that the engine has. */
static int meet_log(void *ctx, const char *host, const uint8_t id[16])
{
	struct sonde_collect *collect = ctx;
	struct gathered *trace;
	int err;

	if (!is_host_wanted(&collect->config, host))
		return 0;
	for (size_t i = 0; i < collect->nr_traces; i++)
		if (!memcmp(collect->traces[i]->trace, id, 16) &&
		    !strcmp(collect->traces[i]->host, host))
			return 0;
	if (SONDE_GROW(collect->traces, collect->nr_traces,
		       collect->traces_room))
		return fail_memory(collect);
	trace = calloc(1, sizeof(*trace));
	if (!trace)
		return fail_memory(collect);
	trace->collect = collect;
	trace->dir = -1;
	memcpy(trace->trace, id, 16);
	(void)snprintf(trace->host, sizeof(trace->host), "%s", host);
	sonde_hex_put(id, 16, trace->id);
	(void)snprintf(trace->notes_name, sizeof(trace->notes_name), "%s.%s",
		       host, trace->id);
	sonde_notes_init(&trace->notes);
	collect->traces[collect->nr_traces++] = trace;
	err = sonde_notes_read(&trace->notes, collect->notes_dir,
			       trace->notes_name);
	return err && err != -ENOENT ? collect_fail(collect, err, NOTES_DIR) :
				       0;
}

int sonde_collect_look(struct sonde_collect *collect)
{
	int err = sonde_net_list(collect->config.net, meet_log, collect);
	bool has_news = false;

	for (size_t i = 0; err >= 0 && i < collect->nr_traces; i++) {
		if (collect->traces[i]->is_unwanted)
			continue;
		err = collect_log(collect->traces[i]);
		has_news = has_news || err > 0;
	}
	return err < 0 ? err : has_news;
}

size_t sonde_collect_nr(const struct sonde_collect *collect)
{
	return collect->nr_traces;
}

bool sonde_collect_get(const struct sonde_collect *collect, size_t i,
		       struct sonde_collect_trace *ret_trace)
{
	const struct gathered *trace = collect->traces[i];
	const struct sonde_notes_file *file = NULL;

	*ret_trace = (struct sonde_collect_trace){
		.host = trace->host,
		.place = trace->notes.place,
		.damaged = trace->notes.damaged,
		.is_ended = trace->notes.ended != 0,
	};
	memcpy(ret_trace->trace, trace->trace, sizeof(ret_trace->trace));
	while ((file = sonde_hash_next(&trace->notes.files, file))) {
		ret_trace->pieces += sonde_notes_count(file, UINT64_MAX);
		ret_trace->missing +=
			file->wanted - sonde_notes_count(file, file->wanted);
	}
	return !trace->is_unwanted;
}
