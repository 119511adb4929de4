/* SPDX-License-Identifier: MIT */
/*
 * hosts.c - `sonde hosts`: the machines that ship, by what they said last of
 * themselves, and by how long they have said nothing since.
 *
 * How long that is, is by the clock of where they said it, if that has one; else
 * from a machine's clock to ours, which the table says, as it is no better than
 * these.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/hex.h"
#include "base/port.h"
#include "base/time.h"
#include "cmd/cmd.h"
#include "cmd/read_watch.h"
#include "fleet/globs.h"
#include "fleet/pulse.h"
#include "view/text/show.h"

static const char usage[] =
	"sonde hosts [options] --from URL\n"
	"\n"
	"Lists the machines that ship recordings: whether they live, when they\n"
	"last said so, what they still have to send, and what was lost.\n";

struct listing {
	const char *from, *hosts;
	struct sonde_net_config config;
	struct sonde_net_error error;
	struct sonde_net_heard heard;
	struct host_word *words; /* malloc */
	size_t nr, room;
	bool json;
};

/* clang-format off */
#define TO(member) SONDE_OPTION_TO(struct listing, member)
static const struct sonde_option options[] = {
	{ "from", 0, "URL", NULL, TO(from),
	  "where they ship to: file:///DIRECTORY, nats://HOST or "
	  "kafka://HOST/TOPIC" },
	{ "hosts", 0, "GLOB", NULL, TO(hosts),
	  "only these machines; several with commas between" },
	{ "json", 0, NULL, NULL, TO(json), "the list as JSON" },
	{ 0 }
};
/* clang-format on */

enum column {
	COLUMN_HOST,
	COLUMN_TRACE,
	COLUMN_STATE,
	COLUMN_LAST,
	COLUMN_SILENT,
	COLUMN_GROWING,
	COLUMN_UNSENT,
	COLUMN_LACKING,
	COLUMN_LOST,
	COLUMN_AHEAD,
	COLUMN_BOUND,
	COLUMN_CPU,
	COLUMN_TRACES,
	COLUMN_KEPT,
	COLUMN_PACKETS,
	COLUMN_BYTES,
	COLUMN_ERROR,
	COLUMN_BOOT,
	NR_COLUMNS,
};

static const struct sonde_column columns[] = {
	[COLUMN_HOST] = { "host", "HOST", SONDE_CELL_TEXT },
	[COLUMN_TRACE] = { "trace", "TRACE", SONDE_CELL_TEXT },
	[COLUMN_STATE] = { "state", "STATE", SONDE_CELL_TEXT },
	[COLUMN_LAST] = { "last", "LAST WORD", SONDE_CELL_TIME },
	[COLUMN_SILENT] = { "silent", "SILENT", SONDE_CELL_DURATION },
	[COLUMN_GROWING] = { "growing", "GROWING", SONDE_CELL_COUNT },
	[COLUMN_UNSENT] = { "unsent", "UNSENT", SONDE_CELL_BYTES },
	[COLUMN_LACKING] = { "never_sent", "NEVER SENT", SONDE_CELL_COUNT },
	[COLUMN_LOST] = { "lost", "LOST", SONDE_CELL_COUNT },
	[COLUMN_AHEAD] = { "ahead", "AHEAD", SONDE_CELL_DURATION },
	[COLUMN_BOUND] = { "bound", "BOUND", SONDE_CELL_DURATION },
	[COLUMN_CPU] = { "cpu", "CPU", SONDE_CELL_PERCENT },
	[COLUMN_TRACES] = { "traces", "TRACES", SONDE_CELL_COUNT },
	[COLUMN_KEPT] = { "kept", "KEPT", SONDE_CELL_BYTES },
	[COLUMN_PACKETS] = { "packets", "PACKETS", SONDE_CELL_COUNT },
	[COLUMN_BYTES] = { "sent", "SENT", SONDE_CELL_BYTES },
	[COLUMN_ERROR] = { "clock_error", "CLOCK ERROR", SONDE_CELL_DURATION },
	[COLUMN_BOOT] = { "boot", "BOOT", SONDE_CELL_TEXT },
};

#define MINOR                                                             \
	(1u << COLUMN_TRACES | 1u << COLUMN_KEPT | 1u << COLUMN_PACKETS | \
	 1u << COLUMN_BYTES | 1u << COLUMN_ERROR | 1u << COLUMN_BOOT)

/* The last heartbeat of a machine. */
struct host_word {
	struct sonde_net_beat beat;
	int64_t got_ns;
};

static int hosts_ask(void)
{
	return sonde_watch_progress(0, 0);
}

static int hosts_take(void *ctx, const struct sonde_net_beat *beat,
		      int64_t got_ns)
{
	struct listing *listing = ctx;

	if (!sonde_fleet_is_any_of(listing->hosts, beat->host))
		return 0;
	if (SONDE_GROW(listing->words, listing->nr, listing->room))
		return sonde_net_fail(&listing->error, -ENOMEM, "no memory");
	listing->words[listing->nr].beat = *beat;
	listing->words[listing->nr++].got_ns = got_ns;
	return 0;
}

/* What it says of its clock, as far as that is known. */
static void hosts_put_clock(struct sonde_table *table,
			    const struct sonde_net_beat *beat)
{
	if (beat->bound_ns) {
		sonde_table_int(table, COLUMN_AHEAD, beat->ahead_ns);
		sonde_table_int(table, COLUMN_BOUND, (int64_t)beat->bound_ns);
	}
	if (beat->error_us && beat->error_us < INT64_MAX / 1000)
		sonde_table_int(table, COLUMN_ERROR,
				(int64_t)beat->error_us * 1000);
}

static void hosts_put_numbers(struct sonde_table *table,
			      const struct sonde_net_beat *beat)
{
	int64_t ns;
	char boot[33];

	sonde_table_uint(table, COLUMN_GROWING, beat->growing);
	sonde_table_int(table, COLUMN_UNSENT, (int64_t)beat->unsent);
	sonde_table_uint(table, COLUMN_LACKING, beat->lacking);
	sonde_table_uint(table, COLUMN_LOST, beat->lost);
	sonde_table_uint(table, COLUMN_TRACES, beat->traces);
	sonde_table_int(table, COLUMN_KEPT, (int64_t)beat->kept);
	sonde_table_uint(table, COLUMN_PACKETS, beat->packets);
	sonde_table_int(table, COLUMN_BYTES, (int64_t)beat->bytes);
	if (!__builtin_sub_overflow(beat->said_ns, beat->began_ns, &ns) &&
	    ns > 0)
		sonde_table_share(table, COLUMN_CPU, beat->cpu_ns,
				  (uint64_t)ns);
	sonde_hex_put(beat->boot, sizeof(beat->boot), boot);
	sonde_table_text(table, COLUMN_BOOT, boot);
}

/* Whether it is as it should be. */
static bool hosts_put_word(struct sonde_table *table,
			   const struct host_word *word, int64_t now_ns)
{
	const struct sonde_net_beat *beat = &word->beat;
	int64_t last_ns = word->got_ns ? word->got_ns : beat->said_ns;
	enum sonde_fleet_health health;
	int64_t silent_ns;

	if (__builtin_sub_overflow(now_ns, last_ns, &silent_ns))
		silent_ns = INT64_MIN;
	health = sonde_fleet_health(beat, silent_ns);
	sonde_table_row(table);
	sonde_table_text(table, COLUMN_HOST, beat->host);
	sonde_table_text(table, COLUMN_TRACE, beat->recording);
	sonde_table_text(table, COLUMN_STATE, sonde_fleet_health_word(health));
	sonde_table_int(table, COLUMN_LAST, last_ns);
	if (health != SONDE_FLEET_UNKNOWN)
		sonde_table_int(table, COLUMN_SILENT,
				silent_ns > 0 ? silent_ns : 0);
	hosts_put_numbers(table, beat);
	hosts_put_clock(table, beat);
	return (health == SONDE_FLEET_ALIVE || health == SONDE_FLEET_ENDED) &&
	       !beat->lacking;
}

/* Whether all are as they should be. */
static bool hosts_show(const struct listing *listing)
{
	struct sonde_report *report = sonde_report_new("hosts");
	struct sonde_table *table =
		sonde_report_table(report, "hosts", NULL, columns, NR_COLUMNS);
	int64_t now_ns = listing->heard.now_ns;
	struct sonde_show how;
	bool is_well = true;

	sonde_show_init(&how, stdout);
	how.json = listing->json;
	sonde_table_minor(table, MINOR);
	if (!now_ns && listing->nr)
		sonde_report_note(report, "how long they are silent is by this "
					  "machine's clock");
	if (!now_ns)
		now_ns = (int64_t)sonde_time_ns(CLOCK_REALTIME);
	for (size_t i = 0; i < listing->nr; i++)
		is_well = hosts_put_word(table, &listing->words[i], now_ns) &&
			  is_well;
	sonde_table_sort(table, COLUMN_TRACE, false);
	sonde_table_sort(table, COLUMN_HOST, false);
	if (sonde_report_error(report) ||
	    sonde_show_report(&how, report, stdout))
		is_well = false;
	sonde_report_free(report);
	return is_well;
}

static int hosts_list(struct listing *listing)
{
	struct sonde_net *net;
	int err = sonde_net_open(listing->from, &listing->config,
				 &listing->error, &net);
	bool is_well;

	if (err) {
		sonde_complain("hosts: %s", listing->error.text);
		return SONDE_EXIT_USAGE;
	}
	sonde_watch_begin("hosts", false);
	err = sonde_net_hear(net, hosts_take, listing, &listing->heard);
	sonde_watch_end();
	sonde_net_close(net);
	if (err == -EINTR)
		return 130;
	if (err) {
		sonde_complain("hosts: %s", listing->error.text);
		return 1;
	}
	is_well = hosts_show(listing);
	if (listing->heard.nr_damaged)
		sonde_complain("hosts: %" PRIu64 " heartbeats are damaged, and "
			       "left out",
			       listing->heard.nr_damaged);
	if (!listing->nr)
		sonde_complain("hosts: nobody%s%.100s said anything at %.300s",
			       listing->hosts ? " of " : "",
			       listing->hosts ? listing->hosts : "",
			       listing->from);
	return !is_well || listing->heard.nr_damaged || !listing->nr;
}

static int hosts_run(int argc, char **argv)
{
	struct listing listing = { .config = sonde_command_net };
	int status = sonde_option_take(&sonde_command_hosts, argc, argv,
				       &listing, NULL);

	if (status != -1)
		return status;
	if (optind != argc || !listing.from) {
		sonde_complain(
			listing.from ?
				"hosts: it takes no words but its options" :
				"hosts: where do they ship to? --from "
				"file:///DIRECTORY, nats://HOST or kafka://HOST/TOPIC");
		return SONDE_EXIT_USAGE;
	}
	listing.config.ask = hosts_ask;
	status = hosts_list(&listing);
	free(listing.words);
	return status;
}

const struct sonde_command sonde_command_hosts = {
	.name = "hosts",
	.run = hosts_run,
	.brief = "--from URL",
	.does = "the machines that ship",
	.usage = usage,
	.options = options,
};
