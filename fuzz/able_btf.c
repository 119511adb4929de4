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

#include "btf.h"
#include "sys/btf.h"
#include "sys/btf_extract.h"

static const char name[] = "t";
static const char strings[] = "\0t";

/* Of the kinds that are extracted by their names. */
static bool is_named(uint32_t kind)
{
	return kind == BTF_KIND_STRUCT || kind == BTF_KIND_UNION ||
	       kind == BTF_KIND_ENUM || kind == BTF_KIND_ENUM64 ||
	       kind == BTF_KIND_TYPEDEF;
}

static void extract(const struct sonde_btf *all, struct sonde_btf_wanted wanted)
{
	const char *names[] = { name };
	struct sonde_btf btf;
	bool was_there = wanted.id > 0;
	uint8_t *bytes = NULL;
	size_t size = 0;
	int rc = sonde_btf_extract(all, names, 1, &bytes, &size);

	FUZZ_CHECK(rc == 0 || rc == -EPROTO);
	if (rc)
		return;
	FUZZ_CHECK(!sonde_btf_init(&btf, bytes, size));
	sonde_btf_find(&btf, &wanted, 1);
	sonde_btf_close(&btf);
	FUZZ_CHECK(!is_named(wanted.kind) || was_there == (wanted.id > 0));
	free(bytes);
}

/* With what they are called with: functions and typedefs. */
static void extract_calls(const struct sonde_btf *all,
			  struct sonde_btf_wanted wanted)
{
	const char *names[] = { name };
	struct sonde_btf btf;
	bool was_there = wanted.id > 0;
	uint8_t *bytes = NULL;
	size_t size = 0;
	int rc = sonde_btf_extract_calls(all, names, 1, &bytes, &size);

	FUZZ_CHECK(rc == 0 || rc == -EPROTO);
	if (rc)
		return;
	FUZZ_CHECK(!sonde_btf_init(&btf, bytes, size));
	sonde_btf_find(&btf, &wanted, 1);
	sonde_btf_close(&btf);
	FUZZ_CHECK((wanted.kind != BTF_KIND_FUNC &&
		    wanted.kind != BTF_KIND_TYPEDEF) ||
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
		extract(&btf, wanted);
		extract_calls(&btf, wanted);
		sonde_btf_close(&btf);
	}
	free(all);
	return 0;
}
