/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * names.c - what the trace calls the kernel's events and fields (names.h).
 *
 * Two tables: events that have another name in the trace, and fields that have
 * another name, value or labels. They are looked through from the start, which
 * costs less than a microsecond; they are not asked while events are recorded.
 */
#include "source/names.h"

#include <fnmatch.h>
#include <string.h>

#include "base/port.h"
#include "source/syscalls_labels.h"
#include "types/build.h"

/* ---- events ---- */

/* clang-format off */
static const struct {
	const char *group, *name, *shown;
} event_names[] = {
	{ "irq", "softirq_raise", "irq_softirq_raise" },
	{ "irq", "softirq_entry", "irq_softirq_entry" },
	{ "irq", "softirq_exit", "irq_softirq_exit" },
	{ "timer", "hrtimer_init", "timer_hrtimer_init" },
	{ "timer", "hrtimer_setup", "timer_hrtimer_setup" },
	{ "timer", "hrtimer_start", "timer_hrtimer_start" },
	{ "timer", "hrtimer_cancel", "timer_hrtimer_cancel" },
	{ "timer", "hrtimer_expire_entry", "timer_hrtimer_expire_entry" },
	{ "timer", "hrtimer_expire_exit", "timer_hrtimer_expire_exit" },
	{ "timer", "itimer_state", "timer_itimer_state" },
	{ "timer", "itimer_expire", "timer_itimer_expire" },
	{ "kmem", "kmalloc", "kmem_kmalloc" },
	{ "kmem", "kmalloc_node", "kmem_kmalloc_node" },
	{ "kmem", "kfree", "kmem_kfree" },
	{ "kmem", "mm_page_alloc", "kmem_mm_page_alloc" },
	{ "kmem", "mm_page_alloc_extfrag", "kmem_mm_page_alloc_extfrag" },
	{ "kmem", "mm_page_alloc_zone_locked",
	  "kmem_mm_page_alloc_zone_locked" },
	{ "kmem", "mm_page_free", "kmem_mm_page_free" },
	{ "kmem", "mm_page_free_batched", "kmem_mm_page_free_batched" },
	{ "kmem", "mm_page_pcpu_drain", "kmem_mm_page_pcpu_drain" },
	{ "power", "clock_disable", "power_clock_disable" },
	{ "power", "clock_enable", "power_clock_enable" },
	{ "power", "clock_set_rate", "power_clock_set_rate" },
	{ "power", "cpu_frequency", "power_cpu_frequency" },
	{ "power", "cpu_idle", "power_cpu_idle" },
	{ "power", "wakeup_source_activate", "power_wakeup_source_activate" },
	{ "power", "wakeup_source_deactivate",
	  "power_wakeup_source_deactivate" },
	{ "exceptions", "page_fault_kernel",
	  "x86_exceptions_page_fault_kernel" },
	{ "exceptions", "page_fault_user", "x86_exceptions_page_fault_user" },
	{ "irq_vectors", "call_function_entry",
	  "x86_irq_vectors_call_function_entry" },
	{ "irq_vectors", "call_function_exit",
	  "x86_irq_vectors_call_function_exit" },
	{ "irq_vectors", "call_function_single_entry",
	  "x86_irq_vectors_call_function_single_entry" },
	{ "irq_vectors", "call_function_single_exit",
	  "x86_irq_vectors_call_function_single_exit" },
	{ "irq_vectors", "deferred_error_apic_entry",
	  "x86_irq_vectors_deferred_error_apic_entry" },
	{ "irq_vectors", "deferred_error_apic_exit",
	  "x86_irq_vectors_deferred_error_apic_exit" },
	{ "irq_vectors", "error_apic_entry",
	  "x86_irq_vectors_error_apic_entry" },
	{ "irq_vectors", "error_apic_exit", "x86_irq_vectors_error_apic_exit" },
	{ "irq_vectors", "irq_work_entry", "x86_irq_vectors_irq_work_entry" },
	{ "irq_vectors", "irq_work_exit", "x86_irq_vectors_irq_work_exit" },
	{ "irq_vectors", "local_timer_entry",
	  "x86_irq_vectors_local_timer_entry" },
	{ "irq_vectors", "local_timer_exit",
	  "x86_irq_vectors_local_timer_exit" },
	{ "irq_vectors", "reschedule_entry",
	  "x86_irq_vectors_reschedule_entry" },
	{ "irq_vectors", "reschedule_exit", "x86_irq_vectors_reschedule_exit" },
	{ "irq_vectors", "spurious_apic_entry",
	  "x86_irq_vectors_spurious_apic_entry" },
	{ "irq_vectors", "spurious_apic_exit",
	  "x86_irq_vectors_spurious_apic_exit" },
	{ "irq_vectors", "thermal_apic_entry",
	  "x86_irq_vectors_thermal_apic_entry" },
	{ "irq_vectors", "thermal_apic_exit",
	  "x86_irq_vectors_thermal_apic_exit" },
	{ "irq_vectors", "threshold_apic_entry",
	  "x86_irq_vectors_threshold_apic_entry" },
	{ "irq_vectors", "threshold_apic_exit",
	  "x86_irq_vectors_threshold_apic_exit" },
	{ "irq_vectors", "x86_platform_ipi_entry",
	  "x86_irq_vectors_ipi_entry" },
	{ "irq_vectors", "x86_platform_ipi_exit", "x86_irq_vectors_ipi_exit" },
	{ "net", "netif_receive_skb", "net_if_receive_skb" },
	{ "net", "netif_receive_skb_entry", "net_if_receive_skb_entry" },
	{ "net", "netif_receive_skb_exit", "net_if_receive_skb_exit" },
	{ "net", "netif_receive_skb_list_entry",
	  "net_if_receive_skb_list_entry" },
	{ "net", "netif_receive_skb_list_exit",
	  "net_if_receive_skb_list_exit" },
	{ "net", "netif_rx", "net_if_rx" },
	{ "net", "netif_rx_entry", "net_if_rx_entry" },
	{ "net", "netif_rx_exit", "net_if_rx_exit" },
	{ "net", "netif_rx_ni_entry", "net_if_rx_ni_entry" },
	{ "net", "netif_rx_ni_exit", "net_if_rx_ni_exit" },
	{ "net", "napi_gro_frags_entry", "net_napi_gro_frags_entry" },
	{ "net", "napi_gro_frags_exit", "net_napi_gro_frags_exit" },
	{ "net", "napi_gro_receive_entry", "net_napi_gro_receive_entry" },
	{ "net", "napi_gro_receive_exit", "net_napi_gro_receive_exit" },
	{ "skb", "consume_skb", "skb_consume" },
	{ "skb", "kfree_skb", "skb_kfree" },
	{ "printk", "console", "printk_console" },
	{ "compaction", "mm_compaction_isolate_freepages",
	  "compaction_isolate_freepages" },
	{ "compaction", "mm_compaction_isolate_migratepages",
	  "compaction_isolate_migratepages" },
	{ "compaction", "mm_compaction_migratepages",
	  "compaction_migratepages" },
	{ "writeback", "balance_dirty_pages", "writeback_balance_dirty_pages" },
	{ "writeback", "bdi_dirty_ratelimit", "writeback_bdi_dirty_ratelimit" },
	{ "writeback", "global_dirty_state", "writeback_global_dirty_state" },
	{ "writeback", "wbc_writepage", "writeback_wbc_writepage" },
};
/* clang-format on */

const char *sonde_source_event_name(const char *group, const char *name)
{
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(event_names); i++)
		if (!strcmp(event_names[i].name, name) &&
		    !strcmp(event_names[i].group, group))
			return event_names[i].shown;
	return name;
}

/* ---- fields ---- */

/* clang-format off */
#define END { 0, NULL }

/* Why the processor faulted, as x86 tells. */
static const struct sonde_source_label fault_errors[] = {
	{ 0x01, "PROTECTION" }, { 0x02, "WRITE" }, { 0x04, "USER" },
	{ 0x08, "RESERVED_BIT" }, { 0x10, "INSTRUCTION" },
	{ 0x20, "PROTECTION_KEY" }, { 0x40, "SHADOW_STACK" },
	{ 0x8000, "SGX" }, END
};

static const struct sonde_source_label hrtimer_modes[] = {
	{ 0x00, "ABS" }, { 0x01, "REL" }, { 0x02, "PINNED" },
	{ 0x04, "SOFT" }, { 0x08, "HARD" }, END
};

static const struct sonde_source_label irq_results[] = {
	{ 0, "NONE" }, { 1, "HANDLED" }, { 2, "WAKE_THREAD" }, END
};

/* What became of a signal that was sent. */
static const struct sonde_source_label signal_results[] = {
	{ 0, "DELIVERED" }, { 1, "IGNORED" }, { 2, "ALREADY_PENDING" },
	{ 3, "OVERFLOW_FAIL" }, { 4, "LOSE_INFO" }, END
};

/* Why a CPU without work keeps its tick. */
static const struct sonde_source_label tick_dependencies[] = {
	{ 0x00, "NONE" }, { 0x01, "POSIX_TIMER" }, { 0x02, "PERF_EVENTS" },
	{ 0x04, "SCHED" }, { 0x08, "CLOCK_UNSTABLE" }, { 0x10, "RCU" },
	{ 0x20, "RCU_EXP" }, END
};

static const struct sonde_source_label sync_modes[] = {
	{ 0, "NONE" }, { 1, "ALL" }, END
};

/* LTTng's priorities are 100 less: 20 is the usual one, those of real time are
 * below 0. */
#define PRIORITY .conversion = SONDE_SOURCE_ADD, .add = -100

/* Of the events of `group` that match the glob `event`, the field. A NULL name
 * in `to` stands for the field's own. */
static const struct {
	const char *group, *event, *field;
	struct sonde_source_field_name to;
} field_names[] = {
	{ "sched", "sched_switch", "prev_pid", { .name = "prev_tid" } },
	{ "sched", "sched_switch", "next_pid", { .name = "next_tid" } },
	{ "sched", "sched_switch", "prev_prio", { PRIORITY } },
	{ "sched", "sched_switch", "next_prio", { PRIORITY } },
	{ "sched", "sched_process_fork", "parent_pid",
	  { .name = "parent_tid" } },
	{ "sched", "sched_process_fork", "child_pid", { .name = "child_tid" } },
	{ "sched", "sched_process_exec", "old_pid", { .name = "old_tid" } },
	{ "sched", "sched_pi_setprio", "oldprio", { PRIORITY } },
	{ "sched", "sched_pi_setprio", "newprio", { PRIORITY } },
	{ "sched", "sched_*_numa", "src_pid", { .name = "src_tid" } },
	{ "sched", "sched_*_numa", "dst_pid", { .name = "dst_tid" } },
	{ "sched", "sched_*", "pid", { .name = "tid" } },
	{ "sched", "sched_*", "prio", { PRIORITY } },
	{ "block", "*", "rwbs", { .conversion = SONDE_SOURCE_RWBS } },
	{ "exceptions", "page_fault_*", "error_code",
	  { .labels = fault_errors, .is_flags = true } },
	{ "irq", "irq_handler_exit", "ret", { .labels = irq_results } },
	{ "timer", "hrtimer_*", "mode",
	  { .labels = hrtimer_modes, .is_flags = true } },
	{ "timer", "hrtimer_*", "clockid", { .labels = sonde_labels_clock } },
	{ "timer", "itimer_*", "which", { .labels = sonde_labels_itimer } },
	{ "timer", "tick_stop", "dependency",
	  { .labels = tick_dependencies, .is_flags = true } },
	{ "signal", "signal_*", "sig", { .labels = sonde_labels_signal } },
	{ "signal", "signal_generate", "result", { .labels = signal_results } },
	{ "task", "task_newtask", "clone_flags",
	  { .labels = sonde_labels_clone, .is_flags = true } },
	{ "writeback", "*", "sync_mode", { .labels = sync_modes } },
};
/* clang-format on */

void sonde_source_field_name(const char *group, const char *name,
			     const char *field,
			     struct sonde_source_field_name *ret_name)
{
	*ret_name = (struct sonde_source_field_name){ .name = field };
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(field_names); i++) {
		if (strcmp(field_names[i].field, field) != 0 ||
		    strcmp(field_names[i].group, group) != 0 ||
		    fnmatch(field_names[i].event, name, 0) != 0)
			continue;
		*ret_name = field_names[i].to;
		if (!ret_name->name)
			ret_name->name = field;
		return;
	}
}

#define LABELS_MAX 256u

void sonde_source_describe(struct sonde_build *build, const char *name,
			   uint8_t bits, uint32_t flags,
			   const struct sonde_source_label *labels)
{
	struct sonde_build_label to[LABELS_MAX];
	size_t nr = 0;

	if (!labels) {
		sonde_build_int(build, name, bits, flags);
		return;
	}
	for (; nr < LABELS_MAX && labels[nr].text; nr++)
		to[nr] = (struct sonde_build_label){ labels[nr].value,
						     labels[nr].value,
						     labels[nr].text };
	sonde_build_enum(build, name, bits, flags, to, nr);
}

/* ---- block requests ---- */

/* The letters behind the operation's. */
static uint32_t rwbs_manner(char letter)
{
	switch (letter) {
	case 'E':
		return SONDE_RWBS_SECURE;
	case 'F':
		return SONDE_RWBS_FUA;
	case 'A':
		return SONDE_RWBS_RAHEAD;
	case 'S':
		return SONDE_RWBS_SYNC;
	case 'M':
		return SONDE_RWBS_META;
	default:
		return 0;
	}
}

static uint32_t rwbs_operation(char letter)
{
	switch (letter) {
	case 'W':
		return SONDE_RWBS_WRITE;
	case 'R':
		return SONDE_RWBS_READ;
	case 'D':
		return SONDE_RWBS_DISCARD;
	case 'F':
		return SONDE_RWBS_FLUSH;
	default:
		return 0;
	}
}

/*
 * The kernel writes: F if caches are flushed before; a letter for the operation
 * (DE: secure discard; Z and another: of zones, of which ZA writes; N: none of
 * these); then F if past caches, A if ahead of need, S, M.
 */
uint32_t sonde_source_rwbs(const char *text, size_t size)
{
	size_t length = strnlen(text, size);
	uint32_t bits = 0;
	size_t i = 0;

	/* An F that no operation follows is the operation. */
	if (length > 1 && text[0] == 'F' && strchr("WRDFNZ", text[1])) {
		bits |= SONDE_RWBS_PREFLUSH;
		i++;
	}
	if (length - i > 1 && text[i] == 'Z') {
		bits |= text[i + 1] == 'A' ? SONDE_RWBS_WRITE : 0;
		i += 2;
	} else if (i < length) {
		bits |= rwbs_operation(text[i++]);
	}
	for (; i < length; i++)
		bits |= rwbs_manner(text[i]);
	return bits;
}
