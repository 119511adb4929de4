/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * test_perf_code.c - source/sample/mapped_code.h and what it stands on: this program's own
 * stack, copied, is walked by the rules of its own files. The witness is glibc's
 * backtrace(), which goes by the same sections.
 */
#include "unit.h"

#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <ucontext.h>
#include <unistd.h>

#include "ring/walk.h"
#include "source/sample/mapped_code.h"
#include "source/sample/program.h"
#include "source/unwind/file.h"
#include "sys/proc.h"
#include "sys/textfile.h"

#define FRAMES   32
#define MAPPINGS 64u

static struct sonde_perf_code *code;
static uint64_t now; /* of what is told and taken */

/* ---- this program's own ---- */

static struct mapped {
	struct sonde_perf_record record;
	char path[512];
} mapped[MAPPINGS];
static uint32_t nr_mapped;

/* Its files with code, as records would tell of them. */
static void find_mapped(void)
{
	struct sonde_proc_mapping mapping;
	struct sonde_lines lines;

	assert_int_equal(sonde_proc_maps_open(&lines, getpid()), 0);
	nr_mapped = 0;
	while (nr_mapped < MAPPINGS && sonde_proc_maps_next(&lines, &mapping)) {
		struct mapped *to = &mapped[nr_mapped];

		if (!(mapping.mode & SONDE_MAPPED_EXEC) || *mapping.path != '/')
			continue;
		assert_true(strlen(mapping.path) < sizeof(to->path));
		memcpy(to->path, mapping.path, strlen(mapping.path) + 1);
		to->record.kind = SONDE_PERF_MAPPED;
		to->record.mapping = (struct sonde_statedump_mapping){
			.pid = getpid(),
			.begin = mapping.begin,
			.end = mapping.end,
			.offset = mapping.offset,
			.dev = (uint64_t)mapping.major << 20 | mapping.minor,
			.ino = mapping.ino,
			.path = to->path,
		};
		nr_mapped++;
	}
	sonde_lines_close(&lines);
	assert_in_range(nr_mapped, 2, MAPPINGS - 1);
}

static struct mapped *mapped_at(uint64_t pc)
{
	for (uint32_t i = 0; i < nr_mapped; i++)
		if (pc >= mapped[i].record.mapping.begin &&
		    pc < mapped[i].record.mapping.end)
			return &mapped[i];
	fail();
	return NULL;
}

static int set_up(void **state)
{
	(void)state;
	now = 100;
	find_mapped();
	code = sonde_perf_code_new();
	return !code;
}

static int tear_down(void **state)
{
	(void)state;
	sonde_perf_code_free(code);
	return 0;
}

#ifdef __x86_64__

/* ---- stacks ---- */

struct taken {
	void *theirs[FRAMES];
	int nr;
	struct sonde_perf_user user;
	uint8_t stack[SONDE_PERF_STACK_BYTES];
};

static uint64_t stack_top(void)
{
	pthread_attr_t attr;
	void *begin;
	size_t size;

	assert_int_equal(pthread_getattr_np(pthread_self(), &attr), 0);
	assert_int_equal(pthread_attr_getstack(&attr, &begin, &size), 0);
	pthread_attr_destroy(&attr);
	return (uint64_t)(uintptr_t)begin + size;
}

/* Without what a sanitizer thinks of others' frames. */
__attribute__((no_sanitize("address"))) static void
copy(uint8_t *to, uint64_t from, size_t size)
{
	/* NOLINTNEXTLINE(performance-no-int-to-ptr): it is one */
	const volatile uint8_t *bytes = (const void *)(uintptr_t)from;

	for (size_t i = 0; i < size; i++)
		to[i] = bytes[i];
}

/* What the kernel would, and the frames as glibc finds them. */
__attribute__((noinline)) static void take(struct taken *taken)
{
	ucontext_t at;
	uint64_t left;

	assert_int_equal(getcontext(&at), 0);
	taken->user = (struct sonde_perf_user){
		.at = now,
		.pid = getpid(),
		.depth = SONDE_STACKS_DEPTH_MAX,
		.pc = (uint64_t)at.uc_mcontext.gregs[REG_RIP],
		.sp = (uint64_t)at.uc_mcontext.gregs[REG_RSP],
		.fp = (uint64_t)at.uc_mcontext.gregs[REG_RBP],
		.stack = taken->stack,
	};
	left = stack_top() - taken->user.sp;
	taken->user.is_cut = left >= sizeof(taken->stack);
	taken->user.bytes = taken->user.is_cut ?
				    (uint32_t)sizeof(taken->stack) :
				    (uint32_t)left;
	copy(taken->stack, taken->user.sp, taken->user.bytes);
	taken->nr = backtrace(taken->theirs, FRAMES);
}

/* NOLINTNEXTLINE(misc-no-recursion): it ends at depth 0 */
__attribute__((noinline)) static void take_deeper(struct taken *taken,
						  uint32_t depth)
{
	volatile char room[40];

	room[depth] = 1;
	if (depth)
		take_deeper(taken, depth - 1);
	else
		take(taken);
	(void)room[depth];
}

static int by_number(const void *a, const void *b)
{
	const struct taken *taken = *(struct taken *const *)a;

	/* From a library's function, which called this. */
	if (!taken->nr)
		take_deeper(*(struct taken *const *)a, 5);
	(void)b;
	return 0;
}

static void take_from_library(struct taken *taken)
{
	struct taken *both[2] = { taken, taken };

	taken->nr = 0;
	qsort(both, 2, sizeof(struct taken *), by_number);
	assert_in_range(taken->nr, 12, FRAMES);
}

static struct sonde_callstacks_chain walk(const struct taken *taken)
{
	struct sonde_callstacks_chain chain = { 0 };

	sonde_perf_code_walk(code, &taken->user, &chain);
	return chain;
}

/* glibc's first frame is where backtrace() returns to, ours where getcontext() does:
 * one function. */
static void assert_theirs(const struct taken *taken)
{
	struct sonde_callstacks_chain chain = walk(taken);

	assert_int_equal(chain.nr, taken->nr);
	assert_int_equal(chain.end, SONDE_STACK_WHOLE);
	assert_int_equal(chain.frames[0], taken->user.pc | SONDE_FRAME_EXACT);
	for (uint32_t i = 1; i < chain.nr; i++)
		assert_int_equal(chain.frames[i],
				 (uint64_t)(uintptr_t)taken->theirs[i]);
}

static void a_copied_stack_is_glibcs(void **state)
{
	static struct taken taken;

	(void)state;
	take_from_library(&taken);
	assert_theirs(&taken);
	/* By what is known by now. */
	assert_theirs(&taken);
}

static void tell_mapped(void)
{
	for (uint32_t i = 0; i < nr_mapped; i++)
		sonde_perf_code_heed(code, &mapped[i].record, "", now);
}

static void tell_began(int32_t pid, int32_t parent)
{
	const struct sonde_perf_record record = {
		.kind = SONDE_PERF_BEGAN,
		.pid = pid,
		.parent = parent,
	};

	sonde_perf_code_heed(code, &record, "", now);
}

static void a_program_has_what_it_mapped_since_it_was_executed(void **state)
{
	static struct taken taken;

	(void)state;
	take_from_library(&taken);
	tell_began(getpid(), 0);
	/* By whatever the frame pointers are. */
	assert_in_range(walk(&taken).nr, 1, (uint64_t)taken.nr - 1);
	tell_mapped();
	assert_theirs(&taken);
	tell_began(getpid(), 0);
	assert_in_range(walk(&taken).nr, 1, (uint64_t)taken.nr - 1);
}

static void a_child_has_what_its_parent_has(void **state)
{
	static struct taken taken;
	/* Not a process: nothing of it can be looked for. */
	const int32_t child = 1 << 30;
	struct sonde_callstacks_chain chain = { 0 };

	(void)state;
	take_from_library(&taken);
	tell_began(getpid(), 0);
	tell_mapped();
	tell_began(child, getpid());
	taken.user.pid = child;
	sonde_perf_code_walk(code, &taken.user, &chain);
	assert_int_equal(chain.nr, taken.nr);
}

/* A page of code that no frame is in, behind the first. */
static uint64_t page_without(const struct taken *taken,
			     const struct sonde_statedump_mapping *mapping)
{
	uint64_t page = mapping->begin + 4096;

	for (int i = 0; i < taken->nr; i++) {
		uint64_t frame = (uint64_t)(uintptr_t)taken->theirs[i];

		if (frame - page > 4096)
			continue;
		page += 4096;
		i = -1;
	}
	assert_true(page + 4096 < mapping->end);
	return page;
}

static void what_is_mapped_hides_what_was_there(void **state)
{
	const struct sonde_statedump_mapping *libc =
		&mapped_at((uint64_t)(uintptr_t)&qsort)->record.mapping;
	struct sonde_perf_record other =
		mapped_at((uint64_t)(uintptr_t)&_cmocka_run_group_tests)
			->record;
	struct sonde_perf_record edge = other;
	static struct taken taken;

	(void)state;
	take_from_library(&taken);
	tell_began(getpid(), 0);
	tell_mapped();
	/* A page of other functions: what is around it stays. */
	edge.mapping = *libc;
	edge.mapping.path = other.mapping.path = "/nothing/has/this/name";
	edge.mapping.begin = page_without(&taken, libc);
	edge.mapping.end = edge.mapping.begin + 4096;
	sonde_perf_code_heed(code, &edge, "", now);
	edge.mapping.begin = libc->begin;
	edge.mapping.end = libc->begin + 4096;
	sonde_perf_code_heed(code, &edge, "", now);
	assert_theirs(&taken);
	/* No mapping of this process, so there is no way to its file. */
	other.mapping.end += 4096;
	sonde_perf_code_heed(code, &other, "", now);
	assert_in_range(walk(&taken).nr, 1, (uint64_t)taken.nr - 1);
	tell_mapped();
	assert_theirs(&taken);
}

static uint64_t own_program(void)
{
	struct sonde_proc_stat stat;

	assert_int_equal(sonde_proc_stat(getpid(), &stat), 0);
	return sonde_perf_program(stat.stack, stat.code_end);
}

/* Of its mappings, which is the function's. */
static void assert_looked_at(const struct sonde_perf_look *look,
			     uint64_t address)
{
	struct sonde_statedump_mapping mapping;
	uint32_t nr = 0;

	for (uint32_t i = 0; i < look->nr; i++) {
		const struct sonde_statedump_mapping *real;

		assert_non_null(sonde_perf_code_looked_mapping(code, look, i,
							       &mapping));
		if (address < mapping.begin || address >= mapping.end)
			continue;
		real = &mapped_at(address)->record.mapping;
		assert_int_equal(mapping.begin, real->begin);
		assert_int_equal(mapping.end, real->end);
		assert_int_equal(mapping.offset, real->offset);
		assert_string_equal(mapping.path, real->path);
		nr++;
	}
	assert_int_equal(nr, 1);
}

static void a_program_that_nobody_tells_of_is_looked_for_once(void **state)
{
	static struct taken taken;
	struct sonde_perf_look look;

	(void)state;
	take_from_library(&taken);
	taken.user.program = own_program();
	assert_theirs(&taken);
	assert_theirs(&taken);
	assert_int_equal(code->nr_looks, 1);
	assert_true(sonde_perf_code_looked(code, 0, &look));
	assert_int_equal(look.key.space, getpid());
	assert_int_equal(look.since, taken.user.at);
	assert_looked_at(&look, (uint64_t)(uintptr_t)&qsort);
	/* It was there earlier than was known. */
	taken.user.at -= 10;
	assert_theirs(&taken);
	assert_false(sonde_perf_code_looked(code, 0, &look));
	assert_true(sonde_perf_code_looked(code, 1, &look));
	assert_int_equal(look.since, taken.user.at);
	assert_int_not_equal(look.nr, 0);
}

static void another_program_of_the_process_is_not_looked_for(void **state)
{
	static struct taken taken;
	struct sonde_perf_look look;

	(void)state;
	take_from_library(&taken);
	taken.user.program = own_program() ^ 16;
	assert_int_equal(walk(&taken).nr, 1);
	assert_true(sonde_perf_code_looked(code, 0, &look));
	assert_int_equal(look.nr, 0);
	/* Of that one all is told. */
	tell_began(getpid(), 0);
	tell_mapped();
	assert_theirs(&taken);
	assert_int_equal(code->nr_looks, 1);
}

static void old_looks_are_forgotten(void **state)
{
	static struct taken taken;
	struct sonde_perf_look look;

	(void)state;
	take_from_library(&taken);
	for (uint32_t i = 1; i <= SONDE_PERF_LOOKS_MAX + 1; i++) {
		taken.user.program = i;
		assert_int_equal(walk(&taken).nr, 1);
	}
	assert_false(sonde_perf_code_looked(code, 0, &look));
	assert_true(sonde_perf_code_looked(code, 1, &look));
	taken.user.program = own_program();
	assert_theirs(&taken);
	assert_false(sonde_perf_code_looked(code, 1, &look));
	assert_int_equal(code->programs.nr_entries, SONDE_PERF_LOOKS_MAX);
}

static void a_stack_is_by_what_was_mapped_at_its_time(void **state)
{
	static struct taken taken;

	(void)state;
	take_from_library(&taken);
	now = 90;
	tell_began(getpid(), 0);
	tell_mapped();
	/* The same addresses are other code by then, and then nothing is there. */
	now = 110;
	for (uint32_t i = 0; i < nr_mapped; i++) {
		struct sonde_perf_record other = mapped[i].record;

		/* No mapping of this process: there is no way to a file. */
		other.mapping.end += 4096;
		other.mapping.path = "/nothing/has/this/name";
		sonde_perf_code_heed(code, &other, "", now);
	}
	assert_theirs(&taken);
	now = 120;
	tell_began(getpid(), 0);
	assert_theirs(&taken);
	taken.user.at = 115;
	assert_in_range(walk(&taken).nr, 1, (uint64_t)taken.nr - 1);
	taken.user.at = 100;
	assert_theirs(&taken);
}

static void tell_ended(int32_t pid)
{
	const struct sonde_perf_record record = {
		.kind = SONDE_PERF_ENDED,
		.pid = pid,
	};

	sonde_perf_code_heed(code, &record, "", now);
}

static void what_has_ended_is_known_for_a_while(void **state)
{
	static struct taken taken;
	const int32_t child = 1 << 30;

	(void)state;
	take_from_library(&taken);
	tell_began(getpid(), 0);
	tell_mapped();
	tell_began(child, getpid());
	taken.user.pid = child;
	tell_ended(child);
	assert_theirs(&taken);
	for (int32_t i = 1; i < (int32_t)SONDE_PERF_ENDED_MAX; i++)
		tell_ended(child + i);
	assert_theirs(&taken);
	tell_ended(child + (int32_t)SONDE_PERF_ENDED_MAX);
	/* Nothing is known of it any more, and it isn't in /proc. */
	assert_int_equal(walk(&taken).nr, 1);
	assert_int_equal(walk(&taken).end, SONDE_STACK_BROKEN);
}

static void before_a_process_is_known_a_stack_is_its_first_frame(void **state)
{
	static struct taken taken;

	(void)state;
	take_from_library(&taken);
	now = 110;
	tell_began(getpid(), 0);
	tell_mapped();
	assert_int_equal(walk(&taken).nr, 1);
	assert_int_equal(walk(&taken).end, SONDE_STACK_BROKEN);
	taken.user.at = 110;
	assert_theirs(&taken);
}

static void no_more_frames_than_asked_for(void **state)
{
	static struct taken taken;
	struct sonde_callstacks_chain chain;

	(void)state;
	take_from_library(&taken);
	taken.user.depth = 5;
	chain = walk(&taken);
	assert_int_equal(chain.nr, 5);
	assert_int_equal(chain.end, SONDE_STACK_DEEP);
}

static void another_file_by_that_name_has_no_rules(void **state)
{
	static struct taken taken;

	(void)state;
	take_from_library(&taken);
	tell_began(getpid(), 0);
	for (uint32_t i = 0; i < nr_mapped; i++)
		sonde_perf_code_heed(code, &mapped[i].record, "00112233", now);
	assert_in_range(walk(&taken).nr, 1, (uint64_t)taken.nr - 1);
}

static void a_copy_that_ends_early_makes_a_deep_stack(void **state)
{
	static struct taken taken;
	struct sonde_callstacks_chain chain;

	(void)state;
	take_from_library(&taken);
	taken.user.bytes = 512;
	taken.user.is_cut = true;
	chain = walk(&taken);
	assert_in_range(chain.nr, 1, (uint64_t)taken.nr - 1);
	assert_int_equal(chain.end, SONDE_STACK_DEEP);
	for (uint32_t i = 1; i < chain.nr; i++)
		assert_int_equal(chain.frames[i],
				 (uint64_t)(uintptr_t)taken.theirs[i]);
}

/* ---- rules ---- */

/* All code is like that. */
static bool popped_rule(void *ctx, const struct sonde_stacks_position *at,
			uint32_t *ret_rule)
{
	(void)ctx;
	*ret_rule = at->is_exact     ? SONDE_UNWIND_CALL_RULE(0, 2, 1) :
		    at->pc == 0x2000 ? SONDE_UNWIND_CALL_RULE(1, 2, 2) :
				       SONDE_UNWIND_END;
	return true;
}

static bool no_code(void *ctx, uint64_t address)
{
	(void)ctx;
	(void)address;
	return false;
}

/* Before a function returns, its rule still names the place of the frame pointer,
 * which is below the stack by then. */
static void a_popped_register_is_what_it_is(void **state)
{
	static const struct sonde_stacks_lookup lookup = { popped_rule,
							   no_code };
	const uint64_t stack[] = { 0x2000, 5, 0, 0x3000 };
	struct sonde_stacks_position at = {
		.pc = 0x1000,
		.sp = 0x7000,
		.fp = 0x7010,
		.top = 0x7000 + sizeof(stack),
		.is_exact = true,
		.bias = (uint64_t)(uintptr_t)stack - 0x7000,
	};
	uint64_t frames[8] = { 0 };
	enum sonde_stacks_end end;

	(void)state;
	assert_int_equal(
		sonde_stacks_walk_from(&lookup, NULL, &at, frames, 8, &end), 3);
	assert_int_equal(end, SONDE_STACK_WHOLE);
	assert_int_equal(frames[1], 0x2000);
	assert_int_equal(frames[2], 0x3000);
}

#endif /* __x86_64__ */

/* A CIE, and an entry about 64 bytes of code at 0x10000, of which those from the
 * 16th on are stubs. */
static const uint8_t stubs[] = {
	20,   0,    0,    0,    0,    0,    0,    0,    1,    'z',  'R',
	0,    1,    0x78, 16,   1,    0x1b, 0x0c, 7,    8,    0x90, 1,
	0,    0,    36,   0,    0,    0,    28,   0,    0,    0,    0,
	0,    0,    0,    64,   0,    0,    0,    0,    0x0e, 16,   0x46,
	0x0e, 24,   0x4a, 0x0f, 11,   0x77, 8,    0x80, 0,    0x3f, 0x1a,
	0x3b, 0x2a, 0x33, 0x24, 0x22, 0,    0,    0,    0,
};

static void the_linkers_stubs_have_rules(void **state)
{
	uint8_t bytes[sizeof(stubs)];
	const struct sonde_source_unwind_section section = {
		.bytes = bytes,
		.size = sizeof(bytes),
		.address = 0x20000,
		.code_begin = 0x10000,
		.code_end = 0x11000,
	};
	/* The entry's begin, from where that is said. */
	const uint32_t begin = 0x10000 - (0x20000 + 32);
	struct sonde_source_unwind_index index;

	(void)state;
	memcpy(bytes, stubs, sizeof(bytes));
	memcpy(bytes + 32, &begin, sizeof(begin));
	assert_int_equal(sonde_source_unwind_make_index(&section, &index), 0);
	assert_int_equal(index.nr, 1);
	for (uint32_t i = 0; i < 64; i++) {
		uint32_t words = i < 6 ? 2 : i < 16 ? 3 : i % 16 < 11 ? 1 : 2;

		assert_int_equal(sonde_source_unwind_rule(&section, &index,
							  0x10000 + i),
				 SONDE_UNWIND_CALL_RULE(0, 0, words));
	}
	assert_int_equal(sonde_source_unwind_rule(&section, &index, 0x10040),
			 SONDE_UNWIND_GAP);
	assert_int_equal(sonde_source_unwind_rule(&section, &index, 0xffff),
			 SONDE_UNWIND_GAP);
	free(index.entries);
}

/* The C library has entries of all kinds. */
static void an_index_says_what_all_rows_say(void **state)
{
	const struct sonde_statedump_mapping *libc =
		&mapped_at((uint64_t)(uintptr_t)&qsort)->record.mapping;
	struct sonde_source_unwind_section section;
	struct sonde_source_unwind_index index;
	struct sonde_source_unwind_rows rows;
	int fd = open(libc->path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	uint8_t *bytes;

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	bytes = sonde_source_unwind_read(fd, (uint64_t)st.st_size, 4096, libc,
					 &section);
	assert_null(bytes); /* it is larger, which is told */
	assert_true(section.size > 4096);
	bytes = sonde_source_unwind_read(fd, (uint64_t)st.st_size, section.size,
					 libc, &section);
	assert_non_null(bytes);
	assert_int_equal(sonde_source_unwind_parse(&section, &rows), 0);
	assert_int_equal(sonde_source_unwind_make_index(&section, &index), 0);
	assert_true(index.nr > 1000 && rows.nr > index.nr);
	for (uint32_t i = 0; i + 1 < rows.nr; i++) {
		uint64_t begin = section.code_begin + rows.rows[i].pc;
		uint64_t last = section.code_begin + rows.rows[i + 1].pc - 1;

		assert_int_equal(sonde_source_unwind_rule(&section, &index,
							  begin),
				 rows.rows[i].rule);
		assert_int_equal(sonde_source_unwind_rule(&section, &index,
							  last),
				 rows.rows[i].rule);
	}
	free(index.entries);
	free(rows.rows);
	free(bytes);
	close(fd);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
#ifdef __x86_64__
		CASE(a_copied_stack_is_glibcs),
		CASE(a_program_has_what_it_mapped_since_it_was_executed),
		CASE(a_child_has_what_its_parent_has),
		CASE(what_is_mapped_hides_what_was_there),
		CASE(a_program_that_nobody_tells_of_is_looked_for_once),
		CASE(another_program_of_the_process_is_not_looked_for),
		CASE(old_looks_are_forgotten),
		CASE(a_stack_is_by_what_was_mapped_at_its_time),
		CASE(what_has_ended_is_known_for_a_while),
		CASE(before_a_process_is_known_a_stack_is_its_first_frame),
		CASE(no_more_frames_than_asked_for),
		CASE(another_file_by_that_name_has_no_rules),
		CASE(a_copy_that_ends_early_makes_a_deep_stack),
		CASE(a_popped_register_is_what_it_is),
#endif
		CASE(the_linkers_stubs_have_rules),
		CASE(an_index_says_what_all_rows_say),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
