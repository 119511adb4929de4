/* SPDX-License-Identifier: MIT */
/*
 * site.h - a call site: the address in an image that a call returned to, and
 * when it was used, without which the address has no name (names/names.h).
 *
 * Programs that fork have the same call sites in each process. Plain data; a
 * name is looked up once for each site, when a table shows it.
 */
#ifndef ANALYSIS_REPORTS_SITE_H
#define ANALYSIS_REPORTS_SITE_H

#include "analysis/analysis.h"
#include "base/hash.h"

struct sonde_analysis_site {
	uint64_t caller, image;    /* 0: not known */
	int64_t first_ns, last_ns; /* when it was used */
	uint32_t stack; /* the number of its call stack; 0: none, or any */
};

/* The key of a hash table of call sites; of a stack of 0, those of any. */
struct sonde_key sonde_analysis_site_key(uint64_t caller, uint64_t image,
					 uint32_t stack);
/* It was used at that time, too; of a new one, of zeros, also for the first
 * time. */
void sonde_analysis_site_use(struct sonde_analysis_site *site, uint64_t caller,
			     uint64_t image, int64_t time_ns);
struct sonde_model_stack;
/* Of a call stack of the kernel's events, of one time; without a number, none. */
struct sonde_analysis_site
sonde_analysis_site_of(const struct sonde_model_stack *stack, int64_t time_ns);
/* Of the call. NULL: the trace doesn't say what was mapped, or no name is
 * wanted. */
const struct sonde_name *
sonde_analysis_site_name(const struct sonde_analysis_args *args,
			 const struct sonde_analysis_site *site);
/* The call's name as a table's text, or NULL. */
const char *sonde_analysis_site_text(const struct sonde_analysis_args *args,
				     const struct sonde_analysis_site *site);

/* The variable at its address; NULL: none is known, or as _name(). */
const char *
sonde_analysis_site_variable(const struct sonde_analysis_args *args,
			     const struct sonde_analysis_site *site);

/* The site's call stack from the call on, without the frames of hooks before it.
 * One that has none, or one that ends before, has the call, if that is known.
 * Frames are the names' or the site's. */
struct sonde_names_stack
sonde_analysis_site_stack(const struct sonde_analysis_args *args,
			  const struct sonde_analysis_site *site);
/* Of one of its frames, for a name. */
struct sonde_names_place
sonde_analysis_site_place(const struct sonde_analysis_site *site,
			  uint64_t frame);

#endif /* ANALYSIS_REPORTS_SITE_H */
