/* SPDX-License-Identifier: MIT */
/*
 * spool.c - chunks that are removed, and accounts of what went unsent (spool.h).
 *
 * 1. A chunk is removed as the recorder removes its own: hidden at first.
 * 2. A chunk's accounts are synchronised with the disk before it is hidden. Whoever
 *    is killed in between leaves an account of what is still there: if it is
 *    shipped by then, the account says nothing new.
 * 3. An account is removed when what it says was acknowledged.
 */
#include "fleet/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/grow.h"
#include "base/hash.h"
#include "base/hex.h"
#include "base/number.h"
#include "base/time.h"
#include "ctf/directory.h"
#include "ctf/os.h"
#include "session/chunk.h"
#include "sys/dir.h"
#include "sys/write.h"

#define ACCOUNTS      ".unsent"
#define ACCOUNT_BYTES ((size_t)16 << 20) /* at most */
#define LOOK_NS       ((uint64_t)SONDE_NS_PER_S)
#define BEHIND_NS     (5 * (uint64_t)SONDE_NS_PER_S)
#define KEEP_MIN      2u /* the one that is written, and one that has ended */

/* A trace, by its path. */
struct spool_trace {
	struct sonde_key key;
	bool is_shipped;
	bool is_removed; /* and wasn't shipped */
};

struct spool_chunk {
	uint32_t nr;
	uint64_t bytes;
};

struct sonde_spool {
	struct sonde_spool_config config;
	char *path; /* the whole */
	int dir;
	struct sonde_hash traces;
	struct spool_chunk *chunks; /* there at the last look; by number */
	size_t nr_chunks, room;
	uint64_t looked_ns;
	/* How far publishing was behind recording at the best, and when; from
	 * any beginning, so it may be less than 0. */
	int64_t behind;
	uint64_t behind_ns;
	struct sonde_spool_totals totals;
	bool is_busy; /* publishing, which asks for tending */
};

static int spool_fail(const struct sonde_spool *spool, int err,
		      const char *what)
{
	return sonde_net_fail(spool->config.error, err, "%.400s: %s", what,
			      strerrordesc_np(-err));
}

int sonde_spool_new(const struct sonde_spool_config *config,
		    struct sonde_spool **ret_spool)
{
	struct sonde_spool *spool = calloc(1, sizeof(*spool));
	struct sonde_directory_error words;
	int err = 0;

	if (!spool)
		return -ENOMEM;
	spool->config = *config;
	spool->behind = INT64_MAX;
	sonde_hash_init(&spool->traces, sizeof(struct spool_trace), SIZE_MAX);
	spool->path = realpath(config->path, NULL);
	spool->dir = spool->path ? open(spool->path,
					O_RDONLY | O_DIRECTORY | O_CLOEXEC) :
				   -1;
	if (spool->dir < 0)
		err = spool_fail(spool, -errno, config->path);
	else if (sonde_directory_check(spool->dir, config->path, &words))
		err = sonde_net_fail(config->error, -EPERM, "%s", words.text);
	if (err)
		sonde_spool_free(spool);
	else
		*ret_spool = spool;
	return err;
}

void sonde_spool_free(struct sonde_spool *spool)
{
	if (!spool)
		return;
	if (spool->dir >= 0)
		(void)close(spool->dir); /* nothing was written by it */
	sonde_hash_fini(&spool->traces);
	free(spool->chunks);
	free(spool->path);
	free(spool);
}

/* ---- traces ---- */

static struct spool_trace *trace_of(const struct sonde_spool *spool,
				    const char *path)
{
	struct sonde_key key = sonde_key_of_text(path, strlen(path));

	return sonde_hash_get(&spool->traces, &key);
}

void sonde_spool_shipped(struct sonde_spool *spool, const char *path)
{
	struct sonde_key key = sonde_key_of_text(path, strlen(path));
	struct spool_trace *trace =
		spool ? sonde_hash_put(&spool->traces, &key) : NULL;

	if (trace) /* else it isn't known to be */
		trace->is_shipped = true;
}

bool sonde_spool_has_removed(const struct sonde_spool *spool, const char *path)
{
	const struct spool_trace *trace = spool ? trace_of(spool, path) : NULL;

	return trace && trace->is_removed;
}

static void path_of_part(const struct sonde_spool *spool,
			 const struct spool_chunk *chunk, size_t part,
			 char path[PATH_MAX])
{
	const char *name = sonde_chunk_parts[part];

	(void)snprintf(path, PATH_MAX, "%.3000s/" SONDE_CHUNK_NAME "%s%s",
		       spool->path, chunk->nr, *name == '.' ? "" : "/",
		       *name == '.' ? "" : name);
}

static bool has_metadata(const char *path)
{
	char metadata[PATH_MAX + 16];

	(void)snprintf(metadata, sizeof(metadata), "%s/metadata", path);
	return !access(metadata, F_OK);
}

/* Whether all its traces were shipped, of which there are some. */
static bool is_shipped(const struct sonde_spool *spool,
		       const struct spool_chunk *chunk)
{
	char path[PATH_MAX];
	bool has_any = false;

	for (size_t i = 0; i < SONDE_CHUNK_PARTS; i++) {
		const struct spool_trace *trace;

		path_of_part(spool, chunk, i, path);
		if (!has_metadata(path))
			continue;
		trace = trace_of(spool, path);
		if (!trace || !trace->is_shipped)
			return false;
		has_any = true;
	}
	return has_any;
}

static bool is_written(const struct sonde_spool *spool,
		       const struct spool_chunk *chunk)
{
	char path[PATH_MAX];

	for (size_t i = 0; i < SONDE_CHUNK_PARTS; i++) {
		path_of_part(spool, chunk, i, path);
		if (sonde_ship_is_held(path))
			return true;
	}
	return false;
}

/* ---- accounts ---- */

static int write_account(int dir, const struct sonde_net_head *head,
			 const char *text)
{
	char line[SONDE_NET_HEAD_MAX];
	size_t size = sonde_net_head_put(head, line);
	char name[33];
	char draft[40];
	int err;
	int fd;

	sonde_hex_put(head->trace, 16, name);
	(void)snprintf(draft, sizeof(draft), ".%s", name);
	fd = sonde_directory_file_below(dir, draft, O_WRONLY);
	if (fd < 0)
		return fd;
	err = sonde_write_all(fd, line, size);
	if (!err)
		err = sonde_write_all(fd, text, head->body);
	if (!err &&
	    (fsync(fd) || renameat(dir, draft, dir, name) || fsync(dir)))
		err = -errno;
	(void)close(fd); /* synchronised, or given up */
	return err;
}

/* Of a trace that isn't known to have been shipped. */
static int take_account(void *ctx, const char *path,
			const struct sonde_net_head *head, const char *text)
{
	struct sonde_spool *spool = ctx;
	struct sonde_key key = sonde_key_of_text(path, strlen(path));
	struct spool_trace *trace = sonde_hash_put(&spool->traces, &key);
	int err;
	int dir;

	if (!trace)
		return spool_fail(spool, -ENOMEM, path);
	if (trace->is_shipped)
		return 0;
	dir = sonde_directory_make_below(spool->dir, ACCOUNTS, true);
	if (dir < 0)
		return spool_fail(spool, dir, ACCOUNTS);
	err = write_account(dir, head, text);
	(void)close(dir); /* synchronised */
	trace->is_removed = !err;
	return err ? spool_fail(spool, err, ACCOUNTS) : 0;
}

/* All of it, for free(), with a NUL behind it; NULL and *ret_err. */
static char *read_account(int dir, const char *name, size_t *ret_size,
			  int *ret_err)
{
	int fd = openat(dir, name,
			O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	char *text = NULL;
	struct stat st;
	ssize_t n = -1;

	if (fd >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode) &&
	    (uint64_t)st.st_size <= ACCOUNT_BYTES)
		text = malloc((size_t)st.st_size + 1);
	if (text)
		n = sonde_ctf_pread(fd, text, (size_t)st.st_size, 0);
	if (fd >= 0)
		(void)close(fd); /* only read */
	*ret_err = -EINVAL;
	if (n < 0) {
		free(text);
		return NULL;
	}
	text[n] = 0;
	*ret_size = (size_t)n;
	return text;
}

static int spool_publish_one(struct sonde_spool *spool,
			     const struct sonde_ship_config *ship, int dir,
			     const char *name)
{
	struct sonde_net_head head;
	uint64_t lacking = 0;
	size_t size = 0;
	int err = 0;
	char *text = read_account(dir, name, &size, &err);
	int n = text ? sonde_net_head_parse(text, size, &head) : err;

	if (n < 0 || head.kind != SONDE_NET_END || head.packed ||
	    !sonde_net_is_body(&head, text + n, size - (size_t)n))
		err = sonde_net_fail(spool->config.error, -EINVAL,
				     "%.300s/" ACCOUNTS "/%.40s is damaged: "
				     "it is no account of what went unsent; "
				     "remove it",
				     spool->path, name);
	else
		err = sonde_ship_publish_account(ship, &head, text + n,
						 &lacking);
	free(text);
	if (err)
		return err;
	spool->totals.lacking += lacking;
	return unlinkat(dir, name, 0) ? spool_fail(spool, -errno, ACCOUNTS) : 0;
}

int sonde_spool_publish(struct sonde_spool *spool,
			const struct sonde_ship_config *ship)
{
	DIR *dir = spool ? sonde_dir_open_at(spool->dir, ACCOUNTS) : NULL;
	const char *name;
	int err = 0;

	if (!dir)
		return 0; /* there are none */
	spool->is_busy = true;
	spool->totals.untold = 0;
	while ((name = sonde_dir_next(dir))) {
		if (!err)
			err = spool_publish_one(spool, ship, dirfd(dir), name);
		spool->totals.untold += err != 0;
	}
	(void)closedir(dir); /* what was removed comes back, or not */
	spool->is_busy = false;
	if (!err)
		(void)unlinkat(spool->dir, ACCOUNTS, AT_REMOVEDIR);
	return err;
}

/* ---- chunks ---- */

static int compare_chunks(const void *a, const void *b)
{
	const struct spool_chunk *one = a;
	const struct spool_chunk *other = b;

	return (one->nr > other->nr) - (one->nr < other->nr);
}

/* Which there are; what all of them have. */
static int look_for_chunks(struct sonde_spool *spool, uint64_t *ret_bytes)
{
	DIR *dir = sonde_dir_open_at(spool->dir, ".");
	const char *name;
	uint64_t nr;
	int err = dir ? 0 : -errno;

	spool->nr_chunks = 0;
	*ret_bytes = 0;
	while (!err && (name = sonde_dir_next(dir))) {
		struct spool_chunk chunk;

		chunk.bytes = 0;
		if (strncmp(name, SONDE_CHUNK_PREFIX,
			    strlen(SONDE_CHUNK_PREFIX)) != 0 ||
		    !sonde_number_parse(name + strlen(SONDE_CHUNK_PREFIX),
					UINT32_MAX, &nr))
			continue;
		chunk.nr = (uint32_t)nr;
		chunk.bytes = sonde_chunk_bytes(spool->dir, name);
		*ret_bytes += chunk.bytes;
		if (SONDE_GROW(spool->chunks, spool->nr_chunks, spool->room))
			err = -ENOMEM;
		else
			spool->chunks[spool->nr_chunks++] = chunk;
	}
	if (dir)
		(void)closedir(dir); /* it was only looked at */
	if (spool->nr_chunks)
		qsort(spool->chunks, spool->nr_chunks, sizeof(*spool->chunks),
		      compare_chunks);
	return err ? spool_fail(spool, err, spool->path) : 0;
}

/* The next one to go, `any`: also if it wasn't shipped. NULL: none may. */
static struct spool_chunk *choose_chunk(const struct sonde_spool *spool,
					bool any, bool *ret_is_shipped)
{
	struct spool_chunk *oldest = NULL;

	for (size_t i = 0; i + KEEP_MIN < spool->nr_chunks; i++) {
		struct spool_chunk *chunk = &spool->chunks[i];

		*ret_is_shipped = is_shipped(spool, chunk);
		if (is_written(spool, chunk))
			continue;
		if (*ret_is_shipped)
			return chunk;
		if (!oldest)
			oldest = chunk;
	}
	*ret_is_shipped = false;
	return any ? oldest : NULL;
}

/* Whether publishing has been falling behind recording for a while, with more
 * than there is room for. */
static bool is_behind(struct sonde_spool *spool, uint64_t bytes,
		      uint64_t published)
{
	int64_t behind =
		(int64_t)(bytes + spool->totals.removed_bytes - published);

	if (bytes <= spool->config.bytes || behind < spool->behind) {
		spool->behind = behind;
		spool->behind_ns = spool->looked_ns;
	}
	return spool->looked_ns - spool->behind_ns >= BEHIND_NS;
}

/* One that wasn't shipped: accounts of it first. */
static int account_for_chunk(struct sonde_spool *spool,
			     const struct spool_chunk *chunk)
{
	const struct sonde_ship_config ship = {
		.error = spool->config.error,
		.path = spool->path,
		.host = spool->config.host,
	};
	char path[PATH_MAX];
	char text[200];
	int err;

	path_of_part(spool, chunk, 0, path);
	err = sonde_ship_account(&ship, path, take_account, spool);
	if (err)
		return err;
	spool->totals.unshipped++;
	(void)snprintf(text, sizeof(text),
		       SONDE_CHUNK_NAME " goes unsent: --spool has no room for "
					"it any more",
		       chunk->nr);
	spool->config.warn(text);
	return 0;
}

static int remove_chunk(struct sonde_spool *spool, struct spool_chunk *chunk,
			bool was_shipped)
{
	size_t after = spool->nr_chunks - (size_t)(chunk - spool->chunks) - 1;
	int err = was_shipped ? 0 : account_for_chunk(spool, chunk);

	if (err)
		return err;
	err = sonde_chunk_remove(spool->dir, chunk->nr);
	if (err && err != -ENOENT) /* somebody else may have done so */
		return spool_fail(spool, err, spool->path);
	spool->totals.removed++;
	spool->totals.removed_bytes += chunk->bytes;
	spool->nr_chunks--;
	memmove(chunk, chunk + 1, after * sizeof(*chunk));
	return 0;
}

void sonde_spool_tend(struct sonde_spool *spool, uint64_t published)
{
	uint64_t now = sonde_monotonic_ns();
	struct spool_chunk *chunk;
	bool was_shipped;
	uint64_t bytes;
	bool any;
	int err;

	if (!spool || spool->is_busy || now - spool->looked_ns < LOOK_NS)
		return;
	spool->looked_ns = now;
	spool->is_busy = true;
	err = look_for_chunks(spool, &bytes);
	any = !err && is_behind(spool, bytes, published);
	while (!err && bytes > spool->config.bytes &&
	       (chunk = choose_chunk(spool, any, &was_shipped))) {
		bytes -= chunk->bytes;
		err = remove_chunk(spool, chunk, was_shipped);
	}
	spool->is_busy = false;
	if (err)
		spool->config.warn(spool->config.error->text);
}

void sonde_spool_get_totals(const struct sonde_spool *spool,
			    struct sonde_spool_totals *ret_totals)
{
	*ret_totals = spool ? spool->totals :
			      (struct sonde_spool_totals){ .removed = 0 };
}
