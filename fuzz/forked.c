/* SPDX-License-Identifier: MIT */
/*
 * forked.c - fuzz what is read of a forked child's memory to find its parent's
 * probes (probe/inject/forked.h).
 *
 * The memory is a file in which an image and its agent's data stand where they
 * should, with sites of which the text is as it was or isn't. The input decides
 * on these, and may bend each pointer and count on the way. What is left alone
 * must be found exactly if it is a child's and a site's text differs; what is
 * bent may be found or not.
 */
#include "probe/inject/forked.h"

#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"
#include "probe/inject/agent_image.h"

/* Where things are in the memory; the data is longer than all before it. */
enum {
	TEXT = 0x1000,
	MARK = 0x2000,
	IMAGE = 0x10000,
	DATA = 0x100000,
	SITES_MAX = 6,
};

struct child {
	int memory;
	bool is_bent;   /* what is found is anybody's guess */
	bool is_childs; /* the kernel has cleared its page */
	bool has_jumps; /* a site's text isn't what it was */
};

static void put(int memory, uint64_t at, const void *bytes, size_t size)
{
	FUZZ_CHECK(pwrite(memory, bytes, size, (off_t)at) == (ssize_t)size);
}

/* `value`, or another one where the input says so. */
static uint64_t or_bent(struct child *child, struct fuzz_input *in,
			uint64_t value)
{
	if (fuzz_u8(in) < 224)
		return value;
	child->is_bent = true;
	return fuzz_u64(in);
}

static void put_site(struct child *child, struct fuzz_input *in, uint32_t i)
{
	const uint64_t there = TEXT + i * SONDE_AGENT_SITE_BYTES;
	struct sonde_agent_site site = {
		.address = fuzz_u8(in) % 4 ? or_bent(child, in, there) : 0,
		.nr_bytes = fuzz_below(in, SONDE_AGENT_SITE_BYTES + 2),
	};
	bool differs = fuzz_u8(in) % 2;

	memset(site.bytes, 0x90, sizeof(site.bytes));
	put(child->memory, there, site.bytes, sizeof(site.bytes));
	if (differs)
		put(child->memory, there, "\xe9", 1);
	put(child->memory,
	    DATA + offsetof(struct sonde_agent, sites) + i * sizeof(site),
	    &site, sizeof(site));
	child->has_jumps |= site.address && site.nr_bytes > 0 &&
			    site.nr_bytes <= SONDE_AGENT_SITE_BYTES && differs;
}

static void put_data(struct child *child, struct fuzz_input *in)
{
	const uint64_t magic = or_bent(child, in, SONDE_AGENT_MAGIC);
	const uint64_t mark = or_bent(child, in, MARK);
	const uint32_t is_parent = fuzz_u8(in) % 2;
	const uint32_t nr = fuzz_below(in, SITES_MAX + 1);
	const uint32_t told = (uint32_t)or_bent(child, in, nr);

	put(child->memory, DATA + offsetof(struct sonde_agent, magic), &magic,
	    sizeof(magic));
	put(child->memory, DATA + offsetof(struct sonde_agent, is_parent),
	    &mark, sizeof(mark));
	put(child->memory, MARK, &is_parent, sizeof(is_parent));
	put(child->memory, DATA + offsetof(struct sonde_agent, nr_sites), &told,
	    sizeof(told));
	child->is_childs = is_parent == 0;
	for (uint32_t i = 0; i < nr; i++)
		put_site(child, in, i);
}

static void put_image(struct child *child, struct fuzz_input *in)
{
	struct sonde_image_head head;
	const uint64_t data = or_bent(child, in, DATA);

	memcpy(&head, sonde_agent_image, sizeof(head));
	FUZZ_CHECK(IMAGE + head.end < DATA);
	put(child->memory, IMAGE + head.self, &data, sizeof(data));
	head.magic = or_bent(child, in, head.magic);
	put(child->memory, IMAGE, &head, sizeof(head));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct fuzz_input in = { .at = bytes, .left = size };
	struct child child = { .memory = memfd_create("child", MFD_CLOEXEC) };
	char image[] = "/memfd:sonde-agent-image (deleted)";
	char other[] = "/usr/bin/other";
	struct sonde_mapping list[] = {
		{ .start = 0, .end = IMAGE, .path = other },
		{ .start = IMAGE, .end = DATA, .path = image },
		{ .start = fuzz_u64(&in), .path = image },
	};
	struct sonde_maps maps = { .list = list, .nr = 3 };
	struct sonde_process_inherited found[SONDE_INHERITED_MAX];
	size_t nr;

	FUZZ_CHECK(child.memory >= 0);
	child.is_bent = list[2].start == IMAGE;
	put_image(&child, &in);
	put_data(&child, &in);
	nr = sonde_process_find_inherited(child.memory, &maps, found);
	FUZZ_CHECK(nr <= maps.nr);
	if (!child.is_bent) {
		FUZZ_CHECK(nr == (child.is_childs && child.has_jumps));
		FUZZ_CHECK(nr == 0 || found[0].data == DATA);
	}
	close(child.memory);
	return 0;
}
