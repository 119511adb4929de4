/* SPDX-License-Identifier: MIT */
/*
 * latency.c - `sonde latency`: how long this machine keeps threads from their
 * CPUs, by a loop, a timer, a wake-up, a signal; and how many events a second it
 * can record.
 */
#include "cmd/latency.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/nearest.h"
#include "base/number.h"
#include "base/port.h"
#include "cmd/cmd.h"
#include "cmd/options.h"
#include "cmd/recording.h"
#include "session/config.h"
#include "sys/cpus.h"

#define PRIORITY_DEFAULT 80u
#define PRIORITY_MAX     99u
#define RATE_MAX         1000000000u
#define BURST_MAX        1000u
#define REPEATS_MAX      1000u

static const char usage[] =
	"sonde latency loop [options]\n"
	"sonde latency timer|wakeup|signal [options]\n"
	"sonde latency max-rate [options] [-- OPTIONS OF SONDE RECORD]\n"
	"\n"
	"Measures how long threads are kept from their CPUs: loop, from one reading of\n"
	"the counter to the next; timer, from a time to the thread that slept until\n"
	"then; wakeup, from a write to a pipe to the thread that waited for it; signal,\n"
	"from its sending to who took it. max-rate seeks how many events a second such a\n"
	"loop can make so that none is lost while it is recorded.\n";

/* clang-format off */
#define TO(member) SONDE_OPTION_TO(struct latency_words, member)
static const struct sonde_option options[] = {
	{ .help = "What is measured" },
	{ "cpu", 0, "LIST", NULL, TO(cpus),
	  "on these CPUs, a thread on each (default: the last one this process "
	  "may use)" },
	{ "duration", 0, "TIME", NULL, TO(duration),
	  "for that long (default: 5s)" },
	{ "warm-up", 0, "TIME", NULL, TO(warm_up),
	  "before, without counting (default: 100ms)" },
	{ "interval", 0, "TIME", NULL, TO(interval),
	  "of timer, wakeup and signal: one every TIME (default: 1ms)" },
	{ "priority", 0, "N", NULL, TO(priority),
	  "at this real-time priority, 1 to 99, or 0: as an ordinary thread "
	  "(default: 80, if permitted)" },
	{ "threshold", 0, "TIME", NULL, TO(threshold),
	  "count what takes longer" },
	{ .help = "Events of its own, for sonde record" },
	{ "event", 0, NULL, NULL, TO(event),
	  "latency:tick in the turns of the loop; latency:over {ns} after what "
	  "takes longer than --threshold" },
	{ "rate", 0, "N", NULL, TO(rate),
	  "so many latency:tick a second, not one in each turn" },
	{ "burst", 0, "N", NULL, TO(burst),
	  "up to N of those that are due in one turn (default: 1)" },
	{ .help = "Why it was longer" },
	{ "kernel", 'k', "RULES", SONDE_VALUE_KERNEL, TO(kernel),
	  "record these events of the kernel meanwhile, and explain what takes "
	  "longer than --threshold" },
	{ .help = "The highest rate" },
	{ "repeats", 0, "N", NULL, TO(repeats),
	  "a rate must hold for N runs of --duration (default: 5, of 500ms)" },
	{ "quick", 0, NULL, NULL, TO(quick),
	  "3 runs of 100ms, and to a fifth instead of a twentieth" },
	{ "time-limit", 0, "TIME", NULL, TO(time_limit),
	  "end the search before a rate for which TIME may be too short" },
	{ .help = "Output" },
	{ "json", 0, NULL, NULL, TO(json), "as JSON" },
	{ "svg", 0, "FILE", SONDE_VALUE_FILE, TO(svg),
	  "the drawing as a picture, too" },
	{ 0 }
};
/* clang-format on */

#define KIND_MAX_RATE (SONDE_LATENCY_SIGNAL + 1)

static const char *const latency_kinds[] = {
	[SONDE_LATENCY_LOOP] = "loop",     [SONDE_LATENCY_TIMER] = "timer",
	[SONDE_LATENCY_WAKEUP] = "wakeup", [SONDE_LATENCY_SIGNAL] = "signal",
	[KIND_MAX_RATE] = "max-rate",
};

/* ---- what the words say ---- */

/* 0, or the exit status: an error was told. */
static int latency_time(const char *option, const char *text, bool may_be_zero,
			uint64_t *ns)
{
	uint64_t us;

	if (!text)
		return 0;
	if (sonde_number_parse_time_us(text, &us) || (!us && !may_be_zero) ||
	    us > SONDE_DURATION_MAX_US) {
		sonde_complain(
			"latency: %s %.100s: give a time, such as 500us, "
			"20ms or 10s",
			option, text);
		return SONDE_EXIT_USAGE;
	}
	*ns = us * 1000;
	return 0;
}

static int latency_number(const char *option, const char *text, uint64_t min,
			  uint64_t max, uint64_t *number)
{
	if (!text || (sonde_number_parse(text, max, number) && *number >= min))
		return 0;
	sonde_complain("latency: %s %.100s: give a number from %llu to %llu",
		       option, text, (unsigned long long)min,
		       (unsigned long long)max);
	return SONDE_EXIT_USAGE;
}

/* Each once. */
static int latency_cpus(const char *list, struct sonde_latency_config *config)
{
	struct sonde_latency_config own;
	const char *at = list;
	uint32_t first;
	uint32_t last;

	own.nr_cpus = sonde_latency_own_cpus(own.cpus);
	if (!list && own.nr_cpus) {
		config->nr_cpus = 1;
		config->cpus[0] = own.cpus[own.nr_cpus - 1];
		return 0;
	}
	while (list && sonde_cpus_take(&at, &first, &last))
		for (uint64_t cpu = first; cpu <= last; cpu++) {
			if (!sonde_latency_has_cpu(&own, (uint32_t)cpu)) {
				sonde_complain("latency: --cpu %.100s: this "
					       "process may not run on CPU "
					       "%llu; taskset -p shows where "
					       "it may",
					       list, (unsigned long long)cpu);
				return SONDE_EXIT_USAGE;
			}
			if (!sonde_latency_has_cpu(config, (uint32_t)cpu))
				config->cpus[config->nr_cpus++] = (uint32_t)cpu;
		}
	if (list && !*at && config->nr_cpus)
		return 0;
	sonde_complain("latency: --cpu %.100s: give CPUs, such as 1 or 0-2,5",
		       list ? list : "");
	return SONDE_EXIT_USAGE;
}

static int latency_kind(const char *word, size_t *ret_kind)
{
	struct sonde_nearest nearest;
	const char *hint;

	sonde_nearest_begin(&nearest, word ? word : "");
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(latency_kinds); i++) {
		if (word && !strcmp(word, latency_kinds[i])) {
			*ret_kind = i;
			return 0;
		}
		sonde_nearest_try(&nearest, latency_kinds[i]);
	}
	hint = sonde_nearest_hint(&nearest);
	if (word)
		sonde_complain("latency: no '%.100s'%s", word,
			       *hint ? hint :
				       "; loop, timer, wakeup, signal or "
				       "max-rate");
	else
		sonde_complain("latency: loop, timer, wakeup, signal or "
			       "max-rate? 'sonde latency --help' says more");
	return SONDE_EXIT_USAGE;
}

/* What goes with what. */
static int latency_fits(const struct latency_words *words, size_t kind)
{
	bool is_rate = kind == KIND_MAX_RATE;
	bool is_loop = kind == SONDE_LATENCY_LOOP;
	const struct {
		bool is_so;
		const char *what;
	} wrong[] = {
		{ is_rate && (words->interval || words->rate || words->event ||
			      words->burst || words->threshold ||
			      words->warm_up || words->svg || words->kernel),
		  "goes with --cpu, --duration, --priority, --repeats, --quick, "
		  "--time-limit and --json" },
		{ !is_rate &&
			  (words->repeats || words->quick || words->time_limit),
		  "--repeats, --quick and --time-limit are for max-rate" },
		{ is_loop && words->interval,
		  "--interval is for timer, wakeup and signal" },
		{ !is_loop && words->rate, "--rate is for loop" },
		{ words->rate && !words->event, "--rate goes with --event" },
		{ words->burst && (!is_loop || !words->event),
		  "--burst goes with loop and --event" },
		{ !is_loop && words->event && !words->threshold,
		  "--event goes with --threshold there" },
		{ words->kernel && !words->threshold,
		  "-k explains what takes longer than --threshold: give one, "
		  "such as 20us" },
		{ words->kernel && words->event,
		  "-k has events of its own: leave --event out" },
	};

	for (size_t i = 0; i < SONDE_ARRAY_SIZE(wrong); i++)
		if (wrong[i].is_so) {
			sonde_complain("latency %s: %s", latency_kinds[kind],
				       wrong[i].what);
			return SONDE_EXIT_USAGE;
		}
	return 0;
}

static int latency_configure(const struct latency_words *words,
			     struct sonde_latency_config *config)
{
	uint64_t priority = PRIORITY_DEFAULT;
	uint64_t burst = 1;
	int status = latency_cpus(words->cpus, config);

	if (!status)
		status = latency_time("--duration", words->duration, false,
				      &config->duration_ns);
	if (!status)
		status = latency_time("--warm-up", words->warm_up, true,
				      &config->warmup_ns);
	if (!status)
		status = latency_time("--interval", words->interval, false,
				      &config->interval_ns);
	if (!status)
		status = latency_time("--threshold", words->threshold, false,
				      &config->over_ns);
	if (!status)
		status = latency_number("--priority", words->priority, 0,
					PRIORITY_MAX, &priority);
	if (!status)
		status = latency_number("--rate", words->rate, 0, RATE_MAX,
					&config->rate);
	if (!status)
		status = latency_number("--burst", words->burst, 1, BURST_MAX,
					&burst);
	config->priority = (uint32_t)priority;
	config->burst = (uint32_t)burst;
	return status;
}

/* ---- events ---- */

/* The library with the tracepoints stays open: libsonde can't be unloaded. */
static int latency_open_events(struct sonde_latency_config *config)
{
	static const char *const names[] = { "sonde_latency_tick",
					     "sonde_latency_over", NULL };
	void *functions[2];

	if (sonde_command_load("latency: --event", &sonde_launch_latency, names,
			       functions))
		return 1;
	*(void **)&config->tick = functions[0];
	*(void **)&config->over = functions[1];
	return 0;
}

/* ---- the command ---- */

static int latency_explain_failure(int error)
{
	if (error == -ENOTSUP)
		sonde_complain("latency: this CPU's counter can't be used as a "
			       "clock (sonde doctor says why); timer, wakeup "
			       "and signal work without");
	else
		sonde_complain("latency: can't measure: %s",
			       strerrordesc_np(-error));
	return 1;
}

static int latency_rates(const struct latency_words *words, char *const *record)
{
	struct sonde_latency_config config = {
		.kind = SONDE_LATENCY_LOOP,
		.duration_ns = words->quick ? 100000000u : 500000000u,
	};
	struct latency_rate_how how = {
		.precision = words->quick ? 0.2 : 0.05,
		.json = words->json,
	};
	uint64_t repeats = words->quick ? 3 : 5;
	int status = latency_configure(words, &config);

	if (!status)
		status = latency_number("--repeats", words->repeats, 1,
					REPEATS_MAX, &repeats);
	if (!status)
		status = latency_time("--time-limit", words->time_limit, false,
				      &how.limit_ns);
	how.repeats = (uint32_t)repeats;
	return status ? status : latency_max_rate(&config, &how, record);
}

static int latency_run(const struct latency_words *words,
		       enum sonde_latency_kind kind)
{
	struct sonde_latency_config config = {
		.kind = kind,
		.duration_ns = 5000000000u,
		.warmup_ns = 100000000u,
		.interval_ns = 1000000u,
	};
	const struct latency_how how = {
		.kind = latency_kinds[kind],
		.svg = words->svg,
		.json = words->json,
	};
	struct sonde_latency_result result;
	int status = latency_configure(words, &config);
	int error;

	if (!status && words->kernel)
		return latency_explain(&config, words, how.kind);
	if (!status && words->event)
		status = latency_open_events(&config);
	if (status)
		return status;
	error = sonde_latency_measure(&config, &result);
	if (error)
		return latency_explain_failure(error);
	status = latency_show(&config, &result, &how);
	sonde_latency_result_fini(&result);
	return status;
}

static int run(int argc, char **argv)
{
	struct latency_words words = { 0 };
	int status = sonde_option_take(&sonde_command_latency, argc, argv,
				       &words, NULL);
	size_t kind;

	if (status >= 0)
		return status;
	status = latency_kind(argv[optind], &kind);
	if (!status)
		status = latency_fits(&words, kind);
	if (status)
		return status;
	if (kind == KIND_MAX_RATE)
		return latency_rates(&words, argv + optind + 1);
	if (argv[optind + 1]) {
		sonde_complain("latency %s: takes no '%.100s'",
			       latency_kinds[kind], argv[optind + 1]);
		return SONDE_EXIT_USAGE;
	}
	return latency_run(&words, (enum sonde_latency_kind)kind);
}

const struct sonde_command sonde_command_latency = {
	.name = "latency",
	.run = run,
	.brief = "loop|timer|...|max-rate",
	.does = "what keeps threads from their CPUs",
	.usage = usage,
	.options = options,
	.notes = "Exit status: 0 if it was measured, 1 if not, 2 for wrong "
		 "usage.\n",
	.words = "loop timer wakeup signal max-rate",
};
