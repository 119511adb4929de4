/* SPDX-License-Identifier: MIT */
/*
 * generate.c - fuzz event descriptions: both languages, what they mean, and all
 * that is made of them (generate/model.h).
 *
 * Input: a file, as XML and as YAML. What is read must be written so that it is
 * read again, in either language, and mean the same as before.
 */
#include <errno.h>
#include <stdio.h>

#include "generate/model.h"

#include "fuzz.h"

typedef struct sonde_generate_node *read_fn(struct sonde_pool *, const char *,
					    const char *, size_t,
					    struct sonde_generate_error *);
typedef void write_fn(const struct sonde_generate_node *, FILE *);

/* What a writer writes into memory; the caller frees it. */
static char *written(write_fn *write, const struct sonde_generate_node *root,
		     size_t *ret_size)
{
	char *text = NULL;
	FILE *to = open_memstream(&text, ret_size);

	FUZZ_CHECK(to);
	write(root, to);
	FUZZ_CHECK(!fclose(to));
	return text;
}

/* `root`, written and read again, is written alike. */
static void check_round(const struct sonde_generate_node *root, write_fn *write,
			read_fn *read)
{
	struct sonde_generate_error error = { "" };
	struct sonde_generate_node *again;
	struct sonde_pool pool;
	size_t size, size_again;
	char *text = written(write, root, &size);
	char *text_again;

	sonde_pool_init(&pool, SIZE_MAX);
	again = read(&pool, "again", text, size, &error);
	if (!again)
		(void)fprintf(stderr, "%s\n%s\n", error.text, text);
	FUZZ_CHECK(again);
	text_again = written(write, again, &size_again);
	FUZZ_CHECK(size == size_again && !memcmp(text, text_again, size));
	free(text_again);
	free(text);
	FUZZ_CHECK(!sonde_pool_check(&pool));
	sonde_pool_fini(&pool);
}

/* What it says is metadata, unless it can't be said. */
static void make_metadata(const struct sonde_generate_model *model,
			  enum sonde_ctf_version version)
{
	struct sonde_ctf_text text = { .bytes = NULL };
	const struct sonde_generate_trace trace = {
		.version = version,
		.is_bare = true, /* which is the same but for the ids' size */
		.frequency = 1,
	};
	int rc = sonde_generate_metadata(model, &trace, &text);

	FUZZ_CHECK(!rc || rc == -ENOTSUP);
	FUZZ_CHECK(rc || text.size);
	sonde_ctf_text_fini(&text);
}

static void make_all(struct sonde_generate_model *model)
{
	const struct sonde_generate_event *event;
	int rc = sonde_generate_sum(model, &event);
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	FUZZ_CHECK(to);
	FUZZ_CHECK(!rc || rc == -E2BIG);
	FUZZ_CHECK(rc || model->checksum);
	sonde_generate_header(model, to);
	sonde_generate_bare(model, to);
	sonde_generate_doc(model, to);
	if (!rc) {
		make_metadata(model, SONDE_CTF_1_8);
		make_metadata(model, SONDE_CTF_2);
	}
	FUZZ_CHECK(sonde_generate_compare(model, model, to) == 0);
	FUZZ_CHECK(!fclose(to));
	free(text);
}

static bool includes(const struct sonde_generate_node *root)
{
	for (const struct sonde_generate_node *n = root->first; n; n = n->next)
		if (n->kind == SONDE_GENERATE_INCLUDE)
			return true;
	return false;
}

static void try_one(read_fn *read, const char *bytes, size_t size)
{
	struct sonde_generate_error error = { "" };
	struct sonde_generate_model model = { 0 };
	struct sonde_generate_node *root;
	struct sonde_pool pool;

	sonde_pool_init(&pool, SIZE_MAX);
	root = read(&pool, "in", bytes, size, &error);
	FUZZ_CHECK(!root == !!*error.text);
	if (root) {
		check_round(root, sonde_generate_write_xml,
			    sonde_generate_read_xml);
		check_round(root, sonde_generate_write_yaml,
			    sonde_generate_read_yaml);
		/* No file of this machine is read. */
		if (!includes(root) &&
		    !sonde_generate_model_make(&pool, root, &model, &error))
			make_all(&model);
	}
	FUZZ_CHECK(!sonde_pool_check(&pool));
	sonde_pool_fini(&pool);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	uint8_t *copy = fuzz_copy(bytes, size);

	try_one(sonde_generate_read_xml, (char *)copy, size);
	try_one(sonde_generate_read_yaml, (char *)copy, size);
	free(copy);
	return 0;
}
