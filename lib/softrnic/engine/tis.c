/* SPDX-License-Identifier: BSD-3-Clause */

/* Transport interface send: what SQs send as. */
#include <stdlib.h>

#include "softrnic/base/memory.h"
#include "softrnic/base/object.h"
#include "softrnic/engine/tis.h"

#define MODIFY_TIS_PRIO		  UINT64_C(0x1)
#define MODIFY_TIS_PORT_AFFINITY  UINT64_C(0x8)
#define MODIFY_TIS_STRICT_LAG_AFF UINT64_C(0x4)

struct softrnic_tis {
	struct softrnic_object object;
	struct softrnic_object *td, *pd; /* pd may be NULL */
	struct rnic_tisc context;
};

/* Features that no capability promises. */
static bool
tisc_supported(const struct rnic_tisc *tisc)
{
	return !rnic_tisc_get(tisc, RNIC_TISC_TLS_EN) &&
	       rnic_tisc_get(tisc, RNIC_TISC_UNDERLAY_QPN) == 0;
}

SOFTRNIC_CMD(create_tis)
{
	struct rnic_create_tis_in in = *(const struct rnic_create_tis_in *)cmd->in;
	const struct rnic_tisc *tisc = rnic_create_tis_in_tisc(&in);
	uint32_t pd = rnic_tisc_get(tisc, RNIC_TISC_PD);
	struct rnic_object_out *out = cmd->out;
	struct softrnic_object *td, *pd_object;
	struct softrnic_tis *tis;
	int status;

	if (!tisc_supported(tisc))
		return RNIC_STATUS_BAD_PARAM;
	td = softrnic_object_find(dev, SOFTRNIC_TD,
				  rnic_tisc_get(tisc, RNIC_TISC_TRANSPORT_DOMAIN));
	/* Only TLS uses the PD; plain senders leave it 0. */
	pd_object = softrnic_object_find(dev, SOFTRNIC_PD, pd);
	if (td == NULL || (pd != 0 && pd_object == NULL))
		return RNIC_STATUS_BAD_RES;
	tis = softrnic_alloc(dev, 1, sizeof(*tis));
	if (tis == NULL)
		return RNIC_STATUS_NO_RES;
	tis->context = *tisc;
	tis->td = td;
	tis->pd = pd_object;
	status = softrnic_object_add(dev, SOFTRNIC_TIS, &tis->object);
	if (status != RNIC_STATUS_OK) {
		softrnic_free(dev, tis);
		return status;
	}
	td->refs++;
	if (pd_object != NULL)
		pd_object->refs++;
	rnic_object_out_set(out, RNIC_OBJECT_OUT_NUMBER, tis->object.number);
	return RNIC_STATUS_OK;
}

SOFTRNIC_CMD(modify_tis)
{
	struct rnic_modify_tis_in in = *(const struct rnic_modify_tis_in *)cmd->in;
	uint64_t bitmask = rnic_modify_tis_in_get(&in, RNIC_MODIFY_TIS_IN_BITMASK);
	const struct rnic_tisc *tisc = rnic_modify_tis_in_tisc(&in);
	struct softrnic_tis *tis = softrnic_object_find(
		dev, SOFTRNIC_TIS, rnic_modify_tis_in_get(&in, RNIC_MODIFY_TIS_IN_TISN));

	if (tis == NULL)
		return RNIC_STATUS_BAD_RES;
	if ((bitmask & ~(MODIFY_TIS_PRIO | MODIFY_TIS_PORT_AFFINITY | MODIFY_TIS_STRICT_LAG_AFF)) !=
	    0)
		return RNIC_STATUS_BAD_PARAM;
	/* One port: an affinity to another cannot be. */
	if ((bitmask & MODIFY_TIS_PORT_AFFINITY) != 0 &&
	    rnic_tisc_get(tisc, RNIC_TISC_LAG_TX_PORT_AFFINITY) > 1)
		return RNIC_STATUS_BAD_PARAM;
	if ((bitmask & MODIFY_TIS_PRIO) != 0)
		rnic_tisc_set(&tis->context, RNIC_TISC_PRIO, rnic_tisc_get(tisc, RNIC_TISC_PRIO));
	return RNIC_STATUS_OK;
}

SOFTRNIC_CMD(destroy_tis)
{
	const struct rnic_object_in *in = cmd->in;
	struct softrnic_tis *tis = softrnic_object_find(
		dev, SOFTRNIC_TIS, rnic_object_in_get(in, RNIC_OBJECT_IN_NUMBER));

	if (tis == NULL)
		return RNIC_STATUS_BAD_RES;
	if (tis->object.refs > 0)
		return RNIC_STATUS_RES_BUSY;
	tis->td->refs--;
	if (tis->pd != NULL)
		tis->pd->refs--;
	softrnic_object_remove(dev, &tis->object);
	softrnic_free(dev, tis);
	return RNIC_STATUS_OK;
}

SOFTRNIC_CMD(query_tis)
{
	const struct rnic_object_in *in = cmd->in;
	struct rnic_query_tis_out *out = cmd->out;
	const struct softrnic_tis *tis = softrnic_object_find(
		dev, SOFTRNIC_TIS, rnic_object_in_get(in, RNIC_OBJECT_IN_NUMBER));

	if (tis == NULL)
		return RNIC_STATUS_BAD_RES;
	*rnic_query_tis_out_tisc(out) = tis->context;
	return RNIC_STATUS_OK;
}
