/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * syscalls.h - the system calls: numbers, names, arguments.
 *
 * For each ABI of the machine (x86-64 and its 32-bit calls; AArch64) a table by
 * number. Events are LTTng's: syscall_entry_NAME with the arguments by name,
 * syscall_exit_NAME with `ret` (s64), compat_syscall_entry_NAME and
 * compat_syscall_exit_NAME for 32-bit programs. A number that isn't in the
 * table is syscall_entry_unknown { s64 id; u64 args[6] } and
 * syscall_exit_unknown { s64 id; s64 ret }.
 *
 * Calls have the names of <asm/unistd.h> (fstat, umount2); the kernel's own
 * (newfstat, umount) are understood where a name is looked up.
 *
 * The payload of an entry, packed:
 *
 *	1. arguments that are numbers, in their order: u32/s32 or u64/s64;
 *	   among them, as u64 pointers, in their place:
 *		strings and lists of them if the form has no strings
 *		buffers that the call reads if the form has no buffers
 *		buffers that the call writes, always
 *	2. if the form has strings: the strings, in their order, each with its
 *	   NUL; then the strings of lists (argv), as one string joined by blanks
 *	3. if the form has buffers: those that the call reads, each u32 length
 *	   and bytes
 *
 * and of an exit: s64 `ret`, then, if the form has buffers, those that the call
 * wrote, each u32 length and bytes.
 *
 * Arguments of 32-bit calls are 32 bits wide and take the same room: LONG is
 * sign-extended, ULONG and pointers are zero-extended.
 *
 * Pure; all text is static.
 */
#ifndef SOURCE_SYSCALLS_H
#define SOURCE_SYSCALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sonde/abi.h>

#include "source/names.h"

#define SONDE_SYSCALL_ARGS 6u
#define SONDE_SYSCALLS_MAX 1024u /* numbers are below this */

/* Bytes of an event's name, its NUL included. */
#define SONDE_SYSCALL_NAME_MAX 64u

enum sonde_syscall_abi {
	SONDE_SYSCALL_NATIVE,
	SONDE_SYSCALL_COMPAT,
	SONDE_SYSCALL_ABIS,
};

enum sonde_arg_kind {
	SONDE_ARG_NONE,    /* no more arguments */
	SONDE_ARG_INT,     /* s32: descriptors, pids, ints */
	SONDE_ARG_UINT,    /* u32 */
	SONDE_ARG_LONG,    /* s64: offsets */
	SONDE_ARG_ULONG,   /* u64: sizes */
	SONDE_ARG_POINTER, /* u64, shown in hexadecimal */
	SONDE_ARG_STRING,  /* const char * of the user's */
	SONDE_ARG_STRINGS, /* a list of such, ended by NULL */
	SONDE_ARG_BUFFER,  /* bytes the call reads; `length` says how many */
	SONDE_ARG_RESULT,  /* bytes the call writes; its result says how many */
};

struct sonde_syscall_arg {
	const char *name;
	enum sonde_arg_kind kind;
	uint8_t length;                          /* BUFFER: index of argument */
	bool is_flags;                           /* labels are of bits */
	bool is_hex;                             /* show so */
	bool is_octal;                           /* show so */
	const struct sonde_source_label *labels; /* or NULL; .text NULL ends */
};

struct sonde_syscall {
	const char *name; /* "openat"; NULL: no such number */
	struct sonde_syscall_arg args[SONDE_SYSCALL_ARGS];
};

/* By number; NULL if there is none. */
const struct sonde_syscall *sonde_syscall(enum sonde_syscall_abi abi,
					  uint32_t nr);

/* One more than the highest number. */
uint32_t sonde_syscall_span(enum sonde_syscall_abi abi);

/* The number of a call, or -1. */
int sonde_syscall_number(enum sonde_syscall_abi abi, const char *name);

/* What a description is to hold. */
struct sonde_syscall_form {
	bool has_strings; /* else pointers */
	bool has_buffers; /* BUFFER at entry, RESULT at exit */
};

/* Whether it goes behind the numbers in an entry's payload. */
bool sonde_syscall_follows(const struct sonde_syscall_arg *arg,
			   const struct sonde_syscall_form *form);

/*
 * The description (types/build.h) of a call's entry or exit; `call` NULL: of
 * "unknown". Into `room` of SONDE_DESC_MAX bytes, aligned to 8. 0 or -E2BIG.
 */
int sonde_syscall_describe(enum sonde_syscall_abi abi,
			   const struct sonde_syscall *call, bool is_exit,
			   const struct sonde_syscall_form *form, void *room);

#endif /* SOURCE_SYSCALLS_H */
