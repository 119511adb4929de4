/* SPDX-License-Identifier: MIT */
/*
 * xml.c - event descriptions in XML (node.h), read by libxml2's SAX interface:
 * its tree doesn't know columns. Attributes hold everything, so text between
 * elements is an error, and comments are passed over.
 *
 * The bytes are foreign: a document type is refused, so there are no entities
 * but XML's own five, nothing is loaded and nothing grows.
 */
#include <errno.h>
#include <libxml/parser.h>
#include <libxml/parserInternals.h>
#include <string.h>

#include "generate/node.h"
#include "sys/library.h"
#include "sys/needed.h"

/* clang-format off */
#define XML_FUNCTIONS(of) \
	of(xmlByteConsumed) of(xmlCreateMemoryParserCtxt) of(xmlCtxtGetLastError) \
	of(xmlCtxtUseOptions) of(xmlFreeDoc) of(xmlFreeParserCtxt) \
	of(xmlParseDocument) of(xmlStopParser)

static struct { XML_FUNCTIONS(SONDE_LIBRARY_POINTER) } xml;
/* clang-format on */

struct xml_reader {
	struct sonde_pool *pool;
	struct sonde_generate_error *error;
	const char *file, *bytes;
	size_t size;
	/* lines are counted as far as `counted` */
	size_t counted, line_begin;
	unsigned int line;
	size_t depth;
	struct sonde_generate_node *open[SONDE_GENERATE_DEPTH];
	struct sonde_generate_node *root;
};

/* Of byte `at`, which only grows. */
static struct sonde_generate_place xml_place_of(struct xml_reader *reader,
						size_t at)
{
	for (; reader->counted < at; reader->counted++)
		if (reader->bytes[reader->counted] == '\n') {
			reader->line++;
			reader->line_begin = reader->counted + 1;
		}
	return (struct sonde_generate_place){
		reader->file, reader->line,
		(unsigned int)(at - reader->line_begin) + 1
	};
}

static size_t parsed(struct xml_reader *reader, xmlParserCtxtPtr context)
{
	long at = xml.xmlByteConsumed(context);

	if (at < 0)
		return 0;
	return (size_t)at < reader->size ? (size_t)at : reader->size;
}

/* Where the tag begins that has just been read: values hold no '<'. */
static struct sonde_generate_place place_of_tag(struct xml_reader *reader,
						xmlParserCtxtPtr context)
{
	size_t at = parsed(reader, context);

	while (at > reader->counted && reader->bytes[at] != '<')
		at--;
	return xml_place_of(reader, at);
}

static int set_all(struct xml_reader *reader, struct sonde_generate_node *node,
		   int nr, const xmlChar **values)
{
	for (int i = 0; i < nr; i++, values += 5) {
		const xmlChar *value = values[3];
		int err;

		err = sonde_generate_node_set(reader->pool, node,
					      (const char *)values[0],
					      (const char *)value,
					      (size_t)(values[4] - value),
					      node->place, reader->error);
		if (err)
			return err;
	}
	return sonde_generate_node_end(node, reader->error);
}

static int open_element(struct xml_reader *reader, const char *name,
			struct sonde_generate_place place, int nr_values,
			const xmlChar **values)
{
	struct sonde_generate_node *parent =
		reader->depth ? reader->open[reader->depth - 1] : NULL;
	struct sonde_generate_node *node;

	if (reader->depth == SONDE_GENERATE_DEPTH)
		return sonde_generate_fail(reader->error, place,
					   "nested too deeply");
	node = sonde_generate_node_new(reader->pool, parent, name, place,
				       reader->error);
	if (!node)
		return -EINVAL;
	if (!parent)
		reader->root = node;
	reader->open[reader->depth++] = node;
	return set_all(reader, node, nr_values, values);
}

/* NOLINTNEXTLINE(readability-function-size): what libxml2 gives */
static void on_start(void *user, const xmlChar *name, const xmlChar *prefix,
		     const xmlChar *uri, int nr_spaces, const xmlChar **spaces,
		     int nr_values, int nr_defaulted, const xmlChar **values)
{
	xmlParserCtxtPtr context = user;
	struct xml_reader *reader = context->_private;
	struct sonde_generate_place place = place_of_tag(reader, context);

	(void)uri, (void)nr_spaces, (void)spaces, (void)nr_defaulted;
	if (prefix)
		(void)sonde_generate_fail(reader->error, place,
					  "no prefix is known; leave '%.60s:' "
					  "out",
					  (const char *)prefix);
	else
		(void)open_element(reader, (const char *)name, place, nr_values,
				   values);
	if (reader->error->text[0])
		xml.xmlStopParser(context);
}

static void on_end(void *user, const xmlChar *name, const xmlChar *prefix,
		   const xmlChar *uri)
{
	xmlParserCtxtPtr context = user;
	struct xml_reader *reader = context->_private;

	(void)name, (void)prefix, (void)uri;
	if (reader->depth)
		reader->depth--;
}

static void on_text(void *user, const xmlChar *text, int length)
{
	xmlParserCtxtPtr context = user;
	struct xml_reader *reader = context->_private;

	for (int i = 0; i < length; i++) {
		if (strchr(" \t\r\n", text[i]))
			continue;
		(void)sonde_generate_fail(
			reader->error,
			xml_place_of(reader, parsed(reader, context)),
			"text between elements; descriptions go into 'about'");
		xml.xmlStopParser(context);
		return;
	}
}

static void on_doctype(void *user, const xmlChar *name, const xmlChar *id,
		       const xmlChar *system)
{
	xmlParserCtxtPtr context = user;
	struct xml_reader *reader = context->_private;

	(void)name, (void)id, (void)system;
	(void)sonde_generate_fail(reader->error,
				  xml_place_of(reader, parsed(reader, context)),
				  "no document type is taken; leave it out");
	xml.xmlStopParser(context);
}

/* What libxml2 says, without the newline that it ends with. */
static void say_wrong(struct xml_reader *reader, xmlParserCtxtPtr context)
{
	const xmlError *said = xml.xmlCtxtGetLastError(context);
	struct sonde_generate_place place = { reader->file, 0, 0 };
	const char *text =
		said && said->message ? said->message : "this is no XML";

	if (said && said->line > 0) {
		place.line = (unsigned int)said->line;
		place.column = said->int2 > 0 ? (unsigned int)said->int2 : 1;
	}
	(void)sonde_generate_fail(reader->error, place, "%.*s",
				  (int)strcspn(text, "\n"), text);
}

static void xml_prepare(xmlParserCtxtPtr context, struct xml_reader *reader)
{
	xmlSAXHandler handler = { .initialized = XML_SAX2_MAGIC };

	handler.startElementNs = on_start;
	handler.endElementNs = on_end;
	handler.characters = on_text;
	handler.cdataBlock = on_text;
	handler.internalSubset = on_doctype;
	*context->sax = handler;
	context->_private = reader;
	/* NOENT: '&amp;' is '&', not '&#38;' */
	(void)xml.xmlCtxtUseOptions(context, XML_PARSE_NONET | XML_PARSE_NOENT |
						     XML_PARSE_NOERROR |
						     XML_PARSE_NOWARNING);
}

struct sonde_generate_node *
sonde_generate_read_xml(struct sonde_pool *pool, const char *name,
			const char *bytes, size_t size,
			struct sonde_generate_error *error)
{
	struct xml_reader reader = { .pool = pool,
				     .error = error,
				     .file = name,
				     .bytes = bytes,
				     .size = size ? size - 1 : 0,
				     .line = 1 };
	static const char *const names[] = { XML_FUNCTIONS(SONDE_LIBRARY_NAME)
						     NULL };
	const struct sonde_generate_place whole = { name, 0, 0 };
	xmlParserCtxtPtr context;
	const char *why;

	if (size == 0 || size > SONDE_GENERATE_FILE_MAX) {
		(void)sonde_generate_fail(
			error, whole,
			size ? "more than 16 MiB are no description" :
			       "the file is empty");
		return NULL;
	}
	if (sonde_library_open(SONDE_LIBXML, names, &xml, &why)) {
		(void)sonde_generate_fail(error, whole, "XML needs %s", why);
		return NULL;
	}
	context = xml.xmlCreateMemoryParserCtxt(bytes, (int)size);
	if (!context) {
		(void)sonde_generate_fail(error, whole, "no memory");
		return NULL;
	}
	xml_prepare(context, &reader);
	if ((xml.xmlParseDocument(context) || !context->wellFormed) &&
	    !error->text[0])
		say_wrong(&reader, context);
	if (context->myDoc)
		xml.xmlFreeDoc(context->myDoc);
	xml.xmlFreeParserCtxt(context);
	return error->text[0] ? NULL : reader.root;
}
