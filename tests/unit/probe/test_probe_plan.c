/* SPDX-License-Identifier: MIT */
/*
 * Tracepoints as GDB 13.1 sent them (its packets, recorded), their events, and
 * the blocks made of what a model of the agent collects.
 */
#include "unit.h"

#include "collect_model.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/port.h"
#include "gdb/blocks.h"
#include "gdb/registers.h"
#include "probe/names.h"
#include "probe/types.h"
#include "types/desc.h"

/*
 * int work(int a, long b, struct node *p, const char *s, unsigned char uc,
 *          double d, enum color co), built with -O0:
 *
 * trace t.c:10 if a > 1
 *   collect a, b, $args, *p@2
 *   collect $locals
 *   collect/s s
 */
static const char *const packets_1[] = {
	"QTDP:1:0000000000401186:E:0:0:X13,26000622100222bc16080219162022"
	"012b1427-",
	"QTDP:-1:0000000000401186:R40-",
	"QTDP:-1:0000000000401186:X0000000F,26000622100222bc16080222040c2"
	"7X0000000F,26000622100222b016080222080c27X0000000F,2600062210022"
	"2bc16080222040c27X0000000F,26000622100222b016080222080c27-",
	"QTDP:-1:0000000000401186:X0000000F,26000622100222a816080222080c2"
	"7X0000000F,26000622100222a016080222080c27X0000000F,2600062210022"
	"2b816080222010c27X0000000F,260006221002229816080222080c27-",
	"QTDP:-1:0000000000401186:X0000000F,260006221002229416080222040c2"
	"7X00000012,26000622100222a81608020d081a22300c27X0000000F,2600062"
	"2100222ec16080222040c27X0000000F,26000622100222d016080222180c27-",
	"QTDP:-1:0000000000401186:X0000000F,26000622100222c016080222100c2"
	"7X00000013,26000622100222a01608020d081a2300c82f27",
	"QTDPsrc:1:401186:at:0:6:742e633a3130",
	"QTDPsrc:1:401186:cond:0:5:61203e2031",
	"QTDPsrc:1:401186:cmd:0:19:636f6c6c65637420612c20622c202461726773"
	"2c202a704032",
	"QTDPsrc:1:401186:cmd:0:f:636f6c6c65637420246c6f63616c73",
	"QTDPsrc:1:401186:cmd:0:b:636f6c6c6563742f732073",
	NULL,
};
/*
 * trace work
 *   collect $regs
 *   collect p->next->key, $_sdata
 *   collect/s s
 *   collect p->name, arr, d, co
 *   teval $cnt = $cnt + 1
 *   collect $cnt
 *   while-stepping 2
 *     collect $regs, local
 */
static const char *const packets_2[] = {
	"QTDP:2:0000000000401148:E:2:0-",
	"QTDP:-2:0000000000401148:L-",
	"QTDP:-2:0000000000401148:R0fffffffffffffffffffffffffffffffffffff"
	"-",
	"QTDP:-2:0000000000401148:X00000018,26000622100222a81608020d081a2"
	"208020d081a22040c27X00000013,26000622100222a01608020d081a2300c82"
	"f27X00000015,26000622100222a81608020d081a22100222080c27-",
	"QTDP:-2:0000000000401148:X0000000F,26000622100222c016080222100c2"
	"7X0000000F,260006221002229816080222080c27X0000000F,2600062210022"
	"29416080222040c27X0000000C,2c000222010216402d000227X00000008,2c0"
	"0022e00022927-",
	"QTDP:-2:0000000000401148:SR0ffffffffffffffffffffffffffffffffffff"
	"f-",
	"QTDP:-2:0000000000401148:X0000000F,26000622100222ec16080222040c2"
	"7",
	"QTDPsrc:2:401148:at:0:4:776f726b",
	"QTDPsrc:2:401148:cmd:0:d:636f6c6c656374202472656773",
	"QTDPsrc:2:401148:cmd:0:1d:636f6c6c65637420702d3e6e6578742d3e6b65"
	"792c20245f7364617461",
	"QTDPsrc:2:401148:cmd:0:b:636f6c6c6563742f732073",
	"QTDPsrc:2:401148:cmd:0:1b:636f6c6c65637420702d3e6e616d652c206172"
	"722c20642c20636f",
	"QTDPsrc:2:401148:cmd:0:15:746576616c2024636e74203d2024636e74202b"
	"2031",
	"QTDPsrc:2:401148:cmd:0:c:636f6c6c6563742024636e74",
	"QTDPsrc:2:401148:cmd:0:10:7768696c652d7374657070696e672032",
	"QTDPsrc:2:401148:cmd:0:14:636f6c6c6563742024726567732c206c6f6361"
	"6c",
	"QTDPsrc:2:401148:cmd:0:3:656e64",
	"QTDV:2:0000000000000003:0:636e74",
	NULL,
};
/*
 * trace t.c:11
 *   collect $_ret, local + 1, *p, glob, $rip, $rax, loc.key, loc
 *   collect/s10 s
 *   collect *(long*)&d, arr[1], arr[a], *arr@2
 *
 * (glob has been moved to where the test has memory.)
 */
static const char *const packets_3[] = {
	"QTDP:3:00000000004011a8:E:0:0-",
	"QTDP:-3:00000000004011a8:R010041-",
	"QTDP:-3:00000000004011a8:M-1,7fff0400,4X0000000A,26000622080222080"
	"c27X00000017,26000622100222ec1608020d0419162022010216202927X0000"
	"0012,26000622100222a81608020d081a22180c27X0000000F,2600062210022"
	"2d016080222040c27-",
	"QTDP:-3:00000000004011a8:X0000000F,26000622100222d016080222180c2"
	"7X00000012,26000622100222a01608020d081a220a2f27X0000000F,2600062"
	"21002229816080222080c27X00000017,26000622100222c0160802220122040"
	"4022a4022040c27-",
	"QTDP:-3:00000000004011a8:X00000025,26000622100222c01608022600062"
	"2100222bc1608020d04191620220404022a4022040c27X0000000F,260006221"
	"00222c016080222080c27",
	"QTDPsrc:3:4011a8:at:0:e:2f746d702f68372f742e633a3131",
	"QTDPsrc:3:4011a8:cmd:0:3c:636f6c6c65637420245f7265742c206c6f6361"
	"6c202b20312c202a702c20676c6f622c20247269702c20247261782c206c6f63"
	"2e6b65792c206c6f63",
	"QTDPsrc:3:4011a8:cmd:0:d:636f6c6c6563742f7331302073",
	"QTDPsrc:3:4011a8:cmd:0:2a:636f6c6c656374202a286c6f6e672a2926642c"
	"206172725b315d2c206172725b615d2c202a6172724032",
	NULL,
};
static struct collect_world world;

/* The frame's locals of `work`, at rbp. */
enum {
	RBP = 0x7fff0800,
	NODE = 0x7fff0100,
	NEXT = 0x7fff0200,
	TEXT = 0x7fff0300,
};

static void put(uint64_t address, const void *bytes, size_t nr)
{
	memcpy(world.memory + (address - COLLECT_BASE), bytes, nr);
}

static void put_int(uint64_t address, int32_t value)
{
	put(address, &value, sizeof(value));
}

static void put_address(uint64_t address, uint64_t value)
{
	put(address, &value, sizeof(value));
}

static void make_world(void)
{
	memset(&world, 0, sizeof(world));
	for (size_t i = 0; i < COLLECT_MEMORY; i++)
		world.memory[i] = (uint8_t)(i * 7);
	for (unsigned int i = 0; i < SONDE_AGENT_REGISTERS; i++)
		world.registers[i] = 0x1000 + i;
	world.registers[SONDE_AGENT_RBP] = RBP;
	put_int(RBP + 16 - 0x54, 42);       /* a */
	put_int(RBP + 16 - 0x24, 1000);     /* local: at 0xec */
	put_address(RBP + 16 - 0x60, TEXT); /* s */
	put_address(RBP + 16 - 0x58, NODE); /* p: at 0xa8 */
	put_address(NODE + 8, NEXT);
	put_int(NODE, 7);
	put_int(NEXT, 9);
	put(TEXT, "hello", 6);
	world.variables[2] = 3;
}
/* The fields' names, "a b c". */
static void names_of(const struct sonde_desc *desc, char *to, size_t size)
{
	struct sonde_fields it = sonde_desc_fields(desc);
	struct sonde_field_view field;
	size_t n = 0;

	to[0] = '\0';
	while (sonde_fields_next(&it, &field))
		n += (size_t)snprintf(to + n, size - n, "%s%s", n ? "|" : "",
				      field.name);
}

static void assert_fields(const struct sonde_desc *desc, const char *expected)
{
	char names[2048];

	names_of(desc, names, sizeof(names));
	assert_string_equal(names, expected);
}

struct made {
	struct sonde_probe_points points;
	struct sonde_probe_plan plan;
};

static void make(struct made *made, const char *const *packets)
{
	char error[256];
	int rc;

	memset(made, 0, sizeof(*made));
	collect_define(&made->points, packets);
	rc = sonde_probe_plan_make(&made->points.list[0], &made->points, error,
				   sizeof(error), &made->plan);
	if (rc)
		print_error("%s\n", error);
	assert_int_equal(rc, 0);
}

static void unmake(struct made *made)
{
	sonde_probe_plan_free(&made->plan);
	sonde_probe_points_clear(&made->points);
}

static void fields_have_the_names_that_the_user_typed(void **state)
{
	struct made made;

	(void)state;
	make(&made, packets_1);
	assert_string_equal(sonde_desc_provider(made.plan.hit.desc), "gdb");
	assert_string_equal(sonde_desc_name(made.plan.hit.desc), "t_c_10");
	assert_non_null(made.plan.condition);
	/* a, b come again in $args, which is several */
	assert_fields(made.plan.hit.desc,
		      "a|b|m0|m1|m2|m3|m4|m5|m6|m7|m8|m9|s|s|regs|at");
	unmake(&made);

	make(&made, packets_2);
	assert_string_equal(sonde_desc_name(made.plan.hit.desc), "work");
	assert_true(made.plan.hit.has_static_data);
	assert_fields(made.plan.hit.desc,
		      "p|p->next|p->next->key|s|s|p|p->name|arr|d|co|$cnt|regs|"
		      "at");
	assert_string_equal(sonde_desc_name(made.plan.step.desc), "work.step");
	assert_fields(made.plan.step.desc, "local|regs|at");
	unmake(&made);

	/* glob, loc.key, loc and s: one of them is no expression */
	make(&made, packets_3);
	assert_fields(made.plan.hit.desc,
		      "m0|$_ret|local|local + 1|p|*p|m1|m2|m3|m4|"
		      "*(long*)&d|arr[1]|a|arr[a]|*arr@2|regs|at");
	unmake(&made);
}

/* collect n, local, $args, *p; collect/s text;
 * collect p->next->key, local + 1, glob */
static void a_static_variable_among_others_is_told_apart(void **state)
{
	static const char *const lines[] = {
		"T1:556ae11a916c:E:0:0:X17,26000622100222dc160802191620220a07162022031327",
		"A1:556ae11a916c:R40",
		"A1:556ae11a916c:M-1,556ae11ac01c,4",
		"A1:556ae11a916c:X0000000F,26000622100222dc16080222040c27",
		"A1:556ae11a916c:X0000000F,26000622100222ec16080222040c27",
		"A1:556ae11a916c:X0000000F,26000622100222dc16080222040c27",
		"A1:556ae11a916c:X0000000F,26000622100222d016080222080c27",
		"A1:556ae11a916c:X0000000F,26000622100222c816080222080c27",
		"A1:556ae11a916c:X0000000F,26000622100222c016080222080c27",
		"A1:556ae11a916c:X00000012,26000622100222d01608020d081a22180c27",
		"A1:556ae11a916c:X00000013,26000622100222c81608020d081a2300c82f27",
		"A1:556ae11a916c:X00000018,26000622100222d01608020d081a2208020d081a22040c27",
		"A1:556ae11a916c:X00000017,26000622100222ec1608020d0419162022010216202927",
		"Z1:556ae11a916c:at:0:9:6c6976652e633a3131",
		"Z1:556ae11a916c:cond:0:b:6e2025203130203d3d2033",
		"Z1:556ae11a916c:cmd:0:1b:636f6c6c656374206e2c206c6f63616c2c2024617267732c202a70",
		"Z1:556ae11a916c:cmd:0:e:636f6c6c6563742f732074657874",
		"Z1:556ae11a916c:cmd:0:25:636f6c6c65637420702d3e6e6578742d3e6b65792c206c6f63616c202b20312c20676c6f62",
	};
	struct sonde_probe_points points = { 0 };
	struct sonde_probe_plan plan;
	char error[256];

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		assert_int_equal(
			sonde_probe_points_read_line(&points, lines[i]), 0);
	assert_int_equal(sonde_probe_plan_make(points.list, &points, error,
					       sizeof(error), &plan),
			 0);
	assert_fields(plan.hit.desc,
		      "m0|n|local|m1|m2|m3|p|*p|text|text|p|p->next|"
		      "p->next->key|local|local + 1|regs|at");
	sonde_probe_plan_free(&plan);
	sonde_probe_points_clear(&points);
}

/* ---- blocks ---- */

struct frame {
	uint8_t bytes[16384];
	struct sonde_gdb_blocks blocks;
};

static int frame_of(struct made *made, const struct sonde_probe_plan_part *part,
		    const uint8_t *payload, size_t size, struct frame *frame)
{
	memset(frame, 0, sizeof(*frame));
	frame->blocks.to = frame->bytes;
	frame->blocks.room = sizeof(frame->bytes);
	return sonde_gdb_blocks_make(&made->plan, part, payload, size,
				     &frame->blocks);
}

/* All of a frame's memory is the world's; whether [address, +nr) is in it. */
static bool holds(const struct frame *frame, uint64_t address, uint16_t nr)
{
	const uint8_t *at = frame->bytes;
	const uint8_t *end = at + frame->blocks.length;
	bool found = false;
	uint64_t place;
	uint16_t length;

	while (at < end) {
		if (*at == 'R') {
			at += 1 + SONDE_GDB_G_BYTES;
		} else if (*at == 'V') {
			at += 13;
		} else {
			assert_int_equal(*at, 'M');
			memcpy(&place, at + 1, 8);
			memcpy(&length, at + 9, 2);
			assert_in_range(place, COLLECT_BASE,
					COLLECT_BASE + COLLECT_MEMORY - length);
			assert_memory_equal(
				at + 11, world.memory + (place - COLLECT_BASE),
				length);
			found = found || (place == address && length == nr);
			at += 11 + length;
		}
	}
	assert_ptr_equal(at, end);
	return found;
}

static void collect(struct made *made, const struct sonde_probe_plan_part *part,
		    struct frame *frame)
{
	uint8_t payload[SONDE_AGENT_STAGE];
	size_t size = collect_hit(&world, &made->plan, part, payload);

	assert_int_equal(frame_of(made, part, payload, size, frame), 0);
}

static void blocks_hold_what_memory_held(void **state)
{
	struct frame frame;
	struct made made;

	(void)state;
	make_world();
	make(&made, packets_1);
	collect(&made, &made.plan.hit, &frame);
	assert_true(holds(&frame, RBP + 16 - 68, 4)); /* a */
	assert_true(holds(&frame, NODE, 48));         /* *p@2 */
	assert_true(holds(&frame, TEXT, 6));          /* with its NUL */
	unmake(&made);

	make(&made, packets_2);
	collect(&made, &made.plan.hit, &frame);
	assert_true(holds(&frame, NODE + 8, 8)); /* p->next */
	assert_true(holds(&frame, NEXT, 4));     /* ->key */
	assert_int_equal(world.variables[2], 4); /* teval */
	collect(&made, &made.plan.step, &frame);
	assert_true(holds(&frame, RBP + 16 - 20, 4)); /* local */
	unmake(&made);

	make(&made, packets_3);
	collect(&made, &made.plan.hit, &frame);
	assert_true(holds(&frame, 0x7fff0400, 4)); /* glob */
	assert_true(holds(&frame, NODE, 24));      /* *p */
	unmake(&made);
}

static void registers_are_at_their_places(void **state)
{
	unsigned int offset;
	unsigned int size;
	struct frame frame;
	struct made made;
	uint64_t value;

	(void)state;
	make_world();
	make(&made, packets_1); /* R40: rbp */
	collect(&made, &made.plan.hit, &frame);
	assert_int_equal(frame.bytes[0], 'R');
	assert_true(sonde_gdb_register_place(SONDE_AGENT_RBP, &offset, &size));
	memcpy(&value, frame.bytes + 1 + offset, 8);
	assert_int_equal(value, RBP);
	assert_true(sonde_gdb_register_place(SONDE_AGENT_RIP, &offset, &size));
	memcpy(&value, frame.bytes + 1 + offset, 8);
	assert_int_equal(value, 0x401186);
	assert_int_equal(frame.blocks.registers,
			 1u << SONDE_AGENT_RBP | 1u << SONDE_AGENT_RIP);
	unmake(&made);
}

static void what_can_not_be_read_has_no_block(void **state)
{
	struct frame frame;
	struct made made;

	(void)state;
	make_world();
	put_address(RBP + 16 - 88, 0x10); /* p */
	make(&made, packets_2);
	collect(&made, &made.plan.hit, &frame);
	assert_true(holds(&frame, RBP + 16 - 88, 8));
	assert_false(holds(&frame, NEXT, 4));
	unmake(&made);
}

static void a_range_too_long_for_a_field_becomes_blocks(void **state)
{
	static const char *const packets[] = {
		"QTDP:7:401000:E:0:0-",
		"QTDP:-7:401000:M-1,7fff0000,600",
		NULL,
	};
	struct frame frame;
	struct made made;

	(void)state;
	make_world();
	make(&made, packets);
	assert_fields(made.plan.hit.desc, "blocks");
	collect(&made, &made.plan.hit, &frame);
	assert_true(holds(&frame, 0x7fff0000, 0x600));
	unmake(&made);
}

static void expressions_with_branches_become_blocks(void **state)
{
	static const char *const packets[] = {
		"QTDP:7:401000:E:0:0-",
		/* it reads address 16, which fails, and would branch */
		"QTDP:-7:401000:X7,22101920000627-",
		/* 0: const32 NODE; 5: trace_quick 4; 7: ref32; 8: if_goto 19;
		 * 11: const32 TEXT; 16: goto 24; 19: const32 NEXT;
		 * 24: const8 4; 26: trace; 27: end */
		"QTDP:-7:401000:X1C,247fff01000d0419200013247fff0300210018247f"
		"ff020022040c27",
		NULL,
	};
	struct frame frame;
	struct made made;

	(void)state;
	make_world();
	make(&made, packets);
	assert_fields(made.plan.hit.desc, "blocks");
	collect(&made, &made.plan.hit, &frame);
	assert_true(holds(&frame, NODE, 4));
	assert_true(holds(&frame, NEXT, 4)); /* as what is at NODE isn't 0 */
	put_int(NODE, 0);
	collect(&made, &made.plan.hit, &frame);
	assert_false(holds(&frame, NEXT, 4));
	assert_true(holds(&frame, TEXT, 4));
	unmake(&made);
}

static void more_expressions_than_fields_become_blocks(void **state)
{
	char packets[62][64];
	const char *list[63] = { NULL };
	struct frame frame;
	struct made made;

	(void)state;
	make_world();
	strcpy(packets[0], "QTDP:7:401000:E:0:0-");
	for (int i = 0; i < 62; i++) {
		if (i > 0)
			(void)snprintf(packets[i], sizeof(packets[i]),
				       "QTDP:-7:401000:XA,24%08x22020c2727%s",
				       0x7fff0000 + 16 * i, i < 61 ? "-" : "");
		list[i] = packets[i];
	}
	make(&made, list);
	collect(&made, &made.plan.hit, &frame);
	for (uint64_t i = 1; i < 62; i++)
		assert_true(holds(&frame, COLLECT_BASE + 16 * i, 2));
	unmake(&made);
}

static void a_payload_that_is_cut_or_wrong_is_refused(void **state)
{
	uint8_t payload[SONDE_AGENT_STAGE];
	uint8_t wrong[SONDE_AGENT_STAGE];
	struct frame frame;
	struct made made;
	size_t size;

	(void)state;
	make_world();
	make(&made, packets_3);
	size = collect_hit(&world, &made.plan, &made.plan.hit, payload);
	for (size_t cut = 0; cut < size; cut++)
		assert_int_equal(frame_of(&made, &made.plan.hit, payload, cut,
					  &frame),
				 -EINVAL);
	payload[size] = 0;
	assert_int_equal(frame_of(&made, &made.plan.hit, payload, size + 1,
				  &frame),
			 -EINVAL);
	/* whatever is in it, no byte outside is looked at (ASan) */
	for (size_t i = 0; i < size; i++) {
		memcpy(wrong, payload, size);
		wrong[i] ^= 0xff;
		(void)frame_of(&made, &made.plan.hit, wrong, size, &frame);
	}
	unmake(&made);
}

static void a_bad_expression_is_told_with_its_tracepoint(void **state)
{
	static const char *const packets[] = {
		"QTDP:7:401000:E:0:0-",
		"QTDP:-7:401000:X2,0127",
		NULL,
	};
	struct sonde_probe_points points = { 0 };
	struct sonde_probe_plan plan;
	char error[256];

	(void)state;
	collect_define(&points, packets);
	assert_int_equal(sonde_probe_plan_make(points.list, &points, error,
					       sizeof(error), &plan),
			 -EINVAL);
	assert_non_null(strstr(error, "tracepoint 7: "));
	sonde_probe_points_clear(&points);
}

static void types_are_what_the_lines_say(void **state)
{
	static const char *const packets[] = {
		"QTDP:1:401000:E:0:0-",
		"QTDP:-1:401000:R04-",
		"QTDP:-1:401000:M-1,7fff0400,8",
		NULL,
	};
	struct sonde_probe_points points = { 0 };
	struct sonde_probe_type type;
	struct sonde_probe_plan plan;
	char error[256];

	(void)state;
	collect_define(&points, packets);
	assert_int_equal(sonde_probe_points_note(points.list, "type",
						 "A1.0:f64:price"),
			 0);
	assert_int_equal(sonde_probe_points_note(points.list, "type",
						 "R2:es32{READY=1}:state"),
			 0);
	assert_true(sonde_probe_types_of_read(points.list, 1, 0, &type));
	assert_int_equal(type.letter, 'f');
	assert_int_equal(sonde_probe_type_bytes(&type), 8);
	assert_string_equal(type.name, "price");
	assert_int_equal(sonde_probe_plan_make(points.list, &points, error,
					       sizeof(error), &plan),
			 0);
	/* the range, the register's value, the registers, the addresses */
	assert_int_equal(plan.hit.nr_items, 4);
	assert_int_equal(plan.hit.items[1].kind, SONDE_AGENT_ITEM_VALUE);
	sonde_probe_plan_free(&plan);
	sonde_probe_points_forget(points.list, "type");
	assert_false(sonde_probe_types_of_read(points.list, 1, 0, &type));
	sonde_probe_points_clear(&points);
}

static void a_line_that_is_no_type_counts_for_nothing(void **state)
{
	static const char *const wrong[] = {
		"",         "f16:x",      "s32",     "s7:x",        "q8:x",
		"e32:x",    "es32{A=1:x", "s32*0:x", "s32*70000:x", "t0:x",
		"t99999:x", "f64*2:x",    "s-8:x",   "s 8:x",
	};
	struct sonde_probe_type type;

	(void)state;
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(wrong); i++)
		assert_false(sonde_probe_type_parse(wrong[i], &type));
	assert_true(sonde_probe_type_parse("es32{A=1,B=-2}*3:x", &type));
	assert_int_equal(sonde_probe_type_bytes(&type), 12);
}

static void two_tracepoints_of_one_place_have_two_names(void **state)
{
	static const char *const packets[] = {
		"QTDP:1:401000:E:0:0",
		"QTDPsrc:1:401000:at:0:4:776f726b",
		"QTDP:2:401000:E:0:0",
		"QTDPsrc:2:401000:at:0:4:776f726b",
		"QTDP:3:401000:E:0:0",
		"QTDPsrc:3:401000:at:0:8:2a30783430313030",
		"QTDP:1:402000:E:0:0",
		"QTDPsrc:1:402000:at:0:4:776f726b",
		NULL,
	};
	static const char *const expected[] = { "work", "work.2", "tp3",
						"work.3" };
	struct sonde_probe_points points = { 0 };
	char name[256];

	(void)state;
	collect_define(&points, packets);
	for (size_t i = 0; i < 4; i++) {
		sonde_probe_name_point(&points.list[i], &points, name,
				       sizeof(name));
		assert_string_equal(name, expected[i]);
	}
	sonde_probe_points_clear(&points);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fields_have_the_names_that_the_user_typed),
		cmocka_unit_test(a_static_variable_among_others_is_told_apart),
		cmocka_unit_test(blocks_hold_what_memory_held),
		cmocka_unit_test(registers_are_at_their_places),
		cmocka_unit_test(what_can_not_be_read_has_no_block),
		cmocka_unit_test(a_range_too_long_for_a_field_becomes_blocks),
		cmocka_unit_test(expressions_with_branches_become_blocks),
		cmocka_unit_test(more_expressions_than_fields_become_blocks),
		cmocka_unit_test(a_payload_that_is_cut_or_wrong_is_refused),
		cmocka_unit_test(a_bad_expression_is_told_with_its_tracepoint),
		cmocka_unit_test(types_are_what_the_lines_say),
		cmocka_unit_test(a_line_that_is_no_type_counts_for_nothing),
		cmocka_unit_test(two_tracepoints_of_one_place_have_two_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
