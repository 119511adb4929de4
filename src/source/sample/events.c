/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * events.c - the events of a sampled recording (events.h).
 */
#include "source/sample/events.h"

#include "source/callstacks.h"
#include "source/perf_map.h"
#include "types/build.h"

static void describe_sample(struct sonde_build *build)
{
	sonde_build_int(build, "pid", 32, SONDE_FIELD_SIGNED);
	sonde_build_int(build, "stack", 32, 0);
	sonde_build_int(build, "period", 32, 0);
}

static void describe_began(struct sonde_build *build)
{
	sonde_build_int(build, "pid", 32, SONDE_FIELD_SIGNED);
	sonde_build_int(build, "parent", 32, SONDE_FIELD_SIGNED);
}

static void sample_describe_code(struct sonde_build *build)
{
	sonde_build_int(build, "pid", 32, SONDE_FIELD_SIGNED);
	sonde_source_code_describe(build);
}

static void sample_describe_code_lost(struct sonde_build *build)
{
	sonde_build_int(build, "pid", 32, SONDE_FIELD_SIGNED);
	sonde_source_code_describe_lost(build);
}

static void describe_looked(struct sonde_build *build)
{
	sonde_build_int(build, "pid", 32, SONDE_FIELD_SIGNED);
	sonde_build_int(build, "nr", 32, 0);
	sonde_build_int(build, "age", 64, 0);
}

int sonde_sample_describe(enum sonde_sample_event event,
			  uint64_t room[SONDE_DESC_MAX / 8])
{
	static const struct {
		const char *name;
		void (*describe)(struct sonde_build *build);
	} events[SONDE_SAMPLE_NR_EVENTS] = {
		[SONDE_SAMPLE] = { "sample", describe_sample },
		[SONDE_SAMPLE_STACK] = { "stack", sonde_callstacks_describe },
		[SONDE_SAMPLE_STACKS_LOST] = { "stacks_lost",
					       sonde_callstacks_describe_lost },
		[SONDE_SAMPLE_BEGAN] = { "began", describe_began },
		[SONDE_SAMPLE_MAPPING] = { "mapping",
					   sonde_statedump_describe_mapping },
		[SONDE_SAMPLE_CODE] = { "code", sample_describe_code },
		[SONDE_SAMPLE_CODE_LOST] = { "code_lost",
					     sample_describe_code_lost },
		[SONDE_SAMPLE_LOOKED] = { "looked", describe_looked },
	};

	return sonde_build_whole(room, "sonde", events[event].name, SONDE_INFO,
				 events[event].describe);
}
