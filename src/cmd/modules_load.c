/* SPDX-License-Identifier: MIT */
/*
 * modules_load.c - `sonde modules load` and `unload`: the system calls, and a
 * remedy for each of their errors.
 */
#include "cmd/modules.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/number.h"
#include "base/port.h"
#include "cmd/cmd.h"
#include "source/module/host.h"
#include "sys/proc.h"

/* linux/module.h of Linux 5.17. */
#define COMPRESSED_FILE 4

#define HOLDERS_SHOWN   5

/* ---- what is in the way ---- */

static void complain_signature(const struct module_host *host)
{
	sonde_complain("modules load: this kernel takes only modules that are "
		       "signed with a key it knows (%s). Either install them "
		       "through DKMS, whose key the firmware learns once (sudo "
		       "mokutil --import /var/lib/dkms/mok.pub, then reboot), "
		       "or sign sonde.ko with a key of yours, or switch Secure "
		       "Boot off; see sonde-modules(1), SECURE BOOT",
		       host->is_locked_down ? "it is locked down, as with "
					      "Secure Boot" :
					      "module.sig_enforce");
}

/* What stands in the way whatever the module is. */
static bool can_load(const struct module_host *host)
{
	if (!host->has_modules)
		sonde_complain("modules load: this kernel (%s) loads no "
			       "modules: it was built without CONFIG_MODULES; "
			       "boot a distribution's kernel, or use what "
			       "needs no module ('sonde doctor')",
			       modules_running_kernel());
	else if (host->is_disabled)
		sonde_complain("modules load: kernel.modules_disabled is set: "
			       "no module can be loaded until the next boot");
	else if (!host->is_able)
		sonde_complain("modules load: needs root: sudo sonde modules "
			       "load");
	else
		return true;
	return false;
}

static void complain_load(const struct module_host *host, const char *file,
			  int error)
{
	switch (error) {
	case EKEYREJECTED:
	case ENOKEY:
	case EBADMSG:
		complain_signature(host);
		return;
	case EPERM:
	case EACCES:
		if (host->wants_signed)
			complain_signature(host);
		else
			sonde_complain("modules load: %s: the kernel does not "
				       "permit it; `dmesg` may say why",
				       file);
		return;
	case ENOEXEC:
	case ENOENT:
		sonde_complain("modules load: %s was not built for this kernel "
			       "(%s); sonde modules build, then load again",
			       file, modules_running_kernel());
		return;
	case EOPNOTSUPP:
	case EINVAL:
		sonde_complain("modules load: %s: the kernel refuses it: %s; "
			       "the last lines of `dmesg` say why",
			       file, strerrordesc_np(error));
		return;
	default:
		sonde_complain("modules load: %s: %s", file,
			       strerrordesc_np(error));
	}
}

/* ---- load ---- */

/* The number of a group; -1 with an error told. */
static long find_group(const char *name)
{
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): there is one thread */
	const struct group *group = getgrnam(name);
	uint64_t number;

	if (group)
		return (long)group->gr_gid;
	if (sonde_number_parse(name, INT_MAX, &number))
		return (long)number;
	sonde_complain("modules load: no group '%.100s'; sudo groupadd makes "
		       "one",
		       name);
	return -1;
}

/* The module's parameters; false with an error told. */
static bool make_parameters(const struct modules_options *options, char *text,
			    size_t size)
{
	long group = -1;
	const char *bits = options->clock_bits;
	char clock[32] = "";

	if (options->group) {
		group = find_group(options->group);
		if (group < 0)
			return false;
	}
	if (bits && (strspn(bits, "0123456789") != strlen(bits) ||
		     strlen(bits) < 1 || strlen(bits) > 2)) {
		sonde_complain("modules load: --clock-bits %.20s: give a "
			       "number, such as 32",
			       bits);
		return false;
	}
	if (bits)
		(void)snprintf(clock, sizeof(clock), " clock_bits=%s", bits);
	(void)snprintf(text, size, "gid=%ld%s", group, clock);
	return true;
}

static bool is_compressed(const char *file)
{
	size_t length = strlen(file);

	return length < 3 || strcmp(file + length - 3, ".ko") != 0;
}

/* 0 or -errno. */
static int insert(const char *file, const char *parameters)
{
	int fd = open(file, O_RDONLY | O_CLOEXEC);
	long rc;

	if (fd < 0)
		return -errno;
	rc = syscall(SYS_finit_module, fd, parameters,
		     is_compressed(file) ? COMPRESSED_FILE : 0);
	rc = rc ? -errno : 0;
	(void)close(fd); /* only read from */
	return (int)rc;
}

static int complain_loaded(const struct modules_options *options)
{
	if (!options->group && !options->clock_bits) {
		(void)puts("already loaded");
		return 0;
	}
	sonde_complain("modules load: already loaded, and may be otherwise; "
		       "sudo sonde modules unload first");
	return 1;
}

static int insert_found(const struct module_host *host, const char *file,
			const char *parameters)
{
	int rc = insert(file, parameters);

	if (rc && is_compressed(file)) {
		sonde_complain("modules load: %s: %s; sudo modprobe sonde "
			       "unpacks it if this kernel can't",
			       file, strerrordesc_np(-rc));
		return 1;
	}
	if (rc) {
		complain_load(host, file, -rc);
		return 1;
	}
	if (access(SONDE_KMOD_DEVICE, F_OK)) {
		sonde_complain(
			"modules load: it is loaded, but there is no %s: this "
			"/dev is not the kernel's own (devtmpfs), as in a "
			"container",
			SONDE_KMOD_DEVICE);
		return 1;
	}
	(void)printf("loaded %s\n", file);
	return 0;
}

int modules_load(const struct modules_options *options)
{
	char parameters[64];
	char file[PATH_MAX];
	struct module_host host;

	module_host_look(&host);
	if (host.is_loaded)
		return complain_loaded(options);
	if (!make_parameters(options, parameters, sizeof(parameters)) ||
	    !can_load(&host))
		return 1;
	if (!modules_find_built(options, modules_running_kernel(), file,
				sizeof(file))) {
		sonde_complain("modules load: none is built for this kernel "
			       "(%s)%s%s; sonde modules build",
			       modules_running_kernel(),
			       options->folder ? " in " : "",
			       options->folder ? options->folder : "");
		return 1;
	}
	return insert_found(&host, file, parameters);
}

/* ---- unload ---- */

/* Whether a descriptor of /proc/PID/fd is ours: the device, or what was made by
 * it. */
static bool is_ours(int fds, const char *name)
{
	char link[64];
	ssize_t n = readlinkat(fds, name, link, sizeof(link) - 1);

	if (n <= 0)
		return false;
	link[n] = '\0';
	return !strcmp(link, SONDE_KMOD_DEVICE) ||
	       !strncmp(link, SONDE_KMOD_DOORS_NAME,
			strlen(SONDE_KMOD_DOORS_NAME)) ||
	       !strncmp(link, "anon_inode:[sonde-", 18);
}

static bool holds(pid_t pid)
{
	const struct dirent *entry;
	bool found = false;
	DIR *dir = sonde_proc_dir(pid, "fd");

	/* One thread reads, from a stream of its own. */
	/* NOLINTNEXTLINE(concurrency-mt-unsafe) */
	while (dir && !found && (entry = readdir(dir)))
		found = is_ours(dirfd(dir), entry->d_name);
	if (dir)
		(void)closedir(dir); /* only read from */
	return found;
}

/* "sonde (123), tail (456)": who has it open, as far as one may look. */
static void find_holders(char *text, size_t size)
{
	DIR *proc = opendir("/proc");
	unsigned int nr = 0;
	size_t used = 0;
	pid_t pid;

	text[0] = '\0';
	while (proc && used < size && (pid = sonde_proc_next(proc)) >= 0) {
		char name[SONDE_COMM_SIZE];
		int n;

		if (!holds(pid))
			continue;
		if (nr++ == HOLDERS_SHOWN) {
			(void)snprintf(text + used, size - used, " and others");
			break;
		}
		sonde_process_name(pid, name);
		n = snprintf(text + used, size - used, "%s%s (%d)",
			     used ? ", " : "", name, (int)pid);
		used += n > 0 ? (size_t)n : 0;
	}
	if (proc)
		(void)closedir(proc); /* only read from */
}

static int complain_busy(void)
{
	char holders[400];

	find_holders(holders, sizeof(holders));
	if (*holders)
		sonde_complain("modules unload: in use by %s", holders);
	else
		sonde_complain("modules unload: in use; by whom can't be seen "
			       "from here");
	return 1;
}

int modules_unload(void)
{
	if (!syscall(SYS_delete_module, MODULE_MODULE, O_NONBLOCK)) {
		(void)puts("unloaded");
		return 0;
	}
	switch (errno) {
	case ENOENT:
	case ENOSYS:
		(void)puts("not loaded");
		return 0;
	case EWOULDBLOCK:
	case EBUSY:
		return complain_busy();
	case EPERM: {
		struct module_host host;

		module_host_look(&host);
		if (!host.is_loaded) {
			(void)puts("not loaded");
			return 0;
		}
		sonde_complain("modules unload: needs root: sudo sonde modules "
			       "unload");
		return 1;
	}
	default:
		sonde_complain("modules unload: %s", strerrordesc_np(errno));
		return 1;
	}
}
