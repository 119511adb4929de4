/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * host.c - what this machine says of kernel modules, and of ours (host.h).
 *
 * Looks at files of /proc, /sys and /dev, and changes nothing; what can't be
 * read is taken for not being there.
 */
#include "source/module/host.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/number.h"
#include "source/module/device.h"
#include "sys/linux.h"
#include "sys/textfile.h"

#define MODULE_FOLDER "/sys/module/" MODULE_MODULE

static bool is_yes(const char *path)
{
	char line[8];

	return sonde_textfile_read_line(line, sizeof(line), "%s", path) > 0 &&
	       (line[0] == 'Y' || line[0] == '1');
}

static void host_look_lockdown(struct module_host *host)
{
	char line[128];

	if (sonde_textfile_read_line(line, sizeof(line),
				     "/sys/kernel/security/lockdown") <= 0)
		return;
	host->is_secret = strstr(line, "[confidentiality]");
	host->is_locked_down = host->is_secret || strstr(line, "[integrity]");
}

static void host_look_loaded(struct module_host *host)
{
	char line[24];
	uint64_t refs;
	struct stat st;

	host->is_loaded = !stat(MODULE_FOLDER, &st);
	host->refs = -1;
	if (host->is_loaded &&
	    sonde_textfile_read_line(line, sizeof(line),
				     MODULE_FOLDER "/refcnt") > 0 &&
	    sonde_number_parse(line, INT32_MAX, &refs))
		host->refs = (long)refs;
}

static void look_device(struct module_host *host)
{
	const struct module_system *system = &module_system_linux;
	struct sonde_kmod_info info = { .size = sizeof(info) };
	struct stat st;
	int fd;

	host->has_device = !stat(SONDE_KMOD_DEVICE, &st) && S_ISCHR(st.st_mode);
	if (host->has_device) {
		host->mode = st.st_mode & 07777;
		host->uid = st.st_uid;
		host->gid = st.st_gid;
	}
	fd = system->open(SONDE_KMOD_DEVICE);
	host->error = fd < 0 ? fd : 0;
	if (fd < 0)
		return;
	if (system->ioctl(fd, SONDE_KMOD_INFO, &info) >= 0)
		host->info = info;
	system->close(fd);
}

void module_host_look(struct module_host *ret_host)
{
	struct module_host host = {
		/* Both come and go with CONFIG_MODULES. */
		.has_modules =
			!access("/proc/modules", F_OK) ||
			!access("/proc/sys/kernel/modules_disabled", F_OK),
		.is_disabled = is_yes("/proc/sys/kernel/modules_disabled"),
		.is_able = sonde_linux_capable(CAP_SYS_MODULE),
		.wants_signed =
			is_yes("/sys/module/module/parameters/sig_enforce"),
	};

	host_look_lockdown(&host);
	host.wants_signed |= host.is_locked_down;
	host_look_loaded(&host);
	look_device(&host);
	*ret_host = host;
}
