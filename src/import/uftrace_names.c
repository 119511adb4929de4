/* SPDX-License-Identifier: MIT */
/*
 * uftrace_names.c - maps and symbols of uftrace's (uftrace_names.h).
 */
#include "import/uftrace_names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/pool.h"
#include "base/search.h"
#include "base/text.h"
#include "import/uftrace_text.h"
#include "sys/proc.h"
#include "sys/textfile.h"

#define FILES_MAX 65536u

struct uftrace_symbol {
	uint64_t address; /* in its file */
	const char *name;
};

struct uftrace_file {
	const char *name;            /* without its directory */
	struct uftrace_symbol *list; /* by address */
	size_t nr, room;
};

struct uftrace_mapped {
	uint64_t begin, end;
	uint64_t base; /* where the file is mapped first */
	size_t file;
};

struct uftrace_map {
	char sid[SONDE_UFTRACE_SID_BYTES];
	struct uftrace_mapped *list;
	size_t nr, room;
};

struct sonde_import_uftrace_names {
	const char *directory;
	struct sonde_pool pool; /* texts */
	struct uftrace_file *files;
	size_t nr_files, files_room;
	struct uftrace_map *maps;
	size_t nr_maps, maps_room;
	struct sonde_lines lines;
};

struct sonde_import_uftrace_names *
sonde_import_uftrace_names_new(const char *directory)
{
	struct sonde_import_uftrace_names *names = calloc(1, sizeof(*names));

	if (!names)
		return NULL;
	names->directory = directory;
	sonde_pool_init(&names->pool, 0);
	return names;
}

void sonde_import_uftrace_names_free(struct sonde_import_uftrace_names *names)
{
	if (!names)
		return;
	for (size_t i = 0; i < names->nr_files; i++)
		free(names->files[i].list);
	for (size_t i = 0; i < names->nr_maps; i++)
		free(names->maps[i].list);
	free(names->files);
	free(names->maps);
	sonde_pool_fini(&names->pool);
	free(names);
}

/* ---- symbols ---- */

static int uftrace_compare(const void *a, const void *b)
{
	const struct uftrace_symbol *x = a;
	const struct uftrace_symbol *y = b;

	return (x->address > y->address) - (x->address < y->address);
}

static int uftrace_add_symbol(struct sonde_import_uftrace_names *names,
			      struct uftrace_file *file, const char *line)
{
	struct uftrace_symbol symbol;

	if (!sonde_import_uftrace_symbol(line, &symbol.address, &symbol.name))
		return 0;
	symbol.name =
		sonde_pool_text(&names->pool, symbol.name, strlen(symbol.name));
	if (!symbol.name || SONDE_GROW(file->list, file->nr, file->room))
		return -ENOMEM;
	file->list[file->nr++] = symbol;
	return 0;
}

static int uftrace_read_symbols(struct sonde_import_uftrace_names *names,
				struct uftrace_file *file)
{
	const char *line;
	int rc = 0;

	if (!sonde_lines_open(&names->lines, "%s/%s.sym", names->directory,
			      file->name))
		while (!rc && (line = sonde_lines_next(&names->lines)))
			rc = uftrace_add_symbol(names, file, line);
	sonde_lines_close(&names->lines);
	if (file->nr)
		qsort(file->list, file->nr, sizeof(*file->list),
		      uftrace_compare);
	return rc;
}

/* Its number; or -ENOMEM, -E2BIG. */
static int uftrace_file(struct sonde_import_uftrace_names *names,
			const char *name)
{
	struct uftrace_file file = { .nr = 0 };
	int rc;

	for (size_t i = 0; i < names->nr_files; i++)
		if (!strcmp(names->files[i].name, name))
			return (int)i;
	if (names->nr_files == FILES_MAX)
		return -E2BIG;
	file.name = sonde_pool_text(&names->pool, name, strlen(name));
	if (!file.name ||
	    SONDE_GROW(names->files, names->nr_files, names->files_room))
		return -ENOMEM;
	names->files[names->nr_files++] = file;
	rc = uftrace_read_symbols(names, &names->files[names->nr_files - 1]);
	return rc ? rc : (int)names->nr_files - 1;
}

/* ---- maps ---- */

/* Behind the path uftrace has the file's build id. */
static void uftrace_cut_build_id(char *line)
{
	char *at = strstr(line, " build-id:");

	if (at)
		*at = '\0';
}

static int uftrace_add_mapped(struct sonde_import_uftrace_names *names,
			      struct uftrace_map *map, char *line)
{
	struct sonde_proc_mapping mapping;
	struct uftrace_mapped mapped;
	int file;

	uftrace_cut_build_id(line);
	if (!sonde_proc_parse_mapping(line, &mapping) || mapping.path[0] != '/')
		return 0;
	file = uftrace_file(names, sonde_text_base(mapping.path));
	if (file == -ENOMEM)
		return file;
	if (file < 0)
		return 0;
	mapped = (struct uftrace_mapped){ mapping.begin, mapping.end,
					  mapping.begin, (size_t)file };
	for (size_t i = map->nr; i > 0; i--)
		if (map->list[i - 1].file == mapped.file)
			mapped.base = map->list[i - 1].base;
	if (SONDE_GROW(map->list, map->nr, map->room))
		return -ENOMEM;
	map->list[map->nr++] = mapped;
	return 0;
}

static int uftrace_read_map(struct sonde_import_uftrace_names *names,
			    struct uftrace_map *map)
{
	/* Symbols are read meanwhile, by the names' own lines. */
	struct sonde_lines *lines = malloc(sizeof(*lines));
	char *line;
	int rc = 0;

	if (!lines)
		return -ENOMEM;
	if (!sonde_lines_open(lines, "%s/sid-%s.map", names->directory,
			      map->sid))
		while (!rc && (line = sonde_lines_next(lines)))
			rc = uftrace_add_mapped(names, map, line);
	sonde_lines_close(lines);
	free(lines);
	return rc;
}

static int uftrace_map(struct sonde_import_uftrace_names *names,
		       const char *sid, struct uftrace_map **ret_map)
{
	struct uftrace_map *map;

	for (size_t i = 0; i < names->nr_maps; i++)
		if (!strcmp(names->maps[i].sid, sid)) {
			*ret_map = &names->maps[i];
			return 0;
		}
	if (SONDE_GROW(names->maps, names->nr_maps, names->maps_room))
		return -ENOMEM;
	map = &names->maps[names->nr_maps++];
	*map = (struct uftrace_map){ .nr = 0 };
	memcpy(map->sid, sid, sizeof(map->sid));
	*ret_map = map;
	return uftrace_read_map(names, map);
}

int sonde_import_uftrace_names_find(struct sonde_import_uftrace_names *names,
				    const char *sid, uint64_t address,
				    struct sonde_import_uftrace_code *ret_code)
{
	const struct uftrace_mapped *in = NULL;
	const struct uftrace_file *file;
	struct uftrace_map *map;
	size_t i;
	int rc = uftrace_map(names, sid, &map);

	for (i = 0; !rc && i < map->nr; i++)
		if (address >= map->list[i].begin && address < map->list[i].end)
			in = &map->list[i];
	if (rc || !in)
		return rc ? rc : -ENOENT;
	file = &names->files[in->file];
	address -= in->base;
	SONDE_SEARCH(i, file->nr, file->list[i].address <= address);
	if (!i || i == file->nr || !*file->list[i - 1].name)
		return -ENOENT;
	*ret_code = (struct sonde_import_uftrace_code){
		.begin = in->base + file->list[i - 1].address,
		.end = in->base + file->list[i].address,
		.name = file->list[i - 1].name,
		.module = file->name,
	};
	return 0;
}
