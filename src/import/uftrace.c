/* SPDX-License-Identifier: MIT */
/*
 * uftrace.c - uftrace's data directory into a trace (uftrace.h).
 *
 * A thread's file is in the order of time, and is one stream. Whose program a
 * thread runs is said by sessions: the last one of its process at that time; of a
 * process that was forked, that of its parent until it has its own. A record that
 * begins before the one in front of it has that one's time.
 *
 * Each packet begins with sonde:thread, so that it can be read by itself.
 */
#include "import/uftrace.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/grow.h"
#include "base/hash.h"
#include "base/number.h"
#include "base/port.h"
#include "base/unconst.h"
#include "import/bytes.h"
#include "import/output.h"
#include "import/uftrace_names.h"
#include "import/uftrace_text.h"
#include "source/perf_map.h"
#include "sys/dir.h"
#include "sys/regular.h"
#include "sys/textfile.h"
#include "types/build.h"

#define UFTRACE_HEAD     40u
#define UFTRACE_VERSION  4u
#define REL_ADDRESSES    (1u << 5) /* features: symbols' are relative */
#define SESSIONS_MAX     4096u
#define TASKS_MAX        (1u << 20)
#define CODES_MAX        ((size_t)1 << 22)
#define GENERATIONS_MAX  256u
#define PROGRESS_EACH    65536u
#define UFTRACE_PACKETED 64u /* bytes of a call's records, at most */

enum uftrace_event {
	UFTRACE_THREAD,
	UFTRACE_BEGINS,
	UFTRACE_ENDS,
};

#define UFTRACE_CODE 1u

struct uftrace_session {
	uint64_t ns;
	int32_t pid;
	uint32_t class_id;
	char sid[SONDE_UFTRACE_SID_BYTES];
};

struct uftrace_seen {
	struct sonde_key key; /* address, of a class */
};

struct uftrace_import {
	const struct sonde_import_config *config;
	struct sonde_import_error *error;
	const char *path;
	uint64_t features;
	struct uftrace_session *sessions;
	size_t nr_sessions, sessions_room;
	struct sonde_import_uftrace_task *tasks;
	size_t nr_tasks, tasks_room;
	struct sonde_import_uftrace_names *names;
	struct sonde_hash seen;
	struct sonde_import_output *output;
	struct sonde_import_stream *codes;
	uint64_t all_bytes, done_bytes, last_ns;
	uint64_t lost, unread, nr_events, nr_sessionless;
	bool has_others; /* files of the kernel's and of perf's */
};

/* A thread's file, while it is read. */
struct uftrace_thread {
	int32_t tid, pid;
	const struct uftrace_session *session; /* NULL: it isn't known */
	uint64_t until_ns;                     /* it holds so long */
	struct sonde_import_stream *stream;
	bool is_open; /* the packet has begun, and has the thread */
};

static int uftrace_fail(struct uftrace_import *import, int rc, const char *what)
{
	return import->error->text[0] ?
		       rc :
		       sonde_import_fail(import->error, rc, "%.200s: %s", what,
					 strerrordesc_np(-rc));
}

/* ---- the head ---- */

struct uftrace_head {
	char magic[8];
	uint32_t version;
	uint16_t size;
	uint8_t endian; /* 1: little */
	uint8_t elf_class;
	uint64_t features;
};

static int uftrace_read_head(const char *path, struct uftrace_head *ret_head)
{
	char name[PATH_MAX];
	int fd = -ENAMETOOLONG;
	struct stat stat;
	ssize_t n;

	if (snprintf(name, sizeof(name), "%s/info", path) < PATH_MAX)
		fd = sonde_regular_look(name, &stat);
	if (fd >= 0)
		fd = sonde_regular_open(fd, O_RDONLY);
	if (fd < 0)
		return fd;
	n = pread(fd, ret_head, sizeof(*ret_head), 0);
	(void)close(fd); /* it was only read */
	return n == sizeof(*ret_head) &&
			       !memcmp(ret_head->magic, "Ftrace!", 8) ?
		       0 :
		       -EINVAL;
}

bool sonde_import_uftrace_is(const char *path)
{
	struct uftrace_head head;

	return !uftrace_read_head(path, &head);
}

static int uftrace_check_head(struct uftrace_import *import)
{
	struct uftrace_head head;
	int rc = uftrace_read_head(import->path, &head);

	if (rc)
		return uftrace_fail(import, rc, "info");
	if (head.endian != (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? 1 : 2))
		return sonde_import_fail(
			import->error, -ENOTSUP,
			"it was recorded on a machine with "
			"another byte order: convert it there");
	if (head.version != UFTRACE_VERSION || head.size < UFTRACE_HEAD)
		return sonde_import_fail(import->error, -ENOTSUP,
					 "it has version %u of uftrace's data; "
					 "version %u can be read, of uftrace "
					 "0.6.1 and later",
					 head.version, UFTRACE_VERSION);
	import->features = head.features;
	return 0;
}

/* ---- tasks and sessions ---- */

static int uftrace_add_session(struct uftrace_import *import,
			       const struct sonde_import_uftrace_task *task)
{
	struct uftrace_session session = { .ns = task->ns, .pid = task->pid };

	if (import->nr_sessions == SESSIONS_MAX)
		return -E2BIG;
	if (SONDE_GROW(import->sessions, import->nr_sessions,
		       import->sessions_room))
		return -ENOMEM;
	memcpy(session.sid, task->sid, sizeof(session.sid));
	import->sessions[import->nr_sessions++] = session;
	return 0;
}

static int uftrace_add_task(struct uftrace_import *import, const char *line)
{
	struct sonde_import_uftrace_task task;

	if (!sonde_import_uftrace_task(line, &task)) {
		import->unread += *line != '\0';
		return 0;
	}
	if (task.kind == SONDE_UFTRACE_SESSION)
		return uftrace_add_session(import, &task);
	if (task.kind == SONDE_UFTRACE_OTHER)
		return 0;
	if (import->nr_tasks == TASKS_MAX)
		return -E2BIG;
	if (SONDE_GROW(import->tasks, import->nr_tasks, import->tasks_room))
		return -ENOMEM;
	import->tasks[import->nr_tasks++] = task;
	return 0;
}

static int uftrace_read_tasks(struct uftrace_import *import)
{
	struct sonde_lines *lines = malloc(sizeof(*lines));
	const char *line;
	int rc;

	if (!lines)
		return uftrace_fail(import, -ENOMEM, "task.txt");
	rc = sonde_lines_open(lines, "%s/task.txt", import->path);
	while (!rc && (line = sonde_lines_next(lines)))
		rc = uftrace_add_task(import, line);
	sonde_lines_close(lines);
	free(lines);
	return rc ? uftrace_fail(import, rc, "task.txt") : 0;
}

/* A process's parent and when it was forked; 0: it isn't known. */
static int32_t uftrace_parent(const struct uftrace_import *import, int32_t pid,
			      uint64_t *ns)
{
	for (size_t i = 0; i < import->nr_tasks; i++)
		if (import->tasks[i].kind == SONDE_UFTRACE_FORK &&
		    import->tasks[i].pid == pid) {
			*ns = import->tasks[i].ns;
			return import->tasks[i].ppid;
		}
	return 0;
}

static const struct uftrace_session *
uftrace_last_session(const struct uftrace_import *import, int32_t pid,
		     uint64_t ns)
{
	const struct uftrace_session *last = NULL;

	for (size_t i = 0; i < import->nr_sessions; i++) {
		const struct uftrace_session *session = &import->sessions[i];

		if (session->pid == pid && session->ns <= ns &&
		    (!last || session->ns >= last->ns))
			last = session;
	}
	return last;
}

/* Which program the thread runs at that time, and until when. */
static void uftrace_find_session(const struct uftrace_import *import,
				 struct uftrace_thread *thread, uint64_t ns)
{
	int32_t pid = thread->pid;

	thread->until_ns = UINT64_MAX;
	for (size_t i = 0; i < import->nr_sessions; i++)
		if (import->sessions[i].pid == pid &&
		    import->sessions[i].ns > ns &&
		    import->sessions[i].ns < thread->until_ns)
			thread->until_ns = import->sessions[i].ns;
	thread->session = uftrace_last_session(import, pid, ns);
	for (uint32_t i = 0; !thread->session && pid && i < GENERATIONS_MAX;
	     i++) {
		pid = uftrace_parent(import, pid, &ns);
		thread->session = uftrace_last_session(import, pid, ns);
	}
}

static int32_t uftrace_process(const struct uftrace_import *import, int32_t tid)
{
	for (size_t i = 0; i < import->nr_tasks; i++)
		if (import->tasks[i].tid == tid)
			return import->tasks[i].pid;
	return tid;
}

/* ---- the trace ---- */

static void uftrace_describe_call(struct sonde_build *build)
{
	sonde_build_int(build, "addr", 64, SONDE_FIELD_HEX);
}

/* As the recorder tells of code that a program has made (source/perf_map.h), and
 * the file it is in. */
static void uftrace_describe_code(struct sonde_build *build)
{
	sonde_build_int(build, "image", 32, 0);
	sonde_source_code_describe(build);
	sonde_build_string(build, "module");
}

static int uftrace_describe(struct uftrace_import *import, uint32_t class_id,
			    uint16_t id, const char *provider, const char *name,
			    void (*describe)(struct sonde_build *build))
{
	uint64_t room[SONDE_DESC_MAX / 8];
	int rc = sonde_build_whole(room, provider, name, SONDE_INFO, describe);

	return rc ? rc :
		    sonde_import_output_event(import->output, class_id, id,
					      (const void *)room);
}

static int uftrace_add_class(struct uftrace_import *import,
			     struct uftrace_session *session)
{
	int rc = sonde_import_output_class(
		import->output, "a program, by uftrace", &session->class_id);

	if (!rc)
		rc = uftrace_describe(import, session->class_id, UFTRACE_BEGINS,
				      "function", "entry",
				      uftrace_describe_call);
	if (!rc)
		rc = uftrace_describe(import, session->class_id, UFTRACE_ENDS,
				      "function", "exit",
				      uftrace_describe_call);
	return rc;
}

static int uftrace_begin(struct uftrace_import *import)
{
	static const struct sonde_ctf_env env[] = {
		{ .name = "converted_from", .text = "uftrace" },
	};
	const struct sonde_ctf_config trace = {
		.domain = SONDE_CTF_PROGRAMS,
		.clock = { .name = "uftrace",
			   .description = "the clock of uftrace record",
			   .freq = 1000000000 },
		.env = env,
		.nr_env = SONDE_ARRAY_SIZE(env),
	};
	uint32_t names;
	int rc = sonde_import_output_new(import->config, &trace,
					 &import->output);

	if (!rc)
		rc = sonde_import_output_class(import->output,
					       "names, by uftrace", &names);
	if (!rc)
		rc = uftrace_describe(import, names, UFTRACE_CODE, "sonde",
				      "code", uftrace_describe_code);
	for (size_t i = 0; !rc && i < import->nr_sessions; i++)
		rc = uftrace_add_class(import, &import->sessions[i]);
	if (rc)
		return uftrace_fail(import, rc, "the trace can't be begun");
	import->codes =
		sonde_import_output_stream(import->output, names, 0, "names");
	if (!import->codes)
		return uftrace_fail(import, -ENOMEM, "names");
	import->codes->out.has_no_context = true;
	return 0;
}

/* ---- names ---- */

static int uftrace_put_code(struct uftrace_import *import,
			    const struct uftrace_session *session, uint64_t ns,
			    const struct sonde_import_uftrace_code *code)
{
	struct sonde_out *out = &import->codes->out;
	const uint64_t place[2] = { code->begin, code->end - code->begin };
	size_t length = strlen(code->name) + 1;
	size_t more = strlen(code->module) + 1;
	uint8_t *at;

	out->at = ns;
	at = sonde_out_event(out, UFTRACE_CODE,
			     sizeof(uint32_t) + sizeof(place) + length + more);
	if (!at)
		return 0; /* its loss is counted */
	memcpy(at, &session->class_id, sizeof(uint32_t));
	at += sizeof(uint32_t);
	memcpy(at, place, sizeof(place));
	at += sizeof(place);
	memcpy(at, code->name, length);
	memcpy(at + length, code->module, more);
	return sonde_import_output_look(import->codes);
}

/* Tells what the function at an address is called, once. */
static int uftrace_name(struct uftrace_import *import,
			const struct uftrace_session *session, uint64_t ns,
			uint64_t address)
{
	const struct sonde_key key =
		sonde_key_make(SONDE_KEY_HEX, address, session->class_id);
	struct sonde_import_uftrace_code code;
	size_t nr = import->seen.nr_entries;
	int rc;

	if (!sonde_hash_put(&import->seen, &key))
		return sonde_hash_error(&import->seen) == -E2BIG ? 0 : -ENOMEM;
	if (import->seen.nr_entries == nr ||
	    !(import->features & REL_ADDRESSES))
		return 0;
	rc = sonde_import_uftrace_names_find(import->names, session->sid,
					     address, &code);
	if (rc)
		return rc == -ENOENT ? 0 : rc;
	return uftrace_put_code(import, session, ns, &code);
}

/* ---- calls ---- */

static int uftrace_open_stream(struct uftrace_import *import,
			       struct uftrace_thread *thread)
{
	char name[64];

	(void)snprintf(name, sizeof(name), "thread%d_%u", (int)thread->tid,
		       thread->session->class_id);
	thread->stream = sonde_import_output_stream(
		import->output, thread->session->class_id, 0, name);
	if (!thread->stream)
		return -ENOMEM;
	thread->stream->out.has_no_context = true;
	thread->is_open = false;
	return 0;
}

static void uftrace_put_thread(struct uftrace_thread *thread)
{
	struct sonde_out *out = &thread->stream->out;
	const int32_t whose[2] = { thread->tid, thread->pid };
	uint8_t *at;

	if (thread->is_open &&
	    !sonde_packer_fits(&out->packer, UFTRACE_PACKETED)) {
		sonde_out_flush(out);
		thread->is_open = false;
	}
	if (thread->is_open)
		return;
	at = sonde_out_event(out, UFTRACE_THREAD, sizeof(whose));
	if (at)
		memcpy(at, whose, sizeof(whose));
	thread->is_open = at;
}

static int uftrace_put_call(struct uftrace_import *import,
			    struct uftrace_thread *thread,
			    const struct sonde_import_uftrace_record *record)
{
	struct sonde_out *out = &thread->stream->out;
	int rc = uftrace_name(import, thread->session, record->ns,
			      record->address);
	uint8_t *at;

	if (rc)
		return rc;
	out->at = record->ns;
	uftrace_put_thread(thread);
	at = sonde_out_event(out,
			     record->type == SONDE_UFTRACE_ENTRY ?
				     UFTRACE_BEGINS :
				     UFTRACE_ENDS,
			     sizeof(record->address));
	if (at)
		memcpy(at, &record->address, sizeof(record->address));
	import->nr_events += at != NULL;
	return sonde_import_output_look(thread->stream);
}

static int uftrace_refuse_arguments(struct uftrace_import *import)
{
	return sonde_import_fail(
		import->error, -ENOTSUP,
		"it has arguments or results of functions, or "
		"data of events, which can't be read: uftrace "
		"record without -A, -R, -a and -T writes none");
}

static int uftrace_take(struct uftrace_import *import,
			struct uftrace_thread *thread,
			const struct sonde_import_uftrace_record *record)
{
	const struct uftrace_session *session = thread->session;

	if (record->has_more)
		return uftrace_refuse_arguments(import);
	if (!record->ns || record->type == SONDE_UFTRACE_EVENT) {
		import->unread++;
		return 0;
	}
	if (record->ns > import->last_ns)
		import->last_ns = record->ns;
	if (!session || record->ns >= thread->until_ns)
		uftrace_find_session(import, thread, record->ns);
	if (!thread->session) {
		import->nr_sessionless++;
		return 0;
	}
	if (thread->session != session && uftrace_open_stream(import, thread))
		return -ENOMEM;
	if (record->type != SONDE_UFTRACE_LOST)
		return uftrace_put_call(import, thread, record);
	import->lost += record->address;
	thread->is_open = false;
	return sonde_import_output_lose(thread->stream, record->address);
}

static int uftrace_take_all(struct uftrace_import *import,
			    struct uftrace_thread *thread,
			    struct sonde_import_bytes bytes)
{
	int (*progress)(uint64_t done, uint64_t all) = import->config->progress;
	struct sonde_import_uftrace_record record;
	const uint8_t *at;
	uint64_t nr = 0;
	int rc = 0;

	while (!rc &&
	       (at = sonde_import_bytes_take(&bytes, SONDE_UFTRACE_RECORD))) {
		/* Behind one that is damaged nothing is known to be one. */
		if (!sonde_import_uftrace_record(at, &record))
			break;
		rc = uftrace_take(import, thread, &record);
		if (!rc && progress && ++nr % PROGRESS_EACH == 0)
			rc = progress(import->done_bytes +
					      nr * SONDE_UFTRACE_RECORD,
				      import->all_bytes);
	}
	import->unread +=
		!at ? bytes.left != 0 : 1 + bytes.left / SONDE_UFTRACE_RECORD;
	return rc;
}

/* ---- files ---- */

/* "123.dat": 123; 0: it isn't of a thread. */
static int32_t uftrace_tid(const char *name)
{
	uint64_t tid;

	return sonde_number_take(&name, 10, INT32_MAX, &tid) &&
			       !strcmp(name, ".dat") ?
		       (int32_t)tid :
		       0;
}

static int uftrace_map_file(struct uftrace_import *import, const char *name,
			    struct sonde_import_bytes *ret_bytes)
{
	char path[PATH_MAX];
	struct stat stat;
	int fd = -ENAMETOOLONG;
	void *map;

	*ret_bytes = (struct sonde_import_bytes){ .left = 0 };
	if (snprintf(path, sizeof(path), "%s/%s", import->path, name) <
	    PATH_MAX)
		fd = sonde_regular_look(path, &stat);
	if (fd >= 0)
		fd = sonde_regular_open(fd, O_RDONLY);
	if (fd < 0)
		return fd;
	map = stat.st_size > 0 ? mmap(NULL, (size_t)stat.st_size, PROT_READ,
				      MAP_PRIVATE, fd, 0) :
				 NULL;
	(void)close(fd); /* it was only read */
	if (map == MAP_FAILED)
		return -ENOMEM;
	ret_bytes->at = map;
	ret_bytes->left = (size_t)stat.st_size;
	return 0;
}

static int uftrace_take_file(struct uftrace_import *import, const char *name,
			     int32_t tid)
{
	struct uftrace_thread thread = { .tid = tid };
	struct sonde_import_bytes bytes;
	int rc = uftrace_map_file(import, name, &bytes);

	if (rc)
		return uftrace_fail(import, rc, name);
	if (!bytes.left)
		return 0;
	thread.pid = uftrace_process(import, tid);
	rc = uftrace_take_all(import, &thread, bytes);
	import->done_bytes += bytes.left;
	/* Ours, and const only to the parser. */
	(void)munmap(sonde_unconst(bytes.at), bytes.left);
	return rc ? uftrace_fail(import, rc, name) : 0;
}

/* Of each file in the directory: how large it is, or what it has. */
static int uftrace_each_file(struct uftrace_import *import, bool measures)
{
	DIR *dir = sonde_dir_open_at(AT_FDCWD, import->path);
	const char *name;
	struct stat stat;
	int rc = 0;

	if (!dir)
		return uftrace_fail(import, -errno, import->path);
	while (!rc && (name = sonde_dir_next(dir))) {
		int32_t tid = uftrace_tid(name);
		size_t length = strlen(name);

		if (tid && !measures)
			rc = uftrace_take_file(import, name, tid);
		if (!measures || length < 4 ||
		    strcmp(name + length - 4, ".dat") != 0 ||
		    fstatat(dirfd(dir), name, &stat, AT_SYMLINK_NOFOLLOW) ||
		    !S_ISREG(stat.st_mode))
			continue;
		import->all_bytes += tid ? (uint64_t)stat.st_size : 0;
		import->has_others |= !tid && stat.st_size > 0;
	}
	(void)closedir(dir); /* it was only read */
	return rc;
}

/* ---- the end ---- */

static void uftrace_tell(const struct uftrace_import *import,
			 struct sonde_import_report *report)
{
	report->events = import->nr_events;
	report->lost = import->lost;
	report->unread = import->unread;
	sonde_import_note(report,
			  "which CPU a call was on isn't known: all are "
			  "shown as of CPU 0; and times have no date");
	if (!(import->features & REL_ADDRESSES))
		sonde_import_note(report,
				  "functions have no names: its symbols "
				  "are not relative to their files");
	if (import->nr_sessionless)
		sonde_import_note(report,
				  "%llu records are left out: of no program in "
				  "task.txt",
				  (unsigned long long)import->nr_sessionless);
	if (import->has_others)
		sonde_import_note(report, "what uftrace has of the kernel "
					  "(kernel-cpu*.dat, perf-cpu*.dat) is "
					  "left out");
}

static int uftrace_convert(struct uftrace_import *import)
{
	int rc = uftrace_check_head(import);

	if (!rc)
		rc = uftrace_read_tasks(import);
	if (!rc)
		rc = uftrace_each_file(import, true);
	if (!rc)
		rc = uftrace_begin(import);
	return rc ? rc : uftrace_each_file(import, false);
}

int sonde_import_uftrace(const char *path,
			 const struct sonde_import_config *config,
			 struct sonde_import_report *report,
			 struct sonde_import_error *error)
{
	struct uftrace_import import = { .config = config,
					 .error = error,
					 .path = path };
	int rc = -ENOMEM;
	int closed;

	error->text[0] = '\0';
	sonde_hash_init(&import.seen, sizeof(struct uftrace_seen), CODES_MAX);
	import.names = sonde_import_uftrace_names_new(path);
	if (import.names)
		rc = uftrace_convert(&import);
	uftrace_tell(&import, report);
	closed = sonde_import_output_close(import.output, import.last_ns);
	if (!rc && closed)
		rc = uftrace_fail(&import, closed, "writing the trace");
	sonde_import_uftrace_names_free(import.names);
	sonde_hash_fini(&import.seen);
	free(import.sessions);
	free(import.tasks);
	return rc ? uftrace_fail(&import, rc, path) : 0;
}
