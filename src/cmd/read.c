/* SPDX-License-Identifier: MIT */
/*
 * read.c - what all commands that read traces have in common (read.h).
 *
 * Order: options, then opening (which makes the filter and the span), the
 * command's own work, then finish, which says what was lost or damaged and
 * makes the exit status. The file of -o is opened before the work and closed by
 * finish, whose error counts.
 */
#include "cmd/read.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/escape.h"
#include "base/number.h"
#include "base/port.h"
#include "cmd/cmd.h"
#include "cmd/newest.h"
#include "cmd/options.h"
#include "cmd/pager.h"
#include "cmd/read_watch.h"
#include "ctf/directory.h"
#include "expr/expr.h"
#include "reader/attribution.h"
#include "reader/core/hint.h"
#include "reader/reader.h"

#define THREADS_MAX  1024
#define DAMAGE_SHOWN 5
#define EXIT_FAILED  1
#define EXIT_STOPPED 130

/* ---- options ---- */

static int parse_number(const char *option, const char *text, uint64_t most,
			uint64_t *ret_number)
{
	if (sonde_number_parse(text, most, ret_number))
		return 0;
	sonde_complain("%s %.100s: give a number up to %" PRIu64, option, text,
		       most);
	return SONDE_EXIT_USAGE;
}

static int take_threads(void *read, const char *value)
{
	uint64_t number = 0;
	int status = parse_number("--threads", value, THREADS_MAX, &number);

	((struct sonde_read *)read)->threads = (unsigned int)number;
	return status;
}

static int take_limit(void *read, const char *value)
{
	return parse_number("--limit", value, UINT64_MAX,
			    &((struct sonde_read *)read)->limit);
}

/* "-" is what it is everywhere: standard output. */
static int take_output(void *read, const char *value)
{
	((struct sonde_read *)read)->output =
		strcmp(value, "-") != 0 ? value : NULL;
	return 0;
}

static int take_colour(void *read, const char *value)
{
	static const char *const words[] = { "auto", "never", "always" };

	for (int i = 0; i < (int)SONDE_ARRAY_SIZE(words); i++) {
		if (!strcmp(value, words[i])) {
			((struct sonde_read *)read)->colour = i - 1;
			return 0;
		}
	}
	sonde_complain("--color %.100s: use always, never or auto", value);
	return SONDE_EXIT_USAGE;
}

/* clang-format off */
#define TO(member) SONDE_OPTION_TO(struct sonde_read, member)
const struct sonde_option sonde_read_options[] = {
	{ .help = "What to read" },
	{ "filter", 'f', "EXPR", NULL, TO(filter_text),
	  "only events for which EXPR is true, such as "
	  "'size > 4096 && $event == \"*:malloc\"'" },
	{ "from", 0, "TIME", NULL, TO(from_text),
	  "from then: 12:30:05.25, 2026-11-20T12:30:05, seconds since 1970, "
	  "+250ms (after the begin), -1s (before the end)" },
	{ "to", 0, "TIME", NULL, TO(to_text), "up to then" },
	{ "last", 0, "DURATION", NULL, TO(last_text),
	  "the last 250us, 1.5s, 2m of the trace" },
	{ "threads", 0, "N", NULL, SONDE_OPTION_BY(take_threads),
	  "how many CPUs to use (default: all)" },
	{ .help = "What to write" },
	{ "json", 0, NULL, NULL, TO(json), "JSON; times are in nanoseconds" },
	{ "limit", 0, "N", NULL, SONDE_OPTION_BY(take_limit),
	  "at most so many rows of a table, or events" },
	{ "output", 'o', "FILE", SONDE_VALUE_FILE, SONDE_OPTION_BY(take_output),
	  "there instead of on standard output (-)" },
	{ "color", 0, "WHEN", "always never auto", SONDE_OPTION_BY(take_colour),
	  "always, never, or auto: on a terminal" },
	{ "colour", 0, "WHEN", "always never auto", SONDE_OPTION_BY(take_colour),
	  NULL },
	{ "quiet", 'q', NULL, NULL, TO(quiet),
	  "no warnings about lost events and damage" },
	{ 0 }
};
/* clang-format on */

void sonde_read_init(struct sonde_read *read,
		     const struct sonde_command *command)
{
	*read = (struct sonde_read){
		.command = command,
		.colour = -1,
		.to = stdout,
	};
}

/* ---- opening ---- */

void sonde_read_explain(const char *option, const char *text,
			const struct sonde_trace_error *error)
{
	const char *at = text;
	size_t columns = 0;
	size_t bytes;

	sonde_complain("%s: %s", option, error->text);
	if (!text || !error->column || strlen(text) > 200 || strchr(text, '\n'))
		return;
	/* the error counts characters; some of these are wide */
	for (uint32_t i = 1; i < error->column && *at; i++, at += bytes)
		columns += sonde_utf8_columns(at, strlen(at), &bytes);
	(void)fprintf(stderr, "  %s\n  %*s^\n", text, (int)columns, "");
}

static struct sonde_filter *read_make_filter(const struct sonde_read *read,
					     struct sonde_trace *trace,
					     const char *option,
					     const char *text)
{
	struct sonde_filter *filter;
	struct sonde_trace_error error = { .column = 0 };
	int err = sonde_filter_new(trace, text, &error, &filter);

	if (!err && *sonde_filter_advice(filter) && !read->quiet)
		sonde_complain("warning: %s: %s", option,
			       sonde_filter_advice(filter));
	if (!err)
		return filter;
	if (err != -EINVAL)
		sonde_complain("%s: %s", option, strerrordesc_np(-err));
	else if (!read->is_one)
		sonde_read_explain(option, text, &error);
	return NULL;
}

struct sonde_filter *sonde_read_filter(struct sonde_read *read,
				       const char *option, const char *text)
{
	return read_make_filter(read, read->trace, option, text);
}

static int parse_time(const char *option, const char *text, int64_t begin_ns,
		      int64_t end_ns, int64_t *ret_ns)
{
	if (!sonde_expr_parse_time(text, begin_ns, end_ns, ret_ns))
		return 0;
	sonde_complain("%s %.100s: not a time; use 12:30:05.25, "
		       "2026-11-20T12:30:05, +250ms (after the begin) or -1s "
		       "(before the end)",
		       option, text);
	return -EINVAL;
}

/* When the trace's last event was: packets often end later, when they were
 * closed. */
static int find_last(struct sonde_trace *trace, struct sonde_read_range *range)
{
	const struct sonde_event *event;
	struct sonde_cursor *cursor;
	int err = sonde_cursor_new(trace, NULL, &cursor);

	if (err)
		return err;
	err = sonde_cursor_seek(cursor, SONDE_TIME_MAX);
	if (!err) {
		err = sonde_cursor_prev(cursor, &event);
		range->has_last = err > 0 && event->time_ns != SONDE_TIME_MIN;
		if (range->has_last)
			range->last_ns = event->time_ns;
	}
	sonde_cursor_free(cursor);
	return err < 0 ? err : 0;
}

int sonde_read_range(struct sonde_trace *trace,
		     struct sonde_read_range *ret_range)
{
	struct sonde_read_range range = { .has_times = false };
	int err;

	range.has_times =
		!sonde_trace_range(trace, &range.begin_ns, &range.end_ns);
	err = find_last(trace, &range);
	if (!err)
		*ret_range = range;
	return err;
}

/* The bound of a span is by so much beyond the trace. */
static void warn_beyond(const char *option, const char *text, int64_t ns,
			const char *what)
{
	const struct sonde_cell_value value = { .set = true, .i = ns };
	char duration[64];

	if (!ns)
		return;
	(void)sonde_show_cell(SONDE_CELL_DURATION, &value, duration,
			      sizeof(duration));
	sonde_complain("warning: %s %.100s is %s %s", option, text, duration,
		       what);
}

/* A span in which there can't be anything looks like one in which nothing
 * happened. `has_times`: it is known when the trace was. 0 or -EINVAL. */
static int check_span(const struct sonde_read *read,
		      const struct sonde_map_options *map, bool has_times,
		      int64_t begin_ns, int64_t end_ns)
{
	if (map->from_ns > map->to_ns) {
		sonde_complain("--from %.100s is after --to %.100s",
			       read->from_text, read->to_text);
		return -EINVAL;
	}
	if (read->quiet || !has_times)
		return 0;
	warn_beyond("--from", read->from_text,
		    sonde_elapsed_ns(end_ns, map->from_ns),
		    "after the trace's last event");
	warn_beyond("--to", read->to_text,
		    sonde_elapsed_ns(map->to_ns, begin_ns),
		    "before the trace begins");
	return 0;
}

/* What --last means in a trace that ends then. */
static int find_last_span(const struct sonde_read *read, int64_t end_ns,
			  struct sonde_map_options *map)
{
	int64_t duration_ns;

	if (read->from_text) {
		sonde_complain("--last and --from both say where to begin; "
			       "give one of them");
		return -EINVAL;
	}
	if (sonde_expr_parse_duration(read->last_text, &duration_ns) ||
	    duration_ns <= 0) {
		sonde_complain("--last %.100s: not a duration; use 250us, "
			       "1.5s, 2m",
			       read->last_text);
		return -EINVAL;
	}
	if (read->to_text && map->to_ns < end_ns)
		end_ns = map->to_ns;
	if (__builtin_sub_overflow(end_ns, duration_ns, &map->from_ns))
		map->from_ns = SONDE_TIME_MIN;
	return 0;
}

int sonde_read_span(const struct sonde_read *read,
		    const struct sonde_read_range *range,
		    struct sonde_map_options *map)
{
	int64_t begin_ns = range->begin_ns;
	int64_t end_ns = range->has_last ? range->last_ns : range->end_ns;
	int err = 0;

	if (read->from_text)
		err = parse_time("--from", read->from_text, begin_ns, end_ns,
				 &map->from_ns);
	if (!err && read->to_text)
		err = parse_time("--to", read->to_text, begin_ns, end_ns,
				 &map->to_ns);
	if (!err && read->last_text)
		err = find_last_span(read, end_ns, map);
	return err ? err :
		     check_span(read, map, range->has_times, begin_ns, end_ns);
}

/* What --from, --to and --last mean for this trace. */
static int find_span(const struct sonde_read *read, struct sonde_trace *trace,
		     struct sonde_map_options *map)
{
	struct sonde_read_range range;
	int err;

	if (!read->from_text && !read->to_text && !read->last_text)
		return 0;
	err = sonde_read_range(trace, &range);
	if (!err)
		return sonde_read_span(read, &range, map);
	sonde_complain("%s", strerrordesc_np(-err));
	return err;
}

static int read_on_progress(void *ctx, uint64_t done, uint64_t all)
{
	return sonde_read_progress(ctx, done, all);
}

int sonde_read_progress(struct sonde_read *read, uint64_t done, uint64_t all)
{
	(void)read;
	return sonde_watch_progress(done, all);
}

/* One trace of these paths, its span and its filter. 0 or the exit status. */
static int open_trace(struct sonde_read *read, char **paths, size_t nr_paths,
		      struct sonde_trace **ret_trace,
		      struct sonde_filter **ret_filter,
		      struct sonde_map_options *map)
{
	struct sonde_trace_error error = { .column = 0 };
	int err = sonde_trace_open((const char *const *)paths, nr_paths, &error,
				   ret_trace);

	if (err) {
		sonde_complain("%s", error.text);
		return EXIT_FAILED;
	}
	sonde_watch_trace(*ret_trace);
	sonde_map_options_init(map);
	map->threads = read->threads;
	map->shows_own = read->shows_own;
	map->progress = read_on_progress;
	map->progress_ctx = read;
	err = find_span(read, *ret_trace, map);
	if (err)
		return err == -EINVAL ? SONDE_EXIT_USAGE : EXIT_FAILED;
	if (!read->filter_text)
		return 0;
	*ret_filter =
		read_make_filter(read, *ret_trace, "-f", read->filter_text);
	map->filter = *ret_filter;
	return map->filter ? 0 : SONDE_EXIT_USAGE;
}

static int open_traces(struct sonde_read *read, char **paths, size_t nr_paths)
{
	int status;

	if (!read->split) {
		status = open_trace(read, paths, nr_paths, &read->trace,
				    &read->filter, &read->map);
		read->from_ns = read->map.from_ns;
		read->to_ns = read->map.to_ns;
		return status;
	}
	status = 0;
	for (size_t i = 0; !status && i < SONDE_ARRAY_SIZE(read->traces); i++)
		status = open_trace(read, paths + i, 1, &read->traces[i],
				    &read->filters[i], &read->maps[i]);
	return status;
}

int sonde_read_open_output(struct sonde_read *read)
{
	if (read->output) {
		struct sonde_directory_error error = { "no memory left" };
		int fd = sonde_directory_file(read->output, &error);

		read->to = fd < 0 ? NULL : fdopen(fd, "w");
		if (!read->to) {
			sonde_complain("%s", error.text);
			read->to = stdout;
			read->output = NULL;
			return EXIT_FAILED;
		}
	}
	sonde_show_init(&read->show, read->to);
	read->show.json = read->json;
	if (read->colour >= 0)
		read->show.colour = read->colour;
	return 0;
}

static int check_nr_traces(const struct sonde_read *read, int nr,
			   int min_traces, int max_traces)
{
	if (nr < min_traces && min_traces == 1)
		sonde_complain("which trace? No sonde-YYYYMMDD-HHMMSS was "
			       "recorded here; try: sonde %s TRACE",
			       read->command->name);
	else if (nr < min_traces)
		sonde_complain("which traces? 'sonde %s --help' tells how to "
			       "say it",
			       read->command->name);
	else if (max_traces && nr > max_traces)
		sonde_complain("too many words: sonde %s takes at most %d",
			       read->command->name, max_traces);
	else
		return 0;
	return SONDE_EXIT_USAGE;
}

static void free_all(struct sonde_read *read)
{
	sonde_filter_free(read->filter);
	sonde_trace_close(read->trace);
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(read->traces); i++) {
		sonde_filter_free(read->filters[i]);
		sonde_trace_close(read->traces[i]);
	}
}

int sonde_read_open(struct sonde_read *read, int argc, char **argv,
		    int min_traces, int max_traces)
{
	char *newest[] = { (char[NAME_MAX + 1]){ "" }, NULL };
	char **paths = argv + optind;
	int nr = argc - optind;
	int status;

	if (!nr && min_traces == 1 && sonde_newest(read->quiet, newest[0])) {
		paths = newest;
		nr = 1;
	}
	status = check_nr_traces(read, nr, min_traces, max_traces);
	if (status)
		return status;
	sonde_watch_begin(read->command->name, !(read->flows && !read->output &&
						 isatty(STDOUT_FILENO)));
	status = open_traces(read, paths, (size_t)nr);
	if (!status)
		status = sonde_read_open_output(read);
	if (!status && read->flows && !read->output)
		sonde_pager_begin();
	if (!status)
		return -1;
	sonde_watch_end();
	free_all(read);
	return status;
}

int sonde_read_machine(const struct sonde_read *all, size_t machine,
		       struct sonde_read *ret_one)
{
	const struct sonde_trace *trace = all->trace;
	char **paths = calloc(trace->nr_sources, sizeof(*paths));
	size_t nr = 0;
	int status;

	if (!paths) {
		sonde_complain("no memory left");
		return EXIT_FAILED;
	}
	for (size_t i = 0; i < trace->nr_sources; i++)
		if (trace->sources[i]->machine == machine)
			memcpy(&paths[nr++], &trace->sources[i]->path,
			       sizeof(*paths));
	*ret_one = *all;
	ret_one->is_one = true;
	ret_one->trace = NULL;
	ret_one->filter = NULL;
	ret_one->from_text = ret_one->to_text = ret_one->last_text = NULL;
	ret_one->output = NULL;
	ret_one->to = stdout;
	/* of the one that is open now */
	sonde_watch_end();
	sonde_watch_begin(all->command->name, true);
	status = open_traces(ret_one, paths, nr);
	free(paths);
	ret_one->map.from_ns = ret_one->from_ns = all->from_ns;
	ret_one->map.to_ns = ret_one->to_ns = all->to_ns;
	if (status) {
		sonde_watch_end();
		free_all(ret_one);
	}
	return status;
}

/* ---- what was lost or damaged ---- */

struct losses {
	uint64_t events, packets, disordered;
	size_t gaps, damages;
	bool at_most; /* so many events, or fewer */
};

static bool is_in_span(const struct sonde_problem *problem,
		       const struct sonde_map_options *map)
{
	return (problem->end == SONDE_TIME_MAX ||
		problem->end >= map->from_ns) &&
	       (problem->begin == SONDE_TIME_MIN ||
		problem->begin <= map->to_ns);
}

static void warn_damage(const struct sonde_problem *problem)
{
	struct sonde_stream_info info;

	if (!problem->stream) {
		sonde_complain("warning: %s", problem->text);
		return;
	}
	sonde_stream_get_info(problem->stream, &info);
	sonde_complain("warning: %.200s: byte %" PRIu64 ": %s", info.path,
		       problem->byte, problem->text);
}

/* Whether what its tracer lost may not have been asked for. */
static bool is_at_most(const struct sonde_problem *problem)
{
	struct sonde_stream_info info;

	if (!problem->stream)
		return false;
	sonde_stream_get_info(problem->stream, &info);
	return sonde_source_env(info.source, "kernel_lost_at_most");
}

static void count_problem(const struct sonde_problem *problem,
			  struct losses *losses)
{
	switch (problem->kind) {
	case SONDE_PROBLEM_LOST_EVENTS:
		losses->events += problem->count;
		losses->at_most = losses->at_most || is_at_most(problem);
		losses->gaps++;
		break;
	case SONDE_PROBLEM_LOST_PACKETS:
		losses->packets += problem->count;
		losses->gaps++;
		break;
	case SONDE_PROBLEM_ORDER:
		losses->disordered += problem->count;
		break;
	case SONDE_PROBLEM_DAMAGE:
	case SONDE_PROBLEM_TRUNCATED:
	case SONDE_PROBLEM_UUID:
		if (++losses->damages <= DAMAGE_SHOWN)
			warn_damage(problem);
		break;
	case SONDE_PROBLEM_INDEX:
	case SONDE_PROBLEM_FORMAT:
	case SONDE_PROBLEM_METADATA:
		break; /* nothing is missing: for sonde check */
	}
}

/* What reports and names of threads would be made of. */
static void warn_of_attributions(const struct sonde_trace *trace)
{
	for (size_t i = 0; i < trace->nr_machines; i++) {
		const char *lack = sonde_trace_attribution_lack(trace, i);
		const char *host = trace->machines[i].host;

		if (lack)
			sonde_complain("warning: %.200s%s%s", host,
				       *host ? ": " : "", lack);
	}
}

static void warn(const struct sonde_trace *trace,
		 const struct sonde_map_options *map)
{
	struct losses losses = { 0 };
	struct sonde_problem problem;

	for (size_t i = 0; !sonde_trace_problem(trace, i, &problem); i++)
		if (is_in_span(&problem, map))
			count_problem(&problem, &losses);
	if (losses.damages > DAMAGE_SHOWN)
		sonde_complain("warning: %zu more places are damaged; 'sonde "
			       "check' lists them",
			       losses.damages - DAMAGE_SHOWN);
	if (losses.gaps)
		sonde_complain("warning: the tracer lost %s%" PRIu64
			       " events and %" PRIu64 " packets in %zu places; "
			       "'sonde stat' tells when",
			       losses.at_most ? "up to " : "", losses.events,
			       losses.packets, losses.gaps);
	if (losses.disordered)
		sonde_complain("warning: %" PRIu64 " events are earlier than "
			       "one before them in their stream",
			       losses.disordered);
	warn_of_attributions(trace);
}

/* ---- the end ---- */

/* 0 or a negative errno. */
static int close_output(struct sonde_read *read)
{
	int err = 0;

	errno = 0;
	if (fflush(read->to) || ferror(read->to))
		err = errno ? -errno : -EIO;
	if (read->output && fclose(read->to) && !err)
		err = errno ? -errno : -EIO;
	/* stopped while the rest was written: a loop of the shell ends, too */
	return err ? err : sonde_watch_progress(0, 0);
}

static int status_of(const struct sonde_read *read, int err)
{
	if (err >= 0)
		return err;
	if (err == -EPIPE)
		return 0; /* who reads the output has enough */
	if (err == -EINTR)
		return EXIT_STOPPED;
	if (read->output)
		sonde_complain("%.200s: %s", read->output,
			       strerrordesc_np(-err));
	else
		sonde_complain("%s: %s", read->command->name,
			       strerrordesc_np(-err));
	return EXIT_FAILED;
}

int sonde_read_finish(struct sonde_read *read, struct sonde_report *report,
		      int err)
{
	int closed;

	sonde_watch_end();
	if (!err && report)
		err = sonde_report_error(report);
	if (!err && report && !read->output)
		sonde_pager_begin();
	if (!err && report)
		err = sonde_show_report(&read->show, report, read->to);
	closed = close_output(read);
	sonde_pager_end();
	if (!err || err == -EINTR)
		err = closed ? closed : err;
	if (!read->quiet && (err >= 0 || err == -EINTR)) {
		if (read->trace)
			warn(read->trace, &read->map);
		for (size_t i = 0; i < SONDE_ARRAY_SIZE(read->traces); i++)
			if (read->traces[i])
				warn(read->traces[i], &read->maps[i]);
	}
	free_all(read);
	return status_of(read, err);
}
