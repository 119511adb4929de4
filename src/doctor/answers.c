/* SPDX-License-Identifier: MIT */
/*
 * answers.c - the words of a part's answer.
 *
 * Texts are cut to what an answer has room for.
 */
#include <stdio.h>

#include "doctor/parts.h"

void sonde_doctor_lack(struct sonde_doctor_ability *to,
		       enum sonde_doctor_answer able, const char *cost)
{
	to->able = able;
	(void)snprintf(to->cost, sizeof(to->cost), "%s", cost);
}
