/* SPDX-License-Identifier: MIT */
/*
 * forked.c - taking out what a forked child has of its parent's probes (forked.h).
 *
 * The child has the agent's image and its data, shared with the parent's, whose
 * sites[] says what was there before. So what takes a dead tool's probes out of a
 * process (agent/retire.c) does so here: a servant is made in the child, gets
 * that as its will, and is left. The parent's own text isn't touched.
 *
 * Whose agent it is, the page tells that the kernel clears in a child
 * (agent.h, is_parent). All of it is in the child's memory, which it may write
 * to: so the image is compared with ours, and an address is used nowhere else
 * than in the child.
 */
#include "probe/inject/forked.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "probe/inject/agent_image.h"
#include "probe/inject/inject.h"
#include "probe/inject/process_parts.h"
#include "probe/inject/signal_masks.h"
#include "sys/proc.h"

#define IMAGE_PATH "/memfd:sonde-agent-image"
static bool forked_read(int memory, uint64_t at, void *to, size_t size)
{
	return pread(memory, to, size, (off_t)at) == (ssize_t)size;
}

/* Whether any of its sites is in use: address and text differ from before. */
static bool has_sites(int memory, uint64_t data)
{
	const uint64_t list = data + offsetof(struct sonde_agent, sites);
	uint32_t nr = 0;

	if (!forked_read(memory, data + offsetof(struct sonde_agent, nr_sites),
			 &nr, sizeof(nr)))
		return false;
	for (uint32_t i = 0; i < nr && i < SONDE_AGENT_SITES_MAX; i++) {
		struct sonde_agent_site site;
		uint8_t there[SONDE_AGENT_SITE_BYTES];

		if (!forked_read(memory, list + i * sizeof(site), &site,
				 sizeof(site)))
			return false;
		if (site.address && site.nr_bytes <= sizeof(there) &&
		    forked_read(memory, site.address, there, site.nr_bytes) &&
		    memcmp(there, site.bytes, site.nr_bytes) != 0)
			return true;
	}
	return false;
}

static bool is_inherited(int memory, uint64_t image,
			 struct sonde_process_inherited *ret)
{
	struct sonde_image_head ours;
	struct sonde_image_head head;
	uint64_t magic = 0;
	uint64_t mark = 0;
	uint32_t is_parent = 1;

	memcpy(&ours, sonde_agent_image, sizeof(ours));
	if (!forked_read(memory, image, &head, sizeof(head)) ||
	    memcmp(&head, &ours, sizeof(head)) != 0 ||
	    !forked_read(memory, image + head.self, &ret->data,
			 sizeof(ret->data)) ||
	    !forked_read(memory, ret->data, &magic, sizeof(magic)) ||
	    magic != SONDE_AGENT_MAGIC ||
	    !forked_read(memory,
			 ret->data + offsetof(struct sonde_agent, is_parent),
			 &mark, sizeof(mark)) ||
	    !forked_read(memory, mark, &is_parent, sizeof(is_parent)))
		return false;
	ret->retire = image + head.retire;
	return is_parent == 0 && has_sites(memory, ret->data);
}

size_t sonde_process_find_inherited(int memory,
				    const struct sonde_maps *mappings,
				    struct sonde_process_inherited *ret)
{
	size_t nr = 0;

	for (size_t i = 0; i < mappings->nr && nr < SONDE_INHERITED_MAX; i++) {
		const struct sonde_mapping *m = &mappings->list[i];

		nr += m->offset == 0 &&
		      strncmp(m->path, IMAGE_PATH, strlen(IMAGE_PATH)) == 0 &&
		      is_inherited(memory, m->start, &ret[nr]);
	}
	return nr;
}

/* Those that there are. */
static size_t find_inherited(pid_t pid, struct sonde_process_inherited *ret)
{
	struct sonde_maps mappings = { .nr = 0 };
	const int memory = sonde_proc_memory(pid, O_RDONLY);
	size_t nr = 0;

	if (memory >= 0 && sonde_process_mappings(pid, &mappings) == 0)
		nr = sonde_process_find_inherited(memory, &mappings, ret);
	sonde_maps_free(&mappings);
	if (memory >= 0)
		close(memory);
	return nr;
}

static int retire(pid_t pid, const struct sonde_process_inherited *inherited,
		  struct sonde_process_error *error)
{
	struct sonde_process *process;
	int rc = sonde_process_open(pid, NULL, NULL, error, &process);

	if (rc != 0)
		return rc;
	rc = sonde_process_register_barriers(process);
	if (rc == 0)
		rc = sonde_signal_masks_open(process);
	if (rc == 0)
		rc = sonde_process_abandon(process, inherited->retire,
					   inherited->data);
	if (rc != 0)
		sonde_process_error_set(
			error,
			"process %d: the probes of its parent stay in its "
			"code: %s",
			(int)pid, strerrordesc_np(-rc));
	sonde_process_close(process);
	return rc;
}

int sonde_process_clear_inherited(pid_t pid, struct sonde_process_error *error)
{
	struct sonde_process_inherited list[SONDE_INHERITED_MAX];
	const size_t nr = find_inherited(pid, list);
	int rc = 0;

	for (size_t i = 0; i < nr && rc == 0; i++)
		rc = retire(pid, &list[i], error);
	if (rc == 0 && nr != 0 && find_inherited(pid, list) != 0) {
		rc = -EIO;
		sonde_process_error_set(error,
					"process %d: the probes of its parent "
					"can't be taken out of its code",
					(int)pid);
	}
	return rc;
}
