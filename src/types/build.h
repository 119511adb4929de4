/* SPDX-License-Identifier: MIT */
/*
 * build.h - make an event description (sonde/abi.h) at run time.
 *
 *	sonde_build_begin(&build, room, "sched", "sched_switch", SONDE_INFO);
 *	sonde_build_int(&build, "prev_tid", 32, SONDE_FIELD_SIGNED);
 *	sonde_build_text(&build, "prev_comm", 16);
 *	rc = sonde_build_end(&build);
 *
 * Fields come in the order of the payload. The first error sticks and is what
 * end returns; what end accepts, sonde_desc_check() accepts. Labels that a
 * description can't hold (beyond the room) are left out from the end, and the
 * enumeration is a plain number if there is no label.
 *
 * Freestanding; no memory but the caller's.
 */
#ifndef TYPES_BUILD_H
#define TYPES_BUILD_H

#include <stddef.h>
#include <stdint.h>

#include <sonde/abi.h>

struct sonde_build {
	uint8_t *room; /* SONDE_DESC_MAX bytes, aligned to 8 */
	size_t used;
	int error;
	uint16_t nr_fields;
};

struct sonde_build_label {
	int64_t first;
	int64_t last;
	const char *text;
};

void sonde_build_begin(struct sonde_build *build, void *room,
		       const char *provider, const char *name,
		       enum sonde_loglevel level);
/* Any that has nothing inside; size and name_size are set here. */
void sonde_build_plain(struct sonde_build *build, const char *name,
		       struct sonde_desc_field field);
/* `nr` of that, or with 0 a sequence: u32 length, then as many. */
void sonde_build_list(struct sonde_build *build, const char *name, uint32_t nr,
		      struct sonde_desc_field element);
/* `flags` are SONDE_FIELD_SIGNED, _HEX, _OCTAL, _NETWORK, _BOOL. */
void sonde_build_int(struct sonde_build *build, const char *name, uint8_t bits,
		     uint32_t flags);
void sonde_build_enum(struct sonde_build *build, const char *name, uint8_t bits,
		      uint32_t flags, const struct sonde_build_label *labels,
		      size_t nr);
/* Bytes up to and including a NUL. */
void sonde_build_string(struct sonde_build *build, const char *name);
/* `size` chars of a fixed array. */
void sonde_build_text(struct sonde_build *build, const char *name,
		      uint32_t size);
/* `nr` integers; and u32 length, then as many. */
void sonde_build_array(struct sonde_build *build, const char *name, uint32_t nr,
		       uint8_t bits, uint32_t flags);
void sonde_build_sequence(struct sonde_build *build, const char *name,
			  uint8_t bits, uint32_t flags);
/* u32 length, then as many bytes. */
void sonde_build_blob(struct sonde_build *build, const char *name);
/* Of 32 or 64 bits. */
void sonde_build_float(struct sonde_build *build, const char *name,
		       uint8_t bits);
/* A structure of what is built until its end, maybe in another. What begin
 * returns is for end. */
struct sonde_build_struct {
	size_t at;
	uint16_t nr_fields;
};
struct sonde_build_struct sonde_build_struct(struct sonde_build *build,
					     const char *name);
/* The same of a variant; its tag, an enumeration, has been built just before. */
struct sonde_build_struct sonde_build_variant(struct sonde_build *build,
					      const char *name);
void sonde_build_struct_end(struct sonde_build *build,
			    struct sonde_build_struct begun);
/* 0, -E2BIG (more than a description takes), -EINVAL (bad names). */
int sonde_build_end(struct sonde_build *build);
/* All of it at once, whose fields `describe` adds; `room` has SONDE_DESC_MAX bytes,
 * aligned as a struct sonde_desc. As sonde_build_end(). */
int sonde_build_whole(void *room, const char *provider, const char *name,
		      enum sonde_loglevel level,
		      void (*describe)(struct sonde_build *build));
/* The same of an event with the checksum of its description in a file. */
int sonde_build_end_described(struct sonde_build *build, uint64_t checksum);

#endif /* TYPES_BUILD_H */
