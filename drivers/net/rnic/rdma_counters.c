/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What the device counts of queue pairs (PRM: "Q Counters"), under the names that `rdma statistic` shows for a card's. One
 * set of counters for all of them: the port's receive queues have another. The device's have 32 bits and go on counting
 * from where they were, so that a reader who comes often enough misses nothing.
 */

#include <string.h>

#include <rte_common.h>

#include "internal.h"
#include "prm/queue.h"
#include "rdma.h"

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
const char *const rnic_rdma_counter_names[] = { COUNTERS(NAME) NULL };
#define FIELD(name, field) RNIC_QUERY_Q_COUNTER_OUT_##field,
static const enum rnic_query_q_counter_out_field fields[] = { COUNTERS(FIELD) };
_Static_assert(RTE_DIM(fields) == RNIC_RDMA_COUNTERS, "room for all");

/* Linux asks only where max_qp_cnt is not 0, and goes on without where it is refused. */
int
rnic_q_counter_alloc(struct rnic_dev *dev, const char *whose, uint32_t *number, bool *has)
{
	struct rnic_cmd_in in = { 0 };
	struct rnic_object_out out;
	int rc = -EOPNOTSUPP;

	*number = 0;
	if (rnic_general_cap(dev, RNIC_GENERAL_CAP_MAX_QP_CNT) > 0)
		rc = rnic_cmd_try(dev, RNIC_CMD_ALLOC_Q_COUNTER, 0, &in, sizeof(in), &out,
				  sizeof(out));
	*has = rc == 0;
	if (rc == 0)
		*number = (uint32_t)rnic_object_out_get(&out, RNIC_OBJECT_OUT_NUMBER);
	if (!rnic_cmd_refused(rc))
		return rc;
	RNIC_LOG(NOTICE, dev, "the device has no counters for %s (%s): they read 0", whose,
		 strerror(-rc));
	return 0;
}

int
rnic_rdma_counters_setup(struct rnic_dev *dev)
{
	struct rnic_rdma *rdma = dev->rdma;
	int rc = rnic_q_counter_alloc(dev, "queue pairs", &rdma->q_counter, &rdma->has_counters);

	if (rdma->has_counters)
		pthread_mutex_init(&rdma->counters_lock, NULL);
	return rc;
}

void
rnic_rdma_counters_teardown(struct rnic_dev *dev)
{
	struct rnic_rdma *rdma = dev->rdma;

	if (!rdma->has_counters)
		return;
	rnic_cmd_destroy(dev, RNIC_CMD_DEALLOC_Q_COUNTER, rdma->q_counter);
	pthread_mutex_destroy(&rdma->counters_lock);
	rdma->has_counters = false;
}

int
rnic_rdma_counters_read(struct rnic_dev *dev, uint64_t values[RNIC_RDMA_COUNTERS])
{
	struct rnic_query_q_counter_in in = { 0 };
	struct rnic_rdma *rdma = dev->rdma;
	struct rnic_query_q_counter_out out;
	uint32_t now;
	unsigned int i;
	int rc;

	if (!rdma->has_counters) {
		memset(values, 0, RNIC_RDMA_COUNTERS * sizeof(values[0]));
		return 0;
	}
	rnic_query_q_counter_in_set(&in, RNIC_QUERY_Q_COUNTER_IN_COUNTER_SET_ID, rdma->q_counter);
	/* Two readers' answers must not pass each other. */
	pthread_mutex_lock(&rdma->counters_lock);
	rc = rnic_cmd_exec(dev, RNIC_CMD_QUERY_Q_COUNTER, 0, &in, sizeof(in), &out, sizeof(out));
	for (i = 0; i < RNIC_RDMA_COUNTERS && rc == 0; i++) {
		now = (uint32_t)rnic_query_q_counter_out_get(&out, fields[i]);
		rdma->counters[i] += now - rdma->counters_before[i];
		rdma->counters_before[i] = now;
	}
	if (rc == 0)
		memcpy(values, rdma->counters, sizeof(rdma->counters));
	pthread_mutex_unlock(&rdma->counters_lock);
	return rc;
}
