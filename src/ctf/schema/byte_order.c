/* SPDX-License-Identifier: MIT */
/*
 * byte_order.c - whether numbers of different byte orders can share a byte.
 *
 * They can't: which of a byte's bits come first is the byte order's to say. How
 * far into a byte a field begins may depend on the event, so each class becomes
 * a *table*: for each state before it, the set of states that may be behind it.
 * A state is the bits used of the last byte, 0 to 7, and whose byte order they
 * are in. No state behind it: it can't be read from there. What can't be read
 * from any state it may begin in can't be read at all, and is refused.
 *
 * Tables are put together from those of members, each made once: the cost is
 * linear in the number of classes, times the logarithm of arrays' lengths.
 */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "ctf/schema/byte_order.h"

/* 0: at a byte; 1 to 7: bits used, little endian; 8 to 14: big endian */
#define NR_STATES 15

struct table {
	uint16_t to[NR_STATES]; /* sets of states */
};

static unsigned int bits_used(unsigned int state)
{
	return state > 7 ? state - 7 : state;
}

static bool is_big(unsigned int state)
{
	return state > 7;
}

static struct table nothing(void)
{
	struct table table;

	for (unsigned int i = 0; i < NR_STATES; i++)
		table.to[i] = (uint16_t)(1u << i);
	return table;
}

static uint16_t from_all(const struct table *table, uint16_t states)
{
	uint16_t to = 0;

	for (unsigned int i = 0; i < NR_STATES; i++)
		if (states >> i & 1)
			to |= table->to[i];
	return to;
}

/* One after the other. */
static struct table join(const struct table *first, const struct table *second)
{
	struct table both;

	for (unsigned int i = 0; i < NR_STATES; i++)
		both.to[i] = from_all(second, first->to[i]);
	return both;
}

static void add(struct table *table, const struct table *or_this)
{
	for (unsigned int i = 0; i < NR_STATES; i++)
		table->to[i] |= or_this->to[i];
}

/* `nr` times, one after the other. */
static struct table repeat(struct table once, uint64_t nr)
{
	struct table all = nothing();

	for (; nr; nr >>= 1) {
		if (nr & 1)
			all = join(&all, &once);
		once = join(&once, &once);
	}
	return all;
}

/* Any number of times: sets grow NR_STATES times at most. */
static struct table repeat_any(const struct table *once)
{
	struct table all = nothing();

	for (unsigned int i = 0; i < NR_STATES; i++) {
		struct table more = join(&all, once);

		add(&all, &more);
	}
	return all;
}

static struct table align(uint32_t bits)
{
	struct table table;

	for (unsigned int i = 0; i < NR_STATES; i++) {
		unsigned int used = bits_used(i);

		if (bits < 8)
			used = (used + bits - 1) & ~(bits - 1) & 7;
		else
			used = 0;
		table.to[i] =
			(uint16_t)(1u << (used && is_big(i) ? used + 7 : used));
	}
	return table;
}

static struct table byte_order_number(unsigned int bits, bool big_endian)
{
	struct table table = { { 0 } };

	for (unsigned int i = 0; i < NR_STATES; i++) {
		unsigned int used = (bits_used(i) + bits) & 7;

		if (!bits_used(i) || is_big(i) == big_endian)
			table.to[i] = (uint16_t)(1u << (used && big_endian ?
								used + 7 :
								used));
	}
	return table;
}

static struct table table_of(const struct sonde_class *cls);

/* NOLINTNEXTLINE(misc-no-recursion): depth <= SONDE_SCHEMA_DEPTH */
static struct table table_of_members(const struct sonde_class *cls)
{
	struct table table = nothing();

	for (size_t i = 0; i < cls->nr_members; i++) {
		struct table member = table_of(cls->members[i].cls);

		table = join(&table, &member);
	}
	return table;
}

/* Of variants and optionals: one of them, or perhaps none. */
/* NOLINTNEXTLINE(misc-no-recursion): depth <= SONDE_SCHEMA_DEPTH */
static struct table table_of_options(const struct sonde_class *cls)
{
	struct table table = { { 0 } };

	if (cls->kind == SONDE_KIND_OPTIONAL || cls->nr_members == 0)
		table = nothing();
	for (size_t i = 0; i < cls->nr_members; i++) {
		struct table option = table_of(cls->members[i].cls);

		add(&table, &option);
	}
	return table;
}

/* NOLINTNEXTLINE(misc-no-recursion): depth <= SONDE_SCHEMA_DEPTH */
static struct table table_of(const struct sonde_class *cls)
{
	struct table before = align(cls->align_bits);
	struct table inside = nothing();

	switch (cls->kind) {
	case SONDE_KIND_UINT:
	case SONDE_KIND_INT:
	case SONDE_KIND_BOOL:
	case SONDE_KIND_BITS:
	case SONDE_KIND_FLOAT:
		if (cls->bits)
			inside = byte_order_number(cls->bits, cls->big_endian);
		break;
	case SONDE_KIND_STRING:
	case SONDE_KIND_BLOB:
		break;
	case SONDE_KIND_STRUCT:
		inside = table_of_members(cls);
		break;
	case SONDE_KIND_ARRAY:
		inside = repeat(table_of(cls->members[0].cls), cls->count);
		break;
	case SONDE_KIND_SEQUENCE:
		inside = table_of(cls->members[0].cls);
		inside = repeat_any(&inside);
		break;
	case SONDE_KIND_VARIANT:
	case SONDE_KIND_OPTIONAL:
		inside = table_of_options(cls);
		break;
	}
	return join(&before, &inside);
}

/* Most scopes are of whole bytes at bytes. */
/* NOLINTNEXTLINE(misc-no-recursion): depth <= SONDE_SCHEMA_DEPTH */
static bool is_of_bytes(const struct sonde_class *cls)
{
	if (cls->kind <= SONDE_KIND_FLOAT &&
	    (cls->bits % 8 || cls->align_bits % 8))
		return false;
	for (size_t i = 0; i < cls->nr_members; i++)
		if (!is_of_bytes(cls->members[i].cls))
			return false;
	return true;
}

bool sonde_byte_order_fits(const struct sonde_class *cls, uint16_t *states)
{
	struct table table;

	if (!cls)
		return true;
	if (is_of_bytes(cls)) {
		if (cls->align_bits >= 8)
			*states = SONDE_BITS_AT_A_BYTE;
		return true;
	}
	table = table_of(cls);
	*states = from_all(&table, *states);
	return *states;
}
