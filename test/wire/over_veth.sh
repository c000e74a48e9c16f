#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Run a program in a network namespace of its own with a cable of Linux in it, whose ends are the interfaces va and vb.

set -euo pipefail

if [ "${1:-}" = --help ] || [ $# -eq 0 ]; then
	echo "Usage: over_veth.sh [--mtu MTU] PROGRAM [ARGUMENT...]"
	echo "  test/wire/over_veth.sh dpdk-testpmd --vdev=net_rnic0,wire=port:net_af_packet0 --vdev=net_af_packet0,iface=va"
	exit 2
fi
mtu=1500
if [ "$1" = --mtu ]; then
	mtu=$2
	shift 2
fi
if [ -z "${OVER_VETH:-}" ]; then
	OVER_VETH=$mtu exec unshare --net "$0" --mtu "$mtu" "$@"
fi
ip link add name va mtu "$mtu" type veth peer name vb mtu "$mtu"
for end in va vb; do
	# No frames but ours.
	echo 1 >"/proc/sys/net/ipv6/conf/$end/disable_ipv6"
	ip link set "$end" up
done
exec "$@"
