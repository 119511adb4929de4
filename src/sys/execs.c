/* SPDX-License-Identifier: MIT */
/*
 * execs.c - see execs.h. Other notices (forks, ends) don't get past the socket's
 * filter, so they wake nobody.
 */
#include "sys/execs.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/cn_proc.h>
#include <linux/connector.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/port.h"

/* Of a message, either way: a struct nlmsghdr, a struct cn_msg, and the notice or
 * the wish. */
#define BODY_AT (sizeof(struct nlmsghdr) + sizeof(struct cn_msg))
#define WHAT_AT (BODY_AT + offsetof(struct proc_event, what))

static int pass_execs_only(int fd)
{
	/* A word is loaded as the network has it. */
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, WHAT_AT),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, htonl(PROC_EVENT_EXEC), 0,
			 1),
		BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
		BPF_STMT(BPF_RET | BPF_K, 0),
	};
	const struct sock_fprog program = { SONDE_ARRAY_SIZE(code), code };

	return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program,
			  sizeof(program)) ?
		       -errno :
		       0;
}

static int listen_to_kernel(int fd)
{
	const struct sockaddr_nl address = { .nl_family = AF_NETLINK,
					     .nl_groups = CN_IDX_PROC };
	const enum proc_cn_mcast_op wish = PROC_CN_MCAST_LISTEN;
	unsigned char bytes[BODY_AT + sizeof(wish)];
	const struct nlmsghdr netlink = { .nlmsg_type = NLMSG_DONE,
					  .nlmsg_len = sizeof(bytes) };
	const struct cn_msg connector = { .id = { CN_IDX_PROC, CN_VAL_PROC },
					  .len = sizeof(wish) };

	if (bind(fd, (const struct sockaddr *)&address, sizeof(address)))
		return -errno;
	memcpy(bytes, &netlink, sizeof(netlink));
	memcpy(bytes + sizeof(netlink), &connector, sizeof(connector));
	memcpy(bytes + BODY_AT, &wish, sizeof(wish));
	return send(fd, bytes, sizeof(bytes), 0) < 0 ? -errno : 0;
}

int sonde_execs_open(void)
{
	int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
			NETLINK_CONNECTOR);
	int rc = fd < 0 ? -errno : pass_execs_only(fd);

	if (!rc)
		rc = listen_to_kernel(fd);
	if (!rc)
		return fd;
	if (fd >= 0)
		(void)close(fd); /* nothing was read */
	return rc;
}

int sonde_execs_next(int fd, pid_t *ret_pid)
{
	unsigned char bytes[BODY_AT + 512];
	struct sockaddr_nl from = { .nl_pid = 1 };
	socklen_t length = sizeof(from);
	struct proc_event event;
	ssize_t nr;

	do {
		nr = recvfrom(fd, bytes, sizeof(bytes), MSG_DONTWAIT,
			      (struct sockaddr *)&from, &length);
		if (nr < 0 && errno != EINTR)
			return -errno;
		/* Others may write to us, too: the kernel is 0. */
	} while (from.nl_pid || nr < (ssize_t)(BODY_AT + sizeof(event)));
	memcpy(&event, bytes + BODY_AT, sizeof(event));
	*ret_pid = event.event_data.exec.process_tgid;
	return 0;
}
