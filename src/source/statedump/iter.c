/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * iter.c - threads, files and mappings by BPF iterators (iter.h).
 *
 * Loaded once; for each question the set of wanted processes is written to a
 * map, the iterator attached, and read to its end. What the programs left out
 * is counted.
 */
#include "source/statedump/iter.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "source/bpf/load.h"
#include "source/statedump/kernel_records.h"

/* iter.bpf.c as the compiler left it; see meson.build. */
extern const unsigned char sonde_iter_object[];
extern const unsigned long sonde_iter_object_size;

struct sonde_iter {
	struct sonde_bpf_load load;
	int control; /* maps; they belong to the object */
	int wanted;
	size_t nr_wanted; /* keys that are in it */
	int32_t *keys;
	struct sonde_records records;
};

/* ---- life ---- */

/* Whoever can't load it goes by /proc, and needs no word about it. */
static int say_nothing(enum libbpf_print_level level, const char *format,
		       va_list args)
{
	(void)level;
	(void)format;
	(void)args;
	return 0;
}

static int load_with(struct sonde_iter *iter, const struct sonde_btf *btf)
{
	const char *missing;
	int rc = sonde_bpf_load_open(&iter->load, "sonde_iter",
				     sonde_iter_object, sonde_iter_object_size,
				     NULL);

	return rc ? rc : sonde_bpf_load(&iter->load, btf, NULL, NULL, &missing);
}

static int load(struct sonde_iter *iter)
{
	libbpf_print_fn_t before;
	struct sonde_btf btf;
	int rc = sonde_btf_open(&btf);

	if (rc)
		return rc;
	before = libbpf_set_print(say_nothing);
	rc = load_with(iter, &btf);
	(void)libbpf_set_print(before);
	sonde_btf_close(&btf);
	if (rc)
		return rc;
	iter->control =
		bpf_object__find_map_fd_by_name(iter->load.object, "control");
	iter->wanted =
		bpf_object__find_map_fd_by_name(iter->load.object, "wanted");
	return iter->control < 0 || iter->wanted < 0 ? -EPROTO : 0;
}

int sonde_iter_new(struct sonde_iter **ret_iter)
{
	struct sonde_iter *iter = calloc(1, sizeof(*iter));
	int rc;

	if (!iter)
		return -ENOMEM;
	iter->load.types = -1;
	iter->keys = malloc(SONDE_ITER_WANTED_MAX * sizeof(*iter->keys));
	rc = iter->keys ? load(iter) : -ENOMEM;
	if (rc) {
		sonde_iter_free(iter);
		return rc;
	}
	*ret_iter = iter;
	return 0;
}

void sonde_iter_free(struct sonde_iter *iter)
{
	if (!iter)
		return;
	sonde_bpf_load_close(&iter->load);
	free(iter->keys);
	free(iter);
}

/* ---- whom the programs look at ---- */

/* The map takes those that fit; if they don't, everybody is looked at, and
 * kernel_records.c leaves out those that aren't wanted. */
static int set_wanted(struct sonde_iter *iter,
		      const struct sonde_statedump_wanted *wanted)
{
	struct sonde_iter_control control = {
		.everybody =
			wanted->everybody || wanted->nr > SONDE_ITER_WANTED_MAX,
		.fd_max = SONDE_STATEDUMP_FD_MAX,
	};
	const uint32_t only = 0;
	const uint8_t one = 1;

	for (size_t i = 0; i < iter->nr_wanted; i++)
		if (bpf_map_delete_elem(iter->wanted, &iter->keys[i]))
			return -errno;
	iter->nr_wanted = 0;
	for (size_t i = 0; !control.everybody && i < wanted->nr; i++) {
		if (bpf_map_update_elem(iter->wanted, &wanted->pids[i], &one,
					BPF_ANY))
			return -errno;
		iter->keys[iter->nr_wanted++] = wanted->pids[i];
	}
	return bpf_map_update_elem(iter->control, &only, &control, BPF_ANY) ?
		       -errno :
		       0;
}

/* What the programs have left out. */
static void count_omitted(struct sonde_iter *iter,
			  const struct sonde_statedump_target *target)
{
	struct sonde_iter_control control;
	const uint32_t only = 0;

	if (!bpf_map_lookup_elem(iter->control, &only, &control) &&
	    control.omitted)
		target->omit(target->ctx, control.omitted);
}

/* ---- reading ---- */

static struct bpf_link *attach(struct sonde_iter *iter, const char *name,
			       int32_t only_pid)
{
	struct bpf_program *program =
		bpf_object__find_program_by_name(iter->load.object, name);
	union bpf_iter_link_info info = { .task.pid = (uint32_t)only_pid };
	struct bpf_iter_attach_opts options;
	struct bpf_link *link;

	if (!program) {
		errno = EPROTO;
		return NULL;
	}
	/* Padding must be zero, too. */
	memset(&options, 0, sizeof(options));
	options.sz = sizeof(options);
	options.link_info = &info;
	options.link_info_len = sizeof(info);
	if (!only_pid)
		return bpf_program__attach_iter(program, NULL);
	link = bpf_program__attach_iter(program, &options);
	/* Kernels before 6.1 can't look at one process only. */
	if (!link && errno == EINVAL)
		link = bpf_program__attach_iter(program, NULL);
	return link;
}

static int run(struct sonde_iter *iter, const char *name, int32_t only_pid)
{
	libbpf_print_fn_t before = libbpf_set_print(say_nothing);
	struct bpf_link *link = attach(iter, name, only_pid);
	int fd;
	int rc;

	(void)libbpf_set_print(before);
	if (!link)
		return errno == ESRCH ? 0 : -errno; /* it has ended */
	fd = bpf_iter_create(bpf_link__fd(link));
	rc = fd < 0 ? -errno : sonde_records_read_all(&iter->records, fd);
	if (fd >= 0)
		(void)close(fd);       /* it was only read */
	(void)bpf_link__destroy(link); /* closes a descriptor */
	return rc;
}

static void prepare(struct sonde_iter *iter, enum sonde_record_kind kind,
		    const struct sonde_statedump_wanted *wanted,
		    const struct sonde_statedump_target *target)
{
	sonde_records_init(&iter->records, kind,
			   (uint64_t)sysconf(_SC_PAGESIZE), wanted, target);
}

int sonde_iter_tasks(struct sonde_iter *iter, int32_t only_pid,
		     const struct sonde_statedump_target *target)
{
	prepare(iter, SONDE_RECORD_TASK, NULL, target);
	return run(iter, "sonde_tasks", only_pid);
}

int sonde_iter_files(struct sonde_iter *iter, int32_t only_pid,
		     const struct sonde_statedump_wanted *wanted,
		     const struct sonde_statedump_target *target)
{
	int rc = set_wanted(iter, wanted);

	prepare(iter, SONDE_RECORD_FILE, wanted, target);
	if (!rc)
		rc = run(iter, "sonde_files", only_pid);
	count_omitted(iter, target);
	return rc;
}

int sonde_iter_mappings(struct sonde_iter *iter, int32_t only_pid,
			const struct sonde_statedump_wanted *wanted,
			const struct sonde_statedump_target *target)
{
	int rc = set_wanted(iter, wanted);

	prepare(iter, SONDE_RECORD_MAPPING, wanted, target);
	if (!rc)
		rc = run(iter, "sonde_mappings", only_pid);
	count_omitted(iter, target);
	return rc;
}
