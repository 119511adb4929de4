/* SPDX-License-Identifier: MIT */
/*
 * chosen.c - fuzz probe/hooks/chosen.h: whatever the process that reads files'
 * symbols may say of functions. What is taken is by address, each once, with
 * names that are in the text.
 */
#include "probe/hooks/chosen.h"
#include "probe/hooks/arguments.h"

#include <errno.h>

#include "fuzz.h"
#include "types/desc.h"

/* What it is given becomes an event, and what is collected for it. */
static void check_arguments(const struct sonde_hooks_name *name)
{
	struct sonde_hooks_arguments *arguments;
	struct sonde_probe_spec spec = { .nr_items = 0 };

	for (int is_exit = 0; is_exit < 2; is_exit++) {
		FUZZ_CHECK(!sonde_hooks_arguments_make(name->words, is_exit,
						       false, name->address,
						       &arguments));
		sonde_hooks_arguments_collect(arguments, &spec);
		FUZZ_CHECK(!arguments ||
			   (spec.nr_items > 1 &&
			    spec.nr_items == spec.nr_programs &&
			    sonde_desc_nr_fields(arguments->desc) ==
				    spec.nr_items));
		sonde_hooks_arguments_free(arguments);
	}
}

static void check_chosen(const struct sonde_hooks_chosen *chosen, size_t size)
{
	size_t nr_meant = 0;

	for (size_t i = 0; i < chosen->nr; i++) {
		const struct sonde_hooks_name *name = &chosen->list[i];

		FUZZ_CHECK(!i || name[-1].address < name->address);
		FUZZ_CHECK(name->name > chosen->text &&
			   name->name + strlen(name->name) <
				   chosen->text + size + 1);
		FUZZ_CHECK(*name->name);
		FUZZ_CHECK(!*name->words || (name->words > chosen->text &&
					     name->words + strlen(name->words) <
						     chosen->text + size + 1));
		check_arguments(name);
		FUZZ_CHECK(name->is_part ==
			   sonde_hooks_chosen_is_part(chosen, name->address));
		nr_meant += !name->is_part;
	}
	FUZZ_CHECK(nr_meant == chosen->nr_meant && nr_meant);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct sonde_hooks_chosen chosen;
	char *text = malloc(size + 1);
	int rc;

	FUZZ_CHECK(text);
	memcpy(text, bytes, size);
	text[size] = '\0';
	rc = sonde_hooks_chosen_read(text, &chosen);
	FUZZ_CHECK(rc == 0 || rc == -EIO || rc == -ENOENT);
	if (!rc)
		check_chosen(&chosen, size);
	sonde_hooks_chosen_free(&chosen);
	return 0;
}
