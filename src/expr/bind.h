/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * bind.h - what the names in a condition stand for, by the same rules for all
 * kinds of records (docs/filter.md).
 *
 *	$payload.PATH	a field of the record
 *	$ctx.PATH	a field of its context
 *	$NAME		what all records have: `time`, `cpu`, `tid` ...
 *	PATH		a field of the record; else of its context; else what
 *			all records have. But `event` is always its name
 *
 * A record's kind says where its fields are and of which type: `field` finds
 * one by its path ("len", "hdr.len", "list[2]"), `own` what all records have.
 *
 * And which names and labels no kind of record has: those are slips of the pen,
 * for what they are compared with would silently differ, always. One kind says
 * nothing about that, for another may have them; so all kinds are asked.
 *
 * Hosted.
 */
#ifndef EXPR_BIND_H
#define EXPR_BIND_H

#include "expr/expr.h"

/* Bytes of a path with its NUL; a longer one is -EINVAL. */
#define SONDE_BIND_PATH_MAX 256u

enum sonde_bind_place {
	SONDE_BIND_PAYLOAD,
	SONDE_BIND_CONTEXT,
	SONDE_BIND_ANY, /* the payload, else the context */
};

enum sonde_bind_own {
	SONDE_BIND_TIME,
	SONDE_BIND_CPU,
	SONDE_BIND_TID,
	SONDE_BIND_PID,
	SONDE_BIND_PPID,
	SONDE_BIND_PRIO,
	SONDE_BIND_NICE,
	SONDE_BIND_PID_NS,
	SONDE_BIND_PROCNAME, /* a string, as what follows; the others are INT */
	SONDE_BIND_CGROUP,
	SONDE_BIND_CONTAINER,
	SONDE_BIND_POLICY,
	SONDE_BIND_EVENT, /* bind.c knows it */
	SONDE_BIND_OWNS,
};

/* "time", "cpu" ...; NULL: there are no more. */
const char *sonde_bind_own_name(size_t i);

struct sonde_bind {
	const char *event; /* its name */
	void *ctx;         /* of these: 0, -ENOENT, -EINVAL, -ENOMEM */
	int (*field)(void *ctx, enum sonde_bind_place place, const char *path,
		     struct sonde_expr_source *ret_source);
	int (*own)(void *ctx, enum sonde_bind_own own,
		   struct sonde_expr_source *ret_source);
};

/* A struct sonde_expr_scope's find, whose ctx is a struct sonde_bind. */
int sonde_bind_find(void *ctx, const char *path, size_t length,
		    struct sonde_expr_source *ret_source);

/* ---- what no kind has ---- */

struct sonde_bind_check;

/* `expr` is borrowed. 0, -ENOMEM; *ret_check is for _free(). */
int sonde_bind_check_new(const struct sonde_expr *expr,
			 struct sonde_bind_check **ret_check);

/* Asks one kind of record. 0, or -ENOMEM if `scope` said so. What is compared
 * with the event's name is a label, too: one of the kinds must have it. */
int sonde_bind_check_try(struct sonde_bind_check *check,
			 const struct sonde_expr_scope *scope);

/* A name that the kind just asked has: of what isn't found, it may be meant. And
 * the kind's own, for who forgot the quotes. */
void sonde_bind_check_offer(struct sonde_bind_check *check, const char *name);
void sonde_bind_check_offer_event(struct sonde_bind_check *check,
				  const char *event);

/* Whether no kind that is yet to be asked can change what is found. */
bool sonde_bind_check_settled(const struct sonde_bind_check *check);

struct sonde_bind_slip {
	const char *name; /* that nothing has, or whose labels `words` is of */
	uint32_t column;
	char words[256];  /* of a label: what is wrong. Else "" */
	const char *hint; /* of a name: "; did you mean ...", or "" */
};
/* The next one (*at: 0 for the first), names before labels; false: there are
 * no more. */
bool sonde_bind_check_next(struct sonde_bind_check *check, size_t *at,
			   struct sonde_bind_slip *ret_slip);

/* NULL is fine. */
void sonde_bind_check_free(struct sonde_bind_check *check);

#endif /* EXPR_BIND_H */
