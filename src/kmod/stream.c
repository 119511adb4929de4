// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * stream.c - a channel's rings: their memory, and how user space reads them.
 *
 * ## Memory
 *
 * There is a ring for every possible CPU from the beginning, on that CPU's
 * node: a CPU that comes later finds its ring, one that goes leaves it
 * readable, and hotplug needs nobody's attention. Pages are allocated one by one and
 * mapped side by side in the kernel: so they are there, and so are the page
 * tables, and a probe never faults. (64-bit kernels share the upper levels of
 * the vmalloc area's tables among all processes.) They are zeroed, charged to
 * who opened the channel, and allocated without calling for the killer of
 * processes.
 *
 * User space maps `data`: memory 0 first, the spare's last; sub-buffers are
 * whole pages. It can't be made writable, ever. Such a mapping doesn't hold
 * pages but the descriptor, which holds the channel.
 *
 * ## Reading
 *
 *	GET	(1: a chunk, 0: nothing now)
 *	...	read it in the mapping
 *	PUT	of what GET gave last
 *
 * A stream has one reader: `lock` makes any number of threads and descriptors
 * into one.
 *
 * Nobody is woken: a reader asks when it has time to.
 */
#include <linux/cpu.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/topology.h>
#include <linux/version.h>
#include <linux/vmalloc.h>

#include "kmod/sonde.h"

/* Where positions start: tests have them overflow soon. */
#ifndef SONDE_LOCAL_START
#define SONDE_LOCAL_START 0ull
#endif

struct sonde_stream {
	struct sonde_channel *channel; /* held by descriptors */
	struct sonde_local_ring *ring;
	struct sonde_local_subbuf *subbufs;
	struct page **pages;
	u32 nr_pages;
	u32 cpu;
	/* The reader. */
	struct mutex lock;
	struct sonde_local_chunk chunk;
	bool has_chunk;
};

/* ---- what differs between kernels ---- */

/* Flags of mappings became private in 6.3. */
static void mapping_is_for_reading(struct vm_area_struct *vma)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 3, 0)
	vm_flags_mod(vma, VM_DONTEXPAND | VM_DONTDUMP,
		     VM_MAYWRITE | VM_MAYEXEC);
#else
	vma->vm_flags &= ~(unsigned long)(VM_MAYWRITE | VM_MAYEXEC);
	vma->vm_flags |= VM_DONTEXPAND | VM_DONTDUMP;
#endif
}

/* ---- a stream's memory ---- */

static void pages_free(struct page **pages, u32 nr_pages)
{
	u32 i;

	for (i = 0; i < nr_pages; i++) {
		__free_page(pages[i]);
		if (!(i % 4096))
			cond_resched();
	}
	kvfree(pages);
}

/* 0, -ENOMEM or -EINTR. */
static int pages_make(struct sonde_stream *stream, u32 nr_pages)
{
	gfp_t how = GFP_KERNEL_ACCOUNT | __GFP_ZERO | __GFP_RETRY_MAYFAIL |
		    __GFP_NOWARN;
	int node = cpu_to_node((int)stream->cpu);

	stream->pages =
		kvcalloc(nr_pages, sizeof(*stream->pages), GFP_KERNEL_ACCOUNT);
	if (!stream->pages)
		return -ENOMEM;
	for (; stream->nr_pages < nr_pages; stream->nr_pages++) {
		struct page *page = alloc_pages_node(node, how, 0);

		if (!page)
			return -ENOMEM;
		stream->pages[stream->nr_pages] = page;
		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
	}
	return 0;
}

/* Copes with one that is half made. */
static void stream_free(struct sonde_stream *stream)
{
	if (!stream)
		return;
	if (stream->ring && stream->ring->data)
		vunmap(stream->ring->data);
	if (stream->pages)
		pages_free(stream->pages, stream->nr_pages);
	kvfree(stream->subbufs);
	kfree(stream);
}

static int stream_make_ring(struct sonde_stream *stream)
{
	struct sonde_channel *channel = stream->channel;
	u64 lap = (u64)channel->subbuf_bytes * channel->nr_subbufs;
	u64 bytes = lap + channel->subbuf_bytes;
	void *data;
	int rc = pages_make(stream, (u32)(bytes >> PAGE_SHIFT));

	if (rc)
		return rc;
	stream->subbufs =
		kvcalloc(channel->nr_subbufs, sizeof(*stream->subbufs),
			 GFP_KERNEL_ACCOUNT);
	if (!stream->subbufs)
		return -ENOMEM;
	data = vmap(stream->pages, stream->nr_pages, VM_MAP, PAGE_KERNEL);
	if (!data)
		return -ENOMEM;
	sonde_local_init(stream->ring, data, stream->subbufs,
			 channel->subbuf_bytes, channel->nr_subbufs,
			 (enum sonde_ring_mode)channel->mode,
			 SONDE_LOCAL_START & ~(lap - 1));
	stream->ring->clock = channel->clock;
	return 0;
}

static int stream_make(struct sonde_channel *channel, u32 cpu)
{
	struct sonde_stream *stream = kzalloc_node(
		sizeof(*stream), GFP_KERNEL_ACCOUNT, cpu_to_node((int)cpu));

	if (!stream)
		return -ENOMEM;
	stream->channel = channel;
	stream->cpu = cpu;
	stream->ring = per_cpu_ptr(channel->rings, cpu);
	mutex_init(&stream->lock);
	channel->streams[cpu] = stream;
	return stream_make_ring(stream);
}

int sonde_streams_make(struct sonde_channel *channel)
{
	int rc = 0;
	int cpu;

	/* Don't drive the machine to where others have to fail. */
	if (sonde_channel_bytes(channel) >> PAGE_SHIFT > si_mem_available())
		return -ENOMEM;
	channel->streams = kcalloc(nr_cpu_ids, sizeof(struct sonde_stream *),
				   GFP_KERNEL_ACCOUNT);
	channel->rings =
		alloc_percpu_gfp(struct sonde_local_ring, GFP_KERNEL_ACCOUNT);
	if (!channel->streams || !channel->rings)
		return -ENOMEM;
	for_each_possible_cpu(cpu)
	{
		rc = stream_make(channel, (u32)cpu);
		if (rc)
			break;
	}
	return rc;
}

void sonde_streams_quiet(struct sonde_channel *channel)
{
	int cpu;

	for_each_possible_cpu(cpu)
		sonde_local_quiet(per_cpu_ptr(channel->rings, cpu));
}

void sonde_streams_free(struct sonde_channel *channel)
{
	int cpu;

	if (channel->streams)
		for_each_possible_cpu(cpu) stream_free(channel->streams[cpu]);
	kfree(channel->streams);
	free_percpu(channel->rings);
}

/* ---- get and put; the lock is held ---- */

static u64 chunk_offset(const struct sonde_stream *stream)
{
	const struct sonde_local_chunk *chunk = &stream->chunk;

	return (u64)chunk->memory * stream->channel->subbuf_bytes +
	       chunk->offset;
}

static long stream_get(struct sonde_stream *stream, unsigned long arg)
{
	struct sonde_local_chunk *chunk = &stream->chunk;
	struct sonde_kmod_chunk out;
	int rc;

	/* A chunk that was not put is given again, or a longer one. */
	if (!sonde_local_get(stream->ring, chunk))
		return 0;
	stream->has_chunk = true;
	out = (struct sonde_kmod_chunk){
		.bytes = chunk->size,
		.offset = chunk_offset(stream),
		.first = chunk->first,
		.closed = chunk->closed,
		.seq = chunk->seq,
		.ts_begin = chunk->ts_begin,
		.ts_end = chunk->ts_end,
		.events = chunk->events,
		.discarded = chunk->discarded,
	};
	rc = sonde_copy_out(arg, &out, sizeof(out));
	return rc ? rc : 1;
}

static long stream_put(struct sonde_stream *stream, unsigned long arg)
{
	struct sonde_kmod_chunk in;
	int rc = sonde_copy_in(&in, sizeof(in), arg);

	if (rc)
		return rc;
	if (!stream->has_chunk || in.seq != stream->chunk.seq ||
	    in.offset != chunk_offset(stream) || in.bytes != stream->chunk.size)
		return -EINVAL;
	stream->has_chunk = false;
	return sonde_local_put(stream->ring, &stream->chunk) ? 0 : -EINVAL;
}

/* ---- flush ---- */

static void flush_here(void *ring)
{
	sonde_local_flush(ring);
}

static long stream_flush(struct sonde_stream *stream)
{
	int cpu = (int)stream->cpu;
	int rc = 0;

	/* An offline CPU writes nothing, and stays so until we are done. */
	cpus_read_lock();
	if (cpu_online(cpu)) {
		rc = smp_call_function_single(cpu, flush_here, stream->ring, 1);
	} else {
		preempt_disable();
		flush_here(stream->ring);
		preempt_enable();
	}
	cpus_read_unlock();
	return rc;
}

/* ---- accounts ---- */

static long stream_counts(struct sonde_stream *stream, unsigned long arg)
{
	const struct sonde_local_ring *ring = stream->ring;
	struct sonde_kmod_counts out = {
		.delivered = READ_ONCE(ring->delivered),
		.lost_full = READ_ONCE(ring->lost_full),
		.lost_size = READ_ONCE(ring->lost_size),
		.lost_busy = READ_ONCE(ring->lost_busy),
		.overwritten = READ_ONCE(ring->overwritten),
		.lost_damaged = READ_ONCE(ring->lost_damaged),
		.damaged =
			READ_ONCE(ring->damaged) + READ_ONCE(ring->abandoned),
	};

	return sonde_copy_out(arg, &out, sizeof(out));
}

static long stream_do(struct sonde_stream *stream, unsigned int nr,
		      unsigned long arg)
{
	switch (nr) {
	case _IOC_NR(SONDE_KMOD_GET):
		return stream_get(stream, arg);
	case _IOC_NR(SONDE_KMOD_PUT):
		return stream_put(stream, arg);
	case _IOC_NR(SONDE_KMOD_FLUSH):
		return stream_flush(stream);
	case _IOC_NR(SONDE_KMOD_STREAM_COUNTS):
		return stream_counts(stream, arg);
	}
	return -ENOTTY;
}

static long stream_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct sonde_stream *stream = file->private_data;
	long rc;

	if (_IOC_TYPE(cmd) != SONDE_KMOD_IOC)
		return -ENOTTY;
	if (mutex_lock_killable(&stream->lock))
		return -EINTR;
	rc = stream_do(stream, _IOC_NR(cmd), arg);
	mutex_unlock(&stream->lock);
	return rc;
}

/* ---- the mapping ---- */

/* Pages are ordinary ones, so that what is mapped can be written to any file,
 * past the page cache, too. They come when they are touched. */
static vm_fault_t stream_fault(struct vm_fault *vmf)
{
	const struct sonde_stream *stream = vmf->vma->vm_private_data;

	if (vmf->pgoff >= stream->nr_pages)
		return VM_FAULT_SIGBUS;
	vmf->page = stream->pages[vmf->pgoff];
	get_page(vmf->page);
	return 0;
}

static const struct vm_operations_struct stream_vm_ops = {
	.fault = stream_fault,
};

/* The mapping holds the file, which holds the stream. */
static int stream_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct sonde_stream *stream = file->private_data;
	unsigned long nr = vma_pages(vma);

	if (vma->vm_flags & (VM_WRITE | VM_EXEC))
		return -EPERM;
	if (vma->vm_pgoff > stream->nr_pages ||
	    nr > stream->nr_pages - vma->vm_pgoff)
		return -EINVAL;
	mapping_is_for_reading(vma);
	vma->vm_private_data = stream;
	vma->vm_ops = &stream_vm_ops;
	return 0;
}

/* ---- the descriptor ---- */

static int stream_close(struct inode *inode, struct file *file)
{
	struct sonde_stream *stream = file->private_data;

	sonde_channel_put(stream->channel);
	return 0;
}

static const struct file_operations stream_fops = {
	.owner = THIS_MODULE,
	.release = stream_close,
	.unlocked_ioctl = stream_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.mmap = stream_mmap,
	.llseek = noop_llseek,
};

int sonde_stream_open(struct sonde_channel *channel, u32 cpu)
{
	int fd;

	if (cpu >= nr_cpu_ids || !cpu_possible((int)cpu))
		return -EINVAL;
	kref_get(&channel->ref);
	fd = sonde_open_fd("[sonde-stream]", &stream_fops,
			   channel->streams[cpu]);
	if (fd < 0)
		sonde_channel_put(channel);
	return fd;
}
