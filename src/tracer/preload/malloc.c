/* SPDX-License-Identifier: MIT */
/*
 * malloc.c - allocation calls as events.
 *
 *	malloc:malloc		{size, ptr, caller}
 *	malloc:calloc		{count, size, ptr, caller}
 *	malloc:memalign		{alignment, size, ptr, caller}
 *				memalign, aligned_alloc, posix_memalign
 *	malloc:realloc_begin	{old, size, caller}
 *	malloc:realloc		{old, size, ptr, caller}
 *	malloc:free		{ptr, caller}
 *
 * C++'s new and delete arrive here through malloc and free. realloc is two
 * events, because it may give a block up and obtain one: from realloc_begin to
 * realloc the block `old` is in nobody's hands; if realloc says that ptr is
 * null and size was not 0, `old` was kept. free(NULL) is no event.
 *
 * `behind` holds the functions behind the hooks. Each starts as a stand-in that
 * looks all of them up and calls again. Looking up may itself allocate: such a
 * call, told by `looking_up`, is served from a small static store. Its blocks
 * live for ever; free() and realloc() know them by their addresses.
 */
#include "tracer/preload/hooks.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#define STORE_SIZE  16384u
#define STORE_ALIGN 16u

static char store[STORE_SIZE] __attribute__((aligned(STORE_ALIGN)));
static size_t store_used;
static __thread bool looking_up __attribute__((tls_model("initial-exec")));

static void *malloc_first(size_t size);
static void *calloc_first(size_t count, size_t size);
static void *realloc_first(void *old, size_t size);
static void *memalign_first(size_t alignment, size_t size);
static int posix_memalign_first(void **ret_ptr, size_t alignment, size_t size);
static void *aligned_alloc_first(size_t alignment, size_t size);
static void free_first(void *ptr);

static struct {
	void *(*malloc)(size_t size);
	void *(*calloc)(size_t count, size_t size);
	void *(*realloc)(void *old, size_t size);
	void *(*memalign)(size_t alignment, size_t size);
	int (*posix_memalign)(void **ret_ptr, size_t alignment, size_t size);
	void *(*aligned_alloc)(size_t alignment, size_t size);
	void (*free)(void *ptr);
} behind = {
	.malloc = malloc_first,
	.calloc = calloc_first,
	.realloc = realloc_first,
	.memalign = memalign_first,
	.posix_memalign = posix_memalign_first,
	.aligned_alloc = aligned_alloc_first,
	.free = free_first,
};

#define LOOK_UP(name) \
	(behind.name = (__typeof__(behind.name))sonde_hook_behind(#name, NULL))

/* False if this call comes from the look-up itself. */
static bool malloc_look_up(void)
{
	if (looking_up)
		return false;
	looking_up = true;
	LOOK_UP(malloc);
	LOOK_UP(calloc);
	LOOK_UP(realloc);
	LOOK_UP(memalign);
	LOOK_UP(posix_memalign);
	LOOK_UP(aligned_alloc);
	LOOK_UP(free);
	looking_up = false;
	return true;
}

/* Zeroed memory from the store, null when it is used up. */
static void *store_take(size_t size)
{
	size_t need;
	size_t at;

	if (size > STORE_SIZE)
		return NULL;
	need = (size + STORE_ALIGN - 1) & ~(size_t)(STORE_ALIGN - 1);
	at = sonde_add_relaxed(&store_used, need);
	return at + need <= STORE_SIZE ? store + at : NULL;
}

static bool store_has(const void *ptr)
{
	return (uintptr_t)ptr - (uintptr_t)store < STORE_SIZE;
}

static void *malloc_first(size_t size)
{
	return malloc_look_up() ? behind.malloc(size) : store_take(size);
}

static void *calloc_first(size_t count, size_t size)
{
	size_t all;

	if (malloc_look_up())
		return behind.calloc(count, size);
	if (__builtin_mul_overflow(count, size, &all))
		return NULL;
	return store_take(all);
}

static void *realloc_first(void *old, size_t size)
{
	if (malloc_look_up())
		return behind.realloc(old, size);
	return old ? NULL : store_take(size);
}

static void *memalign_first(size_t alignment, size_t size)
{
	if (malloc_look_up())
		return behind.memalign(alignment, size);
	return alignment <= STORE_ALIGN ? store_take(size) : NULL;
}

static int posix_memalign_first(void **ret_ptr, size_t alignment, size_t size)
{
	return malloc_look_up() ?
		       behind.posix_memalign(ret_ptr, alignment, size) :
		       ENOMEM;
}

static void *aligned_alloc_first(size_t alignment, size_t size)
{
	if (malloc_look_up())
		return behind.aligned_alloc(alignment, size);
	return alignment <= STORE_ALIGN ? store_take(size) : NULL;
}

static void free_first(void *ptr)
{
	/* Whatever there is to free during the look-up was taken during it. */
	if (malloc_look_up())
		behind.free(ptr);
}

/* A block of the store gets a new home. How long it was isn't known, but there
 * is no harm in copying what follows it. */
static void *store_leave(const char *old, size_t size)
{
	size_t rest = (size_t)(store + STORE_SIZE - old);
	void *ptr = behind.malloc(size);

	if (ptr)
		memcpy(ptr, old, size < rest ? size : rest);
	return ptr;
}

SONDE_EXPORT void *malloc(size_t size)
{
	void *ptr = behind.malloc(size);

	SONDE_HOOK_EVENT(SONDE_HOOK_MALLOC, malloc, malloc, size, ptr,
			 SONDE_HOOK_CALLER);
	return ptr;
}

SONDE_EXPORT void *calloc(size_t count, size_t size)
{
	void *ptr = behind.calloc(count, size);

	SONDE_HOOK_EVENT(SONDE_HOOK_MALLOC, malloc, calloc, count, size, ptr,
			 SONDE_HOOK_CALLER);
	return ptr;
}

static void *trace_realloc(void *old, size_t size, void *caller)
{
	void *ptr;

	SONDE_HOOK_EVENT(SONDE_HOOK_MALLOC, malloc, realloc_begin, old, size,
			 caller);
	if (sonde_unlikely(store_has(old)))
		ptr = store_leave(old, size);
	else
		ptr = behind.realloc(old, size);
	SONDE_HOOK_EVENT(SONDE_HOOK_MALLOC, malloc, realloc, old, size, ptr,
			 caller);
	return ptr;
}

SONDE_EXPORT void *realloc(void *old, size_t size)
{
	return trace_realloc(old, size, __builtin_return_address(0));
}

SONDE_EXPORT void *reallocarray(void *old, size_t count, size_t size)
{
	size_t all;

	if (__builtin_mul_overflow(count, size, &all)) {
		errno = ENOMEM;
		return NULL;
	}
	return trace_realloc(old, all, __builtin_return_address(0));
}

SONDE_EXPORT void *memalign(size_t alignment, size_t size)
{
	void *ptr = behind.memalign(alignment, size);

	SONDE_HOOK_EVENT(SONDE_HOOK_MALLOC, malloc, memalign, alignment, size,
			 ptr, SONDE_HOOK_CALLER);
	return ptr;
}

SONDE_EXPORT void *aligned_alloc(size_t alignment, size_t size)
{
	void *ptr = behind.aligned_alloc(alignment, size);

	SONDE_HOOK_EVENT(SONDE_HOOK_MALLOC, malloc, memalign, alignment, size,
			 ptr, SONDE_HOOK_CALLER);
	return ptr;
}

SONDE_EXPORT int posix_memalign(void **ret_ptr, size_t alignment, size_t size)
{
	int error = behind.posix_memalign(ret_ptr, alignment, size);
	void *ptr = error ? NULL : *ret_ptr;

	SONDE_HOOK_EVENT(SONDE_HOOK_MALLOC, malloc, memalign, alignment, size,
			 ptr, SONDE_HOOK_CALLER);
	return error;
}

SONDE_EXPORT void free(void *ptr)
{
	if (!ptr || sonde_unlikely(store_has(ptr)))
		return;
	SONDE_HOOK_EVENT(SONDE_HOOK_MALLOC, malloc, free, ptr,
			 SONDE_HOOK_CALLER);
	behind.free(ptr);
}
