/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * kernel_records.c - records of BPF iterators, checked (kernel_records.h).
 *
 * A record's size and the text in it are compared with what is there before
 * either is used; a record that is cut off is completed by the next read.
 */
#include "source/statedump/kernel_records.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <unistd.h>

#include "base/port.h"
#include "source/statedump/socket.h"

/* The kernel's numbers; these have been the same since 4.14. */
#define PF_KTHREAD  0x00200000u
#define EXIT_DEAD   0x10u
#define EXIT_ZOMBIE 0x20u
#define TASK_DEAD   0x80u
#define TASK_NEW    0x800u

void sonde_records_init(struct sonde_records *records,
			enum sonde_record_kind kind, uint64_t page_bytes,
			const struct sonde_statedump_wanted *wanted,
			const struct sonde_statedump_target *target)
{
	records->kind = kind;
	records->page_bytes = page_bytes;
	records->wanted = wanted;
	records->target = target;
	records->last_pid = -1;
	records->last_path[0] = '\0';
	records->text[0] = '\0';
}

static uint8_t records_status_of(const struct sonde_iter_task *record)
{
	if (record->exit_state & EXIT_ZOMBIE)
		return SONDE_STATUS_ZOMBIE;
	if (record->exit_state & EXIT_DEAD)
		return SONDE_STATUS_DEAD;
	if (record->state & TASK_DEAD)
		return SONDE_STATUS_EXIT;
	if (record->state & TASK_NEW)
		return SONDE_STATUS_WAIT_FORK;
	return record->state ? SONDE_STATUS_WAIT : SONDE_STATUS_WAIT_CPU;
}

static int records_on_task(struct sonde_records *records, const uint8_t *bytes,
			   size_t size)
{
	struct sonde_iter_task record;
	struct sonde_statedump_task task;

	if (size != sizeof(record))
		return -EPROTO;
	memcpy(&record, bytes, sizeof(record));
	if (record.tid < 0 || record.pid < 0)
		return -EPROTO;
	task = (struct sonde_statedump_task){
		.tid = record.tid,
		.vtid = record.vtid,
		.pid = record.pid,
		.vpid = record.vpid,
		.ppid = record.ppid,
		.cpu = record.cpu,
		.ns_level = record.ns_level,
		.ns = { record.pid_ns, record.mnt_ns, record.net_ns,
			record.user_ns, record.uts_ns, record.ipc_ns,
			record.cgroup_ns },
		.status = records_status_of(&record),
		.is_kernel = record.flags & PF_KTHREAD,
		.files = record.files,
		.cgroup_id = record.cgroup,
	};
	_Static_assert(sizeof(record.name) == sizeof(task.name), "a name");
	memcpy(task.name, record.name,
	       strnlen(record.name, sizeof(task.name) - 1));
	return records->target->task(records->target->ctx, &task);
}

/* A text of `text_size` bytes ends the record; what is before it is its head.
 */
static bool get_text(const uint8_t *bytes, size_t size, size_t head,
		     uint32_t text_size, char *to)
{
	if (text_size > SONDE_ITER_TEXT_MAX || size != head + text_size)
		return false;
	memcpy(to, bytes + head, text_size);
	to[text_size] = '\0';
	return true;
}

static bool get_socket(const struct sonde_iter_file *record, const char *text,
		       char to[SONDE_SOCKET_TEXT_MAX])
{
	struct sonde_statedump_socket socket = {
		.family = record->family,
		.protocol = record->protocol,
		.local_port = record->local_port,
		.peer_port = record->peer_port,
	};

	memcpy(socket.local, record->local, sizeof(socket.local));
	memcpy(socket.peer, record->peer, sizeof(socket.peer));
	if (record->text_is_name && record->text_size <= sizeof(socket.name)) {
		memcpy(socket.name, text, record->text_size);
		socket.name_size = record->text_size;
	}
	return record->family && sonde_socket_text(&socket, to);
}

static int records_on_file(struct sonde_records *records, const uint8_t *bytes,
			   size_t size)
{
	char socket[SONDE_SOCKET_TEXT_MAX];
	struct sonde_iter_file record;
	struct sonde_statedump_file file;

	if (size < sizeof(record))
		return -EPROTO;
	memcpy(&record, bytes, sizeof(record));
	if (record.pid < 0 || record.fd > INT32_MAX ||
	    !get_text(bytes, size, sizeof(record), record.text_size,
		      records->text))
		return -EPROTO;
	if (!sonde_statedump_is_wanted(records->wanted, record.pid))
		return 0;
	file = (struct sonde_statedump_file){
		.pid = record.pid,
		.fd = record.fd,
		.flags = record.flags,
		.files = record.files,
		.name = records->text,
	};
	if (get_socket(&record, records->text, socket))
		file.name = socket;
	return records->target->file(records->target->ctx, &file);
}

static int records_on_mapping(struct sonde_records *records,
			      const uint8_t *bytes, size_t size)
{
	struct sonde_iter_mapping record;
	struct sonde_statedump_mapping mapping;

	if (size < sizeof(record))
		return -EPROTO;
	memcpy(&record, bytes, sizeof(record));
	if (record.pid < 0 || record.end <= record.begin ||
	    record.offset > UINT64_MAX / records->page_bytes ||
	    (record.same_file && record.pid != records->last_pid) ||
	    !get_text(bytes, size, sizeof(record), record.text_size,
		      records->text))
		return -EPROTO;
	if (!record.same_file) {
		memcpy(records->last_path, records->text,
		       record.text_size + 1u);
		records->last_pid = record.pid;
	}
	if (!sonde_statedump_is_wanted(records->wanted, record.pid))
		return 0;
	mapping = (struct sonde_statedump_mapping){
		.pid = record.pid,
		.flags = record.flags,
		.begin = record.begin,
		.end = record.end,
		.offset = record.offset * records->page_bytes,
		.dev = record.dev,
		.ino = record.ino,
		.path = records->last_path,
	};
	return records->target->mapping(records->target->ctx, &mapping);
}

static int on_record(struct sonde_records *records, const uint8_t *bytes,
		     size_t size)
{
	switch (records->kind) {
	case SONDE_RECORD_TASK:
		return records_on_task(records, bytes, size);
	case SONDE_RECORD_FILE:
		return records_on_file(records, bytes, size);
	case SONDE_RECORD_MAPPING:
		return records_on_mapping(records, bytes, size);
	}
	return -EPROTO;
}

int sonde_records_read(struct sonde_records *records, const uint8_t *bytes,
		       size_t size, size_t *ret_used)
{
	size_t used = 0;
	int rc = 0;

	while (!rc && size - used >= 4) {
		uint32_t record_size;

		memcpy(&record_size, bytes + used, 4);
		if (record_size < 4 ||
		    record_size > sizeof(struct sonde_iter_task) +
					  SONDE_ITER_TEXT_MAX)
			return -EPROTO;
		if (record_size > size - used)
			break;
		rc = on_record(records, bytes + used, record_size);
		used += record_size;
	}
	*ret_used = used;
	return rc;
}

int sonde_records_read_all(struct sonde_records *records, int fd)
{
	uint8_t *bytes = records->bytes;
	size_t have = 0;
	size_t used;
	ssize_t n;
	int rc;

	for (;;) {
		n = read(fd, bytes + have, sizeof(records->bytes) - have);
		/* It has looked at very many, and wrote nothing. */
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			continue;
		if (n <= 0)
			break;
		have += (size_t)n;
		rc = sonde_records_read(records, bytes, have, &used);
		if (rc)
			return rc;
		have -= used;
		memmove(bytes, bytes + used, have);
	}
	if (n < 0)
		return -errno;
	return have ? -EPROTO : 0;
}
