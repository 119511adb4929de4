/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * kernel_frames.c - see kernel_frames.h. Ranges are ordered; one ends where the next
 * function of the kernel begins.
 */
#include "source/kernel_frames.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/port.h"
#include "base/search.h"
#include "sys/kallsyms.h"

/* Of the tracer's, among the first. */
#define OWN_FRAMES_MAX 8u
/* A function of the tracer's is no longer; where it ends isn't told. */
#define OWN_BYTES_MAX 4096u

struct sonde_callstacks_range {
	uint64_t begin, end;
};

struct own_search {
	struct sonde_callstacks_own *own;
	bool is_open; /* the last one ends where the next symbol begins */
	int rc;
};

static bool is_tracers(const char *name)
{
	static const char *const prefixes[] = {
		"__traceiter_",
		/* BPF's */
		"__bpf_trace_",
		"bpf_trace_run",
		"bpf_trampoline_",
		/* tracefs' */
		"trace_event_raw_event_",
		"trace_event_buffer_commit",
		"trace_buffer_unlock_commit",
	};

	for (size_t i = 0; i < SONDE_ARRAY_SIZE(prefixes); i++)
		if (!strncmp(name, prefixes[i], strlen(prefixes[i])))
			return true;
	return false;
}

static bool take_own_symbol(void *ctx, const struct sonde_kallsym *symbol)
{
	struct own_search *search = ctx;
	struct sonde_callstacks_own *own = search->own;
	struct sonde_callstacks_range *last =
		search->is_open ? &own->ranges[own->nr - 1] : NULL;

	if (!symbol->address || !symbol->is_code)
		return true;
	if (last && symbol->address > last->begin &&
	    symbol->address < last->end)
		last->end = symbol->address;
	/* Or our module's: a probe may be called without a tracepoint's code. */
	search->is_open = is_tracers(symbol->name) ||
			  (symbol->module && !strcmp(symbol->module, "sonde"));
	if (!search->is_open)
		return true;
	if (SONDE_GROW(own->ranges, own->nr, own->room)) {
		search->rc = -ENOMEM;
		return false;
	}
	/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): it has grown */
	own->ranges[own->nr++] = (struct sonde_callstacks_range){
		symbol->address,
		symbol->address + OWN_BYTES_MAX,
	};
	return true;
}

static int compare_own_code(const void *a, const void *b)
{
	const struct sonde_callstacks_range *left = a;
	const struct sonde_callstacks_range *right = b;

	return (left->begin > right->begin) - (left->begin < right->begin);
}

int sonde_callstacks_own_find(struct sonde_callstacks_own *own)
{
	struct own_search search = { .own = own };

	/* Without the list nothing is known to be the tracer's. */
	(void)sonde_kallsyms_each(take_own_symbol, &search);
	if (own->nr)
		qsort(own->ranges, own->nr, sizeof(*own->ranges),
		      compare_own_code);
	return search.rc;
}

void sonde_callstacks_own_fini(struct sonde_callstacks_own *own)
{
	free(own->ranges);
	*own = (struct sonde_callstacks_own){ 0 };
}

static bool is_tracers_code(const struct sonde_callstacks_own *own,
			    uint64_t address)
{
	size_t i;

	SONDE_SEARCH(i, own->nr, own->ranges[i].begin <= address);
	return i && address < own->ranges[i - 1].end;
}

static uint64_t frame_at(const void *at, uint32_t i)
{
	uint64_t address;

	memcpy(&address, (const unsigned char *)at + 8 * (size_t)i, 8);
	return address;
}

/* How many of the first frames are the tracer's: up to the last that is. */
static uint32_t count_own_frames(const struct sonde_callstacks_own *own,
				 const void *at, uint32_t nr)
{
	nr = nr < OWN_FRAMES_MAX ? nr : OWN_FRAMES_MAX;
	while (nr && !is_tracers_code(own, frame_at(at, nr - 1)))
		nr--;
	return nr;
}

bool sonde_callstacks_add_frames(struct sonde_callstacks_chain *chain,
				 const void *at, uint32_t nr, bool is_kernel,
				 bool is_exact)
{
	for (uint32_t i = 0; i < nr; i++)
		if (!sonde_callstacks_add(chain, frame_at(at, i), is_kernel,
					  is_exact && !i))
			return false;
	return true;
}

bool sonde_callstacks_add_kernel(struct sonde_callstacks_chain *chain,
				 const struct sonde_callstacks_own *own,
				 const void *at, uint32_t nr, bool is_exact)
{
	uint32_t skip = count_own_frames(own, at, nr);
	bool is_deeper = nr >= SONDE_CALLSTACKS_KERNEL_MAX;

	if (is_deeper)
		nr = SONDE_CALLSTACKS_KERNEL_MAX;
	/* Where a probe is, or where a call returns to. */
	if (!sonde_callstacks_add_frames(chain,
					 (const unsigned char *)at + 8 * skip,
					 nr - skip, true, is_exact && !skip))
		return false;
	if (is_deeper)
		chain->end = SONDE_STACK_DEEP;
	return !is_deeper;
}
