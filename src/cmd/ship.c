/* SPDX-License-Identifier: MIT */
/*
 * ship.c - `sonde ship`: a trace goes to another machine, packet by packet,
 * also while it is recorded.
 *
 * Between two looks at the trace it sleeps, and at least ten times the CPU time
 * that the look took: so watching what doesn't grow costs little, and a server that
 * was away for a while isn't waited for once more.
 *
 * With --spool it is its own supervisor: what fails is told once and tried again,
 * for only while it runs does the recording keep to its size.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "base/json.h"
#include "base/number.h"
#include "base/time.h"
#include "cmd/cmd.h"
#include "cmd/read_watch.h"
#include "ctf/packed.h"
#include "fleet/pulse.h"
#include "fleet/ship.h"
#include "fleet/spool.h"

#define PAUSE_NS    (SONDE_NS_PER_S / 5)
#define PAUSE_MORE  10
#define AGAIN_NS    (2 * (uint64_t)SONDE_NS_PER_S)
#define BEAT_MS     10000
#define BEAT_MIN_US 10000

static const char usage[] =
	"sonde ship [options] TRACE --to URL\n"
	"\n"
	"Publishes the packets of a trace, as they are, where 'sonde collect' on\n"
	"another machine finds them; of one that is being recorded, each packet\n"
	"when it is complete, and until the recording has ended. Killed, it goes\n"
	"on where it was: nothing is lost and nothing there twice.\n";

struct shipping {
	const char *to, *rate, *spool_dir, *heartbeat; /* as they are given */
	struct sonde_net_config net;
	struct sonde_net_error error;
	struct sonde_ship_config config;
	struct sonde_ship *ship;         /* NULL: there is none now */
	struct sonde_ship_totals totals; /* of those that were */
	struct sonde_spool *spool;       /* NULL: without */
	struct sonde_fleet_pulse pulse;
	uint64_t beat_ms; /* between two heartbeats; 0: there are none */
	uint64_t nr_gone; /* traces that others removed too early */
	uint64_t begin_ns;
	bool json, quiet;
	bool told_silent; /* that heartbeats go wrong */
};

/* clang-format off */
#define TO(member) SONDE_OPTION_TO(struct shipping, member)
static const struct sonde_option options[] = {
	{ "to", 0, "URL", NULL, TO(to),
	  "where to: file:///DIRECTORY, nats://HOST or kafka://HOST/TOPIC" },
	{ "host", 0, "NAME", NULL, TO(config.host),
	  "the machine's name there; default: as the trace says" },
	{ "compress", 0, NULL, NULL, TO(net.packs),
	  "packets go compressed by zstd, and arrive as they were" },
	{ "rate", 0, "SIZE", NULL, TO(rate),
	  "send so many bytes a second at most, such as 10M" },
	{ "spool", 0, "SIZE", NULL, TO(spool_dir),
	  "of a recording with --rotate, remove chunks when they have more "
	  "than this: those that were shipped first; go on when what it ships "
	  "to is away" },
	{ "heartbeat", 0, "TIME", NULL, TO(heartbeat),
	  "say so often that it lives, for 'sonde hosts' (default: 10s; 0: "
	  "never)" },
	{ "quiet", 'q', NULL, NULL, TO(quiet), "only what went wrong" },
	{ "json", 0, NULL, NULL, TO(json), "what was shipped, as JSON" },
	{ 0 }
};
/* clang-format on */

/* What is tended while anything is waited for, by a function that is asked
 * without a context. */
static struct shipping *tended;

/* With what the one that is there has done until now. */
static struct sonde_ship_totals all_totals(const struct shipping *shipping)
{
	struct sonde_ship_totals all = shipping->totals;
	struct sonde_ship_totals now = { .packets = 0 };

	if (shipping->ship)
		sonde_ship_get_totals(shipping->ship, &now);
	all.packets += now.packets;
	all.bytes += now.bytes;
	all.sent += now.sent;
	if (shipping->ship)
		all.present = now.present;
	return all;
}

/* What goes wrong with it is told once, and is no error of shipping. */
static void ship_say(struct shipping *shipping, enum sonde_net_beat_state state)
{
	struct sonde_fleet_pulse_news news = { .totals = all_totals(shipping) };
	const char *host = shipping->config.host;
	struct sonde_spool_totals spool;
	struct sonde_net_error why;
	int err;

	if (!host && shipping->ship)
		host = sonde_ship_host(shipping->ship);
	if (shipping->ship)
		sonde_ship_measure(shipping->ship, &news.stock);
	sonde_spool_get_totals(shipping->spool, &spool);
	news.lacking = spool.lacking;
	err = sonde_fleet_pulse_say(&shipping->pulse, state, host, &news, &why);
	if (!err || err == -ENOTCONN || shipping->told_silent)
		return;
	shipping->told_silent = true;
	sonde_complain("ship: 'sonde hosts' won't see this: %.500s", why.text);
}

static int ship_ask(void)
{
	if (tended) {
		sonde_spool_tend(tended->spool, all_totals(tended).bytes);
		if (sonde_fleet_pulse_is_due(&tended->pulse))
			ship_say(tended, SONDE_NET_BEAT_RUNNING);
	}
	return sonde_watch_progress(0, 0);
}

const struct sonde_net_config sonde_command_net = {
	.from_us = SONDE_LIBDIR_FROM_BINDIR,
	.libdir = SONDE_LIBDIR,
	.ask = ship_ask,
};

/* Less than 0 if it is to end. */
static int ship_pause(uint64_t ns)
{
	uint64_t end_ns = sonde_monotonic_ns() + ns;
	uint64_t now;
	int err;

	while ((err = ship_ask()) == 0 &&
	       (now = sonde_monotonic_ns()) < end_ns) {
		uint64_t left = end_ns - now;
		struct timespec pause = { 0 };

		pause.tv_nsec = (long)(left < PAUSE_NS ? left : PAUSE_NS);
		(void)nanosleep(&pause, NULL); /* a signal may end it */
	}
	return err;
}

/* ---- traces that end, in one way or the other ---- */

static void ship_done(void *ctx, const char *path)
{
	struct shipping *shipping = ctx;

	sonde_spool_shipped(shipping->spool, path);
}

static void ship_gone(void *ctx, const char *path)
{
	struct shipping *shipping = ctx;

	if (sonde_spool_has_removed(shipping->spool, path))
		return;
	shipping->nr_gone++;
	sonde_complain("ship: %.400s was removed before all of it was shipped",
		       path);
}

static void ship_warn(const char *text)
{
	sonde_complain_anew("ship", text);
}

/* ---- looks ---- */

static int ship_until_end(struct shipping *shipping)
{
	int ended = 0;
	int err = 0;

	while (!err && !ended) {
		uint64_t begin_ns = sonde_time_ns(CLOCK_PROCESS_CPUTIME_ID);
		uint64_t ns;

		ended = sonde_ship_look(shipping->ship);
		err = ended < 0 ? ended :
				  sonde_spool_publish(shipping->spool,
						      &shipping->config);
		ns = PAUSE_MORE *
		     (sonde_time_ns(CLOCK_PROCESS_CPUTIME_ID) - begin_ns);
		if (!err && !ended)
			err = ship_pause(ns < PAUSE_NS ? PAUSE_NS : ns);
	}
	return err;
}

/* Whether it may go better the next time. */
static bool is_worth_another(const struct shipping *shipping, int err)
{
	return shipping->spool && err < 0 && err != -EINTR && err != -EINVAL &&
	       err != -ENOSYS;
}

/* With an engine that is there. */
static int ship_once(struct shipping *shipping)
{
	int err = sonde_ship_new(&shipping->config, &shipping->ship);

	if (err)
		return err;
	sonde_fleet_pulse_begin(&shipping->pulse, shipping->config.net,
				shipping->config.path, shipping->beat_ms);
	err = ship_until_end(shipping);
	if (!is_worth_another(shipping, err))
		ship_say(shipping,
			 err ? SONDE_NET_BEAT_STOPPED : SONDE_NET_BEAT_ENDED);
	shipping->pulse.net = NULL;
	shipping->totals = all_totals(shipping);
	sonde_ship_free(shipping->ship);
	shipping->ship = NULL;
	return err;
}

/* 0, -EINTR, or what went wrong; `ret_opened`: with an engine. */
static int ship_tries(struct shipping *shipping, bool *ret_opened)
{
	int err;

	do {
		err = sonde_net_open(shipping->to, &shipping->net,
				     &shipping->error, &shipping->config.net);
		*ret_opened = !err;
		if (!err) {
			err = ship_once(shipping);
			sonde_net_close(shipping->config.net);
		}
		if (!is_worth_another(shipping, err))
			return err;
		ship_warn(shipping->error.text);
		err = ship_pause(AGAIN_NS);
	} while (!err);
	return err;
}

/* ---- what is told ---- */

/* What it has cost until now. */
static double ship_cpu_seconds(void)
{
	struct rusage used;

	if (getrusage(RUSAGE_SELF, &used))
		return 0;
	return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
	       (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
}

static void ship_report_json(const struct shipping *shipping,
			     const struct sonde_spool_totals *spool, double cpu,
			     double seconds)
{
	const struct sonde_ship_totals *totals = &shipping->totals;
	struct sonde_json json = sonde_json_to_file(stdout);

	sonde_json_open(&json, NULL, '{');
	sonde_json_put_unsigned(&json, "packets", totals->packets);
	sonde_json_put_unsigned(&json, "bytes", totals->bytes);
	sonde_json_put_unsigned(&json, "sent", totals->sent);
	sonde_json_put_unsigned(&json, "present", totals->present);
	sonde_json_put_unsigned(&json, "removed", spool->removed);
	sonde_json_put_unsigned(&json, "removed_bytes", spool->removed_bytes);
	sonde_json_put_unsigned(&json, "unsent", spool->lacking);
	sonde_json_put_unsigned(&json, "untold", spool->untold);
	sonde_json_put_unsigned(&json, "gone", shipping->nr_gone);
	sonde_json_put_double(&json, "cpu_seconds", cpu);
	sonde_json_put_double(&json, "seconds", seconds);
	sonde_json_close(&json, '}');
	(void)fputc('\n', stdout);
}

static void ship_report_text(const struct shipping *shipping,
			     const struct sonde_spool_totals *spool, double cpu,
			     double seconds)
{
	const struct sonde_ship_totals *totals = &shipping->totals;

	(void)printf("%" PRIu64 " packets shipped, %" PRIu64 " bytes (%" PRIu64
		     " sent); %" PRIu64 " were there already\n",
		     totals->packets, totals->bytes, totals->sent,
		     totals->present);
	if (spool->removed)
		(void)printf("%" PRIu64 " chunks of %" PRIu64
			     " bytes removed, as --spool says\n",
			     spool->removed, spool->removed_bytes);
	(void)printf("%.2f s of CPU, %.1f %% of one\n", cpu,
		     seconds > 0 ? 100 * cpu / seconds : 0);
}

/* Whether anything went unsent, which is told. */
static bool ship_report(const struct shipping *shipping)
{
	double seconds =
		(double)(sonde_monotonic_ns() - shipping->begin_ns) / 1e9;
	double cpu = ship_cpu_seconds();
	struct sonde_spool_totals spool;

	sonde_spool_get_totals(shipping->spool, &spool);
	if (shipping->json)
		ship_report_json(shipping, &spool, cpu, seconds);
	else if (!shipping->quiet)
		ship_report_text(shipping, &spool, cpu, seconds);
	if (spool.lacking)
		sonde_complain("ship: %" PRIu64 " packets of chunks that "
			       "--spool had no room for went unsent",
			       spool.lacking);
	if (spool.untold)
		sonde_complain("ship: of %" PRIu64 " traces that were removed "
			       "it isn't known yet what went unsent; the next "
			       "'sonde ship' of it finds out",
			       spool.untold);
	return spool.lacking || spool.untold || shipping->nr_gone;
}

static int ship_all(struct shipping *shipping)
{
	bool has_opened = false;
	bool is_short = false;
	int err;

	shipping->begin_ns = sonde_monotonic_ns();
	sonde_watch_begin("ship", false);
	tended = shipping;
	err = ship_tries(shipping, &has_opened);
	tended = NULL;
	sonde_watch_end();
	if (err && err != -EINTR)
		sonde_complain("ship: %s", shipping->error.text);
	else
		is_short = ship_report(shipping);
	if (err == -EINTR)
		return 130;
	return err && !has_opened ? SONDE_EXIT_USAGE : err || is_short;
}

static int complain_size(const char *option, const char *text)
{
	sonde_complain("ship: --%s %.100s: a size is wanted, such as 10M",
		       option, text);
	return SONDE_EXIT_USAGE;
}

/* `spool`: the option's value. The exit status. */
static int ship_with_spool(struct shipping *shipping, const char *spool)
{
	struct sonde_net_error error;
	struct sonde_spool_config config = {
		.path = shipping->config.path,
		.host = shipping->config.host,
		.error = &error,
		.warn = ship_warn,
	};
	int status;

	if (!spool)
		return ship_all(shipping);
	if (sonde_number_parse_size(spool, &config.bytes) || !config.bytes)
		return complain_size("spool", spool);
	if (sonde_spool_new(&config, &shipping->spool)) {
		sonde_complain("ship: %s", error.text);
		return 1;
	}
	status = ship_all(shipping);
	sonde_spool_free(shipping->spool);
	return status;
}

/* 0, or the exit status of wrong usage. `text` NULL: as it is without. */
static int parse_heartbeat(const char *text, uint64_t *ret_ms)
{
	uint64_t us = BEAT_MS * (uint64_t)1000;

	if (text &&
	    (sonde_number_parse_time_us(text, &us) ||
	     (us && us < BEAT_MIN_US) || us / 1000 > SONDE_NET_BEAT_MS_MAX)) {
		sonde_complain(
			"ship: --heartbeat %.100s: give a time from 10ms "
			"to 1h, or 0",
			text);
		return SONDE_EXIT_USAGE;
	}
	*ret_ms = us / 1000;
	return 0;
}

static int ship_run(int argc, char **argv)
{
	struct shipping shipping = { .net = sonde_command_net };
	struct sonde_ship_config *config = &shipping.config;
	int status = sonde_option_take(&sonde_command_ship, argc, argv,
				       &shipping, NULL);

	if (status != -1)
		return status;
	if (optind + 1 != argc || !shipping.to) {
		sonde_complain(
			shipping.to ?
				"ship: one trace is wanted: its directory" :
				"ship: where to? --to file:///DIRECTORY, nats://HOST or kafka://HOST/TOPIC");
		return SONDE_EXIT_USAGE;
	}
	if (shipping.rate &&
	    (sonde_number_parse_size(shipping.rate, &config->rate) ||
	     !config->rate))
		return complain_size("rate", shipping.rate);
	if (parse_heartbeat(shipping.heartbeat, &shipping.beat_ms))
		return SONDE_EXIT_USAGE;
	if (shipping.net.packs && !sonde_ctf_can_pack()) {
		sonde_complain("ship: --compress: this build can't; it lacks "
			       "libzstd");
		return SONDE_EXIT_USAGE;
	}
	config->path = argv[optind];
	config->error = &shipping.error;
	config->ask = ship_ask;
	config->done = ship_done;
	config->gone = ship_gone;
	config->ctx = &shipping;
	return ship_with_spool(&shipping, shipping.spool_dir);
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
