/* SPDX-License-Identifier: MIT */
/* kallsyms.h - the names of the kernel, as /proc/kallsyms has them. */
#ifndef SYS_KALLSYMS_H
#define SYS_KALLSYMS_H

#include <stdbool.h>
#include <stdint.h>

struct sonde_kallsym {
	uint64_t address; /* 0: this user isn't told */
	const char *name;
	const char *module; /* NULL: the kernel itself */
	bool is_code;
};

/* Each of them, borrowed during the call, until `visit` says false. 0 or
 * -errno. */
int sonde_kallsyms_each(bool (*visit)(void *ctx,
				      const struct sonde_kallsym *symbol),
			void *ctx);

/* The same of a copy of such a list. */
int sonde_kallsyms_each_of(const char *path,
			   bool (*visit)(void *ctx,
					 const struct sonde_kallsym *symbol),
			   void *ctx);

#endif /* SYS_KALLSYMS_H */
