/* SPDX-License-Identifier: MIT */
/*
 * sync_write.c - `sonde sync --write`: what is known of each host's clock is written
 * beside its traces, whose own files stay as they are (sync_write.h).
 */
#include "cmd/sync_write.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analysis/reports/host_lines.h"
#include "base/port.h"
#include "cmd/cmd.h"
#include "sys/write.h"

/* Who may read the metadata may read it. */
static int sync_write_clock(int dir, const char *text)
{
	struct stat about;
	int err = sonde_write_replace(dir, SONDE_CLOCK_OFFSET_FILE ".new",
				      SONDE_CLOCK_OFFSET_FILE, text,
				      strlen(text));

	if (!err && !fstatat(dir, "metadata", &about, 0) &&
	    fchmodat(dir, SONDE_CLOCK_OFFSET_FILE, about.st_mode & 0666, 0))
		err = -errno;
	return err;
}

static int remove_clock(int dir)
{
	return unlinkat(dir, SONDE_CLOCK_OFFSET_FILE, 0) && errno != ENOENT ?
		       -errno :
		       0;
}

/* Said why not. */
static int write_source(const struct sonde_source *source,
			const struct sonde_host_line *line)
{
	int dir = open(source->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char *text =
		line->is_known ? sonde_clock_offset_text(&line->line) : NULL;
	int err = dir < 0 ? -errno : line->is_known && !text ? -ENOMEM : 0;

	if (!err)
		err = text ? sync_write_clock(dir, text) : remove_clock(dir);
	if (err)
		sonde_complain("sync: %s/" SONDE_CLOCK_OFFSET_FILE ": %s",
			       source->path, strerrordesc_np(-err));
	if (dir >= 0)
		(void)close(dir);
	free(text);
	return err;
}

static void sync_put_lines(const struct sonde_trace *trace,
			   const struct sonde_host_line *lines,
			   struct sonde_report *report)
{
	static const struct sonde_column columns[] = {
		{ "host", "HOST", SONDE_CELL_TEXT },
		{ "to", "ON THE CLOCK OF", SONDE_CELL_TEXT },
		{ "ahead", "WAS AHEAD BY", SONDE_CELL_DURATION },
		{ "within", "WITHIN", SONDE_CELL_DURATION },
		{ "known", "KNOWN", SONDE_CELL_PERCENT },
	};
	struct sonde_table *table =
		sonde_report_table(report, "written", "The hosts' clocks",
				   columns, SONDE_ARRAY_SIZE(columns));

	for (size_t i = 0; i < trace->nr_machines; i++) {
		const struct sonde_host_line *line = &lines[i];

		sonde_table_row(table);
		sonde_table_text(table, 0, trace->machines[i].host);
		if (!line->is_known)
			continue;
		sonde_table_text(table, 1, line->line.to);
		sonde_table_int(table, 2, -line->line.add_ns[0]);
		sonde_table_int(table, 3, line->widest_ns);
		sonde_table_double(table, 4,
				   (double)line->nr_known /
					   (double)line->line.nr_points);
	}
}

static const char *why_none(int err)
{
	return err == -ENODATA ? "the first trace names no host, or has no "
				 "events" :
	       err == -E2BIG   ? "more than a day and a half was traced; cut "
				 "the traces before" :
				 strerrordesc_np(-err);
}

int sonde_command_sync_write(const struct sonde_trace *trace,
			     const struct sonde_transfers *transfers,
			     struct sonde_report *report)
{
	struct sonde_host_line *lines =
		calloc(trace->nr_machines, sizeof(*lines));
	int err = lines ? sonde_host_lines_find(transfers, trace, lines) :
			  -ENOMEM;

	if (err)
		sonde_complain("sync: %s", why_none(err));
	for (size_t i = 0; i < trace->nr_sources && !err; i++)
		err = write_source(trace->sources[i],
				   &lines[trace->sources[i]->machine]);
	if (!err)
		sync_put_lines(trace, lines, report);
	if (lines)
		sonde_host_lines_fini(lines, trace->nr_machines);
	free(lines);
	return err ? 1 : 0;
}
