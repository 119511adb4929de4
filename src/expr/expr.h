/* SPDX-License-Identifier: MIT */
/*
 * expr.h - the expressions of filters, conditions and reports.
 *
 * One language (docs/filter.md) for recording, reading and viewing. It goes
 * through three forms:
 *
 *   text      parsed once              -> struct sonde_expr, a tree
 *   tree      compiled for each kind of record, whose fields have types and
 *             places                   -> struct sonde_program, operations
 *   program   verified, then evaluated for each record, or native code or eBPF
 *
 * The operations are one table, ops.def, from which the verifier and the
 * evaluator are made. Native code and eBPF are generated from a program, too
 * (jit/graph.h).
 *
 * A program reads memory only where a source (below) says that a field is; the
 * one who evaluates vouches for those places. It has no loops, needs no
 * memory, and calls only env->call.
 *
 * ## Values
 *
 * Integers of 64 bits, signed or unsigned, doubles, strings (of a length, not
 * terminated). Arithmetic is C's on int64_t, uint64_t and double, but
 * comparisons between signed and unsigned compare the numbers' values, shifts
 * of 64 and more give 0 (or the sign), and x / 0 is missing. A field that a
 * record doesn't have is *missing*: so is any arithmetic with it; any
 * comparison with it is false, and so is it itself. `!` gives true of it.
 */
#ifndef EXPR_EXPR_H
#define EXPR_EXPR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sonde_expr;
struct sonde_label;
struct sonde_program;

enum sonde_expr_type {
	SONDE_EXPR_MISSING,
	SONDE_EXPR_UINT,
	SONDE_EXPR_INT,
	SONDE_EXPR_DOUBLE,
	SONDE_EXPR_STRING,
};

struct sonde_expr_value {
	enum sonde_expr_type type;
	uint32_t length; /* of a string, bytes */
	union {
		uint64_t u;
		int64_t i;
		double d;
		const char *text;
	};
};

struct sonde_expr_error {
	char text[256];  /* one line */
	uint32_t column; /* from 1 */
};

/* How a name's value is had. */
enum sonde_expr_how {
	SONDE_EXPR_CONSTANT, /* .value; all records of this kind have it */
	SONDE_EXPR_MEMORY,   /* a number of whole bytes at a fixed place */
	SONDE_EXPR_CALL,     /* env->call(ctx, ref, ...) */
};

struct sonde_expr_source {
	enum sonde_expr_how how;
	enum sonde_expr_type type; /* as it will be; of a CALL, too */
	struct sonde_expr_value value;
	/* MEMORY: UINT or INT of 1, 2, 4 or 8 bytes, or DOUBLE of 4 or 8, at
	 * env->bases[base] + offset, any alignment */
	uint8_t bytes;
	bool swap;    /* not in the machine's byte order */
	uint8_t base; /* < SONDE_EXPR_BASES */
	uint32_t offset;
	uint32_t ref; /* CALL */
	/* Names of the values of an enumeration, so that it can be compared
	 * with a string: types/type.h; NULL if it is none. Borrowed. */
	const struct sonde_label *labels;
	size_t nr_labels;
};
#define SONDE_EXPR_BASES 16

/* What names mean for one kind of record. */
struct sonde_expr_scope {
	void *ctx;
	/*
	 * `path` as written, without blanks: "a", "hdr.len", "list[2].key",
	 * "$ctx.procname", "$event", "cpu". 0; -ENOENT: this kind of record has
	 * no such thing, it is missing (the caller may want to know names that
	 * no kind has); -EINVAL: the path makes no sense for it.
	 */
	int (*find)(void *ctx, const char *path, size_t length,
		    struct sonde_expr_source *ret_source);
	/* what "+1.5s" and times of day are relative to; nanoseconds */
	int64_t begin_ns;
};

/* 0, -EINVAL with *error, -ENOMEM. *ret_expr is for sonde_expr_free(). */
int sonde_expr_parse(const char *text, struct sonde_expr_error *error,
		     struct sonde_expr **ret_expr);
void sonde_expr_free(struct sonde_expr *expr);

/* The i-th name in it (in order, each once), or NULL; with its column. */
const char *sonde_expr_name(const struct sonde_expr *expr, size_t i,
			    uint32_t *ret_column);

/* A name that is compared with a string in quotes, by == or != or in. */
struct sonde_expr_text {
	const char *name;
	const char *text; /* `length` bytes; a glob if it has wildcards */
	size_t length;
	bool is_glob;
	uint32_t column; /* of the string */
};
/* The next of them (*at: 0 for the first); false: there are no more. The
 * pointers live as long as `expr`. */
bool sonde_expr_next_text(const struct sonde_expr *expr, size_t *at,
			  struct sonde_expr_text *ret_text);

/*
 * 0; -EINVAL with *error (types that don't fit, a bad path), -ENOMEM. The
 * program is folded, verified, and for sonde_program_free().
 */
int sonde_expr_compile(const struct sonde_expr *expr,
		       const struct sonde_expr_scope *scope,
		       struct sonde_expr_error *error,
		       struct sonde_program **ret_program);
void sonde_program_free(struct sonde_program *program);
/* One that may be changed, for sonde_program_free() as well; NULL: no memory. */
struct sonde_program *sonde_program_copy(const struct sonde_program *program);

/* Its value if it is the same for all records; otherwise false. */
bool sonde_program_constant(const struct sonde_program *program,
			    struct sonde_expr_value *ret_value);
/* Whether it uses base b (so that only what is needed is prepared). */
bool sonde_program_uses_base(const struct sonde_program *program,
			     unsigned int base);

/* What programs of agent expressions (agent.h) see besides the registers: the
 * memory of a process, trace state variables, the record being made. */
struct sonde_expr_machine {
	/* 1, 2, 4 or 8 bytes; false if they can't be read */
	bool (*read)(void *ctx, uint64_t address, void *to, uint32_t bytes);
	uint64_t (*get)(void *ctx, uint32_t variable);
	void (*set)(void *ctx, uint32_t variable, uint64_t value);
	/* what can't be read isn't recorded; NULL in what only computes */
	void (*trace)(void *ctx, uint64_t address, uint64_t bytes);
	void (*trace_string)(void *ctx, uint64_t address, uint64_t bytes_max);
	void (*trace_variable)(void *ctx, uint32_t variable);
};
#define SONDE_EXPR_REGISTERS 26 /* agent.h names them */

struct sonde_expr_env {
	const uint8_t *bases[SONDE_EXPR_BASES];
	int (*call)(void *ctx, uint32_t ref, struct sonde_expr_value *ret);
	void *ctx;
	/* of agent expressions only; SONDE_EXPR_REGISTERS of them */
	const uint64_t *registers;
	const struct sonde_expr_machine *machine;
	void *machine_ctx;
};

/* Why the value of an agent expression is missing: what .u is then. */
enum sonde_expr_why {
	SONDE_EXPR_NO_VALUE, /* it has none */
	SONDE_EXPR_FAULT,    /* memory that can't be read */
	SONDE_EXPR_DIVIDED,  /* by zero */
};

/* The reference evaluator. The value may be missing; strings point to what
 * bases, calls and the program gave. Any context. */
void sonde_program_eval(const struct sonde_program *program,
			const struct sonde_expr_env *env,
			struct sonde_expr_value *ret_value);
/* Whether the value is true: not missing, not 0, not "". */
bool sonde_program_test(const struct sonde_program *program,
			const struct sonde_expr_env *env);
bool sonde_expr_true(const struct sonde_expr_value *value);

/*
 * A point in time as users write it for --from and --to: "12:30:05.25" (the
 * day of `begin_ns`, local time), "2026-11-20T12:30:05", "1761994805.5" or
 * "1761994805500000000" (since 1970), "+250ms" (after begin), "-1s" (before
 * end). And a duration: "250us", "1.5s", "2m", "100" (nanoseconds).
 * -EINVAL if it is neither.
 */
int sonde_expr_parse_time(const char *text, int64_t begin_ns, int64_t end_ns,
			  int64_t *ret_ns);
int sonde_expr_parse_duration(const char *text, int64_t *ret_ns);

#endif /* EXPR_EXPR_H */
