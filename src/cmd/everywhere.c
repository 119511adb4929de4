/* SPDX-License-Identifier: MIT */
/*
 * everywhere.c - `sonde start --hosts GLOB` and its kin: an order (fleet/order.h) to
 * all machines whose `sonde host` hears it, and a table of what each answered.
 *
 * What a machine is asked is said once, and may be lost. So each that is there says
 * at once that it has heard it, and those that are known by their heartbeats
 * (net.h) and say nothing are named: of them it isn't known whether it was done.
 *
 * Waited is for HEAR_NS for whoever is there; for SILENT_NS for those that are known;
 * and as long as --within says for those that have heard it.
 *
 * A snapshot of --last so long is of what was before each machine heard of it, which
 * is later than when it was asked for, by the way of a message. So each is asked for
 * WAY_NS more; what is missing all the same is known by when its answer came.
 */
#include "cmd/everywhere.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/grow.h"
#include "base/number.h"
#include "base/port.h"
#include "base/time.h"
#include "cmd/read_watch.h"
#include "fleet/globs.h"
#include "fleet/job_protocol.h"
#include "fleet/order.h"
#include "session/document.h"
#include "session/net/work.h"
#include "view/text/show.h"

#define HEAR_NS   ((uint64_t)SONDE_NS_PER_S)
#define SILENT_NS (5 * (uint64_t)SONDE_NS_PER_S)
#define WAY_NS    ((uint64_t)SONDE_NS_PER_S)
#define WAIT_MS   100
#define HOSTS_MAX 100000u
#define WHY_MAX   600u

enum answer_state {
	ANSWER_NONE, /* it is known by its heartbeats */
	ANSWER_HEARD,
	ANSWER_DONE,
	ANSWER_REFUSED,
	ANSWER_FAILED,
};

struct answer {
	char host[SONDE_NET_NAME_MAX + 1];
	enum answer_state state;
	char why[WHY_MAX];
	/* What its snapshot has of before it was asked: so much, at least; -1:
	 * nobody knows. */
	int64_t before_ns;
	struct sonde_session_document *document; /* NULL: none */
};

struct asking {
	const char *from, *within;
	const char *by; /* the machine that says it; "": none */
	struct sonde_fleet_order order;
	struct sonde_net_config config;
	struct sonde_net_error error;
	uint64_t within_ns;
	uint64_t last_ns;       /* of a snapshot; 0: all that there is */
	uint64_t asked_ns;      /* monotonic */
	int64_t asked_time_ns;  /* the same, since 1970 */
	struct answer *answers; /* malloc */
	size_t nr, room;
	bool json, has_hosts;
};

/* ---- the words ---- */

int sonde_command_stray(void *words, const char *value)
{
	(void)words;
	(void)value;
	sonde_complain(
		"--from, --within and --by are of --hosts GLOB, which is "
		"written out");
	return SONDE_EXIT_USAGE;
}

static int take_hosts(struct asking *asking, const char *value)
{
	int n = snprintf(asking->order.hosts, sizeof(asking->order.hosts), "%s",
			 value);

	asking->has_hosts = *value && (size_t)n < sizeof(asking->order.hosts);
	if (asking->has_hosts)
		return 0;
	sonde_complain("--hosts: give up to %u bytes of patterns, such as "
		       "'web-*'",
		       SONDE_FLEET_ORDER_HOSTS);
	return SONDE_EXIT_USAGE;
}

static int asking_send(struct asking *asking, const char *name,
		       const char *value)
{
	int err = sonde_fleet_order_add(&asking->order, name, value);

	if (!err)
		return 0;
	sonde_complain(err == -E2BIG ?
			       "--%s: all options for other machines have at "
			       "most %u bytes" :
			       "--%s: a value for other machines has one line",
		       name, SONDE_FLEET_ORDER_WORDS);
	return SONDE_EXIT_USAGE;
}

static int asking_take_last(struct asking *asking, const char *value)
{
	char wider[32];
	uint64_t us;

	if (sonde_number_parse_time_us(value, &us) || !us ||
	    us > (uint64_t)24 * 3600 * 1000000) {
		sonde_complain("--last %.100s: give a time up to 24h, such as "
			       "10s",
			       value);
		return SONDE_EXIT_USAGE;
	}
	asking->last_ns = us * 1000;
	(void)snprintf(wider, sizeof(wider), "%" PRIu64 "us",
		       us + WAY_NS / 1000);
	return asking_send(asking, "last", wider);
}

static int take_option(void *ctx, const struct sonde_option *option,
		       bool is_common, const char *value)
{
	struct asking *asking = ctx;
	const char *name = option->name;

	(void)is_common;
	if (!strcmp(name, "hosts"))
		return take_hosts(asking, value);
	if (!strcmp(name, "from"))
		asking->from = value;
	else if (!strcmp(name, "last"))
		return asking_take_last(asking, value);
	else if (!strcmp(name, "within"))
		asking->within = value;
	else if (!strcmp(name, "by"))
		asking->by = value;
	else if (!strcmp(name, "json"))
		asking->json = true;
	else if (!strcmp(name, "output") || !strcmp(name, "file")) {
		sonde_complain("--%s isn't for other machines: each puts "
			       "traces where its sonde host says",
			       name);
		return SONDE_EXIT_USAGE;
	} else if (strcmp(name, "quiet") != 0)
		return asking_send(asking, name, value);
	return 0;
}

/* -1: go on; or an exit status. */
static int asking_words(struct asking *asking,
			const struct sonde_command *command, int argc,
			char **argv)
{
	uint64_t us;
	int status =
		sonde_option_each(command, argc, argv, take_option, asking);

	if (status != -1)
		return status;
	status = SONDE_EXIT_USAGE;
	if (!asking->from)
		sonde_complain("%s: where are the machines asked? --from "
			       "nats://HOST",
			       command->name);
	else if (optind + 1 != argc || !sonde_session_is_name(argv[optind]))
		sonde_complain("%s --hosts: give the name of one session",
			       command->name);
	else if (*asking->by && !sonde_net_is_name(asking->by))
		sonde_complain("--by: that is no name of a machine");
	else if (sonde_number_parse_time_us(asking->within, &us) ||
		 us > (uint64_t)24 * 3600 * 1000000)
		sonde_complain("--within %.100s: give a time up to 24h, such "
			       "as 10s",
			       asking->within);
	else
		status = -1;
	if (status != -1)
		return status;
	asking->within_ns = us * 1000;
	(void)snprintf(asking->order.session, sizeof(asking->order.session),
		       "%s", argv[optind]);
	return -1;
}

/* ---- the answers ---- */

static int everywhere_ask(void)
{
	return sonde_watch_progress(0, 0);
}

/* NULL: there is no memory, or too many. */
static struct answer *asking_answer(struct asking *asking, const char *host)
{
	size_t i = 0;

	while (i < asking->nr && strcmp(asking->answers[i].host, host) != 0)
		i++;
	if (i < asking->nr)
		return &asking->answers[i];
	if (asking->nr == HOSTS_MAX ||
	    SONDE_GROW(asking->answers, asking->nr, asking->room))
		return NULL;
	asking->answers[i] =
		(struct answer){ .state = ANSWER_NONE, .before_ns = -1 };
	(void)snprintf(asking->answers[i].host, sizeof(asking->answers[i].host),
		       "%s", host);
	asking->nr++;
	return &asking->answers[i];
}

static int asking_take_beat(void *ctx, const struct sonde_net_beat *beat,
			    int64_t got_ns)
{
	struct asking *asking = ctx;

	(void)got_ns;
	if (!sonde_fleet_is_any_of(asking->order.hosts, beat->host) ||
	    asking_answer(asking, beat->host))
		return 0;
	return sonde_net_fail(&asking->error, -ENOMEM, "no memory");
}

/* Its first line of words, without the name of the program. */
static void put_why(struct answer *answer, const char *words, size_t size)
{
	static const char name[] = "sonde: ";
	size_t skip =
		size >= strlen(name) && !memcmp(words, name, strlen(name)) ?
			strlen(name) :
			0;
	size_t length = size - skip;
	const char *end = memchr(words + skip, '\n', length);

	if (end)
		length = (size_t)(end - words) - skip;
	if (length > WHY_MAX - 1)
		length = WHY_MAX - 1;
	(void)snprintf(answer->why, sizeof(answer->why), "%.*s", (int)length,
		       words + skip);
}

/* It reached back so far when it was said, so that much less of what was before it was
 * asked for, as has gone by since: whatever clocks show. */
static int64_t asking_before(const struct asking *asking, uint64_t reach_ns)
{
	uint64_t elapsed_ns = sonde_monotonic_ns() - asking->asked_ns;

	return !reach_ns             ? -1 :
	       reach_ns < elapsed_ns ? 0 :
				       (int64_t)(reach_ns - elapsed_ns);
}

/* What a machine says is a stranger's. */
static void asking_take(const struct asking *asking, struct answer *answer,
			const struct sonde_net_heard_word *word)
{
	struct sonde_fleet_answer said;

	if (answer->state > ANSWER_HEARD)
		return;
	if (!word->size) {
		answer->state = ANSWER_HEARD;
		return;
	}
	answer->state = ANSWER_FAILED;
	if (sonde_fleet_answer_parse(word->bytes, word->size, &said)) {
		(void)snprintf(answer->why, sizeof(answer->why),
			       "its answer isn't understood: another version "
			       "of Sonde's?");
		return;
	}
	put_why(answer, said.words, said.words_size);
	if (said.status == SONDE_FLEET_ORDER_REFUSED)
		answer->state = ANSWER_REFUSED;
	if (!said.status)
		answer->state = ANSWER_DONE;
	answer->before_ns = asking_before(asking, said.reach_ns);
	if (!said.status && said.report_size)
		(void)sonde_session_document_read(said.report, said.report_size,
						  &answer->document);
}

/* Until when it is waited for somebody, at most. */
static uint64_t asking_end(const struct asking *asking, uint64_t begin_ns)
{
	uint64_t wait_ns = HEAR_NS;

	for (size_t i = 0; i < asking->nr; i++) {
		if (asking->answers[i].state == ANSWER_HEARD)
			wait_ns = asking->within_ns;
		if (asking->answers[i].state == ANSWER_NONE &&
		    wait_ns < SILENT_NS)
			wait_ns = SILENT_NS;
	}
	if (wait_ns > asking->within_ns)
		wait_ns = asking->within_ns;
	return begin_ns + wait_ns;
}

static int hear_answers(struct asking *asking, struct sonde_net *net)
{
	uint64_t begin_ns = sonde_monotonic_ns();
	char host[SONDE_NET_NAME_MAX + 1];
	struct sonde_net_heard_word word;
	int n = 0;

	while (n >= 0 && sonde_monotonic_ns() < asking_end(asking, begin_ns)) {
		struct answer *answer;

		n = sonde_net_work_told(net, WAIT_MS, host, &word);
		if (n <= 0 || !sonde_fleet_is_any_of(asking->order.hosts, host))
			continue;
		answer = asking_answer(asking, host);
		if (!answer)
			return sonde_net_fail(&asking->error, -ENOMEM,
					      "no memory");
		asking_take(asking, answer, &word);
		if (everywhere_ask())
			return -EINTR;
	}
	return n < 0 ? n : 0;
}

/* ---- the table ---- */

enum column {
	COLUMN_HOST,
	COLUMN_ANSWER,
	COLUMN_STATE,
	COLUMN_EVENTS,
	COLUMN_LOST,
	COLUMN_BEFORE,
	COLUMN_MISSING,
	COLUMN_DIRECTORY,
	COLUMN_WHY,
	COLUMN_ASKED,
	NR_COLUMNS,
};

static const struct sonde_column columns[] = {
	[COLUMN_HOST] = { "host", "HOST", SONDE_CELL_TEXT },
	[COLUMN_ANSWER] = { "answer", "ANSWER", SONDE_CELL_TEXT },
	[COLUMN_STATE] = { "state", "STATE", SONDE_CELL_TEXT },
	[COLUMN_EVENTS] = { "events", "EVENTS", SONDE_CELL_COUNT },
	[COLUMN_LOST] = { "lost", "LOST", SONDE_CELL_COUNT },
	[COLUMN_BEFORE] = { "before", "BEFORE", SONDE_CELL_DURATION },
	[COLUMN_MISSING] = { "missing", "MISSING", SONDE_CELL_DURATION },
	[COLUMN_DIRECTORY] = { "directory", "DIRECTORY", SONDE_CELL_TEXT },
	[COLUMN_WHY] = { "why", "WHY", SONDE_CELL_TEXT },
	[COLUMN_ASKED] = { "asked", "ASKED", SONDE_CELL_TIME },
};

static void put_document(struct sonde_table *table,
			 const struct sonde_session_document *document)
{
	const char *state = sonde_session_document_text(document, "state");
	const char *directory =
		sonde_session_document_text(document, "directory");

	if (state)
		sonde_table_text(table, COLUMN_STATE, state);
	if (directory)
		sonde_table_text(table, COLUMN_DIRECTORY, directory);
	if (!sonde_session_document_has_number(document, "events.recorded"))
		return;
	sonde_table_uint(
		table, COLUMN_EVENTS,
		sonde_session_document_has_number(document, "last_events") ?
			sonde_session_document_number(document, "last_events") :
			sonde_session_document_number(document,
						      "events.recorded") +
				sonde_session_document_number(document,
							      "events.held"));
	sonde_table_uint(
		table, COLUMN_LOST,
		sonde_session_document_number(document, "events.discarded") +
			sonde_session_document_number(document,
						      "events.lost_disk"));
}

static void asking_put_answer(const struct asking *asking,
			      struct sonde_table *table,
			      const struct answer *answer)
{
	static const char *const words[] = {
		[ANSWER_NONE] = "none",     [ANSWER_HEARD] = "none",
		[ANSWER_DONE] = "done",     [ANSWER_REFUSED] = "refused",
		[ANSWER_FAILED] = "failed",
	};
	const char *why = answer->state == ANSWER_NONE ?
				  "known by its heartbeats, and silent: it may "
				  "have been done" :
			  answer->state == ANSWER_HEARD ?
				  "it has heard it, and takes longer" :
				  answer->why;
	int64_t last_ns = (int64_t)asking->last_ns;

	sonde_table_row(table);
	sonde_table_text(table, COLUMN_HOST, answer->host);
	sonde_table_text(table, COLUMN_ANSWER, words[answer->state]);
	sonde_table_int(table, COLUMN_ASKED, asking->asked_time_ns);
	if (answer->before_ns >= 0)
		sonde_table_int(table, COLUMN_BEFORE, answer->before_ns);
	/* so much of the beginning of what was asked for may not be in it */
	if (answer->before_ns >= 0 && last_ns)
		sonde_table_int(table, COLUMN_MISSING,
				answer->before_ns < last_ns ?
					last_ns - answer->before_ns :
					0);
	if (*why)
		sonde_table_text(table, COLUMN_WHY, why);
	if (answer->document)
		put_document(table, answer->document);
}

/* Whether all have done it. */
static bool show_answers(const struct asking *asking, bool knows_all)
{
	struct sonde_report *report = sonde_report_new("hosts");
	struct sonde_table *table =
		sonde_report_table(report, "hosts", NULL, columns, NR_COLUMNS);
	bool is_well = asking->nr > 0;
	struct sonde_show how;

	sonde_show_init(&how, stdout);
	how.json = asking->json;
	if (!knows_all)
		sonde_report_note(report, "which machines ship can't be seen "
					  "here, so one that is silent isn't "
					  "listed");
	for (size_t i = 0; i < asking->nr; i++) {
		asking_put_answer(asking, table, &asking->answers[i]);
		is_well = is_well && asking->answers[i].state == ANSWER_DONE;
	}
	sonde_table_minor(table, 1u << COLUMN_ASKED);
	sonde_table_sort(table, COLUMN_HOST, false);
	if (sonde_report_error(report) ||
	    sonde_show_report(&how, report, stdout))
		is_well = false;
	sonde_report_free(report);
	return is_well;
}

/* ---- the command ---- */

/* 0, or an error that is said. *ret_knows_all: heartbeats could be heard. */
static int asking_call(struct asking *asking, struct sonde_net *net,
		       bool *ret_knows_all)
{
	char line[SONDE_NET_HEAD_MAX];
	struct sonde_net_heard_word word = { line, 0 };
	struct sonde_net_heard heard;
	uint8_t *job = asking->order.job;
	int err;

	if (getrandom(job, sizeof(asking->order.job), 0) < 0)
		return sonde_net_fail(&asking->error, -errno, "getrandom");
	word.size = sonde_fleet_order_put(&asking->order, line);
	if (!word.size)
		return sonde_net_fail(&asking->error, -E2BIG,
				      "these options are too long to be sent");
	asking->asked_time_ns = (int64_t)sonde_time_ns(CLOCK_REALTIME);
	asking->asked_ns = sonde_monotonic_ns();
	err = sonde_net_work_call(net, asking->by, job, &word);
	if (err)
		return err;
	/* Whoever answers meanwhile is heard behind it. */
	*ret_knows_all = !sonde_net_hear(net, asking_take_beat, asking, &heard);
	return hear_answers(asking, net);
}

static int ask_all(struct asking *asking, const struct sonde_command *command)
{
	bool knows_all = false;
	struct sonde_net *net;
	int err = sonde_net_open(asking->from, &asking->config, &asking->error,
				 &net);
	bool is_well;

	if (err) {
		sonde_complain("%s: %s", command->name, asking->error.text);
		return SONDE_EXIT_USAGE;
	}
	sonde_watch_begin(command->name, false);
	err = asking_call(asking, net, &knows_all);
	sonde_watch_end();
	sonde_net_close(net);
	if (err && err != -EINTR) {
		sonde_complain("%s: %s", command->name, asking->error.text);
		return err == -EOPNOTSUPP ? SONDE_EXIT_USAGE : 1;
	}
	is_well = show_answers(asking, knows_all);
	if (!asking->nr)
		sonde_complain("%s: no machine %.100s is there: does 'sonde "
			       "host' run?",
			       command->name, asking->order.hosts);
	return err ? 130 : !is_well;
}

int sonde_command_everywhere(const struct sonde_command *command, int argc,
			     char **argv)
{
	static struct asking asking = { .within = "2min", .by = "" };
	bool is_meant = false;
	int status;

	for (int i = 1; i < argc; i++)
		is_meant |= !strcmp(argv[i], "--hosts") ||
			    !strncmp(argv[i], "--hosts=", 8);
	if (!is_meant)
		return -1;
	asking.config = sonde_command_net;
	asking.config.ask = everywhere_ask;
	asking.order.what =
		sonde_fleet_order_find(command->name, strlen(command->name));
	status = asking_words(&asking, command, argc, argv);
	if (status == -1)
		status = ask_all(&asking, command);
	for (size_t i = 0; i < asking.nr; i++)
		sonde_session_document_free(asking.answers[i].document);
	free(asking.answers);
	return status;
}
