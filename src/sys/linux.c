/* SPDX-License-Identifier: MIT */
/*
 * linux.c - the kernel's release and this process's capabilities (linux.h).
 *
 * What the kernel doesn't tell is 0, or no capability. One system call each.
 */
#include "sys/linux.h"

#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/number.h"
#include "base/port.h"

uint32_t sonde_linux_release(void)
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

bool sonde_linux_capable(unsigned int capability)
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
