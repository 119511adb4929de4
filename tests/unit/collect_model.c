/* SPDX-License-Identifier: MIT */
/* collect_model.c - see collect_model.h. */
#include "unit.h"

#include "collect_model.h"

#include <stdbool.h>
#include <string.h>

#include "source/probes.h"

struct hit {
	struct collect_world *world;
	uint8_t *payload;
	size_t length;
	bool as_blocks;
	uint64_t places[SONDE_AGENT_ITEMS_MAX * 2];
	size_t nr_places;
	uint64_t string;
};

static bool inside(uint64_t address, uint64_t bytes)
{
	return address >= COLLECT_BASE &&
	       address + bytes <= COLLECT_BASE + COLLECT_MEMORY;
}

static bool read_memory(void *ctx, uint64_t address, void *to, uint32_t bytes)
{
	struct hit *hit = ctx;

	if (!inside(address, bytes))
		return false;
	memcpy(to, hit->world->memory + (address - COLLECT_BASE), bytes);
	return true;
}

static void put(struct hit *hit, const void *bytes, size_t nr)
{
	assert_true(hit->length + nr <= SONDE_AGENT_STAGE);
	if (bytes)
		memcpy(hit->payload + hit->length, bytes, nr);
	else
		memset(hit->payload + hit->length, 0, nr);
	hit->length += nr;
}

static void trace(void *ctx, uint64_t address, uint64_t bytes)
{
	struct hit *hit = ctx;
	uint16_t nr = (uint16_t)bytes;
	const uint8_t *from =
		inside(address, bytes) ?
			hit->world->memory + (address - COLLECT_BASE) :
			NULL;

	if (!hit->as_blocks) {
		hit->places[hit->nr_places++] = from ? address : 0;
		put(hit, from, bytes);
	} else if (from) {
		put(hit, "M", 1);
		put(hit, &address, 8);
		put(hit, &nr, 2);
		put(hit, from, nr);
	}
}

static size_t text_length(const struct hit *hit, uint64_t address, uint64_t max)
{
	size_t n = 0;

	while (n < max && inside(address + n, 1) &&
	       hit->world->memory[address + n - COLLECT_BASE])
		n++;
	return n;
}

static void trace_string(void *ctx, uint64_t address, uint64_t max)
{
	size_t n = text_length(ctx, address, max);

	trace(ctx, address, n < max ? n + 1 : n);
}

static uint64_t get_variable(void *ctx, uint32_t number)
{
	return (uint64_t)((struct hit *)ctx)->world->variables[number];
}

static void set_variable(void *ctx, uint32_t number, uint64_t value)
{
	((struct hit *)ctx)->world->variables[number] = (int64_t)value;
}

static void trace_variable(void *ctx, uint32_t number)
{
	struct hit *hit = ctx;
	int32_t n = (int32_t)number;

	assert_true(hit->as_blocks);
	put(hit, "V", 1);
	put(hit, &n, 4);
	put(hit, &hit->world->variables[number], 8);
}

static bool run_program(struct hit *hit, const struct sonde_program *program,
			uint64_t *ret_value)
{
	static const struct sonde_expr_machine machine = {
		.read = read_memory,
		.get = get_variable,
		.set = set_variable,
		.trace = trace,
		.trace_string = trace_string,
		.trace_variable = trace_variable,
	};
	struct sonde_expr_env env = { .registers = hit->world->registers,
				      .machine = &machine,
				      .machine_ctx = hit };
	struct sonde_expr_value value;

	sonde_program_eval(program, &env, &value);
	*ret_value = value.type == SONDE_EXPR_MISSING ? 0 : value.u;
	return value.type != SONDE_EXPR_MISSING;
}

static uint64_t run(struct hit *hit, const struct sonde_probe_plan *plan,
		    const struct sonde_agent_item *item)
{
	uint64_t value;

	assert_in_range(item->program, 1, plan->nr_programs);
	(void)run_program(hit, plan->programs[item->program - 1], &value);
	return value;
}

static void add_program(struct hit *hit, const struct sonde_probe_plan *plan,
			const struct sonde_agent_item *item)
{
	size_t end = hit->length + item->length;
	size_t places = hit->nr_places + item->nr_blocks;

	run(hit, plan, item);
	assert_true(hit->length <= end && hit->nr_places <= places);
	put(hit, NULL, end - hit->length);
	while (hit->nr_places < places)
		hit->places[hit->nr_places++] = 0;
}

static void add_blocks(struct hit *hit, const struct sonde_probe_plan *plan,
		       const struct sonde_agent_item *item)
{
	size_t at = hit->length;
	uint32_t nr;

	put(hit, NULL, 4);
	hit->as_blocks = true;
	run(hit, plan, item);
	hit->as_blocks = false;
	nr = (uint32_t)(hit->length - at - 4);
	memcpy(hit->payload + at, &nr, 4);
}

static void add_string(struct hit *hit, uint64_t address, uint16_t max)
{
	size_t n = text_length(hit, address, max);

	hit->places[hit->nr_places++] = inside(address, 1) ? address : 0;
	if (n)
		put(hit, hit->world->memory + (address - COLLECT_BASE), n);
	put(hit, "", 1);
}

static void add_registers(struct hit *hit, uint64_t mask)
{
	for (int i = 0; i < SONDE_AGENT_REGISTERS; i++)
		if (mask >> i & 1)
			put(hit, &hit->world->registers[i], 8);
}

static void add_item(struct hit *hit, const struct sonde_probe_plan *plan,
		     const struct sonde_agent_item *item)
{
	uint64_t address = (uint64_t)item->offset;
	uint64_t value;

	switch ((enum sonde_agent_item_kind)item->kind) {
	case SONDE_AGENT_ITEM_REGISTERS:
		add_registers(hit, item->mask);
		break;
	case SONDE_AGENT_ITEM_MEMORY:
		if (item->reg != 255)
			address += hit->world->registers[item->reg];
		trace(hit, address, item->length);
		break;
	case SONDE_AGENT_ITEM_PROGRAM:
		add_program(hit, plan, item);
		break;
	case SONDE_AGENT_ITEM_VALUE:
		value = run(hit, plan, item);
		put(hit, &value, 8);
		break;
	case SONDE_AGENT_ITEM_RUN:
		run(hit, plan, item);
		break;
	case SONDE_AGENT_ITEM_VARIABLE:
		put(hit, &hit->world->variables[item->offset], 8);
		break;
	case SONDE_AGENT_ITEM_STRING:
		add_string(hit, run(hit, plan, item), item->length);
		break;
	case SONDE_AGENT_ITEM_BLOCKS:
		add_blocks(hit, plan, item);
		break;
	case SONDE_AGENT_ITEM_ADDRESSES:
		put(hit, hit->places, 8 * hit->nr_places);
		break;
	}
}

size_t collect_hit(struct collect_world *world,
		   const struct sonde_probe_plan *plan,
		   const struct sonde_probe_plan_part *part,
		   uint8_t payload[SONDE_AGENT_STAGE])
{
	struct hit hit = { .world = world, .payload = payload };

	for (size_t i = 0; i < part->nr_items; i++)
		add_item(&hit, plan, &part->items[i]);
	assert_true(hit.length <= part->payload_max);
	return hit.length;
}

/* Bytes or a text where the value says; whether they are there. */
static bool add_kernel_memory(struct hit *hit,
			      const struct sonde_source_probe_item *item,
			      uint64_t address)
{
	size_t end = hit->length + item->bytes;
	uint64_t nr = item->kind == SONDE_SOURCE_PROBE_TEXT ?
			      text_length(hit, address, item->bytes - 1) :
			      item->bytes;
	bool is_there = inside(address, nr ? nr : 1);

	hit->places[hit->nr_places++] = is_there ? address : 0;
	if (is_there)
		put(hit, hit->world->memory + (address - COLLECT_BASE), nr);
	put(hit, NULL, end - hit->length);
	return is_there;
}

static bool add_kernel_item(struct hit *hit,
			    const struct sonde_source_probe_item *item)
{
	uint64_t value = 0;
	bool is_there = true;

	if (item->kind == SONDE_SOURCE_PROBE_REGISTERS) {
		add_registers(hit, item->mask);
		return true;
	}
	is_there = run_program(hit, item->program, &value);
	if (item->kind != SONDE_SOURCE_PROBE_NUMBER)
		return add_kernel_memory(hit, item, value);
	put(hit, &value, item->bytes);
	return is_there;
}

size_t collect_kernel_hit(struct collect_world *world,
			  const struct sonde_source_probe *probe,
			  uint8_t payload[SONDE_AGENT_STAGE])
{
	struct hit hit = { .world = world, .payload = payload };
	uint32_t unread = 0;

	for (uint32_t i = 0; i < probe->nr_items; i++)
		if (!add_kernel_item(&hit, &probe->items[i]))
			unread |= UINT32_C(1) << i;
	if (probe->tells_addresses)
		put(&hit, hit.places, 8 * hit.nr_places);
	put(&hit, &unread, sizeof(unread));
	return hit.length;
}

void collect_define(struct sonde_probe_points *points,
		    const char *const *packets)
{
	struct sonde_probe_point *point;
	bool complete;
	int rc;

	for (; *packets; packets++) {
		if (strncmp(*packets, "QTDPsrc:", 8) == 0)
			rc = sonde_probe_points_source(points, *packets + 8);
		else if (strncmp(*packets, "QTDV:", 5) == 0)
			rc = sonde_probe_points_variable(points, *packets + 5);
		else
			rc = sonde_probe_points_define(points, *packets + 5,
						       &complete, &point);
		assert_int_equal(rc, 0);
	}
}
