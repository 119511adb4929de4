/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * bpf_source.h - the parts of the source "bpf", to one another.
 *
 *	source.c	the interface, and the order of things
 *	events.c	what is selected: events, their descriptions, plans
 *	templates.c	tracepoints for which no program was written
 *	conditions.c	the users' conditions into the programs' code
 *	leave_out.c	those that are tested when records are read; what is
 *			delivered in place of what was written
 *	stacks.c	frames behind records into numbers of call stacks
 *	programs.c	the programs and maps: load, map, attach
 *	probes.c	those at the kernel's functions
 *	kprobes.c	those that rules say, with call stacks
 *	misses.c	hits of those that the kernel left out
 *	rings.c		the rings' memory and their readers
 *	tree.c		scope TREE: who is in it at the start
 *	geometry.c	how much memory which ring has
 *	*.bpf.*		the programs
 */
#ifndef SOURCE_BPF_BPF_SOURCE_H
#define SOURCE_BPF_BPF_SOURCE_H

#include "source/bpf/geometry.h"
#include "source/bpf/load.h"
#include "source/bpf/shared.h"
#include "source/callstacks.h"
#include "source/kernel_frames.h"
#include "source/selected.h"
#include "source/source.h"
#include "source/timing.h"

struct bpf_insn;
struct bpf_object;
struct sonde_condition;
struct bpf_link;

/* The compiled programs, an ELF file (src/source/embed). */
extern const unsigned char sonde_bpf_programs[];
extern const unsigned long sonde_bpf_programs_size;
/* The same without room for conditions. */
extern const unsigned char sonde_bpf_plain[];
extern const unsigned long sonde_bpf_plain_size;
/* With it, and with call stacks (stacks.bpf.h). */
extern const unsigned char sonde_bpf_stacks[];
extern const unsigned long sonde_bpf_stacks_size;
/* Those of a probe, without and with call stacks. */
extern const unsigned char sonde_bpf_probe[];
extern const unsigned long sonde_bpf_probe_size;
extern const unsigned char sonde_bpf_probe_stacks[];
extern const unsigned long sonde_bpf_probe_stacks_size;

#define SONDE_BPF_LINKS_MAX    (SONDE_BPF_NR_EVENTS + SONDE_BPF_ANY_NR + 2)
#define SONDE_BPF_TRACKED_MAX  32768u
#define SONDE_BPF_PROGRAM_NAME "sonde"

struct bpf_event {
	struct sonde_desc *desc; /* ours */
	const char *group;       /* the kernel's names, static */
	const char *name;
	struct sonde_condition *late; /* ours; or NULL */
};

/* A tracepoint without a program of its own (templates.c); template i has anys[i]. */
struct bpf_any {
	char *group; /* ours */
	char *name;
	uint32_t consts[16]; /* SONDE_BPF_ANY_ID and so on */
};

struct bpf_probe;
struct bpf_kprobe;

/* What is asked for hits that the kernel left out (misses.c). */
struct bpf_misses {
	struct sonde_bpf_load load;
	int fd;           /* the program's */
	bool are_unknown; /* of a probe at least */
	bool has_others;  /* at the beginning or the end */
};

/* At the cursor of a stream of which records are left out. */
struct bpf_late {
	uint64_t read;    /* time of the record before, in the ring */
	uint64_t written; /* and in the copy */
	uint64_t dropped; /* events, so far */
	uint64_t lean; /* with less of a stack than there was (stacks.bpf.h) */
};

struct bpf_stream {
	struct sonde_ring_reader reader;
	/* If what is delivered isn't what was written (has_copies): */
	struct sonde_ring_chunk raw; /* what was peeked at, in the ring */
	struct bpf_late late;
	struct bpf_late ahead; /* behind that */
	unsigned char *copy;   /* bpf_late_room(), twice */
	uint64_t at;           /* events before the cursor */
	uint64_t delivered;
	uint64_t overwritten;
	bool is_empty; /* it has no ring */
};

struct bpf_source {
	struct sonde_source base;
	struct sonde_source_config config;

	/* what is selected (events.c) */
	struct bpf_event *events;
	struct bpf_event *by_name; /* a copy, sorted */
	uint32_t nr_events;
	uint32_t room_events;
	uint32_t consts[SONDE_BPF_NR_CONSTS];
	struct sonde_bpf_plans *plans; /* until they are in their map */
	struct bpf_any anys[SONDE_BPF_ANY_NR];
	uint32_t nr_anys;
	struct bpf_probe *probes; /* one for each of config.probes */
	/* With those of rules, from the first_kprobe-th on; or NULL (kprobes.c). */
	struct sonde_source_probe *all_probes;
	struct bpf_kprobe *kprobes;
	uint32_t nr_kprobes, first_kprobe;
	struct bpf_misses misses;
	bool has_entries; /* any call's entry, and exit */
	bool has_exits;
	bool needs_spares;
	bool has_late;   /* an event with a condition tested late */
	bool has_copies; /* that, or call stacks */
	struct sonde_callstacks_own own_code; /* with call stacks */

	/* the programs (programs.c, conditions.c) */
	struct sonde_btf btf; /* until they are loaded, if it was asked for */
	unsigned char *image;
	size_t image_size;
	struct bpf_object *object;
	struct sonde_bpf_load load;
	uint32_t ids[SONDE_BPF_NR_BTF]; /* of what some kernels lack; 0: no */
	struct bpf_link *links[SONDE_BPF_LINKS_MAX];
	uint32_t nr_links;
	int mark_fd;
	uint64_t missed; /* when they were detached */

	/* memory (rings.c); mappings of ours */
	struct sonde_bpf_geometry geometry;
	struct sonde_bpf_cpu *cpus;
	unsigned char *data;
	struct sonde_bpf_clock *clock;
	struct bpf_stream *streams;
	bool *online; /* by CPU, at the start */

	struct sonde_timing timing;
	struct sonde_pair first_pair;
	bool is_started;
};

/* ---- events.c ---- */

/* 0; -ENODATA if nothing is selected. */
int bpf_events_select(struct bpf_source *source,
		      struct sonde_source_error *error);
void bpf_events_free(struct bpf_source *source);
bool bpf_events_has(const struct bpf_source *source, const char *group,
		    const char *name);

/* How an event's condition is tested, if it has one. */
struct bpf_test {
	uint8_t cond;     /* by programs: as in a plan; 0: not */
	const char *late; /* when read; borrowed; or NULL */
};

/* A copy of the description goes to the list; the names are borrowed. */
int bpf_events_add(struct bpf_source *source, const char *group,
		   const char *name, const struct sonde_desc *desc,
		   const struct bpf_test *test, uint16_t *ret_id);
/* What becomes of the rule's condition; -EINVAL with *error. */
int bpf_events_condition(struct bpf_source *source,
			 const struct sonde_desc *desc,
			 const struct sonde_source_rule *rule, uint32_t bytes,
			 struct bpf_test *ret_test,
			 struct sonde_source_error *error);

/* ---- templates.c ---- */

/* `room` is for a description. */
int bpf_any_select(struct bpf_source *source, void *room,
		   struct sonde_source_error *error);
void bpf_any_free(struct bpf_source *source);

/* ---- conditions.c ---- */

/*
 * Puts `text`'s code over `desc`, of which `bytes` are staged at least, into
 * source->image. *ret_cond is what the programs know it by. -EOPNOTSUPP or
 * -E2BIG if it can't be tested by a program; -EINVAL with *error.
 */
int bpf_condition_add(struct bpf_source *source, const struct sonde_desc *desc,
		      const char *text, uint32_t bytes, uint8_t *ret_cond,
		      struct sonde_source_error *error);

/* Of a place of `max` no-ops, what is behind the first `nr`: they are jumped over, by
 * what the kernel's verifier knows to be so: it drops them all at once, but each no-op
 * that it comes to by itself, which takes a millisecond for two thousand. */
void bpf_code_leave(struct bpf_insn *insns, size_t nr, size_t max);

/* Where the no-ops behind a mark are in an object, or NULL. */
unsigned char *bpf_condition_place(unsigned char *image, size_t size,
				   uint32_t number, uint32_t nr);

/* ---- leave_out.c ---- */

/* `text` NULL: none. It is known to make sense. */
int bpf_late_add(struct bpf_source *source, struct bpf_event *event,
		 const char *text);
/* After the streams are known. */
int bpf_late_init(struct bpf_source *source);
size_t bpf_late_room(const struct bpf_source *source);
/* What was peeked at becomes a copy of what is wanted of it, as it is in the
 * trace: 1, -EPROTO, or
 * -ESTALE: a program was faster (overwrite mode). */
int bpf_late_peek(const struct bpf_source *source, struct bpf_stream *stream,
		  uint32_t cpu, struct sonde_ring_chunk *chunk);

/* ---- stacks.c ---- */

/* What is behind a record's payload. */
struct bpf_frames {
	uint32_t nr_kernel, nr_program;
	bool is_lost;
	bool is_copied; /* of the program registers and memory, no frames */
	bool is_lean;   /* and less memory than there might be */
	uint32_t copy_bytes;
	const unsigned char *at; /* the kernel's frames, of 8 bytes each */
};

/* Of a program's stack, with the size of sub-buffers known; 0: no memory is copied. */
uint32_t bpf_stacks_copy_bytes(const struct bpf_source *source);
/* Once the programs are attached. 0 or -ENOMEM. */
int bpf_stacks_begin(struct bpf_source *source);
/* How many there are, by the word before the payload. False: it makes no sense. */
bool bpf_stacks_parse(const struct bpf_source *source, uint32_t word,
		      struct bpf_frames *ret_frames);
/* Bytes behind the payload. */
size_t bpf_stacks_bytes(const struct bpf_frames *frames);
/* Of the process's stack at that time, which is kept; 0: it has none, or no room. */
uint32_t bpf_stacks_number(const struct bpf_source *source,
			   const struct bpf_frames *frames, uint32_t pid,
			   uint64_t at);

/* ---- programs.c ---- */

/* Whether this kernel and user can at all: 0 or -errno with *error. */
int bpf_object_able(struct bpf_source *source,
		    struct sonde_source_error *error);
/* Sees to it that the kernel's types are in `btf`. */
int bpf_object_types(struct bpf_source *source,
		     struct sonde_source_error *error);
int bpf_object_load(struct bpf_source *source,
		    struct sonde_source_error *error);
int bpf_object_attach(struct bpf_source *source,
		      struct sonde_source_error *error);
void bpf_object_detach(struct bpf_source *source);
/* Constants and ids into an object's instructions. */
void bpf_object_patch(const struct bpf_source *source, const uint32_t *consts,
		      unsigned char *image, size_t size);
/* -errno, and in *error what libbpf or the kernel says of it. */
int bpf_object_explain(const struct bpf_source *source,
		       struct sonde_source_error *error, int rc,
		       const char *what);
/* Events that happened while their program could not run: of a program, and of
 * all. */
uint64_t bpf_program_missed(const struct bpf_program *program);
uint64_t bpf_missed_by_programs(struct bpf_source *source);
struct bpf_map *bpf_object_map(struct bpf_object *object, const char *name);
/* Runs the program `mark` on a CPU, in an interrupt. 0 or -errno. */
int bpf_object_mark(const struct bpf_source *source, uint32_t cpu,
		    enum sonde_bpf_wish wish);
void bpf_object_free(struct bpf_source *source);

/* ---- probes.c ---- */

int bpf_probes_select(struct bpf_source *source);
/* After the other programs, whose maps they write to. They are put in at once,
 * so that what can't be is known before anything begins, and do nothing as long
 * as the rings are off. */
int bpf_probes_load(struct bpf_source *source,
		    struct sonde_source_error *error);
/* Once memory is mapped, and nothing is recorded yet. */
void bpf_probes_begin(struct bpf_source *source);
void bpf_probes_detach(struct bpf_source *source);
/* Their hits without a record, so far, of which nothing was written to the rings. */
uint64_t bpf_probes_missed(struct bpf_source *source);
/* What is shared of them (probes.h) is as it is now. */
void bpf_probes_tick(struct bpf_source *source);
/* Conditions of the i-th that met memory which can't be read; after detach. */
uint64_t bpf_probes_faults(const struct bpf_source *source, uint32_t i);
void bpf_probes_free(struct bpf_source *source);

/* ---- kprobes.c ---- */

#define SONDE_BPF_KPROBE_GROUP "kprobe" /* the events' provider */

/* With call stacks: what rules say is added to config.probes. */
int bpf_kprobes_select(struct bpf_source *source,
		       struct sonde_source_error *error);
/* After bpf_probes_free(). */
void bpf_kprobes_free(struct bpf_source *source);

/* ---- misses.c ---- */

/* While the kernel's types are there. What fails is told by the end. */
void bpf_misses_load(struct bpf_source *source);
/* Hits, since it was put in, of the probe that the link keeps there. */
uint64_t bpf_misses_of(struct bpf_source *source, const struct bpf_link *link);
/* Looks for programs in the way, of which `nr_own` are ours. */
void bpf_misses_look(struct bpf_source *source, uint32_t nr_own);
/* Why some may be in no count, or NULL: all are. */
const char *bpf_misses_uncounted(const struct bpf_source *source);
void bpf_misses_free(struct bpf_source *source);

/* ---- rings.c ---- */

/* Which CPUs there may be, and which there are. */
int bpf_rings_plan(struct bpf_source *source, struct sonde_source_error *error);
/* After the maps exist. */
int bpf_rings_init(struct bpf_source *source);
void bpf_rings_free(struct bpf_source *source);
void bpf_rings_switch(struct bpf_source *source, bool on);
/* Waits until no program is running that began before the call. */
void bpf_rings_quiesce(struct bpf_source *source);

/* ---- tree.c ---- */

int bpf_tree_seed(struct bpf_source *source, pid_t root,
		  struct sonde_source_error *error);

#endif /* SOURCE_BPF_BPF_SOURCE_H */
