/* SPDX-License-Identifier: MIT */
/*
 * request.h - what a page asks of `sonde view`: a URL, taken apart.
 *
 *	/TOKEN/api/frame?from=0&to=1000&rows=1,2
 *
 * The bytes are a stranger's until the token has been compared, so the whole is
 * copied once into memory of a fixed size, and what is too long, has too many
 * parameters, a parameter twice, an escape that is none or a byte that no URL
 * has is refused as a whole. Parameters that nobody asks for are ignored.
 */
#ifndef VIEW_HTTP_REQUEST_H
#define VIEW_HTTP_REQUEST_H

#include <stddef.h>
#include <stdint.h>

#define SONDE_VIEW_URL_MAX 16384
#define SONDE_VIEW_PARAMS  16

struct sonde_view_request {
	const char *token; /* "" if there is none */
	const char *path;  /* without the '/' in front: "", "api/trace" */
	size_t nr_params;
	struct {
		const char *name, *value;
	} params[SONDE_VIEW_PARAMS];
	char text[SONDE_VIEW_URL_MAX];
};

/* 0; -EINVAL: malformed; -E2BIG. */
int sonde_view_request_parse(struct sonde_view_request *request,
			     const char *url);

/* NULL: it isn't there, or empty. */
const char *sonde_view_request_text(const struct sonde_view_request *request,
				    const char *name);
/* -ENOENT, *ret_number untouched; -EINVAL: no number from `least` to `most`. */
int sonde_view_request_number(const struct sonde_view_request *request,
			      const char *name, int64_t least, int64_t most,
			      int64_t *ret_number);
/* Numbers with commas between them, at most `most` of them. How many; -ENOENT,
 * -EINVAL. */
int sonde_view_request_list(const struct sonde_view_request *request,
			    const char *name, size_t most,
			    uint32_t *ret_numbers);

#endif /* VIEW_HTTP_REQUEST_H */
