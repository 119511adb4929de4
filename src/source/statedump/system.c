/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * system.c - the machine in a dump: interrupts, block devices, networks, CPUs,
 * modules of the kernel (system.h).
 *
 * What /sys, the kernel's list of addresses and /proc/cpuinfo don't have is left
 * out. Memory is the only error.
 */
#include "source/statedump/system.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <limits.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/number.h"
#include "base/port.h"
#include "source/statedump/events.h"
#include "source/statedump/proc_parse.h"
#include "sys/dir.h"
#include "sys/kallsyms.h"
#include "sys/textfile.h"

#define TEXT_BYTES 512u

/* ---- interrupts ---- */

/* An event for each in a list separated by commas, with or without blanks. */
static void emit_actions(struct sonde_out *out, uint32_t irq, const char *name,
			 const char *list)
{
	char action[TEXT_BYTES];

	while (*list) {
		size_t size = strcspn(list, ",");

		(void)snprintf(action, sizeof(action), "%.*s", (int)size, list);
		sonde_statedump_emit_interrupt(out, irq, name, action);
		list += size;
		list += strspn(list, ", ");
	}
}

static void add_interrupts(struct sonde_out *out)
{
	DIR *dir = opendir("/sys/kernel/irq");
	const char *entry;

	if (!dir)
		return;
	while ((entry = sonde_dir_next(dir))) {
		char name[TEXT_BYTES];
		char actions[TEXT_BYTES];
		uint64_t irq;

		if (!sonde_text_number(entry, UINT32_MAX, &irq) ||
		    sonde_textfile_read_line(actions, sizeof(actions),
					     "/sys/kernel/irq/%u/actions",
					     (uint32_t)irq) <= 0)
			continue;
		/* The name may be missing; then it is empty. */
		(void)sonde_textfile_read_line(name, sizeof(name),
					       "/sys/kernel/irq/%u/chip_name",
					       (uint32_t)irq);
		emit_actions(out, (uint32_t)irq, name, actions);
	}
	(void)closedir(dir); /* it was only read */
}

/* ---- block devices ---- */

static void add_devices(struct sonde_out *out)
{
	DIR *dir = opendir("/sys/class/block");
	const char *name;

	if (!dir)
		return;
	while ((name = sonde_dir_next(dir))) {
		char text[TEXT_BYTES];
		uint32_t dev;

		if (sonde_textfile_read(text, sizeof(text),
					"/sys/class/block/%.128s/dev",
					name) > 0 &&
		    sonde_text_dev(text, &dev))
			sonde_statedump_emit_block_device(out, dev, name);
	}
	(void)closedir(dir); /* it was only read */
}

/* ---- network ---- */

static uint32_t prefix_bits(const uint8_t *mask, size_t size)
{
	uint32_t bits = 0;

	for (size_t i = 0; i < size; i++)
		bits += (uint32_t)__builtin_popcount(mask[i]);
	return bits;
}

static void emit_address(struct sonde_out *out, const struct ifaddrs *one)
{
	struct sonde_statedump_network network = {
		.name = one->ifa_name,
		.ifindex = if_nametoindex(one->ifa_name),
		.address = "",
	};
	char host[INET6_ADDRSTRLEN];
	char text[INET6_ADDRSTRLEN + 8];
	const void *address;
	const void *mask;
	uint32_t bits;

	if (one->ifa_addr->sa_family == AF_INET) {
		address = &((struct sockaddr_in *)one->ifa_addr)->sin_addr;
		memcpy(network.ipv4, address, sizeof(network.ipv4));
		mask = one->ifa_netmask ?
			       &((struct sockaddr_in *)one->ifa_netmask)
					->sin_addr :
			       NULL;
		bits = mask ? prefix_bits(mask, 4) : 32;
	} else {
		address = &((struct sockaddr_in6 *)one->ifa_addr)->sin6_addr;
		mask = one->ifa_netmask ?
			       &((struct sockaddr_in6 *)one->ifa_netmask)
					->sin6_addr :
			       NULL;
		bits = mask ? prefix_bits(mask, 16) : 128;
	}
	if (inet_ntop(one->ifa_addr->sa_family, address, host, sizeof(host))) {
		(void)snprintf(text, sizeof(text), "%s/%u", host, bits);
		network.address = text;
	}
	sonde_statedump_emit_network(out, &network);
}

static bool is_inet(const struct ifaddrs *one)
{
	return one->ifa_addr && (one->ifa_addr->sa_family == AF_INET ||
				 one->ifa_addr->sa_family == AF_INET6);
}

static bool has_address(const struct ifaddrs *all, const char *name)
{
	for (; all; all = all->ifa_next)
		if (is_inet(all) && !strcmp(all->ifa_name, name))
			return true;
	return false;
}

/* An event for each address, and one for each interface without. */
static void add_network(struct sonde_out *out)
{
	struct ifaddrs *all;

	if (getifaddrs(&all))
		return;
	for (const struct ifaddrs *one = all; one; one = one->ifa_next) {
		struct sonde_statedump_network bare = {
			.name = one->ifa_name,
			.address = "",
		};

		if (is_inet(one)) {
			emit_address(out, one);
		} else if (!has_address(all, one->ifa_name)) {
			bare.ifindex = if_nametoindex(one->ifa_name);
			sonde_statedump_emit_network(out, &bare);
		}
	}
	freeifaddrs(all);
}

/* ---- CPUs ---- */

struct cpu_section {
	struct sonde_statedump_cpu cpu;
	bool has_id;
	bool has_core;
	bool has_package;
	char vendor[TEXT_BYTES];
	char model_name[TEXT_BYTES];
};

static void begin_section(struct cpu_section *section)
{
	section->cpu = (struct sonde_statedump_cpu){
		.vendor = section->vendor,
		.model_name = section->model_name,
	};
	section->has_id = false;
	section->has_core = false;
	section->has_package = false;
	section->vendor[0] = '\0';
	section->model_name[0] = '\0';
}

static bool system_read_number(const char *value, uint32_t *ret_number)
{
	uint64_t number;

	if (!sonde_text_number(value, UINT32_MAX, &number))
		return false;
	*ret_number = (uint32_t)number;
	return true;
}

static void system_take_pair(struct cpu_section *section, const char *key,
			     const char *value)
{
	char whole[TEXT_BYTES];

	if (!strcmp(key, "processor")) {
		section->has_id =
			system_read_number(value, &section->cpu.cpu_id);
	} else if (!strcmp(key, "vendor_id") ||
		   !strcmp(key, "CPU implementer")) {
		(void)snprintf(section->vendor, sizeof(section->vendor), "%s",
			       value);
	} else if (!strcmp(key, "model name")) {
		(void)snprintf(section->model_name, sizeof(section->model_name),
			       "%s", value);
	} else if (!strcmp(key, "cpu MHz")) {
		(void)snprintf(whole, sizeof(whole), "%s", value);
		whole[strcspn(whole, ".")] = '\0';
		(void)system_read_number(whole, &section->cpu.mhz);
	} else if (!strcmp(key, "physical id")) {
		section->has_package =
			system_read_number(value, &section->cpu.physical_id);
	} else if (!strcmp(key, "core id")) {
		section->has_core =
			system_read_number(value, &section->cpu.core_id);
	} else if (!strcmp(key, "cpu cores")) {
		(void)system_read_number(value, &section->cpu.core_cnt);
	}
}

static void read_topology(uint32_t cpu, const char *name, uint32_t *ret_number)
{
	char text[TEXT_BYTES];

	if (sonde_textfile_read(text, sizeof(text),
				"/sys/devices/system/cpu/cpu%u/topology/%s",
				cpu, name) > 0)
		(void)system_read_number(text, ret_number);
}

static void end_section(struct sonde_out *out, struct cpu_section *section,
			const char *architecture)
{
	if (section->has_id) {
		section->cpu.architecture = architecture;
		if (!section->has_core)
			read_topology(section->cpu.cpu_id, "core_id",
				      &section->cpu.core_id);
		if (!section->has_package)
			read_topology(section->cpu.cpu_id,
				      "physical_package_id",
				      &section->cpu.physical_id);
		sonde_statedump_emit_cpu(out, &section->cpu);
	}
	begin_section(section);
}

static void add_cpus(struct sonde_out *out, struct sonde_lines *lines)
{
	struct cpu_section section;
	struct utsname machine;
	char *line;

	if (uname(&machine))
		machine.machine[0] = '\0'; /* can't be */
	if (sonde_lines_open(lines, "/proc/cpuinfo"))
		return;
	begin_section(&section);
	while ((line = sonde_lines_next(lines))) {
		const char *key;
		const char *value;

		if (!*line)
			end_section(out, &section, machine.machine);
		else if (sonde_text_pair(line, &key, &value))
			system_take_pair(&section, key, value);
	}
	end_section(out, &section, machine.machine);
	sonde_lines_close(lines);
}

/* ---- modules ---- */

/* "NAME BYTES USERS BY STATE 0xADDRESS [(TAINTS)]". */
static void take_module(struct sonde_out *out, char *line)
{
	char *words[6] = { NULL };
	const char *address;
	uint64_t bytes;
	uint64_t begin;

	for (size_t i = 0; i < SONDE_ARRAY_SIZE(words); i++)
		words[i] = strsep(&line, " ");
	address = words[5];
	/* Who isn't told an address sees 0. */
	if (!address || !sonde_text_number(words[1], UINT32_MAX, &bytes) ||
	    strncmp(address, "0x", 2) != 0)
		return;
	address += 2;
	if (sonde_number_take(&address, 16, UINT64_MAX - bytes, &begin) &&
	    begin)
		sonde_statedump_emit_module(out, words[0], begin,
					    begin + bytes);
}

static void add_modules(struct sonde_out *out, struct sonde_lines *lines)
{
	char *line;

	if (sonde_lines_open(lines, "/proc/modules"))
		return;
	while ((line = sonde_lines_next(lines)))
		take_module(out, line);
	sonde_lines_close(lines);
}

/* ---- the kernel's functions ---- */

static bool emit_kallsym(void *ctx, const struct sonde_kallsym *symbol)
{
	if (symbol->is_code && symbol->address)
		sonde_statedump_emit_symbol(ctx, symbol->address, symbol->name,
					    symbol->module ? symbol->module :
							     "");
	return true;
}

void sonde_statedump_symbols(struct sonde_out *out)
{
	/* What the kernel doesn't tell isn't there. */
	(void)sonde_kallsyms_each(emit_kallsym, out);
}

int sonde_statedump_system(struct sonde_out *out)
{
	struct sonde_lines *lines = malloc(sizeof(*lines));

	if (!lines)
		return -ENOMEM;
	add_interrupts(out);
	add_devices(out);
	add_network(out);
	add_cpus(out, lines);
	add_modules(out, lines);
	free(lines);
	return 0;
}
