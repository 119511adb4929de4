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

struct sonde_record_options {
	const char *output;     /* borrowed from argv; NULL: choose a name */
	uint64_t memory_bytes;  /* for the rings of all processes together */
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
	/* borrowed; NULL-terminated; NULL with help, or if only the machine is
	 * recorded */
	char *const *program;
};

/*
 * argv[0] is the command's own name. Returns 0; -EINVAL and one line in
 * `error` if something is wrong. *ret_options is written in any case; its
 * kernel_rules and until_rules live as long as the process (one parse per process has any).
 */
int sonde_record_options_parse(int argc, char *const *argv,
			       struct sonde_record_options *ret_options,
			       char *error, size_t error_size);

/* "4096", "256k", "64M", "2G" (powers of 1024). 0, -EINVAL or -ERANGE. */
int sonde_parse_size(const char *text, uint64_t *ret_bytes);

/* "500us", "20ms", "1s"; a bare number is microseconds. 0 or -EINVAL. */
int sonde_parse_time_us(const char *text, uint64_t *ret_us);

/* A syslog or debug level by name, in any case, or by number. 0 or -EINVAL. */
int sonde_parse_loglevel(const char *text, uint32_t *ret_level);

/* "64M", "256k", "4096": the shortest exact form. */
const char *sonde_format_size(uint64_t bytes, char *out, size_t out_size);

#endif /* SESSION_OPTIONS_H */
