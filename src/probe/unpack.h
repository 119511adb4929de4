/* SPDX-License-Identifier: MIT */
/*
 * unpack.h - a file of symbols that is compressed, as distributions' kernel modules
 * are, for those that read none such: GDB.
 */
#ifndef PROBE_UNPACK_H
#define PROBE_UNPACK_H

/* A descriptor of a file without a name that has the bytes of the ELF file that is
 * in `path`, compressed by xz, zstd or gzip, or as it is. Programs that are
 * started inherit it. -ENOEXEC: it is no such file, or damaged; -ENOSYS: this
 * build can't, without libdw or libzstd; -errno. */
int sonde_probe_unpack(const char *path);

#endif /* PROBE_UNPACK_H */
