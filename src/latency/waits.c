/* SPDX-License-Identifier: MIT */
/*
 * waits.c - a thread that waits: until a time (timer), for another thread's write
 * to a pipe (wakeup) or its signal (signal). What is measured is from the time,
 * the write, the signal until the thread has read the clock again.
 *
 * Who writes and who signals takes the time before it does, and sends it along:
 * in the pipe, or as the signal's value. So what is not taken in time waits in
 * its queue, and counts with all of its delay.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <unistd.h>

#include "base/time.h"
#include "latency/measure_parts.h"

#define THE_SIGNAL (SIGRTMIN + 1)

static void waits_sleep_until(uint64_t ns)
{
	const struct timespec until = {
		.tv_sec = (time_t)(ns / SONDE_NS_PER_S),
		.tv_nsec = (long)(ns % SONDE_NS_PER_S),
	};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) ==
	       EINTR)
		;
}

int sonde_latency_timer(struct sonde_latency_thread *thread)
{
	uint64_t interval = thread->config->interval_ns;
	uint64_t next = sonde_monotonic_ns() + interval;
	uint64_t end = next + thread->length_ns;

	while (next < end) {
		uint64_t now;

		waits_sleep_until(next);
		now = sonde_monotonic_ns();
		sonde_latency_found(thread, now - next);
		/* What was slept through isn't measured a second time. */
		next += (1 + (now - next) / interval) * interval;
	}
	return 0;
}

/* ---- who wakes ---- */

struct waker {
	struct sonde_latency_thread *thread;
	pthread_t whom;
};

/* 0 is the end. */
static bool waits_wake(const struct waker *waker, uint64_t stamp)
{
	union sigval value = { .sival_ptr = NULL };

	if (waker->thread->config->kind == SONDE_LATENCY_WAKEUP)
		return write(waker->thread->pipe[1], &stamp, sizeof(stamp)) ==
		       sizeof(stamp);
	_Static_assert(sizeof(value.sival_ptr) == sizeof(stamp),
		       "a signal takes a time along");
	__builtin_memcpy(&value.sival_ptr, &stamp, sizeof(stamp));
	return !pthread_sigqueue(waker->whom, THE_SIGNAL, value);
}

static void *waker_run(void *ctx)
{
	const struct waker *waker = ctx;
	struct sonde_latency_thread *thread = waker->thread;
	uint64_t next = sonde_monotonic_ns();
	uint64_t end = next + thread->length_ns;

	/* As well as it can be: the result tells where. */
	(void)sonde_latency_pin(thread->cpu->from);
	if (thread->config->priority)
		(void)sonde_latency_raise(thread->config->priority);
	for (; next < end; next += thread->config->interval_ns) {
		waits_sleep_until(next);
		/* A full queue: the delay of what is in it says enough. */
		(void)waits_wake(waker, sonde_monotonic_ns());
	}
	while (!waits_wake(waker, 0))
		waits_sleep_until(sonde_monotonic_ns() + 1000000);
	return NULL;
}

/* ---- who is woken ---- */

/* The time that was sent; 0 at the end. */
static uint64_t waits_await(struct sonde_latency_thread *thread,
			    const sigset_t *set)
{
	uint64_t stamp = 0;
	siginfo_t info;

	if (thread->config->kind == SONDE_LATENCY_WAKEUP)
		return read(thread->pipe[0], &stamp, sizeof(stamp)) ==
				       sizeof(stamp) ?
			       stamp :
			       0;
	while (sigwaitinfo(set, &info) < 0)
		if (errno != EINTR)
			return 0;
	__builtin_memcpy(&stamp, &info.si_value.sival_ptr, sizeof(stamp));
	return stamp;
}

static int be_woken(struct sonde_latency_thread *thread)
{
	struct waker waker = { .thread = thread, .whom = pthread_self() };
	pthread_t other;
	uint64_t stamp;
	sigset_t set;
	int error;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, THE_SIGNAL);
	error = pthread_sigmask(SIG_BLOCK, &set, NULL);
	if (!error)
		error = pthread_create(&other, NULL, waker_run, &waker);
	if (error)
		return -error;
	while ((stamp = waits_await(thread, &set)))
		sonde_latency_found(thread, sonde_monotonic_ns() - stamp);
	(void)pthread_join(other, NULL);
	return 0;
}

int sonde_latency_wakeup(struct sonde_latency_thread *thread)
{
	int error;

	if (pipe2(thread->pipe, O_CLOEXEC))
		return -errno;
	error = be_woken(thread);
	(void)close(thread->pipe[0]);
	(void)close(thread->pipe[1]);
	return error;
}

int sonde_latency_signal(struct sonde_latency_thread *thread)
{
	return be_woken(thread);
}
