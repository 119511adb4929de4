/* SPDX-License-Identifier: MIT */
/*
 * shown.h - the trace that is shown, which another takes the place of: the same, opened
 * anew, when it has grown, as soon as its index is made; or what is there now by its
 * name, when its files are others (here.h) or were torn while they were read (torn.h). If
 * nothing is there, that is told, and what was read before is shown until there is.
 *
 * A request has what was shown when it came until it is answered, so nothing changes
 * below its feet. That is let go of when its last request is over.
 *
 * Cost: the index is made anew each time, by reading all. So the pause between two is
 * at least four times what that took: a trace whose index takes longer than a
 * quarter of a second is shown with that delay.
 */
#ifndef VIEW_HTTP_SHOWN_H
#define VIEW_HTTP_SHOWN_H

#include <pthread.h>

#include "view/http/here.h"
#include "view/http/server.h"
#include "view/http/view.h"

struct sonde_view_one {
	struct sonde_view view; /* the first member */
	bool owned;             /* its trace is ours */
	unsigned int users;
	struct sonde_view_here *here;
	unsigned int tears;  /* that there were when it was opened */
	uint64_t settles_ns; /* until then it may not grow; monotonic */
};

struct sonde_view_shown {
	/* ---- private ---- */
	const struct sonde_view_config *config; /* borrowed */
	pthread_mutex_t lock; /* of `now`, users and the trouble */
	pthread_cond_t stop;
	struct sonde_view_one *now; /* the thread alone replaces it */
	char trouble[600];          /* "": none */
	atomic_bool stopping;
	atomic_bool live; /* more may come */
	bool started;
	pthread_t thread;
};

/* 0 or a negative errno; to be finished in any case. */
int sonde_view_shown_start(struct sonde_view_shown *shown,
			   const struct sonde_view_config *config);
/* Whoever reads gives up. */
void sonde_view_shown_stop(struct sonde_view_shown *shown);
/* When there are no requests any more. */
void sonde_view_shown_fini(struct sonde_view_shown *shown);

/* Good until it is given back. */
struct sonde_view *sonde_view_shown_take(struct sonde_view_shown *shown);
/* False: what was read of it may be wrong, since a file was torn. */
bool sonde_view_shown_give_back(struct sonde_view_shown *shown,
				struct sonde_view *view);

/* Why the trace can't be read any more, in words; "": it can. */
void sonde_view_shown_trouble(struct sonde_view_shown *shown, char *ret_text,
			      size_t size);

#endif /* VIEW_HTTP_SHOWN_H */
