// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * session.c - sessions and channels: their descriptors, lives, start and stop.
 *
 * ## Who holds whom
 *
 *	mapping -> stream's file -> channel -> session
 *	                 event's file -^  ^- channel's file
 *	                                         session's file -> session
 *
 * Each arrow is a reference (kref); lists hold nothing. An object goes when its
 * last reference does, which is when descriptors are closed: by close(), by
 * exit, or by a socket or mapping that had the last one.
 *
 * ## States of a session
 *
 *	made -- SCOPE? -- START -- active -- STOP -- idle -- START -- ...
 *
 * Channels and events may be added in any of them. Events are in their points'
 * lists from the moment they are made; `active` decides whether they record.
 *
 * ## Order
 *
 * Everything below is changed under sonde_control, but waiting for grace
 * periods, for probes to leave the kernel (point.c), and allocating rings are
 * done outside: nobody waits for another session's end. So what a channel takes of the
 * session's limits is charged before it is allocated, and given back after it
 * is freed.
 *
 * Going: events leave their lists (under the mutex); a grace period passes; no
 * probe uses the rings, the session, its tree: all of it is freed at once.
 * Events themselves are freed by callbacks of RCU, and are not looked at any
 * more.
 */
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "kmod/sonde.h"

static u32 nr_sessions;

u32 sonde_sessions_nr(void)
{
	return READ_ONCE(nr_sessions);
}

/* ---- limits; sonde_control is held ---- */

int sonde_session_charge(struct sonde_session *session, u64 bytes)
{
	lockdep_assert_held(&sonde_control);
	if (bytes > SONDE_KMOD_MEMORY_MAX - session->memory)
		return -ENOSPC;
	session->memory += bytes;
	return 0;
}

void sonde_session_uncharge(struct sonde_session *session, u64 bytes)
{
	lockdep_assert_held(&sonde_control);
	session->memory -= bytes;
}

/* ---- lives ---- */

/* A reference went; sonde_control is held, and is given up. */
static void session_release(struct kref *ref) __releases(&sonde_control)
{
	struct sonde_session *session =
		container_of(ref, struct sonde_session, ref);

	WRITE_ONCE(nr_sessions, nr_sessions - 1);
	mutex_unlock(&sonde_control);
	/* It has no channels, so no events: since a grace period. */
	sonde_tree_free(session->tree);
	free_percpu(session->cpus);
	kfree(session);
}

static void session_put(struct sonde_session *session)
{
	/* Sparse can't see that release unlocks. */
	kref_put_mutex(&session->ref, session_release, &sonde_control);
}

/* The same, of a channel that may have events. */
static void channel_release(struct kref *ref) __releases(&sonde_control)
{
	struct sonde_channel *channel =
		container_of(ref, struct sonde_channel, ref);
	struct sonde_session *session = channel->session;
	struct sonde_event *event, *next;

	list_for_each_entry_safe(event, next, &channel->events, in_channel)
		sonde_event_drop(event);
	sonde_door_close(channel);
	list_del(&channel->in_session);
	mutex_unlock(&sonde_control);

	synchronize_rcu();
	sonde_streams_free(channel);
	sonde_clock_put(channel->clock);

	mutex_lock(&sonde_control);
	session->nr_channels--;
	sonde_session_uncharge(session, sonde_channel_bytes(channel));
	mutex_unlock(&sonde_control);
	session_put(session);
	kfree(channel);
}

void sonde_channel_put(struct sonde_channel *channel)
{
	kref_put_mutex(&channel->ref, channel_release, &sonde_control);
}

/* ---- a channel's descriptor ---- */

static int channel_close(struct inode *inode, struct file *file)
{
	sonde_channel_put(file->private_data);
	return 0;
}

static long channel_stream(struct sonde_channel *channel, unsigned long arg)
{
	struct sonde_kmod_stream request;
	int rc = sonde_copy_in(&request, sizeof(request), arg);

	return rc ? rc : sonde_stream_open(channel, request.cpu);
}

static long channel_ioctl(struct file *file, unsigned int cmd,
			  unsigned long arg)
{
	struct sonde_channel *channel = file->private_data;

	if (_IOC_TYPE(cmd) != SONDE_KMOD_IOC)
		return -ENOTTY;
	switch (_IOC_NR(cmd)) {
	case _IOC_NR(SONDE_KMOD_EVENT):
		return sonde_channel_add_event(channel, arg);
	case _IOC_NR(SONDE_KMOD_STREAM):
		return channel_stream(channel, arg);
	case _IOC_NR(SONDE_KMOD_DOOR):
		return sonde_door_open(channel, arg);
	}
	return -ENOTTY;
}

static const struct file_operations channel_fops = {
	.owner = THIS_MODULE,
	.release = channel_close,
	.unlocked_ioctl = channel_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.llseek = noop_llseek,
};

/* ---- making a channel ---- */

static bool power_between(u32 value, u32 min, u32 max)
{
	return value >= min && value <= max && !(value & (value - 1));
}

static int channel_check(const struct sonde_kmod_channel *request)
{
	/* Pages belong to one sub-buffer only (stream.c counts on it). */
	u32 min = max_t(u32, SONDE_KMOD_SUBBUF_MIN, PAGE_SIZE);

	if (request->mode > SONDE_OVERWRITE ||
	    request->clock > SONDE_KMOD_CLOCK_MONOTONIC || request->reserved)
		return -EINVAL;
	if (!power_between(request->subbuf_bytes, min, SONDE_KMOD_SUBBUF_MAX) ||
	    !power_between(request->nr_subbufs, SONDE_KMOD_SUBBUFS_MIN,
			   SONDE_KMOD_SUBBUFS_MAX))
		return -EINVAL;
	return 0;
}

u64 sonde_channel_bytes(const struct sonde_channel *channel)
{
	u64 each = (u64)channel->subbuf_bytes * (channel->nr_subbufs + 1);

	return each * num_possible_cpus();
}

/* What the session allows: a channel more, of that size. */
static int channel_charge(struct sonde_channel *channel)
{
	struct sonde_session *session = channel->session;
	int rc = -ENOSPC;

	if (mutex_lock_killable(&sonde_control))
		return -EINTR;
	if (session->nr_channels < SONDE_KMOD_CHANNELS_MAX)
		rc = sonde_session_charge(session,
					  sonde_channel_bytes(channel));
	if (!rc) {
		session->nr_channels++;
		kref_get(&session->ref);
	}
	mutex_unlock(&sonde_control);
	return rc;
}

/* Takes the channel: it is complete, or gone. */
static int channel_furnish(struct sonde_channel *channel)
{
	int rc = sonde_clock_get(channel->clock);

	if (rc)
		goto out;
	rc = channel_charge(channel);
	if (rc)
		goto out_clock;
	rc = sonde_streams_make(channel);
	if (rc) {
		sonde_channel_put(channel);
		return rc;
	}
	/* It is complete: whoever walks the session's channels finds its
	 * rings. */
	mutex_lock(&sonde_control);
	list_add(&channel->in_session, &channel->session->channels);
	mutex_unlock(&sonde_control);
	return 0;
out_clock:
	sonde_clock_put(channel->clock);
out:
	kfree(channel);
	return rc;
}

static int channel_new(struct sonde_session *session,
		       const struct sonde_kmod_channel *request,
		       struct sonde_channel **ret_channel)
{
	struct sonde_channel *channel;
	int rc = channel_check(request);

	if (rc)
		return rc;
	channel = kzalloc(sizeof(*channel), GFP_KERNEL_ACCOUNT);
	if (!channel)
		return -ENOMEM;
	kref_init(&channel->ref);
	INIT_LIST_HEAD(&channel->events);
	INIT_LIST_HEAD(&channel->in_session);
	channel->session = session;
	channel->clock = request->clock;
	channel->mode = request->mode;
	channel->subbuf_bytes = request->subbuf_bytes;
	channel->nr_subbufs = request->nr_subbufs;
	rc = channel_furnish(channel);
	if (!rc)
		*ret_channel = channel;
	return rc;
}

static long session_channel(struct sonde_session *session, unsigned long arg)
{
	struct sonde_channel *channel;
	struct sonde_kmod_channel request;
	int rc = sonde_copy_in(&request, sizeof(request), arg);

	if (!rc)
		rc = channel_new(session, &request, &channel);
	if (rc)
		return rc;
	rc = sonde_open_fd("[sonde-channel]", &channel_fops, channel);
	if (rc < 0)
		sonde_channel_put(channel);
	return rc;
}

/* ---- a session's descriptor ---- */

/* Once, and before the first START: probes don't see it change. */
static int session_take_tree(struct sonde_session *session,
			     struct sonde_tree *tree)
{
	int rc = -EBUSY;

	if (mutex_lock_killable(&sonde_control))
		return -EINTR;
	if (!session->tree && !session->was_started)
		rc = sonde_session_charge(session, sonde_tree_bytes());
	if (!rc)
		session->tree = tree;
	mutex_unlock(&sonde_control);
	return rc;
}

static long session_scope(struct sonde_session *session, unsigned long arg)
{
	struct sonde_kmod_scope request;
	struct sonde_tree *tree = NULL;
	int rc = sonde_copy_in(&request, sizeof(request), arg);

	if (rc)
		return rc;
	if (request.pid < 0)
		return -EINVAL;
	if (READ_ONCE(session->tree) || READ_ONCE(session->was_started))
		return -EBUSY;
	if (!request.pid)
		return 0;
	rc = sonde_tree_make(request.pid, &tree);
	if (rc)
		return rc;
	rc = session_take_tree(session, tree);
	if (rc)
		sonde_tree_free(tree);
	else /* who sees the session active sees its tree, without a barrier */
		synchronize_rcu();
	return rc;
}

/* Stopped at switch number `nr`, and a grace period has passed. Nothing is
 * written until it is switched again, which we don't let happen. */
static void session_quiet(struct sonde_session *session, u32 nr)
{
	struct sonde_channel *channel;

	mutex_lock(&sonde_control);
	if (session->nr_switches == nr)
		list_for_each_entry(channel, &session->channels, in_session)
			sonde_streams_quiet(channel);
	mutex_unlock(&sonde_control);
}

/* sonde_control is held. */
static void session_settle(struct sonde_session *session)
{
	struct sonde_channel *channel;
	struct sonde_event *event;

	list_for_each_entry(channel, &session->channels, in_session)
	{
		list_for_each_entry(event, &channel->events, in_channel)
			sonde_event_settle(event);
	}
}

static long session_switch(struct sonde_session *session, u32 active)
{
	int cpu;
	u32 nr;

	if (mutex_lock_killable(&sonde_control))
		return -EINTR;
	/* Who ran while nothing was recorded is nobody's loss. */
	for_each_possible_cpu(cpu) if (!session->active)
		WRITE_ONCE(per_cpu_ptr(session->cpus, cpu)->next, NULL);
	WRITE_ONCE(session->was_started, session->was_started | active);
	nr = ++session->nr_switches;
	WRITE_ONCE(session->active, active);
	session_settle(session);
	mutex_unlock(&sonde_control);
	/* Probes that saw it as it was are done. */
	synchronize_rcu();
	if (!active)
		session_quiet(session, nr);
	return 0;
}

static long session_missed(struct sonde_session *session, unsigned long arg)
{
	struct sonde_kmod_missed missed = {};
	int cpu;

	for_each_possible_cpu(cpu)
	{
		const struct sonde_session_cpu *of =
			per_cpu_ptr(session->cpus, cpu);

		missed.deep += READ_ONCE(of->deep);
		missed.unseen += READ_ONCE(of->unseen);
	}
	if (mutex_lock_killable(&sonde_control))
		return -EINTR;
	session_settle(session);
	missed.kprobes = session->missed_calls + session->missed_returns;
	missed.returns = session->missed_returns;
	if (session->tree)
		missed.tracked = sonde_tree_lost(session->tree);
	mutex_unlock(&sonde_control);
	return sonde_copy_out(arg, &missed, sizeof(missed));
}

static long session_ioctl(struct file *file, unsigned int cmd,
			  unsigned long arg)
{
	struct sonde_session *session = file->private_data;

	if (_IOC_TYPE(cmd) != SONDE_KMOD_IOC)
		return -ENOTTY;
	switch (_IOC_NR(cmd)) {
	case _IOC_NR(SONDE_KMOD_SCOPE):
		return session_scope(session, arg);
	case _IOC_NR(SONDE_KMOD_CHANNEL):
		return session_channel(session, arg);
	case _IOC_NR(SONDE_KMOD_START):
		return session_switch(session, 1);
	case _IOC_NR(SONDE_KMOD_STOP):
		return session_switch(session, 0);
	case _IOC_NR(SONDE_KMOD_MISSED):
		return session_missed(session, arg);
	}
	return -ENOTTY;
}

static int session_close(struct inode *inode, struct file *file)
{
	session_put(file->private_data);
	return 0;
}

/* The kernel's number of a process that the caller calls `pid`; 0: there is no
 * such process, so nobody is left out. */
static s32 number_of(s32 pid)
{
	s32 number = 0;

	rcu_read_lock();
	if (pid)
		number = pid_nr(find_vpid(pid));
	rcu_read_unlock();
	return number;
}

static const struct file_operations session_fops = {
	.owner = THIS_MODULE,
	.release = session_close,
	.unlocked_ioctl = session_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.llseek = noop_llseek,
};

static struct sonde_session *
session_new(const struct sonde_kmod_session *request)
{
	struct sonde_session *session =
		kzalloc(sizeof(*session), GFP_KERNEL_ACCOUNT);

	if (!session)
		return NULL;
	session->cpus =
		alloc_percpu_gfp(struct sonde_session_cpu, GFP_KERNEL_ACCOUNT);
	if (!session->cpus) {
		kfree(session);
		return NULL;
	}
	kref_init(&session->ref);
	INIT_LIST_HEAD(&session->channels);
	for (u32 i = 0; i < 2; i++)
		session->self[i] = number_of(request->self[i]);
	return session;
}

int sonde_session_open(const struct sonde_kmod_session *request)
{
	struct sonde_session *session;
	int rc;

	if (request->reserved || request->self[0] < 0 || request->self[1] < 0)
		return -EINVAL;
	session = session_new(request);
	if (!session)
		return -ENOMEM;
	mutex_lock(&sonde_control);
	WRITE_ONCE(nr_sessions, nr_sessions + 1);
	mutex_unlock(&sonde_control);
	rc = sonde_open_fd("[sonde-session]", &session_fops, session);
	if (rc < 0)
		session_put(session);
	return rc;
}
