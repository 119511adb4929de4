/* SPDX-License-Identifier: MIT */
/*
 * hot_uprobe.c - bench/hot's program with the call of a function in place of an
 * event: a probe of the kernel's at it records its argument. SystemTap's probes of
 * programs rest on the same.
 */
#define TRACER                "uprobe"
#define EVENT_INT(x)          hot_uprobe_event((int)(x))
#define EVENT_FOUR(x)         EVENT_INT(x)
#define EVENT_STRING(x, text) ((void)(text), (void)(x))
#define EVENT_OFF(x)          ((void)(x))

void hot_uprobe_event(int i);

__attribute__((noinline)) void hot_uprobe_event(int i)
{
	__asm__ volatile("" ::"r"(i));
}

#include "hot_body.h"
