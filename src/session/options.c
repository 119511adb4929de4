/* SPDX-License-Identifier: MIT */
/*
 * options.c - the options of `sonde record` (options.h).
 *
 * A table of options, a function for each, and a check of what only makes sense
 * together when all words are read. Nothing is touched but the result and the
 * line that says what is wrong.
 */
#include "session/options.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/nearest.h"
#include "base/number.h"
#include "base/port.h"
#include "base/text.h"
#include "ctf/packed.h"
#include "expr/expr.h"
#include "ring/shadow.h"
#include "session/contexts.h"
#include "session/rules.h"
#include "sys/cpus.h"
#include "types/select.h"

/* What goes along while the words are read. */
struct parse {
	int argc;
	char *const *argv;
	int next;
	struct sonde_record_options *options;
	bool has_include;
	bool is_session; /* by name */
	bool has_dashes; /* before the program */
	const struct sonde_option *table;
	char *error;
	size_t error_size;
};

#define fail(parse, ...)                                             \
	sonde_text_say((parse)->error, (parse)->error_size, -EINVAL, \
		       __VA_ARGS__)

int sonde_parse_loglevel(const char *text, uint32_t *ret_level)
{
	uint64_t value;

	for (uint32_t i = 0; i < SONDE_LEVELS; i++) {
		if (!strcasecmp(text, sonde_level_name(i))) {
			*ret_level = i;
			return 0;
		}
	}
	if (!sonde_number_parse(text, SONDE_LEVELS - 1, &value))
		return -EINVAL;
	*ret_level = (uint32_t)value;
	return 0;
}

static int add_rule(struct parse *parse, char sign, const char *glob)
{
	return sonde_session_config_add(&parse->options->session, sign, glob,
					parse->error, parse->error_size);
}

static int apply_output(void *ctx, const char *value)
{
	struct parse *parse = ctx;

	if (!*value)
		return fail(parse, "--output needs the name of a directory");
	parse->options->output = value;
	return 0;
}

static int apply_arena(void *ctx, const char *value)
{
	struct parse *parse = ctx;

	if (!*value)
		return fail(parse, "--arena needs the name of a directory");
	parse->options->arena = value;
	return 0;
}

/* Types and fields are known when events are; all else that can be wrong with a
 * condition is known now. `what` is the option, for the message. */
static int check_condition(struct parse *parse, const char *what,
			   const char *text)
{
	struct sonde_expr_error error;
	struct sonde_expr *expr;
	int rc;

	if (!*text)
		return fail(parse, "%s: a condition is missing", what);
	rc = sonde_expr_parse(text, &error, &expr);
	if (rc == -EINVAL)
		return fail(parse, "%s '%.60s': column %u: %s", what, text,
			    error.column, error.text);
	if (rc)
		return fail(parse, "no memory left");
	sonde_expr_free(expr);
	return 0;
}

static int add_condition(struct parse *parse, const char *glob,
			 const char *text)
{
	struct sonde_session_config *session = &parse->options->session;
	uint32_t rule = (uint32_t)session->rules_size - 1;
	int rc = check_condition(parse, "-e", text);

	if (rc)
		return rc;
	if (session->nr_conditions == SONDE_CONDITIONS_MAX)
		return fail(parse,
			    "more than %u -e have conditions; merge some "
			    "with '*'",
			    SONDE_CONDITIONS_MAX);
	session->conditions[session->nr_conditions++] =
		(struct sonde_event_condition){ rule, text };
	return add_rule(parse, '+', glob);
}

/* The pattern of "GLOB if CONDITION"; *ret_text is NULL without a condition. */
static int split_condition(struct parse *parse, const char *value,
			   char glob[SONDE_GLOB_MAX], const char **ret_text)
{
	size_t length = sonde_condition_at(value, ret_text);

	if (length >= SONDE_GLOB_MAX)
		return fail(parse,
			    "the pattern '%.40s...' is %zu characters long; "
			    "the limit is %d",
			    value, length, SONDE_GLOB_MAX - 1);
	memcpy(glob, value, length);
	glob[length] = '\0';
	return 0;
}

/* What programs have for other tracers: probes are put in there, whose
 * conditions are not those of tracepoints. */
static int add_site_rule(struct parse *parse, const char *value)
{
	struct sonde_record_options *options = parse->options;
	char glob[SONDE_GLOB_MAX];
	const char *condition;
	uint32_t texts;
	size_t length = sonde_source_site_rule(value, &texts, &condition);
	int rc = condition ? check_condition(parse, "-e", condition) : 0;

	if (!rc && (!length || length >= sizeof(glob)))
		rc = fail(parse,
			  "-e '%.60s': behind the pattern of a probe comes "
			  "/s and which arguments are text (/s arg1, arg2), or "
			  "if and a condition",
			  value);
	if (!rc && options->nr_sites == SONDE_FUNCTIONS_MAX)
		rc = fail(parse,
			  "more than %u -e are of sdt: probes; merge some "
			  "with '*'",
			  SONDE_FUNCTIONS_MAX);
	if (rc)
		return rc;
	options->sites[options->nr_sites++] = value;
	(void)snprintf(glob, sizeof(glob), "%.*s", (int)length, value);
	return add_rule(parse, '+', glob);
}

static int apply_event(void *ctx, const char *value)
{
	struct parse *parse = ctx;
	char glob[SONDE_GLOB_MAX];
	const char *text;
	int rc = split_condition(parse, value, glob, &text);

	parse->has_include = true;
	if (rc)
		return rc;
	if (!strncmp(glob, "sdt:", 4))
		return add_site_rule(parse, value);
	return text ? add_condition(parse, glob, text) :
		      add_rule(parse, '+', glob);
}

static int apply_filter(void *ctx, const char *value)
{
	struct parse *parse = ctx;
	struct sonde_session_config *session = &parse->options->session;
	int rc = check_condition(parse, "--filter", value);

	if (rc)
		return rc;
	if (session->nr_filters == SONDE_COMMON_FILTERS_MAX)
		return fail(parse, "more than %u --filter; join some with &&",
			    SONDE_COMMON_FILTERS_MAX);
	session->filters[session->nr_filters++] = value;
	return 0;
}

/* What is written once, and not in each part of a trace. */
static int check_shown(struct parse *parse, const char *what, const char *value)
{
	if (!strstr(value, "procname"))
		return 0;
	return fail(parse,
		    "%s: the names of threads (procname) are not known while a "
		    "trace is being written; sonde print knows them later",
		    what);
}

/* Of the events that are recorded, those that are shown. */
static int apply_shown_filter(void *ctx, const char *value)
{
	struct parse *parse = ctx;
	int rc = check_shown(parse, "--filter", value);

	parse->options->shown_filter = value;
	return rc ? rc : check_condition(parse, "--filter", value);
}

static int apply_columns(void *ctx, const char *value)
{
	struct parse *parse = ctx;

	parse->options->columns = value;
	return check_shown(parse, "--fields", value);
}

static int apply_exclude(void *parse, const char *value)
{
	return add_rule(parse, '-', value);
}

static int apply_pin(void *ctx, const char *value)
{
	struct parse *parse = ctx;
	struct sonde_session_config *session = &parse->options->session;

	return sonde_session_rules_add(session->pins, &session->pins_size, '+',
				       value, parse->error, parse->error_size);
}

static int apply_loglevel(void *ctx, const char *value)
{
	struct parse *parse = ctx;

	if (sonde_parse_loglevel(value, &parse->options->session.loglevel))
		return fail(parse,
			    "--loglevel %s: not a level; use emerg, alert, "
			    "crit, err, warning, notice, info, debug_system "
			    "... debug, or 0 to 14",
			    value);
	return 0;
}

static int apply_mode(void *ctx, const char *value)
{
	struct parse *parse = ctx;

	if (!strcmp(value, "discard"))
		parse->options->session.mode = SONDE_DISCARD;
	else if (!strcmp(value, "overwrite"))
		parse->options->session.mode = SONDE_OVERWRITE;
	else
		return fail(parse,
			    "--mode %s: use 'discard' (keep the oldest events) "
			    "or 'overwrite' (keep the newest)",
			    value);
	return 0;
}

static int apply_rotate(void *ctx, const char *value)
{
	struct parse *parse = ctx;
	struct sonde_session_config *session = &parse->options->session;
	uint64_t number = 0;
	bool has_unit = value[strspn(value, "0123456789")];

	session->rotates = true;
	if (!strcmp(value, "hand"))
		return 0;
	if (has_unit && !sonde_number_parse_size(value, &number) &&
	    number >= SONDE_ROTATE_MIN)
		session->rotate_bytes = number;
	else if (has_unit && !sonde_number_parse_time_us(value, &number) &&
		 number >= SONDE_ROTATE_MIN_US &&
		 number <= SONDE_DURATION_MAX_US)
		session->rotate_us = number;
	else
		return fail(parse,
			    "--rotate %s: give a size from 64k, such as 64M, a "
			    "time from 100ms to 1000h, such as 10s, 5min or "
			    "1h, or hand",
			    value);
	return 0;
}

static int apply_keep(void *ctx, const char *value)
{
	struct parse *parse = ctx;
	struct sonde_session_config *session = &parse->options->session;
	uint64_t number;

	if (!sonde_number_parse_size(value, &number)) {
		if (!value[strspn(value, "0123456789")] &&
		    number >= SONDE_KEEP_MIN) {
			session->keep_chunks = number;
			return 0;
		}
		if (number >= SONDE_KEEP_MIN * SONDE_ROTATE_MIN) {
			session->keep_bytes = number;
			return 0;
		}
	}
	return fail(parse,
		    "--keep %s: give a number of chunks from 2, or a size from "
		    "128k, such as 1G",
		    value);
}

static int apply_compress(void *ctx, const char *value)
{
	struct parse *parse = ctx;

	(void)value;
	if (!sonde_ctf_can_pack())
		return fail(parse, "--compress: this build can't compress: it "
				   "lacks libzstd");
	parse->options->session.compresses = true;
	return 0;
}

static int apply_headers(void *ctx, const char *value)
{
	struct parse *parse = ctx;

	if (!strcmp(value, "auto"))
		parse->options->session.headers = SONDE_HEADERS_AUTO;
	else if (!strcmp(value, "compact"))
		parse->options->session.headers = SONDE_HEADERS_COMPACT;
	else if (!strcmp(value, "large"))
		parse->options->session.headers = SONDE_HEADERS_LARGE;
	else
		return fail(parse,
			    "--headers %s: use 'compact' (4 bytes, best for up "
			    "to 30 events), 'large' (6 bytes) or 'auto'",
			    value);
	return 0;
}

static int apply_ctf(void *ctx, const char *value)
{
	struct parse *parse = ctx;

	if (!strcmp(value, "1.8"))
		parse->options->session.ctf_version = SONDE_CTF_1_8;
	else if (!strcmp(value, "2"))
		parse->options->session.ctf_version = SONDE_CTF_2;
	else
		return fail(parse,
			    "--ctf %s: use '1.8' (for any reader) or '2' (for "
			    "new ones)",
			    value);
	return 0;
}

static int parse_memory(struct parse *parse, const char *name,
			const char *value, uint64_t *ret_bytes)
{
	char low[32];
	char high[32];

	if (sonde_number_parse_size(value, ret_bytes) ||
	    *ret_bytes < SONDE_MEMORY_MIN || *ret_bytes > SONDE_MEMORY_MAX)
		return fail(parse,
			    "--%s %s: give a size from %s to %s, such as 64M",
			    name, value,
			    sonde_number_put_size(SONDE_MEMORY_MIN, low,
						  sizeof(low)),
			    sonde_number_put_size(SONDE_MEMORY_MAX, high,
						  sizeof(high)));
	return 0;
}

static int apply_memory(void *ctx, const char *value)
{
	struct parse *parse = ctx;

	parse->options->memory_given = true;
	return parse_memory(parse, "memory", value,
			    &parse->options->session.memory_bytes);
}

static int apply_subbuf(void *ctx, const char *value)
{
	struct parse *parse = ctx;
	uint64_t bytes;
	char low[32];
	char high[32];

	if (sonde_number_parse_size(value, &bytes) || (bytes & (bytes - 1)) ||
	    bytes < SONDE_SUBBUF_MIN || bytes > SONDE_SUBBUF_MAX)
		return fail(parse,
			    "--subbuf %s: give a power of two from %s to %s, "
			    "such as 256k",
			    value,
			    sonde_number_put_size(SONDE_SUBBUF_MIN, low,
						  sizeof(low)),
			    sonde_number_put_size(SONDE_SUBBUF_MAX, high,
						  sizeof(high)));
	parse->options->session.subbuf_bytes = (uint32_t)bytes;
	return 0;
}

static int apply_recorder_cpus(void *ctx, const char *value)
{
	struct parse *parse = ctx;
	uint64_t *cpus = parse->options->session.recorder_cpus;
	const char *at = value;
	uint32_t first = 0;
	uint32_t last = 0;

	while (sonde_cpus_take(&at, &first, &last) &&
	       last < SONDE_RECORDER_CPUS)
		for (; first <= last; first++)
			cpus[first / 64] |= 1ull << first % 64;
	if (at == value || *at || last >= SONDE_RECORDER_CPUS)
		return fail(parse,
			    "--recorder-cpus %s: give CPUs below %u, such as 0 "
			    "or 0-2,5",
			    value, SONDE_RECORDER_CPUS);
	return 0;
}

static int apply_recorder_priority(void *ctx, const char *value)
{
	struct parse *parse = ctx;
	uint64_t priority;

	if (!sonde_number_parse(value, SONDE_PRIORITY_MAX, &priority) ||
	    !priority)
		return fail(parse,
			    "--recorder-priority %s: give a priority of "
			    "SCHED_FIFO from 1 to %u",
			    value, SONDE_PRIORITY_MAX);
	parse->options->session.recorder_priority = (uint32_t)priority;
	return 0;
}

static int apply_read_timer(void *ctx, const char *value)
{
	struct parse *parse = ctx;
	uint64_t us;

	if (sonde_number_parse_time_us(value, &us) ||
	    us < SONDE_READ_TIMER_MIN_US || us > SONDE_READ_TIMER_MAX_US)
		return fail(parse,
			    "--read-timer %s: give a time from %uus to %us, "
			    "such as 500us or 10ms; leave it out to have it "
			    "adapt to the load",
			    value, SONDE_READ_TIMER_MIN_US,
			    SONDE_READ_TIMER_MAX_US / 1000000);
	parse->options->session.read_timer_us = (uint32_t)us;
	return 0;
}

static int apply_malloc(void *ctx, const char *value)
{
	struct parse *parse = ctx;

	(void)value;
	parse->options->hooks |= SONDE_RECORD_MALLOC;
	return 0;
}

static int apply_io(void *ctx, const char *value)
{
	struct parse *parse = ctx;

	(void)value;
	parse->options->hooks |= SONDE_RECORD_IO;
	return 0;
}

static int apply_log(void *ctx, const char *value)
{
	struct parse *parse = ctx;

	(void)value;
	parse->options->hooks |= SONDE_RECORD_LOG;
	return 0;
}

static int apply_stack(void *ctx, const char *value)
{
	struct parse *parse = ctx;
	uint64_t depth = SONDE_STACKS_DEPTH_DEFAULT;

	if (value &&
	    (!sonde_number_parse(value, SONDE_STACKS_DEPTH_MAX, &depth) ||
	     !depth))
		return fail(parse,
			    "--stack=%s: give a number of frames from 1 to %u",
			    value, SONDE_STACKS_DEPTH_MAX);
	parse->options->session.stacks_depth = (uint32_t)depth;
	return 0;
}

static int apply_context(void *ctx, const char *value)
{
	struct parse *parse = ctx;
	char error[200];

	return sonde_session_add_contexts(&parse->options->session, value,
					  error, sizeof(error)) ?
		       fail(parse, "%s", error) :
		       0;
}

static int apply_locks(void *ctx, const char *value)
{
	struct parse *parse = ctx;

	(void)value;
	parse->options->hooks |= SONDE_RECORD_LOCKS;
	return 0;
}

static int add_glob(struct parse *parse, const char *option, const char *value,
		    const char **list, uint32_t *nr)
{
	if (!*value)
		return fail(parse, "--%s: the name is missing", option);
	if (strcspn(value, " ") >= SONDE_GLOB_MAX)
		return fail(parse, "--%s: a GLOB has at most %u characters",
			    option, SONDE_GLOB_MAX - 1);
	if (*nr == SONDE_FUNCTIONS_MAX)
		return fail(parse,
			    "--%s: at most %u are taken; a GLOB can be "
			    "of many functions",
			    option, SONDE_FUNCTIONS_MAX);
	list[(*nr)++] = value;
	return 0;
}

/* The next word is the option's, as no program is called so. */
static const char *word_with_stars(struct parse *parse)
{
	const char *word =
		parse->next < parse->argc ? parse->argv[parse->next] : "";

	if (word[0] == '-' || (!strpbrk(word, "*?[@") && !strstr(word, " if ")))
		return NULL;
	parse->next++;
	return word;
}

static int apply_functions(void *ctx, const char *value)
{
	struct parse *parse = ctx;
	struct sonde_record_options *options = parse->options;

	if (!value)
		value = word_with_stars(parse);
	if (value && value[strcspn(value, " ")] &&
	    strncmp(value + strcspn(value, " "), " if ", 4) != 0)
		return fail(parse,
			    "--functions=%.60s: behind the GLOB comes if, and "
			    "then a condition: 'write if n > 4096'",
			    value);
	parse->options->functions_if |= value && strstr(value, " if ");
	if (value)
		return add_glob(parse, "functions", value, options->functions,
				&options->nr_functions);
	options->hook_functions = true;
	return 0;
}

static int apply_not(void *ctx, const char *value)
{
	struct parse *parse = ctx;

	return add_glob(parse, "not", value, parse->options->nots,
			&parse->options->nr_nots);
}

static int apply_min_duration(void *ctx, const char *value)
{
	struct parse *parse = ctx;
	int64_t ns;

	/* A bare number would be nanoseconds. */
	if (!value[strspn(value, "0123456789")] ||
	    sonde_expr_parse_duration(value, &ns) || ns <= 0)
		return fail(parse,
			    "--min-duration %.60s: give a time with its unit, "
			    "such as 10us or 1.5ms",
			    value);
	parse->options->functions_min_ns = ns;
	return 0;
}

static int apply_depth(void *ctx, const char *value)
{
	struct parse *parse = ctx;
	uint64_t depth = 0;

	if (!sonde_number_parse(value, SONDE_SHADOW_CALLS, &depth) || !depth)
		return fail(parse, "--depth %.60s: give a number from 1 to %u",
			    value, SONDE_SHADOW_CALLS);
	parse->options->functions_depth = (uint32_t)depth;
	return 0;
}

/* `rules` belong to the one who parsed last. */
static int add_rules(struct parse *parse, struct sonde_source_rules *rules,
		     struct sonde_source_rules **to, const char *value)
{
	int rc;

	if (!*to)
		sonde_source_rules_fini(rules);
	*to = rules;
	rc = sonde_source_rules_add(rules, value, parse->error,
				    parse->error_size);
	if (rc == -ENOMEM)
		return fail(parse, "no memory left");
	return rc ? -EINVAL : 0;
}

/* Of a second, on each CPU: a prime, so as not to be in step with anything. */
#define SAMPLE_HZ     997u
#define SAMPLE_HZ_MAX 100000u

static struct sonde_source_rules kernel_rules;

static int apply_kernel(void *ctx, const char *value)
{
	struct parse *parse = ctx;

	return add_rules(parse, &kernel_rules,
			 &parse->options->session.kernel.rules, value);
}

/* Samples are the kernel's events, with or without others. */
static int apply_sample(void *ctx, const char *value)
{
	struct parse *parse = ctx;
	struct sonde_session_kernel_config *kernel =
		&parse->options->session.kernel;
	uint64_t hz = SAMPLE_HZ;

	if (value && (!sonde_number_parse(value, SAMPLE_HZ_MAX, &hz) || !hz))
		return fail(parse,
			    "--sample=%.40s: give a number of samples a "
			    "second, from 1 to %u",
			    value, SAMPLE_HZ_MAX);
	if (!kernel->rules)
		sonde_source_rules_fini(&kernel_rules);
	kernel->rules = &kernel_rules;
	kernel->sample_hz = (uint32_t)hz;
	return 0;
}

static int apply_until(void *ctx, const char *value)
{
	struct parse *parse = ctx;

	static struct sonde_source_rules rules;

	return add_rules(parse, &rules, &parse->options->session.kernel.until,
			 value);
}

/* Whether it is this word, and then a blank, a sign or nothing. */
static bool begins_with_word(const char *value, const char *word)
{
	size_t length = strlen(word);

	return !strncmp(value, word, length) && strchr(" >", value[length]);
}

/* "full > 80%". */
static int when_full(struct parse *parse, struct sonde_session_trigger *trigger)
{
	const char *at = trigger->when + trigger->glob_length;
	uint64_t percent;

	at += strspn(at, " ");
	if (*at == '>') {
		at++;
		at += strspn(at, " ");
		if (sonde_number_take(&at, 10, 99, &percent) &&
		    !strcmp(at, "%")) {
			trigger->full = (uint32_t)percent * 10;
			return 0;
		}
	}
	return fail(parse,
		    "--when '%.60s': say how full, from 0 to 99 percent: "
		    "'full > 80%%'",
		    trigger->when);
}

/* Copies what is between, without blanks around it; false: it has no room, or
 * there is nothing. */
static bool take_between(const char *from, const char *to, char *text,
			 size_t room)
{
	from += strspn(from, " ");
	while (to > from && to[-1] == ' ')
		to--;
	if (from >= to || (size_t)(to - from) >= room)
		return false;
	memcpy(text, from, (size_t)(to - from));
	text[to - from] = '\0';
	return true;
}

/* "BEGIN..END by KEY > TIME", of which " by KEY" may be left out. */
static int when_span(struct parse *parse, struct sonde_session_trigger *trigger)
{
	const char *end = strstr(trigger->when, "..") + 2;
	const char *over = strrchr(end, '>');
	const char *by = strstr(end, " by ");
	char time[32];
	int64_t ns = 0;

	trigger->end[0] = '+';
	(void)snprintf(trigger->key, sizeof(trigger->key), "tid");
	if (!over || (by && by > over) ||
	    !take_between(end, by ? by : over, trigger->end + 1,
			  SONDE_GLOB_MAX) ||
	    (by &&
	     !take_between(by + 4, over, trigger->key, sizeof(trigger->key))) ||
	    !take_between(over + 1, over + strlen(over), time, sizeof(time)) ||
	    sonde_expr_parse_duration(time, &ns) || ns <= 0 ||
	    !time[strspn(time, "0123456789")])
		return fail(parse,
			    "--when '%.60s': say 'BEGIN..END > TIME', such as "
			    "'web:accept..web:close > 5ms', or 'BEGIN..END by "
			    "KEY > TIME'",
			    trigger->when);
	trigger->limit_ns = (uint64_t)ns;
	return check_condition(parse, "--when", trigger->key);
}

/* What it waits for; `length` is that of what it begins with. */
static int parse_when(struct parse *parse,
		      struct sonde_session_trigger *trigger, size_t length)
{
	const char *dots = strstr(trigger->when, "..");

	if (!trigger->condition && dots) {
		trigger->kind = SONDE_WHEN_SPAN;
		while (dots > trigger->when && dots[-1] == ' ')
			dots--;
		trigger->glob_length = (size_t)(dots - trigger->when);
		return when_span(parse, trigger);
	}
	trigger->glob_length = length;
	if (begins_with_word(trigger->when, "full")) {
		trigger->kind = SONDE_WHEN_FULL;
		trigger->glob_length = 4;
		return when_full(parse, trigger);
	}
	if (begins_with_word(trigger->when, "loss"))
		trigger->kind = SONDE_WHEN_LOSS;
	if (begins_with_word(trigger->when, "signal"))
		trigger->kind = SONDE_WHEN_SIGNAL;
	if (trigger->kind != SONDE_WHEN_EVENT && trigger->when[length])
		return fail(parse, "--when '%.60s': %.*s has no fields",
			    trigger->when, (int)length, trigger->when);
	return trigger->condition ?
		       check_condition(parse, "--when", trigger->condition) :
		       0;
}

static int apply_when(void *ctx, const char *value)
{
	struct parse *parse = ctx;
	struct sonde_session_config *session = &parse->options->session;
	struct sonde_session_trigger *trigger =
		&session->triggers[session->nr_triggers];
	char rules[SONDE_RULES_MAX] = "";
	char glob[SONDE_GLOB_MAX];
	size_t size = 1;
	int rc;

	if (session->nr_triggers == SONDE_TRIGGERS_MAX)
		return fail(parse, "more than %u --when; merge some with '*'",
			    SONDE_TRIGGERS_MAX);
	*trigger = (struct sonde_session_trigger){ .when = value };
	rc = split_condition(parse, value, glob, &trigger->condition);
	if (!rc)
		rc = parse_when(parse, trigger, strlen(glob));
	if (rc)
		return rc;
	session->nr_triggers++;
	glob[trigger->glob_length] = '\0';
	rc = sonde_session_rules_add(rules, &size, '+', glob, parse->error,
				     parse->error_size);
	if (!rc && trigger->kind == SONDE_WHEN_SPAN)
		rc = sonde_session_rules_add(rules, &size, '+',
					     trigger->end + 1, parse->error,
					     parse->error_size);
	return rc;
}

static int apply_asked_hosts(struct parse *parse,
			     struct sonde_session_trigger *trigger,
			     const char *hosts)
{
	if (!*hosts || strlen(hosts) > SONDE_TRIGGER_HOSTS)
		return fail(parse,
			    "--do snapshot@HOSTS: give up to %u bytes of "
			    "machines' names, such as 'web-*,db'",
			    SONDE_TRIGGER_HOSTS);
	trigger->action = SONDE_DO_ASK;
	trigger->hosts = hosts;
	return 0;
}

static int apply_ask_at(void *ctx, const char *value)
{
	struct parse *parse = ctx;

	if (strncmp(value, "nats://", 7) != 0 &&
	    strncmp(value, "tls://", 6) != 0)
		return fail(parse,
			    "--ask-at %.100s: machines are asked by "
			    "nats://HOST or tls://HOST only",
			    value);
	parse->options->session.ask_at = value;
	return 0;
}

static int apply_ask_last(void *ctx, const char *value)
{
	struct parse *parse = ctx;
	uint64_t us;

	if (sonde_number_parse_time_us(value, &us) || !us ||
	    us > (uint64_t)24 * 3600 * 1000000)
		return fail(parse,
			    "--ask-last %.100s: give a time up to 24h, such as "
			    "10s",
			    value);
	parse->options->session.ask_last = value;
	return 0;
}

static int apply_do(void *ctx, const char *value)
{
	struct parse *parse = ctx;
	static const enum sonde_trigger_action others[] = {
		SONDE_DO_SNAPSHOT,
		SONDE_DO_STOP,
		SONDE_DO_NOTIFY,
		SONDE_DO_ROTATE,
	};
	struct sonde_session_config *session = &parse->options->session;
	struct sonde_session_trigger *trigger;

	if (!session->nr_triggers)
		return fail(parse,
			    "--do '%.60s': when? Say it before, with "
			    "--when EVENT",
			    value);
	trigger = &session->triggers[session->nr_triggers - 1];
	if (!strncmp(value, "run ", 4) && value[4 + strspn(value + 4, " ")]) {
		trigger->action = SONDE_DO_RUN;
		trigger->command = value + 4;
		return 0;
	}
	if (!strncmp(value, "snapshot@", 9))
		return apply_asked_hosts(parse, trigger, value + 9);
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(others); i++)
		if (!strcmp(value, sonde_session_action_name(others[i]))) {
			trigger->action = others[i];
			return 0;
		}
	return fail(parse,
		    "--do is one of snapshot, rotate, stop, notify, "
		    "snapshot@HOSTS, or 'run COMMAND'; not '%.60s'",
		    value);
}

static int apply_kernel_source(void *ctx, const char *value)
{
	struct parse *parse = ctx;

	if (!strcmp(value, "auto"))
		parse->options->session.kernel.source = SONDE_SOURCE_AUTO;
	else if (!strcmp(value, "tracefs"))
		parse->options->session.kernel.source = SONDE_SOURCE_TRACEFS;
	else if (!strcmp(value, "bpf"))
		parse->options->session.kernel.source = SONDE_SOURCE_BPF;
	else if (!strcmp(value, "modules"))
		parse->options->session.kernel.source = SONDE_SOURCE_MODULES;
	else
		return fail(parse,
			    "--kernel-source %s: use 'modules', 'bpf', "
			    "'tracefs', or 'auto' for the best of them",
			    value);
	return 0;
}

static int apply_kernel_memory(void *ctx, const char *value)
{
	struct parse *parse = ctx;

	return parse_memory(parse, "kernel-memory", value,
			    &parse->options->session.kernel.memory_bytes);
}

static int parse_bytes(struct parse *parse, const char *name, const char *value,
		       uint32_t *ret_bytes)
{
	uint64_t bytes;

	if (sonde_number_parse_size(value, &bytes) ||
	    bytes > SONDE_SOURCE_BYTES_MAX)
		return fail(parse, "--%s %s: give a size from 0 to %u", name,
			    value, SONDE_SOURCE_BYTES_MAX);
	*ret_bytes = (uint32_t)bytes;
	return 0;
}

static int apply_strings(void *ctx, const char *value)
{
	struct parse *parse = ctx;

	return parse_bytes(parse, "kernel-strings", value,
			   &parse->options->session.kernel.string_bytes);
}

static int apply_buffers(void *ctx, const char *value)
{
	struct parse *parse = ctx;

	return parse_bytes(parse, "kernel-buffers", value,
			   &parse->options->session.kernel.buffer_bytes);
}

static int apply_returns(void *ctx, const char *value)
{
	struct parse *parse = ctx;
	uint64_t nr;

	if (sonde_number_parse_size(value, &nr) || !nr ||
	    nr > SONDE_SOURCE_RETURNS_MAX)
		return fail(parse,
			    "--kernel-returns %s: give a number from 1 to %u",
			    value, SONDE_SOURCE_RETURNS_MAX);
	parse->options->session.kernel.returns = (uint32_t)nr;
	return 0;
}

static int add_word(struct parse *parse, const char *option, const char *value,
		    const char *words[SONDE_ATTACH_MAX], uint32_t *nr)
{
	if (!*value)
		return fail(parse, "%s needs a value that isn't empty", option);
	if (*nr == SONDE_ATTACH_MAX)
		return fail(parse, "more than %u %s", SONDE_ATTACH_MAX, option);
	words[(*nr)++] = value;
	parse->options->session.attaches = true;
	return 0;
}

static int apply_process(void *ctx, const char *value)
{
	struct parse *parse = ctx;
	struct sonde_attach_options *attach = &parse->options->session.attach;

	return add_word(parse, "-p", value, attach->whom, &attach->nr_whom);
}

static int apply_user(void *ctx, const char *value)
{
	struct parse *parse = ctx;
	struct sonde_attach_options *attach = &parse->options->session.attach;

	return add_word(parse, "-u", value, attach->users, &attach->nr_users);
}

static int apply_cgroup(void *ctx, const char *value)
{
	struct parse *parse = ctx;
	struct sonde_attach_options *attach = &parse->options->session.attach;

	return add_word(parse, "--cgroup", value, attach->cgroups,
			&attach->nr_cgroups);
}

static int apply_container(void *ctx, const char *value)
{
	struct parse *parse = ctx;
	struct sonde_attach_options *attach = &parse->options->session.attach;

	return add_word(parse, "--container", value, attach->containers,
			&attach->nr_containers);
}

static int apply_duration(void *ctx, const char *value)
{
	struct parse *parse = ctx;
	uint64_t us;

	/* Here a bare number would hardly mean microseconds. */
	if (!value[strspn(value, "0123456789")] ||
	    sonde_number_parse_time_us(value, &us) || !us ||
	    us > SONDE_DURATION_MAX_US)
		return fail(parse,
			    "--duration %s: give a time with its unit, such as "
			    "500ms, 10s or 1h (at most 1000h)",
			    value);
	parse->options->session.duration_us = us;
	return 0;
}

static int apply_value(void *ctx, const char *value)
{
	struct parse *parse = ctx;
	int rc = check_condition(parse, "the value", value);

	parse->options->session.tally.value = value;
	parse->options->session.mode = SONDE_TALLY;
	return rc;
}

static int apply_by(void *ctx, const char *value)
{
	struct parse *parse = ctx;
	struct sonde_session_tally *tally = &parse->options->session.tally;
	char *by = parse->options->by;
	size_t size = strlen(value) + 1;
	int rc = 0;

	if (size > sizeof(parse->options->by))
		return fail(parse, "--by: more than %u characters",
			    SONDE_BY_MAX - 1);
	memcpy(by, value, size);
	tally->nr_keys = 0;
	for (bool more = true; !rc && more; by++) {
		size_t length = sonde_text_item(by, ',');

		more = by[length];
		by[length] = '\0';
		if (tally->nr_keys == SONDE_TALLY_KEYS)
			return fail(parse, "--by %.60s: at most %u keys", value,
				    SONDE_TALLY_KEYS);
		rc = check_condition(parse, "--by", by);
		tally->keys[tally->nr_keys++] = by;
		by += length;
	}
	parse->options->session.mode = SONDE_TALLY;
	return rc;
}

static int apply_interval(void *ctx, const char *value)
{
	struct parse *parse = ctx;
	uint64_t us;

	if (!value[strspn(value, "0123456789")] ||
	    sonde_number_parse_time_us(value, &us) ||
	    us < SONDE_INTERVAL_MIN_US || us > SONDE_INTERVAL_MAX_US)
		return fail(parse,
			    "--interval %s: give a time with its unit from "
			    "%ums to %us, such as 500ms or 2s",
			    value, SONDE_INTERVAL_MIN_US / 1000,
			    SONDE_INTERVAL_MAX_US / 1000000);
	parse->options->interval_us = us;
	return 0;
}

/* clang-format off */
#define TO(member) SONDE_OPTION_TO(struct sonde_record_options, member)
#define BY(function) SONDE_OPTION_BY(function) /* its words: struct parse */
#define STACK_OPTION \
	{ "stack", 0, "[=DEPTH]", SONDE_VALUE_NUMBER, BY(apply_stack), \
	  "with each event its call stack, of so many frames of the program at " \
	  "most (default: 16); of kernel events, the kernel's part, too" }
/* What runs, of which it is. */
#define PROCESS_OPTIONS \
	{ "process", 'p', "PID|NAME", NULL, BY(apply_process), \
	  "this one, or all of this name; may be given several times" }, \
	{ "user", 'u', "USER", NULL, BY(apply_user), "those of this user" }, \
	{ "cgroup", 0, "PATH", SONDE_VALUE_DIR, BY(apply_cgroup), \
	  "those in this control group, or below" }
/* What is chosen of a program's events, and recorded or counted. */
#define FILTER_OPTION \
	{ "filter", 0, "COND", NULL, BY(apply_filter), \
	  "of the events selected, only those for which this holds" }
#define EVENT_OPTIONS \
	{ "exclude", 0, "GLOB", SONDE_VALUE_EVENT, BY(apply_exclude), \
	  "but not these" }, \
	{ "loglevel", 0, "LEVEL", \
	  SONDE_LOGLEVEL_NAMES, BY(apply_loglevel), \
	  "only this level and more urgent ones" }, \
	{ "malloc", 0, NULL, NULL, BY(apply_malloc), \
	  "the C library's allocation calls" }, \
	{ "locks", 0, NULL, NULL, BY(apply_locks), \
	  "mutexes, rwlocks, condition variables" }, \
	{ "io", 0, NULL, NULL, BY(apply_io), \
	  "calls that read, write, open, accept ... files and sockets" }, \
	{ "functions", 0, "[=GLOB[@MODULE]]", NULL, BY(apply_functions), \
	  "entries and exits of what was compiled with " \
	  "-finstrument-functions; with GLOB of any functions that are called " \
	  "so: the program's own, or of the file MODULE" }

/* Behind --functions. */
#define FUNCTION_OPTIONS \
	{ "not", 0, "GLOB[@MODULE]", NULL, BY(apply_not), \
	  "but not of these functions" }, \
	{ "min-duration", 0, "TIME", NULL, BY(apply_min_duration), \
	  "nor of calls that are shorter, such as 10us" }, \
	{ "depth", 0, "N", NULL, BY(apply_depth), \
	  "nor of those that are in N others or more" }, \
	{ "args", 0, NULL, NULL, TO(functions_args), \
	  "with what these functions are given and return, by their debugging " \
	  "information" }

const struct sonde_option sonde_record_option_table[] = {
	{ .help = "What to record" },
	{ "event", 'e', "GLOB", SONDE_VALUE_EVENT, BY(apply_event),
	  "events to record: provider:event, with * and ?; may be given "
	  "several times (default: all); 'http:request if bytes > 1000': under "
	  "a condition; sdt:provider:name: probes of <sys/sdt.h>" },
	FILTER_OPTION,
	{ "pin", 0, "GLOB", SONDE_VALUE_EVENT, BY(apply_pin),
	  "rare and important ones, in rings of their own, so that no others "
	  "overwrite them or take their room; may be given several times" },
	EVENT_OPTIONS,
	{ "log", 0, NULL, NULL, BY(apply_log),
	  "what a program that is started logs by syslog()" },
	FUNCTION_OPTIONS,
	STACK_OPTION,
	{ "context", 0, "NAMES",
	  "ip cpu_time perf:page-faults perf:major-faults perf:context-switches "
	  "perf:cycles perf:instructions perf:cache-misses perf:branch-misses",
	  BY(apply_context),
	  "with each event of a program what its thread says of itself; but for "
	  "ip and the CPU's counters it makes a system call for that (sonde list "
	  "--contexts)" },
	PROCESS_OPTIONS,
	{ "container", 0, "ID", NULL, BY(apply_container),
	  "those in this container: the first digits of its id, as docker ps "
	  "or sonde ps shows it" },
	{ .help = "Kernel events (see also: sonde doctor, sonde list -k)" },
	{ "kernel", 'k', "RULES", SONDE_VALUE_KERNEL, BY(apply_kernel),
	  "such as sched,syscalls or irq:softirq_* or 'syscalls:openat if ret "
	  "< 0'; of the program and its descendants" },
	{ "all", 'a', NULL, NULL, TO(session.kernel.whole_machine),
	  "of the whole machine; without PROGRAM until Ctrl-C" },
	{ "sample", 0, "[=N]", SONDE_VALUE_NUMBER, BY(apply_sample),
	  "a profile: N times a second (default: 997) which thread runs on each "
	  "CPU, and its call stack" },
	{ "until", 0, "RULES", SONDE_VALUE_KERNEL, BY(apply_until),
	  "end the recording when such an event happens; with --mode "
	  "overwrite: a flight recorder's snapshot" },
	{ "duration", 0, "TIME", NULL, BY(apply_duration),
	  "end the recording after 500ms, 10s, 5min, 1h" },
	{ "when", 0, "GLOB", SONDE_VALUE_EVENT, BY(apply_when),
	  "of a session by name: when an event of a program happens ('GLOB if "
	  "CONDITION': such a one; 'BEGIN..END by KEY > TIME': what takes too "
	  "long), events are lost (loss), a ring is 'full > N%', or a signal "
	  "ends a process (signal), do what --do says behind it: once in a "
	  "second, and 100 times, at most; 'sonde status' counts what was held "
	  "back; may be given several times" },
	{ "do", 0, "ACTION", "snapshot rotate stop notify", BY(apply_do),
	  "snapshot (default), rotate, stop, notify (those who sonde wait), "
	  "'run COMMAND', or snapshot@HOSTS: of the sessions of this name on "
	  "these machines (sonde-host(1))" },
	{ "ask-at", 0, "URL", NULL, BY(apply_ask_at),
	  "where snapshot@HOSTS asks machines: nats://HOST" },
	{ "ask-as", 0, "NAME", NULL, TO(session.ask_as),
	  "this machine's name there (default: what the kernel says)" },
	{ "ask-last", 0, "TIME", NULL, BY(apply_ask_last),
	  "of snapshot@HOSTS: only what happened so long before, such as 10s" },
	{ "kernel-source", 0, "S",
	  "auto modules bpf tracefs", BY(apply_kernel_source),
	  "modules (see: sonde modules), bpf, tracefs, or auto: the best of "
	  "them (default)" },
	{ "kernel-memory", 0, "SIZE", NULL, BY(apply_kernel_memory),
	  "for the kernel's buffers (default: 16M per CPU)" },
	{ "kernel-strings", 0, "N", NULL, BY(apply_strings),
	  "bytes of a system call's strings (default: 256)" },
	{ "kernel-buffers", 0, "N", NULL, BY(apply_buffers),
	  "bytes of what it reads and writes (default: 0)" },
	{ "kernel-returns", 0, "N", NULL, BY(apply_returns),
	  "calls of a kretprobe's function that can be in progress (default: "
	  "two for each thread, 1024 or more)" },
	{ "kernel-symbols", 0, NULL, NULL, TO(session.kernel.symbols),
	  "the kernel's functions and their addresses, some 5 MB: for a trace "
	  "that is read elsewhere, or after a reboot" },
	{ "self", 0, NULL, NULL, TO(session.kernel.self),
	  "what the recorder itself does, as well" },
	{ .help = "Where to" },
	{ "output", 'o', "DIR", SONDE_VALUE_DIR, BY(apply_output),
	  "the trace (default: ./sonde-YYYYMMDD-HHMMSS)" },
	{ "memory", 0, "SIZE", NULL, BY(apply_memory),
	  "for all rings together (default: 64M, less in a small control "
	  "group)" },
	{ "arena", 0, "DIR", SONDE_VALUE_DIR, BY(apply_arena),
	  "the program's rings in files there, which sonde recover reads if "
	  "all of it, and the recorder, was killed" },
	{ "subbuf", 0, "SIZE", NULL, BY(apply_subbuf),
	  "of one sub-buffer, the limit of a record" },
	{ "mode", 0, "MODE", "discard overwrite", BY(apply_mode),
	  "discard: write as it comes, and drop what is too much; overwrite: "
	  "keep the newest in memory, write at the end" },
	{ "rotate", 0, "SIZE|TIME|hand", "64M 1G 10s 1min 1h hand", BY(apply_rotate),
	  "the trace in chunks, each a trace by itself: another one after so "
	  "much of events (64M), after a time (10s, 1h), or when sonde rotate "
	  "says so (hand); may be given several times" },
	{ "keep", 0, "N|SIZE", NULL, BY(apply_keep),
	  "of the chunks, so many or so much: the oldest go first (default: "
	  "all stay)" },
	{ "compress", 0, NULL, NULL, BY(apply_compress),
	  "chunks that have ended, by zstd, when nobody else wants the CPU" },
	{ "headers", 0, "KIND", "auto compact large", BY(apply_headers),
	  "of records: compact (best for up to 30 events), large, or auto: "
	  "count the program's events (default)" },
	{ "ctf", 0, "1.8|2", "1.8 2", BY(apply_ctf),
	  "version of the format's metadata (default: 1.8)" },
	{ "read-timer", 0, "T", NULL, BY(apply_read_timer),
	  "how often to read the rings (default: adaptive)" },
	{ "recorder-cpus", 0, "LIST", NULL, BY(apply_recorder_cpus),
	  "the recorder runs on these CPUs only, such as 0 or 0-2,5" },
	{ "recorder-priority", 0, "N", NULL, BY(apply_recorder_priority),
	  "it has this priority of SCHED_FIFO, 1 to 99" },
	{ "realtime", 0, NULL, NULL, TO(session.is_realtime),
	  "the program touches and locks its rings when it starts" },
	{ .help = "What to tell" },
	{ "quiet", 'q', NULL, NULL, TO(quiet), "only what went wrong" },
	{ "verbose", 'v', NULL, NULL, TO(verbose), "what is being done" },
	{ "json", 0, NULL, NULL, TO(json),
	  "the summary as one line of JSON, on standard error" },
	{ 0 }
};

const struct sonde_option sonde_count_option_table[] = {
	{ .help = "What to count" },
	{ "event", 'e', "GLOB", SONDE_VALUE_EVENT, BY(apply_event),
	  "events to count: provider:event, with * and ?; may be given several "
	  "times (default: all); 'http:request if bytes > 1000': under a "
	  "condition; sdt:provider:name: probes of <sys/sdt.h>" },
	FILTER_OPTION,
	EVENT_OPTIONS,
	FUNCTION_OPTIONS,
	PROCESS_OPTIONS,
	{ "duration", 0, "TIME", NULL, BY(apply_duration),
	  "end after 500ms, 10s, 5min, 1h" },
	{ .help = "What to tell" },
	{ "by", 0, "KEY[,KEY]", NULL, BY(apply_by),
	  "a line for each value of this field or expression, or of both" },
	{ "value", 0, "EXPR", NULL, BY(apply_value), NULL }, /* sonde hist's */
	{ "by-process", 0, NULL, NULL, TO(by_process),
	  "a line for each program, with the children it forks" },
	{ "live", 0, NULL, NULL, TO(live),
	  "while it counts, too: drawn anew on a terminal, or one table after "
	  "the other" },
	{ "interval", 0, "TIME", NULL, BY(apply_interval),
	  "between two tables of --live (default: 1s)" },
	{ "output", 'o', "FILE", SONDE_VALUE_FILE, BY(apply_output),
	  "write there, not on standard output" },
	{ "json", 0, NULL, NULL, TO(json),
	  "as JSON; with --live, an object for each table" },
	{ "quiet", 'q', NULL, NULL, TO(quiet),
	  "only the counts, and what went wrong" },
	{ 0 }
};
/* What is looked at while it goes on: a session, or what is recorded for that, by
 * options of the view's own, too. */
#define FOLLOW_OPTIONS(...) \
	{ .help = "What to record, unless it is a session's" }, \
	{ "event", 'e', "GLOB", SONDE_VALUE_EVENT, BY(apply_event), \
	  "events to record: provider:event, with * and ?; may be given several " \
	  "times (default: all); of a program that is started, " \
	  "'http:request if bytes > 1000': under a condition" }, \
	EVENT_OPTIONS, \
	__VA_ARGS__ \
	PROCESS_OPTIONS, \
	{ "container", 0, "ID", NULL, BY(apply_container), \
	  "those in this container: the first digits of its id" }, \
	{ "duration", 0, "TIME", NULL, BY(apply_duration), \
	  "end after 500ms, 10s, 5min, 1h" }, \
	{ "memory", 0, "SIZE", NULL, BY(apply_memory), \
	  "for all rings together (default: 64M, less in a small control " \
	  "group)" }, \
	{ "output", 'o', "DIR", SONDE_VALUE_DIR, BY(apply_output), \
	  "keep the trace there (default: none is kept)" }, \
	{ .help = "What to tell" }

const struct sonde_option sonde_live_option_table[] = {
	{ .help = "What to show" },
	{ "filter", 'f', "EXPR", NULL, BY(apply_shown_filter),
	  "of the events recorded, only those for which this holds" },
	{ "fields", 0, "LIST", NULL, BY(apply_columns),
	  "columns, as of sonde print (default: time,cpu,tid,event,payload)" },
	{ "json", 0, NULL, NULL, TO(json), "an object for each event" },
	{ "no-names", 0, NULL, NULL, TO(no_names),
	  "addresses of code as numbers alone" },
	FOLLOW_OPTIONS(STACK_OPTION, ),
	{ "quiet", 'q', NULL, NULL, TO(quiet),
	  "only the events, and what went wrong" },
	{ 0 }
};
const struct sonde_option sonde_top_option_table[] = {
	{ .help = "What to show" },
	{ "filter", 'f', "EXPR", NULL, BY(apply_shown_filter),
	  "of the events recorded, only those for which this holds" },
	{ "interval", 0, "TIME", NULL, BY(apply_interval),
	  "between two tables, and of their rates (default: 1s)" },
	{ "once", 0, NULL, NULL, TO(once),
	  "after one interval write the tables, and end" },
	{ "json", 0, NULL, NULL, TO(json),
	  "as JSON, an object for each interval" },
	{ "no-names", 0, NULL, NULL, TO(no_names),
	  "addresses of code as numbers alone" },
	FOLLOW_OPTIONS(),
	{ "quiet", 'q', NULL, NULL, TO(quiet),
	  "only the tables, and what went wrong" },
	{ 0 }
};
/* clang-format on */

/* --help, of which the table says nothing: it is every command's. */
static const struct sonde_option help_table[] = {
	{ "help", 'h', NULL, NULL, TO(help), NULL },
	{ 0 },
};

static int unknown_option(struct parse *parse, const char *word)
{
	int length = word[1] == '-' ? (int)strcspn(word, "=") : 2;
	const struct sonde_option *option = parse->table;
	struct sonde_nearest nearest;
	char name[SONDE_NEAREST_MAX];
	const char *hint;

	(void)snprintf(name, sizeof(name), "%.*s", length, word);
	sonde_nearest_begin(&nearest, name);
	for (; option->name || option->help; option++) {
		if (!option->name)
			continue;
		(void)snprintf(name, sizeof(name), "--%s", option->name);
		sonde_nearest_try(&nearest, name);
	}
	sonde_nearest_try(&nearest, "--help");
	hint = sonde_nearest_hint(&nearest);
	return fail(parse, "unknown option '%.*s'%s", length, word,
		    *hint ? hint :
			    "; --help lists the options; put -- before a "
			    "program whose name starts with -");
}

static int apply(struct parse *parse, const struct sonde_option *option,
		 const char *value)
{
	const char *next =
		parse->next < parse->argc ? parse->argv[parse->next] : NULL;

	if (!option->value && value)
		return fail(parse, "--%s takes no value", option->name);
	if (sonde_option_takes_next(option, value, next)) {
		if (!next)
			return fail(parse, "--%s needs a value after it",
				    option->name);
		value = next;
		parse->next++;
		/* More likely forgotten than meant. */
		if (!strncmp(value, "--", 2))
			return fail(parse,
				    "--%s needs a value before '%s'; if that "
				    "is the value, write --%s=%s",
				    option->name, value, option->name, value);
	}
	return option->to.take ?
		       option->to.take(parse, value) :
		       sonde_option_give(option, parse->options, value);
}

static int parse_option(struct parse *parse, const char *word)
{
	const char *value = NULL;
	const struct sonde_option *option =
		sonde_option_find(parse->table, word, &value);

	if (!option)
		option = sonde_option_find(help_table, word, &value);
	return option ? apply(parse, option, value) :
			unknown_option(parse, word);
}

/* What is recorded is looked at while it goes on. */
static bool is_follower(const struct parse *parse)
{
	return parse->table == sonde_live_option_table ||
	       parse->table == sonde_top_option_table;
}

static int parse_words(struct parse *parse)
{
	int rc = 0;

	while (!rc && parse->next < parse->argc) {
		const char *word = parse->argv[parse->next];

		if (word[0] != '-' || !word[1]) {
			/* `sonde live` and `sonde top` take one word as a
			 * session's name. */
			if (!is_follower(parse) || parse->options->name)
				return 0;
			parse->options->name = parse->argv[parse->next++];
			continue;
		}
		parse->next++;
		if (!strcmp(word, "--")) {
			parse->has_dashes = true;
			return 0;
		}
		rc = parse_option(parse, word);
	}
	return rc;
}

/* Of a session by name. */
static int check_session(struct parse *parse)
{
	const struct sonde_session_config *session = &parse->options->session;

	if (parse->next < parse->argc)
		return fail(parse,
			    "start: a session records what runs already, and "
			    "'%.60s' is one word too many; sonde record starts "
			    "a program",
			    parse->argv[parse->next]);
	if (!session->attaches && !session->kernel.whole_machine)
		return fail(parse,
			    "start: which processes? Say it with -p PID|NAME, "
			    "-u USER, --cgroup PATH or --container ID; or all "
			    "of the machine with -a -k EVENTS");
	if (parse->options->hooks && !session->attaches)
		return fail(
			parse,
			"start: --malloc, --locks and --io are of "
			"processes: say which with -p PID|NAME, -u USER, --cgroup PATH or "
			"--container ID");
	return 0;
}

static int check_triggers(struct parse *parse)
{
	const struct sonde_session_config *session = &parse->options->session;

	if (session->nr_triggers && !parse->is_session)
		return fail(parse, "--when is of sessions by name, which sonde "
				   "start makes");
	for (uint32_t i = 0; i < session->nr_triggers; i++) {
		const struct sonde_session_trigger *trigger =
			&session->triggers[i];

		if (trigger->action == SONDE_DO_SNAPSHOT &&
		    session->mode != SONDE_OVERWRITE)
			return fail(parse,
				    "--when '%.60s': snapshots are of --mode "
				    "overwrite; or say --do rotate, stop, "
				    "notify, or 'run COMMAND'",
				    trigger->when);
		if (trigger->action == SONDE_DO_ASK && !session->ask_at)
			return fail(parse,
				    "--when '%.60s' --do snapshot@%.60s: where "
				    "are they asked? --ask-at nats://HOST",
				    trigger->when, trigger->hosts);
		if (trigger->kind == SONDE_WHEN_FULL &&
		    session->mode == SONDE_OVERWRITE)
			return fail(parse,
				    "--when '%.60s': in --mode overwrite rings "
				    "are always full",
				    trigger->when);
		if (trigger->action == SONDE_DO_ROTATE && !session->rotates)
			return fail(parse,
				    "--when '%.60s' --do rotate: the trace is "
				    "not in chunks; say --rotate hand, too",
				    trigger->when);
	}
	return 0;
}

/* Of `sonde live` and `sonde top`. */
static int check_live(struct parse *parse)
{
	const struct sonde_record_options *options = parse->options;
	bool is_own = parse->has_include || options->hooks ||
		      options->hook_functions || options->session.attaches ||
		      options->output || options->memory_given ||
		      options->session.rules_size > 1 ||
		      options->session.loglevel != SONDE_LOGLEVEL_ALL;

	if (!options->name && !options->session.attaches && !parse->has_dashes)
		return fail(parse,
			    "%s: of what? Give a session's name (sonde "
			    "status), -p PID, or -- PROGRAM ARGS",
			    parse->argv[0]);
	if (!options->name)
		return 0;
	if (parse->next < parse->argc)
		return fail(parse,
			    "%s: '%.60s' is one word too many behind a "
			    "session's name; to start a program, put -- before "
			    "it",
			    parse->argv[0], parse->argv[parse->next]);
	if (is_own)
		return fail(parse,
			    "%s: session '%.60s' says what is recorded: leave "
			    "out what is about that (to start a program, put "
			    "-- before it)",
			    parse->argv[0], options->name);
	return 0;
}

static int check_hooks(struct parse *parse)
{
	const struct sonde_record_options *options = parse->options;

	if (options->hooks & SONDE_RECORD_LOG && !options->program)
		return fail(parse, "--log is of a program that is started, by "
				   "what is preloaded into it");
	if (!options->nr_sites)
		return 0;
	if (!options->session.attaches && !options->program)
		return fail(parse,
			    "-e '%.60s' is of a program's probes of "
			    "<sys/sdt.h>: say of which, a program that is "
			    "started, or what runs (-p PID|NAME)",
			    options->sites[0]);
	if (options->session.nr_filters)
		return fail(parse,
			    "--filter is not tested at probes: say -e '%.60s "
			    "if CONDITION'",
			    options->sites[0]);
	return 0;
}

static int check_functions(struct parse *parse)
{
	const struct sonde_record_options *options = parse->options;

	if (options->hook_functions && !options->program)
		return fail(parse,
			    "--functions of what runs wants their names: "
			    "--functions='GLOB', such as '*'; without, it is "
			    "of a program that is started and was compiled "
			    "for it");
	if (options->nr_functions &&
	    parse->table != sonde_record_option_table &&
	    parse->table != sonde_count_option_table)
		return fail(parse,
			    "--functions=%.60s is recorded: use sonde record",
			    options->functions[0]);
	if (options->nr_functions && !options->session.attaches &&
	    !options->program)
		return fail(parse,
			    "--functions=%.60s: say of what: of a program that "
			    "is started, or of what runs (-p PID|NAME)",
			    options->functions[0]);
	if (options->nr_nots && !options->nr_functions)
		return fail(parse, "--not is of --functions=GLOB");
	if (options->functions_args && !options->nr_functions)
		return fail(parse, "--args is of --functions=GLOB");
	if ((options->functions_args || options->functions_if) &&
	    (options->functions_min_ns || options->functions_depth))
		return fail(parse, "--args and conditions go without "
				   "--min-duration and --depth: an entry that "
				   "those record late has no arguments any "
				   "more");
	if ((options->functions_min_ns || options->functions_depth) &&
	    !options->hook_functions && !options->nr_functions)
		return fail(parse, "--min-duration and --depth are of calls "
				   "that --functions records");
	return 0;
}

/* For the recorder of a session, which tells them and has them changed. */
static int note_functions(struct parse *parse)
{
	const struct sonde_record_options *options = parse->options;
	struct sonde_session_config *session = &parse->options->session;
	int rc = 0;

	if (!parse->is_session || !options->nr_functions)
		return 0;
	session->functions_size = 1;
	session->functions_have_conditions = options->functions_if;
	for (uint32_t i = 0; i < options->nr_functions && !rc; i++)
		rc = sonde_session_rules_add(session->functions,
					     &session->functions_size, '+',
					     options->functions[i],
					     parse->error, parse->error_size);
	for (uint32_t i = 0; i < options->nr_nots && !rc; i++)
		rc = sonde_session_rules_add(session->functions,
					     &session->functions_size, '-',
					     options->nots[i], parse->error,
					     parse->error_size);
	return rc;
}

/* What only makes sense to check once all words are known. */
static int finish(struct parse *parse)
{
	struct sonde_record_options *options = parse->options;
	struct sonde_session_config *session = &options->session;
	int rc;

	if (options->help)
		return 0;
	rc = check_triggers(parse);
	if (!rc && parse->is_session)
		rc = check_session(parse);
	if (!rc && is_follower(parse))
		rc = check_live(parse);
	if (rc || options->name)
		return rc;
	if (session->attaches && parse->next < parse->argc)
		return fail(parse,
			    "-p, -u, --cgroup and --container record what runs "
			    "already, and '%.60s' is a program to start: leave "
			    "one out",
			    parse->argv[parse->next]);
	if (parse->next < parse->argc)
		options->program = parse->argv + parse->next;
	session->has_program = options->program;
	if (options->arena && !options->program)
		return fail(parse,
			    "--arena is for a program that is started; what "
			    "runs already had to be started with "
			    "SONDE_ARENA=%.80s in its environment",
			    options->arena);
	rc = check_functions(parse);
	if (!rc)
		rc = note_functions(parse);
	if (!rc)
		rc = check_hooks(parse);
	if (rc)
		return rc;
	session->has_hooks = options->hooks || options->hook_functions ||
			     ((options->nr_functions || options->nr_sites) &&
			      session->attaches);
	if (!parse->has_include)
		rc = add_rule(parse, '+', "*");
	return rc ? rc :
		    sonde_session_config_check(session, parse->error,
					       parse->error_size);
}

/* NOLINTNEXTLINE(readability-function-size): six of its own, and which table */
static int parse_options(const struct sonde_option *table, bool is_session,
			 int argc, char *const *argv,
			 struct sonde_record_options *ret_options, char *error,
			 size_t error_size)
{
	struct parse parse = {
		.argc = argc,
		.argv = argv,
		.next = 1,
		.table = table,
		.options = ret_options,
		.is_session = is_session,
		.error = error,
		.error_size = error_size,
	};
	int rc;

	*ret_options = (struct sonde_record_options){
		.interval_us = 1000000,
	};
	sonde_session_config_init(&ret_options->session);
	if (table == sonde_count_option_table)
		ret_options->session.mode = SONDE_COUNT;
	rc = parse_words(&parse);
	return rc ? rc : finish(&parse);
}

int sonde_record_options_parse(int argc, char *const *argv,
			       struct sonde_record_options *ret_options,
			       char *error, size_t error_size)
{
	return parse_options(sonde_record_option_table, false, argc, argv,
			     ret_options, error, error_size);
}

int sonde_session_options_parse(int argc, char *const *argv,
				struct sonde_record_options *ret_options,
				char *error, size_t error_size)
{
	return parse_options(sonde_record_option_table, true, argc, argv,
			     ret_options, error, error_size);
}

int sonde_count_options_parse(int argc, char *const *argv,
			      struct sonde_record_options *ret_options,
			      char *error, size_t error_size)
{
	return parse_options(sonde_count_option_table, false, argc, argv,
			     ret_options, error, error_size);
}

int sonde_record_options_parse_table(const struct sonde_option *table, int argc,
				     char *const *argv,
				     struct sonde_record_options *ret_options,
				     char *error, size_t error_size)
{
	return parse_options(table, false, argc, argv, ret_options, error,
			     error_size);
}
