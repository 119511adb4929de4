/* SPDX-License-Identifier: MIT */
/*
 * options.h - what the user asks of `sonde record`: a session, and what is to
 * be told about it.
 *
 * Parsing is a pure function of the words on the command line: it touches no
 * file and prints nothing. What is wrong is said in one line of text that
 * names the word, the limit and the remedy.
 */
#ifndef SESSION_OPTIONS_H
#define SESSION_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/option.h"
#include "session/config.h"

#define SONDE_SOURCE_MEMORY_PER_CPU (16ull << 20)
#define SONDE_BY_MAX                1024u
#define SONDE_INTERVAL_MIN_US       50000u
#define SONDE_INTERVAL_MAX_US       3600000000u
#define SONDE_FUNCTIONS_MAX         32u /* globs */
/* The words of --loglevel, for completion. */
#define SONDE_LOGLEVEL_NAMES                                                  \
	"emerg alert crit err warning notice info debug_system "              \
	"debug_program debug_process debug_module debug_unit debug_function " \
	"debug_line debug"

/* Calls of the C library that are events. */
enum sonde_record_hooks {
	SONDE_RECORD_MALLOC = 1,
	SONDE_RECORD_LOCKS = 2,
	SONDE_RECORD_IO = 4,
	SONDE_RECORD_LOG = 8, /* not of what runs already */
};

struct sonde_record_options {
	struct sonde_session_config session; /* words are borrowed from argv */
	const char *output;  /* borrowed from argv; NULL: choose a name */
	const char *arena;   /* likewise; NULL: rings are memory */
	bool memory_given;   /* or else it is the default */
	unsigned int hooks;  /* of enum sonde_record_hooks */
	bool hook_functions; /* of what was compiled for it */
	/* GLOB[@MODULE] of functions of any code, and what of them isn't meant;
	 * borrowed from argv */
	const char *functions[SONDE_FUNCTIONS_MAX];
	const char *nots[SONDE_FUNCTIONS_MAX];
	uint32_t nr_functions, nr_nots;
	/* -e sdt:GLOB, with the condition; borrowed from argv */
	const char *sites[SONDE_FUNCTIONS_MAX];
	uint32_t nr_sites;
	bool functions_if;        /* of some, only calls under a condition */
	bool functions_args;      /* with what they are given and return */
	int64_t functions_min_ns; /* calls that are shorter leave nothing */
	uint32_t functions_depth; /* nor do deeper ones; 0: any */
	bool quiet;
	bool verbose;
	bool json;
	bool help;
	/* sonde live, top; borrowed from argv, or NULL */
	char *name; /* of a session: nothing is recorded by ourselves */
	const char *shown_filter;
	const char *columns;
	bool no_names;
	bool once;
	/* sonde count */
	bool live;
	bool by_process;
	uint64_t interval_us;  /* of --live, sonde top */
	char by[SONDE_BY_MAX]; /* what the keys are, one after the other */
	/* borrowed; NULL-terminated; NULL with help, or if only the machine, or
	 * what runs already, is recorded */
	char *const *program;
};

/* What there is, for --help as well. */
extern const struct sonde_option sonde_record_option_table[],
	sonde_count_option_table[], sonde_live_option_table[],
	sonde_top_option_table[];

/*
 * argv[0] is the command's own name. Returns 0; -EINVAL and one line in
 * `error` if something is wrong. *ret_options is written in any case; its
 * kernel's rules live as long as the process (one parse per process has any).
 */
int sonde_record_options_parse(int argc, char *const *argv,
			       struct sonde_record_options *ret_options,
			       char *error, size_t error_size);

/* The same of `sonde start NAME`: argv[0] is the session's name, and there is no
 * program. */
int sonde_session_options_parse(int argc, char *const *argv,
				struct sonde_record_options *ret_options,
				char *error, size_t error_size);

/* The same of `sonde count` and `sonde hist`: SONDE_COUNT is the session's mode,
 * or SONDE_TALLY. */
int sonde_count_options_parse(int argc, char *const *argv,
			      struct sonde_record_options *ret_options,
			      char *error, size_t error_size);

/* The same of `sonde live` or of `sonde top`, by its table. */
int sonde_record_options_parse_table(const struct sonde_option *table, int argc,
				     char *const *argv,
				     struct sonde_record_options *ret_options,
				     char *error, size_t error_size);

/* A syslog or debug level by name, in any case, or by number. 0 or -EINVAL. */
int sonde_parse_loglevel(const char *text, uint32_t *ret_level);

#endif /* SESSION_OPTIONS_H */
