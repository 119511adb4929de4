/* SPDX-License-Identifier: MIT */
#include "cmd/read_watch.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/port.h"
#include "reader/reader.h"

#define NS_PER_S    1000000000
#define BAR_COLUMNS 30
#define DELAY_NS    (NS_PER_S / 2)
#define PERIOD_NS   (NS_PER_S / 10)

static struct {
	const char *command;
	const struct sonde_trace *traces[2];
	int64_t begin_ns, drawn_ns; /* 0: not drawn yet */
	bool bar;
	volatile sig_atomic_t stopped;
} watch;

static int64_t now_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * (int64_t)NS_PER_S + now.tv_nsec;
}

static void on_stop(int signal_number)
{
	(void)signal_number;
	watch.stopped = 1;
}

static void say(const char *text)
{
	/* there is nobody to tell if this fails */
	ssize_t n = write(STDERR_FILENO, text, strlen(text));

	(void)n;
}

/* The mapped file that holds this address; only looks at memory, for it runs
 * in a signal handler. */
static const char *path_of(const void *address)
{
	const uint8_t *at = address;

	for (size_t t = 0; t < SONDE_ARRAY_SIZE(watch.traces); t++) {
		const struct sonde_trace *trace = watch.traces[t];

		for (size_t i = 0; trace && i < trace->nr_streams; i++) {
			const struct sonde_stream *stream = trace->streams[i];

			if (stream->data && at >= stream->data &&
			    at < stream->data + stream->mapped_bytes)
				return stream->path;
		}
	}
	return NULL;
}

static void on_bus_error(int signal_number, siginfo_t *info, void *context)
{
	const char *path = path_of(info->si_addr);

	(void)context;
	if (!path) {
		/* not ours: it happens again, as if there were no handler */
		(void)signal(signal_number, SIG_DFL);
		return;
	}
	say(watch.drawn_ns ? "\r\033[Ksonde: " : "sonde: ");
	say(path);
	say(" shrank while it was being read\n");
	_exit(1);
}

void sonde_watch_begin(const char *command, bool bar)
{
	struct sigaction stop = { .sa_handler = on_stop,
				  .sa_flags =
					  (int)(SA_RESETHAND | SA_RESTART) };
	struct sigaction bus = { .sa_sigaction = on_bus_error,
				 .sa_flags = SA_SIGINFO };
	struct sigaction ignore = { .sa_handler = SIG_IGN };

	watch.command = command;
	watch.bar = bar && isatty(STDERR_FILENO);
	watch.begin_ns = now_ns();
	(void)sigaction(SIGINT, &stop, NULL);
	(void)sigaction(SIGTERM, &stop, NULL);
	(void)sigaction(SIGBUS, &bus, NULL);
	/* `sonde print | head`: writing fails, and that ends it */
	(void)sigaction(SIGPIPE, &ignore, NULL);
}

void sonde_watch_trace(const struct sonde_trace *trace)
{
	watch.traces[watch.traces[0] ? 1 : 0] = trace;
}

static void draw(uint64_t done, uint64_t all, int64_t now)
{
	double seconds = (double)(now - watch.begin_ns) / NS_PER_S;
	double share = (double)done / (double)all;
	double left = share > 0 ? seconds / share - seconds : 0;
	int full = (int)(share * BAR_COLUMNS);
	char bar[BAR_COLUMNS + 1];

	memset(bar, ' ', BAR_COLUMNS);
	memset(bar, '=', (size_t)full);
	if (full < BAR_COLUMNS)
		bar[full] = '>';
	bar[BAR_COLUMNS] = 0;
	(void)fprintf(stderr, "\r%s: %3d %% [%s] %.0f MB/s, %.0f s left\033[K",
		      watch.command, (int)(share * 100), bar,
		      (double)done / seconds / 1e6, left);
	(void)fflush(stderr);
}

int sonde_watch_progress(uint64_t done, uint64_t all)
{
	int64_t now;

	if (watch.stopped)
		return -EINTR;
	if (!watch.bar || !all || done > all)
		return 0;
	now = now_ns();
	if (now - watch.begin_ns < DELAY_NS || now - watch.drawn_ns < PERIOD_NS)
		return 0;
	watch.drawn_ns = now;
	draw(done, all, now);
	return 0;
}

void sonde_watch_end(void)
{
	if (watch.drawn_ns)
		say("\r\033[K");
	watch.drawn_ns = 0;
	watch.bar = false;
	watch.traces[0] = NULL;
	watch.traces[1] = NULL;
}
