/* SPDX-License-Identifier: MIT */
/*
 * tsdl_parse_block.c - trace, env, clock, stream, event and callsite blocks.
 *
 * What a block says is kept in a `struct block` and goes into the schema where
 * the block ends; an event goes there where the text ends, since its stream
 * may come later. Attributes without a setter are skipped, so is `callsite`.
 *
 * The native byte order is looked for before anything else: integers need it,
 * and the trace block may come after the first of them.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/uuid.h"
#include "ctf/schema/tsdl_parse.h"

struct setter;

/* A block in the making. `value` or `cls` is the attribute's that is being
 * set. */
struct block {
	struct sonde_parser *p;
	struct sonde_token token; /* where it began */
	uint32_t seen;            /* bits of the setters */
	bool no_types;            /* none may be declared in it */
	struct sonde_parse_value value;
	struct sonde_class *cls;
	uint64_t id;
	bool has_id;
	struct sonde_class *packet_context, *event_header, *common_context;
	struct sonde_parse_event event;
	struct sonde_schema_clock clock;
	bool offset_is_negative;
};

struct setter {
	const char *name;
	void (*set)(struct block *block);
	bool is_type; /* behind := */
	bool needed;  /* by other readers */
};

static uint64_t take_unsigned(struct block *block)
{
	return sonde_parse_unsigned(block->p, &block->value, UINT64_MAX);
}

static void take_uuid(struct block *block, uint8_t ret_uuid[16])
{
	const struct sonde_parse_value *value = &block->value;
	const char *end;
	char text[40] = "";
	size_t size = strlen(value->word);

	if (size < sizeof(text)) {
		for (size_t i = 0; i <= size; i++) {
			char c = value->word[i];

			text[i] = (char)(c >= 'A' && c <= 'F' ? c | 0x20 : c);
		}
		end = sonde_uuid_parse(text, ret_uuid);
		if (!value->is_number && end && *end == 0)
			return;
	}
	sonde_parse_fail(block->p,
			 sonde_token_complain(&value->token, block->p->error,
					      "expected a UUID"));
}

/* ---- the list of attributes ---- */

static void parse_setting(struct sonde_parser *p, struct block *block,
			  const struct setter *setter)
{
	bool is_type = sonde_parse_at(p, SONDE_TOKEN_ASSIGN);

	if (!is_type && !sonde_parse_at(p, '=')) {
		sonde_parse_expected(p, "'=' or ':='");
		return;
	}
	sonde_parse_next(p);
	if (!setter->name || setter->is_type != is_type) {
		sonde_parse_skip(p);
		return;
	}
	if (is_type)
		block->cls = sonde_parse_scope_type(p);
	else
		sonde_parse_value(p, &block->value);
	if (p->status == 0)
		setter->set(block);
}

static void parse_one(struct sonde_parser *p, struct block *block,
		      const struct setter *setters)
{
	const struct setter *setter = setters;
	struct sonde_token token = p->token;
	char name[SONDE_PARSE_NAME];

	sonde_parse_path(p, name);
	while (setter->name && strcmp(setter->name, name) != 0)
		setter++;
	if (setter->name)
		sonde_parse_once(p, &token, name, (size_t)(setter - setters),
				 &block->seen);
	parse_setting(p, block, setter);
	sonde_parse_expect(p, ';', "';'");
}

static void parse_settings(struct sonde_parser *p, struct block *block,
			   const struct setter *setters)
{
	sonde_parse_expect(p, '{', "'{'");
	sonde_parse_enter(p);
	while (p->status == 0 && !sonde_parse_accept(p, '}')) {
		if (!sonde_parse_at_declaration(p)) {
			parse_one(p, block, setters);
			continue;
		}
		if (block->no_types)
			sonde_parse_warn(p, &p->token,
					 "a type is declared in a clock");
		sonde_parse_declaration(p);
	}
	sonde_parse_leave(p);
	for (size_t i = 0; setters[i].name; i++)
		if (setters[i].needed && !(block->seen >> i & 1))
			sonde_parse_warn(p, &block->token,
					 "there is no '%s' in this block",
					 setters[i].name);
}

/* ---- trace ---- */

static void set_major(struct block *block)
{
	if (take_unsigned(block) != 1)
		sonde_parse_fail(block->p,
				 sonde_token_complain(
					 &block->value.token, block->p->error,
					 "expected 1: this is CTF 1.8"));
}

static void set_minor(struct block *block)
{
	block->p->schema->minor =
		(int)sonde_parse_unsigned(block->p, &block->value, INT32_MAX);
	if (block->p->schema->minor != 8)
		sonde_parse_warn(block->p, &block->value.token,
				 "expected 8: this is CTF 1.8");
}

static void set_trace_uuid(struct block *block)
{
	take_uuid(block, block->p->schema->uuid);
	block->p->schema->has_uuid = true;
}

static void set_byte_order(struct block *block)
{
	if (sonde_parse_is(&block->value, "native"))
		sonde_parse_fail(block->p,
				 sonde_token_complain(&block->value.token,
						      block->p->error,
						      "expected le or be"));
	/* find_byte_order() has taken it. */
	(void)sonde_parse_order(block->p, &block->value);
}

static void set_packet_header(struct block *block)
{
	block->p->schema->packet_header = block->cls;
}

static void parse_trace(struct sonde_parser *p)
{
	static const struct setter setters[] = {
		{ .name = "major", .set = set_major, .needed = true },
		{ .name = "minor", .set = set_minor, .needed = true },
		{ .name = "uuid", .set = set_trace_uuid },
		{ .name = "byte_order", .set = set_byte_order, .needed = true },
		{ .name = "packet.header",
		  .set = set_packet_header,
		  .is_type = true },
		{ .name = NULL },
	};
	struct block block = { .p = p, .token = p->token };

	if (p->has_trace)
		sonde_parse_fail(p, sonde_token_complain(
					    &p->token, p->error,
					    "there is a trace block already"));
	p->has_trace = true;
	parse_settings(p, &block, setters);
}

/* ---- env ---- */

static void parse_entry(struct sonde_parser *p)
{
	struct sonde_schema *schema = p->schema;
	struct sonde_parse_value value;
	struct sonde_env *env;
	char name[SONDE_PARSE_NAME];

	sonde_parse_path(p, name);
	sonde_parse_expect(p, '=', "'='");
	sonde_parse_value(p, &value);
	sonde_parse_expect(p, ';', "';'");
	if (p->status)
		return;
	env = sonde_pool_grow(&schema->pool, schema->env, schema->nr_env,
			      &schema->env_capacity, sizeof(*env));
	if (!env) {
		sonde_parse_fail(p, -ENOMEM);
		return;
	}
	schema->env = env;
	env += schema->nr_env++;
	env->name = sonde_parse_text(p, name, strlen(name));
	if (value.is_number)
		env->number = (int64_t)value.number;
	else
		env->text = sonde_parse_string(p, &value);
}

static void parse_env(struct sonde_parser *p)
{
	sonde_parse_expect(p, '{', "'{'");
	while (p->status == 0 && !sonde_parse_accept(p, '}'))
		parse_entry(p);
}

/* ---- clock ---- */

static void set_clock_name(struct block *block)
{
	block->clock.info.name = sonde_parse_string(block->p, &block->value);
	block->token = block->value.token;
}

static void set_clock_uuid(struct block *block)
{
	take_uuid(block, block->clock.info.uuid);
	block->clock.info.has_uuid = true;
}

static void set_description(struct block *block)
{
	block->clock.info.description =
		sonde_parse_string(block->p, &block->value);
}

static void set_frequency(struct block *block)
{
	block->clock.info.frequency = take_unsigned(block);
	if (block->clock.info.frequency == UINT64_MAX)
		sonde_parse_warn(block->p, &block->value.token,
				 "this frequency stands for none");
}

static void set_precision(struct block *block)
{
	block->clock.info.precision = take_unsigned(block);
	block->clock.has_precision = true;
}

static int64_t take_signed(struct block *block)
{
	const struct sonde_parse_value *value = &block->value;

	if (!value->is_number ||
	    (!value->negative && value->number > INT64_MAX))
		sonde_parse_fail(block->p,
				 sonde_token_complain(&value->token,
						      block->p->error,
						      "expected a number of "
						      "64 bits"));
	return (int64_t)value->number;
}

static void set_offset_s(struct block *block)
{
	block->clock.info.offset_s = take_signed(block);
}

static void set_offset(struct block *block)
{
	block->offset_is_negative = block->value.negative;
	if (block->value.negative)
		sonde_parse_warn(block->p, &block->value.token,
				 "an offset below 0; 'offset_s' may be");
	block->clock.info.offset_cycles = block->value.negative ?
						  (uint64_t)take_signed(block) :
						  take_unsigned(block);
}

static void set_absolute(struct block *block)
{
	block->clock.info.absolute = sonde_parse_bool(block->p, &block->value);
}

/* A negative offset in cycles, as whole seconds and cycles that aren't. */
static void balance_offset(struct sonde_clock_info *clock)
{
	uint64_t back = 0 - clock->offset_cycles;
	uint64_t seconds = back / clock->frequency;
	uint64_t cycles = back % clock->frequency;

	if (cycles) {
		seconds++;
		cycles = clock->frequency - cycles;
	}
	clock->offset_cycles = cycles;
	if (__builtin_sub_overflow(clock->offset_s, (int64_t)seconds,
				   &clock->offset_s))
		clock->offset_s = INT64_MIN;
}

static void end_clock(struct sonde_parser *p, struct block *block)
{
	struct sonde_clock_info *info = &block->clock.info;
	struct sonde_parse_clock *clock;

	if (p->status)
		return;
	clock = sonde_parse_clock(p, &block->token, info->name);
	if (!clock)
		return;
	if (clock->defined) {
		sonde_parse_fail(p, sonde_token_complain(
					    &block->token, p->error,
					    "clock '%.64s' is defined twice",
					    info->name));
		return;
	}
	clock->defined = true;
	if (block->offset_is_negative && info->frequency)
		balance_offset(info);
	/* CTF 1.8 counts offsets from 1970. A clock without one counts from
	 * wherever its counter began. */
	info->absolute |= info->offset_s != 0 || info->offset_cycles != 0;
	p->schema->clocks[clock->index] = block->clock;
}

static void parse_clock(struct sonde_parser *p)
{
	static const struct setter setters[] = {
		{ .name = "name", .set = set_clock_name, .needed = true },
		{ .name = "uuid", .set = set_clock_uuid },
		{ .name = "description", .set = set_description },
		{ .name = "freq", .set = set_frequency, .needed = true },
		{ .name = "precision", .set = set_precision },
		{ .name = "offset_s", .set = set_offset_s },
		{ .name = "offset", .set = set_offset },
		{ .name = "absolute", .set = set_absolute },
		{ .name = NULL },
	};
	struct block block = {
		.p = p,
		.token = p->token,
		.no_types = true,
		.clock.info = { .name = "",
				.description = "",
				.frequency = 1000000000 },
	};

	parse_settings(p, &block, setters);
	end_clock(p, &block);
}

/* ---- stream ---- */

static void set_id(struct block *block)
{
	block->id = take_unsigned(block);
	block->has_id = true;
}

static void set_packet_context(struct block *block)
{
	block->packet_context = block->cls;
}

static void set_event_header(struct block *block)
{
	block->event_header = block->cls;
}

static void set_common_context(struct block *block)
{
	block->common_context = block->cls;
}

static void parse_stream(struct sonde_parser *p)
{
	static const struct setter setters[] = {
		{ .name = "id", .set = set_id },
		{ .name = "packet.context",
		  .set = set_packet_context,
		  .is_type = true },
		{ .name = "event.header",
		  .set = set_event_header,
		  .is_type = true },
		{ .name = "event.context",
		  .set = set_common_context,
		  .is_type = true },
		{ .name = NULL },
	};
	struct block block = { .p = p, .token = p->token };
	struct sonde_stream_class *stream;

	parse_settings(p, &block, setters);
	if (p->status)
		return;
	stream = sonde_schema_stream(p->schema, block.id);
	if (!stream) {
		sonde_parse_fail(p, -ENOMEM);
		return;
	}
	stream->has_id = block.has_id;
	stream->scopes[SONDE_SCOPE_PACKET_CONTEXT] = block.packet_context;
	stream->scopes[SONDE_SCOPE_EVENT_HEADER] = block.event_header;
	stream->scopes[SONDE_SCOPE_COMMON_CONTEXT] = block.common_context;
}

/* ---- event ---- */

static void set_event_name(struct block *block)
{
	block->event.name = sonde_parse_string(block->p, &block->value);
}

static void set_stream_id(struct block *block)
{
	block->event.stream_id = take_unsigned(block);
	block->event.has_stream_id = true;
}

/* Some write the level's name; nobody has agreed on the names. */
static void set_loglevel(struct block *block)
{
	if (block->value.is_number && !block->value.negative &&
	    block->value.number <= INT32_MAX)
		block->event.loglevel = (int)block->value.number;
	else
		sonde_parse_warn(block->p, &block->value.token,
				 "a log level is a number from 0");
}

static void set_uri(struct block *block)
{
	if (block->value.is_number)
		sonde_parse_warn(block->p, &block->value.token,
				 "expected a string");
	else
		block->event.model_uri =
			sonde_parse_string(block->p, &block->value);
}

static void set_event_context(struct block *block)
{
	block->event.context = block->cls;
}

static void set_fields(struct block *block)
{
	block->event.fields = block->cls;
}

static void parse_event(struct sonde_parser *p)
{
	static const struct setter setters[] = {
		{ .name = "id", .set = set_id },
		{ .name = "name", .set = set_event_name, .needed = true },
		{ .name = "stream_id", .set = set_stream_id },
		{ .name = "loglevel", .set = set_loglevel },
		{ .name = "model.emf.uri", .set = set_uri },
		{ .name = "context",
		  .set = set_event_context,
		  .is_type = true },
		{ .name = "fields", .set = set_fields, .is_type = true },
		{ .name = NULL },
	};
	struct block block = {
		.p = p,
		.event = { .token = p->token, .name = "", .loglevel = -1 },
	};
	struct sonde_parse_event *event;

	parse_settings(p, &block, setters);
	event = sonde_parse_get(p, 1, sizeof(*event));
	if (p->status)
		return;
	block.event.id = block.id;
	block.event.has_id = block.has_id;
	*event = block.event;
	*p->last_event = event;
	p->last_event = &event->next;
}

static int attach_event(struct sonde_parser *p,
			const struct sonde_lookup *streams,
			const struct sonde_parse_event *from)
{
	struct sonde_lookup_key key = { NULL, &from->stream_id,
					sizeof(from->stream_id) };
	struct sonde_stream_class *stream = p->schema->streams[0];
	struct sonde_event_class *event;

	if (from->has_stream_id)
		stream = sonde_lookup_find(streams, &key);
	else if (p->schema->nr_streams > 1)
		return sonde_token_complain(&from->token, p->error,
					    "this event does not say which "
					    "stream_id it has");
	if (!stream)
		return sonde_token_complain(
			&from->token, p->error, "there is no stream of id %llu",
			(unsigned long long)from->stream_id);
	event = sonde_schema_event(p->schema, stream, from->id);
	if (!event)
		return -ENOMEM;
	if (!from->has_id && stream->nr_events > 1)
		sonde_parse_warn(p, &from->token, "this event has no id");
	event->has_id = from->has_id;
	event->info.name = from->name;
	event->info.loglevel = from->loglevel;
	event->model_uri = from->model_uri;
	event->scopes[SONDE_SCOPE_EVENT_CONTEXT] = from->context;
	event->scopes[SONDE_SCOPE_PAYLOAD] = from->fields;
	return 0;
}

/* Without a stream block there is one stream, of id 0; an event that names no
 * stream is of the only one. */
static int attach_events(struct sonde_parser *p)
{
	const struct sonde_schema *schema = p->schema;
	struct sonde_lookup streams = { 0 };
	int status = 0;

	if (schema->nr_streams == 0 && !sonde_schema_stream(p->schema, 0))
		return -ENOMEM;
	for (size_t i = 0; i < schema->nr_streams && status == 0; i++) {
		struct sonde_stream_class *stream = schema->streams[i];
		struct sonde_lookup_key key = { NULL, &stream->id,
						sizeof(stream->id) };

		/* That ids are unique is for sonde_schema_finish() to say. */
		status = sonde_lookup_add(&streams, &key, stream);
		status = status == -EEXIST ? 0 : status;
	}
	for (const struct sonde_parse_event *event = p->events;
	     event && status == 0; event = event->next)
		status = attach_event(p, &streams, event);
	sonde_lookup_fini(&streams);
	return status;
}

/* ---- the text ---- */

static void skip_block(struct sonde_parser *p)
{
	uint32_t depth = 0;

	if (!sonde_parse_at(p, '{'))
		sonde_parse_expected(p, "'{'");
	do {
		if (sonde_parse_at(p, '{'))
			depth++;
		else if (sonde_parse_at(p, '}'))
			depth--;
		else if (sonde_parse_at(p, SONDE_TOKEN_END))
			sonde_parse_expected(p, "'}'");
		sonde_parse_next(p);
	} while (p->status == 0 && depth > 0);
}

static void parse_block(struct sonde_parser *p)
{
	static const struct {
		const char *name;
		void (*parse)(struct sonde_parser *p);
	} blocks[] = {
		{ "event", parse_event }, { "stream", parse_stream },
		{ "trace", parse_trace }, { "env", parse_env },
		{ "clock", parse_clock }, { "callsite", skip_block },
	};

	for (size_t i = 0; i < sizeof(blocks) / sizeof(blocks[0]); i++) {
		if (!sonde_parse_accept_name(p, blocks[i].name))
			continue;
		blocks[i].parse(p);
		sonde_parse_expect(p, ';', "';'");
		return;
	}
	if (sonde_parse_at_declaration(p))
		sonde_parse_declaration(p);
	else
		sonde_parse_expected(p, "trace, env, clock, stream, event, "
					"callsite or a type");
}

/* The value behind `byte_order`. What is wrong with it is said when it is
 * parsed. */
static bool is_big_endian(struct sonde_tsdl_lexer *lexer)
{
	struct sonde_token token;

	for (int i = 0; i < 2; i++) {
		if (sonde_tsdl_lexer_next(lexer, &token))
			return false;
	}
	return sonde_token_is(&token, "be") ||
	       sonde_token_is(&token, "network");
}

/* `byte_order` right inside of `trace { }`; `preset` if it is not there. */
static bool find_byte_order(const char *text, size_t size, bool preset)
{
	struct sonde_schema_error error = { "" };
	struct sonde_tsdl_lexer lexer;
	struct sonde_token before = { 0 };
	struct sonde_token token;
	bool in_trace = false;
	uint32_t depth = 0;

	sonde_tsdl_lexer_init(&lexer, text, size, &error);
	while (sonde_tsdl_lexer_next(&lexer, &token) == 0 &&
	       token.kind != SONDE_TOKEN_END) {
		if (in_trace && depth == 1 &&
		    sonde_token_is(&token, "byte_order"))
			return is_big_endian(&lexer);
		if (token.kind == '{' && depth++ == 0)
			in_trace = sonde_token_is(&before, "trace");
		if (token.kind == '}' && depth > 0)
			depth--;
		before = token;
	}
	return preset;
}

static int check_clocks(const struct sonde_parser *p)
{
	const struct sonde_parse_clock *first = NULL;

	/* The last of the list is the first in the text. */
	for (const struct sonde_parse_clock *clock = p->clocks; clock;
	     clock = clock->next)
		first = clock->defined ? first : clock;
	if (!first)
		return 0;
	return sonde_token_complain(&first->token, p->error,
				    "there is no clock '%.64s'",
				    p->schema->clocks[first->index].info.name);
}

int sonde_schema_parse_tsdl(struct sonde_schema *schema, const char *text,
			    size_t size, struct sonde_schema_error *error)
{
	struct sonde_parser p = { .schema = schema, .error = error };
	int status;

	p.last_event = &p.events;
	schema->major = 1;
	schema->minor = 8;
	schema->big_endian = find_byte_order(text, size, schema->big_endian);
	sonde_tsdl_lexer_init(&p.lexer, text, size, error);
	sonde_parse_next(&p);
	sonde_parse_enter(&p);
	while (!sonde_parse_at(&p, SONDE_TOKEN_END))
		parse_block(&p);
	if (!p.has_trace)
		sonde_schema_warn(schema, "there is no trace block");
	status = p.status;
	if (status == -ENOMEM && schema->pool.full)
		status = sonde_token_complain(&p.token, error,
					      "up to here, the types unfold "
					      "to more than can be kept");
	if (status == 0)
		status = check_clocks(&p);
	if (status == 0)
		status = attach_events(&p);
	if (status == 0)
		status = sonde_tsdl_roles(schema, error);
	sonde_lookup_fini(&p.types);
	sonde_lookup_fini(&p.clock_names);
	return status;
}
