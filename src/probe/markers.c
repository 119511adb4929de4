/* SPDX-License-Identifier: MIT */
/*
 * markers.c - see markers.h.
 *
 * Notes have addresses as the linker gave them. A file's headers turn them into
 * offsets in the file, and the process's mappings these into addresses there;
 * so it doesn't matter how often and where a file is loaded. What prelink moved
 * is told by where section .stapsdt.base is, and where the note says it was.
 *
 * A note is an event of ours if the file has a description of that name. They
 * are read only where there is such a note as our macro leaves.
 *
 * The files are the process's, and may be anything: they are read, never
 * mapped, by libelf, which checks what it is given; texts in them are taken
 * only if they are printable.
 */
#include "probe/markers.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/port.h"
#include "expr/agent.h"
#include "probe/inject/process.h"
#include "types/desc.h"
#include "types/elf.h"
#include "types/sdt.h"

#define MARKERS_MAX  65536u
#define GUEST_ARENA  "sonde_guest_arena"
#define ID_MIN       16 /* GDB 13.1 crashes at less */
#define NO_REGISTER  255u
#define EXTRA_MAX    1024u
#define CONSTANT_MAX ((size_t)64 << 20) /* bytes, searched for descriptions */

/* One file of the process's. */
struct file {
	Elf *elf;
	int fd;
	const struct sonde_mapping *mapping; /* the first */
	const struct sonde_maps *mappings;
	struct sonde_sdt_base base;
	size_t nr_before; /* markers of other files */
};

/* ---- addresses ---- */

/* The segment that has a byte, by its place in the file or by its address, as
 * linked. */
static bool find_segment(const struct file *file, bool in_file, uint64_t at,
			 GElf_Phdr *ret_head)
{
	size_t nr = 0;

	if (elf_getphdrnum(file->elf, &nr))
		return false;
	for (size_t i = 0; i < nr && i <= INT32_MAX; i++) {
		uint64_t begin;

		if (!gelf_getphdr(file->elf, (int)i, ret_head))
			continue;
		begin = in_file ? ret_head->p_offset : ret_head->p_vaddr;
		if (ret_head->p_type == PT_LOAD && at >= begin &&
		    at - begin < ret_head->p_filesz)
			return true;
	}
	return false;
}

/* The byte of the file that is at an address, as linked. */
static bool find_offset(const struct file *file, uint64_t address,
			uint64_t *ret_offset)
{
	GElf_Phdr head;

	if (!find_segment(file, false, address, &head))
		return false;
	*ret_offset = head.p_offset + (address - head.p_vaddr);
	return true;
}

/* Whether that mapping has the file's byte, executable or writable. */
static bool maps(const struct file *file, const struct sonde_mapping *mapping,
		 uint64_t offset, bool executable)
{
	return mapping->inode == file->mapping->inode &&
	       strcmp(mapping->path, file->mapping->path) == 0 &&
	       (executable ? mapping->executable : mapping->writable) &&
	       offset >= mapping->offset &&
	       offset - mapping->offset < mapping->end - mapping->start;
}

/* Where the variable is that goes with the code at `code`: in the next mapping
 * that has it. 0: nowhere. */
static uint64_t markers_find_variable(const struct file *file, uint64_t address,
				      const struct sonde_mapping *code)
{
	const struct sonde_maps *all = file->mappings;
	uint64_t offset;

	if (!address || !find_offset(file, address, &offset))
		return 0;
	for (const struct sonde_mapping *at = code; at < all->list + all->nr;
	     at++) {
		if (maps(file, at, offset, false))
			return at->start + (offset - at->offset);
	}
	return 0;
}

/* ---- arguments ---- */

/* GDB's number of a 32-bit register. */
static uint8_t register_number(const char *name)
{
	static const char *const names[] = {
		"eax", "ebx", "ecx",  "edx",  "esi",  "edi",  "ebp",  "esp",
		"r8d", "r9d", "r10d", "r11d", "r12d", "r13d", "r14d", "r15d",
	};

	for (size_t i = 0; i < SONDE_ARRAY_SIZE(names); i++) {
		if (strcmp(name, names[i]) == 0)
			return (uint8_t)(SONDE_AGENT_RAX + i);
	}
	return NO_REGISTER;
}

/* The register of "4@%eax", which is all that our notes say. */
static uint8_t state_register(const char *args)
{
	if (strncmp(args, "4@", 2) != 0)
		return NO_REGISTER;
	args += 2;
	return register_number(args + (*args == '%'));
}

/* ---- events ---- */

/* The names of the fields, with commas between them; NULL: no memory. */
static char *tell_fields(const struct sonde_desc *desc)
{
	struct sonde_fields fields = sonde_desc_fields(desc);
	struct sonde_desc_names *names = calloc(1, sizeof(*names));
	char *text = calloc(1, EXTRA_MAX);
	struct sonde_field_view field;
	size_t used = 0;

	while (names && text && sonde_fields_next(&fields, &field) &&
	       used < EXTRA_MAX) {
		int length = snprintf(text + used, EXTRA_MAX - used, "%s%s",
				      used ? ", " : "",
				      sonde_desc_names_add(names, field.name));

		used += length > 0 ? (size_t)length : 0;
	}
	free(names);
	return text;
}

/* What is described there is known to be events. */
static int name_event(struct sonde_probe_markers *to, const struct file *file,
		      const struct sonde_desc *desc)
{
	for (size_t i = file->nr_before; i < to->nr; i++) {
		struct sonde_probe_marker *marker = &to->list[i];
		char *fields;
		uint32_t size = sonde_desc_size(desc);

		if (marker->is_event ||
		    strcmp(marker->provider, sonde_desc_provider(desc)) != 0 ||
		    strcmp(marker->name, sonde_desc_name(desc)) != 0)
			continue;
		fields = tell_fields(desc);
		if (!fields)
			return -ENOMEM;
		free(marker->extra);
		marker->extra = fields;
		marker->is_event = true;
		marker->desc = calloc(1, size);
		if (!marker->desc)
			return -ENOMEM;
		memcpy(marker->desc, desc, size);
	}
	return 0;
}

static bool markers_is_constant(const GElf_Shdr *head)
{
	return head->sh_type == SHT_PROGBITS && head->sh_addr % 8 == 0 &&
	       head->sh_flags & SHF_ALLOC &&
	       !(head->sh_flags & (SHF_WRITE | SHF_EXECINSTR)) &&
	       head->sh_size <= CONSTANT_MAX;
}

/* Descriptions are among the constants. */
static int name_events(struct sonde_probe_markers *to, const struct file *file)
{
	Elf_Scn *section = NULL;
	int err = 0;

	while (!err && (section = elf_nextscn(file->elf, section))) {
		const struct sonde_desc *desc;
		size_t offset = 0;
		GElf_Shdr head;
		Elf_Data *data;

		if (!gelf_getshdr(section, &head) ||
		    !markers_is_constant(&head))
			continue;
		data = elf_rawdata(section, NULL);
		while (!err && data && data->d_buf &&
		       sonde_desc_scan(data->d_buf, data->d_size, &offset,
				       &desc, NULL)) {
			if (!sonde_desc_is_reference(desc))
				err = name_event(to, file, desc);
		}
	}
	return err;
}

/* ---- notes ---- */

static void marker_fini(struct sonde_probe_marker *marker)
{
	free(marker->id);
	free(marker->extra);
	free(marker->provider);
	free(marker->name);
	free(marker->desc);
}

struct sonde_probe_marker *
sonde_probe_markers_grow(struct sonde_probe_markers *to)
{
	struct sonde_probe_marker *list;

	/* at powers of two there is no room for one more */
	if (to->nr & (to->nr - 1))
		return &to->list[to->nr];
	list = reallocarray(to->list, to->nr ? to->nr * 2 : 1, sizeof(*list));
	if (!list)
		return NULL;
	to->list = list;
	return &list[to->nr];
}

static int add_marker(struct sonde_probe_markers *to, const struct file *file,
		      const struct sonde_sdt_site *site, uint64_t address,
		      const struct sonde_mapping *code)
{
	struct sonde_probe_marker *marker;

	if (to->nr == MARKERS_MAX)
		return 0;
	marker = sonde_probe_markers_grow(to);
	if (!marker)
		return -ENOMEM;
	*marker = (struct sonde_probe_marker){
		.address = address,
		.extra = strdup(site->arguments),
		.provider = strdup(site->provider),
		.name = strdup(site->name),
		.state_register = state_register(site->arguments),
		.semaphore = markers_find_variable(file, site->semaphore, code),
	};
	to->nr++;
	return marker->extra && marker->provider && marker->name ? 0 : -ENOMEM;
}

/* A marker wherever the process has that code. */
static int add_note(struct sonde_probe_markers *to, const struct file *file,
		    const struct sonde_sdt_site *site)
{
	const struct sonde_maps *all = file->mappings;
	uint64_t offset;
	int err = 0;

	if (!find_offset(file, site->address, &offset))
		return 0;
	for (size_t i = 0; !err && i < all->nr; i++) {
		const struct sonde_mapping *at = &all->list[i];

		if (maps(file, at, offset, true))
			err = add_marker(to, file, site,
					 at->start + (offset - at->offset), at);
	}
	return err;
}

static int add_notes(struct sonde_probe_markers *to, const struct file *file,
		     const Elf_Data *data)
{
	const struct sonde_sdt_notes notes = { data->d_buf, data->d_size,
					       false };
	struct sonde_sdt_site site;
	size_t at = 0;
	int err = 0;

	while (!err && sonde_sdt_scan(&notes, &at, &site, NULL)) {
		sonde_sdt_move(&site, &file->base);
		err = add_note(to, file, &site);
	}
	return err;
}

/* ---- files ---- */

static Elf_Scn *markers_find_section(Elf *elf, const char *wanted,
				     GElf_Shdr *ret_head)
{
	Elf_Scn *section = NULL;
	size_t names;

	if (elf_getshdrstrndx(elf, &names))
		return NULL;
	while ((section = elf_nextscn(elf, section))) {
		const char *name;

		if (!gelf_getshdr(section, ret_head))
			continue;
		name = elf_strptr(elf, names, ret_head->sh_name);
		if (name && strcmp(name, wanted) == 0)
			return section;
	}
	return NULL;
}

/* A file that a process has mapped, if that is what its name leads to. */
static int markers_open_mapped(pid_t pid, const struct sonde_mapping *mapping)
{
	char path[PATH_MAX + 64];
	struct stat about;
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%d/map_files/%jx-%jx",
		       (int)pid, (uintmax_t)mapping->start,
		       (uintmax_t)mapping->end);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0) {
		(void)snprintf(path, sizeof(path), "/proc/%d/root%s", (int)pid,
			       mapping->path);
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	}
	if (fd >= 0 && (fstat(fd, &about) || !S_ISREG(about.st_mode) ||
			about.st_ino != mapping->inode)) {
		(void)close(fd); /* it was only looked at */
		fd = -1;
	}
	return fd;
}

static bool has_ours(const struct sonde_probe_markers *markers, size_t from)
{
	for (size_t i = from; i < markers->nr; i++) {
		if (markers->list[i].state_register != NO_REGISTER)
			return true;
	}
	return false;
}

/* In the table of symbols of that type; 0: none, or several. */
static uint64_t markers_find_symbol(const struct file *file, uint32_t type,
				    const char *wanted)
{
	Elf_Scn *section = NULL;
	uint64_t address = 0;
	GElf_Shdr head;
	GElf_Sym symbol;

	while ((section = elf_nextscn(file->elf, section))) {
		Elf_Data *data;

		if (!gelf_getshdr(section, &head) || head.sh_type != type)
			continue;
		data = elf_getdata(section, NULL);
		for (int i = 0; data && gelf_getsym(data, i, &symbol); i++) {
			const char *name = elf_strptr(file->elf, head.sh_link,
						      symbol.st_name);

			if (symbol.st_shndx == SHN_UNDEF || !name ||
			    strcmp(name, wanted) != 0)
				continue;
			if (address && address != symbol.st_value)
				return 0;
			address = symbol.st_value;
		}
	}
	return address;
}

/* A variable's, in either table. */
static uint64_t markers_find_in_tables(const struct file *file,
				       const char *wanted)
{
	uint64_t address = markers_find_symbol(file, SHT_SYMTAB, wanted);

	return address ? address :
			 markers_find_symbol(file, SHT_DYNSYM, wanted);
}

/* The file is libsonde, or has it inside. */
static void find_guest_arena(struct sonde_probe_markers *to,
			     const struct file *file)
{
	uint64_t address = markers_find_in_tables(file, GUEST_ARENA);

	if (address && !to->guest_arena)
		to->guest_arena =
			markers_find_variable(file, address, file->mapping);
}

static int markers_read_file(struct sonde_probe_markers *to, struct file *file)
{
	GElf_Shdr head;
	Elf_Scn *section;
	Elf_Data *data;
	const char *slash = strrchr(file->mapping->path, '/');
	int err;

	if (elf_kind(file->elf) != ELF_K_ELF ||
	    gelf_getclass(file->elf) != ELFCLASS64)
		return 0;
	if (slash && strncmp(slash, "/libsonde.so", 12) == 0)
		find_guest_arena(to, file);
	if (markers_find_section(file->elf, SONDE_SDT_BASE_SECTION, &head))
		file->base = (struct sonde_sdt_base){ true, head.sh_addr };
	section = markers_find_section(file->elf, SONDE_SDT_SECTION, &head);
	data = section ? elf_rawdata(section, NULL) : NULL;
	if (!data || !data->d_buf || head.sh_type != SHT_NOTE)
		return 0;
	err = add_notes(to, file, data);
	if (!err && has_ours(to, file->nr_before)) {
		err = name_events(to, file);
		find_guest_arena(to, file);
	}
	return err;
}

static int add_file(struct sonde_probe_markers *to, pid_t pid,
		    const struct sonde_maps *mappings,
		    const struct sonde_mapping *mapping)
{
	struct file file = {
		.mapping = mapping,
		.mappings = mappings,
		.nr_before = to->nr,
	};
	int err = 0;

	file.fd = markers_open_mapped(pid, mapping);
	if (file.fd < 0)
		return 0; /* it is gone, or another one */
	file.elf = elf_begin(file.fd, ELF_C_READ, NULL);
	if (file.elf)
		err = markers_read_file(to, &file);
	(void)elf_end(file.elf);
	(void)close(file.fd); /* it was only read */
	return err;
}

/* A file's first mapping that is code. */
static bool is_first(const struct sonde_maps *mappings, size_t i)
{
	const struct sonde_mapping *mapping = &mappings->list[i];

	if (mapping->path[0] != '/' || !mapping->executable)
		return false;
	while (i-- > 0) {
		if (mappings->list[i].executable &&
		    mappings->list[i].inode == mapping->inode &&
		    strcmp(mappings->list[i].path, mapping->path) == 0)
			return false;
	}
	return true;
}

/* ---- all ---- */

int sonde_probe_marker_name(struct sonde_probe_marker *marker,
			    const char *before)
{
	int length = asprintf(&marker->id, "%s%s:%s", before, marker->provider,
			      marker->name);
	char *padded;

	if (length < 0) {
		marker->id = NULL;
		return -ENOMEM;
	}
	if (length >= ID_MIN)
		return 0;
	padded = realloc(marker->id, ID_MIN + 1);
	if (!padded)
		return -ENOMEM;
	memset(padded + length, '.', ID_MIN - (size_t)length);
	padded[ID_MIN] = 0;
	marker->id = padded;
	return 0;
}

static int name_markers(struct sonde_probe_markers *markers)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < markers->nr; i++) {
		struct sonde_probe_marker *marker = &markers->list[i];

		if (!marker->is_event)
			marker->state_register = NO_REGISTER;
		rc = sonde_probe_marker_name(
			marker, marker->is_event ? "sonde/" : "sdt/");
	}
	return rc;
}

static int by_address(const void *a, const void *b)
{
	const struct sonde_probe_marker *left = a;
	const struct sonde_probe_marker *right = b;

	return (left->address > right->address) -
	       (left->address < right->address);
}

void sonde_probe_markers_sort(struct sonde_probe_markers *markers)
{
	if (markers->nr)
		qsort(markers->list, markers->nr, sizeof(markers->list[0]),
		      by_address);
}

int sonde_probe_markers_find(pid_t pid, struct sonde_probe_markers *ret_markers)
{
	struct sonde_probe_markers markers = { NULL, 0, 0 };
	struct sonde_maps mappings;
	int err;

	if (elf_version(EV_CURRENT) == EV_NONE)
		return -ENOTSUP;
	err = sonde_process_mappings(pid, &mappings);
	if (err)
		return err;
	for (size_t i = 0; !err && i < mappings.nr; i++) {
		if (is_first(&mappings, i))
			err = add_file(&markers, pid, &mappings,
				       &mappings.list[i]);
	}
	sonde_maps_free(&mappings);
	if (!err)
		err = name_markers(&markers);
	if (err) {
		sonde_probe_markers_free(&markers);
		return err;
	}
	sonde_probe_markers_sort(&markers);
	*ret_markers = markers;
	return 0;
}

/* What has to be added to an address as linked: by a byte of the file's, and
 * where the process has that. False: no segment has it. */
static bool find_bias(const struct file *file, uint64_t there,
		      uint64_t *ret_bias)
{
	uint64_t offset = there - file->mapping->start + file->mapping->offset;
	GElf_Phdr head;

	if (!find_segment(file, true, offset, &head))
		return false;
	*ret_bias = there - (head.p_vaddr + (offset - head.p_offset));
	return true;
}

static uint64_t find_in_mapped(pid_t pid, struct file *file, uint64_t there,
			       const char *name)
{
	uint64_t address = 0;
	uint64_t bias;

	file->fd = markers_open_mapped(pid, file->mapping);
	if (file->fd < 0)
		return 0;
	file->elf = elf_begin(file->fd, ELF_C_READ, NULL);
	if (file->elf && find_bias(file, there, &bias)) {
		address = markers_find_in_tables(file, name);
		address += address ? bias : 0;
	}
	(void)elf_end(file->elf);
	(void)close(file->fd); /* it was only read */
	return address;
}

uint64_t sonde_probe_marker_variable(pid_t pid,
				     const struct sonde_probe_marker *marker,
				     const char *name)
{
	struct sonde_maps mappings;
	struct file file = { .mappings = &mappings };
	uint64_t there = 0;

	if (sonde_process_mappings(pid, &mappings))
		return 0;
	for (size_t i = 0; i < mappings.nr; i++)
		if (marker->address >= mappings.list[i].start &&
		    marker->address < mappings.list[i].end)
			file.mapping = &mappings.list[i];
	if (file.mapping)
		there = find_in_mapped(pid, &file, marker->address, name);
	sonde_maps_free(&mappings);
	return there;
}

const struct sonde_probe_marker *
sonde_probe_marker_at(const struct sonde_probe_markers *markers,
		      uint64_t address)
{
	const struct sonde_probe_marker wanted = { .address = address };

	return markers->nr ? bsearch(&wanted, markers->list, markers->nr,
				     sizeof(wanted), by_address) :
			     NULL;
}

void sonde_probe_markers_free(struct sonde_probe_markers *markers)
{
	for (size_t i = 0; i < markers->nr; i++)
		marker_fini(&markers->list[i]);
	free(markers->list);
	*markers = (struct sonde_probe_markers){ NULL, 0, 0 };
}
