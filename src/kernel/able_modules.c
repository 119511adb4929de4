/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * able_modules.c - whether Sonde's own tracer is in the kernel, and what is in
 * its way if not.
 */
#include "kernel/able_parts.h"

#include <errno.h>
#include <string.h>

#include "kernel/own/host.h"

static const char cost[] =
	"BPF and tracefs instead, which take longer for each event";

static void look_loaded(const struct own_host *host, struct sonde_ability *to)
{
	if (!host->error && host->info.version == SONDE_MOD_VERSION) {
		sonde_able_why(to, "loaded: %u tracepoints, %u CPUs",
			       host->info.nr_tracepoints, host->info.nr_cpus);
		return;
	}
	sonde_able_lack(to, SONDE_UNABLE, cost);
	if (!host->error) {
		sonde_able_why(to, "loaded, but of another version than sonde");
		sonde_able_remedy(to, "sudo sonde modules unload && sonde "
				      "modules build && sudo sonde modules "
				      "load");
		return;
	}
	sonde_able_why(to, "loaded, but " SONDE_MOD_DEVICE ": %s",
		       strerrordesc_np(-host->error));
	if (host->error == -EACCES || host->error == -EPERM)
		sonde_able_remedy(to, "sudo sonde modules unload && sudo sonde "
				      "modules load --group $(id -gn)");
}

void sonde_able_modules(struct sonde_ability *to)
{
	struct own_host host;

	own_host_look(&host);
	if (host.is_loaded) {
		look_loaded(&host, to);
		return;
	}
	sonde_able_lack(to, SONDE_UNABLE, cost);
	if (!host.has_modules) {
		sonde_able_why(to, "this kernel loads no modules");
	} else if (host.is_disabled) {
		sonde_able_why(to, "kernel.modules_disabled is set until the "
				   "next boot");
	} else if (host.wants_signed) {
		sonde_able_why(to,
			       "not loaded; this kernel takes signed ones "
			       "only (%s)",
			       host.is_locked_down ? "lockdown, Secure Boot" :
						     "module.sig_enforce");
		sonde_able_remedy(to, "man sonde-modules  # SECURE BOOT");
	} else {
		sonde_able_why(to, "not loaded");
		sonde_able_remedy(to, "sonde modules build && sudo sonde "
				      "modules load");
	}
}
