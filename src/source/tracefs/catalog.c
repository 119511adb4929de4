/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * catalog.c - which events of tracefs were selected, and their formats
 * (catalog.h).
 *
 * A format is read of a selected event only. An event is switched on with its
 * group if the whole group is selected, else by itself; one that can't be had
 * is told, and dropped.
 */
#include "source/tracefs/catalog.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "source/names.h"
#include "source/syscalls.h"
#include "sys/dir.h"
#include "types/desc.h"

/* Ids in the trace go up to here (ring/layout.h). */
#define EVENTS_MAX (SONDE_LARGE_ESCAPE - SONDE_SOURCE_FIRST_ID)
/* What is read of a format at once; the fields are in the first part. */
#define FORMAT_BYTES 16384u

/* One search. */
struct finder {
	int events; /* the directory */
	const struct sonde_source_config *config;
	struct sonde_catalog *catalog;
	struct sonde_source_error *error;
	uint32_t *room; /* SONDE_DESC_MAX bytes */
	struct sonde_format *format;
};

/* An event that is being looked at. */
struct candidate {
	struct sonde_tracefs_plan_event event;
	const char *ask_group; /* by which rules and other sources know it */
	const char *ask_name;
	const struct sonde_source_rule *rule;
	char shown[SONDE_FORMAT_NAME + 32];
};

/* ---- formats ---- */

/* The part with the fields: up to the print format, which may be long. */
static int read_fields(int dir, const char *path, char *text, size_t size,
		       size_t *ret_size)
{
	int fd = openat(dir, path, O_RDONLY | O_CLOEXEC);
	size_t used = 0;
	int rc = 0;

	*ret_size = 0;
	if (fd < 0)
		return -errno;
	while (used < size) {
		ssize_t n = read(fd, text + used, size - used);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			rc = -errno;
		if (n <= 0)
			break;
		used += (size_t)n;
		if (memmem(text, used, "\nprint fmt:", 11))
			break;
	}
	close(fd);
	*ret_size = used;
	return rc;
}

static int read_format(const struct finder *finder, const char *group,
		       const char *name)
{
	char path[2 * NAME_MAX + 16];
	char text[FORMAT_BYTES];
	size_t size;
	int rc;

	(void)snprintf(path, sizeof(path), "%s/%s/format", group, name);
	rc = read_fields(finder->events, path, text, sizeof(text), &size);
	return rc ? rc : sonde_format_parse(text, size, finder->format);
}

/* ---- conditions ---- */

/* `fields` borrow names from the format, so this comes right after it. */
static int add_condition(const struct finder *finder,
			 struct sonde_catalog_event *event,
			 const struct sonde_tracefs_plan_fields *fields)
{
	const char *text = event->rule->condition;
	char filter[SONDE_TRACEFS_FILTER_MAX];
	char why[200];
	int rc = sonde_condition_new(event->desc, text, why, sizeof(why),
				     &event->condition);

	if (rc == -EINVAL)
		return sonde_source_fail(finder->error, rc, "%s if %s: %s",
					 event->rule->text, text, why);
	if (rc)
		return rc;
	rc = sonde_tracefs_filter(event->desc, text, fields->fields, fields->nr,
				  filter, sizeof(filter));
	if (rc < 0)
		return rc == -ENOMEM ? rc : 0;
	event->is_filter_exact = !rc;
	event->filter =
		sonde_pool_text(&finder->catalog->pool, filter, strlen(filter));
	return event->filter ? 0 : -ENOMEM;
}

/* ---- adding ---- */

static bool is_for_all(const struct sonde_tracefs_plan_event *event)
{
	return !strcmp(event->group, "sched") &&
	       (!strcmp(event->name, "sched_switch") ||
		!strncmp(event->name, "sched_wak", 9));
}

static void *keep(struct sonde_pool *pool, const void *bytes, size_t size)
{
	void *copy = sonde_pool_get(pool, 1, size);

	return copy ? memcpy(copy, bytes, size) : NULL;
}

static const char *keep_text(struct sonde_pool *pool, const char *text)
{
	return sonde_pool_text(pool, text, strlen(text));
}

static struct sonde_catalog_event *new_event(struct sonde_catalog *catalog)
{
	struct sonde_catalog_event *events =
		sonde_pool_grow(&catalog->pool, catalog->events, catalog->nr,
				&catalog->capacity, sizeof(*events));

	if (!events)
		return NULL;
	catalog->events = events;
	return &events[catalog->nr];
}

/* Whether the rule speaks of this event, not of a group or all that are called
 * so. */
static bool is_exact(const struct sonde_source_rule *rule, const char *group)
{
	if (rule->kind != SONDE_RULE_EVENT)
		return true;
	if (!rule->group && !strcmp(rule->name, group))
		return false;
	return !strpbrk(rule->name, "*?[") &&
	       !(rule->group && strpbrk(rule->group, "*?["));
}

/* A format that is read and makes sense. */
static int add_known(const struct finder *finder, const struct candidate *from,
		     const struct sonde_tracefs_plan *plan,
		     const struct sonde_tracefs_plan_fields *fields)
{
	struct sonde_catalog *catalog = finder->catalog;
	struct sonde_pool *pool = &catalog->pool;
	const struct sonde_desc *desc = (const void *)finder->room;
	struct sonde_catalog_event *event = new_event(catalog);

	if (!event)
		return -ENOMEM;
	*event = (struct sonde_catalog_event){
		.group = catalog->groups[catalog->nr_groups - 1].name,
		.name = keep_text(pool, from->event.name),
		.is_named = is_exact(from->rule, from->ask_group),
		.rule = from->rule,
		.desc = keep(pool, desc, sonde_desc_size(desc)),
		.plan = keep(pool, plan, sizeof(*plan)),
		.is_for_all = is_for_all(&from->event),
		.kernel_id = (uint16_t)finder->format->id,
	};
	if (!event->name || !event->desc || !event->plan)
		return -ENOMEM;
	catalog->nr++;
	catalog->groups[catalog->nr_groups - 1].nr_ours++;
	return from->rule->condition ? add_condition(finder, event, fields) : 0;
}

/*
 * A selected event. One that can't be recorded (gone meanwhile, or a format
 * that isn't one) is the user's concern only if he named it.
 */
static int add(const struct finder *finder, const struct candidate *candidate)
{
	struct sonde_tracefs_plan plan;
	struct sonde_tracefs_plan_fields fields;
	int rc = 0;

	if (finder->catalog->nr == EVENTS_MAX)
		return sonde_source_fail(finder->error, -E2BIG,
					 "more than %u events are selected",
					 EVENTS_MAX);
	rc = read_format(finder, candidate->event.group, candidate->event.name);
	if (!rc)
		rc = sonde_tracefs_plan_make(&candidate->event, finder->format,
					     finder->room, &plan, &fields);
	if (rc == -EACCES || rc == -EPERM || rc == -EMFILE || rc == -ENFILE ||
	    rc == -ENOMEM)
		return sonde_source_fail(finder->error, rc,
					 "tracefs/events/%s/%s: %s",
					 candidate->event.group,
					 candidate->event.name,
					 strerrordesc_np(-rc));
	if (rc)
		return is_exact(candidate->rule, candidate->ask_group) ?
			       sonde_source_fail(
				       finder->error, -EINVAL,
				       "%s: tracefs/events/%s/%s/format is "
				       "not understood",
				       candidate->rule->text,
				       candidate->event.group,
				       candidate->event.name) :
			       0;
	return add_known(finder, candidate, &plan, &fields);
}

/* ---- looking ---- */

static bool is_wanted(const struct finder *finder, struct candidate *candidate)
{
	const struct sonde_source_config *config = finder->config;

	candidate->event.shown = candidate->shown;
	candidate->rule =
		sonde_source_rules_match(config->rules, candidate->ask_group,
					 candidate->ask_name, candidate->shown);
	return candidate->rule &&
	       !(config->is_taken &&
		 config->is_taken(config->ctx, candidate->ask_group,
				  candidate->ask_name));
}

static int look_at_event(const struct finder *finder, const char *group,
			 const char *name)
{
	struct candidate candidate = {
		.event = { .group = group, .name = name },
		.ask_group = group,
		.ask_name = name,
	};

	(void)snprintf(candidate.shown, sizeof(candidate.shown), "%s",
		       sonde_source_event_name(group, name));
	return is_wanted(finder, &candidate) ? add(finder, &candidate) : 0;
}

/* sys_enter_X or sys_exit_X. */
static int look_at_call(const struct finder *finder, const char *name)
{
	bool is_exit = !strncmp(name, "sys_exit_", 9);
	const char *kernel_name = name + (is_exit ? 9 : 10);
	int nr = sonde_syscall_number(SONDE_SYSCALL_NATIVE, kernel_name);
	const struct sonde_syscall *call =
		nr < 0 ? NULL :
			 sonde_syscall(SONDE_SYSCALL_NATIVE, (uint32_t)nr);
	struct candidate candidate = {
		.event = { .group = "syscalls",
			   .name = name,
			   .call = call,
			   .is_exit = is_exit,
			   .has_strings = finder->config->string_bytes > 0 },
		.ask_group = "syscalls",
		.ask_name = call ? call->name : kernel_name,
	};

	(void)snprintf(candidate.shown, sizeof(candidate.shown),
		       "syscall_%s_%s", is_exit ? "exit" : "entry",
		       candidate.ask_name);
	return is_wanted(finder, &candidate) ? add(finder, &candidate) : 0;
}

static int look_at(const struct finder *finder, const char *group,
		   const char *name)
{
	if (!strcmp(group, "syscalls") && (!strncmp(name, "sys_enter_", 10) ||
					   !strncmp(name, "sys_exit_", 9)))
		return look_at_call(finder, name);
	return look_at_event(finder, group, name);
}

/* The next directory in a directory; NULL at the end. */
static const char *next_dir(DIR *dir)
{
	const struct dirent *entry;

	/* One thread reads, from a stream of its own. */
	/* NOLINTNEXTLINE(concurrency-mt-unsafe) */
	while ((entry = readdir(dir)))
		if (entry->d_name[0] != '.' &&
		    (entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN))
			return entry->d_name;
	return NULL;
}

static int begin_group(struct sonde_catalog *catalog, const char *name)
{
	struct sonde_catalog_group *groups =
		sonde_pool_grow(&catalog->pool, catalog->groups,
				catalog->nr_groups, &catalog->group_capacity,
				sizeof(*groups));

	if (!groups)
		return -ENOMEM;
	catalog->groups = groups;
	groups[catalog->nr_groups] = (struct sonde_catalog_group){
		.name = keep_text(&catalog->pool, name),
		.first = catalog->nr,
	};
	if (!groups[catalog->nr_groups].name)
		return -ENOMEM;
	catalog->nr_groups++;
	return 0;
}

static int look_at_group(const struct finder *finder, const char *group)
{
	struct sonde_catalog *catalog = finder->catalog;
	DIR *dir = sonde_dir_open_at(finder->events, group);
	const char *name;
	int rc;

	if (!dir)
		return errno == ENOTDIR || errno == ENOENT ? 0 : -errno;
	rc = begin_group(catalog, group);
	while (!rc && (name = next_dir(dir))) {
		catalog->groups[catalog->nr_groups - 1].nr++;
		rc = look_at(finder, group, name);
	}
	closedir(dir);
	return rc;
}

static int look_at_all(const struct finder *finder)
{
	DIR *dir = sonde_dir_open_at(finder->events, ".");
	const char *group;
	int rc = 0;

	if (!dir)
		return sonde_source_fail(finder->error, -errno,
					 "tracefs/events: %s",
					 strerrordesc_np(errno));
	while (!rc && (group = next_dir(dir)))
		/* "ftrace" has what can't be switched on; the probes of ours,
		 * and of other recordings, are in sonde_PID. */
		if (strcmp(group, "ftrace") != 0 &&
		    strncmp(group, "sonde_", 6) != 0)
			rc = look_at_group(finder, group);
	closedir(dir);
	return rc;
}

static int add_probes(const struct finder *finder,
		      const struct sonde_tracefs_probes *probes)
{
	int rc = probes->nr ? begin_group(finder->catalog, probes->group) : 0;

	for (uint32_t i = 0; !rc && i < probes->nr; i++) {
		const struct sonde_probe *probe = &probes->probes[i];
		struct candidate candidate = {
			.event = { .group = probes->group,
				   .name = probe->name,
				   .shown = probe->shown,
				   .provider = probe->provider,
				   .is_probe = true },
			.ask_group = probe->provider,
			.ask_name = probe->rule->name,
			.rule = probe->rule,
		};

		finder->catalog->groups[finder->catalog->nr_groups - 1].nr++;
		rc = add(finder, &candidate);
	}
	return rc;
}

/* Whether any rule selects by name; if not, nobody needs to look. */
static bool has_event_rule(const struct sonde_source_rules *rules)
{
	for (uint32_t i = 0; i < rules->nr; i++)
		if (rules->rules[i].kind == SONDE_RULE_EVENT &&
		    !rules->rules[i].is_exclusion)
			return true;
	return false;
}

int sonde_catalog_find(int root, const struct sonde_source_config *config,
		       const struct sonde_tracefs_probes *probes,
		       struct sonde_catalog *catalog,
		       struct sonde_source_error *error)
{
	struct finder finder = {
		.config = config,
		.catalog = catalog,
		.error = error,
	};
	int rc = 0;

	*catalog = (struct sonde_catalog){ .nr = 0 };
	sonde_pool_init(&catalog->pool, 0);
	finder.events =
		openat(root, "events", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (finder.events < 0)
		return sonde_source_fail(error, -errno, "tracefs/events: %s",
					 strerrordesc_np(errno));
	finder.room = malloc(SONDE_DESC_MAX);
	finder.format = malloc(sizeof(*finder.format));
	if (!finder.room || !finder.format)
		rc = -ENOMEM;
	if (!rc && has_event_rule(config->rules))
		rc = look_at_all(&finder);
	if (!rc)
		rc = add_probes(&finder, probes);
	free(finder.format);
	free(finder.room);
	close(finder.events);
	if (rc == -ENOMEM)
		return sonde_source_fail(error, rc, "tracefs: no memory");
	return rc || catalog->nr ? rc : -ENODATA;
}

/* ---- switching on ---- */

/* A kernel that refuses the filter leaves all to the consumer. */
static void set_filter(const struct sonde_instance *instance,
		       struct sonde_catalog_event *event)
{
	char path[2 * NAME_MAX + 32];

	if (!event->filter)
		return;
	(void)snprintf(path, sizeof(path), "events/%s/%s/filter", event->group,
		       event->name);
	if (sonde_tracefs_write(instance->fd, path, event->filter))
		event->is_filter_exact = false;
}

static int enable_event(const struct sonde_instance *instance,
			const struct sonde_catalog_event *event)
{
	char text[2 * NAME_MAX + 8];

	(void)snprintf(text, sizeof(text), "%s:%s\n", event->group,
		       event->name);
	return sonde_tracefs_write(instance->fd, "set_event", text);
}

static bool enable_group(const struct sonde_instance *instance,
			 const struct sonde_catalog_group *group)
{
	char path[NAME_MAX + 32];

	if (group->nr_ours != group->nr)
		return false;
	(void)snprintf(path, sizeof(path), "events/%s/enable", group->name);
	return !sonde_tracefs_write(instance->fd, path, "1");
}

/* Marks an event that can't be had, by taking its name; the others go on. */
static int enable_one_by_one(struct sonde_catalog *catalog,
			     const struct sonde_catalog_group *group,
			     const struct sonde_instance *instance,
			     struct sonde_source_error *error)
{
	for (uint32_t i = 0; i < group->nr_ours; i++) {
		struct sonde_catalog_event *event =
			&catalog->events[group->first + i];
		int rc = enable_event(instance, event);

		if (!rc)
			continue;
		if (event->is_named)
			return sonde_source_fail(
				error, rc,
				"%s: the kernel can't switch %s:%s on: %s",
				event->rule->text, event->group, event->name,
				strerrordesc_np(-rc));
		event->name = NULL;
	}
	return 0;
}

static void drop_unnamed(struct sonde_catalog *catalog)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < catalog->nr; i++) {
		if (catalog->events[i].name)
			catalog->events[nr++] = catalog->events[i];
		else
			sonde_condition_free(catalog->events[i].condition);
	}
	catalog->nr = nr;
	/* Their ranges don't hold any more. */
	catalog->nr_groups = 0;
}

int sonde_catalog_enable(struct sonde_catalog *catalog,
			 const struct sonde_instance *instance,
			 struct sonde_source_error *error)
{
	int rc = 0;

	for (uint32_t i = 0; i < catalog->nr; i++)
		set_filter(instance, &catalog->events[i]);
	for (uint32_t i = 0; !rc && i < catalog->nr_groups; i++) {
		const struct sonde_catalog_group *group = &catalog->groups[i];

		if (group->nr_ours && !enable_group(instance, group))
			rc = enable_one_by_one(catalog, group, instance, error);
	}
	drop_unnamed(catalog);
	return rc || catalog->nr ? rc : -ENODATA;
}

/* ---- the rest ---- */

void sonde_catalog_fini(struct sonde_catalog *catalog)
{
	for (uint32_t i = 0; i < catalog->nr; i++)
		sonde_condition_free(catalog->events[i].condition);
	catalog->nr = 0;
	sonde_pool_fini(&catalog->pool);
}
