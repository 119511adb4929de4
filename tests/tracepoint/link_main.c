/* SPDX-License-Identifier: MIT */
/*
 * link_main.c - a program of several files, perhaps with a plugin (first
 * argument), that checks that all of their events are known.
 */
#include <dlfcn.h>
#include <stdlib.h>

#include <sonde/tracepoint.h>

#include "check.h"

void link_other(int x);

__attribute__((noinline, unused, used)) static void unused_function(int x)
{
	sonde_event(link, unused, x);
}

static inline void from_inline(int x)
{
	sonde_event(link, from_inline, x);
}

__attribute__((constructor)) static void early(void)
{
	int x = 1;

	stub_enable(1);
	sonde_event(link, early, x);
	CHECK_EVENT("link:early{x=1}");
}

static void use_plugin(const char *path)
{
	void *plugin = dlopen(path, RTLD_NOW);
	void (*event)(int);
	void *symbol;

	CHECK(plugin != NULL);
	if (!plugin) {
		puts(dlerror());
		return;
	}
	symbol = dlsym(plugin, "plugin_event");
	memcpy(&event, &symbol, sizeof(event));
	event(5);
	CHECK_EVENT("link:plugin{x=5, \"text\"=\"text\"}");
	CHECK(dlclose(plugin) == 0);
	CHECK(dlopen(path, RTLD_NOW | RTLD_NOLOAD) == NULL);
}

int main(int argc, char **argv)
{
	int x = 3;

	from_inline(x);
	CHECK_EVENT("link:from_inline{x=3}");
	link_other(4);
	CHECK_EVENT("link:other{x=4}");
	sonde_event(link, same, x);
	CHECK_EVENT("link:same{x=3}");
	/* link_other() has it with another field, and comes later. */
	sonde_event(link, conflict, x);
	(void)stub_take();
	CHECK(stub_nr_bad() == 1);
	if (argc > 1)
		use_plugin(argv[1]);
	return check_summary("link");
}
