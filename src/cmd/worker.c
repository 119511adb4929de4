/* SPDX-License-Identifier: MIT */
/*
 * worker.c - `sonde worker`: makes reports of what machines shipped, for who asks by
 * `sonde report --on`.
 *
 * The reports are made by another process of this program (worker_do.c), one for
 * each unit, whose outputs are read here; meanwhile it is said that this one lives.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/grow.h"
#include "base/number.h"
#include "base/port.h"
#include "cmd/cmd.h"
#include "cmd/read_watch.h"
#include "cmd/report_on.h"
#include "fleet/worker.h"
#include "sys/proc_start.h"
#include "sys/write.h"

#define POLL_MS     500
#define THREADS_MAX 1024
#define OWN_WORDS   6 /* of the process's command line, and its end */

static const char usage[] =
	"sonde worker [options] --from URL -o DIR\n"
	"\n"
	"Makes reports for 'sonde report --on URL' of what 'sonde ship' published\n"
	"there, until it is interrupted. What it needs for that is collected into\n"
	"DIR, which stays. Run one on each CPU that is to help.\n";

struct words {
	const char *threads, *from, *out;
	bool is_maker, quiet;
};

/* clang-format off */
#define TO(member) SONDE_OPTION_TO(struct words, member)
static const struct sonde_option options[] = {
	{ "from", 0, "URL", NULL, TO(from), "where from: nats://HOST" },
	{ "output", 'o', "DIR", SONDE_VALUE_DIR, TO(out),
	  "where it collects: a new directory, or one of an earlier worker or "
	  "collect" },
	{ "threads", 0, "N", NULL, TO(threads),
	  "how many CPUs to use (default: all)" },
	{ "quiet", 'q', NULL, NULL, TO(quiet), "only what went wrong" },
	{ "do", 0, NULL, NULL, TO(is_maker), NULL },
	{ 0 }
};
/* clang-format on */

/* What the functions that are called without a context want to know. */
static struct {
	char threads[16];
	bool quiet;
} worker_options;

/* ---- the process that makes a report ---- */

struct maker {
	pid_t pid;
	int in, out, err; /* our ends; -1: closed */
	char *report;
	size_t report_size, report_room;
	char words[SONDE_FLEET_SAID_MAX];
	size_t words_size;
};

static void close_fd(int *fd)
{
	if (*fd >= 0)
		(void)close(*fd); /* a pipe */
	*fd = -1;
}

/* Pipes to each of its three; `theirs` are the other ends. */
static int open_pipes(struct maker *maker, int theirs[3])
{
	int *const ours[] = { &maker->in, &maker->out, &maker->err };

	for (int i = 0; i < 3; i++) {
		int ends[2];

		if (pipe2(ends, O_CLOEXEC))
			return -errno;
		*ours[i] = ends[i == 0];
		theirs[i] = ends[i != 0];
	}
	return 0;
}

static int maker_start(struct maker *maker, const char *const *argv)
{
	int theirs[3] = { -1, -1, -1 };
	int err = open_pipes(maker, theirs);

	if (!err)
		err = sonde_proc_start_plain("/proc/self/exe", argv, environ,
					     theirs, &maker->pid);
	for (int i = 0; i < 3; i++)
		close_fd(&theirs[i]);
	return err;
}

/* Some of what it wrote; 0, or -errno. The end closes. */
static int maker_read_report(struct maker *maker)
{
	char bytes[65536];
	ssize_t n = read(maker->out, bytes, sizeof(bytes));

	if (n < 0)
		return errno == EINTR ? 0 : -errno;
	if (!n)
		close_fd(&maker->out);
	while (maker->report_size + (size_t)n > maker->report_room)
		if (sonde_grow(&maker->report, 1, &maker->report_room))
			return -ENOMEM;
	if (maker->report_size + (size_t)n > SONDE_REPORT_WIRE_MAX)
		return -E2BIG;
	if (n)
		memcpy(maker->report + maker->report_size, bytes, (size_t)n);
	maker->report_size += (size_t)n;
	return 0;
}

/* The same of its words; those for which there is no room go nowhere. */
static int maker_read_words(struct maker *maker)
{
	size_t room = sizeof(maker->words) - maker->words_size;
	char rest[512];
	ssize_t n = room ? read(maker->err, maker->words + maker->words_size,
				room) :
			   read(maker->err, rest, sizeof(rest));

	if (n < 0)
		return errno == EINTR ? 0 : -errno;
	if (!n)
		close_fd(&maker->err);
	maker->words_size += room ? (size_t)n : 0;
	return 0;
}

static int maker_read(struct maker *maker, struct sonde_fleet_worker *worker)
{
	int err = 0;

	while (!err && (maker->out >= 0 || maker->err >= 0)) {
		struct pollfd fds[] = { { .fd = maker->out, .events = POLLIN },
					{ .fd = maker->err,
					  .events = POLLIN } };

		if (poll(fds, 2, POLL_MS) < 0 && errno != EINTR)
			return -errno;
		if (fds[0].revents)
			err = maker_read_report(maker);
		if (!err && fds[1].revents)
			err = maker_read_words(maker);
		if (!err)
			err = sonde_fleet_worker_tend(worker);
	}
	return err;
}

/* Its end, if need be by force; the exit status, 1 if a signal ended it, which
 * becomes one of its words. */
static uint64_t maker_end(struct maker *maker, bool is_unwanted)
{
	size_t room = sizeof(maker->words) - maker->words_size;
	int status = 0;
	int n;

	close_fd(&maker->in);
	close_fd(&maker->out);
	close_fd(&maker->err);
	if (maker->pid <= 0)
		return 1;
	if (is_unwanted)
		(void)kill(maker->pid, SIGKILL);
	while (waitpid(maker->pid, &status, 0) < 0 && errno == EINTR)
		;
	if (!WIFSIGNALED(status))
		return (uint64_t)WEXITSTATUS(status);
	n = snprintf(maker->words + maker->words_size, room,
		     "sonde: worker: the process that made the report was "
		     "ended by signal %d\n",
		     WTERMSIG(status));
	maker->words_size += n > 0 && (size_t)n < room ? (size_t)n : 0;
	return 1;
}

/* "sonde worker --do TRACES"; the texts are borrowed. */
static const char **maker_words(const char *const *traces, size_t nr)
{
	const char *const own[OWN_WORDS] = {
		"sonde", "worker", "--do", "--threads", worker_options.threads,
		"--"
	};
	const char **argv = calloc(OWN_WORDS + nr + 1, sizeof(*argv));

	if (!argv)
		return NULL;
	memcpy(argv, own, sizeof(own));
	memcpy(argv + OWN_WORDS, traces, nr * sizeof(*traces));
	return argv;
}

static int maker_run(struct maker *maker, struct sonde_fleet_worker *worker,
		     const struct sonde_fleet_request *request,
		     const char *const *argv, uint64_t *ret_status)
{
	char line[SONDE_NET_HEAD_MAX];
	size_t size = sonde_fleet_request_put(request, line);
	int err = maker_start(maker, argv);

	/* which a pipe has room for */
	if (!err)
		err = sonde_write_all(maker->in, line, size);
	close_fd(&maker->in);
	if (!err)
		err = maker_read(maker, worker);
	*ret_status = maker_end(maker, err != 0);
	return err;
}

static void *maker_answer(const struct maker *maker, uint64_t status,
			  size_t *ret_size)
{
	const struct sonde_fleet_answer answer = {
		.status = status,
		.words = maker->words,
		.words_size = maker->words_size,
		.report = maker->report,
		.report_size = status ? 0 : maker->report_size,
	};

	return sonde_fleet_answer_put(&answer, ret_size);
}

static int worker_make(struct sonde_fleet_worker *worker,
		       const struct sonde_fleet_request *request,
		       const char *const *traces, size_t nr, void **ret_answer,
		       size_t *ret_size)
{
	struct maker *maker = calloc(1, sizeof(*maker));
	const char **argv = maker_words(traces, nr);
	uint64_t status = 1;
	int err = maker && argv ? 0 : -ENOMEM;

	if (maker)
		maker->in = maker->out = maker->err = -1;
	if (!err)
		err = maker_run(maker, worker, request, argv, &status);
	if (!err)
		*ret_answer = maker_answer(maker, status, ret_size);
	if (!err && !*ret_answer)
		err = -ENOMEM;
	if (maker)
		free(maker->report);
	free(maker);
	free(argv);
	return err;
}

/* ---- the command ---- */

static int command_worker_ask(void)
{
	return sonde_watch_progress(0, 0);
}

static void worker_tell(const char *text)
{
	if (!worker_options.quiet)
		sonde_complain("worker: %s", text);
}

static int worker_work(const char *from, const char *out)
{
	struct sonde_net_error error = { .text = "no memory" };
	struct sonde_fleet_worker_config config = {
		.error = &error,
		.out = out,
		.make = worker_make,
		.tell = worker_tell,
		.ask = command_worker_ask,
	};
	int err;

	if (sonde_net_open(from, &sonde_command_net, &error, &config.net)) {
		sonde_complain("worker: %s", error.text);
		return SONDE_EXIT_USAGE;
	}
	sonde_watch_begin("worker", false);
	err = sonde_fleet_worker_run(&config);
	sonde_watch_end();
	sonde_net_close(config.net);
	if (err == -EINTR) /* which is how it ends */
		return 0;
	sonde_complain("worker: %s", error.text);
	return 1;
}

static int worker_run(int argc, char **argv)
{
	struct words words = { .threads = "0" };
	uint64_t nr_threads;
	int status = sonde_option_take(&sonde_command_worker, argc, argv,
				       &words, NULL);

	if (status != -1)
		return status;
	if (!sonde_number_parse(words.threads, THREADS_MAX, &nr_threads)) {
		sonde_complain("--threads %.100s: give a number up to %d",
			       words.threads, THREADS_MAX);
		return SONDE_EXIT_USAGE;
	}
	worker_options.quiet = words.quiet;
	if (words.is_maker)
		return sonde_command_worker_do(argc, argv,
					       (unsigned int)nr_threads);
	if (optind != argc || !words.from || !words.out) {
		sonde_complain(
			!words.from ?
				"worker: where from? --from nats://HOST" :
			!words.out ?
				"worker: where does it collect? -o DIR" :
				"worker: it takes no words but its options");
		return SONDE_EXIT_USAGE;
	}
	(void)snprintf(worker_options.threads, sizeof(worker_options.threads),
		       "%u", (unsigned int)nr_threads);
	return worker_work(words.from, words.out);
}

const struct sonde_command sonde_command_worker = {
	.name = "worker",
	.run = worker_run,
	.brief = "--from URL -o DIR",
	.does = "makes reports for others",
	.usage = usage,
	.options = options,
};
