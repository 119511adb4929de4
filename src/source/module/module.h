/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * module.h - the parts of the source "modules" to one another: what is asked of
 * /dev/sonde.
 *
 *	events.c	the list: tracepoints that have forms, and all others;
 *			kprobes
 *	btf.c		the kernel's types: prototypes of tracepoints and
 *			functions, and where structures have their members
 *	syscalls.c	system calls
 *	conditions.c	a rule's condition, as the kernel takes it
 *	source.c and its neighbours take the list to the device
 *
 * An event's description says to readers what its capture list makes the kernel
 * write, in that order. Nothing that the kernel or a file says is a reason to
 * crash: what can't be asked for is an error that names the event.
 */
#ifndef SOURCE_MODULE_MODULE_H
#define SOURCE_MODULE_MODULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kmod/abi.h"
#include "source/prototype.h"
#include "source/rules.h"
#include "source/selected.h"
#include "source/source.h"

struct btf;
struct sonde_condition;
struct own_types;

struct own_event {
	struct sonde_desc *desc;
	/* The kernel's names; "syscalls" and the call's, "kprobe" and what
	 * follows it in the rule. */
	const char *group;
	const char *name;
	/* Ready for SONDE_KMOD_EVENT; .id is 1 + the index. What it points to
	 * is ours. */
	struct sonde_kmod_event event;
	const char *condition; /* its rule's, for messages; NULL: none */
	bool is_named;         /* its rule asks for it and no other */

	/* ---- private ---- */
	char *names; /* group and name */
	struct sonde_kmod_cap *caps;
	struct sonde_kmod_text *texts;
	struct sonde_condition *compiled; /* whose program .filter is */
};

struct own_events {
	uint32_t nr;
	struct own_event *list;

	/* ---- private ---- */
	uint32_t room;
	struct own_event **by_name; /* sorted */
};

/*
 * What config's rules select, but for what is taken; config->subbuf_bytes (if
 * not 0), string_bytes and buffer_bytes bound the texts of a record, so that
 * each fits. 0; -ENODATA if nothing is selected; -EINVAL if a condition or a
 * probe makes no sense; -EOPNOTSUPP if the kernel's part can't record or test
 * what is asked for; with *error. *ret is for own_events_free(), in any case.
 */
int own_events_select(const struct sonde_source_config *config,
		      struct own_events *ret, struct sonde_source_error *error);
void own_events_free(struct own_events *events);
/* By the kernel's names. */
bool own_events_has(const struct own_events *events, const char *group,
		    const char *name);

/* Where a kernel says what it has; own_events_select() asks the running one. */
struct own_kernel {
	const char
		*events;   /* a file of lines "group:name"; it may be missing */
	const char *types; /* a folder of BTF: vmlinux, and modules */
};
int own_events_select_of(const struct own_kernel *kernel,
			 const struct sonde_source_config *config,
			 struct own_events *ret,
			 struct sonde_source_error *error);

/* ---- btf.c ---- */

/* 0 or -errno. The modules' types are read when they are asked for. */
int own_types_open(const char *folder, struct own_types **ret_types);
void own_types_close(struct own_types *types); /* NULL is fine */

/* Those of the kernel itself. */
const struct btf *own_types_kernel(const struct own_types *types);

/* The prototype of a tracepoint or function, and the BTF that its arguments'
 * types are in. 0; -ENOENT: there is none; -EOPNOTSUPP: it has too many
 * arguments, or one that isn't a number or an address. */
int own_types_tracepoint(struct own_types *types, const char *name,
			 struct sonde_prototype *ret_prototype,
			 const struct btf **ret_btf);
int own_types_function(struct own_types *types, const char *name,
		       struct sonde_prototype *ret_prototype,
		       const struct btf **ret_btf);

/* What a path leads to. */
struct own_member {
	uint8_t nr_path;
	int16_t offset[SONDE_KMOD_PATH_MAX];
	bool is_number;
	uint8_t bytes;   /* of a number, or of an address, which is no number */
	uint32_t flags;  /* SONDE_FIELD_SIGNED, or _HEX of an address */
	uint32_t text;   /* bytes of an array of characters */
	bool is_text_at; /* an address of characters */
};

/*
 * From the structure `type`: "a.b->c", members and what they point to, with
 * SONDE_KMOD_PATH_MAX structures at most. False: it has no such members, or they
 * can't be captured (bit fields, for one).
 */
bool own_types_member(const struct btf *btf, uint32_t type, const char *path,
		      struct own_member *ret_member);

/* ---- events.c: what syscalls.c makes of it ---- */

struct own_select {
	const struct own_kernel *kernel;
	const struct sonde_source_config *config;
	struct own_events *events;
	struct sonde_source_error *error;
	struct own_types *types; /* NULL: not needed yet */
	void *room;              /* for a description */
};

/* An event whose description is in select->room. `event` has type, flags,
 * number and name, and nr_caps; it and the caps are copied. */
int own_add(struct own_select *select, const struct sonde_source_rule *rule,
	    const char *group, const char *name,
	    const struct sonde_kmod_event *event,
	    const struct sonde_kmod_cap *caps);

/*
 * Bytes that each of `nr` texts may have at most, of those that config allows,
 * so that with `fixed` other bytes all fit into a record; at least 1.
 */
uint16_t own_text_max(const struct sonde_source_config *config, uint32_t wanted,
		      uint32_t fixed, uint32_t nr);

/* ---- syscalls.c ---- */

int own_syscalls_select(struct own_select *select);

/* The list of one call's end; `call` NULL: of unknown ones. Returns how many.
 * caps: room for 1 + SONDE_SYSCALL_ARGS. */
struct sonde_syscall;
uint32_t own_syscall_caps(const struct sonde_source_config *config,
			  bool is_compat, const struct sonde_syscall *call,
			  bool is_exit, struct sonde_kmod_cap *caps);

/* ---- conditions.c ---- */

/* Fills in the event's filter, by what the rule says. 0; -EINVAL,
 * -EOPNOTSUPP with *error; -ENOMEM. */
int own_condition_add(struct own_event *event,
		      const struct sonde_source_rule *rule,
		      struct sonde_source_error *error);

#endif /* SOURCE_MODULE_MODULE_H */
