/* SPDX-License-Identifier: MIT */
/*
 * key.h - values from a trace as keys of a hash table (base/hash.h).
 */
#ifndef READER_KEY_H
#define READER_KEY_H

#include <sonde/trace.h>

#include "base/hash.h"

/* 0; -ENOENT: a structure or the like can't be a key. A text is borrowed. */
int sonde_value_key(const struct sonde_value *value, struct sonde_key *ret_key);
/* What the expression says of the event; `cls`, of a field that it is the name
 * of, or NULL, says how it is shown. As above, or what sonde_filter_value()
 * says. */
int sonde_filter_key(const struct sonde_filter *filter,
		     const struct sonde_class *cls,
		     const struct sonde_event *event,
		     struct sonde_key *ret_key);

#endif /* READER_KEY_H */
