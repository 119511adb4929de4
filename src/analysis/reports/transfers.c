/* SPDX-License-Identifier: MIT */
/*
 * transfers.c - transfers are read by a map whose parts know of each thread when
 * its call began; what a part's first events of a thread belong to, the part
 * before it says when they are merged. Matching sorts them, and searches.
 */
#include "analysis/reports/transfers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/hash.h"
#include "base/search.h"
#include "reader/reader.h"

#define TCP 6
#define UDP 17
/* Of a call's flags: the bytes are looked at only, are no part of the stream, or
 * none of the peer's. */
#define PEEK_OOB_ERRQUEUE 0x2003

#define THREADS           ((size_t)7 << 15)

enum number {
	PROTOCOL,
	RET,
	FLAGS,
	POSITION,
	SPORT,
	DPORT,
	SADDR_HIGH,
	SADDR_LOW,
	DADDR_HIGH,
	DADDR_LOW,
	NR_NUMBERS,
};

enum class_kind {
	CLASS_OTHER,
	CLASS_SENT,
	CLASS_RECEIVED,
	CLASS_CALL,
	CLASS_RETURN,
};

struct class_plan {
	enum class_kind kind;
	struct sonde_field numbers[NR_NUMBERS]; /* of a transfer */
};

struct config {
	struct class_plan *classes;
	uint32_t machine;
};

/* When the call began that a thread is in. */
struct caller {
	struct sonde_key key; /* tid */
	int64_t call_ns;      /* SONDE_TIME_MIN: in none */
};

struct part {
	const struct config *config;
	struct sonde_hash callers;
	/* Those of threads of whose calls the part has not heard yet have the
	 * call_ns SONDE_TIME_MAX: the part before knows. */
	struct sonde_transfers found;
};

/* ---- classes of events ---- */

static bool transfers_name_begins(const char *name, const char *prefix)
{
	return !strncmp(name, prefix, strlen(prefix));
}

static enum class_kind class_kind_of(const char *name)
{
	if (!strcmp(name, "sock_send_length"))
		return CLASS_SENT;
	if (!strcmp(name, "sock_recv_length"))
		return CLASS_RECEIVED;
	if (transfers_name_begins(name, "syscall_entry_") ||
	    transfers_name_begins(name, "compat_syscall_entry_"))
		return CLASS_CALL;
	if (transfers_name_begins(name, "syscall_exit_") ||
	    transfers_name_begins(name, "compat_syscall_exit_"))
		return CLASS_RETURN;
	return CLASS_OTHER;
}

/* False: it is another tracer's, without what tells the connection. */
static bool bind_numbers(const struct sonde_event_class *cls,
			 struct class_plan *plan)
{
	static const char *const names[NR_NUMBERS] = {
		"protocol",   "ret",       "flags",      "position",
		"sport",      "dport",     "saddr_high", "saddr_low",
		"daddr_high", "daddr_low",
	};

	for (size_t i = 0; i < NR_NUMBERS; i++)
		if (sonde_event_class_field(cls, SONDE_SCOPE_PAYLOAD, names[i],
					    &plan->numbers[i]))
			return false;
	return true;
}

/* Whether any is a transfer's. */
static bool plan_classes(const struct sonde_trace *trace,
			 struct class_plan *classes)
{
	bool any = false;

	for (size_t i = 0; i < sonde_trace_nr_event_classes(trace); i++) {
		const struct sonde_event_class *cls =
			sonde_trace_event_class(trace, i);
		struct class_plan *plan = &classes[i];
		struct sonde_event_class_info info;

		sonde_event_class_get_info(cls, &info);
		plan->kind = class_kind_of(info.name);
		if (plan->kind != CLASS_SENT && plan->kind != CLASS_RECEIVED)
			continue;
		if (bind_numbers(cls, plan))
			any = true;
		else
			plan->kind = CLASS_OTHER;
	}
	return any;
}

/* ---- reading ---- */

static struct sonde_key caller_key(int32_t tid)
{
	return sonde_key_make(SONDE_KEY_INT, (uint64_t)(int64_t)tid, 0);
}

static int part_begin(void *memory, const void *config, bool first)
{
	struct part *part = memory;

	(void)first; /* the first part is merged into an empty whole */
	part->config = config;
	sonde_hash_init(&part->callers, sizeof(struct caller), THREADS);
	return 0;
}

/* SONDE_TIME_MAX: ask the part before. */
static int64_t call_of(const struct part *part, int32_t tid)
{
	struct sonde_key key = caller_key(tid);
	const struct caller *caller = sonde_hash_get(&part->callers, &key);

	return caller ? caller->call_ns : SONDE_TIME_MAX;
}

static void note_call(struct part *part, int32_t tid, int64_t call_ns)
{
	struct sonde_key key = caller_key(tid);
	struct caller *caller = sonde_hash_put(&part->callers, &key);

	/* Without room the thread's calls stay what they were: unknown. */
	if (caller)
		caller->call_ns = call_ns;
}

static bool read_numbers(const struct sonde_event *event,
			 const struct class_plan *plan,
			 uint64_t numbers[NR_NUMBERS])
{
	for (size_t i = 0; i < NR_NUMBERS; i++) {
		struct sonde_value value;

		if (sonde_event_value(event, &plan->numbers[i], &value) ||
		    (value.kind != SONDE_KIND_UINT &&
		     value.kind != SONDE_KIND_INT))
			return false;
		numbers[i] = value.u;
	}
	return true;
}

/* Adds up the transfers that were left out or can't be matched. */
static void add_untaken(struct sonde_transfers *to,
			const struct sonde_transfers *from)
{
	to->left_out += from->left_out;
	to->by_udp += from->by_udp;
	to->by_others += from->by_others;
}

/* The connection as its sender has it. */
static void put_connection(struct sonde_transfer_connection *to, bool is_sent,
			   const uint64_t *numbers)
{
	const struct sonde_transfer_connection mine = {
		.from = { numbers[SADDR_HIGH], numbers[SADDR_LOW] },
		.to = { numbers[DADDR_HIGH], numbers[DADDR_LOW] },
		.from_port = (uint32_t)numbers[SPORT],
		.to_port = (uint32_t)numbers[DPORT],
	};

	*to = mine;
	if (is_sent)
		return;
	memcpy(to->from, mine.to, sizeof(to->from));
	memcpy(to->to, mine.from, sizeof(to->to));
	to->from_port = mine.to_port;
	to->to_port = mine.from_port;
}

static int add_transfer(struct sonde_transfers *transfers,
			const struct sonde_transfer *transfer)
{
	if (transfers->nr == SONDE_TRANSFERS_MAX) {
		transfers->left_out++;
		return 0;
	}
	if (SONDE_GROW(transfers->at, transfers->nr, transfers->room))
		return -ENOMEM;
	transfers->at[transfers->nr++] = *transfer;
	return 0;
}

static int take_transfer(struct part *part, const struct sonde_event *event,
			 const struct class_plan *plan, int32_t tid)
{
	uint64_t numbers[NR_NUMBERS];
	struct sonde_transfer transfer = {
		.time_ns = event->time_ns,
		.tid = tid,
		.machine = part->config->machine,
		.is_sent = plan->kind == CLASS_SENT,
		.sender = SONDE_TRANSFERS_NONE,
	};
	int64_t bytes;

	if (!read_numbers(event, plan, numbers))
		return 0;
	bytes = (int64_t)numbers[RET];
	if (bytes <= 0 || bytes > INT32_MAX ||
	    (!transfer.is_sent && numbers[FLAGS] & PEEK_OOB_ERRQUEUE))
		return 0;
	if (numbers[PROTOCOL] != TCP) {
		part->found.by_udp +=
			!transfer.is_sent && numbers[PROTOCOL] == UDP;
		part->found.by_others +=
			!transfer.is_sent && numbers[PROTOCOL] != UDP;
		return 0;
	}
	transfer.bytes = (uint32_t)bytes;
	transfer.position = (uint32_t)numbers[POSITION];
	transfer.call_ns = call_of(part, tid);
	put_connection(&transfer.connection, transfer.is_sent, numbers);
	return add_transfer(&part->found, &transfer);
}

static int part_event(void *memory, const struct sonde_event *event)
{
	struct part *part = memory;
	const struct class_plan *plan =
		&part->config->classes[event->cls->info.index];
	int32_t tid;

	if (plan->kind == CLASS_OTHER)
		return 0;
	tid = sonde_event_tid(event);
	if (tid <= 0)
		return 0;
	if (plan->kind == CLASS_CALL)
		note_call(part, tid, event->time_ns);
	else if (plan->kind == CLASS_RETURN)
		note_call(part, tid, SONDE_TIME_MIN);
	else
		return take_transfer(part, event, plan, tid);
	return 0;
}

static int part_merge(void *whole_memory, void *memory)
{
	struct part *whole = whole_memory;
	struct part *part = memory;
	const struct caller *caller = NULL;
	int error = 0;

	for (size_t i = 0; i < part->found.nr && !error; i++) {
		struct sonde_transfer *transfer = &part->found.at[i];

		if (transfer->call_ns == SONDE_TIME_MAX)
			transfer->call_ns = call_of(whole, transfer->tid);
		error = add_transfer(&whole->found, transfer);
	}
	add_untaken(&whole->found, &part->found);
	while ((caller = sonde_hash_next(&part->callers, caller)))
		note_call(whole, (int32_t)caller->key.number, caller->call_ns);
	return error;
}

static void part_fini(void *memory)
{
	struct part *part = memory;

	sonde_hash_fini(&part->callers);
	sonde_transfers_fini(&part->found);
}

static const struct sonde_map_ops map_ops = SONDE_MAP_OPS(
	struct part, part_begin, part_event, part_merge, part_fini);

/* What a machine's pass has found, behind all others'. */
static int append_machine(struct sonde_transfers *transfers,
			  const struct sonde_transfers *found)
{
	int error = 0;

	for (size_t i = 0; i < found->nr && !error; i++) {
		struct sonde_transfer transfer = found->at[i];

		transfer.order = (uint32_t)i;
		if (transfer.call_ns == SONDE_TIME_MAX)
			transfer.call_ns = SONDE_TIME_MIN;
		error = add_transfer(transfers, &transfer);
	}
	add_untaken(transfers, found);
	return error;
}

static int read_machine_transfers(struct sonde_trace *trace,
				  const struct sonde_map_options *options,
				  const struct config *config,
				  struct sonde_transfers *transfers)
{
	struct sonde_map_options all = *options;
	struct part whole = { 0 };
	bool *streams = sonde_map_streams_of(trace, config->machine);
	int error;

	if (!streams)
		return -ENOMEM;
	all.streams = streams;
	all.filter = NULL;
	all.unmerged = false;
	error = sonde_map(trace, &all, &map_ops, config, &whole);
	if (!error)
		error = append_machine(transfers, &whole.found);
	part_fini(&whole);
	free(streams);
	return error;
}

int sonde_transfers_read(struct sonde_trace *trace,
			 const struct sonde_map_options *options,
			 struct sonde_transfers *ret_transfers)
{
	struct config config = {
		.classes = calloc(sonde_trace_nr_event_classes(trace) + 1,
				  sizeof(*config.classes)),
	};
	int error = config.classes ? 0 : -ENOMEM;

	*ret_transfers = (struct sonde_transfers){ 0 };
	if (!error)
		ret_transfers->has_events = plan_classes(trace, config.classes);
	for (size_t i = 0;
	     !error && ret_transfers->has_events && i < trace->nr_machines;
	     i++) {
		config.machine = (uint32_t)i;
		error = read_machine_transfers(trace, options, &config,
					       ret_transfers);
	}
	free(config.classes);
	if (!error)
		sonde_transfers_match(ret_transfers);
	return error;
}

void sonde_transfers_fini(struct sonde_transfers *transfers)
{
	free(transfers->at);
	*transfers = (struct sonde_transfers){ 0 };
}

/* ---- matching ---- */

static int transfers_compare_numbers(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int compare_connections(const struct sonde_transfer_connection *a,
			       const struct sonde_transfer_connection *b)
{
	int order = transfers_compare_numbers(a->from[0], b->from[0]);

	order = order ? order :
			transfers_compare_numbers(a->from[1], b->from[1]);
	order = order ? order : transfers_compare_numbers(a->to[0], b->to[0]);
	order = order ? order : transfers_compare_numbers(a->to[1], b->to[1]);
	order = order ? order :
			transfers_compare_numbers(a->from_port, b->from_port);
	return order ? order :
		       transfers_compare_numbers(a->to_port, b->to_port);
}

static int compare_transfers(const void *one, const void *other)
{
	const struct sonde_transfer *a = one;
	const struct sonde_transfer *b = other;
	int order = compare_connections(&a->connection, &b->connection);

	order = order ? order : b->is_sent - a->is_sent;
	order = order ? order :
			transfers_compare_numbers(a->machine, b->machine);
	return order ? order : transfers_compare_numbers(a->order, b->order);
}

/* Positions that don't go round, from that of the first on. */
static void unwrap(struct sonde_transfer *at, size_t nr, uint32_t first)
{
	int64_t end = 0;
	uint32_t last = first;

	for (size_t i = 0; i < nr; i++) {
		end += (int32_t)(at[i].position - last);
		last = at[i].position;
		at[i].end = end;
	}
}

static int compare_ends(const void *one, const void *other)
{
	const struct sonde_transfer *a = one;
	const struct sonde_transfer *b = other;

	return a->end != b->end ? (a->end > b->end) - (a->end < b->end) :
				  transfers_compare_numbers(a->order, b->order);
}

static bool has_byte(const struct sonde_transfer *sent, int64_t byte)
{
	return byte < sent->end && byte >= sent->end - (int64_t)sent->bytes;
}

/* Of a connection, which `nr` were sent, by their ends: the one with that byte;
 * _NONE: it is nobody's, or of several. */
static size_t find_sender(const struct sonde_transfer *sent, size_t nr,
			  int64_t byte)
{
	size_t i;

	SONDE_SEARCH(i, nr, sent[i].end <= byte);
	if (i == nr || !has_byte(&sent[i], byte) ||
	    (i + 1 < nr && has_byte(&sent[i + 1], byte)))
		return SONDE_TRANSFERS_NONE;
	return i;
}

static bool is_of_one_machine(const struct sonde_transfer *at, size_t nr)
{
	return !nr || at[0].machine == at[nr - 1].machine;
}

/* All of one connection in one direction. */
static void match_connection(struct sonde_transfers *transfers, size_t begin,
			     size_t end)
{
	struct sonde_transfer *sent = &transfers->at[begin];
	struct sonde_transfer *received = sent;
	size_t nr_sent;
	size_t nr_received;

	while (received < &transfers->at[end] && received->is_sent)
		received++;
	nr_sent = (size_t)(received - sent);
	nr_received = end - begin - nr_sent;
	if (!nr_sent || !is_of_one_machine(sent, nr_sent) ||
	    !is_of_one_machine(received, nr_received))
		return;
	unwrap(received, nr_received, sent->position);
	unwrap(sent, nr_sent, sent->position);
	qsort(sent, nr_sent, sizeof(*sent), compare_ends);
	for (size_t i = 0; i < nr_received; i++) {
		size_t found = find_sender(sent, nr_sent,
					   received[i].end -
						   (int64_t)received[i].bytes);

		if (found != SONDE_TRANSFERS_NONE)
			received[i].sender = begin + found;
	}
}

void sonde_transfers_match(struct sonde_transfers *transfers)
{
	size_t begin = 0;

	if (!transfers->nr)
		return;
	qsort(transfers->at, transfers->nr, sizeof(*transfers->at),
	      compare_transfers);
	for (size_t i = 1; i <= transfers->nr; i++) {
		if (i < transfers->nr &&
		    !compare_connections(&transfers->at[begin].connection,
					 &transfers->at[i].connection))
			continue;
		match_connection(transfers, begin, i);
		begin = i;
	}
}

/* ---- messages ---- */

bool sonde_transfer_message(const struct sonde_transfers *transfers,
			    const struct sonde_transfer *received,
			    struct sonde_transfer_message *ret_message)
{
	const struct sonde_transfer *sent;

	if (received->sender == SONDE_TRANSFERS_NONE)
		return false;
	sent = &transfers->at[received->sender];
	if (sent->machine == received->machine ||
	    sent->call_ns == SONDE_TIME_MIN)
		return false;
	*ret_message = (struct sonde_transfer_message){
		.from = sent->machine,
		.to = received->machine,
		.sent_ns = sent->call_ns,
		.received_ns = received->time_ns,
	};
	return true;
}
