/* SPDX-License-Identifier: MIT */
/*
 * hooks.c - which groups are traced, and how a hook finds what is behind it.
 */
#include "tracer/preload/hooks.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

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

__attribute__((constructor)) static void choose_groups(void)
{
	const char *list = secure_getenv("SONDE_HOOKS");

	if (!list)
		return;
	if (sonde_text_has(list, strlen(list), ",", "malloc"))
		sonde_hook_groups |= SONDE_HOOK_MALLOC;
	if (sonde_text_has(list, strlen(list), ",", "locks"))
		sonde_hook_groups |= SONDE_HOOK_LOCKS;
	if (sonde_text_has(list, strlen(list), ",", "functions"))
		sonde_hook_groups |= SONDE_HOOK_FUNCTIONS;
}
