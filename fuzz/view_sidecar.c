/* SPDX-License-Identifier: MIT */
/*
 * view_sidecar.c - fuzz view/index/sidecar.h: files that were changed after they
 * were written, with a sum of the tail that is right; nobody has looked at that of
 * the body when rows are asked.
 *
 * Input: how many states the rows get, these; how many values a counter gets, these;
 * then places in the file and what is written there.
 */
/* its own, for the sum; the library's is not taken then */
#include "view/index/sidecar.c"

#include "fuzz.h"
#include "view/index/paint.h"
#include "view/index/walk.h"

#define ROWS 3

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static const struct sonde_view_sidecar sidecar = { -1, "view", { 1, 2 }, NULL };

static void add_states(struct fuzz_input *in, struct sonde_view_build *build)
{
	unsigned int nr = fuzz_u16(in) % 3000;
	int64_t at[ROWS] = { 0 };

	for (unsigned int i = 0; i < nr; i++) {
		uint8_t what = in->left ? fuzz_u8(in) : (uint8_t)(i * 7);
		int row = sonde_view_build_row(
			build, SONDE_VIEW_ROW_THREAD + what % 3, what % ROWS);
		struct sonde_view_piece piece = {
			.begin = at[what % ROWS],
			.state = what % SONDE_VIEW_STATES,
			.about = what % 5,
		};

		piece.end = at[what % ROWS] += 1 + fuzz_u8(in);
		FUZZ_CHECK(row >= 0);
		FUZZ_CHECK(!sonde_view_rows_add(&build->rows, (uint32_t)row,
						&piece));
	}
}

/* As many as two levels of branches need, from a few bytes. */
static void add_values(struct fuzz_input *in, struct sonde_view_build *build)
{
	unsigned int nr = fuzz_u16(in) % 9000;
	uint64_t chance = nr;
	int64_t at = 0;
	int row = sonde_view_build_row(build, SONDE_VIEW_ROW_COUNTER, 0);

	FUZZ_CHECK(row >= 0);
	for (unsigned int i = 0; i < nr; i++) {
		struct sonde_view_piece piece = { .begin = at,
						  .state = SONDE_VIEW_VALUE };

		if (in->left && i % 128 == 0)
			chance += fuzz_u8(in);
		chance = chance * 6364136223846793005u + 1442695040888963407u;
		piece.value = (double)(int64_t)chance;
		if (chance >> 60)
			piece.value = (double)(chance >> 40 & 63) /
				      (double)(1 << (chance >> 58 & 3));
		piece.begin += chance >> 50 & 31 ? 0 : 9;
		piece.end = at = piece.begin + 1 + (int64_t)(chance >> 33 & 63);
		FUZZ_CHECK(!sonde_view_rows_add(&build->rows, (uint32_t)row,
						&piece));
	}
}

static void add_text(struct sonde_view_texts *texts, const char *text)
{
	FUZZ_CHECK(!sonde_view_texts_add(texts, text, strlen(text)));
}

/* A whole file, for free(). */
static unsigned char *make_file(struct fuzz_input *in, size_t *ret_size)
{
	struct sonde_view_cells *cells = calloc(1, sizeof(*cells));
	struct sonde_view_build build;
	unsigned char *file;
	char *tail;
	size_t size;

	FUZZ_CHECK(cells);
	sonde_view_cells_init(cells, 0, 1000000);
	sonde_view_build_init(&build, memfd_create("a", MFD_CLOEXEC), 0, &lock);
	add_states(in, &build);
	add_values(in, &build);
	add_text(&build.texts, "read() of /tmp/x");
	add_text(&build.texts, "");
	add_text(&build.names, "app:request");
	FUZZ_CHECK(!sonde_view_rows_close(&build.rows));
	tail = make_tail(&sidecar, &build, cells, 0, &size);
	FUZZ_CHECK(tail);
	file = malloc(build.rows.body.used + size);
	FUZZ_CHECK(file);
	FUZZ_CHECK(pread(build.rows.body.fd, file, build.rows.body.used, 0) ==
		   (ssize_t)build.rows.body.used);
	memcpy(file + build.rows.body.used, tail, size);
	*ret_size = build.rows.body.used + size;
	free(tail);
	free(cells);
	sonde_view_build_fini(&build);
	return file;
}

/* Then its sum again, and maybe an end. */
static size_t change(struct fuzz_input *in, unsigned char *file, size_t size)
{
	struct trailer trailer;

	while (in->left >= 5) {
		size_t at = fuzz_u32(in);

		/* from the end, where it is about more */
		file[size - 1 - at % size] = fuzz_u8(in);
	}
	if (in->left && size > sizeof(trailer))
		size -= fuzz_u8(in) % 64 * 8;
	if (size < sizeof(trailer))
		return size;
	memcpy(&trailer, file + size - sizeof(trailer), sizeof(trailer));
	if (trailer.body_bytes > size - sizeof(trailer))
		return size;
	trailer.sum = sum_tail((char *)file + trailer.body_bytes,
			       size - trailer.body_bytes);
	memcpy(file + size - sizeof(trailer), &trailer, sizeof(trailer));
	return size;
}

/* As a picture is drawn. */
static void walk_along(const struct sonde_view_rows *rows, uint32_t row)
{
	const struct sonde_view_row *of = &rows->rows[row];
	int64_t step = (of->end - of->begin) / 500 + 1;
	struct sonde_view_walk walk;

	sonde_view_walk_init(&walk, rows, row);
	for (int64_t t = of->begin; t < of->end; t += step) {
		uint64_t sums[SONDE_VIEW_STATES] = { 0 };
		struct sonde_view_piece piece;
		int64_t when =
			sonde_view_walk_sums(&walk, t, t % 3 ? step : 0, sums);

		FUZZ_CHECK(when <= t + step && when >= t - step);
		if (t % 2)
			FUZZ_CHECK(sonde_view_walk_at(&walk, t, &piece) &&
				   piece.begin <= t && t < piece.end);
	}
}

/* A counter, from all of it down to each instant. */
static void draw_counter(const struct sonde_view_rows *rows, uint32_t row)
{
	static struct sonde_view_run runs[700];
	struct sonde_view_span span = { 0, rows->rows[row].end + 1 };

	for (; span.to > span.from;
	     span.to = span.from + (span.to - span.from) / 9) {
		sonde_view_paint_counter(rows, row, &span, 700, runs);
		for (uint32_t x = 0; x < 700; x++)
			FUZZ_CHECK(runs[x].x == x &&
				   (runs[x].state == SONDE_VIEW_UNKNOWN ||
				    (runs[x].state == SONDE_VIEW_VALUE &&
				     runs[x].name <= runs[x].share)));
		span.from += (span.to - span.from) / 3;
	}
}

static void ask_all(const struct sonde_view_rows *rows)
{
	for (uint32_t row = 0; row < rows->nr; row++) {
		const struct sonde_view_row *of = &rows->rows[row];
		int64_t step = (of->end - of->begin) / 50 + 1;

		for (int64_t t = of->begin; t < of->end; t += step) {
			uint64_t sums[SONDE_VIEW_STATES] = { 0 };
			struct sonde_view_piece piece;

			FUZZ_CHECK(sonde_view_rows_at(rows, row, t, &piece));
			FUZZ_CHECK(piece.begin <= t && t < piece.end);
			FUZZ_CHECK(piece.state < SONDE_VIEW_STATES);
			sonde_view_rows_sums(rows, row, t, sums);
		}
		if (of->kind == SONDE_VIEW_ROW_COUNTER)
			draw_counter(rows, row);
		else
			walk_along(rows, row);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct sonde_view_cells *cells = malloc(sizeof(*cells));
	struct fuzz_input in = { bytes, size };
	struct sonde_view_build build;
	int fd = memfd_create("b", MFD_CLOEXEC);
	unsigned char *file = make_file(&in, &size);
	bool changed = in.left > 0;
	int err;

	FUZZ_CHECK(cells && fd >= 0);
	size = change(&in, file, size);
	FUZZ_CHECK(!sonde_pwrite_all(fd, file, size, 0));
	sonde_view_build_init(&build, -1, 0, &lock);
	err = sonde_view_sidecar_load(&sidecar, fd, &build, cells);
	FUZZ_CHECK(changed || !err);
	if (!err) {
		ask_all(&build.rows);
		for (int64_t t = -1; t < 2000000; t += 100000)
			(void)sonde_view_cells_before(cells, t);
	}
	sonde_view_build_fini(&build);
	free(cells);
	free(file);
	return 0;
}
