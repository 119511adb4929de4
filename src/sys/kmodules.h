/* SPDX-License-Identifier: MIT */
/* kmodules.h - the loaded modules of the running kernel, and the files that have
 * their symbols. */
#ifndef SYS_KMODULES_H
#define SYS_KMODULES_H

#include <stdbool.h>
#include <stdint.h>

struct sonde_kmodule {
	const char *name; /* as /sys/module has it */
	const char *path; /* of its file */
	bool is_packed;   /* which is compressed, as its name says */
	uint64_t text;    /* where its section .text is */
};

/* Each that is loaded and has a file for this kernel, borrowed during the call,
 * until `visit` says false. 0 or -errno. */
int sonde_kmodules_each(bool (*visit)(void *ctx,
				      const struct sonde_kmodule *module),
			void *ctx);
/* Each that is loaded, by its name, with a file or without. 0 or -errno. */
int sonde_kmodules_loaded(bool (*visit)(void *ctx, const char *name),
			  void *ctx);
/* A number that is another once a module has come, gone or become ready; 0: it
 * isn't known. `path` is /proc/modules; where there is none, no module can come. */
#define SONDE_KMODULES_PATH "/proc/modules"
uint64_t sonde_kmodules_stamp(const char *path);
/* Where a section is; 0: it isn't loaded, or this user isn't told. */
uint64_t sonde_kmodule_section(const char *module, const char *section);
/* And where it has ended at the latest: where the next one begins, or a MiB on.
 * False: it isn't known. */
bool sonde_kmodule_extent(const char *module, const char *section,
			  uint64_t *ret_begin, uint64_t *ret_end);

#endif /* SYS_KMODULES_H */
