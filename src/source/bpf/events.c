/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * events.c - which events are selected, and what the programs must know to
 * write them: the constants (enum sonde_bpf_const) and the plans of system
 * calls. What they look like is in source/payloads.h and source/syscalls.h.
 */
#include "source/bpf/bpf_source.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/port.h"
#include "source/condition.h"
#include "source/names.h"
#include "source/payloads.h"
#include "source/syscalls.h"
#include "sys/btf.h"
#include "types/build.h"

/* Texts of a record together, in strings; and what must be left of a
 * sub-buffer for all else. */
#define STRINGS_OF_A_RECORD 8u
#define BUFFERS_OF_A_RECORD 4u
#define SUBBUF_REST         512u

/* ---- the list ---- */

int bpf_events_add(struct bpf_source *source, const char *group,
		   const char *name, const struct sonde_desc *desc,
		   const struct bpf_test *test, uint16_t *ret_id)
{
	struct bpf_event *event;
	int rc;

	if (source->nr_events + SONDE_SOURCE_FIRST_ID >= SONDE_LARGE_ESCAPE)
		return -E2BIG;
	if (SONDE_GROW(source->events, source->nr_events, source->room_events))
		return -ENOMEM;
	event = &source->events[source->nr_events];
	*event = (struct bpf_event){ .group = group, .name = name };
	event->desc = malloc(desc->size);
	if (!event->desc)
		return -ENOMEM;
	memcpy(event->desc, desc, desc->size);
	rc = bpf_late_add(source, event, test->late);
	*ret_id = (uint16_t)(source->nr_events++ + SONDE_SOURCE_FIRST_ID);
	return rc;
}

void bpf_events_free(struct bpf_source *source)
{
	for (uint32_t i = 0; i < source->nr_events; i++) {
		sonde_condition_free(source->events[i].late);
		free(source->events[i].desc);
	}
	free(source->events);
	free(source->by_name);
	free(source->plans);
	bpf_any_free(source);
	bpf_probes_free(source);
	bpf_kprobes_free(source);
	source->events = NULL;
	source->by_name = NULL;
	source->plans = NULL;
	source->nr_events = 0;
}

int bpf_events_condition(struct bpf_source *source,
			 const struct sonde_desc *desc,
			 const struct sonde_source_rule *rule, uint32_t bytes,
			 struct bpf_test *ret_test,
			 struct sonde_source_error *error)
{
	int rc;

	*ret_test = (struct bpf_test){ .late = NULL };
	if (!rule->condition)
		return 0;
	rc = bpf_condition_add(source, desc, rule->condition, bytes,
			       &ret_test->cond, error);
	if (!rc)
		source->needs_spares = true;
	if (rc != -EOPNOTSUPP && rc != -E2BIG)
		return rc;
	ret_test->late = rule->condition;
	return 0;
}

/* ---- tracepoints ---- */

/* 1 or 0, or -errno: whether this kernel has its tracepoint. */
static int has_tracepoint(struct bpf_source *source,
			  const struct sonde_payload *form,
			  struct sonde_source_error *error)
{
	char name[SONDE_SOURCE_NAME_MAX];
	struct sonde_btf_wanted wanted = { .kind = BTF_KIND_TYPEDEF,
					   .name = name };
	int rc;

	if (!sonde_payload_is_of_sockets(form))
		return 1;
	rc = bpf_object_types(source, error);
	if (rc)
		return rc;
	(void)snprintf(name, sizeof(name), "btf_trace_%s", form->name);
	sonde_btf_find(&source->btf, &wanted, 1);
	return wanted.id != 0;
}

static int select_event(struct bpf_source *source, uint32_t i, void *room,
			struct sonde_source_error *error)
{
	const struct sonde_payload *form = &sonde_payloads[i];
	const struct sonde_source_rule *rule = sonde_source_selected(
		&source->config, form->group, form->name,
		sonde_source_event_name(form->group, form->name));
	struct bpf_test test;
	uint16_t id = 0;
	int rc;

	if (!rule || !sonde_payload_is_here(form))
		return 0;
	rc = has_tracepoint(source, form, error);
	if (rc <= 0)
		return rc;
	rc = sonde_payload_describe(form, room);
	if (rc)
		return sonde_source_fail(error, rc, "%s: no description",
					 form->name);
	rc = bpf_events_condition(source, room, rule, form->bytes, &test,
				  error);
	if (rc)
		return rc;
	rc = bpf_events_add(source, form->group, form->name, room, &test, &id);
	source->consts[SONDE_BPF_ID + i] = id;
	source->consts[SONDE_BPF_COND + i] = test.cond;
	return rc;
}

/* ---- system calls ---- */

/* The argument's bytes among the numbers; 0: it follows them. */
static uint32_t number_size(const struct sonde_syscall_arg *arg, bool is_exit,
			    const struct sonde_syscall_form *form)
{
	if (is_exit || arg->kind == SONDE_ARG_NONE ||
	    ((arg->kind == SONDE_ARG_STRING ||
	      arg->kind == SONDE_ARG_STRINGS) &&
	     form->has_strings) ||
	    (arg->kind == SONDE_ARG_BUFFER && form->has_buffers))
		return 0;
	if (arg->kind == SONDE_ARG_INT || arg->kind == SONDE_ARG_UINT)
		return 4;
	return arg->kind == SONDE_ARG_LONG ? 8 | 1 : 8;
}

/* Arguments of one kind, in their order, at the end of the list of items. */
static void plan_items(struct sonde_bpf_plan *plan, uint32_t *nr,
		       const struct sonde_syscall *call,
		       enum sonde_arg_kind kind, enum sonde_bpf_item item)
{
	for (uint32_t i = 0; i < SONDE_SYSCALL_ARGS; i++) {
		if (call->args[i].kind != kind)
			continue;
		plan->item[*nr].kind = (uint8_t)item;
		plan->item[*nr].arg_and_length =
			(uint8_t)(i | call->args[i].length << 4);
		++*nr;
	}
}

/* All but its id and condition. Returns the bytes before the first item. */
static uint32_t plan_call(struct sonde_bpf_plan *plan,
			  const struct sonde_syscall *call, bool is_exit,
			  const struct sonde_syscall_form *form)
{
	uint32_t bytes = is_exit ? 8 : 0;
	uint32_t nr = 0;

	for (uint32_t i = 0; i < SONDE_SYSCALL_ARGS; i++) {
		uint32_t size = number_size(&call->args[i], is_exit, form);

		if (!size)
			continue;
		plan->sizes |= size << 4 * i;
		bytes += size & 12;
	}
	if (form->has_strings && !is_exit) {
		plan_items(plan, &nr, call, SONDE_ARG_STRING, SONDE_BPF_STRING);
		plan_items(plan, &nr, call, SONDE_ARG_STRINGS,
			   SONDE_BPF_STRINGS);
	}
	if (form->has_buffers && !is_exit)
		plan_items(plan, &nr, call, SONDE_ARG_BUFFER, SONDE_BPF_BUFFER);
	if (form->has_buffers && is_exit)
		plan_items(plan, &nr, call, SONDE_ARG_RESULT, SONDE_BPF_RESULT);
	if (nr)
		plan->flags |= SONDE_BPF_PLAN_LONG;
	return bytes;
}

static const struct sonde_source_rule *call_rule(struct bpf_source *source,
						 enum sonde_syscall_abi abi,
						 const char *name, bool is_exit)
{
	char shown[SONDE_SYSCALL_NAME_MAX];

	(void)snprintf(shown, sizeof(shown), "%ssyscall_%s_%s",
		       abi == SONDE_SYSCALL_COMPAT ? "compat_" : "",
		       is_exit ? "exit" : "entry", name);
	return sonde_source_selected(&source->config, "syscalls", name, shown);
}

static int add_call(struct bpf_source *source, const char *name,
		    const struct sonde_desc *desc, const struct bpf_test *test,
		    struct sonde_bpf_plan *plan)
{
	plan->cond = test->cond;
	if (plan->cond)
		plan->flags |= SONDE_BPF_PLAN_LONG;
	return bpf_events_add(source, "syscalls", name, desc, test, &plan->id);
}

/* NOLINTNEXTLINE(readability-function-size): seven say which call, and where to */
static int select_call(struct bpf_source *source, enum sonde_syscall_abi abi,
		       const struct sonde_syscall *call, bool is_exit,
		       struct sonde_bpf_plan *to, void *room,
		       struct sonde_source_error *error)
{
	const char *name = call ? call->name : "unknown";
	struct sonde_syscall_form form = {
		.has_strings = source->config.string_bytes != 0,
		.has_buffers = source->config.buffer_bytes != 0,
	};
	struct sonde_bpf_plan plan = { .id = 0 };
	const struct sonde_source_rule *rule;
	const struct sonde_desc *desc = room;
	uint32_t bytes = is_exit ? 16 : 56;
	struct bpf_test test;
	int rc;

	rule = call_rule(source, abi, name, is_exit);
	if (!rule)
		return 0;
	rc = sonde_syscall_describe(abi, call, is_exit, &form, room);
	if (rc)
		return sonde_source_fail(error, rc, "%s: no description", name);
	if (call)
		bytes = plan_call(&plan, call, is_exit, &form);
	else
		plan.flags = SONDE_BPF_PLAN_LONG | SONDE_BPF_PLAN_UNKNOWN;
	/* Behind the numbers the first string is there whole, if it is one that
	 * ends with NUL. Lists are longer. */
	if (call && plan.item[0].kind == SONDE_BPF_STRING)
		bytes += source->consts[SONDE_BPF_STRING_BYTES];
	rc = bpf_events_condition(source, desc, rule, bytes, &test, error);
	if (!rc)
		rc = add_call(source, name, desc, &test, &plan);
	if (!rc)
		*to = plan;
	return rc;
}

static int select_calls(struct bpf_source *source, enum sonde_syscall_abi abi,
			bool is_exit, void *room,
			struct sonde_source_error *error)
{
	struct sonde_bpf_plan *table =
		is_exit ? source->plans->exit[abi] : source->plans->entry[abi];
	struct sonde_bpf_plan *unknown = &table[SONDE_BPF_CALLS];
	uint32_t span = sonde_syscall_span(abi);
	int rc = select_call(source, abi, NULL, is_exit, unknown, room, error);

	for (uint32_t nr = 0; !rc && nr < SONDE_BPF_CALLS; nr++) {
		const struct sonde_syscall *call =
			nr < span ? sonde_syscall(abi, nr) : NULL;

		if (call)
			rc = select_call(source, abi, call, is_exit, &table[nr],
					 room, error);
		else
			table[nr] = *unknown;
		if (table[nr].id && is_exit)
			source->has_exits = true;
		else if (table[nr].id)
			source->has_entries = true;
	}
	return rc;
}

static int select_all_calls(struct bpf_source *source, void *room,
			    struct sonde_source_error *error)
{
	int rc = 0;

	for (int abi = 0; !rc && abi < SONDE_SYSCALL_ABIS; abi++) {
		/* A machine without a table for them has no such calls. */
		if (!sonde_syscall_span((enum sonde_syscall_abi)abi) ||
		    !sonde_syscall((enum sonde_syscall_abi)abi, 1))
			continue;
		rc = select_calls(source, (enum sonde_syscall_abi)abi, false,
				  room, error);
		if (!rc)
			rc = select_calls(source, (enum sonde_syscall_abi)abi,
					  true, room, error);
	}
	return rc;
}

/* ---- all ---- */

/* What texts may take is known with the sub-buffers' size. */
static void bound_texts(struct bpf_source *source)
{
	struct sonde_source_config *config = &source->config;
	uint32_t most = source->geometry.subbuf_bytes / 8;
	uint32_t room = source->geometry.subbuf_bytes - SUBBUF_REST;
	uint32_t texts;

	if (config->stacks)
		room -= SONDE_BPF_STACK_HEAD + SONDE_BPF_STACK_REGISTERS +
			8 * (SONDE_BPF_KERNEL_FRAMES + config->stack_frames) +
			source->consts[SONDE_BPF_STACK_COPY];
	if (config->string_bytes > most)
		config->string_bytes = most;
	if (config->buffer_bytes > most)
		config->buffer_bytes = most;
	texts = STRINGS_OF_A_RECORD * config->string_bytes +
		BUFFERS_OF_A_RECORD * config->buffer_bytes;
	if (texts > room)
		texts = room;
	source->consts[SONDE_BPF_STRING_BYTES] =
		config->string_bytes ? config->string_bytes : 1;
	source->consts[SONDE_BPF_BUFFER_BYTES] = config->buffer_bytes;
	source->consts[SONDE_BPF_TEXT_BYTES] = texts;
	if (config->string_bytes || config->buffer_bytes)
		source->needs_spares = true;
}

static int compare(const void *a, const void *b)
{
	const struct bpf_event *x = a;
	const struct bpf_event *y = b;
	int order = strcmp(x->name, y->name);

	return order ? order : strcmp(x->group, y->group);
}

static int sort_names(struct bpf_source *source)
{
	size_t bytes = source->nr_events * sizeof(*source->events);

	source->by_name = malloc(bytes);
	if (!source->by_name)
		return -ENOMEM;
	memcpy(source->by_name, source->events, bytes);
	qsort(source->by_name, source->nr_events, sizeof(*source->by_name),
	      compare);
	return 0;
}

int bpf_events_select(struct bpf_source *source,
		      struct sonde_source_error *error)
{
	_Alignas(8) static _Thread_local uint8_t room[SONDE_DESC_MAX];
	int rc = 0;

	_Static_assert(SONDE_BPF_CALLS == SONDE_SYSCALLS_MAX, "one table");
	_Static_assert(SONDE_BPF_ARGS == SONDE_SYSCALL_ARGS, "one table");
	bound_texts(source);
	source->plans = calloc(1, sizeof(*source->plans));
	if (!source->plans)
		return -ENOMEM;
	for (uint32_t i = 0; !rc && i < SONDE_BPF_NR_EVENTS; i++)
		rc = select_event(source, i, room, error);
	if (!rc)
		rc = select_all_calls(source, room, error);
	if (!rc && !source->config.only_best)
		rc = bpf_any_select(source, room, error);
	if (!rc)
		rc = bpf_kprobes_select(source, error);
	if (!rc)
		rc = bpf_probes_select(source);
	if (rc)
		return rc;
	return source->nr_events ? sort_names(source) : -ENODATA;
}

bool bpf_events_has(const struct bpf_source *source, const char *group,
		    const char *name)
{
	/* Another source asks about each event it knows, and most events are
	 * of one group: so the names are sorted. */
	const struct bpf_event key = { .group = group, .name = name };

	return source->nr_events &&
	       bsearch(&key, source->by_name, source->nr_events,
		       sizeof(*source->by_name), compare);
}
