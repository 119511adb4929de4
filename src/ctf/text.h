/* SPDX-License-Identifier: MIT */
/*
 * text.h - text that grows.
 *
 * An error (only memory can fail) sticks to the text: callers go on appending
 * and look at `error` once, at the end.
 */
#ifndef CTF_TEXT_H
#define CTF_TEXT_H

#include <stddef.h>

struct sonde_ctf_text {
	char *bytes; /* not NUL-terminated */
	size_t size;
	size_t room;
	int error; /* 0 or -ENOMEM */
};

void sonde_ctf_text_fini(struct sonde_ctf_text *text);

void sonde_ctf_text_append(struct sonde_ctf_text *text, const char *bytes,
			   size_t size);
void sonde_ctf_text_puts(struct sonde_ctf_text *text, const char *string);
__attribute__((format(printf, 2, 3))) void
sonde_ctf_text_printf(struct sonde_ctf_text *text, const char *format, ...);

/* Go back to an earlier size, and forget an error since. */
void sonde_ctf_text_cut(struct sonde_ctf_text *text, size_t size);

#endif /* CTF_TEXT_H */
