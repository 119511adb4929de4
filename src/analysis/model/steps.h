/* SPDX-License-Identifier: MIT */
/*
 * steps.h - what an event means to the kernel's state: the step it makes.
 *
 * A table (steps.c) says which events make which steps and which fields they
 * take. It is looked at once per event class, when tables are made; an event
 * then costs the reads of these fields. Everything else the state needs from a
 * trace and doesn't change while it is read is here too: names of system calls,
 * losses, spans of CPUs.
 */
#ifndef ANALYSIS_MODEL_STEPS_H
#define ANALYSIS_MODEL_STEPS_H

#include "analysis/model/kernel.h"
#include "analysis/model/traced_threads.h"

enum sonde_step_kind {
	SONDE_STEP_NONE,
	SONDE_STEP_SWITCH,
	SONDE_STEP_ERA,       /* a CPU's era ends */
	SONDE_STEP_RUN_END,   /* of a switch, what concerns the CPU */
	SONDE_STEP_RUN_BEGIN, /* of a switch, what concerns the next thread */
	SONDE_STEP_WAKE,
	SONDE_STEP_CALL,
	SONDE_STEP_RETURN,
	SONDE_STEP_IRQ_BEGIN,
	SONDE_STEP_IRQ_END,
	SONDE_STEP_RAISE,
	SONDE_STEP_SOFTIRQ_BEGIN,
	SONDE_STEP_SOFTIRQ_END,
	SONDE_STEP_INSERT,
	SONDE_STEP_ISSUE,
	SONDE_STEP_COMPLETE,
	SONDE_STEP_FILE, /* a call that returned and concerns a file */
	SONDE_STEP_PAGES_GET,
	SONDE_STEP_PAGES_PUT,
	SONDE_STEP_KMEM_GET,
	SONDE_STEP_KMEM_PUT,
	SONDE_STEP_FORK,
	SONDE_STEP_EXEC,
	SONDE_STEP_EXIT,
	SONDE_STEP_PROCESS,    /* of a dump: a thread that exists */
	SONDE_STEP_NAMED,      /* a thread of a program, by the recorder */
	SONDE_STEP_ORIGIN,     /* a process of a program, likewise */
	SONDE_STEP_SCHEDULED,  /* a thread of a program, likewise */
	SONDE_STEP_CONTAINED,  /* a thread with numbers of its own, likewise */
	SONDE_STEP_MEMBER,     /* any event: whose thread made it */
	SONDE_STEP_DESCRIPTOR, /* of a dump: a file that is open */
	SONDE_STEP_DEVICE,     /* of a dump: a block device */
	SONDE_STEP_FAULT,      /* a page is touched that isn't there */
	SONDE_STEP_TIMER_BEGIN,
	SONDE_STEP_TIMER_END,
	SONDE_STEP_LOCK,    /* of a program: what it does to a lock */
	SONDE_STEP_MAPPING, /* of a dump: a file in a process's memory */
	SONDE_NR_STEPS,
};

/* What a step's numbers are, by its kind. Texts: the names or the path. */
enum {
	SWITCH_NEXT = 0, /* the previous one is the step's tid */
	SWITCH_STATE,
	SWITCH_PREV_PRIO,
	SWITCH_NEXT_PRIO,
	SWITCH_PREV,
	RUN_END_PRIO = SWITCH_PREV_PRIO,
	RUN_BEGIN_PRIO = SWITCH_NEXT_PRIO,
	WAKE_TID = 0,
	WAKE_INTERRUPT, /* 0: none made it; 1: a soft one, 2: a hard one; -1:
			 * who recorded it doesn't know */
	CALL_FD = 0,
	CALL_ADDRESS, /* of a futex */
	CALL_LENGTH,  /* of a mapping, as is the offset */
	CALL_OFFSET,
	CALL_OPERATION, /* of a futex */
	/* of what changes descriptors */
	CALL_FLAGS = 1,
	CALL_COMMAND,
	CALL_ARGUMENT,
	RETURN_RET = 0,
	RETURN_OFF_CPU, /* journalled: what of it is in the part */
	IRQ_NUMBER = 0, /* also a soft one's */
	BLOCK_DEVICE = 0,
	BLOCK_SECTOR,
	BLOCK_SECTORS,
	BLOCK_FLAGS,
	BLOCK_TID,
	FILE_FD = 0,
	FILE_RET,
	FILE_BEGIN,
	FILE_LENGTH, /* of a MAP, as is the offset */
	FILE_OFFSET,
	/* of what changes descriptors */
	FILE_FLAGS = 2, /* -1: not known */
	FILE_COMMAND,
	FILE_ARGUMENT,
	PAGES_ORDER = 0,
	KMEM_SITE = 0,
	KMEM_BYTES,
	KMEM_ASKED,
	FORK_CHILD = 0,
	FORK_CHILD_PID,
	FORK_PARENT_PID,
	TASK_TID = 0, /* EXEC, EXIT, PROCESS, MEMBER */
	EXEC_OLD_TID = 1,
	TASK_PID = 1,
	TASK_PPID,
	TASK_FILES, /* its table of files, an address */
	TASK_PID_NS,
	ORIGIN_PID_NS = 3,
	CONTAINED_IMAGE = 1,
	CONTAINED_OWN,
	SCHEDULED_POLICY = 1,
	SCHEDULED_PRIO,
	SCHEDULED_NICE,
	NAMED_AGE = 2, /* ticks since it had another name; 0: it had none */
	DESCRIPTOR_FD = 0,
	DESCRIPTOR_PID,
	DESCRIPTOR_FILES,
	DESCRIPTOR_FLAGS,
	DEVICE_NUMBER = 0,
	FAULT_ADDRESS = 0,
	LOCK_ADDRESS = 0,
	LOCK_RESULT,
	LOCK_OF_COND, /* the mutex that goes with a condition variable */
	MAPPING_PID = 0,
	MAPPING_BEGIN,
	MAPPING_END,
	MAPPING_OFFSET,
};

/* The role of a block step: what its sectors and flags are. */
enum {
	BLOCK_BY_RWBS,  /* sectors; bits as LTTng has them */
	BLOCK_BY_FLAGS, /* bytes; the kernel's, whose low byte is what is done
			 */
};

/* The role of a LOCK: what is done, and in the upper half to what. */
enum {
	LOCK_WAIT,
	LOCK_LOCK,
	LOCK_UNLOCK,
};
#define LOCK_ROLE(sort, action) \
	((uint8_t)(SONDE_LOCK_SORT_##sort << 4 | LOCK_##action))

/* Whether a call of that sort gives, takes or changes descriptors. */
bool sonde_file_role_changes(uint8_t role);

#define SONDE_STEP_NUMBERS 5
#define SONDE_STEP_TEXTS   2
#define SONDE_STEP_FIELDS  (SONDE_STEP_NUMBERS + SONDE_STEP_TEXTS)

struct sonde_step {
	uint8_t kind;
	uint8_t role; /* enum sonde_file_role, of a CALL and a FILE; LOCK's */
	uint8_t has;  /* bit i: number i was there */
	bool wanted;  /* the filter matches its event */
	int32_t cpu;
	int32_t tid;       /* that did it */
	int32_t known_tid; /* in the whole: who, as far as was known then; -1 */
	uint32_t call;     /* which system call */
	int32_t own_pid;   /* of a program's event, whose process; -1, 0 */
	int64_t time_ns;
	struct sonde_model_stack stack; /* of a SWITCH or a WAKE */
	int64_t numbers[SONDE_STEP_NUMBERS];
	const char *texts[SONDE_STEP_TEXTS]; /* NULL: none; not terminated */
	uint32_t lengths[SONDE_STEP_TEXTS];
};

/* A stretch of time in which events were lost. */
struct sonde_model_loss {
	int64_t begin_ns, end_ns;
};

struct sonde_model_losses {
	struct sonde_model_loss *spans; /* sorted; neither touch nor overlap */
	size_t nr;
};

struct sonde_cpu_span {
	int64_t begin_ns, end_ns; /* of its streams' packets */
	struct sonde_model_losses losses;
};

/* An event class's step. */
struct sonde_step_class {
	uint8_t kind, role;
	uint8_t has_tid, has_cpu;
	bool is_program; /* it, not the CPU's thread, says whose it is */
	uint32_t call;
	/* Those that the class has, and which number or text each is: texts come
	 * behind numbers. */
	uint8_t nr_fields, to[SONDE_STEP_FIELDS];
	struct sonde_field fields[SONDE_STEP_FIELDS];
	struct sonde_field tid, cpu; /* the context's; the payload's */
	struct sonde_field stack;    /* of these; .owner NULL: none, */
	struct sonde_field pid;      /* or whose it is */
};

#define SONDE_MODEL_CPUS 4096

struct sonde_model_tables {
	unsigned int wants;
	const struct sonde_filter *filter;
	int64_t from_ns, to_ns; /* asked for; _MIN, _MAX: all there is */
	bool old_states;        /* task states as before Linux 4.14 */
	bool has_all_switches;  /* they should be there, of all CPUs */
	struct sonde_model_traced_threads scope;
	size_t nr_classes;
	struct sonde_step_class *classes; /* by event class */
	char **calls;                     /* names by id */
	uint32_t nr_calls;
	struct sonde_model_losses losses; /* of all CPUs */
	size_t nr_cpus;
	struct sonde_cpu_span *cpus;
	struct sonde_cpu_span other; /* CPUs that no stream names */
};

/* Tables with classes and calls alone, for _unbind(). -ENODATA: no event serves
 * what it is `about`, of the wants. */
int sonde_model_tables_bind(struct sonde_trace *trace, unsigned int wants,
			    unsigned int about,
			    struct sonde_model_tables **ret_tables);
void sonde_model_tables_unbind(struct sonde_model_tables *tables);

/* Losses and spans, from the trace's problems and streams (losses.c). 0 or
 * -ENOMEM. */
int sonde_model_losses_read(struct sonde_trace *trace,
			    const struct sonde_map_options *options,
			    struct sonde_model_tables *tables);
void sonde_model_losses_free(struct sonde_model_tables *tables);
static inline const struct sonde_cpu_span *
sonde_model_cpu_span(const struct sonde_model_tables *tables, int32_t cpu)
{
	return (size_t)cpu < tables->nr_cpus ? &tables->cpus[cpu] :
					       &tables->other;
}
/* Whether any loss shares time with this span. */
bool sonde_model_losses_overlap(const struct sonde_model_losses *losses,
				int64_t begin_ns, int64_t end_ns);

#define SONDE_STEP_PARKED 512 /* before Linux 4.14 */

/* Whether a thread can go on, by the state in which it leaves its CPU: what has none
 * of the lower eight bits can, 0, or a number above all states that says
 * "preempted". */
static inline bool sonde_step_can_run(int64_t state)
{
	return !(state & 0xff) && state != SONDE_STEP_PARKED;
}

/* The step that an event makes, in *ret_step; false if none. Its tid is the
 * context's or -1. */
bool sonde_step_read(const struct sonde_model_tables *tables,
		     const struct sonde_event *event,
		     struct sonde_step *ret_step);

#endif /* ANALYSIS_MODEL_STEPS_H */
