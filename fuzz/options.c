/* SPDX-License-Identifier: MIT */
/*
 * options.c - fuzz session/options.h: any words on the command line.
 *
 * Input: the room for the error's text, then words that end with a NUL.
 */
#include "session/options.h"

#include <errno.h>

#include "base/number.h"
#include "types/select.h"
#include "fuzz.h"

#define WORDS_MAX 64

static void check_rules(const struct sonde_record_options *options)
{
	size_t size = options->session.rules_size;

	FUZZ_CHECK(size >= 1 && size <= sizeof(options->session.rules));
	FUZZ_CHECK(options->session.rules[size - 1] == 0);
	FUZZ_CHECK(size == 1 || options->session.rules[size - 2] == 0);
	for (size_t at = 0; at + 1 < size;) {
		const char *rule = options->session.rules + at;

		FUZZ_CHECK(*rule == '+' || *rule == '-');
		FUZZ_CHECK(strlen(rule) > 1);
		FUZZ_CHECK(strlen(rule + 1) < SONDE_GLOB_MAX);
		at += strlen(rule) + 1;
	}
	(void)sonde_select(options->session.rules, size, 255, "provider",
			   "event", 6);
}

static void check_accepted(const struct sonde_record_options *options, int argc,
			   char *const *argv)
{
	check_rules(options);
	FUZZ_CHECK(options->session.memory_bytes >= SONDE_MEMORY_MIN);
	FUZZ_CHECK(options->session.memory_bytes <= SONDE_MEMORY_MAX);
	FUZZ_CHECK(options->session.loglevel <= 14 ||
		   options->session.loglevel == SONDE_LOGLEVEL_ALL);
	FUZZ_CHECK(options->session.mode == SONDE_DISCARD ||
		   options->session.mode == SONDE_OVERWRITE);
	if (options->help)
		return;
	/* Without one, what runs already is, or the machine's kernel events. */
	if (!options->program) {
		FUZZ_CHECK(options->session.attaches ||
			   (options->session.kernel.whole_machine &&
			    options->session.kernel.rules));
		return;
	}
	FUZZ_CHECK(options->program > argv && options->program < argv + argc);
	FUZZ_CHECK(!options->output || *options->output);
	FUZZ_CHECK((options->session.subbuf_bytes &
		    (options->session.subbuf_bytes - 1)) == 0);
	FUZZ_CHECK(options->session.subbuf_bytes <=
		   options->session.memory_bytes / 8);
	FUZZ_CHECK(options->session.read_timer_us <= SONDE_READ_TIMER_MAX_US);
}

static void check_words(int argc, char *const *argv, size_t room)
{
	struct sonde_record_options options;
	char *error = malloc(room);
	int rc;

	FUZZ_CHECK(error);
	error[0] = 0;
	rc = sonde_record_options_parse(argc, argv, &options, error, room);
	FUZZ_CHECK(rc == 0 || rc == -EINVAL);
	if (rc == 0)
		check_accepted(&options, argc, argv);
	else
		FUZZ_CHECK(strnlen(error, room) < room);
	if (rc != 0 && room > 1)
		FUZZ_CHECK(*error);
	free(error);
}

/* What is written as a size is read as the same. */
static void check_size(const char *word)
{
	char text[32];
	uint64_t bytes;
	uint64_t again;
	uint64_t us;

	(void)sonde_number_parse_time_us(word, &us);
	if (sonde_number_parse_size(word, &bytes))
		return;
	(void)sonde_number_put_size(bytes, text, sizeof(text));
	FUZZ_CHECK(sonde_number_parse_size(text, &again) == 0 &&
		   again == bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct fuzz_input in = { bytes, size };
	size_t room = 1 + (size_t)fuzz_u8(&in);
	char *argv[WORDS_MAX + 2] = { strdup("record") };
	int argc = 1;

	while (in.left > 0 && argc <= WORDS_MAX) {
		size_t length = strnlen((const char *)in.at, in.left);

		argv[argc] = strndup((const char *)in.at, length);
		FUZZ_CHECK(argv[argc]);
		check_size(argv[argc]);
		argc++;
		(void)fuzz_bytes(&in, length + 1, &length);
	}
	check_words(argc, argv, room);
	while (argc > 0)
		free(argv[--argc]);
	return 0;
}
