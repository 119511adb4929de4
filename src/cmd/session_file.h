/* SPDX-License-Identifier: MIT */
/*
 * session_file.h - a session as a file: {"sonde": 1, "options": [...]}, the words
 * behind `sonde start NAME` that make one as it is.
 */
#ifndef CMD_SESSION_FILE_H
#define CMD_SESSION_FILE_H

#include <stddef.h>

#include "session/document.h"

/* What is known of a session, as such a file, on standard output. */
void sonde_command_put_file(const struct sonde_session_document *document);

/* The words of a file, up to `max`, to be freed; their number, or -1: said why. */
int sonde_command_read_file(const char *path, char **words, size_t max);

#endif /* CMD_SESSION_FILE_H */
