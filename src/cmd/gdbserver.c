/* SPDX-License-Identifier: MIT */
/*
 * gdbserver.c - `sonde gdbserver`: from words to a server and its connections.
 *
 * One that attaches and is talked to by "-" (standard input and output) is two
 * processes: the server, which may outlive the connection (disconnected
 * tracing), and the one that GDB started, which copies bytes and ends with the
 * connection. If the process has a server already, the second process connects
 * to that one.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/number.h"
#include "base/port.h"
#include "cmd/cmd.h"
#include "cmd/gdb_client.h"
#include "cmd/gdb_socket.h"
#include "cmd/options.h"
#include "gdb/server.h"
#include "gdb/target/gdbserver.h"
#include "gdb/target/kernel.h"
#include "gdb/target/running.h"
#include "gdb/target/trace.h"

static const char usage[] =
	"sonde gdbserver [options] COMM PROGRAM [ARGS]\n"
	"sonde gdbserver [options] --attach COMM PID\n"
	"sonde gdbserver [options] --kernel COMM\n"
	"sonde gdbserver [options] --multi COMM\n"
	"sonde gdbserver --trace COMM TRACE\n"
	"\n"
	"A server for GDB, in which tracepoints are native code. COMM is\n"
	"HOST:PORT (no HOST: this machine only; '*': whoever comes), or -\n"
	"for standard input and output, as in\n"
	"\n"
	"  (gdb) target remote | sonde gdbserver --attach - PID\n";

#define EXIT_FAILED 1
/* What gdbserver has. */
#define LAUNCHED_BUFFER_BYTES (5ull << 20)

struct options {
	bool attach, kernel, multi, once, trace, debug, add, version;
	const char *output, *where, *symbols, *buffer;
	uint64_t buffer_bytes;
	char *const *words; /* what follows COMM */
};

/* clang-format off */
#define TO(member) SONDE_OPTION_TO(struct options, member)
static const struct sonde_option option_table[] = {
	{ "attach", 0, NULL, NULL, TO(attach),
	  "a process that runs; it is never stopped, and can be traced, not "
	  "stepped" },
	{ "kernel", 0, NULL, NULL, TO(kernel),
	  "the running kernel, which is never stopped: memory, and tracepoints "
	  "that go in at tstart" },
	{ "symbols", 0, "VMLINUX", SONDE_VALUE_FILE, TO(symbols),
	  "its file with types, for the events' fields (default: they have the "
	  "names that were typed)" },
	{ "multi", 0, NULL, NULL, TO(multi),
	  "no program yet: target extended-remote" },
	{ "once", 0, NULL, NULL, TO(once), "end after the first connection" },
	{ "trace", 0, NULL, NULL, TO(trace),
	  "a recorded trace as a target: tfind, tdump" },
	{ "output", 'o', "DIR", SONDE_VALUE_DIR, TO(output),
	  "keep the traces of tstart: DIR, DIR.1, ... (default: none is kept)" },
	{ "buffer", 0, "SIZE", NULL, TO(buffer),
	  "bytes of GDB's trace buffer, unless GDB sets trace-buffer-size "
	  "(default: 5M for a program that is started, no limit with --attach)" },
	{ "debug", 0, "[=WHAT]", NULL, TO(debug),
	  "the packets, on standard error, whatever WHAT says" },
	{ "version", 0, NULL, NULL, TO(version), "the version of Sonde" },
	/* of `sonde probe`: tracepoints are added to those that are there */
	{ "add", 0, NULL, NULL, TO(add), NULL },
	/* gdbserver's, with nothing to do here */
	{ "remote-debug", 0, NULL, NULL, TO(debug), NULL },
	{ "startup-with-shell", 0, NULL, NULL, SONDE_OPTION_IGNORED, NULL },
	{ "no-startup-with-shell", 0, NULL, NULL, SONDE_OPTION_IGNORED, NULL },
	{ "disable-randomization", 0, NULL, NULL, SONDE_OPTION_IGNORED, NULL },
	{ "no-disable-randomization", 0, NULL, NULL, SONDE_OPTION_IGNORED,
	  NULL },
	{ 0 }
};
/* clang-format on */

static int gdbserver_complain_usage(const char *what)
{
	sonde_complain("%s; see 'sonde gdbserver --help'", what);
	return SONDE_EXIT_USAGE;
}

static int gdbserver_parse_words(int argc, char **argv, struct options *options)
{
	if (optind >= argc)
		return gdbserver_complain_usage(
			"gdbserver: where is GDB to connect? "
			"Give HOST:PORT or -");
	options->where = argv[optind++];
	/* gdbserver of old had it here. */
	if (optind < argc && !strcmp(argv[optind], "--attach")) {
		options->attach = true;
		optind++;
	}
	options->words = argv + optind;
	if (options->attach + options->trace + options->kernel > 1)
		return gdbserver_complain_usage(
			"gdbserver: one of --attach, --kernel and --trace");
	if (options->symbols && !options->kernel)
		return gdbserver_complain_usage(
			"gdbserver: --symbols goes with --kernel");
	if (options->kernel)
		return optind == argc ?
			       -1 :
			       gdbserver_complain_usage(
				       "gdbserver --kernel: nothing follows "
				       "COMM");
	if ((options->attach || options->trace) && argc - optind != 1)
		return gdbserver_complain_usage(
			options->attach ? "gdbserver --attach: one PID" :
					  "gdbserver --trace: one TRACE");
	if (optind >= argc && !options->multi)
		return gdbserver_complain_usage("gdbserver: no PROGRAM");
	return -1;
}

static int parse(int argc, char **argv, struct options *options)
{
	int status;

	optind = 0;
	status = sonde_option_take(&sonde_command_gdbserver, argc, argv,
				   options, NULL);
	if (status >= 0)
		return status;
	if (options->version) {
		(void)puts("sonde gdbserver " SONDE_VERSION);
		return 0;
	}
	if (options->buffer &&
	    (sonde_number_parse_size(options->buffer, &options->buffer_bytes) ||
	     !options->buffer_bytes)) {
		sonde_complain("--buffer %.100s: give a size, such as 16M",
			       options->buffer);
		return SONDE_EXIT_USAGE;
	}
	return gdbserver_parse_words(argc, argv, options);
}

static int gdbserver_parse_pid(const char *text, pid_t *ret_pid)
{
	uint64_t pid;

	if (!sonde_number_parse(text, INT32_MAX, &pid) || !pid) {
		sonde_complain("%.100s: not a PID", text);
		return SONDE_EXIT_USAGE;
	}
	*ret_pid = (pid_t)pid;
	return -1;
}

static bool is_stdio(const char *where)
{
	return !strcmp(where, "-") || !strcmp(where, "stdio");
}

/* ---- connections ---- */

/* Where connections come in, all behind one descriptor. */
struct doors {
	int epoll;
	int fds[2];
	size_t nr;
};

static void doors_add(struct doors *doors, int fd)
{
	struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };

	if (doors->nr == 0)
		doors->epoll = epoll_create1(EPOLL_CLOEXEC);
	(void)epoll_ctl(doors->epoll, EPOLL_CTL_ADD, fd, &event);
	doors->fds[doors->nr++] = fd;
}

static void doors_close(struct doors *doors)
{
	for (size_t i = 0; i < doors->nr; i++)
		(void)close(doors->fds[i]);
	if (doors->nr > 0)
		(void)close(doors->epoll);
	doors->nr = 0;
}

static int doors_accept(const struct doors *doors)
{
	struct epoll_event event;

	if (epoll_wait(doors->epoll, &event, 1, 0) != 1)
		return -EAGAIN;
	return sonde_gdb_socket_accept(event.data.fd);
}

/* Nobody reads what is said any more: the one who started us has his prompt
 * back. */
static void fall_silent(void)
{
	int fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (fd < 0)
		return;
	(void)dup2(fd, STDERR_FILENO);
	(void)close(fd);
}

static bool goes_on(const struct options *options,
		    const struct sonde_gdb_server *server,
		    enum sonde_gdb_end end)
{
	if (end != SONDE_GDB_END_DETACHED || options->once)
		return false;
	/* What GDB has launched, and not let go, stays for the next one. */
	return !(options->attach || options->kernel) ||
	       sonde_gdb_server_is_running(server);
}

/* Connection after connection, until there is no reason for another. The last one
 * is closed by our exit: who ends us by it waits until all is undone. */
static void serve_doors(const struct options *options,
			struct sonde_gdb_server *server,
			const struct doors *doors, bool is_quiet)
{
	enum sonde_gdb_end end = SONDE_GDB_END_DETACHED;

	for (;;) {
		int fd;

		(void)sonde_gdb_server_idle(server, doors->epoll, &end);
		if (end != SONDE_GDB_END_DETACHED)
			return;
		fd = doors_accept(doors);
		if (fd < 0)
			continue;
		if (!is_quiet)
			(void)fputs("Remote debugging from another process\n",
				    stderr);
		(void)sonde_gdb_server_serve(server, fd, fd, &end);
		if (is_quiet)
			fall_silent();
		if (!goes_on(options, server, end))
			return;
		(void)close(fd);
	}
}

static int complain_where(const char *where, int rc)
{
	if (rc == -EADDRINUSE)
		/* GDB's own tests wait for these words, and try another. */
		(void)fprintf(stderr,
			      "Can't bind address: Address already in use.\n");
	else
		sonde_complain("%.200s: can't listen there (%s); give "
			       "HOST:PORT, or -",
			       where, strerrordesc_np(-rc));
	return EXIT_FAILED;
}

static int add_port(struct doors *doors, const char *where)
{
	struct sonde_gdb_socket_place place = { 0 };
	int fd = sonde_gdb_socket_listen(where, &place);

	if (fd < 0)
		return complain_where(where, fd);
	doors_add(doors, fd);
	if (place.is_everywhere)
		sonde_complain("warning: whoever reaches port %u of this "
			       "machine controls the program, with your "
			       "rights; ':PORT' is for this machine only",
			       place.port);
	(void)fprintf(stderr, "Listening on port %u\n", place.port);
	return -1;
}

/* Standard input and output, once; then, for a run that goes on, whoever comes.
 */
static int serve(const struct options *options, struct sonde_gdb_server *server,
		 struct doors *doors)
{
	enum sonde_gdb_end end;
	int status;

	(void)signal(SIGPIPE, SIG_IGN);
	if (!is_stdio(options->where)) {
		status = add_port(doors, options->where);
		if (status >= 0)
			return status;
		serve_doors(options, server, doors, false);
		return 0;
	}
	(void)fputs("Remote debugging using stdio\n", stderr);
	(void)sonde_gdb_server_serve(server, STDIN_FILENO, STDOUT_FILENO, &end);
	return 0;
}

/* Ctrl-C and the like end the server in good order: the probes come out, the
 * trace is complete. What is ignored stays so. 0: signals do what they did. */
static int gdbserver_take_signals(void)
{
	static const int stops[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction action;
	sigset_t mask;
	int fd;

	(void)sigemptyset(&mask);
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(stops); i++)
		if (!sigaction(stops[i], NULL, &action) &&
		    action.sa_handler != SIG_IGN)
			(void)sigaddset(&mask, stops[i]); /* it is valid */
	fd = signalfd(-1, &mask, SFD_CLOEXEC);
	/* The process that is looked at is none of ours: nobody inherits it. */
	if (fd > 0)
		(void)pthread_sigmask(SIG_BLOCK, &mask, NULL);
	return fd > 0 ? fd : 0;
}

static struct sonde_gdb_server *
make_server(const struct options *options,
	    const struct sonde_gdb_server_config *config)
{
	struct sonde_gdb_server_config all = *config;
	struct sonde_gdb_server *server = NULL;

	all.directory = options->output;
	all.verbose = options->debug;
	if (options->buffer_bytes)
		all.buffer_bytes = options->buffer_bytes;
	if (sonde_gdb_server_new(&all, &server)) {
		sonde_complain("out of memory");
		config->ops->free(config->target);
	}
	return server;
}

/* ---- what is served ---- */

static int serve_attached(const struct options *options,
			  struct sonde_gdb_server *server, struct doors *doors,
			  bool is_quiet)
{
	int status = 0;

	if (is_quiet) {
		(void)signal(SIGPIPE, SIG_IGN);
		serve_doors(options, server, doors, true);
	} else {
		status = serve(options, server, doors);
	}
	sonde_gdb_server_free(server);
	return status;
}

static int serve_process(const struct options *options, pid_t pid,
			 struct doors *doors, bool is_quiet)
{
	struct sonde_gdb_server_config config = {
		.ops = &sonde_gdb_running_ops
	};
	struct sonde_gdb_running *running = NULL;
	struct sonde_gdb_server *server;
	char error[256] = "";

	if (sonde_gdb_running_new(pid, error, sizeof(error), &running)) {
		sonde_complain("%s", error);
		return EXIT_FAILED;
	}
	config.target = running;
	config.stop_fd = gdbserver_take_signals();
	server = make_server(options, &config);
	if (!server)
		return EXIT_FAILED;
	sonde_gdb_running_serve(running, server);
	if (!is_quiet)
		(void)fprintf(stderr, "Attached; pid = %d\n", pid);
	return serve_attached(options, server, doors, is_quiet);
}

static int serve_kernel(const struct options *options, struct doors *doors,
			bool is_quiet)
{
	struct sonde_gdb_server_config config = {
		.ops = &sonde_gdb_kernel_ops
	};
	struct sonde_gdb_symbols symbols;
	struct sonde_gdb_kernel *kernel = NULL;
	struct sonde_gdb_server *server;
	char error[256] = "";
	int rc;

	if (options->symbols) {
		if (sonde_gdb_find_symbols(options->symbols, &symbols))
			return EXIT_FAILED;
		config.symbols = symbols.path;
		config.moved = symbols.moved;
	}
	rc = sonde_gdb_kernel_new(error, sizeof(error), &kernel);
	if (*error)
		sonde_complain("%s", error);
	if (rc)
		return EXIT_FAILED;
	config.target = kernel;
	config.stop_fd = gdbserver_take_signals();
	server = make_server(options, &config);
	if (!server)
		return EXIT_FAILED;
	sonde_gdb_kernel_serve(kernel, server);
	return serve_attached(options, server, doors, is_quiet);
}

/* The kernel has no process's number. */
static int serve_what(const struct options *options, pid_t pid,
		      struct doors *doors, bool is_quiet)
{
	return pid ? serve_process(options, pid, doors, is_quiet) :
		     serve_kernel(options, doors, is_quiet);
}

static const char *name_what(pid_t pid, char to[32])
{
	if (!pid)
		return "the kernel";
	(void)snprintf(to, 32, "process %d", pid);
	return to;
}

/* In a process of its own that lives as long as it is needed. */
static void become_server(const struct options *options, pid_t pid,
			  struct doors *doors)
{
	int fd;

	if (fork() > 0)
		return;
	(void)setsid();
	fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (fd >= 0) {
		(void)dup2(fd, STDIN_FILENO);
		(void)dup2(fd, STDOUT_FILENO);
		(void)close(fd);
	}
	fd = serve_what(options, pid, doors, true);
	sonde_gdb_socket_release(pid);
	_exit(fd);
}

/* Tells the server that this connection adds to what is there. */
static bool say_add(int fd)
{
	struct sonde_gdb_client *client = malloc(sizeof(*client));
	const char *answer = NULL;
	bool is_right;

	if (client) {
		sonde_gdb_client_init(client, fd);
		answer = sonde_gdb_client_ask(client, "QSondeAdd");
	}
	is_right = answer && !strcmp(answer, "OK");
	free(client);
	return is_right;
}

static int attach_by_relay(const struct options *options, pid_t pid,
			   struct doors *doors)
{
	char name[32];
	int fd;

	if (doors->nr > 0) {
		become_server(options, pid, doors);
		doors_close(doors);
	}
	fd = sonde_gdb_socket_reach(pid);
	if (fd < 0) {
		sonde_complain("%s: its server can't be reached (%s)",
			       name_what(pid, name), strerrordesc_np(-fd));
		return EXIT_FAILED;
	}
	(void)signal(SIGPIPE, SIG_IGN);
	if (options->add && !say_add(fd)) {
		sonde_complain("%s: its server takes no tracepoints",
			       name_what(pid, name));
		(void)close(fd);
		return EXIT_FAILED;
	}
	(void)sonde_gdb_socket_relay(fd, STDIN_FILENO, STDOUT_FILENO);
	(void)close(fd);
	return 0;
}

/* Nobody else serves it, or who comes is led there. -1, or an exit status. */
static int claim_server(pid_t pid, bool by_stdio, struct doors *doors)
{
	int fd = sonde_gdb_socket_claim(pid);
	char name[32];

	if (fd == -EADDRINUSE && !by_stdio) {
		sonde_complain("%s has a server already; connect by 'target "
			       "remote | sonde gdbserver %s'",
			       name_what(pid, name),
			       pid ? "--attach - PID" : "--kernel -");
		return EXIT_FAILED;
	}
	if (fd < 0 && fd != -EADDRINUSE) {
		sonde_complain("%s: its socket can't be made (%s)",
			       name_what(pid, name), strerrordesc_np(-fd));
		return EXIT_FAILED;
	}
	if (fd >= 0)
		doors_add(doors, fd);
	return -1;
}

static int attach(const struct options *options, pid_t pid)
{
	struct doors doors = { 0 };
	bool by_stdio = is_stdio(options->where);
	int status = claim_server(pid, by_stdio, &doors);

	if (status >= 0)
		return status;
	status = by_stdio ? attach_by_relay(options, pid, &doors) :
			    serve_what(options, pid, &doors, false);
	if (!by_stdio)
		sonde_gdb_socket_release(pid);
	doors_close(&doors);
	return status;
}

static int attach_process(const struct options *options)
{
	pid_t pid;
	int status = gdbserver_parse_pid(options->words[0], &pid);

	if (status >= 0)
		return status;
	if (kill(pid, 0) && errno == ESRCH) {
		sonde_complain("there is no process %d", pid);
		return EXIT_FAILED;
	}
	return attach(options, pid);
}

static int attach_kernel(const struct options *options)
{
	char error[256];
	uint64_t text;

	if (!sonde_gdb_kernel_text(&text, error, sizeof(error)))
		return attach(options, 0);
	sonde_complain("%s", error);
	return EXIT_FAILED;
}

/* A program of its own, under gdbserver; or, with --multi, what GDB asks for.
 */
static int serve_program(const struct options *options)
{
	struct sonde_gdb_server_config config = {
		.ops = &sonde_gdb_gdbserver_ops,
		.buffer_bytes = LAUNCHED_BUFFER_BYTES,
	};
	struct sonde_gdb_connection_config connection = {
		.multi = options->multi,
		.program = options->words[0] ? options->words : NULL,
		.is_quiet = is_stdio(options->where),
	};
	struct sonde_gdb_gdbserver *gdbserver = NULL;
	struct sonde_gdb_server *server;
	struct doors doors = { 0 };
	char error[256] = "";
	int status;

	if (sonde_gdb_gdbserver_new(&connection, error, sizeof(error),
				    &gdbserver)) {
		sonde_complain("%s", error);
		return EXIT_FAILED;
	}
	config.target = gdbserver;
	server = make_server(options, &config);
	if (!server)
		return EXIT_FAILED;
	sonde_gdb_gdbserver_serve(gdbserver, server);
	status = serve(options, server, &doors);
	sonde_gdb_server_free(server);
	doors_close(&doors);
	return status;
}

static int serve_trace(const struct options *options)
{
	struct sonde_gdb_frames_config all = { .buffer_bytes = UINT64_MAX };
	struct sonde_gdb_server_config config = {
		.ops = &sonde_gdb_trace_ops,
	};
	struct sonde_gdb_trace *recorded = NULL;
	struct sonde_gdb_server *server;
	struct doors doors = { 0 };
	char error[512] = "";
	int status;

	if (sonde_gdb_frames_open(options->words[0], &all, error, sizeof(error),
				  &config.frames)) {
		sonde_complain("%s", error);
		return EXIT_FAILED;
	}
	if (sonde_gdb_trace_new(options->words[0], &recorded)) {
		sonde_gdb_frames_free(config.frames);
		sonde_complain("out of memory");
		return EXIT_FAILED;
	}
	config.target = recorded;
	server = make_server(options, &config);
	if (!server) {
		sonde_gdb_frames_free(config.frames);
		return EXIT_FAILED;
	}
	sonde_gdb_trace_serve(recorded, server);
	status = serve(options, server, &doors);
	sonde_gdb_server_free(server);
	doors_close(&doors);
	return status;
}

static int run(int argc, char **argv)
{
	struct options options = { 0 };
	int status = parse(argc, argv, &options);

	if (status >= 0)
		return status;
	if (options.attach)
		return attach_process(&options);
	if (options.kernel)
		return attach_kernel(&options);
	if (!options.trace)
		return serve_program(&options);
	return serve_trace(&options);
}

const struct sonde_command sonde_command_gdbserver = {
	.name = "gdbserver",
	.run = run,
	.brief = "COMM PROGRAM|--attach|--kernel",
	.does = "the server it connects to",
	.usage = usage,
	.options = option_table,
	.ends_at_word = true,
	.words = SONDE_VALUE_FILE " " SONDE_VALUE_PROGRAM,
};
