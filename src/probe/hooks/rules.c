/* SPDX-License-Identifier: MIT */
/*
 * rules.c - see rules.h. An answer is copied whole to where the agent's programs
 * are; nothing in it depends on where it is. Its native code isn't used: that memory
 * can't be executed.
 */
#include "probe/hooks/rules.h"

#include <errno.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "expr/program.h"
#include "probe/arena.h"
#include "ring/filters.h"
#include "ring/hello.h"
#include "ring/layout.h"
#include "tracer/handshake.h"

struct learning {
	struct sonde_probes *probes;
	struct sonde_agent *agent;
	uint32_t nr_unfit;
};

static bool has_fractions(const struct sonde_program *program)
{
	for (uint32_t i = 0; i < program->nr_ops; i++)
		if (sonde_expr_op_infos[program->ops[i].code].operands &
		    SONDE_EXPR_OPERAND_DOUBLE)
			return true;
	return false;
}

/* Whether any value or key of it is computed with fractions. */
static bool has_fractional_values(const unsigned char *file,
				  const struct sonde_filters_rule *rule)
{
	const struct sonde_filter_value *values =
		(const void *)(file + rule->values);

	for (uint32_t i = 0; rule->values && i < SONDE_FILTER_VALUES; i++)
		if (values[i].kind == SONDE_FILTER_VALUE_PROGRAM &&
		    has_fractions((const void *)(file + values[i].program)))
			return true;
	return false;
}

static bool is_unfit(const unsigned char *file,
		     const struct sonde_filters_rule *rule)
{
	return (rule->kind == SONDE_FILTER_TEST &&
		has_fractions((const void *)(file + rule->program))) ||
	       has_fractional_values(file, rule);
}

/* What is in an answer, of `size` bytes. */
static int learn_answer(struct learning *l, const unsigned char *file,
			size_t size)
{
	const struct sonde_filters_file *head = (const void *)file;
	const struct sonde_filters_rule *rules = (const void *)(head + 1);
	uint64_t at = 0;
	int rc;

	if (size < sizeof(*head) || head->magic != SONDE_FILTERS_MAGIC ||
	    head->nr > (size - sizeof(*head)) / sizeof(*rules))
		return -EPROTO;
	rc = sonde_probes_copy(l->probes, file, size, &at);
	for (uint32_t i = 0; i < head->nr && !rc; i++) {
		uint32_t place =
			(uint32_t)((const unsigned char *)&rules[i] - file);

		if (rules[i].index >= SONDE_EVENTS_MAX)
			return -EPROTO;
		if (is_unfit(file, &rules[i])) {
			l->nr_unfit++;
			place = 0;
		}
		l->agent->rules[rules[i].index] =
			(struct sonde_agent_rule){ (uint32_t)at, place };
	}
	return rc;
}

static int learn_file(struct learning *l, int fd)
{
	struct stat st;
	void *file;
	int rc;

	if (fstat(fd, &st))
		return -errno;
	file = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (file == MAP_FAILED)
		return -errno;
	rc = learn_answer(l, file, (size_t)st.st_size);
	(void)munmap(file, (size_t)st.st_size);
	return rc;
}

bool sonde_hooks_rules_are_there(const struct sonde_probe_arena *arena)
{
	const struct sonde_slot *slot =
		(const void *)(arena->here + SONDE_SLOTS_OFF);

	return slot->filters != 0;
}

int sonde_hooks_rules_learn(const struct sonde_probe_arena *arena,
			    struct sonde_probes *probes,
			    struct sonde_agent *agent,
			    const struct sonde_child *child,
			    uint32_t *ret_nr_unfit)
{
	const struct sonde_arena *header = (const void *)arena->here;
	const struct sonde_slot *slot =
		(const void *)(arena->here + SONDE_SLOTS_OFF);
	uint32_t nr = sonde_load_relaxed(&header->nr_reserved);
	struct learning l = { probes, agent, 0 };
	struct sonde_filters_ask ask = {
		.magic = SONDE_FILTERS_MAGIC,
		.version = SONDE_HELLO_VERSION,
		.filters = slot->filters,
	};
	int rc = 0;

	*ret_nr_unfit = 0;
	if (!sonde_hooks_rules_are_there(arena))
		return 0;
	for (uint32_t i = 0; i < nr && i < SONDE_EVENTS_MAX && !rc;) {
		int fd = -1;

		for (ask.nr = 0; ask.nr < SONDE_FILTERS_ASK && i < nr; i++)
			ask.index[ask.nr++] = i;
		rc = sonde_handshake_ask(child->name, &ask,
					 SONDE_PROBE_RECORDER_NS, &fd);
		if (!rc)
			rc = learn_file(&l, fd);
		if (fd >= 0)
			(void)close(fd); /* it was only read */
	}
	agent->has_rules = 1;
	for (uint32_t i = 1; i < SONDE_SLOTS; i++)
		agent->has_others |=
			sonde_load_relaxed(&slot[i].state) == SONDE_SLOT_ACTIVE;
	*ret_nr_unfit = l.nr_unfit;
	return rc;
}
