/* SPDX-License-Identifier: MIT */
/*
 * save.c - QTSave: the trace as a file that GDB's 'target tfile' opens.
 *
 *	\x7fTRACE0
 *	R bytes of an 'R' block
 *	status ...
 *	tp ...			as qTfP tells them
 *	tsv ...			as qTfV
 *	tdesc ...		the target description
 *	(an empty line)
 *	frames; a zero as the last one's tracepoint
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hex.h"
#include "ctf/directory.h"
#include "gdb/registers.h"
#include "gdb/server_parts.h"

#define LINE_MAX_BYTES (1u << 17)

typedef size_t line_of(const struct sonde_probe_points *points, size_t i,
		       char *to, size_t size);

static void save_put_lines(FILE *file, const char *word,
			   const struct sonde_probe_points *points,
			   line_of *get)
{
	char *line = malloc(LINE_MAX_BYTES);
	size_t length;

	for (size_t i = 0; line; i++) {
		length = get(points, i, line, LINE_MAX_BYTES);
		if (length == 0)
			break;
		if (length < LINE_MAX_BYTES)
			(void)fprintf(file, "%s %s\n", word, line);
	}
	free(line);
}

static void put_head(struct sonde_gdb_server *server, FILE *file)
{
	struct sonde_gdb_reply *status = malloc(sizeof(*status));

	(void)fprintf(file, "\x7fTRACE0\nR %x\n", SONDE_GDB_G_BYTES);
	if (status) {
		sonde_gdb_reply_clear(status);
		sonde_gdb_status(server, status);
		/* without the "T0;" */
		(void)fprintf(file, "status 0;%s\n",
			      strchr(status->bytes, ';') + 1);
	}
	free(status);
	save_put_lines(file, "tp", &server->points, sonde_probe_points_line);
	save_put_lines(file, "tsv", &server->points,
		       sonde_probe_points_variable_line);
	(void)fprintf(file, "tdesc %s\n\n", sonde_gdb_target_xml());
}

static void put_frames(struct sonde_gdb_frames *frames, FILE *file)
{
	static const uint8_t end[4];
	uint8_t bytes[16384];
	uint64_t offset = 0;
	size_t nr;

	while (frames) {
		nr = sonde_gdb_frames_raw(frames, offset, bytes, sizeof(bytes));
		if (nr == 0)
			break;
		(void)fwrite(bytes, 1, nr, file);
		offset += nr;
	}
	(void)fwrite(end, 1, sizeof(end), file);
}

/* QTSave:hex: the file's name */
void sonde_gdb_answer_save(struct sonde_gdb_server *server, const char *rest,
			   struct sonde_gdb_reply *reply)
{
	char *name = sonde_hex_bytes(rest, NULL);
	struct sonde_directory_error error = { "it has no name" };
	int fd = name && *name ? sonde_directory_file(name, &error) : -ENOENT;
	FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
	bool failed;

	free(name);
	if (!file) {
		sonde_gdb_reply_refuse(reply, error.text);
		return;
	}
	put_head(server, file);
	put_frames(sonde_gdb_need_frames(server), file);
	failed = ferror(file);
	if (fclose(file) || failed)
		sonde_gdb_reply_refuse(reply, "the file can't be written");
	else
		sonde_gdb_reply_text(reply, "OK");
}
