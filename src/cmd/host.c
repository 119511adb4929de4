/* SPDX-License-Identifier: MIT */
/*
 * host.c - `sonde host`: this machine's sessions, for those who ask about many
 * machines at once (everywhere.c), as far as a file permits it (fleet/policy.h).
 *
 * One order is obeyed after the other (host_do.c). Whoever asks is told at once that
 * it was heard, so who is silent isn't there, or busy.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/number.h"
#include "cmd/cmd.h"
#include "cmd/host.h"
#include "cmd/read_watch.h"
#include "fleet/globs.h"
#include "session/net/work.h"

#define LISTEN_MS 500

static const char usage[] =
	"sonde host [options] --from URL --policy FILE -o DIR\n"
	"\n"
	"Lets others do with this machine's sessions what FILE permits, by 'sonde\n"
	"start --hosts GLOB' and its kin, until it is interrupted.\n";

struct words {
	const char *from, *policy, *out, *name, *pause, *keep;
	bool ships, quiet;
};

/* clang-format off */
#define TO(member) SONDE_OPTION_TO(struct words, member)
static const struct sonde_option options[] = {
	{ "from", 0, "URL", NULL, TO(from), "where it is asked: nats://HOST" },
	{ "policy", 0, "FILE", SONDE_VALUE_FILE, TO(policy),
	  "what is permitted, a line for each command, such as 'status *'" },
	{ "output", 'o', "DIR", SONDE_VALUE_DIR, TO(out),
	  "where traces are put that others ask for" },
	{ "host", 0, "NAME", NULL, TO(name),
	  "the machine's name there; default: what the kernel says" },
	{ "ship", 0, NULL, NULL, TO(ships),
	  "ship snapshots that others ask for to URL" },
	{ "pause", 0, "TIME", NULL, TO(pause),
	  "between two snapshots of a session that machines ask for themselves "
	  "(default: 10s)" },
	{ "keep", 0, "N|SIZE", NULL, TO(keep),
	  "of the snapshots that others asked for since it began, so many, or so "
	  "much: the oldest are removed (default: all stay)" },
	{ "quiet", 'q', NULL, NULL, TO(quiet), "only what went wrong" },
	{ 0 }
};
/* clang-format on */

/* ---- orders ---- */

static int answer_order(struct sonde_net *net,
			struct sonde_command_host_config *config,
			const struct sonde_fleet_order *order)
{
	struct sonde_net_heard_word word = { "", 0 };
	int err = sonde_net_work_tell(net, config->name, order->job, &word);
	void *bytes;

	if (err)
		return err;
	bytes = sonde_command_host_do(config, order, &word.size);
	word.bytes = bytes;
	if (bytes)
		err = sonde_net_work_tell(net, config->name, order->job, &word);
	free(bytes);
	return err;
}

static int host_listen(struct sonde_net *net,
		       struct sonde_command_host_config *config, bool quiet)
{
	static struct sonde_fleet_order order;
	struct sonde_net_heard_word word;
	char by[SONDE_NET_NAME_MAX + 1];
	int n;

	while ((n = sonde_net_work_called(net, LISTEN_MS, by, &word)) >= 0) {
		if (sonde_watch_progress(0, 0))
			return -EINTR;
		sonde_command_host_policy_renew(&config->policy, quiet);
		if (!n)
			continue;
		if (sonde_fleet_order_parse(word.bytes, word.size, &order)) {
			sonde_complain_anew("host",
					    "an order isn't understood, "
					    "and left out");
			continue;
		}
		memcpy(order.by, by, sizeof(by));
		if (!sonde_fleet_is_any_of(order.hosts, config->name))
			continue;
		if (!quiet)
			sonde_complain("host: asked to %s '%s'%s%s",
				       sonde_fleet_order_name(order.what),
				       order.session, *by ? " by " : "", by);
		n = answer_order(net, config, &order);
		if (n < 0)
			return n;
	}
	return n;
}

static int host_serve(struct sonde_command_host_config *config, bool quiet)
{
	struct sonde_net_error error = { .text = "no memory" };
	struct sonde_net *net;
	int err;

	if (sonde_net_open(config->url, &sonde_command_net, &error, &net)) {
		sonde_complain("host: %s", error.text);
		return SONDE_EXIT_USAGE;
	}
	sonde_watch_begin("host", false);
	err = host_listen(net, config, quiet);
	sonde_watch_end();
	sonde_net_close(net);
	if (err == -EINTR) /* which is how it ends */
		return 0;
	sonde_complain("host: %s", error.text);
	return err == -EOPNOTSUPP ? SONDE_EXIT_USAGE : 1;
}

static const char *host_lacks(const struct words *words)
{
	return !words->from   ? "where is it asked? --from nats://HOST" :
	       !words->policy ? "what is permitted? --policy FILE" :
	       !words->out    ? "where are traces put? -o DIR" :
				NULL;
}

static int host_run(int argc, char **argv)
{
	static struct sonde_command_host_config config;
	static struct utsname system;
	static char out[PATH_MAX];
	struct words words = { .pause = "10s" };
	uint64_t pause_us = 0;
	const char *lacks;
	int status = sonde_option_take(&sonde_command_host, argc, argv, &words,
				       NULL);

	if (status != -1)
		return status;
	lacks = optind != argc ? "it takes no words but its options" :
				 host_lacks(&words);
	if (!lacks && !realpath(words.out, out))
		lacks = "-o: there is no such directory";
	if (!lacks && uname(&system))
		lacks = "what is this machine's name? --host NAME";
	if (!lacks && sonde_number_parse_time_us(words.pause, &pause_us))
		lacks = "--pause: give a time such as 10s";
	if (!lacks && words.keep &&
	    !sonde_command_host_keep_parse(&config.kept, words.keep))
		lacks = "--keep: give a number of snapshots, or a size from "
			"64k, such as 1G";
	if (!lacks && words.name && !sonde_net_is_name(words.name))
		lacks = "--host: that is no name of a machine";
	if (lacks) {
		sonde_complain("host: %s", lacks);
		return SONDE_EXIT_USAGE;
	}
	status = sonde_command_host_policy_begin(&config.policy, words.policy);
	if (status)
		return status;
	config.pause_ns = pause_us * 1000;
	config.name = words.name ? words.name : system.nodename;
	config.out = out;
	config.from = words.ships ? words.from : NULL;
	config.url = words.from;
	return host_serve(&config, words.quiet);
}

const struct sonde_command sonde_command_host = {
	.name = "host",
	.run = host_run,
	.brief = "--from URL --policy FILE -o DIR",
	.does = "lets others use sessions here",
	.usage = usage,
	.options = options,
};
