/* SPDX-License-Identifier: MIT */
/*
 * process_code.c - the process's code around an address.
 */
#include "probe/inject/process_code.h"

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

/* A bit for each byte of a mapping that a branch of it leads to. */
struct branches {
	uint64_t start, end;
	uint8_t *targets; /* NULL: not known */
};

struct sonde_patch_code {
	struct sonde_process *process; /* borrowed */
	struct sonde_functions_memory memory;
	struct sonde_maps mappings;
	struct image *images;
	size_t nr_images;
	struct branches branches; /* of the mapping asked for last */
	uint8_t *bytes;
	size_t room;
};

static int inject_text_read_memory(void *ctx, uint64_t address, void *to,
				   size_t size)
{
	return sonde_process_read(ctx, address, to, size);
}

int sonde_patch_code_new(struct sonde_process *process,
			 struct sonde_patch_code **ret_code)
{
	struct sonde_patch_code *code = calloc(1, sizeof(*code));

	if (!code)
		return -ENOMEM;
	code->process = process;
	code->memory = (struct sonde_functions_memory){
		.read = inject_text_read_memory,
		.ctx = process,
	};
	*ret_code = code;
	return 0;
}

static void forget_images(struct sonde_patch_code *code)
{
	for (size_t i = 0; i < code->nr_images; i++)
		sonde_functions_free(code->images[i].functions);
	free(code->images);
	code->images = NULL;
	code->nr_images = 0;
}

void sonde_patch_code_free(struct sonde_patch_code *code)
{
	if (!code)
		return;
	forget_images(code);
	sonde_maps_free(&code->mappings);
	free(code->branches.targets);
	free(code->bytes);
	free(code);
}

/* ---- mappings ---- */

static const struct sonde_mapping *
known_mapping(const struct sonde_patch_code *code, uint64_t address)
{
	for (size_t i = 0; i < code->mappings.nr; i++) {
		const struct sonde_mapping *m = &code->mappings.list[i];
		if (address >= m->start && address < m->end)
			return m->executable ? m : NULL;
	}
	return NULL;
}

static const struct sonde_mapping *find_mapping(struct sonde_patch_code *code,
						uint64_t address)
{
	const struct sonde_mapping *found = known_mapping(code, address);

	if (found)
		return found;
	sonde_maps_free(&code->mappings);
	code->mappings = (struct sonde_maps){ 0 };
	forget_images(code);
	if (sonde_process_mappings(sonde_process_pid(code->process),
				   &code->mappings)) {
		code->mappings = (struct sonde_maps){ 0 };
		return NULL;
	}
	return known_mapping(code, address);
}

/* Where the file that is mapped there begins: the nearest mapping of its
 * offset 0 below. */
static uint64_t image_base(const struct sonde_patch_code *code,
			   const struct sonde_mapping *mapping)
{
	for (const struct sonde_mapping *m = mapping + 1;
	     m-- > code->mappings.list;)
		if (m->offset == 0 && m->inode == mapping->inode &&
		    !strcmp(m->path, mapping->path))
			return m->start;
	return mapping->start;
}

static struct image *find_image(struct sonde_patch_code *code,
				const struct sonde_mapping *mapping)
{
	uint64_t base = image_base(code, mapping);

	for (size_t i = 0; i < code->nr_images; i++)
		if (code->images[i].base == base)
			return &code->images[i];
	struct image *grown =
		realloc(code->images, (code->nr_images + 1) * sizeof(*grown));
	if (!grown)
		return NULL;
	code->images = grown;
	struct image *image = &grown[code->nr_images++];
	*image = (struct image){ .base = base };
	if (sonde_functions_new(&code->memory, base, &image->functions))
		image->functions = NULL;
	return image;
}

/* ---- views ---- */

static int inject_text_read_bytes(struct sonde_patch_code *code,
				  uint64_t address, size_t size)
{
	if (size > code->room) {
		uint8_t *grown = realloc(code->bytes, size);
		if (!grown)
			return -ENOMEM;
		code->bytes = grown;
		code->room = size;
	}
	return sonde_process_read(code->process, address, code->bytes, size);
}

static uint64_t inject_text_at_most(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

int sonde_patch_code_view(struct sonde_patch_code *code, uint64_t address,
			  struct sonde_code_view *ret_view, uint8_t **ret_bytes)
{
	const struct sonde_mapping *mapping = find_mapping(code, address);
	struct sonde_function f = {
		.start = address,
		.end = address + UNKNOWN_BYTES,
	};
	bool known = false;

	if (!mapping)
		return -EFAULT;
	const struct image *image = find_image(code, mapping);
	if (image && image->functions) {
		struct sonde_function found;
		known = sonde_functions_find(image->functions, &code->memory,
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
	int rc = inject_text_read_bytes(code, f.start,
					(size_t)(f.end - f.start + behind));
	if (rc)
		return rc;
	*ret_view = (struct sonde_code_view){
		.bytes = code->bytes,
		.address = f.start,
		.size = (size_t)(f.end - f.start),
		.behind = (size_t)behind,
		.is_function = known,
		.has_handlers = f.has_handlers,
	};
	*ret_bytes = code->bytes;
	return 0;
}

/* ---- branches ---- */

/* What looks like one with 32 bits, and where it leads. */
static bool text_branch_target(const uint8_t *bytes, uint64_t address,
			       uint64_t *ret_target)
{
	const uint8_t op = bytes[0];
	int32_t displacement;

	if (op != 0xe8 && op != 0xe9 && !(op >= 0x80 && op <= 0x8f))
		return false;
	memcpy(&displacement, bytes + 1, sizeof(displacement));
	*ret_target = address + 1 + sizeof(displacement) +
		      (uint64_t)(int64_t)displacement;
	return true;
}

static void text_mark_targets(struct sonde_patch_code *code, size_t size)
{
	const uint64_t start = code->branches.start;
	uint64_t target;

	for (size_t i = 0; i + 1 + sizeof(int32_t) <= size; i++)
		if (text_branch_target(&code->bytes[i], start + i, &target) &&
		    target - start < size)
			code->branches.targets[(target - start) / 8] |=
				(uint8_t)(1u << (target - start) % 8);
}

void sonde_patch_code_look_anew(struct sonde_patch_code *code)
{
	free(code->branches.targets);
	code->branches = (struct branches){ 0 };
}

static bool text_find_branches(struct sonde_patch_code *code,
			       const struct sonde_mapping *mapping)
{
	const size_t size = (size_t)(mapping->end - mapping->start);

	if (code->branches.targets && code->branches.start == mapping->start &&
	    code->branches.end == mapping->end)
		return true;
	sonde_patch_code_look_anew(code);
	if (size > SEARCH_MAX ||
	    inject_text_read_bytes(code, mapping->start, size))
		return false;
	code->branches = (struct branches){
		.start = mapping->start,
		.end = mapping->end,
		.targets = calloc(size / 8 + 1, 1),
	};
	if (code->branches.targets)
		text_mark_targets(code, size);
	return code->branches.targets;
}

bool sonde_patch_code_leads_inside(struct sonde_patch_code *code,
				   const struct sonde_window *window)
{
	const struct sonde_mapping *mapping =
		find_mapping(code, window->address);

	if (!mapping || !text_find_branches(code, mapping))
		return true;
	for (uint64_t i = 1; i < window->nr_bytes; i++) {
		const uint64_t at = window->address + i - mapping->start;

		if (window->address + i < mapping->end &&
		    code->branches.targets[at / 8] >> at % 8 & 1)
			return true;
	}
	return false;
}
