/* SPDX-License-Identifier: MIT */
/*
 * formats.c - the formats of the kernel's events in others' files (formats.h).
 */
#include "import/formats.h"

#include <errno.h>
#include <stdio.h>

#include "source/names.h"

#define MAGIC       "\027\010\104tracing"
#define SYSTEMS_MAX 4096u
#define FORMATS_MAX 65536u

bool sonde_import_formats_is(const uint8_t first[8])
{
	return !memcmp(first, MAGIC, 8);
}

static bool formats_take_name(struct sonde_import_bytes *bytes,
			      const char *name)
{
	const uint8_t *at = sonde_import_bytes_take(bytes, strlen(name) + 1);

	return at && !memcmp(at, name, strlen(name) + 1);
}

static void formats_skip_system(struct sonde_import_bytes *bytes)
{
	uint32_t nr;

	(void)sonde_import_bytes_text(bytes); /* its name */
	nr = sonde_import_bytes_u32(bytes);
	for (uint32_t i = 0; i < nr && !bytes->failed; i++)
		(void)sonde_import_bytes_piece(bytes);
}

int sonde_import_formats_begin(struct sonde_import_bytes *bytes,
			       struct sonde_import_formats *ret_formats)
{
	const uint8_t *at = sonde_import_bytes_take(bytes, sizeof(MAGIC) - 1);
	const uint8_t *sizes;

	*ret_formats = (struct sonde_import_formats){ .version = "" };
	if (!at || memcmp(at, MAGIC, sizeof(MAGIC) - 1) != 0)
		return -EPROTO;
	ret_formats->version = sonde_import_bytes_text(bytes);
	sizes = sonde_import_bytes_take(bytes, 2);
	if (!sizes || sizes[0] > 1)
		return -EPROTO;
	if (sizes[0] != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__))
		return -ENOTSUP;
	ret_formats->long_size = sizes[1];
	ret_formats->page_size = sonde_import_bytes_u32(bytes);
	return bytes->failed ? -EPROTO : 0;
}

int sonde_import_formats_take_headers(struct sonde_import_bytes *bytes,
				      struct sonde_import_formats *formats)
{
	if (!formats_take_name(bytes, "header_page"))
		return -EPROTO;
	formats->header_page = sonde_import_bytes_piece(bytes);
	if (!formats_take_name(bytes, "header_event"))
		return -EPROTO;
	formats->header_event = sonde_import_bytes_piece(bytes);
	return bytes->failed ? -EPROTO : 0;
}

int sonde_import_formats_take_ftrace(struct sonde_import_bytes *bytes,
				     struct sonde_import_formats *formats)
{
	formats->nr_ftrace = sonde_import_bytes_u32(bytes);
	formats->ftrace = *bytes;
	for (uint32_t i = 0; i < formats->nr_ftrace && !bytes->failed; i++)
		(void)sonde_import_bytes_piece(bytes);
	return bytes->failed ? -EPROTO : 0;
}

int sonde_import_formats_take_systems(struct sonde_import_bytes *bytes,
				      struct sonde_import_formats *formats)
{
	formats->nr_systems = sonde_import_bytes_u32(bytes);
	formats->systems = *bytes;
	if (formats->nr_systems > SYSTEMS_MAX)
		return -EPROTO;
	for (uint32_t i = 0; i < formats->nr_systems && !bytes->failed; i++)
		formats_skip_system(bytes);
	return bytes->failed ? -EPROTO : 0;
}

int sonde_import_formats_open(struct sonde_import_bytes *bytes,
			      struct sonde_import_formats *formats)
{
	int rc = sonde_import_formats_take_headers(bytes, formats);

	if (!rc)
		rc = sonde_import_formats_take_ftrace(bytes, formats);
	return rc ? rc : sonde_import_formats_take_systems(bytes, formats);
}

struct formats_visit {
	int (*take)(void *ctx, const char *group,
		    const struct sonde_import_bytes *text);
	void *ctx;
	uint32_t nr_left;
};

/* `nr` of one group, taken off the front. */
static int formats_visit_group(struct formats_visit *visit, const char *group,
			       uint32_t nr, struct sonde_import_bytes *bytes)
{
	int rc = 0;

	for (uint32_t i = 0; !rc && i < nr && !bytes->failed; i++) {
		struct sonde_import_bytes text =
			sonde_import_bytes_piece(bytes);

		if (!visit->nr_left--)
			return -EPROTO;
		if (!bytes->failed)
			rc = visit->take(visit->ctx, group, &text);
	}
	return rc;
}

int sonde_import_formats_each(
	const struct sonde_import_formats *formats,
	int (*take)(void *ctx, const char *group,
		    const struct sonde_import_bytes *text),
	void *ctx)
{
	struct formats_visit visit = { take, ctx, FORMATS_MAX };
	struct sonde_import_bytes bytes = formats->ftrace;
	int rc = formats_visit_group(&visit, "ftrace", formats->nr_ftrace,
				     &bytes);

	bytes = formats->systems;
	for (uint32_t i = 0; !rc && i < formats->nr_systems && !bytes.failed;
	     i++) {
		const char *group = sonde_import_bytes_text(&bytes);
		uint32_t nr = sonde_import_bytes_u32(&bytes);

		rc = formats_visit_group(&visit, group, nr, &bytes);
	}
	return rc ? rc : bytes.failed ? -EPROTO : 0;
}

int sonde_import_format_parse(const struct sonde_import_bytes *text,
			      struct sonde_import_format *ret_format)
{
	return sonde_format_parse((const char *)text->at, text->left,
				  &ret_format->format);
}

/* ---- an event of ours ---- */

/* sys_enter_X and sys_exit_X are the calls' own events. */
static void formats_find_call(struct sonde_tracefs_plan_event *event,
			      char *shown, size_t size)
{
	const char *name = event->name;
	int number;

	if (strcmp(event->group, "syscalls") != 0)
		return;
	event->is_exit = !strncmp(name, "sys_exit_", 9);
	if (!event->is_exit && strncmp(name, "sys_enter_", 10) != 0)
		return;
	name += event->is_exit ? 9 : 10;
	number = sonde_syscall_number(SONDE_SYSCALL_NATIVE, name);
	if (number >= 0)
		event->call =
			sonde_syscall(SONDE_SYSCALL_NATIVE, (uint32_t)number);
	if (event->call)
		name = event->call->name;
	event->has_strings = true;
	(void)snprintf(shown, size, "syscall_%s_%s",
		       event->is_exit ? "exit" : "entry", name);
}

int sonde_import_format_plan(const char *group,
			     struct sonde_import_format *format)
{
	char shown[SONDE_FORMAT_NAME + 32];
	struct sonde_tracefs_plan_fields fields;
	struct sonde_tracefs_plan_event event = {
		.group = group,
		.name = format->format.name,
		.shown = shown,
		.is_probe = sonde_format_find(&format->format, "__probe_ip") ||
			    sonde_format_find(&format->format, "__probe_func"),
	};

	(void)snprintf(shown, sizeof(shown), "%s",
		       sonde_source_event_name(group, format->format.name));
	formats_find_call(&event, shown, sizeof(shown));
	return sonde_tracefs_plan_make(&event, &format->format, format->desc,
				       &format->plan, &fields);
}
