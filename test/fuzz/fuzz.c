/* SPDX-License-Identifier: BSD-3-Clause */

#include <limits.h>
#include <stdarg.h>

#include "fuzz.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);

__attribute__((weak)) void
fuzz_begin(void)
{
}

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	fuzz_begin();
	if (getenv("FUZZ_SEEDS") == NULL)
		return 0;
	fuzz_seeds_write();
	exit(0);
}

void
fuzz_broken(const char *what, const char *file, int line)
{
	fprintf(stderr, "%s:%d: broken promise: %s\n", file, line, what);
	abort();
}

void
fuzz_seed_write(const struct fuzz_seed *seed, const char *name, ...)
{
	char path[PATH_MAX];
	va_list args;
	size_t used = (size_t)snprintf(path, sizeof(path), "%s/", getenv("FUZZ_SEEDS"));
	FILE *f;

	must(used < sizeof(path));
	va_start(args, name);
	vsnprintf(path + used, sizeof(path) - used, name, args);
	va_end(args);
	f = fopen(path, "wb");
	must(f != NULL);
	must(fwrite(seed->bytes, 1, seed->used, f) == seed->used);
	must(fclose(f) == 0);
}
