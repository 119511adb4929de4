/* SPDX-License-Identifier: MIT */
/*
 * perf_kernel.c - names of the kernel's code, of a list that is of the same kernel
 * (perf_kernel.h).
 *
 * perf tells in the mapping "[kernel.kallsyms]_text" where that symbol was; the list
 * says where it is in it. The difference is that of all of the kernel's own code,
 * which is moved as a whole when it boots. The list is read twice.
 */
#include "import/perf_kernel.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/grow.h"
#include "base/hex.h"
#include "base/text.h"
#include "source/statedump/buildid.h"
#include "source/statedump/events.h"
#include "sys/kallsyms.h"
#include "sys/textfile.h"

/* Of the newer record, between the place and the path: the file's numbers or its
 * build id, and rights. */
#define MMAP2_BYTES 32u
#define KERNEL      "[kernel.kallsyms]"
#define RUNNING     "/proc/kallsyms"

/* ---- what the file tells ---- */

/* "/lib/modules/6.1/kernel/fs/nf-fs.ko.xz" or "[nf_fs]" as kallsyms has it. */
static void module_name(const char *path, char *to, size_t size)
{
	struct sonde_text text = { .to = to, .size = size };
	const char *at = sonde_text_base(path);

	*to = '\0';
	for (at += *at == '['; *at && *at != '.' && *at != ']'; at++)
		sonde_text_add(&text, "%c", *at == '-' ? '_' : *at);
}

bool sonde_import_perf_kernel_is(const struct sonde_import_perf_piece *piece)
{
	struct sonde_import_bytes body = piece->body;

	return (piece->type == PERF_RECORD_MMAP ||
		piece->type == PERF_RECORD_MMAP2) &&
	       sonde_import_bytes_u32(&body) == UINT32_MAX;
}

int sonde_import_perf_kernel_mapped(struct sonde_import_perf_kernel *kernel,
				    const struct sonde_import_perf_piece *piece)
{
	struct sonde_import_bytes body = piece->body;
	struct sonde_import_perf_module module;
	uint64_t offset;
	const char *path;

	(void)sonde_import_bytes_u64(&body); /* process and thread */
	module.begin = sonde_import_bytes_u64(&body);
	module.end = module.begin + sonde_import_bytes_u64(&body);
	offset = sonde_import_bytes_u64(&body);
	if (piece->type == PERF_RECORD_MMAP2)
		(void)sonde_import_bytes_take(&body, MMAP2_BYTES);
	path = sonde_import_bytes_text(&body);
	if (body.failed)
		return 0;
	if (!strncmp(path, KERNEL, strlen(KERNEL))) {
		(void)snprintf(kernel->symbol, sizeof(kernel->symbol), "%s",
			       path + strlen(KERNEL));
		kernel->text = offset;
		return 0;
	}
	if (SONDE_GROW(kernel->modules, kernel->nr, kernel->room))
		return -ENOMEM;
	module_name(path, module.name, sizeof(module.name));
	kernel->modules[kernel->nr++] = module;
	return 0;
}

void sonde_import_perf_kernel_fini(struct sonde_import_perf_kernel *kernel)
{
	free(kernel->modules);
}

/* ---- a list ---- */

struct kernel_listing {
	const struct sonde_import_perf_kernel *kernel;
	struct sonde_import_stream *stream;
	uint64_t text; /* of kernel->symbol in the list; 0: not found */
	uint64_t nr;
};

static bool find_kallsym(void *ctx, const struct sonde_kallsym *symbol)
{
	struct kernel_listing *listing = ctx;

	if (symbol->module ||
	    strcmp(symbol->name, listing->kernel->symbol) != 0)
		return true;
	listing->text = symbol->address;
	return false;
}

static bool lay_there(const struct sonde_import_perf_kernel *kernel,
		      const struct sonde_kallsym *symbol)
{
	for (size_t i = 0; i < kernel->nr; i++) {
		const struct sonde_import_perf_module *module =
			&kernel->modules[i];

		if (symbol->address >= module->begin &&
		    symbol->address < module->end &&
		    !strcmp(symbol->module, module->name))
			return true;
	}
	return false;
}

static bool put_kallsym(void *ctx, const struct sonde_kallsym *symbol)
{
	struct kernel_listing *listing = ctx;
	uint64_t address = symbol->address;

	if (!symbol->is_code || !address ||
	    (symbol->module && !lay_there(listing->kernel, symbol)))
		return true;
	if (!symbol->module)
		address += listing->kernel->text - listing->text;
	sonde_statedump_emit_symbol(&listing->stream->out, address,
				    symbol->name,
				    symbol->module ? symbol->module : "");
	listing->nr++;
	return !sonde_import_output_look(listing->stream);
}

static bool put_list(struct kernel_listing *listing, const char *path)
{
	listing->text = 0;
	if (sonde_kallsyms_each_of(path, find_kallsym, listing) ||
	    !listing->text)
		return false;
	/* It was there a moment ago. */
	(void)sonde_kallsyms_each_of(path, put_kallsym, listing);
	return listing->nr != 0;
}

/* ---- which one ---- */

static bool kernel_runs_here(const char *build_id)
{
	char text[SONDE_BUILD_ID_TEXT] = "";
	char notes[SONDE_NOTES_BYTES];
	int n = sonde_textfile_read(notes, sizeof(notes), "/sys/kernel/notes");

	return n > 0 &&
	       sonde_build_id_in_notes((const uint8_t *)notes, (size_t)n, 4,
				       text) &&
	       !strcmp(text, build_id);
}

const char *
sonde_import_perf_kernel_put(const struct sonde_import_perf_kernel *kernel,
			     const struct sonde_import_perf *perf,
			     struct sonde_import_stream *stream)
{
	const struct sonde_import_perf_build_id *id =
		sonde_import_perf_build_id(perf, KERNEL);
	struct kernel_listing listing = { .kernel = kernel, .stream = stream };
	char build_id[2 * sizeof(id->bytes) + 1];
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): nobody sets it */
	const char *home = getenv("HOME");
	char cached[PATH_MAX];

	if (!kernel->text || !id || !id->nr)
		return "perf has not recorded where the kernel lay, or its "
		       "build id: record as root, without -B";
	for (size_t i = 0; i < kernel->nr; i++)
		sonde_statedump_emit_module(&stream->out,
					    kernel->modules[i].name,
					    kernel->modules[i].begin,
					    kernel->modules[i].end);
	sonde_hex_put(id->bytes, id->nr, build_id);
	if (kernel_runs_here(build_id) && put_list(&listing, RUNNING))
		return NULL;
	(void)snprintf(cached, sizeof(cached),
		       "%s/.debug/" KERNEL "/%s/kallsyms", home ? home : "",
		       build_id);
	return put_list(&listing, cached) ?
		       NULL :
		       "it is another kernel than this machine's, or kallsyms "
		       "is not for you, and perf has left no list of it in "
		       "~/.debug: convert as root where it was recorded";
}
