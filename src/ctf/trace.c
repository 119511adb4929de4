/* SPDX-License-Identifier: MIT */
/*
 * trace.c - a trace directory and its metadata (trace.h).
 */
#include "ctf/trace.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/port.h"
#include "base/text.h"
#include "ctf/directory.h"
#include "ctf/language.h"
#include "ctf/names.h"
#include "ctf/os.h"
#include "ctf/packet.h"
#include "ctf/trace_state.h"
#include "types/desc.h"

#ifndef SONDE_VERSION
#define SONDE_VERSION "unknown"
#endif

#define FILE_SIZE_FIRST (16ull << 20)

static bool ctf_trace_is_identifier(const char *name)
{
	return name && sonde_text_is_name(name, strlen(name));
}

static bool config_valid(const struct sonde_ctf_config *config)
{
	const struct sonde_ctf_clock *clock = &config->clock;

	for (size_t i = 0; i < config->nr_env; i++) {
		if (!ctf_trace_is_identifier(config->env[i].name))
			return false;
	}
	return ctf_trace_is_identifier(clock->name) && clock->freq > 0 &&
	       clock->offset < clock->freq &&
	       config->version >= SONDE_CTF_1_8 &&
	       config->version <= SONDE_CTF_2 &&
	       config->domain >= SONDE_CTF_PROGRAMS &&
	       config->domain <= SONDE_CTF_KERNEL;
}

/* The part of a path after its last '/', those at its end not counted. */
static char *last_component(const char *path)
{
	size_t end = strlen(path);
	size_t start;

	while (end > 0 && path[end - 1] == '/')
		end--;
	start = end;
	while (start > 0 && path[start - 1] != '/')
		start--;
	return strndup(path + start, end - start);
}

/* Copy `count` entries to `to`; a copy is to be freed even on error. */
static int copy_env(struct sonde_ctf_env *to, const struct sonde_ctf_env *from,
		    size_t count)
{
	for (size_t i = 0; i < count; i++) {
		char *name = strdup(from[i].name);
		char *text = from[i].text ? strdup(from[i].text) : NULL;

		to[i] = (struct sonde_ctf_env){ .name = name,
						.text = text,
						.number = from[i].number };
		if (!name || (from[i].text && !text))
			return -ENOMEM;
	}
	return 0;
}

/*
 * Our environment, and the caller's after it. The domain and the tracer's name
 * and version are LTTng's: Trace Compass chooses its views by them, and
 * babeltrace2 applies no repairs to that version.
 */
static int ctf_trace_make_env(struct sonde_ctf_config *ours,
			      const struct sonde_ctf_config *config,
			      const char *dir)
{
	char *dir_name = last_component(dir);
	struct utsname system = { .sysname = "" };
	const char *hostname = config->hostname;
	const char *trace_name = config->trace_name;
	struct sonde_ctf_env *env;
	int error;

	if (config->system)
		system = *config->system;
	else if (uname(&system) == 0 && !hostname)
		hostname = system.nodename;
	if (!trace_name)
		trace_name = dir_name;

	bool is_kernel = config->domain == SONDE_CTF_KERNEL;
	const struct sonde_ctf_env fixed[] = {
		{ .name = "hostname", .text = hostname ? hostname : "" },
		{ .name = "domain", .text = is_kernel ? "kernel" : "ust" },
		{ .name = "tracer_name",
		  .text = is_kernel ? "lttng-modules" : "lttng-ust" },
		{ .name = "tracer_major", .number = 2 },
		{ .name = "tracer_minor", .number = 13 },
		{ .name = "tracer2_name", .text = "sonde" },
		{ .name = "tracer2_version", .text = SONDE_VERSION },
		{ .name = "trace_name", .text = trace_name ? trace_name : "" },
		{ .name = "architecture_bit_width",
		  .number = 8 * sizeof(void *) },
		{ .name = "sysname", .text = system.sysname },
		{ .name = "kernel_release", .text = system.release },
		{ .name = "kernel_version", .text = system.version },
		{ .name = "machine", .text = system.machine },
	};

	env = calloc(SONDE_ARRAY_SIZE(fixed) + config->nr_env, sizeof(*env));
	if (!env || !dir_name) {
		free(env);
		free(dir_name);
		return -ENOMEM;
	}
	ours->env = env;
	ours->nr_env = SONDE_ARRAY_SIZE(fixed) + config->nr_env;
	error = copy_env(env, fixed, SONDE_ARRAY_SIZE(fixed));
	if (!error)
		error = copy_env(env + SONDE_ARRAY_SIZE(fixed), config->env,
				 config->nr_env);
	free(dir_name);
	return error;
}

static int make_uuid(uint8_t uuid[16])
{
	static const uint8_t none[16];

	if (memcmp(uuid, none, sizeof(none)) != 0)
		return 0;
	if (getrandom(uuid, 16, 0) != 16)
		return -EIO;
	uuid[6] = (uint8_t)((uuid[6] & 0x0f) | 0x40);
	uuid[8] = (uint8_t)((uuid[8] & 0x3f) | 0x80);
	return 0;
}

static int copy_config(struct sonde_ctf_config *ours,
		       const struct sonde_ctf_config *config, const char *dir)
{
	const char *description = config->clock.description;

	*ours = *config;
	ours->env = NULL;
	ours->nr_env = 0;
	ours->hostname = NULL; /* in env, as all below */
	ours->system = NULL;
	ours->trace_name = NULL;
	ours->clock.name = strdup(config->clock.name);
	ours->clock.description = strdup(description ? description : "");
	if (!ours->clock.name || !ours->clock.description)
		return -ENOMEM;
	if (ours->packet_max == 0)
		ours->packet_max = SONDE_SUBBUF_MAX;
	if (ours->file_size == 0)
		ours->file_size = FILE_SIZE_FIRST;
	/* A file takes a packet, with the opening packet and its own head. */
	if (ours->file_size < ours->packet_max + SONDE_CTF_PAGE)
		ours->file_size = ours->packet_max + SONDE_CTF_PAGE;
	return ctf_trace_make_env(ours, config, dir);
}

/* What we copied for ourselves is const only to others. */
static void free_copy(const void *copy)
{
	union {
		const void *copy;
		void *ours;
	} pointer = { .copy = copy };

	free(pointer.ours);
}

static void free_config(struct sonde_ctf_config *config)
{
	for (size_t i = 0; i < config->nr_env; i++) {
		free_copy(config->env[i].name);
		free_copy(config->env[i].text);
	}
	free_copy(config->env);
	free_copy(config->clock.name);
	free_copy(config->clock.description);
}

static void free_trace(struct sonde_ctf_trace *trace)
{
	sonde_ctf_metadata_fini(&trace->metadata);
	free_config(&trace->config);
	if (trace->dir >= 0)
		(void)close(trace->dir);
	if (trace->index_dir >= 0)
		(void)close(trace->index_dir);
	free(trace->classes);
	free(trace);
}

static int write_preamble(struct sonde_ctf_trace *trace)
{
	struct sonde_ctf_text *preamble = &trace->metadata.preamble;
	int error;

	sonde_ctf_text_cut(preamble, 0);
	error = sonde_ctf_say_trace(&trace->config, preamble);
	return error ? error : sonde_ctf_metadata_rewrite(&trace->metadata);
}

/* Make what is in the directory; on error leave nothing behind. */
static int populate(struct sonde_ctf_trace *trace, int dir)
{
	int error;

	trace->dir = fcntl(dir, F_DUPFD_CLOEXEC, 0);
	if (trace->dir < 0)
		return -errno;
	/* Until it is closed, as whoever reads it may want to know that more
	 * comes; where there are no locks, nobody can. */
	(void)flock(trace->dir, LOCK_EX | LOCK_NB);
	trace->metadata.dir = trace->dir;
	trace->index_dir = sonde_ctf_mkdir(trace->dir, SONDE_CTF_INDEX_DIR);
	if (trace->index_dir < 0)
		return trace->index_dir;
	error = write_preamble(trace);
	if (error)
		(void)unlinkat(trace->dir, SONDE_CTF_INDEX_DIR, AT_REMOVEDIR);
	return error;
}

int sonde_ctf_trace_create_at(int dir, const char *name,
			      const struct sonde_ctf_config *config,
			      struct sonde_ctf_trace **ret_trace)
{
	struct sonde_ctf_trace *trace;
	int error;

	if (!config_valid(config))
		return -EINVAL;
	trace = calloc(1, sizeof(*trace));
	if (!trace)
		return -ENOMEM;
	trace->dir = -1;
	trace->index_dir = -1;
	trace->metadata.fd = -1;
	error = copy_config(&trace->config, config, name);
	if (!error)
		error = make_uuid(trace->config.uuid);
	if (!error) {
		memcpy(trace->uuid, trace->config.uuid, sizeof(trace->uuid));
		error = populate(trace, dir);
	}
	if (error)
		free_trace(trace);
	else
		*ret_trace = trace;
	return error;
}

int sonde_ctf_trace_create(const char *dir,
			   const struct sonde_ctf_config *config,
			   struct sonde_ctf_trace **ret_trace)
{
	struct sonde_directory place = SONDE_DIRECTORY_NONE;
	struct sonde_directory_error words;
	int error = config_valid(config) ? 0 : -EINVAL;

	if (!error)
		error = sonde_directory_make(dir, &place, &words);
	if (!error)
		error = sonde_ctf_trace_create_at(place.dir, dir, config,
						  ret_trace);
	if (error)
		sonde_directory_give_up(&place); /* we left nothing in it */
	else
		sonde_directory_close(&place);
	return error;
}

int sonde_ctf_trace_add_class(struct sonde_ctf_trace *trace, uint32_t class_id,
			      enum sonde_header_kind kind, const char *comment)
{
	struct sonde_ctf_text *body = &trace->metadata.body;
	struct sonde_ctf_class cls = { .id = class_id, .kind = kind };
	size_t size = body->size;
	struct sonde_ctf_class *classes;
	int error;

	if (sonde_ctf_trace_class(trace, class_id))
		return -EEXIST;
	classes = reallocarray(trace->classes, trace->nr_classes + 1,
			       sizeof(*classes));
	if (!classes)
		return -ENOMEM;
	trace->classes = classes;
	error = sonde_ctf_say_class(&trace->config, &cls, comment, body);
	if (error) {
		sonde_ctf_text_cut(body, size);
		return error;
	}
	classes[trace->nr_classes++] = cls;
	return 0;
}

void sonde_ctf_trace_give_stacks(struct sonde_ctf_trace *trace,
				 uint32_t class_id, uint32_t contexts)
{
	for (uint32_t i = 0; i < trace->nr_classes; i++)
		if (trace->classes[i].id == class_id) {
			trace->classes[i].has.stacks = true;
			trace->classes[i].has.contexts = contexts;
		}
}

int sonde_ctf_trace_add_event(struct sonde_ctf_trace *trace, uint32_t class_id,
			      uint32_t id, const struct sonde_desc *desc)
{
	const struct sonde_ctf_class *cls =
		sonde_ctf_trace_class(trace, class_id);
	struct sonde_ctf_text *body = &trace->metadata.body;
	size_t size = body->size;
	int error;

	if (!cls)
		return -ENOENT;
	if (id == SONDE_CONTEXT_ID || sonde_desc_is_reference(desc))
		return -EINVAL;
	error = sonde_ctf_say_event(&trace->config, cls, id, desc, body);
	if (error)
		sonde_ctf_text_cut(body, size);
	return error;
}

int sonde_ctf_trace_sync(struct sonde_ctf_trace *trace)
{
	return sonde_ctf_metadata_sync(&trace->metadata);
}

int sonde_ctf_trace_set_clock(struct sonde_ctf_trace *trace, uint64_t freq,
			      int64_t offset_s, uint64_t offset)
{
	struct sonde_ctf_clock *clock = &trace->config.clock;

	if (freq == 0 || offset >= freq)
		return -EINVAL;
	clock->freq = freq;
	clock->offset_s = offset_s;
	clock->offset = offset;
	return write_preamble(trace);
}

int sonde_ctf_trace_set_number(struct sonde_ctf_trace *trace, const char *name,
			       int64_t number)
{
	/* Ours, and const only to others. */
	union {
		const struct sonde_ctf_env *env;
		struct sonde_ctf_env *ours;
	} entries = { .env = trace->config.env };

	for (size_t i = 0; i < trace->config.nr_env; i++) {
		struct sonde_ctf_env *entry = &entries.ours[i];

		if (strcmp(entry->name, name) != 0 || entry->text)
			continue;
		entry->number = number;
		return write_preamble(trace);
	}
	return -ENOENT;
}

/* What readers take for a stream file. */
static int is_stream_file(const struct dirent *entry)
{
	return entry->d_type != DT_DIR && sonde_ctf_name_valid(entry->d_name);
}

static uint64_t count_files(int dir)
{
	struct dirent **entries = NULL;
	int nr = scandirat(dir, ".", &entries, is_stream_file, NULL);

	for (int i = 0; i < nr; i++)
		free(entries[i]);
	free(entries);
	return nr > 0 ? (uint64_t)nr : 0;
}

int sonde_ctf_trace_heal(struct sonde_ctf_trace *trace,
			 struct sonde_ctf_harm *ret_harm)
{
	int error = sonde_ctf_metadata_heal(&trace->metadata);
	uint64_t nr = count_files(trace->dir);

	*ret_harm = (struct sonde_ctf_harm){
		.metadata = trace->metadata.was_harmed,
		.nr_files = nr < trace->nr_files ? trace->nr_files - nr : 0,
	};
	return error;
}

int sonde_ctf_trace_close(struct sonde_ctf_trace *trace)
{
	int error;

	if (!trace)
		return 0;
	error = sonde_ctf_metadata_sync(&trace->metadata);
	while (trace->streams) {
		int stream_error = sonde_ctf_stream_close_as_is(trace->streams);

		error = error ? error : stream_error;
	}
	free_trace(trace);
	return error;
}
