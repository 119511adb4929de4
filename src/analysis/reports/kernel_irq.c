/* SPDX-License-Identifier: MIT */
/*
 * kernel_irq.c - `sonde report irq`: hard and soft interrupts. A handler's time
 * is from its entry to its exit, whatever interrupts it in between.
 */
#include <inttypes.h>
#include <stdio.h>

#include "analysis/reports/cell_text.h"
#include "analysis/reports/kernel.h"
#include "analysis/reports/reports.h"
#include "base/port.h"

enum {
	BY_IRQ,
	BY_SOFTIRQ,
	BY_RAISE, /* durations: from a soft one's raise to its handler */
	BY_CPU,
	ALL, /* two tallies: hard, soft */
};

enum {
	HARD,
	SOFT,
};

/* The sums of a CPU's tally. */
enum {
	HARD_COUNT,
	HARD_NS,
	SOFT_COUNT,
	SOFT_NS,
};

/* Worst ones: which kind, which number. */
#define PLACE(kind, number) ((uint64_t)(kind) << 32 | (number))

static void add_handler(struct sonde_sums *sums,
			const struct sonde_interval *interval,
			unsigned int kind)
{
	int64_t ns = sonde_elapsed_ns(interval->begin_ns, interval->end_ns);
	struct sonde_tally *cpu =
		sonde_sums_at(sums, BY_CPU, interval->cpu, interval);

	sonde_sums_add(sums,
		       sonde_sums_at(sums, kind == HARD ? BY_IRQ : BY_SOFTIRQ,
				     interval->irq.number, interval),
		       ns);
	sonde_sums_add(sums, sonde_sums_at(sums, ALL, kind, interval), ns);
	sonde_sums_worst(sums, interval, PLACE(kind, interval->irq.number));
	if (!cpu)
		return;
	cpu->numbers[kind == HARD ? HARD_COUNT : SOFT_COUNT]++;
	cpu->numbers[kind == HARD ? HARD_NS : SOFT_NS] += (uint64_t)ns;
}

static void add_interval(struct sonde_sums *sums,
			 const struct sonde_interval *interval)
{
	if (interval->kind == SONDE_INTERVAL_IRQ)
		add_handler(sums, interval, HARD);
	else if (interval->kind == SONDE_INTERVAL_SOFTIRQ)
		add_handler(sums, interval, SOFT);
	else if (interval->kind == SONDE_INTERVAL_RAISE)
		sonde_sums_add(sums,
			       sonde_sums_at(sums, BY_RAISE,
					     interval->irq.number, interval),
			       sonde_elapsed_ns(interval->begin_ns,
						interval->end_ns));
}

/* The kernel's numbers of soft interrupts, which are fixed. */
static const char *softirq_name(uint64_t number)
{
	static const char *const names[] = {
		"hi",       "timer",   "net_tx", "net_rx",  "block",
		"irq_poll", "tasklet", "sched",  "hrtimer", "rcu",
	};

	return number < SONDE_ARRAY_SIZE(names) ? names[number] : "";
}

static void irq_row(const struct sonde_model_result *result,
		    struct sonde_table *table, const struct sonde_tally *tally)
{
	sonde_table_text(table, 1,
			 sonde_model_irq_name(result->kernel,
					      (uint32_t)tally->key.number));
}

static void softirq_row(const struct sonde_model_result *result,
			struct sonde_table *table,
			const struct sonde_tally *tally)
{
	(void)result;
	sonde_table_text(table, 1, softirq_name(tally->key.number));
}

/* CPUs come by number. */
static uint64_t has_handlers(const struct sonde_model_result *result,
			     const struct sonde_tally *tally)
{
	(void)result;
	return tally->numbers[HARD_COUNT] + tally->numbers[SOFT_COUNT] != 0;
}

static void irq_worst_name(const struct sonde_model_result *result,
			   const struct sonde_longest_span *span, char *to,
			   size_t size)
{
	uint32_t number = (uint32_t)span->place;

	if (span->place >> 32 == SOFT)
		(void)snprintf(to, size, "soft %" PRIu32 " %s", number,
			       softirq_name(number));
	else
		(void)snprintf(to, size, "irq %" PRIu32 " %s", number,
			       sonde_model_irq_name(result->kernel, number));
}

static const struct sonde_histogram *
durations_of(const struct sonde_model_result *result, unsigned int kind)
{
	const struct sonde_key key = sonde_key_make(SONDE_KEY_INT, kind, 0);
	const struct sonde_tally *tally =
		sonde_hash_get(&result->sums->groups[ALL], &key);

	return tally ? &tally->durations : NULL;
}

static void show_histograms(const struct sonde_model_result *result,
			    struct sonde_report *report)
{
	static const struct {
		const char *key, *title;
	} kinds[] = {
		[HARD] = { "irq_histogram", "How long hard handlers took" },
		[SOFT] = { "softirq_histogram", "How long soft handlers took" },
	};

	for (unsigned int kind = HARD; kind <= SOFT; kind++) {
		const struct sonde_histogram *took = durations_of(result, kind);

		if (took)
			sonde_histogram_report(took, report, kinds[kind].key,
					       kinds[kind].title,
					       SONDE_CELL_DURATION);
	}
}

static const struct sonde_tally_column irq_columns[] = {
	{ "number", "NUMBER", SONDE_CELL_INT, SONDE_TALLY_KEY },
	{ "name", "NAME", SONDE_CELL_TEXT, SONDE_TALLY_OWN },
	{ "count", "COUNT", SONDE_CELL_COUNT, SONDE_TALLY_COUNT },
	{ "total", "TOTAL", SONDE_CELL_DURATION, SONDE_TALLY_TOTAL },
	SONDE_HISTOGRAM_COLUMNS(SONDE_CELL_DURATION, SONDE_TALLY_DURATIONS),
};
static const struct sonde_tally_column cpu_columns[] = {
	{ "cpu", "CPU", SONDE_CELL_INT, SONDE_TALLY_KEY },
	{ "irqs", "IRQS", SONDE_CELL_COUNT, HARD_COUNT },
	{ "irq_time", "TIME", SONDE_CELL_DURATION, HARD_NS },
	{ "irq_share", "SHARE", SONDE_CELL_PERCENT, HARD_NS },
	{ "softirqs", "SOFT", SONDE_CELL_COUNT, SOFT_COUNT },
	{ "softirq_time", "TIME", SONDE_CELL_DURATION, SOFT_NS },
	{ "softirq_share", "SHARE", SONDE_CELL_PERCENT, SOFT_NS },
};
static const struct sonde_model_table tables[] = {
	SONDE_MODEL_TABLE("irqs", "Hard interrupts", BY_IRQ, irq_columns, 40,
			  sonde_tally_total, .row = irq_row),
	SONDE_MODEL_TABLE("softirqs", "Soft interrupts", BY_SOFTIRQ,
			  irq_columns, 40, sonde_tally_total,
			  .row = softirq_row),
	SONDE_MODEL_TABLE("raises", "From raise to handler", BY_RAISE,
			  irq_columns, 40, sonde_tally_total,
			  .row = softirq_row),
	SONDE_MODEL_TABLE("cpus", "By CPU", BY_CPU, cpu_columns, 64,
			  has_handlers),
};

static void say(const struct sonde_model_result *result,
		struct sonde_report *report)
{
	const struct sonde_longest_span *worst = &result->sums->worst.spans[0];
	struct sonde_cell_text words = { .args = result->args };
	char name[SONDE_LONGEST_NAME];
	uint64_t counts[] = { 0, 0 };
	int64_t times_ns[] = { 0, 0 };

	if (!result->sums->worst.nr)
		return;
	for (unsigned int kind = HARD; kind <= SOFT; kind++) {
		const struct sonde_histogram *took = durations_of(result, kind);

		if (!took)
			continue;
		counts[kind] = took->count;
		times_ns[kind] = sonde_histogram_sum(took);
	}
	irq_worst_name(result, worst, name, sizeof(name));
	sonde_report_note(
		report,
		"%s took %s, %s took %s; the longest, %s, took %s, from %s on.",
		sonde_cell_text_count(&words, counts[HARD], "hard interrupt"),
		sonde_cell_text_int(&words, SONDE_CELL_DURATION,
				    times_ns[HARD]),
		sonde_cell_text_count(&words, counts[SOFT], "soft interrupt"),
		sonde_cell_text_int(&words, SONDE_CELL_DURATION,
				    times_ns[SOFT]),
		name,
		sonde_cell_text_int(&words, SONDE_CELL_DURATION,
				    sonde_elapsed_ns(worst->begin_ns,
						     worst->end_ns)),
		sonde_cell_text_int(&words, SONDE_CELL_TIME, worst->begin_ns));
}

static int show(const struct sonde_model_result *result,
		struct sonde_report *report)
{
	show_histograms(result, report);
	sonde_model_worst_table(result, report, "The longest handlers",
				"INTERRUPT", irq_worst_name);
	return 0;
}

static const struct sonde_model_report model = {
	.name = "irq",
	.missing = "of interrupts",
	.wants = SONDE_WANT_IRQS,
	.interval = add_interval,
	.say = say,
	SONDE_MODEL_TABLES(tables),
	.show = show,
};

const struct sonde_analysis sonde_analysis_irq = {
	.name = "irq",
	.summary = "hard and soft interrupts: counts, durations, delays",
	.needs = "kernel",
	.about = SONDE_WANT_IRQS,
	.model = &model,
};
