/* SPDX-License-Identifier: MIT */
/* body.c - blocks of an index to a file, and where they are (body.h). */
#include "view/index/body.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/unconst.h"
#include "sys/write.h"

#define MAP_STEP ((uint64_t)64 << 20)
#define BUFFER   ((size_t)1 << 20)

void sonde_view_body_init(struct sonde_view_body *body, int fd)
{
	*body = (struct sonde_view_body){ .fd = fd };
}

static void unmap_body(struct sonde_view_body *body)
{
	if (body->map)
		(void)munmap(sonde_unconst(body->map), body->mapped);
}

void sonde_view_body_fini(struct sonde_view_body *body)
{
	free(body->buffer);
	unmap_body(body);
	if (body->fd >= 0)
		(void)close(body->fd);
}

int sonde_view_body_map(struct sonde_view_body *body, int fd)
{
	off_t size = lseek(fd, 0, SEEK_END);
	void *map;

	body->fd = fd;
	if (size <= 0)
		return -EINVAL;
	map = mmap(NULL, (size_t)size, PROT_READ, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		return -errno;
	body->map = map;
	body->mapped = (uint64_t)size;
	return 0;
}

/* Longer, and mapped: nobody reads meanwhile. */
static int grow_body(struct sonde_view_body *body)
{
	uint64_t size = body->mapped + MAP_STEP;
	void *map;

	if (ftruncate(body->fd, (off_t)size))
		return -errno;
	map = mmap(NULL, size, PROT_READ, MAP_SHARED, body->fd, 0);
	if (map == MAP_FAILED)
		return -errno;
	unmap_body(body);
	body->map = map;
	body->mapped = size;
	return 0;
}

int sonde_view_body_flush(struct sonde_view_body *body)
{
	int err = 0;

	if (body->used == body->written)
		return 0;
	if (body->used + SONDE_VIEW_BEHIND > body->mapped)
		err = grow_body(body);
	if (!err)
		err = sonde_pwrite_all(body->fd, body->buffer,
				       (size_t)(body->used - body->written),
				       body->written);
	if (!err)
		body->written = body->used;
	return err;
}

int sonde_view_body_room(struct sonde_view_body *body, size_t size,
			 unsigned char **ret_to)
{
	int err = 0;

	if (!body->buffer) {
		body->buffer = malloc(BUFFER + SONDE_VIEW_BEHIND);
		if (!body->buffer)
			return -ENOMEM;
	}
	if (body->used - body->written + size > BUFFER)
		err = sonde_view_body_flush(body);
	*ret_to = body->buffer + (body->used - body->written);
	return err;
}

const unsigned char *sonde_view_body_bytes(const struct sonde_view_body *body,
					   uint64_t offset, size_t size,
					   size_t *ret_size)
{
	if (offset % 8 || offset >= body->used || size > body->used - offset)
		return NULL;
	*ret_size = (size_t)(body->used - offset);
	if (offset >= body->written)
		return body->buffer + (offset - body->written);
	return body->map + offset;
}
