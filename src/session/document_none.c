/* SPDX-License-Identifier: MIT */
/* document_none.c - what stands for document.c in a build without json-c. */
#include "session/document.h"

#include <errno.h>

int sonde_session_document_read(const char *text, size_t size,
				struct sonde_session_document **ret_document)
{
	(void)text;
	(void)size;
	(void)ret_document;
	return -ENOSYS;
}

void sonde_session_document_free(struct sonde_session_document *document)
{
	(void)document;
}

const char *
sonde_session_document_text(const struct sonde_session_document *document,
			    const char *path)
{
	(void)document;
	(void)path;
	return NULL;
}

bool sonde_session_document_has_number(
	const struct sonde_session_document *document, const char *path)
{
	(void)document;
	(void)path;
	return false;
}

bool sonde_session_document_may_count(
	const struct sonde_session_document *document, const char *name)
{
	(void)document;
	(void)name;
	return false;
}

bool sonde_session_document_may_list(
	const struct sonde_session_document *document, const char *name)
{
	(void)document;
	(void)name;
	return false;
}

const char *
sonde_session_document_other(const struct sonde_session_document *document,
			     const char *const *names, size_t nr)
{
	(void)document;
	(void)names;
	(void)nr;
	return NULL;
}

uint64_t
sonde_session_document_number(const struct sonde_session_document *document,
			      const char *path)
{
	(void)document;
	(void)path;
	return 0;
}

bool sonde_session_document_is_true(
	const struct sonde_session_document *document, const char *path)
{
	(void)document;
	(void)path;
	return false;
}

size_t sonde_session_document_nr(const struct sonde_session_document *document,
				 const char *path)
{
	(void)document;
	(void)path;
	return 0;
}

const char *
sonde_session_document_word(const struct sonde_session_document *document,
			    const char *path, size_t i)
{
	(void)document;
	(void)path;
	(void)i;
	return NULL;
}

void sonde_session_document_set_text(struct sonde_session_document *document,
				     const char *name, const char *text)
{
	(void)document;
	(void)name;
	(void)text;
}

void sonde_session_document_set_number(struct sonde_session_document *document,
				       const char *name, uint64_t number)
{
	(void)document;
	(void)name;
	(void)number;
}

const char *
sonde_session_document_line(const struct sonde_session_document *document)
{
	(void)document;
	return "";
}
