/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * described.c - described events of kernel modules, read from their notes
 * (described.h).
 *
 * A description begins at a multiple of 8, with a magic number, as in programs; so
 * what is around it, the heads of notes, needs not be read. How much there is, the
 * kernel doesn't say: the room grows until all is in it.
 */
#include "source/described.h"

#include <errno.h>
#include <stdlib.h>

#include "sys/dir.h"
#include "sys/textfile.h"

#define ROOM_LEAST 0x10000u
#define ROOM_MOST  0x4000000u

struct notes {
	char *bytes;
	size_t room;
};

/* Of one module; their number, 0 if it has none. */
static int read_note_section(struct notes *notes, const char *folder,
			     const char *module)
{
	for (size_t room = ROOM_LEAST; room <= ROOM_MOST; room *= 2) {
		int nr;

		if (room > notes->room) {
			free(notes->bytes);
			notes->room = 0;
			notes->bytes = malloc(room);
			if (!notes->bytes)
				return -ENOMEM;
			notes->room = room;
		}
		nr = sonde_textfile_read(notes->bytes, notes->room,
					 "%s/%s/notes/.note.sonde", folder,
					 module);
		if (nr < 0)
			return 0;
		if ((size_t)nr + 1 < notes->room)
			return nr;
	}
	return 0;
}

static int each_in(const struct notes *notes, size_t size,
		   int (*each)(void *ctx, const struct sonde_desc *desc),
		   void *ctx)
{
	const struct sonde_desc *desc;
	size_t offset = 0;
	int rc = 0;

	while (!rc && sonde_desc_scan(notes->bytes, size, &offset, &desc, NULL))
		if (!sonde_desc_is_reference(desc))
			rc = each(ctx, desc);
	return rc;
}

int sonde_source_each_described(const char *folder,
				int (*each)(void *ctx,
					    const struct sonde_desc *desc),
				void *ctx)
{
	struct notes notes = { .bytes = NULL };
	DIR *dir = opendir(folder);
	const char *module;
	int rc = 0;

	while (!rc && (module = sonde_dir_next(dir))) {
		rc = read_note_section(&notes, folder, module);
		if (rc > 0)
			rc = each_in(&notes, (size_t)rc, each, ctx);
	}
	free(notes.bytes);
	if (dir)
		closedir(dir);
	return rc;
}
