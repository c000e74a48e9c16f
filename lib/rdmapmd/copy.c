/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * One copy in a process: a second one, e.g. linked statically into a plugin, would have a device list of its own, always
 * empty. Each copy carries an ELF note; the copy that is asked looks for that note in all loaded objects. This finds copies
 * whatever their file is called and however they were loaded, and needs nothing outside the process.
 */

#include <elf.h>
#include <errno.h>
#include <link.h>
#include <string.h>

#include "copy_private.h"
#include "log_private.h"

#define NOTE_NAME "rdmapmd"
#define NOTE_TYPE 1

/* Notes stand side by side: clang's AddressSanitizer must not put a red zone behind ours. */
#ifdef __clang__
#define NOTE_ALONE no_sanitize("address"),
#else
#define NOTE_ALONE
#endif

static const struct {
	ElfW(Nhdr) header;
	char name[8];
	char version[8];
} note __attribute__((NOTE_ALONE section(".note.rdmapmd"), aligned(4), used)) = {
	.header = { .n_namesz = 8, .n_descsz = 8, .n_type = NOTE_TYPE },
	.name = NOTE_NAME,
	.version = RDMAPMD_VERSION,
};

struct search {
	const char *own, *other;
	unsigned int copies;
};

static int
copy_is_note(const ElfW(Nhdr) * header)
{
	return header->n_type == NOTE_TYPE && header->n_namesz == sizeof(NOTE_NAME) &&
	       memcmp(header + 1, NOTE_NAME, sizeof(NOTE_NAME)) == 0;
}

static int
copy_look_at(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct search *search = arg;
	int i;

	(void)size;
	for (i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		uintptr_t at = info->dlpi_addr + segment->p_vaddr;
		const uintptr_t end = at + segment->p_memsz;
		const uintptr_t align = segment->p_align > 4 ? segment->p_align - 1 : 3;

		if (segment->p_type != PT_NOTE)
			continue;
		while (at + sizeof(ElfW(Nhdr)) <= end) {
			const ElfW(Nhdr) *header = (const ElfW(Nhdr) *)at;

			if (copy_is_note(header)) {
				search->copies++;
				if (header == &note.header)
					search->own = info->dlpi_name;
				else
					search->other = info->dlpi_name;
			}
			at += sizeof(*header) + ((header->n_namesz + 3u) & ~3u);
			at = (at + header->n_descsz + align) & ~align;
		}
	}
	return 0;
}

static const char *
copy_name(const char *name)
{
	return name == NULL || name[0] == '\0' ? "the program itself" : name;
}

int
rdmapmd_check_copies(void)
{
	struct search search = { 0 };

	dl_iterate_phdr(copy_look_at, &search);
	if (search.copies <= 1)
		return 0;
	rte_log(RTE_LOG_ERR, (uint32_t)rdmapmd_logtype,
		"rdmapmd: this process has two copies of the library: in %s and in %s. Link both "
		"with the same librdmapmd.so\n",
		copy_name(search.own), copy_name(search.other));
	return -EEXIST;
}
