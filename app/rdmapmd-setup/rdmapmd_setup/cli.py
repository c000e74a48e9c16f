# SPDX-License-Identifier: BSD-3-Clause
"""The command line: what may be said, and who does it."""

import argparse
import grp
import os
import pwd

from . import bind, hugepages, pci, report, stale, status
from .doctor import ERROR, WARNING, Doctor
from .host import Failed, Host, User
from .output import Output
from .state import DEFAULT, State

DONE, FAILED = 0, 1  # argparse ends with 2

EXAMPLES = {
    "doctor": """examples:
  rdmapmd-setup doctor                         all functions of the class, and memory
  rdmapmd-setup doctor 01:00.0 --user alice    one, and whether alice may use it
  rdmapmd-setup doctor --json | jq '.findings[].id'""",
    "status": """examples:
  rdmapmd-setup status
  rdmapmd-setup status eth0 --json""",
    "bind": """examples:
  rdmapmd-setup bind 01:00.0                   print the plan
  rdmapmd-setup bind 01:00.0 --apply           carry it out
  rdmapmd-setup bind 01:00.0 01:00.1 --owner alice --apply
undo: rdmapmd-setup unbind 01:00.0 --apply""",
    "unbind": """examples:
  rdmapmd-setup unbind 01:00.0 --apply         back to the driver that it had before bind
  rdmapmd-setup unbind --all --apply           all that bind has bound
  rdmapmd-setup unbind 01:00.0 --driver none --apply""",
    "hugepages": """examples:
  rdmapmd-setup hugepages --size 1G            print the plan
  rdmapmd-setup hugepages --size 1G --apply    reserve 1 GiB in pages of the default size, and mount them
  rdmapmd-setup hugepages --size 4G --page 1G --node 0 --owner alice --apply
  rdmapmd-setup hugepages --undo --apply""",
    "cleanup": """examples:
  rdmapmd-setup cleanup                        print what it would remove
  rdmapmd-setup cleanup --apply
There is no undo: nothing uses what it removes.""",
    "report": """examples:
  rdmapmd-setup report 01:00.0 --log run.log   with the log of a run of yours
  rdmapmd-setup report 01:00.0 --probe-only    let the driver open and close the function: resets it
  rdmapmd-setup report 01:00.0 --output r.tar.gz; tar xzOf r.tar.gz rdmapmd-report/report.json
a log with commands: dpdk-testpmd -a 01:00.0 --log-level='pmd.net.rnic.*:debug' -- -i 2> run.log""",
}


def size(text):
    try:
        return hugepages.size_bytes(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def positive(text):
    value = size(text)
    if value == 0:
        raise argparse.ArgumentTypeError("0 is no size")
    return value


def owner(text):
    """USER[:GROUP] as numbers, the group being the user's own by default."""
    user, _, group = text.partition(":")
    try:
        entry = pwd.getpwuid(int(user)) if user.isdigit() else pwd.getpwnam(user)
        uid, gid = entry.pw_uid, entry.pw_gid
    except KeyError:
        if not (user.isdigit() and group):
            raise argparse.ArgumentTypeError(f"{user}: no such user") from None
        uid, gid = int(user), None
    try:
        if group:
            gid = int(group) if group.isdigit() else grp.getgrnam(group).gr_gid
    except KeyError:
        raise argparse.ArgumentTypeError(f"{group}: no such group") from None
    return uid, gid


def parser():
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--json", action="store_true", help="one JSON object instead of lines")
    common.add_argument("--root", default=os.environ.get("RDMAPMD_SETUP_ROOT", "/"), metavar="DIR",
                        help="for tests: the machine's sysfs, proc and dev are below DIR ($RDMAPMD_SETUP_ROOT)")
    common.add_argument("--state", metavar="FILE", help=f"where changes are recorded for undo (default {DEFAULT})")
    changes = argparse.ArgumentParser(add_help=False)
    changes.add_argument("--apply", "--yes", action="store_true", help="carry out the plan; without it, only print it")

    top = argparse.ArgumentParser(
        prog="rdmapmd-setup", allow_abbrev=False, formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Inspect a machine and configure it for a driver in user space on a NIC of the mlx5 class.\n"
                    "Without --apply it changes nothing, and only prints its plan as commands.",
        epilog="exit code: 0 done, or nothing found; 1 failed, or something found; 2 usage")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True)

    def command(name, text, *parents):
        return commands.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".", allow_abbrev=False,
                                   parents=[*parents, common], epilog=EXAMPLES[name],
                                   formatter_class=argparse.RawDescriptionHelpFormatter)

    functions = {"metavar": "FUNCTION", "help": "an address such as 0000:01:00.0, or a network interface"}
    one = command("doctor", "find problems, and the commands that fix them")
    one.add_argument("functions", nargs="*", **functions)
    one.add_argument("--user", help="the user who will use the function (default: who runs this)")
    one.add_argument("--memory", type=positive, default="256M", metavar="SIZE", help="hugepage memory that must be free (default 256M)")
    one = command("status", "show functions, their drivers and users, and hugepages")
    one.add_argument("functions", nargs="*", **functions)
    one = command("bind", "bind functions to vfio-pci", changes)
    one.add_argument("functions", nargs="+", **functions)
    one.add_argument("--owner", type=owner, metavar="USER[:GROUP]", help="the new owner of the group's node")
    one.add_argument("--force", action="store_true", help="even if a link is lost, or the group cannot be used yet")
    one = command("unbind", "return functions to their former driver", changes)
    one.add_argument("functions", nargs="*", **functions)
    one.add_argument("--all", action="store_true", help="all that bind has bound")
    one.add_argument("--driver", help="another driver, or none (default: the former one, else mlx5_core)")
    one = command("hugepages", "reserve hugepages and mount them", changes)
    one.add_argument("--size", type=positive, help="reserve until there is at least that much, such as 512M or 1G")
    one.add_argument("--page", type=positive, metavar="SIZE", help="size of a page (default: the kernel's)")
    one.add_argument("--node", type=int, help="on this NUMA node")
    one.add_argument("--mount", metavar="DIR", help="where to mount them, if they are not mounted (default /dev/hugepages)")
    one.add_argument("--no-mount", action="store_true", help="programs with --in-memory need no mount")
    one.add_argument("--owner", type=owner, metavar="USER[:GROUP]", help="the user who may create files there")
    one.add_argument("--undo", action="store_true", help="undo what this command has reserved and mounted")
    one = command("cleanup", "remove files that dead processes left behind", changes)
    one.add_argument("--dir", action="append", default=[], metavar="DIR", help="another folder of softrnicd's sockets, in addition to the default ones")
    one = command("report", "collect what is needed to analyse a failure, in one archive")
    one.add_argument("function", **functions)
    log = one.add_mutually_exclusive_group()
    log.add_argument("--log", metavar="FILE", help="the log of a program with the driver, with the dump of commands; may be gzipped")
    log.add_argument("--probe-only", action="store_true",
                     help="get that from a program that lets the driver open and close the function: resets it twice")
    one.add_argument("--program", default="dpdk-testpmd", help="that program (default dpdk-testpmd)")
    one.add_argument("--plugin", metavar="FILE", help="the driver if it is not installed: librte_net_rnic.so")
    one.add_argument("--output", metavar="FILE", help="the new file (default rdmapmd-report-ADDRESS.tar.gz, here)")
    one.add_argument("--with-addresses", action="store_true", help="hide no MAC, IP address, GUID, name or serial number")
    return top


def check_usage(top, args):
    """What argparse cannot say by itself."""
    if args.command == "unbind" and bool(args.functions) == args.all:
        top.error("unbind: name functions, or give --all")
    if args.command == "hugepages" and (args.size is None) != args.undo:
        top.error("hugepages: give --size SIZE, or --undo")


def do_doctor(host, state, args, out):
    del state
    findings = Doctor(host, User(args.user), args.memory).examine(args.functions)
    out.data["findings"] = []
    for finding in findings:
        out.finding(finding)
    counts = {level: sum(finding.level == level for finding in findings) for level in (ERROR, WARNING)}
    said = [f"{number} {level}{'s' if number != 1 else ''}" for level, number in counts.items() if number]
    out.line(", ".join(said), "" if said else out.mark("ok", "ok: nothing is in the way"))
    return FAILED if counts[ERROR] else DONE


def do_status(host, state, args, out):
    functions = [pci.find(host, word) for word in args.functions] or pci.functions_of_the_class(host)
    status.show(out, status.collect(host, state, functions))
    return DONE


def found(host, words):
    return list({function.address: function for function in (pci.find(host, word, any_device=True) for word in words)}.values())


def plan_bind(host, state, args):
    return bind.bind(host, state, found(host, args.functions), args.owner, args.force)


def plan_unbind(host, state, args):
    if not args.all:
        return bind.unbind(host, state, found(host, args.functions), args.driver)
    here = [address for address in sorted(state.functions) if host.exists(f"{pci.DEVICES}/{address}")]
    made = bind.unbind(host, state, found(host, here), args.driver)
    for address in sorted(set(state.functions) - set(here)):
        made.notes.append(f"{address} is no longer here")
        made.then(lambda address=address: state.forget_function(address))
    return made


def plan_hugepages(host, state, args):
    if args.undo:
        return hugepages.undo(host, state)
    return hugepages.reserve(host, state, args, args.owner)


def plan_cleanup(host, state, args):
    del state
    left = stale.Leftovers(host, [os.path.abspath(folder) for folder in args.dir])
    made = left.plan()
    if left.in_use:
        made.notes.append(f"{len(left.in_use)} are in use, and stay, such as {left.in_use[0]}")
    return made


def do_report(host, state, args, out):
    function = pci.find(host, args.function)
    path = args.output or report.default_name(function)
    if os.path.lexists(path):
        raise Failed(f"{path} already exists", "name another file with --output FILE")
    if args.probe_only:
        log = report.probe(host, function, args.program, args.plugin)
    else:
        log = report.read_log(args.log) if args.log else None
    texts, hidden = report.files(host, state, function, log, args.with_addresses)
    report.write(path, report.packed(texts))
    out.data.update(archive=path, files={name: len(text) for name, text in texts.items()}, hidden=hidden,
                    commands=len(log.commands) if log else 0)
    out.line(f"{path}: {', '.join(texts)}")
    if log is None:
        out.line("# no log, so neither capabilities nor commands: --log FILE, or --probe-only")
    elif not log.capabilities():
        out.line("# no capabilities in the log: was the dump of commands on (--log-level='pmd.net.rnic.*:debug')?")
    out.line("nothing is hidden" if args.with_addresses else
             f"hidden: {', '.join(f'{number} {kind}' for kind, number in hidden.items()) or 'nothing was found'}; "
             "read it before you send it")
    return DONE


REPORTS = {"doctor": do_doctor, "status": do_status, "report": do_report}
PLANS = {"bind": plan_bind, "unbind": plan_unbind, "hugepages": plan_hugepages, "cleanup": plan_cleanup}


def change(host, state, args, out):
    """Make the plan, print it, and carry it out if that was asked for."""
    # What is cleaned up is not remembered, and may be the user's own.
    held = args.apply and args.command != "cleanup"
    if held:
        if os.geteuid() != 0 and host.real:
            raise Failed("only root can do that", f"sudo rdmapmd-setup {args.command} ...")
        state.hold()
    try:
        made = PLANS[args.command](host, state, args)
        out.data.update(steps=made.steps, notes=made.notes, applied=False)
        for note in made.notes:
            out.line(f"# {note}")
        for step in made.steps:
            out.line(step)
        if not made.steps:
            out.line("nothing to do")
        if args.apply:
            made.make(state if held else None)
            out.data["applied"] = True
        elif made.steps:
            out.line("# nothing is changed: --apply does it")
    finally:
        if held:
            state.release()
    return DONE


def main(argv, host=None):
    """Returns the exit code; host: another machine than the one that the options name."""
    top = parser()
    args = top.parse_args(argv)
    check_usage(top, args)
    out = Output(args.command, args.json)
    try:
        host = host or Host(os.path.abspath(args.root))
        state = State(host, args.state)
        code = REPORTS[args.command](host, state, args, out) if args.command in REPORTS else change(host, state, args, out)
    except Failed as failure:
        out.failure(failure)
        code = FAILED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return FAILED
    return out.end(code)
