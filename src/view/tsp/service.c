/* SPDX-License-Identifier: MIT */
/*
 * service.c - which question of the Trace Server Protocol a URL is (service.h), and the
 * form of its answer: of an output,
 *
 *	{ "model": ..., "status": "COMPLETED", "statusMessage": "" }
 *
 * where RUNNING says that there will be more, since the index isn't whole yet, and
 * FAILED that there is no model; everything else is its value alone.
 */
#include "view/tsp/service.h"

#include <errno.h>
#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/port.h"
#include "view/http/torn.h"
#include "view/tsp/outputs.h"

#define PREFIX "tsp/api/"

struct asked {
	struct sonde_view_tsp *tsp;
	const struct sonde_view_call *call;
	const char *id,
		*rest; /* behind "traces/", "experiments/"; of the latter */
	struct sonde_json json;
	FILE *to;
	struct sonde_view_error *error;
};

/* ---- the server ---- */

static int answer_health(struct asked *asked)
{
	sonde_json_open(&asked->json, NULL, '{');
	sonde_json_put_text(&asked->json, "status", "UP");
	sonde_json_close(&asked->json, '}');
	return 0;
}

static int answer_identifier(struct asked *asked)
{
	struct sonde_json *json = &asked->json;
	struct utsname names;

	if (uname(&names))
		return -errno;
	sonde_json_open(json, NULL, '{');
	sonde_json_put_text(json, "version", asked->tsp->version);
	sonde_json_put_text(json, "productId", "sonde");
	sonde_json_put_text(json, "launcherName", "sonde view");
	sonde_json_put_text(json, "os", names.sysname);
	sonde_json_put_text(json, "osVersion", names.release);
	sonde_json_put_text(json, "osArch", names.machine);
	sonde_json_close(json, '}');
	return 0;
}

static int answer_no_list(struct asked *asked)
{
	sonde_json_open(&asked->json, NULL, '[');
	sonde_json_close(&asked->json, ']');
	return 0;
}

/* ---- traces ---- */

static int list_traces(struct asked *asked)
{
	sonde_view_tsp_put_traces(&asked->tsp->traces, &asked->json);
	return 0;
}

static int parse_call_body(const struct asked *asked,
			   struct sonde_view_tsp_query *query)
{
	return sonde_view_tsp_query_parse(
		asked->call->body, asked->call->body_size, query, asked->error);
}

static int open_named_trace(struct asked *asked)
{
	const struct sonde_view_tsp_trace *trace = NULL;
	struct sonde_view_tsp_query query;
	int err = parse_call_body(asked, &query);

	if (!err && !query.uri)
		err = sonde_view_fail(asked->error, -EINVAL,
				      "uri: which trace?");
	if (!err)
		trace = sonde_view_tsp_trace_at(&asked->tsp->traces, query.uri);
	if (trace)
		sonde_view_tsp_put_trace(&asked->tsp->traces, trace,
					 &asked->json);
	else if (!err)
		err = sonde_view_fail(
			asked->error, -EPERM,
			"only traces that 'sonde view --tsp' was started with "
			"are shown; start it with %.200s as well",
			query.uri);
	sonde_view_tsp_query_fini(&query);
	return err;
}

static int tell_trace(struct asked *asked)
{
	const struct sonde_view_tsp_trace *trace =
		sonde_view_tsp_trace_find(&asked->tsp->traces, asked->id);

	if (!trace)
		return sonde_view_fail(asked->error, -ENOENT,
				       "there is no such trace");
	sonde_view_tsp_put_trace(&asked->tsp->traces, trace, &asked->json);
	return 0;
}

/* It stays: what the server was started with is there until it ends. */
static int close_trace(struct asked *asked)
{
	const char *destroy =
		sonde_view_request_text(asked->call->request, "deleteTrace");

	if (destroy && strcmp(destroy, "false") != 0)
		return sonde_view_fail(asked->error, -EPERM,
				       "traces are not deleted from here");
	return tell_trace(asked);
}

/* ---- experiments ---- */

static int list_experiments(struct asked *asked)
{
	sonde_view_tsp_put_experiments(&asked->tsp->traces, &asked->json);
	return 0;
}

static int make_experiment(struct asked *asked)
{
	struct sonde_view_tsp_experiment *experiment;
	struct sonde_view_tsp_query query;
	int err = parse_call_body(asked, &query);

	if (!err)
		err = sonde_view_tsp_experiment_make(
			&asked->tsp->traces, query.name, query.members.words,
			query.members.nr, &experiment, asked->error);
	if (!err)
		sonde_view_tsp_put_experiment(&asked->tsp->traces, experiment,
					      &asked->json);
	sonde_view_tsp_query_fini(&query);
	return err;
}

static int find_asked(struct asked *asked,
		      struct sonde_view_tsp_experiment **ret_experiment)
{
	*ret_experiment =
		sonde_view_tsp_experiment_find(&asked->tsp->traces, asked->id);
	return *ret_experiment ? 0 :
				 sonde_view_fail(asked->error, -ENOENT,
						 "there is no such experiment");
}

static int tell_experiment(struct asked *asked)
{
	struct sonde_view_tsp_experiment *experiment;
	int err = find_asked(asked, &experiment);

	if (!err)
		sonde_view_tsp_put_experiment(&asked->tsp->traces, experiment,
					      &asked->json);
	return err;
}

static int close_asked(struct asked *asked)
{
	struct sonde_view_tsp_experiment *experiment;
	int err = find_asked(asked, &experiment);

	if (err)
		return err;
	sonde_view_tsp_put_experiment(&asked->tsp->traces, experiment,
				      &asked->json);
	sonde_view_tsp_experiment_hide(&asked->tsp->traces, experiment);
	return 0;
}

/* ---- outputs ---- */

static const char *model_status(int err,
				const struct sonde_view_tsp_reply *reply)
{
	if (err)
		return "FAILED";
	return reply->running ? "RUNNING" : "COMPLETED";
}

/* The model goes to memory first, for it may fail half-way. */
static int put_model(struct asked *asked, struct sonde_view *view,
		     const struct sonde_view_tsp_question *question,
		     const struct sonde_view_tsp_query *query,
		     struct sonde_view_tsp_reply *reply)
{
	char *model = NULL;
	size_t size = 0;
	FILE *to = open_memstream(&model, &size);
	int err = to ? 0 : -ENOMEM;

	if (to) {
		reply->json = sonde_view_json(to);
		err = question->put(view, query, reply, asked->error);
		if (fclose(to) && !err)
			err = -ENOMEM;
	}
	if (!err)
		asked->json.put(asked->json.to, model, size);
	else
		sonde_json_put_raw(&asked->json, "model", "null");
	asked->json.comma = true;
	free(model);
	return err;
}

static int put_answer(struct asked *asked, struct sonde_view *view,
		      const struct sonde_view_tsp_question *question,
		      const char *output)
{
	struct sonde_view_tsp_reply reply = { .running = false };
	struct sonde_view_tsp_query query;
	int err = parse_call_body(asked, &query);

	if (!err) {
		int failed;

		sonde_view_tsp_report_of(output, &reply.report, &reply.table);
		sonde_json_open(&asked->json, NULL, '{');
		failed = put_model(asked, view, question, &query, &reply);
		sonde_json_put_text(&asked->json, "status",
				    model_status(failed, &reply));
		sonde_json_put_text(&asked->json, "statusMessage",
				    failed ? asked->error->text :
					     reply.message);
		sonde_json_close(&asked->json, '}');
	}
	sonde_view_tsp_query_fini(&query);
	return err;
}

static int answer_output(struct asked *asked, struct sonde_view *view)
{
	const char *method = asked->call->method;
	const struct sonde_view_tsp_question *question;
	char output[SONDE_VIEW_TSP_ID];
	bool known;

	question = sonde_view_tsp_question(method, asked->rest, output, &known);
	if (question && known)
		return put_answer(asked, view, question, output);
	if (!strcmp(method, "GET") &&
	    sonde_view_tsp_put_output(view, asked->rest, &asked->json))
		return 0;
	return sonde_view_fail(asked->error, -ENOENT,
			       question ? "there is no such output" :
					  "this isn't answered");
}

static int with_view(struct asked *asked,
		     int (*answer)(struct asked *asked,
				   struct sonde_view *view))
{
	struct sonde_view_tsp_experiment *experiment;
	struct sonde_view *view;
	int err = find_asked(asked, &experiment);

	if (err)
		return err;
	view = sonde_view_shown_take(experiment->shown);
	err = answer(asked, view);
	if (!sonde_view_shown_give_back(experiment->shown, view))
		return sonde_view_fail(asked->error, -EINTR, SONDE_VIEW_TORN);
	return err;
}

static int put_outputs(struct asked *asked, struct sonde_view *view)
{
	sonde_json_open(&asked->json, NULL, '[');
	sonde_view_tsp_put_outputs(view, &asked->json);
	sonde_json_close(&asked->json, ']');
	return 0;
}

static int list_outputs(struct asked *asked)
{
	return with_view(asked, put_outputs);
}

static int ask_output(struct asked *asked)
{
	return with_view(asked, answer_output);
}

/* ---- which it is ---- */

/* "*" stands for an id, "**" for all that follows. */
static const struct {
	const char *method, *path;
	int (*answer)(struct asked *asked);
} routes[] = {
	{ "GET", "health", answer_health },
	{ "GET", "identifier", answer_identifier },
	{ "GET", "config/types", answer_no_list },
	{ "GET", "traces", list_traces },
	{ "POST", "traces", open_named_trace },
	{ "GET", "traces/*", tell_trace },
	{ "DELETE", "traces/*", close_trace },
	{ "GET", "experiments", list_experiments },
	{ "POST", "experiments", make_experiment },
	{ "GET", "experiments/*", tell_experiment },
	{ "DELETE", "experiments/*", close_asked },
	{ "GET", "experiments/*/outputs", list_outputs },
	{ NULL, "experiments/*/outputs/**", ask_output },
};

/* Cuts the path at the end of its id. */
static bool is_route(const char *pattern, char *path, struct asked *asked)
{
	size_t before = strcspn(pattern, "*");
	size_t length;

	if (!pattern[before])
		return !strcmp(pattern, path);
	if (strncmp(pattern, path, before) != 0)
		return false;
	asked->id = path + before;
	length = strcspn(asked->id, "/");
	pattern += before + 1;
	before = strcspn(pattern, "*");
	if (strncmp(pattern, asked->id + length, before) != 0)
		return false;
	asked->rest = asked->id + length + before;
	if (!pattern[before] && *asked->rest)
		return false;
	path[asked->id + length - path] = 0;
	return true;
}

static int find_route(struct asked *asked)
{
	const char *method = asked->call->method;
	char path[512];
	bool other = false;

	for (size_t i = 0; i < SONDE_ARRAY_SIZE(routes); i++) {
		if ((size_t)snprintf(path, sizeof(path), "%s",
				     asked->call->path) >= sizeof(path))
			break;
		if (!is_route(routes[i].path, path, asked))
			continue;
		if (!routes[i].method || !strcmp(routes[i].method, method))
			return routes[i].answer(asked);
		other = true;
	}
	return other ? sonde_view_fail(asked->error, -EOPNOTSUPP,
				       "%.20s isn't answered here", method) :
		       sonde_view_fail(asked->error, -ENOENT,
				       "there is nothing of that name");
}

static unsigned int status_for(int err)
{
	switch (err) {
	case 0:
		return MHD_HTTP_OK;
	case -EINVAL:
		return MHD_HTTP_BAD_REQUEST;
	case -EPERM:
		return MHD_HTTP_FORBIDDEN;
	case -ENOENT:
		return MHD_HTTP_NOT_FOUND;
	case -EOPNOTSUPP:
		return MHD_HTTP_METHOD_NOT_ALLOWED;
	case -EBUSY:
		return MHD_HTTP_CONFLICT;
	default:
		return MHD_HTTP_INTERNAL_SERVER_ERROR;
	}
}

static unsigned int answer_call(void *ctx, const struct sonde_view_call *call,
				FILE *to, struct sonde_view_error *error)
{
	struct asked asked = {
		.tsp = ctx,
		.call = call,
		.json = sonde_view_json(to),
		.to = to,
		.error = error,
	};
	int err = find_route(&asked);

	if (err && !error->text[0])
		(void)sonde_view_fail(error, err, "%s", strerrordesc_np(-err));
	return status_for(err);
}

/* ---- life ---- */

static int begin_service(void *ctx, struct sonde_view_shown *shown)
{
	struct sonde_view_tsp *tsp = ctx;

	tsp->begun = true;
	return sonde_view_tsp_traces_begin(&tsp->traces, tsp->config, shown);
}

static void stop_service(void *ctx)
{
	struct sonde_view_tsp *tsp = ctx;

	if (tsp->begun)
		sonde_view_tsp_traces_stop(&tsp->traces);
}

struct sonde_view_service
sonde_view_tsp_service(struct sonde_view_tsp *tsp, const char *version,
		       const struct sonde_view_config *config)
{
	*tsp = (struct sonde_view_tsp){ .version = version, .config = config };
	return (struct sonde_view_service){
		.path = PREFIX,
		.begin = begin_service,
		.answer = answer_call,
		.stop = stop_service,
		.ctx = tsp,
	};
}

void sonde_view_tsp_fini(struct sonde_view_tsp *tsp)
{
	if (tsp->begun)
		sonde_view_tsp_traces_fini(&tsp->traces);
	tsp->begun = false;
}
