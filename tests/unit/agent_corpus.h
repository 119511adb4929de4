/* SPDX-License-Identifier: MIT */
/*
 * agent_corpus.h - expressions that GDB itself compiled, what they see, and what
 * GDB's `print` says that they are: agent_corpus.txt.
 *
 *   build NAME			how the program was compiled (subject.c)
 *   condition BYTES TEXT	what `maint agent-eval` makes of TEXT there
 *   collection BYTES TEXT	what `maint agent` makes of it
 *   stop			the program has stopped; what follows is of then
 *   registers N ...		in the order of expr/agent.h
 *   memory ADDRESS BYTES	all there is: none else can be read
 *   values N ...		of the build's conditions, in order: a number, or
 *				"fault", "divided", or "-": GDB won't say
 *
 * All numbers are hexadecimal. agent_corpus/generate made it.
 */
#ifndef UNIT_AGENT_CORPUS_H
#define UNIT_AGENT_CORPUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CORPUS_REGISTERS 26

enum corpus_expected {
	CORPUS_VALUE,
	CORPUS_FAULT,
	CORPUS_DIVIDED,
	CORPUS_UNKNOWN,
};

struct corpus_memory {
	uint64_t address;
	size_t size;
	uint8_t *bytes;
};

/* An expression at a stop. */
struct corpus_case {
	const char *build, *text;
	const uint8_t *bytes;
	size_t nr;
	bool collects;
	uint64_t registers[CORPUS_REGISTERS];
	struct corpus_memory memory[8];
	size_t nr_memory;
	enum corpus_expected expected; /* of a collection: UNKNOWN */
	uint64_t value;
};

/* Visits all; returns how many, or -1 if the file can't be had. */
long corpus_each(void (*visit)(const struct corpus_case *one, void *ctx),
		 void *ctx);

/* The byte at an address of the stop's memory; false: it has none there. */
bool corpus_byte(const struct corpus_case *one, uint64_t address,
		 uint8_t *ret_byte);

#endif /* UNIT_AGENT_CORPUS_H */
