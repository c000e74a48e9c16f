#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Run a script in a guest, with devices of softrnicd attached. The console is the output, the script's exit status
the own one: 124 for a guest that was not done in time, 125 for one that died or could not be had."""

import argparse
import sys

from vm import DIED, KERNELS, Guest, Unavailable


def options():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kernel", choices=KERNELS, default="6.1", help="Debian's (default: %(default)s)")
    parser.add_argument("--device", action="append", default=[], metavar="SOCKET",
                        help="of softrnicd; device N of the guest is 0000:00:(10+N, in hex).0")
    parser.add_argument("--program", action="append", default=[], metavar="PATH",
                        help="copied to /bin, with its libraries")
    parser.add_argument("--verbs", action="append", default=[], metavar="NAME",
                        help="a program of RDMA's user space, of Debian's packages; e.g. ibv_devinfo")
    parser.add_argument("--library", action="append", default=[], metavar="PATH",
                        help="copied to its own path, with what it needs; e.g. a plugin")
    parser.add_argument("--module", action="append", default=[], metavar="NAME",
                        help="of the kernel, loaded before the script, with what it depends on")
    parser.add_argument("--file", action="append", default=[], metavar="SRC:DST", help="a file or folder")
    parser.add_argument("--iommu", nargs="?", const="48", choices=("39", "48"),
                        help="intel-iommu, with addresses of that width (default: 48)")
    parser.add_argument("--hugepages", type=int, default=0, metavar="N", help="of 2 MiB")
    parser.add_argument("--memory", type=int, default=512, metavar="MIB", help="(default: %(default)s)")
    parser.add_argument("--cpus", type=int, default=1, metavar="N", help="(default: %(default)s)")
    parser.add_argument("--append", default="", metavar="WORDS", help="more for the kernel's command line")
    parser.add_argument("--timeout", type=float, default=120, metavar="SECONDS", help="(default: %(default)s)")
    parser.add_argument("--script", metavar="FILE", help="for busybox' sh, run as root (default: standard input)")
    args = parser.parse_args()
    args.files = {}
    for pair in args.file:
        source, colon, path = pair.rpartition(":")
        if not colon or not path.startswith("/"):
            parser.error(f"--file wants SRC:DST, not {pair}")
        args.files[path] = source
    return args


def main():
    args = options()
    with open(args.script, encoding="utf-8") if args.script else sys.stdin as file:
        script = file.read()
    try:
        guest = Guest(args.kernel, args.device, args.program, args.library, args.module, files=args.files,
                      verbs=args.verbs, iommu=args.iommu, hugepages=args.hugepages, memory=args.memory, cpus=args.cpus,
                      append=args.append, log=sys.stdout)
    except (Unavailable, OSError) as error:
        print(f"guest: {error}", file=sys.stderr)
        return DIED
    result = guest.run(script, args.timeout)
    print(f"guest: status {result.status} after {result.seconds:.1f} s")
    return result.status


if __name__ == "__main__":
    sys.exit(main())
