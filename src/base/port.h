/* SPDX-License-Identifier: MIT */
/*
 * port.h - the few things every part needs from its compiler and machine.
 *
 * Freestanding: no libc. All accesses to memory that another thread, process
 * or CPU may touch go through the wrappers below; their names carry the memory
 * order. In the kernel the same names will map to READ_ONCE() and friends.
 */
#ifndef BASE_PORT_H
#define BASE_PORT_H

#include <stddef.h>
#include <stdint.h>

#define sonde_unlikely(x)         __builtin_expect(!!(x), 0)
#define SONDE_HIDDEN              __attribute__((visibility("hidden")))
#define SONDE_COLD                __attribute__((__noinline__, __cold__))

#define SONDE_ARRAY_SIZE(a)       (sizeof(a) / sizeof((a)[0]))

#define sonde_load_relaxed(p)     __atomic_load_n((p), __ATOMIC_RELAXED)
#define sonde_load_acquire(p)     __atomic_load_n((p), __ATOMIC_ACQUIRE)
#define sonde_store_relaxed(p, v) __atomic_store_n((p), (v), __ATOMIC_RELAXED)
#define sonde_store_release(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)
#define sonde_add_relaxed(p, v)   __atomic_fetch_add((p), (v), __ATOMIC_RELAXED)
#define sonde_fence_acquire()     __atomic_thread_fence(__ATOMIC_ACQUIRE)
#define sonde_fence_release()     __atomic_thread_fence(__ATOMIC_RELEASE)

/* Returns true if *p was `old` and is now `new`; acquire on success. */
#define sonde_cmpxchg_acquire(p, old, new)                              \
	__extension__({                                                 \
		__typeof__(*(p)) sonde_old_ = (old);                    \
		__atomic_compare_exchange_n((p), &sonde_old_, (new), 0, \
					    __ATOMIC_ACQUIRE,           \
					    __ATOMIC_RELAXED);          \
	})

/* Keeps the compiler, not the CPU, from moving accesses across it. */
#define sonde_barrier() __asm__ volatile("" ::: "memory")

/* The CPU's counter is read after all that comes before. */
#if defined(__x86_64__) || defined(__i386__)
#define sonde_fence_counter() __asm__ volatile("lfence" ::: "memory")
#elif defined(__aarch64__)
#define sonde_fence_counter() __asm__ volatile("isb" ::: "memory")
#else
#define sonde_fence_counter() sonde_barrier()
#endif

/* Eight bytes that hold where the label is. */
#if __SIZEOF_POINTER__ == 8
#define SONDE_DIRECTORY_ ".8byte 990b\n"
#else
#define SONDE_DIRECTORY_ ".4byte 990b, 0\n"
#endif

/*
 * A named place in the code where a debugger can stop a producer. It costs
 * nothing: section .sonde_testpoints, which is never loaded, gets a record of
 * 64 bytes { u64 address; char name[56]; }. The compiler may duplicate the
 * place, so a name can have several records.
 */
#define SONDE_TESTPOINT(name)                                               \
	__asm__ volatile("990:\n"                                           \
			 ".pushsection .sonde_testpoints,\"\",%%progbits\n" \
			 ".balign 8\n"                                      \
			 "991:\n" SONDE_DIRECTORY_ ".asciz \"" #name "\"\n" \
			 ".org 991b + 64\n"                                 \
			 ".popsection" ::                                   \
				 : "memory")

#endif /* BASE_PORT_H */
