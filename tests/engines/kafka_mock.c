/* SPDX-License-Identifier: MIT */
/*
 * kafka_mock.c - librdkafka's own mock cluster, as a process: a broker that keeps
 * topics in memory, the last 5 MiB of each partition.
 *
 * Prints its bootstrap servers, and then an "ok" for each line of its input:
 *
 *	down, up		the broker's port is closed, and open again
 *	refuse REQUEST ERROR	the next request of this number fails so
 *	topic NAME ERROR	whatever is asked of that topic does
 *
 * with numbers of Kafka's protocol. Ends with its input.
 */
#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void obey(rd_kafka_mock_cluster_t *cluster, const char *line)
{
	char name[256];
	int request;
	int error;

	if (!strcmp(line, "down\n"))
		(void)rd_kafka_mock_broker_set_down(cluster, 1);
	else if (!strcmp(line, "up\n"))
		(void)rd_kafka_mock_broker_set_up(cluster, 1);
	else if (sscanf(line, "refuse %d %d", &request, &error) == 2)
		rd_kafka_mock_push_request_errors(cluster, (int16_t)request, 1,
						  (rd_kafka_resp_err_t)error);
	else if (sscanf(line, "topic %255s %d", name, &error) == 2)
		rd_kafka_mock_topic_set_error(cluster, name,
					      (rd_kafka_resp_err_t)error);
	else
		exit(2);
	(void)puts("ok");
	(void)fflush(stdout);
}

int main(void)
{
	rd_kafka_conf_t *conf = rd_kafka_conf_new();
	rd_kafka_mock_cluster_t *cluster = NULL;
	rd_kafka_t *owner;
	char line[512];

	if (rd_kafka_conf_set(conf, "log_level", "0", NULL, 0))
		return 1;
	owner = rd_kafka_new(RD_KAFKA_PRODUCER, conf, NULL, 0);
	if (owner)
		cluster = rd_kafka_mock_cluster_new(owner, 1);
	if (!cluster)
		return 1;
	(void)puts(rd_kafka_mock_cluster_bootstraps(cluster));
	(void)fflush(stdout);
	while (fgets(line, sizeof(line), stdin))
		obey(cluster, line);
	rd_kafka_mock_cluster_destroy(cluster);
	rd_kafka_destroy(owner);
	return 0;
}
