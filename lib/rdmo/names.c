/* SPDX-License-Identifier: BSD-3-Clause */

#include <rte_common.h>

#include "rdmo.h"

const char *
rdmo_status_str(enum rdmo_status status)
{
	static const char *const names[] = {
		[RDMO_STATUS_OK] = "done",
		[RDMO_STATUS_OP] = "unknown operation",
		[RDMO_STATUS_VERSION] = "another version",
		[RDMO_STATUS_CLIENT] = "another target",
		[RDMO_STATUS_KEY] = "unknown key or secret",
		[RDMO_STATUS_RIGHTS] = "the key does not allow it",
		[RDMO_STATUS_BOUNDS] = "out of bounds",
		[RDMO_STATUS_LENGTH] = "lengths do not fit together",
		[RDMO_STATUS_FULL] = "no room behind the tail",
		[RDMO_STATUS_TAIL] = "the tail was moved by somebody else",
		[RDMO_STATUS_TARGET_LOST] = "the target has ended",
		[RDMO_STATUS_UNKNOWN] = "the connection ended before the answer",
		[RDMO_STATUS_NOTSUP] = "not supported",
	};

	static_assert(RTE_DIM(names) == RDMO_STATUSES, "a name for each");
	return (unsigned int)status < RTE_DIM(names) ? names[status] : "unknown status";
}

const char *
rdmo_reason_str(enum rdmo_reason reason)
{
	static const char *const names[] = {
		[RDMO_REASON_NONE] = "none",
		[RDMO_REASON_SHORT] = "a message without a whole header",
		[RDMO_REASON_MAGIC] = "not a message of remote direct memory operations",
		[RDMO_REASON_VERSION] = "another version",
		[RDMO_REASON_KIND] = "a kind of message that this end does not take",
		[RDMO_REASON_SESSION] = "another connection's message",
		[RDMO_REASON_LENGTH] = "a length that is not what came",
		[RDMO_REASON_COUNT] = "a count that is not what came",
		[RDMO_REASON_FRAME] = "a frame that goes beyond its message",
		[RDMO_REASON_RESERVED] = "a reserved member or padding is not 0",
		[RDMO_REASON_SEQ] = "sequence numbers out of order",
		[RDMO_REASON_ANSWER] = "an answer that contradicts itself",
		[RDMO_REASON_CREDITS] = "more messages than credits",
		[RDMO_REASON_KEYS] = "too many wrong keys",
	};

	static_assert(RTE_DIM(names) == RDMO_REASONS, "a name for each");
	return (unsigned int)reason < RTE_DIM(names) ? names[reason] : "unknown reason";
}
