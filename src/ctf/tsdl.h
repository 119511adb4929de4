/* SPDX-License-Identifier: MIT */
/*
 * tsdl.h - the text of the metadata: CTF 1.8's description language.
 *
 * Each function appends one block, or a few, that stand for themselves: what
 * was appended before, and every block on its own, is valid text. Names and
 * labels may hold any byte but NUL; they are escaped here.
 *
 * How what Sonde knows is said in the language:
 *
 *	a field or label n	_n: no reserved word starts with '_' (but
 *				_Bool and two more: they get __), and readers
 *				take the '_' away
 *	a sequence s		__s_length, then _s[__s_length]
 *	a variant v		the tag's labels and v's options have the same
 *				names, made of the labels
 *	a sequence as an option	a structure of `length` and `data`
 *
 * All is aligned to bytes, but for the parts of a compact record header.
 */
#ifndef CTF_TSDL_H
#define CTF_TSDL_H

#include <sonde/abi.h>

#include "ctf/describe.h"
#include "ctf/text.h"
#include "ctf/trace.h"

/* Everything up to the first stream class. All of `config` is set. */
void sonde_tsdl_preamble(struct sonde_ctf_text *text,
			 const struct sonde_ctf_config *config);

void sonde_tsdl_class(struct sonde_ctf_text *text,
		      const struct sonde_ctf_config *config, uint32_t class_id,
		      enum sonde_header_kind kind, const char *comment);

/* -EINVAL if it can't be said: a variant that is itself a variant's option. */
int sonde_tsdl_event(struct sonde_ctf_text *text, enum sonde_ctf_domain domain,
		     uint32_t class_id, uint32_t id,
		     const struct sonde_desc *desc,
		     const struct sonde_ctf_contexts *has);

#endif /* CTF_TSDL_H */
