/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * kprobes.c - the rules "kprobe:FUNCTION[+OFFSET]" of recordings with call stacks,
 * as probes (source/probes.h) like those that this source is given: without stacks
 * such rules are for other sources.
 *
 * At a function's first byte the event has the function's arguments, by the names
 * and types of the kernel's BTF: each that is in a register, numbers as they are,
 * pointers as addresses. Of what BTF has no function for, and elsewhere in a
 * function, it has no fields. A condition is tested as the event is read
 * (leave_out.c).
 */
#include "source/bpf/bpf_source.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/btf.h>

#include "base/number.h"
#include "base/port.h"
#include "expr/agent.h"
#include "expr/expr.h"
#include "source/condition.h"
#include "source/prototype.h"
#include "sys/btf_extract.h"
#include "types/build.h"
#include "types/desc.h"

/* The kernel's limit of a symbol's length. */
#define KPROBE_NAME_MAX 512u

/* What a probe points to; the probe itself is in the row of all. */
struct bpf_kprobe {
	const struct sonde_source_rule *rule;
	char function[KPROBE_NAME_MAX];
	char shown[128]; /* the event's name */
	_Alignas(8) uint8_t desc[SONDE_DESC_MAX];
};

/* ---- arguments ---- */

#if defined(__x86_64__)
static const uint8_t argument_registers[] = {
	SONDE_AGENT_RDI, SONDE_AGENT_RSI, SONDE_AGENT_RDX,
	SONDE_AGENT_RCX, SONDE_AGENT_R8,  SONDE_AGENT_R8 + 1,
};
#define ARGUMENT_REGISTERS SONDE_ARRAY_SIZE(argument_registers)
#else
static const uint8_t argument_registers[] = { 0 };
#define ARGUMENT_REGISTERS 0u
#endif

/* The register's value. */
static struct sonde_program *program_of_register(uint8_t number)
{
	/* GDB's bytecode: reg, of 16 bits, and end. */
	const uint8_t code[] = { 0x26, 0, number, 0x27 };
	struct sonde_program *program = NULL;
	struct sonde_expr_error error;

	return sonde_agent_decode(code, sizeof(code), false, &error, &program) ?
		       NULL :
		       program;
}

static int kprobe_add_arguments(struct sonde_source_probe *probe,
				const struct sonde_prototype *prototype,
				struct sonde_build *build)
{
	for (uint32_t i = 0; i < prototype->nr && i < ARGUMENT_REGISTERS; i++) {
		const struct sonde_prototype_arg *arg = &prototype->args[i];
		bool is_number = arg->kind == SONDE_PROTOTYPE_NUMBER;
		struct sonde_source_probe_item *item =
			&probe->items[probe->nr_items];

		item->kind = SONDE_SOURCE_PROBE_NUMBER;
		item->bytes = is_number ? arg->bytes : 8;
		item->program = program_of_register(argument_registers[i]);
		if (!item->program)
			return -ENOMEM;
		probe->nr_items++;
		sonde_build_int(build, arg->name, (uint8_t)(8 * item->bytes),
				is_number ? arg->flags : SONDE_FIELD_HEX);
	}
	return 0;
}

/* ---- the kernel's types ---- */

struct kprobe_types {
	struct btf *btf; /* an extract */
	struct sonde_types *types;
};

/* Of the functions that are probed. What has none is probed all the same. */
static int kprobe_load_types(struct bpf_source *source,
			     struct kprobe_types *types,
			     struct sonde_source_error *error)
{
	const char *names[SONDE_SOURCE_RULES_MAX];
	uint8_t *bytes = NULL;
	size_t size = 0;
	int rc = bpf_object_types(source, error);

	for (uint32_t i = 0; i < source->nr_kprobes; i++)
		names[i] = source->kprobes[i].function;
	if (!rc)
		rc = sonde_btf_extract_calls(&source->btf, names,
					     source->nr_kprobes, &bytes, &size);
	if (rc)
		return rc;
	types->btf = btf__new(bytes, (uint32_t)size);
	free(bytes);
	return types->btf ? sonde_types_new(types->btf, &types->types) : -errno;
}

/* ---- probes ---- */

/* FUNCTION+OFFSET. */
static int kprobe_take_place(struct bpf_kprobe *kprobe,
			     struct sonde_source_probe *probe,
			     struct sonde_source_error *error)
{
	/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): it was listed by it */
	const char *name = kprobe->rule->name;
	const char *plus = strchr(name, '+');
	size_t length = plus ? (size_t)(plus - name) : strlen(name);
	const char *offset = plus ? plus + 1 : "0";

	if (!length || length >= sizeof(kprobe->function) ||
	    !sonde_number_take_prefixed(&offset, UINT32_MAX, &probe->offset) ||
	    *offset)
		return sonde_source_fail(
			error, -EINVAL,
			"%.100s: give a function of the kernel's, and maybe "
			"+BYTES",
			kprobe->rule->text);
	memcpy(kprobe->function, name, length);
	probe->function = kprobe->function;
	sonde_source_probe_name(SONDE_BPF_KPROBE_GROUP, name, kprobe->shown,
				sizeof(kprobe->shown));
	probe->name = kprobe->shown;
	return 0;
}

static int check_kprobe_condition(const struct bpf_kprobe *kprobe,
				  struct sonde_source_error *error)
{
	const char *text = kprobe->rule->condition;
	struct sonde_condition *condition = NULL;
	char why[200] = "";
	int rc;

	if (!text)
		return 0;
	rc = sonde_condition_new((const void *)kprobe->desc, text, why,
				 sizeof(why), &condition);
	sonde_condition_free(condition);
	return rc == -EINVAL ? sonde_source_fail(error, rc, "if %.100s: %s",
						 text, why) :
			       rc;
}

static int make_kprobe(struct bpf_kprobe *kprobe,
		       const struct kprobe_types *types,
		       struct sonde_source_probe *probe,
		       struct sonde_source_error *error)
{
	struct sonde_prototype prototype;
	struct sonde_build build;
	int rc = 0;

	sonde_build_begin(&build, kprobe->desc, SONDE_BPF_KPROBE_GROUP,
			  kprobe->shown, SONDE_INFO);
	if (!strchr(kprobe->rule->name, '+') &&
	    sonde_types_function(types->types, kprobe->function, &prototype))
		rc = kprobe_add_arguments(probe, &prototype, &build);
	if (!rc)
		rc = sonde_build_end(&build);
	probe->desc = (const void *)kprobe->desc;
	probe->late = kprobe->rule->condition;
	return rc ? rc : check_kprobe_condition(kprobe, error);
}

/* Places first: all functions' types are looked for at once. */
static int make_kprobes(struct bpf_source *source,
			struct sonde_source_probe *probes,
			struct sonde_source_error *error)
{
	struct kprobe_types types = { .btf = NULL };
	int rc = 0;

	for (uint32_t i = 0; !rc && i < source->nr_kprobes; i++)
		rc = kprobe_take_place(&source->kprobes[i], &probes[i], error);
	if (!rc)
		rc = kprobe_load_types(source, &types, error);
	for (uint32_t i = 0; !rc && i < source->nr_kprobes; i++)
		rc = make_kprobe(&source->kprobes[i], &types, &probes[i],
				 error);
	sonde_types_free(types.types);
	btf__free(types.btf);
	return rc;
}

static int list_kprobes(struct bpf_source *source)
{
	struct sonde_source_rules *rules = source->config.rules;

	source->kprobes = calloc(rules->nr, sizeof(*source->kprobes));
	if (!source->kprobes)
		return -ENOMEM;
	for (uint32_t i = 0; i < rules->nr; i++) {
		struct sonde_source_rule *rule = &rules->rules[i];

		if (rule->kind != SONDE_RULE_KPROBE || rule->is_exclusion)
			continue;
		rule->has_matched = true;
		source->kprobes[source->nr_kprobes++].rule = rule;
	}
	return 0;
}

int bpf_kprobes_select(struct bpf_source *source,
		       struct sonde_source_error *error)
{
	struct sonde_source_config *config = &source->config;
	uint32_t nr = config->nr_probes;
	struct sonde_source_probe *all;
	int rc;

	if (!config->stacks || !config->rules->nr)
		return 0;
	rc = list_kprobes(source);
	if (rc || !source->nr_kprobes)
		return rc;
	all = calloc(nr + source->nr_kprobes, sizeof(*all));
	if (!all)
		return -ENOMEM;
	if (nr)
		memcpy(all, config->probes, nr * sizeof(*all));
	source->first_kprobe = nr;
	source->all_probes = all;
	rc = make_kprobes(source, all + nr, error);
	if (rc)
		return rc;
	config->probes = all;
	config->nr_probes = nr + source->nr_kprobes;
	return 0;
}

void bpf_kprobes_free(struct bpf_source *source)
{
	for (uint32_t i = 0; source->all_probes && i < source->nr_kprobes;
	     i++) {
		struct sonde_source_probe *probe =
			&source->all_probes[source->first_kprobe + i];

		for (uint32_t k = 0; k < probe->nr_items; k++)
			sonde_program_free(probe->items[k].program);
	}
	free(source->all_probes);
	free(source->kprobes);
}
