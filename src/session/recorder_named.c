/* SPDX-License-Identifier: MIT */
/*
 * recorder_named.c - see recorder_parts.h: a session that is found by its name.
 * Its file is written when it begins, is changed and ends, so it says what the
 * session is, whatever becomes of us.
 *
 * Those who ask are our own user or root, which is known before anything is
 * received; nobody is waited for: a line that is too long, or an answer that
 * isn't taken, ends the connection. Of more than ASKERS_MAX the one that has
 * been there longest is dropped.
 */
#include "session/recorder_parts.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/json.h"
#include "base/time.h"
#include "session/chunk.h"
#include "session/named.h"
#include "session/protocol.h"
#include "sys/cpus.h"

#define ASKERS_MAX     16u
#define ERROR_SIZE     480
#define PROCESSES_TOLD 256u

struct asker {
	int fd;          /* -1: free place */
	uint64_t since;  /* in the order of coming */
	bool awaits_end; /* it has asked for it */
	bool awaits_event;
	bool awaits_functions; /* that they are changed */
	uint32_t awaits_chunk; /* that it is ended; 0: none */
	uint32_t used;
	char text[SONDE_ASK_MAX];
};

struct sonde_recorder_by_name {
	int signal_fd;
	uint64_t began_s;
	uint64_t nr_came;
	uint64_t nr_snapshots;
	bool is_to_destroy; /* it is forgotten when it has ended */
	struct asker askers[ASKERS_MAX];
};

/* ---- what is told ---- */

static const char *const endings[] = {
	[SONDE_ENDED_ASKED] = "asked",       [SONDE_ENDED_UNTIL] = "until",
	[SONDE_ENDED_DURATION] = "duration", [SONDE_ENDED_GONE] = "gone",
	[SONDE_ENDED_TRIGGER] = "trigger",
};

static void put_events(struct sonde_json *json,
		       const struct sonde_consumer_counts *counts)
{
	sonde_json_open(json, "events", '{');
	sonde_json_put_unsigned(
		json, "emitted",
		counts->recorded + counts->discarded + counts->overwritten +
			counts->lost_disk + counts->held + counts->cleared);
	sonde_json_put_unsigned(json, "recorded", counts->recorded);
	sonde_json_put_unsigned(json, "held", counts->held);
	sonde_json_put_unsigned(json, "discarded", counts->discarded);
	sonde_json_put_unsigned(json, "overwritten", counts->overwritten);
	sonde_json_put_unsigned(json, "lost_disk", counts->lost_disk);
	sonde_json_put_unsigned(json, "cleared", counts->cleared);
	sonde_json_close(json, '}');
}

static void put_processes(const struct sonde_recorder *r,
			  struct sonde_json *json)
{
	uint32_t nr = 0;

	sonde_json_put_unsigned(json, "nr_processes", r->nr_programs);
	sonde_json_open(json, "processes", '[');
	for (uint32_t i = 0; i < SONDE_RECORDER_PROGRAMS_MAX; i++) {
		const struct sonde_arena_source *source = r->programs[i].source;

		if (!source || nr++ >= PROCESSES_TOLD)
			continue;
		sonde_json_open(json, NULL, '{');
		sonde_json_put_signed(json, "pid",
				      sonde_arena_source_pid(source));
		sonde_json_put_text(json, "name",
				    sonde_arena_source_name(source));
		sonde_json_close(json, '}');
	}
	sonde_json_close(json, ']');
}

static void put_triggers(const struct sonde_recorder *r,
			 struct sonde_json *json)
{
	uint32_t nr = r->config->session->nr_triggers;

	sonde_json_open(json, "triggers", '[');
	for (uint32_t i = 0; i <= nr; i++) {
		const struct sonde_recorder_fate *fate = &r->triggers->fates[i];

		/* Nobody has said that there is one. */
		if (i == nr && !fate->happened)
			continue;
		sonde_json_open(json, NULL, '{');
		sonde_json_put_text(json, "when", fate->trigger->when);
		sonde_json_put_text(
			json, "do",
			sonde_session_action_name(fate->trigger->action));
		sonde_json_put_unsigned(json, "happened", fate->happened);
		sonde_json_put_unsigned(json, "done",
					fate->acted - fate->failed);
		sonde_json_put_unsigned(json, "failed", fate->failed);
		sonde_json_put_unsigned(json, "held_back", fate->held_back);
		if (fate->answers)
			sonde_json_put_text(json, "answers", fate->answers);
		sonde_json_close(json, '}');
	}
	sonde_json_close(json, ']');
}

static void put_chunks(const struct sonde_recorder_chunks *chunks,
		       struct sonde_json *json)
{
	sonde_json_open(json, "chunks", '{');
	sonde_json_put_unsigned(json, "written", chunks->nr);
	sonde_json_put_unsigned(json, "kept", chunks->nr_kept + 1);
	sonde_json_put_unsigned(json, "removed", chunks->nr_gone);
	sonde_json_put_unsigned(json, "removed_events", chunks->gone_events);
	if (chunks->packer)
		sonde_json_put_unsigned(
			json, "compressed",
			sonde_recorder_packer_packed(chunks->packer));
	if (chunks->error)
		sonde_json_put_text(json, "error",
				    strerrordesc_np(-chunks->error));
	sonde_json_close(json, '}');
}

static void put_config(const struct sonde_recorder *r, struct sonde_json *json)
{
	const struct sonde_session_config *config = r->config->session;
	const struct sonde_recorder_named *named = r->config->named;
	char number[24];

	sonde_json_put_unsigned(json, "sonde", SONDE_PROTOCOL_VERSION);
	sonde_json_put_text(json, "name", named->name);
	sonde_json_put_signed(json, "pid", getpid());
	(void)snprintf(number, sizeof(number), "%016llx",
		       (unsigned long long)r->config->number);
	sonde_json_put_text(json, "number", number);
	sonde_json_put_unsigned(json, "began_s", r->named->began_s);
	sonde_json_put_unsigned(json, "began_clock", r->began);
	sonde_json_put_text(json, "mode",
			    config->mode == SONDE_OVERWRITE ? "overwrite" :
							      "discard");
	sonde_json_put_unsigned(json, "memory_bytes", r->budget.total_bytes);
	sonde_session_put_rules(json, "rules", r->rules);
	if (*r->functions)
		sonde_session_put_rules(json, "functions", r->functions);
	sonde_json_put_unsigned(json, "loglevel", r->setup.loglevel);
	sonde_json_put_text(json, "directory", r->config->directory);
	if (r->kernel && sonde_session_kernel_door(r->kernel))
		sonde_json_put_text(json, "mark",
				    sonde_session_kernel_door(r->kernel));
	if (named->earlier)
		sonde_json_put_text(json, "earlier", named->earlier);
	sonde_json_put_text(json, "cwd", named->cwd);
	sonde_json_open(json, "options", '[');
	for (char *const *word = named->options; *word; word++)
		sonde_json_put_text(json, NULL, *word);
	sonde_json_close(json, ']');
	sonde_json_put_unsigned(json, "nr_snapshots", r->named->nr_snapshots);
	if (r->triggers)
		put_triggers(r, json);
	if (r->chunks)
		put_chunks(r->chunks, json);
}

/* While it records. */
static void put_running(struct sonde_recorder *r, struct sonde_json *json)
{
	struct sonde_consumer_counts counts;

	sonde_session_survey(r->session, &counts);
	sonde_json_put_text(json, "state", "recording");
	put_config(r, json);
	put_processes(r, json);
	put_events(json, &counts);
}

/* The same text that `sonde record` ends with, by the one who knows. */
static char *summary_text(const struct sonde_recorder *r, bool as_json)
{
	const struct sonde_session_config *config = r->config->session;
	const struct sonde_summary_style style = {
		.directory = r->config->directory,
		.memory_bytes = r->budget.total_bytes,
		.kernel_memory_bytes = config->kernel.memory_bytes,
		.nr_cpus = sonde_cpus_online(),
		.has_kernel = r->kernel != NULL,
		.is_explained = config->attaches,
	};
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	if (!to)
		return NULL;
	if (as_json)
		sonde_summary_print_json(&r->summary, &style, to);
	else
		sonde_summary_print(&r->summary, &style, to);
	if (!fclose(to))
		return text;
	free(text);
	return NULL;
}

static struct sonde_consumer_counts
counts_of(const struct sonde_summary *summary)
{
	return (struct sonde_consumer_counts){
		.recorded = summary->recorded,
		.overwritten = summary->lost_overwritten,
		.lost_disk = summary->lost_disk,
		.cleared = summary->cleared,
		.discarded = sonde_summary_lost(summary) -
			     summary->lost_overwritten - summary->lost_disk,
	};
}

static void put_stopped(const struct sonde_recorder *r, struct sonde_json *json)
{
	const struct sonde_summary *summary = &r->summary;
	const struct sonde_consumer_counts counts = counts_of(summary);
	char *as_json = summary_text(r, true);
	char *text = summary_text(r, false);

	sonde_json_put_text(json, "state", "stopped");
	put_config(r, json);
	sonde_json_put_text(json, "ended", endings[summary->ended]);
	put_events(json, &counts);
	if (as_json) {
		as_json[strcspn(as_json, "\n")] = '\0';
		sonde_json_put_raw(json, "summary", as_json);
	}
	sonde_json_put_text(json, "text", text);
	free(as_json);
	free(text);
}

/* A line that is being written. */
struct line {
	FILE *to;
	char *text;
	size_t size;
	struct sonde_json json;
};

static bool begin_answer(struct line *line)
{
	*line = (struct line){ .text = NULL };
	line->to = open_memstream(&line->text, &line->size);
	if (!line->to)
		return false;
	line->json = sonde_json_to_file(line->to);
	sonde_json_open(&line->json, NULL, '{');
	return true;
}

/* To be freed; NULL without memory. */
static char *end_answer(struct line *line)
{
	sonde_json_close(&line->json, '}');
	(void)fputc('\n', line->to);
	if (!fclose(line->to))
		return line->text;
	free(line->text);
	return NULL;
}

static int describe_session(struct sonde_recorder *r, bool stopped)
{
	const struct sonde_recorder_named *named = r->config->named;
	struct line line;
	char *text;
	int rc;

	if (!begin_answer(&line))
		return -ENOMEM;
	if (stopped)
		put_stopped(r, &line.json);
	else
		put_running(r, &line.json);
	text = end_answer(&line);
	rc = text ? sonde_session_write_file(named->home, named->name, text) :
		    -ENOMEM;
	free(text);
	return rc;
}

/* ---- those who ask ---- */

static void drop(struct asker *asker)
{
	if (asker->fd >= 0)
		(void)close(
			asker->fd); /* a stream socket without descriptors */
	asker->fd = -1;
}

/* Takes over the line; who doesn't take it is dropped. */
static void answer(struct asker *asker, char *text)
{
	size_t size = text ? strlen(text) : 0;

	if (!text || send(asker->fd, text, size, MSG_DONTWAIT | MSG_NOSIGNAL) !=
			     (ssize_t)size)
		drop(asker);
	free(text);
}

static void refuse(struct asker *asker, const char *why)
{
	struct line line;

	if (!begin_answer(&line)) {
		drop(asker);
		return;
	}
	sonde_json_put_bool(&line.json, "ok", false);
	sonde_json_put_text(&line.json, "error", why);
	answer(asker, end_answer(&line));
}

static void say_yes(struct asker *asker)
{
	struct line line;

	if (!begin_answer(&line)) {
		drop(asker);
		return;
	}
	sonde_json_put_bool(&line.json, "ok", true);
	answer(asker, end_answer(&line));
}

static void tell_status(struct sonde_recorder *r, struct asker *asker)
{
	struct line line;

	if (!begin_answer(&line)) {
		drop(asker);
		return;
	}
	sonde_json_put_bool(&line.json, "ok", true);
	put_running(r, &line.json);
	answer(asker, end_answer(&line));
}

static void put_snapshot(struct sonde_json *json, const char *directory,
			 const struct sonde_summary *summary)
{
	const struct sonde_consumer_counts counts = counts_of(summary);
	uint32_t nr = summary->nr_notes;

	sonde_json_put_bool(json, "ok", true);
	sonde_json_put_text(json, "directory", directory);
	sonde_json_put_unsigned(json, "bytes", summary->bytes);
	sonde_json_put_unsigned(json, "nr_processes", summary->nr_processes);
	put_events(json, &counts);
	sonde_json_open(json, "notes", '[');
	for (uint32_t i = 0; i < nr && i < SONDE_NOTES_MAX; i++)
		sonde_json_put_text(json, NULL, summary->notes[i]);
	sonde_json_close(json, ']');
}

static void obey_clear(struct sonde_recorder *r, struct asker *asker)
{
	int rc;

	if (r->config->session->mode != SONDE_OVERWRITE || r->kernel) {
		refuse(asker,
		       r->kernel ? "kernel events can't be cleared while they "
				   "are recorded" :
				   "it writes its events as they come (--mode "
				   "discard); what can be cleared is of --mode "
				   "overwrite");
		return;
	}
	rc = sonde_session_clear(r->session, SONDE_CTF_PROGRAMS);
	if (rc)
		refuse(asker, rc == -EBUSY ?
				      "its programs write too fast just now; "
				      "try again" :
				      strerrordesc_np(-rc));
	else
		tell_status(r, asker);
}

static void take_snapshot(struct sonde_recorder *r, struct asker *asker,
			  const char *directory)
{
	struct sonde_directory_error error = { "" };
	struct sonde_summary summary;
	uint64_t now = r->timebase.now();
	struct line line;

	if (r->config->session->mode != SONDE_OVERWRITE) {
		refuse(asker,
		       "it writes its events as they come (--mode discard): its "
		       "trace can be read at any time; a snapshot is of "
		       "--mode overwrite");
		return;
	}
	if (sonde_recorder_snapshot(r, directory, &summary, &error)) {
		refuse(asker, error.text);
		return;
	}
	r->named->nr_snapshots++;
	if (!begin_answer(&line)) {
		drop(asker);
		return;
	}
	put_snapshot(&line.json, directory, &summary);
	/* It has all that had happened by then and wasn't overwritten. */
	sonde_json_put_unsigned(&line.json, "began_clock", r->began);
	sonde_json_put_unsigned(&line.json, "made_clock", now);
	answer(asker, end_answer(&line));
}

/* Who follows the trace wants it to have all that has happened by now. */
static void obey_read(struct sonde_recorder *r, struct asker *asker)
{
	if (r->config->session->mode == SONDE_OVERWRITE) {
		refuse(asker,
		       "it keeps its events in memory (--mode overwrite), and "
		       "writes them when it is asked for a snapshot");
		return;
	}
	sonde_recorder_read(r);
	say_yes(asker);
}

/* Who asks is a program, and wants its own events to be recorded. */
static void obey_join(struct sonde_recorder *r, struct asker *asker)
{
	char why[SONDE_ATTACH_TEXT];
	struct sonde_peer who;
	int rc;

	if (!r->attach || sonde_peer_of(asker->fd, &who)) {
		refuse(asker, "it records no events of programs");
		return;
	}
	rc = sonde_attach_join(r->attach, &who, why, sizeof(why));
	sonde_peer_release(&who);
	if (rc)
		refuse(asker, why);
	else
		say_yes(asker);
}

/* Who asks says an event, which is his. */
static void obey_mark(struct sonde_recorder *r, struct asker *asker,
		      const char *line)
{
	struct sonde_peer who;
	int rc = sonde_session_counts(r->config->session) ?
			 -ENODEV :
			 sonde_peer_of(asker->fd, &who);

	if (!rc) {
		rc = sonde_recorder_take_mark(r, who.pid, line);
		sonde_peer_release(&who);
	}
	if (!rc)
		say_yes(asker);
	else
		refuse(asker, rc == -ENOENT ?
				      "it has other events (-e, --loglevel)" :
			      rc == -ENODEV ?
				      "it has no trace for it" :
			      rc == -ENOSPC ?
				      "there is no memory for it: the event is "
				      "lost, and counted" :
				      strerrordesc_np(-rc));
}

static void obey_rotate(struct sonde_recorder *r, struct asker *asker)
{
	if (r->chunks)
		asker->awaits_chunk = r->chunks->asked = r->chunks->nr;
	else
		refuse(asker, "its trace is not in chunks: start it with "
			      "--rotate SIZE, TIME or hand");
}

static void tell_asker_chunk(const struct sonde_recorder *r,
			     struct asker *asker,
			     const struct sonde_recorder_chunk *chunk)
{
	char directory[PATH_MAX];
	struct line line;

	asker->awaits_chunk = 0;
	if (!begin_answer(&line)) {
		drop(asker);
		return;
	}
	(void)snprintf(directory, sizeof(directory),
		       "%.4000s/" SONDE_CHUNK_NAME, r->config->directory,
		       chunk->nr);
	sonde_json_put_bool(&line.json, "ok", true);
	sonde_json_put_text(&line.json, "directory", directory);
	sonde_json_put_unsigned(&line.json, "recorded", chunk->recorded);
	sonde_json_put_unsigned(&line.json, "bytes", chunk->bytes);
	answer(asker, end_answer(&line));
}

void sonde_recorder_tell_chunk(struct sonde_recorder *r,
			       const struct sonde_recorder_chunk *chunk,
			       int error)
{
	for (uint32_t i = 0; i < ASKERS_MAX; i++) {
		struct asker *asker = &r->named->askers[i];

		if (asker->fd < 0 || !asker->awaits_chunk ||
		    (chunk && chunk->nr < asker->awaits_chunk))
			continue;
		if (chunk) {
			tell_asker_chunk(r, asker, chunk);
		} else {
			asker->awaits_chunk = 0;
			refuse(asker, strerrordesc_np(-error));
		}
	}
}

/* Its file says what another recorder would go on with. */
static void obey_change(struct sonde_recorder *r, struct asker *asker,
			const struct sonde_session_wish *wish)
{
	struct sonde_source_error error = { "" };
	int rc = sonde_recorder_change(r, wish, &error);

	if (!rc) {
		rc = describe_session(r, false);
		if (rc)
			(void)sonde_source_fail(
				&error, rc,
				"it is changed, but its file can't say so "
				"(%s): a recorder that takes it over goes on "
				"as before",
				strerrordesc_np(-rc));
	}
	if (rc)
		refuse(asker, *error.text ? error.text : strerrordesc_np(-rc));
	else
		tell_status(r, asker);
}

static void obey_functions(struct sonde_recorder *r, struct asker *asker,
			   const struct sonde_session_wish *wish)
{
	struct sonde_source_error error = { "" };
	int rc = sonde_recorder_ask_functions(r, wish, &error);

	if (rc)
		refuse(asker, *error.text ? error.text : strerrordesc_np(-rc));
	else
		asker->awaits_functions = true;
}

static void put_line_by_line(struct sonde_json *json, const char *lines)
{
	char line[ERROR_SIZE];
	size_t length;

	sonde_json_open(json, "notes", '[');
	for (; *lines; lines += length + (lines[length] == '\n')) {
		length = strcspn(lines, "\n");
		(void)snprintf(line, sizeof(line), "%.*s", (int)length, lines);
		sonde_json_put_text(json, NULL, line);
	}
	sonde_json_close(json, ']');
}

static void tell_asker_functions(struct sonde_recorder *r, struct asker *asker,
				 const struct sonde_holder_said *said)
{
	struct line line;

	asker->awaits_functions = false;
	if (said->rc) {
		refuse(asker, said->text);
		return;
	}
	if (!begin_answer(&line)) {
		drop(asker);
		return;
	}
	sonde_json_put_bool(&line.json, "ok", true);
	put_running(r, &line.json);
	put_line_by_line(&line.json, said->text);
	answer(asker, end_answer(&line));
}

void sonde_recorder_tell_functions(struct sonde_recorder *r,
				   const struct sonde_holder_said *said)
{
	if (!said->rc) {
		memcpy(r->functions, r->asked_functions, sizeof(r->functions));
		/* A holder's death ends a session's hooks, so nobody goes on
		 * with what the file says. */
		(void)describe_session(r, false);
	}
	*r->asked_functions = '\0';
	for (uint32_t i = 0; i < ASKERS_MAX; i++)
		if (r->named->askers[i].fd >= 0 &&
		    r->named->askers[i].awaits_functions)
			tell_asker_functions(r, &r->named->askers[i], said);
}

/* Nothing would ever come where nothing is waited for. */
static void obey_wait(const struct sonde_recorder *r, struct asker *asker)
{
	if (r->triggers)
		asker->awaits_event = true;
	else
		refuse(asker, "it waits for nothing: it was started without "
			      "--when, and isn't of --mode overwrite");
}

static void put_seen_field(void *ctx, const char *name, const char *text)
{
	sonde_json_put_text(ctx, name, text);
}

static void put_seen(struct sonde_json *json,
		     const struct sonde_sentry_event *seen)
{
	sonde_json_put_unsigned(json, "tid", seen->tid);
	sonde_json_open(json, "fields", '{');
	sonde_sentry_fields(seen, put_seen_field, json);
	sonde_json_close(json, '}');
}

static void tell_asker_fired(struct asker *asker,
			     const struct sonde_recorder_fired *fired)
{
	struct line line;

	asker->awaits_event = false;
	if (!begin_answer(&line)) {
		drop(asker);
		return;
	}
	sonde_json_put_bool(&line.json, "ok", true);
	sonde_json_put_text(&line.json, "event", fired->event);
	sonde_json_put_unsigned(&line.json, "count", fired->nr);
	sonde_json_put_signed(&line.json, "pid", fired->pid);
	sonde_json_put_text(&line.json, "process", fired->process);
	sonde_json_put_text(&line.json, "done", fired->action);
	if (fired->seen)
		put_seen(&line.json, fired->seen);
	if (fired->span_ns)
		sonde_json_put_unsigned(&line.json, "duration_ns",
					fired->span_ns);
	if (*fired->directory)
		sonde_json_put_text(&line.json, "directory", fired->directory);
	if (*fired->answers)
		sonde_json_put_text(&line.json, "answers", fired->answers);
	answer(asker, end_answer(&line));
}

void sonde_recorder_tell_fired(struct sonde_recorder *r,
			       const struct sonde_recorder_fired *fired)
{
	r->named->nr_snapshots += *fired->directory != '\0';
	for (uint32_t i = 0; i < ASKERS_MAX; i++)
		if (r->named->askers[i].fd >= 0 &&
		    r->named->askers[i].awaits_event)
			tell_asker_fired(&r->named->askers[i], fired);
}

static void obey_end(struct sonde_recorder *r, struct asker *asker,
		     bool is_to_destroy)
{
	sonde_recorder_end(r, SONDE_ENDED_ASKED);
	r->named->is_to_destroy |= is_to_destroy;
	asker->awaits_end = true;
}

static void obey(struct sonde_recorder *r, struct asker *asker,
		 const char *words, size_t size)
{
	char error[ERROR_SIZE] = "";
	struct sonde_session_ask ask;
	int rc =
		sonde_session_ask_read(words, size, &ask, error, sizeof(error));

	if (rc) {
		refuse(asker, *error ? error : strerrordesc_np(-rc));
		return;
	}
	switch (ask.what) {
	case SONDE_ASK_STATUS:
		tell_status(r, asker);
		break;
	case SONDE_ASK_SNAPSHOT:
		take_snapshot(r, asker, ask.directory);
		break;
	case SONDE_ASK_CHANGE:
		if (ask.wish.functions_size)
			obey_functions(r, asker, &ask.wish);
		else
			obey_change(r, asker, &ask.wish);
		break;
	case SONDE_ASK_CLEAR:
		obey_clear(r, asker);
		break;
	case SONDE_ASK_WAIT:
		obey_wait(r, asker);
		break;
	case SONDE_ASK_READ:
		obey_read(r, asker);
		break;
	case SONDE_ASK_ROTATE:
		obey_rotate(r, asker);
		break;
	case SONDE_ASK_JOIN:
		obey_join(r, asker);
		break;
	case SONDE_ASK_MARK:
		obey_mark(r, asker, ask.text);
		break;
	case SONDE_ASK_STOP:
		obey_end(r, asker, false);
		break;
	case SONDE_ASK_DESTROY:
		obey_end(r, asker, true);
		break;
	}
}

/* Line by line; what follows an end isn't heard any more. */
static void hear_lines(struct sonde_recorder *r, struct asker *asker)
{
	const char *end;

	while (asker->fd >= 0 && !r->finishing &&
	       (end = memchr(asker->text, '\n', asker->used))) {
		size_t size = (size_t)(end - asker->text);
		size_t rest = asker->used - size - 1;

		obey(r, asker, asker->text, size);
		memmove(asker->text, end + 1, rest);
		asker->used = (uint32_t)rest;
	}
	if (asker->fd >= 0 && asker->used == sizeof(asker->text)) {
		refuse(asker, "the request is too long");
		drop(asker);
	}
}

void sonde_recorder_hear_asker(struct sonde_recorder *r, uint32_t index)
{
	struct asker *asker = &r->named->askers[index];
	ssize_t n;

	/* The place may be another's since the event was taken. */
	if (asker->fd < 0 || r->finishing)
		return;
	n = recv(asker->fd, asker->text + asker->used,
		 sizeof(asker->text) - asker->used, MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		drop(asker);
		return;
	}
	asker->used += (uint32_t)n;
	hear_lines(r, asker);
}

/* The least goes first: who waits stays before those who only look. */
static uint64_t asker_rank(const struct asker *asker)
{
	bool waits = asker->awaits_event || asker->awaits_end ||
		     asker->awaits_chunk || asker->awaits_functions;

	return asker->since | (uint64_t)waits << 63;
}

/* A free place, or that of the one who has been there longest. */
static struct asker *asker_place(struct sonde_recorder *r)
{
	struct asker *oldest = &r->named->askers[0];

	for (uint32_t i = 0; i < ASKERS_MAX; i++) {
		struct asker *asker = &r->named->askers[i];

		if (asker->fd < 0)
			return asker;
		if (asker_rank(asker) < asker_rank(oldest))
			oldest = asker;
	}
	drop(oldest);
	return oldest;
}

void sonde_recorder_accept_askers(struct sonde_recorder *r)
{
	struct asker *asker;
	int fd = accept4(r->config->named->listen_fd, NULL, NULL,
			 SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd < 0)
		return;
	if (sonde_peer_check(fd)) {
		(void)close(fd); /* nothing was received */
		return;
	}
	asker = asker_place(r);
	asker->fd = fd;
	asker->used = 0;
	asker->awaits_end = false;
	asker->awaits_event = false;
	asker->awaits_functions = false;
	asker->awaits_chunk = 0;
	asker->since = r->named->nr_came++;
	if (sonde_recorder_watch(r, fd, SONDE_RECORDER_ASKER,
				 (uint32_t)(asker - r->named->askers)))
		drop(asker);
}

void sonde_recorder_take_signal(struct sonde_recorder *r)
{
	struct signalfd_siginfo info;

	if (read(r->named->signal_fd, &info, sizeof(info)) ==
	    (ssize_t)sizeof(info))
		sonde_recorder_end(r, SONDE_ENDED_ASKED);
}

/* ---- life ---- */

static int await_signals(struct sonde_recorder_by_name *named)
{
	sigset_t mask;

	(void)sigemptyset(&mask);
	(void)sigaddset(&mask, SIGTERM); /* it is valid */
	/* Blocked, it isn't ignored. */
	(void)pthread_sigmask(SIG_BLOCK, &mask, NULL);
	named->signal_fd = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
	return named->signal_fd < 0 ? -errno : 0;
}

int sonde_recorder_name(struct sonde_recorder *r)
{
	struct sonde_recorder_by_name *named = calloc(1, sizeof(*named));
	int rc;

	if (!named)
		return -ENOMEM;
	named->began_s = sonde_time_ns(CLOCK_REALTIME) / 1000000000;
	for (uint32_t i = 0; i < ASKERS_MAX; i++)
		named->askers[i].fd = -1;
	r->named = named;
	rc = await_signals(named);
	if (!rc)
		rc = sonde_recorder_watch(r, named->signal_fd,
					  SONDE_RECORDER_SIGNAL, 0);
	if (!rc)
		rc = sonde_recorder_watch(r, r->config->named->listen_fd,
					  SONDE_RECORDER_ASKERS, 0);
	return rc ? rc : describe_session(r, false);
}

static void tell_asker_end(const struct sonde_recorder *r, struct asker *asker)
{
	struct line line;

	if (!begin_answer(&line))
		return;
	sonde_json_put_bool(&line.json, "ok", true);
	put_stopped(r, &line.json);
	answer(asker, end_answer(&line));
}

void sonde_recorder_unname(struct sonde_recorder *r, bool started)
{
	const struct sonde_recorder_named *config = r->config->named;
	struct sonde_recorder_by_name *named = r->named;
	/* What could not be inherited stays what it was. */
	bool is_forgotten = started ? named->is_to_destroy : !config->inherited;

	if (is_forgotten)
		sonde_session_remove_file(config->home, config->name);
	else if (started)
		(void)describe_session(r, true); /* it says less, then */
	if (!started)
		sonde_directory_remove(config->place);
	sonde_session_remove_socket(config->home, config->name);
	if (!named)
		return;
	/* Who asked for the end hears of it when all that it says is so. */
	for (uint32_t i = 0; i < ASKERS_MAX; i++) {
		struct asker *asker = &named->askers[i];

		if (started && asker->fd >= 0 &&
		    (asker->awaits_end || asker->awaits_event ||
		     asker->awaits_chunk || asker->awaits_functions))
			tell_asker_end(r, asker);
		drop(asker);
	}
	if (named->signal_fd >= 0)
		(void)close(named->signal_fd);
	free(named);
	r->named = NULL;
}
