/* SPDX-License-Identifier: MIT */
/*
 * field.c - one field of an event, by its path.
 *
 * A path is resolved once, to a place (block and offset, plan.h) if the class
 * has one, so that reading costs a load; otherwise to the indexes to follow in
 * a walk.
 */
#include <errno.h>
#include <string.h>

#include "base/number.h"
#include "base/port.h"
#include "reader/attribution.h"
#include "reader/core/lane.h"
#include "reader/core/load.h"
#include "reader/core/walk.h"
#include "sys/proc.h"

const struct sonde_class *
sonde_event_class_scope(const struct sonde_event_class *cls,
			enum sonde_scope scope)
{
	const struct sonde_source *source = cls->info.source;

	switch (scope) {
	case SONDE_SCOPE_PACKET_HEADER:
		return source->schema->packet_header;
	case SONDE_SCOPE_PACKET_CONTEXT:
	case SONDE_SCOPE_EVENT_HEADER:
	case SONDE_SCOPE_COMMON_CONTEXT:
		return cls->stream_class->scopes[scope];
	case SONDE_SCOPE_EVENT_CONTEXT:
	case SONDE_SCOPE_PAYLOAD:
		return cls->scopes[scope];
	case SONDE_NR_SCOPES:
		break;
	}
	return NULL;
}

/* The next part of a path: a name, or an index in brackets. */
struct part {
	const char *name;
	size_t length;
	bool indexed;
	uint64_t index;
};

/* 1 and *part, 0 at the end, -EINVAL. */
static int next_part(const char **path, bool first, struct part *part)
{
	const char *at = *path;

	if (!*at)
		return 0;
	if (*at == '[') {
		at++;
		part->indexed = true;
		if (!sonde_number_take(&at, 10, UINT64_MAX, &part->index) ||
		    *at != ']')
			return -EINVAL;
		*path = at + 1;
		return 1;
	}
	if (!first && *at++ != '.')
		return -EINVAL;
	part->indexed = false;
	part->name = at;
	part->length = strcspn(at, ".[");
	*path = at + part->length;
	return part->length ? 1 : -EINVAL;
}

static int64_t field_find_member(const struct sonde_class *cls,
				 const struct part *part)
{
	for (size_t i = 0; i < cls->nr_members; i++)
		if (cls->members[i].name &&
		    !strncmp(cls->members[i].name, part->name, part->length) &&
		    !cls->members[i].name[part->length])
			return (int64_t)i;
	return -ENOENT;
}

/* The number, within `cls`, of what the part names; negative errno. */
static int64_t index_of(const struct sonde_class *cls, const struct part *part)
{
	switch (cls->kind) {
	case SONDE_KIND_STRUCT:
	case SONDE_KIND_VARIANT:
		return part->indexed ? -EINVAL : field_find_member(cls, part);
	case SONDE_KIND_ARRAY:
		if (!part->indexed)
			return -EINVAL;
		return part->index < cls->count ? (int64_t)part->index :
						  -ENOENT;
	case SONDE_KIND_SEQUENCE:
		if (!part->indexed)
			return -EINVAL;
		return part->index < UINT32_MAX ? (int64_t)part->index :
						  -ENOENT;
	case SONDE_KIND_UINT:
	case SONDE_KIND_INT:
	case SONDE_KIND_BOOL:
	case SONDE_KIND_BITS:
	case SONDE_KIND_FLOAT:
	case SONDE_KIND_STRING:
	case SONDE_KIND_BLOB:
	case SONDE_KIND_OPTIONAL:
		break;
	}
	return -EINVAL;
}

static const struct sonde_class *element(const struct sonde_class *cls,
					 int64_t index)
{
	bool alike = cls->kind == SONDE_KIND_ARRAY ||
		     cls->kind == SONDE_KIND_SEQUENCE;

	return cls->members[alike ? 0 : index].cls;
}

/* One step down; optionals on the way are passed through. */
static int descend(struct sonde_field *field, int64_t index)
{
	field->cls = element(field->cls, index);
	for (;;) {
		if (field->depth == SONDE_FIELD_DEPTH)
			return -EINVAL;
		field->path[field->depth++] = (uint32_t)index;
		if (field->cls->kind != SONDE_KIND_OPTIONAL)
			return 0;
		field->cls = field->cls->members[0].cls;
		index = 0;
	}
}

/* Of the first block, which begins with the body. */
enum quick {
	QUICK_NOT,
	QUICK_NUMBER, /* whole */
	QUICK_TEXT,
};

static bool is_at_byte(const struct sonde_field *field)
{
	const struct sonde_plan *plan = field->owner->plan;

	return field->block < 16 && (plan->byte_blocks >> field->block & 1);
}

/* Most fields are plain numbers or strings, which sonde_event_value() reads by
 * itself. */
static void set_load(struct sonde_field *field)
{
	const struct sonde_class *cls = field->cls;
	struct sonde_load load = sonde_load_of(cls);
	bool as_it_is = cls->kind == SONDE_KIND_UINT ||
			cls->kind == SONDE_KIND_INT ||
			cls->kind == SONDE_KIND_BITS ||
			(cls->kind == SONDE_KIND_FLOAT && cls->bits == 64);

	field->simple = field->direct && as_it_is && load.bits &&
			!load.reversed && !cls->nr_origins;
	field->text = field->direct && cls->kind == SONDE_KIND_STRING &&
		      cls->length != SONDE_LENGTH_FIELD &&
		      cls->encoding == SONDE_ENCODING_UTF8 &&
		      cls->count <= UINT32_MAX;
	field->room =
		cls->length == SONDE_LENGTH_FIXED ? (uint32_t)cls->count : 0;
	field->text &= cls->length == SONDE_LENGTH_ZERO || field->room;
	field->kind = (uint8_t)cls->kind;
	field->bits = load.bits;
	field->big_endian = load.big_endian;
	field->is_signed = load.is_signed;
	field->mask = load.bits ? UINT64_MAX >> (64 - load.bits) : 0;
	field->sign = load.is_signed ? field->mask ^ field->mask >> 1 : 0;
	field->whole = field->simple && sonde_is_native(load.big_endian) &&
		       field->offset % 8 == 0 && is_at_byte(field);
	field->at = field->offset / 8;
	if (field->block == 0 && field->whole)
		field->quick = QUICK_NUMBER;
	else if (field->block == 0 && field->text && field->offset % 8 == 0 &&
		 is_at_byte(field))
		field->quick = QUICK_TEXT;
}

/* A field that is the scope itself, so far. */
static int begin_field(const struct sonde_event_class *cls,
		       enum sonde_scope scope, struct sonde_field *field)
{
	*field = (struct sonde_field){
		.owner = cls,
		.cls = sonde_event_class_scope(cls, scope),
		.scope = (uint8_t)scope,
	};
	return field->cls ? 0 : -ENOENT;
}

static void end_field(struct sonde_field *field)
{
	field->direct = field->cls->placed &&
			field->scope >= SONDE_SCOPE_COMMON_CONTEXT;
	field->block = field->cls->block;
	field->offset = field->cls->offset;
	set_load(field);
}

int sonde_event_class_member(const struct sonde_event_class *cls,
			     enum sonde_scope scope, size_t i,
			     struct sonde_field *ret_field)
{
	int err = begin_field(cls, scope, ret_field);

	if (err || i >= ret_field->cls->nr_members)
		return -ENOENT;
	err = descend(ret_field, (int64_t)i);
	if (!err)
		end_field(ret_field);
	return err;
}

static int field_find_in(const struct sonde_event_class *cls,
			 enum sonde_scope scope, const char *path,
			 struct sonde_field *field)
{
	struct part part = { 0 };
	bool first = true;
	int more = begin_field(cls, scope, field);

	if (more)
		return more;
	while ((more = next_part(&path, first, &part)) > 0) {
		int64_t index = index_of(field->cls, &part);

		if (index < 0)
			return first && index == -EINVAL ? -ENOENT : (int)index;
		more = descend(field, index);
		if (more)
			return more;
		first = false;
	}
	if (more || first)
		return -EINVAL;
	end_field(field);
	return 0;
}

int sonde_event_class_field(const struct sonde_event_class *cls,
			    enum sonde_scope scope, const char *path,
			    struct sonde_field *ret_field)
{
	static const enum sonde_scope order[] = {
		SONDE_SCOPE_PAYLOAD,        SONDE_SCOPE_EVENT_CONTEXT,
		SONDE_SCOPE_COMMON_CONTEXT, SONDE_SCOPE_PACKET_CONTEXT,
		SONDE_SCOPE_EVENT_HEADER,   SONDE_SCOPE_PACKET_HEADER,
	};
	struct sonde_field field;
	int err = -ENOENT;

	if (scope != SONDE_NR_SCOPES)
		err = field_find_in(cls, scope, path, &field);
	else
		for (size_t i = 0; i < SONDE_NR_SCOPES && err == -ENOENT; i++)
			err = field_find_in(cls, order[i], path, &field);
	if (!err)
		*ret_field = field;
	return err;
}

/* Passes over what is before the element with this number in the group that
 * the walk is in. For those of variants and optionals the number is the one
 * that was chosen. 0, -ENOENT. */
static int pass_to(struct sonde_walk *walk, uint32_t index)
{
	struct sonde_walk_level *level = &walk->level[walk->depth - 1];
	int depth = walk->depth;
	struct sonde_value value;
	const char *name;

	if (level->cls->kind == SONDE_KIND_VARIANT && level->at != index)
		return -ENOENT;
	while (walk->depth > depth || level->at != index) {
		if (walk->depth == depth && level->at >= level->length)
			return -ENOENT;
		if (!sonde_walk_next(walk, &name, &value))
			return -ENOENT;
	}
	return level->at < level->length ? 0 : -ENOENT;
}

static int walk_to(const struct sonde_event *event,
		   const struct sonde_field *field,
		   struct sonde_value *ret_value)
{
	struct sonde_walk walk;
	const char *name;

	sonde_walk_begin(&walk, event, (enum sonde_scope)field->scope);
	for (uint32_t i = 0; i < field->depth; i++) {
		if (!walk.depth || pass_to(&walk, field->path[i]))
			return -ENOENT;
		switch (sonde_walk_next(&walk, &name, ret_value)) {
		case SONDE_WALK_VALUE:
			return i + 1 == field->depth ? 0 : -ENOENT;
		case SONDE_WALK_GROUP:
			break;
		case SONDE_WALK_END:
		case SONDE_WALK_GROUP_END:
			return -ENOENT;
		}
	}
	return 0;
}

static int other_value(const struct sonde_event *event,
		       const struct sonde_field *field,
		       struct sonde_value *ret_value)
{
	const struct sonde_class *cls = field->cls;
	struct sonde_value value;
	uint64_t pos;
	int err = 0;

	if (field->direct && sonde_kind_is_leaf(cls->kind)) {
		if (cls->length == SONDE_LENGTH_FIELD)
			sonde_lane_locate(event);
		pos = sonde_lane_place(event, field->block) + field->offset;
		if (!sonde_walk_leaf(cls, event->data, &pos,
				     event->lane->content, event->lane->regs,
				     &value))
			err = -ENOENT;
	} else {
		err = walk_to(event, field, &value);
	}
	if (!err)
		*ret_value = value;
	return err;
}

static inline void text_value(const struct sonde_event *event,
			      const struct sonde_field *field,
			      const uint8_t *from,
			      struct sonde_value *ret_value)
{
	uint64_t room = field->room;

	if (!room)
		room = (event->lane->content >> 3) -
		       (uint64_t)(from - event->data);
	ret_value->kind = SONDE_KIND_STRING;
	ret_value->cls = field->cls;
	ret_value->text = (const char *)from;
	ret_value->length = sonde_load_strnlen(from, room);
}

static inline void set_number(const struct sonde_field *field, uint64_t number,
			      struct sonde_value *ret_value)
{
	ret_value->kind = (enum sonde_kind)field->kind;
	ret_value->cls = field->cls;
	ret_value->length = 0;
	ret_value->u = number;
}

__attribute__((always_inline)) static inline int
read_value(const struct sonde_event *event, const struct sonde_field *field,
	   struct sonde_value *ret_value)
{
	uint64_t pos;

	if (__builtin_expect(field->whole, 1)) {
		pos = sonde_lane_place(event, field->block) + field->offset;
		set_number(field,
			   sonde_load_native(event->data + (pos >> 3),
					     field->bits, field->mask,
					     field->sign),
			   ret_value);
		return 0;
	}
	if (!field->simple && !field->text)
		return other_value(event, field, ret_value);
	/* what has a place is whole: the lane has passed over it */
	pos = sonde_lane_place(event, field->block) + field->offset;
	if (field->text) {
		text_value(event, field, event->data + (pos >> 3), ret_value);
		return 0;
	}
	set_number(field,
		   sonde_load(event->data, pos,
			      (struct sonde_load){
				      .bits = field->bits,
				      .big_endian = field->big_endian,
				      .is_signed = field->is_signed,
			      }),
		   ret_value);
	return 0;
}

int sonde_event_value(const struct sonde_event *event,
		      const struct sonde_field *field,
		      struct sonde_value *ret_value)
{
	return read_value(event, field, ret_value);
}

size_t sonde_event_values(const struct sonde_event *event,
			  const struct sonde_field *fields, size_t nr_fields,
			  struct sonde_value *ret_values)
{
	/* the compiler can't know that values aren't the event */
	const uint8_t *body = event->data + (event->pos >> 3);
	size_t nr = nr_fields;

	for (size_t i = 0; i < nr_fields; i++) {
		const struct sonde_field *field = &fields[i];
		struct sonde_value *value = &ret_values[i];

		if (__builtin_expect(field->quick == QUICK_NUMBER, 1)) {
			set_number(field,
				   sonde_load_native(body + field->at,
						     field->bits, field->mask,
						     field->sign),
				   value);
		} else if (field->quick == QUICK_TEXT) {
			text_value(event, field, body + field->at, value);
		} else if (read_value(event, field, value)) {
			value->cls = NULL;
			nr--;
		}
	}
	return nr;
}

static int32_t number_of(const struct sonde_event *event,
			 const struct sonde_field *field)
{
	struct sonde_value value;

	if (!field->owner || sonde_event_value(event, field, &value) ||
	    value.kind > SONDE_KIND_INT || value.i < -1 || value.i > INT32_MAX)
		return -1;
	return (int32_t)value.i;
}

const struct sonde_attribution *
sonde_trace_attribution(struct sonde_trace *trace, size_t machine)
{
	struct sonde_trace_machine *of = &trace->machines[machine];

	/* Pairs with the release below: all that it points to. */
	if (sonde_load_acquire(&of->attribution_made))
		return of->attribution;
	pthread_mutex_lock(&trace->attribution_mutex);
	if (!of->attribution_made) {
		if (trace->attributor)
			of->attribution_error = trace->attributor->make(
				trace, machine, &of->attribution);
		/* Pairs with the acquire in sonde_trace_attribution: what
		 * make() made. */
		sonde_store_release(&of->attribution_made, true);
	}
	pthread_mutex_unlock(&trace->attribution_mutex);
	return of->attribution;
}

const char *sonde_trace_attribution_lack(const struct sonde_trace *trace,
					 size_t machine)
{
	switch (trace->machines[machine].attribution_error) {
	case -E2BIG:
		return "which thread an event is of that doesn't say it, and "
		       "what threads are called, is not known: the trace has "
		       "more switches and names than are kept; sonde cut "
		       "makes a shorter one";
	case -ENOMEM:
		return "which thread an event is of that doesn't say it, and "
		       "what threads are called, is not known: no memory left";
	default:
		return NULL;
	}
}

/* What is known of the machine that the event is of; NULL: nothing. */
static const struct sonde_attribution *
attribution_of(const struct sonde_event *event)
{
	return sonde_trace_attribution(event->stream->trace,
				       event->stream->source->machine);
}

/* What a program's event says of itself is as the program sees it. */
static int32_t number_there(const struct sonde_event *event, int32_t own)
{
	const struct sonde_trace *trace = event->stream->trace;
	const struct sonde_attribution *attribution;

	if (__builtin_expect(!trace->has_own_numbers, 1) || !trace->attributor)
		return own;
	attribution = attribution_of(event);
	return attribution ?
		       trace->attributor->number(attribution, event, own) :
		       -1;
}

int32_t sonde_event_own_tid(const struct sonde_event *event)
{
	const struct sonde_plan *plan = event->cls->plan;

	return event->tid != -1 ? number_there(event, event->tid) :
				  number_of(event, &plan->tid);
}

int32_t sonde_event_own_pid(const struct sonde_event *event)
{
	const struct sonde_plan *plan = event->cls->plan;

	return event->pid != -1 ? number_there(event, event->pid) :
				  number_of(event, &plan->pid);
}

int32_t sonde_event_tid(const struct sonde_event *event)
{
	struct sonde_trace *trace = event->stream->trace;
	int32_t tid = sonde_event_own_tid(event);
	const struct sonde_attribution *attribution;

	if (tid >= 0)
		return tid;
	attribution = attribution_of(event);
	return attribution ? trace->attributor->tid(attribution, event) : -1;
}

int32_t sonde_event_pid(const struct sonde_event *event)
{
	struct sonde_trace *trace = event->stream->trace;
	int32_t pid = sonde_event_own_pid(event);
	const struct sonde_attribution *attribution;

	if (pid >= 0)
		return pid;
	attribution = attribution_of(event);
	return attribution ? trace->attributor->pid(attribution,
						    sonde_event_tid(event)) :
			     -1;
}

int sonde_event_own_procname(const struct sonde_event *event,
			     struct sonde_value *ret_value)
{
	const struct sonde_plan *plan = event->cls->plan;
	const struct sonde_field *field = &plan->procname;

	return field->owner && !sonde_event_value(event, field, ret_value) &&
			       ret_value->kind == SONDE_KIND_STRING ?
		       0 :
		       -ENOENT;
}

/* NULL: it isn't known. */
static int known_text(const char *text, struct sonde_value *ret_value)
{
	if (!text)
		return -ENOENT;
	*ret_value = (struct sonde_value){
		.kind = SONDE_KIND_STRING,
		.length = strlen(text),
		.text = text,
	};
	return 0;
}

int sonde_event_procname(const struct sonde_event *event,
			 struct sonde_value *ret_value)
{
	struct sonde_trace *trace = event->stream->trace;
	const struct sonde_attribution *attribution;
	const char *name = NULL;

	if (!sonde_event_own_procname(event, ret_value))
		return 0;
	attribution = attribution_of(event);
	if (attribution)
		name = trace->attributor->name(attribution, event,
					       sonde_event_tid(event));
	return known_text(name, ret_value);
}

int32_t sonde_event_ppid(const struct sonde_event *event)
{
	struct sonde_trace *trace = event->stream->trace;
	const struct sonde_attribution *attribution = attribution_of(event);
	int32_t ppid = -1;

	/* A dump tells it of each thread, the recorder of the process. */
	if (attribution)
		ppid = trace->attributor->ppid(attribution,
					       sonde_event_tid(event));
	if (attribution && ppid < 0)
		ppid = trace->attributor->ppid(attribution,
					       sonde_event_pid(event));
	return ppid;
}

uint32_t sonde_event_pid_ns(const struct sonde_event *event)
{
	struct sonde_trace *trace = event->stream->trace;
	const struct sonde_attribution *attribution = attribution_of(event);

	return attribution ? trace->attributor->pid_ns(attribution, event,
						       sonde_event_pid(event)) :
			     0;
}

int sonde_event_cgroup(const struct sonde_event *event,
		       struct sonde_value *ret_value)
{
	struct sonde_trace *trace = event->stream->trace;
	const struct sonde_attribution *attribution = attribution_of(event);
	const char *path = NULL;

	if (attribution)
		path = trace->attributor->cgroup(attribution, event,
						 sonde_event_pid(event));
	return known_text(path, ret_value);
}

int sonde_event_container(const struct sonde_event *event,
			  struct sonde_value *ret_value)
{
	struct sonde_value group = { .text = NULL };
	const char *id = NULL;
	int err = sonde_event_cgroup(event, &group);

	if (!err)
		id = sonde_proc_container_id(group.text);
	err = err ? err : known_text(id, ret_value);
	if (!err)
		ret_value->length = SONDE_CONTAINER_SHORT;
	return err;
}

const struct sonde_event_schedule *
sonde_event_schedule(const struct sonde_event *event)
{
	struct sonde_trace *trace = event->stream->trace;
	const struct sonde_attribution *attribution = attribution_of(event);

	return attribution ?
		       trace->attributor->schedule(attribution, event,
						   sonde_event_tid(event)) :
		       NULL;
}

int32_t sonde_event_cpu(const struct sonde_event *event)
{
	return event->stream->packets[event->packet].cpu;
}

const char *sonde_event_name(const struct sonde_event *event)
{
	return event->cls->info.name;
}

uint64_t sonde_event_offset(const struct sonde_event *event)
{
	return event->stream->packets[event->packet].offset +
	       ((event->pos - event->head_bits) >> 3);
}

uint64_t sonde_event_bytes(const struct sonde_event *event)
{
	uint64_t start = event->pos - event->head_bits;

	return ((event->end + 7) >> 3) - (start >> 3);
}

size_t sonde_event_packet(const struct sonde_event *event)
{
	return event->packet;
}

static unsigned int put_utf8(char *to, uint32_t c)
{
	if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
		c = 0xfffd;
	if (c < 0x80) {
		to[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		to[0] = (char)(0xc0 | c >> 6);
		to[1] = (char)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c < 0x10000) {
		to[0] = (char)(0xe0 | c >> 12);
		to[1] = (char)(0x80 | (c >> 6 & 0x3f));
		to[2] = (char)(0x80 | (c & 0x3f));
		return 3;
	}
	to[0] = (char)(0xf0 | c >> 18);
	to[1] = (char)(0x80 | (c >> 12 & 0x3f));
	to[2] = (char)(0x80 | (c >> 6 & 0x3f));
	to[3] = (char)(0x80 | (c & 0x3f));
	return 4;
}

static uint32_t unit_at(const uint8_t *from, enum sonde_encoding encoding)
{
	switch (encoding) {
	case SONDE_ENCODING_UTF16BE:
		return (uint32_t)from[0] << 8 | from[1];
	case SONDE_ENCODING_UTF16LE:
		return (uint32_t)from[1] << 8 | from[0];
	case SONDE_ENCODING_UTF32BE:
		return (uint32_t)from[0] << 24 | (uint32_t)from[1] << 16 |
		       (uint32_t)from[2] << 8 | from[3];
	case SONDE_ENCODING_UTF32LE:
		return (uint32_t)from[3] << 24 | (uint32_t)from[2] << 16 |
		       (uint32_t)from[1] << 8 | from[0];
	case SONDE_ENCODING_UTF8:
		break;
	}
	return from[0];
}

size_t sonde_value_utf8(const struct sonde_value *value, char *buffer,
			size_t size)
{
	/* what a filter gives has no class, and is UTF-8 */
	enum sonde_encoding encoding =
		value->cls ? value->cls->encoding : SONDE_ENCODING_UTF8;
	unsigned int unit = sonde_encoding_unit(encoding);
	const uint8_t *from = (const uint8_t *)value->text;
	size_t all = 0;

	for (uint64_t i = 0; i + unit <= value->length; i += unit) {
		uint32_t c = unit_at(from + i, encoding);
		unsigned int n = 1;
		char bytes[4];

		if (unit == 2 && c >= 0xd800 && c < 0xdc00 &&
		    i + 4 <= value->length) {
			uint32_t low = unit_at(from + i + 2, encoding);

			if (low >= 0xdc00 && low < 0xe000) {
				c = 0x10000 + ((c - 0xd800) << 10) + low -
				    0xdc00;
				i += 2;
			}
		}
		bytes[0] = (char)c;
		if (unit > 1)
			n = put_utf8(bytes, c);
		if (all + n <= size)
			memcpy(buffer + all, bytes, n);
		all += n;
	}
	return all;
}
