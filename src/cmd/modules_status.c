/* SPDX-License-Identifier: MIT */
/*
 * modules_status.c - `sonde modules status`: whether Sonde's tracer is in the
 * kernel, who may use it, and for which kernels it is built.
 *
 * What is told is one list of names and values, for people and as JSON.
 */
#include "cmd/modules.h"

#include <dirent.h>
#include <errno.h>
#include <grp.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "cmd/cmd.h"
#include "source/module/host.h"

#define BUILT_MAX 64u

struct built {
	size_t nr;
	char files[BUILT_MAX][PATH_MAX];
	char kernels[BUILT_MAX][NAME_MAX + 1];
};

/* ---- built for which kernels ---- */

static void add_kernel(struct built *built, const char *kernel)
{
	const struct modules_options none = { 0 };

	if (built->nr == BUILT_MAX || kernel[0] == '.')
		return;
	for (size_t i = 0; i < built->nr; i++)
		if (!strcmp(built->kernels[i], kernel))
			return;
	if (!modules_find_built(&none, kernel, built->files[built->nr],
				PATH_MAX))
		return;
	(void)snprintf(built->kernels[built->nr++], sizeof(built->kernels[0]),
		       "%s", kernel);
}

/* Kernels by the names of a folder's entries. */
static void modules_status_look_in(struct built *built, const char *folder)
{
	const struct dirent *entry;
	DIR *dir = opendir(folder);

	/* One thread reads, from a stream of its own. */
	/* NOLINTNEXTLINE(concurrency-mt-unsafe) */
	while (dir && (entry = readdir(dir)))
		add_kernel(built, entry->d_name);
	if (dir)
		(void)closedir(dir); /* only read from */
}

static void find_built(struct built *built)
{
	char folder[PATH_MAX];

	if (modules_cache(folder, sizeof(folder)))
		modules_status_look_in(built, folder);
	if (modules_cache_of_caller(folder, sizeof(folder)))
		modules_status_look_in(built, folder);
	modules_status_look_in(built, "/lib/modules");
}

/* ---- in words ---- */

static bool is_usable(const struct module_host *host)
{
	return host->is_loaded && !host->error &&
	       host->info.version == SONDE_KMOD_VERSION;
}

static const char *modules_status_verdict(const struct module_host *host)
{
	if (is_usable(host))
		return "loaded, and this user can use it";
	if (host->is_loaded && !host->error)
		return "loaded, but of another version; unload, build and load "
		       "it anew";
	if (host->is_loaded)
		return "loaded, but not open to this user";
	if (!host->has_modules)
		return "not loaded: this kernel loads no modules";
	if (host->is_disabled)
		return "not loaded: kernel.modules_disabled is set until the "
		       "next boot";
	if (host->wants_signed)
		return "not loaded; this kernel takes signed modules only";
	return "not loaded";
}

static const char *clock_of(const struct module_host *host, char *text,
			    size_t size)
{
	const struct sonde_kmod_info *info = &host->info;

	if (!info->has_cpu_clock)
		return "CLOCK_MONOTONIC";
	if (!(info->features & SONDE_KMOD_HAS_SYNTHETIC))
		return "the CPU's counter";
	(void)snprintf(text, size, "made from %u bits of the CPU's counter",
		       info->clock_bits);
	return text;
}

static const char *conditions_of(const struct sonde_kmod_info *info)
{
	return info->features & SONDE_KMOD_HAS_NATIVE ?
		       "machine code, by the kernel's compiler for BPF" :
		       "evaluated: the kernel's compiler for BPF is off "
		       "(net.core.bpf_jit_enable) or missing";
}

static void name_rights(const struct module_host *host, char *text, size_t size)
{
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): there is one thread */
	const struct passwd *user = getpwuid(host->uid);
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): likewise */
	const struct group *group = getgrgid(host->gid);
	char numbers[2][16];

	(void)snprintf(numbers[0], sizeof(numbers[0]), "%u", host->uid);
	(void)snprintf(numbers[1], sizeof(numbers[1]), "%u", host->gid);
	(void)snprintf(text, size, "%04o %s:%s", host->mode,
		       user ? user->pw_name : numbers[0],
		       group ? group->gr_name : numbers[1]);
}

/* ---- as lines, as JSON ---- */

static void print_line(const char *name, const char *value)
{
	(void)printf("%-12s %s\n", name, value);
}

static void print_lines(const struct module_host *host,
			const struct built *built)
{
	char text[128];

	print_line("state", modules_status_verdict(host));
	print_line("kernel", modules_running_kernel());
	if (host->is_loaded && host->refs >= 0)
		(void)printf("%-12s %ld\n", "references", host->refs);
	if (host->has_device) {
		name_rights(host, text, sizeof(text));
		(void)printf("%-12s %s %s\n", "device", SONDE_KMOD_DEVICE,
			     text);
	}
	if (host->info.version) {
		(void)printf("%-12s %u\n%-12s %u\n", "version",
			     host->info.version, "sessions",
			     host->info.nr_sessions);
		print_line("clock", clock_of(host, text, sizeof(text)));
		print_line("conditions", conditions_of(&host->info));
		(void)printf("%-12s %u\n%-12s %u\n", "CPUs", host->info.nr_cpus,
			     "tracepoints", host->info.nr_tracepoints);
	}
	for (size_t i = 0; i < built->nr; i++)
		(void)printf("%-12s %s  %s\n", i ? "" : "built for",
			     built->kernels[i], built->files[i]);
	if (!built->nr)
		print_line("built for", "no kernel; sonde modules build");
}

static void print_json_device(struct sonde_json *json,
			      const struct module_host *host)
{
	char text[128];

	if (host->has_device) {
		name_rights(host, text, sizeof(text));
		sonde_json_put_text(json, "device", text);
	}
	if (!host->info.version)
		return;
	sonde_json_put_unsigned(json, "version", host->info.version);
	sonde_json_put_unsigned(json, "sessions", host->info.nr_sessions);
	sonde_json_put_text(json, "clock", clock_of(host, text, sizeof(text)));
	sonde_json_put_bool(json, "native_conditions",
			    host->info.features & SONDE_KMOD_HAS_NATIVE);
	sonde_json_put_unsigned(json, "cpus", host->info.nr_cpus);
	sonde_json_put_unsigned(json, "tracepoints", host->info.nr_tracepoints);
}

static void modules_status_print_json(const struct module_host *host,
				      const struct built *built)
{
	struct sonde_json json = sonde_json_to_file(stdout);

	sonde_json_open(&json, NULL, '{');
	sonde_json_put_bool(&json, "loaded", host->is_loaded);
	sonde_json_put_bool(&json, "usable", is_usable(host));
	sonde_json_put_text(&json, "state", modules_status_verdict(host));
	sonde_json_put_text(&json, "kernel", modules_running_kernel());
	if (host->is_loaded)
		sonde_json_put_signed(&json, "references", host->refs);
	print_json_device(&json, host);
	sonde_json_open(&json, "built", '[');
	for (size_t i = 0; i < built->nr; i++) {
		sonde_json_open(&json, NULL, '{');
		sonde_json_put_text(&json, "kernel", built->kernels[i]);
		sonde_json_put_text(&json, "file", built->files[i]);
		sonde_json_close(&json, '}');
	}
	sonde_json_close(&json, ']');
	sonde_json_close(&json, '}');
	(void)putchar('\n');
}

int modules_status(const struct modules_options *options)
{
	struct built *built = calloc(1, sizeof(*built));
	struct module_host host;

	if (!built) {
		sonde_complain("modules status: no memory left");
		return 1;
	}
	module_host_look(&host);
	find_built(built);
	if (options->json)
		modules_status_print_json(&host, built);
	else
		print_lines(&host, built);
	free(built);
	return is_usable(&host) ? 0 : 1;
}
