/* SPDX-License-Identifier: MIT */
/*
 * names.c - threads, interrupts and devices by number, and the texts that they
 * are called by.
 *
 * A thread is made by whoever first names its number, with everything but the
 * number unknown; a text is kept once for the life of the state. Each look is
 * one in a hash table.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analysis/model/state.h"

/* Any thread, not yet or no longer known to be where it lately was. */
static struct sonde_model_thread *put_model_thread(struct sonde_model *kernel,
						   int32_t tid)
{
	struct sonde_key key = sonde_key_of_tid(tid);
	size_t before = kernel->threads.nr_entries;
	struct sonde_model_thread *thread =
		sonde_model_put(kernel, &kernel->threads, &key);

	if (!thread)
		return NULL;
	kernel->places[(uint32_t)tid % SONDE_MODEL_PLACES] =
		sonde_hash_place(&kernel->threads, thread);
	if (kernel->threads.nr_entries != before) {
		thread->cpu = -1;
		thread->waker = -1;
		thread->fd = -1;
		thread->ppid = -1;
		thread->holder = -1;
	}
	return thread;
}

static void *find_thread_lately(const struct sonde_model *kernel, int32_t tid)
{
	return sonde_hash_at(&kernel->threads,
			     kernel->places[(uint32_t)tid % SONDE_MODEL_PLACES],
			     (uint64_t)(int64_t)tid);
}

struct sonde_model_thread *sonde_model_thread(struct sonde_model *kernel,
					      int32_t tid)
{
	struct sonde_model_thread *thread = find_thread_lately(kernel, tid);

	return thread ? thread : put_model_thread(kernel, tid);
}

const struct sonde_model_thread *
sonde_model_thread_find(const struct sonde_model *kernel, int32_t tid)
{
	const struct sonde_model_thread *thread =
		find_thread_lately(kernel, tid);
	struct sonde_key key = sonde_key_of_tid(tid);

	return thread ? thread : sonde_hash_get(&kernel->threads, &key);
}

static const char *put_model_text(struct sonde_model *kernel, const char *text,
				  size_t length)
{
	struct sonde_key key = sonde_key_of_text(text, length);
	struct sonde_model_text *entry =
		sonde_model_put(kernel, &kernel->texts, &key);

	return entry ? entry->key.text : NULL;
}

/* A short text's bytes, some of them twice: of one length, others for each text. */
static void load_short_text(const char *text, size_t length, uint64_t words[2])
{
	uint32_t low;
	uint32_t high;

	if (length >= 8) {
		memcpy(&words[0], text, 8);
		memcpy(&words[1], text + length - 8, 8);
	} else if (length >= 4) {
		memcpy(&low, text, 4);
		memcpy(&high, text + length - 4, 4);
		words[0] = low;
		words[1] = high;
	} else {
		memcpy(words, text, length);
	}
}

const char *sonde_model_text(struct sonde_model *kernel, const char *text,
			     size_t length)
{
	uint64_t words[2] = { 0, 0 };
	struct sonde_model_lately *lately;

	if (!text)
		return NULL;
	if (length > sizeof(words))
		return put_model_text(kernel, text, length);
	load_short_text(text, length, words);
	lately = &kernel->lately[(words[0] ^ words[1] * 7) *
					 UINT64_C(0x9e3779b97f4a7c15) >>
				 58];
	if (lately->text && lately->length == length &&
	    lately->words[0] == words[0] && lately->words[1] == words[1])
		return lately->text;
	*lately = (struct sonde_model_lately){
		.words = { words[0], words[1] },
		.text = put_model_text(kernel, text, length),
		.length = (uint32_t)length,
	};
	return lately->text;
}

static void model_set_text(char *to, size_t size, const char *text,
			   size_t length)
{
	if (length >= size)
		length = size - 1;
	memcpy(to, text, length);
	to[length] = 0;
}

void sonde_model_thread_set_name(struct sonde_model *kernel,
				 const struct sonde_step *step,
				 struct sonde_model_thread *thread,
				 const char *text, size_t length)
{
	char name[sizeof(thread->name)];

	if (!text || (length < sizeof(name) && !thread->name[length] &&
		      !memcmp(text, thread->name, length)))
		return;
	model_set_text(name, sizeof(name), text, length);
	if (!strcmp(name, thread->name))
		return;
	memcpy(thread->name, name, sizeof(name));
	if (kernel->ops->name)
		kernel->ops->name(kernel->sink, (int32_t)thread->key.number,
				  step->time_ns, name);
}

void sonde_model_set_name(struct sonde_model *kernel, uint64_t number,
			  uint32_t space, const struct sonde_step *step)
{
	struct sonde_key key = sonde_key_make(SONDE_KEY_UINT, number, space);
	struct sonde_model_name *name;

	if (!step->texts[0])
		return;
	name = sonde_model_put(kernel, &kernel->names, &key);
	if (name)
		model_set_text(name->text, sizeof(name->text), step->texts[0],
			       step->lengths[0]);
}

static const char *find_name(const struct sonde_model *kernel, uint64_t number,
			     uint32_t space)
{
	struct sonde_key key = sonde_key_make(SONDE_KEY_UINT, number, space);
	const struct sonde_model_name *name =
		sonde_hash_get(&kernel->names, &key);

	return name ? name->text : "";
}

const char *sonde_model_thread_name(const struct sonde_model *kernel,
				    int32_t tid)
{
	const struct sonde_model_thread *thread =
		sonde_model_thread_find(kernel, tid);

	if (tid == 0)
		return "idle";
	return thread ? thread->name : "";
}

int32_t sonde_model_thread_pid(const struct sonde_model *kernel, int32_t tid)
{
	const struct sonde_model_thread *thread =
		sonde_model_thread_find(kernel, tid);

	return thread && thread->has_pid ? thread->pid : tid;
}

int32_t sonde_model_known_pid(const struct sonde_model *kernel, int32_t tid)
{
	const struct sonde_model_thread *thread =
		sonde_model_thread_find(kernel, tid);

	if (tid == 0)
		return 0;
	return thread && thread->has_pid ? thread->pid : -1;
}

int32_t sonde_model_thread_ppid(const struct sonde_model *kernel, int32_t tid)
{
	const struct sonde_model_thread *thread =
		sonde_model_thread_find(kernel, tid);

	return thread ? thread->ppid : -1;
}

const char *sonde_model_irq_name(const struct sonde_model *kernel,
				 uint32_t number)
{
	return find_name(kernel, number, 0);
}

void sonde_model_device_name(const struct sonde_model *kernel, uint32_t device,
			     char *name, size_t size)
{
	const char *known = find_name(kernel, device, 1);

	/* The kernel's own form of device numbers: 12 bits and 20. */
	if (*known)
		(void)snprintf(name, size, "%s", known);
	else
		(void)snprintf(name, size, "%" PRIu32 ":%" PRIu32, device >> 20,
			       device & 0xfffff);
}
