// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * event.c - events: what the user asked for, copied, checked, bound to a point.
 *
 * ## Life
 *
 *	copied, checked (no lock: the user's memory may take its time)
 *	-> charged, in its channel's list, in its point's list (sonde_control)
 *	-> out of both (sonde_control) -> a grace period -> freed
 *
 * An event with a descriptor lives as long as that, and holds its channel; one
 * without lives as long as its channel, and holds nothing. Dropping waits for
 * nobody: the callback of RCU frees what probes read. Rings, session and tree
 * are the channel's, which waits (session.c).
 *
 * Everything that probes read is complete before sonde_point_add() puts the
 * event in its list, and doesn't change; only `enabled` does.
 *
 * Costs are charged to the session's memory: one can ask for 16384 events with
 * a filter of 64 KiB each, or kretprobes with room for 65536 calls each.
 */
#include <linux/capability.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "kmod/items.h"
#include "kmod/probe.h"

#define KNOWN_FLAGS                                                       \
	(SONDE_KMOD_COMPAT | SONDE_KMOD_WANT_FD | SONDE_KMOD_DISABLED |   \
	 SONDE_KMOD_TYPED | SONDE_KMOD_DESCRIBED | SONDE_KMOD_ADDRESSES | \
	 SONDE_KMOD_UNREAD | SONDE_KMOD_STACK)

/* ---- checking ---- */

/* What is for kprobes at addresses only, and what is not for them. */
static int address_check(const struct sonde_kmod_event *from)
{
	if (!from->address)
		return from->place || from->items || from->nr_items ||
				       from->flags & (SONDE_KMOD_ADDRESSES |
						      SONDE_KMOD_UNREAD) ?
			       -EINVAL :
			       0;
	if (from->type != SONDE_KMOD_KPROBE || from->nr_caps ||
	    from->nr_texts || from->nr_items > SONDE_KMOD_ITEMS_MAX ||
	    !from->items != !from->nr_items)
		return -EINVAL;
	return perfmon_capable() ? 0 : -EPERM;
}

static int head_check(const struct sonde_kmod_event *from)
{
	if (from->type >= SONDE_KMOD_TYPES || from->flags & ~KNOWN_FLAGS)
		return -EINVAL;
	if (!from->id || from->id > SONDE_KMOD_IDS_MAX)
		return -EINVAL;
	if (from->nr_caps > SONDE_KMOD_CAPS_MAX ||
	    from->filter_bytes > SONDE_KMOD_FILTER_MAX)
		return -EINVAL;
	if (from->nr_texts > SONDE_KMOD_TEXTS_MAX)
		return -EINVAL;
	/* A filter has a size, and only a filter has texts. */
	if (!from->filter != !from->filter_bytes ||
	    (from->nr_texts && !from->filter))
		return -EINVAL;
	if (from->type == SONDE_KMOD_KRETPROBE &&
	    from->number > SONDE_KMOD_RETURNS_MAX)
		return -EINVAL;
	/* A system call has no name; unknown ones have a bitmap there. */
	if (from->type == SONDE_KMOD_SYSCALL_ENTRY ||
	    from->type == SONDE_KMOD_SYSCALL_EXIT)
		return 0;
	if (!memchr(from->name, 0, sizeof(from->name)))
		return -EINVAL;
	return from->name[0] || from->address ? 0 : -EINVAL;
}

/* Its probe takes the tracepoint's argument for the address of a call: so by its
 * name it must be such a one. Caps without a filter would mean nothing. *from is
 * checked otherwise. */
static int described_check(const struct sonde_kmod_event *from)
{
	if (!(from->flags & SONDE_KMOD_DESCRIBED))
		return 0;
	if (from->type != SONDE_KMOD_TRACEPOINT ||
	    from->flags & SONDE_KMOD_TYPED || (from->nr_caps && !from->filter))
		return -EINVAL;
	return sonde_tracepoint_is_described(from->name) ? 0 : -EINVAL;
}

/* What is on the stack is the event's where that is a call of a function. */
static int stack_check(const struct sonde_kmod_event *from)
{
	if (!(from->flags & SONDE_KMOD_STACK))
		return 0;
	if (!SONDE_HAS_STACKS)
		return -EOPNOTSUPP;
	return from->type <= SONDE_KMOD_SYSCALL_EXIT ? 0 : -EINVAL;
}

/* ---- making ---- */

static void event_free(struct sonde_event *event)
{
	if (event->filter)
		sonde_filter_free(event->filter);
	sonde_items_free(event->items);
	free_percpu(event->count);
	kfree(event->caps);
	kfree(event);
}

static void event_free_later(struct rcu_head *rcu)
{
	event_free(container_of(rcu, struct sonde_event, rcu));
}

static int event_copy_caps(struct sonde_event *event,
			   const struct sonde_kmod_event *from)
{
	size_t bytes = from->nr_caps * sizeof(*event->caps);
	struct sonde_kmod_cap *caps;

	event->nr_caps = (u8)from->nr_caps;
	if (bytes) {
		caps = kmalloc(bytes, GFP_KERNEL_ACCOUNT);
		if (!caps)
			return -ENOMEM;
		event->caps = caps;
		if (copy_from_user(caps, u64_to_user_ptr(from->caps), bytes))
			return -EFAULT;
	}
	return sonde_caps_check(event->caps, from->nr_caps, &event->fixed_bytes,
				&event->is_fixed);
}

/* Of a kprobe. */
static void event_run_early(struct sonde_event *event)
{
	const struct sonde_filter_early *early;

	if (!event->filter && event->items)
		event->run = sonde_kprobe_always;
	if (!event->filter || event->counts_rejected)
		return;
	early = sonde_filter_early(event->filter);
	if (early->how != SONDE_FILTER_NATIVE)
		return;
	event->run = early->run;
	event->code = early->code;
}

/* All that comes from user memory, and all that hangs on the event. */
static int event_furnish(struct sonde_event *event,
			 const struct sonde_kmod_event *from)
{
	int rc = event_copy_caps(event, from);

	if (rc)
		return rc;
	if (event->is_fixed && event->fixed_bytes > SONDE_KMOD_RECORD_MAX)
		return -EINVAL;
	if (from->flags & SONDE_KMOD_WANT_FD) {
		event->count = alloc_percpu_gfp(struct sonde_event_count,
						GFP_KERNEL_ACCOUNT);
		if (!event->count)
			return -ENOMEM;
	}
	if (from->filter) {
		struct sonde_filter *filter;

		rc = sonde_filter_make(from, event->caps, from->nr_caps,
				       &filter);
		if (!rc)
			event->filter = filter;
	}
	if (!rc && from->address) {
		rc = sonde_items_make(from, &event->items, &event->fixed_bytes);
		event->is_fixed =
			SONDE_FIXED_LOADS; /* which no list of caps is */
	}
	sonde_event_stack(event, from);
	event->counts_rejected = event->count && !from->address;
	if (!rc && from->type == SONDE_KMOD_KPROBE)
		event_run_early(event);
	event->is_plain = event->is_fixed == SONDE_FIXED_PLAIN &&
			  !from->address && !event->filter &&
			  !(from->flags & SONDE_KMOD_DESCRIBED);
	return rc;
}

/* With its point, as if nobody else used that; and with what a filter may become,
 * which is a page, and fewer bytes than it has itself. */
static u64 event_bytes(const struct sonde_kmod_event *from)
{
	u64 bytes = sizeof(struct sonde_event) + 2ull * from->filter_bytes +
		    (from->filter ? PAGE_SIZE : 0) +
		    from->nr_texts * sizeof(struct sonde_kmod_text) +
		    from->nr_caps * sizeof(struct sonde_kmod_cap) +
		    sonde_point_bytes(from) + sonde_items_bytes(from);

	if (from->flags & SONDE_KMOD_WANT_FD)
		bytes += sizeof(struct sonde_event_count) * num_possible_cpus();
	return bytes;
}

static u64 event_steps(const struct sonde_event *event)
{
	return sonde_filter_steps(event->filter) +
	       sonde_items_steps(event->items);
}

/* The filters of a point run one after the other, with preemption off. The
 * event records nothing while it is not known whether it may stay. */
static int event_add_bounded(struct sonde_event *event,
			     const struct sonde_kmod_event *from)
{
	u64 steps = event_steps(event);
	u32 enabled = event->enabled;
	int rc;

	if (steps > SONDE_KMOD_FILTERS_STEPS)
		return -E2BIG;
	event->enabled = 0;
	rc = sonde_point_add(event, from);
	if (rc)
		return rc;
	if (steps > SONDE_KMOD_FILTERS_STEPS - event->point->filter_steps) {
		sonde_point_remove(event);
		return -E2BIG;
	}
	event->point->filter_steps += steps;
	WRITE_ONCE(event->enabled, enabled);
	return 0;
}

/* Charged and in both lists, or nothing of that; sonde_control is held. */
static int event_bind(struct sonde_channel *channel, struct sonde_event *event,
		      const struct sonde_kmod_event *from)
{
	int rc;

	if (channel->nr_events >= SONDE_KMOD_EVENTS_MAX)
		return -ENOSPC;
	rc = sonde_session_charge(channel->session, event->bytes);
	if (rc)
		return rc;
	rc = event_add_bounded(event, from);
	if (rc) {
		sonde_session_uncharge(channel->session, event->bytes);
		return rc;
	}
	list_add_tail(&event->in_channel, &channel->events);
	channel->nr_events++;
	return 0;
}

static int event_bind_locked(struct sonde_channel *channel,
			     struct sonde_event *event,
			     const struct sonde_kmod_event *from)
{
	int rc;

	if (mutex_lock_killable(&sonde_control))
		return -EINTR;
	rc = event_bind(channel, event, from);
	mutex_unlock(&sonde_control);
	return rc;
}

/* An event in its point's list; *from was checked, what it points to is copied.
 * 0 or -errno. */
static int event_make(struct sonde_channel *channel,
		      const struct sonde_kmod_event *from,
		      struct sonde_event **ret_event)
{
	struct sonde_event *event;
	int rc;

	event = kzalloc(sizeof(*event), GFP_KERNEL_ACCOUNT);
	if (!event)
		return -ENOMEM;
	event->session = channel->session;
	event->rings = channel->rings;
	event->channel = channel;
	event->id = from->id;
	event->enabled = !(from->flags & SONDE_KMOD_DISABLED);
	event->bytes = event_bytes(from);
	sonde_points_make_room();
	rc = event_furnish(event, from);
	if (!rc)
		rc = event_bind_locked(channel, event, from);
	if (rc) {
		/* A point that could not be registered may have been in use
		 * for a moment. */
		call_rcu(&event->rcu, event_free_later);
		return rc;
	}
	*ret_event = event;
	return 0;
}

void sonde_event_drop(struct sonde_event *event)
{
	struct sonde_channel *channel = event->channel;

	lockdep_assert_held(&sonde_control);
	event->point->filter_steps -= event_steps(event);
	sonde_point_remove(event);
	list_del(&event->in_channel);
	channel->nr_events--;
	sonde_session_uncharge(channel->session, event->bytes);
	call_rcu(&event->rcu, event_free_later);
}

/* ---- an event's descriptor ---- */

static void event_close(struct sonde_event *event)
{
	struct sonde_channel *channel = event->channel;

	mutex_lock(&sonde_control);
	sonde_event_drop(event);
	mutex_unlock(&sonde_control);
	sonde_channel_put(channel);
}

static int event_release(struct inode *inode, struct file *file)
{
	event_close(file->private_data);
	return 0;
}

static long event_switch(struct sonde_event *event, u32 enabled)
{
	if (mutex_lock_killable(&sonde_control))
		return -EINTR;
	WRITE_ONCE(event->enabled, enabled);
	sonde_event_settle(event);
	mutex_unlock(&sonde_control);
	/* As with START and STOP: probes that saw it as it was are done. */
	synchronize_rcu();
	return 0;
}

static long event_counts(const struct sonde_event *event, unsigned long arg)
{
	struct sonde_kmod_event_counts out = {
		.judged = sonde_filter_judged(event->filter),
	};
	int cpu;

	for_each_possible_cpu(cpu)
	{
		const struct sonde_event_count *count =
			per_cpu_ptr(event->count, cpu);

		out.recorded += READ_ONCE(count->recorded);
		out.filtered += READ_ONCE(count->filtered);
		out.lost += READ_ONCE(count->lost);
		out.faults += READ_ONCE(count->faults);
	}
	return sonde_copy_out(arg, &out, sizeof(out));
}

static long event_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct sonde_event *event = file->private_data;

	if (_IOC_TYPE(cmd) != SONDE_KMOD_IOC)
		return -ENOTTY;
	switch (_IOC_NR(cmd)) {
	case _IOC_NR(SONDE_KMOD_ENABLE):
		return event_switch(event, 1);
	case _IOC_NR(SONDE_KMOD_DISABLE):
		return event_switch(event, 0);
	case _IOC_NR(SONDE_KMOD_EVENT_COUNTS):
		return event_counts(event, arg);
	}
	return -ENOTTY;
}

static const struct file_operations event_fops = {
	.owner = THIS_MODULE,
	.release = event_release,
	.unlocked_ioctl = event_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.llseek = noop_llseek,
};

/* ---- the ioctl of a channel ---- */

int sonde_channel_add_event(struct sonde_channel *channel, unsigned long arg)
{
	struct sonde_kmod_event from;
	struct sonde_event *event;
	int rc = sonde_copy_in(&from, sizeof(from), arg);

	if (!rc)
		rc = head_check(&from);
	if (!rc)
		rc = described_check(&from);
	if (!rc)
		rc = address_check(&from);
	if (!rc)
		rc = stack_check(&from);
	if (rc)
		return rc;
	if (from.flags & SONDE_KMOD_TYPED && !sonde_typed_find(from.name))
		from.flags &= ~SONDE_KMOD_TYPED;
	/* Before the event is: a channel must not go before its event. */
	if (from.flags & SONDE_KMOD_WANT_FD)
		kref_get(&channel->ref);
	rc = event_make(channel, &from, &event);
	if (rc) {
		if (from.flags & SONDE_KMOD_WANT_FD)
			sonde_channel_put(channel);
		return rc;
	}
	if (!(from.flags & SONDE_KMOD_WANT_FD))
		return 0;
	rc = sonde_open_fd("[sonde-event]", &event_fops, event);
	if (rc < 0)
		event_close(event);
	return rc;
}
