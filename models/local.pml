/* SPDX-License-Identifier: MIT */
/*
 * local.pml - the kernel's ring, for Spin. models/run checks it.
 *
 * What is modelled is src/ring/local.h and local.c, step by step: each access
 * to what another context or CPU may touch is a step of its own, and whatever
 * runs on the same CPU can come between two steps, and the reader too.
 *
 * The CPU. Writers are three processes, a thread, an interrupt and an NMI. One
 * of them takes steps only while it is on `top`; an event of a higher level
 * begins at any step of a lower one, and that goes on when the event is over.
 * So they nest like parentheses, three deep. FLUSHES interrupts flush instead of
 * recording. The reader is on another CPU: it comes between any two steps.
 *
 * Memory. Positions are cells. A cell says which position it was written for
 * and whether a record starts there, which the real bytes don't: the reader may
 * look at that only in assertions. A commit word has 8 bits, of which
 * BYTES_MOD counts bytes, and starts so that bytes and events overflow in the
 * run; laps are counted modulo 8 and wrap too. Time is how many records were
 * reserved, so it stands still only while nobody gets on: the time that a writer
 * reads is right if nobody was here between its reading and its swap.
 *
 *	here			there
 *	retry .. swap		sonde_local_reserve(), reserve_here()
 *	next			reserve_next(), obstacle()
 *	prepare			prepare()
 *	leave			leave()
 *	write, commit		write_head(), sonde_local_commit(); a long header
 *				is committed by itself, first
 *	whole			sonde_local_whole()
 *	flush			sonde_local_flush()
 *	get			get_discard(), or get_overwrite() and take();
 *				with AGAIN, twice before put, as it may be
 *	put			sonde_local_put()
 *
 *	find, revive		note_over(), revive()
 *	pass			pass_discard(), take() of what is damaged
 *
 * DEATHS of the thread's events end at any step between the swap of pos and the
 * end of whole(), and the thread goes on with the next one, as another task
 * would. Who interrupts nobody may know it, or, with EPOCH, knows only that
 * nobody who ran before the last change of tasks runs any more.
 *
 * Asserted: records are whole and the right ones when they are read; nothing
 * that the reader holds is stored to; nothing is stored twice or outside a
 * reservation; the chunk's count of events, start and end are those of its
 * records; emitted = delivered + overwritten + lost + damaged + never committed,
 * at the end, when all that was committed and is whole is read (so none is read
 * twice); order of times; a loss was true when it was said, and with NO_LOSS
 * there is none; no dead writer's sub-buffer keeps anybody out who knows that he
 * is alone. Deadlocks and, with -DNP,
 * livelocks: every writer ends, whatever the reader does.
 *
 * Not modelled: weak memory order (local_order.pml); `last`, so who writes long
 * headers is given (LONG); the value of `discarded`; sizes too large.
 *
 * Each -DBUG_x breaks one rule, those of local.h by the same names;
 * `models/run --mutants` sees each caught.
 */

#ifndef SIZE
#define SIZE 4			/* cells of a sub-buffer */
#endif
#define SUBBUFS 2
#ifndef THREAD
#define THREAD 2		/* events of each level */
#endif
#ifndef IRQ
#define IRQ 1
#endif
#ifndef NMI
#define NMI 1
#endif
#ifndef FLUSHES
#define FLUSHES 0		/* so many of the interrupt's are flushes */
#endif
#ifndef CELLS_THREAD
#define CELLS_THREAD 1		/* of a record of each level */
#endif
#ifndef CELLS_IRQ
#define CELLS_IRQ 1
#endif
#ifndef CELLS_NMI
#define CELLS_NMI 1
#endif
#ifndef LONG
#define LONG 0			/* whose headers are long: bits 1, 2, 3 */
#endif
#ifndef DEATHS
#define DEATHS 0
#endif
#ifndef LAP0
#define LAP0 7			/* where the ring starts */
#endif

#define BYTES_MOD (4 * SIZE)
#define LAP_MOD 8
#define FULL_LAP (SUBBUFS * SIZE)
#define START (LAP0 * FULL_LAP)
#define EVENT_ BYTES_MOD	/* in a commit word */
#define EVENTS (THREAD + IRQ + NMI)

#define N(pos) ((pos) / SIZE)
#define OFF(pos) ((pos) % SIZE)
#define INDEX(n) ((n) % SUBBUFS)
#define NEXT(pos) (((pos) + SIZE - 1) / SIZE)
#define LAP(n) (((n) / SUBBUFS) % LAP_MOD)

/* The word of an index. */
#define WORD(lap, m, u, w) ((((lap) % LAP_MOD) * 4 + (m)) * 4 + (u) * 2 + (w))
#define LAP_OF(r) ((r) / 16)
#define MEM_OF(r) (((r) / 4) % 4)
#define UNREAD(r) (((r) / 2) % 2)
#define WRITER(r) ((r) % 2)

/* Invariant 1. */
#ifdef BUG_WRAP
#define IS_COMMITTED(n, c, bytes) \
	((c) % BYTES_MOD == ((n) / SUBBUFS) * SIZE + (bytes))
#else
#define IS_COMMITTED(n, c, bytes) \
	((c) % BYTES_MOD == (((n) / SUBBUFS) * SIZE + (bytes)) % BYTES_MOD)
#endif
#define EVENTS_OF(c, b) ((((c) + 256 - (b)) % 256) / EVENT_)
#define ADD(c, add) c = (c + (add)) % 256

#define CELL(pos, first, time) ((((pos) + 1) * 2 + (first)) * 16 + (time))
#define CELL_POS(cell) ((cell) / 32 - 1)
#define CELL_FIRST(cell) (((cell) / 16) % 2)
#define CELL_TIME(cell) ((cell) % 16)
#define AT(m, pos) ((m) * SIZE + OFF(pos))
#define CELLS (me == 1 -> CELLS_THREAD : (me == 2 -> CELLS_IRQ : CELLS_NMI))

/* Where the ring stands a header may be long: a cell more. */
#define IS_LONG (LONG >> me & 1)
#define HERE (CELLS + IS_LONG)

/* ---- the ring ---- */
short pos = START;
byte commit[SUBBUFS];
byte ref[SUBBUFS];
byte begin[SUBBUFS];
byte first_time[SUBBUFS];	/* ts_begin */
byte used[SUBBUFS];
short consumed = START;
byte lost;
byte overwritten;
short cell[(SUBBUFS + 1) * SIZE];
short read_pos = START;
short over = START;
short seen_pos = START;
byte seen_epoch;
byte damaged;			/* events, that were committed for nothing */
byte spare = SUBBUFS;

/* ---- the machine ---- */
byte top;			/* who runs; 0: nobody */
byte ended;
byte epoch = 1;			/* of who interrupts nobody */
byte deaths;
byte unfinished;		/* events: reserved by the dead */
#define WRITERS 3
#define OVER (ended == WRITERS)

/* ---- what we know about it, for the assertions only ---- */
byte reserved;			/* records: also the time */
byte delivered;
byte held = 255;		/* the memory of the reader's chunk */
byte held_from, held_to;

#define STEP(x) atomic { top == me -> x }

#ifdef BUG_STORE
#define SWAP_POS(old, new, otherwise) \
	STEP(if :: pos == old -> skip :: else -> otherwise fi); \
	STEP(pos = new; RESERVED)
#else
#define SWAP_POS(old, new, otherwise) \
	STEP(if :: pos == old -> pos = new; RESERVED :: else -> otherwise fi)
#endif

/* Order of times: nobody reserved between the clock and the swap. */
#define RESERVED assert(now == reserved); reserved = reserved + !is_flush

/* Adds to a commit word and keeps the sum. */
#ifdef BUG_BARRIER
#define COMMIT(i, add) STEP(sum = commit[i]); \
	STEP(ADD(sum, add); commit[i] = sum)
#else
#define COMMIT(i, add) STEP(ADD(commit[i], add); sum = commit[i])
#endif

/* A place where a thread may die: `mine` if it has a record that will never be
 * committed. */
#if DEATHS
#define MAY_DIE(mine) \
	if \
	:: atomic { \
		top == me && me == 1 && deaths < DEATHS -> \
		deaths++; unfinished = unfinished + (mine) \
	   }; goto done \
	:: true -> skip \
	fi
#else
#define MAY_DIE(mine) skip
#endif

/* Invariant 9. */
#ifdef BUG_HASTE
#define IS_OVER(n, o) (pos >= ((n) + 1) * SIZE)
#else
#ifdef BUG_STUCK
#define IS_OVER(n, o) false
#else
#define IS_OVER(n, o) ((o) >= ((n) + 1) * SIZE)
#endif
#endif

#ifdef BUG_RECHECK
#define MOVED false
#else
#define MOVED (pos != p)
#endif

#ifdef BUG_LAP
#define NOT_WHOLE false
#else
#define NOT_WHOLE (!IS_COMMITTED(n, c, 0))
#endif

#ifdef OVERWRITE
#define IS_FULL false
#else
#define IS_FULL (n * SIZE - consumed >= FULL_LAP)
#endif

/* A store goes to no cell that the reader holds: in overwrite mode memories
 * are its own (8), the spare too. */
#ifdef OVERWRITE
#define CHECK_STORE(m, at) assert(m != held && m != spare)
#else
#define CHECK_STORE(m, at) \
	assert(m != held || OFF(at) < held_from || OFF(at) >= held_to); \
	assert(N(at) - N(consumed) < SUBBUFS)
#endif

/* Invariant 7. */
#ifdef OVERWRITE
#define CHECK_WORD \
	assert(WRITER(ref[INDEX(n)]) && LAP_OF(ref[INDEX(n)]) == LAP(n))
#else
#define CHECK_WORD skip
#endif

/* sonde_local_whole() of sub-buffer k; `mine`: as MAY_DIE has it */
inline whole(k, mine)
{
#ifdef OVERWRITE
	MAY_DIE(mine);
	STEP(r = ref[INDEX(k)]);
	MAY_DIE(mine);
	if
#ifdef BUG_WHOLE
	:: true ->
		STEP(ref[INDEX(k)] = r - WRITER(r))
#else
	:: LAP_OF(r) == LAP(k) ->
		STEP(if
		     :: ref[INDEX(k)] == r -> ref[INDEX(k)] = r - WRITER(r)
		     :: else -> skip
		     fi)
	:: else -> skip
#endif
	fi;
	r = 0
#else
	skip
#endif
}

/* leave(): ends the sub-buffer of p there; `mine`: as MAY_DIE has it */
inline leave(mine)
{
	MAY_DIE(mine);
#ifndef BUG_USED
	STEP(used[INDEX(N(p))] = OFF(p));
#endif
	MAY_DIE(mine);
	COMMIT(INDEX(N(p)), SIZE - OFF(p));
#ifdef BUG_USED
	STEP(used[INDEX(N(p))] = OFF(p));
#endif
	if
	:: sum % SIZE == 0 -> whole(N(p), mine)
	:: else -> skip
	fi;
	sum = 0
}

/* prepare(): sub-buffer n will be entered */
inline prepare()
{
	do
	:: true ->
		STEP(r = ref[INDEX(n)]);
		if
		:: LAP_OF(r) != (LAP(n) + LAP_MOD - 1) % LAP_MOD -> break
		:: else -> skip
		fi;
		STEP(b = begin[INDEX(n)]);
		atomic {
			top == me;
			if
#ifdef BUG_EXCHANGE
			:: true ->
#else
			:: ref[INDEX(n)] == r ->
#endif
				ref[INDEX(n)] = WORD(LAP(n), MEM_OF(r), 1, 1);
				if
#ifdef BUG_UNREAD
				:: true -> b = EVENTS_OF(c, b)
#else
				:: UNREAD(r) -> b = EVENTS_OF(c, b)
				:: else -> b = 0
#endif
				fi
			:: else -> goto again
			fi
		};
		if
		:: b -> STEP(overwritten = overwritten + b)
		:: else -> skip
		fi;
		break;
again:
		skip
	od;
	r = 0;
	b = 0
}

/* note_over() */
inline find()
{
#ifdef EPOCH
	STEP(at = seen_pos);
	STEP(is_true = (seen_epoch != epoch));
	if
	:: is_true ->
		STEP(over = at);
		STEP(seen_epoch = epoch);
		STEP(seen_pos = p)
	:: else -> skip
	fi;
	is_true = 0;
	at = 0
#else
	if
	:: was == 0 -> STEP(over = p)
	:: else -> skip
	fi
#endif
}

#define MISSING ((((n) / SUBBUFS) * SIZE + 16 * BYTES_MOD - c) % BYTES_MOD)

/* revive(): sub-buffer n's predecessor is over, and not whole by c. */
inline revive()
{
#ifdef OVERWRITE
#ifndef BUG_RESYNC
	prepare();
#endif
#endif
	STEP(if
	     :: commit[INDEX(n)] == c -> ADD(commit[INDEX(n)], MISSING)
	     :: else -> skip
	     fi)
}

/* Who knows that he is alone is kept out by nobody. */
#ifdef EPOCH
#define MAY_BE_BUSY true
#else
#define MAY_BE_BUSY (was != 0)
#endif

/* prepare_begin() */
inline prepare_begin()
{
#ifdef BUG_BEGIN
	skip
#else
	STEP(b = begin[INDEX(n)]);
	STEP(if
	     :: begin[INDEX(n)] == b &&
		b % BYTES_MOD == (((n) / SUBBUFS + 3) * SIZE) % BYTES_MOD ->
		begin[INDEX(n)] = c
	     :: else -> skip
	     fi);
	b = 0
#endif
}

proctype writer(byte me; byte todo)
{
	byte was, now, c, b, r, sum, m, i;
	short p, n, at;
	bit is_flush, is_true;

	do
	:: todo ->
		atomic {
			top < me -> was = top; top = me;
			is_flush = (me == 2 && todo <= FLUSHES);
			todo--
		};
#ifdef BUG_CLOCK
		STEP(now = reserved);
#endif
retry:
		STEP(p = pos);
#ifndef BUG_CLOCK
		STEP(now = reserved);
#endif
		if
		:: is_flush ->
			if
			:: OFF(p) == 0 -> goto done
			:: else -> n = NEXT(p)
			fi;
			SWAP_POS(p, n * SIZE, goto retry);
			leave(0);
			goto done
		:: !is_flush && OFF(p) != 0 && OFF(p) + HERE < SIZE ->
			n = N(p);
			at = p;
			SWAP_POS(p, p + HERE, goto retry);
			goto write
		:: else -> n = NEXT(p)
		fi;

		/* next: */
		STEP(c = commit[INDEX(n)]);
		find();
		atomic {
			top == me;
			if
			:: !IS_FULL && NOT_WHOLE &&
			   IS_OVER(n - SUBBUFS, over) && MISSING <= SIZE ->
				goto repair
			:: IS_FULL || (NOT_WHOLE &&
			   (!IS_OVER(n - SUBBUFS, over) || MISSING > SIZE)) ->
				is_true = (pos == p);
				assert(!is_true || IS_FULL || MAY_BE_BUSY);
				goto lose
			:: else -> skip
			fi
		};
#ifdef OVERWRITE
#ifndef BUG_PREPARE
		prepare();
#endif
#endif
		prepare_begin();
		at = n * SIZE;
		SWAP_POS(p, at + CELLS, goto retry);
		if
		:: OFF(p) -> leave(1)
		:: else -> skip
		fi;
		MAY_DIE(1);
#ifdef BUG_BEGIN
		STEP(begin[INDEX(n)] = commit[INDEX(n)]);
#endif
		STEP(first_time[INDEX(n)] = now);
write:
		MAY_DIE(1);
		/* Invariant 7, if it is the kernel's memory that is named. */
		STEP(m = MEM_OF(ref[INDEX(n)]);
		     CHECK_WORD);
		do
		:: i < (OFF(at) -> HERE : CELLS) ->
			STEP(CHECK_STORE(m, at + i);
			     cell[AT(m, at + i)] = CELL(at + i, i == 0, now);
			     i++);
			MAY_DIE(1);
#ifndef BUG_COMMIT
			if
			:: i == 1 && IS_LONG && OFF(at) ->
				COMMIT(INDEX(n), 1);
				MAY_DIE(1)
			:: else -> skip
			fi
#endif
		:: else -> break
		od;
		i = 0;
		COMMIT(INDEX(n), CELLS + EVENT_);
		if
		:: sum % SIZE == 0 -> whole(n, 0)
		:: else -> skip
		fi;
		goto done;
repair:
		revive();
		goto retry;
lose:
		STEP(if :: MOVED -> goto retry :: else -> skip fi);
		STEP(assert(is_true); lost++);
#ifdef NO_LOSS
		assert(false);
#endif
done:
		atomic {
			top == me;
			p = 0; n = 0; at = 0; now = 0; c = 0; sum = 0; m = 0;
			is_flush = 0; is_true = 0; b = 0; r = 0; i = 0;
			epoch = epoch + (was == 0);
			top = was;
			was = 0
		}
	:: else -> break
	od;
	ended++
}

/* ---- the reader ---- */

/* What it has got: all of it is looked at in one step, since each store to it
 * meanwhile is an error (CHECK_STORE). */
inline chunk_check(m)
{
	i = held_from;
	e = 0;
	do
	:: i < held_to ->
		assert(CELL_POS(cell[m * SIZE + i]) == n * SIZE + i);
		assert(CELL_TIME(cell[m * SIZE + i]) >= time);
		time = CELL_TIME(cell[m * SIZE + i]);
		if
		:: i == 0 -> assert(CELL_FIRST(cell[m * SIZE]) &&
				    time == start)
		:: else -> skip
		fi;
		e = e + CELL_FIRST(cell[m * SIZE + i]);
		i++
	:: else -> break
	od;
	assert(e == events);
	assert(held_from == held_to || CELL_FIRST(cell[m * SIZE + held_from]));
	i = 0;
	e = 0
}

/* The rest of the fields. In discard mode nobody can change them. */
inline describe()
{
	start = first_time[INDEX(n)];
	held_from = OFF(read_pos);
	assert(EVENTS_OF(c, begin[INDEX(n)]) >= had);
	events = EVENTS_OF(c, begin[INDEX(n)]) - had;
	if
	:: closed -> held_to = used[INDEX(n)]
	:: else -> held_to = OFF(p)
	fi;
	assert(held_to >= shown)
}

/* When no writer runs any more, and the reader found nothing: it's all there is,
 * or, in overwrite mode, it may have to go on. */
#ifdef OVERWRITE
#define NOTHING_LEFT (read_pos == pos || \
	(LAP_OF(ref[INDEX(N(read_pos))]) == LAP(N(read_pos)) && \
	 WRITER(ref[INDEX(N(read_pos))])))
#else
#define NOTHING_LEFT true
#endif

#ifndef OVERWRITE

inline get()
{
	n = N(read_pos);
#ifndef BUG_OVER_LATE
	o = over;
#endif
#ifdef BUG_POS_FIRST
	p = pos;
	c = commit[INDEX(n)];
#else
	c = commit[INDEX(n)];
	p = pos;
#endif
#ifdef BUG_OVER_LATE
	o = over;
#endif
	atomic {
		closed = IS_COMMITTED(n, c, SIZE);
		if
		:: !closed && IS_OVER(n, o) && !shown ->
			damaged = damaged + EVENTS_OF(c, begin[INDEX(n)]) - had;
			had = 0;
			read_pos = (n + 1) * SIZE;
			consumed = read_pos;
			is_passed = 1
		:: !closed && (!IS_OVER(n, o) || shown) && (N(p) != n || p == read_pos ||
			       !IS_COMMITTED(n, c, OFF(p))) -> skip
		:: else ->
			describe();
			held = INDEX(n);
			is_given = 1
		fi
	}
}

#else

inline get()
{
	p = pos;
	atomic {
		n = N(read_pos);
		if
		:: NEXT(p) - n > SUBBUFS -> n = NEXT(p) - SUBBUFS
		:: else -> skip
		fi;
		read_pos = n * SIZE
	};
	if
	:: n == NEXT(p) -> goto got
	:: else -> skip
	fi;
	/* take() */
#ifndef BUG_OVER_LATE
	o = over;
#endif
	r = ref[INDEX(n)];
	atomic {
		if
		:: LAP_OF(r) != LAP(n) -> read_pos = (n + 1) * SIZE; goto got
#ifndef BUG_BUSY
		:: LAP_OF(r) == LAP(n) && WRITER(r) && !IS_OVER(n, o) ->
			goto got
#endif
		:: else -> skip
		fi
	};
	c = commit[INDEX(n)];
#ifdef BUG_OVER_LATE
	o = over;
#endif
	closed = 1;
	describe();
	atomic {
		if
#ifdef BUG_TAKE
		:: true ->
#else
		:: ref[INDEX(n)] == r ->
#endif
			ref[INDEX(n)] = WORD(LAP(n), spare, 0, 0);
			spare = MEM_OF(r);
			if
			:: IS_OVER(n, o) && !IS_COMMITTED(n, c, SIZE) ->
				damaged = damaged + events;
				read_pos = (n + 1) * SIZE;
				is_passed = 1
			:: else ->
				held = spare;
				is_given = 1
			fi
		:: else -> skip
		fi
	};
got:
	r = 0
}

#endif

inline put()
{
	delivered = delivered + events;
	if
	:: closed -> had = 0; read_pos = (n + 1) * SIZE
	:: else -> had = had + events; read_pos = read_pos + held_to - held_from
	fi
}

/* Nothing more will come, and all was read. */
inline account()
{
#ifndef OVERWRITE
	assert(read_pos == pos && !overwritten);
#endif
	assert(delivered + overwritten + damaged + unfinished == reserved);
	assert(reserved + lost == EVENTS - FLUSHES)
}

proctype reader()
{
	byte me = 9, c, r, i, e, sum, held_m, start, events, had, time, shown;
	short p, n, o;
	bit closed, is_given, is_passed, is_flushed;

	do
	:: true ->
		get();
		if
#ifdef AGAIN
		:: is_given && !shown && held_to > held_from ->
			shown = held_to;
			goto next_look
#endif
		:: is_given ->
#ifdef BUG_PUT
			consumed = (closed -> (n + 1) * SIZE : consumed);
#endif
			atomic {
				held_m = held;
				chunk_check(held_m);
				put();
				held = 255;
				held_from = 0;
				held_to = 0;
				events = 0;
				start = 0;
				is_given = 0;
				shown = 0;
				consumed = (closed -> read_pos : consumed);
				closed = 0
			}
		:: else ->
progress:
			atomic {
				closed = 0;
				c = 0;
				start = 0;
				events = 0;
				held_from = 0;
				held_to = 0;
				p = 0
			};
			if
			:: is_passed -> skip
			:: !is_passed && is_flushed && NOTHING_LEFT -> break
			:: !is_passed && OVER && !is_flushed -> goto flush
			:: else -> skip
			fi
		fi;
		goto next_look;
flush:
		atomic { top == 0 -> top = me; p = pos };
		if
		:: OFF(p) -> pos = NEXT(p) * SIZE; leave(0)
		:: else -> skip
		fi;
done:
		/* sonde_local_quiet() */
		atomic { top = 0; is_flushed = 1; p = 0; over = pos };
next_look:
		atomic { c = 0; p = 0; o = 0; is_passed = 0; n = (is_given -> n : 0) }
	od;
	account()
}

init
{
	byte i;

	atomic {
		do
		:: i < SUBBUFS ->
			commit[i] = (LAP0 * SIZE) % BYTES_MOD + 256 - EVENT_;
			begin[i] = (commit[i] + 256 - SIZE) % 256;
			ref[i] = WORD(LAP0 + LAP_MOD - 1, i, 0, 0);
			i++
		:: else -> break
		od;
		run writer(1, THREAD);
		run writer(2, IRQ);
		run writer(3, NMI);
		run reader()
	}
}
