/* SPDX-License-Identifier: MIT */
/*
 * chosen.c - fuzz probe/hooks/chosen.h: whatever the process that reads files'
 * symbols may say of functions. What is taken is by address, each once, with
 * names that are in the text.
 */
#include "probe/hooks/chosen.h"

#include <errno.h>

#include "fuzz.h"

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
