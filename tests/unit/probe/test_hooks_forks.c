/* SPDX-License-Identifier: MIT */
/*
 * test_hooks_forks.c - which children have their parent's hooks: whose memory
 * has the agent's file mapped, and who got none of their own.
 */
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "probe/hooks/forks.h"
#include "unit.h"

static uint64_t agent; /* the file that is mapped */

static int map_agent(void **state)
{
	int fd = memfd_create("sonde-agent", MFD_CLOEXEC);
	struct stat st;

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, 4096), 0);
	assert_int_equal(fstat(fd, &st), 0);
	agent = st.st_ino;
	assert_ptr_not_equal(mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0),
			     MAP_FAILED);
	close(fd);
	return 0;
}

static pid_t begin_child(void)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* if a claim fails */
		pause();
		_exit(0);
	}
	return pid;
}

static void end_child(pid_t pid)
{
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static unsigned int told(const struct sonde_hooks_forks *forks)
{
	char text[80];

	return sonde_hooks_forks_tell(forks, text, sizeof(text));
}

static void a_child_with_the_agents_memory_has_hooks(void **state)
{
	static struct sonde_hooks_forks forks;
	pid_t pid = begin_child();

	(void)state;
	sonde_hooks_forks_look(&forks, getpid(), agent);
	assert_int_equal(told(&forks), 1);
	sonde_hooks_forks_forget(&forks, pid, agent);
	assert_int_equal(told(&forks), 0);
	end_child(pid);
}

static void who_got_hooks_before_a_look_is_not_told(void **state)
{
	static struct sonde_hooks_forks forks;
	pid_t pid = begin_child();

	(void)state;
	sonde_hooks_forks_forget(&forks, pid, agent);
	sonde_hooks_forks_look(&forks, getpid(), agent);
	assert_int_equal(told(&forks), 0);
	end_child(pid);
}

static void others_take_no_room(void **state)
{
	static struct sonde_hooks_forks forks;

	(void)state;
	sonde_hooks_forks_forget(&forks, 1, agent);
	assert_int_equal(forks.nr, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_child_with_the_agents_memory_has_hooks),
		cmocka_unit_test(who_got_hooks_before_a_look_is_not_told),
		cmocka_unit_test(others_take_no_room),
	};

	return cmocka_run_group_tests(tests, map_agent, NULL);
}
