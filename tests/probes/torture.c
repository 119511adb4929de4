/* SPDX-License-Identifier: MIT */
/*
 * torture.c - probes put into a running process and taken out, at random.
 *
 *	torture PID SECONDS SEED NAME...
 *
 * Sites: instructions chosen at random in the mappings whose paths contain one
 * of the names. Each turn a site that has a probe loses it, or one that has
 * none gets one; half of them with a condition, made up at random, that reads
 * through wild pointers. One whose condition has faulted often is taken out
 * soon: the program is to get on. It ends when so many seconds are over and
 * each condition was in once, or with the process. Then all are taken out, and
 * every executable mapping of the process must hold the bytes that it held
 * before.
 *
 * Prints what was done, one `name value` a line (those refused by reason); fails
 * with a message.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/port.h"
#include "probe/inject/insn.h"
#include "probe/inject/probes.h"
#include "probe/inject/process_code.h"

#define NR_SITES       2000
#define NR_CONDITIONS  1000
#define TRIES_PER_SITE 100
#define BYTECODE_MAX   128
#define NO_REGISTER    255
#define NR_GENERAL     16
#define LEAST_SECONDS  1
#define NS_PER_S       1000000000ll
#define NO_PROBE       UINT32_MAX
#define FAULTS_MAX     5000
#define TURNS_A_LOOK   16
#define NR_REASONS     16
/* Another condition at a site takes another index, of which there are so many
 * in the agent's tables: in the long run each site keeps its own. */
#define NEW_MAX       (SONDE_AGENT_PROBES_MAX / 2)
#define CHANCE_OF_NEW 4

enum {
	OP_ADD = 0x02,
	OP_EQUAL = 0x13,
	OP_LESS_SIGNED = 0x14,
	OP_REF8 = 0x17,
	OP_CONST8 = 0x22,
	OP_CONST64 = 0x25,
	OP_REGISTER = 0x26,
	OP_END = 0x27,
};

struct site {
	uint64_t address;
	uint32_t probe; /* NO_PROBE: none */
	const struct sonde_program *condition;
};

/* A mapping with code, as it was. */
struct code {
	uint64_t start;
	size_t size;
	uint8_t *bytes;
};

/* Why probes were refused. */
struct reason {
	char text[128];
	uint64_t count;
};

struct torture {
	pid_t pid;
	char **names;
	int nr_names;
	struct sonde_process *process;
	struct sonde_probes *probes;
	struct site sites[NR_SITES];
	size_t nr_sites;
	struct code *code;
	size_t nr_code;
	struct sonde_program *conditions[NR_CONDITIONS];
	uint64_t random;
	/* what was done */
	uint64_t added, removed, refused, busy, hits, faults, native;
	uint64_t conditions_used; /* the next is this, modulo their number */
	uint64_t new_ones;        /* sites that got another one */
	uint64_t calmed;          /* taken out for their faults */
	struct reason reasons[NR_REASONS];
	uint64_t kinds[SONDE_WINDOW_TRAP + 1];
};

static int die(const char *what, int rc)
{
	(void)fprintf(stderr, "torture: %s: %s\n", what, strerrordesc_np(-rc));
	return 1;
}

/* splitmix64 */
static uint64_t next(struct torture *t)
{
	uint64_t x = t->random += 0x9e3779b97f4a7c15ull;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

static uint64_t below(struct torture *t, uint64_t limit)
{
	return next(t) % limit;
}

static int64_t now_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * NS_PER_S + now.tv_nsec;
}

/* ---- conditions ---- */

/* An address: mostly a wild one. */
static size_t put_address(struct torture *t, uint8_t *to)
{
	static const uint64_t limits[] = { 0x1000, 1ull << 32, 1ull << 47,
					   UINT64_MAX };
	uint64_t wild;

	if (below(t, 2) == 0) {
		to[0] = OP_REGISTER;
		to[1] = 0;
		to[2] = (uint8_t)below(t, NR_GENERAL);
		return 3;
	}
	wild = below(t, limits[below(t, SONDE_ARRAY_SIZE(limits))]);
	to[0] = OP_CONST64;
	for (unsigned int i = 0; i < 8; i++)
		to[1 + i] = (uint8_t)(wild >> (56 - 8 * i));
	return 9;
}

/* *(...*(address + n) + n) COMPARED WITH n */
static int make_condition(struct torture *t, struct sonde_program **ret)
{
	struct sonde_expr_error error = { 0 };
	uint8_t bytes[BYTECODE_MAX];
	size_t nr = put_address(t, bytes);
	int rc;

	for (uint64_t i = 1 + below(t, 3); i > 0; i--) {
		if (below(t, 2) == 0) {
			bytes[nr++] = OP_CONST8;
			bytes[nr++] = (uint8_t)next(t);
			bytes[nr++] = OP_ADD;
		}
		bytes[nr++] = (uint8_t)(OP_REF8 + below(t, 4));
	}
	bytes[nr++] = OP_CONST8;
	bytes[nr++] = (uint8_t)next(t);
	bytes[nr++] = below(t, 2) == 0 ? OP_EQUAL : OP_LESS_SIGNED;
	bytes[nr++] = OP_END;
	rc = sonde_agent_decode(bytes, nr, false, &error, ret);
	return rc;
}

static int make_conditions(struct torture *t)
{
	int rc = 0;

	for (size_t i = 0; i < NR_CONDITIONS && rc == 0; i++)
		rc = make_condition(t, &t->conditions[i]);
	return rc;
}

/* ---- sites ---- */

static bool is_wanted(const struct torture *t, const struct sonde_mapping *m)
{
	if (!m->executable || m->shared || m->path[0] != '/')
		return false;
	for (int i = 0; i < t->nr_names; i++)
		if (strstr(m->path, t->names[i]))
			return true;
	return false;
}

static int keep_code(struct torture *t, const struct sonde_mapping *m)
{
	struct code *list =
		reallocarray(t->code, t->nr_code + 1, sizeof(*list));
	struct code *code;

	if (!list)
		return -ENOMEM;
	t->code = list;
	code = &list[t->nr_code];
	code->start = m->start;
	code->size = m->end - m->start;
	code->bytes = malloc(code->size);
	if (!code->bytes)
		return -ENOMEM;
	t->nr_code++;
	return sonde_process_read(t->process, code->start, code->bytes,
				  code->size);
}

static int keep_all_code(struct torture *t)
{
	struct sonde_maps mappings;
	int rc = sonde_process_mappings(t->pid, &mappings);

	if (rc != 0)
		return rc;
	for (size_t i = 0; i < mappings.nr && rc == 0; i++)
		if (is_wanted(t, &mappings.list[i]))
			rc = keep_code(t, &mappings.list[i]);
	sonde_maps_free(&mappings);
	return rc == 0 && t->nr_code == 0 ? -ENOENT : rc;
}

/* An instruction of the function that some address is in; 0: none. */
static uint64_t choose_in(struct torture *t, struct sonde_patch_code *text,
			  uint64_t somewhere)
{
	struct sonde_code_view view;
	uint8_t *bytes;
	size_t at = 0;

	if (sonde_patch_code_view(text, somewhere, &view, &bytes) != 0 ||
	    !view.is_function || somewhere < view.address)
		return 0;
	while (at < view.size) {
		struct sonde_insn insn;

		if (sonde_insn_decode(bytes + at, view.size - at,
				      view.address + at, &insn) != 0 ||
		    insn.length == 0)
			return 0;
		if (view.address + at + insn.length > somewhere)
			return view.address + at;
		at += insn.length;
	}
	(void)t;
	return 0;
}

/* Every other one has a condition; each condition is somewhere. */
static void add_site(struct torture *t, uint64_t address)
{
	const size_t i = t->nr_sites++;

	t->sites[i] = (struct site){
		.address = address,
		.probe = NO_PROBE,
		.condition = i % 2 == 0 ? t->conditions[i / 2 % NR_CONDITIONS] :
					  NULL,
	};
}

static int choose_sites(struct torture *t)
{
	struct sonde_patch_code *text;
	int rc = sonde_patch_code_new(t->process, &text);

	for (size_t i = 0;
	     i < NR_SITES * TRIES_PER_SITE && rc == 0 && t->nr_sites < NR_SITES;
	     i++) {
		const struct code *code = &t->code[below(t, t->nr_code)];
		const uint64_t at =
			choose_in(t, text, code->start + below(t, code->size));

		if (at != 0)
			add_site(t, at);
	}
	if (rc == 0)
		sonde_patch_code_free(text);
	return rc == 0 && t->nr_sites < NR_SITES ? -ENOENT : rc;
}

/* ---- turns ---- */

static void count_facts(struct torture *t, uint32_t probe)
{
	struct sonde_probe_facts facts;

	if (sonde_probes_facts(t->probes, probe, &facts) != 0)
		return;
	t->hits += facts.hits;
	t->faults += facts.faults;
	t->native += facts.native;
	if (facts.kind <= SONDE_WINDOW_TRAP)
		t->kinds[facts.kind]++;
}

static int take_out(struct torture *t, struct site *site)
{
	const uint32_t probe = site->probe;
	int rc;

	count_facts(t, probe);
	rc = sonde_probes_remove(t->probes, probe);
	if (rc == -EBUSY || rc == -EAGAIN) {
		t->busy++;
		return 0;
	}
	site->probe = NO_PROBE;
	t->removed++;
	return rc;
}

/* Behind "no probe at ADDRESS: ". */
static void count_reason(struct torture *t, const char *error)
{
	const char *text = strstr(error, ": ");

	text = text ? text + 2 : error;
	for (size_t i = 0; i < NR_REASONS; i++) {
		struct reason *reason = &t->reasons[i];

		if (reason->count == 0)
			(void)snprintf(reason->text, sizeof(reason->text), "%s",
				       text);
		if (strcmp(reason->text, text) == 0) {
			reason->count++;
			return;
		}
	}
}

static void change_condition(struct torture *t, struct site *site)
{
	t->new_ones++;
	site->condition =
		below(t, 2) == 0 ?
			t->conditions[t->conditions_used++ % NR_CONDITIONS] :
			NULL;
}

static int put_in(struct torture *t, struct site *site)
{
	struct sonde_process_error error = { "" };
	struct sonde_probe_spec spec;
	int rc;

	if (t->new_ones < NEW_MAX && below(t, CHANCE_OF_NEW) == 0)
		change_condition(t, site);
	spec = (struct sonde_probe_spec){
		.address = site->address,
		.condition = site->condition,
		.force_register = NO_REGISTER,
	};
	rc = sonde_probes_add(t->probes, &spec, &error, &site->probe);
	if (rc == 0) {
		t->added++;
		return 0;
	}
	site->probe = NO_PROBE;
	if (rc == -EBUSY || rc == -EAGAIN) {
		t->busy++;
		return 0;
	}
	/* Not every instruction can have one; tables do fill up. But nobody
	 * else changes the code (-ESTALE). */
	if (rc == -EOPNOTSUPP || rc == -EINVAL || rc == -ENOSPC ||
	    rc == -ERANGE) {
		t->refused++;
		count_reason(t, error.text);
		return 0;
	}
	(void)fprintf(stderr, "torture: %llx: %s\n",
		      (unsigned long long)site->address, error.text);
	return rc;
}

static bool has_ended(const struct torture *t)
{
	return !sonde_process_lives(t->process);
}

static int turn(struct torture *t)
{
	struct site *site = &t->sites[below(t, t->nr_sites)];

	return site->probe == NO_PROBE ? put_in(t, site) : take_out(t, site);
}

/* Takes out those whose conditions fault all the time. */
static int calm(struct torture *t)
{
	int rc = 0;

	for (size_t i = 0; i < t->nr_sites && rc == 0; i++) {
		struct sonde_probe_facts facts;

		if (t->sites[i].probe == NO_PROBE ||
		    sonde_probes_facts(t->probes, t->sites[i].probe, &facts) !=
			    0 ||
		    facts.faults < FAULTS_MAX)
			continue;
		rc = take_out(t, &t->sites[i]);
		t->calmed++;
	}
	return rc;
}

static int run(struct torture *t, int64_t seconds)
{
	const int64_t end = now_ns() + seconds * NS_PER_S;
	int rc = 0;

	for (uint64_t turns = 0;
	     rc == 0 && !has_ended(t) &&
	     (now_ns() < end || t->conditions_used < NR_CONDITIONS);
	     turns++) {
		rc = turn(t);
		if (rc == 0 && turns % TURNS_A_LOOK == 0)
			rc = calm(t);
	}
	return has_ended(t) ? 0 : rc;
}

static int take_all_out(struct torture *t)
{
	for (size_t i = 0; i < t->nr_sites; i++) {
		int rc = 0;

		while (t->sites[i].probe != NO_PROBE && rc == 0 &&
		       !has_ended(t))
			rc = take_out(t, &t->sites[i]);
		if (rc != 0 && !has_ended(t))
			return rc;
	}
	return 0;
}

/* How many bytes are not as they were; -1 if they can't be read any more. */
static int64_t count_changed(const struct torture *t)
{
	int64_t changed = 0;

	for (size_t i = 0; i < t->nr_code; i++) {
		const struct code *code = &t->code[i];
		uint8_t *now = malloc(code->size);

		if (!now || sonde_process_read(t->process, code->start, now,
					       code->size) != 0) {
			free(now);
			return -1;
		}
		for (size_t k = 0; k < code->size; k++)
			changed += now[k] != code->bytes[k];
		free(now);
	}
	return changed;
}

static void tell(const struct torture *t, bool ended, int64_t changed)
{
	const struct {
		const char *name;
		int64_t value;
	} facts[] = {
		{ "added", (int64_t)t->added },
		{ "removed", (int64_t)t->removed },
		{ "refused", (int64_t)t->refused },
		{ "busy", (int64_t)t->busy },
		{ "single", (int64_t)t->kinds[SONDE_WINDOW_SINGLE] },
		{ "punned", (int64_t)t->kinds[SONDE_WINDOW_PUNNED] },
		{ "free", (int64_t)t->kinds[SONDE_WINDOW_FREE] },
		{ "trap", (int64_t)t->kinds[SONDE_WINDOW_TRAP] },
		{ "native", (int64_t)t->native },
		{ "conditions", (int64_t)t->conditions_used },
		{ "calmed", (int64_t)t->calmed },
		{ "hits", (int64_t)t->hits },
		{ "faults", (int64_t)t->faults },
		{ "strange_traps",
		  (int64_t)sonde_process_agent(t->process)->strange_traps },
		{ "ended", ended },
		{ "changed_bytes", changed },
	};

	for (size_t i = 0; i < SONDE_ARRAY_SIZE(facts); i++)
		(void)printf("%s %lld\n", facts[i].name,
			     (long long)facts[i].value);
	for (size_t i = 0; i < NR_REASONS && t->reasons[i].count != 0; i++)
		(void)printf("refused: %s %llu\n", t->reasons[i].text,
			     (unsigned long long)t->reasons[i].count);
}

static int torture(struct torture *t, int64_t seconds)
{
	struct sonde_process_error error = { "" };
	bool ended;
	int rc = sonde_process_open(t->pid, NULL, NULL, &error, &t->process);

	if (rc == 0)
		rc = sonde_process_install(t->process, &error);
	if (rc != 0)
		return die(error.text, rc);
	rc = keep_all_code(t);
	if (rc == 0)
		rc = make_conditions(t);
	if (rc == 0)
		rc = choose_sites(t);
	if (rc == 0)
		rc = sonde_probes_new(t->process, &t->probes);
	if (rc != 0)
		return die("can't begin", rc);
	sonde_process_agent(t->process)->running = 1;
	rc = run(t, seconds);
	if (rc == 0)
		rc = take_all_out(t);
	if (rc != 0)
		return die("a probe", rc);
	ended = has_ended(t);
	tell(t, ended, ended ? 0 : count_changed(t));
	sonde_probes_free(t->probes);
	sonde_process_close(t->process);
	return 0;
}

int main(int argc, char **argv)
{
	static struct torture t;
	int64_t seconds;

	if (argc < 5) {
		(void)fprintf(stderr,
			      "usage: torture PID SECONDS SEED NAME...\n");
		return 2;
	}
	t.pid = (pid_t)strtol(argv[1], NULL, 10);
	seconds = strtoll(argv[2], NULL, 10);
	t.random = strtoull(argv[3], NULL, 10);
	t.names = argv + 4;
	t.nr_names = argc - 4;
	return torture(&t, seconds < LEAST_SECONDS ? LEAST_SECONDS : seconds);
}
