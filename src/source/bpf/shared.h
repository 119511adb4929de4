/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * shared.h - what the BPF programs and whoever loads them agree on: the maps'
 * layouts, the limits, the programs.
 *
 * Maps
 *
 *	cpus	array by CPU of struct sonde_bpf_cpu, mapped: the control blocks
 *		of the CPU's rings (ring/layout.h), and what its programs know
 *	data	array of sub-buffers, mapped: a ring has `mask` + 1 of them, one
 *		after the other from index `first` on; then one that is never
 *		read for each CPU and level, where payloads are tested when
 *		there is no room
 *	clocks	one struct sonde_bpf_clock, mapped (global data)
 *	plans	one struct sonde_bpf_plans, mapped (global data)
 *	probe	of a probe, one struct sonde_bpf_probe_state, mapped
 *	tracked	hash by process, of those in the tree (scope TREE only): struct
 *		sonde_bpf_member
 *
 * Rings: each CPU has one for each level of nesting. The program that runs in
 * a thread's context writes to ring 0; one that interrupts it there to ring 1,
 * and so on: `nest` counts. As the interrupted goes on only when the
 * interrupting is done, and nobody else runs on that CPU meanwhile, a ring has
 * one writer at a time: no atomic operation is needed anywhere, and one store
 * of `w` commits.
 *
 * In struct sonde_ring, `key` and `end` are 0, and reserved0 is the writer's:
 * the last record's time and where the ring's data lies.
 *
 * Freestanding; included by the programs, too.
 */
#ifndef SOURCE_BPF_SHARED_H
#define SOURCE_BPF_SHARED_H

#include "ring/layout.h"
#include "source/payloads.h"

#define SONDE_BPF_LEVELS 4u
#define SONDE_BPF_SLOTS  16u /* of the clock; a power of two */
#define SONDE_BPF_CALLS  1024u
#define SONDE_BPF_ARGS   6u
#define SONDE_BPF_CONDS  16u
/* Instructions of a condition, and what precedes them (conditions.h). */
#define SONDE_BPF_COND_INSNS 192u
#define SONDE_BPF_COND_MARK  0x534e4400 /* + its number */

/* The same of a probe: what decides, + enum sonde_bpf_probe_program, and what
 * writes. */
#define SONDE_BPF_PROBE_MARK       0x534e4480
#define SONDE_BPF_PROBE_WRITE_MARK 0x534e4484
#define SONDE_BPF_PROBE_DECIDE     512u
#define SONDE_BPF_PROBE_WRITE      2048u

/* Which of its programs is a probe's. */
enum sonde_bpf_probe_program {
	SONDE_BPF_PROBE_KPROBE,
	SONDE_BPF_PROBE_EVENT,
	SONDE_BPF_PROBE_RETURN,
	SONDE_BPF_PROBE_ENTRY,
};

/* What the program of a probe shares with the recorder. */
struct sonde_bpf_probe_state {
	uint64_t faults; /* conditions that met memory which can't be read */
	/* With PROBE_COUNTS: */
	uint64_t hits;
	uint64_t passes; /* how many there may be; 0: any number */
	uint64_t off;    /* none are wanted */
};

/* Indices in reserved0 of struct sonde_ring. */
#define SONDE_BPF_RING_LAST  0 /* time of the last record */
#define SONDE_BPF_RING_FIRST 1 /* first sub-buffer; ~0: there are none */
#define SONDE_BPF_RING_MASK  2
#define SONDE_BPF_RING_TEXT  3 /* offset in the payload that is being made */
#define SONDE_BPF_RING_FENCE 4 /* of no meaning: writer.h */
#define SONDE_BPF_NO_RING    (~0ull)

/* A task that ran on the CPU: whether it is in the tree (tree.bpf.h). */
struct sonde_bpf_seen {
	uint64_t task; /* its address */
	uint64_t start;
	uint64_t gen; /* what that of the CPU was */
	uint32_t tid;
	uint32_t tracked;
};

#define SONDE_BPF_SEEN      8u /* of a CPU; a power of two */
#define SONDE_BPF_VARIABLES 16u

struct sonde_bpf_cpu {
	struct sonde_ring ring[SONDE_BPF_LEVELS];
	uint32_t nest; /* programs that are running */
	uint32_t on;   /* record; set by the recorder */
	/* Of the task at `task`, which may run (tree.bpf.h). */
	uint32_t tracked; /* scope TREE: it is in the tree */
	/* What `mark` found in_interrupt to be; programs believe it only if the
	 * recorder has seen that it is right. */
	int8_t marked_in;
	uint8_t trusts_count;
	uint16_t reserved0;
	uint32_t tid;
	uint32_t tgid;
	uint64_t task; /* its address */
	uint64_t regs; /* where its registers lie at its system calls; 0: it
			  has made none since it was switched to */
	uint64_t lost_deep;  /* events: nested too deeply */
	uint64_t lost_track; /* scope TREE: processes that found no room */
	uint64_t unseen;     /* switches that the one before doesn't lead to */
	uint64_t next;       /* 1 + the tid that was switched to; 0: none yet */
	uint64_t count_at;   /* COUNT_BY_QUEUE: its address, by `mark` */
	uint64_t gen;        /* counted up by `mark`; 0: it hasn't run yet */
	struct sonde_bpf_seen seen[SONDE_BPF_SEEN]; /* by tid */
	int64_t variables[SONDE_BPF_VARIABLES];     /* of probes */
	uint64_t reserved1[5];
};

/* What a program is called in. */
enum sonde_bpf_in {
	SONDE_BPF_IN_UNKNOWN = -1,
	SONDE_BPF_IN_THREAD,
	SONDE_BPF_IN_SOFTIRQ,
	SONDE_BPF_IN_INTERRUPT, /* or an NMI */
};

/* What `mark` is run for. */
enum sonde_bpf_wish {
	SONDE_BPF_WISH_MARK,
	SONDE_BPF_WISH_PART, /* the next records begin sub-buffers */
};

/* A process of the tree. */
struct sonde_bpf_member {
	uint64_t start;  /* of its first thread; 0: not seen yet */
	uint64_t signal; /* what its tasks share, by its address */
	int64_t tasks;   /* whose memory is in use: the first thread, in the
			    upper half, and the others */
};

/*
 * counter = base_counter + ((ns - base_ns) * mult >> conf_shift), of slot
 * `gen` modulo SONDE_BPF_SLOTS. The recorder fills in another slot, then moves
 * `gen` on.
 */
struct sonde_bpf_slot {
	uint64_t base_ns;
	uint64_t base_counter;
	uint64_t mult; /* < 2^32 */
	uint64_t reserved;
};

struct sonde_bpf_clock {
	uint64_t gen;
	uint64_t reserved[7];
	struct sonde_bpf_slot slot[SONDE_BPF_SLOTS];
};

/* What comes behind the numbers of a call. */
enum sonde_bpf_item {
	SONDE_BPF_NOTHING,
	SONDE_BPF_STRING,
	SONDE_BPF_STRINGS,
	SONDE_BPF_BUFFER, /* as long as another argument says */
	SONDE_BPF_RESULT, /* as long as the result says */
};

#define SONDE_BPF_PLAN_LONG    1u /* texts, buffers, or a condition */
#define SONDE_BPF_PLAN_UNKNOWN 2u /* number and all arguments */

/* One system call's entry or exit. */
struct sonde_bpf_plan {
	uint16_t id; /* 0: not selected */
	uint8_t reserved0;
	uint8_t flags;
	/* 4 bits for each argument: the number's bytes, 0, 4 or 8; plus 1 if a
	 * 32-bit one is to be sign-extended. */
	uint32_t sizes;
	uint8_t cond; /* 0: none; else its number + 1 */
	uint8_t reserved[7];
	/* The items in their order: the argument, what it is, and for BUFFER
	 * the argument that says its length. */
	struct {
		uint8_t kind;
		uint8_t arg_and_length; /* 4 bits each, the first lower */
	} item[SONDE_BPF_ARGS];
	uint32_t reserved1;
};

/* Native calls, then those of 32-bit programs; one more for unknown ones. */
struct sonde_bpf_plans {
	struct sonde_bpf_plan entry[2][SONDE_BPF_CALLS + 1];
	struct sonde_bpf_plan exit[2][SONDE_BPF_CALLS + 1];
};

/* Programs that record an event of their own. */
#define SONDE_BPF_EVENTS                   SONDE_PAYLOADS

#define SONDE_BPF_ENUM(upper, group, name) SONDE_BPF_##upper,
enum sonde_bpf_event {
	SONDE_BPF_EVENTS(SONDE_BPF_ENUM) SONDE_BPF_NR_EVENTS,
};
#undef SONDE_BPF_ENUM

/*
 * Constants of the programs. In their code each is an instruction that loads
 * SONDE_BPF_CONST_MARK + its index; before they are loaded, the value is put
 * there (programs.c). So the verifier folds them and drops what can't be reached,
 * and the programs needn't fetch them from memory.
 */
enum sonde_bpf_const {
	SONDE_BPF_SUBBUF_BYTES,
	SONDE_BPF_IS_OVERWRITE,
	SONDE_BPF_IS_TREE,
	SONDE_BPF_IS_IDENTITY, /* the clock is CLOCK_MONOTONIC */
	SONDE_BPF_SHIFT,       /* of struct sonde_bpf_slot, <= 32 */
	SONDE_BPF_MUST_GUARD,  /* disable preemption ourselves */
	SONDE_BPF_HAS_CURRENT, /* sched_switch keeps `task` and the like */
	SONDE_BPF_SELF_0,      /* processes left out; 0: none */
	SONDE_BPF_SELF_1,
	SONDE_BPF_STRING_BYTES,
	SONDE_BPF_BUFFER_BYTES,
	SONDE_BPF_TEXT_BYTES, /* of all strings and buffers of a record */
	SONDE_BPF_NR_CONDS,
	SONDE_BPF_COUNT_BY,      /* enum sonde_bpf_count */
	SONDE_BPF_COUNT_OFFSET,  /* from what that says */
	SONDE_BPF_TASK_TYPE,     /* its id for RDONLY_CAST; 0: not there */
	SONDE_BPF_SPARE,         /* data's index of the first one never read */
	SONDE_BPF_PROBE_ID,      /* of one probe: its event, */
	SONDE_BPF_PROBE_BYTES,   /* its payload, */
	SONDE_BPF_PROBE_COUNTS,  /* its hits are counted, */
	SONDE_BPF_PROBE_ASSIGNS, /* and change variables */
	SONDE_BPF_STACK_FRAMES,  /* of the program's in a call stack, at most */
	SONDE_BPF_STACK_COPY,    /* bytes of its stack's memory; 0: frames */
	SONDE_BPF_ID,            /* by event; 0: not selected */
	SONDE_BPF_COND = SONDE_BPF_ID + SONDE_BPF_NR_EVENTS, /* as in a plan */
	SONDE_BPF_NR_CONSTS = SONDE_BPF_COND + SONDE_BPF_NR_EVENTS,
};

/* How programs get at the CPU's count of what it is interrupted by, which is a
 * variable of each CPU. On arm64 it is the task's, and always known. */
enum sonde_bpf_count {
	SONDE_BPF_COUNT_UNKNOWN,
	SONDE_BPF_COUNT_BY_NAME, /* PREEMPT_COUNT can be loaded */
	/* The kernel doesn't say where its variables are, but a task knows its
	 * CPU's run queue, which is another one. */
	SONDE_BPF_COUNT_BY_QUEUE,
};

#define SONDE_BPF_CONST_MARK 0x534e4300

/*
 * What some kernels lack: functions and variables that are called and loaded by
 * their marks, for which the loader puts the kernel's ids if it has them. As
 * weak symbols they would make libbpf look through the types of all modules,
 * which takes CAP_SYS_ADMIN.
 */
enum sonde_bpf_btf {
	SONDE_BPF_PREEMPT_DISABLE,
	SONDE_BPF_PREEMPT_ENABLE,
	SONDE_BPF_PREEMPT_COUNT,
	SONDE_BPF_RDONLY_CAST,
	SONDE_BPF_NR_BTF,
};

#define SONDE_BPF_BTF_MARK 0x534e6000

/*
 * Programs for any other tracepoint: what they record of its arguments is said
 * by constants, too, at SONDE_BPF_ANY_MARK + 16 * program.
 */
#define SONDE_BPF_ANY_NR    32u
#define SONDE_BPF_ANY_ARGS  12u
#define SONDE_BPF_ANY_BYTES 256u /* of payload, and room for one string more */
#define SONDE_BPF_ANY_TEXT  64u  /* of a string, with its NUL */
#define SONDE_BPF_ANY_MARK  0x534e5000

/* Of each argument: 0, or how it is recorded. */
enum sonde_bpf_any_kind {
	SONDE_BPF_ANY_BYTES_1 = 1,
	SONDE_BPF_ANY_BYTES_2 = 2,
	SONDE_BPF_ANY_BYTES_4 = 4,
	SONDE_BPF_ANY_BYTES_8 = 8,
	SONDE_BPF_ANY_TASK,   /* comm, tid: 20 bytes */
	SONDE_BPF_ANY_STRING, /* at most SONDE_BPF_ANY_TEXT */
	/* 8 bytes, of an address that no program may take from its context on
	 * kernels before 6.2: of const void, say */
	SONDE_BPF_ANY_ADDRESS,
};

/* Indices of a program's constants. */
#define SONDE_BPF_ANY_ID   0
#define SONDE_BPF_ANY_COND 1
#define SONDE_BPF_ANY_ARG  2 /* and more, by argument */

/* Call stacks (stacks.bpf.h): what is of them before the payload, and how many
 * frames of the kernel there are at most, the tracer's own among them. */
#define SONDE_BPF_STACK_HEAD      8u
#define SONDE_BPF_STACK_REGISTERS 32u /* of a program, before the copy */
#define SONDE_BPF_KERNEL_FRAMES   40u
#define SONDE_BPF_STACK_LOST      (1u << 31) /* the kernel didn't give its frames */
/* The program's part is registers and a copy of its stack's memory. */
#define SONDE_BPF_STACK_COPIED     (1u << 30)
#define SONDE_BPF_STACK_COPY_SHIFT 16u /* the copy's words in bits 16..29, */
#define SONDE_BPF_STACK_COPY_MASK  0x3fffu
#define SONDE_BPF_STACK_LEAN \
	(1u << 15) /* less than there might be: the
						 ring was half full */

/* Of every record but those with texts: header, tid and payload. */
#define SONDE_BPF_HEAD_MAX (SONDE_HEAD_LARGE_FULL + 4u)
#define SONDE_BPF_NUMBERS  64u /* the numbers of a call, at most */

_Static_assert(SONDE_BPF_RING_FENCE <
		       sizeof(((struct sonde_ring *)0)->reserved0) / 8,
	       "the writer's part");
_Static_assert(SONDE_BPF_NR_CONSTS <= 256, "marks of conditions follow");
_Static_assert(sizeof(struct sonde_bpf_cpu) == 1024, "shared by two compilers");
_Static_assert(sizeof(struct sonde_bpf_slot) == 32, "shared by two compilers");
_Static_assert(sizeof(struct sonde_bpf_plan) == 32, "shared by two compilers");

#endif /* SOURCE_BPF_SHARED_H */
