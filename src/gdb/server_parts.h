/* SPDX-License-Identifier: MIT */
/*
 * server_parts.h - what the server's own files share.
 *
 *	server.c	the connection, and who answers which packet
 *	query.c		what the server can do; parts of long answers
 *	define.c	tracepoints, variables and settings come in
 *	add.c		clients that add tracepoints to a run
 *	trace.c		the run: start, stop, status; tracepoints told back
 *	frame.c		trace frames
 *	markers.c	static tracepoint markers
 *	save.c		a trace as a file of GDB's
 *
 * An answer is a function of the server's state and the packet's rest (what
 * follows the word it is known by), which ends with a NUL. It fills in a reply
 * that is empty before: empty means 'not supported'.
 */
#ifndef GDB_SERVER_PARTS_H
#define GDB_SERVER_PARTS_H

#include "gdb/packet.h"
#include "gdb/server.h"
#include "probe/markers.h"

#define SONDE_GDB_NO_FRAME UINT64_MAX

struct sonde_gdb_settings {
	uint64_t buffer_bytes; /* UINT64_MAX: no limit */
	bool circular;
	bool stays; /* goes on when GDB disconnects */
	char *user, *notes, *stop_note;
};

struct sonde_gdb_server {
	struct sonde_gdb_server_config config;
	struct sonde_gdb_settings settings;
	struct sonde_probe_points points;
	char *next_name; /* of the next tracepoints; QSondeName */
	/* add.c: what was there before a client that adds */
	bool is_adding;
	struct sonde_probe_points aside_points;
	struct sonde_probe_run_status aside_status;

	struct sonde_process *process; /* the target's; NULL: not yet */
	struct sonde_probes *probes;
	struct sonde_probe_run *run;
	struct sonde_probe_run_status status; /* as it was last seen */
	/* A tracepoint that is complete, but for the source lines that may
	 * follow: its key. */
	bool has_late_point, has_new_lines;
	uint32_t late_number;
	uint64_t late_address;

	struct sonde_gdb_frames *frames; /* of the last run; NULL */
	bool frames_are_given;           /* config's: a recorded trace */
	uint64_t frame;                  /* the selected one */

	struct sonde_probe_markers markers;
	bool has_markers;
	uint64_t markers_stamp; /* of the kernel's (sys/kmodules.h) */
	size_t told;            /* qTsP, qTsV, qTsSTM: what comes next */

	int in, out;
	bool is_connected, ends, no_acks;
	enum sonde_gdb_end end;
	struct sonde_gdb_packets packets;
	struct sonde_gdb_reply reply;
	char sent[SONDE_GDB_FRAME_MAX]; /* in case of a NACK */
	size_t nr_sent;
	char notification[SONDE_GDB_FRAME_MAX];
};

typedef void sonde_gdb_answer(struct sonde_gdb_server *server, const char *rest,
			      struct sonde_gdb_reply *reply);

/* query.c */
sonde_gdb_answer sonde_gdb_answer_supported, sonde_gdb_answer_features,
	sonde_gdb_answer_sonde_name, sonde_gdb_answer_shortest,
	sonde_gdb_answer_trace;

/* define.c */
sonde_gdb_answer sonde_gdb_answer_init, sonde_gdb_answer_define,
	sonde_gdb_answer_source, sonde_gdb_answer_variable,
	sonde_gdb_answer_circular, sonde_gdb_answer_size,
	sonde_gdb_answer_notes, sonde_gdb_answer_stays, sonde_gdb_answer_ok,
	sonde_gdb_answer_enable, sonde_gdb_answer_disable;
/* Puts in what waits for its source lines. */
void sonde_gdb_flush(struct sonde_gdb_server *server);

/* add.c */
sonde_gdb_answer sonde_gdb_answer_add;
/* QTStart of a client that adds. */
void sonde_gdb_start_adding(struct sonde_gdb_server *server,
			    struct sonde_gdb_reply *reply);
/* A client that adds went away. */
void sonde_gdb_end_adding(struct sonde_gdb_server *server);

/* trace.c */
sonde_gdb_answer sonde_gdb_answer_start, sonde_gdb_answer_stop,
	sonde_gdb_answer_status, sonde_gdb_answer_point_status,
	sonde_gdb_answer_first_point, sonde_gdb_answer_next_point,
	sonde_gdb_answer_first_variable, sonde_gdb_answer_next_variable,
	sonde_gdb_answer_value, sonde_gdb_answer_remove;
/* The status in GDB's words ("T1;..."), as in a file's "status" line. */
void sonde_gdb_status(struct sonde_gdb_server *server,
		      struct sonde_gdb_reply *reply);

/* tracing.c */
/* Starts the run, and answers how that went. */
void sonde_gdb_start(struct sonde_gdb_server *server,
		     struct sonde_gdb_reply *reply);
/* Looks how the run is doing, and ends it if the buffer is full. */
void sonde_gdb_poll(struct sonde_gdb_server *server);
void sonde_gdb_stop(struct sonde_gdb_server *server,
		    enum sonde_probe_reason why, const char *text);
/* Tells the target that probes will be, or have been, put in or taken out. */
void sonde_gdb_patching(const struct sonde_gdb_server *server, bool begins);
/* Takes a tracepoint's probe out of the process; between two of the above. */
void sonde_gdb_take_out(struct sonde_gdb_server *server,
			struct sonde_probe_point *point);
/* Gets the process, its probes and run; 0 or -errno with the text. */
int sonde_gdb_need_process(struct sonde_gdb_server *server, char *error,
			   size_t error_size);

/* frame.c */
sonde_gdb_answer sonde_gdb_answer_frame, sonde_gdb_answer_raw,
	sonde_gdb_answer_frame_info, sonde_gdb_answer_static_data,
	sonde_gdb_answer_registers, sonde_gdb_answer_register,
	sonde_gdb_answer_memory;
/* The frames of the last run, if there are any; NULL. */
struct sonde_gdb_frames *sonde_gdb_need_frames(struct sonde_gdb_server *server);
/* The tracepoint of "NUMBER:ADDRESS"; NULL: there is none. */
struct sonde_probe_point *sonde_gdb_point(struct sonde_gdb_server *server,
					  const char *rest);
void sonde_gdb_drop_frames(struct sonde_gdb_server *server);

/* markers.c */
sonde_gdb_answer sonde_gdb_answer_first_marker, sonde_gdb_answer_next_marker,
	sonde_gdb_answer_marker_at;

/* save.c */
sonde_gdb_answer sonde_gdb_answer_save;

#endif /* GDB_SERVER_PARTS_H */
