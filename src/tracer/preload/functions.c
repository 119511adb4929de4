/* SPDX-License-Identifier: MIT */
/*
 * functions.c - entries and exits of functions as events, of what was compiled
 * with -finstrument-functions.
 *
 *	function:entry	{addr}
 *	function:exit	{addr}
 *
 * The compiler has each function call the two below, with its address. Their
 * call site is the same in every program and worth nothing that the order of
 * events does not say, so it is not recorded. Each event has a second form, in
 * which addr is a number of 32 bits that counts from where the program is, or its
 * libraries (types/origins.h): a record of 8 bytes. What has no such number has
 * the first form, of 12 bytes. So has what slot 0 doesn't record alone, or under a
 * condition: conditions and counts are about addresses. A call is an event of one
 * of the two.
 *
 * Such an event needs no word of being busy (hooks.h, rule 4): nothing in
 * libsonde is compiled so. Without it a signal handler's functions are events
 * too, wherever the signal came, and a longjmp() out of one leaves nothing set.
 *
 * With a rule (--min-duration, --depth), what each thread is in is kept
 * (ring/shadow.h), and the events are others:
 *
 *	function:begin		{addr, since, left_out}
 *	function:end		{addr, left_out}
 *	function:left_out	{calls}, when the process ends: since the last
 *				record of each thread
 *
 * since is the clock when the call began, before the record was made; 1 without
 * --min-duration, where it began right then. left_out are the calls that the
 * thread made since its last record and which have none. A thread that is one
 * too many has no shadow, and all its calls are recorded.
 *
 * A program that has functions of these names keeps its own: the loader takes
 * them before any preloaded one, and there are no events then.
 */
#include <pthread.h>
#include <sys/auxv.h>

#include "clock/clock.h"
#include "ring/control.h"
#include "ring/shadow.h"
#include "tracer/preload/hooks.h"
#include "types/origins.h"

#define THREADS_MAX 1024u

/* The program is known to begin at its headers' page; libraries are mapped from the
 * top down, so most that come later lie below this one. */
#define PAGE_BITS  12
#define ABOVE_SELF (UINT64_C(256) << 20)

/* The compiler's names.
 * NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming) */
SONDE_EXPORT void __cyg_profile_func_enter(void *function, void *site);
SONDE_EXPORT void __cyg_profile_func_exit(void *function, void *site);
/* NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming) */

struct sonde_shadow_rule sonde_hook_rule;

/* Of threads by their keys, which stay when they end: others get the same. */
static struct sonde_shadow shadows[THREADS_MAX];
static uint32_t nr_shadows; /* that were wanted */
static struct sonde_shadow no_shadow;
static __thread struct sonde_shadow *shadow_mine
	__attribute__((tls_model("initial-exec")));

/* ---- under a rule ---- */

static uint32_t shadows_in_use(void)
{
	uint32_t nr = sonde_load_relaxed(&nr_shadows);

	return nr < THREADS_MAX ? nr : THREADS_MAX;
}

/* A thread that had the same key has ended, so it is this one's. */
SONDE_COLD static struct sonde_shadow *find_shadow(void)
{
	uint64_t key = (uintptr_t)&shadow_mine;
	uint32_t nr = shadows_in_use();
	uint32_t i = 0;

	while (i < nr && sonde_load_relaxed(&shadows[i].key) != key)
		i++;
	if (i == nr)
		i = sonde_add_relaxed(&nr_shadows, 1);
	if (i >= THREADS_MAX)
		return &no_shadow;
	sonde_store_relaxed(&shadows[i].key, key);
	sonde_shadow_reset(&shadows[i], 0);
	return &shadows[i];
}

static inline struct sonde_shadow *get_shadow(void)
{
	if (sonde_unlikely(!shadow_mine))
		shadow_mine = find_shadow();
	return shadow_mine == &no_shadow ? NULL : shadow_mine;
}

/* 0 is a call that isn't there (ring/shadow.h). */
static uint64_t read_ticks(void)
{
	return sonde_hook_rule.min_ticks ? sonde_clock_cpu() : 1;
}

static inline void emit_begin_event(void *ctx, uint64_t function,
				    uint64_t begin, uint32_t left_out)
{
	(void)ctx;
	sonde_event(function, begin, sonde_hex(addr, function),
		    sonde_field(since, begin), sonde_field(left_out, left_out));
}

static inline void emit_end_event(void *ctx, uint64_t function,
				  uint32_t left_out)
{
	(void)ctx;
	sonde_event(function, end, sonde_hex(addr, function),
		    sonde_field(left_out, left_out));
}

__attribute__((noinline)) static void enter_by_rule(void *function, void *stack)
{
	const struct sonde_shadow_hit hit = {
		.function = (uintptr_t)function,
		.stack = (uintptr_t)stack,
		.begin = emit_begin_event,
		.end = emit_end_event,
	};

	sonde_shadow_enter(get_shadow(), &sonde_hook_rule, &hit, read_ticks());
}

__attribute__((noinline)) static void leave_by_rule(void *function, void *stack)
{
	const struct sonde_shadow_hit hit = {
		.function = (uintptr_t)function,
		.stack = (uintptr_t)stack,
		.begin = emit_begin_event,
		.end = emit_end_event,
	};

	sonde_shadow_leave(get_shadow(), &sonde_hook_rule, &hit, read_ticks());
}

__attribute__((destructor)) static void tell_left_out(void)
{
	uint64_t calls = 0;

	for (uint32_t i = 0; i < shadows_in_use(); i++)
		calls += sonde_shadow_left_out(&shadows[i]);
	if (calls)
		sonde_event(function, left_out, sonde_field(calls, calls));
}

/* A child by fork has left none out: its parent tells. */
static void forget_left_out(void)
{
	for (uint32_t i = 0; i < shadows_in_use(); i++)
		(void)sonde_shadow_left_out(&shadows[i]);
}

void sonde_hook_functions_begin(void)
{
	(void)pthread_atfork(NULL, NULL, forget_left_out);
}

/* ---- the form with a number ---- */

static const uint32_t near_unwanted;
static struct sonde_origins origins;
static struct sonde_site near_entry = { .state = &near_unwanted };
static struct sonde_site near_exit = { .state = &near_unwanted };

static void near_register(struct sonde_site *site, const char *name)
{
	_Alignas(struct sonde_desc) unsigned char room[SONDE_DESC_MAX];
	struct sonde_build build;

	sonde_build_begin(&build, room, "function", name, SONDE_INFO);
	sonde_origins_build(&origins, &build, "addr");
	if (sonde_build_end(&build))
		return;
	site->desc = (const void *)room;
	sonde_register(site, 1); /* has copied it */
	site->desc = NULL;
}

void sonde_hook_functions_register(void)
{
	uint64_t self = (uintptr_t)&sonde_hook_functions_register;

	origins.low = getauxval(AT_PHDR) >> PAGE_BITS << PAGE_BITS;
	origins.high = sonde_origins_below((self >> PAGE_BITS << PAGE_BITS) +
					   ABOVE_SELF);
	near_register(&near_entry, "entry");
	near_register(&near_exit, "exit");
}

/* False: it is to be an event of the other form. */
static inline bool emit_near(const struct sonde_site *site,
			     const void *function)
{
	uint32_t state = sonde_load_relaxed(sonde_load_relaxed(&site->state));
	uint32_t number;

	/* An id (0 is none), or one with stacks: for slot 0 alone, and all. */
	if ((state - 1 >= SONDE_LARGE_ESCAPE - 1 &&
	     !(state & SONDE_STATE_STACKED)) ||
	    !sonde_origins_number(&origins, (uintptr_t)function, &number))
		return false;
	sonde_emit_word(state, number, SONDE_INC(sizeof(number)));
	return true;
}

/* ---- what the compiler calls ---- */

void __cyg_profile_func_enter(void *function, void *site)
{
	(void)site;
	if (sonde_hook_groups & SONDE_HOOK_FUNCTIONS_BY_RULE)
		enter_by_rule(function, __builtin_frame_address(0));
	else if (sonde_hook_groups & SONDE_HOOK_FUNCTIONS &&
		 !emit_near(&near_entry, function))
		sonde_event(function, entry, sonde_field(addr, function));
}

void __cyg_profile_func_exit(void *function, void *site)
{
	(void)site;
	if (sonde_hook_groups & SONDE_HOOK_FUNCTIONS_BY_RULE)
		leave_by_rule(function, __builtin_frame_address(0));
	else if (sonde_hook_groups & SONDE_HOOK_FUNCTIONS &&
		 !emit_near(&near_exit, function))
		sonde_event(function, exit, sonde_field(addr, function));
}
