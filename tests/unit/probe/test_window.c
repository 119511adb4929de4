/* SPDX-License-Identifier: MIT */
/*
 * test_window.c - which bytes a jump may replace, and what becomes of the
 * instructions it replaces when they run elsewhere.
 *
 * By hand-written functions, and by all those of the C library.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/port.h"
#include "probe/inject/functions.h"
#include "probe/inject/insn.h"
#include "probe/inject/relocate.h"
#include "probe/inject/window.h"

#define AT 0x400000u

#define CODE(...)                           \
	((const uint8_t[]){ __VA_ARGS__ }), \
		sizeof((const uint8_t[]){ __VA_ARGS__ })

static const void *pointer(uint64_t address)
{
	union {
		uint64_t address;
		const void *pointer;
	} u = { .address = address };

	return u.pointer;
}

static int choose_behind(const uint8_t *bytes, size_t size, size_t behind,
			 unsigned int offset, struct sonde_window *ret)
{
	const struct sonde_code_view view = {
		.bytes = bytes,
		.address = AT,
		.size = size - behind,
		.behind = behind,
		.is_function = true,
	};
	const char *reason = NULL;

	memset(ret, 0, sizeof(*ret));
	return sonde_window_choose(&view, AT + offset, ret, &reason);
}

static int choose(const uint8_t *bytes, size_t size, unsigned int offset,
		  struct sonde_window *ret)
{
	return choose_behind(bytes, size, 0, offset, ret);
}

static void one_long_instruction_is_a_window(void **state)
{
	struct sonde_window w;

	(void)state;
	/* mov $1,%eax; ret */
	assert_int_equal(choose(CODE(0xb8, 1, 0, 0, 0, 0xc3), 0, &w), 0);
	assert_int_equal(w.kind, SONDE_WINDOW_SINGLE);
	assert_int_equal(w.nr_bytes, 5);
	assert_int_equal(w.mask, 0);
	/* the 5-byte nop of tracepoints */
	assert_int_equal(choose(CODE(0x0f, 0x1f, 0x44, 0, 0, 0xc3), 0, &w), 0);
	assert_int_equal(w.kind, SONDE_WINDOW_SINGLE);
}

static void several_are_punned_where_they_begin(void **state)
{
	struct sonde_window w;

	(void)state;
	/* push %rbp; mov %rsp,%rbp; push %rbx; ret */
	assert_int_equal(
		choose(CODE(0x55, 0x48, 0x89, 0xe5, 0x53, 0xc3), 0, &w), 0);
	assert_int_equal(w.kind, SONDE_WINDOW_PUNNED);
	assert_int_equal(w.nr_insns, 3);
	assert_int_equal(w.nr_bytes, 5);
	assert_int_equal(w.starts[1], 1);
	assert_int_equal(w.starts[2], 4);
	assert_int_equal(w.mask, 0xff0000ff);
	assert_int_equal(w.value, 0xcc0000cc);
	assert_true(w.can_be_free);
}

static void a_probe_at_endbr64_goes_behind_it(void **state)
{
	struct sonde_window w;

	(void)state;
	assert_int_equal(
		choose(CODE(0xf3, 0x0f, 0x1e, 0xfa, 0xb8, 1, 0, 0, 0, 0xc3), 0,
		       &w),
		0);
	assert_int_equal(w.address, AT + 4);
	/* and none is inside a window: nop; endbr64 */
	assert_int_equal(
		choose(CODE(0x90, 0xf3, 0x0f, 0x1e, 0xfa, 0xc3), 0, &w), 0);
	assert_int_equal(w.kind, SONDE_WINDOW_TRAP);
}

static void a_loop_head_is_not_inside(void **state)
{
	/* 0: inc %eax; 2: dec %ecx; 4: nop; 5: jnz 2; 7: ret */
	static const uint8_t code[] = { 0xff, 0xc0, 0xff, 0xc9,
					0x90, 0x75, 0xfb, 0xc3 };
	struct sonde_window w;

	(void)state;
	assert_int_equal(choose(code, sizeof(code), 0, &w), 0);
	assert_int_equal(w.kind, SONDE_WINDOW_TRAP);
	assert_int_equal(w.nr_bytes, 2);
	assert_int_equal(w.nr_insns, 1);
	assert_int_equal(choose(code, sizeof(code), 2, &w), 0);
	assert_int_equal(w.kind, SONDE_WINDOW_PUNNED);
}

static void a_forward_branch_inside_is_not_free(void **state)
{
	/* 0: jz 4; 2: inc %eax; 4: dec %ecx; 6: ret */
	static const uint8_t code[] = {
		0x74, 0x02, 0xff, 0xc0, 0xff, 0xc9, 0xc3
	};
	struct sonde_window w;

	(void)state;
	assert_int_equal(choose(code, sizeof(code), 2, &w), 0);
	assert_int_equal(w.kind, SONDE_WINDOW_PUNNED);
	assert_false(w.can_be_free);
}

static void a_branch_into_an_instruction_is_respected(void **state)
{
	/* 0: jmp 3; 2: mov $0x90..,%eax (3 is inside); 7: ret */
	static const uint8_t code[] = { 0xeb, 0x01, 0xb8, 0x90,
					0x90, 0x90, 0x90, 0xc3 };
	struct sonde_window w;

	(void)state;
	assert_int_equal(choose(code, sizeof(code), 2, &w), 0);
	assert_int_equal(w.kind, SONDE_WINDOW_TRAP);
}

static void nothing_behind_the_function_but_padding(void **state)
{
	struct sonde_window w;

	(void)state;
	/* xor %eax,%eax; ret; and three bytes of another */
	assert_int_equal(choose_behind(CODE(0x31, 0xc0, 0xc3, 0xff, 0xc0, 0xc3),
				       3, 0, &w),
			 0);
	assert_int_equal(w.kind, SONDE_WINDOW_TRAP);
	/* int3s, nops */
	assert_int_equal(
		choose_behind(CODE(0x31, 0xc0, 0xc3, 0xcc, 0xcc), 2, 0, &w), 0);
	assert_int_equal(w.kind, SONDE_WINDOW_PUNNED);
	assert_int_equal(
		choose_behind(CODE(0x31, 0xc0, 0xc3, 0x66, 0x90), 2, 0, &w), 0);
	assert_int_equal(w.kind, SONDE_WINDOW_PUNNED);
	assert_int_equal(w.mask, 0x0000ff00 | 0xff0000);
	/* the padding ends too early */
	assert_int_equal(choose_behind(CODE(0x31, 0xc0, 0xc3, 0x90), 1, 0, &w),
			 0);
	assert_int_equal(w.kind, SONDE_WINDOW_TRAP);
}

static void what_follows_a_jump_may_be_data(void **state)
{
	/* 0: ret; 1: bytes that no branch leads to */
	static const uint8_t data[] = { 0xc3, 0xff, 0xc0, 0xff, 0xc9, 0xc3 };
	/* 0: jz 3; 2: ret; 3: inc %eax; 5: dec %ecx; 7: ret */
	static const uint8_t code[] = { 0x74, 0x01, 0xc3, 0xff,
					0xc0, 0xff, 0xc9, 0xc3 };
	struct sonde_window w;

	(void)state;
	assert_int_equal(choose(data, sizeof(data), 0, &w), 0);
	assert_int_equal(w.kind, SONDE_WINDOW_TRAP);
	assert_int_equal(choose(code, sizeof(code), 2, &w), 0);
	assert_int_equal(w.kind, SONDE_WINDOW_PUNNED);
}

static void an_indirect_jump_leaves_nothing_free(void **state)
{
	struct sonde_window w;

	(void)state;
	/* inc %eax; dec %ecx; nop; jmp *%rdx */
	assert_int_equal(choose(CODE(0xff, 0xc0, 0xff, 0xc9, 0x90, 0xff, 0xe2),
				0, &w),
			 0);
	assert_int_equal(w.kind, SONDE_WINDOW_PUNNED);
	assert_false(w.can_be_free);
}

static void a_call_inside_is_not_free(void **state)
{
	struct sonde_window w;

	(void)state;
	/* call *%rax; inc %eax; nop; ret */
	assert_int_equal(
		choose(CODE(0xff, 0xd0, 0xff, 0xc0, 0x90, 0xc3), 0, &w), 0);
	assert_int_equal(w.kind, SONDE_WINDOW_PUNNED);
	assert_false(w.can_be_free);
}

static void no_ops_at_a_functions_begin_are_free(void **state)
{
	/* 0: five no-ops; 5: jmp *%rdx */
	static const uint8_t code[] = {
		0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0xe2
	};
	/* 0: inc %eax; 2: five no-ops; 7: jmp *%rdx */
	static const uint8_t later[] = { 0xff, 0xc0, 0x90, 0x90, 0x90,
					 0x90, 0x90, 0xff, 0xe2 };
	/* 0: endbr64; 4: five no-ops; 9: jmp *%rdx */
	static const uint8_t behind[] = { 0xf3, 0x0f, 0x1e, 0xfa, 0x90, 0x90,
					  0x90, 0x90, 0x90, 0xff, 0xe2 };
	/* 0: five no-ops; 5: jmp 2 */
	static const uint8_t loop[] = {
		0x90, 0x90, 0x90, 0x90, 0x90, 0xeb, 0xfb
	};
	struct sonde_window w;

	(void)state;
	assert_int_equal(choose(code, sizeof(code), 0, &w), 0);
	assert_int_equal(w.kind, SONDE_WINDOW_PUNNED);
	assert_true(w.can_be_free);
	assert_int_equal(choose(behind, sizeof(behind), 0, &w), 0);
	assert_true(w.can_be_free);
	assert_int_equal(choose(later, sizeof(later), 2, &w), 0);
	assert_false(w.can_be_free);
	assert_int_equal(choose(loop, sizeof(loop), 0, &w), 0);
	assert_false(w.can_be_free);
}

static void what_a_table_may_lead_behind_the_jump_to_is_told(void **state)
{
	/* 0: mov $7,%eax; 5: pop %rcx; 6: ret; 7: jmp *%rdx */
	static const uint8_t code[] = {
		0xb8, 7, 0, 0, 0, 0x59, 0xc3, 0xff, 0xe2
	};
	const struct sonde_code_view view = {
		.bytes = code,
		.address = AT,
		.size = sizeof(code),
		.is_function = true,
	};
	struct sonde_window w;
	const char *reason;

	(void)state;
	assert_int_equal(
		sonde_window_choose_through(&view, AT, AT + 6, &w, &reason), 0);
	assert_int_equal(w.nr_insns, 3);
	assert_int_equal(w.nr_trapped, 1);
	assert_true(w.may_be_entered);
	assert_int_equal(choose(code, sizeof(code), 5, &w), 0);
	assert_int_equal(w.nr_trapped, w.nr_insns);
}

static void what_cannot_be_probed_says_why(void **state)
{
	struct sonde_window w;

	(void)state;
	assert_int_equal(choose(CODE(0xcc, 0xc3), 0, &w), -EOPNOTSUPP);
	assert_int_equal(choose(CODE(0x0f, 0x0b, 0xc3), 0, &w), -EOPNOTSUPP);
	/* xbegin */
	assert_int_equal(choose(CODE(0xc7, 0xf8, 0, 0, 0, 0, 0xc3), 0, &w),
			 -EOPNOTSUPP);
	/* inside an instruction; outside the function */
	assert_int_equal(choose(CODE(0xb8, 0x90, 0x90, 0x90, 0x90, 0xc3), 1,
				&w),
			 -EINVAL);
	assert_int_equal(choose(CODE(0xc3), 1, &w), -EINVAL);
}

static void flags_are_dead_where_they_are_written_first(void **state)
{
	struct sonde_window w;

	(void)state;
	/* mov $1,%eax; add $1,%eax; ret */
	assert_int_equal(
		choose(CODE(0xb8, 1, 0, 0, 0, 0x83, 0xc0, 1, 0xc3), 0, &w), 0);
	assert_true(w.flags_are_dead);
	/* mov $1,%eax; adc $1,%eax: reads CF */
	assert_int_equal(
		choose(CODE(0xb8, 1, 0, 0, 0, 0x83, 0xd0, 1, 0xc3), 0, &w), 0);
	assert_false(w.flags_are_dead);
	/* mov $1,%eax; inc %eax leaves CF; ret */
	assert_int_equal(
		choose(CODE(0xb8, 1, 0, 0, 0, 0xff, 0xc0, 0xc3), 0, &w), 0);
	assert_false(w.flags_are_dead);
	/* mov $1,%eax; shl %cl,%eax may leave all */
	assert_int_equal(
		choose(CODE(0xb8, 1, 0, 0, 0, 0xd3, 0xe0, 0xc3), 0, &w), 0);
	assert_false(w.flags_are_dead);
	/* mov $1,%eax; pushfq; pop %rdx; ... */
	assert_int_equal(
		choose(CODE(0xb8, 1, 0, 0, 0, 0x9c, 0x5a, 0x31, 0xc0, 0xc3), 0,
		       &w),
		0);
	assert_false(w.flags_are_dead);
}

/* ---- relocation ---- */

static int32_t disp_at(const uint8_t *bytes)
{
	int32_t disp;

	memcpy(&disp, bytes, sizeof(disp));
	return disp;
}

static void a_far_place_is_refused(void **state)
{
	/* mov 0x1000(%rip),%rax; call, jz */
	static const uint8_t codes[][7] = {
		{ 0x48, 0x8b, 0x05, 0, 0x10, 0, 0 },
		{ 0xe8, 0, 0x10, 0, 0, 0x90, 0x90 },
		{ 0x74, 0x10, 0x90, 0x90, 0x90, 0x90, 0x90 },
	};
	struct sonde_moved moved;

	(void)state;
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(codes); i++) {
		assert_int_equal(sonde_relocate(codes[i], 7, AT,
						AT + 0x90000000u, &moved),
				 -ERANGE);
		assert_int_equal(sonde_relocate(codes[i], 7, AT,
						AT + 0x10000000u, &moved),
				 0);
	}
}

static void a_call_pushes_the_address_it_was_to_return_to(void **state)
{
	static const uint8_t code[] = { 0xe8, 0, 0x10, 0, 0 };
	struct sonde_moved moved;
	uint64_t back;

	(void)state;
	assert_int_equal(
		sonde_relocate(code, sizeof(code), AT, AT + 0x5000, &moved), 0);
	memcpy(&back, moved.bytes + 6 + disp_at(moved.bytes + 2), sizeof(back));
	assert_int_equal(back, AT + 5);
	assert_int_equal(AT + 0x5000 + moved.target_at + 4 +
				 disp_at(moved.bytes + moved.target_at),
			 AT + 5 + 0x1000);
	assert_false(moved.goes_on);
}

/* ---- all of the C library ---- */

static int read_own(void *ctx, uint64_t address, void *to, size_t size)
{
	(void)ctx;
	memcpy(to, pointer(address), size);
	return 0;
}

static const struct sonde_functions_memory own = { .read = read_own };

static uint64_t libc_image(void)
{
	uint64_t at = (uint64_t)(uintptr_t)&abort & -4096ull;

	while (memcmp(pointer(at), "\177ELF", 4) != 0)
		at -= 4096;
	return at;
}

typedef void on_function(const struct sonde_code_view *view, uint64_t *count);

static uint64_t each_function(on_function *visit)
{
	struct sonde_functions *functions;
	uint64_t count = 0;

	assert_int_equal(sonde_functions_new(&own, libc_image(), &functions),
			 0);
	for (size_t i = 0; i < sonde_functions_nr(functions); i++) {
		struct sonde_function f;
		if (!sonde_functions_get(functions, &own, i, &f))
			continue;
		struct sonde_code_view view = {
			.bytes = pointer(f.start),
			.address = f.start,
			.size = (size_t)(f.end - f.start),
			.behind = 0,
			.is_function = true,
			.has_handlers = f.has_handlers,
		};
		visit(&view, &count);
	}
	sonde_functions_free(functions);
	return count;
}

/* Where the moved instruction's memory operand, or target, is: the same. */
static void check_moved(const struct sonde_insn *insn, uint64_t from,
			const struct sonde_moved *moved, uint64_t to)
{
	const uint8_t *bytes = pointer(from);
	struct sonde_insn again;

	if (moved->target_at) {
		assert_int_equal(
			to + moved->target_at + 4 +
				(uint64_t)(int64_t)disp_at(moved->bytes +
							   moved->target_at),
			insn->target);
		return;
	}
	if (insn->flow == SONDE_INSN_CALL_INDIRECT || insn->is_nop)
		return;
	assert_int_equal(sonde_insn_decode(moved->bytes, moved->nr_bytes, to,
					   &again),
			 0);
	assert_int_equal(again.length, insn->length);
	assert_int_equal(again.rip_at, insn->rip_at);
	if (!insn->rip_at) {
		assert_memory_equal(bytes, moved->bytes, insn->length);
		return;
	}
	assert_int_equal(
		to + (uint64_t)(int64_t)disp_at(moved->bytes + insn->rip_at),
		from + (uint64_t)(int64_t)disp_at(bytes + insn->rip_at));
}

static void move_all(const struct sonde_code_view *view, uint64_t *count)
{
	uint64_t end = view->address + view->size;
	struct sonde_insn insn;

	for (uint64_t at = view->address; at < end; at += insn.length) {
		const uint8_t *bytes = pointer(at);
		uint64_t to = at - 0x31234567u + at % 77;
		struct sonde_moved moved;
		if (sonde_insn_decode(bytes, (size_t)(end - at), at, &insn))
			return;
		int rc = sonde_relocate(bytes, (size_t)(end - at), at, to,
					&moved);
		if (insn.stays) {
			assert_int_equal(rc, insn.is_padding ? 0 : -EOPNOTSUPP);
			continue;
		}
		assert_int_equal(rc, 0);
		check_moved(&insn, at, &moved, to);
		(*count)++;
	}
}

static void all_of_libc_can_be_moved(void **state)
{
	(void)state;
	assert_in_range(each_function(move_all), 100000, 10000000);
}

static void choose_entry(const struct sonde_code_view *view, uint64_t *count)
{
	struct sonde_window w;
	const char *reason;

	if (sonde_window_choose(view, view->address, &w, &reason))
		return;
	(*count)++;
	assert_in_range(w.nr_insns, 1, SONDE_WINDOW_INSNS);
	assert_memory_equal(w.bytes, pointer(w.address), w.nr_bytes);
	for (unsigned int i = 1; i < w.nr_insns; i++) {
		uint32_t shift = 8u * (w.starts[i] - 1u);
		assert_int_equal(w.mask >> shift & 0xff, 0xff);
		assert_int_equal(w.value >> shift & 0xff, 0xcc);
	}
	assert_int_equal(w.value & ~w.mask, 0);
	if (w.kind != SONDE_WINDOW_TRAP)
		assert_in_range(w.nr_bytes, 5, SONDE_WINDOW_BYTES);
}

static void entries_of_libc_have_windows(void **state)
{
	(void)state;
	assert_in_range(each_function(choose_entry), 2000, 100000);
}

static void the_function_of_an_address_is_found(void **state)
{
	uint64_t address = (uint64_t)(uintptr_t)&abort;
	struct sonde_functions *functions;
	struct sonde_function f;

	(void)state;
	assert_int_equal(sonde_functions_new(&own, libc_image(), &functions),
			 0);
	assert_true(sonde_functions_find(functions, &own, address, &f));
	assert_int_equal(f.start, address);
	assert_true(sonde_functions_find(functions, &own, address + 7, &f));
	assert_int_equal(f.start, address);
	assert_false(sonde_functions_find(functions, &own, 4096, &f));
	sonde_functions_free(functions);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_long_instruction_is_a_window),
		cmocka_unit_test(several_are_punned_where_they_begin),
		cmocka_unit_test(a_probe_at_endbr64_goes_behind_it),
		cmocka_unit_test(a_loop_head_is_not_inside),
		cmocka_unit_test(a_forward_branch_inside_is_not_free),
		cmocka_unit_test(a_branch_into_an_instruction_is_respected),
		cmocka_unit_test(nothing_behind_the_function_but_padding),
		cmocka_unit_test(what_follows_a_jump_may_be_data),
		cmocka_unit_test(an_indirect_jump_leaves_nothing_free),
		cmocka_unit_test(a_call_inside_is_not_free),
		cmocka_unit_test(no_ops_at_a_functions_begin_are_free),
		cmocka_unit_test(
			what_a_table_may_lead_behind_the_jump_to_is_told),
		cmocka_unit_test(what_cannot_be_probed_says_why),
		cmocka_unit_test(flags_are_dead_where_they_are_written_first),
		cmocka_unit_test(a_far_place_is_refused),
		cmocka_unit_test(a_call_pushes_the_address_it_was_to_return_to),
		cmocka_unit_test(all_of_libc_can_be_moved),
		cmocka_unit_test(entries_of_libc_have_windows),
		cmocka_unit_test(the_function_of_an_address_is_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
