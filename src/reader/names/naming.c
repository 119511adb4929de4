/* SPDX-License-Identifier: MIT */
/*
 * naming.c - struct sonde_naming (reader/symbols.h): its texts, one behind the
 * other, the first of them empty.
 */
#include <string.h>

#include "reader/symbols.h"

void sonde_naming_init(struct sonde_naming *naming)
{
	memset(naming, 0, sizeof(*naming));
	naming->text_bytes = 1;
}

/* Its place; 0: there is no room, or nothing to be put. */
static uint16_t put(struct sonde_naming *naming, const char *text)
{
	size_t bytes = text && *text ? strlen(text) + 1 : 0;
	uint32_t at = naming->text_bytes;

	if (!bytes || bytes > sizeof(naming->text) - at)
		return 0;
	memcpy(naming->text + at, text, bytes);
	naming->text_bytes += (uint32_t)bytes;
	return (uint16_t)at;
}

void sonde_naming_add(struct sonde_naming *naming, const char *name,
		      const char *file, uint32_t line)
{
	struct sonde_naming_frame *frame = &naming->frames[naming->nr_frames];

	if (naming->nr_frames == SONDE_NAMING_FRAMES)
		return;
	*frame = (struct sonde_naming_frame){ .name = put(naming, name),
					      .line = line };
	frame->file = put(naming, file);
	if (frame->name || frame->file)
		naming->nr_frames++;
}

bool sonde_naming_is_sound(const struct sonde_naming *naming)
{
	if (naming->lack >= SONDE_LACK_NR ||
	    naming->nr_frames > SONDE_NAMING_FRAMES || naming->text[0] ||
	    naming->text[sizeof(naming->text) - 1])
		return false;
	for (uint32_t i = 0; i < naming->nr_frames; i++)
		if (naming->frames[i].name >= sizeof(naming->text) ||
		    naming->frames[i].file >= sizeof(naming->text))
			return false;
	return true;
}
