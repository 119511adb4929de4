/* SPDX-License-Identifier: MIT */
/* summary.c - what a recording ended with, as lines and as JSON (summary.h). */
#include "session/summary.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "base/json.h"
#include "base/number.h"
#include "base/port.h"
#include "session/config.h"

#define BOLD  "\033[1m"
#define WARN  "\033[33m"
#define PLAIN "\033[0m"

void sonde_summary_note(struct sonde_summary *summary, const char *format, ...)
{
	va_list args;

	if (summary->nr_notes < SONDE_NOTES_MAX) {
		va_start(args, format);
		(void)vsnprintf(summary->notes[summary->nr_notes],
				SONDE_NOTE_SIZE, format, args);
		va_end(args);
	}
	summary->nr_notes++;
}

void sonde_summary_note_first(struct sonde_summary *summary, const char *text)
{
	memmove(summary->notes[1], summary->notes[0],
		(SONDE_NOTES_MAX - 1) * sizeof(summary->notes[0]));
	(void)snprintf(summary->notes[0], SONDE_NOTE_SIZE, "%s", text);
	summary->nr_notes++;
}

void sonde_summary_lose_all(struct sonde_summary *summary, int error)
{
	summary->lost_disk += summary->recorded;
	summary->recorded = 0;
	summary->kernel_recorded = 0;
	summary->bytes = 0;
	summary->disk_error = error;
}

/* False if it has been told before. */
static bool tell(struct sonde_summary *summary, int pid)
{
	for (uint32_t i = 0; i < summary->nr_told; i++)
		if (summary->told[i] == pid)
			return false;
	if (summary->nr_told < SONDE_TOLD_MAX)
		summary->told[summary->nr_told++] = pid;
	return true;
}

void sonde_summary_unhooked(struct sonde_summary *summary, int pid,
			    const char *name, const char *why)
{
	if (tell(summary, pid))
		sonde_summary_note(summary,
				   "%s (pid %d): its calls of the C library "
				   "are not recorded: %s",
				   name, pid, why);
}

void sonde_summary_missed(struct sonde_summary *summary, int pid,
			  const char *name, const char *why)
{
	if (!tell(summary, pid))
		return;
	summary->nr_missed++;
	sonde_summary_note(summary, "%s (pid %d) is not recorded: %s", name,
			   pid, why);
}

uint64_t sonde_summary_lost(const struct sonde_summary *summary)
{
	return summary->lost_full + summary->lost_size +
	       summary->lost_contended + summary->lost_marks +
	       summary->lost_overwritten + summary->lost_disk +
	       summary->lost_kernel_full + summary->lost_kernel_missed +
	       summary->lost_kernel_returns + summary->lost_kernel_unread +
	       summary->lost_kernel_damaged;
}

static uint32_t nr_told(const struct sonde_summary *summary)
{
	return summary->nr_notes < SONDE_NOTES_MAX ? summary->nr_notes :
						     SONDE_NOTES_MAX;
}

/* 1234567 -> 1,234,567 */
static const char *grouped(uint64_t n, char *out, size_t out_size)
{
	char digits[24];
	size_t length = (size_t)snprintf(digits, sizeof(digits), "%" PRIu64, n);
	size_t at = 0;

	for (size_t i = 0; i < length && at + 2 < out_size; i++) {
		if (i && (length - i) % 3 == 0)
			out[at++] = ',';
		out[at++] = digits[i];
	}
	out[at] = '\0';
	return out;
}

static const char *human_bytes(uint64_t bytes, char *out, size_t out_size)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
	double value = (double)bytes;
	size_t i = 0;

	while (value >= 1024 && i + 1 < SONDE_ARRAY_SIZE(units)) {
		value /= 1024;
		i++;
	}
	(void)snprintf(out, out_size, i ? "%.1f %s" : "%.0f %s", value,
		       units[i]);
	return out;
}

static double seconds(uint64_t ns)
{
	return (double)ns / 1e9;
}

static double per_second(const struct sonde_summary *summary)
{
	return summary->wall_ns ?
		       (double)summary->recorded / seconds(summary->wall_ns) :
		       0;
}

static void print_some(FILE *out, const struct sonde_summary_style *style,
		       const char *most, uint64_t events, const char *why)
{
	char number[40];

	if (!events)
		return;
	(void)fprintf(out, "%ssonde: lost %s%s events: %s%s\n",
		      style->color ? WARN : "", most,
		      grouped(events, number, sizeof(number)), why,
		      style->color ? PLAIN : "");
}

static void print_loss(FILE *out, const struct sonde_summary_style *style,
		       uint64_t events, const char *why)
{
	print_some(out, style, "", events, why);
}

/* Before the number of events that were lost before they were tested. */
static const char *summary_at_most(const struct sonde_summary *summary)
{
	return summary->loses_unwanted ? "up to " : "";
}

static const char *disk_remedy(int error)
{
	switch (error) {
	case -EMFILE:
	case -ENFILE:
		return "raise ulimit -n";
	case -EFBIG:
		return "raise ulimit -f";
	case -ENOMEM:
		return "free some memory";
	case -ENOSPC:
	case -EDQUOT:
		return "make room";
	case -ENOENT:
	case -ESTALE:
		return "leave the directory in its place";
	case -EACCES:
	case -EPERM:
	case -EROFS:
		return "see to it that it can be written to";
	case -EIO:
		return "look into the kernel's log for the disk";
	default:
		return "mend that";
	}
}

static uint64_t more_memory(uint64_t bytes)
{
	return bytes > SONDE_MEMORY_MAX / 4 ? SONDE_MEMORY_MAX : bytes * 4;
}

static void print_kernel_losses(const struct sonde_summary *summary,
				const struct sonde_summary_style *style,
				FILE *out)
{
	char text[SONDE_NOTE_SIZE];
	char size[32];

	(void)snprintf(
		text, sizeof(text),
		"the kernel's buffers were full; try --kernel-memory "
		"%s, or fewer events with -k",
		sonde_number_put_size(more_memory(style->kernel_memory_bytes),
				      size, sizeof(size)));
	print_some(out, style, summary_at_most(summary),
		   summary->lost_kernel_full, text);
	print_some(out, style, summary_at_most(summary),
		   summary->lost_kernel_unread,
		   "the kernel recorded them, and then did not give them out");
	print_some(out, style, summary_at_most(summary),
		   summary->lost_kernel_missed,
		   "they came while that CPU ran the tracer's own program, or "
		   "was in another probe of the kernel, which nothing "
		   "interrupts");
	print_loss(out, style, summary->lost_kernel_damaged,
		   "at least: the kernel died in an event beside them (see its "
		   "log), and nobody can tell where that one ends");
	print_loss(out, style, summary->lost_kernel_returns,
		   "returns of a kretprobe's function, of which more calls "
		   "were in progress than there is room for; raise "
		   "--kernel-returns");
}

static void print_losses(const struct sonde_summary *summary,
			 const struct sonde_summary_style *style, FILE *out)
{
	char text[SONDE_NOTE_SIZE];
	char size[32];
	uint64_t more = more_memory(style->memory_bytes);

	(void)snprintf(text, sizeof(text),
		       "the rings were full; try --memory %s, or fewer events "
		       "with -e",
		       sonde_number_put_size(more, size, sizeof(size)));
	print_loss(out, style, summary->lost_full, text);
	(void)snprintf(text, sizeof(text),
		       "larger than a sub-buffer takes (%u bytes); try a "
		       "larger --subbuf and --memory",
		       summary->least_record_limit);
	print_loss(out, style, summary->lost_size, text);
	print_loss(out, style, summary->lost_contended,
		   "every ring was busy (no restartable sequences here, or a "
		   "debugger steps the program)");
	print_loss(out, style, summary->lost_marks,
		   "marks that their programs could not write, as they say "
		   "themselves (sonde_mark:lost in the trace)");
	print_some(out, style, summary_at_most(summary),
		   summary->lost_overwritten,
		   "overwritten by newer ones, as --mode overwrite asks; a "
		   "larger --memory keeps more");
	if (!summary->disk_error)
		(void)snprintf(
			text, sizeof(text),
			"from threads that were stopped in the middle of "
			"an event while a chunk ended");
	else
		(void)snprintf(
			text, sizeof(text),
			"writing to %.120s failed (%s); %s and record again",
			*style->directory ? style->directory : "the trace",
			strerrordesc_np(-summary->disk_error),
			disk_remedy(summary->disk_error));
	print_loss(out, style, summary->lost_disk, text);
	print_kernel_losses(summary, style, out);
}

/* What can't be told from here. */
#define UNREACHED                                                            \
	"can't reach the recorder (ulimit -f or -v, seccomp, another mount " \
	"namespace, a cleared environment)"

static void print_nothing(const struct sonde_summary *summary,
			  const struct sonde_summary_style *style, FILE *out)
{
	if (summary->nr_processes && !summary->nr_event_types)
		(void)fputs(
			style->hooks ?
				"sonde: no event: nothing was called of what "
				"--log, --malloc, --locks, --io or "
				"--functions record, or -e leaves it out\n" :
				"sonde: no event was selected; see what there "
				"is with: sonde list PROGRAM\n",
			out);
	if (summary->nr_processes || summary->nr_refused ||
	    summary->nr_missed || style->has_kernel || style->is_explained)
		return;
	if (style->hooks)
		(void)fprintf(
			out,
			"sonde: no process could be traced: the program is "
			"static, set-user-ID, of another architecture, or " UNREACHED
			"\n");
	else
		(void)fprintf(
			out,
			"sonde: no process was recorded: none is linked with "
			"libsonde (try --malloc, --locks or --io, "
			"or add tracepoints), or what is linked " UNREACHED
			"\n");
}

static const char *plural(uint32_t n, const char *ending)
{
	return n == 1 ? "" : ending;
}

static void print_counts(const struct sonde_summary *summary,
			 const struct sonde_summary_style *style, FILE *out)
{
	char events[40];
	char losses[40];
	char rate[40];
	char bytes[40];

	(void)fprintf(
		out,
		"%ssonde: %s events recorded, %s%s lost%s (%s in %.3f s, "
		"%s events/s, %u process%s)\n",
		style->color ? BOLD : "",
		grouped(summary->recorded, events, sizeof(events)),
		summary_at_most(summary),
		grouped(sonde_summary_lost(summary), losses, sizeof(losses)),
		style->color ? PLAIN : "",
		human_bytes(summary->bytes, bytes, sizeof(bytes)),
		seconds(summary->wall_ns),
		grouped((uint64_t)per_second(summary), rate, sizeof(rate)),
		summary->nr_processes, plural(summary->nr_processes, "es"));
	if (summary->cleared)
		(void)fprintf(out, "sonde: %s more were cleared, as asked\n",
			      grouped(summary->cleared, events,
				      sizeof(events)));
	/* Which of them occurred is known to those who read the trace. */
	if (style->verbose)
		(void)fprintf(out,
			      "sonde: %u event type%s could have occurred; "
			      "'sonde stat' counts those that did\n",
			      summary->nr_event_types,
			      plural(summary->nr_event_types, "s"));
}

static void print_notes(const struct sonde_summary *summary, FILE *out)
{
	for (uint32_t i = 0; i < nr_told(summary); i++)
		(void)fprintf(out, "sonde: %s\n", summary->notes[i]);
	if (summary->nr_notes > SONDE_NOTES_MAX)
		(void)fprintf(out, "sonde: ... and %u more like these\n",
			      summary->nr_notes - SONDE_NOTES_MAX);
}

/* Those that lived shorter than we look are not among them. */
static void print_missed(const struct sonde_summary *summary, FILE *out)
{
	uint32_t nr = summary->nr_processes + summary->nr_refused +
		      summary->nr_missed;

	if (summary->nr_missed)
		(void)fprintf(out,
			      "sonde: recorded %u of at least %u process%s\n",
			      summary->nr_processes, nr, plural(nr, "es"));
}

/*
 * Beside the program's time, or all that the machine's CPUs had. Starting and
 * ending take the same time for any program, and none of the program's: where
 * they are a large part, they are told apart, or a short run would look as if
 * recording were what costs.
 */
static void print_cpu_time(const struct sonde_summary *summary,
			   const struct sonde_summary_style *style, FILE *out)
{
	double used_ms = seconds(summary->recorder_cpu_ns) * 1e3;
	double busy_ms = seconds(summary->recorder_busy_ns) * 1e3;
	double all_ms = seconds(summary->lives_ns) * 1e3 * style->nr_cpus;
	double program_ms = seconds(summary->program_cpu_ns) * 1e3;

	if (!style->has_program || !summary->program_cpu_ns)
		(void)fprintf(out,
			      "sonde: the recorder used %.1f ms of CPU time, "
			      "%.2f %% of what %u CPU%s had\n",
			      used_ms, all_ms > 0 ? 100 * used_ms / all_ms : 0,
			      style->nr_cpus, plural(style->nr_cpus, "s"));
	else if ((used_ms - busy_ms) * 20 > program_ms)
		(void)fprintf(out,
			      "sonde: the recorder used %.1f ms of CPU time "
			      "while the program used %.1f ms, and %.1f ms to "
			      "start and to end\n",
			      busy_ms, program_ms, used_ms - busy_ms);
	else
		(void)fprintf(out,
			      "sonde: the recorder used %.1f ms of CPU time, "
			      "%.1f %% of the program's %.1f ms\n",
			      used_ms, 100 * used_ms / program_ms, program_ms);
}

void sonde_summary_print(const struct sonde_summary *summary,
			 const struct sonde_summary_style *style, FILE *out)
{
	if (!style->quiet)
		print_counts(summary, style, out);
	print_losses(summary, style, out);
	if (summary->loses_unwanted)
		(void)fprintf(out, "sonde: 'up to': the kernel's events were "
				   "lost before they were tested, so among "
				   "them are some that nobody asked for\n");
	print_notes(summary, out);
	print_missed(summary, out);
	if (style->quiet)
		return;
	print_nothing(summary, style, out);
	print_cpu_time(summary, style, out);
	if (*style->directory)
		(void)fprintf(out, "sonde: trace in %s; next: sonde print %s\n",
			      style->directory, style->directory);
}

const char *sonde_summary_way(const struct sonde_summary *summary, size_t i,
			      uint64_t *ret_lost)
{
	const struct {
		const char *name;
		uint64_t nr;
	} ways[] = {
		{ "ring_full", summary->lost_full },
		{ "too_large", summary->lost_size },
		{ "contended", summary->lost_contended },
		{ "marks", summary->lost_marks },
		{ "overwritten", summary->lost_overwritten },
		{ "disk", summary->lost_disk },
		{ "kernel_full", summary->lost_kernel_full },
		{ "kernel_missed", summary->lost_kernel_missed },
		{ "kernel_returns", summary->lost_kernel_returns },
		{ "kernel_unread", summary->lost_kernel_unread },
		{ "kernel_damaged", summary->lost_kernel_damaged },
	};

	if (i >= SONDE_ARRAY_SIZE(ways))
		return NULL;
	*ret_lost = ways[i].nr;
	return ways[i].name;
}

static void put_lost(struct sonde_json *json,
		     const struct sonde_summary *summary)
{
	const char *name;
	uint64_t nr;

	sonde_json_open(json, "lost", '{');
	for (size_t i = 0; (name = sonde_summary_way(summary, i, &nr)); i++)
		sonde_json_put_unsigned(json, name, nr);
	sonde_json_close(json, '}');
}

static void put_cost(struct sonde_json *json,
		     const struct sonde_summary *summary)
{
	char rate[40];

	(void)snprintf(rate, sizeof(rate), "%.1f", per_second(summary));
	sonde_json_put_unsigned(json, "bytes", summary->bytes);
	sonde_json_put_unsigned(json, "wall_ns", summary->wall_ns);
	sonde_json_put_raw(json, "events_per_second", rate);
	sonde_json_put_unsigned(json, "recorder_cpu_ns",
				summary->recorder_cpu_ns);
	sonde_json_put_unsigned(json, "recorder_busy_ns",
				summary->recorder_busy_ns);
	sonde_json_put_unsigned(json, "program_cpu_ns",
				summary->program_cpu_ns);
}

void sonde_summary_print_json(const struct sonde_summary *summary,
			      const struct sonde_summary_style *style,
			      FILE *out)
{
	struct sonde_json json = sonde_json_to_file(out);

	sonde_json_open(&json, NULL, '{');
	sonde_json_put_unsigned(&json, "events_recorded", summary->recorded);
	sonde_json_put_unsigned(&json, "events_lost",
				sonde_summary_lost(summary));
	put_lost(&json, summary);
	sonde_json_put_bool(&json, "lost_at_most", summary->loses_unwanted);
	sonde_json_put_unsigned(&json, "events_cleared", summary->cleared);
	sonde_json_put_unsigned(&json, "kernel_events_recorded",
				summary->kernel_recorded);
	put_cost(&json, summary);
	sonde_json_put_unsigned(&json, "processes", summary->nr_processes);
	sonde_json_put_unsigned(&json, "processes_refused",
				summary->nr_refused);
	sonde_json_put_unsigned(&json, "processes_missed", summary->nr_missed);
	sonde_json_put_unsigned(&json, "event_types", summary->nr_event_types);
	sonde_json_put_text(&json, "trace", style->directory);
	sonde_json_open(&json, "notes", '[');
	for (uint32_t i = 0; i < nr_told(summary); i++)
		sonde_json_put_text(&json, NULL, summary->notes[i]);
	sonde_json_close(&json, ']');
	sonde_json_close(&json, '}');
	(void)fputc('\n', out);
}
