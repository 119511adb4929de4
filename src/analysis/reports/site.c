/* SPDX-License-Identifier: MIT */
/*
 * site.c - keys and names of call sites.
 *
 * A site's span of use only grows. A look-up costs some 20 us, once for each
 * site: the names keep what they found.
 */
#include "analysis/reports/site.h"

#include "analysis/model/kernel.h"

struct sonde_key sonde_analysis_site_key(uint64_t caller, uint64_t image,
					 uint32_t stack)
{
	image += stack * UINT64_C(0x9e3779b97f4a7c15);
	return sonde_key_make(SONDE_KEY_HEX, caller,
			      (uint32_t)(image >> 32) * 0x9e3779b1u +
				      (uint32_t)image);
}

void sonde_analysis_site_use(struct sonde_analysis_site *site, uint64_t caller,
			     uint64_t image, int64_t time_ns)
{
	bool is_new = !site->caller;

	site->caller = caller;
	site->image = image;
	if (is_new || time_ns < site->first_ns)
		site->first_ns = time_ns;
	if (is_new || time_ns > site->last_ns)
		site->last_ns = time_ns;
}

struct sonde_analysis_site
sonde_analysis_site_of(const struct sonde_model_stack *stack, int64_t time_ns)
{
	struct sonde_analysis_site site = {
		.first_ns = time_ns,
		.last_ns = time_ns,
	};

	if (stack->number) {
		site.image = sonde_names_process(stack->source, stack->pid);
		site.stack = stack->number;
	}
	return site;
}

static struct sonde_names_place
place_of_site(const struct sonde_analysis_site *site, bool is_return)
{
	return (struct sonde_names_place){
		.image = site->image,
		.address = site->caller,
		.from_ns = site->first_ns,
		.to_ns = site->last_ns,
		.is_return = is_return,
	};
}

const struct sonde_name *
sonde_analysis_site_name(const struct sonde_analysis_args *args,
			 const struct sonde_analysis_site *site)
{
	const struct sonde_names_place place = place_of_site(site, true);

	return sonde_names_has_mappings(args->names) ?
		       sonde_names_code(args->names, &place) :
		       NULL;
}

const char *sonde_analysis_site_text(const struct sonde_analysis_args *args,
				     const struct sonde_analysis_site *site)
{
	const struct sonde_name *name = sonde_analysis_site_name(args, site);

	return name ? name->text : NULL;
}

const char *sonde_analysis_site_variable(const struct sonde_analysis_args *args,
					 const struct sonde_analysis_site *site)
{
	const struct sonde_names_place place = place_of_site(site, false);

	return sonde_names_has_mappings(args->names) ?
		       sonde_names_variable(args->names, &place) :
		       NULL;
}

/* Where the stack has the call itself; `nr` if it ends before, as it may in a
 * process's first milliseconds. */
static uint32_t first_frame(const struct sonde_names_stack *stack,
			    uint64_t caller)
{
	for (uint32_t i = 0; caller && i < stack->nr; i++)
		if ((stack->frames[i] & ~SONDE_NAMES_EXACT) == caller)
			return i;
	return caller && (stack->end == SONDE_NAMES_UNKNOWN ||
			  stack->end == SONDE_NAMES_OTHER) ?
		       stack->nr :
		       0;
}

struct sonde_names_stack
sonde_analysis_site_stack(const struct sonde_analysis_args *args,
			  const struct sonde_analysis_site *site)
{
	const struct sonde_names_stack *known =
		sonde_names_stack_number(args->names, site->image, site->stack);
	struct sonde_names_stack stack = {
		.nr = site->caller != 0,
		.end = SONDE_NAMES_UNKNOWN,
		.frames = &site->caller,
	};
	uint32_t first = known ? first_frame(known, site->caller) : 0;

	if (!known || first == known->nr)
		return stack;
	stack = *known;
	stack.nr -= first;
	stack.frames += first;
	return stack;
}

struct sonde_names_place
sonde_analysis_site_place(const struct sonde_analysis_site *site,
			  uint64_t frame)
{
	struct sonde_names_place place = {
		.image = site->image,
		.from_ns = site->first_ns,
		.to_ns = site->last_ns,
	};

	place.address = sonde_names_frame_address(frame, &place.is_return);
	return place;
}
