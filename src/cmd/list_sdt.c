/* SPDX-License-Identifier: MIT */
/*
 * list_sdt.c - `sonde list` of what <sys/sdt.h> left in files: a line for each
 * place, with its arguments as the compiler wrote them (list.h).
 *
 * One probe has several places where its code was inlined. Sorting is by
 * provider, name and address; what several files have alike stands once.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/json.h"
#include "cmd/list.h"
#include "types/sdt.h"

#define SITES_MAX 100000u

struct sonde_list_site {
	char *name; /* "sdt:provider:name" */
	char *arguments;
	uint64_t address, semaphore;
};

int sonde_list_add_site(struct sonde_list_sites *sites,
			const struct sonde_sdt_site *site)
{
	struct sonde_list_site *to;

	if (sites->nr == SITES_MAX)
		return -E2BIG;
	if (SONDE_GROW(sites->at, sites->nr, sites->room))
		return -ENOMEM;
	to = &sites->at[sites->nr];
	*to = (struct sonde_list_site){ .address = site->address,
					.semaphore = site->semaphore };
	if (asprintf(&to->name, "sdt:%s:%s", site->provider, site->name) < 0)
		return -ENOMEM;
	sites->nr++;
	to->arguments = strdup(site->arguments);
	return to->arguments ? 0 : -ENOMEM;
}

static void free_site(struct sonde_list_site *site)
{
	free(site->name);
	free(site->arguments);
}

void sonde_list_free_sites(struct sonde_list_sites *sites)
{
	for (size_t i = 0; i < sites->nr; i++)
		free_site(&sites->at[i]);
	free(sites->at);
}

static int list_compare_sites(const void *a, const void *b)
{
	const struct sonde_list_site *x = a;
	const struct sonde_list_site *y = b;
	int order = strcmp(x->name, y->name);

	if (order == 0)
		order = (x->address > y->address) - (x->address < y->address);
	return order ? order : strcmp(x->arguments, y->arguments);
}

void sonde_list_sort_sites(struct sonde_list_sites *sites)
{
	size_t kept = 0;

	if (sites->nr > 0)
		qsort(sites->at, sites->nr, sizeof(*sites->at),
		      list_compare_sites);
	for (size_t i = 0; i < sites->nr; i++) {
		if (kept > 0 &&
		    !list_compare_sites(&sites->at[kept - 1], &sites->at[i]))
			free_site(&sites->at[i]);
		else
			sites->at[kept++] = sites->at[i];
	}
	sites->nr = kept;
}

void sonde_list_drop_sites(struct sonde_list_sites *sites,
			   bool (*is_ours)(const void *user, const char *name),
			   const void *user)
{
	size_t kept = 0;

	for (size_t i = 0; i < sites->nr; i++) {
		if (is_ours(user, sites->at[i].name + strlen("sdt:")))
			free_site(&sites->at[i]);
		else
			sites->at[kept++] = sites->at[i];
	}
	sites->nr = kept;
}

static void print_arguments(const char *at)
{
	struct sonde_sdt_argument argument;
	const char *between = "  ";

	while (sonde_sdt_argument(&at, &argument)) {
		(void)printf("%s%s %.*s", between, sonde_sdt_type(&argument),
			     (int)argument.length, argument.text);
		between = ", ";
	}
	/* What isn't understood, as it stands there. */
	if (*at)
		(void)printf("%s? %s", between, at);
	(void)putchar('\n');
}

void sonde_list_print_sites(const struct sonde_list_sites *sites, bool bold)
{
	int width = 5;

	for (size_t i = 0; i < sites->nr; i++) {
		size_t length = strlen(sites->at[i].name);

		if (length > (size_t)width && length <= 48)
			width = (int)length;
	}
	if (sites->nr > 0)
		(void)printf("%s%-*s  %-12s  %-12s  ARGUMENTS%s\n",
			     bold ? "\033[1m" : "", width, "PROBE", "LOCATION",
			     "SEMAPHORE", bold ? "\033[0m" : "");
	for (size_t i = 0; i < sites->nr; i++) {
		const struct sonde_list_site *site = &sites->at[i];
		char semaphore[24] = "-";

		if (site->semaphore)
			(void)snprintf(semaphore, sizeof(semaphore),
				       "0x%" PRIx64, site->semaphore);
		(void)printf("%-*s  0x%-10" PRIx64 "  %-12s", width, site->name,
			     site->address, semaphore);
		print_arguments(site->arguments);
	}
}

static void put_argument(struct sonde_json *json, unsigned int number,
			 const struct sonde_sdt_argument *argument)
{
	char name[16];

	(void)snprintf(name, sizeof(name), "arg%u", number);
	sonde_json_line(json, 4);
	sonde_json_open(json, NULL, '{');
	sonde_json_put_text(json, "name", name);
	sonde_json_put_text(json, "type", sonde_sdt_type(argument));
	sonde_json_put_bytes(json, "operand", argument->text, argument->length);
	sonde_json_close(json, '}');
}

static void list_put_site(const struct sonde_list_site *site,
			  struct sonde_json *json)
{
	struct sonde_sdt_argument argument;
	const char *at = site->arguments;

	sonde_json_line(json, 2);
	sonde_json_open(json, NULL, '{');
	sonde_json_put_text(json, "event", site->name);
	sonde_json_put_raw(json, "level", "null");
	sonde_json_put_bool(json, "conflict", false);
	sonde_json_put_unsigned(json, "location", site->address);
	if (site->semaphore)
		sonde_json_put_unsigned(json, "semaphore", site->semaphore);
	else
		sonde_json_put_raw(json, "semaphore", "null");
	sonde_json_open(json, "fields", '[');
	for (unsigned int i = 1; sonde_sdt_argument(&at, &argument); i++)
		put_argument(json, i, &argument);
	sonde_json_close(json, ']');
	if (*at)
		sonde_json_put_text(json, "not_understood", at);
	sonde_json_close(json, '}');
}

void sonde_list_put_sites(const struct sonde_list_sites *sites,
			  struct sonde_json *json)
{
	for (size_t i = 0; i < sites->nr; i++)
		list_put_site(&sites->at[i], json);
}
