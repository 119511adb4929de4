/* SPDX-License-Identifier: MIT */
/*
 * modules_build.c - `sonde modules build`: looks for what is needed, says what
 * is missing, and leaves the rest to tools/build_modules, which is installed
 * with the sources. What it and make print is FOLDER/build.log.
 */
#include "cmd/modules.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/port.h"
#include "cmd/cmd.h"
#include "ctf/directory.h"
#include "sys/proc_start.h"

#define LOG_LINES 12

struct build {
	const struct modules_options *options;
	char kernel[128];
	char headers[PATH_MAX];
	char sources[PATH_MAX];
	char folder[PATH_MAX];
	char log[PATH_MAX];
};

/* ---- what is needed ---- */

static bool join(char *path, const char *folder, const char *name)
{
	return modules_path(path, PATH_MAX, "%s/%s", folder, name);
}

static bool has(const char *folder, const char *name)
{
	char path[PATH_MAX];

	return join(path, folder, name) && !access(path, R_OK);
}

/* The kernel that headers belong to, as they say themselves:
 * #define UTS_RELEASE "6.1.0-56-amd64" */
static bool read_release(const char *headers, char *kernel, size_t size)
{
	char path[PATH_MAX];
	char line[256];
	char *begin = NULL;
	FILE *file;

	if (!join(path, headers, "include/generated/utsrelease.h"))
		return false;
	file = fopen(path, "re");
	if (file && fgets(line, sizeof(line), file))
		begin = strchr(line, '"');
	if (file)
		(void)fclose(file); /* only read from */
	if (!begin)
		return false;
	begin[1 + strcspn(begin + 1, "\"\n")] = '\0';
	return begin[1] && modules_path(kernel, size, "%s", begin + 1);
}

/* Whether a name may be that of a kernel: it becomes a part of paths. */
static bool is_kernel(const char *name)
{
	return *name && *name != '.' && !strchr(name, '/');
}

static bool find_kernel(struct build *build)
{
	const struct modules_options *options = build->options;
	const char *name = options->kernel;

	if (!name && options->headers &&
	    read_release(options->headers, build->kernel,
			 sizeof(build->kernel)) &&
	    is_kernel(build->kernel))
		return true;
	if (!name)
		name = modules_running_kernel();
	if (is_kernel(name) &&
	    modules_path(build->kernel, sizeof(build->kernel), "%s", name))
		return true;
	sonde_complain("modules build: '%.100s' is no kernel's version", name);
	return false;
}

static bool find_headers(struct build *build)
{
	const char *given = build->options->headers;

	if (given)
		(void)modules_path(build->headers, sizeof(build->headers), "%s",
				   given);
	else
		(void)snprintf(build->headers, sizeof(build->headers),
			       "/lib/modules/%s/build", build->kernel);
	if (has(build->headers, "Makefile") &&
	    has(build->headers, "include/generated/autoconf.h"))
		return true;
	if (given)
		sonde_complain("modules build: %s holds no kernel headers that "
			       "modules can be built with",
			       given);
	else if (access("/proc/modules", F_OK) && !build->options->kernel)
		sonde_complain("modules build: this kernel (%s) loads no "
			       "modules; for another one, use --kernel VERSION "
			       "or --headers DIR",
			       build->kernel);
	else
		sonde_complain("modules build: no headers of kernel %s in %s; "
			       "sudo apt-get install linux-headers-%s, or "
			       "--headers DIR",
			       build->kernel, build->headers, build->kernel);
	return false;
}

/* Whether PATH has one of them. */
static bool has_program(const char *const *names, size_t nr)
{
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): there is one thread */
	const char *path = getenv("PATH");
	char file[PATH_MAX];

	while (path && *path) {
		size_t length = strcspn(path, ":");

		for (size_t i = 0; i < nr; i++) {
			int n = snprintf(file, sizeof(file), "%.*s/%s",
					 (int)length, path, names[i]);

			if (n > 0 && (size_t)n < sizeof(file) &&
			    !access(file, X_OK))
				return true;
		}
		path += length + (path[length] == ':');
	}
	return false;
}

static bool find_tools(void)
{
	static const char *const make[] = { "make" };
	/* Debian's headers ask for the version the kernel was built with. */
	static const char *const compilers[] = { "gcc",    "gcc-12", "gcc-13",
						 "gcc-14", "gcc-15", "clang" };

	if (!has_program(make, SONDE_ARRAY_SIZE(make)))
		sonde_complain("modules build: no make; sudo apt-get install "
			       "make");
	else if (!has_program(compilers, SONDE_ARRAY_SIZE(compilers)))
		sonde_complain("modules build: no C compiler; sudo apt-get "
			       "install gcc");
	else
		return true;
	return false;
}

static bool find_sources(struct build *build)
{
	if (modules_find_sources(build->options, build->sources,
				 sizeof(build->sources)))
		return true;
	if (build->options->sources)
		sonde_complain("modules build: %s does not hold the module's "
			       "sources",
			       build->options->sources);
	else
		sonde_complain("modules build: the module's sources are not "
			       "installed with this sonde; --sources DIR");
	return false;
}

/* ---- where to ---- */

/* It, and what is above it. 0 or -errno. */
static int make_folder(const char *path)
{
	char part[PATH_MAX];

	for (const char *at = path + 1;; at++) {
		if (*at && *at != '/')
			continue;
		(void)snprintf(part, sizeof(part), "%.*s", (int)(at - path),
			       path);
		if (mkdir(part, 0755) && errno != EEXIST)
			return -errno;
		if (!*at)
			return 0;
	}
}

/* What is built there will run in the kernel. */
static bool check_folder(const char *path)
{
	struct sonde_directory_error error = { "" };
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int rc = fd < 0 ? -errno : sonde_directory_check(fd, path, &error);

	if (fd >= 0)
		(void)close(fd); /* it was only looked at */
	if (rc)
		sonde_complain("modules build: %s",
			       *error.text ? error.text : strerrordesc_np(-rc));
	return !rc;
}

static bool choose_folder(struct build *build)
{
	char cache[PATH_MAX];
	int rc = -ENAMETOOLONG;

	if (build->options->folder) {
		if (modules_path(build->folder, sizeof(build->folder), "%s",
				 build->options->folder))
			rc = 0;
	} else if (!modules_cache(cache, sizeof(cache))) {
		sonde_complain("modules build: no HOME; say where to with "
			       "--output DIR");
		return false;
	} else if (join(build->folder, cache, build->kernel)) {
		rc = 0;
	}
	if (!rc && !*build->folder)
		rc = -ENOENT;
	if (!rc)
		rc = make_folder(build->folder);
	if (!rc && !join(build->log, build->folder, "build.log"))
		rc = -ENAMETOOLONG;
	if (rc)
		sonde_complain("modules build: %s: %s", build->folder,
			       strerrordesc_np(-rc));
	return !rc && check_folder(build->folder);
}

/* ---- building ---- */

/* Runs it; its exit status, or -errno. */
static int run(const struct build *build, const char *const *argv)
{
	int log = open(build->log,
		       O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
		       0644);
	const int fds[3] = { -1, log, log };
	pid_t pid;
	int rc;

	if (log < 0)
		return -errno;
	rc = sonde_proc_start_plain("/bin/sh", argv, environ, fds, &pid);
	(void)close(log); /* nothing was written by it */
	return rc ? rc : sonde_proc_wait(pid);
}

/* The log's end, on standard error. */
static void show_log(const char *path)
{
	char lines[LOG_LINES][256];
	FILE *file = fopen(path, "re");
	size_t nr = 0;

	while (file && fgets(lines[nr % LOG_LINES], sizeof(lines[0]), file))
		nr++;
	if (file)
		(void)fclose(file); /* only read from */
	for (size_t i = nr < LOG_LINES ? 0 : nr - LOG_LINES; i < nr; i++) {
		char *line = lines[i % LOG_LINES];

		line[strcspn(line, "\n")] = '\0';
		(void)fprintf(stderr, "  %s\n", line);
	}
}

static int make_module(struct build *build)
{
	char script[PATH_MAX];
	const char *const argv[] = { "sh", script, build->headers,
				     build->folder, NULL };
	int rc;

	if (!join(script, build->sources, "tools/build_modules"))
		return -ENAMETOOLONG;
	rc = run(build, argv);
	if (rc < 0)
		sonde_complain("modules build: %s: %s", build->log,
			       strerrordesc_np(-rc));
	if (rc > 0) {
		show_log(build->log);
		sonde_complain("modules build: it failed; all of what was "
			       "printed is in %s",
			       build->log);
	}
	return rc;
}

int modules_build(const struct modules_options *options)
{
	struct build build = { .options = options };

	if (!find_kernel(&build) || !find_headers(&build) || !find_tools() ||
	    !find_sources(&build) || !choose_folder(&build))
		return 1;
	if (make_module(&build))
		return 1;
	(void)printf("built %s/" MODULES_FILE " for kernel %s\n", build.folder,
		     build.kernel);
	return 0;
}
