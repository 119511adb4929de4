/* SPDX-License-Identifier: MIT */
/*
 * list_contexts.c - `sonde list --contexts`: what is known of any event besides
 * its fields, where it comes from, and what that costs.
 *
 * A table of words: what is the same from event to event is recorded when it
 * changes, by the recorder, and so nothing has to be asked for.
 */
#include "cmd/list.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/port.h"
#include "cmd/cmd.h"

struct context {
	const char *name, *from, *cost;
};

static const struct context contexts[] = {
	{ "time", "the event's header: the CPU's counter",
	  "2 to 8 bytes of each event" },
	{ "cpu", "the stream that the event is in", "none" },
	{ "tid",
	  "a program's: when another thread comes; the kernel's: a field",
	  "none, or 4 bytes" },
	{ "pid", "as tid; of the kernel's, what the state dump and forks say",
	  "none, or 4 bytes" },
	{ "procname",
	  "the recorder, which looks now and then; the kernel's "
	  "state dump, switches and exec",
	  "none" },
	{ "ppid",
	  "the recorder, for each program; the kernel's state dump and "
	  "forks",
	  "none" },
	{ "cgroup", "the recorder, for each program; containers have one each",
	  "none" },
	{ "stack",
	  "record --stack[=DEPTH]: the thread itself; of kernel events and "
	  "samples, the kernel",
	  "4 bytes of each event; 8 with pid" },
};

static const char notes[] =
	"\n"
	"All but the stack are in every trace, and are names in filters (-f), "
	"conditions of\nreports and --fields. Priorities (prio, nice, policy) "
	"are fields of the kernel's\nsched:* events; namespaces and counters of "
	"threads (perf:cycles ...) are not\nrecorded.\n";

static void put_contexts(void)
{
	struct sonde_json json = sonde_json_to_file(stdout);

	sonde_json_open(&json, NULL, '[');
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(contexts); i++) {
		sonde_json_line(&json, 2);
		sonde_json_open(&json, NULL, '{');
		sonde_json_put_text(&json, "name", contexts[i].name);
		sonde_json_put_text(&json, "from", contexts[i].from);
		sonde_json_put_text(&json, "cost", contexts[i].cost);
		sonde_json_close(&json, '}');
	}
	sonde_json_line(&json, 0);
	sonde_json_close(&json, ']');
	(void)putchar('\n');
}

int sonde_list_contexts(bool json)
{
	if (json) {
		put_contexts();
	} else {
		(void)printf("%-8s  %-34s  %s\n", "CONTEXT", "COSTS", "FROM");
		for (size_t i = 0; i < SONDE_ARRAY_SIZE(contexts); i++)
			(void)printf("%-8s  %-34s  %s\n", contexts[i].name,
				     contexts[i].cost, contexts[i].from);
		(void)fputs(notes, stdout);
	}
	if (fflush(stdout) == 0 || errno == EPIPE)
		return 0;
	sonde_complain("can't write the list: %s", strerrordesc_np(errno));
	return 1;
}
