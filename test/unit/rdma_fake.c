/* SPDX-License-Identifier: BSD-3-Clause */

#include "rdma_fake.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>
#include <rte_log.h>

#include "eal.h"

char fake_memory[3 * 4096] __attribute__((aligned(4096)));

static struct fake *
fake_of(const struct rdmapmd_context *context)
{
	return context->device_priv;
}

static int
called(struct fake *fake, const char *call)
{
	void (*during)(void *) = NULL;
	int rc = 0;

	pthread_mutex_lock(&fake->lock);
	if (fake->call_count < FAKE_CALLS)
		fake->calls[fake->call_count] = call;
	fake->call_count++;
	if (fake->fail != NULL && strcmp(fake->fail, call) == 0) {
		if (fake->skip > 0) {
			fake->skip--;
		} else {
			rc = fake->error;
			if (fake->once)
				fake->fail = NULL;
		}
	}
	if (fake->at != NULL && strcmp(fake->at, call) == 0)
		during = fake->during;
	pthread_mutex_unlock(&fake->lock);
	if (during != NULL)
		during(fake->arg);
	return rc;
}

/* An object comes, if the call succeeds, or goes, whether it does or not. */
static int
comes(struct fake *fake, const char *call)
{
	int rc = called(fake, call);

	if (rc == 0)
		__atomic_add_fetch(&fake->alive, 1, __ATOMIC_RELAXED);
	return rc;
}

static int
goes(struct fake *fake, const char *call)
{
	__atomic_sub_fetch(&fake->alive, 1, __ATOMIC_RELAXED);
	return called(fake, call);
}

static uint32_t
number(struct fake *fake)
{
	return fake->same_numbers ? 7 : __atomic_add_fetch(&fake->next_number, 1, __ATOMIC_RELAXED);
}

/* What an operation got: other threads are in others. */
#define RECORD(fake, member, value)                  \
	do {                                         \
		pthread_mutex_lock(&(fake)->lock);   \
		(fake)->member = value;              \
		pthread_mutex_unlock(&(fake)->lock); \
	} while (0)

/* ---- Operations ---- */

static int
context_open(struct rdmapmd_context *context)
{
	return comes(fake_of(context), "context_open");
}

static int
context_close(struct rdmapmd_context *context)
{
	return goes(fake_of(context), "context_close");
}

static int
device_query(struct rdmapmd_context *context, struct rdmapmd_device_attr *attr)
{
	*attr = fake_of(context)->attr;
	return called(fake_of(context), "device_query");
}

static int
port_query(struct rdmapmd_context *context, uint8_t port_num, struct rdmapmd_port_attr *attr)
{
	(void)port_num;
	*attr = fake_of(context)->port;
	return called(fake_of(context), "port_query");
}

static int
gid_query(struct rdmapmd_context *context, uint8_t port_num, uint32_t index,
	  struct rdmapmd_gid_entry *entry)
{
	(void)port_num;
	if (index >= RTE_DIM(fake_of(context)->gids))
		return -EINVAL;
	*entry = fake_of(context)->gids[index];
	return called(fake_of(context), "gid_query");
}

static int
gid_add(struct rdmapmd_context *context, uint8_t port_num, const union rdmapmd_gid *gid,
	uint16_t vlan_id, uint32_t *index)
{
	(void)port_num;
	*index = 3;
	RECORD(fake_of(context), gids[3].gid, *gid);
	RECORD(fake_of(context), gids[3].vlan_id, vlan_id);
	return called(fake_of(context), "gid_add");
}

static int
gid_del(struct rdmapmd_context *context, uint8_t port_num, uint32_t index)
{
	(void)port_num;
	memset(&fake_of(context)->gids[index], 0, sizeof(fake_of(context)->gids[0]));
	return called(fake_of(context), "gid_del");
}

static int
pkey_query(struct rdmapmd_context *context, uint8_t port_num, uint16_t index, uint16_t *pkey)
{
	(void)port_num;
	if (index > 0)
		return -EINVAL;
	*pkey = 0xffff;
	return called(fake_of(context), "pkey_query");
}

static int
resolve(struct rdmapmd_context *context, struct rdmapmd_ah_attr *ah, uint32_t timeout_ms)
{
	int rc = called(fake_of(context), "resolve");

	fake_of(context)->timeout_ms = timeout_ms;
	if (rc == 0)
		memcpy(ah->dmac, "\x02\x00\x00\x00\x00\x99", 6);
	return rc;
}

static int
clock_read(struct rdmapmd_context *context, uint64_t *clock)
{
	*clock = UINT64_C(0x1122334455667788);
	return called(fake_of(context), "clock_read");
}

static const char *const counters[] = { "rx_write_requests", "out_of_sequence", NULL };

static int
counters_read(struct rdmapmd_context *context, uint8_t port_num, uint64_t *values)
{
	(void)port_num;
	values[0] = 11;
	values[1] = 22;
	return called(fake_of(context), "counters_read");
}

static int
pd_alloc(struct rdmapmd_pd *pd)
{
	pd->pdn = number(fake_of(pd->context));
	return comes(fake_of(pd->context), "pd_alloc");
}

static int
pd_dealloc(struct rdmapmd_pd *pd)
{
	return goes(fake_of(pd->context), "pd_dealloc");
}

static int
mr_reg(struct rdmapmd_mr *mr, const struct rdmapmd_mr_attr *attr)
{
	struct fake *fake = fake_of(attr->pd->context);
	int rc = comes(fake, "mr_reg");

	if (rc == 0) {
		RECORD(fake, mr, *attr);
		mr->lkey = mr->rkey = number(fake) << 8;
	}
	return rc;
}

static int
mr_rereg(struct rdmapmd_mr *mr, const struct rdmapmd_mr_attr *attr)
{
	struct fake *fake = fake_of(mr->context);
	int rc = called(fake, "mr_rereg");

	if (rc == 0) {
		RECORD(fake, mr, *attr);
		mr->lkey = mr->rkey = number(fake) << 8;
	}
	return rc;
}

static int
mr_dereg(struct rdmapmd_mr *mr)
{
	return goes(fake_of(mr->context), "mr_dereg");
}

static uint16_t
poll_cq(struct rdmapmd_cq *cq, struct rdmapmd_wc *wc, uint16_t n)
{
	(void)cq;
	memset(wc, 0, n * sizeof(*wc));
	return n;
}

static int
req_notify_cq(struct rdmapmd_cq *cq, bool solicited_only)
{
	(void)cq;
	return solicited_only ? 1 : 0;
}

static int
cq_create(struct rdmapmd_cq *cq, const struct rdmapmd_cq_layout *layout)
{
	struct fake *fake = fake_of(cq->context);

	RECORD(fake, cq, *layout);
	cq->cqn = number(fake);
	cq->poll_cq = poll_cq;
	if (cq->channel != NULL)
		cq->req_notify_cq = req_notify_cq;
	return comes(fake, "cq_create");
}

static int
cq_resize(struct rdmapmd_cq *cq, uint8_t log_size)
{
	RECORD(fake_of(cq->context), cq.log_size, log_size);
	return called(fake_of(cq->context), "cq_resize");
}

static int
cq_moderate(struct rdmapmd_cq *cq, uint16_t count, uint16_t period_us)
{
	RECORD(fake_of(cq->context), count, count);
	RECORD(fake_of(cq->context), period_us, period_us);
	return called(fake_of(cq->context), "cq_moderate");
}

static int
cq_destroy(struct rdmapmd_cq *cq)
{
	return goes(fake_of(cq->context), "cq_destroy");
}

static uint16_t
post_send(struct rdmapmd_qp *qp, const struct rdmapmd_send_wr *wr, uint16_t n)
{
	(void)qp;
	(void)wr;
	return n;
}

static uint16_t
post_recv(struct rdmapmd_qp *qp, const struct rdmapmd_recv_wr *wr, uint16_t n)
{
	(void)qp;
	(void)wr;
	return n;
}

static int
qp_create(struct rdmapmd_qp *qp, const struct rdmapmd_qp_init_attr *attr,
	  const struct rdmapmd_qp_sizing *sizing)
{
	struct fake *fake = fake_of(qp->context);
	struct fake_qp *fake_qp = container_of(qp, struct fake_qp, qp);

	RECORD(fake, qp_init, *attr);
	RECORD(fake, qp_sizing, *sizing);
	qp->qp_num = number(fake);
	if (sizing->sq.wqe_count > 0)
		qp->post_send = post_send;
	if (sizing->rq.wqe_count > 0)
		qp->post_recv = post_recv;
	fake_qp->poison = 0x5a5a5a5a;
	return comes(fake, "qp_create");
}

static int
qp_modify(struct rdmapmd_qp *qp, const struct rdmapmd_qp_attr *attr, unsigned int mask,
	  enum rdmapmd_qp_state from, enum rdmapmd_qp_state to)
{
	struct fake *fake = fake_of(qp->context);
	int rc = called(fake, "qp_modify");

	if (rc != 0)
		return rc;
	RECORD(fake, qp_attr, *attr);
	RECORD(fake, qp_mask, mask);
	RECORD(fake, qp_from, from);
	RECORD(fake, qp_to, to);
	container_of(qp, struct fake_qp, qp)->state = to;
	return 0;
}

static int
qp_query(struct rdmapmd_qp *qp, struct rdmapmd_qp_attr *attr)
{
	attr->qp_state = container_of(qp, struct fake_qp, qp)->state;
	return called(fake_of(qp->context), "qp_query");
}

static int
qp_destroy(struct rdmapmd_qp *qp)
{
	assert_int_equal(container_of(qp, struct fake_qp, qp)->poison, 0x5a5a5a5a);
	return goes(fake_of(qp->context), "qp_destroy");
}

static int
address(struct rdmapmd_qp *qp, const char *call, const uint8_t mac[6], uint16_t vlan_id)
{
	struct fake *fake = fake_of(qp->context);

	pthread_mutex_lock(&fake->lock);
	memcpy(fake->mac, mac, sizeof(fake->mac));
	fake->vlan_id = vlan_id;
	pthread_mutex_unlock(&fake->lock);
	return called(fake, call);
}

static int
qp_attach_mac(struct rdmapmd_qp *qp, const uint8_t mac[6], uint16_t vlan_id)
{
	return address(qp, "qp_attach_mac", mac, vlan_id);
}

static int
qp_detach_mac(struct rdmapmd_qp *qp, const uint8_t mac[6], uint16_t vlan_id)
{
	return address(qp, "qp_detach_mac", mac, vlan_id);
}

static uint32_t
qp_outstanding(struct rdmapmd_qp *qp)
{
	return container_of(qp, struct fake_qp, qp)->outstanding;
}

static uint16_t
post_srq_recv(struct rdmapmd_srq *srq, const struct rdmapmd_recv_wr *wr, uint16_t n)
{
	(void)srq;
	(void)wr;
	return n;
}

static int
srq_create(struct rdmapmd_srq *srq, const struct rdmapmd_srq_sizing *sizing)
{
	struct fake *fake = fake_of(srq->context);

	RECORD(fake, srq_sizing, *sizing);
	srq->srqn = number(fake);
	srq->post_srq_recv = post_srq_recv;
	return comes(fake, "srq_create");
}

static int
srq_arm(struct rdmapmd_srq *srq, uint32_t limit)
{
	RECORD(fake_of(srq->context), limit, limit);
	return called(fake_of(srq->context), "srq_arm");
}

static int
srq_resize(struct rdmapmd_srq *srq, const struct rdmapmd_srq_sizing *sizing)
{
	RECORD(fake_of(srq->context), srq_sizing, *sizing);
	return called(fake_of(srq->context), "srq_resize");
}

static int
srq_query(struct rdmapmd_srq *srq, uint32_t *limit)
{
	*limit = fake_of(srq->context)->limit;
	return called(fake_of(srq->context), "srq_query");
}

static int
srq_destroy(struct rdmapmd_srq *srq)
{
	return goes(fake_of(srq->context), "srq_destroy");
}

static int
td_alloc(struct rdmapmd_td *td)
{
	td->dedicated = true;
	return comes(fake_of(td->context), "td_alloc");
}

static int
td_dealloc(struct rdmapmd_td *td)
{
	return goes(fake_of(td->context), "td_dealloc");
}

static int
ah_create(struct rdmapmd_ah *ah, const struct rdmapmd_ah_attr *attr)
{
	struct fake *fake = fake_of(ah->context);

	RECORD(fake, ah, *attr);
	return comes(fake, "ah_create");
}

static int
ah_destroy(struct rdmapmd_ah *ah)
{
	return goes(fake_of(ah->context), "ah_destroy");
}

static int
mcast_attach(struct rdmapmd_qp *qp, const union rdmapmd_gid *gid)
{
	RECORD(fake_of(qp->context), group, *gid);
	return comes(fake_of(qp->context), "mcast_attach");
}

static int
mcast_detach(struct rdmapmd_qp *qp, const union rdmapmd_gid *gid)
{
	RECORD(fake_of(qp->context), group, *gid);
	return goes(fake_of(qp->context), "mcast_detach");
}

static const struct rdmapmd_driver_ops all_ops = {
	.context_size = sizeof(struct rdmapmd_context),
	.pd_size = sizeof(struct rdmapmd_pd),
	.mr_size = sizeof(struct rdmapmd_mr),
	.cq_size = sizeof(struct rdmapmd_cq),
	.qp_size = sizeof(struct fake_qp),
	.srq_size = sizeof(struct rdmapmd_srq),
	.td_size = sizeof(struct rdmapmd_td),
	.ah_size = sizeof(struct rdmapmd_ah),
	.context_open = context_open,
	.context_close = context_close,
	.device_query = device_query,
	.port_query = port_query,
	.gid_query = gid_query,
	.gid_add = gid_add,
	.gid_del = gid_del,
	.pkey_query = pkey_query,
	.resolve = resolve,
	.clock_read = clock_read,
	.counters = counters,
	.counters_read = counters_read,
	.pd_alloc = pd_alloc,
	.pd_dealloc = pd_dealloc,
	.mr_reg = mr_reg,
	.mr_rereg = mr_rereg,
	.mr_dereg = mr_dereg,
	.cq_create = cq_create,
	.cq_resize = cq_resize,
	.cq_moderate = cq_moderate,
	.cq_destroy = cq_destroy,
	.qp_create = qp_create,
	.qp_modify = qp_modify,
	.qp_query = qp_query,
	.qp_destroy = qp_destroy,
	.qp_attach_mac = qp_attach_mac,
	.qp_detach_mac = qp_detach_mac,
	.qp_outstanding = qp_outstanding,
	.srq_create = srq_create,
	.srq_arm = srq_arm,
	.srq_resize = srq_resize,
	.srq_query = srq_query,
	.srq_destroy = srq_destroy,
	.td_alloc = td_alloc,
	.td_dealloc = td_dealloc,
	.ah_create = ah_create,
	.ah_destroy = ah_destroy,
	.mcast_attach = mcast_attach,
	.mcast_detach = mcast_detach,
};

/* ---- The device ---- */

struct fake *
fake_register(const char *name)
{
	struct fake *fake = calloc(1, sizeof(*fake));

	assert_non_null(fake);
	pthread_mutex_init(&fake->lock, NULL);
	fake->ops = all_ops;
	/* The figures that a ConnectX gives. */
	fake->attr = (struct rdmapmd_device_attr){
		.completion_timestamp_mask = INT64_MAX,
		.max_mr_size = UINT64_C(1) << 40,
		.max_cqe = (1u << 22) - 1,
		.max_qp_wr = 32768,
		.max_send_sge = 30,
		.max_recv_sge = 32,
		.max_qp_rd_atom = 16,
		.max_qp_init_rd_atom = 16,
		.max_srq_wr = 32767,
		.max_srq_sge = 31,
		.max_send_wqebb = 32768,
		.max_sq_desc_sz = 1024,
		.max_rq_desc_sz = 512,
		.num_comp_vectors = 4,
		.atomic_cap = RDMAPMD_ATOMIC_HCA,
		.max_pkeys = 1,
		.phys_port_cnt = 2,
	};
	fake->port = (struct rdmapmd_port_attr){ .state = RDMAPMD_PORT_ACTIVE,
						 .active_mtu = RDMAPMD_MTU_1024,
						 .gid_tbl_len = 4,
						 .pkey_tbl_len = 1 };
	memcpy(fake->gids[1].gid.raw, "\0\0\0\0\0\0\0\0\0\0\xff\xff\x0a\0\0\1", 16);
	assert_int_equal(rdmapmd_device_register(name, "fake", fake, &fake->device), 0);
	assert_int_equal(rdmapmd_device_offer(fake->device, &fake->ops), 0);
	return fake;
}

void
fake_remove(struct fake *fake)
{
	rdmapmd_device_unregister(fake->device);
	fake->device = NULL;
	assert_int_equal(fake->alive, 0);
}

void
fake_unregister(struct fake *fake)
{
	if (fake->device != NULL)
		fake_remove(fake);
	pthread_mutex_destroy(&fake->lock);
	free(fake);
}

void
fake_assert_calls(struct fake *fake, unsigned int first, const char *expected)
{
	char got[4096] = "";
	size_t used = 0;
	unsigned int i;

	for (i = first; i < fake->call_count && i < FAKE_CALLS && used < sizeof(got) - 64; i++)
		used += (size_t)snprintf(got + used, sizeof(got) - used, "%s%s",
					 i > first ? " " : "", fake->calls[i]);
	assert_string_equal(got, expected);
}

unsigned int
fake_count(struct fake *fake, const char *call)
{
	unsigned int i, count = 0;

	for (i = 0; i < fake->call_count && i < FAKE_CALLS; i++)
		count += strcmp(fake->calls[i], call) == 0;
	return count;
}

void
fake_open(struct fake *fake, struct fake_set *set)
{
	*set = (struct fake_set){ .fake = fake };
	assert_int_equal(rdmapmd_device_open(fake->device, &set->context), 0);
}

struct rdmapmd_qp_init_attr
fake_qp_attr(const struct fake_set *set)
{
	return (struct rdmapmd_qp_init_attr){
		.send_cq = set->cq,
		.recv_cq = set->cq,
		.srq = set->srq,
		.td = set->td,
		.cap = { .max_send_wr = 16,
			 .max_send_sge = 1,
			 .max_recv_wr = 16,
			 .max_recv_sge = 1 },
		.qp_type = RDMAPMD_QPT_RC,
	};
}

void
fake_open_all(struct fake *fake, struct fake_set *set)
{
	struct rdmapmd_srq_init_attr srq = { .attr = { .max_wr = 15, .max_sge = 1 } };
	struct rdmapmd_cq_init_attr cq = { .cqe = 15 };
	struct rdmapmd_qp_init_attr qp;

	fake_open(fake, set);
	assert_int_equal(rdmapmd_pd_alloc(set->context, &set->pd), 0);
	assert_int_equal(rdmapmd_comp_channel_create(set->context, &set->channel), 0);
	cq.channel = set->channel;
	assert_int_equal(rdmapmd_cq_create(set->context, &cq, &set->cq), 0);
	assert_int_equal(rdmapmd_srq_create(set->pd, &srq, &set->srq), 0);
	assert_int_equal(rdmapmd_td_alloc(set->context, &set->td), 0);
	qp = fake_qp_attr(set);
	assert_int_equal(rdmapmd_qp_create(set->pd, &qp, &set->qp), 0);
	assert_int_equal(rdmapmd_mr_reg(set->pd, fake_memory, sizeof(fake_memory),
					RDMAPMD_ACCESS_LOCAL_WRITE, &set->mr),
			 0);
}

static struct fake_set test_set;

int
fake_setup(void **state)
{
	fake_open_all(fake_register("fake0"), &test_set);
	*state = &test_set;
	return 0;
}

int
fake_setup_context(void **state)
{
	fake_open(fake_register("fake0"), &test_set);
	*state = &test_set;
	return 0;
}

int
fake_teardown(void **state)
{
	struct fake_set *set = *state;

	if (set->context != NULL)
		assert_int_equal(rdmapmd_context_close(set->context), 0);
	fake_unregister(set->fake);
	return 0;
}

void
fake_quiet(void)
{
	if (getenv("RDMAPMD_TEST_LOG") == NULL)
		rte_log_set_global_level(RTE_LOG_EMERG);
}

int
fake_eal(char *program)
{
	/* RDMAPMD_TEST_LOG=1 shows what the library says. */
	return unit_eal(program, 32,
			getenv("RDMAPMD_TEST_LOG") != NULL ? "lib.rdmapmd:debug" : UNIT_EAL_QUIET);
}
