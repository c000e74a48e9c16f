/* SPDX-License-Identifier: BSD-3-Clause */

/* Paths: what of one is wrong, and where it begins. */

#include <errno.h>
#include <string.h>

#include "log_private.h"
#include "object_private.h"
#include "path_private.h"
#include "resolve_private.h"

int
rdmapmd_path_check(const struct rdmapmd_context_object *context, const char *whose,
		   const struct rdmapmd_ah_attr *path)
{
	static const union rdmapmd_gid none;
	const char *why = NULL;

	if (memcmp(&path->dgid, &none, sizeof(none)) == 0)
		why = "dgid is empty";
	else if (path->flow_label > 0xfffff)
		why = "flow_label has 20 bits";
	else if (path->sl > 7)
		why = "sl has 3 bits";
	else if (path->port_num == 0 || path->port_num > context->attr.phys_port_cnt)
		why = "no such port_num";
	if (why == NULL)
		return 0;
	RDMAPMD_LOG(ERR, context->device, "%s: path to the peer: %s", whose, why);
	return -EINVAL;
}

/* Where the path begins: an address that is there, and of the same protocol as the peer's. */
static int
path_check_source(struct rdmapmd_context_object *context, const char *whose,
		  const struct rdmapmd_ah_attr *path)
{
	static const union rdmapmd_gid no_gid;
	struct rdmapmd_gid_entry own = { 0 };
	int rc = context->ops->gid_query(rdmapmd_object_head(&context->object), path->port_num,
					 path->sgid_index, &own);

	if (rc == -EINVAL || (rc == 0 && memcmp(&own.gid, &no_gid, sizeof(no_gid)) == 0)) {
		RDMAPMD_LOG(ERR, context->device,
			    "%s: sgid_index %u: no address there in the GID table of port %u",
			    whose, path->sgid_index, path->port_num);
		return -EINVAL;
	}
	if (rc == 0 && rdmapmd_gid_is_ipv4(&own.gid) != rdmapmd_gid_is_ipv4(&path->dgid)) {
		RDMAPMD_LOG(ERR, context->device,
			    "%s: sgid_index %u is an %s address and dgid an %s one: choose "
			    "another entry of the GID table of port %u",
			    whose, path->sgid_index,
			    rdmapmd_gid_is_ipv4(&own.gid) ? "IPv4" : "IPv6",
			    rdmapmd_gid_is_ipv4(&path->dgid) ? "IPv4" : "IPv6", path->port_num);
		return -EINVAL;
	}
	return rc;
}

int
rdmapmd_path_complete(struct rdmapmd_context_object *context, const char *whose,
		      struct rdmapmd_ah_attr *path)
{
	static const uint8_t no_mac[6];
	int rc = path_check_source(context, whose, path);

	if (rc != 0 || memcmp(path->dmac, no_mac, sizeof(no_mac)) != 0)
		return rc;
	rc = rdmapmd_resolve_path(context, path, RDMAPMD_RESOLVE_WAIT);
	if (rc != 0)
		RDMAPMD_LOG(ERR, context->device,
			    "%s: the MAC of the peer's address cannot be found out: %s. Set "
			    "ah_attr.dmac",
			    whose, strerror(-rc));
	return rc;
}
