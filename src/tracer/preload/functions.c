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
 * events does not say, so it is not recorded: an event has 12 bytes.
 *
 * Such an event needs no word of being busy (hooks.h, rule 4): nothing in
 * libsonde is compiled so. Without it a signal handler's functions are events
 * too, wherever the signal came, and a longjmp() out of one leaves nothing set.
 *
 * A program that has functions of these names keeps its own: the loader takes
 * them before any preloaded one, and there are no events then.
 */
#include "tracer/preload/hooks.h"

SONDE_EXPORT void __cyg_profile_func_enter(void *function, void *site);
SONDE_EXPORT void __cyg_profile_func_exit(void *function, void *site);

SONDE_EXPORT void __cyg_profile_func_enter(void *function, void *site)
{
	(void)site;
	if (sonde_hook_groups & SONDE_HOOK_FUNCTIONS)
		sonde_event(function, entry, sonde_field(addr, function));
}

SONDE_EXPORT void __cyg_profile_func_exit(void *function, void *site)
{
	(void)site;
	if (sonde_hook_groups & SONDE_HOOK_FUNCTIONS)
		sonde_event(function, exit, sonde_field(addr, function));
}
