/* SPDX-License-Identifier: MIT */
/*
 * tsdl.c - fuzz ctf/tsdl.h: whatever the check of descriptions accepts can be
 * said in the metadata's language. The text is plain, its brackets match, and
 * `sonde list` reads the same number of fields out of it as out of the
 * description.
 *
 * First byte: bit 0, the rest is a description, else decisions that make one
 * (describe.h).
 */
#include "ctf/tsdl.h"

#include <errno.h>

#include "describe.h"
#include "ring/contexts.h"
#include "sink.h"
#include "types/desc.h"

/* Brackets outside of strings and comments match. */
static void check_brackets(const struct sonde_ctf_text *text)
{
	char open[64];
	uint32_t depth = 0;
	bool quoted = false;

	for (size_t i = 0; i < text->size; i++) {
		char c = text->bytes[i];

		FUZZ_CHECK((c >= ' ' && c <= '~') || c == '\n' || c == '\t');
		if (c == '"')
			quoted = !quoted;
		else if (c == '\\' && quoted)
			i++;
		else if (!quoted && strchr("{[(", c)) {
			FUZZ_CHECK(depth < sizeof(open));
			open[depth++] = c;
		} else if (!quoted && strchr("}])", c)) {
			FUZZ_CHECK(depth > 0);
			depth--;
			FUZZ_CHECK(open[depth] == (c == ')' ? '(' : c - 2));
		}
	}
	FUZZ_CHECK(depth == 0 && !quoted);
}

static struct fuzz_found list_desc(const struct sonde_desc *desc)
{
	static struct sonde_list_text room;
	struct fuzz_found found;
	struct sonde_list_sink sink = fuzz_sink(&found);

	FUZZ_CHECK(sonde_list_desc(desc, &sink, &room) == 0);
	return found;
}

/* False if the reader has not as many registers as there are lengths. */
static bool list_text(const struct sonde_ctf_text *text,
		      struct fuzz_found *ret_found)
{
	struct sonde_list_sink sink = fuzz_sink(ret_found);
	struct sonde_schema_error words = { .text = "" };
	int error = fuzz_list_trace(text->bytes, text->size, &sink, &words);

	FUZZ_CHECK(error == 0 || strstr(words.text, "too many lengths"));
	return error == 0;
}

/* All that comes before an event, with a comment of the user's: any bytes,
 * made harmless. Returns the events and fields in it. */
static struct fuzz_found begin_text(struct sonde_ctf_text *text,
				    const char *comment)
{
	struct sonde_ctf_env env = { .name = "text", .text = comment };
	struct sonde_ctf_config config = {
		.clock = { .name = "c", .description = comment, .freq = 1 },
		.env = &env,
		.nr_env = 1,
	};
	struct fuzz_found found;

	sonde_tsdl_preamble(text, &config);
	sonde_tsdl_class(text, &config, 1, SONDE_COMPACT, comment);
	FUZZ_CHECK(text->error == 0);
	FUZZ_CHECK(list_text(text, &found) && found.nr_events == 1);
	return found;
}

/* The description's event, in a whole trace's metadata. */
static void check_read(const struct sonde_desc *desc)
{
	const struct sonde_ctf_contexts nothing = { .stacks = false };
	struct sonde_ctf_text text = { 0 };
	struct fuzz_found there = list_desc(desc);
	struct fuzz_found before = begin_text(&text, "");
	struct fuzz_found here;

	FUZZ_CHECK(sonde_tsdl_event(&text, SONDE_CTF_PROGRAMS, 1, 2, desc,
				    &nothing) == 0);
	if (list_text(&text, &here)) {
		FUZZ_CHECK(here.nr_events ==
			   before.nr_events + there.nr_events);
		FUZZ_CHECK(here.nr_fields ==
			   before.nr_fields + there.nr_fields);
	}
	sonde_ctf_text_fini(&text);
}

static void check_event(const struct sonde_desc *desc)
{
	const struct sonde_ctf_contexts all = {
		.stacks = true,
		.contexts = SONDE_CONTEXTS_KNOWN,
	};
	struct sonde_ctf_text text = { 0 };
	int error;

	sonde_ctf_text_puts(&text, "/* CTF 1.8 */\n\n");
	error = sonde_tsdl_event(&text, SONDE_CTF_PROGRAMS, 1, 2, desc, &all);
	FUZZ_CHECK(error == 0 || error == -EINVAL);
	if (error == 0) {
		FUZZ_CHECK(text.error == 0);
		check_brackets(&text);
		/* metadata.h: an empty line ends a block. */
		FUZZ_CHECK(memmem(text.bytes + 15, text.size - 15, "\n\n", 2) ==
			   text.bytes + text.size - 2);
		check_read(desc);
	}
	sonde_ctf_text_fini(&text);
}

static void check_comment(const char *comment)
{
	struct sonde_ctf_text text = { 0 };

	(void)begin_text(&text, comment);
	sonde_ctf_text_fini(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static uint8_t made[FUZZ_DESC_ROOM];
	struct fuzz_input in = { bytes, size };
	const struct sonde_desc *desc;
	uint8_t *copy;
	char *comment;

	if (size == 0)
		return 0;
	if (fuzz_u8(&in) & 1) {
		comment = strndup((const char *)in.at, in.left);
		FUZZ_CHECK(comment);
		check_comment(comment);
		free(comment);
		size = in.left;
		copy = fuzz_copy(in.at, size);
	} else {
		size = fuzz_describe(&in, made);
		copy = fuzz_copy(made, size);
	}
	if (sonde_desc_check(copy, size, &desc) == 0)
		check_event(desc);
	free(copy);
	return 0;
}
