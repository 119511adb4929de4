/* SPDX-License-Identifier: MIT */
/*
 * convert.c - `sonde convert`: a copy of a trace whose metadata is in another
 * version of the format. What other tracers have recorded is convert_foreign.c's.
 *
 * Stream files and index files are the same bytes in both versions. They are
 * copied with their holes, and share their blocks where the file system can.
 * The metadata is read into a schema and written from it, last of all, so that
 * an interrupted copy is not taken for a trace.
 *
 * The argument may be a directory of several traces: each directory below it
 * that holds a `metadata` becomes one in the copy.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <limits.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "cmd/cmd.h"
#include "cmd/convert_foreign.h"
#include "cmd/newest.h"
#include "cmd/options.h"
#include "cmd/read_watch.h"
#include "ctf/directory.h"
#include "ctf/schema/schema.h"

#define EXIT_FAILED  1
#define METADATA     "metadata"
#define METADATA_MAX (1u << 30)
#define LEVELS       5          /* as deep as other commands look for traces */
#define COPY_AT_ONCE (1u << 24) /* then it is told how far it is */
#define EXIT_STOPPED 130

static const char usage[] =
	"sonde convert [--ctf 1.8|2] [-o DIR] [TRACE]\n"
	"sonde convert [--ctf 1.8|2] [-o DIR] perf.data|trace.dat|uftrace.data\n"
	"\n"
	"Copies a trace, with its metadata in another version of the Common\n"
	"Trace Format. The events' bytes stay the same.\n"
	"What perf, trace-cmd or uftrace has recorded becomes a trace, which all\n"
	"of Sonde's reports read.\n";

struct words {
	const char *version, *output;
};

/* clang-format off */
#define TO(member) SONDE_OPTION_TO(struct words, member)
static const struct sonde_option options[] = {
	{ "ctf", 0, "VERSION", "1.8 2", TO(version),
	  "2 (default), or 1.8 for a trace that is in it already; of others', "
	  "1.8 is the default" },
	{ "output", 'o', "DIR", SONDE_VALUE_DIR, TO(output),
	  "where to (default: TRACE-ctf2)" },
	{ 0 }
};
/* clang-format on */

struct conversion {
	int major; /* that is wanted: 1 or 2; 0: the default */
	char from[PATH_MAX];
	char to[PATH_MAX];
	struct sonde_directory place; /* `to`, to write in */
	/* Of the files, holes included: `done` without the one that is being
	 * copied. */
	uint64_t all_bytes, done_bytes;
};

/* What is wrong with a file's content. */
static int convert_refused(const char *path, int error, const char *words)
{
	sonde_watch_end();
	sonde_complain("%.400s: %s", path, words);
	return error;
}

/* "open", say, of a file failed: says so. */
static int failed(const char *path, const char *name, int error)
{
	sonde_watch_end();
	if (error == EINTR)
		return -error; /* the user wants it to stop */
	sonde_complain("%.400s%s%.200s: %s", path, *name ? "/" : "", name,
		       strerrordesc_np(error));
	return -error;
}

/* ---- files ---- */

/* The file that is being copied has come to `at`; -EINTR: the user wants it to
 * stop. */
static int tell(const struct conversion *conversion, off_t at)
{
	return sonde_watch_progress(conversion->done_bytes + (uint64_t)at,
				    conversion->all_bytes);
}

static int convert_copy_bytes(const struct conversion *conversion, int from,
			      int to, off_t at, off_t end)
{
	char bytes[65536];
	int error = 0;

	while (at < end && !error) {
		off_t left = end - at;
		size_t most = left < (off_t)sizeof(bytes) ? (size_t)left :
							    sizeof(bytes);
		ssize_t n = pread(from, bytes, most, at);
		ssize_t used;

		if (n == 0)
			return 0; /* it became shorter */
		if (n < 0)
			return -errno;
		/* zeros at their end are left to the file's size */
		for (used = n; used > 0 && !bytes[used - 1];)
			used--;
		for (ssize_t done = 0; done < used;) {
			ssize_t more = pwrite(to, bytes + done,
					      (size_t)(used - done), at + done);

			if (more < 0)
				return -errno;
			done += more;
		}
		at += n;
		error = tell(conversion, at);
	}
	return error;
}

/* Each way stops where it can't go on, for whatever reason, and the next one
 * goes on there; the last one says what is wrong. */
static int copy_piece(const struct conversion *conversion, int from, int to,
		      off_t at, off_t end)
{
	off_t to_at = at;
	ssize_t n;
	int error;

	do {
		n = copy_file_range(from, &at, to, &to_at,
				    (size_t)(end - at) < COPY_AT_ONCE ?
					    (size_t)(end - at) :
					    COPY_AT_ONCE,
				    0);
		error = tell(conversion, at);
	} while (n > 0 && at < end && !error);
	return error ? error :
		       convert_copy_bytes(conversion, from, to, at, end);
}

/* The holes stay holes: files of a recording that is going on, or was killed,
 * are long and empty. Where the file system knows of none, all is one piece. */
static int copy_pieces(const struct conversion *conversion, int from, int to,
		       off_t size)
{
	off_t end = 0;
	int error = ftruncate(to, size) ? -errno : 0;

	while (!error && end < size) {
		off_t at = lseek(from, end, SEEK_DATA);

		if (at < 0 && errno == ENXIO)
			return 0; /* nothing but a hole is left */
		if (at < 0)
			at = end;
		end = lseek(from, at, SEEK_HOLE);
		if (end <= at || end > size)
			end = size;
		error = copy_piece(conversion, from, to, at, end);
	}
	return error;
}

static int copy_content(struct conversion *conversion, int from, int to)
{
	struct stat info;
	int error = 0;

	if (fstat(from, &info))
		return -errno;
	if (!S_ISREG(info.st_mode))
		return 0; /* it was one */
	if (ioctl(to, FICLONE, from) != 0)
		error = copy_pieces(conversion, from, to, info.st_size);
	conversion->done_bytes += (uint64_t)info.st_size;
	return error ? error : tell(conversion, 0);
}

static int copy_file(struct conversion *conversion, int from_dir, int to_dir,
		     const char *name)
{
	int from = openat(from_dir, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	int to;
	int error;

	if (from < 0)
		return -errno;
	to = sonde_directory_file_below(to_dir, name, O_WRONLY);
	error = to < 0 ? to : copy_content(conversion, from, to);
	(void)close(from); /* it was only read */
	if (to >= 0 && close(to) && !error)
		error = -errno;
	return error;
}

/* What readers take for a stream file, or in index/ for an index. */
static int is_data(const struct dirent *entry)
{
	return entry->d_name[0] != '.' && strcmp(entry->d_name, METADATA) != 0;
}

typedef int visit_fn(struct conversion *conversion, int from, int to,
		     const char *name);

static int measure_file(struct conversion *conversion, int from, int to,
			const char *name)
{
	struct stat info;

	(void)to;
	if (fstatat(from, name, &info, 0))
		return -errno;
	conversion->all_bytes += (uint64_t)info.st_size;
	return 0;
}

static int visit_entry(struct conversion *conversion, int from, int to,
		       const char *name, visit_fn *visit)
{
	struct stat info;

	if (fstatat(from, name, &info, 0))
		return -errno;
	return S_ISREG(info.st_mode) ? visit(conversion, from, to, name) : 0;
}

/* Calls visit() of each file of data in a directory. */
static int visit_files(struct conversion *conversion, const char *from_path,
		       int to, visit_fn *visit)
{
	int from = open(from_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct dirent **entries = NULL;
	int nr = -1;
	int error = 0;

	if (from >= 0)
		nr = scandirat(from, ".", &entries, is_data, alphasort);
	if (nr < 0)
		error = failed(from_path, "", errno);
	for (int i = 0; i < nr; i++) {
		const char *name = entries[i]->d_name;
		int wrong =
			error ? 0 :
				visit_entry(conversion, from, to, name, visit);

		if (wrong)
			error = failed(from_path, name, -wrong);
		free(entries[i]);
	}
	free(entries);
	if (from >= 0)
		(void)close(from); /* it was only read */
	return error;
}

/* ---- metadata ---- */

struct bytes {
	char *at;
	size_t size;
};

static int read_bytes(const char *path, struct bytes *ret_bytes)
{
	/* It has been seen to be a file, and may be a FIFO by now. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "rb");
	struct bytes bytes = { NULL, 0 };
	struct stat info;
	int error = 0;

	if (!file)
		return failed(path, "", errno);
	if (fstat(fileno(file), &info))
		error = failed(path, "", errno);
	else if (info.st_size > METADATA_MAX)
		error = failed(path, "", EFBIG);
	if (!error) {
		bytes.at = malloc((size_t)info.st_size + 1);
		if (!bytes.at)
			error = failed(path, "", ENOMEM);
	}
	if (!error) {
		bytes.size = fread(bytes.at, 1, (size_t)info.st_size, file);
		if (ferror(file))
			error = failed(path, "", EIO);
	}
	(void)fclose(file);
	if (error)
		free(bytes.at);
	else
		*ret_bytes = bytes;
	return error;
}

/* In place: the metadata as it is to be. */
static int translate(const struct conversion *conversion, const char *path,
		     struct bytes *bytes)
{
	struct sonde_schema_error words;
	struct sonde_schema *schema;
	struct bytes made;
	int error = sonde_schema_parse(bytes->at, bytes->size, &words, &schema);

	if (error == -ENOMEM)
		return failed(path, "", ENOMEM);
	if (error)
		return convert_refused(path, error, words.text);
	if (schema->major == conversion->major) {
		sonde_schema_free(schema);
		return 0;
	}
	if (conversion->major == 1) {
		sonde_schema_free(schema);
		return convert_refused(
			path, -ENOTSUP,
			"it is CTF 2, which can't be converted to 1.8; "
			"leave --ctf 1.8 out to copy it");
	}
	error = sonde_schema_write_json(schema, &words, &made.at, &made.size);
	sonde_schema_free(schema);
	if (error == -ENOMEM)
		return failed(path, "", ENOMEM);
	if (error)
		return convert_refused(path, error, words.text);
	free(bytes->at);
	*bytes = made;
	return 0;
}

static int write_metadata(const struct conversion *conversion, int dir,
			  const struct bytes *bytes)
{
	int fd = sonde_directory_file_below(dir, METADATA, O_WRONLY);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "wb");
	int error = 0;

	if (!file)
		return failed(conversion->to, METADATA, fd < 0 ? -fd : ENOMEM);
	if (fwrite(bytes->at, 1, bytes->size, file) != bytes->size)
		error = errno;
	if (fclose(file) && !error)
		error = errno;
	return error ? failed(conversion->to, METADATA, error) : 0;
}

/* ---- traces ---- */

/* Opens the directory `below` the copy, with all that are on the way to it. */
static int make_directories(const struct conversion *conversion,
			    const char *below)
{
	int dir = fcntl(conversion->place.dir, F_DUPFD_CLOEXEC, 0);

	if (dir < 0)
		return -errno;
	while (dir >= 0 && *below) {
		char name[NAME_MAX + 1];
		size_t length = strcspn(below, "/");
		int next = -ENAMETOOLONG;

		if (length < sizeof(name)) {
			memcpy(name, below, length);
			name[length] = '\0';
			next = sonde_directory_make_below(dir, name, true);
		}
		(void)close(dir); /* nothing was written by it */
		dir = next;
		below += length;
		below += strspn(below, "/");
	}
	return dir;
}

/* "a" and "b": "a/b". False: too long, which has been said. */
static bool join(char path[PATH_MAX], const char *directory, const char *name)
{
	int length = snprintf(path, PATH_MAX, "%s%s%s", directory,
			      *name ? "/" : "", name);

	if (length >= 0 && length < PATH_MAX)
		return true;
	(void)failed(directory, name, ENAMETOOLONG);
	return false;
}

static int measure_trace(struct conversion *conversion, const char *below)
{
	char from[PATH_MAX];
	char index[PATH_MAX];
	int error;

	if (!join(from, conversion->from, below) || !join(index, from, "index"))
		return -ENAMETOOLONG;
	error = visit_files(conversion, from, -1, measure_file);
	if (!error && access(index, F_OK) == 0)
		error = visit_files(conversion, index, -1, measure_file);
	return error;
}

static int copy_index(struct conversion *conversion, const char *from, int to)
{
	char from_index[PATH_MAX];
	int dir;
	int error;

	if (!join(from_index, from, "index"))
		return -ENAMETOOLONG;
	if (access(from_index, F_OK))
		return 0;
	dir = sonde_directory_make_below(to, "index", false);
	if (dir < 0)
		return failed(from_index, "", -dir);
	error = visit_files(conversion, from_index, dir, copy_file);
	(void)close(dir); /* nothing was written by it */
	return error;
}

/* The trace that is `below` what was given, "" for itself. */
static int convert_trace(struct conversion *conversion, const char *below)
{
	char from[PATH_MAX];
	char metadata[PATH_MAX];
	struct bytes bytes = { NULL, 0 };
	int to = -1;
	int error;

	if (!join(from, conversion->from, below) ||
	    !join(metadata, from, METADATA))
		return -ENAMETOOLONG;
	error = read_bytes(metadata, &bytes);
	if (error)
		return error;
	error = translate(conversion, metadata, &bytes);
	if (!error) {
		to = make_directories(conversion, below);
		error = to < 0 ? failed(conversion->to, below, -to) : 0;
	}
	if (!error)
		error = visit_files(conversion, from, to, copy_file);
	if (!error)
		error = copy_index(conversion, from, to);
	if (!error)
		error = write_metadata(conversion, to, &bytes);
	if (to >= 0)
		(void)close(to); /* nothing was written by it */
	free(bytes.at);
	return error;
}

struct found {
	char **below; /* the traces' directories, relative to what was given */
	size_t nr;
};

static int add_found(struct found *found, const char *below, size_t length)
{
	char **more = reallocarray(found->below, found->nr + 1, sizeof(*more));

	if (more) {
		found->below = more;
		more[found->nr] = strndup(below, length);
		if (more[found->nr++])
			return 0;
	}
	return failed(below, "", ENOMEM);
}

/* What is met on the way: another trace, perhaps. */
static int look_at(const FTSENT *entry, size_t length, struct found *found)
{
	size_t skip = length + 1;

	if (entry->fts_info == FTS_NS || entry->fts_info == FTS_DNR ||
	    entry->fts_info == FTS_ERR)
		return failed(entry->fts_path, "", entry->fts_errno);
	if (entry->fts_info != FTS_F || strcmp(entry->fts_name, METADATA) != 0)
		return 0;
	return add_found(found, entry->fts_path + skip,
			 entry->fts_level == 1 ?
				 0 :
				 entry->fts_pathlen - skip - sizeof(METADATA));
}

/* Before anything is written: the copy may be inside of what is copied. */
static int find_traces(char *path, struct found *found)
{
	char *const paths[] = { path, NULL };
	FTS *tree = fts_open(paths, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR,
			     NULL);
	int error = tree ? 0 : failed(path, "", errno);
	FTSENT *entry;

	while (!error && (entry = fts_read(tree))) {
		if (entry->fts_level > LEVELS)
			(void)fts_set(tree, entry, FTS_SKIP);
		if (entry->fts_level > 0 || entry->fts_info != FTS_F)
			error = look_at(entry, strlen(path), found);
	}
	if (tree)
		(void)fts_close(tree);
	if (!error && found->nr == 0) {
		sonde_complain("%.400s: there is no trace: no file '" METADATA
			       "' in it or below",
			       path);
		error = -ENOENT;
	}
	return error;
}

static int cmd_convert(struct conversion *conversion)
{
	struct sonde_directory_error words;
	struct found found = { NULL, 0 };
	int error = find_traces(conversion->from, &found);

	for (size_t i = 0; i < found.nr && !error; i++)
		error = measure_trace(conversion, found.below[i]);
	if (!error) {
		error = sonde_directory_make(conversion->to, &conversion->place,
					     &words);
		if (error)
			sonde_complain("%s", words.text);
	}
	for (size_t i = 0; i < found.nr; i++) {
		if (!error)
			error = convert_trace(conversion, found.below[i]);
		free(found.below[i]);
	}
	free(found.below);
	if (error && conversion->place.made)
		(void)rmdir(conversion->to); /* if it is empty */
	sonde_directory_close(&conversion->place);
	return error;
}

/* ---- the command ---- */

/* An exit status, or -1 to go on. */
static int choose_input(int nr, char **words, struct conversion *conversion)
{
	char newest[NAME_MAX + 1];

	if (nr == 0 && sonde_newest(false, newest))
		return join(conversion->from, newest, "") ? -1 : EXIT_FAILED;
	if (nr == 1)
		return join(conversion->from, words[0], "") ? -1 : EXIT_FAILED;
	if (nr)
		sonde_complain(
			"convert: one trace at a time, and the new one's name "
			"behind -o; try: sonde convert %s -o %s",
			words[0], words[1]);
	else
		sonde_complain(
			"convert: which trace?; try: sonde convert TRACE");
	return SONDE_EXIT_USAGE;
}

/* Sets what the words say; an exit status, or -1 to go on. */
static int convert_read_options(int argc, char **argv,
				struct conversion *conversion,
				struct words *words)
{
	int status = sonde_option_take(&sonde_command_convert, argc, argv,
				       words, NULL);
	const char *version = words->version;

	if (status >= 0)
		return status;
	if (version)
		conversion->major = strcmp(version, "2") == 0 ? 2 : 1;
	if (conversion->major == 1 && strcmp(version, "1.8") != 0) {
		sonde_complain("--ctf %.100s: use 1.8 or 2", version);
		return SONDE_EXIT_USAGE;
	}
	return choose_input(argc - optind, argv + optind, conversion);
}

/* TRACE-ctf2, beside TRACE. */
static int choose_output(struct conversion *conversion)
{
	const char *name = sonde_text_base(conversion->from);
	int length;

	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0) {
		sonde_complain("%s: give the copy a name with -o", name);
		return SONDE_EXIT_USAGE;
	}
	length = snprintf(conversion->to, PATH_MAX, "%.*s-ctf%s", PATH_MAX - 1,
			  conversion->from,
			  conversion->major == 2 ? "2" : "1.8");
	if (length < PATH_MAX)
		return 0;
	(void)failed(conversion->from, "", ENAMETOOLONG);
	return EXIT_FAILED;
}

/* 0, or -errno: said why. */
static int convert_input(struct conversion *conversion, bool is_foreign)
{
	int error;

	if (is_foreign)
		return sonde_command_convert_foreign(
			conversion->from, conversion->to,
			conversion->major == 2 ? SONDE_CTF_2 : SONDE_CTF_1_8);
	sonde_watch_begin("convert", true);
	error = cmd_convert(conversion);
	sonde_watch_end();
	return error;
}

static int run(int argc, char **argv)
{
	static struct conversion conversion = { .place = SONDE_DIRECTORY_NONE };
	struct words words = { 0 };
	int status = convert_read_options(argc, argv, &conversion, &words);
	bool is_foreign;
	size_t length;

	if (status >= 0)
		return status;
	length = strlen(conversion.from);
	while (length > 1 && conversion.from[length - 1] == '/')
		conversion.from[--length] = '\0';
	is_foreign = sonde_command_is_foreign(conversion.from);
	if (!conversion.major)
		conversion.major = is_foreign ? 1 : 2;
	if (words.output)
		status =
			join(conversion.to, words.output, "") ? 0 : EXIT_FAILED;
	else
		status = choose_output(&conversion);
	if (status)
		return status;
	status = convert_input(&conversion, is_foreign);
	if (status)
		return status == -EINTR ? EXIT_STOPPED : EXIT_FAILED;
	(void)puts(conversion.to);
	return 0;
}

const struct sonde_command sonde_command_convert = {
	.name = "convert",
	.run = run,
	.brief = "TRACE",
	.does = "to CTF 2; perf's data to CTF",
	.usage = usage,
	.options = options,
	.notes = "Prints the name of the new directory.\n",
	.words = SONDE_VALUE_DIR,
};
