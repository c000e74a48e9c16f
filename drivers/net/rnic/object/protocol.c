/* SPDX-License-Identifier: BSD-3-Clause */

#include <stdint.h>

#include "object/protocol.h"
#include "prm/reg.h"

/* By bit: Mb/s, lanes. */
static const struct rnic_protocol protocols[32] = {
	[0] = { 1000, 1 },    [1] = { 1000, 1 },    [2] = { 10000, 4 },	  [3] = { 10000, 4 },
	[4] = { 10000, 1 },   [5] = { 20000, 2 },   [6] = { 40000, 4 },	  [7] = { 40000, 4 },
	[8] = { 56000, 4 },   [12] = { 10000, 1 },  [13] = { 10000, 1 },  [14] = { 10000, 1 },
	[15] = { 40000, 4 },  [16] = { 40000, 4 },  [18] = { 50000, 2 },  [20] = { 100000, 4 },
	[21] = { 100000, 4 }, [22] = { 100000, 4 }, [23] = { 100000, 4 }, [24] = { 100, 1 },
	[25] = { 1000, 1 },   [26] = { 10000, 1 },  [27] = { 25000, 1 },  [28] = { 25000, 1 },
	[29] = { 25000, 1 },  [30] = { 50000, 2 },  [31] = { 50000, 2 },
};

static const struct rnic_protocol extended[32] = {
	[0] = { 100, 1 },     [1] = { 1000, 1 },    [3] = { 5000, 1 },	  [4] = { 10000, 1 },
	[5] = { 40000, 4 },   [6] = { 25000, 1 },   [7] = { 50000, 2 },	  [8] = { 50000, 1 },
	[9] = { 100000, 4 },  [10] = { 100000, 2 }, [11] = { 100000, 1 }, [12] = { 200000, 4 },
	[13] = { 200000, 2 }, [14] = { 200000, 1 }, [15] = { 400000, 8 }, [16] = { 400000, 4 },
	[17] = { 400000, 2 }, [19] = { 800000, 8 }, [20] = { 800000, 4 },
};

#define DATA_RATE_UNIT 100 /* Mb/s, of data_rate_oper */

static struct rnic_protocol
protocol_fastest(uint64_t bits, const struct rnic_protocol table[32])
{
	struct rnic_protocol fastest = { 0 };
	unsigned int i;

	for (i = 0; i < 32; i++)
		if (bits >> i & 1 && table[i].speed > fastest.speed)
			fastest = table[i];
	return fastest;
}

struct rnic_protocol
rnic_protocol_now(const struct rnic_ptys_reg *ptys)
{
	struct rnic_protocol now = protocol_fastest(
		rnic_ptys_reg_get(ptys, RNIC_PTYS_REG_EXT_ETH_PROTO_OPER), extended);

	if (now.speed == 0)
		now = protocol_fastest(rnic_ptys_reg_get(ptys, RNIC_PTYS_REG_ETH_PROTO_OPER),
				       protocols);
	/* A protocol of a day to come: newer devices say the rate itself, too. */
	if (now.speed == 0)
		now.speed = DATA_RATE_UNIT *
			    (uint32_t)rnic_ptys_reg_get(ptys, RNIC_PTYS_REG_DATA_RATE_OPER);
	return now;
}

void
rnic_protocol_speeds(const struct rnic_ptys_reg *ptys, uint32_t speeds[RNIC_PROTOCOLS])
{
	const uint64_t ext = rnic_ptys_reg_get(ptys, RNIC_PTYS_REG_EXT_ETH_PROTO_CAPABILITY);
	const uint64_t old = rnic_ptys_reg_get(ptys, RNIC_PTYS_REG_ETH_PROTO_CAPABILITY);
	unsigned int i;

	for (i = 0; i < 32; i++) {
		speeds[i] = ext >> i & 1 ? extended[i].speed : 0;
		speeds[32 + i] = old >> i & 1 ? protocols[i].speed : 0;
	}
}
