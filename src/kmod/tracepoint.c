// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * tracepoint.c - which tracepoints there are: the kernel's, and those of modules
 * that are loaded.
 *
 * The kernel tells of its own at any time, of a module's when it comes and goes
 * (point.c has the notifier): so modules with tracepoints are in a list. All of
 * it is control's, under sonde_control.
 */
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/tracepoint.h>

#include "kmod/probe.h"

struct of_module {
	struct list_head in_modules;
	const struct module *module;
};

/* By sonde_control. */
static LIST_HEAD(modules);

struct search {
	const char *name;
	struct tracepoint *found;
	u32 nr;
};

static void look_at(struct tracepoint *tracepoint, void *data)
{
	struct search *search = data;

	search->nr++;
	if (search->name && !strcmp(tracepoint->name, search->name))
		search->found = tracepoint;
}

static void look_in(const struct module *module, struct search *search)
{
	for (unsigned int i = 0; i < module->num_tracepoints; i++)
		look_at(tracepoint_ptr_deref(&module->tracepoints_ptrs[i]),
			search);
}

static void look_everywhere(struct search *search)
{
	const struct of_module *of;

	for_each_kernel_tracepoint(look_at, search);
	list_for_each_entry(of, &modules, in_modules)
		look_in(of->module, search);
}

struct tracepoint *sonde_tracepoint_find(const char *name)
{
	struct search search = { .name = name };

	look_everywhere(&search);
	return search.found;
}

struct tracepoint *sonde_tracepoint_find_in(const struct module *module,
					    const char *name)
{
	struct search search = { .name = name };

	look_in(module, &search);
	return search.found;
}

u32 sonde_tracepoint_count(void)
{
	struct search search = { .name = NULL };

	mutex_lock(&sonde_control);
	look_everywhere(&search);
	mutex_unlock(&sonde_control);
	return search.nr;
}

int sonde_tracepoint_add(const struct module *module)
{
	struct of_module *of = kzalloc(sizeof(*of), GFP_KERNEL);

	if (!of)
		return -ENOMEM;
	of->module = module;
	list_add(&of->in_modules, &modules);
	return 0;
}

void sonde_tracepoint_drop(const struct module *module)
{
	struct of_module *of;
	struct of_module *next;

	list_for_each_entry_safe(of, next, &modules, in_modules)
	{
		if (module && of->module != module)
			continue;
		list_del(&of->in_modules);
		kfree(of);
	}
}
