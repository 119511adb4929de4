/* SPDX-License-Identifier: MIT */
/*
 * fragments.h - the recorder's metadata as CTF 2.
 *
 * What there is to say is said in CTF 1.8's language (tsdl.h) and then put into
 * CTF 2's words, by the parser and the writer that readers use, too: so one
 * description of what Sonde records yields both, and both mean the same bytes.
 * A fragment ends with an empty line, like a block: metadata.h takes either.
 */
#ifndef CTF_FRAGMENTS_H
#define CTF_FRAGMENTS_H

#include "ctf/text.h"
#include "ctf/trace.h"

/* How many fragments the texts of tsdl.h are: preamble, trace class and clock
 * class; a data stream class, with event 0 if it is a program's; an event
 * record class. */
#define SONDE_CTF_FRAGMENTS_PREAMBLE 3u
#define SONDE_CTF_FRAGMENTS_CLASS(domain) \
	((domain) == SONDE_CTF_PROGRAMS ? 2u : 1u)
#define SONDE_CTF_FRAGMENTS_EVENT 1u

/*
 * Appends to `to` what `tsdl`, a whole text, is as fragments: `nr` of them
 * behind the first `skip`. -EINVAL if the text makes no sense, -ENOTSUP if CTF
 * 2 can't say it, -ENOMEM; nothing was appended then. The cost is that of the
 * whole text.
 */
int sonde_ctf_fragments(const struct sonde_text *tsdl, unsigned int skip,
			unsigned int nr, struct sonde_text *to);

#endif /* CTF_FRAGMENTS_H */
