/* SPDX-License-Identifier: MIT */
/*
 * list_contexts.c - `sonde list --contexts`: what is known of any event besides
 * its fields, where it comes from, and what that costs.
 *
 * The table is the session's (session/contexts.h).
 */
#include "cmd/list.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "cmd/cmd.h"
#include "session/contexts.h"

static const char notes[] =
	"\n"
	"All that costs nothing is in every trace, and is a name in filters (-f), "
	"conditions of\nreports and --fields; what is asked for is so as "
	"cpu_time, perf_thread_page_faults,\nperf_thread_major_faults, "
	"perf_thread_context_switches, perf_thread_cycles and so on.\nSystem "
	"calls are made where the event is, and only if they are asked for by "
	"name:\none gives all that the kernel counts. A counter of the CPU's is "
	"opened by a thread's\nfirst event, and read without a call; -1: it "
	"isn't known.\n";

/* What the list says of one, on this machine. */
struct row {
	const char *from;
	const char *cost;
};

static struct row context_row(const struct sonde_session_context *context)
{
	const char *refusal = sonde_session_context_refusal(context);

	if (refusal)
		return (struct row){ refusal, "not recorded" };
	return (struct row){ context->from, context->cost };
}

static void put_contexts(void)
{
	struct sonde_json json = sonde_json_to_file(stdout);
	const struct sonde_session_context *context;

	sonde_json_open(&json, NULL, '[');
	for (size_t i = 0; (context = sonde_session_context(i)); i++) {
		struct row row = context_row(context);

		sonde_json_line(&json, 2);
		sonde_json_open(&json, NULL, '{');
		sonde_json_put_text(&json, "name", context->name);
		sonde_json_put_text(&json, "from", row.from);
		sonde_json_put_text(&json, "cost", row.cost);
		sonde_json_close(&json, '}');
	}
	sonde_json_line(&json, 0);
	sonde_json_close(&json, ']');
	(void)putchar('\n');
}

static void print_contexts(void)
{
	const struct sonde_session_context *context;

	(void)printf("%-21s  %-39s  %s\n", "CONTEXT", "COSTS", "FROM");
	for (size_t i = 0; (context = sonde_session_context(i)); i++) {
		struct row row = context_row(context);

		(void)printf("%-21s  %-39s  %s\n", context->name, row.cost,
			     row.from);
	}
	(void)fputs(notes, stdout);
}

int sonde_list_contexts(bool json)
{
	if (json)
		put_contexts();
	else
		print_contexts();
	if (fflush(stdout) == 0 || errno == EPIPE)
		return 0;
	sonde_complain("can't write the list: %s", strerrordesc_np(errno));
	return 1;
}
