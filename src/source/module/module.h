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
struct module_types;

struct module_event {
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

struct module_events {
	uint32_t nr;
	struct module_event *list;

	/* ---- private ---- */
	uint32_t room;
	struct module_event **by_name; /* sorted */
};

/*
 * What config's rules select, but for what is taken; config->subbuf_bytes (if
 * not 0), string_bytes and buffer_bytes bound the texts of a record, so that
 * each fits. 0; -ENODATA if nothing is selected; -EINVAL if a condition or a
 * probe makes no sense; -EOPNOTSUPP if the kernel's part can't record or test
 * what is asked for; with *error. *ret is for module_events_free(), in any case.
 */
int module_events_select(const struct sonde_source_config *config,
			 struct module_events *ret,
			 struct sonde_source_error *error);
void module_events_free(struct module_events *events);
/* By the kernel's names. */
bool module_events_has(const struct module_events *events, const char *group,
		       const char *name);

/* Where a kernel says what it has; module_events_select() asks the running one. */
struct module_kernel {
	const char
		*events;   /* a file of lines "group:name"; it may be missing */
	const char *types; /* a folder of BTF: vmlinux, and modules */
	const char *modules; /* a folder of them (source/described.h) */
};
int module_events_select_of(const struct module_kernel *kernel,
			    const struct sonde_source_config *config,
			    struct module_events *ret,
			    struct sonde_source_error *error);

/* ---- btf.c ---- */

/* 0 or -errno. The modules' types are read when they are asked for. */
int module_types_open(const char *folder, struct module_types **ret_types);
void module_types_close(struct module_types *types); /* NULL is fine */

/* Those of the kernel itself. */
const struct btf *module_types_kernel(const struct module_types *types);

/* The prototype of a tracepoint or function, and the BTF that its arguments'
 * types are in. 0; -ENOENT: there is none; -EOPNOTSUPP: it has too many
 * arguments, or one that isn't a number or an address. */
int module_types_tracepoint(struct module_types *types, const char *name,
			    struct sonde_prototype *ret_prototype,
			    const struct btf **ret_btf);
int module_types_function(struct module_types *types, const char *name,
			  struct sonde_prototype *ret_prototype,
			  const struct btf **ret_btf);

/* What a path leads to. */
struct module_member {
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
bool module_types_member(const struct btf *btf, uint32_t type, const char *path,
			 struct module_member *ret_member);

/* ---- events.c: what syscalls.c makes of it ---- */

struct module_select {
	const struct module_kernel *kernel;
	const struct sonde_source_config *config;
	struct module_events *events;
	struct sonde_source_error *error;
	struct module_types *types; /* NULL: not needed yet */
	void *room;                 /* for a description */
};

/* An event whose description is in select->room. `event` has type, flags,
 * number and name, and nr_caps; it and the caps are copied. */
int module_add(struct module_select *select,
	       const struct sonde_source_rule *rule, const char *group,
	       const char *name, const struct sonde_kmod_event *event,
	       const struct sonde_kmod_cap *caps);

/*
 * Bytes that each of `nr` texts may have at most, of those that config allows,
 * so that with `fixed` other bytes all fit into a record; at least 1.
 */
uint16_t module_text_max(const struct sonde_source_config *config,
			 uint32_t wanted, uint32_t fixed, uint32_t nr);

/* ---- syscalls.c ---- */

int module_syscalls_select(struct module_select *select);

/* The list of one call's end; `call` NULL: of unknown ones. Returns how many.
 * caps: room for 1 + SONDE_SYSCALL_ARGS. */
struct sonde_syscall;
uint32_t module_syscall_caps(const struct sonde_source_config *config,
			     bool is_compat, const struct sonde_syscall *call,
			     bool is_exit, struct sonde_kmod_cap *caps);

/* ---- conditions.c ---- */

/* Fills in the event's filter, by what the rule says. 0; -EINVAL,
 * -EOPNOTSUPP with *error; -ENOMEM. */
int module_condition_add(struct module_event *event,
			 const struct sonde_source_rule *rule,
			 struct sonde_source_error *error);

#endif /* SOURCE_MODULE_MODULE_H */
