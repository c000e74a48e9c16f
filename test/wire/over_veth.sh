#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Run a program in a network namespace of its own with a cable of Linux in it, whose ends are the interfaces va and vb.

set -euo pipefail

usage()
{
	echo "Usage: over_veth.sh [--mtu MTU] [--apart] PROGRAM [ARGUMENT...]"
	echo "  --mtu MTU   of the cable, and (in E2E_MTU) of the ports of test programs"
	echo "  --apart     vb is in another network namespace, whose file RDMA_PEER_NETNS names"
	echo "  test/wire/over_veth.sh dpdk-testpmd --vdev=net_rnic0,wire=port:net_af_packet0 --vdev=net_af_packet0,iface=va"
	exit 2
}

# plain END [COMMAND...]: it is up, no frames but ours are on it.
plain()
{
	"${@:2}" sh -c "echo 1 >/proc/sys/net/ipv6/conf/$1/disable_ipv6; ip link set $1 up"
}

mtu=1500
apart=no
args=("$@")
while [ $# -gt 0 ]; do
	case $1 in
	--mtu)
		mtu=$2
		export E2E_MTU=$mtu
		shift
		;;
	--apart) apart=yes ;;
	-*) usage ;;
	*) break ;;
	esac
	shift
done
[ $# -gt 0 ] || usage
if [ -z "${OVER_VETH:-}" ]; then
	OVER_VETH=yes exec unshare --net "$0" "${args[@]}"
fi
# Control connections of one process to itself.
ip link set lo up
ip link add name va mtu "$mtu" type veth peer name vb mtu "$mtu"
plain va
if [ $apart = no ]; then
	plain vb
	exec "$@"
fi
# The namespace is its holder's, and goes with it: whatever happens to us.
setpriv --pdeathsig KILL unshare --net sleep infinity &
holder=$!
trap 'kill "$holder"' EXIT
own=$(readlink /proc/self/ns/net)
until [ "$(readlink "/proc/$holder/ns/net")" != "$own" ]; do
	kill -0 "$holder"
	sleep 0.01
done
ip link set vb netns "$holder"
plain vb nsenter --target "$holder" --net
export RDMA_PEER_NETNS=/proc/$holder/ns/net
"$@"
