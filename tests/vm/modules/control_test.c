// SPDX-License-Identifier: MIT
/*
 * control_test.c - what /dev/sonde promises about descriptors, lives, memory and
 * reading, asked of the loaded module.
 *
 *	control_test [GID|- [PART]]
 *
 * As root in a guest with two CPUs, where nobody else uses the module; GID is
 * what it was loaded with; PART: only claims whose name has it. Each function's name is a claim. The events are this
 * program's own calls of getppid(2), which nobody needs for anything else. No
 * claim waits for time to pass: where something must happen first, it is made to
 * happen until it has.
 *
 * Each claim has a session of its own, which must be gone when it returns.
 */
#include "client.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "expr/program.h"

#define SUBBUF 4096u
#define NR     4u
#define SPAN   ((size_t)(NR + 1) * SUBBUF)
#define ID     7
#define CPUS   2u
#define NOBODY 65534

static int device_fd;
static long group = -1;

/* ---- the calls ---- */

struct rig {
	int session;
	int channel;
	int stream[CPUS];
	const unsigned char *memory[CPUS];
};

static int session_fd(void)
{
	struct sonde_kmod_session request = { .size = sizeof(request) };

	return ioctl(device_fd, SONDE_KMOD_SESSION, &request);
}

static int channel_fd(int session, uint32_t mode, uint32_t bytes, uint32_t nr)
{
	struct sonde_kmod_channel request = {
		.size = sizeof(request),
		.mode = mode,
		.subbuf_bytes = bytes,
		.nr_subbufs = nr,
	};

	return ioctl(session, SONDE_KMOD_CHANNEL, &request);
}

static int stream_fd(int channel, uint32_t cpu)
{
	struct sonde_kmod_stream request = { .size = sizeof(request),
					     .cpu = cpu };

	return ioctl(channel, SONDE_KMOD_STREAM, &request);
}

static const struct sonde_kmod_cap number_cap = {
	.kind = SONDE_KMOD_VALUE,
	.from = SONDE_KMOD_FROM_NR,
	.bytes = 4,
};

static struct sonde_kmod_event getppid_event(uint32_t flags)
{
	return (struct sonde_kmod_event){
		.size = sizeof(struct sonde_kmod_event),
		.type = SONDE_KMOD_SYSCALL_ENTRY,
		.id = ID,
		.flags = flags,
		.number = SYS_getppid,
		.nr_caps = 1,
		.caps = (uintptr_t)&number_cap,
	};
}

static int event_fd(int channel, uint32_t flags)
{
	struct sonde_kmod_event event = getppid_event(flags);

	return ioctl(channel, SONDE_KMOD_EVENT, &event);
}

static uint32_t nr_sessions(void)
{
	struct sonde_kmod_info info = { .size = sizeof(info) };

	CLAIM(!ioctl(device_fd, SONDE_KMOD_INFO, &info));
	return info.nr_sessions;
}

/* All that a reader has, and the event; not started. */
static struct rig rig_make(uint32_t mode)
{
	struct rig rig = { .session = session_fd() };
	uint32_t cpu;

	CLAIM(rig.session >= 0);
	rig.channel = channel_fd(rig.session, mode, SUBBUF, NR);
	CLAIM(rig.channel >= 0);
	for (cpu = 0; cpu < CPUS; cpu++) {
		rig.stream[cpu] = stream_fd(rig.channel, cpu);
		rig.memory[cpu] = mmap(NULL, SPAN, PROT_READ, MAP_SHARED,
				       rig.stream[cpu], 0);
		CLAIM(rig.memory[cpu] != MAP_FAILED);
	}
	CLAIM(event_fd(rig.channel, 0) == 0);
	return rig;
}

static void rig_drop(struct rig *rig)
{
	uint32_t cpu;

	for (cpu = 0; cpu < CPUS; cpu++) {
		(void)munmap((void *)rig->memory[cpu],
			     SPAN);            /* it was mapped */
		(void)close(rig->stream[cpu]); /* nothing is written */
	}
	(void)close(rig->channel);
	(void)close(rig->session);
	CLAIM(nr_sessions() == 0);
}

static void start(const struct rig *rig)
{
	CLAIM(!ioctl(rig->session, SONDE_KMOD_START));
}

static void stop(const struct rig *rig)
{
	CLAIM(!ioctl(rig->session, SONDE_KMOD_STOP));
}

static void run_on(uint32_t cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	CLAIM(!sched_setaffinity(0, sizeof(set), &set));
}

static void emit(uint32_t nr)
{
	while (nr--)
		(void)syscall(SYS_getppid); /* it can't fail */
}

static int get(int stream, struct sonde_kmod_chunk *ret_chunk)
{
	*ret_chunk = (struct sonde_kmod_chunk){ .size = sizeof(*ret_chunk) };
	return ioctl(stream, SONDE_KMOD_GET, ret_chunk);
}

static int put(int stream, struct sonde_kmod_chunk *chunk)
{
	return ioctl(stream, SONDE_KMOD_PUT, chunk);
}

static struct sonde_kmod_counts counts_of(int stream)
{
	struct sonde_kmod_counts counts = { .size = sizeof(counts) };

	CLAIM(!ioctl(stream, SONDE_KMOD_STREAM_COUNTS, &counts));
	return counts;
}

static uint64_t lost(const struct sonde_kmod_counts *counts)
{
	return counts->lost_full + counts->lost_size + counts->lost_busy;
}

/* Records of this thread in the chunk, each checked. */
static uint32_t own_records(const unsigned char *memory,
			    const struct sonde_kmod_chunk *chunk)
{
	const unsigned char *at = memory + chunk->offset;
	const unsigned char *end = at + chunk->bytes;
	uint32_t own = 0;

	while (at + 14 <= end) {
		uint32_t tid, number;
		uint16_t id;

		memcpy(&id, at, sizeof(id));
		at += id == 65535 ? 14 : 6;
		memcpy(&tid, at, sizeof(tid));
		memcpy(&number, at + 4, sizeof(number));
		CLAIM(id == ID || id == 65535);
		CLAIM(number == SYS_getppid);
		own += tid == (uint32_t)gettid();
		at += 8;
	}
	CLAIM(at == end);
	return own;
}

/* Reads all there is; this thread's records. */
static uint32_t read_all(const struct rig *rig, uint32_t cpu)
{
	struct sonde_kmod_chunk chunk;
	uint32_t own = 0;

	while (!has_failed() && get(rig->stream[cpu], &chunk) == 1) {
		own += own_records(rig->memory[cpu], &chunk);
		CLAIM(!put(rig->stream[cpu], &chunk));
	}
	return own;
}

/* ---- the device ---- */

/* In a child that is nobody, of the group `gid`: errno of open, or 0. */
static int open_as_nobody(gid_t gid)
{
	int status = -1;
	pid_t child = fork();

	if (!child) {
		if (setgroups(0, NULL) || setgid(gid) || setuid(NOBODY))
			_exit(255);
		_exit(open(SONDE_KMOD_DEVICE, O_RDONLY) < 0 ? errno : 0);
	}
	CLAIM(waitpid(child, &status, 0) == child && WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void device_is_its_groups_and_roots(void)
{
	mode_t mode = group < 0 ? 0600 : 0660;
	struct stat about;

	CLAIM(!stat(SONDE_KMOD_DEVICE, &about));
	CLAIM((about.st_mode & 07777) == mode && about.st_uid == 0);
	CLAIM(about.st_gid == (group < 0 ? 0 : (gid_t)group));
	if (group >= 0)
		CLAIM(open_as_nobody((gid_t)group) == 0);
	CLAIM(open_as_nobody(NOBODY) == EACCES);
}

static void device_is_closed_to_others_whatever_its_mode(void)
{
	mode_t mode = group < 0 ? 0600 : 0660;

	CLAIM(!chmod(SONDE_KMOD_DEVICE, 0666));
	CLAIM(open_as_nobody(NOBODY) == EACCES);
	CLAIM(!chmod(SONDE_KMOD_DEVICE, mode));
}

static void info_tells_what_there_is(void)
{
	struct sonde_kmod_info info = { .size = sizeof(info) };

	CLAIM(!ioctl(device_fd, SONDE_KMOD_INFO, &info));
	CLAIM(info.size == sizeof(info) && info.version == SONDE_KMOD_VERSION);
	CLAIM(info.nr_cpus >= CPUS && info.nr_sessions == 0);
	CLAIM(info.nr_tracepoints > 100);
}

static void info_writes_what_fits_only(void)
{
	struct sonde_kmod_info info;

	memset(&info, 0xee, sizeof(info));
	info.size = offsetof(struct sonde_kmod_info, nr_cpus);
	CLAIM(!ioctl(device_fd, SONDE_KMOD_INFO, &info));
	CLAIM(info.version == SONDE_KMOD_VERSION);
	CLAIM(info.nr_cpus == 0xeeeeeeee && info.nr_leaving == 0xeeeeeeee);
}

static void longer_structures_are_known_by_their_number(void)
{
	struct {
		struct sonde_kmod_session session;
		uint64_t more;
	} longer = { .session = { .size = sizeof(longer) } };
	unsigned long cmd = _IOC(_IOC_WRITE, SONDE_KMOD_IOC, 2, sizeof(longer));
	int fd = ioctl(device_fd, cmd, &longer);

	CLAIM(fd >= 0 && !close(fd));
	longer.more = 1;
	FAILS(ioctl(device_fd, cmd, &longer), E2BIG);
}

static void sizes_and_addresses_are_checked(void)
{
	struct sonde_kmod_session request = { .size = 0 };
	struct sonde_kmod_session reserved = { .size = sizeof(reserved),
					       .reserved = 1 };
	struct sonde_kmod_session self = { .size = sizeof(self),
					   .self = { -1, 0 } };

	FAILS(ioctl(device_fd, SONDE_KMOD_SESSION, &request), EINVAL);
	FAILS(ioctl(device_fd, SONDE_KMOD_INFO, &request), EINVAL);
	request.size = UINT32_MAX;
	FAILS(ioctl(device_fd, SONDE_KMOD_SESSION, &request), E2BIG);
	FAILS(ioctl(device_fd, SONDE_KMOD_SESSION, &reserved), EINVAL);
	FAILS(ioctl(device_fd, SONDE_KMOD_SESSION, &self), EINVAL);
	FAILS(ioctl(device_fd, SONDE_KMOD_SESSION, NULL), EFAULT);
	FAILS(ioctl(device_fd, SONDE_KMOD_INFO, UINTPTR_MAX - 8), EFAULT);
}

/* ---- sessions and channels ---- */

static void descriptors_know_their_calls_only(void)
{
	struct rig rig = rig_make(0);
	int event = event_fd(rig.channel, SONDE_KMOD_WANT_FD);
	struct sonde_kmod_chunk chunk;
	const int fds[] = { device_fd, rig.session, rig.channel, event,
			    rig.stream[0] };
	/* The first and the last number that each knows. */
	static const unsigned int known[][2] = {
		{ 1, 2 }, { 3, 7 }, { 8, 9 }, { 10, 12 }, { 13, 16 },
	};
	unsigned int i, nr;
	const unsigned int door = _IOC_NR(SONDE_KMOD_DOOR); /* a channel's */

	CLAIM(event >= 0);
	FAILS(get(rig.session, &chunk), ENOTTY);
	for (i = 0; i < 5; i++)
		for (nr = 0; nr < 32; nr++)
			if ((nr < known[i][0] || nr > known[i][1]) &&
			    (fds[i] != rig.channel || nr != door))
				FAILS(ioctl(fds[i], _IO(SONDE_KMOD_IOC, nr), 0),
				      ENOTTY);
	FAILS(ioctl(rig.stream[0], TIOCGWINSZ, &chunk), ENOTTY);
	CLAIM(!close(event));
	rig_drop(&rig);
}

static void sessions_live_as_long_as_what_they_made(void)
{
	struct rig rig = rig_make(0);

	CLAIM(nr_sessions() == 1);
	CLAIM(!close(rig.session) && nr_sessions() == 1);
	CLAIM(!close(rig.channel) && nr_sessions() == 1);
	CLAIM(!close(rig.stream[0]) && !close(rig.stream[1]));
	CLAIM(nr_sessions() == 1);
	CLAIM(rig.memory[1][0] == 0);
	CLAIM(!munmap((void *)rig.memory[0], SPAN) && nr_sessions() == 1);
	CLAIM(!munmap((void *)rig.memory[1], SPAN) && nr_sessions() == 0);
}

static void killed_owners_leave_nothing(void)
{
	int ready[2], status;
	char byte = 0;
	pid_t child;

	CLAIM(!pipe(ready));
	child = fork();
	if (!child) {
		struct rig rig = rig_make(1);

		start(&rig);
		emit(100);
		CLAIM(write(ready[1], &byte, 1) == 1);
		for (;;)
			(void)pause(); /* until it is killed */
	}
	CLAIM(read(ready[0], &byte, 1) == 1 && nr_sessions() == 1);
	CLAIM(!kill(child, SIGKILL) && waitpid(child, &status, 0) == child);
	CLAIM(nr_sessions() == 0);
	(void)close(ready[0]);
	(void)close(ready[1]);
}

static void children_hold_what_they_inherit(void)
{
	struct rig rig = rig_make(0);
	int go[2], status = -1;
	char byte = 0;
	pid_t child;

	CLAIM(!pipe(go));
	child = fork();
	if (!child) {
		bool fine = read(go[0], &byte, 1) == 1 && nr_sessions() == 1 &&
			    rig.memory[0][0] == 0;

		start(&rig);
		rig_drop(&rig);
		_exit(fine && !has_failed() ? 0 : 1);
	}
	(void)munmap((void *)rig.memory[0], SPAN);
	(void)munmap((void *)rig.memory[1], SPAN);
	(void)close(rig.stream[0]);
	(void)close(rig.stream[1]);
	(void)close(rig.channel);
	(void)close(rig.session);
	CLAIM(nr_sessions() == 1 && write(go[1], &byte, 1) == 1);
	CLAIM(waitpid(child, &status, 0) == child && status == 0);
	CLAIM(nr_sessions() == 0);
	(void)close(go[0]);
	(void)close(go[1]);
}

static void channel_geometry_is_checked(void)
{
	static const uint32_t bad[][3] = {
		{ 2, SUBBUF, NR },     { 0, 0, NR },
		{ 0, 2048, NR },       { 0, SUBBUF + 1, NR },
		{ 0, 8u << 20, NR },   { 0, 0x80000000, NR },
		{ 0, UINT32_MAX, NR }, { 0, SUBBUF, 0 },
		{ 0, SUBBUF, 1 },      { 0, SUBBUF, 3 },
		{ 0, SUBBUF, 2048 },   { UINT32_MAX, SUBBUF, NR },
	};
	struct sonde_kmod_channel clock = { .size = sizeof(clock),
					    .subbuf_bytes = SUBBUF,
					    .nr_subbufs = NR,
					    .clock = 2 };
	int session = session_fd();
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		FAILS(channel_fd(session, bad[i][0], bad[i][1], bad[i][2]),
		      EINVAL);
	FAILS(ioctl(session, SONDE_KMOD_CHANNEL, &clock), EINVAL);
	CLAIM(!close(session));
}

/* Of so many sub-buffers of the largest size on each CPU. */
static uint64_t all_cpus_bytes(uint32_t nr)
{
	return (uint64_t)nr * SONDE_KMOD_SUBBUF_MAX *
	       (uint64_t)sysconf(_SC_NPROCESSORS_CONF);
}

/* The least number of them that takes more than `bytes`. */
static uint32_t subbufs_beyond(uint64_t bytes)
{
	uint32_t nr = 2;

	while (nr < SONDE_KMOD_SUBBUFS_MAX && all_cpus_bytes(nr) <= bytes)
		nr *= 2;
	return nr;
}

static void memory_is_bounded(void)
{
	int session = session_fd();
	int channels[SONDE_KMOD_CHANNELS_MAX];
	uint64_t there_is = (uint64_t)sysconf(_SC_PHYS_PAGES) *
			    (uint64_t)sysconf(_SC_PAGESIZE);
	uint32_t many = subbufs_beyond(SONDE_KMOD_MEMORY_MAX);
	uint32_t i;

	/* More than a session may; and more than there is, unless that is more
	 * than a session may. */
	FAILS(channel_fd(session, 0, SONDE_KMOD_SUBBUF_MAX, many), ENOSPC);
	many = subbufs_beyond(there_is);
	if (all_cpus_bytes(many + 1) <= SONDE_KMOD_MEMORY_MAX)
		FAILS(channel_fd(session, 0, SONDE_KMOD_SUBBUF_MAX, many),
		      ENOMEM);
	for (i = 0; i < SONDE_KMOD_CHANNELS_MAX; i++) {
		channels[i] = channel_fd(session, i & 1, SUBBUF, 2);
		CLAIM(channels[i] >= 0);
	}
	FAILS(channel_fd(session, 0, SUBBUF, 2), ENOSPC);
	CLAIM(!close(channels[0]));
	channels[0] = channel_fd(session, 0, SUBBUF, 2);
	CLAIM(channels[0] >= 0);
	CLAIM(!close(session) && nr_sessions() == 1);
	for (i = 0; i < SONDE_KMOD_CHANNELS_MAX; i++)
		CLAIM(!close(channels[i]));
	CLAIM(nr_sessions() == 0);
}

static void streams_are_of_possible_cpus(void)
{
	struct rig rig = rig_make(0);

	FAILS(stream_fd(rig.channel, 100000), EINVAL);
	FAILS(stream_fd(rig.channel, UINT32_MAX), EINVAL);
	rig_drop(&rig);
}

static void scope_is_fixed_once_started(void)
{
	struct sonde_kmod_scope scope = { .size = sizeof(scope), .pid = -1 };
	struct rig rig = rig_make(0);

	FAILS(ioctl(rig.session, SONDE_KMOD_SCOPE, &scope), EINVAL);
	scope.pid = 0;
	CLAIM(!ioctl(rig.session, SONDE_KMOD_SCOPE, &scope));
	start(&rig);
	scope.pid = getpid();
	FAILS(ioctl(rig.session, SONDE_KMOD_SCOPE, &scope), EBUSY);
	stop(&rig);
	FAILS(ioctl(rig.session, SONDE_KMOD_SCOPE, &scope), EBUSY);
	rig_drop(&rig);
}

static void scope_leaves_others_out(void)
{
	struct sonde_kmod_scope scope = { .size = sizeof(scope) };
	struct rig rig = rig_make(0);
	int status;
	pid_t child;

	run_on(0);
	child = fork();
	if (!child) {
		(void)raise(SIGSTOP);
		_exit(0);
	}
	CLAIM(waitpid(child, &status, WUNTRACED) == child);
	scope.pid = child;
	CLAIM(!ioctl(rig.session, SONDE_KMOD_SCOPE, &scope));
	FAILS(ioctl(rig.session, SONDE_KMOD_SCOPE, &scope), EBUSY);
	start(&rig);
	emit(20);
	stop(&rig);
	CLAIM(read_all(&rig, 0) == 0);
	CLAIM(!kill(child, SIGKILL) && waitpid(child, &status, 0) == child);
	rig_drop(&rig);
}

static void module_stays_while_it_is_used(void)
{
	struct rig rig = rig_make(0);

	FAILS(syscall(SYS_delete_module, "sonde", O_NONBLOCK), EAGAIN);
	rig_drop(&rig);
	/* The device itself. */
	FAILS(syscall(SYS_delete_module, "sonde", O_NONBLOCK), EAGAIN);
}

/* ---- events ---- */

static void bad_event(int channel, struct sonde_kmod_event event, int line)
{
	int rc = ioctl(channel, SONDE_KMOD_EVENT, &event);

	if (rc != -1 || (errno != EINVAL && errno != EFAULT && errno != ENOENT))
		fail("line %d: %d, errno %d", line, rc, errno);
}

#define BAD(...)                                                  \
	do {                                                      \
		struct sonde_kmod_event event = getppid_event(0); \
                                                                  \
		__VA_ARGS__;                                      \
		bad_event(rig.channel, event, __LINE__);          \
	} while (0)

static void described(struct sonde_kmod_event *event, const char *name)
{
	event->type = SONDE_KMOD_TRACEPOINT;
	event->flags |= SONDE_KMOD_DESCRIBED;
	event->nr_caps = 0;
	strcpy(event->name, name);
}

/* A tracepoint that is no described event's would have its argument called. */
static void event_arguments_are_checked(void)
{
	struct sonde_kmod_cap cap = number_cap;
	struct rig rig = rig_make(0);

	BAD(event.id = 0);
	BAD(event.id = SONDE_KMOD_IDS_MAX + 1);
	BAD(event.type = SONDE_KMOD_TYPES);
	BAD(event.type = UINT32_MAX);
	BAD(event.flags = 0x80000000);
	BAD(event.nr_caps = SONDE_KMOD_CAPS_MAX + 1);
	BAD(event.nr_caps = UINT32_MAX);
	BAD(event.caps = 8);
	BAD(event.caps = UINT64_MAX - 7);
	BAD(event.filter_bytes = 64);
	BAD(event.filter = 8; event.filter_bytes = 64);
	BAD(event.filter = 8; event.filter_bytes = UINT32_MAX);
	BAD(event.nr_texts = 1);
	BAD(event.type = SONDE_KMOD_TRACEPOINT;
	    memset(event.name, 'x', sizeof(event.name)));
	BAD(event.type = SONDE_KMOD_TRACEPOINT);
	BAD(event.type = SONDE_KMOD_TRACEPOINT;
	    strcpy(event.name, "sonde_no_such_tracepoint"));
	BAD(described(&event, "sched_switch"));
	BAD(described(&event, "sonde_test_tick"));
	BAD(described(&event, "sonde1_no__such"));
	BAD(described(&event, "sonde1_mill__opened"); event.nr_caps = 1);
	BAD(described(&event, "sonde1_mill__opened"); event.filter = 8;
	    event.filter_bytes = 64);
	BAD(described(&event, "sonde1_mill__opened");
	    event.type = SONDE_KMOD_KPROBE);
	BAD(cap.kind = SONDE_KMOD_KINDS; event.caps = (uintptr_t)&cap);
	BAD(cap = number_cap; cap.bytes = 3; event.caps = (uintptr_t)&cap);
	BAD(cap = number_cap; cap.nr_path = SONDE_KMOD_PATH_MAX + 1;
	    event.caps = (uintptr_t)&cap);
	rig_drop(&rig);
}

/* A jump that leaves the address of one text and the length of another: what
 * compares them would read at 0x234. */
static void filters_that_cut_a_text_are_refused(void)
{
	static struct {
		struct sonde_program head;
		struct sonde_expr_op ops[8];
		char texts[0x240];
	} filter = {
		.head = { .nr_ops = 8,
			  .texts_bytes = 0x240,
			  .type = SONDE_EXPR_INT },
		.ops = { { .code = SONDE_EXPR_OP_TEXT },
			 { .code = SONDE_EXPR_OP_GO, .keep = 1, .target = 2 },
			 { .code = SONDE_EXPR_OP_TEXT, .length = 0x234 },
			 { .code = SONDE_EXPR_OP_TEXT },
			 { .code = SONDE_EXPR_OP_GO, .keep = 4, .target = 5 },
			 { .code = SONDE_EXPR_OP_IF_GLOB,
			   .sense = 1,
			   .offset = 0x238,
			   .length = 1,
			   .target = 7 },
			 { .code = SONDE_EXPR_OP_END_TRUE },
			 { .code = SONDE_EXPR_OP_END_FALSE } },
		.texts = { [0x238] = 'x' },
	};
	struct sonde_kmod_event event = getppid_event(0);
	struct rig rig = rig_make(0);

	event.filter = (uintptr_t)&filter;
	event.filter_bytes = sizeof(filter);
	FAILS(ioctl(rig.channel, SONDE_KMOD_EVENT, &event), EINVAL);
	start(&rig);
	emit(1); /* which would be the end of the kernel */
	stop(&rig);
	filter.ops[1].keep = 2;
	CLAIM(!ioctl(rig.channel, SONDE_KMOD_EVENT, &event));
	rig_drop(&rig);
}

/* Three buffers of 4096 bytes, of which one is matched with a glob of so many.
 */
static int event_with_glob(int channel, uint32_t length)
{
	static const struct sonde_kmod_cap buffer = {
		.kind = SONDE_KMOD_UBUFFER,
		.length = 1,
		.max = SONDE_KMOD_TEXT_MAX,
	};
	const struct sonde_kmod_cap caps[] = { buffer, buffer, buffer };
	const struct sonde_kmod_text text = { .ordinal = 0,
					      .offset = UINT32_MAX };
	struct {
		struct sonde_program head;
		struct sonde_expr_op ops[4];
		char texts[512];
	} filter = {
		.head = { .nr_ops = 4,
			  .texts_bytes = sizeof(filter.texts),
			  .type = SONDE_EXPR_INT },
		.ops = { { .code = SONDE_EXPR_OP_CALL_TEXT,
			   .number = SONDE_EXPR_STRING,
			   .target = 3 },
			 { .code = SONDE_EXPR_OP_IF_GLOB,
			   .length = length,
			   .target = 3 },
			 { .code = SONDE_EXPR_OP_END_TRUE },
			 { .code = SONDE_EXPR_OP_END_FALSE } },
	};
	struct sonde_kmod_event event = getppid_event(SONDE_KMOD_WANT_FD);

	memset(filter.texts, '*', length);
	event.nr_caps = 3;
	event.caps = (uintptr_t)caps;
	event.filter = (uintptr_t)&filter;
	event.filter_bytes = sizeof(filter);
	event.nr_texts = 1;
	event.texts = (uintptr_t)&text;
	return ioctl(channel, SONDE_KMOD_EVENT, &event);
}

/* 2^20 steps are bytes of globs times bytes of payloads: 12300 here. */
static void filters_of_a_point_are_bounded(void)
{
	struct rig rig = rig_make(0);
	int first;
	int second;

	FAILS(event_with_glob(rig.channel, 100), E2BIG);
	first = event_with_glob(rig.channel, 50);
	CLAIM(first >= 0);
	/* Each alone would do, but they are at one point. */
	FAILS(event_with_glob(rig.channel, 50), E2BIG);
	CLAIM(event_fd(rig.channel, 0) == 0);
	CLAIM(!close(first));
	second = event_with_glob(rig.channel, 50);
	CLAIM(second >= 0 && !close(second));
	rig_drop(&rig);
}

static void events_are_bounded(void)
{
	struct rig rig = rig_make(0);
	uint32_t i;

	for (i = 1; i < SONDE_KMOD_EVENTS_MAX && !has_failed(); i++)
		CLAIM(event_fd(rig.channel, SONDE_KMOD_DISABLED) == 0);
	FAILS(event_fd(rig.channel, SONDE_KMOD_DISABLED), ENOSPC);
	rig_drop(&rig);
}

static void event_descriptors_count_and_switch(void)
{
	struct sonde_kmod_event_counts counts = { .size = sizeof(counts) };
	struct rig rig = rig_make(0);
	int event;

	run_on(0);
	event = event_fd(rig.channel, SONDE_KMOD_WANT_FD | SONDE_KMOD_DISABLED);
	CLAIM(event >= 0);
	start(&rig);
	emit(3); /* of the first event only */
	CLAIM(!ioctl(event, SONDE_KMOD_ENABLE));
	emit(4); /* of both */
	CLAIM(!ioctl(event, SONDE_KMOD_DISABLE));
	emit(5);
	CLAIM(!ioctl(event, SONDE_KMOD_EVENT_COUNTS, &counts));
	CLAIM(counts.recorded == 4 && counts.filtered == 0);
	CLAIM(!ioctl(event, SONDE_KMOD_ENABLE) && !close(event));
	emit(6);
	stop(&rig);
	CLAIM(read_all(&rig, 0) == 3 + 2 * 4 + 5 + 6);
	rig_drop(&rig);
}

/* While the event is off, the session does not see a switch: at the next one
 * it knows that on this CPU there was another. What happens before START and
 * after STOP is nobody's business. */
static void unseen_switches_are_counted(void)
{
	struct sonde_kmod_event event = { .size = sizeof(event),
					  .type = SONDE_KMOD_TRACEPOINT,
					  .id = 2,
					  .flags = SONDE_KMOD_TYPED |
						   SONDE_KMOD_WANT_FD,
					  .name = "sched_switch" };
	struct sonde_kmod_missed missed = { .size = sizeof(missed) };
	struct rig rig = rig_make(0);
	int fd = ioctl(rig.channel, SONDE_KMOD_EVENT, &event);
	int i;

	CLAIM(fd >= 0);
	run_on(0);
	for (i = 0; i < 2; i++) {
		start(&rig);
		(void)usleep(20000); /* which is two switches, here */
		stop(&rig);
		(void)usleep(20000);
	}
	CLAIM(!ioctl(rig.session, SONDE_KMOD_MISSED, &missed));
	CLAIM(missed.unseen == 0);
	start(&rig);
	(void)usleep(20000);
	CLAIM(!ioctl(fd, SONDE_KMOD_DISABLE));
	run_on(1); /* away from CPU 0, to another thread */
	CLAIM(!ioctl(fd, SONDE_KMOD_ENABLE));
	(void)usleep(20000);
	run_on(0);
	(void)usleep(20000);
	stop(&rig);
	CLAIM(!ioctl(rig.session, SONDE_KMOD_MISSED, &missed));
	CLAIM(missed.unseen > 0);
	CLAIM(!close(fd));
	rig_drop(&rig);
}

static void event_descriptors_hold_their_session(void)
{
	struct rig rig = rig_make(0);
	int event = event_fd(rig.channel, SONDE_KMOD_WANT_FD);
	uint32_t cpu;

	start(&rig);
	for (cpu = 0; cpu < CPUS; cpu++) {
		CLAIM(!munmap((void *)rig.memory[cpu], SPAN));
		CLAIM(!close(rig.stream[cpu]));
	}
	CLAIM(!close(rig.session) && !close(rig.channel));
	emit(1000);
	CLAIM(nr_sessions() == 1);
	CLAIM(!close(event) && nr_sessions() == 0);
	emit(1000);
}

/* ---- recording and reading ---- */

static void records_from_start_to_stop(void)
{
	struct sonde_kmod_missed missed = { .size = sizeof(missed) };
	struct rig rig = rig_make(0);
	struct sonde_kmod_counts counts;

	run_on(1);
	emit(10);
	start(&rig);
	emit(100);
	stop(&rig);
	emit(10);
	CLAIM(read_all(&rig, 1) == 100);
	start(&rig);
	emit(7);
	stop(&rig);
	CLAIM(read_all(&rig, 1) == 7);
	counts = counts_of(rig.stream[1]);
	CLAIM(counts.delivered >= 107 && !lost(&counts));
	CLAIM(!ioctl(rig.session, SONDE_KMOD_MISSED, &missed));
	CLAIM(missed.deep == 0 && missed.kprobes == 0 && missed.tracked == 0);
	rig_drop(&rig);
}

static void sessions_are_independent(void)
{
	struct rig one = rig_make(0), two = rig_make(1);

	run_on(0);
	start(&one);
	emit(5);
	start(&two);
	emit(6);
	stop(&one);
	emit(7);
	stop(&two);
	CLAIM(!ioctl(two.stream[0], SONDE_KMOD_FLUSH));
	CLAIM(read_all(&one, 0) == 11);
	CLAIM(read_all(&two, 0) == 13);
	CLAIM(nr_sessions() == 2);
	CLAIM(!close(two.session));
	two.session = -1;
	CLAIM(!munmap((void *)two.memory[0], SPAN) &&
	      !munmap((void *)two.memory[1], SPAN));
	CLAIM(!close(two.channel) && !close(two.stream[0]) &&
	      !close(two.stream[1]));
	rig_drop(&one);
}

static void discard_counts_what_did_not_fit(void)
{
	struct rig rig = rig_make(0);
	struct sonde_kmod_counts counts;
	const uint32_t nr = 3 * NR * SUBBUF / 14;
	uint32_t own;

	run_on(0);
	start(&rig);
	emit(nr);
	stop(&rig);
	own = read_all(&rig, 0);
	counts = counts_of(rig.stream[0]);
	CLAIM(counts.lost_full > 0 && !counts.lost_size && !counts.lost_busy);
	CLAIM(own <= nr && own + counts.lost_full >= nr);
	CLAIM(own > NR * SUBBUF / 20 && own < NR * SUBBUF / 14);
	rig_drop(&rig);
}

static void overwrite_keeps_the_newest(void)
{
	struct rig rig = rig_make(1);
	struct sonde_kmod_counts counts;
	const uint32_t nr = 10 * NR * SUBBUF / 14;
	uint32_t own;

	run_on(0);
	start(&rig);
	emit(nr);
	stop(&rig);
	CLAIM(!ioctl(rig.stream[0], SONDE_KMOD_FLUSH));
	own = read_all(&rig, 0);
	counts = counts_of(rig.stream[0]);
	CLAIM(!lost(&counts) && counts.overwritten > 0);
	CLAIM(counts.delivered + counts.overwritten >= nr);
	CLAIM(own <= counts.delivered && own >= 2 * SUBBUF / 20);
	rig_drop(&rig);
}

static void overwrite_needs_a_flush_for_the_rest(void)
{
	struct rig rig = rig_make(1);
	struct sonde_kmod_chunk chunk;

	run_on(0);
	start(&rig);
	emit(5);
	CLAIM(get(rig.stream[0], &chunk) == 0);
	CLAIM(!ioctl(rig.stream[0], SONDE_KMOD_FLUSH));
	CLAIM(get(rig.stream[0], &chunk) == 1 && chunk.closed && chunk.first);
	CLAIM(own_records(rig.memory[0], &chunk) == 5);
	CLAIM(!put(rig.stream[0], &chunk));
	stop(&rig);
	rig_drop(&rig);
}

static void get_gives_the_same_until_put(void)
{
	struct rig rig = rig_make(0);
	struct sonde_kmod_chunk a, b;

	run_on(0);
	start(&rig);
	emit(5);
	stop(&rig);
	CLAIM(get(rig.stream[0], &a) == 1 && get(rig.stream[0], &b) == 1);
	CLAIM(!memcmp(&a, &b, sizeof(a)));
	b.seq++;
	FAILS(put(rig.stream[0], &b), EINVAL);
	b = a;
	b.bytes--;
	FAILS(put(rig.stream[0], &b), EINVAL);
	b = a;
	b.offset += SUBBUF;
	FAILS(put(rig.stream[0], &b), EINVAL);
	CLAIM(!put(rig.stream[0], &a));
	FAILS(put(rig.stream[0], &a), EINVAL);
	CLAIM(get(rig.stream[0], &b) == 0);
	rig_drop(&rig);
}

/* ---- mappings ---- */

static void mappings_are_never_writable(void)
{
	struct rig rig = rig_make(0);
	int fd = rig.stream[0];
	void *memory;

	CLAIM(mmap(NULL, SPAN, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) ==
	      MAP_FAILED);
	CLAIM(mmap(NULL, SPAN, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0) ==
	      MAP_FAILED);
	memory = mmap(NULL, SPAN, PROT_READ, MAP_PRIVATE, fd, 0);
	CLAIM(memory != MAP_FAILED);
	FAILS(mprotect(memory, SPAN, PROT_READ | PROT_WRITE), EACCES);
	CLAIM(!munmap(memory, SPAN));
	FAILS(mprotect((void *)rig.memory[0], SPAN, PROT_WRITE), EACCES);
	FAILS(mprotect((void *)rig.memory[0], SPAN, PROT_EXEC), EACCES);
	rig_drop(&rig);
}

static void mappings_end_where_the_ring_does(void)
{
	struct rig rig = rig_make(0);
	int fd = rig.stream[0];
	const off_t far = (off_t)(INT64_MAX & ~0xfffll);
	void *last;

	CLAIM(mmap(NULL, SPAN + SUBBUF, PROT_READ, MAP_SHARED, fd, 0) ==
	      MAP_FAILED);
	CLAIM(mmap(NULL, SUBBUF, PROT_READ, MAP_SHARED, fd, SPAN) ==
	      MAP_FAILED);
	CLAIM(mmap(NULL, SUBBUF, PROT_READ, MAP_SHARED, fd, far) == MAP_FAILED);
	last = mmap(NULL, SUBBUF, PROT_READ, MAP_SHARED, fd, SPAN - SUBBUF);
	CLAIM(last != MAP_FAILED);
	CLAIM(mremap(last, SUBBUF, 2 * SUBBUF, MREMAP_MAYMOVE) == MAP_FAILED);
	CLAIM(!munmap(last, SUBBUF));
	rig_drop(&rig);
}

static void mappings_show_what_is_written(void)
{
	struct rig rig = rig_make(0);
	struct sonde_kmod_chunk chunk;
	unsigned char *copy =
		mmap(NULL, SPAN, PROT_READ, MAP_SHARED, rig.stream[0], 0);

	CLAIM(copy != MAP_FAILED);
	run_on(0);
	start(&rig);
	emit(5);
	stop(&rig);
	CLAIM(get(rig.stream[0], &chunk) == 1);
	CLAIM(own_records(copy, &chunk) == 5);
	CLAIM(!memcmp(copy, rig.memory[0], SPAN));
	CLAIM(!munmap(copy, SPAN));
	rig_drop(&rig);
}

/* ---- several at once ---- */

struct readers {
	struct rig rig;
	uint64_t events;
	int done;
};

static void *read_until_done(void *arg)
{
	struct readers *readers = arg;
	int stream = readers->rig.stream[1];
	struct sonde_kmod_chunk chunk;
	bool last, had;

	do {
		last = __atomic_load_n(&readers->done, __ATOMIC_ACQUIRE);
		had = get(stream, &chunk) == 1;
		/* Who puts first has had it. */
		if (had && !put(stream, &chunk))
			__atomic_add_fetch(&readers->events, chunk.events,
					   __ATOMIC_RELAXED);
	} while (!last || had);
	return NULL;
}

static void readers_share_what_there_is(void)
{
	struct readers readers = { .rig = rig_make(0) };
	struct sonde_kmod_counts counts;
	pthread_t threads[3];
	const uint64_t nr = 20000;
	int i;

	for (i = 0; i < 3; i++)
		CLAIM(!pthread_create(&threads[i], NULL, read_until_done,
				      &readers));
	run_on(1);
	start(&readers.rig);
	emit(nr);
	stop(&readers.rig);
	__atomic_store_n(&readers.done, 1, __ATOMIC_RELEASE);
	for (i = 0; i < 3; i++)
		CLAIM(!pthread_join(threads[i], NULL));
	counts = counts_of(readers.rig.stream[1]);
	CLAIM(readers.events == counts.delivered);
	CLAIM(counts.delivered + lost(&counts) >= nr);
	rig_drop(&readers.rig);
}

static void *start_and_stop_until_done(void *arg)
{
	struct readers *readers = arg;

	run_on(1);
	while (!__atomic_load_n(&readers->done, __ATOMIC_ACQUIRE)) {
		start(&readers->rig);
		stop(&readers->rig);
		readers->events++;
	}
	return NULL;
}

/* A stop walks the session's channels, of which one is half made then: of many
 * pages, so that it takes long. */
static void stopping_meets_whole_channels_only(void)
{
	struct readers readers = { .rig = rig_make(0) };
	pthread_t thread;
	int i;

	CLAIM(!pthread_create(&thread, NULL, start_and_stop_until_done,
			      &readers));
	run_on(0);
	for (i = 0; i < 200; i++) {
		int channel = channel_fd(readers.rig.session, 0, SUBBUF, 256);

		CLAIM(channel >= 0 && !close(channel));
	}
	__atomic_store_n(&readers.done, 1, __ATOMIC_RELEASE);
	CLAIM(!pthread_join(thread, NULL));
	CLAIM(readers.events > 0);
	rig_drop(&readers.rig);
}

/* ---- hotplug ---- */

static void cpu1_online(char yes)
{
	int fd = open("/sys/devices/system/cpu/cpu1/online",
		      O_WRONLY | O_CLOEXEC);

	CLAIM(fd >= 0 && write(fd, &yes, 1) == 1);
	CLAIM(!close(fd));
}

static void offline_cpus_stay_readable(uint32_t mode)
{
	struct rig rig = rig_make(mode);

	run_on(1);
	start(&rig);
	emit(50);
	run_on(0);
	cpu1_online('0');
	CLAIM(!ioctl(rig.stream[1], SONDE_KMOD_FLUSH));
	CLAIM(read_all(&rig, 1) == 50);
	cpu1_online('1');
	run_on(1);
	emit(60);
	stop(&rig);
	CLAIM(!ioctl(rig.stream[1], SONDE_KMOD_FLUSH));
	CLAIM(read_all(&rig, 1) == 60);
	run_on(0);
	rig_drop(&rig);
}

static void offline_cpus_stay_readable_in_discard_mode(void)
{
	offline_cpus_stay_readable(0);
}

static void offline_cpus_stay_readable_in_overwrite_mode(void)
{
	offline_cpus_stay_readable(1);
}

static void cpus_that_come_later_have_rings(void)
{
	struct rig rig;

	run_on(0);
	cpu1_online('0');
	rig = rig_make(0);
	start(&rig);
	cpu1_online('1');
	run_on(1);
	emit(30);
	stop(&rig);
	CLAIM(read_all(&rig, 1) == 30);
	run_on(0);
	rig_drop(&rig);
}

/* ---- all of them ---- */

static const struct test tests[] = {
	TEST(device_is_its_groups_and_roots),
	TEST(device_is_closed_to_others_whatever_its_mode),
	TEST(info_tells_what_there_is),
	TEST(info_writes_what_fits_only),
	TEST(longer_structures_are_known_by_their_number),
	TEST(sizes_and_addresses_are_checked),
	TEST(descriptors_know_their_calls_only),
	TEST(sessions_live_as_long_as_what_they_made),
	TEST(killed_owners_leave_nothing),
	TEST(children_hold_what_they_inherit),
	TEST(channel_geometry_is_checked),
	TEST(memory_is_bounded),
	TEST(streams_are_of_possible_cpus),
	TEST(scope_is_fixed_once_started),
	TEST(scope_leaves_others_out),
	TEST(module_stays_while_it_is_used),
	TEST(event_arguments_are_checked),
	TEST(filters_that_cut_a_text_are_refused),
	TEST(filters_of_a_point_are_bounded),
	TEST(events_are_bounded),
	TEST(event_descriptors_count_and_switch),
	TEST(unseen_switches_are_counted),
	TEST(event_descriptors_hold_their_session),
	TEST(records_from_start_to_stop),
	TEST(sessions_are_independent),
	TEST(discard_counts_what_did_not_fit),
	TEST(overwrite_keeps_the_newest),
	TEST(overwrite_needs_a_flush_for_the_rest),
	TEST(get_gives_the_same_until_put),
	TEST(mappings_are_never_writable),
	TEST(mappings_end_where_the_ring_does),
	TEST(mappings_show_what_is_written),
	TEST(readers_share_what_there_is),
	TEST(stopping_meets_whole_channels_only),
	TEST(offline_cpus_stay_readable_in_discard_mode),
	TEST(offline_cpus_stay_readable_in_overwrite_mode),
	TEST(cpus_that_come_later_have_rings),
};

static void no_session_is_left(void)
{
	CLAIM(nr_sessions() == 0);
}

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "-"))
		group = strtol(argv[1], NULL, 10);
	device_fd = open(SONDE_KMOD_DEVICE, O_RDWR | O_CLOEXEC);
	if (device_fd < 0)
		die(SONDE_KMOD_DEVICE);
	return RUN(tests, .words = argc > 2 ? argv + 2 : NULL,
		   .after = no_session_is_left);
}
