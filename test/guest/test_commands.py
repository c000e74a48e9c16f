# SPDX-License-Identifier: BSD-3-Clause
"""What Linux's mlx5_core has the device execute, from modprobe to rmmod, beside what doc/design/foreign_drivers.md says."""

import os
import subprocess

import pytest

from guest.machine import devices, guest, slot
from size import FULL

SOURCE = os.environ["RDMAPMD_SOURCE"]
DOCUMENT = os.path.join(SOURCE, "doc", "design", "foreign_drivers.md")
KERNELS = ("6.1", "6.12") if FULL else ("6.1",)

# All that an administrator does to an interface.
SCRIPT = f"""
set -e
dmesg -n 1
eth=$(ls /sys/bus/pci/devices/{slot(0)}/net)
peer=$(ls /sys/bus/pci/devices/{slot(1)}/net)
/bin/ip link set $eth up
/bin/ip link set $peer up
for i in $(seq 300); do
	[ "$(cat /sys/class/net/$eth/carrier)" != 1 ] || break
	sleep 0.1
done
/bin/ip address add 10.0.0.1/24 dev $eth
/bin/ip link set $eth mtu 9000
for mode in promisc allmulticast; do
	/bin/ip link set $eth $mode on
	# Linux does it later, in a thread of its own, and not at all once it is off again.
	sleep 2
	/bin/ip link set $eth $mode off
done
/bin/ip maddress add 33:33:00:00:12:34 dev $eth
/bin/ip link add link $eth name tagged type vlan id 7
ethtool $eth
ethtool -S $eth
ethtool -L $eth combined 1
ethtool -G $eth rx 512 tx 512
ethtool -C $eth rx-usecs 16
for switch in off on; do
	ethtool -K $eth rx $switch
	ethtool -K $eth rxvlan $switch
done
ethtool -X $eth equal 1
ethtool -N $eth flow-type tcp4 dst-port 5201 action 0
ethtool -N $eth delete 1023
/bin/ip link set $eth address 02:00:00:00:00:77
/bin/ip link set $eth down
rmmod mlx5_core
echo gone
"""


def columns(path):
    """{command: {column: word}} of the table of commands."""
    with open(path, encoding="utf-8") as file:
        rows = [[cell.strip() for cell in line.strip("|\n").split("|")] for line in file if line.startswith("|")]
    head = next(i for i, row in enumerate(rows) if row[0] == "command" and "recording" in row)
    names = rows[head]
    return {row[0]: dict(zip(names, row)) for row in rows[head + 2:] if len(row) == len(names)}


def run(tool, *args):
    done = subprocess.run([os.path.join(SOURCE, "devtools", "trace", tool), *args], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    return done.returncode, done.stdout


@pytest.mark.parametrize("kernel", KERNELS)
def test_commands_of_linux_are_as_documented(kernel, tmp_path):
    with devices("wire=pair:cable", "wire=pair:cable", log_level="debug") as daemon:
        result = guest(kernel, daemon.sockets, ["/usr/sbin/ethtool", "/bin/ip"], modules=["mlx5_core", "8021q"], cpus=2,
                       memory=1024).run(SCRIPT, 300)
        assert result.status == 0 and "\ngone" in result.console
        found = tmp_path / "found.md"
        with open(DOCUMENT, encoding="utf-8") as document:
            found.write_text(document.read(), encoding="utf-8")
        code, said = run("exercised.py", "--document", str(found), "--write", f"Linux {kernel}={daemon.log}")
        assert code == 0, said
        is_now, was = columns(found), columns(DOCUMENT)
        assert {name: row[f"Linux {kernel}"] for name, row in is_now.items()} == \
            {name: row[f"Linux {kernel}"] for name, row in was.items()}
        # The device says the same to whoever asks.
        code, said = run("capabilities.py", daemon.log)
        assert code == 0, said
