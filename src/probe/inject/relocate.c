/* SPDX-License-Identifier: MIT */
/*
 * relocate.c - an instruction made to run elsewhere.
 *
 * Prefixes of branches (bnd, notrack, hints) are dropped where the branch is
 * written anew: none changes what it does here.
 */
#include "probe/inject/relocate.h"

#include <errno.h>
#include <string.h>

#define OP_JMP     0xe9
#define OP_TWO     0x0f
#define OP_JCC     0x80
#define OP_GROUP   0xff
#define MODRM_REG  0x38
#define MODRM_JUMP 0x20 /* jmp r/m */
#define PUSH_RIP   0x35 /* modrm of push disp32(%rip) */
#define RM_SIB     4
#define BASE_RSP   4
#define REX_B      1
#define SLOT       8 /* what a push takes */
#define SIGN8      0x80

/* Parts of the indirect operand that matter. */
enum {
	MOD_DISP8 = 1,
	MOD_DISP32 = 2,
	MOD_REG = 3
};

static void put(struct sonde_moved *moved, const void *bytes, size_t nr)
{
	memcpy(moved->bytes + moved->nr_bytes, bytes, nr);
	moved->nr_bytes = (uint8_t)(moved->nr_bytes + nr);
}

static void put_byte(struct sonde_moved *moved, unsigned int byte)
{
	moved->bytes[moved->nr_bytes++] = (uint8_t)byte;
}

/* The displacement from `behind` to `target`. */
static int displacement(uint64_t behind, uint64_t target, int32_t *ret)
{
	int64_t distance = (int64_t)(target - behind);

	if (distance != (int32_t)distance)
		return -ERANGE;
	*ret = (int32_t)distance;
	return 0;
}

/* The 32-bit displacement of a branch whose opcode has been put. */
static int relocate_put_target(struct sonde_moved *moved, uint64_t to,
			       uint64_t target)
{
	int32_t disp;
	int rc = displacement(to + moved->nr_bytes + sizeof(disp), target,
			      &disp);

	moved->target_at = moved->nr_bytes;
	if (!rc)
		put(moved, &disp, sizeof(disp));
	return rc;
}

static int move_branch(const struct sonde_insn *insn, const uint8_t *bytes,
		       uint64_t to, struct sonde_moved *moved)
{
	if (insn->flow == SONDE_INSN_BRANCH) {
		put_byte(moved, OP_TWO);
		put_byte(moved, OP_JCC | insn->condition);
	} else if (insn->flow == SONDE_INSN_LOOP) {
		/* loop 1f; jmp 2f; 1: jmp target; 2: */
		static const uint8_t around[] = { 2, 0xeb, 5 };
		put(moved, bytes, insn->loop_bytes);
		put(moved, around, sizeof(around));
		put_byte(moved, OP_JMP);
	} else {
		put_byte(moved, OP_JMP);
	}
	return relocate_put_target(moved, to, insn->target);
}

/* push literal(%rip); the literal is `ahead` bytes behind that. */
static void relocate_put_push(struct sonde_moved *moved, int32_t ahead)
{
	put_byte(moved, OP_GROUP);
	put_byte(moved, PUSH_RIP);
	put(moved, &ahead, sizeof(ahead));
}

static int move_call(const struct sonde_insn *insn, uint64_t from, uint64_t to,
		     struct sonde_moved *moved)
{
	uint64_t back = from + insn->length;
	int rc;

	relocate_put_push(moved, 5);
	put_byte(moved, OP_JMP);
	rc = relocate_put_target(moved, to, insn->target);
	put(moved, &back, sizeof(back));
	return rc;
}

/* Writes the operand of `call *...` as one of `jmp *...`; one that is relative
 * to rsp has moved by what was pushed. */
static int put_operand(const struct sonde_insn *insn, const uint8_t *bytes,
		       struct sonde_moved *moved)
{
	unsigned int at = insn->modrm_at;
	unsigned int mod = bytes[at] >> 6;
	unsigned int modrm = (bytes[at] & ~MODRM_REG) | MODRM_JUMP;
	bool rex_b = at >= 2 && (bytes[at - 2] & 0xf0) == 0x40 &&
		     (bytes[at - 2] & REX_B);
	bool stack = mod != MOD_REG && (modrm & 7) == RM_SIB &&
		     (bytes[at + 1] & 7) == BASE_RSP && !rex_b;
	int32_t disp = 0;

	put(moved, bytes, at);
	if (mod == MOD_REG && (modrm & 7) == BASE_RSP && !rex_b)
		return -EOPNOTSUPP; /* call *%rsp */
	if (!stack) {
		put_byte(moved, modrm);
		put(moved, bytes + at + 1, insn->length - at - 1u);
		return 0;
	}
	if (mod == MOD_DISP8)
		disp = (bytes[at + 2] ^ SIGN8) - SIGN8;
	else if (mod == MOD_DISP32)
		memcpy(&disp, bytes + at + 2, sizeof(disp));
	if (disp > INT32_MAX - SLOT)
		return -EOPNOTSUPP;
	disp += SLOT;
	put_byte(moved, (modrm & 0x3f) | MOD_DISP32 << 6);
	put_byte(moved, bytes[at + 1]);
	put(moved, &disp, sizeof(disp));
	return 0;
}

static int rebase(const struct sonde_insn *insn, uint64_t from, uint64_t to,
		  uint8_t *moved)
{
	int32_t disp;
	int rc;

	memcpy(&disp, moved + insn->rip_at, sizeof(disp));
	rc = displacement(to + insn->length,
			  from + insn->length + (uint64_t)(int64_t)disp, &disp);
	if (!rc)
		memcpy(moved + insn->rip_at, &disp, sizeof(disp));
	return rc;
}

static int move_indirect_call(const struct sonde_insn *insn,
			      const uint8_t *bytes, uint64_t from, uint64_t to,
			      struct sonde_moved *moved)
{
	uint64_t back = from + insn->length;
	struct sonde_moved jump = { 0 };
	int rc = put_operand(insn, bytes, &jump);

	if (rc)
		return rc;
	relocate_put_push(moved, jump.nr_bytes);
	moved->pushed_at = moved->nr_bytes;
	if (insn->rip_at) {
		rc = rebase(insn, from, to + moved->nr_bytes, jump.bytes);
		if (rc)
			return rc;
	}
	put(moved, jump.bytes, jump.nr_bytes);
	put(moved, &back, sizeof(back));
	return 0;
}

int sonde_relocate(const uint8_t *bytes, size_t size, uint64_t from,
		   uint64_t to, struct sonde_moved *ret_moved)
{
	struct sonde_moved moved = { 0 };
	struct sonde_insn insn;
	int rc = sonde_insn_decode(bytes, size, from, &insn);

	if (rc)
		return rc;
	moved.goes_on = sonde_insn_goes_on(&insn) &&
			insn.flow != SONDE_INSN_CALL &&
			insn.flow != SONDE_INSN_CALL_INDIRECT;
	switch (insn.flow) {
	case SONDE_INSN_JUMP:
	case SONDE_INSN_BRANCH:
	case SONDE_INSN_LOOP:
		rc = insn.stays ? -EOPNOTSUPP :
				  move_branch(&insn, bytes, to, &moved);
		break;
	case SONDE_INSN_CALL:
		rc = insn.stays ? -EOPNOTSUPP :
				  move_call(&insn, from, to, &moved);
		break;
	case SONDE_INSN_CALL_INDIRECT:
		rc = insn.stays ?
			     -EOPNOTSUPP :
			     move_indirect_call(&insn, bytes, from, to, &moved);
		break;
	case SONDE_INSN_NEXT:
	case SONDE_INSN_JUMP_INDIRECT:
	case SONDE_INSN_RETURN:
	case SONDE_INSN_STOP:
		if (insn.stays && !insn.is_padding)
			return -EOPNOTSUPP;
		if (!insn.is_nop)
			put(&moved, bytes, insn.length);
		if (insn.rip_at && !insn.is_nop)
			rc = rebase(&insn, from, to, moved.bytes);
		break;
	}
	if (!rc)
		*ret_moved = moved;
	return rc;
}
