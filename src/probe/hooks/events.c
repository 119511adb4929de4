/* SPDX-License-Identifier: MIT */
/*
 * events.c - which function's call is which event, as two tables.
 *
 * A table's row is one event or one function; a description is made from its
 * row, once for each recording. Names and fields are those of tracer/preload.
 */
#include "probe/hooks/events.h"

#include "base/port.h"
#include "types/build.h"

#define FIELDS_MAX 4

enum type {
	END = 0,
	SIZE,    /* size_t */
	POINTER, /* void * */
	NEAR,    /* of code: a number (types/origins.h) */
	INT,
	COUNT, /* uint32_t */
	BOOL,
	LONG,
	FLAGS, /* unsigned int */
	TEXT,
};

struct field {
	const char *name;
	enum type type;
};

struct event {
	const char *provider;
	const char *name;
	struct field fields[FIELDS_MAX];
};

/* clang-format off */
#define CALLER { "caller", POINTER }
#define EVENT(id, provider, name, ...) \
	[SONDE_HOOKS_##id] = { provider, name, { __VA_ARGS__ } }

static const struct event events[SONDE_HOOKS_NR_EVENTS] = {
	EVENT(MALLOC, "malloc", "malloc", { "size", SIZE }, { "ptr", POINTER },
	      CALLER),
	EVENT(CALLOC, "malloc", "calloc", { "count", SIZE }, { "size", SIZE },
	      { "ptr", POINTER }, CALLER),
	EVENT(REALLOC_BEGIN, "malloc", "realloc_begin", { "old", POINTER },
	      { "size", SIZE }, CALLER),
	EVENT(REALLOC, "malloc", "realloc", { "old", POINTER },
	      { "size", SIZE }, { "ptr", POINTER }, CALLER),
	EVENT(MEMALIGN, "malloc", "memalign", { "alignment", SIZE },
	      { "size", SIZE }, { "ptr", POINTER }, CALLER),
	EVENT(FREE, "malloc", "free", { "ptr", POINTER }, CALLER),
	EVENT(MUTEX_WAIT, "lock", "mutex_wait", { "mutex", POINTER }, CALLER),
	EVENT(MUTEX_LOCK, "lock", "mutex_lock", { "mutex", POINTER },
	      { "result", INT }, CALLER),
	EVENT(MUTEX_BUSY, "lock", "mutex_busy", { "mutex", POINTER }, CALLER),
	EVENT(MUTEX_UNLOCK, "lock", "mutex_unlock", { "mutex", POINTER },
	      CALLER),
	EVENT(RWLOCK_WAIT, "lock", "rwlock_wait", { "rwlock", POINTER },
	      { "write", BOOL }, CALLER),
	EVENT(RWLOCK_LOCK, "lock", "rwlock_lock", { "rwlock", POINTER },
	      { "write", BOOL }, { "result", INT }, CALLER),
	EVENT(RWLOCK_BUSY, "lock", "rwlock_busy", { "rwlock", POINTER },
	      { "write", BOOL }, CALLER),
	EVENT(RWLOCK_UNLOCK, "lock", "rwlock_unlock", { "rwlock", POINTER },
	      CALLER),
	EVENT(COND_WAIT, "lock", "cond_wait", { "cond", POINTER },
	      { "mutex", POINTER }, CALLER),
	EVENT(COND_WAKE, "lock", "cond_wake", { "cond", POINTER },
	      { "mutex", POINTER }, { "result", INT }, CALLER),
	EVENT(COND_SIGNAL, "lock", "cond_signal", { "cond", POINTER }, CALLER),
	EVENT(COND_BROADCAST, "lock", "cond_broadcast", { "cond", POINTER },
	      CALLER),
	EVENT(READ_BEGIN, "io", "read_begin", { "fd", INT }, { "size", SIZE },
	      CALLER),
	EVENT(READ, "io", "read", { "fd", INT }, { "size", SIZE },
	      { "result", LONG }, CALLER),
	EVENT(WRITE_BEGIN, "io", "write_begin", { "fd", INT }, { "size", SIZE },
	      CALLER),
	EVENT(WRITE, "io", "write", { "fd", INT }, { "size", SIZE },
	      { "result", LONG }, CALLER),
	EVENT(ACCEPT_BEGIN, "io", "accept_begin", { "listener", INT }, CALLER),
	EVENT(ACCEPT, "io", "accept", { "listener", INT }, { "fd", INT },
	      CALLER),
	EVENT(CONNECT_BEGIN, "io", "connect_begin", { "fd", INT }, CALLER),
	EVENT(CONNECT, "io", "connect", { "fd", INT }, { "result", INT },
	      CALLER),
	EVENT(OPEN_BEGIN, "io", "open_begin", { "dir", INT },
	      { "flags", FLAGS }, CALLER, { "filename", TEXT }),
	EVENT(OPEN, "io", "open", { "fd", INT }, CALLER),
	EVENT(CLOSE_BEGIN, "io", "close_begin", { "fd", INT }, CALLER),
	EVENT(CLOSE, "io", "close", { "fd", INT }, { "result", INT }, CALLER),
	EVENT(FSYNC_BEGIN, "io", "fsync_begin", { "fd", INT }, CALLER),
	EVENT(FSYNC, "io", "fsync", { "fd", INT }, { "result", INT }, CALLER),
	EVENT(FUNCTION_ENTRY, "function", "entry", { "addr", POINTER }),
	EVENT(FUNCTION_EXIT, "function", "exit", { "addr", POINTER }),
	EVENT(FUNCTION_NEAR_ENTRY, "function", "entry", { "addr", NEAR }),
	EVENT(FUNCTION_NEAR_EXIT, "function", "exit", { "addr", NEAR }),
	EVENT(FUNCTION_BEGIN, "function", "begin", { "addr", POINTER },
	      { "since", SIZE }, { "left_out", COUNT }),
	EVENT(FUNCTION_END, "function", "end", { "addr", POINTER },
	      { "left_out", COUNT }),
};

#define M(function, kind_, ...)                                           \
	{ .name = #function, .group = SONDE_HOOKS_GROUP_MALLOC,           \
	  .kind = SONDE_AGENT_CALL_##kind_, __VA_ARGS__ }
#define L(function, kind_, ...)                                           \
	{ .name = "pthread_" #function, .group = SONDE_HOOKS_GROUP_LOCKS, \
	  .kind = SONDE_AGENT_CALL_##kind_, __VA_ARGS__ }
#define IO(function, kind_, event_)                                       \
	{ .name = #function, .group = SONDE_HOOKS_GROUP_IO,               \
	  .kind = SONDE_AGENT_CALL_##kind_,                               \
	  .event = SONDE_HOOKS_##event_,                                  \
	  .before = SONDE_HOOKS_##event_##_BEGIN,                         \
	  .helper = "__errno_location" }
#define E(event_) .event = SONDE_HOOKS_##event_
#define MUTEX_MAY_WAIT                           \
	.busy = SONDE_HOOKS_MUTEX_WAIT,          \
	.helper = "pthread_mutex_trylock"
#define READ_MAY_WAIT                            \
	.busy = SONDE_HOOKS_RWLOCK_WAIT,         \
	.helper = "pthread_rwlock_tryrdlock"
#define WRITE_MAY_WAIT                           \
	.is_write = true,                        \
	.busy = SONDE_HOOKS_RWLOCK_WAIT,         \
	.helper = "pthread_rwlock_trywrlock"

const struct sonde_hooks_function sonde_hooks_functions[] = {
	M(malloc, MALLOC, E(MALLOC)),
	M(calloc, CALLOC, E(CALLOC)),
	M(realloc, REALLOC, E(REALLOC), .before = SONDE_HOOKS_REALLOC_BEGIN),
	M(memalign, MEMALIGN, E(MEMALIGN)),
	M(aligned_alloc, MEMALIGN, E(MEMALIGN)),
	M(posix_memalign, POSIX_MEMALIGN, E(MEMALIGN)),
	M(free, FREE, E(FREE)),
	L(mutex_lock, MUTEX_LOCK, E(MUTEX_LOCK), MUTEX_MAY_WAIT),
	L(mutex_timedlock, MUTEX_LOCK, E(MUTEX_LOCK), MUTEX_MAY_WAIT),
	L(mutex_clocklock, MUTEX_LOCK, E(MUTEX_LOCK), MUTEX_MAY_WAIT),
	L(mutex_trylock, MUTEX_TRYLOCK, E(MUTEX_LOCK),
	  .busy = SONDE_HOOKS_MUTEX_BUSY),
	L(mutex_unlock, UNLOCK, E(MUTEX_UNLOCK)),
	L(rwlock_rdlock, RWLOCK_LOCK, E(RWLOCK_LOCK), READ_MAY_WAIT),
	L(rwlock_timedrdlock, RWLOCK_LOCK, E(RWLOCK_LOCK), READ_MAY_WAIT),
	L(rwlock_clockrdlock, RWLOCK_LOCK, E(RWLOCK_LOCK), READ_MAY_WAIT),
	L(rwlock_tryrdlock, RWLOCK_TRYLOCK, E(RWLOCK_LOCK),
	  .busy = SONDE_HOOKS_RWLOCK_BUSY),
	L(rwlock_wrlock, RWLOCK_LOCK, E(RWLOCK_LOCK), WRITE_MAY_WAIT),
	L(rwlock_timedwrlock, RWLOCK_LOCK, E(RWLOCK_LOCK), WRITE_MAY_WAIT),
	L(rwlock_clockwrlock, RWLOCK_LOCK, E(RWLOCK_LOCK), WRITE_MAY_WAIT),
	L(rwlock_trywrlock, RWLOCK_TRYLOCK, E(RWLOCK_LOCK), .is_write = true,
	  .busy = SONDE_HOOKS_RWLOCK_BUSY),
	L(rwlock_unlock, UNLOCK, E(RWLOCK_UNLOCK)),
	L(cond_wait, COND_WAIT, E(COND_WAKE), .before = SONDE_HOOKS_COND_WAIT),
	L(cond_timedwait, COND_WAIT, E(COND_WAKE),
	  .before = SONDE_HOOKS_COND_WAIT),
	L(cond_clockwait, COND_WAIT, E(COND_WAKE),
	  .before = SONDE_HOOKS_COND_WAIT),
	L(cond_signal, UNLOCK, E(COND_SIGNAL)),
	L(cond_broadcast, UNLOCK, E(COND_BROADCAST)),
	IO(read, MOVE, READ),
	IO(__read_chk, MOVE, READ),
	IO(pread, MOVE, READ),
	IO(pread64, MOVE, READ),
	IO(__pread_chk, MOVE, READ),
	IO(__pread64_chk, MOVE, READ),
	IO(recv, MOVE, READ),
	IO(__recv_chk, MOVE, READ),
	IO(recvfrom, MOVE, READ),
	IO(__recvfrom_chk, MOVE, READ),
	IO(readv, VECTOR, READ),
	IO(preadv, VECTOR, READ),
	IO(preadv64, VECTOR, READ),
	IO(recvmsg, MESSAGE, READ),
	IO(write, MOVE, WRITE),
	IO(pwrite, MOVE, WRITE),
	IO(pwrite64, MOVE, WRITE),
	IO(send, MOVE, WRITE),
	IO(sendto, MOVE, WRITE),
	IO(writev, VECTOR, WRITE),
	IO(pwritev, VECTOR, WRITE),
	IO(pwritev64, VECTOR, WRITE),
	IO(sendmsg, MESSAGE, WRITE),
	IO(sendfile, SENDFILE, WRITE),
	IO(sendfile64, SENDFILE, WRITE),
	IO(accept, DESCRIPTOR, ACCEPT),
	IO(accept4, DESCRIPTOR, ACCEPT),
	IO(connect, DESCRIPTOR, CONNECT),
	IO(open, OPEN, OPEN),
	IO(open64, OPEN, OPEN),
	IO(__open_2, OPEN, OPEN),
	IO(__open64_2, OPEN, OPEN),
	IO(openat, OPENAT, OPEN),
	IO(openat64, OPENAT, OPEN),
	IO(__openat_2, OPENAT, OPEN),
	IO(__openat64_2, OPENAT, OPEN),
	IO(close, DESCRIPTOR, CLOSE),
	IO(fsync, DESCRIPTOR, FSYNC),
	IO(fdatasync, DESCRIPTOR, FSYNC),
};
/* clang-format on */

const size_t sonde_hooks_nr_functions = SONDE_ARRAY_SIZE(sonde_hooks_functions);

_Static_assert(SONDE_ARRAY_SIZE(sonde_hooks_functions) < SONDE_AGENT_CALLS_MAX,
	       "one more for what is to be passed over");

bool sonde_hooks_has_end(const struct sonde_hooks_function *function)
{
	return function->kind != SONDE_AGENT_CALL_FREE &&
	       function->kind != SONDE_AGENT_CALL_UNLOCK;
}

int sonde_hooks_describe(enum sonde_hooks_event event,
			 const struct sonde_origins *origins, void *room)
{
	const struct event *from = &events[event];
	struct sonde_build build;

	sonde_build_begin(&build, room, from->provider, from->name, SONDE_INFO);
	for (const struct field *field = from->fields;
	     field < from->fields + FIELDS_MAX; field++) {
		switch (field->type) {
		case SIZE:
			sonde_build_int(&build, field->name, 64, 0);
			break;
		case POINTER:
			sonde_build_int(&build, field->name, 64,
					SONDE_FIELD_HEX);
			break;
		case NEAR:
			sonde_origins_build(origins, &build, field->name);
			break;
		case INT:
			sonde_build_int(&build, field->name, 32,
					SONDE_FIELD_SIGNED);
			break;
		case COUNT:
			sonde_build_int(&build, field->name, 32, 0);
			break;
		case BOOL:
			sonde_build_int(&build, field->name, 8,
					SONDE_FIELD_BOOL);
			break;
		case LONG:
			sonde_build_int(&build, field->name, 64,
					SONDE_FIELD_SIGNED);
			break;
		case FLAGS:
			sonde_build_int(&build, field->name, 32,
					SONDE_FIELD_HEX);
			break;
		case TEXT:
			sonde_build_string(&build, field->name);
			break;
		case END:
			break;
		}
	}
	return sonde_build_end(&build);
}
