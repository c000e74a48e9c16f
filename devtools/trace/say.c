/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * For LD_PRELOAD: a program whose embedded device says in its log which commands it executes, without an option of the
 * program's own. The device's log type is here before the device is, and keeps its level, whatever level for all types
 * the program gives to EAL.
 */
#include <dlfcn.h>

#include <rte_eal.h>
#include <rte_log.h>

__attribute__((constructor)) static void
say_commands(void)
{
	int type = rte_log_register("softrnic.cmd");

	if (type >= 0)
		rte_log_set_level((uint32_t)type, RTE_LOG_DEBUG);
}

int
rte_eal_init(int argc, char **argv)
{
	int (*next)(int argc, char **argv);
	int rc;

	*(void **)&next = dlsym(RTLD_NEXT, "rte_eal_init");
	if (next == NULL)
		return -1;
	rc = next(argc, argv);
	say_commands();
	return rc;
}
