/* SPDX-License-Identifier: MIT */
/*
 * slowserver.c - a server most of whose requests are fast: why are some not?
 *
 *	slowserver [--requests NR] [--file FILE]
 *
 * Workers answer requests about prices, which they look up in a cache. Another
 * thread, the flusher, fills the cache anew every now and then from the file
 * where the prices are kept, and holds the cache's lock while it does: the
 * mistake in this program, and not rare in real ones. Requests that come
 * meanwhile wait for the lock, and so for the file.
 *
 * It is its own client: NR requests (200), one every half a millisecond. FILE
 * (prices.db) is made if it isn't there. The kernel is told to forget its
 * contents after each use, as it would forget them by itself were the machine
 * busy, so they come from the disk again.
 *
 * Each request is an interval between two events, server:request_begin and
 * server:request_end, with the same `id`. Try it:
 *
 *	cc slowserver.c -o slowserver -pthread $(pkg-config --cflags --libs sonde)
 *	sonde record -k sched,syscalls -o slow -- ./slowserver
 *	sonde report blame --begin 'event == "server:request_begin"' \
 *		--end 'event == "server:request_end"' --key id slow
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <sonde/tracepoint.h>

#define NR_WORKERS    3
#define NR_PRICES     4096u
#define NR_BLOCKS     32u /* of the file */
#define BLOCK_SIZE    (1u << 20)
#define FLUSH_EVERY   50u /* requests */
#define PERIOD_NS     500000
#define QUEUE_LENGTH  256u
#define REQUESTS_MAX  1000000
#define NS_PER_SECOND 1000000000u
#define FINAL_REQUEST UINT32_MAX

/* The prices, and the lock that guards them. */
pthread_mutex_t cache_lock = PTHREAD_MUTEX_INITIALIZER;
static uint32_t cache[NR_PRICES];

struct request {
	uint32_t id; /* FINAL_REQUEST: the worker is to end */
};

static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct request requests[QUEUE_LENGTH];
	unsigned head;
	unsigned length;
} queue = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.changed = PTHREAD_COND_INITIALIZER,
};

/* What the flusher waits for: flushes asked for, and whether to end. */
static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	unsigned wanted;
	bool ends;
} flush = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.changed = PTHREAD_COND_INITIALIZER,
};

/* The slowest request so far. */
static struct {
	pthread_mutex_t lock;
	struct request request;
	uint64_t took_ns;
} slowest = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
};

static const char *prices_path = "prices.db";

static uint64_t now_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t); /* it is always there */
	return (uint64_t)t.tv_sec * NS_PER_SECOND + (uint64_t)t.tv_nsec;
}

static void queue_put(struct request request)
{
	pthread_mutex_lock(&queue.lock);
	while (queue.length == QUEUE_LENGTH)
		pthread_cond_wait(&queue.changed, &queue.lock);
	queue.requests[(queue.head + queue.length++) % QUEUE_LENGTH] = request;
	pthread_cond_broadcast(&queue.changed);
	pthread_mutex_unlock(&queue.lock);
}

static struct request queue_get(void)
{
	struct request request;

	pthread_mutex_lock(&queue.lock);
	while (queue.length == 0)
		pthread_cond_wait(&queue.changed, &queue.lock);
	request = queue.requests[queue.head];
	queue.head = (queue.head + 1) % QUEUE_LENGTH;
	queue.length--;
	pthread_cond_broadcast(&queue.changed);
	pthread_mutex_unlock(&queue.lock);
	return request;
}

/* A basket of goods: their prices are looked up, and added. */
static uint64_t answer(uint32_t id)
{
	uint64_t sum = 0;

	pthread_mutex_lock(&cache_lock);
	for (uint32_t i = 0; i < 64; i++)
		sum += cache[(id * 2654435761u + i * 40503u) % NR_PRICES];
	pthread_mutex_unlock(&cache_lock);
	return sum;
}

static void remember(struct request request, uint64_t took_ns)
{
	pthread_mutex_lock(&slowest.lock);
	if (took_ns > slowest.took_ns) {
		slowest.took_ns = took_ns;
		slowest.request = request;
	}
	pthread_mutex_unlock(&slowest.lock);
}

static void *worker(void *unused)
{
	struct request request;

	(void)unused;
	(void)prctl(PR_SET_NAME, "worker");
	while (request = queue_get(), request.id != FINAL_REQUEST) {
		uint64_t begin_ns = now_ns();
		uint64_t sum;

		sonde_event(server, request_begin, sonde_field(id, request.id));
		sum = answer(request.id);
		sonde_event(server, request_end, sonde_field(id, request.id),
			    sum);
		remember(request, now_ns() - begin_ns);
	}
	return NULL;
}

/* Reads the file into the cache, all of it under the lock. */
static void fill_cache(int fd)
{
	static uint32_t block[BLOCK_SIZE / sizeof(uint32_t)];

	pthread_mutex_lock(&cache_lock);
	for (unsigned i = 0; i < NR_BLOCKS; i++) {
		ssize_t n = pread(fd, block, BLOCK_SIZE, (off_t)i * BLOCK_SIZE);

		/* A file that became shorter leaves the old prices. */
		for (size_t k = 0; n == BLOCK_SIZE && k < NR_PRICES; k++)
			cache[k] = block[k];
	}
	pthread_mutex_unlock(&cache_lock);
}

static void flush_once(void)
{
	int fd = open(prices_path, O_RDONLY | O_CLOEXEC);

	if (fd < 0) {
		perror(prices_path);
		return;
	}
	fill_cache(fd);
	/* What may not be forgotten is read faster next time. */
	(void)posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	(void)close(fd); /* only read from */
}

static void *flusher(void *unused)
{
	(void)unused;
	(void)prctl(PR_SET_NAME, "flusher");
	pthread_mutex_lock(&flush.lock);
	for (;;) {
		while (!flush.wanted && !flush.ends)
			pthread_cond_wait(&flush.changed, &flush.lock);
		if (!flush.wanted)
			break;
		flush.wanted--;
		pthread_mutex_unlock(&flush.lock);
		flush_once();
		pthread_mutex_lock(&flush.lock);
	}
	pthread_mutex_unlock(&flush.lock);
	return NULL;
}

static void flusher_tell(bool ends)
{
	pthread_mutex_lock(&flush.lock);
	flush.wanted += !ends;
	flush.ends = ends;
	pthread_cond_signal(&flush.changed);
	pthread_mutex_unlock(&flush.lock);
}

/* 0 or -errno. The file holds as many bytes as will be read, on the disk. */
static int make_file(void)
{
	static uint32_t block[BLOCK_SIZE / sizeof(uint32_t)];
	int fd = open(prices_path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	struct stat st;
	int error = 0;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st)) {
		error = -errno;
	} else if (st.st_size < (off_t)NR_BLOCKS * BLOCK_SIZE) {
		for (size_t k = 0; k < BLOCK_SIZE / sizeof(uint32_t); k++)
			block[k] = (uint32_t)k * 7919u % 10000u;
		for (unsigned i = 0; i < NR_BLOCKS && !error; i++)
			if (pwrite(fd, block, BLOCK_SIZE,
				   (off_t)i * BLOCK_SIZE) != BLOCK_SIZE)
				error = errno ? -errno : -ENOSPC;
		if (!error && fdatasync(fd))
			error = -errno;
	}
	(void)posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED); /* as flush_once */
	if (close(fd) && !error)
		error = -errno;
	return error;
}

/* The client: requests at a steady pace, however slow the answers are. */
static void send_requests(uint32_t nr)
{
	uint64_t at = now_ns();

	for (uint32_t id = 1; id <= nr; id++) {
		struct timespec t;

		at += PERIOD_NS;
		t.tv_sec = (time_t)(at / NS_PER_SECOND);
		t.tv_nsec = (long)(at % NS_PER_SECOND);
		while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t,
				       NULL) == EINTR)
			;
		queue_put((struct request){ .id = id });
		if (id % FLUSH_EVERY == 0)
			flusher_tell(false);
	}
}

static void serve(uint32_t nr)
{
	pthread_t threads[NR_WORKERS + 1];

	for (int i = 0; i <= NR_WORKERS; i++)
		if (pthread_create(&threads[i], NULL, i ? worker : flusher,
				   NULL))
			abort();
	send_requests(nr);
	for (int i = 0; i < NR_WORKERS; i++)
		queue_put((struct request){ .id = FINAL_REQUEST });
	flusher_tell(true);
	for (int i = 0; i <= NR_WORKERS; i++)
		pthread_join(threads[i], NULL);
}

/* The number of requests, or -1. */
static long parse(int argc, char **argv)
{
	long nr = 200;

	for (int i = 1; i < argc; i += 2) {
		if (i + 1 == argc)
			return -1;
		if (strcmp(argv[i], "--requests") == 0)
			nr = strtol(argv[i + 1], NULL, 10);
		else if (strcmp(argv[i], "--file") == 0)
			prices_path = argv[i + 1];
		else
			return -1;
	}
	return nr < 1 || nr > REQUESTS_MAX ? -1 : nr;
}

int main(int argc, char **argv)
{
	long nr = parse(argc, argv);
	int error;

	if (nr < 0) {
		fprintf(stderr, "usage: slowserver [--requests NR] "
				"[--file FILE]\n");
		return 2;
	}
	error = make_file();
	if (error) {
		errno = -error;
		perror(prices_path);
		return 1;
	}
	serve((uint32_t)nr);
	printf("%ld requests, the slowest was number %u: %.1f ms\n", nr,
	       slowest.request.id, (double)slowest.took_ns / 1e6);
	return 0;
}
