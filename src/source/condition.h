/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * condition.h - a rule's condition over the records of one event.
 *
 * Names in the condition are the event's fields as its description has them
 * (types/desc.h), and `tid`, `cpu`, `$event`. The event's name is as readers
 * have it: a program's has its provider in front. A field that the event lacks is
 * missing, so the condition is false where it needs it (docs/filter.md).
 *
 * The same condition may be evaluated in three places, which agree:
 *
 *	by the consumer, over a finished payload	sonde_condition_test()
 *	by the kernel, before anything is written	tracefs/filter.h
 *	by a BPF program, over its staged payload	expr/ebpf.h
 */
#ifndef SOURCE_CONDITION_H
#define SOURCE_CONDITION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sonde/abi.h>

struct sonde_bind_check;
struct sonde_condition;
struct sonde_expr_scope;
struct sonde_expr_value;
struct sonde_operand_field;
struct sonde_operand_varying;
struct sonde_program;

/* 0; -EINVAL with one line in `error`; -ENOMEM. `desc` is checked and borrowed
 * until the condition is freed; one with structures or variants, which no
 * kernel event has, is -EINVAL. */
int sonde_condition_new(const struct sonde_desc *desc, const char *text,
			char *error, size_t error_size,
			struct sonde_condition **ret_condition);

/*
 * The same for a program's own event, whose condition will be tested elsewhere
 * (ring/filters.h): there, no more than the first SONDE_FILTER_HEAD bytes are
 * memory for the program. An event may have structures and variants; what they
 * hold, and what is behind them, can't be named (-EINVAL).
 */
int sonde_condition_new_for_process(const struct sonde_desc *desc,
				    const char *text, char *error,
				    size_t error_size,
				    struct sonde_condition **ret_condition);

/* Whether it holds. Bytes beyond `size` are not looked at. */
bool sonde_condition_test(const struct sonde_condition *condition,
			  const void *payload, size_t size, uint32_t tid,
			  uint32_t cpu);

/* What its text is there; what is a string is borrowed from the payload. */
void sonde_condition_value(const struct sonde_condition *condition,
			   const void *payload, size_t size, uint32_t tid,
			   uint32_t cpu, struct sonde_expr_value *ret_value);

/* The size of the whole payload that `bytes` begin with; false: it isn't all
 * among `size` bytes, or there are structures or variants in it. */
bool sonde_condition_payload(const struct sonde_condition *condition,
			     const void *bytes, size_t size, size_t *ret_size);

/*
 * The compiled program, borrowed, for a code generator. Its bases:
 *	0	the payload; only fields at fixed places are read so
 *	1	u32 tid, u32 cpu
 * Its calls' refs are indices of sonde_condition_call().
 */
const struct sonde_program *
sonde_condition_program(const struct sonde_condition *condition);

/* What its names mean, for who compiles the same text otherwise; borrowed. */
const struct sonde_expr_scope *
sonde_condition_scope(const struct sonde_condition *condition);

/* A text field that a call reads. False beyond the last; refs of calls for
 * numbers are beyond it. */
struct sonde_condition_text {
	uint32_t offset;  /* in the payload; UINT32_MAX: behind others of
			     varying length */
	uint32_t size;    /* of a fixed text; 0: a string that ends with NUL */
	uint32_t ordinal; /* how many strings and sequences are before it */
	bool is_bytes;    /* with all NULs in it */
};
bool sonde_condition_call(const struct sonde_condition *condition, uint32_t ref,
			  struct sonde_condition_text *ret_text);

/* What a call with that ref fetches, and the fields to be passed over for it
 * (borrowed), for who evaluates the program elsewhere. False: no such ref. */
bool sonde_condition_field(const struct sonde_condition *condition,
			   uint32_t ref, struct sonde_operand_field *ret_field);
const struct sonde_operand_varying *
sonde_condition_varying(const struct sonde_condition *condition,
			uint32_t *ret_nr);

/*
 * The program and what its calls fetch, for who evaluates it elsewhere: calls'
 * refs are indices of the fields then. Both for free(). 0 or -ENOMEM.
 */
int sonde_condition_copy(const struct sonde_condition *condition,
			 struct sonde_program **ret_program,
			 struct sonde_operand_field **ret_fields,
			 uint32_t *ret_nr_fields);

/* Bytes of payload in which all is that the program reads as base 0. */
uint32_t sonde_condition_needed(const struct sonde_condition *condition);

/* Whether this event has the names that are looked for (expr/bind.h), and what
 * it has instead. 0 or -ENOMEM. */
int sonde_condition_check(const struct sonde_condition *condition,
			  struct sonde_bind_check *check);

/* NULL is fine. */
void sonde_condition_free(struct sonde_condition *condition);

#endif /* SOURCE_CONDITION_H */
