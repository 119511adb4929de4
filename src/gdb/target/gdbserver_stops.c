/* SPDX-License-Identifier: MIT */
/*
 * gdbserver_stops.c - what gdbserver says of stopped threads, and how they go on.
 *
 * A stop is GDB's, or one of ours:
 *
 *	int3 of a breakpoint's probe	the thread is put back to the address,
 *					GDB is told of a breakpoint there
 *	int3 of a window		the thread goes on in the pad
 *	int3 of the agent's		while-stepping: the thread is stepped,
 *					the agent called after each step
 *	bad memory in a pad, or in	the signal is delivered: the agent's
 *	the agent			handler knows what to do
 *	a step that ended in a pad	the thread runs up to the displaced code
 *					and steps to the end of an instruction
 *
 * In all-stop mode a vCont has one stop reply; if that stop is ours, the same
 * vCont is sent again. In non-stop mode gdbserver's notifications are taken at
 * once and what is left of them queues for GDB.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hex.h"
#include "base/port.h"
#include "gdb/server_parts.h"
#include "gdb/target/gdbserver_parts.h"

enum {
	/* Steps in a pad before we take it for a mistake of ours. */
	PAD_STEPS_MAX = 64,
	PC_DIGITS = 16,
};

/* What a vCont has a thread do. */
struct order {
	char kind; /* c C s S r t; 0: nothing */
	uint64_t start, end;
};

/* ---- texts ---- */

static void write_pc(char *digits, uint64_t pc)
{
	char text[PC_DIGITS + 1];

	snprintf(text, sizeof(text), "%016llx",
		 (unsigned long long)__builtin_bswap64(pc));
	memcpy(digits, text, PC_DIGITS);
}

static void show_pc(const struct sonde_gdb_stop_reply *stop,
		    struct sonde_gdb_reply *reply, uint64_t pc)
{
	write_pc(reply->bytes + stop->pc_at, pc);
}

/* "swbreak:;" goes: it was ours. */
static void drop_reason(struct sonde_gdb_reply *reply)
{
	static const char reason[] = "swbreak:;";
	char *at = strstr(reply->bytes, reason);

	if (!at)
		return;
	reply->length -= strlen(reason);
	memmove(at, at + strlen(reason), strlen(at + strlen(reason)) + 1);
}

/* Whether an action's ":pPID.TID" means this thread; none means all. */
static bool stops_is_meant(const char *whom, size_t length, const char *thread)
{
	const char *dot = strchr(thread, '.');

	if (length == 0 || (length == 2 && memcmp(whom, "-1", 2) == 0))
		return true;
	if (strlen(thread) == length && memcmp(whom, thread, length) == 0)
		return true;
	/* pPID.-1 */
	return dot && length == (size_t)(dot - thread) + 3 &&
	       memcmp(whom, thread, length - 2) == 0 &&
	       memcmp(whom + length - 2, "-1", 2) == 0;
}

/* The first action of a vCont that means the thread. */
static struct order find_order(const char *resume, const char *thread)
{
	struct order order = { 0 };
	const char *at = strchr(resume, ';');

	while (at) {
		size_t length = strcspn(++at, ";");
		const char *colon = memchr(at, ':', length);
		size_t named = colon ? (size_t)(at + length - colon - 1) : 0;

		if (stops_is_meant(colon ? colon + 1 : at, named, thread)) {
			const char *range = at + 1;

			order.kind = at[0];
			if (order.kind == 'r' &&
			    (!sonde_hex_take_pair(&range, &order.start, ',',
						  &order.end)))
				order.kind = 's';
			return order;
		}
		at = strchr(at, ';');
	}
	return order;
}

/* ---- places ---- */

static bool is_in_agent(const struct sonde_gdb_gdbserver *gdbserver,
			uint64_t pc)
{
	const struct sonde_agent_image *image =
		gdbserver->process ? sonde_process_image(gdbserver->process) :
				     NULL;

	return image && pc >= image->start && pc < image->end;
}

/* Where an int3 of a window leads; 0: there is none of ours. */
static uint64_t trap_at(const struct sonde_gdb_gdbserver *gdbserver,
			uint64_t pc)
{
	const struct sonde_agent *agent =
		gdbserver->process ? sonde_process_agent(gdbserver->process) :
				     NULL;
	uint32_t i = sonde_agent_hash(pc, SONDE_AGENT_TRAPS_MAX);

	for (uint32_t n = 0; agent && n < SONDE_AGENT_TRAPS_MAX; n++) {
		/* Pairs with the release by which patch.c publishes a trap:
		 * the entry is whole. */
		uint64_t address = sonde_load_acquire(&agent->traps[i].address);

		if (address == pc)
			return sonde_load_relaxed(&agent->traps[i].to);
		if (address == 0)
			return 0;
		i = (i + 1) & (SONDE_AGENT_TRAPS_MAX - 1);
	}
	return 0;
}

/* ---- going on ---- */

/*
 * What gdbserver is sent of a vCont: "rSTART,END" is a step at a time if there
 * are probes, since for as long as it stays in the range it would come upon the
 * same int3 of a window for ever. is_step_over() knows when it is over.
 */
static size_t plain_steps(const struct sonde_gdb_gdbserver *gdbserver,
			  const char *packet, char *to, size_t size)
{
	const bool plain = sonde_gdb_gdbserver_probes(gdbserver);
	size_t nr = 0;

	while (*packet && nr + 1 < size) {
		bool is_range = plain && packet[0] == ';' && packet[1] == 'r';

		to[nr++] = *packet++;
		if (is_range && nr + 1 < size) {
			to[nr++] = 's';
			packet += strcspn(packet, ":;");
		}
	}
	to[nr] = '\0';
	return nr;
}

/* As GDB wanted it, but for one thread, that gets `first` ("C0b"). */
static void go_on(struct sonde_gdb_gdbserver *gdbserver, const char *thread,
		  const char *first)
{
	struct order order = find_order(gdbserver->resume, thread);
	char resume[sizeof(gdbserver->resume)];
	char packet[sizeof(resume) + 64];
	const char *rest;

	if (gdbserver->non_stop) {
		char kind[2] = { order.kind && strchr("sSr", order.kind) ? 's' :
									   'c',
				 '\0' };

		(void)sonde_gdb_gdbserver_ask(gdbserver, "vCont;%s:%s",
					      first ? first : kind, thread);
		return;
	}
	(void)plain_steps(gdbserver, gdbserver->resume, resume, sizeof(resume));
	rest = strchr(resume, ';');
	if (first)
		snprintf(packet, sizeof(packet), "vCont;%s:%s%s", first, thread,
			 rest ? rest : ";c");
	else
		snprintf(packet, sizeof(packet), "%s", resume);
	if (sonde_gdb_connection_send(gdbserver->up, packet, strlen(packet)) !=
	    0)
		gdbserver->gone = true;
	gdbserver->running = !gdbserver->gone;
}

/* ---- steps of the agent's ---- */

/* The agent's stepper of the thread; NULL: it isn't stepped. */
static struct sonde_agent_stepper *
find_stepper(const struct sonde_gdb_gdbserver *gdbserver, const char *thread)
{
	struct sonde_agent *agent = sonde_process_agent(gdbserver->process);
	const char *at = strchr(thread, '.');
	uint64_t tid;

	if (!at++ || !sonde_hex_take_number(&at, &tid) || tid == 0)
		return NULL;
	for (uint32_t i = 0; i < SONDE_AGENT_STEPPERS_MAX; i++)
		if (sonde_load_relaxed(&agent->steppers[i].tid) == tid)
			return &agent->steppers[i];
	return NULL;
}

/* The thread does something else now. */
static void drop_steps(const struct sonde_gdb_gdbserver *gdbserver,
		       const char *thread)
{
	struct sonde_agent_stepper *stepper;

	while ((stepper = find_stepper(gdbserver, thread)))
		/* Pairs with the compare-and-swap in take_stepper
		 * (agent/step.c). */
		sonde_store_release(&stepper->tid, 0);
}

/* Whether a thread stands at the int3 by which the agent asks for steps: the
 * only one in it that is come upon unasked. */
static bool is_ask(const struct sonde_gdb_gdbserver *gdbserver,
		   const struct sonde_gdb_stop_reply *stop,
		   const struct sonde_gdb_reply *reply)
{
	return stop->signal == SIGTRAP && is_in_agent(gdbserver, stop->pc) &&
	       strstr(reply->bytes, "swbreak");
}

/* ---- steps through pads ---- */

/* Signals by which a pad's or the agent's own bad accesses are told. */
static bool is_fault(unsigned int signal)
{
	return signal == SIGSEGV || signal == SIGBUS;
}

/* Runs the thread up to the displaced code; 0: it is there. Its stop is in
 * gdbserver->scratch. */
static int stops_run_to(struct sonde_gdb_gdbserver *gdbserver,
			const char *thread, uint64_t address)
{
	struct sonde_gdb_reply *reply = &gdbserver->scratch;
	struct sonde_probes *probes = gdbserver->server->probes;
	struct sonde_gdb_stop_reply stop = { 0 };
	uint8_t byte = SONDE_GDB_INT3;
	char how[8] = "c";
	int rc = sonde_probes_swap_byte(probes, address, &byte);
	bool swapped = rc == 0;

	while (rc == 0) {
		rc = sonde_gdb_gdbserver_run_thread(gdbserver, thread, how);
		if (rc != 0 ||
		    !sonde_gdb_gdbserver_parse_stop(reply->bytes, &stop))
			break;
		if (is_ask(gdbserver, &stop, reply)) {
			/* an int3 of the agent's: the steps are behind it, and
			 * are done only if we are at steps already */
			if (!gdbserver->driving)
				drop_steps(gdbserver, stop.thread);
			rc = sonde_gdb_gdbserver_set_pc(gdbserver, stop.thread,
							stop.pc + 1);
			snprintf(how, sizeof(how), "c");
			continue;
		}
		if (!is_fault(stop.signal) ||
		    (!is_in_agent(gdbserver, stop.pc) &&
		     sonde_gdb_gdbserver_shown_pc(gdbserver, stop.pc) ==
			     stop.pc))
			break;
		snprintf(how, sizeof(how), "C%02x", stop.signal);
	}
	if (swapped)
		(void)sonde_probes_swap_byte(probes, address, &byte);
	if (rc == 0 && stop.pc != address)
		rc = -EINTR;
	return rc;
}

/*
 * A step has ended at `pc`, in a pad or in the agent: on to where the next of
 * the program's instructions begins. The last stop is in *reply, with its pc
 * as the program's.
 */
static void finish_step(struct sonde_gdb_gdbserver *gdbserver,
			const char *thread, uint64_t pc,
			struct sonde_gdb_reply *reply)
{
	const struct sonde_probes *probes =
		sonde_gdb_gdbserver_probes(gdbserver);
	uint64_t copies = 0;
	struct sonde_gdb_stop_reply stop;
	int rc = 0;

	for (int i = 0; rc == 0 && i < PAD_STEPS_MAX; i++) {
		uint64_t address;
		uint64_t its_copies;
		bool exact = false;
		bool in_pad = sonde_probes_in_pad(probes, pc, &address, &exact,
						  &its_copies);

		if (in_pad)
			copies = its_copies;
		if (!in_pad && (!is_in_agent(gdbserver, pc) || copies == 0))
			break;
		if (exact)
			break;
		if (!in_pad || pc < copies)
			rc = stops_run_to(gdbserver, thread, copies);
		else
			rc = sonde_gdb_gdbserver_run_thread(gdbserver, thread,
							    "s");
		sonde_gdb_reply_clear(reply);
		sonde_gdb_reply_bytes(reply, gdbserver->scratch.bytes,
				      gdbserver->scratch.length);
		if (!sonde_gdb_gdbserver_parse_stop(reply->bytes, &stop) ||
		    stop.signal != SIGTRAP)
			break;
		pc = stop.pc;
	}
	if (rc == 0)
		drop_reason(reply);
	if (sonde_gdb_gdbserver_parse_stop(reply->bytes, &stop) && stop.has_pc)
		show_pc(&stop, reply,
			sonde_gdb_gdbserver_shown_pc(gdbserver, stop.pc));
}

/* ---- stops ---- */

/* The end of the process, or of the program in it. */
static bool stops_has_ended(struct sonde_gdb_gdbserver *gdbserver,
			    const char *text)
{
	const char *process = strstr(text, "process:");
	uint64_t pid = (uint64_t)gdbserver->pid;

	if (text[0] == 'W' || text[0] == 'X') {
		process += process ? strlen("process:") : 0;
		if (process && !sonde_hex_take_number(&process, &pid))
			return true;
		if (pid != (uint64_t)gdbserver->pid)
			return true;
		sonde_gdb_server_process_ended(gdbserver->server);
		sonde_gdb_gdbserver_forget(gdbserver);
		return true;
	}
	if (strstr(text, "exec:")) {
		pid_t same = gdbserver->pid;

		sonde_gdb_server_forget(gdbserver->server);
		sonde_gdb_gdbserver_forget(gdbserver);
		gdbserver->pid = same;
	}
	return false;
}

/* Whether a step is over, having got to the pc in the reply. */
static bool is_step_over(struct sonde_gdb_gdbserver *gdbserver,
			 const struct order *order,
			 const struct sonde_gdb_reply *reply)
{
	struct sonde_gdb_stop_reply stop;

	if (order->kind != 'r' ||
	    !sonde_gdb_gdbserver_parse_stop(reply->bytes, &stop) ||
	    stop.signal != SIGTRAP)
		return true;
	return stop.pc < order->start || stop.pc >= order->end ||
	       sonde_gdb_gdbserver_break_at(gdbserver, stop.pc);
}

/* Whether gdbserver knows what the trap is for. */
static bool is_explained(const char *text)
{
	return strstr(text, "swbreak") || strstr(text, "hwbreak") ||
	       strstr(text, "watch:") || strstr(text, "fork:") ||
	       strstr(text, "create:");
}

/* Of the instruction that the thread's stepper belongs to, behind its probes:
 * where its copy runs; 0. */
static uint64_t copy_of_stepped(const struct sonde_gdb_gdbserver *gdbserver,
				const char *thread)
{
	const struct sonde_probes *probes =
		sonde_gdb_gdbserver_probes(gdbserver);
	const struct sonde_agent *agent =
		sonde_process_agent(gdbserver->process);
	const struct sonde_agent_stepper *stepper =
		find_stepper(gdbserver, thread);
	uint32_t probe = stepper ? sonde_load_relaxed(&stepper->probe) :
				   SONDE_AGENT_PROBES_MAX;
	uint64_t address;
	uint64_t copy;
	uint64_t go_on = 0;
	bool exact;

	if (probe >= SONDE_AGENT_PROBES_MAX)
		return 0;
	address = agent->probes[probe].address;
	copy = sonde_probes_copy_of(probes, address);
	if (copy &&
	    !sonde_probes_in_pad(probes, copy, &address, &exact, &go_on))
		return 0;
	return go_on;
}

/* One instruction of the program's, and the agent is told. 0; -EINTR: it came
 * to something else, which *reply says. */
static int drive_step(struct sonde_gdb_gdbserver *gdbserver, const char *thread,
		      struct sonde_gdb_reply *reply)
{
	const struct sonde_probes *probes =
		sonde_gdb_gdbserver_probes(gdbserver);
	struct sonde_gdb_stop_reply stop;
	uint64_t ignored;
	bool exact;
	int rc = sonde_gdb_gdbserver_run_thread(gdbserver, thread, "s");

	if (rc != 0)
		return rc;
	sonde_gdb_reply_clear(reply);
	sonde_gdb_reply_bytes(reply, gdbserver->scratch.bytes,
			      gdbserver->scratch.length);
	if (!sonde_gdb_gdbserver_parse_stop(reply->bytes, &stop) ||
	    stop.signal != SIGTRAP)
		return -EINTR;
	if (is_explained(reply->bytes)) {
		uint64_t to = trap_at(gdbserver, stop.pc);

		if (!to || sonde_gdb_gdbserver_break_at(gdbserver, stop.pc))
			return -EINTR;
		(void)sonde_gdb_gdbserver_set_pc(gdbserver, thread, to);
		stop.pc = to;
	}
	if (is_in_agent(gdbserver, stop.pc) ||
	    sonde_probes_in_pad(probes, stop.pc, &ignored, &exact, &ignored)) {
		finish_step(gdbserver, thread, stop.pc, reply);
		if (!sonde_gdb_gdbserver_parse_stop(reply->bytes, &stop) ||
		    stop.signal != SIGTRAP)
			return -EINTR;
	}
	return sonde_gdb_gdbserver_tell_step(gdbserver, thread);
}

/* NOLINTBEGIN(misc-no-recursion): each needs another stop of the program */

/* While-stepping, of a thread at is_ask(). True: it came to something else,
 * which is in *reply; false: it goes on. */
static bool drive_steps(struct sonde_gdb_gdbserver *gdbserver,
			const struct sonde_gdb_stop_reply *stop,
			struct sonde_gdb_reply *reply)
{
	uint64_t copy = copy_of_stepped(gdbserver, stop->thread);
	int rc;

	gdbserver->driving = true;
	rc = sonde_gdb_gdbserver_set_pc(gdbserver, stop->thread, stop->pc + 1);
	if (rc == 0 && copy)
		rc = stops_run_to(gdbserver, stop->thread, copy);
	if (rc == -EINTR) {
		sonde_gdb_reply_clear(reply);
		sonde_gdb_reply_bytes(reply, gdbserver->scratch.bytes,
				      gdbserver->scratch.length);
	}
	while (rc == 0 && copy && find_stepper(gdbserver, stop->thread))
		rc = drive_step(gdbserver, stop->thread, reply);
	gdbserver->driving = false;
	if (rc != 0 || !copy)
		drop_steps(gdbserver, stop->thread);
	if (rc == -EINTR)
		return true;
	go_on(gdbserver, stop->thread, NULL);
	return false;
}

/* A SIGTRAP at an int3 or step of ours. True: GDB is to be told. */
static bool trapped(struct sonde_gdb_gdbserver *gdbserver,
		    const struct sonde_gdb_stop_reply *stop,
		    struct sonde_gdb_reply *reply)
{
	const struct sonde_probes *probes =
		sonde_gdb_gdbserver_probes(gdbserver);
	struct order order = find_order(gdbserver->resume, stop->thread);
	bool steps =
		order.kind == 's' || order.kind == 'S' || order.kind == 'r';
	uint64_t pc = stop->pc;
	uint64_t address;
	uint64_t copies;
	bool exact;

	if (sonde_probes_broke(probes, pc + 1, &address, &copies) == 0) {
		show_pc(stop, reply, address);
		(void)sonde_gdb_gdbserver_set_pc(gdbserver, stop->thread,
						 address);
		return true;
	}
	if (strstr(reply->bytes, "swbreak") && trap_at(gdbserver, pc) != 0 &&
	    !sonde_gdb_gdbserver_break_at(gdbserver, pc)) {
		pc = trap_at(gdbserver, pc);
		(void)sonde_gdb_gdbserver_set_pc(gdbserver, stop->thread, pc);
		if (!steps) {
			go_on(gdbserver, stop->thread, NULL);
			return false;
		}
	}
	if (!steps ||
	    (!is_in_agent(gdbserver, pc) &&
	     !sonde_probes_in_pad(probes, pc, &address, &exact, &copies))) {
		show_pc(stop, reply,
			sonde_gdb_gdbserver_shown_pc(gdbserver, pc));
		if (!steps || is_explained(reply->bytes))
			return true;
	} else {
		finish_step(gdbserver, stop->thread, pc, reply);
	}
	if (is_step_over(gdbserver, &order, reply))
		return true;
	go_on(gdbserver, stop->thread, NULL);
	return false;
}

/* True: GDB is to be told. */
static bool act_on(struct sonde_gdb_gdbserver *gdbserver,
		   struct sonde_gdb_reply *reply)
{
	const struct sonde_probes *probes;
	struct sonde_gdb_stop_reply stop;
	bool in_ours;

	if (stops_has_ended(gdbserver, reply->bytes))
		return true;
	probes = sonde_gdb_gdbserver_probes(gdbserver);
	if (!probes || !sonde_gdb_gdbserver_parse_stop(reply->bytes, &stop) ||
	    !stop.has_pc)
		return true;
	if (stop.signal == SIGTRAP)
		return trapped(gdbserver, &stop, reply);
	in_ours = is_in_agent(gdbserver, stop.pc) ||
		  sonde_gdb_gdbserver_shown_pc(gdbserver, stop.pc) != stop.pc;
	if (in_ours && is_fault(stop.signal)) {
		char how[8];

		snprintf(how, sizeof(how), "C%02x", stop.signal);
		go_on(gdbserver, stop.thread, how);
		return false;
	}
	show_pc(&stop, reply, sonde_gdb_gdbserver_shown_pc(gdbserver, stop.pc));
	return true;
}

/* NOLINTEND(misc-no-recursion) */

bool sonde_gdb_gdbserver_stopped(struct sonde_gdb_gdbserver *gdbserver,
				 struct sonde_gdb_reply *reply)
{
	struct sonde_gdb_stop_reply stop;

	gdbserver->running = false;
	if (sonde_gdb_gdbserver_parse_stop(reply->bytes, &stop) &&
	    is_ask(gdbserver, &stop, reply) &&
	    !drive_steps(gdbserver, &stop, reply))
		return false;
	return act_on(gdbserver, reply);
}

bool sonde_gdb_gdbserver_resume(struct sonde_gdb_gdbserver *gdbserver,
				const char *packet, size_t length,
				struct sonde_gdb_reply *reply)
{
	char plain[sizeof(gdbserver->resume)];

	if (gdbserver->process)
		(void)sonde_process_keep_signals(gdbserver->process);
	if (length < sizeof(gdbserver->resume)) {
		memcpy(gdbserver->resume, packet, length + 1);
		length = plain_steps(gdbserver, packet, plain, sizeof(plain));
		packet = plain;
	}
	if (gdbserver->non_stop) {
		sonde_gdb_gdbserver_pass(gdbserver, packet, length, reply);
		return true;
	}
	if (gdbserver->gone ||
	    sonde_gdb_connection_send(gdbserver->up, packet, length) != 0) {
		sonde_gdb_reply_error(reply, 1);
		return true;
	}
	gdbserver->running = true;
	return false;
}

/* ---- telling GDB ---- */

static void notify(struct sonde_gdb_gdbserver *gdbserver)
{
	struct sonde_gdb_untold *first = gdbserver->untold;
	struct sonde_gdb_reply *text = &gdbserver->scratch;

	if (gdbserver->notified || !first)
		return;
	sonde_gdb_reply_clear(text);
	sonde_gdb_reply_format(text, "Stop:%s", first->text);
	gdbserver->untold = first->next;
	gdbserver->notified = true;
	free(first);
	sonde_gdb_server_notify(gdbserver->server, text->bytes, text->length);
}

void sonde_gdb_gdbserver_next_stop(struct sonde_gdb_gdbserver *gdbserver,
				   struct sonde_gdb_reply *reply)
{
	struct sonde_gdb_untold *first = gdbserver->untold;

	if (!first) {
		gdbserver->notified = false;
		sonde_gdb_reply_text(reply, "OK");
		return;
	}
	sonde_gdb_reply_text(reply, first->text);
	gdbserver->untold = first->next;
	free(first);
}

static void show_stop(struct sonde_gdb_gdbserver *gdbserver,
		      struct sonde_gdb_reply *reply)
{
	struct sonde_gdb_stop_reply stop;

	if (sonde_gdb_gdbserver_parse_stop(reply->bytes, &stop) && stop.has_pc)
		show_pc(&stop, reply,
			sonde_gdb_gdbserver_shown_pc(gdbserver, stop.pc));
}

/* Takes all stops that gdbserver has, from the one in *stop on. New ones are
 * acted upon. */
static void take_stops(struct sonde_gdb_gdbserver *gdbserver,
		       struct sonde_gdb_reply *stop, bool are_new)
{
	for (;;) {
		bool tell = true;

		if (are_new)
			tell = sonde_gdb_gdbserver_stopped(gdbserver, stop);
		else
			show_stop(gdbserver, stop);
		if (tell)
			sonde_gdb_gdbserver_enqueue(gdbserver, stop->bytes);
		sonde_gdb_gdbserver_pass(gdbserver, "vStopped",
					 strlen("vStopped"), stop);
		if (gdbserver->gone || strcmp(stop->bytes, "OK") == 0 ||
		    stop->bytes[0] == 'E')
			return;
	}
}

void sonde_gdb_gdbserver_tell_stop(struct sonde_gdb_gdbserver *gdbserver,
				   struct sonde_gdb_reply *reply)
{
	if (!gdbserver->non_stop) {
		show_stop(gdbserver, reply);
		return;
	}
	take_stops(gdbserver, reply, false);
	sonde_gdb_reply_clear(reply);
	sonde_gdb_gdbserver_next_stop(gdbserver, reply);
	gdbserver->notified = true;
}

/* The stop in "Stop:T05...". */
static void cut_word(struct sonde_gdb_reply *reply)
{
	size_t word = strcspn(reply->bytes, ":");

	word += word < reply->length;
	reply->length -= word;
	memmove(reply->bytes, reply->bytes + word, reply->length + 1);
}

void sonde_gdb_gdbserver_hear(struct sonde_gdb_gdbserver *gdbserver)
{
	static struct sonde_gdb_reply reply;
	bool notification;
	int rc;

	while ((rc = sonde_gdb_connection_hear(gdbserver->up, false, &reply,
					       &notification)) == 1) {
		bool ends = reply.bytes[0] == 'W' || reply.bytes[0] == 'X';

		if (notification) {
			cut_word(&reply);
			take_stops(gdbserver, &reply, true);
			notify(gdbserver);
			continue;
		}
		if (sonde_gdb_gdbserver_stopped(gdbserver, &reply))
			sonde_gdb_server_send(gdbserver->server, &reply);
		if (ends && !gdbserver->multi)
			sonde_gdb_server_end(gdbserver->server,
					     SONDE_GDB_END_EXITED);
	}
	if (rc < 0) {
		gdbserver->gone = true;
		sonde_gdb_server_end(gdbserver->server, SONDE_GDB_END_EXITED);
	}
}

void sonde_gdb_gdbserver_forget(struct sonde_gdb_gdbserver *gdbserver)
{
	sonde_gdb_gdbserver_forget_breaks(gdbserver);
	if (gdbserver->process)
		sonde_store_relaxed(
			&sonde_process_agent(gdbserver->process)->is_driven, 0);
	sonde_process_close(gdbserver->process);
	gdbserver->process = NULL;
	gdbserver->pid = 0;
	while (gdbserver->untold) {
		struct sonde_gdb_untold *next = gdbserver->untold->next;

		free(gdbserver->untold);
		gdbserver->untold = next;
	}
}
