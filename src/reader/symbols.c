/* SPDX-License-Identifier: MIT */
/*
 * symbols.c - files of machine code, read once: where their bytes go in memory
 * (loads), and which variables are there.
 *
 * The address where the mapping begins and the file's byte there give the
 * file's load address; taken from the address asked for, it gives the address
 * as the file has it, which is searched among the variables.
 */
#include "reader/symbols.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILES_MAX    64
#define LOADS_MAX    32
#define SYMBOLS_MAX  ((size_t)1 << 20)
#define BUILD_ID_MAX 64 /* bytes */
#define DEBUG_PATH   "/usr/lib/debug/.build-id/"

struct load {
	uint64_t offset, file_bytes;
	uint64_t address, memory_bytes;
};

struct variable {
	uint64_t address, bytes;
	char *name;
};

struct file {
	char *path, *build_id; /* as asked for; build_id may be NULL */
	size_t nr_loads;
	struct load loads[LOADS_MAX];
	size_t nr_variables, capacity;
	struct variable *variables; /* by address */
};

struct sonde_symbols {
	size_t nr_files;
	struct file files[FILES_MAX];
};

struct sonde_symbols *sonde_symbols_new(void)
{
	return calloc(1, sizeof(struct sonde_symbols));
}

static void file_fini(struct file *file)
{
	for (size_t i = 0; i < file->nr_variables; i++)
		free(file->variables[i].name);
	free(file->variables);
	free(file->path);
	free(file->build_id);
}

void sonde_symbols_free(struct sonde_symbols *symbols)
{
	for (size_t i = 0; symbols && i < symbols->nr_files; i++)
		file_fini(&symbols->files[i]);
	free(symbols);
}

/* ---- reading ---- */

static void hex(const uint8_t *bytes, size_t size, char *to)
{
	for (size_t i = 0; i < size; i++)
		(void)snprintf(to + 2 * i, 3, "%02x", bytes[i]);
}

/* The build-id among the notes in `data`. */
static bool find_build_id(Elf_Data *data, char *to)
{
	GElf_Nhdr note;
	size_t name;
	size_t desc;
	size_t at = 0;
	size_t next;

	while ((next = gelf_getnote(data, at, &note, &name, &desc)) > 0) {
		const uint8_t *bytes = data->d_buf;

		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
		    !memcmp(bytes + name, "GNU", 4) && note.n_descsz > 0 &&
		    note.n_descsz <= BUILD_ID_MAX) {
			hex(bytes + desc, note.n_descsz, to);
			return true;
		}
		at = next;
	}
	return false;
}

/* "" if the file has none. */
static void read_build_id(Elf *elf, char *to)
{
	size_t nr = 0;

	*to = 0;
	if (elf_getphdrnum(elf, &nr))
		return;
	for (size_t i = 0; i < nr && i <= INT32_MAX; i++) {
		GElf_Phdr head;
		Elf_Data *data;

		if (!gelf_getphdr(elf, (int)i, &head) ||
		    head.p_type != PT_NOTE || head.p_offset > INT64_MAX)
			continue;
		data = elf_getdata_rawchunk(
			elf, (int64_t)head.p_offset, head.p_filesz,
			head.p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR);
		if (data && find_build_id(data, to))
			return;
	}
}

static void read_loads(Elf *elf, struct file *file)
{
	size_t nr = 0;

	if (elf_getphdrnum(elf, &nr))
		return;
	for (size_t i = 0; i < nr && file->nr_loads < LOADS_MAX; i++) {
		GElf_Phdr head;

		if (!gelf_getphdr(elf, (int)i, &head) || head.p_type != PT_LOAD)
			continue;
		file->loads[file->nr_loads++] = (struct load){
			.offset = head.p_offset,
			.file_bytes = head.p_filesz,
			.address = head.p_vaddr,
			.memory_bytes = head.p_memsz,
		};
	}
}

static bool add_variable(struct file *file, const GElf_Sym *symbol,
			 const char *name)
{
	struct variable *grown;

	if (file->nr_variables == file->capacity) {
		size_t capacity = file->capacity ? file->capacity * 2 : 64;

		if (capacity > SYMBOLS_MAX)
			return false;
		grown = reallocarray(file->variables, capacity, sizeof(*grown));
		if (!grown)
			return false;
		file->variables = grown;
		file->capacity = capacity;
	}
	grown = &file->variables[file->nr_variables];
	*grown = (struct variable){
		.address = symbol->st_value,
		.bytes = symbol->st_size,
		.name = strdup(name),
	};
	file->nr_variables += grown->name != NULL;
	return grown->name != NULL;
}

/* All variables of one table of symbols. */
static void read_table(Elf *elf, Elf_Scn *section, const GElf_Shdr *head,
		       struct file *file)
{
	Elf_Data *data = elf_getdata(section, NULL);
	size_t nr =
		data && head->sh_entsize ? data->d_size / head->sh_entsize : 0;

	for (size_t i = 0; i < nr && i <= INT32_MAX; i++) {
		GElf_Sym symbol;
		const char *name;

		if (!gelf_getsym(data, (int)i, &symbol))
			return;
		if (GELF_ST_TYPE(symbol.st_info) != STT_OBJECT ||
		    symbol.st_shndx == SHN_UNDEF || !symbol.st_size)
			continue;
		name = elf_strptr(elf, head->sh_link, symbol.st_name);
		if (name && *name && !add_variable(file, &symbol, name))
			return;
	}
}

/* Of the first table of that type; false if there is none. */
static bool read_variables(Elf *elf, uint32_t type, struct file *file)
{
	Elf_Scn *section = NULL;

	while ((section = elf_nextscn(elf, section))) {
		GElf_Shdr head;

		if (!gelf_getshdr(section, &head) || head.sh_type != type)
			continue;
		read_table(elf, section, &head, file);
		return true;
	}
	return false;
}

/* A regular file that is machine code; NULL if it isn't. */
static Elf *open_elf(const char *path, int *ret_fd)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat about;
	Elf *elf = NULL;

	if (fd < 0)
		return NULL;
	if (!fstat(fd, &about) && S_ISREG(about.st_mode))
		elf = elf_begin(fd, ELF_C_READ, NULL);
	if (elf && elf_kind(elf) != ELF_K_ELF) {
		(void)elf_end(elf);
		elf = NULL;
	}
	if (!elf)
		(void)close(fd); /* it was only read */
	*ret_fd = fd;
	return elf;
}

static void close_elf(Elf *elf, int fd)
{
	(void)elf_end(elf);
	(void)close(fd); /* it was only read */
}

/* What the build-id's file in /usr/lib/debug says; false: nothing. */
static bool read_debug_file(const char *build_id, struct file *file)
{
	char path[sizeof(DEBUG_PATH) + 2 * BUILD_ID_MAX + 16];
	char is[2 * BUILD_ID_MAX + 1];
	bool found = false;
	Elf *elf;
	int fd;

	if (strlen(build_id) < 3)
		return false;
	(void)snprintf(path, sizeof(path), DEBUG_PATH "%.2s/%.*s.debug",
		       build_id, 2 * BUILD_ID_MAX, build_id + 2);
	elf = open_elf(path, &fd);
	if (!elf)
		return false;
	read_build_id(elf, is);
	if (!strcmp(is, build_id))
		found = read_variables(elf, SHT_SYMTAB, file);
	close_elf(elf, fd);
	return found;
}

/* By address; of equal ones the first name, so that the choice doesn't depend
 * on the file's order. */
static int compare(const void *a, const void *b)
{
	const struct variable *left = a;
	const struct variable *right = b;

	if (left->address != right->address)
		return left->address < right->address ? -1 : 1;
	return strcmp(left->name, right->name);
}

static void read_file(struct file *file)
{
	char is[2 * BUILD_ID_MAX + 1];
	Elf *elf;
	int fd;

	(void)elf_version(EV_CURRENT); /* it can't be unknown to itself */
	elf = open_elf(file->path, &fd);
	if (!elf)
		return;
	read_build_id(elf, is);
	if (!file->build_id || !strcmp(file->build_id, is)) {
		read_loads(elf, file);
		if (!read_variables(elf, SHT_SYMTAB, file) &&
		    !read_debug_file(is, file))
			(void)read_variables(elf, SHT_DYNSYM, file);
	}
	close_elf(elf, fd);
	if (file->nr_variables)
		qsort(file->variables, file->nr_variables,
		      sizeof(*file->variables), compare);
}

/* ---- looking up ---- */

static bool is_same(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

/* NULL: no memory, or too many files. */
static const struct file *get_file(struct sonde_symbols *symbols,
				   const char *path, const char *build_id)
{
	struct file *file = symbols->files;

	for (size_t i = 0; i < symbols->nr_files; i++, file++)
		if (is_same(file->path, path) &&
		    is_same(file->build_id, build_id))
			return file;
	if (symbols->nr_files == FILES_MAX)
		return NULL;
	*file = (struct file){ .path = strdup(path) };
	if (build_id)
		file->build_id = strdup(build_id);
	if (!file->path || (build_id && !file->build_id)) {
		file_fini(file);
		return NULL;
	}
	symbols->nr_files++;
	read_file(file);
	return file;
}

/* The address as the file has it, within the load that the place is of. */
static bool to_file(const struct file *file,
		    const struct sonde_symbols_place *place, uint64_t address,
		    uint64_t *ret_address)
{
	/* Loads are mapped from the page on in which they begin. */
	const uint64_t page = 4096;

	for (size_t i = 0; i < file->nr_loads; i++) {
		const struct load *load = &file->loads[i];
		uint64_t from = load->offset & ~(page - 1);
		uint64_t at;

		if (place->offset < from ||
		    place->offset - load->offset + page - 1 >=
			    load->file_bytes + 2 * page)
			continue;
		at = address - place->begin + place->offset - load->offset +
		     load->address;
		if (at - load->address < load->memory_bytes) {
			*ret_address = at;
			return true;
		}
	}
	return false;
}

/* The last variable that begins at or before the address: how many there are
 * up to it. */
static size_t count_up_to(const struct file *file, uint64_t address)
{
	size_t low = 0;
	size_t high = file->nr_variables;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (file->variables[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

int sonde_symbols_find(struct sonde_symbols *symbols,
		       const struct sonde_symbols_place *place,
		       uint64_t address, struct sonde_symbol *ret_symbol)
{
	/* Variables don't overlap but for their other names. */
	const size_t look_back = 16;
	const struct file *file =
		get_file(symbols, place->path, place->build_id);
	const struct variable *found = NULL;
	uint64_t at;
	size_t end;

	if (!file || !file->variables || !to_file(file, place, address, &at))
		return -ENOENT;
	end = count_up_to(file, at);
	for (size_t i = end; i > 0 && end - i < look_back; i--) {
		const struct variable *variable = &file->variables[i - 1];

		if (at - variable->address < variable->bytes &&
		    (!found || variable->address == found->address))
			found = variable;
	}
	if (!found)
		return -ENOENT;
	ret_symbol->name = found->name;
	ret_symbol->distance = at - found->address;
	return 0;
}
