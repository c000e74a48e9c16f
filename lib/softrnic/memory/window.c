/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Keys that a peer invalidates: windows, and what a kernel registered for it. Each packet looks its key up anew, so that from then on
 * none reaches the memory.
 */
#include <errno.h>

#include "softrnic/base/object.h"
#include "softrnic/memory/tpt.h"
#include "softrnic/memory/window.h"

int
softrnic_window_invalidate(struct softrnic *dev, uint32_t qpn, uint32_t pd, uint32_t key)
{
	struct softrnic_mkey *mkey = softrnic_object_get(dev, SOFTRNIC_MKEY, key >> 8);

	if (mkey == NULL || mkey->variant != (key & 0xff) || mkey->free || !mkey->en_rinval ||
	    mkey->pd != pd || (mkey->qpn != RNIC_MKEY_ANY_QPN && mkey->qpn != qpn)) {
		dev->stats.tpt_faults++;
		return -EACCES;
	}
	softrnic_mkey_forget(dev, mkey);
	mkey->free = true;
	rnic_mkc_set(&mkey->context, RNIC_MKC_FREE, 1);
	return 0;
}
