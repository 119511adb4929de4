/* SPDX-License-Identifier: MIT */
/*
 * convert_foreign.c - `sonde convert FILE`: what another tracer recorded becomes a
 * trace of ours (import/import.h), in a new directory.
 */
#include "cmd/convert_foreign.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/read_watch.h"
#include "ctf/directory.h"
#include "import/import.h"

bool sonde_command_is_foreign(const char *path)
{
	return sonde_import_look(path) != SONDE_IMPORT_NONE;
}

static void foreign_tell(const struct sonde_import_report *report)
{
	for (uint32_t i = 0; i < report->nr_notes; i++)
		sonde_complain("%s", report->notes[i]);
	if (report->unread)
		sonde_complain("%" PRIu64
			       " records or parts make no sense, and "
			       "are left out",
			       report->unread);
	sonde_complain("%" PRIu64 " events; %" PRIu64 " lost by the one who "
		       "recorded them",
		       report->events, report->lost);
}

int sonde_command_convert_foreign(const char *from, const char *to,
				  enum sonde_ctf_version version)
{
	struct sonde_import_config config = {
		.name = to, .version = version, .progress = sonde_watch_progress
	};
	struct sonde_directory place = SONDE_DIRECTORY_NONE;
	struct sonde_directory_error words;
	struct sonde_import_report report;
	struct sonde_import_error error = { "" };
	int rc = sonde_directory_make(to, &place, &words);

	if (rc) {
		sonde_complain("%s", words.text);
		return rc;
	}
	config.dir = place.dir;
	sonde_watch_begin("convert", true);
	rc = sonde_import(from, &config, &report, &error);
	sonde_watch_end();
	if (rc) {
		if (rc != -EINTR)
			sonde_complain("%.300s: %s", from, error.text);
		sonde_directory_remove(&place);
		return rc;
	}
	foreign_tell(&report);
	sonde_directory_close(&place);
	return 0;
}
