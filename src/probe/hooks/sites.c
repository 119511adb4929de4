/* SPDX-License-Identifier: MIT */
/*
 * sites.c - see sites.h. Cost: reading the notes of all of the process's files,
 * and a round of patching for each place.
 */
#include "probe/hooks/sites.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/nearest.h"
#include "base/text.h"
#include "probe/hooks/traced.h"
#include "probe/inject/inject.h"
#include "probe/semaphore.h"
#include "source/rules.h"
#include "types/desc.h"
#include "types/select.h"

#define NAME_MAX_BYTES SONDE_FULL_NAME_MAX

static void site_name(const struct sonde_probe_marker *marker,
		      char to[NAME_MAX_BYTES])
{
	(void)snprintf(to, NAME_MAX_BYTES, "sdt:%.250s:%.250s",
		       marker->provider, marker->name);
}

/* ---- which ---- */

/* What is wanted of a place. */
struct wanted {
	const char *condition; /* NULL: always */
	uint32_t texts;
};

static bool rule_matches(const char *rule, const char *name,
			 struct wanted *wanted)
{
	char glob[SONDE_GLOB_MAX];
	size_t length = sonde_source_site_rule(rule, &wanted->texts,
					       &wanted->condition);

	if (length >= sizeof(glob))
		return false;
	memcpy(glob, rule, length);
	glob[length] = '\0';
	return sonde_glob_match(glob, name);
}

/* By the last rule that matches; *matched gets a bit for each that does. */
static bool place_is_meant(const struct sonde_hooks_site_rules *rules,
			   const char *name, struct wanted *ret_wanted,
			   uint32_t *matched)
{
	struct wanted wanted;
	bool is_any = false;

	for (size_t i = 0; i < rules->nr; i++) {
		if (!rule_matches(rules->list[i], name, &wanted))
			continue;
		*matched |= 1u << i;
		*ret_wanted = wanted;
		is_any = true;
	}
	return is_any &&
	       sonde_select(rules->rules, rules->rules_size, SONDE_INFO, "sdt",
			    name + strlen("sdt:"), SONDE_INFO);
}

static void note_left(struct sonde_hooks_sites *sites, const char *name,
		      const struct sonde_hooks_site *site, unsigned int nr)
{
	if (nr && !sites->nr_left)
		(void)snprintf(sites->left, sizeof(sites->left),
			       "of %.60s, whose arguments are %.60s", name,
			       site->marker->extra);
	sites->nr_left += nr;
}

static void note_out(struct sonde_hooks_sites *sites, const char *name,
		     const char *why)
{
	if (!sites->nr_out++)
		(void)snprintf(sites->out, sizeof(sites->out), "%.60s: %.90s",
			       name, why);
}

static int set_condition(struct sonde_hooks_site *site, const char *condition,
			 const char *name, struct sonde_process_error *error)
{
	char text[160];
	int rc = condition ? sonde_hooks_arguments_filter(site->arguments,
							  condition, text,
							  sizeof(text)) :
			     0;

	if (rc == -EINVAL)
		sonde_process_error_set(error, "-e '%.60s if %.60s': %s", name,
					condition, text);
	return rc;
}

struct sites_making {
	pid_t pid;
	struct sonde_hooks_sites *sites;
	const struct sonde_hooks_site_rules *rules;
	uint32_t matched; /* a bit for each rule */
	struct sonde_process_error *error;
};

static int add_meant(struct sites_making *m,
		     const struct sonde_probe_marker *marker)
{
	struct sonde_hooks_sites *sites = m->sites;
	struct sonde_hooks_site site = { .marker = marker,
					 .probe = SONDE_HOOKS_NO_PROBE };
	char name[NAME_MAX_BYTES];
	struct wanted wanted = { .condition = NULL };
	unsigned int left;
	int rc;

	site_name(marker, name);
	if (marker->is_event ||
	    !place_is_meant(m->rules, name, &wanted, &m->matched))
		return 0;
	if (sites->nr == SONDE_AGENT_PROBES_MAX) {
		note_out(sites, name, "there is no room for more probes");
		return 0;
	}
	if (SONDE_GROW(sites->list, sites->nr, sites->room))
		return -ENOMEM;
	rc = sonde_hooks_arguments_of_site(m->pid, marker, wanted.texts, &left,
					   &site.arguments);
	if (rc == -EINVAL)
		note_out(sites, name, "no event can be called so");
	if (rc)
		return rc == -EINVAL ? 0 : rc;
	sites->list[sites->nr++] = site;
	note_left(sites, name, &site, left);
	rc = set_condition(&site, wanted.condition, name, m->error);
	if (rc != -ENOENT)
		return rc;
	note_out(sites, name, "its condition never holds here");
	sonde_hooks_arguments_free(site.arguments);
	sites->nr--;
	return 0;
}

static int explain_none(const struct sites_making *m)
{
	const struct sonde_hooks_sites *sites = m->sites;
	struct sonde_nearest nearest;
	struct wanted wanted;
	char name[NAME_MAX_BYTES];

	(void)snprintf(name, sizeof(name), "%.*s",
		       (int)sonde_source_site_rule(m->rules->list[0],
						   &wanted.texts,
						   &wanted.condition),
		       m->rules->list[0]);
	sonde_nearest_begin(&nearest, name);
	for (size_t i = 0; i < sites->markers.nr; i++) {
		site_name(&sites->markers.list[i], name);
		if (!sites->markers.list[i].is_event)
			sonde_nearest_try(&nearest, name);
	}
	sonde_process_error_set(
		m->error, "process %d: -e '%.100s': %s%s", (int)m->pid,
		m->rules->list[0],
		sites->nr_out ? sites->out :
				"no probe of <sys/sdt.h> in its files is "
				"called so (sonde list FILE shows them)",
		sites->nr_out ? "" : sonde_nearest_hint(&nearest));
	return -ENOENT;
}

int sonde_hooks_sites_make(const struct sonde_process *process,
			   const struct sonde_hooks_site_rules *rules,
			   struct sonde_hooks_sites *ret,
			   struct sonde_process_error *error)
{
	struct sites_making m = { .pid = sonde_process_pid(process),
				  .sites = ret,
				  .rules = rules,
				  .error = error };
	int rc = sonde_probe_markers_find(m.pid, &ret->markers);

	for (size_t i = 0; !rc && i < ret->markers.nr; i++)
		rc = add_meant(&m, &ret->markers.list[i]);
	if (!rc && !ret->nr)
		return explain_none(&m);
	for (size_t i = 0; !rc && i < rules->nr; i++)
		if (!(m.matched >> i & 1))
			note_out(ret, rules->list[i], "nothing is called so");
	if (rc && rc != -EINVAL)
		sonde_process_error_set(error, "process %d: its probes: %s",
					(int)m.pid, strerrordesc_np(-rc));
	return rc;
}

/* ---- probes ---- */

static int put_place(struct sonde_hooks_sites *sites,
		     struct sonde_hooks_site *site, struct sonde_probes *probes)
{
	struct sonde_probe_spec spec = {
		.address = site->marker->address,
		.force_register = 255,
		.is_filtered = site->arguments->filter.program,
	};
	struct sonde_process_error error = { "" };
	struct sonde_probe_facts facts;
	char name[NAME_MAX_BYTES];
	int rc;

	sonde_hooks_arguments_collect(site->arguments, &spec);
	rc = sonde_probes_add(probes, &spec, &error, &site->probe);
	if (rc) {
		site->probe = SONDE_HOOKS_NO_PROBE;
		site_name(site->marker, name);
		note_out(sites, name, error.text);
	} else if (!sonde_probes_facts(probes, site->probe, &facts)) {
		sites->nr_traps += facts.kind == SONDE_WINDOW_TRAP;
	}
	/* These are the end of all. */
	return rc == -EPIPE || rc == -ESRCH || rc == -ENOMEM ? rc : 0;
}

int sonde_hooks_sites_put(struct sonde_hooks_sites *sites,
			  struct sonde_probes *probes,
			  struct sonde_process_error *error)
{
	size_t nr_in = 0;
	int rc = 0;

	for (size_t i = 0; !rc && i < sites->nr; i++) {
		rc = put_place(sites, &sites->list[i], probes);
		nr_in += sites->list[i].probe != SONDE_HOOKS_NO_PROBE;
	}
	if (!rc && nr_in)
		return 0;
	sonde_process_error_set(error, "none of %zu probes can be put in: %s",
				sites->nr, sites->out);
	return rc ? rc : -ENOENT;
}

/* Several places of one probe have one. */
static bool is_first_of_semaphore(const struct sonde_hooks_sites *sites,
				  size_t at)
{
	for (size_t i = 0; i < at; i++)
		if (sites->list[i].probe != SONDE_HOOKS_NO_PROBE &&
		    sites->list[i].marker->semaphore ==
			    sites->list[at].marker->semaphore)
			return false;
	return true;
}

size_t sonde_hooks_sites_raise(struct sonde_hooks_sites *sites,
			       const struct sonde_process *process, bool raise)
{
	size_t nr_failed = 0;

	if (sites->is_raised == raise)
		return 0;
	sites->is_raised = raise;
	for (size_t i = 0; i < sites->nr; i++) {
		const struct sonde_hooks_site *site = &sites->list[i];

		if (site->probe != SONDE_HOOKS_NO_PROBE &&
		    site->marker->semaphore && is_first_of_semaphore(sites, i))
			nr_failed += sonde_probe_semaphore_change(
					     process, site->marker->semaphore,
					     raise) != 0;
	}
	return nr_failed;
}

/* ---- words ---- */

void sonde_hooks_sites_tell(const struct sonde_hooks_sites *sites, char *to,
			    size_t size)
{
	struct sonde_text text = { .to = to, .size = size };
	size_t nr_in = 0;

	for (size_t i = 0; i < sites->nr; i++)
		nr_in += sites->list[i].probe != SONDE_HOOKS_NO_PROBE;
	sonde_text_add(&text, "%zu place%s of <sys/sdt.h> probes %s recorded",
		       nr_in, nr_in == 1 ? "" : "s", nr_in == 1 ? "is" : "are");
	if (sites->nr_traps)
		sonde_text_add(&text,
			       ", %zu of them by a trap, which takes "
			       "microseconds",
			       sites->nr_traps);
	if (sites->nr_out)
		sonde_text_add(&text, "; %zu can't be (%s)", sites->nr_out,
			       sites->out);
	if (sites->nr_left)
		sonde_text_add(&text,
			       "; %zu argument%s can't be had and %s left out "
			       "(%s)",
			       sites->nr_left, sites->nr_left == 1 ? "" : "s",
			       sites->nr_left == 1 ? "is" : "are", sites->left);
}

uint64_t sonde_hooks_sites_cut(const struct sonde_hooks_sites *sites,
			       const struct sonde_probes *probes)
{
	struct sonde_probe_facts facts;
	uint64_t nr = 0;

	for (size_t i = 0; i < sites->nr; i++)
		if (sites->list[i].probe != SONDE_HOOKS_NO_PROBE &&
		    !sonde_probes_facts(probes, sites->list[i].probe, &facts))
			nr += facts.cut;
	return nr;
}

void sonde_hooks_sites_free(struct sonde_hooks_sites *sites)
{
	for (size_t i = 0; i < sites->nr; i++)
		sonde_hooks_arguments_free(sites->list[i].arguments);
	free(sites->list);
	sonde_probe_markers_free(&sites->markers);
	*sites = (struct sonde_hooks_sites){ .nr = 0 };
}
