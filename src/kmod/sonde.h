/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * sonde.h - the module's parts, to one another.
 *
 *	main.c		load, unload, the device and its ioctls (INFO)
 *	descriptor.c	what all ioctls have in common
 *	session.c	sessions, channels: descriptors, life, start and stop
 *	stream.c	rings of a channel: memory, mmap, CPU hotplug
 *	door.c		devices that lines are written to, each a channel's
 *	event.c		events: what the user asked for, checked, and bound to
 *			a point
 *	point.c		points: where events come from; register, unregister
 *	tracepoint.c	which tracepoints there are
 *	capture.c	payloads by capture lists, user strings
 *	typed.c		typed probes of the hottest tracepoints
 *	described.c	the probe of other modules' described events
 *	syscall.c	the probes of sys_enter and sys_exit
 *	kprobe.c	kprobes, kretprobes, functions
 *	filter.c	conditions: the verifier and evaluator of expr/
 *	native.c	conditions as machine code
 *	seeing.c	programs that see a kprobe's registers and memory
 *	items.c		what a probe at an address collects by them
 *	tree.c		who is in a session's tree
 *	clock.c		the CPU's counter, or the synthetic clock
 *
 * ## Who may touch what
 *
 * Control (ioctls, close) holds `sonde_control`, one mutex for all. Probes take
 * nothing: they find events in RCU lists, and what hangs on an event (captures,
 * filter, rings) is complete before the event is in its list, does not change,
 * and is freed a grace period after it was taken out. Probes run with
 * preemption off (tracepoint_synchronize_unregister() and synchronize_rcu() wait
 * for them), never sleep, fault, wake, lock, allocate, or call what can be
 * traced.
 *
 * Start: session->active is set (release), then a grace period passes: when
 * START returns, every probe that runs sees the session. Stop likewise.
 *
 * A probe, for each event in the point's list:
 *
 *	if (!sonde_event_wants(event)) continue;	active, scope, self
 *	filter, on the arguments or on a staged payload
 *	at = sonde_local_reserve(...); payload; sonde_local_commit(...)
 *
 * Nesting: sonde_enter() gives a level (0 to 3) and its scratch memory, or
 * none: then the event is counted in `deep`. Fixed-size payloads without a
 * filter need no scratch and no level.
 */
#ifndef KMOD_SONDE_H
#define KMOD_SONDE_H

#include <linux/cpumask.h>
#include <linux/fs.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/ptrace.h>
#include <linux/rculist.h>
#include <linux/sched.h>

#include "kmod/abi.h"
#include "kmod/clock.h"
#include "kmod/native.h"
#define SONDE_LOCAL_NOW(ring)      sonde_now(&(ring)->clock)
#define SONDE_LOCAL_IS_ALONE(ring) sonde_is_alone()
#define SONDE_LOCAL_EPOCH(ring)    sonde_epoch()

/* A probe that holds the only count there is interrupts none: each has one of
 * its own, and interrupts have theirs. Not where nobody counts. */
static __always_inline bool sonde_is_alone(void)
{
	return IS_ENABLED(CONFIG_PREEMPT_COUNT) &&
	       preempt_count() == PREEMPT_OFFSET;
}

/* A task's stay on its CPU: the scheduler counts before each switch, where no
 * probe runs that it could interrupt. */
static __always_inline u64 sonde_epoch(void)
{
	return (u64)(u32)current->pid << 32 |
	       (u32)(current->nvcsw + current->nivcsw);
}

#include "ring/local.h"

#define SONDE_LEVELS 4

extern struct mutex sonde_control;

/* Of a session, on one CPU. */
struct sonde_session_cpu {
	u64 deep;
	u64 unseen; /* switches that the one before doesn't lead to */
	/* Whom the last switch was to, to be compared only; NULL: not known. */
	const void *next;
};

struct sonde_session {
	struct kref ref;
	struct list_head channels;
	u32 nr_channels;
	u64 memory;
	u32 active; /* read by probes */
	union {
		s32 self[2];
		u64 has_self; /* not 0: there is one */
	};
	struct sonde_tree *tree; /* NULL: everybody (tree.c) */
	struct sonde_session_cpu __percpu *cpus;
	u32 was_started; /* once: its scope is fixed */
	u32 nr_switches; /* of `active` */
	/* Of its kprobes and kretprobes, while it was active. */
	u64 missed_calls;
	u64 missed_returns;
};

/* What the kernel counts at a kprobe or kretprobe, for whoever uses it. */
struct sonde_misses {
	u32 calls;   /* it could not run: another one did */
	u32 returns; /* too many calls were in progress */
};

struct sonde_channel {
	struct kref ref;
	struct sonde_session *session; /* a reference */
	struct list_head in_session;
	struct list_head events; /* struct sonde_event.in_channel */
	u32 nr_events;
	u32 clock;
	u32 mode;
	u32 subbuf_bytes;
	u32 nr_subbufs;
	/* By possible CPU; complete before the channel is found, then constant. */
	struct sonde_local_ring __percpu *rings;
	struct sonde_stream **streams; /* stream.c's, by CPU */
	/* door.c's, constant from when it has one. */
	unsigned long door_key; /* 0: none */
	u32 door;
	u32 door_id;
};

/* Of an event: how many were recorded and filtered, per CPU. */
struct sonde_event_count {
	u64 recorded;
	u64 filtered;
	/* of a probe at an address */
	u64 lost;
	u64 faults;
};

/* Whether the kernel walks stacks for modules. */
#define SONDE_HAS_STACKS IS_ENABLED(CONFIG_STACKTRACE)

struct sonde_event {
	/* what probes read first */
	struct list_head in_point; /* RCU */
	struct sonde_session *session;
	struct sonde_local_ring __percpu *rings;
	u32 id;
	u32 enabled;
	u32 fixed_bytes; /* of the payload if is_fixed */
	u8 is_fixed;     /* no texts, no buffers, no call stacks */
	u8 nr_caps;
	u8 is_plain; /* nothing but arguments, no filter, no call stacks */
	u8 counts_rejected;        /* by a kprobe\'s condition */
	u8 stack_frames;           /* at most, of the kernel's half */
	struct sonde_items *items; /* of a probe at an address; else NULL */
	const struct sonde_filter *filter;        /* NULL: none */
	struct sonde_event_count __percpu *count; /* only with WANT_FD */
	const struct sonde_kmod_cap *caps;
	/* Of a kprobe, if it is asked first: its condition (native.h), or what always
	 * holds, if there is none; else NULL. */
	sonde_native_run run;
	const struct bpf_insn *code;
	/* With call stacks: the rings, where `rings` have no room for anything. */
	struct sonde_local_ring __percpu *stacked;
	/* what they don't */
	struct sonde_point *point;
	struct sonde_channel *channel; /* a reference with WANT_FD */
	struct list_head in_channel;
	u64 bytes;                  /* charged to the session */
	struct sonde_misses misses; /* its point's, when it was settled last */
	bool is_charged;            /* what is missed from then on */
	struct rcu_head rcu;
};

/*
 * What a probe knows at its point: what captures may ask for. args: registers
 * of the probe's call, or the system call's arguments.
 */
struct sonde_site {
	const u64 *args;
	u32 nr_args;
	u32 number; /* of the system call */
	u64 result;
	struct pt_regs *regs; /* NULL: there are none */
	bool is_compat;
};

/* ---- tracepoint.c ---- */

/* How many there are; takes sonde_control. */
u32 sonde_tracepoint_count(void);

/* ---- descriptor.c ---- */

/* A structure of `bytes`, beginning with its size, from the address `from` of
 * the user's: zero-extended; -EFAULT, -EINVAL, -E2BIG. */
int sonde_copy_in(void *to, size_t bytes, unsigned long from);
/* To the user's, as much of it as the size that stands there says; sets the size
 * in *from. -EFAULT, -EINVAL. */
int sonde_copy_out(unsigned long to, void *from, size_t bytes);
/* A new descriptor, or -errno. `data` is its own from when this has succeeded,
 * and may be gone by then. */
int sonde_open_fd(const char *name, const struct file_operations *fops,
		  void *data);

/* ---- session.c ---- */

/* A descriptor, or -errno. */
int sonde_session_open(const struct sonde_kmod_session *request);
u32 sonde_sessions_nr(void);
/* Of SONDE_KMOD_MEMORY_MAX. 0 or -ENOSPC; under sonde_control. */
int sonde_session_charge(struct sonde_session *session, u64 bytes);
void sonde_session_uncharge(struct sonde_session *session, u64 bytes);
/* Of all its rings. */
u64 sonde_channel_bytes(const struct sonde_channel *channel);
/* Not under sonde_control; may wait for a grace period. */
void sonde_channel_put(struct sonde_channel *channel);

/* ---- stream.c ---- */

/* All rings of a channel, memory populated. 0 or -ENOMEM. */
int sonde_streams_make(struct sonde_channel *channel);
/* After a grace period: no probe uses them. */
void sonde_streams_free(struct sonde_channel *channel);
/* No probe writes: whoever has not committed is dead. */
void sonde_streams_quiet(struct sonde_channel *channel);
/* A descriptor for the stream of that CPU, or -errno. */
int sonde_stream_open(struct sonde_channel *channel, u32 cpu);

/* ---- door.c ---- */

struct class;

/* SONDE_KMOD_DOOR: its number, or -errno. */
long sonde_door_open(struct sonde_channel *channel, unsigned long arg);
/* If it has one: who writes from now on doesn't find the channel. Under
 * sonde_control. */
void sonde_door_close(struct sonde_channel *channel);
/* The devices, SONDE_KMOD_DOORS numbers from `first` on. 0 or -errno. */
int sonde_doors_init(struct class *class, dev_t first);
void sonde_doors_exit(struct class *class);

/* ---- event.c ---- */

/* SONDE_KMOD_EVENT: a descriptor if one is wanted, else 0; or -errno. */
int sonde_channel_add_event(struct sonde_channel *channel, unsigned long arg);
/* Out of its lists; freed after a grace period, which it doesn't wait for. Under
 * sonde_control. */
void sonde_event_drop(struct sonde_event *event);

/* ---- point.c, syscall.c, kprobe.c ---- */

/* The point of that name and type, registered with the first event; the event
 * is in its list when this returns 0. */
int sonde_point_add(struct sonde_event *event,
		    const struct sonde_kmod_event *from);
/* Takes it out: no probe that begins now sees it. With its last event a point
 * goes, later, by a work item: nobody waits for that. */
void sonde_point_remove(struct sonde_event *event);
/* Points without an event that the kernel still calls, or may. */
u32 sonde_points_nr_leaving(void);
/* Waits if those take too much memory. Not under sonde_control. */
void sonde_points_make_room(void);
/* What such an event costs the kernel beside its own memory. */
u64 sonde_point_bytes(const struct sonde_kmod_event *from);
/* Charges the session with what its point missed since the last time, if the
 * event was to be recorded then. After each change of session->active and
 * event->enabled, and before the counts are read; under sonde_control. */
void sonde_event_settle(struct sonde_event *event);
/* Of a kretprobe that has room for so many calls in progress; 0: the default. */
u64 sonde_kretprobe_bytes(u32 number);
int sonde_points_init(void);
void sonde_points_exit(void);

/* ---- stack.c ---- */

/* Of an event with its rings: from now on it has call stacks, if it is to. */
void sonde_event_stack(struct sonde_event *event,
		       const struct sonde_kmod_event *from);
/* Of one that has: by its payload, if that is at most SONDE_KMOD_RECORD_MAX bytes; or
 * it is lost, and counted. Preemption off. */
void sonde_event_record_stacked(const struct sonde_event *event,
				const unsigned char *payload, u32 bytes);

/* ---- capture.c ---- */

/* Whether how many bytes it takes is known only then. */
static __always_inline bool sonde_cap_varies(const struct sonde_kmod_cap *cap)
{
	return cap->kind != SONDE_KMOD_VALUE && cap->kind != SONDE_KMOD_BYTES;
}

/* Checks a list once; sets fixed_bytes and is_fixed. 0 or -EINVAL. */
int sonde_caps_check(const struct sonde_kmod_cap *caps, u32 nr, u32 *ret_bytes,
		     u8 *ret_is_fixed);
/* ---- filter.c ---- */

struct sonde_filter;
struct sonde_program;
struct sonde_program_state;
/* A user's program of so many bytes, verified, with what the verifier found; 0, or
 * -errno. Both are for kvfree() in any case, and NULL before. May sleep. */
int sonde_filter_copy_program(u64 from, u32 bytes,
			      struct sonde_program **ret_program,
			      struct sonde_program_state **ret_states);
int sonde_filter_make(const struct sonde_kmod_event *from,
		      const struct sonde_kmod_cap *caps, u32 nr_caps,
		      struct sonde_filter **ret_filter);
void sonde_filter_free(const struct sonde_filter *filter);
/* Bits of SONDE_KMOD_JUDGED_; 0 if there is none. */
u32 sonde_filter_judged(const struct sonde_filter *filter);

/* ---- tree.c ---- */

/* The tree of `pid` as it is now; from now on who is born in it is in it. Both
 * take sonde_control, and wait for grace periods without it. */
int sonde_tree_make(pid_t pid, struct sonde_tree **ret_tree);
void sonde_tree_free(struct sonde_tree *tree); /* NULL is fine */
u64 sonde_tree_bytes(void);
bool sonde_tree_has(const struct sonde_tree *tree,
		    const struct task_struct *task);
u64 sonde_tree_lost(const struct sonde_tree *tree);

/* ---- clock.c ---- */

int sonde_clock_init(void);
void sonde_clock_exit(void);

#endif /* KMOD_SONDE_H */
