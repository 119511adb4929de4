/* SPDX-License-Identifier: MIT */
/*
 * plan.c - see plan.h. In this order:
 *
 *	bind		names to functions
 *	follow		each function that has an end: its ends
 *	pass over	jumps to hooked functions from the rest of their library
 *
 * Cost: that of decoding the functions some times over, and of one pass through
 * each library's code.
 */
#include "probe/hooks/plan.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe/inject/exits.h"
#include "probe/inject/inject.h"
#include "probe/inject/insn.h"

#define NO_REGISTER 255u
#define OP_JMP      0xe9
#define JUMP_BYTES  5u
#define STUB_BYTES  16
#define VIEWS_MAX   16
#define PASS_CALL   0
#define CODE_MAX    (64u << 20)

struct making {
	struct sonde_process *process;
	struct sonde_patch_code *text;
	const struct sonde_hooks_modules *modules;
	struct sonde_hooks_plan *plan;
	/* code that was followed, of all functions: where it begins */
	uint64_t views[SONDE_HOOKS_SPECS_MAX];
	size_t nr_views;
};

/* What a function ends in, on the way. */
struct following {
	struct sonde_hooks_call *call;
	uint64_t todo[VIEWS_MAX];
	struct sonde_lead by[VIEWS_MAX]; /* what led there */
	size_t nr, done;
};

/* ---- what is in the plan ---- */

void sonde_hooks_plan_leave_out(struct sonde_hooks_plan *plan, size_t call,
				const char *reason)
{
	struct sonde_hooks_call *out = &plan->calls[call];
	char note[sizeof(plan->notes[0])];

	if (out->is_out)
		return;
	out->is_out = true;
	if (plan->nr_notes == SONDE_HOOKS_NOTES_MAX)
		return;
	(void)snprintf(note, sizeof(note),
		       "%s() of %.60s is not recorded: %.60s",
		       out->function->name, out->library, reason);
	memcpy(plan->notes[plan->nr_notes++], note, sizeof(note));
}

/* The spec of that address and role, or a new one; -ENOSPC. */
static int add_spec(struct sonde_hooks_plan *plan,
		    const struct sonde_probe_spec *spec)
{
	for (size_t i = 0; i < plan->nr_specs; i++)
		if (plan->specs[i].address == spec->address)
			return plan->specs[i].role == spec->role ? (int)i :
								   -ENOSPC;
	if (plan->nr_specs == SONDE_HOOKS_SPECS_MAX)
		return -ENOSPC;
	plan->specs[plan->nr_specs] = *spec;
	plan->specs[plan->nr_specs].force_register = NO_REGISTER;
	return (int)plan->nr_specs++;
}

static int plan_add_end(struct making *m, struct sonde_hooks_call *call,
			const struct sonde_exit *exit,
			enum sonde_agent_gives gives)
{
	const struct sonde_probe_spec spec = {
		.address = exit->address,
		.window = exit->window,
		.frame = exit->frame,
		.role = SONDE_AGENT_ROLE_EXIT,
		.gives = gives,
	};
	int index = add_spec(m->plan, &spec);

	if (index < 0 || call->nr_ends == SONDE_HOOKS_ENDS_MAX)
		return -ENOSPC;
	call->ends[call->nr_ends++] = (uint16_t)index;
	return 0;
}

/* The call of a function that begins at the address; 0: none. */
static size_t call_at(const struct sonde_hooks_plan *plan, uint64_t address)
{
	for (size_t i = 1; i < plan->nr_calls; i++)
		if (plan->calls[i].address == address)
			return i;
	return PASS_CALL;
}

/* ---- ends ---- */

static int plan_push(struct following *f, uint64_t address,
		     const struct sonde_lead *by)
{
	if (f->nr == VIEWS_MAX)
		return -ENOSPC;
	f->by[f->nr] = *by;
	f->todo[f->nr++] = address;
	return 0;
}

/* Code that begins at `from` ends with a jump to a function that has a call of
 * its own: that one's end is ours. */
static int plan_join(struct making *m, size_t to, uint64_t from)
{
	struct sonde_agent_call *call = &m->plan->agent_calls[to];

	if (!sonde_hooks_has_end(m->plan->calls[to].function))
		return -EOPNOTSUPP;
	call->is_jumped_to = true;
	for (uint32_t i = 0; i < call->nr_ways; i++)
		if (call->ways[i] == from)
			return 0;
	if (call->nr_ways == SONDE_AGENT_CALL_WAYS)
		return -ENOSPC;
	call->ways[call->nr_ways++] = from;
	return 0;
}

static int read_stub(const struct making *m, uint64_t address,
		     uint64_t *ret_slot)
{
	uint8_t bytes[STUB_BYTES];

	if (sonde_process_read(m->process, address, bytes, sizeof(bytes)) != 0)
		return -ENOENT;
	return sonde_exits_slot(bytes, sizeof(bytes), address, ret_slot);
}

/* A jump through a word in memory. calloc() ends with one to memset(), whose
 * result is its argument. */
static int follow_slot(struct making *m, struct following *f,
		       const struct sonde_lead *lead, uint64_t slot,
		       uint64_t from)
{
	const struct sonde_hooks_module *module = f->call->module;
	const struct sonde_exit exit = { lead->address, lead->window, 0 };
	uint64_t target;

	if (f->call->function->kind == SONDE_AGENT_CALL_CALLOC &&
	    lead->window &&
	    sonde_process_slot_is(m->process, &module->symbols, slot, "memset"))
		return plan_add_end(m, f->call, &exit,
				    SONDE_AGENT_GIVES_ARGUMENT);
	if (sonde_process_read(m->process, slot, &target, sizeof(target)) != 0)
		return -EIO;
	if (call_at(m->plan, target))
		return plan_join(m, call_at(m->plan, target), from);
	if (target - module->code >= module->code_end - module->code)
		return -EOPNOTSUPP;
	return plan_push(f, target, lead);
}

static int follow_lead(struct making *m, struct following *f,
		       const struct sonde_lead *lead, uint64_t from)
{
	const struct sonde_hooks_module *module = f->call->module;
	uint64_t slot = lead->to;

	if (lead->is_slot || read_stub(m, lead->to, &slot) == 0)
		return follow_slot(m, f, lead, slot, from);
	if (call_at(m->plan, lead->to))
		return plan_join(m, call_at(m->plan, lead->to), from);
	if (lead->to - module->code >= module->code_end - module->code)
		return -EOPNOTSUPP;
	return plan_push(f, lead->to, lead);
}

static bool was_seen(const struct following *f, uint64_t view)
{
	for (size_t i = 0; i < f->done; i++)
		if (f->todo[i] == view)
			return true;
	return false;
}

/* One function's code, from wherever it is entered. */
static int follow_code(struct making *m, struct following *f,
		       const char **reason)
{
	struct sonde_exits exits = { .nr = 0 };
	struct sonde_code_view view;
	uint8_t *bytes;
	int rc =
		sonde_patch_code_view(m->text, f->todo[f->done], &view, &bytes);

	*reason = "its code can't be read";
	if (rc || was_seen(f, view.address))
		return rc;
	f->todo[f->done] = view.address;
	if (m->nr_views < SONDE_HOOKS_SPECS_MAX)
		m->views[m->nr_views++] = view.address;
	rc = sonde_exits_find(&view, &exits, reason);
	if (rc)
		return rc;
	*reason = "it has too many ends";
	for (size_t i = 0; i < exits.nr && !rc; i++)
		rc = plan_add_end(m, f->call, &exits.list[i],
				  SONDE_AGENT_GIVES_RESULT);
	if (rc)
		return rc;
	*reason = "it ends with another function, which can't be followed";
	for (size_t i = 0; i < exits.nr_leads && !rc; i++)
		rc = follow_lead(m, f, &exits.leads[i], view.address);
	return rc;
}

/* Code that can't be followed: a call that goes there is lost, and counted. Not
 * if all of the function is like that. */
static int lose(struct making *m, struct following *f)
{
	const struct sonde_lead *by = &f->by[f->done];
	const struct sonde_exit exit = { by->address, by->window, 0 };

	if (!f->done || !by->is_always || !by->window)
		return -EOPNOTSUPP;
	return plan_add_end(m, f->call, &exit, SONDE_AGENT_GIVES_NOTHING);
}

static int plan_follow(struct making *m, size_t call)
{
	const struct sonde_lead none = { .is_always = false };
	struct following f = { .call = &m->plan->calls[call] };
	size_t nr_specs = m->plan->nr_specs;
	const char *reason = "its ends are too many";
	int rc = plan_push(&f, f.call->address, &none);

	for (; f.done < f.nr && !rc; f.done++) {
		size_t nr_before = m->plan->nr_specs;
		size_t nr_ends = f.call->nr_ends;
		size_t nr_todo = f.nr;

		rc = follow_code(m, &f, &reason);
		if (!rc || rc == -ENOMEM)
			continue;
		m->plan->nr_specs = nr_before;
		f.call->nr_ends = nr_ends;
		f.nr = nr_todo;
		rc = lose(m, &f);
	}
	if (!rc)
		return 0;
	m->plan->nr_specs = nr_specs; /* its own ends go */
	sonde_hooks_plan_leave_out(m->plan, call, reason);
	return rc == -ENOMEM ? rc : 0;
}

/* ---- names ---- */

/* What the agent calls. Other C libraries' locks aren't tried, as nobody has looked
 * what that does there; what says where errno is does so in any. */
static void plan_find_helper(struct making *m, size_t call)
{
	const struct sonde_hooks_call *of = &m->plan->calls[call];
	uint64_t address;

	if (of->function->helper &&
	    (of->module->is_glibc ||
	     of->function->group != SONDE_HOOKS_GROUP_LOCKS) &&
	    sonde_process_symbols_find(m->process, &of->module->symbols,
				       of->function->helper, &address) == 0)
		m->plan->agent_calls[call].helper = address;
}

static void plan_bind(struct making *m,
		      const struct sonde_hooks_function *function)
{
	struct sonde_hooks_plan *plan = m->plan;
	struct sonde_agent_call *to = &plan->agent_calls[plan->nr_calls];
	const struct sonde_hooks_module *module;
	uint64_t address;

	/* Many programs have a connect() or a close() of their own. */
	module = sonde_hooks_modules_find(
		m->process, m->modules, function->name,
		function->group == SONDE_HOOKS_GROUP_IO ? function->helper :
							  NULL,
		&address);
	/* Two names of one function are one. */
	if (!module || call_at(plan, address))
		return;
	plan->calls[plan->nr_calls++] = (struct sonde_hooks_call){
		.function = function,
		.module = module,
		.address = address,
	};
	(void)snprintf(plan->calls[plan->nr_calls - 1].library,
		       sizeof(plan->calls[0].library), "%s", module->name);
	*to = (struct sonde_agent_call){
		.kind = function->kind,
		.is_write = function->is_write,
		.module = module->code,
		.module_end = module->code_end,
		.ways = { address },
		.nr_ways = 1,
	};
	if (function->group == SONDE_HOOKS_GROUP_LOCKS) {
		to->loader = m->modules->loader;
		to->loader_end = m->modules->loader_end;
	}
	plan_find_helper(m, plan->nr_calls - 1);
}

static void plan_bind_all(struct making *m, unsigned int groups)
{
	m->plan->nr_calls = 1;
	m->plan->agent_calls[PASS_CALL].kind = SONDE_AGENT_CALL_PASS;
	for (size_t i = 0; i < sonde_hooks_nr_functions; i++)
		if (sonde_hooks_functions[i].group & groups)
			plan_bind(m, &sonde_hooks_functions[i]);
}

/* An allocator half of whose calls are not there is worse than none. */
static void leave_out_allocator(struct sonde_hooks_plan *plan)
{
	bool is_out = false;

	for (size_t i = 1; i < plan->nr_calls; i++) {
		enum sonde_agent_call_kind kind = plan->calls[i].function->kind;

		if (kind == SONDE_AGENT_CALL_MALLOC ||
		    kind == SONDE_AGENT_CALL_CALLOC ||
		    kind == SONDE_AGENT_CALL_REALLOC ||
		    kind == SONDE_AGENT_CALL_FREE)
			is_out |= plan->calls[i].is_out;
	}
	for (size_t i = 1; is_out && i < plan->nr_calls; i++)
		if (plan->calls[i].function->group == SONDE_HOOKS_GROUP_MALLOC)
			plan->calls[i].is_out = true;
}

/* ---- what is passed over ---- */

static bool was_followed(const struct making *m, uint64_t view)
{
	for (size_t i = 0; i < m->nr_views; i++)
		if (m->views[i] == view)
			return true;
	return false;
}

/* Whether an instruction begins there. */
static bool is_insn(const struct sonde_code_view *view, uint64_t address)
{
	uint64_t at = view->address;

	while (at < address) {
		struct sonde_insn insn;

		if (sonde_insn_decode(view->bytes + (at - view->address),
				      (size_t)(address - at) + JUMP_BYTES, at,
				      &insn))
			return false;
		at += insn.length;
	}
	return view->is_function && at == address;
}

static int plan_pass_over(struct making *m, uint64_t address, size_t call)
{
	const struct sonde_probe_spec spec = {
		.address = address,
		.role = SONDE_AGENT_ROLE_PASS,
		.call = PASS_CALL,
	};
	struct sonde_code_view view;
	uint8_t *bytes;

	if (sonde_patch_code_view(m->text, address, &view, &bytes) ||
	    was_followed(m, view.address) || !is_insn(&view, address))
		return 0;
	m->plan->agent_calls[call].is_jumped_to = true;
	return add_spec(m->plan, &spec) < 0 ? -ENOSPC : 0;
}

static int plan_scan(struct making *m, const struct sonde_hooks_module *module)
{
	size_t size = (size_t)(module->code_end - module->code);
	uint8_t *code = size < CODE_MAX ? malloc(size) : NULL;
	int rc = 0;

	if (!code ||
	    sonde_process_read(m->process, module->code, code, size) != 0) {
		free(code);
		return -ENOMEM;
	}
	for (size_t i = 0; i + JUMP_BYTES <= size && !rc; i++) {
		const uint8_t *found =
			memchr(code + i, OP_JMP, size - JUMP_BYTES + 1 - i);
		int32_t distance;
		size_t call;

		if (!found)
			break;
		i = (size_t)(found - code);
		memcpy(&distance, found + 1, sizeof(distance));
		call = call_at(m->plan, module->code + i + JUMP_BYTES +
						(uint64_t)(int64_t)distance);
		if (call && m->plan->calls[call].module == module)
			rc = plan_pass_over(m, module->code + i, call);
	}
	free(code);
	return rc;
}

static int scan_all(struct making *m)
{
	const struct sonde_hooks_module *done[SONDE_AGENT_CALLS_MAX];
	size_t nr_done = 0;
	int rc = 0;

	for (size_t i = 1; i < m->plan->nr_calls && !rc; i++) {
		const struct sonde_hooks_module *module =
			m->plan->calls[i].module;
		size_t n = 0;

		while (n < nr_done && done[n] != module)
			n++;
		if (n < nr_done)
			continue;
		done[nr_done++] = module;
		rc = plan_scan(m, module);
	}
	return rc;
}

/* ---- the whole ---- */

static int plan_add_entries(struct making *m)
{
	for (size_t i = 1; i < m->plan->nr_calls; i++) {
		const struct sonde_probe_spec spec = {
			.address = m->plan->calls[i].address,
			.role = SONDE_AGENT_ROLE_ENTRY,
			.call = (uint32_t)i,
		};

		if (!m->plan->calls[i].is_out && add_spec(m->plan, &spec) < 0)
			return -ENOSPC;
	}
	return 0;
}

static int plan_make(struct making *m, unsigned int groups)
{
	int rc = 0;

	plan_bind_all(m, groups);
	for (size_t i = 1; i < m->plan->nr_calls && !rc; i++)
		if (sonde_hooks_has_end(m->plan->calls[i].function))
			rc = plan_follow(m, i);
	leave_out_allocator(m->plan);
	if (!rc)
		rc = scan_all(m);
	return rc ? rc : plan_add_entries(m);
}

int sonde_hooks_plan_make(struct sonde_process *process, unsigned int groups,
			  const struct sonde_hooks_modules *modules,
			  struct sonde_hooks_plan *ret,
			  struct sonde_process_error *error)
{
	struct making *m = calloc(1, sizeof(*m));
	int rc = m ? sonde_patch_code_new(process, &m->text) : -ENOMEM;

	*ret = (struct sonde_hooks_plan){ 0 };
	if (!rc) {
		m->process = process;
		m->modules = modules;
		m->plan = ret;
		rc = plan_make(m, groups);
	}
	if (rc)
		sonde_process_error_set(error, "process %d: its code: %s",
					(int)sonde_process_pid(process),
					strerrordesc_np(-rc));
	if (m)
		sonde_patch_code_free(m->text);
	free(m);
	return rc;
}
