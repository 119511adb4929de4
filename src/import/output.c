/* SPDX-License-Identifier: MIT */
/*
 * output.c - the trace that a conversion writes (output.h).
 */
#include "import/output.h"

#include <errno.h>
#include <stdlib.h>

#include "base/grow.h"

/* Four blocks: one is written to, one may wait. */
#define OUT_BYTES (4ull * (SONDE_OUT_BLOCK_BYTES + 4096u))

struct sonde_import_output {
	struct sonde_ctf_trace *trace;
	struct sonde_import_stream **streams;
	size_t nr, room;
	uint32_t nr_classes;
	int error; /* the first one */
};

/* The time of each record is given. */
static uint64_t output_no_time(void)
{
	return 1;
}

static int output_take_error(struct sonde_import_output *output, int rc)
{
	if (rc && !output->error)
		output->error = rc;
	return output->error;
}

int sonde_import_output_new(const struct sonde_import_config *config,
			    const struct sonde_ctf_config *trace,
			    struct sonde_import_output **ret_output)
{
	struct sonde_ctf_config whole = *trace;
	struct sonde_import_output *output = calloc(1, sizeof(*output));
	int rc;

	if (!output)
		return -ENOMEM;
	whole.version = config->version;
	whole.packet_max = SONDE_OUT_BLOCK_BYTES;
	rc = sonde_ctf_trace_create_at(config->dir, config->name, &whole,
				       &output->trace);
	if (rc)
		free(output);
	else
		*ret_output = output;
	return rc;
}

int sonde_import_output_class(struct sonde_import_output *output,
			      const char *comment, uint32_t *ret_class)
{
	int rc = sonde_ctf_trace_add_class(output->trace, output->nr_classes,
					   SONDE_LARGE, comment);

	if (!rc)
		*ret_class = output->nr_classes++;
	return output_take_error(output, rc);
}

void sonde_import_output_give_stacks(struct sonde_import_output *output,
				     uint32_t class_id)
{
	sonde_ctf_trace_give_stacks(output->trace, class_id, 0);
}

int sonde_import_output_event(struct sonde_import_output *output,
			      uint32_t class_id, uint16_t id,
			      const struct sonde_desc *desc)
{
	return output_take_error(output,
				 sonde_ctf_trace_add_event(output->trace,
							   class_id, id, desc));
}

struct sonde_import_stream *
sonde_import_output_stream(struct sonde_import_output *output,
			   uint32_t class_id, uint32_t cpu, const char *name)
{
	const struct sonde_ctf_stream_config config = {
		.class_id = class_id,
		.cpu_id = cpu,
		.instance = output->nr,
		.name = name,
	};
	struct sonde_import_stream *stream = calloc(1, sizeof(*stream));
	int rc = -ENOMEM;

	if (stream && !SONDE_GROW(output->streams, output->nr, output->room))
		rc = sonde_ctf_stream_open(output->trace, &config,
					   &stream->stream);
	if (output_take_error(output, rc)) {
		free(stream);
		return NULL;
	}
	stream->output = output;
	sonde_out_init(&stream->out, output_no_time, 0, OUT_BYTES);
	output->streams[output->nr++] = stream;
	return stream;
}

static int output_write(struct sonde_import_stream *stream,
			const struct sonde_ring_chunk *chunk)
{
	int rc = sonde_ctf_packet_begin(stream->stream, chunk->ts_begin, 0);

	if (!rc)
		rc = sonde_ctf_packet_append(stream->stream, chunk->data,
					     chunk->size);
	if (!rc)
		rc = sonde_ctf_packet_publish(stream->stream, chunk->ts_end,
					      chunk->discarded);
	stream->ts_last = chunk->ts_end;
	return rc;
}

int sonde_import_output_look(struct sonde_import_stream *stream)
{
	struct sonde_ring_chunk chunk;
	int rc = stream->output->error;

	while (sonde_out_peek(&stream->out, &chunk)) {
		if (!rc)
			rc = output_write(stream, &chunk);
		sonde_out_advance(&stream->out);
	}
	return output_take_error(stream->output, rc);
}

int sonde_import_output_lose(struct sonde_import_stream *stream, uint64_t nr)
{
	sonde_out_flush(&stream->out);
	if (nr > UINT64_MAX - stream->out.lost)
		nr = UINT64_MAX - stream->out.lost;
	stream->out.lost += nr;
	return sonde_import_output_look(stream);
}

uint64_t sonde_import_output_events(const struct sonde_import_output *output)
{
	uint64_t nr = 0;

	for (size_t i = 0; i < output->nr; i++)
		nr += output->streams[i]->out.events;
	return nr;
}

static void output_close_stream(struct sonde_import_stream *stream,
				uint64_t ts_end)
{
	uint64_t lost = stream->out.lost;
	int rc;

	sonde_out_flush(&stream->out);
	(void)sonde_import_output_look(stream); /* its error sticks */
	rc = sonde_ctf_stream_close(
		stream->stream,
		ts_end < stream->ts_last ? stream->ts_last : ts_end, lost);
	(void)output_take_error(stream->output, rc); /* it sticks */
	sonde_out_fini(&stream->out);
	free(stream);
}

int sonde_import_output_close(struct sonde_import_output *output,
			      uint64_t ts_end)
{
	int rc;

	if (!output)
		return 0;
	for (size_t i = 0; i < output->nr; i++)
		output_close_stream(output->streams[i], ts_end);
	rc = sonde_ctf_trace_close(output->trace);
	rc = output_take_error(output, rc);
	free(output->streams);
	free(output);
	return rc;
}
