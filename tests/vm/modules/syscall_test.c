// SPDX-License-Identifier: MIT
/*
 * syscall_test.c - system calls through the loaded module: numbers, strings,
 * lists, buffers, 32-bit calls, unknown ones, bad pointers.
 *
 * As root in a guest with sonde.ko. Each function's name is a claim; it makes a
 * session, calls what it records, and compares payloads byte by byte. Only this
 * thread's records are looked at, so whatever else runs doesn't matter. Prints
 * `ok NAME` or `FAIL NAME: why`, and `N passed, M failed`.
 */
#include "client.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define RECORDS_MAX 16u
#define PAYLOAD_MAX 1024u
#define CAPS_MAX    8u
#define EVENTS_MAX  4u

#define ENTRY       SONDE_KMOD_SYSCALL_ENTRY
#define EXIT        SONDE_KMOD_SYSCALL_EXIT

/* Of a record: 16 bits of id, 32 of time, then the thread; or these, longer. */
#define HEAD     6u
#define HEAD_MAX 14u
#define ESCAPE   65535u

/* ---- a session ---- */

struct wanted {
	uint32_t nr_caps;
	struct sonde_kmod_cap caps[CAPS_MAX];
};

struct record {
	uint32_t id;
	uint32_t size;
	unsigned char payload[PAYLOAD_MAX];
};

struct rig {
	struct client client;
	uint32_t nr_events;
	struct wanted events[EVENTS_MAX]; /* by id - 1 */
	uint32_t nr_records;
	struct record records[RECORDS_MAX];
};

static struct rig rig;
static struct rig second;

static void begin(struct rig *to)
{
	static const struct client_config config = { .subbuf_bytes = 65536,
						     .nr_subbufs = 8 };

	memset(to, 0, sizeof(*to));
	client_open(&to->client, &config);
}

struct which {
	uint32_t type;
	uint32_t number;
	uint32_t flags;
	const unsigned char *known; /* of unknown ones */
};

static void ask(struct rig *to, struct which which,
		const struct sonde_kmod_cap *caps, uint32_t nr)
{
	struct wanted *wanted = &to->events[to->nr_events++];
	struct sonde_kmod_event event = {
		.size = sizeof(event),
		.type = which.type,
		.id = to->nr_events,
		.flags = which.flags,
		.number = which.number,
		.nr_caps = nr,
		.caps = (uintptr_t)wanted->caps,
	};

	wanted->nr_caps = nr;
	memcpy(wanted->caps, caps, nr * sizeof(*caps));
	if (which.known)
		memcpy(event.name, which.known, sizeof(event.name));
	(void)client_event(&to->client,
			   &event); /* no descriptor is asked for */
}

/* ---- records ---- */

static uint32_t text_size(const unsigned char *at, size_t room)
{
	const unsigned char *nul = memchr(at, 0, room);

	return nul ? (uint32_t)(nul - at) + 1 : (uint32_t)room;
}

static uint32_t payload_size(const struct wanted *wanted,
			     const unsigned char *at, size_t room)
{
	uint32_t size = 0;

	for (uint32_t i = 0; i < wanted->nr_caps && size < room; i++) {
		const struct sonde_kmod_cap *cap = &wanted->caps[i];
		uint32_t length;

		if (cap->kind == SONDE_KMOD_VALUE) {
			size += cap->bytes;
		} else if (cap->kind == SONDE_KMOD_UBUFFER) {
			memcpy(&length, at + size, sizeof(length));
			size += 4 + length;
		} else {
			size += text_size(at + size, room - size);
		}
	}
	return size;
}

/* Returns the record's bytes; 0: it makes no sense. */
static size_t take_record(struct rig *from, const unsigned char *at,
			  size_t room)
{
	uint16_t id16;
	uint32_t id;
	uint32_t tid;
	uint32_t size;
	size_t head = HEAD;

	if (room < HEAD + 4)
		return 0;
	memcpy(&id16, at, sizeof(id16));
	id = id16;
	if (id == ESCAPE) {
		memcpy(&id, at + 2, sizeof(id));
		head = HEAD_MAX;
	}
	if (!id || id > from->nr_events || room < head + 4)
		return 0;
	memcpy(&tid, at + head, sizeof(tid));
	head += sizeof(tid);
	size = payload_size(&from->events[id - 1], at + head, room - head);
	if (size > room - head)
		return 0;
	if (tid == (uint32_t)gettid() && from->nr_records < RECORDS_MAX &&
	    size <= PAYLOAD_MAX) {
		struct record *record = &from->records[from->nr_records++];

		record->id = id;
		record->size = size;
		memcpy(record->payload, at + head, size);
	}
	return head + size;
}

static void read_stream(struct rig *from, uint32_t cpu)
{
	struct sonde_kmod_chunk chunk;

	while (client_get(&from->client, cpu, &chunk)) {
		const unsigned char *at =
			from->client.memory[cpu] + chunk.offset;
		size_t done = 0;
		size_t bytes = 1;

		while (bytes && done < chunk.bytes) {
			bytes = take_record(from, at + done,
					    chunk.bytes - done);
			done += bytes;
		}
		if (!bytes)
			fail("a record makes no sense");
		client_put(&from->client, cpu, &chunk);
	}
}

static void start(struct rig *to)
{
	client_start(&to->client);
}

static void finish(struct rig *from)
{
	client_stop(&from->client);
	for (uint32_t cpu = 0; cpu < from->client.nr_cpus; cpu++)
		read_stream(from, cpu);
	client_close(&from->client);
}

/* The one record of that event, or an empty one and a failure. */
static const struct record *only(const struct rig *from, uint32_t id)
{
	static const struct record none;
	const struct record *found = NULL;

	for (uint32_t i = 0; i < from->nr_records; i++) {
		if (from->records[i].id != id)
			continue;
		if (found)
			fail("event %u more than once", id);
		found = &from->records[i];
	}
	if (!found)
		fail("no event %u", id);
	return found ? found : &none;
}

static void expect(const struct record *record, const void *bytes, size_t size)
{
	if (record->size != size)
		fail("%u bytes, not %zu", record->size, size);
	else if (memcmp(record->payload, bytes, size) != 0)
		fail("other bytes than expected: %.40s", record->payload);
}

/* ---- captures ---- */

static struct sonde_kmod_cap number(uint8_t arg, uint8_t bytes)
{
	return (struct sonde_kmod_cap){ .kind = SONDE_KMOD_VALUE,
					.from = SONDE_KMOD_FROM_ARG,
					.index = arg,
					.bytes = bytes };
}

static struct sonde_kmod_cap call_number(void)
{
	return (struct sonde_kmod_cap){ .kind = SONDE_KMOD_VALUE,
					.from = SONDE_KMOD_FROM_NR,
					.bytes = 8,
					.from_bytes = 4,
					.is_signed = 1 };
}

static struct sonde_kmod_cap text(uint8_t kind, uint8_t arg, uint16_t max)
{
	return (struct sonde_kmod_cap){ .kind = kind,
					.from = SONDE_KMOD_FROM_ARG,
					.index = arg,
					.max = max };
}

static struct sonde_kmod_cap buffer(uint8_t arg, uint8_t length, uint16_t max)
{
	return (struct sonde_kmod_cap){ .kind = SONDE_KMOD_UBUFFER,
					.from = SONDE_KMOD_FROM_ARG,
					.index = arg,
					.length = length,
					.max = max };
}

/* A call's one text or buffer, recorded while `call` is made. */
static const struct record *one(struct which which, struct sonde_kmod_cap cap,
				void (*call)(void))
{
	begin(&rig);
	ask(&rig, which, &cap, 1);
	start(&rig);
	call();
	finish(&rig);
	return only(&rig, 1);
}

/* ---- numbers ---- */

static void arguments_and_result_are_numbers(void)
{
	static const uint64_t args[] = { 0x1111222233334444u, 0,     3, 4,
					 0x5555666677778888u, 0x6000 };
	struct sonde_kmod_cap caps[6];
	struct sonde_kmod_cap result = number(6, 8);
	struct sonde_kmod_cap also = { .kind = SONDE_KMOD_VALUE,
				       .from = SONDE_KMOD_FROM_RESULT,
				       .bytes = 8 };
	int64_t refused;

	for (uint8_t i = 0; i < 6; i++)
		caps[i] = number(i, 8);
	begin(&rig);
	ask(&rig, (struct which){ ENTRY, SYS_mmap, 0, NULL }, caps, 6);
	ask(&rig, (struct which){ EXIT, SYS_mmap, 0, NULL }, &result, 1);
	ask(&rig, (struct which){ EXIT, SYS_mmap, 0, NULL }, &also, 1);
	start(&rig);
	CLAIM(syscall(SYS_mmap, args[0], args[1], args[2], args[3], args[4],
		      args[5]) == -1);
	refused = -errno;
	finish(&rig);
	expect(only(&rig, 1), args, sizeof(args));
	expect(only(&rig, 2), &refused, sizeof(refused));
	expect(only(&rig, 3), &refused, sizeof(refused));
}

static void narrow_numbers_are_low_bytes(void)
{
	struct sonde_kmod_cap caps[] = { number(0, 4), number(4, 2) };
	static const unsigned char bytes[] = { 0x44, 0x33, 0x22, 0x11, 6, 5 };

	begin(&rig);
	ask(&rig, (struct which){ ENTRY, SYS_mmap, 0, NULL }, caps, 2);
	start(&rig);
	(void)syscall(SYS_mmap, 0xffffffff11223344u, 0, 0, 0, 0x70506, 0);
	finish(&rig);
	expect(only(&rig, 1), bytes, sizeof(bytes));
}

static void only_that_number_is_recorded(void)
{
	begin(&rig);
	ask(&rig, (struct which){ ENTRY, SYS_getppid, 0, NULL }, NULL, 0);
	start(&rig);
	(void)syscall(SYS_getpgid, 0);
	(void)syscall(SYS_getppid);
	(void)syscall(SYS_getuid);
	finish(&rig);
	CLAIM(rig.nr_records == 1);
	CLAIM(only(&rig, 1)->size == 0);
}

#if defined(__x86_64__)
/* The kernel makes the call that the lower half of the register says. */
static void both_ends_of_a_call_have_one_number_whatever_the_upper_half(void)
{
	static const int64_t wanted = SYS_getppid;
	struct sonde_kmod_cap cap = call_number();

	begin(&rig);
	ask(&rig, (struct which){ ENTRY, SYS_getppid, 0, NULL }, &cap, 1);
	ask(&rig, (struct which){ EXIT, SYS_getppid, 0, NULL }, &cap, 1);
	start(&rig);
	CLAIM(syscall(SYS_getppid | 1L << 32) == getppid());
	finish(&rig);
	expect(&rig.records[0], &wanted, sizeof(wanted));
	expect(&rig.records[1], &wanted, sizeof(wanted));
	CLAIM(rig.records[0].id == 1 && rig.records[1].id == 2);
}
#endif

/* Of a plain list they are registers of the caller's, whatever these hold. */
static void arguments_beyond_the_sixth_are_zeros_in_a_list_not_plain(void)
{
	struct sonde_kmod_cap caps[] = { call_number(), number(6, 8),
					 number(7, 8), number(11, 8) };
	static const uint64_t wanted[4] = { SYS_getppid };

	begin(&rig);
	ask(&rig, (struct which){ ENTRY, SYS_getppid, 0, NULL }, caps, 4);
	start(&rig);
	(void)syscall(SYS_getppid);
	finish(&rig);
	expect(only(&rig, 1), wanted, sizeof(wanted));
}

/* ---- strings ---- */

/* What was never read is not in memory, and reads as an empty text. */
static void touch(const char *at)
{
	const volatile char *next = at;

	while (*next)
		next++;
}

static const char *path;

static void unlink_path(void)
{
	(void)syscall(SYS_unlinkat, -1, path, 0); /* there is none */
}

static const struct record *unlink_text(const char *which, uint16_t max)
{
	path = which;
	return one((struct which){ ENTRY, SYS_unlinkat, 0, NULL },
		   text(SONDE_KMOD_USTRING, 1, max), unlink_path);
}

static void a_string_is_recorded_with_its_nul(void)
{
	touch("/no/such/file");
	expect(unlink_text("/no/such/file", 256), "/no/such/file", 14);
	expect(unlink_text("", 256), "", 1);
}

static void a_long_string_is_cut(void)
{
	touch("abcdefghij");
	expect(unlink_text("abcdefghij", 8), "abcdefg", 8);
	expect(unlink_text("abcdefghij", 1), "", 1);
}

static void a_bad_pointer_is_an_empty_string(void)
{
	expect(unlink_text(NULL, 256), "", 1);
	expect(unlink_text((const char *)1, 256), "", 1);
	expect(unlink_text((const char *)0xffff888000000000u, 256), "", 1);
	expect(unlink_text((const char *)0x7ffffffffffffff0u, 256), "", 1);
}

static void a_string_that_runs_into_nothing_keeps_what_is_there(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *two = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (two == MAP_FAILED || munmap(two + page, page))
		die("mmap");
	memcpy(two + page - 3, "xyz", 3);
	expect(unlink_text(two + page - 3, 256), "xyz", 4);
	(void)munmap(two, page); /* it was mapped so */
}

/* ---- lists ---- */

static char *const *list;

static void exec_list(void)
{
	(void)syscall(SYS_execve, "/no/such", list, NULL); /* there is none */
}

static const struct record *exec_text(char *const *which, uint16_t max)
{
	list = which;
	return one((struct which){ ENTRY, SYS_execve, 0, NULL },
		   text(SONDE_KMOD_USTRINGS, 1, max), exec_list);
}

static void a_list_is_joined_by_blanks(void)
{
	static char *const three[] = { "a", "bc", "def", NULL };
	static char *const none[] = { NULL };

	for (char *const *item = three; *item; item++)
		touch(*item);
	expect(exec_text(three, 256), "a bc def", 9);
	expect(exec_text(three, 5), "a bc", 5);
	expect(exec_text(none, 256), "", 1);
	expect(exec_text(NULL, 256), "", 1);
	expect(exec_text((char *const *)8, 256), "", 1);
}

/* ---- buffers ---- */

static int ends[2];
static size_t length;
static char *bytes;

static void write_bytes(void)
{
	(void)!syscall(SYS_write, ends[1], bytes, length);
}

static void read_bytes(void)
{
	(void)!syscall(SYS_read, ends[0], bytes, length);
}

static void a_buffer_that_is_read_has_its_length(void)
{
	const struct which which = { ENTRY, SYS_write, 0, NULL };
	static char hello[] = "hello";

	bytes = hello;
	length = 5;
	ends[1] = -1;
	expect(one(which, buffer(1, 2, 64), write_bytes), "\5\0\0\0hello", 9);
	expect(one(which, buffer(1, 2, 3), write_bytes), "\3\0\0\0hel", 7);
	bytes = (char *)16;
	expect(one(which, buffer(1, 2, 64), write_bytes), "\0\0\0\0", 4);
	bytes = hello;
	length = (size_t)-1; /* a negative length has no bytes */
	expect(one(which, buffer(1, 2, 64), write_bytes), "\0\0\0\0", 4);
}

static void a_buffer_that_is_written_is_recorded_at_the_exit(void)
{
	const struct which which = { EXIT, SYS_read, 0, NULL };
	const struct sonde_kmod_cap cap =
		buffer(1, SONDE_KMOD_LENGTH_RESULT, 64);
	char room[32] = "";

	if (pipe(ends) || write(ends[1], "hello", 5) != 5)
		die("pipe");
	bytes = room;
	length = sizeof(room);
	expect(one(which, cap, read_bytes), "\5\0\0\0hello", 9);
	(void)close(ends[0]);
	(void)close(ends[1]);
	ends[0] = -1; /* an error has written nothing */
	expect(one(which, cap, read_bytes), "\0\0\0\0", 4);
}

/* ---- 32-bit calls ---- */

#if defined(__x86_64__)
/* A 32-bit call of this 64-bit program, by its six registers. The compiler may
 * have values below the stack's end, and two registers are its own. */
static int32_t compat_call(uint32_t nr, const uint64_t args[6])
{
	register const uint64_t *from __asm__("r8") = args;
	uint64_t result = nr;

	/* NOLINTNEXTLINE(hicpp-no-assembler): nothing else makes such calls */
	__asm__ volatile("add $-128, %%rsp\n\t"
			 "push %%rbp\n\t"
			 "push %%rbx\n\t"
			 "mov 0(%[from]), %%rbx\n\t"
			 "mov 8(%[from]), %%rcx\n\t"
			 "mov 16(%[from]), %%rdx\n\t"
			 "mov 24(%[from]), %%rsi\n\t"
			 "mov 32(%[from]), %%rdi\n\t"
			 "mov 40(%[from]), %%rbp\n\t"
			 "int $0x80\n\t"
			 "pop %%rbx\n\t"
			 "pop %%rbp\n\t"
			 "sub $-128, %%rsp"
			 : "+a"(result), [from] "+r"(from)
			 :
			 : "rcx", "rdx", "rsi", "rdi", "r9", "r10", "r11",
			   "memory", "cc");
	return (int32_t)result;
}

#define COMPAT_UNLINK 10u
#define COMPAT_MMAP2  192u

static void a_32_bit_call_has_its_own_numbers_and_arguments(void)
{
	static const uint64_t args[] = { 0xffffffffffffffffu, 0, 3, 4, 5, 6 };
	static const uint64_t wanted[] = { 0xffffffffu, 0, 3, 4, 5, 6 };
	struct sonde_kmod_cap caps[6];
	struct sonde_kmod_cap wide = number(0, 8);
	int64_t minus_one = -1;

	for (uint8_t i = 0; i < 6; i++)
		caps[i] = number(i, 8);
	wide.from_bytes = 4;
	wide.is_signed = 1;
	begin(&rig);
	ask(&rig,
	    (struct which){ ENTRY, COMPAT_MMAP2, SONDE_KMOD_COMPAT, NULL },
	    caps, 6);
	ask(&rig,
	    (struct which){ ENTRY, COMPAT_MMAP2, SONDE_KMOD_COMPAT, NULL },
	    &wide, 1);
	ask(&rig, (struct which){ ENTRY, COMPAT_MMAP2, 0, NULL }, NULL, 0);
	start(&rig);
	CLAIM(compat_call(COMPAT_MMAP2, args) < 0); /* no such file */
	finish(&rig);
	expect(only(&rig, 1), wanted, sizeof(wanted));
	expect(only(&rig, 2), &minus_one, sizeof(minus_one));
	CLAIM(rig.nr_records == 2);
}

static void a_32_bit_call_has_strings(void)
{
	char *low = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	struct sonde_kmod_cap cap = text(SONDE_KMOD_USTRING, 0, 64);
	uint64_t args[6] = { 0 };

	if (low == MAP_FAILED)
		die("mmap");
	strcpy(low, "/no/such");
	args[0] = (uintptr_t)low;
	begin(&rig);
	ask(&rig,
	    (struct which){ ENTRY, COMPAT_UNLINK, SONDE_KMOD_COMPAT, NULL },
	    &cap, 1);
	start(&rig);
	CLAIM(compat_call(COMPAT_UNLINK, args) == -ENOENT);
	finish(&rig);
	expect(only(&rig, 1), "/no/such", 9);
	(void)munmap(low, 4096); /* it was mapped so */
}
#endif

/* ---- unknown calls ---- */

#define NOT_KNOWN 1000

/* All are known but NOT_KNOWN and those beyond. */
static const unsigned char *known(void)
{
	static unsigned char bits[SONDE_KMOD_NAME_MAX];

	memset(bits, 0xff, 100);
	return bits;
}

static void ask_unknown(struct rig *to)
{
	struct sonde_kmod_cap caps[] = { call_number(), number(0, 8) };

	ask(to, (struct which){ ENTRY, UINT32_MAX, 0, known() }, caps, 2);
}

static void expect_numbers(const struct rig *from, const int64_t *numbers,
			   uint32_t nr)
{
	if (from->nr_records != nr) {
		fail("%u records, not %u", from->nr_records, nr);
		return;
	}
	for (uint32_t i = 0; i < nr; i++)
		expect(&from->records[i], (const int64_t[]){ numbers[i], 7 },
		       16);
}

static void unknown_numbers_are_recorded_and_known_are_not(void)
{
	static const int64_t numbers[] = { NOT_KNOWN, 5000, -1 };

	begin(&rig);
	ask_unknown(&rig);
	start(&rig);
	(void)syscall(NOT_KNOWN, 7L);
	(void)syscall(SYS_getppid, 7L);
	(void)syscall(5000, 7L);
	(void)syscall(-1L, 7L);
	finish(&rig);
	expect_numbers(&rig, numbers, 3);
}

static void a_number_asked_for_by_itself_is_unknown_again_afterwards(void)
{
	static const int64_t numbers[] = { NOT_KNOWN };

	begin(&rig);
	begin(&second);
	ask_unknown(&rig);
	ask(&second, (struct which){ ENTRY, NOT_KNOWN, 0, NULL }, NULL, 0);
	start(&rig);
	start(&second);
	(void)syscall(NOT_KNOWN, 7L);
	finish(&second);
	CLAIM(second.nr_records == 1);
	(void)syscall(NOT_KNOWN, 7L);
	finish(&rig);
	expect_numbers(&rig, numbers, 1);
}

static void two_sessions_record_one_call(void)
{
	begin(&rig);
	begin(&second);
	ask(&rig, (struct which){ ENTRY, SYS_getppid, 0, NULL }, NULL, 0);
	ask(&second, (struct which){ ENTRY, SYS_getppid, 0, NULL }, NULL, 0);
	start(&rig);
	start(&second);
	(void)syscall(SYS_getppid);
	finish(&rig);
	(void)syscall(SYS_getppid);
	finish(&second);
	CLAIM(rig.nr_records == 1);
	CLAIM(second.nr_records == 2);
}

/* ---- all ---- */

static const struct test tests[] = {
	TEST(arguments_and_result_are_numbers),
	TEST(narrow_numbers_are_low_bytes),
	TEST(only_that_number_is_recorded),
#if defined(__x86_64__)
	TEST(both_ends_of_a_call_have_one_number_whatever_the_upper_half),
#endif
	TEST(arguments_beyond_the_sixth_are_zeros_in_a_list_not_plain),
	TEST(a_string_is_recorded_with_its_nul),
	TEST(a_long_string_is_cut),
	TEST(a_bad_pointer_is_an_empty_string),
	TEST(a_string_that_runs_into_nothing_keeps_what_is_there),
	TEST(a_list_is_joined_by_blanks),
	TEST(a_buffer_that_is_read_has_its_length),
	TEST(a_buffer_that_is_written_is_recorded_at_the_exit),
#if defined(__x86_64__)
	TEST(a_32_bit_call_has_its_own_numbers_and_arguments),
	TEST(a_32_bit_call_has_strings),
#endif
	TEST(unknown_numbers_are_recorded_and_known_are_not),
	TEST(a_number_asked_for_by_itself_is_unknown_again_afterwards),
	TEST(two_sessions_record_one_call),
};

int main(void)
{
	return RUN(tests);
}
