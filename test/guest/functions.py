# SPDX-License-Identifier: BSD-3-Clause
"""Functions bound to vfio-pci in a guest behind an IOMMU, and programs that drive them by our driver."""

import os

from guest.machine import devices, guest, slot

BUILD = os.environ["RDMAPMD_BUILD"]
PLUGIN = os.path.realpath(os.environ["RDMAPMD_PLUGIN"])
# What a thread needs to be cancelled; no program names it.
LIBGCC = "/lib/x86_64-linux-gnu/libgcc_s.so.1"
# What a program prints is to be seen when it is printed, as on a terminal.
STDBUF = "/usr/libexec/coreutils/libstdbuf.so"
TESTPMD = "/usr/bin/dpdk-testpmd"

# Shell: where programs that were copied find our library, and those of EAL's drivers.
LIBRARIES = f"""
pmds=$(echo /usr/lib/*/dpdk/pmds-*)
export LD_LIBRARY_PATH={os.path.join(BUILD, "lib", "rdmapmd")}:$pmds
"""
# What a script begins with.
COMMON = f"""
dmesg -n 1
{LIBRARIES}
export RDMAPMD_PLUGIN={PLUGIN} CMOCKA_MESSAGE_OUTPUT=TAP
for path in /sys/bus/pci/devices/*; do
	[ "$(cat $path/vendor)" = 0x15b3 ] || continue
	echo vfio-pci >$path/driver_override
	echo ${{path##*/}} >/sys/bus/pci/drivers_probe
done
# said FILE TEXT [WHAT]: until the text is there, for a minute and a half; meanwhile descriptor 3 is told WHAT.
said() {{
	for i in $(seq 450); do
		! grep -q "$2" $1 || return 0
		[ -z "$3" ] || echo "$3" >&3
		sleep 0.2
	done
	echo "not said: $2"
	cat $1
	exit 1
}}
# behind FILE COMMAND...: in the background. What an earlier one has said is gone when this returns, not when the other begins.
behind() {{
	file=$1
	shift
	: >$file
	"$@" >$file 2>&1 &
}}
eal="-l 0,1 -d {PLUGIN} --no-telemetry"
"""


def program(name):
    """The path of testpmd, of an example or of a program of test/e2e; a path is one already."""
    if name == "dpdk-testpmd":
        return TESTPMD
    folder = "examples" if name.startswith("rdma_") else os.path.join("test", "e2e")
    return os.path.join(BUILD, folder, name)


def machine(sockets, programs=("dpdk-testpmd",), libraries=(), modules=(), iommu=48, cpus=2, **kwargs):
    """The programs by name or path; libraries and modules beside those that all need."""
    return guest(devices=sockets, programs=list(map(program, programs)), libraries=[PLUGIN, LIBGCC, *libraries],
                 modules=["vfio-pci", "vfio_iommu_type1", *modules], iommu=iommu, hugepages=200, memory=1024, cpus=cpus,
                 **kwargs)


def run(script, timeout, *options, **kwargs):
    """The console of a guest whose script has ended well."""
    with devices(*options) as daemon:
        result = machine(daemon.sockets, **kwargs).run(COMMON + script, timeout)
        daemon.stop()
    assert result.status == 0, result.console[-4000:]
    return result.console


def function(number, devargs=""):
    """As a program of e2e is told of it."""
    return f"pci:{slot(number)}{',' if devargs else ''}{devargs}"
