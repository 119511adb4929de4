/* SPDX-License-Identifier: MIT */
/*
 * kernel.c - a model as a header for modules of the kernel (sonde/kernel.h): an
 * event is a tracepoint of the kernel's, whose one argument leads to what its
 * function was called with, and to a function that puts these into a record
 * (put.h). The description is the one that a program would have, as a note.
 */
#include <string.h>

#include "generate/header.h"
#include "generate/put.h"
#include "types/desc.h"

struct kernel_event {
	const struct sonde_generate_model *model;
	const struct sonde_generate_event *event;
	FILE *to;
};

/* Of a tracepoint, "sonde1_shop__opened". */
static void kernel_put_name(const struct kernel_event *of, const char *before,
			    const char *behind)
{
	(void)fprintf(of->to, "%ssonde1_%s__%s%s", before, of->model->provider,
		      of->event->name, behind);
}

static void kernel_put_body(const struct kernel_event *of)
{
	const char *provider = of->model->provider;
	const char *name = of->event->name;

	(void)fprintf(of->to,
		      "struct %s_%s_sonde {\n"
		      "\tstruct sonde_kernel_call sonde_call;\n",
		      provider, name);
	sonde_generate_put_kept(of->event->payload, of->to);
	(void)fprintf(of->to,
		      "};\n\nSONDE_KERNEL_PUT void %s_%s_sonde_put("
		      "struct sonde_kernel *sonde_to,\n"
		      "\tconst struct sonde_kernel_call *sonde_call)\n{\n"
		      "\tconst struct %s_%s_sonde *sonde_of =\n"
		      "\t\tcontainer_of(sonde_call, struct %s_%s_sonde, "
		      "sonde_call);\n\n\t(void)sonde_of, (void)sonde_to;",
		      provider, name, provider, name, provider, name);
	sonde_generate_put_fields("kernel", "sonde_of->", of->event->payload,
				  of->to);
	(void)fputs("\n}\n\n", of->to);
}

static void kernel_put_function(const struct kernel_event *of)
{
	const struct sonde_class *payload = of->event->payload;
	const char *provider = of->model->provider;
	const char *name = of->event->name;

	sonde_generate_put_about("", of->event->about, of->to);
	(void)fprintf(of->to, "static inline void %s_%s(", provider, name);
	sonde_generate_put_arguments(payload, of->to);
	(void)fputs(payload->nr_members ? ")\n{\n" : "void)\n{\n", of->to);
	kernel_put_name(of, "\tif (trace_", "_enabled()) {\n");
	(void)fprintf(of->to,
		      "\t\tconst struct %s_%s_sonde sonde_of = {\n"
		      "\t\t\t{ %s_%s_sonde_put }",
		      provider, name, provider, name);
	for (size_t i = 0; i < payload->nr_members; i++)
		(void)fprintf(of->to, ", %s", payload->members[i].name);
	(void)fputs("\n\t\t};\n\n", of->to);
	kernel_put_name(of, "\t\ttrace_",
			"(&sonde_of.sonde_call);\n\t}\n}\n\n");
	(void)fprintf(of->to,
		      "/* Whether somebody records it. */\n"
		      "static inline bool %s_%s_enabled(void)\n{\n",
		      provider, name);
	kernel_put_name(of, "\treturn trace_", "_enabled();\n}\n\n");
}

/* Of one file of the module. */
static void kernel_put_definition(const struct kernel_event *of)
{
	_Alignas(8) unsigned char room[SONDE_DESC_MAX];
	uint32_t size = sonde_generate_describe(of->model, of->event, room);

	kernel_put_name(of, "SONDE_KERNEL_DEFINE_(", ");\n");
	(void)fprintf(of->to, "SONDE_KERNEL_NOTE_(%s_%s, %u",
		      of->model->provider, of->event->name, size);
	for (uint32_t i = 0; i < size; i++)
		(void)fprintf(of->to, ",%s%u", i % 16 ? " " : "\n\t", room[i]);
	(void)fputs(");\n", of->to);
}

/* NOLINTNEXTLINE(misc-no-recursion): depth <= SONDE_GENERATE_NEST */
static const char *kernel_find_float(const struct sonde_class *cls)
{
	const char *found = NULL;

	for (size_t i = 0; i < cls->nr_members && !found; i++) {
		const struct sonde_class *of = cls->members[i].cls;

		found = of->kind == SONDE_KIND_FLOAT ||
					(of->nr_members &&
					 !sonde_generate_is_group(of) &&
					 of->members[0].cls->kind ==
						 SONDE_KIND_FLOAT) ?
				cls->members[i].name :
				kernel_find_float(of);
	}
	return found;
}

const struct sonde_generate_event *
sonde_generate_kernel_lacks(const struct sonde_generate_model *model,
			    const char **ret_field)
{
	const size_t length = strlen(model->provider);

	for (const struct sonde_generate_event *event = model->events; event;
	     event = event->next) {
		*ret_field = kernel_find_float(event->payload);
		if (*ret_field ||
		    length + strlen(event->name) > SONDE_GENERATE_KERNEL_NAMES)
			return event;
	}
	return NULL;
}

void sonde_generate_kernel(const struct sonde_generate_model *model, FILE *to)
{
	struct kernel_event of = { .model = model, .to = to };

	sonde_generate_put_begin(model, "KERNEL_",
				 "#include <sonde/kernel.h>\n\n", to);
	for (of.event = model->events; of.event; of.event = of.event->next) {
		kernel_put_name(&of, "SONDE_KERNEL_DECLARE_(", ");\n\n");
		kernel_put_body(&of);
		kernel_put_function(&of);
	}
	(void)fputs("#if defined(SONDE_DEFINE_EVENTS)\n", to);
	for (of.event = model->events; of.event; of.event = of.event->next)
		kernel_put_definition(&of);
	(void)fputs("#endif\n#endif\n", to);
}
