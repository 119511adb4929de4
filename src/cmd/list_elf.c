/* SPDX-License-Identifier: MIT */
/*
 * list_elf.c - events out of an ELF file, without running it (list.h).
 *
 * A C compiler puts descriptions into section sonde_desc, a C++ compiler where
 * it puts constants; both at multiples of 8, and each begins with a magic
 * number. So all sections that are loaded and read-only are searched. Cost: one
 * comparison for each 8 bytes of them. The probes of <sys/sdt.h> are in a section
 * of notes (types/sdt.h).
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/pool.h"
#include "cmd/list.h"
#include "types/desc.h"
#include "types/elf.h"
#include "types/sdt.h"
#include "types/type.h"

int sonde_list_desc(const struct sonde_desc *desc,
		    const struct sonde_list_sink *sink,
		    struct sonde_list_text *text)
{
	struct sonde_class *payload = NULL;
	char name[2 * SONDE_NAME_MAX];
	struct sonde_pool pool;
	int error;

	(void)snprintf(name, sizeof(name), "%s:%s", sonde_desc_provider(desc),
		       sonde_desc_name(desc));
	sonde_pool_init(&pool, 0);
	error = sonde_class_from_desc(&pool, desc, &payload);
	if (error != -ENOMEM)
		error = sonde_list_payload(name, sonde_desc_loglevel(desc),
					   payload, sink, text);
	sonde_pool_fini(&pool);
	if (error || !sink->described || !sonde_desc_checksum(desc))
		return error;
	(void)snprintf(name, sizeof(name), "%016" PRIx64,
		       sonde_desc_checksum(desc));
	return sink->described(sink->user, name);
}

/* ---- the file ---- */

static int open_table(const uint8_t *bytes, size_t size,
		      struct sonde_elf_table *ret_table)
{
	struct sonde_elf_table table = { .file_size = size };
	struct sonde_elf_section names;
	struct sonde_elf_head head;
	int error = sonde_elf_check_head(bytes, size, &head);

	if (error != 0)
		return error;
	table.nr = head.nr_sections;
	table.is_narrow = head.is_narrow;
	if (table.nr > 0) {
		table.sections = bytes + head.sections_off;
		names = sonde_elf_section(&table, head.names_index);
		if (!names.in_file)
			return -EINVAL;
		table.names = (const char *)bytes + names.offset;
		table.names_size = names.size;
	}
	*ret_table = table;
	return 0;
}

static int list_range(const uint8_t *bytes, size_t size,
		      const struct sonde_list_sink *sink,
		      struct sonde_list_text *text, uint64_t *malformed)
{
	const struct sonde_desc *desc;
	size_t offset = 0;
	int error = 0;

	while (error == 0 &&
	       sonde_desc_scan(bytes, size, &offset, &desc, malformed)) {
		if (!sonde_desc_is_reference(desc))
			error = sonde_list_desc(desc, sink, text);
	}
	return error;
}

/* Where the linker put .stapsdt.base. */
static struct sonde_sdt_base find_base(const struct sonde_elf_table *table)
{
	for (uint32_t i = 0; i < table->nr; i++) {
		struct sonde_elf_section section = sonde_elf_section(table, i);

		if (!strcmp(section.name, SONDE_SDT_BASE_SECTION))
			return (struct sonde_sdt_base){ true, section.address };
	}
	return (struct sonde_sdt_base){ false, 0 };
}

static int list_sites(const struct sonde_sdt_notes *notes,
		      const struct sonde_sdt_base *base,
		      const struct sonde_list_sink *sink, uint64_t *malformed)
{
	struct sonde_sdt_site site;
	size_t offset = 0;
	int error = 0;

	while (error == 0 && sonde_sdt_scan(notes, &offset, &site, malformed)) {
		sonde_sdt_move(&site, base);
		error = sink->site(sink->user, &site);
	}
	return error;
}

int sonde_list_elf(const void *bytes, size_t size,
		   const struct sonde_list_sink *sink, uint64_t *ret_malformed)
{
	struct sonde_elf_table table;
	int error = open_table(bytes, size, &table);
	struct sonde_list_text *text;
	struct sonde_sdt_base base;
	uint64_t malformed = 0;
	uint64_t left = size;

	if (error != 0)
		return error;
	text = malloc(sizeof(*text));
	if (!text)
		return -ENOMEM;
	base = find_base(&table);
	for (uint32_t i = 0; error == 0 && i < table.nr; i++) {
		struct sonde_elf_section section = sonde_elf_section(&table, i);
		bool ours = !strcmp(section.name, SONDE_ELF_DESC_SECTION);
		bool sdt =
			sink->site && !strcmp(section.name, SONDE_SDT_SECTION);
		struct sonde_sdt_notes notes;

		if (!section.in_file || !(section.is_constant || sdt))
			continue;
		notes = (struct sonde_sdt_notes){
			(const uint8_t *)bytes + section.offset,
			section.size,
			table.is_narrow,
		};
		/* Sections share no bytes; if they did, a small file could
		 * keep us busy for hours. */
		if (section.size > left)
			error = -EINVAL;
		else if (sdt)
			error = list_sites(&notes, &base, sink, &malformed);
		else
			error = list_range(notes.bytes, notes.size, sink, text,
					   ours ? &malformed : NULL);
		left -= section.size;
	}
	free(text);
	if (error == 0)
		*ret_malformed = malformed;
	return error;
}
