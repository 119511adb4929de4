/* SPDX-License-Identifier: MIT */
/*
 * ebpf_model.h - what eBPF code does, as plainly as it can be put; and records
 * and expressions to try it with.
 *
 * The interpreter knows the instructions that conditions are made of and
 * refuses all others. It is stricter than the kernel's verifier where it can be
 * without following all ways: what is read has been written, lies inside its
 * area and is aligned if the area wants it; jumps go forward; R6 to R10 stay as
 * they are, but for those that the code may have as its own; and each instruction
 * can be reached.
 */
#ifndef UNIT_EBPF_MODEL_H
#define UNIT_EBPF_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <linux/bpf.h>

#include "expr/ebpf.h"
#include "expr/expr.h"
#include "expr_model.h"

/* ---- the machine ---- */

#define EBPF_AREAS 3

/* Memory at an address. */
struct ebpf_area {
	uint64_t address;
	uint32_t size;
	uint8_t *bytes;
	bool *known; /* by byte; NULL: all are, and none may be written */
	bool aligned;
};

struct ebpf_machine {
	struct ebpf_area areas[EBPF_AREAS];
	uint64_t registers[11];
	uint16_t set;      /* bit by register: it has a value */
	uint16_t own;      /* of R6 to R9: those that it may write */
	const char *wrong; /* what it was stopped for */
	/* What the helpers that read memory do; NULL: there are none. */
	bool (*read)(void *ctx, uint64_t address, void *to, uint32_t bytes);
	/* With it, there are the calls that translated code has as well. */
	const uint64_t *asked;
	void *ctx;
};

/* Their numbers (struct sonde_ebpf_frame): to read so many bytes; to ask for one of
 * the registers in `asked`. */
#define EBPF_CALL_READ(bytes) (1000 + (bytes))
#define EBPF_CALL_ASK         2000

/* From the first instruction to behind the last. R0, which is 0, 1 or 2; -1
 * and what was wrong. */
int ebpf_run(struct ebpf_machine *machine, const struct bpf_insn *code,
	     size_t nr);

/* ---- records ---- */

#define EBPF_BYTES 96 /* of base 0; base 1 has 8 */
#define EBPF_ROOM  512

struct ebpf_record {
	uint8_t bytes[EBPF_BYTES];
	uint8_t whence[8];
};

void ebpf_record_fill(struct ebpf_record *record,
		      const struct model_random *random);

/* Names of fields in the record; values of them for the evaluator; places of
 * texts for the generator. */
extern const struct sonde_expr_scope ebpf_scope;
void ebpf_env_init(struct sonde_expr_env *env, struct ebpf_record *record);
bool ebpf_text_place(void *ctx, uint32_t ref, uint32_t *ret_offset,
		     uint32_t *ret_size);

/* A random expression over those fields; it compiles, and is for eBPF. */
void ebpf_write(char *to, size_t size, const struct model_random *random);

/* Where code finds a record: at R10 + these, and behind them, or at R6 and R7
 * where anything may be anywhere. */
#define EBPF_BASE_0     (-512)
#define EBPF_BASE_1     (-512 + EBPF_BYTES)
#define EBPF_STACK      (-512 + EBPF_BYTES + 8)
#define EBPF_STACK_ROOM (512 - EBPF_BYTES - 8)
extern const struct sonde_ebpf_config ebpf_on_stack;
extern const struct sonde_ebpf_config ebpf_in_registers;

/* What code made with that configuration gives for a record; fails like
 * ebpf_run(). */
int ebpf_test(const struct bpf_insn *code, size_t nr,
	      const struct sonde_ebpf_config *config,
	      const struct ebpf_record *record, const char **ret_wrong);

#endif /* UNIT_EBPF_MODEL_H */
