/* SPDX-License-Identifier: MIT */
/*
 * kernel.h - the kernel's functions by their addresses, as the trace's state dump
 * has them (sonde record --kernel-symbols), or else /proc/kallsyms when the trace
 * is read.
 *
 * That is the list of the kernel that runs now, so it is asked only about traces
 * whose clock has its boot id. The kernel itself doesn't change while it runs;
 * modules come and go, so of those only functions are named that lie where the
 * trace's state dump says that their module was. Code that the kernel makes as
 * it goes (BPF programs, trampolines) has no name.
 *
 * An address belongs to the last symbol up to it, if that is code; the last one
 * of a module reaches to the end of its page, as nothing says how long it is. Of
 * several symbols at one address the first in the list counts, as it does in what
 * the kernel prints.
 *
 * Memory: 32 bytes and the name for each symbol, some 10 MB for 120,000, and
 * 0.1 s, once an address of the kernel's is asked for. Any thread.
 */
#ifndef READER_NAMES_KERNEL_H
#define READER_NAMES_KERNEL_H

#include <stdbool.h>
#include <stdint.h>

#include <sonde/trace.h>

struct sonde_names_kernel;

/* NULL without memory. The trace is borrowed. */
struct sonde_names_kernel *sonde_names_kernel_new(struct sonde_trace *trace);
/* NULL is fine. */
void sonde_names_kernel_free(struct sonde_names_kernel *kernel);

/* The next part of a trace that is being written, or the first one: its state
 * dump counts together with those before. 0 or -ENOMEM. */
int sonde_names_kernel_follow(struct sonde_names_kernel *kernel,
			      struct sonde_trace *part);

/* Whether the events are a kernel's. */
bool sonde_names_kernel_is(const struct sonde_source *source);

/* Whether it may be one of the kernel's: no program has such addresses. */
static inline bool sonde_names_kernel_has(uint64_t address)
{
	return address >> 48 == 0xffff;
}

struct sonde_names_function {
	const char *name;   /* lives as long as the kernel; NULL: `lack` */
	const char *module; /* "" the kernel itself */
	uint64_t distance;  /* of the address, from the function's begin */
	const char *lack;   /* why it has no name; "" */
};

struct sonde_names_function
sonde_names_kernel_find(struct sonde_names_kernel *kernel,
			const struct sonde_source *source, uint64_t address);

/* Why addresses that were asked for have no names, where that holds for all of
 * them; NULL: they have, or none was asked for. */
const char *sonde_names_kernel_lack(const struct sonde_names_kernel *kernel);

#endif /* READER_NAMES_KERNEL_H */
