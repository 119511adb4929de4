/* SPDX-License-Identifier: MIT */
/*
 * test_names.c - code of this very program has its names; a process that reads
 * files for that may die, and what it says is checked.
 */
#include "reader/names/namer.h"

#include "unit.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "reader/names/demangle.h"

__attribute__((noinline)) static int unit_function(int i)
{
	__asm__ volatile("");
	return i + 1;
}

static const int unit_line = __LINE__ - 5;

/* Where this program has the function mapped. */
static struct sonde_symbols_place find_place(uint64_t address)
{
	struct sonde_symbols_place place = { .path = "/proc/self/exe" };
	char line[4096];
	FILE *maps = fopen("/proc/self/maps", "re");

	assert_non_null(maps);
	while (fgets(line, sizeof(line), maps)) {
		uint64_t begin;
		uint64_t end;
		uint64_t offset;

		/* NOLINTNEXTLINE(cert-err34-c): the kernel wrote it */
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64, &begin,
			   &end, &offset) == 3 &&
		    begin <= address && address < end) {
			place.begin = begin;
			place.offset = offset;
		}
	}
	assert_int_equal(fclose(maps), 0);
	assert_int_not_equal(place.begin, 0);
	return place;
}

static void ask(struct sonde_namer *namer, const char *path,
		struct sonde_naming *ret_naming)
{
	uint64_t address = (uintptr_t)unit_function;
	struct sonde_symbols_place place = find_place(address);
	char own[64];

	/* The child's own would do, but it is another process. */
	(void)snprintf(own, sizeof(own), "/proc/%d/exe", (int)getpid());
	place.path = path ? path : own;
	sonde_namer_ask(namer, SONDE_NAMER_CODE, &place, address, ret_naming);
}

static void code_has_its_name_and_line(void **unused)
{
	struct sonde_namer *namer = sonde_namer_new();
	struct sonde_naming naming;

	(void)unused;
	assert_non_null(namer);
	assert_int_equal(unit_function(1), 2);
	for (int i = 0; i < 2; i++) {
		ask(namer, NULL, &naming);
		assert_int_equal(naming.lack, SONDE_LACK_NOTHING);
		assert_true(naming.nr_frames >= 1);
		assert_string_equal(naming.text + naming.frames[0].name,
				    "unit_function");
		assert_int_equal(naming.distance, 0);
		if (naming.frames[0].line)
			assert_in_range(naming.frames[0].line, unit_line - 1,
					unit_line + 2);
	}
	sonde_namer_free(namer);
}

static pid_t only_child(void)
{
	char path[64];
	char text[64] = "";
	FILE *file;

	(void)snprintf(path, sizeof(path), "/proc/self/task/%d/children",
		       (int)getpid());
	file = fopen(path, "re");
	assert_non_null(file);
	assert_non_null(fgets(text, sizeof(text), file));
	assert_int_equal(fclose(file), 0);
	return (pid_t)strtol(text, NULL, 10);
}

static void a_file_that_its_reader_dies_of_names_nothing(void **unused)
{
	struct sonde_namer *namer = sonde_namer_new();
	struct sonde_naming naming;

	(void)unused;
	assert_non_null(namer);
	ask(namer, NULL, &naming);
	assert_int_equal(naming.lack, SONDE_LACK_NOTHING);
	assert_int_equal(kill(only_child(), SIGKILL), 0);
	ask(namer, "/nowhere", &naming);
	assert_int_equal(naming.lack, SONDE_LACK_READER);
	/* Others have another reader. */
	ask(namer, NULL, &naming);
	assert_int_equal(naming.lack, SONDE_LACK_NOTHING);
	ask(namer, "/nowhere", &naming);
	assert_int_equal(naming.lack, SONDE_LACK_READER);
	ask(namer, "/nowhere/else", &naming);
	assert_int_equal(naming.lack, SONDE_LACK_FILE);
	sonde_namer_free(namer);
}

static void the_reader_ends_with_the_namer(void **unused)
{
	struct sonde_namer *namer = sonde_namer_new();
	struct sonde_naming naming;
	pid_t child;

	(void)unused;
	assert_non_null(namer);
	ask(namer, NULL, &naming);
	child = only_child();
	sonde_namer_free(namer);
	assert_int_equal(kill(child, 0), -1);
}

static void an_answer_that_points_elsewhere_is_none(void **unused)
{
	struct sonde_naming naming;

	(void)unused;
	sonde_naming_init(&naming);
	sonde_naming_add(&naming, "name", "file", 3);
	assert_true(sonde_naming_is_sound(&naming));
	naming.frames[0].name = SONDE_NAMING_TEXT;
	assert_false(sonde_naming_is_sound(&naming));
	naming.frames[0].name = 1;
	naming.frames[0].file = SONDE_NAMING_TEXT;
	assert_false(sonde_naming_is_sound(&naming));
	naming.frames[0].file = 1;
	naming.nr_frames = SONDE_NAMING_FRAMES + 1;
	assert_false(sonde_naming_is_sound(&naming));
	naming.nr_frames = 1;
	naming.lack = SONDE_LACK_NR;
	assert_false(sonde_naming_is_sound(&naming));
	naming.lack = 0;
	naming.text[SONDE_NAMING_TEXT - 1] = 'x';
	assert_false(sonde_naming_is_sound(&naming));
	naming.text[SONDE_NAMING_TEXT - 1] = 0;
	naming.text[0] = 'x';
	assert_false(sonde_naming_is_sound(&naming));
}

static void what_has_no_room_is_left_out(void **unused)
{
	static char long_name[SONDE_NAMING_TEXT + 8];
	struct sonde_naming naming;

	(void)unused;
	memset(long_name, 'x', sizeof(long_name) - 1);
	sonde_naming_init(&naming);
	sonde_naming_add(&naming, long_name, NULL, 1);
	assert_int_equal(naming.nr_frames, 0);
	for (uint32_t i = 0; i < 2 * SONDE_NAMING_FRAMES; i++)
		sonde_naming_add(&naming, "a", "b", i);
	assert_int_equal(naming.nr_frames, SONDE_NAMING_FRAMES);
	assert_true(sonde_naming_is_sound(&naming));
}

static void check_demangled(const char *name, const char *expected)
{
	char text[SONDE_DEMANGLED_MAX];

	assert_string_equal(sonde_demangle(name, text, sizeof(text)), expected);
}

static void names_are_as_they_were_written(void **unused)
{
	char text[8];

	(void)unused;
	check_demangled("main", "main");
	check_demangled("_ZN3app4growEi", "app::grow(int)");
	check_demangled("_Znonsense", "_Znonsense");
	check_demangled("_ZN4core3ptr85drop_in_place$LT$std..rt..lang_start$LT$"
			"$LP$$RP$$GT$..$u7b$$u7b$closure$u7d$$u7d$$GT$17h0123"
			"456789abcdefE",
			"core::ptr::drop_in_place<std::rt::lang_start<()>::"
			"{{closure}}>");
	check_demangled("_ZN60_$LT$alloc..string..String$u20$as$u20$core..fmt.."
			"Display$GT$3fmt17h0123456789abcdefE",
			"<alloc::string::String as core::fmt::Display>::fmt");
	assert_string_equal(sonde_demangle("_ZN3app4growEi", text,
					   sizeof(text)),
			    "app::gr");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(code_has_its_name_and_line),
		cmocka_unit_test(a_file_that_its_reader_dies_of_names_nothing),
		cmocka_unit_test(the_reader_ends_with_the_namer),
		cmocka_unit_test(an_answer_that_points_elsewhere_is_none),
		cmocka_unit_test(what_has_no_room_is_left_out),
		cmocka_unit_test(names_are_as_they_were_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
