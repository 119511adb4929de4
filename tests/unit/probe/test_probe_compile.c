/* SPDX-License-Identifier: MIT */
/*
 * test_probe_compile.c - expressions of C, as probes have them evaluated, beside
 * what the compiler makes of the same words: over variables of this program,
 * found by its own debugging information.
 */
#include "unit.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/port.h"
#include "expr/agent.h"
#include "expr/program.h"
#include "probe/compile.h"
#include "probe/places.h"

enum colour {
	RED = -1,
	GREEN,
	BLUE = 70000
};

struct item {
	int8_t small;
	uint32_t low : 3, high : 13;
	int32_t negative : 5;
	struct {
		uint16_t inner;
	};
	union {
		uint64_t whole;
		uint8_t part[8];
	} both;
	struct item *next;
	enum colour colour;
	char name[6];
};

static struct item items[4] = {
	{ -3,
	  5,
	  4097,
	  -7,
	  { 65535 },
	  { 0x1122334455667788 },
	  &items[2],
	  RED,
	  "one" },
	{ 7, 1, 2, 3, { 4 }, { 5 }, NULL, BLUE, "two" },
	{ 100, 7, 8191, 15, { 9 }, { UINT64_MAX }, &items[1], GREEN, "three" },
	{ 0, 0, 0, 0, { 0 }, { 0 }, NULL, GREEN, "" },
};
static struct item *head = items;
static int whole = -100000;
static unsigned int positive = 4000000000u;
static int8_t tiny = -100;
static uint8_t byte = 200;
static uint16_t half = 60000;
static int64_t large = INT64_MIN + 5;
static uint64_t huge = UINT64_MAX - 5;
static bool truth = true;
static int grid[3][4] = { { 1, 2, 3, 4 }, { 5, 6, 7, 8 }, { 9, 10, 11, 12 } };
static const char *text = "some text";
static enum colour colour = BLUE;

/* Where all that is visible. The compiler has to believe that variables change
 * here: of one that never does it keeps the value alone. */
__attribute__((noinline, used)) static int here(int n)
{
	__asm__ volatile(""
			 : "+m"(items), "+m"(head), "+m"(whole), "+m"(positive),
			   "+m"(tiny), "+m"(byte), "+m"(half), "+m"(large));
	__asm__ volatile(""
			 : "+m"(huge), "+m"(truth), "+m"(grid), "+m"(text),
			   "+m"(colour));
	return n + whole + (int)positive + tiny + byte + half + (int)large +
	       (int)huge + truth + grid[1][1] + text[0] + (int)colour +
	       head->small;
}

static bool read_own(void *ctx, uint64_t address, void *to, uint32_t bytes)
{
	(void)ctx;
	/* NOLINTNEXTLINE(performance-no-int-to-ptr): it is one */
	memcpy(to, (const void *)(uintptr_t)address, bytes);
	return true;
}

static struct sonde_probe_dwarf *dwarf;

static int begin(void **state)
{
	static struct sonde_probe_places places;
	char error[256];

	(void)state;
	(void)here(1);
	dwarf = sonde_probe_dwarf_begin(getpid());
	assert_non_null(dwarf);
	assert_int_equal(sonde_probe_places_find(dwarf, "here", &places, error,
						 sizeof(error)),
			 0);
	assert_int_equal(places.nr, 1);
	assert_true(sonde_probe_dwarf_at(dwarf, places.list[0]));
	return 0;
}

static int end(void **state)
{
	(void)state;
	sonde_probe_dwarf_close(dwarf);
	return 0;
}

static int64_t value_of(const char *expression)
{
	static const struct sonde_expr_machine machine = { .read = read_own };
	static struct sonde_probe_bytecode code;
	const uint64_t registers[SONDE_EXPR_REGISTERS] = { 17, 0, 0,
							   0,  0, UINT64_MAX };
	const struct sonde_expr_env env = { .registers = registers,
					    .machine = &machine };
	const struct sonde_probe_scope scope = { .dwarf = dwarf,
						 .has_dwarf = true };
	struct sonde_expr_error error = { .column = 0 };
	struct sonde_program *program = NULL;
	struct sonde_expr_value value;

	memset(&code, 0, sizeof(code));
	if (sonde_probe_compile_condition(&scope, expression, &code, &error))
		fail_msg("%s: %s", expression, error.text);
	if (sonde_agent_decode(code.bytes, code.nr, false, &error, &program))
		fail_msg("%s: %s", expression, error.text);
	sonde_program_eval(program, &env, &value);
	assert_int_not_equal(value.type, SONDE_EXPR_MISSING);
	sonde_program_free(program);
	return value.i;
}

struct expected {
	const char *expression;
	int64_t value;
};

static void check(const struct expected *expected, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		int64_t is = value_of(expected[i].expression);

		if (is != expected[i].value)
			fail_msg("%s: %lld instead of %lld",
				 expected[i].expression, (long long)is,
				 (long long)expected[i].value);
	}
}

#define IS(expression)                             \
	{                                          \
#expression, (int64_t)(expression) \
	}

/* What they mean is the compiler's to say, warnings included. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-compare"
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wparentheses"
#pragma GCC diagnostic ignored "-Wextra"
#pragma GCC diagnostic ignored "-Wpointer-arith"

/* Where C leaves a value open, ours is the machine's, and so is the compiler's. */
__attribute__((no_sanitize("undefined"))) static void
test_arithmetic(void **state)
{
	const struct expected expected[] = {
		IS(whole + 1),
		IS(whole * 10000),
		IS(positive + 1000000000),
		IS(positive * 2 > 0),
		IS(-positive),
		IS(~byte),
		IS(tiny + byte),
		IS(tiny * tiny * tiny),
		IS(whole / 7),
		IS(whole % 7),
		IS(positive / 7),
		IS(positive % 7),
		IS(huge / 3),
		IS(large >> 3),
		IS(huge >> 3),
		IS(whole >> 3),
		IS(positive >> 3),
		IS(whole << 3),
		IS(byte << 24 >> 24),
		IS((whole & 0xff) | 0x100),
		IS(whole ^ positive),
		IS(half - byte * 1000),
		IS(1 + 2 * 3 - 4 / 2 % 3),
		IS(0x10 + 010 + 'a' + '\n'),
		IS(4294967295 + 1),
		IS(!whole + !!whole),
	};

	(void)state;
	check(expected, SONDE_ARRAY_SIZE(expected));
}

static void test_comparisons(void **state)
{
	const struct expected expected[] = {
		IS(whole < 0),
		IS(whole < positive),
		IS(tiny < byte),
		IS(tiny > half),
		IS(large < huge),
		IS(whole >= -100000 && whole <= -100000),
		IS(large == huge || tiny == -100),
		IS(truth && !colour),
		IS(colour == BLUE),
		IS(colour != RED && head->colour == RED),
		IS(whole > 0 ? byte : positive),
		IS(whole < 0 ? tiny : positive),
		IS(whole ? head ? 3 : 4 : 5),
		IS(-1 < 1u),
		IS(byte == 200 == 1),
	};

	(void)state;
	check(expected, SONDE_ARRAY_SIZE(expected));
}

static void test_memory(void **state)
{
	const struct expected expected[] = {
		IS(items[0].low),
		IS(items[0].high),
		IS(items[0].negative),
		IS(head->negative * 2),
		IS(head->next->low + head->next->high),
		IS(items[1].small),
		IS(head->inner),
		IS(head->both.whole),
		IS(head->both.part[3]),
		IS((*head).next->next->colour),
		IS(head[2].name[1]),
		IS(*items[2].name),
		IS(text[3]),
		IS(*(text + 1)),
		IS(grid[2][1]),
		IS(*grid[1]),
		IS(&grid[2][0] - &grid[0][0]),
		IS(&items[3] - head),
		IS(head + 2 == &items[2]),
		IS(2 + head == head->next),
		IS(head->next != head),
		IS((char *)&head->inner > (char *)&head->small),
		IS(items[byte - 198].small),
		IS(*&whole),
		IS(**&head->next->name),
	};

	(void)state;
	check(expected, SONDE_ARRAY_SIZE(expected));
}

static void test_casts(void **state)
{
	const struct expected expected[] = {
		IS((unsigned char)whole),
		IS((signed char)byte),
		IS((short)half),
		IS((unsigned int)whole),
		IS((long)positive),
		IS((unsigned long)tiny),
		IS((uint16_t)whole + 1),
		IS((_Bool)byte),
		IS((int)huge),
		IS(*(unsigned char *)&whole),
		IS(((struct item *)&items[1])->small),
		IS(((const char *)text)[2]),
		IS(*(const uint16_t *)(text + 2)),
		IS((int64_t)head == (int64_t)items),
		IS((enum colour)70000 == BLUE),
		IS((char *)(head + 1) - (char *)head),
		IS((int)(tiny) + (whole)),
	};

	(void)state;
	check(expected, SONDE_ARRAY_SIZE(expected));
}

#pragma GCC diagnostic pop

static void test_registers(void **state)
{
	(void)state;
	assert_int_equal(value_of("$rax"), 17);
	assert_int_equal(value_of("$rax + byte"), 217);
	assert_int_equal(value_of("(int)$rdi"), -1);
	assert_int_equal(value_of("(unsigned int)$rdi"), UINT32_MAX);
}

/* What isn't there, or isn't C, is refused with words, and at its place. */
static void test_refused(void **state)
{
	static const struct {
		const char *text, *why;
	} all[] = {
		{ "nothing", "No symbol \"nothing\"" },
		{ "whole +", "at the end" },
		{ "head->nothing", "no such member" },
		{ "whole->next", "no pointer" },
		{ "whole.next", "no structure" },
		{ "*whole", "no pointer" },
		{ "&5", "no address" },
		{ "&items[0].low", "no address" },
		{ "head * 2", "pointers" },
		{ "head + head", "two pointers" },
		{ "items[0]", "number or a pointer" },
		{ "text == \"some\"", "text" },
		{ "here(1)", "can't be called" },
		{ "(struct nothing *)head", "no such type" },
		{ "1.5", "floating point" },
		{ "$nothing", "no such register" },
		{ "whole = 1", "no operator" },
		{ "head[", "value" },
		{ "head->", "member" },
	};
	static struct sonde_probe_bytecode code;
	const struct sonde_probe_scope scope = { .dwarf = dwarf,
						 .has_dwarf = true };

	(void)state;
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(all); i++) {
		struct sonde_expr_error error = { .column = 0 };
		int rc;

		memset(&code, 0, sizeof(code));
		rc = sonde_probe_compile_condition(&scope, all[i].text, &code,
						   &error);
		if (rc == 0 || !strstr(error.text, all[i].why))
			fail_msg("%s: %d, %s", all[i].text, rc, error.text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_arithmetic),
		cmocka_unit_test(test_comparisons),
		cmocka_unit_test(test_memory),
		cmocka_unit_test(test_casts),
		cmocka_unit_test(test_registers),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
