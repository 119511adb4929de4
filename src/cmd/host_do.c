/* SPDX-License-Identifier: MIT */
/*
 * host_do.c - an order (fleet/order.h) becomes words of a command of this program,
 * which a process of its own obeys, as this user; what it prints is the answer.
 *
 * 1. Nothing runs that the policy doesn't permit.
 * 2. Each word is one option, by its whole name, and has a value if and only if
 *    that option wants one: so no word takes the next one for its value, and what
 *    the policy was asked about is what is done.
 * 3. Where a trace is put is said here, before the order's words; so is where other
 *    machines are asked, and as which.
 * 4. The process is waited for OBEY_MS at most, and then killed. What a recorder
 *    does that it has started goes on.
 * 5. Of orders that machines say themselves, one is obeyed in each pause (host.h) for
 *    each session: what happens to all of a hundred machines makes a hundred
 *    orders. Who is held back is told, and where what was held is.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/hex.h"
#include "base/port.h"
#include "base/time.h"
#include "cmd/cmd.h"
#include "cmd/host.h"
#include "cmd/host_reach.h"
#include "sys/proc.h"
#include "sys/proc_start.h"

#define OBEY_MS   60000
#define OWN_WORDS 10
#define NS_PER_MS 1000000u
/* "--a" and a newline are the shortest. */
#define WORDS_MAX  (SONDE_FLEET_ORDER_WORDS / 4 + OWN_WORDS)
#define OUTPUT_MAX ((size_t)256 << 10)

/* What became of an order. */
struct deed {
	uint64_t status;
	char error[4096];
	char *output; /* malloc */
	size_t output_size;
	char directory[PATH_MAX]; /* of its trace; "": it has none */
	/* Of a snapshot, if it is known: how far it reached back at a time, by the
	 * monotonic clock, when it had been made. */
	uint64_t reach_ns, reach_at_ns;
};

/* ---- words ---- */

static const struct sonde_option *
host_find_option(const struct sonde_option *options, const char *name)
{
	for (; options && (options->name || options->help); options++)
		if (options->name && !strcmp(options->name, name))
			return options;
	return NULL;
}

/* Invariant 2. */
static int host_check_words(const struct sonde_command *command,
			    const struct sonde_fleet_order *order,
			    struct deed *deed)
{
	struct sonde_fleet_order_word word;
	const char *at = order->words;

	while (sonde_fleet_order_next(&at, &word)) {
		const struct sonde_option *option =
			host_find_option(command->options, word.name);

		if (!option)
			option = host_find_option(command->common, word.name);
		if (option &&
		    (option->value ? *option->value == '[' || word.has_value :
				     !word.has_value))
			continue;
		(void)snprintf(deed->error, sizeof(deed->error),
			       "sonde %s of this machine has no option "
			       "--%s%s",
			       command->name, word.name,
			       word.has_value ? "=" : " without a value");
		return -EINVAL;
	}
	return 0;
}

/* Whether it makes a session that asks other machines when something happens. */
static bool host_asks_others(const struct sonde_fleet_order *order)
{
	struct sonde_fleet_order_word word;
	const char *at = order->words;

	while (order->what == SONDE_FLEET_ORDER_START &&
	       sonde_fleet_order_next(&at, &word))
		if (!strcmp(word.name, "do") &&
		    !strncmp(word.value, "snapshot@", 9))
			return true;
	return false;
}

static bool makes_trace(const struct sonde_fleet_order *order)
{
	return order->what == SONDE_FLEET_ORDER_START ||
	       order->what == SONDE_FLEET_ORDER_SNAPSHOT;
}

/* "sonde COMMAND SESSION [--json] [--output=DIR] [--ask-at URL --ask-as NAME] WORDS";
 * the order's words become texts. */
static void host_put_words(const struct sonde_command_host_config *config,
			   struct sonde_fleet_order *order, const char *output,
			   const char **argv)
{
	char *at = order->words;
	size_t nr = 0;

	argv[nr++] = "sonde";
	argv[nr++] = sonde_fleet_order_name(order->what);
	argv[nr++] = order->session;
	/* it forgets sessions that have ended by their names alone */
	if (order->what != SONDE_FLEET_ORDER_DESTROY)
		argv[nr++] = "--json";
	if (makes_trace(order))
		argv[nr++] = output;
	if (host_asks_others(order)) {
		argv[nr++] = "--ask-at";
		argv[nr++] = config->url;
		argv[nr++] = "--ask-as";
		argv[nr++] = config->name;
	}
	while (*at) {
		char *end = strchr(at, '\n');

		*end = '\0';
		argv[nr++] = at;
		at = end + 1;
	}
	argv[nr] = NULL;
}

/* ---- the process ---- */

/* Its end, by force when its time is over: its exit status. */
static uint64_t host_await_end(pid_t pid, struct deed *deed)
{
	uint64_t end_ns = sonde_monotonic_ns() +
			  OBEY_MS * (uint64_t)(SONDE_NS_PER_S / 1000);
	struct pollfd ended = { .fd = sonde_proc_pidfd(pid), .events = POLLIN };
	int status = 0;
	int n = 0;

	while (!n && ended.fd >= 0 && sonde_monotonic_ns() < end_ns) {
		n = poll(&ended, 1, 500);
		n = n < 0 && errno == EINTR ? 0 : n;
	}
	if (!n)
		(void)kill(pid, SIGKILL);
	if (ended.fd >= 0)
		(void)close(ended.fd);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (!WIFSIGNALED(status))
		return (uint64_t)WEXITSTATUS(status);
	(void)snprintf(deed->error, sizeof(deed->error),
		       n ? "the command was killed" :
			   "it took longer than a minute, and was ended");
	return 1;
}

/* What it printed, as a text; 0, or -errno. */
static int read_back(int fd, char *to, size_t size, size_t *ret_size)
{
	ssize_t n = pread(fd, to, size - 1, 0);

	to[n > 0 ? n : 0] = '\0';
	*ret_size = n > 0 ? (size_t)n : 0;
	return n < 0 ? -errno : 0;
}

/* `words` end with NULL. */
static int obey_with(const int fds[3], const char *const *words,
		     struct deed *deed)
{
	size_t error_size;
	pid_t pid;
	int err = fds[0] < 0 || fds[1] < 0 || fds[2] < 0 ? -EMFILE : 0;

	if (!err)
		err = sonde_proc_start_plain("/proc/self/exe", words, environ,
					     fds, &pid);
	if (err)
		return err;
	deed->status = host_await_end(pid, deed);
	err = read_back(fds[1], deed->output, OUTPUT_MAX, &deed->output_size);
	if (!err && !*deed->error)
		err = read_back(fds[2], deed->error, sizeof(deed->error),
				&error_size);
	return err;
}

static void host_obey(const char *const *argv, struct deed *deed)
{
	const int fds[] = { open("/dev/null", O_RDWR | O_CLOEXEC),
			    memfd_create("sonde-output", MFD_CLOEXEC),
			    memfd_create("sonde-error", MFD_CLOEXEC) };
	int err = obey_with(fds, argv, deed);

	for (int i = 0; i < 3; i++)
		if (fds[i] >= 0)
			(void)close(fds[i]);
	if (!err)
		return;
	deed->status = 1;
	(void)snprintf(deed->error, sizeof(deed->error),
		       "the command can't be run: %s", strerrordesc_np(-err));
}

static void ship(const struct sonde_command_host_config *config,
		 struct deed *deed)
{
	const char *const argv[] = {
		"sonde", "ship",       "--quiet", "--host",        config->name,
		"--to",  config->from, "--",      deed->directory, NULL
	};
	struct deed shipped = { .output = malloc(OUTPUT_MAX) };

	if (!shipped.output)
		return;
	host_obey(argv, &shipped);
	free(shipped.output);
	if (!shipped.status)
		return;
	deed->status = shipped.status;
	(void)snprintf(deed->error, sizeof(deed->error),
		       "the snapshot is in %.1000s, and isn't shipped: %.2000s",
		       deed->directory, shipped.error);
}

static struct sonde_command_host_recent *
host_find_recent(struct sonde_command_host_config *config, const char *session)
{
	struct sonde_command_host_recent *oldest = config->recent;

	for (size_t i = 0; i < SONDE_COMMAND_HOST_RECENT; i++) {
		struct sonde_command_host_recent *recent = &config->recent[i];

		if (recent->at_ns && !strcmp(recent->session, session))
			return recent;
		if (recent->at_ns < oldest->at_ns)
			oldest = recent;
	}
	*oldest = (struct sonde_command_host_recent){ .at_ns = 0 };
	(void)snprintf(oldest->session, sizeof(oldest->session), "%s", session);
	return oldest;
}

/* Invariant 5. */
static int host_hold_back(const struct sonde_command_host_config *config,
			  const struct sonde_command_host_recent *recent,
			  struct deed *deed)
{
	uint64_t now_ns = sonde_monotonic_ns();

	if (!recent->at_ns || now_ns - recent->at_ns >= config->pause_ns)
		return 0;
	(void)snprintf(deed->error, sizeof(deed->error),
		       "held back: machines asked for it %" PRIu64
		       " ms before, and get it each %" PRIu64
		       " ms at most; what there was is in %.2000s",
		       (now_ns - recent->at_ns) / NS_PER_MS,
		       config->pause_ns / NS_PER_MS, recent->directory);
	return -EBUSY;
}

/* A snapshot that was made: what is done with it. */
static void host_care_for(struct sonde_command_host_config *config,
			  struct deed *deed)
{
	int err;

	if (!sonde_command_host_reach(deed->directory, deed->output,
				      deed->output_size, &deed->reach_ns))
		deed->reach_ns = 0;
	if (config->from)
		ship(config, deed);
	err = sonde_command_host_keep(&config->kept, config->out,
				      deed->directory);
	if (err)
		sonde_complain("host: an older snapshot stays: %s",
			       strerrordesc_np(-err));
}

static void make_answer_of(struct sonde_command_host_config *config,
			   const struct sonde_fleet_order *order,
			   struct deed *deed)
{
	const struct sonde_command *command =
		sonde_command_find(sonde_fleet_order_name(order->what));
	struct sonde_fleet_order words = *order;
	char output[PATH_MAX + sizeof("--output=")];
	const char *argv[WORDS_MAX + 1];
	struct sonde_command_host_recent *recent = NULL;
	char number[9];

	deed->status = SONDE_FLEET_ORDER_REFUSED;
	if (sonde_fleet_policy_check(&config->policy.policy, order, deed->error,
				     sizeof(deed->error)) ||
	    host_check_words(command, order, deed))
		return;
	if (*order->by)
		recent = host_find_recent(config, order->session);
	if (recent && host_hold_back(config, recent, deed))
		return;
	*deed->error = '\0';
	sonde_hex_put(order->job, 4, number);
	(void)snprintf(deed->directory, sizeof(deed->directory), "%.*s/%s-%s",
		       PATH_MAX - 64, config->out, order->session, number);
	(void)snprintf(output, sizeof(output), "--output=%s", deed->directory);
	host_put_words(config, &words, output, argv);
	host_obey(argv, deed);
	deed->reach_at_ns = sonde_monotonic_ns();
	if (!deed->status && recent) {
		recent->at_ns = sonde_monotonic_ns();
		(void)snprintf(recent->directory, sizeof(recent->directory),
			       "%s", deed->directory);
	}
	if (!deed->status && order->what == SONDE_FLEET_ORDER_SNAPSHOT)
		host_care_for(config, deed);
}

void *sonde_command_host_do(struct sonde_command_host_config *config,
			    const struct sonde_fleet_order *order,
			    size_t *ret_size)
{
	struct deed deed = { .output = malloc(OUTPUT_MAX) };
	struct sonde_fleet_answer answer;
	void *bytes;

	if (!deed.output)
		return NULL;
	make_answer_of(config, order, &deed);
	answer = (struct sonde_fleet_answer){
		.status = deed.status,
		.words = deed.error,
		.words_size = strlen(deed.error),
		.report = deed.output,
		.report_size = deed.output_size,
	};
	if (deed.reach_ns)
		answer.reach_ns =
			deed.reach_ns + sonde_monotonic_ns() - deed.reach_at_ns;
	bytes = sonde_fleet_answer_put(&answer, ret_size);
	free(deed.output);
	return bytes;
}
