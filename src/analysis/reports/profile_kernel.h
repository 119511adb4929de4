/* SPDX-License-Identifier: MIT */
/* profile_kernel.h - what of a kernel takes time, for profile.h. */
#ifndef ANALYSIS_REPORTS_PROFILE_KERNEL_H
#define ANALYSIS_REPORTS_PROFILE_KERNEL_H

#include "analysis/reports/profile.h"

/*
 * Adds pairs to the profile: system calls and interrupts by name, waiting for
 * a CPU, block requests. Nothing if the trace has no events of a kernel. 0 or
 * a negative errno.
 */
int sonde_profile_kernel(const struct sonde_analysis_args *args,
			 struct sonde_profile *profile);

#endif /* ANALYSIS_REPORTS_PROFILE_KERNEL_H */
