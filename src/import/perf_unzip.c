/* SPDX-License-Identifier: MIT */
/*
 * perf_unzip.c - compressed records of a perf.data (perf_unzip.h).
 *
 * Twice over the records: first those that aren't compressed are copied, since one
 * of them may stand between two pieces of another; then the pieces are unpacked
 * behind them. The order doesn't matter to who sorts them by time.
 */
#include "import/perf_unzip.h"

#include <errno.h>
#include <stdlib.h>
#include <zstd.h>

#include "import/plain.h"

static bool perf_has_zipped(struct sonde_import_bytes records)
{
	struct sonde_import_perf_piece piece;

	while (sonde_import_perf_next(&records, &piece) > 0)
		if (sonde_import_perf_is_zipped(piece.type))
			return true;
	return false;
}

static int perf_copy_others(struct sonde_import_plain *plain,
			    struct sonde_import_bytes records)
{
	struct sonde_import_perf_piece piece;
	const uint8_t *from = records.at;
	int rc = 0;

	while (!rc && sonde_import_perf_next(&records, &piece) > 0) {
		if (!sonde_import_perf_is_zipped(piece.type))
			rc = sonde_import_plain_add(
				plain, from, (size_t)(records.at - from));
		from = records.at;
	}
	return rc;
}

/* -EPROTO: it isn't what zstd makes. */
static int perf_unzip_piece(ZSTD_DStream *stream,
			    struct sonde_import_plain *plain,
			    const struct sonde_import_bytes *body)
{
	ZSTD_inBuffer in = { .src = body->at, .size = body->left };
	ZSTD_outBuffer out = { .size = 0 };

	/* What is full may have left something in the stream. */
	while (in.pos < in.size || out.pos == out.size) {
		int rc = plain->used == plain->room ?
				 sonde_import_plain_grow(plain) :
				 0;

		if (rc)
			return rc;
		out = (ZSTD_outBuffer){ .dst = plain->at + plain->used,
					.size = plain->room - plain->used };
		if (ZSTD_isError(ZSTD_decompressStream(stream, &out, &in)))
			return -EPROTO;
		plain->used += out.pos;
	}
	return 0;
}

/* The newer kind says its size, for there is padding behind it. */
static struct sonde_import_bytes
perf_zipped_body(const struct sonde_import_perf_piece *piece)
{
	struct sonde_import_bytes body = piece->body;
	uint64_t size;

	if (piece->type == SONDE_PERF_COMPRESSED)
		return body;
	size = sonde_import_bytes_u64(&body);
	if (size < body.left)
		body.left = (size_t)size;
	return body;
}

static int perf_unzip_all(struct sonde_import_perf *perf,
			  struct sonde_import_plain *plain)
{
	struct sonde_import_bytes records = perf->records;
	struct sonde_import_perf_piece piece;
	ZSTD_DStream *stream = ZSTD_createDStream();
	int rc = stream ? 0 : -ENOMEM;
	int more = 0;

	while (!rc && (more = sonde_import_perf_next(&records, &piece)) > 0) {
		struct sonde_import_bytes body;

		if (!sonde_import_perf_is_zipped(piece.type))
			continue;
		body = perf_zipped_body(&piece);
		rc = perf_unzip_piece(stream, plain, &body);
	}
	(void)ZSTD_freeDStream(stream);
	perf->unread += more < 0 || rc == -EPROTO;
	return rc == -EPROTO ? 0 : rc;
}

int sonde_import_perf_unzip(struct sonde_import_perf *perf,
			    struct sonde_import_error *error)
{
	struct sonde_import_plain plain = { .at = NULL };
	int rc;

	if (!perf_has_zipped(perf->records))
		return 0;
	rc = perf_copy_others(&plain, perf->records);
	if (!rc)
		rc = perf_unzip_all(perf, &plain);
	if (rc) {
		free(plain.at);
		return sonde_import_fail(error, rc,
					 rc == -EFBIG ?
						 "its records are more than 8 "
						 "GiB unpacked: perf record "
						 "--max-size bounds them" :
						 "no memory left");
	}
	perf->plain = plain.at;
	perf->records = (struct sonde_import_bytes){ .at = plain.at,
						     .left = plain.used };
	return 0;
}
