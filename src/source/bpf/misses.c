/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * misses.c - hits of kprobes at which the kernel did not call the probe's program.
 *
 * A CPU that is in a kprobe calls no other one: be it that the first's program
 * calls a function that has one, be it that an interrupt came in between. The
 * kernel counts what was left out in the kprobe, which nothing shows (from 6.7 on
 * the link's description does, of which older headers know nothing): so a program
 * of ours, run in this process, goes from the descriptor of the link to it
 * (misses.bpf.c).
 *
 * Besides, a kprobe's program isn't called while one of another such program, of a
 * tracepoint or of a perf event is running on the CPU. From 6.7 on, that is
 * counted with the program (recursion_misses). Before, it can only be told whether
 * there are such programs of others: ours are kprobes' themselves. Nor are there
 * counts of hits while a process of others is in bpf(), changing a map.
 */
#include "source/bpf/bpf_source.h"

#include <errno.h>
#include <unistd.h>

#include <linux/bpf.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "source/bpf/misses.h"
#include "sys/linux.h"

/* misses.bpf.c as the compiler left it; see meson.build. */
extern const unsigned char sonde_bpf_misses[];
extern const unsigned long sonde_bpf_misses_size;

#define RELEASE_COUNTS 6007

static int load_misses(struct bpf_source *source)
{
	struct bpf_misses *misses = &source->misses;
	const struct bpf_program *program;
	const char *missing;
	int rc = sonde_bpf_load_open(&misses->load, "sonde_misses",
				     sonde_bpf_misses, sonde_bpf_misses_size,
				     NULL);

	if (!rc)
		rc = sonde_bpf_load(&misses->load, &source->btf, NULL, NULL,
				    &missing);
	if (rc)
		return rc;
	program = bpf_object__find_program_by_name(misses->load.object,
						   "misses_of");
	misses->fd = program ? bpf_program__fd(program) : -ENOEXEC;
	return misses->fd < 0 ? misses->fd : 0;
}

void bpf_misses_load(struct bpf_source *source)
{
	source->misses.are_unknown = load_misses(source) != 0;
}

uint64_t bpf_misses_of(struct bpf_source *source, const struct bpf_link *link)
{
	uint64_t argument = (uint64_t)bpf_link__fd(link);
	struct bpf_test_run_opts options = {
		.sz = sizeof(options),
		.ctx_in = &argument,
		.ctx_size_in = sizeof(argument),
	};

	if (source->misses.are_unknown)
		return 0;
	if (!bpf_prog_test_run_opts(source->misses.fd, &options) &&
	    options.retval != SONDE_BPF_MISSES_UNKNOWN)
		return options.retval;
	source->misses.are_unknown = true;
	return 0;
}

/* ---- programs of others ---- */

/* Whether it is one that keeps a kprobe's from being called. */
static bool is_in_the_way(uint32_t id)
{
	struct bpf_prog_info info = { .type = 0 };
	uint32_t size = sizeof(info);
	int fd = bpf_prog_get_fd_by_id(id);
	int rc = fd < 0 ? fd : bpf_obj_get_info_by_fd(fd, &info, &size);

	if (fd >= 0)
		(void)close(fd); /* others keep it */
	return !rc && (info.type == BPF_PROG_TYPE_KPROBE ||
		       info.type == BPF_PROG_TYPE_TRACEPOINT ||
		       info.type == BPF_PROG_TYPE_PERF_EVENT);
}

void bpf_misses_look(struct bpf_source *source, uint32_t nr_own)
{
	uint32_t id = 0;
	uint32_t nr = 0;
	uint32_t have = sonde_linux_release();
	int rc = 0;

	if (!have || have >= RELEASE_COUNTS)
		return;
	while (!(rc = bpf_prog_get_next_id(id, &id)))
		nr += is_in_the_way(id);
	/* Whoever may not look doesn't know. */
	if (rc != -ENOENT || nr > nr_own)
		source->misses.has_others = true;
}

const char *bpf_misses_uncounted(const struct bpf_source *source)
{
	if (source->misses.are_unknown)
		return "this kernel doesn't tell how many came while it was "
		       "in another probe";
	if (source->misses.has_others)
		return "there are BPF programs of others at kprobes, "
		       "tracepoints or perf events, and before Linux 6.7 "
		       "nobody counts those that come while such a program "
		       "runs";
	return NULL;
}

void bpf_misses_free(struct bpf_source *source)
{
	sonde_bpf_load_close(&source->misses.load);
}
