/* SPDX-License-Identifier: MIT */
/*
 * find.c - fuzzes what session/find.h and session/ps.h make of text of /proc,
 * in which paths and names are what programs chose: a line of a maps file, a
 * link, a control group.
 */
#include "fuzz.h"

#include "session/attach.h"
#include "session/find.h"
#include "session/ps.h"
#include "sys/proc.h"

#define TEXT_MAX 4096u

static void fuzz_maps(char *text)
{
	struct sonde_find_maps maps = { 0 };
	char *save = NULL;

	for (char *line = strtok_r(text, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save)) {
		struct sonde_proc_mapping mapping;

		if (sonde_proc_parse_mapping(line, &mapping))
			sonde_find_mapping(&mapping, &maps);
	}
	if (!maps.has_arena)
		FUZZ_CHECK(!maps.start && !maps.end);
}

static void fuzz_groups(const char *text)
{
	char group[64];
	char container[SONDE_PS_CONTAINER];
	const char *path = sonde_proc_find_cgroup(text, NULL);

	if (!path)
		return;
	(void)snprintf(group, sizeof(group), "%.*s", (int)strcspn(path, "\n"),
		       path);
	FUZZ_CHECK(*group == '/' && strlen(group) < sizeof(group));
	FUZZ_CHECK(!strchr(group, '\n'));
	FUZZ_CHECK(sonde_find_in_cgroup(group, "/"));
	sonde_ps_container_of(group, container);
	FUZZ_CHECK(!*container || strlen(container) == sizeof(container) - 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	char text[TEXT_MAX];

	if (!size || size > sizeof(text))
		return 0;
	memcpy(text, bytes + 1, size - 1);
	text[size - 1] = '\0';
	(void)sonde_find_is_arena_link(text);
	(void)sonde_attach_is_named(text, "systemd-journald");
	if (bytes[0] & 1)
		fuzz_groups(text);
	else
		fuzz_maps(text);
	return 0;
}
