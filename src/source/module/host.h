/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * host.h - what this machine says of kernel modules, and of ours; for `sonde
 * modules` and `sonde doctor`. Looks, and changes nothing.
 */
#ifndef SOURCE_MODULE_HOST_H
#define SOURCE_MODULE_HOST_H

#include <stdbool.h>
#include <sys/types.h>

#include "kmod/abi.h"

#define MODULE_MODULE "sonde"

struct module_host {
	bool has_modules;    /* the kernel was built to load some */
	bool is_disabled;    /* kernel.modules_disabled */
	bool is_able;        /* this process has CAP_SYS_MODULE */
	bool wants_signed;   /* module.sig_enforce, or a lockdown */
	bool is_locked_down; /* integrity or confidentiality */
	bool is_secret;      /* confidentiality: nothing may read the kernel */
	bool is_loaded;
	long refs; /* -1: the kernel doesn't count them */
	/* The device, if there is one. */
	bool has_device;
	mode_t mode;
	uid_t uid;
	gid_t gid;
	int error;                   /* of opening it: 0 or -errno */
	struct sonde_kmod_info info; /* version 0: not known */
};

void module_host_look(struct module_host *ret_host);

#endif /* SOURCE_MODULE_HOST_H */
