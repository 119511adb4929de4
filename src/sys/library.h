/* SPDX-License-Identifier: MIT */
/*
 * library.h - functions of a library that few commands need, and that takes longer to
 * load than most of them run: it is opened at the first need, and stays.
 *
 * Who calls them lists them once:
 *
 *	#define XML_FUNCTIONS(of) of(xmlFreeDoc) of(xmlFreeParserCtxt)
 *
 *	static const char *const names[] = { XML_FUNCTIONS(SONDE_LIBRARY_NAME) NULL };
 *	static struct { XML_FUNCTIONS(SONDE_LIBRARY_POINTER) } xml;
 *
 *	sonde_library_open(SONDE_LIBXML, names, &xml) ? ... : xml.xmlFreeDoc(doc)
 *
 * The names of libraries are those that the build found (tools/needed).
 */
#ifndef SYS_LIBRARY_H
#define SYS_LIBRARY_H

#define SONDE_LIBRARY_POINTER(function) __typeof__(function) *function;
#define SONDE_LIBRARY_NAME(function)    #function,

/*
 * Opens `library`, a path or what the loader looks for, and puts the addresses of the
 * functions, whose list ends with NULL, to `ret_pointers`, one pointer after the other.
 * 0, also if it is open already; -ELIBACC: *ret_why has the loader's words, good until
 * the next call. One thread at a time.
 */
int sonde_library_open(const char *library, const char *const names[],
		       void *ret_pointers, const char **ret_why);

#endif /* SYS_LIBRARY_H */
