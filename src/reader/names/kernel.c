/* SPDX-License-Identifier: MIT */
/*
 * kernel.c - see kernel.h. The list is read at the first question, and not
 * changed any more: who finds `is_ready` set may look without a lock.
 *
 * Symbols are by address; what is no code, or is not to be named, is in the list
 * without a name, as the end of what is before it.
 */
#include "reader/names/kernel.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/pool.h"
#include "base/port.h"
#include "base/search.h"
#include "clock/calibrate.h"
#include "reader/names/event.h"
#include "reader/reader.h"
#include "sys/kallsyms.h"

#define SYMBOLS_MAX  ((size_t)1 << 22)
#define MODULE_EVENT "sonde_statedump_module"
#define SYMBOL_EVENT "sonde_statedump_symbol"

struct kernel_symbol {
	uint64_t address;
	size_t order;
	const char *name; /* NULL: what is from there on has none */
	const char *module;
};

struct kernel_list {
	size_t nr, capacity;
	struct kernel_symbol *symbols; /* by address, once it is ready */
};

struct kernel_module {
	uint64_t begin, end;
	const char *name;
};

struct sonde_names_kernel {
	struct sonde_trace *trace;
	struct sonde_pool pool;
	pthread_mutex_t mutex; /* of reading the list */
	bool is_ready, is_followed;
	uint8_t boot[16]; /* of the kernel that runs; or zeros */
	struct kernel_list running;
	size_t nr_sources;            /* freeing comes after the trace's */
	struct kernel_list *recorded; /* by source; empty: it has none */
	size_t nr_modules, modules_capacity;
	struct kernel_module *modules; /* as the trace has them */
	const char *lack;              /* of `running`; NULL: it is there */
	const char *unnamed;           /* as sonde_names_kernel_lack() says */
};

struct sonde_names_kernel *sonde_names_kernel_new(struct sonde_trace *trace)
{
	struct sonde_names_kernel *kernel = calloc(1, sizeof(*kernel));

	if (!kernel)
		return NULL;
	kernel->recorded =
		calloc(trace->nr_sources + 1, sizeof(*kernel->recorded));
	if (!kernel->recorded || pthread_mutex_init(&kernel->mutex, NULL)) {
		free(kernel->recorded);
		free(kernel);
		return NULL;
	}
	kernel->trace = trace;
	kernel->nr_sources = trace->nr_sources;
	sonde_pool_init(&kernel->pool, 0);
	if (sonde_clock_boot_id(kernel->boot))
		memset(kernel->boot, 0, sizeof(kernel->boot));
	return kernel;
}

void sonde_names_kernel_free(struct sonde_names_kernel *kernel)
{
	if (!kernel)
		return;
	(void)pthread_mutex_destroy(&kernel->mutex);
	sonde_pool_fini(&kernel->pool);
	for (size_t i = 0; i < kernel->nr_sources; i++)
		free(kernel->recorded[i].symbols);
	free(kernel->recorded);
	free(kernel->running.symbols);
	free(kernel->modules);
	free(kernel);
}

bool sonde_names_kernel_is(const struct sonde_source *source)
{
	const char *domain = sonde_source_env(source, "domain");

	return domain && !strcmp(domain, "kernel");
}

static int kernel_compare(const void *a, const void *b)
{
	const struct kernel_symbol *left = a;
	const struct kernel_symbol *right = b;

	if (left->address != right->address)
		return left->address < right->address ? -1 : 1;
	return (left->order > right->order) - (left->order < right->order);
}

/* Where the kernel's own code ends: what is behind it is data, most of which is
 * in no list. */
static bool kernel_is_end(const struct kernel_symbol *symbol)
{
	return symbol->name && !*symbol->module &&
	       (!strcmp(symbol->name, "_etext") ||
		!strcmp(symbol->name, "_einittext"));
}

/* False: there is no memory, or too many. */
static bool kernel_add_symbol(struct kernel_list *list,
			      struct kernel_symbol *symbol)
{
	symbol->order = list->nr;
	if (kernel_is_end(symbol))
		symbol->name = NULL;
	if (list->nr == SYMBOLS_MAX ||
	    SONDE_GROW(list->symbols, list->nr, list->capacity))
		return false;
	list->symbols[list->nr++] = *symbol;
	return true;
}

static void kernel_sort(struct kernel_list *list)
{
	if (list->nr)
		qsort(list->symbols, list->nr, sizeof(*list->symbols),
		      kernel_compare);
}

/* ---- what the trace has ---- */

static bool kernel_has_dump(const struct sonde_stream_class *cls)
{
	for (size_t i = 0; cls && i < cls->nr_events; i++)
		if (!strcmp(cls->events[i]->info.name, MODULE_EVENT))
			return true;
	return false;
}

static size_t kernel_source_index(const struct sonde_names_kernel *kernel,
				  const struct sonde_source *source)
{
	size_t i = 0;

	while (i < kernel->trace->nr_sources &&
	       kernel->trace->sources[i] != source)
		i++;
	return i;
}

/* False: there is no memory. */
static bool kernel_take_recorded(struct sonde_names_kernel *kernel,
				 const struct sonde_event *event)
{
	const char *module =
		sonde_names_event_text(event, "module", &kernel->pool);
	struct kernel_symbol symbol = {
		.address = sonde_names_event_number(event, "address"),
		.name = sonde_names_event_text(event, "name", &kernel->pool),
		.module = module ? module : "",
	};

	return !symbol.name || !sonde_names_kernel_has(symbol.address) ||
	       kernel_add_symbol(&kernel->recorded[kernel_source_index(
					 kernel, event->stream->source)],
				 &symbol);
}

/* False: there is no memory. */
static bool kernel_take_module(struct sonde_names_kernel *kernel,
			       const struct sonde_event *event)
{
	struct kernel_module module = {
		.begin = sonde_names_event_number(event, "begin"),
		.end = sonde_names_event_number(event, "end"),
		.name = sonde_names_event_text(event, "name", &kernel->pool),
	};

	if (!module.name)
		return true;
	if (SONDE_GROW(kernel->modules, kernel->nr_modules,
		       kernel->modules_capacity))
		return false;
	kernel->modules[kernel->nr_modules++] = module;
	return true;
}

static void kernel_read_dumps(struct sonde_names_kernel *kernel,
			      const bool *streams)
{
	struct sonde_cursor_options options;
	struct sonde_cursor *cursor;
	const struct sonde_event *event;

	sonde_cursor_options_init(&options);
	options.streams = streams;
	options.unmerged = true;
	if (sonde_cursor_new(kernel->trace, &options, &cursor))
		return;
	while (sonde_cursor_next(cursor, &event) > 0) {
		const char *name = event->cls->info.name;

		if (!strcmp(name, MODULE_EVENT) &&
		    !kernel_take_module(kernel, event))
			break;
		if (!strcmp(name, SYMBOL_EVENT) &&
		    !kernel_take_recorded(kernel, event))
			break;
	}
	sonde_cursor_free(cursor);
}

/* Of what can't be read, for want of memory, no function is named. */
static void kernel_read_trace(struct sonde_names_kernel *kernel)
{
	const struct sonde_trace *trace = kernel->trace;
	bool *streams = calloc(trace->nr_streams + 1, sizeof(*streams));
	bool any = false;

	if (!streams)
		return;
	for (size_t i = 0; i < trace->nr_streams; i++) {
		streams[i] = kernel_has_dump(trace->streams[i]->cls);
		any |= streams[i];
	}
	if (any)
		kernel_read_dumps(kernel, streams);
	free(streams);
	for (size_t i = 0; any && i < trace->nr_sources; i++)
		kernel_sort(&kernel->recorded[i]);
}

/* Which of the running kernel's modules count depends on the dump. */
int sonde_names_kernel_follow(struct sonde_names_kernel *kernel,
			      struct sonde_trace *part)
{
	const size_t nr = kernel->nr_modules;
	struct kernel_list *recorded = kernel->recorded;

	if (part->nr_sources > kernel->nr_sources) {
		recorded =
			realloc(recorded, part->nr_sources * sizeof(*recorded));
		if (!recorded)
			return -ENOMEM;
		memset(&recorded[kernel->nr_sources], 0,
		       (part->nr_sources - kernel->nr_sources) *
			       sizeof(*recorded));
		kernel->recorded = recorded;
		kernel->nr_sources = part->nr_sources;
	}
	kernel->trace = part;
	kernel->is_followed = true;
	kernel_read_trace(kernel);
	if (nr != kernel->nr_modules) {
		kernel->running.nr = 0;
		kernel->is_ready = false;
	}
	return 0;
}

/* Some tens of modules, with some thousand symbols each, one after the other:
 * *at is the one that was found last. */
static bool kernel_was_there(const struct sonde_names_kernel *kernel,
			     const struct sonde_kallsym *symbol, size_t *at)
{
	for (size_t i = 0; i < kernel->nr_modules; i++) {
		size_t k = (*at + i) % kernel->nr_modules;
		const struct kernel_module *module = &kernel->modules[k];

		if (symbol->address >= module->begin &&
		    symbol->address < module->end &&
		    !strcmp(module->name, symbol->module)) {
			*at = k;
			return true;
		}
	}
	return false;
}

/* ---- the list ---- */

/* While it is read. */
struct kernel_reading {
	struct sonde_names_kernel *kernel;
	size_t module;     /* the last one in the trace's list */
	const char *names; /* the name of the last one here */
	bool no_memory;
};

static const char *symbols_text(struct kernel_reading *reading,
				const char *text)
{
	char *copy =
		sonde_pool_text(&reading->kernel->pool, text, strlen(text));

	reading->no_memory |= !copy;
	return copy;
}

static bool kernel_take_symbol(void *ctx, const struct sonde_kallsym *symbol)
{
	struct kernel_reading *reading = ctx;
	struct sonde_names_kernel *kernel = reading->kernel;
	struct kernel_symbol taken = { .address = symbol->address,
				       .module = "" };

	if (!sonde_names_kernel_has(symbol->address))
		return true;
	if (symbol->module &&
	    (!reading->names || strcmp(reading->names, symbol->module) != 0))
		reading->names = symbols_text(reading, symbol->module);
	if (symbol->module)
		taken.module = reading->names;
	if (symbol->is_code &&
	    (!symbol->module ||
	     kernel_was_there(kernel, symbol, &reading->module)))
		taken.name = symbols_text(reading, symbol->name);
	reading->no_memory |= !kernel_add_symbol(&kernel->running, &taken);
	return !reading->no_memory;
}

static void symbols_read(struct sonde_names_kernel *kernel)
{
	struct kernel_reading reading = { .kernel = kernel };
	int rc;

	rc = sonde_kallsyms_each(kernel_take_symbol, &reading);
	if (rc)
		kernel->lack = "/proc/kallsyms can't be read";
	else if (reading.no_memory)
		kernel->lack = "no memory for the kernel's names";
	else if (!kernel->running.nr)
		kernel->lack = "the kernel hides its addresses from this user "
			       "(kptr_restrict): become root";
	else
		kernel_sort(&kernel->running);
}

static void symbols_read_once(struct sonde_names_kernel *kernel)
{
	/* Pairs with sonde_store_release in symbols_read_once: the list is there. */
	if (sonde_load_acquire(&kernel->is_ready))
		return;
	(void)pthread_mutex_lock(&kernel->mutex);
	if (!kernel->is_ready) {
		if (!kernel->is_followed)
			kernel_read_trace(kernel);
		symbols_read(kernel);
	}
	/* Pairs with sonde_load_acquire in symbols_read_once. */
	sonde_store_release(&kernel->is_ready, true);
	(void)pthread_mutex_unlock(&kernel->mutex);
}

/* ---- questions ---- */

/* Whether it was recorded under the kernel that runs now. */
static bool kernel_runs(const struct sonde_names_kernel *kernel,
			const struct sonde_source *source)
{
	static const uint8_t none[16];
	struct sonde_source_info info;

	sonde_source_get_info(source, &info);
	for (size_t i = 0; i < info.nr_clocks; i++)
		if (info.clocks[i].has_uuid &&
		    !memcmp(info.clocks[i].uuid, kernel->boot, 16))
			return memcmp(kernel->boot, none, 16) != 0;
	return false;
}

/* NULL: none is known to be there. */
static const struct kernel_symbol *
kernel_symbol_at(const struct kernel_list *list, uint64_t address)
{
	const struct kernel_symbol *symbols = list->symbols;
	const struct kernel_symbol *found = NULL;
	size_t next;
	size_t i;

	SONDE_SEARCH(next, list->nr, symbols[next].address <= address);
	for (i = next;
	     i-- > 0 && symbols[i].address == symbols[next - 1].address;) {
		if (!symbols[i].name)
			return NULL;
		found = &symbols[i];
	}
	if (!found)
		return NULL;
	if ((next == list->nr ||
	     strcmp(symbols[next].module, found->module) != 0) &&
	    address >> 12 != found->address >> 12)
		return NULL;
	return found;
}

struct sonde_names_function
sonde_names_kernel_find(struct sonde_names_kernel *kernel,
			const struct sonde_source *source, uint64_t address)
{
	struct sonde_names_function function = { .module = "", .lack = "" };
	const struct kernel_list *list;
	const struct kernel_symbol *symbol;

	symbols_read_once(kernel);
	list = &kernel->recorded[kernel_source_index(kernel, source)];
	if (!list->nr) {
		list = &kernel->running;
		if (!kernel_runs(kernel, source))
			function.lack = "recorded under another kernel, or "
					"before it was booted";
		else if (kernel->lack)
			function.lack = kernel->lack;
	}
	if (*function.lack) {
		sonde_store_relaxed(&kernel->unnamed, function.lack);
		return function;
	}
	symbol = kernel_symbol_at(list, address);
	if (!symbol) {
		function.lack = "no function of the kernel";
		return function;
	}
	function.name = symbol->name;
	function.module = symbol->module;
	function.distance = address - symbol->address;
	return function;
}

const char *sonde_names_kernel_lack(const struct sonde_names_kernel *kernel)
{
	return kernel ? sonde_load_relaxed(&kernel->unnamed) : NULL;
}
