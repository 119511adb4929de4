/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * records.c - what the records of a perf event say (perf.h).
 *
 * A record is a header and its kind's fields; all but samples end in the same
 * three: process, thread, time. A call chain is addresses, with a mark before
 * the kernel's and before the program's.
 */
#include <linux/perf_event.h>
#include <string.h>

#include "source/sample/perf.h"
#include "sys/proc.h"

/* What all records but samples end with. */
struct perf_tail {
	uint32_t pid, tid;
	uint64_t ns;
};

struct perf_mapped {
	uint32_t pid, tid;
	uint64_t begin, bytes, offset;
	uint8_t build_id_bytes;
	uint8_t reserved[3];
	uint8_t build_id
		[20]; /* or, from build_id_bytes on, the file's numbers */
	uint32_t prot, flags;
	char path[];
};

struct perf_forked {
	uint32_t pid, ppid, tid, ptid;
	uint64_t ns;
};

struct perf_lost {
	uint64_t id, nr;
};

struct perf_sample {
	uint32_t pid, tid;
	uint64_t ns, nr;
	uint64_t addresses[];
};

_Static_assert(sizeof(struct perf_mapped) == 64, "the kernel's");

#define PERF_FIRST_MARK ((uint64_t)PERF_CONTEXT_MAX) /* and those above */

/* The first frame of each half is where an instruction is, others where a call
 * returns to. A program's chain may lead anywhere: it ends where no code can be. */
static void perf_take_chain(const struct perf_sample *sample,
			    struct sonde_perf_record *record)
{
	struct sonde_callstacks_chain *to = &record->chain;
	bool is_kernel = false;
	bool is_exact = true;

	for (uint64_t i = 0; i < sample->nr; i++) {
		uint64_t address = sample->addresses[i];

		if (address >= PERF_FIRST_MARK) {
			is_exact = true;
			is_kernel = address == (uint64_t)PERF_CONTEXT_KERNEL;
			continue;
		}
		if (!sonde_callstacks_add(to, address, is_kernel, is_exact))
			return;
		record->nr_kernel += is_kernel;
		is_exact = false;
	}
	/* As many as were asked for. */
	if (to->nr == SONDE_STACKS_DEPTH_MAX)
		to->end = SONDE_STACK_DEEP;
}

static bool perf_parse_sample(const struct perf_sample *sample, size_t size,
			      struct sonde_perf_record *to)
{
	if (size < sizeof(*sample) ||
	    sample->nr > (size - sizeof(*sample)) / sizeof(uint64_t))
		return false;
	to->kind = SONDE_PERF_SAMPLE;
	to->pid = (int32_t)sample->pid;
	to->tid = (int32_t)sample->tid;
	to->ns = sample->ns;
	perf_take_chain(sample, to);
	return true;
}

/* After the chain of a sample with a copy of the stack. */
struct perf_registers {
	uint64_t kind; /* 0: none, and nothing of the rest */
	uint64_t fp, sp, pc;
	uint64_t stack_bytes; /* the room for the copy, behind which is how much
				 of it was written */
};

bool sonde_perf_parse_user(const void *record, size_t size,
			   struct sonde_perf_user *ret_user)
{
	const uint8_t *bytes = record;
	struct perf_registers registers;
	struct perf_sample sample;
	uint64_t written = 0;
	size_t at = sizeof(struct perf_event_header) + sizeof(sample);

	if (size < at)
		return false;
	memcpy(&sample, bytes + sizeof(struct perf_event_header),
	       sizeof(sample));
	if (sample.nr > (size - at) / sizeof(uint64_t))
		return false;
	at += sample.nr * sizeof(uint64_t);
	if (size - at < sizeof(registers))
		return false;
	memcpy(&registers, bytes + at, sizeof(registers));
	at += sizeof(registers);
	if (registers.kind != PERF_SAMPLE_REGS_ABI_64 ||
	    registers.stack_bytes > size - at)
		return false;
	if (registers.stack_bytes) {
		if (size - at - registers.stack_bytes < sizeof(written))
			return false;
		memcpy(&written, bytes + at + registers.stack_bytes,
		       sizeof(written));
	}
	if (written > registers.stack_bytes)
		return false;
	*ret_user = (struct sonde_perf_user){
		.pc = registers.pc,
		.sp = registers.sp,
		.fp = registers.fp,
		.stack = bytes + at,
		.bytes = (uint32_t)written,
		.is_cut = written == registers.stack_bytes,
	};
	return true;
}

static void perf_take_file(const struct perf_mapped *mapped,
			   struct sonde_statedump_mapping *to)
{
	const uint8_t *at = (const uint8_t *)mapped +
			    offsetof(struct perf_mapped, build_id_bytes);
	uint32_t dev[2];

	memcpy(dev, at, sizeof(dev));
	memcpy(&to->ino, at + sizeof(dev), sizeof(to->ino));
	to->dev = (uint64_t)dev[0] << 20 | dev[1];
}

static bool perf_parse_mapped(const struct perf_mapped *mapped, size_t size,
			      bool has_build_id, struct sonde_perf_record *to)
{
	size_t room;

	if (size <= sizeof(*mapped))
		return false;
	room = size - sizeof(*mapped);
	if (strnlen(mapped->path, room) == room ||
	    mapped->bytes > UINT64_MAX - mapped->begin ||
	    (has_build_id && mapped->build_id_bytes > SONDE_PERF_BUILD_ID_MAX))
		return false;
	/* Of a file: others are "[vdso]", "//anon". */
	if (mapped->path[0] != '/' || mapped->path[1] == '/')
		return true;
	to->kind = SONDE_PERF_MAPPED;
	to->mapping = (struct sonde_statedump_mapping){
		.pid = (int32_t)mapped->pid,
		.flags = SONDE_MAPPED_EXEC,
		.begin = mapped->begin,
		.end = mapped->begin + mapped->bytes,
		.offset = mapped->offset,
		.path = mapped->path,
	};
	if (!has_build_id)
		perf_take_file(mapped, &to->mapping);
	if (has_build_id) {
		to->build_id_bytes = mapped->build_id_bytes;
		memcpy(to->build_id, mapped->build_id, to->build_id_bytes);
	}
	return true;
}

/* Others may still run then: what is forgotten of them is looked for again. */
static bool perf_parse_ended(const struct perf_forked *ended, size_t size,
			     struct sonde_perf_record *to)
{
	if (size < sizeof(*ended))
		return false;
	if (ended->pid != ended->tid)
		return true; /* another thread */
	to->kind = SONDE_PERF_ENDED;
	to->pid = (int32_t)ended->pid;
	return true;
}

static bool perf_parse_forked(const struct perf_forked *forked, size_t size,
			      struct sonde_perf_record *to)
{
	if (size < sizeof(*forked))
		return false;
	if (forked->pid == forked->ppid)
		return true; /* a thread */
	to->kind = SONDE_PERF_BEGAN;
	to->pid = (int32_t)forked->pid;
	to->parent = (int32_t)forked->ppid;
	return true;
}

static bool perf_parse_lost(const struct perf_lost *lost, size_t size,
			    struct sonde_perf_record *to)
{
	if (size < sizeof(*lost))
		return false;
	to->kind = SONDE_PERF_LOST;
	to->lost = lost->nr;
	return true;
}

/* Those with a tail. */
static bool perf_parse_other(const struct perf_event_header *head, size_t size,
			     struct sonde_perf_record *to)
{
	const void *body = head + 1;

	switch (head->type) {
	case PERF_RECORD_MMAP2:
		return perf_parse_mapped(
			body, size, head->misc & PERF_RECORD_MISC_MMAP_BUILD_ID,
			to);
	case PERF_RECORD_FORK:
		return perf_parse_forked(body, size, to);
	case PERF_RECORD_EXIT:
		return perf_parse_ended(body, size, to);
	case PERF_RECORD_COMM:
		if (head->misc & PERF_RECORD_MISC_COMM_EXEC)
			to->kind = SONDE_PERF_BEGAN;
		return true;
	case PERF_RECORD_LOST:
		return perf_parse_lost(body, size, to);
	default:
		return true;
	}
}

/* In samples it is behind the time, in others the last word. */
bool sonde_perf_take_id(void *record, size_t *size, uint64_t *ret_id)
{
	const size_t id_bytes = sizeof(*ret_id);
	struct perf_event_header head;
	uint8_t *at = record;
	size_t offset;

	if (*size < sizeof(head) + sizeof(struct perf_tail) + id_bytes)
		return false;
	memcpy(&head, record, sizeof(head));
	if (head.size != *size)
		return false;
	*size -= id_bytes;
	offset = head.type == PERF_RECORD_SAMPLE ?
			 sizeof(head) + offsetof(struct perf_sample, nr) :
			 *size;
	memcpy(ret_id, at + offset, id_bytes);
	memmove(at + offset, at + offset + id_bytes, *size - offset);
	head.size = (uint16_t)*size;
	memcpy(record, &head, sizeof(head));
	return true;
}

bool sonde_perf_parse(const void *record, size_t size,
		      struct sonde_perf_record *ret_record)
{
	const struct perf_event_header *head = record;
	struct perf_tail tail;

	memset(ret_record, 0, offsetof(struct sonde_perf_record, chain.frames));
	ret_record->build_id_bytes = 0;
	if (size < sizeof(*head) || size != head->size)
		return false;
	size -= sizeof(*head);
	if (head->type == PERF_RECORD_SAMPLE)
		return perf_parse_sample((const void *)(head + 1), size,
					 ret_record);
	if (size < sizeof(tail))
		return false;
	size -= sizeof(tail);
	memcpy(&tail, (const uint8_t *)(head + 1) + size, sizeof(tail));
	ret_record->ns = tail.ns;
	ret_record->pid = (int32_t)tail.pid;
	ret_record->tid = (int32_t)tail.tid;
	return perf_parse_other(head, size, ret_record);
}
