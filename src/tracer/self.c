/* SPDX-License-Identifier: MIT */
/*
 * self.c - the calling thread: its id, its key, and its restartable sequences
 * (self.h).
 *
 * A thread's key is set when all else of its structure is: a signal handler
 * that traces before that learns for itself. Without a system call where glibc
 * has registered the thread.
 */
#include "tracer/self.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

__thread struct sonde_self sonde_self;
int64_t sonde_rseq_offset;
bool sonde_has_left;
uintptr_t sonde_self_mapping;

/* The key's upper half: a thread's id has 22 bits at most. */
#define KEY_TID_SHIFT    32
#define KEY_NUMBER_SHIFT 54

static uint32_t process_id;

static uint32_t mapping_number(void)
{
	return (uint32_t)(sonde_load_relaxed(&sonde_self_mapping) >>
			  SONDE_SELF_NUMBER_SHIFT) &
	       SONDE_SELF_NUMBER_MASK;
}

/*
 * glibc knows the calling thread's id but does not tell it; gettid() is a
 * system call. The owner of a recursive mutex is that id, though, and taking
 * one that is free is not a call of the system. Elsewhere: ask.
 */
static uint32_t thread_id(void)
{
#ifdef __GLIBC__
	pthread_mutex_t mutex = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
	uint32_t tid = 0;

	if (!pthread_mutex_trylock(&mutex)) {
		tid = (uint32_t)mutex.__data.__owner;
		(void)pthread_mutex_unlock(&mutex); /* ours, and held */
	}
	if (tid)
		return tid;
#endif
	return (uint32_t)syscall(SYS_gettid);
}

void sonde_self_learn(void)
{
	uint32_t tid = thread_id();

	if (!process_id)
		process_id = (uint32_t)getpid();
	(void)sonde_rseq_self(); /* registers the thread if that is up to us */
	sonde_self.tid = tid;
	sonde_self.pid = process_id;
	/* last: a signal handler that traces before this learns for itself */
	sonde_barrier();
	sonde_self.key = (uint64_t)tid << KEY_TID_SHIFT |
			 (uint64_t)mapping_number() << KEY_NUMBER_SHIFT;
}

bool sonde_self_is_known(void)
{
	return sonde_self.key &&
	       sonde_self.key >> KEY_NUMBER_SHIFT == mapping_number();
}

void sonde_self_forked(void)
{
	sonde_self.key = 0;
	process_id = thread_id(); /* the only thread is the first one */
}

/* ---- restartable sequences ---- */

#if SONDE_HAVE_RSEQ_ABI

/* glibc >= 2.35 registers all threads, unless told not to. */
/* NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming):
 * they are the C library's */
extern const ptrdiff_t __rseq_offset __attribute__((weak));
extern const unsigned int __rseq_size __attribute__((weak));
/* NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming) */

#ifdef __x86_64__
#define RSEQ_SIGNATURE 0x53053053u
#else
#define RSEQ_SIGNATURE 0xd428bc00u
#endif
#ifndef SYS_rseq
#error "the C library's headers don't know rseq"
#endif

struct thread_rseq {
	uint32_t cpu_id_start;
	uint32_t cpu_id;
	uint64_t rseq_cs;
	uint32_t flags;
	uint32_t reserved[3];
} __attribute__((aligned(32)));

#define CPU_ID_UNREGISTERED ((uint32_t)-1)

static __thread struct thread_rseq own_rseq
	__attribute__((tls_model("initial-exec"))) = {
		.cpu_id = CPU_ID_UNREGISTERED,
	};
static bool have_rseq;

static bool register_thread(void)
{
	return !syscall(SYS_rseq, &own_rseq, sizeof(own_rseq), 0,
			RSEQ_SIGNATURE);
}

static bool glibc_registered(void)
{
	const struct thread_rseq *rseq;

	if (!&__rseq_size || !__rseq_size)
		return false;
	rseq = (const void *)(sonde_self_pointer() + __rseq_offset);
	return (int32_t)sonde_load_relaxed(&rseq->cpu_id) >= 0;
}

bool sonde_rseq_setup(void)
{
	if (!sonde_rseq_supported)
		return false;
	if (glibc_registered()) {
		sonde_rseq_offset = __rseq_offset;
		have_rseq = true;
	} else if (register_thread()) {
		sonde_rseq_offset = (char *)&own_rseq - sonde_self_pointer();
		have_rseq = true;
	}
	return have_rseq;
}

void *sonde_rseq_self(void)
{
	struct thread_rseq *rseq;

	if (!have_rseq)
		return NULL;
	rseq = (void *)(sonde_self_pointer() + sonde_rseq_offset);
	if (rseq == &own_rseq && rseq->cpu_id == CPU_ID_UNREGISTERED &&
	    !register_thread())
		return NULL;
	return rseq;
}

#else

bool sonde_rseq_setup(void)
{
	return false;
}

void *sonde_rseq_self(void)
{
	return NULL;
}

#endif
