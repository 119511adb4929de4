/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * plan.c - how an event of the kernel becomes a record of ours (plan.h).
 *
 * First what runs a plan, for each record; then what makes one, once for each
 * event. A step reads within the record that the kernel promised and writes
 * within the payload's slack; located fields are checked for each record.
 */
#include "source/tracefs/plan.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "source/names.h"
#include "types/build.h"
#include "types/desc.h"

/* Bits of common_flags, the same on all kernels since 2.6.29; NMI since 4.7. */
#define FLAG_HARDIRQ 0x08u
#define FLAG_SOFTIRQ 0x10u
#define FLAG_NMI     0x40u

/* ---- running ---- */

static uint8_t *copy(uint8_t *out, const uint8_t *from, size_t bytes)
{
	/* Short pieces of any length: whole blocks are faster than a call of
	 * memcpy(); what is too much lands in the slack. */
	for (size_t done = 0; done < bytes; done += 16)
		memcpy(out + done, from + done, 16);
	return out + bytes;
}

static uint8_t *add(uint8_t *out, const uint8_t *from, size_t bytes,
		    int32_t number)
{
	uint64_t value = 0;

	/* Modulo 2^64 first: the low bytes are right whatever the width. */
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	memcpy(&value, from, bytes);
	value += (uint64_t)(int64_t)number;
	memcpy(out, &value, bytes);
#else
	memcpy((uint8_t *)&value + 8 - bytes, from, bytes);
	value += (uint64_t)(int64_t)number;
	memcpy(out, (uint8_t *)&value + 8 - bytes, bytes);
#endif
	return out + bytes;
}

/* Where a located field is; 0 bytes if that isn't in the record. */
static const uint8_t *locate(const struct sonde_tracefs_step *step,
			     const uint8_t *record, size_t size,
			     size_t *ret_bytes)
{
	uint32_t word;
	size_t offset;
	size_t bytes;

	memcpy(&word, record + step->from, sizeof(word));
	offset = word & 0xffff;
	bytes = word >> 16;
	if (step->is_relative)
		offset += step->from + 4u;
	*ret_bytes = offset <= size && bytes <= size - offset ? bytes : 0;
	return record + (*ret_bytes ? offset : 0);
}

static uint8_t *put_rwbs(const struct sonde_tracefs_step *step,
			 const uint8_t *from, uint8_t *out)
{
	uint32_t bits = sonde_source_rwbs((const char *)from, step->bytes);

	memcpy(out, &bits, sizeof(bits));
	return out + sizeof(bits);
}

static uint8_t *put_string(const struct sonde_tracefs_step *step,
			   const uint8_t *record, size_t size, uint8_t *out)
{
	size_t bytes;
	const uint8_t *text = locate(step, record, size, &bytes);
	const uint8_t *end = bytes ? memchr(text, 0, bytes) : NULL;

	if (end)
		bytes = (size_t)(end - text);
	memcpy(out, text, bytes);
	out[bytes] = 0;
	return out + bytes + 1;
}

static uint8_t *put_sequence(const struct sonde_tracefs_step *step,
			     const uint8_t *record, size_t size, uint8_t *out)
{
	size_t bytes;
	const uint8_t *data = locate(step, record, size, &bytes);
	uint32_t nr = (uint32_t)bytes / step->element;

	memcpy(out, &nr, sizeof(nr));
	memcpy(out + sizeof(nr), data, (size_t)nr * step->element);
	return out + sizeof(nr) + (size_t)nr * step->element;
}

static uint8_t interrupt_of(uint8_t flags)
{
	if (flags & (FLAG_HARDIRQ | FLAG_NMI))
		return 2;
	return flags & FLAG_SOFTIRQ ? 1 : 0;
}

uint8_t *sonde_tracefs_plan_run(const struct sonde_tracefs_plan *plan,
				const uint8_t *record, size_t size,
				uint8_t *out)
{
	if (size < plan->need)
		return NULL;
	for (uint32_t i = 0; i < plan->nr; i++) {
		const struct sonde_tracefs_step *step = &plan->steps[i];
		const uint8_t *from = record + step->from;

		switch ((enum sonde_tracefs_step_kind)step->kind) {
		case SONDE_TRACEFS_STEP_COPY_4:
			memcpy(out, from, 4);
			out += 4;
			break;
		case SONDE_TRACEFS_STEP_COPY_8:
			memcpy(out, from, 8);
			out += 8;
			break;
		case SONDE_TRACEFS_STEP_COPY:
			out = copy(out, from, step->bytes);
			break;
		case SONDE_TRACEFS_STEP_ADD:
			out = add(out, from, step->bytes, step->add);
			break;
		case SONDE_TRACEFS_STEP_RWBS:
			out = put_rwbs(step, from, out);
			break;
		case SONDE_TRACEFS_STEP_STRING:
			out = put_string(step, record, size, out);
			break;
		case SONDE_TRACEFS_STEP_SEQUENCE:
			out = put_sequence(step, record, size, out);
			break;
		case SONDE_TRACEFS_STEP_INTERRUPT:
			*out++ = interrupt_of(*from);
			break;
		}
	}
	return out;
}

/* ---- making ---- */

struct maker {
	const struct sonde_tracefs_plan_event *event;
	struct sonde_build build;
	struct sonde_tracefs_plan *plan;
	struct sonde_tracefs_plan_fields *fields;
	uint32_t nr_fields;
};

/* The record must reach so far. */
static void need(struct sonde_tracefs_plan *plan, uint32_t end)
{
	if (plan->need < end)
		plan->need = end;
}

static void settle(struct sonde_tracefs_step *step)
{
	step->kind = step->bytes == 4 ? SONDE_TRACEFS_STEP_COPY_4 :
		     step->bytes == 8 ? SONDE_TRACEFS_STEP_COPY_8 :
					SONDE_TRACEFS_STEP_COPY;
}

static void plan_copy(struct sonde_tracefs_plan *plan, uint32_t from,
		      uint32_t bytes)
{
	struct sonde_tracefs_step *last =
		plan->nr ? &plan->steps[plan->nr - 1] : NULL;

	need(plan, from + bytes);
	plan->fixed += bytes;
	if (last && last->kind <= SONDE_TRACEFS_STEP_COPY_8 &&
	    last->from + last->bytes == from) {
		last->bytes = (uint16_t)(last->bytes + bytes);
		settle(last);
		return;
	}
	last = &plan->steps[plan->nr++];
	*last = (struct sonde_tracefs_step){ .from = (uint16_t)from,
					     .bytes = (uint16_t)bytes };
	settle(last);
}

static void plan_step(struct sonde_tracefs_plan *plan,
		      struct sonde_tracefs_step step, uint32_t bytes)
{
	need(plan, step.from + bytes);
	step.bytes = (uint16_t)bytes;
	if (step.kind == SONDE_TRACEFS_STEP_ADD ||
	    step.kind == SONDE_TRACEFS_STEP_INTERRUPT)
		plan->fixed += bytes;
	else if (step.kind == SONDE_TRACEFS_STEP_RWBS)
		plan->fixed += 4;
	else
		plan->nr_varying++;
	plan->steps[plan->nr++] = step;
}

static int32_t added(const struct sonde_source_field_name *name)
{
	return name->conversion == SONDE_SOURCE_ADD ? name->add : 0;
}

static void list_field(struct maker *maker,
		       const struct sonde_format_field *field,
		       const struct sonde_source_field_name *name)
{
	struct sonde_tracefs_field *to =
		&maker->fields->fields[maker->fields->nr++];

	*to = (struct sonde_tracefs_field){
		.name = name->name,
		.kernel_name = field->name,
		.size = field->size,
		.is_signed = field->is_signed,
		.add = added(name),
	};
}

static void make_number(struct maker *maker,
			const struct sonde_format_field *field,
			const struct sonde_source_field_name *name)
{
	struct sonde_tracefs_step step = { .kind = SONDE_TRACEFS_STEP_ADD,
					   .from = (uint16_t)field->offset,
					   .add = added(name) };
	uint32_t flags = (field->is_signed ? SONDE_FIELD_SIGNED : 0) |
			 (field->is_pointer ? SONDE_FIELD_HEX : 0) |
			 (field->is_bool ? SONDE_FIELD_BOOL : 0);

	sonde_source_describe(&maker->build, name->name,
			      (uint8_t)(field->size * 8),
			      name->labels ? flags & SONDE_FIELD_SIGNED : flags,
			      name->labels);
	list_field(maker, field, name);
	if (step.add)
		plan_step(maker->plan, step, field->size);
	else
		plan_copy(maker->plan, field->offset, field->size);
}

static void make_text(struct maker *maker,
		      const struct sonde_format_field *field,
		      const struct sonde_source_field_name *name)
{
	struct sonde_tracefs_step step = { .kind = SONDE_TRACEFS_STEP_RWBS,
					   .from = (uint16_t)field->offset };

	if (name->conversion == SONDE_SOURCE_RWBS) {
		sonde_build_int(&maker->build, name->name, 32, 0);
		plan_step(maker->plan, step, field->size);
		return;
	}
	sonde_build_text(&maker->build, name->name, field->size);
	plan_copy(maker->plan, field->offset, field->size);
}

static void make_located(struct maker *maker,
			 const struct sonde_format_field *field,
			 const struct sonde_source_field_name *name)
{
	bool is_string = field->kind == SONDE_FORMAT_STRING;
	struct sonde_tracefs_step step = {
		.kind = is_string ? SONDE_TRACEFS_STEP_STRING :
				    SONDE_TRACEFS_STEP_SEQUENCE,
		.element = field->element,
		.from = (uint16_t)field->offset,
		.is_relative = field->is_relative,
	};

	if (is_string)
		sonde_build_string(&maker->build, name->name);
	else
		sonde_build_sequence(&maker->build, name->name,
				     (uint8_t)(field->element * 8),
				     field->is_signed ? SONDE_FIELD_SIGNED : 0);
	plan_step(maker->plan, step, 4);
}

static void make_field(struct maker *maker,
		       const struct sonde_format_field *field,
		       const struct sonde_source_field_name *name)
{
	maker->nr_fields++;
	switch (field->kind) {
	case SONDE_FORMAT_INT:
		make_number(maker, field, name);
		break;
	case SONDE_FORMAT_TEXT:
		make_text(maker, field, name);
		break;
	case SONDE_FORMAT_ARRAY:
		sonde_build_array(&maker->build, name->name,
				  field->size / field->element,
				  (uint8_t)(field->element * 8),
				  field->is_signed ? SONDE_FIELD_SIGNED : 0);
		plan_copy(maker->plan, field->offset, field->size);
		break;
	case SONDE_FORMAT_STRING:
	case SONDE_FORMAT_SEQUENCE:
		make_located(maker, field, name);
		break;
	}
}

/* The fields that the kernel gives to all probes, in plain words. */
static const char *probe_field(const char *name)
{
	static const char *const names[][2] = {
		{ "__probe_ip", "ip" },
		{ "__probe_func", "function" },
		{ "__probe_ret_ip", "return_ip" },
		{ "__probe_vaddr", "ip" },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(name, names[i][0]))
			return names[i][1];
	return name;
}

static bool is_wakeup(const struct sonde_tracefs_plan_event *event)
{
	return !strcmp(event->group, "sched") &&
	       (!strcmp(event->name, "sched_waking") ||
		!strcmp(event->name, "sched_wakeup") ||
		!strcmp(event->name, "sched_wakeup_new"));
}

/* Kernels that don't say are not asked: the field is missing then. */
static void make_interrupt(struct maker *maker,
			   const struct sonde_format *format)
{
	const struct sonde_format_field *flags =
		sonde_format_find(format, "common_flags");
	struct sonde_tracefs_step step = {
		.kind = SONDE_TRACEFS_STEP_INTERRUPT
	};

	if (!flags || flags->kind != SONDE_FORMAT_INT || flags->size != 1 ||
	    maker->nr_fields == SONDE_FIELDS_MAX)
		return;
	step.from = (uint16_t)flags->offset;
	sonde_build_int(&maker->build, "in_interrupt", 8, SONDE_FIELD_SIGNED);
	plan_step(maker->plan, step, 1);
}

static int make_by_format(struct maker *maker,
			  const struct sonde_format *format, void *room)
{
	const struct sonde_tracefs_plan_event *event = maker->event;

	sonde_build_begin(&maker->build, room,
			  event->provider ? event->provider : event->group,
			  event->shown, SONDE_INFO);
	for (uint32_t i = 0; i < format->nr; i++) {
		const struct sonde_format_field *field = &format->fields[i];
		struct sonde_source_field_name name = { .name = field->name };

		if (field->is_common || maker->nr_fields == SONDE_FIELDS_MAX)
			continue;
		if (event->is_probe)
			name.name = probe_field(field->name);
		else
			sonde_source_field_name(event->group, event->name,
						field->name, &name);
		make_field(maker, field, &name);
	}
	if (is_wakeup(event))
		make_interrupt(maker, format);
	return sonde_build_end(&maker->build);
}

/* ---- system calls ---- */

/* The i-th argument's field: those after the call's number, without what newer
 * kernels put behind them ("__filename_val"). */
static const struct sonde_format_field *
arg_field(const struct sonde_format *format, uint32_t i)
{
	for (uint32_t k = 0; k < format->nr; k++) {
		const struct sonde_format_field *field = &format->fields[k];

		if (field->is_common || !strncmp(field->name, "__", 2))
			continue;
		if (!i--)
			return field->kind == SONDE_FORMAT_INT ? field : NULL;
	}
	return NULL;
}

static uint32_t nr_args(const struct sonde_syscall *call)
{
	uint32_t nr = 0;

	while (nr < SONDE_SYSCALL_ARGS && call->args[nr].kind != SONDE_ARG_NONE)
		nr++;
	return nr;
}

/* Whether the record has what the call's description tells of. */
static bool call_fits(const struct sonde_tracefs_plan_event *event,
		      const struct sonde_format *format)
{
	uint32_t nr = event->is_exit ? 1 : nr_args(event->call);

	for (uint32_t i = 0; i < nr; i++) {
		const struct sonde_format_field *field = arg_field(format, i);

		if (!field || field->size != 8)
			return false;
	}
	return !arg_field(format, nr);
}

/*
 * A filter may speak of what is as wide in the kernel's record as in ours. The
 * kernel has an int argument as a 64-bit register, of which the upper half may
 * be anything, so a comparison there would not be ours.
 */
static void plan_arg(struct maker *maker,
		     const struct sonde_format_field *field,
		     const char *arg_name, uint32_t bytes)
{
	struct sonde_source_field_name name = { .name = arg_name };
	uint32_t from = field->offset;

#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	from += 8 - bytes;
#endif
	plan_copy(maker->plan, from, bytes);
	if (bytes == 8)
		list_field(maker, field, &name);
}

/* Where the kernel records the string that an argument points to; or NULL. */
static const struct sonde_format_field *
value_field(const struct sonde_format *format, uint32_t i)
{
	const struct sonde_format_field *arg = arg_field(format, i);
	const struct sonde_format_field *value;
	char name[SONDE_FORMAT_NAME + 8];

	if (!arg)
		return NULL;
	(void)snprintf(name, sizeof(name), "__%s_val", arg->name);
	value = sonde_format_find(format, name);
	return value && value->kind == SONDE_FORMAT_STRING ? value : NULL;
}

static bool is_string(const struct sonde_syscall_arg *arg)
{
	return arg->kind == SONDE_ARG_STRING || arg->kind == SONDE_ARG_STRINGS;
}

/* The call as this record has it: a string that isn't there is a pointer.
 * Whether it has any. */
static bool keep_strings(const struct sonde_format *format, bool has_strings,
			 struct sonde_syscall *call)
{
	bool found = false;

	for (uint32_t i = 0; i < nr_args(call); i++) {
		if (!is_string(&call->args[i]))
			continue;
		if (has_strings && value_field(format, i))
			found = true;
		else
			call->args[i].kind = SONDE_ARG_POINTER;
	}
	return found;
}

/* Strings, or lists of them, come behind all numbers. */
static void plan_strings(struct maker *maker, const struct sonde_format *format,
			 const struct sonde_syscall *call,
			 enum sonde_arg_kind kind)
{
	for (uint32_t i = 0; i < nr_args(call); i++) {
		const struct sonde_format_field *field;
		struct sonde_tracefs_step step = {
			.kind = SONDE_TRACEFS_STEP_STRING
		};

		if (call->args[i].kind != kind)
			continue;
		field = value_field(format, i);
		step.from = (uint16_t)field->offset;
		step.is_relative = field->is_relative;
		plan_step(maker->plan, step, 4);
	}
}

static int make_entry(struct maker *maker, const struct sonde_format *format,
		      void *room)
{
	struct sonde_syscall call = *maker->event->call;
	struct sonde_syscall_form form = {
		.has_strings =
			keep_strings(format, maker->event->has_strings, &call)
	};

	for (uint32_t i = 0; i < nr_args(&call); i++) {
		const struct sonde_syscall_arg *arg = &call.args[i];
		bool is_int = arg->kind == SONDE_ARG_INT ||
			      arg->kind == SONDE_ARG_UINT;

		if (!is_string(arg))
			plan_arg(maker, arg_field(format, i), arg->name,
				 is_int ? 4 : 8);
	}
	plan_strings(maker, format, &call, SONDE_ARG_STRING);
	plan_strings(maker, format, &call, SONDE_ARG_STRINGS);
	return sonde_syscall_describe(SONDE_SYSCALL_NATIVE, &call, false, &form,
				      room);
}

static int make_exit(struct maker *maker, const struct sonde_format *format,
		     void *room)
{
	const struct sonde_syscall_form form = { .has_strings = false };

	plan_arg(maker, arg_field(format, 0), "ret", 8);
	return sonde_syscall_describe(SONDE_SYSCALL_NATIVE, maker->event->call,
				      true, &form, room);
}

/* Whether common_type and common_pid are where the consumer looks. */
static bool has_common(const struct sonde_format *format)
{
	const struct sonde_format_field *type =
		sonde_format_find(format, "common_type");
	const struct sonde_format_field *pid =
		sonde_format_find(format, "common_pid");

	return type && type->offset == 0 && type->size == 2 && pid &&
	       pid->offset == 4 && pid->size == 4;
}

int sonde_tracefs_plan_make(const struct sonde_tracefs_plan_event *event,
			    const struct sonde_format *format, void *room,
			    struct sonde_tracefs_plan *ret_plan,
			    struct sonde_tracefs_plan_fields *ret_fields)
{
	struct sonde_tracefs_plan plan = { .need = 8 };
	struct sonde_tracefs_plan_fields fields = { .nr = 0 };
	struct maker maker = { .event = event,
			       .plan = &plan,
			       .fields = &fields };
	const struct sonde_desc *desc;
	int rc;

	if (!has_common(format) || format->id > UINT16_MAX)
		return -EINVAL;
	if (event->call && call_fits(event, format))
		rc = event->is_exit ? make_exit(&maker, format, room) :
				      make_entry(&maker, format, room);
	else
		rc = make_by_format(&maker, format, room);
	if (!rc)
		rc = sonde_desc_check(room, SONDE_DESC_MAX, &desc);
	if (rc)
		return rc;
	*ret_plan = plan;
	*ret_fields = fields;
	return 0;
}
