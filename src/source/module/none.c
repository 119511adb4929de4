/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * none.c - what is selected of the module's events, in a sonde that was built
 * without libbpf, which reads the kernel's types.
 */
#include "source/module/module.h"

#include <errno.h>

int module_events_select(const struct sonde_source_config *config,
			 struct module_events *ret,
			 struct sonde_source_error *error)
{
	(void)config;
	*ret = (struct module_events){ .nr = 0 };
	return sonde_source_fail(error, -ENOSYS,
				 "modules: this sonde was built without "
				 "libbpf, which reads the kernel's types; "
				 "install libbpf-dev and build it anew");
}

void module_events_free(struct module_events *events)
{
	(void)events; /* there are none */
}

bool module_events_has(const struct module_events *events, const char *group,
		       const char *name)
{
	(void)events;
	(void)group;
	(void)name;
	return false;
}
