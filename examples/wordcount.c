/* SPDX-License-Identifier: MIT */
/*
 * wordcount.c - count words and lines of files with several threads.
 *
 *	wordcount [-j THREADS] FILE...
 *
 * The main thread cuts each file into chunks and puts them in a queue of
 * bounded length; the workers take them out, count, and add what they found to
 * the file's totals. It does real work, and its tracepoints answer questions
 * one would ask of any such program:
 *
 *	- is the queue full or empty most of the time?	queue_put, queue_get
 *	- how long does a chunk take, and where?	chunk_begin, chunk_end
 *	- which files are slow?				file_open, file_done
 *
 * Try it:
 *
 *	cc wordcount.c -o wordcount -pthread $(pkg-config --cflags --libs sonde)
 *	sonde record -o trace -- ./wordcount -j 4 /usr/share/common-licenses/GPL-3
 *	babeltrace2 trace
 *
 * Without `sonde record` in front, a tracepoint is a load and a branch.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sonde/tracepoint.h>

#define CHUNK_SIZE   16384u
#define QUEUE_LENGTH 16u
#define THREADS_MAX  64

struct file {
	const char *path;
	char *text;
	size_t size;
	pthread_mutex_t lock; /* guards what follows */
	uint64_t words;
	uint64_t lines;
	unsigned chunks_left;
};

struct chunk {
	struct file *file; /* null: the worker is to end */
	size_t offset;
	size_t size;
};

static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct chunk chunks[QUEUE_LENGTH];
	unsigned head;
	unsigned length;
} queue = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.changed = PTHREAD_COND_INITIALIZER,
};

static void queue_put(const struct chunk *chunk)
{
	unsigned length;

	pthread_mutex_lock(&queue.lock);
	while (queue.length == QUEUE_LENGTH)
		pthread_cond_wait(&queue.changed, &queue.lock);
	queue.chunks[(queue.head + queue.length) % QUEUE_LENGTH] = *chunk;
	length = ++queue.length;
	pthread_cond_broadcast(&queue.changed);
	pthread_mutex_unlock(&queue.lock);
	sonde_event(wordcount, queue_put, length);
}

static struct chunk queue_get(void)
{
	struct chunk chunk;
	unsigned length;

	pthread_mutex_lock(&queue.lock);
	while (queue.length == 0)
		pthread_cond_wait(&queue.changed, &queue.lock);
	chunk = queue.chunks[queue.head];
	queue.head = (queue.head + 1) % QUEUE_LENGTH;
	length = --queue.length;
	pthread_cond_broadcast(&queue.changed);
	pthread_mutex_unlock(&queue.lock);
	sonde_event(wordcount, queue_get, length);
	return chunk;
}

static bool is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

/* A word counts where it begins, so one that crosses chunks counts once. */
static void count(const struct chunk *chunk, uint64_t *ret_words,
		  uint64_t *ret_lines)
{
	const char *text = chunk->file->text;
	bool space = chunk->offset == 0 || is_space(text[chunk->offset - 1]);
	uint64_t words = 0;
	uint64_t lines = 0;

	for (size_t i = chunk->offset; i < chunk->offset + chunk->size; i++) {
		bool was_space = space;

		space = is_space(text[i]);
		words += was_space && !space;
		lines += text[i] == '\n';
	}
	*ret_words = words;
	*ret_lines = lines;
}

static void work_on(const struct chunk *chunk)
{
	struct file *file = chunk->file;
	uint64_t words;
	uint64_t lines;
	unsigned left;

	sonde_event(wordcount, chunk_begin, sonde_field(path, file->path),
		    sonde_field(offset, chunk->offset),
		    sonde_field(size, chunk->size));
	count(chunk, &words, &lines);
	sonde_event(wordcount, chunk_end, words, lines);

	pthread_mutex_lock(&file->lock);
	file->words += words;
	file->lines += lines;
	left = --file->chunks_left;
	pthread_mutex_unlock(&file->lock);
	if (left == 0)
		sonde_event(wordcount, file_done, sonde_field(path, file->path),
			    sonde_field(words, file->words),
			    sonde_field(lines, file->lines));
}

static void *worker(void *unused)
{
	struct chunk chunk;

	(void)unused;
	while (chunk = queue_get(), chunk.file)
		work_on(&chunk);
	return NULL;
}

/* 0 or -errno. An empty file has no text. */
static int file_open(struct file *file, const char *path)
{
	struct stat st;
	void *text = NULL;
	int error = 0;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0)
		error = -errno;
	else if (st.st_size > 0)
		text = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE,
			    fd, 0);
	if (text == MAP_FAILED)
		error = -errno;
	(void)close(fd); /* only read from */
	if (error)
		return error;
	*file = (struct file){
		.path = path,
		.text = text,
		.size = (size_t)st.st_size,
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.chunks_left =
			(unsigned)((st.st_size + CHUNK_SIZE - 1) / CHUNK_SIZE),
	};
	sonde_event(wordcount, file_open, path, sonde_field(size, file->size));
	return 0;
}

static void file_queue(struct file *file)
{
	for (size_t offset = 0; offset < file->size; offset += CHUNK_SIZE) {
		size_t rest = file->size - offset;
		struct chunk chunk = {
			.file = file,
			.offset = offset,
			.size = rest < CHUNK_SIZE ? rest : CHUNK_SIZE,
		};

		queue_put(&chunk);
	}
}

/* Counts the files; those that can't be opened are null in path. */
static int count_files(struct file *files, char **paths, int nr_files,
		       int nr_threads)
{
	pthread_t threads[THREADS_MAX];
	int failed = 0;

	for (int i = 0; i < nr_threads; i++)
		if (pthread_create(&threads[i], NULL, worker, NULL))
			abort();
	for (int i = 0; i < nr_files; i++) {
		int error = file_open(&files[i], paths[i]);

		if (error) {
			errno = -error;
			perror(paths[i]);
			failed = 1;
			continue;
		}
		file_queue(&files[i]);
	}
	for (int i = 0; i < nr_threads; i++)
		queue_put(&(struct chunk){ .file = NULL });
	for (int i = 0; i < nr_threads; i++)
		pthread_join(threads[i], NULL);
	return failed;
}

static void print_counts(struct file *files, int nr_files)
{
	uint64_t words = 0;
	uint64_t lines = 0;

	for (int i = 0; i < nr_files; i++) {
		if (!files[i].path)
			continue;
		words += files[i].words;
		lines += files[i].lines;
		if (files[i].text)
			munmap(files[i].text, files[i].size);
	}
	printf("%d files, %llu lines, %llu words\n", nr_files,
	       (unsigned long long)lines, (unsigned long long)words);
}

int main(int argc, char **argv)
{
	long nr_threads = 2;
	int first = 1;
	struct file *files;
	int status;

	if (argc > 2 && strcmp(argv[1], "-j") == 0) {
		nr_threads = strtol(argv[2], NULL, 10);
		first = 3;
	}
	if (first >= argc || nr_threads < 1 || nr_threads > THREADS_MAX) {
		fprintf(stderr, "usage: wordcount [-j THREADS] FILE...\n");
		return 2;
	}
	files = calloc((size_t)(argc - first), sizeof(*files));
	if (!files)
		abort();
	status =
		count_files(files, argv + first, argc - first, (int)nr_threads);
	print_counts(files, argc - first);
	free(files);
	return status;
}
