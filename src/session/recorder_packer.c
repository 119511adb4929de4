/* SPDX-License-Identifier: MIT */
/*
 * recorder_packer.c - see recorder_parts.h: chunks that have ended are compressed
 * (ctf/packed.h), one after the other, by a thread that runs when nobody else
 * wants the CPU or the disk.
 *
 * The recorder never waits for the thread, whose turn may not come for long:
 *
 *  1. packed <= ended; chunks up to `packed` are done with, also those that are
 *     gone, and `busy` is 0 or packed + 1.
 *  2. A chunk that is to be removed while it is busy is removed later: the thread
 *     gives it up before its next frame.
 *
 * At the end, the thread gives up, which is waited for, and the recorder packs what
 * is left itself; nothing is recorded any more then.
 */
#include "session/recorder_parts.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ctf/directory.h"
#include "ctf/names.h"
#include "ctf/packed.h"
#include "session/chunk.h"
#include "sys/dir.h"

/* linux/ioprio.h, which not every libc's headers go with. */
#define IO_OF_A_THREAD 1
#define IO_IDLE        (3 << 13)

struct sonde_recorder_packer {
	int top; /* where the chunks are; borrowed */
	bool has_thread;
	pthread_t thread;
	pthread_mutex_t mutex; /* of all below */
	pthread_cond_t moved;
	uint32_t ended, packed, busy; /* chunks' numbers */
	uint32_t unwanted;            /* those up to this are to go */
	bool stops;
	uint32_t nr_failed;
	int error; /* of the first one */
};

static bool packer_goes_on(void *ctx)
{
	struct sonde_recorder_packer *packer = ctx;
	bool goes_on;

	pthread_mutex_lock(&packer->mutex);
	goes_on = !packer->stops && packer->busy > packer->unwanted;
	pthread_mutex_unlock(&packer->mutex);
	return goes_on;
}

static int pack_files(struct sonde_recorder_packer *packer, int chunk,
		      const char *part)
{
	DIR *dir = sonde_dir_open_at(chunk, part);
	const char *file;
	struct stat st;
	int rc = 0;

	while (!rc && (file = sonde_dir_next(dir)))
		if (sonde_ctf_name_valid(file) &&
		    !fstatat(dirfd(dir), file, &st, AT_SYMLINK_NOFOLLOW) &&
		    S_ISREG(st.st_mode))
			rc = sonde_ctf_pack(dirfd(dir), file, packer_goes_on,
					    packer);
	if (dir)
		(void)closedir(dir); /* it was only looked at */
	return rc;
}

static int pack_chunk(struct sonde_recorder_packer *packer, uint32_t nr)
{
	char name[sizeof(SONDE_CHUNK_NAME) + 10];
	int chunk;
	int rc = 0;

	(void)snprintf(name, sizeof(name), SONDE_CHUNK_NAME, nr);
	chunk = sonde_directory_open_below(packer->top, name);
	if (chunk < 0)
		return chunk == -ENOENT ? 0 : chunk; /* it is gone */
	for (size_t i = 0; !rc && i < SONDE_CHUNK_PARTS; i++)
		rc = pack_files(packer, chunk, sonde_chunk_parts[i]);
	(void)close(chunk); /* nothing was written by it */
	return rc;
}

/* With the mutex, which is let go meanwhile: those that have ended. */
static void pack_ended(struct sonde_recorder_packer *packer)
{
	while (packer->packed < packer->ended && !packer->stops) {
		uint32_t nr = packer->packed + 1;
		int rc = 0;

		packer->busy = nr;
		if (nr > packer->unwanted) {
			pthread_mutex_unlock(&packer->mutex);
			rc = pack_chunk(packer, nr);
			pthread_mutex_lock(&packer->mutex);
		}
		packer->busy = 0;
		if (rc == -ECANCELED && packer->stops)
			return;
		packer->packed = nr;
		if (!rc || rc == -ECANCELED)
			continue;
		packer->nr_failed++;
		if (!packer->error)
			packer->error = rc;
	}
}

static void *packer_work(void *ctx)
{
	const struct sched_param none = { .sched_priority = 0 };
	struct sonde_recorder_packer *packer = ctx;

	/* Whatever is refused: it works all the same. */
	(void)sched_setscheduler(0, SCHED_IDLE, &none);
	(void)syscall(SYS_ioprio_set, IO_OF_A_THREAD, 0, IO_IDLE);
	pthread_mutex_lock(&packer->mutex);
	while (!packer->stops) {
		pack_ended(packer);
		if (!packer->stops)
			pthread_cond_wait(&packer->moved, &packer->mutex);
	}
	pthread_mutex_unlock(&packer->mutex);
	return NULL;
}

struct sonde_recorder_packer *sonde_recorder_packer_new(int top)
{
	struct sonde_recorder_packer *packer = calloc(1, sizeof(*packer));
	sigset_t all;
	sigset_t before;

	if (!packer)
		return NULL;
	packer->top = top;
	(void)pthread_mutex_init(&packer->mutex, NULL);
	(void)pthread_cond_init(&packer->moved, NULL);
	/* Signals are the recorder's. */
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	packer->has_thread =
		!pthread_create(&packer->thread, NULL, packer_work, packer);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	return packer;
}

void sonde_recorder_packer_end(struct sonde_recorder_packer *packer,
			       uint32_t nr)
{
	if (!packer)
		return;
	pthread_mutex_lock(&packer->mutex);
	packer->ended = nr;
	pthread_cond_signal(&packer->moved);
	pthread_mutex_unlock(&packer->mutex);
}

bool sonde_recorder_packer_give_up(struct sonde_recorder_packer *packer,
				   uint32_t nr)
{
	bool is_free;

	if (!packer)
		return true;
	pthread_mutex_lock(&packer->mutex);
	packer->unwanted = nr;
	is_free = packer->busy != nr;
	pthread_mutex_unlock(&packer->mutex);
	return is_free;
}

uint32_t sonde_recorder_packer_packed(struct sonde_recorder_packer *packer)
{
	uint32_t packed;

	if (!packer)
		return 0;
	pthread_mutex_lock(&packer->mutex);
	packed = packer->packed;
	pthread_mutex_unlock(&packer->mutex);
	return packed;
}

void sonde_recorder_packer_finish(struct sonde_recorder_packer *packer,
				  struct sonde_summary *summary)
{
	if (!packer)
		return;
	pthread_mutex_lock(&packer->mutex);
	packer->stops = true;
	pthread_cond_signal(&packer->moved);
	pthread_mutex_unlock(&packer->mutex);
	if (packer->has_thread)
		(void)pthread_join(packer->thread, NULL); /* it is there */
	pthread_mutex_lock(&packer->mutex);
	packer->stops = false;
	pack_ended(packer);
	pthread_mutex_unlock(&packer->mutex);
	if (packer->nr_failed)
		sonde_summary_note(summary,
				   "%u chunks could not be compressed, and are "
				   "as they were: %s",
				   packer->nr_failed,
				   strerrordesc_np(-packer->error));
	(void)pthread_cond_destroy(&packer->moved);
	(void)pthread_mutex_destroy(&packer->mutex);
	free(packer);
}
