/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * convert.c - records of the kernel's ring buffer into ours (convert.h).
 *
 * A record is taken whole or not at all; if there is no room the page is gone
 * on with later. The table by event id says what to do, so a record costs one
 * look and its plan.
 */
#include "source/tracefs/convert.h"

#include <errno.h>
#include <string.h>

/* sonde_tracefs_plan_make() saw the fields at these places in every format. */
#define TYPE_OFFSET 0u
#define PID_OFFSET  4u
#define COMMON_SIZE 8u

void sonde_convert_out_init(struct sonde_convert_out *out, uint32_t cpu,
			    void *bytes, size_t size)
{
	*out = (struct sonde_convert_out){
		.start = bytes,
		.cpu = cpu,
		.packer = { .at = bytes,
			    .end = (uint8_t *)bytes + size -
				   SONDE_CONVERT_SLACK },
		.waitings.since = bytes,
	};
}

void sonde_convert_out_reset(struct sonde_convert_out *out)
{
	out->packer.at = out->start;
}

static uint16_t convert_type_of(const struct sonde_page_record *record)
{
	uint16_t type;

	memcpy(&type, record->data + TYPE_OFFSET, sizeof(type));
	return type;
}

static const struct sonde_convert_event *
event_of(const struct sonde_convert *convert,
	 const struct sonde_page_record *record)
{
	uint16_t index = convert->index[convert_type_of(record)];

	return index ? &convert->events[index - 1] : NULL;
}

/* Of a switch's payload. */
#define SWITCH_PREV_TID 16u
#define SWITCH_NEXT_TID 48u
#define SWITCH_SIZE     56u

/* Whether the switch is away from whom the one before was to. */
static void follow(struct sonde_convert_out *out, const uint8_t *payload,
		   size_t size)
{
	uint32_t prev;
	uint32_t next;

	if (size != SWITCH_SIZE)
		return;
	memcpy(&prev, payload + SWITCH_PREV_TID, sizeof(prev));
	memcpy(&next, payload + SWITCH_NEXT_TID, sizeof(next));
	out->unseen += out->next && out->next != UINT64_C(1) + prev;
	out->next = UINT64_C(1) + next;
}

/* As sonde_packer_head(), with what comes between that and the payload: no stack. */
static uint8_t *convert_head(const struct sonde_convert *convert,
			     struct sonde_convert_out *out, uint16_t id,
			     uint64_t ts, uint32_t tid)
{
	uint8_t *at;

	if (out->packer.at == out->start) {
		out->ts_begin = ts < out->ts_last ? out->ts_last : ts;
		sonde_packer_open(&out->packer, out->ts_begin);
	}
	at = sonde_packer_head(&out->packer, id, ts, tid);
	if (!convert->stacks)
		return at;
	memset(at, 0, SONDE_TRACEFS_STACK_HEAD);
	return at + SONDE_TRACEFS_STACK_HEAD;
}

/* Its payload is there; `before` it was the packer. */
static void convert_wait(const struct sonde_convert *convert,
			 const struct sonde_convert_event *event,
			 const struct sonde_page_record *record,
			 const struct sonde_packer *before, uint8_t *payload,
			 struct sonde_convert_out *out)
{
	const struct sonde_tracefs_waiting waiting = {
		.is_call = event->is_call,
		.is_probe = event->is_probe,
		.record = before->at,
		.head = payload - SONDE_TRACEFS_STACK_HEAD,
		.nr_before = before->nr,
		.time = out->packer.last,
	};

	sonde_tracefs_stacks_wait(convert->stacks, &out->waitings, record,
				  &waiting);
}

/* There is room for it. -EPROTO if it is shorter than its format says. */
static int put(const struct sonde_convert *convert,
	       const struct sonde_convert_event *event, uint64_t ts,
	       uint32_t tid, const struct sonde_page_record *record,
	       struct sonde_convert_out *out)
{
	struct sonde_packer before = out->packer;
	uint8_t *payload;
	uint8_t *end;

	payload = convert_head(convert, out, event->id, ts, tid);
	end = sonde_tracefs_plan_run(event->plan, record->data, record->size,
				     payload);
	if (!end ||
	    (event->condition &&
	     !sonde_condition_test(event->condition, payload,
				   (size_t)(end - payload), tid, out->cpu))) {
		out->packer = before;
		return end ? 0 : -EPROTO;
	}
	if (event->is_switch)
		follow(out, payload, (size_t)(end - payload));
	out->packer.at = end;
	out->ts_last = out->packer.last;
	if (convert->stacks)
		convert_wait(convert, event, record, &before, payload, out);
	return 0;
}

/* ---- names of opened files ---- */

static uint32_t tid_of(const struct sonde_page_record *record)
{
	uint32_t tid;

	memcpy(&tid, record->data + PID_OFFSET, sizeof(tid));
	return tid;
}

/* The file's number that a record tells of; or -1. */
static int64_t file_of(const struct sonde_convert_event *event,
		       const struct sonde_page_record *record)
{
	int64_t opened;
	int32_t closed;

	if (record->size < event->plan->need)
		return -1;
	if (event->file == SONDE_CONVERT_OPENED) {
		memcpy(&opened, record->data + event->file_at, sizeof(opened));
		return opened;
	}
	memcpy(&closed, record->data + event->file_at, sizeof(closed));
	return event->file == SONDE_CONVERT_CLOSES ? closed : -1;
}

/* Whether records that are at hand already, behind this one, show that the
 * process has closed the file or has another one with this number. */
static bool convert_is_over(const struct sonde_convert *convert,
			    struct sonde_page page, uint32_t tid, int64_t fd)
{
	struct sonde_page_record record;

	while (sonde_page_next(&page, &record) > 0) {
		const struct sonde_convert_event *event;

		if (record.size < COMMON_SIZE)
			return false;
		event = event_of(convert, &record);
		if (event && event->file && file_of(event, &record) == fd &&
		    sonde_open_files_is_kin(convert->opened, tid,
					    tid_of(&record)))
			return true;
	}
	return false;
}

/* There is room for it. */
static void name_file(const struct sonde_convert *convert,
		      const struct sonde_convert_event *event,
		      const struct sonde_page *page,
		      const struct sonde_page_record *record,
		      struct sonde_convert_out *out)
{
	uint32_t tid = tid_of(record);
	int64_t fd = file_of(event, record);
	uint8_t *payload;
	size_t size;

	if (fd < 0 || fd > INT32_MAX ||
	    convert_is_over(convert, *page, tid, fd))
		return;
	size = sonde_open_files_look(convert->opened, tid, (int32_t)fd);
	if (!size)
		return;
	payload = convert_head(convert, out, convert->opened->id,
			       out->packer.last, tid);
	memcpy(payload, convert->opened->payload, size);
	out->packer.at = payload + size;
}

/* ---- marks ---- */

/* There is room for it. 0 or -EPROTO. */
static int convert_mark(const struct sonde_convert *convert, uint64_t ts,
			uint32_t tid, const struct sonde_page_record *record,
			struct sonde_convert_out *out)
{
	struct sonde_tracefs_marks *marks = convert->marks;
	struct sonde_marks_taken taken;
	uint8_t *payload;
	int rc = sonde_tracefs_marks_take(marks, record, tid, out->cpu, &taken);

	out->too_large += rc == -ENOMEM;
	out->lost_marks += rc >= 0 ? taken.loss : 0;
	if (rc <= 0)
		return rc == -ENOMEM ? 0 : rc;
	payload = convert_head(convert, out,
			       (uint16_t)(marks->first + taken.kind), ts, tid);
	memcpy(payload, taken.payload, taken.size);
	out->packer.at = payload + taken.size;
	out->ts_last = out->packer.last;
	return 0;
}

/* ---- records ---- */

static bool may_name(const struct sonde_convert *convert,
		     const struct sonde_convert_event *event)
{
	return convert->opened && event->file == SONDE_CONVERT_OPENED;
}

/* Most bytes of payloads that come of a record, another's head included; a mark's if
 * it is no event's. */
static size_t most_of(const struct sonde_convert *convert,
		      const struct sonde_convert_event *event,
		      const struct sonde_page_record *record)
{
	size_t most =
		event ? sonde_tracefs_plan_most(event->plan, record->size) :
			SONDE_MARK_PAYLOAD_MAX;

	if (event && may_name(convert, event))
		most += SONDE_PACKER_HEAD_MAX + SONDE_OPENED_PAYLOAD_BYTES;
	/* Of either. */
	return most + (convert->stacks ? 2 * SONDE_TRACEFS_STACK_HEAD : 0);
}

/* 0, 1 if there is no room, or -EPROTO. */
static int take(const struct sonde_convert *convert,
		const struct sonde_page *page,
		const struct sonde_page_record *record,
		struct sonde_convert_out *out)
{
	const struct sonde_convert_event *event;
	uint64_t nr = out->packer.nr;
	uint64_t time;
	uint32_t tid;
	int rc;

	if (record->size < COMMON_SIZE)
		return -EPROTO;
	if (convert->stacks &&
	    sonde_tracefs_stacks_see(convert->stacks, &out->waitings, record))
		return 0;
	event = event_of(convert, record);
	if (!event &&
	    !sonde_tracefs_marks_has(convert->marks, convert_type_of(record)))
		return 0;
	tid = tid_of(record);
	if (event && tid &&
	    (tid == convert->self[0] || tid == convert->self[1]) &&
	    !event->is_for_all)
		return 0;
	if (!sonde_packer_fits(&out->packer, most_of(convert, event, record))) {
		if (out->packer.at != out->start)
			return 1;
		out->too_large++;
		return 0;
	}
	/* In the session's clock; the packer sees to it that times never go
	 * back. */
	time = convert->timing ? sonde_timing_at(convert->timing, record->ts) :
				 record->ts;
	if (!event)
		return convert_mark(convert, time, tid, record, out);
	rc = put(convert, event, time, tid, record, out);
	if (out->packer.nr != nr && may_name(convert, event))
		name_file(convert, event, page, record, out);
	return rc;
}

int sonde_convert(const struct sonde_convert *convert, struct sonde_page *page,
		  struct sonde_convert_out *out)
{
	for (;;) {
		struct sonde_page before = *page;
		struct sonde_page_record record;
		int rc = sonde_page_next(page, &record);

		if (rc <= 0)
			return rc;
		rc = take(convert, page, &record, out);
		if (rc > 0)
			*page = before;
		if (rc)
			return rc;
		out->seen++;
	}
}
