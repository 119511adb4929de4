/* SPDX-License-Identifier: MIT */
/*
 * steps.c - the table of events and of the steps that they make (steps.h).
 *
 * Of several entries for an event's name the first whose fields are all there
 * holds; that is decided once for each event class, when tables are made.
 * Reading a step costs the reads of its fields.
 */
#include "analysis/model/steps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/port.h"
#include "ctf/schema/schema.h"
#include "reader/reader.h"

/*
 * Events and the fields that their steps take. A field is "name", one of
 * several "a|b", or optional "?a". Of several entries for an event the first
 * whose fields are all there holds.
 */
struct spec {
	const char *event;
	enum sonde_step_kind kind;
	const char *numbers[SONDE_STEP_NUMBERS];
	const char *texts[SONDE_STEP_TEXTS];
};

/* clang-format off */
static const struct spec specs[] = {
	{ "sched_switch", SONDE_STEP_SWITCH,
	  { "next_tid", "prev_state", "?prev_prio", "?next_prio", "prev_tid" },
	  { "prev_comm", "next_comm" } },
	{ "sched_waking", SONDE_STEP_WAKE,
	  { "tid", "?in_interrupt" }, { "comm" } },
	{ "sched_wakeup", SONDE_STEP_WAKE,
	  { "tid", "?in_interrupt" }, { "comm" } },
	{ "sched_wakeup_new", SONDE_STEP_WAKE,
	  { "tid", "?in_interrupt" }, { "comm" } },
	{ "sched_process_fork", SONDE_STEP_FORK,
	  { "child_tid", "?child_pid", "?parent_pid" }, { "child_comm" } },
	{ "sched_process_exec", SONDE_STEP_EXEC, { "tid", "?old_tid" },
	  { "filename" } },
	{ "sched_process_exit", SONDE_STEP_EXIT, { "tid" }, { "comm" } },
	{ "lttng_statedump_process_state", SONDE_STEP_PROCESS,
	  { "tid", "pid", "?ppid", "?file_table_address", "?ns_inum" },
	  { "name", "cgroup" } },
	{ "sonde:name", SONDE_STEP_NAMED, { "tid", "pid", "age" },
	  { "procname" } },
	{ "sonde:process", SONDE_STEP_ORIGIN,
	  { "pid", "pid", "ppid", "?pid_ns" }, { "cgroup" } },
	{ "sonde:contained", SONDE_STEP_CONTAINED,
	  { "tid", "image", "own_tid" }, { NULL } },
	{ "sonde:schedule", SONDE_STEP_SCHEDULED,
	  { "tid", "policy_number", "prio", "nice" }, { NULL } },
	{ "lttng_statedump_file_descriptor", SONDE_STEP_DESCRIPTOR,
	  { "fd", "?pid", "?file_table_address", "?flags" }, { "filename" } },
	{ "lttng_statedump_block_device", SONDE_STEP_DEVICE,
	  { "dev" }, { "diskname" } },
	{ "irq_handler_entry", SONDE_STEP_IRQ_BEGIN, { "irq" }, { "name" } },
	{ "irq_handler_exit", SONDE_STEP_IRQ_END, { "irq" }, { NULL } },
	{ "irq_softirq_raise", SONDE_STEP_RAISE, { "vec" }, { NULL } },
	{ "irq_softirq_entry", SONDE_STEP_SOFTIRQ_BEGIN, { "vec" }, { NULL } },
	{ "irq_softirq_exit", SONDE_STEP_SOFTIRQ_END, { "vec" }, { NULL } },
	{ "softirq_raise", SONDE_STEP_RAISE, { "vec" }, { NULL } },
	{ "softirq_entry", SONDE_STEP_SOFTIRQ_BEGIN, { "vec" }, { NULL } },
	{ "softirq_exit", SONDE_STEP_SOFTIRQ_END, { "vec" }, { NULL } },
	{ "block_rq_insert", SONDE_STEP_INSERT,
	  { "dev", "sector", "nr_sector", "rwbs", "?tid" }, { NULL } },
	{ "block_rq_insert", SONDE_STEP_INSERT,
	  { "dev", "sector", "bytes", "flags", "?tid" }, { NULL } },
	{ "block_rq_issue", SONDE_STEP_ISSUE,
	  { "dev", "sector", "nr_sector", "rwbs", "?tid" }, { NULL } },
	{ "block_rq_issue", SONDE_STEP_ISSUE,
	  { "dev", "sector", "bytes", "flags", "?tid" }, { NULL } },
	{ "block_rq_complete", SONDE_STEP_COMPLETE,
	  { "dev", "sector", "nr_sector", "rwbs" }, { NULL } },
	{ "block_rq_complete", SONDE_STEP_COMPLETE,
	  { "dev", "sector", "bytes", "flags" }, { NULL } },
	{ "kmem_mm_page_alloc", SONDE_STEP_PAGES_GET, { "order" }, { NULL } },
	{ "kmem_mm_page_free", SONDE_STEP_PAGES_PUT, { "order" }, { NULL } },
	{ "mm_page_alloc", SONDE_STEP_PAGES_GET, { "order" }, { NULL } },
	{ "mm_page_free", SONDE_STEP_PAGES_PUT, { "order" }, { NULL } },
	{ "kmem_kmalloc", SONDE_STEP_KMEM_GET,
	  { "call_site", "bytes_alloc", "bytes_req" }, { NULL } },
	{ "kmem_kmalloc_node", SONDE_STEP_KMEM_GET,
	  { "call_site", "bytes_alloc", "bytes_req" }, { NULL } },
	{ "kmem_cache_alloc", SONDE_STEP_KMEM_GET,
	  { "call_site", "bytes_alloc", "bytes_req" }, { NULL } },
	{ "kmem_cache_alloc_node", SONDE_STEP_KMEM_GET,
	  { "call_site", "bytes_alloc", "bytes_req" }, { NULL } },
	{ "kmem_kfree", SONDE_STEP_KMEM_PUT, { "call_site" }, { NULL } },
	{ "kmem_cache_free", SONDE_STEP_KMEM_PUT, { "call_site" }, { NULL } },
	{ "x86_exceptions_page_fault_user", SONDE_STEP_FAULT,
	  { "address" }, { NULL } },
	{ "exceptions_page_fault_user", SONDE_STEP_FAULT,
	  { "address" }, { NULL } },
	{ "page_fault_user", SONDE_STEP_FAULT, { "address" }, { NULL } },
	{ "timer_hrtimer_expire_entry", SONDE_STEP_TIMER_BEGIN,
	  { NULL }, { NULL } },
	{ "timer_hrtimer_expire_exit", SONDE_STEP_TIMER_END,
	  { NULL }, { NULL } },
	{ "hrtimer_expire_entry", SONDE_STEP_TIMER_BEGIN, { NULL }, { NULL } },
	{ "hrtimer_expire_exit", SONDE_STEP_TIMER_END, { NULL }, { NULL } },
	/* as perf converts them; its pid is a thread's */
	{ "sched:sched_switch", SONDE_STEP_SWITCH,
	  { "next_pid", "prev_state", "?prev_prio", "?next_prio", "prev_pid" },
	  { "prev_comm", "next_comm" } },
	{ "sched:sched_waking", SONDE_STEP_WAKE, { "pid" }, { "comm" } },
	{ "sched:sched_wakeup", SONDE_STEP_WAKE, { "pid" }, { "comm" } },
	{ "sched:sched_wakeup_new", SONDE_STEP_WAKE, { "pid" }, { "comm" } },
	{ "sched:sched_process_fork", SONDE_STEP_FORK, { "child_pid" },
	  { "child_comm" } },
	{ "sched:sched_process_exec", SONDE_STEP_EXEC, { "pid", "?old_pid" },
	  { "filename" } },
	{ "sched:sched_process_exit", SONDE_STEP_EXIT, { "pid" }, { "comm" } },
	{ "irq:irq_handler_entry", SONDE_STEP_IRQ_BEGIN, { "irq" },
	  { "name" } },
	{ "irq:irq_handler_exit", SONDE_STEP_IRQ_END, { "irq" }, { NULL } },
	{ "irq:softirq_raise", SONDE_STEP_RAISE, { "vec" }, { NULL } },
	{ "irq:softirq_entry", SONDE_STEP_SOFTIRQ_BEGIN, { "vec" }, { NULL } },
	{ "irq:softirq_exit", SONDE_STEP_SOFTIRQ_END, { "vec" }, { NULL } },
	{ "kmem:mm_page_alloc", SONDE_STEP_PAGES_GET, { "order" }, { NULL } },
	{ "kmem:mm_page_free", SONDE_STEP_PAGES_PUT, { "order" }, { NULL } },
	{ "exceptions:page_fault_user", SONDE_STEP_FAULT, { "address" },
	  { NULL } },
	{ "timer:hrtimer_expire_entry", SONDE_STEP_TIMER_BEGIN, { NULL },
	  { NULL } },
	{ "timer:hrtimer_expire_exit", SONDE_STEP_TIMER_END, { NULL },
	  { NULL } },
	{ "lock:mutex_wait", SONDE_STEP_LOCK, { "mutex" }, { NULL } },
	{ "lock:mutex_lock", SONDE_STEP_LOCK, { "mutex", "result" }, { NULL } },
	{ "lock:mutex_unlock", SONDE_STEP_LOCK, { "mutex" }, { NULL } },
	{ "lock:rwlock_wait", SONDE_STEP_LOCK, { "rwlock" }, { NULL } },
	{ "lock:rwlock_lock", SONDE_STEP_LOCK, { "rwlock", "result" },
	  { NULL } },
	{ "lock:rwlock_unlock", SONDE_STEP_LOCK, { "rwlock" }, { NULL } },
	{ "lock:cond_wait", SONDE_STEP_LOCK, { "cond", "?result", "mutex" },
	  { NULL } },
	{ "lock:cond_wake", SONDE_STEP_LOCK, { "cond", "result", "mutex" },
	  { NULL } },
	{ "sonde_statedump_mapping", SONDE_STEP_MAPPING,
	  { "pid", "begin", "end", "offset" }, { "path", "build_id" } },
};

/* What is done to which kind of lock. */
static const struct {
	const char *event;
	uint8_t role;
} lock_roles[] = {
	{ "lock:mutex_wait", LOCK_ROLE(MUTEX, WAIT) },
	{ "lock:mutex_lock", LOCK_ROLE(MUTEX, LOCK) },
	{ "lock:mutex_unlock", LOCK_ROLE(MUTEX, UNLOCK) },
	{ "lock:rwlock_wait", LOCK_ROLE(RWLOCK, WAIT) },
	{ "lock:rwlock_lock", LOCK_ROLE(RWLOCK, LOCK) },
	{ "lock:rwlock_unlock", LOCK_ROLE(RWLOCK, UNLOCK) },
	{ "lock:cond_wait", LOCK_ROLE(COND, WAIT) },
	{ "lock:cond_wake", LOCK_ROLE(COND, LOCK) },
};

#define IO_PREFIX "io:"
#define IO_BEGIN  "_begin"

/* System calls have an event each; these come before the call's name. */
static const struct {
	const char *prefix, *name;
	enum sonde_step_kind kind;
} call_prefixes[] = {
	{ "syscall_entry_", "", SONDE_STEP_CALL },
	{ "syscall_exit_", "", SONDE_STEP_RETURN },
	{ "compat_syscall_entry_", "compat_", SONDE_STEP_CALL },
	{ "compat_syscall_exit_", "compat_", SONDE_STEP_RETURN },
	{ "sys_", "", SONDE_STEP_CALL },
	{ "compat_sys_", "compat_", SONDE_STEP_CALL },
	{ "exit_syscall", "", SONDE_STEP_RETURN },
	{ "syscalls:sys_enter_", "", SONDE_STEP_CALL },
	{ "syscalls:sys_exit_", "", SONDE_STEP_RETURN },
	/* calls of the C library's (--io), whose beginning has IO_BEGIN behind
	 * its name; one that has a system call of its own in the trace is left
	 * to that */
	{ IO_PREFIX, IO_PREFIX, SONDE_STEP_RETURN },
};

static const struct {
	const char *call;
	enum sonde_file_role role;
} roles[] = {
	{ "read", SONDE_FILE_READ }, { "pread64", SONDE_FILE_READ },
	{ "readv", SONDE_FILE_READ }, { "preadv", SONDE_FILE_READ },
	{ "preadv2", SONDE_FILE_READ }, { "recvfrom", SONDE_FILE_READ },
	{ "recvmsg", SONDE_FILE_READ }, { "write", SONDE_FILE_WRITE },
	{ "pwrite64", SONDE_FILE_WRITE }, { "writev", SONDE_FILE_WRITE },
	{ "pwritev", SONDE_FILE_WRITE }, { "pwritev2", SONDE_FILE_WRITE },
	{ "sendto", SONDE_FILE_WRITE }, { "sendmsg", SONDE_FILE_WRITE },
	{ "fsync", SONDE_FILE_SYNC }, { "fdatasync", SONDE_FILE_SYNC },
	{ "sync_file_range", SONDE_FILE_SYNC }, { "open", SONDE_FILE_OPEN },
	{ "openat", SONDE_FILE_OPEN }, { "openat2", SONDE_FILE_OPEN },
	{ "creat", SONDE_FILE_OPEN }, { "socket", SONDE_FILE_SOCKET },
	{ "accept", SONDE_FILE_SOCKET }, { "accept4", SONDE_FILE_SOCKET },
	{ "close", SONDE_FILE_CLOSE }, { "dup", SONDE_FILE_DUP },
	{ "dup2", SONDE_FILE_DUP }, { "dup3", SONDE_FILE_DUP },
	{ "close_range", SONDE_FILE_CLOSE_RANGE },
	{ "fcntl", SONDE_FILE_FCNTL }, { "fcntl64", SONDE_FILE_FCNTL },
	{ "ioctl", SONDE_FILE_IOCTL }, { "execve", SONDE_FILE_EXEC },
	{ "execveat", SONDE_FILE_EXEC }, { "eventfd", SONDE_FILE_OTHER },
	{ "eventfd2", SONDE_FILE_OTHER }, { "epoll_create", SONDE_FILE_OTHER },
	{ "epoll_create1", SONDE_FILE_OTHER },
	{ "timerfd_create", SONDE_FILE_OTHER },
	{ "signalfd", SONDE_FILE_OTHER }, { "signalfd4", SONDE_FILE_OTHER },
	{ "inotify_init", SONDE_FILE_OTHER },
	{ "inotify_init1", SONDE_FILE_OTHER },
	{ "fanotify_init", SONDE_FILE_OTHER },
	{ "memfd_create", SONDE_FILE_OTHER },
	{ "memfd_secret", SONDE_FILE_OTHER },
	{ "pidfd_open", SONDE_FILE_OTHER }, { "pidfd_getfd", SONDE_FILE_OTHER },
	{ "perf_event_open", SONDE_FILE_OTHER },
	{ "userfaultfd", SONDE_FILE_OTHER },
	{ "io_uring_setup", SONDE_FILE_OTHER },
	{ "open_by_handle_at", SONDE_FILE_OTHER },
	{ "open_tree", SONDE_FILE_OTHER }, { "fsopen", SONDE_FILE_OTHER },
	{ "fsmount", SONDE_FILE_OTHER }, { "fspick", SONDE_FILE_OTHER },
	{ "mmap", SONDE_FILE_MAP },
};
/* clang-format on */

/* Which want a step serves. */
static const uint8_t step_wants[SONDE_NR_STEPS] = {
	[SONDE_STEP_SWITCH] = SONDE_WANT_THREADS,
	[SONDE_STEP_WAKE] = SONDE_WANT_THREADS,
	[SONDE_STEP_FORK] = SONDE_WANT_THREADS,
	[SONDE_STEP_EXEC] = SONDE_WANT_THREADS,
	[SONDE_STEP_EXIT] = SONDE_WANT_THREADS,
	[SONDE_STEP_PROCESS] = SONDE_WANT_THREADS,
	[SONDE_STEP_NAMED] = SONDE_WANT_NAMES,
	[SONDE_STEP_ORIGIN] = SONDE_WANT_NAMES,
	[SONDE_STEP_SCHEDULED] = SONDE_WANT_NAMES,
	[SONDE_STEP_CONTAINED] = SONDE_WANT_NAMES,
	[SONDE_STEP_CALL] = SONDE_WANT_CALLS,
	[SONDE_STEP_RETURN] = SONDE_WANT_CALLS,
	[SONDE_STEP_IRQ_BEGIN] = SONDE_WANT_IRQS,
	[SONDE_STEP_IRQ_END] = SONDE_WANT_IRQS,
	[SONDE_STEP_RAISE] = SONDE_WANT_IRQS,
	[SONDE_STEP_SOFTIRQ_BEGIN] = SONDE_WANT_IRQS,
	[SONDE_STEP_SOFTIRQ_END] = SONDE_WANT_IRQS,
	[SONDE_STEP_INSERT] = SONDE_WANT_BLOCK,
	[SONDE_STEP_ISSUE] = SONDE_WANT_BLOCK,
	[SONDE_STEP_COMPLETE] = SONDE_WANT_BLOCK,
	[SONDE_STEP_DEVICE] = SONDE_WANT_BLOCK,
	[SONDE_STEP_DESCRIPTOR] = SONDE_WANT_FILES,
	[SONDE_STEP_PAGES_GET] = SONDE_WANT_MEMORY,
	[SONDE_STEP_PAGES_PUT] = SONDE_WANT_MEMORY,
	[SONDE_STEP_KMEM_GET] = SONDE_WANT_MEMORY,
	[SONDE_STEP_KMEM_PUT] = SONDE_WANT_MEMORY,
	[SONDE_STEP_FAULT] = SONDE_WANT_CAUSES,
	[SONDE_STEP_TIMER_BEGIN] = SONDE_WANT_CAUSES,
	[SONDE_STEP_TIMER_END] = SONDE_WANT_CAUSES,
	[SONDE_STEP_LOCK] = SONDE_WANT_CAUSES,
	[SONDE_STEP_MAPPING] = SONDE_WANT_CAUSES,
};

/* ---- event classes -> step classes ---- */

/* The first of "a|b" that the event class has becomes the step's next field, of
 * that number. */
static int bind_field(const struct sonde_event_class *cls, const char *names,
		      size_t to, struct sonde_step_class *step)
{
	char name[64];

	while (*names) {
		size_t length = strcspn(names, "|");

		if (length >= sizeof(name))
			return -ENOENT;
		memcpy(name, names, length);
		name[length] = 0;
		if (!sonde_event_class_field(cls, SONDE_SCOPE_PAYLOAD, name,
					     &step->fields[step->nr_fields])) {
			step->to[step->nr_fields++] = (uint8_t)to;
			return 0;
		}
		names += length + (names[length] == '|');
	}
	return -ENOENT;
}

static bool bind_spec(const struct sonde_event_class *cls,
		      const struct spec *spec, struct sonde_step_class *step)
{
	*step = (struct sonde_step_class){ .kind = (uint8_t)spec->kind };
	for (size_t i = 0; i < SONDE_STEP_NUMBERS && spec->numbers[i]; i++) {
		bool optional = spec->numbers[i][0] == '?';

		if (bind_field(cls, spec->numbers[i] + optional, i, step) &&
		    !optional)
			return false;
	}
	for (size_t i = 0; i < SONDE_STEP_TEXTS && spec->texts[i]; i++)
		(void)bind_field(cls, spec->texts[i], SONDE_STEP_NUMBERS + i,
				 step);
	return true;
}

static const struct spec *find_spec(const struct sonde_event_class *cls,
				    const char *name,
				    struct sonde_step_class *step)
{
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(specs); i++)
		if (!strcmp(specs[i].event, name) &&
		    bind_spec(cls, &specs[i], step))
			return &specs[i];
	return NULL;
}

/* Of a step that isn't always of the same sort. */
static uint8_t role_of_spec(const struct spec *spec)
{
	const char *size = spec->numbers[BLOCK_SECTORS];

	for (size_t i = 0; i < SONDE_ARRAY_SIZE(lock_roles); i++)
		if (spec->kind == SONDE_STEP_LOCK &&
		    !strcmp(lock_roles[i].event, spec->event))
			return lock_roles[i].role;
	return size && !strcmp(size, "bytes") ? BLOCK_BY_FLAGS : 0;
}

static enum sonde_file_role role_of(const char *call)
{
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(roles); i++)
		if (!strcmp(roles[i].call, call))
			return roles[i].role;
	return SONDE_FILE_NONE;
}

bool sonde_file_role_changes(uint8_t role)
{
	return role != SONDE_FILE_NONE && role != SONDE_FILE_READ &&
	       role != SONDE_FILE_WRITE && role != SONDE_FILE_SYNC &&
	       role != SONDE_FILE_MAP;
}

/* The id of a system call's name, which is `prefix` and `call`. */
static int name_call(struct sonde_model_tables *tables, const char *prefix,
		     const char *call, uint32_t *ret_id)
{
	size_t skip = strlen(prefix);
	char *name;

	for (uint32_t i = 0; i < tables->nr_calls; i++) {
		if (!strncmp(tables->calls[i], prefix, skip) &&
		    !strcmp(tables->calls[i] + skip, call)) {
			*ret_id = i;
			return 0;
		}
	}
	name = malloc(skip + strlen(call) + 1);
	if (!name)
		return -ENOMEM;
	memcpy(name, prefix, skip);
	memcpy(name + skip, call, strlen(call) + 1);
	*ret_id = tables->nr_calls;
	tables->calls[tables->nr_calls++] = name;
	return 0;
}

/* Whether that is how a call of the C library's begins, whose name it leaves. */
static bool take_io_begin(const char *prefix, const char *name, size_t size,
			  char *ret_call)
{
	size_t length = strlen(name);
	size_t rest = strlen(IO_BEGIN);

	if (strcmp(prefix, IO_PREFIX) != 0 || length <= rest ||
	    length >= size || strcmp(name + length - rest, IO_BEGIN) != 0)
		return false;
	memcpy(ret_call, name, length - rest);
	ret_call[length - rest] = '\0';
	return true;
}

/* 0, also if the event is no system call's. */
static int bind_call(struct sonde_model_tables *tables,
		     const struct sonde_event_class *cls, const char *name,
		     struct sonde_step_class *step)
{
	static const struct spec call = {
		.kind = SONDE_STEP_CALL,
		.numbers = { "?fd|fildes|oldfd|epfd|in_fd", "?uaddr",
			     "?len|length", "?off|offset|pgoff",
			     "?op|futex_op" },
		.texts = { "filename|pathname" },
	};
	static const struct spec change = {
		.kind = SONDE_STEP_CALL,
		.numbers = { "?fd|fildes|oldfd", "?flags|type", "?cmd",
			     "?arg|max_fd" },
		.texts = { "filename|pathname" },
	};
	static const struct spec back = {
		.kind = SONDE_STEP_RETURN,
		.numbers = { "ret|result|fd" },
	};
	char call_name[64];
	uint8_t role;

	for (size_t i = 0; i < SONDE_ARRAY_SIZE(call_prefixes); i++) {
		size_t length = strlen(call_prefixes[i].prefix);

		if (strncmp(name, call_prefixes[i].prefix, length) != 0)
			continue;
		name += length;
		if (take_io_begin(call_prefixes[i].prefix, name,
				  sizeof(call_name), call_name)) {
			name = call_name;
		} else if (call_prefixes[i].kind == SONDE_STEP_RETURN) {
			(void)bind_spec(cls, &back, step);
			return 0;
		}
		role = (uint8_t)role_of(name);
		(void)bind_spec(cls,
				sonde_file_role_changes(role) ? &change : &call,
				step);
		step->role = role;
		if (step->role == SONDE_FILE_MAP &&
		    !(tables->wants & SONDE_WANT_CAUSES))
			step->role = SONDE_FILE_NONE;
		return name_call(tables, call_prefixes[i].name, name,
				 &step->call);
	}
	return 0;
}

/* Where a context says who it was, and a payload on which CPU. */
static void bind_places(const struct sonde_event_class *cls,
			struct sonde_step_class *step)
{
	step->has_tid =
		!sonde_event_class_field(cls, SONDE_SCOPE_EVENT_CONTEXT, "tid",
					 &step->tid) ||
		!sonde_event_class_field(cls, SONDE_SCOPE_COMMON_CONTEXT, "tid",
					 &step->tid) ||
		!sonde_event_class_field(cls, SONDE_SCOPE_PAYLOAD, "perf_tid",
					 &step->tid);
	step->has_cpu = !sonde_event_class_field(cls, SONDE_SCOPE_PAYLOAD,
						 "cpu_id", &step->cpu);
	/* One is of no use without the other. */
	if ((step->kind != SONDE_STEP_SWITCH &&
	     step->kind != SONDE_STEP_WAKE) ||
	    sonde_event_class_field(cls, SONDE_SCOPE_EVENT_CONTEXT, "stack",
				    &step->stack) ||
	    sonde_event_class_field(cls, SONDE_SCOPE_EVENT_CONTEXT, "pid",
				    &step->pid))
		step->stack.owner = NULL;
}

static int steps_bind_class(struct sonde_model_tables *tables,
			    const struct sonde_event_class *cls)
{
	struct sonde_event_class_info info;
	struct sonde_step_class step = { 0 };
	const struct spec *spec;
	int error = 0;

	sonde_event_class_get_info(cls, &info);
	spec = find_spec(cls, info.name, &step);
	if (spec)
		step.role = role_of_spec(spec);
	else
		error = bind_call(tables, cls, info.name, &step);
	if (error || !(step_wants[step.kind] & tables->wants))
		return error;
	bind_places(cls, &step);
	step.is_program = step.kind == SONDE_STEP_LOCK ||
			  !strncmp(info.name, IO_PREFIX, strlen(IO_PREFIX));
	tables->classes[info.index] = step;
	return 0;
}

/* `about`: of the wants, those of which one must be served. */
static int steps_bind_classes(struct sonde_trace *trace, unsigned int about,
			      struct sonde_model_tables *tables)
{
	bool found = false;

	for (size_t i = 0; i < tables->nr_classes; i++) {
		int error = steps_bind_class(tables,
					     sonde_trace_event_class(trace, i));

		if (error)
			return error;
		found = found || (step_wants[tables->classes[i].kind] & about);
	}
	return found ? 0 : -ENODATA;
}

/* ---- tables of classes ---- */

void sonde_model_tables_unbind(struct sonde_model_tables *tables)
{
	if (!tables)
		return;
	for (uint32_t i = 0; i < tables->nr_calls; i++)
		free(tables->calls[i]);
	free(tables->calls);
	free(tables->classes);
	free(tables);
}

static struct sonde_model_tables *new_tables(struct sonde_trace *trace,
					     unsigned int wants)
{
	struct sonde_model_tables *tables = calloc(1, sizeof(*tables));

	if (!tables)
		return NULL;
	tables->wants = wants | SONDE_WANT_THREADS;
	tables->nr_classes = sonde_trace_nr_event_classes(trace);
	tables->classes =
		calloc(tables->nr_classes + 1, sizeof(*tables->classes));
	tables->calls = calloc(tables->nr_classes + 1, sizeof(*tables->calls));
	if (tables->classes && tables->calls)
		return tables;
	sonde_model_tables_unbind(tables);
	return NULL;
}

int sonde_model_tables_bind(struct sonde_trace *trace, unsigned int wants,
			    unsigned int about,
			    struct sonde_model_tables **ret_tables)
{
	struct sonde_model_tables *tables = new_tables(trace, wants);
	int error = tables ? steps_bind_classes(trace, about, tables) : -ENOMEM;

	if (error)
		sonde_model_tables_unbind(tables);
	else
		*ret_tables = tables;
	return error;
}

/* Wakeups, files and devices are a report's details, never its subject. */
static bool is_subject(uint8_t kind, unsigned int about)
{
	if (step_wants[kind] == SONDE_WANT_THREADS)
		return kind == SONDE_STEP_SWITCH && about & SONDE_WANT_THREADS;
	return kind != SONDE_STEP_DEVICE && step_wants[kind] & about;
}

bool sonde_model_has(struct sonde_trace *trace, unsigned int about,
		     const bool *occurs)
{
	struct sonde_model_tables *tables = new_tables(trace, about);
	bool found = false;

	if (!tables)
		return false;
	(void)steps_bind_classes(trace, about, tables); /* what there is */
	for (size_t i = 0; i < tables->nr_classes && !found; i++)
		found = (!occurs || occurs[i]) &&
			is_subject(tables->classes[i].kind, about);
	sonde_model_tables_unbind(tables);
	return found;
}

const char *sonde_model_call_name(const struct sonde_model_tables *tables,
				  uint32_t id)
{
	return id < tables->nr_calls ? tables->calls[id] : "?";
}

/* ---- events -> steps ---- */

static bool is_step_number(const struct sonde_value *value)
{
	return value->kind == SONDE_KIND_UINT ||
	       value->kind == SONDE_KIND_INT || value->kind == SONDE_KIND_BOOL;
}

static bool read_number(const struct sonde_event *event,
			const struct sonde_field *field, int64_t *ret_number)
{
	struct sonde_value value;

	if (!field->owner || sonde_event_value(event, field, &value) ||
	    !is_step_number(&value))
		return false;
	*ret_number = value.i;
	return true;
}

static void take_step_text(const struct sonde_value *value,
			   struct sonde_step *step, size_t i)
{
	if (value->kind != SONDE_KIND_STRING)
		return;
	step->texts[i] = value->text;
	step->lengths[i] = (uint32_t)strnlen(
		value->text, value->length < 4096 ? value->length : 4096);
}

static void read_step_fields(const struct sonde_event *event,
			     const struct sonde_step_class *cls,
			     struct sonde_step *step)
{
	struct sonde_value values[SONDE_STEP_FIELDS];

	(void)sonde_event_values(event, cls->fields, cls->nr_fields, values);
	for (uint32_t i = 0; i < cls->nr_fields; i++) {
		const struct sonde_value *value = &values[i];
		uint32_t to = cls->to[i];

		if (!value->cls)
			continue;
		if (to >= SONDE_STEP_NUMBERS) {
			take_step_text(value, step, to - SONDE_STEP_NUMBERS);
		} else if (is_step_number(value)) {
			step->numbers[to] = value->i;
			step->has |= (uint8_t)(1u << to);
		}
	}
}

static int32_t read_cpu(const struct sonde_event *event,
			const struct sonde_step_class *cls)
{
	int64_t cpu = sonde_event_cpu(event);

	if (cpu < 0 && cls->has_cpu)
		(void)read_number(event, &cls->cpu, &cpu);
	return cpu >= 0 && cpu < SONDE_MODEL_CPUS ? (int32_t)cpu : 0;
}

static void read_call_stack(const struct sonde_event *event,
			    const struct sonde_step_class *cls,
			    struct sonde_step *step)
{
	int64_t number = 0;
	int64_t pid = 0;

	if (read_number(event, &cls->stack, &number) &&
	    read_number(event, &cls->pid, &pid))
		step->stack = (struct sonde_model_stack){
			.number = (uint32_t)number,
			.pid = (uint32_t)pid,
			.source = event->stream->source,
		};
}

bool sonde_step_read(const struct sonde_model_tables *tables,
		     const struct sonde_event *event,
		     struct sonde_step *ret_step)
{
	const struct sonde_step_class *cls =
		&tables->classes[event->cls->info.index];
	int64_t tid = -1;

	if (cls->kind == SONDE_STEP_NONE)
		return false;
	*ret_step = (struct sonde_step){
		.kind = cls->kind,
		.role = cls->role,
		.wanted = !tables->filter ||
			  sonde_filter_match(tables->filter, event),
		.cpu = read_cpu(event, cls),
		.call = cls->call,
		.time_ns = event->time_ns,
	};
	if (cls->has_tid)
		(void)read_number(event, &cls->tid, &tid);
	else if (cls->is_program)
		tid = sonde_event_own_tid(event);
	ret_step->tid = tid >= 0 && tid <= INT32_MAX ? (int32_t)tid : -1;
	read_step_fields(event, cls, ret_step);
	if (cls->is_program)
		ret_step->own_pid = sonde_event_own_pid(event);
	if (cls->stack.owner)
		read_call_stack(event, cls, ret_step);
	return true;
}
