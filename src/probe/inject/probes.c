/* SPDX-License-Identifier: MIT */
/*
 * probes.c - probes in a running process: put in, take out, ask.
 *
 * A *site* is a window with its pad and the probes in it, by address. Changes
 * go in three steps, for any number of sites at once:
 *
 *	wish	the list of each site's probes is changed; the site is dirty
 *	build	each dirty site gets a new pad, its faults and traps are
 *		published; the text still leads to the old one
 *	commit	one round of patching; then the new pads are the sites' own
 *
 * If one fails, the wishes are taken back. All pads that ever were are
 * remembered: a thread's pc may be in any of them.
 */
#include "probe/inject/probes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/grow.h"
#include "base/port.h"
#include "base/search.h"
#include "expr/program.h"
#include "probe/inject/insn_list.h"
#include "probe/inject/pad_memory.h"
#include "probe/inject/patch.h"
#include "probe/inject/process_code.h"
#include "probe/inject/publish.h"

#define JUMP_BYTES      5
#define OP_JMP          0xe9
#define OP_INT3         0xcc
#define SITE_PROBES_MAX 64
/* More than the same condition takes elsewhere. */
#define SPARE_BYTES 32

struct site;

struct probe {
	uint64_t address; /* as asked for */
	struct site *site;
	uint8_t insn;
	bool in; /* not taken out */
	bool on;
	bool breaks;
	bool native;
	bool is_call;
	struct sonde_program *condition; /* ours; NULL: always */
};

/* A pad that is or was in use. */
struct built {
	uint8_t *here;        /* the pad, for writing */
	struct sonde_pad pad; /* without its bytes */
	uint64_t address, entry;
	uint64_t base; /* the window's address, and its instructions' */
	uint8_t nr_insns;
	uint8_t starts[SONDE_WINDOW_INSNS];
	size_t nr_probes;
	uint32_t indexes[SITE_PROBES_MAX]; /* as they come in the pad */
};

struct site {
	struct sonde_window window;
	uint32_t slot;                   /* in the agent's sites[] */
	uint8_t now[SONDE_WINDOW_BYTES]; /* what is in the text */
	bool patched;
	bool dirty;
	struct built *built; /* in use, or to be used again; NULL: none */
	struct built *next;  /* being made */
	uint32_t probes[SITE_PROBES_MAX]; /* indexes, as they were added */
	size_t nr_probes;
	uint32_t old_probes[SITE_PROBES_MAX]; /* before a change */
	size_t nr_old;
};

struct sonde_probes {
	struct sonde_process *process; /* borrowed */
	struct sonde_agent *agent;
	struct sonde_pad_memory *places;
	struct sonde_patch_code *text;
	struct sonde_insn_list insns; /* of the function that was last asked */
	struct site **sites;          /* by address */
	size_t nr_sites, sites_room;
	uint32_t nr_slots;
	struct built **builts; /* all that ever were */
	size_t nr_builts, builts_room;
	struct probe probes[SONDE_AGENT_PROBES_MAX];
	uint32_t nr_probes;
	struct sonde_plans plans;
	unsigned int nr_rows;
	const char *reason; /* of the last that could not be added */
};

_Static_assert(SONDE_AGENT_SITE_BYTES == SONDE_WINDOW_BYTES, "one window");

/* ---- sites by address ---- */

/* The first site at or behind the address. */
static size_t site_after(const struct sonde_probes *p, uint64_t address)
{
	size_t i;

	SONDE_SEARCH(i, p->nr_sites, p->sites[i]->window.address < address);
	return i;
}

/* The site whose window the address is in, if its text is changed; else the
 * parked one at that very address. */
static struct site *site_around(const struct sonde_probes *p, uint64_t address)
{
	size_t i = site_after(p, address + 1);
	struct site *parked = NULL;

	while (i-- > 0) {
		struct site *site = p->sites[i];
		uint64_t into = address - site->window.address;
		if (into >= SONDE_WINDOW_BYTES)
			break;
		if (into < site->window.nr_bytes &&
		    (site->patched || site->dirty))
			return site;
		if (!into)
			parked = site;
	}
	return parked;
}

static int add_site(struct sonde_probes *p, const struct sonde_window *window,
		    struct site **ret)
{
	size_t at = site_after(p, window->address);
	struct site *site;

	if (p->nr_slots == SONDE_AGENT_SITES_MAX)
		return -ENOSPC;
	site = calloc(1, sizeof(*site));
	if (!site || SONDE_GROW(p->sites, p->nr_sites, p->sites_room)) {
		free(site);
		return -ENOMEM;
	}
	site->slot = p->nr_slots++;
	site->window = *window;
	memcpy(site->now, window->bytes, sizeof(site->now));
	for (size_t i = p->nr_sites; i > at; i--)
		p->sites[i] = p->sites[i - 1];
	p->sites[at] = site;
	p->nr_sites++;
	*ret = site;
	return 0;
}

void sonde_probes_hide(const struct sonde_probes *p, uint64_t address,
		       uint8_t *bytes, size_t nr)
{
	uint64_t from =
		address > SONDE_WINDOW_BYTES ? address - SONDE_WINDOW_BYTES : 0;

	for (size_t i = site_after(p, from); i < p->nr_sites; i++) {
		const struct site *site = p->sites[i];
		if (site->window.address >= address + nr)
			break;
		for (size_t n = 0; site->patched && n < site->window.nr_bytes;
		     n++) {
			uint64_t into = site->window.address + n - address;
			if (into < nr)
				bytes[into] = site->window.bytes[n];
		}
	}
}

/* ---- windows ---- */

static int explain(struct sonde_probes *p, struct sonde_process_error *error,
		   int rc, uint64_t address, const char *text)
{
	p->reason = text;
	if (error)
		snprintf(error->text, sizeof(error->text),
			 "no probe at %#llx: %s", (unsigned long long)address,
			 text);
	return rc;
}

/* An int3 at the first instruction alone. */
static void make_trap(struct sonde_window *window, const char *why)
{
	window->why_trap = why;
	if (window->nr_insns > 1)
		window->nr_bytes = window->starts[1];
	window->nr_insns = 1;
	window->kind = SONDE_WINDOW_TRAP;
	window->mask = window->value = 0;
}

/* Windows that other sites' text or windows are in are an int3. */
static void avoid_others(const struct sonde_probes *p,
			 struct sonde_window *window)
{
	const uint64_t end = window->address + window->nr_bytes;

	for (size_t i = site_after(p, window->address + 1);
	     i < p->nr_sites && p->sites[i]->window.address < end; i++)
		if (p->sites[i]->patched || p->sites[i]->dirty) {
			make_trap(window,
				  "there is no place for a jump near another "
				  "probe's");
			return;
		}
}

/* Probes come function by function. */
static void use_insns(struct sonde_probes *p, struct sonde_code_view *view)
{
	if (!sonde_insn_list_fit(&p->insns, view)) {
		sonde_insn_list_free(&p->insns);
		if (sonde_insn_list_read(view, &p->insns) != 0)
			return;
	}
	view->insns = &p->insns;
}

static int choose(struct sonde_probes *p, uint64_t address, uint64_t through,
		  struct sonde_process_error *error,
		  struct sonde_window *ret_window)
{
	struct sonde_code_view view;
	const char *reason;
	uint8_t *bytes;
	int rc = sonde_patch_code_view(p->text, address, &view, &bytes);

	if (rc)
		return explain(p, error, rc, address,
			       rc == -EFAULT ? "no code is there" :
					       "its code can't be read");
	sonde_probes_hide(p, view.address, bytes, view.size + view.behind);
	if (view.is_function)
		use_insns(p, &view);
	rc = sonde_window_choose_through(&view, address, through, ret_window,
					 &reason);
	if (rc)
		return explain(p, error, rc, address, reason);
	avoid_others(p, ret_window);
	return 0;
}

/* A parked site whose code has changed since is of no use. */
static bool is_stale(const struct sonde_probes *p, const struct site *site)
{
	uint8_t bytes[SONDE_WINDOW_BYTES];
	size_t nr = site->window.nr_bytes;

	return !site->patched && !site->dirty &&
	       (sonde_process_read(p->process, site->window.address, bytes,
				   nr) ||
		memcmp(bytes, site->window.bytes, nr) != 0);
}

static int insn_at(const struct sonde_window *window, uint64_t address)
{
	for (int i = 0; i < window->nr_insns; i++)
		if (window->address + window->starts[i] == address)
			return i;
	return -1;
}

/* A parked site is as good as none if it is stale, or would now reach into
 * another. */
static int probes_renew(struct sonde_probes *p, struct site *site,
			const struct sonde_probe_spec *spec,
			struct sonde_process_error *error)
{
	struct sonde_window window = site->window;

	if (is_stale(p, site)) {
		int rc = choose(p, spec->window ? spec->window : spec->address,
				spec->window ? spec->address : 0, error,
				&window);
		if (rc)
			return rc;
		if (window.address != site->window.address)
			return explain(p, error, -ESTALE, spec->address,
				       "the code there has changed");
		site->built = NULL;
	} else if (!site->patched && !site->dirty) {
		avoid_others(p, &window);
		if (window.nr_bytes != site->window.nr_bytes)
			site->built = NULL;
	}
	if (!site->patched && !site->dirty) {
		site->window = window;
		memcpy(site->now, window.bytes, sizeof(site->now));
	}
	return 0;
}

/* A window that begins at `from` and has the probe's address in it, of a site that
 * is there or of a new one. -ENOENT: it is an int3 there by now, or has to be one. */
static int window_through(struct sonde_probes *p,
			  const struct sonde_probe_spec *spec,
			  struct sonde_process_error *error,
			  struct sonde_window *ret_window,
			  struct site **ret_site)
{
	int rc = choose(p, spec->window, spec->address, error, ret_window);

	if (rc)
		return rc;
	ret_window->is_idle = spec->is_idle && spec->window == spec->address;
	*ret_site = site_around(p, ret_window->address);
	return insn_at(*ret_site ? &(*ret_site)->window : ret_window,
		       spec->address) < 0 ?
		       -ENOENT :
		       0;
}

static int site_for(struct sonde_probes *p, const struct sonde_probe_spec *spec,
		    struct sonde_process_error *error, struct site **ret_site,
		    uint8_t *ret_insn)
{
	uint64_t address = spec->address;
	struct site *site = site_around(p, address);
	struct sonde_window window = { 0 };
	int rc = site ? 0 : -ENOENT;

	if (rc && spec->window)
		rc = window_through(p, spec, error, &window, &site);
	if (rc == -ENOENT) {
		const char *why = site ? site->window.why_trap : NULL;

		rc = choose(p, address, 0, error, &window);
		if (rc)
			return rc;
		if (!window.why_trap)
			window.why_trap = why;
		address = window.address; /* behind an endbr64 */
		window.is_idle = spec->is_idle;
		site = site_around(p, address);
	}
	if (!rc)
		rc = site ? probes_renew(p, site, spec, error) :
			    add_site(p, &window, &site);
	if (rc == -ENOSPC)
		return explain(p, error, rc, address,
			       "probes were at too many places already");
	if (rc)
		return rc;
	int insn = insn_at(&site->window, address);
	if (insn < 0)
		return explain(p, error, -EINVAL, address,
			       "no instruction begins there");
	if (site->nr_probes == SITE_PROBES_MAX)
		return explain(p, error, -ENOSPC, address,
			       "too many are there");
	*ret_site = site;
	*ret_insn = (uint8_t)insn;
	return 0;
}

/* ---- pads ---- */

/* Which probes a site's pad has, in order: those that break first. */
static size_t list_probes(const struct sonde_probes *p, const struct site *site,
			  uint32_t *indexes, struct sonde_pad_probe *list)
{
	size_t nr = 0;

	for (int breaks = 1; breaks >= 0; breaks--)
		for (size_t i = 0; i < site->nr_probes; i++) {
			uint32_t index = site->probes[i];
			const struct probe *probe = &p->probes[index];
			if (probe->breaks != (bool)breaks ||
			    (probe->breaks && !probe->on))
				continue;
			indexes[nr] = index;
			list[nr++] = (struct sonde_pad_probe){
				.index = index,
				.condition = probe->condition,
				.is_call = probe->is_call,
				.breaks = probe->breaks,
				.insn = probe->insn,
			};
		}
	return nr;
}

static void free_built(struct built *built)
{
	if (built)
		sonde_pad_free(&built->pad);
	free(built);
}

/* A pun that has no place becomes a free window, or an int3. */
static int take_place(struct sonde_probes *p, struct sonde_window *window,
		      size_t size, struct sonde_pad_room *ret)
{
	int rc = sonde_pad_memory_take(p->places, window, size, ret);

	if (rc != -ENOSPC || !window->mask)
		return rc;
	if (window->can_be_free &&
	    !sonde_patch_code_leads_inside(p->text, window)) {
		window->kind = SONDE_WINDOW_FREE;
		window->mask = window->value = 0;
	} else {
		make_trap(window, "no memory is free where a jump from there "
				  "would have to lead");
	}
	return sonde_pad_memory_take(p->places, window, size, ret);
}

/* Room is taken by a first try's size; more, if that was not enough. */
static int make_pad(struct sonde_probes *p, struct site *site,
		    struct sonde_pad_request *request, struct built *built)
{
	bool fresh = !site->patched;
	struct sonde_pad_room place;
	int rc;

	request->window = &site->window;
	request->address = site->window.address & -16ull;
	rc = sonde_pad_make(request, &built->pad);
	while (!rc) {
		/* elsewhere, constants may be longer */
		size_t size =
			built->pad.nr_bytes + SPARE_BYTES * request->nr_probes;
		unsigned int nr_insns = site->window.nr_insns;
		rc = fresh ? take_place(p, &site->window, size, &place) :
			     sonde_pad_memory_take(p->places, &site->window,
						   size, &place);
		if (rc)
			break;
		sonde_pad_free(&built->pad);
		request->address = place.there;
		rc = sonde_pad_make(request, &built->pad);
		if (rc)
			break;
		/* complete before anything leads there: see build() */
		if (built->pad.nr_bytes <= size &&
		    nr_insns == site->window.nr_insns) {
			memcpy(place.here, built->pad.bytes,
			       built->pad.nr_bytes);
			built->address = place.there;
			built->here = place.here;
			built->entry = place.entry;
			return 0;
		}
	}
	return rc;
}

/* Where the window's instructions are now, should they fault. */
static int publish_copies(struct sonde_probes *p, const struct site *site,
			  const struct built *built)
{
	int rc = 0;

	for (unsigned int i = 0; i < site->window.nr_insns && !rc; i++) {
		struct sonde_agent_copy copy = {
			.at = built->address + built->pad.copies[i],
			.site = site->window.address + site->window.starts[i],
		};
		rc = sonde_publish_copy(p->agent, &copy);
		if (rc || !built->pad.pushed[i])
			continue;
		copy.at += built->pad.pushed[i];
		copy.back = built->pad.pushed[i];
		copy.pushed = sizeof(uint64_t);
		rc = sonde_publish_copy(p->agent, &copy);
	}
	return rc;
}

static int publish(struct sonde_probes *p, const struct site *site,
		   const struct built *built)
{
	int rc = 0;

	for (size_t i = 0; i < built->pad.nr_faults && !rc; i++)
		rc = sonde_publish_fault(p->agent, &built->pad.faults[i]);
	for (unsigned int i = 0; i < site->window.nr_insns && !rc; i++)
		rc = sonde_publish_trap(
			p->agent, site->window.address + site->window.starts[i],
			built->address + built->pad.entries[i]);
	return rc ? rc : publish_copies(p, site, built);
}

static bool same_probes(const struct built *built, const uint32_t *indexes,
			size_t nr)
{
	return built && built->nr_probes == nr &&
	       !memcmp(built->indexes, indexes, nr * sizeof(*indexes));
}

static int build(struct sonde_probes *p, struct site *site)
{
	struct sonde_pad_probe list[SITE_PROBES_MAX];
	struct built *built = calloc(1, sizeof(*built));
	int rc = -ENOMEM;

	if (built)
		rc = SONDE_GROW(p->builts, p->nr_builts, p->builts_room);
	if (rc) {
		free(built);
		return rc;
	}
	built->nr_probes = list_probes(p, site, built->indexes, list);
	if (same_probes(site->built, built->indexes, built->nr_probes)) {
		free(built);
		site->next = site->built;
		return publish(p, site, site->next);
	}
	struct sonde_pad_request request = {
		.probes = list,
		.nr_probes = built->nr_probes,
		.hit = sonde_process_image(p->process)->hit,
		.call = sonde_process_image(p->process)->call,
		.agent_data = sonde_process_agent_address(p->process),
	};
	rc = make_pad(p, site, &request, built);
	if (!rc)
		rc = publish(p, site, built);
	if (rc) {
		free_built(built);
		return rc;
	}
	free(built->pad.bytes);
	built->pad.bytes = NULL;
	built->base = site->window.address;
	built->nr_insns = site->window.nr_insns;
	memcpy(built->starts, site->window.starts, sizeof(built->starts));
	p->builts[p->nr_builts++] = built;
	site->next = built;
	return 0;
}

/* ---- commits ---- */

static void set_patch(const struct site *site, struct sonde_patch *patch)
{
	const struct sonde_window *window = &site->window;

	*patch = (struct sonde_patch){ .window = window };
	memcpy(patch->before, site->now, sizeof(patch->before));
	memcpy(patch->after, window->bytes, sizeof(patch->after));
	if (!site->next)
		return;
	if (window->kind == SONDE_WINDOW_TRAP) {
		patch->after[0] = OP_INT3;
		return;
	}
	int32_t distance =
		(int32_t)(site->next->entry - window->address - JUMP_BYTES);
	patch->after[0] = OP_JMP;
	memcpy(patch->after + 1, &distance, sizeof(distance));
}

/* Tells the servant, before the text is changed. */
static void tell_slot(struct sonde_probes *p, const struct site *site,
		      const struct sonde_patch *patch)
{
	struct sonde_agent_site *to = &p->agent->sites[site->slot];

	sonde_store_relaxed(&to->address, 0);
	to->nr_bytes = site->window.nr_bytes;
	memcpy(to->bytes, site->window.bytes, sizeof(to->bytes));
	memcpy(to->now, patch->before, sizeof(to->now));
	memcpy(to->next, patch->after, sizeof(to->next));
	/* Pairs with take_step(), once we are dead: it sees the rest. */
	sonde_store_release(&to->address, site->window.address);
	sonde_store_relaxed(&p->agent->nr_sites, p->nr_slots);
}

static void settle(struct sonde_probes *p, struct site *site,
		   const struct sonde_patch *patch)
{
	if (!site->next)
		sonde_store_relaxed(&p->agent->sites[site->slot].address, 0);
	memcpy(site->now, patch->after, sizeof(site->now));
	site->patched = site->next != NULL;
	if (site->next)
		site->built = site->next;
	site->next = NULL;
	site->dirty = false;
}

/* Free windows that could not be got to become int3s. */
static bool give_way(struct sonde_probes *p, const struct sonde_patch *patches,
		     struct site **sites, size_t nr)
{
	bool any = false;

	for (size_t i = 0; i < nr; i++) {
		struct site *site = sites[i];
		if (patches[i].rc != -EAGAIN ||
		    site->window.kind != SONDE_WINDOW_FREE || site->patched)
			continue;
		make_trap(&site->window,
			  "threads don't leave the place of a jump");
		site->built = NULL;
		if (build(p, site))
			return false;
		any = true;
	}
	return any;
}

static int probes_apply(struct sonde_probes *p, struct site **sites, size_t nr)
{
	struct sonde_patch *patches = calloc(nr + 1, sizeof(*patches));
	bool again = true;
	int rc = patches ? 0 : -ENOMEM;

	while (patches && nr && again) {
		size_t left = 0;
		for (size_t i = 0; i < nr; i++) {
			set_patch(sites[i], &patches[i]);
			tell_slot(p, sites[i], &patches[i]);
		}
		rc = sonde_patch_apply(p->process, patches, nr);
		again = rc && give_way(p, patches, sites, nr);
		for (size_t i = 0; i < nr; i++) {
			if (patches[i].rc == 0 && sites[i]->dirty)
				settle(p, sites[i], &patches[i]);
			else
				sites[left++] = sites[i];
		}
		nr = left;
	}
	free(patches);
	return rc;
}

/* Builds and patches whatever is dirty. */
static int probes_commit(struct sonde_probes *p)
{
	struct site **dirty = calloc(p->nr_sites + 1, sizeof(void *));
	size_t nr = 0;
	int rc = dirty ? 0 : -ENOMEM;

	for (size_t i = 0; i < p->nr_sites && !rc; i++) {
		struct site *site = p->sites[i];
		if (!site->dirty)
			continue;
		site->next = NULL;
		dirty[nr++] = site;
		if (site->nr_probes)
			rc = build(p, site);
	}
	if (!rc)
		rc = probes_apply(p, dirty, nr);
	free(dirty);
	return rc;
}

static void begin_change(struct site *site)
{
	if (site->dirty)
		return;
	site->dirty = true;
	memcpy(site->old_probes, site->probes, sizeof(site->probes));
	site->nr_old = site->nr_probes;
}

/* What was not done is no longer wished for. */
static void take_back(struct sonde_probes *p)
{
	for (size_t i = 0; i < p->nr_sites; i++) {
		struct site *site = p->sites[i];
		if (!site->dirty)
			continue;
		memcpy(site->probes, site->old_probes, sizeof(site->probes));
		site->nr_probes = site->nr_old;
		site->next = NULL;
		site->dirty = false;
		/* traps lead to a pad that may lack what is still wished */
		if (site->patched && site->built)
			(void)publish(p, site, site->built);
	}
}

/* ---- probes ---- */

static bool same_program(const struct sonde_program *a,
			 const struct sonde_program *b)
{
	if (!a || !b)
		return a == b;
	return a->nr_ops == b->nr_ops && a->texts_bytes == b->texts_bytes &&
	       !memcmp(a, b, sonde_program_bytes(a));
}

/* Whether a hit needs no more than a call's registers (agent/call.h). */
static bool is_call(const struct sonde_probe_spec *spec)
{
	return spec->role && !spec->nr_items;
}

/* One that is out, and whose pad fits: or nr_probes. */
static uint32_t find_parked(const struct sonde_probes *p,
			    const struct site *site, uint8_t insn,
			    const struct sonde_probe_spec *spec)
{
	const struct built *built = site->built;

	for (size_t i = 0; built && i < built->nr_probes; i++) {
		const struct probe *probe = &p->probes[built->indexes[i]];
		if (!probe->in && probe->insn == insn &&
		    probe->breaks == spec->breaks &&
		    probe->is_call == is_call(spec) &&
		    same_program(probe->condition, spec->condition))
			return built->indexes[i];
	}
	return p->nr_probes;
}

/* The rows of hits in use: of each CPU, and the last, of threads that don't
 * tell theirs. */
static uint64_t *row_of(const struct sonde_probes *p, unsigned int i)
{
	return p->agent
		->hits[i + 1 < p->nr_rows ? i : SONDE_AGENT_CPUS_MAX - 1];
}

/* The agent's view of it; its plan is copied. */
static int fill(struct sonde_probes *p, const struct sonde_probe_spec *spec,
		uint32_t index)
{
	struct sonde_agent_probe *to = &p->agent->probes[index];
	const struct sonde_publish_plan plan = {
		.condition = spec->condition,
		.items = spec->items,
		.nr_items = spec->nr_items,
		.step_items = spec->step_items,
		.nr_step_items = spec->nr_step_items,
		.programs = spec->programs,
		.nr_programs = spec->nr_programs,
		.filter = spec->filter,
	};
	struct sonde_agent_probe filled = {
		.event = spec->event,
		.step_event = spec->step_event,
		.address = spec->address,
		.passes = spec->passes,
		.steps = spec->steps,
		.force_register = spec->force_register,
		.force_value = spec->force_value,
		.role = spec->role,
		.call = spec->call,
		.frame = spec->frame,
		.gives = spec->gives,
		.function = spec->function,
		.near = spec->near,
		.is_filtered = spec->is_filtered,
	};
	int rc = sonde_publish_plan(p->agent, &p->plans, &plan, &filled);

	if (rc)
		return rc;
	filled.state = SONDE_AGENT_PROBE_OFF;
	*to = filled;
	for (unsigned int i = 0; i < p->nr_rows && !spec->keeps_hits; i++)
		sonde_store_relaxed(row_of(p, i) + index, 0);
	return 0;
}

/* A new one, or one that is out and fits. */
static int get_index(struct sonde_probes *p,
		     const struct sonde_probe_spec *spec, uint32_t index)
{
	struct sonde_program *condition = NULL;

	if (index == SONDE_AGENT_PROBES_MAX)
		return -ENOSPC;
	if (index < p->nr_probes)
		return 0;
	if (spec->condition) {
		condition = sonde_program_copy(spec->condition);
		if (!condition)
			return -ENOMEM;
	}
	p->probes[index] = (struct probe){ .condition = condition };
	p->nr_probes++;
	return 0;
}

/* Puts it on its site's list. */
static int wish(struct sonde_probes *p, const struct sonde_probe_spec *spec,
		struct sonde_process_error *error, uint32_t *ret_index)
{
	struct site *site;
	uint8_t insn;
	int rc = site_for(p, spec, error, &site, &insn);

	if (rc)
		return rc;
	uint32_t index = find_parked(p, site, insn, spec);
	rc = get_index(p, spec, index);
	if (rc)
		return explain(p, error, rc, spec->address,
			       "there are too many probes");
	rc = fill(p, spec, index);
	if (rc)
		return explain(p, error, rc, spec->address,
			       "what is to be collected has no room");
	/* The thread is not stepped in a pad: it leaves it behind its first
	 * instruction. */
	if (spec->steps && insn == 0 && site->window.nr_insns > 1 &&
	    !site->patched && !site->dirty) {
		make_trap(&site->window, "its hits are stepped from there");
		site->built = NULL;
	}
	struct probe *probe = &p->probes[index];
	probe->address = spec->address;
	probe->site = site;
	probe->insn = insn;
	probe->in = true;
	probe->on = !spec->off;
	probe->breaks = spec->breaks;
	probe->is_call = is_call(spec);
	begin_change(site);
	site->probes[site->nr_probes++] = index;
	*ret_index = index;
	return 0;
}

/* Known once the pad is made: who evaluates the condition. */
static void go_live(struct sonde_probes *p, uint32_t index)
{
	struct probe *probe = &p->probes[index];
	struct sonde_agent_probe *to = &p->agent->probes[index];
	const struct built *built = probe->site->built;

	for (size_t i = 0; i < built->nr_probes; i++)
		if (built->indexes[i] == index)
			probe->native = built->pad.native[i];
	if (probe->native)
		sonde_store_relaxed(&to->condition, 0);
	/* Pairs with sonde_agent_hit()'s load of `state`: it sees the rest. */
	sonde_store_release(&to->state, probe->on ? SONDE_AGENT_PROBE_ON :
						    SONDE_AGENT_PROBE_OFF);
}

static const char *reason_of(int rc)
{
	switch (rc) {
	case -EBUSY:
		return "a thread blocks SIGTRAP";
	case -ESTALE:
		return "the code there has changed";
	case -EACCES:
		return "the process allows no code to be made writable, and "
		       "this kernel no other way to write it "
		       "(proc_mem.force_override=always)";
	case -ENOSPC:
		return "no memory near it is free";
	case -ERANGE:
		return "its code refers to what is too far away";
	case -EPIPE:
	case -ESRCH:
		return "the process has ended";
	default:
		return "the code can't be changed";
	}
}

/* All or none. */
static int add_together(struct sonde_probes *p,
			const struct sonde_probe_spec *specs, size_t nr,
			struct sonde_process_error *error,
			uint32_t *ret_indexes)
{
	size_t done = 0;
	int rc = 0;

	while (done < nr && !rc) {
		rc = wish(p, &specs[done], error, &ret_indexes[done]);
		done += rc == 0;
	}
	if (!rc) {
		rc = probes_commit(p);
		if (rc)
			explain(p, error, rc, specs[0].address, reason_of(rc));
	}
	if (rc) {
		take_back(p);
		for (size_t i = 0; i < done; i++)
			(void)sonde_probes_remove(p, ret_indexes[i]);
		return rc;
	}
	for (size_t i = 0; i < nr; i++)
		go_live(p, ret_indexes[i]);
	return 0;
}

/* A window that had to become an int3 has no place for those inside any more;
 * one after the other, they get windows of their own. */
int sonde_probes_add_all(struct sonde_probes *p,
			 const struct sonde_probe_spec *specs, size_t nr,
			 struct sonde_process_error *error,
			 uint32_t *ret_indexes)
{
	size_t done = 0;
	int rc;

	p->reason = NULL;
	/* What probes change meanwhile takes branches away, and adds none. */
	sonde_patch_code_look_anew(p->text);
	rc = add_together(p, specs, nr, error, ret_indexes);

	if (nr < 2 || (rc != -EINVAL && rc != -EAGAIN))
		return rc;
	for (rc = 0; done < nr && !rc; done += rc == 0)
		rc = add_together(p, &specs[done], 1, error,
				  &ret_indexes[done]);
	for (size_t i = 0; rc && i < done; i++)
		(void)sonde_probes_remove(p, ret_indexes[i]);
	return rc;
}

const char *sonde_probes_reason(const struct sonde_probes *p)
{
	return p->reason;
}

int sonde_probes_add(struct sonde_probes *p,
		     const struct sonde_probe_spec *spec,
		     struct sonde_process_error *error, uint32_t *ret_index)
{
	return sonde_probes_add_all(p, spec, 1, error, ret_index);
}

static bool is_in(const struct sonde_probes *p, uint32_t index)
{
	return index < p->nr_probes && p->probes[index].in;
}

static void drop(struct site *site, uint32_t index)
{
	size_t left = 0;

	for (size_t i = 0; i < site->nr_probes; i++)
		if (site->probes[i] != index)
			site->probes[left++] = site->probes[i];
	site->nr_probes = left;
}

/* Off its site's list. Whether it was on it. */
static bool unwish(struct sonde_probes *p, uint32_t index)
{
	struct probe *probe = &p->probes[index];
	const size_t before = probe->site->nr_probes;

	sonde_store_relaxed(&p->agent->probes[index].state,
			    SONDE_AGENT_PROBE_OFF);
	probe->in = false;
	probe->on = false;
	begin_change(probe->site);
	drop(probe->site, index);
	return probe->site->nr_probes != before;
}

int sonde_probes_remove_all(struct sonde_probes *p, const uint32_t *indexes,
			    size_t nr)
{
	bool any = false;
	int rc = 0;

	for (size_t i = 0; i < nr; i++)
		if (is_in(p, indexes[i]))
			any |= unwish(p, indexes[i]);
	if (any)
		rc = probes_commit(p);
	if (!any || rc)
		take_back(p);
	for (size_t i = 0; rc && i < nr; i++)
		if (indexes[i] < p->nr_probes)
			drop(p->probes[indexes[i]].site, indexes[i]);
	return rc;
}

int sonde_probes_remove(struct sonde_probes *p, uint32_t index)
{
	return is_in(p, index) ? sonde_probes_remove_all(p, &index, 1) :
				 -ENOENT;
}

int sonde_probes_enable(struct sonde_probes *p, uint32_t index, bool on)
{
	struct probe *probe = &p->probes[index];
	bool changes;
	int rc = 0;

	if (!is_in(p, index))
		return -ENOENT;
	changes = probe->breaks && probe->on != on;
	probe->on = on;
	if (changes) {
		begin_change(probe->site);
		rc = probes_commit(p);
		if (rc) {
			probe->on = !on;
			take_back(p);
			return rc;
		}
	}
	go_live(p, index);
	return 0;
}

int sonde_probes_copy(struct sonde_probes *p, const void *bytes, size_t nr,
		      uint64_t *ret_at)
{
	*ret_at = sonde_plans_append(p->agent, &p->plans, bytes, nr);
	return *ret_at ? 0 : -ENOSPC;
}

int sonde_probes_facts(const struct sonde_probes *p, uint32_t index,
		       struct sonde_probe_facts *ret_facts)
{
	const struct probe *probe = &p->probes[index];
	const struct sonde_agent_probe *from;

	if (!is_in(p, index))
		return -ENOENT;
	from = &p->agent->probes[index];
	*ret_facts = (struct sonde_probe_facts){
		.address = probe->address,
		.kind = probe->site->window.kind,
		.why_trap = probe->site->window.why_trap,
		.native = probe->native,
		.faults = sonde_load_relaxed(&from->faults),
		.divisions = sonde_load_relaxed(&from->divisions),
		.cut = sonde_load_relaxed(&from->cut),
		.pad = probe->site->built ? probe->site->built->address : 0,
	};
	for (unsigned int i = 0; i < p->nr_rows; i++)
		ret_facts->hits += sonde_load_relaxed(row_of(p, i) + index);
	return 0;
}

/* ---- where is a thread ---- */

static const struct built *built_around(const struct sonde_probes *p,
					uint64_t pc)
{
	for (size_t i = p->nr_builts; i-- > 0;)
		if (pc - p->builts[i]->address < p->builts[i]->pad.nr_bytes)
			return p->builts[i];
	return NULL;
}

int sonde_probes_broke(const struct sonde_probes *p, uint64_t pc,
		       uint64_t *ret_address, uint64_t *ret_go_on)
{
	const struct built *built = built_around(p, pc);

	for (size_t i = 0; built && i < built->nr_probes; i++) {
		if (!built->pad.breaks[i] ||
		    pc != built->address + built->pad.breaks[i])
			continue;
		*ret_address = p->probes[built->indexes[i]].address;
		*ret_go_on = pc;
		return 0;
	}
	return -ENOENT;
}

bool sonde_probes_in_pad(const struct sonde_probes *p, uint64_t pc,
			 uint64_t *ret_address, bool *ret_exact,
			 uint64_t *ret_go_on)
{
	const struct built *built = built_around(p, pc);
	unsigned int insn = 0;

	if (!built)
		return false;
	uint64_t into = pc - built->address;
	for (unsigned int i = 1; i < built->nr_insns; i++)
		if (into >= built->pad.entries[i] && into < built->pad.way_back)
			insn = i;
	*ret_address = built->base + built->starts[insn];
	*ret_exact = insn && into == built->pad.entries[insn];
	*ret_go_on = built->address + built->pad.copies[insn];
	return true;
}

uint64_t sonde_probes_site_of(const struct sonde_probes *p, uint64_t pc)
{
	uint64_t address = pc;
	uint64_t go_on;
	bool exact;

	(void)sonde_probes_in_pad(p, pc, &address, &exact, &go_on);
	return address;
}

uint64_t sonde_probes_copy_of(const struct sonde_probes *p, uint64_t address)
{
	const struct site *site = site_around(p, address);
	int insn = site && site->patched ? insn_at(&site->window, address) : -1;

	return insn < 0 ? 0 :
			  site->built->address + site->built->pad.entries[insn];
}

int sonde_probes_swap_byte(struct sonde_probes *p, uint64_t pc, uint8_t *byte)
{
	const struct built *built = built_around(p, pc);
	uint8_t old;

	if (!built)
		return -ENOENT;
	old = built->here[pc - built->address];
	built->here[pc - built->address] = *byte;
	*byte = old;
	return 0;
}

/* ---- the whole ---- */

int sonde_probes_new(struct sonde_process *process,
		     struct sonde_probes **ret_probes)
{
	struct sonde_probes *p = calloc(1, sizeof(*p));
	int rc;

	if (!p)
		return -ENOMEM;
	p->process = process;
	p->agent = sonde_process_agent(process);
	long cpus = sysconf(_SC_NPROCESSORS_CONF);
	p->nr_rows = cpus > 0 && cpus < SONDE_AGENT_CPUS_MAX ?
			     (unsigned int)cpus + 1 :
			     SONDE_AGENT_CPUS_MAX;
	rc = p->agent ? sonde_pad_memory_new(process, &p->places) : -EINVAL;
	if (!rc)
		rc = sonde_patch_code_new(process, &p->text);
	if (rc) {
		sonde_probes_free(p);
		return rc;
	}
	*ret_probes = p;
	return 0;
}

static void take_all_out(struct sonde_probes *p)
{
	for (uint32_t i = 0; i < p->nr_probes; i++)
		if (p->probes[i].in)
			sonde_store_relaxed(&p->agent->probes[i].state,
					    SONDE_AGENT_PROBE_OFF);
	for (size_t i = 0; i < p->nr_sites; i++) {
		if (!p->sites[i]->patched)
			continue;
		begin_change(p->sites[i]);
		p->sites[i]->nr_probes = 0;
	}
	(void)probes_commit(p); /* what can't be is left as it is: it works */
}

void sonde_probes_free(struct sonde_probes *p)
{
	if (!p)
		return;
	if (p->nr_sites && sonde_process_lives(p->process))
		take_all_out(p);
	for (size_t i = 0; i < p->nr_sites; i++)
		free(p->sites[i]);
	for (size_t i = 0; i < p->nr_builts; i++)
		free_built(p->builts[i]);
	for (uint32_t i = 0; i < p->nr_probes; i++)
		free(p->probes[i].condition);
	sonde_plans_fini(&p->plans);
	sonde_insn_list_free(&p->insns);
	free(p->sites);
	free(p->builts);
	sonde_patch_code_free(p->text);
	sonde_pad_memory_free(p->places);
	free(p);
}
