// SPDX-License-Identifier: MIT
/*
 * load.cpp - what is tortured: four threads with exceptions, virtual calls,
 * switches and containers, whose results depend on nothing but the arguments.
 *
 *	torture_load ROUNDS TIMES
 *
 * SIGTERM ends it after the line that it is at.
 */
#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>
struct node {
	virtual ~node() = default;
	virtual uint64_t value(uint64_t n) = 0;
};
struct add : node {
	uint64_t value(uint64_t n) override
	{
		return n + 3;
	}
};
struct mix : node {
	uint64_t value(uint64_t n) override
	{
		if (n % 7 == 3)
			throw std::runtime_error(std::to_string(n));
		return n * 31 ^ n >> 3;
	}
};
static uint64_t one(unsigned id, unsigned rounds)
{
	std::map<std::string, uint64_t> names;
	std::unordered_map<uint64_t, std::vector<uint64_t>> lists;
	uint64_t sum = id;
	std::vector<std::unique_ptr<node>> nodes;
	nodes.emplace_back(new add);
	nodes.emplace_back(new mix);
	for (unsigned i = 0; i < rounds; i++) {
		try {
			sum = nodes[(sum ^ i) & 1]->value(sum + i);
		} catch (const std::runtime_error &e) {
			sum += strtoull(e.what(), nullptr, 10) % 1000;
		}
		switch (sum % 11) {
		case 0:
			sum += 5;
			break;
		case 1:
			sum ^= 0x55;
			break;
		case 2:
			sum -= i;
			break;
		case 3:
			sum *= 3;
			break;
		case 4:
			sum += sum >> 7;
			break;
		case 5:
			sum = ~sum;
			break;
		default:
			sum++;
		}
		std::ostringstream s;
		s << "k" << sum % 97;
		names[s.str()] += i;
		auto &l = lists[sum % 13];
		l.push_back(sum);
		if (l.size() > 50) {
			std::sort(l.begin(), l.end());
			sum ^= l[l.size() / 2];
			l.clear();
		}
	}
	for (auto &p : names)
		sum = sum * 131 + p.second;
	return sum;
}
static volatile std::sig_atomic_t is_over;
static void end(int)
{
	is_over = 1;
}
int main(int argc, char **argv)
{
	unsigned rounds =
		argc > 1 ? unsigned(strtoul(argv[1], nullptr, 10)) : 1;
	unsigned times = argc > 2 ? unsigned(strtoul(argv[2], nullptr, 10)) : 1;
	std::signal(SIGTERM, end);
	for (unsigned t = 0; t < times && !is_over; t++) {
		uint64_t r[4];
		std::vector<std::thread> th;
		for (unsigned i = 0; i < 4; i++)
			th.emplace_back([&r, i, t, rounds] {
				r[i] = one(i + t, rounds);
			});
		for (auto &x : th)
			x.join();
		printf("%u %llx %llx %llx %llx\n", t, (unsigned long long)r[0],
		       (unsigned long long)r[1], (unsigned long long)r[2],
		       (unsigned long long)r[3]);
		fflush(stdout);
	}
}
