/* SPDX-License-Identifier: MIT */
/*
 * names.c - names of threads and of the kernel's code in the trace that a conversion writes (names.h).
 */
#include "import/names.h"

#include <stdio.h>

#include "base/port.h"
#include "source/statedump/events.h"
#include "source/statedump/model.h"

static int names_describe(struct sonde_import_output *output, uint32_t class_id,
			  const enum sonde_statedump_event *events, size_t nr)
{
	struct sonde_desc *descs[SONDE_STATEDUMP_NR_EVENTS];
	int rc = sonde_statedump_descs_new(descs);

	if (rc)
		return rc;
	for (size_t i = 0; !rc && i < nr; i++)
		rc = sonde_import_output_event(output, class_id,
					       (uint16_t)(1 + events[i]),
					       descs[events[i]]);
	sonde_statedump_descs_free(descs);
	return rc;
}

int sonde_import_names_describe(struct sonde_import_output *output,
				uint32_t class_id)
{
	static const enum sonde_statedump_event events[] = {
		SONDE_STATEDUMP_PROCESS
	};

	return names_describe(output, class_id, events,
			      SONDE_ARRAY_SIZE(events));
}

int sonde_import_names_describe_kernel(struct sonde_import_output *output,
				       uint32_t class_id)
{
	static const enum sonde_statedump_event events[] = {
		SONDE_STATEDUMP_MODULE, SONDE_STATEDUMP_SYMBOL
	};

	return names_describe(output, class_id, events,
			      SONDE_ARRAY_SIZE(events));
}

int sonde_import_names_put(struct sonde_import_stream *stream, int32_t pid,
			   int32_t tid, const char *name)
{
	struct sonde_statedump_task task = {
		.pid = pid,
		.vpid = pid,
		.tid = tid,
		.vtid = tid,
		.status = SONDE_STATUS_UNKNOWN,
	};

	(void)snprintf(task.name, sizeof(task.name), "%s", name);
	sonde_statedump_emit_process(&stream->out, &task, 0, 0);
	return sonde_import_output_look(stream);
}
