/* SPDX-License-Identifier: MIT */
/*
 * program.c - whether a program takes a preloaded library, by its file.
 *
 * Each offset is compared with the file's size before it is used. A look reads
 * the head, the table of segments, the dynamic section and some of its strings:
 * a few kilobytes, and of a script its interpreter's. What names are in it takes
 * reading all of its strings.
 */
#include "sys/program.h"

#include <elf.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEADERS_MAX 64u
#define ENTRIES_MAX 512u /* of the dynamic section */
#define ENTRIES_PER 32u
#define NEEDED_MAX  64u
#define NAME_BYTES  24u
#define SCRIPTS_MAX 5 /* as the kernel */
#define LINE_BYTES  256u
#define PIECE_BYTES 4096u
#define STRINGS_MAX (16u << 20)

#if defined(__x86_64__)
#define OWN_MACHINE EM_X86_64
#define OWN_LOADER  "ld-linux-x86-64.so.2"
#elif defined(__aarch64__)
#define OWN_MACHINE EM_AARCH64
#define OWN_LOADER  "ld-linux-aarch64.so.1"
#else
#define OWN_MACHINE EM_NONE
#define OWN_LOADER  ""
#endif

/* What of a file matters. */
struct look {
	int fd;
	uint32_t nr;
	Elf64_Phdr headers[HEADERS_MAX];
	uint64_t strings; /* address of the dynamic section's; 0: none */
	uint64_t strings_bytes;
	uint64_t flags; /* DT_FLAGS_1 */
	uint32_t nr_needed;
	uint64_t needed[NEEDED_MAX]; /* offsets in `strings` */
};

static bool program_read_at(int fd, uint64_t offset, void *to, size_t size)
{
	return offset <= INT64_MAX &&
	       pread(fd, to, size, (off_t)offset) == (ssize_t)size;
}

static const Elf64_Phdr *find(const struct look *look, uint32_t type)
{
	for (uint32_t i = 0; i < look->nr; i++)
		if (look->headers[i].p_type == type)
			return &look->headers[i];
	return NULL;
}

/* Where in the file an address is, or UINT64_MAX. */
static uint64_t program_offset_of(const struct look *look, uint64_t address)
{
	for (uint32_t i = 0; i < look->nr; i++) {
		const Elf64_Phdr *h = &look->headers[i];

		if (h->p_type == PT_LOAD && address >= h->p_vaddr &&
		    address - h->p_vaddr < h->p_filesz)
			return h->p_offset + (address - h->p_vaddr);
	}
	return UINT64_MAX;
}

static void take_entry(struct look *look, const Elf64_Dyn *entry)
{
	if (entry->d_tag == DT_STRTAB)
		look->strings = entry->d_un.d_ptr;
	else if (entry->d_tag == DT_STRSZ)
		look->strings_bytes = entry->d_un.d_val;
	else if (entry->d_tag == DT_FLAGS_1)
		look->flags = entry->d_un.d_val;
	else if (entry->d_tag == DT_NEEDED && look->nr_needed < NEEDED_MAX)
		look->needed[look->nr_needed++] = entry->d_un.d_val;
}

static void program_read_dynamic(struct look *look, const Elf64_Phdr *dynamic)
{
	uint64_t nr = dynamic->p_filesz / sizeof(Elf64_Dyn);
	Elf64_Dyn entries[ENTRIES_PER];

	if (nr > ENTRIES_MAX)
		nr = ENTRIES_MAX;
	for (uint64_t i = 0; i < nr; i += ENTRIES_PER) {
		uint64_t n = nr - i < ENTRIES_PER ? nr - i : ENTRIES_PER;

		if (!program_read_at(look->fd,
				     dynamic->p_offset + i * sizeof(*entries),
				     entries, (size_t)n * sizeof(*entries)))
			return;
		for (uint64_t k = 0; k < n; k++) {
			if (entries[k].d_tag == DT_NULL)
				return;
			take_entry(look, &entries[k]);
		}
	}
}

static bool starts_with(const char *text, const char *start)
{
	return !strncmp(text, start, strlen(start));
}

/* AddressSanitizer ends a program in which its runtime doesn't come first. */
static bool needs_sanitizer(const struct look *look)
{
	char name[NAME_BYTES + 1] = "";

	for (uint32_t i = 0; i < look->nr_needed; i++) {
		uint64_t at = program_offset_of(look, look->strings +
							      look->needed[i]);
		ssize_t n = at <= INT64_MAX ? pread(look->fd, name, NAME_BYTES,
						    (off_t)at) :
					      -1;

		name[n > 0 ? n : 0] = '\0';
		if (starts_with(name, "libasan.so") ||
		    starts_with(name, "libhwasan.so") ||
		    starts_with(name, "libclang_rt.asan") ||
		    starts_with(name, "libclang_rt.hwasan"))
			return true;
	}
	return false;
}

static bool is_own_loader(const struct look *look, const Elf64_Phdr *interp)
{
	char path[LINE_BYTES];
	size_t size = interp->p_filesz < sizeof(path) - 1 ?
			      (size_t)interp->p_filesz :
			      sizeof(path) - 1;
	const char *slash;

	if (!program_read_at(look->fd, interp->p_offset, path, size))
		return true; /* the kernel won't find it either */
	path[size] = '\0';
	slash = strrchr(path, '/');
	return !*OWN_LOADER || !strcmp(slash ? slash + 1 : path, OWN_LOADER);
}

static enum sonde_program_kind program_judge(struct look *look)
{
	const Elf64_Phdr *interp = find(look, PT_INTERP);
	const Elf64_Phdr *dynamic = find(look, PT_DYNAMIC);

	if (dynamic)
		program_read_dynamic(look, dynamic);
	if (!interp) {
		/* The loader itself may be executed, too: it is neither. */
		return !dynamic || (look->flags & DF_1_PIE) ?
			       SONDE_PROGRAM_STATIC :
			       SONDE_PROGRAM_UNKNOWN;
	}
	if (!is_own_loader(look, interp))
		return SONDE_PROGRAM_LIBC;
	return needs_sanitizer(look) ? SONDE_PROGRAM_SANITIZER :
				       SONDE_PROGRAM_FINE;
}

/* FINE: its segments are known. */
static enum sonde_program_kind program_read_head(struct look *look)
{
	struct stat st;
	Elf64_Ehdr head;

	if (fstat(look->fd, &st) || !S_ISREG(st.st_mode) ||
	    !program_read_at(look->fd, 0, &head, sizeof(head)) ||
	    memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
	    OWN_MACHINE == EM_NONE)
		return SONDE_PROGRAM_UNKNOWN;
	if (head.e_ident[EI_CLASS] != ELFCLASS64 ||
	    head.e_machine != OWN_MACHINE)
		return SONDE_PROGRAM_MACHINE;
	if (head.e_phentsize != sizeof(look->headers[0]) ||
	    head.e_phnum > HEADERS_MAX ||
	    !program_read_at(look->fd, head.e_phoff, look->headers,
			     head.e_phnum * sizeof(look->headers[0])))
		return SONDE_PROGRAM_UNKNOWN;
	look->nr = head.e_phnum;
	return SONDE_PROGRAM_FINE;
}

enum sonde_program_kind sonde_program_look_fd(int fd)
{
	struct look look = { .fd = fd };
	enum sonde_program_kind kind = program_read_head(&look);

	return kind == SONDE_PROGRAM_FINE ? program_judge(&look) : kind;
}

/* ---- names ---- */

/* In the table of strings, by pieces that overlap by the longest name. */
static bool program_has_string(const struct look *look, const char *wanted,
			       size_t length)
{
	uint64_t offset = program_offset_of(look, look->strings);
	uint64_t left = look->strings_bytes < STRINGS_MAX ?
				look->strings_bytes :
				STRINGS_MAX;
	char piece[PIECE_BYTES];

	while (offset <= INT64_MAX && left >= length) {
		size_t size =
			left < sizeof(piece) ? (size_t)left : sizeof(piece);
		ssize_t n = pread(look->fd, piece, size, (off_t)offset);

		if (n < (ssize_t)length)
			return false;
		if (memmem(piece, (size_t)n, wanted, length))
			return true;
		offset += (size_t)n - length + 1;
		left -= (size_t)n - length + 1;
	}
	return false;
}

bool sonde_program_names(const char *path, const char *symbol)
{
	struct look look = { .fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY |
						      O_NONBLOCK) };
	char wanted[SONDE_PROGRAM_SYMBOL_MAX + 2] = "";
	size_t length = strlen(symbol);
	const Elf64_Phdr *dynamic;
	bool found = false;

	if (look.fd < 0)
		return false;
	if (length <= SONDE_PROGRAM_SYMBOL_MAX &&
	    program_read_head(&look) == SONDE_PROGRAM_FINE) {
		/* The string before it ends with a NUL, too. */
		memcpy(wanted + 1, symbol, length + 1);
		dynamic = find(&look, PT_DYNAMIC);
		if (dynamic)
			program_read_dynamic(&look, dynamic);
		found = look.strings &&
			program_has_string(&look, wanted, length + 2);
	}
	(void)close(look.fd); /* it was only read */
	return found;
}

/* The interpreter's path, cut out of a line "#! path words"; NULL if it isn't
 * such a line. */
static char *interpreter(char *line)
{
	char *path = line + 2;

	if (line[0] != '#' || line[1] != '!')
		return NULL;
	path += strspn(path, " \t");
	path[strcspn(path, " \t\n")] = '\0';
	return *path ? path : NULL;
}

enum sonde_program_kind sonde_program_look(int dir, const char *path)
{
	enum sonde_program_kind kind = SONDE_PROGRAM_UNKNOWN;
	char line[LINE_BYTES];

	for (int i = 0; path && i < SCRIPTS_MAX; i++) {
		int fd = openat(dir, path,
				O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
		ssize_t n;

		if (fd < 0)
			return SONDE_PROGRAM_UNKNOWN;
		kind = sonde_program_look_fd(fd);
		n = kind == SONDE_PROGRAM_UNKNOWN ?
			    pread(fd, line, sizeof(line) - 1, 0) :
			    0;
		(void)close(fd); /* it was only read */
		line[n > 0 ? n : 0] = '\0';
		path = interpreter(line);
	}
	return kind;
}

const char *sonde_program_reason(enum sonde_program_kind kind)
{
	switch (kind) {
	case SONDE_PROGRAM_MACHINE:
		return "it is built for another architecture";
	case SONDE_PROGRAM_LIBC:
		return "it has another C library";
	case SONDE_PROGRAM_SANITIZER:
		return "it is built with a sanitizer, whose runtime must come "
		       "first";
	case SONDE_PROGRAM_UNKNOWN:
	case SONDE_PROGRAM_FINE:
	case SONDE_PROGRAM_STATIC:
		break;
	}
	return NULL;
}
