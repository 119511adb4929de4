/* SPDX-License-Identifier: MIT */
/*
 * check_switches.c - switches that a kernel's trace should have, and doesn't.
 *
 * The state of the kernel (state/kernel.h) counts them: here it is run for
 * nothing else. Losses that the tracer knew of are no missing switches.
 */
#include "analysis/reports/check.h"

#include <errno.h>

#include "analysis/model/steps.h"

static int switches_walk(const struct sonde_analysis_args *args,
			 const struct sonde_model_tables *tables,
			 sonde_check_switches_fn *found, void *ctx)
{
	struct sonde_model *kernel = NULL;
	int err = sonde_model_whole(args->trace, &args->map, tables, &kernel);

	for (int32_t cpu = 0; !err && cpu < SONDE_MODEL_CPUS; cpu++) {
		struct sonde_model_unseen unseen =
			sonde_model_unseen(kernel, cpu);

		if (unseen.nr)
			found(ctx, cpu, &unseen);
	}
	sonde_model_free(kernel);
	return err;
}

int sonde_check_switches(const struct sonde_analysis_args *args,
			 sonde_check_switches_fn *found, void *ctx)
{
	struct sonde_model_tables *tables;
	int err = sonde_model_tables_new(args->trace, SONDE_WANT_THREADS,
					 &args->map, &tables);

	/* No switches; or not all are wanted, so nobody can tell. */
	if (err == -ENODATA)
		return 0;
	if (err)
		return err;
	if (tables->has_all_switches)
		err = switches_walk(args, tables, found, ctx);
	sonde_model_tables_free(tables);
	return err;
}
