/* SPDX-License-Identifier: MIT */
/*
 * text.c - the process's code around an address.
 */
#include "probe/inject/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "probe/inject/functions.h"

/* What is looked at where no function is known. */
#define UNKNOWN_BYTES 256
/* Padding behind a function, and an instruction's length. */
#define BEHIND_BYTES 32
/* Longer ones are taken for nonsense. */
#define FUNCTION_MAX (4u << 20)
#define SEARCH_MAX   (256u << 20)

/* An ELF image that is mapped. */
struct image {
	uint64_t base;                     /* of its ELF header */
	struct sonde_functions *functions; /* NULL: none known */
};

struct sonde_patch_text {
	struct sonde_process *process; /* borrowed */
	struct sonde_functions_memory memory;
	struct sonde_maps mappings;
	struct image *images;
	size_t nr_images;
	uint8_t *bytes;
	size_t room;
};

static int inject_text_read_memory(void *ctx, uint64_t address, void *to,
				   size_t size)
{
	return sonde_process_read(ctx, address, to, size);
}

int sonde_patch_text_new(struct sonde_process *process,
			 struct sonde_patch_text **ret_text)
{
	struct sonde_patch_text *text = calloc(1, sizeof(*text));

	if (!text)
		return -ENOMEM;
	text->process = process;
	text->memory = (struct sonde_functions_memory){
		.read = inject_text_read_memory,
		.ctx = process,
	};
	*ret_text = text;
	return 0;
}

static void forget_images(struct sonde_patch_text *text)
{
	for (size_t i = 0; i < text->nr_images; i++)
		sonde_functions_free(text->images[i].functions);
	free(text->images);
	text->images = NULL;
	text->nr_images = 0;
}

void sonde_patch_text_free(struct sonde_patch_text *text)
{
	if (!text)
		return;
	forget_images(text);
	sonde_maps_free(&text->mappings);
	free(text->bytes);
	free(text);
}

/* ---- mappings ---- */

static const struct sonde_mapping *
known_mapping(const struct sonde_patch_text *text, uint64_t address)
{
	for (size_t i = 0; i < text->mappings.nr; i++) {
		const struct sonde_mapping *m = &text->mappings.list[i];
		if (address >= m->start && address < m->end)
			return m->executable ? m : NULL;
	}
	return NULL;
}

static const struct sonde_mapping *find_mapping(struct sonde_patch_text *text,
						uint64_t address)
{
	const struct sonde_mapping *found = known_mapping(text, address);

	if (found)
		return found;
	sonde_maps_free(&text->mappings);
	text->mappings = (struct sonde_maps){ 0 };
	forget_images(text);
	if (sonde_process_mappings(sonde_process_pid(text->process),
				   &text->mappings)) {
		text->mappings = (struct sonde_maps){ 0 };
		return NULL;
	}
	return known_mapping(text, address);
}

/* Where the file that is mapped there begins: the nearest mapping of its
 * offset 0 below. */
static uint64_t image_base(const struct sonde_patch_text *text,
			   const struct sonde_mapping *mapping)
{
	for (const struct sonde_mapping *m = mapping + 1;
	     m-- > text->mappings.list;)
		if (m->offset == 0 && m->inode == mapping->inode &&
		    !strcmp(m->path, mapping->path))
			return m->start;
	return mapping->start;
}

static struct image *find_image(struct sonde_patch_text *text,
				const struct sonde_mapping *mapping)
{
	uint64_t base = image_base(text, mapping);

	for (size_t i = 0; i < text->nr_images; i++)
		if (text->images[i].base == base)
			return &text->images[i];
	struct image *grown =
		realloc(text->images, (text->nr_images + 1) * sizeof(*grown));
	if (!grown)
		return NULL;
	text->images = grown;
	struct image *image = &grown[text->nr_images++];
	*image = (struct image){ .base = base };
	if (sonde_functions_new(&text->memory, base, &image->functions))
		image->functions = NULL;
	return image;
}

/* ---- views ---- */

static int inject_text_read_bytes(struct sonde_patch_text *text,
				  uint64_t address, size_t size)
{
	if (size > text->room) {
		uint8_t *grown = realloc(text->bytes, size);
		if (!grown)
			return -ENOMEM;
		text->bytes = grown;
		text->room = size;
	}
	return sonde_process_read(text->process, address, text->bytes, size);
}

static uint64_t inject_text_at_most(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

int sonde_patch_text_view(struct sonde_patch_text *text, uint64_t address,
			  struct sonde_code_view *ret_view, uint8_t **ret_bytes)
{
	const struct sonde_mapping *mapping = find_mapping(text, address);
	struct sonde_function f = {
		.start = address,
		.end = address + UNKNOWN_BYTES,
	};
	bool known = false;

	if (!mapping)
		return -EFAULT;
	const struct image *image = find_image(text, mapping);
	if (image && image->functions) {
		struct sonde_function found;
		known = sonde_functions_find(image->functions, &text->memory,
					     address, &found) &&
			found.start >= mapping->start &&
			found.end <= mapping->end &&
			found.end - found.start <= FUNCTION_MAX;
		if (known)
			f = found;
	}
	f.end = inject_text_at_most(f.end, mapping->end);
	uint64_t behind =
		inject_text_at_most(BEHIND_BYTES, mapping->end - f.end);
	int rc = inject_text_read_bytes(text, f.start,
					(size_t)(f.end - f.start + behind));
	if (rc)
		return rc;
	*ret_view = (struct sonde_code_view){
		.bytes = text->bytes,
		.address = f.start,
		.size = (size_t)(f.end - f.start),
		.behind = (size_t)behind,
		.is_function = known,
		.has_handlers = f.has_handlers,
	};
	*ret_bytes = text->bytes;
	return 0;
}

bool sonde_patch_text_leads_inside(struct sonde_patch_text *text,
				   const struct sonde_window *window)
{
	const struct sonde_mapping *mapping =
		find_mapping(text, window->address);
	size_t size = mapping ? (size_t)(mapping->end - mapping->start) : 0;
	int32_t displacement;

	if (!size || size > SEARCH_MAX ||
	    inject_text_read_bytes(text, mapping->start, size))
		return true;
	for (size_t i = 1; i + sizeof(displacement) <= size; i++) {
		memcpy(&displacement, text->bytes + i, sizeof(displacement));
		uint64_t target = mapping->start + i + sizeof(displacement) +
				  (uint64_t)(int64_t)displacement;
		uint64_t into = target - window->address;
		uint8_t op = text->bytes[i - 1];
		bool branch =
			op == 0xe8 || op == 0xe9 || (op >= 0x80 && op <= 0x8f);
		if (into > 0 && into < window->nr_bytes && branch)
			return true;
	}
	return false;
}
