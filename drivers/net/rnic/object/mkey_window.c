/* SPDX-License-Identifier: BSD-3-Clause */

/* Memory keys of windows: lists of one key, free until a WQE binds them. */

#include <errno.h>
#include <sys/random.h>

#include "base/log.h"
#include "core/cmd.h"
#include "core/create.h"
#include "core/dev.h"
#include "object/mkey.h"
#include "object/mkey_window.h"
#include "object/mkey_history.h"
#include "prm/cmd.h"
#include "prm/mkey.h"

#define KEY_TRIES 16
#define ENTRIES	  4 /* one, and what fills up its 64 bytes */

static int
window_command(struct rnic_dev *dev, uint32_t pd, bool rinval, uint8_t variant, uint32_t *index)
{
	struct rnic_create_mkey_in in = { 0 };
	struct rnic_mkc *mkc = rnic_create_mkey_in_mkc(&in);

	rnic_mkc_set(mkc, RNIC_MKC_FREE, 1);
	rnic_mkc_set(mkc, RNIC_MKC_UMR_EN, 1);
	rnic_mkc_set(mkc, RNIC_MKC_EN_RINVAL, rinval);
	rnic_mkc_set(mkc, RNIC_MKC_LR, 1);
	rnic_mkc_set(mkc, RNIC_MKC_ACCESS_MODE_1_0, RNIC_MKEY_KLM);
	rnic_mkc_set(mkc, RNIC_MKC_QPN, RNIC_MKEY_ANY_QPN);
	rnic_mkc_set(mkc, RNIC_MKC_MKEY_7_0, variant);
	rnic_mkc_set(mkc, RNIC_MKC_PD, pd);
	rnic_mkc_set(mkc, RNIC_MKC_TRANSLATIONS_OCTWORD_SIZE, ENTRIES);
	return rnic_cmd_create(dev, RNIC_CMD_CREATE_MKEY, &in, sizeof(in), NULL, index);
}

/* Called with the lock held: a key whose number was not in use lately. */
static int
window_create(struct rnic_dev *dev, uint32_t pd, bool rinval, uint32_t *key)
{
	struct rnic_mkey_history *history = dev->mkeys->history;
	uint32_t index;
	uint8_t variant;
	int rc;

	for (int tries = 0; tries < KEY_TRIES; tries++) {
		if (getrandom(&variant, sizeof(variant), 0) != sizeof(variant))
			return -EIO;
		rc = window_command(dev, pd, rinval, variant, &index);
		if (rc != 0)
			return rc;
		*key = index << 8 | variant;
		rc = rnic_mkey_history_has(history, *key) ? -EAGAIN
							  : rnic_mkey_history_add(history, *key);
		if (rc == 0)
			return 0;
		rnic_cmd_destroy(dev, RNIC_CMD_DESTROY_MKEY, index);
		if (rc != -EAGAIN)
			return rc;
	}
	RNIC_LOG(ERR, dev, "no key for a memory window with a fresh number in %d tries", KEY_TRIES);
	return -EAGAIN;
}

int
rnic_mkey_window_create(struct rnic_dev *dev, uint32_t pd, bool rinval, uint32_t *key)
{
	int rc;

	pthread_mutex_lock(&dev->mkeys->lock);
	rc = window_create(dev, pd, rinval, key);
	pthread_mutex_unlock(&dev->mkeys->lock);
	return rc;
}

int
rnic_mkey_window_destroy(struct rnic_dev *dev, uint32_t key)
{
	int rc;

	pthread_mutex_lock(&dev->mkeys->lock);
	/* The byte has changed with each bind. Without memory the number may come again sooner. */
	rnic_mkey_history_add(dev->mkeys->history, key);
	rc = rnic_cmd_destroy(dev, RNIC_CMD_DESTROY_MKEY, key >> 8);
	pthread_mutex_unlock(&dev->mkeys->lock);
	return rc;
}
