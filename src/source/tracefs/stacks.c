/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * stacks.c - see stacks.h. Numbers are given in the packet's order, once nothing
 * before waits: so what has a number is delivered at once, and no turn of the tables
 * (callstacks.h) comes between.
 */
#include "source/tracefs/stacks.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "source/sample/mapped_code.h"
#include "source/source.h"
#include "source/tracefs/format.h"
#include "sys/textfile.h"

/* In each of the kernel's records. */
#define KEY_OFFSET  2u
#define FLAG_HARD   0x08u
#define FLAG_SOFT   0x10u
#define FLAG_NMI    0x40u
#define FORMAT_ROOM 4096u

/* ---- what the kernel says of its records ---- */

static int stacks_read_format(int root, const char *name, const char *count,
			      struct sonde_format *ret_format,
			      const struct sonde_format_field **ret_count,
			      const struct sonde_format_field **ret_frames)
{
	char text[FORMAT_ROOM];
	char path[64];
	ssize_t n;

	(void)snprintf(path, sizeof(path), "events/ftrace/%s/format", name);
	n = sonde_textfile_read_at(root, path, text, sizeof(text));
	if (n < 0 || sonde_format_parse(text, (size_t)n, ret_format))
		return -EOPNOTSUPP;
	*ret_count = sonde_format_find(ret_format, count);
	*ret_frames = sonde_format_find(ret_format, "caller");
	if (!*ret_count || (*ret_count)->size != 4 || !*ret_frames ||
	    (*ret_frames)->kind != SONDE_FORMAT_ARRAY ||
	    (*ret_frames)->element != 8 || ret_format->id > UINT16_MAX)
		return -EOPNOTSUPP;
	return 0;
}

static int stacks_read_formats(struct sonde_tracefs_stacks *stacks, int root)
{
	const struct sonde_format_field *count;
	const struct sonde_format_field *frames;
	struct sonde_format format;
	int rc = stacks_read_format(root, "kernel_stack", "size", &format,
				    &count, &frames);

	if (rc)
		return rc;
	stacks->kernel_id = (uint16_t)format.id;
	stacks->nr_at = (uint16_t)count->offset;
	stacks->kernel_at = (uint16_t)frames->offset;
	rc = stacks_read_format(root, "user_stack", "tgid", &format, &count,
				&frames);
	if (rc)
		return rc;
	stacks->user_id = (uint16_t)format.id;
	stacks->tgid_at = (uint16_t)count->offset;
	stacks->user_at = (uint16_t)frames->offset;
	stacks->nr_user = (uint16_t)(frames->size / 8);
	return stacks->nr_user > SONDE_STACKS_DEPTH_MAX ? -EOPNOTSUPP : 0;
}

int sonde_tracefs_stacks_init(struct sonde_tracefs_stacks *stacks, int root,
			      const struct sonde_source_config *config)
{
	int rc;

	*stacks = (struct sonde_tracefs_stacks){
		.store = config->stacks,
		.code = config->code,
		.depth = config->stack_frames,
	};
	rc = stacks_read_formats(stacks, root);
	return rc ? rc : sonde_callstacks_own_find(&stacks->own);
}

void sonde_tracefs_stacks_fini(struct sonde_tracefs_stacks *stacks)
{
	if (stacks)
		sonde_callstacks_own_fini(&stacks->own);
}

/* ---- numbers ---- */

/* False: its number can't be given anew, for want of memory. */
static bool stacks_note_place(struct sonde_tracefs_waitings *waitings,
			      const struct sonde_tracefs_waiting *waiting)
{
	return !waitings->has_places ||
	       !sonde_callstacks_places_add(
		       &waitings->places,
		       (uint32_t)(waiting->head - waitings->since));
}

static void stacks_number(const struct sonde_tracefs_stacks *stacks,
			  struct sonde_tracefs_waitings *waitings,
			  struct sonde_tracefs_waiting *waiting)
{
	bool is_whole =
		waiting->is_call ? waiting->has_user : waiting->has_kernel;
	uint32_t number = 0;

	if (stacks_note_place(waitings, waiting) && is_whole) {
		if (!waiting->has_user && !waiting->has_ended)
			waiting->chain.end = SONDE_STACK_BROKEN;
		number = sonde_callstacks_store_keep(stacks->store,
						     &waiting->chain);
	} else {
		sonde_callstacks_store_lose(stacks->store);
	}
	memcpy(waiting->head, &number, 4);
}

/* Those that are done, up to the first that isn't. */
static void stacks_let_go(const struct sonde_tracefs_stacks *stacks,
			  struct sonde_tracefs_waitings *waitings)
{
	uint32_t nr = 0;

	while (nr < waitings->nr && waitings->waiting[nr].is_done)
		stacks_number(stacks, waitings, &waitings->waiting[nr++]);
	if (!nr)
		return;
	waitings->nr -= nr;
	memmove(&waitings->waiting[0], &waitings->waiting[nr],
		waitings->nr * sizeof(waitings->waiting[0]));
}

void sonde_tracefs_stacks_settle(const struct sonde_tracefs_stacks *stacks,
				 struct sonde_tracefs_waitings *waitings)
{
	for (uint32_t i = 0; i < waitings->nr; i++)
		waitings->waiting[i].is_done = true;
	stacks_let_go(stacks, waitings);
}

/* ---- the kernel's records ---- */

static uint8_t level_of(const struct sonde_page_record *record)
{
	uint8_t flags = record->data[KEY_OFFSET];

	if (flags & FLAG_NMI)
		return 3;
	if (flags & FLAG_HARD)
		return 2;
	return flags & FLAG_SOFT ? 1 : 0;
}

static uint32_t stacks_word(const struct sonde_page_record *record, uint16_t at)
{
	uint32_t number;

	memcpy(&number, record->data + at, sizeof(number));
	return number;
}

static void take_kernel(const struct sonde_tracefs_stacks *stacks,
			struct sonde_tracefs_waiting *waiting,
			const struct sonde_page_record *record)
{
	uint32_t nr;

	if (waiting->has_kernel || record->size < stacks->kernel_at ||
	    record->size < stacks->nr_at + 4u)
		return;
	nr = stacks_word(record, stacks->nr_at);
	if (nr > (record->size - stacks->kernel_at) / 8)
		return;
	waiting->has_kernel = true;
	if (!waiting->is_call)
		waiting->has_ended = !sonde_callstacks_add_kernel(
			&waiting->chain, &stacks->own,
			record->data + stacks->kernel_at, nr,
			waiting->is_probe);
}

static void take_user(const struct sonde_tracefs_stacks *stacks,
		      struct sonde_tracefs_waiting *waiting,
		      const struct sonde_page_record *record)
{
	uint64_t frames[SONDE_STACKS_DEPTH_MAX];
	struct sonde_perf_user user = {
		.at = waiting->time,
		.depth = stacks->depth,
	};
	uint32_t pid;
	uint32_t nr = 0;

	waiting->is_done = true;
	if (record->size < stacks->user_at + 8u * stacks->nr_user ||
	    record->size < stacks->tgid_at + 4u)
		return;
	waiting->has_user = true;
	pid = stacks_word(record, stacks->tgid_at);
	memcpy(waiting->head + 4, &pid, 4);
	memcpy(frames, record->data + stacks->user_at, 8u * stacks->nr_user);
	while (nr < stacks->nr_user && frames[nr])
		nr++;
	user.pid = (int32_t)pid;
	if (!waiting->has_ended)
		sonde_perf_code_believe(stacks->code, &user, frames, nr,
					stacks->nr_user, &waiting->chain);
}

/* The last of that level that isn't done; or NULL. */
static struct sonde_tracefs_waiting *
stacks_find(struct sonde_tracefs_waitings *waitings,
	    const struct sonde_page_record *record)
{
	for (uint32_t i = waitings->nr; i > 0; i--) {
		struct sonde_tracefs_waiting *waiting =
			&waitings->waiting[i - 1];

		if (!waiting->is_done && waiting->level == level_of(record))
			return memcmp(waiting->key, record->data + KEY_OFFSET,
				      sizeof(waiting->key)) ?
				       NULL :
				       waiting;
	}
	return NULL;
}

bool sonde_tracefs_stacks_see(const struct sonde_tracefs_stacks *stacks,
			      struct sonde_tracefs_waitings *waitings,
			      const struct sonde_page_record *record)
{
	struct sonde_tracefs_waiting *waiting;
	uint8_t level = level_of(record);
	bool is_stack;
	uint16_t type;

	memcpy(&type, record->data, sizeof(type));
	is_stack = type == stacks->kernel_id || type == stacks->user_id;
	for (uint32_t i = 0; i < waitings->nr; i++) {
		waiting = &waitings->waiting[i];
		waiting->is_done |= waiting->level > level ||
				    (waiting->level == level && !is_stack);
	}
	waiting = is_stack ? stacks_find(waitings, record) : NULL;
	if (waiting && type == stacks->kernel_id)
		take_kernel(stacks, waiting, record);
	else if (waiting)
		take_user(stacks, waiting, record);
	stacks_let_go(stacks, waitings);
	return is_stack;
}

void sonde_tracefs_stacks_wait(const struct sonde_tracefs_stacks *stacks,
			       struct sonde_tracefs_waitings *waitings,
			       const struct sonde_page_record *record,
			       const struct sonde_tracefs_waiting *waiting)
{
	struct sonde_tracefs_waiting *ours;

	if (waitings->nr == SONDE_TRACEFS_WAITING_MAX) {
		waitings->waiting[0].is_done = true;
		stacks_let_go(stacks, waitings);
	}
	ours = &waitings->waiting[waitings->nr++];
	*ours = *waiting;
	ours->level = level_of(record);
	memcpy(ours->key, record->data + KEY_OFFSET, sizeof(ours->key));
}
