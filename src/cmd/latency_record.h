/* SPDX-License-Identifier: MIT */
/*
 * latency_record.h - `sonde latency` under `sonde record`: a measurement of ours is
 * the program that is recorded.
 *
 * A recording has a process of its own, in which everything is as in `sonde
 * record`; so there can be many, one after the other. The trace is for whoever
 * started it: it goes with the place.
 */
#ifndef CMD_LATENCY_RECORD_H
#define CMD_LATENCY_RECORD_H

#include "cmd/recording.h"
#include "latency/measure.h"

#define LATENCY_WORDS 64u

struct latency_recording {
	struct sonde_record_options options;
	struct sonde_command_start start;
	struct sonde_directory place;
	char directory[PATH_MAX]; /* of the trace */
	char chosen[PATH_MAX];
	char self[PATH_MAX];
	struct sonde_frontend_result *result; /* of the last one; shared */
};

/*
 * By the words of `sonde record`, to measure by those of ours; both end with NULL,
 * and ours, whose first is set here, may change between recordings. The recorder keeps off the
 * CPUs that are measured, if there are others and the words don't say where it
 * runs. 0, or an exit status: said why.
 */
int latency_recording_begin(struct latency_recording *recording,
			    const struct sonde_latency_config *config,
			    char *const *record, char **measure);
void latency_recording_end(struct latency_recording *recording);

/* Once. What the measurement prints goes to `output_fd`. 0, and a trace until
 * _clear(); or an exit status: said why, and there is no trace. */
int latency_recording_run(struct latency_recording *recording, int output_fd);
void latency_recording_clear(struct latency_recording *recording);

#endif /* CMD_LATENCY_RECORD_H */
