/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * device.h - /dev/sonde (kmod/abi.h), as the source "modules" uses it.
 *
 * Everything asked of the system goes through struct module_system, so that a test
 * can put a device of its own there, one that lies. What a device answers is
 * checked before it is used: it is the kernel's word, but the module may be
 * older or newer than this program, and a mistake in it must end in an error,
 * not in reading beyond a mapping.
 *
 * Descriptors are closed in any order: the kernel keeps what another one needs.
 */
#ifndef SOURCE_MODULE_DEVICE_H
#define SOURCE_MODULE_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kmod/abi.h"
#include "source/module/geometry.h"
#include "source/module/module.h"
#include "source/source.h"

#define MODULE_CPUS_MAX 8192u

/* Each as the system call of that name, but with -errno for a result. */
struct module_system {
	int (*open)(const char *path);
	int (*ioctl)(int fd, unsigned long request, void *argument);
	/* Whether this process may write to that file. */
	bool (*may_write)(const char *path);
	/* Read-only and shared; MAP_FAILED is NULL, with -errno in *ret_error.
	 */
	unsigned char *(*map)(int fd, size_t size, int *ret_error);
	void (*unmap)(unsigned char *at, size_t size);
	void (*close)(int fd);
	/* module.h: module_events_select, _has, _free. */
	int (*select)(const struct sonde_source_config *config,
		      struct module_events *ret,
		      struct sonde_source_error *error);
	bool (*has)(const struct module_events *events, const char *group,
		    const char *name);
	void (*release)(struct module_events *events);
};

/* This kernel's. */
extern const struct module_system module_system_linux;

/* -1: not open. */
struct module_device {
	const struct module_system *system; /* borrowed */
	int device;
	int session;
	int channel;
	int lines; /* a channel, that has a door */
	struct sonde_kmod_info info;
};

/* 0; -ENODEV, -EACCES, -EPERM or another -errno, with *error: what helps. */
int module_device_open(struct module_device *device,
		       const struct module_system *system,
		       struct sonde_source_error *error);
void module_device_close(struct module_device *device);

/* A session and its channel, with nothing recorded. */
int module_device_session(struct module_device *device,
			  const struct sonde_source_config *config,
			  const struct module_geometry *geometry,
			  struct sonde_source_error *error);

/* A channel of the session for lines alone, as record `id`, and the number of its
 * door. 0; or -errno, and there is none. */
int module_device_lines(struct module_device *device,
			const struct sonde_source_config *config,
			const struct module_geometry *geometry, uint32_t id,
			uint32_t *ret_door);

/* An event for the channel. 0 or what the kernel said: -errno. */
int module_device_add(const struct module_device *device,
		      const struct module_event *event);

/* The same, and its descriptor. */
int module_device_put_in(const struct module_device *device,
			 const struct sonde_kmod_event *event);

/* `root` 0: everybody. */
int module_device_start(const struct module_device *device, pid_t root,
			struct sonde_source_error *error);
void module_device_stop(const struct module_device *device);

/* Events that belong to no stream; 0 if it can't be told. And of these, returns
 * of calls that found no room. */
uint64_t module_device_missed(const struct module_device *device);
uint64_t module_device_missed_returns(const struct module_device *device);
uint64_t module_device_unseen(const struct module_device *device);

#endif /* SOURCE_MODULE_DEVICE_H */
