/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * threads.c - events for the threads of processes that run already (threads.h).
 *
 * Two tables: of threads, each with its descriptors by CPU, and of events, each with
 * the thread that it was opened for. A number of a thread may be another's by now:
 * it was opened for a process that began at another time, or has inherited what it
 * has.
 */
#include "source/sample/threads.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/port.h"
#include "sys/proc.h"

/* The second is the last, unless threads start threads meanwhile. */
#define PASSES_MAX 8u

struct perf_thread {
	struct sonde_key key;
	int32_t pid;
	uint64_t start; /* of the process */
	int *fds;       /* by CPU; -1: none. NULL: it has inherited some */
};

struct perf_event {
	struct sonde_key key;
	int64_t tid;
};

_Static_assert(sizeof(struct perf_thread) % 16 == 0, "base/hash.h");
_Static_assert(sizeof(struct perf_event) % 16 == 0, "base/hash.h");

void sonde_perf_threads_init(struct sonde_perf_threads *threads,
			     const struct sonde_perf_config *config,
			     uint32_t nr_cpus)
{
	*threads = (struct sonde_perf_threads){
		.config = *config,
		.nr_cpus = nr_cpus,
	};
	sonde_hash_init(&threads->threads, sizeof(struct perf_thread),
			SONDE_PERF_THREADS_MAX);
	sonde_hash_init(&threads->events, sizeof(struct perf_event), SIZE_MAX);
}

static void thread_close(const struct sonde_perf_threads *threads,
			 struct perf_thread *thread)
{
	for (uint32_t i = 0; thread->fds && i < threads->nr_cpus; i++)
		if (thread->fds[i] >= 0)
			(void)close(thread->fds[i]); /* nothing is written */
	free(thread->fds);
	thread->fds = NULL;
}

void sonde_perf_threads_fini(struct sonde_perf_threads *threads)
{
	struct perf_thread *thread = NULL;

	while ((thread = sonde_hash_next(&threads->threads, thread)))
		thread_close(threads, thread);
	sonde_hash_fini(&threads->threads);
	sonde_hash_fini(&threads->events);
}

/* One more event, which is a descriptor of the thread's. */
static int thread_open_cpu(struct sonde_perf_threads *threads,
			   struct perf_thread *thread, uint32_t cpu,
			   const struct sonde_perf_ring *ring)
{
	struct sonde_perf_config config = threads->config;
	struct perf_event *event;
	struct sonde_key key;
	uint64_t id;
	int fd;

	config.cpu = cpu;
	config.pid = (pid_t)thread->key.number;
	fd = sonde_perf_add(ring, &config, &id);
	if (fd < 0)
		return fd;
	thread->fds[cpu] = fd;
	key = sonde_key_make(SONDE_KEY_UINT, id, 0);
	event = sonde_hash_put(&threads->events, &key);
	if (!event)
		return sonde_hash_error(&threads->events);
	event->tid = config.pid;
	if (threads->is_on)
		sonde_perf_switch_event(fd, true);
	return 0;
}

static int thread_open(struct sonde_perf_threads *threads,
		       struct perf_thread *thread,
		       const struct sonde_perf_ring *rings, size_t stride)
{
	int rc = 0;

	thread->fds = malloc(threads->nr_cpus * sizeof(*thread->fds));
	if (!thread->fds)
		return -ENOMEM;
	for (uint32_t i = 0; i < threads->nr_cpus; i++)
		thread->fds[i] = -1;
	for (uint32_t i = 0; !rc && i < threads->nr_cpus; i++) {
		const struct sonde_perf_ring *ring =
			(const void *)((const char *)rings + i * stride);

		if (ring->fd >= 0)
			rc = thread_open_cpu(threads, thread, i, ring);
	}
	if (rc)
		thread_close(threads, thread);
	return rc;
}

/* Who is to be joined: a process, as it is now. */
struct joining {
	pid_t pid;
	uint64_t start;
	const struct sonde_perf_ring *rings;
	size_t stride;
};

/* 1: it was new; 0: it is known, or has ended; -errno. */
static int threads_add(struct sonde_perf_threads *threads,
		       const struct joining *joining, int32_t tid)
{
	struct sonde_key key = sonde_key_make(SONDE_KEY_INT, (uint64_t)tid, 0);
	struct perf_thread *thread = sonde_hash_put(&threads->threads, &key);
	int rc;

	if (!thread)
		return sonde_hash_error(&threads->threads);
	if (thread->pid == joining->pid && thread->start == joining->start)
		return 0;
	thread_close(threads, thread);
	rc = thread_open(threads, thread, joining->rings, joining->stride);
	if (rc) {
		sonde_hash_remove(&threads->threads, thread);
		return rc == -ESRCH ? 0 : rc;
	}
	thread->pid = joining->pid;
	thread->start = joining->start;
	return 1;
}

/* How many threads were new, or -errno. */
static int threads_pass(struct sonde_perf_threads *threads,
			const struct joining *joining)
{
	DIR *dir = sonde_proc_dir(joining->pid, "task");
	int32_t tid;
	int nr = 0;
	int rc = 0;

	if (!dir)
		return -ESRCH;
	while (rc >= 0 && (tid = sonde_proc_next(dir)) >= 0) {
		rc = threads_add(threads, joining, tid);
		nr += rc > 0;
	}
	(void)closedir(dir); /* it was only read */
	return rc < 0 ? rc : nr;
}

static void threads_leave(struct sonde_perf_threads *threads,
			  const struct joining *joining)
{
	struct perf_thread *thread = NULL;

	while ((thread = sonde_hash_next(&threads->threads, thread)))
		if (thread->pid == joining->pid &&
		    thread->start == joining->start)
			thread_close(threads, thread);
}

int sonde_perf_threads_join(struct sonde_perf_threads *threads, pid_t pid,
			    const struct sonde_perf_ring *rings, size_t stride)
{
	const struct joining joining = {
		.pid = pid,
		.start = sonde_process_start(pid),
		.rings = rings,
		.stride = stride,
	};
	int nr = 1;

	if (!joining.start)
		return -ESRCH;
	for (uint32_t i = 0; nr > 0 && i < PASSES_MAX; i++)
		nr = threads_pass(threads, &joining);
	if (nr < 0)
		threads_leave(threads, &joining);
	return nr < 0 ? nr : 0;
}

void sonde_perf_threads_switch(struct sonde_perf_threads *threads, bool on)
{
	struct perf_thread *thread = NULL;

	threads->is_on = on;
	while ((thread = sonde_hash_next(&threads->threads, thread)))
		for (uint32_t i = 0; thread->fds && i < threads->nr_cpus; i++)
			if (thread->fds[i] >= 0)
				sonde_perf_switch_event(thread->fds[i], on);
}

void sonde_perf_threads_saw(struct sonde_perf_threads *threads, int32_t tid,
			    uint64_t id)
{
	struct sonde_key by_id = sonde_key_make(SONDE_KEY_UINT, id, 0);
	struct sonde_key by_tid =
		sonde_key_make(SONDE_KEY_INT, (uint64_t)tid, 0);
	const struct perf_event *event =
		sonde_hash_get(&threads->events, &by_id);
	struct perf_thread *thread;

	if (!event || event->tid == tid)
		return;
	thread = sonde_hash_get(&threads->threads, &by_tid);
	if (thread)
		thread_close(threads, thread);
}
