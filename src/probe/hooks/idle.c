/* SPDX-License-Identifier: MIT */
/*
 * idle.c - calls that do nothing (idle.h). All that is read is the process's, and
 * whatever it is, the answer is about some bytes of code.
 */
#include "probe/hooks/idle.h"

#include <string.h>

#include "probe/inject/exits.h"
#include "probe/inject/insn.h"

#define CODE_BYTES 16

/* As much of the code as there is: a page may end. */
static size_t idle_read_code(const struct sonde_process *process,
			     uint64_t address, uint8_t bytes[CODE_BYTES])
{
	size_t nr = CODE_BYTES;

	while (nr && sonde_process_read(process, address, bytes, nr))
		nr--;
	return nr;
}

static bool idle_read_word(const struct sonde_process *process, uint64_t slot,
			   uint64_t *ret)
{
	return !sonde_process_read(process, slot, ret, sizeof(*ret));
}

/* ret, or endbr64 and ret. */
static bool idle_is_return(const uint8_t *bytes, size_t nr)
{
	struct sonde_insn insn;
	size_t at = 0;

	if (sonde_insn_decode(bytes, nr, 0, &insn))
		return false;
	if (insn.is_endbr)
		at = insn.length;
	return !sonde_insn_decode(bytes + at, nr - at, 0, &insn) &&
	       insn.flow == SONDE_INSN_RETURN && insn.length == 1;
}

bool sonde_hooks_idle_call(const struct sonde_process *process,
			   uint64_t address)
{
	uint8_t bytes[CODE_BYTES];
	size_t nr = idle_read_code(process, address, bytes);
	struct sonde_insn insn;
	uint64_t to;

	if (sonde_insn_decode(bytes, nr, address, &insn))
		return false;
	to = insn.target;
	if (insn.flow == SONDE_INSN_CALL_INDIRECT && insn.rip_at) {
		if (!idle_read_word(process,
				    sonde_insn_slot(&insn, bytes, address),
				    &to))
			return false;
	} else if (insn.flow != SONDE_INSN_CALL) {
		return false;
	}
	nr = idle_read_code(process, to, bytes);
	if (!sonde_exits_slot(bytes, nr, to, &to)) {
		if (!idle_read_word(process, to, &to))
			return false;
		nr = idle_read_code(process, to, bytes);
	}
	return idle_is_return(bytes, nr);
}
