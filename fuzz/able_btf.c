/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * able_btf.c - fuzz sys/btf.c and sys/btf_extract.c: whatever bytes are said to be
 * the types of a kernel, looking for one ends, reads nothing beyond them, and
 * finds it where it says; what is extracted by a name are types again, and has
 * as many of that name.
 *
 * The first byte is the kind that is looked for; the rest is taken as it is, or,
 * if its bit 7 is set, comes after a header that makes sense.
 */
#include <errno.h>

#include "base/port.h"
#include "btf.h"
#include "sys/btf.h"
#include "sys/btf_extract.h"

static const char name[] = "t";
static const char strings[] = "\0t";

/* A way to extract, and the kinds that it extracts by their names, as bits. */
static const struct way {
	int (*extract)(const struct sonde_btf *all, const char *const *names,
		       size_t nr, uint8_t **ret_bytes, size_t *ret_size);
	uint64_t kinds;
} ways[] = {
	{ sonde_btf_extract, 1ull << BTF_KIND_STRUCT | 1ull << BTF_KIND_UNION |
				     1ull << BTF_KIND_ENUM |
				     1ull << BTF_KIND_ENUM64 |
				     1ull << BTF_KIND_TYPEDEF },
	/* Functions with what they are called with. */
	{ sonde_btf_extract_calls,
	  1ull << BTF_KIND_FUNC | 1ull << BTF_KIND_TYPEDEF },
};

static void extract(const struct way *way, const struct sonde_btf *all,
		    struct sonde_btf_wanted wanted)
{
	const char *names[] = { name };
	struct sonde_btf btf;
	bool was_there = wanted.id > 0;
	uint8_t *bytes = NULL;
	size_t size = 0;
	int rc = way->extract(all, names, 1, &bytes, &size);

	FUZZ_CHECK(rc == 0 || rc == -EPROTO);
	if (rc)
		return;
	FUZZ_CHECK(!sonde_btf_init(&btf, bytes, size));
	sonde_btf_find(&btf, &wanted, 1);
	sonde_btf_close(&btf);
	FUZZ_CHECK(!(way->kinds & 1ull << wanted.kind) ||
		   was_there == (wanted.id > 0));
	free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct fuzz_input in = { bytes, size };
	uint8_t first = fuzz_u8(&in);
	struct sonde_btf_wanted wanted = { first & 0x1f, name, -1, 0, 0 };
	struct sonde_btf btf;
	uint8_t *all;
	int rc;

	if (first & 0x80) {
		all = fuzz_wrap_btf(in.at, in.left, strings, sizeof(strings),
				    &size);
	} else {
		size = in.left;
		all = fuzz_copy(in.at, size);
	}
	rc = sonde_btf_init(&btf, all, size);
	FUZZ_CHECK(rc == 0 || rc == -EPROTO);
	if (!rc)
		sonde_btf_find(&btf, &wanted, 1);
	FUZZ_CHECK(rc || (wanted.id >= 0 &&
			  (size_t)wanted.id <= size / sizeof(struct btf_type)));
	if (!rc) {
		for (size_t i = 0; i < SONDE_ARRAY_SIZE(ways); i++)
			extract(&ways[i], &btf, wanted);
		sonde_btf_close(&btf);
	}
	free(all);
	return 0;
}
