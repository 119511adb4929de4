/* SPDX-License-Identifier: MIT */
/*
 * packed.h - stream files that are compressed by zstd.
 *
 * A packed file has the name of the file it was made from, takes its place at
 * once, and is told from it by its first bytes. It consists of frames (RFC 8878),
 * each of which can be unpacked alone and says how many bytes it has, FRAME_MAX at
 * most; so any zstd unpacks it, and a reader unpacks what it needs.
 *
 * What is needed is unpacked once, into a file without a name in $TMPDIR, else
 * /var/tmp, or else in memory. So reading all of a trace takes as much room there
 * as it took before it was packed, and reading some packets takes their frames'.
 *
 * A file may be torn, or made to harm. Frames that can't be are not used, nor what
 * is behind them; one that turns out to be damaged when it is needed reads as
 * zeros, and that is said.
 */
#ifndef CTF_PACKED_H
#define CTF_PACKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Bytes that a frame has unpacked: at most, and in those that we write. */
#define SONDE_CTF_FRAME_MAX   (UINT64_C(16) << 20)
#define SONDE_CTF_FRAME_BYTES (UINT64_C(1) << 20)

/* Whether files can be packed: not without libzstd. */
bool sonde_ctf_can_pack(void);

/*
 * Pack a stream file in the directory `dir`, which nobody writes to any more;
 * whoever reads it meanwhile has the one or the other. Nothing is done if it would
 * not get smaller, or is packed already. `goes_on` is asked before each frame;
 * false ends it with -ECANCELED, and the file is as it was. 0 or -errno.
 */
int sonde_ctf_pack(int dir, const char *name, bool (*goes_on)(void *ctx),
		   void *ctx);

/* Whether a file that begins so is packed. */
static inline bool sonde_ctf_is_packed(const void *bytes, size_t size)
{
	return size >= 4 && !memcmp(bytes, "\x28\xb5\x2f\xfd", 4);
}

/* One frame by itself, for what goes elsewhere. How many bytes it has; 0: more than
 * there is room for, or this build can't. */
size_t sonde_ctf_frame_pack(void *to, size_t room, const void *from,
			    size_t size);
/* A stranger's: how many bytes it says that it has; 0: it is no frame, doesn't say
 * it, or this build can't. */
uint64_t sonde_ctf_frame_bytes(const void *from, size_t packed);
/* A stranger's: whether it is a frame of exactly `size` bytes, which are there. */
bool sonde_ctf_frame_unpack(void *to, size_t size, const void *from,
			    size_t packed);

struct sonde_ctf_packed;

/*
 * The packed file's bytes are `from`, a mapping of `mapped` bytes which is taken
 * over, whatever happens. There are `tail_bytes` readable zeros behind what it is
 * unpacked. 0 or -errno: no room for it.
 */
int sonde_ctf_packed_new(const uint8_t *from, size_t size, size_t mapped,
			 size_t tail_bytes,
			 struct sonde_ctf_packed **ret_packed);
/* Copes with NULL. */
void sonde_ctf_packed_free(struct sonde_ctf_packed *packed);

/* Its bytes as they were: `size` of them, which are there if they are needed,
 * and `mapped` with the zeros. */
struct sonde_ctf_unpacked {
	const uint8_t *data; /* NULL: none */
	uint64_t size, mapped;
	const char *lack; /* why there aren't more; NULL: it is whole */
};
struct sonde_ctf_unpacked
sonde_ctf_packed_bytes(const struct sonde_ctf_packed *packed);

/* Whether the address is one of the file that was packed, for signal handlers. */
bool sonde_ctf_packed_holds(const struct sonde_ctf_packed *packed,
			    const uint8_t *address);

/* To be called before so many bytes from `offset` on are looked at; any thread.
 * NULL, or why they can't be had. */
const char *sonde_ctf_packed_need(struct sonde_ctf_packed *packed,
				  uint64_t offset, uint64_t size);

/* All of it as it was, in a file for the caller to close, with zeros behind its
 * bytes; -errno. */
int sonde_ctf_packed_file(struct sonde_ctf_packed *packed);

#endif /* CTF_PACKED_H */
