/* SPDX-License-Identifier: MIT */
/*
 * semantics.c - calls the functions that libsonde-preload.so stands before, in
 * the corners where a hook might change what they do, and prints what they
 * returned. It must print the same with and without the hooks.
 */
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SHOW(expression) printf("%s: %d\n", #expression, (int)(expression))

static const struct timespec past = { .tv_sec = 1 };

static pthread_mutex_t mutex_of(int type, int robust)
{
	pthread_mutexattr_t attr;
	pthread_mutex_t mutex;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, type);
	pthread_mutexattr_setrobust(&attr, robust);
	pthread_mutex_init(&mutex, &attr);
	pthread_mutexattr_destroy(&attr);
	return mutex;
}

static void *lock_and_die(void *mutex)
{
	pthread_mutex_lock(mutex);
	return NULL;
}

static void *try_lock(void *mutex)
{
	SHOW(pthread_mutex_trylock(mutex));
	SHOW(pthread_mutex_timedlock(mutex, &past));
	SHOW(pthread_mutex_clocklock(mutex, CLOCK_MONOTONIC, &past));
	return NULL;
}

static void in_thread(void *(*function)(void *), void *arg)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, function, arg))
		abort();
	pthread_join(thread, NULL);
}

static void mutexes(void)
{
	static pthread_mutex_t checked;
	static pthread_mutex_t recursive;
	static pthread_mutex_t robust;

	checked = mutex_of(PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_STALLED);
	recursive = mutex_of(PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_STALLED);
	robust = mutex_of(PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_ROBUST);
	SHOW(pthread_mutex_unlock(&checked));
	SHOW(pthread_mutex_lock(&checked));
	SHOW(pthread_mutex_lock(&checked));
	SHOW(pthread_mutex_timedlock(&checked, &past));
	SHOW(pthread_mutex_trylock(&checked));
	in_thread(try_lock, &checked);
	SHOW(pthread_mutex_unlock(&checked));

	SHOW(pthread_mutex_lock(&recursive));
	SHOW(pthread_mutex_lock(&recursive));
	SHOW(pthread_mutex_unlock(&recursive));
	in_thread(try_lock, &recursive);
	SHOW(pthread_mutex_unlock(&recursive));
	SHOW(pthread_mutex_unlock(&recursive));

	in_thread(lock_and_die, &robust);
	SHOW(pthread_mutex_lock(&robust));
	SHOW(pthread_mutex_unlock(&robust));
	SHOW(pthread_mutex_lock(&robust));
	SHOW(pthread_mutex_trylock(&robust));
}

static void *try_rwlock(void *arg)
{
	pthread_rwlock_t *rwlock = arg;

	SHOW(pthread_rwlock_trywrlock(rwlock));
	SHOW(pthread_rwlock_timedwrlock(rwlock, &past));
	SHOW(pthread_rwlock_clockwrlock(rwlock, CLOCK_MONOTONIC, &past));
	SHOW(pthread_rwlock_tryrdlock(rwlock));
	SHOW(pthread_rwlock_timedrdlock(rwlock, &past));
	SHOW(pthread_rwlock_clockrdlock(rwlock, CLOCK_MONOTONIC, &past));
	return NULL;
}

static void rwlocks(void)
{
	pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;

	SHOW(pthread_rwlock_wrlock(&rwlock));
	SHOW(pthread_rwlock_rdlock(&rwlock));
	SHOW(pthread_rwlock_wrlock(&rwlock));
	in_thread(try_rwlock, &rwlock);
	SHOW(pthread_rwlock_unlock(&rwlock));
	SHOW(pthread_rwlock_rdlock(&rwlock));
	SHOW(pthread_rwlock_rdlock(&rwlock));
	SHOW(pthread_rwlock_unlock(&rwlock));
	SHOW(pthread_rwlock_unlock(&rwlock));
}

static void conditions(void)
{
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	pthread_cond_t cond = PTHREAD_COND_INITIALIZER;

	SHOW(pthread_mutex_lock(&mutex));
	SHOW(pthread_cond_timedwait(&cond, &mutex, &past));
	SHOW(pthread_cond_clockwait(&cond, &mutex, CLOCK_MONOTONIC, &past));
	SHOW(pthread_cond_signal(&cond));
	SHOW(pthread_cond_broadcast(&cond));
	SHOW(pthread_mutex_unlock(&mutex));
}

static void allocations(void)
{
	volatile size_t huge = SIZE_MAX / 2;
	void *untouched = &untouched;
	void *ptr;
	char *text;

	SHOW(posix_memalign(&untouched, 3, 10));
	SHOW(untouched == &untouched);
	SHOW(posix_memalign(&ptr, 4096, 10));
	SHOW((uintptr_t)ptr % 4096);
	free(ptr);
	ptr = aligned_alloc(512, 1024);
	SHOW((uintptr_t)ptr % 512);
	free(ptr);
	ptr = memalign(128, 1);
	SHOW((uintptr_t)ptr % 128);
	free(ptr);
	/* NOLINTBEGIN(clang-analyzer-*,bugprone-suspicious-string-compare):
	 * calls that fail, and what is left after them, are the point */
	errno = 0;
	SHOW(malloc(huge + huge / 2) == NULL);
	SHOW(errno);
	SHOW(calloc(huge, 3) == NULL);
	SHOW(reallocarray(NULL, huge, 3) == NULL);
	text = strdup("kept when it grows");
	text = realloc(text, 100000);
	SHOW(text && strcmp(text, "kept when it grows"));
	SHOW(realloc(text, huge + huge / 2) == NULL);
	SHOW(strcmp(text, "kept when it grows"));
	/* NOLINTEND(clang-analyzer-*,bugprone-suspicious-string-compare) */
	errno = 77;
	free(text);
	free(NULL);
	SHOW(errno);
}

static void *allocate(void *unused)
{
	(void)unused;
	for (size_t i = 0; i < 20000; i++)
		free(malloc(i % 1000));
	return NULL;
}

/* fork() while another thread allocates: the child allocates too. */
static void forks(void)
{
	pthread_t thread;
	int all = 0;

	if (pthread_create(&thread, NULL, allocate, NULL))
		abort();
	for (int i = 0; i < 20; i++) {
		int status = -1;
		int pid = fork();

		if (pid == 0) {
			allocate(NULL);
			_exit(0);
		}
		waitpid(pid, &status, 0);
		all |= status;
	}
	pthread_join(thread, NULL);
	SHOW(all);
}

int main(void)
{
	mutexes();
	rwlocks();
	conditions();
	allocations();
	fflush(stdout);
	forks();
	return 0;
}
