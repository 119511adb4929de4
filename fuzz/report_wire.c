/* SPDX-License-Identifier: MIT */
/*
 * report_wire.c - fuzz analysis/report_wire.h: bytes that come for reports of
 * another process are refused, or can be shown as text and as JSON, and are
 * written again to the same bytes.
 *
 * Input: what is between the first line and the sum, which are put right.
 */
#include "analysis/report_wire.h"

#include <errno.h>

#include "base/sum.h"
#include "fuzz.h"
#include "view/text/show.h"

#define MAGIC "sonde report 1\n"

static void show(const struct sonde_report *report, bool json)
{
	struct sonde_show how = { .json = json, .width = json ? 0 : 60 };
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	FUZZ_CHECK(to);
	FUZZ_CHECK(!sonde_show_report(&how, report, to));
	(void)fclose(to);
	free(text);
}

static void check(const void *bytes, size_t size)
{
	struct sonde_report_item *items;
	size_t again_size;
	void *again;
	size_t nr;
	int err = sonde_report_unpack(bytes, size, &items, &nr);

	FUZZ_CHECK(!err || err == -EINVAL);
	if (err)
		return;
	for (size_t i = 0; i < nr; i++) {
		if (!items[i].report)
			continue;
		show(items[i].report, false);
		show(items[i].report, true);
	}
	FUZZ_CHECK(!sonde_report_pack(items, nr, &again, &again_size));
	FUZZ_CHECK(again_size == size && !memcmp(again, bytes, size));
	free(again);
	sonde_report_unpacked_free(items, nr);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	size_t before = strlen(MAGIC);
	size_t all = before + size + 8;
	unsigned char *made = malloc(all);
	uint64_t sum;

	FUZZ_CHECK(made);
	memcpy(made, MAGIC, before);
	if (size)
		memcpy(made + before, bytes, size);
	sum = sonde_sum(made, before + size);
	for (unsigned int i = 0; i < 8; i++)
		made[before + size + i] = (unsigned char)(sum >> 8 * i);
	check(made, all);
	free(made);
	return 0;
}
