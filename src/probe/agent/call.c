/* SPDX-License-Identifier: MIT */
/*
 * call.c - see call.h. The events are those of tracer/preload, and happen at
 * the same moments: what gives something up is an event before the call, what
 * obtains something is one after it.
 */
#include "probe/agent/call.h"

#include "clock/clock.h"
#include "probe/agent/filter.h"
#include "probe/agent/memory.h"
#include "probe/agent/pass.h"
#include "probe/agent/record.h"
#include "probe/agent/thread.h"

#define BUSY        16 /* EBUSY */
#define KIND_OFF    16 /* of a glibc mutex; */
#define KIND_ROBUST 16u
#define OP_CALL     0xe8
#define CALL_BYTES  5u
#define VECTORS_MAX 1024u       /* IOV_MAX: more are refused */
#define NAME_BYTES  256u        /* of a file's, with its NUL */
#define HERE        0xffffff9cu /* AT_FDCWD */

/* What an event's payload is built in. Only its size is set at first: to clear
 * all of it costs as much as the record. */
struct payload {
	uint32_t size;
	uint8_t bytes[48 + SONDE_AGENT_APPEND_SLACK];
};
#define CHUNK 16u /* as many bytes are copied at a time (append_x86_64.S) */

/* A hit on its way. */
struct hit {
	struct sonde_agent *agent;
	uint64_t index;
	const struct sonde_agent_call *call;
	uint64_t call_index;
	struct sonde_agent_call_registers *r;
	uint64_t stack; /* where the return address is */
	uint64_t caller;
	uint64_t fp;                       /* the caller's */
	struct sonde_agent_thread *thread; /* NULL: not asked for, or no room */
};
#define HIT(its_agent, its_index, probe, its_r)                             \
	{                                                                   \
		.agent = (its_agent), .index = (its_index),                 \
		.call = &(its_agent)->calls[(probe)->call],                 \
		.call_index = (probe)->call, .r = (its_r),                  \
		.stack = (its_r)->rsp + (probe)->frame, .fp = (its_r)->rbp, \
	}

/* ---- events ---- */

static inline void put8(struct payload *p, uint64_t value)
{
	__builtin_memcpy(p->bytes + p->size, &value, 8);
	p->size += 8;
}

static inline void put4(struct payload *p, uint32_t value)
{
	__builtin_memcpy(p->bytes + p->size, &value, 4);
	p->size += 4;
}

static inline void put1(struct payload *p, uint8_t value)
{
	p->bytes[p->size++] = value;
}

/* Apart, so that who doesn't need it has no frame for it. */
static __attribute__((noinline)) void call_append_slowly(const struct hit *hit,
							 uint32_t state,
							 const uint8_t *bytes,
							 uint32_t size)
{
	sonde_agent_append_from(state, bytes, SONDE_AGENT_INC(size),
				&(struct sonde_stacks_from){
					.pc = hit->caller,
					.sp = hit->stack + 8,
					.fp = hit->fp,
				});
}

static void call_emit_bytes(const struct hit *hit, uint32_t event,
			    const uint8_t *bytes, uint32_t size)
{
	struct sonde_agent *agent = hit->agent;
	uint32_t state;

	if (!sonde_agent_is_wanted(agent, event, bytes, size)) {
		sonde_agent_pass_by(agent, hit->index, event, bytes, size);
		return;
	}
	sonde_agent_count(agent, hit->index);
	state = sonde_agent_state_of(agent, event);
	if (sonde_unlikely(!state))
		sonde_agent_miss(agent);
	else if (sonde_unlikely(!sonde_agent_is_fast(agent, state)))
		call_append_slowly(hit, state, bytes, size);
	else
		sonde_agent_append_block(state, bytes, SONDE_AGENT_INC(size));
}

/* What is read behind the payload is 0: nothing of the program's stack gets into
 * the ring. */
static inline void call_emit(const struct hit *hit, uint32_t event,
			     struct payload *p)
{
	__builtin_memset(p->bytes + p->size, 0, -p->size & (CHUNK - 1));
	call_emit_bytes(hit, event, p->bytes, p->size);
}

/* {a, caller} */
static inline void emit_one(const struct hit *hit, uint32_t event, uint64_t a)
{
	struct payload p;

	p.size = 0;
	put8(&p, a);
	put8(&p, hit->caller);
	call_emit(hit, event, &p);
}

/* {a, b, caller} */
static inline void emit_two(const struct hit *hit, uint32_t event, uint64_t a,
			    uint64_t b)
{
	struct payload p;

	p.size = 0;
	put8(&p, a);
	put8(&p, b);
	put8(&p, hit->caller);
	call_emit(hit, event, &p);
}

/* {a, b, c, caller} */
static inline void emit_three(const struct hit *hit, uint32_t event, uint64_t a,
			      uint64_t b, uint64_t c)
{
	struct payload p;

	p.size = 0;
	put8(&p, a);
	put8(&p, b);
	put8(&p, c);
	put8(&p, hit->caller);
	call_emit(hit, event, &p);
}

/* {mutex, result, caller} */
static inline void emit_locked(const struct hit *hit, uint64_t mutex,
			       uint64_t result)
{
	struct payload p;

	p.size = 0;
	put8(&p, mutex);
	put4(&p, (uint32_t)result);
	put8(&p, hit->caller);
	call_emit(hit, hit->call->event, &p);
}

/* {rwlock, write, caller} */
static inline void emit_rwlock(const struct hit *hit, uint32_t event,
			       uint64_t rwlock)
{
	struct payload p;

	p.size = 0;
	put8(&p, rwlock);
	put1(&p, (uint8_t)hit->call->is_write);
	put8(&p, hit->caller);
	call_emit(hit, event, &p);
}

/* {rwlock, write, result, caller} */
static inline void emit_rwlocked(const struct hit *hit, uint64_t rwlock,
				 uint64_t result)
{
	struct payload p;

	p.size = 0;
	put8(&p, rwlock);
	put1(&p, (uint8_t)hit->call->is_write);
	put4(&p, (uint32_t)result);
	put8(&p, hit->caller);
	call_emit(hit, hit->call->event, &p);
}

/* {cond, mutex, result, caller} */
static inline void emit_wake(const struct hit *hit, uint64_t cond,
			     uint64_t mutex, uint64_t result)
{
	struct payload p;

	p.size = 0;
	put8(&p, cond);
	put8(&p, mutex);
	put4(&p, (uint32_t)result);
	put8(&p, hit->caller);
	call_emit(hit, hit->call->event, &p);
}

/* {fd, caller} */
static inline void emit_descriptor(const struct hit *hit, uint32_t event,
				   uint64_t fd)
{
	struct payload p;

	p.size = 0;
	put4(&p, (uint32_t)fd);
	put8(&p, hit->caller);
	call_emit(hit, event, &p);
}

/* {fd, result, caller} */
static inline void emit_done(const struct hit *hit, uint64_t fd, int64_t result)
{
	struct payload p;

	p.size = 0;
	put4(&p, (uint32_t)fd);
	put4(&p, (uint32_t)result);
	put8(&p, hit->caller);
	call_emit(hit, hit->call->event, &p);
}

/* {fd, size, caller} */
static inline void emit_move(const struct hit *hit, uint64_t fd, uint64_t size)
{
	struct payload p;

	p.size = 0;
	put4(&p, (uint32_t)fd);
	put8(&p, size);
	put8(&p, hit->caller);
	call_emit(hit, hit->call->event_before, &p);
}

/* {fd, size, result, caller} */
static inline void emit_moved(const struct hit *hit, uint64_t fd, uint64_t size,
			      int64_t result)
{
	struct payload p;

	p.size = 0;
	put4(&p, (uint32_t)fd);
	put8(&p, size);
	put8(&p, (uint64_t)result);
	put8(&p, hit->caller);
	call_emit(hit, hit->call->event, &p);
}

/* {dir, flags, caller, filename} */
static inline void emit_open(const struct hit *hit, uint64_t dir, uint64_t name,
			     uint64_t flags)
{
	struct {
		uint32_t dir, flags;
		uint64_t caller;
		uint8_t name[NAME_BYTES + SONDE_AGENT_APPEND_SLACK];
	} p;
	uint64_t byte;
	uint32_t nr = 0;

	p.dir = (uint32_t)dir;
	p.flags = (uint32_t)flags;
	p.caller = hit->caller;
	while (nr < NAME_BYTES - 1 && sonde_agent_load(name + nr, 1, &byte) &&
	       byte)
		p.name[nr++] = (uint8_t)byte;
	p.name[nr++] = 0;
	call_emit_bytes(hit, hit->call->event_before, (const uint8_t *)&p,
			(uint32_t)offsetof(__typeof__(p), name) + nr);
}

/* ---- calls that have begun ---- */

/* The thread's places up to the last that was ever taken; those behind are free.
 */
static inline uint32_t nr_used(const struct sonde_agent_thread *thread)
{
	uint32_t nr = sonde_load_relaxed(&thread->nr_used);

	return nr < SONDE_AGENT_PENDING_MAX ? nr : SONDE_AGENT_PENDING_MAX;
}

static inline struct sonde_agent_pending *
find_pending(struct sonde_agent_thread *thread, uint64_t stack)
{
	uint32_t nr = nr_used(thread);

	for (uint32_t i = 0; i < nr; i++)
		if (sonde_load_relaxed(&thread->pending[i].stack) == stack)
			return &thread->pending[i];
	return 0;
}

/* The pending call whose return address is where the hit's is, or NULL. */
static inline struct sonde_agent_pending *find_own(struct hit *hit)
{
	hit->thread = sonde_agent_thread(hit->agent);
	return hit->thread ? find_pending(hit->thread, hit->stack) : 0;
}

/* One that was never taken, or, if there is none, that of another call, which is
 * lost. */
SONDE_COLD static struct sonde_agent_pending *
take_another(struct sonde_agent *agent, struct sonde_agent_thread *thread)
{
	uint32_t nr = nr_used(thread);

	if (nr < SONDE_AGENT_PENDING_MAX) {
		/* A handler that comes in here may have raised it. Pairs with
		 * nothing: only the thread itself changes it. */
		(void)sonde_cmpxchg_acquire(&thread->nr_used, nr, nr + 1);
		return &thread->pending[nr];
	}
	sonde_add_relaxed(&agent->calls_lost, 1);
	return &thread->pending[thread->next++ % SONDE_AGENT_PENDING_MAX];
}

/* A place for a call whose return address is there. */
static inline struct sonde_agent_pending *
take_pending(const struct hit *hit, struct sonde_agent_thread *thread)
{
	struct sonde_agent_pending *free_one = 0;
	uint32_t nr = nr_used(thread);

	for (uint32_t i = 0; i < nr; i++) {
		uint64_t stack = sonde_load_relaxed(&thread->pending[i].stack);

		if (stack == hit->stack) /* of a call that never returned */
			return &thread->pending[i];
		if (!stack && !free_one)
			free_one = &thread->pending[i];
	}
	if (sonde_unlikely(!free_one))
		free_one = take_another(hit->agent, thread);
	/* First of all: a signal handler that comes in takes another. */
	sonde_store_relaxed(&free_one->stack, hit->stack);
	return free_one;
}

/* The call has begun with these arguments. */
static inline void call_begin(const struct hit *hit, uint64_t a, uint64_t b,
			      uint64_t c)
{
	struct sonde_agent_thread *thread =
		hit->thread ? hit->thread : sonde_agent_thread(hit->agent);
	struct sonde_agent_pending *pending;

	if (sonde_unlikely(!thread)) {
		sonde_add_relaxed(&hit->agent->calls_lost, 1);
		return;
	}
	pending = take_pending(hit, thread);
	sonde_barrier();
	thread->tid = sonde_agent_tid();
	pending->caller = hit->caller;
	pending->fp = hit->fp;
	pending->arguments[0] = a;
	pending->arguments[1] = b;
	pending->arguments[2] = c;
	pending->call = hit->call_index;
}

/* ---- which calls count ---- */

/* A jump from a function that is hooked goes on with that one's call, and one
 * from where it is to be passed over is none. */
static inline bool is_jumped_to(struct hit *hit)
{
	struct sonde_agent_pending *pending = find_own(hit);
	const struct sonde_agent_call *its;

	if (!pending)
		return false;
	its = &hit->agent->calls[pending->call];
	if (its->kind == SONDE_AGENT_CALL_PASS) {
		sonde_store_relaxed(&pending->stack, 0);
		return true;
	}
	return its != hit->call && pending->caller == hit->caller;
}

/* A call from the function's library, directly to it or to a function that ends
 * with a jump to it. */
static bool call_is_direct(const struct sonde_agent_call *call, uint64_t caller)
{
	/* NOLINTNEXTLINE(performance-no-int-to-ptr): of code, which ran */
	const uint8_t *code = (const void *)(uintptr_t)(caller - CALL_BYTES);
	int32_t distance;
	uint64_t target;

	if (caller < call->module + CALL_BYTES || code[0] != OP_CALL)
		return false;
	__builtin_memcpy(&distance, code + 1, sizeof(distance));
	target = caller + (uint64_t)(int64_t)distance;
	for (uint32_t i = 0; i < call->nr_ways; i++)
		if (target == call->ways[i])
			return true;
	return false;
}

static inline bool is_inner(struct hit *hit)
{
	const struct sonde_agent_call *call = hit->call;
	uint64_t caller = hit->caller;

	if (sonde_unlikely(caller - call->module <
			   call->module_end - call->module) &&
	    call_is_direct(call, caller))
		return true;
	if (sonde_unlikely(caller - call->loader <
			   call->loader_end - call->loader))
		return true;
	/* We try a lock. */
	if (sonde_unlikely(caller - (uint64_t)(uintptr_t)sonde_image_start <
			   (uint64_t)(sonde_image_data - sonde_image_start)))
		return true;
	return call->is_jumped_to && is_jumped_to(hit);
}

/* ---- entries ---- */

/*
 * glibc's trylock leaves a robust mutex locked for ever when it says that the
 * mutex is not recoverable, where lock does not.
 */
static bool call_is_robust(uint64_t mutex)
{
	uint64_t kind;

	return !sonde_agent_load(mutex + KIND_OFF, 4, &kind) ||
	       kind & KIND_ROBUST;
}

/* True: it is locked, or can't be, and the caller gets the result. */
static bool try_first(const struct hit *hit, bool is_mutex)
{
	uint64_t lock = hit->r->rdi;
	uint32_t result;

	if (!hit->call->helper || (is_mutex && call_is_robust(lock)))
		return false;
	result = (uint32_t)sonde_agent_call_there(hit->call->helper, lock);
	if (result == BUSY) {
		if (is_mutex)
			emit_one(hit, hit->call->event_busy, lock);
		else
			emit_rwlock(hit, hit->call->event_busy, lock);
		return false;
	}
	if (is_mutex)
		emit_locked(hit, lock, result);
	else
		emit_rwlocked(hit, lock, result);
	hit->r->rax = result;
	return true;
}

/* The bytes of so many vectors; what can't be read is none. */
static uint64_t vectors_size(uint64_t vectors, uint64_t nr)
{
	uint64_t sum = 0;
	uint64_t bytes;

	for (uint64_t i = 0; i < nr && i < VECTORS_MAX; i++)
		if (sonde_agent_load(vectors + i * 16 + 8, 8, &bytes))
			sum += bytes;
	return sum;
}

/* A struct msghdr. */
static uint64_t message_size(uint64_t message)
{
	uint64_t vectors;
	uint64_t nr;

	return sonde_agent_load(message + 16, 8, &vectors) &&
			       sonde_agent_load(message + 24, 8, &nr) ?
		       vectors_size(vectors, nr) :
		       0;
}

/* How much is to be moved. */
static uint64_t call_size(const struct hit *hit)
{
	const struct sonde_agent_call_registers *r = hit->r;

	switch (hit->call->kind) {
	case SONDE_AGENT_CALL_VECTOR:
		return vectors_size(r->rsi, r->rdx);
	case SONDE_AGENT_CALL_MESSAGE:
		return message_size(r->rsi);
	case SONDE_AGENT_CALL_SENDFILE:
		return r->rcx;
	default:
		return r->rdx;
	}
}

/* Of a descriptor. */
static void enter_io(const struct hit *hit)
{
	const struct sonde_agent_call_registers *r = hit->r;
	uint64_t size = 0;

	switch (hit->call->kind) {
	case SONDE_AGENT_CALL_DESCRIPTOR:
		emit_descriptor(hit, hit->call->event_before, r->rdi);
		break;
	case SONDE_AGENT_CALL_OPEN:
		emit_open(hit, HERE, r->rdi, r->rsi);
		break;
	case SONDE_AGENT_CALL_OPENAT:
		emit_open(hit, r->rdi, r->rsi, r->rdx);
		break;
	default:
		size = call_size(hit);
		emit_move(hit, r->rdi, size);
	}
	call_begin(hit, r->rdi, size, 0);
}

/* Calls of other kinds than enter() has. */
static __attribute__((noinline)) bool enter_another(const struct hit *hit)
{
	const struct sonde_agent_call *call = hit->call;
	const struct sonde_agent_call_registers *r = hit->r;
	bool is_mutex = call->kind == SONDE_AGENT_CALL_MUTEX_LOCK;

	switch ((enum sonde_agent_call_kind)call->kind) {
	case SONDE_AGENT_CALL_REALLOC:
	case SONDE_AGENT_CALL_COND_WAIT:
		emit_two(hit, call->event_before, r->rdi, r->rsi);
		break;
	case SONDE_AGENT_CALL_MUTEX_LOCK:
	case SONDE_AGENT_CALL_RWLOCK_LOCK:
		if (try_first(hit, is_mutex))
			return true;
		break;
	case SONDE_AGENT_CALL_FREE:
	case SONDE_AGENT_CALL_UNLOCK:
	case SONDE_AGENT_CALL_MALLOC:
	case SONDE_AGENT_CALL_CALLOC:
	case SONDE_AGENT_CALL_MEMALIGN:
	case SONDE_AGENT_CALL_POSIX_MEMALIGN:
	case SONDE_AGENT_CALL_MUTEX_TRYLOCK:
	case SONDE_AGENT_CALL_RWLOCK_TRYLOCK:
	case SONDE_AGENT_CALL_PASS:
		break;
	case SONDE_AGENT_CALL_MOVE:
	case SONDE_AGENT_CALL_VECTOR:
	case SONDE_AGENT_CALL_MESSAGE:
	case SONDE_AGENT_CALL_SENDFILE:
	case SONDE_AGENT_CALL_DESCRIPTOR:
	case SONDE_AGENT_CALL_OPEN:
	case SONDE_AGENT_CALL_OPENAT:
		enter_io(hit);
		return false;
	}
	call_begin(hit, r->rdi, r->rsi, r->rdx);
	return false;
}

/* The calls that programs make most are to cost the least. */
static inline bool enter(struct hit *hit)
{
	const struct sonde_agent_call *call = hit->call;
	uint32_t kind = call->kind;

	if (is_inner(hit))
		return false;
	if (kind == SONDE_AGENT_CALL_FREE || kind == SONDE_AGENT_CALL_UNLOCK) {
		if (hit->r->rdi || kind == SONDE_AGENT_CALL_UNLOCK)
			emit_one(hit, call->event, hit->r->rdi);
		return false;
	}
	if (kind != SONDE_AGENT_CALL_MALLOC)
		return enter_another(hit);
	call_begin(hit, hit->r->rdi, 0, 0);
	return false;
}

/* ---- returns ---- */

static void tell_memalign(const struct hit *hit, const uint64_t *a,
			  uint64_t error)
{
	uint64_t ptr = 0;

	if (!(uint32_t)error)
		(void)sonde_agent_load(a[0], 8, &ptr);
	emit_three(hit, hit->call->event, a[1], a[2], ptr);
}

/* What a system call gives: the result, or -errno. */
static int64_t call_outcome(const struct hit *hit, int64_t result)
{
	uint64_t where;
	uint64_t number;

	if (result != -1)
		return result;
	where = sonde_agent_call_there(hit->call->helper, 0);
	(void)sonde_agent_load(where, 4, &number); /* the thread's own */
	return -(int64_t)number;
}

/* Of a descriptor. */
static void leave_io(const struct hit *hit, const uint64_t *a, uint64_t result)
{
	switch (hit->call->kind) {
	case SONDE_AGENT_CALL_OPEN:
	case SONDE_AGENT_CALL_OPENAT:
		emit_descriptor(hit, hit->call->event,
				(uint64_t)call_outcome(hit, (int32_t)result));
		break;
	case SONDE_AGENT_CALL_DESCRIPTOR:
		emit_done(hit, a[0], call_outcome(hit, (int32_t)result));
		break;
	default:
		emit_moved(hit, a[0], a[1], call_outcome(hit, (int64_t)result));
	}
}

/* The call of `hit` has ended; a: the arguments that it began with. */
static void tell_end(const struct hit *hit, const uint64_t *a, uint64_t result)
{
	const struct sonde_agent_call *call = hit->call;
	bool is_busy = (uint32_t)result == BUSY;

	switch ((enum sonde_agent_call_kind)call->kind) {
	case SONDE_AGENT_CALL_MALLOC:
		emit_two(hit, call->event, a[0], result);
		break;
	case SONDE_AGENT_CALL_CALLOC:
	case SONDE_AGENT_CALL_MEMALIGN:
	case SONDE_AGENT_CALL_REALLOC:
		emit_three(hit, call->event, a[0], a[1], result);
		break;
	case SONDE_AGENT_CALL_POSIX_MEMALIGN:
		tell_memalign(hit, a, result);
		break;
	case SONDE_AGENT_CALL_MUTEX_TRYLOCK:
		if (is_busy)
			emit_one(hit, call->event_busy, a[0]);
		else
			emit_locked(hit, a[0], result);
		break;
	case SONDE_AGENT_CALL_RWLOCK_TRYLOCK:
		if (is_busy)
			emit_rwlock(hit, call->event_busy, a[0]);
		else
			emit_rwlocked(hit, a[0], result);
		break;
	case SONDE_AGENT_CALL_MUTEX_LOCK:
		emit_locked(hit, a[0], result);
		break;
	case SONDE_AGENT_CALL_RWLOCK_LOCK:
		emit_rwlocked(hit, a[0], result);
		break;
	case SONDE_AGENT_CALL_COND_WAIT:
		emit_wake(hit, a[0], a[1], result);
		break;
	case SONDE_AGENT_CALL_FREE:
	case SONDE_AGENT_CALL_UNLOCK:
	case SONDE_AGENT_CALL_PASS:
		break;
	case SONDE_AGENT_CALL_MOVE:
	case SONDE_AGENT_CALL_VECTOR:
	case SONDE_AGENT_CALL_MESSAGE:
	case SONDE_AGENT_CALL_SENDFILE:
	case SONDE_AGENT_CALL_DESCRIPTOR:
	case SONDE_AGENT_CALL_OPEN:
	case SONDE_AGENT_CALL_OPENAT:
		leave_io(hit, a, result);
		break;
	}
}

static void call_leave(struct hit *hit, const struct sonde_agent_probe *probe)
{
	struct sonde_agent_pending *pending = find_own(hit);
	struct sonde_agent_pending was;

	if (!pending)
		return;
	was = *pending;
	sonde_barrier();
	sonde_store_relaxed(&pending->stack, 0);
	if (probe->gives == SONDE_AGENT_GIVES_NOTHING) {
		sonde_add_relaxed(&hit->agent->calls_lost, 1);
		return;
	}
	hit->call = &hit->agent->calls[was.call];
	hit->call_index = was.call;
	hit->caller = was.caller;
	hit->fp = was.fp;
	tell_end(hit, was.arguments,
		 probe->gives == SONDE_AGENT_GIVES_ARGUMENT ? hit->r->rdi :
							      hit->r->rax);
}

/* ---- functions under a rule ---- */

static inline void begin_by_rule(void *ctx, uint64_t function, uint64_t begin,
				 uint32_t left_out)
{
	const struct hit *hit = ctx;
	struct payload p;

	p.size = 0;
	put8(&p, function);
	put8(&p, begin);
	put4(&p, left_out);
	call_emit(hit, hit->agent->event_begin, &p);
}

static inline void end_by_rule(void *ctx, uint64_t function, uint32_t left_out)
{
	const struct hit *hit = ctx;
	struct payload p;

	p.size = 0;
	put8(&p, function);
	put4(&p, left_out);
	call_emit(hit, hit->agent->event_end, &p);
}

static void tell_by_rule(struct hit *hit, const struct sonde_agent_probe *probe)
{
	const struct sonde_shadow_rule *rule = &hit->agent->rule;
	const struct sonde_shadow_hit event = {
		.function = probe->function,
		.stack = hit->stack,
		.ctx = hit,
		.begin = begin_by_rule,
		.end = end_by_rule,
	};
	struct sonde_shadow *shadow = sonde_agent_shadow(hit->agent);
	uint64_t now = rule->min_ticks ? sonde_clock_cpu() : 1;

	/* NOLINTNEXTLINE(performance-no-int-to-ptr): the stack's */
	hit->caller = *(const uint64_t *)(uintptr_t)hit->stack;
	if (probe->role == SONDE_AGENT_ROLE_BEGIN)
		sonde_shadow_enter(shadow, rule, &event, now);
	else
		sonde_shadow_leave(shadow, rule, &event, now);
}

/* ---- all hits ---- */

/* Of an allocation or a lock, where it begins. */
static __attribute__((noinline)) bool
call_entered(struct sonde_agent *agent, uint64_t index,
	     const struct sonde_agent_probe *probe,
	     struct sonde_agent_call_registers *r)
{
	struct hit hit = HIT(agent, index, probe, r);

	/* NOLINTNEXTLINE(performance-no-int-to-ptr): the stack's */
	hit.caller = *(const uint64_t *)(uintptr_t)hit.stack;
	return enter(&hit);
}

/* Of one of those that returns, one that is to be passed over, or a function
 * under a rule. */
static __attribute__((noinline)) bool
call_other(struct sonde_agent *agent, uint64_t index,
	   const struct sonde_agent_probe *probe,
	   struct sonde_agent_call_registers *r)
{
	struct hit hit = HIT(agent, index, probe, r);

	if (probe->role == SONDE_AGENT_ROLE_EXIT) {
		call_leave(&hit, probe);
		return false;
	}
	if (probe->role >= SONDE_AGENT_ROLE_BEGIN) {
		tell_by_rule(&hit, probe);
		return false;
	}
	/* NOLINTNEXTLINE(performance-no-int-to-ptr): the stack's */
	hit.caller = *(const uint64_t *)(uintptr_t)hit.stack;
	call_begin(&hit, 0, 0, 0); /* PASS */
	return false;
}

/* A record that the fast path can't make, or that has a call stack. */
SONDE_COLD static void
tell_function_slowly(struct sonde_agent *agent,
		     const struct sonde_agent_probe *probe,
		     const struct sonde_agent_call_registers *r)
{
	uint32_t state = sonde_agent_state_of(agent, probe->event);
	const uint64_t words[1 + SONDE_AGENT_APPEND_SLACK / 8] = {
		probe->function
	};
	uint64_t stack = r->rsp + probe->frame;

	if (sonde_unlikely(!state)) {
		sonde_agent_miss(agent);
		return;
	}
	/* NOLINTBEGIN(performance-no-int-to-ptr): the stack's */
	sonde_agent_append_from(
		state, words, SONDE_AGENT_INC(sizeof(words[0])),
		&(struct sonde_stacks_from){
			.pc = *(const uint64_t *)(uintptr_t)stack,
			.sp = stack + 8,
			.fp = r->rbp,
		});
	/* NOLINTEND(performance-no-int-to-ptr) */
}

/* A function's entry or exit. */
static __attribute__((noinline)) bool
call_function(struct sonde_agent *agent, uint64_t index,
	      const struct sonde_agent_probe *probe,
	      struct sonde_agent_call_registers *r)
{
	uint32_t state;

	if (!sonde_agent_is_wanted(agent, probe->event,
				   (const uint8_t *)&probe->function,
				   sizeof(probe->function))) {
		sonde_agent_pass_by(agent, index, probe->event,
				    (const uint8_t *)&probe->function,
				    sizeof(probe->function));
		return false;
	}
	sonde_agent_count(agent, index);
	state = sonde_agent_state_of(agent, probe->near.event);
	if (sonde_unlikely(!state || !sonde_agent_is_fast(agent, state)))
		tell_function_slowly(agent, probe, r);
	else
		sonde_agent_append_word(state, probe->near.word,
					probe->near.inc);
	return false;
}

/* Which of them is chosen before any register is saved. */
bool sonde_agent_call(uint64_t index, struct sonde_agent_call_registers *r)
{
	struct sonde_agent *agent = sonde_agent_self;
	const struct sonde_agent_probe *probe = &agent->probes[index];

	if (!sonde_agent_is_on(agent, probe))
		return false;
	if (probe->role == SONDE_AGENT_ROLE_ENTRY)
		return call_entered(agent, index, probe, r);
	if (probe->role < SONDE_AGENT_ROLE_BEGIN ||
	    sonde_unlikely(agent->rule.is_on))
		return call_other(agent, index, probe, r);
	return call_function(agent, index, probe, r);
}
