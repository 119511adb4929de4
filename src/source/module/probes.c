/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * probes.c - see probes.h.
 *
 * A probe's programs go to the module as they are, but for the numbers of registers,
 * which are words of struct pt_regs there (source/registers.h): so each is a copy. The
 * module verifies it, and makes machine code of it.
 *
 * What the module can't do is found here, or said by it, before anything is recorded;
 * then none of the probes is its own, and BPF has them all (choose.c): trace state
 * variables and pass counts, returns of functions, an event's arguments away from its
 * sites, conditions that are tested as events are read.
 *
 * Each has a descriptor: it is switched by it, and asked for its hits.
 */
#include "source/module/probes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/port.h"
#include "expr/agent.h"
#include "expr/program.h"
#include "source/registers.h"
#include "types/desc.h"

_Static_assert(SONDE_SOURCE_PROBE_CURRENT == SONDE_KMOD_WORD_CURRENT &&
		       SONDE_SOURCE_PROBE_ITEMS <= SONDE_KMOD_ITEMS_MAX,
	       "the module has what probes may ask for");

struct module_probe {
	const struct sonde_source_probe *is; /* borrowed */
	struct sonde_kmod_event event;
	struct sonde_kmod_item items[SONDE_SOURCE_PROBE_ITEMS];
	struct sonde_program *condition;
	struct sonde_program *programs[SONDE_SOURCE_PROBE_ITEMS];
	int fd; /* -1: it isn't in */
	bool is_off;
	uint64_t faults;
};

static int probes_fail(const struct module_probe *probe,
		       struct sonde_source_error *error, int rc,
		       const char *why)
{
	return sonde_source_fail(error, rc, "modules: %.100s: %.400s",
				 probe->is->function, why);
}

/* ---- registers ---- */

static bool word_of_register(uint32_t number, uint32_t *ret_word)
{
	if (number == SONDE_AGENT_RIP)
		*ret_word = SONDE_KMOD_WORD_PLACE;
	else if (number == SONDE_SOURCE_PROBE_CURRENT)
		*ret_word = SONDE_KMOD_WORD_CURRENT;
	else if (number < SONDE_ARRAY_SIZE(sonde_source_words))
		*ret_word = sonde_source_words[number];
	else
		return false;
	return true;
}

/* False: it names one that there isn't. */
static bool renumber(struct sonde_program *program)
{
	for (uint32_t i = 0; i < program->nr_ops; i++) {
		struct sonde_expr_op *op = &program->ops[i];
		uint32_t word = 0;

		if (op->code != SONDE_EXPR_OP_REGISTER)
			continue;
		if (!word_of_register((uint32_t)op->number, &word))
			return false;
		op->number = word;
	}
	return true;
}

/* A copy, as the module takes it. 0, -ENOMEM, -EOPNOTSUPP. */
static int copy_numbered(const struct sonde_program *from,
			 struct sonde_program **ret_copy)
{
	struct sonde_program *copy;

	if (sonde_program_bytes(from) > SONDE_KMOD_FILTER_MAX)
		return -EOPNOTSUPP;
	copy = sonde_program_copy(from);
	if (!copy)
		return -ENOMEM;
	*ret_copy = copy;
	return renumber(copy) ? 0 : -EOPNOTSUPP;
}

/* ---- items ---- */

static int take_register_words(uint64_t mask, struct sonde_kmod_item *to)
{
	uint32_t word = 0;

	to->kind = SONDE_KMOD_ITEM_WORDS;
	for (uint32_t i = 0; mask; i++, mask >>= 1) {
		if (!(mask & 1))
			continue;
		if (!word_of_register(i, &word) ||
		    to->nr_words == SONDE_KMOD_WORDS_MAX)
			return -EOPNOTSUPP;
		to->words[to->nr_words++] = (uint8_t)word;
	}
	return to->nr_words ? 0 : -EOPNOTSUPP;
}

static int take_probe_item(struct module_probe *probe, uint32_t i)
{
	static const uint8_t kinds[] = {
		[SONDE_SOURCE_PROBE_NUMBER] = SONDE_KMOD_ITEM_NUMBER,
		[SONDE_SOURCE_PROBE_MEMORY] = SONDE_KMOD_ITEM_MEMORY,
		[SONDE_SOURCE_PROBE_TEXT] = SONDE_KMOD_ITEM_TEXT,
	};
	const struct sonde_source_probe_item *from = &probe->is->items[i];
	struct sonde_kmod_item *to = &probe->items[i];
	int rc;

	to->bytes = (uint16_t)from->bytes;
	if (from->kind == SONDE_SOURCE_PROBE_REGISTERS)
		return take_register_words(from->mask, to);
	if (from->kind == SONDE_SOURCE_PROBE_ASSIGN)
		return -EOPNOTSUPP;
	to->kind = kinds[from->kind];
	rc = copy_numbered(from->program, &probe->programs[i]);
	if (rc)
		return rc;
	to->program = (uintptr_t)probe->programs[i];
	to->program_bytes = (uint32_t)sonde_program_bytes(probe->programs[i]);
	return 0;
}

/* ---- the event ---- */

/* NULL: there is nothing. */
static const char *what_it_lacks(const struct sonde_source_probe *is)
{
	if (is->at_return)
		return "when a function returns";
	if (is->tracepoint && !is->target)
		return "an event's arguments away from its sites";
	if (is->passes)
		return "a pass count";
	if (is->late)
		return "a condition that is tested as events are read";
	if (!is->address && !is->found)
		return "a function whose address this user may not know";
	return NULL;
}

static void begin_probe_event(struct module_probe *probe, uint32_t id)
{
	const struct sonde_source_probe *is = probe->is;
	uint64_t place = is->address ? is->address : is->found;

	probe->event = (struct sonde_kmod_event){
		.size = sizeof(probe->event),
		.type = SONDE_KMOD_KPROBE,
		.id = id,
		.flags = SONDE_KMOD_WANT_FD |
			 (is->tells_addresses ? SONDE_KMOD_ADDRESSES : 0) |
			 (is->tells_unread ? SONDE_KMOD_UNREAD : 0),
		.address = is->target ? is->target : place,
		.place = place,
		.items = is->nr_items ? (uintptr_t)probe->items : 0,
		.nr_items = is->nr_items,
	};
	if (is->tracepoint)
		(void)snprintf(probe->event.name, sizeof(probe->event.name),
			       "%s", is->tracepoint);
}

static int fill_event(struct module_probe *probe, uint32_t id,
		      struct sonde_source_error *error)
{
	const struct sonde_source_probe *is = probe->is;
	const char *lack = what_it_lacks(is);
	int rc = 0;

	if (lack)
		return sonde_source_fail(error, -EOPNOTSUPP,
					 "modules: %.100s: %s isn't the "
					 "module's, but BPF's",
					 is->function, lack);
	begin_probe_event(probe, id);
	for (uint32_t i = 0; !rc && i < is->nr_items; i++)
		rc = take_probe_item(probe, i);
	if (!rc && is->condition)
		rc = copy_numbered(is->condition, &probe->condition);
	if (rc == -EOPNOTSUPP)
		return probes_fail(probe, error, rc,
				   "the module can't compute what it collects");
	if (rc)
		return probes_fail(probe, error, rc, strerrordesc_np(-rc));
	if (probe->condition) {
		probe->event.filter = (uintptr_t)probe->condition;
		probe->event.filter_bytes =
			(uint32_t)sonde_program_bytes(probe->condition);
	}
	return 0;
}

static const char *why_not_put_in(int rc)
{
	switch (rc) {
	case -EINVAL:
	case -EILSEQ:
		return "the kernel lets no probe be there: it is code that "
		       "probes themselves need, or in no instruction's "
		       "beginning (notrace, "
		       "/sys/kernel/debug/kprobes/blacklist)";
	case -EPERM:
		return "the kernel's memory is for who may read it: root, or "
		       "CAP_PERFMON";
	case -EOPNOTSUPP:
		return "the module can't compute its condition, or what it "
		       "collects";
	default:
		return strerrordesc_np(-rc);
	}
}

static int put_probe_in(struct module_probe *probe,
			const struct module_device *device,
			struct sonde_source_error *error)
{
	int rc = module_device_put_in(device, &probe->event);

	if (rc >= 0) {
		probe->fd = rc;
		return 0;
	}
	return probes_fail(probe, error, rc == -EINVAL ? -EOPNOTSUPP : rc,
			   why_not_put_in(rc));
}

int module_probes_open(struct module_probes *ret,
		       const struct module_device *device,
		       const struct sonde_source_config *config, uint32_t first,
		       struct sonde_source_error *error)
{
	int rc = 0;

	*ret = (struct module_probes){ .nr = 0 };
	if (!config->nr_probes)
		return 0;
	ret->list = calloc(config->nr_probes, sizeof(*ret->list));
	if (!ret->list)
		return sonde_source_fail(error, -ENOMEM, "out of memory");
	while (!rc && ret->nr < config->nr_probes) {
		struct module_probe *probe = &ret->list[ret->nr];

		probe->is = &config->probes[ret->nr];
		probe->fd = -1;
		rc = fill_event(probe, first + ret->nr++, error);
		if (!rc)
			rc = put_probe_in(probe, device, error);
	}
	return rc;
}

void module_probes_close(struct module_probes *probes,
			 const struct module_device *device)
{
	for (uint32_t i = 0; i < probes->nr; i++) {
		struct module_probe *probe = &probes->list[i];

		if (probe->fd >= 0)
			device->system->close(probe->fd);
		sonde_program_free(probe->condition);
		for (uint32_t k = 0; k < SONDE_SOURCE_PROBE_ITEMS; k++)
			sonde_program_free(probe->programs[k]);
	}
	free(probes->list);
	*probes = (struct module_probes){ .nr = 0 };
}

/* ---- while it is recorded ---- */

/* What fails is tried again in the next round. */
static void switch_as_wished(struct module_probe *probe,
			     const struct module_device *device)
{
	bool off = sonde_load_relaxed(&probe->is->live->wants_off);

	if (off == probe->is_off ||
	    device->system->ioctl(probe->fd,
				  off ? SONDE_KMOD_DISABLE : SONDE_KMOD_ENABLE,
				  NULL) < 0)
		return;
	probe->is_off = off;
}

static void tell_probe(struct module_probe *probe,
		       const struct module_device *device)
{
	struct sonde_kmod_event_counts counts = { .size = sizeof(counts) };
	struct sonde_source_probe_live *live = probe->is->live;

	if (live)
		switch_as_wished(probe, device);
	if (device->system->ioctl(probe->fd, SONDE_KMOD_EVENT_COUNTS, &counts) <
	    0)
		return;
	probe->faults = counts.faults;
	if (!live)
		return;
	sonde_store_relaxed(&live->hits, counts.recorded + counts.lost);
	sonde_store_relaxed(&live->is_off, probe->is_off);
}

void module_probes_tick(struct module_probes *probes,
			const struct module_device *device)
{
	for (uint32_t i = 0; i < probes->nr; i++)
		if (probes->list[i].fd >= 0)
			tell_probe(&probes->list[i], device);
}

uint64_t module_probes_faults(const struct module_probes *probes, uint32_t i)
{
	return i < probes->nr ? probes->list[i].faults : 0;
}
