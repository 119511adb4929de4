/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * proc_parse.c - what /proc and /sys say, as numbers and names (proc_parse.h).
 *
 * A result is filled in when all of the text made sense, never in part. Names
 * hold any byte, so fields are counted from where none can be.
 */
#include "source/statedump/proc_parse.h"

#include <ctype.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "base/hex.h"
#include "base/number.h"

#define PF_KTHREAD 0x00200000u

/* ---- cursors: each moves *at past what it took ---- */

static void skip_blanks(const char **at)
{
	while (**at == ' ' || **at == '\t')
		(*at)++;
}

/* Whatever it is, up to a blank; false at the end. */
static bool skip_word(const char **at)
{
	const char *begin;

	skip_blanks(at);
	begin = *at;
	while (**at && **at != ' ' && **at != '\t' && **at != '\n')
		(*at)++;
	return *at != begin;
}

static bool skip_words(const char **at, uint32_t nr)
{
	while (nr--)
		if (!skip_word(at))
			return false;
	skip_blanks(at);
	return true;
}

bool sonde_text_number(const char *text, uint64_t max, uint64_t *ret_number)
{
	uint64_t number;

	if (!sonde_number_take(&text, 10, max, &number))
		return false;
	while (isspace((unsigned char)*text))
		text++;
	if (*text)
		return false;
	*ret_number = number;
	return true;
}

/* ---- threads ---- */

static uint8_t text_status_of(char state)
{
	switch (state) {
	case 'R':
		return SONDE_STATUS_WAIT_CPU;
	case 'S':
	case 'D':
	case 'I':
	case 'T':
	case 't':
	case 'P':
		return SONDE_STATUS_WAIT;
	case 'Z':
		return SONDE_STATUS_ZOMBIE;
	case 'X':
	case 'x':
		return SONDE_STATUS_DEAD;
	default:
		return SONDE_STATUS_UNKNOWN;
	}
}

/* Of a worker of the kernel's it says what it works on, too, as in
 * "kworker/0:1-events"; events of the kernel's don't. */
static void cut_worker(char *name)
{
	char *colon = strchr(name, ':');

	if (!strncmp(name, "kworker/", 8) && colon)
		colon[strcspn(colon, "-+")] = '\0';
}

bool sonde_text_stat(const char *text, struct sonde_statedump_task *task)
{
	struct sonde_proc_stat stat;

	if (!sonde_proc_parse_stat(text, &stat))
		return false;
	task->status = text_status_of(stat.state);
	task->is_kernel = stat.flags & PF_KTHREAD;
	if (task->is_kernel)
		cut_worker(stat.name);
	memset(task->name, 0, sizeof(task->name));
	memcpy(task->name, stat.name,
	       strnlen(stat.name, sizeof(task->name) - 1));
	task->ppid = stat.parent;
	task->cpu = stat.cpu;
	return true;
}

static uint32_t ids(const char *text, const char *key, int32_t *ret_last)
{
	uint64_t last;
	uint32_t nr = sonde_proc_numbers(sonde_proc_find(text, key), 10, &last);

	if (!nr || last > INT32_MAX)
		return 0;
	*ret_last = (int32_t)last;
	return nr;
}

bool sonde_text_status(const char *text, struct sonde_statedump_task *task)
{
	int32_t vtid;
	int32_t vpid;
	uint32_t nr = ids(text, "NSpid", &vtid);

	if (!nr || !ids(text, "NStgid", &vpid))
		return false;
	task->ns_level = nr - 1;
	task->vtid = vtid;
	task->vpid = vpid;
	return true;
}

/* ---- files and mappings ---- */

bool sonde_text_fdinfo(const char *text, uint32_t *ret_flags)
{
	const char *at = sonde_proc_find(text, "flags");
	uint64_t flags;

	if (!at || !sonde_number_take(&at, 8, UINT32_MAX, &flags))
		return false;
	*ret_flags = (uint32_t)flags;
	return true;
}

bool sonde_text_mapping(const struct sonde_proc_mapping *mapped,
			struct sonde_statedump_mapping *ret_mapping)
{
	if (*mapped->path != '/')
		return false;
	*ret_mapping = (struct sonde_statedump_mapping){
		.flags = mapped->mode,
		.begin = mapped->begin,
		.end = mapped->end,
		.offset = mapped->offset,
		.dev = (uint64_t)mapped->major << 20 | mapped->minor,
		.ino = mapped->ino,
		.path = mapped->path,
	};
	return true;
}

/* ---- sockets ---- */

/* An address is written as words of 32 bits, each as this machine has it in
 * memory: printed as a number, in hexadecimal. */
static bool take_address(const char **at, uint32_t nr_words, uint8_t *to,
			 uint16_t *ret_port)
{
	uint64_t port;

	for (uint32_t i = 0; i < nr_words; i++) {
		char digits[9];
		const char *p = digits;
		uint64_t word;
		uint32_t raw;

		memcpy(digits, *at, strnlen(*at, 8));
		digits[strnlen(*at, 8)] = '\0';
		if (!sonde_number_take(&p, 16, UINT32_MAX, &word) ||
		    p != digits + 8)
			return false;
		raw = (uint32_t)word;
		memcpy(to + 4 * i, &raw, 4);
		*at += 8;
	}
	if (!sonde_hex_take(at, ':') ||
	    !sonde_number_take(at, 16, UINT16_MAX, &port))
		return false;
	*ret_port = (uint16_t)port;
	return true;
}

/* "sl: local peer st queues timer retransmits uid timeout inode ..." */
bool sonde_text_inet(const char *line, bool is_v6,
		     struct sonde_statedump_socket *ret_socket)
{
	struct sonde_statedump_socket socket = {
		.family = is_v6 ? AF_INET6 : AF_INET,
	};
	uint32_t words = is_v6 ? 4 : 1;
	const char *at = line;

	if (!skip_words(&at, 1) || at[-1] != ' ' ||
	    !take_address(&at, words, socket.local, &socket.local_port))
		return false;
	skip_blanks(&at);
	if (!take_address(&at, words, socket.peer, &socket.peer_port) ||
	    !skip_words(&at, 6) ||
	    !sonde_number_take(&at, 10, UINT64_MAX, &socket.ino) || !socket.ino)
		return false;
	*ret_socket = socket;
	return true;
}

/* "address: references protocol flags type state inode [name]"; '@' stands for
 * the NUL that an abstract name starts with. */
bool sonde_text_unix(const char *line,
		     struct sonde_statedump_socket *ret_socket)
{
	struct sonde_statedump_socket socket = { .family = AF_UNIX };
	const char *at = line;
	size_t size;

	if (!skip_words(&at, 6) ||
	    !sonde_number_take(&at, 10, UINT64_MAX, &socket.ino) || !socket.ino)
		return false;
	if (*at && !sonde_hex_take(&at, ' '))
		return false;
	size = strlen(at);
	if (size > sizeof(socket.name))
		size = sizeof(socket.name);
	memcpy(socket.name, at, size);
	socket.name_size = (uint32_t)size;
	*ret_socket = socket;
	return true;
}

/* ---- the machine ---- */

bool sonde_text_dev(const char *text, uint32_t *ret_dev)
{
	uint64_t major;
	uint64_t minor;

	if (!sonde_number_take(&text, 10, 0xfff, &major) ||
	    !sonde_hex_take(&text, ':') ||
	    !sonde_number_take(&text, 10, 0xfffff, &minor) ||
	    (*text && *text != '\n'))
		return false;
	*ret_dev = (uint32_t)(major << 20 | minor);
	return true;
}

bool sonde_text_pair(char *line, const char **ret_key, const char **ret_value)
{
	char *colon = strchr(line, ':');
	char *end = colon;

	if (!colon)
		return false;
	while (end > line && (end[-1] == ' ' || end[-1] == '\t'))
		end--;
	*end = '\0';
	*ret_key = line;
	*ret_value = colon + 1 + strspn(colon + 1, " \t");
	return true;
}
