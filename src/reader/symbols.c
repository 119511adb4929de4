/* SPDX-License-Identifier: MIT */
/*
 * symbols.c - files of machine code, read once: where their bytes go in memory
 * (loads), and which variables and functions are there.
 *
 * The address where the mapping begins and the file's byte there give the
 * file's load address; taken from the address asked for, it gives the address
 * as the file has it, which is searched among the symbols. Of a function, what
 * the debugging information says comes first.
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

#include "base/grow.h"
#include "base/hex.h"
#include "base/search.h"
#include "reader/names/demangle.h"
#include "reader/names/dwarf.h"

#define FILES_MAX    1024
#define LOADS_MAX    32
#define SYMBOLS_MAX  ((size_t)1 << 20)
#define BUILD_ID_MAX 64 /* bytes */
#define DEBUG_PATH   "/usr/lib/debug/.build-id/"

struct load {
	uint64_t offset, file_bytes;
	uint64_t address, memory_bytes;
	bool is_code;
};

struct symbol {
	uint64_t address, bytes;
	char *name;
};

struct table {
	size_t nr, capacity;
	struct symbol *symbols; /* by address */
};

struct file {
	char *path, *build_id; /* as asked for; build_id may be NULL */
	enum sonde_lack lack;
	size_t nr_loads;
	struct load loads[LOADS_MAX];
	struct table variables, functions;
	int fd; /* until it has been looked for lines; then -1 */
	struct sonde_dwarf *lines; /* NULL: none */
};

struct sonde_symbols {
	size_t nr_files;
	struct file *files[FILES_MAX];
};

struct sonde_symbols *sonde_symbols_new(void)
{
	return calloc(1, sizeof(struct sonde_symbols));
}

static void table_fini(struct table *table)
{
	for (size_t i = 0; i < table->nr; i++)
		free(table->symbols[i].name);
	free(table->symbols);
}

static void file_free(struct file *file)
{
	if (!file)
		return;
	table_fini(&file->variables);
	table_fini(&file->functions);
	sonde_dwarf_free(file->lines);
	if (file->fd >= 0)
		(void)close(file->fd); /* it was only read */
	free(file->path);
	free(file->build_id);
	free(file);
}

void sonde_symbols_free(struct sonde_symbols *symbols)
{
	for (size_t i = 0; symbols && i < symbols->nr_files; i++)
		file_free(symbols->files[i]);
	free(symbols);
}

/* ---- reading ---- */

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
			sonde_hex_put(bytes + desc, note.n_descsz, to);
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
			.is_code = head.p_flags & PF_X,
		};
	}
}

static bool add_symbol(struct table *table, const GElf_Sym *symbol,
		       const char *name)
{
	struct symbol *added;

	if (table->nr == SYMBOLS_MAX ||
	    SONDE_GROW(table->symbols, table->nr, table->capacity))
		return false;
	added = &table->symbols[table->nr];
	*added = (struct symbol){
		.address = symbol->st_value,
		.bytes = symbol->st_size,
		.name = strdup(name),
	};
	table->nr += added->name != NULL;
	return added->name != NULL;
}

/* Where a symbol belongs; NULL: it is of no interest. */
static struct table *symbols_table_of(struct file *file, const GElf_Sym *symbol)
{
	if (symbol->st_shndx == SHN_UNDEF || !symbol->st_size)
		return NULL;
	switch (GELF_ST_TYPE(symbol->st_info)) {
	case STT_OBJECT:
		return &file->variables;
	case STT_FUNC:
	case STT_GNU_IFUNC:
		return &file->functions;
	default:
		return NULL;
	}
}

/* All variables and functions of one table of symbols. */
static void symbols_read_table(Elf *elf, Elf_Scn *section,
			       const GElf_Shdr *head, struct file *file)
{
	Elf_Data *data = elf_getdata(section, NULL);
	size_t nr =
		data && head->sh_entsize ? data->d_size / head->sh_entsize : 0;

	for (size_t i = 0; i < nr && i <= INT32_MAX; i++) {
		GElf_Sym symbol;
		struct table *table;
		const char *name;

		if (!gelf_getsym(data, (int)i, &symbol))
			return;
		table = symbols_table_of(file, &symbol);
		if (!table)
			continue;
		name = elf_strptr(elf, head->sh_link, symbol.st_name);
		if (name && *name && !add_symbol(table, &symbol, name))
			return;
	}
}

/* Of the first table of that type; false if there is none. */
static bool read_symbols(Elf *elf, uint32_t type, struct file *file)
{
	Elf_Scn *section = NULL;

	while ((section = elf_nextscn(elf, section))) {
		GElf_Shdr head;

		if (!gelf_getshdr(section, &head) || head.sh_type != type)
			continue;
		symbols_read_table(elf, section, &head, file);
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
		found = read_symbols(elf, SHT_SYMTAB, file);
	close_elf(elf, fd);
	return found;
}

/* By address; of equal ones first what isn't the C library's inner name, then
 * the first name, so that the choice doesn't depend on the file's order. */
static int compare(const void *a, const void *b)
{
	const struct symbol *left = a;
	const struct symbol *right = b;
	int inner =
		!strncmp(left->name, "__", 2) - !strncmp(right->name, "__", 2);

	if (left->address != right->address)
		return left->address < right->address ? -1 : 1;
	return inner ? inner : strcmp(left->name, right->name);
}

static void sort(struct table *table)
{
	if (table->nr)
		qsort(table->symbols, table->nr, sizeof(*table->symbols),
		      compare);
}

/* Reading debugging information takes time: only who asks for it waits. */
static struct sonde_dwarf *get_lines(struct file *file)
{
	if (file->fd < 0)
		return file->lines;
	file->lines = sonde_dwarf_open(file->path, file->fd);
	(void)close(file->fd); /* it was only read */
	file->fd = -1;
	return file->lines;
}

/* Whatever has them all: the file, or what debugs it. */
static bool read_all_symbols(Elf *elf, const char *build_id, struct file *file)
{
	Elf *debug;

	if (read_symbols(elf, SHT_SYMTAB, file) ||
	    read_debug_file(build_id, file))
		return true;
	debug = sonde_dwarf_elf(get_lines(file));
	return debug && read_symbols(debug, SHT_SYMTAB, file);
}

static void read_elf(Elf *elf, struct file *file)
{
	char is[2 * BUILD_ID_MAX + 1];

	read_build_id(elf, is);
	if (file->build_id && strcmp(file->build_id, is) != 0) {
		file->lack = SONDE_LACK_BUILD;
		return;
	}
	read_loads(elf, file);
	file->lack = SONDE_LACK_PLACE;
	if (!read_all_symbols(elf, is, file)) {
		/* what only linking needs */
		(void)read_symbols(elf, SHT_DYNSYM, file);
		file->lack = SONDE_LACK_SYMBOLS;
	}
	sort(&file->variables);
	sort(&file->functions);
}

static void symbols_read_file(struct file *file)
{
	Elf *elf;
	int fd;

	(void)elf_version(EV_CURRENT); /* it can't be unknown to itself */
	file->lack = SONDE_LACK_FILE;
	elf = open_elf(file->path, &fd);
	if (!elf)
		return;
	file->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	read_elf(elf, file);
	close_elf(elf, fd);
}

/* ---- looking up ---- */

static bool symbols_is_same(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

static struct file *new_file(const char *path, const char *build_id)
{
	struct file *file = calloc(1, sizeof(*file));

	if (!file)
		return NULL;
	file->fd = -1;
	file->path = strdup(path);
	if (build_id)
		file->build_id = strdup(build_id);
	if (file->path && (!build_id || file->build_id))
		return file;
	file_free(file);
	return NULL;
}

/* NULL: no memory, or too many files. */
static struct file *get_file(struct sonde_symbols *symbols, const char *path,
			     const char *build_id)
{
	struct file *file;

	for (size_t i = 0; i < symbols->nr_files; i++)
		if (symbols_is_same(symbols->files[i]->path, path) &&
		    symbols_is_same(symbols->files[i]->build_id, build_id))
			return symbols->files[i];
	if (symbols->nr_files == FILES_MAX)
		return NULL;
	file = new_file(path, build_id);
	if (!file)
		return NULL;
	symbols->files[symbols->nr_files++] = file;
	symbols_read_file(file);
	return file;
}

/* The address as the file has it, if the place is of this load. */
static bool to_load(const struct load *load,
		    const struct sonde_symbols_place *place, uint64_t address,
		    uint64_t *ret_address)
{
	/* Loads are mapped from the page on in which they begin. */
	const uint64_t page = 4096;

	if (place->offset < (load->offset & ~(page - 1)) ||
	    place->offset - load->offset + page - 1 >=
		    load->file_bytes + 2 * page)
		return false;
	*ret_address = address - place->begin + place->offset - load->offset +
		       load->address;
	return true;
}

static bool load_has(const struct load *load, uint64_t at)
{
	return at - load->address < load->memory_bytes;
}

static bool is_loaded(const struct file *file, uint64_t at)
{
	for (size_t i = 0; i < file->nr_loads; i++)
		if (load_has(&file->loads[i], at))
			return true;
	return false;
}

/* The address as the file has it: within the load that the place is of, or else,
 * since all loads of a file are moved by the same distance, within another, if
 * the place is of code. (Loads of data may share a page of the file with what
 * lies elsewhere in memory.) */
static bool to_file(const struct file *file,
		    const struct sonde_symbols_place *place, uint64_t address,
		    uint64_t *ret_address)
{
	for (size_t i = 0; i < file->nr_loads; i++)
		if (to_load(&file->loads[i], place, address, ret_address) &&
		    load_has(&file->loads[i], *ret_address))
			return true;
	for (size_t i = 0; i < file->nr_loads; i++)
		if (file->loads[i].is_code &&
		    to_load(&file->loads[i], place, address, ret_address) &&
		    is_loaded(file, *ret_address))
			return true;
	return false;
}

/* The symbol with the address in it that begins last; NULL. */
static const struct symbol *find(const struct table *table, uint64_t at)
{
	/* Symbols don't overlap but for their other names. */
	const size_t look_back = 16;
	const struct symbol *found = NULL;
	size_t end;

	SONDE_SEARCH(end, table->nr, table->symbols[end].address <= at);
	for (size_t i = end; i > 0 && end - i < look_back; i--) {
		const struct symbol *symbol = &table->symbols[i - 1];

		if (at - symbol->address < symbol->bytes &&
		    (!found || symbol->address == found->address))
			found = symbol;
	}
	return found;
}

int sonde_symbols_find(struct sonde_symbols *symbols,
		       const struct sonde_symbols_place *place,
		       uint64_t address, struct sonde_symbol *ret_symbol)
{
	const struct file *file =
		get_file(symbols, place->path, place->build_id);
	const struct symbol *found = NULL;
	uint64_t at;

	if (file && to_file(file, place, address, &at))
		found = find(&file->variables, at);
	if (!found)
		return -ENOENT;
	ret_symbol->name = found->name;
	ret_symbol->distance = at - found->address;
	return 0;
}

void sonde_symbols_code(struct sonde_symbols *symbols,
			const struct sonde_symbols_place *place,
			uint64_t address, struct sonde_naming *ret_naming)
{
	struct file *file = get_file(symbols, place->path, place->build_id);
	const struct symbol *found;
	char name[SONDE_DEMANGLED_MAX];
	uint64_t at;

	sonde_naming_init(ret_naming);
	ret_naming->lack = file ? file->lack : SONDE_LACK_READER;
	if (!file || !file->nr_loads || !to_file(file, place, address, &at))
		return;
	ret_naming->address = at;
	found = find(&file->functions, at);
	if (found)
		ret_naming->distance = at - found->address;
	sonde_dwarf_find(get_lines(file), at, ret_naming);
	if (!ret_naming->nr_frames && found)
		sonde_naming_add(ret_naming,
				 sonde_demangle(found->name, name,
						sizeof(name)),
				 NULL, 0);
	if (ret_naming->nr_frames)
		ret_naming->lack = SONDE_LACK_NOTHING;
}
