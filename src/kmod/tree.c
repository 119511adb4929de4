// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * tree.c - who is in a session's tree: a process and who descends from it.
 *
 * A tree is a set of tasks, by address. It is a table of NR_BUCKETS lines of
 * SLOTS addresses; a task is in the line that its address is hashed to, or
 * nowhere: then it was counted, and is not followed. Each tree is in a list
 * that the two tracepoints below go through:
 *
 *	sched_process_fork	a child of a task in the tree is put there
 *	sched_process_free	a task is taken out
 *
 * ## Invariants
 *
 *  1. An address is in the table only between the task's birth and
 *     sched_process_free, after which the memory may become another task's: so
 *     what is found is that task.
 *  2. Slots are set by compare-and-swap from 0, and cleared by who frees the
 *     task. Nobody waits; readers look at one line and nothing else.
 *  3. Who was there before the tree was: the walk (fill) runs after the
 *     tracepoints see the tree, in an RCU reader. A task that it finds is freed
 *     a grace period later at least, so sched_process_free comes after it. A
 *     task may be put there by the walk and by its birth at once, in two slots:
 *     whoever takes it out clears both.
 *  4. A child that is born during the walk of a parent that the walk has not
 *     come to is found by the second walk, by which time all its living
 *     ancestors are known.
 *
 * Cost: a look-up of some twenty instructions. Putting in takes a compare-and-
 * swap with LOCK: in fork, not in any event's probe.
 */
#include <linux/hash.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/tracepoint.h>
#include <linux/vmalloc.h>
#include <trace/events/sched.h>

#include "kmod/probe.h"

#define SLOTS       8u
#define BUCKET_BITS 13
#define NR_BUCKETS  (1u << BUCKET_BITS)

struct bucket {
	const struct task_struct *slot[SLOTS];
} __aligned(64);

struct sonde_tree {
	struct list_head in_trees; /* RCU */
	atomic64_t lost;
	struct bucket *buckets;
};

static LIST_HEAD(trees); /* changed under sonde_control, as are these */
static struct tracepoint *fork_point;
static struct tracepoint *free_point;

static __always_inline struct bucket *bucket_of(const struct sonde_tree *tree,
						const struct task_struct *task)
{
	return &tree->buckets[hash_ptr(task, BUCKET_BITS)];
}

notrace bool sonde_tree_has(const struct sonde_tree *tree,
			    const struct task_struct *task)
{
	const struct bucket *bucket = bucket_of(tree, task);

	for (u32 i = 0; i < SLOTS; i++) {
		if (READ_ONCE(bucket->slot[i]) == task)
			return true;
	}
	return false;
}

static notrace void tree_put(struct sonde_tree *tree,
			     const struct task_struct *task)
{
	struct bucket *bucket = bucket_of(tree, task);

	for (u32 i = 0; i < SLOTS; i++) {
		const struct task_struct *was = READ_ONCE(bucket->slot[i]);

		if (!was)
			was = cmpxchg(&bucket->slot[i], NULL, task);
		if (!was || was == task)
			return;
	}
	atomic64_inc(&tree->lost);
}

static notrace void tree_take(struct sonde_tree *tree,
			      const struct task_struct *task)
{
	struct bucket *bucket = bucket_of(tree, task);

	for (u32 i = 0; i < SLOTS; i++) {
		if (READ_ONCE(bucket->slot[i]) == task)
			WRITE_ONCE(bucket->slot[i], NULL);
	}
}

/* ---- tracepoints ---- */

static notrace void on_fork(void *data, struct task_struct *parent,
			    struct task_struct *child)
{
	struct sonde_tree *tree;

	sonde_probe_begin();
	list_for_each_entry_lockless(tree, &trees, in_trees)
	{
		if (sonde_tree_has(tree, parent))
			tree_put(tree, child);
	}
	sonde_probe_end();
}

static notrace void on_free(void *data, struct task_struct *task)
{
	struct sonde_tree *tree;

	sonde_probe_begin();
	list_for_each_entry_lockless(tree, &trees, in_trees)
		tree_take(tree, task);
	sonde_probe_end();
}

static int follow_tasks(void)
{
	int err;

	/* The kernel's headers say that the prototypes are as they were. */
	check_trace_callback_type_sched_process_fork(on_fork);
	check_trace_callback_type_sched_process_free(on_free);
	fork_point = sonde_tracepoint_find("sched_process_fork");
	free_point = sonde_tracepoint_find("sched_process_free");
	if (!fork_point || !free_point)
		return -EOPNOTSUPP;
	err = tracepoint_probe_register(free_point, on_free, NULL);
	if (err)
		return err;
	err = tracepoint_probe_register(fork_point, on_fork, NULL);
	if (err) /* it was registered with just that */
		(void)tracepoint_probe_unregister(free_point, on_free, NULL);
	return err;
}

/* ---- the tree as it is ---- */

static bool descends(const struct task_struct *task,
		     const struct task_struct *root)
{
	for (; task && task != &init_task;
	     task = rcu_dereference(task->real_parent)->group_leader) {
		if (task == root)
			return true;
	}
	return false;
}

static void walk(struct sonde_tree *tree, const struct task_struct *root)
{
	struct task_struct *process;
	struct task_struct *thread;

	for_each_process(process)
	{
		if (!descends(process, root))
			continue;
		for_each_thread(process, thread) tree_put(tree, thread);
	}
}

static int fill(struct sonde_tree *tree, pid_t pid)
{
	const struct task_struct *root;

	rcu_read_lock();
	root = pid_task(find_vpid(pid), PIDTYPE_TGID);
	if (root) {
		walk(tree, root);
		walk(tree, root);
	}
	rcu_read_unlock();
	return root ? 0 : -ESRCH;
}

/* ---- life ---- */

static struct sonde_tree *tree_new(void)
{
	struct sonde_tree *tree = kzalloc(sizeof(*tree), GFP_KERNEL_ACCOUNT);

	if (!tree)
		return NULL;
	tree->buckets = __vmalloc(array_size(NR_BUCKETS, sizeof(struct bucket)),
				  GFP_KERNEL_ACCOUNT | __GFP_ZERO);
	if (!tree->buckets) {
		kfree(tree);
		return NULL;
	}
	return tree;
}

/* Seen by the tracepoints, the first tree brings them. */
static int tree_list(struct sonde_tree *tree)
{
	int err = 0;

	if (mutex_lock_killable(&sonde_control))
		return -EINTR;
	if (list_empty(&trees))
		err = follow_tasks();
	if (!err)
		list_add_rcu(&tree->in_trees, &trees);
	mutex_unlock(&sonde_control);
	return err;
}

int sonde_tree_make(pid_t pid, struct sonde_tree **ret_tree)
{
	struct sonde_tree *tree;
	int err;

	if (pid <= 0)
		return -EINVAL;
	tree = tree_new();
	if (!tree)
		return -ENOMEM;
	err = tree_list(tree);
	if (err) {
		vfree(tree->buckets);
		kfree(tree);
		return err;
	}
	/* Who forks from now on sees the tree. */
	tracepoint_synchronize_unregister();
	err = fill(tree, pid);
	if (err)
		sonde_tree_free(tree);
	else
		*ret_tree = tree;
	return err;
}

void sonde_tree_free(struct sonde_tree *tree)
{
	if (!tree)
		return;
	mutex_lock(&sonde_control);
	list_del_rcu(&tree->in_trees);
	if (list_empty(&trees)) {
		/* Both are registered, so they can be unregistered. */
		(void)tracepoint_probe_unregister(fork_point, on_fork, NULL);
		(void)tracepoint_probe_unregister(free_point, on_free, NULL);
	}
	mutex_unlock(&sonde_control);
	tracepoint_synchronize_unregister();
	vfree(tree->buckets);
	kfree(tree);
}

u64 sonde_tree_bytes(void)
{
	return sizeof(struct sonde_tree) + NR_BUCKETS * sizeof(struct bucket);
}

u64 sonde_tree_lost(const struct sonde_tree *tree)
{
	return (u64)atomic64_read(&tree->lost);
}
