/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * source.h - where events come from: one interface for all tracers of a kernel,
 * and for programs (session/arena_source.c).
 *
 * A source is opened with what the user selected, says which events it will
 * deliver and in which streams, is started, read, stopped, and closed. What it
 * delivers are pieces of streams, ready for the trace: records as
 * ring/layout.h has them in *large* streams, each
 *
 *	header	u16 id, u32 time; or u16 65535, u32 id, u64 time
 *	u32	the context `tid`: the thread that was running, 0 if idle
 *	u32	with has_stacks: the number of its call stack (callstacks.h),
 *	u32	and its process
 *	payload	packed, as the event's description says
 *
 * Ids are 1 + the event's index. Short times are the low 32 bits of the
 * session's clock, and extend the time of the record before; the first record
 * of a packet extends the packet's ts_begin. So a record is long if its time is
 * 2^32 ticks or more after that one. Times in a stream never go back.
 *
 * Sources, each in its folder:
 *
 *	tracefs/	the kernel's own trace buffers, converted as they are read
 *	bpf/		our rings, written by BPF programs
 *	module/		our rings, written by our own kernel module (src/kmod)
 *	sample/		samples of what runs, by the kernel's perf events, and
 *			what names call stacks; and these, of all sources, for
 *			each trace by a source of its own
 *	statedump/	not a tracer: the state of the system at an instant, as
 *			events
 *
 * Everything here is called by one thread, the recorder's. No call blocks for
 * long; open may take some tens of milliseconds.
 *
 * Accounts, for each stream, whatever the mode, at any time:
 *
 *	emitted = events delivered or yet to be read + lost_full + lost_size +
 *		  lost_unread + lost_damaged + lost_marks + overwritten
 *
 * where emitted ones are those that came to the source, and those that programs say
 * didn't (lost_marks; marks/table.h).
 *
 * Where events are tested as they are read, not all of them were wanted:
 * delivered ones were, lost ones are not known (`loses_unwanted`).
 *
 * and, for the source as a whole, `missed`: events that happened while their
 * program could not run, and that belong to no stream.
 */
#ifndef SOURCE_SOURCE_H
#define SOURCE_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <sonde/abi.h>

#include "base/text.h"
#include "ring/reader.h"
#include "source/probes.h"
#include "source/rules.h"

#define SONDE_SOURCE_FIRST_ID 1u

/* Whose activity is recorded. */
enum sonde_source_scope {
	SONDE_SOURCE_MACHINE, /* everybody's */
	/* A process, and whoever descends from it from then on: what its
	 * threads do; switches from and to them, wake-ups of them; what
	 * interrupts their CPU while they run. */
	SONDE_SOURCE_TREE,
	/* Processes that run already, and their descendants: those that join().
	 */
	SONDE_SOURCE_JOINED,
};

struct sonde_callstacks_store; /* source/callstacks.h */
struct sonde_callstacks_places;
struct sonde_perf_code;   /* source/sample/mapped_code.h */
struct sonde_marks_taken; /* source/marks/table.h */

/* Marks that programs write to a source's door. */
struct sonde_source_marks {
	/* Whether it is recorded; NULL: each is. */
	bool (*wants)(void *ctx, const struct sonde_marks_taken *mark,
		      uint32_t tid, uint32_t cpu);
	void *ctx;
};

struct sonde_source_config {
	struct sonde_source_rules *rules; /* borrowed while open */
	enum sonde_source_scope scope;
	enum sonde_ring_mode mode;
	uint64_t memory_bytes; /* for all buffers of the source together */
	uint32_t subbuf_bytes; /* 0: choose; else a power of two */
	enum sonde_clock_kind clock; /* of the records' times */
	uint64_t (*now)(void);       /* that clock, now */
	/* Processes (not threads) whose own activity is left out: system calls,
	 * faults and all else that names them as running, but for switches and
	 * wake-ups, which tell of others' time too. 0: nobody. */
	pid_t self[2];
	uint64_t session; /* a random number, for names in the system */
	/* Bytes of a user's string, and of a buffer read or written by a system
	 * call, that are recorded at most; 0: none, where it can be chosen. */
	uint32_t string_bytes;
	uint32_t buffer_bytes;
	/* Calls of a kretprobe's function that can be in progress; 0: choose
	 * (sonde_source_returns() in selected.h). */
	uint32_t returns;
	/* Probes at the kernel's functions, which "modules" can have, and "bpf";
	 * what they refer to is borrowed until close. */
	const struct sonde_source_probe *probes;
	uint32_t nr_probes;
	struct sonde_source_variables *variables; /* of theirs; or NULL */
	/* Samples of what runs, of each CPU and second; 0: none. */
	uint32_t sample_hz;
	/* Call stacks of events: so many frames of the program at most, and all
	 * of the kernel's in reason; 0: none. Where they are kept, which is
	 * choose.c's; NULL: none. "bpf" and "tracefs" can have them. */
	uint32_t stack_frames;
	struct sonde_callstacks_store *stacks;
	/* With them, what unwinds them; the samples' source tells it what processes
	 * map. */
	struct sonde_perf_code *code;
	/* Marks are taken; borrowed until close. NULL: there is no door. */
	const struct sonde_source_marks *marks;
	/* Events another source delivers already; by the kernel's names. NULL:
	 * none. */
	bool (*is_taken)(void *ctx, const char *group, const char *name);
	void *ctx;
	/* Deliver only what this source is best at; the rest is for another. */
	bool only_best;
	/* What keeps this user or kernel from a part ("tracefs", "bpf",
	 * "kprobes", "uprobes"), and what helps, in one line; false: nothing is
	 * known. NULL: sources have words of their own. */
	bool (*explain)(const char *part, char *text, size_t size);
};

/* What went wrong, for the user: what, which limit, and the remedy; one line.
 * The remedy is a command to be pasted, which must not be cut: two sources'
 * lacks with their remedies fit. */
#define SONDE_SOURCE_TEXT 1000

struct sonde_source_error {
	char text[SONDE_SOURCE_TEXT];
};

/* Fills in the text; returns `rc`. */
#define sonde_source_fail sonde_text_fail

/* What config->explain() says of a part, if it can; the size of `text` is
 * SONDE_SOURCE_WHY. */
#define SONDE_SOURCE_WHY 404
bool sonde_source_explain(const struct sonde_source_config *config,
			  const char *part, char text[SONDE_SOURCE_WHY]);

struct sonde_source_stream {
	uint32_t cpu;
	uint64_t first; /* number of its first sub-buffer */
	char name[24];  /* of its files: "cpu0", "cpu0_nested1", "dump" */
	/* Its events say what numbers in others' mean, and don't count as events
	 * that were recorded; lost ones count. */
	bool defines;
};

/* Which events of programs are selected (types/select.h). */
struct sonde_source_change {
	const char *rules; /* borrowed during the call */
	size_t rules_size;
	uint32_t loglevel;
};

struct sonde_source_counts {
	uint64_t delivered;    /* by peek and advance */
	uint64_t lost_full;    /* no room in the buffer */
	uint64_t lost_size;    /* larger than a sub-buffer takes */
	uint64_t lost_unread;  /* recorded, but the kernel doesn't give them */
	uint64_t lost_damaged; /* with threads that died; at least */
	uint64_t lost_marks;   /* before they came here, as programs say */
	uint64_t overwritten;
	uint64_t committed; /* ever, by those that write; 0: isn't known */
	uint64_t cleared;   /* of them, those before clear() */
};

/* What a state dump is to hold. */
struct sonde_source_state {
	/* Files and mappings of these processes and their descendants only,
	 * those that still run; borrowed. None: of all. */
	const pid_t *roots;
	size_t nr_roots;
	/* Nothing but files and mappings of the one root alone: after an exec. */
	bool root_only;
	bool symbols; /* the kernel's functions and their addresses, as well */
	/* After so long no other process's files are looked at; 0: choose. */
	uint64_t limit_ns;
};

/* Which events of a source one trace has. Zeroed at first; the source's. */
struct sonde_source_known {
	bool begun;
	bool pending;    /* ids without a description at the last look */
	uint32_t nr_ids; /* that there were then */
	uint32_t nr;
	uint8_t *events; /* the caller's: a flag by index, */
	uint8_t *ids;    /* and one by id */
	int (*add)(void *ctx, uint32_t id, const struct sonde_desc *desc);
	void *ctx;
};

struct sonde_source {
	const struct sonde_source_ops *ops;
	/* What is counted as lost holds events that weren't asked for. */
	bool loses_unwanted;
	bool has_stacks; /* of its events, by their numbers; "stacks" tells them */
	/* Of config.memory_bytes, what no buffer is made of. */
	uint64_t unused_bytes;
	/* What it can't tell of all that was asked for; NULL: nothing. */
	const char *note;
};

struct sonde_source_ops {
	const char *name; /* "tracefs", "bpf", "modules", "dump", "program" */
	/* A process writes its streams, which may be hostile, and loses its own
	 * events: the first contradiction is the end of all of them. */
	bool is_foreign;
	/* It delivers state, when it is told to, and no event that was selected:
	 * to be read at once, whatever the mode. */
	bool is_state;
	/* Overwrite mode: it can be read before stop, too, after rewind, and what
	 * was read is gone from its buffers: who wants it again keeps it. */
	bool is_read_once;

	/*
	 * Get ready, with nothing recorded yet. 0; -ENODATA if it has no event
	 * that is selected and not taken; else -errno with *error:
	 * -EPERM, -EACCES, -ENOSYS, -ENODEV if this user or kernel can't,
	 * -EINVAL for a condition that makes no sense for its event.
	 */
	int (*open)(const struct sonde_source_config *config,
		    struct sonde_source **ret_source,
		    struct sonde_source_error *error);

	/* Known from open to close. The description's provider is the kernel's
	 * group; its name is what the trace says, which is LTTng's
	 * (source/names.h). NULL: there are none such. */
	uint32_t (*nr_events)(const struct sonde_source *source);
	const struct sonde_desc *(*event)(const struct sonde_source *source,
					  uint32_t index);
	/* If events come while it records: tells `known` of those, besides the
	 * ones above, that have an id by now. 0, or the first error: add()'s, or
	 * -EPROTO. */
	int (*describe)(struct sonde_source *source,
			struct sonde_source_known *known);
	/* Whether it delivers the kernel's event group:name; system calls are
	 * "syscalls" and the call's name. NULL: nobody is asked after it, or it
	 * has none of the kernel's. */
	bool (*has)(const struct sonde_source *source, const char *group,
		    const char *name);

	/* The path of a file: a line that is written to it, by one call, is a mark
	 * (marks/mark.h). Borrowed. NULL, or it returns NULL: it has none. */
	const char *(*door)(const struct sonde_source *source);

	uint32_t (*nr_streams)(const struct sonde_source *source);
	void (*stream)(const struct sonde_source *source, uint32_t index,
		       struct sonde_source_stream *ret_stream);

	/* Record from now on; `root` if the scope is a tree: it exists, and
	 * waits until this has returned. 0 or -errno with *error. NULL, as of
	 * stop(): nothing happens by itself. */
	int (*start)(struct sonde_source *source, pid_t root,
		     struct sonde_source_error *error);
	/* With scope JOINED, before start() and after: this process is recorded,
	 * too; again: its threads that are new. 0; -ESRCH: it has ended; or
	 * -errno with *error. NULL: it has no such scope. */
	int (*join)(struct sonde_source *source, pid_t pid,
		    struct sonde_source_error *error);
	/* Before stop(): records no more, as soon as can be; what takes longer, to
	 * wait for writers and to take out what was put in, is stop()'s. So sources
	 * of one trace end together: each is halted, then each stopped. NULL: stop()
	 * takes no time to speak of. */
	void (*halt)(struct sonde_source *source);
	/* Nothing is recorded any more when this has returned. */
	void (*stop)(struct sonde_source *source);

	/* Collects the state of the system. 0 or -ENOMEM; what was collected
	 * before an error is delivered. NULL: this source has none. */
	int (*take)(struct sonde_source *source,
		    const struct sonde_source_state *state);

	/* What is recorded, from now on: the rules of another configuration.
	 * 0, or -errno with *error and nothing changed. NULL: it can't. */
	int (*change)(struct sonde_source *source,
		      const struct sonde_source_change *change,
		      struct sonde_source_error *error);

	/* Once in each of the recorder's rounds, before peek. NULL: nothing is
	 * to be looked after. */
	void (*tick)(struct sonde_source *source);

	/*
	 * As sonde_ring_peek() and its kin (ring/reader.h): 1 and a chunk, 0,
	 * -ESTALE or -EPROTO. A chunk is borrowed until the next call about its
	 * stream. advance() also gives room back to the writer, in discard
	 * mode.
	 */
	int (*peek)(struct sonde_source *source, uint32_t stream,
		    struct sonde_ring_chunk *ret_chunk);
	void (*advance)(struct sonde_source *source, uint32_t stream,
			const struct sonde_ring_chunk *chunk);
	/* Overwrite mode, after stop: what was written last is read then.
	 * rewind() goes before the first peek; 1, 0 (nothing) or -EPROTO. */
	int (*rewind)(struct sonde_source *source, uint32_t stream);
	/* Overwrite mode: whether nobody has written to the chunk since peek.
	 * With it, rewind and peek are possible before stop, too. NULL: chunks
	 * stay as they are. */
	bool (*verify)(const struct sonde_source *source, uint32_t stream,
		       const struct sonde_ring_chunk *chunk);

	/* Overwrite mode: drops what the buffers hold, and goes on. 0 or -EPROTO.
	 * NULL: it can't. */
	int (*clear)(struct sonde_source *source);

	/* config.stacks has turned: what wasn't delivered yet, or may be again,
	 * gets the numbers of its call stacks anew. Returns how many events had
	 * none. NULL: it has them as it is read. */
	uint64_t (*renumber)(struct sonde_source *source);
	/* Overwrite mode, of a source that is read once, and has stacks: where in
	 * the chunk that peek gave the numbers of its stacks are, four bytes
	 * each. Borrowed, until the next call about its stream. */
	const struct sonde_callstacks_places *(*places)(
		const struct sonde_source *source, uint32_t stream);

	/* Discard mode: what is written from now on is to be readable without
	 * what was before (sonde_ring_part() and its kin). NULL: it can't. */
	void (*part)(struct sonde_source *source, uint32_t stream);
	bool (*is_parted)(const struct sonde_source *source, uint32_t stream);

	/* Bytes a stream's buffer holds: how fast it must be read. */
	uint64_t (*capacity)(const struct sonde_source *source,
			     uint32_t stream);
	/* Exact after stop. */
	void (*counts)(struct sonde_source *source, uint32_t stream,
		       struct sonde_source_counts *ret_counts);
	/* NULL: there are none such. */
	uint64_t (*missed)(struct sonde_source *source);
	/* After stop: why hits of config.probes may be missing that are in no
	 * count; static. NULL, or it gives NULL: none are. */
	const char *(*uncounted)(const struct sonde_source *source);
	/* Processes of the tree that could not be followed: nothing of theirs
	 * is recorded, or counted. NULL: there are none such. */
	uint64_t (*unfollowed)(struct sonde_source *source);
	/* Events whose call stacks have no more of the program than where it was:
	 * the buffers were half full. After stop. NULL: there are none such. */
	uint64_t (*shortened)(struct sonde_source *source);
	/* Places where a switch of threads is away from another one than the
	 * one before it on its CPU was to: the kernel didn't tell of what was
	 * between. Only if all switches are recorded. NULL: not counted. */
	uint64_t (*unseen)(struct sonde_source *source);
	/* Of those: returns that no kretprobe saw, for more calls than
	 * config.returns were in progress. NULL: this source can't tell. */
	uint64_t (*missed_returns)(struct sonde_source *source);
	/* After stop: how often the condition of the i-th of config.probes met
	 * memory that can't be read, and counted as false. NULL: it has none. */
	uint64_t (*unread)(const struct sonde_source *source, uint32_t i);
	/* How far times may be off, in nanoseconds. After stop. NULL: they are
	 * the clock's own. */
	uint64_t (*clock_error_ns)(const struct sonde_source *source);

	/* Leaves nothing behind in the system. NULL is fine. */
	void (*close)(struct sonde_source *source);
};

extern const struct sonde_source_ops sonde_source_tracefs;
extern const struct sonde_source_ops sonde_source_bpf;
extern const struct sonde_source_ops sonde_source_modules;
extern const struct sonde_source_ops sonde_source_samples;
/* Of one trace: the stacks that its events have by their numbers (sample/stacks.c),
 * from the last turn of config->stacks on. */
extern const struct sonde_source_ops sonde_source_stacks;

#endif /* SOURCE_SOURCE_H */
