/* SPDX-License-Identifier: MIT */
/*
 * agent.h - what the tool and the code it puts into a process share.
 *
 * Three kinds of memory of the tool's are mapped into a traced process, all of
 * them memory files that the tool has mapped for writing:
 *
 *	the agent's image	agent/ (freestanding, position independent), read
 *				and execute; relocated by the tool
 *	pads			code made for each probed address (pad.h), read
 *				and execute, near what they belong to
 *	the agent's data	struct sonde_agent, read and write; its address is
 *				known to the image by sonde_agent_self, the first
 *				word of its data segment
 *
 * and an arena (ring/layout.h), which the tool fills in as tracer/arena.c does
 * for a program that has a libsonde.
 *
 * What happens at a hit: the site's jump leads to its pad; the pad evaluates
 * each probe's condition (expr/jit), and where it is true pushes the probe's
 * index and calls the agent's hit thunk, which saves the registers and calls
 * sonde_agent_hit(). That counts the hit, collects the probe's items into a
 * record, and appends it by ring/writer.h. Then the displaced instructions run.
 *
 * A hit is counted before `arena` is looked at. So who sets running and arena to
 * 0, then has a barrier run on all threads (membarrier), and then finds the
 * sum of the probes' hits equal to that of the records in the rings, of those
 * that the rings discarded and of `missed`, knows that nobody uses the arena any
 * more. An arena that counts has no records: there the agent counts a second time
 * (SONDE_AGENT_COUNTED), when it is done with the arena.
 *
 * The agent calls nothing outside its image and has no thread-local data, so
 * it can't come upon a probe; a signal handler that interrupts it and comes
 * upon one is an independent hit. So there is no guard against re-entry.
 *
 * Publication: the tool fills in a probe, a trap or a fault and then publishes
 * it by storing its `state` or `address` (release) before any code that leads
 * there is; entries are never reused while the agent lives. All counters are
 * written by the agent and only shown by the tool.
 *
 * A forked child has the jumps, the pads and this memory, and not what is
 * mapped later: its hits are not recorded (is_parent), but their sum is told, as
 * hits of a probe that is none (SONDE_AGENT_FORKED), and how many such children
 * there were.
 *
 * Trust: the process may scribble on all of it; the tool keeps its own copy of
 * what it wrote, and reads only counters. The process trusts the tool.
 */
#ifndef PROBE_AGENT_H
#define PROBE_AGENT_H

#include <stdint.h>

#include "expr/agent.h"
#include "ring/layout.h"
#include "ring/shadow.h"

#define SONDE_AGENT_MAGIC      0x746e656761444e53ull /* "SNDagent" */
#define SONDE_AGENT_PROBES_MAX 8190u
/* In hits[], too: */
#define SONDE_AGENT_FORKED        SONDE_AGENT_PROBES_MAX
#define SONDE_AGENT_COUNTED       (SONDE_AGENT_PROBES_MAX + 1u)
#define SONDE_AGENT_TRAPS_MAX     65536u  /* a power of two: a hash table */
#define SONDE_AGENT_FAULTS_MAX    65536u  /* likewise */
#define SONDE_AGENT_COPIES_MAX    131072u /* likewise */
#define SONDE_AGENT_CPUS_MAX      512u
#define SONDE_AGENT_PLANS_SIZE    (16u << 20)
#define SONDE_AGENT_VARIABLES_MAX 256u
#define SONDE_AGENT_ITEMS_MAX     64u
#define SONDE_AGENT_STEPPERS_MAX  64u
#define SONDE_AGENT_CHUNKS_MAX    4096u
#define SONDE_AGENT_SITES_MAX     8192u
#define SONDE_AGENT_SITE_BYTES    20u
#define SONDE_AGENT_ADDRESSES_MAX 96u /* that one ADDRESSES item can tell */
#define SONDE_AGENT_CALLS_MAX     128u
#define SONDE_AGENT_CALL_WAYS     4u
#define SONDE_AGENT_THREADS_MAX   4096u /* a power of two: a hash table */
#define SONDE_AGENT_PENDING_MAX   7u
/* A record's staged payload; what is longer is cut, and counted as cut. */
#define SONDE_AGENT_STAGE 5120u

/* The registers at the site, in GDB's order (expr/agent.h); rip is the site. */
struct sonde_agent_registers {
	uint64_t r[SONDE_AGENT_REGISTERS];
};

/*
 * What a probe collects: items, each appended to the payload in turn.
 *
 *	REGISTERS	8 bytes for each bit of `mask`, lowest first
 *	MEMORY		`length` bytes at register `reg` (255: none) + offset;
 *			zeros if they can't be read
 *	PROGRAM		runs the program; each thing it traces with TRACE_QUICK
 *			is appended as bytes, no more than `length` in all,
 *			padded with zeros up to `length`
 *	VALUE		runs the program: its value; without one, register
 *			`reg`, shifted right by `offset` bits (255: `offset`
 *			itself). `length` low bytes; 0: 8
 *	RUN		runs the program for its effects (teval): nothing
 *	VARIABLE	the trace variable whose number is `offset`: 8 bytes
 *	STRING		bytes at the address that the program gives, up to a
 *			NUL or `length`; a NUL ends them. With `says_bad`:
 *			"(null)" for 0, "(bad)" for what can't be read
 *	BLOCKS		runs the program; what it traces becomes GDB's blocks
 *			('M' u64 address u16 length bytes, 'V' i32 number i64
 *			value), at most `length` bytes (0: what room there is),
 *			preceded by a u32: their bytes
 *	ADDRESSES	u64 for each MEMORY, PROGRAM block and STRING so far,
 *			where it was read; 0 if it could not be
 */
enum sonde_agent_item_kind {
	SONDE_AGENT_ITEM_REGISTERS = 1,
	SONDE_AGENT_ITEM_MEMORY,
	SONDE_AGENT_ITEM_PROGRAM,
	SONDE_AGENT_ITEM_VALUE,
	SONDE_AGENT_ITEM_RUN,
	SONDE_AGENT_ITEM_VARIABLE,
	SONDE_AGENT_ITEM_STRING,
	SONDE_AGENT_ITEM_BLOCKS,
	SONDE_AGENT_ITEM_ADDRESSES,
};

struct sonde_agent_item {
	uint8_t kind;
	uint8_t reg;
	uint16_t length;
	uint16_t nr_blocks; /* PROGRAM: how many it traces */
	uint16_t says_bad;  /* STRING */
	int64_t offset;     /* of MEMORY; number of a VARIABLE */
	uint64_t mask;      /* of REGISTERS */
	uint64_t program;   /* offset in plans[] of a struct sonde_program */
};

enum sonde_agent_probe_state {
	SONDE_AGENT_PROBE_FREE = 0,
	SONDE_AGENT_PROBE_ON = 1,
	SONDE_AGENT_PROBE_OFF = 2, /* its pad still leads here */
};

/*
 * What a hit is, besides one of a tracepoint (agent/call.h):
 *
 *	ENTRY	a function begins: its arguments are kept
 *	EXIT	it is about to return: its result makes the event
 *	PASS	a jump to a function that is hooked, from where nobody outside of
 *		its library would see it: that call is none
 *	BEGIN	a function begins whose entries and exits are events
 *	END	it returns, or goes on in another one
 */
enum sonde_agent_role {
	SONDE_AGENT_ROLE_TRACEPOINT = 0,
	SONDE_AGENT_ROLE_ENTRY,
	SONDE_AGENT_ROLE_EXIT,
	SONDE_AGENT_ROLE_PASS,
	SONDE_AGENT_ROLE_BEGIN,
	SONDE_AGENT_ROLE_END,
};

/* The result of a call that leaves there. */
enum sonde_agent_gives {
	SONDE_AGENT_GIVES_RESULT = 0,
	SONDE_AGENT_GIVES_ARGUMENT, /* its first argument (calloc's memset) */
	SONDE_AGENT_GIVES_NOTHING,  /* the call is lost: counted */
};

/* A function whose calls are events. What each kind records is in
 * agent/call.c, and the events' fields in probe/hooks/events.c. */
enum sonde_agent_call_kind {
	SONDE_AGENT_CALL_MALLOC,
	SONDE_AGENT_CALL_CALLOC,
	SONDE_AGENT_CALL_REALLOC,
	SONDE_AGENT_CALL_MEMALIGN,
	SONDE_AGENT_CALL_POSIX_MEMALIGN,
	SONDE_AGENT_CALL_FREE,
	SONDE_AGENT_CALL_MUTEX_LOCK,
	SONDE_AGENT_CALL_MUTEX_TRYLOCK,
	SONDE_AGENT_CALL_RWLOCK_LOCK,
	SONDE_AGENT_CALL_RWLOCK_TRYLOCK,
	SONDE_AGENT_CALL_UNLOCK, /* of a mutex or rwlock; a signal: {x, caller} */
	SONDE_AGENT_CALL_COND_WAIT,
	/* Of descriptors; the first four move bytes: f(fd, x, size) */
	SONDE_AGENT_CALL_MOVE,
	SONDE_AGENT_CALL_VECTOR,     /* f(fd, vectors, nr) */
	SONDE_AGENT_CALL_MESSAGE,    /* f(fd, message) */
	SONDE_AGENT_CALL_SENDFILE,   /* f(to, from, x, size) */
	SONDE_AGENT_CALL_DESCRIPTOR, /* int f(fd) */
	SONDE_AGENT_CALL_OPEN,       /* int f(name, flags) */
	SONDE_AGENT_CALL_OPENAT,     /* int f(dir, name, flags) */
	SONDE_AGENT_CALL_PASS,       /* of PASS probes: no call at all */
};

struct sonde_agent_call {
	uint32_t kind;
	uint32_t is_write;     /* RWLOCK_...: for writing */
	uint32_t is_jumped_to; /* by a function that is hooked, or a PASS */
	uint32_t nr_ways;
	uint32_t event;        /* indexes in the arena: the call's own, */
	uint32_t event_before; /* the one at its entry, if it has two, */
	uint32_t event_busy;   /* and when a lock is held */
	uint32_t reserved;
	/* Calls from the function's own library that go there directly, and
	 * those of the loader, are none that preloading would see. */
	uint64_t module, module_end;
	uint64_t loader, loader_end;
	uint64_t ways[SONDE_AGENT_CALL_WAYS]; /* where such calls lead */
	/* What we call: of a lock, a function that tries it (0: none is tried);
	 * of a descriptor, one that says where errno is. */
	uint64_t helper;
};

/* A call that has begun. `stack` is where its return address is, and tells it
 * from any other of the thread's; 0: free. */
struct sonde_agent_pending {
	uint64_t stack;
	uint64_t caller;
	uint64_t fp; /* the caller's frame pointer, if it has one */
	uint64_t arguments[3];
	uint64_t call;
};

/* Of a thread, by its thread pointer; only the thread changes it. */
struct sonde_agent_thread {
	uint64_t key; /* 0: free */
	uint32_t tid;
	uint32_t next; /* to be given up when all are taken */
	struct sonde_agent_pending pending[SONDE_AGENT_PENDING_MAX];
	/* How many of them were ever taken; it is raised before one is, and
	 * never lowered: those behind are free. */
	uint32_t nr_used;
	uint32_t reserved0;
	uint64_t reserved[4];
};

/* A condition over a record's payload (source/condition.h); places in plans[].
 */
struct sonde_agent_filter {
	uint64_t program;
	uint64_t fields, varying; /* expr/operand.h */
	uint32_t nr_fields;
	uint32_t needed; /* bytes that the program reads as memory */
};

/* A condition of the recording on an event, in plans[]: the recorder's answer
 * (ring/filters.h), and where the rule is in it. `file` 0: there is none; `rule` 0:
 * it never holds. */
struct sonde_agent_rule {
	uint32_t file, rule;
};

/*
 * What is recorded of a function where slot 0 alone records it, and whole: the
 * event that has its address as a number (types/origins.h), or, where it has none,
 * the one that has all of it.
 */
struct sonde_agent_near {
	uint32_t event; /* index in the arena */
	uint32_t reserved;
	uint64_t word; /* the payload */
	uint64_t inc;  /* SONDE_INC() of its bytes */
};

struct sonde_agent_probe {
	uint32_t state;
	uint32_t event; /* index in the arena */
	uint64_t address;
	uint64_t condition; /* in plans[]: evaluated by the agent, not by the
			       pad; 0: none */
	uint64_t items;     /* in plans[]: struct sonde_agent_item[nr_items] */
	uint32_t nr_items;
	uint32_t payload_max;
	uint64_t passes; /* stop all after so many hits; 0: never */
	uint64_t steps;  /* while-stepping: how many; 0: none */
	uint64_t step_items;
	uint32_t nr_step_items;
	uint32_t step_event;
	/* a static tracepoint's $_sdata: the register (GDB's number) that
	 * gets 1 << 31 | the event's index if the condition is true; 255 */
	uint32_t force_register;
	uint32_t force_value;
	/* counters */
	uint64_t passed;    /* hits, if there are `passes` */
	uint64_t faults;    /* conditions that read bad memory: false */
	uint64_t divisions; /* conditions that divided by zero: false */
	uint64_t cut;       /* records that lack something: bad memory, size */
	uint64_t block_bytes; /* of its hits' BLOCKS items */
	uint32_t role;  /* enum sonde_agent_role; the rest is not 0 of calls */
	uint32_t call;  /* in calls[] */
	uint32_t frame; /* EXIT, END: bytes from rsp to the return address */
	uint32_t gives; /* EXIT: enum sonde_agent_gives */
	uint64_t function; /* BEGIN, END: which */
	/* BEGIN, END: its entries are recorded if the filter holds, its exits
	 * if their entries were */
	uint64_t filter; /* of BEGIN, in plans[] */
	uint32_t is_filtered;
	uint32_t reserved0;
	struct sonde_agent_near near; /* BEGIN, END */
};

/* int3 at `address` goes on at `to`. */
struct sonde_agent_trap {
	uint64_t address; /* 0: free */
	uint64_t to;
};

/* A fault at `at` (in a pad) goes on at `to`. */
struct sonde_agent_fault {
	uint64_t at; /* 0: free */
	uint64_t to;
	uint64_t probe; /* whose faults are counted */
};

/* The program's own instruction at `site` runs at `at` (in a pad): if it faults,
 * that is where the program's handler is told. */
struct sonde_agent_copy {
	uint64_t at; /* 0: free */
	uint64_t site;
	uint32_t pushed; /* bytes that the copy has pushed before `at` */
	uint32_t back;   /* from `at` to where the copy begins */
};

/* A thread that is being stepped (while-stepping), for one hit. Taken by a
 * compare-and-swap of `tid`; only that thread changes it afterwards. */
struct sonde_agent_stepper {
	uint32_t tid; /* 0: free */
	uint32_t probe;
	uint64_t left; /* steps */
};

/* Where pads may be: instructions there are no steps. */
struct sonde_agent_chunk {
	uint64_t start, end;
};

/* Text that the tool changes: what was there, what it has put there last and is
 * about to put there. For the servant, when the tool is killed. */
struct sonde_agent_site {
	uint64_t address; /* 0: free, or as it was */
	uint32_t nr_bytes;
	uint8_t bytes[SONDE_AGENT_SITE_BYTES];
	uint8_t now[SONDE_AGENT_SITE_BYTES];
	uint8_t next[SONDE_AGENT_SITE_BYTES];
};

/* An old action of the process, as the kernel has it. */
struct sonde_agent_action {
	uint64_t handler, flags, restorer, mask;
};

struct sonde_agent {
	uint64_t magic;
	uint64_t arena;     /* address in the process; 0: nothing is recorded */
	uint64_t rings;     /* arena + SONDE_META_SPAN; stays when arena is 0 */
	uint32_t is_driven; /* a debugger does the steps (agent/step.h) */
	uint32_t running;   /* 1: hits are recorded (tstart); 0: only conditions
			     and their effects */
	uint32_t stop_reason; /* set by the agent: 1 passes, 2 division by 0 */
	uint32_t stop_probe;
	int64_t rseq_offset; /* from the thread pointer; 0: no rseq, lanes */
	int64_t tid_offset;  /* likewise, of the thread's id; 0: gettid() */
	uint32_t pid;
	uint32_t reserved0;
	struct sonde_agent_action old_segv, old_bus, old_trap, old_fpe, old_ill;
	uint64_t strange_traps;     /* passed on to the program */
	uint64_t variables_builtin; /* bit n: variable n is computed: 1
			 timestamp, 2 thread id, 3 cpu (numbers below) */
	uint64_t nr_plans;          /* bytes of plans[] in use, the tool's */
	/* Hits that were counted but have no record: no arena any more, or
	 * their event isn't recorded. */
	uint64_t missed;
	uint32_t has_fsgsbase; /* user space may read fs_base and gs_base */
	uint32_t nr_chunks;
	uint64_t stepped; /* steps that were counted, as hits are */
	/* Address of a word that is not 0, but is in a child that was forked:
	 * that has the code and this memory, but not the arena. The next word is
	 * the child's: whether it was counted. */
	uint64_t is_parent;
	uint32_t nr_sites; /* of sites[] that are or were in use */
	/* Whether any of rules[] is used, and whether others than the recording
	 * are told of events (--when); the tool's. */
	uint32_t has_rules;
	uint32_t has_others;
	uint32_t nr_forked;  /* children that came upon a probe */
	uint64_t calls_lost; /* calls that there was no room to note */
	/* Which calls of functions are events, if not all are; the tool's. */
	struct sonde_shadow_rule rule;
	uint32_t event_begin, event_end; /* then; indexes in the arena */
	int64_t variables[SONDE_AGENT_VARIABLES_MAX];
	/* by probe and CPU: hits, each CPU's row in lines of its own; the last
	 * row is of those who have no restartable sequences */
	uint64_t hits[SONDE_AGENT_CPUS_MAX][SONDE_AGENT_PROBES_MAX + 2];
	struct sonde_agent_probe probes[SONDE_AGENT_PROBES_MAX];
	struct sonde_agent_trap traps[SONDE_AGENT_TRAPS_MAX];
	struct sonde_agent_fault faults[SONDE_AGENT_FAULTS_MAX];
	struct sonde_agent_copy copies[SONDE_AGENT_COPIES_MAX];
	struct sonde_agent_stepper steppers[SONDE_AGENT_STEPPERS_MAX];
	struct sonde_agent_chunk chunks[SONDE_AGENT_CHUNKS_MAX];
	struct sonde_agent_site sites[SONDE_AGENT_SITES_MAX];
	struct sonde_agent_call calls[SONDE_AGENT_CALLS_MAX];
	struct sonde_agent_thread threads[SONDE_AGENT_THREADS_MAX]
		__attribute__((aligned(64)));
	struct sonde_shadow shadows[SONDE_AGENT_THREADS_MAX]; /* as threads */
	struct sonde_agent_rule rules[SONDE_EVENTS_MAX];      /* by the event */
	unsigned char plans[SONDE_AGENT_PLANS_SIZE];
};

/* Trace state variables that the agent computes; GDB sees them as $timestamp,
 * $tid and $cpu. The user's begin above them. */
enum {
	SONDE_AGENT_VARIABLE_TIMESTAMP = 1,
	SONDE_AGENT_VARIABLE_TID,
	SONDE_AGENT_VARIABLE_CPU,
	SONDE_AGENT_VARIABLE_TRACE_TIMESTAMP, /* gdbserver's name of the first */
	SONDE_AGENT_VARIABLE_FIRST,
};

/* Where a hash table's search begins; it goes on at the next place. */
static inline uint32_t sonde_agent_hash(uint64_t address, uint32_t size)
{
	return (uint32_t)(address * 0x9e3779b97f4a7c15ull >> 32) & (size - 1);
}

#endif /* PROBE_AGENT_H */
