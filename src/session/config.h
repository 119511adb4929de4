/* SPDX-License-Identifier: MIT */
/*
 * config.h - what a session records, and how: made by the command line, by GDB
 * or by a test alike.
 *
 * A configuration that sonde_session_config_check() has passed is one that a
 * session can be made of; on another machine its memory may be too little
 * (session/budget.h). Zero is the value of all that isn't said, but for what
 * sonde_session_config_init() sets.
 */
#ifndef SESSION_CONFIG_H
#define SESSION_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ctf/trace.h"
#include "ring/layout.h"
#include "source/choose.h"
#include "types/select.h"

#define SONDE_MEMORY_DEFAULT        (64ull << 20)
#define SONDE_MEMORY_MIN            (64ull << 10)
#define SONDE_MEMORY_MAX            (64ull << 30)
#define SONDE_READ_TIMER_MIN_US     20u
#define SONDE_READ_TIMER_MAX_US     10000000u
#define SONDE_RECORDER_CPUS         1024u
#define SONDE_PRIORITY_MAX          99u
#define SONDE_LOGLEVEL_ALL          255u
#define SONDE_CONDITIONS_MAX        64u
#define SONDE_COMMON_FILTERS_MAX    16u
#define SONDE_SOURCE_STRING_DEFAULT 256u
#define SONDE_SOURCE_BYTES_MAX      4096u
#define SONDE_SOURCE_RETURNS_MAX    65536u
#define SONDE_ATTACH_MAX            64u
#define SONDE_TRIGGERS_MAX          16u
#define SONDE_KEY_CHARS             128u
#define SONDE_DURATION_MAX_US       (1000ull * 3600 * 1000000)
#define SONDE_ROTATE_MIN            (64ull << 10)
#define SONDE_ROTATE_MIN_US         100000ull
#define SONDE_KEEP_MIN              2u

enum sonde_headers {
	SONDE_HEADERS_AUTO = 0, /* by the number of events */
	SONDE_HEADERS_COMPACT,
	SONDE_HEADERS_LARGE,
};

/* The condition of a rule. */
struct sonde_event_condition {
	uint32_t rule;    /* where it begins in `rules` */
	const char *text; /* borrowed */
};

#define SONDE_TRIGGER_HOSTS 512u /* bytes */

enum sonde_trigger_action {
	SONDE_DO_SNAPSHOT = 0,
	SONDE_DO_STOP,
	SONDE_DO_RUN,
	SONDE_DO_NOTIFY,
	SONDE_DO_ROTATE,
	SONDE_DO_ASK, /* other machines for a snapshot */
};

enum sonde_trigger_kind {
	SONDE_WHEN_EVENT,  /* one of a program's, maybe under a condition */
	SONDE_WHEN_SPAN,   /* from one to another one */
	SONDE_WHEN_LOSS,   /* events are lost */
	SONDE_WHEN_FULL,   /* a ring is fuller than so much */
	SONDE_WHEN_SIGNAL, /* a process is ended by a signal */
};

/* What is done when something happens. */
struct sonde_session_trigger {
	enum sonde_trigger_kind kind;
	const char *when;      /* as it was said; borrowed */
	size_t glob_length;    /* what it begins with: which */
	const char *condition; /* in it; or NULL */
	/* Of a span: '+' and the pattern of its end, the number that both have,
	 * and how long. */
	char end[SONDE_GLOB_MAX + 1];
	char key[SONDE_KEY_CHARS];
	uint64_t limit_ns;
	uint32_t full; /* thousandths */
	enum sonde_trigger_action action;
	const char *command; /* SONDE_DO_RUN: for the shell; borrowed */
	const char *hosts;   /* SONDE_DO_ASK: globs, commas between; borrowed */
};

/* The action's word, as it stands after --do. */
const char *sonde_session_action_name(enum sonde_trigger_action action);

struct sonde_board;

/* What is tallied of events; all words are borrowed. */
struct sonde_session_tally {
	const char *value; /* NULL: only how often */
	uint32_t nr_keys;
	const char *keys[SONDE_TALLY_KEYS];
};

/* Which running processes are meant; all words are borrowed. */
struct sonde_attach_options {
	uint32_t nr_whom;
	uint32_t nr_users;
	uint32_t nr_cgroups;
	uint32_t nr_containers;
	const char *whom[SONDE_ATTACH_MAX];  /* numbers or names */
	const char *users[SONDE_ATTACH_MAX]; /* likewise */
	const char *cgroups[SONDE_ATTACH_MAX];
	const char *containers[SONDE_ATTACH_MAX]; /* ids, or names */
};

/* The kernel's part. */
struct sonde_session_kernel_config {
	struct sonde_source_rules *rules; /* borrowed; NULL: no kernel events */
	struct sonde_source_rules *until; /* borrowed; what ends it; or NULL */
	enum sonde_source_choice source;
	bool whole_machine;    /* or else the program and its descendants */
	bool self;             /* what the recorder does, as well */
	uint64_t memory_bytes; /* 0: choose */
	uint32_t string_bytes;
	uint32_t buffer_bytes;
	uint32_t returns; /* 0: by the number of threads */
	/* At functions; borrowed. There are rules then, maybe none in them. */
	const struct sonde_source_probe *probes;
	uint32_t nr_probes;
	struct sonde_source_variables *variables; /* of probes; or NULL */
	bool symbols;       /* the kernel's functions and their addresses */
	uint32_t sample_hz; /* samples of each CPU and second; 0: none */
};

struct sonde_session_config {
	struct sonde_board *board; /* where events are counted; borrowed */
	struct sonde_session_tally tally; /* of SONDE_TALLY */
	uint64_t memory_bytes;  /* for the rings of all processes together */
	uint32_t subbuf_bytes;  /* 0: choose by memory */
	uint32_t read_timer_us; /* 0: adapt to the load */
	/* Where the recorder may run, a bit for each; none: as we may. */
	uint64_t recorder_cpus[SONDE_RECORDER_CPUS / 64];
	uint32_t recorder_priority; /* of SCHED_FIFO; 0: as we are */
	bool is_realtime; /* the program's rings are resident from its start */
	enum sonde_ring_mode mode;
	enum sonde_headers headers;
	enum sonde_ctf_version ctf_version;
	uint32_t stacks_depth; /* of events' call stacks; 0: none */
	uint32_t
		contexts; /* of programs' events: bits of enum sonde_ring_context */
	bool wants_ip;        /* where events of programs are made */
	uint64_t duration_us; /* 0: no limit */
	/* The trace is chunks; each ends at that size, after that time, or when
	 * somebody wants it. */
	bool rotates;
	uint64_t rotate_bytes, rotate_us; /* 0: not by that */
	/* So many chunks, or so many bytes of them, stay; 0: all. */
	uint64_t keep_chunks, keep_bytes;
	bool compresses; /* those that have ended */
	struct sonde_session_kernel_config kernel;
	/* Programs: one is started, those that run are looked for, or the
	 * session's owner lets them in. */
	bool has_program;
	bool has_hooks; /* it is started with libsonde-preload.so */
	/* What that is told to record (ring/asked.h); NULL: nothing is started
	 * with it. Borrowed. */
	const char *hooks;
	bool attaches;
	bool lets_in;
	/* The trace is only for whoever started it: if the front end is killed, it
	 * goes. */
	bool is_scratch;
	struct sonde_attach_options attach;
	/* Which of their events (types/select.h), and under what conditions. */
	uint32_t loglevel;
	uint32_t nr_conditions;
	uint32_t nr_filters;
	uint32_t nr_triggers; /* of a session by name */
	/* Where other machines are asked, as which, and for how long before; borrowed.
	 * NULL: nowhere, as the kernel says, and for all that they hold. */
	const char *ask_at, *ask_as, *ask_last;
	struct sonde_session_trigger triggers[SONDE_TRIGGERS_MAX];
	struct sonde_event_condition conditions[SONDE_CONDITIONS_MAX];
	const char *filters[SONDE_COMMON_FILTERS_MAX]; /* borrowed */
	size_t rules_size; /* with the empty string at the end; 0: none yet */
	char rules[SONDE_RULES_MAX];
	/* Events that have rings of their own, '+' and a glob each; 1: none. */
	size_t pins_size;
	char pins[SONDE_RULES_MAX];
	/* Of a session by name: functions that are recorded, '+' and a GLOB each,
	 * or '-' and what of them isn't; 0: it has none. */
	size_t functions_size;
	char functions[SONDE_RULES_MAX];
	bool functions_have_conditions; /* on what they are given */
};

/* No rule, and otherwise the defaults. */
void sonde_session_config_init(struct sonde_session_config *ret_config);

/* Selects (sign '+') or excludes ('-') events of programs. 0; -EINVAL and one
 * line in `error`. */
int sonde_session_config_add(struct sonde_session_config *config, char sign,
			     const char *glob, char *error, size_t error_size);

/* Whether a session can be made of it. 0; -EINVAL, with one line in `error`
 * that names the options, the limit and the remedy. */
int sonde_session_config_check(const struct sonde_session_config *config,
			       char *error, size_t error_size);

/* Whether events are counted, and not recorded. */
static inline bool
sonde_session_counts(const struct sonde_session_config *config)
{
	return config->mode >= SONDE_COUNT;
}

/* Whether programs are recorded, not only the machine. */
static inline bool
sonde_session_has_programs(const struct sonde_session_config *config)
{
	return config->has_program || config->attaches || config->lets_in;
}

/* How deep the stacks of programs' events are: contexts come with one frame. */
static inline uint32_t
sonde_session_program_stacks(const struct sonde_session_config *config)
{
	return config->stacks_depth ? config->stacks_depth :
				      config->contexts || config->wants_ip;
}

/* Whether what runs already is sampled: processes that attach, and not all. */
static inline bool
sonde_session_samples_running(const struct sonde_session_config *config)
{
	return config->attaches && config->kernel.sample_hz &&
	       !config->kernel.whole_machine;
}

#endif /* SESSION_CONFIG_H */
