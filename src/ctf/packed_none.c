/* SPDX-License-Identifier: MIT */
/* packed_none.c - a build without libzstd packs nothing, and says of what is packed
 * that it can't be read (packed.h). */
#include "ctf/packed.h"

#include <errno.h>
#include <sys/mman.h>

bool sonde_ctf_can_pack(void)
{
	return false;
}

int sonde_ctf_pack(int dir, const char *name, bool (*goes_on)(void *ctx),
		   void *ctx)
{
	(void)dir;
	(void)name;
	(void)goes_on;
	(void)ctx;
	return -ENOSYS;
}

size_t sonde_ctf_frame_pack(void *to, size_t room, const void *from,
			    size_t size)
{
	(void)to;
	(void)room;
	(void)from;
	(void)size;
	return 0;
}

uint64_t sonde_ctf_frame_bytes(const void *from, size_t packed)
{
	(void)from;
	(void)packed;
	return 0;
}

bool sonde_ctf_frame_unpack(void *to, size_t size, const void *from,
			    size_t packed)
{
	(void)to;
	(void)size;
	(void)from;
	(void)packed;
	return false;
}

/* It has nothing of its own. */
int sonde_ctf_packed_new(const uint8_t *from, size_t size, size_t mapped,
			 size_t tail_bytes,
			 struct sonde_ctf_packed **ret_packed)
{
	union {
		const uint8_t *data;
		void *mapping;
	} of = { .data = from };

	(void)size;
	(void)tail_bytes;
	(void)munmap(of.mapping, mapped);
	*ret_packed = NULL;
	return 0;
}

void sonde_ctf_packed_free(struct sonde_ctf_packed *packed)
{
	(void)packed;
}

struct sonde_ctf_unpacked
sonde_ctf_packed_bytes(const struct sonde_ctf_packed *packed)
{
	(void)packed;
	return (struct sonde_ctf_unpacked){
		.lack = "it is compressed, and this build can't read that: it "
			"lacks libzstd",
	};
}

bool sonde_ctf_packed_holds(const struct sonde_ctf_packed *packed,
			    const uint8_t *address)
{
	(void)packed;
	(void)address;
	return false;
}

const char *sonde_ctf_packed_need(struct sonde_ctf_packed *packed,
				  uint64_t offset, uint64_t size)
{
	(void)packed;
	(void)offset;
	(void)size;
	return NULL;
}

int sonde_ctf_packed_file(struct sonde_ctf_packed *packed)
{
	(void)packed;
	return -ENOSYS;
}
