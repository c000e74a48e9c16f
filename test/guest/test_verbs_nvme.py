# SPDX-License-Identifier: BSD-3-Clause
"""
A kernel that registers memory by WQEs: Linux's NVMe over RDMA, initiator and target, on one function by its own address. The initiator
registers the memory of each transfer (IB_WR_REG_MR), and the target invalidates it (SEND with invalidate). It refuses a device that
does not offer that.
"""

import pytest

from guest.linux import values
from guest.machine import KERNELS_HERE
from guest.verbs import ADDRESSES, PAIR, run_on, went_well

NVME = ("nvme_rdma", "nvmet_rdma", "brd")
SUBSYSTEM = "nqn.2026-01.org.example:disk"
HOST = "hostnqn=nqn.2026-01.org.example:host,hostid=6a3c1f1e-8f6b-4f6d-9d3a-0a4f1e2d3c4b"
PORT = 4420
DISK_KIB = 16384  # brd's default
# Bytes of a transfer, of one page and of many, and how many of them.
SIZES = {"4k": 64, "60k": 40, "1M": 8}

SCRIPT = f"""
load_verbs
up $eth0 $eth1
until_there state_is $ib0 ACTIVE
/bin/ip address add {ADDRESSES[4][0]}/24 dev $eth0

mount -t configfs none /sys/kernel/config
cd /sys/kernel/config/nvmet
mkdir -p subsystems/{SUBSYSTEM}/namespaces/1 ports/1
echo 1 >subsystems/{SUBSYSTEM}/attr_allow_any_host
echo /dev/ram0 >subsystems/{SUBSYSTEM}/namespaces/1/device_path
echo 1 >subsystems/{SUBSYSTEM}/namespaces/1/enable
echo rdma >ports/1/addr_trtype
echo ipv4 >ports/1/addr_adrfam
echo {ADDRESSES[4][0]} >ports/1/addr_traddr
echo {PORT} >ports/1/addr_trsvcid
ln -s /sys/kernel/config/nvmet/subsystems/{SUBSYSTEM} ports/1/subsystems/{SUBSYSTEM} || exit 30

echo "transport=rdma,traddr={ADDRESSES[4][0]},trsvcid={PORT},nqn={SUBSYSTEM},{HOST},nr_io_queues=1" >/dev/nvme-fabrics || exit 31
until_there [ -b /dev/nvme0n1 ]
echo "size $(cat /sys/block/nvme0n1/size)"
head -c 8192k /dev/urandom >/tmp/data # as long as the longest of them
for transfer in {' '.join(f'{size}:{count}' for size, count in SIZES.items())}; do
	size=${{transfer%:*}} count=${{transfer#*:}}
	dd if=/tmp/data of=/dev/nvme0n1 bs=$size count=$count oflag=direct 2>/dev/null || exit 32
	dd if=/dev/nvme0n1 of=/tmp/back bs=$size count=$count iflag=direct 2>/dev/null || exit 33
	dd if=/dev/ram0 of=/tmp/disk bs=$size count=$count iflag=direct 2>/dev/null || exit 34
	dd if=/tmp/data of=/tmp/sent bs=$size count=$count 2>/dev/null
	cmp /tmp/sent /tmp/back && cmp /tmp/sent /tmp/disk && echo "same $size"
done

echo 1 >/sys/class/nvme/nvme0/delete_controller
rm ports/1/subsystems/{SUBSYSTEM}
rmdir ports/1
echo 0 >subsystems/{SUBSYSTEM}/namespaces/1/enable
rmdir subsystems/{SUBSYSTEM}/namespaces/1 subsystems/{SUBSYSTEM}
cd /
umount /sys/kernel/config
/bin/ip address del {ADDRESSES[4][0]}/24 dev $eth0
unload_verbs
"""


@pytest.mark.parametrize("kernel", KERNELS_HERE)
def test_disk_over_one_function(kernel):
    result, said = run_on(kernel, SCRIPT, *PAIR, extra=NVME)
    assert values(result.console, "size") == [str(2 * DISK_KIB)], result.console[-4000:]
    assert values(result.console, "same") == list(SIZES), result.console[-4000:]
    went_well(result, said, [f"nvmet_rdma: enabling port 1 ({ADDRESSES[4][0]}:{PORT})"])
