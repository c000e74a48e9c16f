/* SPDX-License-Identifier: BSD-3-Clause */

/* The MAC of a path's next hop: it stands in the address, or the driver finds it out. */

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "context_private.h"
#include "object_private.h"
#include "rdmapmd_ah.h"
#include "resolve_private.h"

/* The MAC in a link-local address that was made of one: EUI-64, RFC 4291, appendix A. */
static bool
mac_of_link_local(const union rdmapmd_gid *gid, uint8_t mac[6])
{
	static const uint8_t prefix[8] = { 0xfe, 0x80 };

	if (memcmp(gid->raw, prefix, sizeof(prefix)) != 0 || gid->raw[11] != 0xff ||
	    gid->raw[12] != 0xfe)
		return false;
	memcpy(mac, gid->raw + 8, 3);
	memcpy(mac + 3, gid->raw + 13, 3);
	mac[0] ^= 2;
	return true;
}

int
rdmapmd_resolve_path(struct rdmapmd_context_object *context, struct rdmapmd_ah_attr *ah,
		     uint32_t timeout_ms)
{
	if (mac_of_link_local(&ah->dgid, ah->dmac))
		return 0;
	if (rdmapmd_gid_is_multicast(&ah->dgid)) {
		rdmapmd_gid_multicast_mac(&ah->dgid, ah->dmac);
		return 0;
	}
	return context->ops->resolve != NULL
		       ? context->ops->resolve(rdmapmd_object_head(&context->object), ah,
					       timeout_ms)
		       : -EHOSTUNREACH;
}

int
rdmapmd_resolve(struct rdmapmd_context *head, struct rdmapmd_ah_attr *ah, uint32_t timeout_ms)
{
	static const union rdmapmd_gid no_gid;
	struct rdmapmd_object *object;
	struct rdmapmd_ah_attr answer;
	int rc;

	if (ah == NULL)
		return -EINVAL;
	rc = rdmapmd_context_enter_port(head, ah->port_num, ah, &object);
	if (rc != 0)
		return rc;
	answer = *ah;
	rc = memcmp(&ah->dgid, &no_gid, sizeof(no_gid)) == 0
		     ? -EINVAL
		     : rdmapmd_resolve_path(object->context, &answer, timeout_ms);
	if (rc == 0)
		memcpy(ah->dmac, answer.dmac, sizeof(ah->dmac));
	rdmapmd_object_leave(object);
	return rc;
}
