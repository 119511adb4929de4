/* SPDX-License-Identifier: MIT */
/*
 * window.c - which bytes a jump to a pad may replace.
 *
 *	take()		instructions until five bytes are covered
 *	survey()	all of the function: does an instruction begin at the
 *			address, which branches lead inside
 *	judge()		the kind, from both
 *
 * The survey is linear, from the function's start. Where it meets what is no
 * instruction (data between code) it ends, and then is silent on branches: the
 * window isn't FREE, and nothing behind an instruction that doesn't go on is
 * taken for code.
 *
 * Cost: that of decoding the function, some 50 ns an instruction; with a table
 * of its instructions (insn_list.h), 2 ns.
 */
#include "probe/inject/window.h"

#include <errno.h>
#include <string.h>

#include "probe/inject/insn_list.h"

#define JUMP_BYTES    5
#define INT3          0xcc
#define FLAGS_HORIZON 16 /* instructions looked at for dead flags */
/* Functions begin at such addresses; padding reaches no further. */
#define FUNCTION_ALIGN 16

struct survey {
	bool whole;        /* all was understood */
	bool is_start;     /* an instruction begins at the window */
	bool passed;       /* the survey got as far as that */
	bool unknown_jump; /* one whose targets aren't known */
	bool backward;     /* a branch from behind leads inside */
	uint32_t targets;  /* bit n: a branch leads to the window's byte n */
};

struct taken {
	struct sonde_insn insns[SONDE_WINDOW_INSNS];
	uint8_t starts[SONDE_WINDOW_INSNS];
	unsigned int nr;
	unsigned int bytes;
};

static size_t room_behind(const struct sonde_code_view *view, uint64_t address)
{
	return (size_t)(view->address + view->size + view->behind - address);
}

static int decode_at(const struct sonde_code_view *view, uint64_t address,
		     struct sonde_insn *ret_insn)
{
	const struct sonde_insn *known =
		view->insns ? sonde_insn_list_at(view->insns, address) : NULL;

	if (known) {
		*ret_insn = *known;
		return 0;
	}
	return sonde_insn_decode(view->bytes + (address - view->address),
				 room_behind(view, address), address, ret_insn);
}

static void note_way_in(uint64_t to, uint64_t from, uint64_t window,
			unsigned int bytes, struct survey *survey)
{
	if (to <= window || to - window >= bytes)
		return;
	survey->targets |= (uint32_t)1 << (to - window);
	if (from > to)
		survey->backward = true;
}

static void note_branch(const struct sonde_insn *insn, uint64_t from,
			uint64_t window, unsigned int bytes,
			struct survey *survey)
{
	if (insn->flow == SONDE_INSN_JUMP_INDIRECT && !insn->is_got_jump)
		survey->unknown_jump = true;
	if (sonde_insn_has_target(insn))
		note_way_in(insn->target, from, window, bytes, survey);
}

static void survey_insn(const struct sonde_insn *insn, uint64_t at,
			uint64_t window, unsigned int bytes,
			struct survey *survey)
{
	survey->is_start |= at == window;
	note_branch(insn, at, window, bytes, survey);
	survey->passed |= at + insn->length > window;
}

static void make_survey(const struct sonde_code_view *view, uint64_t window,
			unsigned int bytes, struct survey *survey)
{
	const struct sonde_insn_list *all = view->insns;
	uint64_t end = view->address + view->size;
	uint64_t at = view->address;

	*survey = (struct survey){ 0 };
	for (size_t i = 0; i < view->nr_entries; i++)
		note_way_in(view->entries[i], UINT64_MAX, window, bytes,
			    survey);
	for (size_t i = 0; all && i < all->nr; i++)
		survey_insn(&all->list[i].insn, all->list[i].address, window,
			    bytes, survey);
	while (!all && at < end) {
		struct sonde_insn insn;
		if (decode_at(view, at, &insn))
			return;
		survey_insn(&insn, at, window, bytes, survey);
		at += insn.length;
	}
	survey->whole = true;
}

/* Instructions from the address on, until a jump is covered and `through` is
 * among them; 0, -EINVAL if there isn't even one. */
static int take(const struct sonde_code_view *view, uint64_t address,
		uint64_t through, struct taken *taken)
{
	*taken = (struct taken){ 0 };
	while (taken->nr < SONDE_WINDOW_INSNS &&
	       (taken->bytes < JUMP_BYTES ||
		address + taken->bytes <= through)) {
		struct sonde_insn *insn = &taken->insns[taken->nr];
		if (room_behind(view, address) == taken->bytes ||
		    decode_at(view, address + taken->bytes, insn))
			return taken->nr ? 0 : -EINVAL;
		if (taken->bytes + insn->length > SONDE_WINDOW_BYTES)
			return 0;
		taken->starts[taken->nr++] = (uint8_t)taken->bytes;
		taken->bytes += insn->length;
	}
	return 0;
}

/* Whether instruction i may be replaced together with those before. */
static bool may_follow(const struct sonde_code_view *view, uint64_t address,
		       const struct taken *taken, const struct survey *survey,
		       unsigned int i)
{
	const struct sonde_insn *insn = &taken->insns[i];
	uint64_t begin = address + taken->starts[i];
	uint64_t end = view->address + view->size;
	uint64_t limit = (end + FUNCTION_ALIGN - 1) & -(uint64_t)FUNCTION_ALIGN;

	if (insn->is_endbr || (insn->stays && !insn->is_padding))
		return false;
	if (!view->is_function)
		return sonde_insn_goes_on(&taken->insns[i - 1]) &&
		       begin + insn->length <= end;
	if (begin + insn->length > end)
		return begin >= end && insn->is_padding &&
		       begin + insn->length <= limit;
	if (sonde_insn_goes_on(&taken->insns[i - 1]) || insn->is_padding)
		return true;
	return survey->whole && (survey->targets >> taken->starts[i] & 1);
}

static bool all_may_follow(const struct sonde_code_view *view, uint64_t address,
			   const struct taken *taken,
			   const struct survey *survey)
{
	uint32_t starts = 0;

	for (unsigned int i = 0; i < taken->nr; i++) {
		starts |= (uint32_t)1 << taken->starts[i];
		if (i && !may_follow(view, address, taken, survey, i))
			return false;
	}
	/* code that is read in two ways, or a loop's head */
	return taken->bytes >= JUMP_BYTES && !(survey->targets & ~starts) &&
	       !survey->backward;
}

/* No-ops at a function's very beginning, which its compiler was told to leave
 * room with (-fpatchable-function-entry): neither an unwinder nor a table has a
 * reason to lead among them. */
static bool is_left_room(const struct sonde_code_view *view, uint64_t address,
			 const struct taken *taken)
{
	struct sonde_insn first;

	for (unsigned int i = 0; i < taken->nr; i++)
		if (!taken->insns[i].is_nop)
			return false;
	return address == view->address ||
	       (!decode_at(view, view->address, &first) && first.is_endbr &&
		address == view->address + first.length);
}

static bool can_be_free(const struct sonde_code_view *view, uint64_t address,
			const struct taken *taken, const struct survey *survey)
{
	bool is_entered_by_others =
		(view->has_handlers || survey->unknown_jump) &&
		!is_left_room(view, address, taken);

	for (unsigned int i = 0; i + 1 < taken->nr; i++) {
		enum sonde_insn_flow flow = taken->insns[i].flow;
		if (flow == SONDE_INSN_CALL || flow == SONDE_INSN_CALL_INDIRECT)
			return false;
	}
	return view->is_function && survey->whole && !survey->targets &&
	       !is_entered_by_others;
}

/* Looks along the straight way: dead if all are written before any is read. */
static bool flags_are_dead(const struct sonde_code_view *view, uint64_t address)
{
	uint64_t end = view->address + view->size;

	for (unsigned int i = 0; i < FLAGS_HORIZON && address < end; i++) {
		struct sonde_insn insn;
		if (decode_at(view, address, &insn) || insn.reads_flags)
			return false;
		if (insn.kills_flags)
			return true;
		if (insn.flow == SONDE_INSN_JUMP &&
		    insn.target - view->address < view->size)
			address = insn.target;
		else if (insn.flow == SONDE_INSN_NEXT)
			address += insn.length;
		else
			return false; /* a callee of hand-written code may
					 want them, and so may a caller */
	}
	return false;
}

static void judge(const struct sonde_code_view *view, const struct taken *taken,
		  const struct survey *survey, struct sonde_window *window)
{
	window->kind = SONDE_WINDOW_TRAP;
	window->nr_insns = 1;
	window->nr_trapped = 1;
	window->nr_bytes = taken->insns[0].length;
	if (!all_may_follow(view, window->address, taken, survey))
		return;
	window->nr_insns = (uint8_t)taken->nr;
	window->nr_bytes = (uint8_t)taken->bytes;
	memcpy(window->starts, taken->starts, sizeof(window->starts));
	window->kind = taken->nr == 1 || taken->starts[1] >= JUMP_BYTES ?
			       SONDE_WINDOW_SINGLE :
			       SONDE_WINDOW_PUNNED;
	window->can_be_free = can_be_free(view, window->address, taken, survey);
	window->is_entered = survey->targets || !survey->whole;
	window->may_be_entered = survey->unknown_jump;
	for (unsigned int i = 1; i < taken->nr && taken->starts[i] < JUMP_BYTES;
	     i++) {
		unsigned int shift = 8u * (taken->starts[i] - 1u);
		window->mask |= (uint32_t)0xff << shift;
		window->value |= (uint32_t)INT3 << shift;
		window->nr_trapped++;
	}
}

/* The reason why no probe can be here, or NULL. */
static const char *refusal(const struct sonde_insn *first)
{
	if (first->flow == SONDE_INSN_STOP)
		return "the instruction there ends the program";
	if (first->stays)
		return "the instruction there can't run elsewhere";
	return NULL;
}

int sonde_window_choose(const struct sonde_code_view *view, uint64_t address,
			struct sonde_window *ret_window,
			const char **ret_reason)
{
	return sonde_window_choose_through(view, address, 0, ret_window,
					   ret_reason);
}

int sonde_window_choose_through(const struct sonde_code_view *view,
				uint64_t address, uint64_t through,
				struct sonde_window *ret_window,
				const char **ret_reason)
{
	struct sonde_window window = { .address = address };
	struct survey survey = { 0 };
	struct taken taken;

	*ret_reason = "no instruction begins there";
	if (address - view->address >= view->size ||
	    take(view, address, through, &taken))
		return -EINVAL;
	if (taken.insns[0].is_endbr) {
		window.address += taken.insns[0].length;
		if (window.address - view->address >= view->size ||
		    take(view, window.address, through, &taken))
			return -EINVAL;
	}
	if (view->is_function) {
		make_survey(view, window.address, taken.bytes, &survey);
		if (survey.passed && !survey.is_start)
			return -EINVAL;
	}
	*ret_reason = refusal(&taken.insns[0]);
	if (*ret_reason)
		return -EOPNOTSUPP;
	judge(view, &taken, &survey, &window);
	memcpy(window.bytes, view->bytes + (window.address - view->address),
	       window.nr_bytes);
	window.flags_are_dead = flags_are_dead(view, window.address);
	*ret_window = window;
	return 0;
}
