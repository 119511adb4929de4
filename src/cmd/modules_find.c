/* SPDX-License-Identifier: MIT */
/*
 * modules_find.c - where the kernel modules' sources are, and built ones.
 *
 * Sources are looked for below the program's folder, one above it, and where
 * they are installed; built modules in the user's own folder, then where
 * packages put them. The first that exists is taken. Nothing is changed.
 */
#include "cmd/modules.h"

#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/number.h"
#include "base/port.h"

/* What the sources of a module have, wherever they are. */
#define SOURCES_HAVE "tools/build_modules"

bool modules_path(char *path, size_t size, const char *format, ...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(path, size, format, args);
	va_end(args);
	return n >= 0 && (size_t)n < size;
}

const char *modules_running_kernel(void)
{
	static struct utsname name;

	/* It can't fail but for a bad address. */
	(void)uname(&name);
	return name.release;
}

/* ---- the user's folder ---- */

static const char *variable(const char *name)
{
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): there is one thread */
	const char *value = getenv(name);

	return value && *value ? value : NULL;
}

bool modules_cache(char *path, size_t size)
{
	const char *cache = variable("XDG_CACHE_HOME");
	const char *home = variable("HOME");

	if (cache && cache[0] == '/')
		return modules_path(path, size, "%s/sonde/modules", cache);
	return home &&
	       modules_path(path, size, "%s/.cache/sonde/modules", home);
}

bool modules_cache_of_caller(char *path, size_t size)
{
	const char *text = variable("SUDO_UID");
	const struct passwd *user;
	uint64_t uid;

	if (!text || geteuid() || !sonde_number_parse(text, UINT32_MAX, &uid))
		return false;
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): there is one thread */
	user = getpwuid((uid_t)uid);
	return user && modules_path(path, size, "%s/.cache/sonde/modules",
				    user->pw_dir);
}

/* ---- sources ---- */

static bool has_sources(const char *folder)
{
	char path[PATH_MAX];

	return modules_path(path, sizeof(path), "%s/" SOURCES_HAVE, folder) &&
	       !access(path, R_OK) &&
	       modules_path(path, sizeof(path), "%s/src/kmod/FILES", folder) &&
	       !access(path, R_OK);
}

/* The folder that this program is in, without a '/' at its end. */
static bool own_folder(char *path, size_t size)
{
	ssize_t n = readlink("/proc/self/exe", path, size - 1);
	char *slash;

	if (n <= 0)
		return false;
	path[n] = '\0';
	slash = strrchr(path, '/');
	if (!slash)
		return false;
	*slash = '\0';
	return true;
}

/* Below the program's folder or one above it: a build folder in the tree. */
static bool find_in_tree(char *path, size_t size)
{
	char *slash;

	if (!own_folder(path, size))
		return false;
	while (!has_sources(path)) {
		slash = strrchr(path, '/');
		if (!slash)
			return false;
		*slash = '\0';
	}
	return true;
}

bool modules_find_sources(const struct modules_options *options, char *path,
			  size_t size)
{
	char here[PATH_MAX];

	if (options->sources)
		return modules_path(path, size, "%s", options->sources) &&
		       has_sources(path);
	/* Installed, maybe not where it was configured for. */
	if (own_folder(here, sizeof(here)) &&
	    modules_path(path, size, "%s/../share/sonde/modules", here) &&
	    has_sources(path))
		return true;
	if (modules_path(path, size, "%s", SONDE_DATADIR "/sonde/modules") &&
	    has_sources(path))
		return true;
	return find_in_tree(path, size);
}

/* ---- built modules ---- */

static bool is_file(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISREG(st.st_mode);
}

/* Where DKMS and distributions put them, as they compress them. */
static bool find_installed(const char *kernel, char *path, size_t size)
{
	static const char *const folders[] = { "updates/dkms", "updates",
					       "extra", "kernel/extra" };
	static const char *const ends[] = { "", ".xz", ".zst", ".gz" };

	for (size_t i = 0; i < SONDE_ARRAY_SIZE(folders); i++)
		for (size_t k = 0; k < SONDE_ARRAY_SIZE(ends); k++)
			if (modules_path(path, size, "/lib/modules/%s/%s/%s%s",
					 kernel, folders[i], MODULES_FILE,
					 ends[k]) &&
			    is_file(path))
				return true;
	return false;
}

bool modules_find_built(const struct modules_options *options,
			const char *kernel, char *path, size_t size)
{
	char cache[PATH_MAX];

	if (options->folder)
		return modules_path(path, size, "%s/%s", options->folder,
				    MODULES_FILE) &&
		       is_file(path);
	if (modules_cache(cache, sizeof(cache)) &&
	    modules_path(path, size, "%s/%s/%s", cache, kernel, MODULES_FILE) &&
	    is_file(path))
		return true;
	if (modules_cache_of_caller(cache, sizeof(cache)) &&
	    modules_path(path, size, "%s/%s/%s", cache, kernel, MODULES_FILE) &&
	    is_file(path))
		return true;
	return find_installed(kernel, path, size);
}
