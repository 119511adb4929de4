/* SPDX-License-Identifier: MIT */
/*
 * hooks.c - which groups are traced, and how a hook finds what is behind it.
 */
#include "tracer/preload/hooks.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/text.h"

#define RULE_WORD "rule="

uint32_t sonde_hook_groups;
__thread bool sonde_hook_busy __attribute__((tls_model("initial-exec")));

sonde_hook_function sonde_hook_behind(const char *name, const char *version)
{
	sonde_hook_function function;
	void *behind = NULL;

	if (version)
		behind = dlvsym(RTLD_NEXT, name, version);
	if (!behind)
		behind = dlsym(RTLD_NEXT, name);
	/* Only a C library that is not glibc could lack one of them; there is
	 * nothing sensible left to do for whoever called it. */
	if (!behind)
		__builtin_trap();
	/* ISO C knows no way from an object's address to a function's. */
	memcpy(&function, &behind, sizeof(function));
	return function;
}

/* Of a word that isn't ours, nothing. */
static void take_rule(const char *list)
{
	const char *at = strstr(list, RULE_WORD);
	uint64_t depth;

	if (!at)
		return;
	at += strlen(RULE_WORD);
	if (!sonde_number_take(&at, 10, INT64_MAX,
			       &sonde_hook_rule.min_ticks) ||
	    *at++ != ':' || !sonde_number_take(&at, 10, UINT32_MAX, &depth))
		return;
	sonde_hook_rule.depth = (uint32_t)depth;
	sonde_hook_rule.is_on = 1;
	sonde_hook_functions_begin();
	sonde_hook_groups |= SONDE_HOOK_FUNCTIONS_BY_RULE;
}

const char *sonde_hook_named(const char *group)
{
	const char *list = secure_getenv("SONDE_HOOKS");

	return list && sonde_text_has(list, strlen(list), ",", group) ? list :
									NULL;
}

__attribute__((constructor)) static void choose_groups(void)
{
	const char *list = sonde_hook_named("functions");

	if (sonde_hook_named("malloc"))
		sonde_hook_groups |= SONDE_HOOK_MALLOC;
	if (sonde_hook_named("locks"))
		sonde_hook_groups |= SONDE_HOOK_LOCKS;
	if (!list)
		return;
	sonde_hook_groups |= SONDE_HOOK_FUNCTIONS;
	take_rule(list);
	if (!sonde_hook_rule.is_on)
		sonde_hook_functions_register();
}
