/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * payloads.h - payloads of the tracepoints that are hot, or whose arguments say
 * more than their types do: what the programs of bpf, and the typed
 * probes of modules, write; in that order, packed.
 *
 * Names go by source/names.h, but for those that are the trace's already.
 *
 * The list is freestanding: included by the BPF programs, too.
 */
#ifndef SOURCE_PAYLOADS_H
#define SOURCE_PAYLOADS_H

#include <stdbool.h>
#include <stdint.h>

/* Name in C, group, event. */
#define SONDE_PAYLOADS(X)                                    \
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
	X(HRTIMER_EXPIRE_EXIT, timer, hrtimer_expire_exit)   \
	X(SOCK_SEND_LENGTH, sock, sock_send_length)          \
	X(SOCK_RECV_LENGTH, sock, sock_recv_length)

#define SONDE_PAYLOAD_ENUM(upper, group, name) SONDE_PAYLOAD_##upper,
enum sonde_payload_id {
	SONDE_PAYLOADS(SONDE_PAYLOAD_ENUM) SONDE_NR_PAYLOADS,
};
#undef SONDE_PAYLOAD_ENUM

/* Texts that are part of payloads, with their NUL; the kernel's comm is 16. */
#define SONDE_PAYLOAD_EXEC_NAME   256u
#define SONDE_PAYLOAD_ACTION_NAME 64u

#define SONDE_PAYLOAD_FIELDS_MAX  13u

enum sonde_payload_kind {
	SONDE_PAYLOAD_END,
	SONDE_PAYLOAD_INT32,
	SONDE_PAYLOAD_INT8,
	SONDE_PAYLOAD_UINT32,
	SONDE_PAYLOAD_INT64,
	SONDE_PAYLOAD_HEX64,
	SONDE_PAYLOAD_COMM,
	SONDE_PAYLOAD_STRING,
};

struct sonde_payload_field {
	enum sonde_payload_kind kind;
	const char *name;
	bool is_ours; /* the name is the trace's */
};

struct sonde_payload {
	const char *group;
	const char *name;
	uint32_t bytes; /* of the payload; with a string, at most */
	struct sonde_payload_field fields[SONDE_PAYLOAD_FIELDS_MAX];
};

extern const struct sonde_payload sonde_payloads[SONDE_NR_PAYLOADS];

/* The form of a tracepoint that machines of this kind have; or NULL. */
const struct sonde_payload *sonde_payload(const char *group, const char *name);
bool sonde_payload_is_here(const struct sonde_payload *form);
/* What sockets move: only kernels since 6.3 have it, and our modules leave it to
 * BPF. */
bool sonde_payload_is_of_sockets(const struct sonde_payload *form);
struct sonde_source_rule;

/* Of a rule that means nothing that this kernel has: which kernels have it, to be
 * appended; "" if that isn't known. */
const char *sonde_payload_since(const struct sonde_source_rule *rule);

/* Its description, into `room` of SONDE_DESC_MAX bytes, aligned to 8. 0 or
 * -errno. */
int sonde_payload_describe(const struct sonde_payload *form, void *room);

/* Of a number; 0: it is none. */
uint8_t sonde_payload_bytes(enum sonde_payload_kind kind);

#endif /* SOURCE_PAYLOADS_H */
