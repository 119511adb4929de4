/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * table.c - see table.h: kinds are found by the hash of their description, one
 * after the other, as there are few.
 */
#include "source/marks/table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "source/described.h"
#include "types/desc.h"

#define KINDS_MAX (SONDE_MARKS_MAX + SONDE_LEVELS)

struct marks_kind {
	uint32_t hash;
	struct sonde_desc *desc;
};

struct sonde_marks {
	bool is_kernel;
	uint32_t nr;
	struct marks_kind kinds[KINDS_MAX];
	struct sonde_marks_line mark;
	uint64_t room[SONDE_DESC_MAX / 8];
	uint8_t payload[SONDE_MARK_PAYLOAD_MAX];
};

struct sonde_marks *sonde_marks_new(bool is_kernel)
{
	struct sonde_marks *marks = calloc(1, sizeof(*marks));

	if (marks)
		marks->is_kernel = is_kernel;
	return marks;
}

void sonde_marks_free(struct sonde_marks *marks)
{
	for (uint32_t i = 0; marks && i < marks->nr; i++)
		free(marks->kinds[i].desc);
	free(marks);
}

uint32_t sonde_marks_nr(const struct sonde_marks *marks)
{
	return marks->nr;
}

const struct sonde_desc *sonde_marks_desc(const struct sonde_marks *marks,
					  uint32_t kind)
{
	return marks->kinds[kind].desc;
}

static int is_provider(void *ctx, const struct sonde_desc *desc)
{
	return !strcmp(ctx, sonde_desc_provider(desc));
}

/* Whether events of that provider are a kernel module's. */
static bool marks_is_modules(const char *provider)
{
	char name[SONDE_NAME_MAX];

	memcpy(name, provider, strlen(provider) + 1);
	return sonde_source_each_described(SONDE_SOURCE_NOTES, is_provider,
					   name) > 0;
}

/* 0; -ENOENT: there is none yet. */
static int find_kind(const struct sonde_marks *marks,
		     const struct sonde_desc *desc, uint32_t *ret_kind)
{
	uint32_t hash = sonde_desc_hash(desc);

	for (uint32_t i = 0; i < marks->nr; i++)
		if (marks->kinds[i].hash == hash &&
		    sonde_desc_equal(marks->kinds[i].desc, desc)) {
			*ret_kind = i;
			return 0;
		}
	return -ENOENT;
}

static int add_kind(struct sonde_marks *marks, const struct sonde_desc *desc,
		    uint32_t *ret_kind)
{
	struct marks_kind *kind = &marks->kinds[marks->nr];
	size_t size = sonde_desc_size(desc);

	kind->desc = malloc(size);
	if (!kind->desc)
		return -ENOMEM;
	memcpy(kind->desc, desc, size);
	kind->hash = sonde_desc_hash(desc);
	*ret_kind = marks->nr++;
	return 0;
}

/* The kind of the mark that was taken apart; -EPERM, -EINVAL, -E2BIG: it can't have
 * one. */
static int marks_kind_of(struct sonde_marks *marks, uint32_t max, bool is_text,
			 uint32_t *ret_kind)
{
	const struct sonde_desc *desc = (const struct sonde_desc *)marks->room;
	int rc = sonde_marks_describe(&marks->mark, marks->is_kernel,
				      marks->room);

	if (!rc)
		rc = find_kind(marks, desc, ret_kind);
	if (rc != -ENOENT)
		return rc;
	if (marks->nr >= max)
		return -E2BIG;
	if (!is_text && marks_is_modules(marks->mark.provider))
		return -EPERM;
	return add_kind(marks, desc, ret_kind);
}

int sonde_marks_take(struct sonde_marks *marks, const char *line, size_t size,
		     struct sonde_marks_taken *ret_taken)
{
	int rc = sonde_marks_parse(&marks->mark, line, size) ? -EINVAL : 0;
	/* It counts if the line has to be a text, too. */
	uint64_t loss = rc ? 0 : sonde_marks_loss(&marks->mark);
	uint32_t kind = 0;

	if (!rc)
		rc = marks_kind_of(marks, SONDE_MARKS_MAX, false, &kind);
	if (rc && rc != -ENOMEM) {
		sonde_marks_take_text(&marks->mark, line, size);
		rc = marks_kind_of(marks, KINDS_MAX, true, &kind);
	}
	if (rc)
		return rc;
	*ret_taken = (struct sonde_marks_taken){
		.kind = kind,
		.mark = &marks->mark,
		.payload = marks->payload,
		.size = sonde_marks_put_payload(&marks->mark, marks->payload),
		.loss = loss,
	};
	return 0;
}
