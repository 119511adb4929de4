/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * payloads.c - the payloads of hot tracepoints, as descriptions (payloads.h).
 *
 * The table is payloads.h's list; what is described here is what the programs
 * write, in the same order.
 */
#include "source/payloads.h"

#include <string.h>

#include "base/port.h"
#include "source/names.h"
#include "source/rules.h"
#include "types/build.h"

#define INT32  SONDE_PAYLOAD_INT32
#define INT8   SONDE_PAYLOAD_INT8
#define UINT32 SONDE_PAYLOAD_UINT32
#define INT64  SONDE_PAYLOAD_INT64
#define HEX64  SONDE_PAYLOAD_HEX64
#define COMM   SONDE_PAYLOAD_COMM
#define STRING SONDE_PAYLOAD_STRING

/* clang-format off */
#define TASK { COMM, "comm", 0 }, { INT32, "pid", 0 }, { INT32, "prio", 0 }
#define WAKEUP { TASK, { INT32, "target_cpu", 0 }, \
		{ INT8, "in_interrupt", 1 } }
#define FAULT { { HEX64, "address", 0 }, { HEX64, "ip", 0 }, \
		{ HEX64, "error_code", 0 } }
/* `position` is TCP's: the number of the byte behind those that were sent, or
 * received. Addresses are IPv6 ones, ::ffff:1.2.3.4 of IPv4. */
#define SOCKET { { HEX64, "sk", 1 }, { UINT32, "family", 1 }, \
		{ UINT32, "protocol", 1 }, { INT32, "ret", 1 }, \
		{ UINT32, "flags", 1 }, { UINT32, "position", 1 }, \
		{ UINT32, "sport", 1 }, { UINT32, "dport", 1 }, \
		{ HEX64, "saddr_high", 1 }, { HEX64, "saddr_low", 1 }, \
		{ HEX64, "daddr_high", 1 }, { HEX64, "daddr_low", 1 } }

const struct sonde_payload sonde_payloads[SONDE_NR_PAYLOADS] = {
	[SONDE_PAYLOAD_SCHED_SWITCH] = { "sched", "sched_switch", 56, {
		{ COMM, "prev_comm", 0 }, { INT32, "prev_pid", 0 },
		{ INT32, "prev_prio", 0 }, { INT64, "prev_state", 0 },
		{ COMM, "next_comm", 0 }, { INT32, "next_pid", 0 },
		{ INT32, "next_prio", 0 } } },
	[SONDE_PAYLOAD_SCHED_WAKING] = { "sched", "sched_waking", 29, WAKEUP },
	[SONDE_PAYLOAD_SCHED_WAKEUP] = { "sched", "sched_wakeup", 29, WAKEUP },
	[SONDE_PAYLOAD_SCHED_WAKEUP_NEW] = { "sched", "sched_wakeup_new", 29,
		WAKEUP },
	[SONDE_PAYLOAD_SCHED_MIGRATE_TASK] = { "sched", "sched_migrate_task", 32, {
		TASK, { INT32, "orig_cpu", 0 }, { INT32, "dest_cpu", 0 } } },
	[SONDE_PAYLOAD_SCHED_PROCESS_FORK] = { "sched", "sched_process_fork", 48, {
		{ COMM, "parent_comm", 0 }, { INT32, "parent_tid", 1 },
		{ INT32, "parent_pid", 1 }, { COMM, "child_comm", 0 },
		{ INT32, "child_tid", 1 }, { INT32, "child_pid", 1 } } },
	[SONDE_PAYLOAD_SCHED_PROCESS_EXEC] = { "sched", "sched_process_exec", 264, {
		{ INT32, "tid", 1 }, { INT32, "old_tid", 1 },
		{ STRING, "filename", 0 } } },
	[SONDE_PAYLOAD_SCHED_PROCESS_EXIT] = { "sched", "sched_process_exit", 24,
		{ TASK } },
	[SONDE_PAYLOAD_SCHED_PROCESS_FREE] = { "sched", "sched_process_free", 24,
		{ TASK } },
	[SONDE_PAYLOAD_IRQ_HANDLER_ENTRY] = { "irq", "irq_handler_entry", 68, {
		{ INT32, "irq", 0 }, { STRING, "name", 0 } } },
	[SONDE_PAYLOAD_IRQ_HANDLER_EXIT] = { "irq", "irq_handler_exit", 8, {
		{ INT32, "irq", 0 }, { INT32, "ret", 0 } } },
	[SONDE_PAYLOAD_SOFTIRQ_RAISE] = { "irq", "softirq_raise", 4, {
		{ UINT32, "vec", 0 } } },
	[SONDE_PAYLOAD_SOFTIRQ_ENTRY] = { "irq", "softirq_entry", 4, {
		{ UINT32, "vec", 0 } } },
	[SONDE_PAYLOAD_SOFTIRQ_EXIT] = { "irq", "softirq_exit", 4, {
		{ UINT32, "vec", 0 } } },
	[SONDE_PAYLOAD_PAGE_FAULT_USER] = { "exceptions", "page_fault_user", 24,
		FAULT },
	[SONDE_PAYLOAD_PAGE_FAULT_KERNEL] = { "exceptions", "page_fault_kernel",
		24, FAULT },
	[SONDE_PAYLOAD_SIGNAL_GENERATE] = { "signal", "signal_generate", 40, {
		{ INT32, "sig", 0 }, { INT32, "errno", 0 },
		{ INT32, "code", 0 }, { COMM, "comm", 0 },
		{ INT32, "pid", 0 }, { INT32, "group", 0 },
		{ INT32, "result", 0 } } },
	[SONDE_PAYLOAD_SIGNAL_DELIVER] = { "signal", "signal_deliver", 28, {
		{ INT32, "sig", 0 }, { INT32, "errno", 0 },
		{ INT32, "code", 0 }, { HEX64, "sa_handler", 0 },
		{ HEX64, "sa_flags", 0 } } },
	[SONDE_PAYLOAD_HRTIMER_EXPIRE_ENTRY] = { "timer", "hrtimer_expire_entry",
		24, { { HEX64, "hrtimer", 0 }, { INT64, "now", 0 },
		{ HEX64, "function", 0 } } },
	[SONDE_PAYLOAD_HRTIMER_EXPIRE_EXIT] = { "timer", "hrtimer_expire_exit", 8, {
		{ HEX64, "hrtimer", 0 } } },
	[SONDE_PAYLOAD_SOCK_SEND_LENGTH] = { "sock", "sock_send_length", 68,
		SOCKET },
	[SONDE_PAYLOAD_SOCK_RECV_LENGTH] = { "sock", "sock_recv_length", 68,
		SOCKET },
};
/* clang-format on */

uint8_t sonde_payload_bytes(enum sonde_payload_kind kind)
{
	static const uint8_t bytes[] = {
		[INT8] = 1, [INT32] = 4, [UINT32] = 4, [INT64] = 8, [HEX64] = 8
	};

	return kind < SONDE_ARRAY_SIZE(bytes) ? bytes[kind] : 0;
}

static void add_field(struct sonde_build *build,
		      const struct sonde_payload *form,
		      const struct sonde_payload_field *field)
{
	struct sonde_source_field_name shown = { .name = field->name };

	if (!field->is_ours)
		sonde_source_field_name(form->group, form->name, field->name,
					&shown);
	switch (field->kind) {
	case INT8:
	case INT32:
	case UINT32:
	case INT64:
	case HEX64:
		sonde_source_describe(
			build, shown.name,
			(uint8_t)(8 * sonde_payload_bytes(field->kind)),
			field->kind == HEX64  ? SONDE_FIELD_HEX :
			field->kind == UINT32 ? 0 :
						SONDE_FIELD_SIGNED,
			shown.labels);
		break;
	case COMM:
		sonde_build_text(build, shown.name, 16);
		break;
	case STRING:
		sonde_build_string(build, shown.name);
		break;
	case SONDE_PAYLOAD_END:
		break;
	}
}

bool sonde_payload_is_of_sockets(const struct sonde_payload *form)
{
	return strcmp(form->group, "sock") == 0;
}

const char *sonde_payload_since(const struct sonde_source_rule *rule)
{
	for (size_t i = 0; i < SONDE_NR_PAYLOADS; i++) {
		const struct sonde_payload *form = &sonde_payloads[i];

		if (sonde_payload_is_of_sockets(form) &&
		    sonde_source_rule_matches(rule, form->group, form->name,
					      NULL))
			return "; Linux 6.3 and later have it";
	}
	return "";
}

bool sonde_payload_is_here(const struct sonde_payload *form)
{
#if defined(__x86_64__)
	(void)form;
	return true;
#else
	return strcmp(form->group, "exceptions") != 0;
#endif
}

const struct sonde_payload *sonde_payload(const char *group, const char *name)
{
	for (uint32_t i = 0; i < SONDE_NR_PAYLOADS; i++) {
		const struct sonde_payload *form = &sonde_payloads[i];

		if (!strcmp(form->name, name) && !strcmp(form->group, group))
			return sonde_payload_is_here(form) ? form : NULL;
	}
	return NULL;
}

int sonde_payload_describe(const struct sonde_payload *form, void *room)
{
	struct sonde_build build;

	sonde_build_begin(&build, room, form->group,
			  sonde_source_event_name(form->group, form->name),
			  SONDE_INFO);
	for (uint32_t i = 0;
	     i < SONDE_PAYLOAD_FIELDS_MAX && form->fields[i].kind; i++)
		add_field(&build, form, &form->fields[i]);
	return sonde_build_end(&build);
}
