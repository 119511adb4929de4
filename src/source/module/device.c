/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * device.c - /dev/sonde as the source uses it (device.h).
 *
 * What the device answers is checked before it is used. Order: open, session,
 * add for each event, start, stop, close; a function that fails leaves nothing
 * open that it opened.
 */
#include "source/module/device.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- this kernel's ---- */

static int linux_open(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static int linux_ioctl(int fd, unsigned long request, void *argument)
{
	int rc;

	do
		rc = ioctl(fd, request, argument);
	while (rc < 0 && errno == EINTR);
	return rc < 0 ? -errno : rc;
}

static bool linux_may_write(const char *path)
{
	return !faccessat(AT_FDCWD, path, W_OK, AT_EACCESS);
}

static unsigned char *linux_map(int fd, size_t size, int *ret_error)
{
	void *at = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);

	if (at != MAP_FAILED)
		return at;
	*ret_error = -errno;
	return NULL;
}

static void linux_unmap(unsigned char *at, size_t size)
{
	/* It was mapped with that size. */
	(void)munmap(at, size);
}

static void linux_close(int fd)
{
	(void)close(fd); /* nothing was written to it */
}

const struct module_system module_system_linux = {
	.open = linux_open,
	.ioctl = linux_ioctl,
	.may_write = linux_may_write,
	.map = linux_map,
	.unmap = linux_unmap,
	.close = linux_close,
	.select = module_events_select,
	.has = module_events_has,
	.release = module_events_free,
};

/* ---- opening ---- */

static int device_lack(int rc, struct sonde_source_error *error)
{
	switch (rc) {
	case -ENOENT:
	case -ENXIO:
	case -ENODEV:
		return sonde_source_fail(
			error, -ENODEV,
			"modules: Sonde's own tracer is not in the kernel (no "
			"%s); sudo sonde modules load",
			SONDE_KMOD_DEVICE);
	case -EACCES:
	case -EPERM:
		return sonde_source_fail(
			error, rc,
			"modules: " SONDE_KMOD_DEVICE " is not open to this "
			"user; run as root, or give it to a group: sudo sonde "
			"modules unload && sudo sonde modules load --group "
			"NAME");
	default:
		return sonde_source_fail(error, rc,
					 "modules: " SONDE_KMOD_DEVICE ": %s",
					 strerrordesc_np(-rc));
	}
}

static int check_info(const struct sonde_kmod_info *info,
		      struct sonde_source_error *error)
{
	if (info->version != SONDE_KMOD_VERSION)
		return sonde_source_fail(
			error, -ENODEV,
			"modules: the module in the kernel speaks version %u, "
			"this sonde %u; sudo sonde modules unload, then sonde "
			"modules build, then sudo sonde modules load",
			info->version, SONDE_KMOD_VERSION);
	if (!info->nr_cpus || info->nr_cpus > MODULE_CPUS_MAX)
		return sonde_source_fail(error, -EPROTO,
					 "modules: " SONDE_KMOD_DEVICE
					 " says that there are %u CPUs",
					 info->nr_cpus);
	return 0;
}

int module_device_open(struct module_device *device,
		       const struct module_system *system,
		       struct sonde_source_error *error)
{
	int rc;

	*device = (struct module_device){
		.system = system,
		.device = -1,
		.session = -1,
		.channel = -1,
		.lines = -1,
		.info.size = sizeof(device->info),
	};
	rc = system->open(SONDE_KMOD_DEVICE);
	if (rc < 0)
		return device_lack(rc, error);
	device->device = rc;
	rc = system->ioctl(device->device, SONDE_KMOD_INFO, &device->info);
	if (rc < 0)
		return device_lack(rc, error);
	return check_info(&device->info, error);
}

static void device_close_one(const struct module_system *system, int *fd)
{
	if (*fd >= 0)
		system->close(*fd);
	*fd = -1;
}

void module_device_close(struct module_device *device)
{
	device_close_one(device->system, &device->lines);
	device_close_one(device->system, &device->channel);
	device_close_one(device->system, &device->session);
	device_close_one(device->system, &device->device);
}

/* ---- a session ---- */

/* Programs' events have the counter as the CPU gives it; so has a counter that
 * the module makes wide from a narrow one. */
static int device_check_clock(const struct sonde_kmod_info *info,
			      enum sonde_clock_kind clock,
			      struct sonde_source_error *error)
{
	if (clock != SONDE_CLOCK_CPU)
		return 0;
	if (!info->has_cpu_clock)
		return sonde_source_fail(
			error, -ENODEV,
			"modules: the kernel does not take the CPU's counter "
			"for a clock, but programs' events have its times; "
			"another --kernel-source can do it");
	return 0;
}

/* A descriptor, or -errno. */
static int ask_channel(const struct module_device *device,
		       const struct sonde_source_config *config,
		       const struct module_geometry *geometry)
{
	struct sonde_kmod_channel channel = {
		.size = sizeof(channel),
		.mode = config->mode == SONDE_OVERWRITE,
		.subbuf_bytes = geometry->subbuf_bytes,
		.nr_subbufs = geometry->nr_subbufs,
		.clock = config->clock == SONDE_CLOCK_CPU ?
				 SONDE_KMOD_CLOCK_CPU :
				 SONDE_KMOD_CLOCK_MONOTONIC,
	};

	return device->system->ioctl(device->session, SONDE_KMOD_CHANNEL,
				     &channel);
}

static int make_channel(struct module_device *device,
			const struct sonde_source_config *config,
			const struct module_geometry *geometry,
			struct sonde_source_error *error)
{
	int rc = ask_channel(device, config, geometry);

	if (rc == -ENOMEM)
		return sonde_source_fail(
			error, rc,
			"modules: no memory for %u CPUs' buffers of %llu KiB; "
			"ask for less with --kernel-memory",
			geometry->nr_cpus,
			(unsigned long long)module_geometry_map_bytes(
				geometry) /
				1024);
	if (rc < 0)
		return sonde_source_fail(error, rc,
					 "modules: no buffers can be made: %s",
					 strerrordesc_np(-rc));
	device->channel = rc;
	return 0;
}

int module_device_session(struct module_device *device,
			  const struct sonde_source_config *config,
			  const struct module_geometry *geometry,
			  struct sonde_source_error *error)
{
	struct sonde_kmod_session session = {
		.size = sizeof(session),
		.self = { config->self[0], config->self[1] },
	};
	int rc = device_check_clock(&device->info, config->clock, error);

	if (rc)
		return rc;
	rc = device->system->ioctl(device->device, SONDE_KMOD_SESSION,
				   &session);
	if (rc < 0)
		return sonde_source_fail(error, rc,
					 "modules: no session can be made: %s",
					 strerrordesc_np(-rc));
	device->session = rc;
	return make_channel(device, config, geometry, error);
}

int module_device_lines(struct module_device *device,
			const struct sonde_source_config *config,
			const struct module_geometry *geometry, uint32_t id,
			uint32_t *ret_door)
{
	struct sonde_kmod_door door = { .size = sizeof(door), .id = id };
	int rc = ask_channel(device, config, geometry);

	if (rc < 0)
		return rc;
	device->lines = rc;
	rc = device->system->ioctl(device->lines, SONDE_KMOD_DOOR, &door);
	if (rc >= (int)SONDE_KMOD_DOORS)
		rc = -EPROTO;
	if (rc < 0) {
		device_close_one(device->system, &device->lines);
		return rc;
	}
	*ret_door = (uint32_t)rc;
	return 0;
}

int module_device_add(const struct module_device *device,
		      const struct module_event *event)
{
	struct sonde_kmod_event request = event->event;
	int rc;

	/* Nobody counts single events; without a descriptor it lives as long
	 * as the channel. */
	request.size = sizeof(request);
	request.flags &= ~SONDE_KMOD_WANT_FD;
	rc = device->system->ioctl(device->channel, SONDE_KMOD_EVENT, &request);
	return rc < 0 ? rc : 0;
}

int module_device_put_in(const struct module_device *device,
			 const struct sonde_kmod_event *event)
{
	struct sonde_kmod_event request = *event;

	return device->system->ioctl(device->channel, SONDE_KMOD_EVENT,
				     &request);
}

int module_device_start(const struct module_device *device, pid_t root,
			struct sonde_source_error *error)
{
	struct sonde_kmod_scope scope = {
		.size = sizeof(scope),
		.pid = root,
	};
	int rc = 0;

	if (root)
		rc = device->system->ioctl(device->session, SONDE_KMOD_SCOPE,
					   &scope);
	if (rc < 0)
		return sonde_source_fail(error, rc,
					 "modules: process %d can't be "
					 "followed: %s",
					 (int)root, strerrordesc_np(-rc));
	rc = device->system->ioctl(device->session, SONDE_KMOD_START, NULL);
	if (rc < 0)
		return sonde_source_fail(error, rc,
					 "modules: recording can't be started: "
					 "%s",
					 strerrordesc_np(-rc));
	return 0;
}

void module_device_stop(const struct module_device *device)
{
	/* It fails only if it isn't started, which is what is wanted. */
	(void)device->system->ioctl(device->session, SONDE_KMOD_STOP, NULL);
}

static struct sonde_kmod_missed ask_missed(const struct module_device *device)
{
	struct sonde_kmod_missed missed = { .size = sizeof(missed) };

	if (device->system->ioctl(device->session, SONDE_KMOD_MISSED, &missed) <
	    0)
		return (struct sonde_kmod_missed){ .size = 0 };
	return missed;
}

uint64_t module_device_missed(const struct module_device *device)
{
	const struct sonde_kmod_missed missed = ask_missed(device);

	return missed.deep + missed.kprobes + missed.tracked;
}

uint64_t module_device_missed_returns(const struct module_device *device)
{
	const struct sonde_kmod_missed missed = ask_missed(device);

	/* They are among those. */
	return missed.returns < missed.kprobes ? missed.returns :
						 missed.kprobes;
}

uint64_t module_device_unseen(const struct module_device *device)
{
	return ask_missed(device).unseen;
}
