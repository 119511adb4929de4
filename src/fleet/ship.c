/* SPDX-License-Identifier: MIT */
/*
 * ship.c - what of a trace is final, as messages (ship.h).
 *
 * A file is a row of pieces: its packets in the order of the file, and what lies
 * between them, if anything does. For each we keep the number and the place of
 * the next piece, which is all that going on needs; at first, they are what the
 * engine has got.
 *
 * Whether a file is at rest is found out before it is opened, at the end of the
 * look before: what was seen then holds for what is opened later, never the
 * other way round.
 *
 * Of a trace that is finished and acknowledged nothing is opened any more. One
 * that was removed before is forgotten: who removed it may have left an account of
 * it (spool.h), which says what its end would have said.
 */
#include "fleet/ship.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/grow.h"
#include "base/hash.h"
#include "base/sum.h"
#include "base/text.h"
#include "base/time.h"
#include "ctf/os.h"
#include "fleet/notes.h"
#include "reader/core/open.h"

#define PART_BYTES ((uint64_t)1 << 20) /* of what no packet has */
#define SCAN_BYTES 65536u
#define PAUSE_NS   ((uint64_t)SONDE_NS_PER_S / 10)
#define SETTLE_NS  (2 * (uint64_t)SONDE_NS_PER_S)

/* Of a file that was published, in whole or in part. */
struct shipped {
	struct sonde_key key; /* its name */
	char name[SONDE_NET_FILE_MAX + 1];
	uint64_t number; /* pieces, or versions of a document */
	uint64_t offset; /* of the next piece; bytes of a document */
	uint64_t sum;    /* of a document */
	bool is_document;
	bool is_at_rest; /* a file of pieces: it doesn't change any more */
};

/* A trace: a directory with metadata. */
struct origin {
	struct sonde_ship *ship;
	char *path; /* the directory */
	struct sonde_net_log *log;
	struct sonde_net_head head; /* what all of its heads have */
	struct sonde_hash files;    /* of struct shipped */
	uint64_t nr_ends;
	uint64_t settled_ns; /* when all was acknowledged */
	uint64_t kept,
		lost;     /* bytes of its streams; events lost, as they say */
	bool is_at_rest;  /* nobody holds its directory */
	bool has_news;    /* published since the last end */
	bool is_done;     /* all was acknowledged; its log is closed */
	bool only_counts; /* pieces, and publishes none */
};

struct sonde_ship {
	struct sonde_ship_config config;
	char *top; /* the whole path */
	struct origin **origins;
	size_t nr_origins, origins_room;
	bool is_at_rest; /* nobody holds `top` */
	struct sonde_ship_totals totals;
	uint64_t due_ns; /* before which nothing is sent, by the rate */
	uint8_t *body;
	size_t body_room;
};

static int fail_errno(const struct sonde_ship *ship, int err, const char *path)
{
	return sonde_net_fail(ship->config.error, err, "%.400s: %s", path,
			      strerrordesc_np(-err));
}

static int ship_fail_memory(const struct sonde_ship *ship)
{
	(void)sonde_net_fail(ship->config.error, -ENOMEM, "no memory");
	return -ENOMEM;
}

int sonde_ship_new(const struct sonde_ship_config *config,
		   struct sonde_ship **ret_ship)
{
	struct sonde_ship *ship = calloc(1, sizeof(*ship));

	if (!ship)
		return -ENOMEM;
	ship->config = *config;
	ship->top = realpath(config->path, NULL);
	if (!ship->top) {
		int err = fail_errno(ship, -errno, config->path);

		free(ship);
		return err;
	}
	*ret_ship = ship;
	return 0;
}

/* Nothing more is published of it. */
static void close_origin(struct origin *origin)
{
	sonde_net_log_close(origin->log);
	origin->log = NULL;
	sonde_hash_fini(&origin->files);
}

static void free_origin(struct origin *origin)
{
	close_origin(origin);
	free(origin->path);
	free(origin);
}

void sonde_ship_free(struct sonde_ship *ship)
{
	if (!ship)
		return;
	for (size_t i = 0; i < ship->nr_origins; i++)
		free_origin(ship->origins[i]);
	free(ship->origins);
	free(ship->body);
	free(ship->top);
	free(ship);
}

const char *sonde_ship_host(const struct sonde_ship *ship)
{
	return ship->nr_origins ? ship->origins[0]->head.host : NULL;
}

/* Bytes of its streams that were published, or were there before. */
static uint64_t published_of(const struct origin *origin)
{
	const struct shipped *file = NULL;
	uint64_t bytes = 0;

	while ((file = sonde_hash_next(&origin->files, file)))
		if (!file->is_document)
			bytes += file->offset;
	return bytes;
}

void sonde_ship_get_totals(const struct sonde_ship *ship,
			   struct sonde_ship_totals *ret_totals)
{
	*ret_totals = ship->totals;
	ret_totals->sent = sonde_net_sent(ship->config.net);
}

void sonde_ship_measure(const struct sonde_ship *ship,
			struct sonde_ship_stock *ret_stock)
{
	*ret_stock = (struct sonde_ship_stock){ .traces = ship->nr_origins };
	for (size_t i = 0; i < ship->nr_origins; i++) {
		const struct origin *origin = ship->origins[i];
		uint64_t published =
			origin->is_done ? origin->kept : published_of(origin);

		ret_stock->growing += !origin->is_done;
		ret_stock->kept += origin->kept;
		ret_stock->lost += origin->lost;
		if (published < origin->kept)
			ret_stock->unsent += origin->kept - published;
	}
}

/* ---- what was published ---- */

static struct shipped *shipped_of(struct origin *origin, const char *name)
{
	struct sonde_key key = sonde_key_of_text(name, strlen(name));
	struct shipped *file = sonde_hash_put(&origin->files, &key);

	if (file)
		(void)snprintf(file->name, sizeof(file->name), "%s", name);
	return file;
}

/* Notes what a head of the engine's says. */
static int ship_resume(void *ctx, const struct sonde_net_head *head)
{
	struct origin *origin = ctx;
	struct shipped *file;

	if (head->kind == SONDE_NET_END) {
		if (head->number > origin->nr_ends)
			origin->nr_ends = head->number;
		return 0;
	}
	file = shipped_of(origin, head->file);
	if (!file)
		return ship_fail_memory(origin->ship);
	if (head->kind == SONDE_NET_DOCUMENT) {
		if (head->number < file->number)
			return 0; /* a later one came before it */
		file->is_document = true;
		file->number = head->number;
		file->offset = head->bytes;
		file->sum = head->sum;
		return 0;
	}
	if (head->number != file->number)
		return 0; /* a second time, or behind one that is missing */
	file->number = head->number + 1;
	file->offset = head->offset + head->bytes;
	origin->ship->totals.present += head->kind == SONDE_NET_PACKET;
	return 0;
}

/* After so many bytes: waits until as many more may be sent. What wasn't sent in
 * the last second can be made up for. */
static int ship_keep_rate(struct sonde_ship *ship, uint64_t bytes)
{
	uint64_t now = sonde_monotonic_ns();
	int err = 0;

	if (!ship->config.rate)
		return 0;
	if (ship->due_ns + SONDE_NS_PER_S < now)
		ship->due_ns = now - SONDE_NS_PER_S;
	ship->due_ns += bytes * SONDE_NS_PER_S / ship->config.rate;
	while (!err && ship->due_ns > (now = sonde_monotonic_ns())) {
		uint64_t ns = ship->due_ns - now;
		struct timespec pause = { 0 };

		pause.tv_nsec = (long)(ns < PAUSE_NS ? ns : PAUSE_NS);
		(void)nanosleep(&pause, NULL); /* a signal may end it */
		err = ship->config.ask ? ship->config.ask() : 0;
	}
	return err;
}

static int ship_publish(struct origin *origin, struct sonde_net_head *head,
			const void *body)
{
	struct sonde_ship *ship = origin->ship;
	uint64_t sent = sonde_net_sent(ship->config.net);
	int err;

	head->sum = sonde_sum(body, head->body);
	err = sonde_net_publish(origin->log, head, body);
	if (!err)
		err = ship_keep_rate(ship,
				     sonde_net_sent(ship->config.net) - sent);
	if (err)
		return err;
	origin->has_news = true;
	ship->totals.packets += head->kind == SONDE_NET_PACKET;
	ship->totals.bytes += head->body;
	return ship->config.ask ? ship->config.ask() : 0;
}

/* ---- traces ---- */

/* The host's name, from the trace if it says it. */
static void name_host(const struct sonde_ship *ship,
		      const struct sonde_source *source, char *to, size_t size)
{
	const char *host = ship->config.host;
	struct utsname system;

	if (!host)
		host = sonde_source_env(source, "hostname");
	if ((!host || !*host) && !uname(&system))
		host = system.nodename;
	(void)snprintf(to, size, "%s", host ? host : "");
}

/* The head that is the same for all messages of the trace. */
static int name_origin(struct origin *origin, const struct sonde_source *source)
{
	const struct sonde_ship *ship = origin->ship;
	struct sonde_net_head *head = &origin->head;
	size_t length = strlen(ship->top);
	struct sonde_source_info info;
	const char *below = "";

	sonde_source_get_info(source, &info);
	if (!info.has_uuid)
		return sonde_net_fail(ship->config.error, -EINVAL,
				      "%.400s: this trace has no UUID, by "
				      "which others could tell it from the "
				      "next one",
				      source->path);
	memcpy(head->trace, info.uuid, sizeof(head->trace));
	if (!strncmp(origin->path, ship->top, length) &&
	    origin->path[length] == '/')
		below = origin->path + length + 1;
	name_host(ship, source, head->host, sizeof(head->host));
	(void)snprintf(head->recording, sizeof(head->recording), "%s",
		       sonde_text_base(ship->top));
	if (snprintf(head->path, sizeof(head->path), "%s", below) >=
		    (int)sizeof(head->path) ||
	    !sonde_net_is_name(head->host) ||
	    !sonde_net_is_name(head->recording) ||
	    !sonde_net_is_path(head->path))
		return sonde_net_fail(ship->config.error, -EINVAL,
				      "%.250s: host '%.60s' and directory "
				      "can't be names of directories "
				      "elsewhere; give --host, or another "
				      "directory",
				      origin->path, head->host);
	return 0;
}

/* A new one, of which no more is known than its path; NULL: said why. */
static struct origin *new_origin(struct sonde_ship *ship, const char *path)
{
	struct origin *origin = calloc(1, sizeof(*origin));

	if (!origin) {
		(void)ship_fail_memory(ship);
		return NULL;
	}
	origin->ship = ship;
	sonde_hash_init(&origin->files, sizeof(struct shipped), SIZE_MAX);
	origin->path = realpath(path, NULL);
	if (origin->path)
		return origin;
	(void)fail_errno(ship, -errno, path);
	free_origin(origin);
	return NULL;
}

/* Opens its log, and learns what is there. */
static int begin_origin(struct origin *origin)
{
	int err =
		sonde_net_log_open(origin->ship->config.net, origin->head.host,
				   origin->head.trace, true, &origin->log);

	return err ? err : sonde_net_resume(origin->log, ship_resume, origin);
}

/* The i-th source of the trace, as we know it. */
static int origin_of(struct sonde_ship *ship, const struct sonde_source *source,
		     struct origin **ret_origin)
{
	struct origin *origin;
	struct sonde_source_info info;
	int err;

	sonde_source_get_info(source, &info);
	for (size_t i = 0; i < ship->nr_origins; i++)
		if (!memcmp(ship->origins[i]->head.trace, info.uuid,
			    sizeof(info.uuid))) {
			*ret_origin = ship->origins[i];
			return 0;
		}
	if (SONDE_GROW(ship->origins, ship->nr_origins, ship->origins_room))
		return ship_fail_memory(ship);
	origin = new_origin(ship, source->path);
	if (!origin)
		return -ENOENT;
	ship->origins[ship->nr_origins++] = origin;
	*ret_origin = origin;
	err = name_origin(origin, source);
	return err ? err : begin_origin(origin);
}

/* ---- documents ---- */

static int body_room(struct sonde_ship *ship, uint64_t size)
{
	if (size <= ship->body_room)
		return 0;
	free(ship->body);
	ship->body_room = 0;
	ship->body = malloc(size);
	if (!ship->body)
		return ship_fail_memory(ship);
	ship->body_room = size;
	return 0;
}

/* Bytes of a file, all of them, into ship->body. */
static int ship_read(struct sonde_ship *ship, int fd, const char *path,
		     uint64_t offset, uint64_t size)
{
	int err = body_room(ship, size);
	ssize_t n;

	if (err)
		return err;
	n = sonde_ctf_pread(fd, ship->body, size, offset);
	if (n < 0)
		return fail_errno(ship, (int)n, path);
	return (uint64_t)n == size ?
		       0 :
		       sonde_net_fail(ship->config.error, -ENODATA,
				      "%.400s shrank while it was being read",
				      path);
}

/* Publishes a file as a document if it isn't as it was. One that isn't there is
 * fine. */
static int ship_document(struct origin *origin, const char *name)
{
	struct sonde_ship *ship = origin->ship;
	struct sonde_net_head head = origin->head;
	struct shipped *file = shipped_of(origin, name);
	char path[PATH_MAX];
	struct stat st;
	int err;
	int fd;

	if (!file)
		return ship_fail_memory(ship);
	(void)snprintf(path, sizeof(path), "%s/%s", origin->path, name);
	fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? 0 : fail_errno(ship, -errno, path);
	err = fstat(fd, &st) ? fail_errno(ship, -errno, path) : 0;
	if (!err && (uint64_t)st.st_size > sonde_net_body_max(origin->log))
		err = sonde_net_fail(ship->config.error, -EFBIG,
				     "%.300s: %" PRIu64 " bytes are too "
				     "many for one message",
				     path, (uint64_t)st.st_size);
	if (!err)
		err = ship_read(ship, fd, path, 0, (uint64_t)st.st_size);
	(void)close(fd); /* only read */
	if (err)
		return err;
	head.kind = SONDE_NET_DOCUMENT;
	head.bytes = head.body = (uint64_t)st.st_size;
	head.number = file->number + 1;
	(void)snprintf(head.file, sizeof(head.file), "%s", name);
	if (file->number && file->offset == head.bytes &&
	    file->sum == sonde_sum(ship->body, head.body))
		return 0;
	err = ship_publish(origin, &head, ship->body);
	if (err)
		return err;
	file->is_document = true;
	file->number = head.number;
	file->offset = head.bytes;
	file->sum = head.sum;
	return 0;
}

/* ---- pieces ---- */

/* A stream's file that is being read, and which piece is next. */
struct reading {
	struct origin *origin;
	struct shipped *file;
	const char *path;
	int fd;
};

/* How many of these bytes there are, without the zeros at their end. */
static int count_bytes(const struct reading *reading, uint64_t offset,
		       uint64_t *bytes)
{
	uint8_t part[SCAN_BYTES];

	while (*bytes) {
		uint64_t size = *bytes < SCAN_BYTES ? *bytes : SCAN_BYTES;
		ssize_t n = sonde_ctf_pread(reading->fd, part, size,
					    offset + *bytes - size);

		if (n != (ssize_t)size)
			return fail_errno(reading->origin->ship,
					  n < 0 ? (int)n : -ENODATA,
					  reading->path);
		while (size && !part[size - 1]) {
			size--;
			--*bytes;
		}
		if (size)
			return 0;
	}
	return 0;
}

/* Publishes the next piece, of `bytes` bytes, of which `body` come before the
 * zeros at its end. */
static int ship_piece(const struct reading *reading, uint64_t bytes,
		      uint64_t body, const struct sonde_packet *packet)
{
	struct shipped *file = reading->file;
	struct sonde_ship *ship = reading->origin->ship;
	struct sonde_net_head head = reading->origin->head;
	int err;

	head.kind = packet ? SONDE_NET_PACKET : SONDE_NET_REST;
	head.number = file->number;
	head.offset = file->offset;
	head.bytes = bytes;
	head.body = body;
	if (packet) {
		head.begin_ns = packet->begin_ns;
		head.end_ns = packet->end_ns;
	}
	memcpy(head.file, file->name, sizeof(head.file));
	err = reading->origin->only_counts ?
		      0 :
		      ship_read(ship, reading->fd, reading->path, head.offset,
				body);
	if (!err && !reading->origin->only_counts)
		err = ship_publish(reading->origin, &head, ship->body);
	if (err)
		return err;
	file->number++;
	file->offset += bytes;
	return 0;
}

/* The most that a message may have, as far as is known without an engine. */
static uint64_t body_max(const struct origin *origin)
{
	return origin->log ? sonde_net_body_max(origin->log) :
			     SONDE_NET_BODY_MAX;
}

/* What no packet has, and packets that are too large. */
static int ship_rest(const struct reading *reading, uint64_t to)
{
	uint64_t part = body_max(reading->origin);
	int err = 0;

	if (part > PART_BYTES)
		part = PART_BYTES;
	while (!err && reading->file->offset < to) {
		uint64_t left = to - reading->file->offset;
		uint64_t bytes = left < part ? left : part;
		uint64_t body = bytes;

		err = count_bytes(reading, reading->file->offset, &body);
		if (!err)
			err = ship_piece(reading, bytes, body, NULL);
	}
	return err;
}

static int ship_packet(const struct reading *reading,
		       const struct sonde_packet *packet)
{
	uint64_t end = packet->offset + packet->bytes;
	uint64_t body = packet->bytes;
	int err;

	if (end <= reading->file->offset)
		return 0;
	err = ship_rest(reading, packet->offset);
	if (err)
		return err;
	if (packet->offset == reading->file->offset) {
		err = count_bytes(reading, packet->offset, &body);
		if (err)
			return err;
		if (body <= body_max(reading->origin))
			return ship_piece(reading, packet->bytes, body, packet);
	}
	return ship_rest(reading, end);
}

static int compare_places(const void *a, const void *b)
{
	const struct sonde_packet *const *one = a;
	const struct sonde_packet *const *other = b;

	return ((*one)->offset > (*other)->offset) -
	       ((*one)->offset < (*other)->offset);
}

/* A stream's packets in the order of its file, for free(). */
static const struct sonde_packet **
packets_by_place(const struct sonde_stream *stream)
{
	const struct sonde_packet **packets =
		malloc((stream->nr_packets + 1) * sizeof(const void *));

	for (size_t i = 0; packets && i < stream->nr_packets; i++)
		packets[i] = &stream->packets[i];
	if (packets)
		qsort(packets, stream->nr_packets, sizeof(const void *),
		      compare_places);
	return packets;
}

/* What is final of a file. */
static int ship_final(const struct reading *reading,
		      const struct sonde_stream *stream, bool is_at_rest)
{
	const struct sonde_packet **packets = packets_by_place(stream);
	size_t nr = stream->nr_packets;
	int err = 0;

	if (!packets)
		return ship_fail_memory(reading->origin->ship);
	if (!is_at_rest && nr)
		nr--; /* the last may grow */
	for (size_t i = 0; !err && i < nr; i++)
		err = ship_packet(reading, packets[i]);
	free(packets);
	if (!err && is_at_rest)
		err = ship_rest(reading, stream->bytes);
	if (!err && reading->file->offset > stream->bytes)
		err = sonde_net_fail(reading->origin->ship->config.error,
				     -EINVAL,
				     "%.400s is shorter than when it was "
				     "shipped; ship it elsewhere, for what "
				     "is there can't be taken back",
				     stream->path);
	return err;
}

static bool ship_has_index(const struct origin *origin, const char *index)
{
	char path[PATH_MAX];

	(void)snprintf(path, sizeof(path), "%s/%s", origin->path, index);
	return access(path, F_OK) == 0;
}

/* Opens a stream's bytes as they were before they were compressed. */
static int ship_open_stream(const struct sonde_stream *stream)
{
	int fd;

	if (stream->packed)
		return sonde_ctf_packed_file(stream->packed);
	fd = open(stream->path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int ship_stream(struct origin *origin, const struct sonde_stream *stream)
{
	const char *name = sonde_text_base(stream->path);
	struct reading reading = { origin, NULL, stream->path, -1 };
	char index[NAME_MAX + 16];
	bool is_at_rest;
	int err;

	if (!sonde_net_is_file(SONDE_NET_PACKET, name))
		return sonde_net_fail(origin->ship->config.error, -EINVAL,
				      "%.400s: this name is too long, or "
				      "can't be a file's elsewhere",
				      stream->path);
	reading.file = shipped_of(origin, name);
	if (!reading.file)
		return ship_fail_memory(origin->ship);
	reading.fd = ship_open_stream(stream);
	if (reading.fd < 0)
		return fail_errno(origin->ship, reading.fd, stream->path);
	is_at_rest = origin->is_at_rest || reading.file->is_at_rest;
	err = ship_final(&reading, stream, is_at_rest);
	(void)close(reading.fd); /* only read */
	if (origin->only_counts)
		return err;
	(void)snprintf(index, sizeof(index), "index/%s.idx", name);
	if (!err && is_at_rest)
		return ship_document(origin, index);
	/* for the next look */
	reading.file->is_at_rest = ship_has_index(origin, index);
	return err;
}

/* ---- a look ---- */

/* How much there is of a source, and what its packets say was lost: each has how
 * many events there were, from the stream's beginning on. */
static void measure_origin(struct origin *origin,
			   const struct sonde_trace *trace,
			   const struct sonde_source *source)
{
	origin->kept = origin->lost = 0;
	for (size_t i = 0; i < trace->nr_streams; i++) {
		const struct sonde_stream *stream = trace->streams[i];
		uint64_t lost = 0;

		if (stream->source != source)
			continue;
		for (size_t j = 0; j < stream->nr_packets; j++)
			if (stream->packets[j].has_discarded &&
			    stream->packets[j].discarded > lost)
				lost = stream->packets[j].discarded;
		origin->kept += stream->bytes;
		origin->lost += lost;
	}
}

/* Ships all streams of a source. */
static int ship_streams(struct origin *origin, const struct sonde_trace *trace,
			const struct sonde_source *source)
{
	int err = 0;

	for (size_t i = 0; !err && i < trace->nr_streams; i++)
		if (trace->streams[i]->source == source)
			err = ship_stream(origin, trace->streams[i]);
	return err;
}

/* The body of an end, for free(): "PIECES BYTES FILE", for each file of pieces.
 * NULL without memory. */
static char *end_text(const struct origin *origin, size_t *ret_size)
{
	char *text = NULL;
	FILE *to = open_memstream(&text, ret_size);

	if (!to)
		return NULL;
	for (const struct shipped *file = NULL;
	     (file = sonde_hash_next(&origin->files, file));)
		if (!sonde_net_is_file(SONDE_NET_DOCUMENT, file->name))
			(void)fprintf(to, "%" PRIu64 " %" PRIu64 " %s\n",
				      file->number, file->offset, file->name);
	if (!fclose(to))
		return text;
	free(text);
	return NULL;
}

static int ship_end(struct origin *origin)
{
	struct sonde_net_head head = origin->head;
	size_t size;
	char *text;
	int err;

	if (!origin->has_news && origin->nr_ends)
		return 0;
	text = end_text(origin, &size);
	if (!text)
		return ship_fail_memory(origin->ship);
	head.kind = SONDE_NET_END;
	head.number = ++origin->nr_ends;
	head.bytes = head.body = size;
	err = ship_publish(origin, &head, text);
	free(text);
	origin->has_news = false;
	return err;
}

bool sonde_ship_is_held(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool held = false;

	if (fd < 0)
		return false;
	if (flock(fd, LOCK_SH | LOCK_NB))
		held = errno == EWOULDBLOCK;
	(void)close(fd); /* and so unlocked */
	return held;
}

/* Engines like it better if not every packet has to be safe at once. */
static bool ship_is_due(struct origin *origin)
{
	uint64_t now = sonde_monotonic_ns();

	if (now - origin->settled_ns < SETTLE_NS)
		return false;
	origin->settled_ns = now;
	return true;
}

/* Publishes what is new of it, and whether that is all there will be. */
static int ship_origin(struct origin *origin, const struct sonde_trace *trace,
		       const struct sonde_source *source)
{
	int err;

	measure_origin(origin, trace, source);
	err = ship_document(origin, "metadata");
	if (!err)
		err = ship_streams(origin, trace, source);
	/* who writes it does so when the trace is complete */
	if (!err && origin->is_at_rest)
		err = ship_document(origin, SONDE_NET_CLOCK);
	if (!err && origin->is_at_rest)
		err = ship_end(origin);
	if (!err && (origin->is_at_rest || ship_is_due(origin)))
		err = sonde_net_settle(origin->log);
	if (err)
		return err;
	origin->is_done = origin->is_at_rest;
	origin->is_at_rest = !sonde_ship_is_held(origin->path);
	if (!origin->is_done)
		return 0;
	close_origin(origin);
	if (origin->ship->config.done)
		origin->ship->config.done(origin->ship->config.ctx,
					  origin->path);
	return 0;
}

static bool is_gone(const char *path)
{
	return access(path, F_OK) && errno == ENOENT;
}

static int ship_source(struct sonde_ship *ship, const struct sonde_trace *trace,
		       const struct sonde_source *source, bool *all_done)
{
	struct origin *origin = NULL;
	int err = origin_of(ship, source, &origin);

	if (!err && !origin->is_done)
		err = ship_origin(origin, trace, source);
	if (err && is_gone(source->path)) {
		if (!origin && ship->config.gone)
			ship->config.gone(ship->config.ctx, source->path);
		return 0; /* else it is about to be forgotten */
	}
	*all_done = *all_done && origin && origin->is_done;
	return err;
}

/* Forgets traces whose directories have been removed. */
static void forget_origins(struct sonde_ship *ship)
{
	size_t nr = 0;

	for (size_t i = 0; i < ship->nr_origins; i++) {
		struct origin *origin = ship->origins[i];

		if (!is_gone(origin->path)) {
			ship->origins[nr++] = origin;
			continue;
		}
		if (!origin->is_done && ship->config.gone)
			ship->config.gone(ship->config.ctx, origin->path);
		free_origin(origin);
	}
	ship->nr_origins = nr;
}

/* Whether a file is to be opened: none of a trace that is done. */
static bool is_to_open(void *ctx, const char *path,
		       struct sonde_open_place *ret_place)
{
	const struct sonde_ship *ship = ctx;

	(void)ret_place; /* from its beginning */
	for (size_t i = 0; i < ship->nr_origins; i++) {
		const struct origin *origin = ship->origins[i];
		size_t length = strlen(origin->path);

		if (origin->is_done && !strncmp(path, origin->path, length) &&
		    path[length] == '/' && !strchr(path + length + 1, '/'))
			return false;
	}
	return true;
}

/* The traces in `path`, without what is done. */
static int ship_open(struct sonde_ship *ship, const char *path,
		     struct sonde_trace **ret_trace)
{
	const struct sonde_open_part part = {
		.from = is_to_open,
		.ctx = ship,
		.as_recorded = true,
	};
	struct sonde_trace_error error;
	int err = sonde_trace_open_files(&path, 1, &part, &error, ret_trace);

	return err ? sonde_net_fail(ship->config.error, err, "%s", error.text) :
		     0;
}

int sonde_ship_look(struct sonde_ship *ship)
{
	struct sonde_trace *trace;
	bool was_at_rest = ship->is_at_rest;
	bool all_done = true;
	int err = ship_open(ship, ship->top, &trace);

	if (err)
		return err;
	for (size_t i = 0; !err && i < trace->nr_sources; i++)
		err = ship_source(ship, trace, trace->sources[i], &all_done);
	sonde_trace_close(trace);
	forget_origins(ship);
	ship->is_at_rest = !sonde_ship_is_held(ship->top);
	return err ? err : all_done && was_at_rest;
}

/* ---- accounts ---- */

/* Of one source, as sonde_ship_account(). */
static int account_for(struct sonde_ship *ship, const struct sonde_trace *trace,
		       const struct sonde_source *source,
		       sonde_ship_account_fn *take, void *ctx)
{
	struct origin *origin = new_origin(ship, source->path);
	struct sonde_net_head head;
	char *text = NULL;
	size_t size;
	int err;

	if (!origin)
		return -ENOENT;
	origin->only_counts = origin->is_at_rest = true;
	err = name_origin(origin, source);
	if (!err)
		err = ship_streams(origin, trace, source);
	if (!err) {
		text = end_text(origin, &size);
		err = text ? 0 : ship_fail_memory(ship);
	}
	if (!err) {
		head = origin->head;
		head.kind = SONDE_NET_END;
		head.bytes = head.body = size;
		head.sum = sonde_sum(text, size);
		err = take(ctx, origin->path, &head, text);
	}
	free(text);
	free_origin(origin);
	return err;
}

int sonde_ship_account(const struct sonde_ship_config *config, const char *path,
		       sonde_ship_account_fn *take, void *ctx)
{
	struct sonde_ship *ship = NULL;
	struct sonde_trace *trace;
	int err = sonde_ship_new(config, &ship);

	if (!ship)
		return err;
	err = ship_open(ship, path, &trace);
	if (!err) {
		for (size_t i = 0; !err && i < trace->nr_sources; i++)
			err = account_for(ship, trace, trace->sources[i], take,
					  ctx);
		sonde_trace_close(trace);
	}
	sonde_ship_free(ship);
	return err;
}

/* What the engine has of a file, up to what the file had; how many of its pieces
 * it lacks. */
static int take_lack(struct origin *origin, const struct sonde_notes_file *said,
		     uint64_t *lacking)
{
	struct shipped *file = shipped_of(origin, said->name);
	uint64_t nr;

	if (!file)
		return ship_fail_memory(origin->ship);
	if (file->offset >= said->bytes)
		return 0;
	nr = said->wanted > file->number ? said->wanted - file->number : 1;
	file->number += nr;
	file->offset = said->bytes;
	*lacking += nr;
	return 0;
}

static int publish_account(struct origin *origin,
			   const struct sonde_notes *notes, uint64_t *lacking)
{
	const struct sonde_notes_file *said = NULL;
	int err = begin_origin(origin);

	while (!err && (said = sonde_hash_next(&notes->files, said)))
		err = take_lack(origin, said, lacking);
	if (err)
		return err;
	/* What was said before, it didn't say of all. */
	origin->has_news = *lacking;
	err = ship_end(origin);
	return err ? err : sonde_net_settle(origin->log);
}

int sonde_ship_publish_account(const struct sonde_ship_config *config,
			       const struct sonde_net_head *head,
			       const char *text, uint64_t *ret_lacking)
{
	struct sonde_ship ship = { .config = *config };
	struct origin origin = { .ship = &ship, .head = *head };
	struct sonde_notes notes;
	int err;

	/* its own, as all of it is for one message */
	ship.config.rate = 0;
	*ret_lacking = 0;
	sonde_hash_init(&origin.files, sizeof(struct shipped), SIZE_MAX);
	sonde_notes_init(&notes);
	err = sonde_notes_take_end(&notes, text, head->body);
	if (err)
		err = sonde_net_fail(config->error, err,
				     "an account of what went unsent is "
				     "damaged");
	else
		err = publish_account(&origin, &notes, ret_lacking);
	sonde_notes_fini(&notes);
	close_origin(&origin);
	return err;
}
