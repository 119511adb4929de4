/* SPDX-License-Identifier: MIT */
/*
 * top.c - what programs are doing, gathered (top.h).
 *
 * An event costs a look in two hash tables. One of a lock or an allocation is
 * also kept, as a journal's entry, until it is due, and then played. At a turn,
 * meters take over what the state machines have summed up: those may begin anew,
 * and the meters go on.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/port.h"
#include "base/time.h"
#include "sys/proc.h"
#include "view/live/top_parts.h"

#define HELD_BYTES  ((size_t)64 << 20)
#define NAMES_MAX   ((size_t)7 << 13)
#define THREADS_MAX ((size_t)7 << 13)
#define LOCKS_MAX   ((size_t)7 << 15)
#define SITES_MAX   ((size_t)1 << 20)
#define IDLE_TURNS  10

/* What waits to be played. */
enum machine {
	OF_LOCKS,
	OF_HEAP,
	OF_CALLS,
};

struct played {
	struct sonde_journal_entry entry;
	enum machine machine;
};

/* ---- meters ---- */

/* What another one has summed up, which may have begun anew. */
static void meter_follow(struct sonde_meter *meter, uint64_t now,
			 uint64_t *seen)
{
	meter->now += now - (now < *seen ? 0 : *seen);
	*seen = now;
}

/* ---- threads ---- */

/* Threads that do nothing make room. 0 or -ENOMEM. */
static int forget_threads(struct sonde_top *top)
{
	const struct sonde_top_thread *thread = NULL;
	struct sonde_hash busy;

	sonde_hash_init(&busy, sizeof(*thread), THREADS_MAX);
	while ((thread = sonde_hash_next(&top->threads, thread))) {
		struct sonde_top_thread *copy;

		if (thread->idle > IDLE_TURNS)
			continue;
		copy = sonde_hash_put(&busy, &thread->key);
		if (!copy) {
			sonde_hash_fini(&busy);
			return -ENOMEM;
		}
		*copy = *thread;
	}
	sonde_hash_fini(&top->threads);
	top->threads = busy;
	top->has_forgotten = true;
	/* numbers of threads are used again */
	sonde_hash_fini(&top->processes);
	sonde_hash_init(&top->processes, sizeof(struct sonde_top_process),
			THREADS_MAX);
	return 0;
}

/* What the state machines have summed up of a thread; NULL: nothing. */
static void find_sums(const struct sonde_top *top, const struct sonde_key *key,
		      const struct sonde_lock_thread **ret_locks,
		      const struct sonde_heap_thread **ret_heap)
{
	const struct sonde_key tid =
		sonde_key_make(SONDE_KEY_INT, key->number, 0);

	*ret_locks = sonde_hash_get(&top->contention.threads, key);
	*ret_heap = sonde_hash_get(&top->heap.threads, &tid);
}

/* It was forgotten, maybe: what it had done before isn't done now. */
static void see_sums(const struct sonde_top *top,
		     struct sonde_top_thread *thread)
{
	const struct sonde_lock_thread *locks;
	const struct sonde_heap_thread *heap;

	find_sums(top, &thread->key, &locks, &heap);
	thread->seen_waits = locks ? locks->waited : 0;
	thread->seen_wait_ns = locks ? locks->wait_ns : 0;
	thread->seen_allocations = heap ? heap->allocations : 0;
	thread->seen_bytes = heap ? heap->bytes : 0;
}

/* NULL: there is no room. */
static struct sonde_top_thread *thread_entry(struct sonde_top *top, int32_t tid,
					     int32_t pid)
{
	const struct sonde_key key =
		sonde_key_make(SONDE_KEY_INT, (uint64_t)tid, (uint32_t)pid);
	struct sonde_top_thread *thread = sonde_hash_get(&top->threads, &key);

	if (thread)
		return thread;
	thread = sonde_hash_put(&top->threads, &key);
	if (!thread && sonde_hash_error(&top->threads) == -E2BIG &&
	    !forget_threads(top))
		thread = sonde_hash_put(&top->threads, &key);
	if (thread && top->has_forgotten)
		see_sums(top, thread);
	return thread;
}

/* Of an event that doesn't say it: the kernel's. -1: it isn't known. */
static int32_t find_process(struct sonde_top *top, int32_t tid)
{
	const struct sonde_key key =
		sonde_key_make(SONDE_KEY_INT, (uint64_t)tid, 0);
	struct sonde_top_process *process =
		sonde_hash_get(&top->processes, &key);
	uint64_t pid;

	if (process)
		return process->pid;
	process = sonde_hash_put(&top->processes, &key);
	if (!process)
		return -1;
	process->pid = -1;
	if (tid > 0 && !sonde_proc_status(tid, "Tgid", 10, &pid) &&
	    pid <= INT32_MAX)
		process->pid = (int32_t)pid;
	return process->pid;
}

/* ---- names ---- */

/* NULL without memory. Where there are too many, they are asked for again. */
static struct sonde_top_name *name_entry(struct sonde_top *top, int32_t tid,
					 int32_t pid)
{
	const struct sonde_key key =
		sonde_key_make(SONDE_KEY_INT, (uint64_t)tid, (uint32_t)pid);
	struct sonde_top_name *name = sonde_hash_put(&top->names, &key);

	if (name || sonde_hash_error(&top->names) != -E2BIG)
		return name;
	sonde_hash_fini(&top->names);
	sonde_hash_init(&top->names, sizeof(*name), THREADS_MAX);
	return sonde_hash_put(&top->names, &key);
}

/* Of `sonde:name`. */
static void learn_name(struct sonde_top *top, const struct sonde_event *event)
{
	static const char *const paths[] = { "tid", "pid", "procname" };
	struct sonde_value values[3];
	struct sonde_top_name *name;
	struct sonde_field field;

	for (size_t i = 0; i < SONDE_ARRAY_SIZE(paths); i++)
		if (sonde_event_class_field(event->cls, SONDE_SCOPE_PAYLOAD,
					    paths[i], &field) ||
		    sonde_event_value(event, &field, &values[i]))
			return;
	if (values[0].kind != SONDE_KIND_INT ||
	    values[1].kind != SONDE_KIND_INT ||
	    values[2].kind != SONDE_KIND_STRING)
		return;
	name = name_entry(top, (int32_t)values[0].i, (int32_t)values[1].i);
	if (!name)
		return;
	memset(name->name, 0, sizeof(name->name));
	(void)sonde_value_utf8(&values[2], name->name, sizeof(name->name) - 1);
}

const char *sonde_top_name(struct sonde_top *top, int32_t tid, int32_t pid)
{
	size_t known = top->names.nr_entries;
	struct sonde_top_name *name = name_entry(top, tid, pid);

	if (!name)
		return NULL;
	/* It was named in a part that was skipped; so it may still run. */
	if (top->names.nr_entries != known && tid > 0 && pid > 0)
		(void)sonde_textfile_read_line(name->name, sizeof(name->name),
					       "/proc/%d/task/%d/comm", pid,
					       tid);
	return *name->name ? name->name : NULL;
}

/* ---- what is played ---- */

static int restart_locks(struct sonde_top *top)
{
	sonde_contention_fini(&top->contention);
	sonde_contention_init(&top->contention);
	sonde_hash_fini(&top->locks);
	sonde_hash_init(&top->locks, sizeof(struct sonde_top_lock), LOCKS_MAX);
	top->counts.restarts++;
	return 0;
}

static int restart_heap(struct sonde_top *top)
{
	sonde_heap_fini(&top->heap);
	sonde_heap_init(&top->heap);
	sonde_hash_fini(&top->sites);
	sonde_hash_init(&top->sites, sizeof(struct sonde_top_site), SITES_MAX);
	top->counts.restarts++;
	return 0;
}

static int play_one(struct sonde_top *top, const struct played *played)
{
	int err;

	switch (played->machine) {
	case OF_LOCKS:
		err = sonde_contention_replay(&top->contention, &played->entry);
		return err == -E2BIG ? restart_locks(top) : err;
	case OF_HEAP:
		err = sonde_heap_replay(&top->heap, &played->entry);
		return err == -E2BIG ? restart_heap(top) : err;
	case OF_CALLS:
		break;
	}
	return sonde_top_calls_replay(&top->calls, &played->entry);
}

static int play_until(struct sonde_top *top, int64_t due_ns)
{
	struct played played;
	const char *bytes;
	int64_t time_ns;
	size_t length;
	int err = 0;

	while (!err && (bytes = sonde_held_take(&top->held, due_ns, &time_ns,
						&length))) {
		memcpy(&played, bytes, sizeof(played));
		top->counts.out_of_order += time_ns < top->last_ns;
		if (time_ns > top->last_ns)
			top->last_ns = time_ns;
		err = play_one(top, &played);
	}
	return err;
}

/* 1: it is of this machine; 0, -ENOMEM. */
static int what_plays(struct sonde_top *top, const struct sonde_event *event,
		      struct played *played)
{
	played->machine = OF_LOCKS;
	if (sonde_journal_read(top->of_locks, event, &played->entry))
		return 1;
	played->machine = OF_HEAP;
	if (sonde_journal_read(top->of_heap, event, &played->entry))
		return 1;
	played->machine = OF_CALLS;
	return sonde_top_calls_read(&top->calls, event, &played->entry);
}

static int hold_entry(struct sonde_top *top, const struct sonde_event *event)
{
	struct played played;
	int err = what_plays(top, event, &played);

	if (err <= 0)
		return err;
	if (event->time_ns > top->newest_ns)
		top->newest_ns = event->time_ns;
	/* too many are held: all of them now, in their order */
	err = sonde_held_has_room(&top->held, sizeof(played)) ?
		      0 :
		      play_until(top, INT64_MAX);
	return err ? err :
		     sonde_held_put(&top->held, event->time_ns,
				    (const char *)&played, sizeof(played));
}

/* ---- for the feed ---- */

/* Of what counts as seen before, too: files are mapped early. */
static int learn_names(void *ctx, struct sonde_trace *trace)
{
	struct sonde_top *top = ctx;

	if (top->config.no_names)
		return 0;
	if (!top->code_names)
		top->code_names = sonde_names_new(trace);
	return top->code_names ? sonde_names_follow(top->code_names, trace) :
				 -ENOMEM;
}

static int begin_reading(void *ctx, struct sonde_trace *trace,
			 struct sonde_trace_error *error)
{
	struct sonde_top *top = ctx;
	int err = learn_names(top, trace);

	(void)error;
	if (err)
		return err;
	top->of_locks = sonde_journal_bind(trace, sonde_contention_forms,
					   sonde_contention_nr_forms);
	top->of_heap = sonde_journal_bind(trace, sonde_heap_forms,
					  sonde_heap_nr_forms);
	if (!top->of_locks || !top->of_heap)
		return -ENOMEM;
	return sonde_top_calls_begin(&top->calls, trace);
}

static void end_reading(void *ctx)
{
	struct sonde_top *top = ctx;

	free(top->of_locks);
	free(top->of_heap);
	top->of_locks = NULL;
	top->of_heap = NULL;
	sonde_top_calls_end(&top->calls);
}

static int count_one(struct sonde_top *top, const struct sonde_event *event,
		     const char *name)
{
	const struct sonde_key key = sonde_key_of_text(name, strlen(name));
	struct sonde_top_event *of_name = sonde_hash_put(&top->events, &key);
	int32_t tid = sonde_event_tid(event);
	int32_t pid = sonde_event_pid(event);
	struct sonde_top_thread *thread;

	top->all.now++;
	if (of_name)
		of_name->count.now++;
	thread = thread_entry(top, tid, pid < 0 ? find_process(top, tid) : pid);
	if (thread)
		thread->events.now++;
	top->counts.left_out += !of_name || !thread;
	return hold_entry(top, event);
}

static int take_one(void *ctx, const struct sonde_event *event)
{
	struct sonde_event_class_info info;

	sonde_event_class_get_info(event->cls, &info);
	if (!info.internal)
		return count_one(ctx, event, info.name);
	if (!strcmp(info.name, "sonde:name"))
		learn_name(ctx, event);
	return 0;
}

int sonde_top_skip(struct sonde_top *top)
{
	return sonde_feed_skip(&top->feed);
}

static bool has_lost_more(struct sonde_top *top)
{
	uint64_t before = top->lost;
	struct sonde_follow_losses lost;

	sonde_feed_lost(&top->feed, &lost);
	top->lost = lost.events + lost.packets + lost.damages;
	return top->lost != before;
}

/* Where in the part something was lost isn't known: calls that began up to its end
 * may have returned, unseen, and locks been given back. */
static int play_part(struct sonde_top *top, int64_t due_ns)
{
	int err = 0;

	if (has_lost_more(top)) {
		top->calls.unsure_ns = top->newest_ns;
		err = sonde_lost_add(&top->contention.lost, top->last_ns,
				     top->newest_ns);
	}
	return err ? err : play_until(top, due_ns);
}

int sonde_top_look(struct sonde_top *top, uint64_t read_ns)
{
	int err = sonde_feed_look(&top->feed);

	return err ? err :
		     play_part(top, sonde_feed_due_ns(&top->feed, read_ns));
}

int sonde_top_end(struct sonde_top *top)
{
	int err = sonde_feed_end(&top->feed);

	return err ? err : play_part(top, INT64_MAX);
}

/* ---- turns ---- */

static void turn_thread(struct sonde_top *top, struct sonde_top_thread *thread)
{
	const struct sonde_lock_thread *locks;
	const struct sonde_heap_thread *heap;

	find_sums(top, &thread->key, &locks, &heap);
	if (locks) {
		meter_follow(&thread->waits, locks->waited,
			     &thread->seen_waits);
		meter_follow(&thread->wait_ns, locks->wait_ns,
			     &thread->seen_wait_ns);
	}
	if (heap) {
		meter_follow(&thread->allocations, heap->allocations,
			     &thread->seen_allocations);
		meter_follow(&thread->bytes, heap->bytes, &thread->seen_bytes);
	}
	sonde_meter_turn(&thread->events);
	sonde_meter_turn(&thread->waits);
	sonde_meter_turn(&thread->wait_ns);
	sonde_meter_turn(&thread->allocations);
	sonde_meter_turn(&thread->bytes);
	thread->idle = thread->events.last ? 0 : thread->idle + 1;
}

static int turn_lock(struct sonde_top *top, const struct sonde_lock *lock)
{
	struct sonde_top_lock *of = sonde_hash_put(&top->locks, &lock->key);

	if (!of)
		return sonde_hash_error(&top->locks);
	of->obtained.now = lock->acquired;
	of->waited.now = lock->waited;
	of->wait_ns.now = (uint64_t)lock->waits.sum;
	sonde_meter_turn(&of->obtained);
	sonde_meter_turn(&of->waited);
	sonde_meter_turn(&of->wait_ns);
	return 0;
}

static int turn_locks(struct sonde_top *top)
{
	const struct sonde_lock *lock = NULL;
	int err = 0;

	while (!err && (lock = sonde_hash_next(&top->contention.locks, lock)))
		err = turn_lock(top, lock);
	return err;
}

static int turn_sites(struct sonde_top *top)
{
	for (size_t i = 0; i < top->heap.nr_sites; i++) {
		const struct sonde_key key =
			sonde_key_make(SONDE_KEY_UINT, i, 0);
		struct sonde_top_site *site = sonde_hash_put(&top->sites, &key);

		if (!site)
			return sonde_hash_error(&top->sites);
		site->calls.now = top->heap.sites[i].calls.calls;
		site->bytes.now = top->heap.sites[i].calls.bytes;
		sonde_meter_turn(&site->calls);
		sonde_meter_turn(&site->bytes);
	}
	return 0;
}

int sonde_top_turn(struct sonde_top *top)
{
	uint64_t now_ns = sonde_monotonic_ns();
	struct sonde_top_event *event = NULL;
	struct sonde_top_thread *thread = NULL;
	int err = turn_locks(top);

	if (!err)
		err = turn_sites(top);
	while ((event = sonde_hash_next(&top->events, event)))
		sonde_meter_turn(&event->count);
	while ((thread = sonde_hash_next(&top->threads, thread)))
		turn_thread(top, thread);
	sonde_top_calls_turn(&top->calls);
	sonde_meter_turn(&top->all);
	top->last_turn_ns = now_ns - top->turn_ns;
	top->turn_ns = now_ns;
	return err;
}

/* ---- life ---- */

static void top_init(struct sonde_top *top)
{
	sonde_hash_init(&top->events, sizeof(struct sonde_top_event),
			NAMES_MAX);
	sonde_hash_init(&top->threads, sizeof(struct sonde_top_thread),
			THREADS_MAX);
	sonde_hash_init(&top->names, sizeof(struct sonde_top_name),
			THREADS_MAX);
	sonde_hash_init(&top->processes, sizeof(struct sonde_top_process),
			THREADS_MAX);
	sonde_hash_init(&top->locks, sizeof(struct sonde_top_lock), LOCKS_MAX);
	sonde_hash_init(&top->sites, sizeof(struct sonde_top_site), SITES_MAX);
	sonde_contention_init(&top->contention);
	sonde_heap_init(&top->heap);
	sonde_top_calls_init(&top->calls);
}

static void top_fini(struct sonde_top *top)
{
	sonde_hash_fini(&top->events);
	sonde_hash_fini(&top->threads);
	sonde_hash_fini(&top->names);
	sonde_hash_fini(&top->processes);
	sonde_hash_fini(&top->locks);
	sonde_hash_fini(&top->sites);
	sonde_contention_fini(&top->contention);
	sonde_heap_fini(&top->heap);
	sonde_top_calls_fini(&top->calls);
}

int sonde_top_new(const struct sonde_top_config *config,
		  struct sonde_top **ret_top)
{
	struct sonde_top *top = calloc(1, sizeof(*top));
	const struct sonde_feed_config feed = {
		.follow = config->follow,
		.filter = config->filter,
		.hold_ns = config->hold_ns,
		.internal = true,
		.say = config->say,
		.begin = begin_reading,
		.event = take_one,
		.end = end_reading,
		.skip = learn_names,
		.ctx = top,
	};

	if (!top)
		return -ENOMEM;
	top->config = *config;
	sonde_feed_init(&top->feed, &feed);
	top->held.limit = HELD_BYTES;
	top->last_ns = INT64_MIN;
	top->newest_ns = INT64_MIN;
	top->turn_ns = sonde_monotonic_ns();
	top_init(top);
	*ret_top = top;
	return 0;
}

void sonde_top_free(struct sonde_top *top)
{
	if (!top)
		return;
	top_fini(top);
	sonde_held_fini(&top->held);
	sonde_names_free(top->code_names);
	free(top);
}

void sonde_top_count(const struct sonde_top *top,
		     struct sonde_top_counts *ret_counts)
{
	struct sonde_follow_losses lost;

	sonde_feed_lost(&top->feed, &lost);
	*ret_counts = top->counts;
	ret_counts->left_out += top->calls.unnamed;
	ret_counts->events = top->feed.events;
	ret_counts->filtered = top->feed.filtered;
	ret_counts->lost = lost.events;
	ret_counts->lost_packets = lost.packets;
	ret_counts->damages = lost.damages;
}

const struct sonde_trace_error *sonde_top_error(const struct sonde_top *top)
{
	return &top->feed.error;
}

bool sonde_top_is_wrong(const struct sonde_top *top)
{
	return top->feed.wrong_option;
}
