/* SPDX-License-Identifier: MIT */
/*
 * traced.c - entries and ends of the functions that are meant (traced.h).
 *
 * A function is followed from its start: each view of code that belongs to it,
 * in todo[]. What leads out of one is, in this order:
 *
 *	to a view of it		nothing
 *	through a slot or stub	a tail call
 *	inside other code	a part: no function is entered there
 *	to a part, by name, or
 *	to what jumps back	a part
 *	on a condition		refused: it may be either
 *	else			a tail call
 *
 * A part jumps back to where it likes, also behind a window's begin: so if there
 * are parts, all is looked at once more, when it is known where they lead.
 *
 * Cost: that of decoding each function, and what it jumps to, twice; of one in
 * parts four times.
 */
#include "probe/hooks/traced.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/search.h"
#include "probe/hooks/idle.h"
#include "probe/inject/exits.h"
#include "probe/inject/inject.h"
#include "probe/inject/insn_list.h"
#include "probe/inject/process_code.h"

#define VIEWS_MAX   16
#define ENTRIES_MAX 64
#define STUB_BYTES  16
#define REASONS_MAX 24
#define TOGETHER    ((size_t)128)

static const char too_many[] = "there is no room for more probes: choose "
			       "fewer, with a narrower GLOB or --not";

static const char back[] = "it jumps back to where it begins";

/* Where code of the function is. */
struct part {
	uint64_t address, size;
};

struct making {
	struct sonde_process *process;
	const struct sonde_probes *probes; /* that are in it; NULL: none */
	struct sonde_patch_code *text;
	struct sonde_hooks_traced *traced;
	const struct sonde_hooks_globs *globs;
	struct sonde_process_error *error;
	struct sonde_hooks_traced_function *function;
	uint64_t todo[VIEWS_MAX];
	size_t nr_todo;
	struct part parts[VIEWS_MAX];
	size_t nr_parts;
	uint64_t entries[ENTRIES_MAX]; /* where one part leads into another */
	size_t nr_entries;
	uint64_t entry; /* where the probe at its begin stands */
};

/* ---- specs ---- */

static int traced_add(struct making *m, const struct sonde_probe_spec *spec)
{
	struct sonde_hooks_traced *traced = m->traced;
	struct sonde_probe_spec *to;

	if (traced->nr_specs == SONDE_HOOKS_TRACED_SPECS) {
		m->function->reason = too_many;
		return -ENOSPC;
	}
	if (SONDE_GROW(traced->specs, traced->nr_specs, traced->room))
		return -ENOMEM;
	to = &traced->specs[traced->nr_specs++];
	*to = *spec;
	to->function = m->function->address;
	to->force_register = 255;
	m->function->nr++;
	return 0;
}

static int traced_refuse(struct making *m, const char *reason)
{
	m->function->reason = reason;
	return -EOPNOTSUPP;
}

static int add_end(struct making *m, const struct sonde_exit *exit,
		   enum sonde_agent_gives gives)
{
	const struct sonde_probe_spec spec = {
		.address = exit->address,
		.window = exit->window,
		.frame = exit->frame,
		.role = SONDE_AGENT_ROLE_END,
		.gives = gives,
	};

	return traced_add(m, &spec);
}

/* ---- jumps ---- */

static int traced_view(const struct making *m, uint64_t address,
		       struct sonde_code_view *ret_view)
{
	uint8_t *bytes;
	int rc = sonde_patch_code_view(m->text, address, ret_view, &bytes);

	if (rc)
		return rc;
	if (m->probes)
		sonde_probes_hide(m->probes, ret_view->address, bytes,
				  ret_view->size + ret_view->behind);
	ret_view->entries = m->entries;
	ret_view->nr_entries = m->nr_entries;
	return 0;
}

static bool is_own_code(const struct making *m, uint64_t address)
{
	for (size_t i = 0; i < m->nr_parts; i++)
		if (address - m->parts[i].address < m->parts[i].size)
			return true;
	for (size_t i = 0; i < m->nr_todo; i++)
		if (m->todo[i] == address)
			return true;
	return false;
}

static bool is_stub(const struct making *m, uint64_t address)
{
	uint8_t bytes[STUB_BYTES];
	uint64_t slot;

	return !sonde_process_read(m->process, address, bytes, sizeof(bytes)) &&
	       !sonde_exits_slot(bytes, sizeof(bytes), address, &slot);
}

/* Whether some jump of the view leads to there, but not to its first byte. */
static bool leads_into(const struct sonde_code_view *view,
		       const struct part *part)
{
	struct sonde_insn_list insns = { 0 };
	bool found = false;

	if (sonde_insn_list_read(view, &insns))
		return false;
	for (size_t i = 0; i < insns.nr && !found; i++) {
		const struct sonde_insn *insn = &insns.list[i].insn;
		uint64_t into = insn->target - part->address;

		found = insn->flow != SONDE_INSN_CALL &&
			sonde_insn_has_target(insn) && into &&
			into < part->size;
	}
	sonde_insn_list_free(&insns);
	return found;
}

/* A jump out, by what it leads to: one more view, or an end. */
static int follow_jump(struct making *m, const struct sonde_lead *lead)
{
	const struct sonde_exit end = { lead->address, lead->window, 0 };
	struct sonde_code_view view;
	bool is_part = false;
	bool is_call = lead->is_slot || is_stub(m, lead->to);

	if (lead->to == m->entry && m->entry != m->function->address)
		return traced_refuse(m, back);
	is_call |= lead->to == m->function->address;
	if (!is_call && is_own_code(m, lead->to))
		return 0;
	if (!is_call) {
		if (traced_view(m, lead->to, &view) || !view.is_function)
			return traced_refuse(m,
					     "it jumps to where no function is "
					     "known");
		is_part = view.address != lead->to ||
			  sonde_hooks_chosen_is_part(&m->traced->chosen,
						     lead->to) ||
			  leads_into(&view, &m->parts[0]);
	}
	if (is_part && m->nr_todo == VIEWS_MAX)
		return traced_refuse(m, "it is in too many parts");
	if (is_part) {
		m->todo[m->nr_todo++] = lead->to;
		return 0;
	}
	if (!lead->is_always)
		return traced_refuse(m, "it ends with a jump on a condition");
	if (!lead->window)
		return traced_refuse(
			m, "there is no place for a jump where it goes "
			   "on elsewhere");
	return add_end(m, &end, SONDE_AGENT_GIVES_NOTHING);
}

/* ---- the function ---- */

/* The view of todo[n]: its ends, and what leads out of it. */
static int follow_view(struct making *m, size_t n, struct sonde_exits *exits)
{
	struct sonde_code_view view;
	const char *reason = "its code can't be read";
	struct part part;
	int rc = traced_view(m, m->todo[n], &view);

	if (rc)
		return traced_refuse(m, reason);
	part = (struct part){ view.address, view.size };
	for (size_t i = 0; i < m->nr_parts; i++)
		if (m->parts[i].address == part.address)
			return 0;
	exits->nr = exits->nr_leads = 0;
	rc = sonde_exits_find(&view, exits, &reason);
	if (rc == -ENOMEM)
		return rc;
	if (rc)
		return traced_refuse(m, reason);
	m->parts[m->nr_parts++] = part;
	for (size_t i = 0; i < exits->nr && !rc; i++)
		rc = add_end(m, &exits->list[i], SONDE_AGENT_GIVES_RESULT);
	for (size_t i = 0; i < exits->nr_leads && !rc; i++)
		rc = follow_jump(m, &exits->leads[i]);
	return rc;
}

static bool traced_jumps_to(const struct sonde_code_view *view,
			    uint64_t address)
{
	struct sonde_insn_list insns = { 0 };
	bool found = false;

	if (sonde_insn_list_read(view, &insns))
		return false;
	for (size_t i = 0; i < insns.nr && !found; i++)
		found = insns.list[i].insn.flow != SONDE_INSN_CALL &&
			sonde_insn_has_target(&insns.list[i].insn) &&
			insns.list[i].insn.target == address;
	sonde_insn_list_free(&insns);
	return found;
}

/* Its entry: where the unwinder has a function begin, with a place for a jump
 * that nothing else leads to. */
static int follow_entry(struct making *m)
{
	uint64_t address = m->function->address;
	struct sonde_probe_spec spec = { .role = SONDE_AGENT_ROLE_BEGIN };
	struct sonde_code_view view;
	struct sonde_window window;
	const char *reason;

	if (traced_view(m, address, &view))
		return traced_refuse(m, "its code can't be read");
	if (!view.is_function || view.address != address)
		return traced_refuse(
			m, "the unwinder's table has no function that "
			   "begins there");
	if (sonde_window_choose(&view, address, &window, &reason))
		return traced_refuse(m, reason);
	if (window.kind == SONDE_WINDOW_TRAP)
		return traced_refuse(m, "there is no place for a jump where it "
					"begins");
	if (traced_jumps_to(&view, address) ||
	    traced_jumps_to(&view, window.address))
		return traced_refuse(m, back);
	m->entry = window.address; /* behind an endbr64 */
	spec.address = spec.window = m->entry;
	spec.is_idle = sonde_hooks_idle_call(m->process, m->entry);
	return traced_add(m, &spec);
}

/* What is added first makes the window: of several in one, the last. And what
 * is added first is hit first: a function may begin with the jump it ends by. */
static int compare_specs(const void *a, const void *b)
{
	const struct sonde_probe_spec *x = a;
	const struct sonde_probe_spec *y = b;

	if (x->window != y->window)
		return x->window < y->window ? -1 : 1;
	if (x->address != y->address)
		return x->address < y->address ? 1 : -1;
	return (x->role == SONDE_AGENT_ROLE_END) -
	       (y->role == SONDE_AGENT_ROLE_END);
}

/* Where jumps of this part lead in others of the function. */
static int note_entries_of(struct making *m, const struct part *part)
{
	struct sonde_insn_list insns = { 0 };
	struct sonde_code_view view;
	int rc = traced_view(m, part->address, &view);

	if (!rc)
		rc = sonde_insn_list_read(&view, &insns);
	for (size_t i = 0; i < insns.nr && !rc; i++) {
		const struct sonde_insn *insn = &insns.list[i].insn;

		if (insn->flow == SONDE_INSN_CALL ||
		    !sonde_insn_has_target(insn) ||
		    insn->target - part->address < part->size ||
		    !is_own_code(m, insn->target))
			continue;
		if (m->nr_entries == ENTRIES_MAX)
			rc = traced_refuse(m, "its parts lead into each other "
					      "at too many places");
		else
			m->entries[m->nr_entries++] = insn->target;
	}
	sonde_insn_list_free(&insns);
	return rc;
}

/* All of its probes, by what is known of its entries. */
static int follow_views(struct making *m, struct sonde_exits *exits)
{
	int rc;

	m->nr_parts = 0;
	m->nr_todo = 1;
	m->todo[0] = m->function->address;
	m->traced->nr_specs = m->function->first;
	m->function->nr = 0;
	rc = follow_entry(m);
	for (size_t n = 0; n < m->nr_todo && !rc; n++)
		rc = follow_view(m, n, exits);
	return rc;
}

const struct sonde_hooks_arguments *
sonde_hooks_traced_arguments(const struct sonde_hooks_traced *traced,
			     const struct sonde_hooks_traced_function *function,
			     size_t i)
{
	const struct sonde_probe_spec *spec =
		&traced->specs[function->first + i];

	if (spec->role == SONDE_AGENT_ROLE_BEGIN)
		return function->given;
	/* Where it goes on in another function, that one has the result. */
	return spec->gives == SONDE_AGENT_GIVES_NOTHING ? function->plain :
							  function->result;
}

/* Under a condition, each of its probes needs a record's way: what an exit is
 * of is known there (agent/hit.c). */
static int follow_condition(struct making *m, const char *condition)
{
	struct sonde_hooks_traced_function *function = m->function;
	char error[160];
	int rc;

	if (!function->given || !function->result)
		return traced_refuse(m, "its arguments can't be recorded");
	rc = sonde_hooks_arguments_make("", true, true, function->address,
					&function->plain);
	if (rc)
		return rc;
	rc = sonde_hooks_arguments_filter(function->given, condition, error,
					  sizeof(error));
	if (rc == -EINVAL)
		sonde_process_error_set(m->error, "'%.100s': %s", condition,
					error);
	if (rc == -ENOENT)
		return traced_refuse(m, "its condition never holds: it names "
					"what isn't known of it");
	return rc;
}

static int follow_arguments(struct making *m,
			    const struct sonde_hooks_name *name,
			    const struct sonde_hooks_globs *globs)
{
	struct sonde_hooks_traced_function *function = m->function;
	const char *condition = sonde_hooks_globs_condition(globs, name->glob);
	const char *words = globs->args ? name->words : "";
	int rc = sonde_hooks_arguments_make(condition ? name->words : words,
					    false, condition, function->address,
					    &function->given);

	if (!rc)
		rc = sonde_hooks_arguments_make(words, true, condition,
						function->address,
						&function->result);
	if (!rc && condition)
		rc = follow_condition(m, condition);
	for (size_t i = 0; i < function->nr && !rc; i++) {
		struct sonde_probe_spec *spec =
			&m->traced->specs[function->first + i];

		spec->is_filtered = condition;
		sonde_hooks_arguments_collect(
			sonde_hooks_traced_arguments(m->traced, function, i),
			spec);
	}
	if (rc != -EOPNOTSUPP)
		return rc;
	m->traced->nr_specs = function->first;
	function->nr = 0;
	return 0;
}

static int traced_follow(struct making *m, struct sonde_exits *exits)
{
	struct sonde_hooks_traced *traced = m->traced;
	int rc;

	m->function->first = traced->nr_specs;
	m->nr_entries = 0;
	rc = follow_views(m, exits);
	for (size_t i = 0; i < m->nr_parts && m->nr_parts > 1 && !rc; i++)
		rc = note_entries_of(m, &m->parts[i]);
	if (!rc && m->nr_entries)
		rc = follow_views(m, exits);
	if (!rc)
		qsort(traced->specs + m->function->first, m->function->nr,
		      sizeof(*traced->specs), compare_specs);
	if (!rc)
		return 0;
	traced->nr_specs = m->function->first;
	m->function->nr = 0;
	return rc == -ENOMEM ? rc : 0;
}

static int traced_follow_all(struct making *m)
{
	struct sonde_hooks_traced *traced = m->traced;
	struct sonde_exits *exits = malloc(sizeof(*exits));
	int rc = exits ? 0 : -ENOMEM;

	for (size_t i = 0; i < traced->chosen.nr && !rc; i++) {
		const struct sonde_hooks_name *name = &traced->chosen.list[i];

		if (name->is_part)
			continue;
		m->function = &traced->list[traced->nr++];
		m->function->address = name->address;
		m->function->name = name->name;
		rc = traced_follow(m, exits);
		if (!rc && m->function->nr)
			rc = follow_arguments(m, name, m->globs);
	}
	free(exits);
	return rc;
}

static int traced_explain(const struct sonde_process *process, int rc,
			  struct sonde_process_error *error)
{
	const char *reason = *error->text ? error->text : strerrordesc_np(-rc);
	char said[sizeof(error->text)];

	if (rc == -ENOENT)
		reason = "no function of it is called so, or its file is "
			 "stripped; of a library it takes GLOB@MODULE, such "
			 "as '*@libz.so*'";
	else if (rc == -EOPNOTSUPP)
		reason = "this sonde was built without libdw, which reads "
			 "symbols";
	(void)snprintf(said, sizeof(said), "%s", reason);
	sonde_process_error_set(error, "process %d: --functions: %.200s",
				(int)sonde_process_pid(process), said);
	return rc;
}

int sonde_hooks_traced_make(struct sonde_process *process,
			    const struct sonde_hooks_globs *globs,
			    const struct sonde_probes *probes,
			    struct sonde_hooks_traced *ret,
			    struct sonde_process_error *error)
{
	struct making m = { .process = process,
			    .probes = probes,
			    .traced = ret,
			    .globs = globs,
			    .error = error };
	int rc;

	*ret = (struct sonde_hooks_traced){ .nr = 0 };
	rc = sonde_hooks_chosen_find(sonde_process_pid(process), globs,
				     &ret->chosen);
	if (!rc) {
		ret->list = calloc(ret->chosen.nr_meant, sizeof(*ret->list));
		rc = ret->list ? sonde_patch_code_new(process, &m.text) :
				 -ENOMEM;
	}
	if (!rc) {
		rc = traced_follow_all(&m);
		sonde_patch_code_free(m.text);
	}
	return rc ? traced_explain(process, rc, error) : 0;
}

void sonde_hooks_traced_free(struct sonde_hooks_traced *traced)
{
	sonde_hooks_chosen_free(&traced->chosen);
	for (size_t i = 0; i < traced->nr; i++) {
		sonde_hooks_arguments_free(traced->list[i].given);
		sonde_hooks_arguments_free(traced->list[i].result);
		sonde_hooks_arguments_free(traced->list[i].plain);
	}
	free(traced->list);
	free(traced->specs);
	free(traced->probes);
	*traced = (struct sonde_hooks_traced){ .nr = 0 };
}

/* ---- putting them in ---- */

/* Why one of its probes is an int3; NULL: none is. */
static const char *
traced_trap(const struct sonde_hooks_traced *traced,
	    const struct sonde_hooks_traced_function *function,
	    const struct sonde_probes *probes)
{
	struct sonde_probe_facts facts;

	for (size_t i = 0; i < function->nr; i++) {
		if (sonde_probes_facts(probes,
				       traced->probes[function->first + i],
				       &facts))
			return "its probes are not there";
		if (facts.kind == SONDE_WINDOW_TRAP)
			return facts.why_trap ? facts.why_trap :
						"there is no place for a jump";
	}
	return NULL;
}

/* A probe that would be an int3 takes its function out. */
static size_t traced_leave_traps(struct sonde_hooks_traced *traced,
				 struct sonde_probes *probes)
{
	size_t nr_left = 0;

	for (size_t i = 0; i < traced->nr; i++) {
		struct sonde_hooks_traced_function *function = &traced->list[i];
		const char *why;

		if (!function->nr)
			continue;
		why = traced_trap(traced, function, probes);
		if (!why) {
			nr_left++;
			continue;
		}
		(void)sonde_probes_remove_all(
			probes, traced->probes + function->first, function->nr);
		function->nr = 0;
		function->reason = why;
	}
	return nr_left;
}

/* Functions from..to, all or none of them. */
static int traced_put_range(struct sonde_hooks_traced *traced,
			    struct sonde_probes *probes, size_t from, size_t to,
			    struct sonde_process_error *error)
{
	size_t first = traced->list[from].first;
	size_t nr = 0;

	while (from < to)
		nr += traced->list[from++].nr;
	return nr ? sonde_probes_add_all(probes, traced->specs + first, nr,
					 error, traced->probes + first) :
		    0;
}

/* Whether no other function can be put in either. */
static bool traced_is_over(int rc)
{
	return rc == -EPIPE || rc == -ESRCH || rc == -ENOMEM;
}

/* Each that can be; why one can't is told of it. */
static int put_singly(struct sonde_hooks_traced *traced,
		      struct sonde_probes *probes, size_t from, size_t to,
		      struct sonde_process_error *error)
{
	for (size_t i = from; i < to; i++) {
		struct sonde_hooks_traced_function *function = &traced->list[i];
		int rc = traced_put_range(traced, probes, i, i + 1, error);

		if (!rc)
			continue;
		for (size_t k = 0; k < function->nr; k++)
			traced->probes[function->first + k] =
				SONDE_HOOKS_NO_PROBE;
		if (traced_is_over(rc))
			return rc;
		function->reason = sonde_probes_reason(probes);
		if (!function->reason)
			function->reason = strerrordesc_np(-rc);
		function->nr = 0;
	}
	return 0;
}

/* Behind the last of those that can be put in with function `from`. */
static size_t traced_run_end(const struct sonde_hooks_traced *traced,
			     size_t from)
{
	size_t to = from + 1;

	while (!traced->list[from].is_in && to < traced->nr &&
	       to < from + TOGETHER && !traced->list[to].is_in)
		to++;
	return to;
}

/* Many at once, for patching goes in rounds; one by one if one of them can't
 * be. */
static int traced_put_all(struct sonde_hooks_traced *traced,
			  struct sonde_probes *probes,
			  struct sonde_process_error *error)
{
	int rc = 0;
	size_t to;

	for (size_t i = 0; i < traced->nr && !rc; i = to) {
		to = traced_run_end(traced, i);
		if (traced->list[i].is_in)
			continue;
		rc = traced_put_range(traced, probes, i, to, error);
		if (rc && !traced_is_over(rc))
			rc = put_singly(traced, probes, i, to, error);
	}
	return rc;
}

/* Numbers of probes, none of which is there yet. */
static bool traced_make_room(struct sonde_hooks_traced *traced)
{
	if (traced->probes)
		return true;
	traced->probes = calloc(traced->nr_specs + 1, sizeof(*traced->probes));
	for (size_t i = 0; traced->probes && i < traced->nr_specs; i++)
		traced->probes[i] = SONDE_HOOKS_NO_PROBE;
	return traced->probes;
}

static struct sonde_hooks_traced_function *
traced_at(const struct sonde_hooks_traced *traced, uint64_t address)
{
	size_t i;

	SONDE_SEARCH(i, traced->nr, traced->list[i].address < address);
	return i < traced->nr && traced->list[i].address == address ?
		       &traced->list[i] :
		       NULL;
}

/* Whether the i-th function of `next` is that one of `now`, with the same probes. */
static bool traced_is_same(const struct sonde_hooks_traced *next, size_t i,
			   const struct sonde_hooks_traced *now,
			   const struct sonde_hooks_traced_function *function)
{
	const struct sonde_probe_spec *a = next->specs + next->list[i].first;
	const struct sonde_probe_spec *b = now->specs + function->first;

	if (next->list[i].nr != function->nr)
		return false;
	for (size_t k = 0; k < function->nr; k++)
		if (a[k].address != b[k].address || a[k].role != b[k].role ||
		    a[k].frame != b[k].frame || a[k].gives != b[k].gives)
			return false;
	return true;
}

void sonde_hooks_traced_follow(struct sonde_hooks_traced *next,
			       struct sonde_hooks_traced *now,
			       struct sonde_probes *probes)
{
	for (size_t i = 0; traced_make_room(next) && i < next->nr; i++) {
		struct sonde_hooks_traced_function *function =
			traced_at(now, next->list[i].address);

		if (!function || !function->nr ||
		    !traced_is_same(next, i, now, function))
			continue;
		memcpy(next->probes + next->list[i].first,
		       now->probes + function->first,
		       function->nr * sizeof(*now->probes));
		next->list[i].is_in = true;
		for (size_t k = 0; k < function->nr; k++)
			now->probes[function->first + k] = SONDE_HOOKS_NO_PROBE;
		function->nr = 0;
	}
	/* One that can't be taken out is without effect from then on. */
	(void)sonde_probes_remove_all(probes, now->probes, now->nr_specs);
}

int sonde_hooks_traced_put(struct sonde_hooks_traced *traced,
			   struct sonde_probes *probes,
			   struct sonde_process_error *error)
{
	int rc;

	if (!traced_make_room(traced))
		return -ENOMEM;
	rc = traced_put_all(traced, probes, error);
	if (!traced_leave_traps(traced, probes) && !rc) {
		sonde_process_error_set(error,
					"--functions: none that is meant can "
					"be recorded: %s",
					traced->list[0].reason);
		rc = -ENOENT;
	}
	return rc;
}

/* ---- words ---- */

/* The i-th reason there is, in the order of functions, and how often. */
static const char *reason_at(const struct sonde_hooks_traced *traced, size_t i,
			     size_t *ret_nr)
{
	const char *seen[REASONS_MAX];
	size_t nr_seen = 0;

	for (size_t f = 0; f < traced->nr && nr_seen <= i; f++) {
		const char *reason = traced->list[f].reason;
		size_t k = 0;

		while (reason && k < nr_seen && strcmp(seen[k], reason) != 0)
			k++;
		if (reason && k == nr_seen && nr_seen < REASONS_MAX)
			seen[nr_seen++] = reason;
	}
	if (i >= nr_seen)
		return NULL;
	*ret_nr = 0;
	for (size_t f = 0; f < traced->nr; f++)
		*ret_nr += traced->list[f].reason &&
			   !strcmp(traced->list[f].reason, seen[i]);
	return seen[i];
}

static const struct sonde_hooks_traced_function *
left_out_at(const struct sonde_hooks_traced *traced, size_t i)
{
	for (size_t f = 0; f < traced->nr; f++)
		if (traced->list[f].reason && i-- == 0)
			return &traced->list[f];
	return NULL;
}

static size_t nr_left_out(const struct sonde_hooks_traced *traced)
{
	size_t nr = 0;

	for (size_t f = 0; f < traced->nr; f++)
		nr += traced->list[f].reason != NULL;
	return nr;
}

static size_t nr_reasons(const struct sonde_hooks_traced *traced)
{
	size_t nr = 0;
	size_t often;

	while (reason_at(traced, nr, &often))
		nr++;
	return nr;
}

/* How many, and the most common reasons in the same line. */
static void tell_sum(const struct sonde_hooks_traced *traced, bool all,
		     char *to, size_t size)
{
	size_t nr_out = nr_left_out(traced);
	size_t most = 0;
	const char *why = "";

	for (size_t i = 0; i < nr_reasons(traced); i++) {
		size_t often;
		const char *reason = reason_at(traced, i, &often);

		if (often > most)
			why = reason;
		if (often > most)
			most = often;
	}
	if (!nr_out)
		(void)snprintf(to, size, "%zu functions are recorded",
			       traced->nr);
	else
		(void)snprintf(
			to, size,
			"%zu functions are recorded; %zu can't be, %zu of them "
			"as %s%s",
			traced->nr - nr_out, nr_out, most, why,
			all ? "" : " (--verbose lists all)");
}

bool sonde_hooks_traced_tell(const struct sonde_hooks_traced *traced, size_t i,
			     bool all, char *to, size_t size)
{
	const struct sonde_hooks_traced_function *function;

	if (!i) {
		tell_sum(traced, all, to, size);
		return true;
	}
	function = all ? left_out_at(traced, i - 1) : NULL;
	if (function)
		(void)snprintf(to, size, "%.100s() is not recorded: %s",
			       function->name, function->reason);
	return function;
}
