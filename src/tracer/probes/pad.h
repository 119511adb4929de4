/* SPDX-License-Identifier: MIT */
/*
 * pad.h - the code a probed address leads to.
 *
 *	for each probe:	lea -128(%rsp),%rsp		red zone
 *			save scratch and flags, as needed
 *			condition (expr/jit): false falls through
 *	back_k:		restore; lea 128(%rsp),%rsp
 *	the displaced instructions, made to run here
 *	jmp behind the window
 *
 *	out of line, per probe:
 *	hit_k:		restore all but rsp; push the probe's index; call the
 *			agent's hit thunk; lea 128(%rsp),%rsp; go on behind
 *			back_k
 *	fault_k:	count, and to back_k
 *
 * A pad is made for one address where it will run; it has no state.
 */
#ifndef TRACER_PROBES_PAD_H
#define TRACER_PROBES_PAD_H

#include "expr/expr.h"
#include "tracer/probes/agent.h"
#include "tracer/probes/window.h"

struct sonde_pad_probe {
	uint32_t index; /* in struct sonde_agent */
	/* NULL: always true. One that the generator can't do is evaluated by
	 * the agent (struct sonde_agent_probe, condition): the caller sees
	 * that in ret_pad->native */
	const struct sonde_program *condition;
	bool breaks; /* true: int3 instead of the agent's hit (a breakpoint) */
};

struct sonde_pad_request {
	const struct sonde_window *window;
	uint64_t address; /* where it will run */
	const struct sonde_pad_probe *probes;
	size_t nr_probes;
	uint64_t hit;        /* the agent's thunk, anywhere */
	uint64_t agent_data; /* struct sonde_agent in the process: faults and
				divisions are counted there */
};

#define SONDE_PAD_BYTES_MAX 65536

struct sonde_pad {
	uint8_t *bytes; /* for free() */
	uint32_t nr_bytes;
	uint32_t copies[SONDE_WINDOW_INSNS]; /* offsets of the displaced ones */
	struct sonde_agent_fault *faults;    /* absolute; for free() */
	size_t nr_faults;
	uint32_t
		*breaks; /* offsets behind the int3 of each probe that breaks */
	bool *native;    /* by probe */
};

/* 0; -EOPNOTSUPP, -ERANGE (too far from what the displaced code refers to),
 * -ENOMEM. */
int sonde_pad_make(const struct sonde_pad_request *request,
		   struct sonde_pad *ret_pad);
void sonde_pad_free(struct sonde_pad *pad);

#endif /* TRACER_PROBES_PAD_H */
