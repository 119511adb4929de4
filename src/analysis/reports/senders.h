/* SPDX-License-Identifier: MIT */
/*
 * senders.h - waits for bytes, and who sent these: of each wait in a history that
 * bytes ended, the waker becomes the thread that sent them, on whatever machine.
 *
 * Of a thread that was blocked in a call that then received, the bytes that it
 * received first are what it waited for. One that was blocked in epoll_wait(),
 * poll() or select() said of several sockets that it waits for any: what it then
 * received, before it was blocked again, ended the wait if all of that came from
 * one thread; else nobody can tell. All that counts only if it was not a thread, a
 * timer or a device of its own machine that woke it.
 *
 * When the bytes were sent is known by the sender's clock, which is known to a
 * bound. The wait is
 *   - the sender's (SONDE_WAKER_SENDER), if they were sent after it had begun: up to
 *     then it waited for the sender, and from then on for the network; or, if they
 *     were sent before it began, for the network alone
 *   - in no order to it (SONDE_WAKER_UNORDERED), if the bound has room for both
 */
#ifndef ANALYSIS_REPORTS_SENDERS_H
#define ANALYSIS_REPORTS_SENDERS_H

#include "analysis/reports/blame_history.h"

/* Whether it may have been bytes that ended the wait, of a waker that isn't a
 * sender. */
bool sonde_senders_may_be_bytes(const struct sonde_waker *waker);
/* Transfers are matched. 0 or -ENOMEM. */
int sonde_senders_find(struct sonde_history *history,
		       const struct sonde_transfers *transfers,
		       const struct sonde_host_clock *clocks);

#endif /* ANALYSIS_REPORTS_SENDERS_H */
