/* SPDX-License-Identifier: MIT */
/*
 * pad.h - the code a probed address leads to.
 *
 *	for each instruction of the window, at entries[i]:
 *		for each probe at it, k:
 *			lea -128(%rsp),%rsp	red zone; unless nothing is saved
 *			push what the condition writes
 *			lahf; seto; push %rax	unless the flags are dead
 *			condition (expr/jit): false falls through
 *	back_k:		pop all; lea 128(%rsp),%rsp
 *		at copies[i]: the instruction, made to run here (nothing, if
 *			it is idle)
 *	jmp behind the window
 *
 *	out of line, per probe with a condition (one without has this in line):
 *	hit_k:		as back_k, but for rsp, which is left 128 lower
 *			push the probe's index; call the agent's hit thunk;
 *			lea 136(%rsp),%rsp; go on behind back_k
 *			(breaks: all as back_k; int3; go on behind back_k)
 *	divided_k:	count, and to back_k
 *
 * A read that faults goes on at back_k; the fault's handler counts it. There
 * is nothing on the stack that the condition put there.
 *
 * A condition that reads a register which had to be saved, because no other is
 * left to write or because it divides, finds it on the stack.
 *
 * A pad is made for one address where it will run; it has no state.
 */
#ifndef PROBE_INJECT_PAD_H
#define PROBE_INJECT_PAD_H

#include "expr/expr.h"
#include "probe/inject/agent.h"
#include "probe/inject/window.h"

struct sonde_pad_probe {
	uint32_t index; /* in struct sonde_agent */
	/* NULL: always true. One that the generator can't do is evaluated by
	 * the agent (struct sonde_agent_probe, condition): the caller sees
	 * that in ret_pad->native */
	const struct sonde_program *condition;
	bool is_call; /* its hits go to request->call (agent/call.h) */
	bool breaks;  /* true: int3 instead of the agent's hit (a breakpoint) */
	uint8_t insn; /* which of the window's instructions it is at */
};

struct sonde_pad_request {
	const struct sonde_window *window;
	uint64_t address;                     /* where it will run */
	const struct sonde_pad_probe *probes; /* evaluated in this order */
	size_t nr_probes;
	uint64_t hit;        /* the agent's thunk, anywhere */
	uint64_t call;       /* the one of calls */
	uint64_t agent_data; /* struct sonde_agent in the process: faults and
				divisions are counted there */
};

#define SONDE_PAD_BYTES_MAX 65536

struct sonde_pad {
	uint8_t *bytes; /* for free() */
	uint32_t nr_bytes;
	/* offsets of the window's instructions: with the probes before them,
	 * and without */
	uint32_t entries[SONDE_WINDOW_INSNS];
	uint32_t copies[SONDE_WINDOW_INSNS];
	/* from a copy to what it does behind a push of 8 bytes, and may fault;
	 * 0: there is no such */
	uint32_t pushed[SONDE_WINDOW_INSNS];
	uint32_t way_back;                /* offset behind the last copy */
	struct sonde_agent_fault *faults; /* absolute; for free() */
	size_t nr_faults;
	uint32_t *breaks; /* by probe: offset behind its int3; 0: doesn't break;
			     for free() */
	bool *native;     /* by probe; for free() */
};

/* 0; -EOPNOTSUPP, -ERANGE (too far from what the displaced code refers to),
 * -ENOMEM. */
int sonde_pad_make(const struct sonde_pad_request *request,
		   struct sonde_pad *ret_pad);
void sonde_pad_free(struct sonde_pad *pad);

#endif /* PROBE_INJECT_PAD_H */
