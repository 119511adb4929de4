/* SPDX-License-Identifier: MIT */
/*
 * stacks_heap.cc - a C++ program that allocates heavily: trees of strings, made,
 * changed and thrown away. Prints its CPU time in milliseconds.
 */
#include <cstdio>
#include <ctime>
#include <map>
#include <string>
#include <vector>

namespace
{

using Table = std::map<std::string, std::vector<std::string>>;

void fill(Table &table, int round)
{
	for (int i = 0; i < 2000; i++) {
		std::string key = "a key that is too long to be kept inside ";

		key += std::to_string(i * 7919 % 2003 + round);
		table[key].push_back(key + " and more of it");
	}
}

size_t join(const Table &table)
{
	std::string all;

	for (const auto &entry : table)
		for (const auto &text : entry.second)
			all += text.substr(4, 40);
	return all.size();
}

} // namespace

int main()
{
	size_t sum = 0;

	for (int round = 0; round < 60; round++) {
		Table table;

		for (int i = 0; i < 3; i++)
			fill(table, round + i);
		sum += join(table);
	}
	std::printf("%.1f %zu\n", 1e3 * (double)std::clock() / CLOCKS_PER_SEC,
		    sum);
	return 0;
}
