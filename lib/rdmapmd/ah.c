/* SPDX-License-Identifier: BSD-3-Clause */

/* Address handles, also those of answers to datagrams. */

#include <errno.h>
#include <string.h>

#include "log_private.h"
#include "object_private.h"
#include "path_private.h"
#include "pd_private.h"
#include "rdmapmd_cq.h"

#define WHOSE "address handle"

static int
ah_destroy(struct rdmapmd_object *object)
{
	return object->context->ops->ah_destroy(rdmapmd_object_head(object));
}

static void
ah_release(struct rdmapmd_object *object)
{
	const struct rdmapmd_ah *ah = rdmapmd_object_head(object);

	rdmapmd_object_undepend(&rdmapmd_pd_class, ah->pd);
}

static const struct rdmapmd_object_class ah_class = {
	.type = RDMAPMD_OBJECT_AH,
	.name = WHOSE,
	.size = sizeof(struct rdmapmd_object),
	.destroy = ah_destroy,
	.release = ah_release,
};

/* With a reference on its PD, which stays the caller's on error. */
static int
ah_create(struct rdmapmd_context_object *context, struct rdmapmd_pd *pd,
	  const struct rdmapmd_ah_attr *path, struct rdmapmd_ah **result)
{
	struct rdmapmd_object *object =
		rdmapmd_object_new(&ah_class, context, context->ops->ah_size);
	struct rdmapmd_ah *ah;
	int rc;

	if (object == NULL)
		return -ENOMEM;
	ah = rdmapmd_object_head(object);
	ah->context = pd->context;
	ah->pd = pd;
	rc = context->ops->ah_create(ah, path);
	rc = rdmapmd_object_publish_or_undo(object, rc, 0);
	if (rc == 0)
		*result = ah;
	return rc;
}

/* In a PD that was entered. */
static int
ah_create_in(struct rdmapmd_context_object *context, struct rdmapmd_pd *pd,
	     const struct rdmapmd_ah_attr *attr, struct rdmapmd_ah **result)
{
	struct rdmapmd_ah_attr path = *attr;
	int rc;

	if (context->ops->ah_create == NULL)
		return -ENOTSUP;
	rc = rdmapmd_path_check(context, WHOSE, &path);
	if (rc == 0)
		rc = rdmapmd_path_complete(context, WHOSE, &path);
	if (rc == 0)
		rc = rdmapmd_object_depend(&rdmapmd_pd_class, pd, context);
	if (rc != 0)
		return rc;
	rc = ah_create(context, pd, &path, result);
	if (rc != 0)
		rdmapmd_object_undepend(&rdmapmd_pd_class, pd);
	return rc;
}

int
rdmapmd_ah_create(struct rdmapmd_pd *pd, const struct rdmapmd_ah_attr *attr,
		  struct rdmapmd_ah **result)
{
	struct rdmapmd_object *parent;
	int rc = attr == NULL || result == NULL
			 ? -EINVAL
			 : rdmapmd_object_enter(&rdmapmd_pd_class, pd, &parent);

	if (rc != 0)
		return rc;
	rc = ah_create_in(parent->context, pd, attr, result);
	rdmapmd_object_leave(parent);
	return rc;
}

int
rdmapmd_ah_destroy(struct rdmapmd_ah *ah)
{
	return rdmapmd_object_destroy(&ah_class, ah);
}

/* ---- The way back ---- */

#define IPV4_BYTES 20 /* without options: what RoCE has */
#define IPV4_AT	   (RDMAPMD_GRH_BYTES - IPV4_BYTES)

/* As the device took it: without options, and its sum is right (RFC 1071). */
static bool
is_good_ipv4(const uint8_t header[IPV4_BYTES])
{
	uint32_t sum = 0;
	unsigned int i;

	for (i = 0; i < IPV4_BYTES; i += 2)
		sum += (uint32_t)header[i] << 8 | header[i + 1];
	return header[0] == 0x45 && (sum & 0xffff) + (sum >> 16) == 0xffff;
}

/*
 * Sender, receiver, and the path of an answer. The device tells which header it is: anything may stand in front of an IPv4 header,
 * and a sender can choose IPv6 addresses that end like an IPv4 header. False: it is no header.
 */
static bool
read_header(const uint8_t bytes[RDMAPMD_GRH_BYTES], bool is_ipv4, struct rdmapmd_ah_attr *path,
	    union rdmapmd_gid *to)
{
	const uint8_t *ipv4 = bytes + IPV4_AT;

	if (is_ipv4) {
		path->traffic_class = ipv4[1];
		rdmapmd_gid_set_ipv4(&path->dgid, ipv4 + 12);
		rdmapmd_gid_set_ipv4(to, ipv4 + 16);
		return is_good_ipv4(ipv4);
	}
	path->traffic_class = (uint8_t)(bytes[0] << 4 | bytes[1] >> 4);
	path->flow_label = (bytes[1] & 0xfu) << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
	memcpy(path->dgid.raw, bytes + 8, sizeof(path->dgid.raw));
	memcpy(to->raw, bytes + 24, sizeof(to->raw));
	return bytes[0] >> 4 == 6;
}

/* Where answers begin: at the address that was asked, or, of a group, at the first one of that protocol; in the same VLAN. */
static int
find_source(struct rdmapmd_context_object *context, const union rdmapmd_gid *to, uint16_t vlan_id,
	    struct rdmapmd_ah_attr *path)
{
	static const union rdmapmd_gid no_gid;
	struct rdmapmd_context *head = rdmapmd_object_head(&context->object);
	struct rdmapmd_gid_entry own;
	unsigned int i;

	for (i = 0; i <= UINT8_MAX; i++) {
		own = (struct rdmapmd_gid_entry){ 0 };
		if (context->ops->gid_query(head, path->port_num, i, &own) != 0)
			break;
		if (own.vlan_id != vlan_id)
			continue;
		if (rdmapmd_gid_is_multicast(to)
			    ? memcmp(&own.gid, &no_gid, sizeof(no_gid)) != 0 &&
				      rdmapmd_gid_is_ipv4(&own.gid) == rdmapmd_gid_is_ipv4(to)
			    : memcmp(&own.gid, to, sizeof(*to)) == 0) {
			path->sgid_index = (uint8_t)i;
			return 0;
		}
	}
	return -EINVAL;
}

static int
ah_answer(struct rdmapmd_context_object *context, struct rdmapmd_pd *pd, uint8_t port_num,
	  const struct rdmapmd_wc *wc, const uint8_t *grh, struct rdmapmd_ah **result)
{
	struct rdmapmd_ah_attr path = { .hop_limit = 255, .sl = wc->sl & 7, .port_num = port_num };
	const uint16_t vlan_id = wc->wc_flags & RDMAPMD_WC_WITH_VLAN ? wc->vlan_id : 0;
	const bool is_ipv4 = (wc->wc_flags & RDMAPMD_WC_IPV4) != 0;
	union rdmapmd_gid to;
	const char *why = NULL;

	if (port_num == 0 || port_num > context->attr.phys_port_cnt)
		why = "no such port_num";
	else if (!(wc->wc_flags & RDMAPMD_WC_GRH) || !read_header(grh, is_ipv4, &path, &to))
		why = "there is no header before the datagram";
	else if (find_source(context, &to, vlan_id, &path) != 0)
		why = "the port has no address that the answer could begin at";
	if (why == NULL)
		return ah_create_in(context, pd, &path, result);
	RDMAPMD_LOG(ERR, context->device, WHOSE ": path to the peer: %s", why);
	return -EINVAL;
}

int
rdmapmd_ah_from_wc(struct rdmapmd_pd *pd, uint8_t port_num, const struct rdmapmd_wc *wc,
		   const void *grh, struct rdmapmd_ah **result)
{
	struct rdmapmd_object *parent;
	int rc = wc == NULL || grh == NULL || result == NULL
			 ? -EINVAL
			 : rdmapmd_object_enter(&rdmapmd_pd_class, pd, &parent);

	if (rc != 0)
		return rc;
	rc = ah_answer(parent->context, pd, port_num, wc, grh, result);
	rdmapmd_object_leave(parent);
	return rc;
}
