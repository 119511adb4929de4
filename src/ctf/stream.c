/* SPDX-License-Identifier: MIT */
/*
 * stream.c - a stream's files and packets (trace.h).
 *
 * A file is made under a hidden name, with its whole size from the start and
 * sparse. It becomes visible, by a rename, with its first packet published:
 * that packet's packet_size says that it goes on to the end of the file.
 *
 *	|head|content| . . . . . . . . . . . . . . . . . . . . . . . .|
 *	 `-- last: packet_size up to here ----------------------------^
 *
 * The next packet is written into the padding, head included, where no reader
 * looks. Then one write of the last packet's head makes that packet end where
 * the new one begins, which is when the new one becomes visible:
 *
 *	|head|content|.|head|content| . . . . . . . . . . . . . . . . |
 *		      ^ `-- cur ---------------------------------------^
 *		      `---- last ends
 *
 * Growing the current packet is one write of its head; the content is there
 * before. When the file can't surely take another packet, the next one goes to
 * a new, hidden file; the old file is cut to its content (packet.c), gets its
 * index, and then the new one is renamed. All states on the way are valid.
 *
 * Invariants
 *  1. `last` is the packet whose end is the end of the visible file, if any.
 *  2. `cur` is linked (visible) only if it is `last`.
 *  3. Packets begin at multiples of a page, but the first of data, which
 *     shares its page with the opening packet; no head crosses a page.
 *  4. Each packet begins a nanosecond or more after the one before (readers
 *     sort the packets of a stream's files by that), and ends no later than the
 *     next begins.
 *  5. A packet's content is what was published of it; more may have been
 *     appended, within its file.
 *
 * Rejected: growing the file as it fills (between growing and covering the new
 * bytes by a packet there is an instant with neither), and one packet per file
 * (readers could neither seek nor place losses).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ctf/names.h"
#include "ctf/os.h"
#include "ctf/packet.h"
#include "ctf/trace_state.h"

#define FILE_SIZE_MAX (1ull << 30)

/* Where the first packet of a stream begins, behind the opening packet. */
#define OPENING_SIZE 128u
_Static_assert(OPENING_SIZE >= SONDE_CTF_HEAD_SIZE &&
		       OPENING_SIZE + SONDE_CTF_HEAD_SIZE <= SONDE_CTF_PAGE,
	       "invariant 3");

enum packet_state {
	NO_PACKET, /* none begun, or beginning it failed */
	BEGUN,     /* cur isn't visible yet */
	LINKED,    /* cur is visible, and is `last` */
};

/* A file being filled. */
struct file {
	int fd; /* -1: there is none */
	uint32_t nr;
	uint64_t size;
};

struct sonde_ctf_stream {
	struct sonde_ctf_trace *trace;
	struct sonde_ctf_stream *next;
	char name[SONDE_CTF_NAME_MAX + 1];
	struct file visible;
	struct file hidden;           /* where cur is, if fd >= 0 */
	struct sonde_ctf_index index; /* of the visible file */
	struct sonde_ctf_packet last;
	struct sonde_ctf_packet opening; /* of a stream that has nothing yet */
	struct sonde_ctf_packet cur;
	enum packet_state state;
	bool has_last;
	uint64_t appended; /* bytes of cur, head included */
	uint32_t nr_files;
	uint64_t file_size; /* of the next file */
};

static uint64_t page_up(uint64_t offset)
{
	return (offset + SONDE_CTF_PAGE - 1) / SONDE_CTF_PAGE * SONDE_CTF_PAGE;
}

/* The file that cur is in, or would be. */
static struct file *cur_file(struct sonde_ctf_stream *stream)
{
	return stream->hidden.fd >= 0 ? &stream->hidden : &stream->visible;
}

static void file_names(const struct sonde_ctf_stream *stream, uint32_t nr,
		       struct sonde_ctf_name *ret_visible,
		       struct sonde_ctf_name *ret_hidden)
{
	sonde_ctf_name_stream(ret_visible, stream->name, nr);
	sonde_ctf_name_hidden(ret_hidden, ret_visible->text);
}

/* Bytes a file must have left for one more packet, at a multiple of a page. */
static uint64_t packet_room(const struct sonde_ctf_stream *stream)
{
	return page_up(stream->trace->config.packet_max + OPENING_SIZE +
		       SONDE_CTF_HEAD_SIZE);
}

/* Make it as large as we want, or, where files can't be that large, as large
 * as one packet needs. */
static int set_file_size(struct sonde_ctf_stream *stream, int fd,
			 uint64_t *ret_size)
{
	uint64_t size = stream->file_size;
	int error = sonde_ctf_truncate(fd, size);

	while (error == -EFBIG && size / 2 >= packet_room(stream)) {
		size /= 2;
		error = sonde_ctf_truncate(fd, size);
	}
	if (!error)
		*ret_size = size;
	return error;
}

static int make_hidden_file(struct sonde_ctf_stream *stream)
{
	struct sonde_ctf_name visible;
	struct sonde_ctf_name hidden;
	struct file file = { .nr = stream->nr_files };
	int error;

	file_names(stream, file.nr, &visible, &hidden);
	file.fd = sonde_ctf_create(stream->trace->dir, hidden.text, O_RDWR);
	if (file.fd < 0)
		return file.fd;
	error = set_file_size(stream, file.fd, &file.size);
	if (error) {
		(void)close(file.fd);
		(void)sonde_ctf_unlink(stream->trace->dir, hidden.text);
		return error;
	}
	stream->hidden = file;
	if (file.size < FILE_SIZE_MAX)
		stream->file_size = 2 * file.size;
	return 0;
}

static void drop_hidden_file(struct sonde_ctf_stream *stream)
{
	struct sonde_ctf_name visible;
	struct sonde_ctf_name hidden;

	if (stream->hidden.fd < 0)
		return;
	file_names(stream, stream->hidden.nr, &visible, &hidden);
	(void)close(stream->hidden.fd);
	(void)sonde_ctf_unlink(stream->trace->dir, hidden.text);
	stream->hidden.fd = -1;
}

static struct sonde_ctf_stream *
new_stream(struct sonde_ctf_trace *trace,
	   const struct sonde_ctf_stream_config *config)
{
	struct sonde_ctf_stream *stream = calloc(1, sizeof(*stream));

	if (!stream)
		return NULL;
	stream->trace = trace;
	stream->visible.fd = -1;
	stream->hidden.fd = -1;
	(void)snprintf(stream->name, sizeof(stream->name), "%s", config->name);
	stream->file_size = trace->config.file_size;
	stream->last.head = (struct sonde_ctf_packet_head){
		.magic = SONDE_CTF_MAGIC,
		.stream_id = config->class_id,
		.stream_instance_id = config->instance,
		.content_size = SONDE_CTF_HEAD_SIZE * 8,
		.cpu_id = config->cpu_id,
		.vpid = config->vpid,
	};
	memcpy(stream->last.head.uuid, trace->uuid, sizeof(trace->uuid));
	return stream;
}

static bool name_taken(const struct sonde_ctf_trace *trace, const char *name)
{
	struct sonde_ctf_stream *stream = trace->streams;

	while (stream && strcmp(stream->name, name) != 0)
		stream = stream->next;
	return stream || faccessat(trace->dir, name, F_OK, 0) == 0;
}

int sonde_ctf_stream_open(struct sonde_ctf_trace *trace,
			  const struct sonde_ctf_stream_config *config,
			  struct sonde_ctf_stream **ret_stream)
{
	struct sonde_ctf_stream *stream;

	if (!sonde_ctf_name_valid(config->name))
		return -EINVAL;
	if (!sonde_ctf_trace_class(trace, config->class_id))
		return -ENOENT;
	if (name_taken(trace, config->name))
		return -EEXIST;
	stream = new_stream(trace, config);
	if (!stream)
		return -ENOMEM;
	stream->next = trace->streams;
	trace->streams = stream;
	*ret_stream = stream;
	return 0;
}

/* Where a packet after `last` goes in its file. */
static uint64_t next_offset(const struct sonde_ctf_stream *stream)
{
	return page_up(sonde_ctf_packet_content_end(&stream->last));
}

/* The least time that readers, who count in nanoseconds, can tell apart. */
static uint64_t least_step(const struct sonde_ctf_stream *stream)
{
	return stream->trace->config.clock.freq / 1000000000 + 1;
}

/* The packet that a stream starts with: empty, and nothing lost before it. */
static void set_opening(struct sonde_ctf_stream *stream, uint64_t ts_begin)
{
	uint64_t ts = ts_begin - least_step(stream);

	stream->opening = stream->last;
	stream->opening.head.timestamp_begin = ts;
	stream->opening.head.timestamp_end = ts;
	stream->opening.head.packet_size = OPENING_SIZE * 8;
}

/* See to it that there is a file with room for one more packet. */
static int make_room(struct sonde_ctf_stream *stream)
{
	if (stream->hidden.fd >= 0)
		return 0;
	if (stream->has_last &&
	    next_offset(stream) + packet_room(stream) <= stream->visible.size)
		return 0;
	return make_hidden_file(stream);
}

int sonde_ctf_packet_begin(struct sonde_ctf_stream *stream, uint64_t ts_begin,
			   uint64_t nr_missing)
{
	struct sonde_ctf_packet_head *head = &stream->cur.head;
	bool new_file;
	uint64_t ts_min;
	int error;

	stream->state = NO_PACKET;
	error = make_room(stream);
	if (error)
		return error;
	new_file = stream->hidden.fd >= 0;
	/* invariant 4 */
	ts_min = stream->last.head.timestamp_begin + least_step(stream);
	if (ts_begin < ts_min)
		ts_begin = ts_min;
	if (!stream->has_last)
		set_opening(stream, ts_begin);

	*head = stream->last.head;
	head->timestamp_begin = ts_begin;
	head->timestamp_end = ts_begin;
	head->content_size = SONDE_CTF_HEAD_SIZE * 8;
	head->packet_seq_num += 1 + nr_missing;
	if (!new_file)
		stream->cur.offset = next_offset(stream);
	else
		stream->cur.offset = stream->has_last ? 0 : OPENING_SIZE;
	sonde_ctf_packet_set_end(&stream->cur, cur_file(stream)->size);
	stream->appended = SONDE_CTF_HEAD_SIZE;
	stream->state = BEGUN;
	return 0;
}

int sonde_ctf_packet_append(struct sonde_ctf_stream *stream, const void *data,
			    size_t size)
{
	const struct file *file = cur_file(stream);
	uint64_t offset = stream->cur.offset + stream->appended;
	int error;

	if (stream->state == NO_PACKET)
		return -EINVAL;
	if (size > file->size - offset)
		return -EMSGSIZE;
	error = sonde_ctf_pwrite(file->fd, data, size, offset);
	if (!error)
		stream->appended += size;
	return error;
}

void sonde_ctf_packet_forget(struct sonde_ctf_stream *stream)
{
	stream->appended = stream->cur.head.content_size / 8;
}

/* The last packet must not end after the one that comes next begins. */
static void lower_end(struct sonde_ctf_packet *last, uint64_t ts_begin)
{
	if (last->head.timestamp_end > ts_begin)
		last->head.timestamp_end = ts_begin;
}

/* Make cur visible, in the file where `last` is. */
static int link_in_file(struct sonde_ctf_stream *stream)
{
	struct sonde_ctf_packet last = stream->last;
	int fd = stream->visible.fd;
	int error = sonde_ctf_packet_write(fd, &stream->cur);

	if (error)
		return error;
	lower_end(&last, stream->cur.head.timestamp_begin);
	sonde_ctf_packet_set_end(&last, stream->cur.offset);
	error = sonde_ctf_packet_write(fd, &last);
	if (!error)
		sonde_ctf_index_add(&stream->index, &last);
	return error;
}

/*
 * Cut the visible file, write its index, and close it. What fails here costs
 * tidiness only: the file is valid at each step, and sonde_ctf_repair_at() can do
 * it later.
 */
static int finish_file(struct sonde_ctf_stream *stream)
{
	struct file *file = &stream->visible;
	struct sonde_ctf_name visible;
	int error;

	if (file->fd < 0)
		return 0;
	error = sonde_ctf_packet_trim(file->fd, file->size, &stream->last);
	if (!error) {
		sonde_ctf_name_stream(&visible, stream->name, file->nr);
		sonde_ctf_index_add(&stream->index, &stream->last);
		error = sonde_ctf_index_write(
			&stream->index, stream->trace->index_dir, visible.text);
	}
	(void)close(file->fd);
	file->fd = -1;
	sonde_ctf_index_fini(&stream->index);
	return error;
}

/* Make cur visible, in its new file; the old one must be finished first, or
 * the empty packet that cuts it would have cur's number. */
static int link_new_file(struct sonde_ctf_stream *stream)
{
	struct sonde_ctf_name visible;
	struct sonde_ctf_name hidden;
	int error;

	file_names(stream, stream->hidden.nr, &visible, &hidden);
	if (faccessat(stream->trace->dir, visible.text, F_OK, 0) == 0)
		return -EEXIST;
	error = sonde_ctf_packet_write(stream->hidden.fd, &stream->cur);
	if (!error && !stream->has_last)
		error = sonde_ctf_packet_write(stream->hidden.fd,
					       &stream->opening);
	if (error)
		return error;
	if (stream->visible.fd >= 0)
		lower_end(&stream->last, stream->cur.head.timestamp_begin);
	(void)finish_file(stream); /* costs tidiness only */
	error = sonde_ctf_rename(stream->trace->dir, hidden.text, visible.text);
	if (error)
		return error;
	stream->visible = stream->hidden;
	stream->hidden.fd = -1;
	stream->nr_files++;
	stream->trace->nr_files++;
	if (!stream->has_last)
		sonde_ctf_index_add(&stream->index, &stream->opening);
	return 0;
}

static int link_cur(struct sonde_ctf_stream *stream)
{
	int error = stream->hidden.fd >= 0 ? link_new_file(stream) :
					     link_in_file(stream);

	if (error)
		return error;
	stream->state = LINKED;
	stream->has_last = true;
	return 0;
}

int sonde_ctf_packet_publish(struct sonde_ctf_stream *stream, uint64_t ts_end,
			     uint64_t discarded)
{
	struct sonde_ctf_packet_head before = stream->cur.head;
	struct sonde_ctf_packet_head *head = &stream->cur.head;
	int error;

	if (stream->state == NO_PACKET)
		return -EINVAL;
	error = sonde_ctf_metadata_sync(&stream->trace->metadata);
	if (error)
		return error;
	if (ts_end < head->timestamp_begin)
		ts_end = head->timestamp_begin;
	head->timestamp_end = ts_end;
	if (discarded > head->events_discarded)
		head->events_discarded = discarded;
	head->content_size = stream->appended * 8;
	if (stream->state == LINKED)
		error = sonde_ctf_packet_write(stream->visible.fd,
					       &stream->cur);
	else
		error = link_cur(stream);
	if (error)
		*head = before;
	else
		stream->last = stream->cur;
	return error;
}

/* An empty packet for events that were discarded after the last one. */
static int publish_discarded(struct sonde_ctf_stream *stream, uint64_t ts_end,
			     uint64_t discarded)
{
	uint64_t ts_begin = stream->last.head.timestamp_end;
	int error;

	if (discarded <= stream->last.head.events_discarded)
		return 0;
	error = sonde_ctf_packet_begin(stream,
				       stream->has_last ? ts_begin : ts_end, 0);
	if (!error)
		error = sonde_ctf_packet_publish(stream, ts_end, discarded);
	return error;
}

static const char *check_packet(const struct sonde_ctf_packet *packet)
{
	const struct sonde_ctf_packet_head *head = &packet->head;

	if (packet->offset % SONDE_CTF_PAGE && packet->offset != OPENING_SIZE)
		return "3: a packet begins in a page's middle";
	if (head->timestamp_end < head->timestamp_begin)
		return "4: a packet ends before it begins";
	return head->content_size < SONDE_CTF_HEAD_SIZE * 8 ||
			       head->content_size > head->packet_size ?
		       "5: a packet has more content than it has room" :
		       NULL;
}

const char *sonde_ctf_stream_check(const struct sonde_ctf_stream *stream)
{
	const struct sonde_ctf_packet *last = &stream->last;
	const struct sonde_ctf_packet *cur = &stream->cur;
	const struct file *file =
		stream->hidden.fd >= 0 ? &stream->hidden : &stream->visible;
	const char *wrong = stream->has_last ? check_packet(last) : NULL;

	if (stream->visible.fd >= 0 &&
	    (!stream->has_last ||
	     last->offset + last->head.packet_size / 8 != stream->visible.size))
		return "1: the last packet doesn't end with its file";
	if (wrong || stream->state == NO_PACKET)
		return wrong;
	if (stream->state == LINKED &&
	    (!stream->has_last || memcmp(cur, last, sizeof(*cur)) != 0))
		return "2: a packet is visible, and isn't the last";
	if (stream->state == BEGUN && stream->has_last &&
	    cur->head.timestamp_begin <
		    last->head.timestamp_begin + least_step(stream))
		return "4: a packet begins as early as the one before";
	if (stream->appended < cur->head.content_size / 8 ||
	    (file->fd >= 0 && cur->offset + stream->appended > file->size))
		return "5: what was appended is not in the file";
	return check_packet(cur);
}

static void unlist(struct sonde_ctf_stream *stream)
{
	struct sonde_ctf_stream **at = &stream->trace->streams;

	while (*at != stream)
		at = &(*at)->next;
	*at = stream->next;
}

int sonde_ctf_stream_close(struct sonde_ctf_stream *stream, uint64_t ts_end,
			   uint64_t discarded)
{
	int error;
	int finish_error;

	if (!stream)
		return 0;
	error = publish_discarded(stream, ts_end, discarded);
	drop_hidden_file(stream);
	finish_error = finish_file(stream);
	unlist(stream);
	free(stream);
	return error ? error : finish_error;
}

int sonde_ctf_stream_close_as_is(struct sonde_ctf_stream *stream)
{
	return sonde_ctf_stream_close(stream, stream->last.head.timestamp_end,
				      stream->last.head.events_discarded);
}
