/* SPDX-License-Identifier: MIT */
/*
 * test_hooks_arguments.c - what a process apart says of a function's arguments
 * becomes an event and what is collected for it.
 */
#include "probe/hooks/arguments.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "probe/markers.h"
#include "types/desc.h"

#include "unit.h"

#define WORDS                                                      \
	"aR5:s32:n tR4:x64:addr aR3:es32{RED=0,GREEN=5}:d rR0:b8:" \
	"result"

static struct sonde_hooks_arguments *made(const char *words, bool is_exit,
					  bool in_any_case)
{
	struct sonde_hooks_arguments *arguments;

	assert_int_equal(sonde_hooks_arguments_make(words, is_exit, in_any_case,
						    0x1234, &arguments),
			 0);
	return arguments;
}

static void words_become_fields_and_items(void **unused)
{
	struct sonde_hooks_arguments *entry = made(WORDS, false, false);
	struct sonde_hooks_arguments *end = made(WORDS, true, false);
	struct sonde_probe_spec spec = { .nr_items = 0 };

	(void)unused;
	assert_string_equal(sonde_desc_provider(entry->desc), "function");
	assert_string_equal(sonde_desc_name(entry->desc), "entry");
	assert_int_equal(sonde_desc_nr_fields(entry->desc), 4);
	assert_int_equal(entry->items[1].kind, SONDE_AGENT_ITEM_VALUE);
	assert_int_equal(entry->items[2].kind, SONDE_AGENT_ITEM_STRING);
	assert_string_equal(sonde_desc_name(end->desc), "exit");
	assert_int_equal(sonde_desc_nr_fields(end->desc), 2);
	sonde_hooks_arguments_collect(entry, &spec);
	assert_int_equal(spec.nr_items, 4);
	assert_int_equal(spec.nr_programs, 4);
	assert_null(spec.filter);
	sonde_hooks_arguments_free(entry);
	sonde_hooks_arguments_free(end);
}

static void what_makes_no_sense_ends_the_words(void **unused)
{
	struct sonde_hooks_arguments *arguments =
		made("aR5:s32:n aR99:s32:m aR4:s32:o", false, false);

	(void)unused;
	assert_int_equal(sonde_desc_nr_fields(arguments->desc), 2);
	sonde_hooks_arguments_free(arguments);
	assert_null(made("", false, false));
	assert_null(made("aR5", false, false));
	assert_null(made("aR5:f64:x", false, false));
	assert_null(made("rR0:s32:result", false, false));
	arguments = made("", true, true);
	assert_int_equal(sonde_desc_nr_fields(arguments->desc), 1);
	sonde_hooks_arguments_free(arguments);
}

static int filtered(const char *condition)
{
	struct sonde_hooks_arguments *arguments = made(WORDS, false, false);
	char error[256] = "";
	int rc = sonde_hooks_arguments_filter(arguments, condition, error,
					      sizeof(error));

	assert_true(!rc == !!arguments->filter.program);
	assert_true((rc == -EINVAL) == !!*error);
	sonde_hooks_arguments_free(arguments);
	return rc;
}

static void conditions_are_over_the_fields(void **unused)
{
	(void)unused;
	assert_int_equal(filtered("n > 4096"), 0);
	assert_int_equal(filtered("addr_ == \"x*\" && d == \"GREEN\""), 0);
	assert_int_equal(filtered("m > 4096"), -ENOENT);
	assert_int_equal(filtered("n >"), -EINVAL);
	assert_int_equal(filtered("n == \"text\""), -EINVAL);
}

static void notes_become_fields_of_their_sizes(void **unused)
{
	static const uint8_t bits[] = { 32, 8, 64, 32, 64, 32 };
	static const uint8_t kinds[] = {
		SONDE_AGENT_ITEM_VALUE,   SONDE_AGENT_ITEM_VALUE,
		SONDE_AGENT_ITEM_VALUE,   SONDE_AGENT_ITEM_MEMORY,
		SONDE_AGENT_ITEM_PROGRAM, SONDE_AGENT_ITEM_MEMORY,
	};
	char notes[] = "-4@%edi 1@%ah 8@$-5 4@-20(%rbp) "
		       "8@16(%rax,%rcx,8) 8f@%xmm0 4f@8(%rsp) 8@gone(%rip)";
	char names[] = "shop\0order";
	const struct sonde_probe_marker marker = { .provider = names,
						   .name = names + 5,
						   .extra = notes };
	struct sonde_hooks_arguments *arguments;
	struct sonde_fields fields;
	struct sonde_field_view field;
	unsigned int left;

	(void)unused;
	assert_int_equal(sonde_hooks_arguments_of_site(getpid(), &marker, 0,
						       &left, &arguments),
			 0);
	assert_int_equal(left, 2);
	assert_int_equal(arguments->nr, sizeof(bits));
	assert_string_equal(sonde_desc_name(arguments->desc), "shop:order");
	fields = sonde_desc_fields(arguments->desc);
	for (size_t i = 0; sonde_fields_next(&fields, &field); i++) {
		assert_int_equal(field.stored_bits, bits[i]);
		assert_int_equal(arguments->items[i].kind, kinds[i]);
		assert_int_equal(arguments->items[i].length, bits[i] / 8);
	}
	assert_string_equal(field.name, "arg7");
	assert_int_equal(field.kind, SONDE_TYPE_FLOAT);
	assert_int_equal(arguments->items[1].offset, 8);
	assert_int_equal(arguments->items[2].offset, -5);
	assert_int_equal(arguments->items[3].offset, -20);
	sonde_hooks_arguments_free(arguments);
	names[0] = '7';
	assert_int_equal(sonde_hooks_arguments_of_site(getpid(), &marker, 0,
						       &left, &arguments),
			 -EINVAL);
	assert_null(arguments);
}

static void texts_are_where_arguments_point(void **unused)
{
	char notes[] = "8@%rdi 8@-8(%rbp) 8@16(%rax,%rcx,8) -4@%esi";
	char names[] = "shop\0order";
	const struct sonde_probe_marker marker = { .provider = names,
						   .name = names + 5,
						   .extra = notes };
	struct sonde_hooks_arguments *arguments;
	unsigned int left;

	(void)unused;
	assert_int_equal(sonde_hooks_arguments_of_site(getpid(), &marker, 0xf,
						       &left, &arguments),
			 0);
	/* none is in half a register */
	assert_int_equal(left, 1);
	assert_int_equal(arguments->nr, 3);
	assert_int_equal(arguments->nr_programs, 2);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(arguments->items[i].kind,
				 SONDE_AGENT_ITEM_STRING);
		assert_int_equal(arguments->items[i].program, i);
	}
	sonde_hooks_arguments_free(arguments);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_become_fields_and_items),
		cmocka_unit_test(what_makes_no_sense_ends_the_words),
		cmocka_unit_test(conditions_are_over_the_fields),
		cmocka_unit_test(notes_become_fields_of_their_sizes),
		cmocka_unit_test(texts_are_where_arguments_point),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
