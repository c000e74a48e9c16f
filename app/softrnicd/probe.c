/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * --probe-jail FILE, for the tests: try from inside what a jailed process must not do, and say what came of it. Bare system
 * calls, as the C library may come to the same by another one. The arguments are such that a call that is not denied
 * does nothing, or fails with another error.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "probe.h"

static long
probe_fork(void)
{
	long pid = syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, 0);

	/* A sanitizer's _exit() takes a lock that another thread may have held when this copy was made. */
	if (pid == 0)
		syscall(SYS_exit_group, 0);
	return pid;
}

static long
probe_mmap_exec(void)
{
	return syscall(SYS_mmap, NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		       0);
}

/* The image of this program is there and mapped, so that only the jail can object. */
static long
probe_mprotect(void)
{
	return syscall(SYS_mprotect, (uintptr_t)probe_mprotect & ~(uintptr_t)4095, 4096,
		       PROT_READ | PROT_EXEC);
}

static long
probe_execve(void)
{
	static char *const nothing[] = { NULL };

	return syscall(SYS_execve, "/nonexistent/program", nothing, nothing);
}

static long
probe_unlink(const char *path)
{
	return syscall(SYS_unlinkat, AT_FDCWD, path, 0);
}

static long
probe_rename(const char *path)
{
	return syscall(SYS_renameat, AT_FDCWD, path, AT_FDCWD, path);
}

static long
probe_make(const struct device_options *device)
{
	return syscall(SYS_openat, device->folder_fd, "made", O_CREAT | O_WRONLY, 0600);
}

static unsigned int
probe_report(const char *name, long result)
{
	int error = errno;
	bool denied = result == -1 && (error == EPERM || error == EACCES);

	printf("%s %s: %s\n", denied ? "denied" : "ALLOWED", name,
	       result == -1 ? strerror(error) : "done");
	return !denied;
}

static unsigned int
probe_files(const struct options *options)
{
	const struct device_options *device = &options->devices[0];
	unsigned int allowed = 0;

	allowed += probe_report("unlink", probe_unlink(options->probe_jail));
	allowed += probe_report("rename", probe_rename(options->probe_jail));
	allowed += probe_report("unlink of the socket", probe_unlink(device->socket));
	allowed += probe_report("rename of the socket", probe_rename(device->bind_path));
	allowed += probe_report("rmdir",
				syscall(SYS_unlinkat, device->folder_fd, "none", AT_REMOVEDIR));
	allowed += probe_report("making a file", probe_make(device));
	allowed += probe_report("mkdir", syscall(SYS_mkdirat, device->folder_fd, "made", 0700));
	allowed +=
		probe_report("mknod", syscall(SYS_mknodat, device->folder_fd, "made", S_IFREG, 0));
	allowed += probe_report("symlink", syscall(SYS_symlinkat, "/", device->folder_fd, "made"));
	allowed += probe_report("link", syscall(SYS_linkat, AT_FDCWD, device->bind_path,
						device->folder_fd, "made", 0));
	allowed += probe_report("chmod", syscall(SYS_fchmodat, AT_FDCWD, device->bind_path, 0600));
	return allowed;
}

/* What is read is of the time of reading. Nothing can be opened then. */
static int probe_status = -1;

void
jail_probe_prepare(void)
{
	probe_status = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
}

static void
probe_say_who(void)
{
	char text[4096];
	ssize_t n = read(probe_status, text, sizeof(text) - 1);

	text[n < 0 ? 0 : n] = '\0';
	fputs(text, stdout);
}

unsigned int
jail_probe(const struct options *options)
{
	unsigned int allowed = 0;

	probe_say_who();

	allowed += probe_report("openat", syscall(SYS_openat, AT_FDCWD, "/dev/null", O_RDONLY));
	allowed += probe_report("socket", syscall(SYS_socket, AF_UNIX, SOCK_STREAM, 0));
	allowed +=
		probe_report("socketpair", syscall(SYS_socketpair, AF_UNIX, SOCK_STREAM, 0, NULL));
	allowed += probe_report("connect", syscall(SYS_connect, -1, NULL, 0));
	allowed += probe_report("bind", syscall(SYS_bind, -1, NULL, 0));
	allowed += probe_report("execve", probe_execve());
	allowed += probe_report("clone", probe_fork());
	allowed += probe_report("ptrace", syscall(SYS_ptrace, PTRACE_PEEKDATA, 0, NULL, NULL));
	allowed += probe_report("process_vm_readv",
				syscall(SYS_process_vm_readv, 0, NULL, 0, NULL, 0, 0));
	allowed += probe_report("kill", syscall(SYS_kill, getpid(), 0));
	allowed += probe_report("mmap of code", probe_mmap_exec());
	allowed += probe_report("mprotect", probe_mprotect());
	/* But as the device makes them, for pages of doorbells. */
	allowed += probe_report("memfd_create", syscall(SYS_memfd_create, "probe", 0));
	allowed += probe_report("memfd_create of hugepages",
				syscall(SYS_memfd_create, "probe", MFD_CLOEXEC | MFD_HUGETLB));
	allowed += probe_report("prctl", syscall(SYS_prctl, PR_GET_DUMPABLE, 0, 0, 0, 0));
	allowed += probe_report("setuid", syscall(SYS_setuid, getuid()));
	allowed += probe_files(options);
	fflush(stdout);
	return allowed;
}
