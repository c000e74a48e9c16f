/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>

#include "fd.h"
#include "version.h"

/* The kernel answers for files of tmpfs and hugetlbfs, out of its own memory, and knows of no seals elsewhere. */
bool
vfu_is_memory_file(int fd)
{
	return fcntl(fd, F_GET_SEALS) >= 0;
}

/* No file of small pages minds where a mapping begins; tmpfs may say that its pages are large, and makes them one by one. */
bool
vfu_is_hugepages(int fd, const struct stat *st)
{
	void *address;

	if (st->st_blksize <= VFU_PAGE_BYTES)
		return false;
	address = mmap(NULL, VFU_PAGE_BYTES, PROT_READ, MAP_SHARED | MAP_NORESERVE, fd,
		       VFU_PAGE_BYTES);
	if (address == MAP_FAILED)
		return errno == EINVAL;
	munmap(address, VFU_PAGE_BYTES);
	return false;
}
