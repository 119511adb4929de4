/* SPDX-License-Identifier: MIT */
/*
 * clock.pml - the synthetic clock, for Spin. models/run checks it.
 *
 * What is modelled is src/clock/narrow.h, and who uses it in
 * src/kmod/clock.c: each access to what another context may touch is a
 * step of its own, and interrupts and time come between any two.
 *
 * The CPU. Three processes, a thread, a timer's interrupt, and an NMI, nest like
 * parentheses: one takes steps only while it is on `top`. The interrupt renews
 * the moment, and leaves the CPU awake or asleep. The thread reads, and wakes
 * the CPU with interrupts disabled, so that only the NMI comes between.
 *
 * Time passes by itself, as far as narrow.h says that it may: a period at most
 * from a moment to a reading that counts from it, half a period from a reading
 * of the other clock to that of the counter, and any time while the CPU sleeps.
 * A moment is read before it is published, so this goes for the update too,
 * until `asleep` says how to count from it. The 64-bit time is stored in two
 * halves, so that also a CPU of 32 bits is this one.
 *
 *	here		there
 *	near		sonde_narrow_now()
 *	far		sonde_narrow_far()
 *	update		sonde_narrow_update()
 *	read		widened()
 *	wake, sleep	wake(), renew()
 *
 * Asserted: each reading is what the time was when its counter was read; so it
 * never goes back. With -DNP: nobody ever waits.
 *
 * Each -DBUG_x breaks one rule; `models/run --mutants` sees each caught.
 */

#ifndef PERIOD
#define PERIOD 4
#endif
#ifndef PERIODS
#define PERIODS 3		/* that pass */
#endif
#ifndef READS
#define READS 2			/* of the thread, and so many wakes */
#endif
#ifndef TIMERS
#define TIMERS 2
#endif
#ifndef NMIS
#define NMIS 2
#endif

#define LAST (PERIOD * PERIODS)

/* ---- the clock ---- */
bit index;
byte high[2], low[2], other[2];
bit asleep;

/* ---- the machine ---- */
byte truth;
byte top;
byte ended;

/* ---- what may be assumed: who counts from when ---- */
bit is_near[4];			/* counts from a moment at from[] */
byte from[4];
bit is_far[4];			/* has read the other clock at from[] */
bit is_reading[4];		/* and so many updates came on top */
byte updates[4];
byte moment;			/* of the complete slot */

#define STEP(x) atomic { top == me -> x }

#ifdef BUG_LONG
#define PERIOD_LEFT(since) (truth - (since) < PERIOD)
#else
#define PERIOD_LEFT(since) (truth - (since) < PERIOD - 1)
#endif
#define MAY_PASS(i) ((!is_near[i] || PERIOD_LEFT(from[i])) && \
	(!is_far[i] || truth - from[i] < PERIOD / 2 - 1))
#define TIME_MAY_PASS (MAY_PASS(1) && MAY_PASS(2) && MAY_PASS(3) && \
	(asleep || PERIOD_LEFT(moment)))

/* An update on top of a reader that has seen one already has to wait. */
#ifdef BUG_TWO_UPDATES
#define MAY_UPDATE true
#else
#define MAY_UPDATE ((!is_reading[1] || updates[1] < 1) && \
	(!is_reading[2] || updates[2] < 1))
#endif

#define BEGIN_READING is_reading[me] = 1; updates[me] = 0
#define END_READING is_reading[me] = 0; is_near[me] = 0; is_far[me] = 0; \
	updates[me] = 0; from[me] = 0

#ifdef BUG_COUNTER_FIRST
#define COUNTER_FIRST STEP(counter = truth % PERIOD; at = truth)
#define COUNTER_LAST skip
#else
#define COUNTER_FIRST skip
#define COUNTER_LAST STEP(counter = truth % PERIOD; at = truth)
#endif

#ifdef BUG_NO_WRAP
#define SINCE(t) (t - t % PERIOD + counter)
#else
#define SINCE(t) (t + (counter + PERIOD - t % PERIOD) % PERIOD)
#endif

inline near()
{
	COUNTER_FIRST;
	STEP(x = index; from[me] = moment);
	STEP(t = high[x] * PERIOD);
	STEP(t = t + low[x]);
	COUNTER_LAST;
	STEP(t = SINCE(t); assert(t == at); END_READING)
}

#ifdef BUG_FLOOR
#define WHOLE_PERIODS(span) ((span) / PERIOD)
#else
#define WHOLE_PERIODS(span) (((span) + PERIOD / 2) / PERIOD)
#endif

inline far()
{
	STEP(x = index);
	STEP(t = high[x] * PERIOD);
	STEP(t = t + low[x]);
	STEP(o = other[x]);
	STEP(is_near[me] = 0; is_far[me] = 1; from[me] = truth;
	     ticks = truth - o; o = truth);
	STEP(counter = truth % PERIOD; at = truth;
	     is_far[me] = 0; is_near[me] = 1; from[me] = truth);
	STEP(ticks = ticks + t;
	     t = SINCE(t);
	     if
	     :: ticks > t -> t = t + WHOLE_PERIODS(ticks - t) * PERIOD
	     :: else -> skip
	     fi;
	     ticks = 0;
	     assert(t == at))
}

#ifdef BUG_ONE_SLOT
#define NEXT index
#else
#define NEXT (1 - index)
#endif

inline update()
{
	atomic {
		top == me && MAY_UPDATE;
		if
		:: is_reading[1] -> updates[1]++
		:: else -> skip
		fi;
		if
		:: is_reading[2] && me > 2 -> updates[2]++
		:: else -> skip
		fi
	};
	far();
#ifdef BUG_FLIP_FIRST
	STEP(index = NEXT; moment = at);
	STEP(high[index] = t / PERIOD);
	STEP(low[index] = t % PERIOD);
	STEP(other[index] = o)
#else
	STEP(x = NEXT; high[x] = t / PERIOD);
	STEP(low[x] = t % PERIOD);
	STEP(other[x] = o);
	STEP(index = x; moment = at)
#endif
}

inline read()
{
	bit is_asleep;

	STEP(is_asleep = asleep; BEGIN_READING;
	     from[me] = moment;
	     is_near[me] = !is_asleep);
	if
	:: is_asleep -> is_asleep = 0; far(); STEP(END_READING)
	:: else -> near()
	fi
}

#define FORGET x = 0; t = 0; o = 0; at = 0; counter = 0

proctype thread()
{
	byte me = 1, x, t, o, ticks, at, counter, todo = READS;

	do
	:: todo ->
		atomic { top == 0 -> top = me; todo-- };
		read();
		atomic { top == me -> top = 0; FORGET };
		/* wake(), on the thread's behalf, interrupts disabled */
		if
		:: asleep ->
#ifndef BUG_UNMASKED
			me = 2;
#endif
			atomic { top == 0 -> top = me };
#ifdef BUG_AWAKE_FIRST
			STEP(asleep = 0);
			update();
			STEP(END_READING);
#else
			update();
			STEP(asleep = 0; END_READING);
#endif
			atomic { top == me -> top = 0; FORGET; me = 1 }
		:: true -> skip
		fi
	:: else -> break
	od;
	ended++
}

proctype timer()
{
	byte me = 2, x, t, o, ticks, at, counter, todo = TIMERS, was;
	bit sleeps;

	do
	:: todo ->
		atomic { top < me && MAY_UPDATE -> was = top; top = me; todo-- };
		if
		:: sleeps = 0
		:: sleeps = 1
		fi;
		update();
		STEP(asleep = sleeps; sleeps = 0; END_READING);
		read();
		atomic { top == me -> top = was; was = 0; FORGET }
	:: else -> break
	od;
	ended++
}

proctype nmi()
{
	byte me = 3, x, t, o, ticks, at, counter, todo = NMIS, was;

	do
	:: todo ->
		atomic { top < me -> was = top; top = me; todo-- };
		read();
		atomic { top == me -> top = was; was = 0; FORGET }
	:: else -> break
	od;
	ended++
}

proctype passage()
{
	do
	:: atomic { truth < LAST && TIME_MAY_PASS -> truth++ }
	:: atomic { ended == 3 -> break }
	od
}

init
{
	atomic {
		run thread();
		run timer();
		run nmi();
		run passage()
	}
}
