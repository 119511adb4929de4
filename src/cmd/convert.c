/* SPDX-License-Identifier: MIT */
/*
 * convert.c - `sonde convert`: a copy of a trace whose metadata is in another
 * version of the format.
 *
 * The stream files are the same bytes in both versions, and so are the index
 * files. They are copied, by reference where the file system can; the metadata
 * is read into a schema and written from it. It comes last, so that a copy that
 * was interrupted is not taken for a trace.
 *
 * What is given may be a directory of several traces: each directory below it
 * that holds a `metadata` becomes one in the copy.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <getopt.h>
#include <limits.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "ctf/schema/schema.h"

#define EXIT_FAILED  1
#define METADATA     "metadata"
#define METADATA_MAX (1u << 30)
#define LEVELS       5 /* as deep as other commands look for traces */
#define COPY_AT_ONCE (1u << 30)

static const char help[] =
	"sonde convert [--ctf 1.8|2] [-o DIR] TRACE\n"
	"\n"
	"Copies a trace, with its metadata in another version of the Common\n"
	"Trace Format. The events' bytes stay the same.\n"
	"\n"
	"      --ctf VERSION   2 (default), or 1.8 for a trace that is in it\n"
	"                      already\n"
	"  -o, --output DIR    where to (default: TRACE-ctf2)\n"
	"  -h, --help\n"
	"\n"
	"Prints the name of the new directory.\n";

struct conversion {
	int major; /* that is wanted: 1 or 2 */
	char from[PATH_MAX];
	char to[PATH_MAX];
};

/* "open", say, of a file failed: says so. */
static int failed(const char *path, const char *name, int error)
{
	sonde_complain("%.400s%s%.200s: %s", path, *name ? "/" : "", name,
		       strerrordesc_np(error));
	return -error;
}

/* ---- files ---- */

static int copy_bytes(int from, int to)
{
	char bytes[65536];
	ssize_t n;

	while ((n = read(from, bytes, sizeof(bytes))) > 0)
		for (ssize_t done = 0; done < n;) {
			ssize_t more =
				write(to, bytes + done, (size_t)(n - done));

			if (more < 0)
				return -errno;
			done += more;
		}
	return n < 0 ? -errno : 0;
}

/* Each way stops where it can't go on, for whatever reason, and the next one
 * goes on there; the last one says what is wrong. */
static int copy_content(int from, int to)
{
	ssize_t n;

	if (ioctl(to, FICLONE, from) == 0)
		return 0;
	do {
		n = copy_file_range(from, NULL, to, NULL, COPY_AT_ONCE, 0);
	} while (n > 0);
	return copy_bytes(from, to);
}

static int copy_file(int from_dir, int to_dir, const char *name)
{
	int from = openat(from_dir, name, O_RDONLY | O_CLOEXEC);
	int to = from < 0 ?
			 -1 :
			 openat(to_dir, name,
				O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	int error = to < 0 ? -errno : copy_content(from, to);

	if (from >= 0)
		(void)close(from);
	if (to >= 0 && close(to) && !error)
		error = -errno;
	return error;
}

/* What readers take for a stream file, or in index/ for an index. */
static int is_data(const struct dirent *entry)
{
	return entry->d_name[0] != '.' && strcmp(entry->d_name, METADATA) != 0;
}

static int copy_entry(int from, int to, const char *path, const char *name)
{
	struct stat info;
	int error = 0;

	if (fstatat(from, name, &info, 0))
		return failed(path, name, errno);
	if (S_ISREG(info.st_mode))
		error = copy_file(from, to, name);
	return error ? failed(path, name, -error) : 0;
}

static int copy_files(const char *from_path, const char *to_path)
{
	int from = open(from_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int to = open(to_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct dirent **entries = NULL;
	int nr = -1;
	int error = 0;

	if (from >= 0 && to >= 0)
		nr = scandirat(from, ".", &entries, is_data, alphasort);
	if (nr < 0)
		error = failed(from_path, "", errno);
	for (int i = 0; i < nr; i++) {
		if (!error)
			error = copy_entry(from, to, from_path,
					   entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
	if (from >= 0)
		(void)close(from);
	if (to >= 0)
		(void)close(to);
	return error;
}

/* ---- metadata ---- */

struct bytes {
	char *at;
	size_t size;
};

static int read_bytes(const char *path, struct bytes *ret_bytes)
{
	FILE *file = fopen(path, "rbe");
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
	if (error) {
		sonde_complain("%.400s: %s", path, words.text);
		return error;
	}
	if (schema->major == conversion->major) {
		sonde_schema_free(schema);
		return 0;
	}
	if (conversion->major == 1) {
		sonde_complain("%.400s: it is CTF 2, which can't be converted "
			       "to 1.8; leave --ctf 1.8 out to copy it",
			       path);
		sonde_schema_free(schema);
		return -ENOTSUP;
	}
	error = sonde_schema_write_json(schema, &words, &made.at, &made.size);
	sonde_schema_free(schema);
	if (error == -ENOMEM)
		return failed(path, "", ENOMEM);
	if (error) {
		sonde_complain("%.400s: %s", path, words.text);
		return error;
	}
	free(bytes->at);
	*bytes = made;
	return 0;
}

static int write_bytes(const char *path, const struct bytes *bytes)
{
	FILE *file = fopen(path, "wbxe");
	int error = 0;

	if (!file)
		return failed(path, "", errno);
	if (fwrite(bytes->at, 1, bytes->size, file) != bytes->size)
		error = errno;
	if (fclose(file) && !error)
		error = errno;
	return error ? failed(path, "", error) : 0;
}

/* ---- traces ---- */

/* With all directories on the way from `conversion->to`, which is there. */
static int make_directories(const struct conversion *conversion, char *path)
{
	char *at = path + strlen(conversion->to);

	while (*at) {
		size_t length = strcspn(at + 1, "/") + 1;
		char after = at[length];

		at[length] = '\0';
		if (mkdir(path, 0777) && errno != EEXIST)
			return failed(path, "", errno);
		at[length] = after;
		at += length;
	}
	return 0;
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

static int copy_index(const char *from, const char *to)
{
	char from_index[PATH_MAX];
	char to_index[PATH_MAX];

	if (!join(from_index, from, "index") || !join(to_index, to, "index"))
		return -ENAMETOOLONG;
	if (access(from_index, F_OK))
		return 0;
	if (mkdir(to_index, 0777))
		return failed(to_index, "", errno);
	return copy_files(from_index, to_index);
}

/* The trace that is `below` what was given, "" for itself. */
static int convert_trace(const struct conversion *conversion, const char *below)
{
	char from[PATH_MAX];
	char to[PATH_MAX];
	char metadata[PATH_MAX];
	struct bytes bytes = { NULL, 0 };
	int error;

	if (!join(from, conversion->from, below) ||
	    !join(to, conversion->to, below) || !join(metadata, from, METADATA))
		return -ENAMETOOLONG;
	error = read_bytes(metadata, &bytes);
	if (error)
		return error;
	error = translate(conversion, metadata, &bytes);
	if (!error)
		error = make_directories(conversion, to);
	if (!error)
		error = copy_files(from, to);
	if (!error)
		error = copy_index(from, to);
	if (!error)
		error = join(metadata, to, METADATA) ?
				write_bytes(metadata, &bytes) :
				-ENAMETOOLONG;
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

/* The directory for the copy: new, or an empty one. */
static int make_output(const char *path)
{
	struct dirent **entries = NULL;
	int nr;

	if (mkdir(path, 0777) == 0)
		return 0;
	if (errno != EEXIST)
		return failed(path, "", errno);
	nr = scandir(path, &entries, NULL, NULL);
	if (nr < 0)
		return failed(path, "", errno);
	for (int i = 0; i < nr; i++)
		free(entries[i]);
	free(entries);
	if (nr <= 2) /* itself and the one above */
		return 0;
	sonde_complain("%.400s: there is something in it already; give another "
		       "directory with -o, or remove it",
		       path);
	return -ENOTEMPTY;
}

static int convert(struct conversion *conversion)
{
	struct found found = { NULL, 0 };
	int error = find_traces(conversion->from, &found);

	if (!error)
		error = make_output(conversion->to);
	for (size_t i = 0; i < found.nr; i++) {
		if (!error) {
			error = convert_trace(conversion, found.below[i]);
			if (error)
				(void)rmdir(conversion->to); /* if empty */
		}
		free(found.below[i]);
	}
	free(found.below);
	return error;
}

/* ---- the command ---- */

/* Sets what the words say; an exit status, or -1 to go on. */
static int read_options(int argc, char **argv, struct conversion *conversion,
			const char **ret_output)
{
	static const struct option options[] = {
		{ "ctf", required_argument, NULL, 'c' },
		{ "output", required_argument, NULL, 'o' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	int c;

	opterr = 0;
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): there is one thread */
	while ((c = getopt_long(argc, argv, "o:h", options, NULL)) != -1) {
		switch (c) {
		case 'c':
			conversion->major = strcmp(optarg, "1.8") == 0 ? 1 :
					    strcmp(optarg, "2") == 0   ? 2 :
									 0;
			if (conversion->major == 0) {
				sonde_complain("--ctf %.100s: use 1.8 or 2",
					       optarg);
				return SONDE_EXIT_USAGE;
			}
			break;
		case 'o':
			*ret_output = optarg;
			break;
		case 'h':
			(void)fputs(help, stdout);
			return 0;
		default:
			sonde_complain("%.100s: no such option, or no value "
				       "after it; see sonde convert --help",
				       argv[optind - 1]);
			return SONDE_EXIT_USAGE;
		}
	}
	if (argc - optind != 1) {
		sonde_complain("which trace? Try: sonde convert TRACE");
		return SONDE_EXIT_USAGE;
	}
	return -1;
}

/* TRACE-ctf2, beside TRACE. */
static int choose_output(struct conversion *conversion)
{
	const char *name = strrchr(conversion->from, '/');
	int length;

	name = name ? name + 1 : conversion->from;
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

int sonde_cmd_convert(int argc, char **argv)
{
	static struct conversion conversion = { .major = 2 };
	const char *output = NULL;
	int status = read_options(argc, argv, &conversion, &output);
	size_t length;

	if (status >= 0)
		return status;
	if (!join(conversion.from, argv[optind], ""))
		return EXIT_FAILED;
	length = strlen(conversion.from);
	while (length > 1 && conversion.from[length - 1] == '/')
		conversion.from[--length] = '\0';
	if (output)
		status = join(conversion.to, output, "") ? 0 : EXIT_FAILED;
	else
		status = choose_output(&conversion);
	if (status)
		return status;
	if (convert(&conversion))
		return EXIT_FAILED;
	(void)puts(conversion.to);
	return 0;
}
