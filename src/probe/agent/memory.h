/* SPDX-License-Identifier: MIT */
/*
 * memory.h - reading the program's memory, which may not be readable.
 *
 * Each instruction that may fault has an entry in section sonde_faults, by
 * which the handler of SIGSEGV and SIGBUS finds where to go on (thunk.h).
 */
#ifndef PROBE_AGENT_MEMORY_H
#define PROBE_AGENT_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#define SONDE_AGENT_MAY_FAULT(from, to)               \
	".pushsection sonde_faults,\"a\",@progbits\n" \
	".balign 4\n"                                 \
	".long " from " - .\n"                        \
	".long " to " - .\n"                          \
	".popsection\n"

/* `bytes` is 1, 2, 4 or 8. False: *ret_value is 0. */
static inline bool sonde_agent_load(uint64_t address, uint32_t bytes,
				    uint64_t *ret_value)
{
	uint64_t value = 0;
	uint32_t ok = 0;

#define SONDE_AGENT_LOAD(instruction)                                   \
	__asm__ volatile("990: " instruction "\n"                       \
			 "movl $1, %[ok]\n"                             \
			 "991:\n" SONDE_AGENT_MAY_FAULT("990b", "991b") \
			 : [value] "+r"(value), [ok] "+r"(ok)           \
			 : [address] "r"(address)                       \
			 : "memory")
	switch (bytes) {
	case 1:
		SONDE_AGENT_LOAD("movzbl (%[address]), %k[value]");
		break;
	case 2:
		SONDE_AGENT_LOAD("movzwl (%[address]), %k[value]");
		break;
	case 4:
		SONDE_AGENT_LOAD("movl (%[address]), %k[value]");
		break;
	default:
		SONDE_AGENT_LOAD("movq (%[address]), %[value]");
		break;
	}
#undef SONDE_AGENT_LOAD
	*ret_value = value;
	return ok;
}

/* As many bytes as can be read from `address` on; returns how many could not.
 */
static inline uint64_t sonde_agent_copy(void *to, uint64_t address,
					uint64_t bytes)
{
	__asm__ volatile("990: rep movsb\n"
			 "991:\n" SONDE_AGENT_MAY_FAULT("990b", "991b")
			 : "+D"(to), "+S"(address), "+c"(bytes)
			 :
			 : "memory");
	return bytes;
}

#endif /* PROBE_AGENT_MEMORY_H */
