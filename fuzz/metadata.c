/* SPDX-License-Identifier: MIT */
#include "metadata.h"

#include <stdarg.h>

#define MAX_NESTING 5
#define MAX_MEMBERS 5
#define MAX_LENGTHS 16

/* While a scope is made: the numbers that may be referred to, each with how
 * many structures are around it. */
struct maker {
	struct fuzz_input *in;
	struct metadata *to;
	const char *scope;
	uint32_t classes_left;
	uint32_t structures; /* around what is being made */
	size_t nr_lengths;
	struct {
		uint32_t name, structures;
		bool boolean;
	} lengths[MAX_LENGTHS];
};

__attribute__((format(printf, 2, 3))) static void say(struct metadata *to,
						      const char *format, ...)
{
	va_list args;

	va_start(args, format);
	to->used += (size_t)vsnprintf(to->text + to->used,
				      METADATA_MAX - to->used, format, args);
	va_end(args);
	FUZZ_CHECK(to->used < METADATA_MAX);
}

static void say_order(struct maker *maker)
{
	uint8_t order = fuzz_u8(maker->in);
	uint32_t align = fuzz_u8(maker->in) % 8;

	say(maker->to, ",\"byte-order\":\"%s-endian\"",
	    order & 1 ? "big" : "little");
	if (order % 16 == 15)
		say(maker->to, ",\"bit-order\":\"%s\"",
		    order & 16 ? "first-to-last" : "last-to-first");
	say(maker->to, ",\"alignment\":%u", align < 3 ? 1 : 1u << (align - 1));
}

static void make_number(struct maker *maker)
{
	static const char *const types[] = {
		"unsigned-integer", "signed-integer", "unsigned-integer",
		"boolean",          "bit-array",      "floating-point-number"
	};
	uint32_t type = fuzz_below(maker->in, 7);
	uint32_t bits = 1 + fuzz_below(maker->in, 64);

	if (type == 6) {
		say(maker->to,
		    "{\"type\":\"variable-length-%ssigned-integer\"}",
		    bits & 1 ? "" : "un");
		return;
	}
	if (type == 5)
		bits = 16u << (bits % 3);
	if (type == 2)
		bits = 8u << (bits % 4);
	say(maker->to, "{\"type\":\"fixed-length-%s\",\"length\":%u",
	    types[type], bits);
	say_order(maker);
	say(maker->to, "}");
}

/* A number that others may refer to: mostly small. */
static void make_length(struct maker *maker, bool boolean)
{
	uint8_t kind = fuzz_u8(maker->in);

	if (boolean) {
		say(maker->to,
		    "{\"type\":\"fixed-length-boolean\","
		    "\"length\":%u",
		    1 + kind % 9u);
	} else if (kind % 8 == 7) {
		say(maker->to,
		    "{\"type\":\"variable-length-unsigned-integer\"}");
		return;
	} else {
		say(maker->to,
		    "{\"type\":\"fixed-length-unsigned-integer\","
		    "\"length\":%u",
		    kind < 200 ? 1 + kind % 4u : 1 + kind % 64u);
	}
	say_order(maker);
	say(maker->to, "}");
}

/* The place of some number from here; false if there is none of the kind. */
static bool say_location(struct maker *maker, const char *property,
			 bool boolean)
{
	size_t from = fuzz_u8(maker->in);

	for (size_t k = 0; k < maker->nr_lengths; k++) {
		size_t i = (from + k) % maker->nr_lengths;
		uint32_t up = maker->structures - maker->lengths[i].structures;

		if (maker->lengths[i].boolean != boolean)
			continue;
		say(maker->to, ",\"%s\":{\"path\":[", property);
		while (up--)
			say(maker->to, "null,");
		say(maker->to, "\"f%u\"]}", maker->lengths[i].name);
		return true;
	}
	return false;
}

static void make_class(struct maker *maker);

static void make_text(struct maker *maker)
{
	static const char *const encodings[] = { "utf-8", "utf-16le",
						 "utf-32be" };
	uint8_t kind = fuzz_u8(maker->in);
	struct metadata *to = maker->to;
	size_t start = to->used;
	bool blob = kind % 4 == 3;
	const char *what = blob ? "blob" : "string";

	if (kind % 4 == 0) {
		say(to, "{\"type\":\"null-terminated-string\"");
	} else if (kind % 4 == 1) {
		say(to, "{\"type\":\"static-length-%s\",\"length\":%u", what,
		    kind / 16u);
	} else {
		say(to, "{\"type\":\"dynamic-length-%s\"", what);
		if (!say_location(maker, "length-field-location", false)) {
			to->used = start;
			make_number(maker);
			return;
		}
	}
	if (!blob)
		say(to, ",\"encoding\":\"%s\"", encodings[kind / 4 % 8 % 3]);
	say(to, "}");
}

static void make_array(struct maker *maker)
{
	uint8_t kind = fuzz_u8(maker->in);
	struct metadata *to = maker->to;
	size_t start = to->used;

	say(to, "{\"type\":\"dynamic-length-array\"");
	if (kind % 3 == 0 ||
	    !say_location(maker, "length-field-location", false)) {
		uint64_t length = fuzz_number(maker->in);

		to->used = start;
		if (kind < 250)
			length %= 6;
		say(to, "{\"type\":\"static-length-array\",\"length\":%llu",
		    (unsigned long long)(length & 0xffffffff));
	}
	if (kind % 16 == 15)
		say(to, ",\"minimum-alignment\":%u", 1u << kind / 64);
	say(to, ",\"element-field-class\":");
	make_class(maker);
	say(to, "}");
}

static void make_variant(struct maker *maker)
{
	uint32_t nr = 1 + fuzz_u8(maker->in) % 3;
	struct metadata *to = maker->to;
	size_t start = to->used;
	uint32_t low = 0;

	say(to, "{\"type\":\"variant\"");
	if (!say_location(maker, "selector-field-location", false)) {
		to->used = start;
		make_number(maker);
		return;
	}
	say(to, ",\"options\":[");
	for (uint32_t i = 0; i < nr; i++) {
		uint32_t high = low + fuzz_u8(maker->in) % 5;

		/* the last one takes all, most often */
		if (i + 1 == nr && high % 4)
			high = 1000000000;
		say(to,
		    "%s{\"name\":\"f%u\",\"selector-field-ranges\":[[%u,%u]],"
		    "\"field-class\":",
		    i ? "," : "", to->nr_names++, low, high);
		make_class(maker);
		say(to, "}");
		low = high + 1;
	}
	say(to, "]}");
}

static void make_optional(struct maker *maker)
{
	bool boolean = fuzz_u8(maker->in) & 1;
	struct metadata *to = maker->to;
	size_t start = to->used;

	say(to, "{\"type\":\"optional\"");
	if (!say_location(maker, "selector-field-location", boolean)) {
		to->used = start;
		make_number(maker);
		return;
	}
	if (!boolean)
		say(to, ",\"selector-field-ranges\":[[1,2],[4,900]]");
	say(to, ",\"field-class\":");
	make_class(maker);
	say(to, "}");
}

static void make_member(struct maker *maker)
{
	uint8_t kind = fuzz_u8(maker->in);
	uint32_t name = maker->to->nr_names++;

	say(maker->to, "{\"name\":\"f%u\",\"field-class\":", name);
	if (kind % 3 == 0)
		make_length(maker, kind % 5 == 0);
	else
		make_class(maker);
	say(maker->to, "}");
	/* Now and then something else than a number is referred to: an
	 * optional or a variant that has one, perhaps. */
	if ((kind % 3 == 0 || kind == 200) && maker->nr_lengths < MAX_LENGTHS) {
		maker->lengths[maker->nr_lengths].name = name;
		maker->lengths[maker->nr_lengths].structures =
			maker->structures;
		maker->lengths[maker->nr_lengths++].boolean = kind % 15 == 0;
	}
}

static void make_structure(struct maker *maker, uint32_t nr)
{
	size_t nr_lengths = maker->nr_lengths;
	uint8_t align = fuzz_u8(maker->in);

	say(maker->to, "{\"type\":\"structure\"");
	if (align % 16 == 15)
		say(maker->to, ",\"minimum-alignment\":%u", 1u << align / 32);
	say(maker->to, ",\"member-classes\":[");
	maker->structures++;
	for (uint32_t i = 0; i < nr; i++) {
		say(maker->to, "%s", i ? "," : "");
		make_member(maker);
	}
	maker->structures--;
	maker->nr_lengths = nr_lengths;
	say(maker->to, "]}");
}

static void make_class(struct maker *maker)
{
	static uint32_t nesting;
	uint32_t kind = fuzz_below(maker->in, 12);

	if (!maker->classes_left || nesting == MAX_NESTING)
		kind = 0;
	else
		maker->classes_left--;
	nesting++;
	if (kind < 4)
		make_number(maker);
	else if (kind < 6)
		make_text(maker);
	else if (kind < 8)
		make_array(maker);
	else if (kind < 9)
		make_optional(maker);
	else if (kind < 11)
		make_variant(maker);
	else
		make_structure(maker, fuzz_below(maker->in, MAX_MEMBERS));
	nesting--;
}

static void make_scope(struct fuzz_input *in, struct metadata *to,
		       const char *property, uint32_t members)
{
	struct maker maker = { .in = in, .to = to, .classes_left = 24 };

	say(to, ",\"%s\":", property);
	make_structure(&maker, members);
}

/* A number with a role: of whole bytes, or of any bits. */
static void say_role(struct metadata *to, const char *name, uint32_t bits,
		     const char *role)
{
	if (bits)
		say(to,
		    "{\"name\":\"%s\",\"field-class\":{\"type\":"
		    "\"fixed-length-unsigned-integer\",\"length\":%u,"
		    "\"byte-order\":\"little-endian\",\"alignment\":%u,"
		    "\"roles\":[\"%s\"]}}",
		    name, bits, bits % 8 ? 1 : 8, role);
	else
		say(to,
		    "{\"name\":\"%s\",\"field-class\":{\"type\":"
		    "\"variable-length-unsigned-integer\","
		    "\"roles\":[\"%s\"]}}",
		    name, role);
}

/* Of five numbers of 32 bits, as the target writes them. */
static void make_context(struct metadata *to, bool clock)
{
	static const char *const roles[] = {
		"packet-content-length",
		"packet-total-length",
		"default-clock-timestamp",
		"packet-end-default-clock-timestamp",
	};

	say(to, ",\"packet-context-field-class\":{\"type\":\"structure\","
		"\"member-classes\":[");
	for (uint32_t i = 0; i < (clock ? 4 : 2); i++) {
		say_role(to, roles[i], 32, roles[i]);
		say(to, ",");
	}
	say(to, "{\"name\":\"length\",\"field-class\":{\"type\":"
		"\"fixed-length-unsigned-integer\",\"length\":32,"
		"\"byte-order\":\"little-endian\"}}]}");
}

static void make_header(struct fuzz_input *in, struct metadata *to, bool clock)
{
	uint8_t form = fuzz_u8(in);
	uint32_t id_bits = fuzz_u8(in) % 4 ? 8 : fuzz_below(in, 17);
	uint32_t time_bits = fuzz_u8(in) % 4 ? 16 : fuzz_below(in, 65);

	to->header_has_id = form % 8 != 7;
	say(to, ",\"event-record-header-field-class\":{\"type\":\"structure\","
		"\"member-classes\":[");
	if (to->header_has_id)
		say_role(to, "id", id_bits, "event-record-class-id");
	if (clock) {
		say(to, "%s", to->header_has_id ? "," : "");
		say_role(to, "time", time_bits, "default-clock-timestamp");
	}
	say(to, "]}");
	if (form & 8)
		make_scope(in, to, "event-record-common-context-field-class",
			   fuzz_below(in, 4));
}

void metadata_make(struct fuzz_input *in, struct metadata *to)
{
	bool clock = fuzz_u8(in) % 8 != 7;
	uint32_t nr;

	to->used = 0;
	to->nr_names = 0;
	say(to, "\036{\"type\":\"preamble\",\"version\":2}\n");
	if (clock)
		say(to, "\036{\"type\":\"clock-class\",\"id\":\"c\","
			"\"frequency\":1000000000}\n");
	say(to, "\036{\"type\":\"data-stream-class\"");
	if (clock)
		say(to, ",\"default-clock-class-id\":\"c\"");
	make_context(to, clock);
	make_header(in, to, clock);
	say(to, "}\n");
	nr = to->header_has_id ? 1 + fuzz_below(in, METADATA_EVENTS) : 1;
	for (uint32_t i = 0; i < nr; i++) {
		say(to, "\036{\"type\":\"event-record-class\",\"id\":%u", i);
		if (fuzz_u8(in) & 1)
			make_scope(in, to, "specific-context-field-class",
				   fuzz_below(in, 4));
		make_scope(in, to, "payload-field-class",
			   1 + fuzz_below(in, MAX_MEMBERS));
		say(to, "}\n");
	}
}
