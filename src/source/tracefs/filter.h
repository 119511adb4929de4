/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * filter.h - a rule's condition in the language of the kernel's event filters,
 * for the file `filter` of an event.
 *
 * Numbers compared with constants, and all of several such, are said: what people
 * use most. The rest is left out, which makes the filter pass more, never less:
 * then whoever reads the records tests the whole condition again
 * (source/condition.h), as tracefs is the fallback of BPF and the module.
 *
 * Pure; allocates while it runs.
 */
#ifndef SOURCE_TRACEFS_FILTER_H
#define SOURCE_TRACEFS_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sonde/abi.h>

/* The kernel takes no longer text, its NUL included, where pages have 4 KiB. */
#define SONDE_TRACEFS_FILTER_MAX 4096u

/*
 * A number of the description that is a field of the kernel's record, moved and
 * widened, or cut to its low bytes, at most. Those that are made in other ways
 * (a state that is a bit set in the kernel and a number in the trace) are not
 * to be listed: nothing is said about them.
 */
struct sonde_tracefs_field {
	const char *name;        /* the description's */
	const char *kernel_name; /* the format file's */
	uint32_t size;  /* bytes in the kernel's record: 1, 2, 4 or 8 */
	bool is_signed; /* as the format file says */
	/* The trace's value is the kernel's plus this, and never overflows. */
	int32_t add;
};

/*
 * The filter for a condition over `desc`, NUL-terminated, in `out`, of `size`
 * bytes; at most SONDE_TRACEFS_FILTER_MAX make sense. Fields of the description
 * that aren't listed are as if the kernel didn't know them; `tid` and `cpu` are
 * the kernel's common_pid and CPU.
 *
 * 0: it holds for exactly the records for which the condition does.
 * 1: it holds for those and maybe others. Test what is recorded.
 * -EOPNOTSUPP: nothing can be said; record all, and test that.
 * -EINVAL: sonde_condition_new() refuses it, too.  -ENOMEM.
 */
int sonde_tracefs_filter(const struct sonde_desc *desc, const char *condition,
			 const struct sonde_tracefs_field *fields, size_t nr,
			 char *out, size_t size);

#endif /* SOURCE_TRACEFS_FILTER_H */
