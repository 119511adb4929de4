/* SPDX-License-Identifier: MIT */
/* statics.c - see statics.h. */
#include "probe/static_variables.h"

#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <string.h>
#include <unistd.h>

/* "name", "name.1", or what "name.member" begins with. */
static bool is_of(const char *symbol, const char *name)
{
	size_t length = strcspn(name, ".");

	return strncmp(symbol, name, length) == 0 &&
	       (symbol[length] == '\0' || symbol[length] == '.');
}

static void look_at(Elf *elf, Elf_Scn *section, const GElf_Shdr *head,
		    const char *const *names, size_t nr, bool *found)
{
	Elf_Data *data = elf_getdata(section, NULL);
	GElf_Sym symbol;
	const char *text;

	for (int i = 0; data && gelf_getsym(data, i, &symbol); i++) {
		if (GELF_ST_TYPE(symbol.st_info) != STT_OBJECT)
			continue;
		text = elf_strptr(elf, head->sh_link, symbol.st_name);
		for (size_t k = 0; text && k < nr; k++)
			found[k] = found[k] || is_of(text, names[k]);
	}
}

void sonde_probe_static_variables_find(const char *file,
				       const char *const *names, size_t nr,
				       bool *found)
{
	int fd = open(file, O_RDONLY | O_CLOEXEC);
	Elf_Scn *section = NULL;
	GElf_Shdr head;
	Elf *elf;

	memset(found, 0, nr * sizeof(*found));
	if (fd < 0)
		return;
	(void)elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	while (elf && (section = elf_nextscn(elf, section)) != NULL)
		if (gelf_getshdr(section, &head) && head.sh_type == SHT_SYMTAB)
			look_at(elf, section, &head, names, nr, found);
	(void)elf_end(elf);
	(void)close(fd);
}
