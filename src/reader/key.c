/* SPDX-License-Identifier: MIT */
/*
 * key.c - which kind of key a value is; its bits are kept (key.h).
 */
#include "reader/key.h"

#include <errno.h>
#include <stdbool.h>

int sonde_value_key(const struct sonde_value *value, struct sonde_key *ret_key)
{
	bool hex = value->cls && sonde_class_base(value->cls) == 16;

	switch (value->kind) {
	case SONDE_KIND_UINT:
	case SONDE_KIND_BOOL:
	case SONDE_KIND_BITS:
		*ret_key = sonde_key_make(hex ? SONDE_KEY_HEX : SONDE_KEY_UINT,
					  value->u, 0);
		return 0;
	case SONDE_KIND_INT:
		*ret_key = sonde_key_make(SONDE_KEY_INT, value->u, 0);
		return 0;
	case SONDE_KIND_FLOAT:
		*ret_key = sonde_key_make(SONDE_KEY_DOUBLE, value->u, 0);
		return 0;
	case SONDE_KIND_STRING:
	case SONDE_KIND_BLOB:
		*ret_key =
			sonde_key_of_text(value->text, (size_t)value->length);
		return 0;
	case SONDE_KIND_STRUCT:
	case SONDE_KIND_ARRAY:
	case SONDE_KIND_SEQUENCE:
	case SONDE_KIND_VARIANT:
	case SONDE_KIND_OPTIONAL:
		break;
	}
	return -ENOENT;
}

int sonde_filter_key(const struct sonde_filter *filter,
		     const struct sonde_class *cls,
		     const struct sonde_event *event, struct sonde_key *ret_key)
{
	struct sonde_value value;
	int err = sonde_filter_value(filter, event, &value);

	if (err)
		return err;
	value.cls = cls;
	return sonde_value_key(&value, ret_key);
}
