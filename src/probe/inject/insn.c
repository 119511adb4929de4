/* SPDX-License-Identifier: MIT */
/*
 * insn.c - facts about one instruction, from Zydis.
 *
 * Operands aren't decoded: the raw parts tell all that is needed, in a third
 * of the time. What is not certain is said so as to be safe: an instruction
 * stays, reads the flags, doesn't kill them.
 */
#include "probe/inject/insn.h"

#include <Zydis/Zydis.h>

#include <errno.h>

#include "base/port.h"

/* The r/m field that means rip and a displacement, with mod 0. */
#define RM_RIP    5
#define DISP_BITS 32

#define STATUS_FLAGS                                              \
	(ZYDIS_CPUFLAG_CF | ZYDIS_CPUFLAG_PF | ZYDIS_CPUFLAG_AF | \
	 ZYDIS_CPUFLAG_ZF | ZYDIS_CPUFLAG_SF | ZYDIS_CPUFLAG_OF)

static int decode(const uint8_t *bytes, size_t size,
		  ZydisDecodedInstruction *ret)
{
	ZydisDecoder decoder;
	if (!ZYAN_SUCCESS(ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64,
					   ZYDIS_STACK_WIDTH_64)) ||
	    !ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder, NULL, bytes,
							size, ret)))
		return -EINVAL;
	return 0;
}

static bool has_prefix(const ZydisDecodedInstruction *raw, uint8_t prefix)
{
	for (unsigned int i = 0; i < raw->raw.prefix_count; i++)
		if (raw->raw.prefixes[i].value == prefix)
			return true;
	return false;
}

static bool is_among(const ZydisDecodedInstruction *raw,
		     const ZydisMnemonic *list, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (raw->mnemonic == list[i])
			return true;
	return false;
}

static const ZydisMnemonic stops[] = {
	ZYDIS_MNEMONIC_UD0, ZYDIS_MNEMONIC_UD1,  ZYDIS_MNEMONIC_UD2,
	ZYDIS_MNEMONIC_HLT, ZYDIS_MNEMONIC_INT3,
};

/* Their effect depends on where they are, or means more to the system than
 * what they compute. */
static const ZydisMnemonic stayers[] = {
	ZYDIS_MNEMONIC_XBEGIN, ZYDIS_MNEMONIC_INT1,     ZYDIS_MNEMONIC_INT,
	ZYDIS_MNEMONIC_IRET,   ZYDIS_MNEMONIC_IRETD,    ZYDIS_MNEMONIC_IRETQ,
	ZYDIS_MNEMONIC_SYSRET, ZYDIS_MNEMONIC_SYSENTER, ZYDIS_MNEMONIC_SYSEXIT,
};

static bool stays(const ZydisDecodedInstruction *raw)
{
	return is_among(raw, stops, SONDE_ARRAY_SIZE(stops)) ||
	       is_among(raw, stayers, SONDE_ARRAY_SIZE(stayers)) ||
	       raw->meta.branch_type == ZYDIS_BRANCH_TYPE_FAR;
}

/* Shifts by nothing leave the flags, as do string operations of no length. */
static bool may_leave_flags(const ZydisDecodedInstruction *raw)
{
	return raw->meta.category == ZYDIS_CATEGORY_SHIFT ||
	       raw->meta.category == ZYDIS_CATEGORY_ROTATE ||
	       has_prefix(raw, 0xf2) || has_prefix(raw, 0xf3);
}

/* Flags that are undefined afterwards are often as they were, in fact. But for
 * AF, that would leave few instructions that write all. */
static void flags(const ZydisDecodedInstruction *raw, struct sonde_insn *insn)
{
	const ZydisAccessedFlags *f = raw->cpu_flags;
	uint32_t written = 0;

	insn->reads_flags = raw->meta.category == ZYDIS_CATEGORY_SYSCALL ||
			    raw->meta.category == ZYDIS_CATEGORY_INTERRUPT ||
			    raw->mnemonic == ZYDIS_MNEMONIC_PUSHF ||
			    raw->mnemonic == ZYDIS_MNEMONIC_PUSHFQ ||
			    raw->mnemonic == ZYDIS_MNEMONIC_LAHF || insn->stays;
	if (f) {
		insn->reads_flags |= (f->tested & STATUS_FLAGS) != 0;
		written = f->modified | f->set_0 | f->set_1 |
			  (f->undefined & ZYDIS_CPUFLAG_AF);
	}
	insn->kills_flags = (written & STATUS_FLAGS) == STATUS_FLAGS &&
			    !may_leave_flags(raw);
}

static void set_relative(const ZydisDecodedInstruction *raw, uint64_t address,
			 struct sonde_insn *insn)
{
	insn->target = address + raw->length + raw->raw.imm[0].value.u;
	insn->condition = raw->opcode & 15;
	insn->loop_bytes = (uint8_t)(raw->length - 1);
	/* 16-bit operands: CPUs don't agree on what that means */
	insn->stays |= has_prefix(raw, 0x66);
}

/* opcodes of the only branches with an 8-bit counter test */
static bool is_loop(const ZydisDecodedInstruction *raw)
{
	return raw->opcode_map == ZYDIS_OPCODE_MAP_DEFAULT &&
	       raw->opcode >= 0xe0 && raw->opcode <= 0xe3;
}

static enum sonde_insn_flow flow(const ZydisDecodedInstruction *raw)
{
	bool relative = raw->raw.imm[0].is_relative;

	/* To the decoder a jump; where it ends a transaction, that goes on
	 * where its beginning says. */
	if (raw->mnemonic == ZYDIS_MNEMONIC_XABORT)
		return SONDE_INSN_NEXT;
	if (raw->meta.category == ZYDIS_CATEGORY_CALL)
		return relative ? SONDE_INSN_CALL : SONDE_INSN_CALL_INDIRECT;
	if (raw->meta.category == ZYDIS_CATEGORY_UNCOND_BR)
		return relative ? SONDE_INSN_JUMP : SONDE_INSN_JUMP_INDIRECT;
	if (raw->meta.category == ZYDIS_CATEGORY_COND_BR)
		return is_loop(raw) ? SONDE_INSN_LOOP : SONDE_INSN_BRANCH;
	if (raw->meta.category == ZYDIS_CATEGORY_RET)
		return SONDE_INSN_RETURN;
	if (is_among(raw, stops, SONDE_ARRAY_SIZE(stops)))
		return SONDE_INSN_STOP;
	return SONDE_INSN_NEXT;
}

int sonde_insn_decode(const uint8_t *bytes, size_t size, uint64_t address,
		      struct sonde_insn *ret_insn)
{
	ZydisDecodedInstruction raw;
	struct sonde_insn insn = { 0 };

	if (decode(bytes, size, &raw))
		return -EINVAL;
	insn.length = raw.length;
	insn.flow = flow(&raw);
	insn.stays = stays(&raw);
	if ((raw.attributes & ZYDIS_ATTRIB_HAS_MODRM) &&
	    raw.raw.modrm.mod == 0 && raw.raw.modrm.rm == RM_RIP &&
	    raw.raw.disp.size == DISP_BITS) {
		insn.rip_at = raw.raw.disp.offset;
		insn.stays |= raw.address_width != 64;
	}
	if (insn.flow == SONDE_INSN_CALL_INDIRECT ||
	    insn.flow == SONDE_INSN_JUMP_INDIRECT) {
		insn.modrm_at = raw.raw.modrm.offset;
		insn.is_got_jump =
			insn.rip_at && insn.flow == SONDE_INSN_JUMP_INDIRECT;
		insn.stays |= raw.address_width != 64;
	}
	if (sonde_insn_has_target(&insn))
		set_relative(&raw, address, &insn);
	insn.is_nop = raw.meta.category == ZYDIS_CATEGORY_NOP ||
		      raw.meta.category == ZYDIS_CATEGORY_WIDENOP;
	insn.is_endbr = raw.mnemonic == ZYDIS_MNEMONIC_ENDBR64 ||
			raw.mnemonic == ZYDIS_MNEMONIC_ENDBR32;
	insn.is_nop = insn.is_nop && !insn.is_endbr;
	insn.is_padding = insn.is_nop || raw.mnemonic == ZYDIS_MNEMONIC_INT3;
	flags(&raw, &insn);
	*ret_insn = insn;
	return 0;
}
