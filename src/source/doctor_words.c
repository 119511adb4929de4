/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * doctor_words.c - what the parts of the doctor share: the words of an answer,
 * the kernel's release, the user's capabilities.
 *
 * Texts are cut to what an answer has room for. Two system calls at most, and
 * nothing is changed by them.
 */
#include <stdarg.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/number.h"
#include "base/port.h"
#include "source/doctor_parts.h"

void sonde_doctor_why(struct sonde_doctor_ability *to, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	(void)vsnprintf(to->why, sizeof(to->why), format, args);
	va_end(args);
}

void sonde_doctor_remedy(struct sonde_doctor_ability *to, const char *format,
			 ...)
{
	va_list args;

	va_start(args, format);
	(void)vsnprintf(to->remedy, sizeof(to->remedy), format, args);
	va_end(args);
}

void sonde_doctor_lack(struct sonde_doctor_ability *to,
		       enum sonde_doctor_answer able, const char *cost)
{
	to->able = able;
	(void)snprintf(to->cost, sizeof(to->cost), "%s", cost);
}

uint32_t sonde_doctor_release(void)
{
	struct utsname name;
	const char *at = name.release;
	uint64_t major;
	uint64_t minor;

	if (uname(&name) || !sonde_number_take(&at, 10, 999, &major) ||
	    *at++ != '.' || !sonde_number_take(&at, 10, 999, &minor))
		return 0;
	return (uint32_t)(major * 1000 + minor);
}

bool sonde_doctor_capable(unsigned int capability)
{
	struct __user_cap_header_struct header = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = { 0 };

	if (capability / 32 >= SONDE_ARRAY_SIZE(data) ||
	    syscall(SYS_capget, &header, data))
		return false;
	return data[capability / 32].effective >> capability % 32 & 1;
}
