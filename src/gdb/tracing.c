/* SPDX-License-Identifier: MIT */
/*
 * tracing.c - the run of a server: prepared, polled, stopped, forgotten.
 *
 * There is a run if there is a process with probes; a run ends in
 * sonde_gdb_stop(), whatever the reason, and the reason is what the status says
 * from then on. Code is changed only between the target's two calls of
 * patching(). Packets are answered elsewhere.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "gdb/server_parts.h"

void sonde_gdb_patching(const struct sonde_gdb_server *server, bool begins)
{
	const struct sonde_gdb_target_ops *ops = server->config.ops;

	if (ops && ops->patching)
		ops->patching(server->config.target, begins);
}

void sonde_gdb_stop(struct sonde_gdb_server *server,
		    enum sonde_probe_reason why, const char *text)
{
	if (!server->status.running || !server->run)
		return;
	sonde_gdb_patching(server, true);
	(void)sonde_probe_run_stop(server->run, why, text);
	sonde_gdb_patching(server, false);
	sonde_probe_run_poll(server->run, &server->points, &server->status);
	sonde_gdb_drop_frames(server);
}

void sonde_gdb_server_forget(struct sonde_gdb_server *server)
{
	sonde_gdb_stop(server, SONDE_PROBE_STOP_ASKED, NULL);
	sonde_gdb_patching(server, true);
	sonde_probe_run_free(server->run);
	sonde_probes_free(server->probes);
	server->probes = NULL;
	sonde_gdb_patching(server, false);
	for (size_t i = 0; i < server->points.nr; i++)
		server->points.list[i].probe = UINT32_MAX;
	server->run = NULL;
	server->process = NULL;
	server->status.running = false;
}

int sonde_gdb_need_process(struct sonde_gdb_server *server, char *error,
			   size_t error_size)
{
	const struct sonde_gdb_target_ops *ops = server->config.ops;
	struct sonde_process *process;
	int rc;

	if (!ops->process)
		return server->run ?
			       0 :
			       sonde_probe_run_new_kernel(
				       server->config.symbols,
				       server->config.moved, &server->run);
	process = ops->process(server->config.target, error, error_size);
	if (!process)
		return -ESRCH;
	if (process == server->process)
		return 0;
	sonde_gdb_server_forget(server);
	rc = sonde_probes_new(process, &server->probes);
	if (rc == 0)
		rc = sonde_probe_run_new(process, server->probes, &server->run);
	if (rc) {
		(void)snprintf(error, error_size,
			       "tracing can't be prepared (error %d)", -rc);
		sonde_gdb_server_forget(server);
		return rc;
	}
	server->process = process;
	return 0;
}

void sonde_gdb_poll(struct sonde_gdb_server *server)
{
	const struct sonde_gdb_settings *settings = &server->settings;

	if (!server->status.running || !server->run)
		return;
	sonde_probe_run_poll(server->run, &server->points, &server->status);
	if (!settings->circular &&
	    server->status.bytes >= settings->buffer_bytes)
		sonde_gdb_stop(server, SONDE_PROBE_STOP_FULL, NULL);
}

void sonde_gdb_take_out(struct sonde_gdb_server *server,
			struct sonde_probe_point *point)
{
	if (server->run && point->probe != UINT32_MAX)
		sonde_probe_run_remove(server->run, point->probe);
	point->probe = UINT32_MAX;
	point->enabled = false;
}

void sonde_gdb_start(struct sonde_gdb_server *server,
		     struct sonde_gdb_reply *reply)
{
	struct sonde_probe_run_config config = {
		.directory = server->config.directory,
		.circular = server->settings.circular,
	};
	char error[256] = "";
	int rc;

	server->has_late_point = false;
	sonde_gdb_drop_frames(server);
	rc = sonde_gdb_need_process(server, error, sizeof(error));
	sonde_gdb_patching(server, true);
	if (rc == 0)
		rc = sonde_probe_run_start(server->run, &server->points,
					   &config, error, sizeof(error));
	sonde_gdb_patching(server, false);
	if (rc) {
		if (!error[0])
			(void)snprintf(error, sizeof(error),
				       "the trace can't be started (error %d)",
				       -rc);
		sonde_gdb_reply_refuse(reply, error);
		return;
	}
	sonde_probe_run_poll(server->run, &server->points, &server->status);
	sonde_gdb_reply_text(reply, "OK");
}
