// SPDX-License-Identifier: MIT
// cxx.cc - tracepoints wherever C++ lets statements stand.
#include "check.h"
#include "shared.h"

#include <string>

namespace
{

enum class scoped : unsigned char {
	a = 200
};

struct flags {
	unsigned three : 3;
	int five : 5;
};

void from_anonymous_namespace(scoped s)
{
	sonde_event(cxx, anonymous, s);
}

struct at_start {
	at_start()
	{
		stub_enable(1);
		sonde_event(cxx, at_start, sonde_field(x, 1));
		check_event("cxx:at_start{x=1}", __LINE__);
	}
} at_start_object;

template <class T> struct holder {
	T value;

	template <class U> void show(U other) const
	{
		sonde_event(cxx, show, sonde_field(v, value),
			    sonde_field(o, other));
	}
};

} // namespace

static void in_functions_of_all_kinds()
{
	from_inline(1);
	CHECK_EVENT("cxx:from_inline{x=1}");
	from_template(short(5));
	CHECK_EVENT("cxx:from_template{size=2, one=5}");
	from_template(6.0);
	CHECK_EVENT("cxx:from_template{size=8, one=6}");
	from_anonymous_namespace(scoped::a);
	CHECK_EVENT("cxx:anonymous{s=200}");
	account a = { 10, "me" };
	a.deposit(5);
	CHECK_EVENT("cxx:deposit{owner=\"me\", this->balance=15, amount=5}");
	holder<int>{ 3 }.show(4);
	CHECK_EVENT("cxx:show{v=3, o=4}");
	other_file(9);
	CHECK_EVENT("cxx:both_files{x=9}");
	sonde_event(cxx, both_files, sonde_field(x, 8));
	CHECK_EVENT("cxx:both_files{x=8}");
}

static void in_lambdas()
{
	int captured = 4;
#if __cplusplus < 201402L
	auto by_reference = [&](int x) {
#else
	auto by_reference = [&](auto x) {
#endif
		sonde_event(cxx, lambda, x, captured);
	};
	auto by_value = [captured]() { sonde_event(cxx, by_value, captured); };

	by_reference(3);
	CHECK_EVENT("cxx:lambda{x=3, captured=4}");
	by_value();
	CHECK_EVENT("cxx:by_value{captured=4}");
	[]() { sonde_event(cxx, plain_lambda); }();
	CHECK_EVENT("cxx:plain_lambda{}");
}

static void types_of_cxx()
{
	const int &reference = 5;
	flags f = { 5, -3 };
	std::string string = "s";
	int array[2][1] = { { 1 }, { 2 } };
	constexpr int constant = 6;

	sonde_event(cxx, types, reference, f.three, f.five, string.c_str(),
		    nullptr, array[1], constant, true, 'c', u'c');
	CHECK_EVENT("cxx:types{reference=5, f.three=5, f.five=-3, "
		    "string.c_str()=\"s\", nullptr=0x0, array[1]=[2], "
		    "constant=6, true=true, 'c'=99'c', u'c'=99}");
}

static void snapshots()
{
	[]() { sonde_snapshot("in_lambda"); }();
	CHECK_EVENT("sonde_snapshot:in_lambda{}");
}

int main()
{
	in_functions_of_all_kinds();
	in_lambdas();
	types_of_cxx();
	snapshots();
	CHECK(sonde_event_enabled(cxx, lambda));
	// Only show<U> and from_template<T> have several descriptions, and
	// theirs are equal.
	CHECK(stub_nr_bad() == 0);
	return check_summary("cxx");
}
