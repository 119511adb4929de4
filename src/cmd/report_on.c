/* SPDX-License-Identifier: MIT */
/*
 * report_on.c - `sonde report --on URL`: who asks (docs/decisions/0030).
 *
 * First each host is looked at; then those that have a machine in common are one
 * unit, and the span of time that is meant is known; then units are asked for the
 * report, whose tables are put in the order in which the machines were met, as if all
 * traces had been opened here, by their hosts' names. If no machine has anything for the
 * report, one unit is asked why.
 *
 * If no span of time has to be known before, looks are *whole*: the report comes with
 * them, and only hosts that turn out to be of one unit are asked again. So each trace
 * is opened once, by one process.
 *
 * What workers send is a stranger's: reports are checked when they are unpacked, a look
 * by look_take(), and words are made safe for a terminal.
 */
#include "cmd/report_on.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/grow.h"
#include "base/text.h"
#include "base/time.h"
#include "cmd/cmd.h"
#include "cmd/pager.h"
#include "cmd/read_watch.h"
#include "fleet/globs.h"
#include "fleet/job.h"
#include "session/net/work.h"

#define HEAR_MS        200
#define OFFER_NS       ((uint64_t)SONDE_NS_PER_S / 2)
#define HINT_NS        (5 * (uint64_t)SONDE_NS_PER_S)
#define NOBODY_NS      (60 * (uint64_t)SONDE_NS_PER_S)
#define LINE_MAX_BYTES 4096

struct on_host {
	char name[SONDE_NET_NAME_MAX + 1];
	/* The look or NULL; behind a whole one each machine's report. */
	struct sonde_report_item *look;
	size_t nr_look;
	struct sonde_fleet_answer
		answer;  /* of a whole one, in its job's memory */
	bool is_refused; /* what is asked can't be told of this host */
	struct sonde_section machines;
	size_t unit;
	uint64_t worker; /* who looked at it */
};

struct asking {
	const struct sonde_read_on *on;
	struct sonde_read *read;
	struct sonde_net *net;
	struct sonde_net_error error;
	struct on_host *hosts;
	size_t nr_hosts, hosts_room;
	struct sonde_fleet_job *looks; /* whole ones; NULL: there are none */
	size_t nr_units;
	/* of all together, in the order in which they were met; names are the
	 * looks' */
	struct sonde_report_item *machines;
	size_t nr_machines, machines_room;
	struct sonde_read_range range;
	bool hinted;
	/* What of one unit can't be told may be of another: wrong usage is
	 * neither said nor the end. */
	bool forgives;
};

static int on_fail_memory(struct asking *asking)
{
	return sonde_net_fail(&asking->error, -ENOMEM, "no memory");
}

/* ---- hosts ---- */

static int on_take_log(void *ctx, const char *host, const uint8_t trace[16])
{
	struct asking *asking = ctx;
	struct on_host *added;

	(void)trace;
	if (!sonde_fleet_is_any_of(asking->on->hosts, host))
		return 0;
	for (size_t i = 0; i < asking->nr_hosts; i++)
		if (!strcmp(asking->hosts[i].name, host))
			return 0;
	if (SONDE_GROW(asking->hosts, asking->nr_hosts, asking->hosts_room))
		return on_fail_memory(asking);
	added = &asking->hosts[asking->nr_hosts++];
	*added = (struct on_host){ .look = NULL };
	(void)snprintf(added->name, sizeof(added->name), "%s", host);
	return 0;
}

static int compare_hosts(const void *a, const void *b)
{
	return strcmp(((const struct on_host *)a)->name,
		      ((const struct on_host *)b)->name);
}

static int find_hosts(struct asking *asking)
{
	const char *hosts = asking->on->hosts;
	int err = sonde_net_list(asking->net, on_take_log, asking);

	if (!err && !asking->nr_hosts)
		err = sonde_net_fail(&asking->error, -ENOENT,
				     "nothing was shipped to %.300s%s%.100s",
				     asking->on->url, hosts ? " by " : "",
				     hosts ? hosts : "");
	if (!err)
		qsort(asking->hosts, asking->nr_hosts, sizeof(*asking->hosts),
		      compare_hosts);
	return err;
}

/* ---- a round: units are given away until all are done ---- */

static int on_hear(struct asking *asking, struct sonde_fleet_job *job)
{
	char answer[SONDE_FLEET_REPLY_MAX];
	struct sonde_net_heard_word word;
	int n = sonde_net_work_hear(asking->net, HEAR_MS, &word);

	if (n > 0)
		n = sonde_fleet_job_hear(job, sonde_monotonic_ns(), word.bytes,
					 word.size, answer);
	if (n == -ENOMEM)
		return on_fail_memory(asking);
	return n > 0 ? sonde_net_work_answer(asking->net, answer, (size_t)n) :
		       n;
}

/* Whether somebody is there, in the end. */
static int check_workers(struct asking *asking, uint64_t silent_ns)
{
	if (silent_ns >= NOBODY_NS)
		return sonde_net_fail(&asking->error, -ETIMEDOUT,
				      "there was no worker for a minute; run "
				      "'sonde worker --from %.300s -o DIR'",
				      asking->on->url);
	if (silent_ns < HINT_NS || asking->hinted)
		return 0;
	asking->hinted = true;
	sonde_complain("report: waiting for a worker: 'sonde worker --from "
		       "%.300s -o DIR'",
		       asking->on->url);
	return 0;
}

static int on_tend(struct asking *asking, struct sonde_fleet_job *job)
{
	size_t unit = 0;
	int err = sonde_fleet_job_tend(job, sonde_monotonic_ns(), &unit);

	if (err)
		return sonde_net_fail(&asking->error, err,
				      "%u workers died while they were at "
				      "unit %zu of %zu",
				      SONDE_FLEET_TRIES, unit + 1,
				      asking->nr_units);
	return 0;
}

static int on_step(struct asking *asking, struct sonde_fleet_job *job,
		   uint64_t begin_ns, uint64_t *offered_ns)
{
	struct sonde_fleet_job_state state;
	uint64_t now_ns = sonde_monotonic_ns();
	char what[64];
	int err = 0;

	sonde_fleet_job_get(job, now_ns, &state);
	if (state.nr_done == state.nr)
		return 1;
	if (state.nr_free && now_ns - *offered_ns >= OFFER_NS) {
		*offered_ns = now_ns;
		err = sonde_net_work_offer(asking->net);
	}
	if (!err)
		err = check_workers(asking,
				    now_ns - (state.heard_ns ? state.heard_ns :
							       begin_ns));
	(void)snprintf(what, sizeof(what), "%zu of %zu units, %zu workers",
		       state.nr_done, state.nr, state.nr_workers);
	if (!err)
		err = sonde_watch_count(state.nr_done, state.nr, what);
	if (!err)
		err = on_hear(asking, job);
	return err ? err : on_tend(asking, job);
}

static int on_round(struct asking *asking, struct sonde_fleet_job *job)
{
	uint64_t begin_ns = sonde_monotonic_ns();
	uint64_t offered_ns = 0;
	uint8_t id[16];
	int err = getrandom(id, sizeof(id), 0) == sizeof(id) ? 0 : -EIO;

	if (!err)
		err = sonde_net_work_begin(asking->net, id);
	while (!err)
		err = on_step(asking, job, begin_ns, &offered_ns);
	sonde_net_work_end(asking->net);
	return err > 0 ? 0 : err;
}

/* ---- answers ---- */

/* Lines for people. */
static void on_say(const struct sonde_fleet_answer *answer)
{
	const char *at = answer->words;
	const char *end = at + answer->words_size;
	char line[LINE_MAX_BYTES];

	sonde_watch_hide();
	while (at < end) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		size_t length = (size_t)((newline ? newline : end) - at);

		(void)sonde_show_safe(line, sizeof(line), at, length);
		(void)fprintf(stderr, "%s\n", line);
		at += length + 1;
	}
}

static int on_fail_answer(struct asking *asking, int err, uint64_t worker)
{
	return sonde_net_fail(&asking->error, err,
			      "what worker %016" PRIx64 " sent is no report",
			      worker);
}

/* What a unit gave, and who gave it. */
static int on_parse_answer(struct asking *asking,
			   const struct sonde_fleet_job *job, size_t unit,
			   struct sonde_fleet_answer *ret_answer,
			   uint64_t *ret_worker)
{
	size_t size;
	const void *bytes =
		sonde_fleet_job_answer(job, unit, &size, ret_worker);
	int err = sonde_fleet_answer_parse(bytes, size, ret_answer);

	return err ? on_fail_answer(asking, err, *ret_worker) : 0;
}

/* What a unit of these hosts gave: 0 and its items; its exit status; or -errno. */
static int on_open_answer(struct asking *asking,
			  const struct sonde_fleet_job *job, size_t unit,
			  struct sonde_report_item **ret_items, size_t *ret_nr)
{
	struct sonde_fleet_answer answer;
	uint64_t worker;
	int err = on_parse_answer(asking, job, unit, &answer, &worker);

	if (err)
		return err;
	if (asking->forgives && answer.status == SONDE_EXIT_USAGE)
		return 0;
	on_say(&answer);
	if (answer.status)
		return (int)answer.status;
	err = sonde_report_unpack(answer.report, answer.report_size, ret_items,
				  ret_nr);
	return err ? on_fail_answer(asking, err, worker) : 0;
}

/* ---- looks ---- */

static bool is_section(const struct sonde_report *report, size_t i,
		       const char *key, size_t nr_columns, enum sonde_cell cell,
		       struct sonde_section *ret_section)
{
	if (!sonde_report_section(report, i, ret_section) ||
	    ret_section->kind != SONDE_SECTION_TABLE ||
	    strcmp(ret_section->key, key) != 0 ||
	    ret_section->nr_columns != nr_columns || !ret_section->nr_rows)
		return false;
	for (size_t k = 0; k < nr_columns; k++)
		if (ret_section->columns[k].cell != cell)
			return false;
	return true;
}

static void range_add(struct sonde_read_range *all,
		      const struct sonde_cell_value *cells)
{
	const struct sonde_cell_value *begin = &cells[SONDE_LOOK_BEGIN];
	const struct sonde_cell_value *end = &cells[SONDE_LOOK_END];
	const struct sonde_cell_value *last = &cells[SONDE_LOOK_LAST];

	if (begin->set && (!all->has_times || begin->i < all->begin_ns))
		all->begin_ns = begin->i;
	if (end->set && (!all->has_times || end->i > all->end_ns))
		all->end_ns = end->i;
	all->has_times = all->has_times || (begin->set && end->set);
	if (last->set && (!all->has_last || last->i > all->last_ns))
		all->last_ns = last->i;
	all->has_last = all->has_last || last->set;
}

/* The place of that machine; NULL: no memory. */
static struct sonde_report_item *meet_machine(struct asking *asking,
					      const char *name)
{
	for (size_t i = 0; i < asking->nr_machines; i++) {
		struct sonde_report_item *met = &asking->machines[i];

		if (!*met->name) /* it was unknown until now */
			met->name = name;
		if (!*name || !strcmp(met->name, name))
			return met;
	}
	if (SONDE_GROW(asking->machines, asking->nr_machines,
		       asking->machines_room))
		return NULL;
	asking->machines[asking->nr_machines] =
		(struct sonde_report_item){ .name = name };
	return &asking->machines[asking->nr_machines++];
}

static int on_fail_look(struct asking *asking, const struct on_host *host)
{
	return sonde_net_fail(&asking->error, -EINVAL,
			      "what worker %016" PRIx64
			      " sent is no look at %.100s",
			      host->worker, host->name);
}

static int look_take(struct asking *asking, struct on_host *host)
{
	struct sonde_section range;

	if (!host->look->report ||
	    !is_section(host->look->report, 0, SONDE_LOOK_MACHINES, 1,
			SONDE_CELL_TEXT, &host->machines) ||
	    !is_section(host->look->report, 1, SONDE_LOOK_RANGE,
			SONDE_LOOK_NR_COLUMNS, SONDE_CELL_TIME, &range))
		return on_fail_look(asking, host);
	range_add(&asking->range, range.cells);
	for (size_t i = 0; i < host->machines.nr_rows; i++) {
		if (!host->machines.cells[i].set)
			return sonde_net_fail(&asking->error, -EINVAL,
					      "a machine has no name");
		if (!meet_machine(asking, host->machines.cells[i].text))
			return on_fail_memory(asking);
	}
	return 0;
}

/* Whether their traces have to be read together: they have a machine in common, or
 * `later` has traces of an unknown one, which are the first one's then. */
static bool are_together(const struct asking *asking,
			 const struct on_host *earlier,
			 const struct on_host *later)
{
	for (size_t i = 0; i < later->machines.nr_rows; i++) {
		const char *name = later->machines.cells[i].text;

		if (!*name && earlier == asking->hosts)
			return true;
		for (size_t k = 0; *name && k < earlier->machines.nr_rows; k++)
			if (!strcmp(earlier->machines.cells[k].text, name))
				return true;
	}
	return false;
}

/* Which unit each host belongs to; units have the order of their first hosts. */
static void make_units(struct asking *asking)
{
	struct on_host *hosts = asking->hosts;

	for (size_t i = 0; i < asking->nr_hosts; i++) {
		hosts[i].unit = i;
		for (size_t k = 0; k < i; k++) {
			size_t other = hosts[k].unit;
			size_t mine = hosts[i].unit;

			if (other == mine ||
			    !are_together(asking, &hosts[k], &hosts[i]))
				continue;
			for (size_t n = 0; n <= i; n++)
				if (hosts[n].unit == mine ||
				    hosts[n].unit == other)
					hosts[n].unit =
						mine < other ? mine : other;
		}
	}
}

/* What all requests have in common; false: a text is too long. */
static bool request_base(const struct asking *asking,
			 struct sonde_fleet_request *request)
{
	const char *traces = asking->on->traces;

	memset(request, 0, sizeof(*request));
	request->from_ns = SONDE_TIME_MIN;
	request->to_ns = SONDE_TIME_MAX;
	if (!traces)
		return true;
	return snprintf(request->texts[SONDE_FLEET_TRACES],
			SONDE_FLEET_TEXT_MAX + 1, "%s",
			traces) <= (int)SONDE_FLEET_TEXT_MAX;
}

static int on_fail_long(struct asking *asking)
{
	return sonde_net_fail(&asking->error, -E2BIG,
			      "what is asked is too long: an expression may "
			      "have %u bytes, all together some 8000",
			      SONDE_FLEET_TEXT_MAX);
}

static bool put_ask(struct sonde_fleet_request *request,
		    const struct sonde_read *read,
		    const struct sonde_read_ask *ask, const char *name)
{
	const char *const texts[SONDE_FLEET_NR_TEXTS] = {
		[SONDE_FLEET_REPORT] = name,
		[SONDE_FLEET_FILTER] = read->filter_text,
		[SONDE_FLEET_BEGIN] = ask->list[SONDE_READ_BEGIN].text,
		[SONDE_FLEET_END] = ask->list[SONDE_READ_END].text,
		[SONDE_FLEET_KEY] = ask->list[SONDE_READ_KEY].text,
		[SONDE_FLEET_VALUE] = ask->list[SONDE_READ_VALUE].text,
		[SONDE_FLEET_BY] = ask->by,
	};

	for (size_t i = SONDE_FLEET_REPORT; i < SONDE_FLEET_NR_TEXTS; i++)
		if (texts[i] &&
		    snprintf(request->texts[i], SONDE_FLEET_TEXT_MAX + 1, "%s",
			     texts[i]) > (int)SONDE_FLEET_TEXT_MAX)
			return false;
	request->nth = ask->nth;
	request->over_us = ask->over_us;
	request->limit = read->limit;
	request->flags = (ask->explain ? (uint64_t)SONDE_FLEET_EXPLAIN : 0) |
			 (ask->no_names ? (uint64_t)SONDE_FLEET_NO_NAMES : 0) |
			 (read->shows_own ? (uint64_t)SONDE_FLEET_SELF : 0) |
			 (read->quiet ? (uint64_t)SONDE_FLEET_QUIET : 0) |
			 (read->json ? (uint64_t)SONDE_FLEET_JSON : 0);
	return true;
}

/* The answer of a host that was looked at: 0, its exit status, or -errno. What a whole
 * one has in words is said when its report is used; one of wrong usage is none. */
static int look_open(struct asking *asking, const struct sonde_fleet_job *job,
		     size_t unit, struct on_host *host)
{
	struct sonde_fleet_answer *answer = &host->answer;
	bool is_whole = job == asking->looks;
	int err = on_parse_answer(asking, job, unit, answer, &host->worker);

	if (err)
		return err;
	host->is_refused |= is_whole && answer->status == SONDE_EXIT_USAGE;
	if (is_whole && host->is_refused)
		return 0;
	if (!is_whole || answer->status)
		on_say(answer);
	if (answer->status)
		return (int)answer->status;
	err = sonde_report_unpack(answer->report, answer->report_size,
				  &host->look, &host->nr_look);
	if (err)
		return on_fail_answer(asking, err, host->worker);
	return !host->nr_look || (host->nr_look > 1 && !is_whole) ?
		       on_fail_look(asking, host) :
		       0;
}

/* All hosts that there is no look at yet. */
static int on_look(struct asking *asking, struct sonde_fleet_job *job,
		   struct sonde_fleet_request *request)
{
	size_t unit = 0;
	int err = job ? 0 : on_fail_memory(asking);

	request->looks = true;
	asking->nr_units = 0;
	for (size_t i = 0; !err && i < asking->nr_hosts; i++) {
		if (asking->hosts[i].look)
			continue;
		asking->nr_units++;
		(void)snprintf(request->texts[SONDE_FLEET_HOSTS],
			       SONDE_FLEET_TEXT_MAX + 1, "%s",
			       asking->hosts[i].name);
		if (sonde_fleet_job_add(job, request, 0))
			err = on_fail_long(asking);
	}
	if (!err && asking->nr_units)
		err = on_round(asking, job);
	for (size_t i = 0; !err && i < asking->nr_hosts; i++)
		if (!asking->hosts[i].look)
			err = look_open(asking, job, unit++, &asking->hosts[i]);
	request->looks = false;
	return err;
}

static bool on_has_span(const struct sonde_read *read)
{
	return read->from_text || read->to_text || read->last_text;
}

/* At all hosts: with what is asked if that can be, or else by themselves. */
static int on_look_all(struct asking *asking,
		       struct sonde_fleet_request *request)
{
	static struct sonde_fleet_request plain;
	struct sonde_fleet_job *job = NULL;
	int err = 0;

	if (!request_base(asking, &plain))
		return on_fail_long(asking);
	/* whole ones give no report of one machine alone */
	if (asking->nr_hosts > 1 && !on_has_span(asking->read)) {
		asking->looks = sonde_fleet_job_new();
		err = on_look(asking, asking->looks, request);
	}
	if (!err) {
		job = sonde_fleet_job_new();
		err = on_look(asking, job, &plain);
		sonde_fleet_job_free(job);
	}
	for (size_t i = 0; !err && i < asking->nr_hosts; i++)
		err = look_take(asking, &asking->hosts[i]);
	return err;
}

/* ---- reports ---- */

/* The hosts of a unit, for the worker that looked at its first one. */
static int on_add_unit(struct asking *asking, struct sonde_fleet_job *job,
		       struct sonde_fleet_request *request, size_t unit)
{
	struct sonde_text names = { .to = request->texts[SONDE_FLEET_HOSTS],
				    .size = SONDE_NET_PATH_MAX };

	for (size_t i = unit; i < asking->nr_hosts; i++)
		if (asking->hosts[i].unit == unit)
			sonde_text_add(&names, "%s%s", names.length ? "/" : "",
				       asking->hosts[i].name);
	if (names.length >= names.size)
		return sonde_net_fail(&asking->error, -E2BIG,
				      "more hosts than fit have traces of one "
				      "machine, as %.100s has; give --hosts",
				      asking->hosts[unit].name);
	return sonde_fleet_job_add(job, request, asking->hosts[unit].worker) ?
		       on_fail_long(asking) :
		       0;
}

/* A machine's report, which is taken. */
static int put_machine(struct asking *asking, struct sonde_report_item *item)
{
	struct sonde_report_item *met = NULL;

	for (size_t i = 0; !met && i < asking->nr_machines; i++)
		if (!strcmp(asking->machines[i].name, item->name))
			met = &asking->machines[i];
	if (!met || met->report)
		return sonde_net_fail(
			&asking->error, -ESTALE,
			"traces of '%.100s' came while the report "
			"was made; ask again",
			item->name);
	met->report = item->report;
	item->report = NULL;
	return 0;
}

static int on_take_unit(struct asking *asking,
			const struct sonde_fleet_job *job, size_t unit)
{
	struct sonde_report_item *items = NULL;
	size_t nr = 0;
	int err = on_open_answer(asking, job, unit, &items, &nr);

	for (size_t i = 0; !err && i < nr; i++)
		if (items[i].report)
			err = put_machine(asking, &items[i]);
	sonde_report_unpacked_free(items, nr);
	return err;
}

/* Of a unit of one host whose look was whole. */
static int on_take_whole(struct asking *asking, struct on_host *host)
{
	int err = 0;

	if (host->is_refused) /* which is forgiven */
		return 0;
	on_say(&host->answer);
	for (size_t i = 1; !err && i < host->nr_look; i++)
		if (host->look[i].report)
			err = put_machine(asking, &host->look[i]);
	return err;
}

/* Whether what the unit of this host is asked for came with its look. */
static bool on_has_made(const struct asking *asking, size_t unit)
{
	size_t nr = 0;

	for (size_t i = unit; i < asking->nr_hosts; i++)
		nr += asking->hosts[i].unit == unit;
	return asking->looks && asking->forgives && nr == 1;
}

static int on_ask_units(struct asking *asking, struct sonde_fleet_job *job,
			struct sonde_fleet_request *request, size_t nr)
{
	int err = 0;

	asking->nr_units = 0;
	for (size_t i = 0; !err && i < nr; i++) {
		if (asking->hosts[i].unit != i || on_has_made(asking, i))
			continue;
		asking->nr_units++;
		err = on_add_unit(asking, job, request, i);
	}
	return !err && asking->nr_units ? on_round(asking, job) : err;
}

/* All units, or (`is_why`) the first one, which is to say why there is nothing. */
static int on_report(struct asking *asking, struct sonde_fleet_request *request,
		     bool is_why)
{
	struct sonde_fleet_job *job = sonde_fleet_job_new();
	size_t nr = is_why ? 1 : asking->nr_hosts;
	size_t unit = 0;
	int err = job ? 0 : on_fail_memory(asking);

	asking->forgives = !is_why && asking->nr_machines > 1;
	if (!err)
		err = on_ask_units(asking, job, request, nr);
	for (size_t i = 0; !err && i < nr; i++) {
		if (asking->hosts[i].unit != i)
			continue;
		err = on_has_made(asking, i) ?
			      on_take_whole(asking, &asking->hosts[i]) :
			      on_take_unit(asking, job, unit++);
	}
	sonde_fleet_job_free(job);
	return err;
}

static int on_ask(struct asking *asking, const struct sonde_read_ask *ask,
		  const struct sonde_analysis *analysis)
{
	static struct sonde_fleet_request request;
	struct sonde_map_options *map = &asking->read->map;
	int err = 0;

	if (!request_base(asking, &request) ||
	    !put_ask(&request, asking->read, ask, analysis->name))
		return on_fail_long(asking);
	err = on_look_all(asking, &request);
	if (err)
		return err;
	sonde_map_options_init(map);
	if (on_has_span(asking->read) &&
	    sonde_read_span(asking->read, &asking->range, map))
		return SONDE_EXIT_USAGE;
	request.from_ns = map->from_ns;
	request.to_ns = map->to_ns;
	make_units(asking);
	if (asking->nr_machines == 1)
		request.flags |= SONDE_FLEET_ONLY;
	err = on_report(asking, &request, false);
	if (err || sonde_read_has_made(asking->machines, asking->nr_machines))
		return err;
	request.flags |= SONDE_FLEET_ONLY;
	err = on_report(asking, &request, true);
	return err ? err : 1;
}

/* ---- the whole ---- */

static int on_show(struct asking *asking)
{
	struct sonde_read *read = asking->read;
	int status;

	if (asking->nr_machines == 1)
		return sonde_read_finish(read, asking->machines[0].report, 0);
	if (!read->output)
		sonde_pager_begin();
	status = sonde_show_machines(&read->show, asking->machines,
				     asking->nr_machines, read->to);
	return sonde_read_finish(read, NULL, status);
}

static int on_run(struct asking *asking, const struct sonde_read_ask *ask,
		  const struct sonde_analysis *analysis)
{
	int status = find_hosts(asking);

	if (!status)
		status = on_ask(asking, ask, analysis);
	sonde_watch_end();
	if (!status)
		return on_show(asking);
	if (status < 0 && status != -EINTR) {
		sonde_complain("report: %s", asking->error.text);
		status = 1;
	}
	return sonde_read_finish(asking->read, NULL, status);
}

int sonde_command_report_on(const struct sonde_read_on *on,
			    struct sonde_read *read,
			    const struct sonde_read_ask *ask,
			    const struct sonde_analysis *analysis)
{
	struct asking asking = { .on = on, .read = read };
	int status = sonde_read_open_output(read);

	if (status)
		return status;
	if (sonde_net_open(on->url, &sonde_command_net, &asking.error,
			   &asking.net)) {
		sonde_complain("report: %s", asking.error.text);
		return sonde_read_finish(read, NULL, SONDE_EXIT_USAGE);
	}
	sonde_watch_begin("report", true);
	status = on_run(&asking, ask, analysis);
	sonde_net_close(asking.net);
	for (size_t i = 0; i < asking.nr_machines; i++)
		sonde_report_free(asking.machines[i].report);
	for (size_t i = 0; i < asking.nr_hosts; i++)
		sonde_report_unpacked_free(asking.hosts[i].look,
					   asking.hosts[i].nr_look);
	sonde_fleet_job_free(asking.looks);
	free(asking.machines);
	free(asking.hosts);
	return status;
}
