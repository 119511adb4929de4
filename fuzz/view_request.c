/* SPDX-License-Identifier: MIT */
/*
 * view_request.c - fuzz view/http/request.h: URLs as a stranger sends them.
 *
 * Input: the URL.
 */
#include "view/http/request.h"

#include <errno.h>

#include "fuzz.h"

static void check_inside(const struct sonde_view_request *request,
			 const char *text)
{
	FUZZ_CHECK(text >= request->text &&
		   text < request->text + sizeof(request->text));
	FUZZ_CHECK(
		memchr(text, 0,
		       (size_t)(request->text + sizeof(request->text) - text)));
}

static void check_params(const struct sonde_view_request *request)
{
	FUZZ_CHECK(request->nr_params <= SONDE_VIEW_PARAMS);
	for (size_t i = 0; i < request->nr_params; i++) {
		const char *name = request->params[i].name;
		int64_t number = 7;
		uint32_t list[4];
		int nr;

		check_inside(request, name);
		check_inside(request, request->params[i].value);
		for (size_t k = 0; k < i; k++)
			FUZZ_CHECK(strcmp(name, request->params[k].name) != 0);
		nr = sonde_view_request_number(request, name, -5, 5, &number);
		FUZZ_CHECK(nr == 0 ? number >= -5 && number <= 5 : number == 7);
		nr = sonde_view_request_list(request, name, 4, list);
		FUZZ_CHECK(nr <= 4 && nr != 0);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct sonde_view_request *request = malloc(sizeof(*request));
	char *url = malloc(size + 1);
	int result;

	FUZZ_CHECK(request && url);
	memcpy(url, bytes, size);
	url[size] = 0;
	memset(request->text, 'x', sizeof(request->text));
	result = sonde_view_request_parse(request, url);
	FUZZ_CHECK(result == 0 || result == -EINVAL || result == -E2BIG);
	if (!result) {
		check_inside(request, request->token);
		check_inside(request, request->path);
		FUZZ_CHECK(!strpbrk(request->token, "/?"));
		check_params(request);
	}
	free(url);
	free(request);
	return 0;
}
