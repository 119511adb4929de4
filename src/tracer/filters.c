/* SPDX-License-Identifier: MIT */
/*
 * filters.c - conditions of events in the traced process (filters.h).
 *
 * `kind` of an entry is stored last, so who sees one that isn't 0 sees the rest
 * of it. An event is asked about once; one whose condition can't be had is
 * disabled, and the recorder is told. The test is an interval's, or native code,
 * or the evaluator where the answer can't be executed.
 */
#include "tracer/filters.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "expr/interval.h"
#include "expr/program.h"
#include "ring/hello.h"
#include "tracer/calls.h"
#include "tracer/handshake.h"
#include "tracer/numbers.h"
#include "tracer/self.h"

struct sonde_filter_known *sonde_filters;

/* As in a sockaddr_un. */
static char session_name[108];

static const struct sonde_slot *slots(void)
{
	return (const void *)(sonde_arena + SONDE_SLOTS_OFF);
}

/* The slot with conditions; SONDE_SLOTS: none has any. */
static uint32_t find_slot(void)
{
	uint32_t i = 0;

	/* Pairs with sonde_store_release in sonde_arena_begin: `filters` is
	 * visible. */
	while (i < SONDE_SLOTS &&
	       (sonde_load_acquire(&slots()[i].state) != SONDE_SLOT_ACTIVE ||
		!slots()[i].filters))
		i++;
	return i;
}

void sonde_filters_start(const char *session)
{
	size_t n = strlen(session);
	void *known;

	if (find_slot() == SONDE_SLOTS || n >= sizeof(session_name))
		return;
	known = mmap(NULL, SONDE_EVENTS_MAX * sizeof(*sonde_filters),
		     PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (known == MAP_FAILED)
		return;
	memcpy(session_name, session, n + 1);
	sonde_filters = known;
}

bool sonde_filters_wanted(void)
{
	return find_slot() != SONDE_SLOTS;
}

/* Marks the event for who derives state words, and brings its own up to date. */
static void take_filter(uint32_t index, struct sonde_filter_known known)
{
	struct sonde_arena_control control =
		sonde_arena_control_view(sonde_arena);
	uint32_t kind = known.kind;

	known.kind = SONDE_FILTER_NONE;
	sonde_filters[index] = known;
	/* Pairs with sonde_load_acquire in sonde_filter_of. */
	sonde_store_release(&sonde_filters[index].kind, kind);
	if (known.slot == 0)
		(void)__atomic_fetch_or(&control.entries[index].flags,
					SONDE_ENTRY_FILTERED, __ATOMIC_RELAXED);
	sonde_arena_control_refresh(&control, index);
}

static sonde_filter_code *code_of(const struct sonde_filter_known *known)
{
	uintptr_t code = (uintptr_t)(known->file + known->filter->code);

	/* NOLINTNEXTLINE(performance-no-int-to-ptr): data become code */
	return (sonde_filter_code *)code;
}

/*
 * Where eight bytes of the payload are that have the field. The payload ends
 * behind the field; one that is shorter than eight bytes is in a word, or may be
 * read beyond.
 */
static uint32_t eight_bytes_with(uint32_t offset, uint32_t bytes)
{
	return offset + bytes > 8 ? offset + bytes - 8 : 0;
}

static struct sonde_filter_interval
interval_in_payload(const struct sonde_expr_interval *interval)
{
	uint32_t at = eight_bytes_with(interval->offset, interval->bytes);
	uint32_t above = 64 - 8 * (interval->offset + interval->bytes - at);
	uint32_t below = 64 - 8 * interval->bytes;
	uint64_t rest = (UINT64_C(1) << below) - 1;
	uint64_t span = interval->last - interval->first;

	return (struct sonde_filter_interval){
		.scale = UINT64_C(1) << above,
		.first = interval->first << below,
		.beyond = ~(span << below | rest),
		.at = at,
	};
}

static struct sonde_filter_slice
slice_of_payload(const struct sonde_filter_value *value)
{
	uint32_t at = eight_bytes_with(value->offset, value->bytes);
	uint32_t before = value->offset - at; /* bytes of the eight */
	uint32_t behind = 8 - before - value->bytes;

	return (struct sonde_filter_slice){
		.mask = value->is_signed ?
				UINT64_MAX :
				UINT64_MAX >> (64 - 8 * value->bytes),
		.at = at,
		.up = (uint8_t)(8 * (value->swap ? before : behind)),
		.down = (uint8_t)(64 - 8 * value->bytes),
		.is_signed = value->is_signed,
		.swap = value->swap,
	};
}

/* Its condition, in the quickest way that there is. */
static void take_quickest_test(struct sonde_filter_known *known)
{
	const struct sonde_filters_rule *filter = known->filter;
	struct sonde_expr_interval interval;

	if (known->kind != SONDE_FILTER_TEST)
		return;
	if (sonde_expr_interval((const void *)(known->file + filter->program),
				&interval))
		known->interval = interval_in_payload(&interval);
	else if (known->executable && filter->code && !filter->whence)
		known->code = code_of(known);
}

static void take_values(struct sonde_filter_known *known)
{
	bool is_direct = known->code || known->interval.scale ||
			 known->kind == SONDE_FILTER_ALWAYS;

	known->values = (const void *)(known->file + known->filter->values);
	for (uint32_t i = 0; i < SONDE_FILTER_VALUES; i++)
		is_direct &= known->values[i].kind <= SONDE_FILTER_VALUE_FIELD;
	known->is_direct = is_direct;
	if (known->values[0].kind == SONDE_FILTER_VALUE_FIELD)
		known->first = slice_of_payload(&known->values[0]);
}

static void own_filters_take_file(const unsigned char *file, bool executable)
{
	const struct sonde_filters_file *header = (const void *)file;
	const struct sonde_filters_rule *filters = (const void *)(header + 1);

	for (uint32_t i = 0; i < header->nr; i++) {
		struct sonde_filter_known known = {
			.kind = filters[i].kind,
			.slot = (uint8_t)header->slot,
			.asked = true,
			.executable = executable,
			.file = file,
			.filter = &filters[i],
		};

		if (filters[i].index >= SONDE_EVENTS_MAX)
			continue;
		take_quickest_test(&known);
		if (filters[i].values)
			take_values(&known);
		take_filter(filters[i].index, known);
	}
}

/* Code in an answer is for the recorder's machine (expr/jit); a program of 32 bits
 * has a recorder of 64. */
#ifdef __x86_64__
#define CODE_IS_OURS true
#else
#define CODE_IS_OURS false
#endif

/* Maps the answer for good. Some systems don't let memory files be executed. */
static int own_filters_map_file(int fd)
{
	const struct sonde_filters_file *header;
	bool executable = CODE_IS_OURS;
	void *file = MAP_FAILED;
	struct stat st;

	if (fstat(fd, &st) || st.st_size < (off_t)sizeof(*header))
		return -EPROTO;
	if (executable)
		file = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_EXEC,
			    MAP_PRIVATE, fd, 0);
	if (file == MAP_FAILED) {
		executable = false;
		file = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE,
			    fd, 0);
	}
	if (file == MAP_FAILED)
		return -errno;
	header = file;
	if (header->magic != SONDE_FILTERS_MAGIC ||
	    header->slot >= SONDE_SLOTS || header->nr > SONDE_FILTERS_ASK) {
		(void)munmap(file, (size_t)st.st_size);
		return -EPROTO;
	}
	own_filters_take_file(file, executable);
	return 0;
}

static int own_filters_ask(const uint32_t *index, uint32_t nr, uint32_t slot)
{
	struct sonde_filters_ask question = {
		.magic = SONDE_FILTERS_MAGIC,
		.version = SONDE_HELLO_VERSION,
		.nr = nr,
		.filters = slots()[slot].filters,
	};
	int fd;
	int rc;

	if (!sonde_calls_allowed())
		return -EPERM;
	memcpy(question.index, index, nr * sizeof(*index));
	rc = sonde_handshake_ask(
		session_name, &question,
		sonde_patience_ns(secure_getenv(SONDE_PATIENCE_ENV)), &fd);
	if (rc)
		return rc;
	rc = own_filters_map_file(fd);
	(void)close(fd); /* the mapping stays */
	return rc;
}

static void own_filters_learn(const uint32_t *index, uint32_t nr, uint32_t slot)
{
	struct sonde_arena *header = (void *)sonde_arena;

	if (!nr || !own_filters_ask(index, nr, slot))
		return;
	/* The recorder is told; an event without its condition is none. */
	(void)sonde_add_relaxed(&header->refused, nr);
	for (uint32_t i = 0; i < nr; i++)
		take_filter(index[i], (struct sonde_filter_known){
					      .kind = SONDE_FILTER_NEVER,
					      .slot = (uint8_t)slot });
}

void sonde_filters_learn(const uint32_t *index, uint32_t nr)
{
	uint32_t unknown[SONDE_FILTERS_ASK];
	uint32_t slot = find_slot();
	uint32_t nr_unknown = 0;
	int saved_errno = errno;

	if (slot == SONDE_SLOTS || !sonde_filters)
		return;
	for (uint32_t i = 0; i < nr; i++) {
		if (sonde_filters[index[i]].asked)
			continue;
		sonde_filters[index[i]].asked = true;
		unknown[nr_unknown++] = index[i];
		if (nr_unknown < SONDE_FILTERS_ASK)
			continue;
		own_filters_learn(unknown, nr_unknown, slot);
		nr_unknown = 0;
	}
	own_filters_learn(unknown, nr_unknown, slot);
	errno = saved_errno;
}

/* ---- tests ---- */

/* The first `needed` bytes in one piece: where they are, or in `room`. False:
 * there are fewer. */
static const uint8_t *gather(const struct sonde_part *parts, uint32_t nr_parts,
			     uint32_t needed, uint8_t *room)
{
	uint32_t used = 0;

	if (nr_parts && parts[0].size >= needed)
		return parts[0].data;
	if (needed > SONDE_FILTER_HEAD)
		return NULL;
	for (uint32_t i = 0; i < nr_parts && used < needed; i++) {
		uint32_t size = parts[i].size < needed - used ? parts[i].size :
								needed - used;

		memcpy(room + used, parts[i].data, size);
		used += size;
	}
	return used == needed ? room : NULL;
}

static struct sonde_filter_whence own_filters_here(void)
{
	int cpu = sched_getcpu();

	if (!sonde_self.key)
		sonde_self_learn();
	return (struct sonde_filter_whence){ sonde_self.tid,
					     cpu < 0 ? 0 : (uint32_t)cpu };
}

/* What a program is evaluated with. */
struct evaluation {
	struct sonde_filter_whence whence;
	struct sonde_filter_payload payload;
	struct sonde_expr_env env;
	uint8_t room[SONDE_FILTER_HEAD];
};

/* False: the payload is too short for what is wanted of it. */
static bool prepare(struct evaluation *e,
		    const struct sonde_filter_known *known,
		    const struct sonde_part *parts, uint32_t nr_parts)
{
	const struct sonde_filters_rule *filter = known->filter;

	e->env.bases[0] = gather(parts, nr_parts, filter->needed, e->room);
	if (!e->env.bases[0])
		return false;
	e->whence = filter->whence ? own_filters_here() :
				     (struct sonde_filter_whence){ 0, 0 };
	e->payload.record = (struct sonde_operand_record){
		parts, nr_parts, (const void *)(known->file + filter->varying)
	};
	e->env.bases[1] = (const uint8_t *)&e->whence;
	e->env.call = sonde_filter_fetch;
	e->env.ctx = &e->payload;
	return true;
}

bool sonde_filter_test(const struct sonde_filter_known *known,
		       const struct sonde_part *parts, uint32_t nr_parts)
{
	const struct sonde_filters_rule *filter = known->filter;
	struct evaluation e;

	if (known->kind != SONDE_FILTER_TEST)
		return known->kind == SONDE_FILTER_ALWAYS;
	if (!prepare(&e, known, parts, nr_parts))
		return false;
	e.payload.fields = (const void *)(known->file + filter->fields);
	e.payload.nr_fields = filter->nr_fields;
	if (known->executable && filter->code)
		return code_of(known)(e.env.bases[0], &e.whence);
	return sonde_program_test((const void *)(known->file + filter->program),
				  &e.env);
}

/* ---- numbers ---- */

void sonde_filter_numbers_at(
	const struct sonde_filter_known *known, const unsigned char *payload,
	struct sonde_filter_number ret[SONDE_FILTER_VALUES])
{
	for (uint32_t i = 0; i < SONDE_FILTER_VALUES; i++) {
		const struct sonde_filter_value *value = &known->values[i];

		ret[i] = (struct sonde_filter_number){
			.is_there = value->kind == SONDE_FILTER_VALUE_FIELD,
			.is_signed = value->is_signed,
		};
		if (ret[i].is_there)
			ret[i].number = sonde_filter_load(
				value, payload + value->offset);
	}
}

void sonde_filter_numbers(const struct sonde_filter_known *known,
			  const struct sonde_part *parts, uint32_t nr_parts,
			  struct sonde_filter_number ret[SONDE_FILTER_VALUES])
{
	struct evaluation e;
	bool is_whole = prepare(&e, known, parts, nr_parts);

	for (uint32_t i = 0; i < SONDE_FILTER_VALUES; i++)
		ret[i] = is_whole ?
				 sonde_filter_number_of(&known->values[i],
							known->file, &e.env) :
				 (struct sonde_filter_number){ 0 };
}
