/* SPDX-License-Identifier: BSD-3-Clause */

/* Objects that are little more than a number: protection, transport and XRC domains, UAR pages, counter sets. */
#include <stdlib.h>
#include <string.h>

#include "softrnic/base/memory.h"
#include "softrnic/base/object.h"
#include "softrnic/base/q_counter.h"
#include "softrnic/base/quirks.h"
#include "softrnic/base/uar.h"
#include "softrnic/hca/pd_uar_counter.h"

static int
object_small_alloc(struct softrnic *dev, struct softrnic_cmd *cmd, enum softrnic_object_type type,
		   size_t bytes)
{
	struct softrnic_object *object = softrnic_alloc(dev, 1, bytes);
	struct rnic_object_out *out = cmd->out;
	int status;

	if (object == NULL)
		return RNIC_STATUS_NO_RES;
	status = softrnic_object_add(dev, type, object);
	if (status != RNIC_STATUS_OK) {
		softrnic_free(dev, object);
		return status;
	}
	rnic_object_out_set(out, RNIC_OBJECT_OUT_NUMBER, object->number);
	return RNIC_STATUS_OK;
}

static int
object_small_dealloc(struct softrnic *dev, struct softrnic_cmd *cmd, enum softrnic_object_type type)
{
	const struct rnic_object_in *in = cmd->in;
	struct softrnic_object *object =
		softrnic_object_find(dev, type, rnic_object_in_get(in, RNIC_OBJECT_IN_NUMBER));

	if (object == NULL)
		return RNIC_STATUS_BAD_RES;
	if (object->refs > 0)
		return RNIC_STATUS_RES_BUSY;
	softrnic_object_remove(dev, object);
	softrnic_free(dev, object);
	return RNIC_STATUS_OK;
}

SOFTRNIC_CMD(alloc_pd)
{
	return object_small_alloc(dev, cmd, SOFTRNIC_PD, sizeof(struct softrnic_object));
}

SOFTRNIC_CMD(dealloc_pd)
{
	return object_small_dealloc(dev, cmd, SOFTRNIC_PD);
}

SOFTRNIC_CMD(alloc_transport_domain)
{
	return object_small_alloc(dev, cmd, SOFTRNIC_TD, sizeof(struct softrnic_object));
}

SOFTRNIC_CMD(dealloc_transport_domain)
{
	return object_small_dealloc(dev, cmd, SOFTRNIC_TD);
}

SOFTRNIC_CMD(alloc_xrcd)
{
	return object_small_alloc(dev, cmd, SOFTRNIC_XRCD, sizeof(struct softrnic_object));
}

SOFTRNIC_CMD(dealloc_xrcd)
{
	return object_small_dealloc(dev, cmd, SOFTRNIC_XRCD);
}

SOFTRNIC_CMD(alloc_uar)
{
	const struct rnic_object_out *out = cmd->out;
	int status = object_small_alloc(dev, cmd, SOFTRNIC_UAR, sizeof(struct softrnic_object));

	if (status == RNIC_STATUS_OK)
		softrnic_uar_clear(dev, rnic_object_out_get(out, RNIC_OBJECT_OUT_NUMBER));
	return status;
}

SOFTRNIC_CMD(dealloc_uar)
{
	const struct rnic_object_in *in = cmd->in;
	int status = object_small_dealloc(dev, cmd, SOFTRNIC_UAR);

	if (status == RNIC_STATUS_OK)
		softrnic_uar_clear(dev, rnic_object_in_get(in, RNIC_OBJECT_IN_NUMBER));
	return status;
}

void
softrnic_uar_drop(struct softrnic *dev, struct softrnic_object *object)
{
	softrnic_uar_clear(dev, object->number);
	softrnic_object_drop(dev, object);
}

SOFTRNIC_CMD(alloc_q_counter)
{
	if (softrnic_has_quirk(dev, SOFTRNIC_QUIRK_NO_Q_COUNTERS))
		return RNIC_STATUS_NO_RES;
	return object_small_alloc(dev, cmd, SOFTRNIC_Q_COUNTER, sizeof(struct softrnic_q_counter));
}

SOFTRNIC_CMD(dealloc_q_counter)
{
	return object_small_dealloc(dev, cmd, SOFTRNIC_Q_COUNTER);
}

static void
q_counter_report(const struct roce_counters *c, struct rnic_query_q_counter_out *out)
{
#define SET(field, value) rnic_query_q_counter_out_set(out, RNIC_QUERY_Q_COUNTER_OUT_##field, value)
	SET(RX_WRITE_REQUESTS, c->rx_write_requests);
	SET(RX_READ_REQUESTS, c->rx_read_requests);
	SET(RX_ATOMIC_REQUESTS, c->rx_atomic_requests);
	SET(OUT_OF_BUFFER, c->out_of_buffer);
	SET(OUT_OF_SEQUENCE, c->out_of_sequence);
	SET(DUPLICATE_REQUEST, c->duplicate_request);
	SET(RNR_NAK_RETRY_ERR, c->rnr_nak_retry_err);
	SET(PACKET_SEQ_ERR, c->packet_seq_err);
	SET(IMPLIED_NAK_SEQ_ERR, c->implied_nak_seq_err);
	SET(LOCAL_ACK_TIMEOUT_ERR, c->local_ack_timeout_err);
	SET(RESP_LOCAL_LENGTH_ERROR, c->resp_local_length_error);
	SET(RESP_CQE_ERROR, c->resp_cqe_error);
	SET(REQ_CQE_ERROR, c->req_cqe_error);
	SET(REQ_REMOTE_INVALID_REQUEST, c->req_remote_invalid_request);
	SET(REQ_REMOTE_ACCESS_ERRORS, c->req_remote_access_errors);
	SET(RESP_REMOTE_ACCESS_ERRORS, c->resp_remote_access_errors);
	SET(RESP_CQE_FLUSH_ERROR, c->resp_cqe_flush_error);
	SET(REQ_CQE_FLUSH_ERROR, c->req_cqe_flush_error);
#undef SET
}

SOFTRNIC_CMD(query_q_counter)
{
	const struct rnic_query_q_counter_in *in = cmd->in;
	struct softrnic_q_counter *counter = softrnic_object_find(
		dev, SOFTRNIC_Q_COUNTER,
		rnic_query_q_counter_in_get(in, RNIC_QUERY_Q_COUNTER_IN_COUNTER_SET_ID));

	if (counter == NULL)
		return RNIC_STATUS_BAD_RES;
	q_counter_report(&counter->roce, cmd->out);
	if (rnic_query_q_counter_in_get(in, RNIC_QUERY_Q_COUNTER_IN_CLEAR))
		memset(&counter->roce, 0, sizeof(counter->roce));
	return RNIC_STATUS_OK;
}
