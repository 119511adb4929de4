/* SPDX-License-Identifier: MIT */
/*
 * Places to write in (ctf/directory.h): what is made, what is refused, and what is
 * removed. What other users can do is in tests/e2e/test_output.py.
 */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "test_ctf_witness.h"

#include "ctf/directory.h"

static struct scratch scratch;
static struct sonde_directory_error words;

static int set_up(void **state)
{
	(void)state;
	scratch_make(&scratch);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	scratch_remove(&scratch);
	return 0;
}

static struct sonde_directory make(void)
{
	struct sonde_directory place;

	assert_int_equal(sonde_directory_make(scratch.trace, &place, &words),
			 0);
	return place;
}

static void make_file(int dir, const char *name)
{
	int fd = sonde_directory_file_below(dir, name, O_WRONLY);

	assert_true(fd >= 0);
	assert_int_equal(close(fd), 0);
}

static bool is_there(int dir, const char *name)
{
	struct stat st;

	return !fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW);
}

static mode_t mode_of(int dir, const char *name)
{
	struct stat st;

	assert_int_equal(fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW), 0);
	return st.st_mode & 07777;
}

static void what_leads_there_is_made_and_is_ours_alone(void **state)
{
	char path[300];
	mode_t before = umask(0);
	struct sonde_directory place;

	(void)state;
	(void)snprintf(path, sizeof(path), "%s//a/b/./c/", scratch.trace);
	assert_int_equal(sonde_directory_make(path, &place, &words), 0);
	(void)umask(before);
	assert_true(sonde_directory_is_at(&place, path));
	assert_int_equal(mode_of(AT_FDCWD, scratch.trace), 0700);
	assert_int_equal(mode_of(place.parent, "."), 0700);
	assert_int_equal(mode_of(place.parent, ".."), 0700);
	sonde_directory_remove(&place);
	assert_true(is_there(AT_FDCWD, scratch.trace));
	/* a file's are not, nor anything beside what everybody may change */
	(void)snprintf(path, sizeof(path), "%s/x/file", scratch.trace);
	assert_int_equal(sonde_directory_file(path, &words), -ENOENT);
	assert_int_equal(chmod(scratch.trace, 0777), 0);
	(void)snprintf(path, sizeof(path), "%s/x/trace", scratch.trace);
	assert_int_equal(sonde_directory_make(path, &place, &words), -EPERM);
	(void)snprintf(path, sizeof(path), "%s/x", scratch.trace);
	assert_false(is_there(AT_FDCWD, path));
	assert_int_equal(chmod(scratch.trace, 0700), 0);
}

static void what_is_made_is_ours_alone_and_closed_on_exec(void **state)
{
	mode_t before = umask(0);
	struct sonde_directory place = make();
	int below;

	(void)state;
	assert_true(place.made);
	assert_int_equal(mode_of(place.parent, place.name), 0700);
	below = sonde_directory_make_below(place.dir, "below", false);
	assert_true(below >= 0);
	make_file(below, "file");
	assert_int_equal(mode_of(place.dir, "below"), 0700);
	assert_int_equal(mode_of(below, "file"), 0600);
	assert_int_equal(fcntl(place.dir, F_GETFD), FD_CLOEXEC);
	assert_int_equal(fcntl(place.parent, F_GETFD), FD_CLOEXEC);
	assert_int_equal(fcntl(below, F_GETFD), FD_CLOEXEC);
	assert_int_equal(close(below), 0);
	sonde_directory_close(&place);
	(void)umask(before);
}

static void a_directory_with_something_in_it_is_refused(void **state)
{
	struct sonde_directory place = make();

	(void)state;
	sonde_directory_close(&place);
	place = make();
	assert_false(place.made);
	make_file(place.dir, ".hidden");
	sonde_directory_close(&place);
	assert_int_equal(sonde_directory_make(scratch.trace, &place, &words),
			 -ENOTEMPTY);
	assert_non_null(strstr(words.text, scratch.trace));
}

static void a_directory_is_for_one_at_a_time(void **state)
{
	struct sonde_directory first = make();
	struct sonde_directory second;

	(void)state;
	assert_int_equal(sonde_directory_make(scratch.trace, &second, &words),
			 -EBUSY);
	sonde_directory_close(&first);
	second = make();
	sonde_directory_give_up(&second);
	assert_int_equal(access(scratch.trace, F_OK), 0);
}

static void every_way_to_name_a_directory_leads_to_it(void **state)
{
	static const char *const paths[] = { "x",       "x/",   "./x//",
					     "../T/x",  "l/x",  "l/../T/x",
					     "l/l/l/x", "to_x", "x/." };
	int before = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct sonde_directory first;

	(void)state;
	assert_int_equal(chdir(scratch.top), 0);
	assert_int_equal(mkdir("T", 0700), 0);
	assert_int_equal(chdir("T"), 0);
	assert_int_equal(symlink(".", "l"), 0);
	assert_int_equal(symlink("x", "to_x"), 0);
	assert_int_equal(sonde_directory_make("x", &first, &words), 0);
	sonde_directory_close(&first);
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		struct sonde_directory place;

		assert_int_equal(sonde_directory_make(paths[i], &place, &words),
				 0);
		assert_false(place.made);
		assert_true(sonde_directory_is_at(&place, "x"));
		sonde_directory_close(&place);
	}
	assert_int_equal(fchdir(before), 0);
	(void)close(before);
}

static void paths_that_lead_nowhere_are_refused(void **state)
{
	char path[4200];
	struct sonde_directory place;

	(void)state;
	assert_int_equal(sonde_directory_make("", &place, &words), -ENOENT);
	assert_int_equal(sonde_directory_make("/proc/nowhere/x", &place,
					      &words),
			 -ENOENT);
	assert_int_equal(sonde_directory_make("/dev/null", &place, &words),
			 -ENOTDIR);
	assert_int_equal(sonde_directory_make("/dev/null/x", &place, &words),
			 -ENOTDIR);
	assert_int_equal(symlink("trace", scratch.trace), 0);
	assert_int_equal(sonde_directory_make(scratch.trace, &place, &words),
			 -ELOOP);
	memset(path, 'x', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	assert_int_equal(sonde_directory_make(path, &place, &words),
			 -ENAMETOOLONG);
	path[300] = '\0';
	assert_int_equal(sonde_directory_make(path, &place, &words),
			 -ENAMETOOLONG);
}

/* Links and FIFOs are not what we make: whoever put them there keeps them. */
static void removing_follows_no_link_and_removes_our_files_only(void **state)
{
	struct sonde_directory place = make();
	int dir = place.dir;
	int top;
	int below;

	(void)state;
	top = open(scratch.top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(mkdirat(top, "elsewhere", 0700), 0);
	make_file(top, "elsewhere/precious");
	below = sonde_directory_make_below(dir, "a", false);
	make_file(below, "file");
	assert_int_equal(mkdirat(below, "b", 0700), 0);
	make_file(below, "b/file");
	assert_int_equal(symlinkat("../elsewhere", dir, "index"), 0);
	assert_int_equal(mkfifoat(dir, "fifo", 0600), 0);
	make_file(dir, "metadata");
	sonde_directory_clear(dir);
	assert_false(is_there(dir, "a"));
	assert_false(is_there(dir, "metadata"));
	assert_true(is_there(dir, "index"));
	assert_true(is_there(dir, "fifo"));
	assert_true(is_there(top, "elsewhere/precious"));
	sonde_directory_remove(&place);
	assert_true(is_there(top, "trace"));
	(void)close(below);
	(void)close(top);
}

static void what_took_our_directory_s_place_is_not_removed(void **state)
{
	struct sonde_directory place = make();
	int top = open(scratch.top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char path[PATH_MAX];

	(void)state;
	make_file(place.dir, "metadata");
	assert_int_equal(renameat(top, "trace", top, "moved"), 0);
	assert_int_equal(mkdirat(top, "trace", 0700), 0);
	assert_false(sonde_directory_is_at(&place, scratch.trace));
	assert_int_equal(sonde_directory_where(&place, path), 0);
	assert_string_equal(strrchr(path, '/'), "/moved");
	sonde_directory_remove(&place);
	assert_true(is_there(top, "trace"));
	assert_false(is_there(top, "moved/metadata"));
	(void)close(top);
}

static void a_directory_that_was_removed_is_known_to_be(void **state)
{
	struct sonde_directory place = make();
	char path[PATH_MAX];

	(void)state;
	assert_int_equal(rmdir(scratch.trace), 0);
	assert_int_equal(sonde_directory_where(&place, path), -ENOENT);
	assert_int_equal(sonde_directory_make_below(place.dir, "x", false),
			 -ENOENT);
	sonde_directory_remove(&place);
}

static void a_file_takes_the_place_of_what_has_its_name(void **state)
{
	struct sonde_directory place = make();

	(void)state;
	assert_int_equal(mkfifoat(place.dir, "fifo", 0600), 0);
	assert_int_equal(symlinkat("/dev/null", place.dir, "link"), 0);
	make_file(place.dir, "fifo");
	make_file(place.dir, "link");
	make_file(place.dir, "link");
	assert_int_equal(mode_of(place.dir, "fifo"), 0600);
	assert_int_equal(mode_of(place.dir, "link"), 0600);
	assert_int_equal(mkdirat(place.dir, "dir", 0700), 0);
	assert_true(sonde_directory_file_below(place.dir, "dir", O_WRONLY) < 0);
	sonde_directory_close(&place);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
		TEST(what_leads_there_is_made_and_is_ours_alone),
		TEST(what_is_made_is_ours_alone_and_closed_on_exec),
		TEST(a_directory_with_something_in_it_is_refused),
		TEST(a_directory_is_for_one_at_a_time),
		TEST(every_way_to_name_a_directory_leads_to_it),
		TEST(paths_that_lead_nowhere_are_refused),
		TEST(removing_follows_no_link_and_removes_our_files_only),
		TEST(what_took_our_directory_s_place_is_not_removed),
		TEST(a_directory_that_was_removed_is_known_to_be),
		TEST(a_file_takes_the_place_of_what_has_its_name),
#undef TEST
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
