/* SPDX-License-Identifier: MIT */
/*
 * names.c - names of the files in a trace directory (names.h).
 */
#include "ctf/names.h"

#include <stdio.h>
#include <string.h>

bool sonde_ctf_name_valid(const char *name)
{
	size_t size = strlen(name);

	return size > 0 && size <= SONDE_CTF_NAME_MAX && name[0] != '.' &&
	       !strchr(name, '/') && strcmp(name, SONDE_CTF_METADATA) != 0 &&
	       strcmp(name, SONDE_CTF_INDEX_DIR) != 0;
}

void sonde_ctf_name_stream(struct sonde_ctf_name *ret_name, const char *stream,
			   uint32_t file_nr)
{
	if (file_nr == 0)
		(void)snprintf(ret_name->text, sizeof(ret_name->text), "%s",
			       stream);
	else
		(void)snprintf(ret_name->text, sizeof(ret_name->text), "%s_%u",
			       stream, file_nr);
}

void sonde_ctf_name_hidden(struct sonde_ctf_name *ret_name, const char *name)
{
	(void)snprintf(ret_name->text, sizeof(ret_name->text), ".%s.new", name);
}

void sonde_ctf_name_index(struct sonde_ctf_name *ret_visible,
			  struct sonde_ctf_name *ret_hidden, const char *name)
{
	(void)snprintf(ret_visible->text, sizeof(ret_visible->text), "%s.idx",
		       name);
	(void)snprintf(ret_hidden->text, sizeof(ret_hidden->text),
		       ".%s.idx.new", name);
}

bool sonde_ctf_name_is_hidden(const char *name)
{
	size_t size = strlen(name);

	return size > 5 && name[0] == '.' &&
	       strcmp(name + size - 4, ".new") == 0;
}
