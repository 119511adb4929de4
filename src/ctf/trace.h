/* SPDX-License-Identifier: MIT */
/*
 * trace.h - write a CTF trace directory that is valid at every instant.
 *
 * A trace is a directory: `metadata` (text, of CTF 1.8 or 2), stream files,
 * which are the same for both, and `index/`. Life:
 *
 *	sonde_ctf_trace_create()
 *	  sonde_ctf_trace_add_class()		a traced process image
 *	  sonde_ctf_trace_add_event()		what it may record, at any time
 *	  sonde_ctf_stream_open()		one of its rings
 *	    sonde_ctf_packet_begin()
 *	      sonde_ctf_packet_append()		bytes, seen by nobody yet
 *	      sonde_ctf_packet_publish()	all bytes so far are in the trace
 *	      ... append, publish ...
 *	    sonde_ctf_packet_begin()		ends the packet before
 *	    ...
 *	  sonde_ctf_stream_close()
 *	sonde_ctf_trace_close()
 *
 * Whenever the process dies, by any signal and between any two instructions,
 * the directory is a trace that babeltrace2 reads without error or warning and
 * that holds everything published. docs/trace-format.md says how; if nobody
 * closed it, files are longer than need be (sparse) and there is no index:
 * sonde_ctf_repair_at() mends that.
 *
 * Errors: 0 or -errno. After an error (-ENOSPC, -EDQUOT, -EIO ...) everything
 * published before is still valid; what could not be written is simply not in
 * the trace, and the caller counts it. Every call may be tried again.
 *
 * A process with a limit on file sizes (RLIMIT_FSIZE) must ignore SIGXFSZ.
 *
 * Threads: one at a time per trace. Nothing here starts a thread, and no call
 * keeps a pointer it was given, but those to the trace and the stream.
 */
#ifndef CTF_TRACE_H
#define CTF_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sonde/abi.h>

#include "ring/layout.h"

struct sonde_ctf_trace;
struct sonde_ctf_stream;
struct utsname; /* <sys/utsname.h> */

/* Time in seconds since 1970 is offset_s + (counter + offset) / freq. */
struct sonde_ctf_clock {
	const char *name;        /* an identifier: "tsc", "monotonic" */
	const char *description; /* any text */
	uint8_t uuid[16];        /* the boot id: same clock, same host */
	uint64_t freq;           /* Hz, not 0 */
	int64_t offset_s;
	uint64_t offset; /* cycles, < freq */
};

/* An entry of the trace's environment; a number if `text` is NULL. */
struct sonde_ctf_env {
	const char *name; /* an identifier */
	const char *text;
	int64_t number;
};

/* The language of the metadata. */
enum sonde_ctf_version {
	SONDE_CTF_1_8,
	SONDE_CTF_2,
};

/* Whose events a trace holds. */
enum sonde_ctf_domain {
	/* Programs': names are `provider:event`, and each class begins with
	 * `sonde:thread`, which says whose events come next. */
	SONDE_CTF_PROGRAMS,
	/* A kernel's (source/source.h): names are the events' alone, and each
	 * record has the context `tid` before its payload. */
	SONDE_CTF_KERNEL,
};

struct sonde_ctf_config {
	enum sonde_ctf_version version;
	enum sonde_ctf_domain domain;
	uint8_t uuid[16];     /* all zero: a random one is made */
	const char *hostname; /* NULL: ask the system */
	/* Where it was recorded. NULL: here. */
	const struct utsname *system;
	const char *trace_name; /* NULL: the directory's name */
	struct sonde_ctf_clock clock;
	const struct sonde_ctf_env *env; /* on top of what we write anyway */
	size_t nr_env;
	/* Bytes of records a packet must be able to take: the sub-buffer size.
	 * 0: SONDE_SUBBUF_MAX. */
	uint32_t packet_max;
	/* Apparent size of a stream's first file; each file after it has twice
	 * the size of the one before, up to 1 GiB. 0: 16 MiB. */
	uint64_t file_size;
};

/*
 * Make a trace in the empty directory `dir` (directory.h), of which we keep a
 * descriptor of our own: what happens to its path meanwhile doesn't matter.
 * `name` is the directory's, or its path. -EINVAL for a bad config.
 */
int sonde_ctf_trace_create_at(int dir, const char *name,
			      const struct sonde_ctf_config *config,
			      struct sonde_ctf_trace **ret_trace);

/* Make the directory `dir` (directory.h), and a trace in it. */
int sonde_ctf_trace_create(const char *dir,
			   const struct sonde_ctf_config *config,
			   struct sonde_ctf_trace **ret_trace);

/*
 * Add a stream class, with event 0 `sonde:thread` if the events are programs'.
 * `kind` is the layout of its record headers. `comment`, e.g. the program's
 * name, may be any text or NULL. -EEXIST if the id is taken.
 */
int sonde_ctf_trace_add_class(struct sonde_ctf_trace *trace, uint32_t class_id,
			      enum sonde_header_kind kind, const char *comment);

/* The events of the class, added from now on, have a call stack's number (u32)
 * before their payload, as the context `stack`; the kernel's have the process
 * (u32) behind it, as the context `pid`, programs' those contexts (bits of enum
 * sonde_context, ring/contexts.h). */
void sonde_ctf_trace_give_stacks(struct sonde_ctf_trace *trace,
				 uint32_t class_id, uint32_t contexts);

/*
 * Add an event with this id (>= 1) to a class. `desc` has been checked
 * (types/desc.h). It is in the metadata before anything published from now on
 * is visible. The caller sees to it that an id is added once per class.
 */
int sonde_ctf_trace_add_event(struct sonde_ctf_trace *trace, uint32_t class_id,
			      uint32_t id, const struct sonde_desc *desc);

/* Write the classes and events added so far to `metadata` now. Publishing
 * does this by itself. */
int sonde_ctf_trace_sync(struct sonde_ctf_trace *trace);

/* Replace the clock's freq, offset_s and offset by better values, known at the
 * end of the recording (clock/calibrate.h). Rewrites `metadata`. */
int sonde_ctf_trace_set_clock(struct sonde_ctf_trace *trace, uint64_t freq,
			      int64_t offset_s, uint64_t offset);

/* Replace the number of an entry of the environment that the configuration
 * had. Rewrites `metadata`. -ENOENT if there is no such entry. */
int sonde_ctf_trace_set_number(struct sonde_ctf_trace *trace, const char *name,
			       int64_t number);

/* What somebody else did to a trace's files while it was written. */
struct sonde_ctf_harm {
	bool metadata;     /* removed or changed */
	uint64_t nr_files; /* of streams, at least: removed */
};

/*
 * Look for harm, and write the metadata again if they are not as they were
 * written: all that is known of them is in memory. 0, or -errno if that could
 * not be done; *ret_harm is written in any case.
 */
int sonde_ctf_trace_heal(struct sonde_ctf_trace *trace,
			 struct sonde_ctf_harm *ret_harm);

/*
 * Write what is missing of the metadata and free the trace. Streams still open
 * are closed as they are. The trace is freed whatever is returned. NULL is
 * fine.
 */
int sonde_ctf_trace_close(struct sonde_ctf_trace *trace);

struct sonde_ctf_stream_config {
	uint32_t class_id;
	uint32_t cpu_id;
	uint32_t vpid;
	uint64_t instance; /* unique in its class */
	const char *name;  /* of its first file; others get _1, _2 ... */
};

/*
 * Open a stream. Makes no file yet. -ENOENT if there is no such class,
 * -EINVAL if the name can't be a stream file's ("metadata", ".x", "a/b"),
 * -EEXIST if another stream has it.
 */
int sonde_ctf_stream_open(struct sonde_ctf_trace *trace,
			  const struct sonde_ctf_stream_config *config,
			  struct sonde_ctf_stream **ret_stream);

/*
 * Start a packet. The packet before, if any, ends here and keeps what was
 * published of it; its ts_end is lowered to ts_begin if it lies later.
 *
 *   ts_begin      clock value not later than the first record; raised if it
 *                 isn't later than the begin of the packet before
 *   nr_missing    packets of this stream that were lost just before this one
 *                 (overwrite mode); readers report them
 *
 * Not visible until it is published; a packet that never is leaves no trace
 * (its place and number are used by the next). After an error there is no
 * current packet, and what was published stays.
 *
 * A stream's first packet is preceded by an empty one of ours, for readers know
 * losses only as differences between packets.
 */
int sonde_ctf_packet_begin(struct sonde_ctf_stream *stream, uint64_t ts_begin,
			   uint64_t nr_missing);

/*
 * Copy `size` bytes of records to the end of the packet; any bytes, from any
 * memory, read once and not looked at. On error nothing was added. -EMSGSIZE:
 * the file is full (never before the packet has config.packet_max bytes); go
 * on in another packet. -EFAULT: the memory can't be read.
 */
int sonde_ctf_packet_append(struct sonde_ctf_stream *stream, const void *data,
			    size_t size);

/* Forget what was appended since the last publish. (Overwrite mode: what was
 * copied turned out to be overwritten meanwhile.) */
void sonde_ctf_packet_forget(struct sonde_ctf_stream *stream);

/*
 * Make everything appended so far visible, at once.
 *
 *   ts_end        clock value not earlier than the last record
 *   discarded     events discarded in this stream from its start to ts_end
 *
 * Cost: one small write, three for a packet's first time.
 */
int sonde_ctf_packet_publish(struct sonde_ctf_stream *stream, uint64_t ts_end,
			     uint64_t discarded);

/* Which of its invariants (stream.c) doesn't hold between two calls; NULL: all
 * do. For tests. */
const char *sonde_ctf_stream_check(const struct sonde_ctf_stream *stream);

/*
 * Finish and free the stream. If `discarded` is more than was last published,
 * an empty packet up to ts_end says so. The last file is cut to its length and
 * gets its index; on error one of these may be missing, which leaves the trace
 * as valid as it was. The stream is freed whatever is returned. NULL is fine.
 */
int sonde_ctf_stream_close(struct sonde_ctf_stream *stream, uint64_t ts_end,
			   uint64_t discarded);

struct sonde_ctf_repair_report {
	uint32_t nr_files;    /* stream files looked at */
	uint32_t nr_trimmed;  /* of them, how many were cut to their content */
	uint32_t nr_damaged;  /* of them, how many are not as we write them */
	uint64_t nr_packets;  /* in all files */
	uint64_t bytes_freed; /* apparent size */
};

/*
 * Tidy a trace directory whose writer died: cut the stream files to their
 * content, write the missing index files, remove hidden files. Idempotent, and
 * may itself be killed at any instant. Nothing that is not Sonde's is touched.
 * No writer may be at work in it. -ENOENT, -EINVAL if `dir` is no trace.
 */
int sonde_ctf_repair_at(int dir, struct sonde_ctf_repair_report *ret_report);

#endif /* CTF_TRACE_H */
