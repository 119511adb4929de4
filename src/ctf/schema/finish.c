/* SPDX-License-Identifier: MIT */
/*
 * finish.c - from what a parser made to a schema that keeps the invariants of
 * schema.h, or a complaint.
 *
 * Two passes over each scope's tree, in the order in which it is decoded:
 * first all scopes of all event classes are checked and their locations
 * resolved, then registers are given out. Not before, because what the last
 * event class depends on may be in the packet header, whose registers come
 * first.
 *
 * ## Resolving
 *
 * A location leads to *candidates*: the numbers that its names reach. It is
 * more than one only through a variant in CTF 2, whose options have no part in
 * a path: then the candidates are in different options, so at most one of them
 * is decoded, and all share a register. Until registers are given out, `reg`
 * of a candidate is WANTED, and `ref` of all but the first points to the first.
 * A location further in may lead to some of the candidates of another one:
 * they are in that one's group then, whichever was resolved first.
 *
 * Candidates are decoded before what depends on them: either they are in an
 * outer scope, or the way to them leaves the way to the dependent class at a
 * structure, towards an earlier member.
 *
 * ## Cost
 *
 * Members are found by name in a table, so all is linear in the number of
 * classes, but for locations that lead through wide variants and variants with
 * long lists of labels; MAX_STEPS bounds their work.
 */
#include "ctf/schema/schema.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "ctf/schema/byte_order.h"
#include "ctf/schema/json.h"
#include "ctf/schema/lookup.h"

#define WANTED         (-2)
#define MAX_STEPS      (16u << 20)
#define MAX_ALIGN_BITS (1u << 20)
#define MAX_COUNT      (1ull << 32)
#define PLACE_BYTES    256
/* Said of a class that is not on the way to the one being looked at. */
#define OFF_PATH (-1)

struct place {
	struct sonde_class *cls;
	size_t member; /* that is being looked at */
};

struct finish {
	struct sonde_schema *schema;
	struct sonde_schema_error *error;
	struct sonde_lookup members; /* structure, name -> member */
	struct sonde_lookup ids;     /* owner, id */
	uint32_t steps;
	/* What is being looked at. */
	const struct sonde_stream_class *stream;
	const struct sonde_event_class *event;
	struct sonde_class *scopes[SONDE_NR_SCOPES]; /* up to `scope` */
	enum sonde_scope scope;
	int depth;
	struct place path[SONDE_SCHEMA_DEPTH];
	bool has_id;     /* the event header has one */
	uint16_t states; /* byte_order.h: behind the common context */
};

/* ---- complaints ---- */

static const char *const scope_names[SONDE_NR_SCOPES] = {
	"packet header",  "packet context", "event header",
	"common context", "event context",  "payload",
};

/* Which field it is: 'event "open", payload, list.key'. */
static void say_where(const struct finish *f, char to[PLACE_BYTES])
{
	struct sonde_text text = { .to = to, .size = PLACE_BYTES };
	char separator = ',';

	if (f->event && f->scope >= SONDE_SCOPE_EVENT_CONTEXT)
		sonde_text_add(&text, "event %llu \"%.64s\", ",
			       (unsigned long long)f->event->info.id,
			       f->event->info.name);
	else if (f->stream && f->scope != SONDE_SCOPE_PACKET_HEADER)
		sonde_text_add(&text, "stream %llu, ",
			       (unsigned long long)f->stream->id);
	sonde_text_add(&text, "%s", scope_names[f->scope]);
	for (int i = 0; i + 1 < f->depth; i++) {
		const struct place *place = &f->path[i];
		const char *name = place->cls->members[place->member].name;

		if (!name)
			continue;
		sonde_text_add(&text, "%c%s%.64s", separator,
			       separator == ',' ? " " : "", name);
		separator = '.';
	}
}

static int complain_here(const struct finish *f, const char *what)
{
	char text[PLACE_BYTES];

	say_where(f, text);
	return sonde_schema_complain(f->error, "%s: %s", text, what);
}

static void warn_here(const struct finish *f, const char *what)
{
	char text[PLACE_BYTES];

	say_where(f, text);
	sonde_schema_warn(f->schema, "%s: %s", text, what);
}

/* ---- locations ---- */

static int take_step(struct finish *f, size_t nr)
{
	if (nr > MAX_STEPS - f->steps)
		return sonde_schema_complain(
			f->error, "the metadata has too many references "
				  "through wide variants and enumerations");
	f->steps += (uint32_t)nr;
	return 0;
}

static struct sonde_member *finish_find_member(const struct finish *f,
					       const struct sonde_class *cls,
					       const char *name)
{
	return sonde_lookup_find(&f->members,
				 &(struct sonde_lookup_key){ cls, name,
							     strlen(name) });
}

/* What is being sought, and the first that was found. */
struct search {
	struct finish *f;
	struct sonde_class *first;
	bool wrong_kind; /* something that was found is no such number */
	enum sonde_kind for_kind; /* of the class that depends on it */
};

static bool fits(const struct search *search, const struct sonde_class *cls)
{
	bool tag = search->for_kind == SONDE_KIND_VARIANT ||
		   search->for_kind == SONDE_KIND_OPTIONAL;

	if (search->first && search->first->kind != cls->kind)
		return false;
	return cls->kind == SONDE_KIND_UINT ||
	       (tag &&
		(cls->kind == SONDE_KIND_INT || cls->kind == SONDE_KIND_BOOL));
}

static void found(struct search *search, struct sonde_class *cls)
{
	if (!fits(search, cls)) {
		search->wrong_kind = true;
		return;
	}
	cls->reg = WANTED;
	if (!search->first)
		search->first = cls;
	else if (!search->first->ref)
		cls->ref = search->first;
}

/* The names still to go, and where the class they start from is on the path
 * to the dependent class. */
struct trail {
	struct sonde_class *cls;
	int level;
	size_t nr_names;
	const char **names;
};

static int follow(struct search *search, struct trail trail);

/* Through a member, unless it is decoded later. */
/* NOLINTNEXTLINE(misc-no-recursion): depth <= SONDE_SCHEMA_DEPTH */
static int follow_member(struct search *search, struct trail trail, size_t i)
{
	bool variant = trail.cls->kind == SONDE_KIND_VARIANT;

	if (trail.level != OFF_PATH) {
		size_t here = search->f->path[trail.level].member;

		if (variant ? i != here : i > here)
			return 0;
		trail.level = i == here ? trail.level + 1 : OFF_PATH;
	}
	trail.cls = trail.cls->members[i].cls;
	return follow(search, trail);
}

/* NOLINTNEXTLINE(misc-no-recursion): depth <= SONDE_SCHEMA_DEPTH */
static int follow_name(struct search *search, struct trail trail)
{
	const struct sonde_member *member;

	if (trail.nr_names == 0 || !trail.names[0]) {
		search->wrong_kind = true;
		return 0;
	}
	member = finish_find_member(search->f, trail.cls, trail.names[0]);
	if (!member)
		return 0;
	trail.names++;
	trail.nr_names--;
	return follow_member(search, trail,
			     (size_t)(member - trail.cls->members));
}

/* NOLINTNEXTLINE(misc-no-recursion): depth <= SONDE_SCHEMA_DEPTH */
static int follow(struct search *search, struct trail trail)
{
	struct finish *f = search->f;
	const struct sonde_class *cls = trail.cls;
	int status = take_step(f, 1);
	/* The only element that a path can mean is the one it starts from. */
	bool through = cls->kind == SONDE_KIND_OPTIONAL ||
		       ((cls->kind == SONDE_KIND_ARRAY ||
			 cls->kind == SONDE_KIND_SEQUENCE) &&
			trail.level != OFF_PATH);

	if (status || trail.level >= f->depth - 1)
		return status;
	if (cls->kind == SONDE_KIND_STRUCT ||
	    (cls->kind == SONDE_KIND_VARIANT && f->schema->major == 1))
		return follow_name(search, trail);
	if (cls->kind == SONDE_KIND_VARIANT || through) {
		for (size_t i = 0; i < cls->nr_members && status == 0; i++)
			status = follow_member(search, trail, i);
		return status;
	}
	if (trail.nr_names == 0)
		found(search, trail.cls);
	return 0;
}

/* The names led somewhere. */
static bool finish_is_over(const struct search *search)
{
	return search->first || search->wrong_kind;
}

/* CTF 1.8: the nearest structure around from which the names lead somewhere,
 * then the scopes around. */
static int seek_outwards(struct search *search,
			 const struct sonde_location *location)
{
	struct finish *f = search->f;
	struct trail trail = { .nr_names = location->nr_names,
			       .names = location->names };
	int status = 0;

	for (int i = f->depth - 2; i >= 0 && !status && !finish_is_over(search);
	     i--) {
		trail.cls = f->path[i].cls;
		trail.level = i;
		if (trail.cls->kind == SONDE_KIND_STRUCT)
			status = follow(search, trail);
	}
	trail.level = OFF_PATH;
	for (int i = (int)f->scope - 1;
	     i >= 0 && !status && !finish_is_over(search); i--) {
		trail.cls = f->scopes[i];
		if (trail.cls)
			status = follow(search, trail);
	}
	return status;
}

/* CTF 2: from the structure around, each NULL one structure up. */
static int seek_upwards(struct search *search,
			const struct sonde_location *location)
{
	const struct finish *f = search->f;
	struct trail trail = { .nr_names = location->nr_names,
			       .names = location->names,
			       .level = f->depth - 1 };
	bool up;

	do {
		do {
			trail.level--;
		} while (trail.level >= 0 &&
			 f->path[trail.level].cls->kind != SONDE_KIND_STRUCT);
		if (trail.level < 0)
			return 0;
		up = trail.nr_names > 0 && !trail.names[0];
		if (up) {
			trail.names++;
			trail.nr_names--;
		}
	} while (up);
	trail.cls = f->path[trail.level].cls;
	return follow(search, trail);
}

static int seek(struct search *search, const struct sonde_location *location)
{
	const struct finish *f = search->f;
	struct trail trail = { .nr_names = location->nr_names,
			       .names = location->names,
			       .level = OFF_PATH };

	if (location->scope == SONDE_NR_SCOPES)
		return f->schema->major == 1 ? seek_outwards(search, location) :
					       seek_upwards(search, location);
	if (location->scope > f->scope || !f->scopes[location->scope])
		return 0;
	if (location->scope == f->scope)
		trail.level = 0;
	trail.cls = f->scopes[location->scope];
	return follow(search, trail);
}

static int complain_location(const struct finish *f,
			     const struct sonde_class *cls, bool wrong_kind)
{
	bool tag = cls->kind == SONDE_KIND_VARIANT ||
		   cls->kind == SONDE_KIND_OPTIONAL;
	char to[192];
	struct sonde_text text = { .to = to, .size = sizeof(to) };

	sonde_text_add(&text, "its %s, ", tag ? "tag" : "length");
	for (size_t i = 0; i < cls->location.nr_names; i++) {
		const char *name = cls->location.names[i];

		sonde_text_add(&text, "%s%.64s", i ? "." : "",
			       name ? name : "^");
	}
	sonde_text_add(&text, "%s",
		       !wrong_kind ? ", is no field that comes before it" :
		       tag         ? ", is no integer" :
				     ", is no unsigned integer");
	return complain_here(f, to);
}

static bool needs_location(const struct sonde_class *cls)
{
	return cls->kind == SONDE_KIND_VARIANT ||
	       cls->kind == SONDE_KIND_OPTIONAL ||
	       cls->kind == SONDE_KIND_SEQUENCE ||
	       ((cls->kind == SONDE_KIND_STRING ||
		 cls->kind == SONDE_KIND_BLOB) &&
		cls->length == SONDE_LENGTH_FIELD);
}

static int finish_resolve(struct finish *f, struct sonde_class *cls)
{
	struct search search = { .f = f, .for_kind = cls->kind };
	int status = seek(&search, &cls->location);

	if (status)
		return status;
	if (!search.first || search.wrong_kind)
		return complain_location(f, cls, search.wrong_kind);
	cls->ref = search.first;
	if (cls->kind == SONDE_KIND_OPTIONAL &&
	    (cls->members[0].nr_ranges == 0) !=
		    (search.first->kind == SONDE_KIND_BOOL))
		return complain_here(f, "its selector is a boolean, or an "
					"integer with ranges");
	return 0;
}

/* ---- variants of CTF 1.8 ---- */

/* The option of this label: as real traces have it, it may have an underscore
 * that the label has not. */
static struct sonde_member *
finish_find_option(const struct finish *f, const struct sonde_class *variant,
		   const char *label)
{
	struct sonde_member *option = finish_find_member(f, variant, label);
	char name[256] = "_";
	size_t length = strlen(label);

	if (option || length >= sizeof(name) - 1)
		return option;
	memcpy(name + 1, label, length + 1);
	return finish_find_member(f, variant, name);
}

/* What isn't wrong, but too much for other readers. */
static int finish_check_options(const struct finish *f,
				const struct sonde_class *variant)
{
	int overlap = sonde_json_options_overlap(variant);

	for (size_t i = 0; i < variant->nr_members; i++)
		if (variant->members[i].nr_ranges == 0)
			warn_here(f, "an option that no label of the tag has");
	if (overlap > 0)
		warn_here(f, "a value of the tag that chooses two options");
	return overlap < 0 ? overlap : 0;
}

/* Labels choose the option of the same name. An option without a label is
 * never chosen. */
static int label_options(struct finish *f, struct sonde_class *variant)
{
	const struct sonde_class *tag = variant->ref;
	struct sonde_label *ranges;
	size_t used = 0;

	if (!tag->is_enum)
		return complain_here(f, "its tag is no enumeration");
	if (take_step(f, tag->nr_labels))
		return -EINVAL;
	for (size_t i = 0; i < tag->nr_labels; i++) {
		struct sonde_member *option =
			finish_find_option(f, variant, tag->labels[i].name);

		if (option) {
			option->nr_ranges++;
			used++;
		}
	}
	ranges = sonde_pool_get(&f->schema->pool, used, sizeof(*ranges));
	if (!ranges)
		return -ENOMEM;
	used = 0;
	for (size_t i = 0; i < variant->nr_members; i++) {
		variant->members[i].ranges = ranges + used;
		used += variant->members[i].nr_ranges;
		variant->members[i].nr_ranges = 0;
	}
	for (size_t i = 0; i < tag->nr_labels; i++) {
		struct sonde_member *option =
			finish_find_option(f, variant, tag->labels[i].name);

		if (option)
			ranges[option->ranges - ranges + option->nr_ranges++] =
				tag->labels[i];
	}
	return finish_check_options(f, variant);
}

/* ---- the first pass ---- */

static int check_number(struct finish *f, struct sonde_class *cls)
{
	bool integer =
		cls->kind == SONDE_KIND_UINT || cls->kind == SONDE_KIND_INT;

	if (f->scope == SONDE_SCOPE_EVENT_HEADER &&
	    cls->role == SONDE_ROLE_EVENT_ID)
		f->has_id = true;
	if (cls->kind == SONDE_KIND_FLOAT)
		return cls->bits == 16 || cls->bits == 32 || cls->bits == 64 ?
			       0 :
			       complain_here(f, "a floating-point number has "
						"16, 32 or 64 bits");
	if (cls->bits > 64 || (cls->bits == 0 && !integer))
		return complain_here(f, "a number has 1 to 64 bits");
	if (cls->bits == 0 && cls->align_bits < 8)
		cls->align_bits = 8;
	return 0;
}

static int check_class(struct finish *f, struct sonde_class *cls)
{
	uint32_t align = cls->align_bits;

	if (align == 0 || (align & (align - 1)) || align > MAX_ALIGN_BITS)
		return complain_here(f, "an alignment is a power of two, "
					"at most 1048576");
	switch (cls->kind) {
	case SONDE_KIND_UINT:
	case SONDE_KIND_INT:
	case SONDE_KIND_BOOL:
	case SONDE_KIND_BITS:
	case SONDE_KIND_FLOAT:
		return check_number(f, cls);
	case SONDE_KIND_STRING:
	case SONDE_KIND_BLOB:
		if (align < 8)
			cls->align_bits = 8;
		if (cls->length == SONDE_LENGTH_FIXED &&
		    cls->count % sonde_encoding_unit(cls->encoding))
			return complain_here(f, "a length that is no multiple "
						"of its characters' bytes");
		break;
	case SONDE_KIND_ARRAY:
	case SONDE_KIND_STRUCT:
	case SONDE_KIND_SEQUENCE:
	case SONDE_KIND_VARIANT:
	case SONDE_KIND_OPTIONAL:
		break;
	}
	if (cls->length == SONDE_LENGTH_FIXED && cls->count > MAX_COUNT)
		return complain_here(f, "a length is at most 2^32");
	return 0;
}

static int complain_twice(const struct finish *f, const char *name)
{
	char text[96];

	(void)snprintf(text, sizeof(text), "there are two members '%.64s'",
		       name);
	return complain_here(f, text);
}

/* Names of members are one of a kind. Elements have none. */
static int enter_members(struct finish *f, const struct sonde_class *cls)
{
	for (size_t i = 0; i < cls->nr_members; i++) {
		struct sonde_member *member = &cls->members[i];
		struct sonde_lookup_key key = { .owner = cls };
		int status;

		if (!member->name)
			continue;
		key.bytes = member->name;
		key.size = strlen(member->name);
		status = sonde_lookup_add(&f->members, &key, member);
		if (status == -EEXIST)
			return complain_twice(f, member->name);
		if (status)
			return status;
	}
	return 0;
}

static int visit(struct finish *f, struct sonde_class *cls);

/* NOLINTNEXTLINE(misc-no-recursion): depth <= SONDE_SCHEMA_DEPTH */
static int visit_members(struct finish *f, struct sonde_class *cls)
{
	bool aligned = cls->kind != SONDE_KIND_VARIANT &&
		       cls->kind != SONDE_KIND_OPTIONAL;
	int status = 0;

	for (size_t i = 0; i < cls->nr_members && status == 0; i++) {
		struct sonde_class *member = cls->members[i].cls;

		f->path[f->depth - 1].member = i;
		status = visit(f, member);
		if (aligned && member->align_bits > cls->align_bits)
			cls->align_bits = member->align_bits;
	}
	return status;
}

/* NOLINTNEXTLINE(misc-no-recursion): depth <= SONDE_SCHEMA_DEPTH */
static int visit(struct finish *f, struct sonde_class *cls)
{
	int status;

	if (f->depth == SONDE_SCHEMA_DEPTH)
		return complain_here(f, "classes are nested too deep");
	f->path[f->depth++] = (struct place){ .cls = cls };
	status = check_class(f, cls);
	if (status == 0)
		status = enter_members(f, cls);
	if (status == 0 && needs_location(cls))
		status = finish_resolve(f, cls);
	if (status == 0 && cls->kind == SONDE_KIND_VARIANT &&
	    f->schema->major == 1)
		status = label_options(f, cls);
	if (status == 0)
		status = visit_members(f, cls);
	f->depth--;
	return status;
}

static int visit_scope(struct finish *f, enum sonde_scope scope,
		       struct sonde_class *cls)
{
	f->scope = scope;
	f->scopes[scope] = cls;
	f->depth = 0;
	if (!cls)
		return 0;
	if (cls->kind != SONDE_KIND_STRUCT)
		return complain_here(f, "it is no structure");
	return visit(f, cls);
}

/* `scope` and those after it up to `last`, whose classes are in f->scopes;
 * *states as of sonde_byte_order_fits(). */
static int check_orders(struct finish *f, enum sonde_scope scope,
			enum sonde_scope last, uint16_t *states)
{
	f->depth = 0;
	for (f->scope = scope; f->scope <= last; f->scope++)
		if (!sonde_byte_order_fits(f->scopes[f->scope], states))
			return complain_here(f, "its byte order changes inside "
						"a byte");
	return 0;
}

/* A packet begins at a byte, an event anyhow. */
static int check_stream_orders(struct finish *f)
{
	uint16_t states = SONDE_BITS_AT_A_BYTE;
	int status = check_orders(f, SONDE_SCOPE_PACKET_HEADER,
				  SONDE_SCOPE_PACKET_CONTEXT, &states);

	f->states = SONDE_BITS_ANYHOW;
	return status ? status :
			check_orders(f, SONDE_SCOPE_EVENT_HEADER,
				     SONDE_SCOPE_COMMON_CONTEXT, &f->states);
}

static int check_event(struct finish *f, struct sonde_event_class *event)
{
	struct sonde_lookup_key key = { event->stream_class, &event->info.id,
					sizeof(event->info.id) };
	int status = sonde_lookup_add(&f->ids, &key, event);
	uint16_t states = f->states;

	if (status == -EEXIST)
		return sonde_schema_complain(
			f->error,
			"stream %llu: event \"%.64s\" has the id %llu that "
			"another one has",
			(unsigned long long)event->stream_class->id,
			event->info.name, (unsigned long long)event->info.id);
	f->event = event;
	for (enum sonde_scope i = SONDE_SCOPE_EVENT_CONTEXT;
	     i < SONDE_NR_SCOPES && status == 0; i++)
		status = visit_scope(f, i, event->scopes[i]);
	if (status == 0)
		status = check_orders(f, SONDE_SCOPE_EVENT_CONTEXT,
				      SONDE_SCOPE_PAYLOAD, &states);
	f->event = NULL;
	return status;
}

static int check_stream(struct finish *f, struct sonde_stream_class *stream)
{
	struct sonde_lookup_key key = { NULL, &stream->id, sizeof(stream->id) };
	int status = sonde_lookup_add(&f->ids, &key, stream);

	if (status == -EEXIST)
		return sonde_schema_complain(f->error,
					     "there are two streams of id %llu",
					     (unsigned long long)stream->id);
	f->stream = stream;
	f->has_id = false;
	for (enum sonde_scope i = SONDE_SCOPE_PACKET_CONTEXT;
	     i <= SONDE_SCOPE_COMMON_CONTEXT && status == 0; i++)
		status = visit_scope(f, i, stream->scopes[i]);
	if (status == 0)
		status = check_stream_orders(f);
	if (status == 0 && stream->nr_events > 1 && !f->has_id)
		return sonde_schema_complain(
			f->error,
			"stream %llu has several events, but no id of the "
			"event in its event header",
			(unsigned long long)stream->id);
	for (size_t i = 0; i < stream->nr_events && status == 0; i++)
		status = check_event(f, stream->events[i]);
	f->stream = NULL;
	return status;
}

static bool has_role(const struct sonde_class *cls, enum sonde_role role)
{
	for (size_t i = 0; cls && i < cls->nr_members; i++) {
		if (cls->members[i].cls->role == role)
			return true;
	}
	return false;
}

/* Times are nanoseconds in 64 bits with a sign. */
static int check_clock(struct finish *f, const struct sonde_clock_info *clock)
{
	const int64_t max_s = INT64_MAX / 1000000000;
	const char *what = NULL;

	if (clock->frequency == 0)
		what = "has a frequency of 0";
	else if (clock->offset_s < -max_s || clock->offset_s > max_s ||
		 clock->offset_cycles / clock->frequency >
			 (uint64_t)max_s - (clock->offset_s > 0 ?
						    (uint64_t)clock->offset_s :
						    0))
		what = "has an offset of more nanoseconds than 64 bits hold";
	return what ? sonde_schema_complain(f->error, "clock \"%.64s\" %s",
					    clock->name, what) :
		      0;
}

static int check_all(struct finish *f)
{
	struct sonde_schema *schema = f->schema;
	int status;

	for (size_t i = 0; i < schema->nr_clocks; i++)
		if (check_clock(f, &schema->clocks[i].info))
			return -EINVAL;
	status = visit_scope(f, SONDE_SCOPE_PACKET_HEADER,
			     schema->packet_header);
	if (status == 0 && schema->nr_streams > 1 &&
	    !has_role(schema->packet_header, SONDE_ROLE_STREAM_CLASS_ID))
		return sonde_schema_complain(
			f->error, "there are several streams, but no id of "
				  "the stream in the packet header");
	for (size_t i = 0; i < schema->nr_streams && status == 0; i++)
		status = check_stream(f, schema->streams[i]);
	return status;
}

/* ---- the second pass ---- */

/* As users see it. Two members `a` and `_a` stay as they are. */
static const char *plain_name(const struct finish *f,
			      const struct sonde_class *cls, const char *name)
{
	if (!name || name[0] != '_' || name[1] == 0)
		return name;
	if (!cls || !finish_find_member(f, cls, name + 1))
		return name + 1;
	sonde_schema_warn(f->schema,
			  "members '%.64s' and '%.64s' in one structure",
			  name + 1, name);
	return name;
}

static int give_register(struct finish *f, struct sonde_class *cls, int *nr)
{
	if (cls->ref) {
		cls->reg = cls->ref->reg;
		cls->ref = NULL;
		return 0;
	}
	if (*nr == SONDE_SCHEMA_REGS)
		return complain_here(f, "an event has too many lengths and "
					"tags");
	cls->reg = (int16_t)(*nr)++;
	return 0;
}

/* Such labels are found by bisection. */
static bool do_labels_ascend(const struct sonde_class *cls)
{
	/* the order of signed numbers is that of unsigned ones, moved */
	uint64_t move = cls->kind == SONDE_KIND_INT ? UINT64_C(1) << 63 : 0;

	for (size_t i = 0; i < cls->nr_labels; i++) {
		const struct sonde_label *label = &cls->labels[i];

		if (label->high + move < label->low + move ||
		    (i && label[-1].high + move >= label->low + move))
			return false;
	}
	return true;
}

/* Registers in the order of decoding, so that the first of a group is the
 * first to be met; and names, which nobody looks for from here on. */
/* NOLINTNEXTLINE(misc-no-recursion): depth <= SONDE_SCHEMA_DEPTH */
static int settle(struct finish *f, struct sonde_class *cls, int *nr)
{
	bool underscores = f->schema->major == 1;
	int status = 0;

	if (cls->reg == WANTED)
		status = give_register(f, cls, nr);
	cls->labels_ascend = do_labels_ascend(cls);
	for (size_t i = 0; i < cls->location.nr_names && underscores; i++)
		cls->location.names[i] =
			plain_name(f, NULL, cls->location.names[i]);
	for (size_t i = 0; i < cls->nr_members && status == 0; i++) {
		struct sonde_member *member = &cls->members[i];

		if (underscores)
			member->name = plain_name(f, cls, member->name);
		status = settle(f, member->cls, nr);
	}
	return status;
}

static int settle_scopes(struct finish *f, struct sonde_class *const *scopes,
			 int *nr)
{
	int status = 0;

	for (enum sonde_scope i = 0; i < SONDE_NR_SCOPES && status == 0; i++) {
		f->scope = i;
		if (scopes[i])
			status = settle(f, scopes[i], nr);
	}
	return status;
}

static int settle_all(struct finish *f)
{
	struct sonde_schema *schema = f->schema;
	int nr_header_regs = 0;
	int status = 0;

	f->depth = 0;
	f->scope = SONDE_SCOPE_PACKET_HEADER;
	if (schema->packet_header)
		status = settle(f, schema->packet_header, &nr_header_regs);
	for (size_t i = 0; i < schema->nr_streams && status == 0; i++) {
		struct sonde_stream_class *stream = schema->streams[i];

		f->stream = stream;
		stream->nr_regs = nr_header_regs;
		status = settle_scopes(f, stream->scopes, &stream->nr_regs);
		for (size_t k = 0; k < stream->nr_events && status == 0; k++) {
			f->event = stream->events[k];
			stream->events[k]->nr_regs = stream->nr_regs;
			status = settle_scopes(f, stream->events[k]->scopes,
					       &stream->events[k]->nr_regs);
		}
		f->event = NULL;
	}
	return status;
}

int sonde_schema_finish(struct sonde_schema *schema,
			struct sonde_schema_error *error)
{
	struct finish f = { .schema = schema, .error = error };
	int status = check_all(&f);

	if (status == 0)
		status = settle_all(&f);
	sonde_lookup_fini(&f.members);
	sonde_lookup_fini(&f.ids);
	return status;
}
