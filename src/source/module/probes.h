/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * probes.h - probes at functions of the kernel, as the module takes them: kprobes at
 * addresses, with programs (kmod/abi.h).
 */
#ifndef SOURCE_MODULE_PROBES_H
#define SOURCE_MODULE_PROBES_H

#include "source/module/device.h"
#include "source/source.h"

struct module_probe;

struct module_probes {
	uint32_t nr;
	struct module_probe *list;
};

/*
 * config's probes, with ids from `first` on, put in and recording nothing yet; what
 * they refer to is borrowed until close. 0; -EOPNOTSUPP if the module can't do one of
 * them as BPF can, or another -errno that isn't -EINVAL; with *error. *ret is for
 * module_probes_close(), in any case.
 */
int module_probes_open(struct module_probes *ret,
		       const struct module_device *device,
		       const struct sonde_source_config *config, uint32_t first,
		       struct sonde_source_error *error);
void module_probes_close(struct module_probes *probes,
			 const struct module_device *device);

/* Those that are to be off are, and hits are told, to whoever shares their memory.
 * Before start, in each of the recorder's rounds, and when they are to be exact. */
void module_probes_tick(struct module_probes *probes,
			const struct module_device *device);

/* How often the i-th's condition met memory that can't be read, at the last tick. */
uint64_t module_probes_faults(const struct module_probes *probes, uint32_t i);

#endif /* SOURCE_MODULE_PROBES_H */
