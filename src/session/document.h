/* SPDX-License-Identifier: MIT */
/*
 * document.h - a JSON object that somebody else wrote: a message, or the file of
 * a session (docs/protocol.md).
 *
 * What is asked for by a path, "events.recorded", is a member of a member; a number in
 * it, "triggers.0.when", is a place in a list. What
 * isn't there, or is of another type, is not given; nothing else is believed of
 * the text. Bounds: SONDE_DOCUMENT_MAX bytes, eight levels. A build without
 * json-c can read none: -ENOSYS.
 */
#ifndef SESSION_DOCUMENT_H
#define SESSION_DOCUMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SONDE_DOCUMENT_MAX (1u << 20)

struct sonde_session_document;

/* One object and nothing behind it but blanks. 0; -EINVAL, -ENOMEM, -ENOSYS. */
int sonde_session_document_read(const char *text, size_t size,
				struct sonde_session_document **ret_document);
void sonde_session_document_free(struct sonde_session_document *document);

/* NULL, or text without a NUL, which lives as long as the document. */
const char *
sonde_session_document_text(const struct sonde_session_document *document,
			    const char *path);
/* 0 if there is none. */
uint64_t
sonde_session_document_number(const struct sonde_session_document *document,
			      const char *path);
bool sonde_session_document_is_true(
	const struct sonde_session_document *document, const char *path);
bool sonde_session_document_has_number(
	const struct sonde_session_document *document, const char *path);
/* Whether the member isn't there, or is a whole number from 0 on, or a list. */
bool sonde_session_document_may_count(
	const struct sonde_session_document *document, const char *name);
bool sonde_session_document_may_list(
	const struct sonde_session_document *document, const char *name);
/* The first member that isn't one of the `nr` names; NULL: there is none. */
const char *
sonde_session_document_other(const struct sonde_session_document *document,
			     const char *const *names, size_t nr);
/* The i-th text of a list; NULL beyond the last. */
const char *
sonde_session_document_word(const struct sonde_session_document *document,
			    const char *path, size_t i);
/* How many values a list has. */
size_t sonde_session_document_nr(const struct sonde_session_document *document,
				 const char *path);

/* Another text, or number, in a member's place, or as a new member. */
void sonde_session_document_set_text(struct sonde_session_document *document,
				     const char *name, const char *text);
void sonde_session_document_set_number(struct sonde_session_document *document,
				       const char *name, uint64_t number);

/* All of it on one line; lives until the next call. */
const char *
sonde_session_document_line(const struct sonde_session_document *document);

#endif /* SESSION_DOCUMENT_H */
