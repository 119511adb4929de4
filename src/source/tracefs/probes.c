/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * probes.c - probes by lines in tracefs' kprobe_events and uprobe_events
 * (probes.h).
 *
 * Our lines are in a group that has our number in its name, and only those are
 * ever removed. Probes are off when they are.
 */
#include "source/tracefs/probes.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/number.h"
#include "source/selected.h"
#include "source/tracefs/instance.h"
#include "source/tracefs/symbol.h"

/* Bytes of a function's name; C++ has long ones. */
#define SYMBOL_MAX 4096u

/* Calls in progress that tracefs lets a kretprobe have room for. */
#define RETURNS_MAX 4096u

/* ---- names ---- */

static const char *provider_of(enum sonde_source_rule_kind kind)
{
	switch (kind) {
	case SONDE_RULE_KPROBE:
		return "kprobe";
	case SONDE_RULE_KRETPROBE:
		return "kretprobe";
	case SONDE_RULE_UPROBE:
		return "uprobe";
	case SONDE_RULE_URETPROBE:
		return "uretprobe";
	case SONDE_RULE_EVENT:
	default:
		return NULL;
	}
}

static bool is_return(const struct sonde_source_rule *rule)
{
	return rule->kind == SONDE_RULE_KRETPROBE ||
	       rule->kind == SONDE_RULE_URETPROBE;
}

/* "FILE:SYMBOL" -> "SYMBOL", "DIR/FILE:0x10" -> "FILE:0x10". */
static const char *short_place(const struct sonde_probe *probe)
{
	const char *name = probe->rule->name;
	const char *colon = probe->is_user ? strrchr(name, ':') : NULL;
	const char *slash = strrchr(name, '/');

	if (!colon)
		return name;
	if (strncmp(colon, ":0x", 3) != 0)
		return colon + 1;
	return slash && slash < colon ? slash + 1 : name;
}

void sonde_tracefs_probes_list(const struct sonde_source_config *config,
			       pid_t owner,
			       struct sonde_tracefs_probes *ret_probes)
{
	struct sonde_source_rules *rules = config->rules;

	ret_probes->config = config;
	ret_probes->nr = 0;
	ret_probes->returns = sonde_source_returns(config, RETURNS_MAX);
	(void)snprintf(ret_probes->group, sizeof(ret_probes->group), "sonde_%d",
		       (int)owner);
	for (uint32_t i = 0; i < rules->nr; i++) {
		struct sonde_source_rule *rule = &rules->rules[i];
		struct sonde_probe *probe = &ret_probes->probes[ret_probes->nr];
		char number[16];
		char place[49];

		if (!provider_of(rule->kind) || rule->is_exclusion)
			continue;
		probe->rule = rule;
		probe->provider = provider_of(rule->kind);
		probe->is_user = rule->kind == SONDE_RULE_UPROBE ||
				 rule->kind == SONDE_RULE_URETPROBE;
		/* The kernel takes 63 characters, and no name twice. */
		(void)snprintf(number, sizeof(number), "p%u", ret_probes->nr);
		(void)snprintf(place, sizeof(place), "%.48s",
			       short_place(probe));
		sonde_source_probe_name(number, place, probe->name,
					sizeof(probe->name));
		sonde_source_probe_name(probe->provider, short_place(probe),
					probe->shown, sizeof(probe->shown));
		rule->has_matched = true;
		ret_probes->nr++;
	}
}

/* ---- places ---- */

/* To be unmapped. */
static int tracefs_probes_map_file(const char *path, void **ret_bytes,
				   size_t *ret_size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st = { .st_size = 0 };
	void *bytes;
	int rc = 0;

	if (fd < 0 || fstat(fd, &st))
		rc = -errno;
	else if (!S_ISREG(st.st_mode) || !st.st_size)
		rc = -ENOEXEC;
	if (!rc) {
		bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE,
			     fd, 0);
		if (bytes == MAP_FAILED)
			rc = -errno;
		*ret_bytes = bytes;
		*ret_size = (size_t)st.st_size;
	}
	if (fd >= 0)
		close(fd);
	return rc;
}

/* The place of "SYMBOL[+OFFSET]" in a file. */
static int tracefs_probes_find_place(const char *path, const char *where,
				     uint64_t *ret_offset)
{
	size_t length = strcspn(where, "+");
	char symbol[SYMBOL_MAX];
	void *bytes;
	size_t size;
	uint64_t offset;
	uint64_t more;
	int rc;

	if (length >= sizeof(symbol))
		return -ENOENT;
	memcpy(symbol, where, length);
	symbol[length] = '\0';
	rc = tracefs_probes_map_file(path, &bytes, &size);
	if (rc)
		return rc;
	rc = sonde_symbol_offset(bytes, size, symbol, &offset);
	munmap(bytes, size);
	if (rc)
		return rc;
	where += length;
	if (*where++ && sonde_number_take_prefixed(&where, UINT64_MAX, &more))
		offset += more;
	*ret_offset = offset;
	return 0;
}

/* "FILE:SYMBOL" -> "/real/path:0x1234". */
static int user_place(const struct sonde_probe *probe, char *out, size_t size,
		      struct sonde_source_error *error)
{
	const char *name = probe->rule->name;
	const char *colon = strrchr(name, ':');
	char path[PATH_MAX];
	char real[PATH_MAX];
	uint64_t offset;
	int rc;

	if (!colon || colon == name || (size_t)(colon - name) >= sizeof(path))
		return sonde_source_fail(error, -EINVAL,
					 "%s: want FILE:SYMBOL or "
					 "FILE:0xOFFSET",
					 probe->rule->text);
	memcpy(path, name, (size_t)(colon - name));
	path[colon - name] = '\0';
	if (!realpath(path, real))
		return sonde_source_fail(error, -EINVAL, "%s: %s: %s",
					 probe->rule->text, path,
					 strerrordesc_np(errno));
	if (strpbrk(real, " \t\n:"))
		return sonde_source_fail(error, -EINVAL,
					 "%s: the kernel takes no path with "
					 "blanks or colons",
					 probe->rule->text);
	if (!strncmp(colon + 1, "0x", 2)) {
		offset = 0;
		colon += 3;
		(void)sonde_number_take(&colon, 16, UINT64_MAX, &offset);
	} else {
		rc = tracefs_probes_find_place(real, colon + 1, &offset);
		if (rc == -ENOENT)
			return sonde_source_fail(
				error, -EINVAL,
				"%s: %s has no symbol for that function; see "
				"nm, or nm -D; or give 0xOFFSET",
				probe->rule->text, real);
		if (rc)
			return sonde_source_fail(error, -EINVAL, "%s: %s: %s",
						 probe->rule->text, real,
						 strerrordesc_np(-rc));
	}
	(void)snprintf(out, size, "%s:0x%" PRIx64, real, offset);
	return 0;
}

/* ---- lines ---- */

static const char *tracefs_probes_file_of(const struct sonde_probe *probe)
{
	return probe->is_user ? "uprobe_events" : "kprobe_events";
}

/* As `sonde doctor` says it. */
static int not_permitted(int rc, const struct sonde_tracefs_probes *probes,
			 const struct sonde_probe *probe,
			 struct sonde_source_error *error)
{
	char why[SONDE_SOURCE_WHY];

	if (sonde_source_explain(probes->config,
				 probe->is_user ? "uprobes" : "kprobes", why))
		return sonde_source_fail(error, rc, "%.100s: %s",
					 probe->rule->text, why);
	return sonde_source_fail(error, rc, "%s: %s: %s", probe->rule->text,
				 tracefs_probes_file_of(probe),
				 strerrordesc_np(-rc));
}

static int add_line(int root, const struct sonde_tracefs_probes *probes,
		    const struct sonde_probe *probe, const char *place,
		    struct sonde_source_error *error)
{
	bool is_kretprobe = probe->rule->kind == SONDE_RULE_KRETPROBE;
	char line[PATH_MAX + 256];
	char returns[16] = "";
	int rc;

	if (is_kretprobe)
		(void)snprintf(returns, sizeof(returns), "%u", probes->returns);
	(void)snprintf(line, sizeof(line), "%c%s:%s/%s %s%s\n",
		       is_return(probe->rule) ? 'r' : 'p', returns,
		       probes->group, probe->name, place,
		       is_return(probe->rule) ? " ret=$retval:s64" : "");
	rc = sonde_tracefs_write(root, tracefs_probes_file_of(probe), line);
	if (rc == -ENOENT &&
	    faccessat(root, tracefs_probes_file_of(probe), F_OK, 0))
		return sonde_source_fail(
			error, -EINVAL,
			"%s: this kernel has no %ss (CONFIG_%s_EVENTS is off)",
			probe->rule->text, probe->is_user ? "uprobe" : "kprobe",
			probe->is_user ? "UPROBE" : "KPROBE");
	if (rc == -EPERM || rc == -EACCES)
		return not_permitted(rc, probes, probe, error);
	if (rc == -EILSEQ && !probe->is_user)
		return sonde_source_no_instruction(error, probe->rule->text);
	if (rc)
		return sonde_source_fail(
			error, -EINVAL, "%s: the kernel refuses it: %s%s",
			probe->rule->text, strerrordesc_np(-rc),
			probe->is_user ? "" :
					 " (see available_filter_functions in "
					 "tracefs for what can be probed)");
	return 0;
}

static void remove_first(int root, const struct sonde_tracefs_probes *probes,
			 uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++) {
		char line[128];

		(void)snprintf(line, sizeof(line), "-:%s/%s\n", probes->group,
			       probes->probes[i].name);
		/* If it can't be removed now, the next sonde will find it by
		 * its group's name. */
		(void)sonde_tracefs_write(
			root, tracefs_probes_file_of(&probes->probes[i]), line);
	}
}

int sonde_tracefs_probes_make(int root,
			      const struct sonde_tracefs_probes *probes,
			      struct sonde_source_error *error)
{
	for (uint32_t i = 0; i < probes->nr; i++) {
		const struct sonde_probe *probe = &probes->probes[i];
		char place[PATH_MAX + 32];
		int rc = 0;

		if (probe->is_user)
			rc = user_place(probe, place, sizeof(place), error);
		else
			(void)snprintf(place, sizeof(place), "%s",
				       probe->rule->name);
		if (!rc)
			rc = add_line(root, probes, probe, place, error);
		if (rc) {
			remove_first(root, probes, i);
			return rc;
		}
	}
	return 0;
}

void sonde_tracefs_probes_remove(int root,
				 const struct sonde_tracefs_probes *probes)
{
	remove_first(root, probes, probes->nr);
}
