/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "user.h"

#define USER_DEFAULT "nobody"
#define USER_NUMBER  65534 /* of nobody, where no file of users says so */

int
user_find(struct options *options)
{
	const char *name = options->user != NULL ? options->user : USER_DEFAULT;
	const struct passwd *entry;

	options->changes_user = geteuid() == 0;
	if (!options->changes_user && options->user == NULL)
		return 0;
	errno = 0;
	entry = getpwnam(name);
	if (entry == NULL && options->user != NULL) {
		log_error("--user %s: %s", name, errno != 0 ? strerror(errno) : "no such user");
		return -ENOENT;
	}
	options->uid = entry != NULL ? entry->pw_uid : USER_NUMBER;
	options->gid = entry != NULL ? entry->pw_gid : USER_NUMBER;
	if (!options->changes_user && options->uid != geteuid()) {
		log_error("--user %s: only root can become another user", name);
		return -EPERM;
	}
	/* Root who says so stays root. */
	options->changes_user = options->changes_user && options->uid != 0;
	return 0;
}

int
user_become(const struct options *options)
{
	int signal = 0, rc = 0;

	if (!options->changes_user)
		return 0;
	/* It goes with the user, and who asked for it meant it. */
	prctl(PR_GET_PDEATHSIG, &signal);
	/* The C library has all threads do it. */
	if (setgroups(0, NULL) != 0 || setresgid(options->gid, options->gid, options->gid) != 0 ||
	    setresuid(options->uid, options->uid, options->uid) != 0) {
		rc = -errno;
		log_error("cannot become user %u: %s; choose another one with --user, or stay root "
			  "with --user root",
			  (unsigned int)options->uid, strerror(-rc));
		return rc;
	}
	prctl(PR_SET_PDEATHSIG, signal);
	return 0;
}
