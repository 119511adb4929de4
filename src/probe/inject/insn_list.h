/* SPDX-License-Identifier: MIT */
/*
 * insn_list.h - the instructions of a function, decoded once for all the questions
 * that are asked of it: a function of 800 instructions with 20 returns has some
 * thousand candidates for windows (exits.h), and each wants to know of every
 * branch.
 *
 * Pure. A table belongs to the bytes that it was made from, of which it has a
 * copy: sonde_insn_list_fit() tells whether a view has the same.
 */
#ifndef PROBE_INJECT_INSN_LIST_H
#define PROBE_INJECT_INSN_LIST_H

#include "probe/inject/insn.h"
#include "probe/inject/window.h"

struct sonde_insn_at {
	uint64_t address;
	struct sonde_insn insn;
};

struct sonde_insn_list {
	uint64_t address; /* of the function */
	size_t size;      /* with what is behind it */
	uint8_t *bytes;
	size_t nr;
	struct sonde_insn_at *list; /* from the function's start, without gap */
};

/* All instructions of the view, which need be no function. 0; -EINVAL: not all
 * of it is code; -ENOMEM. */
int sonde_insn_list_read(const struct sonde_code_view *view,
			 struct sonde_insn_list *ret_insns);
void sonde_insn_list_free(struct sonde_insn_list *insns);

bool sonde_insn_list_fit(const struct sonde_insn_list *insns,
			 const struct sonde_code_view *view);

/* The one that begins at the address; NULL: none does. */
const struct sonde_insn *sonde_insn_list_at(const struct sonde_insn_list *insns,
					    uint64_t address);

#endif /* PROBE_INJECT_INSN_LIST_H */
