/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The peer of burst_bench: net_mlx5's own burst functions, as the distribution compiled them
 * (librte_net_mlx5.a), on queues made by hand. There is no NIC, no kernel driver and no verbs device:
 * rings, doorbell records and the UAR are plain memory, and between two calls this program plays the
 * device and writes the completions. Only the burst calls are counted.
 *
 *	mlx5_bench [EAL OPTIONS] -- NAME,... BURST,... BYTES,... CALLS
 *
 * NAME:
 *	tx-none, tx-none-nofree		what testpmd gets: enhanced multi-packet WQEs, with and without
 *					fast free
 *	tx-none-nompw			a WQE for each packet
 *	tx-full				all offloads compiled in, none used by the packets
 *	tx-inline			data copied into the WQEs
 *	rx-vec, rx-scalar		with replenishing, checksum flags and RSS hash
 *	rx-scalar-plain			without flags and hash; for rx-vec that makes no difference
 *	empty-vec, empty-scalar		nothing to receive
 *
 * What this leaves out, for both sides alike: PCIe, an uncached or write-combining UAR, cache lines
 * that another core has written. Instructions are exact, cycles are a lower bound.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_malloc.h>
#include <ethdev_driver.h>

#include "mlx5.h"
#include "mlx5_rx.h"
#include "mlx5_rxtx.h"
#include "mlx5_tx.h"

#include "counted.h"

#define QUEUE_LOG_SIZE 10
#define QUEUE_SIZE     (1 << QUEUE_LOG_SIZE)
#define CQE_BYTES      64
#define LKEY	       0x1234
#define PADDING_MBUFS  4 /* that the vector receive may read behind its ring */

/* Not in a header of theirs: mlx5_rxtx_vec.h declares it only beside its inline functions. */
extern uint16_t mlx5_rx_burst_vec(void *queue, struct rte_mbuf **pkts, uint16_t n);

static struct rte_mempool *pool;
static uint32_t mr_generation;

static void *
zeroed(size_t bytes)
{
	void *memory = rte_zmalloc("mlx5_bench", bytes, 4096);

	if (memory == NULL)
		rte_exit(EXIT_FAILURE, "no memory for %zu bytes\n", bytes);
	return memory;
}

/* One region that holds every address: each lookup hits, as it does after the first packets. */
static void
init_mr_cache(struct mlx5_mr_ctrl *mr)
{
	mr->dev_gen_ptr = &mr_generation;
	mr->cache[0].start = 4096;
	mr->cache[0].end = UINTPTR_MAX;
	mr->cache[0].lkey = rte_cpu_to_be_32(LKEY);
	mr->cache_bh.len = 1;
	mr->cache_bh.size = 1;
}

/* A Tx burst finds its doorbell register through the port's process private data. */
static void
init_uar(void)
{
	struct mlx5_proc_priv *priv;

	priv = zeroed(sizeof(*priv) + sizeof(struct mlx5_uar_data));
	priv->uar_table[0].db = zeroed(4096);
	rte_eth_devices[0].process_private = priv;
}

/* ---- Tx ---- */

struct tx_case {
	const char *name;
	burst_fn fn;
	bool fast_free, inlines;
};

static const struct tx_case tx_cases[] = {
	{ "tx-none", mlx5_tx_burst_none_empw, true, false },
	{ "tx-none-nofree", mlx5_tx_burst_none_empw, false, false },
	{ "tx-none-nompw", mlx5_tx_burst_none, true, false },
	{ "tx-full", mlx5_tx_burst_full_empw, false, false },
	{ "tx-inline", mlx5_tx_burst_i_empw, true, true },
};

static struct mlx5_txq_data *
make_txq(const struct tx_case *tx)
{
	struct mlx5_txq_ctrl *ctrl = zeroed(sizeof(*ctrl) + QUEUE_SIZE * sizeof(void *));
	struct mlx5_txq_data *txq = &ctrl->txq;
	unsigned int log_wqes = QUEUE_LOG_SIZE + (tx->inlines ? 2 : 0);
	unsigned int log_cqes;

	txq->elts_n = QUEUE_LOG_SIZE;
	txq->elts_s = QUEUE_SIZE;
	txq->elts_m = QUEUE_SIZE - 1;
	log_cqes =
		rte_log2_u32(QUEUE_SIZE / MLX5_TX_COMP_THRESH + 1 + MLX5_TX_COMP_THRESH_INLINE_DIV);
	txq->cqe_n = log_cqes;
	txq->cqe_s = 1 << log_cqes;
	txq->cqe_m = txq->cqe_s - 1;
	txq->cqes = zeroed(txq->cqe_s * CQE_BYTES);
	for (int i = 0; i < txq->cqe_s; i++)
		txq->cqes[i].op_own = MLX5_CQE_INVALIDATE;
	txq->fcqs = zeroed(txq->cqe_s * sizeof(*txq->fcqs));
	txq->cq_db = zeroed(RTE_CACHE_LINE_SIZE);
	txq->qp_db = zeroed(RTE_CACHE_LINE_SIZE);
	txq->wqe_n = log_wqes;
	txq->wqe_s = 1 << log_wqes;
	txq->wqe_m = txq->wqe_s - 1;
	txq->wqes = zeroed(txq->wqe_s * MLX5_WQE_SIZE);
	txq->wqes_end = txq->wqes + txq->wqe_s;
	txq->wqe_thres = txq->wqe_s / MLX5_TX_COMP_THRESH_INLINE_DIV;
	txq->qp_num_8s = 0x100 << 8;
	txq->fast_free = tx->fast_free;
	if (tx->inlines) {
		txq->inlen_send = MLX5_SEND_DEF_INLINE_LEN;
		txq->inlen_empw = MLX5_EMPW_DEF_INLINE_LEN;
	}
	init_mr_cache(&txq->mr_ctrl);
	return txq;
}

/* The device: one completion for each that was asked for, up to what was posted. */
static void
complete_tx(struct mlx5_txq_data *txq, uint16_t *completed)
{
	while (*completed != txq->cq_pi) {
		volatile struct mlx5_cqe *cqe = &txq->cqes[*completed & txq->cqe_m];

		cqe->wqe_counter = rte_cpu_to_be_16(txq->wqe_ci);
		cqe->op_own = (MLX5_CQE_REQ << 4) | !!(*completed & txq->cqe_s);
		(*completed)++;
	}
}

static int
send_bursts(struct counted *counted, struct mlx5_txq_data *txq, uint16_t *completed,
	    unsigned int burst, unsigned int bytes, uint64_t calls)
{
	struct rte_mbuf *pkts[COUNTED_BURST_MAX];

	for (uint64_t call = 0; call < calls; call++) {
		if (rte_pktmbuf_alloc_bulk(pool, pkts, burst) != 0) {
			fprintf(stderr, "the mempool is empty: completions do not free\n");
			return -ENOMEM;
		}
		for (unsigned int i = 0; i < burst; i++) {
			pkts[i]->data_len = bytes;
			pkts[i]->pkt_len = bytes;
		}
		if (counted_burst(counted, pkts, burst) != burst) {
			fprintf(stderr, "a burst was not taken whole\n");
			return -EIO;
		}
		complete_tx(txq, completed);
	}
	return 0;
}

static int
measure_tx(struct counted *counted, const struct tx_case *tx, const struct counted_plan *plan)
{
	struct mlx5_txq_data *txq = make_txq(tx);
	uint16_t completed = 0;

	for (unsigned int b = 0; b < plan->n_bytes; b++) {
		for (unsigned int n = 0; n < plan->n_bursts; n++) {
			unsigned int burst = plan->bursts[n], bytes = plan->bytes[b];
			int ret;

			/* First until the queue is in its stride. */
			counted_start(counted, tx->fn, txq, plan->calls);
			ret = send_bursts(counted, txq, &completed, burst, bytes,
					  2 * QUEUE_SIZE / burst);
			if (ret < 0)
				return ret;
			counted_start(counted, tx->fn, txq, plan->calls);
			ret = send_bursts(counted, txq, &completed, burst, bytes, plan->calls);
			if (ret < 0)
				return ret;
			counted_stop(counted, tx->name, burst, bytes);
		}
	}
	return 0;
}

/* ---- Rx ---- */

struct rx_case {
	const char *name;
	burst_fn fn;
	bool plain, empty;
};

static const struct rx_case rx_cases[] = {
	{ "rx-vec", mlx5_rx_burst_vec, false, false },
	{ "rx-scalar", mlx5_rx_burst, false, false },
	{ "rx-scalar-plain", mlx5_rx_burst, true, false },
	{ "empty-vec", mlx5_rx_burst_vec, true, true },
	{ "empty-scalar", mlx5_rx_burst, true, true },
};

static void
fill_rx_ring(struct mlx5_rxq_data *rxq)
{
	volatile struct mlx5_wqe_data_seg *wqe = rxq->wqes;
	struct rte_mbuf **elts = zeroed((QUEUE_SIZE + PADDING_MBUFS) * sizeof(*elts));

	rxq->elts = (void *)elts;
	for (int i = 0; i < QUEUE_SIZE; i++) {
		elts[i] = rte_pktmbuf_alloc(pool);
		if (elts[i] == NULL)
			rte_exit(EXIT_FAILURE, "the mempool is too small\n");
		elts[i]->data_len = RTE_MBUF_DEFAULT_DATAROOM;
		elts[i]->pkt_len = RTE_MBUF_DEFAULT_DATAROOM;
		(*rxq->cqes)[i].op_own = MLX5_CQE_INVALIDATE;
		wqe[i].addr = rte_cpu_to_be_64(rte_pktmbuf_mtod(elts[i], uintptr_t));
		wqe[i].byte_count = rte_cpu_to_be_32(RTE_MBUF_DEFAULT_DATAROOM);
		wqe[i].lkey = rte_cpu_to_be_32(LKEY);
	}
	for (int i = 0; i < PADDING_MBUFS; i++)
		elts[QUEUE_SIZE + i] = &rxq->fake_mbuf;
}

static struct mlx5_rxq_data *
make_rxq(bool plain)
{
	struct mlx5_rxq_ctrl *ctrl = zeroed(sizeof(*ctrl));
	struct mlx5_rxq_data *rxq = &ctrl->rxq;
	struct rte_mbuf *init = &rxq->fake_mbuf;

	rxq->sh = zeroed(sizeof(*rxq->sh));
	rxq->elts_n = QUEUE_LOG_SIZE;
	rxq->cqe_n = QUEUE_LOG_SIZE;
	rxq->csum = !plain;
	rxq->rss_hash = !plain;
	rxq->byte_mask = UINT32_MAX;
	rxq->rq_db = zeroed(RTE_CACHE_LINE_SIZE);
	rxq->cq_db = zeroed(RTE_CACHE_LINE_SIZE);
	rxq->wqes = zeroed(QUEUE_SIZE * sizeof(struct mlx5_wqe_data_seg));
	rxq->cqes = zeroed(QUEUE_SIZE * CQE_BYTES);
	rxq->mp = pool;
	init_mr_cache(&rxq->mr_ctrl);

	init->data_off = RTE_PKTMBUF_HEADROOM;
	init->nb_segs = 1;
	rte_mbuf_refcnt_set(init, 1);
	memcpy(&rxq->mbuf_initializer, &init->rearm_data, sizeof(uint64_t));
	fill_rx_ring(rxq);
	rxq->rq_ci = QUEUE_SIZE;
	rxq->rq_ci_ooo = QUEUE_SIZE;
	rxq->rq_repl_thresh = MLX5_VPMD_RXQ_RPLNSH_THRESH(QUEUE_SIZE);
	return rxq;
}

/* The device: n frames of an IPv4-less kind have come, with a hash. */
static void
complete_rx(struct mlx5_rxq_data *rxq, uint32_t *delivered, unsigned int n, unsigned int bytes)
{
	for (; n > 0; n--, (*delivered)++) {
		volatile struct mlx5_cqe *cqe = &(*rxq->cqes)[*delivered & (QUEUE_SIZE - 1)];

		cqe->byte_cnt = rte_cpu_to_be_32(bytes);
		cqe->rx_hash_res = rte_cpu_to_be_32(*delivered * 2654435761u);
		cqe->hdr_type_etc = rte_cpu_to_be_16(0x0c00);
		cqe->pkt_info = 0;
		cqe->sop_drop_qpn = rte_cpu_to_be_32(0x100);
		cqe->wqe_counter = rte_cpu_to_be_16((uint16_t)*delivered);
		rte_io_wmb();
		cqe->op_own = (MLX5_CQE_RESP_SEND << 4) | !!(*delivered & QUEUE_SIZE);
	}
}

/* Returns 0; 1 if the function delivers nothing at this size (the vector one rounds down to 4). */
static int
receive_bursts(struct counted *counted, struct mlx5_rxq_data *rxq, uint32_t *delivered,
	       unsigned int burst, unsigned int bytes, uint64_t calls)
{
	struct rte_mbuf *pkts[COUNTED_BURST_MAX];

	for (uint64_t call = 0; call < calls; call++) {
		unsigned int got = 0, idle = 0;

		complete_rx(rxq, delivered, burst, bytes);
		while (got < burst && idle < 3) {
			uint16_t n = counted_burst(counted, pkts + got, burst - got);

			idle = n == 0 ? idle + 1 : 0;
			got += n;
		}
		for (unsigned int i = 0; i < got; i++) {
			if (pkts[i]->pkt_len != bytes) {
				fprintf(stderr, "a packet of %u bytes, not %u\n", pkts[i]->pkt_len,
					bytes);
				return -EIO;
			}
		}
		rte_mempool_put_bulk(pool, (void **)pkts, got);
		if (got < burst) {
			/* Leave the ring empty, at an index that suits it. */
			while (*delivered % 4 != 0)
				complete_rx(rxq, delivered, 1, bytes);
			rte_pktmbuf_free_bulk(pkts, counted->fn(rxq, pkts, COUNTED_BURST_MAX));
			return 1;
		}
	}
	return 0;
}

static int
measure_rx(struct counted *counted, const struct rx_case *rx, const struct counted_plan *plan)
{
	struct mlx5_rxq_data *rxq = make_rxq(rx->plain);
	struct rte_mbuf *pkts[COUNTED_BURST_MAX];
	uint32_t delivered = 0;

	if (rx->empty) {
		counted_start(counted, rx->fn, rxq, plan->calls);
		for (uint64_t call = 0; call < plan->calls; call++)
			counted_burst(counted, pkts, 32);
		counted_stop(counted, rx->name, 32, 0);
		return 0;
	}
	for (unsigned int b = 0; b < plan->n_bytes; b++) {
		for (unsigned int n = 0; n < plan->n_bursts; n++) {
			unsigned int burst = plan->bursts[n], bytes = plan->bytes[b];
			int ret;

			counted_start(counted, rx->fn, rxq, plan->calls);
			ret = receive_bursts(counted, rxq, &delivered, burst, bytes,
					     2 * QUEUE_SIZE / burst);
			if (ret == 0) {
				counted_start(counted, rx->fn, rxq, plan->calls);
				ret = receive_bursts(counted, rxq, &delivered, burst, bytes,
						     plan->calls);
			}
			if (ret < 0)
				return ret;
			if (ret == 0)
				counted_stop(counted, rx->name, burst, bytes);
		}
	}
	return 0;
}

static int
measure(struct counted *counted, const char *name, const struct counted_plan *plan)
{
	for (unsigned int i = 0; i < RTE_DIM(tx_cases); i++)
		if (strcmp(name, tx_cases[i].name) == 0)
			return measure_tx(counted, &tx_cases[i], plan);
	for (unsigned int i = 0; i < RTE_DIM(rx_cases); i++)
		if (strcmp(name, rx_cases[i].name) == 0)
			return measure_rx(counted, &rx_cases[i], plan);
	fprintf(stderr, "unknown name %s\n", name);
	return -EINVAL;
}

int
main(int argc, char **argv)
{
	struct counted_plan plan;
	struct counted counted;
	int skip, ret = 0;

	skip = rte_eal_init(argc, argv);
	if (skip < 0)
		return EXIT_FAILURE;
	if (counted_plan_parse(argc - skip, argv + skip, &plan) < 0)
		return 2;
	pool = rte_pktmbuf_pool_create("pool", 16383, 256, 0, RTE_MBUF_DEFAULT_BUF_SIZE,
				       SOCKET_ID_ANY);
	if (pool == NULL) {
		fprintf(stderr, "no memory: give EAL more with -m\n");
		return EXIT_FAILURE;
	}
	init_uar();
	counted_init(&counted);
	for (unsigned int i = 0; i < plan.n_names && ret == 0; i++)
		ret = measure(&counted, plan.names[i], &plan);
	/* No rte_eal_cleanup(): the PMD's own has nothing here that it could close. */
	return ret == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
