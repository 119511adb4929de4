/* SPDX-License-Identifier: MIT */
/*
 * attach_hooks.h - `sonde record` and `sonde start` with --malloc, --locks and
 * --io of processes that run: what puts them in, as a table for the session.
 */
#ifndef CMD_ATTACH_HOOKS_H
#define CMD_ATTACH_HOOKS_H

#include "session/frontend_hooks.h"
#include "session/options.h"

/* 0, and *ret is `table` or, if none are wanted, as it was; or an exit status:
 * said why. Both are needed as long as the table is used; one for a process. */
int sonde_command_attach_hooks(struct sonde_record_options *options,
			       struct sonde_frontend_hooks *table,
			       const struct sonde_frontend_hooks **ret);

#endif /* CMD_ATTACH_HOOKS_H */
