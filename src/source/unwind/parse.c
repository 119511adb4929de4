/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * parse.c - .eh_frame as rows (parse.h): entries one after the
 * other, each of which runs its CIE's instructions and its own. A state is what
 * a row says; a row is written where it changes, and where an entry ends.
 */
#include "source/unwind/parse.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/port.h"
#include "base/search.h"

#define ROWS_MAX        (1u << 22)
#define REMEMBERS       8u
#define ROOM_BYTES      16u /* where functions begin at multiples of it */
#define STUB_BYTES      16u
#define STUBS_BYTES_MAX (1u << 20)
/* Of an entry that is run for one address; compilers' have some thousand at most. */
#define ENTRY_BYTES_MAX (64 << 10)
/* Of an entry's common part, which is run for each entry: they have some 30. */
#define COMMON_BYTES 1024

/* DWARF's numbers of x86-64's registers. */
#define REGISTER_FP 6u
#define REGISTER_SP 7u
#define REGISTER_PC 16u

/* Encodings of pointers. */
#define ENCODED_PCREL 0x10u
#define ENCODED_FORM  0x0fu
#define ENCODED_HOW   0x70u

struct reader {
	const uint8_t *at, *end;
	bool is_bad;
};

/* What is known of an entry's common part. */
struct common {
	const uint8_t *instructions, *end;
	uint64_t code_align;
	int64_t data_align;
	uint8_t encoding;
	bool has_data, is_signal;
};

struct state {
	uint8_t cfa_register; /* 0: not one of the two */
	bool is_signal;       /* the CFA is the kernel's expression */
	bool fp_is_lost, pc_is_lost, is_end;
	uint8_t stub_pushes_at; /* 0: no stubs (set_cfa_expression) */
	int64_t cfa_offset;
	int64_t fp_offset; /* from the CFA; 0: it is the same */
};

struct parse {
	const struct sonde_source_unwind_section *section;
	struct sonde_source_unwind_rows *rows;
	uint32_t room;
	uint64_t pc; /* of the entry that is run */
	struct state state, initial;
	struct state remembered[REMEMBERS];
	uint32_t nr_remembered;
};

/* ---- bytes ---- */

static uint64_t take_bytes(struct reader *from, size_t size)
{
	uint64_t value = 0;

	if (from->is_bad || (size_t)(from->end - from->at) < size) {
		from->is_bad = true;
		return 0;
	}
	memcpy(&value, from->at, size);
	from->at += size;
	return value;
}

static uint64_t take_uleb(struct reader *from)
{
	uint64_t value = 0;

	for (uint32_t shift = 0; shift < 64; shift += 7) {
		uint64_t byte = take_bytes(from, 1);

		value |= (byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return value;
	}
	from->is_bad = true;
	return 0;
}

static int64_t take_sleb(struct reader *from)
{
	uint64_t value = 0;

	for (uint32_t shift = 0; shift < 64; shift += 7) {
		uint64_t byte = take_bytes(from, 1);

		value |= (byte & 0x7f) << shift;
		if (byte & 0x80)
			continue;
		if (byte & 0x40 && shift < 57)
			value |= ~UINT64_C(0) << (shift + 7);
		return (int64_t)value;
	}
	from->is_bad = true;
	return 0;
}

static void unwind_pass(struct reader *from, uint64_t size)
{
	if (from->is_bad || size > (uint64_t)(from->end - from->at))
		from->is_bad = true;
	else
		from->at += size;
}

/* A value in one of DW_EH_PE_*'s forms. */
static uint64_t take_form(struct reader *from, uint8_t encoding)
{
	switch (encoding & ENCODED_FORM) {
	case 0x00:
	case 0x04:
	case 0x0c:
		return take_bytes(from, 8);
	case 0x01:
		return take_uleb(from);
	case 0x02:
		return take_bytes(from, 2);
	case 0x03:
		return take_bytes(from, 4);
	case 0x09:
		return (uint64_t)take_sleb(from);
	case 0x0a:
		return (uint64_t)(int16_t)take_bytes(from, 2);
	case 0x0b:
		return (uint64_t)(int32_t)take_bytes(from, 4);
	default:
		from->is_bad = true;
		return 0;
	}
}

static uint64_t take_encoded(const struct parse *parse, struct reader *from,
			     uint8_t encoding)
{
	const struct sonde_source_unwind_section *section = parse->section;
	uint64_t place =
		section->address + (uint64_t)(from->at - section->bytes);
	uint64_t value = take_form(from, encoding);

	if ((encoding & ENCODED_HOW) == ENCODED_PCREL)
		return value + place;
	if (encoding & ENCODED_HOW)
		from->is_bad = true;
	return value;
}

/* ---- rows ---- */

static uint32_t unwind_rule(const struct state *state)
{
	int64_t fp = (int64_t) - (uint64_t)state->fp_offset;
	bool by_fp = state->cfa_register == REGISTER_FP;

	if (state->is_end)
		return SONDE_UNWIND_END;
	if (state->is_signal)
		return SONDE_UNWIND_SIGNAL;
	if (!state->cfa_register || state->pc_is_lost ||
	    state->cfa_offset < 8 || state->cfa_offset & 7 ||
	    state->cfa_offset / 8 > SONDE_UNWIND_CFA_WORDS_MAX)
		return SONDE_UNWIND_NONE;
	if (state->fp_is_lost || fp < 0 || fp & 7 ||
	    fp / 8 >= (int64_t)SONDE_UNWIND_LOST)
		fp = 8 * SONDE_UNWIND_LOST;
	return SONDE_UNWIND_CALL_RULE(by_fp, fp / 8, state->cfa_offset / 8);
}

static int unwind_add_row(struct parse *parse, uint64_t pc, uint32_t rule)
{
	const struct sonde_source_unwind_section *section = parse->section;
	struct sonde_source_unwind_rows *to = parse->rows;

	if (pc < section->code_begin || pc >= section->code_end)
		return 0;
	if (to->nr == ROWS_MAX || SONDE_GROW(to->rows, to->nr, parse->room))
		return -ENOMEM;
	to->rows[to->nr++] = (struct sonde_stacks_row){
		.pc = (uint32_t)(pc - section->code_begin),
		.rule = rule,
	};
	return 0;
}

/* ---- instructions ---- */

/* May be too much for any offset, and then is just another one. */
static int64_t scaled(uint64_t n, const struct common *common)
{
	return (int64_t)(n * (uint64_t)common->data_align);
}

static void set_saved(struct parse *parse, uint64_t reg, int64_t offset)
{
	struct state *state = &parse->state;

	if (reg == REGISTER_FP) {
		state->fp_offset = offset;
		state->fp_is_lost = false;
	} else if (reg == REGISTER_PC) {
		state->pc_is_lost = offset != -8;
	}
}

static void set_same(struct parse *parse, uint64_t reg)
{
	if (reg == REGISTER_FP) {
		parse->state.fp_offset = 0;
		parse->state.fp_is_lost = false;
	}
}

static void set_initial(struct parse *parse, uint64_t reg)
{
	struct state *state = &parse->state;

	if (reg == REGISTER_FP) {
		state->fp_offset = parse->initial.fp_offset;
		state->fp_is_lost = parse->initial.fp_is_lost;
	} else if (reg == REGISTER_PC) {
		state->pc_is_lost = parse->initial.pc_is_lost;
		state->is_end = parse->initial.is_end;
	}
}

static void set_lost(struct parse *parse, uint64_t reg)
{
	if (reg == REGISTER_FP)
		parse->state.fp_is_lost = true;
	else if (reg == REGISTER_PC)
		parse->state.pc_is_lost = true;
}

static void set_cfa(struct parse *parse, uint64_t reg, int64_t offset)
{
	parse->state.cfa_register =
		reg == REGISTER_SP || reg == REGISTER_FP ? (uint8_t)reg : 0;
	parse->state.cfa_offset = offset;
	parse->state.is_signal = false;
	parse->state.stub_pushes_at = 0;
}

/* The linker's, of stubs of 16 bytes by which libraries are called: from the N-th
 * byte on a stub has pushed a word. It says: sp + 8 + 8 * ((pc & 15) >= N). */
static uint8_t stub_pushes_at(const uint8_t *at, uint64_t size)
{
	static const uint8_t stubs[] = { 0x77, 0x08, 0x80, 0x00, 0x3f, 0x1a,
					 0x00, 0x2a, 0x33, 0x24, 0x22 };
	uint8_t n;

	if (size != sizeof(stubs) || memcmp(at, stubs, 6) ||
	    memcmp(at + 7, stubs + 7, sizeof(stubs) - 7))
		return 0;
	n = (uint8_t)(at[6] - 0x30); /* DW_OP_lit0 + N */
	return n < STUB_BYTES ? n : 0;
}

/* The C library's: the stack pointer that the kernel has saved. */
static void set_cfa_expression(struct parse *parse, struct reader *from,
			       const struct common *common)
{
	static const uint8_t saved_sp[] = { 0x77, 0xa0, 0x01, 0x06 };
	uint64_t size = take_uleb(from);
	const uint8_t *at = from->at;

	unwind_pass(from, size);
	set_cfa(parse, 0, 0);
	parse->state.is_signal = !from->is_bad && common->is_signal &&
				 size == sizeof(saved_sp) &&
				 !memcmp(at, saved_sp, sizeof(saved_sp));
	if (!from->is_bad)
		parse->state.stub_pushes_at = stub_pushes_at(at, size);
}

static void set_expression(struct parse *parse, struct reader *from)
{
	set_lost(parse, take_uleb(from));
	unwind_pass(from, take_uleb(from));
}

/* The rest: what is neither about positions nor about the CFA. */
static void run_register(struct parse *parse, struct reader *from,
			 const struct common *common, uint8_t op)
{
	uint64_t reg;

	switch (op) {
	case 0x05: /* offset_extended */
		reg = take_uleb(from);
		set_saved(parse, reg, scaled(take_uleb(from), common));
		break;
	case 0x11: /* offset_extended_sf */
		reg = take_uleb(from);
		set_saved(parse, reg,
			  scaled((uint64_t)take_sleb(from), common));
		break;
	case 0x2f: /* GNU_negative_offset_extended */
		reg = take_uleb(from);
		set_saved(parse, reg, scaled(-take_uleb(from), common));
		break;
	case 0x06: /* restore_extended */
		set_initial(parse, take_uleb(from));
		break;
	case 0x07: /* undefined */
		reg = take_uleb(from);
		parse->state.is_end |= reg == REGISTER_PC;
		set_lost(parse, reg);
		break;
	case 0x08: /* same_value */
		set_same(parse, take_uleb(from));
		break;
	case 0x09: /* register */
	case 0x14: /* val_offset */
	case 0x15: /* val_offset_sf */
		set_lost(parse, take_uleb(from));
		(void)take_uleb(from); /* as long as a signed one */
		break;
	case 0x10: /* expression */
	case 0x16: /* val_expression */
		set_expression(parse, from);
		break;
	default:
		from->is_bad = true;
	}
}

static void run_cfa(struct parse *parse, struct reader *from,
		    const struct common *common, uint8_t op)
{
	struct state *state = &parse->state;
	uint64_t reg;

	switch (op) {
	case 0x0c: /* def_cfa */
		reg = take_uleb(from);
		set_cfa(parse, reg, (int64_t)take_uleb(from));
		break;
	case 0x12: /* def_cfa_sf */
		reg = take_uleb(from);
		set_cfa(parse, reg, scaled((uint64_t)take_sleb(from), common));
		break;
	case 0x0d: /* def_cfa_register */
		set_cfa(parse, take_uleb(from), state->cfa_offset);
		break;
	case 0x0e: /* def_cfa_offset */
		state->cfa_offset = (int64_t)take_uleb(from);
		break;
	case 0x13: /* def_cfa_offset_sf */
		state->cfa_offset = scaled((uint64_t)take_sleb(from), common);
		break;
	case 0x0f: /* def_cfa_expression */
		set_cfa_expression(parse, from, common);
		break;
	default:
		run_register(parse, from, common, op);
	}
}

/* How far the next row is from this one; 0: the instruction isn't of that
 * kind. */
static uint64_t take_advance(struct reader *from, uint8_t op)
{
	switch (op) {
	case 0x02:
		return take_bytes(from, 1);
	case 0x03:
		return take_bytes(from, 2);
	case 0x04:
		return take_bytes(from, 4);
	default:
		return op >> 6 == 1 ? op & 0x3f : 0;
	}
}

static void run_one(struct parse *parse, struct reader *from,
		    const struct common *common, uint8_t op)
{
	switch (op >> 6) {
	case 2: /* offset */
		set_saved(parse, op & 0x3f, scaled(take_uleb(from), common));
		return;
	case 3: /* restore */
		set_initial(parse, op & 0x3f);
		return;
	default:
		break;
	}
	switch (op) {
	case 0x00: /* nop */
		break;
	case 0x0a:
		if (parse->nr_remembered == REMEMBERS)
			from->is_bad = true;
		else
			parse->remembered[parse->nr_remembered++] =
				parse->state;
		break;
	case 0x0b:
		if (!parse->nr_remembered)
			from->is_bad = true;
		else
			parse->state =
				parse->remembered[--parse->nr_remembered];
		break;
	case 0x2e: /* GNU_args_size */
		(void)take_uleb(from);
		break;
	default:
		run_cfa(parse, from, common, op);
	}
}

/* Two rows of each stub. */
static int add_stubs(struct parse *parse, uint64_t end)
{
	struct state state = parse->state;
	uint64_t pc = parse->pc & ~(uint64_t)(STUB_BYTES - 1);
	int rc = 0;

	state.cfa_register = REGISTER_SP;
	for (; !rc && pc < end; pc += STUB_BYTES) {
		state.cfa_offset = 8;
		rc = unwind_add_row(parse, pc > parse->pc ? pc : parse->pc,
				    unwind_rule(&state));
		state.cfa_offset = 16;
		if (!rc && pc + state.stub_pushes_at < end)
			rc = unwind_add_row(parse, pc + state.stub_pushes_at,
					    unwind_rule(&state));
	}
	return rc;
}

/* Rows up to `end`, if it isn't 0: a CIE's have no place. */
static int run_instructions(struct parse *parse, struct reader *from,
			    const struct common *common, uint64_t end)
{
	int rc = 0;

	while (!rc && !from->is_bad && from->at < from->end) {
		uint8_t op = (uint8_t)take_bytes(from, 1);

		if (op == 0x01) { /* set_loc */
			parse->pc = take_encoded(parse, from, common->encoding);
		} else if (op >> 6 == 1 || (op >= 0x02 && op <= 0x04)) {
			/* advance_loc, short or long */
			if (end)
				rc = unwind_add_row(parse, parse->pc,
						    unwind_rule(&parse->state));
			parse->pc +=
				take_advance(from, op) * common->code_align;
		} else {
			run_one(parse, from, common, op);
		}
	}
	if (!rc && end && parse->pc < end && !from->is_bad &&
	    parse->state.stub_pushes_at && end - parse->pc <= STUBS_BYTES_MAX)
		rc = add_stubs(parse, end);
	else if (!rc && end && parse->pc < end)
		rc = unwind_add_row(parse, parse->pc,
				    from->is_bad ? SONDE_UNWIND_NONE :
						   unwind_rule(&parse->state));
	return rc;
}

/* ---- entries ---- */

static bool unwind_augmentation(struct parse *parse, struct reader *from,
				const char *letters, struct common *common)
{
	uint64_t size;
	const uint8_t *end;

	if (*letters != 'z')
		return !*letters;
	size = take_uleb(from);
	if (from->is_bad || size > (uint64_t)(from->end - from->at))
		return false;
	end = from->at + size;
	common->has_data = true;
	while (*++letters) {
		uint8_t encoding;

		switch (*letters) {
		case 'R':
			common->encoding = (uint8_t)take_bytes(from, 1);
			break;
		case 'L':
			(void)take_bytes(from, 1);
			break;
		case 'P':
			encoding = (uint8_t)take_bytes(from, 1);
			(void)take_encoded(parse, from, encoding & 0x7f);
			break;
		case 'S':
			common->is_signal = true;
			break;
		default:
			return false;
		}
	}
	if (from->at > end)
		return false;
	from->at = end;
	return !from->is_bad;
}

static bool read_common(struct parse *parse, struct reader from,
			struct common *common)
{
	const char *letters;
	uint64_t version = take_bytes(&from, 1);
	const uint8_t *zero;

	*common = (struct common){ .encoding = 0 };
	if (from.is_bad || (version != 1 && version != 3))
		return false;
	letters = (const char *)from.at;
	zero = memchr(from.at, 0, (size_t)(from.end - from.at));
	if (!zero)
		return false;
	from.at = zero + 1;
	common->code_align = take_uleb(&from);
	common->data_align = take_sleb(&from);
	if ((version == 1 ? take_bytes(&from, 1) : take_uleb(&from)) !=
	    REGISTER_PC)
		return false;
	if (from.is_bad || !unwind_augmentation(parse, &from, letters, common))
		return false;
	common->instructions = from.at;
	common->end = from.end;
	return common->code_align == 1 && common->data_align >= -64 &&
	       common->data_align < 64;
}

/* A length, and what it is of; false at the end. */
static bool next_entry(struct reader *all, struct reader *entry)
{
	uint64_t size = take_bytes(all, 4);

	if (size == UINT32_MAX)
		size = take_bytes(all, 8);
	if (all->is_bad || !size || size > (uint64_t)(all->end - all->at))
		return false;
	*entry = (struct reader){ .at = all->at, .end = all->at + size };
	all->at += size;
	return true;
}

/* The CIE that is `back` bytes before `at`. */
static bool find_common(struct parse *parse, const uint8_t *at, uint64_t back,
			struct common *common)
{
	const struct sonde_source_unwind_section *section = parse->section;
	struct reader all = { .end = section->bytes + section->size };
	struct reader entry;

	if (back > (uint64_t)(at - section->bytes))
		return false;
	all.at = at - back;
	return next_entry(&all, &entry) &&
	       entry.end - entry.at <= COMMON_BYTES && !take_bytes(&entry, 4) &&
	       !entry.is_bad && read_common(parse, entry, common);
}

/* The rows of one function. */
static int run_entry(struct parse *parse, struct reader *from,
		     const struct common *common)
{
	struct reader first = { .at = common->instructions,
				.end = common->end };
	uint64_t begin = take_encoded(parse, from, common->encoding);
	uint64_t size = take_form(from, common->encoding & ENCODED_FORM);
	int rc;

	if (common->has_data)
		unwind_pass(from, take_uleb(from));
	if (from->is_bad || !size || begin + size < begin)
		return 0;
	parse->state = (struct state){ 0 };
	parse->nr_remembered = 0;
	parse->pc = 0;
	(void)run_instructions(parse, &first, common, 0);
	parse->initial = parse->state;
	parse->pc = begin;
	if (first.is_bad)
		return 0;
	rc = run_instructions(parse, from, common, begin + size);
	return rc ? rc : unwind_add_row(parse, begin + size, SONDE_UNWIND_GAP);
}

/* By address; of one address, a gap comes first, and the last counts. */
static int by_pc(const void *a, const void *b)
{
	const struct sonde_stacks_row *left = a;
	const struct sonde_stacks_row *right = b;

	if (left->pc != right->pc)
		return left->pc < right->pc ? -1 : 1;
	return ((left->rule ^ SONDE_UNWIND_GAP) >
		(right->rule ^ SONDE_UNWIND_GAP)) -
	       ((left->rule ^ SONDE_UNWIND_GAP) <
		(right->rule ^ SONDE_UNWIND_GAP));
}

struct run {
	struct sonde_stacks_row first; /* of which by_pc() is */
	uint32_t begin, end;
};

/* NULL without memory. */
static struct run *find_runs(const struct sonde_source_unwind_rows *rows,
			     size_t *ret_nr)
{
	struct run *runs = NULL;
	size_t capacity = 0;
	size_t nr = 0;

	for (uint32_t i = 0; i < rows->nr; i++) {
		const struct sonde_stacks_row *row = &rows->rows[i];
		const struct sonde_stacks_row *before = i ? row - 1 : row;

		/* Out of order, or there is room for another function. */
		if (!i || by_pc(before, row) > 0 ||
		    (before->rule == SONDE_UNWIND_GAP &&
		     row->pc - before->pc >= ROOM_BYTES)) {
			if (SONDE_GROW(runs, nr, capacity)) {
				free(runs);
				return NULL;
			}
			runs[nr++] = (struct run){ .begin = i,
						   .first = rows->rows[i] };
		}
		runs[nr - 1].end = i + 1;
	}
	*ret_nr = nr;
	return runs;
}

/*
 * An entry's rows are in order, and so are those of neighbours in the code: a linker
 * has put some thousand pieces one after the other. So pieces are put in order, and
 * rows only if that wasn't enough.
 */
static void sort_rows(struct sonde_source_unwind_rows *rows)
{
	size_t nr = 0;
	uint32_t to = 0;
	bool is_sorted = true;
	struct run *runs = find_runs(rows, &nr);
	struct sonde_stacks_row *sorted =
		runs ? malloc(rows->nr * sizeof(*sorted)) : NULL;

	if (sorted) {
		qsort(runs, nr, sizeof(*runs), by_pc);
		for (size_t i = 0; i < nr; i++)
			for (uint32_t k = runs[i].begin; k < runs[i].end; k++) {
				sorted[to++] = rows->rows[k];
				is_sorted &=
					to == 1 || by_pc(&sorted[to - 2],
							 &sorted[to - 1]) <= 0;
			}
		free(rows->rows);
		rows->rows = sorted;
	}
	if (!sorted || !is_sorted)
		qsort(rows->rows, rows->nr, sizeof(*rows->rows), by_pc);
	free(runs);
}

/* One row an address, and none that says what the one before does. */
static void tidy(struct sonde_source_unwind_rows *rows)
{
	uint32_t nr = 0;

	if (rows->nr)
		sort_rows(rows);
	for (uint32_t i = 0; i < rows->nr; i++) {
		if (i + 1 < rows->nr &&
		    rows->rows[i + 1].pc == rows->rows[i].pc)
			continue;
		if (nr && rows->rows[nr - 1].rule == rows->rows[i].rule)
			continue;
		rows->rows[nr++] = rows->rows[i];
	}
	rows->nr = nr;
}

int sonde_source_unwind_parse(const struct sonde_source_unwind_section *section,
			      struct sonde_source_unwind_rows *ret_rows)
{
	struct parse parse = { .section = section, .rows = ret_rows };
	struct reader all = { .at = section->bytes,
			      .end = section->bytes + section->size };
	struct reader entry;
	struct common common;
	int rc = 0;

	*ret_rows = (struct sonde_source_unwind_rows){ 0 };
	while (!rc && next_entry(&all, &entry)) {
		const uint8_t *at = entry.at;
		uint64_t back = take_bytes(&entry, 4);

		if (back && find_common(&parse, at, back, &common))
			rc = run_entry(&parse, &entry, &common);
	}
	if (rc) {
		free(ret_rows->rows);
		*ret_rows = (struct sonde_source_unwind_rows){ 0 };
		return rc;
	}
	tidy(ret_rows);
	return 0;
}

/* ---- an index ---- */

static int index_add(struct parse *parse, struct reader entry,
		     const struct common *common, uint32_t at,
		     struct sonde_source_unwind_index *to)
{
	const struct sonde_source_unwind_section *section = parse->section;
	uint64_t begin = take_encoded(parse, &entry, common->encoding);

	if (entry.is_bad || begin < section->code_begin ||
	    begin >= section->code_end)
		return 0;
	if (to->nr == ROWS_MAX || SONDE_GROW(to->entries, to->nr, parse->room))
		return -ENOMEM;
	to->entries[to->nr++] = (struct sonde_source_unwind_entry){
		.pc = (uint32_t)(begin - section->code_begin),
		.at = at,
	};
	return 0;
}

static int entries_by_pc(const void *a, const void *b)
{
	const struct sonde_source_unwind_entry *left = a;
	const struct sonde_source_unwind_entry *right = b;

	if (left->pc != right->pc)
		return left->pc < right->pc ? -1 : 1;
	return left->at < right->at ? -1 : left->at > right->at;
}

int sonde_source_unwind_make_index(
	const struct sonde_source_unwind_section *section,
	struct sonde_source_unwind_index *ret_index)
{
	struct parse parse = { .section = section };
	struct reader all = { .at = section->bytes,
			      .end = section->bytes + section->size };
	struct sonde_source_unwind_index index = { 0 };
	const uint8_t *begin = all.at;
	struct reader entry;
	struct common common;
	int rc = section->size > UINT32_MAX ? -ENOMEM : 0;

	for (; !rc && next_entry(&all, &entry); begin = all.at) {
		const uint8_t *at = entry.at;
		uint64_t back = take_bytes(&entry, 4);

		if (back && find_common(&parse, at, back, &common))
			rc = index_add(&parse, entry, &common,
				       (uint32_t)(begin - section->bytes),
				       &index);
	}
	if (rc) {
		free(index.entries);
		return rc;
	}
	if (index.nr)
		qsort(index.entries, index.nr, sizeof(*index.entries),
		      entries_by_pc);
	*ret_index = index;
	return 0;
}

/* The rows of the entry that begins there. */
static int run_entry_at(const struct sonde_source_unwind_section *section,
			uint32_t at, struct sonde_source_unwind_rows *rows)
{
	struct parse parse = { .section = section, .rows = rows };
	struct reader all = { .at = section->bytes + at,
			      .end = section->bytes + section->size };
	struct reader entry;
	struct common common;
	const uint8_t *begin;
	uint64_t back;
	int rc;

	if (!next_entry(&all, &entry) || entry.end - entry.at > ENTRY_BYTES_MAX)
		return 0;
	begin = entry.at;
	back = take_bytes(&entry, 4);
	if (!back || !find_common(&parse, begin, back, &common))
		return 0;
	rc = run_entry(&parse, &entry, &common);
	tidy(rows);
	return rc;
}

uint32_t
sonde_source_unwind_rule(const struct sonde_source_unwind_section *section,
			 const struct sonde_source_unwind_index *index,
			 uint64_t address)
{
	struct sonde_source_unwind_rows rows = { 0 };
	uint32_t rule = SONDE_UNWIND_GAP;
	uint32_t pc;
	size_t i;

	if (address < section->code_begin || address >= section->code_end)
		return SONDE_UNWIND_GAP;
	pc = (uint32_t)(address - section->code_begin);
	SONDE_SEARCH(i, index->nr, index->entries[i].pc <= pc);
	if (!i)
		return SONDE_UNWIND_GAP;
	if (run_entry_at(section, index->entries[i - 1].at, &rows))
		rule = SONDE_UNWIND_NONE;
	for (uint32_t k = 0; k < rows.nr && rows.rows[k].pc <= pc; k++)
		rule = rows.rows[k].rule;
	free(rows.rows);
	return rule;
}
