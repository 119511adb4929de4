/* SPDX-License-Identifier: MIT */
/*
 * tar.c - archives of files (tar.h).
 *
 *	a file: [pax head, its records,] head, bytes; each from a block's begin on
 *	the end: two blocks of zeros
 *
 * Numbers of heads are octal and end with a NUL. A name of more than 100 bytes, and
 * a size of more than 11 octal digits, are told by pax records ahead of the file's
 * own head, "LENGTH KEY=VALUE\n", in which LENGTH counts its own digits, too.
 */
#include "view/export/tar.h"

#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "view/export/export.h"

#define BLOCK        512u
#define SIZE_IN_HEAD (UINT64_C(1) << 33)

struct head {
	char name[100];
	char mode[8], uid[8], gid[8];
	char size[12], mtime[12];
	char sum[8];
	char type;
	char link[100];
	char magic[6], version[2];
	char user[32], group[32];
	char major[8], minor[8];
	char prefix[155];
	char zeros[12];
};

_Static_assert(sizeof(struct head) == BLOCK, "as it is written");

static int tar_zeros(FILE *to, uint64_t nr)
{
	static const char zeros[2 * BLOCK];

	return sonde_export_write(to, zeros, (size_t)nr);
}

static int tar_head(FILE *to, char type, const char *name, uint64_t size,
		    time_t time)
{
	struct head head = { .type = type,
			     .mode = "0000644",
			     .uid = "0000000",
			     .gid = "0000000",
			     .sum = "       ",
			     .magic = "ustar",
			     .version = { '0', '0' } };
	unsigned int sum = 0;

	head.sum[7] = ' '; /* as it counts in the sum */
	memcpy(head.name, name, strnlen(name, sizeof(head.name)));
	(void)snprintf(head.size, sizeof(head.size), "%011" PRIo64,
		       size < SIZE_IN_HEAD ? size : 0);
	(void)snprintf(head.mtime, sizeof(head.mtime), "%011" PRIo64,
		       (uint64_t)time & (SIZE_IN_HEAD - 1));
	for (size_t i = 0; i < sizeof(head); i++)
		sum += ((const unsigned char *)&head)[i];
	(void)snprintf(head.sum, sizeof(head.sum), "%06o", sum);
	return sonde_export_write(to, &head, sizeof(head));
}

static void tar_record(struct sonde_text *records, const char *key,
		       const char *value)
{
	size_t rest = strlen(key) + strlen(value) + 3; /* ' ', '=', '\n' */
	size_t length = rest + 1;

	while (length != rest + (size_t)snprintf(NULL, 0, "%zu", length))
		length = rest + (size_t)snprintf(NULL, 0, "%zu", length);
	sonde_text_add(records, "%zu %s=%s\n", length, key, value);
}

/* What the head has no room for, if anything. */
static int tar_records(FILE *to, const char *path, const struct stat *st)
{
	char bytes[SONDE_TAR_PATH_BYTES + 64];
	struct sonde_text records = { .to = bytes, .size = sizeof(bytes) };
	char size[24];
	int err;

	(void)snprintf(size, sizeof(size), "%" PRIu64, (uint64_t)st->st_size);
	if (strlen(path) > sizeof(((struct head *)NULL)->name))
		tar_record(&records, "path", path);
	if ((uint64_t)st->st_size >= SIZE_IN_HEAD)
		tar_record(&records, "size", size);
	if (!records.length)
		return 0;
	err = tar_head(to, 'x', "records", records.length, st->st_mtime);
	if (!err)
		err = sonde_export_write(to, bytes, records.length);
	return err ? err : tar_zeros(to, -records.length % BLOCK);
}

/* All `size` bytes: the head has told of them. */
static int tar_bytes(FILE *to, int fd, uint64_t size)
{
	char bytes[65536];
	uint64_t at = 0;
	int err = 0;

	while (!err && at < size) {
		ssize_t n = pread(fd, bytes, sizeof(bytes), (off_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		if ((uint64_t)n > size - at)
			n = (ssize_t)(size - at);
		err = sonde_export_write(to, bytes, (size_t)n);
		at += (uint64_t)n;
	}
	return err ? err : tar_zeros(to, -size % BLOCK);
}

int sonde_tar_put(FILE *to, const char *path, int fd)
{
	struct stat st;
	int err;

	if (strlen(path) >= SONDE_TAR_PATH_BYTES)
		return -ENAMETOOLONG;
	if (fstat(fd, &st))
		return -errno;
	err = tar_records(to, path, &st);
	if (!err)
		err = tar_head(to, '0', path, (uint64_t)st.st_size,
			       st.st_mtime);
	return err ? err : tar_bytes(to, fd, (uint64_t)st.st_size);
}

int sonde_tar_end(FILE *to)
{
	return tar_zeros(to, (uint64_t)2 * BLOCK);
}
