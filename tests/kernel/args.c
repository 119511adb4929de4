/* SPDX-License-Identifier: MIT */
/*
 * args.c - system calls with arguments of every kind, always the same ones in
 * the same order, by one thread.
 *
 *	args DIRECTORY
 *
 * DIRECTORY is empty and is so again in the end. tests/e2e/test_kernel_fields.py
 * knows the list. Most results are errors: they are wanted.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static const char nothing_there[] = "/does/not/exist";

/* Texts that no tracer may find missing because nobody has touched their page
 * yet: those of this program's constants. */
static void touch(const char *text)
{
	(void)*(const volatile char *)text;
}

static void files(const char *directory)
{
	static char long_path[6000];
	int fd;

	touch(nothing_there);
	touch("plain");
	touch("sub/moved");
	if (chdir(directory))
		return;
	fd = openat(AT_FDCWD, "plain", O_CREAT | O_WRONLY | O_CLOEXEC | O_TRUNC,
		    0640);
	(void)!write(fd, "eighteen character", 18);
	(void)lseek(fd, INT64_C(0x123456789), SEEK_SET);
	(void)!ftruncate(fd, INT64_C(0x100000001));
	(void)close(fd);
	(void)mkdirat(AT_FDCWD, "sub", 0750);
	(void)renameat2(AT_FDCWD, "plain", AT_FDCWD, "sub/moved",
			RENAME_NOREPLACE);
	fd = openat(AT_FDCWD, "sub/moved", O_RDONLY | O_CLOEXEC);
	(void)unlinkat(fd, "it is no directory", 0);
	(void)close(fd);
	(void)unlinkat(AT_FDCWD, "sub/moved", 0);
	(void)unlinkat(AT_FDCWD, "sub", AT_REMOVEDIR);
	(void)openat(AT_FDCWD, "", O_RDONLY | O_CLOEXEC);
	(void)openat(AT_FDCWD, "a \"quoted\"\n\xc3\xa4 name",
		     O_RDONLY | O_CLOEXEC);
	memset(long_path, 'p', sizeof(long_path) - 1);
	(void)openat(AT_FDCWD, long_path, O_RDONLY | O_CLOEXEC);
	/* The pointer itself is wrong: there is no text to record. */
	(void)syscall(SYS_openat, AT_FDCWD, (void *)1, O_RDONLY, 0);
	(void)syscall(SYS_openat, -1, NULL, O_RDONLY, 0);
}

static void others(void)
{
	void *memory = mmap(NULL, 8192, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)mprotect(memory, 4096, PROT_NONE);
	(void)munmap(memory, 8192);
	(void)close(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
	(void)prctl(PR_SET_NAME, "arguments");
	(void)kill(0x7fffffff, SIGUSR1); /* nobody */
	(void)syscall(SYS_getppid);
	(void)syscall(SYS_read, -1, NULL, SIZE_MAX);
	/* A number that no call has. */
	(void)syscall(1000);
}

/* In a child, so that the numbers of calls stay the same if it succeeds. */
static void execute(void)
{
	static char words[4][12] = { "child", "two words", "", "--last" };
	static char variable[] = "ONE=1";
	char *argv[] = { words[0], words[1], words[2], words[3], NULL };
	char *envp[] = { variable, NULL };
	pid_t pid = fork();

	if (pid == 0) {
		touch(nothing_there); /* the child has no pages of files yet */
		(void)execve(nothing_there, argv, envp);
		_exit(3);
	}
	if (pid > 0)
		(void)waitpid(pid, NULL, 0);
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: args DIRECTORY\n");
		return 2;
	}
	files(argv[1]);
	others();
	execute();
	return 0;
}
