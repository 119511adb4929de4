/* SPDX-License-Identifier: MIT */
/*
 * latency_table.c - what `sonde latency` measured, as a report: a row for each
 * CPU, a drawing of all together, and what could not be had.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/reports/histogram.h"
#include "base/port.h"
#include "cmd/cmd.h"
#include "cmd/latency.h"
#include "sys/textfile.h"
#include "view/export/histogram_svg.h"
#include "view/text/show.h"

enum latency_column {
	COLUMN_CPU,
	COLUMN_FROM,
	COLUMN_COUNT,
	COLUMN_MIN,
	COLUMN_MEAN,
	COLUMN_DEVIATION,
	COLUMN_VARIANCE,
	COLUMN_P50,
	COLUMN_P90,
	COLUMN_P99,
	COLUMN_P99_9,
	COLUMN_P99_99,
	COLUMN_P99_999,
	COLUMN_MAX,
	COLUMN_OVER,
	COLUMN_TICKS,
	COLUMN_PREEMPTED,
	COLUMN_FAULTS,
	COLUMN_STOLEN,
};

static const struct sonde_column latency_columns[] = {
	[COLUMN_CPU] = { "cpu", "CPU", SONDE_CELL_COUNT },
	[COLUMN_FROM] = { "from", "FROM", SONDE_CELL_COUNT },
	[COLUMN_COUNT] = { "count", "COUNT", SONDE_CELL_COUNT },
	[COLUMN_MIN] = { "min", "MIN", SONDE_CELL_DURATION },
	[COLUMN_MEAN] = { "mean_ns", "MEAN NS", SONDE_CELL_NUMBER },
	[COLUMN_DEVIATION] = { "deviation_ns", "DEVIATION NS",
			       SONDE_CELL_NUMBER },
	[COLUMN_VARIANCE] = { "variance_ns2", "VARIANCE", SONDE_CELL_NUMBER },
	[COLUMN_P50] = { "p50", "P50", SONDE_CELL_DURATION },
	[COLUMN_P90] = { "p90", "P90", SONDE_CELL_DURATION },
	[COLUMN_P99] = { "p99", "P99", SONDE_CELL_DURATION },
	[COLUMN_P99_9] = { "p99_9", "P99.9", SONDE_CELL_DURATION },
	[COLUMN_P99_99] = { "p99_99", "P99.99", SONDE_CELL_DURATION },
	[COLUMN_P99_999] = { "p99_999", "P99.999", SONDE_CELL_DURATION },
	[COLUMN_MAX] = { "max", "MAX", SONDE_CELL_DURATION },
	[COLUMN_OVER] = { "over", "OVER", SONDE_CELL_COUNT },
	[COLUMN_TICKS] = { "ticks", "EVENTS", SONDE_CELL_COUNT },
	[COLUMN_PREEMPTED] = { "preempted", "PREEMPTED", SONDE_CELL_COUNT },
	[COLUMN_FAULTS] = { "faults", "FAULTS", SONDE_CELL_COUNT },
	[COLUMN_STOLEN] = { "stolen", "STOLEN", SONDE_CELL_DURATION },
};

#define MINOR                                                           \
	(1u << COLUMN_FROM | 1u << COLUMN_VARIANCE | 1u << COLUMN_P90 | \
	 1u << COLUMN_TICKS | 1u << COLUMN_P99_999 | 1u << COLUMN_DEVIATION)

/* ---- a row ---- */

static void latency_quantiles(struct sonde_table *table,
			      const struct sonde_latency_result *result,
			      const struct sonde_latency_gaps *gaps)
{
	static const struct {
		enum latency_column column;
		double q;
	} quantiles[] = {
		{ COLUMN_P50, 0.5 },       { COLUMN_P90, 0.9 },
		{ COLUMN_P99, 0.99 },      { COLUMN_P99_9, 0.999 },
		{ COLUMN_P99_99, 0.9999 }, { COLUMN_P99_999, 0.99999 },
	};

	for (size_t i = 0; i < SONDE_ARRAY_SIZE(quantiles); i++)
		sonde_table_int(table, quantiles[i].column,
				(int64_t)sonde_latency_ns(
					result, sonde_latency_gaps_quantile(
							gaps, quantiles[i].q)));
}

static void latency_statistics(struct sonde_table *table,
			       const struct sonde_latency_result *result,
			       const struct sonde_latency_gaps *gaps)
{
	double tick_ns = 1e9 / (double)result->freq;
	struct sonde_latency_summary summary;

	sonde_latency_gaps_sum(gaps, &summary);
	sonde_table_uint(table, COLUMN_COUNT, summary.count);
	if (!summary.count)
		return;
	sonde_table_int(table, COLUMN_MIN,
			(int64_t)sonde_latency_ns(result, summary.min));
	sonde_table_double(table, COLUMN_MEAN, summary.mean * tick_ns);
	sonde_table_double(table, COLUMN_DEVIATION,
			   sqrt(summary.variance) * tick_ns);
	sonde_table_double(table, COLUMN_VARIANCE,
			   summary.variance * tick_ns * tick_ns);
	latency_quantiles(table, result, gaps);
	sonde_table_int(table, COLUMN_MAX,
			(int64_t)sonde_latency_ns(result, summary.max));
}

static void latency_row(struct sonde_table *table,
			const struct sonde_latency_config *config,
			const struct sonde_latency_result *result,
			const struct sonde_latency_cpu *cpu)
{
	bool is_woken = config->kind == SONDE_LATENCY_WAKEUP ||
			config->kind == SONDE_LATENCY_SIGNAL;

	sonde_table_row(table);
	sonde_table_uint(table, COLUMN_CPU, cpu->cpu);
	if (is_woken)
		sonde_table_uint(table, COLUMN_FROM, cpu->from);
	latency_statistics(table, result, &cpu->gaps);
	if (config->over_ns)
		sonde_table_uint(table, COLUMN_OVER, cpu->nr_over);
	if (config->kind == SONDE_LATENCY_LOOP)
		sonde_table_uint(table, COLUMN_TICKS, cpu->nr_ticks);
	sonde_table_uint(table, COLUMN_PREEMPTED, cpu->preempted);
	sonde_table_uint(table, COLUMN_FAULTS, cpu->faults);
	if (cpu->stolen_ns >= 0)
		sonde_table_int(table, COLUMN_STOLEN, cpu->stolen_ns);
}

/* ---- the drawing ---- */

struct latency_drawing {
	const struct sonde_latency_result *result;
	struct sonde_histogram histogram;
	int error;
};

static void latency_draw_one(void *ctx, uint64_t ticks, uint64_t count)
{
	struct latency_drawing *drawing = ctx;
	struct sonde_histogram *histogram = &drawing->histogram;
	int64_t ns = (int64_t)sonde_latency_ns(drawing->result, ticks);

	if (!histogram->count || ns < histogram->min)
		histogram->min = ns;
	if (!histogram->count || ns > histogram->max)
		histogram->max = ns;
	if (sonde_histogram_add_bin(histogram, sonde_bins_of(ns), count))
		drawing->error = -ENOMEM;
}

static int latency_draw(const struct sonde_latency_config *config,
			const struct sonde_latency_result *result,
			struct sonde_report *report)
{
	struct latency_drawing drawing = { .result = result };

	for (uint32_t i = 0; i < config->nr_cpus; i++)
		sonde_latency_gaps_each(&result->cpus[i].gaps, latency_draw_one,
					&drawing);
	if (!drawing.error)
		sonde_histogram_report(&drawing.histogram, report, "histogram",
				       "How long", SONDE_CELL_DURATION);
	sonde_histogram_fini(&drawing.histogram);
	return drawing.error;
}

/* ---- what was not as it should be ---- */

/* The kernel stops real-time threads for some of each second. */
static void latency_note_throttle(const struct sonde_latency_config *config,
				  struct sonde_report *report)
{
	char runtime[32];

	if (config->kind != SONDE_LATENCY_LOOP ||
	    sonde_textfile_read_line(runtime, sizeof(runtime),
				     "/proc/sys/kernel/"
				     "sched_rt_runtime_us") < 0 ||
	    !strcmp(runtime, "-1"))
		return;
	sonde_report_note(report,
			  "The kernel lets real-time threads run for %s us of "
			  "each period and may stop the loop for the rest; "
			  "kernel.sched_rt_runtime_us=-1 turns that off.",
			  runtime);
}

static void latency_notes(const struct sonde_latency_config *config,
			  const struct sonde_latency_result *result,
			  struct sonde_report *report)
{
	int error = 0;

	for (uint32_t i = 0; i < config->nr_cpus; i++)
		if (result->cpus[i].priority_error)
			error = result->cpus[i].priority_error;
	if (error)
		sonde_report_note(
			report,
			"Measured as an ordinary thread, which any "
			"other may delay: no real-time priority (%s); "
			"ulimit -r or CAP_SYS_NICE permits it.",
			strerrordesc_np(-error));
	else if (config->priority)
		latency_note_throttle(config, report);
	if (result->lock_error)
		sonde_report_note(report,
				  "Memory is not locked (%s); ulimit -l or "
				  "CAP_IPC_LOCK permits it.",
				  strerrordesc_np(-result->lock_error));
}

static int latency_write_svg(const struct latency_how *how,
			     const struct sonde_report *report)
{
	char title[64];
	FILE *to = fopen(how->svg, "we");
	int rc;

	if (!to)
		return -errno;
	(void)snprintf(title, sizeof(title), "sonde latency %s", how->kind);
	rc = sonde_show_histogram_svg(report, title, to);
	if (ferror(to) && !rc)
		rc = -EIO;
	if (fclose(to) && !rc)
		rc = -errno;
	return rc;
}

/* The picture first: what can't be written is said below nothing else. */
static int latency_show_report(const struct latency_how *how,
			       const struct sonde_report *report)
{
	struct sonde_show show;
	int rc = how->svg ? latency_write_svg(how, report) : 0;

	if (rc) {
		sonde_complain("latency: %s: %s", how->svg,
			       rc == -ENODATA ? "nothing was measured" :
						strerrordesc_np(-rc));
		return 1;
	}
	sonde_show_init(&show, stdout);
	show.json = how->json;
	rc = sonde_show_report(&show, report, stdout);
	if (rc)
		sonde_complain("latency: %s", strerrordesc_np(-rc));
	return rc ? 1 : 0;
}

int latency_show(const struct sonde_latency_config *config,
		 const struct sonde_latency_result *result,
		 const struct latency_how *how)
{
	struct sonde_report *report = sonde_report_new("latency");
	struct sonde_table *table =
		sonde_report_table(report, "cpus", NULL, latency_columns,
				   SONDE_ARRAY_SIZE(latency_columns));
	int status = 1;

	sonde_table_minor(table, MINOR);
	for (uint32_t i = 0; i < config->nr_cpus; i++)
		latency_row(table, config, result, &result->cpus[i]);
	latency_notes(config, result, report);
	if (latency_draw(config, result, report) || sonde_report_error(report))
		sonde_complain("latency: no memory left");
	else
		status = latency_show_report(how, report);
	sonde_report_free(report);
	return status;
}
