/* SPDX-License-Identifier: MIT */
/*
 * names.c - names of code addresses, by what was mapped where and when
 * (names.h).
 *
 * Mappings are in the order of image and time; which one an address was in is
 * found by bisection, and what a name needs of it is that it was the same all
 * the time. Each address is looked up once and kept; what a thread asked last, it
 * gets without the lock (near.h).
 */
#include "reader/names/names.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/hash.h"
#include "base/pool.h"
#include "base/port.h"
#include "base/search.h"
#include "reader/names/codes.h"
#include "reader/names/event.h"
#include "reader/names/near.h"
#include "reader/reader.h"

#define MAPPINGS_MAX ((size_t)1 << 22)
#define NAMES_MAX    ((size_t)1 << 22)
#define TEXT_MAX     1600

#define FLAG_EXEC    4u
/* Forks without an exec, one by the other's child. */
#define ANCESTORS_MAX 32u

struct mapping {
	uint64_t image;
	int64_t since_ns, seen_ns; /* it came in between */
	uint64_t begin, end, offset;
	const char *path, *build_id; /* build_id: NULL unknown */
};

/* From then on a process has the memory of another one, or, parent 0, what it
 * maps from then on. */
struct begin {
	uint64_t image, parent;
	int64_t time_ns;
	bool is_unread; /* it was gone before that was looked for */
};

/* An address in a mapping that has been asked for. */
struct entry {
	struct sonde_key key;
	const struct sonde_name *name;
};

/* An address of data that has been asked for, in the load of a file. */
struct variable {
	struct sonde_key key;
	const char *name; /* "": it has none */
};

struct of_class {
	struct sonde_field caller; /* without owner: none */
	bool is_kernel;
};

struct sonde_names {
	struct sonde_trace *trace;
	struct sonde_namer *namer;
	struct sonde_pool pool;
	bool has_mappings, is_read;
	size_t nr_sources; /* of a trace that is followed */
	const char **sources;
	struct look {
		uint64_t image;
		int64_t since_ns, seen_ns;
		uint64_t nr; /* of a sonde:looked: so many come */
	} look;              /* whose mappings come next in the stream */
	size_t nr, capacity;
	struct mapping *mappings; /* by image and time */
	size_t nr_begins, begins_capacity;
	struct begin *begins; /* by image and time */
	struct sonde_hash entries, variables;
	struct of_class *classes; /* by event class */
	struct sonde_names_stacks stacks;
	struct sonde_names_codes codes;
	struct sonde_names_kernel *kernel;
	uint64_t serial;       /* of answers that threads keep: near.h */
	pthread_mutex_t mutex; /* of all that changes */
};

/* ---- life ---- */

static bool is_look(const struct sonde_event_class *cls)
{
	return cls->info.internal && !strcmp(cls->info.name, "sonde:mappings");
}

/* Of samples: a process has another memory from then on. */
static bool is_begin(const struct sonde_event_class *cls)
{
	return cls->info.internal && !strcmp(cls->info.name, "sonde:began");
}

/* Likewise, of one that nobody tells of: as it was when its stacks were walked. */
static bool is_looked(const struct sonde_event_class *cls)
{
	return cls->info.internal && !strcmp(cls->info.name, "sonde:looked");
}

static bool is_dumped(const struct sonde_event_class *cls)
{
	return !strcmp(cls->info.name, "sonde_statedump_mapping");
}

static bool has_class(const struct sonde_stream *stream,
		      bool (*is)(const struct sonde_event_class *cls))
{
	const struct sonde_stream_class *cls = stream->cls;

	for (size_t i = 0; cls && i < cls->nr_events; i++)
		if (is(cls->events[i]))
			return true;
	return false;
}

/* In which there are call stacks of processes by their numbers. */
static bool has_samples(const struct sonde_trace *trace,
			const struct sonde_source *source)
{
	for (size_t i = 0; i < trace->nr_streams; i++)
		if (trace->streams[i]->source == source &&
		    (has_class(trace->streams[i], is_begin) ||
		     has_class(trace->streams[i], sonde_names_is_stack)))
			return true;
	return false;
}

/* In traces that another tracer has recorded there is nothing else. */
static bool is_code(const struct sonde_event_class *cls)
{
	return cls->info.internal && !strcmp(cls->info.name, "sonde:code");
}

/* Whether the stream says what was where: of programs, or of processes that were
 * sampled. */
static bool has_looks(const struct sonde_trace *trace,
		      const struct sonde_stream *stream)
{
	return has_class(stream, is_look) || has_class(stream, is_begin) ||
	       has_class(stream, sonde_names_is_stack) ||
	       has_class(stream, is_code) ||
	       (has_class(stream, is_dumped) &&
		has_samples(trace, stream->source));
}

/* Errors leave a field without owner. */
static int look_at_classes(struct sonde_names *names)
{
	const struct sonde_trace *trace = names->trace;
	struct of_class *classes =
		calloc(trace->nr_classes + 1, sizeof(*classes));

	free(names->classes);
	names->classes = classes;
	if (!classes)
		return -ENOMEM;
	for (size_t i = 0; i < trace->nr_classes; i++) {
		const struct sonde_event_class *cls = trace->classes[i];

		classes[i].is_kernel = sonde_names_kernel_is(cls->info.source);
		if (sonde_event_class_field(cls, SONDE_SCOPE_PAYLOAD, "caller",
					    &classes[i].caller))
			classes[i].caller.owner = NULL;
	}
	return 0;
}

/* Questions are about this trace's events. */
static int names_aim(struct sonde_names *names, struct sonde_trace *trace)
{
	int err = sonde_names_stacks_aim(&names->stacks, trace);

	names->serial = sonde_names_near_serial();
	names->trace = trace;
	for (size_t i = 0; i < trace->nr_streams; i++)
		names->has_mappings |= has_looks(trace, trace->streams[i]);
	return err ? err : look_at_classes(names);
}

struct sonde_names *sonde_names_new(struct sonde_trace *trace)
{
	struct sonde_names *names = calloc(1, sizeof(*names));

	if (!names)
		return NULL;
	if (pthread_mutex_init(&names->mutex, NULL)) {
		free(names);
		return NULL;
	}
	sonde_pool_init(&names->pool, 0);
	sonde_hash_init(&names->entries, sizeof(struct entry), NAMES_MAX);
	sonde_hash_init(&names->variables, sizeof(struct variable), NAMES_MAX);
	sonde_names_stacks_init(&names->stacks);
	names->namer = sonde_namer_new();
	names->kernel = sonde_names_kernel_new(trace);
	if (names->namer && names->kernel && !names_aim(names, trace))
		return names;
	sonde_names_free(names);
	return NULL;
}

void sonde_names_free(struct sonde_names *names)
{
	if (!names)
		return;
	sonde_namer_free(names->namer);
	sonde_names_kernel_free(names->kernel);
	sonde_hash_fini(&names->entries);
	sonde_hash_fini(&names->variables);
	sonde_names_stacks_fini(&names->stacks);
	sonde_names_codes_fini(&names->codes);
	sonde_pool_fini(&names->pool);
	(void)pthread_mutex_destroy(&names->mutex);
	free(names->classes);
	free(names->mappings);
	free(names->begins);
	free(names->sources);
	free(names);
}

bool sonde_names_has_mappings(const struct sonde_names *names)
{
	return names && names->has_mappings;
}

/* A copy; "" without memory. */
static const char *keep(struct sonde_names *names, const char *text)
{
	const char *kept =
		*text ? sonde_pool_text(&names->pool, text, strlen(text)) : "";

	return kept ? kept : "";
}

/* ---- images ---- */

uint64_t sonde_names_process(const struct sonde_source *source, uint64_t pid)
{
	return sonde_source_image(source, SONDE_NAMES_PROCESS | (uint32_t)pid);
}

/* Of the kernel's events that have call stacks. */
static bool has_process(const struct sonde_event *event, uint64_t *ret_pid)
{
	struct sonde_field field;
	struct sonde_value value;

	if (!event->cls->scopes[SONDE_SCOPE_EVENT_CONTEXT] ||
	    !sonde_names_kernel_is(event->stream->source) ||
	    sonde_event_class_field(event->cls, SONDE_SCOPE_EVENT_CONTEXT,
				    "pid", &field) ||
	    sonde_event_value(event, &field, &value) ||
	    value.kind > SONDE_KIND_INT)
		return false;
	*ret_pid = value.u;
	return true;
}

uint64_t sonde_names_image(const struct sonde_event *event)
{
	uint64_t pid;

	if (sonde_names_is_sample(event->cls))
		return sonde_names_process(event->stream->source,
					   sonde_names_event_number(event,
								    "pid"));
	if (has_process(event, &pid))
		return sonde_names_process(event->stream->source, pid);
	return sonde_source_image(event->stream->source,
				  event->stream->cls->id);
}

/* ---- mappings ---- */

/* As long before the event as it says; `otherwise`: it doesn't. */
static int64_t time_of_age(const struct sonde_event *event, int64_t otherwise)
{
	const struct sonde_clock_scale *scale = event->stream->scale;
	uint64_t age = sonde_names_event_number(event, "age");

	return age && scale && age <= event->ticks ?
		       sonde_scale_ns(scale, event->ticks - age) :
		       otherwise;
}

static int code_take_mapping(struct sonde_names *names,
			     const struct sonde_event *event,
			     const struct look *look)
{
	struct mapping mapping = {
		.image = look->image,
		.since_ns = look->since_ns,
		.seen_ns = look->seen_ns,
		.begin = sonde_names_event_number(event, "begin"),
		.end = sonde_names_event_number(event, "end"),
		.offset = sonde_names_event_number(event, "offset"),
	};

	/* Whose it is isn't known if the look was of another source. */
	if (!(sonde_names_event_number(event, "flags") & FLAG_EXEC) ||
	    (look->image ^ sonde_source_image(event->stream->source, 0)) >> 32)
		return 0;
	mapping.path = sonde_names_event_text(event, "path", &names->pool);
	mapping.build_id =
		sonde_names_event_text(event, "build_id", &names->pool);
	if (!mapping.path || names->nr == MAPPINGS_MAX)
		return 0;
	if (SONDE_GROW(names->mappings, names->nr, names->capacity))
		return -ENOMEM;
	names->mappings[names->nr++] = mapping;
	return 0;
}

/* In a kernel's trace: of a process, from then on; the dump's, ever; a look's, since
 * that. */
static int take_process_mapping(struct sonde_names *names,
				const struct sonde_event *event)
{
	const bool dumped = is_dumped(event->cls);
	const struct look look = {
		.image = sonde_names_process(event->stream->source,
					     sonde_names_event_number(event,
								      "pid")),
		.since_ns = dumped ? SONDE_TIME_MIN : event->time_ns,
		.seen_ns = event->time_ns,
	};
	const bool looked =
		!dumped && names->look.nr && names->look.image == look.image;

	names->look.nr -= looked;
	return code_take_mapping(names, event, looked ? &names->look : &look);
}

static int take_begin(struct sonde_names *names,
		      const struct sonde_event *event)
{
	const struct sonde_source *source = event->stream->source;
	const uint64_t parent = sonde_names_event_number(event, "parent");
	struct begin begin = {
		.image = sonde_names_process(
			source, sonde_names_event_number(event, "pid")),
		.parent = parent ? sonde_names_process(source, parent) : 0,
		.time_ns = time_of_age(event, event->time_ns),
	};

	if (is_looked(event->cls)) {
		names->look = (struct look){
			.image = begin.image,
			.since_ns = begin.time_ns,
			.seen_ns = begin.time_ns,
			.nr = sonde_names_event_number(event, "nr"),
		};
		begin.is_unread = !names->look.nr;
	}
	if (SONDE_GROW(names->begins, names->nr_begins, names->begins_capacity))
		return -ENOMEM;
	names->begins[names->nr_begins++] = begin;
	return 0;
}

static int compare_begins(const void *a, const void *b)
{
	const struct begin *left = a;
	const struct begin *right = b;

	if (left->image != right->image)
		return left->image < right->image ? -1 : 1;
	return (left->time_ns > right->time_ns) -
	       (left->time_ns < right->time_ns);
}

static int compare(const void *a, const void *b)
{
	const struct mapping *left = a;
	const struct mapping *right = b;

	if (left->image != right->image)
		return left->image < right->image ? -1 : 1;
	if (left->seen_ns != right->seen_ns)
		return left->seen_ns < right->seen_ns ? -1 : 1;
	return (left->begin > right->begin) - (left->begin < right->begin);
}

static int code_take_stack(struct sonde_names *names,
			   const struct sonde_event *event)
{
	return sonde_names_stacks_take(
		&names->stacks,
		sonde_source_image(event->stream->source,
				   sonde_names_event_number(event, "image")),
		event);
}

/* Whose code it is: a program's image, or a process that was sampled. */
static uint64_t compiled_image(const struct sonde_event *event)
{
	const struct sonde_source *source = event->stream->source;

	return sonde_names_kernel_is(source) ?
		       sonde_names_process(
			       source, sonde_names_event_number(event, "pid")) :
		       sonde_source_image(source, sonde_names_event_number(
							  event, "image"));
}

static int take_compiled(struct sonde_names *names,
			 const struct sonde_event *event)
{
	struct sonde_names_code_entry entry = {
		.image = compiled_image(event),
		.begin = sonde_names_event_number(event, "begin"),
		.name = sonde_names_event_text(event, "name", &names->pool),
		.module = sonde_names_event_text(event, "module", &names->pool),
	};

	entry.end = entry.begin + sonde_names_event_number(event, "size");
	return sonde_names_codes_add(&names->codes, &entry);
}

static int take_told(struct sonde_names *names, const struct sonde_event *event,
		     struct look *look)
{
	const char *name = event->cls->info.name;
	const bool kernel = sonde_names_kernel_is(event->stream->source);

	if (is_look(event->cls)) {
		look->image = sonde_source_image(
			event->stream->source,
			sonde_names_event_number(event, "image"));
		look->since_ns = time_of_age(event, SONDE_TIME_MIN);
	} else if (!strcmp(name, "sonde:mapping") && !kernel) {
		look->seen_ns = event->time_ns;
		return code_take_mapping(names, event, look);
	} else if (!strcmp(name, "sonde:mapping") || is_dumped(event->cls))
		return take_process_mapping(names, event);
	else if (is_begin(event->cls) || is_looked(event->cls))
		return take_begin(names, event);
	else if (!strcmp(name, "sonde:stack"))
		return code_take_stack(names, event);
	else if (!strcmp(name, "sonde:code"))
		return take_compiled(names, event);
	return 0;
}

static int read_streams(struct sonde_names *names, const bool *streams)
{
	struct sonde_cursor_options options;
	struct sonde_cursor *cursor;
	const struct sonde_event *event;
	int rc;

	sonde_cursor_options_init(&options);
	options.streams = streams;
	options.internal = true;
	/* A look's mappings follow it in its stream. */
	options.unmerged = true;
	rc = sonde_cursor_new(names->trace, &options, &cursor);
	if (rc)
		return rc;
	while ((rc = sonde_cursor_next(cursor, &event)) > 0)
		if (take_told(names, event, &names->look))
			break;
	sonde_cursor_free(cursor);
	return rc;
}

/* What can't be read for want of memory has no names. */
static void read_mappings(struct sonde_names *names)
{
	const struct sonde_trace *trace = names->trace;
	bool *streams = calloc(trace->nr_streams + 1, sizeof(*streams));

	names->is_read = true;
	if (!streams)
		return;
	for (size_t i = 0; i < trace->nr_streams; i++)
		streams[i] = has_looks(trace, trace->streams[i]);
	(void)read_streams(names, streams);
	free(streams);
	sonde_names_codes_sort(&names->codes);
	if (names->nr)
		qsort(names->mappings, names->nr, sizeof(*names->mappings),
		      compare);
	if (names->nr_begins)
		qsort(names->begins, names->nr_begins, sizeof(*names->begins),
		      compare_begins);
}

/* ---- part by part ---- */

static void forget_answers(struct sonde_names *names)
{
	sonde_hash_fini(&names->entries);
	sonde_hash_fini(&names->variables);
	sonde_hash_init(&names->entries, sizeof(struct entry), NAMES_MAX);
	sonde_hash_init(&names->variables, sizeof(struct variable), NAMES_MAX);
}

static bool has_same_sources(const struct sonde_names *names,
			     const struct sonde_trace *part)
{
	for (size_t i = 0; i < names->nr_sources; i++)
		if (i >= part->nr_sources ||
		    strcmp(names->sources[i], part->sources[i]->path) != 0)
			return false;
	return true;
}

/* Images are told by their sources' places. */
static int keep_sources(struct sonde_names *names,
			const struct sonde_trace *part)
{
	const char **sources = names->sources;

	if (names->nr_sources == part->nr_sources)
		return 0;
	sources = realloc(sources, part->nr_sources * sizeof(*sources));
	if (!sources)
		return -ENOMEM;
	names->sources = sources;
	while (names->nr_sources < part->nr_sources)
		sources[names->nr_sources] =
			keep(names, part->sources[names->nr_sources]->path),
		names->nr_sources++;
	return 0;
}

static void names_forget(struct sonde_names *names)
{
	names->nr = 0;
	names->nr_begins = 0;
	names->nr_sources = 0;
	names->codes.nr = 0;
	sonde_names_stacks_fini(&names->stacks);
	sonde_names_stacks_init(&names->stacks);
	forget_answers(names);
}

int sonde_names_follow(struct sonde_names *names, struct sonde_trace *part)
{
	size_t nr;
	int err;

	sonde_namer_hide(names->namer);
	if (!has_same_sources(names, part))
		names_forget(names);
	err = keep_sources(names, part);
	if (!err)
		err = names_aim(names, part);
	if (!err)
		err = sonde_names_kernel_follow(names->kernel, part);
	if (err)
		return err;
	nr = names->nr + names->codes.nr;
	read_mappings(names);
	/* They are known by mappings' places, which have changed. */
	if (nr != names->nr + names->codes.nr)
		forget_answers(names);
	return 0;
}

/* ---- which mapping ---- */

static bool is_same_code(const struct mapping *a, const struct mapping *b)
{
	return a->begin - a->offset == b->begin - b->offset &&
	       !strcmp(a->path, b->path) &&
	       (a->build_id == b->build_id ||
		(a->build_id && b->build_id &&
		 !strcmp(a->build_id, b->build_id)));
}

/* The first one of the image. */
static size_t code_first_of(const struct sonde_names *names, uint64_t image)
{
	size_t i;

	SONDE_SEARCH(i, names->nr, names->mappings[i].image < image);
	return i;
}

/* For addresses without a mapping. */
static const struct sonde_name nowhere = {
	.text = "unknown (in no file that was mapped)",
	.function = "",
	.file = "",
	.module = "",
	.lack = "in no file that was mapped",
};

static const struct sonde_name unread = {
	.text = "unknown (the process ended before its mappings were read)",
	.function = "",
	.file = "",
	.module = "",
	.lack = "the process ended before its mappings were read",
};

static const struct sonde_name changing = {
	.text = "unknown (another file was mapped there meanwhile)",
	.function = "",
	.file = "",
	.module = "",
	.lack = "another file was mapped there meanwhile",
};

/* The last time before that the image's memory began; NULL: it is not known of
 * any. *ret_end: when the next one did. *span: where that is the answer. */
static const struct begin *memory_begin(const struct sonde_names *names,
					const struct sonde_names_place *place,
					struct sonde_names_span *span,
					int64_t *ret_end)
{
	const struct begin *begins = names->begins;
	size_t i;

	SONDE_SEARCH(i, names->nr_begins,
		     begins[i].image < place->image ||
			     (begins[i].image == place->image &&
			      begins[i].time_ns <= place->from_ns));
	*ret_end = INT64_MAX;
	if (i < names->nr_begins && begins[i].image == place->image) {
		*ret_end = begins[i].time_ns;
		sonde_names_span_end(span, place->from_ns, *ret_end);
	}
	if (i && begins[i - 1].image == place->image)
		sonde_names_span_end(span, place->from_ns,
				     begins[i - 1].time_ns);
	return i && begins[i - 1].image == place->image ? &begins[i - 1] : NULL;
}

/* When a process's memory was there. */
struct lifetime {
	int64_t begin, end;
};

/* NULL, and a name that says so: none, or not one for all of the time. No mapping
 * counts that was seen before or after `life`. */
static const struct mapping *find_since(const struct sonde_names *names,
					const struct sonde_names_place *place,
					uint64_t address,
					const struct lifetime *life,
					struct sonde_names_span *span,
					const struct sonde_name **ret_name)
{
	const struct mapping *found = NULL;

	*ret_name = &nowhere;
	for (size_t i = code_first_of(names, place->image);
	     i < names->nr && names->mappings[i].image == place->image; i++) {
		const struct mapping *mapping = &names->mappings[i];

		if (address < mapping->begin || address >= mapping->end)
			continue;
		sonde_names_span_end(span, place->from_ns, mapping->since_ns);
		sonde_names_span_end(span, place->from_ns, mapping->seen_ns);
		if (mapping->since_ns > place->to_ns ||
		    mapping->seen_ns < life->begin ||
		    mapping->seen_ns > life->end)
			continue;
		if (!found && mapping->since_ns > place->from_ns)
			return NULL; /* it was not there when that began */
		/* It took the place of the one before, some time until it was
		 * seen. */
		if (!found || mapping->seen_ns <= place->from_ns) {
			found = mapping;
		} else if (!is_same_code(found, mapping)) {
			*ret_name = &changing;
			return NULL;
		}
	}
	return found;
}

/* What a process had mapped when it began is what its parent had then. *ret_span:
 * of a question about one time, the times that have the same answer. */
static const struct mapping *find(const struct sonde_names *names,
				  const struct sonde_names_place *place,
				  uint64_t address,
				  struct sonde_names_span *ret_span,
				  const struct sonde_name **ret_name)
{
	struct sonde_names_span parents = { INT64_MIN, INT64_MAX };
	struct sonde_names_span *span = ret_span;
	struct sonde_names_place at = *place;

	*ret_span = (struct sonde_names_span){ INT64_MIN, INT64_MAX };

	for (unsigned int i = 0; i < ANCESTORS_MAX; i++) {
		struct lifetime life;
		const struct begin *begin =
			memory_begin(names, &at, span, &life.end);
		const struct mapping *found;

		life.begin = begin ? begin->time_ns : SONDE_TIME_MIN;
		found = find_since(names, &at, address, &life, span, ret_name);
		if (!found && *ret_name == &nowhere && begin &&
		    begin->is_unread)
			*ret_name = &unread;
		if (found || *ret_name != &nowhere || !begin || !begin->parent)
			return found;
		at.image = begin->parent;
		at.from_ns = begin->time_ns;
		at.to_ns = begin->time_ns;
		span = &parents; /* that is one time, of whatever question */
	}
	return NULL;
}

/* ---- texts ---- */

static const char *code_base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

static const char *lack_text(uint32_t lack)
{
	static const char *const texts[SONDE_LACK_NR] = {
		[SONDE_LACK_NOTHING] = "",
		[SONDE_LACK_FILE] = "no such file",
		[SONDE_LACK_BUILD] = "its build-id differs",
		[SONDE_LACK_SYMBOLS] = "stripped",
		[SONDE_LACK_PLACE] = "no symbol there",
		[SONDE_LACK_READER] = "it can't be read",
		[SONDE_LACK_SUPPORT] = "sonde was built without libelf",
	};

	return texts[lack];
}

/* "f at x.c:3", or as far as is known. */
static void write_named(const struct sonde_name *name, uint64_t distance,
			char *to, size_t size)
{
	if (*name->file)
		(void)snprintf(to, size, "%s at %s:%" PRIu32, name->function,
			       code_base_of(name->file), name->line);
	else if (distance)
		(void)snprintf(to, size, "%s+0x%" PRIx64 " in %s",
			       name->function, distance,
			       code_base_of(name->module));
	else
		(void)snprintf(to, size, "%s in %s", name->function,
			       code_base_of(name->module));
}

static void fill(struct sonde_names *names, const struct mapping *mapping,
		 const struct sonde_naming *naming, uint64_t address,
		 struct sonde_name *name)
{
	const struct sonde_naming_frame *frame = &naming->frames[0];
	char text[TEXT_MAX];

	name->module = mapping->path;
	name->lack = lack_text(naming->lack);
	if (naming->lack) {
		(void)snprintf(text, sizeof(text), "%s+0x%" PRIx64 " (%s)",
			       code_base_of(mapping->path),
			       naming->address ? naming->address :
						 address - mapping->begin +
							 mapping->offset,
			       name->lack);
	} else {
		name->function = keep(names, naming->text + frame->name);
		name->file = keep(names, naming->text + frame->file);
		name->line = frame->line;
		write_named(name, naming->distance, text, sizeof(text));
	}
	name->text = keep(names, text);
}

static struct sonde_symbols_place asked_place(const struct mapping *mapping)
{
	return (struct sonde_symbols_place){
		.path = mapping->path,
		.build_id = mapping->build_id,
		.begin = mapping->begin,
		.offset = mapping->offset,
	};
}

static void look_up(struct sonde_names *names, const struct mapping *mapping,
		    uint64_t address, struct sonde_name *name)
{
	const struct sonde_symbols_place at = asked_place(mapping);
	struct sonde_naming naming;

	*name = (struct sonde_name){ .function = "", .file = "" };
	sonde_namer_ask(names->namer, SONDE_NAMER_CODE, &at, address, &naming);
	fill(names, mapping, &naming, address, name);
}

static const struct sonde_name recompiled = {
	.text = "unknown (several functions were compiled there)",
	.function = "",
	.file = "",
	.module = "",
	.lack = "several functions were compiled there",
};

/* Of an address in no file, of code that was made at run time. NULL: no memory. */
static const struct sonde_name *compiled_name(struct sonde_names *names,
					      uint64_t image, uint64_t address,
					      const struct sonde_name *unnamed)
{
	bool differ;
	const struct sonde_names_code_entry *code =
		sonde_names_codes_find(&names->codes, image, address, &differ);
	struct sonde_key key;
	struct sonde_name *name;
	struct entry *entry;
	const char *module;
	char text[TEXT_MAX];

	/* A file, of whatever name, was there. */
	if (!code || unnamed != &nowhere)
		return unnamed;
	if (differ)
		return &recompiled;
	/* No mapping has that number. */
	key = sonde_key_make(SONDE_KEY_HEX,
			     (uint64_t)(code - names->codes.entries),
			     UINT32_MAX);
	entry = sonde_hash_put(&names->entries, &key);
	if (!entry || entry->name)
		return entry ? entry->name : NULL;
	name = sonde_pool_get(&names->pool, 1, sizeof(*name));
	if (!name)
		return NULL;
	module = code->module ? code->module : "[jit]";
	(void)snprintf(text, sizeof(text), "%s in %s", code->name, module);
	*name = (struct sonde_name){
		.text = keep(names, text),
		.function = code->name,
		.file = "",
		.module = module,
		.lack = "",
	};
	entry->name = name;
	return name;
}

/* ---- the kernel's ---- */

struct sonde_names_kernel *sonde_names_kernel(struct sonde_names *names)
{
	return names ? names->kernel : NULL;
}

static void kernel_fill(struct sonde_names *names,
			const struct sonde_names_function *function,
			uint64_t address, struct sonde_name *name)
{
	char text[TEXT_MAX];

	(void)snprintf(text, sizeof(text), "[%s]",
		       *function->module ? function->module : "kernel");
	*name = (struct sonde_name){
		.function = function->name ? function->name : "",
		.file = "",
		.module = keep(names, text),
		.lack = function->lack,
	};
	if (function->name)
		write_named(name, function->distance, text, sizeof(text));
	else
		(void)snprintf(text, sizeof(text), "0x%" PRIx64 " (%s)",
			       address, function->lack);
	name->text = keep(names, text);
}

/* The name of an address that is in no program, but in the kernel. */
static const struct sonde_name *kernel_name(struct sonde_names *names,
					    uint64_t image, uint64_t address)
{
	const uint32_t source = (uint32_t)(image >> 32);
	/* No mapping has that number. */
	const struct sonde_key key =
		sonde_key_make(SONDE_KEY_HEX, address, UINT32_MAX - 1 - source);
	struct entry *entry = sonde_hash_put(&names->entries, &key);
	struct sonde_names_function function;
	struct sonde_name *name;

	if (!entry || entry->name)
		return entry ? entry->name : NULL;
	name = sonde_pool_get(&names->pool, 1, sizeof(*name));
	if (!name || source >= names->trace->nr_sources)
		return name;
	function = sonde_names_kernel_find(
		names->kernel, names->trace->sources[source], address);
	kernel_fill(names, &function, address, name);
	entry->name = name;
	return name;
}

/* ---- each once ---- */

static const struct sonde_name *code_get(struct sonde_names *names,
					 const struct sonde_names_place *place,
					 struct sonde_names_span *ret_span)
{
	uint64_t address = place->address - place->is_return;
	const struct sonde_name *unnamed;
	const struct mapping *mapping;
	struct sonde_name *name;
	struct sonde_key key;
	struct entry *entry;

	*ret_span = (struct sonde_names_span){ 0 };
	if (sonde_names_kernel_has(address))
		return kernel_name(names, place->image, address);
	if (!names->is_read)
		read_mappings(names);
	mapping = find(names, place, address, ret_span, &unnamed);
	if (!mapping)
		return compiled_name(names, place->image, address, unnamed);
	key = sonde_key_make(SONDE_KEY_HEX, address,
			     (uint32_t)(mapping - names->mappings));
	entry = sonde_hash_put(&names->entries, &key);
	if (!entry || entry->name)
		return entry ? entry->name : NULL;
	name = sonde_pool_get(&names->pool, 1, sizeof(*name));
	if (!name)
		return NULL;
	look_up(names, mapping, address, name);
	entry->name = name;
	return name;
}

const struct sonde_name *sonde_names_code(struct sonde_names *names,
					  const struct sonde_names_place *place)
{
	const bool is_one_time = place->from_ns == place->to_ns;
	const struct sonde_name *name =
		is_one_time ? sonde_names_near_find(names->serial, place) :
			      NULL;
	struct sonde_names_span span;

	if (name)
		return name;
	(void)pthread_mutex_lock(&names->mutex);
	name = code_get(names, place, &span);
	(void)pthread_mutex_unlock(&names->mutex);
	if (name && is_one_time)
		sonde_names_near_keep(names->serial, place, span, name);
	return name;
}

/* ---- variables ---- */

/* The code that was mapped below the address: a file's data, and what .bss has
 * beyond the file, follow its code. NULL: none was there all the time. */
static const struct mapping *find_load(const struct sonde_names *names,
				       const struct sonde_names_place *place)
{
	const struct sonde_name *unnamed;
	struct sonde_names_span span;
	uint64_t begin = 0;

	for (size_t i = code_first_of(names, place->image);
	     i < names->nr && names->mappings[i].image == place->image; i++) {
		const struct mapping *mapping = &names->mappings[i];

		if (mapping->begin <= place->address &&
		    mapping->begin > begin && mapping->since_ns <= place->to_ns)
			begin = mapping->begin;
	}
	return begin ? find(names, place, begin, &span, &unnamed) : NULL;
}

static const char *ask_variable(struct sonde_names *names,
				const struct mapping *mapping, uint64_t address)
{
	const struct sonde_symbols_place at = asked_place(mapping);
	char text[TEXT_MAX];

	if (!sonde_namer_variable(names->namer, &at, address, text,
				  sizeof(text)))
		return "";
	return keep(names, text);
}

static const char *get_variable(struct sonde_names *names,
				const struct sonde_names_place *place)
{
	const struct mapping *mapping;
	struct variable *variable;
	struct sonde_key key;

	if (!names->is_read)
		read_mappings(names);
	mapping = find_load(names, place);
	if (!mapping)
		return NULL;
	key = sonde_key_make(SONDE_KEY_HEX, place->address,
			     (uint32_t)(mapping - names->mappings));
	variable = sonde_hash_put(&names->variables, &key);
	if (!variable)
		return NULL;
	if (!variable->name)
		variable->name = ask_variable(names, mapping, place->address);
	return *variable->name ? variable->name : NULL;
}

const char *sonde_names_variable(struct sonde_names *names,
				 const struct sonde_names_place *place)
{
	const char *name;

	(void)pthread_mutex_lock(&names->mutex);
	name = get_variable(names, place);
	(void)pthread_mutex_unlock(&names->mutex);
	return name;
}

/* Where the event was. */
static const struct sonde_name *code_name_at(struct sonde_names *names,
					     const struct sonde_event *event,
					     uint64_t address, bool is_return)
{
	const struct sonde_names_place place = {
		.image = sonde_names_image(event),
		.address = address,
		.from_ns = event->time_ns,
		.to_ns = event->time_ns,
		.is_return = is_return,
	};

	return sonde_names_code(names, &place);
}

const struct sonde_name *sonde_names_caller(struct sonde_names *names,
					    const struct sonde_event *event)
{
	const struct sonde_field *field =
		&names->classes[event->cls->info.index].caller;
	struct sonde_value value;

	if (!names->has_mappings || !field->owner ||
	    sonde_event_value(event, field, &value) ||
	    value.kind > SONDE_KIND_INT)
		return NULL;
	return code_name_at(names, event, value.u, true);
}

bool sonde_names_may_name(const struct sonde_names *names,
			  const struct sonde_event_class *cls,
			  const char *field)
{
	if (!names)
		return false;
	return sonde_names_kernel_is(cls->info.source) ||
	       (names->has_mappings && !strcmp(field, "caller"));
}

const struct sonde_name *sonde_names_field(struct sonde_names *names,
					   const struct sonde_event *event,
					   const char *field, uint64_t number)
{
	const bool kernel = sonde_names_kernel_has(number);
	const struct sonde_name *name;

	if (!names ||
	    kernel != names->classes[event->cls->info.index].is_kernel ||
	    (!kernel && (!names->has_mappings || strcmp(field, "caller") != 0)))
		return NULL;
	name = code_name_at(names, event, number, !kernel);
	if (!name || (!*name->function && (kernel || !*name->module)))
		return NULL;
	return name;
}

bool sonde_names_has_stacks(const struct sonde_names *names)
{
	return names && names->stacks.has_any;
}

static void read_once(struct sonde_names *names)
{
	(void)pthread_mutex_lock(&names->mutex);
	if (!names->is_read)
		read_mappings(names);
	(void)pthread_mutex_unlock(&names->mutex);
}

const struct sonde_names_stack *
sonde_names_stack_number(struct sonde_names *names, uint64_t image,
			 uint32_t number)
{
	read_once(names);
	return sonde_names_stacks_get(&names->stacks, image, number);
}

const struct sonde_names_stack *
sonde_names_stack(struct sonde_names *names, const struct sonde_event *event)
{
	read_once(names);
	return sonde_names_stacks_of(&names->stacks, sonde_names_image(event),
				     event);
}

const struct sonde_name *sonde_names_frame(struct sonde_names *names,
					   const struct sonde_event *event,
					   uint64_t frame)
{
	bool is_return;
	uint64_t address = sonde_names_frame_address(frame, &is_return);

	return code_name_at(names, event, address, is_return);
}
