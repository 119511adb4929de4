/* SPDX-License-Identifier: MIT */
/*
 * until.h - waits for a kernel event: `sonde record --until RULES`.
 *
 * A second, small recording of the sources of kernel/source.h, of which only
 * is looked at whether it has any event. The flight recorder (mode overwrite)
 * goes on until then; what it has is written when the event has happened.
 *
 * Cost: what the events that are waited for cost, and a look at each of its
 * streams in each of the recorder's rounds. One thread.
 */
#ifndef SESSION_UNTIL_H
#define SESSION_UNTIL_H

#include "kernel/kernel.h"

struct sonde_until;

/* `config` is the recording's; its rules, mode and memory are replaced. 0;
 * -errno with *error. */
int sonde_until_open(const struct sonde_kernel_config *config,
		     enum sonde_kernel_choice choice,
		     struct sonde_kernel_rules *rules,
		     struct sonde_kernel_error *error,
		     struct sonde_until **ret_until);

/* As the sources' start. */
int sonde_until_start(struct sonde_until *until, pid_t root,
		      struct sonde_kernel_error *error);

/* Whether the event has happened since the start. Once in each round. */
bool sonde_until_has_happened(struct sonde_until *until);

/* NULL is fine. */
void sonde_until_close(struct sonde_until *until);

#endif /* SESSION_UNTIL_H */
