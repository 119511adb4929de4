/* SPDX-License-Identifier: MIT */
/*
 * uftrace_text.c - lines and records of uftrace's (uftrace_text.h).
 */
#include "import/uftrace_text.h"

#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "base/text.h"

#define NS_PER_S UINT64_C(1000000000)
#define MAGIC    5u

/* What stands behind " KEY="; NULL. */
static const char *uftrace_find(const char *line, const char *key)
{
	size_t length = strlen(key);

	for (const char *at = line; (at = strstr(at, key)); at++)
		if (at > line && at[-1] == ' ' && at[length] == '=')
			return at + length + 1;
	return NULL;
}

static bool uftrace_take_time(const char *line, uint64_t *ret_ns)
{
	const char *at = uftrace_find(line, "timestamp");
	uint64_t seconds;
	uint64_t ns;
	const char *point;

	if (!at ||
	    !sonde_number_take(&at, 10, INT64_MAX / NS_PER_S, &seconds) ||
	    *at++ != '.')
		return false;
	point = at;
	if (!sonde_number_take(&at, 10, NS_PER_S - 1, &ns) || at - point != 9)
		return false;
	*ret_ns = seconds * NS_PER_S + ns;
	return true;
}

static bool uftrace_take_number(const char *line, const char *key,
				int32_t *ret_number)
{
	const char *at = uftrace_find(line, key);
	uint64_t number;

	if (!at || !sonde_number_take(&at, 10, INT32_MAX, &number))
		return false;
	*ret_number = (int32_t)number;
	return true;
}

static bool uftrace_take_sid(const char *line,
			     char sid[SONDE_UFTRACE_SID_BYTES])
{
	const char *at = uftrace_find(line, "sid");
	size_t length = at ? strspn(at, "0123456789abcdef") : 0;

	if (length + 1 != SONDE_UFTRACE_SID_BYTES)
		return false;
	memcpy(sid, at, length);
	sid[length] = '\0';
	return true;
}

bool sonde_import_uftrace_task(const char *line,
			       struct sonde_import_uftrace_task *ret_task)
{
	struct sonde_import_uftrace_task task = { .kind = SONDE_UFTRACE_OTHER };
	bool is_good = uftrace_take_time(line, &task.ns);

	if (!strncmp(line, "SESS ", 5)) {
		task.kind = SONDE_UFTRACE_SESSION;
		is_good = is_good &&
			  uftrace_take_number(line, "pid", &task.pid) &&
			  uftrace_take_sid(line, task.sid);
		task.tid = task.pid;
	} else if (!strncmp(line, "TASK ", 5)) {
		task.kind = SONDE_UFTRACE_TASK;
		is_good = is_good &&
			  uftrace_take_number(line, "tid", &task.tid) &&
			  uftrace_take_number(line, "pid", &task.pid);
	} else if (!strncmp(line, "FORK ", 5)) {
		task.kind = SONDE_UFTRACE_FORK;
		is_good = is_good &&
			  uftrace_take_number(line, "pid", &task.pid) &&
			  uftrace_take_number(line, "ppid", &task.ppid);
		task.tid = task.pid;
	}
	if (is_good)
		*ret_task = task;
	return is_good;
}

bool sonde_import_uftrace_symbol(const char *line, uint64_t *ret_address,
				 const char **ret_name)
{
	const char *at = line;
	uint64_t address;

	if (!sonde_number_take(&at, 16, UINT64_MAX, &address) || *at != ' ' ||
	    !at[1] || at[2] != ' ' || !at[3])
		return false;
	*ret_address = address;
	*ret_name = at[1] == '?' ? "" : at + 3;
	return true;
}

bool sonde_import_uftrace_record(const uint8_t *bytes,
				 struct sonde_import_uftrace_record *ret_record)
{
	uint64_t words[2];

	memcpy(words, bytes, sizeof(words));
	if ((words[1] >> 3 & 7) != MAGIC)
		return false;
	*ret_record = (struct sonde_import_uftrace_record){
		.ns = words[0],
		.type = (enum sonde_import_uftrace_type)(words[1] & 3),
		.has_more = words[1] >> 2 & 1,
		.address = words[1] >> 16,
	};
	return true;
}
