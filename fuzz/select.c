/* SPDX-License-Identifier: MIT */
/*
 * select.c - fuzz types/select.h: globs against a plain recursive matcher, and
 * rules that need not be well-formed.
 *
 * Input: two bytes for log levels, then three strings that end with a NUL
 * (provider, event, glob); the rest are rules.
 */
#include "types/select.h"

#include "fuzz.h"

#define TEXT_MAX 16

/* Up to the next NUL, which may be that of the input's end. To be freed. */
static char *take_string(struct fuzz_input *in)
{
	const uint8_t *nul = in->left ? memchr(in->at, 0, in->left) : NULL;
	size_t length = nul ? (size_t)(nul - in->at) : in->left;
	size_t taken;
	char *text = malloc(length + 1);

	FUZZ_CHECK(text);
	if (length > 0)
		memcpy(text, in->at, length);
	text[length] = 0;
	(void)fuzz_bytes(in, length + 1, &taken);
	return text;
}

/*
 * What select.h says about globs, for those without sets, as directly as it
 * can be put. Exponential, so for short ones only.
 */
static bool plain_match(const char *glob, const char *text)
{
	if (*glob == 0)
		return *text == 0;
	if (*glob == '*' && glob[1] == '*')
		return plain_match(glob + 1, text);
	if (*glob == '*')
		return plain_match(glob + 1, text) ||
		       (*text && plain_match(glob, text + 1));
	if (*text == 0)
		return false;
	if (*glob == '\\' && glob[1])
		glob++;
	else if (*glob == '?')
		return plain_match(glob + 1, text + 1);
	return *glob == *text && plain_match(glob + 1, text + 1);
}

static void check_glob(const char *glob, const char *text)
{
	bool match = sonde_glob_match(glob, text);

	if (strlen(glob) < TEXT_MAX && strlen(text) < TEXT_MAX &&
	    !strchr(glob, '['))
		FUZZ_CHECK(match == plain_match(glob, text));
	FUZZ_CHECK(sonde_glob_match("*", text));
	FUZZ_CHECK(sonde_glob_match("", text) == (*text == 0));
}

/* One rule selects what its glob matches, and nothing else does. */
static void check_one_rule(const char *glob, const char *provider,
			   const char *event)
{
	size_t length = strlen(glob);
	char *rules = malloc(length + 3);
	bool expected;

	FUZZ_CHECK(rules);
	rules[0] = '+';
	memcpy(rules + 1, glob, length + 1);
	rules[length + 2] = 0;
	expected = length < SONDE_GLOB_MAX && !strchr(glob, ':') &&
		   (sonde_glob_match(glob, provider) ||
		    sonde_glob_match(glob, event));
	if (expected)
		FUZZ_CHECK(
			sonde_select(rules, length + 3, 5, provider, event, 5));
	FUZZ_CHECK(!sonde_select(rules, length + 3, 5, provider, event, 6));
	rules[0] = '-';
	FUZZ_CHECK(!sonde_select(rules, length + 3, 5, provider, event, 5));
	FUZZ_CHECK(!sonde_select(rules, 0, 5, provider, event, 5));
	free(rules);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct fuzz_input in = { bytes, size };
	uint32_t loglevel = fuzz_u8(&in);
	uint32_t level = fuzz_u8(&in);
	char *provider = take_string(&in);
	char *event = take_string(&in);
	char *glob = take_string(&in);
	char *rules = fuzz_copy(in.at, in.left);
	bool selected =
		sonde_select(rules, in.left, loglevel, provider, event, level);

	if (level > loglevel)
		FUZZ_CHECK(!selected);
	check_glob(glob, provider);
	check_glob(glob, event);
	check_one_rule(glob, provider, event);
	free(rules);
	free(glob);
	free(event);
	free(provider);
	return 0;
}
