/* SPDX-License-Identifier: MIT */
/*
 * ask.c - fuzz session/protocol.h: any line that is sent to a session by name. A
 * request that is taken is a whole one, and is the same when it is written and
 * read again.
 */
#include "session/protocol.h"

#include <errno.h>

#include "fuzz.h"

static void check_taken(const struct sonde_session_ask *ask)
{
	char error[200] = "";
	struct sonde_session_ask again;
	char *line = sonde_session_ask_write(ask);

	FUZZ_CHECK(line && strlen(line) < 7 * SONDE_ASK_MAX);
	FUZZ_CHECK(strchr(line, '\n') == line + strlen(line) - 1);
	FUZZ_CHECK(strnlen(ask->directory, PATH_MAX) < PATH_MAX);
	if (ask->what == SONDE_ASK_SNAPSHOT)
		FUZZ_CHECK(*ask->directory == '/');
	FUZZ_CHECK(sonde_session_ask_read(line, strlen(line) - 1, &again, error,
					  sizeof(error)) == 0);
	FUZZ_CHECK(again.what == ask->what);
	FUZZ_CHECK(!strcmp(again.directory, ask->directory));
	FUZZ_CHECK(!strcmp(again.text, ask->text));
	FUZZ_CHECK(!memcmp(&again.wish, &ask->wish, sizeof(ask->wish)));
	FUZZ_CHECK(ask->wish.rules_size <= SONDE_RULES_MAX);
	FUZZ_CHECK(ask->wish.functions_size <= SONDE_RULES_MAX);
	free(line);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	char error[200] = "";
	struct sonde_session_ask ask;
	int rc = sonde_session_ask_read((const char *)bytes, size, &ask, error,
					sizeof(error));

	FUZZ_CHECK(rc == 0 || rc == -EINVAL);
	if (rc == 0)
		check_taken(&ask);
	else
		FUZZ_CHECK(*error && strnlen(error, sizeof(error)) < 200);
	return 0;
}
