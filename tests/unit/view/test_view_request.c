/* SPDX-License-Identifier: MIT */
/* URLs that a page of `sonde view` sends, taken apart (view/http/request.h). */
#include <errno.h>
#include <string.h>

#include "unit.h"
#include "view/http/request.h"

static struct sonde_view_request request;

static void url_is_taken_apart(void **state)
{
	(void)state;
	assert_int_equal(sonde_view_request_parse(
				 &request,
				 "/ab/api/x?from=-5&f=a%20%3d%26+%22&empty=&x"),
			 0);
	assert_string_equal(request.token, "ab");
	assert_string_equal(request.path, "api/x");
	assert_string_equal(sonde_view_request_text(&request, "f"), "a =& \"");
	assert_null(sonde_view_request_text(&request, "empty"));
	assert_null(sonde_view_request_text(&request, "x"));
	assert_null(sonde_view_request_text(&request, "y"));
	assert_int_equal(sonde_view_request_parse(&request, "/ab"), 0);
	assert_string_equal(request.path, "");
	assert_int_equal(sonde_view_request_parse(&request, "/"), 0);
	assert_string_equal(request.token, "");
}

static void malformed_is_refused(void **state)
{
	static const char *const urls[] = {
		"",       "x",          "http://a/b", "/a/%",     "/a/%0",
		"/a/%0g", "/a/%00",     "/a/b?x=%00", "/a b",     "/a\n",
		"/\x80",  "/a?x=1&x=2", "/a?%78&x",   "/a?x=%1z",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(urls) / sizeof(*urls); i++)
		assert_int_equal(sonde_view_request_parse(&request, urls[i]),
				 -EINVAL);
}

static void too_much_is_refused(void **state)
{
	static char url[SONDE_VIEW_URL_MAX + 1];
	size_t at = 2;

	(void)state;
	memset(url, 'a', SONDE_VIEW_URL_MAX);
	url[0] = '/';
	assert_int_equal(sonde_view_request_parse(&request, url), -E2BIG);
	url[SONDE_VIEW_URL_MAX - 1] = 0;
	assert_int_equal(sonde_view_request_parse(&request, url), 0);
	memcpy(url, "/?", 2);
	for (int i = 0; i <= SONDE_VIEW_PARAMS; i++) {
		url[at++] = (char)('a' + i);
		url[at++] = '&';
	}
	url[at] = 0;
	assert_int_equal(sonde_view_request_parse(&request, url), -E2BIG);
}

static void numbers_are_whole_and_in_range(void **state)
{
	int64_t number = 7;
	uint32_t list[3];

	(void)state;
	assert_int_equal(sonde_view_request_parse(
				 &request,
				 "/?a=-5&b=5x&c=9223372036854775808&d=1,2,3"),
			 0);
	assert_int_equal(
		sonde_view_request_number(&request, "a", -5, 5, &number), 0);
	assert_int_equal(number, -5);
	assert_int_equal(sonde_view_request_number(&request, "a", 0, 5,
						   &number),
			 -EINVAL);
	assert_int_equal(sonde_view_request_number(&request, "b", 0, 5,
						   &number),
			 -EINVAL);
	assert_int_equal(sonde_view_request_number(&request, "c", 0, INT64_MAX,
						   &number),
			 -EINVAL);
	assert_int_equal(sonde_view_request_number(&request, "e", 0, 5,
						   &number),
			 -ENOENT);
	assert_int_equal(number, -5);
	assert_int_equal(sonde_view_request_list(&request, "d", 3, list), 3);
	assert_int_equal(list[2], 3);
	assert_int_equal(sonde_view_request_list(&request, "d", 2, list),
			 -EINVAL);
	assert_int_equal(sonde_view_request_list(&request, "b", 3, list),
			 -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(url_is_taken_apart),
		cmocka_unit_test(malformed_is_refused),
		cmocka_unit_test(too_much_is_refused),
		cmocka_unit_test(numbers_are_whole_and_in_range),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
