/* SPDX-License-Identifier: MIT */
/*
 * server.c - HTTP by libmicrohttpd (server.h).
 *
 * Each connection has a thread, so that a slow answer delays none of the others;
 * there are at most CONNECTIONS. An answer is made in memory and sent as a
 * whole. What is asked is checked in this order, each by words of its own:
 *
 *	the host and the origin		403
 *	the URL's form			400, 414
 *	the token			403
 *	a body's size			413
 *	the method			405
 *	what is asked for		404, 405, 400, 500
 *
 * A body is kept only of what is a service's, and then only if all that comes before
 * is right; any other request is answered before its body is read.
 */
#include "view/http/server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/hex.h"
#include "base/json.h"
#include "base/port.h"
#include "base/unconst.h"
#include "sys/library.h"
#include "sys/needed.h"
#include "view/http/page.h"
#include "view/http/shown.h"
#include "view/http/torn.h"

/* clang-format off */
#define HTTP_FUNCTIONS(of) \
	of(MHD_add_response_header) of(MHD_create_response_from_buffer) \
	of(MHD_destroy_response) of(MHD_get_daemon_info) \
	of(MHD_lookup_connection_value) of(MHD_queue_response) \
	of(MHD_start_daemon) of(MHD_stop_daemon)

static struct { HTTP_FUNCTIONS(SONDE_LIBRARY_POINTER) } http;
/* clang-format on */

#define CONNECTIONS    64
#define REQUEST_MEMORY ((size_t)64 << 10)
#define IDLE_S         60u
#define TOKEN_BYTES    16

struct sonde_view_server {
	struct sonde_view_shown shown;
	const struct sonde_view_service *service; /* NULL: none */
	const char *const *origins;               /* who may ask that as well */
	size_t nr_origins;
	struct MHD_Daemon *daemon;
	char token[2 * TOKEN_BYTES + 1];
	char hosts[2][32]; /* what we are called: by number, by name */
	char url[128];
};

/* What a request becomes. */
struct reply {
	unsigned int status;
	const char *type;
	char *body; /* for free() */
	size_t size;
	const struct sonde_view_file *file; /* instead of a body */
	const char *location;               /* of a redirection */
	const char *origin; /* another page's, which may read it; else NULL */
};

/* A request, from its first line until its answer has been sent. */
struct asked {
	char *url;       /* as it was sent; NULL: no memory */
	bool is_known;   /* its head has been looked at */
	bool keeps_body; /* and it is a service's */
	char *body;      /* a byte longer than `size` */
	size_t size;
};

static const struct {
	const char *path;
	sonde_view_answer *answer;
	const char *type;
} answers[] = {
	{ "api/trace", sonde_view_answer_trace, "application/json" },
	{ "api/fields", sonde_view_answer_fields, "application/json" },
	{ "api/histogram", sonde_view_answer_histogram, "application/json" },
	{ "api/events", sonde_view_answer_events, "application/json" },
	{ "api/rows", sonde_view_answer_rows, "application/json" },
	{ "api/names", sonde_view_answer_names, "application/json" },
	{ "api/colours", sonde_view_answer_colours, "application/json" },
	{ "api/frame", sonde_view_answer_frame, "application/octet-stream" },
	{ "api/at", sonde_view_answer_at, "application/json" },
	{ "api/arrows", sonde_view_answer_arrows, "application/json" },
	{ "api/statistics", sonde_view_answer_statistics, "application/json" },
	{ "api/latency", sonde_view_answer_latency, "application/json" },
	{ "api/pairs", sonde_view_answer_pairs, "application/json" },
	{ "api/flame", sonde_view_answer_flame, "image/svg+xml" },
	{ "api/tree", sonde_view_answer_tree, "application/json" },
	{ "api/export", sonde_view_answer_export, "application/octet-stream" },
	{ "api/notes", sonde_view_answer_notes, "application/json" },
	{ "api/note", sonde_view_answer_note, "application/json" },
	{ "api/diff", sonde_view_answer_diff, "application/json" },
	{ "api/report", sonde_view_answer_report, "application/json" },
};

/* ---- replies ---- */

/* What a browser wants to hear before it lets a page of that origin ask, and read the
 * answer; the last is of a page from another network than this machine. */
static void admit_origin(struct MHD_Response *response, const char *origin)
{
	static const char *const headers[][2] = {
		{ "Access-Control-Allow-Methods", "GET, POST, DELETE" },
		{ "Access-Control-Allow-Headers", "Content-Type, Accept" },
		{ "Access-Control-Max-Age", "600" },
		{ "Access-Control-Allow-Private-Network", "true" },
		{ MHD_HTTP_HEADER_VARY, MHD_HTTP_HEADER_ORIGIN },
	};

	(void)http.MHD_add_response_header(
		response, "Access-Control-Allow-Origin", origin);
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(headers); i++)
		(void)http.MHD_add_response_header(response, headers[i][0],
						   headers[i][1]);
}

static int send_reply(struct MHD_Connection *connection,
		      const struct reply *reply)
{
	static const char *const headers[][2] = {
		{ MHD_HTTP_HEADER_CACHE_CONTROL, "no-store" },
		{ "Content-Security-Policy",
		  "default-src 'self'; img-src 'self' data: blob:; "
		  "style-src 'self' 'unsafe-inline'; frame-ancestors 'none'" },
		{ "X-Content-Type-Options", "nosniff" },
		{ "Referrer-Policy", "no-referrer" },
		{ "Cross-Origin-Resource-Policy", "same-origin" },
	};
	struct MHD_Response *response;
	int result;

	if (reply->file)
		response = http.MHD_create_response_from_buffer(
			reply->file->size, sonde_unconst(reply->file->bytes),
			MHD_RESPMEM_PERSISTENT);
	else
		response = http.MHD_create_response_from_buffer(
			reply->size, reply->body, MHD_RESPMEM_MUST_FREE);
	if (!response) {
		if (!reply->file)
			free(reply->body);
		return MHD_NO;
	}
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(headers); i++)
		(void)http.MHD_add_response_header(response, headers[i][0],
						   headers[i][1]);
	(void)http.MHD_add_response_header(
		response, MHD_HTTP_HEADER_CONTENT_TYPE, reply->type);
	if (reply->location)
		(void)http.MHD_add_response_header(
			response, MHD_HTTP_HEADER_LOCATION, reply->location);
	if (reply->origin)
		admit_origin(response, reply->origin);
	result = http.MHD_queue_response(connection, reply->status, response);
	http.MHD_destroy_response(response);
	return result;
}

static void refuse_as(struct reply *reply, unsigned int status,
		      const char *name, const struct sonde_view_error *error)
{
	FILE *to;

	free(reply->body);
	*reply = (struct reply){ .status = status,
				 .type = "application/json",
				 .origin = reply->origin };
	to = open_memstream(&reply->body, &reply->size);
	if (to) {
		struct sonde_json json = sonde_view_json(to);

		sonde_json_open(&json, NULL, '{');
		sonde_json_put_text(&json, name, error->text);
		if (error->column)
			sonde_json_put_unsigned(&json, "at", error->column);
		else
			sonde_json_put_raw(&json, "at", "null");
		sonde_json_close(&json, '}');
		if (!fclose(to))
			return;
	}
	free(reply->body);
	*reply = (struct reply){ .status = MHD_HTTP_INTERNAL_SERVER_ERROR,
				 .type = "text/plain" };
}

static void refuse_with(struct reply *reply, unsigned int status,
			const struct sonde_view_error *error)
{
	refuse_as(reply, status, "error", error);
}

__attribute__((format(printf, 3, 4))) static void
refuse_in_words(struct reply *reply, unsigned int status, const char *format,
		...)
{
	struct sonde_view_error error = { .column = 0 };
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(error.text, sizeof(error.text), format, arguments);
	va_end(arguments);
	refuse_with(reply, status, &error);
}

/* ---- who asks ---- */

static bool is_our_host(const struct sonde_view_server *server,
			const char *host)
{
	return host && (!strcmp(host, server->hosts[0]) ||
			!strcmp(host, server->hosts[1]));
}

/* Without an origin it is a page that was typed or clicked, or one of ours; but it
 * changes nothing. */
static bool is_our_origin(const struct sonde_view_server *server,
			  const char *origin)
{
	static const char scheme[] = "http://";

	return !origin || (!strncmp(origin, scheme, strlen(scheme)) &&
			   is_our_host(server, origin + strlen(scheme)));
}

/* One that was named, as it was; NULL: none. */
static const char *find_allowed_origin(const struct sonde_view_server *server,
				       const char *origin)
{
	for (size_t i = 0; origin && i < server->nr_origins; i++)
		if (!strcmp(server->origins[i], origin))
			return server->origins[i];
	return NULL;
}

/* Takes as long wherever they differ. */
static bool is_our_token(const struct sonde_view_server *server,
			 const char *token)
{
	unsigned char differs = strlen(token) != strlen(server->token);

	for (size_t i = 0; !differs && server->token[i]; i++)
		differs |= (unsigned char)(token[i] ^ server->token[i]);
	return !differs;
}

/* A page's request says its origin if it changes anything; who asks a service is no
 * browser, and says none, or is a page that may. */
static bool check_who(const struct sonde_view_server *server,
		      struct MHD_Connection *connection, bool of_service,
		      bool needs_origin, struct reply *reply)
{
	const char *origin = http.MHD_lookup_connection_value(
		connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_ORIGIN);

	reply->origin = of_service ? find_allowed_origin(server, origin) : NULL;

	if (!is_our_host(server, http.MHD_lookup_connection_value(
					 connection, MHD_HEADER_KIND,
					 MHD_HTTP_HEADER_HOST)))
		refuse_in_words(reply, MHD_HTTP_FORBIDDEN,
				"this is not the host that was asked for");
	else if (!reply->origin &&
		 (!is_our_origin(server, origin) || (!origin && needs_origin)))
		refuse_in_words(reply, MHD_HTTP_FORBIDDEN,
				"another page asks, not ours");
	else
		return true;
	return false;
}

static bool is_for_service(const struct sonde_view_server *server,
			   const struct sonde_view_request *request)
{
	return server->service && !strncmp(request->path, server->service->path,
					   strlen(server->service->path));
}

/* All that is before what is asked for. */
static bool check_request_head(const struct sonde_view_server *server,
			       struct MHD_Connection *connection,
			       const char *url, const char *method,
			       struct sonde_view_request *request,
			       struct reply *reply)
{
	int err = sonde_view_request_parse(request, url);
	bool of_service = !err && is_for_service(server, request);
	bool needs_origin =
		strcmp(method, MHD_HTTP_METHOD_GET) != 0 && !of_service;

	if (!check_who(server, connection, of_service, needs_origin, reply))
		return false;
	if (err)
		refuse_in_words(reply,
				err == -E2BIG ? MHD_HTTP_URI_TOO_LONG :
						MHD_HTTP_BAD_REQUEST,
				"the URL is %s",
				err == -E2BIG ? "too long" : "malformed");
	else if (!is_our_token(server, request->token))
		refuse_in_words(reply, MHD_HTTP_FORBIDDEN,
				"the token is not this server's: open the URL "
				"that it printed");
	else
		return true;
	return false;
}

/* ---- what is asked ---- */

static bool find_page_file(const char *path, struct reply *reply)
{
	if (!*path)
		path = "index.html";
	for (const struct sonde_view_file *file = sonde_view_files; file->name;
	     file++)
		if (!strcmp(file->name, path)) {
			*reply = (struct reply){ .status = MHD_HTTP_OK,
						 .type = file->type,
						 .file = file };
			return true;
		}
	return false;
}

static unsigned int http_status(int err)
{
	switch (err) {
	case 0:
		return MHD_HTTP_OK;
	case -EINVAL:
		return MHD_HTTP_BAD_REQUEST;
	case -ENOENT:
	case -ENODATA:
		return MHD_HTTP_NOT_FOUND;
	case -EINTR:
		return MHD_HTTP_SERVICE_UNAVAILABLE;
	default:
		return MHD_HTTP_INTERNAL_SERVER_ERROR;
	}
}

static void make_answer(struct sonde_view_shown *shown,
			const struct sonde_view_request *request, size_t i,
			struct reply *reply)
{
	struct sonde_view_error error = { .column = 0 };
	FILE *to = open_memstream(&reply->body, &reply->size);
	int err = -ENOMEM;

	if (to) {
		struct sonde_view *view = sonde_view_shown_take(shown);

		err = answers[i].answer(view, request, to, &error);
		if (!sonde_view_shown_give_back(shown, view) &&
		    answers[i].answer != sonde_view_answer_trace)
			err = sonde_view_fail(&error, -EINTR, SONDE_VIEW_TORN);
		if (fclose(to) && !err)
			err = -ENOMEM;
	}
	reply->status = MHD_HTTP_OK;
	reply->type = answers[i].type;
	if (!err)
		return;
	if (!error.text[0])
		(void)sonde_view_fail(&error, err, "%s", strerrordesc_np(-err));
	refuse_with(reply, http_status(err), &error);
}

static void find_answer(struct sonde_view_server *server, bool is_post,
			const struct sonde_view_request *request,
			struct reply *reply)
{
	size_t i = 0;

	while (i < SONDE_ARRAY_SIZE(answers) &&
	       strcmp(answers[i].path, request->path) != 0)
		i++;
	if (is_post != (i < SONDE_ARRAY_SIZE(answers) &&
			answers[i].answer == sonde_view_answer_note))
		refuse_in_words(reply, MHD_HTTP_METHOD_NOT_ALLOWED,
				"%s is answered",
				is_post ? "only GET" : "only POST");
	else if (i < SONDE_ARRAY_SIZE(answers))
		make_answer(&server->shown, request, i, reply);
	else if (!find_page_file(request->path, reply))
		refuse_in_words(reply, MHD_HTTP_NOT_FOUND,
				"there is no such page");
}

static void ask_service(struct sonde_view_server *server,
			const struct sonde_view_call *call, struct reply *reply)
{
	struct sonde_view_error error = { .column = 0 };
	FILE *to = open_memstream(&reply->body, &reply->size);

	reply->type = "application/json";
	reply->status = MHD_HTTP_INTERNAL_SERVER_ERROR;
	if (to) {
		reply->status = server->service->answer(server->service->ctx,
							call, to, &error);
		if (fclose(to))
			reply->status = MHD_HTTP_INTERNAL_SERVER_ERROR;
	}
	if (reply->status >= MHD_HTTP_BAD_REQUEST)
		refuse_as(reply, reply->status, "title", &error);
}

static void answer_page(struct sonde_view_server *server,
			const struct asked *asked, const char *method,
			const struct sonde_view_request *request,
			struct reply *reply)
{
	bool is_post = !strcmp(method, MHD_HTTP_METHOD_POST);

	if (!is_post && strcmp(method, MHD_HTTP_METHOD_GET) != 0)
		refuse_in_words(reply, MHD_HTTP_METHOD_NOT_ALLOWED,
				"only GET and POST are answered");
	else if (!*request->path &&
		 asked->url[strlen(request->token) + 1] != '/') {
		refuse_in_words(reply, MHD_HTTP_MOVED_PERMANENTLY,
				"it is a directory");
		reply->location = server->url;
	} else
		find_answer(server, is_post, request, reply);
}

static void answer_asked(struct sonde_view_server *server,
			 const struct asked *asked, const char *method,
			 const struct sonde_view_request *request,
			 struct reply *reply)
{
	if (!is_for_service(server, request)) {
		answer_page(server, asked, method, request, reply);
	} else if (reply->origin && !strcmp(method, MHD_HTTP_METHOD_OPTIONS)) {
		reply->status = MHD_HTTP_NO_CONTENT; /* the page may ask */
		reply->type = "text/plain";
	} else if (asked->size > SONDE_VIEW_BODY) {
		refuse_in_words(reply, MHD_HTTP_CONTENT_TOO_LARGE,
				"the request is too long");
	} else {
		const struct sonde_view_call call = {
			.method = method,
			.path = request->path + strlen(server->service->path),
			.request = request,
			.body = asked->body ? asked->body : "",
			.body_size = asked->body ? asked->size : 0,
		};

		ask_service(server, &call, reply);
	}
}

/* More of a body. What is too long is counted, and not kept. */
static enum MHD_Result keep_body(struct asked *asked, const char *bytes,
				 size_t size)
{
	size_t before = asked->size;
	char *body;

	if (!asked->keeps_body || before > SONDE_VIEW_BODY)
		return MHD_YES;
	asked->size += size;
	if (asked->size > SONDE_VIEW_BODY)
		return MHD_YES;
	body = realloc(asked->body, asked->size + 1);
	if (!body)
		return MHD_NO;
	memcpy(body + before, bytes, size);
	body[asked->size] = 0;
	asked->body = body;
	return MHD_YES;
}

/* What the handler is given as *connection_memory. */
static void *keep_url(void *memory, const char *url,
		      struct MHD_Connection *connection)
{
	struct asked *asked = calloc(1, sizeof(*asked));

	(void)memory;
	(void)connection;
	if (asked)
		asked->url = strdup(url);
	return asked;
}

static void forget_url(void *memory, struct MHD_Connection *connection,
		       void **connection_memory,
		       enum MHD_RequestTerminationCode why)
{
	struct asked *asked = *connection_memory;

	(void)memory;
	(void)connection;
	(void)why;
	if (asked) {
		free(asked->url);
		free(asked->body);
	}
	free(asked);
	*connection_memory = NULL;
}

static enum MHD_Result
/* NOLINTNEXTLINE(readability-function-size): what libmicrohttpd gives */
answer_request(void *memory, struct MHD_Connection *connection,
	       const char *path, const char *method, const char *version,
	       const char *body, size_t *body_size, void **connection_memory)
{
	struct sonde_view_server *server = memory;
	struct asked *asked = *connection_memory;
	struct sonde_view_request *request;
	struct reply reply = { .status = 0 };
	bool is_right;

	(void)path;
	(void)version;
	if (!asked || !asked->url)
		return MHD_NO;
	if (*body_size) {
		size_t size = *body_size;

		*body_size = 0;
		return keep_body(asked, body, size);
	}
	request = malloc(sizeof(*request));
	if (!request)
		return MHD_NO;
	is_right = check_request_head(server, connection, asked->url, method,
				      request, &reply);
	if (is_right && !asked->is_known && is_for_service(server, request) &&
	    strcmp(method, MHD_HTTP_METHOD_GET) != 0)
		asked->keeps_body = true;
	else if (is_right)
		answer_asked(server, asked, method, request, &reply);
	free(request);
	if (asked->keeps_body && !asked->is_known) {
		asked->is_known = true;
		return MHD_YES;
	}
	return send_reply(connection, &reply);
}

/* ---- the server ---- */

static int make_token(struct sonde_view_server *server)
{
	unsigned char bytes[TOKEN_BYTES];

	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return -errno;
	sonde_hex_put(bytes, sizeof(bytes), server->token);
	return 0;
}

static int listen_on(struct sonde_view_server *server, uint16_t port)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	static const char *const names[] = { HTTP_FUNCTIONS(SONDE_LIBRARY_NAME)
						     NULL };
	const union MHD_DaemonInfo *info;
	const char *why;

	if (sonde_library_open(SONDE_LIBMICROHTTPD, names, &http, &why))
		return -ELIBACC;
	errno = 0;
	server->daemon = http.MHD_start_daemon(
		MHD_USE_THREAD_PER_CONNECTION |
			MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_POLL,
		port, NULL, NULL, answer_request, server, MHD_OPTION_SOCK_ADDR,
		&address, MHD_OPTION_CONNECTION_LIMIT, CONNECTIONS,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, REQUEST_MEMORY,
		MHD_OPTION_CONNECTION_TIMEOUT, IDLE_S,
		MHD_OPTION_URI_LOG_CALLBACK, keep_url, NULL,
		MHD_OPTION_NOTIFY_COMPLETED, forget_url, NULL, MHD_OPTION_END);
	if (!server->daemon)
		return errno ? -errno : -EIO;
	info = http.MHD_get_daemon_info(server->daemon,
					MHD_DAEMON_INFO_BIND_PORT);
	if (info && info->port)
		port = info->port;
	(void)snprintf(server->hosts[0], sizeof(server->hosts[0]),
		       "127.0.0.1:%u", port);
	(void)snprintf(server->hosts[1], sizeof(server->hosts[1]),
		       "localhost:%u", port);
	(void)snprintf(server->url, sizeof(server->url), "http://%s/%s/",
		       server->hosts[0], server->token);
	return 0;
}

int sonde_view_server_start(const struct sonde_view_config *config,
			    struct sonde_view_server **ret_server)
{
	struct sonde_view_server *server = calloc(1, sizeof(*server));
	int err;

	if (!server)
		return -ENOMEM;
	server->service = config->service;
	server->origins = config->origins;
	server->nr_origins = config->nr_origins;
	err = sonde_view_shown_start(&server->shown, config);
	if (!err && server->service)
		err = server->service->begin(server->service->ctx,
					     &server->shown);
	if (!err)
		err = make_token(server);
	if (!err)
		err = listen_on(server, config->port);
	if (err)
		sonde_view_server_stop(server);
	else
		*ret_server = server;
	return err;
}

const char *sonde_view_server_url(const struct sonde_view_server *server)
{
	return server->url;
}

void sonde_view_server_stop(struct sonde_view_server *server)
{
	if (!server)
		return;
	sonde_view_shown_stop(&server->shown);
	if (server->service)
		server->service->stop(server->service->ctx);
	if (server->daemon)
		http.MHD_stop_daemon(server->daemon);
	sonde_view_shown_fini(&server->shown);
	free(server);
}
