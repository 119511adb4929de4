/* SPDX-License-Identifier: MIT */
/*
 * tsdl_parse_type.c - types, as in C: specifiers say what (`struct point`,
 * `unsigned int`, `integer { ... }`), a declarator says what is made of it and
 * how that is called (`*p`, `list[count][4]`).
 *
 * Types are looked up by a text: their words with a blank between, and " *"
 * for each pointer: "unsigned long", "struct point", "char *". `const` is no
 * part of it. As in C, the specifiers' type is made into an array from the
 * declarator's last brackets to its first.
 */
#include <errno.h>
#include <string.h>

#include "ctf/schema/tsdl_parse.h"

#define MAX_POINTERS 8

/* What specifiers say: a class, or a name to be looked up, or both. */
struct specifiers {
	struct sonde_token token;
	struct sonde_class *cls;
	bool shared;      /* the class has a name, or was used once */
	size_t name_size; /* 0: it has none */
	char name[SONDE_PARSE_NAME];
};

struct dimension {
	bool fixed;
	uint64_t count;
	struct sonde_location location;
};

struct declarator {
	struct sonde_token name; /* no NAME: it has none */
	int nr_pointers;
	int nr_dimensions;
	struct dimension dimensions[SONDE_SCHEMA_DEPTH];
};

/* A growing list of members. */
struct members {
	struct sonde_member *array;
	size_t nr, capacity;
};

static void fail_at(struct sonde_parser *p, const struct sonde_token *token,
		    const char *text)
{
	sonde_parse_fail(p, sonde_token_complain(token, p->error, "%s", text));
}

/* ---- names of types ---- */

void sonde_parse_enter(struct sonde_parser *p)
{
	struct sonde_parse_scope *scope = sonde_parse_get(p, 1, sizeof(*scope));

	if (!scope)
		return;
	scope->parent = p->scope;
	p->scope = scope;
}

void sonde_parse_leave(struct sonde_parser *p)
{
	/* It failed to be entered if there was no memory. */
	if (p->scope->parent)
		p->scope = p->scope->parent;
}

static void add_word(struct sonde_parser *p, struct specifiers *spec,
		     const char *word, size_t size)
{
	if (spec->name_size + 1 + size >= sizeof(spec->name)) {
		fail_at(p, &spec->token, "this type's name is too long");
		return;
	}
	if (spec->name_size)
		spec->name[spec->name_size++] = ' ';
	memcpy(spec->name + spec->name_size, word, size);
	spec->name_size += size;
}

static const struct sonde_class *tsdl_find_type(const struct sonde_parser *p,
						const struct specifiers *spec)
{
	const struct sonde_parse_scope *scope = p->scope;
	const struct sonde_class *cls = NULL;

	for (; scope && !cls; scope = scope->parent)
		cls = sonde_lookup_find(&p->types, &(struct sonde_lookup_key){
							   scope, spec->name,
							   spec->name_size });
	return cls;
}

static void name_type(struct sonde_parser *p, const struct specifiers *spec,
		      struct sonde_class *cls)
{
	const char *name = sonde_parse_text(p, spec->name, spec->name_size);
	struct sonde_lookup_key key = { p->scope, name, spec->name_size };
	int status;

	if (p->status || !cls)
		return;
	status = sonde_lookup_add(&p->types, &key, cls);
	if (status == -EEXIST)
		status = sonde_token_complain(&spec->token, p->error,
					      "type '%s' is defined twice here",
					      name);
	if (status)
		sonde_parse_fail(p, status);
}

/* The specifiers' class, to be used in one place; with pointers to it, the
 * class of these. */
static struct sonde_class *use_type(struct sonde_parser *p,
				    struct specifiers *spec, int nr_pointers)
{
	struct specifiers named = *spec;
	const struct sonde_class *found;

	if (p->status)
		return NULL;
	if (spec->cls && nr_pointers == 0) {
		if (spec->shared)
			return sonde_parse_copy(p, spec->cls, &spec->token);
		spec->shared = true;
		return spec->cls;
	}
	if (named.name_size == 0) {
		fail_at(p, &spec->token,
			"there is no pointer to a type "
			"without a name");
		return NULL;
	}
	for (; nr_pointers > 0; nr_pointers--)
		add_word(p, &named, "*", 1);
	found = tsdl_find_type(p, &named);
	if (found && p->status == 0)
		return sonde_parse_copy(p, found, &spec->token);
	sonde_parse_fail(p, sonde_token_complain(&spec->token, p->error,
						 "type '%.*s' is not defined",
						 (int)named.name_size,
						 named.name));
	return NULL;
}

/* ---- locations and dimensions ---- */

static const struct {
	const char *names[3];
	int nr;
	enum sonde_scope scope;
} absolute[] = {
	{ { "trace", "packet", "header" }, 3, SONDE_SCOPE_PACKET_HEADER },
	{ { "stream", "packet", "context" }, 3, SONDE_SCOPE_PACKET_CONTEXT },
	{ { "stream", "event", "header" }, 3, SONDE_SCOPE_EVENT_HEADER },
	{ { "stream", "event", "context" }, 3, SONDE_SCOPE_COMMON_CONTEXT },
	{ { "event", "context" }, 2, SONDE_SCOPE_EVENT_CONTEXT },
	{ { "event", "fields" }, 2, SONDE_SCOPE_PAYLOAD },
};

/* Paths that begin with a scope's name go from there. */
static void find_origin(struct sonde_parser *p, const struct sonde_token *token,
			struct sonde_location *location)
{
	for (size_t i = 0; i < sizeof(absolute) / sizeof(absolute[0]); i++) {
		int nr = absolute[i].nr;
		int equal = 0;

		if (location->nr_names <= (size_t)nr)
			continue;
		while (equal < nr && strcmp(location->names[equal],
					    absolute[i].names[equal]) == 0)
			equal++;
		if (equal < nr)
			continue;
		sonde_parse_warn(p, token, "a path that begins with a scope");
		location->scope = absolute[i].scope;
		location->names += nr;
		location->nr_names -= (size_t)nr;
		return;
	}
}

static void parse_location(struct sonde_parser *p,
			   struct sonde_location *location)
{
	const char *names[SONDE_SCHEMA_DEPTH + 3];
	struct sonde_token token = p->token;
	size_t nr = 0;

	do {
		if (!sonde_parse_at(p, SONDE_TOKEN_NAME)) {
			sonde_parse_expected(p, "a field's name");
			return;
		}
		if (nr == sizeof(names) / sizeof(names[0])) {
			fail_at(p, &p->token, "this path is too long");
			return;
		}
		names[nr++] = sonde_parse_text(p, p->token.text, p->token.size);
		sonde_parse_next(p);
	} while (sonde_parse_accept(p, '.') ||
		 sonde_parse_accept(p, SONDE_TOKEN_ARROW));
	*location = (struct sonde_location){
		.scope = SONDE_NR_SCOPES,
		.nr_names = nr,
		.names = sonde_parse_get(p, nr, sizeof(names[0])),
	};
	if (p->status)
		return;
	memcpy(location->names, names, nr * sizeof(names[0]));
	find_origin(p, &token, location);
}

static void parse_dimension(struct sonde_parser *p, struct declarator *d)
{
	struct dimension *dimension = &d->dimensions[d->nr_dimensions];
	struct sonde_parse_value value;

	if (d->nr_dimensions == SONDE_SCHEMA_DEPTH) {
		fail_at(p, &p->token, "arrays are nested too deep");
		return;
	}
	d->nr_dimensions++;
	sonde_parse_next(p);
	dimension->fixed = !sonde_parse_at(p, SONDE_TOKEN_NAME);
	if (dimension->fixed) {
		sonde_parse_number(p, &value);
		if (p->status == 0)
			dimension->count =
				sonde_parse_unsigned(p, &value, 1ull << 32);
	} else {
		parse_location(p, &dimension->location);
	}
	sonde_parse_expect(p, ']', "']'");
}

static void parse_declarator(struct sonde_parser *p, struct declarator *d)
{
	uint32_t nr_brackets = 0;

	d->nr_pointers = 0;
	d->nr_dimensions = 0;
	while (sonde_parse_accept(p, '*')) {
		if (++d->nr_pointers > MAX_POINTERS)
			fail_at(p, &p->token, "too many pointers");
		while (sonde_parse_accept_name(p, "const"))
			;
	}
	if (sonde_parse_at(p, '('))
		sonde_parse_warn(p, &p->token, "brackets around a name");
	while (sonde_parse_accept(p, '('))
		nr_brackets++;
	if (nr_brackets && sonde_parse_at(p, '*'))
		fail_at(p, &p->token, "pointers to arrays are no fields");
	d->name = p->token;
	(void)sonde_parse_accept(p, SONDE_TOKEN_NAME);
	while (sonde_parse_at(p, '[') ||
	       (nr_brackets && sonde_parse_at(p, ')'))) {
		if (sonde_parse_at(p, '[')) {
			parse_dimension(p, d);
		} else {
			sonde_parse_next(p);
			nr_brackets--;
		}
	}
	if (nr_brackets)
		sonde_parse_expected(p, "')'");
}

static struct sonde_class *make_array(struct sonde_parser *p,
				      struct sonde_class *element,
				      const struct dimension *dimension)
{
	/* characters in a row are a string */
	bool string = (element->kind == SONDE_KIND_UINT ||
		       element->kind == SONDE_KIND_INT) &&
		      element->is_char && !element->is_enum &&
		      element->bits == 8 && element->align_bits == 8;
	struct sonde_class *cls =
		sonde_parse_class(p, string           ? SONDE_KIND_STRING :
				     dimension->fixed ? SONDE_KIND_ARRAY :
							SONDE_KIND_SEQUENCE);

	if (!cls)
		return NULL;
	if (dimension->fixed) {
		cls->length = SONDE_LENGTH_FIXED;
		cls->count = dimension->count;
	} else {
		cls->length = SONDE_LENGTH_FIELD;
		cls->location = dimension->location;
	}
	cls->align_bits = element->align_bits;
	if (string)
		return cls;
	cls->nr_members = 1;
	cls->members = sonde_parse_get(p, 1, sizeof(*cls->members));
	if (!cls->members)
		return NULL;
	cls->members[0].cls = element;
	return cls;
}

static struct sonde_class *declare(struct sonde_parser *p,
				   struct specifiers *spec,
				   const struct declarator *d)
{
	struct sonde_class *cls = use_type(p, spec, d->nr_pointers);

	for (int i = d->nr_dimensions - 1; i >= 0 && cls; i--)
		cls = make_array(p, cls, &d->dimensions[i]);
	return cls;
}

/* ---- structures and variants ---- */

static void parse_specifiers(struct sonde_parser *p, struct specifiers *spec);

static void type_add_member(struct sonde_parser *p, struct members *members,
			    const struct sonde_token *name,
			    struct sonde_class *cls)
{
	struct sonde_member *array;

	if (p->status || !cls)
		return;
	array = sonde_pool_grow(&p->schema->pool, members->array, members->nr,
				&members->capacity, sizeof(*array));
	if (!array) {
		sonde_parse_fail(p, -ENOMEM);
		return;
	}
	members->array = array;
	array[members->nr++] = (struct sonde_member){
		.name = sonde_parse_text(p, name->text, name->size),
		.cls = cls,
	};
}

static void check_tagged(struct sonde_parser *p, const struct sonde_class *cls,
			 const struct sonde_token *token)
{
	while (cls && cls->nr_members == 1 &&
	       (cls->kind == SONDE_KIND_ARRAY ||
		cls->kind == SONDE_KIND_SEQUENCE))
		cls = cls->members[0].cls;
	if (cls && cls->kind == SONDE_KIND_VARIANT &&
	    cls->location.nr_names == 0)
		fail_at(p, token, "this field's variant has no <tag>");
}

/* The words that C's integers and floats are named with. */
static bool is_c_word(const struct sonde_token *token)
{
	static const char *const words[] = {
		"void",   "char",  "short",    "int",
		"long",   "float", "double",   "unsigned",
		"signed", "_Bool", "_Complex", "_Imaginary",
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (sonde_token_is(token, words[i]))
			return true;
	}
	return false;
}

/* Words that other readers don't take for a field's name. */
static bool is_keyword(const struct sonde_token *token)
{
	static const char *const words[] = {
		"align", "callsite", "clock",  "enum",    "env",
		"event", "integer",  "stream", "string",  "floating_point",
		"trace", "typedef",  "struct", "variant", "typealias",
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (sonde_token_is(token, words[i]))
			return true;
	}
	return is_c_word(token);
}

/* NOLINTNEXTLINE(misc-no-recursion): depth <= SONDE_SCHEMA_DEPTH */
static void parse_fields(struct sonde_parser *p, struct members *members)
{
	struct specifiers spec;
	struct declarator d;

	parse_specifiers(p, &spec);
	/* `struct point { ... };` only declares. */
	if (spec.cls && spec.name_size && sonde_parse_accept(p, ';'))
		return;
	do {
		struct sonde_class *cls;

		parse_declarator(p, &d);
		if (p->status)
			return;
		if (d.name.kind != SONDE_TOKEN_NAME) {
			sonde_parse_expected(p, "a field's name");
			return;
		}
		if (is_keyword(&d.name))
			sonde_parse_warn(p, &d.name,
					 "'%.*s' is a word of the language; "
					 "an underscore before it helps",
					 (int)d.name.size, d.name.text);
		cls = declare(p, &spec, &d);
		check_tagged(p, cls, &d.name);
		type_add_member(p, members, &d.name, cls);
	} while (sonde_parse_accept(p, ','));
	sonde_parse_expect(p, ';', "';'");
}

/* { field; ... } */
/* NOLINTNEXTLINE(misc-no-recursion): depth <= SONDE_SCHEMA_DEPTH */
static void type_parse_body(struct sonde_parser *p, struct sonde_class *cls)
{
	struct members members = { 0 };

	if (p->depth == SONDE_SCHEMA_DEPTH) {
		fail_at(p, &p->token, "types are nested too deep");
		return;
	}
	p->depth++;
	sonde_parse_expect(p, '{', "'{'");
	sonde_parse_enter(p);
	while (p->status == 0 && !sonde_parse_accept(p, '}')) {
		if (sonde_parse_at_name(p, "typealias") ||
		    sonde_parse_at_name(p, "typedef"))
			sonde_parse_declaration(p);
		else
			parse_fields(p, &members);
	}
	sonde_parse_leave(p);
	p->depth--;
	cls->members = members.array;
	cls->nr_members = members.nr;
}

static void parse_align(struct sonde_parser *p, struct sonde_class *cls)
{
	struct sonde_parse_value value;

	if (!sonde_parse_accept_name(p, "align"))
		return;
	sonde_parse_expect(p, '(', "'('");
	sonde_parse_number(p, &value);
	if (p->status == 0)
		cls->align_bits = sonde_parse_align(p, &value);
	sonde_parse_expect(p, ')', "')'");
}

/* The optional name behind `struct`, `variant`, `enum`. */
static void parse_tag_name(struct sonde_parser *p, struct specifiers *spec,
			   const char *word)
{
	if (!sonde_parse_at(p, SONDE_TOKEN_NAME))
		return;
	add_word(p, spec, word, strlen(word));
	add_word(p, spec, p->token.text, p->token.size);
	sonde_parse_next(p);
}

static void end_definition(struct sonde_parser *p, struct specifiers *spec)
{
	if (spec->name_size == 0 || p->status)
		return;
	name_type(p, spec, spec->cls);
	spec->shared = true;
}

/* NOLINTNEXTLINE(misc-no-recursion): depth <= SONDE_SCHEMA_DEPTH */
static void parse_struct(struct sonde_parser *p, struct specifiers *spec)
{
	parse_tag_name(p, spec, "struct");
	if (spec->name_size && !sonde_parse_at(p, '{'))
		return;
	spec->cls = sonde_parse_class(p, SONDE_KIND_STRUCT);
	if (!spec->cls)
		return;
	type_parse_body(p, spec->cls);
	parse_align(p, spec->cls);
	end_definition(p, spec);
}

/* `variant <tag> { ... }`, `variant name <tag> { ... }`, and without a tag to
 * define it, without a body to use it. */
/* NOLINTNEXTLINE(misc-no-recursion): depth <= SONDE_SCHEMA_DEPTH */
static void parse_variant(struct sonde_parser *p, struct specifiers *spec)
{
	struct sonde_location tag = { .scope = SONDE_NR_SCOPES };

	parse_tag_name(p, spec, "variant");
	if (sonde_parse_accept(p, '<')) {
		parse_location(p, &tag);
		sonde_parse_expect(p, '>', "'>'");
	}
	if (spec->name_size && !sonde_parse_at(p, '{')) {
		if (tag.nr_names == 0)
			return;
		spec->cls = use_type(p, spec, 0);
	} else {
		spec->cls = sonde_parse_class(p, SONDE_KIND_VARIANT);
		if (!spec->cls)
			return;
		type_parse_body(p, spec->cls);
		end_definition(p, spec);
	}
	if (spec->cls)
		spec->cls->location = tag;
}

/* ---- enumerations ---- */

struct labels {
	struct sonde_label *array;
	size_t nr, capacity;
};

static bool above(const struct sonde_class *cls, uint64_t a, uint64_t b)
{
	return cls->kind == SONDE_KIND_INT ? (int64_t)a > (int64_t)b : a > b;
}

/* `NAME`, `NAME = 1`, `NAME = 1 ... 5`; `next` is the value of the first. */
static void parse_label(struct sonde_parser *p, const struct sonde_class *cls,
			struct sonde_label *label, uint64_t next)
{
	struct sonde_parse_value name;
	struct sonde_parse_value low;
	struct sonde_parse_value high;

	if (!sonde_parse_at(p, SONDE_TOKEN_NAME) &&
	    !sonde_parse_at(p, SONDE_TOKEN_STRING)) {
		sonde_parse_expected(p, "a label");
		return;
	}
	name = (struct sonde_parse_value){ .token = p->token };
	if (name.token.kind == SONDE_TOKEN_NAME)
		label->name = sonde_parse_text(p, p->token.text, p->token.size);
	else
		label->name = sonde_parse_string(p, &name);
	sonde_parse_next(p);
	label->low = next;
	label->high = next;
	if (!sonde_parse_accept(p, '='))
		return;
	sonde_parse_number(p, &low);
	high = low;
	if (sonde_parse_accept(p, SONDE_TOKEN_RANGE))
		sonde_parse_number(p, &high);
	label->low = low.number;
	label->high = high.number;
	if (p->status == 0 && (above(cls, label->low, label->high) ||
			       (cls->kind == SONDE_KIND_UINT && low.negative)))
		fail_at(p, &low.token, "this range has no values");
}

static void type_add_label(struct sonde_parser *p, struct labels *labels,
			   const struct sonde_label *label)
{
	struct sonde_label *array;

	if (p->status)
		return;
	array = sonde_pool_grow(&p->schema->pool, labels->array, labels->nr,
				&labels->capacity, sizeof(*array));
	if (!array) {
		sonde_parse_fail(p, -ENOMEM);
		return;
	}
	labels->array = array;
	array[labels->nr++] = *label;
}

static void parse_labels(struct sonde_parser *p, struct sonde_class *cls)
{
	struct labels labels = { 0 };
	uint64_t next = 0;

	sonde_parse_expect(p, '{', "'{'");
	while (p->status == 0 && !sonde_parse_at(p, '}')) {
		struct sonde_label label = { 0 };

		parse_label(p, cls, &label, next);
		type_add_label(p, &labels, &label);
		next = label.high + 1;
		if (!sonde_parse_accept(p, ','))
			break;
	}
	sonde_parse_expect(p, '}', "',' or '}'");
	if (labels.nr == 0)
		sonde_parse_warn(p, &p->token, "an enumeration without labels");
	cls->labels = labels.array;
	cls->nr_labels = labels.nr;
}

/* The integer behind an enumeration: `int` unless it says which. */
/* NOLINTNEXTLINE(misc-no-recursion): depth <= SONDE_SCHEMA_DEPTH */
static struct sonde_class *parse_container(struct sonde_parser *p)
{
	struct specifiers spec = { .token = p->token };
	struct sonde_class *cls;

	if (!sonde_parse_accept(p, ':')) {
		add_word(p, &spec, "int", 3);
	} else if (p->depth == SONDE_SCHEMA_DEPTH) {
		fail_at(p, &p->token, "types are nested too deep");
	} else {
		p->depth++;
		parse_specifiers(p, &spec);
		p->depth--;
	}
	cls = use_type(p, &spec, 0);
	if (cls && cls->is_enum)
		sonde_parse_warn(p, &spec.token,
				 "an enumeration of an enumeration");
	if (cls && cls->kind != SONDE_KIND_UINT &&
	    cls->kind != SONDE_KIND_INT) {
		fail_at(p, &spec.token, "an enumeration is made of an integer");
		return NULL;
	}
	return cls;
}

/* NOLINTNEXTLINE(misc-no-recursion): depth <= SONDE_SCHEMA_DEPTH */
static void parse_enum(struct sonde_parser *p, struct specifiers *spec)
{
	parse_tag_name(p, spec, "enum");
	if (spec->name_size && !sonde_parse_at(p, '{') &&
	    !sonde_parse_at(p, ':'))
		return;
	spec->cls = parse_container(p);
	if (!spec->cls)
		return;
	spec->cls->is_enum = true;
	parse_labels(p, spec->cls);
	end_definition(p, spec);
}

/* ---- specifiers ---- */

/* A type that is written out. False if none begins here. */
/* NOLINTNEXTLINE(misc-no-recursion): depth <= SONDE_SCHEMA_DEPTH */
static bool parse_literal(struct sonde_parser *p, struct specifiers *spec)
{
	if (sonde_parse_accept_name(p, "integer"))
		spec->cls = sonde_parse_integer(p);
	else if (sonde_parse_accept_name(p, "floating_point"))
		spec->cls = sonde_parse_float(p);
	else if (sonde_parse_accept_name(p, "string"))
		spec->cls = sonde_parse_string_type(p);
	else if (sonde_parse_accept_name(p, "struct"))
		parse_struct(p, spec);
	else if (sonde_parse_accept_name(p, "variant"))
		parse_variant(p, spec);
	else if (sonde_parse_accept_name(p, "enum"))
		parse_enum(p, spec);
	else
		return false;
	return true;
}

/* NOLINTNEXTLINE(misc-no-recursion): depth <= SONDE_SCHEMA_DEPTH */
static void parse_specifiers(struct sonde_parser *p, struct specifiers *spec)
{
	bool done = false;
	bool words = false;

	*spec = (struct specifiers){ .token = p->token };
	while (p->status == 0) {
		if (sonde_parse_at_name(p, "const")) {
			sonde_parse_warn(p, &p->token, "'const' in a type");
			sonde_parse_next(p);
			continue;
		}
		if (!done && is_c_word(&p->token)) {
			words = true;
			add_word(p, spec, p->token.text, p->token.size);
			sonde_parse_next(p);
			continue;
		}
		if (done || words || !sonde_parse_at(p, SONDE_TOKEN_NAME))
			break;
		if (!parse_literal(p, spec)) {
			add_word(p, spec, p->token.text, p->token.size);
			sonde_parse_next(p);
		}
		done = true;
	}
	if (p->status == 0 && !spec->cls && spec->name_size == 0)
		sonde_parse_expected(p, "a type");
}

/* ---- declarations ---- */

static void warn_untagged(struct sonde_parser *p, const struct sonde_class *cls,
			  const struct sonde_token *token)
{
	if (cls && cls->kind == SONDE_KIND_VARIANT &&
	    cls->location.nr_names == 0)
		sonde_parse_warn(p, token,
				 "a name for a variant without a tag");
}

static void name_declared(struct sonde_parser *p, struct sonde_class *cls,
			  const struct sonde_token *token, const char *text,
			  size_t size)
{
	struct specifiers name = { .token = *token };

	warn_untagged(p, cls, token);
	add_word(p, &name, text, size);
	name_type(p, &name, cls);
}

/* typedef TYPE name, list[4]; */
/* NOLINTNEXTLINE(misc-no-recursion): depth <= SONDE_SCHEMA_DEPTH */
static void parse_typedef(struct sonde_parser *p)
{
	struct specifiers spec;
	struct declarator d;

	parse_specifiers(p, &spec);
	do {
		parse_declarator(p, &d);
		if (p->status)
			return;
		if (d.name.kind != SONDE_TOKEN_NAME) {
			sonde_parse_expected(p, "the new type's name");
			return;
		}
		name_declared(p, declare(p, &spec, &d), &d.name, d.name.text,
			      d.name.size);
	} while (sonde_parse_accept(p, ','));
}

/* typealias TYPE := name; where a name may have words and pointers */
/* NOLINTNEXTLINE(misc-no-recursion): depth <= SONDE_SCHEMA_DEPTH */
static void parse_typealias(struct sonde_parser *p)
{
	struct specifiers spec;
	struct specifiers name;
	struct declarator d;
	struct sonde_class *cls;

	parse_specifiers(p, &spec);
	parse_declarator(p, &d);
	if (p->status == 0 && d.name.kind == SONDE_TOKEN_NAME)
		fail_at(p, &d.name, "expected ':='");
	sonde_parse_expect(p, SONDE_TOKEN_ASSIGN, "':='");
	cls = declare(p, &spec, &d);
	parse_specifiers(p, &name);
	parse_declarator(p, &d);
	if (p->status)
		return;
	if (name.cls || d.nr_dimensions || d.name.kind == SONDE_TOKEN_NAME) {
		fail_at(p, &name.token, "expected the new type's name");
		return;
	}
	for (; d.nr_pointers > 0; d.nr_pointers--)
		add_word(p, &name, "*", 1);
	warn_untagged(p, cls, &name.token);
	name_type(p, &name, cls);
}

bool sonde_parse_at_declaration(const struct sonde_parser *p)
{
	static const char *const words[] = {
		"typealias", "typedef", "struct", "variant",       "enum",
		"const",     "integer", "string", "floating_point"
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (sonde_parse_at_name(p, words[i]))
			return true;
	}
	return is_c_word(&p->token);
}

/* NOLINTNEXTLINE(misc-no-recursion): depth <= SONDE_SCHEMA_DEPTH */
void sonde_parse_declaration(struct sonde_parser *p)
{
	struct specifiers spec;

	if (sonde_parse_accept_name(p, "typealias")) {
		parse_typealias(p);
	} else if (sonde_parse_accept_name(p, "typedef")) {
		parse_typedef(p);
	} else {
		parse_specifiers(p, &spec);
	}
	sonde_parse_expect(p, ';', "';'");
}

struct sonde_class *sonde_parse_scope_type(struct sonde_parser *p)
{
	struct specifiers spec;
	struct sonde_class *cls;

	parse_specifiers(p, &spec);
	cls = use_type(p, &spec, 0);
	if (cls && cls->kind != SONDE_KIND_STRUCT) {
		fail_at(p, &spec.token, "expected a structure");
		return NULL;
	}
	return cls;
}
