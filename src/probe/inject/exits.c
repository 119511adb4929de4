/* SPDX-License-Identifier: MIT */
/*
 * exits.c - where a function returns.
 *
 * A ring of the last instructions is kept while the function is read, so that a
 * window can begin before the `ret` that it is for.
 */
#include "probe/inject/exits.h"

#include <errno.h>
#include <string.h>

#include "probe/inject/insn_list.h"

#define KEPT 8u /* instructions before the one at hand */

struct kept {
	uint64_t address;
	struct sonde_insn insn;
};

struct search {
	const struct sonde_code_view *view;
	struct sonde_exits *exits;
	struct kept kept[KEPT]; /* the last is kept[0] */
	unsigned int nr;        /* that follow one another, each going on */
	bool is_table;          /* the last two fetch an entry of a table */
};

static const uint8_t *code_at(const struct search *s, uint64_t address)
{
	return s->view->bytes + (address - s->view->address);
}

/* ---- instructions ---- */

/* What an instruction adds to rsp, if that is all it does, and it isn't rax
 * that it writes; -1. */
static int taken_down(const uint8_t *code, unsigned int length)
{
	int32_t wide;

	if (length == 1 && code[0] > 0x58 && code[0] <= 0x5f && code[0] != 0x5c)
		return 8; /* pop */
	if (length == 2 && code[0] == 0x41 && code[1] >= 0x58 &&
	    code[1] <= 0x5f)
		return 8;
	if (length == 4 && code[0] == 0x48 && code[1] == 0x83 &&
	    code[2] == 0xc4 && code[3] < 0x80)
		return code[3]; /* add $imm8,%rsp */
	if (length == 7 && code[0] == 0x48 && code[1] == 0x81 &&
	    code[2] == 0xc4) {
		memcpy(&wide, code + 3, sizeof(wide));
		return wide < 0 ? -1 : wide;
	}
	return -1;
}

/* add %reg,%reg with 64 bits, movslq (..): an entry of a table of distances is
 * added to the table's address. */
static bool is_add(const uint8_t *code, unsigned int length)
{
	return length == 3 && (code[0] & 0xf8) == 0x48 &&
	       (code[1] == 0x01 || code[1] == 0x03) && code[2] >= 0xc0;
}

static bool is_movslq(const uint8_t *code, unsigned int length)
{
	return length >= 4 && (code[0] & 0xf8) == 0x48 && code[1] == 0x63;
}

/* A jump by a table with an index: jmp *table(,%reg,8). */
static bool is_indexed(const struct sonde_insn *insn, const uint8_t *code)
{
	return insn->modrm_at && (code[insn->modrm_at] & 0xc7) == 0x04;
}

/* ---- places ---- */

/* A place for a probe, and how few there are for its pad: bits of the jump's
 * displacement that can't be chosen. */
struct choice {
	struct sonde_exit exit;
	unsigned int cost;
};

#define COST_NONE UINT32_MAX
#define COST_FREE 0

#define COST_FAR  100 /* above that of all bits */

/* Whether no displacement leads to an address: an int3 as its highest byte leads
 * 820 MiB down, which is below all memory of a program that is at fixed addresses. */
static bool is_below_all(const struct sonde_window *window)
{
	uint32_t highest = window->value | ~window->mask;

	return window->mask >> 31 && window->value >> 31 &&
	       window->address < (uint64_t) - (int64_t)(int32_t)highest;
}

/* The highest byte of a displacement is one of few that lead to free memory. */
static unsigned int exits_cost_of(const struct sonde_window *window)
{
	unsigned int bits = (unsigned int)__builtin_popcount(window->mask);

	if (is_below_all(window))
		return window->can_be_free ? COST_FAR : COST_NONE;
	return window->mask >> 24 ? 2 * bits : bits;
}

/* Whether a jump can stand at `window`, for ever and for whoever comes by, and
 * its window has the instruction at `address`. */
static void consider(const struct search *s, uint64_t window, uint64_t address,
		     uint32_t frame, struct choice *best)
{
	struct sonde_window found;
	const char *reason;
	bool is_in = false;

	if (sonde_window_choose_through(s->view, window, address, &found,
					&reason) ||
	    found.kind == SONDE_WINDOW_TRAP || found.is_entered ||
	    found.address != window)
		return;
	for (unsigned int i = 0; i < found.nr_insns; i++)
		is_in |= window + found.starts[i] == address &&
			 (i < found.nr_trapped || !found.may_be_entered);
	if (!is_in || exits_cost_of(&found) >= best->cost)
		return;
	best->cost = exits_cost_of(&found);
	best->exit = (struct sonde_exit){ address, window, frame };
}

/* Windows for that instruction: from there, or from before. `skip`
 * instructions are between it and the last that was read. */
static void consider_all(const struct search *s, uint64_t address,
			 unsigned int skip, uint32_t frame, struct choice *best)
{
	consider(s, address, address, frame, best);
	for (unsigned int i = skip; i < s->nr && best->cost != COST_FREE; i++) {
		enum sonde_insn_flow flow = s->kept[i].insn.flow;

		/* It would return to an int3. */
		if (flow == SONDE_INSN_CALL || flow == SONDE_INSN_CALL_INDIRECT)
			break;
		consider(s, s->kept[i].address, address, frame, best);
	}
}

static int add_return(struct search *s, uint64_t address, const char **reason)
{
	struct sonde_exits *exits = s->exits;
	struct choice best = { .cost = COST_NONE };
	uint32_t frame = 0;

	consider_all(s, address, 0, 0, &best);
	for (unsigned int i = 0; best.cost != COST_FREE && i < s->nr; i++) {
		int more = taken_down(code_at(s, s->kept[i].address),
				      s->kept[i].insn.length);

		if (more < 0)
			break;
		frame += (uint32_t)more;
		consider_all(s, s->kept[i].address, i + 1, frame, &best);
	}
	if (best.cost == COST_NONE) {
		*reason = "there is no place for a jump where it returns";
		return -EOPNOTSUPP;
	}
	if (exits->nr == SONDE_EXITS_MAX)
		return -ENOSPC;
	exits->list[exits->nr++] = best.exit;
	return 0;
}

static int add_lead(struct search *s, uint64_t address,
		    const struct sonde_insn *insn, uint64_t to)
{
	struct sonde_exits *exits = s->exits;
	struct choice best = { .cost = COST_NONE };

	if (exits->nr_leads == SONDE_LEADS_MAX)
		return -ENOSPC;
	consider_all(s, address, 0, 0, &best);
	exits->leads[exits->nr_leads++] = (struct sonde_lead){
		.address = address,
		.window = best.cost == COST_NONE ? 0 : best.exit.window,
		.to = to,
		.is_slot = insn->flow == SONDE_INSN_JUMP_INDIRECT,
		.is_always = !sonde_insn_goes_on(insn),
	};
	return 0;
}

/* ---- the function ---- */

static int exits_look_at(struct search *s, uint64_t address,
			 const struct sonde_insn *insn, const char **reason)
{
	const struct sonde_code_view *view = s->view;

	switch (insn->flow) {
	case SONDE_INSN_RETURN:
		return add_return(s, address, reason);
	case SONDE_INSN_JUMP:
	case SONDE_INSN_BRANCH:
	case SONDE_INSN_LOOP:
		if (insn->target - view->address < view->size)
			return 0;
		return add_lead(s, address, insn, insn->target);
	case SONDE_INSN_JUMP_INDIRECT:
		if (insn->is_got_jump)
			return add_lead(s, address, insn,
					sonde_insn_slot(insn,
							code_at(s, address),
							address));
		if (s->is_table || is_indexed(insn, code_at(s, address)))
			return 0;
		*reason = "it goes on at a place that only its data tells";
		return -EOPNOTSUPP;
	case SONDE_INSN_NEXT:
	case SONDE_INSN_CALL:
	case SONDE_INSN_CALL_INDIRECT:
	case SONDE_INSN_STOP:
		break;
	}
	return 0;
}

static void exits_keep(struct search *s, uint64_t address,
		       const struct sonde_insn *insn)
{
	const uint8_t *code = code_at(s, address);

	s->is_table = s->nr && is_add(code, insn->length) &&
		      is_movslq(code_at(s, s->kept[0].address),
				s->kept[0].insn.length);
	if (!sonde_insn_goes_on(insn)) {
		s->nr = 0;
		return;
	}
	memmove(s->kept + 1, s->kept, (KEPT - 1) * sizeof(s->kept[0]));
	s->kept[0] = (struct kept){ address, *insn };
	if (s->nr < KEPT)
		s->nr++;
}

static int exits_look_at_all(struct search *s, const char **reason)
{
	const struct sonde_insn_list *insns = s->view->insns;

	*reason = "it has too many ends";
	for (size_t i = 0; i < insns->nr; i++) {
		const struct sonde_insn_at *at = &insns->list[i];
		int rc = exits_look_at(s, at->address, &at->insn, reason);

		if (rc)
			return rc;
		exits_keep(s, at->address, &at->insn);
	}
	return 0;
}

int sonde_exits_find(const struct sonde_code_view *view,
		     struct sonde_exits *exits, const char **ret_reason)
{
	struct sonde_code_view known = *view;
	struct search s = { .view = &known, .exits = exits };
	struct sonde_insn_list insns = { 0 };
	int rc;

	*ret_reason = "where it ends is not known";
	if (!view->is_function)
		return -EOPNOTSUPP;
	*ret_reason = "not all of it is code";
	rc = sonde_insn_list_read(view, &insns);
	if (rc)
		return rc == -EINVAL ? -EOPNOTSUPP : rc;
	known.insns = &insns;
	rc = exits_look_at_all(&s, ret_reason);
	sonde_insn_list_free(&insns);
	return rc;
}

int sonde_exits_slot(const uint8_t *bytes, size_t nr, uint64_t address,
		     uint64_t *ret_slot)
{
	struct sonde_insn insn;
	size_t at = 0;

	if (sonde_insn_decode(bytes, nr, address, &insn))
		return -ENOENT;
	if (insn.is_endbr) {
		at = insn.length;
		if (sonde_insn_decode(bytes + at, nr - at, address + at, &insn))
			return -ENOENT;
	}
	if (!insn.is_got_jump)
		return -ENOENT;
	*ret_slot = sonde_insn_slot(&insn, bytes + at, address + at);
	return 0;
}
