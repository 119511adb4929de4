/* SPDX-License-Identifier: MIT */
/*
 * files.c - logs as plain files, for a directory that goes elsewhere by other
 * means: a mount, an object store, rsync.
 *
 *	file:///DIR
 *	DIR/HOST/TRACE/00000000.chunk	messages, head and body, one behind
 *	DIR/HOST/TRACE/00000001.chunk	the other
 *	DIR/HOST/TRACE/.open		the chunk that is being written
 *	DIR/HOST/SHIP.beat		the last heartbeat (beat.h) of who ships,
 *					replaced in one step
 *
 * A chunk is closed when it has 16 MiB, or when all is to be acknowledged: it is
 * synchronised with the disk, gets its name, and never changes again. What is in
 * .open was not acknowledged; whoever publishes next begins it anew. The
 * directory TRACE is locked by who publishes.
 *
 * Chunks are read in the order of their numbers. The first ones may be gone; one
 * that is missing between others is waited for, as what copies them may be about
 * to bring it. A position is a chunk's number and a place in it.
 *
 * Who reads trusts nothing: names are compared, links aren't followed, and bytes
 * that are no message end their chunk. The last chunk may end within a message as
 * long as it is being copied: that is waited for, too.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hex.h"
#include "base/number.h"
#include "base/uuid.h"
#include "ctf/directory.h"
#include "session/net/engine.h"
#include "sys/dir.h"
#include "sys/write.h"

#define CHUNK_BYTES ((uint64_t)16 << 20)
#define CHUNK_MAX   99999999u
#define OPEN_NAME   ".open"
#define LOOK_AT     (O_RDONLY | O_DIRECTORY | O_NOFOLLOW)

struct files_net {
	struct sonde_net net;
	char *path;
};

struct files_log {
	struct sonde_net_log log;
	char *path; /* for words */
	int dir;
	uint32_t first, end; /* the chunks there are, one behind the last */
	/* writing: .open; fd -1: none */
	int fd;
	uint64_t bytes;
	int broken; /* an error after which nothing is acknowledged any more */
	/* reading: a chunk; in -1: none */
	int in;
	uint32_t in_nr;
	uint64_t in_bytes;
	bool is_cut;   /* what was no message is the beginning of one */
	uint8_t *body; /* malloc */
	size_t body_room;
};

static int files_fail_errno(struct sonde_net *net, int err, const char *path)
{
	return sonde_net_fail(net->error, err, "%.400s: %s", path,
			      strerrordesc_np(-err));
}

static int files_open(const char *url, struct sonde_net_error *error,
		      struct sonde_net **ret_net)
{
	const char *path = url + strlen("file://");
	struct files_net *files;

	if (*path != '/')
		return sonde_net_fail(error, -EINVAL,
				      "%.200s: a directory's whole path is "
				      "wanted: file:///DIRECTORY",
				      url);
	files = calloc(1, sizeof(*files));
	if (files)
		files->path = strdup(path);
	if (!files || !files->path) {
		free(files);
		return sonde_net_fail(error, -ENOMEM, "no memory");
	}
	files->net.engine = &sonde_net_files;
	files->net.error = error;
	*ret_net = &files->net;
	return 0;
}

static void files_close(struct sonde_net *net)
{
	struct files_net *files = (struct files_net *)net;

	free(files->path);
	free(files);
}

/* ---- directories ---- */

/* A directory in `parent`, made if it is to be written in. */
static int files_open_below(int parent, const char *name, bool writes)
{
	int fd;

	if (writes)
		return sonde_directory_make_below(parent, name, true);
	fd = openat(parent, name, LOOK_AT | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* DIR, made if it isn't there; one that is to be written in is ours. */
static int make_top(struct files_net *files)
{
	struct sonde_directory place = SONDE_DIRECTORY_NONE;
	struct sonde_directory_error words;
	int err = access(files->path, F_OK) ?
			  sonde_directory_make(files->path, &place, &words) :
			  0;
	int fd;

	if (err)
		return sonde_net_fail(files->net.error, err, "%s", words.text);
	sonde_directory_close(&place);
	fd = open(files->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return files_fail_errno(&files->net, -errno, files->path);
	err = sonde_directory_check(fd, files->path, &words);
	if (!err)
		return fd;
	(void)close(fd); /* it was only looked at */
	return sonde_net_fail(files->net.error, err, "%s", words.text);
}

static int open_top(struct files_net *files, bool writes)
{
	int fd;

	if (writes)
		return make_top(files);
	fd = open(files->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? files_fail_errno(&files->net, -errno, files->path) : fd;
}

/* DIR/HOST/TRACE. */
static int open_log_dir(struct files_log *log, const char *host,
			const char *trace, bool writes)
{
	struct files_net *files = (struct files_net *)log->log.net;
	int top = open_top(files, writes);
	int dir;

	if (top < 0)
		return top;
	dir = files_open_below(top, host, writes);
	(void)close(top); /* nothing was written */
	if (dir >= 0) {
		log->dir = files_open_below(dir, trace, writes);
		(void)close(dir);
		dir = log->dir;
	}
	if (dir >= 0 && writes && flock(dir, LOCK_EX | LOCK_NB))
		return sonde_net_fail(files->net.error, -EBUSY,
				      "%.400s: another sonde ship is at work "
				      "here",
				      log->path);
	return dir < 0 ? files_fail_errno(&files->net, dir, log->path) : 0;
}

static void chunk_name(uint32_t nr, char name[32])
{
	(void)snprintf(name, 32, "%08" PRIu32 ".chunk", nr);
}

/* Which chunks there are. */
static int count_chunks(struct files_log *log)
{
	DIR *dir = sonde_dir_open_at(log->dir, ".");
	uint64_t first = UINT32_MAX;
	uint64_t end = 0;
	const char *name;
	uint64_t nr;

	if (!dir)
		return files_fail_errno(log->log.net, -errno, log->path);
	while ((name = sonde_dir_next(dir))) {
		if (!sonde_number_take(&name, 10, CHUNK_MAX, &nr) ||
		    strcmp(name, ".chunk") != 0)
			continue;
		if (nr < first)
			first = nr;
		if (nr >= end)
			end = nr + 1;
	}
	(void)closedir(dir);
	log->first = end ? (uint32_t)first : 0;
	log->end = (uint32_t)end;
	return 0;
}

static void files_log_close(struct sonde_net_log *net_log)
{
	struct files_log *log = (struct files_log *)net_log;

	if (log->fd >= 0)
		(void)close(log->fd); /* not acknowledged */
	if (log->in >= 0)
		(void)close(log->in);
	if (log->dir >= 0)
		(void)close(log->dir);
	free(log->body);
	free(log->path);
	free(log);
}

static int files_log_open(struct sonde_net *net, const char *host,
			  const uint8_t trace[16], bool writes,
			  struct sonde_net_log **ret_log)
{
	struct files_log *log = calloc(1, sizeof(*log));
	char name[33];
	int err;

	if (!log)
		return sonde_net_fail(net->error, -ENOMEM, "no memory");
	log->log.net = net;
	log->log.body_max = SONDE_NET_BODY_MAX;
	log->dir = log->fd = log->in = -1;
	sonde_hex_put(trace, 16, name);
	if (asprintf(&log->path, "%s/%s/%s", ((struct files_net *)net)->path,
		     host, name) < 0) {
		free(log);
		return sonde_net_fail(net->error, -ENOMEM, "no memory");
	}
	err = open_log_dir(log, host, name, writes);
	if (!err)
		err = count_chunks(log);
	if (err)
		files_log_close(&log->log);
	else
		*ret_log = &log->log;
	return err;
}

/* ---- which logs there are ---- */

/* The names in a directory, sorted as people count; how many, or -errno. */
static int files_names(int dir, struct dirent ***ret_names)
{
	int nr = scandirat(dir, ".", ret_names, NULL, versionsort);

	return nr < 0 ? -errno : nr;
}

/* For each directory that is called as a host may be; less than 0 ends it. */
typedef int host_fn(void *ctx, const char *host, int dir);

static int each_host(struct sonde_net *net, host_fn *visit, void *ctx)
{
	struct files_net *files = (struct files_net *)net;
	int top = open_top(files, false);
	struct dirent **names;
	int err = 0;
	int nr;

	if (top < 0)
		return top;
	nr = files_names(top, &names);
	if (nr < 0)
		err = files_fail_errno(net, nr, files->path);
	for (int i = 0; i < nr; i++) {
		const char *name = names[i]->d_name;
		int dir = err || !sonde_net_is_name(name) ?
				  -1 :
				  openat(top, name, LOOK_AT | O_CLOEXEC);

		if (dir >= 0) { /* else some file */
			err = visit(ctx, name, dir);
			(void)close(dir); /* only read */
		}
		free(names[i]);
	}
	if (nr >= 0)
		free(names);
	(void)close(top);
	return err;
}

struct listing {
	sonde_net_list_fn *take;
	void *ctx;
};

static int list_host(void *ctx, const char *host, int dir)
{
	const struct listing *listing = ctx;
	struct dirent **names;
	uint8_t trace[16];
	int err = 0;
	int nr = files_names(dir, &names);

	for (int i = 0; i < nr; i++) {
		const char *end = sonde_uuid_parse(names[i]->d_name, trace);

		if (!err && end && !*end && strlen(names[i]->d_name) == 32)
			err = listing->take(listing->ctx, host, trace);
		free(names[i]);
	}
	if (nr >= 0)
		free(names);
	return err < 0 ? err : 0;
}

static int files_list(struct sonde_net *net, sonde_net_list_fn *take, void *ctx)
{
	struct listing listing = { take, ctx };

	return each_host(net, list_host, &listing);
}

/* ---- heartbeats ---- */

#define BEAT_END ".beat"

static void beat_name(uint64_t ship, const char *before, char name[64])
{
	(void)snprintf(name, 64, "%s%016" PRIx64 BEAT_END, before, ship);
}

static int replace_beat(int dir, const struct sonde_net_beat *beat)
{
	char line[SONDE_NET_HEAD_MAX];
	char hidden[64];
	char name[64];
	size_t size = sonde_net_beat_put(beat, line);
	int fd;
	int err;

	beat_name(beat->ship, ".new-", hidden);
	beat_name(beat->ship, "", name);
	fd = sonde_directory_file_below(dir, hidden, O_WRONLY);
	if (fd < 0)
		return fd;
	err = sonde_write_all(fd, line, size);
	if (close(fd) && !err)
		err = -errno;
	return !err && renameat(dir, hidden, dir, name) ? -errno : err;
}

/* Whose clock a file's time is by isn't known: so nothing is said of ours. */
static int files_say(struct sonde_net *net, const struct sonde_net_beat *beat,
		     struct sonde_net_said *ret_said)
{
	struct files_net *files = (struct files_net *)net;
	int top = open_top(files, true);
	int err;
	int dir;

	if (top < 0)
		return top;
	dir = files_open_below(top, beat->host, true);
	(void)close(top); /* nothing was written to it */
	err = dir < 0 ? dir : replace_beat(dir, beat);
	if (dir >= 0)
		(void)close(dir);
	*ret_said = (struct sonde_net_said){ .bound_ns = 0 };
	return err ? files_fail_errno(net, err, files->path) : 0;
}

struct hearing {
	sonde_net_hear_fn *take;
	void *ctx;
	struct sonde_net_heard *heard;
};

/* Whether it is one, of this host and ship. */
static bool read_beat(int dir, const char *name, const char *host,
		      struct sonde_net_beat *ret_beat)
{
	char line[SONDE_NET_HEAD_MAX];
	char expected[64];
	struct stat st;
	ssize_t size = -1;
	int fd = openat(dir, name,
			O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		return false;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode))
		size = pread(fd, line, sizeof(line), 0);
	(void)close(fd); /* only read */
	if (size <= 0 ||
	    sonde_net_beat_parse(line, (size_t)size, ret_beat) != size)
		return false;
	beat_name(ret_beat->ship, "", expected);
	return !strcmp(expected, name) && !strcmp(ret_beat->host, host);
}

static int hear_host(void *ctx, const char *host, int dir)
{
	const struct hearing *hearing = ctx;
	struct dirent **names;
	int nr = files_names(dir, &names);
	int err = 0;

	for (int i = 0; i < nr; i++) {
		const char *name = names[i]->d_name;
		const char *end = strrchr(name, '.');
		struct sonde_net_beat beat;

		if (!err && *name != '.' && end && !strcmp(end, BEAT_END)) {
			if (read_beat(dir, name, host, &beat))
				err = hearing->take(hearing->ctx, &beat, 0);
			else
				hearing->heard->nr_damaged++;
		}
		free(names[i]);
	}
	if (nr >= 0)
		free(names);
	return err;
}

static int files_hear(struct sonde_net *net, sonde_net_hear_fn *take, void *ctx,
		      struct sonde_net_heard *heard)
{
	struct hearing hearing = { take, ctx, heard };

	return each_host(net, hear_host, &hearing);
}

/* ---- writing ---- */

static int begin_chunk(struct files_log *log)
{
	if (log->fd >= 0)
		return 0;
	if (log->end > CHUNK_MAX)
		return files_fail_errno(log->log.net, -EFBIG, log->path);
	log->fd = sonde_directory_file_below(log->dir, OPEN_NAME, O_WRONLY);
	log->bytes = 0;
	return log->fd < 0 ?
		       files_fail_errno(log->log.net, log->fd, log->path) :
		       0;
}

/* The chunk gets its name when it is on the disk, and the name after it. */
static int files_settle(struct sonde_net_log *net_log)
{
	struct files_log *log = (struct files_log *)net_log;
	char name[32];
	int err = 0;

	if (log->fd < 0 || log->broken)
		return log->broken;
	chunk_name(log->end, name);
	if (fsync(log->fd) || renameat(log->dir, OPEN_NAME, log->dir, name) ||
	    fsync(log->dir))
		err = -errno;
	(void)close(log->fd); /* synchronised, or given up */
	log->fd = -1;
	if (!err)
		log->end++;
	log->broken = err;
	return err ? files_fail_errno(net_log->net, err, log->path) : 0;
}

static int files_publish(struct sonde_net_log *net_log,
			 const struct sonde_net_head *head, const void *body)
{
	struct files_log *log = (struct files_log *)net_log;
	char line[SONDE_NET_HEAD_MAX];
	size_t size = sonde_net_head_put(head, line);
	int err = log->broken ? log->broken : begin_chunk(log);

	if (err)
		return err;
	err = sonde_write_all(log->fd, line, size);
	if (!err)
		err = sonde_write_all(log->fd, body, sonde_net_size(head));
	log->broken = err;
	if (err)
		return files_fail_errno(net_log->net, err, log->path);
	log->bytes += size + sonde_net_size(head);
	return log->bytes < CHUNK_BYTES ? 0 : files_settle(net_log);
}

/* ---- reading ---- */

static int files_enter(struct files_log *log, uint32_t nr)
{
	char name[32];
	struct stat st;

	if (log->in >= 0 && log->in_nr == nr)
		return 0;
	if (log->in >= 0)
		(void)close(log->in);
	chunk_name(nr, name);
	log->in = openat(log->dir, name,
			 O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (log->in < 0)
		return -errno;
	if (fstat(log->in, &st) || !S_ISREG(st.st_mode)) {
		(void)close(log->in);
		log->in = -1;
		return -EBADMSG;
	}
	log->in_nr = nr;
	log->in_bytes = (uint64_t)st.st_size;
	return 0;
}

/* Enters the chunk that has the position, or what comes next to it: 1; 0: there
 * is none yet. */
static int files_find(struct files_log *log, uint64_t *position)
{
	uint32_t nr = (uint32_t)(*position >> 32);
	int err;

	for (;;) {
		if (nr >= log->end || nr < log->first) {
			err = count_chunks(log);
			if (err || nr >= log->end)
				return err;
		}
		if (nr < log->first)
			*position = (uint64_t)(nr = log->first) << 32;
		err = files_enter(log, nr);
		if (err == -ENOENT)
			return sonde_net_fail(log->log.net->error, -ENODATA,
					      "%.400s: chunk %" PRIu32
					      " is missing, and later ones are "
					      "there",
					      log->path, nr);
		if (err)
			return files_fail_errno(log->log.net, err, log->path);
		if ((*position & UINT32_MAX) < log->in_bytes)
			return 1;
		*position = (uint64_t)++nr << 32;
	}
}

/* A head's line goes on behind what was read of the file. */
static bool has_no_end(const char *line, ssize_t size)
{
	return size <= 0 || (size < (ssize_t)SONDE_NET_HEAD_MAX &&
			     !memchr(line, '\n', (size_t)size));
}

/* The head at a position, which is moved to its body. As _fetch(). */
static int fetch_head(struct files_log *log, uint64_t *position,
		      struct sonde_net_message *message)
{
	char line[SONDE_NET_HEAD_MAX];
	struct sonde_net_head *head = &message->head;
	ssize_t size;
	uint64_t body;
	uint64_t at;
	int n = files_find(log, position);

	if (n <= 0)
		return n;
	at = *position & UINT32_MAX;
	size = pread(log->in, line, sizeof(line), (off_t)at);
	n = size > 0 ? sonde_net_head_parse(line, (size_t)size, head) :
		       -EBADMSG;
	body = n < 0 ? 0 : sonde_net_size(head);
	if (n < 0)
		log->is_cut = has_no_end(line, size);
	else
		log->is_cut = at + (uint64_t)n > log->in_bytes ||
			      body > log->in_bytes - at - (uint64_t)n;
	if (n < 0 || log->is_cut || at + (uint64_t)n + body > UINT32_MAX) {
		message->next = (uint64_t)(log->in_nr + 1) << 32;
		return sonde_net_fail(log->log.net->error, -EBADMSG,
				      "%.400s: chunk %" PRIu32
				      " is damaged at byte %" PRIu64,
				      log->path, log->in_nr, at);
	}
	*position += (uint64_t)n;
	message->next = *position + body;
	return 1;
}

static int files_fetch(struct sonde_net_log *net_log, uint64_t position,
		       struct sonde_net_message *ret_message)
{
	struct files_log *log = (struct files_log *)net_log;
	int n = fetch_head(log, &position, ret_message);
	uint64_t size;

	if (n == -EBADMSG && log->is_cut && log->in_nr + 1 == log->end)
		return sonde_net_fail(net_log->net->error, -ENODATA,
				      "%.400s: chunk %" PRIu32
				      " isn't all there yet",
				      log->path, log->in_nr);
	if (n <= 0)
		return n;
	size = sonde_net_size(&ret_message->head);
	if (size > log->body_room) {
		free(log->body);
		log->body_room = 0;
		log->body = malloc(size);
		if (!log->body)
			return sonde_net_fail(net_log->net->error, -ENOMEM,
					      "no memory");
		log->body_room = size;
	}
	if (size && pread(log->in, log->body, size,
			  (off_t)(position & UINT32_MAX)) != (ssize_t)size)
		return files_fail_errno(net_log->net, -EIO, log->path);
	ret_message->body = log->body;
	return 1;
}

/* All heads there are, in the order they were published. What is damaged isn't
 * there, and so is published again. */
static int files_resume(struct sonde_net_log *net_log,
			sonde_net_resume_fn *take, void *ctx)
{
	struct files_log *log = (struct files_log *)net_log;
	struct sonde_net_message message = { .next = 0 };
	uint64_t position = 0;
	int n;

	while ((n = fetch_head(log, &position, &message)) != 0) {
		/* A file system may say that of a file, too. */
		if (n == -EBADMSG && message.next <= position)
			return n;
		if (n > 0)
			n = take(ctx, &message.head);
		if (n < 0 && n != -EBADMSG)
			return n;
		position = message.next;
	}
	return 0;
}

const struct sonde_net_engine sonde_net_files = {
	.open = files_open,
	.close = files_close,
	.list = files_list,
	.say = files_say,
	.hear = files_hear,
	.log_open = files_log_open,
	.log_close = files_log_close,
	.resume = files_resume,
	.publish = files_publish,
	.settle = files_settle,
	.fetch = files_fetch,
};
