/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * abi.h - what /dev/sonde and its users say to one another.
 *
 *	/dev/sonde	INFO; SESSION -> a session
 *	session		SCOPE, CHANNEL -> a channel, START, STOP, MISSED
 *	channel		EVENT (-> an event, if wanted), STREAM -> a stream, DOOR
 *	event		ENABLE, DISABLE, EVENT_COUNTS
 *	stream		mmap; GET, PUT, FLUSH, STREAM_COUNTS
 *
 * Everything is a descriptor, and holds what it was made from: when the last
 * descriptor of a session is closed, by whom or whatever, all of it is gone.
 * An event without a descriptor of its own lives as long as its channel.
 *
 *	/dev/sonde-markN	write: a line into the channel that has this door
 *
 * Each structure begins with its size, so that it can grow: what the kernel
 * doesn't know must be 0 (-E2BIG), what the user doesn't know is not written.
 * Reserved members must be 0 (-EINVAL). Sizes and numbers are bounded here, and
 * checked by the kernel before anything is allocated.
 *
 * Records in streams are what source/source.h says: large headers, the context
 * `tid`, packed payload.
 *
 * Included by both sides.
 */
#ifndef KMOD_ABI_H
#define KMOD_ABI_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define SONDE_KMOD_DEVICE       "/dev/sonde"
#define SONDE_KMOD_VERSION      8

#define SONDE_KMOD_SUBBUF_MIN   4096u
#define SONDE_KMOD_SUBBUF_MAX   (4u << 20)
#define SONDE_KMOD_SUBBUFS_MIN  2u
#define SONDE_KMOD_SUBBUFS_MAX  1024u
#define SONDE_KMOD_MEMORY_MAX   (4ull << 30) /* of a session's channels */
#define SONDE_KMOD_CHANNELS_MAX 8u           /* of a session */
#define SONDE_KMOD_EVENTS_MAX   16384u       /* of a channel */
#define SONDE_KMOD_IDS_MAX      65534u
#define SONDE_KMOD_NAME_MAX     128u
#define SONDE_KMOD_CAPS_MAX     32u
#define SONDE_KMOD_TEXT_MAX     4096u  /* of one text or buffer */
#define SONDE_KMOD_RECORD_MAX   16384u /* of a record's payload */
#define SONDE_KMOD_TEXTS_MAX    256u   /* of a filter */
#define SONDE_KMOD_FILTER_MAX   65536u /* bytes of a program */
#define SONDE_KMOD_RETURNS_MAX  65536u /* of a kretprobe: calls in progress */
#define SONDE_KMOD_RETURNS      1024u
#define SONDE_KMOD_DOORS        16u   /* of all sessions together */
#define SONDE_KMOD_LINE_MAX     1024u /* bytes of a line; the rest is another */
#define SONDE_KMOD_ITEMS_MAX    32u   /* of a probe at an address */
#define SONDE_KMOD_WORDS_MAX    24u   /* of an item */
/* Of all filters at one point, everybody's, at most: about 1.5 ms, with
 * preemption off. An event whose filter is beyond is refused: -E2BIG. */
#define SONDE_KMOD_FILTERS_STEPS (1ull << 20)

enum sonde_kmod_clock {
	SONDE_KMOD_CLOCK_CPU = 0,
	SONDE_KMOD_CLOCK_MONOTONIC = 1,
};

#define SONDE_KMOD_HAS_KPROBES   1ull
#define SONDE_KMOD_HAS_FUNCTIONS 2ull /* fprobe or ftrace */
#define SONDE_KMOD_HAS_SYNTHETIC 4ull /* CPU clock: made from a narrow one */
#define SONDE_KMOD_HAS_NATIVE \
	8ull /* filters become machine code, if they can */
#define SONDE_KMOD_HAS_STACKS 16ull

struct sonde_kmod_info {
	__u32 size;
	__u32 version;       /* SONDE_KMOD_VERSION */
	__u32 nr_cpus;       /* possible ones: streams of a channel */
	__u32 has_cpu_clock; /* else sessions use CLOCK_MONOTONIC */
	__u64 features;
	__u32 nr_tracepoints;
	__u32 nr_sessions; /* now, everybody's */
	__u32 clock_bits;  /* of the counter that the CPU clock is made from */
	__u32 nr_leaving; /* probes that nobody uses and the kernel still has */
};

struct sonde_kmod_session {
	__u32 size;
	__u32 reserved;
	__s32 self[2]; /* processes left out (source/source.h); 0: none */
};

/* Before START. pid: whose tree; 0: everybody. */
struct sonde_kmod_scope {
	__u32 size;
	__s32 pid;
};

struct sonde_kmod_channel {
	__u32 size;
	__u32 mode; /* 0 discard, 1 overwrite */
	__u32 subbuf_bytes;
	__u32 nr_subbufs;
	__u32 clock; /* enum sonde_kmod_clock */
	__u32 reserved;
};

/* Where a captured value comes from. */
enum sonde_kmod_from {
	/* tracepoint's, function's or system call's argument `index`; of a
	 * system call's exit, 6 is the result */
	SONDE_KMOD_FROM_ARG,
	SONDE_KMOD_FROM_RESULT,  /* of a call or function */
	SONDE_KMOD_FROM_CURRENT, /* the address of the running task */
	SONDE_KMOD_FROM_REG,     /* 64-bit word `index` of pt_regs */
	SONDE_KMOD_FROM_STACK,   /* word `index` of the kernel's stack */
	SONDE_KMOD_FROM_CPU,     /* the CPU's number */
	SONDE_KMOD_FROM_NR,      /* the system call's number */
	SONDE_KMOD_FROM_NESTING, /* 0 thread, 1 softirq, 2 interrupt or NMI */
	SONDE_KMOD_FROMS,
};

/* What is recorded of it. */
enum sonde_kmod_kind {
	SONDE_KMOD_VALUE, /* `bytes` bytes: 1, 2, 4 or 8 */
	SONDE_KMOD_BYTES, /* `max` bytes at the address; 0 if it is bad */
	/* at most `max` bytes with its NUL; the kernel's, or the user's if the
	 * address is one of a user's */
	SONDE_KMOD_STRING,
	SONDE_KMOD_USTRING,  /* the user's, likewise */
	SONDE_KMOD_USTRINGS, /* the user's list, joined by blanks, one NUL */
	SONDE_KMOD_UBUFFER,  /* u32 length and bytes, `length` says how many */
	SONDE_KMOD_KINDS,
};

#define SONDE_KMOD_PATH_MAX      3u
#define SONDE_KMOD_LENGTH_RESULT 255u /* in `length`: the call's result */

/*
 * One piece of a payload. The value starts as `from` says; then for each step
 * of the path: add offset; and, but for the last step, load the 64-bit word
 * there (without faulting: 0 if it is bad). With a path, a VALUE is loaded from
 * where it leads; without one it is the value itself, cut to `bytes`. All other
 * kinds need an address: a path, or the value itself.
 * `is_compat` calls: pointers in lists are 32 bits wide.
 */
struct sonde_kmod_cap {
	__u8 kind;
	__u8 from;
	__u8 index;
	__u8 bytes;
	__u8 nr_path;
	__u8 length; /* UBUFFER: index of an argument, or _LENGTH_RESULT */
	__u16 max;   /* texts, bytes; 1 to SONDE_KMOD_TEXT_MAX. VALUE: added to
		      * it, as a __s16 (priorities are recorded less 100) */
	__s16 offset[SONDE_KMOD_PATH_MAX];
	__u8 from_bytes; /* 0: the value is as it is; 1, 2, 4: so wide, and */
	__u8 is_signed;  /* sign-extended from that; else zero-extended */
};

/*
 * What programs of a probe at an address (below) see: operations REGISTER whose
 * number is a word of pt_regs, or one of these, and READ_8 to READ_64, without
 * faulting.
 */
#define SONDE_KMOD_WORD_PLACE   24u /* what the event's `place` says */
#define SONDE_KMOD_WORD_CURRENT 25u /* the running task's address */

enum sonde_kmod_item_kind {
	SONDE_KMOD_ITEM_NUMBER, /* the program's value: 1, 2, 4 or 8 bytes */
	SONDE_KMOD_ITEM_MEMORY, /* so many bytes where the value says */
	SONDE_KMOD_ITEM_TEXT,   /* likewise, up to a NUL, which is among them */
	SONDE_KMOD_ITEM_WORDS,  /* without a program: words, 8 bytes of each */
	SONDE_KMOD_ITEM_KINDS,
};

/*
 * What such a probe collects, packed in the order of items; what can't be read is
 * zeros. Then, by the event's flags, a u64 for each MEMORY and TEXT, where it was, or 0
 * if it could not be read; and a u32 with a bit for each item that could not be.
 */
struct sonde_kmod_item {
	__u8 kind;
	__u8 nr_words; /* of WORDS; else 0 */
	__u16 bytes;   /* 8 for each word of WORDS */
	__u32 program_bytes;
	__u64 program; /* address of a program (expr/program.h); of WORDS: 0 */
	__u8 words[SONDE_KMOD_WORDS_MAX]; /* by the numbers of programs */
};

enum sonde_kmod_type {
	SONDE_KMOD_TRACEPOINT, /* `name` */
	/* `number`, SONDE_KMOD_COMPAT; ~0: unknown, which is all but those whose
	 * bit is set in `name`, which then isn't text: bit nr % 8 of byte
	 * nr / 8 */
	SONDE_KMOD_SYSCALL_ENTRY,
	SONDE_KMOD_SYSCALL_EXIT,
	/* `name`: symbol or symbol+offset. Or at an `address`: then it has items
	 * and no caps, and `name` is a tracepoint that it keeps on, or empty. That
	 * is for who may read the kernel's memory (CAP_PERFMON), else EPERM. */
	SONDE_KMOD_KPROBE,
	/* `name`: symbol. `number`: how many calls of it can be in progress,
	 * each on its way to a return that is recorded; 0: the default */
	SONDE_KMOD_KRETPROBE,
	SONDE_KMOD_FUNCTION, /* `name`: symbol; entry, by fprobe or ftrace */
	SONDE_KMOD_TYPES,
};

#define SONDE_KMOD_COMPAT   1u /* 32-bit call */
#define SONDE_KMOD_WANT_FD  2u /* return a descriptor */
#define SONDE_KMOD_DISABLED 4u /* until ENABLE */
/* A typed probe, if there is one for this tracepoint: it writes what
 * source/payloads.h says; caps say the same, for filters and where there is none. */
#define SONDE_KMOD_TYPED 8u
/* `name` is the tracepoint of a module's described event (sonde/kernel.h), which
 * tells the payload itself. Caps are for its filter only: of what kinds the
 * payload is, up to the last text that the filter calls for. Nothing is captured
 * by them, so what they say of sources isn't used; `max` is of BYTES only. */
#define SONDE_KMOD_DESCRIBED 16u
/* Of a probe at an address: what follows its items. */
#define SONDE_KMOD_ADDRESSES 32u
#define SONDE_KMOD_UNREAD    64u
/* With each record its call stack: of a tracepoint or a system call. */
#define SONDE_KMOD_STACK 128u
/* So such a name begins; then PROVIDER__EVENT. */
#define SONDE_KMOD_DESCRIBED_NAME "sonde1_"

struct sonde_kmod_event {
	__u32 size;
	__u32 type; /* enum sonde_kmod_type */
	__u32 id;   /* 1 to SONDE_KMOD_IDS_MAX, in the channel */
	__u32 flags;
	__u32 number;
	__u32 nr_caps;
	__u64 caps;   /* address of struct sonde_kmod_cap[nr_caps] */
	__u64 filter; /* address of a program (expr/program.h); 0: none */
	__u32 filter_bytes;
	__u32 nr_texts; /* of the filter's calls: where ref i finds its text */
	__u64 texts;    /* address of struct sonde_kmod_text[nr_texts] */
	char name[SONDE_KMOD_NAME_MAX];
	__u64 address; /* of a KPROBE; or 0 */
	__u64 place;
	__u64 items; /* address of struct sonde_kmod_item[nr_items] */
	__u32 nr_items;
	__u32 reserved;
};

/*
 * Before the payload of a record of an event with SONDE_KMOD_STACK, unaligned; and
 * before that payload, behind it, the frames: the kernel's, the innermost first, with
 * those of the tracer itself, none of a system call; then one of the program, the
 * address of its next instruction.
 */
struct sonde_kmod_stack {
	__u32 pid;
	__u16 bytes;     /* of the payload */
	__u8 nr_kernel;  /* SONDE_KMOD_STACK_FRAMES at most */
	__u8 nr_program; /* 1; or 0, of a thread of the kernel's */
};
#define SONDE_KMOD_STACK_FRAMES 40u

/* As struct sonde_condition_text (source/condition.h). */
struct sonde_kmod_text {
	__u32 offset;
	__u32 size;
	__u32 ordinal;
	__u32 reserved;
};

/* How an event's filter is judged. */
#define SONDE_KMOD_JUDGED_EARLY  1u /* before anything else is captured */
#define SONDE_KMOD_JUDGED_NATIVE 2u /* by machine code, not by the evaluator */

struct sonde_kmod_event_counts {
	__u32 size;
	__u32 judged; /* out: bits of SONDE_KMOD_JUDGED_; 0, too, without one */
	__u64 recorded;
	__u64 filtered; /* of a probe at an address: 0 */
	/* Of one at an address: hits that found no room in a buffer, or were too
	 * deep, which the session's counts have as well; and those whose condition
	 * met memory that can't be read, so that it was false. */
	__u64 lost;
	__u64 faults;
};

/* Events that belong to no stream. */
struct sonde_kmod_missed {
	__u32 size;
	__u32 reserved;
	__u64 deep; /* nested more deeply than there is room for */
	/* The kernel's count of missed kprobes and kretprobes, of each of the
	 * session's events while it was recorded. The kernel doesn't say whose
	 * calls those were: with a SCOPE it is the most that may be missing. */
	__u64 kprobes;
	__u64 tracked; /* SCOPE: tasks that found no room in the set */
	__u64 returns; /* of `kprobes`: too many calls were in progress */
	/* Places where sched_switch is away from another task than the one
	 * before it on its CPU was to: the kernel ran no probe for what was
	 * between. Without SCOPE, and by its typed probe only. */
	__u64 unseen;
};

struct sonde_kmod_stream {
	__u32 size;
	__u32 cpu;
};

/*
 * Gives the channel a door: each write() to SONDE_KMOD_DOOR_DEVICE with the number
 * that DOOR returns, N, is a record `id` in it, whoever writes: a u32, how many bytes
 * follow, and those. A file is of the session that had the door when it was opened
 * (ENXIO: none had). The write fails with EBADF while that session isn't active, when
 * it is gone, and if the line is lost, which is counted. Once for a channel (EBUSY);
 * ENOSPC: no door is left.
 */
struct sonde_kmod_door {
	__u32 size;
	__u32 id; /* 1 to SONDE_KMOD_IDS_MAX */
};

#define SONDE_KMOD_DOORS_NAME  "/dev/sonde-mark"
#define SONDE_KMOD_DOOR_DEVICE SONDE_KMOD_DOORS_NAME "%u"

/*
 * What GET gives and PUT takes: struct sonde_local_chunk (ring/local.h). GET
 * returns 1 and a chunk, or 0. PUT takes what GET gave last (EINVAL).
 */
struct sonde_kmod_chunk {
	__u32 size;
	__u32 bytes;
	__u64 offset; /* in the mapping */
	__u32 first;
	__u32 closed;
	__u64 seq;
	__u64 ts_begin;
	__u64 ts_end;
	__u64 events;
	__u64 discarded;
};

struct sonde_kmod_counts {
	__u32 size;
	__u32 reserved;
	__u64 delivered;
	__u64 lost_full;
	__u64 lost_size;
	__u64 lost_busy;
	__u64 overwritten;
	/* Of threads that died while they were recorded: sub-buffers that can't
	 * be read for that, each with an event that was never finished, and
	 * the other events in them. */
	__u64 damaged;
	__u64 lost_damaged;
};

#define SONDE_KMOD_IOC     0xf5
#define SONDE_KMOD_INFO    _IOWR(SONDE_KMOD_IOC, 1, struct sonde_kmod_info)
#define SONDE_KMOD_SESSION _IOW(SONDE_KMOD_IOC, 2, struct sonde_kmod_session)
#define SONDE_KMOD_SCOPE   _IOW(SONDE_KMOD_IOC, 3, struct sonde_kmod_scope)
#define SONDE_KMOD_CHANNEL _IOW(SONDE_KMOD_IOC, 4, struct sonde_kmod_channel)
#define SONDE_KMOD_START   _IO(SONDE_KMOD_IOC, 5)
#define SONDE_KMOD_STOP    _IO(SONDE_KMOD_IOC, 6)
#define SONDE_KMOD_MISSED  _IOWR(SONDE_KMOD_IOC, 7, struct sonde_kmod_missed)
#define SONDE_KMOD_EVENT   _IOW(SONDE_KMOD_IOC, 8, struct sonde_kmod_event)
#define SONDE_KMOD_STREAM  _IOW(SONDE_KMOD_IOC, 9, struct sonde_kmod_stream)
#define SONDE_KMOD_ENABLE  _IO(SONDE_KMOD_IOC, 10)
#define SONDE_KMOD_DISABLE _IO(SONDE_KMOD_IOC, 11)
#define SONDE_KMOD_EVENT_COUNTS \
	_IOWR(SONDE_KMOD_IOC, 12, struct sonde_kmod_event_counts)
#define SONDE_KMOD_GET   _IOWR(SONDE_KMOD_IOC, 13, struct sonde_kmod_chunk)
#define SONDE_KMOD_PUT   _IOW(SONDE_KMOD_IOC, 14, struct sonde_kmod_chunk)
#define SONDE_KMOD_FLUSH _IO(SONDE_KMOD_IOC, 15)
#define SONDE_KMOD_STREAM_COUNTS \
	_IOWR(SONDE_KMOD_IOC, 16, struct sonde_kmod_counts)
#define SONDE_KMOD_DOOR _IOW(SONDE_KMOD_IOC, 17, struct sonde_kmod_door)

#endif /* KMOD_ABI_H */
