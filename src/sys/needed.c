/* SPDX-License-Identifier: MIT */
/*
 * needed.c - of a library that nobody installs: it is linked with those that are opened
 * when they are needed (library.h), so it knows their names, and packages' tools find
 * them in it.
 */
extern const char sonde_needed;
const char sonde_needed;
