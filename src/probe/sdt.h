/* SPDX-License-Identifier: MIT */
/*
 * sdt.h - the arguments of a probe of <sys/sdt.h> as expressions of C over
 * registers and memory, which compile.h understands.
 *
 *	8@%rdi			(unsigned long)$rdi
 *	-4@-20(%rbp)		*(int *)($rbp + -20)
 *	8f@8(%rax,%rcx,8)	*(double *)($rax + $rcx * 8 + 8)
 *
 * So what a user writes of such a place, `$arg1 > 5`, is C as well.
 */
#ifndef PROBE_SDT_H
#define PROBE_SDT_H

#include "probe/debuginfo_parts.h"
#include "probe/markers.h"

/* "sdt:PROVIDER:NAME", globs. */
bool sonde_probe_sdt_is_place(const char *text);
bool sonde_probe_sdt_matches(const char *text,
			     const struct sonde_probe_marker *marker);

struct sonde_probe_sdt {
	struct sonde_probe_dwarf *dwarf; /* for symbols */
	const struct sonde_probe_marker *marker;
};

/* 1 and more: the text is $argN and nothing else. 0: it is something else. */
unsigned int sonde_probe_sdt_number(const char *text);

/* The text with an expression for each $argN; false, with the reason. */
bool sonde_probe_sdt_expand(const struct sonde_probe_sdt *sdt, const char *text,
			    char *to, size_t size, char *error,
			    size_t error_size);

/* "$arg1, $arg2 ...": all whose values can be had. Their number. */
unsigned int sonde_probe_sdt_all(const struct sonde_probe_sdt *sdt, char *to,
				 size_t size);

/* The line of kind "type" (types.h) for the k-th thing that is recorded when the
 * action records the argument, or the string that it points to; false: there is
 * no k-th. */
struct sonde_probe_sdt_recorded {
	size_t action;
	unsigned int number;
	bool is_string;
};
bool sonde_probe_sdt_type(const struct sonde_probe_sdt *sdt,
			  const struct sonde_probe_sdt_recorded *recorded,
			  unsigned int k, char *to, size_t size);

#endif /* PROBE_SDT_H */
