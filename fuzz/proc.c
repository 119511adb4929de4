/* SPDX-License-Identifier: MIT */
/*
 * proc.c - text of /proc (sys/proc.h), lists of CPUs (sys/cpus.h), and the
 * numbers in them (base/number.h). The first byte says which, the rest is the
 * text. What is accepted must be within its bounds, and what is refused must
 * have changed nothing.
 */
#include "fuzz.h"

#include <errno.h>

#include "base/number.h"
#include "sys/cpus.h"
#include "sys/proc.h"

static void check_stat(const char *text)
{
	struct sonde_proc_stat stat;
	struct sonde_proc_stat before;

	memset(&stat, 0x5a, sizeof(stat));
	before = stat;
	if (sonde_proc_parse_stat(text, &stat)) {
		FUZZ_CHECK(memchr(stat.name, 0, sizeof(stat.name)));
		FUZZ_CHECK(stat.parent >= 0);
		FUZZ_CHECK(stat.state);
	} else {
		FUZZ_CHECK(!memcmp(&stat, &before, sizeof(stat)));
	}
}

static void check_status(const char *text)
{
	static const char *const keys[] = { "NSpid", "Uid", "", "x" };

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		const char *found = sonde_proc_find(text, keys[i]);
		uint64_t last = 7;

		FUZZ_CHECK(!found ||
			   (found > text && found <= text + strlen(text)));
		if (!sonde_proc_numbers(found, i % 2 ? 16 : 10, &last))
			FUZZ_CHECK(last == 7);
	}
}

static void check_mapping(char *text, size_t size)
{
	struct sonde_proc_mapping mapping;

	if (!sonde_proc_parse_mapping(text, &mapping))
		return;
	FUZZ_CHECK(mapping.begin < mapping.end);
	FUZZ_CHECK(mapping.mode < 16);
	FUZZ_CHECK(mapping.path > text && mapping.path <= text + size);
	FUZZ_CHECK(mapping.major <= 0xfff && mapping.minor <= 0xfffff);
}

static void check_syscall(const char *text)
{
	struct sonde_proc_syscall call;
	struct sonde_proc_syscall before;

	memset(&call, 0x5a, sizeof(call));
	before = call;
	if (!sonde_proc_parse_syscall(text, &call))
		FUZZ_CHECK(!memcmp(&call, &before, sizeof(call)));
}

static void check_cpus(const char *text)
{
	const char *at = text;
	uint32_t first;
	uint32_t last;
	uint32_t span = sonde_cpus_span(text, 4096);

	FUZZ_CHECK(span <= 4096);
	while (sonde_cpus_take(&at, &first, &last)) {
		FUZZ_CHECK(first <= last);
		FUZZ_CHECK(at > text && at <= text + strlen(text));
	}
}

/* A number that is read is the one that is written. */
static void check_number(const char *text)
{
	uint64_t number = 7;
	int64_t is_signed = 7;
	const char *at = text;
	char back[32];

	if (!sonde_number_parse(text, 1000, &number))
		FUZZ_CHECK(number == 7);
	FUZZ_CHECK(number <= 1000);
	if (!sonde_number_take_signed(&at, &is_signed)) {
		FUZZ_CHECK(at == text && is_signed == 7);
		return;
	}
	at = back;
	(void)snprintf(back, sizeof(back), "%lld", (long long)is_signed);
	FUZZ_CHECK(sonde_number_take_signed(&at, &is_signed) && !*at);
	FUZZ_CHECK(strtoll(text, NULL, 10) == is_signed);
}

static void check_stolen(const char *text)
{
	uint64_t ticks = 7;

	for (uint32_t cpu = 0; cpu < 3; cpu++)
		if (!sonde_proc_parse_stolen(text, cpu, &ticks))
			FUZZ_CHECK(cpu || ticks == 7);
}

static void check_link(const char *text)
{
	uint64_t number = sonde_proc_link_number(text, NULL);
	uint64_t net = sonde_proc_link_number(text, "net");

	FUZZ_CHECK(!number || strstr(text, ":["));
	FUZZ_CHECK(net == (strncmp(text, "net:", 4) ? 0 : number));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct fuzz_input in = { bytes, size };
	uint8_t kind = fuzz_u8(&in) % 8;
	char *text = malloc(in.left + 1);

	FUZZ_CHECK(text);
	if (in.left)
		memcpy(text, in.at, in.left);
	text[in.left] = '\0';
	if (kind == 0)
		check_stat(text);
	else if (kind == 1)
		check_status(text);
	else if (kind == 2)
		check_mapping(text, in.left);
	else if (kind == 3)
		check_cpus(text);
	else if (kind == 4)
		check_number(text);
	else if (kind == 5)
		check_syscall(text);
	else if (kind == 6)
		check_stolen(text);
	else
		check_link(text);
	free(text);
	return 0;
}
