/* SPDX-License-Identifier: MIT */
/*
 * forked.h - a child of fork() has the text of its parent, probes and all: they
 * are taken out of it.
 */
#ifndef PROBE_INJECT_FORKED_H
#define PROBE_INJECT_FORKED_H

#include "probe/inject/process.h"

/* Takes out what is another process's, as far as sites[] of their agents names
 * it. 0, also if there are none; -errno with *error: what is there
 * stays, and does nothing but to run what it replaced. */
int sonde_process_clear_inherited(pid_t pid, struct sonde_process_error *error);

#endif /* PROBE_INJECT_FORKED_H */
