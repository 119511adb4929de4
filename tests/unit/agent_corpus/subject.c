/* SPDX-License-Identifier: MIT */
/*
 * subject.c - the program whose expressions GDB compiles for the corpus
 * (generate): variables of all widths and signs, globals, parameters and
 * locals, bit fields, pointers, arrays, structures, unions. It stops in
 * subject(), at each of three calls with other values, where `stop` is.
 */
#include <stdbool.h>
#include <stdint.h>

enum colour {
	RED,
	GREEN = 5,
	BLUE = -3
};

struct bits {
	unsigned int one : 1;
	unsigned int five : 5;
	int sfive : 5;
	unsigned int across : 13;
	int sacross : 11;
	uint64_t wide : 41;
	int64_t swide : 37;
	unsigned char narrow : 3;
	bool truth : 1;
};

struct inner {
	signed char sc;
	short s;
	int list[4];
	union {
		uint32_t whole;
		uint8_t parts[4];
	} u;
};

struct node {
	struct node *next;
	int key;
	struct inner in;
	const char *name;
	struct bits bits;
};

struct packed {
	char head;
	int odd;
	short tail;
} __attribute__((packed));

signed char gsc;
unsigned char guc;
short gs;
unsigned short gus;
int gi;
unsigned int gui;
long gl;
unsigned long gul;
long long gll;
bool gb;
enum colour ge;
int table[8];
short grid[3][4];
uint8_t bytes[16];
struct node nodes[3];
struct node *head;
struct bits gbits;
struct packed gpacked;
int *gnull;
char *strings[2];
void (*function)(void);
volatile long sink;

#define KEEP(x) __asm__ volatile("" : : "r"((long)(x)) : "memory")

static void nothing(void)
{
}

static __attribute__((noinline, noclone)) void
subject(int arg, long big, struct node *p, unsigned char small)
{
	signed char lsc = (signed char)(arg * 3);
	unsigned char luc = (unsigned char)(small + 200);
	short ls = (short)(arg * -77);
	unsigned short lus = (unsigned short)(big * 5);
	int li = arg - 1000;
	unsigned int lui = (unsigned int)big * 2654435761u;
	long ll = big * -3;
	unsigned long lul = ~(unsigned long)big;
	struct inner local = { (signed char)arg,
			       (short)-arg,
			       { arg, -arg, 7, 8 },
			       { 0x80402010 } };
	struct bits lbits = gbits;
	int zero = arg & 0;

	KEEP(&local);
	KEEP(&lbits);
	__asm__ volatile("" : "+r"(zero));
	__asm__ volatile("nop"); /* stop */
	KEEP(lsc);
	KEEP(luc);
	KEEP(ls);
	KEEP(lus);
	KEEP(li);
	KEEP(lui);
	KEEP(ll);
	KEEP(lul);
	KEEP(zero);
	KEEP(arg);
	KEEP(big);
	KEEP(p);
	KEEP(small);
	sink = local.s + lbits.five;
}

static void fill(int round)
{
	uint64_t seed = 0x9e3779b97f4a7c15u * (uint64_t)(round + 1);

	gsc = (signed char)(seed >> 3);
	guc = (unsigned char)(seed >> 11);
	gs = (short)(seed >> 5);
	gus = (unsigned short)(seed >> 13);
	gi = (int)(seed >> 7);
	gui = (unsigned int)(seed >> 17);
	gl = (long)seed;
	gul = ~seed;
	gll = -(long long)(seed >> 9);
	gb = round & 1;
	ge = round == 0 ? RED : round == 1 ? GREEN : BLUE;
	for (int i = 0; i < 8; i++)
		table[i] = (int)(seed >> i) - i * 1000;
	for (int i = 0; i < 12; i++)
		grid[i / 4][i % 4] = (short)(seed >> (i + 20));
	for (int i = 0; i < 16; i++)
		bytes[i] = (uint8_t)(seed >> i);
	for (int i = 0; i < 3; i++) {
		nodes[i] = (struct node){
			.next = i < 2 ? &nodes[i + 1] : 0,
			.key = round * 3 + i,
			.in = { (signed char)(seed >> i),
				(short)(seed >> 9),
				{ i, -i, round, -1 },
				{ (uint32_t)seed } },
			.name = i == 1 ? "second" : "other",
		};
		nodes[i].bits = (struct bits){
			.one = 1,
			.five = 9 + (unsigned)i,
			.sfive = -i,
			.across = (unsigned)(seed >> 8) & 0x1fff,
			.sacross = -1000 + round,
			.wide = seed & 0x1ffffffffff,
			.swide = -(int64_t)(seed >> 30),
			.narrow = 5,
			.truth = 1,
		};
	}
	head = &nodes[0];
	gbits = nodes[2].bits;
	gpacked = (struct packed){ 'x', -round - 5, 300 };
	strings[0] = "sqlite";
	strings[1] = "select";
	function = nothing;
}

int main(void)
{
	for (int round = 0; round < 3; round++) {
		fill(round);
		subject(round * 21 - 5, (long)round * 1000000007L - 40,
			round == 2 ? &nodes[1] : head, (unsigned char)round);
	}
	return 0;
}
