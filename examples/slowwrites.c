/* SPDX-License-Identifier: MIT */
/*
 * slowwrites.c - a program that appends short records to a file, and tells how long
 * each write() took. Now and then it took a hundred times as long as usual:
 * docs/kernel-probes.md finds out why.
 *
 *	slowwrites FILE
 *
 * (A second thread keeps the same file compact, with one large write() at a time.)
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <sonde/tracepoint.h>

#define RECORDS     400
#define RECORD      100u
#define LARGE       (8u << 20)
#define PAUSE_NS    2000000
#define COMPACTIONS 4

static int64_t now_us(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * INT64_C(1000000) + now.tv_nsec / 1000;
}

static void append(int fd, const char *record)
{
	int64_t begin = now_us();
	int64_t took_us;

	if (write(fd, record, RECORD) != (ssize_t)RECORD)
		_exit(1);
	took_us = now_us() - begin;
	sonde_event(store, append, took_us);
}

static void *compact(void *path)
{
	const struct timespec pause = { .tv_nsec = 50 * PAUSE_NS };
	char *all = calloc(1, LARGE);
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (!all || fd < 0)
		_exit(1);
	for (int i = 0; i < COMPACTIONS; i++) {
		(void)nanosleep(&pause, NULL);
		if (pwrite(fd, all, LARGE, 0) != (ssize_t)LARGE)
			_exit(1);
	}
	free(all);
	(void)close(fd);
	return NULL;
}

int main(int argc, char **argv)
{
	const struct timespec pause = { .tv_nsec = PAUSE_NS };
	char record[RECORD];
	pthread_t compacting;
	int fd;

	if (argc != 2)
		return 2;
	fd = open(argv[1], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	if (fd < 0 || pthread_create(&compacting, NULL, compact, argv[1]))
		return 1;
	memset(record, '.', sizeof(record));
	for (int i = 0; i < RECORDS; i++) {
		append(fd, record);
		(void)nanosleep(&pause, NULL);
	}
	(void)pthread_join(compacting, NULL);
	return close(fd) != 0;
}
