/* SPDX-License-Identifier: MIT */
/*
 * ring.pml - the ring's writers and readers, for Spin. models/run checks it.
 *
 * What is modelled is src/ring/writer.c, commit_<arch>.S, emit_x86_64.S and
 * reader.c, step by step: whatever another thread, a signal handler, another
 * process or a kill can come between is a step of its own here.
 *
 * Processors. cur[cpu] is the emitter that took the last step on a CPU. Each
 * step of an emitter writes itself there; inside a restartable sequence, an
 * emitter that finds somebody else there, or that was moved to another CPU,
 * goes to its abort handler, as the kernel would make it. So every
 * interleaving of the threads of a CPU is a preemption between those two
 * instructions, and nothing else need be said about scheduling. A read in a
 * sequence may share a step with its neighbour if only threads of the same CPU
 * write the word: they would abort the sequence.
 *
 * A signal handler is an emitter with the thread id and CPU of another, which
 * stands still from the handler's first step to its last. Migration moves an
 * emitter at any instant (MOVES times). KILL ends all emitters at any instant;
 * the reader, another process, goes on.
 *
 * Memory. A sub-buffer has CAP cells. A context record takes one, an event
 * EV of them, each stored by a step of its own; a head is two steps. A cell
 * says what it is (thread, coarse time, event, part) and which sub-buffer
 * number it was written for, which the real bytes don't: readers may look at
 * that only in assertions. The commit word is one variable: seq, offset and
 * count change in one step, as they do in the code. Time is reduced to the
 * bits 27..58 that the gate's key holds; CLOCK lets it move on.
 *
 *	here			there
 *	fast			emit_x86_64.S: word_armed .. word_done
 *	plan			try_once()
 *	do_switch		sonde_writer_switch(): open and switch, of a
 *				record that an empty sub-buffer takes
 *	do_context		sonde_writer_context()
 *	gate			open_gate(): gate_end, gate_key
 *	commit			sonde_rseq_commit: commit_armed .. commit_done;
 *				sonde_lane_commit: lane_copied, lane_committed
 *	next_lane		sonde_writer_lock(): lane_locked
 *	consumer		sonde_ring_peek/_advance/_release
 *	narrow			sonde_ring_narrow(), and what its caller punches
 *				out: give_some_back() in session/arena_source.c
 *	recorder		sonde_ring_rewind/_peek/_verify
 *
 * Memory that is given back (NARROW times): the reader lowers the limit, and
 * what is beyond it becomes zeros, cell by cell, while the writers go on with
 * plans that they made by the limit before.
 *
 * Asserted: layout.h's invariants 1 to 5 at each store they speak of; no store
 * goes where memory is just given back, and no writer is there; each
 * store to a sub-buffer goes beyond the position and not into what the reader
 * has not released; each record read is whole, of the thread its context
 * record names, and read once; all that was committed is read (discard mode);
 * emitted = recorded + discarded; what verify() passes is not torn; neither
 * reader ever finds a contradiction. Deadlocks and, with -DNP, livelocks:
 * with a limited number of preemptions (PREEMPT) every emitter ends.
 *
 * Not modelled: weak memory order (each step is sequentially consistent; the
 * fences' comments in the C code are all there is); the wrap of the 20-bit
 * sequence number, that is a thread that is stopped while exactly a multiple
 * of 2^20 sub-buffers goes by; the size of records, strings that change and
 * discarded_size; more than one slot.
 *
 * Each -DBUG_x breaks one rule; `models/run --mutants` sees each caught.
 */

#ifndef THREADS
#define THREADS 2		/* emitters that are threads */
#endif
#ifndef HANDLERS
#define HANDLERS 0		/* emitters that interrupt thread 0 */
#endif
#ifndef EVENTS
#define EVENTS 2		/* of each emitter */
#endif
#ifndef CPUS
#define CPUS 1
#endif
#ifndef LANES
#define LANES 0
#endif
#ifndef PLANS
#define PLANS 0			/* on a CPU's ring; 0: no limit */
#endif
#ifndef ROUNDS
#define ROUNDS 2
#endif
#ifndef SUBBUFS
#define SUBBUFS 2
#endif
#ifndef CAP
#define CAP 6
#endif
#ifndef EV
#define EV 2			/* cells of an event */
#endif
#ifndef MOVES
#define MOVES 0
#endif
#ifndef CLOCK
#define CLOCK 0
#endif
#ifndef NARROW
#define NARROW 0		/* how often memory is given back; discard mode */
#endif
#ifdef BUG_NARROW_TO_ONE
#define KEPT 1
#else
#define KEPT 2			/* sub-buffers, the reader's own among them */
#endif
#ifndef LOOKS
#define LOOKS 2			/* of the recorder, in overwrite mode */
#endif

#define EMITTERS (THREADS + HANDLERS)
#define RINGS (CPUS + LANES)
#define NOBODY 255

/* The commit word, 0 until the ring is opened. */
#define W(seq, off, count) (((seq) * 16 + (off)) * 8 + (count) + 1)
#define SEQ(w) (((w) - 1) / 128)
#define OFF(w) ((((w) - 1) / 8) % 16)
#define COUNT(w) (((w) - 1) % 8)

/* The key: 0 is closed. */
#define KEY(tid, t) (2 * (tid) + (t) + 2)

/* A cell: what, then for which sub-buffer. Events are numbered over all
 * emitters. */
#define CONTEXT(tid, t) (1 + 2 * (tid) + (t))
#define EVENT(e, part) (32 + (e) * EV + (part))
#define CELL(what, seq) ((seq) * 128 + (what))
#define WHAT(cell) ((cell) % 128)
#define AT(r, seq, off) (((r) * SUBBUFS + (seq) % SUBBUFS) * CAP + (off))
#define HEAD(r, seq) ((r) * SUBBUFS + (seq) % SUBBUFS)

/* ---- the ring, in shared memory ---- */
short w[RINGS];
byte key[RINGS];
short end[RINGS];		/* seq of the sub-buffer it belongs to */
byte limit[RINGS];
byte discarded[RINGS];
bit lock[RINGS];
short cell[RINGS * SUBBUFS * CAP];
short head_seq[RINGS * SUBBUFS];
byte head_events[RINGS * SUBBUFS];
byte head_discarded[RINGS * SUBBUFS];
byte prev_used[RINGS * SUBBUFS];
byte lost_contended;

/* ---- the machine ---- */
byte cur[CPUS];
byte cpu[EMITTERS];
bit moved[EMITTERS];
bit masked[EMITTERS];		/* a handler runs on top of it */
bit busy[EMITTERS];		/* in an event */
bit now;
bit dead;
byte ended;
#ifdef PREEMPT
byte preempt = PREEMPT;
#endif

/* ---- what we know about it, for the assertions only ---- */
byte context_tid[RINGS];	/* of the stream's last context record */
bit context_time[RINGS];
short context_seq[RINGS] = -1;
byte recorded[RINGS];
short recorded_set;		/* one bit per event */
short dropped_set;
byte most[RINGS];		/* the greatest limit there was */
short hole[RINGS];		/* seq from which memory is given back; 0: none */

/*
 * A step of `me`. With PREEMPT, a thread in an event may lose its CPU to
 * another thread's step so many times only.
 */
#define MINE (cur[cpu[me]] == me)
#ifdef PREEMPT
#define RUN (!dead && !masked[me] && (MINE || cur[cpu[me]] == NOBODY || \
	!busy[cur[cpu[me]]] || masked[cur[cpu[me]]] || preempt > 0))
#define TAKE if \
	:: MINE || cur[cpu[me]] == NOBODY || !busy[cur[cpu[me]]] || \
	   masked[cur[cpu[me]]] -> skip \
	:: else -> preempt-- \
	fi; cur[cpu[me]] = me
#else
#define RUN (!dead && !masked[me])
#define TAKE cur[cpu[me]] = me
#endif

#define STEP(x) atomic { RUN -> TAKE; x }

/* A step inside a sequence: goes to the abort handler if it was left. */
#ifdef BUG_NO_ABORT
#define IN_SEQUENCE(x) STEP(x)
#else
#define IN_SEQUENCE(x) atomic { RUN -> \
	if \
	:: lane || (MINE && !moved[me]) -> cur[cpu[me]] = me; x \
	:: else -> TAKE; goto plan \
	fi }
#endif

/* The start of one: armed, and the CPU checked. */
#ifdef BUG_NO_CPU_CHECK
#define ARM STEP(moved[me] = 0)
#else
#define ARM atomic { RUN -> TAKE; moved[me] = 0; \
	if \
	:: lane || r == cpu[me] -> skip \
	:: else -> goto plan \
	fi }
#endif

/* Invariants 3 and 5, whenever w, key or end has been stored. */
#define CHECK \
	assert(!key[r] || end[r] == SEQ(w[r])); \
	assert(!key[r] || (context_seq[r] == SEQ(w[r]) && \
		key[r] == KEY(context_tid[r], context_time[r])))

/* What is stored there is not lost in memory that is given back. */
#define CHECK_HOLE(seq) assert(!hole[r] || (seq) < hole[r])

/* Invariant 1, before a cell is stored: it lies in the current sub-buffer
 * beyond the position. Heads: see do_switch. */
#define CHECK_STORE(seq, off) \
	assert((seq) == SEQ(w[r]) && (off) >= OFF(w[r]) && (off) < CAP); \
	CHECK_HOLE(seq)

#ifdef OVERWRITE
#define CHECK_LIMIT skip
#else
#define CHECK_LIMIT assert(dst_seq < most[r])
#endif

/* Before anything of the next sub-buffer is stored. */
#define CHECK_NEXT \
	CHECK_LIMIT; \
	CHECK_HOLE(dst_seq); \
	assert(!w[r] || dst_seq == SEQ(w[r]) + 1)

#ifdef BUG_NO_CONTEXT
#define MY_KEY KEY(0, t)
#elif defined(BUG_TIMELESS_KEY)
#define MY_KEY KEY(tid, 0)
#else
#define MY_KEY KEY(tid, t)
#endif

#ifdef BUG_PUBLISH_EARLY
#define PUBLISHED(next) w[r]
#else
#define PUBLISHED(next) (next)
#endif

#ifdef BUG_SPLIT_COUNT
#define COUNTED 0
#define LATE_COUNT STEP(w[r] = w[r] + 1)
#else
#define COUNTED 1
#define LATE_COUNT skip
#endif

/* Values that will not be used again only make states. */
#define FORGET atomic { i = 0; t = 0; what = 0; old_seq = 0; events = 0; \
	used = 0; losses = 0; dst_seq = 0; dst_off = 0; parts = 0; next = 0; \
	my_key = 0; no_room = 0; true_loss = 0; FORGET_P }

/* Where nobody moves and the clock stands still, fewer steps say the same. */
#if MOVES > 0
#define PLAN_CPU STEP(if :: lane -> skip :: else -> r = cpu[me] fi)
#else
#define PLAN_CPU skip
#endif
#if CLOCK > 0
#define PLAN_TIME STEP(t = now; my_key = MY_KEY)
#else
#define PLAN_TIME my_key = MY_KEY
#endif

#ifdef BUG_STALE_PLAN
#define FORGET_P
#else
#define FORGET_P p = 0
#endif

#ifdef BUG_STALE_PLAN
#define PLAN_W STEP(if :: p == 0 -> p = w[r] :: else -> skip fi)
#else
#define PLAN_W STEP(p = w[r])
#endif

#ifdef BUG_STALE_LOSS
#define SECOND_LOOK(moved) false
#else
#define SECOND_LOOK(moved) (moved)
#endif

#ifdef BUG_LOSS_UNCOUNTED
#define COUNT_LOSS skip
#else
#define COUNT_LOSS discarded[r]++
#endif

#ifdef BUG_LANE_UNLOCKED
#define LOCK_LANE STEP(lane = 1)
#elif defined(BUG_LANE_WAITS)
#define LOCK_LANE atomic { RUN && !lock[r] -> TAKE; lock[r] = 1; lane = 1 }
#else
#define LOCK_LANE STEP(if \
	:: lock[r] -> goto next_lane \
	:: else -> lock[r] = 1; lane = 1 \
	fi)
#endif

#ifdef NO_RSEQ
#define NO_FAST
#define GIVE_UP true
#elif PLANS
#define GIVE_UP (plans == PLANS)
#else
#define GIVE_UP false
#endif
#if PLANS && !defined(NO_RSEQ)
#define PLAN_COUNTED plans = plans + (lane -> 0 : 1)
#else
#define PLAN_COUNTED skip
#endif

proctype emitter(byte me; byte tid; bit handler)
{
	byte n, r, tries, plans, i;
	byte dst_off, parts, my_key;
	short p, dst_seq, next, old_seq;
	byte used, events, losses;
	byte what;		/* see below */
	bit lane, t, no_room, true_loss;
	bit is_done;		/* its event is committed */

	/* what the step that is being committed is; a switch has the head in two
	 * parts, a context record and the event */
#define HEADS 2
#define SWITCH 0
#define CONTEXT_ 1
#define RECORD 2

	{ do
	:: n < EVENTS ->
		atomic {
			RUN;
			if
			:: handler -> masked[0] = 1; cpu[me] = cpu[0]
			:: else -> skip
			fi;
			TAKE;
			busy[me] = 1;
			r = cpu[me];
		}
#ifndef NO_FAST
fast:
		atomic {
			RUN -> TAKE;
			moved[me] = 0;
			r = cpu[me];
			t = now;
			if
			:: key[r] == MY_KEY -> skip
			:: else -> goto plan
			fi
		}
		IN_SEQUENCE(p = w[r]; old_seq = end[r];
			if
			:: OFF(p) + EV >= CAP -> goto plan
			:: else -> i = 0
			fi);
		do
		:: i < EV ->
			IN_SEQUENCE(CHECK_STORE(old_seq, OFF(p) + i);
				cell[AT(r, old_seq, OFF(p) + i)] =
				CELL(EVENT(me * EVENTS + n, i), old_seq);
				i++)
		:: else -> break
		od;
		IN_SEQUENCE(w[r] = PUBLISHED(p + 8 * EV + COUNTED);
			assert(context_tid[r] == tid &&
			       context_time[r] == t &&
			       context_seq[r] == SEQ(p));
			recorded[r]++;
			recorded_set = recorded_set |
				       (1 << (me * EVENTS + n));
			i = 0);
		LATE_COUNT;
		goto event_done;
#endif
plan:
		atomic {
			if
			:: is_done -> goto event_done
			:: else -> skip
			fi;
			if
			:: !lane && GIVE_UP -> goto lanes
			:: else -> PLAN_COUNTED
			fi
		};
replan:
		/* try_once */
		FORGET;
		PLAN_CPU;
		PLAN_W;
		PLAN_TIME;
		STEP(if
		     :: p == 0 -> goto do_switch
		     :: p != 0 && key[r] != my_key -> goto do_context
		     :: p != 0 && key[r] == my_key && OFF(p) + EV >= CAP ->
			goto do_switch
		     :: else -> what = RECORD; dst_seq = SEQ(p);
			dst_off = OFF(p); parts = EV;
			next = p + 8 * EV + COUNTED;
			goto commit
		     fi);

do_context:
		atomic {
			if
			:: OFF(p) + 1 >= CAP -> goto do_switch
			:: else -> what = CONTEXT_; dst_seq = SEQ(p);
				dst_off = OFF(p); parts = 1; next = p + 8;
				goto commit
			fi
		};

do_switch:
		/* The head of the sub-buffer in p: stable while w is p, and if
		 * it isn't the commit will fail. */
		STEP(losses = discarded[r];
		     if
		     :: p == 0 -> old_seq = -1
		     :: else -> old_seq = head_seq[HEAD(r, SEQ(p))];
			events = head_events[HEAD(r, SEQ(p))] + COUNT(p);
			used = OFF(p)
		     fi);
#if !defined(OVERWRITE) && !defined(BUG_NO_LIMIT)
		STEP(no_room = old_seq + 1 >= limit[r]; true_loss = w[r] == p);
		if
		:: no_room ->
			STEP(if
			     :: SECOND_LOOK(w[r] != p) -> goto plan
			     :: else -> skip
			     fi);
			STEP(assert(true_loss);
			     COUNT_LOSS;
			     dropped_set = dropped_set |
					   (1 << (me * EVENTS + n));
			     goto event_done)
		:: else -> skip
		fi;
#endif
		atomic {
			what = SWITCH;
			dst_seq = old_seq + 1;
			dst_off = 0;
			parts = HEADS + 1 + EV;
			next = W(dst_seq, 1 + EV, 1)
		};

commit:
#ifdef BUG_SEPARATE_CLOSE
		/* closed by a step of its own: somebody else may open it before
		 * w moves */
		if
		:: what != RECORD ->
			ARM;
			IN_SEQUENCE(if
				    :: w[r] != p -> goto plan
				    :: else -> key[r] = 0
				    fi)
		:: else -> skip
		fi;
#endif
		ARM;
#ifndef BUG_NO_W_CHECK
		IN_SEQUENCE(if
			    :: w[r] != p -> goto plan
			    :: else -> skip
			    fi);
#endif
#if !defined(BUG_NO_CLOSE) && !defined(BUG_SEPARATE_CLOSE)
		if
		:: what != RECORD -> IN_SEQUENCE(key[r] = 0)
		:: else -> skip
		fi;
#endif
#ifdef BUG_PUBLISH_EARLY
		IN_SEQUENCE(w[r] = next);
#endif
		do
		:: i < parts && what == SWITCH ->
			/* invariants 1 and 5: what is overwritten was read */
			IN_SEQUENCE(
				if
				:: i == 0 ->
					CHECK_NEXT;
					head_seq[HEAD(r, dst_seq)] = dst_seq
				:: i == HEADS ->
					CHECK_NEXT;
					cell[AT(r, dst_seq, 0)] =
						CELL(CONTEXT(tid, t), dst_seq)
				:: i > HEADS ->
					CHECK_NEXT;
					cell[AT(r, dst_seq, i - HEADS)] =
						CELL(EVENT(me * EVENTS + n,
						     i - HEADS - 1), dst_seq)
				:: else ->
					head_events[HEAD(r, dst_seq)] = events;
					head_discarded[HEAD(r, dst_seq)] =
						losses;
					prev_used[HEAD(r, dst_seq)] = used
				fi;
				i++)
		:: i < parts && what == CONTEXT_ ->
			IN_SEQUENCE(
				cell[AT(r, dst_seq, dst_off)] =
					CELL(CONTEXT(tid, t), dst_seq);
				i++)
		:: i < parts && what == RECORD ->
			IN_SEQUENCE(CHECK_STORE(dst_seq, dst_off + i);
				cell[AT(r, dst_seq, dst_off + i)] =
				CELL(EVENT(me * EVENTS + n, i), dst_seq);
				i++)
		:: i == parts -> break
		od;
		IN_SEQUENCE(
			w[r] = PUBLISHED(next);
			if
			:: what != RECORD ->
				context_tid[r] = tid;
				context_time[r] = t;
				context_seq[r] = SEQ(next)
			:: else ->
				assert(context_tid[r] == tid &&
				       context_time[r] == t &&
				       context_seq[r] == SEQ(next))
			fi;
			if
			:: what != CONTEXT_ ->
				recorded[r]++;
				recorded_set = recorded_set |
					       (1 << (me * EVENTS + n));
				is_done = 1
			:: else -> skip
			fi;
			CHECK;
			i = 0);
		if
		:: what == RECORD -> LATE_COUNT; goto event_done
		:: else -> skip
		fi;

gate:
#ifndef BUG_KEY_BEFORE_END
		ARM;
		IN_SEQUENCE(if
			    :: w[r] != next -> goto plan
			    :: else -> end[r] = SEQ(next); CHECK
			    fi);
#endif
		ARM;
#ifdef BUG_GATE_UNCHECKED
		IN_SEQUENCE(key[r] = my_key; CHECK);
#else
		IN_SEQUENCE(if
			    :: w[r] != next -> goto plan
			    :: else -> key[r] = my_key; CHECK
			    fi);
#endif
#ifdef BUG_KEY_BEFORE_END
		ARM;
		IN_SEQUENCE(if
			    :: w[r] != next -> goto plan
			    :: else -> end[r] = SEQ(next); CHECK
			    fi);
#endif
		goto plan;

lanes:
next_lane:
		if
		:: tries == (LANES > 0 -> LANES * ROUNDS : 0) ->
			STEP(lost_contended++;
			     dropped_set = dropped_set |
					   (1 << (me * EVENTS + n));
			     goto event_done)
		:: else -> skip
		fi;
		r = CPUS + (tid + tries) % (LANES > 0 -> LANES : 1);
		tries++;
		LOCK_LANE;
		goto replan;

event_done:
progress:
		if
		:: lane -> STEP(lock[r] = 0; lane = 0)
		:: else -> skip
		fi;
		FORGET;
		STEP(busy[me] = 0;
		     cur[cpu[me]] = NOBODY;
		     n++;
		     p = 0;
		     is_done = 0;
		     tries = 0;
		     plans = 0;
		     if
		     :: handler -> masked[0] = 0
		     :: else -> skip
		     fi)
	:: else -> break
	od;
	ended++ } unless { dead }
}

/* ---- readers, in the recorder's process ---- */

#define ALL ((1 << (EMITTERS * EVENTS)) - 1)
#define OVER (dead || ended == EMITTERS)
#define EMITTER_TID(e) ((e) / EVENTS < THREADS -> (e) / EVENTS : 0)
#define TID_OF(context) (((context) - 1) / 2)


#ifndef OVERWRITE

#define FRESH(r) (w[r] && (SEQ(w[r]) != seq[r] || OFF(w[r]) != off[r]))
#if CPUS + LANES > 2
#define ANY_FRESH (FRESH(0) || FRESH(1) || FRESH(2))
#elif CPUS + LANES > 1
#define ANY_FRESH (FRESH(0) || FRESH(1))
#else
#define ANY_FRESH FRESH(0)
#endif

inline read_cell(c)
{
	what = WHAT(c);
	assert(c == CELL(what, seq[r]) && what);
	if
	:: what < 32 ->
		assert(part == 0);
		context[r] = what
	:: else ->
		assert((what - 32) % EV == part);
		e = (what - 32) / EV;
		assert(context[r] && TID_OF(context[r]) == EMITTER_TID(e));
		assert(part == 0 || e == last);
		last = e;
		part++;
		if
		:: part == EV ->
			assert(!(seen & (1 << e)));
			seen = seen | (1 << e);
			events[r]++;
			part = 0
		:: else -> skip
		fi
	fi
}

/* Nothing more will come: what was read against what was done. */
inline final_account()
{
	assert(seen == recorded_set);
	r = 0;
	e = lost_contended;
	do
	:: r < RINGS ->
		/* sonde_ring_count() */
		assert(!w[r] || head_events[HEAD(r, SEQ(w[r]))] +
		       COUNT(w[r]) == recorded[r]);
		e = e + recorded[r] + discarded[r];
		r++
	:: else -> break
	od;
	assert(dead || e == EMITTERS * EVENTS);
	assert(dead || (recorded_set | dropped_set) == ALL);
	assert(!(recorded_set & dropped_set))
}

/* sonde_ring_release() */
#define RELEASE(r, seq) \
	atomic { limit[r] = (seq) + SUBBUFS; most[r] = limit[r] }

/* sonde_ring_is_within() */
#define WITHIN(r) (off[r] && w[r] && SEQ(w[r]) == seq[r])

#ifdef BUG_NARROW_UNCHECKED
#define STILL_WITHIN(r) true
#else
#define STILL_WITHIN(r) WITHIN(r)
#endif

#if defined(BUG_NARROW_NOT) || defined(BUG_NARROW_LATE)
#define LOWER(r) skip
#else
#define LOWER(r) limit[r] = seq[r] + KEPT
#endif
#ifdef BUG_NARROW_LATE
#define LOWER_LATE(r) limit[r] = seq[r] + KEPT
#else
#define LOWER_LATE(r) skip
#endif

/* One sub-buffer of ring 0 becomes zeros: the head, then cell by cell. Whoever
 * is in there, or gets there meanwhile, loses what it writes. */
inline punch(s)
{
	atomic {
		assert(SEQ(w[0]) < hole[0]);
		head_seq[HEAD(0, s)] = 0;
		head_events[HEAD(0, s)] = 0;
		head_discarded[HEAD(0, s)] = 0;
		prev_used[HEAD(0, s)] = 0;
		to = 0
	};
	do
	:: to < CAP ->
		atomic {
			assert(SEQ(w[0]) < hole[0]);
			cell[AT(0, s, to)] = 0;
			to++
		}
	:: else -> break
	od
}

/* The last first, as the code does. Ring 0. */
inline give_back()
{
	LOWER(0);
	if
	:: STILL_WITHIN(0) ->
		hole[0] = seq[0] + KEPT;
		p = seq[0] + SUBBUFS - 1;
		do
		:: p >= seq[0] + KEPT ->
			punch(p);
			p--
		:: else -> break
		od;
		LOWER_LATE(0);
		hole[0] = 0
	:: else -> skip
	fi;
	RELEASE(0, seq[0]);
	atomic { p = 0; to = 0 }
}

/* What the writer may overwrite is asserted where it does (CHECK_LIMIT), so
 * that cells are read one by one makes a difference to some faults only. */
#ifdef BUG_RELEASE_EARLY
#define READ_BEGIN
#define READ_END
#else
#define READ_BEGIN atomic {
#define READ_END }
#endif

proctype consumer()
{
	short seq[RINGS];
	byte off[RINGS], context[RINGS], events[RINGS];
	byte r, to, part, e, last, narrows;
	short p, what, seen;
	bit closed;

	do
#if NARROW > 0
	:: atomic { narrows < NARROW && WITHIN(0) -> narrows++ }; give_back()
#endif
	:: atomic { FRESH(0) -> r = 0; p = w[0] }; goto chunk
#if CPUS + LANES > 1
	:: atomic { FRESH(1) -> r = 1; p = w[1] }; goto chunk
#endif
#if CPUS + LANES > 2
	:: atomic { FRESH(2) -> r = 2; p = w[2] }; goto chunk
#endif
	:: atomic { OVER && !(ANY_FRESH) -> final_account(); break };
chunk:
		/* sonde_ring_peek: no -ESTALE, no -EPROTO in this mode */
		atomic {
			assert(SEQ(p) - seq[r] < SUBBUFS);
			assert(head_seq[HEAD(r, seq[r])] == seq[r]);
			closed = SEQ(p) != seq[r];
			if
			:: closed ->
				assert(head_seq[HEAD(r, seq[r] + 1)] ==
				       seq[r] + 1);
				to = prev_used[HEAD(r, seq[r] + 1)]
			:: else -> to = OFF(p)
			fi;
			assert(to >= off[r]);
			if
			:: off[r] == 0 -> events[r] = 0; context[r] = 0
			:: else -> skip
			fi;
			assert(head_discarded[HEAD(r, seq[r])] <= discarded[r])
		};
#ifdef BUG_RELEASE_EARLY
		RELEASE(r, seq[r] + (closed -> 1 : 0));
#endif
		READ_BEGIN
		do
		:: off[r] < to ->
			atomic {
				read_cell(cell[AT(r, seq[r], off[r])]);
				off[r]++
			}
		:: else -> break
		od
		READ_END;
		assert(part == 0);
		if
		:: closed ->
			atomic {
				assert(head_events[HEAD(r, seq[r] + 1)] -
				       head_events[HEAD(r, seq[r])] ==
				       events[r]);
				seq[r] = seq[r] + 1;
				off[r] = 0
			}
#ifndef BUG_RELEASE_EARLY
			RELEASE(r, seq[r])
#endif
		:: else -> skip
		fi
	od
}

#else

/*
 * The head or the position makes no sense. The C code may say so (-EPROTO)
 * only if the writer has not come round meanwhile.
 */
#ifdef BUG_NO_SECOND_READ
#define CONTRADICTION(s) assert(false)
#else
#define CONTRADICTION(s) assert(SEQ(w[0]) - (s) + 1 >= SUBBUFS)
#endif

#ifdef BUG_NO_MARGIN
#define SAFE(s) (SEQ(w[0]) - (s) < SUBBUFS)
#elif defined(BUG_NO_VERIFY)
#define SAFE(s) true
#else
#define SAFE(s) (SEQ(w[0]) - (s) + 1 < SUBBUFS)
#endif

inline copy_cell(c)
{
	what = WHAT(c);
	if
	:: c != CELL(what, seq) || !what -> torn = 1
	:: else -> skip
	fi;
	if
	:: what < 32 ->
		context = what
	:: else ->
		if
		:: (what - 32) % EV != part || !context ||
		   TID_OF(context) != EMITTER_TID((what - 32) / EV) ||
		   (part > 0 && (what - 32) / EV != last) -> torn = 1
		:: else -> skip
		fi;
		last = (what - 32) / EV;
		part = (part + 1) % EV;
		events = events + (part == 0 -> 1 : 0)
	fi
}

/* A flight recorder, at any time, LOOKS times. Ring 0. */
proctype recorder()
{
	short seq, p, what;
	byte looks, off, to, context, events, part, last, before, after;
	bit torn, closed;

	do
	:: looks < LOOKS ->
		looks++;
		/* sonde_ring_rewind */
		p = w[0];
		if
		:: p == 0 -> goto next_look
		:: else -> skip
		fi;
		atomic {
			seq = head_seq[HEAD(0, SEQ(p))];
			if
			:: seq != SEQ(p) -> CONTRADICTION(SEQ(p));
				goto next_look
			:: else -> skip
			fi;
			seq = (seq > SUBBUFS - 2 -> seq - (SUBBUFS - 2) : 0);
			off = 0
		};
peek:
		p = w[0];
		atomic {
			if
			:: SEQ(p) - seq >= SUBBUFS -> goto next_look
			:: SEQ(p) == seq && OFF(p) == off -> goto next_look
			:: else -> closed = SEQ(p) != seq
			fi
		};
		/* read_head: one word after the other, the number first */
		atomic {
			if
			:: head_seq[HEAD(0, seq)] != seq ->
				CONTRADICTION(seq); goto next_look
			:: else -> skip
			fi
		};
		atomic {
			before = head_events[HEAD(0, seq)];
			to = OFF(p);
			after = before + COUNT(p)
		};
		if
		:: closed ->
			atomic {
				if
				:: head_seq[HEAD(0, seq + 1)] != seq + 1 ->
					CONTRADICTION(seq); goto next_look
				:: else -> skip
				fi
			};
			atomic {
				after = head_events[HEAD(0, seq + 1)];
				to = prev_used[HEAD(0, seq + 1)];
				if
				:: to < off || to > CAP ->
					CONTRADICTION(seq); goto next_look
				:: else -> skip
				fi
			}
		:: else -> skip
		fi;
		atomic {
			torn = 0;
			part = 0;
			if
			:: off == 0 -> context = 0; events = 0
			:: else -> skip
			fi
		};
		do
		:: off < to ->
			atomic {
				copy_cell(cell[AT(0, seq, off)]);
				off++
			}
		:: else -> break
		od;
		/* sonde_ring_verify */
		atomic {
			if
			:: SAFE(seq) -> assert(!torn && part == 0 &&
					       after - before == events)
			:: else -> goto next_look
			fi;
			if
			:: closed -> seq++; off = 0
			:: else -> skip
			fi
		};
		goto peek;
next_look:
		skip
	:: else -> break
	od;
	OVER;
	assert(dead || recorded[0] + lost_contended == EMITTERS * EVENTS);
	assert(!w[0] || head_events[HEAD(0, SEQ(w[0]))] + COUNT(w[0]) ==
	       recorded[0])
}

#endif

/* ---- what may happen at any time ---- */

proctype scheduler()
{
	byte moves;

	do
	:: moves < MOVES && !OVER ->
		atomic {
			moves++;
			if
			:: cur[cpu[0]] == 0 || cur[cpu[0]] == THREADS ->
				cur[cpu[0]] = NOBODY
			:: else -> skip
			fi;
			cpu[0] = (cpu[0] + 1) % CPUS;
			moved[0] = 1;
#if HANDLERS > 0
			cpu[THREADS] = cpu[0];
			moved[THREADS] = 1
#endif
		}
	:: CLOCK && !now && !OVER -> now = 1
#ifdef KILL
	:: !OVER -> dead = 1
#endif
	:: OVER -> break
	:: true -> break
	od
}

/* Who may move starts where the others are. */
#if MOVES > 0
#define FIRST_CPU(i) 0
#else
#define FIRST_CPU(i) (i < THREADS -> i % CPUS : 0)
#endif

init
{
	byte i;

	atomic {
		do
		:: i < CPUS -> cur[i] = NOBODY; i++
		:: else -> break
		od;
		i = 0;
		do
		:: i < RINGS -> limit[i] = SUBBUFS; most[i] = SUBBUFS; context_seq[i] = -1; i++
		:: else -> break
		od;
		i = 0;
		do
		:: i < RINGS * SUBBUFS -> head_seq[i] = -1; i++
		:: else -> break
		od;
		i = 0;
		do
		:: i < EMITTERS ->
			cpu[i] = FIRST_CPU(i);
			run emitter(i, (i < THREADS -> i : 0), i >= THREADS);
			i++
		:: else -> break
		od;
#ifdef OVERWRITE
		run recorder();
#else
		run consumer();
#endif
#if MOVES > 0 || CLOCK > 0 || defined(KILL)
		run scheduler()
#endif
	}
}
