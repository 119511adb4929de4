/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * images.c - files and their rules (images.h). Rules that were looked up are kept in a
 * table in which each address of each image has one place; another's there is
 * replaced.
 */
#include "source/sample/images.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/grow.h"
#include "source/statedump/buildid.h"
#include "source/unwind/file.h"
#include "sys/regular.h"

#define KNOWN_BITS 15u
/* The key: what isn't its path. */
#define NUMBERS_SIZE (2u * SONDE_BUILD_ID_TEXT + 96)

enum image_state {
	IMAGE_UNREAD,
	IMAGE_READ,
	IMAGE_WITHOUT, /* it has no rules */
};

struct sonde_perf_image {
	char *path;
	char build_id[2 * 20 + 1]; /* "": it isn't known */
	uint64_t dev, ino, offset, bytes;
	enum image_state state;
	struct sonde_source_unwind_section section;
	uint8_t *section_bytes;
	struct sonde_source_unwind_index index;
};

struct sonde_perf_known {
	uint64_t offset;
	uint32_t image; /* 0: nobody's */
	uint32_t rule;
};

struct image_number {
	struct sonde_key key;
	uint32_t number;
};

_Static_assert(sizeof(struct image_number) % 16 == 0, "base/hash.h");

int sonde_perf_images_init(struct sonde_perf_images *images)
{
	*images = (struct sonde_perf_images){
		.known = calloc(1u << KNOWN_BITS, sizeof(*images->known)),
	};
	sonde_hash_init(&images->by_file, sizeof(struct image_number),
			SONDE_PERF_IMAGES_MAX);
	return images->known ? 0 : -ENOMEM;
}

void sonde_perf_images_fini(struct sonde_perf_images *images)
{
	for (uint32_t i = 0; i < images->nr; i++) {
		free(images->images[i].path);
		free(images->images[i].section_bytes);
		free(images->images[i].index.entries);
	}
	free(images->images);
	free(images->known);
	sonde_hash_fini(&images->by_file);
	*images = (struct sonde_perf_images){ 0 };
}

static int images_add(struct sonde_perf_images *images,
		      const struct sonde_statedump_mapping *mapping,
		      const char *build_id)
{
	struct sonde_perf_image *image;

	if (SONDE_GROW(images->images, images->nr, images->room))
		return -ENOMEM;
	image = &images->images[images->nr];
	*image = (struct sonde_perf_image){
		.path = strdup(mapping->path),
		.dev = mapping->dev,
		.ino = mapping->ino,
		.offset = mapping->offset,
		.bytes = mapping->end - mapping->begin,
	};
	(void)snprintf(image->build_id, sizeof(image->build_id), "%s",
		       build_id);
	if (!image->path)
		return -ENOMEM;
	images->nr++;
	return 0;
}

uint32_t sonde_perf_images_put(struct sonde_perf_images *images,
			       const struct sonde_statedump_mapping *mapping,
			       const char *build_id)
{
	char text[NUMBERS_SIZE + SONDE_STATEDUMP_PATH_MAX];
	int length = snprintf(text, sizeof(text),
			      "%" PRIx64 " %" PRIx64 " %" PRIx64 " %" PRIx64
			      " %s %s",
			      mapping->dev, mapping->ino, mapping->offset,
			      mapping->end - mapping->begin, build_id,
			      mapping->path);
	struct image_number *entry;
	struct sonde_key key;

	if (length < 0 || (size_t)length >= sizeof(text))
		return 0;
	key = sonde_key_of_text(text, (size_t)length);
	entry = sonde_hash_put(&images->by_file, &key);
	if (!entry)
		return 0;
	if (!entry->number && !images_add(images, mapping, build_id))
		entry->number = images->nr;
	return entry->number;
}

const char *sonde_perf_images_get(const struct sonde_perf_images *images,
				  uint32_t number,
				  struct sonde_statedump_mapping *ret_mapping)
{
	const struct sonde_perf_image *image = &images->images[number - 1];

	ret_mapping->offset = image->offset;
	ret_mapping->dev = image->dev;
	ret_mapping->ino = image->ino;
	ret_mapping->path = image->path;
	return image->build_id;
}

/* ---- reading ---- */

static int image_read(void *ctx, uint64_t offset, void *to, size_t size)
{
	const int *fd = ctx;

	if (offset > INT64_MAX)
		return -EINVAL;
	return pread(*fd, to, size, (off_t)offset) == (ssize_t)size ? 0 : -EIO;
}

/* The path in the process's root, or in ours if it has ended; or below 0. */
static int image_open_path(const struct sonde_perf_image *image, int32_t pid)
{
	char path[SONDE_STATEDUMP_PATH_MAX + 32];
	struct stat st;
	int looked;

	(void)snprintf(path, sizeof(path), "/proc/%d/root%s", pid, image->path);
	looked = sonde_regular_look(path, &st);
	if (looked < 0)
		looked = sonde_regular_look(image->path, &st);
	return looked < 0 ? looked : sonde_regular_open(looked, O_RDONLY);
}

/* The file that was mapped, or below 0. */
static int image_open(const struct sonde_perf_image *image,
		      const struct sonde_statedump_mapping *mapping)
{
	char build_id[SONDE_BUILD_ID_TEXT];
	int fd = sonde_build_id_open(mapping);

	if (!*image->build_id)
		return fd;
	if (fd < 0)
		fd = image_open_path(image, mapping->pid);
	if (fd < 0)
		return fd;
	if (sonde_build_id_find(image_read, &fd, build_id) &&
	    !strcmp(build_id, image->build_id))
		return fd;
	(void)close(fd); /* it was only read */
	return -ESTALE;
}

static void image_take(struct sonde_perf_images *images,
		       struct sonde_perf_image *image,
		       const struct sonde_statedump_mapping *mapping, int fd)
{
	struct stat st;

	if (fstat(fd, &st) || image->bytes > UINT32_MAX)
		return;
	image->section_bytes = sonde_source_unwind_read(
		fd, (uint64_t)st.st_size,
		SONDE_PERF_IMAGES_BYTES - images->bytes, mapping,
		&image->section);
	if (!image->section_bytes)
		return;
	images->bytes += image->section.size;
	if (!sonde_source_unwind_make_index(&image->section, &image->index) &&
	    image->index.nr)
		image->state = IMAGE_READ;
}

static void image_look(struct sonde_perf_images *images,
		       struct sonde_perf_image *image, int32_t pid,
		       uint64_t begin)
{
	const struct sonde_statedump_mapping mapping = {
		.pid = pid,
		.begin = begin,
		.end = begin + image->bytes,
		.offset = image->offset,
		.dev = image->dev,
		.ino = image->ino,
		.path = image->path,
	};
	int fd = image_open(image, &mapping);

	image->state = IMAGE_WITHOUT;
	if (fd < 0)
		return;
	image_take(images, image, &mapping, fd);
	(void)close(fd); /* it was only read */
	if (image->state == IMAGE_READ)
		return;
	free(image->section_bytes);
	image->section_bytes = NULL;
}

static struct sonde_perf_known *images_known(struct sonde_perf_images *images,
					     uint32_t number, uint64_t offset)
{
	uint64_t hash = (offset ^ (uint64_t)number << 40) *
			UINT64_C(0x9e3779b97f4a7c15);

	return &images->known[hash >> (64 - KNOWN_BITS)];
}

bool sonde_perf_images_rule(struct sonde_perf_images *images, uint32_t number,
			    int32_t pid, uint64_t begin, uint64_t offset,
			    uint32_t *ret_rule)
{
	struct sonde_perf_known *known = images_known(images, number, offset);
	struct sonde_perf_image *image;

	if (!number)
		return false;
	if (known->image == number && known->offset == offset) {
		*ret_rule = known->rule;
		return true;
	}
	image = &images->images[number - 1];
	if (image->state == IMAGE_UNREAD)
		image_look(images, image, pid, begin);
	if (image->state != IMAGE_READ)
		return false;
	*known = (struct sonde_perf_known){
		.offset = offset,
		.image = number,
		.rule = sonde_source_unwind_rule(&image->section, &image->index,
						 image->section.code_begin +
							 offset),
	};
	*ret_rule = known->rule;
	return true;
}
