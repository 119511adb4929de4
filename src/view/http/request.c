/* SPDX-License-Identifier: MIT */
/*
 * request.c - a URL, taken apart in place (request.h).
 *
 * First it is cut at its separators, then each piece is decoded, which makes it
 * shorter or leaves it: so no decoded byte is ever taken for a separator. A
 * decoded byte may be anything but NUL; what it means is up to who asks for it.
 */
#include "view/http/request.h"

#include <errno.h>
#include <string.h>

#include "base/hex.h"
#include "base/number.h"

/* 0 or -EINVAL. */
static int decode_in_place(char *text, char plus)
{
	char *to = text;

	for (; *text; text++) {
		int high;
		int low;

		if (*text != '%') {
			*to++ = (char)(*text == '+' ? plus : *text);
			continue;
		}
		high = sonde_hex_digit(text[1]);
		low = high < 0 ? -1 : sonde_hex_digit(text[2]);
		if (low < 0 || high + low == 0)
			return -EINVAL;
		*to++ = (char)(high << 4 | low);
		text += 2;
	}
	*to = 0;
	return 0;
}

/* Cuts at the first `separator`: what is behind it, or NULL. */
static char *cut_at(char *text, char separator)
{
	char *at = strchr(text, separator);

	if (!at)
		return NULL;
	*at = 0;
	return at + 1;
}

static int add_param(struct sonde_view_request *request, char *name)
{
	char *value = cut_at(name, '=');

	if (request->nr_params == SONDE_VIEW_PARAMS)
		return -E2BIG;
	if (!value)
		value = name + strlen(name);
	if (decode_in_place(name, ' ') || decode_in_place(value, ' '))
		return -EINVAL;
	for (size_t i = 0; i < request->nr_params; i++)
		if (!strcmp(request->params[i].name, name))
			return -EINVAL;
	request->params[request->nr_params].name = name;
	request->params[request->nr_params++].value = value;
	return 0;
}

static int take_params(struct sonde_view_request *request, char *params)
{
	while (params) {
		char *next = cut_at(params, '&');
		int error = *params ? add_param(request, params) : 0;

		if (error)
			return error;
		params = next;
	}
	return 0;
}

int sonde_view_request_parse(struct sonde_view_request *request,
			     const char *url)
{
	size_t length = strnlen(url, SONDE_VIEW_URL_MAX);
	char *token = request->text + 1;
	char *params;
	char *path;

	request->nr_params = 0;
	if (length == SONDE_VIEW_URL_MAX)
		return -E2BIG;
	for (size_t i = 0; i < length; i++)
		if (url[i] <= ' ' || url[i] > '~')
			return -EINVAL;
	if (url[0] != '/')
		return -EINVAL;
	memcpy(request->text, url, length + 1);
	params = cut_at(token, '?');
	path = cut_at(token, '/');
	request->token = token;
	request->path = path ? path : token + strlen(token);
	if (path && decode_in_place(path, '+'))
		return -EINVAL;
	return take_params(request, params);
}

const char *sonde_view_request_text(const struct sonde_view_request *request,
				    const char *name)
{
	for (size_t i = 0; i < request->nr_params; i++)
		if (!strcmp(request->params[i].name, name))
			return *request->params[i].value ?
				       request->params[i].value :
				       NULL;
	return NULL;
}

int sonde_view_request_number(const struct sonde_view_request *request,
			      const char *name, int64_t least, int64_t most,
			      int64_t *ret_number)
{
	const char *text = sonde_view_request_text(request, name);
	int64_t value;

	if (!text)
		return -ENOENT;
	if (!sonde_number_take_signed(&text, &value) || *text ||
	    value < least || value > most)
		return -EINVAL;
	*ret_number = value;
	return 0;
}

int sonde_view_request_list(const struct sonde_view_request *request,
			    const char *name, size_t most,
			    uint32_t *ret_numbers)
{
	const char *text = sonde_view_request_text(request, name);
	size_t nr = 0;

	if (!text)
		return -ENOENT;
	for (;;) {
		size_t length = strcspn(text, ",");
		char one[16];
		uint64_t number;

		if (nr == most || length >= sizeof(one))
			return -EINVAL;
		memcpy(one, text, length);
		one[length] = 0;
		if (!sonde_number_parse(one, UINT32_MAX, &number))
			return -EINVAL;
		ret_numbers[nr++] = (uint32_t)number;
		if (!text[length])
			return (int)nr;
		text += length + 1;
	}
}
