/* SPDX-License-Identifier: BSD-3-Clause */

#include "fuzz.h"
#include "roce_umr.h"
#include "softrnic/base/object.h"
#include "softrnic/base/work.h"
#include "softrnic/memory/tpt.h"
#include "softrnic/memory/umr.h"
#include "softrnic/memory/window.h"
#include "softrnic/receive/qp.h"
#include "softrnic/receive/qp_remote.h"

#define PACKET_MAX 4096u
#define LISTS_MAX  4 /* from the first key to the last list */

struct umr_model umr_model;

/* ---- Changes ---- */

/* The WQE behind its control segment, by the manual's bytes. */
#define AT_FLAGS	0
#define AT_ENTRIES	4
#define AT_OFFSET	6
#define AT_MASK		8
#define AT_OFFSET_UPPER 16
#define AT_CONTEXT	48
#define AT_LIST		112
#define AT_PAGE_SIZE	59 /* of the context */

static uint64_t
number(const uint8_t *bytes, unsigned int count)
{
	uint64_t value = 0;

	while (count-- > 0)
		value = value << 8 | *bytes++;
	return value;
}

static struct umr_key *
find(uint32_t name)
{
	for (unsigned int i = 0; i < UMR_KEYS; i++)
		if (umr_model.keys[i].exists && umr_model.keys[i].index == name >> 8)
			return &umr_model.keys[i];
	return NULL;
}

/* Where [iova, iova + bytes) is, if all of it is there. */
static uint8_t *
host_of(uint64_t iova, uint32_t bytes)
{
	for (unsigned int i = 0; i < UMR_MEMORIES; i++) {
		const struct umr_memory *memory = &umr_model.memories[i];
		const uint64_t at = iova - memory->iova;

		if (at < memory->bytes && bytes <= memory->bytes - at)
			return i < UMR_WARDS && umr_model.wards[i].gone ? NULL : memory->at + at;
	}
	return NULL;
}

/* Kernels change more: sizes of pages, fences, parts of lists, lists that are elsewhere. */
static bool
form_is_offered(const uint8_t *umr, uint32_t bytes, bool kernel)
{
	static const uint8_t offered[] = { 0, 6, 8, 13, 14, 17, 18, 19, 20, 21, 29, 1, 23 };
	uint64_t strange, offset;
	uint32_t entries;

	if (bytes < AT_LIST)
		return false;
	strange = number(umr + AT_MASK, 8);
	entries = (uint32_t)number(umr + AT_ENTRIES, 2);
	offset = number(umr + AT_OFFSET_UPPER, 4) << 16 | number(umr + AT_OFFSET, 2);
	for (unsigned int i = 0; i < sizeof(offered) - (kernel ? 0 : 2); i++)
		strange &= ~(UINT64_C(1) << offered[i]);
	if (strange != 0 || (umr[AT_FLAGS] & 0x07) != 0)
		return false;
	if (offset != 0 && (!kernel || (umr[AT_FLAGS] & 0x10) == 0))
		return false;
	if (entries == 0 || (umr[AT_FLAGS] & 0x80) != 0)
		return AT_LIST + entries * 16 <= bytes;
	return kernel && bytes == AT_LIST + 16 && (umr[AT_LIST] & 0x80) == 0 &&
	       number(umr + AT_LIST, 4) >= entries * 16;
}

/* What the context's words say of the key, as far as the mask takes it. */
static void
take_context(struct umr_key *key, const uint8_t *context, uint64_t mask)
{
	/* from LR on, a bit of the mask, of the context and of the rights each */
	for (unsigned int i = 0; i < 5; i++) {
		if ((mask >> (17 + i) & 1) == 0)
			continue;
		key->access &= (uint8_t) ~(1u << i);
		key->access |= (uint8_t)((number(context, 4) >> (10 + i) & 1) << i);
	}
	if ((mask >> 29 & 1) != 0)
		key->free = (context[0] & 0x40) != 0;
	if ((mask >> 14 & 1) != 0)
		key->qpn = (uint32_t)number(context + 4, 3);
	if ((mask >> 13 & 1) != 0)
		key->variant = context[7];
	if ((mask >> 8 & 1) != 0)
		key->rinval = (context[12] & 0x01) != 0;
	if ((mask >> 6 & 1) != 0)
		key->start = number(context + 16, 8);
	if ((mask & 1) != 0)
		key->length = number(context + 24, 8);
	if ((mask >> 1 & 1) != 0)
		key->log_page_size = context[AT_PAGE_SIZE] & 0x1f;
}

static void
take_list(struct umr_key *key, const uint8_t *list, uint32_t at, uint32_t octwords, bool is_part)
{
	const uint32_t each = key->mode == RNIC_MKEY_MTT ? 2 : 1;

	if (!is_part || key->count < (at + octwords) * each)
		key->count = (at + octwords) * each;
	if (key->mode == RNIC_MKEY_MTT)
		for (uint32_t i = 0; i < 2 * octwords; i++, list += 8)
			key->pages[2 * at + i] = number(list, 8);
	else
		for (uint32_t i = 0; i < octwords; i++, list += 16)
			key->entries[at + i] = (struct umr_entry){
				.bytes = number(list, 4) == 0 ? UINT64_C(1) << 31 : number(list, 4),
				.key = (uint32_t)number(list + 4, 4),
				.va = number(list + 8, 8),
			};
}

/* Where the list is that the WQE brings; NULL: it cannot be read. No key of this world stands for all memory. */
static const uint8_t *
list_of(const struct softrnic_umr *umr, const uint8_t *wqe, uint32_t octwords)
{
	if ((wqe[AT_FLAGS] & 0x80) != 0)
		return wqe + AT_LIST;
	if (!umr->rlky || number(wqe + AT_LIST + 4, 4) != SOFTRNIC_RESERVED_LKEY)
		return NULL;
	return host_of(number(wqe + AT_LIST + 8, 8), octwords * 16);
}

/* How many entries of the list the range takes. */
static uint64_t
pages_of(const struct umr_key *key)
{
	return key->length == 0 ? 0
				: ((key->start + key->length - 1) >> key->log_page_size) -
					  (key->start >> key->log_page_size) + 1;
}

/* The range and the list go together; of memory that is pinned a user changes neither, nor rights. */
static bool
is_whole(const struct umr_key *key, const struct umr_key *next, uint64_t mask, uint32_t octwords,
	 bool kernel)
{
	if (next->length > 0 && next->length - 1 > UINT64_MAX - next->start)
		return false;
	if (key->mode == RNIC_MKEY_KLM)
		return true;
	if (!kernel)
		return octwords == 0 && (mask & 0x3e0041) == 0 && (!key->free || next->free);
	return next->log_page_size >= 12 && (next->free || pages_of(next) <= next->count);
}

/* A WQE's: is it allowed? Then the key is as it asks. */
static bool
change(const struct softrnic_umr *umr)
{
	const uint8_t *wqe = (const uint8_t *)umr->control, flags = wqe[AT_FLAGS], *list = NULL;
	const uint64_t mask = number(wqe + AT_MASK, 8);
	const uint32_t octwords = (uint32_t)number(wqe + AT_ENTRIES, 2);
	const uint64_t at = number(wqe + AT_OFFSET_UPPER, 4) << 16 | number(wqe + AT_OFFSET, 2);
	struct umr_key *key = find(umr->key), next;

	if (key == NULL || !key->umr || key->pd != umr->pd)
		return false;
	if ((!key->free && key->variant != (umr->key & 0xff)) ||
	    ((flags & 0x08) != 0 && key->qpn != umr->qpn) || ((flags & 0x20) != 0 && !key->free) ||
	    ((flags & 0x40) != 0 && key->free))
		return false;
	/* Room is for whole lines. */
	if (at + octwords > (key->room + 3) / 4 * 4)
		return false;
	next = *key;
	take_context(&next, wqe + AT_CONTEXT, mask);
	if (octwords > 0) {
		list = list_of(umr, wqe, octwords);
		if (list == NULL)
			return false;
		take_list(&next, list, (uint32_t)at, octwords, (flags & 0x10) != 0);
	}
	if (!is_whole(key, &next, mask, octwords, umr->registers))
		return false;
	*key = next;
	return true;
}

static bool
invalidate(uint32_t qpn, uint32_t pd, uint32_t name)
{
	struct umr_key *key = find(name);

	if (key == NULL || key->variant != (name & 0xff) || key->free || !key->rinval ||
	    key->pd != pd || (key->qpn != RNIC_MKEY_ANY_QPN && key->qpn != qpn))
		return false;
	key->free = true;
	return true;
}

/* ---- Accesses ---- */

struct access {
	uint32_t qpn, pd;
	uint8_t rights;		 /* of the key that is asked for */
	uint8_t inner;		 /* of those that it leads to */
	uint32_t pieces;	 /* at most so many */
	uint8_t *at[PACKET_MAX]; /* each byte */
};

/* It is the peer's to use, for that. */
static bool
is_usable(const struct umr_key *key, const struct access *access, uint32_t name, uint8_t rights)
{
	return key != NULL && key->variant == (name & 0xff) && !key->free &&
	       key->pd == access->pd && (key->access & rights) == rights &&
	       (key->qpn == RNIC_MKEY_ANY_QPN || key->qpn == access->qpn);
}

/* The entry that has the byte, and where in it; NULL: none has. */
static const struct umr_entry *
entry_of(const struct umr_key *key, uint64_t distance, uint64_t *skip)
{
	const uint64_t page_bytes = UINT64_C(1) << key->log_page_size;
	const uint64_t in_page = key->start % page_bytes + distance;

	if (key->mode == RNIC_MKEY_KSM) {
		*skip = in_page % page_bytes;
		return in_page / page_bytes < key->count ? &key->entries[in_page / page_bytes]
							 : NULL;
	}
	for (uint32_t i = 0; i < key->count; i++) {
		*skip = distance;
		if (distance < key->entries[i].bytes)
			return &key->entries[i];
		distance -= key->entries[i].bytes;
	}
	return NULL;
}

/* One byte of a key of pages, or NULL. */
static uint8_t *
page_byte_at(const struct access *access, const struct umr_key *key, uint64_t distance,
	     uint64_t *path)
{
	const uint64_t page_bytes = UINT64_C(1) << key->log_page_size;
	const uint64_t in_page = key->start % page_bytes + distance, page = in_page / page_bytes;
	const bool writes = (access->inner & DRV_LW) != 0, reads = (access->inner & DRV_LR) != 0;

	*path = *path << 8 | page;
	if (page >= key->count || (key->pages[page] & ~UINT64_C(7)) % page_bytes != 0 ||
	    (key->page_rights && ((writes && (key->pages[page] & RNIC_MTT_WRITE) == 0) ||
				  (reads && (key->pages[page] & RNIC_MTT_READ) == 0))))
		return NULL;
	return host_of((key->pages[page] & ~UINT64_C(7)) + in_page % page_bytes, 1);
}

/* One byte, or NULL. path: by which entries and pages one comes there. */
static uint8_t *
byte_at(const struct access *access, uint32_t name, uint64_t va, unsigned int lists, uint64_t *path)
{
	const uint8_t rights = lists == 0 ? access->rights : access->inner;
	const struct umr_key *key = find(name);
	const struct umr_entry *entry;
	uint64_t distance, skip;

	if (!is_usable(key, access, name, rights))
		return NULL;
	distance = va - key->start;
	if (distance >= key->length)
		return NULL;
	if (key->mode == RNIC_MKEY_MTT)
		return page_byte_at(access, key, distance, path);
	entry = lists < LISTS_MAX ? entry_of(key, distance, &skip) : NULL;
	if (entry == NULL)
		return NULL;
	*path = *path << 8 | (uint64_t)(entry - key->entries);
	return byte_at(access, entry->key, entry->va + skip, lists + 1, path);
}

/* All of it, byte by byte. */
static bool
reach(struct access *access, const struct softrnic_qp *qp, uint32_t name, uint64_t va,
      uint32_t length, uint8_t right)
{
	uint64_t path, before = UINT64_MAX;

	must(length <= PACKET_MAX);
	access->qpn = qp->object.number;
	access->pd = qp->pd;
	access->rights = right;
	access->inner = right == DRV_RR ? DRV_LR : right == DRV_RW ? DRV_LW : DRV_LR | DRV_LW;
	access->pieces = 0;
	for (uint32_t i = 0; i < length; i++, before = path) {
		path = 0;
		access->at[i] = byte_at(access, name, va + i, 0, &path);
		if (access->at[i] == NULL)
			return false;
		access->pieces += path != before;
	}
	return true;
}

/* What the device made of it: it may refuse what is allowed only if that is in too many pieces. */
static void
judge(int rc, bool allowed, uint32_t pieces, uint32_t most)
{
	must(rc >= 0 || rc == -RNIC_SYND_REMOTE_ACCESS || rc == -RNIC_SYND_REMOTE_OPERATION);
	must(rc < 0 || allowed);
	must(rc >= 0 || !allowed || pieces > most);
}

/* That byte of a ward is to be that; bytes of other memory are not kept. */
static void
written(const uint8_t *at, uint8_t byte)
{
	for (unsigned int i = 0; i < UMR_WARDS; i++) {
		struct umr_ward *ward = &umr_model.wards[i];

		if (at >= ward->at && at < ward->at + UMR_WARD)
			ward->bytes[at - ward->at] = byte;
	}
}

/* ---- The device's calls ---- */

bool __real_softrnic_umr_is_sound(const struct softrnic_umr *umr, uint32_t bytes);
bool __wrap_softrnic_umr_is_sound(const struct softrnic_umr *umr, uint32_t bytes);
int __real_softrnic_umr_execute(struct softrnic *dev, const struct softrnic_umr *umr);
int __wrap_softrnic_umr_execute(struct softrnic *dev, const struct softrnic_umr *umr);
int __real_softrnic_window_invalidate(struct softrnic *dev, uint32_t qpn, uint32_t pd,
				      uint32_t key);
int __wrap_softrnic_window_invalidate(struct softrnic *dev, uint32_t qpn, uint32_t pd,
				      uint32_t key);
int __real_softrnic_qp_remote_check(struct roce_qp *roce, uint32_t rkey, uint64_t va,
				    uint32_t length, enum roce_access right);
int __wrap_softrnic_qp_remote_check(struct roce_qp *roce, uint32_t rkey, uint64_t va,
				    uint32_t length, enum roce_access right);
int __real_softrnic_qp_remote_write(struct roce_qp *roce, uint32_t rkey, uint64_t va,
				    const struct roce_pkt *pkt);
int __wrap_softrnic_qp_remote_write(struct roce_qp *roce, uint32_t rkey, uint64_t va,
				    const struct roce_pkt *pkt);
int __real_softrnic_qp_remote_read(struct roce_qp *roce, uint32_t rkey, uint64_t va,
				   uint32_t length, struct iovec *pieces);
int __wrap_softrnic_qp_remote_read(struct roce_qp *roce, uint32_t rkey, uint64_t va,
				   uint32_t length, struct iovec *pieces);
int __real_softrnic_qp_remote_atomic(struct roce_qp *roce, const struct roce_pkt *pkt,
				     uint64_t *original);
int __wrap_softrnic_qp_remote_atomic(struct roce_qp *roce, const struct roce_pkt *pkt,
				     uint64_t *original);

bool
__wrap_softrnic_umr_is_sound(const struct softrnic_umr *umr, uint32_t bytes)
{
	const bool sound = __real_softrnic_umr_is_sound(umr, bytes);

	must(sound == form_is_offered((const uint8_t *)umr->control, bytes, umr->registers));
	return sound;
}

int
__wrap_softrnic_umr_execute(struct softrnic *dev, const struct softrnic_umr *umr)
{
	const bool allowed = change(umr);
	const int rc = __real_softrnic_umr_execute(dev, umr);

	must((rc == 0) == allowed);
	umr_model_compare(dev);
	umr_model.executed += rc == 0;
	return rc;
}

int
__wrap_softrnic_window_invalidate(struct softrnic *dev, uint32_t qpn, uint32_t pd, uint32_t key)
{
	const bool allowed = invalidate(qpn, pd, key);
	const int rc = __real_softrnic_window_invalidate(dev, qpn, pd, key);

	must((rc == 0) == allowed);
	umr_model_compare(dev);
	umr_model.invalidated += rc == 0;
	return rc;
}

int
__wrap_softrnic_qp_remote_check(struct roce_qp *roce, uint32_t rkey, uint64_t va, uint32_t length,
				enum roce_access right)
{
	const struct softrnic_qp *qp = softrnic_qp_of(roce);
	const struct access access = { .qpn = qp->object.number, .pd = qp->pd };
	const struct umr_key *key = find(rkey);
	const bool allowed = is_usable(key, &access, rkey,
				       right == ROCE_REMOTE_READ    ? DRV_RR
				       : right == ROCE_REMOTE_WRITE ? DRV_RW
								    : DRV_A) &&
			     va >= key->start && va - key->start <= key->length &&
			     length <= key->length - (va - key->start);
	const int rc = __real_softrnic_qp_remote_check(roce, rkey, va, length, right);

	must(rc == (allowed ? 0 : -RNIC_SYND_REMOTE_ACCESS));
	return rc;
}

int
__wrap_softrnic_qp_remote_write(struct roce_qp *roce, uint32_t rkey, uint64_t va,
				const struct roce_pkt *pkt)
{
	static uint8_t payload[PACKET_MAX];
	static struct access access;
	const struct softrnic_qp *qp = softrnic_qp_of(roce);
	const uint32_t entries = qp->dev->budget->entries;
	const bool allowed = reach(&access, qp, rkey, va, pkt->length, DRV_RW);
	uint32_t used = 0;
	int rc;

	for (uint32_t i = 0; i < pkt->count; used += (uint32_t)pkt->pieces[i++].iov_len)
		memcpy(payload + used, pkt->pieces[i].iov_base, pkt->pieces[i].iov_len);
	must(used == pkt->length);
	rc = __real_softrnic_qp_remote_write(roce, rkey, va, pkt);
	judge(rc, allowed, access.pieces, ROCE_PKT_PIECES);
	must(qp->dev->budget->entries - entries <= SOFTRNIC_ENTRIES_ACCESS);
	for (uint32_t i = 0; rc >= 0 && i < used; i++)
		written(access.at[i], payload[i]);
	umr_wards_compare();
	return rc;
}

int
__wrap_softrnic_qp_remote_read(struct roce_qp *roce, uint32_t rkey, uint64_t va, uint32_t length,
			       struct iovec *pieces)
{
	static struct access access;
	const struct softrnic_qp *qp = softrnic_qp_of(roce);
	const uint32_t entries = qp->dev->budget->entries;
	const bool allowed = reach(&access, qp, rkey, va, length, DRV_RR);
	const int rc = __real_softrnic_qp_remote_read(roce, rkey, va, length, pieces);
	uint32_t used = 0;

	judge(rc, allowed, access.pieces, ROCE_PKT_PIECES);
	must(qp->dev->budget->entries - entries <= SOFTRNIC_ENTRIES_ACCESS);
	for (int i = 0; i < rc; i++)
		for (size_t at = 0; at < pieces[i].iov_len; at++, used++)
			must(used < length &&
			     (uint8_t *)pieces[i].iov_base + at == access.at[used]);
	must(rc < 0 || used == length);
	return rc;
}

int
__wrap_softrnic_qp_remote_atomic(struct roce_qp *roce, const struct roce_pkt *pkt,
				 uint64_t *original)
{
	static struct access access;
	const bool allowed =
		reach(&access, softrnic_qp_of(roce), pkt->rkey, pkt->va, sizeof(*original), DRV_A);
	uint64_t before = 0, after;
	int rc;

	for (uint32_t i = 0; allowed && i < sizeof(before); i++)
		memcpy((uint8_t *)&before + i, access.at[i], 1);
	rc = __real_softrnic_qp_remote_atomic(roce, pkt, original);
	/* Memory that is in pieces, or lies crooked, has no atomic step. */
	if (allowed && access.pieces == 1 && (uintptr_t)access.at[0] % sizeof(*original) == 0)
		must(rc == 0);
	judge(rc, allowed, 1, 0);
	after = pkt->opcode == ROCE_FETCH_ADD ? before + pkt->swap_add
		: before == pkt->compare      ? pkt->swap_add
					      : before;
	must(rc != 0 || *original == before);
	for (uint32_t i = 0; rc == 0 && i < sizeof(after); i++)
		written(access.at[i], ((const uint8_t *)&after)[i]);
	umr_wards_compare();
	return rc;
}

/* ---- What must be the same ---- */

static void
key_compare(const struct umr_key *key, const struct softrnic_mkey *mkey)
{
	const struct rnic_mkc *mkc = &mkey->context;

	must(mkey->free == key->free && rnic_mkc_get(mkc, RNIC_MKC_FREE) == key->free);
	must(mkey->variant == key->variant && rnic_mkc_get(mkc, RNIC_MKC_MKEY_7_0) == key->variant);
	must(mkey->qpn == key->qpn && rnic_mkc_get(mkc, RNIC_MKC_QPN) == key->qpn);
	must(mkey->en_rinval == key->rinval &&
	     rnic_mkc_get(mkc, RNIC_MKC_EN_RINVAL) == key->rinval);
	must(mkey->start == key->start && rnic_mkc_get(mkc, RNIC_MKC_START_ADDR) == key->start);
	must(mkey->length == key->length && rnic_mkc_get(mkc, RNIC_MKC_LEN) == key->length);
	must(mkey->pd == key->pd && rnic_mkc_get(mkc, RNIC_MKC_PD) == key->pd);
	must(mkey->umr_en == key->umr && mkey->mode == key->mode);
	must(mkey->access == key->access);
	must(rnic_mkc_get(mkc, RNIC_MKC_LR) == (key->access & 1) &&
	     rnic_mkc_get(mkc, RNIC_MKC_LW) == (key->access >> 1 & 1) &&
	     rnic_mkc_get(mkc, RNIC_MKC_RR) == (key->access >> 2 & 1) &&
	     rnic_mkc_get(mkc, RNIC_MKC_RW) == (key->access >> 3 & 1) &&
	     rnic_mkc_get(mkc, RNIC_MKC_A) == (key->access >> 4 & 1));
	must(mkey->log_page_size == key->log_page_size);
	must(mkey->translation_count == key->count);
	for (uint32_t i = 0; i < key->count && key->mode == RNIC_MKEY_MTT; i++)
		must(rnic_be64_to_cpu(mkey->mtts[i]) == key->pages[i]);
	for (uint32_t i = 0; i < key->count && key->mode != RNIC_MKEY_MTT; i++)
		must(rnic_be32_to_cpu(mkey->klms[i].mkey) == key->entries[i].key &&
		     rnic_be64_to_cpu(mkey->klms[i].address) == key->entries[i].va &&
		     softrnic_klm_bytes(&mkey->klms[i]) == key->entries[i].bytes);
}

void
umr_model_compare(struct softrnic *dev)
{
	for (unsigned int i = 0; i < UMR_KEYS; i++) {
		const struct umr_key *key = &umr_model.keys[i];
		const struct softrnic_mkey *mkey;

		if (!key->exists)
			continue;
		mkey = softrnic_object_get(dev, SOFTRNIC_MKEY, key->index);
		must(mkey != NULL);
		key_compare(key, mkey);
	}
}

void
umr_wards_compare(void)
{
	for (unsigned int i = 0; i < UMR_WARDS; i++)
		must(memcmp(umr_model.wards[i].at, umr_model.wards[i].bytes, UMR_WARD) == 0);
}
