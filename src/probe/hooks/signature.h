/* SPDX-License-Identifier: MIT */
/*
 * signature.h - what a function is given and what it returns, and in which
 * registers, by its debugging information.
 *
 * As words, each behind a blank, that arguments.h reads:
 *
 *	aR5:u64:count	an argument, in GDB's register 5 at the first
 *			instruction; the rest is types.h's
 *	tR4:x64:path	one that is text: a const char *
 *	rR0:s32:result	what it returns, and
 *	qR0:x64:result	as text
 *
 * Whole numbers, truth, enumerations and pointers are told, of the first six
 * arguments. Where one is, its location says; where that is a place in a frame
 * that isn't made yet, as in code that isn't optimised, the ABI says, unless
 * something makes doubtful whether the function keeps to it. What can't be
 * known is left out.
 */
#ifndef PROBE_HOOKS_SIGNATURE_H
#define PROBE_HOOKS_SIGNATURE_H

#include <stdint.h>
#include <stdio.h>

#include "probe/debuginfo_parts.h"

/* Of the function that begins there, `symbol` by its file. */
void sonde_hooks_signature_say(struct sonde_probe_dwarf *dwarf,
			       uint64_t address, const char *symbol, FILE *to);

#endif /* PROBE_HOOKS_SIGNATURE_H */
