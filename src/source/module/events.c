/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * events.c - the list of events: what the rules select, described, and asked
 * for.
 *
 * Tracepoints of which source/payloads.h knows better than their arguments' types
 * are recorded by these forms: by a typed probe if the module has one, else by
 * the capture lists below, which say the same.
 *
 * All others, which tracefs lists by group, are recorded by their arguments:
 * numbers as they are, kernel strings, tasks as comm and tid, other addresses
 * as such; and of what they point to, if it is one of the structures below,
 * some members. So is a kprobe at the first instruction of a function whose
 * prototype is known, and a kretprobe, after the result.
 *
 * Cost: 50 ms for all of a kernel, most of it for reading its types.
 */
#include "source/module/module.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/btf.h>

#include "base/grow.h"
#include "base/port.h"
#include "source/condition.h"
#include "source/described.h"
#include "source/names.h"
#include "source/payloads.h"
#include "types/build.h"

#define STRING_BYTES 64u /* of a kernel string */
#define COMM_BYTES   16u

/* Left of a sub-buffer, for what is no text. */
#define SUBBUF_REST 512u

/* ---- the list ---- */

static struct module_event *
module_events_new_event(struct module_events *events)
{
	if (events->nr == SONDE_KMOD_EVENTS_MAX)
		return NULL;
	if (SONDE_GROW(events->list, events->nr, events->room))
		return NULL;
	events->list[events->nr] = (struct module_event){ .desc = NULL };
	return &events->list[events->nr++];
}

static void module_events_free_event(struct module_event *event)
{
	sonde_condition_free(event->compiled);
	free(event->texts);
	free(event->caps);
	free(event->names);
	free(event->desc);
}

void module_events_free(struct module_events *events)
{
	for (uint32_t i = 0; i < events->nr; i++)
		module_events_free_event(&events->list[i]);
	free(events->list);
	free(events->by_name);
	*events = (struct module_events){ .nr = 0 };
}

static int copy_names(struct module_event *event, const char *group,
		      const char *name)
{
	size_t first = strlen(group) + 1;

	event->names = malloc(first + strlen(name) + 1);
	if (!event->names)
		return -ENOMEM;
	memcpy(event->names, group, first);
	memcpy(event->names + first, name, strlen(name) + 1);
	event->group = event->names;
	event->name = event->names + first;
	return 0;
}

static int copy_parts(struct module_event *event, const struct sonde_desc *desc,
		      const struct sonde_kmod_cap *caps, uint32_t nr)
{
	event->desc = malloc(desc->size);
	event->caps = calloc(nr ? nr : 1, sizeof(*caps));
	if (!event->desc || !event->caps)
		return -ENOMEM;
	memcpy(event->desc, desc, desc->size);
	if (nr)
		/* NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker) */
		memcpy(event->caps, caps, nr * sizeof(*caps));
	return 0;
}

/* A glob, a group's name or a word such as "sched" names no event. */
static bool module_events_is_named(const struct sonde_source_rule *rule,
				   const char *group, const char *name)
{
	const char *colon = strchr(rule->text, ':');
	const char *written = colon ? colon + 1 : rule->text;

	return rule->kind != SONDE_RULE_EVENT || !strcmp(written, name) ||
	       !strcmp(written, sonde_source_event_name(group, name));
}

/* An event that can't be asked for, with *error: an error only if the user
 * named it; else other sources may have it. */
static int module_events_leave(struct module_select *select,
			       const struct sonde_source_rule *rule,
			       const char *group, const char *name, int rc)
{
	if (rc != -EOPNOTSUPP || module_events_is_named(rule, group, name))
		return rc;
	select->error->text[0] = '\0';
	select->config->rules->has_left = true;
	return 0;
}

int module_add(struct module_select *select,
	       const struct sonde_source_rule *rule, const char *group,
	       const char *name, const struct sonde_kmod_event *event,
	       const struct sonde_kmod_cap *caps)
{
	struct module_events *events = select->events;
	struct module_event *to;
	int rc;

	if (events->nr == SONDE_KMOD_EVENTS_MAX)
		return sonde_source_fail(select->error, -E2BIG,
					 "modules: more than %u events; select "
					 "fewer",
					 SONDE_KMOD_EVENTS_MAX);
	to = module_events_new_event(events);
	if (!to)
		return -ENOMEM;
	rc = copy_names(to, group, name);
	if (!rc)
		rc = copy_parts(to, select->room, caps, event->nr_caps);
	if (rc)
		return rc;
	to->is_named = module_events_is_named(rule, group, name);
	to->event = *event;
	to->event.size = sizeof(to->event);
	to->event.id = events->nr;
	to->event.caps = (uintptr_t)to->caps;
	return module_condition_add(to, rule, select->error);
}

uint16_t module_text_max(const struct sonde_source_config *config,
			 uint32_t wanted, uint32_t fixed, uint32_t nr)
{
	uint32_t room = SONDE_KMOD_RECORD_MAX;

	if (config->subbuf_bytes > 2 * SUBBUF_REST &&
	    room > config->subbuf_bytes - SUBBUF_REST)
		room = config->subbuf_bytes - SUBBUF_REST;
	room = room > fixed ? (room - fixed) / (nr ? nr : 1) : 0;
	if (room > SONDE_KMOD_TEXT_MAX)
		room = SONDE_KMOD_TEXT_MAX;
	if (wanted > room)
		wanted = room;
	return (uint16_t)(wanted ? wanted : 1);
}

static int compare(const void *a, const void *b)
{
	const struct module_event *x = *(struct module_event *const *)a;
	const struct module_event *y = *(struct module_event *const *)b;
	int order = strcmp(x->name, y->name);

	return order ? order : strcmp(x->group, y->group);
}

static int module_events_sort_names(struct module_events *events)
{
	events->by_name = calloc(events->nr, sizeof(struct module_event *));
	if (!events->by_name)
		return -ENOMEM;
	for (uint32_t i = 0; i < events->nr; i++)
		events->by_name[i] = &events->list[i];
	qsort(events->by_name, events->nr, sizeof(struct module_event *),
	      compare);
	return 0;
}

bool module_events_has(const struct module_events *events, const char *group,
		       const char *name)
{
	struct module_event wanted = { .group = group, .name = name };
	struct module_event *const key = &wanted;

	return events->nr &&
	       /* NOLINTNEXTLINE(bugprone-sizeof-expression): they are pointers */
	       bsearch(&key, events->by_name, events->nr, sizeof(key), compare);
}

/* ---- types ---- */

static int need_types(struct module_select *select)
{
	int rc;

	if (select->types)
		return 0;
	rc = module_types_open(select->kernel->types, &select->types);
	if (rc && rc != -ENOMEM)
		return sonde_source_fail(select->error, -ENODEV,
					 "modules: the kernel's types (%s) "
					 "can't be read: %s",
					 select->kernel->types,
					 strerrordesc_np(-rc));
	return rc;
}

/* ---- lists of forms ---- */

enum piece_kind {
	NOTHING,
	ARG,    /* the argument itself */
	WIDE,   /* the same; what is 32 bits wide becomes 64 */
	AT,     /* the number at the argument, `bytes` wide */
	MEMBER, /* of the structure at the argument */
	NESTING,
};

struct piece {
	enum piece_kind kind;
	uint8_t arg;
	uint8_t bytes;
	int8_t add;
	const char *type;
	const char *path; /* or several: "a|b" */
};

/* clang-format off */
#define IN(arg, type, path) { MEMBER, arg, 0, 0, type, path }
#define OF_TASK(arg, path) IN(arg, "task_struct", path)
#define COMM_OF(arg) OF_TASK(arg, "comm")
#define PRIO_OF(arg) { MEMBER, arg, 0, -100, "task_struct", "prio" }
#define CPU_OF(arg) OF_TASK(arg, "thread_info.cpu|cpu")
#define TASK(arg) COMM_OF(arg), OF_TASK(arg, "pid"), PRIO_OF(arg)
#define NUMBER(arg, bytes) { ARG, arg, bytes, 0, NULL, NULL }
#define WAKEUP { TASK(0), CPU_OF(0), { NESTING, 0, 1, 0, NULL, NULL } }
#define FAULT { NUMBER(0, 8), IN(1, "pt_regs", "ip"), NUMBER(2, 8) }
#define FORKED(arg) COMM_OF(arg), OF_TASK(arg, "pid"), OF_TASK(arg, "tgid")

static const struct piece pieces[SONDE_NR_PAYLOADS][SONDE_PAYLOAD_FIELDS_MAX] =
{
	[SONDE_PAYLOAD_SCHED_SWITCH] = { TASK(1),
		{ WIDE, 3, 8, 0, NULL, NULL }, TASK(2) },
	[SONDE_PAYLOAD_SCHED_WAKING] = WAKEUP,
	[SONDE_PAYLOAD_SCHED_WAKEUP] = WAKEUP,
	[SONDE_PAYLOAD_SCHED_WAKEUP_NEW] = WAKEUP,
	[SONDE_PAYLOAD_SCHED_MIGRATE_TASK] = { TASK(0), CPU_OF(0), NUMBER(1, 4) },
	[SONDE_PAYLOAD_SCHED_PROCESS_FORK] = { FORKED(0), FORKED(1) },
	[SONDE_PAYLOAD_SCHED_PROCESS_EXEC] = { OF_TASK(0, "pid"), NUMBER(1, 4),
		IN(2, "linux_binprm", "filename") },
	[SONDE_PAYLOAD_SCHED_PROCESS_EXIT] = { TASK(0) },
	[SONDE_PAYLOAD_SCHED_PROCESS_FREE] = { TASK(0) },
	[SONDE_PAYLOAD_IRQ_HANDLER_ENTRY] = { NUMBER(0, 4),
		IN(1, "irqaction", "name") },
	[SONDE_PAYLOAD_IRQ_HANDLER_EXIT] = { NUMBER(0, 4), NUMBER(2, 4) },
	[SONDE_PAYLOAD_SOFTIRQ_RAISE] = { NUMBER(0, 4) },
	[SONDE_PAYLOAD_SOFTIRQ_ENTRY] = { NUMBER(0, 4) },
	[SONDE_PAYLOAD_SOFTIRQ_EXIT] = { NUMBER(0, 4) },
	[SONDE_PAYLOAD_PAGE_FAULT_USER] = FAULT,
	[SONDE_PAYLOAD_PAGE_FAULT_KERNEL] = FAULT,
	[SONDE_PAYLOAD_SIGNAL_GENERATE] = { NUMBER(0, 4),
		IN(1, "kernel_siginfo", "si_errno"),
		IN(1, "kernel_siginfo", "si_code"),
		COMM_OF(2), OF_TASK(2, "pid"), NUMBER(3, 4), NUMBER(4, 4) },
	[SONDE_PAYLOAD_SIGNAL_DELIVER] = { NUMBER(0, 4),
		IN(1, "kernel_siginfo", "si_errno"),
		IN(1, "kernel_siginfo", "si_code"),
		IN(2, "k_sigaction", "sa.sa_handler"),
		IN(2, "k_sigaction", "sa.sa_flags") },
	[SONDE_PAYLOAD_HRTIMER_EXPIRE_ENTRY] = { NUMBER(0, 8),
		{ AT, 1, 8, 0, NULL, NULL }, IN(0, "hrtimer", "function") },
	[SONDE_PAYLOAD_HRTIMER_EXPIRE_EXIT] = { NUMBER(0, 8) },
};
/* clang-format on */

/* What a member is captured as; texts have `max` bytes at most. */
static struct sonde_kmod_cap member_cap(const struct module_member *member,
					enum sonde_kmod_from from,
					uint32_t index)
{
	struct sonde_kmod_cap cap = {
		.kind = SONDE_KMOD_VALUE,
		.from = (uint8_t)from,
		.index = (uint8_t)index,
		.bytes = member->bytes,
		.nr_path = member->nr_path,
	};

	memcpy(cap.offset, member->offset, sizeof(cap.offset));
	return cap;
}

/* Follows the address that is there. */
static bool go_on(struct sonde_kmod_cap *cap)
{
	if (cap->nr_path == SONDE_KMOD_PATH_MAX)
		return false;
	cap->offset[cap->nr_path++] = 0;
	return true;
}

/* One of several paths, which have '|' between them. */
static bool find_path(const struct btf *btf, uint32_t type, const char *paths,
		      struct module_member *ret_member)
{
	char path[64];

	while (*paths) {
		size_t length = strcspn(paths, "|");

		if (length >= sizeof(path))
			return false;
		memcpy(path, paths, length);
		path[length] = '\0';
		if (module_types_member(btf, type, path, ret_member))
			return true;
		paths += length + (paths[length] == '|');
	}
	return false;
}

static bool member_piece(const struct btf *btf, const struct piece *piece,
			 const struct sonde_payload_field *field,
			 struct sonde_kmod_cap *ret_cap)
{
	struct module_member member;
	int id = btf__find_by_name_kind(btf, piece->type, BTF_KIND_STRUCT);

	if (id <= 0 || !find_path(btf, (uint32_t)id, piece->path, &member))
		return false;
	*ret_cap = member_cap(&member, SONDE_KMOD_FROM_ARG, piece->arg);
	if (field->kind == SONDE_PAYLOAD_COMM) {
		ret_cap->kind = SONDE_KMOD_BYTES;
		ret_cap->max = COMM_BYTES;
		return member.text == COMM_BYTES;
	}
	if (field->kind == SONDE_PAYLOAD_STRING) {
		ret_cap->kind = SONDE_KMOD_STRING;
		ret_cap->max = !strcmp(piece->type, "irqaction") ?
				       SONDE_PAYLOAD_ACTION_NAME :
				       SONDE_PAYLOAD_EXEC_NAME;
		return member.is_text_at && go_on(ret_cap);
	}
	ret_cap->max = (uint16_t)piece->add;
	return !member.text;
}

/* The flags of a signal's action are as wide as the machine's words. */
static bool piece_cap(const struct btf *btf, const struct piece *piece,
		      const struct sonde_payload_field *field,
		      struct sonde_kmod_cap *ret_cap)
{
	*ret_cap = (struct sonde_kmod_cap){
		.kind = SONDE_KMOD_VALUE,
		.from = SONDE_KMOD_FROM_ARG,
		.index = piece->arg,
		.bytes = piece->bytes,
	};
	switch (piece->kind) {
	case ARG:
		break;
	case WIDE:
		ret_cap->from_bytes = 4;
		break;
	case AT:
		ret_cap->nr_path = 1;
		break;
	case NESTING:
		ret_cap->from = SONDE_KMOD_FROM_NESTING;
		break;
	case MEMBER:
		if (!member_piece(btf, piece, field, ret_cap))
			return false;
		break;
	case NOTHING:
		return false;
	}
	return ret_cap->kind != SONDE_KMOD_VALUE ||
	       ret_cap->bytes == sonde_payload_bytes(field->kind);
}

static int form_caps(struct module_select *select,
		     const struct sonde_payload *form,
		     struct sonde_kmod_cap *caps, uint32_t *ret_nr)
{
	const struct piece *piece = pieces[form - sonde_payloads];
	uint32_t nr = 0;
	int rc = need_types(select);

	for (; !rc && nr < SONDE_PAYLOAD_FIELDS_MAX && form->fields[nr].kind;
	     nr++)
		if (!piece_cap(module_types_kernel(select->types), &piece[nr],
			       &form->fields[nr], &caps[nr]))
			rc = sonde_source_fail(
				select->error, -EOPNOTSUPP,
				"modules: %s:%s: the kernel's types don't say "
				"where its '%s' is; another --kernel-source "
				"may record it",
				form->group, form->name, form->fields[nr].name);
	*ret_nr = nr;
	return rc;
}

static int select_form(struct module_select *select,
		       const struct sonde_payload *form)
{
	const struct sonde_source_rule *rule = sonde_source_selected(
		select->config, form->group, form->name,
		sonde_source_event_name(form->group, form->name));
	struct sonde_kmod_cap caps[SONDE_PAYLOAD_FIELDS_MAX];
	struct sonde_kmod_event event = { .type = SONDE_KMOD_TRACEPOINT,
					  .flags = SONDE_KMOD_TYPED };
	int rc;

	if (!rule || !sonde_payload_is_here(form))
		return 0;
	rc = sonde_payload_describe(form, select->room);
	if (rc)
		return sonde_source_fail(select->error, rc,
					 "%s: no description", form->name);
	rc = sonde_payload_is_of_sockets(form) ?
		     sonde_source_fail(select->error, -EOPNOTSUPP,
				       "modules: %s:%s is recorded by BPF; "
				       "'--kernel-source bpf' does",
				       form->group, form->name) :
		     form_caps(select, form, caps, &event.nr_caps);
	if (rc)
		return module_events_leave(select, rule, form->group,
					   form->name, rc);
	(void)snprintf(event.name, sizeof(event.name), "%s", form->name);
	return module_add(select, rule, form->group, form->name, &event, caps);
}

/* ---- arguments ---- */

/* An event in the making: a field and its capture are added together. */
struct plan {
	struct sonde_build build;
	const char *group;
	const char *name;
	const struct btf *btf;
	uint32_t nr;
	uint32_t left_out; /* fields that found no room */
	struct sonde_kmod_cap caps[SONDE_KMOD_CAPS_MAX];
};

static bool add_cap(struct plan *plan, const struct sonde_kmod_cap *cap)
{
	if (plan->nr == SONDE_KMOD_CAPS_MAX) {
		plan->left_out++;
		return false;
	}
	plan->caps[plan->nr++] = *cap;
	return true;
}

static void add_number(struct plan *plan, const char *name, uint32_t flags,
		       struct sonde_kmod_cap cap)
{
	struct sonde_source_field_name shown;

	sonde_source_field_name(plan->group, plan->name, name, &shown);
	if (add_cap(plan, &cap))
		sonde_source_describe(&plan->build, shown.name,
				      (uint8_t)(8 * cap.bytes), flags,
				      shown.labels);
}

static void module_events_add_string(struct plan *plan, const char *name,
				     struct sonde_kmod_cap cap)
{
	cap.kind = SONDE_KMOD_STRING;
	cap.bytes = 0;
	cap.max = STRING_BYTES;
	if (add_cap(plan, &cap))
		sonde_build_string(&plan->build, name);
}

/* What is recorded of well-known structures, beside their address. */
static const struct {
	const char *type;
	const char *name;
	const char *path; /* or several: "a|b" */
} members[] = {
	{ "bio", "dev", "bi_bdev->bd_dev" },
	{ "bio", "sector", "bi_iter.bi_sector" },
	{ "bio", "bytes", "bi_iter.bi_size" },
	{ "bio", "flags", "bi_opf" },
	{ "cgroup", "id", "kn->id" },
	{ "dentry", "name", "d_name.name" },
	{ "file", "ino", "f_inode->i_ino" },
	{ "hrtimer", "function", "function" },
	{ "inode", "dev", "i_sb->s_dev" },
	{ "inode", "ino", "i_ino" },
	{ "irqaction", "name", "name" },
	{ "linux_binprm", "filename", "filename" },
	{ "module", "name", "name" },
	{ "net_device", "name", "name" },
	{ "pt_regs", "ip", "ip|pc" },
	{ "request", "dev", "part->bd_dev" },
	{ "request", "sector", "__sector" },
	{ "request", "bytes", "__data_len" },
	{ "request", "flags", "cmd_flags" },
	{ "sk_buff", "len", "len" },
	{ "sk_buff", "protocol", "protocol" },
	{ "sk_buff", "name", "dev->name" },
	{ "super_block", "dev", "s_dev" },
	{ "timer_list", "function", "function" },
	{ "work_struct", "function", "func" },
};

static void module_events_add_member(struct plan *plan, uint32_t type,
				     const char *name, const char *path,
				     struct sonde_kmod_cap from)
{
	struct module_member member;
	struct sonde_kmod_cap cap;

	/* What this kernel doesn't have is left out. */
	if (!find_path(plan->btf, type, path, &member))
		return;
	cap = member_cap(&member, from.from, from.index);
	/* The kernel keeps it as it came. */
	if (!strcmp(name, "protocol"))
		member.flags |= SONDE_FIELD_NETWORK;
	if (!member.text && !member.is_text_at)
		add_number(plan, name, member.flags, cap);
	else if (member.text || go_on(&cap))
		module_events_add_string(plan, name, cap);
}

static void module_events_add_task(struct plan *plan,
				   const struct sonde_prototype_arg *arg,
				   struct sonde_kmod_cap cap)
{
	struct module_member comm;
	struct module_member tid;
	char name[SONDE_PROTOTYPE_NAME + 8];

	if (!module_types_member(plan->btf, arg->type, "comm", &comm) ||
	    !module_types_member(plan->btf, arg->type, "pid", &tid) ||
	    comm.text != COMM_BYTES || !tid.is_number || tid.bytes != 4) {
		add_number(plan, arg->name, arg->flags, cap);
		return;
	}
	if (plan->nr + 2 > SONDE_KMOD_CAPS_MAX) {
		plan->left_out++;
		return;
	}
	cap = member_cap(&comm, cap.from, cap.index);
	cap.kind = SONDE_KMOD_BYTES;
	cap.bytes = 0;
	cap.max = COMM_BYTES;
	(void)snprintf(name, sizeof(name), "%s_comm", arg->name);
	if (add_cap(plan, &cap))
		sonde_build_text(&plan->build, name, COMM_BYTES);
	(void)snprintf(name, sizeof(name), "%s_tid", arg->name);
	add_number(plan, name, SONDE_FIELD_SIGNED,
		   member_cap(&tid, cap.from, cap.index));
}

static void add_struct(struct plan *plan, const struct sonde_prototype_arg *arg,
		       struct sonde_kmod_cap cap)
{
	const struct btf_type *type = btf__type_by_id(plan->btf, arg->type);
	const char *name =
		type ? btf__name_by_offset(plan->btf, type->name_off) : NULL;

	if (name && !strcmp(name, "task_struct")) {
		module_events_add_task(plan, arg, cap);
		return;
	}
	add_number(plan, arg->name, arg->flags, cap);
	for (size_t i = 0; name && i < SONDE_ARRAY_SIZE(members); i++)
		if (!strcmp(members[i].type, name))
			module_events_add_member(plan, arg->type,
						 members[i].name,
						 members[i].path, cap);
}

static void add_arg(struct plan *plan, const struct sonde_prototype_arg *arg,
		    uint32_t index)
{
	const struct sonde_kmod_cap cap = {
		.kind = SONDE_KMOD_VALUE,
		.from = SONDE_KMOD_FROM_ARG,
		.index = (uint8_t)index,
		.bytes = arg->bytes,
	};

	switch (arg->kind) {
	case SONDE_PROTOTYPE_STRING:
		module_events_add_string(plan, arg->name, cap);
		break;
	case SONDE_PROTOTYPE_STRUCT:
		add_struct(plan, arg, cap);
		break;
	case SONDE_PROTOTYPE_NUMBER:
	case SONDE_PROTOTYPE_POINTER:
	case SONDE_PROTOTYPE_OTHER:
		add_number(plan, arg->name, arg->flags, cap);
		break;
	}
}

/* Texts come last: behind them no number has a fixed place, and conditions can
 * be had on those that have one only (conditions.c). */
static void add_args_texts_last(struct plan *plan,
				const struct sonde_prototype *prototype)
{
	for (uint32_t pass = 0; pass < 2; pass++) {
		for (uint32_t i = 0; i < prototype->nr; i++) {
			const struct sonde_prototype_arg *arg =
				&prototype->args[i];
			bool is_text = arg->kind == SONDE_PROTOTYPE_STRING;

			if (is_text == (pass == 1))
				add_arg(plan, arg, i);
		}
	}
}

/* `event` has type and name. */
static int add_plan(struct module_select *select,
		    const struct sonde_source_rule *rule, struct plan *plan,
		    struct sonde_kmod_event *event)
{
	int rc = sonde_build_end(&plan->build);

	if (rc || plan->left_out) {
		rc = sonde_source_fail(select->error, -EOPNOTSUPP,
				       "modules: %s:%s can't be described: %s",
				       plan->group, plan->name,
				       plan->left_out ?
					       "it has too many fields" :
					       "of its names and fields no "
					       "trace can be made");
		return module_events_leave(select, rule, plan->group,
					   plan->name, rc);
	}
	event->nr_caps = plan->nr;
	return module_add(select, rule, plan->group, plan->name, event,
			  plan->caps);
}

/* ---- any other tracepoint ---- */

static int select_any(struct module_select *select,
		      const struct sonde_source_rule *rule, const char *group,
		      const char *name)
{
	struct plan plan = { .group = group, .name = name };
	struct sonde_kmod_event event = { .type = SONDE_KMOD_TRACEPOINT };
	struct sonde_prototype prototype = { .nr = 0 };
	int rc = need_types(select);

	if (!rc)
		rc = module_types_tracepoint(select->types, name, &prototype,
					     &plan.btf);
	if (rc == -ENOENT || rc == -EOPNOTSUPP)
		rc = sonde_source_fail(
			select->error, -EOPNOTSUPP,
			"modules: %s:%s %s; '--kernel-source tracefs' can "
			"record it",
			group, name,
			rc == -ENOENT ? "is no tracepoint of which the "
					"kernel's types tell" :
					"has arguments that can't be "
					"recorded");
	if (rc)
		return module_events_leave(select, rule, group, name, rc);
	sonde_build_begin(&plan.build, select->room, group,
			  sonde_source_event_name(group, name), SONDE_INFO);
	for (uint32_t i = 0; i < prototype.nr; i++)
		add_arg(&plan, &prototype.args[i], i);
	(void)snprintf(event.name, sizeof(event.name), "%s", name);
	return add_plan(select, rule, &plan, &event);
}

static int select_one(void *ctx, const struct sonde_source_rule *rule,
		      const char *group, const char *name)
{
	return select_any(ctx, rule, group, name);
}

/* Whether a rule may mean more than those that have a form: a group or a
 * pattern, or a name that isn't theirs. */
static bool needs_list(const struct module_events *events,
		       const struct sonde_source_rule *rule)
{
	const char *colon = strchr(rule->text, ':');
	const char *written = colon ? colon + 1 : rule->text;

	if (rule->kind != SONDE_RULE_EVENT || rule->is_exclusion ||
	    (rule->group && !strcmp(rule->group, "syscalls")))
		return false;
	/* A word such as "sched" stands for events that all have forms. */
	if (!colon && strcmp(rule->name, rule->text) != 0)
		return false;
	for (uint32_t i = 0; i < events->nr; i++) {
		const struct module_event *event = &events->list[i];

		if (!strcmp(written, event->name) ||
		    !strcmp(written,
			    sonde_source_event_name(event->group, event->name)))
			return false;
	}
	return true;
}

/* Without the list nobody knows what else is in a group: that is left to
 * tracefs, which will say why it can't be read. */
static int select_all(struct module_select *select)
{
	struct sonde_source_rules *rules = select->config->rules;
	bool can_read = !euidaccess(select->kernel->events, R_OK);

	for (uint32_t i = 0; !can_read && i < rules->nr; i++)
		if (needs_list(select->events, &rules->rules[i]))
			rules->has_left = true;
	return sonde_source_each_template(select->kernel->events,
					  select->config, select_one, select);
}

/* ---- described events of modules ---- */

/* Called with each; the module of ours takes the payload as it comes. */
static int select_described(void *ctx, const struct sonde_desc *desc)
{
	struct module_select *select = ctx;
	const char *group = sonde_desc_provider(desc);
	const char *name = sonde_desc_name(desc);
	const struct sonde_source_rule *rule =
		sonde_source_selected(select->config, group, name, name);
	struct sonde_kmod_event event = { .type = SONDE_KMOD_TRACEPOINT,
					  .flags = SONDE_KMOD_DESCRIBED };
	int length;

	if (!rule)
		return 0;
	length = snprintf(event.name, sizeof(event.name),
			  SONDE_KMOD_DESCRIBED_NAME "%s__%s", group, name);
	if (length < 0 || (size_t)length >= sizeof(event.name))
		return 0; /* nor has the module such a tracepoint */
	memcpy(select->room, desc, sonde_desc_size(desc));
	return module_add(select, rule, group, name, &event, NULL);
}

/* ---- kprobes ---- */

/* Its arguments, if the place is a function's start and the types tell. */
static int add_function(struct module_select *select, struct plan *plan)
{
	struct sonde_prototype prototype = { .nr = 0 };
	int rc;

	if (strchr(plan->name, '+'))
		return 0;
	rc = need_types(select);
	if (!rc)
		rc = module_types_function(select->types, plan->name,
					   &prototype, &plan->btf);
	if (!rc)
		add_args_texts_last(plan, &prototype);
	return rc == -ENOMEM ? rc : 0;
}

static int select_probe(struct module_select *select,
			struct sonde_source_rule *rule)
{
	bool is_return = rule->kind == SONDE_RULE_KRETPROBE;
	const struct sonde_kmod_cap result = {
		.kind = SONDE_KMOD_VALUE,
		.from = SONDE_KMOD_FROM_RESULT,
		.bytes = 8,
	};
	struct plan plan = { .group = is_return ? "kretprobe" : "kprobe",
			     .name = rule->name };
	struct sonde_kmod_event event = {
		.type = is_return ? SONDE_KMOD_KRETPROBE : SONDE_KMOD_KPROBE,
		.number = is_return ?
				  sonde_source_returns(select->config,
						       SONDE_KMOD_RETURNS_MAX) :
				  0,
	};
	char shown[128];
	int rc;

	if (strlen(rule->name) >= sizeof(event.name))
		return sonde_source_fail(select->error, -EINVAL,
					 "%.100s: a kernel symbol has at most "
					 "%u characters",
					 rule->text, SONDE_KMOD_NAME_MAX - 1);
	rule->has_matched = true;
	sonde_source_probe_name(plan.group, rule->name, shown, sizeof(shown));
	sonde_build_begin(&plan.build, select->room, plan.group, shown,
			  SONDE_INFO);
	if (is_return && add_cap(&plan, &result))
		sonde_build_int(&plan.build, "ret", 64, SONDE_FIELD_SIGNED);
	rc = add_function(select, &plan);
	if (rc)
		return rc;
	(void)snprintf(event.name, sizeof(event.name), "%s", rule->name);
	return add_plan(select, rule, &plan, &event);
}

static int select_probes(struct module_select *select)
{
	struct sonde_source_rules *rules = select->config->rules;
	int rc = 0;

	for (uint32_t i = 0; !rc && i < rules->nr; i++) {
		struct sonde_source_rule *rule = &rules->rules[i];

		if (!rule->is_exclusion && (rule->kind == SONDE_RULE_KPROBE ||
					    rule->kind == SONDE_RULE_KRETPROBE))
			rc = select_probe(select, rule);
	}
	return rc;
}

/* ---- all ---- */

int module_events_select_of(const struct module_kernel *kernel,
			    const struct sonde_source_config *config,
			    struct module_events *ret,
			    struct sonde_source_error *error)
{
	_Alignas(8) static _Thread_local uint8_t room[SONDE_DESC_MAX];
	struct module_select select = {
		.kernel = kernel,
		.config = config,
		.events = ret,
		.error = error,
		.room = room,
	};
	int rc = 0;

	*ret = (struct module_events){ .nr = 0 };
	for (uint32_t i = 0; !rc && i < SONDE_NR_PAYLOADS; i++)
		rc = select_form(&select, &sonde_payloads[i]);
	if (!rc)
		rc = module_syscalls_select(&select);
	if (!rc)
		rc = select_all(&select);
	if (!rc && kernel->modules)
		rc = sonde_source_each_described(kernel->modules,
						 select_described, &select);
	if (!rc)
		rc = select_probes(&select);
	module_types_close(select.types);
	if (!rc)
		rc = ret->nr ? module_events_sort_names(ret) : -ENODATA;
	return rc;
}

int module_events_select(const struct sonde_source_config *config,
			 struct module_events *ret,
			 struct sonde_source_error *error)
{
	static const struct module_kernel running = {
		.events = "/sys/kernel/tracing/available_events",
		.types = "/sys/kernel/btf",
		.modules = SONDE_SOURCE_NOTES,
	};

	return module_events_select_of(&running, config, ret, error);
}
