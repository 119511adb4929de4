/* SPDX-License-Identifier: MIT */
/*
 * probe.c - `sonde probe`: tracepoints without typing into GDB.
 *
 * A GDB in batch mode finds places and compiles expressions; with SONDE_GDB=none
 * that is done here (probe/resolve.h). Either tells the process's
 * server (cmd/gdbserver.c), which is started if there is none, stays, and is
 * the recording. Listing and removing speak to that server, too.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/number.h"
#include "base/text.h"
#include "cmd/cmd.h"
#include "cmd/gdb_socket.h"
#include "cmd/options.h"
#include "cmd/probe.h"
#include "cmd/read_watch.h"
#include "probe/resolve.h"

static const char usage[] =
	"sonde probe -p PID [options] 'LOCATION [if CONDITION]'\n"
	"sonde probe -p PID --list [--json]\n"
	"sonde probe -p PID --remove NAME\n"
	"sonde probe -p PID --stop\n"
	"sonde probe --kernel [options] 'FUNCTION [if CONDITION] [collect LIST]; "
	"...'\n"
	"            [-- PROGRAM ARGS]\n"
	"sonde probe --kernel --list [GLOB] [--json]\n"
	"sonde probe --kernel --stop NAME\n"
	"\n"
	"Records each time a running program comes to a place in its code and\n"
	"a condition is true. The program is not stopped; the condition is\n"
	"evaluated there, as native code. LOCATION is as in GDB: FILE:LINE,\n"
	"FUNCTION or *ADDRESS. GDB is needed (or SONDE_GDB=none), and\n"
	"debugging information for what is named. Neither is for\n"
	"sdt:PROVIDER:NAME, a probe of <sys/sdt.h> as 'sonde list PROGRAM'\n"
	"shows them; its arguments are $arg1, $arg2 ..., all of which are\n"
	"recorded unless --collect says what is.\n"
	"\n"
	"With --kernel, FUNCTION is one of the running kernel's. Its arguments\n"
	"and 'current', the running task, are known by the kernel's own types\n"
	"(BTF); at FUNCTION%return, so is 'return'. GROUP:EVENT is a static\n"
	"tracepoint, with its own arguments. It is recorded while PROGRAM\n"
	"runs, or of all of the machine until Ctrl-C or --stop, as sonde record\n"
	"does it; then nothing is left in the kernel.\n";

#define EXIT_FAILED 1
/* Printed when all went well. */
#define DONE "sonde-probe-done"

struct options {
	pid_t pid; /* what `process` says */
	const char *process, *collect, *name, *output, *remove, *where, *rules;
	const char *stack; /* how deep; "": as deep as usual; NULL: none */
	const char *source;
	bool list, stop, json, kernel, all;
	char **program;
};

/* clang-format off */
#define TO(member) SONDE_OPTION_TO(struct options, member)
static const struct sonde_option option_table[] = {
	{ "pid", 'p', "PID", NULL, TO(process), "the program" },
	{ "kernel", 0, NULL, NULL, TO(kernel),
	  "a function of the kernel; needs root" },
	{ "collect", 0, "LIST", NULL, TO(collect),
	  "expressions to be recorded, and $args, $locals, $regs, $timestamp; "
	  "such as 'n, zSql, *p@4'; what follows /s as text: '$arg3, /s $arg1'" },
	{ "name", 0, "NAME", NULL, TO(name),
	  "of the events: gdb:NAME (default: by place); in the kernel, "
	  "kgdb:NAME" },
	{ "output", 'o', "DIR", SONDE_VALUE_DIR, TO(output),
	  "the trace, if none is being recorded yet (default: "
	  "./sonde-YYYYMMDD-HHMMSS)" },
	{ "kernel-events", 'k', "RULES", NULL, TO(rules),
	  "with --kernel: also these kernel events, as of sonde record" },
	{ "all", 'a', NULL, NULL, TO(all),
	  "with --kernel and a PROGRAM: all of the machine, not only its "
	  "threads" },
	{ "stack", 0, "[=DEPTH]", SONDE_VALUE_NUMBER, TO(stack),
	  "with --kernel: the call stack of each event, the kernel's and so "
	  "many frames of the program at most (default: 16)" },
	{ "kernel-source", 0, "S", "auto modules bpf", TO(source),
	  "with --kernel: what puts the probes in: modules (see: sonde "
	  "modules), bpf, or auto: the first that can (default)" },
	{ "list", 0, NULL, NULL, TO(list),
	  "the probes that are in, and their hits; with --kernel, those of all "
	  "that record some, or the functions that match GLOB" },
	{ "remove", 0, "NAME", NULL, TO(remove),
	  "take one out, by its name or number" },
	{ "stop", 0, NULL, NULL, TO(stop),
	  "take all out, and finish the trace; with --kernel, of the recording "
	  "that has the probe NAME" },
	{ "json", 0, NULL, NULL, TO(json), "what --list shows, as JSON" },
	{ 0 }
};
/* clang-format on */

/* GDB reads lines: what is given must be one. */
static bool is_line(const char *text)
{
	for (; text && *text; text++)
		if (iscntrl((unsigned char)*text))
			return false;
	return true;
}

static int complain_usage(const char *what)
{
	sonde_complain("probe: %s; see 'sonde probe --help'", what);
	return SONDE_EXIT_USAGE;
}

/* Words that are one line each, and a name. */
static int check_line_words(const struct options *options)
{
	if (!is_line(options->where) || !is_line(options->collect))
		return complain_usage("there is a line break or another "
				      "control character");
	if (options->name &&
	    (!sonde_text_is_name(options->name, strlen(options->name)) ||
	     strlen(options->name) > 100))
		return complain_usage("--name takes letters, digits and _, up "
				      "to 100");
	return -1;
}

static int check_kernel_options(const struct options *options)
{
	if (options->pid || options->remove)
		return complain_usage("--kernel is of no program, and its "
				      "probe is gone when the command ends: "
				      "no -p or --remove");
	if ((options->list || options->stop) && options->program)
		return complain_usage("--list takes one GLOB, --stop one NAME");
	if (options->list && options->stop)
		return complain_usage("--list or --stop, not both");
	if (options->stop && !options->where)
		return complain_usage("--stop which? --list shows the probes");
	if (!options->list && !options->where)
		return complain_usage("where? Give 'FUNCTION if CONDITION'");
	return check_line_words(options);
}

static int check_options(const struct options *options)
{
	int nr = options->list + options->stop + !!options->remove +
		 !!options->where;

	if (options->kernel)
		return check_kernel_options(options);
	if (options->rules || options->all || options->stack || options->source)
		return complain_usage("-k, -a, --stack and --kernel-source are "
				      "for --kernel");
	if (options->program)
		return complain_usage("one LOCATION; put it into quotes");
	if (options->pid == 0)
		return complain_usage("of which program? Give -p PID, or "
				      "--kernel");
	if (nr == 0)
		return complain_usage("where? Give 'FILE:LINE if CONDITION'");
	if (nr > 1)
		return complain_usage("a LOCATION, --list, --remove or --stop, "
				      "not several");
	return check_line_words(options);
}

static int parse(int argc, char **argv, struct options *options)
{
	uint64_t pid = 0;
	int status;

	optind = 0;
	status = sonde_option_take(&sonde_command_probe, argc, argv, options,
				   NULL);
	if (status >= 0)
		return status;
	if (options->process &&
	    (!sonde_number_parse(options->process, INT32_MAX, &pid) || !pid)) {
		sonde_complain("%.100s: not a PID", options->process);
		return SONDE_EXIT_USAGE;
	}
	options->pid = (pid_t)pid;
	if (optind < argc)
		options->where = argv[optind++];
	if (optind < argc)
		options->program = argv + optind;
	return check_options(options);
}

/* ---- GDB ---- */

static bool put_script(FILE *file, const void *ctx)
{
	const struct options *options = ctx;

	(void)fputs("set confirm off\n"
		    "set pagination off\n"
		    "set width 0\n"
		    "set disconnected-tracing on\n",
		    file);
	if (options->name) {
		(void)fputs("maint packet QSondeName:", file);
		for (const char *c = options->name; *c; c++)
			(void)fprintf(file, "%02x", (unsigned char)*c);
		(void)fputs("\n", file);
	}
	(void)fprintf(file, "trace %s\n", options->where);
	if (options->collect)
		(void)fprintf(file, "actions\ncollect %s\nend\n",
			      options->collect);
	(void)fputs("tstart\n"
		    "echo " DONE "\\n\n"
		    "disconnect\n",
		    file);
	return true;
}

static _Noreturn void run_gdb(const struct options *options, char *script,
			      int out, int err)
{
	static const char *const before[] = {
		"-batch", "-nx",
		"-iex",   "set debuginfod enabled off",
		"-iex",   "set print thread-events off",
		NULL
	};
	char pid[16];
	char *after[] = { (char[]){ "-x" }, script, NULL };

	(void)snprintf(pid, sizeof(pid), "%d", options->pid);
	(void)dup2(out, STDOUT_FILENO);
	(void)dup2(err, STDERR_FILENO);
	_exit(sonde_gdb_exec(&(struct sonde_gdb_start){
		.output = options->output,
		.what = pid,
		.adds = true,
		.before = before,
		.after = after,
	}));
}

/* Whether a GDB is to find the place: unless it is told that there is none, or
 * the place is one of <sys/sdt.h>. */
static bool wants_gdb(const struct options *options)
{
	const char *gdb = secure_getenv("SONDE_GDB");

	return strncmp(options->where, "sdt:", 4) != 0 &&
	       (!gdb || strcmp(gdb, "none") != 0);
}

static _Noreturn void run_own(const struct options *options, int out, int err)
{
	const struct sonde_probe_request request = {
		.pid = options->pid,
		.where = options->where,
		.collect = options->collect,
		.has_name = options->name,
	};
	int status;

	(void)dup2(out, STDOUT_FILENO);
	(void)dup2(err, STDERR_FILENO);
	status = sonde_probe_put_in(&request, options->name, options->output);
	if (status == 0)
		(void)puts(DONE);
	(void)fflush(stdout);
	_exit(status);
}

/* All that is in a file, as text for free(); NULL. */
static char *cmd_probe_text_of(int fd)
{
	off_t size = lseek(fd, 0, SEEK_END);
	char *text = size >= 0 ? malloc((size_t)size + 1) : NULL;

	if (text && pread(fd, text, (size_t)size, 0) != size) {
		free(text);
		return NULL;
	}
	if (text)
		text[size] = '\0';
	return text;
}

/* GDB's words about other things than the probe. */
static bool is_noise(const char *line)
{
	static const char *const noises[] = {
		"warning: ",
		"[Inferior ",
		"Reading ",
		"Downloading ",
		/* of the vDSO */
		"Failed to read a valid object file image from memory",
	};

	for (size_t i = 0; i < sizeof(noises) / sizeof(noises[0]); i++)
		if (!strncmp(line, noises[i], strlen(noises[i])))
			return true;
	/* a source line that isn't there: "57\tfile.c: No such file ..." */
	if (line[strspn(line, "0123456789")] == '\t')
		return true;
	/* "/proc/self/fd/5:7: Error in sourced command file:" */
	return strstr(line, "Error in sourced command file") || !*line;
}

/* Prints the places of the tracepoints that GDB set; true: all went well. */
static bool tell_places(char *text)
{
	bool is_in = strstr(text, "\n" DONE "\n");
	char *place = NULL;

	for (char *line = strtok_r(text, "\n", &place); line;
	     line = strtok_r(NULL, "\n", &place))
		if (!strncmp(line, "Tracepoint ", 11) && is_in)
			(void)printf("%s\n", line);
	return is_in;
}

/* An error without what GDB and the protocol put around it: "Target returns
 * error code '.no code is there'." */
static const char *bare(char *line)
{
	static const char ours[] = "sonde: ";
	static const char theirs[] = "Target returns error code '.";
	size_t length = strlen(line);

	/* what the server that GDB started complained of */
	if (!strncmp(line, ours, sizeof(ours) - 1))
		return line + sizeof(ours) - 1;
	if (strncmp(line, theirs, sizeof(theirs) - 1) != 0)
		return line;
	while (length && strchr("'.", line[length - 1]))
		line[--length] = '\0';
	return line + sizeof(theirs) - 1;
}

/* The first error: those after it follow from it. */
static void tell_error(char *text)
{
	char *place = NULL;
	char *line = strtok_r(text, "\n", &place);

	while (line && is_noise(line))
		line = strtok_r(NULL, "\n", &place);
	sonde_complain("the probe is not in%s%s", line ? ": " : "",
		       line ? bare(line) : "");
}

/* Has it put in by a process apart; whether it is in. */
static bool ask_child(const struct options *options, char *script, int out,
		      int err)
{
	pid_t pid = fork();
	bool is_in = false;
	char *said;
	char *errors;

	if (pid == 0 && !wants_gdb(options))
		run_own(options, out, err);
	if (pid == 0)
		run_gdb(options, script, out, err);
	if (pid > 0) {
		sonde_watch_begin_bar("probe");
		sonde_watch_child(pid,
				  wants_gdb(options) ?
					  "GDB reads debugging information" :
					  "reading debugging information");
		sonde_watch_end();
	}
	if (pid < 0 || waitpid(pid, NULL, 0) < 0) {
		sonde_complain("probe: a process can't be started: %s",
			       strerrordesc_np(errno));
		return false;
	}
	said = cmd_probe_text_of(out);
	errors = cmd_probe_text_of(err);
	is_in = said && tell_places(said);
	if (!is_in)
		tell_error(errors ? errors : (char[]){ "" });
	free(said);
	free(errors);
	return is_in;
}

static int put_in(const struct options *options)
{
	char script[SONDE_GDB_SCRIPT_PATH];
	int fds[] = { sonde_gdb_script(put_script, options, script),
		      memfd_create("out", MFD_CLOEXEC),
		      memfd_create("err", MFD_CLOEXEC) };
	bool is_in = false;

	if (fds[0] >= 0 && fds[1] >= 0 && fds[2] >= 0)
		is_in = ask_child(options, script, fds[1], fds[2]);
	else
		sonde_complain("probe: %s", strerrordesc_np(errno));
	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
		if (fds[i] >= 0)
			(void)close(fds[i]);
	return is_in ? sonde_probe_where(options->pid) : EXIT_FAILED;
}

static struct sonde_probe_kernel_options
kernel_options(const struct options *options)
{
	return (struct sonde_probe_kernel_options){
		.where = options->where,
		.collect = options->collect,
		.name = options->name,
		.output = options->output,
		.rules = options->rules,
		.stack = options->stack,
		.source = options->source,
		.all = options->all,
		.program = options->program,
	};
}

static bool parse_words_of(int nr, char **words,
			   struct sonde_probe_kernel_options *ret_options)
{
	struct options options = { 0 };

	if (parse(nr, words, &options) >= 0 || !options.kernel ||
	    options.list || options.stop)
		return false;
	*ret_options = kernel_options(&options);
	return true;
}

static int probe_in_kernel(const struct options *options)
{
	const struct sonde_probe_kernel_options kernel =
		kernel_options(options);

	if (options->stop)
		return sonde_probe_kernel_stop(parse_words_of, options->where);
	if (!options->list)
		return sonde_probe_kernel_record(&kernel);
	return options->where ?
		       sonde_probe_kernel_list(options->where, options->json) :
		       sonde_probe_kernel_running(parse_words_of,
						  options->json);
}

static int run(int argc, char **argv)
{
	struct options options = { 0 };
	time_t now = time(NULL);
	struct tm local;
	char name[64];
	int status = parse(argc, argv, &options);

	if (status >= 0)
		return status;
	if (options.kernel)
		return probe_in_kernel(&options);
	if (options.list)
		return sonde_probe_list(options.pid, options.json);
	if (options.remove)
		return sonde_probe_remove(options.pid, options.remove);
	if (options.stop)
		return sonde_probe_stop(options.pid);
	/* GDB would go on without it, with an error for each of its lines. */
	if (sonde_gdb_check_process(options.pid))
		return EXIT_FAILED;
	if (!options.output && localtime_r(&now, &local)) {
		(void)strftime(name, sizeof(name), "sonde-%Y%m%d-%H%M%S",
			       &local);
		options.output = name;
	}
	return put_in(&options);
}

const struct sonde_command sonde_command_probe = {
	.name = "probe",
	.run = run,
	.brief = "-p PID 'FILE:LINE if COND'",
	.does = "tracepoints without GDB's prompt",
	.usage = usage,
	.options = option_table,
	.notes = "Try: sonde probe -p PID 'sqlite3.c:9123 if n > 100' "
		 "--collect n\n"
		 "     sonde probe --kernel 'tcp_sendmsg if size > 100000' "
		 "--collect size\n",
};
