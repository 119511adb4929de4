/* SPDX-License-Identifier: MIT */
/*
 * uftrace_text.c - fuzz import/uftrace_text.h: lines and records of uftrace's.
 *
 * Input: a byte says what; the rest is a line, in memory of its own size, or a
 * record. Numbers of processes are not negative, a session's name is hexadecimal
 * and has its length, a symbol's name lies in the line.
 */
#include "import/uftrace_text.h"

#include "fuzz.h"

static void check_task(const char *line)
{
	struct sonde_import_uftrace_task task;

	if (!sonde_import_uftrace_task(line, &task))
		return;
	FUZZ_CHECK(task.pid >= 0 && task.tid >= 0 && task.ppid >= 0);
	if (task.kind == SONDE_UFTRACE_SESSION)
		FUZZ_CHECK(strlen(task.sid) == SONDE_UFTRACE_SID_BYTES - 1 &&
			   strspn(task.sid, "0123456789abcdef") ==
				   SONDE_UFTRACE_SID_BYTES - 1);
}

static void check_symbol(const char *line)
{
	uint64_t address;
	const char *name;

	if (sonde_import_uftrace_symbol(line, &address, &name) && *name)
		FUZZ_CHECK(name > line && name < line + strlen(line));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct sonde_import_uftrace_record record;
	char *line;

	if (!size)
		return 0;
	if (bytes[0] == 'r' && size > SONDE_UFTRACE_RECORD) {
		if (sonde_import_uftrace_record(bytes + 1, &record))
			FUZZ_CHECK(record.address >> 48 == 0);
		return 0;
	}
	line = malloc(size);
	FUZZ_CHECK(line);
	memcpy(line, bytes + 1, size - 1);
	line[size - 1] = '\0';
	if (bytes[0] == 's')
		check_symbol(line);
	else
		check_task(line);
	free(line);
	return 0;
}
