/* SPDX-License-Identifier: MIT */
/*
 * list.c - `sonde list`: the events in a program, a library or a trace, as a
 * table or as JSON. list_elf.c and list_trace.c find events; this file collects
 * and sorts them, removes duplicates, and shows what is left.
 */
#include "cmd/list.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/grow.h"
#include "base/json.h"
#include "base/nearest.h"
#include "cmd/cmd.h"
#include "cmd/newest.h"
#include "cmd/options.h"
#include "cmd/pager.h"
#include "types/select.h"

#define FILE_MAX   (1ull << 30)
#define EVENTS_MAX 100000u

struct field {
	char *name;
	char *type;
};

struct event {
	char *name;
	uint32_t loglevel;
	uint32_t nr_fields;
	struct field *fields;
	char *described; /* by what; NULL */
	bool conflict;   /* another of the same name, but not the same */
	size_t order;
};

struct events {
	bool declared; /* those that don't occur, too */
	size_t nr;
	size_t room;
	struct event *at;
	struct sonde_list_sites sites;
};

static int add_event(void *user, const char *name, uint32_t loglevel)
{
	struct events *events = user;
	struct event *event;

	if (events->nr == EVENTS_MAX)
		return -E2BIG;
	if (SONDE_GROW(events->at, events->nr, events->room))
		return -ENOMEM;
	event = &events->at[events->nr];
	*event = (struct event){ .loglevel = loglevel, .order = events->nr };
	event->name = strdup(name);
	if (!event->name)
		return -ENOMEM;
	events->nr++;
	return 0;
}

static int add_field(void *user, const char *name, const char *type)
{
	struct events *events = user;
	struct event *event = &events->at[events->nr - 1];
	struct field *more = reallocarray(event->fields, event->nr_fields + 1,
					  sizeof(*more));
	struct field *field;

	if (!more)
		return -ENOMEM;
	event->fields = more;
	field = &more[event->nr_fields++];
	field->name = strdup(name);
	field->type = strdup(type);
	return field->name && field->type ? 0 : -ENOMEM;
}

static int list_set_described(void *user, const char *by)
{
	struct events *events = user;
	struct event *event = &events->at[events->nr - 1];

	event->described = strdup(by);
	return event->described ? 0 : -ENOMEM;
}

static int list_note_site(void *user, const struct sonde_sdt_site *site)
{
	struct events *events = user;

	return sonde_list_add_site(&events->sites, site);
}

static void free_event(struct event *event)
{
	for (uint32_t i = 0; i < event->nr_fields; i++) {
		free(event->fields[i].name);
		free(event->fields[i].type);
	}
	free(event->fields);
	free(event->described);
	free(event->name);
}

static void free_events(struct events *events)
{
	for (size_t i = 0; i < events->nr; i++)
		free_event(&events->at[i]);
	free(events->at);
	sonde_list_free_sites(&events->sites);
}

static int compare(const void *a, const void *b)
{
	const struct event *x = a;
	const struct event *y = b;
	int order = strcmp(x->name, y->name);

	if (order != 0)
		return order;
	return (x->order > y->order) - (x->order < y->order);
}

static const char *described_by(const struct event *event)
{
	return event->described ? event->described : "";
}

static bool equal(const struct event *a, const struct event *b)
{
	if (a->loglevel != b->loglevel || a->nr_fields != b->nr_fields ||
	    strcmp(described_by(a), described_by(b)) != 0)
		return false;
	for (uint32_t i = 0; i < a->nr_fields; i++) {
		if (strcmp(a->fields[i].name, b->fields[i].name) != 0 ||
		    strcmp(a->fields[i].type, b->fields[i].type) != 0)
			return false;
	}
	return true;
}

/* Whether `event` is among the kept ones of its name, which are the last. */
static bool list_is_kept(struct events *events, size_t kept,
			 struct event *event)
{
	while (kept-- > 0) {
		struct event *other = &events->at[kept];

		if (strcmp(other->name, event->name) != 0)
			return false;
		if (equal(other, event))
			return true;
		other->conflict = true;
		event->conflict = true;
	}
	return false;
}

/* Sort by name, and drop what is there already. */
static void sort_events(struct events *events)
{
	size_t kept = 0;

	if (events->nr == 0)
		return;
	qsort(events->at, events->nr, sizeof(*events->at), compare);
	for (size_t i = 0; i < events->nr; i++) {
		struct event event = events->at[i];

		if (list_is_kept(events, kept, &event))
			free_event(&event);
		else
			events->at[kept++] = event;
	}
	events->nr = kept;
}

static int compare_name(const void *name, const void *event)
{
	return strcmp(name, ((const struct event *)event)->name);
}

/* Whether an event of this name is listed; the events are sorted. */
static bool list_has_event(const void *user, const char *name)
{
	const struct events *events = user;

	return events->nr > 0 && bsearch(name, events->at, events->nr,
					 sizeof(*events->at), compare_name);
}

/* ---- the table ---- */

struct widths {
	int event;
	int level;
	int described; /* 0: no event is */
	int field;
};

static void widen(int *width, const char *text)
{
	size_t length = strlen(text);

	if (length > (size_t)*width && length <= 48)
		*width = (int)length;
}

static struct widths measure(const struct events *events)
{
	struct widths widths = { 5, 5, 0, 5 };

	for (size_t i = 0; i < events->nr; i++) {
		const struct event *event = &events->at[i];

		widen(&widths.event, event->name);
		widen(&widths.level, sonde_level_name(event->loglevel));
		if (event->described && !widths.described)
			widths.described = (int)strlen("DESCRIPTION");
		widen(&widths.described, described_by(event));
		for (uint32_t k = 0; k < event->nr_fields; k++)
			widen(&widths.field, event->fields[k].name);
	}
	return widths;
}

static void print_event(const struct event *event, const struct widths *widths)
{
	int before = widths->event + 2 + widths->level;

	(void)printf("%-*s  %-*s", widths->event, event->name, widths->level,
		     sonde_level_name(event->loglevel));
	if (widths->described) {
		(void)printf("  %-*s", widths->described, described_by(event));
		before += 2 + widths->described;
	}
	for (uint32_t i = 0; i < event->nr_fields; i++) {
		if (i > 0)
			(void)printf("%*s", before, "");
		(void)printf("  %-*s  %s\n", widths->field,
			     event->fields[i].name, event->fields[i].type);
	}
	if (event->nr_fields == 0)
		(void)printf("\n");
}

static void print_table(const struct events *events)
{
	bool colour = isatty(STDOUT_FILENO) && !secure_getenv("NO_COLOR");
	struct widths widths = measure(events);

	sonde_pager_begin();
	if (events->nr > 0)
		(void)printf("%s%-*s  %-*s%s%-*s  %-*s  TYPE%s\n",
			     colour ? "\033[1m" : "", widths.event, "EVENT",
			     widths.level, "LEVEL",
			     widths.described ? "  " : "", widths.described,
			     widths.described ? "DESCRIPTION" : "",
			     widths.field, "FIELD", colour ? "\033[0m" : "");
	for (size_t i = 0; i < events->nr; i++)
		print_event(&events->at[i], &widths);
	if (events->nr > 0 && events->sites.nr > 0)
		(void)putchar('\n');
	sonde_list_print_sites(&events->sites, colour);
}

/* ---- JSON ---- */

static void print_json_event(struct sonde_json *json, const struct event *event)
{
	sonde_json_line(json, 2);
	sonde_json_open(json, NULL, '{');
	sonde_json_put_text(json, "event", event->name);
	sonde_json_put_text(json, "level", sonde_level_name(event->loglevel));
	if (event->described)
		sonde_json_put_text(json, "description", event->described);
	sonde_json_put_bool(json, "conflict", event->conflict);
	sonde_json_open(json, "fields", '[');
	for (uint32_t i = 0; i < event->nr_fields; i++) {
		sonde_json_line(json, 4);
		sonde_json_open(json, NULL, '{');
		sonde_json_put_text(json, "name", event->fields[i].name);
		sonde_json_put_text(json, "type", event->fields[i].type);
		sonde_json_close(json, '}');
	}
	sonde_json_close(json, ']');
	sonde_json_close(json, '}');
}

static void print_json(const struct events *events)
{
	struct sonde_json json = sonde_json_to_file(stdout);

	sonde_json_open(&json, NULL, '[');
	for (size_t i = 0; i < events->nr; i++)
		print_json_event(&json, &events->at[i]);
	sonde_list_put_sites(&events->sites, &json);
	sonde_json_line(&json, 0);
	sonde_json_close(&json, ']');
	(void)putchar('\n');
}

/* ---- files ---- */

/* Read all of a file into memory of the caller's to free. */
static int list_read_fd(int fd, uint8_t **ret_bytes, size_t *ret_size)
{
	struct stat st;
	uint8_t *bytes;
	size_t used = 0;
	size_t size;

	if (fstat(fd, &st) != 0)
		return -errno;
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	if (!S_ISREG(st.st_mode))
		return -ENOEXEC;
	if ((uint64_t)st.st_size > FILE_MAX)
		return -EFBIG;
	size = (size_t)st.st_size;
	bytes = malloc(size + 1);
	if (!bytes)
		return -ENOMEM;
	while (used < size) {
		ssize_t n = read(fd, bytes + used, size - used);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		used += (size_t)n;
	}
	*ret_bytes = bytes;
	*ret_size = used;
	return 0;
}

static int list_read_file(const char *path, uint8_t **ret_bytes,
			  size_t *ret_size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	int error;

	if (fd < 0)
		return -errno;
	error = list_read_fd(fd, ret_bytes, ret_size);
	(void)close(fd);
	return error;
}

static bool is_directory(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static void list_complain(const char *path, int error)
{
	if (error == -ENOEXEC)
		sonde_complain("%.200s is not an ELF file; give a program, "
			       "a library or a trace's directory",
			       path);
	else if (error == -ENOTSUP)
		sonde_complain("%.200s is for another kind of machine; only "
			       "programs of this byte order can be listed",
			       path);
	else if (error == -EINVAL)
		sonde_complain("%.200s is damaged: its ELF headers "
			       "contradict each other",
			       path);
	else
		sonde_complain("can't read %.200s: %s", path,
			       strerrordesc_np(-error));
}

struct sought {
	struct sonde_nearest *nearest;
	const char *glob;
	bool found;
};

static int list_try_event(void *user, const char *name, uint32_t loglevel)
{
	struct sought *sought = user;
	char rules[SONDE_GLOB_MAX + 2] = "";
	char provider[SONDE_FULL_NAME_MAX];
	int n = snprintf(rules, sizeof(rules) - 1, "+%s", sought->glob);
	size_t length = strcspn(name, ":");

	(void)snprintf(provider, sizeof(provider), "%.*s", (int)length, name);
	if (n > 0 && (size_t)n < sizeof(rules) - 1 && name[length] &&
	    sonde_select(rules, (size_t)n + 2, SONDE_LEVELS, provider,
			 name + length + 1, loglevel))
		sought->found = true;
	if (!strchr(sought->glob, ':'))
		sonde_nearest_try(sought->nearest, provider);
	sonde_nearest_try_event(sought->nearest, name);
	return 0;
}

static int ignore_field(void *user, const char *name, const char *type)
{
	(void)user;
	(void)name;
	(void)type;
	return 0;
}

bool sonde_list_has(const char *path, const char *glob,
		    struct sonde_nearest *ret_nearest)
{
	struct sought sought = { ret_nearest, glob, false };
	struct sonde_list_sink sink = { .user = &sought,
					.event = list_try_event,
					.field = ignore_field };
	uint64_t malformed = 0;
	uint8_t *bytes = NULL;
	size_t size = 0;

	sonde_nearest_begin(ret_nearest, glob);
	if (list_read_file(path, &bytes, &size))
		return false;
	/* What isn't understood has no events. */
	(void)sonde_list_elf(bytes, size, &sink, &malformed);
	free(bytes);
	return sought.found;
}

static int collect(const char *path, struct events *events)
{
	struct sonde_list_sink sink = { events, add_event, add_field,
					list_set_described, list_note_site };
	uint64_t malformed = 0;
	uint8_t *bytes = NULL;
	size_t size = 0;
	int error;

	if (is_directory(path))
		return sonde_list_trace(path, events->declared, &sink);
	error = list_read_file(path, &bytes, &size);
	if (error == 0)
		error = sonde_list_elf(bytes, size, &sink, &malformed);
	if (error != 0)
		list_complain(path, error);
	else if (malformed > 0)
		sonde_complain("%.200s: %llu damaged descriptions passed over",
			       path, (unsigned long long)malformed);
	free(bytes);
	return error;
}

void sonde_list_names(const char *path,
		      void (*name)(void *user, const char *name), void *user)
{
	struct events events = { .declared = true };

	(void)collect(path, &events);
	sort_events(&events);
	for (size_t i = 0; i < events.nr; i++)
		if (i == 0 ||
		    strcmp(events.at[i - 1].name, events.at[i].name) != 0)
			name(user, events.at[i].name);
	free_events(&events);
}

static void tell_conflicts(const struct events *events)
{
	for (size_t i = 0; i < events->nr; i++) {
		const struct event *event = &events->at[i];

		if (event->conflict && (i == 0 || strcmp(events->at[i - 1].name,
							 event->name) != 0))
			sonde_complain(
				"%.200s is described in several ways; only "
				"the one that is registered first can be "
				"recorded: make level and fields the same",
				event->name);
	}
}

static const char usage[] =
	"sonde list [--json] [--declared] [PROGRAM|LIBRARY|TRACE...]\n"
	"sonde list [--json] -k [PATTERN...]\n"
	"sonde list [--json] --contexts\n"
	"\n"
	"Shows the events that programs and libraries can record (read\n"
	"from the file, which is not run), or those that occur in a trace:\n"
	"provider and name, log level, fields and their types. Of the probes\n"
	"that files have for other tracers (<sys/sdt.h>, also called USDT):\n"
	"sdt:PROVIDER:NAME, where they are, and their arguments.\n";

struct words {
	bool json, declared, kernel, contexts;
};

/* clang-format off */
#define TO(member) SONDE_OPTION_TO(struct words, member)
static const struct sonde_option options[] = {
	{ "declared", 0, NULL, NULL, TO(declared),
	  "of a trace, also those that could have occurred" },
	{ "kernel", 'k', NULL, NULL, TO(kernel),
	  "the events of the running kernel that match patterns as 'sonde "
	  "record -k' takes them: group, name, and the trace's name if it has "
	  "another" },
	{ "contexts", 0, NULL, NULL, TO(contexts),
	  "what is known of any event besides its fields, and what it costs" },
	{ "json", 0, NULL, NULL, TO(json),
	  "as JSON: a list of {event, level, conflict, fields}; of sdt: also "
	  "location and semaphore" },
	{ 0 }
};
/* clang-format on */

static int list_all(int nr, char **paths, bool json, bool declared)
{
	struct events events = { .declared = declared };
	int status = 0;

	for (int i = 0; i < nr; i++) {
		if (collect(paths[i], &events) != 0)
			status = 1;
	}
	sort_events(&events);
	sonde_list_sort_sites(&events.sites);
	sonde_list_drop_sites(&events.sites, list_has_event, &events);
	if (json)
		print_json(&events);
	else if (events.nr > 0 || events.sites.nr > 0)
		print_table(&events);
	else if (status == 0 && is_directory(paths[0]))
		sonde_complain("no event occurs in %.200s; --declared shows "
			       "those that could have",
			       paths[0]);
	else if (status == 0)
		sonde_complain("no tracepoints in %.200s%s", paths[0],
			       nr > 1 ? " and the others" : "");
	if (fflush(stdout) != 0 && errno != EPIPE) {
		sonde_complain("can't write the list: %s",
			       strerrordesc_np(errno));
		status = 1;
	}
	sonde_pager_end();
	tell_conflicts(&events);
	free_events(&events);
	return status;
}

static int run(int argc, char **argv)
{
	struct words words = { 0 };
	char newest[NAME_MAX + 1];
	int status = sonde_option_take(&sonde_command_list, argc, argv, &words,
				       NULL);

	if (status >= 0)
		return status;
	if (words.contexts &&
	    (words.kernel || words.declared || optind < argc)) {
		sonde_complain("list: --contexts are of all events: leave the "
			       "rest out");
		return SONDE_EXIT_USAGE;
	}
	if (words.contexts)
		return sonde_list_contexts(words.json);
	if (words.kernel)
		return sonde_list_kernel(argc - optind, argv + optind,
					 words.json);
	if (optind == argc && sonde_newest(false, newest))
		return list_all(1, (char *[]){ newest }, words.json,
				words.declared);
	if (optind == argc) {
		sonde_complain("list: which program, library or trace? "
			       "'sonde list --help' says more");
		return SONDE_EXIT_USAGE;
	}
	return list_all(argc - optind, argv + optind, words.json,
			words.declared);
}

const struct sonde_command sonde_command_list = {
	.name = "list",
	.run = run,
	.brief = "PROGRAM|DIR|-k",
	.does = "what events there are",
	.usage = usage,
	.options = options,
	.notes = "Exit status: 0, 1 if a file can't be listed, 2 for wrong "
		 "usage.\n",
	.words = SONDE_VALUE_FILE,
};
