/* SPDX-License-Identifier: MIT */
/*
 * fleet_policy.c - fuzz fleet/order.h and fleet/policy.h: any bytes as an order,
 * and a policy made of one part of the input that is asked whether it permits an
 * order made of the other.
 *
 * Input: a byte that says which, and then bytes, or decisions.
 */
#include "fleet/policy.h"

#include "fuzz.h"

static void check_order(const char *bytes, size_t size)
{
	static struct sonde_fleet_order order;
	char line[SONDE_NET_HEAD_MAX];

	if (sonde_fleet_order_parse(bytes, size, &order))
		return;
	FUZZ_CHECK(*order.hosts && *order.session);
	FUZZ_CHECK(!strchr(order.session, '/'));
	FUZZ_CHECK(order.what < SONDE_FLEET_NR_ORDERS);
	FUZZ_CHECK(sonde_fleet_order_put(&order, line) == size);
	FUZZ_CHECK(!memcmp(line, bytes, size));
}

/* What no policy permits without saying so. */
static void check_permitted(const char *policy,
			    const struct sonde_fleet_order *order)
{
	struct sonde_fleet_order_word word;
	const char *at = order->words;

	FUZZ_CHECK(strstr(policy, sonde_fleet_order_name(order->what)));
	while (sonde_fleet_order_next(&at, &word)) {
		FUZZ_CHECK(strstr(policy, word.name));
		FUZZ_CHECK(strcmp(word.name, "output") &&
			   strcmp(word.name, "file"));
		if (!strcmp(word.name, "do") && !strncmp(word.value, "run", 3))
			FUZZ_CHECK(strstr(policy, "do=run"));
		if (!strcmp(word.name, "do") &&
		    !strncmp(word.value, "snapshot@", 9))
			FUZZ_CHECK(strstr(policy, "do=snapshot@"));
	}
}

/* By who may ask all, and by a machine, which may ask for less. */
static void ask_policy(const char *text,
		       const struct sonde_fleet_policy *policy,
		       struct sonde_fleet_order *order)
{
	char error[400];

	if (!sonde_fleet_policy_check(policy, order, error, sizeof(error)))
		check_permitted(text, order);
	(void)snprintf(order->by, sizeof(order->by), "web-1");
	if (sonde_fleet_policy_check(policy, order, error, sizeof(error)))
		return;
	check_permitted(text, order);
	FUZZ_CHECK(strstr(text, "by="));
	FUZZ_CHECK(order->what == SONDE_FLEET_ORDER_SNAPSHOT && !*order->words);
}

static void check_policy(struct fuzz_input *in)
{
	static struct sonde_fleet_policy policy;
	static struct sonde_fleet_order order;
	char text[1024];
	char line[SONDE_NET_HEAD_MAX];
	char error[400];
	size_t size;
	char *copy;

	order.what = fuzz_u8(in) % SONDE_FLEET_NR_ORDERS;
	(void)snprintf(order.hosts, sizeof(order.hosts), "*");
	(void)snprintf(order.session, sizeof(order.session), "night");
	fuzz_text(in, text, sizeof(text));
	fuzz_text(in, order.words, sizeof(order.words));
	copy = fuzz_copy(text, strlen(text));
	if (!sonde_fleet_policy_parse(copy, strlen(text), &policy, error,
				      sizeof(error))) {
		size = sonde_fleet_order_put(&order, line);
		if (size && !sonde_fleet_order_parse(line, size, &order))
			ask_policy(text, &policy, &order);
	}
	free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct fuzz_input in = { bytes, size };
	char *copy;

	if (fuzz_u8(&in) & 1) {
		check_policy(&in);
		return 0;
	}
	copy = fuzz_copy(in.at, in.left);
	check_order(copy, in.left);
	free(copy);
	return 0;
}
