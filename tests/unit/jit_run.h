/* SPDX-License-Identifier: MIT */
/*
 * jit_run.h - runs native code of conditions (expr/jit) with registers and
 * memory as they are told. One thread.
 */
#ifndef UNIT_JIT_RUN_H
#define UNIT_JIT_RUN_H

#include "agent_corpus.h"
#include "agent_model.h"
#include "expr/jit/jit.h"

enum jit_outcome {
	JIT_FALSE,
	JIT_TRUE,
	JIT_DIVIDED,
	JIT_FAULT,
	JIT_OUTCOMES,
};

#define JIT_MEMORY 65536 /* bytes; what is before and behind can't be read */

void jit_run_init(void); /* takes SIGSEGV and SIGBUS */
uint8_t *jit_run_memory(void);
/* A world's byte(): that memory, and nothing else. */
bool jit_run_byte(void *ctx, uint64_t address, uint8_t *ret_byte);

/*
 * With these registers (agent.h's), which it must leave as they are, but for
 * those it was given to write. `choice` says which these are. 0, or what
 * sonde_jit_new() or _emit() says. Aborts if it changes what it must not, or
 * faults where it doesn't say so.
 */
int jit_run_probe(const struct sonde_program *program,
		  const uint64_t *registers, unsigned int choice,
		  enum jit_outcome *ret_outcome);
/* As a function of two bases. `texts`: how much of base 0 there is, and which
 * texts, as in struct sonde_jit_config; NULL: none. */
int jit_run_function(const struct sonde_program *program,
		     const struct sonde_jit_config *texts, const uint8_t *base0,
		     const uint8_t *base1, bool *ret_true);
/* What the evaluator says of a probe's condition. */
enum jit_outcome jit_evaluate(const struct sonde_program *program,
			      struct agent_world *world);
/* The code that was run, in hexadecimal. */
const char *jit_run_hex(void);

/* Makes a stop's memory the process's own; false: there is something. */
bool jit_run_map(const struct corpus_case *one);
void jit_run_unmap(const struct corpus_case *one);

#endif /* UNIT_JIT_RUN_H */
