/* SPDX-License-Identifier: MIT */
/*
 * model.h - what event description files mean: types and events, as trees of
 * types/type.h. Every generator goes by this and sees no file.
 *
 * A payload's classes have `c_type`, members have `about`. What stands for a
 * named type is one class, wherever it is used, so its address tells its name.
 * Host-size numbers are as wide as this machine's. Hosted.
 */
#ifndef GENERATE_MODEL_H
#define GENERATE_MODEL_H

#include <sonde/abi.h>

#include "ctf/text.h"
#include "ctf/trace.h"
#include "generate/node.h"
#include "types/type.h"

/* What one event or structure takes (sonde/tracepoint.h). */
#define SONDE_GENERATE_FIELDS  32
#define SONDE_GENERATE_LABELS  64
#define SONDE_GENERATE_NEST    4
#define SONDE_GENERATE_OPTIONS 30
/* Characters of a provider's and an event's name together, in the kernel: what is
 * left of a tracepoint's 127 (kmod/abi.h) by "sonde1_" and "__". */
#define SONDE_GENERATE_KERNEL_NAMES 118

/* An enumeration, a structure or a variant. A variant's members are its options,
 * with the lengths of those that are sequences before them; a tag is added where
 * one is recorded. */
struct sonde_generate_named {
	const char *provider, *name, *about;
	struct sonde_class *cls;
	struct sonde_generate_named *next;
};

struct sonde_generate_event {
	const char *name, *about;
	enum sonde_loglevel level;
	struct sonde_class *payload;
	struct sonde_generate_event *next;
};

struct sonde_generate_model {
	const char *provider, *about;
	struct sonde_generate_named *types; /* each after those it uses */
	struct sonde_generate_event *events;
	uint64_t checksum; /* of all events; never 0 */
};

/* The tree of a file, as its name's ending says; NULL: said. */
struct sonde_generate_node *
sonde_generate_load(struct sonde_pool *pool, const char *path,
		    struct sonde_generate_error *error);

/* What the tree of a file means, with what it includes; a checksum comes by
 * sonde_generate_sum(). 0, or -EINVAL: said. */
int sonde_generate_model_make(struct sonde_pool *pool,
			      const struct sonde_generate_node *root,
			      struct sonde_generate_model *model,
			      struct sonde_generate_error *error);

/* The named type that a class is; NULL: none. */
const struct sonde_generate_named *
sonde_generate_named_of(const struct sonde_generate_model *model,
			const struct sonde_class *cls);

/* Whether a member is the length of the next one, and no field. */
bool sonde_generate_is_made(const struct sonde_class *group, size_t i);

/* Whether it is one of those that have members of their own. */
static inline bool sonde_generate_is_group(const struct sonde_class *cls)
{
	return cls->kind == SONDE_KIND_STRUCT ||
	       cls->kind == SONDE_KIND_VARIANT;
}

/* The generators. */
void sonde_generate_header(const struct sonde_generate_model *model, FILE *to);
/* For programs without a C library (sonde/bare.h). */
void sonde_generate_bare(const struct sonde_generate_model *model, FILE *to);
/* For modules of the kernel (sonde/kernel.h). */
void sonde_generate_kernel(const struct sonde_generate_model *model, FILE *to);
/* The first event that such a header can't have: *ret_field is of a float; NULL:
 * its name and the provider's are too long. NULL: it can have all. */
const struct sonde_generate_event *
sonde_generate_kernel_lacks(const struct sonde_generate_model *model,
			    const char **ret_field);
void sonde_generate_doc(const struct sonde_generate_model *model, FILE *to);

/*
 * Sets the checksum: of all that readers see of the events, so of names, types
 * and levels, with the widths of this machine, and of nothing else. 0, or -E2BIG
 * with *ret_event, which takes more than a tracepoint's description can.
 */
int sonde_generate_sum(struct sonde_generate_model *model,
		       const struct sonde_generate_event **ret_event);

/* The description that the event's tracepoint leaves in a program, after the
 * checksum was set. `room`: SONDE_DESC_MAX bytes, aligned to 8. Its size. */
uint32_t sonde_generate_describe(const struct sonde_generate_model *model,
				 const struct sonde_generate_event *event,
				 void *room);

/* The trace's, made of the checksum. */
void sonde_generate_uuid(const struct sonde_generate_model *model,
			 uint8_t ret_uuid[16]);

struct sonde_generate_trace {
	enum sonde_ctf_version version;
	bool is_bare;       /* as sonde/bare.h writes it */
	uint64_t frequency; /* of its clock, in Hz */
};

/*
 * A trace's metadata with the model's events, ids from 1 on, in one stream class:
 * what a recording of all of them has. 0; -ENOTSUP: this build can't write CTF 2;
 * -ENOMEM.
 */
int sonde_generate_metadata(const struct sonde_generate_model *model,
			    const struct sonde_generate_trace *trace,
			    struct sonde_ctf_text *to);

/* A line for each difference, those that readers of traces stumble over with
 * "incompatible: " before them; their number. */
size_t sonde_generate_compare(const struct sonde_generate_model *old,
			      const struct sonde_generate_model *now, FILE *to);

#endif /* GENERATE_MODEL_H */
