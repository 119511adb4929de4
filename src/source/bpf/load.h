/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * load.h - loads BPF programs by libbpf, but finds the kernel's types without
 * libbpf (sys/btf.h): programs of the sections `tp_btf`, `iter` and
 * `fentry`, `fexit`.
 */
#ifndef SOURCE_BPF_LOAD_H
#define SOURCE_BPF_LOAD_H

#include <stdbool.h>
#include <stddef.h>

#include "sys/btf.h"

struct bpf_object;
struct bpf_program;

struct sonde_bpf_load {
	struct bpf_object *object;
	int types;      /* descriptor of the extract of the kernel's types */
	bool has_types; /* it is another one's */
};

/* Opens the object, whose bytes are borrowed: 0 or -errno. `like`, or NULL, is one that
 * was loaded, of an object that knows the same types: they are taken from there. */
int sonde_bpf_load_open(struct sonde_bpf_load *load, const char *name,
			const void *bytes, size_t size,
			const struct sonde_bpf_load *like);

/*
 * Loads the programs whose autoload is on; `target` gives the name of what a
 * program is attached to, or NULL for none; NULL itself: what the section says.
 * 0; -ESRCH with *ret_missing if the kernel has no such target; -errno.
 */
int sonde_bpf_load(struct sonde_bpf_load *load, const struct sonde_btf *btf,
		   const char *(*target)(void *ctx,
					 const struct bpf_program *program),
		   void *ctx, const char **ret_missing);

void sonde_bpf_load_close(struct sonde_bpf_load *load);

#endif /* SOURCE_BPF_LOAD_H */
