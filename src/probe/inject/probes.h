/* SPDX-License-Identifier: MIT */
/*
 * probes.h - probes in a running process: put in, take out, ask.
 *
 * The front end of this folder; who includes it needs nothing else but process.h
 * and agent.h's items.
 *
 *	window.h	what a jump may replace
 *	pad.h		the code it leads to
 *	pad_memory.h		where that code can be
 *	patch.h		how text is changed under running threads
 *	process.h	memory and system calls of the process
 *	agent/		what runs there
 *
 * Several probes at one address share its pad: those that break first, then
 * conditions in the order in which they were added. A probe at an instruction
 * inside another's window gets its place in that window's pad, before that
 * instruction's copy. A window that would reach over a later address that has
 * one already is an int3 instead.
 *
 * What is out keeps its index and pad, and a probe that is put in again at the
 * same address with the same condition gets them back: pads are never freed,
 * as a thread may be in one.
 */
#ifndef PROBE_INJECT_PROBES_H
#define PROBE_INJECT_PROBES_H

#include "probe/inject/pad.h"
#include "probe/inject/process.h"

struct sonde_probes;
struct sonde_publish_filter;

struct sonde_probe_spec {
	uint64_t address;
	/* Where the window is to begin that this address is in; 0: there */
	uint64_t window;
	/* agent.h; 0 for all else than functions' calls */
	uint32_t role, call, frame, gives;
	uint64_t function;
	struct sonde_agent_near near;
	bool is_filtered; /* likewise */
	bool is_idle;     /* the instruction there does nothing: it isn't run */
	const struct sonde_publish_filter *filter; /* copied */
	const struct sonde_program *condition;     /* NULL: always; copied */
	bool breaks;
	uint32_t event;      /* index in the arena; of the hits */
	uint32_t step_event; /* of the steps */
	/* copied; their `program` is an index into programs[] + 1 */
	const struct sonde_agent_item *items;
	size_t nr_items;
	const struct sonde_agent_item *step_items;
	size_t nr_step_items;
	const struct sonde_program *const *programs;
	size_t nr_programs;
	uint64_t passes, steps;
	uint32_t force_register, force_value; /* agent.h; 255: none */
	bool off;                             /* to be enabled later */
	bool keeps_hits; /* if it gets the number of one that is out: that one's
			  * hits are the same recording's, and stay counted */
};

struct sonde_probe_facts {
	uint64_t address;
	enum sonde_window_kind kind;
	const char *why_trap; /* window.h */
	bool native;          /* the condition is native code */
	uint64_t hits, faults, divisions, cut;
	uint64_t pad; /* where */
};

/* The process must have its agent (sonde_process_install). */
int sonde_probes_new(struct sonde_process *process,
		     struct sonde_probes **ret_probes);
/* Takes all out, as far as the process lives. */
void sonde_probes_free(struct sonde_probes *probes);

/* 0 and its index; -errno with *error. The probe works when it returns. */
int sonde_probes_add(struct sonde_probes *probes,
		     const struct sonde_probe_spec *spec,
		     struct sonde_process_error *error, uint32_t *ret_index);
/* All or none; one round of patching for all. */
int sonde_probes_add_all(struct sonde_probes *probes,
			 const struct sonde_probe_spec *specs, size_t nr,
			 struct sonde_process_error *error,
			 uint32_t *ret_indexes);
/* Why the last one that should have been added was not, without where: a
 * constant text; NULL: the error's number says it all. */
const char *sonde_probes_reason(const struct sonde_probes *probes);
int sonde_probes_remove(struct sonde_probes *probes, uint32_t index);
/* Those that are in; one round of patching for all. 0, or -errno: what is still
 * in the text is without effect. */
int sonde_probes_remove_all(struct sonde_probes *probes,
			    const uint32_t *indexes, size_t nr);
/* No code is changed: the agent ignores its hits. (That of one that breaks is,
 * unless it is as wished.) */
int sonde_probes_enable(struct sonde_probes *probes, uint32_t index, bool on);
/* Bytes for the agent, in plans[] from then on. 0 or -ENOSPC. */
int sonde_probes_copy(struct sonde_probes *probes, const void *bytes, size_t nr,
		      uint64_t *ret_at);
int sonde_probes_facts(const struct sonde_probes *probes, uint32_t index,
		       struct sonde_probe_facts *ret_facts);

/* A break's trap: if the thread stopped behind the int3 at `pc - 1` in a pad,
 * 0, the probed address and where to go on (in the pad: what else is probed
 * there, then the displaced code). -ENOENT: none of ours. */
int sonde_probes_broke(const struct sonde_probes *probes, uint64_t pc,
		       uint64_t *ret_address, uint64_t *ret_go_on);
/* The address that `pc` stands for: itself, or that of the instruction whose
 * copy, or condition, it is in. */
uint64_t sonde_probes_site_of(const struct sonde_probes *probes, uint64_t pc);
/* Where the instruction that begins at `address`, in a window, now runs, with
 * its probes; 0: it is in none. */
uint64_t sonde_probes_copy_of(const struct sonde_probes *probes,
			      uint64_t address);
/* Whether `pc` is in a pad: of which instruction; *ret_exact: exactly at the
 * entry of one inside the window, that is behind the one before; *ret_go_on:
 * that instruction's copy, behind its probes. */
bool sonde_probes_in_pad(const struct sonde_probes *probes, uint64_t pc,
			 uint64_t *ret_address, bool *ret_exact,
			 uint64_t *ret_go_on);
/* For debuggers that hold the threads: a byte of a pad, which is in shared
 * memory that they can't write to, is exchanged. 0; -ENOENT: no pad is there. */
int sonde_probes_swap_byte(struct sonde_probes *probes, uint64_t pc,
			   uint8_t *byte);
/* Bytes as they are without probes: what GDB should see. */
void sonde_probes_hide(const struct sonde_probes *probes, uint64_t address,
		       uint8_t *bytes, size_t nr);

#endif /* PROBE_INJECT_PROBES_H */
