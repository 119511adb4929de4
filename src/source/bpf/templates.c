/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * templates.c - tracepoints for which no program was written: a template each.
 *
 * Which there are, and of which group, tracefs says; what a tracepoint's
 * arguments are, the kernel's BTF (source/prototype.h). Integers are recorded as
 * they are, tasks as comm and tid, char pointers as strings, other pointers as
 * addresses.
 *
 * All that are wanted are listed first; then an extract of the kernel's types is
 * made that has theirs, which takes a tenth of the time of an index of all.
 *
 * BTF is checked by whoever loads it; what is missing in it, or of a form that
 * isn't known here, is an error that says so.
 */
#include "source/bpf/bpf_source.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "base/port.h"
#include "source/names.h"
#include "source/prototype.h"
#include "sys/btf.h"
#include "sys/btf_extract.h"
#include "types/build.h"

#define EVENTS_FILE "/sys/kernel/tracing/available_events"

/* An argument, as a template records it. */
struct arg {
	uint32_t kind; /* enum sonde_bpf_any_kind; 0: not recorded */
	uint32_t bytes;
	uint32_t flags; /* SONDE_FIELD_* */
	const char *name;
};

struct prototype {
	uint32_t nr;
	struct arg args[SONDE_BPF_ANY_ARGS];
	struct sonde_prototype of;
};

static bool is_task(const struct btf *btf, uint32_t id)
{
	const struct btf_type *type = btf__type_by_id(btf, id);
	const char *name =
		type ? btf__name_by_offset(btf, type->name_off) : NULL;

	return name && !strcmp(name, "task_struct");
}

static void plan_arg(const struct btf *btf,
		     const struct sonde_prototype_arg *from, struct arg *arg)
{
	*arg = (struct arg){ .kind = from->bytes,
			     .bytes = from->bytes,
			     .flags = from->flags,
			     .name = from->name };
	if (from->kind == SONDE_PROTOTYPE_STRING) {
		arg->kind = SONDE_BPF_ANY_STRING;
		arg->bytes = SONDE_BPF_ANY_TEXT;
	} else if (from->kind == SONDE_PROTOTYPE_STRUCT &&
		   is_task(btf, from->type)) {
		arg->kind = SONDE_BPF_ANY_TASK;
		arg->bytes = 20;
	} else if (from->kind == SONDE_PROTOTYPE_POINTER) {
		arg->kind = SONDE_BPF_ANY_ADDRESS;
	} else if (from->kind == SONDE_PROTOTYPE_OTHER) {
		/* A program may not read it: a function, say. */
		arg->kind = 0;
		arg->bytes = 0;
	}
}

/* False if it has none, or one that can't be recorded. */
static bool find_prototype(const struct btf *btf,
			   const struct sonde_types *types, const char *name,
			   struct prototype *ret)
{
	uint32_t bytes = 0;

	_Static_assert(SONDE_PROTOTYPE_ARGS == SONDE_BPF_ANY_ARGS, "one limit");
	if (!sonde_types_tracepoint(types, name, &ret->of))
		return false;
	ret->nr = ret->of.nr;
	for (uint32_t i = 0; i < ret->nr; i++) {
		/* The templates' own limit: a string must fit at the end. */
		if (bytes > SONDE_BPF_ANY_BYTES - SONDE_BPF_ANY_TEXT)
			return false;
		plan_arg(btf, &ret->of.args[i], &ret->args[i]);
		bytes += ret->args[i].bytes;
	}
	return true;
}

/* ---- descriptions ---- */

static int describe(const char *group, const char *name,
		    const struct prototype *p, void *room)
{
	struct sonde_build build;

	sonde_build_begin(&build, room, group,
			  sonde_source_event_name(group, name), SONDE_INFO);
	for (uint32_t i = 0; i < p->nr; i++) {
		const struct arg *arg = &p->args[i];
		char text[SONDE_SOURCE_NAME_MAX + 8];

		if (!arg->kind)
			continue;
		if (arg->kind == SONDE_BPF_ANY_STRING) {
			sonde_build_string(&build, arg->name);
		} else if (arg->kind == SONDE_BPF_ANY_TASK) {
			(void)snprintf(text, sizeof(text), "%s_comm",
				       arg->name);
			sonde_build_text(&build, text, 16);
			(void)snprintf(text, sizeof(text), "%s_tid", arg->name);
			sonde_build_int(&build, text, 32, SONDE_FIELD_SIGNED);
		} else {
			sonde_build_int(&build, arg->name,
					(uint8_t)(8 * arg->bytes), arg->flags);
		}
	}
	return sonde_build_end(&build);
}

/* ---- selection ---- */

struct search {
	struct bpf_source *source;
	const struct sonde_source_rule *rules[SONDE_BPF_ANY_NR];
	struct btf *btf; /* an extract */
	struct sonde_types *types;
	struct sonde_source_error *error;
	void *room;
};

static int list_one(void *ctx, const struct sonde_source_rule *rule,
		    const char *group, const char *name)
{
	struct search *s = ctx;
	struct bpf_source *source = s->source;
	struct bpf_any *any;

	if (source->nr_anys == SONDE_BPF_ANY_NR)
		return sonde_source_fail(
			s->error, -E2BIG,
			"BPF: %s:%s is one event too many (%u of those for "
			"which no program was written); "
			"'--kernel-source tracefs' has no such limit",
			group, name, SONDE_BPF_ANY_NR);
	any = &source->anys[source->nr_anys];
	s->rules[source->nr_anys] = rule;
	/* What is there is freed with the source, whatever it lacks. */
	source->nr_anys++;
	any->group = strdup(group);
	any->name = strdup(name);
	return any->group && any->name ? 0 : -ENOMEM;
}

/* ---- their types ---- */

#define NAME_MAX_  (SONDE_PROTOTYPE_PREFIX + SONDE_SOURCE_NAME_MAX)
#define NAMES_EACH SONDE_PROTOTYPE_PREFIXES

struct type_names {
	char text[SONDE_BPF_ANY_NR * NAMES_EACH][NAME_MAX_];
	const char *at[SONDE_BPF_ANY_NR * NAMES_EACH];
};

static void name_types(const struct bpf_source *source,
		       struct type_names *names)
{
	for (uint32_t i = 0; i < source->nr_anys * NAMES_EACH; i++) {
		(void)snprintf(names->text[i], NAME_MAX_, "%s%s",
			       sonde_prototype_prefixes[i % NAMES_EACH],
			       source->anys[i / NAMES_EACH].name);
		names->at[i] = names->text[i];
	}
}

static int load_types(struct search *s)
{
	struct type_names *names;
	uint8_t *bytes = NULL;
	size_t size = 0;
	int rc = bpf_object_types(s->source, s->error);

	if (rc)
		return rc;
	names = malloc(sizeof(*names));
	if (!names)
		return -ENOMEM;
	name_types(s->source, names);
	rc = sonde_btf_extract_calls(&s->source->btf, names->at,
				     s->source->nr_anys * NAMES_EACH, &bytes,
				     &size);
	free(names);
	if (rc)
		return sonde_source_fail(s->error, rc,
					 "BPF: the kernel's types: %s",
					 strerrordesc_np(-rc));
	s->btf = btf__new(bytes, (uint32_t)size);
	free(bytes);
	return s->btf ? sonde_types_new(s->btf, &s->types) : -errno;
}

static int fill_any(struct search *s, uint32_t index)
{
	struct bpf_source *source = s->source;
	struct bpf_any *any = &source->anys[index];
	struct prototype p;
	uint16_t id;
	struct bpf_test test;
	int rc;

	if (!find_prototype(s->btf, s->types, any->name, &p))
		return sonde_source_fail(s->error, -EOPNOTSUPP,
					 "BPF: %s:%s has arguments that a BPF "
					 "program can't record; "
					 "'--kernel-source tracefs' can",
					 any->group, any->name);
	rc = describe(any->group, any->name, &p, s->room);
	if (rc)
		return sonde_source_fail(s->error, rc, "%s: no description",
					 any->name);
	rc = bpf_events_condition(source, s->room, s->rules[index],
				  SONDE_BPF_ANY_BYTES, &test, s->error);
	if (!rc)
		rc = bpf_events_add(source, any->group, any->name, s->room,
				    &test, &id);
	if (rc)
		return rc;
	any->consts[SONDE_BPF_ANY_ID] = id;
	any->consts[SONDE_BPF_ANY_COND] = test.cond;
	for (uint32_t i = 0; i < p.nr; i++)
		any->consts[SONDE_BPF_ANY_ARG + i] = p.args[i].kind;
	return 0;
}

int bpf_any_select(struct bpf_source *source, void *room,
		   struct sonde_source_error *error)
{
	struct search s = { .source = source, .error = error, .room = room };
	int rc = sonde_source_each_template(EVENTS_FILE, &source->config,
					    list_one, &s);

	if (!rc && source->nr_anys)
		rc = load_types(&s);
	for (uint32_t i = 0; !rc && i < source->nr_anys; i++)
		rc = fill_any(&s, i);
	sonde_types_free(s.types);
	btf__free(s.btf);
	return rc;
}

void bpf_any_free(struct bpf_source *source)
{
	for (uint32_t i = 0; i < source->nr_anys; i++) {
		free(source->anys[i].group);
		free(source->anys[i].name);
	}
	source->nr_anys = 0;
}
