/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * proc.c - what /proc says about processes and threads.
 *
 * First the parsers, which take text and are fuzzed; behind them what opens
 * files for them. Names hold any byte, so fields are counted from the last ')'
 * of a line, and a result is written only when all of it was understood.
 */
#include "sys/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/hex.h"
#include "base/number.h"
#include "base/text.h"
#include "base/time.h"

/* ---- text: each moves *at past what it took ---- */

static void skip_blanks(const char **at)
{
	*at += strspn(*at, " \t");
}

static bool proc_skip_words(const char **at, uint32_t nr)
{
	for (; nr; nr--) {
		size_t size;

		skip_blanks(at);
		size = strcspn(*at, " \t\n");
		if (!size)
			return false;
		*at += size;
	}
	skip_blanks(at);
	return true;
}

/* After the name: state, parent, 4 others, flags (9th), 12 others, start
 * (22nd), 5 others, the stack's begin (28th), 10 others, CPU (39th). */
bool sonde_proc_parse_stat(const char *text, struct sonde_proc_stat *ret_stat)
{
	struct sonde_proc_stat stat = { 0 };
	const char *begin = strchr(text, '(');
	const char *end = strrchr(text, ')');
	const char *at;
	uint64_t parent;
	uint64_t flags;
	uint64_t cpu;
	uint64_t status = 0;
	size_t size;

	if (!begin || !end || end < begin || end[1] != ' ' || !end[2])
		return false;
	at = end + 3;
	skip_blanks(&at);
	if (!sonde_number_take(&at, 10, INT32_MAX, &parent) ||
	    !proc_skip_words(&at, 4) ||
	    !sonde_number_take(&at, 10, UINT32_MAX, &flags) ||
	    !proc_skip_words(&at, 12) ||
	    !sonde_number_take(&at, 10, UINT64_MAX, &stat.start) ||
	    !proc_skip_words(&at, 4) ||
	    !sonde_number_take(&at, 10, UINT64_MAX, &stat.code_end) ||
	    !proc_skip_words(&at, 0) ||
	    !sonde_number_take(&at, 10, UINT64_MAX, &stat.stack) ||
	    !proc_skip_words(&at, 10) ||
	    !sonde_number_take(&at, 10, UINT32_MAX, &cpu))
		return false;
	size = (size_t)(end - begin - 1);
	if (size > sizeof(stat.name) - 1)
		size = sizeof(stat.name) - 1;
	memcpy(stat.name, begin + 1, size);
	stat.state = end[2];
	stat.parent = (pid_t)parent;
	stat.flags = (uint32_t)flags;
	stat.cpu = (uint32_t)cpu;
	if (proc_skip_words(&at, 12))
		(void)sonde_number_take(&at, 10, INT32_MAX, &status);
	stat.status = (int)status;
	*ret_stat = stat;
	return true;
}

/* What follows the line's end; NULL: it has none. */
static const char *proc_next_line(const char *text)
{
	const char *end = strchr(text, '\n');

	return end ? end + 1 : NULL;
}

const char *sonde_proc_find(const char *text, const char *key)
{
	size_t size = strlen(key);

	for (; text; text = proc_next_line(text))
		if (!strncmp(text, key, size) && text[size] == ':') {
			text += size + 1;
			skip_blanks(&text);
			return text;
		}
	return NULL;
}

/* A line is "cpu0 user nice system idle iowait irq softirq steal ...". */
bool sonde_proc_parse_stolen(const char *text, uint32_t cpu,
			     uint64_t *ret_ticks)
{
	uint64_t number = 0;

	for (; text; text = proc_next_line(text)) {
		const char *at = strncmp(text, "cpu", 3) ? "" : text + 3;

		if (!sonde_number_take(&at, 10, UINT32_MAX, &number) ||
		    number != cpu)
			continue;
		for (int i = 0; i < 8; i++) {
			skip_blanks(&at);
			if (!sonde_number_take(&at, 10, UINT64_MAX, &number))
				return false;
		}
		*ret_ticks = number;
		return true;
	}
	return false;
}

/* A line is "id:controller,...:/path". */
const char *sonde_proc_find_cgroup(const char *text, const char *controller)
{
	const char *next;

	for (const char *line = text; *line; line = next) {
		const char *list = line + strcspn(line, ":\n");
		const char *end = list + 1;

		next = line + strcspn(line, "\n");
		next += *next == '\n';
		if (*list++ != ':')
			continue;
		end += strcspn(end, ":\n");
		if (!strncmp(end, ":/", 2) &&
		    (!controller || sonde_text_has(list, (size_t)(end - list),
						   ",", controller)))
			return end + 1;
	}
	return NULL;
}

const char *sonde_proc_container_id(const char *group)
{
	static const char digits[] = "0123456789abcdef";

	while (*group) {
		size_t n = strspn(group, digits);

		if (n == SONDE_CONTAINER_ID)
			return group;
		group += n;
		group += strcspn(group, digits);
	}
	return NULL;
}

uint32_t sonde_proc_numbers(const char *at, uint32_t base, uint64_t *ret_last)
{
	uint32_t nr = 0;

	while (at && sonde_number_take(&at, base, UINT64_MAX, ret_last)) {
		nr++;
		skip_blanks(&at);
	}
	return nr;
}

static bool take_mode(const char **at, uint32_t *ret_mode)
{
	static const char set[] = "rwxs";
	uint32_t mode = 0;

	for (uint32_t i = 0; i < 4; i++) {
		if (sonde_hex_take(at, set[i]))
			mode |= 1u << i;
		else if (!sonde_hex_take(at, i == 3 ? 'p' : '-'))
			return false;
	}
	*ret_mode = mode;
	return true;
}

static void restore_newlines(char *path)
{
	char *to = path;

	for (const char *from = path; *from; to++) {
		if (!strncmp(from, "\\012", 4)) {
			*to = '\n';
			from += 4;
		} else {
			*to = *from++;
		}
	}
	*to = '\0';
}

/* "begin-end rwxp offset major:minor inode   path" */
bool sonde_proc_parse_mapping(char *line,
			      struct sonde_proc_mapping *ret_mapping)
{
	struct sonde_proc_mapping mapping = { 0 };
	const char *at = line;
	uint64_t major;
	uint64_t minor;
	char *path;

	if (!sonde_number_take(&at, 16, UINT64_MAX, &mapping.begin) ||
	    !sonde_hex_take(&at, '-') ||
	    !sonde_number_take(&at, 16, UINT64_MAX, &mapping.end) ||
	    !sonde_hex_take(&at, ' ') || !take_mode(&at, &mapping.mode) ||
	    !sonde_hex_take(&at, ' ') ||
	    !sonde_number_take(&at, 16, UINT64_MAX, &mapping.offset) ||
	    !sonde_hex_take(&at, ' ') ||
	    !sonde_number_take(&at, 16, 0xfff, &major) ||
	    !sonde_hex_take(&at, ':') ||
	    !sonde_number_take(&at, 16, 0xfffff, &minor) ||
	    !sonde_hex_take(&at, ' ') ||
	    !sonde_number_take(&at, 10, UINT64_MAX, &mapping.ino) ||
	    (*at && *at != ' ') || mapping.end <= mapping.begin)
		return false;
	skip_blanks(&at);
	path = line + (at - line);
	restore_newlines(path);
	mapping.path = path;
	mapping.major = (uint32_t)major;
	mapping.minor = (uint32_t)minor;
	*ret_mapping = mapping;
	return true;
}

static bool proc_take_word(const char **at, uint64_t *ret_word)
{
	return sonde_hex_take(at, ' ') &&
	       sonde_number_take_prefixed(at, UINT64_MAX, ret_word);
}

/* "number args... sp pc", "-1 sp pc" or "running" */
bool sonde_proc_parse_syscall(const char *text,
			      struct sonde_proc_syscall *ret_call)
{
	struct sonde_proc_syscall call = { 0 };

	if (!sonde_number_take_signed(&text, &call.number))
		return false;
	for (size_t i = 0; call.number >= 0 && i < 6; i++)
		if (!proc_take_word(&text, &call.args[i]))
			return false;
	if (!proc_take_word(&text, &call.sp) ||
	    !proc_take_word(&text, &call.pc))
		return false;
	*ret_call = call;
	return true;
}

/* ---- processes ---- */

int sonde_proc_stat(pid_t pid, struct sonde_proc_stat *ret_stat)
{
	char text[SONDE_PROC_STAT_BYTES];
	int n = sonde_textfile_read(text, sizeof(text), "/proc/%d/stat", pid);

	if (n < 0)
		return n;
	return sonde_proc_parse_stat(text, ret_stat) ? 0 : -EINVAL;
}

/* linux/pidfd.h of 6.15: PIDFD_GET_INFO. */
struct pidfd_told {
	uint64_t mask;
	uint64_t cgroup;
	uint32_t ids[11];
	int32_t status;
};
#define PIDFD_TELL        _IOWR(0xff, 11, struct pidfd_told)
#define PIDFD_TELL_STATUS 8u

int sonde_proc_pidfd(pid_t pid)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);

	return fd < 0 ? -errno : fd;
}

int sonde_proc_ended(int pidfd, pid_t pid, int *ret_status)
{
	struct pollfd ended = { .fd = pidfd, .events = POLLIN };
	struct pidfd_told told = { .mask = PIDFD_TELL_STATUS };
	struct sonde_proc_stat stat;

	if (poll(&ended, 1, 0) != 1)
		return -EAGAIN;
	/* As long as it can be sent a signal, the number is its own. */
	if (!sonde_proc_stat(pid, &stat) && stat.state == 'Z' &&
	    !syscall(SYS_pidfd_send_signal, pidfd, 0, NULL, 0)) {
		*ret_status = stat.status;
		return 0;
	}
	if (ioctl(pidfd, PIDFD_TELL, &told) || !(told.mask & PIDFD_TELL_STATUS))
		return -ENODATA;
	*ret_status = told.status;
	return 0;
}

pid_t sonde_proc_number(const char *word)
{
	uint64_t pid = 0;

	(void)sonde_number_parse(word, INT32_MAX, &pid);
	return (pid_t)pid;
}

int sonde_proc_status(pid_t pid, const char *key, uint32_t base,
		      uint64_t *ret_number)
{
	char text[SONDE_PROC_STATUS_BYTES];
	int n = sonde_textfile_read(text, sizeof(text), "/proc/%d/status", pid);

	if (n < 0)
		return n == -ENOENT ? -ESRCH : n;
	return sonde_proc_numbers(sonde_proc_find(text, key), base,
				  ret_number) ?
		       0 :
		       -ENOENT;
}

int sonde_proc_maps_open(struct sonde_lines *lines, pid_t pid)
{
	return sonde_lines_open(lines, "/proc/%d/maps", pid);
}

bool sonde_proc_maps_next(struct sonde_lines *lines,
			  struct sonde_proc_mapping *ret_mapping)
{
	char *line;

	while ((line = sonde_lines_next(lines)))
		if (sonde_proc_parse_mapping(line, ret_mapping))
			return true;
	return false;
}

int sonde_proc_syscall(pid_t pid, pid_t tid,
		       struct sonde_proc_syscall *ret_call)
{
	char text[256];
	int n = sonde_textfile_read(text, sizeof(text),
				    "/proc/%d/task/%d/syscall", pid, tid);

	if (n < 0)
		return n;
	return sonde_proc_parse_syscall(text, ret_call) ? 0 : -EAGAIN;
}

FILE *sonde_proc_children(pid_t pid, pid_t tid)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/task/%d/children", pid,
		       tid);
	return fopen(path, "re");
}

pid_t sonde_proc_next_child(FILE *children)
{
	char text[16];
	uint64_t pid;
	size_t nr = 0;
	int c;

	while ((c = getc(children)) != EOF && c != ' ' && nr < sizeof(text) - 1)
		text[nr++] = (char)c;
	text[nr] = '\0';
	return sonde_number_parse(text, INT32_MAX, &pid) ? (pid_t)pid : 0;
}

int sonde_proc_memory(pid_t pid, int flags)
{
	char path[64];
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%d/mem", pid);
	fd = open(path, flags | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

DIR *sonde_proc_dir(pid_t pid, const char *name)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	return opendir(path);
}

int32_t sonde_proc_next(DIR *dir)
{
	const struct dirent *entry;
	uint64_t number;

	/* The caller's own stream. NOLINTNEXTLINE(concurrency-mt-unsafe) */
	while ((entry = readdir(dir)))
		if (sonde_number_parse(entry->d_name, INT32_MAX, &number))
			return (int32_t)number;
	return -1;
}

void sonde_process_name(pid_t pid, char name[SONDE_COMM_SIZE])
{
	(void)sonde_textfile_read_line(name, SONDE_COMM_SIZE, "/proc/%d/comm",
				       pid);
	for (char *p = name; *p; p++)
		if (*p < ' ' || *p > '~')
			*p = '?';
	if (!*name)
		(void)snprintf(name, SONDE_COMM_SIZE, "?");
}

pid_t sonde_process_parent(pid_t pid)
{
	struct sonde_proc_stat stat;

	return sonde_proc_stat(pid, &stat) ? 0 : stat.parent;
}

uint64_t sonde_process_start(pid_t pid)
{
	struct sonde_proc_stat stat;

	return sonde_proc_stat(pid, &stat) ? 0 : stat.start;
}

bool sonde_process_cgroup(pid_t pid, char path[SONDE_CGROUP_BYTES])
{
	struct sonde_lines lines;
	bool is_unified = false;
	bool found = false;
	const char *at;
	char *line;

	if (sonde_lines_open(&lines, "/proc/%d/cgroup", pid))
		return false;
	while (!is_unified && (line = sonde_lines_next(&lines))) {
		at = sonde_proc_find_cgroup(line, "");
		is_unified = at;
		if (!at && !found)
			at = sonde_proc_find_cgroup(line, NULL);
		if (!at || strlen(at) >= SONDE_CGROUP_BYTES)
			continue;
		memcpy(path, at, strlen(at) + 1);
		found = true;
	}
	sonde_lines_close(&lines);
	return found;
}

uint64_t sonde_proc_link_number(const char *link, const char *kind)
{
	size_t length = strcspn(link, ":");
	const char *at = link + length;
	uint64_t number;

	if (kind && (strlen(kind) != length || memcmp(link, kind, length) != 0))
		return 0;
	if (strncmp(at, ":[", 2) != 0)
		return 0;
	at += 2;
	return sonde_number_take(&at, 10, UINT64_MAX, &number) &&
			       !strcmp(at, "]") ?
		       number :
		       0;
}

/* The link is read, which costs half of what it costs to follow it. */
uint32_t sonde_process_ns(pid_t pid, const char *name)
{
	char path[64];
	char link[64];
	uint64_t number;
	ssize_t n;

	if (pid)
		(void)snprintf(path, sizeof(path), "/proc/%d/ns/%s", (int)pid,
			       name);
	else
		(void)snprintf(path, sizeof(path), "/proc/self/ns/%s", name);
	n = readlink(path, link, sizeof(link) - 1);
	if (n < 0)
		return 0;
	link[n] = '\0';
	number = sonde_proc_link_number(link, NULL);
	return number <= UINT32_MAX ? (uint32_t)number : 0;
}

uid_t sonde_process_uid(pid_t pid)
{
	char text[SONDE_PROC_STATUS_BYTES];
	const char *at;
	uint64_t uid;

	(void)sonde_textfile_read(text, sizeof(text), "/proc/%d/status", pid);
	at = sonde_proc_find(text, "Uid");
	/* The real one comes first. */
	return at && proc_skip_words(&at, 1) &&
			       sonde_number_take(&at, 10, UINT32_MAX, &uid) ?
		       (uid_t)uid :
		       (uid_t)-1;
}

int64_t sonde_proc_stolen_ns(uint32_t cpu)
{
	char text[32768]; /* CPUs come first */
	long per_second = sysconf(_SC_CLK_TCK);
	uint64_t ticks;

	(void)sonde_textfile_read(text, sizeof(text), "/proc/stat");
	if (per_second <= 0 || !sonde_proc_parse_stolen(text, cpu, &ticks) ||
	    ticks > INT64_MAX / SONDE_NS_PER_S)
		return -1;
	return (int64_t)(ticks * SONDE_NS_PER_S / (uint64_t)per_second);
}

/* The first version of linux/sched/types.h, which can't stand beside sched.h. */
struct proc_sched_attr {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority; /* of real time */
	uint64_t runtime, deadline, period;
};

int sonde_proc_schedule(pid_t tid, struct sonde_proc_schedule *ret_schedule)
{
	struct proc_sched_attr attr;

	if (syscall(SYS_sched_getattr, tid, &attr, sizeof(attr), 0))
		return -errno;
	*ret_schedule = (struct sonde_proc_schedule){
		.policy = attr.policy,
		.prio = attr.policy == SCHED_DEADLINE ? -1 :
			attr.priority ? 99 - (int32_t)attr.priority :
					120 + attr.nice,
		.nice = attr.nice,
	};
	return 0;
}
