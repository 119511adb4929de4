/* SPDX-License-Identifier: MIT */
/*
 * read_watch.c - the progress bar, Ctrl-C, and files that shrink while they are
 * read (read_watch.h).
 *
 * Handlers only set a flag or write(2); the bar is drawn by the reader when it
 * is time, which costs one look at the clock per call.
 */
#include "cmd/read_watch.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/port.h"
#include "base/time.h"
#include "reader/reader.h"
#include "sys/proc.h"

#define NS_PER_MS   1000000
#define BAR_COLUMNS 30
#define DELAY_NS    (SONDE_NS_PER_S / 2)
#define PERIOD_NS   (SONDE_NS_PER_S / 10)

static struct {
	const char *command;
	const struct sonde_trace *traces[2];
	int64_t begin_ns, drawn_ns; /* 0: not drawn yet */
	bool bar;
	void (*restore)(void);               /* NULL: none */
	bool (*mend)(const siginfo_t *info); /* likewise */
	volatile sig_atomic_t stopped;
} watch;

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
static const char *watch_path_of(const void *address)
{
	const uint8_t *at = address;

	for (size_t t = 0; t < SONDE_ARRAY_SIZE(watch.traces); t++) {
		const struct sonde_trace *trace = watch.traces[t];

		for (size_t i = 0; trace && i < trace->nr_streams; i++) {
			const struct sonde_stream *stream = trace->streams[i];

			if ((stream->data && at >= stream->data &&
			     at < stream->data + stream->mapped_bytes) ||
			    sonde_ctf_packed_holds(stream->packed, at))
				return stream->path;
		}
	}
	return NULL;
}

static void on_bus_error(int signal_number, siginfo_t *info, void *context)
{
	const char *path = watch_path_of(info->si_addr);

	(void)context;
	if (watch.mend && watch.mend(info))
		return;
	if (!path) {
		/* not ours: it happens again, as if there were no handler */
		(void)signal(signal_number, SIG_DFL);
		return;
	}
	if (watch.restore)
		watch.restore();
	say(watch.drawn_ns ? "\r\033[Ksonde: " : "sonde: ");
	say(path);
	say(" shrank while it was being read\n");
	_exit(1);
}

void sonde_watch_begin_bar(const char *command)
{
	watch.command = command;
	watch.bar = isatty(STDERR_FILENO);
	watch.begin_ns = (int64_t)sonde_monotonic_ns();
}

void sonde_watch_begin(const char *command, bool bar)
{
	struct sigaction stop = { .sa_handler = on_stop,
				  .sa_flags =
					  (int)(SA_RESETHAND | SA_RESTART) };
	struct sigaction bus = { .sa_sigaction = on_bus_error,
				 .sa_flags = SA_SIGINFO };
	struct sigaction ignore = { .sa_handler = SIG_IGN };

	sonde_watch_begin_bar(command);
	watch.bar = watch.bar && bar;
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

void sonde_watch_mend(bool (*mend)(const siginfo_t *info))
{
	watch.mend = mend;
}

void sonde_watch_restore(void (*restore)(void))
{
	watch.restore = restore;
}

/* The bar, and what is behind it. */
static void draw_bar(uint64_t done, uint64_t all, const char *what)
{
	double share = (double)done / (double)all;
	int full = (int)(share * BAR_COLUMNS);
	char bar[BAR_COLUMNS + 1];

	memset(bar, ' ', BAR_COLUMNS);
	memset(bar, '=', (size_t)full);
	if (full < BAR_COLUMNS)
		bar[full] = '>';
	bar[BAR_COLUMNS] = 0;
	(void)fprintf(stderr, "\r%s: %3d %% [%s] %s\033[K", watch.command,
		      (int)(share * 100), bar, what);
	(void)fflush(stderr);
}

static void draw(uint64_t done, uint64_t all, int64_t now)
{
	double seconds = (double)(now - watch.begin_ns) / SONDE_NS_PER_S;
	double share = (double)done / (double)all;
	double left = share > 0 ? seconds / share - seconds : 0;
	char what[64];

	(void)snprintf(what, sizeof(what), "%.0f MB/s, %.0f s left",
		       (double)done / seconds / 1e6, left);
	draw_bar(done, all, what);
}

/* Whether it is time to draw, and then *ret_now. */
static bool is_due(int64_t *ret_now)
{
	int64_t now = (int64_t)sonde_monotonic_ns();

	if (now - watch.begin_ns < DELAY_NS || now - watch.drawn_ns < PERIOD_NS)
		return false;
	watch.drawn_ns = now;
	*ret_now = now;
	return true;
}

int sonde_watch_progress(uint64_t done, uint64_t all)
{
	int64_t now;

	if (watch.stopped)
		return -EINTR;
	if (watch.bar && all && done <= all && is_due(&now))
		draw(done, all, now);
	return 0;
}

int sonde_watch_count(uint64_t done, uint64_t all, const char *what)
{
	int64_t now;

	if (watch.stopped)
		return -EINTR;
	if (watch.bar && all && done <= all && is_due(&now))
		draw_bar(done, all, what);
	return 0;
}

void sonde_watch_hide(void)
{
	if (watch.drawn_ns)
		say("\r\033[K");
	watch.drawn_ns = 0;
}

void sonde_watch_child(pid_t pid, const char *what)
{
	int fd = watch.bar ? sonde_proc_pidfd(pid) : -1;
	struct pollfd end = { .fd = fd, .events = POLLIN };
	int64_t now;

	while (fd >= 0 && poll(&end, 1, PERIOD_NS / NS_PER_MS) == 0) {
		if (!is_due(&now))
			continue;
		(void)fprintf(stderr, "\r%s: %s, %d s\033[K", watch.command,
			      what,
			      (int)((now - watch.begin_ns) / SONDE_NS_PER_S));
		(void)fflush(stderr);
	}
	if (fd >= 0)
		(void)close(fd);
}

void sonde_watch_end(void)
{
	sonde_watch_hide();
	watch.bar = false;
	watch.traces[0] = NULL;
	watch.traces[1] = NULL;
}
