/* SPDX-License-Identifier: MIT */
/*
 * latency_rate.c - `sonde latency max-rate`: how many events a second can be
 * recorded without a loss.
 *
 * Each run is a `sonde latency loop --event` that is recorded; what it has emitted
 * it says itself, what was lost the recording.
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "analysis/report.h"
#include "base/number.h"
#include "base/port.h"
#include "base/text.h"
#include "base/time.h"
#include "cmd/cmd.h"
#include "cmd/latency.h"
#include "cmd/latency_record.h"
#include "latency/rate.h"
#include "view/text/show.h"

#define FLOOR_RATE 1000
#define OUTPUT_MAX (256u << 10)

/* Behind the program's name: what never changes, then what has room in the
 * finder, the rate last. */
static char rate_fixed[][16] = { "latency",    "loop",   "--event",
				 "--burst=64", "--json", "--warm-up=0us" };

#define RATE_WORD (SONDE_ARRAY_SIZE(rate_fixed) + 4)

struct rate_finder {
	const struct sonde_latency_config *config;
	struct latency_recording recording;
	char *words[RATE_WORD + 2];
	char cpus[8 * SONDE_LATENCY_CPUS], duration[48], priority[32], rate[48];
	int output_fd; /* of the loop */
	struct sonde_report *report;
	struct sonde_table *table;
	const char *gave_way; /* in the last run that lost something */
	double lost_at; /* the lowest rate that lost something; 0: none did */
	uint64_t until_ns;   /* when to end at the latest; 0: whenever */
	uint64_t longest_ns; /* of all runs */
	uint32_t repeats;
	bool is_over;
};

/* ---- a run ---- */

static void rate_words(struct rate_finder *finder)
{
	const struct sonde_latency_config *config = finder->config;
	struct sonde_text cpus = { .to = finder->cpus,
				   .size = sizeof(finder->cpus) };
	char *const own[] = { finder->cpus, finder->duration,
			      finder->priority };
	char **to = finder->words + 1;

	for (size_t i = 0; i < SONDE_ARRAY_SIZE(rate_fixed); i++)
		*to++ = rate_fixed[i];
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(own); i++)
		*to++ = own[i];
	sonde_text_add(&cpus, "--cpu=");
	for (uint32_t i = 0; i < config->nr_cpus; i++)
		sonde_text_add(&cpus, "%s%u", i ? "," : "", config->cpus[i]);
	(void)snprintf(finder->duration, sizeof(finder->duration),
		       "--duration=%lluus",
		       (unsigned long long)config->duration_ns / 1000);
	(void)snprintf(finder->priority, sizeof(finder->priority),
		       "--priority=%u", config->priority);
}

/* The sum of all "ticks" in what the loop, which is ours, has said. */
static uint64_t rate_emitted(const struct rate_finder *finder)
{
	static const char key[] = "ticks";
	static char text[OUTPUT_MAX];
	ssize_t n = pread(finder->output_fd, text, sizeof(text) - 1, 0);
	const char *at = text;
	uint64_t sum = 0;
	uint64_t ticks;

	text[n > 0 ? n : 0] = '\0';
	while ((at = strstr(at, key))) {
		at += sizeof(key) - 1;
		at += strspn(at, "\": ");
		if (sonde_number_take(&at, 10, UINT64_MAX, &ticks))
			sum += ticks;
	}
	return sum;
}

/* In which most were lost; NULL: nothing was. */
static const char *rate_gave_way(const struct sonde_summary *summary)
{
	const char *most = NULL;
	uint64_t greatest = 0;
	const char *name;
	uint64_t nr;

	for (size_t i = 0; (name = sonde_summary_way(summary, i, &nr)); i++)
		if (nr > greatest) {
			greatest = nr;
			most = name;
		}
	return most;
}

static int rate_run(void *ctx, double asked, double *ret_reached,
		    uint64_t *ret_lost)
{
	struct rate_finder *finder = ctx;
	const struct sonde_latency_config *config = finder->config;
	uint64_t begin_ns = sonde_monotonic_ns();
	uint64_t emitted;
	int status;

	(void)snprintf(finder->rate, sizeof(finder->rate), "--rate=%.0f",
		       asked / config->nr_cpus);
	finder->words[RATE_WORD] = asked > 0 ? finder->rate : NULL;
	if (ftruncate(finder->output_fd, 0))
		return SONDE_EXIT_FAILED;
	(void)lseek(finder->output_fd, 0, SEEK_SET); /* it is a file */
	status = latency_recording_run(&finder->recording, finder->output_fd);
	if (status)
		return status;
	latency_recording_clear(&finder->recording);
	if (sonde_monotonic_ns() - begin_ns > finder->longest_ns)
		finder->longest_ns = sonde_monotonic_ns() - begin_ns;
	emitted = rate_emitted(finder);
	if (!emitted) {
		sonde_complain("latency: the loop made no event");
		return SONDE_EXIT_FAILED;
	}
	*ret_reached = (double)emitted * 1e9 / (double)config->duration_ns;
	*ret_lost = sonde_summary_lost(&finder->recording.result->summary);
	if (*ret_lost)
		finder->gave_way =
			rate_gave_way(&finder->recording.result->summary);
	return 0;
}

/* Whether a rate that holds would take too long to try. */
static bool rate_stop(void *ctx)
{
	struct rate_finder *finder = ctx;
	uint64_t trial_ns = finder->repeats * finder->longest_ns;

	if (finder->until_ns &&
	    sonde_monotonic_ns() + trial_ns > finder->until_ns)
		finder->is_over = true;
	return finder->is_over;
}

/* ---- what came of it ---- */

static void rate_row(void *ctx, const struct sonde_latency_rate *rate)
{
	struct rate_finder *finder = ctx;

	sonde_table_row(finder->table);
	if (rate->asked > 0)
		sonde_table_double(finder->table, 0, rate->asked);
	sonde_table_double(finder->table, 1, rate->reached);
	sonde_table_uint(finder->table, 2, rate->runs);
	sonde_table_uint(finder->table, 3, rate->lost);
	if (!rate->lost)
		return;
	sonde_table_text(finder->table, 4, finder->gave_way);
	if (finder->lost_at <= 0 || rate->reached < finder->lost_at)
		finder->lost_at = rate->reached;
}

static void rate_answer(const struct rate_finder *finder,
			const struct sonde_latency_rate *best)
{
	struct sonde_report *report = finder->report;

	if (best->runs)
		sonde_report_value(report, "highest",
				   "Highest rate without a loss",
				   SONDE_CELL_RATE, 0, best->reached, NULL);
	if (finder->lost_at > 0)
		sonde_report_value(report, "lost_at",
				   "Lowest rate that lost events",
				   SONDE_CELL_RATE, 0, finder->lost_at, NULL);
	sonde_report_value(report, "runs", "Runs at it", SONDE_CELL_COUNT,
			   best->runs, 0, NULL);
	sonde_report_value(
		report, "risk",
		"Runs that lose something, at most (95 % confidence)",
		SONDE_CELL_PERCENT, 0, sonde_latency_risk(best->runs), NULL);
	sonde_report_value(report, "clock",
			   "The clock alone can be read, on one CPU",
			   SONDE_CELL_RATE, 0, sonde_latency_clock_rate(),
			   NULL);
	if (finder->gave_way)
		sonde_report_value(report, "gave_way", "What gave way first",
				   SONDE_CELL_TEXT, 0, 0, finder->gave_way);
	if (finder->is_over)
		sonde_report_note(report,
				  "--time-limit ended it: what lies %s "
				  "was not tried.",
				  best->runs ? "between the two rates" :
					       "below that rate");
	else if (!best->runs)
		sonde_report_note(report,
				  "Events are lost at %d a second already.",
				  FLOOR_RATE);
	else if (best->asked <= 0)
		sonde_report_note(report,
				  "This is as many as the loop makes, and no "
				  "limit of the recording: each event takes "
				  "a reading of the clock.");
}

static int rate_show(const struct rate_finder *finder, bool json)
{
	struct sonde_show show;
	int rc = sonde_report_error(finder->report);

	sonde_show_init(&show, stdout);
	show.json = json;
	if (!rc)
		rc = sonde_show_report(&show, finder->report, stdout);
	if (!rc)
		return 0;
	sonde_complain("latency: %s", strerrordesc_np(-rc));
	return SONDE_EXIT_FAILED;
}

/* ---- the command ---- */

static int rate_search(struct rate_finder *finder,
		       const struct latency_rate_how *how)
{
	const struct sonde_latency_search search = {
		.floor = FLOOR_RATE,
		.precision = how->precision,
		.repeats = how->repeats,
		.run = rate_run,
		.stop = rate_stop,
		.tell = rate_row,
		.ctx = finder,
	};
	struct sonde_latency_rate best;
	int status;

	finder->repeats = how->repeats;
	if (how->limit_ns)
		finder->until_ns = sonde_monotonic_ns() + how->limit_ns;
	status = sonde_latency_max_rate(&search, &best);
	if (status)
		return status;
	rate_answer(finder, &best);
	return rate_show(finder, how->json);
}

static int rate_begin(struct rate_finder *finder, char *const *record)
{
	const struct sonde_session_config *session =
		&finder->recording.options.session;
	int status;

	rate_words(finder);
	status = latency_recording_begin(&finder->recording, finder->config,
					 record, finder->words);
	if (status)
		return status;
	if (session->mode == SONDE_DISCARD)
		return 0;
	sonde_complain("latency max-rate: a recording in mode overwrite loses "
		       "events on purpose; leave --mode out");
	return SONDE_EXIT_USAGE;
}

int latency_max_rate(const struct sonde_latency_config *config,
		     const struct latency_rate_how *how, char *const *record)
{
	static const struct sonde_column columns[] = {
		{ "asked", "ASKED", SONDE_CELL_RATE },
		{ "reached", "REACHED", SONDE_CELL_RATE },
		{ "runs", "RUNS", SONDE_CELL_COUNT },
		{ "lost", "LOST", SONDE_CELL_COUNT },
		{ "gave_way", "GAVE WAY", SONDE_CELL_TEXT },
	};
	static struct rate_finder finder;
	int status;

	finder.config = config;
	finder.output_fd = memfd_create("sonde-latency", MFD_CLOEXEC);
	finder.report = sonde_report_new("max-rate");
	finder.table = sonde_report_table(finder.report, "rates", NULL, columns,
					  SONDE_ARRAY_SIZE(columns));
	status = rate_begin(&finder, record);
	if (!status)
		status = rate_search(&finder, how);
	latency_recording_end(&finder.recording);
	sonde_report_free(finder.report);
	(void)close(finder.output_fd); /* nothing was written by us */
	return status;
}
