#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""
A personality of the software RNIC (like=, lib/softrnic/hca/like.c) from the commands of a card.

LOG has the commands of any driver with the card: an archive of `rdmapmd-setup report`, a log (see commands.py) or a file in
the compact form. What is printed is C for lib/softrnic/hca/like.c: a row for each capability, maximum and current, in which the
card is not as our device is by itself, and a part of that name. To have it as like=NAME put it there and add a row to
softrnic_likes.

Each row says what is shown of the difference: the card's value (AS_CARD), ours (OWN), or 0 (NOT_BUILT). Where a personality
has a judgement of that field, it is taken over; else what is less than ours is the card's, and of the rest a ? stands for the
reason, for a person to fill in. What a card refuses is not in a log of what went well: such rows are written by hand.

exit code: 0 done; 1 no capabilities in LOG; 2 usage
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tarfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import commands  # noqa: E402  pylint: disable=wrong-import-position
from fields import BUILD  # noqa: E402  pylint: disable=wrong-import-position
from rdmapmd_setup.dumps import read_compact  # noqa: E402  pylint: disable=wrong-import-position

QUERY_HCA_CAP = 0x100
FRAME = """\
/* ---- {name}: made by devtools/trace/personality.py ---- */

/* clang-format off */
#define {upper}_KNOWN {{ SOFTRNIC_KNOWN_TRACE, "{where}" }}

static const struct softrnic_like_cap {name}_caps[] = {{
{rows}}};
static const struct softrnic_like_part part_{name} = {{
	.name = "{name}", .caps = {name}_caps, .cap_count = sizeof({name}_caps) / sizeof({name}_caps[0]),
}};
/* clang-format on */
"""


class Fail(Exception):
    pass


def read(path):
    """The commands, and what card it was, if that is said."""
    if not tarfile.is_tarfile(path):
        return commands.read(path), None
    with tarfile.open(path) as archive:
        texts = {os.path.basename(member.name): archive.extractfile(member).read().decode(errors="replace")
                 for member in archive.getmembers() if member.isfile()}
    about = json.loads(texts.get("report.json", "{}"))
    firmware = about.get("firmware") or {}
    return (list(read_compact(texts.get("commands.cmds", "").splitlines())),
            f"{about.get('function', {}).get('name', 'a card')}, firmware {firmware.get('version', 'unknown')}")


def rows_of(program, log, known):
    lines = "".join(f"in {command.input.bytes.hex()}\nout {command.output.bytes.hex()}\n" for command in log
                    if command.opcode == QUERY_HCA_CAP)
    if not os.path.exists(program):
        raise Fail(f"{program} is missing: build with -Dtests=true and -Dsoftrnic=true, or name the build with --build")
    done = subprocess.run([program, known], input=lines, text=True, capture_output=True, check=False)
    if done.returncode != 0:
        raise Fail(done.stderr.strip())
    return done.stdout


def main():
    parser = argparse.ArgumentParser(usage="personality.py [--name NAME] [--where TEXT] [--build DIR] LOG", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("log", metavar="LOG")
    parser.add_argument("--name", default="card", help="of the personality (default card)")
    parser.add_argument("--where", metavar="TEXT", help="what card it was (default: as the archive says, else the log's name)")
    parser.add_argument("--build", metavar="DIR", default=BUILD, help="the build folder (default $RDMAPMD_BUILD, else build/)")
    args = parser.parse_args()
    if not re.fullmatch(r"[a-z][a-z0-9_]*", args.name):
        parser.error("--name: small letters, digits and _ as in a name of C")
    try:
        log, where = read(args.log)
        where = re.sub(r'["\\\x00-\x1f]', "?", args.where or where or os.path.basename(args.log))
        rows = rows_of(os.path.join(args.build, "devtools", "trace", "trace-personality"), log, f"{args.name.upper()}_KNOWN")
    except (Fail, OSError, EOFError, ValueError, AssertionError, tarfile.TarError) as why:
        print(f"personality.py: {args.log}: {why}", file=sys.stderr)
        return 1
    if rows:
        print(FRAME.format(name=args.name, upper=args.name.upper(), where=where, rows=rows), end="")
    else:
        print(f"/* {args.name}: as our device is by itself */")
    return 0


if __name__ == "__main__":
    sys.exit(main())
