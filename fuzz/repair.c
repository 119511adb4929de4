/* SPDX-License-Identifier: MIT */
/*
 * repair.c - fuzz sonde_ctf_repair_at(): a trace directory with one stream file
 * of packets that are not all as we write them. Repairing is idempotent, never
 * makes a file longer, leaves a file alone that it calls damaged, and leaves
 * nothing hidden.
 *
 * Input: a byte (bit 0 the rest is the file's content; bit 1 an index is
 * there; bit 2 hidden files are there; bit 3 the rest is the metadata; bit 4 it
 * is tried before with calls that fail, from one on that the next byte says),
 * then packets.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ctf/os.h"
#include "ctf/packet.h"
#include "ctf/trace.h"
#include "fuzz.h"

#define CONTENT_MAX 65536u

static const char metadata[] = "/* CTF 1.8 */\n\ntrace {\n"
			       "\tuuid = \"01010101-0101-0101-0101-"
			       "010101010101\";\n};\nenv {\n"
			       "\ttracer2_name = \"sonde\";\n};\n";

/* The directory the runs of this process share. */
static char path[64];
static int dir = -1;

static void remove_directory(void)
{
	static const char *const names[] = { "metadata", "stream", ".x.new",
					     "index/.stream.idx.new",
					     "index/stream.idx" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		(void)unlinkat(dir, names[i], 0);
	(void)unlinkat(dir, "index", AT_REMOVEDIR);
	(void)rmdir(path);
}

static void make_directory(void)
{
	(void)snprintf(path, sizeof(path), "/dev/shm/sonde-fuzz-XXXXXX");
	FUZZ_CHECK(mkdtemp(path));
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	FUZZ_CHECK(dir >= 0);
	FUZZ_CHECK(!atexit(remove_directory));
}

static void write_file(const char *name, const void *bytes, size_t size)
{
	int fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
			0666);

	FUZZ_CHECK(fd >= 0 && write(fd, bytes, size) == (ssize_t)size);
	(void)close(fd);
}

/* Reads a file of at most 2 * CONTENT_MAX bytes. */
static size_t read_file(const char *name, uint8_t *bytes)
{
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
	ssize_t size;

	FUZZ_CHECK(fd >= 0);
	size = read(fd, bytes, 2 * CONTENT_MAX);
	FUZZ_CHECK(size >= 0 && size < 2 * CONTENT_MAX);
	(void)close(fd);
	return (size_t)size;
}

static void spoil(struct fuzz_input *in, struct sonde_ctf_packet_head *head)
{
	uint64_t *fields[] = {
		&head->content_size,    &head->packet_size,
		&head->timestamp_begin, &head->timestamp_end,
		&head->packet_seq_num,  &head->stream_instance_id,
	};
	uint64_t *field = fields[fuzz_below(in, 6)];
	uint64_t number = fuzz_number(in);

	number <<= fuzz_u8(in) & 7;
	switch (fuzz_below(in, 3)) {
	case 0:
		*field = number;
		break;
	case 1:
		*field += number;
		break;
	default:
		*field -= number;
		break;
	}
}

/*
 * Append a packet, perhaps just the empty one that is behind `last` while a
 * file is being cut. Returns the file's new size.
 */
static size_t put_packet(struct fuzz_input *in, uint8_t *bytes, size_t at,
			 struct sonde_ctf_packet *last)
{
	uint8_t what = fuzz_u8(in);
	uint32_t content = SONDE_CTF_HEAD_SIZE;
	uint32_t more = 0;
	struct sonde_ctf_packet packet = { .offset = at };

	if (what & 2) {
		packet = sonde_ctf_packet_rest(last);
		packet.offset = at;
	} else {
		content += fuzz_u8(in) * 16u;
		more = fuzz_u8(in) * 32u;
		packet.head = (struct sonde_ctf_packet_head){
			.magic = SONDE_CTF_MAGIC,
			.content_size = content * 8ull,
			.timestamp_begin = at,
		};
		packet.head.timestamp_end = at + fuzz_u8(in);
		packet.head.packet_seq_num = fuzz_u8(in);
		memset(packet.head.uuid, 1, sizeof(packet.head.uuid));
	}
	content += more;
	if (what & 4) /* where a packet may end */
		content = (uint32_t)(sonde_ctf_packet_tail(&packet) - at);
	packet.head.packet_size = content * 8ull;
	if ((what & 1) && at > 0)
		spoil(in, &packet.head);
	memset(bytes + at, what, content);
	memcpy(bytes + at, &packet.head, sizeof(packet.head));
	*last = packet;
	return at + content;
}

static size_t make_content(struct fuzz_input *in, uint8_t *bytes)
{
	struct sonde_ctf_packet last = { .offset = 0 };
	size_t size = 0;

	while (in->left > 0 && size < CONTENT_MAX - 16384)
		size = put_packet(in, bytes, size, &last);
	return size;
}

static void repair(int expected, struct sonde_ctf_repair_report *ret_report)
{
	int rc = sonde_ctf_repair_at(dir, ret_report);

	FUZZ_CHECK(rc == expected);
}

static void check_nothing_hidden(const char *below)
{
	int fd = openat(dir, below, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;

	while (list && (entry = readdir(list)))
		FUZZ_CHECK(entry->d_name[0] != '.' ||
			   !strcmp(entry->d_name, ".") ||
			   !strcmp(entry->d_name, ".."));
	if (list)
		(void)closedir(list);
}

/* Packets that fill the file, by the plainest of readers. */
static bool is_sound(const uint8_t *bytes, size_t size)
{
	size_t at = 0;

	while (at < size) {
		struct sonde_ctf_packet_head head;

		if (size - at < sizeof(head))
			return false;
		memcpy(&head, bytes + at, sizeof(head));
		if (head.magic != SONDE_CTF_MAGIC ||
		    head.packet_size / 8 > size - at ||
		    head.content_size > head.packet_size ||
		    head.content_size / 8 < sizeof(head))
			return false;
		at += head.packet_size / 8;
	}
	return size > 0;
}

static void check_repair(const uint8_t *before, size_t size)
{
	static uint8_t after[2 * CONTENT_MAX];
	static uint8_t again[2 * CONTENT_MAX];
	struct sonde_ctf_repair_report first;
	struct sonde_ctf_repair_report second;
	size_t now;

	repair(0, &first);
	now = read_file("stream", after);
	FUZZ_CHECK(first.nr_files == 1 && first.nr_damaged <= 1);
	FUZZ_CHECK(now <= size && size - now == first.bytes_freed);
	if (first.nr_damaged)
		FUZZ_CHECK(now == size && !memcmp(before, after, size));
	else
		FUZZ_CHECK(is_sound(before, size) && is_sound(after, now));
	check_nothing_hidden(".");
	check_nothing_hidden("index");
	repair(0, &second);
	FUZZ_CHECK(read_file("stream", again) == now);
	FUZZ_CHECK(!memcmp(after, again, now));
	FUZZ_CHECK(second.nr_damaged == first.nr_damaged &&
		   second.nr_packets == first.nr_packets &&
		   second.nr_trimmed == 0);
}

/* From the n-th call on that would change something, none does. */
static uint32_t calls_left;

static int fail_later(const char *call)
{
	(void)call;
	if (calls_left == 0)
		return -ENOSPC;
	calls_left--;
	return 0;
}

/* As if it were killed after some calls: what was sound is so still. Returns
 * the file's size then. */
static size_t repair_in_part(struct fuzz_input *in, uint8_t *bytes, size_t size)
{
	bool sound = is_sound(bytes, size);
	int rc;

	calls_left = fuzz_below(in, 12);
	sonde_ctf_fault = fail_later;
	rc = sonde_ctf_repair_at(dir, NULL);
	sonde_ctf_fault = NULL;
	FUZZ_CHECK(rc == 0 || rc == -ENOSPC);
	size = read_file("stream", bytes);
	FUZZ_CHECK(is_sound(bytes, size) == sound);
	return size;
}

/* The metadata may be anything; then nothing more is promised than an end. */
static void check_metadata(const struct fuzz_input *in)
{
	struct sonde_ctf_repair_report report;
	int rc;

	write_file("metadata", in->at, in->left);
	rc = sonde_ctf_repair_at(dir, &report);
	FUZZ_CHECK(rc == 0 || rc == -EINVAL);
	write_file("metadata", metadata, sizeof(metadata) - 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static uint8_t content[2 * CONTENT_MAX];
	struct fuzz_input in = { bytes, size };
	uint8_t what = fuzz_u8(&in);
	struct fuzz_input last = { in.at, what & 16 && in.left ? 1 : 0 };

	(void)fuzz_bytes(&in, last.left, &last.left);
	if (size > CONTENT_MAX)
		return 0;
	if (dir < 0)
		make_directory();
	(void)mkdirat(dir, "index", 0777);
	write_file("metadata", metadata, sizeof(metadata) - 1);
	(void)unlinkat(dir, "index/stream.idx", 0);
	if (what & 2)
		write_file("index/stream.idx", "", 0);
	if (what & 4) {
		write_file(".x.new", "", 0);
		write_file("index/.stream.idx.new", "", 0);
	}
	if (what & 1) {
		size = in.left;
		if (size > 0)
			memcpy(content, in.at, size);
	} else {
		size = make_content(&in, content);
	}
	write_file("stream", content, size);
	if (what & 16)
		size = repair_in_part(&last, content, size);
	if (what & 8)
		check_metadata(&in);
	else
		check_repair(content, size);
	return 0;
}
