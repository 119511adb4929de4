/* SPDX-License-Identifier: MIT */
/*
 * recorded.c - see recorded.h. GDB is told of one thread, which has stopped at
 * the program's first instruction; and of no process, as it would look for that
 * in /proc.
 */
#include "gdb/recorded.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hex.h"
#include "base/port.h"
#include "expr/agent.h"
#include "gdb/registers.h"
#include "probe/image.h"

struct sonde_gdb_recorded {
	struct sonde_probe_kept auxv, exe, libraries;
	struct sonde_gdb_server *server;
};

typedef void answer(struct sonde_gdb_recorded *recorded, const char *rest,
		    struct sonde_gdb_reply *reply);

static const char no_process[] =
	"this is a recorded trace: there is no process";

static void recorded_answer_current(struct sonde_gdb_recorded *recorded,
				    const char *rest,
				    struct sonde_gdb_reply *reply)
{
	(void)recorded;
	if (!*rest)
		sonde_gdb_reply_text(reply, "QC1");
}

/* The program's first instruction; 0. */
static uint64_t recorded_entry_of(const struct sonde_gdb_recorded *recorded)
{
	Elf64_auxv_t entry;

	for (size_t at = 0; at + sizeof(entry) <= recorded->auxv.nr;
	     at += sizeof(entry)) {
		memcpy(&entry, recorded->auxv.bytes + at, sizeof(entry));
		if (entry.a_type == AT_ENTRY)
			return entry.a_un.a_val;
	}
	return 0;
}

static void recorded_reply_register(const struct sonde_gdb_recorded *recorded,
				    unsigned int number,
				    struct sonde_gdb_reply *reply)
{
	unsigned int offset;
	unsigned int size;
	uint64_t entry = recorded_entry_of(recorded);

	if (!sonde_gdb_register_place(number, &offset, &size))
		return;
	if (number == SONDE_AGENT_RIP) {
		sonde_gdb_reply_hex(reply, &entry, size);
		return;
	}
	for (unsigned int i = 0; i < size; i++)
		sonde_gdb_reply_text(reply, "xx");
}

static void answer_registers(struct sonde_gdb_recorded *recorded,
			     const char *rest, struct sonde_gdb_reply *reply)
{
	(void)rest;
	for (unsigned int i = 0; i < SONDE_GDB_NR_REGISTERS; i++)
		recorded_reply_register(recorded, i, reply);
}

static void answer_register(struct sonde_gdb_recorded *recorded,
			    const char *rest, struct sonde_gdb_reply *reply)
{
	uint64_t number;

	if (sonde_hex_take_number(&rest, &number) && !*rest &&
	    number < SONDE_GDB_NR_REGISTERS)
		recorded_reply_register(recorded, (unsigned int)number, reply);
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

static void answer_auxv(struct sonde_gdb_recorded *recorded, const char *rest,
			struct sonde_gdb_reply *reply)
{
	reply_kept(&recorded->auxv, rest, reply);
}

/* "annex:offset,length" */
static const char *behind_annex(const char *rest)
{
	rest = strchr(rest, ':');
	return rest ? rest + 1 : NULL;
}

static void answer_exe(struct sonde_gdb_recorded *recorded, const char *rest,
		       struct sonde_gdb_reply *reply)
{
	reply_kept(&recorded->exe, behind_annex(rest), reply);
}

static void answer_libraries(struct sonde_gdb_recorded *recorded,
			     const char *rest, struct sonde_gdb_reply *reply)
{
	reply_kept(&recorded->libraries, behind_annex(rest), reply);
}

static void recorded_answer_detach(struct sonde_gdb_recorded *recorded,
				   const char *rest,
				   struct sonde_gdb_reply *reply)
{
	(void)rest;
	sonde_gdb_reply_text(reply, "OK");
	if (recorded->server)
		sonde_gdb_server_end(recorded->server, SONDE_GDB_END_DETACHED);
}

static void recorded_answer_monitor(struct sonde_gdb_recorded *recorded,
				    const char *rest,
				    struct sonde_gdb_reply *reply)
{
	(void)rest;
	sonde_gdb_reply_text(reply, "OK");
	if (recorded->server)
		sonde_gdb_server_end(recorded->server, SONDE_GDB_END_KILLED);
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
	{ "qC", recorded_answer_current, NULL },
	{ "qSymbol:", NULL, "OK" },
	{ "qRcmd,65786974", recorded_answer_monitor, NULL }, /* exit */
	{ "qXfer:auxv:read::", answer_auxv, NULL },
	{ "qXfer:exec-file:read:", answer_exe, NULL },
	{ "qXfer:libraries-svr4:read:", answer_libraries, NULL },
	{ "vKill;", recorded_answer_detach, NULL },
	{ "H", NULL, "OK" },
	{ "T", NULL, "OK" },
	{ "D", recorded_answer_detach, NULL },
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

static void recorded_answer(struct sonde_gdb_recorded *recorded, size_t known,
			    const char *rest, struct sonde_gdb_reply *reply)
{
	if (all_known[known].answer)
		all_known[known].answer(recorded, rest, reply);
	else if (all_known[known].text)
		sonde_gdb_reply_text(reply, all_known[known].text);
	else
		sonde_gdb_reply_refuse(reply, no_process);
}

static bool recorded_packet(void *target, const char *packet, size_t length,
			    struct sonde_gdb_reply *reply)
{
	struct sonde_gdb_recorded *recorded = target;

	if (strlen(packet) != length)
		return true;
	if (strcmp(packet, "k") == 0) {
		if (recorded->server)
			sonde_gdb_server_end(recorded->server,
					     SONDE_GDB_END_KILLED);
		return false;
	}
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(all_known); i++) {
		size_t nr = strlen(all_known[i].word);

		if (strncmp(packet, all_known[i].word, nr) == 0) {
			recorded_answer(recorded, i, packet + nr, reply);
			break;
		}
	}
	return true;
}

static void recorded_do_nothing(void *target)
{
	(void)target;
}

static int recorded_fd(void *target)
{
	(void)target;
	return -1;
}

static void recorded_features(void *target, struct sonde_gdb_reply *reply)
{
	const struct sonde_gdb_recorded *recorded = target;

	if (recorded->auxv.bytes)
		sonde_gdb_reply_text(reply, ";qXfer:auxv:read+");
	if (recorded->exe.bytes)
		sonde_gdb_reply_text(reply, ";qXfer:exec-file:read+");
	if (recorded->libraries.bytes)
		sonde_gdb_reply_text(reply, ";qXfer:libraries-svr4:read+");
}

static int recorded_read(void *target, uint64_t address, uint8_t *to,
			 size_t size)
{
	(void)target;
	(void)address;
	(void)to;
	return size ? -EIO : 0;
}

static struct sonde_process *recorded_process(void *target, char *error,
					      size_t error_size)
{
	(void)target;
	(void)snprintf(error, error_size, "%s", no_process);
	return NULL;
}

static pid_t recorded_pid(void *target)
{
	(void)target;
	return 0;
}

static void recorded_free(void *target)
{
	struct sonde_gdb_recorded *recorded = target;

	if (!recorded)
		return;
	free(recorded->auxv.bytes);
	free(recorded->exe.bytes);
	free(recorded->libraries.bytes);
	free(recorded);
}

const struct sonde_gdb_target_ops sonde_gdb_recorded_ops = {
	.packet = recorded_packet,
	.interrupt = recorded_do_nothing,
	.fd = recorded_fd,
	.ready = recorded_do_nothing,
	.features = recorded_features,
	.read = recorded_read,
	.process = recorded_process,
	.pid = recorded_pid,
	.disconnected = recorded_do_nothing,
	.free = recorded_free,
};

int sonde_gdb_recorded_new(const char *directory,
			   struct sonde_gdb_recorded **ret_recorded)
{
	struct sonde_gdb_recorded *recorded = calloc(1, sizeof(*recorded));

	if (!recorded)
		return -ENOMEM;
	*ret_recorded = recorded;
	if (!directory)
		return 0;
	/* What isn't there is not told of: symbols as the files have them. */
	(void)sonde_probe_image_load(directory, "auxv", &recorded->auxv);
	(void)sonde_probe_image_load(directory, "exe", &recorded->exe);
	(void)sonde_probe_image_load(directory, "libraries",
				     &recorded->libraries);
	return 0;
}

void sonde_gdb_recorded_serve(struct sonde_gdb_recorded *recorded,
			      struct sonde_gdb_server *server)
{
	recorded->server = server;
}
