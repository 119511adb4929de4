/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * conditions.c - the users' conditions into the programs.
 *
 * The compiled programs have SONDE_BPF_CONDS places for one
 * (conditions.bpf.h), found by their mark. The same code for another event
 * takes no other place: `syscalls if ret < 0` is one condition.
 */
#include "source/bpf/bpf_source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <linux/bpf.h>

#include "expr/ebpf.h"
#include "source/condition.h"

/* Below the frame of the function that holds the place. */
#define STACK_BYTES   128
#define CONTEXT_BYTES 8u /* u32 tid, u32 cpu */

struct code {
	struct bpf_insn insns[SONDE_BPF_COND_INSNS];
};

static bool text_at(void *ctx, uint32_t ref, uint32_t *ret_offset,
		    uint32_t *ret_size)
{
	struct sonde_condition_text text;

	if (!sonde_condition_call(ctx, ref, &text) || text.offset == UINT32_MAX)
		return false;
	*ret_offset = text.offset;
	*ret_size = text.size;
	return true;
}

void bpf_code_leave(struct bpf_insn *insns, size_t nr, size_t max)
{
	const size_t left = max - nr;

	if (left < 3)
		return;
	insns[nr] = (struct bpf_insn){ .code = BPF_ALU64 | BPF_MOV | BPF_K,
				       .dst_reg = BPF_REG_1 };
	insns[nr + 1] = (struct bpf_insn){ .code = BPF_JMP | BPF_JEQ | BPF_K,
					   .dst_reg = BPF_REG_1,
					   .off = (int16_t)(left - 2) };
}

/* No-ops after what is generated: a place is filled, and compared, whole. */
static int generate(struct sonde_condition *condition, uint32_t bytes,
		    struct code *ret_code)
{
	struct sonde_ebpf_config config = {
		.bases = { { .reg = BPF_REG_6,
			     .unaligned = true,
			     .bytes = (uint16_t)bytes },
			   { .reg = BPF_REG_7, .bytes = CONTEXT_BYTES } },
		.stack = -STACK_BYTES,
		.room = STACK_BYTES,
		.text = text_at,
		.ctx = condition,
	};

	size_t nr = 0;
	int rc;

	rc = sonde_ebpf_generate(sonde_condition_program(condition), &config,
				 ret_code->insns, SONDE_BPF_COND_INSNS, &nr);
	for (size_t i = nr; !rc && i < SONDE_BPF_COND_INSNS; i++)
		ret_code->insns[i] =
			(struct bpf_insn){ .code = BPF_JMP | BPF_JA };
	if (!rc)
		bpf_code_leave(ret_code->insns, nr, SONDE_BPF_COND_INSNS);
	return rc;
}

unsigned char *bpf_condition_place(unsigned char *image, size_t size,
				   uint32_t number, uint32_t nr)
{
	const struct bpf_insn mark = {
		.code = BPF_ALU64 | BPF_MOV | BPF_K,
		.imm = (int32_t)number,
	};
	const struct bpf_insn nop = { .code = BPF_JMP | BPF_JA };
	size_t need = sizeof(mark) * (nr + 1);

	for (size_t at = 0; at + need <= size; at += sizeof(mark))
		if (!memcmp(image + at, &mark, sizeof(mark)) &&
		    !memcmp(image + at + need - sizeof(nop), &nop, sizeof(nop)))
			return image + at + sizeof(mark);
	return NULL;
}

/* The place that has this code already, or is given it. */
static int put(struct bpf_source *source, const struct code *code,
	       uint8_t *ret_cond)
{
	size_t bytes = sizeof(code->insns);

	for (uint32_t i = 0; i < SONDE_BPF_CONDS; i++) {
		unsigned char *at =
			bpf_condition_place(source->image, source->image_size,
					    SONDE_BPF_COND_MARK + i,
					    SONDE_BPF_COND_INSNS);

		if (!at)
			return -ENOEXEC;
		if (i < source->consts[SONDE_BPF_NR_CONDS] &&
		    memcmp(at, code->insns, bytes) != 0)
			continue;
		memcpy(at, code->insns, bytes);
		if (i == source->consts[SONDE_BPF_NR_CONDS])
			source->consts[SONDE_BPF_NR_CONDS]++;
		*ret_cond = (uint8_t)(i + 1);
		return 0;
	}
	return -E2BIG;
}

int bpf_condition_add(struct bpf_source *source, const struct sonde_desc *desc,
		      const char *text, uint32_t bytes, uint8_t *ret_cond,
		      struct sonde_source_error *error)
{
	struct sonde_condition *condition = NULL;
	struct code code;
	char why[200] = "";
	int rc;

	rc = sonde_condition_new(desc, text, why, sizeof(why), &condition);
	if (rc == -EINVAL)
		return sonde_source_fail(error, rc, "if %.100s: %s", text, why);
	if (!rc)
		rc = generate(condition, bytes, &code);
	if (!rc)
		rc = put(source, &code, ret_cond);
	sonde_condition_free(condition);
	return rc;
}
