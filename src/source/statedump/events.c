/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * events.c - the events of a state dump: descriptions, and what records them
 * (events.h).
 *
 * A payload is written in the order of its description, field by field. An
 * event without room is counted by the output.
 */
#include "source/statedump/events.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/port.h"
#include "types/build.h"

#define GROUP "statedump"

/* ---- descriptions ---- */

/* LTTng's numbers. What a thread was doing is not known: it may be running. */
static const struct sonde_build_label types[] = {
	{ 0, 0, "user_thread" },
	{ 1, 1, "kernel_thread" },
};

#define MODE_UNKNOWN    5
#define SUBMODE_UNKNOWN 1

static const struct sonde_build_label modes[] = {
	{ 0, 0, "user_mode" }, { 1, 1, "syscall" }, { 2, 2, "trap" },
	{ 3, 3, "irq" },       { 4, 4, "softirq" }, { 5, 5, "unknown" },
};

static const struct sonde_build_label submodes[] = {
	{ 0, 0, "none" },
	{ 1, 1, "unknown" },
};

static const struct sonde_build_label statuses[] = {
	{ SONDE_STATUS_UNKNOWN, SONDE_STATUS_UNKNOWN, "unknown" },
	{ SONDE_STATUS_WAIT_FORK, SONDE_STATUS_WAIT_FORK, "wait_fork" },
	{ SONDE_STATUS_WAIT_CPU, SONDE_STATUS_WAIT_CPU, "wait_cpu" },
	{ SONDE_STATUS_EXIT, SONDE_STATUS_EXIT, "exit" },
	{ SONDE_STATUS_ZOMBIE, SONDE_STATUS_ZOMBIE, "zombie" },
	{ SONDE_STATUS_WAIT, SONDE_STATUS_WAIT, "wait" },
	{ SONDE_STATUS_RUN, SONDE_STATUS_RUN, "run" },
	{ SONDE_STATUS_DEAD, SONDE_STATUS_DEAD, "dead" },
};

static const struct sonde_build_label readers[] = {
	{ 0, 0, "proc" },
	{ 1, 1, "iterators" },
};

static void add_signed(struct sonde_build *build, const char *name)
{
	sonde_build_int(build, name, 32, SONDE_FIELD_SIGNED);
}

static void add_unsigned(struct sonde_build *build, const char *name)
{
	sonde_build_int(build, name, 32, 0);
}

static void describe_start(struct sonde_build *build)
{
	sonde_build_enum(build, "reader", 8, 0, readers,
			 SONDE_ARRAY_SIZE(readers));
}

static void dump_events_describe_end(struct sonde_build *build)
{
	sonde_build_int(build, "omitted", 64, 0);
}

static void describe_process(struct sonde_build *build)
{
	add_signed(build, "tid");
	add_signed(build, "vtid");
	add_signed(build, "pid");
	add_signed(build, "vpid");
	add_signed(build, "ppid");
	add_signed(build, "vppid");
	sonde_build_text(build, "name", SONDE_STATEDUMP_NAME_BYTES);
	sonde_build_enum(build, "type", 32, SONDE_FIELD_SIGNED, types,
			 SONDE_ARRAY_SIZE(types));
	sonde_build_enum(build, "mode", 32, SONDE_FIELD_SIGNED, modes,
			 SONDE_ARRAY_SIZE(modes));
	sonde_build_enum(build, "submode", 32, SONDE_FIELD_SIGNED, submodes,
			 SONDE_ARRAY_SIZE(submodes));
	sonde_build_enum(build, "status", 32, SONDE_FIELD_SIGNED, statuses,
			 SONDE_ARRAY_SIZE(statuses));
	add_unsigned(build, "cpu");
	sonde_build_int(build, "file_table_address", 64, SONDE_FIELD_HEX);
	add_unsigned(build, "ns_level");
	add_unsigned(build, "ns_inum"); /* in the order of sonde_statedump_ns */
	add_unsigned(build, "mnt_ns");
	add_unsigned(build, "net_ns");
	add_unsigned(build, "user_ns");
	add_unsigned(build, "uts_ns");
	add_unsigned(build, "ipc_ns");
	add_unsigned(build, "cgroup_ns");
	sonde_build_string(build, "cgroup");
}

static void describe_file(struct sonde_build *build)
{
	add_signed(build, "pid");
	sonde_build_int(build, "file_table_address", 64, SONDE_FIELD_HEX);
	add_signed(build, "fd");
	sonde_build_int(build, "flags", 32, SONDE_FIELD_HEX);
	sonde_build_string(build, "filename");
}

void sonde_statedump_describe_mapping(struct sonde_build *build)
{
	add_signed(build, "pid");
	sonde_build_int(build, "begin", 64, SONDE_FIELD_HEX);
	sonde_build_int(build, "end", 64, SONDE_FIELD_HEX);
	sonde_build_int(build, "offset", 64, SONDE_FIELD_HEX);
	sonde_build_int(build, "flags", 32, SONDE_FIELD_HEX);
	sonde_build_string(build, "path");
	sonde_build_string(build, "build_id");
}

static void describe_interrupt(struct sonde_build *build)
{
	add_unsigned(build, "irq");
	sonde_build_string(build, "name");
	sonde_build_string(build, "action");
}

static void describe_block_device(struct sonde_build *build)
{
	add_unsigned(build, "dev");
	sonde_build_string(build, "diskname");
}

static void describe_network(struct sonde_build *build)
{
	sonde_build_string(build, "name");
	sonde_build_int(build, "address_ipv4", 32,
			SONDE_FIELD_HEX | SONDE_FIELD_NETWORK);
	add_unsigned(build, "ifindex");
	sonde_build_string(build, "address");
}

static void describe_cpu(struct sonde_build *build)
{
	add_unsigned(build, "cpu_id");
	add_unsigned(build, "clock_cpu_mhz");
	add_unsigned(build, "core_id");
	add_unsigned(build, "physical_id");
	add_unsigned(build, "core_cnt");
	sonde_build_string(build, "architecture");
	sonde_build_string(build, "vendor");
	sonde_build_string(build, "model_name");
}

static void describe_module(struct sonde_build *build)
{
	sonde_build_string(build, "name");
	sonde_build_int(build, "begin", 64, SONDE_FIELD_HEX);
	sonde_build_int(build, "end", 64, SONDE_FIELD_HEX);
}

static void describe_symbol(struct sonde_build *build)
{
	sonde_build_int(build, "address", 64, SONDE_FIELD_HEX);
	sonde_build_string(build, "name");
	sonde_build_string(build, "module");
}

static const struct {
	const char *name;
	void (*describe)(struct sonde_build *build);
} events[SONDE_STATEDUMP_NR_EVENTS] = {
	[SONDE_STATEDUMP_START] = { "lttng_statedump_start", describe_start },
	[SONDE_STATEDUMP_END] = { "lttng_statedump_end",
				  dump_events_describe_end },
	[SONDE_STATEDUMP_PROCESS] = { "lttng_statedump_process_state",
				      describe_process },
	[SONDE_STATEDUMP_FILE] = { "lttng_statedump_file_descriptor",
				   describe_file },
	[SONDE_STATEDUMP_MAPPING] = { "sonde_statedump_mapping",
				      sonde_statedump_describe_mapping },
	[SONDE_STATEDUMP_INTERRUPT] = { "lttng_statedump_interrupt",
					describe_interrupt },
	[SONDE_STATEDUMP_BLOCK_DEVICE] = { "lttng_statedump_block_device",
					   describe_block_device },
	[SONDE_STATEDUMP_NETWORK] = { "lttng_statedump_network_interface",
				      describe_network },
	[SONDE_STATEDUMP_CPU] = { "lttng_statedump_cpu_topology",
				  describe_cpu },
	[SONDE_STATEDUMP_MODULE] = { "sonde_statedump_module",
				     describe_module },
	[SONDE_STATEDUMP_SYMBOL] = { "sonde_statedump_symbol",
				     describe_symbol },
};

static int make_desc(size_t i, uint64_t *room, struct sonde_desc **ret_desc)
{
	const struct sonde_desc *made = (const void *)room;
	struct sonde_desc *desc;
	int rc = sonde_build_whole(room, GROUP, events[i].name, SONDE_INFO,
				   events[i].describe);

	if (rc)
		return rc;
	desc = malloc(made->size);
	if (!desc)
		return -ENOMEM;
	memcpy(desc, made, made->size);
	*ret_desc = desc;
	return 0;
}

int sonde_statedump_descs_new(
	struct sonde_desc *descs[SONDE_STATEDUMP_NR_EVENTS])
{
	uint64_t *room = malloc(SONDE_DESC_MAX);
	int rc = room ? 0 : -ENOMEM;

	for (size_t i = 0; i < SONDE_STATEDUMP_NR_EVENTS; i++)
		descs[i] = NULL;
	for (size_t i = 0; !rc && i < SONDE_STATEDUMP_NR_EVENTS; i++)
		rc = make_desc(i, room, &descs[i]);
	free(room);
	if (rc)
		sonde_statedump_descs_free(descs);
	return rc;
}

void sonde_statedump_descs_free(
	struct sonde_desc *descs[SONDE_STATEDUMP_NR_EVENTS])
{
	for (size_t i = 0; i < SONDE_STATEDUMP_NR_EVENTS; i++) {
		free(descs[i]);
		descs[i] = NULL;
	}
}

/* ---- payloads ---- */

/* A field's bytes. */
struct part {
	const void *bytes;
	size_t size;
};

#define VALUE(value)                    \
	{                               \
		&(value), sizeof(value) \
	}
#define INT(value)                             \
	{                                      \
		&(const int32_t){ (value) }, 4 \
	}
#define TEXT(text)                       \
	{                                \
		(text), strlen(text) + 1 \
	}

/* One after the other, as they are described. */
static void emit_parts(struct sonde_out *out, enum sonde_statedump_event event,
		       const struct part *parts, size_t nr)
{
	size_t size = 0;
	uint8_t *at;

	for (size_t i = 0; i < nr; i++)
		size += parts[i].size;
	at = sonde_out_event(out, (uint16_t)(SONDE_SOURCE_FIRST_ID + event),
			     size);
	for (size_t i = 0; at && i < nr; i++) {
		memcpy(at, parts[i].bytes, parts[i].size);
		at += parts[i].size;
	}
}

#define EMIT(out, event, ...)                                           \
	do {                                                            \
		const struct part parts[] = { __VA_ARGS__ };            \
                                                                        \
		emit_parts(out, event, parts, SONDE_ARRAY_SIZE(parts)); \
	} while (0)

void sonde_statedump_emit_start(struct sonde_out *out,
				enum sonde_statedump_reader reader)
{
	const uint8_t number = (uint8_t)reader;

	EMIT(out, SONDE_STATEDUMP_START, VALUE(number));
}

void sonde_statedump_emit_end(struct sonde_out *out, uint64_t omitted)
{
	EMIT(out, SONDE_STATEDUMP_END, VALUE(omitted));
}

void sonde_statedump_emit_process(struct sonde_out *out,
				  const struct sonde_statedump_task *task,
				  int32_t vppid, uint64_t table)
{
	EMIT(out, SONDE_STATEDUMP_PROCESS, VALUE(task->tid), VALUE(task->vtid),
	     VALUE(task->pid), VALUE(task->vpid), VALUE(task->ppid),
	     VALUE(vppid), VALUE(task->name), INT(task->is_kernel),
	     INT(MODE_UNKNOWN), INT(SUBMODE_UNKNOWN), INT(task->status),
	     VALUE(task->cpu), VALUE(table), VALUE(task->ns_level),
	     VALUE(task->ns), TEXT(task->cgroup ? task->cgroup : ""));
}

void sonde_statedump_emit_file(struct sonde_out *out,
			       const struct sonde_statedump_file *file,
			       uint64_t table)
{
	EMIT(out, SONDE_STATEDUMP_FILE, VALUE(file->pid), VALUE(table),
	     VALUE(file->fd), VALUE(file->flags), TEXT(file->name));
}

void sonde_statedump_emit_mapping(struct sonde_out *out,
				  const struct sonde_statedump_mapping *mapping,
				  const char *build_id)
{
	EMIT(out, SONDE_STATEDUMP_MAPPING, VALUE(mapping->pid),
	     VALUE(mapping->begin), VALUE(mapping->end), VALUE(mapping->offset),
	     VALUE(mapping->flags), TEXT(mapping->path), TEXT(build_id));
}

void sonde_statedump_emit_interrupt(struct sonde_out *out, uint32_t irq,
				    const char *name, const char *action)
{
	EMIT(out, SONDE_STATEDUMP_INTERRUPT, VALUE(irq), TEXT(name),
	     TEXT(action));
}

void sonde_statedump_emit_block_device(struct sonde_out *out, uint32_t dev,
				       const char *name)
{
	EMIT(out, SONDE_STATEDUMP_BLOCK_DEVICE, VALUE(dev), TEXT(name));
}

void sonde_statedump_emit_network(struct sonde_out *out,
				  const struct sonde_statedump_network *network)
{
	EMIT(out, SONDE_STATEDUMP_NETWORK, TEXT(network->name),
	     VALUE(network->ipv4), VALUE(network->ifindex),
	     TEXT(network->address));
}

void sonde_statedump_emit_module(struct sonde_out *out, const char *name,
				 uint64_t begin, uint64_t end)
{
	EMIT(out, SONDE_STATEDUMP_MODULE, TEXT(name), VALUE(begin), VALUE(end));
}

void sonde_statedump_emit_symbol(struct sonde_out *out, uint64_t address,
				 const char *name, const char *module)
{
	EMIT(out, SONDE_STATEDUMP_SYMBOL, VALUE(address), TEXT(name),
	     TEXT(module));
}

void sonde_statedump_emit_cpu(struct sonde_out *out,
			      const struct sonde_statedump_cpu *cpu)
{
	EMIT(out, SONDE_STATEDUMP_CPU, VALUE(cpu->cpu_id), VALUE(cpu->mhz),
	     VALUE(cpu->core_id), VALUE(cpu->physical_id), VALUE(cpu->core_cnt),
	     TEXT(cpu->architecture), TEXT(cpu->vendor), TEXT(cpu->model_name));
}
