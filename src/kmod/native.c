// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * native.c - conditions as machine code.
 *
 *	program (verified)  ->  eBPF (expr/translate.h)  ->  the kernel's JIT
 *
 * Nobody sends code: the user sends the program that the evaluator would take, and
 * what it becomes is made here of operations that the verifier has seen. So there is
 * no check of the instructions, and no right to load BPF is needed; who may use the
 * device may ask for that. The kernel exports what its own modules need to have such
 * code made, for tests (bpf_prog_alloc, bpf_prog_select_runtime, bpf_prog_free).
 *
 * Invariants: the code reads `bytes` bytes from its first argument, calls nothing but
 * what seeing.c has for it, jumps forward only. What isn't machine code in the end is thrown away: the
 * kernel's interpreter for eBPF is no faster than the evaluator, and may be left out
 * of a kernel.
 *
 * The code's memory is the kernel's, and counts against what BPF may have
 * (net.core.bpf_jit_limit); beyond that, conditions are evaluated.
 *
 * Cost: some 50 us to make one. To run it: a call through a pointer, six
 * instructions of the JIT's own, and about as many as the program has operations.
 */
#include "kmod/native.h"

#include <linux/filter.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "expr/program.h"
#include "expr/translate.h"

/* Room for a program's code while it is made. */
struct draft {
	u32 max;
	u32 nr;
	u16 *starts;
	struct bpf_insn *insns;
};

static void draft_free(const struct draft *draft)
{
	kvfree(draft->starts);
	kvfree(draft->insns);
}

static bool draft_make(struct draft *draft, u32 nr_ops)
{
	draft->max = nr_ops * SONDE_TRANSLATE_INSNS;
	draft->starts =
		kvcalloc(nr_ops, sizeof(*draft->starts), GFP_KERNEL_ACCOUNT);
	draft->insns = kvcalloc(draft->max + 2 * SONDE_NATIVE_AROUND,
				sizeof(*draft->insns), GFP_KERNEL_ACCOUNT);
	if (draft->starts && draft->insns)
		return true;
	draft_free(draft);
	return false;
}

/* NULL: no machine code came of it. */
static struct bpf_prog *have_compiled(const struct bpf_insn *insns, u32 nr,
				      u32 stack_bytes)
{
	struct bpf_prog *native =
		bpf_prog_alloc(bpf_prog_size(nr), GFP_KERNEL_ACCOUNT);
	int err = 0;

	if (!native)
		return NULL;
	native->len = nr;
	native->aux->stack_depth = stack_bytes;
	/* Of a type whose programs see words; nobody asks, but those without a
	 * type are taken for a user's own packet filters. */
	native->type = BPF_PROG_TYPE_RAW_TRACEPOINT;
	memcpy(native->insnsi, insns, nr * sizeof(*insns));
	native = bpf_prog_select_runtime(native, &err);
	if (!err && native->jited)
		return native;
	bpf_prog_free(native);
	return NULL;
}

/* Between what comes before and behind it. False: it can't be said. */
static bool draft_fill(struct draft *draft, const struct sonde_program *program,
		       const struct sonde_program_state *states,
		       const struct sonde_native_form *form)
{
	u32 begin = form->begin ? form->begin(draft->insns,
					      form->frame->keeps_value) :
				  0;

	if (!sonde_ebpf_translate(program, states, form->frame, draft->starts,
				  draft->insns + begin, draft->max, &draft->nr))
		return false;
	draft->nr += begin;
	if (form->end)
		draft->nr += form->end(draft->insns + draft->nr);
	else
		draft->insns[draft->nr++] = BPF_EXIT_INSN();
	return true;
}

struct bpf_prog *sonde_native_make_by(const struct sonde_program *program,
				      const struct sonde_program_state *states,
				      const struct sonde_native_form *form)
{
	struct bpf_prog *native = NULL;
	struct draft draft;

	if (!IS_ENABLED(CONFIG_BPF_JIT) ||
	    program->nr_ops > SONDE_TRANSLATE_OPS ||
	    !draft_make(&draft, program->nr_ops))
		return NULL;
	if (draft_fill(&draft, program, states, form))
		native =
			have_compiled(draft.insns, draft.nr, form->stack_bytes);
	draft_free(&draft);
	return native;
}

struct bpf_prog *sonde_native_make(const struct sonde_program *program,
				   const struct sonde_program_state *states,
				   u32 base, u32 bytes)
{
	struct sonde_ebpf_frame frame = { .first = BPF_REG_2,
					  .last = BPF_REG_9 };
	const struct sonde_native_form form = { .frame = &frame };

	if (bytes > U16_MAX)
		return NULL;
	frame.bases[base].reg = BPF_REG_1; /* the argument */
	frame.bases[base].bytes = (u16)bytes;
	return sonde_native_make_by(program, states, &form);
}

sonde_native_run sonde_native_function(const struct bpf_prog *native)
{
	return native->bpf_func;
}

const struct bpf_insn *sonde_native_code(const struct bpf_prog *native)
{
	return native->insnsi;
}

void sonde_native_free(struct bpf_prog *native)
{
	if (native)
		bpf_prog_free(native);
}

bool sonde_native_works(void)
{
	const struct bpf_insn insns[] = { BPF_MOV64_IMM(BPF_REG_0, 1),
					  BPF_EXIT_INSN() };
	struct bpf_prog *native =
		IS_ENABLED(CONFIG_BPF_JIT) ?
			have_compiled(insns, ARRAY_SIZE(insns), 0) :
			NULL;

	sonde_native_free(native);
	return native;
}
