/* SPDX-License-Identifier: MIT */
/*
 * kernel.h - signals as the kernel passes them on x86-64. The image has no C
 * library, and takes only what it needs of the kernel's interface.
 */
#ifndef PROBE_AGENT_KERNEL_H
#define PROBE_AGENT_KERNEL_H

#include <stdint.h>

enum {
	SONDE_KERNEL_SIGILL = 4,
	SONDE_KERNEL_SIGTRAP = 5,
	SONDE_KERNEL_SIGBUS = 7,
	SONDE_KERNEL_SIGFPE = 8,
	SONDE_KERNEL_SIGSEGV = 11,
};

/* Flags of an action. */
#define SONDE_KERNEL_NODEFER   0x40000000ull
#define SONDE_KERNEL_RESETHAND 0x80000000ull

/* A handler's special values. */
#define SONDE_KERNEL_DEFAULT 0
#define SONDE_KERNEL_IGNORE  1

/* struct siginfo: the first words. */
struct sonde_kernel_siginfo {
	int32_t number;
	int32_t error;
	int32_t code; /* <= 0: somebody sent it */
	int32_t padding;
	uint64_t address; /* of a fault */
};

/* Its code after a single step. */
#define SONDE_KERNEL_TRACE 2

/* struct ucontext: registers of the interrupted code. */
enum {
	SONDE_KERNEL_R8 = 0, /* to R15, which is 7 */
	SONDE_KERNEL_RDI = 8,
	SONDE_KERNEL_RSI,
	SONDE_KERNEL_RBP,
	SONDE_KERNEL_RBX,
	SONDE_KERNEL_RDX,
	SONDE_KERNEL_RAX,
	SONDE_KERNEL_RCX,
	SONDE_KERNEL_RSP = 15,
	SONDE_KERNEL_RIP = 16,
	SONDE_KERNEL_EFLAGS = 17,
	SONDE_KERNEL_NR_REGISTERS = 23,
};

struct sonde_kernel_context {
	uint64_t flags;
	uint64_t link;
	uint64_t stack[3];
	uint64_t registers[SONDE_KERNEL_NR_REGISTERS];
};

_Static_assert(sizeof(struct sonde_kernel_context) == 224,
	       "what the kernel pushes");

enum {
	SONDE_KERNEL_MPROTECT = 10,
	SONDE_KERNEL_RT_SIGACTION = 13,
	SONDE_KERNEL_RT_SIGPROCMASK = 14,
	SONDE_KERNEL_PREAD = 17,
	SONDE_KERNEL_PWRITE = 18,
	SONDE_KERNEL_GETPID = 39,
	SONDE_KERNEL_GETTID = 186,
	SONDE_KERNEL_RT_TGSIGQUEUEINFO = 297,
	SONDE_KERNEL_MEMBARRIER = 324,
};

static inline int64_t sonde_kernel_call(uint64_t number, uint64_t a, uint64_t b,
					uint64_t c, uint64_t d)
{
	register uint64_t r10 __asm__("r10") = d;
	int64_t result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "0"(number), "D"(a), "S"(b), "d"(c), "r"(r10)
			 : "rcx", "r11", "memory");
	return result;
}

#endif /* PROBE_AGENT_KERNEL_H */
