/* SPDX-License-Identifier: MIT */
/*
 * perf_kernel.h - what the kernel's code of a perf.data is called. The file has no
 * names, but the kernel's build id, and where the kernel and its modules lay: so
 * the names are taken from a list of the same kernel, and moved by what it lay
 * elsewhere then.
 *
 *	/proc/kallsyms			if this machine runs that kernel
 *	~/.debug/[kernel.kallsyms]/BUILD-ID/kallsyms
 *					which perf record has put there
 *
 * Modules are moved one by one, so of those only functions are named that the list
 * has where the module lay. One thread.
 */
#ifndef IMPORT_PERF_KERNEL_H
#define IMPORT_PERF_KERNEL_H

#include "import/output.h"
#include "import/perf_file.h"

struct sonde_import_perf_module {
	char name[64];
	uint64_t begin, end;
};

/* Zeros are nothing. */
struct sonde_import_perf_kernel {
	bool is_wanted; /* a sample was in the kernel */
	uint64_t text;  /* the address of `symbol`; 0: it isn't said */
	char symbol[16];
	struct sonde_import_perf_module *modules;
	size_t nr, room;
};

/* Whether it is a mapping of no process: the kernel's own or a module's. */
bool sonde_import_perf_kernel_is(const struct sonde_import_perf_piece *piece);
/* Of such a one; what makes no sense tells nothing. 0 or -ENOMEM. */
int sonde_import_perf_kernel_mapped(
	struct sonde_import_perf_kernel *kernel,
	const struct sonde_import_perf_piece *piece);

/* The names, as those of a state dump, one event each. NULL; or, in words that go
 * on "the kernel's code has no names: ", why there are none. Errors of the stream
 * stick. */
const char *
sonde_import_perf_kernel_put(const struct sonde_import_perf_kernel *kernel,
			     const struct sonde_import_perf *perf,
			     struct sonde_import_stream *stream);

void sonde_import_perf_kernel_fini(struct sonde_import_perf_kernel *kernel);

#endif /* IMPORT_PERF_KERNEL_H */
