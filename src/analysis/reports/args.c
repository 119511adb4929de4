/* SPDX-License-Identifier: MIT */
/*
 * args.c - what reports ask of their arguments: how many rows, how much time,
 * how a thread is called; and how they say what is wrong with them (analysis.h).
 */

#include "analysis/analysis.h"
#include "analysis/model/attribution.h"

double sonde_analysis_seconds(const struct sonde_analysis_args *args)
{
	int64_t begin_ns;
	int64_t end_ns;
	int64_t ns;

	if (sonde_trace_range(args->trace, &begin_ns, &end_ns))
		return 0;
	if (args->map.from_ns > begin_ns)
		begin_ns = args->map.from_ns;
	if (args->map.to_ns < end_ns)
		end_ns = args->map.to_ns;
	if (__builtin_sub_overflow(end_ns, begin_ns, &ns))
		ns = INT64_MAX;
	return ns > 0 ? (double)ns / 1e9 : 0;
}

size_t sonde_analysis_rows(const struct sonde_analysis_args *args,
			   size_t choice)
{
	return args->limit ? (size_t)args->limit : choice;
}

const char *sonde_analysis_thread_name(const struct sonde_analysis_args *args,
				       int32_t tid)
{
	return sonde_attribution_last_name(
		sonde_trace_attribution(args->trace, 0), tid);
}

bool sonde_analysis_has_names(const struct sonde_analysis_args *args)
{
	return sonde_trace_attribution(args->trace, 0) != NULL;
}

/* What is added up is whole numbers: fractions are rounded. */
bool sonde_analysis_number(const struct sonde_value *value, int64_t *ret_number)
{
	switch (value->kind) {
	case SONDE_KIND_UINT:
	case SONDE_KIND_BOOL:
	case SONDE_KIND_BITS:
		*ret_number =
			value->u < INT64_MAX ? (int64_t)value->u : INT64_MAX;
		return true;
	case SONDE_KIND_INT:
		*ret_number = value->i;
		return true;
	case SONDE_KIND_FLOAT:
		if (!(value->d > -9e18 && value->d < 9e18))
			return false;
		*ret_number = (int64_t)(value->d + (value->d < 0 ? -0.5 : 0.5));
		return true;
	case SONDE_KIND_STRING:
	case SONDE_KIND_BLOB:
	case SONDE_KIND_STRUCT:
	case SONDE_KIND_ARRAY:
	case SONDE_KIND_SEQUENCE:
	case SONDE_KIND_VARIANT:
	case SONDE_KIND_OPTIONAL:
		break;
	}
	return false;
}
