/* SPDX-License-Identifier: MIT */
/*
 * plugins.c - loading plug-ins (plugins.h). They stay loaded: descriptions are used
 * until the process ends.
 *
 * A plug-in is taken whole or not at all: all that it describes is looked at before
 * anything is added.
 */
#include "cmd/plugins.h"

#include <ctype.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analysis/analysis.h"
#include "analysis/plugin/machine.h"
#include "analysis/plugin/reports.h"
#include "base/grow.h"
#include "base/text.h"
#include "sys/userdir.h"

#define FOLDER      "/sonde/plugins"
#define PLUGINS_MAX 64u
#define LIST_MAX    256u /* of what one describes */

/* What there is of all, and what tells them from others. */
static const struct sonde_plugin_rows **all_rows;
static size_t nr_all_rows;
static size_t all_rows_room;
static void *handles[PLUGINS_MAX];
static size_t nr_handles;
static char plugins_are[PLUGINS_MAX * 64];

struct plugin_words {
	char text[PATH_MAX + 256];
};

#define refuse_plugin(words, ...) sonde_text_fail(words, -EINVAL, __VA_ARGS__)

/* ---- what is described ---- */

static bool is_plugin_name(const char *name)
{
	size_t length = name ? strlen(name) : 0;

	for (size_t i = 0; i < length; i++)
		if (!isalnum((unsigned char)name[i]) && name[i] != '-' &&
		    name[i] != '_')
			return false;
	return length > 0 && length <= 32;
}

/* What all descriptions have. */
static int check_described(const char *file, size_t size, size_t ours,
			   const char *name, const char *summary,
			   struct plugin_words *words)
{
	if (size != ours)
		return refuse_plugin(words,
				     "%.200s was compiled with another "
				     "<sonde/plugin.h> than this sonde (a "
				     "description of %zu bytes, not %zu): "
				     "compile it anew",
				     file, size, ours);
	if (!is_plugin_name(name) || !summary)
		return refuse_plugin(words,
				     "%.200s: a name is up to 32 letters, "
				     "digits, '-' and '_', and there is a "
				     "summary",
				     file);
	if (sonde_analysis_find(name))
		return refuse_plugin(words,
				     "%.200s: a report is called '%.40s' "
				     "already",
				     file, name);
	return 0;
}

static int check_machine(const char *file,
			 const struct sonde_plugin_machine *machine,
			 struct plugin_words *words)
{
	int err = check_described(file, machine->size, sizeof(*machine),
				  machine->name, machine->summary, words);

	if (!err && (!machine->nr_states || !machine->nr_steps ||
		     machine->nr_states > SONDE_PLUGIN_STATES ||
		     machine->nr_steps > SONDE_PLUGIN_STEPS))
		err = refuse_plugin(words,
				    "%.200s: the machine '%.40s' has 1 to %d "
				    "states and 1 to %u steps",
				    file, machine->name, SONDE_PLUGIN_STATES,
				    SONDE_PLUGIN_STEPS);
	for (size_t i = 0; !err && i < machine->nr_states; i++)
		if (!machine->states[i].name)
			err = refuse_plugin(words,
					    "%.200s: a state of '%.40s' has no "
					    "name",
					    file, machine->name);
	for (size_t i = 0; !err && i < machine->nr_steps; i++)
		if (!machine->steps[i].when)
			err = refuse_plugin(words,
					    "%.200s: a step of '%.40s' has no "
					    "'when'",
					    file, machine->name);
	return err;
}

static int check_reports(const char *file, const struct sonde_plugin *plugin,
			 struct plugin_words *words)
{
	const struct sonde_plugin_report *report;
	int err = 0;

	for (size_t i = 0;
	     !err && plugin->reports && (report = plugin->reports[i]); i++) {
		err = check_described(file, report->size, sizeof(*report),
				      report->name, report->summary, words);
		if (!err && (!report->begin || !report->end))
			err = refuse_plugin(words,
					    "%.200s: the report '%.40s' has a "
					    "begin and an end",
					    file, report->name);
	}
	return err;
}

static int check_rows(const char *file, const struct sonde_plugin *plugin,
		      struct plugin_words *words)
{
	const struct sonde_plugin_rows *rows;
	int err = 0;

	for (size_t i = 0; !err && plugin->rows && (rows = plugin->rows[i]);
	     i++) {
		err = check_described(file, rows->size, sizeof(*rows),
				      rows->name, rows->summary, words);
		if (!err && !rows->begin)
			err = refuse_plugin(words,
					    "%.200s: the rows '%.40s' have a "
					    "begin",
					    file, rows->name);
	}
	for (size_t i = 0; !err && plugin->machines && plugin->machines[i]; i++)
		err = check_machine(file, plugin->machines[i], words);
	return err;
}

static int check_plugin(const char *file, const struct sonde_plugin *plugin,
			struct plugin_words *words)
{
	int err = 0;

	if (plugin->abi != SONDE_PLUGIN_ABI)
		return refuse_plugin(words,
				     "%.200s is for version %u of "
				     "<sonde/plugin.h>, this sonde has %u: "
				     "compile it with this one's",
				     file, plugin->abi, SONDE_PLUGIN_ABI);
	if (plugin->size != sizeof(*plugin))
		return refuse_plugin(words,
				     "%.200s was compiled with another "
				     "<sonde/plugin.h> than this sonde: "
				     "compile it anew",
				     file);
	err = check_reports(file, plugin, words);
	return err ? err : check_rows(file, plugin, words);
}

/* ---- what it adds ---- */

static int add_plugin_analysis(const struct sonde_analysis *wanted,
			       const char *file)
{
	struct sonde_analysis *analysis = malloc(sizeof(*analysis));
	int err;

	if (!analysis)
		return -ENOMEM;
	*analysis = *wanted;
	analysis->needs = "";
	analysis->origin = file;
	err = sonde_analysis_add(analysis);
	if (err)
		free(analysis);
	return err;
}

/* Kept as long as the process: what refers to them does. */
static int add_plugin_rows(const struct sonde_plugin_rows *rows,
			   const char *file)
{
	/* of pointers NOLINTNEXTLINE(bugprone-sizeof-expression) */
	const struct sonde_plugin_rows **list = calloc(2, sizeof(*list));

	if (!list || SONDE_GROW(all_rows, nr_all_rows, all_rows_room)) {
		free(list);
		return -ENOMEM;
	}
	list[0] = rows;
	all_rows[nr_all_rows++] = rows;
	return add_plugin_analysis(
		&(struct sonde_analysis){
			.name = rows->name,
			.summary = rows->summary,
			.run = sonde_plugin_sums_run,
			.rows = list,
		},
		file);
}

static int add_machine(const struct sonde_plugin_machine *machine,
		       const char *file)
{
	struct sonde_plugin_rows *rows = malloc(sizeof(*rows));

	if (!rows)
		return -ENOMEM;
	*rows = sonde_plugin_machine_rows(machine);
	return add_plugin_rows(rows, file);
}

static int add_plugin(const struct sonde_plugin *plugin, const char *file)
{
	int err = 0;

	for (size_t i = 0; !err && plugin->reports && plugin->reports[i]; i++)
		err = add_plugin_analysis(
			&(struct sonde_analysis){
				.name = plugin->reports[i]->name,
				.summary = plugin->reports[i]->summary,
				.run = sonde_plugin_report_run,
				.plugin = plugin->reports[i],
			},
			file);
	for (size_t i = 0; !err && plugin->rows && plugin->rows[i]; i++)
		err = add_plugin_rows(plugin->rows[i], file);
	for (size_t i = 0; !err && plugin->machines && plugin->machines[i]; i++)
		err = add_machine(plugin->machines[i], file);
	return err;
}

/* ---- files ---- */

static bool is_only_ours(const struct stat *about)
{
	return (about->st_uid == 0 || about->st_uid == geteuid()) &&
	       !(about->st_mode & (S_IWGRP | S_IWOTH));
}

/* For the index that is kept of a trace: another file, or a changed one, makes other
 * rows. */
static void note_plugin(const struct stat *about)
{
	size_t used = strlen(plugins_are);

	(void)snprintf(plugins_are + used, sizeof(plugins_are) - used,
		       "%llx %llx %llx.%lx\n",
		       (unsigned long long)about->st_ino,
		       (unsigned long long)about->st_size,
		       (unsigned long long)about->st_mtim.tv_sec,
		       (unsigned long)about->st_mtim.tv_nsec);
}

static int open_plugin(const char *file, const char *path,
		       struct plugin_words *words, void **ret_handle)
{
	const char *why;

	*ret_handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (*ret_handle)
		return 0;
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): there is one thread */
	why = dlerror();
	return refuse_plugin(words, "%s%.300s%s", strstr(why, path) ? "" : file,
			     why,
			     strstr(why, "undefined symbol: sonde_") ?
				     ": it is for another version of sonde" :
				     "");
}

static bool is_plugin_loaded(const void *handle)
{
	for (size_t i = 0; i < nr_handles; i++)
		if (handles[i] == handle)
			return true;
	return false;
}

static int take_plugin(const char *file, const char *path,
		       struct plugin_words *words)
{
	const struct sonde_plugin *plugin;
	void *handle;
	int err = open_plugin(file, path, words, &handle);

	if (err)
		return err;
	if (is_plugin_loaded(handle)) {
		(void)dlclose(handle);
		return 0;
	}
	plugin = dlsym(handle, "sonde_plugin");
	err = plugin ? check_plugin(file, plugin, words) :
		       refuse_plugin(words,
				     "%.200s is no plug-in: it has no "
				     "'sonde_plugin'",
				     file);
	if (!err)
		err = add_plugin(plugin, path);
	if (err == -EINVAL) {
		(void)dlclose(handle);
		return err;
	}
	handles[nr_handles++] = handle;
	return err;
}

/* -EINVAL, said why; -ENOMEM. */
static int load_plugin(const char *file, struct plugin_words *words)
{
	char *path = realpath(file, NULL); /* stays: it is the origin */
	struct stat about;
	int err;

	if (!path || stat(path, &about)) {
		err = refuse_plugin(words, "%.200s: %s", file,
				    strerrordesc_np(errno));
	} else if (!S_ISREG(about.st_mode) || !is_only_ours(&about)) {
		err = refuse_plugin(words,
				    "%.200s: a plug-in is a file that nobody "
				    "but root or you can change",
				    file);
	} else if (nr_handles == PLUGINS_MAX) {
		err = refuse_plugin(words, "%.200s: more than %u plug-ins",
				    file, PLUGINS_MAX);
	} else {
		err = take_plugin(file, path, words);
		if (!err)
			note_plugin(&about);
	}
	if (err)
		free(path);
	return err;
}

/* ---- folders ---- */

static int is_shared_object(const struct dirent *entry)
{
	size_t length = strlen(entry->d_name);

	return length > 3 && !strcmp(entry->d_name + length - 3, ".so");
}

/* In the order of names. `command` NULL: nothing is said. */
static void load_folder(const struct sonde_command *command, const char *folder)
{
	struct dirent **entries;
	struct stat about;
	int nr;

	if (stat(folder, &about))
		return;
	if (!is_only_ours(&about)) {
		if (command)
			sonde_complain(
				"%s: no plug-ins of %.200s: others than root or "
				"you can change that folder",
				command->name, folder);
		return;
	}
	nr = scandir(folder, &entries, is_shared_object, alphasort);
	for (int i = 0; i < nr; i++) {
		struct plugin_words words = { .text = "out of memory" };
		char path[PATH_MAX];
		int length = snprintf(path, sizeof(path), "%s/%s", folder,
				      entries[i]->d_name);

		free(entries[i]);
		if (length >= 0 && length < (int)sizeof(path) &&
		    load_plugin(path, &words) && command)
			sonde_complain("%s: without a plug-in: %s",
				       command->name, words.text);
	}
	if (nr >= 0)
		free(entries);
}

static void load_folders(const struct sonde_command *command)
{
	char folder[PATH_MAX];

	load_folder(command, SONDE_LIBDIR FOLDER);
	/* there is no variable for it: one that no environment has */
	if (!sonde_userdir_path("", "/.local/lib", "/plugins", folder))
		load_folder(command, folder);
}

int sonde_command_plugins(const struct sonde_command *command,
			  const struct sonde_option_values *files)
{
	if (files->full) {
		sonde_complain("%s: --plugin: at most %d; a folder of sonde's "
			       "plug-ins may have up to %u",
			       command->name, SONDE_OPTION_VALUES, PLUGINS_MAX);
		return SONDE_EXIT_USAGE;
	}
	for (size_t i = 0; i < files->nr; i++) {
		struct plugin_words words = { .text = "out of memory" };

		if (!load_plugin(files->list[i], &words))
			continue;
		sonde_complain("%s: --plugin: %s", command->name, words.text);
		return SONDE_EXIT_USAGE;
	}
	load_folders(command);
	return 0;
}

void sonde_command_plugins_quietly(void)
{
	load_folders(NULL);
}

void sonde_command_plugin_rows(struct sonde_view_rules *rules)
{
	rules->plugins = all_rows;
	rules->nr_plugins = nr_all_rows;
	rules->plugins_are = plugins_are;
}
