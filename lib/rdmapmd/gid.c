/* SPDX-License-Identifier: BSD-3-Clause */

/* The GID table of a port: its addresses. */

#include <errno.h>
#include <string.h>

#include "context_private.h"
#include "log_private.h"
#include "object_private.h"

#define VLAN_MAX 4094 /* the next one is reserved */

static const union rdmapmd_gid no_gid;

int
rdmapmd_gid_query(struct rdmapmd_context *head, uint8_t port_num, uint32_t index,
		  struct rdmapmd_gid_entry *entry)
{
	struct rdmapmd_gid_entry answer = { 0 };
	struct rdmapmd_object *object;
	int rc = rdmapmd_context_enter_port(head, port_num, entry, &object);

	if (rc != 0)
		return rc;
	rc = object->context->ops->gid_query(head, port_num, index, &answer);
	if (rc == 0 && memcmp(&answer.gid, &no_gid, sizeof(no_gid)) == 0)
		rc = -ENODATA;
	if (rc == 0)
		*entry = answer;
	rdmapmd_object_leave(object);
	return rc;
}

/* Why an address cannot be a port's, or NULL. */
static const char *
gid_complaint(const union rdmapmd_gid *gid)
{
	if (memcmp(gid, &no_gid, sizeof(no_gid)) == 0)
		return "it is empty";
	if (gid->raw[0] == 0xff)
		return "it is a multicast address";
	if (rdmapmd_gid_is_ipv4(gid) &&
	    (gid->raw[12] == 0 || gid->raw[12] == 127 || gid->raw[12] >= 224))
		return "this IPv4 address is no host's";
	return NULL;
}

static int
gid_add(struct rdmapmd_context *head, uint8_t port_num, const union rdmapmd_gid *gid,
	uint16_t vlan_id, uint32_t *index)
{
	struct rdmapmd_object *object;
	uint32_t answer = 0;
	const char *why;
	int rc = index == NULL ? -EINVAL : rdmapmd_context_enter_port(head, port_num, gid, &object);

	if (rc != 0)
		return rc;
	why = gid_complaint(gid);
	if (why != NULL) {
		RDMAPMD_LOG(ERR, object->context->device, "not an address for port %u: %s",
			    port_num, why);
		rc = -EINVAL;
	} else if (object->context->ops->gid_add == NULL) {
		rc = -ENOTSUP;
	} else {
		rc = object->context->ops->gid_add(head, port_num, gid, vlan_id, &answer);
	}
	if (rc == 0)
		*index = answer;
	rdmapmd_object_leave(object);
	return rc;
}

int
rdmapmd_gid_add(struct rdmapmd_context *head, uint8_t port_num, const union rdmapmd_gid *gid,
		uint32_t *index)
{
	return gid_add(head, port_num, gid, 0, index);
}

int
rdmapmd_gid_add_vlan(struct rdmapmd_context *head, uint8_t port_num, const union rdmapmd_gid *gid,
		     uint16_t vlan_id, uint32_t *index)
{
	return vlan_id >= 1 && vlan_id <= VLAN_MAX ? gid_add(head, port_num, gid, vlan_id, index)
						   : -EINVAL;
}

int
rdmapmd_gid_del(struct rdmapmd_context *head, uint8_t port_num, uint32_t index)
{
	struct rdmapmd_object *object;
	int rc = rdmapmd_context_enter_port(head, port_num, head, &object);

	if (rc != 0)
		return rc;
	rc = object->context->ops->gid_del != NULL
		     ? object->context->ops->gid_del(head, port_num, index)
		     : -ENOTSUP;
	if (rc == -EBUSY)
		RDMAPMD_LOG(ERR, object->context->device,
			    "GID %u of port %u: paths of queue pairs begin there", index, port_num);
	rdmapmd_object_leave(object);
	return rc;
}
