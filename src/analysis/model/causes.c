/* SPDX-License-Identifier: MIT */
/*
 * causes.c - what a blocked thread waits for, who wakes it, and what that needs
 * to be known of programs: who holds their locks, which files their memory is.
 *
 * All of this needs what came before, so it is for a state that gets every step
 * in order (replay.h); parts of a state that is joined leave it alone.
 *
 * ## Who makes a wake-up
 *
 * The event names the thread that its CPU ran. That is the waker only if the
 * thread was in the kernel for itself. It was an interrupt if the event says
 * so, or one is open on the CPU (interrupts that were recorded tell which), if
 * the CPU was idle, or if the thread is known to be in no system call: the
 * trace has seen it return from one. If nothing is known of its calls, where
 * those of the one who waits are, it may be either, unless it is a thread of
 * the kernel's own.
 *
 * ## Locks
 *
 * Lock events are recorded by the program: before it waits, after it has the
 * lock, before it gives it back. So a lock has at most one holder, the last
 * that obtained it and hasn't given it back; of a lock for readers and writers
 * the last one to obtain it.
 */
#include <errno.h>

#include "analysis/model/state.h"
#include "base/grow.h"

/* Of a condition variable of glibc's, in which its futexes are. */
#define COND_BYTES 48
/* How many parents are asked for their mappings. */
#define PARENTS 8

/* ---- causes ---- */

/* What the thread's lock events say it waits for is what its futex is. */
static bool is_same_lock(const struct sonde_model_thread *thread)
{
	uint64_t at = thread->address - thread->waits_address;

	return thread->waits_sort && thread->address &&
	       at < (thread->waits_sort == SONDE_LOCK_SORT_MUTEX ? 1 :
								   COND_BYTES);
}

static void call_cause(const struct sonde_model *kernel,
		       const struct sonde_model_thread *thread,
		       struct sonde_cause *cause)
{
	cause->kind = SONDE_CAUSE_CALL;
	cause->call = thread->call_id;
	cause->fd = thread->fd;
	cause->address = thread->address;
	cause->lock = thread->lock_sort;
	cause->path = thread->path;
	if (!cause->path && thread->fd >= 0)
		cause->path =
			sonde_model_file_path(kernel, cause->pid, thread->fd);
	if (!is_same_lock(thread))
		return;
	cause->address = thread->waits_address;
	cause->lock = thread->waits_sort;
	cause->holder = thread->holder;
}

void sonde_model_cause(const struct sonde_model *kernel,
		       const struct sonde_model_thread *thread,
		       struct sonde_cause *ret_cause)
{
	int32_t tid = (int32_t)thread->key.number;
	struct sonde_cause cause = {
		.kind = SONDE_CAUSE_UNKNOWN,
		.pid = sonde_model_thread_pid(kernel, tid),
		.fd = -1,
		.holder = -1,
	};

	if (thread->call == SONDE_OPEN_YES) {
		call_cause(kernel, thread, &cause);
	} else if (thread->waits_sort && !thread->returned) {
		cause.kind = SONDE_CAUSE_LOCK;
		cause.lock = thread->waits_sort;
		cause.address = thread->waits_address;
		cause.holder = thread->holder;
	} else if (thread->faulted) {
		cause.kind = SONDE_CAUSE_FAULT;
		cause.address = thread->fault_address;
	} else if (thread->returned) {
		cause.kind = thread->uninterruptible ? SONDE_CAUSE_FAULT :
						       SONDE_CAUSE_OUTSIDE;
	}
	*ret_cause = cause;
}

void sonde_model_on_fault(struct sonde_model *kernel,
			  const struct sonde_step *step)
{
	struct sonde_model_thread *thread =
		sonde_model_thread(kernel, step->tid);
	const struct sonde_interval interval = {
		.kind = SONDE_INTERVAL_FAULT,
		.cpu = step->cpu,
		.tid = step->tid,
		.begin_ns = step->time_ns,
		.end_ns = step->time_ns,
	};

	sonde_model_emit(kernel, step, &interval);
	if (!thread || thread->call == SONDE_OPEN_YES)
		return;
	thread->faulted = true;
	thread->fault_address = (uint64_t)step->numbers[FAULT_ADDRESS];
}

/* ---- wakers ---- */

/* A child of kthreadd, which is always process 2. */
static bool is_kernels(const struct sonde_model_thread *thread)
{
	const int32_t kthreadd = 2;

	return thread->ppid == kthreadd ||
	       (int32_t)thread->key.number == kthreadd;
}

uint8_t sonde_model_said_waker(const struct sonde_step *wake)
{
	int64_t interrupt = wake->numbers[WAKE_INTERRUPT];

	if (!((wake->has >> WAKE_INTERRUPT) & 1) || interrupt < 0)
		return SONDE_WAKER_MAYBE;
	return interrupt ? SONDE_WAKER_INTERRUPT : SONDE_WAKER_THREAD;
}

/* Whether, as far as calls tell, the thread made the wake-up. A tracer that
 * could not tell found it worth saying, so then nothing is believed of the
 * thread but that it was in no call. */
static uint8_t waker_kind(const struct sonde_step *wake,
			  const struct sonde_model_thread *thread,
			  const struct sonde_model_thread *woken)
{
	uint8_t said = sonde_model_said_waker(wake);

	if (!wake->tid || said == SONDE_WAKER_INTERRUPT)
		return SONDE_WAKER_INTERRUPT;
	if (wake->tid < 0)
		return SONDE_WAKER_UNKNOWN;
	if (said == SONDE_WAKER_THREAD)
		return said;
	if (thread && thread->call == SONDE_OPEN_NO && thread->returned)
		return SONDE_WAKER_INTERRUPT;
	if ((wake->has >> WAKE_INTERRUPT) & 1)
		return said;
	if (!thread)
		return SONDE_WAKER_THREAD;
	if (thread->call == SONDE_OPEN_UNKNOWN && !is_kernels(thread) &&
	    (woken->call == SONDE_OPEN_YES || woken->returned))
		return SONDE_WAKER_MAYBE;
	return SONDE_WAKER_THREAD;
}

void sonde_model_waker(const struct sonde_model *kernel,
		       const struct sonde_step *wake,
		       const struct sonde_model_thread *woken,
		       struct sonde_waker *ret_waker)
{
	const struct sonde_model_cpu *cpu = &kernel->cpus[wake->cpu];
	const struct sonde_model_thread *thread =
		sonde_model_thread_find(kernel, wake->tid);
	struct sonde_waker waker = {
		.kind = waker_kind(wake, thread, woken),
		.tid = sonde_model_real_tid(kernel, wake->tid),
	};

	if (cpu->in_irq) {
		waker.kind = SONDE_WAKER_IRQ;
		waker.number = cpu->irq;
	} else if (cpu->in_timer) {
		waker.kind = SONDE_WAKER_TIMER;
	} else if (cpu->in_softirq) {
		waker.kind = SONDE_WAKER_SOFTIRQ;
		waker.number = cpu->softirq;
	}
	*ret_waker = waker;
}

/* ---- locks ---- */

static struct sonde_key lock_key(uint64_t address, int32_t pid)
{
	return sonde_key_make(SONDE_KEY_HEX, address, (uint32_t)pid);
}

int32_t sonde_model_holder(const struct sonde_model *kernel,
			   const struct sonde_model_thread *thread)
{
	int32_t pid =
		sonde_model_thread_pid(kernel, (int32_t)thread->key.number);
	struct sonde_key key = lock_key(thread->waits_address, pid);
	const struct sonde_model_lock *lock;

	if (!thread->waits_sort)
		return -1;
	lock = sonde_hash_get(&kernel->locks, &key);
	return lock ? lock->holder : -1;
}

/* holder -1: nobody. */
static void set_holder(struct sonde_model *kernel, uint64_t address,
		       int32_t pid, int32_t holder)
{
	struct sonde_key key = lock_key(address, pid);
	struct sonde_model_lock *lock;

	if (holder < 0) {
		lock = sonde_hash_get(&kernel->locks, &key);
		if (lock)
			sonde_hash_remove(&kernel->locks, lock);
		return;
	}
	lock = sonde_model_put(kernel, &kernel->locks, &key);
	if (lock)
		lock->holder = holder;
}

/* Waiting for a condition variable gives its mutex up, and ends with it. */
static void on_cond(struct sonde_model *kernel, const struct sonde_step *step,
		    int32_t pid)
{
	bool waits = (step->role & 15) == LOCK_WAIT;

	set_holder(kernel, (uint64_t)step->numbers[LOCK_OF_COND], pid,
		   waits ? -1 : step->tid);
}

void sonde_model_on_lock(struct sonde_model *kernel,
			 const struct sonde_step *step)
{
	struct sonde_model_thread *thread;
	uint64_t address = (uint64_t)step->numbers[LOCK_ADDRESS];
	int32_t pid = step->own_pid;
	uint8_t action = step->role & 15;

	if (step->tid <= 0)
		return;
	thread = sonde_model_thread(kernel, step->tid);
	if (!thread)
		return;
	if (pid < 0)
		pid = sonde_model_thread_pid(kernel, step->tid);
	thread->waits_sort = 0;
	if (action == LOCK_WAIT) {
		thread->waits_sort = step->role >> 4;
		thread->waits_address = address;
	}
	if (step->role >> 4 == SONDE_LOCK_SORT_COND)
		on_cond(kernel, step, pid);
	else if (action == LOCK_LOCK &&
		 (step->numbers[LOCK_RESULT] == 0 ||
		  step->numbers[LOCK_RESULT] == EOWNERDEAD))
		set_holder(kernel, address, pid, step->tid);
	else if (action == LOCK_UNLOCK)
		set_holder(kernel, address, pid, -1);
}

/* ---- mappings ---- */

void sonde_model_map(struct sonde_model *kernel,
		     const struct sonde_model_mapping *mapping)
{
	if (kernel->nr_mappings == SONDE_MODEL_MAPPINGS ||
	    SONDE_GROW(kernel->mappings, kernel->nr_mappings,
		       kernel->mappings_capacity)) {
		kernel->left_out++;
		return;
	}
	kernel->mappings[kernel->nr_mappings] = *mapping;
	kernel->mappings[kernel->nr_mappings++].order = kernel->next_mapping++;
}

void sonde_model_on_mapping(struct sonde_model *kernel,
			    const struct sonde_step *step)
{
	struct sonde_model_mapping mapping = {
		.pid = sonde_step_tid(step->numbers[MAPPING_PID]),
		.begin = (uint64_t)step->numbers[MAPPING_BEGIN],
		.end = (uint64_t)step->numbers[MAPPING_END],
		.offset = (uint64_t)step->numbers[MAPPING_OFFSET],
		.path = sonde_model_text(kernel, step->texts[0],
					 step->lengths[0]),
	};

	if (step->lengths[1])
		mapping.build_id = sonde_model_text(kernel, step->texts[1],
						    step->lengths[1]);
	if (mapping.pid >= 0 && mapping.path && mapping.begin < mapping.end)
		sonde_model_map(kernel, &mapping);
}

/* Of one process: the mapping with the address in it that was made last, or
 * else the one that ends closest below it. Counts the process's. */
static size_t search(const struct sonde_model *kernel, int32_t pid,
		     uint64_t address,
		     const struct sonde_model_mapping **ret_mapping)
{
	const struct sonde_model_mapping *within = NULL;
	const struct sonde_model_mapping *below = NULL;
	const struct sonde_model_thread *process =
		sonde_model_thread_find(kernel, pid);
	size_t nr = 0;

	for (size_t i = 0; i < kernel->nr_mappings; i++) {
		const struct sonde_model_mapping *mapping =
			&kernel->mappings[i];

		if (mapping->pid != pid ||
		    (process && mapping->order < process->mapped_since))
			continue;
		nr++;
		if (mapping->end <= address) {
			if (!below || mapping->end >= below->end)
				below = mapping;
		} else if (mapping->begin <= address) {
			within = mapping;
		}
	}
	*ret_mapping = within ? within : below;
	return nr;
}

int sonde_model_find_mapping(const struct sonde_model *kernel, int32_t pid,
			     uint64_t address,
			     struct sonde_model_mapping *ret_mapping)
{
	const struct sonde_model_mapping *found = NULL;

	for (int i = 0; i < PARENTS && pid > 0; i++) {
		if (search(kernel, pid, address, &found))
			break;
		pid = sonde_model_thread_ppid(kernel, pid);
	}
	if (!found)
		return -ENOENT;
	*ret_mapping = *found;
	return 0;
}
