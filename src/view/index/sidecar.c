/* SPDX-License-Identifier: MIT */
/*
 * sidecar.c - an index to a file and back (sidecar.h).
 *
 * The sums are over 64-bit words, four lanes at a time: they find what a disk or a
 * half-written file does, and run as fast as memory is read.
 */
#include "view/index/sidecar.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "reader/core/clock_offset.h"
#include "sys/nameless.h"
#include "sys/userdir.h"
#include "sys/write.h"

#define MAGIC    UINT64_C(0x636e69736e6f73) /* "sonsinc" */
#define WINDOW   ((size_t)1 << 18)
#define TEXT_MAX 4096u

struct disk_row {
	uint32_t kind;
	int32_t number, pid;
	uint32_t sources;
	uint64_t nr_nodes;
	int64_t begin, end;
	uint64_t sums[SONDE_VIEW_STATES];
	double least, most;
	char name[SONDE_VIEW_ROW_NAME];
	char unit[SONDE_VIEW_ROW_UNIT];
};

struct trailer {
	uint64_t magic;
	uint64_t states; /* SONDE_VIEW_STATES */
	uint64_t key[2];
	int64_t begin_ns, end_ns, cell_ns;
	uint64_t body_bytes, nr_nodes, nr_rows, nr_causes, nr_names, nr_colours,
		nr_locks;
	uint64_t body_sum;
	uint64_t sum; /* of the tail, and of the trailer up to here */
};

/* ---- sums ---- */

struct sum {
	uint64_t lanes[4];
	uint64_t nr;
};

static uint64_t mix(uint64_t value, uint64_t word)
{
	value = (value ^ word) * UINT64_C(0x9e3779b97f4a7c15);
	return value ^ value >> 29;
}

static void sum_word(struct sum *sum, const unsigned char *at)
{
	uint64_t word;

	memcpy(&word, at, 8);
	sum->lanes[sum->nr % 4] = mix(sum->lanes[sum->nr % 4], word);
	sum->nr++;
}

/* Whole words. */
static void sum_words(struct sum *sum, const void *bytes, size_t size)
{
	const unsigned char *at = bytes;
	const unsigned char *end = at + (size & ~(size_t)7);

	for (; at < end && sum->nr % 4; at += 8)
		sum_word(sum, at);
	for (; end - at >= 32; at += 32) {
		uint64_t words[4];

		memcpy(words, at, sizeof(words));
		for (int i = 0; i < 4; i++)
			sum->lanes[i] = mix(sum->lanes[i], words[i]);
		sum->nr += 4;
	}
	for (; at < end; at += 8)
		sum_word(sum, at);
}

static uint64_t sum_end(const struct sum *sum)
{
	uint64_t all = sum->nr;

	for (int i = 0; i < 4; i++)
		all = mix(all, sum->lanes[i]);
	return all;
}

/* Of the file's first bytes, whole words, read and not mapped: so they don't
 * count as the process's memory. */
static int sum_body(int fd, uint64_t size, const atomic_bool *stopping,
		    uint64_t *ret_sum)
{
	unsigned char *window = malloc(WINDOW);
	struct sum sum = { .nr = 0 };
	int err = window ? 0 : -ENOMEM;

	for (uint64_t at = 0; !err && at < size;) {
		size_t part = size - at < WINDOW ? (size_t)(size - at) : WINDOW;
		ssize_t got = pread(fd, window, part, (off_t)at);

		if (stopping && atomic_load(stopping))
			err = -EINTR;
		else if (got < 8)
			err = got < 0 ? -errno : -EINVAL;
		if (err)
			break;
		sum_words(&sum, window, (size_t)got);
		at += (uint64_t)got & ~(uint64_t)7;
	}
	free(window);
	*ret_sum = sum_end(&sum);
	return err;
}

/* ---- which trace it is ---- */

static void sum_text(struct sum *sum, const char *text)
{
	for (; *text; text++) {
		uint64_t word = (unsigned char)*text;

		sum_words(sum, &word, sizeof(word));
	}
}

/* What a file is, by its size and when it changed. */
static void sum_file(struct sum *sum, const char *path)
{
	struct stat about = { 0 };
	uint64_t words[4] = { 0 };

	if (!stat(path, &about)) {
		words[0] = (uint64_t)about.st_size;
		words[1] = (uint64_t)about.st_mtim.tv_sec;
		words[2] = (uint64_t)about.st_mtim.tv_nsec;
		words[3] = 1;
	}
	sum_words(sum, words, sizeof(words));
}

uint64_t sonde_view_sidecar_where(const struct sonde_trace *trace)
{
	struct sum where = { .nr = 2 };

	for (size_t i = 0; i < sonde_trace_nr_sources(trace); i++) {
		struct sonde_source_info info;
		char path[4096];
		char real[PATH_MAX];

		sonde_source_get_info(sonde_trace_source(trace, i), &info);
		(void)snprintf(path, sizeof(path), "%s/metadata", info.path);
		sum_text(&where, realpath(path, real) ? real : path);
	}
	return sum_end(&where);
}

static void sum_edge(struct sum *sum, const struct sonde_view_rule_edge *edge)
{
	sum_text(sum, edge->begins ? "begin" : "end");
	sum_text(sum, edge->when);
	sum_text(sum, edge->name ? edge->name : "");
	sum_text(sum, edge->label ? "label" : "");
	sum_text(sum, edge->label ? edge->label : "");
	sum_text(sum, edge->colour ? edge->colour : "");
	sum_text(sum, edge->value ? edge->value : "");
	sum_text(sum, edge->add ? edge->add : "");
}

static void sum_rules(struct sum *sum, const struct sonde_view_rules *rules)
{
	for (size_t i = 0; i < rules->nr; i++) {
		const struct sonde_view_rule *rule = rules->rules[i];

		sum_text(sum, rule->row);
		sum_text(sum, rule->per ? rule->per : "");
		sum_text(sum, rule->is_counter ? "counter" : "");
		sum_text(sum, rule->unit ? rule->unit : "");
		for (size_t k = 0; k < rule->nr_edges; k++)
			sum_edge(sum, &rule->edges[k]);
	}
	if (rules->plugins_are)
		sum_text(sum, rules->plugins_are);
}

static void find_key(const struct sonde_trace *trace,
		     const struct sonde_view_rules *rules, uint64_t ret_key[2])
{
	struct sum what = { .nr = 1 };
	uint64_t seed = MAGIC;
	int64_t range[2] = { 0, 0 };

	for (size_t i = 0; i < sonde_trace_nr_sources(trace); i++) {
		struct sonde_source_info info;
		char path[4096];

		sonde_source_get_info(sonde_trace_source(trace, i), &info);
		(void)snprintf(path, sizeof(path), "%s/metadata", info.path);
		sum_file(&what, path);
		(void)snprintf(path, sizeof(path),
			       "%s/" SONDE_CLOCK_OFFSET_FILE, info.path);
		sum_file(&what, path);
	}
	for (size_t i = 0; i < sonde_trace_nr_streams(trace); i++) {
		struct sonde_stream_info info;

		sonde_stream_get_info(sonde_trace_stream(trace, i), &info);
		sum_file(&what, info.path);
	}
	(void)sonde_trace_range(trace, &range[0], &range[1]);
	sum_words(&what, range, sizeof(range));
	if (rules)
		sum_rules(&what, rules);
	ret_key[0] = sum_end(&what);
	sum_words(&what, &seed, sizeof(seed));
	ret_key[1] = sum_end(&what);
}

void sonde_view_sidecar_init(struct sonde_view_sidecar *sidecar,
			     const struct sonde_trace *trace,
			     const struct sonde_view_rules *rules)
{
	sidecar->rules = rules;
	find_key(trace, rules, sidecar->key);
	(void)snprintf(sidecar->name, sizeof(sidecar->name), "view-%016" PRIx64,
		       sonde_view_sidecar_where(trace));
	sidecar->directory = sonde_userdir_open("XDG_CACHE_HOME", "/.cache");
}

void sonde_view_sidecar_fini(struct sonde_view_sidecar *sidecar)
{
	if (sidecar->directory >= 0)
		(void)close(sidecar->directory);
}

int sonde_view_sidecar_create(const struct sonde_view_sidecar *sidecar)
{
	const int flags = O_TMPFILE | O_RDWR | O_CLOEXEC;
	int fd = -1;

	if (sidecar->directory >= 0)
		fd = openat(sidecar->directory, ".", flags, 0600);
	return fd < 0 ? sonde_nameless_open() : fd;
}

/* ---- keeping ---- */

/* Each a whole number of words with its length. */
static void put_texts(FILE *to, const struct sonde_view_texts *texts)
{
	for (size_t i = 0; i < texts->nr; i++) {
		const char *text = texts->texts[i];
		uint64_t length = text ? strnlen(text, TEXT_MAX) : 0;
		char zeros[8] = { 0 };

		(void)fwrite(&length, sizeof(length), 1, to);
		(void)fwrite(text ? text : zeros, 1, length, to);
		(void)fwrite(zeros, 1, -length & 7, to);
	}
}

static void put_colours(FILE *to, const struct sonde_view_colours *colours)
{
	for (size_t i = 0; i < colours->nr; i++) {
		uint64_t colour = colours->colours[i];

		(void)fwrite(&colour, sizeof(colour), 1, to);
	}
}

static void put_disk_rows(FILE *to, const struct sonde_view_rows *rows)
{
	for (size_t i = 0; i < rows->nr; i++) {
		const struct sonde_view_row *row = &rows->rows[i];
		struct disk_row disk = {
			.kind = (uint32_t)row->kind,
			.number = row->number,
			.pid = row->pid,
			.sources = row->sources,
			.nr_nodes = row->nr_nodes,
			.begin = row->begin,
			.end = row->end,
			.least = row->least,
			.most = row->most,
		};

		memcpy(disk.sums, row->sums, sizeof(disk.sums));
		memcpy(disk.name, row->name, sizeof(disk.name));
		memcpy(disk.unit, row->unit, sizeof(disk.unit));
		(void)fwrite(&disk, sizeof(disk), 1, to);
	}
	for (size_t i = 0; i < rows->nr; i++)
		(void)fwrite(rows->rows[i].nodes,
			     sizeof(struct sonde_view_node_place),
			     rows->rows[i].nr_nodes, to);
}

static uint64_t count_nodes(const struct sonde_view_rows *rows)
{
	uint64_t nr = 0;

	for (size_t i = 0; i < rows->nr; i++)
		nr += rows->rows[i].nr_nodes;
	return nr;
}

/* Of the tail, whose end is the trailer without its sum. */
static uint64_t sum_tail(const char *tail, size_t size)
{
	struct sum sum = { .nr = 0 };

	sum_words(&sum, tail, size - sizeof(uint64_t));
	return sum_end(&sum);
}

/* All behind the body, for free(); NULL without memory. */
static char *make_tail(const struct sonde_view_sidecar *sidecar,
		       const struct sonde_view_build *build,
		       const struct sonde_view_cells *cells, uint64_t body_sum,
		       size_t *ret_size)
{
	const struct sonde_view_rows *rows = &build->rows;
	struct trailer trailer = {
		.magic = MAGIC,
		.states = SONDE_VIEW_STATES,
		.key = { sidecar->key[0], sidecar->key[1] },
		.begin_ns = cells->begin_ns,
		.end_ns = cells->end_ns,
		.cell_ns = cells->cell_ns,
		.body_bytes = rows->body.used,
		.nr_nodes = count_nodes(rows),
		.nr_rows = rows->nr,
		.nr_causes = build->texts.nr,
		.nr_names = build->names.nr,
		.nr_colours = build->colours.nr,
		.nr_locks = build->nr_locks,
		.body_sum = body_sum,
	};
	char *tail = NULL;
	FILE *to = open_memstream(&tail, ret_size);

	if (!to)
		return NULL;
	(void)fwrite(cells->before, sizeof(cells->before), 1, to);
	put_disk_rows(to, rows);
	put_texts(to, &build->texts);
	put_texts(to, &build->names);
	put_colours(to, &build->colours);
	(void)fwrite(&trailer, sizeof(trailer), 1, to);
	if (fclose(to)) {
		free(tail);
		return NULL;
	}
	trailer.sum = sum_tail(tail, *ret_size);
	memcpy(tail + *ret_size - sizeof(trailer.sum), &trailer.sum,
	       sizeof(trailer.sum));
	return tail;
}

/* Under a name that nobody else takes, then under the right one. */
static int give_name(const struct sonde_view_sidecar *sidecar, int fd)
{
	char path[32];
	char name[64];

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	(void)snprintf(name, sizeof(name), "%s.%d", sidecar->name,
		       (int)getpid());
	(void)unlinkat(sidecar->directory, name, 0);
	if (linkat(AT_FDCWD, path, sidecar->directory, name, AT_SYMLINK_FOLLOW))
		return -errno;
	return renameat(sidecar->directory, name, sidecar->directory,
			sidecar->name) ?
		       -errno :
		       0;
}

int sonde_view_sidecar_keep(const struct sonde_view_sidecar *sidecar,
			    const struct sonde_trace *trace,
			    struct sonde_view_build *build,
			    const struct sonde_view_cells *cells)
{
	struct sonde_view_rows *rows = &build->rows;
	uint64_t key[2];
	uint64_t body_sum;
	size_t size;
	char *tail;
	int err = sonde_view_rows_close(rows);

	if (err)
		return err;
	if (sidecar->directory < 0)
		return -ENOENT;
	find_key(trace, sidecar->rules, key);
	if (memcmp(key, sidecar->key, sizeof(key)) != 0)
		return -EAGAIN;
	err = sum_body(rows->body.fd, rows->body.used, NULL, &body_sum);
	if (err)
		return err;
	tail = make_tail(sidecar, build, cells, body_sum, &size);
	if (!tail)
		return -ENOMEM;
	err = sonde_pwrite_all(rows->body.fd, tail, size, rows->body.used);
	free(tail);
	if (!err && ftruncate(rows->body.fd, (off_t)(rows->body.used + size)))
		err = -errno;
	return err ? err : give_name(sidecar, rows->body.fd);
}

/* ---- loading ---- */

int sonde_view_sidecar_open(const struct sonde_view_sidecar *sidecar)
{
	int fd = sidecar->directory < 0 ?
			 -1 :
			 openat(sidecar->directory, sidecar->name,
				O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

	return fd < 0 ? -ENOENT : fd;
}

struct load {
	const struct sonde_view_sidecar *sidecar;
	struct sonde_view_build *build;
	struct sonde_view_cells *cells;
	const unsigned char *map;
	uint64_t size; /* of all before the trailer */
	uint64_t at;   /* what has been taken of the tail */
	struct trailer trailer;
};

/* The next bytes of the tail; NULL: there are not so many. */
static const void *take_of_tail(struct load *load, uint64_t size)
{
	const void *bytes = load->map + load->at;

	if (size > load->size - load->at)
		return NULL;
	load->at += size;
	return bytes;
}

static bool is_sound_trailer(const struct load *load)
{
	const struct trailer *trailer = &load->trailer;

	return trailer->magic == MAGIC &&
	       trailer->states == SONDE_VIEW_STATES &&
	       !memcmp(trailer->key, load->sidecar->key,
		       sizeof(trailer->key)) &&
	       load->size % 8 == 0 && trailer->cell_ns > 0 &&
	       trailer->end_ns >= trailer->begin_ns &&
	       trailer->body_bytes % 8 == 0 &&
	       trailer->body_bytes <= load->size &&
	       trailer->nr_nodes <= load->size / 16 &&
	       trailer->nr_rows <= SONDE_VIEW_ROWS &&
	       trailer->nr_causes <= SONDE_VIEW_CAUSES &&
	       trailer->nr_names <= SONDE_VIEW_NAMES &&
	       trailer->nr_colours <= trailer->nr_names;
}

static bool is_sound_tail(const struct load *load)
{
	uint64_t begin = load->trailer.body_bytes;

	return sum_tail((const char *)load->map + begin,
			(size_t)(load->size - begin) + sizeof(load->trailer)) ==
	       load->trailer.sum;
}

static int load_row(struct load *load, const struct disk_row *disk)
{
	int number = sonde_view_build_row(load->build,
					  (enum sonde_view_row_kind)disk->kind,
					  disk->number);
	struct sonde_view_row *row;

	if (number < 0)
		return number;
	row = &load->build->rows.rows[number];
	row->pid = disk->pid;
	row->sources = disk->sources;
	row->begin = disk->begin;
	row->end = disk->end;
	row->least = disk->least;
	row->most = disk->most;
	memcpy(row->sums, disk->sums, sizeof(row->sums));
	memcpy(row->name, disk->name, sizeof(row->name));
	row->name[sizeof(row->name) - 1] = 0;
	memcpy(row->unit, disk->unit, sizeof(row->unit));
	row->unit[sizeof(row->unit) - 1] = 0;
	row->nodes = calloc((size_t)disk->nr_nodes + 1, sizeof(*row->nodes));
	if (!row->nodes)
		return -ENOMEM;
	row->nodes_room = (size_t)disk->nr_nodes + 1;
	return 0;
}

/* Times rise from the row's begin, and places are in the body. */
static int load_nodes(struct load *load, struct sonde_view_row *row,
		      uint64_t nr)
{
	const struct sonde_view_node_place *places =
		take_of_tail(load, nr * sizeof(*places));

	if (!places || (nr == 0) != (row->begin == row->end))
		return -EINVAL;
	for (uint64_t i = 0; i < nr; i++) {
		int64_t end = i + 1 < nr ? places[i + 1].begin : row->end;

		if ((i == 0 && places[i].begin != row->begin) ||
		    places[i].begin >= end || end > row->end ||
		    places[i].offset >= load->trailer.body_bytes)
			return -EINVAL;
		row->nodes[i] = places[i];
	}
	row->nr_nodes = (size_t)nr;
	return 0;
}

static int load_rows(struct load *load)
{
	const struct disk_row *disk =
		take_of_tail(load, load->trailer.nr_rows * sizeof(*disk));
	int err = disk ? 0 : -EINVAL;

	for (uint64_t i = 0; !err && i < load->trailer.nr_rows; i++) {
		if (disk[i].kind >= SONDE_VIEW_ROW_KINDS ||
		    isnan(disk[i].least) || isnan(disk[i].most) ||
		    disk[i].nr_nodes > load->trailer.nr_nodes ||
		    disk[i].begin < 0 || disk[i].begin > disk[i].end ||
		    disk[i].end > SONDE_VIEW_TIME_MAX)
			return -EINVAL;
		err = load_row(load, &disk[i]);
	}
	/* A row that stands there twice is one less. */
	if (!err && load->build->rows.nr != load->trailer.nr_rows)
		err = -EINVAL;
	for (uint64_t i = 0; !err && i < load->trailer.nr_rows; i++)
		err = load_nodes(load, &load->build->rows.rows[i],
				 disk[i].nr_nodes);
	return err;
}

static int load_texts(struct load *load, struct sonde_view_texts *texts,
		      uint64_t nr)
{
	int err = 0;

	while (!err && texts->nr < nr) {
		const uint64_t *length = take_of_tail(load, sizeof(*length));
		const char *text =
			length && *length <= TEXT_MAX ?
				take_of_tail(load, (*length + 7) & ~7ull) :
				NULL;

		err = text ? sonde_view_texts_add(texts, text,
						  (size_t)*length) :
			     -EINVAL;
	}
	return err;
}

static int load_colours(struct load *load, struct sonde_view_colours *colours)
{
	const uint64_t *colour =
		take_of_tail(load, load->trailer.nr_colours * sizeof(*colour));
	int err = colour ? 0 : -EINVAL;

	for (size_t i = 0; !err && i < load->trailer.nr_colours; i++)
		err = sonde_view_colours_add(colours, i, (uint32_t)colour[i]);
	return err;
}

static int load_cells(struct load *load)
{
	const void *before = take_of_tail(load, sizeof(load->cells->before));

	if (!before)
		return -EINVAL;
	*load->cells = (struct sonde_view_cells){
		.begin_ns = load->trailer.begin_ns,
		.end_ns = load->trailer.end_ns,
		.cell_ns = load->trailer.cell_ns,
	};
	memcpy(load->cells->before, before, sizeof(load->cells->before));
	return 0;
}

int sonde_view_sidecar_load(const struct sonde_view_sidecar *sidecar, int fd,
			    struct sonde_view_build *build,
			    struct sonde_view_cells *cells)
{
	struct load load = { .sidecar = sidecar,
			     .build = build,
			     .cells = cells };
	struct stat about;
	int err = sonde_view_body_map(&build->rows.body, fd);

	if (err)
		return err;
	load.map = build->rows.body.map;
	load.size = build->rows.body.mapped;
	if (fstat(fd, &about) || (uint64_t)about.st_size != load.size ||
	    load.size < sizeof(load.trailer))
		return -EINVAL;
	load.size -= sizeof(load.trailer);
	memcpy(&load.trailer, load.map + load.size, sizeof(load.trailer));
	if (!is_sound_trailer(&load) || !is_sound_tail(&load))
		return -EINVAL;
	build->nr_locks = load.trailer.nr_locks;
	load.at = load.trailer.body_bytes;
	build->rows.body.used = build->rows.body.written =
		load.trailer.body_bytes;
	err = load_cells(&load);
	if (!err)
		err = load_rows(&load);
	if (!err)
		err = load_texts(&load, &build->texts, load.trailer.nr_causes);
	if (!err)
		err = load_texts(&load, &build->names, load.trailer.nr_names);
	if (!err)
		err = load_colours(&load, &build->colours);
	return err || load.at == load.size ? err : -EINVAL;
}

int sonde_view_sidecar_verify(int fd, const atomic_bool *stopping)
{
	off_t size = lseek(fd, 0, SEEK_END);
	struct trailer trailer;
	uint64_t sum;
	int err;

	if (size < (off_t)sizeof(trailer) ||
	    pread(fd, &trailer, sizeof(trailer),
		  size - (off_t)sizeof(trailer)) != (ssize_t)sizeof(trailer))
		return -EINVAL;
	err = sum_body(fd, trailer.body_bytes, stopping, &sum);
	return err || sum == trailer.body_sum ? err : -EINVAL;
}
