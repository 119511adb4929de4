/* SPDX-License-Identifier: MIT */
/*
 * gdb.c - `sonde gdb`: the user's GDB, connected to a process or a trace.
 *
 * GDB 13.1 reads a member before it is constructed when a tracepoint is one
 * for a static marker, and crashes if it finds anything but zeros there.
 * glibc's malloc can be told to hand out memory that is.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/number.h"
#include "cmd/cmd.h"
#include "gdb/frames.h"
#include "gdb/target/running.h"

static const char usage[] =
	"sonde gdb PID [GDB'S ARGUMENTS]\n"
	"sonde gdb TRACE [GDB'S ARGUMENTS]\n"
	"sonde gdb --kernel [--symbols VMLINUX] [-- GDB'S ARGUMENTS]\n"
	"\n"
	"Starts GDB, connected to a process that runs on (it is never\n"
	"stopped), to the running kernel, which isn't either, or to a recorded\n"
	"trace. Then, for instance:\n"
	"\n"
	"  (gdb) trace foo.c:123 if 2*a+3*b > 0 && p->next->key == 7\n"
	"  (gdb) actions\n"
	"  > collect a, b, $args\n"
	"  > end\n"
	"  (gdb) tstart\n"
	"  (gdb) tstop\n"
	"  (gdb) tfind\n"
	"  (gdb) tdump\n";

struct words {
	const char *output, *symbols;
	bool kernel;
};

/* clang-format off */
#define TO(member) SONDE_OPTION_TO(struct words, member)
static const struct sonde_option options[] = {
	{ "output", 'o', "DIR", SONDE_VALUE_DIR, TO(output),
	  "keep the traces of tstart: DIR, DIR.1, ..." },
	{ "kernel", 0, NULL, NULL, TO(kernel), "the running kernel" },
	{ "symbols", 0, "VMLINUX", SONDE_VALUE_FILE, TO(symbols),
	  "its symbols and types (default: where its package with debugging "
	  "information has them)" },
	{ 0 }
};
/* clang-format on */

#define EXIT_FAILED    1
#define EXIT_NOT_FOUND 127
#define WORDS_MAX      288

static const char tunables[] =
	"glibc.malloc.tcache_count=0:glibc.malloc.perturb=255";

/* A word as the shell takes it. */
static void quote(FILE *to, const char *word)
{
	(void)fputc('\'', to);
	for (; *word; word++) {
		if (*word == '\'')
			(void)fputs("'\\''", to);
		else
			(void)fputc(*word, to);
	}
	(void)fputc('\'', to);
}

static bool is_number(const char *text)
{
	for (const char *c = text; *c; c++)
		if (!isdigit((unsigned char)*c))
			return false;
	return *text;
}

static void put_target(FILE *to, const char *self,
		       const struct sonde_gdb_start *start)
{
	const char *what = start->what;

	(void)fputs("target remote | ", to);
	quote(to, self);
	(void)fprintf(to, " gdbserver %s %s",
		      !what           ? "--kernel" :
		      is_number(what) ? "--attach" :
					"--trace",
		      start->adds ? "--add " : "");
	if (start->symbols) {
		(void)fputs("--symbols ", to);
		quote(to, start->symbols);
	}
	if (start->output) {
		(void)fputs(" -o ", to);
		quote(to, start->output);
	}
	(void)fputs(" - ", to);
	if (what)
		quote(to, what);
}

/* "target remote | sonde gdbserver --attach -o DIR - PID", for free(); NULL. */
static char *make_target(const struct sonde_gdb_start *start)
{
	char self[PATH_MAX];
	ssize_t nr = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *text = NULL;
	size_t size;
	FILE *to;

	if (nr <= 0)
		return NULL;
	self[nr] = '\0';
	to = open_memstream(&text, &size);
	if (!to)
		return NULL;
	put_target(to, self, start);
	if (fclose(to)) {
		free(text);
		return NULL;
	}
	return text;
}

static void become(const char *gdb, const char **words)
{
	(void)execvp(gdb, (char *const *)(const void *)words);
	sonde_complain(
		"%.200s: can't be started (%s)%s", gdb, strerrordesc_np(errno),
		errno == ENOENT ? "; install gdb, or set SONDE_GDB" : "");
}

int sonde_gdb_exec(const struct sonde_gdb_start *start)
{
	const char *const *before = start->before;
	char *const *after = start->after;
	char *target = make_target(start);
	const char *gdb = secure_getenv("SONDE_GDB");
	const char *words[WORDS_MAX] = { 0 };
	size_t nr = 0;

	/* One thread. NOLINTNEXTLINE(concurrency-mt-unsafe) */
	if (!target || setenv("GLIBC_TUNABLES", tunables, 1)) {
		sonde_complain("out of memory");
		free(target);
		return EXIT_FAILED;
	}
	words[nr++] = gdb && *gdb ? gdb : "gdb";
	for (; before && *before && nr < WORDS_MAX / 2; before++)
		words[nr++] = *before;
	words[nr++] = "-iex";
	/* Its files are here: no copying through the protocol. */
	words[nr++] = "set sysroot /";
	words[nr++] = "-iex";
	/* By its own 2 s, an answer that comes late on a busy machine is asked
	 * for again, and then taken for the answer to something else. */
	words[nr++] = "set remotetimeout 60";
	words[nr++] = "-ex";
	words[nr++] = target;
	for (; *after && nr < WORDS_MAX - 1; after++)
		words[nr++] = *after;
	if (*after)
		sonde_complain("too many arguments for GDB");
	else
		become(words[0], words);
	free(target);
	return *after ? SONDE_EXIT_USAGE : EXIT_NOT_FOUND;
}

/* What GDB is to be connected to is looked at here first: GDB would stay, and
 * end well, without it. */
int sonde_gdb_check_process(pid_t pid)
{
	struct sonde_gdb_running *running = NULL;
	char error[256] = "";

	if (sonde_gdb_running_new(pid, error, sizeof(error), &running)) {
		sonde_complain("%s", *error ? error : "out of memory");
		return EXIT_FAILED;
	}
	sonde_gdb_running_ops.free(running);
	return 0;
}

static int check_pid(const char *word)
{
	uint64_t pid;

	if (sonde_number_parse(word, INT32_MAX, &pid) && pid)
		return sonde_gdb_check_process((pid_t)pid);
	sonde_complain("%.100s: not a PID", word);
	return EXIT_FAILED;
}

static int check_trace(const char *path)
{
	struct sonde_gdb_frames_config all = { .buffer_bytes = UINT64_MAX };
	struct sonde_gdb_frames *frames = NULL;
	char error[512] = "";

	if (sonde_gdb_frames_open(path, &all, error, sizeof(error), &frames)) {
		sonde_complain("%s", error);
		return EXIT_FAILED;
	}
	sonde_gdb_frames_free(frames);
	return 0;
}

static int connect_kernel(const char *output, const char *symbols,
			  char *const *after)
{
	struct sonde_gdb_symbols found;
	char command[PATH_MAX + 64];
	char modules[SONDE_GDB_SCRIPT_PATH];
	char sites[SONDE_GDB_SCRIPT_PATH];
	const char *before[] = { "-ex", command, NULL, NULL, NULL, NULL, NULL };
	size_t nr = 2;
	int status = sonde_gdb_find_symbols(symbols, &found);

	if (status)
		return status;
	(void)snprintf(command, sizeof(command),
		       "symbol-file -o 0x%" PRIx64 " \"%s\"", found.moved,
		       found.path);
	if (sonde_gdb_module_script(modules) >= 0) {
		before[nr++] = "-x";
		before[nr++] = modules;
	}
	if (sonde_gdb_sites_script(sites) >= 0) {
		before[nr++] = "-x";
		before[nr++] = sites;
	}
	return sonde_gdb_exec(&(struct sonde_gdb_start){
		.output = output,
		.symbols = found.path,
		.before = before,
		.after = after,
	});
}

static int connect_process_or_trace(const char *what, const char *output,
				    char *const *after)
{
	char sites[SONDE_GDB_SCRIPT_PATH];
	const char *before[] = { "-x", sites, NULL };
	int status = is_number(what) ? check_pid(what) : check_trace(what);

	if (status)
		return status;
	if (sonde_gdb_sites_script(sites) < 0)
		before[0] = NULL;
	return sonde_gdb_exec(&(struct sonde_gdb_start){
		.output = output,
		.what = what,
		.before = before,
		.after = after,
	});
}

static int run(int argc, char **argv)
{
	struct words words = { 0 };
	int status =
		sonde_option_take(&sonde_command_gdb, argc, argv, &words, NULL);

	if (status >= 0)
		return status;
	if (words.kernel)
		return connect_kernel(words.output, words.symbols,
				      argv + optind);
	if (words.symbols) {
		sonde_complain("gdb: --symbols goes with --kernel");
		return SONDE_EXIT_USAGE;
	}
	if (optind >= argc) {
		sonde_complain(
			"gdb: a PID or a TRACE comes first, or --kernel; see 'sonde "
			"gdb --help'");
		return SONDE_EXIT_USAGE;
	}
	return connect_process_or_trace(argv[optind], words.output,
					argv + optind + 1);
}

const struct sonde_command sonde_command_gdb = {
	.name = "gdb",
	.run = run,
	.brief = "PID|TRACE|--kernel",
	.does = "tracepoints from GDB",
	.usage = usage,
	.options = options,
	.notes = "SONDE_GDB names another GDB to be started.\n",
	.ends_at_word = true,
	.words = SONDE_VALUE_DIR,
};
