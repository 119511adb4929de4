/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * syscalls.c - system calls: capture lists for what sonde_syscall_describe()
 * describes.
 *
 * At the exit, argument 6 is the result: a plain argument costs the kernel's
 * probe less than a result does. Of 32-bit calls the kernel hands over words
 * that are zero-extended; so it is those that are signed that are widened here.
 *
 * Cost: about 2 ms for all calls of both ABIs.
 */
#include "source/module/module.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "source/syscalls.h"

#define RESULT 6u
#define CAPS   (1u + SONDE_SYSCALL_ARGS)

_Static_assert(SONDE_SYSCALLS_MAX == SONDE_KMOD_NAME_MAX * 8,
	       "a bit for each call in the name of unknown ones");

/* ---- lists ---- */

struct list {
	struct sonde_kmod_cap *caps;
	uint32_t nr;
	uint32_t
		fixed; /* bytes of its numbers, and of what texts always have */
	uint32_t nr_texts;
	bool is_compat;
};

static void add_number(struct list *list, uint32_t arg, uint8_t bytes,
		       bool is_signed)
{
	bool widened =
		list->is_compat && bytes == 8 && is_signed && arg != RESULT;

	list->caps[list->nr++] = (struct sonde_kmod_cap){
		.kind = SONDE_KMOD_VALUE,
		.from = SONDE_KMOD_FROM_ARG,
		.index = (uint8_t)arg,
		.bytes = bytes,
		.from_bytes = widened ? 4 : 0,
		.is_signed = widened,
	};
	list->fixed += bytes;
}

/* -1 is a number, too: who traces a program can make it so. */
static void add_call_number(struct list *list)
{
	list->caps[list->nr++] = (struct sonde_kmod_cap){
		.kind = SONDE_KMOD_VALUE,
		.from = SONDE_KMOD_FROM_NR,
		.bytes = 8,
		.from_bytes = 4,
		.is_signed = 1,
	};
	list->fixed += 8;
}

/* Arguments of a kind, in their order, as texts or buffers. */
static void add_followed(struct list *list, const struct sonde_syscall *call,
			 enum sonde_arg_kind kind, enum sonde_kmod_kind as)
{
	for (uint32_t i = 0; i < SONDE_SYSCALL_ARGS; i++) {
		if (call->args[i].kind != kind)
			continue;
		list->caps[list->nr++] = (struct sonde_kmod_cap){
			.kind = (uint8_t)as,
			.from = SONDE_KMOD_FROM_ARG,
			.index = (uint8_t)i,
			.length = kind == SONDE_ARG_RESULT ?
					  SONDE_KMOD_LENGTH_RESULT :
				  kind == SONDE_ARG_BUFFER ?
					  call->args[i].length :
					  0,
		};
		list->fixed += as == SONDE_KMOD_UBUFFER ? 4 : 0;
		list->nr_texts++;
	}
}

static void add_entry(struct list *list,
		      const struct sonde_source_config *config,
		      const struct sonde_syscall *call)
{
	const struct sonde_syscall_form form = {
		.has_strings = config->string_bytes,
		.has_buffers = config->buffer_bytes,
	};

	for (uint32_t i = 0; i < SONDE_SYSCALL_ARGS; i++) {
		enum sonde_arg_kind kind = call->args[i].kind;
		bool is_int = kind == SONDE_ARG_INT || kind == SONDE_ARG_UINT;

		if (kind != SONDE_ARG_NONE &&
		    !sonde_syscall_follows(&call->args[i], &form))
			add_number(list, i, is_int ? 4 : 8,
				   kind == SONDE_ARG_LONG);
	}
	if (config->string_bytes) {
		add_followed(list, call, SONDE_ARG_STRING, SONDE_KMOD_USTRING);
		add_followed(list, call, SONDE_ARG_STRINGS,
			     SONDE_KMOD_USTRINGS);
	}
	if (config->buffer_bytes)
		add_followed(list, call, SONDE_ARG_BUFFER, SONDE_KMOD_UBUFFER);
}

/* How long each may be is known when it is known how many there are. */
static void syscalls_bound_texts(struct list *list,
				 const struct sonde_source_config *config)
{
	for (uint32_t i = 0; i < list->nr; i++) {
		struct sonde_kmod_cap *cap = &list->caps[i];

		if (cap->kind == SONDE_KMOD_UBUFFER)
			cap->max = module_text_max(config, config->buffer_bytes,
						   list->fixed, list->nr_texts);
		else if (cap->kind != SONDE_KMOD_VALUE)
			cap->max = module_text_max(config, config->string_bytes,
						   list->fixed, list->nr_texts);
	}
}

uint32_t module_syscall_caps(const struct sonde_source_config *config,
			     bool is_compat, const struct sonde_syscall *call,
			     bool is_exit, struct sonde_kmod_cap *caps)
{
	struct list list = { .caps = caps, .is_compat = is_compat };

	if (is_exit) {
		if (!call)
			add_call_number(&list);
		add_number(&list, RESULT, 8, true);
		if (call && config->buffer_bytes)
			add_followed(&list, call, SONDE_ARG_RESULT,
				     SONDE_KMOD_UBUFFER);
	} else if (call) {
		add_entry(&list, config, call);
	} else {
		add_call_number(&list);
		for (uint32_t i = 0; i < SONDE_SYSCALL_ARGS; i++)
			add_number(&list, i, 8, false);
	}
	syscalls_bound_texts(&list, config);
	return list.nr;
}

/* ---- selection ---- */

/* One end of the calls of one ABI. */
struct end {
	enum sonde_syscall_abi abi;
	bool is_exit;
};

static const struct sonde_source_rule *
rule_of(const struct module_select *select, const struct end *end,
	const char *name)
{
	char shown[SONDE_SYSCALL_NAME_MAX];

	(void)snprintf(shown, sizeof(shown), "%ssyscall_%s_%s",
		       end->abi == SONDE_SYSCALL_COMPAT ? "compat_" : "",
		       end->is_exit ? "exit" : "entry", name);
	return sonde_source_selected(select->config, "syscalls", name, shown);
}

/* The numbers that are known, a bit for each, in the event's name. */
static void put_known(struct sonde_kmod_event *event,
		      enum sonde_syscall_abi abi)
{
	unsigned char known[SONDE_KMOD_NAME_MAX] = { 0 };

	for (uint32_t nr = 0; nr < sonde_syscall_span(abi); nr++)
		if (sonde_syscall(abi, nr))
			known[nr / 8] |= (unsigned char)(1u << nr % 8);
	memcpy(event->name, known, sizeof(known));
}

/* `call` NULL: unknown ones, number ~0. */
static int syscalls_select_call(struct module_select *select,
				const struct end *end,
				const struct sonde_syscall *call,
				uint32_t number)
{
	const struct sonde_source_config *config = select->config;
	const struct sonde_syscall_form form = {
		.has_strings = config->string_bytes != 0,
		.has_buffers = config->buffer_bytes != 0,
	};
	const char *name = call ? call->name : "unknown";
	bool is_compat = end->abi == SONDE_SYSCALL_COMPAT;
	struct sonde_kmod_event event = {
		.type = end->is_exit ? SONDE_KMOD_SYSCALL_EXIT :
				       SONDE_KMOD_SYSCALL_ENTRY,
		.flags = is_compat ? SONDE_KMOD_COMPAT : 0,
		.number = number,
	};
	const struct sonde_source_rule *rule = rule_of(select, end, name);
	struct sonde_kmod_cap caps[CAPS];
	int rc;

	if (!rule)
		return 0;
	rc = sonde_syscall_describe(end->abi, call, end->is_exit, &form,
				    select->room);
	if (rc)
		return sonde_source_fail(select->error, rc,
					 "%s: no description", name);
	event.nr_caps = module_syscall_caps(config, is_compat, call,
					    end->is_exit, caps);
	if (!call)
		put_known(&event, end->abi);
	return module_add(select, rule, "syscalls", name, &event, caps);
}

static int select_end(struct module_select *select, const struct end *end)
{
	int rc = syscalls_select_call(select, end, NULL, UINT32_MAX);

	for (uint32_t nr = 0; !rc && nr < sonde_syscall_span(end->abi); nr++) {
		const struct sonde_syscall *call = sonde_syscall(end->abi, nr);

		if (call)
			rc = syscalls_select_call(select, end, call, nr);
	}
	return rc;
}

int module_syscalls_select(struct module_select *select)
{
	int rc = 0;

	for (int abi = 0; !rc && abi < SONDE_SYSCALL_ABIS; abi++) {
		struct end end = { .abi = (enum sonde_syscall_abi)abi };

		/* A machine without a table for them has no such calls. */
		if (!sonde_syscall_span(end.abi) || !sonde_syscall(end.abi, 1))
			continue;
		rc = select_end(select, &end);
		end.is_exit = true;
		if (!rc)
			rc = select_end(select, &end);
	}
	return rc;
}
