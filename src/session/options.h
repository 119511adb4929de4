/* SPDX-License-Identifier: MIT */
/*
 * options.h - what the user asks of a recording.
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
#include "base/port.h"
#include "ctf/trace.h"
#include "kernel/kernel.h"
#include "ring/layout.h"

#define SONDE_MEMORY_DEFAULT        (64ull << 20)
#define SONDE_MEMORY_MIN            (64ull << 10)
#define SONDE_MEMORY_MAX            (64ull << 30)
#define SONDE_READ_TIMER_MIN_US     50u
#define SONDE_READ_TIMER_MAX_US     10000000u
#define SONDE_LOGLEVEL_ALL          255u
#define SONDE_CONDITIONS_MAX        64u
#define SONDE_COMMON_FILTERS_MAX    16u
#define SONDE_KERNEL_STRING_DEFAULT 256u
#define SONDE_KERNEL_BYTES_MAX      4096u
#define SONDE_KERNEL_RETURNS_MAX    65536u
#define SONDE_KERNEL_MEMORY_PER_CPU (16ull << 20)

enum sonde_headers {
	SONDE_HEADERS_AUTO = 0, /* by the number of events */
	SONDE_HEADERS_COMPACT,
	SONDE_HEADERS_LARGE,
};

/* The condition of an -e. */
struct sonde_event_condition {
	uint32_t rule;    /* where its rule begins in `rules` */
	const char *text; /* borrowed from argv */
};

#define SONDE_ATTACH_MAX 64u

/* Which running processes are meant; all words are borrowed from argv. */
struct sonde_attach_options {
	uint32_t nr_whom;
	uint32_t nr_users;
	uint32_t nr_cgroups;
	const char *whom[SONDE_ATTACH_MAX];  /* numbers or names */
	const char *users[SONDE_ATTACH_MAX]; /* likewise */
	const char *cgroups[SONDE_ATTACH_MAX];
};

struct sonde_record_options {
	const char *output;     /* borrowed from argv; NULL: choose a name */
	uint64_t memory_bytes;  /* for the rings of all processes together */
	bool memory_given;      /* or else it is the default */
	uint32_t subbuf_bytes;  /* 0: choose by memory */
	uint32_t read_timer_us; /* 0: adapt to the load */
	uint32_t loglevel;
	enum sonde_ring_mode mode;
	enum sonde_headers headers;
	enum sonde_ctf_version ctf_version;
	/* the kernel's part; kernel_rules NULL: none */
	struct sonde_kernel_rules *kernel_rules; /* owned by the parser */
	struct sonde_kernel_rules *until_rules;  /* likewise; NULL: none */
	enum sonde_kernel_choice kernel_source;
	uint64_t kernel_memory_bytes; /* 0: by the number of CPUs */
	uint32_t kernel_string_bytes;
	uint32_t kernel_buffer_bytes;
	uint32_t kernel_returns; /* 0: by the number of threads */
	uint64_t duration_us;    /* 0: no limit */
	bool attaches;           /* any of the following is given */
	struct sonde_attach_options attach;
	bool whole_machine;
	bool self;
	bool hook_malloc;
	bool hook_locks;
	bool quiet;
	bool verbose;
	bool json;
	bool help;
	uint32_t nr_conditions;
	uint32_t nr_filters;
	struct sonde_event_condition conditions[SONDE_CONDITIONS_MAX];
	const char *filters[SONDE_COMMON_FILTERS_MAX]; /* borrowed from argv */
	size_t rules_size; /* with the empty string at the end */
	char rules[SONDE_RULES_MAX];
	/* borrowed; NULL-terminated; NULL with help, or if only the machine, or
	 * what runs already, is recorded */
	char *const *program;
};

/* What there is, for --help as well. */
extern const struct sonde_option sonde_record_option_table[];

/* Whether programs are recorded, not only the machine. */
static inline bool
sonde_record_has_programs(const struct sonde_record_options *options)
{
	return options->program || options->attaches;
}

/*
 * argv[0] is the command's own name. Returns 0; -EINVAL and one line in
 * `error` if something is wrong. *ret_options is written in any case; its
 * kernel_rules and until_rules live as long as the process (one parse per process has any).
 */
int sonde_record_options_parse(int argc, char *const *argv,
			       struct sonde_record_options *ret_options,
			       char *error, size_t error_size);

/* A syslog or debug level by name, in any case, or by number. 0 or -EINVAL. */
int sonde_parse_loglevel(const char *text, uint32_t *ret_level);

#endif /* SESSION_OPTIONS_H */
