/* SPDX-License-Identifier: MIT */
/*
 * packed.c - packing by zstd, and unpacking frame by frame (packed.h).
 *
 * 1. frames[i] and frames[i + 1] are neighbours in the packed file and in the
 *    mapping; each has a byte unpacked, FRAME_MAX at most, and all of them together
 *    UNPACKED_MAX.
 * 2. A frame's place in the file without a name has blocks before anything is
 *    written there, so a full disk is an error and no signal.
 * 3. A frame's state changes once, by whoever has the mutex, after its bytes; so
 *    who has had the mutex since sees them.
 *
 * What is dropped from the mapping (sonde_stream_drop()) comes back from that file.
 * Cost: a binary search for each packet, and each frame's unpacking once.
 */
#include "ctf/packed.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "base/grow.h"
#include "base/search.h"
#include "ctf/names.h"
#include "ctf/os.h"
#include "sys/nameless.h"

#define LEVEL       3
#define FRAME_LEVEL 1 /* whoever ships is beside what is traced */
/* Our own files have 1 GiB and a packet at most. */
#define UNPACKED_MAX (UINT64_C(4) << 30)

enum frame_state {
	FRAME_PACKED,
	FRAME_UNPACKED,
	FRAME_DAMAGED,
	FRAME_NO_ROOM,
};

static const char *const state_words[] = {
	[FRAME_PACKED] = NULL,
	[FRAME_UNPACKED] = NULL,
	[FRAME_DAMAGED] = "its part of the compressed file is damaged",
	[FRAME_NO_ROOM] = "there is no room to decompress it; set TMPDIR to a "
			  "directory with more",
};

struct frame {
	uint64_t from, from_size; /* packed */
	uint64_t to, to_size;
	enum frame_state state; /* under the mutex */
};

struct sonde_ctf_packed {
	union {
		const uint8_t *data;
		void *mapping;
	} from;
	size_t from_mapped;
	int fd; /* the file without a name */
	uint8_t *to;
	struct sonde_ctf_unpacked bytes;
	struct frame *frames;
	size_t nr, capacity;
	pthread_mutex_t mutex;
	ZSTD_DCtx *unpacker; /* under the mutex */
};

bool sonde_ctf_can_pack(void)
{
	return true;
}

/* ---- packing ---- */

/* Where it comes from and goes to. */
struct pack {
	int in, out;
	ZSTD_CCtx *packer;
	uint8_t *plain, *packed;
	size_t packed_size; /* room */
	bool (*goes_on)(void *ctx);
	void *ctx;
};

/* All of it; how many bytes it has become. */
static int pack_frames(const struct pack *pack, uint64_t *ret_size)
{
	uint64_t offset = 0;
	ssize_t nr;
	int rc = 0;

	*ret_size = 0;
	while (!rc && (nr = sonde_ctf_pread(pack->in, pack->plain,
					    SONDE_CTF_FRAME_BYTES, offset))) {
		size_t size;

		if (nr < 0)
			return (int)nr;
		if (!pack->goes_on(pack->ctx))
			return -ECANCELED;
		size = ZSTD_compress2(pack->packer, pack->packed,
				      pack->packed_size, pack->plain,
				      (size_t)nr);
		if (ZSTD_isError(size))
			return -ENOMEM;
		rc = sonde_ctf_pwrite(pack->out, pack->packed, size, *ret_size);
		*ret_size += size;
		offset += (uint64_t)nr;
	}
	return rc;
}

static int pack_file(struct pack *pack, uint64_t *ret_size)
{
	int rc = -ENOMEM;

	pack->packer = ZSTD_createCCtx();
	pack->packed_size = ZSTD_compressBound(SONDE_CTF_FRAME_BYTES);
	pack->packed = malloc(pack->packed_size);
	pack->plain = malloc(SONDE_CTF_FRAME_BYTES);
	if (pack->packer && pack->packed && pack->plain) {
		(void)ZSTD_CCtx_setParameter(pack->packer,
					     ZSTD_c_compressionLevel, LEVEL);
		(void)ZSTD_CCtx_setParameter(pack->packer, ZSTD_c_checksumFlag,
					     1);
		rc = pack_frames(pack, ret_size);
	}
	(void)ZSTD_freeCCtx(pack->packer);
	free(pack->packed);
	free(pack->plain);
	return rc;
}

/* It takes the other one's place when all of it is on the disk. */
static int pack_beside(struct pack *pack, int dir, const char *name,
		       uint64_t size)
{
	struct sonde_ctf_name hidden;
	uint64_t packed = 0;
	int rc;

	sonde_ctf_name_hidden(&hidden, name);
	pack->out = sonde_ctf_create(dir, hidden.text, O_WRONLY);
	if (pack->out < 0)
		return pack->out;
	rc = pack_file(pack, &packed);
	if (!rc && packed < size && fdatasync(pack->out))
		rc = -errno;
	(void)close(pack->out); /* what it had to say, fdatasync() has said */
	if (!rc && packed < size)
		return sonde_ctf_rename(dir, hidden.text, name);
	(void)sonde_ctf_unlink(dir, hidden.text);
	return rc;
}

int sonde_ctf_pack(int dir, const char *name, bool (*goes_on)(void *ctx),
		   void *ctx)
{
	struct pack pack = { .goes_on = goes_on, .ctx = ctx };
	uint8_t begin[4] = { 0 };
	struct stat st;
	int rc = 0;

	pack.in = openat(dir, name,
			 O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (pack.in < 0)
		return errno == ELOOP ? 0 : -errno;
	if (!fstat(pack.in, &st) && S_ISREG(st.st_mode) && st.st_size &&
	    sonde_ctf_pread(pack.in, begin, sizeof(begin), 0) >= 0 &&
	    !sonde_ctf_is_packed(begin, sizeof(begin)))
		rc = pack_beside(&pack, dir, name, (uint64_t)st.st_size);
	(void)close(pack.in); /* only read */
	return rc;
}

/* ---- one frame ---- */

size_t sonde_ctf_frame_pack(void *to, size_t room, const void *from,
			    size_t size)
{
	size_t packed = ZSTD_compress(to, room, from, size, FRAME_LEVEL);

	return ZSTD_isError(packed) ? 0 : packed;
}

uint64_t sonde_ctf_frame_bytes(const void *from, size_t packed)
{
	unsigned long long size = ZSTD_getFrameContentSize(from, packed);

	return size == ZSTD_CONTENTSIZE_UNKNOWN ||
			       size == ZSTD_CONTENTSIZE_ERROR ?
		       0 :
		       size;
}

bool sonde_ctf_frame_unpack(void *to, size_t size, const void *from,
			    size_t packed)
{
	return ZSTD_decompress(to, size, from, packed) == size;
}

/* ---- finding frames ---- */

/* The frame at the end of those that are known; or why there is none. */
static const char *take_frame(struct sonde_ctf_packed *packed, uint64_t from,
			      size_t rest)
{
	const uint8_t *at = packed->from.data + from;
	unsigned long long size = ZSTD_getFrameContentSize(at, rest);
	size_t packed_size = ZSTD_findFrameCompressedSize(at, rest);

	if (ZSTD_isError(packed_size))
		return "the compressed file is torn";
	if (size == ZSTD_CONTENTSIZE_UNKNOWN || size > SONDE_CTF_FRAME_MAX)
		return "the compressed file has a frame of more than 16 MiB, or "
		       "of unknown size";
	if (size > UNPACKED_MAX - packed->bytes.size)
		return "the compressed file has more than 4 GiB";
	if (SONDE_GROW(packed->frames, packed->nr, packed->capacity))
		return "there is no memory for more of the compressed file";
	packed->frames[packed->nr] = (struct frame){
		.from = from,
		.from_size = packed_size,
		.to = packed->bytes.size,
		.to_size = size,
	};
	packed->bytes.size += size;
	packed->nr++;
	return NULL;
}

/* One without content, which others may write, is passed over. */
static void find_frames(struct sonde_ctf_packed *packed, size_t size)
{
	uint64_t from = 0;

	while (from < size && !packed->bytes.lack) {
		packed->bytes.lack = take_frame(packed, from, size - from);
		if (packed->bytes.lack)
			return;
		from += packed->frames[packed->nr - 1].from_size;
		if (!packed->frames[packed->nr - 1].to_size)
			packed->nr--;
	}
}

/* ---- unpacking ---- */

static int map_nameless(struct sonde_ctf_packed *packed, size_t tail_bytes)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t mapped =
		(packed->bytes.size + tail_bytes + page - 1) & ~(page - 1);
	void *to;

	packed->fd = sonde_nameless_open();
	if (packed->fd < 0)
		return packed->fd;
	if (ftruncate(packed->fd, (off_t)mapped))
		return -errno;
	to = mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_SHARED, packed->fd,
		  0);
	if (to == MAP_FAILED)
		return -errno;
	packed->to = to;
	packed->bytes.data = to;
	packed->bytes.mapped = mapped;
	return 0;
}

int sonde_ctf_packed_new(const uint8_t *from, size_t size, size_t mapped,
			 size_t tail_bytes,
			 struct sonde_ctf_packed **ret_packed)
{
	struct sonde_ctf_packed *packed = calloc(1, sizeof(*packed));
	struct sonde_ctf_packed none = { .from.data = from };
	int rc;

	if (!packed) {
		(void)munmap(none.from.mapping, mapped);
		return -ENOMEM;
	}
	packed->from.data = from;
	packed->from_mapped = mapped;
	packed->fd = -1;
	(void)pthread_mutex_init(&packed->mutex, NULL);
	packed->unpacker = ZSTD_createDCtx();
	find_frames(packed, size);
	rc = packed->unpacker ? 0 : -ENOMEM;
	if (!rc && packed->nr)
		rc = map_nameless(packed, tail_bytes);
	if (rc)
		sonde_ctf_packed_free(packed);
	else
		*ret_packed = packed;
	return rc;
}

void sonde_ctf_packed_free(struct sonde_ctf_packed *packed)
{
	if (!packed)
		return;
	(void)munmap(packed->from.mapping, packed->from_mapped);
	if (packed->to)
		(void)munmap(packed->to, packed->bytes.mapped);
	if (packed->fd >= 0)
		(void)close(packed->fd); /* it has no name */
	(void)ZSTD_freeDCtx(packed->unpacker);
	(void)pthread_mutex_destroy(&packed->mutex);
	free(packed->frames);
	free(packed);
}

struct sonde_ctf_unpacked
sonde_ctf_packed_bytes(const struct sonde_ctf_packed *packed)
{
	return packed->bytes;
}

bool sonde_ctf_packed_holds(const struct sonde_ctf_packed *packed,
			    const uint8_t *address)
{
	return packed && address >= packed->from.data &&
	       address < packed->from.data + packed->from_mapped;
}

static enum frame_state unpack(struct sonde_ctf_packed *packed,
			       const struct frame *frame)
{
	uint8_t *to = packed->to + frame->to;
	size_t size;
	int err;

	do { /* invariant 2 */
		err = posix_fallocate(packed->fd, (off_t)frame->to,
				      (off_t)frame->to_size);
	} while (err == EINTR);
	if (err)
		return FRAME_NO_ROOM;
	size = ZSTD_decompressDCtx(packed->unpacker, to, frame->to_size,
				   packed->from.data + frame->from,
				   frame->from_size);
	if (size == frame->to_size)
		return FRAME_UNPACKED;
	memset(to, 0, frame->to_size);
	return FRAME_DAMAGED;
}

const char *sonde_ctf_packed_need(struct sonde_ctf_packed *packed,
				  uint64_t offset, uint64_t size)
{
	uint64_t end = size < packed->bytes.size - offset ? offset + size :
							    packed->bytes.size;
	const char *why = NULL;
	size_t i;

	if (offset >= packed->bytes.size)
		return NULL;
	SONDE_SEARCH(i, packed->nr - 1, packed->frames[i + 1].to <= offset);
	pthread_mutex_lock(&packed->mutex);
	for (; i < packed->nr && packed->frames[i].to < end; i++) {
		struct frame *frame = &packed->frames[i];

		if (frame->state == FRAME_PACKED)
			frame->state = unpack(packed, frame);
		if (!why)
			why = state_words[frame->state];
	}
	pthread_mutex_unlock(&packed->mutex);
	return why;
}

int sonde_ctf_packed_file(struct sonde_ctf_packed *packed)
{
	int fd;

	if (sonde_ctf_packed_need(packed, 0, packed->bytes.size))
		return -EIO;
	fd = fcntl(packed->fd, F_DUPFD_CLOEXEC, 0);
	return fd < 0 ? -errno : fd;
}
