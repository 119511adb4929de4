/* SPDX-License-Identifier: MIT */
/*
 * probe_put.c - probes in a running process, without a GDB.
 *
 *	probe_put PID DIRECTORY [discard|overwrite] < packets
 *		lines of "QTDP:..." as GDB would send them, up to an empty one;
 *		starts a run, says "started"; at the next line stops it, and
 *		says hits and where the trace is
 *	probe_put latency PID ADDRESS NR
 *		puts a probe in and takes it out NR times; microseconds of each,
 *		and the kind of window
 *	probe_put fresh PID < addresses
 *		the same, once at each address
 */
#include <inttypes.h>

#include "measure.h"
#include "probe/run.h"

#define LINE_SIZE 8192

static struct sonde_process *process;
static struct sonde_probes *probes;

static int fail(const char *what, int error, const char *text)
{
	(void)fprintf(stderr, "probe_put: %s: %s %s\n", what,
		      strerrordesc_np(-error), text);
	return 1;
}

static int attach(pid_t pid)
{
	struct sonde_process_error error = { "" };
	int rc = sonde_process_open(pid, NULL, NULL, &error, &process);

	if (!rc)
		rc = sonde_process_install(process, &error);
	if (!rc)
		rc = sonde_probes_new(process, &probes);
	return rc ? fail("attaching", rc, error.text) : 0;
}

static int read_points(struct sonde_probe_points *points)
{
	struct sonde_probe_point *point;
	char line[LINE_SIZE];
	bool complete;
	int rc;

	while (fgets(line, sizeof(line), stdin) && *line != '\n') {
		line[strcspn(line, "\n")] = '\0';
		rc = sonde_probe_points_define(points, line + strlen("QTDP:"),
					       &complete, &point);
		if (rc)
			return fail(line, rc, "");
	}
	return 0;
}

static int run(const char *directory, bool circular)
{
	struct sonde_probe_run_config config = { .directory = directory,
						 .circular = circular };
	struct sonde_probe_points points = { 0 };
	struct sonde_probe_run_status status;
	struct sonde_probe_facts facts;
	struct sonde_probe_run *run;
	char error[256] = "";
	char line[LINE_SIZE];
	int rc;

	if (read_points(&points))
		return 1;
	rc = sonde_probe_run_new(process, probes, &run);
	if (!rc)
		rc = sonde_probe_run_start(run, &points, &config, error,
					   sizeof(error));
	if (rc)
		return fail("starting", rc, error);
	printf("started\n");
	(void)fflush(stdout);
	(void)fgets(line, sizeof(line), stdin);
	for (size_t i = 0; i < points.nr; i++)
		if (!sonde_probes_facts(probes, points.list[i].probe, &facts))
			printf("probe %u kind %d native %d hits %" PRIu64
			       " cut %" PRIu64 " faults %" PRIu64 "\n",
			       points.list[i].number, (int)facts.kind,
			       facts.native, facts.hits, facts.cut,
			       facts.faults);
	(void)sonde_probe_run_stop(run, SONDE_PROBE_STOP_ASKED, "");
	sonde_probe_run_poll(run, &points, &status);
	printf("frames %" PRIu64 " lost %" PRIu64 " trace %s\n", status.frames,
	       status.lost, sonde_probe_run_directory(run));
	sonde_probe_run_free(run);
	return 0;
}

static double wall_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int latency(uint64_t address, int nr)
{
	struct sonde_probe_spec spec = { .address = address,
					 .force_register = 255 };
	struct sonde_process_error error = { "" };

	for (int i = 0; i < nr; i++) {
		double start = wall_us();
		double middle;
		struct sonde_probe_facts facts = { 0 };
		uint32_t index;
		int rc = sonde_probes_add(probes, &spec, &error, &index);

		middle = wall_us();
		if (rc)
			return fail("putting in", rc, error.text);
		(void)sonde_probes_facts(probes, index, &facts);
		rc = sonde_probes_remove(probes, index);
		if (rc)
			return fail("taking out", rc, "");
		printf("%.1f %.1f %d\n", middle - start, wall_us() - middle,
		       (int)facts.kind);
	}
	return 0;
}

/* Addresses that are refused are told, too. */
static int fresh(void)
{
	char line[64];

	while (fgets(line, sizeof(line), stdin))
		(void)latency(strtoull(line, NULL, 0), 1);
	return 0;
}

int main(int argc, char **argv)
{
	int rc;

	if (argc > 4 && !strcmp(argv[1], "latency")) {
		rc = attach((pid_t)atoi(argv[2]));
		if (!rc)
			rc = latency(strtoull(argv[3], NULL, 0), atoi(argv[4]));
	} else if (argc == 3 && !strcmp(argv[1], "fresh")) {
		rc = attach((pid_t)strtol(argv[2], NULL, 0));
		if (!rc)
			rc = fresh();
	} else if (argc > 2) {
		rc = attach((pid_t)atoi(argv[1]));
		if (!rc)
			rc = run(argv[2],
				 argc > 3 && !strcmp(argv[3], "overwrite"));
	} else {
		return 2;
	}
	sonde_probes_free(probes);
	sonde_process_close(process);
	return rc;
}
