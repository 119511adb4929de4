/* SPDX-License-Identifier: MIT */
/*
 * locks.c - rows of locks, from what the report of locks is made of (locks.h).
 *
 * After each event the lock that it is of is looked at: what is different from
 * before ends the row's state and begins another; so does a loss of events, after
 * which the row is empty until the lock's next event.
 */
#include "view/index/locks.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/reports/contention.h"

/* A lock that has a row, and what it was since when. */
struct lock_row {
	struct sonde_key key;
	int32_t number;
	struct sonde_view_since is; /* until events are lost */
};

struct sonde_view_locks {
	struct sonde_view_build *build;
	struct sonde_analysis_args args;
	struct sonde_hash rows; /* struct lock_row */
	struct sonde_contention contention;
};

bool sonde_view_locks_any(const struct sonde_trace *trace)
{
	for (size_t i = 0; i < sonde_trace_nr_event_classes(trace); i++) {
		struct sonde_event_class_info info;

		sonde_event_class_get_info(sonde_trace_event_class(trace, i),
					   &info);
		for (size_t k = 0; k < sonde_contention_nr_forms; k++)
			if (!strcmp(info.name, sonde_contention_forms[k].event))
				return true;
	}
	return false;
}

/* ---- which ones ---- */

static void name_lock(const struct sonde_view_locks *locks,
		      const struct sonde_lock *lock, struct sonde_view_row *row)
{
	static const char *const kinds[] = {
		[SONDE_LOCK_MUTEX] = "mutex",
		[SONDE_LOCK_RWLOCK] = "rwlock",
		[SONDE_LOCK_COND] = "condition",
	};
	const char *name =
		sonde_analysis_site_variable(&locks->args, &lock->at);

	row->pid = (int32_t)lock->key.space;
	if (name)
		(void)snprintf(row->name, sizeof(row->name), "%s %s",
			       kinds[lock->kind], name);
	else
		(void)snprintf(row->name, sizeof(row->name), "%s 0x%" PRIx64,
			       kinds[lock->kind], lock->key.number);
}

/* The names are looked for before others have to wait. */
static int add_lock_row(struct sonde_view_locks *locks, int32_t number,
			const struct sonde_lock *lock)
{
	struct lock_row *row = sonde_hash_put(&locks->rows, &lock->key);
	struct sonde_view_row named;
	int at;

	if (!row)
		return sonde_hash_error(&locks->rows);
	row->number = number;
	name_lock(locks, lock, &named);
	(void)pthread_rwlock_wrlock(locks->build->lock);
	at = sonde_view_build_row(locks->build, SONDE_VIEW_ROW_LOCK, number);
	if (at >= 0) {
		struct sonde_view_row *to = &locks->build->rows.rows[at];

		to->pid = named.pid;
		memcpy(to->name, named.name, sizeof(to->name));
	}
	(void)pthread_rwlock_unlock(locks->build->lock);
	return at < 0 ? at : 0;
}

static int choose_locks(struct sonde_view_locks *locks)
{
	const struct sonde_hash *all = &locks->contention.locks;
	const void **sorted =
		sonde_hash_sorted(all, sonde_contention_compare, NULL);
	int err = sorted || !all->nr_entries ? 0 : -ENOMEM;

	locks->build->nr_locks = all->nr_entries;
	for (size_t i = 0; !err && i < all->nr_entries && i < SONDE_VIEW_LOCKS;
	     i++)
		err = add_lock_row(locks, (int32_t)i, sorted[i]);
	free((void *)sorted);
	return err;
}

int sonde_view_locks_find(struct sonde_view_build *build,
			  struct sonde_trace *trace,
			  const struct sonde_map_options *options,
			  struct sonde_view_locks **ret_locks)
{
	struct sonde_view_locks *locks = calloc(1, sizeof(*locks));
	int err;

	*ret_locks = locks;
	if (!locks)
		return -ENOMEM;
	locks->build = build;
	locks->args.trace = trace;
	locks->args.map = *options;
	locks->args.names = sonde_names_new(trace);
	sonde_hash_init(&locks->rows, sizeof(struct lock_row),
			SONDE_VIEW_LOCKS);
	sonde_contention_init(&locks->contention);
	err = sonde_contention_read(&locks->args, &locks->contention);
	if (!err)
		err = choose_locks(locks);
	sonde_contention_fini(&locks->contention);
	sonde_contention_init(&locks->contention);
	return err;
}

/* ---- what they did ---- */

/* Who holds the lock, and how many wait, as far as there is room. */
static uint32_t about_lock(const struct sonde_view_locks *locks,
			   const struct sonde_lock *lock)
{
	const uint32_t most = UINT32_MAX >> SONDE_VIEW_HOLDER;
	uint32_t waiters = lock->waiters < most ? lock->waiters : most;
	int32_t holder = sonde_contention_holder(&locks->contention, lock);

	if (holder < 0 || holder >> SONDE_VIEW_HOLDER)
		holder = 0;
	return waiters << SONDE_VIEW_HOLDER | (uint32_t)holder;
}

static void look_at_lock(void *ctx, const struct sonde_lock *lock,
			 int64_t time_ns)
{
	struct sonde_view_locks *locks = ctx;
	struct lock_row *row = sonde_hash_get(&locks->rows, &lock->key);
	uint8_t state = lock->waiters ? SONDE_VIEW_CONTENDED :
			lock->holders ? SONDE_VIEW_HELD :
					SONDE_VIEW_UNKNOWN;
	uint32_t about = about_lock(locks, lock);

	if (!row || (state == row->is.state && about == row->is.about &&
		     time_ns <= row->is.until_ns))
		return;
	sonde_view_build_end(locks->build, SONDE_VIEW_ROW_LOCK, row->number,
			     &row->is, time_ns);
	row->is = (struct sonde_view_since){
		.begin_ns = time_ns,
		.until_ns = sonde_contention_known_until(&locks->contention),
		.state = state,
		.about = about,
	};
}

int sonde_view_locks_run(struct sonde_view_locks *locks,
			 const struct sonde_map_options *options,
			 int64_t end_ns)
{
	struct lock_row *row = NULL;
	int err;

	locks->args.map = *options;
	locks->contention.told = look_at_lock;
	locks->contention.told_ctx = locks;
	err = sonde_contention_read(&locks->args, &locks->contention);
	while ((row = sonde_hash_next(&locks->rows, row)))
		sonde_view_build_end(locks->build, SONDE_VIEW_ROW_LOCK,
				     row->number, &row->is, end_ns);
	sonde_view_build_flush(locks->build);
	return err ? err : locks->build->error;
}

void sonde_view_locks_free(struct sonde_view_locks *locks)
{
	if (!locks)
		return;
	sonde_contention_fini(&locks->contention);
	sonde_hash_fini(&locks->rows);
	sonde_names_free(locks->args.names);
	free(locks);
}
