/* SPDX-License-Identifier: MIT */
/*
 * hooks.h - libsonde-preload.so: the C library's allocation, locking, I/O and
 * logging calls of a program that knows nothing of Sonde, as events.
 *
 * `sonde record --malloc --locks --io --log` preloads it and says in SONDE_HOOKS, a list
 * with commas, which groups it is to trace. Each hook calls the function that
 * stands behind it (the C library's, or that of an allocator which the program
 * brings along) and emits an ordinary tracepoint beside it.
 *
 * Rules all hooks keep:
 *  1. They work before constructors have run and after destructors have: the
 *     function behind is looked up when first called.
 *  2. They allocate nothing, take no lock of their own, leave errno alone.
 *  3. A group that SONDE_HOOKS does not name costs one branch.
 *  4. What calls a hook while an event is being emitted is not traced, so that
 *     emitting can't recurse, whatever libsonde does.
 *  5. What gives something up (free, unlock, signal) is an event before the
 *     call, what obtains something (malloc, lock, wake) is one after it. So in
 *     the trace, a block or a mutex never has two owners at a time.
 *
 * What a compiler calls at the beginning and end of each function is a group as
 * well, with rules of its own: functions.c.
 *
 * Beside these, exec.c keeps the library away from programs that can't take it,
 * and clock.c takes one that turns the clock off out of the recording.
 *
 * Every event of the C library's has the address of the call's site as `caller`.
 */
#ifndef TRACER_PRELOAD_HOOKS_H
#define TRACER_PRELOAD_HOOKS_H

#include <stdbool.h>
#include <stdint.h>

#include <sonde/tracepoint.h>

#include "base/port.h"
#include "ring/shadow.h"

enum sonde_hook_group {
	SONDE_HOOK_MALLOC = 1,
	SONDE_HOOK_LOCKS = 2,
	SONDE_HOOK_FUNCTIONS = 4,
	SONDE_HOOK_FUNCTIONS_BY_RULE = 8, /* in place of it */
	SONDE_HOOK_IO = 16,
	SONDE_HOOK_LOG = 32,
};

/* The groups that SONDE_HOOKS names. */
extern SONDE_HIDDEN uint32_t sonde_hook_groups;

/* Which calls of functions are recorded; SONDE_HOOKS says it as a word
 * "rule=TICKS:DEPTH" (ring/shadow.h). */
extern SONDE_HIDDEN struct sonde_shadow_rule sonde_hook_rule;
SONDE_HIDDEN void sonde_hook_functions_begin(void);    /* if there is one */
SONDE_HIDDEN void sonde_hook_functions_register(void); /* if there is none */

/* True while this thread emits an event. initial-exec: reaching it never
 * allocates. */
extern SONDE_HIDDEN __thread bool sonde_hook_busy
	__attribute__((tls_model("initial-exec")));

/* SONDE_HOOKS, if it names the group; NULL. */
SONDE_HIDDEN const char *sonde_hook_named(const char *group);

/* Any function: to be cast to what it is. */
typedef void (*sonde_hook_function)(void);

/*
 * The next definition of `name` in the program, never null. `version`, if not
 * null, is the one wanted where the C library has several.
 */
SONDE_HIDDEN sonde_hook_function sonde_hook_behind(const char *name,
						   const char *version);

/*
 * The function behind a hook, looked up when first needed. Two threads that do
 * so at the same time find the same.
 */
#define SONDE_HOOK_BEHIND(name, version) \
	SONDE_HOOK_BEHIND_AS(name, #name, version)
/* Of a hook that has another name in C than the program calls it by. */
#define SONDE_HOOK_BEHIND_AS(hook, name, version)           \
	__extension__({                                     \
		static __typeof__(&(hook)) found;           \
                                                            \
		SONDE_HOOK_BEHIND_IN(found, name, version); \
	})
/* The same, kept in `place`. */
#define SONDE_HOOK_BEHIND_IN(place, name, version)                             \
	__extension__({                                                        \
		__typeof__(place) is = sonde_load_relaxed(&(place));           \
                                                                               \
		if (sonde_unlikely(!is)) {                                     \
			is = (__typeof__(is))sonde_hook_behind(name, version); \
			sonde_store_relaxed(&(place), is);                     \
		}                                                              \
		is;                                                            \
	})

/* A hook that has another name in C than the program calls it by. */
#define SONDE_HOOK_AS(type, hook, name, ...)               \
	SONDE_EXPORT type hook(__VA_ARGS__) __asm__(name); \
	type hook(__VA_ARGS__)

static inline bool sonde_hook_wanted(enum sonde_hook_group group)
{
	return sonde_unlikely(sonde_hook_groups & group) && !sonde_hook_busy;
}

#define SONDE_HOOK_CALLER sonde_field(caller, __builtin_return_address(0))

/* Emit an event of a group; the arguments are sonde_event()'s. */
#define SONDE_HOOK_EVENT(group, ...)              \
	do {                                      \
		if (sonde_hook_wanted(group)) {   \
			sonde_hook_busy = true;   \
			sonde_event(__VA_ARGS__); \
			sonde_hook_busy = false;  \
		}                                 \
	} while (0)

#endif /* TRACER_PRELOAD_HOOKS_H */
