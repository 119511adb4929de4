/* SPDX-License-Identifier: MIT */
/*
 * requests.c - a plug-in: what a report, rows and a state machine of one's own look
 * like, for the requests of slowserver.c.
 *
 *	cc -shared -fPIC -o requests.so requests.c $(pkg-config --cflags sonde)
 *	sonde report --plugin ./requests.so gaps TRACE
 *	sonde report --plugin ./requests.so request TRACE
 *	sonde view --plugin ./requests.so TRACE
 *
 * In ~/.local/lib/sonde/plugins it is loaded without being named.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include <sonde/plugin.h>

/* ---- a report: the longest times without any event, of any trace ---- */

#define GAPS 10

struct gap {
	int64_t begin_ns, end_ns;
};

struct gaps {
	uint64_t nr_events;
	int64_t last_ns;
	struct gap longest[GAPS]; /* the longest first */
};

static int64_t length_of(const struct gap *gap)
{
	return gap->end_ns - gap->begin_ns;
}

static int see_event(void *state, struct sonde_plugin_run *run,
		     const struct sonde_event *event, const void *data)
{
	struct gaps *gaps = state;
	struct gap gap = { gaps->last_ns, event->time_ns };

	(void)run;
	(void)data;
	for (int i = 0; gaps->nr_events && i < GAPS; i++)
		if (length_of(&gap) > length_of(&gaps->longest[i])) {
			struct gap shorter = gaps->longest[i];

			gaps->longest[i] = gap;
			gap = shorter;
		}
	gaps->nr_events++;
	gaps->last_ns = event->time_ns;
	return 0;
}

static int begin_gaps(void *state, const void *config,
		      struct sonde_plugin_run *run)
{
	(void)state;
	(void)config;
	return sonde_plugin_on(run, "*", see_event, NULL);
}

static int end_gaps(void *state, struct sonde_plugin_run *run,
		    struct sonde_report *report)
{
	static const struct sonde_column columns[] = {
		{ "from", "FROM", SONDE_CELL_TIME },
		{ "length", "LENGTH", SONDE_CELL_DURATION },
	};
	const struct gaps *gaps = state;
	struct sonde_table *table;

	(void)run;
	sonde_report_note(report,
			  "The longest times without any of %" PRIu64
			  " events.",
			  gaps->nr_events);
	table = sonde_report_table(report, "gaps", NULL, columns, 2);
	for (int i = 0; i < GAPS && length_of(&gaps->longest[i]); i++) {
		sonde_table_row(table);
		sonde_table_int(table, 0, gaps->longest[i].begin_ns);
		sonde_table_int(table, 1, length_of(&gaps->longest[i]));
	}
	return 0;
}

static const struct sonde_plugin_report gaps = {
	.size = sizeof(gaps),
	.name = "gaps",
	.summary = "the longest times without any event",
	.state_bytes = sizeof(struct gaps),
	.begin = begin_gaps,
	.end = end_gaps,
};

/* ---- rows: how many requests are open ---- */

struct load {
	int row; /* 1 + its number; 0: not asked yet */
	int nr_open;
};

/* `data` is what the event adds. */
static int change_load(void *state, struct sonde_plugin_run *run,
		       const struct sonde_event *event, const void *data)
{
	struct load *load = state;
	const char *colour;
	char name[32];

	load->nr_open += *(const int *)data;
	if (!load->row) {
		int row = sonde_plugin_row_number(run, "open requests");

		if (row < 0)
			return row;
		load->row = row + 1;
	}
	if (load->nr_open <= 0) /* some had begun before the trace */
		load->nr_open = 0;
	if (!load->nr_open)
		return sonde_plugin_leave(run, load->row - 1, event->time_ns);
	colour = load->nr_open == 1 ? "green" :
		 load->nr_open == 2 ? "orange" :
				      "red";
	(void)snprintf(name, sizeof(name), "%d open", load->nr_open);
	return sonde_plugin_enter(run, load->row - 1, event->time_ns,
				  sonde_plugin_state_number(run, name, colour));
}

static int begin_load(void *state, const void *config,
		      struct sonde_plugin_run *run)
{
	static const int one_more = 1;
	static const int one_less = -1;
	int err = sonde_plugin_on(run, "server:request_begin", change_load,
				  &one_more);

	(void)state;
	(void)config;
	if (!err)
		err = sonde_plugin_on(run, "server:request_end", change_load,
				      &one_less);
	return err == -ENOENT ? sonde_plugin_fail(run, "no requests in this "
						       "trace") :
				err;
}

static const struct sonde_plugin_rows load = {
	.size = sizeof(load),
	.name = "load",
	.summary = "how many requests are open at a time",
	.state_bytes = sizeof(struct load),
	.begin = begin_load,
};

/* ---- a state machine: each request ---- */

enum request_state {
	SERVED,
};

static const struct sonde_plugin_state states[] = {
	[SERVED] = { "being served", "sky" },
};

static const struct sonde_plugin_step steps[] = {
	{ "event == \"server:request_begin\"", SONDE_PLUGIN_FROM_ANY, SERVED,
	  NULL },
	{ "event == \"server:request_end\"", SONDE_PLUGIN_FROM(SERVED),
	  SONDE_PLUGIN_NONE, NULL },
};

static const struct sonde_plugin_machine request = {
	.size = sizeof(request),
	.name = "request",
	.summary = "what each request is doing",
	.per = "id",
	.states = states,
	.nr_states = 1,
	.steps = steps,
	.nr_steps = 2,
};

/* ---- all that is added ---- */

static const struct sonde_plugin_report *const reports[] = { &gaps, NULL };
static const struct sonde_plugin_rows *const rows[] = { &load, NULL };
static const struct sonde_plugin_machine *const machines[] = { &request, NULL };

const struct sonde_plugin sonde_plugin = {
	.abi = SONDE_PLUGIN_ABI,
	.size = sizeof(sonde_plugin),
	.reports = reports,
	.rows = rows,
	.machines = machines,
};
