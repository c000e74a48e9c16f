/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What the device counts of queue pairs (PRM: "Q Counters"), under the names that `rdma statistic` shows for a card's. One
 * set of counters for all of them: the port's receive queues have another. The device's have 32 bits and go on counting
 * from where they were, so that a reader who comes often enough misses nothing.
 */

#include "object/q_counter.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>

#include "base/log.h"
#include "core/cmd.h"
#include "core/create.h"
#include "core/dev.h"
#include "prm/caps.h"
#include "prm/cmd.h"
#include "prm/queue.h"

#define COUNTERS(C)                                               \
	C(rx_write_requests, RX_WRITE_REQUESTS)                   \
	C(rx_read_requests, RX_READ_REQUESTS)                     \
	C(rx_atomic_requests, RX_ATOMIC_REQUESTS)                 \
	C(rx_dct_connect, RX_DCT_CONNECT)                         \
	C(out_of_buffer, OUT_OF_BUFFER)                           \
	C(out_of_sequence, OUT_OF_SEQUENCE)                       \
	C(duplicate_request, DUPLICATE_REQUEST)                   \
	C(rnr_nak_retry_err, RNR_NAK_RETRY_ERR)                   \
	C(packet_seq_err, PACKET_SEQ_ERR)                         \
	C(implied_nak_seq_err, IMPLIED_NAK_SEQ_ERR)               \
	C(local_ack_timeout_err, LOCAL_ACK_TIMEOUT_ERR)           \
	C(resp_local_length_error, RESP_LOCAL_LENGTH_ERROR)       \
	C(resp_cqe_error, RESP_CQE_ERROR)                         \
	C(req_cqe_error, REQ_CQE_ERROR)                           \
	C(req_remote_invalid_request, REQ_REMOTE_INVALID_REQUEST) \
	C(req_remote_access_errors, REQ_REMOTE_ACCESS_ERRORS)     \
	C(resp_remote_access_errors, RESP_REMOTE_ACCESS_ERRORS)   \
	C(resp_cqe_flush_error, RESP_CQE_FLUSH_ERROR)             \
	C(req_cqe_flush_error, REQ_CQE_FLUSH_ERROR)

#define NAME(name, field) #name,
const char *const rnic_q_counter_names[] = { COUNTERS(NAME) NULL };
#define FIELD(name, field) RNIC_QUERY_Q_COUNTER_OUT_##field,
static const enum rnic_query_q_counter_out_field fields[] = { COUNTERS(FIELD) };
_Static_assert(RTE_DIM(fields) == RNIC_Q_COUNTERS, "room for all");

/* Linux asks only where max_qp_cnt is not 0, and goes on without where it is refused. */
int
rnic_q_counter_alloc(struct rnic_dev *dev, const char *whose, uint32_t *number, bool *has)
{
	struct rnic_cmd_in in = { 0 };
	int rc = -EOPNOTSUPP;

	*number = 0;
	if (rnic_general_cap(dev, RNIC_GENERAL_CAP_MAX_QP_CNT) > 0)
		rc = rnic_cmd_try_create(dev, RNIC_CMD_ALLOC_Q_COUNTER, &in, sizeof(in), NULL,
					 number);
	*has = rc == 0;
	if (!rnic_cmd_refused(rc))
		return rc;
	RNIC_LOG(NOTICE, dev, "the device has no counters for %s (%s): they read 0", whose,
		 strerror(-rc));
	return 0;
}

static int
q_counter_query(struct rnic_dev *dev, uint32_t number, struct rnic_query_q_counter_out *out)
{
	struct rnic_query_q_counter_in in = { 0 };

	rnic_query_q_counter_in_set(&in, RNIC_QUERY_Q_COUNTER_IN_COUNTER_SET_ID, number);
	return rnic_cmd_exec(dev, RNIC_CMD_QUERY_Q_COUNTER, 0, &in, sizeof(in), out, sizeof(*out));
}

int
rnic_q_counter_out_of_buffer(struct rnic_dev *dev, uint32_t *count)
{
	struct rnic_query_q_counter_out out;
	int rc;

	if (!dev->has_q_counter) {
		*count = 0;
		return 0;
	}
	rc = q_counter_query(dev, dev->q_counter, &out);
	if (rc == 0)
		*count = (uint32_t)rnic_query_q_counter_out_get(
			&out, RNIC_QUERY_Q_COUNTER_OUT_OUT_OF_BUFFER);
	return rc;
}

int
rnic_q_counters_setup(struct rnic_dev *dev)
{
	struct rnic_q_counters *of_qps = calloc(1, sizeof(*of_qps));

	if (of_qps == NULL)
		return -ENOMEM;
	pthread_mutex_init(&of_qps->lock, NULL);
	dev->qp_counters = of_qps;
	return rnic_q_counter_alloc(dev, "queue pairs", &of_qps->number, &of_qps->has);
}

void
rnic_q_counters_teardown(struct rnic_dev *dev)
{
	struct rnic_q_counters *of_qps = dev->qp_counters;

	if (of_qps == NULL)
		return;
	if (of_qps->has)
		rnic_cmd_destroy(dev, RNIC_CMD_DEALLOC_Q_COUNTER, of_qps->number);
	pthread_mutex_destroy(&of_qps->lock);
	dev->qp_counters = NULL;
	free(of_qps);
}

int
rnic_q_counters_read(struct rnic_dev *dev, uint64_t values[RNIC_Q_COUNTERS])
{
	struct rnic_q_counters *of_qps = dev->qp_counters;
	struct rnic_query_q_counter_out out;
	uint32_t now;
	unsigned int i;
	int rc;

	if (!of_qps->has) {
		memset(values, 0, RNIC_Q_COUNTERS * sizeof(values[0]));
		return 0;
	}
	/* Two readers' answers must not pass each other. */
	pthread_mutex_lock(&of_qps->lock);
	rc = q_counter_query(dev, of_qps->number, &out);
	for (i = 0; i < RNIC_Q_COUNTERS && rc == 0; i++) {
		now = (uint32_t)rnic_query_q_counter_out_get(&out, fields[i]);
		of_qps->counters[i] += now - of_qps->before[i];
		of_qps->before[i] = now;
	}
	if (rc == 0)
		memcpy(values, of_qps->counters, sizeof(of_qps->counters));
	pthread_mutex_unlock(&of_qps->lock);
	return rc;
}
