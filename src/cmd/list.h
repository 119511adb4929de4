/* SPDX-License-Identifier: MIT */
/*
 * list.h - the parsers behind `sonde list`. Bytes in, calls out: they know no
 * files, and believe nothing that they read.
 *
 * Types are told in words that fit a column:
 *
 *	i8 .. i64, u8 .. u64	integers; "hex" and "be" may follow
 *	bool, char, f32, f64
 *	string, string<=N	N: the bound
 *	text[N], blob
 *	T[N], T[]		arrays and sequences
 *	u5, i12			of so many bits
 *	enum u32 {red=0, more=1..9}
 *	{a i32, b string}	a structure
 *	<a i32 | b string>	a variant, whose tag is the field before
 *	T?			may be missing
 */
#ifndef CMD_LIST_H
#define CMD_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of a type in words; it is cut where it would be longer. */
#define SONDE_LIST_TYPE_MAX 65536

struct sonde_class;
struct sonde_desc;
struct sonde_event_class;
struct sonde_sdt_site;

/*
 * What is found: an event ("provider:event"), then its fields. The strings are
 * borrowed for the call. A result other than 0 ends the parsing with it.
 */
struct sonde_list_sink {
	void *user;
	int (*event)(void *user, const char *name, uint32_t loglevel);
	int (*field)(void *user, const char *name, const char *type);
	/* The checksum of the description that the event was generated from, or
	 * another text that tells; comes last, if there is one. */
	int (*described)(void *user, const char *by);
	/* A probe of <sys/sdt.h>, with its addresses as the file has them.
	 * NULL: nobody asks for them. */
	int (*site)(void *user, const struct sonde_sdt_site *site);
};

/* A text being put together; used < SONDE_LIST_TYPE_MAX. */
struct sonde_list_text {
	size_t used;
	char bytes[SONDE_LIST_TYPE_MAX];
};

/*
 * The events in an ELF file: descriptions in section sonde_desc, and those in
 * read-only data (C++). Duplicates are delivered as often as they come.
 * *ret_malformed counts what only looked like a description in sonde_desc.
 *
 * Returns 0, -ENOEXEC if it isn't ELF, -ENOTSUP if it is of another class or
 * byte order than this program, -EINVAL if its headers are broken, -ENOMEM, or
 * what the sink returned.
 */
int sonde_list_elf(const void *bytes, size_t size,
		   const struct sonde_list_sink *sink, uint64_t *ret_malformed);

/* The probes of <sys/sdt.h> that were found, by provider, name and address. */
struct sonde_list_sites {
	size_t nr;
	size_t room;
	struct sonde_list_site *at;
};

/* A sink's `site`, whose user they are. 0, -E2BIG, -ENOMEM. */
int sonde_list_add_site(struct sonde_list_sites *sites,
			const struct sonde_sdt_site *site);
/* Sorts them, and leaves those that are there several times once. */
void sonde_list_sort_sites(struct sonde_list_sites *sites);
/* Drops those of events of ours ("provider:name"), which leave notes, too. */
void sonde_list_drop_sites(struct sonde_list_sites *sites,
			   bool (*is_ours)(const void *user, const char *name),
			   const void *user);
void sonde_list_print_sites(const struct sonde_list_sites *sites, bool bold);
struct sonde_json;
/* Elements of the array that is open. */
void sonde_list_put_sites(const struct sonde_list_sites *sites,
			  struct sonde_json *json);
void sonde_list_free_sites(struct sonde_list_sites *sites);

/* One checked description. `text` is room to work in. */
int sonde_list_desc(const struct sonde_desc *desc,
		    const struct sonde_list_sink *sink,
		    struct sonde_list_text *text);

/* An event whose payload has that type (types/type.h), or NULL if it can't be
 * told. `room` is room to work in. Returns 0 or what the sink returned. */
int sonde_list_payload(const char *name, uint32_t loglevel,
		       const struct sonde_class *payload,
		       const struct sonde_list_sink *sink,
		       struct sonde_list_text *room);

/* One event class of a trace, in whose byte order most of its numbers are.
 * `room` is room to work in. Returns 0 or what the sink returned. */
int sonde_list_class(const struct sonde_event_class *event, bool big_endian,
		     const struct sonde_list_sink *sink,
		     struct sonde_list_text *room);

/* The events of the running kernel that match the patterns, or all. Prints;
 * returns an exit status. */
int sonde_list_kernel(int nr, char **patterns, bool json);

/* What is known of any event; an exit status. */
int sonde_list_contexts(bool json);

/* The events that occur in the traces of a directory; `declared`: all that
 * could. 0; -errno, of which all was said. */
int sonde_list_trace(const char *path, bool declared,
		     const struct sonde_list_sink *sink);

struct sonde_nearest;

/* Whether a program has an event that the glob selects (event/select.h), as far
 * as its file tells; if not, what is nearest. */
bool sonde_list_has(const char *path, const char *glob,
		    struct sonde_nearest *ret_nearest);

/* Calls `name` for each event of a program, or that a trace declares; what is
 * neither has none. */
void sonde_list_names(const char *path,
		      void (*name)(void *user, const char *name), void *user);

/* Append; what doesn't fit is cut off. */
__attribute__((format(printf, 2, 3))) void
sonde_list_say(struct sonde_list_text *text, const char *format, ...);

#endif /* CMD_LIST_H */
