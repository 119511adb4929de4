/* SPDX-License-Identifier: MIT */
/*
 * gdb_server.c - fuzz gdb/server.h: anything a client may send, over a run and
 * a process that are fakes (tests/unit/gdb_fakes.c).
 *
 * Input: per packet a byte that chooses a known word (or none), and a byte for
 * the length of what follows it; 255: that many bytes as they are, without a
 * frame. What is answered must be frames, and the server must go on.
 */
#include "gdb/server.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"
#include "gdb/packet.h"
#include "gdb_fakes.h"

static struct sonde_gdb_server *server;

static bool target_packet(void *target, const char *packet, size_t length,
			  struct sonde_gdb_reply *reply)
{
	(void)target;
	FUZZ_CHECK(packet[length] == '\0');
	if (packet[0] == 'k') {
		sonde_gdb_server_end(server, SONDE_GDB_END_KILLED);
		return false;
	}
	sonde_gdb_reply_bytes(reply, packet, length);
	return true;
}

static void target_nothing(void *target)
{
	(void)target;
}

static int target_fd(void *target)
{
	(void)target;
	return -1;
}

static void target_features(void *target, struct sonde_gdb_reply *reply)
{
	(void)target;
	(void)reply;
}

static int target_read(void *target, uint64_t address, uint8_t *to, size_t size)
{
	(void)target;
	(void)address;
	(void)to;
	(void)size;
	return -EIO;
}

static struct sonde_process *target_process(void *target, char *error,
					    size_t error_size)
{
	(void)target;
	(void)error;
	(void)error_size;
	return fake_process();
}

static pid_t target_pid(void *target)
{
	(void)target;
	return 1;
}

static const struct sonde_gdb_target_ops ops = {
	.packet = target_packet,
	.interrupt = target_nothing,
	.fd = target_fd,
	.ready = target_nothing,
	.features = target_features,
	.read = target_read,
	.process = target_process,
	.pid = target_pid,
	.disconnected = target_nothing,
	.free = target_nothing,
};

/* Not QTSave: it would write a file of any name. */
static const char *const words[] = {
	"",
	"qSupported",
	"QStartNoAckMode",
	"QTinit",
	"QTDP:1:1010:E:0:0",
	"QTDP:",
	"QTDP:-1:1010:",
	"QTDPsrc:1:1010:",
	"QTDPsrc:",
	"QTDV:",
	"QTDV:4:",
	"QTBuffer:circular:",
	"QTBuffer:size:",
	"QTNotes:",
	"QTDisconnected:",
	"QTEnable:1:1010",
	"QTDisable:1:1010",
	"QTStart",
	"QTStop",
	"QTFrame:",
	"QTFrame:0",
	"QTFrame:pc:",
	"QTFrame:outside:",
	"qTStatus",
	"qTP:1:1010",
	"qTfP",
	"qTsP",
	"qTfV",
	"qTsV",
	"qTV:",
	"qTfSTM",
	"qTsSTM",
	"qTSTMat:",
	"qTBuffer:",
	"qXfer:traceframe-info:read::",
	"qXfer:statictrace:read::",
	"qXfer:features:read:target.xml:",
	"QSondeName:",
	"QSondeRemove:1",
	"QSondeAdd",
	"qSondeTrace",
	"g",
	"p",
	"m",
	"k",
};
#define NR_WORDS (sizeof(words) / sizeof(words[0]))

static void send_packet(struct fuzz_input *in, int fd)
{
	static char frame[SONDE_GDB_FRAME_MAX];
	char body[512];
	uint8_t what = fuzz_u8(in);
	uint8_t size = fuzz_u8(in);
	size_t nr;
	const uint8_t *rest = fuzz_bytes(in, size, &nr);
	size_t used;

	if (what == 255) {
		FUZZ_CHECK(write(fd, rest, nr) == (ssize_t)nr);
		return;
	}
	used = strlen(words[what % NR_WORDS]);
	memcpy(body, words[what % NR_WORDS], used);
	if (nr > 0)
		memcpy(body + used, rest, nr);
	used = sonde_gdb_packet_frame(body, used + nr, frame);
	FUZZ_CHECK(write(fd, frame, used) == (ssize_t)used);
}

/* What was answered: whole frames, sums right, and receipts. */
static void check_answers(int fd)
{
	static struct sonde_gdb_packets packets;
	uint8_t bytes[4096];
	enum sonde_gdb_heard heard = SONDE_GDB_HEARD_ACK;
	ssize_t nr;

	sonde_gdb_packets_init(&packets);
	FUZZ_CHECK(lseek(fd, 0, SEEK_SET) == 0);
	while ((nr = read(fd, bytes, sizeof(bytes))) > 0) {
		for (ssize_t i = 0; i < nr; i++) {
			heard = sonde_gdb_packets_hear(&packets, bytes[i]);
			FUZZ_CHECK(heard != SONDE_GDB_HEARD_BROKEN);
			FUZZ_CHECK(heard != SONDE_GDB_HEARD_TOO_LONG);
			FUZZ_CHECK(heard != SONDE_GDB_HEARD_INTERRUPT);
		}
	}
	FUZZ_CHECK(heard != SONDE_GDB_HEARD_NOTHING);
}

static void play(struct fuzz_input *in)
{
	int to = memfd_create("to", MFD_CLOEXEC);
	int from = memfd_create("from", MFD_CLOEXEC);
	enum sonde_gdb_end end;

	FUZZ_CHECK(to >= 0 && from >= 0);
	for (int i = 0; i < 64 && in->left > 0; i++)
		send_packet(in, to);
	FUZZ_CHECK(lseek(to, 0, SEEK_SET) == 0);
	FUZZ_CHECK(!sonde_gdb_server_serve(server, to, from, &end));
	check_answers(from);
	(void)close(to);
	(void)close(from);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct sonde_gdb_server_config config = { .ops = &ops };
	struct fuzz_input in = { bytes, size };

	memset(&fake_log, 0, sizeof(fake_log));
	FUZZ_CHECK(!sonde_gdb_server_new(&config, &server));
	/* Two connections, one after the other. */
	play(&in);
	play(&in);
	sonde_gdb_server_free(server);
	return 0;
}
