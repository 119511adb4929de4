/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * load.c - libbpf with an extract of the kernel's types.
 *
 * Open: libbpf reads the object. Load: the structures that the object knows by
 * name are extracted from the kernel's types into a memory file, which libbpf
 * fits the programs to (btf_custom_path); what programs are attached to is
 * found in the same pass and handed to the kernel by a handler of the sections
 * (prepare()). libbpf would read all types for each of the two.
 *
 * A program's target comes to the handler as the descriptor of a program to be
 * attached to, which ours have none of: libbpf keeps that, and asks for no
 * types of the kernel on its account.
 */
#include "source/bpf/load.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "base/grow.h"
#include "sys/btf_extract.h"
#include "sys/write.h"

#define TARGET_NAME 128

/* ---- the handler ---- */

static int prepare(struct bpf_program *program, struct bpf_prog_load_opts *opts,
		   long cookie)
{
	(void)program;
	(void)cookie;
	opts->attach_btf_id = (uint32_t)opts->attach_prog_fd;
	opts->attach_prog_fd = 0;
	/* Where in the source an instruction is from: the kernel would check
	 * all of that, and keep it. */
	opts->line_info = NULL;
	opts->line_info_cnt = 0;
	return 0;
}

static int registered;

static void register_handlers(void)
{
	const struct libbpf_prog_handler_opts options = {
		.sz = sizeof(options),
		.prog_prepare_load_fn = prepare,
	};

	registered = libbpf_register_prog_handler(
		"tp_btf+", BPF_PROG_TYPE_TRACING, BPF_TRACE_RAW_TP, &options);
	if (registered >= 0)
		registered =
			libbpf_register_prog_handler("iter+",
						     BPF_PROG_TYPE_TRACING,
						     BPF_TRACE_ITER, &options);
	if (registered >= 0)
		registered = libbpf_register_prog_handler("fentry+",
							  BPF_PROG_TYPE_TRACING,
							  BPF_TRACE_FENTRY,
							  &options);
	if (registered >= 0)
		registered =
			libbpf_register_prog_handler("fexit+",
						     BPF_PROG_TYPE_TRACING,
						     BPF_TRACE_FEXIT, &options);
}

/* ---- opening ---- */

int sonde_bpf_load_open(struct sonde_bpf_load *load, const char *name,
			const void *bytes, size_t size,
			const struct sonde_bpf_load *like)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	char path[40];
	struct bpf_object_open_opts options;

	/* What is between its members has to be 0, too, or libbpf refuses it. */
	memset(&options, 0, sizeof(options));
	options.sz = sizeof(options);
	options.object_name = name;
	options.btf_custom_path = path;
	*load = (struct sonde_bpf_load){ .types = -1, .has_types = like };
	(void)pthread_once(&once, register_handlers); /* can't fail */
	if (registered < 0)
		return registered;
	load->types = like ? fcntl(like->types, F_DUPFD_CLOEXEC, 0) :
			     memfd_create("sonde-types", MFD_CLOEXEC);
	if (load->types < 0)
		return -errno;
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", load->types);
	load->object = bpf_object__open_mem(bytes, size, &options);
	return load->object ? 0 : -errno;
}

/* ---- the kernel's types ---- */

struct names {
	const char **at;
	size_t nr;
	size_t room;
};

/* Names of structures that the object knows. */
static int list_names(const struct btf *own, struct names *names)
{
	for (uint32_t id = 1; own && id < btf__type_cnt(own); id++) {
		const struct btf_type *type = btf__type_by_id(own, id);
		const char *name = btf__name_by_offset(own, type->name_off);

		if (!name || !*name ||
		    (!btf_is_composite(type) && !btf_is_any_enum(type)))
			continue;
		if (SONDE_GROW(names->at, names->nr, names->room))
			return -ENOMEM;
		names->at[names->nr++] = name;
	}
	return 0;
}

static int extract(const struct sonde_bpf_load *load,
		   const struct sonde_btf *btf)
{
	struct names names = { .at = NULL };
	uint8_t *bytes = NULL;
	size_t size = 0;
	int rc = list_names(bpf_object__btf(load->object), &names);

	if (!rc)
		rc = sonde_btf_extract(btf, names.at, names.nr, &bytes, &size);
	if (!rc)
		rc = sonde_write_all(load->types, bytes, size);
	free(names.at);
	free(bytes);
	return rc;
}

/* ---- targets ---- */

static const char *of_section(void *ctx, const struct bpf_program *program)
{
	const char *slash = strchr(bpf_program__section_name(program), '/');

	(void)ctx;
	return slash ? slash + 1 : NULL;
}

/* What is before a target's name in that of its type. */
static const char *target_prefix(const struct bpf_program *program)
{
	switch ((int)bpf_program__expected_attach_type(program)) {
	case BPF_TRACE_ITER:
		return "bpf_iter_";
	case BPF_TRACE_FENTRY:
	case BPF_TRACE_FEXIT:
		return "";
	default:
		return "btf_trace_";
	}
}

/* As the kernel's types name it. */
struct target {
	struct bpf_program *program;
	const char *name;
	char type[TARGET_NAME];
};

struct targets {
	struct target *at;
	size_t nr;
	size_t room;
};

static int list_targets(struct bpf_object *object,
			const char *(*of)(void *, const struct bpf_program *),
			void *ctx, struct targets *targets)
{
	struct bpf_program *program;

	bpf_object__for_each_program(program, object)
	{
		const char *name;
		struct target *target;

		if (!bpf_program__autoload(program) ||
		    bpf_program__type(program) != BPF_PROG_TYPE_TRACING)
			continue;
		name = of(ctx, program);
		if (!name)
			continue;
		if (SONDE_GROW(targets->at, targets->nr, targets->room))
			return -ENOMEM;
		target = &targets->at[targets->nr++];
		*target = (struct target){ .program = program, .name = name };
		(void)snprintf(target->type, sizeof(target->type), "%s%s",
			       target_prefix(program), name);
	}
	return 0;
}

static int find_targets(const struct targets *targets,
			const struct sonde_btf *btf, const char **ret_missing)
{
	struct sonde_btf_wanted *wanted =
		calloc(targets->nr + 1, sizeof(*wanted));
	int rc = wanted ? 0 : -ENOMEM;

	for (size_t i = 0; !rc && i < targets->nr; i++) {
		wanted[i].name = targets->at[i].type;
		wanted[i].kind =
			bpf_program__expected_attach_type(
				targets->at[i].program) == BPF_TRACE_RAW_TP ?
				BTF_KIND_TYPEDEF :
				BTF_KIND_FUNC;
	}
	if (!rc)
		sonde_btf_find(btf, wanted, targets->nr);
	for (size_t i = 0; !rc && i < targets->nr; i++) {
		if (wanted[i].id) {
			rc = bpf_program__set_attach_target(
				targets->at[i].program, wanted[i].id, NULL);
		} else {
			*ret_missing = targets->at[i].name;
			rc = -ESRCH;
		}
	}
	free(wanted);
	return rc;
}

int sonde_bpf_load(struct sonde_bpf_load *load, const struct sonde_btf *btf,
		   const char *(*target)(void *ctx,
					 const struct bpf_program *program),
		   void *ctx, const char **ret_missing)
{
	struct targets targets = { .at = NULL };
	int rc = list_targets(load->object, target ? target : of_section, ctx,
			      &targets);

	*ret_missing = NULL;
	if (!rc && targets.nr)
		rc = find_targets(&targets, btf, ret_missing);
	free(targets.at);
	if (!rc && !load->has_types)
		rc = extract(load, btf);
	return rc ? rc : bpf_object__load(load->object);
}

void sonde_bpf_load_close(struct sonde_bpf_load *load)
{
	bpf_object__close(load->object);
	if (load->types >= 0)
		(void)close(load->types); /* memory that is dropped */
	*load = (struct sonde_bpf_load){ .types = -1 };
}
