// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * kprobe.c - probes anywhere in the kernel's code.
 *
 *	kprobe		any instruction. No post handler, so the kernel replaces
 *			the breakpoint by a jump where it can. At an address, it may
 *			keep a tracepoint on, whose site that is
 *	kretprobe	return from a function; its arguments were kept at entry
 *	function	entry to a function, by ftrace: cheaper than a kprobe, and
 *			no instruction is replaced but the one that is there for it
 *
 * Functions go through ftrace and not through fprobe, its wrapper, whose
 * handlers' prototype changed with nearly each kernel since 6.1, and which
 * Debian's 6.1 does not have.
 *
 * Arguments are the words in the registers of the C calling convention (six on
 * x86-64, eight on arm64), then words of the stack; so they are meaningful at
 * the first instruction of a function only. At all other places captures take
 * registers and the stack.
 *
 * Invariants: handlers run with preemption off. They are waited for when the
 * kernel's unregister functions return. A kretprobe that is being unregistered
 * has no name any more, on kernels that keep one (point_of()).
 *
 * Cost: the kernel's: some hundred instructions where it jumps, more for a
 * breakpoint; what ours do is that of any other probe. A kretprobe keeps memory
 * for as many calls as may be in progress (sonde_kretprobe_bytes()), whether
 * they are or not: a handler can't allocate.
 */
#include <linux/ctype.h>
#include <linux/ftrace.h>
#include <linux/kprobes.h>
#include <linux/slab.h>
#include <linux/tracepoint.h>

#include "kmod/items.h"
#include "kmod/probe.h"
#include "kmod/seeing.h"

struct sonde_kprobe {
	struct sonde_point *point;
	struct tracepoint *held; /* by one at an address; or NULL */
	char symbol[SONDE_KMOD_NAME_MAX];
	union {
		struct kprobe at;
		struct kretprobe of;
#ifdef CONFIG_DYNAMIC_FTRACE
		struct ftrace_ops entry;
#endif
	};
};

static struct sonde_kprobe *own(const struct sonde_point *point)
{
	return point->own;
}

/* An idle CPU's last steps, which a kprobe may be put on, aren't waited for by
 * grace periods: there nothing is recorded. Nor are those on the way to user space
 * and guests, where the kernel lets no probe be. */
static __always_inline bool is_watched(void)
{
	return likely(!is_idle_task(current)) || rcu_is_watching();
}

static __always_inline void each_event(const struct sonde_point *point,
				       const struct sonde_site *site)
{
	const struct sonde_event *event;

	if (unlikely(!is_watched()))
		return;
	preempt_disable_notrace();
	list_for_each_entry_lockless(event, &point->events, in_point)
	{
		if (sonde_event_wants(event))
			sonde_event_capture(event, site);
	}
	preempt_enable_notrace();
}

/* As many as are captured, which no call of an event finds to be more. */
static __always_inline u32 get_args(const struct sonde_point *point,
				    struct pt_regs *regs, u64 *args)
{
	u32 nr = READ_ONCE(point->nr_args);

	for (u32 i = 0; i < nr; i++)
		args[i] = regs_get_kernel_argument(regs, i);
	return nr;
}

/* ---- what the name says ---- */

static bool is_symbol(const char *name)
{
	if (!*name)
		return false;
	for (; *name; name++) {
		if (!isalnum(*name) && !strchr("_.:$", *name))
			return false;
	}
	return true;
}

/* "symbol" or "symbol+offset". */
static int parse(struct sonde_kprobe *kprobe, const char *name,
		 unsigned int *ret_offset)
{
	char *plus;

	strscpy(kprobe->symbol, name, sizeof(kprobe->symbol));
	plus = strchr(kprobe->symbol, '+');
	*ret_offset = 0;
	if (plus && (kprobe->point->type != SONDE_KMOD_KPROBE ||
		     kstrtouint(plus + 1, 0, ret_offset)))
		return -EINVAL;
	if (plus)
		*plus = 0;
	return is_symbol(kprobe->symbol) ? 0 : -EINVAL;
}

/* ---- kprobes ---- */

notrace unsigned int sonde_kprobe_always(const void *from,
					 const struct bpf_insn *code)
{
	return SONDE_SEEN_VALUE;
}
NOKPROBE_SYMBOL(sonde_kprobe_always);

#ifdef CONFIG_KPROBES
/* What filters of kprobes see: capture.h. */
static __always_inline const u64 *words_of(const struct pt_regs *regs)
{
	return (const u64 *)regs;
}

/* Its condition met memory that can't be read. */
static noinline notrace void kprobe_faulted(const struct sonde_event *event)
{
	if (event->count && sonde_event_wants(event))
		this_cpu_inc(event->count->faults);
}

/* A condition is asked before anything else, so whether who runs is to be recorded
 * isn't known yet; that matters only where rejected ones are counted: of one at an
 * address, not. */
static notrace bool kprobe_rejects(const struct sonde_event *event,
				   const u64 *words)
{
	u32 verdict;

	if (!event->filter)
		return false;
	if (!event->items) {
		if (!sonde_filter_rejects(event->filter, words))
			return false;
		if (unlikely(event->counts_rejected) &&
		    sonde_event_wants(event))
			sonde_event_filtered(event);
		return true;
	}
	verdict = sonde_filter_verdict(event->filter, words);
	if (verdict == SONDE_SEEN_FAULT)
		kprobe_faulted(event);
	return verdict != SONDE_SEEN_VALUE;
}

/* The stack's are found by the kernel. */
static __always_inline u64 word_of_arg(const u64 *words, u32 index)
{
	return likely(index < ARRAY_SIZE(sonde_arg_words)) ?
		       words[sonde_arg_words[index]] :
		       regs_get_kernel_argument((struct pt_regs *)words, index);
}

/* Any other, by the arguments in a row. */
static noinline notrace void record_kprobe_any(const struct sonde_point *point,
					       const struct sonde_event *event,
					       struct pt_regs *regs)
{
	u64 args[SONDE_ARGS_MAX] = { 0 };
	const struct sonde_site site = {
		.args = args,
		.nr_args = get_args(point, regs, args),
		.regs = regs,
	};

	sonde_event_record(event, &site);
}

/* All events; but `passed`, or NULL, has been asked already. */
static noinline notrace void record_kprobe(const struct sonde_point *point,
					   const struct sonde_event *passed,
					   struct pt_regs *regs)
{
	const struct sonde_event *event;

	list_for_each_entry_lockless(event, &point->events, in_point)
	{
		if (event != passed && kprobe_rejects(event, words_of(regs)))
			continue;
		if (!sonde_event_wants(event))
			continue;
		if (likely(sonde_event_is_plain(event)))
			sonde_event_record_plain(event, word_of_arg,
						 words_of(regs));
		else if (event->items)
			sonde_items_record(event, regs);
		else
			record_kprobe_any(point, event, regs);
	}
}

/* The usual case is one event, whose condition is machine code and false, which
 * nobody counts. The kernel calls this with preemption off. */
static notrace int on_kprobe(struct kprobe *at, struct pt_regs *regs)
{
	const struct sonde_point *point =
		container_of(at, struct sonde_kprobe, at)->point;
	const struct sonde_event *only;
	u32 verdict;

	if (unlikely(!is_watched()))
		return 0;
	/* Pairs with smp_store_release() in set_only(): it is complete. */
	only = smp_load_acquire(&point->only);
	if (likely(only)) {
		verdict = only->run(words_of(regs), only->code);
		if (!verdict)
			return 0;
		if (unlikely(verdict == SONDE_SEEN_FAULT)) {
			kprobe_faulted(only);
			return 0;
		}
		/* It is the only one, and need not be looked for in the list. */
		if (only->items) {
			if (sonde_event_wants(only))
				sonde_items_record(only, regs);
			return 0;
		}
	}
	record_kprobe(point, only, regs);
	return 0;
}
NOKPROBE_SYMBOL(on_kprobe);

static int attach_kprobe(struct sonde_kprobe *kprobe, unsigned int offset)
{
	kprobe->at = (struct kprobe){
		.symbol_name = kprobe->symbol,
		.offset = offset,
		.pre_handler = on_kprobe,
	};
	return register_kprobe(&kprobe->at);
}

/* What keeps a tracepoint on, so that its site's code is come to. */
static notrace void on_held(void *data)
{
}

static int hold_tracepoint(struct sonde_kprobe *kprobe)
{
	struct tracepoint *tracepoint;
	int err;

	if (!kprobe->point->name[0])
		return 0;
	tracepoint = sonde_tracepoint_find(kprobe->point->name);
	if (!tracepoint)
		return -ENOENT;
	if (SONDE_CALLS_ARE_CHECKED)
		return -EOPNOTSUPP;
	err = tracepoint_probe_register(tracepoint, on_held, kprobe);
	if (!err)
		kprobe->held = tracepoint;
	return err;
}

static void let_go(struct sonde_kprobe *kprobe)
{
	if (kprobe->held) /* it is registered, so this can't fail */
		(void)tracepoint_probe_unregister(kprobe->held, on_held,
						  kprobe);
	kprobe->held = NULL;
}

static int attach_at_address(struct sonde_kprobe *kprobe)
{
	int err;

	kprobe->at = (struct kprobe){
		.addr = (void *)(unsigned long)kprobe->point->address,
		.pre_handler = on_kprobe,
	};
	err = register_kprobe(&kprobe->at);
	if (err)
		return err;
	err = hold_tracepoint(kprobe);
	if (err)
		unregister_kprobe(&kprobe->at);
	return err;
}

static void detach_kprobes(struct sonde_point *const *points, u32 nr)
{
	struct kprobe *all[SONDE_DETACH_MAX];

	for (u32 i = 0; i < nr; i++) {
		let_go(own(points[i]));
		all[i] = &own(points[i])->at;
	}
	unregister_kprobes(all, (int)nr);
}

static u32 missed_kprobe(const struct sonde_kprobe *kprobe)
{
	return (u32)READ_ONCE(kprobe->at.nmissed);
}
#else
static int attach_kprobe(struct sonde_kprobe *kprobe, unsigned int offset)
{
	return -EOPNOTSUPP;
}

static void let_go(struct sonde_kprobe *kprobe)
{
}

static void detach_kprobes(struct sonde_point *const *points, u32 nr)
{
}

static u32 missed_kprobe(const struct sonde_kprobe *kprobe)
{
	return 0;
}
#endif

/* ---- kretprobes ---- */

#ifdef CONFIG_KRETPROBES
struct kept {
	u64 args[SONDE_ARGS_MAX];
	u32 nr;
};

/*
 * NULL: it is being unregistered. Where kretprobes have no rethook (arm64's, for
 * one), the kernel takes the name away while handlers run, and looks for itself
 * whether there is one, but before it calls us. Nothing is lost by leaving then:
 * a point's events have all gone before it is detached.
 */
static notrace const struct sonde_point *
point_of(struct kretprobe_instance *instance)
{
	struct kretprobe *of = get_kretprobe(instance);

	return of ? container_of(of, struct sonde_kprobe, of)->point : NULL;
}

static notrace int on_call(struct kretprobe_instance *instance,
			   struct pt_regs *regs)
{
	const struct sonde_point *point = point_of(instance);
	struct kept *kept = (struct kept *)instance->data;

	if (unlikely(!point))
		return 1; /* this call's return is nobody's */
	kept->nr = get_args(point, regs, kept->args);
	return 0;
}
NOKPROBE_SYMBOL(on_call);

static notrace int on_return(struct kretprobe_instance *instance,
			     struct pt_regs *regs)
{
	const struct sonde_point *point = point_of(instance);
	const struct kept *kept = (const struct kept *)instance->data;
	u64 args[SONDE_WORDS_MAX] = { 0 };
	const struct sonde_site site = {
		.args = args,
		.nr_args = kept->nr,
		.result = regs_return_value(regs),
		.regs = regs,
	};

	if (unlikely(!point))
		return 0;
	/* An event that came after the call may capture more: zeros. */
	memcpy(args, kept->args, kept->nr * sizeof(*args));
	args[SONDE_WORD_RESULT] = site.result;
	each_event(point, &site);
	return 0;
}
NOKPROBE_SYMBOL(on_return);

static u32 returns(u32 number)
{
	return number ? number : SONDE_KMOD_RETURNS;
}

u64 sonde_kretprobe_bytes(u32 number)
{
	return (u64)returns(number) *
	       (sizeof(struct kretprobe_instance) + sizeof(struct kept));
}

/* The kernel's own choice of maxactive is twice the number of CPUs, which is
 * enough for functions that don't sleep. */
static int attach_kretprobe(struct sonde_kprobe *kprobe)
{
	kprobe->of = (struct kretprobe){
		.kp.symbol_name = kprobe->symbol,
		.entry_handler = on_call,
		.handler = on_return,
		.maxactive = (int)returns(kprobe->point->number),
		.data_size = sizeof(struct kept),
	};
	return register_kretprobe(&kprobe->of);
}

static void detach_kretprobes(struct sonde_point *const *points, u32 nr)
{
	struct kretprobe *all[SONDE_DETACH_MAX];

	for (u32 i = 0; i < nr; i++)
		all[i] = &own(points[i])->of;
	unregister_kretprobes(all, (int)nr);
}

static struct sonde_misses missed_kretprobe(const struct sonde_kprobe *kprobe)
{
	return (struct sonde_misses){
		.calls = (u32)READ_ONCE(kprobe->of.kp.nmissed),
		.returns = (u32)READ_ONCE(kprobe->of.nmissed),
	};
}
#else
u64 sonde_kretprobe_bytes(u32 number)
{
	return 0;
}

static int attach_kretprobe(struct sonde_kprobe *kprobe)
{
	return -EOPNOTSUPP;
}

static void detach_kretprobes(struct sonde_point *const *points, u32 nr)
{
}

static struct sonde_misses missed_kretprobe(const struct sonde_kprobe *kprobe)
{
	return (struct sonde_misses){ .calls = 0 };
}
#endif

/* ---- functions ---- */

/* Registers, all of them or those of arguments only, are what kernels differ
 * in. */
#if defined(CONFIG_DYNAMIC_FTRACE_WITH_REGS)
#define HAS_FUNCTIONS 1
#define FLAGS \
	(FTRACE_OPS_FL_SAVE_REGS | FTRACE_OPS_FL_RECURSION | FTRACE_OPS_FL_RCU)

static __always_inline struct pt_regs *get_site(const struct sonde_point *point,
						struct ftrace_regs *fregs,
						u64 *args, u32 *ret_nr)
{
	struct pt_regs *regs = ftrace_get_regs(fregs);

	*ret_nr = regs ? get_args(point, regs, args) : 0;
	return regs;
}
#elif defined(CONFIG_DYNAMIC_FTRACE_WITH_ARGS)
#define HAS_FUNCTIONS 1
#define FLAGS         (FTRACE_OPS_FL_RECURSION | FTRACE_OPS_FL_RCU)

static __always_inline struct pt_regs *get_site(const struct sonde_point *point,
						struct ftrace_regs *fregs,
						u64 *args, u32 *ret_nr)
{
	u32 nr = READ_ONCE(point->nr_args);

	for (u32 i = 0; i < nr; i++)
		args[i] = ftrace_regs_get_argument(fregs, i);
	*ret_nr = nr;
	return NULL;
}
#endif

#ifdef HAS_FUNCTIONS
static notrace void on_entry(unsigned long ip, unsigned long parent,
			     struct ftrace_ops *entry,
			     struct ftrace_regs *fregs)
{
	const struct sonde_point *point =
		container_of(entry, struct sonde_kprobe, entry)->point;
	u64 args[SONDE_ARGS_MAX] = { 0 };
	struct sonde_site site = { .args = args };

	site.regs = get_site(point, fregs, args, &site.nr_args);
	each_event(point, &site);
}
NOKPROBE_SYMBOL(on_entry);

static int attach_function(struct sonde_kprobe *kprobe)
{
	int err;

	kprobe->entry = (struct ftrace_ops){ .func = on_entry, .flags = FLAGS };
	/* The name has no wildcards: is_symbol(). */
	err = ftrace_set_filter(&kprobe->entry, (unsigned char *)kprobe->symbol,
				(int)strlen(kprobe->symbol), 1);
	if (err)
		return err == -EINVAL ? -ENOENT : err;
	err = register_ftrace_function(&kprobe->entry);
	if (err)
		ftrace_free_filter(&kprobe->entry);
	return err;
}

static void detach_functions(struct sonde_point *const *points, u32 nr)
{
	for (u32 i = 0; i < nr; i++) {
		struct ftrace_ops *entry = &own(points[i])->entry;

		/* It is registered, so this can't fail. */
		(void)unregister_ftrace_function(entry);
		ftrace_free_filter(entry);
	}
}
#else
static int attach_function(struct sonde_kprobe *kprobe)
{
	return -EOPNOTSUPP;
}

static void detach_functions(struct sonde_point *const *points, u32 nr)
{
}
#endif

/* ---- points ---- */

static int attach(struct sonde_kprobe *kprobe)
{
	unsigned int offset;
	int err;

#ifdef CONFIG_KPROBES
	if (kprobe->point->address)
		return attach_at_address(kprobe);
#endif
	err = parse(kprobe, kprobe->point->name, &offset);
	if (err)
		return err;
	if (kprobe->point->type == SONDE_KMOD_KPROBE)
		return attach_kprobe(kprobe, offset);
	return kprobe->point->type == SONDE_KMOD_KRETPROBE ?
		       attach_kretprobe(kprobe) :
		       attach_function(kprobe);
}

int sonde_kprobe_attach(struct sonde_point *point)
{
	struct sonde_kprobe *kprobe =
		kzalloc(sizeof(*kprobe), GFP_KERNEL_ACCOUNT);
	int err;

	if (!kprobe)
		return -ENOMEM;
	kprobe->point = point;
	err = attach(kprobe);
	if (err)
		kfree(kprobe);
	else
		point->own = kprobe;
	return err;
}

void sonde_kprobes_detach(struct sonde_point *const *points, u32 nr)
{
	if (points[0]->type == SONDE_KMOD_KPROBE)
		detach_kprobes(points, nr);
	else if (points[0]->type == SONDE_KMOD_KRETPROBE)
		detach_kretprobes(points, nr);
	else
		detach_functions(points, nr);
}

void sonde_kprobe_let_go(const struct sonde_point *point,
			 const struct module *module)
{
	struct sonde_kprobe *kprobe = own(point);

	if (kprobe && kprobe->held &&
	    sonde_tracepoint_find_in(module, point->name) == kprobe->held)
		let_go(kprobe);
}

struct sonde_misses sonde_kprobe_misses(const struct sonde_point *point)
{
	if (point->type == SONDE_KMOD_KRETPROBE)
		return missed_kretprobe(own(point));
	return (struct sonde_misses){ .calls = missed_kprobe(own(point)) };
}
