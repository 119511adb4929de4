/* SPDX-License-Identifier: MIT */
/*
 * profile.c - how many events of each name, and how long what begins and ends
 * takes (profile.h).
 *
 * A plan says of each event class what it counts for, before the first event; a
 * part has a count for each class and a join for each pair, and merging adds
 * them. An event costs its class's entry in the plan.
 */
#include "analysis/reports/profile.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"
#include "analysis/reports/durations.h"
#include "analysis/reports/join.h"
#include "base/port.h"
#include "reader/reader.h"

#define PAIRS_MAX 2048
#define ROLES_MAX 3
#define USER_PAIR "from --begin to --end"

/* Whose the key is. */
enum space {
	OF_THREAD,
	OF_PROCESS,
};

static const struct rule {
	const char *event;
	const char *pair; /* what it is part of */
	bool begins;
	enum space space;
	const char *field; /* the key, together with the space */
} rules[] = {
	{ "malloc:malloc", "life of a block", true, OF_PROCESS, "ptr" },
	{ "malloc:calloc", "life of a block", true, OF_PROCESS, "ptr" },
	{ "malloc:memalign", "life of a block", true, OF_PROCESS, "ptr" },
	{ "malloc:realloc", "life of a block", true, OF_PROCESS, "ptr" },
	{ "malloc:realloc_begin", "life of a block", false, OF_PROCESS, "old" },
	{ "malloc:free", "life of a block", false, OF_PROCESS, "ptr" },
	{ "lock:mutex_wait", "wait for a mutex", true, OF_THREAD, "mutex" },
	{ "lock:mutex_lock", "wait for a mutex", false, OF_THREAD, "mutex" },
	{ "lock:mutex_lock", "hold a mutex", true, OF_THREAD, "mutex" },
	{ "lock:mutex_unlock", "hold a mutex", false, OF_THREAD, "mutex" },
	{ "lock:rwlock_wait", "wait for a rwlock", true, OF_THREAD, "rwlock" },
	{ "lock:rwlock_lock", "wait for a rwlock", false, OF_THREAD, "rwlock" },
	{ "lock:rwlock_lock", "hold a rwlock", true, OF_THREAD, "rwlock" },
	{ "lock:rwlock_unlock", "hold a rwlock", false, OF_THREAD, "rwlock" },
	{ "lock:cond_wait", "wait for a condition", true, OF_THREAD, "cond" },
	{ "lock:cond_wake", "wait for a condition", false, OF_THREAD, "cond" },
};

/* The parts of a name that say so; the rest is what the pair is called. */
static const struct {
	const char *part;
	bool begins;
} marks[] = {
	{ "_entry", true },
	{ "_exit", false },
	{ "_begin", true },
	{ "_end", false },
};

/* What events of a class begin and end. */
struct binding {
	size_t nr_roles;
	struct role {
		size_t pair;
		bool begins;
		bool has_field;
		enum space space;
		struct sonde_field field;
	} roles[ROLES_MAX];
	bool user_begins, user_ends; /* can be what the user says */
};

struct plan {
	const struct sonde_analysis_args *args;
	bool is_kernel; /* names say too little: see profile_kernel.h */
	size_t nr_classes;
	struct binding *bindings;
	size_t nr_pairs;
	char (*titles)[SONDE_PROFILE_TITLE];
	struct sonde_durations_config user;
	struct sonde_lost lost;
};

/* ---- the plan ---- */

/* The pair of that name, a new one if need be; PAIRS_MAX: too many. */
static size_t profile_find_pair(struct plan *plan, const char *title)
{
	size_t i = 0;

	while (i < plan->nr_pairs && strcmp(plan->titles[i], title) != 0)
		i++;
	if (i < plan->nr_pairs || i == PAIRS_MAX)
		return i;
	(void)snprintf(plan->titles[plan->nr_pairs++], SONDE_PROFILE_TITLE,
		       "%s", title);
	return i;
}

static struct role *profile_add_role(struct plan *plan, struct binding *binding,
				     const char *title, bool begins)
{
	size_t pair = profile_find_pair(plan, title);
	struct role *role = &binding->roles[binding->nr_roles];

	if (pair == PAIRS_MAX || binding->nr_roles == ROLES_MAX)
		return NULL;
	binding->nr_roles++;
	role->pair = pair;
	role->begins = begins;
	return role;
}

static void bind_rule(struct plan *plan, struct binding *binding,
		      const struct rule *rule,
		      const struct sonde_event_class *cls)
{
	struct sonde_field field;
	struct role *role;

	if (sonde_event_class_field(cls, SONDE_SCOPE_PAYLOAD, rule->field,
				    &field))
		return;
	role = profile_add_role(plan, binding, rule->pair, rule->begins);
	if (!role)
		return;
	role->space = rule->space;
	role->has_field = true;
	role->field = field;
}

static void bind_name(struct plan *plan, struct binding *binding,
		      const char *name)
{
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(marks); i++) {
		const char *part = strstr(name, marks[i].part);
		const char *rest = part ? part + strlen(marks[i].part) : NULL;
		char title[SONDE_PROFILE_TITLE];

		/* A whole word of the name. */
		if (!part || part == name || (*rest && *rest != '_'))
			continue;
		(void)snprintf(title, sizeof(title), "%.*s%s",
			       (int)(part - name), name, rest);
		(void)profile_add_role(plan, binding, title, marks[i].begins);
		return;
	}
}

static void profile_bind_class(struct plan *plan,
			       const struct sonde_event_class *cls)
{
	struct binding *binding = &plan->bindings[cls->info.index];
	const struct sonde_analysis_args *args = plan->args;

	for (size_t i = 0; i < SONDE_ARRAY_SIZE(rules); i++)
		if (!strcmp(rules[i].event, cls->info.name))
			bind_rule(plan, binding, &rules[i], cls);
	if (!binding->nr_roles && !plan->is_kernel)
		bind_name(plan, binding, cls->info.name);
	if (!args->begin || !args->end)
		return;
	binding->user_begins = sonde_filter_wants(args->begin, cls);
	binding->user_ends = sonde_filter_wants(args->end, cls);
}

/* Reads where events that begin or end activities were lost. */
static int profile_read_lost(struct plan *plan)
{
	uint8_t *wanted = calloc(plan->nr_classes + 1, 1);
	int err;

	if (!wanted)
		return -ENOMEM;
	for (size_t i = 0; i < plan->nr_classes; i++) {
		const struct binding *binding = &plan->bindings[i];

		wanted[i] = binding->nr_roles || binding->user_begins ||
			    binding->user_ends;
	}
	err = sonde_lost_read(&plan->lost, plan->args->trace, wanted);
	free(wanted);
	return err;
}

static int make_plan(struct plan *plan, const struct sonde_analysis_args *args)
{
	const struct sonde_trace *trace = args->trace;

	*plan = (struct plan){ .args = args };
	plan->nr_classes = trace->nr_classes;
	plan->is_kernel = sonde_analysis_has(trace, "kernel");
	plan->user.key = args->key;
	plan->user.by_thread = true;
	plan->bindings = calloc(trace->nr_classes + 1, sizeof(*plan->bindings));
	plan->titles = calloc(PAIRS_MAX, sizeof(*plan->titles));
	if (!plan->bindings || !plan->titles)
		return -ENOMEM;
	(void)profile_find_pair(plan, USER_PAIR);
	for (size_t i = 0; i < trace->nr_classes; i++)
		profile_bind_class(plan, trace->classes[i]);
	return profile_read_lost(plan);
}

/* ---- parts ---- */

struct part {
	const struct plan *plan;
	uint64_t *counts;         /* by event class */
	struct sonde_join *joins; /* by pair */
};

static int part_begin(void *memory, const void *config, bool first)
{
	struct part *part = memory;

	part->plan = config;
	part->counts =
		calloc(part->plan->nr_classes + 1, sizeof(*part->counts));
	part->joins = calloc(part->plan->nr_pairs, sizeof(*part->joins));
	if (!part->counts || !part->joins)
		return -ENOMEM;
	for (size_t i = 0; i < part->plan->nr_pairs; i++) {
		sonde_join_init(&part->joins[i], first);
		part->joins[i].lost = &part->plan->lost;
	}
	return 0;
}

static void part_fini(void *memory)
{
	struct part *part = memory;

	for (size_t i = 0; part->joins && i < part->plan->nr_pairs; i++)
		sonde_join_fini(&part->joins[i]);
	free(part->joins);
	free(part->counts);
}

/* False if the event can't be told from others: its thread is unknown, which is
 * counted, or its key is a null pointer, which is no block. */
static bool key_of(const struct role *role, const struct sonde_event *event,
		   struct sonde_join *join, struct sonde_key *ret_key)
{
	struct sonde_value value = { .u = 0 };
	int32_t owner = role->space == OF_PROCESS ? sonde_event_pid(event) :
						    sonde_event_tid(event);

	if (role->has_field &&
	    (sonde_event_value(event, &role->field, &value) || !value.u))
		return false;
	*ret_key = sonde_key_make(SONDE_KEY_HEX, value.u, (uint32_t)owner);
	if (owner >= 0 || role->space == OF_PROCESS)
		return true;
	join->keyless++;
	return false;
}

static int replay(struct sonde_join *join, bool begins,
		  const struct sonde_key *key, const struct sonde_event *event)
{
	return begins ? sonde_join_begin(join, key, event->time_ns,
					 sonde_event_tid(event)) :
			sonde_join_end(join, key, event->time_ns,
				       sonde_event_tid(event));
}

/* What the user says begins and ends. */
static int play_user(struct part *part, const struct binding *binding,
		     const struct sonde_event *event)
{
	const struct sonde_analysis_args *args = part->plan->args;
	bool ends = binding->user_ends && sonde_filter_match(args->end, event);
	bool begins =
		binding->user_begins && sonde_filter_match(args->begin, event);
	struct sonde_key key;
	int err = 0;

	if (!ends && !begins)
		return 0;
	if (sonde_durations_key(&part->plan->user, event, &key)) {
		part->joins[0].keyless++;
		return 0;
	}
	if (ends)
		err = replay(&part->joins[0], false, &key, event);
	if (!err && begins)
		err = replay(&part->joins[0], true, &key, event);
	return err;
}

static int part_event(void *memory, const struct sonde_event *event)
{
	struct part *part = memory;
	size_t index = event->cls->info.index;
	const struct binding *binding = &part->plan->bindings[index];
	int err = 0;

	part->counts[index]++;
	for (size_t i = 0; !err && i < binding->nr_roles; i++) {
		const struct role *role = &binding->roles[i];
		struct sonde_key key;

		if (key_of(role, event, &part->joins[role->pair], &key))
			err = replay(&part->joins[role->pair], role->begins,
				     &key, event);
	}
	if (!err && (binding->user_begins || binding->user_ends))
		err = play_user(part, binding, event);
	return err;
}

static int part_merge(void *whole, void *memory)
{
	struct part *left = whole;
	struct part *right = memory;
	int err = 0;

	for (size_t i = 0; i < left->plan->nr_classes; i++)
		left->counts[i] += right->counts[i];
	for (size_t i = 0; !err && i < left->plan->nr_pairs; i++)
		err = sonde_join_merge(&left->joins[i], &right->joins[i]);
	return err;
}

static const struct sonde_map_ops ops = SONDE_MAP_OPS(
	struct part, part_begin, part_event, part_merge, part_fini);

/* ---- the outcome ---- */

static int fill_names(struct sonde_profile *profile, const struct part *part,
		      const struct sonde_trace *trace)
{
	for (size_t i = 0; i < trace->nr_classes; i++) {
		const char *text = trace->classes[i]->info.name;
		const struct sonde_key key =
			sonde_key_of_text(text, strlen(text));
		struct sonde_profile_name *name;

		if (!part->counts[i])
			continue;
		name = sonde_hash_put(&profile->names, &key);
		if (!name)
			return -ENOMEM;
		name->count += part->counts[i];
		profile->events += part->counts[i];
	}
	return 0;
}

int sonde_profile_add(struct sonde_profile *profile, const char *name,
		      const struct sonde_histogram *durations)
{
	const struct sonde_key key = sonde_key_of_text(name, strlen(name));
	struct sonde_profile_pair *pair;

	if (!durations->count)
		return 0;
	pair = sonde_hash_put(&profile->pairs, &key);
	return pair ? sonde_histogram_merge(&pair->durations, durations) :
		      -ENOMEM;
}

static int fill_pairs(struct sonde_profile *profile, const struct part *part)
{
	int err = 0;

	for (size_t i = 0; !err && i < part->plan->nr_pairs; i++) {
		profile->keyless += part->joins[i].keyless;
		profile->across += part->joins[i].across;
		err = sonde_profile_add(profile, part->plan->titles[i],
					&part->joins[i].durations);
	}
	return err;
}

int sonde_profile_make(const struct sonde_analysis_args *args,
		       struct sonde_profile *ret_profile)
{
	struct part whole = { 0 };
	struct plan plan;
	int err = make_plan(&plan, args);

	*ret_profile = (struct sonde_profile){ 0 };
	ret_profile->seconds = sonde_analysis_seconds(args);
	sonde_hash_init(&ret_profile->names, sizeof(struct sonde_profile_name),
			SIZE_MAX);
	sonde_hash_init(&ret_profile->pairs, sizeof(struct sonde_profile_pair),
			SIZE_MAX);
	if (!err)
		err = sonde_map(args->trace, &args->map, &ops, &plan, &whole);
	if (!err)
		err = fill_names(ret_profile, &whole, args->trace);
	if (!err)
		err = fill_pairs(ret_profile, &whole);
	part_fini(&whole);
	free(plan.bindings);
	free(plan.titles);
	sonde_lost_fini(&plan.lost);
	return err;
}

void sonde_profile_fini(struct sonde_profile *profile)
{
	struct sonde_profile_pair *pair = NULL;

	while ((pair = sonde_hash_next(&profile->pairs, pair)))
		sonde_histogram_fini(&pair->durations);
	sonde_hash_fini(&profile->names);
	sonde_hash_fini(&profile->pairs);
}
