/* SPDX-License-Identifier: MIT */
/*
 * gdbserver_registers.c - registers of a thread under gdbserver.
 *
 * Without a target description, gdbserver's 'g' packet is
 *
 *	rax .. r15, rip			8 bytes each, in GDB's order
 *	eflags cs ss ds es fs gs	4 each
 *	st0 .. st7			10 each
 *	fctrl .. fop			4 each
 *	xmm0 .. xmm15, mxcsr		16 each, 4
 *	orig_rax fs_base gs_base	8 each
 *
 * Ours (registers.h) has the last ones at other places, and no xmm. What GDB
 * writes is put over what the thread has, so nothing else is changed.
 *
 * rip is shown as the program's own: a thread in a pad stands at what the pad
 * is for. If that is what GDB writes back, the thread stays where it is.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/user.h>

#include "base/hex.h"
#include "base/port.h"
#include "gdb/registers.h"
#include "gdb/target/gdbserver_parts.h"

enum {
	THEIR_BYTES = 560,
	RIP_AT = 128,
	EFLAGS_AT = 136,
	RSI_AT = 32,
	RSP_AT = 56,
	TRAP_FLAG = 0x100,
	PLAIN_FLAGS = 0x202, /* IF, and the bit that is always set */
	RED_ZONE = 128,
	STACK_ALIGN = 16,
	/* Up to gs, both are the same. */
	COMMON_BYTES = 164,
	THEIR_ST_AT = 164,
	THEIR_ORIG_RAX_AT = 536,
	THEIR_BASES_AT = 544,
	OUR_BASES_AT = 164,
	BASES_BYTES = 16,
	OUR_ST_AT = 180,
	ST_BYTES = 112, /* with fctrl .. fop */
	OUR_ORIG_RAX_AT = 292,
	ORIG_RAX_BYTES = 8,
};

/* Pieces that stand together in both. */
static const struct {
	uint16_t ours, theirs, nr;
} pieces[] = {
	{ 0, 0, COMMON_BYTES },
	{ OUR_BASES_AT, THEIR_BASES_AT, BASES_BYTES },
	{ OUR_ST_AT, THEIR_ST_AT, ST_BYTES },
	{ OUR_ORIG_RAX_AT, THEIR_ORIG_RAX_AT, ORIG_RAX_BYTES },
};

/* A register: its place in 'g', and in struct user_regs_struct. */
#define FULL(name, number)                                               \
	{                                                                \
		(number) * 8, offsetof(struct user_regs_struct, name), 8 \
	}
#define HALF(name, number)                                                   \
	{                                                                    \
		136 + (number)*4, offsetof(struct user_regs_struct, name), 4 \
	}
static const struct {
	uint16_t theirs, users, nr;
} users_registers[] = {
	FULL(rax, 0),       FULL(rbx, 1),      FULL(rcx, 2),      FULL(rdx, 3),
	FULL(rsi, 4),       FULL(rdi, 5),      FULL(rbp, 6),      FULL(rsp, 7),
	FULL(r8, 8),        FULL(r9, 9),       FULL(r10, 10),     FULL(r11, 11),
	FULL(r12, 12),      FULL(r13, 13),     FULL(r14, 14),     FULL(r15, 15),
	FULL(rip, 16),      HALF(eflags, 0),   HALF(cs, 1),       HALF(ss, 2),
	HALF(ds, 3),        HALF(es, 4),       HALF(fs, 5),       HALF(gs, 6),
	FULL(orig_rax, 67), FULL(fs_base, 68), FULL(gs_base, 69),
};
_Static_assert(67 * 8 == THEIR_ORIG_RAX_AT, "orig_rax");

/* ---- gdbserver's ---- */

/* Reads the registers of the thread that Hg has selected. */
static int get_theirs(struct sonde_gdb_gdbserver *gdbserver,
		      uint8_t bytes[THEIR_BYTES])
{
	struct sonde_gdb_reply *reply = &gdbserver->scratch;
	const char *at = reply->bytes;
	int rc = sonde_gdb_gdbserver_ask(gdbserver, "g");

	if (rc != 0)
		return rc;
	memset(bytes, 0, THEIR_BYTES);
	if (reply->length != 2 * (size_t)THEIR_BYTES)
		return -EIO;
	for (size_t i = 0; i < THEIR_BYTES; i++)
		if (*at == 'x') /* unavailable */
			at += 2;
		else if (!sonde_hex_take_bytes(&at, bytes + i, 1))
			return -EIO;
	return 0;
}

static int set_theirs(struct sonde_gdb_gdbserver *gdbserver,
		      const uint8_t bytes[THEIR_BYTES])
{
	struct sonde_gdb_reply *reply = &gdbserver->scratch;
	struct sonde_gdb_reply packet;

	sonde_gdb_reply_clear(&packet);
	sonde_gdb_reply_text(&packet, "G");
	sonde_gdb_reply_hex(&packet, bytes, THEIR_BYTES);
	sonde_gdb_gdbserver_pass(gdbserver, packet.bytes, packet.length, reply);
	return strcmp(reply->bytes, "OK") == 0 ? 0 : -EIO;
}

static uint64_t get_rip(const uint8_t bytes[THEIR_BYTES])
{
	uint64_t pc;

	memcpy(&pc, bytes + RIP_AT, sizeof(pc));
	return pc;
}

static void set_rip(uint8_t bytes[THEIR_BYTES], uint64_t pc)
{
	memcpy(bytes + RIP_AT, &pc, sizeof(pc));
}

/* ---- GDB's ---- */

static void show(struct sonde_gdb_gdbserver *gdbserver,
		 uint8_t theirs[THEIR_BYTES], struct sonde_gdb_reply *reply)
{
	uint8_t ours[SONDE_GDB_G_BYTES] = { 0 };

	set_rip(theirs,
		sonde_gdb_gdbserver_shown_pc(gdbserver, get_rip(theirs)));
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(pieces); i++)
		memcpy(ours + pieces[i].ours, theirs + pieces[i].theirs,
		       pieces[i].nr);
	sonde_gdb_reply_hex(reply, ours, sizeof(ours));
}

static int change(struct sonde_gdb_gdbserver *gdbserver, const char *hex,
		  uint8_t theirs[THEIR_BYTES])
{
	uint8_t ours[SONDE_GDB_G_BYTES];
	uint64_t pc = get_rip(theirs);

	if (!sonde_hex_take_bytes(&hex, ours, sizeof(ours)) || *hex)
		return -EINVAL;
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(pieces); i++)
		memcpy(theirs + pieces[i].theirs, ours + pieces[i].ours,
		       pieces[i].nr);
	if (get_rip(theirs) == sonde_gdb_gdbserver_shown_pc(gdbserver, pc))
		set_rip(theirs, pc);
	return set_theirs(gdbserver, theirs);
}

void sonde_gdb_gdbserver_registers(struct sonde_gdb_gdbserver *gdbserver,
				   const char *packet,
				   struct sonde_gdb_reply *reply)
{
	uint8_t theirs[THEIR_BYTES];
	int rc = get_theirs(gdbserver, theirs);

	if (rc == 0 && packet[0] == 'G')
		rc = change(gdbserver, packet + 1, theirs);
	if (rc != 0)
		sonde_gdb_reply_error(reply, 1);
	else if (packet[0] == 'G')
		sonde_gdb_reply_text(reply, "OK");
	else
		show(gdbserver, theirs, reply);
}

/* ---- for ourselves ---- */

static int select_thread(struct sonde_gdb_gdbserver *gdbserver,
			 const char *thread)
{
	return sonde_gdb_gdbserver_ask(gdbserver, "Hg%s", thread);
}

static void select_again(struct sonde_gdb_gdbserver *gdbserver)
{
	if (gdbserver->general[0])
		(void)sonde_gdb_gdbserver_ask(gdbserver, "%s",
					      gdbserver->general);
}

int sonde_gdb_gdbserver_set_pc(struct sonde_gdb_gdbserver *gdbserver,
			       const char *thread, uint64_t pc)
{
	uint8_t theirs[THEIR_BYTES];
	int rc = select_thread(gdbserver, thread);

	if (rc == 0)
		rc = get_theirs(gdbserver, theirs);
	if (rc == 0) {
		set_rip(theirs, pc);
		rc = set_theirs(gdbserver, theirs);
	}
	select_again(gdbserver);
	return rc;
}

/* What the agent takes for a thread's registers, and where it is put. */
struct told {
	struct sonde_agent_registers registers;
	uint64_t at;
};

static void set_told(struct told *told, const uint8_t theirs[THEIR_BYTES])
{
	uint32_t flags;
	uint64_t rsp;

	memset(told, 0, sizeof(*told));
	memcpy(told->registers.r, theirs, RIP_AT + sizeof(uint64_t));
	memcpy(&flags, theirs + EFLAGS_AT, sizeof(flags));
	told->registers.r[SONDE_AGENT_EFLAGS] = flags & ~(uint32_t)TRAP_FLAG;
	rsp = told->registers.r[SONDE_AGENT_RSP];
	told->at = (rsp - RED_ZONE - sizeof(told->registers)) &
		   ~(uint64_t)(STACK_ALIGN - 1);
}

/* Sets the registers with which the thread calls the agent's function. */
static void gdbserver_registers_set_call(uint8_t theirs[THEIR_BYTES],
					 const struct told *told,
					 uint64_t function)
{
	const uint32_t flags = PLAIN_FLAGS;
	const uint64_t no_call = UINT64_MAX;

	memcpy(theirs + RSI_AT, &told->at, sizeof(told->at));
	memcpy(theirs + RSP_AT, &told->at, sizeof(told->at));
	memcpy(theirs + EFLAGS_AT, &flags, sizeof(flags));
	memcpy(theirs + THEIR_ORIG_RAX_AT, &no_call, sizeof(no_call));
	set_rip(theirs, function);
}

/* Lets the call run to the int3 at its end. A signal that comes is delivered at
 * once. */
static int run_call(struct sonde_gdb_gdbserver *gdbserver, const char *thread)
{
	const char *at = gdbserver->scratch.bytes + 1;
	char how[8] = "c";
	uint8_t signal;

	for (;;) {
		int rc = sonde_gdb_gdbserver_run_thread(gdbserver, thread, how);

		if (rc != 0)
			return rc;
		if (gdbserver->scratch.bytes[0] != 'T' ||
		    !sonde_hex_take_bytes(&at, &signal, 1))
			return -ESRCH;
		if (signal == SIGTRAP)
			return 0;
		snprintf(how, sizeof(how), "C%02x", signal);
		at = gdbserver->scratch.bytes + 1;
	}
}

int sonde_gdb_gdbserver_tell_step(struct sonde_gdb_gdbserver *gdbserver,
				  const char *thread)
{
	const struct sonde_agent_image *image =
		sonde_process_image(gdbserver->process);
	uint8_t theirs[THEIR_BYTES];
	uint8_t call[THEIR_BYTES];
	struct told told;
	int rc = select_thread(gdbserver, thread);

	if (rc == 0)
		rc = get_theirs(gdbserver, theirs);
	if (rc == 0) {
		set_told(&told, theirs);
		memcpy(call, theirs, sizeof(call));
		gdbserver_registers_set_call(call, &told, image->step);
		rc = sonde_process_write(gdbserver->process, told.at,
					 &told.registers,
					 sizeof(told.registers));
	}
	if (rc == 0)
		rc = set_theirs(gdbserver, call);
	if (rc == 0)
		rc = run_call(gdbserver, thread);
	if (rc == 0)
		rc = select_thread(gdbserver, thread);
	if (rc == 0)
		rc = set_theirs(gdbserver, theirs);
	select_again(gdbserver);
	return rc;
}

/* ---- a thread on loan ---- */

int sonde_gdb_gdbserver_lend(struct sonde_gdb_gdbserver *gdbserver,
			     struct sonde_gdb_loan *ret_loan)
{
	struct sonde_gdb_reply *reply = &gdbserver->scratch;
	int rc = sonde_gdb_gdbserver_ask(gdbserver, "qC");

	ret_loan->gdbserver = gdbserver;
	if (rc != 0 || strncmp(reply->bytes, "QC", 2) != 0 ||
	    reply->length - 2 >= sizeof(ret_loan->thread))
		return -ESRCH;
	memcpy(ret_loan->thread, reply->bytes + 2, reply->length - 1);
	return select_thread(gdbserver, ret_loan->thread);
}

void sonde_gdb_gdbserver_give_back(struct sonde_gdb_gdbserver *gdbserver)
{
	select_again(gdbserver);
}

static int lent_get(void *ctx, void *user_regs)
{
	struct sonde_gdb_loan *loan = ctx;
	uint8_t theirs[THEIR_BYTES];
	int rc = get_theirs(loan->gdbserver, theirs);

	if (rc != 0)
		return rc;
	memset(user_regs, 0, sizeof(struct user_regs_struct));
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(users_registers); i++)
		memcpy((uint8_t *)user_regs + users_registers[i].users,
		       theirs + users_registers[i].theirs,
		       users_registers[i].nr);
	return 0;
}

static int lent_set(void *ctx, const void *user_regs)
{
	struct sonde_gdb_loan *loan = ctx;
	uint8_t theirs[THEIR_BYTES];
	int rc = get_theirs(loan->gdbserver, theirs);

	if (rc != 0)
		return rc;
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(users_registers); i++)
		memcpy(theirs + users_registers[i].theirs,
		       (const uint8_t *)user_regs + users_registers[i].users,
		       users_registers[i].nr);
	return set_theirs(loan->gdbserver, theirs);
}

static int lent_read(void *ctx, uint64_t address, void *to, size_t size)
{
	struct sonde_gdb_loan *loan = ctx;
	struct sonde_gdb_reply *reply = &loan->gdbserver->scratch;
	const char *at = reply->bytes;
	int rc = sonde_gdb_gdbserver_ask(loan->gdbserver, "m%llx,%zx",
					 (unsigned long long)address, size);

	if (rc == 0 &&
	    (reply->length != 2 * size || !sonde_hex_take_bytes(&at, to, size)))
		rc = -EIO;
	return rc;
}

static int lent_write(void *ctx, uint64_t address, const void *from,
		      size_t size)
{
	struct sonde_gdb_loan *loan = ctx;
	struct sonde_gdb_reply packet;

	sonde_gdb_reply_clear(&packet);
	sonde_gdb_reply_format(&packet,
			       "M%llx,%zx:", (unsigned long long)address, size);
	sonde_gdb_reply_hex(&packet, from, size);
	sonde_gdb_gdbserver_pass(loan->gdbserver, packet.bytes, packet.length,
				 &loan->gdbserver->scratch);
	return strcmp(loan->gdbserver->scratch.bytes, "OK") == 0 ? 0 : -EIO;
}

static int lent_run(void *ctx)
{
	struct sonde_gdb_loan *loan = ctx;
	int rc = sonde_gdb_gdbserver_run_thread(loan->gdbserver, loan->thread,
						"c");

	if (rc == 0 && strncmp(loan->gdbserver->scratch.bytes, "T05", 3) != 0)
		rc = -EINTR; /* another signal, or its end */
	return rc;
}

const struct sonde_borrow_ops sonde_gdb_gdbserver_borrow = {
	.get_registers = lent_get,
	.set_registers = lent_set,
	.read = lent_read,
	.write = lent_write,
	.run_to_trap = lent_run,
};
