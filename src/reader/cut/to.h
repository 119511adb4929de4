/* SPDX-License-Identifier: MIT */
/*
 * to.h - where a cut goes: into a directory, or file by file to a function, as a
 * writer of archives is, which wants each file whole.
 */
#ifndef READER_CUT_TO_H
#define READER_CUT_TO_H

struct sonde_cut_to {
	/* Must not exist, or be empty. NULL: */
	const char *directory;
	/* Takes a file of the new trace, called `path` there, which is borrowed until
	 * it returns, as is `fd`, a file of its bytes. 0 or a negative errno. */
	int (*take)(void *ctx, const char *path, int fd);
	void *ctx;
};

#endif /* READER_CUT_TO_H */
