#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Record what Debian's perftest and ibv_*_pingpong print: their helps, and runs of perftest's both ends over Linux' rxe, in one
guest, on the guest's own address. A recording is a text file for a program, in which a line "$ COMMAND" stands before what the
command has printed on its standard output. One more, refusals.txt, has what perftest says of options where there is no device: what is
wrong with them, or that there is none. Tests compare dpdk-test-rdma-perf with them: unit-perf-options, unit-perf-result and
daemon-perf-recorded. Needs the packages perftest, ibverbs-utils and ibverbs-providers, and a host without such a device."""

import argparse
import glob
import os
import subprocess
import sys

from vm import DIED, Guest, Unavailable

PINGPONGS = [f"ibv_{kind}_pingpong" for kind in ("rc", "uc", "ud", "srq")]
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ADDRESS = "10.78.0.1"
# Emulated, a message takes milliseconds: few of them.
FEW = "-n 20"
RUNS = {
    "ib_write_bw": [FEW, f"{FEW} --report_gbits", f"{FEW} -b -q 2", f"{FEW} -l 4", "-D 2", f"{FEW} --out_json",
                    f"{FEW} -c UC", "-n 5 -a", f"{FEW} -m 256", f"{FEW} -I 64 -s 64 -x 1", f"{FEW} -Q 10", f"{FEW} -Q 5 -s 64 -t 10",
                    f"{FEW} -b -l 4 --report_gbits --out_json"],
    "ib_send_bw": [FEW, f"{FEW} -c UC", f"{FEW} -c UD -a", f"{FEW} -e", f"{FEW} --use-srq -r 32 -q 2", f"{FEW} -b",
                   "-D 2", f"{FEW} -l 4 -Q 2", f"{FEW} -c UD -q 2 -s 512", f"{FEW} -r 8 -s 64", f"{FEW} -e -c UC --out_json"],
    "ib_read_bw": [FEW, f"{FEW} -o 4", "-n 5 -a", f"{FEW} -b -q 2", f"{FEW} -e --report_gbits", "-D 2", f"{FEW} --out_json"],
    "ib_atomic_bw": [FEW, f"{FEW} -A CMP_AND_SWAP", f"{FEW} -b -q 2", f"{FEW} -e -o 4", "-D 2", f"{FEW} --out_json"],
    "ib_write_lat": [FEW, "-D 2", f"{FEW} --out_json", f"{FEW} -c UC", "-n 5 -a", f"{FEW} -s 4096 -m 256"],
    "ib_send_lat": [FEW, f"{FEW} -c UD", f"{FEW} -c UC", "-D 2 --out_json", f"{FEW} -c UD -a", f"{FEW} -e", f"{FEW} --use-srq -r 8"],
    "ib_read_lat": [FEW, f"{FEW} --out_json", "-D 2", "-n 5 -a", f"{FEW} -e -o 4"],
    "ib_atomic_lat": [FEW, f"{FEW} -A CMP_AND_SWAP", "-D 2", f"{FEW} -e", f"{FEW} --out_json"],
}
# Each by itself: most are wrong for some of the programs.
REFUSED = ("", "-c UC", "-c UD", "-c UC -e", "-c UD -e", "-c UC --use-srq", "-c UD --use-srq", "-q 2", "-I 64", "-e", "--use-srq", "-s 64", "-a",
           "-b", "-o 4", "-r 8", "-D 5", "-n 20 -l 4", "-n 20 -l 3", "-n 20 -l 4 -Q 3", "-D 5 -a", "-D 5 -e",
           "-n 4", "-n x", "-t 0", "-t 15001", "-r 16385", "-Q 1025", "-s 0", "-I 913", "-x 65", "-c XY",
           "-n -20", "-n 99999999999999999999", "-t -1", "-r -1", "-Q -1", "-I -1", "-x -1", "-D -1", "-D 0",
           "-n +20 -s 64")
SCRIPT = f"""
dmesg -n 1
/bin/ip link set dummy0 up || exit 1
/bin/ip address add {ADDRESS}/24 dev dummy0 || exit 1
rdma link add rxe0 type rxe netdev dummy0 || exit 1
said() {{ # FILE COMMAND...
	file=$1
	shift
	echo "$ $*"
	cat $file
}}
both() {{ # PROGRAM OPTION...: the server, then the client
	rm -f perftest_out.json
	(cd /tmp && "$@" >/tmp/server 2>/dev/null) & # its files are not the client's
	until grep -q ':4853 .* 0A ' /proc/net/tcp /proc/net/tcp6; do # 18515
		kill -0 $! || exit 2
		sleep 0.1
	done
	"$@" {ADDRESS} >/tmp/client 2>/dev/null || exit 3
	wait $! || exit 4
	said /tmp/server "$@"
	said /tmp/client "$@" {ADDRESS}
	[ ! -f perftest_out.json ] || said perftest_out.json cat perftest_out.json
}}
echo "$ begin"
"""


def script():
    """For the guest, which prints all files' lines on its console."""
    lines = [SCRIPT]
    for program, runs in RUNS.items():
        lines.append(f"echo '# {program}'")
        lines += [f"both {program} -d rxe0 -F {options}" for options in runs]
    return "\n".join([*lines, 'echo "$ end"', "exit 0\n"])


def help_of(program):
    """The status of those of rdma-core is 1: they take it for a mistake, and print it all the same."""
    done = subprocess.run([program, "--help"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
    return f"$ {program} --help\n{done.stdout}"


def refusals():
    """Text for refusals.txt, a program after the other."""
    said = []
    for program in RUNS:
        for options in REFUSED:
            done = subprocess.run([program, *options.split()], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
            said.append(f"$ {program} {options}".rstrip() + f"\n{done.stdout}")
    return "".join(said)


def recordings(console):
    """{program: text}, of what the guest has printed."""
    said = console.partition("$ begin\n")[2].partition("$ end\n")[0]
    found = {}
    for part in said.split("# ib_")[1:]:
        name, _, text = part.partition("\n")
        found["ib_" + name] = text
    return found


def run(timeout):
    """What both ends of each program print, in a guest."""
    guest = Guest("6.1", programs=["/bin/ip", "/usr/bin/rdma", *(f"/usr/bin/{program}" for program in RUNS)],
                  libraries=glob.glob("/usr/lib/*/libibverbs/librxe-rdmav*.so"),
                  modules=["dummy", "crc32_generic", "rdma_rxe", "ib_uverbs"], append="nowatchdog",
                  files={"/etc/libibverbs.d/rxe.driver": b"driver rxe\n"}, log=sys.stderr)
    result = guest.run(script(), timeout)
    return result.status, recordings(result.console)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", metavar="DIR", default=os.path.join(ROOT, "test", "daemon", "perftest"),
                        help="where the recordings go (default: %(default)s)")
    parser.add_argument("--timeout", type=float, default=1800, metavar="SECONDS", help="of the guest (default: %(default)s)")
    args = parser.parse_args()
    try:
        helps = {program: help_of(program) for program in [*RUNS, *PINGPONGS]}
        texts = {"refusals": refusals()}
        status, runs = run(args.timeout)
    except (Unavailable, OSError) as error:
        print(f"record_perftest: {error}", file=sys.stderr)
        return DIED
    if status != 0:
        return status
    os.makedirs(args.folder, exist_ok=True)
    for program, text in helps.items():
        texts[program] = text + runs.get(program, "")
    for name, text in texts.items():
        with open(os.path.join(args.folder, name + ".txt"), "w", encoding="utf-8") as file:
            file.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
