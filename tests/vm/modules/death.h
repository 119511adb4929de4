/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * death.h - for a sonde.ko whose writers die between reserve and commit: those
 * of threads named DEATH_NAME, as an oops in what is recorded would have it.
 * Included before all else by SONDE_CFLAGS="-include .../death.h".
 *
 * Threads named LEVEL_DEATH_NAME die with their scratch memory: the record is
 * committed, the level is not left.
 *
 * The two test points that are used are in functions that return nothing, so
 * returning from them is the commit that never comes. The others are nothing: the
 * second argument of a list whose first is no macro.
 */
#ifndef DEATH_H
#define DEATH_H

#include <linux/sched.h>
#include <linux/string.h>

#define DEATH_NAME                       "dies-in-capture"
#define LEVEL_DEATH_NAME                 "dies-in-level"

#define DEATH_SECOND(first, second, ...) second
#define DEATH_CHOOSE(...)                DEATH_SECOND(__VA_ARGS__)
#define DEATH_AT_before_commit           0, if (!strcmp(current->comm, DEATH_NAME)) return
#define DEATH_AT_before_leave \
	0, if (!strcmp(current->comm, LEVEL_DEATH_NAME)) return
#define SONDE_LOCAL_TESTPOINT(name) \
	DEATH_CHOOSE(DEATH_AT_##name, ((void)0), ((void)0))

#endif /* DEATH_H */
