/* SPDX-License-Identifier: MIT */
/*
 * modules.c - whether Sonde's own tracer is in the kernel, and what is in its way
 * if not.
 *
 * What the machine says is looked up by source/module/host.h; here are the words.
 */
#include "doctor/parts.h"

#include <errno.h>
#include <string.h>

#include "source/module/host.h"

static const char cost[] =
	"BPF and tracefs instead, which take longer for each event";

static void look_loaded(const struct module_host *host,
			struct sonde_doctor_ability *to)
{
	if (!host->error && host->info.version == SONDE_KMOD_VERSION) {
		sonde_doctor_why(to, "loaded: %u tracepoints, %u CPUs",
				 host->info.nr_tracepoints, host->info.nr_cpus);
		return;
	}
	sonde_doctor_lack(to, SONDE_UNABLE, cost);
	if (!host->error) {
		sonde_doctor_why(to,
				 "loaded, but of another version than sonde");
		sonde_doctor_remedy(to, "sudo sonde modules unload && sonde "
					"modules build && sudo sonde modules "
					"load");
		return;
	}
	sonde_doctor_why(to, "loaded, but " SONDE_KMOD_DEVICE ": %s",
			 strerrordesc_np(-host->error));
	if (host->error == -EACCES || host->error == -EPERM)
		sonde_doctor_remedy(to,
				    "sudo sonde modules unload && sudo sonde "
				    "modules load --group $(id -gn)");
}

void sonde_doctor_modules(struct sonde_doctor_ability *to)
{
	struct module_host host;

	module_host_look(&host);
	if (host.is_loaded) {
		look_loaded(&host, to);
		return;
	}
	sonde_doctor_lack(to, SONDE_UNABLE, cost);
	if (!host.has_modules) {
		sonde_doctor_why(to, "this kernel loads no modules");
	} else if (host.is_disabled) {
		sonde_doctor_why(to, "kernel.modules_disabled is set until the "
				     "next boot");
	} else if (host.wants_signed) {
		sonde_doctor_why(to,
				 "not loaded; this kernel takes signed ones "
				 "only (%s)",
				 host.is_locked_down ? "lockdown, Secure Boot" :
						       "module.sig_enforce");
		sonde_doctor_remedy(to, "man sonde-modules  # SECURE BOOT");
	} else {
		sonde_doctor_why(to, "not loaded");
		sonde_doctor_remedy(to, "sonde modules build && sudo sonde "
					"modules load");
	}
}
