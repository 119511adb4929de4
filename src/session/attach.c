/* SPDX-License-Identifier: MIT */
/*
 * attach.c - recording of processes that run already (attach.h).
 *
 * A look goes through /proc once: is the process meant, is it settled already,
 * can its arena be had. A pidfd is held before anything is read by number, and
 * what came of a process is remembered by number and start. Cost: a few files
 * for each process that may be meant.
 */
#include "session/attach.h"

#include <dirent.h>
#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/grow.h"
#include "base/number.h"
#include "base/port.h"
#include "base/time.h"
#include "session/find.h"
#include "sys/proc.h"

#define SETTLED_MAX 4096u
#define NAME_KNOWN  15u /* characters of a name that the kernel keeps */
#define PASSWD_ROOM 4096u

/* How many may be expected at a time, and for how long: an arena is made before
 * main(), or never. */
#define EXPECTED_MAX 64u
#define EXPECTED_NS  200000000ull

/* To see that a process can't have hooks may mean to read large files: the time
 * between two tries is that many times what one takes. */
#define HOOK_PAUSES 50u

/* A process that was meant, and what came of it: 0, or -errno. */
struct settled {
	pid_t pid;
	uint64_t start;
	int rc;
	uint64_t again_ns; /* not tried before */
	bool was_found;    /* it has an arena, which was not taken */
	bool is_sampled;
};

struct sonde_attach {
	struct sonde_attach_config config;
	uint32_t nr_uids;
	uid_t uids[SONDE_ATTACH_MAX];
	uint32_t nr_came;
	uint32_t nr_expected;
	struct {
		pid_t pid;
		uint64_t until_ns;
	} expected[EXPECTED_MAX];
	/* Those that are sampled; held if nobody is waited for, and the end of
	 * the last is the recording's. */
	struct sonde_peer *sampled;
	size_t nr_sampled, sampled_room;
	uint32_t nr_unsampled;
	char why_unsampled[SONDE_ATTACH_TEXT]; /* the last of them */
	uint32_t nr_settled; /* may exceed SETTLED_MAX: the oldest are gone */
	struct settled settled[SETTLED_MAX];
};

bool sonde_attach_is_named(const char *name, const char *wanted)
{
	if (strlen(wanted) > NAME_KNOWN)
		return strlen(name) == NAME_KNOWN &&
		       !strncmp(name, wanted, NAME_KNOWN);
	return !strcmp(name, wanted);
}

/* ---- who is meant ---- */

static bool is_pid(const char *word)
{
	return word[strspn(word, "0123456789")] == '\0';
}

static bool is_wanted(const struct sonde_attach_options *options, pid_t pid)
{
	char name[SONDE_COMM_SIZE] = "";

	for (uint32_t i = 0; i < options->nr_whom; i++) {
		const char *whom = options->whom[i];

		if (is_pid(whom)) {
			if (sonde_proc_number(whom) == pid)
				return true;
			continue;
		}
		if (!*name)
			sonde_process_name(pid, name);
		if (sonde_attach_is_named(name, whom))
			return true;
	}
	return !options->nr_whom;
}

static bool is_of_user(const struct sonde_attach *attach, pid_t pid)
{
	uid_t uid;

	if (!attach->nr_uids)
		return true;
	uid = sonde_process_uid(pid);
	for (uint32_t i = 0; i < attach->nr_uids; i++)
		if (attach->uids[i] == uid)
			return true;
	return false;
}

/* Whether the group is one of those, or there are none. */
static bool is_in_one(const char *group, const char *const *wanted, uint32_t nr,
		      bool (*is_in)(const char *group, const char *wanted))
{
	for (uint32_t i = 0; i < nr; i++)
		if (is_in(group, wanted[i]))
			return true;
	return !nr;
}

static bool is_in_cgroup(const struct sonde_attach_options *options, pid_t pid)
{
	char group[SONDE_CGROUP_BYTES];

	if (!options->nr_cgroups && !options->nr_containers)
		return true;
	return sonde_process_cgroup(pid, group) &&
	       is_in_one(group, options->cgroups, options->nr_cgroups,
			 sonde_find_in_cgroup) &&
	       is_in_one(group, options->containers, options->nr_containers,
			 sonde_find_in_container);
}

static bool is_meant(const struct sonde_attach *attach, pid_t pid)
{
	const struct sonde_attach_options *options = attach->config.options;

	return is_wanted(options, pid) && is_of_user(attach, pid) &&
	       is_in_cgroup(options, pid) && pid != attach->config.frontend &&
	       pid != getpid();
}

/* ---- one process ---- */

static uint32_t nr_remembered(const struct sonde_attach *attach)
{
	return attach->nr_settled < SETTLED_MAX ? attach->nr_settled :
						  SETTLED_MAX;
}

static struct settled *find_settled(struct sonde_attach *attach, pid_t pid)
{
	uint64_t start = sonde_process_start(pid);

	for (uint32_t i = 0; i < nr_remembered(attach); i++)
		if (attach->settled[i].pid == pid &&
		    attach->settled[i].start == start)
			return &attach->settled[i];
	return NULL;
}

static void settle(struct sonde_attach *attach, const struct settled *now)
{
	struct settled *settled = find_settled(attach, now->pid);

	if (!settled)
		settled = &attach->settled[attach->nr_settled++ % SETTLED_MAX];
	*settled = *now;
	settled->start = sonde_process_start(now->pid);
}

static int hold(pid_t pid, struct sonde_peer *ret_who)
{
	int fd = sonde_proc_pidfd(pid);

	if (fd < 0)
		return fd == -EINVAL ? -ESRCH : fd;
	*ret_who = (struct sonde_peer){ pid, sonde_process_uid(pid), fd };
	return 0;
}

/* `fd` is what a search has found, if `rc` is 0. */
static int take_arena(struct sonde_attach *attach, struct sonde_peer *who,
		      int rc, int fd)
{
	/* The number may be another's by now. */
	if (!rc && sonde_peer_has_ended(who)) {
		(void)close(fd); /* a memory file */
		return -ESRCH;
	}
	return rc ? rc : attach->config.take(attach->config.ctx, fd, who);
}

/* Puts hooks in. A process that lives is no process that isn't there: what went
 * wrong is told. */
static int hook_into(struct sonde_attach *attach, struct sonde_peer *who)
{
	int rc = attach->config.hook(attach->config.ctx, who);

	return rc == -ESRCH && !sonde_peer_has_ended(who) ? -EIO : rc;
}

/* Takes over `who`, to be held or not. */
static void hold_sampled(struct sonde_attach *attach, struct sonde_peer *who)
{
	if (!sonde_attach_waits(attach) &&
	    !SONDE_GROW(attach->sampled, attach->nr_sampled,
			attach->sampled_room))
		attach->sampled[attach->nr_sampled++] = *who;
	else
		sonde_peer_release(who);
}

/* Whether it is sampled from now on. `rc` is what came of its arena. */
static bool meet_sampling(struct sonde_attach *attach, pid_t pid, int rc)
{
	const struct sonde_attach_config *config = &attach->config;
	bool is_taken = !rc || rc == -EALREADY;
	struct sonde_peer who;
	int error;

	if (!config->sample || hold(pid, &who))
		return false;
	error = config->sample(config->ctx, pid, is_taken,
			       attach->why_unsampled,
			       sizeof(attach->why_unsampled));
	if (!error)
		hold_sampled(attach, &who);
	else
		sonde_peer_release(&who);
	attach->nr_unsampled += error && error != -ESRCH;
	return !error;
}

/* What comes of it: its arena, or hooks. */
static int meet_arena(struct sonde_attach *attach, pid_t pid,
		      bool *ret_was_found)
{
	struct sonde_peer who;
	int fd = -1;
	int rc = hold(pid, &who);

	if (rc)
		return rc;
	if (attach->config.hook) {
		rc = hook_into(attach, &who);
	} else {
		rc = sonde_find_arena(pid, &fd);
		*ret_was_found = !rc;
		rc = take_arena(attach, &who, rc, fd);
		*ret_was_found &= rc != -ENOENT && rc != -ESRCH;
	}
	sonde_peer_release(&who);
	return rc;
}

/* It may execute another program, which has an arena; or load what hooks are for. */
static bool is_to_be_met(const struct sonde_attach *attach,
			 const struct settled *known)
{
	if (!known)
		return true;
	return (known->rc == -ENOENT || known->rc == -ENODATA) &&
	       (!attach->config.hook ||
		sonde_monotonic_ns() >= known->again_ns);
}

static void meet(struct sonde_attach *attach, pid_t pid)
{
	const struct settled *known = find_settled(attach, pid);
	struct settled now = { .pid = pid };
	uint64_t begin_ns = sonde_monotonic_ns();

	if (!is_to_be_met(attach, known))
		return;
	now.is_sampled = known && known->is_sampled;
	now.rc = meet_arena(attach, pid, &now.was_found);
	now.again_ns = sonde_monotonic_ns();
	now.again_ns += HOOK_PAUSES * (now.again_ns - begin_ns);
	if (now.rc == -ESRCH)
		return;
	attach->nr_came += !now.rc;
	if (!now.is_sampled && meet_sampling(attach, pid, now.rc)) {
		now.is_sampled = true;
		attach->nr_came += now.rc && now.rc != -EALREADY;
	}
	if (now.rc == -EALREADY)
		now.rc = 0; /* a child by fork */
	settle(attach, &now);
}

static bool is_look_over(const struct sonde_attach *attach)
{
	return attach->config.is_over &&
	       attach->config.is_over(attach->config.ctx);
}

uint32_t sonde_attach_look(struct sonde_attach *attach)
{
	uint32_t nr_before = attach->nr_came;
	const struct dirent *entry;
	DIR *dir = opendir("/proc");

	/* NOLINTNEXTLINE(concurrency-mt-unsafe): a stream of our own */
	while (dir && (entry = readdir(dir))) {
		pid_t pid = sonde_proc_number(entry->d_name);

		if (pid <= 0 || !is_meant(attach, pid))
			continue;
		if (is_look_over(attach))
			break;
		meet(attach, pid);
	}
	if (dir)
		(void)closedir(dir); /* it was only read */
	return attach->nr_came - nr_before;
}

void sonde_attach_expect(struct sonde_attach *attach, pid_t pid)
{
	uint64_t until_ns = sonde_monotonic_ns() + EXPECTED_NS;
	struct settled *known;

	/* If there are too many, the next look through all finds it. */
	if (!is_meant(attach, pid) || attach->nr_expected == EXPECTED_MAX)
		return;
	/* What came of it was about the program before. */
	known = find_settled(attach, pid);
	if (known && !known->rc)
		known->rc = -ENOENT;
	attach->expected[attach->nr_expected].pid = pid;
	attach->expected[attach->nr_expected++].until_ns = until_ns;
}

/* Whether there is no arena yet, and there may be one. */
static bool is_to_come(struct sonde_attach *attach, pid_t pid)
{
	const struct settled *known;

	meet(attach, pid);
	known = find_settled(attach, pid);
	return known && known->rc == -ENOENT;
}

bool sonde_attach_meet_expected(struct sonde_attach *attach)
{
	uint64_t now = sonde_monotonic_ns();
	uint32_t nr = 0;

	for (uint32_t i = 0; i < attach->nr_expected; i++)
		if (is_to_come(attach, attach->expected[i].pid) &&
		    now < attach->expected[i].until_ns)
			attach->expected[nr++] = attach->expected[i];
	attach->nr_expected = nr;
	return nr;
}

int sonde_attach_join(struct sonde_attach *attach, struct sonde_peer *who,
		      char *why, size_t size)
{
	int fd = -1;
	int found = sonde_find_given_arena(who->pid, &fd);
	int rc = take_arena(attach, who, found, fd);

	if (!rc || rc == -EALREADY)
		return 0;
	if (found)
		sonde_attach_explain(found, who->pid, "the program", who->uid,
				     why, size);
	else
		(void)snprintf(why, size, "%s", attach->config.why(rc));
	return rc;
}

/* ---- words ---- */

void sonde_attach_explain(int error, pid_t pid, const char *name, uid_t uid,
			  char *text, size_t size)
{
	switch (error) {
	case -ESRCH:
		(void)snprintf(text, size,
			       "there is no process %d, or /proc hides it "
			       "(mounted with hidepid): then run as root",
			       (int)pid);
		break;
	case -EACCES:
		if (uid != geteuid())
			(void)snprintf(text, size,
				       "%s (pid %d) belongs to user %u: run as "
				       "that user, or as root (CAP_SYS_PTRACE)",
				       name, (int)pid, (unsigned int)uid);
		else
			(void)snprintf(
				text, size,
				"%s (pid %d) may not be looked into: it "
				"has rights of its own, or is not "
				"dumpable (PR_SET_DUMPABLE); run as root "
				"(CAP_SYS_PTRACE)",
				name, (int)pid);
		break;
	case -EPERM:
		(void)snprintf(text, size,
			       "%s (pid %d) has closed the descriptor of its "
			       "trace memory: run as root "
			       "(CAP_CHECKPOINT_RESTORE)",
			       name, (int)pid);
		break;
	case -ENODATA:
		(void)snprintf(text, size,
			       "%s (pid %d) has libsonde, and no trace memory: "
			       "it was denied when it started (a seccomp "
			       "filter without SONDE_SECCOMP=allow, or ulimit)",
			       name, (int)pid);
		break;
	case -ENOENT:
		(void)snprintf(text, size,
			       "%s (pid %d) has no events of libsonde; try "
			       "sonde probe",
			       name, (int)pid);
		break;
	default:
		(void)snprintf(text, size, "%s (pid %d): %s", name, (int)pid,
			       strerrordesc_np(-error));
	}
}

/* Another user's, which is reason enough. */
static bool is_anothers(const struct settled *settled)
{
	return (settled->rc == -EPERM || settled->rc == -EACCES) &&
	       sonde_process_uid(settled->pid) != geteuid();
}

static void explain(const struct sonde_attach *attach,
		    const struct settled *settled, char *text, size_t size)
{
	char name[SONDE_COMM_SIZE];

	sonde_process_name(settled->pid, name);
	if (attach->config.sample && *attach->why_unsampled &&
	    !settled->was_found)
		(void)snprintf(text, size, "%s", attach->why_unsampled);
	else if (attach->config.hook && settled->rc != -ESRCH &&
		 !is_anothers(settled))
		(void)snprintf(text, size, "%s",
			       attach->config.why_not(attach->config.ctx,
						      settled->pid));
	else if (settled->was_found)
		(void)snprintf(text, size, "%s (pid %d) is not recorded: %s",
			       name, (int)settled->pid,
			       attach->config.why(settled->rc));
	else
		sonde_attach_explain(
			settled->rc == -EPERM && is_anothers(settled) ?
				-EACCES :
				settled->rc,
			settled->pid, name, sonde_process_uid(settled->pid),
			text, size);
}

bool sonde_attach_samples(const struct sonde_attach *attach)
{
	for (size_t i = 0; i < attach->nr_sampled; i++)
		if (!sonde_peer_has_ended(&attach->sampled[i]))
			return true;
	return false;
}

bool sonde_attach_waits(const struct sonde_attach *attach)
{
	const struct sonde_attach_options *options = attach->config.options;

	for (uint32_t i = 0; i < options->nr_whom; i++)
		if (!is_pid(options->whom[i]))
			return true;
	return !options->nr_whom;
}

/* The first -p that is a number, and could not be recorded. */
static bool first_refused(struct sonde_attach *attach, char *text, size_t size)
{
	const struct sonde_attach_options *options = attach->config.options;

	for (uint32_t i = 0; i < options->nr_whom; i++) {
		pid_t pid = sonde_proc_number(options->whom[i]);
		const struct settled gone = { .pid = pid, .rc = -ESRCH };
		const struct settled *settled;

		if (!is_pid(options->whom[i]))
			continue;
		settled = find_settled(attach, pid);
		if (settled && (!settled->rc || settled->is_sampled))
			continue;
		if (!settled && sonde_process_start(pid))
			(void)snprintf(text, size,
				       "process %d is not one of those of "
				       "-u, --cgroup or --container",
				       (int)pid);
		else
			explain(attach, settled ? settled : &gone, text, size);
		return true;
	}
	return false;
}

/* Not recorded, though it may be looked into and is no program without anything to
 * record. */
static bool is_left_unrecorded(const struct sonde_attach *attach,
			       const struct settled *settled)
{
	return settled->rc && !settled->is_sampled && !is_anothers(settled) &&
	       (attach->config.hook || settled->was_found);
}

uint32_t sonde_attach_nr_refused(const struct sonde_attach *attach)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < nr_remembered(attach); i++)
		nr += is_left_unrecorded(attach, &attach->settled[i]);
	return nr;
}

bool sonde_attach_was_refused(const struct sonde_attach *attach, pid_t pid)
{
	for (uint32_t i = 0; i < nr_remembered(attach); i++)
		if (attach->settled[i].pid == pid &&
		    is_left_unrecorded(attach, &attach->settled[i]))
			return true;
	return false;
}

/* Others came: why the first of those did not, and how many there are. */
static void say_unrecorded(const struct sonde_attach *attach, char *text,
			   size_t size)
{
	uint32_t nr = sonde_attach_nr_refused(attach);
	uint32_t i = 0;
	size_t length;

	while (nr && !is_left_unrecorded(attach, &attach->settled[i]))
		i++;
	if (nr)
		explain(attach, &attach->settled[i], text, size);
	length = strlen(text);
	if (nr > 1)
		(void)snprintf(text + length, size - length,
			       "; %u of those that were meant are not recorded",
			       nr);
}

bool sonde_attach_is_hopeless(struct sonde_attach *attach, char *text,
			      size_t size)
{
	uint32_t nr = attach->nr_settled;

	*text = '\0';
	if (first_refused(attach, text, size))
		return !attach->nr_came && !sonde_attach_waits(attach);
	if (attach->nr_came)
		say_unrecorded(attach, text, size);
	else if (!nr)
		(void)snprintf(text, size,
			       "no such process yet; waiting for one");
	else if (attach->settled[0].rc)
		explain(attach, &attach->settled[0], text, size);
	return false;
}

void sonde_attach_tell(const struct sonde_attach *attach,
		       struct sonde_summary *summary)
{
	uint32_t nr_denied = 0;

	for (uint32_t i = 0; i < nr_remembered(attach); i++)
		nr_denied += attach->settled[i].rc == -EACCES;
	if (nr_denied)
		sonde_summary_note(summary,
				   "%u processes that were meant may not be "
				   "looked into: run as their user, or as root "
				   "(CAP_SYS_PTRACE)",
				   nr_denied);
	if (attach->nr_unsampled)
		sonde_summary_note(summary,
				   "%u processes that were meant are not "
				   "sampled; the last: %s",
				   attach->nr_unsampled, attach->why_unsampled);
}

/* ---- life ---- */

static int find_user(const char *word, uid_t *ret_uid)
{
	char room[PASSWD_ROOM];
	struct passwd passwd;
	struct passwd *found;

	uint64_t uid;

	if (sonde_number_parse(word, UINT32_MAX, &uid)) {
		*ret_uid = (uid_t)uid;
		return 0;
	}
	if (getpwnam_r(word, &passwd, room, sizeof(room), &found) || !found)
		return -EINVAL;
	*ret_uid = found->pw_uid;
	return 0;
}

int sonde_attach_new(const struct sonde_attach_config *config, char *error,
		     size_t error_size, struct sonde_attach **ret_attach)
{
	const struct sonde_attach_options *options = config->options;
	struct sonde_attach *attach = calloc(1, sizeof(*attach));

	if (!attach)
		return -ENOMEM;
	attach->config = *config;
	for (uint32_t i = 0; i < options->nr_users; i++) {
		if (!find_user(options->users[i],
			       &attach->uids[attach->nr_uids++]))
			continue;
		(void)snprintf(error, error_size, "-u %.100s: no such user",
			       options->users[i]);
		free(attach);
		return -EINVAL;
	}
	*ret_attach = attach;
	return 0;
}

void sonde_attach_free(struct sonde_attach *attach)
{
	for (size_t i = 0; attach && i < attach->nr_sampled; i++)
		sonde_peer_release(&attach->sampled[i]);
	if (attach)
		free(attach->sampled);
	free(attach);
}
