/* SPDX-License-Identifier: MIT */
/*
 * tracefs.c - what tracefs gives here.
 *
 * Access to it is a matter of its files' owners and modes alone; no capability
 * but those that override modes counts (seen on 6.1, 6.12 and 6.18). Whoever
 * owns the directory `instances` owns the instances made in it, and can use
 * them, if the directory above lets him in.
 */
#include "doctor/parts.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/port.h"
#include "source/tracefs/instance.h"
#include "sys/textfile.h"

#define TRACEFS "/sys/kernel/tracing"

/* Its directory, or -errno. Under lockdown, the directory can be opened, but no
 * file in it. */
static int open_readable(void)
{
	struct sonde_source_error error;
	char text[512];
	ssize_t n;
	int root = sonde_tracefs_open(&error);

	if (root < 0)
		return root;
	n = sonde_textfile_read_at(root, "trace_clock", text, sizeof(text));
	if (n >= 0)
		return root;
	(void)close(root); /* a directory */
	return (int)n;
}

/* Effective rights, those of file capabilities included. */
static bool can(int root, const char *file, int mode)
{
	return !faccessat(root, file, mode, AT_EACCESS);
}

static bool doctor_tracefs_is_there(int root, const char *file)
{
	return !faccessat(root, file, F_OK, AT_EACCESS);
}

static void tell_closed(struct sonde_doctor_ability *to)
{
	struct stat st = { 0 };

	(void)stat(TRACEFS, &st); /* shown as mode 0 if it fails */
	sonde_doctor_why(to, "%s is closed to user %u (mode %03o)", TRACEFS,
			 (unsigned int)geteuid(),
			 (unsigned int)st.st_mode & 0777);
	sonde_doctor_remedy(to,
			    "run as root, or: sudo mount -o "
			    "remount,gid=$(id -g),mode=750 %s && sudo chown "
			    "$USER %s/instances",
			    TRACEFS, TRACEFS);
}

static void tell_unopened(struct sonde_doctor_ability *to, int error)
{
	if (error == -EACCES) {
		tell_closed(to);
	} else if (error == -EPERM) {
		sonde_doctor_why(to,
				 "its files can't be opened by anybody: see "
				 "lockdown");
	} else if (error == -ENOSYS) {
		sonde_doctor_why(to,
				 "no %s: this kernel has no tracing, or a "
				 "container hides it",
				 TRACEFS);
	} else {
		sonde_doctor_why(to, "tracefs is not mounted");
		sonde_doctor_remedy(to, "sudo mount -t tracefs tracefs %s",
				    TRACEFS);
	}
	sonde_doctor_lack(to, SONDE_UNABLE,
			  "only the kernel events that BPF has, if it can be "
			  "used; else none");
}

void sonde_doctor_tracefs(struct sonde_doctor_ability *to)
{
	int root = open_readable();

	if (root < 0) {
		tell_unopened(to, root);
		return;
	}
	if (can(root, "instances", W_OK | X_OK)) {
		sonde_doctor_why(to, "buffers of our own can be made");
	} else if (!doctor_tracefs_is_there(root, "instances")) {
		sonde_doctor_why(to,
				 "tracefs has no instances; Linux 3.10 does");
		sonde_doctor_lack(to, SONDE_UNABLE,
				  "only the kernel events that BPF has");
	} else {
		sonde_doctor_why(to,
				 "buffers can't be made in tracefs/instances: "
				 "%s",
				 strerrordesc_np(errno));
		sonde_doctor_remedy(to, "sudo chown $USER %s/instances",
				    TRACEFS);
		sonde_doctor_lack(to, SONDE_UNABLE,
				  "only the kernel events that BPF has, if it "
				  "can be used; else none");
	}
	(void)close(root); /* a directory */
}

/* Opens tracefs for a part that is of no use without it. */
static int open_for(struct sonde_doctor_ability *to)
{
	int root = open_readable();

	if (root < 0) {
		sonde_doctor_why(to, "needs tracefs");
		sonde_doctor_lack(to, SONDE_UNABLE, "as without tracefs");
	}
	return root;
}

void sonde_doctor_tracefs_clock(struct sonde_doctor_ability *to)
{
#ifdef __x86_64__
	static const char clock[] = "x86-tsc";
#else
	static const char clock[] = "mono";
#endif
	int root = open_for(to);

	if (root < 0)
		return;
	if (sonde_instance_has_clock(root, clock)) {
		sonde_doctor_why(to, "trace_clock has %s", clock);
	} else {
		sonde_doctor_why(to, "trace_clock has no %s", clock);
		sonde_doctor_lack(to, SONDE_DOCTOR_PARTLY,
				  "times are converted; the trace says how far "
				  "they may be off");
	}
	(void)close(root); /* a directory */
}

void sonde_doctor_syscalls(struct sonde_doctor_ability *to)
{
	int root = open_for(to);

	if (root < 0)
		return;
	if (doctor_tracefs_is_there(root, "events/syscalls")) {
		sonde_doctor_why(to, "one event per system call");
	} else if (doctor_tracefs_is_there(root, "events/raw_syscalls")) {
		sonde_doctor_why(to,
				 "no events/syscalls: the kernel is without "
				 "CONFIG_FTRACE_SYSCALLS");
		sonde_doctor_lack(to, SONDE_DOCTOR_PARTLY,
				  "numbers and words instead of names and "
				  "arguments; BPF has these");
	} else {
		sonde_doctor_why(to,
				 "neither events/syscalls nor raw_syscalls");
		sonde_doctor_lack(to, SONDE_UNABLE,
				  "no system calls by tracefs");
	}
	(void)close(root); /* a directory */
}

void sonde_doctor_children(struct sonde_doctor_ability *to)
{
	int root = open_for(to);

	if (root < 0)
		return;
	if (doctor_tracefs_is_there(root, "set_event_pid") &&
	    doctor_tracefs_is_there(root, "options/event-fork")) {
		sonde_doctor_why(to, "set_event_pid and event-fork");
	} else {
		sonde_doctor_why(to,
				 "no set_event_pid or event-fork; Linux 4.15 "
				 "has both");
		sonde_doctor_lack(to, SONDE_DOCTOR_PARTLY,
				  "the whole machine is recorded, and what is "
				  "others' is dropped by the recorder");
	}
	(void)close(root); /* a directory */
}

static void look_probes(struct sonde_doctor_ability *to, const char *file,
			const char *option, const char *works, const char *cost)
{
	int root = open_for(to);

	if (root < 0)
		return;
	if (can(root, file, W_OK)) {
		sonde_doctor_why(to, "%s", works);
		(void)close(root); /* a directory */
		return;
	}
	if (doctor_tracefs_is_there(root, file)) {
		sonde_doctor_why(to, "%s can't be written to", file);
		sonde_doctor_remedy(to,
				    "run as root, or: sudo chown $USER %s/%s",
				    TRACEFS, file);
	} else {
		sonde_doctor_why(to, "no %s: the kernel is without %s", file,
				 option);
	}
	sonde_doctor_lack(to, SONDE_UNABLE, cost);
	(void)close(root); /* a directory */
}

void sonde_doctor_kprobes(struct sonde_doctor_ability *to)
{
	look_probes(to, "kprobe_events", "CONFIG_KPROBE_EVENTS",
		    "kprobe_events can be written to",
		    "none: trace events and system calls don't need them");
}

void sonde_doctor_uprobes(struct sonde_doctor_ability *to)
{
	look_probes(to, "uprobe_events", "CONFIG_UPROBE_EVENTS",
		    "0.6 us a hit where the instruction is emulated, 9.7 us "
		    "where it must be single-stepped; from Linux 6.18, 0.46 us "
		    "on a 5-byte nop",
		    "tracepoints in the program instead: some 13 ns an event");
}
