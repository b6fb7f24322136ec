/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Feeds a fuzz target with files: the kept corpus in the asan build, or one input that a run has found. No clang is needed for that.
 *
 * Usage: fuzz_NAME FILE|FOLDER... Ends with 0 when the target has come through all of them; no file at all is a failure.
 */
#include <dirent.h>
#include <sys/stat.h>

#include "fuzz/fuzz.h"

static unsigned replayed;

static void replay_file(const char *path)
{
	FILE *f = fopen(path, "rb");
	uint8_t *bytes;
	long len;

	FUZZ_CHECK(f && fseek(f, 0, SEEK_END) == 0 && (len = ftell(f)) >= 0);
	rewind(f);
	bytes = malloc((size_t)len);
	FUZZ_CHECK((bytes || !len) && fread(bytes, 1, (size_t)len, f) == (size_t)len);
	fclose(f);
	fprintf(stderr, "%s, %ld bytes\n", path, len);
	LLVMFuzzerTestOneInput(bytes, (size_t)len);
	free(bytes);
	replayed++;
}

static void replay_folder(const char *path)
{
	struct dirent **list;
	int n = scandir(path, &list, NULL, alphasort);

	FUZZ_CHECK(n >= 0);
	for (int i = 0; i < n; i++) {
		char file[1024];

		snprintf(file, sizeof(file), "%s/%s", path, list[i]->d_name);
		if (list[i]->d_name[0] != '.')
			replay_file(file);
		free(list[i]);
	}
	free(list);
}

int main(int argc, char **argv)
{
	LLVMFuzzerInitialize(&argc, &argv);
	for (int i = 1; i < argc; i++) {
		struct stat st;

		FUZZ_CHECK(stat(argv[i], &st) == 0);
		if (S_ISDIR(st.st_mode))
			replay_folder(argv[i]);
		else
			replay_file(argv[i]);
	}
	printf("%u inputs\n", replayed);
	return replayed ? 0 : 1;
}
