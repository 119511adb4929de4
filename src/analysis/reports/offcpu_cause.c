/* SPDX-License-Identifier: MIT */
/*
 * offcpu_cause.c - what a thread waited for and who woke it, in words and as a
 * key (offcpu_cause.h).
 *
 * A cause's key is made of its numbers and its path, without what its words
 * don't say either. Words are made when they are shown, so names are looked up
 * for what is shown only.
 */
#include "analysis/reports/offcpu_cause.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analysis/reports/blame_history.h"
#include "base/port.h"
#include "reader/names/namer.h"

/* A thread's name is at most this long; a variable's is cut. */
#define NAME 256
/* A machine's name, and what is before it. */
#define HOST 72
/* Of a path so many bytes tell causes apart. */
#define PATH_BYTES 3800

void sonde_causes_init(struct sonde_causes *causes,
		       const struct sonde_model_tables *tables,
		       const struct sonde_model *kernel)
{
	*causes = (struct sonde_causes){
		.tables = tables,
		.kernel = kernel,
		.namer = sonde_namer_new(),
	};
}

void sonde_causes_fini(struct sonde_causes *causes)
{
	sonde_namer_free(causes->namer);
}

/* ---- of several machines ---- */

/* That of a thread's or process's machine. */
static const struct sonde_causes *causes_of(const struct sonde_causes *causes,
					    int32_t id)
{
	size_t nr = causes->machines ? causes->nr_machines : 1;
	size_t machine = sonde_history_machine(nr, id);

	return causes->machines && machine < causes->nr_machines ?
		       &causes->machines[machine] :
		       causes;
}

int32_t sonde_cause_own_tid(const struct sonde_causes *causes, int32_t tid)
{
	return sonde_history_own_tid(causes->machines ? causes->nr_machines : 1,
				     tid);
}

const char *sonde_cause_host(const struct sonde_causes *causes, int32_t tid)
{
	return causes->machines && tid >= 0 ? causes_of(causes, tid)->host :
					      NULL;
}

const char *sonde_cause_thread_name(const struct sonde_causes *causes,
				    int32_t tid)
{
	const struct sonde_model *kernel = causes_of(causes, tid)->kernel;

	return kernel ? sonde_model_thread_name(
				kernel, sonde_cause_own_tid(causes, tid)) :
			"";
}

/* " on HOST", or nothing. */
static const char *on_host(const struct sonde_causes *causes, int32_t tid,
			   char *to, size_t size)
{
	const char *host = sonde_cause_host(causes, tid);

	(void)snprintf(to, size, "%s%.60s", host ? " on " : "",
		       host ? host : "");
	return to;
}

static int cause_find_mapping(const struct sonde_causes *causes, int32_t pid,
			      uint64_t address,
			      struct sonde_model_mapping *ret_mapping)
{
	return sonde_model_find_mapping(causes_of(causes, pid)->kernel,
					sonde_cause_own_tid(causes, pid),
					address, ret_mapping);
}

/* ---- addresses ---- */

/* "NAME" or "NAME+0x8"; false if nothing names the address. */
static bool cause_find_variable(const struct sonde_causes *causes, int32_t pid,
				uint64_t address, char *to, size_t size)
{
	struct sonde_model_mapping mapping;
	struct sonde_symbols_place place;

	if (cause_find_mapping(causes, pid, address, &mapping))
		return false;
	place = (struct sonde_symbols_place){
		.path = mapping.path,
		.build_id = mapping.build_id,
		.begin = mapping.begin,
		.offset = mapping.offset,
	};
	return sonde_namer_variable(causes_of(causes, pid)->namer, &place,
				    address, to, size);
}

bool sonde_cause_is_lock(const struct sonde_cause *cause)
{
	return cause->lock == SONDE_LOCK_SORT_FUTEX ||
	       cause->lock == SONDE_LOCK_SORT_MUTEX ||
	       cause->lock == SONDE_LOCK_SORT_RWLOCK;
}

const char *sonde_cause_object(const struct sonde_causes *causes,
			       const struct sonde_cause *cause, char *to,
			       size_t size)
{
	const char *kind = "futex";
	char name[NAME];

	if (sonde_cause_is_lock(cause))
		kind = "lock";
	else if (cause->lock == SONDE_LOCK_SORT_COND)
		kind = "condition variable";
	if (cause_find_variable(causes, cause->pid, cause->address, name,
				sizeof(name)))
		(void)snprintf(to, size, "%s `%s` (0x%" PRIx64 ")", kind, name,
			       cause->address);
	else
		(void)snprintf(to, size, "%s 0x%" PRIx64, kind, cause->address);
	return to;
}

/* ---- causes ---- */

static void cause_call_text(const struct sonde_causes *causes,
			    const struct sonde_cause *cause, char *to,
			    size_t size)
{
	const char *call = sonde_model_call_name(
		causes_of(causes, cause->pid)->tables, cause->call);
	char object[NAME + 64];

	if (cause->address)
		(void)snprintf(to, size, "%s(): %s", call,
			       sonde_cause_object(causes, cause, object,
						  sizeof(object)));
	else if (cause->path)
		(void)snprintf(to, size, "%s() of %s", call, cause->path);
	else if (cause->fd >= 0)
		(void)snprintf(to, size, "%s() of descriptor %" PRId32, call,
			       cause->fd);
	else
		(void)snprintf(to, size, "%s()", call);
}

static void fault_text(const struct sonde_causes *causes,
		       const struct sonde_cause *cause, char *to, size_t size)
{
	struct sonde_model_mapping mapping;

	if (!cause->address)
		(void)snprintf(to, size, "page fault");
	else if (!cause_find_mapping(causes, cause->pid, cause->address,
				     &mapping) &&
		 cause->address < mapping.end)
		(void)snprintf(to, size, "page fault in %s", mapping.path);
	else
		(void)snprintf(to, size, "page fault at 0x%" PRIx64,
			       cause->address);
}

const char *sonde_cause_text(const struct sonde_causes *causes,
			     const struct sonde_cause *cause, char *to,
			     size_t size)
{
	switch ((enum sonde_cause_kind)cause->kind) {
	case SONDE_CAUSE_CALL:
		cause_call_text(causes, cause, to, size);
		break;
	case SONDE_CAUSE_FAULT:
		fault_text(causes, cause, to, size);
		break;
	case SONDE_CAUSE_LOCK:
		(void)sonde_cause_object(causes, cause, to, size);
		break;
	case SONDE_CAUSE_OUTSIDE:
		(void)snprintf(to, size, "outside of system calls");
		break;
	case SONDE_CAUSE_UNKNOWN:
		(void)snprintf(to, size, "unknown");
		break;
	}
	return to;
}

/* ---- wakers ---- */

static const char *thread_text(const struct sonde_causes *causes, int32_t tid,
			       char *to, size_t size)
{
	const char *name = sonde_cause_thread_name(causes, tid);
	char host[HOST];

	(void)snprintf(to, size, "%s%s(%" PRId32 ")%s", name, *name ? " " : "",
		       sonde_cause_own_tid(causes, tid),
		       on_host(causes, tid, host, sizeof(host)));
	return to;
}

static void softirq_text(uint32_t vector, char *to, size_t size)
{
	static const char *const names[] = {
		"HI",       "TIMER",   "NET_TX", "NET_RX",  "BLOCK",
		"IRQ_POLL", "TASKLET", "SCHED",  "HRTIMER", "RCU",
	};

	if (vector < SONDE_ARRAY_SIZE(names))
		(void)snprintf(to, size, "soft interrupt %s", names[vector]);
	else
		(void)snprintf(to, size, "soft interrupt %" PRIu32, vector);
}

static void irq_text(const struct sonde_causes *causes,
		     const struct sonde_waker *waker, char *to, size_t size)
{
	uint32_t number = waker->number;
	const char *name = "";

	/* Of several machines, that of who was interrupted. */
	if (!causes->machines || waker->tid >= 0)
		name = sonde_model_irq_name(
			causes_of(causes, waker->tid)->kernel, number);

	if (*name)
		(void)snprintf(to, size, "interrupt %" PRIu32 " (%s)", number,
			       name);
	else
		(void)snprintf(to, size, "interrupt %" PRIu32, number);
}

const char *sonde_waker_text(const struct sonde_causes *causes,
			     const struct sonde_waker *waker, char *to,
			     size_t size)
{
	char thread[64 + HOST];

	switch ((enum sonde_waker_kind)waker->kind) {
	case SONDE_WAKER_THREAD:
		return thread_text(causes, waker->tid, to, size);
	case SONDE_WAKER_IRQ:
		irq_text(causes, waker, to, size);
		break;
	case SONDE_WAKER_SOFTIRQ:
		softirq_text(waker->number, to, size);
		break;
	case SONDE_WAKER_TIMER:
		(void)snprintf(to, size, "a timer");
		break;
	case SONDE_WAKER_INTERRUPT:
		(void)snprintf(to, size, "an interrupt");
		break;
	case SONDE_WAKER_MAYBE:
		(void)snprintf(to, size, "%s, or an interrupt",
			       thread_text(causes, waker->tid, thread,
					   sizeof(thread)));
		break;
	case SONDE_WAKER_SENDER:
		(void)snprintf(to, size,
			       waker->is_by_key ? "%s, by the key" :
						  "bytes of %s",
			       thread_text(causes, waker->tid, thread,
					   sizeof(thread)));
		break;
	case SONDE_WAKER_UNORDERED:
		(void)snprintf(to, size,
			       waker->is_by_key ?
				       "%s by the key, or another one" :
				       "bytes of %s, sent nobody knows when",
			       thread_text(causes, waker->tid, thread,
					   sizeof(thread)));
		break;
	case SONDE_WAKER_UNKNOWN:
		(void)snprintf(to, size, "-");
		break;
	}
	return to;
}

const char *sonde_cause_thread(const struct sonde_causes *causes, int32_t tid,
			       char *to, size_t size)
{
	const char *name = sonde_cause_thread_name(causes, tid);
	int32_t own = sonde_cause_own_tid(causes, tid);
	char host[HOST];

	(void)on_host(causes, tid, host, sizeof(host));
	if (tid < 0)
		(void)snprintf(to, size, "an unknown thread");
	else if (*name)
		(void)snprintf(to, size, "`%s` (tid %" PRId32 ")%s", name, own,
			       host);
	else
		(void)snprintf(to, size, "thread %" PRId32 "%s", own, host);
	return to;
}

/* ---- adding up ---- */

/* What makes places differ, but for their paths: numbers alone, so that no byte
 * between them counts. */
enum {
	PLACE_TID,
	PLACE_KIND,
	PLACE_IS_CAUSE,
	PLACE_CAUSE,
	PLACE_CALL,
	PLACE_LOCK,
	PLACE_FD,
	PLACE_ADDRESS,
	PLACE_WAKER,
	PLACE_WAKER_TID,
	PLACE_WAKER_NUMBER,
	PLACE_NUMBERS,
};

void sonde_cause_place_key(const struct sonde_cause_place *place,
			   struct sonde_cause_place_key *ret_key)
{
	static const struct sonde_cause no_cause = { .fd = -1, .pid = -1 };
	static const struct sonde_waker no_waker = { .tid = -1 };
	const struct sonde_cause *cause =
		place->cause ? place->cause : &no_cause;
	const struct sonde_waker *waker =
		place->waker ? place->waker : &no_waker;
	bool is_call = cause->kind == SONDE_CAUSE_CALL;
	bool is_fault = cause->kind == SONDE_CAUSE_FAULT;
	bool is_thread = waker->kind == SONDE_WAKER_THREAD ||
			 waker->kind == SONDE_WAKER_MAYBE ||
			 waker->kind == SONDE_WAKER_SENDER ||
			 waker->kind == SONDE_WAKER_UNORDERED;
	const int64_t numbers[PLACE_NUMBERS] = {
		[PLACE_TID] = place->tid,
		[PLACE_KIND] = place->kind,
		[PLACE_IS_CAUSE] = place->cause != NULL,
		[PLACE_CAUSE] = cause->kind,
		[PLACE_CALL] = is_call ? cause->call : 0,
		[PLACE_LOCK] = cause->lock,
		[PLACE_FD] = cause->path ? -1 : cause->fd,
		[PLACE_ADDRESS] = is_fault ? 0 : (int64_t)cause->address,
		[PLACE_WAKER] = waker->kind,
		[PLACE_WAKER_TID] = is_thread ? waker->tid : -1,
		[PLACE_WAKER_NUMBER] = waker->number,
	};
	size_t length = cause->path ? strnlen(cause->path, PATH_BYTES) : 0;

	memcpy(ret_key->text, numbers, sizeof(numbers));
	if (length)
		memcpy(ret_key->text + sizeof(numbers), cause->path, length);
	ret_key->key =
		sonde_key_of_text(ret_key->text, sizeof(numbers) + length);
}
