// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * lttng_uml.c - what lttng-modules wants of a kernel and User-mode Linux does not
 * have. Instead of wrapper/kallsyms.c, which finds what is not exported by a
 * kprobe: bench/kernel_modules has had the function exported. And a state dump
 * that says nothing: the real one reads x86's registers; it is no part of what
 * an event costs.
 */
#include <linux/kallsyms.h>
#include <linux/module.h>
#include <lttng/events.h>
#include <wrapper/kallsyms.h>

unsigned long wrapper_kallsyms_lookup_name(const char *name)
{
	return kallsyms_lookup_name(name);
}
EXPORT_SYMBOL_GPL(wrapper_kallsyms_lookup_name);

int lttng_statedump_start(struct lttng_kernel_session *session)
{
	return 0;
}
EXPORT_SYMBOL_GPL(lttng_statedump_start);
