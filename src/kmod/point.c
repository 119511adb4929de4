// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * point.c - points: where events come from; and the probes of any tracepoint.
 *
 * A point is made with its first event and goes with its last (probe.h). There
 * are probes for any tracepoint, for the kernel passes arguments in registers,
 * and on the stack what doesn't fit in them:
 *
 *	few	reads the registers only, whatever they hold
 *	tasks	the same, of the tracepoints that tell what happens to a task,
 *		whoever runs meanwhile: switches, wake-ups
 *	many	reads as many words more as some event captures
 *
 * and, before one of these or a typed one, at points whose events have filters that
 * are ranges (filter.c):
 *
 *	quick	rejects for one event that is everybody's, which is the usual
 *		case; it needs no frame for that
 *
 * or machine code, or rows (row.h):
 *
 *	early	asks the one event's filter before anything else, and goes on only if
 *		that holds
 *
 * So nothing is read that can't be an argument of the call, if captures ask for
 * no more arguments than the prototype has; that is known to who made them (the
 * kernel's types), and not here. A tracepoint may have a point for each probe;
 * both are called.
 *
 * ## Limits
 *
 * An argument is one word: a structure of two words or more that is passed by
 * value takes two, or is on the stack. The probes' type is not the
 * tracepoint's: kernels that check that in indirect calls (kCFI) would stop, so
 * there no tracepoint has a probe but those of typed.c and described.c. Machines with other
 * rules for calls than those below are not known here.
 *
 * ## Life
 *
 *	in `points` --- its last event goes ---> in `dead` --- bury() ---> freed
 *
 * Who closes an event, or a thousand, takes it out of its point's list, and is
 * done: after a grace period no probe knows it. To take a kprobe out of the
 * kernel costs milliseconds, and grace periods, so that is left to a work item.
 * It takes all points that are in `dead`, detaches them SONDE_DETACH_MAX at a
 * time, waits for all probes once, and frees them; without sonde_control, so
 * that others come and go meanwhile, at the same places, too: there a new point
 * is made. Points of system calls are detached at once: they are words in a
 * table. Points in `dead` belong to no session; if they take more than DEAD_MAX
 * bytes, who wants another point waits until they have gone.
 *
 * A tracepoint's module goes only after its notifier, which detaches: its points
 * stay, with their events, and nothing calls them. Those on their way out are
 * waited for.
 *
 * All but the work item is control's, under sonde_control. Probes read
 * point->events and nr_args, which only grows.
 *
 * Cost: plain captures, see docs/kernel.md.
 */
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/tracepoint.h>
#include <linux/workqueue.h>

#include "kmod/probe.h"

#if defined(CONFIG_X86_64)
#define FEW 5u /* six registers, one of which is the point */
#elif defined(CONFIG_ARM64)
#define FEW 7u
#else
#error "how this machine passes arguments is not known"
#endif

#define DEAD_MAX (256ull << 20)

static LIST_HEAD(points);
static LIST_HEAD(dead);

/* Of its own: its work takes long, and others' would wait behind it. */
static struct workqueue_struct *undertaker;

/* Those in `dead`, and those that the work item has. */
static atomic_t nr_leaving = ATOMIC_INIT(0);
static atomic64_t bytes_leaving = ATOMIC64_INIT(0);

/* ---- the probes ---- */

/* What needs more than the arguments. */
static noinline notrace void capture_any(const struct sonde_event *event,
					 const u64 *args, u32 nr_args)
{
	const struct sonde_site site = { .args = args, .nr_args = nr_args };

	sonde_event_capture(event, &site);
}

static __always_inline void each_event(const struct sonde_point *point,
				       const u64 *args, u32 nr_args)
{
	const struct sonde_event *event;

	list_for_each_entry_lockless(event, &point->events, in_point)
	{
		if (!sonde_event_wants(event))
			continue;
		if (likely(event->is_plain))
			sonde_event_record_plain(event, sonde_word, args);
		else
			capture_any(event, args, nr_args);
	}
}

#if defined(CONFIG_X86_64)
static SONDE_PROBE void probe_few(void *data, u64 a, u64 b, u64 c, u64 d, u64 e)
{
	const u64 args[FEW] = { a, b, c, d, e };

	sonde_probe_begin();
	each_event(data, args, FEW);
	sonde_probe_end();
}
#else
static SONDE_PROBE void probe_few(void *data, u64 a, u64 b, u64 c, u64 d, u64 e,
				  u64 f, u64 g)
{
	const u64 args[FEW] = { a, b, c, d, e, f, g };

	sonde_probe_begin();
	each_event(data, args, FEW);
	sonde_probe_end();
}
#endif

/* The tasks are among the first five. */
static SONDE_PROBE void probe_tasks(void *data, u64 a, u64 b, u64 c, u64 d,
				    u64 e)
{
	const struct sonde_point *point = data;
	const u64 args[FEW] = { a, b, c, d, e };
	const struct task_struct *task = (void *)args[point->tasks[0]];
	const struct task_struct *other = (void *)args[point->tasks[1]];
	const struct sonde_event *event;

	sonde_probe_begin();
	list_for_each_entry_lockless(event, &point->events, in_point)
	{
		if (!sonde_event_wants_tasks(event, task, other))
			continue;
		if (likely(event->is_plain))
			sonde_event_record_plain(event, sonde_word, args);
		else
			capture_any(event, args, FEW);
	}
	sonde_probe_end();
}

/* The usual case: one event, everybody's. All else is for the probe behind it,
 * which asks again. */
static __always_inline bool is_rejected(const struct sonde_point *point,
					u64 argument)
{
	/* Pairs with smp_store_release() in set_only(): it is complete. */
	const struct sonde_event *event = smp_load_acquire(&point->only);
	const struct sonde_session *session;

	if (unlikely(!event))
		return false;
	session = event->session;
	if (session->tree || session->has_self ||
	    sonde_range_passes(sonde_filter_early(event->filter), argument))
		return false;
	if (sonde_event_is_on(event))
		sonde_event_filtered(event);
	return true;
}

typedef void (*probe_fn)(void *data, u64 a, u64 b, u64 c, u64 d, u64 e);

/* The probe behind it is jumped to, when no event is looked at any more here;
 * the point stays (invariant 2 in probe.h). */
#define QUICK(index, argument)                                                \
	static SONDE_PROBE void probe_quick_##index(void *data, u64 a, u64 b, \
						    u64 c, u64 d, u64 e)      \
	{                                                                     \
		const struct sonde_point *point = data;                       \
		bool rejected;                                                \
                                                                              \
		sonde_probe_begin();                                          \
		rejected = is_rejected(point, argument);                      \
		sonde_probe_end();                                            \
		if (!rejected)                                                \
			((probe_fn)point->probe)(data, a, b, c, d, e);        \
	}

QUICK(0, a)
QUICK(1, b)
QUICK(2, c)
QUICK(3, d)
QUICK(4, e)

static void *const quick_probes[] = { probe_quick_0, probe_quick_1,
				      probe_quick_2, probe_quick_3,
				      probe_quick_4 };

/* What the one event records if its filter holds; who runs is asked only now. */
static noinline notrace void record_only(const struct sonde_point *point,
					 const struct sonde_event *only,
					 const struct sonde_site *site,
					 const u64 *row)
{
	bool is_wanted =
		point->probe == probe_tasks ?
			sonde_event_wants_tasks(
				only, (void *)site->args[point->tasks[0]],
				(void *)site->args[point->tasks[1]]) :
			sonde_event_wants(only);

	if (!is_wanted)
		return;
	if (row)
		sonde_event_record_row(only, site, row);
	else
		sonde_event_record(only, site);
}

/* False: nothing has been done. So it is if somebody else reads a row: what is too
 * deep then is counted only if it is wanted. */
static __always_inline bool try_only(const struct sonde_point *point,
				     const struct sonde_site *site)
{
	/* Pairs with smp_store_release() in set_only(): it is complete. */
	const struct sonde_event *only = smp_load_acquire(&point->only);
	const struct sonde_filter_early *early;
	u64 words[SONDE_ROW_MAX] __uninitialized;

	if (unlikely(!only))
		return false;
	early = sonde_filter_early(only->filter);
	if (early->how == SONDE_FILTER_ROW) {
		if (unlikely(!sonde_row_try_get(only, site, words)))
			return false;
		if (unlikely(sonde_row_holds(only->filter, words)))
			record_only(point, only, site, words);
	} else if (unlikely(early->run(site->args, early->code))) {
		record_only(point, only, site, NULL);
	}
	return true;
}

static SONDE_PROBE void probe_early(void *data, u64 a, u64 b, u64 c, u64 d,
				    u64 e)
{
	const struct sonde_point *point = data;
	const u64 args[FEW] = { a, b, c, d, e };
	const struct sonde_site site = { .args = args, .nr_args = FEW };
	bool is_done;

	sonde_probe_begin();
	is_done = try_only(point, &site);
	sonde_probe_end();
	if (unlikely(!is_done))
		((probe_fn)point->probe)(data, a, b, c, d, e);
}

/* NOLINTNEXTLINE(readability-function-size): a tracepoint's arguments */
static SONDE_PROBE void probe_many(void *data, u64 a, u64 b, u64 c, u64 d,
				   u64 e, u64 f, u64 g, u64 h, u64 i, u64 j,
				   u64 k, u64 l)
{
	const struct sonde_point *point = data;
	u32 nr = READ_ONCE(point->nr_args);
	u64 args[SONDE_ARGS_MAX] = { a, b, c, d, e };

#define MORE(index, value) \
	if (nr > (index))  \
	args[index] = (value)
	sonde_probe_begin();
	MORE(5, f);
	MORE(6, g);
	MORE(7, h);
	MORE(8, i);
	MORE(9, j);
	MORE(10, k);
	MORE(11, l);
#undef MORE
	each_event(point, args, SONDE_ARGS_MAX);
	sonde_probe_end();
}

/* How many arguments a list asks for. */
static u32 args_of(const struct sonde_event *event)
{
	u32 nr = 0;

	for (u32 i = 0; i < event->nr_caps; i++) {
		const struct sonde_kmod_cap *cap = &event->caps[i];

		if (cap->from == SONDE_KMOD_FROM_ARG)
			nr = max(nr, cap->index + 1u);
		if (cap->kind == SONDE_KMOD_UBUFFER &&
		    cap->length < SONDE_ARGS_MAX)
			nr = max(nr, cap->length + 1u);
	}
	return nr;
}

/* ---- tracepoints ---- */

/* What the kernel calls. */
static void *called(const struct sonde_point *point)
{
	if (point->is_early)
		return probe_early;
	return point->is_quick ? quick_probes[point->quick_index] :
				 point->probe;
}

static int tracepoint_attach(struct sonde_point *point)
{
	struct tracepoint *tracepoint = sonde_tracepoint_find(point->name);
	int err;

	if (!tracepoint)
		return -ENOENT;
	if (SONDE_CALLS_ARE_CHECKED &&
	    point->probe != (void *)sonde_tracepoint_described &&
	    called(point) != sonde_typed_find(point->name))
		return -EOPNOTSUPP;
	err = tracepoint_probe_register(tracepoint, called(point), point);
	if (!err)
		point->own = tracepoint;
	return err;
}

static void tracepoint_detach(struct sonde_point *point)
{
	if (point->own) /* it is registered, so this can't fail */
		(void)tracepoint_probe_unregister(point->own, called(point),
						  point);
	point->own = NULL;
}

/* ---- tracepoints of modules ---- */

static void bury(struct work_struct *work);
static DECLARE_WORK(bury_work, bury);

static void module_goes(const struct module *module)
{
	struct sonde_point *point;

	list_for_each_entry(point, &points, in_points)
	{
		if (point->type == SONDE_KMOD_TRACEPOINT && point->own &&
		    sonde_tracepoint_find_in(module, point->name) == point->own)
			tracepoint_detach(point);
		else if (point->type == SONDE_KMOD_KPROBE)
			sonde_kprobe_let_go(point, module);
	}
	sonde_tracepoint_drop(module);
}

static int on_module(struct notifier_block *block, unsigned long what,
		     void *data)
{
	const struct tp_module *of = data;
	int err = 0;

	mutex_lock(&sonde_control);
	if (what == MODULE_STATE_COMING)
		err = sonde_tracepoint_add(of->mod);
	else if (what == MODULE_STATE_GOING)
		module_goes(of->mod);
	mutex_unlock(&sonde_control);
	if (what == MODULE_STATE_GOING)
		flush_work(&bury_work);
	return notifier_from_errno(err);
}

static struct notifier_block notifier = { .notifier_call = on_module };

/* ---- points ---- */

static int attach(struct sonde_point *point)
{
	switch (point->type) {
	case SONDE_KMOD_TRACEPOINT:
		return tracepoint_attach(point);
	case SONDE_KMOD_SYSCALL_ENTRY:
	case SONDE_KMOD_SYSCALL_EXIT:
		return sonde_syscall_attach(point);
	case SONDE_KMOD_KPROBE:
	case SONDE_KMOD_KRETPROBE:
	case SONDE_KMOD_FUNCTION:
		return sonde_kprobe_attach(point);
	default:
		return -EINVAL;
	}
}

/* ---- the end of points ---- */

static bool is_syscall(u32 type)
{
	return type == SONDE_KMOD_SYSCALL_ENTRY ||
	       type == SONDE_KMOD_SYSCALL_EXIT;
}

static bool is_kprobe(u32 type)
{
	return type == SONDE_KMOD_KPROBE || type == SONDE_KMOD_KRETPROBE ||
	       type == SONDE_KMOD_FUNCTION;
}

/* Those of one type of kprobes that are attached. */
static void detach_kprobes(const struct list_head *list, u32 type)
{
	struct sonde_point *batch[SONDE_DETACH_MAX];
	struct sonde_point *point;
	u32 nr = 0;

	list_for_each_entry(point, list, in_points)
	{
		if (point->type != type || !point->own)
			continue;
		batch[nr++] = point;
		if (nr < SONDE_DETACH_MAX)
			continue;
		sonde_kprobes_detach(batch, nr);
		nr = 0;
	}
	if (nr)
		sonde_kprobes_detach(batch, nr);
}

static void detach_all(const struct list_head *list)
{
	struct sonde_point *point;

	list_for_each_entry(point, list, in_points)
	{
		if (point->type == SONDE_KMOD_TRACEPOINT)
			tracepoint_detach(point);
	}
	detach_kprobes(list, SONDE_KMOD_KPROBE);
	detach_kprobes(list, SONDE_KMOD_KRETPROBE);
	detach_kprobes(list, SONDE_KMOD_FUNCTION);
}

static void free_point(struct sonde_point *point)
{
	atomic64_sub((s64)point->bytes, &bytes_leaving);
	atomic_dec(&nr_leaving);
	if (is_kprobe(point->type))
		kfree(point->own);
	kfree(point);
}

static void bury(struct work_struct *work)
{
	struct sonde_point *point;
	struct sonde_point *next;
	LIST_HEAD(now);

	mutex_lock(&sonde_control);
	list_splice_init(&dead, &now);
	mutex_unlock(&sonde_control);
	detach_all(&now);
	tracepoint_synchronize_unregister();
	list_for_each_entry_safe(point, next, &now, in_points)
		free_point(point);
}

/* A system call's is detached, or never was attached. */
static void drop(struct sonde_point *point)
{
	atomic_inc(&nr_leaving);
	atomic64_add((s64)point->bytes, &bytes_leaving);
	list_move(&point->in_points, &dead);
	queue_work(undertaker, &bury_work);
}

u32 sonde_points_nr_leaving(void)
{
	return (u32)atomic_read(&nr_leaving);
}

void sonde_points_make_room(void)
{
	if (atomic64_read(&bytes_leaving) > (s64)DEAD_MAX)
		flush_work(&bury_work);
}

/* ---- points ---- */

/* Tracepoints that happen to tasks other than the one that runs. */
static const struct {
	const char *name;
	u8 tasks[2];
} of_tasks[] = {
	{ "sched_switch", { 1, 2 } },       { "sched_waking", { 0, 0 } },
	{ "sched_wakeup", { 0, 0 } },       { "sched_wakeup_new", { 0, 0 } },
	{ "sched_migrate_task", { 0, 0 } }, { "sched_process_free", { 0, 0 } },
	{ "signal_generate", { 2, 2 } },
};

static const u8 *tasks_of(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(of_tasks); i++) {
		if (!strcmp(name, of_tasks[i].name))
			return of_tasks[i].tasks;
	}
	return NULL;
}

static void *choose_probe(const struct sonde_event *event,
			  const struct sonde_kmod_event *from)
{
	void *typed = NULL;

	if (from->type != SONDE_KMOD_TRACEPOINT)
		return NULL;
	if (from->flags & SONDE_KMOD_DESCRIBED)
		return (void *)sonde_tracepoint_described;
	if (from->flags & SONDE_KMOD_TYPED)
		typed = sonde_typed_find(from->name);
	/* Who captures more arguments than it has means another prototype. */
	if (typed && args_of(event) <= SONDE_TYPED_ARGS)
		return typed;
	if (args_of(event) > FEW)
		return probe_many;
	return tasks_of(from->name) ? (void *)probe_tasks : (void *)probe_few;
}

/* Machines differ in how many arguments the quick probe can pass on. */
static bool is_quick(const struct sonde_event *event, const void *probe)
{
	return FEW == 5 && !SONDE_CALLS_ARE_CHECKED && probe &&
	       probe != probe_many && event->filter &&
	       sonde_filter_early(event->filter)->how == SONDE_FILTER_RANGE;
}

/* Whoever is counted must be known to be wanted first; so such events are left to the
 * probe behind it. */
static bool is_early(const struct sonde_event *event, const void *probe)
{
	enum sonde_filter_how how;

	if (FEW != 5 || SONDE_CALLS_ARE_CHECKED || !event->filter ||
	    event->count || (probe != probe_few && probe != probe_tasks))
		return false;
	how = sonde_filter_early(event->filter)->how;
	return how == SONDE_FILTER_ROW || how == SONDE_FILTER_NATIVE;
}

static u8 quick_index(const struct sonde_event *event)
{
	return sonde_filter_early(event->filter)->index;
}

static bool is_it(const struct sonde_point *point,
		  const struct sonde_event *event,
		  const struct sonde_kmod_event *from, const void *probe)
{
	if (point->type != from->type || point->probe != probe ||
	    point->is_quick != is_quick(event, probe) ||
	    point->is_early != is_early(event, probe))
		return false;
	if (point->is_quick && point->quick_index != quick_index(event))
		return false;
	if (!point->own && from->type == SONDE_KMOD_TRACEPOINT)
		return false; /* its module has gone */
	if (from->type == SONDE_KMOD_KRETPROBE && point->number != from->number)
		return false;
	/* A call's number is its name. Whoever asks for unknown ones first says
	 * which those are. */
	if (is_syscall(from->type))
		return point->number == from->number &&
		       point->flags == (from->flags & SONDE_KMOD_COMPAT);
	return point->address == from->address &&
	       !memcmp(point->name, from->name, sizeof(point->name));
}

static struct sonde_point *find(const struct sonde_event *event,
				const struct sonde_kmod_event *from,
				const void *probe)
{
	struct sonde_point *point;

	list_for_each_entry(point, &points, in_points)
	{
		if (is_it(point, event, from, probe))
			return point;
	}
	return NULL;
}

static struct sonde_point *make(const struct sonde_event *event,
				const struct sonde_kmod_event *from,
				void *probe)
{
	struct sonde_point *point = kzalloc(sizeof(*point), GFP_KERNEL_ACCOUNT);

	if (!point)
		return NULL;
	INIT_LIST_HEAD(&point->events);
	point->type = from->type;
	point->address = from->address;
	point->bytes = sonde_point_bytes(from);
	point->probe = probe;
	point->is_quick = is_quick(event, probe);
	point->is_early = is_early(event, probe);
	if (point->is_quick)
		point->quick_index = quick_index(event);
	memcpy(point->name, from->name, sizeof(point->name));
	if (is_syscall(from->type) || from->type == SONDE_KMOD_KRETPROBE)
		point->number = from->number;
	if (is_syscall(from->type))
		point->flags = from->flags & SONDE_KMOD_COMPAT;
	if (probe == probe_tasks)
		memcpy(point->tasks, tasks_of(from->name),
		       sizeof(point->tasks));
	list_add(&point->in_points, &points);
	return point;
}

/* Before an event is taken out, and when there is another. */
static void set_only(struct sonde_point *point, const struct sonde_event *event)
{
	bool is_asked =
		point->is_quick || point->is_early || (event && event->run);

	/* Pairs with smp_load_acquire() in is_rejected(), and with those in try_only()
	 * and on_kprobe(): the event is complete. */
	smp_store_release(&point->only, is_asked ? event : NULL);
}

int sonde_point_add(struct sonde_event *event,
		    const struct sonde_kmod_event *from)
{
	void *probe = choose_probe(event, from);
	struct sonde_point *point = find(event, from, probe);
	int err = event->is_plain ? 0 : sonde_levels_need();

	if (err)
		return err;
	if (!point)
		point = make(event, from, probe);
	if (!point)
		return -ENOMEM;
	if (args_of(event) > point->nr_args)
		WRITE_ONCE(point->nr_args, args_of(event));
	event->point = point;
	/* It is in the list before the kernel calls the probe, and before the
	 * probe of a system call is registered. */
	set_only(point, point->nr_events ? NULL : event);
	list_add_tail_rcu(&event->in_point, &point->events);
	if (point->nr_events == 0)
		err = attach(point);
	if (err) {
		set_only(point, NULL);
		list_del_rcu(&event->in_point);
		event->point = NULL;
		drop(point);
		return err;
	}
	point->nr_events++;
	sonde_event_settle(event);
	return 0;
}

void sonde_point_remove(struct sonde_event *event)
{
	struct sonde_point *point = event->point;

	if (!point)
		return;
	sonde_event_settle(event);
	event->point = NULL;
	set_only(point, NULL); /* the next one to come sets it */
	list_del_rcu(&event->in_point);
	if (--point->nr_events)
		return;
	if (is_syscall(point->type))
		sonde_syscall_detach(point);
	drop(point);
}

u64 sonde_point_bytes(const struct sonde_kmod_event *from)
{
	u64 bytes = sizeof(struct sonde_point);

	if (from->type == SONDE_KMOD_KRETPROBE)
		bytes += sonde_kretprobe_bytes(from->number);
	return bytes;
}

void sonde_event_settle(struct sonde_event *event)
{
	const struct sonde_point *point = event->point;
	struct sonde_session *session = event->session;
	struct sonde_misses now;

	if (!point || (point->type != SONDE_KMOD_KPROBE &&
		       point->type != SONDE_KMOD_KRETPROBE))
		return;
	now = sonde_kprobe_misses(point);
	if (event->is_charged) {
		session->missed_calls += now.calls - event->misses.calls;
		session->missed_returns += now.returns - event->misses.returns;
	}
	event->misses = now;
	event->is_charged = sonde_event_is_on(event);
}

/* ---- life ---- */

int sonde_points_init(void)
{
	int rc;

	sonde_peek_init();
	undertaker = alloc_workqueue("sonde", WQ_UNBOUND, 0);
	if (!undertaker)
		return -ENOMEM;
	rc = register_tracepoint_module_notifier(&notifier);
	if (rc)
		destroy_workqueue(undertaker);
	return rc;
}

/* No event is left. */
void sonde_points_exit(void)
{
	/* It fails only if it wasn't registered. */
	(void)unregister_tracepoint_module_notifier(&notifier);
	destroy_workqueue(undertaker); /* when all points have gone */
	tracepoint_synchronize_unregister();
	sonde_tracepoint_drop(NULL);
	sonde_levels_free();
}
