/* SPDX-License-Identifier: MIT */
/*
 * holder.h - what the recorder of a session and the holder of its hooks
 * (start_hooks.h) say to each other, a message each:
 *
 *	recorder -> holder	SONDE_HOLDER_END: take the hooks out
 *				SONDE_HOLDER_CHANGE and functions, in the form of
 *				rules: record these from now on
 *	holder -> recorder	its notes, in a struct sonde_summary: the hooks are out
 *				struct sonde_holder_said: of that change
 *				one byte: none could be put in, there is no session
 *
 * A change is answered before anything else is done; until then the recorder asks
 * for no other, but it may ask for the end.
 */
#ifndef SESSION_HOLDER_H
#define SESSION_HOLDER_H

#include <stdint.h>

#define SONDE_HOLDER_END    'e'
#define SONDE_HOLDER_CHANGE 'c'

struct sonde_holder_said {
	int32_t rc;      /* 0, or -errno of what the text names */
	char text[1000]; /* lines on what is recorded now */
};

#endif /* SESSION_HOLDER_H */
