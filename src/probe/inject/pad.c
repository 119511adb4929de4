/* SPDX-License-Identifier: MIT */
/*
 * pad.c - the code a probed address leads to.
 *
 * Written in one go, from the first byte to the last; references to what comes
 * later are completed at the end (fixups to labels).
 */
#include "probe/inject/pad.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "expr/jit/jit.h"
#include "probe/inject/relocate.h"

/* Registers, by the CPU's numbers. */
enum {
	RAX = 0,
	RCX = 1,
	RDX = 2,
	RSP = 4,
	NR_REGISTERS = 16
};
#define BIT(reg) (1u << (reg))

#define RED_ZONE 128
#define SLOT     8

/* What is known by name in a pad; kinds of labels, numbered within. */
enum label_kind {
	LABEL_ENTRY,   /* of instruction n */
	LABEL_BACK,    /* of probe n: where a false condition goes on */
	LABEL_NEXT,    /* of probe n: behind it */
	LABEL_HIT,     /* of probe n */
	LABEL_DIVIDED, /* of probe n */
	LABEL_THUNK,   /* the literal with its address; 1: of calls */
	LABEL_KINDS,
};

struct fixup {
	uint32_t at; /* of a 32-bit displacement */
	uint32_t label;
};

/* How one probe's condition is run. */
struct plan {
	struct sonde_jit *jit; /* NULL: always true */
	struct sonde_jit_needs needs;
	uint16_t scratch;
	uint8_t pushed[NR_REGISTERS]; /* in this order */
	unsigned int nr_pushed;
	bool flags;        /* are to be kept */
	bool flags_pushed; /* not in rax */
};

struct work {
	const struct sonde_pad_request *request;
	struct sonde_pad *pad;
	struct plan *plans; /* by probe */
	size_t labels_per_kind;
	uint32_t *labels; /* offsets */
	struct fixup *fixups;
	size_t nr_fixups, fixups_room;
	size_t faults_room;
	bool *refused; /* by probe: the generator can't do its condition */
	bool again;    /* that has just turned out */
	int rc;        /* the first thing that failed */
};

/* ---- bytes, labels ---- */

static void fail(struct work *w, int rc)
{
	if (!w->rc)
		w->rc = rc;
}

/* Room for so many more; NULL if there isn't. */
static uint8_t *room(struct work *w, size_t nr)
{
	if (w->rc || w->pad->nr_bytes + nr > SONDE_PAD_BYTES_MAX) {
		fail(w, -EOPNOTSUPP);
		return NULL;
	}
	return w->pad->bytes + w->pad->nr_bytes;
}

static void put(struct work *w, const void *bytes, size_t nr)
{
	uint8_t *to = room(w, nr);

	if (!to)
		return;
	memcpy(to, bytes, nr);
	w->pad->nr_bytes += (uint32_t)nr;
}

#define PUT(w, ...)                                              \
	do {                                                     \
		static const uint8_t bytes_[] = { __VA_ARGS__ }; \
		put((w), bytes_, sizeof(bytes_));                \
	} while (0)

static void put_u32(struct work *w, uint32_t value)
{
	put(w, &value, sizeof(value));
}

static void put_u64(struct work *w, uint64_t value)
{
	put(w, &value, sizeof(value));
}

static uint64_t here(const struct work *w)
{
	return w->request->address + w->pad->nr_bytes;
}

static uint32_t label_of(const struct work *w, enum label_kind kind, size_t n)
{
	return (uint32_t)((size_t)kind * w->labels_per_kind + n);
}

static void set_label(struct work *w, enum label_kind kind, size_t n)
{
	w->labels[label_of(w, kind, n)] = w->pad->nr_bytes;
}

/* The 32-bit displacement at offset `at` is to lead to the label. */
static void fix(struct work *w, uint32_t at, enum label_kind kind, size_t n)
{
	if (SONDE_GROW(w->fixups, w->nr_fixups, w->fixups_room)) {
		fail(w, -ENOMEM);
		return;
	}
	w->fixups[w->nr_fixups++] =
		(struct fixup){ .at = at, .label = label_of(w, kind, n) };
}

/* A displacement whose opcode has just been put. */
static void put_to(struct work *w, enum label_kind kind, size_t n)
{
	fix(w, w->pad->nr_bytes, kind, n);
	put_u32(w, 0);
}

static void put_jump(struct work *w, enum label_kind kind, size_t n)
{
	PUT(w, 0xe9);
	put_to(w, kind, n);
}

static void put_fixups(struct work *w)
{
	for (size_t i = 0; i < w->nr_fixups && !w->rc; i++) {
		uint32_t at = w->fixups[i].at;
		int32_t disp = (int32_t)(w->labels[w->fixups[i].label] - at -
					 (uint32_t)sizeof(disp));
		memcpy(w->pad->bytes + at, &disp, sizeof(disp));
	}
}

/* ---- registers and flags ---- */

static void put_push(struct work *w, unsigned int reg)
{
	if (reg >= 8)
		PUT(w, 0x41);
	put(w, &(uint8_t){ (uint8_t)(0x50 + (reg & 7)) }, 1);
}

static void put_pop(struct work *w, unsigned int reg)
{
	if (reg >= 8)
		PUT(w, 0x41);
	put(w, &(uint8_t){ (uint8_t)(0x58 + (reg & 7)) }, 1);
}

static void put_below_red_zone(struct work *w)
{
	PUT(w, 0x48, 0x8d, 0x64, 0x24, 0x80); /* lea -128(%rsp),%rsp */
}

static void put_above_red_zone(struct work *w)
{
	/* lea 128(%rsp),%rsp */
	PUT(w, 0x48, 0x8d, 0xa4, 0x24, 0x80, 0, 0, 0);
}

static void put_save(struct work *w, const struct plan *plan)
{
	if (plan->nr_pushed)
		put_below_red_zone(w);
	for (unsigned int i = 0; i < plan->nr_pushed; i++)
		put_push(w, plan->pushed[i]);
	if (plan->flags)
		PUT(w, 0x9f, 0x0f, 0x90, 0xc0); /* lahf; seto %al */
	if (plan->flags_pushed)
		put_push(w, RAX);
}

/* All but rsp, which stays below the red zone if anything was pushed. */
static void put_restore(struct work *w, const struct plan *plan)
{
	if (plan->flags_pushed)
		put_pop(w, RAX);
	if (plan->flags)
		PUT(w, 0x04, 0x7f, 0x9e); /* add $127,%al; sahf */
	for (unsigned int i = plan->nr_pushed; i-- > 0;)
		put_pop(w, plan->pushed[i]);
}

static void pad_save(struct plan *plan, unsigned int reg)
{
	plan->pushed[plan->nr_pushed++] = (uint8_t)reg;
}

/* Which registers the condition gets to write: those it doesn't read; rax last,
 * as it may hold the flags. If there are too few, the generator says so. */
static void choose_scratch(struct plan *plan)
{
	static const uint8_t order[] = { 1, 2, 6, 7,  8,  9,  10, 11,
					 0, 3, 5, 12, 13, 14, 15 };
	unsigned int nr = plan->needs.nr_scratch;

	if (plan->needs.needs_divide) {
		plan->scratch = BIT(RAX) | BIT(RDX);
		nr = nr > 2 ? nr - 2 : 0;
	}
	for (unsigned int i = 0; i < sizeof(order) && nr; i++) {
		unsigned int bit = BIT(order[i]);
		if ((plan->scratch | plan->needs.reads) & bit)
			continue;
		plan->scratch |= (uint16_t)bit;
		nr--;
	}
}

static void plan_registers(struct plan *plan, bool flags_are_dead)
{
	choose_scratch(plan);
	plan->flags = !flags_are_dead;
	if (plan->flags || plan->scratch & BIT(RAX))
		pad_save(plan, RAX);
	for (unsigned int reg = RAX + 1; reg < NR_REGISTERS; reg++)
		if (plan->scratch & BIT(reg))
			pad_save(plan, reg);
	plan->flags_pushed = plan->flags && plan->scratch & BIT(RAX);
}

/* ---- conditions ---- */

static int32_t pushed_bytes(const struct plan *plan)
{
	return (int32_t)(plan->nr_pushed + plan->flags_pushed) * SLOT;
}

/* Where the condition finds what it reads, if not in its register. */
static void set_moved(const struct plan *plan, struct sonde_jit_place *place)
{
	int32_t top = pushed_bytes(plan);

	for (unsigned int i = 0; i < plan->nr_pushed; i++) {
		unsigned int reg = plan->pushed[i];
		if (!(plan->needs.reads & BIT(reg)))
			continue;
		place->moved |= (uint16_t)BIT(reg);
		place->moved_at[reg] = top - (int32_t)(i + 1) * SLOT;
	}
}

static void add_faults(struct work *w, size_t k, uint32_t base,
		       const struct sonde_jit_code *code)
{
	struct sonde_pad *pad = w->pad;

	for (uint32_t i = 0; i < code->nr_faults; i++)
		pad->faults[pad->nr_faults++] = (struct sonde_agent_fault){
			.at = w->request->address + base + code->faults[i],
			.to = here(w), /* back_k */
			.probe = w->request->probes[k].index,
		};
}

static void take_code(struct work *w, size_t k, struct sonde_jit_code *code)
{
	uint32_t base = w->pad->nr_bytes;

	w->pad->nr_bytes += code->nr_bytes;
	for (uint32_t i = 0; i < code->nr_accepts; i++)
		fix(w, base + code->accepts[i], LABEL_HIT, k);
	for (uint32_t i = 0; i < code->nr_divides; i++)
		fix(w, base + code->divides[i], LABEL_DIVIDED, k);
	add_faults(w, k, base, code);
}

static void pad_put_condition(struct work *w, size_t k)
{
	struct plan *plan = &w->plans[k];
	size_t most = plan->needs.bytes_max;
	struct sonde_jit_place place = {
		.address = here(w),
		.scratch = plan->scratch,
	};
	/* each displacement takes four bytes, so there can't be more */
	uint32_t nr = (uint32_t)(most / 4 + 1);
	struct sonde_jit_code code = {
		.bytes = room(w, most),
		.accepts_max = nr,
		.divides_max = nr,
		.faults_max = plan->needs.faults_max,
	};

	if (plan->nr_pushed)
		place.rsp_below = RED_ZONE + pushed_bytes(plan);
	set_moved(plan, &place);
	code.accepts = calloc(nr, sizeof(*code.accepts));
	code.divides = calloc(nr, sizeof(*code.divides));
	code.faults = calloc(code.faults_max + 1, sizeof(*code.faults));
	if (!code.accepts || !code.divides || !code.faults)
		fail(w, -ENOMEM);
	if (code.bytes && !w->rc) {
		int rc = sonde_jit_emit(plan->jit, &place, &code);
		if (rc)
			fail(w, rc);
		else
			take_code(w, k, &code);
		if (rc == -EOPNOTSUPP)
			w->refused[k] = w->again = true;
	}
	free(code.accepts);
	free(code.divides);
	free(code.faults);
}

/* ---- hits ---- */

/* The program's registers and flags are in place, rsp is below the red zone. Of
 * a call, ZF says whether the function is passed over (call_thunk_x86_64.S). */
static void put_hit(struct work *w, size_t k)
{
	PUT(w, 0x68); /* push $index */
	put_u32(w, w->request->probes[k].index);
	PUT(w, 0xff, 0x15); /* call *thunk(%rip) */
	put_to(w, LABEL_THUNK, w->request->probes[k].is_call);
	PUT(w, 0x48, 0x8d, 0xa4, 0x24, 0x88, 0, 0, 0); /* lea 136(%rsp),%rsp */
	if (w->request->probes[k].is_call)
		PUT(w, 0x74, 0x01, 0xc3); /* je 1f; ret; 1: */
}

static void put_break(struct work *w, size_t k)
{
	PUT(w, 0xcc);
	w->pad->breaks[k] = w->pad->nr_bytes;
}

/* Out of line; ends by going on behind the probe. */
static void put_outcome(struct work *w, size_t k)
{
	const struct plan *plan = &w->plans[k];
	bool breaks = w->request->probes[k].breaks;

	set_label(w, LABEL_HIT, k);
	put_restore(w, plan);
	if (breaks && plan->nr_pushed)
		put_above_red_zone(w);
	if (!breaks && !plan->nr_pushed)
		put_below_red_zone(w);
	if (breaks)
		put_break(w, k);
	else
		put_hit(w, k);
	put_jump(w, LABEL_NEXT, k);
	set_label(w, LABEL_DIVIDED, k);
	if (!plan->needs.needs_divide)
		return;
	/* movabs $divisions,%rax; lock incq (%rax): scratch contains rax */
	PUT(w, 0x48, 0xb8);
	put_u64(w, w->request->agent_data +
			   offsetof(struct sonde_agent, probes) +
			   w->request->probes[k].index *
				   sizeof(struct sonde_agent_probe) +
			   offsetof(struct sonde_agent_probe, divisions));
	PUT(w, 0xf0, 0x48, 0xff, 0x00);
	put_jump(w, LABEL_BACK, k);
}

static void put_probe(struct work *w, size_t k)
{
	const struct plan *plan = &w->plans[k];

	if (plan->jit) {
		put_save(w, plan);
		pad_put_condition(w, k);
		set_label(w, LABEL_BACK, k);
		put_restore(w, plan);
		if (plan->nr_pushed)
			put_above_red_zone(w);
	} else if (w->request->probes[k].breaks) {
		put_break(w, k);
	} else {
		put_below_red_zone(w);
		put_hit(w, k);
	}
	set_label(w, LABEL_NEXT, k);
}

/* ---- displaced instructions ---- */

static void put_copy(struct work *w, unsigned int i, bool *ret_goes_on)
{
	const struct sonde_window *window = w->request->window;
	uint64_t from = window->address + window->starts[i];
	struct sonde_moved moved = { .goes_on = true };
	int rc = 0;

	if (i || !window->is_idle)
		rc = sonde_relocate(window->bytes + window->starts[i],
				    (size_t)window->nr_bytes -
					    window->starts[i],
				    from, here(w), &moved);
	if (rc) {
		fail(w, rc);
		return;
	}
	if (moved.target_at) {
		int32_t disp;
		memcpy(&disp, moved.bytes + moved.target_at, sizeof(disp));
		uint64_t target = here(w) + moved.target_at + sizeof(disp) +
				  (uint64_t)(int64_t)disp;
		for (unsigned int n = 0; n < window->nr_insns; n++)
			if (target == window->address + window->starts[n])
				fix(w, w->pad->nr_bytes + moved.target_at,
				    LABEL_ENTRY, n);
	}
	w->pad->pushed[i] = moved.pushed_at;
	put(w, moved.bytes, moved.nr_bytes);
	*ret_goes_on = moved.goes_on;
}

static void put_way_back(struct work *w)
{
	const struct sonde_window *window = w->request->window;
	int64_t distance =
		(int64_t)(window->address + window->nr_bytes - here(w) - 5);

	if (distance != (int32_t)distance)
		fail(w, -ERANGE);
	PUT(w, 0xe9);
	put_u32(w, (uint32_t)distance);
}

static void put_all(struct work *w)
{
	const struct sonde_pad_request *request = w->request;
	bool goes_on = true;

	for (unsigned int i = 0; i < request->window->nr_insns; i++) {
		set_label(w, LABEL_ENTRY, i);
		w->pad->entries[i] = w->pad->nr_bytes;
		for (size_t k = 0; k < request->nr_probes; k++)
			if (request->probes[k].insn == i)
				put_probe(w, k);
		w->pad->copies[i] = w->pad->nr_bytes;
		put_copy(w, i, &goes_on);
	}
	w->pad->way_back = w->pad->nr_bytes;
	if (goes_on)
		put_way_back(w);
	for (size_t k = 0; k < request->nr_probes; k++)
		if (w->plans[k].jit)
			put_outcome(w, k);
	while (!w->rc && here(w) % sizeof(uint64_t))
		PUT(w, 0xcc);
	set_label(w, LABEL_THUNK, 0);
	put_u64(w, request->hit);
	set_label(w, LABEL_THUNK, 1);
	put_u64(w, request->call);
	put_fixups(w);
}

/* ---- the whole ---- */

static int plan_probe(struct work *w, size_t k)
{
	const struct sonde_pad_probe *probe = &w->request->probes[k];
	const struct sonde_window *window = w->request->window;
	struct plan *plan = &w->plans[k];

	if (probe->insn >= window->nr_insns)
		return -EINVAL;
	w->pad->native[k] = true;
	if (!probe->condition)
		return 0;
	const struct sonde_jit_config config = {
		.kind = SONDE_JIT_PROBE,
		.address = w->request->address,
		.rip = window->address + window->starts[probe->insn],
	};
	int rc = w->refused[k] ? -EOPNOTSUPP :
				 sonde_jit_new(probe->condition, &config,
					       &plan->jit, &plan->needs);
	if (rc == -EOPNOTSUPP) {
		plan->jit = NULL;
		w->pad->native[k] = false;
		return 0;
	}
	if (rc)
		return rc;
	w->faults_room += plan->needs.faults_max;
	plan_registers(plan, probe->insn == 0 && window->flags_are_dead);
	return 0;
}

static int prepare(struct work *w)
{
	const struct sonde_pad_request *request = w->request;
	size_t nr = request->nr_probes;
	struct sonde_pad *pad = w->pad;
	int rc = 0;

	w->labels_per_kind = nr > SONDE_WINDOW_INSNS ? nr : SONDE_WINDOW_INSNS;
	w->labels =
		calloc(LABEL_KINDS * w->labels_per_kind, sizeof(*w->labels));
	w->plans = calloc(nr + 1, sizeof(*w->plans));
	pad->bytes = malloc(SONDE_PAD_BYTES_MAX);
	pad->breaks = calloc(nr + 1, sizeof(*pad->breaks));
	pad->native = calloc(nr + 1, sizeof(*pad->native));
	if (!w->labels || !w->plans || !pad->bytes || !pad->breaks ||
	    !pad->native)
		return -ENOMEM;
	for (size_t k = 0; k < nr && !rc; k++)
		rc = plan_probe(w, k);
	pad->faults = calloc(w->faults_room + 1, sizeof(*pad->faults));
	return rc ? rc : pad->faults ? 0 : -ENOMEM;
}

static int make(const struct sonde_pad_request *request, bool *refused,
		struct sonde_pad *ret_pad, bool *ret_again)
{
	struct sonde_pad pad = { 0 };
	struct work w = {
		.request = request,
		.pad = &pad,
		.refused = refused,
	};

	w.rc = prepare(&w);
	if (!w.rc)
		put_all(&w);
	for (size_t k = 0; w.plans && k < request->nr_probes; k++)
		sonde_jit_free(w.plans[k].jit);
	free(w.plans);
	free(w.labels);
	free(w.fixups);
	if (w.rc)
		sonde_pad_free(&pad);
	else
		*ret_pad = pad;
	*ret_again = w.again;
	return w.rc;
}

int sonde_pad_make(const struct sonde_pad_request *request,
		   struct sonde_pad *ret_pad)
{
	bool *refused = calloc(request->nr_probes + 1, sizeof(*refused));
	bool again = true;
	int rc = -ENOMEM;

	while (refused && again) /* each time one more is refused */
		rc = make(request, refused, ret_pad, &again);
	free(refused);
	return rc;
}

void sonde_pad_free(struct sonde_pad *pad)
{
	free(pad->bytes);
	free(pad->faults);
	free(pad->breaks);
	free(pad->native);
	*pad = (struct sonde_pad){ 0 };
}
