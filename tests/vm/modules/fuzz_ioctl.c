// SPDX-License-Identifier: MIT
/*
 * fuzz_ioctl.c - random callers of /dev/sonde: threads that make, use, map
 * and close descriptors in random order, with structures that are valid,
 * half valid, or noise.
 *
 *	fuzz_ioctl SEED SECONDS [THREADS]
 *
 * SECONDS, or up to ten times as long if not everything has been tried by then:
 * machines differ.
 *
 * As root in a guest, with the module loaded and nobody else using it. All
 * threads share one table of descriptors and one of mappings, so that calls meet
 * closes. Each thread's choices follow from the seed; how threads meet doesn't.
 *
 * Filters are programs made of operations that the verifier takes one by one
 * (unit/program_make.h), and then bent: with operations in random order nothing
 * would get past its first check.
 *
 * Whatever happens, the kernel must stay whole (a splat ends the guest, see
 * oops=panic), and when all is closed, sessions must be gone. (That the module
 * goes, too, is seen by who unloads it: modules/pass.) Each ioctl must have
 * succeeded and failed at least once: else nothing was tried.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../unit/program_make.h"
#include "kmod/abi.h"

/* This program has no library of ours. */
#include "expr/ops.c"
#include "expr/verify.c"

#define SLOTS   48u
#define THREADS 16u
#define NUMBERS 18u
#define CALLS   16u /* the first of them, which it makes */
#define LENGTHS 10u /* of time that it takes, at most */

enum kind {
	DEVICE,
	SESSION,
	CHANNEL,
	EVENT,
	STREAM,
	OTHER, /* what noise made */
	KINDS,
};

static const struct {
	unsigned int first, last; /* numbers of ioctls */
} calls[KINDS] = {
	[DEVICE] = { 1, 2 },  [SESSION] = { 3, 7 },  [CHANNEL] = { 8, 9 },
	[EVENT] = { 10, 12 }, [STREAM] = { 13, 16 }, [OTHER] = { 0, 31 },
};

static int fds[KINDS][SLOTS]; /* 0: none */
static struct {
	void *at;
	size_t bytes;
} mappings[SLOTS];
static pthread_mutex_t mappings_lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t succeeded[NUMBERS], failed_calls[NUMBERS], nr_calls;
static uint64_t nr_filters; /* that were taken */
static uint64_t nr_probes;  /* at `probed` */
static uint64_t probed;
static int is_over;

struct fuzzer {
	uint64_t random;
};

/* ---- chance ---- */

/* xorshift: any good enough, the same everywhere. */
static uint64_t draw(struct fuzzer *f)
{
	f->random ^= f->random << 13;
	f->random ^= f->random >> 7;
	f->random ^= f->random << 17;
	return f->random;
}

static uint32_t below(struct fuzzer *f, uint32_t n)
{
	return (uint32_t)((draw(f) >> 20) % n);
}

static bool one_in(struct fuzzer *f, uint32_t n)
{
	return !below(f, n);
}

/* A number of the kind that goes wrong. */
static uint64_t odd_number(struct fuzzer *f)
{
	switch (below(f, 6)) {
	case 0:
		return 0;
	case 1:
		return UINT64_MAX - below(f, 9);
	case 2:
		return 1ull << below(f, 64);
	case 3:
		return (1ull << below(f, 64)) - 1;
	case 4:
		return below(f, 70000);
	}
	return draw(f);
}

/* Some bytes of a structure become something else, its size among them. */
static void spoil(struct fuzzer *f, void *structure, size_t bytes)
{
	unsigned char *at = structure;
	uint32_t nr = one_in(f, 3) ? 1 + below(f, 3) : 0;

	while (nr--) {
		uint64_t number = odd_number(f);
		size_t width = 1u << below(f, 4);
		size_t where = below(f, (uint32_t)(bytes / width)) * width;

		if (where + width <= bytes)
			memcpy(at + where, &number, width);
	}
}

/* ---- descriptors ---- */

static void keep(struct fuzzer *f, enum kind kind, int fd)
{
	int old;

	if (fd <= 2)
		return;
	old = __atomic_exchange_n(&fds[kind][below(f, SLOTS)], fd,
				  __ATOMIC_ACQ_REL);
	if (old)
		(void)close(old); /* that is what is wanted */
}

static int pick(struct fuzzer *f, enum kind kind)
{
	uint32_t i;

	if (one_in(f, 20))
		kind = (enum kind)below(f, KINDS);
	for (i = 0; i < 8; i++) {
		int fd = __atomic_load_n(&fds[kind][below(f, SLOTS)],
					 __ATOMIC_ACQUIRE);

		if (fd)
			return fd;
	}
	return -1;
}

static void drop_some(struct fuzzer *f, enum kind kind)
{
	int fd = __atomic_exchange_n(&fds[kind][below(f, SLOTS)], 0,
				     __ATOMIC_ACQ_REL);

	if (fd)
		(void)close(fd); /* that is what is wanted */
}

static int call(int fd, unsigned int nr, size_t bytes, void *structure)
{
	unsigned long cmd =
		_IOC(_IOC_READ | _IOC_WRITE, SONDE_KMOD_IOC, nr, bytes);
	int rc = ioctl(fd, cmd, structure);

	__atomic_add_fetch(&nr_calls, 1, __ATOMIC_RELAXED);
	if (nr < NUMBERS)
		__atomic_add_fetch(rc < 0 ? &failed_calls[nr] : &succeeded[nr],
				   1, __ATOMIC_RELAXED);
	return rc;
}

#define CALL(fd, cmd, structure) \
	call((fd), _IOC_NR(cmd), sizeof(*(structure)), (structure))

/* ---- what callers do ---- */

static void noise(struct fuzzer *f)
{
	enum kind kind = (enum kind)below(f, KINDS);
	unsigned int first = calls[kind].first;
	unsigned int nr = first + below(f, calls[kind].last - first + 1);
	uint64_t structure[40];
	uint32_t size = below(f, sizeof(structure) + 1);
	size_t i;

	for (i = 0; i < 40; i++)
		structure[i] = odd_number(f);
	if (!one_in(f, 4))
		memcpy(structure, &size, sizeof(size));
	if (one_in(f, 8))
		(void)call(pick(f, kind), nr, below(f, 4096),
			   (void *)(uintptr_t)odd_number(f));
	else
		/* Noise may make something, too. */
		keep(f, OTHER,
		     call(pick(f, kind), nr, sizeof(structure), structure));
}

static void device(struct fuzzer *f)
{
	struct sonde_kmod_info info = { .size = sizeof(info) };

	if (one_in(f, 4))
		keep(f, DEVICE, open(SONDE_KMOD_DEVICE, O_RDWR | O_CLOEXEC));
	spoil(f, &info, sizeof(info));
	(void)CALL(pick(f, DEVICE), SONDE_KMOD_INFO, &info);
}

static void session(struct fuzzer *f)
{
	struct sonde_kmod_session request = {
		.size = sizeof(request),
		.self = { one_in(f, 8) ? getpid() : 0, 0 },
	};

	spoil(f, &request, sizeof(request));
	keep(f, SESSION, CALL(pick(f, DEVICE), SONDE_KMOD_SESSION, &request));
}

static void channel(struct fuzzer *f)
{
	struct sonde_kmod_channel request = {
		.size = sizeof(request),
		.mode = below(f, 2),
		.subbuf_bytes = 4096u << below(f, 4),
		.nr_subbufs = 2u << below(f, 4),
		.clock = below(f, 2),
	};

	spoil(f, &request, sizeof(request));
	keep(f, CHANNEL, CALL(pick(f, SESSION), SONDE_KMOD_CHANNEL, &request));
}

static void control(struct fuzzer *f)
{
	struct sonde_kmod_scope scope = {
		.size = sizeof(scope),
		.pid = one_in(f, 2) ? getpid() : (int32_t)below(f, 400),
	};
	struct sonde_kmod_missed missed = { .size = sizeof(missed) };
	int fd = pick(f, SESSION);

	switch (below(f, 8)) {
	case 0:
		spoil(f, &scope, sizeof(scope));
		(void)CALL(fd, SONDE_KMOD_SCOPE, &scope);
		break;
	case 1:
		spoil(f, &missed, sizeof(missed));
		(void)CALL(fd, SONDE_KMOD_MISSED, &missed);
		break;
	case 2:
		(void)call(fd, _IOC_NR(SONDE_KMOD_STOP), 0, NULL);
		break;
	default:
		(void)call(fd, _IOC_NR(SONDE_KMOD_START), 0, NULL);
	}
}

static struct sonde_kmod_cap random_cap(struct fuzzer *f)
{
	struct sonde_kmod_cap cap = {
		.kind = SONDE_KMOD_VALUE,
		.from = one_in(f, 2) ? SONDE_KMOD_FROM_ARG :
				       (uint8_t)below(f, SONDE_KMOD_FROMS),
		.index = (uint8_t)below(f, 3),
		.bytes = (uint8_t)(1u << below(f, 4)),
	};

	if (one_in(f, 3)) {
		cap.kind = (uint8_t)below(f, SONDE_KMOD_KINDS);
		cap.max = (uint16_t)(1 + below(f, 300));
		cap.bytes = 0;
		cap.length = 2;
	}
	if (one_in(f, 4)) {
		cap.nr_path = (uint8_t)(1 + below(f, SONDE_KMOD_PATH_MAX));
		cap.offset[0] = (int16_t)draw(f);
		cap.offset[1] = (int16_t)draw(f);
	}
	spoil(f, &cap, sizeof(cap));
	return cap;
}

static void name_it(struct fuzzer *f, struct sonde_kmod_event *event)
{
	static const char *const names[][4] = {
		{ "sched_switch", "sched_waking", "sys_enter", "no_such" },
		{ "__x64_sys_getppid", "__x64_sys_getppid+1", "no_such",
		  "ksys_read" },
	};
	uint32_t which = event->type != SONDE_KMOD_TRACEPOINT;

	(void)snprintf(event->name, sizeof(event->name), "%s",
		       names[which][below(f, 4)]);
}

/* What the module takes: no doubles, nothing of a traced program. */
static bool is_for_kernel(uint8_t code)
{
	const struct sonde_expr_op_info *info = &sonde_expr_op_infos[code];
	size_t length = strlen(info->name);

	return !(info->operands & SONDE_EXPR_OPERAND_MACHINE) &&
	       code != SONDE_EXPR_OP_CALL_NUMBER &&
	       !strstr(info->name, "DOUBLE") && !strstr(info->name, "FLOAT") &&
	       strcmp(info->name + length - 2, "_D") != 0;
}

static uint64_t next_number(void *ctx)
{
	return draw(ctx) >> 20;
}

/* A program, most of them sound; its bytes. Sound ones are counted. */
static uint32_t make_filter(struct fuzzer *f, union made *filter)
{
	static const struct made_alphabet alphabet = {
		.numbers = 6,
		.texts = 2,
		.senses = 2,
		.keeps = 6,
		.type = SONDE_EXPR_INT,
		.has = is_for_kernel,
	};

	if (!made_any(filter, &alphabet, 1 + below(f, 12), next_number, f))
		return 0;
	made_bend(filter, next_number, f);
	return (uint32_t)made_size(filter);
}

/* Many filters, one after the other, at calls that this thread then makes. */
static void filters(struct fuzzer *f)
{
	const struct sonde_kmod_cap cap = { .kind = SONDE_KMOD_VALUE,
					    .from = SONDE_KMOD_FROM_NR,
					    .bytes = 8 };
	int channel = pick(f, CHANNEL);
	union made filter;
	uint32_t i;

	for (i = 0; i < 64; i++) {
		struct sonde_kmod_event request = {
			.size = sizeof(request),
			.type = SONDE_KMOD_SYSCALL_ENTRY,
			.id = 1,
			.flags = SONDE_KMOD_WANT_FD,
			.number = SYS_getppid,
			.nr_caps = 1,
			.caps = (uintptr_t)&cap,
			.filter = (uintptr_t)&filter,
			.filter_bytes = make_filter(f, &filter),
		};
		int fd = CALL(channel, SONDE_KMOD_EVENT, &request);

		if (fd < 0)
			continue;
		__atomic_add_fetch(&nr_filters, 1, __ATOMIC_RELAXED);
		(void)syscall(SYS_getppid);
		(void)close(fd); /* nothing was written */
	}
}

static void event(struct fuzzer *f)
{
	struct sonde_kmod_cap caps[SONDE_KMOD_CAPS_MAX];
	struct sonde_kmod_text texts[2] = { { .offset = UINT32_MAX },
					    { .size = 8 } };
	union made filter;
	struct sonde_kmod_event request = {
		.size = sizeof(request),
		.type = below(f, SONDE_KMOD_TYPES),
		.id = 1 + below(f, 1000),
		.flags = below(f, 16),
		.number = one_in(f, 2) ? SYS_getppid : below(f, 500),
		.nr_caps = below(f, 4),
		.caps = (uintptr_t)caps,
	};
	bool is_filtered = one_in(f, 2);
	size_t i;
	int fd;

	for (i = 0; i < SONDE_KMOD_CAPS_MAX; i++)
		caps[i] = random_cap(f);
	if (is_filtered) {
		request.filter_bytes = make_filter(f, &filter);
		request.filter = (uintptr_t)&filter;
		request.nr_texts = 2;
		request.texts = (uintptr_t)texts;
	}
	name_it(f, &request);
	spoil(f, &request, sizeof(request));
	fd = CALL(pick(f, CHANNEL), SONDE_KMOD_EVENT, &request);
	if (is_filtered && fd >= 0)
		__atomic_add_fetch(&nr_filters, 1, __ATOMIC_RELAXED);
	keep(f, EVENT, fd);
}

static void event_calls(struct fuzzer *f)
{
	struct sonde_kmod_event_counts counts = { .size = sizeof(counts) };
	int fd = pick(f, EVENT);

	(void)call(fd, _IOC_NR(SONDE_KMOD_ENABLE) + below(f, 2), 0, NULL);
	spoil(f, &counts, sizeof(counts));
	(void)CALL(fd, SONDE_KMOD_EVENT_COUNTS, &counts);
}

static void stream(struct fuzzer *f)
{
	struct sonde_kmod_stream request = { .size = sizeof(request),
					     .cpu = below(f, 2) };

	spoil(f, &request, sizeof(request));
	keep(f, STREAM, CALL(pick(f, CHANNEL), SONDE_KMOD_STREAM, &request));
}

static void read_stream(struct fuzzer *f)
{
	struct sonde_kmod_chunk chunk = { .size = sizeof(chunk) };
	int fd = pick(f, STREAM);

	if (one_in(f, 4))
		(void)call(fd, _IOC_NR(SONDE_KMOD_FLUSH), 0, NULL);
	(void)CALL(fd, SONDE_KMOD_GET, &chunk);
	spoil(f, &chunk, sizeof(chunk));
	(void)CALL(fd, SONDE_KMOD_PUT, &chunk);
}

static void ask_stream(struct fuzzer *f)
{
	struct sonde_kmod_counts counts = { .size = sizeof(counts) };

	spoil(f, &counts, sizeof(counts));
	(void)CALL(pick(f, STREAM), SONDE_KMOD_STREAM_COUNTS, &counts);
}

static void unmap(uint32_t slot)
{
	if (mappings[slot].at)
		(void)munmap(mappings[slot].at, mappings[slot].bytes);
	mappings[slot].at = NULL;
}

static void map(struct fuzzer *f)
{
	size_t bytes = (1 + below(f, 12)) * 4096ul;
	off_t offset = one_in(f, 4) ? (off_t)(odd_number(f) & ~4095ull) : 0;
	int how = one_in(f, 6) ? PROT_READ | PROT_WRITE : PROT_READ;
	void *at =
		mmap(NULL, bytes, how, one_in(f, 3) ? MAP_PRIVATE : MAP_SHARED,
		     pick(f, STREAM), offset);
	uint32_t slot = below(f, SLOTS);

	if (at == MAP_FAILED)
		return;
	(void)mprotect(at, bytes, PROT_READ | PROT_WRITE);
	(void)*(volatile char *)at;
	(void)pthread_mutex_lock(&mappings_lock);
	unmap(slot);
	mappings[slot].at = at;
	mappings[slot].bytes = bytes;
	(void)pthread_mutex_unlock(&mappings_lock);
}

static void drop(struct fuzzer *f)
{
	drop_some(f, (enum kind)below(f, KINDS));
	if (one_in(f, 4)) {
		(void)pthread_mutex_lock(&mappings_lock);
		unmap(below(f, SLOTS));
		(void)pthread_mutex_unlock(&mappings_lock);
	}
}

static void others(struct fuzzer *f)
{
	uint32_t nr = below(f, 2000);
	pid_t child;

	while (nr--)
		(void)syscall(SYS_getppid); /* events */
	if (!one_in(f, 20))
		return;
	child = fork();
	if (!child) {
		struct timespec a_moment = { .tv_nsec = 1000000 };

		(void)nanosleep(&a_moment, NULL); /* holding everything */
		_exit(0);
	}
	if (child > 0)
		(void)waitpid(child, NULL, 0);
	else
		(void)sched_yield();
}

/* ---- kprobes at addresses ---- */

/* Of a program that sees registers and memory, and no more. */
static bool is_seeing(uint8_t code)
{
	const struct sonde_expr_op_info *info = &sonde_expr_op_infos[code];

	if (info->operands &
		    (SONDE_EXPR_OPERAND_MEM | SONDE_EXPR_OPERAND_CALL |
		     SONDE_EXPR_OPERAND_TEXT | SONDE_EXPR_OPERAND_DOUBLE) ||
	    info->takes.texts)
		return false;
	return !(info->operands & SONDE_EXPR_OPERAND_MACHINE) || info->bytes ||
	       code == SONDE_EXPR_OP_REGISTER;
}

static uint32_t make_seeing(struct fuzzer *f, union made *program)
{
	static const struct made_alphabet alphabet = {
		.numbers = 6,
		.texts = 1,
		.senses = 2,
		.keeps = 6,
		.type = SONDE_EXPR_INT,
		.has = is_seeing,
	};

	if (!made_any(program, &alphabet, 1 + below(f, 12), next_number, f))
		return 0;
	if (one_in(f, 4))
		made_bend(program, next_number, f);
	return (uint32_t)made_size(program);
}

static struct sonde_kmod_item random_item(struct fuzzer *f, union made *program)
{
	struct sonde_kmod_item item = {
		.kind = (uint8_t)below(f, SONDE_KMOD_ITEM_KINDS),
		.bytes = (uint16_t)(1u << below(f, 4)),
	};

	if (item.kind == SONDE_KMOD_ITEM_WORDS) {
		item.nr_words = (uint8_t)(1 + below(f, 24));
		item.bytes = (uint16_t)(item.nr_words * sizeof(uint64_t));
		for (uint32_t i = 0; i < item.nr_words; i++)
			item.words[i] = (uint8_t)below(f, 21);
	} else {
		item.program_bytes = make_seeing(f, program);
		item.program = (uintptr_t)program;
	}
	if (one_in(f, 4))
		spoil(f, &item, sizeof(item));
	return item;
}

/* At one that this thread calls, too, or anywhere. */
static void probe(struct fuzzer *f)
{
	union made programs[4];
	struct sonde_kmod_item items[4];
	struct sonde_kmod_event request = {
		.size = sizeof(request),
		.type = SONDE_KMOD_KPROBE,
		.id = 1 + below(f, 1000),
		.flags = below(f, 8) | (below(f, 4) * SONDE_KMOD_ADDRESSES),
		.address = one_in(f, 8) ? odd_number(f) : probed,
		.place = draw(f),
		.items = (uintptr_t)items,
		.nr_items = 1 + below(f, 3),
	};
	union made condition;
	int fd;

	for (uint32_t i = 0; i < 4; i++)
		items[i] = random_item(f, &programs[i]);
	if (one_in(f, 2)) {
		request.filter_bytes = make_seeing(f, &condition);
		request.filter = (uintptr_t)&condition;
	}
	if (one_in(f, 4))
		(void)snprintf(request.name, sizeof(request.name), "%s",
			       one_in(f, 2) ? "sched_switch" : "no_such");
	spoil(f, &request, sizeof(request));
	fd = CALL(pick(f, CHANNEL), SONDE_KMOD_EVENT, &request);
	if (request.address == probed && fd >= 0)
		__atomic_add_fetch(&nr_probes, 1, __ATOMIC_RELAXED);
	keep(f, EVENT, fd);
	(void)syscall(SYS_getppid); /* never fails */
}

/* Of a function that getppid() calls; 0: it isn't known. */
static uint64_t find_probed(void)
{
	FILE *file = fopen("/proc/kallsyms", "r");
	unsigned long long address;
	uint64_t found = 0;
	char line[512], symbol[256];

	while (file && !found && fgets(line, sizeof(line), file))
		if (sscanf(line, "%llx %*c %255s", &address, symbol) == 2 &&
		    !strcmp(symbol, "__x64_sys_getppid"))
			found = address;
	if (file)
		(void)fclose(file); /* only read */
	return found;
}

static void duplicate(struct fuzzer *f)
{
	enum kind kind = (enum kind)below(f, KINDS);
	int fd = pick(f, kind);

	if (fd >= 0)
		keep(f, kind, fcntl(fd, F_DUPFD_CLOEXEC, 3));
}

/* By weight. */
static void (*const actions[])(struct fuzzer *f) = {
	noise,       noise,       device,      session,     session,
	channel,     channel,     channel,     event,       event,
	event,       filters,     event_calls, control,     stream,
	stream,      stream,      read_stream, read_stream, read_stream,
	read_stream, read_stream, ask_stream,  map,         map,
	drop,        drop,        drop,        drop,        others,
	others,      duplicate,   probe,       probe,
};

static void *fuzz(void *arg)
{
	struct fuzzer *f = arg;

	while (!__atomic_load_n(&is_over, __ATOMIC_ACQUIRE))
		actions[below(f, sizeof(actions) / sizeof(actions[0]))](f);
	return NULL;
}

/* ---- afterwards ---- */

static unsigned int passed, failed;

static void verdict(bool holds, const char *name, const char *why)
{
	if (holds)
		printf("ok %s\n", name);
	else
		printf("FAIL %s: %s\n", name, why);
	passed += holds;
	failed += !holds;
}

static unsigned long long count_of(const uint64_t *count)
{
	return __atomic_load_n(count, __ATOMIC_RELAXED);
}

/* The first call that has not succeeded and failed; 0: all have. */
static unsigned int not_tried(void)
{
	unsigned int nr;

	for (nr = 1; nr <= CALLS; nr++)
		if (!count_of(&succeeded[nr]) || !count_of(&failed_calls[nr]))
			return nr;
	return 0;
}

static bool lacks_probes(void)
{
	return probed && !count_of(&nr_probes);
}

static void everything_was_tried(void)
{
	unsigned int missing = not_tried();
	char why[100] = "";
	unsigned int nr;

	for (nr = 1; nr <= CALLS; nr++)
		printf("  call %u: %llu succeeded, %llu failed\n", nr,
		       count_of(&succeeded[nr]), count_of(&failed_calls[nr]));
	if (missing)
		(void)snprintf(why, sizeof(why), "call %u", missing);
	verdict(!why[0], "every_call_succeeded_and_failed", why);
	printf("  %llu filters\n", (unsigned long long)nr_filters);
	verdict(nr_filters > 0, "filters_were_taken", "none");
	printf("  %llu probes at an address\n", (unsigned long long)nr_probes);
	verdict(!lacks_probes(), "probes_at_addresses_were_taken", "none");
}

static void close_everything(void)
{
	uint32_t slot;

	for (slot = 0; slot < SLOTS; slot++)
		unmap(slot);
	/* Those that threads lost sight of, too. */
	if (syscall(SYS_close_range, 3u, ~0u, 0u))
		perror("close_range");
}

static void everything_is_gone(void)
{
	struct sonde_kmod_info info = { .size = sizeof(info) };
	int fd = open(SONDE_KMOD_DEVICE, O_RDWR | O_CLOEXEC);
	char why[100];
	int rc;

	rc = ioctl(fd, SONDE_KMOD_INFO, &info);
	(void)snprintf(why, sizeof(why), "INFO %d, %u sessions", rc,
		       info.nr_sessions);
	verdict(!rc && !info.nr_sessions, "all_sessions_are_gone", why);
	(void)close(fd);
}

int main(int argc, char **argv)
{
	static struct fuzzer fuzzers[THREADS];
	pthread_t threads[THREADS];
	struct timespec length = { 0 };
	unsigned long seed, nr, i;

	if (argc < 3) {
		(void)fprintf(stderr,
			      "usage: fuzz_ioctl SEED SECONDS [THREADS]\n");
		return 2;
	}
	seed = strtoul(argv[1], NULL, 10);
	length.tv_sec = strtol(argv[2], NULL, 10);
	nr = argc > 3 ? strtoul(argv[3], NULL, 10) : 4;
	nr = nr < 1 ? 1 : nr > THREADS ? THREADS : nr;
	printf("seed %lu, %lu threads\n", seed, nr);
	(void)signal(SIGPIPE, SIG_IGN);
	fds[DEVICE][0] = open(SONDE_KMOD_DEVICE, O_RDWR | O_CLOEXEC);
	if (fds[DEVICE][0] < 0) {
		perror(SONDE_KMOD_DEVICE);
		return 2;
	}
	probed = find_probed();
	for (i = 0; i < nr; i++) {
		fuzzers[i].random = (seed + 1) * 0x9e3779b97f4a7c15ull + i;
		if (pthread_create(&threads[i], NULL, fuzz, &fuzzers[i]))
			return 2;
	}
	for (i = 0; i < LENGTHS && (!i || not_tried() || lacks_probes()); i++)
		(void)nanosleep(&length, NULL); /* how long it runs, no more */
	__atomic_store_n(&is_over, 1, __ATOMIC_RELEASE);
	for (i = 0; i < nr; i++)
		(void)pthread_join(threads[i], NULL);
	printf("%llu calls\n", (unsigned long long)nr_calls);
	everything_was_tried();
	close_everything();
	everything_is_gone();
	printf("%u passed, %u failed\n", passed, failed);
	return failed ? 1 : 0;
}
