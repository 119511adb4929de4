/* SPDX-License-Identifier: MIT */
#include "session/options.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "event/select.h"
#include "expr/expr.h"

/* What goes along while the words are read. */
struct parse {
	int argc;
	char *const *argv;
	int next;
	struct sonde_record_options *options;
	bool has_include;
	char *error;
	size_t error_size;
};

struct option_def {
	const char *name;
	char letter; /* 0: long form only */
	bool takes_value;
	int (*apply)(struct parse *parse, const char *value);
};

__attribute__((format(printf, 2, 3))) static int fail(struct parse *parse,
						      const char *format, ...)
{
	va_list args;

	va_start(args, format);
	(void)vsnprintf(parse->error, parse->error_size, format, args);
	va_end(args);
	return -EINVAL;
}

static int parse_number(const char *text, const char **ret_rest,
			uint64_t *ret_value)
{
	char *rest;

	/* strtoull takes signs and blanks, which no size has. */
	if (*text < '0' || *text > '9')
		return -EINVAL;
	errno = 0;
	*ret_value = strtoull(text, &rest, 10);
	*ret_rest = rest;
	return errno ? -ERANGE : 0;
}

int sonde_parse_size(const char *text, uint64_t *ret_bytes)
{
	static const char suffixes[] = "kMGT";
	const char *rest;
	const char *found;
	uint64_t value;
	unsigned int shift = 0;
	int rc = parse_number(text, &rest, &value);

	if (rc)
		return rc;
	if (*rest) {
		found = strchr(suffixes, *rest == 'K' ? 'k' : *rest);
		if (!found)
			return -EINVAL;
		shift = 10 * (unsigned int)(found - suffixes + 1);
		rest++;
	}
	if (*rest && strcmp(rest, "B") != 0 && strcmp(rest, "iB") != 0)
		return -EINVAL;
	if (value > UINT64_MAX >> shift)
		return -ERANGE;
	*ret_bytes = value << shift;
	return 0;
}

int sonde_parse_time_us(const char *text, uint64_t *ret_us)
{
	static const struct {
		const char *suffix;
		uint64_t us;
	} units[] = {
		{ "", 1 }, { "us", 1 }, { "ms", 1000 }, { "s", 1000000 }
	};
	const char *rest;
	uint64_t value;

	if (parse_number(text, &rest, &value))
		return -EINVAL;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strcmp(rest, units[i].suffix) != 0)
			continue;
		if (value > UINT64_MAX / units[i].us)
			return -EINVAL;
		*ret_us = value * units[i].us;
		return 0;
	}
	return -EINVAL;
}

int sonde_parse_loglevel(const char *text, uint32_t *ret_level)
{
	const char *rest;
	uint64_t value;

	for (uint32_t i = 0; i < SONDE_LEVELS; i++) {
		if (!strcasecmp(text, sonde_level_name(i))) {
			*ret_level = i;
			return 0;
		}
	}
	if (parse_number(text, &rest, &value) || *rest || value >= SONDE_LEVELS)
		return -EINVAL;
	*ret_level = (uint32_t)value;
	return 0;
}

const char *sonde_format_size(uint64_t bytes, char *out, size_t out_size)
{
	static const char suffixes[] = "\0kMGT";
	size_t i = 0;

	while (bytes && !(bytes & 1023) && i + 2 < sizeof(suffixes)) {
		bytes >>= 10;
		i++;
	}
	(void)snprintf(out, out_size, "%" PRIu64 "%.1s", bytes, &suffixes[i]);
	return out;
}

static int add_rule(struct parse *parse, char sign, const char *glob)
{
	struct sonde_record_options *options = parse->options;
	/* rules_size counts the empty string that ends the list. */
	size_t at = options->rules_size - 1;
	size_t length = strlen(glob);

	if (!length)
		return fail(parse, "an empty pattern selects nothing; "
				   "'*' selects every event");
	if (length + 1 > SONDE_GLOB_MAX)
		return fail(parse,
			    "the pattern '%.40s...' is %zu characters long; "
			    "the limit is %d",
			    glob, length, SONDE_GLOB_MAX - 1);
	if (at + length + 3 > sizeof(options->rules))
		return fail(parse,
			    "the patterns of -e and --exclude together exceed "
			    "%zu bytes; merge some with '*'",
			    sizeof(options->rules));
	options->rules[at] = sign;
	memcpy(options->rules + at + 1, glob, length + 1);
	options->rules[at + length + 2] = '\0';
	options->rules_size = at + length + 3;
	return 0;
}

static int apply_output(struct parse *parse, const char *value)
{
	if (!*value)
		return fail(parse, "--output needs the name of a directory");
	parse->options->output = value;
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
	struct sonde_record_options *options = parse->options;
	uint32_t rule = (uint32_t)options->rules_size - 1;
	int rc = check_condition(parse, "-e", text);

	if (rc)
		return rc;
	if (options->nr_conditions == SONDE_CONDITIONS_MAX)
		return fail(parse,
			    "more than %u -e have conditions; merge some "
			    "with '*'",
			    SONDE_CONDITIONS_MAX);
	options->conditions[options->nr_conditions++] =
		(struct sonde_event_condition){ rule, text };
	return add_rule(parse, '+', glob);
}

static int apply_event(struct parse *parse, const char *value)
{
	char glob[SONDE_GLOB_MAX];
	const char *text;
	size_t length = sonde_condition_at(value, &text);

	parse->has_include = true;
	if (!text)
		return add_rule(parse, '+', value);
	if (length >= sizeof(glob))
		return fail(parse,
			    "the pattern '%.40s...' is %zu characters long; "
			    "the limit is %d",
			    value, length, SONDE_GLOB_MAX - 1);
	memcpy(glob, value, length);
	glob[length] = '\0';
	return add_condition(parse, glob, text);
}

static int apply_filter(struct parse *parse, const char *value)
{
	struct sonde_record_options *options = parse->options;
	int rc = check_condition(parse, "--filter", value);

	if (rc)
		return rc;
	if (options->nr_filters == SONDE_COMMON_FILTERS_MAX)
		return fail(parse, "more than %u --filter; join some with &&",
			    SONDE_COMMON_FILTERS_MAX);
	options->filters[options->nr_filters++] = value;
	return 0;
}

static int apply_exclude(struct parse *parse, const char *value)
{
	return add_rule(parse, '-', value);
}

static int apply_loglevel(struct parse *parse, const char *value)
{
	if (sonde_parse_loglevel(value, &parse->options->loglevel))
		return fail(parse,
			    "--loglevel %s: not a level; use emerg, alert, "
			    "crit, err, warning, notice, info, debug_system "
			    "... debug, or 0 to 14",
			    value);
	return 0;
}

static int apply_mode(struct parse *parse, const char *value)
{
	if (!strcmp(value, "discard"))
		parse->options->mode = SONDE_DISCARD;
	else if (!strcmp(value, "overwrite"))
		parse->options->mode = SONDE_OVERWRITE;
	else
		return fail(parse,
			    "--mode %s: use 'discard' (keep the oldest events) "
			    "or 'overwrite' (keep the newest)",
			    value);
	return 0;
}

static int apply_headers(struct parse *parse, const char *value)
{
	if (!strcmp(value, "auto"))
		parse->options->headers = SONDE_HEADERS_AUTO;
	else if (!strcmp(value, "compact"))
		parse->options->headers = SONDE_HEADERS_COMPACT;
	else if (!strcmp(value, "large"))
		parse->options->headers = SONDE_HEADERS_LARGE;
	else
		return fail(parse,
			    "--headers %s: use 'compact' (4 bytes, best for up "
			    "to 30 events), 'large' (6 bytes) or 'auto'",
			    value);
	return 0;
}

static int apply_ctf(struct parse *parse, const char *value)
{
	if (!strcmp(value, "1.8"))
		parse->options->ctf_version = SONDE_CTF_1_8;
	else if (!strcmp(value, "2"))
		parse->options->ctf_version = SONDE_CTF_2;
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

	if (sonde_parse_size(value, ret_bytes) ||
	    *ret_bytes < SONDE_MEMORY_MIN || *ret_bytes > SONDE_MEMORY_MAX)
		return fail(parse,
			    "--%s %s: give a size from %s to %s, such as 64M",
			    name, value,
			    sonde_format_size(SONDE_MEMORY_MIN, low,
					      sizeof(low)),
			    sonde_format_size(SONDE_MEMORY_MAX, high,
					      sizeof(high)));
	return 0;
}

static int apply_memory(struct parse *parse, const char *value)
{
	return parse_memory(parse, "memory", value,
			    &parse->options->memory_bytes);
}

static int apply_subbuf(struct parse *parse, const char *value)
{
	uint64_t bytes;
	char low[32];
	char high[32];

	if (sonde_parse_size(value, &bytes) || (bytes & (bytes - 1)) ||
	    bytes < SONDE_SUBBUF_MIN || bytes > SONDE_SUBBUF_MAX)
		return fail(parse,
			    "--subbuf %s: give a power of two from %s to %s, "
			    "such as 256k",
			    value,
			    sonde_format_size(SONDE_SUBBUF_MIN, low,
					      sizeof(low)),
			    sonde_format_size(SONDE_SUBBUF_MAX, high,
					      sizeof(high)));
	parse->options->subbuf_bytes = (uint32_t)bytes;
	return 0;
}

static int apply_read_timer(struct parse *parse, const char *value)
{
	uint64_t us;

	if (sonde_parse_time_us(value, &us) || us < SONDE_READ_TIMER_MIN_US ||
	    us > SONDE_READ_TIMER_MAX_US)
		return fail(parse,
			    "--read-timer %s: give a time from %uus to %us, "
			    "such as 500us or 10ms; leave it out to have it "
			    "adapt to the load",
			    value, SONDE_READ_TIMER_MIN_US,
			    SONDE_READ_TIMER_MAX_US / 1000000);
	parse->options->read_timer_us = (uint32_t)us;
	return 0;
}

static int apply_malloc(struct parse *parse, const char *value)
{
	(void)value;
	parse->options->hook_malloc = true;
	return 0;
}

static int apply_locks(struct parse *parse, const char *value)
{
	(void)value;
	parse->options->hook_locks = true;
	return 0;
}

/* `rules` belong to the one who parsed last. */
static int add_rules(struct parse *parse, struct sonde_kernel_rules *rules,
		     struct sonde_kernel_rules **to, const char *value)
{
	int rc;

	if (!*to)
		sonde_kernel_rules_fini(rules);
	*to = rules;
	rc = sonde_kernel_rules_add(rules, value, parse->error,
				    parse->error_size);
	if (rc == -ENOMEM)
		return fail(parse, "no memory left");
	return rc ? -EINVAL : 0;
}

static int apply_kernel(struct parse *parse, const char *value)
{
	static struct sonde_kernel_rules rules;

	return add_rules(parse, &rules, &parse->options->kernel_rules, value);
}

static int apply_until(struct parse *parse, const char *value)
{
	static struct sonde_kernel_rules rules;

	return add_rules(parse, &rules, &parse->options->until_rules, value);
}

static int apply_all(struct parse *parse, const char *value)
{
	(void)value;
	parse->options->whole_machine = true;
	return 0;
}

static int apply_self(struct parse *parse, const char *value)
{
	(void)value;
	parse->options->self = true;
	return 0;
}

static int apply_kernel_source(struct parse *parse, const char *value)
{
	if (!strcmp(value, "auto"))
		parse->options->kernel_source = SONDE_KERNEL_AUTO;
	else if (!strcmp(value, "tracefs"))
		parse->options->kernel_source = SONDE_KERNEL_TRACEFS;
	else if (!strcmp(value, "bpf"))
		parse->options->kernel_source = SONDE_KERNEL_BPF;
	else if (!strcmp(value, "modules"))
		parse->options->kernel_source = SONDE_KERNEL_MODULES;
	else
		return fail(parse,
			    "--kernel-source %s: use 'modules', 'bpf', "
			    "'tracefs', or 'auto' for the best of them",
			    value);
	return 0;
}

static int apply_kernel_memory(struct parse *parse, const char *value)
{
	return parse_memory(parse, "kernel-memory", value,
			    &parse->options->kernel_memory_bytes);
}

static int parse_bytes(struct parse *parse, const char *name, const char *value,
		       uint32_t *ret_bytes)
{
	uint64_t bytes;

	if (sonde_parse_size(value, &bytes) || bytes > SONDE_KERNEL_BYTES_MAX)
		return fail(parse, "--%s %s: give a size from 0 to %u", name,
			    value, SONDE_KERNEL_BYTES_MAX);
	*ret_bytes = (uint32_t)bytes;
	return 0;
}

static int apply_strings(struct parse *parse, const char *value)
{
	return parse_bytes(parse, "kernel-strings", value,
			   &parse->options->kernel_string_bytes);
}

static int apply_buffers(struct parse *parse, const char *value)
{
	return parse_bytes(parse, "kernel-buffers", value,
			   &parse->options->kernel_buffer_bytes);
}

static int apply_quiet(struct parse *parse, const char *value)
{
	(void)value;
	parse->options->quiet = true;
	return 0;
}

static int apply_verbose(struct parse *parse, const char *value)
{
	(void)value;
	parse->options->verbose = true;
	return 0;
}

static int apply_json(struct parse *parse, const char *value)
{
	(void)value;
	parse->options->json = true;
	return 0;
}

static int apply_help(struct parse *parse, const char *value)
{
	(void)value;
	parse->options->help = true;
	return 0;
}

static const struct option_def definitions[] = {
	{ "output", 'o', true, apply_output },
	{ "event", 'e', true, apply_event },
	{ "filter", 0, true, apply_filter },
	{ "exclude", 0, true, apply_exclude },
	{ "loglevel", 0, true, apply_loglevel },
	{ "mode", 0, true, apply_mode },
	{ "memory", 0, true, apply_memory },
	{ "subbuf", 0, true, apply_subbuf },
	{ "read-timer", 0, true, apply_read_timer },
	{ "headers", 0, true, apply_headers },
	{ "ctf", 0, true, apply_ctf },
	{ "kernel", 'k', true, apply_kernel },
	{ "all", 'a', false, apply_all },
	{ "self", 0, false, apply_self },
	{ "until", 0, true, apply_until },
	{ "kernel-source", 0, true, apply_kernel_source },
	{ "kernel-memory", 0, true, apply_kernel_memory },
	{ "kernel-strings", 0, true, apply_strings },
	{ "kernel-buffers", 0, true, apply_buffers },
	{ "malloc", 0, false, apply_malloc },
	{ "locks", 0, false, apply_locks },
	{ "quiet", 'q', false, apply_quiet },
	{ "verbose", 'v', false, apply_verbose },
	{ "json", 0, false, apply_json },
	{ "help", 'h', false, apply_help },
};

static int unknown_option(struct parse *parse, const char *word, int length)
{
	return fail(parse,
		    "unknown option '%.*s'; 'sonde record --help' lists the "
		    "options; put -- before a program whose name starts "
		    "with -",
		    length, word);
}

static int apply(struct parse *parse, const struct option_def *def,
		 const char *value)
{
	if (!def->takes_value && value)
		return fail(parse, "--%s takes no value", def->name);
	if (def->takes_value && !value) {
		if (parse->next >= parse->argc)
			return fail(parse, "--%s needs a value after it",
				    def->name);
		value = parse->argv[parse->next++];
		/* More likely forgotten than meant. */
		if (!strncmp(value, "--", 2))
			return fail(parse,
				    "--%s needs a value before '%s'; if that "
				    "is the value, write --%s=%s",
				    def->name, value, def->name, value);
	}
	return def->apply(parse, value);
}

static int parse_long(struct parse *parse, const char *word)
{
	size_t length = strcspn(word, "=");

	for (size_t i = 0; i < SONDE_ARRAY_SIZE(definitions); i++) {
		const struct option_def *def = &definitions[i];

		if (strlen(def->name) + 2 == length &&
		    !memcmp(word + 2, def->name, length - 2))
			return apply(parse, def,
				     word[length] ? word + length + 1 : NULL);
	}
	return unknown_option(parse, word, (int)length);
}

static int parse_short(struct parse *parse, const char *word)
{
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(definitions); i++) {
		const struct option_def *def = &definitions[i];

		if (def->letter && word[1] == def->letter)
			return apply(parse, def, word[2] ? word + 2 : NULL);
	}
	return unknown_option(parse, word, 2);
}

static int parse_words(struct parse *parse)
{
	int rc = 0;

	while (!rc && parse->next < parse->argc) {
		const char *word = parse->argv[parse->next];

		if (word[0] != '-' || !word[1])
			return 0;
		parse->next++;
		if (!strcmp(word, "--"))
			return 0;
		rc = word[1] == '-' ? parse_long(parse, word) :
				      parse_short(parse, word);
	}
	return rc;
}

/* What only makes sense to check once all words are known. */
static int finish(struct parse *parse)
{
	struct sonde_record_options *options = parse->options;
	int rc;

	if (options->help)
		return 0;
	if (options->whole_machine && !options->kernel_rules)
		return fail(parse, "--all is about kernel events; say which, "
				   "such as -k sched,syscalls");
	if (options->until_rules && !options->kernel_rules)
		return fail(parse, "--until waits for a kernel event; say with "
				   "-k which ones are recorded meanwhile");
	if (parse->next < parse->argc)
		options->program = parse->argv + parse->next;
	else if (!options->whole_machine)
		return fail(parse,
			    "which program? Try: sonde record -- PROGRAM ARGS; "
			    "or all of the machine with -a -k EVENTS");
	if (!parse->has_include) {
		rc = add_rule(parse, '+', "*");
		if (rc)
			return rc;
	}
	if (options->subbuf_bytes > options->memory_bytes / 8)
		return fail(parse,
			    "--subbuf is more than an eighth of --memory; "
			    "give --memory at least %" PRIu64 "k",
			    options->subbuf_bytes / UINT64_C(128));
	return 0;
}

int sonde_record_options_parse(int argc, char *const *argv,
			       struct sonde_record_options *ret_options,
			       char *error, size_t error_size)
{
	struct parse parse = {
		.argc = argc,
		.argv = argv,
		.next = 1,
		.options = ret_options,
		.error = error,
		.error_size = error_size,
	};
	int rc;

	*ret_options = (struct sonde_record_options){
		.memory_bytes = SONDE_MEMORY_DEFAULT,
		.loglevel = SONDE_LOGLEVEL_ALL,
		.mode = SONDE_DISCARD,
		.rules_size = 1,
		.kernel_string_bytes = SONDE_KERNEL_STRING_DEFAULT,
	};
	rc = parse_words(&parse);
	return rc ? rc : finish(&parse);
}
