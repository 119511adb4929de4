/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * forms.h - payloads of the tracepoints that are hot, or whose arguments say
 * more than their types do: what the programs of stock/bpf, and the typed
 * probes of modules, write; in that order, packed.
 *
 * Names go by kernel/names.h, but for those that are the trace's already.
 *
 * The list is freestanding: included by the BPF programs, too.
 */
#ifndef KERNEL_FORMS_H
#define KERNEL_FORMS_H

#include <stdbool.h>
#include <stdint.h>

/* Name in C, group, event. */
#define SONDE_KERNEL_FORMS(X)                                \
	X(SCHED_SWITCH, sched, sched_switch)                 \
	X(SCHED_WAKING, sched, sched_waking)                 \
	X(SCHED_WAKEUP, sched, sched_wakeup)                 \
	X(SCHED_WAKEUP_NEW, sched, sched_wakeup_new)         \
	X(SCHED_MIGRATE_TASK, sched, sched_migrate_task)     \
	X(SCHED_PROCESS_FORK, sched, sched_process_fork)     \
	X(SCHED_PROCESS_EXEC, sched, sched_process_exec)     \
	X(SCHED_PROCESS_EXIT, sched, sched_process_exit)     \
	X(SCHED_PROCESS_FREE, sched, sched_process_free)     \
	X(IRQ_HANDLER_ENTRY, irq, irq_handler_entry)         \
	X(IRQ_HANDLER_EXIT, irq, irq_handler_exit)           \
	X(SOFTIRQ_RAISE, irq, softirq_raise)                 \
	X(SOFTIRQ_ENTRY, irq, softirq_entry)                 \
	X(SOFTIRQ_EXIT, irq, softirq_exit)                   \
	X(PAGE_FAULT_USER, exceptions, page_fault_user)      \
	X(PAGE_FAULT_KERNEL, exceptions, page_fault_kernel)  \
	X(SIGNAL_GENERATE, signal, signal_generate)          \
	X(SIGNAL_DELIVER, signal, signal_deliver)            \
	X(HRTIMER_EXPIRE_ENTRY, timer, hrtimer_expire_entry) \
	X(HRTIMER_EXPIRE_EXIT, timer, hrtimer_expire_exit)

#define SONDE_KERNEL_FORM_ENUM(upper, group, name) SONDE_FORM_##upper,
enum sonde_kernel_form_id {
	SONDE_KERNEL_FORMS(SONDE_KERNEL_FORM_ENUM) SONDE_KERNEL_NR_FORMS,
};
#undef SONDE_KERNEL_FORM_ENUM

/* Texts that are part of payloads, with their NUL; the kernel's comm is 16. */
#define SONDE_FORM_EXEC_NAME   256u
#define SONDE_FORM_ACTION_NAME 64u

#define SONDE_FORM_FIELDS_MAX  8u

enum sonde_form_kind {
	SONDE_FORM_END,
	SONDE_FORM_INT32,
	SONDE_FORM_INT8,
	SONDE_FORM_UINT32,
	SONDE_FORM_INT64,
	SONDE_FORM_HEX64,
	SONDE_FORM_COMM,
	SONDE_FORM_STRING,
};

struct sonde_form_field {
	enum sonde_form_kind kind;
	const char *name;
	bool is_ours; /* the name is the trace's */
};

struct sonde_kernel_form {
	const char *group;
	const char *name;
	uint32_t bytes; /* of the payload; with a string, at most */
	struct sonde_form_field fields[SONDE_FORM_FIELDS_MAX];
};

extern const struct sonde_kernel_form sonde_kernel_forms[SONDE_KERNEL_NR_FORMS];

/* The form of a tracepoint that machines of this kind have; or NULL. */
const struct sonde_kernel_form *sonde_kernel_form(const char *group,
						  const char *name);
bool sonde_kernel_form_is_here(const struct sonde_kernel_form *form);

/* Its description, into `room` of SONDE_DESC_MAX bytes, aligned to 8. 0 or
 * -errno. */
int sonde_kernel_form_describe(const struct sonde_kernel_form *form,
			       void *room);

/* A number with its labels, if it has any. */
struct sonde_build;
struct sonde_kernel_field_name;
void sonde_form_int(struct sonde_build *build, uint8_t bits, uint32_t flags,
		    const struct sonde_kernel_field_name *shown);

#endif /* KERNEL_FORMS_H */
