/* SPDX-License-Identifier: MIT */
/*
 * local_order.pml - the kernel's ring on CPUs with weak memory order, for Spin.
 * models/run checks it.
 *
 * Litmus tests: the pairs of accesses by which the writers' CPU and the reader's
 * (src/ring/local.h, local.c) tell one another something. Each CPU is a list of
 * operations on a few variables, which it performs in any order that the
 * architecture permits:
 *
 *  - An operation may be performed when it must not wait for any before it that
 *    was not performed. It waits for an earlier one if both use one variable; if
 *    it is a store and the earlier a condition (the loads that decide whether it
 *    happens); if it needs that load's value (an address); if the earlier one is
 *    an acquire; if it is a release itself; and if there is a fence between that
 *    orders the two. Loads do not wait for loads, nor for conditions.
 *  - When a store is performed everybody sees it: memory is multi-copy atomic,
 *    as ARMv8's is.
 *
 * So whatever ARMv8 may reorder here is reordered, every way. x86 reorders less.
 * A release fence orders what is before with stores after it, an acquire fence
 * loads before with what is after it, as in C11.
 *
 *	TEST	says			hears			asserted
 *	1 commit	record, fields;		commit (acquire);	the record is
 *		commit (release)	record, fields		there
 *	2 prefix	pos; record; commit	commit (acquire); pos	all below pos
 *		(release); again				is there
 *	3 whole	commit; fence; w = 0	ref (acquire); fields	they are there
 *	4 enter	ref = next lap; fence;	fields; fence; swap	if it succeeds,
 *		fields			of ref			the fields were
 *								this lap's
 *	5 pos	ref = next lap; fence;	pos (acquire); ref	the word is not
 *		pos						older than pos
 *	6 put	reads; consumed		consumed (acquire);	what is read is
 *		(release)		next record		not the next one
 *	  spare	the same: reads; swap	ref (acquire); next	the same
 *		of ref (release)	record
 *	7 sees	commit (acquire);	read_pos (acquire);	pos is not before
 *		read_pos (release)	pos			read_pos
 *
 * Each -DBUG_x leaves out one barrier: BUG_SAY what is said with, BUG_HEAR what
 * is heard with.
 */

#ifndef TEST
#define TEST 1
#endif

/* Operations of the two CPUs: done, and what the loads found. */
bit said[4], heard[4];
byte x, y, z;		/* the variables, 0 at first */
byte got_x, got_y, got_z;

#ifdef BUG_SAY
#define SAY(order) true
#else
#define SAY(order) (order)
#endif
#ifdef BUG_HEAR
#define HEAR(order) true
#else
#define HEAR(order) (order)
#endif

#if TEST == 1
/* x: the record; y: a field; z: commit */
#define SAYS \
	:: atomic { !said[0] -> x = 1; said[0] = 1 } \
	:: atomic { !said[1] -> y = 1; said[1] = 1 } \
	:: atomic { !said[2] && SAY(said[0] && said[1]) -> z = 1; said[2] = 1 }
#define SAID (said[0] && said[1] && said[2])
#define HEARS \
	:: atomic { !heard[0] -> got_z = z; heard[0] = 1 } \
	:: atomic { !heard[1] && HEAR(heard[0]) -> got_x = x; heard[1] = 1 } \
	:: atomic { !heard[2] && HEAR(heard[0]) -> got_y = y; heard[2] = 1 }
#define HEARD (heard[0] && heard[1] && heard[2])
#define CLAIM (got_z == 0 || (got_x == 1 && got_y == 1))

#elif TEST == 2
/* x: pos, in records; y: the second record; z: commit. A first record is
 * committed, then a second one is reserved, written and committed; the reader
 * believes a prefix if both words agree: then the second record is there, if it
 * counts. pos may not be older than commit: else what is reserved but not
 * committed looks like a part of what is. */
#define SAYS \
	:: atomic { !said[0] -> x = 1; said[0] = 1 } \
	:: atomic { !said[1] && SAY(said[0]) -> z = 1; said[1] = 1 } \
	:: atomic { !said[2] && said[0] -> x = 2; said[2] = 1 } \
	:: atomic { !said[3] && said[1] && SAY(said[2]) -> z = 2; said[3] = 1 }
#define SAID (said[0] && said[1] && said[2] && said[3])
#define HEARS \
	:: atomic { !heard[0] -> got_z = z; heard[0] = 1 } \
	:: atomic { !heard[1] && HEAR(heard[0]) -> got_x = x; heard[1] = 1 }
#define HEARD (heard[0] && heard[1])
#define CLAIM (got_x >= got_z)

#elif TEST == 3
/* x: commit, or a field before it; z: w is clear */
#define SAYS \
	:: atomic { !said[0] -> x = 1; said[0] = 1 } \
	:: atomic { !said[1] && SAY(said[0]) -> z = 1; said[1] = 1 }
#define SAID (said[0] && said[1])
#define HEARS \
	:: atomic { !heard[0] -> got_z = z; heard[0] = 1 } \
	:: atomic { !heard[1] && HEAR(heard[0]) -> got_x = x; heard[1] = 1 }
#define HEARD (heard[0] && heard[1])
#define CLAIM (got_z == 0 || got_x == 1)

#elif TEST == 4
/* x: a field; z: ref: the lap to be taken (0), taken (2), or the next one (1),
 * which the writer enters whether it was taken or not. */
#define SAYS \
	:: atomic { !said[0] -> z = 1; said[0] = 1 } \
	:: atomic { !said[1] && SAY(said[0]) -> x = 1; said[1] = 1 }
#define SAID (said[0] && said[1])
#define HEARS \
	:: atomic { !heard[0] -> got_x = x; heard[0] = 1 } \
	:: atomic { !heard[1] && HEAR(heard[0]) -> got_z = z; \
		if \
		:: z == 0 -> z = 2 \
		:: else -> skip \
		fi; heard[1] = 1 }
#define HEARD (heard[0] && heard[1])
#define CLAIM (got_z != 0 || got_x == 0)

#elif TEST == 5
/* x: the lap in ref; z: pos */
#define SAYS \
	:: atomic { !said[0] -> x = 1; said[0] = 1 } \
	:: atomic { !said[1] && SAY(said[0]) -> z = 1; said[1] = 1 }
#define SAID (said[0] && said[1])
#define HEARS \
	:: atomic { !heard[0] -> got_z = z; heard[0] = 1 } \
	:: atomic { !heard[1] && HEAR(heard[0]) -> got_x = x; heard[1] = 1 }
#define HEARD (heard[0] && heard[1])
#define CLAIM (got_z == 0 || got_x == 1)

#elif TEST == 6
/* x: the record, which the reader (who says) reads; z: consumed, or that
 * it is the spare's place now. That the writer's store waits for the condition
 * that lets it is no barrier's doing but the architecture's, so BUG_HEAR takes
 * away that, too. */
#define SAYS \
	:: atomic { !said[0] -> got_x = x; said[0] = 1 } \
	:: atomic { !said[1] && SAY(said[0]) -> z = 1; said[1] = 1 }
#define SAID (said[0] && said[1])
#define HEARS \
	:: atomic { !heard[0] -> got_z = z; heard[0] = 1 } \
	:: atomic { !heard[1] && HEAR(heard[0]) -> \
		if \
		:: HEAR(got_z) -> x = 1 \
		:: else -> skip \
		fi; heard[1] = 1 }
#define HEARD (heard[0] && heard[1])
#define CLAIM (got_x == 0 || (heard[0] && got_z == 0))

#else
/* 7: x: pos, y: commit, both of a writer on a third CPU, whose order test 2 is
 * about; z: read_pos, of the reader, who says. As in 6, BUG_SAY takes away the
 * condition, too. */
#define SAYS \
	:: atomic { !said[0] -> x = 1; said[0] = 1 } \
	:: atomic { !said[1] && said[0] -> y = 1; said[1] = 1 } \
	:: atomic { !said[2] -> got_y = y; said[2] = 1 } \
	:: atomic { !said[3] && SAY(said[2]) -> \
		if \
		:: SAY(got_y) -> z = 1 \
		:: else -> skip \
		fi; said[3] = 1 }
#define SAID (said[0] && said[1] && said[2] && said[3])
#define HEARS \
	:: atomic { !heard[0] -> got_z = z; heard[0] = 1 } \
	:: atomic { !heard[1] && HEAR(heard[0]) -> got_x = x; heard[1] = 1 }
#define HEARD (heard[0] && heard[1])
#define CLAIM (got_z == 0 || got_x == 1)
#endif

active proctype says()
{
	do
	SAYS
	:: SAID -> break
	od
}

active proctype hears()
{
	do
	HEARS
	:: HEARD -> break
	od
}

/* When both have done all, in whatever order. */
active proctype claims()
{
	SAID && HEARD;
	assert(CLAIM)
}
