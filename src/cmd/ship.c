/* SPDX-License-Identifier: MIT */
/*
 * ship.c - `sonde ship`: a trace goes to another machine, packet by packet,
 * also while it is recorded.
 *
 * Between two looks at the trace it sleeps, and at least ten times the CPU time
 * that the look took: so watching what doesn't grow costs little, and a server that
 * was away for a while isn't waited for once more.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/resource.h>

#include "base/json.h"
#include "base/number.h"
#include "base/time.h"
#include "cmd/cmd.h"
#include "cmd/read_watch.h"
#include "ctf/packed.h"
#include "fleet/ship.h"

#define PAUSE_NS   (SONDE_NS_PER_S / 5)
#define PAUSE_MORE 10

static const char usage[] =
	"sonde ship [options] TRACE --to URL\n"
	"\n"
	"Publishes the packets of a trace, as they are, where 'sonde collect' on\n"
	"another machine finds them; of one that is being recorded, each packet\n"
	"when it is complete, and until the recording has ended. Killed, it goes\n"
	"on where it was: nothing is lost and nothing there twice.\n";

enum option_value {
	OPTION_TO = 256,
	OPTION_HOST,
	OPTION_COMPRESS,
	OPTION_RATE,
	OPTION_JSON,
};

/* clang-format off */
static const struct sonde_option options[] = {
	{ "to", OPTION_TO, "URL", NULL, "where to: file:///DIRECTORY or nats://HOST" },
	{ "host", OPTION_HOST, "NAME", NULL,
	  "the machine's name there; default: as the trace says" },
	{ "compress", OPTION_COMPRESS, NULL, NULL,
	  "packets go compressed by zstd, and arrive as they were" },
	{ "rate", OPTION_RATE, "SIZE", NULL,
	  "send so many bytes a second at most, such as 10M" },
	{ "quiet", 'q', NULL, NULL, "only what went wrong" },
	{ "json", OPTION_JSON, NULL, NULL, "what was shipped, as JSON" },
	{ 0 }
};
/* clang-format on */

static int ship_ask(void)
{
	return sonde_watch_progress(0, 0);
}

const struct sonde_net_config sonde_command_net = {
	.from_us = SONDE_LIBDIR_FROM_BINDIR,
	.libdir = SONDE_LIBDIR,
	.ask = ship_ask,
};

static void ship_pause(uint64_t look_ns)
{
	uint64_t ns = look_ns * PAUSE_MORE;
	struct timespec pause;

	if (ns < PAUSE_NS)
		ns = PAUSE_NS;
	pause.tv_sec = (time_t)(ns / SONDE_NS_PER_S);
	pause.tv_nsec = (long)(ns % SONDE_NS_PER_S);
	(void)nanosleep(&pause, NULL); /* a signal may end it */
}

static int ship_until_end(struct sonde_ship *ship)
{
	uint64_t begin_ns = sonde_time_ns(CLOCK_PROCESS_CPUTIME_ID);
	int err;

	while ((err = sonde_ship_look(ship)) == 0 && (err = ship_ask()) == 0) {
		ship_pause(sonde_time_ns(CLOCK_PROCESS_CPUTIME_ID) - begin_ns);
		begin_ns = sonde_time_ns(CLOCK_PROCESS_CPUTIME_ID);
	}
	return err < 0 ? err : 0;
}

/* What it has cost until now. */
static double ship_cpu_seconds(void)
{
	struct rusage used;

	if (getrusage(RUSAGE_SELF, &used))
		return 0;
	return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
	       (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
}

static void ship_report(const struct sonde_ship *ship, uint64_t begin_ns,
			bool as_json, bool quiet)
{
	struct sonde_ship_totals totals;
	struct sonde_json json = sonde_json_to_file(stdout);

	double cpu = ship_cpu_seconds();
	double seconds = (double)(sonde_monotonic_ns() - begin_ns) / 1e9;

	sonde_ship_get_totals(ship, &totals);
	if (as_json) {
		sonde_json_open(&json, NULL, '{');
		sonde_json_put_unsigned(&json, "packets", totals.packets);
		sonde_json_put_unsigned(&json, "bytes", totals.bytes);
		sonde_json_put_unsigned(&json, "sent", totals.sent);
		sonde_json_put_unsigned(&json, "present", totals.present);
		sonde_json_put_double(&json, "cpu_seconds", cpu);
		sonde_json_put_double(&json, "seconds", seconds);
		sonde_json_close(&json, '}');
		(void)fputc('\n', stdout);
	} else if (!quiet) {
		(void)printf("%" PRIu64 " packets shipped, %" PRIu64
			     " bytes (%" PRIu64 " sent); %" PRIu64
			     " were there already\n"
			     "%.2f s of CPU, %.1f %% of one\n",
			     totals.packets, totals.bytes, totals.sent,
			     totals.present, cpu,
			     seconds > 0 ? 100 * cpu / seconds : 0);
	}
}

static int ship_all(const struct sonde_ship_config *config, bool json,
		    bool quiet)
{
	uint64_t begin_ns = sonde_monotonic_ns();
	struct sonde_ship *ship = NULL;
	int err = sonde_ship_new(config, &ship);

	if (!err) {
		sonde_watch_begin("ship", false);
		err = ship_until_end(ship);
		sonde_watch_end();
	}
	if (err && err != -EINTR)
		sonde_complain("ship: %s", config->error->text);
	else
		ship_report(ship, begin_ns, json, quiet);
	sonde_ship_free(ship);
	return err == -EINTR ? 130 : err ? 1 : 0;
}

static int ship_run(int argc, char **argv)
{
	struct sonde_net_error error = { .text = "no memory" };
	struct sonde_ship_config config = { .error = &error, .ask = ship_ask };
	struct sonde_net_config net = sonde_command_net;
	const char *rate = NULL;
	const char *to = NULL;
	bool json = false;
	bool quiet = false;
	const struct sonde_option_place places[] = {
		{ OPTION_TO, NULL, &to },
		{ OPTION_HOST, NULL, &config.host },
		{ OPTION_COMPRESS, &net.packs, NULL },
		{ OPTION_RATE, NULL, &rate },
		{ 'q', &quiet, NULL },
		{ OPTION_JSON, &json, NULL },
		{ 0 },
	};
	int status = sonde_option_all(&sonde_command_ship, argc, argv, places);

	if (status != -1)
		return status;
	if (optind + 1 != argc || !to) {
		sonde_complain(
			to ? "ship: one trace is wanted: its directory" :
			     "ship: where to? --to file:///DIRECTORY or nats://HOST");
		return SONDE_EXIT_USAGE;
	}
	if (rate &&
	    (sonde_number_parse_size(rate, &config.rate) || !config.rate)) {
		sonde_complain("ship: --rate %.100s: a size is wanted, such as "
			       "10M",
			       rate);
		return SONDE_EXIT_USAGE;
	}
	if (net.packs && !sonde_ctf_can_pack()) {
		sonde_complain("ship: --compress: this build can't; it lacks "
			       "libzstd");
		return SONDE_EXIT_USAGE;
	}
	config.path = argv[optind];
	if (sonde_net_open(to, &net, &error, &config.net)) {
		sonde_complain("ship: %s", error.text);
		return SONDE_EXIT_USAGE;
	}
	status = ship_all(&config, json, quiet);
	sonde_net_close(config.net);
	return status;
}

const struct sonde_command sonde_command_ship = {
	.name = "ship",
	.run = ship_run,
	.brief = "TRACE --to URL",
	.does = "a trace to another machine",
	.usage = usage,
	.options = options,
	.words = SONDE_VALUE_DIR,
};
