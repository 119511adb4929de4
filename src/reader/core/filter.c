/* SPDX-License-Identifier: MIT */
/*
 * filter.c - expressions bound to a trace: one program per event class.
 *
 * A number of whole bytes at a place that surely is at a byte becomes memory
 * for the program: base b is the event's block b (plan.h). Everything else is
 * fetched by a call with the number of a field in the class's list; the numbers
 * below FIRST_FIELD are what all events have.
 *
 * A program that calls nothing and reads no block but the first two becomes
 * native code (native.h); the evaluator runs the others.
 *
 * Expressions know strings in UTF-8 only. Others are converted when they are
 * fetched, into a buffer of the lane that the event is of, which belongs to one
 * thread: for one evaluation, at most SONDE_LANE_CONVERTED bytes. What doesn't
 * fit counts as missing.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/port.h"
#include "expr/bind.h"
#include "expr/expr.h"
#include "expr/program.h"
#include "reader/core/hint.h"
#include "reader/core/lane.h"
#include "reader/core/load.h"
#include "reader/core/native.h"

#define FIRST_FIELD       SONDE_BIND_OWNS

#define SONDE_FILTER_HINT 160

enum verdict {
	DEPENDS,
	ALWAYS,
	NEVER
};

struct bound {
	struct sonde_program *program;
	enum verdict verdict;
	bool is_plain;             /* it reads the first block alone */
	uint32_t last_base;        /* the highest block it reads */
	sonde_native_test *native; /* or NULL */
	uint32_t native_at;        /* its place, until the code is sealed */
	size_t nr_fields, capacity;
	struct sonde_field *fields;
};

struct sonde_filter {
	struct sonde_trace *trace;
	struct sonde_pool pool;
	size_t nr_classes; /* the trace's; it may be closed before us */
	struct bound *classes;
	struct sonde_native native;
	char advice[256]; /* about its words, or "" */
};

/* While one class is bound. */
struct binding {
	struct sonde_filter *filter;
	struct sonde_event_class *cls;
	struct bound *bound;
	struct sonde_bind names;
	struct sonde_expr_scope scope;
};

const char *sonde_filter_own(size_t i)
{
	return sonde_bind_own_name(i);
}

static int add_field(struct binding *binding, const struct sonde_field *field,
		     uint32_t *ret_ref)
{
	struct bound *bound = binding->bound;
	struct sonde_field *fields =
		sonde_pool_grow(&binding->filter->pool, bound->fields,
				bound->nr_fields, &bound->capacity,
				sizeof(*fields));

	if (!fields)
		return -ENOMEM;
	bound->fields = fields;
	fields[bound->nr_fields] = *field;
	*ret_ref = (uint32_t)(FIRST_FIELD + bound->nr_fields++);
	return 0;
}

static enum sonde_expr_type type_of(const struct sonde_class *cls)
{
	switch (cls->kind) {
	case SONDE_KIND_UINT:
	case SONDE_KIND_BOOL:
	case SONDE_KIND_BITS:
		return SONDE_EXPR_UINT;
	case SONDE_KIND_INT:
		return SONDE_EXPR_INT;
	case SONDE_KIND_FLOAT:
		return SONDE_EXPR_DOUBLE;
	case SONDE_KIND_STRING:
	case SONDE_KIND_BLOB:
		return SONDE_EXPR_STRING;
	case SONDE_KIND_SEQUENCE:
		return sonde_class_is_bytes(cls) ? SONDE_EXPR_STRING :
						   SONDE_EXPR_MISSING;
	case SONDE_KIND_STRUCT:
	case SONDE_KIND_ARRAY:
	case SONDE_KIND_VARIANT:
	case SONDE_KIND_OPTIONAL:
		break;
	}
	return SONDE_EXPR_MISSING;
}

static bool in_memory(const struct binding *binding,
		      const struct sonde_field *field)
{
	const struct sonde_plan *plan = binding->cls->plan;
	const struct sonde_class *cls = field->cls;
	unsigned int bits = cls->bits;

	return field->direct && field->block < SONDE_EXPR_BASES &&
	       (plan->byte_blocks >> field->block & 1) &&
	       field->offset % 8 == 0 && !cls->last_bit_first &&
	       !cls->nr_origins &&
	       (bits == 8 || bits == 16 || bits == 32 || bits == 64) &&
	       cls->kind <= SONDE_KIND_FLOAT && cls->kind != SONDE_KIND_BOOL &&
	       (cls->kind != SONDE_KIND_FLOAT || bits >= 32);
}

static int describe(struct binding *binding, const struct sonde_field *field,
		    struct sonde_expr_source *source)
{
	const struct sonde_class *cls = field->cls;
	const bool big = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
	uint32_t ref = 0;
	int err = add_field(binding, field, &ref);

	*source = (struct sonde_expr_source){
		.how = SONDE_EXPR_CALL,
		.type = type_of(cls),
		.ref = ref,
	};
	if (cls->nr_labels && cls->kind != SONDE_KIND_BITS) {
		source->labels = cls->labels;
		source->nr_labels = cls->nr_labels;
	}
	if (in_memory(binding, field)) {
		source->how = SONDE_EXPR_MEMORY;
		source->bytes = cls->bits / 8;
		source->swap = cls->big_endian != big;
		source->base = (uint8_t)field->block;
		source->offset = field->offset / 8;
	}
	return err;
}

static int find_own(void *ctx, enum sonde_bind_own own,
		    struct sonde_expr_source *ret_source)
{
	(void)ctx;
	*ret_source = (struct sonde_expr_source){
		.how = SONDE_EXPR_CALL,
		.type = own >= SONDE_BIND_PROCNAME ? SONDE_EXPR_STRING :
						     SONDE_EXPR_INT,
		.ref = own,
	};
	return own < SONDE_BIND_EVENT ? 0 : -ENOENT;
}

static int find_field(void *ctx, enum sonde_bind_place place, const char *path,
		      struct sonde_expr_source *ret_source)
{
	static const enum sonde_scope contexts[] = {
		SONDE_SCOPE_EVENT_CONTEXT,
		SONDE_SCOPE_COMMON_CONTEXT,
		SONDE_SCOPE_PACKET_CONTEXT,
	};
	struct binding *binding = ctx;
	struct sonde_field field;
	int err = -ENOENT;

	if (place == SONDE_BIND_CONTEXT)
		for (size_t i = 0; i < 3 && err == -ENOENT; i++)
			err = sonde_event_class_field(binding->cls, contexts[i],
						      path, &field);
	else
		err = sonde_event_class_field(binding->cls,
					      place == SONDE_BIND_PAYLOAD ?
						      SONDE_SCOPE_PAYLOAD :
						      SONDE_NR_SCOPES,
					      path, &field);
	/* what is a group here may be a number in another class */
	if (err == -EINVAL ||
	    (!err && type_of(field.cls) == SONDE_EXPR_MISSING))
		err = -ENOENT;
	return err ? err : describe(binding, &field, ret_source);
}

/* What names mean for events of class `i`; the fields are noted in `bound`. */
static void begin_binding(struct binding *binding, struct sonde_filter *filter,
			  size_t i, struct bound *bound)
{
	*binding = (struct binding){
		.filter = filter,
		.cls = filter->trace->classes[i],
		.bound = bound,
	};
	binding->names = (struct sonde_bind){
		.event = binding->cls->info.name,
		.ctx = binding,
		.field = find_field,
		.own = find_own,
	};
	binding->scope = (struct sonde_expr_scope){
		.ctx = &binding->names,
		.find = sonde_bind_find,
		.begin_ns = filter->trace->begin_ns,
	};
}

/* ---- fetching ---- */

static int convert(struct sonde_lane *lane, struct sonde_value *value);

static int own_text(const struct sonde_event *event, uint32_t ref,
		    struct sonde_expr_value *ret)
{
	struct sonde_value value = { .text = NULL };
	int err;

	if (ref == SONDE_BIND_CGROUP)
		err = sonde_event_cgroup(event, &value);
	else if (ref == SONDE_BIND_CONTAINER)
		err = sonde_event_container(event, &value);
	else
		err = sonde_event_procname(event, &value);
	if (!err && value.cls)
		err = convert(event->lane, &value);
	ret->type = SONDE_EXPR_STRING;
	ret->text = value.text;
	ret->length = (uint32_t)value.length;
	return err;
}

static int own_schedule(const struct sonde_event *event, uint32_t ref,
			struct sonde_expr_value *ret)
{
	const struct sonde_event_schedule *schedule =
		sonde_event_schedule(event);

	if (!schedule)
		return -ENOENT;
	if (ref == SONDE_BIND_POLICY) {
		ret->type = SONDE_EXPR_STRING;
		ret->text = schedule->policy;
		ret->length = (uint32_t)strlen(schedule->policy);
		return 0;
	}
	ret->i = ref == SONDE_BIND_PRIO ? schedule->prio : schedule->nice;
	return 0;
}

static int own_value(const struct sonde_event *event, uint32_t ref,
		     struct sonde_expr_value *ret)
{
	ret->type = SONDE_EXPR_INT;
	switch ((enum sonde_bind_own)ref) {
	case SONDE_BIND_TIME:
		ret->i = event->time_ns;
		return ret->i == SONDE_TIME_MIN ? -ENOENT : 0;
	case SONDE_BIND_CPU:
		ret->i = sonde_event_cpu(event);
		break;
	case SONDE_BIND_TID:
		ret->i = sonde_event_tid(event);
		break;
	case SONDE_BIND_PID:
		ret->i = sonde_event_pid(event);
		break;
	case SONDE_BIND_PPID:
		ret->i = sonde_event_ppid(event);
		break;
	case SONDE_BIND_PID_NS:
		ret->i = sonde_event_pid_ns(event);
		return ret->i ? 0 : -ENOENT;
	case SONDE_BIND_PROCNAME:
	case SONDE_BIND_CGROUP:
	case SONDE_BIND_CONTAINER:
		return own_text(event, ref, ret);
	case SONDE_BIND_PRIO:
	case SONDE_BIND_NICE:
	case SONDE_BIND_POLICY:
		return own_schedule(event, ref, ret);
	case SONDE_BIND_EVENT:
	case SONDE_BIND_OWNS:
		break;
	}
	return ret->i < 0 ? -ENOENT : 0;
}

struct fetch {
	const struct bound *bound;
	const struct sonde_event *event;
};

/* Makes a string one in UTF-8. */
static int convert(struct sonde_lane *lane, struct sonde_value *value)
{
	uint32_t room = SONDE_LANE_CONVERTED - lane->nr_converted;
	char *to;

	if (sonde_encoding_unit(value->cls->encoding) == 1)
		return 0;
	if (!lane->converted)
		lane->converted = malloc(SONDE_LANE_CONVERTED);
	if (!lane->converted) {
		lane->no_memory = true;
		return -ENOMEM;
	}
	to = lane->converted + lane->nr_converted;
	value->length = sonde_value_utf8(value, to, room);
	if (value->length > room)
		return -ENOENT;
	value->text = to;
	lane->nr_converted += (uint32_t)value->length;
	return 0;
}

static int fetch(void *ctx, uint32_t ref, struct sonde_expr_value *ret)
{
	const struct fetch *from = ctx;
	const struct sonde_field *field;
	struct sonde_value value;
	int err;

	if (ref < FIRST_FIELD)
		return own_value(from->event, ref, ret);
	field = &from->bound->fields[ref - FIRST_FIELD];
	err = sonde_event_value(from->event, field, &value);
	if (err)
		return err;
	ret->type = type_of(field->cls);
	if (ret->type == SONDE_EXPR_STRING) {
		if (!value.text)
			return -ENOENT; /* bytes that aren't all there */
		err = convert(from->event->lane, &value);
		ret->text = value.text;
		ret->length = value.length < UINT32_MAX ?
				      (uint32_t)value.length :
				      UINT32_MAX;
	} else {
		ret->u = value.u;
	}
	return err;
}

static void make_env(const struct bound *bound, const struct sonde_event *event,
		     struct fetch *from, struct sonde_expr_env *env)
{
	from->bound = bound;
	from->event = event;
	env->call = fetch;
	env->ctx = from;
	event->lane->nr_converted = 0;
	env->bases[0] = event->data + (event->pos >> 3);
	for (uint32_t b = 1; b <= bound->last_base; b++)
		env->bases[b] = event->data + (sonde_lane_place(event, b) >> 3);
}

/* By the evaluator; apart, so that the way by native code needs no frame. */
static __attribute__((noinline)) bool
run_program(const struct bound *bound, const struct sonde_event *event)
{
	struct sonde_expr_env env;
	struct fetch from;

	if (bound->verdict != DEPENDS)
		return bound->verdict == ALWAYS;
	if (bound->is_plain)
		env.bases[0] = event->data + (event->pos >> 3);
	else
		make_env(bound, event, &from, &env);
	return sonde_program_test(bound->program, &env);
}

static __attribute__((noinline)) bool
run_with_block(const struct bound *bound, const struct sonde_event *event)
{
	return bound->native(event->data + (event->pos >> 3),
			     event->data + (sonde_lane_place(event, 1) >> 3));
}

bool sonde_filter_passes(const struct sonde_filter *filter,
			 const struct sonde_event *event)
{
	const struct bound *bound = &filter->classes[event->cls->info.index];

	if (!bound->native)
		return run_program(bound, event);
	if (bound->last_base)
		return run_with_block(bound, event);
	return bound->native(event->data + (event->pos >> 3), NULL);
}

bool sonde_filter_match(const struct sonde_filter *filter,
			const struct sonde_event *event)
{
	return sonde_filter_passes(filter, event);
}

int sonde_filter_value(const struct sonde_filter *filter,
		       const struct sonde_event *event,
		       struct sonde_value *ret_value)
{
	static const enum sonde_kind kinds[] = {
		[SONDE_EXPR_UINT] = SONDE_KIND_UINT,
		[SONDE_EXPR_INT] = SONDE_KIND_INT,
		[SONDE_EXPR_DOUBLE] = SONDE_KIND_FLOAT,
		[SONDE_EXPR_STRING] = SONDE_KIND_STRING,
	};
	const struct bound *bound = &filter->classes[event->cls->info.index];
	struct sonde_expr_value value;
	struct sonde_expr_env env;
	struct fetch from;

	if (!bound->program)
		return -ENOENT; /* its types don't fit this kind of event */
	make_env(bound, event, &from, &env);
	sonde_program_eval(bound->program, &env, &value);
	if (value.type == SONDE_EXPR_MISSING)
		return -ENOENT;
	*ret_value = (struct sonde_value){ .kind = kinds[value.type] };
	if (value.type == SONDE_EXPR_STRING) {
		ret_value->text = value.text;
		ret_value->length = value.length;
	} else {
		ret_value->u = value.u;
	}
	return 0;
}

bool sonde_filter_wants(const struct sonde_filter *filter,
			const struct sonde_event_class *cls)
{
	return filter->classes[cls->info.index].verdict != NEVER;
}

/* ---- binding ---- */

/* Whether it needs more of its environment than the bases. */
static bool calls(const struct sonde_program *program)
{
	for (uint32_t i = 0; i < program->nr_ops; i++)
		if (sonde_expr_op_infos[program->ops[i].code].operands &
		    SONDE_EXPR_OPERAND_CALL)
			return true;
	return false;
}

/* How its program will be run. */
static void choose_way(struct sonde_filter *filter, struct bound *bound)
{
	bool is_free = !calls(bound->program);

	for (uint32_t b = 0; b < SONDE_EXPR_BASES; b++)
		if (sonde_program_uses_base(bound->program, b))
			bound->last_base = b;
	bound->is_plain = is_free && !bound->last_base;
	if (is_free && bound->last_base < 2 && bound->verdict == DEPENDS)
		bound->native_at =
			sonde_native_add(&filter->native, bound->program);
}

static int bind_class(struct sonde_filter *filter,
		      const struct sonde_expr *expr, size_t i,
		      struct sonde_expr_error *error)
{
	struct bound *bound = &filter->classes[i];
	struct sonde_expr_value value;
	struct binding binding;
	int err;

	begin_binding(&binding, filter, i, bound);
	err = sonde_expr_compile(expr, &binding.scope, error, &bound->program);
	if (err)
		return err;
	if (sonde_program_constant(bound->program, &value))
		bound->verdict = sonde_expr_true(&value) ? ALWAYS : NEVER;
	choose_way(filter, bound);
	return 0;
}

static int filter_complain(const struct sonde_filter *filter,
			   const struct sonde_bind_slip *slip,
			   struct sonde_expr_error *error)
{
	char hint[SONDE_FILTER_HINT];

	error->column = slip->column;
	if (*slip->words) {
		(void)snprintf(error->text, sizeof(error->text), "%s",
			       slip->words);
		return -EINVAL;
	}
	sonde_hint_field(filter->trace, slip->name, hint, sizeof(hint));
	(void)snprintf(error->text, sizeof(error->text),
		       "no event has a field '%.80s'%.150s", slip->name,
		       *hint || *slip->name == '$' ?
			       hint :
			       "; text is put into quotes");
	return -EINVAL;
}

static bool is_own_event(const char *name)
{
	return !strcmp(name, "event") || !strcmp(name, "$event");
}

/* Those of internal classes, or of all others. */
static int try_classes(struct sonde_filter *filter,
		       struct sonde_bind_check *check, bool is_internal)
{
	const struct sonde_trace *trace = filter->trace;
	int err = 0;

	for (size_t i = 0;
	     i < trace->nr_classes && !err && !sonde_bind_check_settled(check);
	     i++) {
		struct bound bound = { 0 };
		struct binding binding;

		if (trace->classes[i]->info.internal != is_internal)
			continue;
		begin_binding(&binding, filter, i, &bound);
		err = sonde_bind_check_try(check, &binding.scope);
	}
	return err;
}

/* What no event has but internal ones, which few commands show. */
static void advise_of_internal(struct sonde_filter *filter,
			       struct sonde_bind_check *check)
{
	struct sonde_bind_slip slip;
	size_t at = 0;

	while (sonde_bind_check_next(check, &at, &slip))
		if (!is_own_event(slip.name))
			(void)snprintf(
				filter->advice, sizeof(filter->advice),
				"%s%.140s%s%s",
				*slip.words ? "" : "no event has a field '",
				*slip.words ? slip.words : slip.name,
				*slip.words ? "" : "'", SONDE_HINT_INTERNAL);
}

/* Events besides internal ones, whether they occur or not. */
static bool filter_has_events(const struct sonde_trace *trace)
{
	for (size_t i = 0; i < trace->nr_classes; i++)
		if (!trace->classes[i]->info.internal)
			return true;
	return false;
}

/* A name or a label that nothing has is a mistake: says so, rather than find
 * nothing. A trace without events has no names to be mistaken about. */
static int filter_check_words(struct sonde_filter *filter,
			      const struct sonde_expr *expr,
			      struct sonde_expr_error *error)
{
	struct sonde_bind_check *check;
	struct sonde_bind_slip slip;
	size_t at = 0;
	int err = sonde_bind_check_new(expr, &check);

	if (err)
		return err;
	err = try_classes(filter, check, false);
	if (!err)
		advise_of_internal(filter, check);
	if (!err)
		err = try_classes(filter, check, true);
	if (!filter_has_events(filter->trace))
		(void)snprintf(filter->advice, sizeof(filter->advice),
			       "the trace has no events");
	else
		while (!err && sonde_bind_check_next(check, &at, &slip))
			if (!is_own_event(slip.name)) /* check_events() warns */
				err = filter_complain(filter, &slip, error);
	sonde_bind_check_free(check);
	return err;
}

/* The same of an event: it may be that this trace has none such, which is said,
 * too, but is no error. */
static void check_events(struct sonde_filter *filter,
			 const struct sonde_expr *expr)
{
	char hint[SONDE_FILTER_HINT];
	struct sonde_expr_text text;
	size_t at = 0;

	while (sonde_expr_next_text(expr, &at, &text)) {
		if (!is_own_event(text.name) ||
		    sonde_hint_event(filter->trace, text.text, text.length,
				     hint, sizeof(hint)))
			continue;
		(void)snprintf(filter->advice, sizeof(filter->advice),
			       "no event here is called '%.*s'%.150s",
			       (int)(text.length < 80 ? text.length : 80),
			       text.text, hint);
		return;
	}
}

/* Whether events of this class have a field that is named. */
static bool is_about(struct sonde_filter *filter, const struct sonde_expr *expr,
		     size_t i)
{
	struct bound bound = { 0 };
	struct sonde_expr_source source;
	struct binding binding;
	uint32_t column;
	const char *name;

	begin_binding(&binding, filter, i, &bound);
	for (size_t n = 0; (name = sonde_expr_name(expr, n, &column)); n++)
		if (!sonde_bind_find(&binding.names, name, strlen(name),
				     &source) &&
		    bound.nr_fields)
			return true;
	return false;
}

/*
 * A name may be of a number in one event and of text in another, as `buf` is an
 * address when a call begins and bytes when it ends. Where the types don't fit,
 * the expression is missing; an error it is only if they fit nowhere.
 */
static int bind_classes(struct sonde_filter *filter,
			const struct sonde_expr *expr,
			struct sonde_expr_error *error)
{
	bool fits = false;
	bool failed = false;

	for (size_t i = 0; i < filter->trace->nr_classes; i++) {
		struct sonde_expr_error wrong;
		int err = bind_class(filter, expr, i, &wrong);

		if (!err) {
			fits = fits ||
			       (!filter->trace->classes[i]->info.internal &&
				is_about(filter, expr, i));
			continue;
		}
		if (err != -EINVAL) {
			*error = wrong;
			return err;
		}
		if (!failed)
			*error = wrong;
		failed = true;
		filter->classes[i].program = NULL;
		filter->classes[i].verdict = NEVER;
	}
	return failed && !fits ? -EINVAL : 0;
}

static int bind_all(struct sonde_filter *filter, const char *expression,
		    struct sonde_expr_error *error)
{
	struct sonde_expr *expr;
	int err = sonde_expr_parse(expression, error, &expr);

	if (err)
		return err;
	err = filter_check_words(filter, expr, error);
	check_events(filter, expr);
	if (!err)
		err = bind_classes(filter, expr, error);
	sonde_expr_free(expr);
	if (err)
		return err;
	sonde_native_seal(&filter->native);
	for (size_t i = 0; i < filter->nr_classes; i++)
		filter->classes[i].native = sonde_native_at(
			&filter->native, filter->classes[i].native_at);
	return 0;
}

int sonde_filter_new(struct sonde_trace *trace, const char *expression,
		     struct sonde_trace_error *error,
		     struct sonde_filter **ret_filter)
{
	struct sonde_expr_error where = { .text = "out of memory" };
	struct sonde_filter *filter = calloc(1, sizeof(*filter));
	int err = -ENOMEM;

	if (filter) {
		filter->trace = trace;
		sonde_pool_init(&filter->pool, 0);
		filter->nr_classes = trace->nr_classes;
		filter->classes =
			calloc(trace->nr_classes + 1, sizeof(struct bound));
		if (filter->classes)
			err = bind_all(filter, expression, &where);
	}
	if (err) {
		(void)snprintf(error->text, sizeof(error->text), "%s",
			       where.text);
		error->column = where.column;
		sonde_filter_free(filter);
		return err;
	}
	*ret_filter = filter;
	return 0;
}

const char *sonde_filter_advice(const struct sonde_filter *filter)
{
	return filter->advice;
}

void sonde_filter_free(struct sonde_filter *filter)
{
	if (!filter)
		return;
	for (size_t i = 0; filter->classes && i < filter->nr_classes; i++)
		sonde_program_free(filter->classes[i].program);
	free(filter->classes);
	sonde_native_fini(&filter->native);
	sonde_pool_fini(&filter->pool);
	free(filter);
}
