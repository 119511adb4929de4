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

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Whether it was an order. */
static bool obey(rd_kafka_mock_cluster_t *cluster, char *line)
{
	char *rest;
	const char *order = strtok_r(line, " \n", &rest);
	const char *what = strtok_r(NULL, " \n", &rest);
	const char *number = strtok_r(NULL, " \n", &rest);
	rd_kafka_resp_err_t error = number ? (int)strtol(number, NULL, 10) : 0;

	if (!order)
		return false;
	if (!strcmp(order, "down"))
		return !rd_kafka_mock_broker_set_down(cluster, 1);
	if (!strcmp(order, "up"))
		return !rd_kafka_mock_broker_set_up(cluster, 1);
	if (!error)
		return false;
	if (!strcmp(order, "refuse"))
		rd_kafka_mock_push_request_errors(
			cluster, (int16_t)strtol(what, NULL, 10), 1, error);
	else
		rd_kafka_mock_topic_set_error(cluster, what, error);
	return true;
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
	while (fgets(line, sizeof(line), stdin)) {
		(void)puts(obey(cluster, line) ? "ok" : "no");
		(void)fflush(stdout);
	}
	rd_kafka_mock_cluster_destroy(cluster);
	rd_kafka_destroy(owner);
	return 0;
}
