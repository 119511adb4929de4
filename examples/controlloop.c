/* SPDX-License-Identifier: MIT */
/*
 * controlloop.c - a control loop of 1 kHz: who makes it late?
 *
 *	controlloop [--turns NR] [--cpu CPU] [--disturb]
 *
 * Each millisecond the loop reads its sensor, computes, and sets its motor: a turn
 * takes some ten microseconds and must be over long before the next one. It is
 * pinned to a CPU (the last one it may use), and, the mistake in this program, runs
 * at nice 19, as what a batch job starts does.
 *
 * With --disturb there is a second process, "disturber", that it starts on the same
 * CPU: it sleeps for 50 ms, then computes for 5 ms, again and again. Turns are then
 * late every now and then, and the loop itself can't tell why.
 *
 * A turn is from loop:turn_begin to loop:turn_end, with the same `turn`; `late_ns`
 * is how much later it began than it should have. Try it:
 *
 *	cc controlloop.c -o controlloop $(pkg-config --cflags --libs sonde)
 *	sonde record --realtime -a -k sched,irq,timer -o late -- ./controlloop --disturb
 *	sonde report latency --explain --end 'event == "loop:turn_begin"' \
 *		--value late_ns --threshold 1ms late
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <sonde/tracepoint.h>

#define PERIOD_NS     1000000u
#define NS_PER_SECOND 1000000000u
#define TURNS_MAX     10000000

static uint64_t now_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t); /* it is always there */
	return (uint64_t)t.tv_sec * NS_PER_SECOND + (uint64_t)t.tv_nsec;
}

static void sleep_until(uint64_t ns)
{
	const struct timespec t = { (time_t)(ns / NS_PER_SECOND),
				    (long)(ns % NS_PER_SECOND) };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) ==
	       EINTR)
		;
}

/* A controller: what it does with its error is of no matter here. */
static double control(double position)
{
	static double sum;
	double error = 1.0 - position;

	for (int i = 0; i < 2000; i++)
		sum = sum * 0.999 + error * 0.001;
	return 0.5 * error + sum;
}

static void disturb(void)
{
	(void)prctl(PR_SET_NAME, "disturber");
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		uint64_t until;

		sleep_until(now_ns() + 50 * PERIOD_NS);
		until = now_ns() + 5 * PERIOD_NS;
		while (now_ns() < until)
			;
	}
}

static int run(uint32_t turns)
{
	uint64_t due = now_ns() + PERIOD_NS;
	uint64_t worst_ns = 0;
	uint32_t worst = 0;
	double position = 0;

	for (uint32_t turn = 1; turn <= turns; turn++, due += PERIOD_NS) {
		uint64_t late_ns;

		sleep_until(due);
		late_ns = now_ns() - due;
		sonde_event(loop, turn_begin, turn, late_ns);
		position += 0.01 * control(position);
		sonde_event(loop, turn_end, turn);
		if (late_ns > worst_ns) {
			worst_ns = late_ns;
			worst = turn;
		}
	}
	printf("turn %u of %u began %.3f ms late, all others less\n", worst,
	       turns, (double)worst_ns / 1e6);
	return 0;
}

/* The last CPU that this process may use. */
static int last_cpu(void)
{
	cpu_set_t set;
	int cpu = CPU_SETSIZE - 1;

	CPU_ZERO(&set);
	if (sched_getaffinity(0, sizeof(set), &set))
		return 0;
	while (cpu > 0 && !CPU_ISSET(cpu, &set))
		cpu--;
	return cpu;
}

int main(int argc, char **argv)
{
	int cpu = last_cpu();
	bool disturbed = false;
	long turns = 1000;
	pid_t disturber = 0;
	cpu_set_t set;
	int status;

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--disturb"))
			disturbed = true;
		else if (!strcmp(argv[i], "--turns") && i + 1 < argc)
			turns = strtol(argv[++i], NULL, 10);
		else if (!strcmp(argv[i], "--cpu") && i + 1 < argc)
			cpu = (int)strtol(argv[++i], NULL, 10);
		else
			turns = 0;
	}
	if (turns < 1 || turns > TURNS_MAX || cpu < 0 || cpu >= CPU_SETSIZE) {
		fprintf(stderr, "usage: controlloop [--turns NR] [--cpu CPU] "
				"[--disturb]\n");
		return 2;
	}
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set)) {
		perror("controlloop: --cpu");
		return 1;
	}
	if (disturbed && !(disturber = fork()))
		disturb();
	(void)setpriority(PRIO_PROCESS, 0, 19); /* lower: anybody may */
	if (disturber < 0) {
		perror("controlloop: fork");
		return 1;
	}
	status = run((uint32_t)turns);
	if (disturber) {
		(void)kill(disturber, SIGKILL); /* it is ours, and runs */
		(void)waitpid(disturber, NULL, 0);
	}
	return status;
}
