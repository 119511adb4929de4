/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * source.h - the state of the system at an instant, as events: what a trace can't
 * tell because it began before.
 *
 * A source (source/source.h) of one stream, "dump", that delivers what take()
 * collected. Everything in one dump has times between the call and its return.
 * Events, LTTng's where LTTng has them:
 *
 *	lttng_statedump_start		reader: how threads, files and mappings
 *					were found: proc, iterators
 *	lttng_statedump_process_state	a thread: tid, pid, ppid, as the kernel
 *					numbers them, vtid, vpid, vppid, as it
 *					does itself; name, type, status, cpu,
 *					file_table_address, ns_level and numbers
 *					of namespaces, cgroup. Who can run has
 *					status wait_cpu, whether it runs or not.
 *					mode and submode are always unknown
 *	lttng_statedump_file_descriptor	pid, file_table_address, fd, flags,
 *					filename; sockets as "tcp 10.0.0.1:80 ->
 *					10.0.0.2:5555" (socket.h)
 *	sonde_statedump_mapping		pid, begin, end, offset, flags (1 read,
 *					2 write, 4 execute, 8 shared), path,
 *					build_id: files mapped executable, and
 *					the data of the same files
 *	lttng_statedump_interrupt	irq, name (the chip's), action
 *	lttng_statedump_block_device	dev (the kernel's form: major << 20 |
 *					minor), diskname
 *	lttng_statedump_network_interface	name, address_ipv4, ifindex,
 *					address ("10.0.0.1/24", "fe80::1/64")
 *	lttng_statedump_cpu_topology	cpu_id, clock_cpu_mhz, core_id,
 *					physical_id, core_cnt, architecture,
 *					vendor, model_name
 *	sonde_statedump_module		name, begin, end: of the kernel's code,
 *					if the user may know
 *	sonde_statedump_symbol		address, name, module: a function of the
 *					kernel's, if they were asked for
 *	lttng_statedump_end		omitted: threads, files, mappings and so
 *					on that were left out on account of a
 *					bound (model.h), not said before
 *
 * file_table_address is no address: it is the tid of the first thread that has
 * the table of descriptors, so equal where one is shared; 0: there is none. (By
 * /proc, where sharing isn't seen, the PID.)
 *
 * Threads, files and mappings come by BPF iterators where the kernel and the user's
 * rights allow it, else from /proc; what ends meanwhile is left out. Another user's processes may be
 * seen in part: that is no error. Interrupts, block devices, network interfaces
 * and CPUs come from /proc, /sys and netlink whatever there is: there are few,
 * and these say all that is asked.
 *
 * What the kernel says by either is checked before it is used: names hold any
 * bytes, and are recorded with those that aren't printable as they are.
 */
#ifndef SOURCE_STATEDUMP_SOURCE_H
#define SOURCE_STATEDUMP_SOURCE_H

#include "source/source.h"
#include "source/statedump/model.h"

extern const struct sonde_source_ops sonde_source_statedump;

/* What it goes by; and a way to make it go by another one from now on, for who
 * wants to compare. 0, or -errno: that can't be had, and nothing changed. */
enum sonde_statedump_reader
sonde_statedump_reader(const struct sonde_source *source);
int sonde_statedump_read_by(struct sonde_source *source,
			    enum sonde_statedump_reader reader);

#endif /* SOURCE_STATEDUMP_SOURCE_H */
