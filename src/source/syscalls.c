/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * syscalls.c - system calls: numbers, names, arguments, descriptions
 * (syscalls.h).
 *
 * Each call has one row in syscalls.def, which becomes an element of three
 * arrays: its arguments, and its number in each ABI. A number is looked for among
 * those of its ABI, about 1 KiB. syscalls_labels.def has the labels.
 */
#include "source/syscalls.h"

#include <stdio.h>
#include <string.h>

#include "base/port.h"
#include "source/syscalls_labels.h"
#include "types/build.h"

#include "source/syscalls_labels.def"

/* ---- the calls ---- */

/* clang-format off */
#define NO_ARGS        { .kind = SONDE_ARG_NONE }
#define INT(id)        { .name = #id, .kind = SONDE_ARG_INT }
#define FD(id)         INT(id)
#define UINT(id)       { .name = #id, .kind = SONDE_ARG_UINT }
#define HEX(id)        { .name = #id, .kind = SONDE_ARG_UINT, \
			 .is_hex = true }
#define MODE(id)       { .name = #id, .kind = SONDE_ARG_UINT, \
			 .is_octal = true }
#define LONG(id)       { .name = #id, .kind = SONDE_ARG_LONG }
#define ULONG(id)      { .name = #id, .kind = SONDE_ARG_ULONG }
#define PTR(id)        { .name = #id, .kind = SONDE_ARG_POINTER }
#define STR(id)        { .name = #id, .kind = SONDE_ARG_STRING }
#define STRS(id)       { .name = #id, .kind = SONDE_ARG_STRINGS }
#define BUF(id, of)    { .name = #id, .kind = SONDE_ARG_BUFFER, .length = (of) }
#define RES(id)        { .name = #id, .kind = SONDE_ARG_RESULT }
#define ENUM(id, set)  { .name = #id, .kind = SONDE_ARG_INT, \
			 .labels = sonde_labels_##set }
#define ENUM64(id, set) { .name = #id, .kind = SONDE_ARG_ULONG, \
			 .labels = sonde_labels_##set }
#define FLAGS(id, set) { .name = #id, .kind = SONDE_ARG_UINT, \
			 .is_flags = true, .is_hex = true, \
			 .labels = sonde_labels_##set }
#define FLAGS64(id, set) { .name = #id, .kind = SONDE_ARG_ULONG, \
			 .is_flags = true, .is_hex = true, \
			 .labels = sonde_labels_##set }
#define DIRFD(id)      ENUM(id, dirfd)

static const struct sonde_syscall calls[] = {
#define CALL(x86_64, i386, generic, id, ...) { #id, { __VA_ARGS__ } },
#define VARIANT(x86_64, i386, generic, id, shown, ...) \
	{ shown, { __VA_ARGS__ } },
#include "source/syscalls.def"
};

/* ---- the ABIs ---- */

static const int16_t numbers[SONDE_SYSCALL_ABIS][SONDE_ARRAY_SIZE(calls)] = {
#if defined(__x86_64__)
	{
#define CALL(x86_64, i386, generic, ...)    x86_64,
#define VARIANT(x86_64, i386, generic, ...) x86_64,
#include "source/syscalls.def"
	}, {
#define CALL(x86_64, i386, generic, ...)    i386,
#define VARIANT(x86_64, i386, generic, ...) i386,
#include "source/syscalls.def"
	},
#else
	{
#define CALL(x86_64, i386, generic, ...)    generic,
#define VARIANT(x86_64, i386, generic, ...) generic,
#include "source/syscalls.def"
	}, {
#define CALL(...)    -1,
#define VARIANT(...) -1,
#include "source/syscalls.def"
	},
#endif
};
/* clang-format on */

/* What the kernel calls them in its events, where that is another name. */
static const struct {
	const char *kernel, *name;
} aliases[] = {
	{ "newfstat", "fstat" },      { "newlstat", "lstat" },
	{ "newstat", "stat" },        { "newuname", "uname" },
	{ "sendfile64", "sendfile" }, { "umount", "umount2" },
};

const struct sonde_syscall *sonde_syscall(enum sonde_syscall_abi abi,
					  uint32_t nr)
{
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(calls); i++)
		if (numbers[abi][i] >= 0 && (uint32_t)numbers[abi][i] == nr)
			return &calls[i];
	return NULL;
}

uint32_t sonde_syscall_span(enum sonde_syscall_abi abi)
{
	int highest = -1;

	for (size_t i = 0; i < SONDE_ARRAY_SIZE(calls); i++)
		if (numbers[abi][i] > highest)
			highest = numbers[abi][i];
	return (uint32_t)(highest + 1);
}

static int syscalls_find_number(enum sonde_syscall_abi abi, const char *name)
{
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(calls); i++)
		if (numbers[abi][i] >= 0 && !strcmp(calls[i].name, name))
			return numbers[abi][i];
	return -1;
}

int sonde_syscall_number(enum sonde_syscall_abi abi, const char *name)
{
	int nr = syscalls_find_number(abi, name);

	for (size_t i = 0; nr < 0 && i < SONDE_ARRAY_SIZE(aliases); i++)
		if (!strcmp(aliases[i].kernel, name))
			nr = syscalls_find_number(abi, aliases[i].name);
	return nr;
}

/* ---- descriptions ---- */

static void syscalls_describe_number(struct sonde_build *build,
				     const struct sonde_syscall_arg *arg)
{
	bool wide = arg->kind != SONDE_ARG_INT && arg->kind != SONDE_ARG_UINT;
	bool is_signed =
		arg->kind == SONDE_ARG_INT || arg->kind == SONDE_ARG_LONG;
	bool is_pointer = arg->kind >= SONDE_ARG_POINTER;
	uint8_t bits = wide ? 64 : 32;
	uint32_t flags = (is_signed ? SONDE_FIELD_SIGNED : 0) |
			 (is_pointer || arg->is_hex ? SONDE_FIELD_HEX : 0) |
			 (arg->is_octal ? SONDE_FIELD_OCTAL : 0);

	sonde_source_describe(build, arg->name, bits, flags, arg->labels);
}

bool sonde_syscall_follows(const struct sonde_syscall_arg *arg,
			   const struct sonde_syscall_form *form)
{
	switch (arg->kind) {
	case SONDE_ARG_STRING:
	case SONDE_ARG_STRINGS:
		return form->has_strings;
	case SONDE_ARG_BUFFER:
		return form->has_buffers;
	case SONDE_ARG_NONE:
	case SONDE_ARG_INT:
	case SONDE_ARG_UINT:
	case SONDE_ARG_LONG:
	case SONDE_ARG_ULONG:
	case SONDE_ARG_POINTER:
	case SONDE_ARG_RESULT:
		break;
	}
	return false;
}

/* The arguments of a kind that are followed. */
static void describe_followed(struct sonde_build *build,
			      const struct sonde_syscall *call,
			      enum sonde_arg_kind kind)
{
	for (size_t i = 0; i < SONDE_SYSCALL_ARGS; i++) {
		if (call->args[i].kind != kind)
			continue;
		if (kind == SONDE_ARG_BUFFER || kind == SONDE_ARG_RESULT)
			sonde_build_blob(build, call->args[i].name);
		else
			sonde_build_string(build, call->args[i].name);
	}
}

static void describe_entry(struct sonde_build *build,
			   const struct sonde_syscall *call,
			   const struct sonde_syscall_form *form)
{
	for (size_t i = 0; i < SONDE_SYSCALL_ARGS; i++)
		if (call->args[i].kind != SONDE_ARG_NONE &&
		    !sonde_syscall_follows(&call->args[i], form))
			syscalls_describe_number(build, &call->args[i]);
	if (form->has_strings) {
		describe_followed(build, call, SONDE_ARG_STRING);
		describe_followed(build, call, SONDE_ARG_STRINGS);
	}
	if (form->has_buffers)
		describe_followed(build, call, SONDE_ARG_BUFFER);
}

int sonde_syscall_describe(enum sonde_syscall_abi abi,
			   const struct sonde_syscall *call, bool is_exit,
			   const struct sonde_syscall_form *form, void *room)
{
	struct sonde_build build;
	char name[SONDE_SYSCALL_NAME_MAX];

	(void)snprintf(name, sizeof(name), "%ssyscall_%s_%s",
		       abi == SONDE_SYSCALL_COMPAT ? "compat_" : "",
		       is_exit ? "exit" : "entry",
		       call ? call->name : "unknown");
	sonde_build_begin(&build, room, "syscalls", name, SONDE_INFO);
	if (!call)
		sonde_build_int(&build, "id", 64, SONDE_FIELD_SIGNED);
	if (is_exit)
		sonde_build_int(&build, "ret", 64, SONDE_FIELD_SIGNED);
	else if (!call)
		sonde_build_array(&build, "args", SONDE_SYSCALL_ARGS, 64,
				  SONDE_FIELD_HEX);
	else
		describe_entry(&build, call, form);
	if (is_exit && call && form->has_buffers)
		describe_followed(&build, call, SONDE_ARG_RESULT);
	return sonde_build_end(&build);
}
