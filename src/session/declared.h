/* SPDX-License-Identifier: MIT */
/*
 * declared.h - how many events is a process going to have?
 *
 * Identifiers in compact headers end at 30; the kind of header is chosen
 * before a process registers its first event. So the recorder looks at the
 * files the process has mapped when it comes in, and counts the descriptions
 * in them that the session selects. What is loaded later (dlopen) isn't seen;
 * a wrong guess costs some bytes and time for each event, and nothing else.
 *
 * In which files, and where in them?
 *
 *	C	section sonde_desc, if there is one
 *	C++	among the constants, of files that have SystemTap notes (each
 *		site leaves one) and the name sonde_register among their dynamic
 *		symbols; and of the program itself, if it has such notes and no
 *		libsonde is mapped: then it holds a static one
 *
 * Any other file costs an open and three short reads; one with notes of others
 * (the C and C++ libraries) also that of its dynamic symbols' names.
 *
 * The files and the list of them are the process's to choose, and may change
 * while they are read. So
 *
 *  1. files are opened by O_PATH first, and for reading only once they are seen
 *     to be regular: no device or FIFO feels anything;
 *  2. everything is copied (pread, never mmap: a file may shrink), then
 *     checked, then used;
 *  3. files, bytes of the list, sections, names and scanned bytes are bounded,
 *     and so is the time, for the process waits: what lies beyond isn't
 *     counted, and neither is a file that is broken;
 *  4. counting ends as soon as the answer can't change any more.
 *
 * A file system of the process's own may still make us wait for one read. It
 * does so to its own user's recorder only, which that user could stop anyway:
 * root isn't let into other users' FUSE mounts.
 *
 * One thread at a time.
 */
#ifndef SESSION_DECLARED_H
#define SESSION_DECLARED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* More than compact headers can tell apart; counting stops there. */
#define SONDE_DECLARED_ENOUGH 31u

struct sonde_declared;

/* The session's selection (types/select.h); `rules` is borrowed for good.
 * NULL if memory fails. */
struct sonde_declared *sonde_declared_new(const char *rules, size_t rules_size,
					  uint32_t loglevel);

/* Of our library that is preloaded, only what these words ask for counts
 * (ring/asked.h); borrowed for good. NULL: all of it. */
void sonde_declared_ask(struct sonde_declared *declared, const char *words);

/* Forget what was counted. */
void sonde_declared_restart(struct sonde_declared *declared);

/*
 * Add the events of an ELF file, borrowed, open for reading, and regular.
 * Constants are searched whatever its dynamic symbols are if `is_static`. 0, or
 * -errno if it can't be read, is not ELF or broken.
 */
int sonde_declared_add_file(struct sonde_declared *declared, int fd,
			    bool is_static);

/*
 * Add the events of all files that are mapped executable in a process. 0, or
 * -errno if /proc doesn't let us see its program.
 */
int sonde_declared_add_process(struct sonde_declared *declared, pid_t pid);

/* Different events so far, at most SONDE_DECLARED_ENOUGH. */
uint32_t sonde_declared_nr(const struct sonde_declared *declared);

/* Whether an ELF file, borrowed and open for reading, has tracepoints, or is
 * linked with libsonde. */
bool sonde_declared_has_tracepoints(struct sonde_declared *declared, int fd);

/* NULL is fine. */
void sonde_declared_free(struct sonde_declared *declared);

#endif /* SESSION_DECLARED_H */
