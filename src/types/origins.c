/* SPDX-License-Identifier: MIT */
/*
 * origins.c - origins as labels: "+0x", and up to 16 lower-case hexadecimal digits
 * (origins.h). Sums are modulo 2^64, so an origin below 2^31 has one as well.
 */
#include "types/origins.h"

#include "base/number.h"
#include "types/desc.h"

#define LABEL_SIZE 20

static void write_addend(uint64_t addend, char to[LABEL_SIZE])
{
	static const char digits[] = "0123456789abcdef";
	int nr = 1;

	while (nr < 16 && addend >> 4 * nr)
		nr++;
	to[0] = '+';
	to[1] = '0';
	to[2] = 'x';
	for (int i = 0; i < nr; i++)
		to[3 + i] = digits[addend >> 4 * (nr - 1 - i) & 15];
	to[3 + nr] = '\0';
}

void sonde_origins_build(const struct sonde_origins *origins,
			 struct sonde_build *build, const char *name)
{
	char texts[2][LABEL_SIZE];
	const struct sonde_build_label labels[] = {
		{ 0, SONDE_ORIGIN_SPAN - 1, texts[0] },
		{ SONDE_ORIGIN_SPAN, UINT32_MAX, texts[1] },
	};

	write_addend(origins->low, texts[0]);
	write_addend(origins->high - SONDE_ORIGIN_SPAN, texts[1]);
	sonde_build_enum(build, name, 32, 0, labels, 2);
}

bool sonde_origins_read(const char *label, uint64_t *ret_addend)
{
	uint64_t addend;

	if (label[0] != '+' || label[1] != '0' || label[2] != 'x')
		return false;
	label += 3;
	if (!sonde_number_take(&label, 16, UINT64_MAX, &addend) || *label)
		return false;
	*ret_addend = addend;
	return true;
}

bool sonde_origins_has(const struct sonde_desc *desc)
{
	struct sonde_fields fields = sonde_desc_fields(desc);
	struct sonde_field_view field;
	struct sonde_label_view label;
	struct sonde_labels labels;
	uint64_t addend;

	if (!sonde_fields_next(&fields, &field))
		return false;
	labels = sonde_field_labels(&field);
	return sonde_labels_next(&labels, &label) &&
	       sonde_origins_read(label.text, &addend);
}
