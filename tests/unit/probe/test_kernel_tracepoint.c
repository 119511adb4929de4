/* SPDX-License-Identifier: MIT */
/*
 * Tracepoints of GDB's in the kernel (its packets), as probes of the kernel's;
 * what a model of the kernel's program collects, as GDB's blocks; and what is
 * refused.
 */
#include "unit.h"

#include "collect_model.h"

#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

#include "gdb/blocks.h"
#include "gdb/registers.h"
#include "probe/kernel_tracepoint.h"
#include "probe/typing.h"
#include "types/desc.h"

#define SITE 0xffffffff81401186ull

enum {
	RDI = 0x7fff0100, /* a struct node *: key, next, ..., name */
	NEXT = 0x7fff0200,
	TEXT = 0x7fff0300,
};

/* trace vfs_read if $rdi != 0
 *   collect $regs
 *   collect p->next->key, *p, 2 * p->key + 1
 *   collect/s p->name */
static const char *const packets[] = {
	"QTDP:1:ffffffff81401186:E:0:3:X8,26000522"
	"00130e27-",
	"QTDP:-1:ffffffff81401186:R0fffffffffffffff-",
	"QTDP:-1:ffffffff81401186:X0000000D,2600052208020d08"
	"1a22040c27X00000007,26000522180c27-",
	"QTDP:-1:ffffffff81401186:X00000010,22022600050d04191620"
	"042201022927-",
	"QTDP:-1:ffffffff81401186:X0000000D,2600052210020d08"
	"1a220a2f27",
	"QTDPsrc:1:ffffffff81401186:at:0:8:7666735f72656164",
	NULL,
};

struct kernel_made {
	struct sonde_probe_points points;
	struct sonde_source_probe probe;
	struct sonde_probe_plan plan;
	uint64_t frame_bytes;
	char error[256];
};

static struct collect_world world;
static struct sonde_probe_kernel_known known;

static int make_of(struct kernel_made *made, const char *const *from)
{
	memset(made, 0, sizeof(*made));
	collect_define(&made->points, from);
	known.points = &made->points;
	known.nr_variables = 0;
	return sonde_probe_kernel_tracepoint(made->points.list, &known,
					     made->error, sizeof(made->error),
					     &made->probe, &made->frame_bytes);
}

static void unmake(struct kernel_made *made)
{
	sonde_probe_plan_free(&made->plan);
	sonde_probe_kernel_tracepoint_fini(&made->probe);
	sonde_probe_points_clear(&made->points);
}

static void put(uint64_t address, uint64_t value, size_t nr)
{
	memcpy(world.memory + (address - COLLECT_BASE), &value, nr);
}

static void make_world(void)
{
	memset(&world, 0, sizeof(world));
	for (unsigned int i = 0; i < SONDE_AGENT_REGISTERS; i++)
		world.registers[i] = 0x1000 + i;
	world.registers[SONDE_AGENT_RDI] = RDI;
	world.registers[SONDE_AGENT_RIP] = SITE;
	put(RDI, 7, 8);
	put(RDI + 8, NEXT, 8);
	put(RDI + 16, TEXT, 8);
	put(NEXT, 9, 8);
	memcpy(world.memory + (TEXT - COLLECT_BASE), "hello", 6);
}

/* The blocks GDB gets of a hit in that world. */
static struct sonde_gdb_blocks collect(struct kernel_made *made, uint8_t *to,
				       size_t room)
{
	struct sonde_gdb_blocks blocks = { .to = to, .room = room };
	uint8_t payload[SONDE_AGENT_STAGE];
	size_t size = collect_kernel_hit(&world, &made->probe, payload);

	assert_int_equal(sonde_probe_plan_make(made->points.list, &made->points,
					       made->error, sizeof(made->error),
					       &made->plan),
			 0);
	assert_int_equal(sonde_gdb_blocks_make(&made->plan, &made->plan.hit,
					       payload, size, &blocks),
			 0);
	assert_in_range(blocks.length, 1, room);
	/* a byte less is no such payload */
	assert_int_equal(
		sonde_gdb_blocks_make(&made->plan, &made->plan.hit, payload,
				      size - 1,
				      &(struct sonde_gdb_blocks){ .room = 0 }),
		-EINVAL);
	return blocks;
}

/* The bytes of the block that is there, and as long; NULL. */
static const uint8_t *block_at(const struct sonde_gdb_blocks *blocks,
			       uint64_t address, uint16_t nr)
{
	const uint8_t *at = blocks->to;
	uint64_t place;
	uint16_t length;

	while (at < blocks->to + blocks->length) {
		if (*at == 'R') {
			at += 1 + SONDE_GDB_G_BYTES;
			continue;
		}
		assert_int_equal(*at, 'M');
		memcpy(&place, at + 1, 8);
		memcpy(&length, at + 9, 2);
		if (place == address && length == nr)
			return at + 11;
		at += 11 + length;
	}
	return NULL;
}

static void a_hit_becomes_gdbs_blocks(void **state)
{
	struct sonde_gdb_blocks blocks;
	struct kernel_made made;
	uint8_t bytes[4096];
	unsigned int offset;
	unsigned int size;
	uint64_t value;

	(void)state;
	make_world();
	assert_int_equal(make_of(&made, packets), 0);
	blocks = collect(&made, bytes, sizeof(bytes));
	assert_memory_equal(block_at(&blocks, NEXT, 4), "\x09\0\0\0", 4);
	assert_non_null(block_at(&blocks, RDI + 8, 8)); /* p->next */
	assert_non_null(block_at(&blocks, RDI, 24));    /* *p */
	assert_memory_equal(block_at(&blocks, TEXT, 6), "hello", 6);
	assert_int_equal(bytes[0], 'R');
	assert_true(sonde_gdb_register_place(SONDE_AGENT_RIP, &offset, &size));
	memcpy(&value, bytes + 1 + offset, 8);
	assert_int_equal(value, SITE);
	unmake(&made);
}

static void a_probe_has_what_the_tracepoint_says(void **state)
{
	struct kernel_made made;

	(void)state;
	assert_int_equal(make_of(&made, packets), 0);
	assert_int_equal(made.probe.address, SITE);
	assert_int_equal(made.probe.passes, 3);
	assert_non_null(made.probe.condition);
	assert_string_equal(made.probe.name, "vfs_read");
	assert_string_equal(made.probe.function, "vfs_read");
	assert_string_equal(sonde_desc_provider(made.probe.desc), "kgdb");
	/* struct pt_regs has no fs, nor fs_base */
	for (uint32_t i = 0; i < made.probe.nr_items; i++)
		if (made.probe.items[i].kind == SONDE_SOURCE_PROBE_REGISTERS)
			assert_int_equal(made.probe.items[i].mask,
					 (1u << (SONDE_AGENT_SS + 1)) - 1);
	unmake(&made);
}

static void what_is_not_there_has_no_block(void **state)
{
	struct sonde_gdb_blocks blocks;
	struct kernel_made made;
	uint8_t bytes[4096];

	(void)state;
	make_world();
	put(RDI + 8, 0x10, 8);
	put(RDI + 16, 0x10, 8);
	assert_int_equal(make_of(&made, packets), 0);
	blocks = collect(&made, bytes, sizeof(bytes));
	assert_non_null(block_at(&blocks, RDI + 8, 8));
	assert_null(block_at(&blocks, 0x10, 4));
	assert_null(block_at(&blocks, TEXT, 6));
	unmake(&made);
}

static void assert_refused(const char *const *from, const char *why)
{
	struct kernel_made made;

	assert_int_equal(make_of(&made, from), -EINVAL);
	assert_non_null(strstr(made.error, why));
	unmake(&made);
}

static void what_the_kernel_cannot_do_is_refused(void **state)
{
	static const char *const user[] = { "QTDP:1:401186:E:0:0", NULL };
	static const char *const steps[] = { "QTDP:1:ffffffff81401186:E:5:0-",
					     "QTDP:-1:ffffffff81401186:SR0f",
					     NULL };
	static const char *const statics[] = {
		"QTDP:1:ffffffff81401186:E:0:0:S", NULL
	};
	/* teval $x = $rdi && 1 */
	static const char *const branches[] = {
		"QTDP:1:ffffffff81401186:E:0:0-",
		"QTDP:-1:ffffffff81401186:X00000011,26000520000b22002100"
		"0d22012d000227",
		NULL
	};
	static const char *const large[] = {
		"QTDP:1:ffffffff81401186:E:0:0-",
		"QTDP:-1:ffffffff81401186:M5,0,400", NULL
	};

	(void)state;
	assert_refused(user, "no address of the kernel");
	assert_refused(steps, "while-stepping");
	assert_refused(statics, "no static tracepoint there");
	assert_refused(large, "1020 bytes");
	assert_refused(branches, "a teval isn't one assignment");
}

/* teval $x = $x + 1; collect $x; teval $y = *$rdi; if $y != 0 */
static void variables_are_the_sources(void **state)
{
	static const char *const packets_of_two[] = {
		"QTDP:1:ffffffff81401186:E:0:0:X8,2c00092200130e27-",
		/* NOLINTNEXTLINE(bugprone-suspicious-missing-comma): one */
		"QTDP:-1:ffffffff81401186:X0000000C,2c000222010216402d000"
		"227-",
		"QTDP:-1:ffffffff81401186:X00000004,2e000227-",
		"QTDP:-1:ffffffff81401186:X00000008,260005192d000927", NULL
	};
	struct kernel_made made;

	(void)state;
	if (make_of(&made, packets_of_two))
		fail_msg("%s", made.error);
	assert_int_equal(known.nr_variables, 2);
	assert_int_equal(known.variables[0], 2);
	assert_int_equal(known.variables[1], 9);
	assert_int_equal(made.probe.nr_items, 3);
	assert_int_equal(made.probe.items[0].kind, SONDE_SOURCE_PROBE_ASSIGN);
	assert_int_equal(made.probe.items[0].variable, 0);
	assert_int_equal(made.probe.items[2].variable, 1);
	unmake(&made);
}

/* ---- static tracepoints ---- */

/* One site of an event, and the event's arguments. */
static void make_markers(struct sonde_probe_markers *markers,
			 struct sonde_probe_marker list[2])
{
	static char id[] = "block:block_rq_issue";
	static char name[] = "block_rq_issue";

	list[0] = (struct sonde_probe_marker){
		.address = SITE, .id = id, .name = name, .target = SITE + 99
	};
	list[1] = (struct sonde_probe_marker){ .address = SITE + 2,
					       .id = id,
					       .name = name };
	*markers = (struct sonde_probe_markers){ .list = list, .nr = 2 };
	known.markers = *markers;
}

static void a_site_is_probed_while_its_tracepoint_is_on(void **state)
{
	static const char *const site[] = {
		"QTDP:1:ffffffff81401186:E:0:0:S:X8,2600052200130e27-",
		"QTDP:-1:ffffffff81401186:R0ffffff-",
		"QTDP:-1:ffffffff81401186:L", NULL
	};
	struct sonde_probe_markers markers;
	struct sonde_probe_marker list[2];
	struct kernel_made made;

	(void)state;
	make_markers(&markers, list);
	assert_int_equal(make_of(&made, site), 0);
	assert_string_equal(made.probe.tracepoint, "block_rq_issue");
	assert_int_equal(made.probe.target, SITE + 99);
	assert_int_equal(made.probe.address, SITE);
	assert_non_null(made.probe.condition);
	unmake(&made);
	memset(&known, 0, sizeof(known));
}

static void an_events_arguments_are_in_registers_that_it_has(void **state)
{
	static const char *const arguments[] = {
		"QTDP:1:ffffffff81401188:E:0:0:S-",
		"QTDP:-1:ffffffff81401188:R1001c", NULL
	};
	static const char *const all[] = { "QTDP:1:ffffffff81401188:E:0:0:S-",
					   "QTDP:-1:ffffffff81401188:R0ffffff",
					   NULL };
	static const char *const dynamic[] = { "QTDP:1:ffffffff81401186:E:0:0-",
					       "QTDP:-1:ffffffff81401186:L",
					       NULL };
	struct sonde_probe_markers markers;
	struct sonde_probe_marker list[2];
	struct kernel_made made;

	(void)state;
	make_markers(&markers, list);
	assert_int_equal(make_of(&made, arguments), 0);
	assert_string_equal(made.probe.tracepoint, "block_rq_issue");
	assert_int_equal(made.probe.target, 0);
	unmake(&made);
	assert_refused(all, "the event's arguments and no registers");
	assert_refused(dynamic, "static tracepoints only");
	memset(&known, 0, sizeof(known));
}

/* ---- types, by a file that runs elsewhere ---- */

#define MOVED 0xffffffff81000000ull

/* What is probed, in the place of a kernel's function. */
__attribute__((noinline)) static unsigned long
probed(const struct kernel_made *made, unsigned int count)
{
	__asm__ volatile("" : "+r"(count));
	return made->frame_bytes + count;
}

static int find_bias(struct dl_phdr_info *info, size_t size, void *to)
{
	(void)size;
	*(uint64_t *)to = info->dlpi_addr;
	return 1; /* the program is the first */
}

static void variables_in_registers_have_names_and_types(void **state)
{
	static const struct sonde_probe_debuggee whose = {
		.path = "/proc/self/exe",
		.moved = MOVED,
	};
	static const struct sonde_probe_debuggee here = {
		.path = "/proc/self/exe",
	};
	struct sonde_probe_dwarf *dwarf;
	struct sonde_fields fields;
	struct sonde_field_view field;
	struct kernel_made made;
	char packet[64];
	uint64_t bias = 0;
	uint64_t at;

	(void)state;
	make_world();
	(void)dl_iterate_phdr(find_bias, &bias);
	memset(&made, 0, sizeof(made));
	made.frame_bytes = 1;
	assert_int_equal(probed(&made, 2), 3);
	at = (uintptr_t)probed - bias;
	for (size_t i = 0; i < 3; i++) {
		static const char *const rest[][2] = {
			{ "QTDP:1:", ":E:0:0-" },
			{ "QTDP:-1:", ":R10" },
			{ "QTDPsrc:1:", ":cmd:0:d:636f6c6c65637420636f756e74" },
		};
		const char *const one[] = { packet, NULL };

		(void)snprintf(packet, sizeof(packet), "%s%llx%s", rest[i][0],
			       (unsigned long long)(at + MOVED), rest[i][1]);
		collect_define(&made.points, one);
	}
	dwarf = sonde_probe_dwarf_open(&here, at);
	if (!dwarf)
		skip(); /* built without -g */
	sonde_probe_dwarf_close(dwarf);
	sonde_probe_typing_note(&whose, &made.points, NULL);
	known.points = &made.points;
	assert_int_equal(
		sonde_probe_kernel_tracepoint(made.points.list, &known,
					      made.error, sizeof(made.error),
					      &made.probe, &made.frame_bytes),
		0);
	fields = sonde_desc_fields(made.probe.desc);
	assert_true(sonde_fields_next(&fields, &field));
	assert_string_equal(field.name, "count");
	assert_int_equal(made.probe.items[0].kind, SONDE_SOURCE_PROBE_NUMBER);
	unmake(&made);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_hit_becomes_gdbs_blocks),
		cmocka_unit_test(a_probe_has_what_the_tracepoint_says),
		cmocka_unit_test(what_is_not_there_has_no_block),
		cmocka_unit_test(what_the_kernel_cannot_do_is_refused),
		cmocka_unit_test(variables_are_the_sources),
		cmocka_unit_test(a_site_is_probed_while_its_tracepoint_is_on),
		cmocka_unit_test(
			an_events_arguments_are_in_registers_that_it_has),
		cmocka_unit_test(variables_in_registers_have_names_and_types),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
