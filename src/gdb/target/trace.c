/* SPDX-License-Identifier: MIT */
/*
 * trace.c - see trace.h. GDB is told of one thread, which has stopped at
 * the program's first instruction; and of no process, as it would look for that
 * in /proc.
 */
#include "gdb/target/trace.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hex.h"
#include "base/port.h"
#include "expr/agent.h"
#include "gdb/registers.h"
#include "probe/program_files.h"

struct sonde_gdb_trace {
	struct sonde_probe_kept auxv, exe, libraries;
	struct sonde_gdb_server *server;
};

typedef void answer(struct sonde_gdb_trace *trace, const char *rest,
		    struct sonde_gdb_reply *reply);

static const char no_process[] =
	"this is a recorded trace: there is no process";

static void trace_answer_current(struct sonde_gdb_trace *trace,
				 const char *rest,
				 struct sonde_gdb_reply *reply)
{
	(void)trace;
	if (!*rest)
		sonde_gdb_reply_text(reply, "QC1");
}

/* The program's first instruction; 0. */
static uint64_t trace_entry_of(const struct sonde_gdb_trace *trace)
{
	Elf64_auxv_t entry;

	for (size_t at = 0; at + sizeof(entry) <= trace->auxv.nr;
	     at += sizeof(entry)) {
		memcpy(&entry, trace->auxv.bytes + at, sizeof(entry));
		if (entry.a_type == AT_ENTRY)
			return entry.a_un.a_val;
	}
	return 0;
}

static void trace_reply_register(const struct sonde_gdb_trace *trace,
				 unsigned int number,
				 struct sonde_gdb_reply *reply)
{
	unsigned int offset;
	unsigned int size;
	uint64_t entry = trace_entry_of(trace);

	if (!sonde_gdb_register_place(number, &offset, &size))
		return;
	if (number == SONDE_AGENT_RIP) {
		sonde_gdb_reply_hex(reply, &entry, size);
		return;
	}
	for (unsigned int i = 0; i < size; i++)
		sonde_gdb_reply_text(reply, "xx");
}

static void answer_registers(struct sonde_gdb_trace *trace, const char *rest,
			     struct sonde_gdb_reply *reply)
{
	(void)rest;
	for (unsigned int i = 0; i < SONDE_GDB_NR_REGISTERS; i++)
		trace_reply_register(trace, i, reply);
}

static void answer_register(struct sonde_gdb_trace *trace, const char *rest,
			    struct sonde_gdb_reply *reply)
{
	uint64_t number;

	if (sonde_hex_take_number(&rest, &number) && !*rest &&
	    number < SONDE_GDB_NR_REGISTERS)
		trace_reply_register(trace, (unsigned int)number, reply);
	else
		sonde_gdb_reply_error(reply, 1);
}

static void reply_kept(const struct sonde_probe_kept *kept, const char *rest,
		       struct sonde_gdb_reply *reply)
{
	if (kept->bytes && rest)
		sonde_gdb_reply_part(reply, rest, kept->bytes, kept->nr);
	else
		sonde_gdb_reply_error(reply, 1);
}

static void answer_auxv(struct sonde_gdb_trace *trace, const char *rest,
			struct sonde_gdb_reply *reply)
{
	reply_kept(&trace->auxv, rest, reply);
}

/* "annex:offset,length" */
static const char *behind_annex(const char *rest)
{
	rest = strchr(rest, ':');
	return rest ? rest + 1 : NULL;
}

static void answer_exe(struct sonde_gdb_trace *trace, const char *rest,
		       struct sonde_gdb_reply *reply)
{
	reply_kept(&trace->exe, behind_annex(rest), reply);
}

static void answer_libraries(struct sonde_gdb_trace *trace, const char *rest,
			     struct sonde_gdb_reply *reply)
{
	reply_kept(&trace->libraries, behind_annex(rest), reply);
}

static void trace_answer_detach(struct sonde_gdb_trace *trace, const char *rest,
				struct sonde_gdb_reply *reply)
{
	(void)rest;
	sonde_gdb_reply_text(reply, "OK");
	if (trace->server)
		sonde_gdb_server_end(trace->server, SONDE_GDB_END_DETACHED);
}

static void trace_answer_monitor(struct sonde_gdb_trace *trace,
				 const char *rest,
				 struct sonde_gdb_reply *reply)
{
	(void)rest;
	sonde_gdb_reply_text(reply, "OK");
	if (trace->server)
		sonde_gdb_server_end(trace->server, SONDE_GDB_END_KILLED);
}

#define STOPPED "T05thread:1;"

/* A word that begins another one comes after it. What has neither answer nor text
 * wants a process. */
static const struct {
	const char *word;
	answer *answer;
	const char *text;
} all_known[] = {
	{ "?", NULL, STOPPED },
	{ "qfThreadInfo", NULL, "m1" },
	{ "qsThreadInfo", NULL, "l" },
	{ "qAttached", NULL, "1" },
	{ "qC", trace_answer_current, NULL },
	{ "qSymbol:", NULL, "OK" },
	{ "qRcmd,65786974", trace_answer_monitor, NULL }, /* exit */
	{ "qXfer:auxv:read::", answer_auxv, NULL },
	{ "qXfer:exec-file:read:", answer_exe, NULL },
	{ "qXfer:libraries-svr4:read:", answer_libraries, NULL },
	{ "vKill;", trace_answer_detach, NULL },
	{ "H", NULL, "OK" },
	{ "T", NULL, "OK" },
	{ "D", trace_answer_detach, NULL },
	{ "g", answer_registers, NULL },
	{ "p", answer_register, NULL },
	{ "m", NULL, "E01" },
	{ "M", NULL, NULL },
	{ "G", NULL, NULL },
	{ "P", NULL, NULL },
	{ "Z", NULL, NULL },
	{ "z", NULL, "OK" },
	{ "c", NULL, STOPPED },
	{ "s", NULL, STOPPED },
	{ "C", NULL, STOPPED },
	{ "S", NULL, STOPPED },
};

static void trace_answer(struct sonde_gdb_trace *trace, size_t known,
			 const char *rest, struct sonde_gdb_reply *reply)
{
	if (all_known[known].answer)
		all_known[known].answer(trace, rest, reply);
	else if (all_known[known].text)
		sonde_gdb_reply_text(reply, all_known[known].text);
	else
		sonde_gdb_reply_refuse(reply, no_process);
}

static bool trace_packet(void *target, const char *packet, size_t length,
			 struct sonde_gdb_reply *reply)
{
	struct sonde_gdb_trace *trace = target;

	if (strlen(packet) != length)
		return true;
	if (strcmp(packet, "k") == 0) {
		if (trace->server)
			sonde_gdb_server_end(trace->server,
					     SONDE_GDB_END_KILLED);
		return false;
	}
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(all_known); i++) {
		size_t nr = strlen(all_known[i].word);

		if (strncmp(packet, all_known[i].word, nr) == 0) {
			trace_answer(trace, i, packet + nr, reply);
			break;
		}
	}
	return true;
}

static void trace_do_nothing(void *target)
{
	(void)target;
}

static int trace_fd(void *target)
{
	(void)target;
	return -1;
}

static void trace_features(void *target, struct sonde_gdb_reply *reply)
{
	const struct sonde_gdb_trace *trace = target;

	if (trace->auxv.bytes)
		sonde_gdb_reply_text(reply, ";qXfer:auxv:read+");
	if (trace->exe.bytes)
		sonde_gdb_reply_text(reply, ";qXfer:exec-file:read+");
	if (trace->libraries.bytes)
		sonde_gdb_reply_text(reply, ";qXfer:libraries-svr4:read+");
}

static int trace_read(void *target, uint64_t address, uint8_t *to, size_t size)
{
	(void)target;
	(void)address;
	(void)to;
	return size ? -EIO : 0;
}

static struct sonde_process *trace_process(void *target, char *error,
					   size_t error_size)
{
	(void)target;
	(void)snprintf(error, error_size, "%s", no_process);
	return NULL;
}

static pid_t trace_pid(void *target)
{
	(void)target;
	return 0;
}

static void trace_free(void *target)
{
	struct sonde_gdb_trace *trace = target;

	if (!trace)
		return;
	free(trace->auxv.bytes);
	free(trace->exe.bytes);
	free(trace->libraries.bytes);
	free(trace);
}

const struct sonde_gdb_target_ops sonde_gdb_trace_ops = {
	.packet = trace_packet,
	.interrupt = trace_do_nothing,
	.fd = trace_fd,
	.ready = trace_do_nothing,
	.features = trace_features,
	.read = trace_read,
	.process = trace_process,
	.pid = trace_pid,
	.disconnected = trace_do_nothing,
	.free = trace_free,
};

int sonde_gdb_trace_new(const char *directory,
			struct sonde_gdb_trace **ret_trace)
{
	struct sonde_gdb_trace *trace = calloc(1, sizeof(*trace));

	if (!trace)
		return -ENOMEM;
	*ret_trace = trace;
	if (!directory)
		return 0;
	/* What isn't there is not told of: symbols as the files have them. */
	(void)sonde_probe_program_files_load(directory, "auxv", &trace->auxv);
	(void)sonde_probe_program_files_load(directory, "exe", &trace->exe);
	(void)sonde_probe_program_files_load(directory, "libraries",
					     &trace->libraries);
	return 0;
}

void sonde_gdb_trace_serve(struct sonde_gdb_trace *trace,
			   struct sonde_gdb_server *server)
{
	trace->server = server;
}
