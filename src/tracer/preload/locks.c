/* SPDX-License-Identifier: MIT */
/*
 * locks.c - pthread locks and condition variables as events.
 *
 *	lock:mutex_wait		{mutex, caller}		it is held: will wait
 *	lock:mutex_lock		{mutex, result, caller}	obtained, or failed
 *	lock:mutex_busy		{mutex, caller}		trylock found it held
 *	lock:mutex_unlock	{mutex, caller}
 *	lock:rwlock_wait	{rwlock, write, caller}
 *	lock:rwlock_lock	{rwlock, write, result, caller}
 *	lock:rwlock_busy	{rwlock, write, caller}
 *	lock:rwlock_unlock	{rwlock, caller}
 *	lock:cond_wait		{cond, mutex, caller}	gives the mutex up
 *	lock:cond_wake		{cond, mutex, result, caller}	has it again
 *	lock:cond_signal	{cond, caller}
 *	lock:cond_broadcast	{cond, caller}
 *
 * A lock that is free costs one event: each hook tries first, and calls the
 * function that waits only if that failed. The time a thread waited is what
 * lies between its mutex_wait and its next mutex_lock of the same mutex.
 * Trying first changes nothing for the program: where lock() would fail at once
 * (a mutex that checks errors, say) try says busy, and lock() is called and
 * fails. `result` is what the program gets: 0, or an error number, of which
 * EOWNERDEAD obtains the lock as well. A robust mutex isn't tried first and has
 * no mutex_wait; is_robust() says why.
 *
 * glibc has two generations of condition variables under one name; the hooks
 * stand before the newer one, which is what programs of this century call.
 */
#include "tracer/preload/hooks.h"

#include <errno.h>
#include <pthread.h>
#include <time.h>

#ifdef __x86_64__
#define COND_VERSION "GLIBC_2.3.2"
#else
#define COND_VERSION NULL /* there is one generation only */
#endif

static int mutex_locked(pthread_mutex_t *mutex, int result, const void *caller)
{
	SONDE_HOOK_EVENT(SONDE_HOOK_LOCKS, lock, mutex_lock, mutex, result,
			 caller);
	return result;
}

/*
 * glibc's trylock leaves a robust mutex locked for ever when it says that the
 * mutex is not recoverable, where lock does not.
 */
static bool is_robust(const pthread_mutex_t *mutex)
{
#ifdef __GLIBC__
	return mutex->__data.__kind & 16;
#else
	(void)mutex;
	return true; /* who knows */
#endif
}

/*
 * The first half of any function that may wait. True if there is nothing to
 * wait for: *ret_result is the outcome. Nothing is tried unless it is traced.
 */
static bool mutex_try_first(pthread_mutex_t *mutex, const void *caller,
			    int *ret_result)
{
	int result;

	if (!sonde_hook_wanted(SONDE_HOOK_LOCKS) || is_robust(mutex))
		return false;
	result = SONDE_HOOK_BEHIND(pthread_mutex_trylock, NULL)(mutex);
	if (result == EBUSY) {
		SONDE_HOOK_EVENT(SONDE_HOOK_LOCKS, lock, mutex_wait, mutex,
				 caller);
		return false;
	}
	*ret_result = mutex_locked(mutex, result, caller);
	return true;
}

SONDE_EXPORT int pthread_mutex_lock(pthread_mutex_t *mutex)
{
	const void *caller = __builtin_return_address(0);
	int result;

	if (mutex_try_first(mutex, caller, &result))
		return result;
	result = SONDE_HOOK_BEHIND(pthread_mutex_lock, NULL)(mutex);
	return mutex_locked(mutex, result, caller);
}

SONDE_EXPORT int pthread_mutex_timedlock(pthread_mutex_t *mutex,
					 const struct timespec *until)
{
	const void *caller = __builtin_return_address(0);
	int result;

	if (mutex_try_first(mutex, caller, &result))
		return result;
	result = SONDE_HOOK_BEHIND(pthread_mutex_timedlock, NULL)(mutex, until);
	return mutex_locked(mutex, result, caller);
}

SONDE_EXPORT int pthread_mutex_clocklock(pthread_mutex_t *mutex,
					 clockid_t clock,
					 const struct timespec *until)
{
	const void *caller = __builtin_return_address(0);
	int result;

	if (mutex_try_first(mutex, caller, &result))
		return result;
	result = SONDE_HOOK_BEHIND(pthread_mutex_clocklock, NULL)(mutex, clock,
								  until);
	return mutex_locked(mutex, result, caller);
}

SONDE_EXPORT int pthread_mutex_trylock(pthread_mutex_t *mutex)
{
	const void *caller = __builtin_return_address(0);
	int result = SONDE_HOOK_BEHIND(pthread_mutex_trylock, NULL)(mutex);

	if (result != EBUSY)
		return mutex_locked(mutex, result, caller);
	SONDE_HOOK_EVENT(SONDE_HOOK_LOCKS, lock, mutex_busy, mutex, caller);
	return result;
}

SONDE_EXPORT int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
	SONDE_HOOK_EVENT(SONDE_HOOK_LOCKS, lock, mutex_unlock, mutex,
			 SONDE_HOOK_CALLER);
	return SONDE_HOOK_BEHIND(pthread_mutex_unlock, NULL)(mutex);
}

/* ---- reader-writer locks ---- */

static int rwlock_locked(pthread_rwlock_t *rwlock, bool write, int result,
			 const void *caller)
{
	SONDE_HOOK_EVENT(SONDE_HOOK_LOCKS, lock, rwlock_lock, rwlock, write,
			 result, caller);
	return result;
}

static int rwlock_try(pthread_rwlock_t *rwlock, bool write)
{
	return write ? SONDE_HOOK_BEHIND(pthread_rwlock_trywrlock,
					 NULL)(rwlock) :
		       SONDE_HOOK_BEHIND(pthread_rwlock_tryrdlock,
					 NULL)(rwlock);
}

/* As mutex_try_first(). */
static bool rwlock_try_first(pthread_rwlock_t *rwlock, bool write,
			     const void *caller, int *ret_result)
{
	int result;

	if (!sonde_hook_wanted(SONDE_HOOK_LOCKS))
		return false;
	result = rwlock_try(rwlock, write);
	if (result == EBUSY) {
		SONDE_HOOK_EVENT(SONDE_HOOK_LOCKS, lock, rwlock_wait, rwlock,
				 write, caller);
		return false;
	}
	*ret_result = rwlock_locked(rwlock, write, result, caller);
	return true;
}

static int rwlock_try_only(pthread_rwlock_t *rwlock, bool write,
			   const void *caller)
{
	int result = rwlock_try(rwlock, write);

	if (result != EBUSY)
		return rwlock_locked(rwlock, write, result, caller);
	SONDE_HOOK_EVENT(SONDE_HOOK_LOCKS, lock, rwlock_busy, rwlock, write,
			 caller);
	return result;
}

SONDE_EXPORT int pthread_rwlock_rdlock(pthread_rwlock_t *rwlock)
{
	const void *caller = __builtin_return_address(0);
	int result;

	if (rwlock_try_first(rwlock, false, caller, &result))
		return result;
	result = SONDE_HOOK_BEHIND(pthread_rwlock_rdlock, NULL)(rwlock);
	return rwlock_locked(rwlock, false, result, caller);
}

SONDE_EXPORT int pthread_rwlock_wrlock(pthread_rwlock_t *rwlock)
{
	const void *caller = __builtin_return_address(0);
	int result;

	if (rwlock_try_first(rwlock, true, caller, &result))
		return result;
	result = SONDE_HOOK_BEHIND(pthread_rwlock_wrlock, NULL)(rwlock);
	return rwlock_locked(rwlock, true, result, caller);
}

SONDE_EXPORT int pthread_rwlock_timedrdlock(pthread_rwlock_t *rwlock,
					    const struct timespec *until)
{
	const void *caller = __builtin_return_address(0);
	int result;

	if (rwlock_try_first(rwlock, false, caller, &result))
		return result;
	result = SONDE_HOOK_BEHIND(pthread_rwlock_timedrdlock, NULL)(rwlock,
								     until);
	return rwlock_locked(rwlock, false, result, caller);
}

SONDE_EXPORT int pthread_rwlock_timedwrlock(pthread_rwlock_t *rwlock,
					    const struct timespec *until)
{
	const void *caller = __builtin_return_address(0);
	int result;

	if (rwlock_try_first(rwlock, true, caller, &result))
		return result;
	result = SONDE_HOOK_BEHIND(pthread_rwlock_timedwrlock, NULL)(rwlock,
								     until);
	return rwlock_locked(rwlock, true, result, caller);
}

SONDE_EXPORT int pthread_rwlock_clockrdlock(pthread_rwlock_t *rwlock,
					    clockid_t clock,
					    const struct timespec *until)
{
	const void *caller = __builtin_return_address(0);
	int result;

	if (rwlock_try_first(rwlock, false, caller, &result))
		return result;
	result = SONDE_HOOK_BEHIND(pthread_rwlock_clockrdlock,
				   NULL)(rwlock, clock, until);
	return rwlock_locked(rwlock, false, result, caller);
}

SONDE_EXPORT int pthread_rwlock_clockwrlock(pthread_rwlock_t *rwlock,
					    clockid_t clock,
					    const struct timespec *until)
{
	const void *caller = __builtin_return_address(0);
	int result;

	if (rwlock_try_first(rwlock, true, caller, &result))
		return result;
	result = SONDE_HOOK_BEHIND(pthread_rwlock_clockwrlock,
				   NULL)(rwlock, clock, until);
	return rwlock_locked(rwlock, true, result, caller);
}

SONDE_EXPORT int pthread_rwlock_tryrdlock(pthread_rwlock_t *rwlock)
{
	return rwlock_try_only(rwlock, false, __builtin_return_address(0));
}

SONDE_EXPORT int pthread_rwlock_trywrlock(pthread_rwlock_t *rwlock)
{
	return rwlock_try_only(rwlock, true, __builtin_return_address(0));
}

SONDE_EXPORT int pthread_rwlock_unlock(pthread_rwlock_t *rwlock)
{
	SONDE_HOOK_EVENT(SONDE_HOOK_LOCKS, lock, rwlock_unlock, rwlock,
			 SONDE_HOOK_CALLER);
	return SONDE_HOOK_BEHIND(pthread_rwlock_unlock, NULL)(rwlock);
}

/* ---- condition variables ---- */

static void cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex,
		      const void *caller)
{
	SONDE_HOOK_EVENT(SONDE_HOOK_LOCKS, lock, cond_wait, cond, mutex,
			 caller);
}

static int cond_wake(pthread_cond_t *cond, pthread_mutex_t *mutex, int result,
		     const void *caller)
{
	SONDE_HOOK_EVENT(SONDE_HOOK_LOCKS, lock, cond_wake, cond, mutex, result,
			 caller);
	return result;
}

SONDE_EXPORT int pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex)
{
	const void *caller = __builtin_return_address(0);
	int result;

	cond_wait(cond, mutex, caller);
	result =
		SONDE_HOOK_BEHIND(pthread_cond_wait, COND_VERSION)(cond, mutex);
	return cond_wake(cond, mutex, result, caller);
}

SONDE_EXPORT int pthread_cond_timedwait(pthread_cond_t *cond,
					pthread_mutex_t *mutex,
					const struct timespec *until)
{
	const void *caller = __builtin_return_address(0);
	int result;

	cond_wait(cond, mutex, caller);
	result = SONDE_HOOK_BEHIND(pthread_cond_timedwait,
				   COND_VERSION)(cond, mutex, until);
	return cond_wake(cond, mutex, result, caller);
}

SONDE_EXPORT int pthread_cond_clockwait(pthread_cond_t *cond,
					pthread_mutex_t *mutex, clockid_t clock,
					const struct timespec *until)
{
	const void *caller = __builtin_return_address(0);
	int result;

	cond_wait(cond, mutex, caller);
	result = SONDE_HOOK_BEHIND(pthread_cond_clockwait, NULL)(cond, mutex,
								 clock, until);
	return cond_wake(cond, mutex, result, caller);
}

SONDE_EXPORT int pthread_cond_signal(pthread_cond_t *cond)
{
	SONDE_HOOK_EVENT(SONDE_HOOK_LOCKS, lock, cond_signal, cond,
			 SONDE_HOOK_CALLER);
	return SONDE_HOOK_BEHIND(pthread_cond_signal, COND_VERSION)(cond);
}

SONDE_EXPORT int pthread_cond_broadcast(pthread_cond_t *cond)
{
	SONDE_HOOK_EVENT(SONDE_HOOK_LOCKS, lock, cond_broadcast, cond,
			 SONDE_HOOK_CALLER);
	return SONDE_HOOK_BEHIND(pthread_cond_broadcast, COND_VERSION)(cond);
}
